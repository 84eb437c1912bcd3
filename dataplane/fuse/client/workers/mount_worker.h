/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the workers of one frontend entry share a mount. One of them, the owner, has the nodes and
 * files; each of the others is a mount worker: it has its own session with the server, under its
 * own id. The owner reads the kernel's requests and dispatches large data to mount workers; when
 * many small requests arrive at a time, mount workers read too, serve data of the files that they
 * know, and forward all other requests to the owner. An answer goes straight to the kernel, from
 * the worker that got it. The shared memory lies in the mount's state descriptor, behind the
 * owner's tables, so that either end may die alone: a word per request says which worker has it,
 * and a successor continues from there. It has no lock. This module owns the layout and the
 * mapping; client_dispatch.c and client_forward.c use it for the owner, client_mount_worker.c and
 * client_reads.c for the mount worker.
 */
#ifndef PLENUM_DATAPLANE_FUSE_MOUNT_WORKER_H
#define PLENUM_DATAPLANE_FUSE_MOUNT_WORKER_H

#include "dataplane/fuse/client/tables/client_state.h"
#include "dataplane/launch.h"
#include "dataplane/rudp/rudp.h"

#define MOUNT_WORKER_SLOTS 64U
#define MOUNT_WORKER_READS 32U /* after those: for requests that a mount worker reads */
#define MOUNT_WORKER_SLOTS_ALL (MOUNT_WORKER_SLOTS + MOUNT_WORKER_READS)
#define MOUNT_WORKER_FILES 1024U
/* The records of the first 64 files are in mount_worker_area and mount_worker_reads, the others
 * in mount_worker_more. */
#define MOUNT_WORKER_FILES_FIRST 64U
/* Number of table entries that may hold a file: they follow from the file's number, so a search
 * checks only these. */
#define MOUNT_WORKER_FILE_WAYS 8U
#define MOUNT_WORKER_BUF_BYTES (((size_t)RUDP_MSG_BYTES_MAX + 4095) & ~(size_t)4095)
/* A mount worker that has been silent this long gets no new requests, and the owner takes back
 * those that it has not begun. */
#define MOUNT_WORKER_AWAY_NS (2 * NSEC_PER_SEC)

/*
 * State of a request, in the low byte of its word; the owner writes FREE and DISPATCHED, the mount
 * worker the others. A request that a mount worker has begun may have been sent: it stays with that
 * worker, whose successor repeats it with the same id.
 */
enum mount_worker_state {
	MOUNT_WORKER_FREE,
	MOUNT_WORKER_DISPATCHED, /* dispatched to the mount worker */
	MOUNT_WORKER_TAKEN,	 /* the mount worker has begun it */
	MOUNT_WORKER_DONE,	 /* the kernel has its answer */
	MOUNT_WORKER_REJECTED,	 /* reply rejected by the kernel, which was possibly resending the
				   request */
	MOUNT_WORKER_RETURNED,	 /* the mount worker cannot serve it, and has not sent it */
	/* For requests that a mount worker reads itself; these also become TAKEN and FREE: */
	MOUNT_WORKER_READING, /* the kernel may have delivered it; then the buffer has its number */
	MOUNT_WORKER_FORWARDED, /* forwarded to the owner, as the kernel sent it */
};
#define MOUNT_WORKER_STATE(word) ((word)&0xffU)
/* The kernel has resent the request, and expects the reply to have the RESEND bit. */
#define MOUNT_WORKER_RESENT 0x100U
/* No program waits for the request any more: do not send it if it has not been sent. */
#define MOUNT_WORKER_CANCELLED 0x200U
/* A WRITE's reply is in `reply`, and the kernel may already have it: then the program may have
 * written the same range again, so the server must not repeat the WRITE. */
#define MOUNT_WORKER_REPLIED 0x400U
/* The process that made the request had a signal. */
#define MOUNT_WORKER_SIGNALLED 0x800U

