/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration's files. Running is what was applied last; staged is what the next apply puts
 * into force: the files as they are on disk, unless clients changed them. What clients changed lies
 * in one tree of the state directory until an apply commits it or they discard it: a whole
 * configuration that somebody sent, what `plenum net` does to the devices, or both. A whole
 * configuration stands for plenum.yaml and all of plenum.d; the devices go to plenum.d/50-cli.yaml,
 * and no file that somebody wrote is touched for their sake.
 *
 * Nothing is staged that does not validate as a whole. A commit is one rename: whoever reads the
 * files with spec_load, at whatever moment the agent is killed, reads the old configuration or the
 * new one. Called by the monitor only, one change at a time.
 */
#ifndef PLENUM_AGENT_STORE_H
#define PLENUM_AGENT_STORE_H

#include "agent/base/privsep.h"
#include "netcfg/spec/spec.h"
#include <jansson.h>

#define STORE_CLI_FILE "50-cli.yaml"

struct store {
	char *file;	  /* /etc/plenum/plenum.yaml */
	char *dropin_dir; /* /etc/plenum/plenum.d */
	char *cli_file;	  /* /etc/plenum/plenum.d/50-cli.yaml */
	char *next_dir;	  /* /etc/plenum/plenum.d.next: see SPEC_COMMIT_MARK */
	char *staged;	  /* STATE/staged: the tree, with plenum.yaml and plenum.d/50-cli.yaml */
	char *check_dir;  /* STATE/check.d: drop-ins as they would be */
	char *base_file;  /* STATE/base: what an apply found in the files that it is to replace */
	char *next_file, *next_dropins; /* what store_next gave out last */
	bool prepared;			/* between store_prepare and what ends it */
	struct {
		uint64_t mark;	    /* of the files when they were read */
		char *yaml, *error; /* one of them, where they were */
	} look;
};

struct store_source { /* what spec_load shall read */
	const char *file, *dropin_dir;
};

int store_init(struct store *st, const char *config, const char *state_dir);
void store_done(struct store *st);
/* For the one agent of this host, at its start: ends what a killed one had committed but not tidied
 * up. Where that fails the log says so, and the next change tries again. */
void store_recover(struct store *st);

/* The normal form of what the files on disk say, borrowed until the next call. NULL: they are not
 * valid, or cannot be read: the first error is in *ret_error, or NULL for want of memory. */
const char *store_look(struct store *st, const char **ret_error);

/* The files on disk. */
struct store_source store_disk(const struct store *st);
bool store_has_staged(const struct store *st);
/* What an apply reads. Borrowed paths, good until the next call. */
int store_next(struct store *st, struct store_source *ret);

/*
 * Around an apply: prepare writes all there is to write beside its place, so that a full or
 * read-only file system is found before the host is changed; commit puts it into its place (one
 * rename), keeps the former files as FILE~ and plenum.d~, and ends the staging; abandon forgets the
 * preparation and leaves staged what is staged. In between nothing else can be staged. 0 without
 * anything staged; errors name their path in d; of a commit also -ESTALE, see below.
 */
int store_prepare(struct store *st, struct diag *d);
int store_commit(struct store *st, struct diag *d);
void store_abandon(struct store *st);
/*
 * Who edits a file while an apply that is to replace it is under way, or waits, does not lose what
 * he wrote: `note` keeps, over restarts too, what the files say that the commit would replace,
 * `check` looks whether they still do (-ESTALE with the file in d), as does the commit itself, and
 * `forget` lets it replace whatever they say. A file that plenum.d has more, or less, counts.
 */
int store_note_base(struct store *st, struct diag *d);
int store_check_base(struct store *st, struct diag *d);
void store_forget_base(struct store *st);

/* Validates and stages a whole configuration, in the place of all that is staged. -EINVAL with
 * reasons in d; -EINPROGRESS during an apply; other errors name their path in d. */
int store_put_staged(struct store *st, const char *text, size_t len, struct diag *d);
/* Forgets all that is staged. 1: there was something; 0: there was nothing. */
int store_drop_staged(struct store *st, struct diag *d);
/* What an apply would read, loaded. */
int store_load_next(struct store *st, struct diag *d, struct spec **ret);
/*
 * Stages one more entry of `net:`, a change to one, or one less. `json` is an object with keys of
 * an entry; null takes a key away again, so that what is written elsewhere, or the default, counts.
 * Its `network` may be an object too: an entry of networks that is made along with it. What stands
 * in a file that somebody wrote is changed by an entry of net-set, and not removed. Errors as
 * above, and -ENOENT: no such name; -EPERM: it is not the command line's (reason in d).
 */
int store_net_add(struct store *st, const char *json, size_t len, struct diag *d);
int store_net_set(struct store *st, const char *name, const char *json, size_t len, struct diag *d);
int store_net_del(struct store *st, const char *name, struct diag *d);
/* The user's name of a file that we gave spec_load another path of. Heap. */
char *store_shown_file(const struct store *st, const char *file);
/* The errors and warnings as ["file:line:col: error: path: text"], with the paths of our temporary
 * files replaced by those of the files they stand for. */
json_t *store_diag_to_json(const struct store *st, const struct diag *d);

#endif
