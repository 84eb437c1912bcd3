/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface of a worker's role: a const table of operations, one for each role in its own file
 * (worker_frontend.c, worker_compute.c). A worker selects one from the list below at its start. The
 * loop and the control channel use roles only by these tables, so a new role is one file and one
 * line of that list.
 */
#ifndef PLENUM_DATAPLANE_WORKER_ROLE_H
#define PLENUM_DATAPLANE_WORKER_ROLE_H

#include "dataplane/port/rdma/port_rdma.h"
#include "dataplane/worker/sandbox/worker_sandbox.h"

struct launch_session;
struct rudp_ops;
struct rudp_session;
struct worker;

struct worker_role {
	const char *name; /* the worker's name in process lists is "plenum-NAME" */
	enum sandbox_kind sandbox;
	/* the callbacks for rudp; their `user` is the worker. tx and tx_flush are worker_tx and
	 * worker_tx_flush. */
	const struct rudp_ops *ops;

	/* Builds the role's state, w->end, on w->rudp. Returns 0 or a negative errno with a
	 * sentence in why. */
	int (*build)(struct worker *w, struct reason *why);
	/* Adds the descriptors that wake the loop, by worker_watch(). */
	void (*watch)(struct worker *w);
	/* Does work at the start of a turn, before packets are read, so that replies to these
	 * packets do not wait for it. Returns the amount of work done. NULL: the role has no such
	 * work. */
	unsigned (*begin)(struct worker *w);
	/* Does the role's part of a turn, before packets are sent. Returns the amount of work
	 * done. */
	unsigned (*turn)(struct worker *w);
	/* Returns whether packets are expected. If not, the worker polls the ports less often.
	 * NULL: packets are always expected. */
	bool (*awaits)(const struct worker *w);
	/* Called before the loop sleeps: makes the role's descriptors wake the loop. Returns false
	 * if there is work. NULL: the descriptors always do. */
	bool (*arm)(struct worker *w);
	uint64_t (*tick)(struct worker *w); /* handles timers; returns when the next timer is due */
	/* Returns why bulk data cannot use RDMA on this port, apart from the port's own reasons, or
	 * PORT_RDMA_OK if it can. NULL: the client on the other side decides. */
	enum port_rdma_reason (*rdma)(const struct worker *w, unsigned port);
	/* Called when an RDMA device or a leg was added to the running worker. NULL: the role need
	 * not know that. */
	void (*rdma_came)(struct worker *w);
	/* Returns how many bytes of the session's file data RDMA has transferred over this port. */
	void (*rdma_bytes)(const struct worker *w, const struct rudp_session *s, unsigned port,
			   uint64_t *ret_read, uint64_t *ret_write);
	/* Begins an RDMA test, whose result the role passes to worker_send_ping(). Returns 0, or a
	 * negative errno if the test did not begin. */
	int (*ping)(struct worker *w, const struct launch_ping *p);
	/* Changes the limits of a mount. NULL: the role has no mounts. */
	void (*limit)(struct worker *w, uint32_t mount, const struct launch_limits *to);
	/* Breaks a file lock, and reports the result as an event. NULL: the role has no file
	 * locks. */
	void (*lock_break)(struct worker *w, uint64_t id);
	/* Called when the agent has written or removed the record of a mount with locks. NULL: the
	 * role has no file locks. */
	void (*lock_answer)(struct worker *w, const struct launch_msg *m);
	/* Returns how many operations must be finished before the worker may stop. */
	unsigned (*left)(struct worker *w);
	/* Returns what the session serves, as in launch_path_stats.serves. NULL:
	 * LAUNCH_SERVES_NONE. */
	uint64_t (*serves)(const struct worker *w, const struct rudp_session *s);
	/* Adds to an entry of the list of sessions the values that only the role knows: requests
	 * and lease. NULL: the role has no such values. */
	void (*describe)(const struct worker *w, const struct rudp_session *s,
			 struct launch_session *e);
	/* Adds the role's part to the statistics page, within its seqlock. NULL: the role has no
	 * part there. */
	void (*publish)(struct worker *w);
	/* Returns the name of the peer, for messages; "": unknown. */
	const char *(*peer_name)(const struct worker *w, const struct rudp_session *s);
	/* Reports a refusal with a sentence of the role. Returns false if the session does not
	 * belong to the role. NULL: the role has no such sentences. */
	bool (*report_refusal)(struct worker *w, struct rudp_session *s, int code);
	void (*adopted)(struct worker *w); /* Called when a new agent has adopted the worker.
					      NULL: the role does not need this. */
	/* Called before rudp is freed. NULL: nothing to do. */
	void (*end_sessions)(struct worker *w);
	void (*free)(struct worker *w); /* frees w->end, which may be built only in part; called
					   after rudp is freed */
};

/* All roles, one line each: the role's constant in enum launch_role, and its table. */
#define WORKER_ROLES(X)                \
	X(FRONTEND, worker_role_front) \
	X(COMPUTE, worker_role_compute)
#define WORKER_ROLE(member, name) extern const struct worker_role name;
WORKER_ROLES(WORKER_ROLE)

/* Returns NULL if this version does not have the role. */
const struct worker_role *worker_role_get(unsigned role);

#endif
