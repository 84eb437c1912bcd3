/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the server end itself keeps of an export in its state descriptor, a memfd that outlives the
 * process, behind the journal (fuse_journal.h): which mounts there were, and the files that the
 * agent holds, because they have no name and somebody has them open. Owns the layout and the
 * mapping, knows nothing of what is in the records.
 *
 * A record is filled first and published last by one aligned store, so that the death of the
 * process between any two instructions leaves either the old or the new. Only the process can die;
 * a host that dies takes the memfd with it, so stores need no flushing, only to stay in program
 * order. Memory is there once something was written to it.
 */
#ifndef PLENUM_DATAPLANE_FUSE_BACK_STATE_H
#define PLENUM_DATAPLANE_FUSE_BACK_STATE_H

#include "dataplane/fuse/fuse_journal.h"

#define STATE_HOLDS_MAX 4096U /* more than the agent would ever hold of an export */

struct state_mount {   /* in the place that the journal gives to the mount */
	uint64_t used; /* published last */
	uint8_t id[16];
};

struct state_hold {
	uint32_t used; /* published last */
	uint8_t len;   /* of the handle */
	uint8_t handle[FUSE_PROTO_HANDLE_MAX];
	uint8_t maybe; /* nobody is known to have it open: until all have said what they have */
	uint8_t pad[26];
};
_Static_assert(sizeof(struct state_hold) == 128, "no room between the fields");

struct state {
	uint64_t magic;
	uint32_t version;
	uint32_t pad;
	struct state_mount mounts[JOURNAL_MOUNTS_MAX];
	struct state_hold holds[STATE_HOLDS_MAX];
	/* Of what is lent to clients: clock_now_ns() until when there is any, until when there
	 * shall be none, and how often that time was doubled. */
	uint64_t lent_until_ns, calm_ns, patience;
};

/* Maps the state behind the journal's bytes of fd (borrowed; -1: one that nothing outlives). What
 * is not of this version is thrown away. 0; negative errno. */
int state_map(int fd, struct state **ret);
struct state *state_unmap(struct state *s); /* NULL */

/* Nothing written before in program order is seen later than *p = v by a successor process. */
#define state_publish(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#endif
