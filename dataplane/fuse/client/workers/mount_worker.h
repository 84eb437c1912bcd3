/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the workers of one frontend entry share a mount. One of them, the owner, has the nodes and
 * files. Each other one is a mount worker: it has its own session with the server, under its own
 * id. The owner reads the kernel's requests and dispatches large data to mount workers. When many
 * small requests arrive at a time, mount workers read from the kernel too: they serve data of the
 * files that they know and forward all other requests to the owner. The worker that got an answer
 * from the server writes it to the kernel directly. The shared memory is in the mount's state
 * descriptor, behind the owner's tables, and has no lock. Either end may die alone: one word per
 * request says which worker has it, and a successor continues from there. This module owns the
 * layout and the mapping; client_dispatch.c and client_forward.c use it for the owner,
 * client_mount_worker.c and client_reads.c for the mount worker.
 */
#ifndef PLENUM_DATAPLANE_FUSE_MOUNT_WORKER_H
#define PLENUM_DATAPLANE_FUSE_MOUNT_WORKER_H

#include "dataplane/fuse/client/tables/client_state.h"
#include "dataplane/launch.h"
#include "dataplane/rudp/rudp.h"

#define MOUNT_WORKER_SLOTS 64U
/* Number of further slots, for requests that a mount worker reads itself. */
#define MOUNT_WORKER_READS 32U
#define MOUNT_WORKER_SLOTS_ALL (MOUNT_WORKER_SLOTS + MOUNT_WORKER_READS)
#define MOUNT_WORKER_FILES 1024U
/* The records of the first 64 files are in mount_worker_area and mount_worker_reads, those of the
 * others in mount_worker_more. */
#define MOUNT_WORKER_FILES_FIRST 64U
/* Number of table entries that may hold a file. Which ones follows from the file's number, so a
 * search checks only these. */
#define MOUNT_WORKER_FILE_WAYS 8U
#define MOUNT_WORKER_BUF_BYTES (((size_t)RUDP_MSG_BYTES_MAX + 4095) & ~(size_t)4095)
/* A mount worker that is silent for this long gets no new requests, and the owner takes back those
 * that it has not begun. */
#define MOUNT_WORKER_AWAY_NS (2 * NSEC_PER_SEC)

/*
 * State of a request, in the low byte of its word. The owner writes FREE and DISPATCHED, the mount
 * worker the others. A request that a mount worker has begun may have been sent, so it stays with
 * that worker, whose successor repeats it with the same id.
 */
enum mount_worker_state {
	MOUNT_WORKER_FREE,
	MOUNT_WORKER_DISPATCHED, /* dispatched to the mount worker */
	MOUNT_WORKER_TAKEN,	 /* the mount worker has begun it */
	MOUNT_WORKER_DONE,	 /* the kernel has its answer */
	MOUNT_WORKER_REJECTED,	 /* the kernel rejected the reply, possibly because it was resending
				    the request */
	MOUNT_WORKER_RETURNED,	 /* the mount worker cannot serve it, and has not sent it */
	/* States of requests that a mount worker reads itself; these also become TAKEN and FREE: */
	MOUNT_WORKER_READING, /* the kernel may have delivered a request; if so, the buffer has its
				 number */
	MOUNT_WORKER_FORWARDED, /* forwarded to the owner, unchanged */
};
#define MOUNT_WORKER_STATE(word) ((word)&0xffU)
/* The kernel has resent the request, and expects the reply to have the RESEND bit. */
#define MOUNT_WORKER_RESENT 0x100U
/* No program waits for the request any more: it must not be sent if it was not sent before. */
#define MOUNT_WORKER_CANCELLED 0x200U
/* The reply to a WRITE is in `reply`, and the kernel may have it already. Then the program may have
 * written the same range again, so the server must not repeat the WRITE. */
#define MOUNT_WORKER_REPLIED 0x400U
/* The process that made the request got a signal. */
#define MOUNT_WORKER_SIGNALLED 0x800U

struct mount_worker_slot {
	_Alignas(64) uint32_t word; /* enum mount_worker_state and flags */
	uint32_t len;		    /* length of the request in its buffer */
	uint32_t file;
	uint32_t opcode;
	uint64_t unique;     /* number of the request, from the kernel */
	uint64_t fh, nodeid; /* the kernel's numbers */
	uint8_t reply[24];   /* struct fuse_out_header, struct fuse_write_out */
};
_Static_assert(sizeof(struct mount_worker_slot) == 64, "layout shared with other versions");

