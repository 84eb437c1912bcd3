/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the workers of one frontend entry share a mount. One of them, the owner, has the nodes and
 * files; the others each have a lane: a session of their own with the server, under an id of their
 * own. The owner reads the kernel's requests and deals large data out to lanes; where many small
 * requests come at a time, lanes read for themselves, keep data of the files that they know, and
 * pass all else to the owner. An answer goes straight to the kernel, by whoever had it. What passes
 * between the two lies in the mount's state descriptor, behind the owner's tables, so that either
 * may die alone: a word for each request says who has it, and whoever comes next goes on from
 * there. There is no lock on it. Owns the layout and the mapping; what it means is that of
 * fuse_client_deal.c and fuse_client_pass.c for the owner, fuse_client_lane.c and
 * fuse_client_reads.c for the lane.
 */
#ifndef PLENUM_DATAPLANE_FUSE_LANE_H
#define PLENUM_DATAPLANE_FUSE_LANE_H

#include "dataplane/fuse/client/client_state.h"
#include "dataplane/launch.h"
#include "dataplane/rudp/rudp.h"

#define MOUNT_WORKER_SLOTS 64U
#define MOUNT_WORKER_READS 32U /* behind those, for what a lane reads itself */
#define MOUNT_WORKER_SLOTS_ALL (MOUNT_WORKER_SLOTS + MOUNT_WORKER_READS)
#define MOUNT_WORKER_FILES 1024U
#define MOUNT_WORKER_FILES_OLD 64U /* of these the records lie where earlier versions have all */
/* A file has one of so many places, which follow from its number: who looks for one looks at those.
 */
#define MOUNT_WORKER_FILE_WAYS 8U
#define MOUNT_WORKER_BUF_BYTES (((size_t)RUDP_MSG_BYTES_MAX + 4095) & ~(size_t)4095)
/* A lane that was not heard of for so long gets nothing new, and what it has not begun goes back.
 */
#define MOUNT_WORKER_AWAY_NS (2 * NSEC_PER_SEC)

/*
 * Of a request, in the low byte of its word; the owner writes FREE and HANDED, the lane the others.
 * What a lane has begun may have been sent: it stays with the lane, whose successor asks again by
 * the same id.
 */
enum mount_worker_state {
	MOUNT_WORKER_FREE,
	MOUNT_WORKER_HANDED,  /* it is for the lane */
	MOUNT_WORKER_TAKEN,   /* the lane has begun with it */
	MOUNT_WORKER_DONE,    /* the kernel has its answer */
	MOUNT_WORKER_UNHEARD, /* it was answered, but the kernel did not know it (just then) */
	MOUNT_WORKER_BACK,    /* the lane cannot serve it, and has not sent it */
	/* Of what a lane reads itself, and then TAKEN, too, from which it goes back to FREE: */
	MOUNT_WORKER_READING, /* the kernel may have given it: its number, where the buffer has one
			       */
	MOUNT_WORKER_PASSED,  /* it is for the owner, as the kernel gave it */
};
#define MOUNT_WORKER_STATE(word) ((word)&0xffU)
/* The kernel has handed it out anew, and wants it answered so. */
#define MOUNT_WORKER_AGAIN 0x100U
/* Nobody waits for it any more: what has not been sent is not to be. */
#define MOUNT_WORKER_CANCELLED 0x200U
/* A WRITE's answer is in `said`, and the kernel may have it already: then the program may have
 * written the same place anew, and the server must not be asked again. */
#define MOUNT_WORKER_SAID 0x400U
/* Its process had a signal. */
#define MOUNT_WORKER_SIGNALLED 0x800U

struct mount_worker_slot {
	_Alignas(64) uint32_t word; /* enum mount_worker_state and flags */
	uint32_t len;		    /* of the request in its buffer */
	uint32_t file;
	uint32_t opcode;
	uint64_t unique;     /* as the kernel gave it */
	uint64_t fh, nodeid; /* the kernel's */
	uint8_t said[24];    /* struct fuse_out_header, struct fuse_write_out */
};
_Static_assert(sizeof(struct mount_worker_slot) == 64, "successors of other versions read it");

