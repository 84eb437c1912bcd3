/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client end: requests from the kernel go to the peer, answers go back. What it is made of has
 * files of its own: slots, buffers, the kernel's INIT.
 */
#include "dataplane/fuse/fuse_front.h"
#include "dataplane/fuse/fuse_front_internal.h"
#include "dataplane/fuse/fuse_hello.h"

#include <fcntl.h>
#include <string.h>

#define FRONT_PULL_BURST 64
#define FRONT_READ_BYTES FRONT_POOL_BUF_BYTES
#define FRONT_COOKIE_HELLO UINT64_MAX
#define FRONT_COOKIE_BYE (UINT64_MAX - 1)
#define FRONT_HELLO_RETRY_NS NSEC_PER_SEC
#define FRONT_TRIM_NS NSEC_PER_SEC

static int front_connect(struct fuse_front *f, const struct launch_config *cfg,
			 const struct launch_mount *m, uint64_t now_ns)
{
	struct datagram_addr addrs[LAUNCH_PEER_ADDRS_MAX];
	unsigned n = MIN_OF(m->n_addrs, (uint32_t)LAUNCH_PEER_ADDRS_MAX);
	struct fuse_hello hello = {.read_only = m->read_only};
	uint8_t bytes[FUSE_HELLO_BYTES];

	memcpy(hello.mount_id, m->id, sizeof(hello.mount_id));
	memcpy(hello.export_name, m->export_name, sizeof(hello.export_name));
	memcpy(hello.client_host, cfg->host, sizeof(hello.client_host));
	memcpy(hello.server_host, m->peer, sizeof(hello.server_host));
	fuse_hello_put(bytes, &hello);
	for (unsigned i = 0; i < n; i++)
		addrs[i] = (struct datagram_addr){.ip = m->addrs[i].ip, .port = m->addrs[i].port};
	return rudp_connect(f->rudp, addrs, n, bytes, sizeof(bytes), f, now_ns, &f->session);
}

