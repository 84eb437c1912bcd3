/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client end of the file system protocol against a kernel and a transport that the test plays:
 * a sequenced socket stands for /dev/fuse (requests and answers are read and written whole), the
 * functions below stand for rudp.
 */
#include "dataplane/fuse/fuse_front_internal.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cmocka.h>

#define CALLS_MAX 160

/* ---- the transport ---- */

struct rudp_session {
	void *user;
	bool up, closed;
};

static struct fake_call {
	uint64_t cookie;
	const uint8_t *msg;
	size_t len;
} calls[CALLS_MAX];
static unsigned n_calls, calls_limit;
static struct rudp_session session;

int rudp_connect(struct rudp *r, const struct datagram_addr *addrs, unsigned n_addrs,
		 const void *hello, size_t hello_len, void *session_user, uint64_t now_ns,
		 struct rudp_session **ret)
{
	assert_true(hello_len <= RUDP_HELLO_BYTES_MAX);
	session = (struct rudp_session){.user = session_user};
	*ret = &session;
	return 0;
}

void rudp_session_close(struct rudp_session *s, uint64_t now_ns)
{
	s->closed = true;
}

void *rudp_session_user(const struct rudp_session *s)
{
	return s->user;
}

bool rudp_session_is_up(const struct rudp_session *s)
{
	return s->up;
}

int rudp_call_send(struct rudp_session *s, const void *msg, size_t len, uint64_t cookie)
{
	if (n_calls >= calls_limit)
		return -ENOBUFS;
	calls[n_calls++] = (struct fake_call){.cookie = cookie, .msg = msg, .len = len};
	return 0;
}

/* ---- the kernel ---- */

#define NOW0 (100 * NSEC_PER_SEC)

struct rig {
	int kernel, dev, state;
	struct launch_config *cfg;
	struct launch_stats stats;
	struct fuse_front *f;
};

static struct fake_call call_take(unsigned i)
{
	struct fake_call c;

	assert_true(i < n_calls);
	c = calls[i];
	memmove(&calls[i], &calls[i + 1], (n_calls - i - 1) * sizeof(calls[0]));
	n_calls--;
	return c;
}

static struct fuse_in_header call_header(unsigned i)
{
	struct fuse_in_header h;

	assert_true(i < n_calls && calls[i].len >= sizeof(h));
	memcpy(&h, calls[i].msg, sizeof(h));
	assert_int_equal(h.len, calls[i].len);
	return h;
}

static void kernel_send(struct rig *g, uint32_t opcode, uint64_t unique, const void *arg,
			size_t arg_len)
{
	static uint8_t msg[256 << 10];
	struct fuse_in_header h = {.len = (uint32_t)(sizeof(h) + arg_len),
				   .opcode = opcode,
				   .unique = unique,
				   .nodeid = 1};

	assert_true(h.len <= sizeof(msg));
	memcpy(msg, &h, sizeof(h));
	if (arg_len)
		memcpy(msg + sizeof(h), arg, arg_len);
	assert_int_equal(write(g->kernel, msg, h.len), h.len);
}

/* The next answer; its length, 0 where there is none. */
static size_t kernel_receive(struct rig *g, struct fuse_out_header *ret, void *data, size_t size)
{
	static uint8_t msg[256 << 10];
	ssize_t n = recv(g->kernel, msg, sizeof(msg), MSG_DONTWAIT);

	if (n < 0)
		return 0;
	assert_true((size_t)n >= sizeof(*ret));
	memcpy(ret, msg, sizeof(*ret));
	assert_int_equal(ret->len, n);
	if (data)
		memcpy(data, msg + sizeof(*ret), MIN_OF(size, (size_t)n - sizeof(*ret)));
	return (size_t)n;
}

static void expect_reply(struct rig *g, uint64_t unique, int error)
{
	struct fuse_out_header out = {0};

	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	assert_true(out.unique == unique);
	assert_int_equal(out.error, error);
}

static void expect_silence(struct rig *g)
{
	struct fuse_out_header out;

	assert_int_equal(kernel_receive(g, &out, NULL, 0), 0);
}

