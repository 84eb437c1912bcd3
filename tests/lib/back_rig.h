/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client for tests of the server end: sends FUSE requests as a kernel would, one at a time or
 * several, and takes the answers. Stands in for the transport (rudp_respond and the like). Each rig
 * has an export in a fresh directory, by default of the disk's file system.
 */
#ifndef PLENUM_TESTS_UNIT_TEST_BACK_RIG_H
#define PLENUM_TESTS_UNIT_TEST_BACK_RIG_H

#include "dataplane/fuse/fuse_back.h"
#include "dataplane/fuse/fuse_hello.h"
#include "dataplane/fuse/fuse_proto.h"
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cmocka.h>

#define RIG_DEADLINE_NS (10 * NSEC_PER_SEC)

struct rudp_call {
	void *user;
	bool answered, hold; /* hold: the answer is not acknowledged */
	void *token;
	size_t len;
	uint8_t reply[RUDP_MSG_BYTES_MAX];
};

struct rig {
	char dir[64];
	struct launch_config cfg;
	struct launch_stats stats;
	int state_fd;
	struct fuse_keeper *keeper; /* NULL: the server end opens handles itself */
	uint32_t handles;
	struct fuse_back *back;
	struct fuse_back_client *client;
	struct fuse_hello hello;
	uint64_t unique; /* of the last request */
	bool resend;	 /* the next request is marked as sent before */
	uint32_t uid, gid;
	struct rudp_call *call; /* of rig_do */
	/* What is held for the server end, as the agent would. */
	bool deaf; /* wants to hear nothing just now */
	struct rig_held {
		uint32_t mount;
		uint64_t node;
		int fd;
	} held[8];
	unsigned n_held;
	/* The last reply's data. */
	const void *data;
	size_t len;
};

static struct fuse_back *rig_back; /* where acknowledgements go */

void rudp_respond(struct rudp_call *call, const void *msg, size_t len, void *token)
{
	assert_false(call->answered);
	assert_true(len <= sizeof(call->reply));
	memcpy(call->reply, msg, len);
	call->len = len;
	call->answered = true;
	call->token = token;
	if (!call->hold)
		fuse_back_sent(rig_back, token);
}

void rudp_call_set_user(struct rudp_call *call, void *user)
{
	call->user = user;
}

void *rudp_call_user(const struct rudp_call *call)
{
	return call->user;
}

static inline void rig_poll(struct rig *g)
{
	struct pollfd p = {.fd = fuse_back_fd(g->back), .events = POLLIN};

	if (fuse_back_poll(g->back, clock_now_ns()) == 0)
		poll(&p, 1, 5);
}

static inline void rig_wait(struct rig *g, const struct rudp_call *call)
{
	uint64_t end = clock_now_ns() + RIG_DEADLINE_NS;

	while (!call->answered) {
		assert_true(clock_now_ns() < end);
		rig_poll(g);
	}
}

/* Hands one message over; `call` is answered now or later. */
static inline void rig_send_raw(struct rig *g, struct rudp_call *call, const void *msg, size_t len)
{
	void *buf = fuse_back_buf_get(g->back, len);

	assert_non_null(buf);
	memcpy(buf, msg, len);
	call->answered = false;
	fuse_back_request(g->client, call, buf, len);
}

struct rig_req { /* parts that are not there: 0 */
	uint32_t op;
	uint64_t node;
	const void *arg;
	size_t arg_len;
	const char *name, *name2;
	const void *data;
	size_t data_len;
};

static inline void rig_send(struct rig *g, struct rudp_call *call, const struct rig_req *r)
{
	static _Alignas(8) uint8_t msg[RUDP_MSG_BYTES_MAX];
	struct fuse_in_header *in = (void *)msg;
	size_t n = sizeof(*in);

	if (!g->resend)
		g->unique += 2;
	if (r->arg_len)
		memcpy(msg + n, r->arg, r->arg_len);
	n += r->arg_len;
	if (r->name)
		n = (size_t)(stpcpy((char *)msg + n, r->name) + 1 - (char *)msg);
	if (r->name2)
		n = (size_t)(stpcpy((char *)msg + n, r->name2) + 1 - (char *)msg);
	if (r->data_len)
		memcpy(msg + n, r->data, r->data_len);
	n += r->data_len;
	*in = (struct fuse_in_header){
		.len = (uint32_t)n,
		.opcode = r->op,
		.unique = g->unique | (g->resend ? FUSE_PROTO_UNIQUE_RESEND : 0),
		.nodeid = r->node,
		.uid = g->uid,
		.gid = g->gid,
		.pid = 1,
	};
	g->resend = false;
	rig_send_raw(g, call, msg, n);
}

