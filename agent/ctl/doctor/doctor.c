/* SPDX-License-Identifier: BSD-3-Clause */
/* `plenum doctor`: runs all checks on one snapshot of the host and prints the results. The checks
 * themselves are in the tables of the subjects. */
#include "agent/ctl/doctor/doctor.h"

#include "agent/ctl/ctl.h"
#include "netcfg/base/file.h"
#include <stdio.h>
#include <string.h>

const struct doctor_subject *const doctor_subjects[] = {
	&doctor_config, &doctor_kernel,	  &doctor_cores,    &doctor_memory, &doctor_legs,
	&doctor_wiring, &doctor_routes,	  &doctor_sockets,  &doctor_bond,   &doctor_vfs,
	&doctor_rdma,	&doctor_versions, &doctor_programs, &doctor_peers,  &doctor_quality,
};
const size_t doctor_n_subjects = ARRAY_SIZE(doctor_subjects);

/* Makes a JSON text. Invalid UTF-8 is replaced: the text may quote other bytes, or may have been
 * cut within a character. */
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
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:s?}", "id", c->id, "subject", s->name,
			 "title", c->title, "state", doctor_state_to_string(r->state), "evidence",
			 text_new(r->evidence), "remedy",
			 r->remedy[0] ? text_new(r->remedy) : json_null(), "because",
			 doctor_because(r));
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

struct finding {
	const struct doctor_subject *subject;
	const struct doctor_check *check;
	struct doctor_result result;
	bool printed;
};

struct tally {
	struct finding *all;
	size_t n_all, n[DOCTOR_STATE_MAX];
};

static void print_result(const struct finding *f)
{
	const struct doctor_result *r = &f->result;

	fputs("  ", stdout);
	ctl_put_state(doctor_state_to_string(r->state), 7);
	printf("  %-26s  ", f->check->id);
	ctl_put(r->evidence, stdout);
	putchar('\n');
	if (r->state == DOCTOR_PASS || !r->remedy[0])
		return;
	printf("%39s-> ", "");
	ctl_put(r->remedy, stdout);
	putchar('\n');
}

/* Returns the finding that is the cause of f, directly or through other findings. Returns f itself
 * if it is a cause. */
static struct finding *cause_of(const struct tally *t, struct finding *f)
{
	for (size_t steps = 0; steps < t->n_all; steps++) {
		const char *because = doctor_because(&f->result);
		size_t i = 0;

		while (because && i < t->n_all && strcmp(t->all[i].check->id, because) != 0)
			i++;
		if (!because || i == t->n_all || t->all[i].result.state < DOCTOR_UNKNOWN)
			return f;
		f = &t->all[i];
	}
	return f;
}

/* Prints a cause, and lists the checks whose findings follow from it. */
static void print_cause(const struct tally *t, struct finding *f)
{
	unsigned n = 0;

	print_result(f);
	f->printed = true;
	for (size_t i = 0; i < t->n_all; i++) {
		struct finding *other = &t->all[i];

		if (other == f || other->result.state < DOCTOR_UNKNOWN || cause_of(t, other) != f)
			continue;
		if (n++ == 0)
			printf("%39sfollows: ", "");
		printf("%s%s (%s)", n > 1 ? ", " : "", other->check->id,
		       doctor_state_to_string(other->result.state));
		other->printed = true;
	}
	if (n > 0)
		putchar('\n');
}

static void print_causes(const struct tally *t)
{
	if (t->n[DOCTOR_FAIL] + t->n[DOCTOR_WARN] == 0)
		return;
	puts("findings");
	for (int state = DOCTOR_FAIL; state >= DOCTOR_WARN; state--)
		for (size_t i = 0; i < t->n_all; i++)
			if ((int)t->all[i].result.state == state && !t->all[i].printed &&
			    cause_of(t, &t->all[i]) == &t->all[i])
				print_cause(t, &t->all[i]);
	putchar('\n');
}

/* Prints a pass, a note or an unknown result. Below an unknown result, lists the checks that are
 * unknown because of it. */
static void print_mild(const struct tally *t, struct finding *f)
{
	if (f->result.state == DOCTOR_UNKNOWN && cause_of(t, f) == f)
		print_cause(t, f);
	else
		print_result(f);
}

/* Prints the findings that were not printed yet. If `bad` is true, omits checks that passed. */
static void print_rest(const struct tally *t, bool bad)
{
	const struct doctor_subject *last = NULL;

	for (size_t i = 0; i < t->n_all; i++) {
		struct finding *f = &t->all[i];

		if (f->printed || (bad && f->result.state == DOCTOR_PASS))
			continue;
		if (f->subject != last)
			printf("%s\n", f->subject->name);
		last = f->subject;
		print_mild(t, f);
	}
}

/* Returns the subject with this name; else a subject whose name begins with these words; else NULL.
 * Also returns NULL if a file of this name exists, because the operand then means the file. */
