/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements server_rig.h. */
#include "tests/lib/fuse/server_rig.h"
#include "netcfg/base/os/folder.h"
#include "tests/lib/fuse/helper_end.h"
#include "tests/lib/fuse/server_turn.h"
#include <sys/fsuid.h>
#include <sys/mman.h>

struct fuse_server *rig_back;

void rudp_respond(struct rudp_call *call, const void *msg, size_t len, void *token)
{
	assert_false(call->answered);
	assert_true(len <= sizeof(call->reply));
	memcpy(call->reply, msg, len);
	call->len = len;
	call->answered = true;
	call->token = token;
	if (!call->hold)
		fuse_server_sent(rig_back, token);
}

unsigned rudp_session_paths(const struct rudp_session *s, struct rudp_path_info *ret, unsigned max)
{
	return 0;
}

void (*rig_on_close)(struct rudp_session *s);

void rudp_session_close(struct rudp_session *s, uint64_t now_ns)
{
	if (rig_on_close)
		rig_on_close(s);
}

enum rudp_standing rig_standing;
unsigned rig_short;

enum rudp_standing rudp_session_standing(struct rudp_session *s)
{
	return rig_standing;
}

void rudp_responses_short(struct rudp *r)
{
	rig_short++;
}

enum rudp_security rudp_session_security(const struct rudp_session *s)
{
	return RUDP_SECURITY_NONE;
}

bool rudp_session_answers(const struct rudp_session *s)
{
	return true;
}

uint64_t rig_heard_ns;

uint64_t rudp_session_heard_ns(const struct rudp_session *s)
{
	return rig_heard_ns ? rig_heard_ns : clock_now_ns();
}

unsigned rudp_session_index(const struct rudp_session *s)
{
	return 0;
}

void rudp_call_set_user(struct rudp_call *call, void *user)
{
	call->user = user;
}

void *rudp_call_user(const struct rudp_call *call)
{
	return call->user;
}

void rig_poll(struct rig *g)
{
	struct pollfd p[] = {{.fd = fuse_server_fd(g->server), .events = POLLIN},
			     {.fd = fuse_server_helpers_fd(g->server), .events = POLLIN}};

	if (server_turn(g->server, clock_now_ns(), true) == 0)
		poll(p, 2, 5);
}

void rig_wait(struct rig *g, const struct rudp_call *call)
{
	uint64_t end = clock_now_ns() + RIG_DEADLINE_NS;

	while (!call->answered) {
		assert_true(clock_now_ns() < end);
		rig_poll(g);
	}
}

void rig_send_raw(struct rig *g, struct rudp_call *call, const void *msg, size_t len)
{
	void *buf = fuse_server_buf_get(g->server, 0, len);

	assert_non_null(buf);
	memcpy(buf, msg, len);
	call->answered = false;
	fuse_server_request(g->client, call, buf, len, clock_now_ns() - g->late_ns);
}

/* Returns the client's node number of the object with this handle, which it adds if the handle is
 * new. */
static uint64_t rig_node(struct rig *g, const uint8_t *bytes, size_t len)
{
	struct fuse_handle h = {.len = (uint8_t)len};
	unsigned i = 0;

	assert_true(len > 0 && len <= sizeof(h.bytes));
	memcpy(h.bytes, bytes, len);
	while (i < g->n_nodes && !fuse_handle_equal(&g->nodes[i], &h))
		i++;
	if (i == g->n_nodes) {
		assert_true(g->n_nodes < RIG_NODES_MAX);
		g->nodes[g->n_nodes++] = h;
	}
	return i + 1;
}

static size_t rig_put_handle(const struct rig *g, uint8_t *to, uint64_t node)
{
	if (node == 0 || node > g->n_nodes) { /* an unknown node */
		to[0] = sizeof(node);
		memcpy(to + 1, &node, sizeof(node));
	} else {
		memcpy(to, &g->nodes[node - 1], 1U + g->nodes[node - 1].len);
	}
	return 1U + to[0];
}

