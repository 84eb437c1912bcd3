/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The role of a compute worker: one fuse_server serves all exports, and each session is one of its
 * clients.
 */
#include "dataplane/fuse/server/fuse_server.h"
#include "dataplane/worker/roles/worker_refused.h"
#include "dataplane/worker/worker.h"
#include "dataplane/worker/worker_identity.h"
#include "netcfg/base/log.h"
#include "netcfg/base/reason.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

/*
 * A refused client retries at least every five seconds. So if the server has refused no client for
 * this time, no client is waiting for a session.
 */
#define FULL_NS (11 * NSEC_PER_SEC)

struct compute_end {
	struct fuse_server *back;
	struct reason reported; /* the file server's reason that was reported last */
	uint64_t full_ns; /* when a client was last refused because no session was free; 0: never,
			     or long ago */
	struct worker_refused refused;
};

static struct compute_end *end_of(const struct worker *w)
{
	return w->end;
}

static struct fuse_server *server_of(const struct worker *w)
{
	return end_of(w)->back;
}

/* ------------------------------------------------------------------ memory for clients */

/* Reports to the operator of this host that clients are refused because no session is free. Reports
 * it only once while clients retry. */
static void full_report(struct worker *w)
{
	struct compute_end *end = end_of(w);
	bool is_new = end->full_ns == 0;

	end->full_ns = w->now_ns;
	if (!is_new)
		return;
	snprintf(w->peer_why, sizeof(w->peer_why),
		 "server-full: the worker serves %u mounts, as many as its sessions allow; other "
		 "mounts are refused",
		 launch_sessions(w->cfg));
	worker_reason_publish(w);
	log_warning("%s", w->peer_why);
	worker_send(w, LAUNCH_MSG_EVENT, LAUNCH_EVENT_DEGRADED, 0, w->peer_why);
}

/* Adds to the refusal a word that says why the server does not believe the client's name. Without
 * the word, the client could not distinguish this refusal from that of an export whose rules do not
 * match. */
static int claim_refuse(struct rudp_session *s, const struct ip_addr *from, int error)
{
	char ip[IP_ADDR_STR_MAX];

	ip_addr_format(from, ip, sizeof(ip));
	rudp_session_refuse_with(s, error == -EDESTADDRREQ ? WORKER_PEER_UNLISTED : ip);
	return -EACCES;
}

/* Updates the list of refused clients. */
static void refused_note(struct worker *w, const struct ip_addr *from, int error)
{
	const struct fuse_server_asked *q = fuse_server_asked(server_of(w));
	struct worker_refused *r = &end_of(w)->refused;

	if (q && error == 0)
		worker_refused_drop(w, r, q);
	else if (q)
		worker_refused_add(w, r, q, from, error, "");
}

/* Forgets refusals for lack of sessions if they are long ago. Returns when to check again. */
static uint64_t full_forget(struct worker *w)
{
	struct compute_end *end = end_of(w);

	if (end->full_ns == 0)
		return UINT64_MAX;
	if (w->now_ns < end->full_ns + FULL_NS)
		return end->full_ns + FULL_NS;
	end->full_ns = 0;
	/* reason_look() then publishes the server's own reason, if there is one. */
	reason_clear(&end->reported);
	w->peer_why[0] = '\0';
	worker_reason_publish(w);
	return UINT64_MAX;
}

/* Publishes the server's own reason, unless clients are refused for lack of sessions. */
static void reason_look(struct worker *w)
{
	const struct reason *now = fuse_server_reason(server_of(w));
	struct compute_end *end = end_of(w);
	bool is_new = reason_is_set(now) && strcmp(now->code, end->reported.code) != 0;

	if (end->full_ns || reason_equal(now, &end->reported))
		return;
	end->reported = *now;
	reason_format(now, w->peer_why, sizeof(w->peer_why));
	worker_reason_publish(w);
	if (!is_new)
		return;
	log_warning("%s", w->peer_why);
	worker_send(w, LAUNCH_MSG_EVENT, LAUNCH_EVENT_DEGRADED, 0, w->peer_why);
}

/* ------------------------------------------------------------------ rudp's callbacks */

static void *on_buf_get(void *user, struct rudp_session *s, bool is_response, uint64_t cookie,
			size_t len)
{
	/* A server sends no requests, so it gets no responses and needs no buffers for any. */
	return is_response ? NULL : fuse_server_buf_get(server_of(user), fuse_server_peer(s), len);
}

static void on_buf_put(void *user, struct rudp_session *s, void *buf)
{
	fuse_server_buf_put(server_of(user), buf);
}

static void on_request(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
		       size_t len)
{
	const struct worker *w = user;

	fuse_server_request(rudp_session_user(s), call, buf, len, w->now_ns);
}

static void on_call_gone(void *user, struct rudp_session *s, struct rudp_call *call)
{
	fuse_server_call_cancelled(rudp_session_user(s), call);
}

static void on_sent(void *user, struct rudp_session *s, void *token)
{
	fuse_server_sent(server_of(user), token);
}

