/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Golden cases of tests/golden/plan: spec.yaml of a case on its inventory.json (without one: the
 * plain host's, in the folder above), with the places of its workers file and by the force of the
 * names in its forced file if there are such, and what its agreed file says was agreed to (moves:
 * as an apply that may move workers), must give plan.txt or error.txt to the letter. Whatever is
 * planned is also applied to a host in memory: a failure at any step leaves it as it was, and at
 * last nothing must be left to do. PLENUM_UPDATE_GOLDEN=1 writes the files anew. Prints TAP itself:
 * one test a case.
 */
#include "netcfg/apply/apply.h"
#include "netcfg/feature/plan_vf.h"
#include "netcfg/plan/plan_worker_ids.h"
#include "netcfg/plan/transport_choice.h"
#include "plugins/plugins.h"
#include "tests/lib/kernel_fake.h"
#include <dirent.h>
#include <jansson.h>
#include <string.h>

#define FILE_BYTES_MAX (1 << 20)

static char *path_of(const char *name, const char *file)
{
	char *path;

	return asprintf(&path, "%s/tests/golden/plan/%s/%s", TOP_SRCDIR, name, file) < 0 ? NULL
											 : path;
}

/* NULL where there is no such file. */
static char *file_read(const char *name, const char *file)
{
	autofree char *path = path_of(name, file);
	FILE *f = path ? fopen(path, "re") : NULL;
	char *text = f ? calloc(1, FILE_BYTES_MAX) : NULL;

	if (text && fread(text, 1, FILE_BYTES_MAX - 1, f) == 0) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

/* NULL: there shall be none. */
static void file_write(const char *name, const char *file, const char *text)
{
	autofree char *path = path_of(name, file);
	FILE *f;

	if (!path)
		return;
	unlink(path);
	f = text ? fopen(path, "we") : NULL;
	if (!f)
		return;
	fputs(text, f);
	fclose(f);
}

/* A name a line. */
static size_t forced_read(const char *text, char ret[][PLENUM_NAME_MAX])
{
	size_t n = 0;

	for (const char *end; text && n < PLAN_FORCED_MAX && (end = strchr(text, '\n'));
	     text = end + 1)
		snprintf(ret[n++], PLENUM_NAME_MAX, "%.*s", (int)(end - text), text);
	return n;
}

/* A host in memory, and where its journal is. */
struct trial {
	struct kernel *k;
	const struct plan_context *ctx;
	char dir[32], journal[48];
	char *before; /* the host as it was */
};

static char *host_json(struct kernel *k)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	char *text = NULL;

	if (inv_collect(k, &d, &inv) == 0) {
		inv->number = 0;
		text = inv_to_json(inv);
	}
	inv_free(inv);
	diag_done(&d);
	return text;
}

static bool trial_init(struct trial *t, const struct inventory *inv)
{
	*t = (struct trial){.dir = "/tmp/plenum-golden-XXXXXX"};
	if (!mkdtemp(t->dir) || kernel_fake_new(inv, &t->k) < 0)
		return false;
	snprintf(t->journal, sizeof(t->journal), "%s/journal", t->dir);
	t->before = host_json(t->k);
	return t->before != NULL;
}

static void trial_done(struct trial *t)
{
	kernel_free(t->k);
	rmdir(t->dir);
	free(t->before);
}

static bool trial_is_as_before(struct trial *t)
{
	autofree char *now = host_json(t->k);

	return now && strcmp(now, t->before) == 0;
}

/* Applies p and plans again. */
static const char *trial_apply(struct trial *t, const struct spec *s, const struct plan *p,
			       bool commit)
{
	struct apply *a = NULL;
	struct apply_outcome o;
	struct diag d = DIAG_INIT;
	uint64_t writes = t->k->n_writes;
	const char *wrong = NULL;

	if (apply_run(t->k, p, t->journal, &a, &o) < 0)
		wrong = "the plan cannot be applied";
	else if (t->k->n_writes - writes != p->n_steps)
		wrong = "a step is not one write";
	else if (apply_verify(t->k, s, t->ctx, 0, &d) < 0)
		wrong = "after the apply there is something left to do";
	if (wrong)
		printf("# %s\n", o.error ? o.why : "");
	if (wrong)
		diag_print(&d, stderr);
	diag_done(&d);
	if (a && (commit ? apply_commit(a, &o) : apply_rollback(a, &o)) < 0)
		wrong = "the apply cannot be ended";
	if (!commit && !wrong && !trial_is_as_before(t))
		wrong = "after a rollback the host is not as it was";
	return wrong;
}

/* Every step fails once, each time from the start. */
static const char *trial_failures(struct trial *t, const struct plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		struct apply *a = NULL;
		struct apply_outcome o;

		kernel_fake_fail(t->k, i + 1, 1, -EIO, "the test says no");
		if (apply_run(t->k, p, t->journal, &a, &o) != -EIO || o.stuck) {
			printf("# step %zu: %s\n", i + 1, o.why);
			return "a step that fails does not fail the apply";
		}
		if (!trial_is_as_before(t)) {
			printf("# step %zu\n", i + 1);
			return "a failure does not leave the host as it was";
		}
	}
	return NULL;
}

/* What is wrong, or NULL: p on a host like inv, which fails at every step, is rolled back when all
 * is done, and is applied at last. */