size_t rig_put_tail(const struct rig *g, uint8_t *to, const struct rig_req *r)
{
	struct fuse_proto_req_tail tail = {.flags = r->flags, .n_handles = 1};
	size_t n = sizeof(tail);
	uint64_t second = 0;

	if (r->op == FUSE_INIT || r->op == FUSE_DESTROY || r->op == FUSE_INTERRUPT ||
	    r->op == FUSE_PROTO_RDMA || r->op == FUSE_PROTO_RDMA_PING)
		return 0;
	n += rig_put_handle(g, to + n, r->node);
	if (r->op == FUSE_RENAME || r->op == FUSE_RENAME2 || r->op == FUSE_LINK)
		second = r->arg ? *(const uint64_t *)r->arg : r->node;
	if (r->op == FUSE_COPY_FILE_RANGE)
		second = r->arg ? ((const struct fuse_copy_file_range_in *)r->arg)->nodeid_out
				: r->node;
	if (second) {
		tail.n_handles = 2;
		n += rig_put_handle(g, to + n, second);
	}
	memcpy(to, &tail, sizeof(tail));
	if (r->bulk.len) {
		memcpy(to + n, &r->bulk, sizeof(r->bulk));
		n += sizeof(r->bulk);
	}
	return n;
}

static void rig_patch_fh(const struct rig *g, uint8_t *at)
{
	uint64_t fh;

	memcpy(&fh, at, sizeof(fh));
	if (fh < RIG_FH || fh >= RIG_FH + g->n_files)
		return;
	memcpy(at, &g->files[fh - RIG_FH].fh, sizeof(fh));
}

/* Replaces the rig's file handles in the arguments by the server's. */
static void rig_patch(const struct rig *g, uint32_t op, uint8_t *arg)
{
	switch (op) {
	case FUSE_COPY_FILE_RANGE:
		rig_patch_fh(g, arg + offsetof(struct fuse_copy_file_range_in, fh_out));
		rig_patch_fh(g, arg);
		break;
	case FUSE_READ:
	case FUSE_READDIR:
	case FUSE_READDIRPLUS:
	case FUSE_WRITE:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FSYNC:
	case FUSE_FSYNCDIR:
	case FUSE_FALLOCATE:
	case FUSE_LSEEK:
	case FUSE_SETLK:
	case FUSE_SETLKW:
	case FUSE_FLUSH:
		rig_patch_fh(g, arg);
		break;
	case FUSE_GETATTR:
		rig_patch_fh(g, arg + offsetof(struct fuse_getattr_in, fh));
		break;
	case FUSE_SETATTR:
		rig_patch_fh(g, arg + offsetof(struct fuse_setattr_in, fh));
		break;
	default:
		break;
	}
}

void rig_send(struct rig *g, struct rudp_call *call, const struct rig_req *r)
{
	static _Alignas(8) uint8_t msg[RUDP_MSG_BYTES_MAX];
	struct fuse_in_header *in = (void *)msg;
	size_t n = sizeof(*in);

	if (!g->resend && !r->unique)
		g->unique += 2;
	if (r->arg_len) {
		memcpy(msg + n, r->arg, r->arg_len);
		rig_patch(g, r->op, msg + n);
	}
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
		.unique = (r->unique ? r->unique : g->unique) |
			  (g->resend ? FUSE_PROTO_UNIQUE_RESEND : 0),
		.nodeid = r->node,
		.uid = g->uid,
		.gid = g->gid,
		.pid = 1,
	};
	g->resend = false;
	rig_send_raw(g, call, msg, n + rig_put_tail(g, msg + n, r));
}

int rig_result(struct rig *g, const struct rudp_call *call)
{
	struct fuse_out_header out;

	rig_wait(g, call);
	g->len = g->tail_len = 0;
	if (call->len == 0)
		return 0;
	assert_true(call->len >= sizeof(out));
	memcpy(&out, call->reply, sizeof(out));
	assert_true(out.len >= sizeof(out) && out.len <= call->len);
	g->data = call->reply + sizeof(out);
	g->len = out.len - sizeof(out);
	g->tail = call->reply + out.len;
	g->tail_len = call->len - out.len;
	assert_true(out.error == 0 || (g->len == 0 && g->tail_len == 0));
	return out.error;
}

