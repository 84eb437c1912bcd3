/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the agent keeps of each export while workers come and go: the memfd in which whoever serves
 * it next finds what it needs to go on, and the descriptors that it wants held. By the export's
 * name, so that it moves with the export to another worker, and via the service manager or the
 * worker itself to another agent; and, as if it were one more export, EXPORTS_SHARE, the memfd that
 * compute workers share. Owned by the supervisor; never reads what is kept.
 */
#ifndef PLENUM_AGENT_EXPORTS_H
#define PLENUM_AGENT_EXPORTS_H

#include "dataplane/launch.h"

/* What compute workers share; no export has such a name. Those of another version have another:
 * they may still be at work in it. */
#define EXPORTS_SHARE EXPORTS_SHARE_OF(LAUNCH_VERSION, LAUNCH_SHARE_BYTES)
#define EXPORTS_SHARE_OF(version, bytes) EXPORTS_SHARE_TEXT(version, bytes)
#define EXPORTS_SHARE_TEXT(version, bytes) "/share-" #version "-" #bytes

struct export;
struct exports { /* zeroed: none */
	struct export *first;
};

/* The export's state (borrowed descriptor), made where there is none; then what was held for a
 * state that is lost is let go. Negative errno. */
int exports_state(struct exports *x, const char *name);
bool exports_has_state(const struct exports *x, const char *name);
/* Takes over a state from a worker. 0: fd is ours; -ENOENT: it is no state of this export's, or
 * there is one already, still the caller's; -ENOMEM. */
int exports_adopt(struct exports *x, const char *name, int fd);
/* A descriptor that the service manager kept, by the name under which it was stored. 0: fd is ours;
 * else as above. */
int exports_adopt_stored(struct exports *x, int fd, const char *stored);
/* Holds fd, which it takes in any case, for the export. Negative errno: it does not. */
int exports_hold(struct exports *x, const char *name, uint64_t key, int fd);
void exports_drop(struct exports *x, uint64_t key);
/* Those that are in none of the n configurations are removed; one that comes back before
 * exports_settle has all that it had. */
void exports_keep(struct exports *x, const struct launch_config *configs, size_t n);
/*
 * Of those that are removed what is held is let go. Their states stay: an export may come back
 * while clients still ask what became of their requests. Those that went last, that is; more are
 * forgotten.
 */
void exports_settle(struct exports *x);
/* Leaves them to the service manager, or to nobody. */
void exports_done(struct exports *x, bool for_good);

#endif