static void kernel_init(struct rig *g, uint32_t minor, uint64_t flags)
{
	struct fuse_init_in in = {.major = 7,
				  .minor = minor,
				  .max_readahead = 128 << 10,
				  .flags = (uint32_t)flags | FUSE_INIT_EXT,
				  .flags2 = (uint32_t)(flags >> 32)};

	kernel_send(g, FUSE_INIT, 2, &in, sizeof(in));
}

static void front_start(struct rig *g)
{
	n_calls = 0;
	calls_limit = CALLS_MAX;
	assert_int_equal(fuse_front_new(g->cfg, 0, g->state, NULL, &g->stats, NOW0, &g->f), 0);
}

static int rig_setup(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));
	int sv[2], bytes = 1 << 20;

	assert_non_null(g);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
	setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	setsockopt(sv[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	g->kernel = sv[0];
	g->dev = sv[1];
	g->state = memfd_create("state", MFD_CLOEXEC);
	g->cfg = calloc(1, sizeof(*g->cfg));
	assert_non_null(g->cfg);
	g->cfg->n_mounts = 1;
	g->cfg->mounts[0].fuse_fd = g->dev;
	g->cfg->mounts[0].soft_s = 30;
	memset(g->cfg->mounts[0].id, 7, 16);
	front_start(g);
	*state = g;
	return 0;
}

static int rig_teardown(void **state)
{
	struct rig *g = *state;

	fuse_front_free(g->f);
	close(g->kernel);
	close(g->dev);
	close(g->state);
	free(g->cfg);
	free(g);
	return 0;
}

static void respond(struct rig *g, unsigned call, int error, const void *data, size_t len)
{
	struct fake_call c = call_take(call);
	struct fuse_out_header out = {.len = (uint32_t)(sizeof(out) + len), .error = error};
	uint8_t *buf = fuse_front_buf_get(g->f, c.cookie, sizeof(out) + len);

	assert_non_null(buf);
	memcpy(buf, &out, sizeof(out));
	if (len)
		memcpy(buf + sizeof(out), data, len);
	fuse_front_response(g->f, c.cookie, 0, buf, sizeof(out) + len, NOW0);
}

static void respond_empty(struct rig *g, unsigned call)
{
	struct fake_call c = call_take(call);

	fuse_front_response(g->f, c.cookie, 0, NULL, 0, NOW0);
}

static void reset_all(struct rig *g, uint64_t now_ns)
{
	while (n_calls > 0) {
		struct fake_call c = call_take(0);

		fuse_front_response(g->f, c.cookie, -ECONNRESET, NULL, 0, now_ns);
	}
}

/* Mounted, connected, INIT exchanged with both sides. */
static void bring_up(struct rig *g)
{
	struct fuse_out_header out;
	struct fuse_in_header h;

	kernel_init(g, 44, ~0ULL);
	assert_int_equal(fuse_front_pull(g->f, NOW0), 1);
	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	session.up = true;
	fuse_front_event(g->f, RUDP_SESSION_UP, 0, NOW0);
	fuse_front_tick(g->f, NOW0);
	assert_int_equal(n_calls, 1);
	h = call_header(0);
	assert_int_equal(h.opcode, FUSE_INIT);
	respond(g, 0, 0, "", 0);
	assert_true(fuse_front_is_ready(g->f));
}

/* ---- the tests ---- */

static void test_init_negotiates(void **state)
{
	struct rig *g = *state;
	struct fuse_init_out init = {0};
	struct fuse_out_header out;

	kernel_init(g, 44, ~0ULL);
	assert_int_equal(fuse_front_pull(g->f, NOW0), 1);
	assert_int_equal(kernel_receive(g, &out, &init, sizeof(init)), sizeof(out) + sizeof(init));
	assert_int_equal(out.error, 0);
	assert_int_equal(out.unique, 2);
	assert_int_equal(init.major, 7);
	assert_int_equal(init.minor, FUSE_PROTO_MINOR_MAX);
	assert_int_equal(init.max_write, 1 << 20);
	assert_int_equal(init.max_pages, 256);
	assert_int_equal(init.max_readahead, 128 << 10);
	assert_true((init.flags | (uint64_t)init.flags2 << 32) == FUSE_PROTO_FLAGS);
	assert_int_equal(n_calls, 0);
}

static void test_init_takes_no_more_than_offered(void **state)
{
	struct rig *g = *state;
	struct fuse_init_out init = {0};
	struct fuse_out_header out;

	kernel_init(g, 33, FUSE_ASYNC_READ | FUSE_WRITEBACK_CACHE);
	fuse_front_pull(g->f, NOW0);
	assert_true(kernel_receive(g, &out, &init, sizeof(init)) > 0);
	assert_int_equal(init.minor, 33);
	assert_true(init.flags == (FUSE_ASYNC_READ | FUSE_INIT_EXT));
	assert_int_equal(init.flags2, 0);
}

static void test_init_refuses_strange_kernels(void **state)
{
	struct rig *g = *state;
	struct fuse_init_in in = {.major = 8, .minor = 1};
	struct fuse_init_out init = {0};
	struct fuse_out_header out;

	kernel_send(g, FUSE_INIT, 2, &in, sizeof(in));
	in = (struct fuse_init_in){.major = 7, .minor = 12};
	kernel_send(g, FUSE_INIT, 4, &in, sizeof(in));
	kernel_send(g, FUSE_INIT, 6, &in, 3);
	fuse_front_pull(g->f, NOW0);
	assert_true(kernel_receive(g, &out, &init, sizeof(init)) > 0);
	assert_int_equal(init.major, 7);
	assert_int_equal(init.max_write, 0);
	expect_reply(g, 4, -EPROTO);
	expect_reply(g, 6, -EPROTO);
	session.up = true;
	fuse_front_tick(g->f, NOW0);
	assert_int_equal(n_calls, 0); /* nothing negotiated, nothing to say */
}

static void test_requests_wait_for_hello(void **state)
{
	struct rig *g = *state;
	struct fuse_out_header out;

	kernel_init(g, 38, FUSE_PROTO_FLAGS);
	kernel_send(g, FUSE_GETATTR, 4, "0123456789abcdef", 16);
	fuse_front_pull(g->f, NOW0);
	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	assert_int_equal(n_calls, 0);
	session.up = true;
	fuse_front_tick(g->f, NOW0);
	fuse_front_tick(g->f, NOW0);
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_INIT);
	respond(g, 0, 0, "", 0);
	fuse_front_tick(g->f, NOW0);
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_GETATTR);
	assert_memory_equal(calls[0].msg + sizeof(struct fuse_in_header), "0123456789abcdef", 16);
	respond(g, 0, 0, "attributes", 10);
	expect_reply(g, 4, 0);
	assert_int_equal(fuse_front_in_flight(g->f), 0);
}

