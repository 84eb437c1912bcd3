/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a worker does with its sessions: a const table a role, in a file of its own
 * (worker_frontend.c, worker_compute.c), chosen once from the list in worker_role.c. The loop and
 * the control channel know nothing else of roles, so a new one is its file and one line of that
 * list.
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

	/* Makes the role's end, w->end, on w->rudp. 0; negative errno with a line in why. */
	int (*build)(struct worker *w, char *why);
	void (*watch)(struct worker *w); /* what the loop shall sleep on, by worker_watch() */
	/* Its share of a turn, before packets leave. How much there was to do. */
	unsigned (*turn)(struct worker *w);
	/* Whether packets are due to come; without it ports are looked at more seldom. NULL: ever.
	 */
	bool (*awaits)(const struct worker *w);
	/* Before the loop sleeps, what it watches shall wake it. False: there is work. NULL: it
	 * does. */
	bool (*arm)(struct worker *w);
	uint64_t (*tick)(struct worker *w); /* timers; when the next one is due */
	/* Why no bulk data go by RDMA on this port, beyond what the port knows; PORT_RDMA_OK: they
	 * do. NULL: who asks for it does. */
	enum port_rdma_reason (*rdma)(const struct worker *w, unsigned port);
	/* A device of RDMA, or a leg, has come to a worker that is under way; NULL: no matter. */
	void (*rdma_came)(struct worker *w);
	/* File data of the session that went by RDMA over this port. */
	void (*rdma_bytes)(const struct worker *w, const struct rudp_session *s, unsigned port,
			   uint64_t *ret_read, uint64_t *ret_write);
	/* Begins a try of RDMA; what comes of it goes by worker_send_ping(). Negative errno: it
	 * does not. */
	int (*ping)(struct worker *w, const struct launch_ping *p);
	/* Stopping: how much is under way that must not be cut off. */
	unsigned (*left)(struct worker *w);
	/* Who is at the other end, for people to read; "": not known. */
	const char *(*peer_name)(const struct worker *w, const struct rudp_session *s);
	/* A refusal that the role reports itself; NULL: none. False: not of one of its sessions. */
	bool (*report_refusal)(struct worker *w, struct rudp_session *s, int code);
	void (*adopted)(struct worker *w);	/* there is another agent now; NULL: no matter */
	void (*end_sessions)(struct worker *w); /* before rudp is freed; NULL: nothing to do */
	void (*free)(struct worker *w);		/* w->end, also one half built; after rudp */
};

/* NULL: no such role in this version. */
const struct worker_role *worker_role_get(unsigned role);

extern const struct worker_role worker_role_front, worker_role_compute;

#endif
