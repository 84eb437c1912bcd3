/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements client_rig.h. */
#include "tests/lib/fuse/client_rig.h"
#include <sys/mman.h>
#include <sys/socket.h>

/* ---- the transport ---- */

struct fake_call calls[CALLS_MAX];
unsigned n_calls, calls_limit;
struct rudp_session session;
struct fuse_hello said;

int rudp_connect(struct rudp *r, const struct datagram_addr *addrs, unsigned n_addrs,
		 const void *hello, size_t hello_len, void *session_user, uint64_t now_ns,
		 struct rudp_session **ret)
{
	assert_true(hello_len <= RUDP_HELLO_BYTES_MAX);
	assert_int_equal(fuse_hello_get(hello, hello_len, &said), 0);
	session = (struct rudp_session){.user = session_user};
	*ret = &session;
	return 0;
}

/* Closes the session and ends each open call, as rudp does. */
void rudp_session_close(struct rudp_session *s, uint64_t now_ns)
{
	s->closed = true;
	while (n_calls > 0) {
		uint64_t cookie = calls[0].cookie;

		memmove(&calls[0], &calls[1], --n_calls * sizeof(calls[0]));
		fuse_client_response(s->user, cookie, -ECANCELED, NULL, 0, now_ns);
	}
}

void *rudp_session_user(const struct rudp_session *s)
{
	return s->user;
}

enum rudp_security session_security;

enum rudp_security rudp_session_security(const struct rudp_session *s)
{
	return session_security;
}

struct rudp_path_info session_paths[2];
unsigned n_session_paths;

unsigned rudp_session_paths(const struct rudp_session *s, struct rudp_path_info *ret, unsigned max)
{
	assert_true(n_session_paths <= max);
	memcpy(ret, session_paths, n_session_paths * sizeof(*ret));
	return n_session_paths;
}

