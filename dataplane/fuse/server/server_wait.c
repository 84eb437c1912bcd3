/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts requests: the first requests of each turn at once, all others when it is their host's turn
 * and there is a buffer for the reply. Hosts share the worker's time equally, whatever they
 * request, and the sessions of a host take turns. The worker reads packets again after a bounded
 * amount of work. So requests of one host cannot fill the socket's buffer and delay those of
 * another.
 *
 * While few reply buffers are free, clients that have acknowledged nothing lately share half of
 * them, and silent clients get none. A client that leaves its replies unacknowledged loses their
 * buffers together with its session. While there are other hosts, a host gets at most three
 * quarters of the buffers. If the host uses that many, only clients of this host can lose their
 * buffers.
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "dataplane/fuse/server/objects/server_write_lease.h"
#include "dataplane/fuse/server/request/server_source.h"
#include "dataplane/fuse/server/request/server_steps.h"

/* Interval at which waiting requests are tried again even if nothing has changed. */
#define WAIT_AGAIN_NS NSEC_PER_MSEC
/*
 * Work is counted in units of about five microseconds, which a request of 4 KiB takes. In each turn
 * the worker begins WORK_DIRECT units at once, at most WORK_DIRECT_SHARED of one host if there are
 * several, and then WORK_TURN units of waiting requests. While other hosts wait, a host gets up to
 * WORK_ROUND units in succession.
 */
#define WORK_UNIT_BYTES (16U << 10)
#define WORK_DIRECT 16
#define WORK_DIRECT_SHARED 4
#define WORK_TURN 4
#define WORK_TURN_ALONE 48 /* units of work in a turn while only one host sends requests */
#define WORK_ROUND 2
#define WORK_SHORT 2
#define EXAMINED_PER_UNIT 16U
/* Maximum number of requests of one host that run at the same time in one export. */
#define RUNNING_MAX 512U

static struct fuse_in_header *message_of(struct server_wait *w)
{
	return (struct fuse_in_header *)((uint8_t *)w + BUF_HEADROOM_BYTES);
}

/* Returns whether the host already has as many buffers for replies of that size as it may have
 * while there are other hosts. */
static bool is_at_share(const struct server_source *h, size_t len)
{
	unsigned n_slots, class = buf_pool_class(len, &n_slots);
	const struct list *all = &h->server->sources;

	return h->n_replies[class] >= n_slots - n_slots / 4 && all->next->next != all;
}

/* Decides how many of the buffers for a reply of len bytes the client may use. *ret_trial: only
 * half of them. Returns false if the client gets none now. */
static bool share_of(struct fuse_server_client *c, size_t len, bool *ret_trial)
{
	*ret_trial = false;
	if (PLENUM_UNLIKELY(is_at_share(c->from, len)))
		return false;
	if (PLENUM_LIKELY(!buf_pool_is_scarce(&c->server->answers, len)) || !c->session)
		return true;
	switch (rudp_session_standing(c->session)) {
	case RUDP_STANDING_SILENT:
		return false;
	case RUDP_STANDING_NEW:
		*ret_trial = true;
		return true;
	default:
		return true;
	}
}

static void *buffer_get(struct fuse_server_client *c, size_t len)
{
	bool trial;

	return share_of(c, len, &trial) ? buf_pool_get_as(&c->server->answers, c->peer, trial, len)
					: NULL;
}

/* Starts the request. Returns false if the client gets no reply buffer now. */
static bool start(struct fuse_server_client *c, struct rudp_call *call, struct fuse_in_header *in,
		  size_t len, const struct fuse_server_args *args)
{
	size_t out_max = fuse_server_check_reply_bytes(in);
	uint8_t *data = buffer_get(c, out_max);

	if (data)
		server_req_start(c, call, in, len, args, data, out_max);
	return data != NULL;
}

static void queue_add(struct fuse_server_client *c, struct server_wait *w)
{
	unsigned size = buf_pool_size(w->reply_bytes);
	struct server_waits *own = &c->waits[size];

	w->next = NULL;
	if (c->n_waits++ == 0) {
		list_add_tail(&c->from->waiting, &c->wait_node);
		if (list_empty(&c->from->wait_node))
			list_add_tail(&c->server->wait_sources, &c->from->wait_node);
	}
	if (!own->head)
		own->tail = &own->head;
	*own->tail = w;
	own->tail = &w->next;
	c->from->n_waits[size]++;
	c->server->n_wait++;
}