static const char *apply_check(const struct spec *s, const struct inventory *inv,
			       const struct plan_context *ctx, const struct plan *p)
{
	PLENUM_CLEANUP(transport_choice_done) struct transport_choice deal = {0};
	char made[PLAN_PORTS_MAX][16];
	struct plan_context settled = *ctx;
	struct trial t;
	const char *wrong = NULL;

	/* As an applier has it: what was decided stays so. */
	if (transport_choice_follow(ctx->agreed, p, &deal) < 0 || !trial_init(&t, inv))
		return "no host in memory";
	settled.agreed = &deal;
	settled.may_move = false;
	settled.made = (const char(*)[16])made;
	settled.n_made = plan_vf_made(p, made);
	t.ctx = &settled;
	wrong = trial_failures(&t, p);
	if (!wrong)
		wrong = trial_apply(&t, s, p, false);
	if (!wrong)
		wrong = trial_apply(&t, s, p, true);
	trial_done(&t);
	return wrong;
}

static const char *json_check(const struct plan *p)
{
	autofree char *text = plan_to_json(p);
	json_t *o = text ? json_loads(text, 0, NULL) : NULL;
	const char *wrong = NULL;

	if (!o || json_array_size(json_object_get(o, "steps")) != p->n_steps ||
	    json_array_size(json_object_get(o, "legs")) != p->n_legs ||
	    json_array_size(json_object_get(o, "workers")) != p->n_workers)
		wrong = "the JSON form is not that of the plan";
	json_decref(o);
	return wrong;
}

/* The texts of the case; *ret_wrong for what no text shows. */
static int outcome(const char *name, char **ret_plan, char **ret_error, const char **ret_wrong)
{
	autofree char *yaml = file_read(name, "spec.yaml");
	autofree char *json = file_read(name, "inventory.json");
	autofree char *path = path_of(name, "workers"), *words = file_read(name, "forced");
	autofree char *agreed_path = path_of(name, "agreed"), *moves = file_read(name, "moves");
	PLENUM_CLEANUP(transport_choice_done) struct transport_choice agreed = {0};
	PLENUM_CLEANUP(plan_worker_ids_done) struct plan_worker_ids places = {0};
	char forced[PLAN_FORCED_MAX][PLENUM_NAME_MAX] = {""};
	const struct plan_context ctx = {.places = &places,
					 .agreed = &agreed,
					 .may_move = moves != NULL,
					 .forced = (const char(*)[PLENUM_NAME_MAX])forced,
					 .n_forced = forced_read(words, forced)};
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	struct spec *s = NULL;
	struct plan *p = NULL;
	int r = 0;

	if (!json)
		json = file_read(".", "inventory.json");
	if (!yaml || !json || !path || !agreed_path)
		return -ENOENT;
	if (spec_parse("spec.yaml", yaml, strlen(yaml), &d, &s) < 0 ||
	    inv_from_json(json, strlen(json), &d, &inv) < 0 ||
	    plan_worker_ids_load(&places, path, &d) < 0 ||
	    (access(agreed_path, F_OK) == 0 && transport_choice_load(&agreed, agreed_path) < 0)) {
		diag_print(&d, stderr);
		r = -EINVAL;
	} else if (plan_build(s, inv, &ctx, &d, &p) < 0) {
		*ret_error = diag_format(&d);
	} else {
		*ret_plan = plan_to_text(p);
		*ret_wrong = json_check(p);
		if (!*ret_wrong)
			*ret_wrong = apply_check(s, inv, &ctx, p);
	}
	plan_free(p);
	inv_free(inv);
	spec_free(s);
	diag_done(&d);
	return r;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* One line at a time behind '#', so that it stays TAP. */
static void show(const char *title, char *text)
{
	printf("# %s:\n", title);
	for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"))
		printf("#   %s\n", line);
}

static bool run_case(const char *name)
{
	autofree char *plan = NULL, *error = NULL, *want_plan = NULL, *want_error = NULL;
	const char *wrong = NULL;

	if (outcome(name, &plan, &error, &wrong) < 0) {
		printf("# the case cannot be read\n");
		return false;
	}
	if (getenv("PLENUM_UPDATE_GOLDEN")) {
		file_write(name, "plan.txt", plan);
		file_write(name, "error.txt", error);
	}
	want_plan = file_read(name, "plan.txt");
	want_error = file_read(name, "error.txt");
	if (same(plan, want_plan) && same(error, want_error) && !wrong)
		return true;
	if (wrong)
		printf("# %s\n", wrong);
	show("is", plan ? plan : error);
	show("wanted", want_plan ? want_plan : want_error);
	return false;
}

static int is_case(const struct dirent *e)
{
	return e->d_type == DT_DIR && e->d_name[0] != '.';
}

int main(void)
{
	struct dirent **cases = NULL;
	int n, n_failed = 0;

	plugins_register();
	n = scandir(TOP_SRCDIR "/tests/golden/plan", &cases, is_case, alphasort);
	if (n <= 0) {
		printf("Bail out! no cases in " TOP_SRCDIR "/tests/golden/plan\n");
		return 1;
	}
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		bool ok = run_case(cases[i]->d_name);

		printf("%sok %d - plan %s\n", ok ? "" : "not ", i + 1, cases[i]->d_name);
		n_failed += !ok;
		free(cases[i]);
	}
	free(cases);
	return n_failed ? 1 : 0;
}
