/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A YAML text as a tree of scalars, lists and maps with their positions. Checks the bytes (size,
 * encoding, tabs) and rejects YAML features that a configuration must not use: anchors, aliases,
 * tags, several documents, duplicate keys, deep nesting. Knows no keys. Called by spec.c; the
 * reader and the checks use the tree for positions. spec_node.c is the only user of yaml.h.
 */
#ifndef PLENUM_NETCFG_SPEC_NODE_H
#define PLENUM_NETCFG_SPEC_NODE_H

#include "netcfg/base/diag.h"

/* Values in a file plus keys in maps: far beyond any real file, low enough to stop alias bombs
 * early. */
#define SPEC_NODES_MAX 65536
#define SPEC_MAP_KEYS_MAX 256
/* A formatted path with its NUL; longer ones are truncated. */
#define SPEC_PATH_MAX 256

enum spec_node_kind { SPEC_NODE_SCALAR, SPEC_NODE_LIST, SPEC_NODE_MAP };

struct spec_node {
	enum spec_node_kind kind;
	bool plain; /* scalar without quotes */
	bool bad;   /* an error was reported here: report no more */
	struct diag_pos pos;
	char *text; /* scalar */
	char *key;  /* member of a map */
	struct diag_pos key_pos;
	struct spec_node *parent, *child, *last_child, *next;
	size_t index, n_children;
};

/* 0 and *ret, NULL for a text without content; -EINVAL or -ENOMEM with errors in d. `file` must
 * outlive the tree. A tree may come with errors in d: what could be understood is in it. */
int spec_node_parse(const char *file, const char *text, size_t len, struct diag *d,
		    struct spec_node **ret);
struct spec_node *spec_node_free(struct spec_node *n);
/* The member `key` of a map; NULL where it is absent or n is not a map. */
struct spec_node *spec_node_member(const struct spec_node *n, const char *key);
struct spec_node *spec_node_item(const struct spec_node *n, size_t index);
/* The map that begins at pos; NULL where none does. */
struct spec_node *spec_node_map_at(struct spec_node *root, const struct diag_pos *pos);
/* "workers[1].cores", "net[leg-a].label" into buf; returns buf. Items with a name are shown by
 * name. */
const char *spec_node_path(const struct spec_node *n, char *buf, size_t size);
/* Whether it is a plain scalar that YAML reads as null: empty, ~ or null. */
bool spec_node_is_null(const struct spec_node *n);

/* Checks the bytes before YAML parses them: NUL, byte order mark, UTF-8, control characters,
 * tabs in indentation. -EINVAL with errors in d. In spec_text.c. */
int spec_text_check(const char *file, const char *text, size_t len, struct diag *d);

#endif