static bool on_may_end(void *user, struct rudp_session *s)
{
	const struct fuse_server_client *client = rudp_session_user(s);

	return !client || fuse_server_client_may_end(client);
}

/* Checks that the client is the host that its hello names. */
static int on_identify(void *user, const struct datagram_addr *from, const void *hello, size_t len,
		       const struct rudp_proof *proof, struct rudp_peer *ret)
{
	struct fuse_server_asked q;
	struct worker *w = user;
	int e;

	if (fuse_server_read_asked(hello, len, &q) < 0)
		return 0; /* fuse_server_accept() refuses it */
	e = worker_identity_check(w->cfg, proof, q.host, true, ret);
	if (e < 0)
		worker_refused_add(w, &end_of(w)->refused, &q, &from->ip, e, ret->word);
	return e;
}

static int on_accept(void *user, struct rudp_session *s, const void *hello, size_t len,
		     void **ret_user)
{
	struct fuse_server_client *client;
	struct worker *w = user;
	struct datagram_addr from;
	int e;

	rudp_session_from(s, &from);
	e = fuse_server_accept(server_of(w), s, &from.ip, hello, len, &client);
	if (e < 0 || end_of(w)->refused.n > 0)
		refused_note(w, &from.ip, e);
	if (e == 0)
		*ret_user = client;
	else if (e == -EREMCHG)
		rudp_session_refuse_with(s, w->cfg->host);
	else if (e == -EREMOTE)
		rudp_session_refuse_with(s, fuse_server_elsewhere(server_of(w)));
	else if (e == -EADDRNOTAVAIL || e == -EDESTADDRREQ)
		e = claim_refuse(s, &from.ip, e);
	else if (e == -ENOSPC)
		full_report(w);
	/* EDQUOT only refuses mount workers, while a mount still gets a session, so do not report
	 * that to the operator. */
	return e == -EDQUOT ? -ENOSPC : e;
}

/* Informs the file server that a path is down, so that bulk data does not wait for the path's
 * leg. */
static void path_down(struct rudp_session *s, struct fuse_server_client *client, unsigned path)
{
	struct rudp_path_info info[RUDP_PATHS_MAX];

	if (path < rudp_session_paths(s, info, RUDP_PATHS_MAX))
		fuse_server_path_down(client, info[path].port);
}

static void on_event(void *user, struct rudp_session *s, enum rudp_event e, unsigned path, int code)
{
	void *client = rudp_session_user(s);

	worker_report(user, s, e, path, code);
	if (e == RUDP_PATH_DOWN && client)
		path_down(s, client, path);
	if (e == RUDP_SESSION_CLOSED && client)
		fuse_server_client_gone(client);
}

static const struct rudp_ops compute_ops = {
	.tx = worker_tx,
	.tx_flush = worker_tx_flush,
	.buf_get = on_buf_get,
	.buf_put = on_buf_put,
	.request = on_request,
	.call_gone = on_call_gone,
	.sent = on_sent,
	.identify = on_identify,
	.accept = on_accept,
	.may_end = on_may_end,
	.event = on_event,
};

/* ------------------------------------------------------------------ lifetime */

static int compute_build(struct worker *w, struct reason *why)
{
	struct compute_end *end = calloc(1, sizeof(*end));
	int e = -ENOMEM;

	w->end = end;
	if (end)
		e = fuse_server_new(w->cfg, w->rudp, w->stats, worker_hold, w, w->sandbox.helper,
				    w->sandbox.boot, &end->back);
	if (e < 0)
		reason_set_text(why, "cannot serve the exports: %s", strerror(-e));
	else
		fuse_server_rdma(end->back, w->rdma);
	if (e == 0)
		fuse_server_lock_records(end->back, worker_send_lock, w);
	return e;
}

static void compute_rdma_came(struct worker *w)
{
	fuse_server_rdma(end_of(w)->back, w->rdma);
}

/* Leaves the sessions open: clients keep them, and reconnect to the successor. */
static void compute_end_sessions(struct worker *w)
{
	for (struct rudp_session *s = rudp_session_next(w->rudp, NULL); s;
	     s = rudp_session_next(w->rudp, s))
		if (rudp_session_user(s))
			fuse_server_client_gone(rudp_session_user(s));
}

static void compute_free(struct worker *w)
{
	if (w->end)
		fuse_server_free(server_of(w));
	free(w->end);
	w->end = NULL;
}

/* Ends this worker because a helper process has died. The agent starts a new worker, with new
 * helpers. */
static void helper_gone(struct worker *w)
{
	log_err("an I/O helper process has exited");
	w->exit_status = EXIT_FAILURE;
	w->stopped = true;
}

static void compute_watch(struct worker *w)
{
	worker_watch(w, fuse_server_fd(server_of(w)), WORKER_SOURCE_ROLE, EPOLLIN);
	worker_watch(w, fuse_server_helpers_fd(server_of(w)), WORKER_SOURCE_ROLE, EPOLLIN);
}

static unsigned compute_begin(struct worker *w)
{
	return fuse_server_begin(server_of(w), w->now_ns);
}

