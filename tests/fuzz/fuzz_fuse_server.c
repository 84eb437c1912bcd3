/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arbitrary requests of a client, carried out by the server end on a private export, with a watcher
 * outside it: any access there ends the process. Input: minor version and flags of INIT (1 and 8
 * bytes); then records of operation, choice of nodes (two), choice of file handle, kind of invalid
 * tail, length (2 bytes) and as many bytes of arguments. Nodes and file handles are chosen from
 * those in earlier answers.
 */
#include "dataplane/fuse/helper/fs_helper.h"
#include "dataplane/fuse/helper/fuse_handle.h"
#include "dataplane/fuse/proto/fuse_hello.h"
#include "dataplane/fuse/server/fuse_server.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define RECORDS_MAX 64
#define RECORD_HEAD 7
#define OP_RDMA 255 /* FUSE_PROTO_RDMA, which is larger than a byte */
#define OP_PING 254 /* FUSE_PROTO_RDMA_PING */
#define KNOWN_MAX 32
#define ARGS_MAX 512

struct rudp_call {
	void *user, *token;
	size_t len;
	bool answered;
	uint8_t reply[RUDP_MSG_BYTES_MAX];
};

static struct {
	char dir[64], export[80];
	int watch;
	struct launch_config cfg;
	struct launch_stats stats;
	struct fuse_server *server;
	struct fs_helper *helpers;
	struct fuse_server_client *client;
	struct rudp_call call;
	struct fuse_handle handles[KNOWN_MAX];
	uint64_t fhs[KNOWN_MAX];
	unsigned n_handles, n_fhs;
	uint64_t unique, now_ns;
} g;

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	abort();
}

void rudp_respond(struct rudp_call *call, const void *msg, size_t len, void *token)
{
	if (call->answered || len > sizeof(call->reply))
		fail("a second answer, or one that is too long");
	memcpy(call->reply, msg, len);
	call->len = len;
	call->answered = true;
	call->token = token;
}

unsigned rudp_session_paths(const struct rudp_session *s, struct rudp_path_info *ret, unsigned max)
{
	return 0;
}

void rudp_session_close(struct rudp_session *s, uint64_t now_ns)
{
}

enum rudp_standing rudp_session_standing(struct rudp_session *s)
{
	return RUDP_STANDING_GOOD;
}

void rudp_responses_short(struct rudp *r)
{
}

enum rudp_security rudp_session_security(const struct rudp_session *s)
{
	return RUDP_SECURITY_NONE;
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

static bool on_hold(void *user, uint32_t export_index, uint64_t key, int fd)
{
	return true;
}

/* ------------------------------------------------------------------ the export and its watcher */

static void put(const char *dir, const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		fail("cannot make a file");
}

static void fill(void)
{
	char path[128], secret[128];

	snprintf(secret, sizeof(secret), "%s/secret", g.dir);
	put(g.export, "f", "text");
	snprintf(path, sizeof(path), "%s/d", g.export);
	if (mkdir(path, 0755) < 0)
		fail("cannot make a folder");
	put(path, "g", "more");
	snprintf(path, sizeof(path), "%s/up", g.export);
	if (symlink("..", path) < 0)
		fail("cannot make a link");
	snprintf(path, sizeof(path), "%s/l", g.export);
	if (symlink(secret, path) < 0)
		fail("cannot make a link");
}

static int on_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	if (ftw->level > 0)
		(void)remove(path);
	return 0;
}

