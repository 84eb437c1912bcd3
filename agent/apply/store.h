/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration files. Running is the configuration of the last apply; staged is what the next
 * apply will use: the files on disk, unless clients staged changes. Staged changes are one tree in
 * the state directory until an apply commits or a client discards them: a whole configuration,
 * changes to legs by `plenum net`, or both. A whole configuration replaces plenum.yaml and all of
 * plenum.d; leg changes go to plenum.d/50-cli.yaml, and no file written by an operator is modified
 * for them.
 *
 * Only a configuration that is valid as a whole can be staged. A commit is one rename: spec_load
 * always reads the old or the new configuration, at whatever moment the agent is killed. Called by
 * the monitor only, one change at a time.
 */
#ifndef PLENUM_AGENT_STORE_H
#define PLENUM_AGENT_STORE_H

#include "agent/base/privsep.h"
#include "netcfg/spec/spec.h"
#include <jansson.h>

#define STORE_CLI_FILE SPEC_CLI_FILE

struct store {
	char *file;	  /* /etc/plenum/plenum.yaml */
	char *dropin_dir; /* /etc/plenum/plenum.d */
	char *cli_file;	  /* /etc/plenum/plenum.d/50-cli.yaml */
	char *next_dir;	  /* /etc/plenum/plenum.d.next: see SPEC_COMMIT_MARK */
	char *staged;	  /* STATE/staged: the tree with plenum.yaml and plenum.d/50-cli.yaml */
	char *check_dir;  /* STATE/check.d: the drop-ins that a staged change would give */
	char *base_file;  /* STATE/base: checksums of the files that a running apply will replace */
	char *next_file, *next_dropins; /* last result of store_next */
	struct {
		uid_t uid;
		char by[REQUESTER_MAX];
	} author;      /* of the next change */
	bool prepared; /* between store_prepare and commit or abandon */
	struct {
		uint64_t mark;	    /* of the files when last read */
		char *yaml, *error; /* one of them, once read */
	} look;
};

struct store_source { /* arguments for spec_load */
	const char *file, *dropin_dir;
};

int store_init(struct store *st, const char *config, const char *state_dir);
void store_done(struct store *st);
/* At the agent's start: completes a commit that a killed agent began. Failures are logged, and the
 * next change retries. */
void store_recover(struct store *st);

/* The files on disk as normalized YAML, borrowed until the next call. NULL: invalid or unreadable;
 * the first error is in *ret_error, NULL where memory ran out. */
const char *store_look(struct store *st, const char **ret_error);

/* The files on disk. */
struct store_source store_disk(const struct store *st);
bool store_has_staged(const struct store *st);
/* What an apply reads. Borrowed paths, valid until the next call. */
int store_next(struct store *st, struct store_source *ret);

/*
 * Around an apply: prepare writes all new files beside their places, so that a full or read-only
 * file system is found before the host is changed; commit moves them into place (one rename), keeps
 * the old files as FILE~ and plenum.d~, and ends the staging; abandon removes the prepared files
 * and keeps the staging. In between nothing can be staged. 0 if nothing is staged; errors name
 * their path in d; commit also -ESTALE, see below.
 */
int store_prepare(struct store *st, struct diag *d);
int store_commit(struct store *st, struct diag *d);
void store_abandon(struct store *st);
/*
 * Protects files that are edited while an apply of a staged configuration is running or pending:
 * `note` records, also over restarts, the content of the files that the commit replaces; `check`
 * compares it (-ESTALE with the file in d), as does the commit; `forget` allows the commit to
 * overwrite. Files added to or removed from plenum.d count too.
 */
int store_note_base(struct store *st, struct diag *d);
int store_check_base(struct store *st, struct diag *d);
void store_forget_base(struct store *st);

/* Users whose changes are recorded; of more, those with the latest changes. */
#define STORE_AUTHORS_MAX 16
/* The user on whose behalf the next changes are staged; by: description of the client. */
void store_set_author(struct store *st, uid_t uid, const char *by);
/* The users whose changes are staged, the latest change last: [{"uid", "by", "time", "changes"}].
 */
json_t *store_authors_to_json(const struct store *st);
/* Whether anything is staged by another user. */
bool store_is_staged_by_others(const struct store *st, uid_t uid);

/* Validates and stages a whole configuration in place of all that is staged. -EINVAL with reasons
 * in d; -EINPROGRESS during an apply; other errors name their path in d. */
int store_put_staged(struct store *st, const char *text, size_t len, struct diag *d);
/* Discards all that is staged. 1: something was; 0: nothing. */
int store_drop_staged(struct store *st, struct diag *d);
/* What an apply would read, loaded. */
int store_load_next(struct store *st, struct diag *d, struct spec **ret);
/*
 * Stages a new leg (an entry of `net:`), a change to one, or the removal of one. `json` is an
 * object with keys of an entry; null removes a key, so that its other definition, or the default,
 * counts. `network` may be an object too: a new entry of `networks:`. A leg of an operator's file
 * is changed through an entry of net-set, and cannot be removed. Errors as above, and -ENOENT: no
 * such name; -EPERM: not a leg of `plenum net` (reason in d).
 */
int store_net_add(struct store *st, const char *json, size_t len, struct diag *d);
int store_net_set(struct store *st, const char *name, const char *json, size_t len, struct diag *d);
int store_net_del(struct store *st, const char *name, struct diag *d);
/* The path to show for a temporary file that spec_load read. Heap. */
char *store_shown_file(const struct store *st, const char *file);
/* Errors and warnings as ["file:line:col: error: path: text"], with the paths of temporary files
 * replaced by those that they stand for. */
json_t *store_diag_to_json(const struct store *st, const struct diag *d);

#endif