/* Removes the request *p from the queue c->waits[size]. */
static void queue_remove(struct fuse_server_client *c, unsigned size, struct server_wait **p)
{
	struct server_wait *w = *p;

	*p = w->next;
	if (c->waits[size].tail == &w->next)
		c->waits[size].tail = p;
	c->from->n_waits[size]--;
	c->server->n_wait--;
	if (--c->n_waits > 0)
		return;
	list_del(&c->wait_node);
	if (list_empty(&c->from->waiting))
		list_del(&c->from->wait_node);
}

static void wait_add(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len,
		     uint64_t arrived_ns)
{
	struct server_wait *w = (struct server_wait *)((uint8_t *)buf - BUF_HEADROOM_BYTES);

	*w = (struct server_wait){
		.client = c,
		.call = call,
		.len = len,
		.reply_bytes = fuse_server_check_reply_bytes(buf),
		.number = c->server->n_waited++,
		.arrived_ns = arrived_ns,
	};
	queue_add(c, w);
	c->server->wait_due = true;
}

/* Returns the link to the client's waiting request `unique`, or NULL if it does not wait. */
static struct server_wait **client_find(struct fuse_server_client *c, uint64_t unique,
					unsigned *ret_size)
{
	for (unsigned size = 0; size < BUF_SIZES; size++)
		for (struct server_wait **p = &c->waits[size].head; *p; p = &(*p)->next)
			if ((message_of(*p)->unique & ~FUSE_PROTO_UNIQUE_RESEND) == unique) {
				*ret_size = size;
				return p;
			}
	return NULL;
}

/* Removes the waiting request `unique` of the mount from the queue of any of its clients. Returns
 * NULL if it does not wait. */
static struct server_wait *wait_remove(const struct server_mount *m, uint64_t unique)
{
	for (struct fuse_server_client *c = m->server->clients; c; c = c->next) {
		unsigned size;
		struct server_wait **p, *w;

		if (c->mount != m || c->n_waits == 0)
			continue;
		p = client_find(c, unique, &size);
		if (!p)
			continue;
		w = *p;
		queue_remove(c, size, p);
		return w;
	}
	return NULL;
}

static bool wait_move(struct fuse_server_client *c, struct rudp_call *call, uint64_t unique,
		      struct rudp_call **ret_former)
{
	struct server_wait *w = wait_remove(c->mount, unique);

	if (!w)
		return false;
	*ret_former = w->call;
	w->call = call;
	w->client = c;
	queue_add(c, w);
	return true;
}

void *server_wait_take(const struct server_mount *m, uint64_t unique, struct server_wait *ret)
{
	struct server_wait *w = wait_remove(m, unique);

	if (!w)
		return NULL;
	*ret = *w;
	return message_of(w);
}

static void drop_from(struct fuse_server *srv, struct fuse_server_client *c, unsigned size,
		      const struct rudp_call *call)
{
	struct server_wait **p = &c->waits[size].head;

	while (*p) {
		struct server_wait *w = *p;

		if (call && w->call != call) {
			p = &w->next;
			continue;
		}
		queue_remove(c, size, p);
		buf_pool_put(&srv->requests, message_of(w));
	}
}

void server_wait_drop(struct fuse_server *srv, struct fuse_server_client *c,
		      const struct rudp_call *call)
{
	for (unsigned size = 0; size < BUF_SIZES; size++)
		drop_from(srv, c, size, call);
}

/* If the same request is still running, redirects its reply to this call and returns true. */
static bool req_adopt(struct fuse_server_client *c, struct rudp_call *call,
		      const struct fuse_in_header *in)
{
	struct fuse_server *srv = c->server;
	uint64_t unique = in->unique & ~FUSE_PROTO_UNIQUE_RESEND;
	struct rudp_call *former;

	for (struct server_req *q = srv->active; q; q = q->next) {
		if (q->mount != c->mount || q->unique != unique)
			continue;
		if (q->call)
			server_call_end(q->call);
		q->call = call;
		q->bulk_stale = true;
		rudp_call_set_user(call, q);
		return true;
	}
	if (!wait_move(c, call, unique, &former))
		return false;
	server_call_end(former);
	rudp_call_set_user(call, NULL);
	return true;
}

