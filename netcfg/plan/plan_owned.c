/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of owned values: its text form, and how steps of an apply change it. */
#include "netcfg/plan/plan_owned.h"
#include "netcfg/base/file.h"
#include "netcfg/object/object.h"
#include "netcfg/base/boot_stamp.h"
#include "netcfg/plan/planner.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX (1U << 20)
#define NAME "plenum-owned"

static void forget_all(struct plan_owned *o)
{
	free(o->steps);
	o->steps = NULL;
	o->n = o->cap = 0;
}

void plan_owned_done(struct plan_owned *o)
{
	forget_all(o);
	free(o->path);
	*o = (struct plan_owned){.path = NULL};
}

static int parse_line(struct plan_owned *o, const char *line)
{
	struct plan_step s, *added;
	uint32_t ifindex;
	int at = 0;

	if (sscanf(line, "%" SCNu32 " %n", &ifindex, &at) != 1 || object_parse(line + at, &s) < 0 ||
	    s.verb != s.kind->verb)
		return -EBADMSG;
	s.change.ifindex = ifindex;
	added = plan_step_append(&o->steps, &o->n, &o->cap);
	if (!added)
		return -ENOMEM;
	*added = s;
	return 0;
}

/* The file is always replaced as a whole, so a line without newline is an error. */
static int parse_all(struct plan_owned *o, char *text)
{
	bool stale = false, first = true;
	char *end;
	int r = *text ? 0 : -EBADMSG;

	for (; r == 0 && *text && !stale; text = end + 1) {
		end = strchr(text, '\n');
		if (!end)
			return -EBADMSG;
		*end = '\0';
		r = first ? boot_stamp_parse(text, NAME, PLAN_OWNED_VERSION, &stale)
			  : parse_line(o, text);
		first = false;
	}
	return r;
}

int plan_owned_load(struct plan_owned *o, const char *path, struct diag *d)
{
	autofree char *text = NULL;
	char *copy = strdup(path);
	size_t len;
	int r;

	if (!copy)
		return -ENOMEM;
	plan_owned_done(o);
	o->path = copy;
	r = file_read(path, FILE_BYTES_MAX, &text, &len);
	if (r == 0)
		r = parse_all(o, text);
	if (r == 0 || r == -ENOENT)
		return 0;
	forget_all(o);
	if (r == -ENOMEM)
		return r;
	diag_add(d, DIAG_WARNING, NULL, NULL,
		 "cannot read the record %s (%s); values that earlier applies changed cannot be "
		 "restored",
		 path,
		 r == -EBADMSG ? "its format is damaged or of another version" : strerror(-r));
	return 0;
}

static size_t find(const struct plan_owned *o, const struct plan_step *s)
{
	size_t i = 0;

	while (i < o->n && (o->steps[i].kind != s->kind || !s->kind->same(&o->steps[i], s)))
		i++;
	return i;
}

static void drop(struct plan_owned *o, size_t i)
{
	memmove(&o->steps[i], &o->steps[i + 1], (--o->n - i) * sizeof(*o->steps));
}

/* The first old value stays, however often the value changes afterwards. */
static int add(struct plan_owned *o, const struct plan_step *s)
{
	const size_t i = find(o, s);
	struct plan_step *e = i < o->n ? &o->steps[i] : NULL;

	if (e && s->verb == PLAN_SET) {
		s->kind->follow(e, s);
		return 0;
	}
	e = e ? e : plan_step_append(&o->steps, &o->n, &o->cap);
	if (!e)
		return -ENOMEM;
	*e = *s;
	return 0;
}

int plan_owned_note(struct plan_owned *o, const struct plan_step *s, bool kept)
{
	size_t i;

	if (!s->kind->recorded || s->change.foreign)
		return 0;
	/* A step that is only begun when the apply commits was done: only its mark is missing. */
	if ((s->verb == PLAN_SET || s->verb == PLAN_ADD) && !kept)
		return add(o, s);
	i = s->verb == PLAN_DEL || s->verb == PLAN_RESTORE ? find(o, s) : o->n;
	if (i < o->n)
		drop(o, i);
	return 0;
}

int plan_owned_format(const struct plan_owned *o, char **ret, size_t *ret_len)
{
	char home[BOOT_STAMP_TEXT_MAX], line[256];
	autofree char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	int r = 0;
	bool failed;

	if (!f)
		return -ENOMEM;
	fprintf(f, NAME " %d %s\n", PLAN_OWNED_VERSION, boot_stamp_text(home, sizeof(home)));
	for (size_t i = 0; i < o->n && r >= 0; i++) {
		r = object_format(&o->steps[i], line, sizeof(line));
		fprintf(f, "%u %s\n", o->steps[i].change.ifindex, line);
	}
	failed = ferror(f) != 0;
	if (fclose(f) != 0 || failed)
		return -ENOMEM;
	if (r < 0)
		return r;
	*ret = ptr_take(text);
	*ret_len = len;
	return 0;
}