int fuse_front_new(const struct launch_config *cfg, unsigned index, int state_fd, struct rudp *r,
		   struct launch_stats *stats, uint64_t now_ns, struct fuse_front **ret)
{
	const struct launch_mount *m = &cfg->mounts[index];
	struct fuse_front *f;
	int e, flags;

	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (struct fuse_front){.fd = m->fuse_fd,
				 .state_fd = state_fd,
				 .state_off = (off_t)(index * sizeof(struct front_state)),
				 .rudp = r,
				 .stats = stats,
				 .timeout_ns = (uint64_t)m->soft_s * NSEC_PER_SEC,
				 .away_since_ns = now_ns,
				 .busy_ns = now_ns};
	flags = fcntl(f->fd, F_GETFL);
	e = flags < 0 || fcntl(f->fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
	if (e == 0)
		e = front_slots_init(f);
	if (e == 0)
		e = front_state_load(f, m);
	if (e == 1) {
		/* A kernel before 6.9 cannot: what the dead worker had read stays unanswered. */
		if (front_state_resend(f) < 0)
			f->bad_requests++;
		e = 0;
	}
	if (e == 0)
		e = front_connect(f, cfg, m, now_ns);
	if (e < 0) {
		fuse_front_free(f);
		return e;
	}
	*ret = f;
	return 0;
}

struct fuse_front *fuse_front_free(struct fuse_front *f)
{
	if (!f)
		return NULL;
	front_slots_done(f);
	free(f);
	return NULL;
}

int fuse_front_fd(const struct fuse_front *f)
{
	return f->fd;
}

unsigned fuse_front_in_flight(const struct fuse_front *f)
{
	return f->n_used;
}

unsigned fuse_front_sent(const struct fuse_front *f)
{
	return f->n_sent + (f->bye_sent && !f->bye_done);
}

bool fuse_front_is_ready(const struct fuse_front *f)
{
	return f->link == FRONT_READY;
}

uint64_t fuse_front_timeouts(const struct fuse_front *f)
{
	return f->timeouts;
}

/* One write is one answer. ENOENT: the request is gone (its process was killed), which is fine. */
static void front_reply(struct fuse_front *f, const void *msg, size_t len)
{
	if (write(f->fd, msg, len) < 0 && errno == ENODEV)
		f->gone = true;
}

void front_reply_error(struct fuse_front *f, uint64_t unique, int error)
{
	struct fuse_out_header out = {.len = sizeof(out), .error = error, .unique = unique};

	front_reply(f, &out, sizeof(out));
}

static void front_slot_fail(struct fuse_front *f, struct front_slot *s, int error)
{
	if (front_opcode_has_reply(s->opcode))
		front_reply_error(f, s->unique, error);
	front_slot_free(f, s);
}

/*
 * The wish to end a request early. What was never sent ends here. While the server is away, so does
 * the rest: the process is being signalled and would otherwise hang in the kernel; as after a crash
 * of the server it cannot know whether the request was executed. Else the server decides.
 * True: the INTERRUPT itself is to be sent on.
 */
static bool front_interrupt(struct fuse_front *f, const uint8_t *req, uint32_t len)
{
	struct fuse_interrupt_in in;
	struct front_slot *s;

	if (len < sizeof(struct fuse_in_header) + sizeof(in))
		return false;
	memcpy(&in, req + sizeof(struct fuse_in_header), sizeof(in));
	s = front_slot_find(f, in.unique);
	if (!s || !front_opcode_has_reply(s->opcode))
		return false;
	if (s->state == FRONT_SLOT_PENDING) {
		front_slot_fail(f, s, -EINTR);
		return false;
	}
	return true;
}

static bool front_opcode_is_orphan(uint32_t opcode)
{
	return opcode == FUSE_RELEASE || opcode == FUSE_RELEASEDIR ||
	       !front_opcode_has_reply(opcode);
}

static void front_request(struct fuse_front *f, struct front_slot *s)
{
	struct fuse_in_header h;
	struct fuse_interrupt_in in;

	memcpy(&h, s->req, sizeof(h));
	s->opcode = h.opcode;
	s->unique = h.unique;
	s->resp_max = front_slot_resp_max(s->req, s->req_len);
	s->orphan = front_opcode_is_orphan(h.opcode);
	f->n_orphans += s->orphan;
	if (h.opcode == FUSE_INTERRUPT) {
		memcpy(&in, s->req + sizeof(h), sizeof(in));
		in.unique &= ~FUSE_PROTO_UNIQUE_RESEND;
		memcpy(s->req + sizeof(h), &in, sizeof(in));
	}
	front_slot_queue(f, s);
}

/* The request of n bytes in f->read_buf. */
static void front_take(struct fuse_front *f, size_t n)
{
	struct fuse_in_header h;
	struct front_slot *s;

	memcpy(&h, f->read_buf, sizeof(h));
	if (h.opcode == FUSE_INIT) {
		front_init_answer(f, f->read_buf, n);
		return;
	}
	if (h.opcode == FUSE_INTERRUPT && !front_interrupt(f, f->read_buf, (uint32_t)n))
		return;
	launch_stat_add(&f->stats->requests, 1);
	if (h.opcode == FUSE_WRITE)
		launch_stat_add(&f->stats->write_bytes,
				n - MIN_OF(n, (size_t)FUSE_PROTO_WRITE_DATA));
	s = front_slot_take(f, (uint32_t)n);
	if (s)
		front_request(f, s);
	else if (front_opcode_has_reply(h.opcode)) /* cannot be: front_has_room */
		front_reply_error(f, h.unique, -ENOMEM);
}

/* A slot and a buffer to move a large request into must be there before a request is read. */
static bool front_has_room(const struct fuse_front *f)
{
	return f->free && f->pool.n_free > 0;
}

static void front_flush(struct fuse_front *f, uint64_t now_ns);

/* Unmounted. Plain unmounting sends no DESTROY (only block device mounts get one), but the server
 * keeps nodes and handles for a successor until it hears one, so it is sent here. */
static void front_goodbye(struct fuse_front *f)
{
	struct front_slot *s, *next;

	for (s = f->pending.next; s != &f->pending; s = next) {
		next = s->next;
		front_slot_free(f, s);
	}
	if (f->link != FRONT_READY || f->bye_sent)
		return;
	f->bye = (struct fuse_in_header){.len = sizeof(f->bye), .opcode = FUSE_DESTROY};
	f->bye_sent = rudp_call_send(f->session, &f->bye, sizeof(f->bye), FRONT_COOKIE_BYE) == 0;
}

int fuse_front_pull(struct fuse_front *f, uint64_t now_ns)
{
	int taken = 0;

	while (!f->gone && taken < FRONT_PULL_BURST && front_has_room(f)) {
		ssize_t n = read(f->fd, f->read_buf, FRONT_READ_BYTES);
		struct fuse_in_header h;

		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue; /* ENOENT: it was ended before it was read */
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			f->gone = true;
			break;
		}
		taken++;
		if ((size_t)n >= sizeof(h))
			memcpy(&h, f->read_buf, sizeof(h));
		if ((size_t)n < sizeof(h) || h.len != (size_t)n)
			f->bad_requests++; /* whom should one answer? */
		else
			front_take(f, (size_t)n);
	}
	if (taken > 0)
		f->busy_ns = now_ns;
	if (f->gone) {
		front_goodbye(f);
		return -ENODEV;
	}
	front_flush(f, now_ns);
	return taken;
}