/* Returns whether the request must start at once: it prepares a session, or requests of other
 * clients wait for it, and other requests depend on it. */
static bool is_urgent(const struct fuse_server_client *c, const struct fuse_in_header *in,
		      const struct fuse_server_args *args)
{
	return in->opcode == FUSE_INIT || in->opcode == FUSE_DESTROY ||
	       args->flags & FUSE_PROTO_REQ_REOPEN ||
	       (args->flags & FUSE_PROTO_REQ_HELD && server_write_lease_is_held(c, args));
}

static int work_of(size_t len, size_t reply_bytes)
{
	return 1 + (int)((len + reply_bytes) / WORK_UNIT_BYTES);
}

static bool may_run(const struct fuse_server_client *c)
{
	return c->from->n_running[server_export_index(c->mount->export)] < RUNNING_MAX;
}

/* Returns whether the host may still begin work at once in this turn. The limit holds while several
 * hosts send short requests: a packet of one host then waits for little work of another. */
static bool has_direct_share(struct server_source *h)
{
	struct fuse_server *srv = h->server;

	if (h->begun_in_turn != srv->n_turns) {
		h->begun_in_turn = srv->n_turns;
		h->work_begun = 0;
	}
	return h->work_begun < WORK_DIRECT_SHARED || !server_steps_shared(srv);
}

static bool starts_at_once(struct fuse_server_client *c, const struct fuse_in_header *in,
			   size_t len, const struct fuse_server_args *args)
{
	struct fuse_server *srv = c->server;
	int work;

	if (is_urgent(c, in, args))
		return true;
	if (srv->work_begun >= WORK_DIRECT || !list_empty(&c->from->waiting) || !may_run(c) ||
	    !has_direct_share(c->from))
		return false;
	work = work_of(len, fuse_server_check_reply_bytes(in));
	srv->work_begun += work;
	c->from->work_begun += work;
	return true;
}

void server_req_take(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len,
		     const struct fuse_server_args *args)
{
	struct fuse_server *srv = c->server;
	struct fuse_in_header *in = buf;

	if (work_of(len, fuse_server_check_reply_bytes(in)) <= WORK_SHORT)
		server_steps_note(c->from);
	if (in->unique & FUSE_PROTO_UNIQUE_RESEND && req_adopt(c, call, in)) {
		buf_pool_put(&srv->requests, buf);
		return;
	}
	if (!starts_at_once(c, in, len, args) || !start(c, call, in, len, args))
		wait_add(c, call, buf, len, args->arrived_ns);
}

/* One turn of the worker in which waiting requests are started. */
struct wait_turn {
	int work_left;
	unsigned n_examined, n_started;
	bool is_short; /* whether only few reply buffers are free */
	bool host_is_short;
};

static bool turn_is_over(const struct wait_turn *t)
{
	return t->work_left <= (int)(t->n_examined / EXAMINED_PER_UNIT);
}

/* Returns whether a reply buffer of this range of sizes is free for the client. If not, records the
 * shortage. */
static bool has_room(struct fuse_server_client *c, unsigned size, struct wait_turn *t)
{
	struct fuse_server *srv = c->server;
	size_t len = buf_pool_size_bytes(size);
	bool trial;

	if (is_at_share(c->from, len)) {
		c->from->short_ns = srv->now_ns;
		t->host_is_short = true;
		return false;
	}
	if (!share_of(c, len, &trial))
		return false;
	if (buf_pool_fits_as(&srv->answers, c->peer, trial, len))
		return true;
	t->is_short |= buf_pool_is_short(&srv->answers, trial, len);
	return false;
}

/* Starts the client's first request for which there is a reply buffer. So a request with a smaller
 * reply may overtake one with a larger reply. Checks only the first request of each range of sizes,
 * because reading more requests would cause cache misses. Returns how much work the request counts
 * as; 0: no request was started. */