const char *rudp_session_refusal(const struct rudp_session *s, struct datagram_addr *ret_from)
{
	return "";
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

struct fake_call call_take(unsigned i)
{
	struct fake_call c;

	assert_true(i < n_calls);
	c = calls[i];
	memmove(&calls[i], &calls[i + 1], (n_calls - i - 1) * sizeof(calls[0]));
	n_calls--;
	return c;
}

struct fuse_in_header call_header(unsigned i)
{
	struct fuse_in_header h;

	assert_true(i < n_calls && calls[i].len >= sizeof(h));
	memcpy(&h, calls[i].msg, sizeof(h));
	if (h.opcode != FUSE_PROTO_RDMA && h.opcode != FUSE_PROTO_RDMA_PING)
		assert_true(h.len + sizeof(struct fuse_proto_req_tail) <= calls[i].len);
	return h;
}

void kernel_send_to(struct rig *g, uint32_t opcode, uint64_t unique, uint64_t nodeid,
		    const void *arg, size_t arg_len)
{
	static uint8_t msg[256 << 10];
	struct fuse_in_header h = {.len = (uint32_t)(sizeof(h) + arg_len),
				   .opcode = opcode,
				   .unique = unique,
				   .uid = 1000,
				   .gid = 100,
				   .pid = (uint32_t)getpid(),
				   .nodeid = nodeid};

	assert_true(h.len <= sizeof(msg));
	memcpy(msg, &h, sizeof(h));
	if (arg_len)
		memcpy(msg + sizeof(h), arg, arg_len);
	assert_int_equal(write(g->kernel, msg, h.len), h.len);
}

void kernel_send(struct rig *g, uint32_t opcode, uint64_t unique, const void *arg, size_t arg_len)
{
	kernel_send_to(g, opcode, unique, FUSE_ROOT_ID, arg, arg_len);
}

size_t kernel_receive(struct rig *g, struct fuse_out_header *ret, void *data, size_t size)
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

void expect_reply(struct rig *g, uint64_t unique, int error)
{
	struct fuse_out_header out = {0};

	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	assert_true(out.unique == unique);
	assert_int_equal(out.error, error);
}

void expect_silence(struct rig *g)
{
	struct fuse_out_header out;

	assert_int_equal(kernel_receive(g, &out, NULL, 0), 0);
}

void kernel_init(struct rig *g, uint32_t minor, uint64_t flags)
{
	struct fuse_init_in in = {.major = 7,
				  .minor = minor,
				  .max_readahead = 128 << 10,
				  .flags = (uint32_t)flags | FUSE_INIT_EXT,
				  .flags2 = (uint32_t)(flags >> 32)};

	kernel_send(g, FUSE_INIT, 2, &in, sizeof(in));
}

uint64_t later_ns;

uint64_t clock_later_ns(void)
{
	return later_ns;
}

void client_start(struct rig *g)
{
	n_calls = 0;
	calls_limit = CALLS_MAX;
	assert_int_equal(fuse_client_new(g->cfg, 0, g->proc_fd, NULL, &g->stats, NOW0, &g->f), 0);
	later_ns = 0;
	g->f->clock_ns = clock_later_ns;
}

int rig_setup(void **state)
{
	return rig_setup_rdma(state, 0);
}

int rig_setup_rdma(void **state, unsigned n_legs)
{
	struct rig *g = calloc(1, sizeof(*g));
	int sv[2], bytes = 1 << 20;

	assert_non_null(g);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
	setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	setsockopt(sv[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	g->kernel = sv[0];
	g->dev = sv[1];
	g->cfg = calloc(1, sizeof(*g->cfg));
	assert_non_null(g->cfg);
	g->cfg->n_mounts = 1;
	g->cfg->mounts[0].fuse_fd = g->dev;
	g->cfg->mounts[0].soft_s = 30;
	g->cfg->mounts[0].n_addrs = 1; /* without an address, a client does not connect */
	g->cfg->mounts[0].state_fd = memfd_create("state", MFD_CLOEXEC);
	g->proc_fd = -1;
	g->server = (struct fuse_proto_server){.incarnation = 1, .verifier = 1};
	g->unique = 1000;
	g->now_ns = NOW0;
	memset(g->cfg->mounts[0].id, 7, 16);
	g->cfg->n_ports = n_legs;
	for (unsigned i = 0; i < n_legs; i++)
		g->cfg->ports[i].rdma = true;
	client_start(g);
	*state = g;
	return 0;
}

int rig_teardown(void **state)
{
	struct rig *g = *state;

	fuse_client_free(g->f);
	close(g->kernel);
	close(g->dev);
	close(g->cfg->mounts[0].state_fd);
	if (g->proc_fd >= 0)
		close(g->proc_fd);
	free(g->cfg);
	free(g);
	return 0;
}

struct tail tail_make(unsigned flags, unsigned n_handles)
{
	struct fuse_proto_resp_tail t = {.flags = (uint16_t)flags,
					 .n_handles = (uint16_t)n_handles};
	struct tail tail = {.len = sizeof(t)};

	memcpy(tail.bytes, &t, sizeof(t));
	return tail;
}

void tail_add(struct tail *t, const void *p, size_t len)
{
	memcpy(t->bytes + t->len, p, len);
	t->len += len;
}

void tail_add_handle(struct tail *t, const char *handle)
{
	t->bytes[t->len++] = (uint8_t)strlen(handle);
	tail_add(t, handle, strlen(handle));
}

void respond_tail(struct rig *g, unsigned call, int error, const void *data, size_t len,
		  const struct tail *tail)
{
	struct fake_call c = call_take(call);
	struct fuse_out_header out = {.len = (uint32_t)(sizeof(out) + len), .error = error};
	size_t tail_len = tail ? tail->len : 0;
	uint8_t *buf = fuse_client_buf_get(g->f, c.cookie, sizeof(out) + len + tail_len);

	assert_non_null(buf);
	memcpy(buf, &out, sizeof(out));
	if (len)
		memcpy(buf + sizeof(out), data, len);
	if (tail)
		memcpy(buf + out.len, tail->bytes, tail_len);
	fuse_client_response(g->f, c.cookie, 0, buf, out.len + tail_len, g->now_ns);
}

void respond(struct rig *g, unsigned call, int error, const void *data, size_t len)
{
	respond_tail(g, call, error, data, len, NULL);
}

void respond_empty(struct rig *g, unsigned call)
{
	struct fake_call c = call_take(call);

	fuse_client_response(g->f, c.cookie, 0, NULL, 0, g->now_ns);
}

void reset_all(struct rig *g, uint64_t now_ns)
{
	while (n_calls > 0) {
		struct fake_call c = call_take(0);

		fuse_client_response(g->f, c.cookie, -ECONNRESET, NULL, 0, now_ns);
	}
}

void respond_init(struct rig *g)
{
	const struct fuse_init_out init = {
		.major = 7,
		.minor = 38,
		.unused = {g->features, [FUSE_PROTO_INIT_EPOCH] = g->lock_epoch,
			   [FUSE_PROTO_INIT_RECLAIM] = g->reclaims}};
	struct tail t = tail_make(FUSE_PROTO_RESP_SERVER, 1);

	assert_int_equal(call_header(0).opcode, FUSE_INIT);
	tail_add(&t, &g->server, sizeof(g->server));
	tail_add_handle(&t, "root");
	respond_tail(g, 0, 0, &init, sizeof(init), &t);
	fuse_client_tick(g->f, g->now_ns);
}

void session_up(struct rig *g)
{
	session.up = true;
	fuse_client_event(g->f, RUDP_SESSION_UP, 0, g->now_ns);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
}

void bring_up(struct rig *g)
{
	struct fuse_out_header out;

	kernel_init(g, 44, ~0ULL);
	assert_int_equal(fuse_client_pull(g->f, true, g->now_ns), 1);
	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	session_up(g);
	respond_init(g);
	assert_true(fuse_client_is_ready(g->f));
}

void server_restarts(struct rig *g, uint64_t incarnation, uint64_t verifier)
{
	g->server = (struct fuse_proto_server){.incarnation = incarnation, .verifier = verifier};
	reset_all(g, g->now_ns);
	fuse_client_event(g->f, RUDP_SESSION_RESTARTED, 0, g->now_ns);
	fuse_client_tick(g->f, g->now_ns);
	respond_init(g);
}

void worker_restarts(struct rig *g)
{
	struct fuse_out_header out;

	fuse_client_free(g->f);
	client_start(g);
	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	assert_true(out.unique == 0 && out.error == FUSE_PROTO_NOTIFY_RESEND);
	session_up(g);
	respond_init(g);
}

/* ---- whole exchanges ---- */

struct fuse_proto_req_tail call_tail(unsigned i)
{
	struct fuse_proto_req_tail t;

	memcpy(&t, calls[i].msg + call_header(i).len, sizeof(t));
	return t;
}

void expect_handle(unsigned i, unsigned k, const char *handle)
{
	const uint8_t *p = calls[i].msg + call_header(i).len + sizeof(struct fuse_proto_req_tail);

	assert_true(k < call_tail(i).n_handles);
	while (k-- > 0)
		p += 1 + p[0];
	assert_int_equal(p[0], strlen(handle));
	assert_memory_equal(p + 1, handle, p[0]);
	assert_true(p + 1 + p[0] <= calls[i].msg + calls[i].len);
}

struct fuse_entry_out entry_make(uint32_t mode)
{
	return (struct fuse_entry_out){.nodeid = 1, .attr = {.ino = 7, .mode = mode, .nlink = 1}};
}

struct fuse_entry_out lookup_as(struct rig *g, const char *name, const char *handle, uint32_t mode)
{
	struct fuse_entry_out e = entry_make(mode);
	struct tail t = tail_make(0, 1);
	struct fuse_out_header out;

	kernel_send(g, FUSE_LOOKUP, g->unique += 2, name, strlen(name) + 1);
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	tail_add_handle(&t, handle);
	respond_tail(g, n_calls - 1, 0, &e, sizeof(e), &t);
	assert_int_equal(kernel_receive(g, &out, &e, sizeof(e)), sizeof(out) + sizeof(e));
	assert_int_equal(out.error, 0);
	return e;
}

uint64_t lookup(struct rig *g, const char *name, const char *handle)
{
	return lookup_as(g, name, handle, S_IFREG | 0644).nodeid;
}

void forget(struct rig *g, uint64_t nodeid, uint64_t n)
{
	struct fuse_forget_in in = {.nlookup = n};

	kernel_send_to(g, FUSE_FORGET, g->unique += 2, nodeid, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
}

struct fuse_open_out open_with(struct rig *g, uint64_t nodeid, uint32_t flags, uint64_t server_fh,
			       const struct fuse_attr *attr)
{
	struct fuse_open_in in = {.flags = flags};
	struct fuse_open_out o = {.fh = server_fh};
	struct tail t = tail_make(attr ? FUSE_PROTO_RESP_ATTR : 0, 0);
	struct fuse_out_header out;

	kernel_send_to(g, FUSE_OPEN, g->unique += 2, nodeid, &in, sizeof(in));
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	if (attr)
		tail_add(&t, attr, sizeof(*attr));
	respond_tail(g, n_calls - 1, 0, &o, sizeof(o), &t);
	assert_int_equal(kernel_receive(g, &out, &o, sizeof(o)), sizeof(out) + sizeof(o));
	assert_int_equal(out.error, 0);
	return o;
}

uint64_t open_file(struct rig *g, uint64_t nodeid, uint64_t server_fh)
{
	return open_with(g, nodeid, O_RDWR, server_fh, NULL).fh;
}

void kernel_write(struct rig *g, uint64_t nodeid, uint64_t fh, const void *data, size_t len)
{
	static uint8_t arg[128 << 10];
	struct fuse_write_in in = {.fh = fh, .size = (uint32_t)len};

	assert_true(sizeof(in) + len <= sizeof(arg));
	memcpy(arg, &in, sizeof(in));
	memcpy(arg + sizeof(in), data, len);
	kernel_send_to(g, FUSE_WRITE, g->unique += 2, nodeid, arg, sizeof(in) + len);
	fuse_client_pull(g->f, true, g->now_ns);
}

void write_some(struct rig *g, uint64_t nodeid, uint64_t fh)
{
	struct fuse_write_out out = {.size = 4};

	kernel_write(g, nodeid, fh, "data", 4);
	respond(g, n_calls - 1, 0, &out, sizeof(out));
	expect_reply(g, g->unique, 0);
}

void kernel_fsync(struct rig *g, uint64_t nodeid, uint64_t fh)
{
	struct fuse_fsync_in in = {.fh = fh};

	kernel_send_to(g, FUSE_FSYNC, g->unique += 2, nodeid, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
}

void expect_fsync(struct rig *g, uint64_t nodeid, uint64_t fh, int error)
{
	kernel_fsync(g, nodeid, fh);
	respond(g, n_calls - 1, 0, NULL, 0);
	expect_reply(g, g->unique, error);
}

void kernel_release(struct rig *g, uint64_t nodeid, uint64_t fh)
{
	struct fuse_release_in in = {.fh = fh};

	kernel_send_to(g, FUSE_RELEASE, g->unique += 2, nodeid, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	expect_reply(g, g->unique, 0);
}
