/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 'plenum diff': compares configurations line by line, and the host with the running configuration.
 * It does not use diff(1), which may not be installed; a simple algorithm is fast enough for small
 * texts.
 */
#include "agent/ctl/config/ctl_config.h"

#include "netcfg/spec/spec.h"

#include <string.h>

/* Longer texts are not compared line by line, because the memory grows with the square of the
 * number of lines. */
#define DIFF_LINES_MAX 4096
/* Number of common lines that are printed before and after a change. */
#define DIFF_CONTEXT 3

struct diff_text {
	char *copy;
	const char **lines;
	size_t n;
};

static void diff_text_done(struct diff_text *t)
{
	free(t->copy);
	free(t->lines);
}

static int diff_text_init(struct diff_text *t, const char *text)
{
	size_t n = 0;
	char *line, *rest;

	*t = (struct diff_text){.copy = strdup(text)};
	for (const char *c = text; *c; c++)
		n += *c == '\n';
	t->lines = calloc(n + 2, sizeof(*t->lines));
	if (!t->copy || !t->lines)
		return -ENOMEM;
	rest = t->copy;
	while ((line = strsep(&rest, "\n")))
		if (rest || *line)
			t->lines[t->n++] = line;
	return 0;
}

struct diff_line {
	char sign; /* '-', '+' or ' ' */
	const char *text;
};

/* Finds the longest common subsequence, beginning at the end. length[i][j] is its length for the
 * lines of a from i on and the lines of b from j on. */
static size_t diff_lines(const struct diff_text *a, const struct diff_text *b, uint16_t *length,
			 struct diff_line *out)
{
	size_t width = b->n + 1, i = 0, j = 0, n = 0;

	for (size_t x = a->n; x-- > 0;) {
		for (size_t y = b->n; y-- > 0;) {
			uint16_t skip_a = length[(x + 1) * width + y];
			uint16_t skip_b = length[x * width + y + 1];

			if (strcmp(a->lines[x], b->lines[y]) == 0)
				length[x * width + y] =
					(uint16_t)(length[(x + 1) * width + y + 1] + 1);
			else
				length[x * width + y] = MAX_OF(skip_a, skip_b);
		}
	}
	while (i < a->n || j < b->n) {
		if (i < a->n && j < b->n && strcmp(a->lines[i], b->lines[j]) == 0) {
			out[n++] = (struct diff_line){' ', a->lines[i++]};
			j++;
		} else if (j == b->n ||
			   (i < a->n && length[(i + 1) * width + j] >= length[i * width + j + 1])) {
			out[n++] = (struct diff_line){'-', a->lines[i++]};
		} else {
			out[n++] = (struct diff_line){'+', b->lines[j++]};
		}
	}
	return n;
}

static bool near_change(const struct diff_line *lines, size_t n, size_t at)
{
	size_t from = at > DIFF_CONTEXT ? at - DIFF_CONTEXT : 0;
	size_t to = MIN_OF(n, at + DIFF_CONTEXT + 1);

	for (size_t i = from; i < to; i++)
		if (lines[i].sign != ' ')
			return true;
	return false;
}

static void diff_print(const struct diff_line *lines, size_t n, FILE *out)
{
	bool gap = false;

	for (size_t i = 0; i < n; i++) {
		if (!near_change(lines, n, i)) {
			gap = true;
			continue;
		}
		if (gap)
			fputs("...\n", out);
		gap = false;
		fprintf(out, "%c", lines[i].sign);
		ctl_put(lines[i].text, out);
		fputc('\n', out);
	}
}

int ctl_diff(const char *a, const char *b, FILE *out)
{
	PLENUM_CLEANUP(diff_text_done) struct diff_text ta = {0};
	PLENUM_CLEANUP(diff_text_done) struct diff_text tb = {0};
	autofree struct diff_line *lines = NULL;
	autofree uint16_t *length = NULL;

	if (strcmp(a, b) == 0)
		return 0;
	if (diff_text_init(&ta, a) < 0 || diff_text_init(&tb, b) < 0)
		return -ENOMEM;
	if (ta.n > DIFF_LINES_MAX || tb.n > DIFF_LINES_MAX) {
		fputs("The configurations differ; they are too long for a comparison by lines.\n",
		      out);
		return 1;
	}
	length = calloc((ta.n + 1) * (tb.n + 1), sizeof(*length));
	lines = calloc(ta.n + tb.n + 1, sizeof(*lines));
	if (!length || !lines)
		return -ENOMEM;
	diff_print(lines, diff_lines(&ta, &tb, length, lines), out);
	return 1;
}

int ctl_diff_text(const char *a, const char *b, char **ret)
{
	size_t size;
	FILE *out = open_memstream(ret, &size);
	int differ = out ? ctl_diff(a, b, out) : -ENOMEM;

	return out && fclose(out) != 0 ? -ENOMEM : differ;
}

