/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits a file that a program maintains: plenum.d/50-cli.yaml. A tree is read by spec_node_parse,
 * its lists of named maps are changed here, and it is printed again. Knows no key but `name`:
 * validity is checked when all files are loaded, so that a new schema key needs no line here.
 */
#ifndef PLENUM_NETCFG_SPEC_EDIT_H
#define PLENUM_NETCFG_SPEC_EDIT_H

#include "netcfg/spec/spec_node.h"

/* The entry of that name in a list of the root. NULL: none. */
struct spec_node *spec_edit_find(const struct spec_node *root, const char *list, const char *name);
/* An empty map. NULL: no memory. */
struct spec_node *spec_edit_new(void);
/* Appends a map to a list of the root, and creates the list where it is missing. Takes item,
 * also on failure. 0, -ENOMEM. */
int spec_edit_add(struct spec_node *root, const char *list, struct spec_node *item);
/* Sets a member of a map to that text. 0, -ENOMEM. */
int spec_edit_put(struct spec_node *map, const char *key, const char *text);
/* Moves the members of one map to another, except `except`; existing members are replaced. */
void spec_edit_move(struct spec_node *to, struct spec_node *from, const char *except);
/* Adds a member taken out of another map; an existing member with its key is replaced. */
void spec_edit_hang(struct spec_node *map, struct spec_node *member);
/* Removes the members that are null. */
void spec_edit_drop_nulls(struct spec_node *map);
/* Takes a node out of its parent, and the parent's list out of the root where it becomes empty.
 * The node is the caller's. */
struct spec_node *spec_edit_take(struct spec_node *n);
/* A value in flow style on one line. Heap, caller frees; NULL: no memory. */
char *spec_edit_print_value(const struct spec_node *n);
/* Block style for the root's lists and their maps, flow style below. Heap, caller frees; NULL: no
 * memory. */
char *spec_edit_print(const struct spec_node *root);

#endif