static void test_hello_refused_is_tried_later(void **state)
{
	struct rig *g = *state;
	struct fuse_out_header out;

	kernel_init(g, 38, FUSE_PROTO_FLAGS);
	fuse_front_pull(g->f, NOW0);
	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	session.up = true;
	fuse_front_tick(g->f, NOW0);
	respond(g, 0, -EPROTO, NULL, 0);
	assert_true(fuse_front_tick(g->f, NOW0) <= NOW0 + NSEC_PER_SEC);
	assert_int_equal(n_calls, 0);
	fuse_front_tick(g->f, NOW0 + 2 * NSEC_PER_SEC);
	assert_int_equal(n_calls, 1);
}

static void test_forget_has_no_reply(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	kernel_send(g, FUSE_FORGET, 10, "12345678", 8);
	fuse_front_pull(g->f, NOW0);
	assert_int_equal(call_header(0).opcode, FUSE_FORGET);
	respond_empty(g, 0);
	expect_silence(g);
	assert_int_equal(fuse_front_in_flight(g->f), 0);
}

static void test_reset_sends_again_marked(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	kernel_send(g, FUSE_MKDIR, 20, "12345678dir", 12);
	fuse_front_pull(g->f, NOW0);
	assert_true(call_header(0).unique == 20);
	reset_all(g, NOW0);
	assert_false(fuse_front_is_ready(g->f));
	fuse_front_event(g->f, RUDP_SESSION_RESTARTED, 0, NOW0);
	fuse_front_tick(g->f, NOW0);
	assert_int_equal(call_header(0).opcode, FUSE_INIT);
	respond(g, 0, 0, "", 0);
	fuse_front_tick(g->f, NOW0);
	assert_true(call_header(0).unique == (20 | FUSE_PROTO_UNIQUE_RESEND));
	respond(g, 0, 0, "entry", 5);
	expect_reply(g, 20, 0); /* the kernel never saw the mark */
}

