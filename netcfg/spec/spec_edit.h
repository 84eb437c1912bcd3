/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes to a file that a program keeps: plenum.d/50-cli.yaml. A tree is read by spec_node_parse,
 * its lists of named maps are changed here, and it is printed again. Knows no key but `name`: what
 * is valid is decided when the whole is loaded, so that a new key of the schema needs no line here.
 */
#ifndef PLENUM_NETCFG_SPEC_EDIT_H
#define PLENUM_NETCFG_SPEC_EDIT_H

#include "netcfg/spec/spec_node.h"

/* The entry of that name in a list of the root. NULL: there is none. */
struct spec_node *spec_edit_find(const struct spec_node *root, const char *list, const char *name);
/* An empty map. NULL: no memory. */
struct spec_node *spec_edit_new(void);
/* Appends a map to a list of the root, which is made where it is not there. Takes item, also where
 * it fails. 0, -ENOMEM. */
int spec_edit_add(struct spec_node *root, const char *list, struct spec_node *item);
/* Gives a map a member of that text, in the place of one it has. 0, -ENOMEM. */
int spec_edit_put(struct spec_node *map, const char *key, const char *text);
/* Moves the members of one map to another, in the place of those it has; all but `except`. */
void spec_edit_move(struct spec_node *to, struct spec_node *from, const char *except);
/* Gives a map a member that was taken out of another, in the place of one that has its key. */
void spec_edit_hang(struct spec_node *map, struct spec_node *member);
/* Takes away the members that are null. */
void spec_edit_drop_nulls(struct spec_node *map);
/* Takes a node out of its parent, and the parent's list out of the root where it is empty then.
 * The node is the caller's. */
struct spec_node *spec_edit_take(struct spec_node *n);
/* Block style for the root's lists and their maps, flow style below. Heap, caller frees; NULL: no
 * memory. */
char *spec_edit_print(const struct spec_node *root);

#endif