enum mount_worker_file_state {
	MOUNT_WORKER_FILE_FREE,
	MOUNT_WORKER_FILE_OPEN,
	MOUNT_WORKER_FILE_REFUSED, /* open, but the mount worker cannot open it */
	MOUNT_WORKER_FILE_CLOSING, /* the kernel has closed it, and the mount worker frees it */
};

/* A file with dispatched requests, with everything that the mount worker needs to open it too. */
struct mount_worker_file {
	_Alignas(64) uint32_t state; /* published last */
	uint32_t client_file; /* index of the mount worker's client_file plus one; 0: it has none
				 yet */
	uint64_t fh;	      /* the kernel's */
	uint32_t open_flags, uid, gid;
	uint8_t handle_len;
	uint8_t handle[FUSE_PROTO_HANDLE_MAX];
};

struct mount_worker_area { /* zeros: empty */
	/* Written by the mount worker, except that the owner clears `asleep` when it rings the
	 * bell. */
	_Alignas(64) uint64_t seen_ns; /* clock_now_ns() of its last turn */
	uint32_t ready;	 /* the mount worker has a server that supports mount workers */
	uint32_t asleep; /* the mount worker sleeps or is about to sleep: ring the bell */
	/* Written by the owner. */
	_Alignas(64) uint32_t unmounted;
	uint32_t full;	 /* the owner waits for a free slot: ring the bell */
	uint32_t served; /* the owner has a session with a server that supports mount workers */
	/* One bit per slot, or per group of files with the same remainder of their positions: set
	 * if there is something to process. A new process checks everything. */
	_Alignas(64) uint64_t posted;
	uint64_t closing;
	_Alignas(64) uint64_t done;
	struct mount_worker_slot slots[MOUNT_WORKER_SLOTS];
	struct mount_worker_file files[MOUNT_WORKER_FILES_FIRST];
};

/* Requests that a mount worker reads. */
struct mount_worker_reads {
	/* Written by the mount worker. */
	_Alignas(64) uint64_t n_read;		/* requests read from the kernel since the start */
	uint32_t populated[MOUNT_WORKER_READS]; /* bytes of the buffer that have memory: a kill
						   truncates no request that fits these */
	/* Bits for the owner: one per slot, and one for each of the first 64 files. */
	_Alignas(64) uint64_t done;
	uint64_t noted;
	/* Bits for the mount worker: one per slot. */
	_Alignas(64) uint64_t posted;
	struct mount_worker_slot slots[MOUNT_WORKER_READS];
	struct mount_worker_note { /* what the owner must know of a mount_worker_file */
		uint32_t out;	   /* requests in flight */
		/* How often WRITEs have begun or ended since the start: unsynced ones, and synced
		 * ones. */
		uint32_t wrote, synced;
		/* Written by the owner: the counts that its tables include. */
		uint32_t wrote_seen, synced_seen;
	} notes[MOUNT_WORKER_FILES_FIRST];
};

/* Records of the files for which the two structs above have no position. */
struct mount_worker_more {
	/* Written by the mount worker. */
	_Alignas(64) uint32_t is_known; /* always 1 */
	/* Like `noted` in mount_worker_reads. */
	_Alignas(64) uint64_t noted[MOUNT_WORKER_FILES / 64 - 1];
	struct mount_worker_note notes[MOUNT_WORKER_FILES - MOUNT_WORKER_FILES_FIRST];
	struct mount_worker_file files[MOUNT_WORKER_FILES - MOUNT_WORKER_FILES_FIRST];
};

struct mount_worker_common { /* one for all mount workers of a mount */
	/* Written by the owner. */
	_Alignas(64) uint32_t reads; /* mount workers must read from the kernel */
	/* Written by the owner, but cleared by the mount worker that rings the bell. */
	_Alignas(64) uint32_t asleep;
	/* Written by mount workers: a bit for each mount worker that has set a bit in its `done` or
	 * `noted`. */
	_Alignas(64) uint64_t done;
	uint64_t noted;
	/* Written by the owner: always 1. */
	_Alignas(64) uint32_t by_number;
};

/* Access to words that another process reads while they change; mount_worker_set here pairs with
 * mount_worker_get in the other process. */
#define mount_worker_set(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define mount_worker_get(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)