struct mount_worker_slot {
	_Alignas(64) uint32_t word; /* enum mount_worker_state and flags */
	uint32_t len;		    /* length of the request in its buffer */
	uint32_t file;
	uint32_t opcode;
	uint64_t unique;     /* as the kernel sent it */
	uint64_t fh, nodeid; /* the kernel's numbers */
	uint8_t reply[24];   /* struct fuse_out_header, struct fuse_write_out */
};
_Static_assert(sizeof(struct mount_worker_slot) == 64, "layout shared with other versions");

enum mount_worker_file_state {
	MOUNT_WORKER_FILE_FREE,
	MOUNT_WORKER_FILE_OPEN,
	MOUNT_WORKER_FILE_REFUSED, /* open, but the mount worker cannot open it */
	MOUNT_WORKER_FILE_CLOSING, /* the kernel has closed it; the mount worker frees it */
};

/* A file with dispatched requests: everything that the mount worker needs to open it too. */
struct mount_worker_file {
	_Alignas(64) uint32_t state; /* published last */
	uint32_t client_file; /* the mount worker's client_file: index plus one; 0: none yet */
	uint64_t fh;	      /* the kernel's */
	uint32_t open_flags, uid, gid;
	uint8_t handle_len;
	uint8_t handle[FUSE_PROTO_HANDLE_MAX];
};

struct mount_worker_area { /* zeros: empty */
	/* Written by the mount worker; the owner clears `asleep` when it rings. */
	_Alignas(64) uint64_t seen_ns; /* clock_now_ns() of its last turn */
	uint32_t ready;	 /* the mount worker has a server that supports mount workers */
	uint32_t asleep; /* the mount worker sleeps or is about to: ring the bell */
	/* Written by the owner. */
	_Alignas(64) uint32_t unmounted;
	uint32_t full;	 /* the owner waits for a free slot: ring the bell */
	uint32_t served; /* the owner has a session with a server that supports mount workers */
	/* One bit per slot, or per group of files whose place has the same remainder: set if
	 * there is something to process. A new process checks everything. */
	_Alignas(64) uint64_t posted;
	uint64_t closing;
	_Alignas(64) uint64_t done;
	struct mount_worker_slot slots[MOUNT_WORKER_SLOTS];
	struct mount_worker_file files[MOUNT_WORKER_FILES_FIRST];
};

/* Requests that a mount worker reads. */
struct mount_worker_reads {
	/* Written by the mount worker. */
	_Alignas(64) uint64_t n_read;		/* requests read from the kernel, ever */
	uint32_t populated[MOUNT_WORKER_READS]; /* bytes of the buffer that have memory: in these, a
						   kill truncates no request */
	/* Bits for the owner: one per slot, and one per file among the first 64. */
	_Alignas(64) uint64_t done;
	uint64_t noted;
	/* Bits for the mount worker: one per slot. */
	_Alignas(64) uint64_t posted;
	struct mount_worker_slot slots[MOUNT_WORKER_READS];
	struct mount_worker_note { /* of a mount_worker_file */
		uint32_t out;	   /* requests in flight */
		/* Begins and ends of WRITEs, ever: of unsynced and of synced ones. */
		uint32_t wrote, synced;
		uint32_t wrote_seen, synced_seen; /* the owner's: counts that its tables include */
	} notes[MOUNT_WORKER_FILES_FIRST];
};

/* The files for which the two structs above have no place. */
struct mount_worker_more {
	/* Written by the mount worker. */
	_Alignas(64) uint32_t is_known;				  /* always 1 */
	_Alignas(64) uint64_t noted[MOUNT_WORKER_FILES / 64 - 1]; /* as in mount_worker_reads */
	struct mount_worker_note notes[MOUNT_WORKER_FILES - MOUNT_WORKER_FILES_FIRST];
	struct mount_worker_file files[MOUNT_WORKER_FILES - MOUNT_WORKER_FILES_FIRST];
};

