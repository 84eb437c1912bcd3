/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the agent keeps of each export across restarts of workers: the memfd with the state that the
 * export's next server needs, and the descriptors of its pinned files. Both are kept under the
 * export's name, so they move with the export to another worker, and reach the next agent via the
 * descriptor store or the worker itself. EXPORTS_SHARE, the memfd that compute workers share, is
 * kept like one more export. Owned by the supervisor; never reads the states.
 */
#ifndef PLENUM_AGENT_EXPORTS_H
#define PLENUM_AGENT_EXPORTS_H

#include "dataplane/launch.h"

/* The memory that compute workers share; no export has this name. The name contains the versions:
 * workers of another version may still use theirs. */
#define EXPORTS_SHARE EXPORTS_SHARE_OF(LAUNCH_VERSION, LAUNCH_SHARE_BYTES)
#define EXPORTS_SHARE_OF(version, bytes) EXPORTS_SHARE_TEXT(version, bytes)
#define EXPORTS_SHARE_TEXT(version, bytes) "/share-" #version "-" #bytes

struct export;
struct exports { /* zeroed: none */
	struct export *first;
};

/* The export's state (borrowed descriptor). Makes a new one if there is none, and then releases the
 * files that were pinned for a lost state. Negative errno. */
int exports_state(struct exports *x, const char *name);
bool exports_has_state(const struct exports *x, const char *name);
/* Adopts a state from a worker. 0: fd is ours; -ENOENT: it is not a state of this export, or there
 * is one already, and fd is still the caller's; -ENOMEM. */
int exports_adopt(struct exports *x, const char *name, int fd);
/* Adopts a descriptor stored under this name. 0: fd is ours; else as
 * above. */
int exports_adopt_stored(struct exports *x, int fd, const char *stored);
/* Pins fd for the export; takes fd in any case. Negative errno: it is not pinned. */
int exports_hold(struct exports *x, const char *name, uint64_t key, int fd);
void exports_drop(struct exports *x, uint64_t key);
/* Marks the exports that none of the n configurations names as removed; an export that returns
 * before exports_settle finds everything it had. */
void exports_keep(struct exports *x, const struct launch_config *configs, size_t n);
/*
 * Releases the pinned files of removed exports. The states of the REMOVED_MAX last removed ones are
 * kept: an export may return while clients still ask for the results of their requests.
 */
void exports_settle(struct exports *x);
/* Frees the exports. Their descriptors stay in the descriptor store, or are dropped if for_good.
 */
void exports_done(struct exports *x, bool for_good);

#endif