int rig_do_(struct rig *g, const struct rig_req *r)
{
	rig_send(g, g->call, r);
	return rig_result(g, g->call);
}

uint64_t rig_tail_node(struct rig *g, unsigned i, uint16_t what)
{
	struct fuse_proto_resp_tail t;
	const uint8_t *p = g->tail + sizeof(t), *end = g->tail + g->tail_len;

	assert_true(g->tail_len >= sizeof(t));
	memcpy(&t, g->tail, sizeof(t));
	assert_int_equal(t.flags, what);
	assert_true(i < t.n_handles);
	if (t.flags & FUSE_PROTO_RESP_ATTR)
		p += sizeof(struct fuse_attr);
	if (t.flags & FUSE_PROTO_RESP_SERVER)
		p += sizeof(struct fuse_proto_server);
	for (; i > 0 && p < end; i--)
		p += 1 + p[0];
	assert_true(p < end && p + p[0] < end);
	return rig_node(g, p + 1, p[0]);
}

int rig_init_session(struct rig *g)
{
	struct fuse_init_in in = {
		.major = 7,
		.minor = 38,
		.max_readahead = FUSE_PROTO_MAX_READAHEAD,
		.flags = (uint32_t)FUSE_PROTO_FLAGS,
		.flags2 = (uint32_t)(FUSE_PROTO_FLAGS >> 32),
	};
	int r = rig_do(g, FUSE_INIT, 0, RIG_ARG(in), .unique = g->own_unique += 2);

	if (r < 0)
		return r;
	g->n_nodes = g->n_nodes ? g->n_nodes : 1;
	g->nodes[0].len = 0;
	if (rig_tail_node(g, 0, FUSE_PROTO_RESP_SERVER) == g->n_nodes)
		g->nodes[0] = g->nodes[--g->n_nodes];
	return 0;
}

void rig_reopen(struct rig *g)
{
	struct fuse_proto_server was = g->identity;

	memcpy(&g->identity, g->tail + sizeof(struct fuse_proto_resp_tail), sizeof(g->identity));
	if (g->identity.incarnation == was.incarnation)
		return;
	for (unsigned i = 0; i < g->n_files; i++) {
		struct rig_file *f = &g->files[i];
		struct fuse_open_in in = {.flags = f->flags};
		struct fuse_open_out o = {};
		int r;

		if (!f->fh)
			continue;
		r = rig_do(g, f->flags & O_DIRECTORY ? FUSE_OPENDIR : FUSE_OPEN, f->node,
			   RIG_ARG(in), .flags = FUSE_PROTO_REQ_REOPEN,
			   .unique = g->own_unique += 2);
		if (r == 0)
			memcpy(&o, g->data, sizeof(o));
		else
			g->reopen_r = r;
		f->fh = o.fh;
	}
}

int rig_accept(struct rig *g)
{
	uint8_t hello[FUSE_HELLO_BYTES];

	fuse_hello_put(hello, &g->hello);
	return fuse_server_accept(g->server, NULL, NULL, hello, sizeof(hello), &g->client);
}

void rig_connect(struct rig *g)
{
	assert_int_equal(rig_accept(g), 0);
	assert_int_equal(rig_init_session(g), 0);
	rig_reopen(g);
}

void rig_hear_late(struct rig *g)
{
	struct rig *holder = g->holder ? g->holder : g;

	assert_true(g->late.fd >= 0);
	holder->held[holder->n_held++] = g->late;
	g->late.fd = -1;
	g->holds_late = false;
}

bool rig_hold(void *user, uint32_t export_index, uint64_t key, int fd)
{
	struct rig *g = user;
	unsigned i = 0;

	assert_int_equal(export_index, 0);
	if (g->holds_late && fd >= 0) {
		g->late = (struct rig_held){key, fcntl(fd, F_DUPFD_CLOEXEC, 0)};
		return true;
	}
	g = g->holder ? g->holder : g;
	if (g->deaf)
		return false;
	while (i < g->n_held && g->held[i].key != key)
		i++;
	if (i < g->n_held) {
		close(g->held[i].fd);
		g->held[i] = g->held[--g->n_held];
	}
	if (fd < 0)
		return true;
	assert_true(g->n_held < sizeof(g->held) / sizeof(g->held[0]));
	assert_true(fcntl(fd, F_GETFL) & O_PATH);
	g->held[g->n_held++] = (struct rig_held){key, fcntl(fd, F_DUPFD_CLOEXEC, 0)};
	return true;
}