static const struct doctor_subject *find_subject(const char *name)
{
	const size_t len = name ? strlen(name) : 0;
	const struct doctor_subject *by_word = NULL;

	if (len == 0 || access(name, F_OK) == 0)
		return NULL;
	for (size_t i = doctor_n_subjects; i-- > 0;) {
		const char *other = doctor_subjects[i]->name;

		if (strcmp(other, name) == 0)
			return doctor_subjects[i];
		if (strncmp(other, name, len) == 0 && other[len] == ' ')
			by_word = doctor_subjects[i];
	}
	return by_word;
}

/* Runs the checks of one subject, or of all. Returns CTL_OK, or CTL_OS if memory is short. */
static int run_all(const struct doctor_host *p, const struct doctor_subject *only, struct tally *t)
{
	size_t n = 0;

	for (size_t i = 0; i < doctor_n_subjects; i++)
		n += doctor_subjects[i]->n_checks;
	t->all = calloc(n, sizeof(*t->all));
	if (!t->all)
		return ctl_put_text(NULL);
	for (size_t i = 0; i < doctor_n_subjects; i++)
		for (size_t j = 0; j < doctor_subjects[i]->n_checks; j++) {
			struct finding *f;

			if (only && only != doctor_subjects[i])
				continue;
			f = &t->all[t->n_all++];
			f->subject = doctor_subjects[i];
			f->check = &doctor_subjects[i]->checks[j];
			doctor_run(p, f->check, &f->result);
			t->n[f->result.state]++;
		}
	return CTL_OK;
}

/* Returns the exit status, which follows from the worst result. A note or an unknown result does
 * not mean that the host has a fault. */
static int exit_of(const struct tally *t)
{
	if (t->n[DOCTOR_FAIL])
		return CTL_DOCTOR_FAIL;
	return t->n[DOCTOR_WARN] ? CTL_DOCTOR_WARN : CTL_OK;
}

static void print_all(const struct ctl_args *a, const struct tally *t)
{
	print_causes(t);
	print_rest(t, a->bad || (!a->all && isatty(STDOUT_FILENO)));
	printf("\n%zu passed, %zu notes, %zu not known, %zu warnings, %zu failed\n",
	       t->n[DOCTOR_PASS], t->n[DOCTOR_NOTE], t->n[DOCTOR_UNKNOWN], t->n[DOCTOR_WARN],
	       t->n[DOCTOR_FAIL]);
}

static int print_json(const struct tally *t)
{
	json_t *checks = json_array(), *o;
	int r;

	for (size_t i = 0; i < t->n_all; i++)
		json_array_append_new(checks, doctor_to_json(t->all[i].subject, t->all[i].check,
							     &t->all[i].result));
	o = json_pack("{s:o, s:I, s:I, s:I, s:I, s:I}", "checks", checks, "pass",
		      (json_int_t)t->n[DOCTOR_PASS], "note", (json_int_t)t->n[DOCTOR_NOTE],
		      "unknown", (json_int_t)t->n[DOCTOR_UNKNOWN], "warn",
		      (json_int_t)t->n[DOCTOR_WARN], "fail", (json_int_t)t->n[DOCTOR_FAIL]);
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
			if (r.state >= DOCTOR_WARN && !doctor_because(&r))
				ctl_complain("%s: %s; %s", c->id, r.evidence, r.remedy);
		}
}

/* Reports an operand that is neither a subject nor a file as a typing error. */
static int check_operand(const char *operand)
{
	if (!operand || find_subject(operand) || access(operand, F_OK) == 0)
		return CTL_OK;
	ctl_complain(
		"'%.64s' is neither a configuration file nor a subject of checks; the subjects:",
		operand);
	for (size_t i = 0; i < doctor_n_subjects; i++)
		fprintf(stderr, "  %s\n", doctor_subjects[i]->name);
	return CTL_NO_INPUT;
}

int ctl_cmd_doctor(const struct ctl_args *a)
{
	PLENUM_CLEANUP(doctor_host_done) struct doctor_host p = {.sys = -1};
	struct tally t = {.all = NULL};
	const char *operand = a->n_operands > 0 ? a->operands[0] : NULL;
	const struct doctor_subject *only = find_subject(operand);
	int r;

	if (a->bad && a->all) {
		ctl_complain("--bad and --all contradict each other; give only one");
		return CTL_USAGE;
	}
	if (a->remote)
		return doctor_ask(a);
	r = check_operand(operand);
	if (r != CTL_OK)
		return r;
	doctor_collect(a, only ? NULL : operand, &p);
	if (a->peer && p.plan && !doctor_knows_peer(&p)) {
		ctl_complain("--peer needs a name in peers[] or an address, found '%s'", a->peer);
		return CTL_USAGE;
	}
	r = run_all(&p, only, &t);
	if (r == CTL_OK && a->json)
		r = print_json(&t);
	else if (r == CTL_OK)
		print_all(a, &t);
	free(t.all);
	return r == CTL_OK ? exit_of(&t) : r;
}