static void test_kernels_mark_is_kept(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	kernel_send(g, FUSE_MKDIR, 20 | FUSE_PROTO_UNIQUE_RESEND, "12345678dir", 12);
	fuse_front_pull(g->f, NOW0);
	assert_true(call_header(0).unique == (20 | FUSE_PROTO_UNIQUE_RESEND));
	respond(g, 0, 0, "entry", 5);
	expect_reply(g, 20 | FUSE_PROTO_UNIQUE_RESEND, 0);
}

static void test_successor_asks_again(void **state)
{
	struct rig *g = *state;
	struct fuse_out_header out;
	struct fuse_init_in init;

	bring_up(g);
	fuse_front_free(g->f);
	front_start(g);
	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	assert_true(out.unique == 0 && out.error == FUSE_PROTO_NOTIFY_RESEND);
	session.up = true;
	fuse_front_tick(g->f, NOW0);
	assert_int_equal(call_header(0).opcode, FUSE_INIT);
	memcpy(&init, calls[0].msg + sizeof(struct fuse_in_header), sizeof(init));
	assert_int_equal(init.minor, FUSE_PROTO_MINOR_MAX);
	assert_true((init.flags | (uint64_t)init.flags2 << 32) == FUSE_PROTO_FLAGS);
}

static void test_foreign_state_is_not_used(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	fuse_front_free(g->f);
	memset(g->cfg->mounts[0].id, 8, 16);
	front_start(g);
	expect_silence(g);
	session.up = true;
	fuse_front_tick(g->f, NOW0);
	assert_int_equal(n_calls, 0);
}

static void test_interrupt(void **state)
{
	struct rig *g = *state;
	struct fuse_interrupt_in in = {.unique = 30 | FUSE_PROTO_UNIQUE_RESEND};

	bring_up(g);
	kernel_send(g, FUSE_READ, 30 | FUSE_PROTO_UNIQUE_RESEND, "", 0);
	fuse_front_pull(g->f, NOW0);
	kernel_send(g, FUSE_INTERRUPT, 31, &in, sizeof(in));
	fuse_front_pull(g->f, NOW0);
	assert_int_equal(n_calls, 2); /* the server decides */
	assert_int_equal(call_header(1).opcode, FUSE_INTERRUPT);
	memcpy(&in, calls[1].msg + sizeof(struct fuse_in_header), sizeof(in));
	assert_true(in.unique == 30);
	respond_empty(g, 1);
	respond(g, 0, -EINTR, NULL, 0);
	expect_reply(g, 30 | FUSE_PROTO_UNIQUE_RESEND, -EINTR);
	in.unique = 99;
	kernel_send(g, FUSE_INTERRUPT, 33, &in, sizeof(in)); /* answered already */
	kernel_send(g, FUSE_INTERRUPT, 35, &in, 3);	     /* cut short */
	fuse_front_pull(g->f, NOW0);
	assert_int_equal(n_calls, 0);
	expect_silence(g);
	assert_int_equal(fuse_front_in_flight(g->f), 0);
}