static unsigned compute_turn(struct worker *w)
{
	int n = fuse_server_poll(server_of(w), w->now_ns, false);

	if (PLENUM_UNLIKELY(n == -EPIPE))
		helper_gone(w);
	return n > 0 ? (unsigned)n : 0;
}

static bool compute_arm(struct worker *w)
{
	return fuse_server_arm(server_of(w));
}

static uint64_t compute_tick(struct worker *w)
{
	uint64_t due = MIN_OF(fuse_server_due_ns(server_of(w), w->now_ns), full_forget(w)),
		 due_ping;
	struct launch_ping ping;

	due = MIN_OF(due, worker_refused_tick(w, &end_of(w)->refused));
	reason_look(w);
	if (fuse_server_ping_take(server_of(w), w->now_ns, &ping, &due_ping))
		worker_send_ping(w, &ping);
	return MIN_OF(due, due_ping);
}

/* Begins an RDMA test with a mount of that client that has queue pairs. */
static int compute_ping(struct worker *w, const struct launch_ping *p)
{
	enum port_rdma_reason why = PORT_RDMA_OK;
	struct launch_ping none = *p;
	int r = -ENOTCONN;

	for (struct rudp_session *s = rudp_session_next(w->rudp, NULL); s && r != 0;
	     s = rudp_session_next(w->rudp, s)) {
		struct fuse_server_client *client = rudp_session_user(s);

		if (client && strcmp(fuse_server_client_host(client), p->peer) == 0)
			r = fuse_server_ping(client, p, w->now_ns, &why);
		if (r == -EBUSY)
			break;
	}
	if (r != -ENOTSUP)
		return r;
	none.status = r;
	none.done = 0;
	snprintf(none.reason, sizeof(none.reason), "%s", port_rdma_reason_code(why));
	worker_send_ping(w, &none);
	return 0;
}

static void compute_lock_break(struct worker *w, uint64_t id)
{
	int r = fuse_server_lock_break(server_of(w), id);
	char text[LAUNCH_REASON_MAX];

	if (r == 0)
		snprintf(text, sizeof(text),
			 "file lock %" PRIx64 " is broken: it is free when earlier requests of its "
			 "mount have ended",
			 id);
	else
		snprintf(text, sizeof(text), "file lock %" PRIx64 " cannot be broken: %s", id,
			 r == -ENOENT	  ? "it is no longer held"
			 : r == -EALREADY ? "it is broken already"
			 : r == -EAGAIN	  ? "its program only waits for it"
			 : r == -ENOSPC	  ? "too many locks of its mount are being broken; retry"
					  : "another worker keeps the table of locks; retry");
	log_warning("%s", text);
	worker_send(w, LAUNCH_MSG_EVENT, LAUNCH_EVENT_LOCK, 0, text);
}

static void compute_lock_answer(struct worker *w, const struct launch_msg *m)
{
	fuse_server_lock_answer(server_of(w), m);
}

static unsigned compute_left(struct worker *w)
{
	return fuse_server_in_flight(server_of(w));
}

static void compute_rdma_bytes(const struct worker *w, const struct rudp_session *s, unsigned port,
			       uint64_t *ret_read, uint64_t *ret_write)
{
	const struct fuse_server_client *client = rudp_session_user(s);

	if (client)
		fuse_server_rdma_bytes(client, port, ret_read, ret_write);
}

static uint64_t compute_serves(const struct worker *w, const struct rudp_session *s)
{
	const struct fuse_server_client *client = rudp_session_user(s);

	return client ? fuse_server_client_export(client) : LAUNCH_SERVES_NONE;
}

static void compute_describe(const struct worker *w, const struct rudp_session *s,
			     struct launch_session *e)
{
	const struct fuse_server_client *client = rudp_session_user(s);

	if (client)
		fuse_server_describe(client, w->now_ns, &e->in_flight, &e->waiting, &e->lease_ns);
}

static void compute_publish(struct worker *w)
{
	fuse_server_publish(server_of(w));
	worker_refused_publish(w, &end_of(w)->refused);
}

static const char *compute_peer_name(const struct worker *w, const struct rudp_session *s)
{
	const struct fuse_server_client *client = rudp_session_user(s);

	return client ? fuse_server_client_host(client) : "";
}

static void compute_adopted(struct worker *w)
{
	fuse_server_pin_again(server_of(w));
}

const struct worker_role worker_role_compute = {
	.name = "compute",
	.sandbox = SANDBOX_FILES,
	.ops = &compute_ops,
	.build = compute_build,
	.watch = compute_watch,
	.begin = compute_begin,
	.turn = compute_turn,
	.arm = compute_arm,
	.tick = compute_tick,
	.rdma_came = compute_rdma_came,
	.ping = compute_ping,
	.lock_break = compute_lock_break,
	.lock_answer = compute_lock_answer,
	.left = compute_left,
	.rdma_bytes = compute_rdma_bytes,
	.serves = compute_serves,
	.describe = compute_describe,
	.publish = compute_publish,
	.peer_name = compute_peer_name,
	.adopted = compute_adopted,
	.end_sessions = compute_end_sessions,
	.free = compute_free,
};
