/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Golden cases: each folder of tests/golden/plan is one test. The runner plans spec.yaml on
 * inventory.json (default: the plain host's, one folder up) and compares the result with plan.txt
 * or error.txt. Optional files of a case: workers (worker ids per core), forced (names given to
 * --force), agreed (accepted transport moves), moves (the apply may move workers). The runner also
 * applies each plan to a host in memory: a failure at any step must restore the host, and after the
 * apply a new plan must be empty.
 *
 * plan.txt holds the codes of reasons. Their sentences, and those of steps, needs and warnings,
 * stand once in texts.txt, so that changing a sentence changes one line. PLENUM_UPDATE_GOLDEN=1
 * rewrites all of these files. Prints TAP itself.
 */
#include "netcfg/apply/apply.h"
#include "netcfg/feature/plan_vf.h"
#include "netcfg/plan/transport_choice.h"
#include "netcfg/plan/worker/plan_worker_ids.h"
#include "plugins/plugins.h"
#include "tests/lib/kernel/kernel_fake.h"
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

/* NULL: the file does not exist. */
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

/* NULL removes the file. */
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

/* One name a line. */
static size_t forced_read(const char *text, char ret[][PLENUM_NAME_MAX])
{
	size_t n = 0;

	for (const char *end; text && n < PLAN_FORCED_MAX && (end = strchr(text, '\n'));
	     text = end + 1)
		snprintf(ret[n++], PLENUM_NAME_MAX, "%.*s", (int)(end - text), text);
	return n;
}

/* A host in memory and the journal of applies to it. */
struct trial {
	struct kernel *k;
	const struct plan_context *ctx;
	char dir[32], journal[48];
	char *before; /* the host before the first apply, as JSON */
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
		wrong = "apply_run failed";
	else if (t->k->n_writes - writes != p->n_steps)
		wrong = "a step makes more or fewer than one kernel write";
	else if (apply_verify(t->k, s, t->ctx, 0, &d) < 0)
		wrong = "a new plan after the apply is not empty";
	if (wrong)
		printf("# %s\n", o.error ? o.why.text : "");
	if (wrong)
		diag_print(&d, stderr);
	diag_done(&d);
	if (a && (commit ? apply_commit(a, &o) : apply_rollback(a, &o)) < 0)
		wrong = "the commit or rollback failed";
	if (!commit && !wrong && !trial_is_as_before(t))
		wrong = "the rollback did not restore the host";
	return wrong;
}

/* Fails each step in turn; each failure must roll the host back to its original state. */
static const char *trial_failures(struct trial *t, const struct plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++) {
		struct apply *a = NULL;
		struct apply_outcome o;

		kernel_fake_fail(t->k, i + 1, 1, -EIO, "injected failure");
		if (apply_run(t->k, p, t->journal, &a, &o) != -EIO || o.stuck) {
			printf("# step %zu: %s\n", i + 1, o.why.text);
			return "a failing step does not fail the apply";
		}
		if (!trial_is_as_before(t)) {
			printf("# step %zu\n", i + 1);
			return "the host was not restored after a failing step";
		}
	}
	return NULL;
}

/* Applies p to a copy of the host: with a failure at each step, with a rollback after the last
 * step, and for good. Returns what went wrong, or NULL. */
static const char *apply_check(const struct spec *s, const struct inventory *inv,
			       const struct plan_context *ctx, const struct plan *p)
{
	PLENUM_CLEANUP(transport_choice_done) struct transport_choice choice = {0};
	char made[PLAN_PORTS_MAX][16];
	struct plan_context settled = *ctx;
	struct trial t;
	const char *wrong = NULL;

	/* Like the applier: transports chosen by the plan stay chosen. */
	if (transport_choice_follow(ctx->accepted, p, &choice) < 0 || !trial_init(&t, inv))
		return "cannot create the host in memory";
	settled.accepted = &choice;
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
		wrong = "the JSON form differs from the plan";
	json_decref(o);
	return wrong;
}

/* ---- the sentences, each once ---- */

static struct {
	char **lines;
	size_t n;
} sentences;

/* Whether two lines are the same sentence about other objects: they differ only in words with a
 * digit, a dash or the like, as names, addresses and numbers have them. */
static bool sentence_equal(const char *a, const char *b)
{
	while (*a && *b) {
		const size_t i = strcspn(a, " "), j = strcspn(b, " ");
		const bool is_name =
			strcspn(a, "0123456789-/=") < i && strcspn(b, "0123456789-/=") < j;

		if (!is_name && (i != j || strncmp(a, b, i) != 0))
			return false;
		a += i + (a[i] == ' ');
		b += j + (b[j] == ' ');
	}
	return *a == *b;
}

/* kind: "step", "need CODE", "warning", or the code of a reason. */
static void sentence_add(const char *kind, const char *text)
{
	char **grown, *line;

	if (!*text || asprintf(&line, "%s: %s", kind, text) < 0)
		return;
	for (size_t i = 0; i < sentences.n; i++)
		if (sentence_equal(sentences.lines[i], line)) {
			free(line);
			return;
		}
	grown = reallocarray(sentences.lines, sentences.n + 1, sizeof(*grown));
	if (!grown) {
		free(line);
		return;
	}
	sentences.lines = grown;
	grown[sentences.n++] = line;
}

