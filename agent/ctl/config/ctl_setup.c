/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 'plenum setup': makes a first configuration from a few answers, which come from a terminal or a
 * file. Shows the configuration with its plan, writes the configuration, and makes the agent apply
 * it with a confirmation.
 */
#include "agent/ctl/config/ctl_config.h"

#include "netcfg/base/diag.h"
#include "netcfg/base/file.h"
#include "netcfg/host/inventory.h"
#include "netcfg/plan/plan.h"
#include "netcfg/spec/spec.h"
#include "netcfg/spec/spec_node.h"
#include "netcfg/spec/spec_schema.h"
#include <stdlib.h>
#include <string.h>

#define CONFIG_FILE PLENUM_SYSCONFDIR "/plenum.yaml"
#define LIST_ANSWERS_MAX 64
#define CONFIRM_TIME "120s"

/* The questions in their order. On a terminal, an empty line ends a list. */
static const struct question {
	const char *key, *text;
	bool is_list;
} questions[] = {
	{"host", "Name of this host", false},
	{"legs", "Data leg: DEVICE FIRST-LAST/LENGTH [LABEL]; the range has this host's data IPs",
	 true},
	{"exports", "Directory to serve: NAME PATH", true},
	{"mounts", "File system to mount: PATH HOST/EXPORT", true},
	{"peers", "Other host: NAME IP[,IP...]", true},
	{"cores", "Cores for the workers, comma-separated", false},
};

/* ---- answers: {"host": ["h"], "legs": ["eth1 10.0.0.1-10.0.0.9/24"], ...} ---- */

static const char *answer(const json_t *answers, const char *key)
{
	const char *text = json_string_value(json_array_get(json_object_get(answers, key), 0));

	return text ? text : "";
}

static int add_answer(json_t *answers, const char *key, const char *text)
{
	json_t *list = json_object_get(answers, key);

	if (!list) {
		list = json_array();
		json_object_set_new(answers, key, list);
	}
	if (json_array_size(list) >= LIST_ANSWERS_MAX) {
		ctl_complain("%s: at most %d answers are allowed", key, LIST_ANSWERS_MAX);
		return CTL_DATA;
	}
	if (json_array_append_new(list, json_string(text)) == 0)
		return CTL_OK;
	ctl_complain("%s: the answer is not valid UTF-8", key);
	return CTL_DATA;
}

/* Reads the answers to a question from a node of a file: a text, or a list of texts. */
static int take_node(json_t *answers, const struct spec_node *n, struct diag *d)
{
	const char *keys[ARRAY_SIZE(questions)], *near;
	const struct question *q = NULL;
	int r = CTL_OK;

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		keys[i] = questions[i].key;
		if (strcmp(n->key, keys[i]) == 0)
			q = &questions[i];
	}
	near = q ? NULL : diag_suggest(n->key, keys, ARRAY_SIZE(keys));
	if (!q) {
		diag_add(d, DIAG_ERROR, &n->key_pos, n->key, "is not a question of setup%s%s%s",
			 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
		return CTL_DATA;
	}
	if (n->kind == SPEC_NODE_SCALAR)
		return add_answer(answers, n->key, n->text);
	if (n->kind == SPEC_NODE_LIST && q->is_list) {
		for (const struct spec_node *c = n->child; c && r == CTL_OK; c = c->next)
			r = c->kind == SPEC_NODE_SCALAR ? add_answer(answers, n->key, c->text)
							: CTL_DATA;
		if (r == CTL_OK)
			return CTL_OK;
	}
	diag_add(d, DIAG_ERROR, &n->pos, n->key, "expected a text%s",
		 q->is_list ? " or a list of texts" : "");
	return CTL_DATA;
}

static int read_answers(const char *file, json_t *answers)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	autofree char *text = NULL;
	struct spec_node *root = NULL;
	size_t len = 0;
	int r = file_read(file, SPEC_FILE_BYTES_MAX, &text, &len), e = CTL_OK;

	if (r < 0) {
		ctl_complain("cannot read %s: %s", file, strerror(-r));
		return CTL_NO_INPUT;
	}
	r = spec_node_parse(file, text, len, &d, &root);
	if (r >= 0 && root && root->kind != SPEC_NODE_MAP)
		diag_add(&d, DIAG_ERROR, &root->pos, NULL,
			 "expected a map of answers; write for example 'host: NAME'");
	for (const struct spec_node *n = root && root->kind == SPEC_NODE_MAP ? root->child : NULL;
	     n && e == CTL_OK; n = n->next)
		e = take_node(answers, n, &d);
	spec_node_free(root);
	diag_print(&d, stderr);
	return diag_has_errors(&d) ? CTL_DATA : e;
}