struct mount_worker_common { /* of all mount workers of a mount */
	/* Written by the owner. */
	_Alignas(64) uint32_t reads; /* mount workers are to read */
	/* Written by the owner, and cleared by the mount worker that rings. */
	_Alignas(64) uint32_t asleep;
	/* Written by mount workers: a bit for each that has something in `done`, and in `noted`. */
	_Alignas(64) uint64_t done;
	uint64_t noted;
	/* Written by the owner: always 1. */
	_Alignas(64) uint32_t by_number;
};

/* Words that another process reads while they change; set pairs with get in the other process. */
#define mount_worker_set(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define mount_worker_get(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)

static inline bool mount_worker_swap(uint32_t *word, uint32_t was, uint32_t is)
{
	return __atomic_compare_exchange_n(word, &was, is, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* Clears the bits and returns the first n. Others are ignored: another process sets them. */
static inline uint64_t mount_worker_take_bits(uint64_t *bits, unsigned n)
{
	return __atomic_exchange_n(bits, 0, __ATOMIC_SEQ_CST) & ~0ULL >> (64 - n);
}

/* number: the mount worker's number, from 1 to LAUNCH_MOUNT_WORKERS_MAX. Maps its area in fd, a
 * mount's state (borrowed), and extends fd if necessary. NULL: errno. */
struct mount_worker_area *mount_worker_map(int fd, unsigned number);
/* Whether the state has ever been that of a mount with mount workers. */
bool mount_worker_was_there(int fd);
void mount_worker_unmap(struct mount_worker_area *a);
/* Offset of the mount worker's own client state. */
uint64_t mount_worker_state_at(unsigned number);
uint8_t *mount_worker_buf(struct mount_worker_area *a, unsigned slot);
/* As mount_worker_map(). */
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
/* The places that a file may have, way from 0 to MOUNT_WORKER_FILE_WAYS - 1. The owner assigns
 * low numbers first: files that are open together rarely collide. */
static inline unsigned mount_worker_file_place(uint64_t fh, unsigned way)
{
	return (unsigned)((fh + way) % MOUNT_WORKER_FILES);
}
/* place: from 0 to MOUNT_WORKER_FILES - 1; larger numbers wrap around. */
struct mount_worker_file *mount_worker_file_at(struct mount_worker_area *a,
					       struct mount_worker_more *m, unsigned place);
struct mount_worker_note *mount_worker_note_at(struct mount_worker_reads *r,
					       struct mount_worker_more *m, unsigned place);
/* The word that has the bit place % 64 of this place's file. */
uint64_t *mount_worker_noted_at(struct mount_worker_reads *r, struct mount_worker_more *m,
				unsigned place);
/* The bytes of the buffer that have memory. */
static inline size_t mount_worker_reads_populated(const struct mount_worker_reads *r, unsigned slot)
{
	return MIN_OF((size_t)mount_worker_get(&r->populated[slot]), MOUNT_WORKER_BUF_BYTES);
}
/* Populates the first bytes of the buffer, if possible. */
void mount_worker_reads_populate(struct mount_worker_reads *r, unsigned slot, size_t bytes);
/* Returns memory to the system: of all read buffers, when none is in use; of one that is not in
 * use. */
void mount_worker_reads_trim(struct mount_worker_reads *r);
void mount_worker_reads_trim_one(struct mount_worker_reads *r, unsigned slot);
/* Returns the buffers' memory to the system, when none is in use. */
void mount_worker_trim(struct mount_worker_area *a);
/* Makes the process the only one with this mount worker number until it ends. 0; -EBUSY: another
 * process is. */
int mount_worker_lock(int fd, unsigned number);
void mount_worker_unlock(int fd, unsigned number);
/* Whether another process is. */
bool mount_worker_is_locked(int fd, unsigned number);
/* Something to look at: wakes all workers of the mount. */
void mount_worker_ring(int bell_fd);
/* Turns the id of a mount into that of its mount worker. */
void mount_worker_id(uint8_t id[16], unsigned number);

#endif