static inline bool mount_worker_swap(uint32_t *word, uint32_t was, uint32_t is)
{
	return __atomic_compare_exchange_n(word, &was, is, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* Clears the bits and returns the first n of them. Other bits are ignored, because another process
 * can set them. */
static inline uint64_t mount_worker_take_bits(uint64_t *bits, unsigned n)
{
	return __atomic_exchange_n(bits, 0, __ATOMIC_SEQ_CST) & ~0ULL >> (64 - n);
}

/* Maps the area of a mount worker in fd, a mount's state, and extends fd if necessary; the caller
 * keeps fd. number: from 1 to LAUNCH_MOUNT_WORKERS_MAX. Returns NULL with errno set on failure. */
struct mount_worker_area *mount_worker_map(int fd, unsigned number);
/* Whether the mount of this state has ever had mount workers. */
bool mount_worker_was_there(int fd);
void mount_worker_unmap(struct mount_worker_area *a);
/* Offset of the mount worker's own client state in the descriptor. */
uint64_t mount_worker_state_at(unsigned number);
uint8_t *mount_worker_buf(struct mount_worker_area *a, unsigned slot);
/* Like mount_worker_map(), for the common part. */
struct mount_worker_common *mount_worker_common_map(int fd);
void mount_worker_common_unmap(struct mount_worker_common *c);
struct mount_worker_reads *mount_worker_reads_map(int fd, unsigned number);
void mount_worker_reads_unmap(struct mount_worker_reads *r);
uint8_t *mount_worker_reads_buf(struct mount_worker_reads *r,
				unsigned slot); /* from 0 to MOUNT_WORKER_READS - 1 */
struct mount_worker_more *mount_worker_more_map(int fd, unsigned number);
void mount_worker_more_unmap(struct mount_worker_more *m);
/* slot: from 0 to MOUNT_WORKER_SLOTS_ALL - 1. */
struct mount_worker_slot *mount_worker_slot_at(struct mount_worker_area *a,
					       struct mount_worker_reads *r, unsigned slot);
uint8_t *mount_worker_buf_at(struct mount_worker_area *a, struct mount_worker_reads *r,
			     unsigned slot);
/* The positions that a file may have in the table; way: from 0 to MOUNT_WORKER_FILE_WAYS - 1. The
 * owner assigns low file numbers first, so files that are open together rarely collide. */
static inline unsigned mount_worker_file_place(uint64_t fh, unsigned way)
{
	return (unsigned)((fh + way) % MOUNT_WORKER_FILES);
}
/* place: from 0 to MOUNT_WORKER_FILES - 1; larger numbers wrap around. */
struct mount_worker_file *mount_worker_file_at(struct mount_worker_area *a,
					       struct mount_worker_more *m, unsigned place);
struct mount_worker_note *mount_worker_note_at(struct mount_worker_reads *r,
					       struct mount_worker_more *m, unsigned place);
/* The word with the bit of this file, which is bit place % 64. */
uint64_t *mount_worker_noted_at(struct mount_worker_reads *r, struct mount_worker_more *m,
				unsigned place);
/* How many bytes of the buffer have memory. */
static inline size_t mount_worker_reads_populated(const struct mount_worker_reads *r, unsigned slot)
{
	return MIN_OF((size_t)mount_worker_get(&r->populated[slot]), MOUNT_WORKER_BUF_BYTES);
}
/* Populates the first bytes of the buffer, if possible. */
void mount_worker_reads_populate(struct mount_worker_reads *r, unsigned slot, size_t bytes);
/* Returns memory to the system: _trim that of all read buffers, when none is in use; _trim_one that
 * of one buffer that is not in use. */
void mount_worker_reads_trim(struct mount_worker_reads *r);
void mount_worker_reads_trim_one(struct mount_worker_reads *r, unsigned slot);
/* Returns the buffers' memory to the system, when none is in use. */
void mount_worker_trim(struct mount_worker_area *a);
/* Makes this process the only one with this mount worker number until it ends. Returns 0; -EBUSY:
 * another process is it. */
int mount_worker_lock(int fd, unsigned number);
void mount_worker_unlock(int fd, unsigned number);
/* Whether another process has the lock of this number. */
bool mount_worker_is_locked(int fd, unsigned number);
/* Wakes all workers of the mount, because there is something to process. */
void mount_worker_ring(int bell_fd);
/* Changes the id of a mount into that of its mount worker. */
void mount_worker_id(uint8_t id[16], unsigned number);

#endif