void rig_hands(struct rig *g)
{
	struct fs_helper_config cfg = {
		.worker_id = g->cfg.worker_id ? g->cfg.worker_id : 7,
		.key_fd = g->key_fd,
		.n_exports = 1,
		.exports = {{.name = g->cfg.exports[0].name,
			     .state_fd = g->cfg.exports[0].state_fd}},
		.arena_bytes = fuse_server_arena_bytes(),
		.ids = g->cfg.ids,
		.n_ids = g->cfg.n_ids,
	};
	struct reason why = {.code = ""};

	if (fs_helper_start(&cfg, &g->helpers, &why) < 0 ||
	    fs_helper_roots(g->helpers, &g->cfg.exports[0].dir_fd, 0, 0, &why) < 0)
		fail_msg("%s", why.text);
}

void rig_start(struct rig *g)
{
	rig_hands(g);
	assert_int_equal(fuse_server_new(&g->cfg, NULL, &g->stats, rig_hold, g, g->helpers, g->boot,
					 &g->server),
			 0);
	rig_back = g->server;
	rig_connect(g);
}

void rig_stop(struct rig *g)
{
	fuse_server_client_gone(g->client);
	g->server = fuse_server_free(g->server);
	g->helpers = helpers_end(g->helpers);
}

void rig_setup(struct rig *g, const char *base)
{
	*g = (struct rig){.own_unique = 1ULL << 62};
	/* The server of the previous test ran in this thread and may have changed the thread's
	 * identity. */
	setfsuid(0);
	setfsgid(0);
	/* The memory is shared, because some tests run the server in a child process. */
	g->nodes = mmap(NULL, RIG_NODES_MAX * sizeof(*g->nodes), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	g->files = mmap(NULL, RIG_FILES_MAX * sizeof(*g->files), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(g->nodes != MAP_FAILED && g->files != MAP_FAILED);
	snprintf(g->dir, sizeof(g->dir), "%s/back-XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(g->dir));
	assert_int_equal(chmod(g->dir, 0755), 0);
	g->cfg.n_exports = 1;
	strcpy(g->cfg.exports[0].name, "scratch");
	/* The export is for all clients, without squashing. */
	g->cfg.exports[0].n_clients = g->cfg.n_clients = 1;
	g->cfg.exports[0].dir_fd = open(g->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(g->cfg.exports[0].dir_fd >= 0);
	g->cfg.exports[0].state_fd = memfd_create("state", MFD_CLOEXEC);
	g->key_fd = memfd_create("key", MFD_CLOEXEC);
	assert_true(g->cfg.exports[0].state_fd >= 0 && g->key_fd >= 0);
	assert_int_equal(write(g->key_fd, "0123456789abcdef", 16), 16);
	strcpy(g->cfg.host, "host-b");
	memcpy(g->hello.mount_id, "0123456789abcdef", 16);
	strcpy(g->hello.export_name, "scratch");
	strcpy(g->hello.client_host, "host-a");
	strcpy(g->hello.server_host, "host-b");
	g->call = calloc(1, sizeof(*g->call));
	assert_non_null(g->call);
	rig_start(g);
}

void rig_teardown(struct rig *g)
{
	if (g->server)
		rig_stop(g);
	while (g->n_held > 0)
		close(g->held[--g->n_held].fd);
	close(g->cfg.exports[0].dir_fd);
	close(g->cfg.exports[0].state_fd);
	close(g->key_fd);
	folder_remove(g->dir);
	free(g->call);
	munmap(g->nodes, RIG_NODES_MAX * sizeof(*g->nodes));
	munmap(g->files, RIG_FILES_MAX * sizeof(*g->files));
}

/* ---- common requests ---- */

uint64_t rig_entry_node(struct rig *g)
{
	struct fuse_entry_out e;

	assert_true(g->len >= sizeof(e));
	memcpy(&e, g->data, sizeof(e));
	assert_int_equal(e.nodeid, 1);
	return rig_tail_node(g, 0, 0);
}

uint64_t rig_file(struct rig *g, uint64_t node, uint64_t fh, uint32_t flags)
{
	unsigned i = 0;

	while (i < g->n_files && g->files[i].fh != fh)
		i++;
	if (i == g->n_files) {
		assert_true(g->n_files < RIG_FILES_MAX);
		g->files[g->n_files++] = (struct rig_file){node, fh, flags};
	}
	return RIG_FH + i;
}

int rig_release(struct rig *g, uint64_t node, uint64_t fh)
{
	struct fuse_release_in in = {.fh = fh};
	int r = rig_do(g, FUSE_RELEASE, node, RIG_ARG(in));

	g->files[fh - RIG_FH].fh = 0;
	return r;
}

int rig_lookup(struct rig *g, uint64_t parent, const char *name, uint64_t *ret)
{
	int r = rig_do(g, FUSE_LOOKUP, parent, .name = name);

	if (r == 0)
		*ret = rig_entry_node(g);
	return r;
}

int rig_mkdir(struct rig *g, uint64_t parent, const char *name, uint64_t *ret)
{
	struct fuse_mkdir_in in = {.mode = 0755};
	int r = rig_do(g, FUSE_MKDIR, parent, RIG_ARG(in), .name = name);

	if (r == 0)
		*ret = rig_entry_node(g);
	return r;
}

int rig_create(struct rig *g, uint64_t parent, const char *name, uint32_t flags, uint32_t mode,
	       uint64_t *ret, uint64_t *ret_fh)
{
	struct fuse_create_in in = {.flags = flags | O_CREAT, .mode = mode | S_IFREG, .umask = 022};
	struct fuse_open_out o;
	int r = rig_do(g, FUSE_CREATE, parent, RIG_ARG(in), .name = name);

	if (r < 0)
		return r;
	*ret = rig_entry_node(g);
	assert_int_equal(g->len, sizeof(struct fuse_entry_out) + sizeof(o));
	memcpy(&o, (const uint8_t *)g->data + sizeof(struct fuse_entry_out), sizeof(o));
	*ret_fh = rig_file(g, *ret, o.fh, flags);
	return 0;
}

int rig_open(struct rig *g, uint64_t node, uint32_t flags, uint64_t *ret_fh)
{
	struct fuse_open_in in = {.flags = flags};
	struct fuse_open_out o;
	int r = rig_do(g, flags & O_DIRECTORY ? FUSE_OPENDIR : FUSE_OPEN, node, RIG_ARG(in));

	if (r < 0)
		return r;
	assert_int_equal(g->len, sizeof(o));
	memcpy(&o, g->data, sizeof(o));
	g->opened = g->tail_len > 0;
	if (g->opened)
		memcpy(&g->opened_attr, g->tail + sizeof(struct fuse_proto_resp_tail),
		       sizeof(g->opened_attr));
	*ret_fh = rig_file(g, node, o.fh, flags);
	return 0;
}

int rig_write(struct rig *g, uint64_t node, uint64_t fh, uint64_t off, uint32_t flags,
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

int rig_read(struct rig *g, uint64_t node, uint64_t fh, uint64_t off, uint32_t len)
{
	struct fuse_read_in in = {.fh = fh, .offset = off, .size = len};
	int r = rig_do(g, FUSE_READ, node, RIG_ARG(in));

	return r < 0 ? r : (int)g->len;
}

int rig_getattr(struct rig *g, uint64_t node, struct fuse_attr *ret)
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

const char *rig_path(const struct rig *g, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", g->dir, name);
	return path;
}

void rig_put_text(const struct rig *g, const char *name, const char *text)
{
	FILE *f = fopen(rig_path(g, name), "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

bool rig_can(void)
{
	if (geteuid() != 0)
		printf("1..0 # SKIP needs root: files are made for their users\n");
	return geteuid() == 0;
}