static void empty(const char *dir)
{
	nftw(dir, on_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Events of the export's own folder arrive here, too, with its name. */
static void look(void)
{
	_Alignas(struct inotify_event) uint8_t events[4096];
	ssize_t n = read(g.watch, events, sizeof(events));

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *e = (const void *)(events + at);

		if (e->len == 0 || strcmp(e->name, "export") != 0) {
			fprintf(stderr, "outside the export: %s, event %x\n",
				e->len ? e->name : "its parent", e->mask);
			abort();
		}
		at += (ssize_t)(sizeof(*e) + e->len);
	}
}

static void teardown(void)
{
	g.server = fuse_server_free(g.server);
	g.helpers = fs_helper_free(g.helpers);
	close(g.watch);
	close(g.cfg.exports[0].dir_fd);
	umount2(g.dir, MNT_DETACH);
	rmdir(g.dir);
}

static void setup(void)
{
	struct fs_helper_config cfg = {
		.worker_id = 7,
		.key_fd = memfd_create("key", MFD_CLOEXEC),
		.n_exports = 1,
		.exports = {{.name = "e", .state_fd = -1}},
		.arena_bytes = fuse_server_arena_bytes(),
	};
	struct reason why;

	snprintf(g.dir, sizeof(g.dir), "/tmp/fuzz-back-XXXXXX");
	if (!mkdtemp(g.dir))
		fail("no folder");
	/* A small private file system: allocations do not use the host's. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("fuzz", g.dir, "tmpfs", 0, "size=8m,nr_inodes=1000") < 0)
		fail("no file system");
	snprintf(g.export, sizeof(g.export), "%s/export", g.dir);
	put(g.dir, "secret", "not yours");
	if (mkdir(g.export, 0755) < 0)
		fail("no export");
	g.cfg.n_exports = 1;
	strcpy(g.cfg.exports[0].name, "e");
	g.cfg.exports[0].n_clients = g.cfg.n_clients = 1; /* all clients, without squashing */
	strcpy(g.cfg.host, "host");
	g.cfg.exports[0].dir_fd = open(g.export, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g.cfg.exports[0].state_fd = -1;
	if (write(cfg.key_fd, "0123456789abcdef", 16) != 16)
		fail("no key");
	g.watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (inotify_add_watch(g.watch, g.dir, IN_ALL_EVENTS) < 0 ||
	    fs_helper_start(&cfg, &g.helpers, &why) < 0 ||
	    fs_helper_roots(g.helpers, &g.cfg.exports[0].dir_fd, 0, 0, &why) < 0 ||
	    fuse_server_new(&g.cfg, NULL, &g.stats, on_hold, NULL, g.helpers, 0, &g.server) < 0)
		fail("no server end");
	atexit(teardown);
}

/* ------------------------------------------------------------------ the client */

static void learn(const struct fuse_out_header *out)
{
	struct fuse_proto_resp_tail t;
	const uint8_t *p = g.call.reply + out->len, *end = g.call.reply + g.call.len;

	if (p + sizeof(t) > end)
		return;
	memcpy(&t, p, sizeof(t));
	p += sizeof(t);
	p += t.flags & FUSE_PROTO_RESP_ATTR ? sizeof(struct fuse_attr) : 0;
	p += t.flags & FUSE_PROTO_RESP_SERVER ? sizeof(struct fuse_proto_server) : 0;
	p += t.flags & FUSE_PROTO_RESP_BULK ? sizeof(struct fuse_proto_bulk_done) : 0;
	for (unsigned i = 0; i < t.n_handles; i++) {
		struct fuse_handle *h = &g.handles[g.n_handles % KNOWN_MAX];

		if (p >= end || p[0] == 0 || p[0] > sizeof(h->bytes) || p + 1 + p[0] > end)
			fail("a handle is not whole");
		memcpy(h, p, 1U + p[0]);
		g.n_handles++;
		p += 1 + p[0];
	}
	if (p != end)
		fail("a tail has bytes behind it");
}

static void learn_fh(uint32_t opcode)
{
	const uint8_t *p = g.call.reply + sizeof(struct fuse_out_header);
	struct fuse_open_out o;

	if (opcode == FUSE_CREATE || opcode == FUSE_TMPFILE)
		p += sizeof(struct fuse_entry_out);
	else if (opcode != FUSE_OPEN && opcode != FUSE_OPENDIR)
		return;
	memcpy(&o, p, sizeof(o));
	g.fhs[g.n_fhs++ % KNOWN_MAX] = o.fh;
}

static void ask(const uint8_t *msg, size_t len, uint32_t opcode)
{
	void *buf = fuse_server_buf_get(g.server, 0, len);
	struct fuse_out_header out;

	if (!buf)
		fail("no buffer");
	g.call.answered = false;
	fuse_server_request(g.client, &g.call, memcpy(buf, msg, len), len);
	while (!g.call.answered) {
		struct pollfd p = {.fd = fuse_server_helpers_fd(g.server), .events = POLLIN};

		if (fuse_server_poll(g.server, g.now_ns, true) == 0)
			poll(&p, 1, 1);
	}
	fuse_server_sent(g.server, g.call.token);
	if (g.call.len == 0)
		return;
	memcpy(&out, g.call.reply, sizeof(out));
	if (g.call.len < sizeof(out) || out.len > g.call.len ||
	    (out.error != 0 && g.call.len != sizeof(out)))
		fail("an answer is not whole");
	if (out.error == 0) {
		learn(&out);
		learn_fh(opcode);
	}
}

static bool session_begin(uint8_t minor, uint64_t flags)
{
	struct fuse_hello h = {.mount_id = {1}, .export_name = "e", .server_host = "host"};
	struct {
		struct fuse_in_header in;
		struct fuse_init_in init;
	} msg = {
		.in = {.len = sizeof(msg), .opcode = FUSE_INIT, .unique = g.unique += 2},
		.init = {.major = FUSE_PROTO_MAJOR,
			 .minor = minor,
			 .flags = (uint32_t)flags,
			 .flags2 = (uint32_t)(flags >> 32)},
	};
	bool ours = minor >= FUSE_PROTO_MINOR_MIN && minor <= FUSE_PROTO_MINOR_MAX &&
		    !(flags & ~FUSE_PROTO_FLAGS);
	uint8_t hello[FUSE_HELLO_BYTES];
	struct fuse_out_header out;

	fuse_hello_put(hello, &h);
	if (fuse_server_accept(g.server, NULL, NULL, hello, sizeof(hello), &g.client) < 0)
		fail("no session");
	ask((const uint8_t *)&msg, sizeof(msg), FUSE_INIT);
	memcpy(&out, g.call.reply, sizeof(out));
	if ((out.error == 0) != ours)
		fail("INIT is not judged by its version and flags");
	return ours;
}

/* Checks the server's record of a client's hello. */
static void hello_look(const uint8_t *data, size_t size)
{
	struct fuse_server_client *c;

	if (fuse_server_accept(g.server, NULL, NULL, data, size, &c) < 0)
		return;
	if (data[26] >= FUSE_HELLO_PURPOSE_MAX)
		fail("a hello without a purpose");
	fuse_server_client_gone(c);
}

static size_t put_handle(uint8_t *to, uint8_t choice)
{
	const struct fuse_handle *h = &g.handles[choice % KNOWN_MAX];

	memcpy(to, h, 1U + h->len);
	if (choice & 0x80 && h->len > 0) /* one bit is wrong */
		to[1 + (choice & 0x7f) % h->len] ^= 1;
	return 1U + h->len;
}

/* rec: RECORD_HEAD bytes; args: len bytes. */
static void request(const uint8_t *rec, const uint8_t *args, size_t len, bool in_session)
{
	static _Alignas(8) uint8_t msg[sizeof(struct fuse_in_header) + ARGS_MAX + 256];
	struct fuse_in_header *in = (void *)msg;
	bool two = rec[0] == FUSE_RENAME || rec[0] == FUSE_RENAME2 || rec[0] == FUSE_LINK ||
		   rec[0] == FUSE_COPY_FILE_RANGE;
	struct fuse_proto_req_tail tail = {.n_handles = two ? 2 : 1};
	size_t n = sizeof(*in) + len;
	struct fuse_out_header out;

	*in = (struct fuse_in_header){.len = (uint32_t)n, .opcode = rec[0], .unique = g.unique};
	if (!(rec[4] & 1))
		in->unique = g.unique += 2;
	else
		in->unique |= FUSE_PROTO_UNIQUE_RESEND;
	if (len > 0)
		memcpy(in + 1, args, len);
	if (rec[3] && len >= sizeof(g.fhs[0]))
		memcpy(in + 1, &g.fhs[rec[3] % KNOWN_MAX], sizeof(g.fhs[0]));
	tail.flags = rec[4] & 2 ? FUSE_PROTO_REQ_REOPEN : rec[4] & 8 ? FUSE_PROTO_REQ_BULK : 0;
	tail.flags |= rec[4] & 16 ? FUSE_PROTO_REQ_ATTR : 0;
	if (rec[0] == OP_RDMA)
		in->opcode = FUSE_PROTO_RDMA;
	if (rec[0] == OP_PING)
		in->opcode = FUSE_PROTO_RDMA_PING;
	memcpy(msg + n, &tail, sizeof(tail));
	n += sizeof(tail);
	n += put_handle(msg + n, rec[1]);
	if (two)
		n += put_handle(msg + n, rec[2]);
	if (rec[4] & 8) { /* this server has no RDMA device: it answers in packets */
		const struct fuse_proto_bulk bulk = {.addr = 4096, .len = rec[2] << 8, .legs = 3};

		memcpy(msg + n, &bulk, sizeof(bulk));
		n += sizeof(bulk);
	}
	if (rec[0] >= OP_PING || rec[0] == FUSE_DESTROY || rec[0] == FUSE_INTERRUPT || rec[4] & 4)
		n = in->len;
	ask(msg, n, rec[0]);
	memcpy(&out, g.call.reply, sizeof(out));
	if (!in_session && rec[0] != FUSE_INIT && g.call.len > 0 && out.error == 0)
		fail("an answer without a session");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t flags;
	bool ours;

	if (size < 1 + sizeof(flags) || geteuid() != 0) /* files are created for their users */
		return 0;
	if (!g.server)
		setup();
	fill();
	g.n_handles = g.n_fhs = 0;
	memset(g.handles, 0, sizeof(g.handles));
	memset(g.fhs, 0, sizeof(g.fhs));
	hello_look(data, size);
	memcpy(&flags, data + 1, sizeof(flags));
	ours = session_begin(data[0], flags);
	data += 1 + sizeof(flags);
	size -= 1 + sizeof(flags);
	for (unsigned i = 0; size >= RECORD_HEAD && i < RECORDS_MAX; i++) {
		size_t len = data[5] | (size_t)data[6] << 8;

		len = MIN_OF(MIN_OF(len, size - RECORD_HEAD), ARGS_MAX);
		request(data, data + RECORD_HEAD, len, ours);
		data += RECORD_HEAD + len;
		size -= RECORD_HEAD + len;
	}
	request((const uint8_t[RECORD_HEAD]){FUSE_DESTROY}, NULL, 0, ours); /* nothing stays open */
	fuse_server_client_gone(g.client);
	for (unsigned i = 1; i < 10; i++) /* seconds pass */
		fuse_server_poll(g.server, g.now_ns += 2 * NSEC_PER_SEC, true);
	empty(g.export);
	look();
	return 0;
}
