/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merges entries of one file that change entries of another file (`net-set:`, `workers-set:`) into
 * the trees before the trees are read. So one reader and one set of checks apply to the result, and
 * an error names the line of the change.
 */
#include "netcfg/base/vec.h"
#include "netcfg/spec/spec_edit.h"
#include "netcfg/spec/spec_schema.h"

#include <string.h>

/* An item of `net-set:` or `workers-set:`, and the entry that it changes. All such entries are
 * found before the first merge, because a merge may change the cores by which other entries are
 * found. */
struct change {
	const struct spec_key *k;
	struct spec_node *item, *target;
};

struct changes {
	struct change *list;
	size_t n;
};

/* Returns the entry, in any of the trees, that the item changes. by: the value of the item's key
 * k->by. *ret_other: another entry that has the same core in its file, or NULL. */
static struct spec_node *find_target(const struct spec_reader *r, const struct spec_key *k,
				     const char *by, const struct spec_node **ret_other)
{
	struct spec_node *found = NULL;
	const bool is_core = strcmp(k->by, "core") == 0;
	unsigned core, last;

	*ret_other = NULL;
	if (is_core && (!spec_cores_parse(by, &core, &last) || core != last))
		return NULL;
	for (size_t i = 0; i < r->n_trees; i++) {
		const struct spec_node *tree = r->trees[i];
		struct spec_node *n = is_core ? spec_edit_find_core(tree, k->changes, core, NULL)
					      : spec_edit_find(tree, k->changes, by);

		if (found && is_core && n)
			*ret_other = n;
		else if (!found && n)
			found = n;
		if (found == n && is_core && n)
			*ret_other = spec_edit_find_core(tree, k->changes, core, n);
		if (found && (!is_core || *ret_other))
			break;
	}
	return found;
}

/* Returns an earlier item that changes the same entry, or NULL. */
static const struct spec_node *find_twin(const struct changes *c, const struct spec_node *target)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->list[i].target == target)
			return c->list[i].item;
	return NULL;
}

static void complain_missing(struct spec_reader *r, const struct spec_key *k,
			     const struct spec_node *by)
{
	if (strcmp(k->by, "name") == 0)
		spec_read_error(
			r, by,
			"no entry of %s is called '%.64s'; 'plenum net remove %.64s' drops this "
			"change",
			k->changes, by->text, by->text);
	else
		spec_read_error(r, by,
				"no entry of %s has core '%.16s' in its file; write a core that an "
				"entry of %s has in its file, or remove this entry of %s",
				k->changes, by->text, k->changes, k->name);
}

/* Reports that two entries have the core, so that it is unclear which one the item changes. This
 * happens if a worker has moved away from the core, and a new entry uses the core again. */
static void complain_ambiguous(struct spec_reader *r, const struct spec_key *k,
			       const struct spec_node *by, const struct spec_node *other)
{
	spec_read_error(r, by,
			"two entries of %s have core '%.16s' in their files, the second on line %u "
			"of %s; write the present cores of each worker into its entry, and "
			"remove this entry of %s",
			k->changes, by->text, other->pos.line, other->pos.file, k->name);
}

static void complain_twin(struct spec_reader *r, const struct spec_key *k,
			  const struct spec_node *by, const struct spec_node *twin)
{
	const struct spec_node *had = spec_node_member(twin, k->by);

	if (strcmp(had->text, by->text) == 0)
		spec_read_error(r, by, "'%.64s' is changed already on line %u of %s; leave one out",
				by->text, twin->pos.line, twin->pos.file);
	else
		spec_read_error(r, by,
				"the entry of %s with core '%.16s' is changed already on line %u "
				"of %s, by its core '%.16s'; leave one out",
				k->changes, by->text, twin->pos.line, twin->pos.file, had->text);
}

/* Finds the entry that the item changes. */
static void find_change(struct spec_reader *r, const struct spec_key *k, struct spec_node *item,
			struct changes *c)
{
	const struct spec_node *by = spec_node_member(item, k->by), *twin, *other;
	struct change change = {k, item, NULL}, *added;

	if (item->bad || item->kind != SPEC_NODE_MAP) {
		if (!item->bad)
			spec_read_error(r, item,
					"expected a map of keys; write for example '%s: %s'",
					k->name, k->example);
		return;
	}
	if (!by || by->kind != SPEC_NODE_SCALAR || !by->text) {
		spec_read_error(r, item,
				"the key '%s' is missing; write which entry of %s this changes",
				k->by, k->changes);
		return;
	}
	change.target = find_target(r, k, by->text, &other);
	twin = change.target ? find_twin(c, change.target) : NULL;
	if (!change.target) {
		complain_missing(r, k, by);
		return;
	}
	if (other) {
		complain_ambiguous(r, k, by, other);
		return;
	}
	if (twin) {
		complain_twin(r, k, by, twin);
		return;
	}
	added = vec_add(&c->list, &c->n, sizeof(*added));
	if (added)
		*added = change;
	else
		r->d->out_of_memory = true;
}

static void find_changes(struct spec_reader *r, const struct spec_key *k, struct spec_node *list,
			 struct changes *c)
{
	if (!list || list->bad)
		return;
	if (list->kind != SPEC_NODE_LIST)
		spec_read_error(r, list, "expected a list; write for example '%s: %s'", k->name,
				k->example);
	for (struct spec_node *item = list->child; item && list->kind == SPEC_NODE_LIST;
	     item = item->next)
		find_change(r, k, item, c);
}

void spec_merge_trees(struct spec_reader *r)
{
	struct changes c = {0};

	for (size_t i = 0; i < spec_schema.n_keys; i++)
		for (size_t j = 0; spec_schema.keys[i].changes && j < r->n_trees; j++)
			find_changes(r, &spec_schema.keys[i],
				     spec_node_member(r->trees[j], spec_schema.keys[i].name), &c);
	for (size_t i = 0; i < c.n; i++) {
		const struct change *m = &c.list[i];

		if (spec_overrides_add(r->spec, m->k, m->target, m->item) < 0)
			r->d->out_of_memory = true;
		else
			spec_edit_move(m->target, m->item, m->k->by);
	}
	free(c.list);
}
