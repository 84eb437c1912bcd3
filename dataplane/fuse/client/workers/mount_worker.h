/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the workers of one frontend entry share a mount. One of them, the owner, has the tables of
 * the kernel's nodes and files. Each of the others is a mount worker, which has its own session
 * with the server, under its own mount id. The owner reads the kernel's requests and dispatches
 * large data to mount workers. When many small requests arrive at a time, mount workers read from
 * the kernel too: they serve data of the files that they know and forward all other requests to the
 * owner. Each worker writes the answers that it gets from the server to the kernel itself. The
 * workers share memory in the mount's state descriptor, behind the owner's tables, without locks.
 * If one worker dies, the others continue: one word per request shows which worker has the request,
 * and a successor resumes the requests of the dead worker. A worker wakes the others by an eventfd,
 * the bell. This module owns the layout and the mapping; client_dispatch.c and client_forward.c use
 * it for the owner, client_mount_worker.c and client_reads.c for the mount worker.
 */
#ifndef PLENUM_DATAPLANE_FUSE_MOUNT_WORKER_H
#define PLENUM_DATAPLANE_FUSE_MOUNT_WORKER_H

#include "dataplane/fuse/client/tables/client_state.h"
#include "dataplane/launch.h"
#include "dataplane/rudp/rudp.h"

#define MOUNT_WORKER_SLOTS 64U
/* Count of further slots, for requests that a mount worker reads itself. */
#define MOUNT_WORKER_READS 32U
#define MOUNT_WORKER_SLOTS_ALL (MOUNT_WORKER_SLOTS + MOUNT_WORKER_READS)
#define MOUNT_WORKER_FILES 1024U
/* Count of files with records in mount_worker_area and mount_worker_reads. The records of further
 * files are in mount_worker_more. */
#define MOUNT_WORKER_FILES_FIRST 64U
/* Count of entries of the table that one file may use. The file handle determines which, so a
 * search checks only these. */
#define MOUNT_WORKER_FILE_WAYS 8U
#define MOUNT_WORKER_BUF_BYTES (((size_t)RUDP_MSG_BYTES_MAX + 4095) & ~(size_t)4095)
/* If a mount worker does not update seen_ns for this long, the owner gives it no new requests, and
 * takes back those that it has not begun. */
#define MOUNT_WORKER_AWAY_NS (2 * NSEC_PER_SEC)

/*
 * State of a request, in the low byte of its word. The owner writes FREE and DISPATCHED, and
 * RETURNED when it takes a request back from an absent mount worker. The mount worker writes the
 * other states. It also writes RETURNED for a request that it cannot serve, DISPATCHED to restart a
 * request that the kernel has resent, and FREE for a request that the mount worker itself has read.
 * A request that a mount worker has begun may have been sent, so it stays with that mount worker.
 * If that mount worker dies, its successor repeats the request under the same mount id.
 */
enum mount_worker_state {
	MOUNT_WORKER_FREE,
	MOUNT_WORKER_DISPATCHED, /* dispatched to the mount worker */
	MOUNT_WORKER_TAKEN,	 /* the mount worker has begun the request */
	MOUNT_WORKER_DONE,	 /* the kernel has the reply */
	MOUNT_WORKER_REJECTED,	 /* the kernel rejected the reply, perhaps because the kernel
				    was resending the request */
	MOUNT_WORKER_RETURNED,	 /* the mount worker has not sent the request, because it cannot
				    serve it */
	/* Further states of requests that a mount worker reads itself. Such requests also become
	 * TAKEN and FREE. */
	MOUNT_WORKER_READING, /* the mount worker is reading; if the kernel has delivered a request
				 already, its number is in the buffer */
	MOUNT_WORKER_FORWARDED, /* forwarded to the owner, unchanged */
};
#define MOUNT_WORKER_STATE(word) ((word)&0xffU)
/* The kernel has resent the request, so the reply needs the RESEND bit. */
#define MOUNT_WORKER_RESENT 0x100U
/* No program waits for the request any more, so a mount worker that has not sent it yet must not
 * send it. */
#define MOUNT_WORKER_CANCELLED 0x200U
/* `reply` contains the reply to a WRITE, which the kernel may already have accepted. The
 * program may then have written to the same range again, so the WRITE must not be executed again.
 */
#define MOUNT_WORKER_REPLIED 0x400U
/* The process that made the request got a signal. */
#define MOUNT_WORKER_SIGNALLED 0x800U

struct mount_worker_slot {
	_Alignas(64) uint32_t word; /* enum mount_worker_state and flags */
	uint32_t len;		    /* length of the request in its buffer */
	uint32_t file;
	uint32_t opcode;
	uint64_t unique;     /* ID of the request, from the kernel */
	uint64_t fh, nodeid; /* the kernel's numbers */
	uint8_t reply[24];   /* the reply to a WRITE: struct fuse_out_header, struct
				fuse_write_out */
};
_Static_assert(sizeof(struct mount_worker_slot) == 64, "layout shared with other versions");

