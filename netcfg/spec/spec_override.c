/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records the values of files that entries of `net-set:` and `workers-set:` replace, because the
 * merged configuration no longer contains them. Commands and the agent use these records to
 * describe the overrides to users.
 */
#include "netcfg/base/vec.h"
#include "netcfg/spec/spec_edit.h"
#include "netcfg/spec/spec_schema.h"

#include <stdio.h>
#include <string.h>

/* Maximum number of characters of a value in a message. */
#define SHOWN_MAX 60

static void override_done(struct spec_override *o)
{
	free(o->path);
	free(o->key);
	free(o->value);
	free(o->overridden);
}

void spec_overrides_done(struct spec *s)
{
	for (size_t i = 0; i < s->n_overrides; i++)
		override_done(&s->overrides[i]);
	free(s->overrides);
	s->overrides = NULL;
	s->n_overrides = 0;
}

/* Adds the record, or frees it if both values are equal. */
static int keep(struct spec *s, struct spec_override *o)
{
	const bool same = o->value && o->overridden && strcmp(o->value, o->overridden) == 0;
	struct spec_override *added = NULL;

	if (o->path && o->key && o->value && o->overridden && !same)
		added = vec_add(&s->overrides, &s->n_overrides, sizeof(*added));
	if (!added) {
		override_done(o);
		return same ? 0 : -ENOMEM;
	}
	*added = *o;
	return 0;
}

static int add(struct spec *s, const struct spec_key *k, const struct spec_node *from,
	       const struct spec_node *to)
{
	const struct spec_node *by = spec_node_member(to->parent, k->by);
	char path[SPEC_PATH_MAX];
	struct spec_override o = {.list = k->changes,
				  .by_list = k->name,
				  .path = strdup(spec_node_path(from, path, sizeof(path))),
				  .key = strdup(to->key),
				  .value = spec_edit_print_value(to),
				  .overridden = spec_edit_print_value(from),
				  .pos = to->pos,
				  .overridden_pos = from->pos,
				  .entry_pos = from->parent->pos};
	const struct spec_node *name = spec_node_member(from->parent, "name");

	snprintf(o.name, sizeof(o.name), "%s", name && name->text ? name->text : "");
	snprintf(o.by, sizeof(o.by), "%s", by && by->text ? by->text : "");
	return keep(s, &o);
}

int spec_override_below(struct spec *s, const struct spec_key *k, const struct spec_node *own,
			const struct spec_node *below)
{
	char path[SPEC_PATH_MAX];
	const struct spec_node *entry = own->parent, *name = spec_node_member(entry, "name");
	struct spec_override o = {.list = k->name,
				  .by_list = k->name,
				  .path = strdup(spec_node_path(below, path, sizeof(path))),
				  .key = strdup(below->key),
				  .value = spec_edit_print_value(own),
				  .overridden = spec_edit_print_value(below),
				  .pos = own->pos,
				  .overridden_pos = below->pos,
				  .entry_pos = entry->pos};

	snprintf(o.name, sizeof(o.name), "%s", name && name->text ? name->text : "");
	memcpy(o.by, o.name, sizeof(o.by));
	return keep(s, &o);
}

int spec_overrides_add(struct spec *s, const struct spec_key *k, const struct spec_node *target,
		       const struct spec_node *changes)
{
	int r = 0;

	for (const struct spec_node *n = changes->child; n && r == 0; n = n->next) {
		const struct spec_node *had = n->key ? spec_node_member(target, n->key) : NULL;

		if (had && strcmp(n->key, k->by) != 0)
			r = add(s, k, had, n);
	}
	return r;
}

/* Finds an earlier override of the same value. It compares list, `by` and key instead of paths,
 * because a path contains the index of the worker within its file, while a worker's core or a leg's
 * name is unique in all files. */
static const struct spec_override *find(const struct spec *s, const struct spec_override *like)
{
	for (size_t i = 0; s && i < s->n_overrides; i++) {
		const struct spec_override *o = &s->overrides[i];

		if (strcmp(o->list, like->list) == 0 && strcmp(o->by, like->by) == 0 &&
		    strcmp(o->key, like->key) == 0)
			return o;
	}
	return NULL;
}

/* Adds the cores of YAML text, such as "[2, 4-7]". Returns their number. */
static size_t parse_cores(const char *text, unsigned *ret, size_t max)
{
	static const char of_range[] = "0123456789-";
	unsigned first, last;
	char word[32];
	size_t n = 0;

	for (text += strcspn(text, of_range); *text; text += strcspn(text, of_range)) {
		const size_t len = strspn(text, of_range);

		snprintf(word, sizeof(word), "%.*s", (int)MIN_OF(len, sizeof(word) - 1), text);
		text += len;
		if (!spec_cores_parse(word, &first, &last))
			continue;
		for (unsigned core = first; core <= last && n < SPEC_CORES_MAX; core++, n++)
			if (n < max)
				ret[n] = core;
	}
	return n;
}

size_t spec_override_cores(const struct spec *s, const struct spec_worker *w, unsigned *ret,
			   size_t max)
{
	for (size_t i = 0; i < s->n_overrides; i++) {
		const struct spec_override *o = &s->overrides[i];

		if (strcmp(o->list, "workers") == 0 && strcmp(o->key, "cores") == 0 &&
		    o->entry_pos.file == w->pos.file && o->entry_pos.line == w->pos.line &&
		    o->entry_pos.column == w->pos.column)
			return parse_cores(o->overridden, ret, max);
	}
	return 0;
}

bool spec_override_is_edited(const struct spec_override *o, const struct spec *before)
{
	const struct spec_override *had = find(before, o);

	return had && strcmp(had->overridden, o->overridden) != 0;
}

/* Describes how to end the override: by a command if `plenum net` maintains the file, otherwise by
 * an edit. */
static void describe_end(const struct spec_override *o, char *buf, size_t size)
{
	const char *slash = o->pos.file ? strrchr(o->pos.file, '/') : NULL;

	if (slash && strcmp(slash + 1, SPEC_CLI_FILE) == 0 && strcmp(o->list, "net") == 0)
		snprintf(buf, size, "'plenum net set %s --unset %s' makes the file's value count",
			 o->name, o->key);
	else
		snprintf(buf, size, "remove '%s' there to make this value count", o->key);
}

void spec_override_note(const struct spec_override *o, const struct spec *before, struct diag *d)
{
	const bool edited = spec_override_is_edited(o, before);
	char end[2 * PLENUM_NAME_MAX + 80];

	describe_end(o, end, sizeof(end));
	diag_add(d, edited ? DIAG_WARNING : DIAG_NOTE, &o->overridden_pos, o->path,
		 "%s '%.*s' has no effect: %s in %s:%u:%u overrides it with '%.*s'; %s",
		 edited ? "the edited value" : "the value", SHOWN_MAX, o->overridden, o->by_list,
		 o->pos.file ? o->pos.file : "?", o->pos.line, o->pos.column, SHOWN_MAX, o->value,
		 end);
}

void spec_note_overrides(const struct spec *s, const struct spec *before, struct diag *d)
{
	for (size_t i = 0; i < s->n_overrides; i++)
		spec_override_note(&s->overrides[i], before, d);
}
