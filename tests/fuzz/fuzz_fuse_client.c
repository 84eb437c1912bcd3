/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the client end of the file system protocol: each record is a request from the kernel, the
 * server's answer to its oldest or newest call, or the end of a session, a server or a worker,
 * while this file plays rudp. Input: records of an operation byte, two bytes of length (little
 * endian) and as many bytes. Node and file numbers start the same in each run, so that inputs can
 * name them: 1 << 32 | 2 is the first node, 1 << 32 the first file.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define OP_MASK 0x07
#define OP_FIX 0x80 /* correct the message's length field, otherwise little code is reached */
#define CALLS_MAX 64
#define RECORDS_MAX 256

enum op {
	OP_WORKER, /* dies, and a successor takes over */
	OP_KERNEL,
	OP_KERNEL_2, /* twice as likely */
	OP_ANSWER,
	OP_ANSWER_NEW, /* to the newest call */
	OP_RESET,
	OP_TIME,
	OP_SESSION,
};

struct rudp_session {
	bool up;
};

static struct rudp_session session;
static struct {
	uint64_t cookie;
	const uint8_t *msg;
	size_t len;
} calls[CALLS_MAX];
static unsigned n_calls;
static volatile uint8_t sink;

int rudp_connect(struct rudp *r, const struct datagram_addr *addrs, unsigned n_addrs,
		 const void *hello, size_t hello_len, void *session_user, uint64_t now_ns,
		 struct rudp_session **ret)
{
	*ret = &session;
	return 0;
}

static uint64_t call_take(unsigned i);
static struct fuse_client *client_now;

void rudp_session_close(struct rudp_session *s, uint64_t now_ns)
{
	s->up = false;
	while (n_calls > 0)
		fuse_client_response(client_now, call_take(0), -ECANCELED, NULL, 0, now_ns);
}

enum rudp_security rudp_session_security(const struct rudp_session *s)
{
	return RUDP_SECURITY_NONE;
}

unsigned rudp_session_paths(const struct rudp_session *s, struct rudp_path_info *ret, unsigned max)
{
	return 0;
}

const char *rudp_session_refusal(const struct rudp_session *s, struct datagram_addr *ret_from)
{
	return "";
}

bool rudp_session_is_up(const struct rudp_session *s)
{
	return s->up;
}

/* Reads all of the message, as sending it would. */
int rudp_call_send(struct rudp_session *s, const void *msg, size_t len, uint64_t cookie)
{
	const uint8_t *bytes = msg;

	if (n_calls == CALLS_MAX)
		return -ENOBUFS;
	for (size_t i = 0; i < len; i++)
		sink = bytes[i];
	calls[n_calls].cookie = cookie;
	calls[n_calls].msg = msg;
	calls[n_calls++].len = len;
	return 0;
}

static uint64_t call_take(unsigned i)
{
	uint64_t cookie = calls[i].cookie;

	memmove(&calls[i], &calls[i + 1], (--n_calls - i) * sizeof(calls[0]));
	return cookie;
}

struct rig {
	int kernel, dev;
	struct launch_config cfg;
	struct launch_stats stats;
	struct fuse_client *client;
	uint64_t now_ns;
};

static void do_answer(struct rig *g, bool newest, const uint8_t *data, size_t len)
{
	uint64_t cookie;
	void *buf;

	if (n_calls == 0)
		return;
	cookie = call_take(newest ? n_calls - 1 : 0);
	buf = fuse_client_buf_get(g->client, cookie, len);
	if (!buf) /* for ever: rudp would keep asking; here the session ends */
		fuse_client_response(g->client, cookie, -ECONNRESET, NULL, 0, g->now_ns);
	else
		fuse_client_response(g->client, cookie, 0, memcpy(buf, data, len), len, g->now_ns);
}

/* Replies to the kernel have a form that it accepts. */
static void kernel_drain(struct rig *g)
{
	static uint8_t msg[RUDP_MSG_BYTES_MAX];
	struct fuse_out_header out;
	ssize_t n;

	while ((n = recv(g->kernel, msg, sizeof(msg), MSG_DONTWAIT)) > 0) {
		if ((size_t)n < sizeof(out))
			abort();
		memcpy(&out, msg, sizeof(out));
		if (out.len != (size_t)n || out.error <= -512 ||
		    (out.unique != 0 && (out.error > 0 || (out.error < 0 && n != sizeof(out)))))
			abort();
	}
}