enum mount_worker_file_state {
	MOUNT_WORKER_FILE_FREE,
	MOUNT_WORKER_FILE_OPEN,
	MOUNT_WORKER_FILE_REFUSED, /* programs have the file open, but the mount worker cannot
				      open it */
	MOUNT_WORKER_FILE_CLOSING, /* the kernel has closed the file: the mount worker must close it
				      too, and free the entry */
};

/* An entry of the table of files. The owner of the mount dispatches requests for this file to mount
 * workers. The entry contains all data that the mount worker needs to open the file too. */
struct mount_worker_file {
	_Alignas(64) uint32_t state; /* published last */
	uint32_t client_file; /* index of the mount worker's own struct client_file plus one; 0: the
				 mount worker has not made it yet */
	uint64_t fh;	      /* the kernel's file handle */
	uint32_t open_flags, uid, gid;
	uint8_t handle_len;
	uint8_t handle[FUSE_PROTO_HANDLE_MAX];
};

struct mount_worker_area { /* a struct of zeros is an empty area */
	/* Written by the mount worker, except that the owner clears `asleep` when it rings the
	 * bell. */
	_Alignas(64) uint64_t seen_ns; /* clock_now_ns() of the mount worker's last turn */
	uint32_t ready;	 /* the mount worker has a session with a server that supports mount
			    workers */
	uint32_t asleep; /* the mount worker sleeps or is about to sleep, so the owner must ring the
			    bell */
	/* Written by the owner. */
	_Alignas(64) uint32_t unmounted;
	uint32_t full;	 /* the owner waits for a free slot, so the mount worker must ring the
			    bell */
	uint32_t served; /* the owner has a session with a server that supports mount workers */
	/* posted: a bit per slot. closing: a bit per group of files whose entries have the same
	 * number modulo 64. A set bit means that the slot, or a file of the group, needs
	 * processing. A process that takes over ignores the bits and checks everything. */
	_Alignas(64) uint64_t posted;
	uint64_t closing;
	_Alignas(64) uint64_t done;
	struct mount_worker_slot slots[MOUNT_WORKER_SLOTS];
	struct mount_worker_file files[MOUNT_WORKER_FILES_FIRST];
};

/* Requests that a mount worker reads. */
struct mount_worker_reads {
	/* Written by the mount worker. */
	_Alignas(64) uint64_t n_read; /* count of requests read from the kernel since the start */
	uint32_t populated[MOUNT_WORKER_READS]; /* per buffer: how many of its first bytes have
						   pages; if the mount worker is killed during a
						   read, a request that fits into these bytes is
						   still complete */
	/* Bits for the owner. done: one per slot; noted: one for each of the first 64 files. */
	_Alignas(64) uint64_t done;
	uint64_t noted;
	/* Bits for the mount worker: one per slot. */
	_Alignas(64) uint64_t posted;
	struct mount_worker_slot slots[MOUNT_WORKER_READS];
	struct mount_worker_note { /* changes of a file that a mount worker reports to the owner */
		uint32_t out;	   /* count of requests in flight */
		/* How many WRITEs have begun or ended since the start. wrote: WRITEs that are not
		 * synchronous; synced: synchronous WRITEs. */
		uint32_t wrote, synced;
		/* Written by the owner: the values of wrote and synced that the owner has already
		 * added to its tables. */
		uint32_t wrote_seen, synced_seen;
	} notes[MOUNT_WORKER_FILES_FIRST];
};

/* The records of the files beyond the first 64, for which mount_worker_area and mount_worker_reads
 * have no space. */
struct mount_worker_more {
	/* Written by the mount worker. */
	_Alignas(64) uint32_t is_known; /* always 1; owners of version 0.1.0 check it */
	/* Like `noted` in mount_worker_reads. */
	_Alignas(64) uint64_t noted[MOUNT_WORKER_FILES / 64 - 1];
	struct mount_worker_note notes[MOUNT_WORKER_FILES - MOUNT_WORKER_FILES_FIRST];
	struct mount_worker_file files[MOUNT_WORKER_FILES - MOUNT_WORKER_FILES_FIRST];
};

struct mount_worker_common { /* one for all mount workers of a mount */
	/* Written by the owner. */
	_Alignas(64) uint32_t reads; /* 1: mount workers read from the kernel too; 0: mount
					workers must not read */
	/* Written by the owner, but cleared by the mount worker that rings the bell. */
	_Alignas(64) uint32_t asleep;
	/* Written by mount workers: a bit for each mount worker that has set a bit in its `done` or
	 * `noted`. */
	_Alignas(64) uint64_t done;
	uint64_t noted;
	/* Written by the owner: always 1, because mount workers of version 0.1.0 check this
	 * value. */
	_Alignas(64) uint32_t by_number;
};

/* Access to words that several processes use. mount_worker_set() in one process pairs with
 * mount_worker_get() in another. */
#define mount_worker_set(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define mount_worker_get(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)