/* 0: sent; -ENOMEM: no buffer for its answer now; -ENOBUFS: no more calls now; else it cannot be.
 */
static int front_send(struct fuse_front *f, struct front_slot *s)
{
	int e;

	if (s->resp_max > FRONT_SMALL_BYTES && !s->resp) {
		s->resp = front_pool_get(&f->pool, FRONT_READ_RESERVE);
		if (!s->resp)
			return -ENOMEM;
	}
	e = rudp_call_send(f->session, s->req, s->req_len, front_slot_cookie(f, s));
	if (e < 0)
		return e;
	front_slot_unqueue(f, s);
	s->state = FRONT_SLOT_SENT;
	f->n_sent++;
	return 0;
}

/* The first call of a session: INIT, so that the server knows what was negotiated. */
static void front_hello(struct fuse_front *f, uint64_t now_ns)
{
	if (f->gone || f->link != FRONT_AWAY || !f->kept.negotiated || now_ns < f->retry_ns ||
	    !rudp_session_is_up(f->session))
		return;
	front_init_compose(f, &f->hello);
	if (rudp_call_send(f->session, &f->hello, sizeof(f->hello), FRONT_COOKIE_HELLO) == 0)
		f->link = FRONT_HELLO;
}

/* Sends what waits, oldest first. A READ that finds no buffer lets the others pass. */
static void front_flush(struct fuse_front *f, uint64_t now_ns)
{
	struct front_slot *s, *next;

	front_hello(f, now_ns);
	if (f->link != FRONT_READY || !f->flush_wanted)
		return;
	f->flush_wanted = false;
	for (s = f->pending.next; s != &f->pending; s = next) {
		int e;

		next = s->next;
		e = front_send(f, s);
		if (e == -ENOBUFS)
			break;
		if (e < 0 && e != -ENOMEM) {
			launch_stat_add(&f->stats->request_errors, 1);
			front_slot_fail(f, s, -EIO);
		}
	}
}

/* The peer has been away for too long: whoever waits gets an error. What nobody waits for (handles
 * and nodes to be given back) stays, within bounds, for its return. */
static void front_expire(struct fuse_front *f)
{
	struct front_slot *s, *next;

	for (s = f->pending.next; s != &f->pending; s = next) {
		next = s->next;
		if (s->orphan && f->n_orphans <= FRONT_ORPHANS_MAX)
			continue;
		if (!s->orphan) {
			f->timeouts++;
			launch_stat_add(&f->stats->request_errors, 1);
		}
		front_slot_fail(f, s, s->orphan ? 0 : -EIO);
	}
}

uint64_t fuse_front_tick(struct fuse_front *f, uint64_t now_ns)
{
	uint64_t deadline = UINT64_MAX;
	uint64_t expires_ns = f->timeout_ns ? f->away_since_ns + f->timeout_ns : UINT64_MAX;

	if (f->bye_done && f->session) {
		rudp_session_close(f->session, now_ns);
		f->session = NULL;
		f->link = FRONT_AWAY;
	}
	if (f->gone)
		return UINT64_MAX;
	front_flush(f, now_ns);
	if (f->link != FRONT_READY && f->n_pending > 0) {
		if (now_ns >= expires_ns)
			front_expire(f);
		else
			deadline = expires_ns;
	}
	if (f->link == FRONT_AWAY && f->retry_ns > now_ns)
		deadline = MIN_OF(deadline, f->retry_ns);
	if (f->pool.free_touched > 0 && f->n_used == 0) {
		if (now_ns - f->busy_ns >= FRONT_TRIM_NS)
			front_pool_trim(&f->pool);
		else
			deadline = MIN_OF(deadline, f->busy_ns + FRONT_TRIM_NS);
	}
	return deadline;
}