/* Reads a line from the terminal, without its newline. Returns false at the end of the input. */
static bool read_line(const char *text, const char *preset, char *buf, size_t size)
{
	printf("%s%s%s%s: ", text, *preset ? " [" : "", preset, *preset ? "]" : "");
	fflush(stdout);
	if (!fgets(buf, (int)size, stdin))
		return false;
	buf[strcspn(buf, "\n")] = '\0';
	if (!*buf)
		snprintf(buf, size, "%s", preset);
	return true;
}

/* ---- defaults ---- */

/* The last cores, because interrupts and other programs mostly use the first ones. */
void ctl_setup_cores(const struct inventory *inv, size_t n, char *buf, size_t size)
{
	size_t at = 0;

	*buf = '\0';
	for (size_t i = inv->n_cores > n ? inv->n_cores - n : 0; i < inv->n_cores && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, "%s%u", at ? "," : "",
				       inv->cores[i].id);
}

static json_t *presets_of(const struct inventory *inv, const json_t *answers)
{
	const bool both = json_object_get(answers, "exports") && json_object_get(answers, "mounts");
	json_t *presets = json_object();
	char cores[64];

	ctl_setup_cores(inv, both ? 2 : 1, cores, sizeof(cores));
	add_answer(presets, "host", inv->host);
	add_answer(presets, "cores", cores);
	return presets;
}

static void set_presets(json_t *answers, const json_t *presets)
{
	static const char *const keys[] = {"host", "cores"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!*answer(answers, keys[i]) && *answer(presets, keys[i])) {
			json_object_del(answers, keys[i]);
			add_answer(answers, keys[i], answer(presets, keys[i]));
		}
}

/* Asks a question. Returns CTL_OK, or another exit status after printing the error. */
static int ask(const struct question *q, const char *preset, json_t *answers)
{
	char line[512];
	bool more = true;
	int r = CTL_OK;

	while (more && r == CTL_OK) {
		if (!read_line(q->text, preset, line, sizeof(line))) {
			putchar('\n');
			ctl_complain("the input ended before the last answer");
			return CTL_DATA;
		}
		more = q->is_list && *line;
		if (*line)
			r = add_answer(answers, q->key, line);
	}
	return r;
}

static int ask_answers(const struct inventory *inv, json_t *answers)
{
	int r = CTL_OK;

	for (size_t i = 0; i < ARRAY_SIZE(questions) && r == CTL_OK; i++) {
		/* Defaults that depend on the answers so far. */
		json_t *presets = presets_of(inv, answers);

		r = ask(&questions[i], answer(presets, questions[i].key), answers);
		json_decref(presets);
	}
	return r;
}

/* ---- the configuration ---- */

#define WORDS_MAX 3

/* The words of an answer. They point into `text`. */
struct words {
	char text[512];
	const char *word[WORDS_MAX];
};

static int split(const char *key, const char *text, size_t min, size_t max, struct words *ret)
{
	char *rest = ret->text;
	size_t n = 0;

	*ret = (struct words){.word = {"", "", ""}};
	snprintf(ret->text, sizeof(ret->text), "%s", text);
	for (char *w; (w = strsep(&rest, " \t"));)
		if (*w && n++ < max)
			ret->word[n - 1] = w;
	if (n >= min && n <= max)
		return CTL_OK;
	ctl_complain("%s: '%.80s' has %zu words, expected %zu%s", key, text, n, min,
		     max > min ? " or one more" : "");
	return CTL_DATA;
}

/* Writes ", KEY: TEXT", quoted if YAML requires it. */
static void put_member(FILE *f, const char *before, const char *key, const char *text)
{
	fprintf(f, "%s%s: ", before, key);
	spec_print_text(text, f);
}

static int put_networks(FILE *f, const json_t *legs)
{
	const json_t *leg;
	struct words w;
	size_t i;

	if (json_array_size(legs) == 0) {
		ctl_complain("legs: no data leg was given; 'plenum inventory' lists the devices");
		return CTL_DATA;
	}
	fputs("networks:\n", f);
	json_array_foreach (legs, i, leg) {
		if (split("legs", json_string_value(leg), 2, 3, &w) != CTL_OK)
			return CTL_DATA;
		fprintf(f, "  - {name: data-%zu", i + 1);
		put_member(f, ", ", "range", w.word[1]);
		fputs("}\n", f);
	}
	fputs("net:\n", f);
	json_array_foreach (legs, i, leg) {
		split("legs", json_string_value(leg), 2, 3, &w);
		fprintf(f, "  - {name: leg-%zu, network: data-%zu", i + 1, i + 1);
		put_member(f, ", ", "device", w.word[0]);
		put_member(f, ", ", "label", *w.word[2] ? w.word[2] : "auto");
		fputs("}\n", f);
	}
	fprintf(f, "ha: {mode: %s}\n", json_array_size(legs) > 1 ? "dual-leg" : "none");
	return CTL_OK;
}

