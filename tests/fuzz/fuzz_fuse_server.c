/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arbitrary requests of a client, carried out by the server end on a private export, with a watcher
 * outside it: any access there ends the process. Input: minor version and flags of INIT (1 and 8
 * bytes); then records of operation, choice of nodes (two), choice of file handle, kind of invalid
 * tail, length (2 bytes) and as many bytes of arguments. Nodes and file handles are chosen from
 * those in earlier answers. Before all that an input may have OPTIONS, the client's rule (a byte)
 * and changes of the memory that the server shares with other workers and has from a predecessor:
 * their number, then for each its place, offset (4 bytes), length and bytes.
 */
#include "dataplane/fuse/helper/fs_helper.h"
#include "dataplane/fuse/helper/fuse_handle.h"
#include "dataplane/fuse/proto/fuse_hello.h"
#include "dataplane/fuse/server/base/server_state.h"
#include "dataplane/fuse/server/fuse_server.h"
#include "netcfg/base/log.h"
#include "netcfg/base/os/memfd.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/fuse/server_turn.h"

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
#define OPTIONS 0xff
#define RULE_SQUASH 0x03 /* enum launch_squash */
#define RULE_MAPS 0x04
#define RULE_READ_ONLY 0x08
#define PATCHES_MAX 8
#define WAITS_MAX 5
#define NOBODY 65534
#define UNIQUE_FIRST (UINT64_C(1) << 40)
#define FILLED_MAX 5

enum place { PLACE_STATE, PLACE_SHARE, PLACE_JOURNAL_MOUNT, PLACE_JOURNAL_RECORD, PLACE_MAX };

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
	int state_fd;
	struct journal journal; /* in it */
	bool has_options;
	struct patch {
		int fd;
		off_t at;
		size_t len;
		uint8_t was[256];
	} patches[PATCHES_MAX];
	unsigned n_patches;
	ino_t filled[FILLED_MAX]; /* what no client has made */
	unsigned n_filled;
} g;

static const uint8_t mount_id[16] = {'a', ' ', 'm', 'o', 'u', 'n', 't', ' ',
				     'i', 'd', 1,   2,	 3,   4,   5,	6};

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

bool rudp_session_answers(const struct rudp_session *s)
{
	return true;
}

uint64_t rudp_session_heard_ns(const struct rudp_session *s)
{
	return 1;
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

static void note_filled(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0 || g.n_filled == FILLED_MAX)
		fail("cannot find what was made");
	g.filled[g.n_filled++] = st.st_ino;
}

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

	g.n_filled = 0;
	snprintf(secret, sizeof(secret), "%s/secret", g.dir);
	put(g.export, "f", "text");
	snprintf(path, sizeof(path), "%s/f", g.export);
	note_filled(path);
	snprintf(path, sizeof(path), "%s/d", g.export);
	if (mkdir(path, 0755) < 0)
		fail("cannot make a folder");
	note_filled(path);
	put(path, "g", "more");
	snprintf(path, sizeof(path), "%s/d/g", g.export);
	note_filled(path);
	snprintf(path, sizeof(path), "%s/up", g.export);
	if (symlink("..", path) < 0)
		fail("cannot make a link");
	note_filled(path);
	snprintf(path, sizeof(path), "%s/l", g.export);
	if (symlink(secret, path) < 0)
		fail("cannot make a link");
	note_filled(path);
}

static bool is_filled(ino_t ino)
{
	for (unsigned i = 0; i < g.n_filled; i++)
		if (g.filled[i] == ino)
			return true;
	return false;
}

/* A rule with squash or maps allows the client no files of other users. */
static void check_owner(const struct stat *st)
{
	const struct launch_client *rule = &g.cfg.clients[0];
	bool is_mapped = rule->n_uids > 0 && st->st_uid >= 2000 && st->st_uid < 2010;

	if (rule->squash == LAUNCH_SQUASH_ALL && st->st_uid != NOBODY)
		fail("an object of another user, though all are squashed");
	if (rule->squash == LAUNCH_SQUASH_ROOT && st->st_uid == 0)
		fail("an object of root, who is squashed");
	if (rule->n_uids > 0 && st->st_uid != NOBODY && !is_mapped)
		fail("an object of a user who is not mapped");
	if (rule->read_only)
		fail("a new object in a read-only export");
}

static int on_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	if (ftw->level > 0 && type != FTW_NS && !is_filled(st->st_ino))
		check_owner(st);
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
	journal_close(&g.journal);
	close(g.cfg.share_fd);
	close(g.state_fd);
	umount2(g.dir, MNT_DETACH);
	rmdir(g.dir);
}

static void server_start(void)
{
	if (fuse_server_new(&g.cfg, NULL, &g.stats, on_hold, NULL, g.helpers, 0, &g.server) < 0)
		fail("no server end");
}

