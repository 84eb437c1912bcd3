/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts a plan in JSON to text, so that the text is the same whether the agent, the command line
 * or another host made the plan. The JSON is not trusted: any member may be missing or have a wrong
 * type.
 */
#include "netcfg/plan/plan.h"

#include "netcfg/base/file.h"
#include <stdio.h>
#include <string.h>

struct render {
	FILE *f;
	size_t width; /* line width in characters; SIZE_MAX: do not wrap */
};

/* Returns the text of the member, or "" if it is missing. */
static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static bool member_is(const json_t *o, const char *key, const char *text)
{
	return strcmp(text_of(o, key), text) == 0;
}

static void put_char(char c, FILE *f)
{
	fputc((unsigned char)c < ' ' || c == 0x7f ? '?' : c, f);
}

/* Returns the length of the word in characters: continuation bytes of UTF-8 do not count. */
static size_t word_width(const char *text)
{
	size_t n = 0;

	for (; *text && *text != ' '; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* Prints text from column `at` on, and continues wrapped lines there. */
static void put_text(struct render *r, const char *text, size_t at)
{
	size_t column = at;

	while (*text) {
		size_t n = word_width(text);

		if (column > at && *text != ' ' && column + n > r->width) {
			fprintf(r->f, "\n%*s", (int)at, "");
			column = at;
		}
		for (; *text && *text != ' '; text++)
			put_char(*text, r->f);
		column += n;
		if (*text == ' ' && column + 1 + word_width(text + 1) <= r->width) {
			fputc(' ', r->f);
			column++;
		} else if (*text == ' ') {
			fprintf(r->f, "\n%*s", (int)at, "");
			column = at;
		}
		text += *text == ' ';
	}
	fputc('\n', r->f);
}

/* ---- steps and actions ---- */

static void put_lines(struct render *r, const json_t *list, const char *key, size_t first)
{
	const json_t *s;
	size_t i;

	json_array_foreach (list, i, s) {
		autofree char *text = NULL;

		if (asprintf(&text, "%s%s", text_of(s, key),
			     json_is_true(json_object_get(s, "disruptive")) ? "  [disruptive]"
									    : "") < 0)
			text = NULL;
		fprintf(r->f, "%4zu. ", first + i + 1);
		put_text(r, text ? text : "?", 6);
		fprintf(r->f, "%6s", "");
		put_text(r, text_of(s, "reason"), 6);
	}
}

static bool leg_is_there(const json_t *leg)
{
	return !member_is(leg, "state", "absent") && !member_is(leg, "state", "refused");
}

static void put_steps(struct render *r, const json_t *o)
{
	const json_t *steps = json_object_get(o, "steps"), *leg;
	const json_t *actions = json_object_get(o, "actions");
	size_t n_steps = json_array_size(steps), n = n_steps + json_array_size(actions), i;
	bool all = true;

	for (const char *c = text_of(o, "host"); *c; c++)
		put_char(*c, r->f);
	json_array_foreach (json_object_get(o, "legs"), i, leg)
		all = all && leg_is_there(leg);
	if (n == 0)
		fprintf(r->f, ": nothing to do, the host matches the configuration%s\n",
			all ? "" : " as far as its legs are available");
	else
		fprintf(r->f, ": %zu step%s\n", n, n == 1 ? "" : "s");
	put_lines(r, steps, "step", 0);
	put_lines(r, actions, "action", n_steps);
}

/* ---- legs and workers ---- */

/* Returns the sentence about a leg on the heap, or NULL if memory is short. */
static char *leg_text(const json_t *leg)
{
	const char *device = text_of(leg, *text_of(leg, "ifname") ? "ifname" : "device");
	const char *match = text_of(leg, "match");
	char *text = NULL;

	if (member_is(leg, "state", "usable"))
		return asprintf(&text, "%s selects %s by '%s'", text_of(leg, "name"), device,
				match) < 0
			       ? NULL
			       : text;
	return asprintf(&text, "%s (%s) is %s: %s", text_of(leg, "name"), *device ? device : match,
			text_of(leg, "state"), text_of(leg, "reason")) < 0
		       ? NULL
		       : text;
}

/* Lists legs that are not usable, and those whose device was selected. The other legs are in the
 * table of workers. */
static void put_legs(struct render *r, const json_t *legs)
{
	const json_t *leg;
	size_t i, n = 0;

	json_array_foreach (legs, i, leg) {
		autofree char *text = NULL;

		if (member_is(leg, "state", "usable") && !*text_of(leg, "match"))
			continue;
		text = leg_text(leg);
		fprintf(r->f, "%s  ", n++ ? "" : "\n");
		put_text(r, text ? text : "?", 4);
	}
}

/* Returns "leg-a=10.10.1.10/16, leg-b=10.20.1.10/16 on 0000:3b:00.1/vf0" on the heap. */
static char *ports_text(const json_t *w)
{
	const json_t *ports = json_object_get(w, "ports");
	char *text = NULL;
	size_t size = 0, i;
	FILE *f = open_memstream(&text, &size);
	const json_t *p;

	if (!f)
		return NULL;
	json_array_foreach (ports, i, p) {
		fprintf(f, "%s%s=%s", i ? ", " : "", text_of(p, "leg"), text_of(p, "ip"));
		if (*text_of(p, "vf"))
			fprintf(f, " on %s", text_of(p, "vf"));
		if (json_is_true(json_object_get(p, "stands_by")))
			fputs(" (stands by)", f);
		if (json_is_true(json_object_get(p, "shared_ip")))
			fprintf(f, " port %lld",
				json_integer_value(json_object_get(w, "udp_port")));
	}
	if (i == 0)
		fputs("none", f);
	return file_text_end(f, &text, 0);
}

#define WORKER_PORTS_COLUMN 54 /* the column of the ports in the format below */

static void put_worker(struct render *r, const json_t *w)
{
	autofree char *ports = ports_text(w);
	const char *const below[] = {text_of(w, "reason"), text_of(w, "note")};
	const json_t *line;
	size_t i;

	fprintf(r->f, "%4lld  %-8.40s  %4lld  %-14.40s  %-14.40s  ",
		(long long)json_integer_value(json_object_get(w, "id")), text_of(w, "role"),
		(long long)json_integer_value(json_object_get(w, "core")), text_of(w, "asked"),
		text_of(w, "transport"));
	put_text(r, ports ? ports : "?", WORKER_PORTS_COLUMN);
	json_array_foreach (json_object_get(w, "details"), i, line) {
		fprintf(r->f, "%6s", "");
		put_text(r, json_is_string(line) ? json_string_value(line) : "?", 6);
	}
	for (i = 0; i < ARRAY_SIZE(below); i++) {
		if (!*below[i])
			continue;
		fprintf(r->f, "%6s", "");
		put_text(r, below[i], 6);
	}
}

char *plan_object_to_text(const json_t *plan, size_t width)
{
	char *text = NULL;
	size_t size, i;
	struct render r = {open_memstream(&text, &size), MAX_OF(width, 72)};
	const json_t *workers = json_object_get(plan, "workers"), *w;

	if (!r.f)
		return NULL;
	put_steps(&r, plan);
	put_legs(&r, json_object_get(plan, "legs"));
	if (json_array_size(workers) > 0)
		fputs("\n  id  role      core  asked           transport       addresses\n", r.f);
	json_array_foreach (workers, i, w)
		put_worker(&r, w);
	return file_text_end(r.f, &text, 0);
}

char *plan_to_text(const struct plan *p)
{
	json_t *o = plan_to_object(p);
	char *text = o ? plan_object_to_text(o, SIZE_MAX) : NULL;

	json_decref(o);
	return text;
}