/* Writes the exports or the mounts of a worker. */
static int put_worker(FILE *f, const json_t *answers, const char *role, const char *list,
		      const char *const keys[2], const char *cores)
{
	const json_t *entry;
	struct words w;
	size_t i;

	fprintf(f, "  - role: %s\n    cores: [%s]\n    transport: auto\n    %s:\n", role, cores,
		list);
	json_array_foreach (json_object_get(answers, list), i, entry) {
		if (split(list, json_string_value(entry), 2, 2, &w) != CTL_OK)
			return CTL_DATA;
		put_member(f, "      - {", keys[0], w.word[0]);
		put_member(f, ", ", keys[1], w.word[1]);
		fputs("}\n", f);
	}
	return CTL_OK;
}

/* Writes the workers. If the host has both roles, the last core serves the exports and the others
 * the mounts. */
static int put_workers(FILE *f, const json_t *answers)
{
	static const char *const of_export[] = {"name", "path"}, *const of_mount[] = {"path",
										      "from"};
	const bool exports = json_object_get(answers, "exports");
	const bool mounts = json_object_get(answers, "mounts");
	autofree char *cores = strdup(answer(answers, "cores"));
	char *last = cores ? strrchr(cores, ',') : NULL;
	int r = CTL_OK;

	if (!cores)
		return ctl_put_text(NULL);
	if (!exports && !mounts) {
		ctl_complain("nothing to serve and nothing to mount: give exports or mounts");
		return CTL_DATA;
	}
	if (exports && mounts && !last) {
		ctl_complain("cores: exports and mounts need a core each, as in '2,3'");
		return CTL_DATA;
	}
	if (exports && mounts)
		*last = '\0';
	fputs("workers:\n", f);
	if (mounts)
		r = put_worker(f, answers, "frontend", "mounts", of_mount, cores);
	if (r == CTL_OK && exports)
		r = put_worker(f, answers, "compute", "exports", of_export,
			       mounts ? last + 1 : cores);
	return r;
}

static int put_peers(FILE *f, const json_t *answers)
{
	const json_t *peers = json_object_get(answers, "peers"), *peer;
	struct words w;
	size_t i;

	if (json_array_size(peers))
		fputs("peers:\n", f);
	json_array_foreach (peers, i, peer) {
		if (split("peers", json_string_value(peer), 2, 2, &w) != CTL_OK)
			return CTL_DATA;
		put_member(f, "  - {", "name", w.word[0]);
		fprintf(f, ", ips: [%s]}\n", w.word[1]);
	}
	return CTL_OK;
}

/* Makes the configuration from the answers; *ret is on the heap. */
static int make_yaml(const json_t *answers, char **ret)
{
	size_t size = 0;
	FILE *f = open_memstream(ret, &size);
	int r;

	if (!f)
		return ctl_put_text(NULL);
	fputs("# Made by 'plenum setup'; see plenum.yaml(5) for all keys.\n", f);
	put_member(f, "", "host", answer(answers, "host"));
	fputc('\n', f);
	r = put_networks(f, json_object_get(answers, "legs"));
	if (r == CTL_OK)
		r = put_workers(f, answers);
	if (r == CTL_OK)
		r = put_peers(f, answers);
	*ret = file_text_end(f, ret, 0);
	return r == CTL_OK && !*ret ? ctl_put_text(NULL) : r;
}

/* ---- plan, file, apply ---- */

int ctl_setup_show(const char *name, const char *yaml, const struct inventory *inv,
		   int (*check)(const struct plan *p))
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	struct plan *p = NULL;
	json_t *o = NULL;
	int r, e;

	puts("");
	e = ctl_put_text(yaml);
	puts("");
	if (e != CTL_OK)
		return e;
	r = spec_parse(name, yaml, strlen(yaml), &d, &s);
	if (r >= 0)
		r = plan_check(s, &d);
	if (r >= 0)
		r = ctl_plan_here(s, inv, NULL, &d, &p);
	diag_print(&d, stderr);
	if (r >= 0) {
		o = plan_to_object(p);
		e = o ? ctl_put_plan(o) : ctl_put_text(NULL);
	}
	if (r >= 0 && e == CTL_OK && check)
		e = check(p);
	json_decref(o);
	plan_free(p);
	spec_free(s);
	return r == -EINVAL ? CTL_DATA : r < 0 ? CTL_OS : e;
}

