/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merges entries of one file that change entries of another file (`net-set:`) into the trees before
 * the trees are read. So one reader and one set of checks apply to the result, and an error names
 * the line of the change.
 */
#include "netcfg/spec/spec_edit.h"
#include "netcfg/spec/spec_schema.h"

#include <string.h>

/* Returns the entry of that name in any of the trees. */
static struct spec_node *find_target(const struct spec_reader *r, const char *list,
				     const char *name)
{
	for (size_t i = 0; i < r->n_trees; i++) {
		struct spec_node *n = spec_edit_find(r->trees[i], list, name);

		if (n)
			return n;
	}
	return NULL;
}

/* Returns an earlier item that changes the same entry, or NULL. */
static const struct spec_node *find_twin(const struct spec_reader *r, const char *list,
					 const char *name, const struct spec_node *item)
{
	for (size_t i = 0; i < r->n_trees; i++) {
		const struct spec_node *n = spec_edit_find(r->trees[i], list, name);

		if (n)
			return n == item ? NULL : n;
	}
	return NULL;
}

static void merge_item(struct spec_reader *r, const struct spec_key *k, struct spec_node *item)
{
	const struct spec_node *name = spec_node_member(item, "name"), *twin;
	struct spec_node *target;

	if (item->bad || item->kind != SPEC_NODE_MAP) {
		if (!item->bad)
			spec_read_error(r, item,
					"expected a map of keys; write for example '%s: %s'",
					k->name, k->example);
		return;
	}
	if (!name || name->kind != SPEC_NODE_SCALAR || !name->text) {
		spec_read_error(r, item,
				"the key 'name' is missing; write which entry of %s this changes",
				k->changes);
		return;
	}
	target = find_target(r, k->changes, name->text);
	twin = find_twin(r, k->name, name->text, item);
	if (!target)
		spec_read_error(
			r, name,
			"no entry of %s is called '%.64s'; 'plenum net remove %.64s' drops this "
			"change",
			k->changes, name->text, name->text);
	else if (twin)
		spec_read_error(r, name,
				"'%.64s' is changed already on line %u of %s; leave one out",
				name->text, twin->pos.line, twin->pos.file);
	else if (spec_overrides_add(r->spec, name->text, target, item) < 0)
		r->d->out_of_memory = true;
	else
		spec_edit_move(target, item, "name");
}

void spec_merge_trees(struct spec_reader *r)
{
	for (size_t i = 0; i < spec_schema.n_keys; i++) {
		const struct spec_key *k = &spec_schema.keys[i];

		for (size_t j = 0; k->changes && j < r->n_trees; j++) {
			struct spec_node *list = spec_node_member(r->trees[j], k->name);

			if (!list || list->bad)
				continue;
			if (list->kind != SPEC_NODE_LIST)
				spec_read_error(r, list,
						"expected a list; write for example '%s: %s'",
						k->name, k->example);
			for (struct spec_node *item = list->child;
			     item && list->kind == SPEC_NODE_LIST; item = item->next)
				merge_item(r, k, item);
		}
	}
}
