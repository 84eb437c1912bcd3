/* SPDX-License-Identifier: BSD-3-Clause */
/* 'plenum --host HOST doctor': the agent of that host runs the doctor there. Prints its report. */
#include "agent/ctl/ctl.h"
#include "agent/ctl/doctor/doctor.h"

#include <string.h>
#include <unistd.h>

#define DOCTOR_LIMIT_S 150 /* longer than the agent's time limit for a run */

static void put_check(const json_t *check)
{
	fputs("  ", stdout);
	ctl_put_state(ctl_text(check, "state"), 7);
	fputs("  ", stdout);
	ctl_put_wide(ctl_text(check, "id"), 26);
	fputs("  ", stdout);
	ctl_put(ctl_text(check, "evidence"), stdout);
	putchar('\n');
	if (*ctl_text(check, "because")) {
		printf("%39sfollows from ", "");
		ctl_put(ctl_text(check, "because"), stdout);
		putchar('\n');
	} else if (*ctl_text(check, "remedy") && strcmp(ctl_text(check, "state"), "pass") != 0) {
		printf("%39s-> ", "");
		ctl_put(ctl_text(check, "remedy"), stdout);
		putchar('\n');
	}
}

/* Prints the checks below the headings of their subjects. */
static void put_report(const json_t *report, bool bad)
{
	const char *subject = "";
	const json_t *check;
	size_t i;

	json_array_foreach (json_object_get(report, "checks"), i, check) {
		if (bad && strcmp(ctl_text(check, "state"), "pass") == 0)
			continue;
		if (strcmp(subject, ctl_text(check, "subject")) != 0) {
			subject = ctl_text(check, "subject");
			ctl_put(subject, stdout);
			putchar('\n');
		}
		put_check(check);
	}
	printf("\n%" JSON_INTEGER_FORMAT " passed, %" JSON_INTEGER_FORMAT
	       " notes, %" JSON_INTEGER_FORMAT " not known, %" JSON_INTEGER_FORMAT
	       " warnings, %" JSON_INTEGER_FORMAT " failed\n",
	       ctl_int(report, "pass"), ctl_int(report, "note"), ctl_int(report, "unknown"),
	       ctl_int(report, "warn"), ctl_int(report, "fail"));
}

int doctor_ask(const struct ctl_args *a)
{
	const struct ctl_request rq = {
		.resource = RESOURCE_DOCTOR, .timeout_s = DOCTOR_LIMIT_S, .list = "checks"};
	json_t *report = NULL;
	int r;

	if (a->n_operands > 0 || a->peer) {
		ctl_complain("with --host, the doctor checks everything that runs; a subject, FILE "
			     "and --peer are for the doctor of this host");
		return CTL_USAGE;
	}
	r = ctl_ask_json(a, &rq, &report);
	if (r != CTL_OK)
		return r;
	if (a->json)
		r = ctl_put_json(report);
	else
		put_report(report, a->bad || (!a->all && isatty(STDOUT_FILENO)));
	if (r == CTL_OK && ctl_int(report, "fail") > 0)
		r = CTL_DOCTOR_FAIL;
	else if (r == CTL_OK && ctl_int(report, "warn") > 0)
		r = CTL_DOCTOR_WARN;
	json_decref(report);
	return r;
}
