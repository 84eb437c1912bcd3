/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of other programs on the host: network managers and the clock. */
#include "agent/ctl/doctor/doctor.h"

#include "agent/health/managers.h"
#include <string.h>
#include <sys/timex.h>

static void run_managers(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	const enum managers_matter matter = strcmp(c->about, "links") == 0    ? MANAGERS_LINKS
					    : strcmp(c->about, "routes") == 0 ? MANAGERS_ROUTES
									      : MANAGERS_RULES;

	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct inv_link *l = doctor_leg_link(p, &p->plan->legs[i]);
		char text[MANAGERS_TEXT_MAX], *remedy;

		if (!l ||
		    !managers_explain(p->root, matter, l->name, l->ifindex, text, sizeof(text)))
			continue;
		/* The text has the form "finding; remedy". */
		remedy = strstr(text, "; ");
		if (remedy)
			*remedy = '\0';
		doctor_report(r, DOCTOR_WARN, "%s", text);
		doctor_advise(r, "%s", remedy ? remedy + 2 : "stop it");
	}
	doctor_report(r, DOCTOR_PASS, "no network manager changes the %s of legs", c->about);
}

static void run_clock(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	if (p->clock_error) {
		doctor_report(r, DOCTOR_UNKNOWN, "the kernel's clock state cannot be read: %s",
			      strerror(-p->clock_error));
	} else if (p->clock_state != TIME_ERROR && !(p->clock_status & STA_UNSYNC)) {
		doctor_report(r, DOCTOR_PASS, "the kernel's clock is synchronized");
	} else {
		doctor_report(r, DOCTOR_WARN,
			      "the clock is not synchronized: file times and event times of "
			      "different hosts do not match");
		doctor_advise(r, "systemctl enable --now chronyd, or timedatectl set-ntp true");
	}
}

static void run_source(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	static const char *const slow[] = {"hpet", "acpi_pm", "jiffies"};
	char source[32];

	if (doctor_read(p, source, sizeof(source),
			"/sys/devices/system/clocksource/clocksource0/current_clocksource") < 0) {
		doctor_report(r, DOCTOR_UNKNOWN, "the kernel does not report its clock source");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
		if (strcmp(source, slow[i]) != 0)
			continue;
		doctor_report(r, DOCTOR_WARN,
			      "the clock source is %s: each time stamp costs a system call",
			      source);
		doctor_advise(r, "boot with tsc=reliable if this machine's TSC is reliable");
	}
	doctor_report(r, DOCTOR_PASS, "the clock source is %s", source);
}

static const struct doctor_check checks[] = {
	{"manager-links", "No network manager changes the legs", DOCTOR_NEEDS_PLAN, run_managers,
	 "links"},
	{"manager-routes", "No network manager removes routes of legs", DOCTOR_NEEDS_PLAN,
	 run_managers, "routes"},
	{"manager-rules", "No network manager removes rules of legs", DOCTOR_NEEDS_PLAN,
	 run_managers, "rules"},
	{"clock-set", "The clock is synchronized", 0, run_clock, NULL},
	{"clock-source", "Reading the time is cheap", 0, run_source, NULL},
};

const struct doctor_subject doctor_programs = DOCTOR_SUBJECT("other programs on the host", checks);
