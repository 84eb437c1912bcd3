/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executes long requests in steps: while other hosts send short requests, the worker copies the
 * data of a large read, or makes the reply to a listing, in small pieces. After each piece the
 * request becomes the last in its host's queue, and after at most STEPS_PER_POLL pieces the worker
 * reads packets again. So a request of 4 KiB waits for a few pieces, not for megabytes. If no other
 * host has sent a short request lately, a long request is executed in one step.
 */
#include "dataplane/fuse/server/request/server_steps.h"

/* Maximum number of steps in one poll; each takes some ten microseconds. */
#define STEPS_PER_POLL 2U
/* A host that sent a short request within this time may send its next short request at any
 * moment. */
#define LATELY_NS (10 * NSEC_PER_MSEC)

void server_steps_note(struct server_source *from)
{
	struct fuse_server *srv = from->server;

	if (srv->latest[0].from != from) {
		srv->latest[1] = srv->latest[0];
		srv->latest[0].from = from;
	}
	srv->latest[0].at_ns = srv->now_ns;
}

static bool is_recent(const struct fuse_server *srv, unsigned i)
{
	return srv->latest[i].from && srv->now_ns < srv->latest[i].at_ns + LATELY_NS;
}

bool server_steps_shared(const struct fuse_server *srv)
{
	return is_recent(srv, 0) && is_recent(srv, 1);
}

bool server_steps_wanted(const struct server_req *q)
{
	const struct fuse_server *srv = q->client->server;

	for (unsigned i = 0; i < ARRAY_SIZE(srv->latest); i++)
		if (srv->latest[i].from != q->client->from && is_recent(srv, i))
			return true;
	return false;
}

void server_steps_add(struct server_req *q, void (*step)(struct server_req *q))
{
	struct server_source *h = q->client->from;

	q->step = step;
	q->retry = NULL;
	if (!h->steps) {
		h->steps_tail = &h->steps;
		list_add_tail(&h->server->step_sources, &h->steps_node);
	}
	*h->steps_tail = q;
	h->steps_tail = &q->retry;
}

unsigned server_steps_run(struct fuse_server *srv)
{
	unsigned n = 0;

	for (; n < STEPS_PER_POLL && !list_empty(&srv->step_sources); n++) {
		struct server_source *h =
			list_entry(srv->step_sources.next, struct server_source, steps_node);
		struct server_req *q = h->steps;

		h->steps = q->retry;
		list_del(&h->steps_node);
		if (h->steps)
			list_add_tail(&srv->step_sources, &h->steps_node);
		q->step(q);
	}
	return n;
}
