/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA tests that an operator starts (`plenum rdma ping`), at the client. The client offers a
 * buffer to the server, which reads or writes it repeatedly and reports how long that took. The
 * client must not use the buffer for anything else until the server has answered, or has no queue
 * pair any more by which it could reach the buffer.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"
#include "dataplane/fuse/proto/fuse_ping.h"

#include <string.h>

#define PING_HEAD sizeof(((struct client_ping_msg *)0)->head)
#define BUSY_WAIT_NS (5 * NSEC_PER_MSEC)
/* How long a test waits for a queue pair. Connecting a pair takes less time. */
#define PAIR_WAIT_NS (3 * NSEC_PER_SEC)
/* Pause after a request, as a multiple of the request's duration. The server refuses a request that
 * comes sooner. */
#define RESTS 3U
#define WISH_REST_NS NSEC_PER_SEC /* pause between two tests that the server has requested */

static void ping_over(struct fuse_client *f, int status, const char *reason, uint64_t now_ns)
{
	struct client_ping *p = &f->ping;

	if (p->over)
		return;
	p->over = true;
	/* The client has already paused after each request of the test. A test that the server has
	 * requested needs only a short pause after it: a longer one would only delay the server's
	 * next test. */
	if (p->is_servers)
		p->pause_until_ns = now_ns + WISH_REST_NS;
	fuse_ping_end(&p->run, p->each_ns, status, reason);
}

static void buf_free(struct fuse_client *f)
{
	struct client_ping *p = &f->ping;

	if (p->buf)
		client_pool_put(&f->pool, p->buf, p->buf_bytes);
	p->buf = NULL;
	p->buf_bytes = 0;
}

int fuse_client_ping(struct fuse_client *f, const struct launch_ping *ask, uint64_t now_ns)
{
	struct client_ping *p = &f->ping;

	/* A test by an operator of this host takes precedence over a test that the server
	 * requested. */
	if (p->run.id && !p->is_servers)
		return -EBUSY;
	/* A pending request of an earlier test still uses the buffer. So this test begins only
	 * after the answer to that request. */
	if (!p->buf)
		p->buf = client_pool_get(&f->pool, CLIENT_READ_RESERVE, 0);
	if (!p->buf)
		return -EBUSY;
	p->buf_bytes = MAX_OF(p->buf_bytes, ask->bytes);
	p->is_stale = p->waits;
	fuse_ping_begin(&p->run, ask);
	p->over = p->is_servers = false;
	p->due_ns = now_ns;
	p->until_ns = now_ns + LAUNCH_PING_S_MAX * NSEC_PER_SEC;
	return 0;
}

bool fuse_client_ping_take(struct fuse_client *f, struct launch_ping *ret)
{
	struct client_ping *p = &f->ping;

	if (!p->run.id || !p->over)
		return false;
	*ret = p->run;
	p->run.id = 0;
	if (!p->waits)
		buf_free(f);
	return !p->is_servers;
}

/* Begins a test that the server requested, unless another test runs. In that case, the server
 * requests its test again. */
static void requested_begin(struct fuse_client *f, uint64_t now_ns)
{
	struct client_ping *p = &f->ping;
	const struct launch_ping order = p->order;
	const bool busy = p->run.id || p->waits;

	if (!order.id || (!busy && now_ns < p->pause_until_ns))
		return;
	p->order.id = 0;
	if (!busy && fuse_client_ping(f, &order, now_ns) == 0)
		p->is_servers = true;
}

/* Sends the next request of the test. Returns 0, or a negative errno if sending is impossible
 * now. */
static int ping_send(struct fuse_client *f, uint64_t now_ns)
{
	struct client_ping *p = &f->ping;
	const struct fuse_proto_ping ask = {
		.version = FUSE_PROTO_PING_VERSION,
		.leg = (uint8_t)p->run.port,
		.what = p->run.what == LAUNCH_PING_IN ? FUSE_PROTO_PING_WRITE
						      : FUSE_PROTO_PING_READ,
		.depth = (uint8_t)p->run.depth,
		.count = MIN_OF(p->run.count - p->run.done, (uint32_t)FUSE_PROTO_PING_COUNT_MAX),
		.len = p->run.bytes,
		.addr = client_pool_bulk_addr(&f->pool, p->buf)};

	p->msg = (struct client_ping_msg){
		.in = {.opcode = FUSE_PROTO_RDMA_PING, .len = sizeof(p->msg.in) + PING_HEAD}};
	memcpy(p->msg.head, &ask, PING_HEAD);
	p->serial = f->rdma.serial;
	p->asked = ask;
	p->sent_ns = now_ns;
	return rudp_call_send(f->session, &p->msg, p->msg.in.len, CLIENT_COOKIE_PING);
}

