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
 *
 * All workers of an entry serve its exports, each with these records: a mount's is written by the
 * worker that serves it, and a hold is taken and let go by whoever is first.
 */
#ifndef PLENUM_SERVER_STATE_H
#define PLENUM_SERVER_STATE_H

#include "dataplane/fuse/helper/fuse_journal.h"

#define STATE_PINS_MAX 4096U /* more than the agent would ever hold of an export */

struct state_mount {   /* in the place that the journal gives to the mount */
	uint64_t used; /* published last */
	uint8_t id[16];
	uint64_t served;       /* STATE_SERVED; 0: by nobody, ever */
	uint32_t wanted;       /* number of a worker whose client asks for it; 0: there is none */
	uint32_t mount_worker; /* 1: of a lane, which has nothing open that its owner has not; else
				  0 */
};

/*
 * Which worker serves a mount, or did last (0: not known), to which one it has given it (0: to
 * none), and a count of the changes. Whose it is may still be at what was asked before, so only
 * itself gives it away, when it is done; or anybody takes it when nothing of that worker is left
 * (journal_worker_is_alive()). The count ends what somebody saw before.
 */
#define STATE_SERVED(server, given, turn) \
	((uint64_t)(server) | (uint64_t)(given) << 16 | (uint64_t)(turn) << 32)
#define STATE_SERVED_BY(word) ((uint32_t)(word)&0xffff)
#define STATE_SERVED_GIVEN(word) ((uint32_t)(word) >> 16)
#define STATE_SERVED_TURN(word) ((uint32_t)((word) >> 32))

static inline uint64_t state_served(const struct state_mount *m)
{
	/* Pairs with state_served_swap() of another worker. */
	return __atomic_load_n(&m->served, __ATOMIC_ACQUIRE);
}

/* false: another was first. */
static inline bool state_served_swap(struct state_mount *m, uint64_t from, uint32_t server,
				     uint32_t given)
{
	uint64_t to = STATE_SERVED(server, given, STATE_SERVED_TURN(from) + 1);

	/* Pairs with state_served() and itself in other workers. */
	return __atomic_compare_exchange_n(&m->served, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

struct state_pin {
	uint32_t used; /* STATE_HOLD_*, and from bit 2 on a count of its uses; published last */
	uint8_t len;   /* of the handle */
	uint8_t handle[FUSE_PROTO_HANDLE_MAX];
	uint8_t provisional; /* nobody is known to have it open: until all have said what they have
			      */
	uint8_t pad[26];
};
_Static_assert(sizeof(struct state_pin) == 128, "no room between the fields");
enum { STATE_PIN_FREE, STATE_PIN_USED, STATE_PIN_FILLING /* being filled */ };
#define STATE_PIN_MASK 3U

static inline bool state_pin_is_used(const struct state_pin *h)
{
	/* Pairs with the publication by another worker. */
	return (__atomic_load_n(&h->used, __ATOMIC_ACQUIRE) & STATE_PIN_MASK) == STATE_PIN_USED;
}

/* From the word that was seen; false: another was first. */
static inline bool state_pin_swap(struct state_pin *h, uint32_t from, uint32_t to)
{
	/* Pairs with itself and with state_pin_is_used() in other workers. */
	return __atomic_compare_exchange_n(&h->used, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

struct state {
	uint64_t magic;
	uint32_t version;
	uint32_t pad;
	struct state_mount mounts[JOURNAL_MOUNTS_MAX];
	struct state_pin holds[STATE_PINS_MAX];
	/* Of what is lent to clients: clock_now_ns() until when there is any, until when there
	 * shall be none, and how often that time was doubled. */
	uint64_t granted_until_ns, backoff_until_ns, backoff_doublings;
};

/* Maps the state behind the journal's bytes of fd (borrowed; -1: one that nothing outlives). What
 * is not of this version is thrown away. 0; negative errno. */
int state_map(int fd, struct state **ret);
struct state *state_unmap(struct state *s); /* NULL */

/* Nothing written before in program order is seen later than *p = v by a successor process. */
#define state_publish(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#endif