enum mount_worker_file_state {
	MOUNT_WORKER_FILE_FREE,
	MOUNT_WORKER_FILE_OPEN,
	MOUNT_WORKER_FILE_REFUSED, /* open, but the lane cannot have it */
	MOUNT_WORKER_FILE_CLOSING, /* the kernel has closed it; the lane makes it free */
};

/* An open file whose requests are dealt out: all that it takes to have it open in the lane too. */
struct mount_worker_file {
	_Alignas(64) uint32_t state; /* published last */
	uint32_t own; /* the lane's: index of its client_file, and one more; 0: none yet */
	uint64_t fh;  /* the kernel's */
	uint32_t open_flags, uid, gid;
	uint8_t handle_len;
	uint8_t handle[FUSE_PROTO_HANDLE_MAX];
};

struct mount_worker_area { /* zeros are an empty one */
	/* Written by the lane; `asleep` is taken back by who rings, the owner. */
	_Alignas(64) uint64_t seen_ns; /* clock_now_ns() of its last turn */
	uint32_t ready;		       /* it has a server, which knows lanes */
	uint32_t asleep;	       /* or about to be: it wants the bell */
	/* Written by the owner. */
	_Alignas(64) uint32_t gone; /* unmounted */
	uint32_t full;		    /* it waits for an end, and wants the bell */
	uint32_t served;	    /* it has the server, which knows lanes */
	/* Bit per slot, or for all files whose places have the same remainder: that there is
	 * something to look at, no more. Whoever comes anew looks at all. */
	_Alignas(64) uint64_t posted;
	uint64_t closing;
	_Alignas(64) uint64_t done;
	struct mount_worker_slot slots[MOUNT_WORKER_SLOTS];
	struct mount_worker_file files[MOUNT_WORKER_FILES_OLD];
};

/* What a lane reads for itself. */
struct mount_worker_reads {
	/* Written by the lane. */
	_Alignas(64) uint64_t n_read;		/* from the kernel, ever */
	uint32_t populated[MOUNT_WORKER_READS]; /* so many bytes of the buffer have memory: there a
						 * death costs no part of a request */
	/* Bit per slot, or for each of the first files: what the owner is to look at, */
	_Alignas(64) uint64_t done;
	uint64_t noted;
	/* and what the lane is. */
	_Alignas(64) uint64_t posted;
	struct mount_worker_slot slots[MOUNT_WORKER_READS];
	struct mount_worker_note { /* of a mount_worker_file */
		uint32_t out;	   /* requests under way */
		/* Begins and ends of WRITEs, ever: of those that are not synced, and that are. */
		uint32_t wrote, synced;
		uint32_t wrote_seen, synced_seen; /* the owner's: so far they are in its tables */
	} notes[MOUNT_WORKER_FILES_OLD];
};

/* Of the files that the two above have no place for. A worker of an earlier version, which may have
 * the mount's other end, knows of none of them. */
struct mount_worker_more {
	/* Written by the lane. */
	_Alignas(64) uint32_t is_known;				  /* it has these places, too */
	_Alignas(64) uint64_t noted[MOUNT_WORKER_FILES / 64 - 1]; /* as in mount_worker_reads */
	struct mount_worker_note notes[MOUNT_WORKER_FILES - MOUNT_WORKER_FILES_OLD];
	struct mount_worker_file files[MOUNT_WORKER_FILES - MOUNT_WORKER_FILES_OLD];
};

struct mount_worker_common { /* of all lanes of a mount */
	/* Written by the owner. */
	_Alignas(64) uint32_t reads; /* lanes are to read, too */
	/* Written by the owner, and taken back by the lane that rings. */
	_Alignas(64) uint32_t asleep;
	/* Written by lanes: a bit for each that has something in `done`, and in `noted`. */
	_Alignas(64) uint64_t done;
	uint64_t noted;
	/* Written by the owner: it gives files places by their numbers, not as they come. */
	_Alignas(64) uint32_t by_number;
};