static void test_interrupt_while_away(void **state)
{
	struct rig *g = *state;
	struct fuse_interrupt_in in = {.unique = 40};

	kernel_send(g, FUSE_GETATTR, 40, "0123456789abcdef", 16);
	kernel_send(g, FUSE_INTERRUPT, 41, &in, sizeof(in));
	fuse_front_pull(g->f, NOW0);
	expect_reply(g, 40, -EINTR);
	assert_int_equal(fuse_front_in_flight(g->f), 0);
}

static void test_away_times_out_and_comes_back(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	session.up = false;
	reset_all(g, NOW0);
	fuse_front_event(g->f, RUDP_SESSION_LOST, 0, NOW0);
	kernel_send(g, FUSE_GETATTR, 50, "0123456789abcdef", 16);
	kernel_send(g, FUSE_RELEASE, 52, "0123456789abcdef01234567", 24);
	fuse_front_pull(g->f, NOW0 + NSEC_PER_SEC);
	assert_true(fuse_front_tick(g->f, NOW0 + NSEC_PER_SEC) == NOW0 + 30 * NSEC_PER_SEC);
	expect_silence(g);
	fuse_front_tick(g->f, NOW0 + 30 * NSEC_PER_SEC);
	expect_reply(g, 50, -EIO);
	expect_silence(g);
	assert_int_equal(fuse_front_timeouts(g->f), 1);
	assert_int_equal(fuse_front_in_flight(g->f), 1); /* the handle is given back later */
	session.up = true;
	fuse_front_tick(g->f, NOW0 + 40 * NSEC_PER_SEC);
	respond(g, 0, 0, "", 0);
	kernel_send(g, FUSE_GETATTR, 54, "0123456789abcdef", 16);
	fuse_front_pull(g->f, NOW0 + 40 * NSEC_PER_SEC);
	assert_int_equal(n_calls, 2);
	assert_int_equal(call_header(0).opcode, FUSE_RELEASE);
	assert_int_equal(call_header(1).opcode, FUSE_GETATTR);
}

static void test_slots_run_out(void **state)
{
	struct rig *g = *state;
	unsigned sent = 0, answered = 0, taken;
	struct fuse_out_header out;

	bring_up(g);
	calls_limit = 100;
	do {
		while (sent - answered < FRONT_SLOTS + 50 && sent < 1000) {
			kernel_send(g, FUSE_GETATTR, 100 + 2 * sent, "0123456789abcdef", 16);
			sent++;
			if (sent - answered >= 200) /* the socket's queue is short */
				break;
		}
		taken = 0;
		for (int n; (n = fuse_front_pull(g->f, NOW0)) > 0;)
			taken += (unsigned)n;
		assert_true(fuse_front_in_flight(g->f) <= FRONT_SLOTS);
		assert_true(n_calls <= 100);
		while (n_calls > 0) {
			respond(g, 0, 0, "attr", 4);
			assert_true(kernel_receive(g, &out, NULL, 0) > 0);
			answered++;
		}
	} while (answered < 1000 && (taken > 0 || fuse_front_in_flight(g->f) > 0));
	assert_int_equal(answered, 1000);
	assert_int_equal(fuse_front_in_flight(g->f), 0);
}

static void test_large_messages_move_without_copy(void **state)
{
	struct rig *g = *state;
	static uint8_t data[128 << 10];
	struct fuse_read_in in = {.size = sizeof(data)};
	const uint8_t *first;

	bring_up(g);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31);
	kernel_send(g, FUSE_WRITE, 60, data, sizeof(data));
	fuse_front_pull(g->f, NOW0);
	assert_memory_equal(calls[0].msg + sizeof(struct fuse_in_header), data, sizeof(data));
	first = calls[0].msg;
	kernel_send(g, FUSE_READ, 62, &in, sizeof(in));
	fuse_front_pull(g->f, NOW0);
	assert_ptr_equal(calls[0].msg, first);
	assert_memory_equal(first + sizeof(struct fuse_in_header), data, sizeof(data));
	respond(g, 1, 0, data, sizeof(data));
	expect_reply(g, 62, 0);
	respond(g, 0, 0, "12345678", 8);
	expect_reply(g, 60, 0);
	assert_int_equal(launch_stat_get(&g->stats.read_bytes), sizeof(data));
	/* idle: the memory goes back */
	fuse_front_tick(g->f, NOW0 + 2 * NSEC_PER_SEC);
	assert_int_equal(g->f->pool.free_touched, 0);
}

