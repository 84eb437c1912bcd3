/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration's files. Running is what was applied last; staged is what the next apply would
 * read: a whole configuration that a client sent (kept in the state directory until it is applied),
 * else the files as they are on disk. `net add` and `net delete` edit plenum.d/50-cli.yaml beside
 * the configuration file, which belongs to them alone. Nothing is kept that does not validate as a
 * whole. Called by the monitor only.
 */
#ifndef PLENUM_AGENT_STORE_H
#define PLENUM_AGENT_STORE_H

#include "agent/privsep.h"
#include "netcfg/spec/spec.h"
#include <jansson.h>

#define STORE_CLI_FILE "50-cli.yaml"

struct store {
	char *file;	  /* /etc/plenum/plenum.yaml */
	char *dropin_dir; /* /etc/plenum/plenum.d */
	char *cli_file;	  /* /etc/plenum/plenum.d/50-cli.yaml */
	char *staged;	  /* STATE/staged.yaml */
	char *check_dir;  /* STATE/check.d: drop-ins as they would be */
};

struct store_source { /* what spec_load shall read */
	const char *file, *dropin_dir;
};

int store_init(struct store *st, const char *config, const char *state_dir);
void store_done(struct store *st);

/* The files on disk. */
struct store_source store_disk(const struct store *st);
bool store_has_staged(const struct store *st);
/* What an apply reads: the staged configuration where there is one, with the drop-ins that are not
 * the command line's. Borrowed paths, good until the next call. */
int store_next(struct store *st, struct store_source *ret);
/* After a successful apply: the staged configuration takes the file's place, whose former text is
 * kept beside it as FILE~. */
int store_commit(struct store *st);

/* Validates and keeps a staged configuration. -EINVAL with reasons in d. */
int store_put_staged(struct store *st, const char *text, size_t len, struct diag *d);
int store_drop_staged(struct store *st);
/*
 * Adds or deletes one entry of `net:`. 0; -EINVAL with reasons in d; -EEXIST: a staged
 * configuration waits; -ENOENT: no such name; -EPERM: it is not the command line's (reason in d).
 */
int store_net_add(struct store *st, const struct privsep_net_add *add, struct diag *d);
int store_net_del(struct store *st, const char *name, struct diag *d);
/* The errors and warnings as ["file:line:col: error: path: text"], with the paths of our temporary
 * files replaced by those of the files they stand for. */
json_t *store_diag_to_json(const struct store *st, const struct diag *d);

#endif