/* The answer's error (0 or negative); g->data and g->len are its data. */
static inline int rig_result(struct rig *g, const struct rudp_call *call)
{
	struct fuse_out_header out;

	rig_wait(g, call);
	if (call->len == 0) {
		g->len = 0;
		return 0;
	}
	assert_true(call->len >= sizeof(out));
	memcpy(&out, call->reply, sizeof(out));
	assert_int_equal(out.len, call->len);
	g->data = call->reply + sizeof(out);
	g->len = call->len - sizeof(out);
	return out.error;
}

static inline int rig_do_(struct rig *g, const struct rig_req *r)
{
	rig_send(g, g->call, r);
	return rig_result(g, g->call);
}
#define rig_do(g, o, n, ...) rig_do_((g), &(struct rig_req){.op = (o), .node = (n), ##__VA_ARGS__})
#define RIG_ARG(a) .arg = &(a), .arg_len = sizeof(a)

static inline int rig_init_session(struct rig *g)
{
	struct fuse_init_in in = {
		.major = 7,
		.minor = 38,
		.max_readahead = FUSE_PROTO_MAX_READAHEAD,
		.flags = (uint32_t)FUSE_PROTO_FLAGS,
		.flags2 = (uint32_t)(FUSE_PROTO_FLAGS >> 32),
	};

	return rig_do(g, FUSE_INIT, 0, RIG_ARG(in));
}

static inline int rig_accept(struct rig *g)
{
	uint8_t hello[FUSE_HELLO_BYTES];

	fuse_hello_put(hello, &g->hello);
	return fuse_back_accept(g->back, NULL, hello, sizeof(hello), &g->client);
}

static inline void rig_connect(struct rig *g)
{
	assert_int_equal(rig_accept(g), 0);
	assert_int_equal(rig_init_session(g), 0);
}

static bool rig_hold(void *user, uint32_t mount, uint64_t node, int fd)
{
	struct rig *g = user;
	unsigned i = 0;

	if (g->deaf)
		return false;
	while (i < g->n_held && (g->held[i].mount != mount || g->held[i].node != node))
		i++;
	if (i < g->n_held) {
		close(g->held[i].fd);
		g->held[i] = g->held[--g->n_held];
	}
	if (fd < 0)
		return true;
	assert_true(g->n_held < sizeof(g->held) / sizeof(g->held[0]));
	assert_true(fcntl(fd, F_GETFL) & O_PATH);
	g->held[g->n_held++] = (struct rig_held){mount, node, fcntl(fd, F_DUPFD_CLOEXEC, 0)};
	return true;
}

static inline void rig_start(struct rig *g)
{
	assert_int_equal(fuse_back_new(&g->cfg, g->state_fd, NULL, &g->stats, rig_hold, g,
				       g->keeper, g->handles, &g->back),
			 0);
	rig_back = g->back;
	rig_connect(g);
}

/* Another process takes over: only the state descriptor goes on. */
static inline void rig_stop(struct rig *g)
{
	fuse_back_client_gone(g->client);
	g->back = fuse_back_free(g->back);
}