static void do_kernel(struct rig *g, const uint8_t *data, size_t len)
{
	if (len > 0 && send(g->kernel, data, len, MSG_DONTWAIT) < 0)
		return;
	(void)fuse_client_pull(g->client, true, g->now_ns);
}

static uint64_t clock_never_ns(void)
{
	return 0;
}

static void client_start(struct rig *g)
{
	n_calls = 0;
	session.up = true;
	if (fuse_client_new(&g->cfg, 0, -1, NULL, &g->stats, g->now_ns, &g->client) < 0)
		abort();
	g->client->clock_ns = clock_never_ns; /* the result must be the same each time */
	client_now = g->client;
}

/* A successor finds the same state. */
static void do_worker(struct rig *g)
{
	uint32_t n_slots = 0;

	for (unsigned i = 0; i < CLIENT_SLOTS; i++)
		n_slots += g->client->slots[i].state != CLIENT_SLOT_FREE;
	if (n_slots != g->client->n_used)
		abort();
	fuse_client_free(g->client);
	client_start(g);
}

static void do_record(struct rig *g, uint8_t op, uint8_t *data, size_t len)
{
	uint32_t len32 = (uint32_t)len;

	if ((op & OP_FIX) && len >= sizeof(len32))
		memcpy(data, &len32, sizeof(len32));
	switch ((enum op)(op & OP_MASK)) {
	case OP_WORKER:
		do_worker(g);
		break;
	case OP_KERNEL:
	case OP_KERNEL_2:
		do_kernel(g, data, len);
		break;
	case OP_ANSWER:
	case OP_ANSWER_NEW:
		do_answer(g, (op & OP_MASK) == OP_ANSWER_NEW, data, len);
		break;
	case OP_RESET:
		for (unsigned n = n_calls; n > 0; n--)
			fuse_client_response(g->client, call_take(0), -ECONNRESET, NULL, 0,
					     g->now_ns);
		break;
	case OP_TIME:
		g->now_ns += len * NSEC_PER_MSEC;
		break;
	case OP_SESSION:
		session.up = !session.up;
		fuse_client_event(g->client, session.up ? RUDP_SESSION_UP : RUDP_SESSION_LOST, 0,
				  g->now_ns);
		break;
	}
	(void)fuse_client_tick(g->client, g->now_ns);
	kernel_drain(g);
}

static struct rig *rig_get(void)
{
	static struct rig g;
	int sv[2];

	if (g.kernel > 0)
		return &g;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		abort();
	g.kernel = sv[0];
	g.dev = sv[1];
	g.cfg.n_mounts = 1;
	g.cfg.mounts[0].fuse_fd = g.dev;
	g.cfg.mounts[0].soft_s = 2;
	g.cfg.mounts[0].state_fd = memfd_create("state", MFD_CLOEXEC);
	return &g;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rig *g = rig_get();
	uint8_t *copy;

	g->now_ns = NSEC_PER_SEC;
	if (ftruncate(g->cfg.mounts[0].state_fd, 0) < 0)
		abort();
	client_start(g);
	g->client->state.head->reuse = 0;
	for (unsigned n = 0; size >= 3 && n < RECORDS_MAX; n++) {
		size_t len = data[1] | (size_t)data[2] << 8;

		len = MIN_OF(len, size - 3);
		copy = malloc(len ? len : 1); /* exactly as long: detects an overrun */
		if (!copy)
			abort();
		memcpy(copy, data + 3, len);
		do_record(g, data[0], copy, len);
		free(copy);
		data += 3 + len;
		size -= 3 + len;
	}
	do_worker(g);
	g->client = fuse_client_free(g->client);
	do { /* the next input starts clean */
	} while (recv(g->dev, &(uint8_t){0}, 1, MSG_DONTWAIT) >= 0 ||
		 recv(g->kernel, &(uint8_t){0}, 1, MSG_DONTWAIT) >= 0);
	return 0;
}