static inline bool mount_worker_swap(uint32_t *word, uint32_t was, uint32_t is)
{
	return __atomic_compare_exchange_n(word, &was, is, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* Clears all bits of the word and returns the first n of them. Ignores all other bits, which only a
 * faulty process sets. */
static inline uint64_t mount_worker_take_bits(uint64_t *bits, unsigned n)
{
	return __atomic_exchange_n(bits, 0, __ATOMIC_SEQ_CST) & ~0ULL >> (64 - n);
}

/* Maps the area of a mount worker in fd, the mount's state descriptor, which is extended if
 * necessary. The caller still owns fd. number: from 1 to LAUNCH_MOUNT_WORKERS_MAX. Returns NULL
 * with errno set on failure. */
struct mount_worker_area *mount_worker_map(int fd, unsigned number);
/* Returns whether the mount of this state has ever had mount workers. */
bool mount_worker_was_there(int fd);
void mount_worker_unmap(struct mount_worker_area *a);
/* Offset of the mount worker's own client state in the descriptor. */
uint64_t mount_worker_state_at(unsigned number);
/* Offset behind all of them, where the record of the mount's locks is. */
uint64_t mount_worker_ledger_at(void);
/* The same for the data that the owner holds, see client_held.h. */
uint64_t mount_worker_held_at(void);
uint8_t *mount_worker_buf(struct mount_worker_area *a, unsigned slot);
/* Like mount_worker_map(), for the common part. */
struct mount_worker_common *mount_worker_common_map(int fd);
void mount_worker_common_unmap(struct mount_worker_common *c);
struct mount_worker_reads *mount_worker_reads_map(int fd, unsigned number);
void mount_worker_reads_unmap(struct mount_worker_reads *r);
uint8_t *mount_worker_reads_buf(struct mount_worker_reads *r,
				unsigned slot); /* slot: from 0 to MOUNT_WORKER_READS - 1 */
struct mount_worker_more *mount_worker_more_map(int fd, unsigned number);
void mount_worker_more_unmap(struct mount_worker_more *m);
/* slot: from 0 to MOUNT_WORKER_SLOTS_ALL - 1. */
struct mount_worker_slot *mount_worker_slot_at(struct mount_worker_area *a,
					       struct mount_worker_reads *r, unsigned slot);
uint8_t *mount_worker_buf_at(struct mount_worker_area *a, struct mount_worker_reads *r,
			     unsigned slot);
/* Returns one of the entries of the table in which the file may be. way: from 0 to
 * MOUNT_WORKER_FILE_WAYS - 1. The owner gives files the lowest free numbers, so files that are open
 * at the same time rarely need the same entry. */
static inline unsigned mount_worker_file_place(uint64_t fh, unsigned way)
{
	return (unsigned)((fh + way) % MOUNT_WORKER_FILES);
}
/* place: from 0 to MOUNT_WORKER_FILES - 1; larger numbers wrap around. */
struct mount_worker_file *mount_worker_file_at(struct mount_worker_area *a,
					       struct mount_worker_more *m, unsigned place);
struct mount_worker_note *mount_worker_note_at(struct mount_worker_reads *r,
					       struct mount_worker_more *m, unsigned place);
/* Returns the word whose bit (place % 64) stands for the file in entry `place`. */
uint64_t *mount_worker_noted_at(struct mount_worker_reads *r, struct mount_worker_more *m,
				unsigned place);
/* Returns how many of the first bytes of the buffer have pages. */
static inline size_t mount_worker_reads_populated(const struct mount_worker_reads *r, unsigned slot)
{
	return MIN_OF((size_t)mount_worker_get(&r->populated[slot]), MOUNT_WORKER_BUF_BYTES);
}
/* Allocates pages for the first bytes of the buffer, if the kernel supports that. */
void mount_worker_reads_populate(struct mount_worker_reads *r, unsigned slot, size_t bytes);
/* Return memory to the system. _trim: the memory of all read buffers; none of them may be in use.
 * _trim_one: the memory of one buffer, which must not be in use. */
void mount_worker_reads_trim(struct mount_worker_reads *r);
void mount_worker_reads_trim_one(struct mount_worker_reads *r, unsigned slot);
/* Returns the memory of the area's request buffers to the system. Call it only while no buffer is
 * in use. */
void mount_worker_trim(struct mount_worker_area *a);
/* Makes this process the mount worker with this number, until it ends. Returns 0, -EBUSY if another
 * process is this mount worker, or another negative errno. */
int mount_worker_lock(int fd, unsigned number);
void mount_worker_unlock(int fd, unsigned number);
/* Returns whether another process is the mount worker with this number. */
bool mount_worker_is_locked(int fd, unsigned number);
/* Wakes all workers of the mount, because at least one of them has something to process. */
void mount_worker_ring(int bell_fd);
/* Changes the id of a mount into the id of its mount worker with this number. */
void mount_worker_id(uint8_t id[16], unsigned number);

#endif
