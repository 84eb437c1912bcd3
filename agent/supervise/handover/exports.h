/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects of each export that the agent keeps across restarts of workers: the memfd with the state
 * that the export's next server needs, and the descriptors of its pinned files (pinned_files.h).
 * Both are kept under the export's name, so that they follow the export to another worker. The next
 * agent gets them from the descriptor store or from the worker. EXPORTS_SHARE, a memfd that all
 * compute workers share, and EXPORTS_LOCKS, another such memfd, are kept like the state of an
 * export. Owned by the supervisor, which never reads the states.
 */
#ifndef PLENUM_AGENT_EXPORTS_H
#define PLENUM_AGENT_EXPORTS_H

#include "dataplane/launch.h"

/* Name of the memory that compute workers share; no export has this name. It contains the version,
 * because workers of another version may still use their own. */
#define EXPORTS_SHARE EXPORTS_SHARE_OF(LAUNCH_VERSION, LAUNCH_SHARE_BYTES)
#define EXPORTS_SHARE_OF(version, bytes) EXPORTS_SHARE_TEXT(version, bytes)
#define EXPORTS_SHARE_TEXT(version, bytes) "/share-" #version "-" #bytes

/* Name of the memory with the locks of all clients. It does not contain the version: the locks
 * must survive an upgrade, and workers of all versions must use one table. */
#define EXPORTS_LOCKS_MEMFD "export-/locks-" /* how the names of all such memfds begin */
#define EXPORTS_LOCKS EXPORTS_LOCKS_OF(LAUNCH_LOCKS_BYTES)
#define EXPORTS_LOCKS_OF(bytes) EXPORTS_LOCKS_TEXT(bytes)
#define EXPORTS_LOCKS_TEXT(bytes) "/locks-" #bytes

struct export;
struct exports { /* zeroed: no exports */
	struct export *first;
};

/* Returns the state of the export, a borrowed descriptor, or negative errno. If there is no state,
 * creates one and releases the files that were pinned for a lost state. */
int exports_state(struct exports *x, const char *name);
/* Returns the memory with the locks of all clients, a borrowed descriptor, or -1. */
int exports_locks(const struct exports *x);
bool exports_has_state(const struct exports *x, const char *name);
/* Adopts a state that a worker had. Returns 0 if this module owns fd now. Returns -ENOENT if fd is
 * not a state of this export, or if the export has a state already, or -ENOMEM; the caller then
 * keeps fd. */
int exports_adopt(struct exports *x, const char *name, int fd);
/* Adopts a descriptor that was stored under this name. Returns the same as exports_adopt(). */
int exports_adopt_stored(struct exports *x, int fd, const char *stored);
/* Pins fd for the export and releases an earlier file of that key. Becomes the owner of fd, even
 * after an error. Returns 0, or negative errno if the file is not pinned. */
int exports_hold(struct exports *x, const char *name, uint64_t key, int fd);
void exports_drop(struct exports *x, uint64_t key);
/* Returns the number of files that are pinned for the export. */
unsigned exports_pinned(const struct exports *x, const char *name);
/* Marks the exports that none of the n configurations names as removed. An export that returns
 * before exports_settle keeps its state and its pinned files. */
void exports_keep(struct exports *x, const struct launch_config *configs, size_t n);
/*
 * Releases the pinned files of removed exports. Keeps the states of the REMOVED_MAX exports that
 * were removed last: such an export may return while clients still ask for the results of earlier
 * requests.
 */
void exports_settle(struct exports *x);
/* Frees the exports. Their descriptors stay in the descriptor store; with for_good they are
 * dropped. */
void exports_done(struct exports *x, bool for_good);

#endif