/* Words that another process reads while they change; each pairs with the other in that one. */
#define mount_worker_set(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define mount_worker_get(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)

static inline bool mount_worker_swap(uint32_t *word, uint32_t was, uint32_t is)
{
	return __atomic_compare_exchange_n(word, &was, is, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* lane: from 1 to LAUNCH_LANES_MAX. Maps it in fd, which must be a mount's state (borrowed), and
 * makes that as long as it has to be. NULL: errno says why. */
struct mount_worker_area *mount_worker_map(int fd, unsigned lane);
/* Whether the state was ever that of a mount with lanes. */
bool mount_worker_was_there(int fd);
void mount_worker_unmap(struct mount_worker_area *a);
/* Where the state of the lane's own front begins. */
uint64_t mount_worker_state_at(unsigned lane);
uint8_t *mount_worker_buf(struct mount_worker_area *a, unsigned slot);
/* As mount_worker_map(). */
struct mount_worker_common *mount_worker_common_map(int fd);
void mount_worker_common_unmap(struct mount_worker_common *c);
struct mount_worker_reads *mount_worker_reads_map(int fd, unsigned lane);
void mount_worker_reads_unmap(struct mount_worker_reads *r);
uint8_t *mount_worker_reads_buf(struct mount_worker_reads *r,
				unsigned slot); /* from 0 to MOUNT_WORKER_READS - 1 */
struct mount_worker_more *mount_worker_more_map(int fd, unsigned lane);
void mount_worker_more_unmap(struct mount_worker_more *m);
/* slot: from 0 to MOUNT_WORKER_SLOTS_ALL - 1. */
struct mount_worker_slot *mount_worker_slot_at(struct mount_worker_area *a,
					       struct mount_worker_reads *r, unsigned slot);
uint8_t *mount_worker_buf_at(struct mount_worker_area *a, struct mount_worker_reads *r,
			     unsigned slot);
/* The places that a file may have, way from 0 to MOUNT_WORKER_FILE_WAYS - 1. Its number is the
 * owner's, which gives low ones first: files that are open together are seldom in each other's way.
 */
static inline unsigned mount_worker_file_place(uint64_t fh, unsigned way)
{
	return (unsigned)((fh + way) % MOUNT_WORKER_FILES);
}
/* place: from 0 to MOUNT_WORKER_FILES - 1; others wrap around. */
struct mount_worker_file *mount_worker_file_at(struct mount_worker_area *a,
					       struct mount_worker_more *m, unsigned place);
struct mount_worker_note *mount_worker_note_at(struct mount_worker_reads *r,
					       struct mount_worker_more *m, unsigned place);
/* The word in which the file of this place has the bit place % 64. */
uint64_t *mount_worker_noted_at(struct mount_worker_reads *r, struct mount_worker_more *m,
				unsigned place);
/* The first so many bytes of the buffer have memory from here on, if it can be had. */
void mount_worker_reads_populate(struct mount_worker_reads *r, unsigned slot, size_t bytes);
/* Their memory back to the system: of all, when none is in use; of one that is not. */
void mount_worker_reads_trim(struct mount_worker_reads *r);
void mount_worker_reads_trim_one(struct mount_worker_reads *r, unsigned slot);
/* Their memory back to the system, when none is in use. */
void mount_worker_trim(struct mount_worker_area *a);
/* The process has the lane to itself until it ends. 0; -EBUSY: another has. */
int mount_worker_lock(int fd, unsigned lane);
void mount_worker_unlock(int fd, unsigned lane);
/* Whether another process has. */
bool mount_worker_is_locked(int fd, unsigned lane);
/* Something to look at: rings for all who have the mount. */
void mount_worker_ring(int bell_fd);
/* Makes the id of a mount that of its lane. */
void mount_worker_id(uint8_t id[16], unsigned lane);

#endif
