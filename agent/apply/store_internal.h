/* SPDX-License-Identifier: BSD-3-Clause */
/* What store.c (staging), store_net.c (the command line's devices) and store_commit.c (from the
 * staged tree to the files) share. */
#ifndef PLENUM_AGENT_STORE_INTERNAL_H
#define PLENUM_AGENT_STORE_INTERNAL_H

#include "agent/apply/store.h"
#include <dirent.h>

/* Says in d that path "cannot be DONE: why"; returns error. */
int store_error(struct diag *d, const char *path, const char *done, int error);
/* A folder and all below it; fine where there is none. */
int store_remove_tree(const char *path);
bool store_is_dropin(const struct dirent *e);
/* The text of a part of the staged tree; 0 with *ret_text NULL where it has none. */
int store_read_staged(const struct store *st, const char *name, char **ret_text, size_t *ret_len);
#define STORE_WHOLE "plenum.yaml"
#define STORE_CLI "plenum.d/" STORE_CLI_FILE
/* The text of 50-cli.yaml that has no devices: the file shall not be there. */
#define STORE_CLI_NONE "net: []\n"

/* Validates the tree of these parts, then puts it in the place of what is staged. whole NULL: the
 * files on disk; cli NULL: no part of it. Of store.c. */
int store_stage(struct store *st, const char *whole, size_t len, const char *cli, struct diag *d);
/* What would be loaded with these parts; stages nothing. Of store.c. */
int store_try(struct store *st, const char *whole, size_t len, const char *cli, struct diag *d,
	      struct spec **ret);

/* Forgets what the files said. Of store_look.c. */
void store_look_done(struct store *st);

/* Ends a commit whose rename was made; 0 where there is none. Of store_commit.c. */
int store_finish_commit(struct store *st, struct diag *d);

#endif
