/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private header for mounts with mount workers: what the owner knows about its mount workers, and
 * the functions that the files of this folder share. Only files of dataplane/fuse/client/workers/
 * include it.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_WORKERS_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_WORKERS_H

#include "dataplane/fuse/client/session/client_session.h"
#include "dataplane/fuse/client/workers/client_trial.h"
#include "dataplane/fuse/client/workers/mount_worker.h"

#define CLIENT_DISPATCH_NODEIDS 4096U

/* What the worker that owns the mount knows about one of its mount workers. */
struct client_worker {
	struct mount_worker_area *area;
	struct mount_worker_reads *reads;
	struct mount_worker_more *more;
	uint64_t free; /* bit mask of the free slots among the first MOUNT_WORKER_SLOTS */
	uint64_t fhs[MOUNT_WORKER_FILES];     /* file handles in the mount worker's table; 0: the
						 entry is free */
	uint64_t nodeids[MOUNT_WORKER_FILES]; /* node numbers of the files in fhs */
	/* Index: a slot of the mount worker. Value: the owner's slot for the request in it. NULL:
	 * the slot is empty, or a predecessor dispatched the request, or the mount worker read it
	 * from the kernel itself; if the kernel resends such a request to the owner, claim() sets
	 * the value. */
	struct client_slot *slots[MOUNT_WORKER_SLOTS_ALL];
	unsigned n_out;
	bool touched; /* buffers of the mount worker's area were used, so they may occupy memory */
	uint64_t served_ns; /* when the mount worker was last alive and had a session */
	uint64_t away_ns;   /* since when the mount worker is away with unfinished requests; 0:
			       otherwise */
};

#define CLIENT_SIGNALS 32U

/* A signal to a process whose request a mount worker is about to serve or to forward. */
struct client_signal {
	uint64_t unique;
	uint64_t until_ns; /* when the signal is dropped: until then, the regular check for killed
			      processes has found the process */
	uint32_t at[LAUNCH_MOUNT_WORKERS_MAX]; /* for each mount worker: bit mask of its slots
						  that may hold the request */
};

struct client_dispatch {
	int bell_fd;
	bool settling; /* the kernel may still resend requests that a predecessor had dispatched */
	bool always;   /* mount workers always read, without trials */
	struct client_trial trial;
	unsigned forwarded_by; /* number plus one of the mount worker whose forwarded request is
				  being processed; 0: this worker has read the request itself */
	struct client_signal signals[CLIENT_SIGNALS];
	unsigned n_signals;
	uint64_t signals_ns; /* when to check the signals next */
	uint64_t look_ns;    /* when to check all forwarded requests next */
	struct client_worker workers[LAUNCH_MOUNT_WORKERS_MAX];
	/* Counts, over all tables of files, the entries of nodes whose number has this
	 * remainder. */
	uint16_t n_nodeids[CLIENT_DISPATCH_NODEIDS];
};

/* client_dispatch_state.c */

/* Returns whether the mount's data uses RDMA, which mount workers cannot use. */
bool client_dispatch_by_rdma(const struct fuse_client *f);
/* Tells the mount worker to check the slot. */
void client_dispatch_notify(struct fuse_client *f, struct client_worker *w, unsigned i);
/* The index of a node number in client_dispatch.n_nodeids. */
static inline unsigned client_dispatch_nodeids_at(uint64_t nodeid)
{
	return (unsigned)(nodeid % CLIENT_DISPATCH_NODEIDS);
}

/* client_dispatch.c: the owner's side of the mount workers. */

/* Ends the request in slot i if the mount worker has finished it, or takes it back if the mount
 * worker has returned or forwarded it. Returns false if the slot must be checked again later. i:
 * less than MOUNT_WORKER_SLOTS_ALL. */