/* Checks the new file, under another name, together with the existing drop-ins. */
static int check_dropins(const char *yaml)
{
	static const char file[] = CONFIG_FILE ".setup";
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	int r = file_write(file, yaml, strlen(yaml), 0644);

	if (r < 0) {
		ctl_complain("cannot write %s: %s", file, strerror(-r));
		return CTL_IO;
	}
	r = ctl_load_file(file, &d, &s);
	spec_free(s);
	unlink(file);
	if (r >= 0)
		return CTL_OK;
	diag_print(&d, stderr);
	ctl_complain("the files in " PLENUM_SYSCONFDIR
		     "/plenum.d do not fit this configuration; move these files away, then repeat "
		     "the setup");
	return CTL_DATA;
}

int ctl_setup_write(const char *yaml)
{
	autofree char *old = NULL;
	size_t len = 0;
	int e = check_dropins(yaml), r;

	if (e != CTL_OK)
		return e;
	r = file_read(CONFIG_FILE, SPEC_FILE_BYTES_MAX, &old, &len);

	if (r >= 0)
		r = file_write(CONFIG_FILE "~", old, len, 0644);
	else if (r == -ENOENT)
		r = 0;
	if (r >= 0)
		r = file_write(CONFIG_FILE, yaml, strlen(yaml), 0644);
	if (r < 0) {
		ctl_complain("cannot write %s: %s", CONFIG_FILE, strerror(-r));
		return CTL_IO;
	}
	printf("Written to %s%s.\n", CONFIG_FILE,
	       old ? "; the former file is " CONFIG_FILE "~" : "");
	return CTL_OK;
}

int ctl_setup_look_at_agent(const struct ctl_args *a, bool *ret_runs)
{
	const struct ctl_request look = {.resource = RESOURCE_STATUS};
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};
	json_t *o;
	bool staged;
	int r = ctl_http(a, &look, &reply);

	*ret_runs = r != -ENOENT && r != -ECONNREFUSED;
	if (!*ret_runs)
		return CTL_OK;
	if (r < 0)
		return ctl_failed(a, &look, r);
	o = ctl_parse_if_any(&reply);
	staged = json_is_true(json_object_get(o, "staged"));
	json_decref(o);
	if (!staged)
		return CTL_OK;
	ctl_complain("changes are staged, which an apply would use in place of the file; 'plenum "
		     "restore' discards them");
	return CTL_BUSY;
}

int ctl_setup_apply(const struct ctl_args *a, bool agent_runs)
{
	struct ctl_args how = *a;

	if (!agent_runs) {
		puts("No agent runs; 'systemctl enable --now plenumd' starts the agent, which "
		     "applies the file.");
		return CTL_OK;
	}
	how.confirm = CONFIRM_TIME;
	return ctl_cmd_apply(&how);
}

bool ctl_setup_consents(void)
{
	char line[16] = "";

	fputs("Write this configuration to " CONFIG_FILE " and apply it? [y/N] ", stdout);
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

static int take_answers(const struct ctl_args *a, const struct inventory *inv, json_t *answers)
{
	json_t *presets;
	int r;

	if (a->answers) {
		r = read_answers(a->answers, answers);
	} else {
		r = ctl_put_devices(a, inv, NULL, "DATA DEVICES");
		if (r == CTL_OK)
			r = ask_answers(inv, answers);
	}
	presets = presets_of(inv, answers);
	set_presets(answers, presets);
	json_decref(presets);
	return r;
}

int ctl_cmd_setup(const struct ctl_args *a)
{
	struct inventory *inv = NULL;
	autofree char *yaml = NULL;
	json_t *answers = json_object();
	bool agent_runs = false;
	int r = ctl_collect(&inv);

	if (r == CTL_OK)
		r = take_answers(a, inv, answers);
	if (r == CTL_OK)
		r = make_yaml(answers, &yaml);
	if (r == CTL_OK)
		r = ctl_setup_show("setup", yaml, inv, NULL);
	inv_free(inv);
	json_decref(answers);
	if (r == CTL_OK && !a->dry_run)
		r = ctl_setup_look_at_agent(a, &agent_runs);
	if (r != CTL_OK || a->dry_run)
		return r;
	if (!a->answers && !ctl_setup_consents())
		return CTL_OK;
	r = ctl_setup_write(yaml);
	return r == CTL_OK ? ctl_setup_apply(a, agent_runs) : r;
}
