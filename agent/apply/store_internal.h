/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of the store. store.c stages changes, store_net.c carries out `plenum net`,
 * store_disk.c reads the files on disk. store_commit.c writes the staged tree to the files,
 * store_document.c stages a document of the cluster, store_tree.c reads and removes the staged
 * tree, store_authors.c records its authors, and store_errors.c reports errors.
 */
#ifndef PLENUM_AGENT_STORE_INTERNAL_H
#define PLENUM_AGENT_STORE_INTERNAL_H

#include "agent/apply/store.h"
#include <dirent.h>

/* Adds the error "PATH: cannot be DONE: reason" to d. Returns error. */
int store_error(struct diag *d, const char *path, const char *done, int error);
bool store_is_dropin(const struct dirent *e);
/* Reads a part of the staged tree. Returns 0 or negative errno. If the part is absent, returns 0
 * and *ret_text is NULL. */
int store_read_staged(const struct store *st, const char *name, char **ret_text, size_t *ret_len);
#define STORE_WHOLE "plenum.yaml"
#define STORE_CLI "plenum.d/" STORE_CLI_FILE
#define STORE_DOCUMENT "plenum.d/" STORE_DOCUMENT_FILE
/* Content of 50-cli.yaml if it has no legs; the file is then removed. */
#define STORE_CLI_NONE "net: []\n"

/* Validates the configuration that consists of these parts, then stages it in place of the staged
 * configuration. whole NULL: use the files on disk instead of a whole configuration. cli NULL: no
 * changes by `plenum net`. In store.c. */
int store_stage(struct store *st, const char *whole, size_t len, const char *cli, struct diag *d);
/* Fills check_dir with the drop-ins, and with the text in place of the drop-in `file`; text NULL:
 * leaves that one out. In store.c. */
int store_make_check(const struct store *st, const char *file, const char *text);
/* Returns the path of a new tree beside the staged one, on the heap. In store.c. */
char *store_next_tree(const struct store *st);
/* Puts the new tree in the place of the staged one, which then has the path of the new one. In
 * store.c. */
int store_swap_tree(const struct store *st, const char *tree, struct diag *d);
/* Writes the record of authors to a new tree: the present author and, unless the new tree
 * `replaces` all of the staged tree, also the authors of the staged tree. In store_authors.c. */
int store_write_authors(const struct store *st, const char *tree, bool replaces);
/* Loads the configuration of these parts, as for store_stage(), without staging it. In store.c. */
int store_try(struct store *st, const char *whole, size_t len, const char *cli, struct diag *d,
	      struct spec **ret);

/* Frees the result of the last store_look(). In store_disk.c. */
void store_look_done(struct store *st);

/* Completes a commit whose rename has been made. Returns 0, even if none was begun, or
 * negative errno. In store_commit.c. */
int store_finish_commit(struct store *st, struct diag *d);

#endif
