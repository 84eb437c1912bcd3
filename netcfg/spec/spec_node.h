/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Represents a YAML text as a tree of scalars, lists and maps with their positions. It checks the
 * bytes (size, encoding, tabs) and rejects YAML features that a configuration must not use:
 * anchors, aliases, tags, several documents, duplicate keys, deep nesting. It does not know the
 * keys of the schema. spec.c calls it; the reader and the checks use the tree for the positions in
 * messages. Only spec_node.c uses yaml.h.
 */
#ifndef PLENUM_NETCFG_SPEC_NODE_H
#define PLENUM_NETCFG_SPEC_NODE_H

#include "netcfg/base/diag.h"

/* Maximum number of values and keys of maps in a file: far more than any real file has, but few
 * enough to stop an exponential expansion early. */
#define SPEC_NODES_MAX 65536
#define SPEC_MAP_KEYS_MAX 256
/* Size that is enough for a formatted path with its NUL. Longer paths are truncated. */
#define SPEC_PATH_MAX 256

enum spec_node_kind { SPEC_NODE_SCALAR, SPEC_NODE_LIST, SPEC_NODE_MAP };

struct spec_node {
	enum spec_node_kind kind;
	bool plain; /* a scalar without quotes */
	bool bad;   /* an error was already reported for this node, so later errors are not
		       reported */
	struct diag_pos pos;
	char *text; /* the text of a scalar */
	char *key;  /* the key of a member of a map */
	struct diag_pos key_pos;
	struct spec_node *parent, *child, *last_child, *next;
	size_t index, n_children;
};

/* Parses a text. Returns 0 and *ret, which is NULL for a text without content, or returns -EINVAL
 * or -ENOMEM with errors in d. `file` must stay valid as long as the tree. *ret may also be set if
 * d has errors: the tree then contains the parts that could be read. */
int spec_node_parse(const char *file, const char *text, size_t len, struct diag *d,
		    struct spec_node **ret);
struct spec_node *spec_node_free(struct spec_node *n);
/* Returns the member `key` of a map, or NULL if it is absent or n is not a map. */
struct spec_node *spec_node_member(const struct spec_node *n, const char *key);
struct spec_node *spec_node_item(const struct spec_node *n, size_t index);
/* Returns the map that begins at pos, or NULL if no map begins there. */
struct spec_node *spec_node_map_at(struct spec_node *root, const struct diag_pos *pos);
/* Writes "workers[1].cores" or, for items with a name, "net[leg-a].label" into buf; returns buf. */
const char *spec_node_path(const struct spec_node *n, char *buf, size_t size);
/* Returns whether the node is a plain scalar that YAML reads as null: empty, ~ or null. */
bool spec_node_is_null(const struct spec_node *n);

/* Checks the bytes before YAML parses them: NUL, byte order mark, UTF-8, control characters, tabs
 * in indentation. Returns 0, or -EINVAL with errors in d. In spec_text.c. */
int spec_text_check(const char *file, const char *text, size_t len, struct diag *d);

#endif
