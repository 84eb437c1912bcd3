/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends' reading of the file system protocol. The server's check is given each record as a
 * request; the frontend is given it as a request from the kernel, as the server's answer to its
 * oldest call, or as the end of a session, while this file plays rudp. Input: records of an
 * operation byte, two bytes of length (little endian) and as many bytes.
 */
#include "dataplane/fuse/fuse_back_check.h"
#include "dataplane/fuse/fuse_front_internal.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define OP_MASK 0x07
#define OP_FIX 0x80 /* make the message's length field right, else little is ever reached */
#define CALLS_MAX 64
#define RECORDS_MAX 256

enum op {
	OP_CHECK,
	OP_KERNEL,
	OP_KERNEL_2, /* twice as likely */
	OP_ANSWER,
	OP_ANSWER_2,
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

void rudp_session_close(struct rudp_session *s, uint64_t now_ns)
{
	s->up = false;
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

static uint64_t call_take(void)
{
	uint64_t cookie = calls[0].cookie;

	memmove(&calls[0], &calls[1], --n_calls * sizeof(calls[0]));
	return cookie;
}

struct rig {
	int kernel, dev, state;
	struct launch_config cfg;
	struct launch_stats stats;
	struct fuse_front *front;
	uint64_t now_ns;
};

static void do_answer(struct rig *g, const uint8_t *data, size_t len)
{
	uint64_t cookie;
	void *buf;

	if (n_calls == 0)
		return;
	cookie = call_take();
	buf = fuse_front_buf_get(g->front, cookie, len);
	if (!buf) /* for ever: rudp would go on asking; here the session ends */
		fuse_front_response(g->front, cookie, -ECONNRESET, NULL, 0, g->now_ns);
	else
		fuse_front_response(g->front, cookie, 0, memcpy(buf, data, len), len, g->now_ns);
}

static void do_kernel(struct rig *g, const uint8_t *data, size_t len)
{
	static uint8_t answers[65536];

	if (len > 0 && send(g->kernel, data, len, MSG_DONTWAIT) < 0)
		return;
	(void)fuse_front_pull(g->front, g->now_ns);
	while (recv(g->kernel, answers, sizeof(answers), MSG_DONTWAIT) > 0)
		;
}

static void do_record(struct rig *g, uint8_t op, uint8_t *data, size_t len)
{
	uint32_t len32 = (uint32_t)len;
	struct fuse_back_args args;
	bool is_answer = (op & OP_MASK) == OP_ANSWER || (op & OP_MASK) == OP_ANSWER_2;

	if ((op & OP_FIX) && len >= sizeof(len32))
		memcpy(data, &len32, sizeof(len32));
	if (!is_answer && fuse_back_check(data, len, &args) == 0)
		sink = (uint8_t)fuse_back_check_reply_bytes((const void *)data) ^
		       fuse_back_check_is_once((const void *)data);
	switch ((enum op)(op & OP_MASK)) {
	case OP_CHECK:
		break;
	case OP_KERNEL:
	case OP_KERNEL_2:
		do_kernel(g, data, len);
		break;
	case OP_ANSWER:
	case OP_ANSWER_2:
		do_answer(g, data, len);
		break;
	case OP_RESET:
		for (unsigned n = n_calls; n > 0; n--)
			fuse_front_response(g->front, call_take(), -ECONNRESET, NULL, 0, g->now_ns);
		break;
	case OP_TIME:
		g->now_ns += len * NSEC_PER_MSEC;
		break;
	case OP_SESSION:
		session.up = !session.up;
		fuse_front_event(g->front, session.up ? RUDP_SESSION_UP : RUDP_SESSION_LOST, 0,
				 g->now_ns);
		break;
	}
	(void)fuse_front_tick(g->front, g->now_ns);
}

static struct rig *rig_get(void)
{
	static struct rig g;
	int sv[2];

	if (g.state > 0)
		return &g;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		abort();
	g.kernel = sv[0];
	g.dev = sv[1];
	g.state = memfd_create("state", MFD_CLOEXEC);
	g.cfg.n_mounts = 1;
	g.cfg.mounts[0].fuse_fd = g.dev;
	g.cfg.mounts[0].soft_s = 2;
	return &g;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rig *g = rig_get();
	uint8_t *copy;

	n_calls = 0;
	session.up = true;
	g->now_ns = NSEC_PER_SEC;
	if (ftruncate(g->state, 0) < 0 ||
	    fuse_front_new(&g->cfg, 0, g->state, NULL, &g->stats, g->now_ns, &g->front) < 0)
		abort();
	for (unsigned n = 0; size >= 3 && n < RECORDS_MAX; n++) {
		size_t len = data[1] | (size_t)data[2] << 8;

		len = MIN_OF(len, size - 3);
		copy = malloc(len ? len : 1); /* exactly as long: an overrun is seen */
		if (!copy)
			abort();
		memcpy(copy, data + 3, len);
		do_record(g, data[0], copy, len);
		free(copy);
		data += 3 + len;
		size -= 3 + len;
	}
	g->front = fuse_front_free(g->front);
	do { /* nothing is left over for the next input */
	} while (recv(g->dev, &(uint8_t){0}, 1, MSG_DONTWAIT) >= 0 ||
		 recv(g->kernel, &(uint8_t){0}, 1, MSG_DONTWAIT) >= 0);
	return 0;
}