/* ---- the command ---- */

/* Loads a file, and returns it in normal form. */
static int normal_form(const char *file, char **ret)
{
	struct spec *s;
	int r = ctl_load(file, &s);

	if (r != CTL_OK)
		return r;
	*ret = spec_to_yaml(s);
	spec_free(s);
	return *ret ? CTL_OK : ctl_put_text(NULL);
}

struct difference {
	char *text;    /* differences from the running to the staged configuration, or to FILE */
	char *version; /* version of the staged configuration; NULL: FILE is compared */
	bool differs, host_differs;
	json_t *plan; /* steps from the host's present state to the running configuration */
	/* Warnings about values in the configuration files that are not in force although no
	 * difference shows them.
	 */
	json_t *warnings;
	json_t *staged_by; /* the users whose changes are staged */
};

static void difference_done(struct difference *d)
{
	free(d->text);
	free(d->version);
	json_decref(d->plan);
	json_decref(d->warnings);
	json_decref(d->staged_by);
}

static int compare_configs(const struct ctl_args *a, struct difference *ret)
{
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply running = {0};
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply staged = {0};
	autofree char *yaml = NULL;
	int r = ctl_ask_config(a, RESOURCE_CONFIG_RUNNING, &running), differ;

	if (r == CTL_OK && a->n_operands == 0)
		r = ctl_ask_config(a, RESOURCE_CONFIG_STAGED, &staged);
	else if (r == CTL_OK)
		r = normal_form(a->operands[0], &yaml);
	if (r != CTL_OK)
		return r;
	differ = ctl_diff_text(running.body, yaml ? yaml : staged.body, &ret->text);
	if (differ < 0)
		return ctl_put_text(NULL);
	ret->differs = differ > 0;
	ret->version = yaml ? NULL : ctl_version_of(&staged);
	return CTL_OK;
}

static bool plan_does_something(const json_t *plan)
{
	return json_array_size(json_object_get(plan, "steps")) +
		       json_array_size(json_object_get(plan, "actions")) >
	       0;
}

static int ask_legs(const struct ctl_args *a, struct difference *ret)
{
	const struct ctl_request rq = {.resource = RESOURCE_NET, .list = "net"};
	json_t *o = NULL, *leg, *override;
	size_t i, j;
	int r = ctl_ask_json(a, &rq, &o);

	if (r != CTL_OK)
		return r;
	ret->warnings = json_array();
	ret->staged_by = json_incref(json_object_get(o, "staged_by"));
	json_array_foreach (json_object_get(o, "net"), i, leg)
		json_array_foreach (json_object_get(leg, "overridden"), j, override)
			json_array_append(ret->warnings, json_object_get(override, "text"));
	json_array_foreach (json_object_get(o, "workers_overridden"), i, override)
		json_array_append(ret->warnings, json_object_get(override, "text"));
	json_decref(o);
	return CTL_OK;
}

static int ask_all(const struct ctl_args *a, struct difference *ret)
{
	const struct ctl_request rq = {.resource = RESOURCE_PLAN_RUNNING, .list = "steps"};
	int r = compare_configs(a, ret);

	if (r == CTL_OK && a->n_operands == 0)
		r = ctl_ask_json(a, &rq, &ret->plan);
	if (r == CTL_OK && a->n_operands == 0)
		r = ask_legs(a, ret);
	ret->host_differs = plan_does_something(ret->plan);
	return r;
}

static int put_difference_json(const struct difference *d)
{
	json_t *o =
		json_pack("{s:b, s:s, s:s?, s:b, s:O?, s:O?, s:O?}", "differs", d->differs, "diff",
			  d->text, "version", d->version, "host_differs", d->host_differs, "plan",
			  d->plan, "warnings", d->warnings, "staged_by", d->staged_by);
	int r = ctl_put_json(o);

	json_decref(o);
	return r;
}

static int put_difference(const struct difference *d)
{
	json_t *o = json_pack("{s:O?, s:O?}", "warnings", d->warnings, "staged_by", d->staged_by);

	fputs(d->text, stdout);
	ctl_put_authors(o);
	if (d->differs && d->version)
		ctl_put_version(d->version);
	ctl_put_warnings(o);
	json_decref(o);
	if (!d->host_differs)
		return CTL_OK;
	puts("The host does not match the running configuration; these steps would restore it:");
	return ctl_put_plan(d->plan);
}

int ctl_cmd_diff(const struct ctl_args *a)
{
	PLENUM_CLEANUP(difference_done) struct difference d = {0};
	int r = ask_all(a, &d);

	if (r == CTL_OK)
		r = a->json ? put_difference_json(&d) : put_difference(&d);
	return r != CTL_OK ? r : d.differs || d.host_differs ? CTL_DIFFERS : CTL_OK;
}