void *fuse_front_buf_get(struct fuse_front *f, uint64_t cookie, size_t len)
{
	struct front_slot *s;

	if (cookie == FRONT_COOKIE_HELLO || cookie == FRONT_COOKIE_BYE)
		return len <= sizeof(f->hello_resp) ? f->hello_resp : NULL;
	s = front_slot_from_cookie(f, cookie);
	if (!s || len > MAX_OF(s->resp_max, FRONT_SMALL_BYTES) || len > RUDP_MSG_BYTES_MAX)
		return NULL;
	s->resp_lent = true;
	return len <= FRONT_SMALL_BYTES ? s->small + FRONT_SMALL_BYTES : s->resp;
}

/* The message will not be complete; the memory belongs to the slot and goes with it. */
void fuse_front_buf_put(struct fuse_front *f, void *buf)
{
	(void)f;
	(void)buf;
}

static void front_away(struct fuse_front *f, uint64_t now_ns)
{
	if (f->link == FRONT_READY)
		f->away_since_ns = now_ns;
	f->link = FRONT_AWAY;
}

static void front_hello_response(struct fuse_front *f, int status, const void *buf, size_t len,
				 uint64_t now_ns)
{
	struct fuse_out_header out = {.error = status};

	if (f->link != FRONT_HELLO)
		return;
	if (status == 0 && len >= sizeof(out))
		memcpy(&out, buf, sizeof(out));
	else if (status == 0)
		out.error = -EPROTO;
	if (out.error == 0) {
		f->link = FRONT_READY;
		f->flush_wanted = true;
		return;
	}
	f->link = FRONT_AWAY;
	/* Lost again: the next session tells. Refused: not at once again. */
	f->retry_ns = status == -ECONNRESET ? 0 : now_ns + FRONT_HELLO_RETRY_NS;
}

/* The session ended under the call: whether it was executed is not known. */
static void front_requeue(struct fuse_front *f, struct front_slot *s)
{
	struct fuse_in_header h;

	memcpy(&h, s->req, sizeof(h));
	h.unique |= FUSE_PROTO_UNIQUE_RESEND;
	memcpy(s->req, &h, sizeof(h));
	front_slot_queue(f, s);
}

/* Checks what the kernel would refuse (and leave the request unanswered). */
static bool front_response_is_valid(const struct front_slot *s, const void *buf, size_t len)
{
	struct fuse_out_header out;

	if (len < sizeof(out) || len > MAX_OF(s->resp_max, FRONT_SMALL_BYTES))
		return false;
	memcpy(&out, buf, sizeof(out));
	return out.len == len && out.error <= 0 && out.error > -512 &&
	       (out.error == 0 || len == sizeof(out));
}

static void front_slot_finish(struct fuse_front *f, struct front_slot *s, void *buf, size_t len)
{
	struct fuse_out_header *out = buf;

	launch_stat_add(&f->stats->responses, 1);
	if (!front_opcode_has_reply(s->opcode)) {
		front_slot_free(f, s);
		return;
	}
	if (!front_response_is_valid(s, buf, len)) {
		f->bad_responses++;
		launch_stat_add(&f->stats->request_errors, 1);
		front_slot_fail(f, s, -EIO);
		return;
	}
	memcpy(&out->unique, &s->unique, sizeof(out->unique));
	if (s->opcode == FUSE_READ)
		launch_stat_add(&f->stats->read_bytes, len - sizeof(*out));
	front_reply(f, buf, len);
	front_slot_free(f, s);
}

void fuse_front_response(struct fuse_front *f, uint64_t cookie, int status, void *buf, size_t len,
			 uint64_t now_ns)
{
	struct front_slot *s;

	f->busy_ns = now_ns;
	if (cookie == FRONT_COOKIE_HELLO) {
		front_hello_response(f, status, buf, len, now_ns);
		return;
	}
	if (cookie == FRONT_COOKIE_BYE) {
		f->bye_done = true;
		return;
	}
	s = front_slot_from_cookie(f, cookie);
	if (!s)
		return;
	if (status == 0) {
		front_slot_finish(f, s, buf, len);
	} else if (status == -ECONNRESET) {
		if (f->link == FRONT_READY)
			front_away(f, now_ns);
		front_requeue(f, s);
	} else {
		launch_stat_add(&f->stats->request_errors, 1);
		front_slot_fail(f, s, -EIO);
	}
}

void fuse_front_event(struct fuse_front *f, enum rudp_event e, int code, uint64_t now_ns)
{
	(void)code;
	switch (e) {
	case RUDP_SESSION_UP:
	case RUDP_SESSION_RESTARTED:
	case RUDP_SESSION_LOST:
	case RUDP_SESSION_CLOSED:
	case RUDP_SESSION_REFUSED:
		f->retry_ns = 0;
		front_away(f, now_ns);
		break;
	default:
		break;
	}
}