static void sentences_collect(const struct plan *p, const struct diag *d)
{
	char code[REASON_CODE_MAX + 8];

	for (size_t i = 0; i < p->n_steps; i++)
		sentence_add("step", p->steps[i].reason);
	for (size_t i = 0; i < p->n_legs; i++)
		sentence_add(p->legs[i].reason.code, p->legs[i].reason.text);
	for (size_t i = 0; i < p->n_workers; i++)
		sentence_add(p->workers[i].reason.code, p->workers[i].reason.text);
	for (size_t i = 0; i < p->n_needs; i++) {
		snprintf(code, sizeof(code), "need %s", p->needs[i].code);
		sentence_add(code, p->needs[i].why);
	}
	for (size_t i = 0; i < d->n; i++)
		sentence_add("warning", d->entries[i].text);
}

static int line_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *sentences_format(void)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	qsort(sentences.lines, sentences.n, sizeof(*sentences.lines), line_compare);
	for (size_t i = 0; i < sentences.n; i++)
		fprintf(f, "%s\n", sentences.lines[i]);
	fclose(f);
	return text;
}

/* Leaves the code of each member's reason: "no-vf: eth0 offers no SR-IOV" becomes "no-vf"; a step's
 * reason, which has none, goes. */
static void reasons_cut(json_t *list, bool has_code)
{
	json_t *o;
	size_t i;

	json_array_foreach (list, i, o) {
		const char *text = json_string_value(json_object_get(o, "reason"));
		const size_t len = has_code ? strcspn(text, ":") : 0;

		json_object_set_new(o, "reason", json_stringn(text, len));
	}
}

/* The lines of the text that hold more than blanks, and its empty ones. */
static void blank_lines_drop(char *text)
{
	char *to = text;

	for (char *line = text; *line;) {
		const size_t len = strcspn(line, "\n") + 1, blanks = strspn(line, " ");

		if (blanks == 0 || line[blanks] != '\n') {
			memmove(to, line, len);
			to += len;
		}
		line += len;
	}
	*to = '\0';
}

/* The plan as text with the codes of reasons only. */
static char *plan_with_codes(const struct plan *p)
{
	json_t *o = plan_to_object(p);
	char *text;

	reasons_cut(json_object_get(o, "steps"), false);
	reasons_cut(json_object_get(o, "legs"), true);
	reasons_cut(json_object_get(o, "workers"), true);
	text = plan_object_to_text(o, SIZE_MAX);
	json_decref(o);
	if (text)
		blank_lines_drop(text);
	return text;
}

/* Plans and applies the case. *ret_plan or *ret_error gets its text, *ret_wrong a failure that the
 * text does not show. */
static int outcome(const char *name, char **ret_plan, char **ret_error, const char **ret_wrong)
{
	autofree char *yaml = file_read(name, "spec.yaml");
	autofree char *json = file_read(name, "inventory.json");
	autofree char *path = path_of(name, "workers"), *words = file_read(name, "forced");
	autofree char *agreed_path = path_of(name, "agreed"), *moves = file_read(name, "moves");
	PLENUM_CLEANUP(transport_choice_done) struct transport_choice agreed = {0};
	PLENUM_CLEANUP(plan_worker_ids_done) struct plan_worker_ids places = {0};
	char forced[PLAN_FORCED_MAX][PLENUM_NAME_MAX] = {""};
	const struct plan_context ctx = {.worker_ids = &places,
					 .accepted = &agreed,
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
		sentences_collect(p, &d);
		*ret_plan = plan_with_codes(p);
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

/* Prefixes each line with '#', a comment in TAP. */
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
		printf("# cannot read the files of the case\n");
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
	show("actual", plan ? plan : error);
	show("expected", want_plan ? want_plan : want_error);
	return false;
}

static bool run_sentences(void)
{
	autofree char *text = sentences_format();
	autofree char *want = NULL;

	if (getenv("PLENUM_UPDATE_GOLDEN"))
		file_write(".", "texts.txt", text);
	want = file_read(".", "texts.txt");
	if (same(text, want))
		return true;
	show("actual", text);
	show("expected", want);
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
	printf("1..%d\n", n + 1);
	for (int i = 0; i < n; i++) {
		bool ok = run_case(cases[i]->d_name);

		printf("%sok %d - plan %s\n", ok ? "" : "not ", i + 1, cases[i]->d_name);
		n_failed += !ok;
		free(cases[i]);
	}
	free(cases);
	if (!run_sentences()) {
		printf("not ");
		n_failed++;
	}
	printf("ok %d - reasons, needs and warnings have the sentences of texts.txt\n", n + 1);
	for (size_t i = 0; i < sentences.n; i++)
		free(sentences.lines[i]);
	free(sentences.lines);
	return n_failed ? 1 : 0;
}