static void test_reads_leave_room(void **state)
{
	struct rig *g = *state;
	struct fuse_read_in in = {.size = 1 << 20};
	unsigned reads;

	bring_up(g);
	for (unsigned i = 0; i < FRONT_POOL_BUFS; i++)
		kernel_send(g, FUSE_READ, 100 + 2 * i, &in, sizeof(in));
	fuse_front_pull(g->f, NOW0);
	reads = n_calls;
	assert_true(reads < FRONT_POOL_BUFS && reads >= 16);
	kernel_send(g, FUSE_GETATTR, 1000, "0123456789abcdef", 16);
	fuse_front_pull(g->f, NOW0);
	assert_int_equal(n_calls, reads + 1);
	assert_int_equal(call_header(reads).opcode, FUSE_GETATTR);
	for (unsigned i = 0; i < reads; i++) {
		respond(g, 0, 0, "x", 1);
		expect_reply(g, 100 + 2 * i, 0);
	}
	fuse_front_tick(g->f, NOW0);
	assert_int_equal(n_calls, 1 + FRONT_POOL_BUFS - reads);
}

static void test_bad_answers_become_errors(void **state)
{
	struct rig *g = *state;
	struct fuse_out_header bad[] = {
		{.len = 99}, {.len = 16, .error = 5}, {.len = 16, .error = -600}, {.len = 15}};

	bring_up(g);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fake_call c;
		uint8_t *buf;

		kernel_send(g, FUSE_GETATTR, 70 + 2 * i, "0123456789abcdef", 16);
		fuse_front_pull(g->f, NOW0);
		c = call_take(0);
		buf = fuse_front_buf_get(g->f, c.cookie, sizeof(bad[i]));
		memcpy(buf, &bad[i], sizeof(bad[i]));
		fuse_front_response(g->f, c.cookie, 0, buf, i == 3 ? 15 : sizeof(bad[i]), NOW0);
		expect_reply(g, 70 + 2 * i, -EIO);
		fuse_front_response(g->f, c.cookie, 0, buf, 16, NOW0); /* a second answer */
		expect_silence(g);
	}
	assert_null(fuse_front_buf_get(g->f, 12345, 16));
}

static void test_garbage_from_the_kernel(void **state)
{
	struct rig *g = *state;
	uint8_t junk[100] = {1};

	bring_up(g);
	assert_int_equal(write(g->kernel, junk, 5), 5);
	assert_int_equal(write(g->kernel, junk, sizeof(junk)), sizeof(junk));
	assert_int_equal(fuse_front_pull(g->f, NOW0), 2);
	assert_int_equal(n_calls, 0);
	expect_silence(g);
}

static void test_unmount_says_goodbye(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	shutdown(g->kernel, SHUT_WR);
	assert_int_equal(fuse_front_pull(g->f, NOW0), -ENODEV);
	assert_int_equal(call_header(0).opcode, FUSE_DESTROY);
	assert_int_equal(fuse_front_sent(g->f), 1);
	respond(g, 0, 0, NULL, 0);
	fuse_front_tick(g->f, NOW0);
	assert_true(session.closed);
	assert_int_equal(fuse_front_sent(g->f), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_init_negotiates, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_init_takes_no_more_than_offered, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_init_refuses_strange_kernels, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_requests_wait_for_hello, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_hello_refused_is_tried_later, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_forget_has_no_reply, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_reset_sends_again_marked, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_kernels_mark_is_kept, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_successor_asks_again, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_foreign_state_is_not_used, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_interrupt, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_interrupt_while_away, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_away_times_out_and_comes_back, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_slots_run_out, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_large_messages_move_without_copy, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_reads_leave_room, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(test_bad_answers_become_errors, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_garbage_from_the_kernel, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(test_unmount_says_goodbye, rig_setup, rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