static int client_start(struct fuse_server_client *c, struct wait_turn *t)
{
	struct server_wait *first = NULL, w;
	struct fuse_server_args args;
	struct fuse_in_header *in;
	unsigned first_size = 0;

	t->n_examined++;
	if (!may_run(c))
		return 0;
	for (unsigned size = 0; size < BUF_SIZES; size++) {
		struct server_wait *head = c->waits[size].head;

		if (!head || !has_room(c, size, t) || (first && first->number < head->number))
			continue;
		first = head;
		first_size = size;
	}
	if (!first)
		return 0;
	w = *first;
	in = message_of(first);
	/* Remove the request from the queue before starting it: a request that ends at once calls
	 * this function again. */
	queue_remove(c, first_size, &c->waits[first_size].head);
	(void)fuse_server_check(in, w.len, &args); /* cannot fail, because the request passed the
						      same check when it arrived */
	args.arrived_ns = w.arrived_ns;
	start(c, w.call, in, w.len, &args);
	return work_of(w.len, w.reply_bytes);
}

/* Returns whether all waiting requests of the host must wait for buffers, because the host already
 * has its share of the buffers for replies of their sizes. */
static bool is_blocked(struct server_source *h, struct wait_turn *t)
{
	for (unsigned size = 0; size < BUF_SIZES; size++)
		if (h->n_waits[size] > 0 && !is_at_share(h, buf_pool_size_bytes(size)))
			return false;
	h->short_ns = h->server->now_ns;
	t->host_is_short = true;
	return true;
}

/* Starts one request of the host; the host's sessions take turns. Returns the same values as
 * client_start(). */
static int host_start(struct server_source *h, struct wait_turn *t)
{
	struct list *end = h->waiting.prev;
	bool last = is_blocked(h, t);

	while (!last && !list_empty(&h->waiting) && !turn_is_over(t)) {
		struct list *l = h->waiting.next;
		struct fuse_server_client *c = list_entry(l, struct fuse_server_client, wait_node);
		int work;

		last = l == end;
		list_del(l);
		list_add_tail(&h->waiting, l);
		work = client_start(c, t);
		if (work > 0)
			return work;
	}
	return 0;
}

/* Starts a request of the host. Returns true if it has started a request, or may start one in a
 * later round of the same turn. */
static bool host_run(struct server_source *h, struct wait_turn *t, bool alone)
{
	bool any = false;

	h->work_credit = alone ? WORK_ROUND : MIN_OF(h->work_credit + WORK_ROUND, WORK_ROUND);
	if (h->work_credit <= 0)
		return true;
	while (h->work_credit > 0 && !turn_is_over(t)) {
		int work = host_start(h, t);

		if (work == 0)
			break;
		h->work_credit -= work;
		t->work_left -= work;
		t->n_started++;
		any = true;
	}
	return any;
}

/* Gives each waiting host its share of one round. Returns false if no further request can start in
 * this turn. */
static bool round_run(struct fuse_server *srv, struct wait_turn *t)
{
	unsigned n = 0, n_hosts;
	bool any = false;

	for (struct list *l = srv->wait_sources.next; l != &srv->wait_sources; l = l->next)
		n++;
	for (n_hosts = n; n > 0 && !list_empty(&srv->wait_sources) && !turn_is_over(t); n--) {
		struct server_source *h =
			list_entry(srv->wait_sources.next, struct server_source, wait_node);

		list_del(&h->wait_node);
		list_add_tail(&srv->wait_sources, &h->wait_node);
		any |= host_run(h, t, n_hosts == 1);
	}
	return any;
}

unsigned server_wait_run(struct fuse_server *srv, uint64_t now_ns)
{
	struct wait_turn t = {.work_left = server_steps_shared(srv) ? WORK_TURN : WORK_TURN_ALONE};

	srv->work_begun = 0;
	srv->n_turns++;
	if (srv->n_wait == 0 || (!srv->wait_due && now_ns < srv->wait_again_ns))
		return 0;
	srv->wait_due = false;
	srv->wait_again_ns = now_ns + WAIT_AGAIN_NS;
	while (!turn_is_over(&t) && round_run(srv, &t))
		t.is_short = false;
	if (t.is_short)
		srv->short_ns = now_ns;
	if (t.is_short || t.host_is_short)
		rudp_responses_short(srv->rudp);
	srv->wait_due |= turn_is_over(&t);
	return t.n_started;
}