static void setup(void)
{
	/* Users and groups 1000 to 1009 of clients. */
	static const struct launch_ids ids[] = {{1000, 2000, 10}, {1000, 2000, 10}};
	struct fs_helper_config cfg = {
		.worker_id = 7,
		.key_fd = memfd_create("key", MFD_CLOEXEC),
		.n_exports = 1,
		.exports = {{.name = "e", .state_fd = -1}},
		.arena_bytes = fuse_server_arena_bytes(),
		.ids = ids,
		.n_ids = ARRAY_SIZE(ids),
	};
	struct reason why;
	int share_fd;

	log_set_level(LOG_LEVEL_ERR - 1); /* no output */
	snprintf(g.dir, sizeof(g.dir), "/tmp/fuzz-back-XXXXXX");
	if (!mkdtemp(g.dir))
		fail("no folder");
	/* A small private file system: allocations do not use the host's. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("fuzz", g.dir, "tmpfs", 0, "size=8m,nr_inodes=1000") < 0)
		fail("no file system");
	snprintf(g.export, sizeof(g.export), "%s/export", g.dir);
	put(g.dir, "secret", "not yours");
	if (mkdir(g.export, 0755) < 0 || chmod(g.export, 01777) < 0)
		fail("no export");
	memcpy(g.cfg.ids, ids, sizeof(ids));
	g.cfg.n_ids = ARRAY_SIZE(ids);
	g.cfg.worker_id = cfg.worker_id;
	g.state_fd = memfd_new_growing("fuse-server");
	share_fd = memfd_new_shared("fuse-share", LAUNCH_SHARE_BYTES);
	g.cfg.share_fd = fcntl(share_fd, F_DUPFD_CLOEXEC, LAUNCH_FD_FIRST);
	close(share_fd);
	if (g.state_fd < 0 || g.cfg.share_fd < 0 || journal_open(&g.journal, g.state_fd) < 0)
		fail("no shared memory");
	cfg.exports[0].state_fd = g.state_fd;
	g.cfg.n_exports = 1;
	strcpy(g.cfg.exports[0].name, "e");
	g.cfg.exports[0].n_clients = g.cfg.n_clients = 1; /* all clients, without squashing */
	strcpy(g.cfg.host, "host");
	g.cfg.exports[0].dir_fd = open(g.export, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g.cfg.exports[0].state_fd = g.state_fd;
	if (write(cfg.key_fd, "0123456789abcdef", 16) != 16)
		fail("no key");
	g.watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (inotify_add_watch(g.watch, g.dir, IN_ALL_EVENTS) < 0 ||
	    fs_helper_start(&cfg, &g.helpers, &why) < 0 ||
	    fs_helper_roots(g.helpers, &g.cfg.exports[0].dir_fd, 0, 0, &why) < 0)
		fail("no helpers");
	atexit(teardown);
}

/* ------------------------------------------------------------------ its memory */

/* The beginning of a place in its file, and its size. */
static off_t place_find(enum place place, unsigned mount, size_t *ret_size)
{
	const size_t ring = JOURNAL_RECORDS * sizeof(struct journal_record);
	const off_t end = (off_t)journal_bytes(),
		    records = end - (off_t)(JOURNAL_MOUNTS_MAX * ring);
	uint8_t head[16 + sizeof(mount_id)];
	off_t at;

	switch (place) {
	case PLACE_STATE:
		*ret_size = sizeof(struct state);
		return (end + 4095) / 4096 * 4096;
	case PLACE_SHARE:
		*ret_size = LAUNCH_SHARE_BYTES;
		return 0;
	case PLACE_JOURNAL_MOUNT: /* its numbers are before its id */
		*ret_size = 16;
		for (at = 0; at < records; at += 8)
			if (pread(g.state_fd, head, sizeof(head), at) == sizeof(head) &&
			    memcmp(head + 16, mount_id, sizeof(mount_id)) == 0)
				return at;
		fail("the journal has no such mount");
	default:
		*ret_size = ring;
		return records + (off_t)(mount * ring);
	}
}

static void patch(enum place place, unsigned mount, uint32_t offset, const uint8_t *data,
		  size_t len)
{
	struct patch *p = &g.patches[g.n_patches++];
	size_t size;
	const off_t at = place_find(place, mount, &size);

	p->fd = place == PLACE_SHARE ? g.cfg.share_fd : g.state_fd;
	p->at = at + offset % size;
	p->len = MIN_OF(len, size - offset % size);
	if (pread(p->fd, p->was, p->len, p->at) < 0 || pwrite(p->fd, data, p->len, p->at) < 0)
		fail("cannot change shared memory");
}

/* A request that waits for another worker still has its memory when the process ends. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static void detect_leaks(bool on)
{
	if (__lsan_disable && __lsan_enable)
		on ? __lsan_enable() : __lsan_disable();
}

/* If the input begins with OPTIONS, starts a new server on memory that another worker or a
 * predecessor has changed. Returns the number of bytes used. */
static size_t options_begin(const uint8_t *data, size_t size)
{
	struct launch_client *rule = &g.cfg.clients[0];
	unsigned mount, n;
	size_t at = 3;

	g.has_options = size >= 3 && data[0] == OPTIONS;
	if (!g.has_options) {
		if (!g.server)
			server_start();
		return 0;
	}
	rule->squash = (data[1] & RULE_SQUASH) % (LAUNCH_SQUASH_ALL + 1);
	rule->n_uids = rule->n_gids = data[1] & RULE_MAPS ? 1 : 0;
	rule->read_only = data[1] & RULE_READ_ONLY;
	rule->anonuid = rule->anongid = NOBODY;
	g.server = fuse_server_free(g.server);
	g.unique = UNIQUE_FIRST;
	if (journal_mount_get(&g.journal, mount_id, &mount) < 0)
		fail("no mount");
	n = MIN_OF(data[2], PATCHES_MAX);
	for (unsigned i = 0; i < n && size - at >= 6; i++) {
		const uint8_t *head = data + at;
		size_t len = MIN_OF((size_t)head[5], size - at - 6);

		patch(head[0] % PLACE_MAX, mount,
		      head[1] | (uint32_t)head[2] << 8 | (uint32_t)head[3] << 16 |
			      (uint32_t)head[4] << 24,
		      head + 6, len);
		at += 6 + len;
	}
	if (g.n_patches > 0)
		detect_leaks(false);
	server_start();
	return at;
}

static void options_end(void)
{
	unsigned mount;

	if (!g.has_options)
		return;
	g.cfg.clients[0] = (struct launch_client){.host = ""};
	g.server = fuse_server_free(g.server);
	if (g.n_patches > 0)
		detect_leaks(true);
	while (g.n_patches > 0) {
		const struct patch *p = &g.patches[--g.n_patches];

		if (pwrite(p->fd, p->was, p->len, p->at) < 0)
			fail("cannot change shared memory");
	}
	if (journal_mount_get(&g.journal, mount_id, &mount) == 0)
		journal_mount_drop(&g.journal, mount); /* its requests do not count again */
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
	unsigned n_waits = 0;

	if (!buf)
		fail("no buffer");
	g.call.answered = false;
	fuse_server_request(g.client, &g.call, memcpy(buf, msg, len), len, g.now_ns);
	while (!g.call.answered) {
		struct pollfd p = {.fd = fuse_server_helpers_fd(g.server), .events = POLLIN};

		if (server_turn(g.server, g.now_ns, true) != 0)
			continue;
		poll(&p, 1, 1);
		if (g.n_patches == 0 || ++n_waits < WAITS_MAX)
			continue;
		/* Its memory says that another worker is busy with the object. */
		fuse_server_call_cancelled(g.client, &g.call);
		g.call.len = 0;
		return;
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
	struct fuse_hello h = {.export_name = "e", .server_host = "host"};
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
	int r;

	memcpy(h.mount_id, mount_id, sizeof(h.mount_id));
	h.read_only = g.cfg.clients[0].read_only;
	fuse_hello_put(hello, &h);
	g.client = NULL;
	r = fuse_server_accept(g.server, NULL, NULL, hello, sizeof(hello), &g.client);
	if (r < 0 && g.n_patches > 0)
		return false; /* another worker serves the mount */
	if (r < 0)
		fail("no session");
	ask((const uint8_t *)&msg, sizeof(msg), FUSE_INIT);
	if (g.call.len < sizeof(out))
		return false;
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
	if (rec[4] & 0x60) /* a user who is mapped, and one who is not */
		in->uid = in->gid = rec[4] & 0x20 ? 1001 : 5001;
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
	size_t used;
	bool ours;

	if (size < 1 + sizeof(flags) || geteuid() != 0) /* files are created for their users */
		return 0;
	if (!g.helpers)
		setup();
	used = options_begin(data, size);
	data += used;
	size -= used;
	if (size < 1 + sizeof(flags)) {
		options_end();
		return 0;
	}
	fill();
	g.n_handles = g.n_fhs = 0;
	memset(g.handles, 0, sizeof(g.handles));
	memset(g.fhs, 0, sizeof(g.fhs));
	hello_look(data, size);
	memcpy(&flags, data + 1, sizeof(flags));
	ours = session_begin(data[0], flags);
	data += 1 + sizeof(flags);
	size -= 1 + sizeof(flags);
	for (unsigned i = 0; g.client && size >= RECORD_HEAD && i < RECORDS_MAX; i++) {
		size_t len = data[5] | (size_t)data[6] << 8;

		len = MIN_OF(MIN_OF(len, size - RECORD_HEAD), ARGS_MAX);
		request(data, data + RECORD_HEAD, len, ours);
		data += RECORD_HEAD + len;
		size -= RECORD_HEAD + len;
	}
	if (g.client) { /* nothing stays open */
		request((const uint8_t[RECORD_HEAD]){FUSE_DESTROY}, NULL, 0, ours);
		fuse_server_client_gone(g.client);
	}
	for (unsigned i = 1; i < 10; i++) /* seconds pass */
		server_turn(g.server, g.now_ns += 2 * NSEC_PER_SEC, true);
	empty(g.export);
	look();
	options_end();
	return 0;
}
