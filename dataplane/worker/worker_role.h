/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface of a worker's role: a const table per role, each in its own file
 * (worker_frontend.c, worker_compute.c), chosen once from the list below. The loop and
 * the control channel know roles only by it, so a new role is one file and one line of that list.
 */
#ifndef PLENUM_DATAPLANE_WORKER_ROLE_H
#define PLENUM_DATAPLANE_WORKER_ROLE_H

#include "dataplane/port/rdma/port_rdma.h"
#include "dataplane/worker/worker_sandbox.h"

struct rudp_ops;
struct rudp_session;
struct worker;

struct worker_role {
	const char *name; /* in process lists: "plenum-NAME" */
	enum sandbox_kind sandbox;
	/* rudp's, with `user` the worker. tx and tx_flush are worker_tx and worker_tx_flush. */
	const struct rudp_ops *ops;

	/* Builds the role's state, w->end, on w->rudp. 0; negative errno with a line in why. */
	int (*build)(struct worker *w, struct reason *why);
	void (*watch)(struct worker *w); /* adds the descriptors to sleep on, by worker_watch() */
	/* Work at the start of a turn, so that replies to the packets that the turn reads do not
	 * wait for it; NULL: none. Returns the amount of work done. */
	unsigned (*begin)(struct worker *w);
	/* The role's part of a turn, before packets are sent. Returns the amount of work done. */
	unsigned (*turn)(struct worker *w);
	/* Whether packets are expected; otherwise the ports are polled less often. NULL: always. */
	bool (*awaits)(const struct worker *w);
	/* Called before the loop sleeps: arms the wake-ups of its descriptors. False: there is
	 * work. NULL: always armed. */
	bool (*arm)(struct worker *w);
	uint64_t (*tick)(struct worker *w); /* timers; when the next one is due */
	/* Why bulk data cannot use RDMA on this port, beyond the port's own reason; PORT_RDMA_OK:
	 * they do. NULL: the requesting side decides. */
	enum port_rdma_reason (*rdma)(const struct worker *w, unsigned port);
	/* An RDMA device or a leg was added to the running worker; NULL: not needed. */
	void (*rdma_came)(struct worker *w);
	/* File data of the session transferred by RDMA over this port. */
	void (*rdma_bytes)(const struct worker *w, const struct rudp_session *s, unsigned port,
			   uint64_t *ret_read, uint64_t *ret_write);
	/* Begins an RDMA test; worker_send_ping() reports the result. Negative errno: not begun. */
	int (*ping)(struct worker *w, const struct launch_ping *p);
	/* Stopping: number of pending operations that must be finished. */
	unsigned (*left)(struct worker *w);
	/* Name of the peer, for messages; "": unknown. */
	const char *(*peer_name)(const struct worker *w, const struct rudp_session *s);
	/* Reports a refusal itself; NULL: never. False: the session is not the role's. */
	bool (*report_refusal)(struct worker *w, struct rudp_session *s, int code);
	void (*adopted)(struct worker *w);	/* a new agent has adopted the worker; NULL: not
						 * needed */
	void (*end_sessions)(struct worker *w); /* before rudp is freed; NULL: nothing to do */
	void (*free)(struct worker *w);		/* frees w->end, even if half built; called after
						 * rudp is freed */
};

/* All roles: a line each, with the member of enum launch_role. */
#define WORKER_ROLES(X)                \
	X(FRONTEND, worker_role_front) \
	X(COMPUTE, worker_role_compute)
#define WORKER_ROLE(member, name) extern const struct worker_role name;
WORKER_ROLES(WORKER_ROLE)

/* NULL: this version has no such role. */
const struct worker_role *worker_role_get(unsigned role);

#endif