static uint64_t ping_due(struct fuse_client *f, uint64_t now_ns)
{
	struct client_ping *p = &f->ping;
	enum port_rdma_reason why;

	requested_begin(f, now_ns);
	if (!p->run.id || p->over)
		return p->order.id ? p->pause_until_ns : UINT64_MAX;
	if (now_ns >= p->until_ns) {
		ping_over(f, -ETIMEDOUT, "", now_ns);
		return now_ns;
	}
	if (p->waits)
		return p->until_ns;
	if (now_ns < p->due_ns)
		return p->due_ns;
	why = fuse_client_rdma_reason(f, p->run.port);
	/* Wait, because the queue pair is being connected, or because no path to the server is
	 * up. */
	if (f->link == CLIENT_READY &&
	    (why == PORT_RDMA_OK || client_rdma_is_asking(f, p->run.port)) &&
	    !(port_rdma_ready(f->rdma.peer) >> p->run.port & 1)) {
		if (now_ns + LAUNCH_PING_S_MAX * NSEC_PER_SEC < p->until_ns + PAIR_WAIT_NS) {
			p->due_ns = now_ns + BUSY_WAIT_NS;
			return p->due_ns;
		}
		why = PORT_RDMA_PEER;
	}
	if (f->link != CLIENT_READY)
		ping_over(f, -ENOTCONN, "", now_ns);
	else if (why != PORT_RDMA_OK)
		ping_over(f, -ENOTSUP, port_rdma_reason_code(why), now_ns);
	else if (ping_send(f, now_ns) == 0)
		p->waits = true;
	else
		p->due_ns = now_ns + BUSY_WAIT_NS;
	return p->over ? now_ns : p->waits ? p->until_ns : p->due_ns;
}

/* Checks the server's answer. Returns 0 with the answer in *ret, or a negative errno. */
static int answer_read(const struct client_ping *p, const void *msg, size_t len,
		       struct fuse_proto_ping *ret)
{
	struct fuse_out_header out;
	size_t body;

	if (len < sizeof(out))
		return -EPROTO;
	memcpy(&out, msg, sizeof(out));
	if (out.len != len)
		return -EPROTO;
	if (out.error < 0) /* EIO: the server does not know the request */
		return out.error == -EIO || out.error == -ENOSYS ? -ENOTSUP : -EAGAIN;
	body = len - sizeof(out);
	if (body < PING_HEAD || body > sizeof(*ret))
		return -EPROTO;
	memcpy(ret, (const uint8_t *)msg + sizeof(out), body);
	if (ret->version != FUSE_PROTO_PING_VERSION || ret->leg != p->asked.leg ||
	    ret->status >= FUSE_PROTO_PING_STATUS_MAX || ret->count > p->asked.count ||
	    body != PING_HEAD + ret->count * sizeof(ret->each_ns[0]))
		return -EPROTO;
	return 0;
}

/* Adds the results in the server's answer to the results of the test. The pause before the next
 * request depends on the time that this client measured, not on the duration that the server
 * reports. */
static void answer_add(struct client_ping *p, const struct fuse_proto_ping *a, uint64_t now_ns)
{
	memcpy(&p->each_ns[p->run.done], a->each_ns, a->count * sizeof(a->each_ns[0]));
	p->run.done += a->count;
	p->run.took_ns += a->count ? a->took_ns : 0;
	p->due_ns = now_ns + (a->status == FUSE_PROTO_PING_BUSY || a->count == 0
				      ? BUSY_WAIT_NS
				      : MIN_OF(RESTS * (now_ns - p->sent_ns), NSEC_PER_SEC));
}

static void ping_answer(struct fuse_client *f, const void *msg, size_t len, uint64_t now_ns)
{
	struct fuse_proto_ping a = {.version = 0};
	struct client_ping *p = &f->ping;
	int r = p->waits ? answer_read(p, msg, len, &a) : -EPROTO;
	const bool is_stale = p->is_stale;

	if (!p->waits)
		return;
	p->waits = p->is_stale = false;
	/* Drop the queue pair also after an invalid answer, because its state is then unknown. */
	if (r == -EPROTO || (r == 0 && a.status == FUSE_PROTO_PING_FAILED))
		client_rdma_pair_failed(f, p->asked.leg, p->serial);
	if (is_stale) /* the test of this request has ended before, and the buffer belongs to the
			 next test */
		goto out;
	if (p->run.id && !p->over && r == 0)
		answer_add(p, &a, now_ns);
	if (r < 0)
		ping_over(f, r, r == -ENOTSUP ? port_rdma_reason_code(PORT_RDMA_PEER) : "", now_ns);
	else if (a.status == FUSE_PROTO_PING_FAILED)
		ping_over(f, -EIO, port_rdma_reason_code(PORT_RDMA_FAILED), now_ns);
	else if (p->run.done == p->run.count)
		ping_over(f, 0, "", now_ns);
out:
	if (!p->run.id)
		buf_free(f);
}

static void ping_down(struct fuse_client *f, uint64_t now_ns)
{
	struct client_ping *p = &f->ping;

	p->waits = p->is_stale = false;
	p->order.id = 0;
	if (p->run.id)
		ping_over(f, -ENOTCONN, "", now_ns);
	else
		buf_free(f);
}

/* The stage is active even without RDMA, so that a test ends with the reason why RDMA is
 * unavailable. */
const struct client_stage client_ping_stage = {
	.cookie = CLIENT_COOKIE_PING,
	.resp_at = offsetof(struct fuse_client, ping.resp),
	.resp_bytes = sizeof(((struct fuse_client *)0)->ping.resp),
	.answer = ping_answer,
	.due = ping_due,
	.down = ping_down,
};
