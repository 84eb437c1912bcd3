/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits a file that a program maintains: plenum.d/50-cli.yaml. spec_node_parse reads the file into
 * a tree; these functions change its lists of maps and print it again. The only keys that they
 * know are `name` and `cores`, so a new key of the schema needs no change here. The values are
 * checked when all files are loaded.
 */
#ifndef PLENUM_NETCFG_SPEC_EDIT_H
#define PLENUM_NETCFG_SPEC_EDIT_H

#include "netcfg/spec/spec_node.h"

/* Returns the entry of that name in a list of the root, or NULL if the list has no such entry. */
struct spec_node *spec_edit_find(const struct spec_node *root, const char *list, const char *name);
/* Returns the first entry of a list of the root after the entry `after` (NULL: of all) whose
 * `cores` contain the core, or NULL if no entry does. */
struct spec_node *spec_edit_find_core(const struct spec_node *root, const char *list, unsigned core,
				      const struct spec_node *after);
/* Returns an empty map, or NULL if out of memory. */
struct spec_node *spec_edit_new(void);
/* Appends a map to a list of the root, and creates the list if it is missing. It takes ownership of
 * item, also on failure. Returns 0 or -ENOMEM. */
int spec_edit_add(struct spec_node *root, const char *list, struct spec_node *item);
/* Sets a member of a map to that text. Returns 0 or -ENOMEM. */
int spec_edit_put(struct spec_node *map, const char *key, const char *text);
/* Moves the members of one map, except `except`, to another. Existing members are replaced. */
void spec_edit_move(struct spec_node *to, struct spec_node *from, const char *except);
/* Adds a member that was removed from another map, and replaces a member with the same key. */
void spec_edit_hang(struct spec_node *map, struct spec_node *member);
/* Appends an item, which was taken from another list, to a list. */
void spec_edit_append(struct spec_node *list, struct spec_node *item);
/* Removes the members whose value is null. */
void spec_edit_drop_nulls(struct spec_node *map);
/* Removes a node from its parent. If the parent list becomes empty, removes that list from the
 * root. The caller then owns the node. */
struct spec_node *spec_edit_take(struct spec_node *n);
/* Prints a value in flow style on one line. Returns a heap string, which the caller frees, or NULL
 * if out of memory. */
char *spec_edit_print_value(const struct spec_node *n);
/* Prints the root's lists and their maps in block style, and values below them in flow style.
 * Returns a heap string, which the caller frees, or NULL if out of memory. */
char *spec_edit_print(const struct spec_node *root);

#endif
