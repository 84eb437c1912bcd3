/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes and prints YAML trees. Only spec_merge.c, which merges the changes in one file into
 * entries of another, needs this to read a configuration.
 */
#include "netcfg/spec/spec_edit.h"

#include "netcfg/base/file.h"
#include "netcfg/spec/spec_schema.h"
#include <string.h>

struct spec_node *spec_edit_find(const struct spec_node *root, const char *list, const char *name)
{
	const struct spec_node *items = spec_node_member(root, list);

	if (!items || items->kind != SPEC_NODE_LIST)
		return NULL;
	for (struct spec_node *n = items->child; n; n = n->next) {
		const struct spec_node *have = spec_node_member(n, "name");

		if (have && have->kind == SPEC_NODE_SCALAR && have->text &&
		    strcmp(have->text, name) == 0)
			return n;
	}
	return NULL;
}

static bool has_core(const struct spec_node *n, unsigned core)
{
	unsigned first, last;

	if (n->kind == SPEC_NODE_SCALAR)
		return n->text && spec_cores_parse(n->text, &first, &last) && core >= first &&
		       core <= last;
	for (const struct spec_node *c = n->child; c; c = c->next)
		if (c->kind == SPEC_NODE_SCALAR && has_core(c, core))
			return true;
	return false;
}

struct spec_node *spec_edit_find_core(const struct spec_node *root, const char *list, unsigned core,
				      const struct spec_node *after)
{
	const struct spec_node *items = spec_node_member(root, list);

	if (!items || items->kind != SPEC_NODE_LIST)
		return NULL;
	for (struct spec_node *n = after ? after->next : items->child; n; n = n->next) {
		const struct spec_node *cores = spec_node_member(n, "cores");

		if (cores && has_core(cores, core))
			return n;
	}
	return NULL;
}

static struct spec_node *node_new(enum spec_node_kind kind)
{
	struct spec_node *n = calloc(1, sizeof(*n));

	if (n)
		n->kind = kind;
	return n;
}

struct spec_node *spec_edit_new(void)
{
	return node_new(SPEC_NODE_MAP);
}

static void append(struct spec_node *parent, struct spec_node *n)
{
	n->parent = parent;
	n->next = NULL;
	n->index = parent->n_children++;
	if (parent->last_child)
		parent->last_child->next = n;
	else
		parent->child = n;
	parent->last_child = n;
}

static struct spec_node *take(struct spec_node *n)
{
	struct spec_node *parent = n->parent, **at = &parent->child, *last = NULL;
	size_t index = 0;

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	n->next = n->parent = NULL;
	for (struct spec_node *c = parent->child; c; c = c->next) {
		c->index = index++;
		last = c;
	}
	parent->last_child = last;
	parent->n_children = index;
	return n;
}

struct spec_node *spec_edit_take(struct spec_node *n)
{
	struct spec_node *list = n->parent;

	take(n);
	if (list->kind == SPEC_NODE_LIST && !list->child && list->parent)
		spec_node_free(take(list));
	return n;
}

void spec_edit_hang(struct spec_node *map, struct spec_node *member)
{
	struct spec_node *had = member->key ? spec_node_member(map, member->key) : NULL;

	if (had)
		spec_node_free(take(had));
	append(map, member);
}

void spec_edit_append(struct spec_node *list, struct spec_node *item)
{
	append(list, item);
}

void spec_edit_move(struct spec_node *to, struct spec_node *from, const char *except)
{
	for (struct spec_node *n = from->child, *next; n; n = next) {
		next = n->next;
		if (!n->key || strcmp(n->key, except) != 0)
			spec_edit_hang(to, take(n));
	}
}

void spec_edit_drop_nulls(struct spec_node *map)
{
	for (struct spec_node *n = map->child, *next; n; n = next) {
		next = n->next;
		if (spec_node_is_null(n))
			spec_node_free(take(n));
	}
}

int spec_edit_put(struct spec_node *map, const char *key, const char *text)
{
	struct spec_node *n = node_new(SPEC_NODE_SCALAR);

	if (n) {
		n->key = strdup(key);
		n->text = strdup(text);
	}
	if (!n || !n->key || !n->text) {
		spec_node_free(n);
		return -ENOMEM;
	}
	spec_edit_hang(map, n);
	return 0;
}

int spec_edit_add(struct spec_node *root, const char *list, struct spec_node *item)
{
	struct spec_node *items = spec_node_member(root, list);

	if (!items) {
		items = node_new(SPEC_NODE_LIST);
		if (items)
			items->key = strdup(list);
		if (!items || !items->key) {
			spec_node_free(items);
			spec_node_free(item);
			return -ENOMEM;
		}
		append(root, items);
	}
	append(items, item);
	return 0;
}

/* ---- printing ---- */

static void print_flow(const struct spec_node *n, FILE *out)
{
	const char *brackets = n->kind == SPEC_NODE_LIST ? "[]" : "{}";

	if (n->kind == SPEC_NODE_SCALAR) {
		/* Only texts that YAML would read as a number, a boolean or null need quotes. */
		if (n->plain && (spec_text_is_number(n->text) || spec_text_is_bool(n->text) ||
				 spec_node_is_null(n)))
			fputs(*n->text ? n->text : "null", out);
		else
			spec_print_text(n->text, out);
		return;
	}
	fputc(brackets[0], out);
	for (const struct spec_node *c = n->child; c; c = c->next) {
		fputs(c == n->child ? "" : ", ", out);
		if (n->kind == SPEC_NODE_MAP) {
			spec_print_text(c->key ? c->key : "", out);
			fputs(": ", out);
		}
		print_flow(c, out);
	}
	fputc(brackets[1], out);
}

char *spec_edit_print_value(const struct spec_node *n)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print_flow(n, out);
	return file_text_end(out, &text, 0);
}

static void print_entry(const struct spec_node *n, FILE *out)
{
	if (n->kind != SPEC_NODE_MAP || !n->child) {
		fputs("  - ", out);
		print_flow(n, out);
		fputc('\n', out);
		return;
	}
	for (const struct spec_node *c = n->child; c; c = c->next) {
		fputs(c == n->child ? "  - " : "    ", out);
		spec_print_text(c->key ? c->key : "", out);
		fputs(": ", out);
		print_flow(c, out);
		fputc('\n', out);
	}
}

char *spec_edit_print(const struct spec_node *root)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (const struct spec_node *c = root->child; c; c = c->next) {
		bool block = c->kind == SPEC_NODE_LIST && c->child;

		spec_print_text(c->key ? c->key : "", out);
		fputs(block ? ":\n" : ": ", out);
		for (const struct spec_node *item = block ? c->child : NULL; item;
		     item = item->next)
			print_entry(item, out);
		if (!block) {
			print_flow(c, out);
			fputc('\n', out);
		}
	}
	return file_text_end(out, &text, 0);
}
