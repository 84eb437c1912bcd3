/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All checks of `plenum doctor` on a good host whose agent is broken or hostile. Input: its answers
 * as JSON, with a line "=====" between two: status, processes, legs, plan. Each check ends with a
 * result that fits JSON.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/lib/agent/doctor_rig.h"

#include <string.h>

#define SEPARATOR "\n=====\n"

static bool taken;
static struct rig *rig;

bool fuzz_input_taken(void)
{
	return taken;
}

static void at_exit(void)
{
	rig_free(rig);
}

/* The next answer, as the collector takes it; NULL: there is none, or it is not JSON. */
static json_t *next_answer(const char **text, size_t *len)
{
	const char *end = *len ? memmem(*text, *len, SEPARATOR, strlen(SEPARATOR)) : NULL;
	const size_t n = end ? (size_t)(end - *text) : *len;
	json_t *o = json_loadb(*text, n, 0, NULL);

	*text += end ? n + strlen(SEPARATOR) : n;
	*len -= end ? n + strlen(SEPARATOR) : n;
	return o;
}

static void check_all(const struct doctor_host *p)
{
	for (size_t i = 0; i < doctor_n_subjects; i++)
		for (size_t j = 0; j < doctor_subjects[i]->n_checks; j++) {
			const struct doctor_check *c = &doctor_subjects[i]->checks[j];
			struct doctor_result r;
			json_t *o;

			doctor_run(p, c, &r);
			o = doctor_to_json(doctor_subjects[i], c, &r);
			if (r.state >= DOCTOR_STATE_MAX || !o)
				abort();
			json_decref(o);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct doctor_host p;
	json_t *plan;

	if (!rig) {
		rig = rig_new(NULL);
		atexit(at_exit);
	}
	p = rig->p;
	p.status = next_answer(&text, &size);
	p.processes = next_answer(&text, &size);
	p.net = next_answer(&text, &size);
	plan = next_answer(&text, &size);
	p.steps = json_object_get(plan, "steps");
	taken = json_is_object(p.status);
	check_all(&p);
	strcpy(p.peer, "host-b");
	(void)doctor_knows_peer(&p);
	doctor_find_probes(&p);
	check_all(&p);
	json_decref(p.status);
	json_decref(p.processes);
	json_decref(p.net);
	json_decref(plan);
	return 0;
}