bool client_dispatch_slot_look(struct fuse_client *f, struct client_worker *w, unsigned i);
/* Returns whether a process runs as this mount worker and has a session with the server. */
bool client_dispatch_is_alive(const struct client_worker *w, uint64_t now_ns);

/* client_forward.c: the owner's side of the requests that mount workers read. */

/* Applies the file changes that mount workers have reported. */
void client_forward_apply_notes(struct fuse_client *f);

/* client_mount_worker_slot.c: requests in the memory that a mount worker shares with the owner. */

static inline struct mount_worker_slot *client_mount_worker_slot_of(const struct fuse_client *f,
								    const struct client_slot *s)
{
	return mount_worker_slot_at(f->area, f->reads, s->worker_slot - 1);
}
/* Report to the owner, by file, the requests in flight that this mount worker has read. Call _begin
 * before the request can reach the server, and _end after the kernel has the reply. _report repeats
 * the report of _begin. */
void client_mount_worker_note_begin(struct fuse_client *f, const struct mount_worker_slot *slot,
				    const uint8_t *req);
void client_mount_worker_note_end(struct fuse_client *f, const struct mount_worker_slot *slot,
				  const uint8_t *req);
void client_mount_worker_note_report(struct fuse_client *f, const struct mount_worker_slot *slot,
				     const uint8_t *req);
/* Call before the request in slot i begins. i: less than MOUNT_WORKER_READS. */
void client_mount_worker_read_begin(struct fuse_client *f, unsigned i);
/* Asks the owner to check slot i. i: less than MOUNT_WORKER_READS. */
void client_mount_worker_notify_owner(const struct fuse_client *f, unsigned i);
/* Wakes the owner if it sleeps. */
void client_mount_worker_ring_owner(const struct fuse_client *f);
/* Sets this worker's bit in a word of the memory that all workers of the mount share. */
void client_mount_worker_mark(const struct fuse_client *f, uint64_t *word);
/* If the kernel has resent the request meanwhile, marks its number in the slot as resent. */
void client_mount_worker_renumber(struct fuse_client *f, struct client_slot *s);
/* Restarts the request in slot i if the kernel has resent it. i: less than
 * MOUNT_WORKER_SLOTS_ALL. */
bool client_mount_worker_restart(struct fuse_client *f, unsigned i, uint32_t word);

/* client_mount_worker_request.c: the requests that a mount worker gets. */

/* Functions for slot i, which is less than MOUNT_WORKER_SLOTS_ALL. _take begins the request in the
 * slot; again: a process may have begun it before. _resume continues a predecessor's request. _look
 * begins a request that the owner has dispatched, and returns false if the client has no free
 * slot. */
void client_mount_worker_take(struct fuse_client *f, unsigned i, bool again, uint64_t now_ns);
void client_mount_worker_resume(struct fuse_client *f, unsigned i, uint64_t now_ns);
bool client_mount_worker_look(struct fuse_client *f, unsigned i, uint64_t now_ns);
/* Returns whether the mount worker takes new requests. If not, the owner takes back those that it
 * has dispatched. */
bool client_mount_worker_takes_new(const struct fuse_client *f);
/* Closes the files that the owner has closed. */
void client_mount_worker_files_close(struct fuse_client *f, uint64_t now_ns);
/* Closes the files without an entry in the shared table. A predecessor may have died after it
 * opened such a file and before it wrote the entry. */
void client_mount_worker_files_sweep(struct fuse_client *f);

/* client_reads.c: requests that a mount worker reads from the kernel. */

int client_reads_init(struct fuse_client *f);
void client_reads_done(struct fuse_client *f);
/* Continues a predecessor's requests. */
void client_reads_start(struct fuse_client *f, uint64_t now_ns);
/* Returns the number of requests read. */
int client_reads_pull(struct fuse_client *f, bool all, uint64_t now_ns);
bool client_reads_is_finished(const struct fuse_client *f);
void client_reads_tick(struct fuse_client *f, uint64_t now_ns);

#endif
