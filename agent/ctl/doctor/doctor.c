/* SPDX-License-Identifier: BSD-3-Clause */
/* `plenum doctor`: runs every check over one picture of the host and prints the results. It knows
 * no check by name. */
#include "agent/ctl/doctor/doctor.h"

#include "agent/ctl/ctl.h"
#include "netcfg/base/file.h"
#include <stdio.h>
#include <string.h>

const struct doctor_subject *const doctor_subjects[] = {
	&doctor_config, &doctor_kernel,	  &doctor_cores,    &doctor_memory, &doctor_legs,
	&doctor_routes, &doctor_sockets,  &doctor_firewall, &doctor_bond,   &doctor_vfs,
	&doctor_rdma,	&doctor_versions, &doctor_programs, &doctor_peers,  &doctor_quality,
};
const size_t doctor_n_subjects = ARRAY_SIZE(doctor_subjects);

void doctor_run(const struct doctor_host *p, const struct doctor_check *c,
		struct doctor_result *ret)
{
	const struct {
		unsigned bit;
		bool there;
		const char *what;
	} needs[] = {
		{DOCTOR_NEEDS_INVENTORY, p->inv,
		 "the host's devices cannot be read: see config-host"},
		{DOCTOR_NEEDS_SPEC, p->spec, "no valid configuration: see config-file"},
		{DOCTOR_NEEDS_PLAN, p->plan, "no plan: see config-plan"},
		{DOCTOR_NEEDS_APPLIED, p->plan && json_array_size(p->steps) == 0,
		 "the host does not match the configuration yet: see config-plan"},
		{DOCTOR_NEEDS_AGENT, p->status, "no agent answers: see agent-answers"},
	};

	*ret = (struct doctor_result){.state = DOCTOR_PASS};
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		if (!(c->needs & needs[i].bit) || needs[i].there)
			continue;
		doctor_report(ret, DOCTOR_UNKNOWN, "%s", needs[i].what);
		return;
	}
	c->run(p, c, ret);
}

/* The text may quote bytes that are not UTF-8, or end in the middle of a character. */
static json_t *text_new(const char *text)
{
	char plain[sizeof(((struct doctor_result *)NULL)->remedy)];
	json_t *o = json_string(text);

	if (o)
		return o;
	snprintf(plain, sizeof(plain), "%s", text);
	for (char *c = plain; *c; c++)
		*c = (char)((unsigned char)*c < 0x80 ? *c : '?');
	return json_string(plain);
}

json_t *doctor_to_json(const struct doctor_subject *s, const struct doctor_check *c,
		       const struct doctor_result *r)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "id", c->id, "subject", s->name, "title",
			 c->title, "state", doctor_state_to_string(r->state), "evidence",
			 text_new(r->evidence), "remedy",
			 r->remedy[0] ? text_new(r->remedy) : json_null());
}

char *doctor_man_table(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	for (size_t i = 0; i < doctor_n_subjects; i++)
		for (size_t j = 0; j < doctor_subjects[i]->n_checks; j++) {
			const struct doctor_check *c = &doctor_subjects[i]->checks[j];

			fprintf(f, ".It Cm %s\n%s.\n", c->id, c->title);
		}
	return file_text_end(f, &text, 0);
}

/* ---- the list ---- */

struct tally {
	size_t n[DOCTOR_STATE_MAX];
	json_t *checks; /* NULL: print each result instead */
};

static void print_result(const struct doctor_check *c, const struct doctor_result *r)
{
	printf("  %-7s  %-26s  ", doctor_state_to_string(r->state), c->id);
	ctl_put(r->evidence, stdout);
	putchar('\n');
	if (r->state == DOCTOR_PASS || !r->remedy[0])
		return;
	printf("%39s-> ", "");
	ctl_put(r->remedy, stdout);
	putchar('\n');
}

static void run_all(const struct doctor_host *p, struct tally *t)
{
	for (size_t i = 0; i < doctor_n_subjects; i++) {
		const struct doctor_subject *s = doctor_subjects[i];

		if (!t->checks)
			printf("%s\n", s->name);
		for (size_t j = 0; j < s->n_checks; j++) {
			struct doctor_result r;

			doctor_run(p, &s->checks[j], &r);
			t->n[r.state]++;
			if (t->checks)
				json_array_append_new(t->checks,
						      doctor_to_json(s, &s->checks[j], &r));
			else
				print_result(&s->checks[j], &r);
		}
	}
}

/* The worst result decides. An unknown result is not a fault of the host. */
static int exit_of(const struct tally *t)
{
	if (t->n[DOCTOR_FAIL])
		return CTL_DOCTOR_FAIL;
	return t->n[DOCTOR_WARN] ? CTL_DOCTOR_WARN : CTL_OK;
}

static int put_all(const struct tally *t)
{
	json_t *o;
	int r;

	if (!t->checks) {
		printf("\n%zu passed, %zu not known, %zu warnings, %zu failed\n", t->n[DOCTOR_PASS],
		       t->n[DOCTOR_UNKNOWN], t->n[DOCTOR_WARN], t->n[DOCTOR_FAIL]);
		return CTL_OK;
	}
	o = json_pack("{s:O, s:I, s:I, s:I, s:I}", "checks", t->checks, "pass",
		      (json_int_t)t->n[DOCTOR_PASS], "unknown", (json_int_t)t->n[DOCTOR_UNKNOWN],
		      "warn", (json_int_t)t->n[DOCTOR_WARN], "fail", (json_int_t)t->n[DOCTOR_FAIL]);
	r = o ? ctl_put_json(o) : ctl_put_text(NULL);
	json_decref(o);
	return r;
}

void doctor_warn_causes(const struct ctl_args *a, const struct doctor_subject *const *subjects,
			size_t n)
{
	PLENUM_CLEANUP(doctor_host_done) struct doctor_host p = {.sys = -1};

	doctor_collect(a, NULL, &p);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < subjects[i]->n_checks; j++) {
			const struct doctor_check *c = &subjects[i]->checks[j];
			struct doctor_result r;

			doctor_run(&p, c, &r);
			if (r.state == DOCTOR_WARN || r.state == DOCTOR_FAIL)
				ctl_complain("%s: %s; %s", c->id, r.evidence, r.remedy);
		}
}

int ctl_cmd_doctor(const struct ctl_args *a)
{
	PLENUM_CLEANUP(doctor_host_done) struct doctor_host p = {.sys = -1};
	struct tally t = {.checks = NULL};
	int r;

	doctor_collect(a, a->n_operands > 0 ? a->operands[0] : NULL, &p);
	if (a->peer && p.plan && !doctor_knows_peer(&p)) {
		ctl_complain("--peer needs a name in peers[] or an address, found '%s'", a->peer);
		return CTL_USAGE;
	}
	if (a->json)
		t.checks = json_array();
	run_all(&p, &t);
	r = put_all(&t);
	json_decref(t.checks);
	return r == CTL_OK ? exit_of(&t) : r;
}
