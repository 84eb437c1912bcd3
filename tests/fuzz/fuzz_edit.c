/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the command line's file and, after a line "=====", as a client's change of its first
 * device: the printed result reads back, and prints the same again.
 */
#include "netcfg/spec/spec_edit.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char line[] = "\n=====\n";

static struct spec_node *parse(const char *text, size_t len)
{
	struct diag d = DIAG_INIT;
	struct spec_node *n = NULL;

	if (spec_node_parse("fuzz", text, len, &d, &n) < 0 || diag_has_errors(&d) ||
	    (n && n->kind != SPEC_NODE_MAP))
		n = spec_node_free(n);
	diag_done(&d);
	return n;
}

/* A text with characters that no key allows is refused before it is stored. */
static bool is_printable(const struct spec_node *n)
{
	for (; n; n = n->next) {
		for (const char *c = n->text; c && *c; c++)
			if (*c < ' ' || *c > '~')
				return false;
		for (const char *c = n->key; c && *c; c++)
			if (*c < ' ' || *c > '~')
				return false;
		if (!is_printable(n->child))
			return false;
	}
	return true;
}

static void check_printed(const struct spec_node *root)
{
	autofree char *text = spec_edit_print(root), *again_text = NULL;
	struct spec_node *again = NULL;

	if (!text)
		abort();
	if (!root->child || !is_printable(root))
		return;
	again = parse(text, strlen(text));
	again_text = again ? spec_edit_print(again) : NULL;
	if (!again_text || strcmp(text, again_text) != 0)
		abort();
	spec_node_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *split = memmem(text, size, line, strlen(line));
	size_t len = split ? (size_t)(split - text) : size;
	struct spec_node *root = parse(text, len), *changes = NULL, *nets, *entry;

	if (split)
		changes = parse(split + strlen(line), size - len - strlen(line));
	nets = spec_node_member(root, "net");
	entry = nets && nets->kind == SPEC_NODE_LIST ? nets->child : NULL;
	if (changes && entry && entry->kind == SPEC_NODE_MAP) {
		spec_edit_move(entry, changes, "name");
		spec_edit_drop_nulls(entry);
		check_printed(root);
		spec_node_free(spec_edit_take(entry));
	} else if (changes && root && spec_edit_add(root, "net", changes) == 0) {
		changes = NULL;
	}
	if (root)
		check_printed(root);
	spec_node_free(changes);
	spec_node_free(root);
	return 0;
}