static inline void rig_setup(struct rig *g, const char *base)
{
	*g = (struct rig){.state_fd = memfd_create("state", MFD_CLOEXEC)};
	snprintf(g->dir, sizeof(g->dir), "%s/back-XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(g->dir));
	assert_int_equal(chmod(g->dir, 0755), 0);
	g->cfg.n_exports = 1;
	strcpy(g->cfg.exports[0].name, "scratch");
	g->cfg.exports[0].dir_fd = open(g->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(g->cfg.exports[0].dir_fd >= 0);
	strcpy(g->cfg.host, "host-b");
	memcpy(g->hello.mount_id, "0123456789abcdef", 16);
	strcpy(g->hello.export_name, "scratch");
	strcpy(g->hello.client_host, "host-a");
	strcpy(g->hello.server_host, "host-b");
	g->call = calloc(1, sizeof(*g->call));
	assert_non_null(g->call);
	rig_start(g);
}

static inline int rig_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static inline void rig_teardown(struct rig *g)
{
	if (g->back)
		rig_stop(g);
	while (g->n_held > 0)
		close(g->held[--g->n_held].fd);
	close(g->cfg.exports[0].dir_fd);
	close(g->state_fd);
	nftw(g->dir, rig_remove, 16, FTW_DEPTH | FTW_PHYS);
	free(g->call);
}

/* The usual requests. */

static inline uint64_t rig_entry_node(const struct rig *g)
{
	struct fuse_entry_out e;

	assert_true(g->len >= sizeof(e));
	memcpy(&e, g->data, sizeof(e));
	return e.nodeid;
}

static inline int rig_lookup(struct rig *g, uint64_t parent, const char *name, uint64_t *ret)
{
	int r = rig_do(g, FUSE_LOOKUP, parent, .name = name);

	if (r == 0)
		*ret = rig_entry_node(g);
	return r;
}

static inline int rig_mkdir(struct rig *g, uint64_t parent, const char *name, uint64_t *ret)
{
	struct fuse_mkdir_in in = {.mode = 0755};
	int r = rig_do(g, FUSE_MKDIR, parent, RIG_ARG(in), .name = name);

	if (r == 0)
		*ret = rig_entry_node(g);
	return r;
}

static inline int rig_create(struct rig *g, uint64_t parent, const char *name, uint32_t flags,
			     uint32_t mode, uint64_t *ret, uint64_t *ret_fh)
{
	struct fuse_create_in in = {.flags = flags | O_CREAT, .mode = mode | S_IFREG, .umask = 022};
	struct fuse_open_out o;
	int r = rig_do(g, FUSE_CREATE, parent, RIG_ARG(in), .name = name);

	if (r < 0)
		return r;
	*ret = rig_entry_node(g);
	assert_int_equal(g->len, sizeof(struct fuse_entry_out) + sizeof(o));
	memcpy(&o, (const uint8_t *)g->data + sizeof(struct fuse_entry_out), sizeof(o));
	*ret_fh = o.fh;
	return 0;
}

static inline int rig_open(struct rig *g, uint64_t node, uint32_t flags, uint64_t *ret_fh)
{
	struct fuse_open_in in = {.flags = flags};
	struct fuse_open_out o;
	int r = rig_do(g, flags & O_DIRECTORY ? FUSE_OPENDIR : FUSE_OPEN, node, RIG_ARG(in));

	if (r < 0)
		return r;
	assert_int_equal(g->len, sizeof(o));
	memcpy(&o, g->data, sizeof(o));
	*ret_fh = o.fh;
	return 0;
}

/* Bytes written, or negative errno. */
static inline int rig_write(struct rig *g, uint64_t node, uint64_t fh, uint64_t off, uint32_t flags,
			    const void *data, size_t len)
{
	struct fuse_write_in in = {.fh = fh, .offset = off, .size = (uint32_t)len, .flags = flags};
	struct fuse_write_out o;
	int r = rig_do(g, FUSE_WRITE, node, RIG_ARG(in), .data = data, .data_len = len);

	if (r < 0)
		return r;
	memcpy(&o, g->data, sizeof(o));
	return (int)o.size;
}

/* Bytes read (at g->data), or negative errno. */
static inline int rig_read(struct rig *g, uint64_t node, uint64_t fh, uint64_t off, uint32_t len)
{
	struct fuse_read_in in = {.fh = fh, .offset = off, .size = len};
	int r = rig_do(g, FUSE_READ, node, RIG_ARG(in));

	return r < 0 ? r : (int)g->len;
}

static inline int rig_getattr(struct rig *g, uint64_t node, struct fuse_attr *ret)
{
	struct fuse_getattr_in in = {};
	struct fuse_attr_out o;
	int r = rig_do(g, FUSE_GETATTR, node, RIG_ARG(in));

	if (r < 0)
		return r;
	assert_int_equal(g->len, sizeof(o));
	memcpy(&o, g->data, sizeof(o));
	*ret = o.attr;
	return 0;
}

static inline const char *rig_path(const struct rig *g, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", g->dir, name);
	return path;
}

#endif
