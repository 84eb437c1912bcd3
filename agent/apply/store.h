/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration files. The running configuration is the one that the last apply put in force.
 * The staged configuration is the one that the next apply will use: the files on disk, or the
 * changes that clients have staged. Staged changes are a directory tree in the state directory
 * until an apply commits them or a client discards them. They are a whole configuration, changes to
 * legs by `plenum net` and moves of workers, or both. A whole configuration replaces plenum.yaml
 * and all of plenum.d. Changes to legs and workers are written to plenum.d/50-cli.yaml, so that no
 * file of an operator is modified.
 *
 * Only a configuration that is valid as a whole can be staged. A commit is one rename: spec_load
 * reads the old or the new configuration, even if the agent is killed at any moment. Called by the
 * monitor only, for one change at a time.
 */
#ifndef PLENUM_AGENT_STORE_H
#define PLENUM_AGENT_STORE_H

#include "agent/base/privsep.h"
#include "netcfg/spec/spec.h"
#include <jansson.h>

#define STORE_CLI_FILE SPEC_CLI_FILE
#define STORE_DOCUMENT_FILE SPEC_DOCUMENT_FILE

struct store {
	char *file;	     /* /etc/plenum/plenum.yaml */
	char *dropin_dir;    /* /etc/plenum/plenum.d */
	char *cli_file;	     /* /etc/plenum/plenum.d/50-cli.yaml */
	char *document_file; /* /etc/plenum/plenum.d/00-cluster.yaml */
	char *next_dir;	     /* /etc/plenum/plenum.d.next: see SPEC_COMMIT_MARK */
	char *staged;	     /* STATE/staged: the tree with plenum.yaml and plenum.d/50-cli.yaml */
	char *check_dir;     /* STATE/check.d: the drop-ins that a staged change would give */
	/* STATE/base: checksums of the files that the running apply will replace */
	char *base_file;
	char *next_file, *next_dropins; /* results of the last store_next */
	struct {
		uid_t uid;
		char by[REQUESTER_MAX];
	} author;      /* the user who stages the next change */
	bool prepared; /* true from store_prepare() to store_commit() or store_abandon() */
	struct {
		/* Hash of the files' names, inodes, sizes and times at the last read. */
		uint64_t mark;
		char *yaml, *error; /* the result of the last read: one of the two is set */
	} look;
};

struct store_source { /* arguments for spec_load */
	const char *file, *dropin_dir;
};

int store_init(struct store *st, const char *config, const char *state_dir);
void store_done(struct store *st);
/* Call at the agent's start: completes a commit that was interrupted when an agent was killed.
 * Failures are logged, and the next change retries. */
void store_recover(struct store *st);

/* Returns the files on disk as normalized YAML, borrowed until the next call. If they are invalid
 * or cannot be read, returns NULL, and *ret_error has the first error, or NULL if memory is
 * short. */
const char *store_look(struct store *st, const char **ret_error);

/* Returns the paths of the files on disk. */
struct store_source store_disk(const struct store *st);
bool store_has_staged(const struct store *st);
/* Sets *ret to the paths that the next apply reads, borrowed until the next call. */
int store_next(struct store *st, struct store_source *ret);

/*
 * Called around an apply. store_prepare writes all new files to temporary names, so that a full or
 * read-only file system is found before the host is changed. store_commit moves them into place by
 * one rename, keeps the old files as FILE~ and plenum.d~, and ends the staging. store_abandon
 * removes the prepared files and keeps the staging. In between, nothing can be staged. All return 0
 * if nothing is staged, or negative errno with the path in d. store_commit returns -ESTALE in the
 * same case as store_check_base.
 */
int store_prepare(struct store *st, struct diag *d);
int store_commit(struct store *st, struct diag *d);
void store_abandon(struct store *st);
/*
 * The next three functions protect files that an operator edits while an apply of a staged
 * configuration is running or pending. store_note_base records the content of the files that the
 * commit will replace; the record survives restarts. store_check_base, and also store_commit,
 * compare the files with the record, and return -ESTALE with the file in d if one has changed.
 * store_forget_base removes the record, so that the commit may overwrite edits. Files that are
 * added to or removed from plenum.d count as edits.
 */
int store_note_base(struct store *st, struct diag *d);
int store_check_base(struct store *st, struct diag *d);
void store_forget_base(struct store *st);

/* Maximum number of users whose changes are recorded: those with the latest changes. */
#define STORE_AUTHORS_MAX 16
/* Sets the user who stages the next changes. by: description of the client. */
void store_set_author(struct store *st, uid_t uid, const char *by);
/* Lists the users who staged changes, in the order of their latest change: [{"uid", "by", "time",
 * "changes"}]. */
json_t *store_authors_to_json(const struct store *st);
/* Returns whether another user has staged a change. */
bool store_is_staged_by_others(const struct store *st, uid_t uid);

/* Validates a whole configuration, and stages it in place of everything that is staged. Returns
 * -EINVAL with reasons in d, -EINPROGRESS during an apply, or another negative errno with the path
 * in d. */
int store_put_staged(struct store *st, const char *text, size_t len, struct diag *d);
/* Validates the cluster's configuration document together with the files, and stages it. Call while
 * nothing is staged. Returns the same errors as store_put_staged, or -EBUSY if something is staged.
 */
int store_put_document(struct store *st, const char *text, struct diag *d);
/* Reads the document in the files into a heap string. Returns 0, -ENOENT, or another negative
 * errno. */
int store_read_document(const struct store *st, char **ret);
/* Returns whether the staged change is a document of the cluster. */
bool store_has_staged_document(const struct store *st);
/* Discards everything that is staged. Returns 1 if something was staged, or 0 if nothing was. */
int store_drop_staged(struct store *st, struct diag *d);
/* Loads the configuration that the next apply would use. *ret is the caller's. Returns 0, or
 * negative errno with the errors in d. */
int store_load_next(struct store *st, struct diag *d, struct spec **ret);
/*
 * Stages a new leg (an entry of `net:`), changes to a leg, or its removal. `json` is an object with
 * configuration keys of such an entry. The value null removes a configuration key, so that its
 * value in another file or its default applies. `network` may also be an object, which becomes an
 * entry of `networks:`. A leg in an operator's file cannot be removed; it is changed by an entry of
 * `net-set:`. Returns the same errors as store_put_staged, -ENOENT if no leg has that name, or
 * -EPERM with the reason in d if the leg was not added by `plenum net`.
 */
int store_net_add(struct store *st, const char *json, size_t len, struct diag *d);
int store_net_set(struct store *st, const char *name, const char *json, size_t len, struct diag *d);
int store_net_del(struct store *st, const char *name, struct diag *d);
/* Returns 0, or negative errno with an error in d if the configuration must not be staged. */
typedef int (*store_check)(const struct spec *next, void *user, struct diag *d);
/* Stages that the worker of one core uses another core, by an entry of `workers-set:`. Returns the
 * same errors as store_put_staged, -ENOENT if no worker uses the first core, or the error of
 * `check`, which may be NULL. */
int store_worker_move(struct store *st, unsigned from, unsigned to, store_check check, void *user,
		      struct diag *d);
/* Returns the path to show for a temporary file that spec_load has read, on the heap. */
char *store_shown_file(const struct store *st, const char *file);
/* Returns the errors and warnings as ["file:line:col: error: path: text"], a new reference. Paths
 * of temporary files are replaced by the paths that an operator knows. */
json_t *store_diag_to_json(const struct store *st, const struct diag *d);

#endif
