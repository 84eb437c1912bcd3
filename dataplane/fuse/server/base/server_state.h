/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's part of an export's state descriptor, a memfd that outlives the process; it follows
 * the journal (fuse_journal.h). It lists the mounts, and the files that the agent has pinned
 * because they are unlinked and a client has them open. This module owns layout and mapping; the
 * users of the records define their meaning.
 *
 * A record is filled first and published last, by one aligned store, so a process that dies at any
 * instruction leaves either the old record or the new one. No memory barrier is necessary, only
 * stores in program order: the memfd survives the death of a process, but not the death of the
 * host. Memory is allocated at the first write.
 *
 * All workers of an entry serve its exports and share these records: the worker that serves a mount
 * writes the mount's record, and any worker may add or release a pin.
 */
#ifndef PLENUM_SERVER_STATE_H
#define PLENUM_SERVER_STATE_H

#include "dataplane/fuse/helper/fuse_journal.h"

/* Count of records of pins. More than PINNED_FILES_MAX, the number of files that the agent pins for
 * one export. */
#define STATE_PINS_MAX 4096U

struct state_mount {   /* A mount. The index of the record is the mount's number in the journal. */
	uint64_t used; /* published last */
	uint8_t id[16];
	uint64_t served; /* see STATE_SERVED below; 0: no worker has served the mount */
	uint32_t wanted; /* ID of the worker to which the mount's client has connected, and which
			    asks for the mount; 0: none */
	uint32_t mount_worker; /* 1: the mount of a mount worker, whose open files are also open in
				  the mount that it helps; else 0 */
};

/*
 * One word with three values: the worker that serves the mount or served it last (0: unknown); the
 * worker to which that worker has handed over the mount (0: none); and a count of changes. Only the
 * serving worker hands over the mount, and only after its requests have ended, because two workers
 * must not execute requests of a mount at the same time. If that worker and its helpers have ended
 * (journal_worker_is_alive()), any worker may adopt the mount. Because of the count, a
 * compare-and-swap fails even if the word has changed and changed back in between.
 */
#define STATE_SERVED(server, given, turn) \
	((uint64_t)(server) | (uint64_t)(given) << 16 | (uint64_t)(turn) << 32)
#define STATE_SERVED_BY(word) ((uint32_t)(word)&0xffff)
#define STATE_SERVED_GIVEN(word) ((uint32_t)(word) >> 16)
#define STATE_SERVED_TURN(word) ((uint32_t)((word) >> 32))

static inline uint64_t state_served(const struct state_mount *m)
{
	/* After this load, everything is visible that the other worker wrote before
	 * state_served_swap(). */
	return __atomic_load_n(&m->served, __ATOMIC_ACQUIRE);
}

/* Changes the word if it is still `from`. Returns false if another worker has changed it first. */
static inline bool state_served_swap(struct state_mount *m, uint64_t from, uint32_t server,
				     uint32_t given)
{
	uint64_t to = STATE_SERVED(server, given, STATE_SERVED_TURN(from) + 1);

	/* A worker that sees the new word also sees everything that this worker wrote before it. */
	return __atomic_compare_exchange_n(&m->served, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

struct state_pin {
	uint32_t used; /* STATE_PIN_* in bits 0 and 1, above them a use count; published last */
	uint8_t len;   /* length of the handle */
	uint8_t handle[FUSE_PROTO_HANDLE_MAX];
	uint8_t provisional; /* 1: provisional: the pin is kept only until every client has
				reclaimed its files; 0: not provisional */
	uint8_t pad[26];
};
_Static_assert(sizeof(struct state_pin) == 128, "no padding between the fields");
enum { STATE_PIN_FREE, STATE_PIN_USED, STATE_PIN_FILLING /* a worker is filling the record */ };
#define STATE_PIN_MASK 3U

static inline bool state_pin_is_used(const struct state_pin *h)
{
	/* If the record is in use, this worker also sees the content that another worker wrote
	 * before it published the record. */
	return (__atomic_load_n(&h->used, __ATOMIC_ACQUIRE) & STATE_PIN_MASK) == STATE_PIN_USED;
}

/* Changes the word if it is still `from`. Returns false if another worker has changed it first. */
static inline bool state_pin_swap(struct state_pin *h, uint32_t from, uint32_t to)
{
	/* A worker that sees the new word also sees the content of the record that was written
	 * before. */
	return __atomic_compare_exchange_n(&h->used, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

struct state {
	uint64_t magic;
	uint32_t version;
	uint32_t pad;
	struct state_mount mounts[JOURNAL_MOUNTS_MAX];
	struct state_pin holds[STATE_PINS_MAX];
	/* The leases of the export; times of clock_now_ns(). granted_until_ns: when the last lease
	 * expires; backoff_until_ns: no lease is granted before this time; backoff_doublings: how
	 * often the interval of that pause was doubled. */
	uint64_t granted_until_ns, backoff_until_ns, backoff_doublings;
};

/* Maps the state, which follows the journal in fd; the caller still owns fd (-1: the state ends
 * with the process). Discards a state of another version. Returns 0 or a negative errno. */
int state_map(int fd, struct state **ret);
struct state *state_unmap(struct state *s); /* accepts NULL; returns NULL */

/* Publishes a value: a successor that sees *p = v also sees all stores that precede it in program
 * order. */
#define state_publish(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#endif
