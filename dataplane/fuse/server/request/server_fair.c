/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares the I/O helpers of an export among client hosts, so that one host that lists huge folders
 * without pause does not delay the others. The helpers take calls from a queue in the order of
 * submission. While several hosts use a queue, each host may occupy all but one of its helpers, and
 * further calls of that host wait here. The next call to submit comes from the host that has used
 * the helpers for the least time. A host that is alone may occupy all helpers.
 *
 * An export has a limited number of calls. Requests that find no free call wait here as well, and
 * hosts take turns in getting a call that becomes free.
 */
#include "dataplane/fuse/server/request/server_fair.h"

/* A queue counts as used by several hosts for this time after two successive calls came from
 * different hosts. */
#define SEVERAL_NS NSEC_PER_SEC

static struct server_fair *fair_of(const struct server_req *q)
{
	const struct server_export *e = q->mount->export;
	struct fuse_server *srv = e->server;

	return &srv->fair[e - srv->exports][q->helper_queue];
}

static struct server_source_queue *queue_of(const struct server_req *q)
{
	const struct server_export *e = q->mount->export;

	return &q->client->from->queues[e - e->server->exports][q->helper_queue];
}

static bool are_several(const struct fuse_server *srv, const struct server_fair *f)
{
	return f->several_ns && srv->now_ns < f->several_ns + SEVERAL_NS;
}

void server_fair_init(struct fuse_server *srv)
{
	for (unsigned i = 0; i < LAUNCH_EXPORTS_MAX; i++)
		for (unsigned k = 0; k < HELPERS_QUEUE_MAX; k++)
			list_init(&srv->fair[i][k].waiting);
	for (unsigned i = 0; i < LAUNCH_EXPORTS_MAX; i++)
		list_init(&srv->call_waits[i]);
}

static bool is_shared(const struct fuse_server *srv, unsigned export_index)
{
	return are_several(srv, &srv->fair[export_index][HELPERS_QUEUE_MAX]);
}

static bool may_have_call(const struct server_source *h, unsigned export_index)
{
	return !is_shared(h->server, export_index) ||
	       h->n_calls[export_index] < HELPERS_CALLS_MAX / 4;
}

struct helper_call *server_fair_call(struct server_req *q)
{
	unsigned i = server_export_index(q->mount->export);
	struct server_source *h = q->client->from;
	struct helper_call *call =
		may_have_call(h, i) ? fs_helper_call_new(h->server->helpers, i) : NULL;

	h->n_calls[i] += call != NULL;
	return call;
}

void server_fair_wait(struct server_req *q)
{
	unsigned i = server_export_index(q->mount->export);
	struct server_source_calls *own = &q->client->from->call_waits[i];
	struct fuse_server *srv = q->client->server;

	q->retry = NULL;
	if (!own->head) {
		own->tail = &own->head;
		list_add_tail(&srv->call_waits[i], &own->node);
	}
	*own->tail = q;
	own->tail = &q->retry;
	srv->n_call_waits++;
}

/* Finds the next host, in turn, that may have a call, and returns its first waiting request. The
 * host then becomes the last one in turn. */
static struct server_req *next_in(struct fuse_server *srv, unsigned export_index)
{
	struct list *waits = &srv->call_waits[export_index];

	for (struct list *l = waits->next; l != waits; l = l->next) {
		struct server_source_calls *own = list_entry(l, struct server_source_calls, node);
		struct server_req *q = own->head;

		if (!may_have_call(own->source, export_index))
			continue;
		own->head = q->retry;
		list_del(&own->node);
		if (own->head)
			list_add_tail(waits, &own->node);
		srv->n_call_waits--;
		return q;
	}
	return NULL;
}

struct server_req *server_fair_next(struct fuse_server *srv)
{
	struct server_req *q = NULL;

	for (unsigned i = 0; i < srv->n_exports && !q; i++)
		if (fs_helper_has_call(srv->helpers, i))
			q = next_in(srv, i);
	return q;
}

enum helpers_queue server_fair_listings(const struct server_req *q)
{
	const struct server_export *e = q->mount->export;

	return is_shared(e->server, server_export_index(e)) ? HELPERS_SLOW : HELPERS_QUICK;
}

static void submit(struct server_req *q)
{
	struct fuse_server *srv = q->client->server;

	queue_of(q)->n_submitted++;
	q->helper_since_ns = srv->now_ns;
	srv->n_helper_calls++;
	fs_helper_submit(srv->helpers, q->helper_call, q->helper_queue);
}

static void note_user(const struct fuse_server *srv, struct server_fair *f,
		      const struct server_source *from)
{
	if (f->last == from)
		return;
	f->several_ns = f->last ? srv->now_ns : 0;
	f->last = from;
}

void server_fair_submit(struct server_req *q, enum helpers_queue queue)
{
	struct fuse_server *srv = q->client->server;
	struct server_source_queue *own;
	struct server_fair *f;

	q->helper_queue = queue;
	q->helper_waits = false;
	own = queue_of(q);
	f = fair_of(q);
	note_user(srv, f, q->client->from);
	note_user(srv, &srv->fair[server_export_index(q->mount->export)][HELPERS_QUEUE_MAX],
		  q->client->from);
	if (!own->head && (!are_several(srv, f) || own->n_submitted + 1 < fs_helper_count(queue))) {
		own->spent_ns = MAX_OF(own->spent_ns, f->spent_ns);
		submit(q);
		return;
	}
	q->helper_waits = true;
	q->retry = NULL;
	if (!own->head) {
		own->tail = &own->head;
		own->spent_ns = MAX_OF(own->spent_ns, f->spent_ns);
		list_add_tail(&f->waiting, &own->node);
	}
	*own->tail = q;
	own->tail = &q->retry;
}

static void remove_from(struct server_source_queue *own, struct server_req **p)
{
	struct server_req *q = *p;

	*p = q->retry;
	if (own->tail == &q->retry)
		own->tail = p;
	q->helper_waits = false;
	if (!own->head)
		list_del(&own->node);
}

/* Returns the waiting host that has used the helpers for the least time. Considers only hosts that
 * may have another call now. Returns NULL if no such host waits. */
static struct server_source_queue *next_of(const struct fuse_server *srv,
					   const struct server_fair *f, unsigned limit)
{
	bool several = are_several(srv, f);
	struct server_source_queue *best = NULL;

	for (struct list *l = f->waiting.next; l != &f->waiting; l = l->next) {
		struct server_source_queue *own = list_entry(l, struct server_source_queue, node);

		if ((!several || own->n_submitted < limit) &&
		    (!best || own->spent_ns < best->spent_ns))
			best = own;
	}
	return best;
}

static void next_submit(struct fuse_server *srv, struct server_fair *f, enum helpers_queue queue)
{
	struct server_source_queue *best;

	while ((best = next_of(srv, f, fs_helper_count(queue) - 1))) {
		struct server_req *q = best->head;

		f->spent_ns = MAX_OF(f->spent_ns, best->spent_ns);
		remove_from(best, &best->head);
		submit(q);
	}
}

void server_fair_returned(struct server_req *q)
{
	struct server_source_queue *own = queue_of(q);

	own->n_submitted--;
	own->spent_ns += MAX_OF(q->client->server->now_ns - q->helper_since_ns, 1000U);
	next_submit(q->client->server, fair_of(q), q->helper_queue);
}

bool server_fair_take(struct server_req *q)
{
	struct server_source_queue *own = queue_of(q);

	if (!q->helper_waits)
		return false;
	for (struct server_req **p = &own->head; *p; p = &(*p)->retry)
		if (*p == q) {
			remove_from(own, p);
			return true;
		}
	return false;
}
