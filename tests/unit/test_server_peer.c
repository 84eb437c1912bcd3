/* SPDX-License-Identifier: BSD-3-Clause */
/* The server refuses peers of other versions, without rights, or with malformed requests. */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "tests/lib/fuse/server_test.h"
#include "tests/lib/fuse/server_turn.h"
#include <sys/xattr.h>

static void refused_sessions_get_a_reason(void **state)
{
	struct fuse_hello h = rig.hello;
	struct fuse_server_client *c = NULL;
	uint8_t bytes[FUSE_HELLO_BYTES];

	fuse_hello_put(bytes, &h);
	assert_int_equal(fuse_server_accept(rig.server, NULL, NULL, bytes, sizeof(bytes) - 1, &c),
			 -EPROTO);
	bytes[4]++; /* another version */
	assert_int_equal(fuse_server_accept(rig.server, NULL, NULL, bytes, sizeof(bytes), &c),
			 -EPROTO);
	strcpy(h.export_name, "scratc");
	fuse_hello_put(bytes, &h);
	assert_int_equal(fuse_server_accept(rig.server, NULL, NULL, bytes, sizeof(bytes), &c),
			 -ENOENT);
	strcpy(h.server_host,
	       "storage-9"); /* the configured name contains more than the expected one */
	fuse_hello_put(bytes, &h);
	assert_int_equal(fuse_server_accept(rig.server, NULL, NULL, bytes, sizeof(bytes), &c),
			 -EREMCHG);
	assert_null(c);
}

/* Other versions and flags end the session first. MKNOD of an older version had 8 bytes of
 * arguments, so its name would start at our mask. */
static void other_versions_are_refused(void **state)
{
	static const struct {
		uint32_t major, minor;
		uint64_t flags;
		int r;
	} cases[] = {
		{7, 31, FUSE_PROTO_FLAGS, 0},
		{7, 38, 0, 0},
		{7, 8, FUSE_PROTO_FLAGS, -EPROTO},
		{7, 30, FUSE_PROTO_FLAGS, -EPROTO},
		{7, 39, FUSE_PROTO_FLAGS, -EPROTO},
		{6, 38, FUSE_PROTO_FLAGS, -EPROTO},
		{8, 31, FUSE_PROTO_FLAGS, -EPROTO},
		{7, 38, FUSE_PROTO_FLAGS | FUSE_WRITEBACK_CACHE, -EPROTO},
		{7, 38, FUSE_PROTO_FLAGS | FUSE_SETXATTR_EXT, -EPROTO},
		{7, 38, FUSE_PROTO_FLAGS | 1ULL << 63, -EPROTO},
	};
	struct {
		struct fuse_mknod_in in;
		char names[32];
	} mk = {.in = {.mode = S_IFREG | 0644}, .names = "inside"};

	/* The name of such a MKNOD would be a path out of the export; nothing is created. */
	memcpy(&mk.in.umask, "../x", 4);
	memcpy(&mk.in.padding, "-was", 4);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fuse_init_in in = {
			.major = cases[i].major,
			.minor = cases[i].minor,
			.flags = (uint32_t)cases[i].flags,
			.flags2 = (uint32_t)(cases[i].flags >> 32),
		};

		fuse_server_client_gone(rig.client);
		server_turn(rig.server, clock_now_ns(), true);
		assert_int_equal(rig_accept(&rig), 0);
		assert_int_equal(rig_do(&rig, FUSE_INIT, 0, RIG_ARG(in)), cases[i].r);
		if (cases[i].r < 0)
			assert_int_equal(rig_do(&rig, FUSE_MKNOD, ROOT, RIG_ARG(mk)), -EIO);
		assert_int_equal(access(rig_path(&rig, "../x-wasinside"), F_OK), -1);
		assert_int_equal(access(rig_path(&rig, "inside"), F_OK), -1);
	}
}

static void read_only_mounts_cannot_write(void **state)
{
	uint64_t node, fh;

	rig_put_text(&rig, "f", "x");
	fuse_server_client_gone(rig.client);
	rig.hello.read_only = 1;
	rig_connect(&rig);
	assert_int_equal(rig_create(&rig, ROOT, "g", O_RDWR, 0644, &node, &fh), -EROFS);
	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &node), -EROFS);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = "f"), -EROFS);
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), 0);
	assert_int_equal(rig_open(&rig, node, O_RDWR, &fh), -EROFS);
	assert_int_equal(rig_open(&rig, node, O_RDONLY, &fh), 0);
	assert_int_equal(rig_read(&rig, node, fh, 0, 10), 1);
}

/* A new INIT with these features: those in force. */
static uint32_t features_of(uint32_t wanted)
{
	struct fuse_init_in in = {.major = 7, .minor = 38, .unused = {wanted}};
	struct fuse_init_out out;

	fuse_server_client_gone(rig.client);
	server_turn(rig.server, clock_now_ns(), true);
	assert_int_equal(rig_accept(&rig), 0);
	assert_int_equal(rig_do(&rig, FUSE_INIT, 0, RIG_ARG(in)), 0);
	memcpy(&out, rig.data, sizeof(out));
	return out.unused[0];
}

/* Attributes of the folder in the last reply; false: none. */
static bool folder_came(struct fuse_attr *ret)
{
	struct fuse_proto_resp_tail t = {};

	if (rig.tail_len > 0)
		memcpy(&t, rig.tail, sizeof(t));
	if (!(t.flags & FUSE_PROTO_RESP_DIR_ATTR))
		return false;
	memcpy(ret, rig.tail + sizeof(t), sizeof(*ret));
	return true;
}

/* Every open of a folder is checked where the server checks permissions. */
static void checked_clients_get_no_listing_leases(void **state)
{
	struct launch_client *c = &rig.cfg.clients[0];

	rig.hello.read_only = 1;
	assert_int_equal(features_of(UINT32_MAX), FUSE_PROTO_FEATURES & ~FUSE_PROTO_FEATURE_TOUCH);
	rig.hello.read_only = 0;
	c->squash = LAUNCH_SQUASH_ROOT;
	assert_int_equal(features_of(UINT32_MAX),
			 FUSE_PROTO_FEATURES &
				 ~(FUSE_PROTO_FEATURE_TOUCH | FUSE_PROTO_FEATURE_NAMES));
}

static void folder_attributes_need_the_feature(void **state)
{
	struct fuse_mkdir_in in = {.mode = 0755};
	struct fuse_attr attr;
	struct stat st;
	uint64_t x;

	assert_int_equal(features_of(0), 0);
	assert_int_equal(rig_do(&rig, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = "a"), 0);
	assert_false(folder_came(&attr));
	assert_int_equal(features_of(UINT32_MAX), FUSE_PROTO_FEATURES);
	assert_int_equal(rig_do(&rig, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = "b"), 0);
	assert_true(folder_came(&attr));
	assert_int_equal(stat(rig.dir, &st), 0);
	assert_int_equal(attr.nlink, st.st_nlink);
	assert_int_equal(attr.mode, st.st_mode);
	assert_int_equal(attr.ctimensec, st.st_ctim.tv_nsec);
	/* A replay describes an earlier time. */
	rig.resend = true;
	assert_int_equal(rig_do(&rig, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = "b"), 0);
	assert_false(folder_came(&attr));
	assert_int_equal(rig_do(&rig, FUSE_RMDIR, ROOT, .name = "b"), 0);
	assert_true(folder_came(&attr));
	assert_int_equal(stat(rig.dir, &st), 0);
	assert_int_equal(attr.nlink, st.st_nlink);
	assert_int_equal(rig_do(&rig, FUSE_RMDIR, ROOT, .name = "b"), -ENOENT);
	assert_int_equal(rig_lookup(&rig, ROOT, "a", &x), 0); /* unchanged, so no folder */
}

static bool lookup_is_bare(const char *name)
{
	struct fuse_entry_out e;

	assert_int_equal(rig_do(&rig, FUSE_LOOKUP, ROOT, .name = name), 0);
	memcpy(&e, rig.data, sizeof(e));
	return e.generation == FUSE_PROTO_NO_XATTRS;
}

/* Via a helper and from memory. */
static void objects_without_xattrs_are_marked(void **state)
{
	struct fuse_getattr_in in = {};
	struct fuse_attr_out out;
	uint64_t node;

	rig_put_text(&rig, "f", "x");
	assert_true(lookup_is_bare("f"));
	(void)lookup_is_bare("f"); /* from disk, memory does not suffice */
	if (setxattr(rig_path(&rig, "f"), "user.x", "v", 1, 0) < 0)
		return; /* a file system without extended attributes */
	assert_false(lookup_is_bare("f"));
	assert_false(lookup_is_bare("f"));
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), 0);
	assert_int_equal(rig_do(&rig, FUSE_GETATTR, node, RIG_ARG(in)), 0);
	memcpy(&out, rig.data, sizeof(out));
	assert_int_equal(out.dummy, 0);
}

static void nothing_before_init_or_after_destroy(void **state)
{
	uint64_t node;

	fuse_server_client_gone(rig.client);
	assert_int_equal(rig_accept(&rig), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), -EIO);
	assert_int_equal(rig_init_session(&rig), 0);
	assert_int_equal(rig_init_session(&rig), -EIO);
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), -ENOENT);
	assert_int_equal(rig_do(&rig, FUSE_DESTROY, 0), 0);
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), -EIO);
}

static void the_export_cannot_be_left(void **state)
{
	static const char *const names[] = {"../x", "a/b", "/etc", "", "/"};
	struct fuse_attr root, attr;
	uint64_t node, dir;
	struct stat st;

	assert_int_equal(rig_getattr(&rig, ROOT, &root), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(rig_lookup(&rig, ROOT, names[i], &node), -EINVAL);
	assert_int_equal(rig_lookup(&rig, ROOT, "..", &node), 0);
	assert_int_equal(node, ROOT);
	assert_int_equal(rig_mkdir(&rig, ROOT, "d", &dir), 0);
	assert_int_equal(rig_lookup(&rig, dir, "..", &node), 0);
	assert_int_equal(node, ROOT);
	assert_int_equal(rig_lookup(&rig, dir, ".", &node), 0);
	assert_int_equal(node, dir);
	assert_int_equal(rig_mkdir(&rig, ROOT, "..", &node), -EINVAL);
	assert_int_equal(rig_do(&rig, FUSE_UNLINK, dir, .name = ".."), -EINVAL);
	/* A directory moved out of the export does not lead out. */
	assert_int_equal(rename(rig_path(&rig, "d"), "/tmp/back-moved"), 0);
	assert_int_equal(rig_lookup(&rig, dir, "..", &node), -ESTALE);
	assert_int_equal(rmdir("/tmp/back-moved"), 0);
	assert_int_equal(rig_getattr(&rig, ROOT, &attr), 0);
	assert_int_equal(attr.ino, root.ino);
	assert_int_equal(stat(rig.dir, &st), 0);
	assert_int_equal(st.st_ino, root.ino);
}

static void pipes_and_devices_are_not_opened(void **state)
{
	struct fuse_mknod_in in = {.mode = S_IFIFO | 0666};
	uint64_t fh, x;

	assert_int_equal(rig_do(&rig, FUSE_MKNOD, ROOT, RIG_ARG(in), .name = "p"), 0);
	assert_int_equal(rig_open(&rig, rig_entry_node(&rig), O_RDONLY, &fh), -EINVAL);
	assert_int_equal(rig_create(&rig, ROOT, "p", O_WRONLY, 0644, &x, &fh), -EINVAL);
	in.mode = S_IFCHR | 0666;
	in.rdev = 1 << 8 | 3; /* the null device */
	assert_int_equal(rig_do(&rig, FUSE_MKNOD, ROOT, RIG_ARG(in), .name = "n"), 0);
	assert_int_equal(rig_open(&rig, rig_entry_node(&rig), O_RDONLY, &fh), -EINVAL);
}

/* Handles with any flipped bit, and handles of another export, are refused. */
static void forged_handles_are_refused(void **state)
{
	struct fuse_attr attr;
	struct fuse_handle h;
	uint64_t node;

	rig_put_text(&rig, "f", "x");
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), 0);
	h = rig.nodes[node - 1];
	for (unsigned turn = 0; turn < 2; turn++) { /* known to the server, then unknown */
		for (unsigned i = 0; i < h.len * 8U; i++) {
			rig.nodes[node - 1].bytes[i / 8] ^= (uint8_t)(1U << i % 8);
			assert_int_equal(rig_getattr(&rig, node, &attr), -ESTALE);
			rig.nodes[node - 1] = h;
		}
		for (uint8_t len = 1; len <= FUSE_PROTO_HANDLE_MAX; len++) {
			rig.nodes[node - 1].len = len;
			if (len != h.len)
				assert_int_equal(rig_getattr(&rig, node, &attr), -ESTALE);
			rig.nodes[node - 1] = h;
		}
		rig_stop(&rig);
		rig_start(&rig);
	}
	assert_int_equal(rig_getattr(&rig, node, &attr), 0);
	rig_stop(&rig);
	strcpy(rig.cfg.exports[0].name, "other");
	strcpy(rig.hello.export_name, "other");
	rig_start(&rig);
	assert_int_equal(rig_getattr(&rig, node, &attr), -ESTALE);
}

/* Every length of every operation with random bytes gets a reply and no crash. */
static void malformed_requests_get_replies(void **state)
{
	static _Alignas(8) uint8_t msg[300 + FUSE_PROTO_REQ_TAIL_MAX];
	struct fuse_in_header *in = (void *)msg;
	uint64_t node, fh;
	uint32_t x = 1;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	for (uint32_t op = 0; op < 64; op++)
		for (size_t len = 0, n; len < 300; len += 1 + len / 16) {
			if (op == FUSE_DESTROY)
				continue;
			for (size_t i = 0; i < sizeof(msg); i++)
				msg[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
			if (len % 2)
				memset(msg + sizeof(*in), 0, sizeof(msg) - sizeof(*in));
			in->len = (uint32_t)len;
			in->opcode = op;
			in->unique &= INT64_MAX;
			n = len;
			if (len % 5) /* valid handles */
				n += rig_put_tail(
					&rig, msg + len,
					&(struct rig_req){.op = op, .node = len % 3 ? node : ROOT});
			rig_send_raw(&rig, rig.call, msg, n);
			rig_wait(&rig, rig.call);
		}
	assert_int_equal(fuse_server_in_flight(rig.server), 0);
}

static uint16_t tail_flags(void)
{
	struct fuse_proto_resp_tail t = {};

	memcpy(&t, rig.tail, MIN_OF(rig.tail_len, sizeof(t)));
	return t.flags;
}

/* Reads the root to its end with replies of that size. Number of replies with the end flag. */
static unsigned ends_told(uint32_t opcode, uint32_t size)
{
	const size_t head = opcode == FUSE_READDIRPLUS ? sizeof(struct fuse_entry_out) : 0;
	struct fuse_read_in in = {.size = size};
	struct fuse_open_in open = {};
	unsigned n = 0, answers = 0;

	assert_int_equal(rig_do(&rig, FUSE_OPENDIR, ROOT, RIG_ARG(open)), 0);
	in.fh = rig_file(&rig, ROOT, ((const struct fuse_open_out *)rig.data)->fh, O_DIRECTORY);
	for (;;) {
		assert_int_equal(rig_do(&rig, opcode, ROOT, RIG_ARG(in)), 0);
		if (rig.len == 0)
			break;
		/* Nothing follows the end. */
		assert_int_equal(n, 0);
		n += tail_flags() & FUSE_PROTO_RESP_END ? 1 : 0;
		for (size_t at = 0; at < rig.len;) {
			struct fuse_dirent d;

			memcpy(&d, (const uint8_t *)rig.data + at + head, sizeof(d));
			in.offset = d.off;
			at += FUSE_DIRENT_ALIGN(head + FUSE_NAME_OFFSET + d.namelen);
		}
		answers++;
	}
	assert_true(size > 1024 ? answers == 1 : answers > 1);
	return n;
}

static void the_end_flag_needs_the_feature(void **state)
{
	struct fuse_mkdir_in in = {.mode = 0755};
	char name[16];

	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "folder-%02u", i);
		assert_int_equal(rig_do(&rig, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = name), 0);
	}
	assert_int_equal(features_of(0), 0);
	assert_int_equal(ends_told(FUSE_READDIR, 32768), 0);
	assert_int_equal(features_of(UINT32_MAX), FUSE_PROTO_FEATURES);
	assert_int_equal(ends_told(FUSE_READDIR, 32768), 1);
	assert_int_equal(ends_told(FUSE_READDIRPLUS, 32768), 1);
	assert_true(ends_told(FUSE_READDIR, 400) <= 1);
	assert_true(ends_told(FUSE_READDIRPLUS, 1000) <= 1);
}

/* A WRITE of five bytes that asks for attributes. False: none in the reply. */
static bool written_says(uint64_t node, struct fuse_write_in in, uint16_t flags,
			 struct fuse_attr *ret)
{
	struct fuse_proto_resp_tail t = {};
	struct fuse_write_out o;

	assert_int_equal(rig_do(&rig, FUSE_WRITE, node, RIG_ARG(in), .data = "words", .data_len = 5,
				.flags = flags),
			 0);
	memcpy(&o, rig.data, sizeof(o));
	assert_int_equal(o.size, 5);
	if (rig.tail_len > 0)
		memcpy(&t, rig.tail, sizeof(t));
	if (!(t.flags & FUSE_PROTO_RESP_ATTR))
		return false;
	memcpy(ret, rig.tail + sizeof(t), sizeof(*ret));
	return true;
}

static void writes_return_attributes(void **state)
{
	struct fuse_write_in in = {.size = 5};
	struct fuse_attr attr;
	uint64_t node;
	struct stat st;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &in.fh), 0);
	assert_false(written_says(node, in, 0, &attr));
	assert_true(written_says(node, in, FUSE_PROTO_REQ_ATTR, &attr));
	assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
	assert_int_equal(attr.size, 5);
	assert_int_equal(attr.mode, st.st_mode);
	assert_int_equal(attr.mtimensec, st.st_mtim.tv_nsec);
	assert_int_equal(attr.ctimensec, st.st_ctim.tv_nsec);
	/* Taken after every effect of the write. */
	in.write_flags = FUSE_WRITE_KILL_SUIDGID;
	assert_int_equal(chmod(rig_path(&rig, "f"), 04755), 0);
	assert_true(written_says(node, in, FUSE_PROTO_REQ_ATTR, &attr));
	assert_int_equal(attr.mode, S_IFREG | 0755);
	assert_int_equal(rig_open(&rig, node, O_WRONLY | O_APPEND, &in.fh), 0);
	in.flags = O_APPEND;
	assert_true(written_says(node, in, FUSE_PROTO_REQ_ATTR, &attr));
	assert_int_equal(attr.size, 10);
	/* A replay describes an earlier time. */
	rig.resend = true;
	assert_false(written_says(node, in, FUSE_PROTO_REQ_ATTR, &attr));
}

/* Number of entries in the reply to an open of the root, whose file handle works as usual; 0:
 * none. */
static unsigned entries_with_open(uint32_t room)
{
	struct fuse_open_in open = {.open_flags = room};
	struct fuse_read_in in = {.size = 32768};
	struct fuse_open_out o;
	static uint8_t list[FUSE_PROTO_LIST_MAX];
	size_t len;
	unsigned n = 0;

	assert_int_equal(rig_do(&rig, FUSE_OPENDIR, ROOT, RIG_ARG(open)), 0);
	memcpy(&o, rig.data, sizeof(o));
	len = rig.len - sizeof(o);
	assert_true(len <= room);
	assert_int_equal(len > 0, tail_flags() & FUSE_PROTO_RESP_END ? 1 : 0);
	memcpy(list, (const uint8_t *)rig.data + sizeof(o), len);
	in.fh = rig_file(&rig, ROOT, o.fh, O_DIRECTORY);
	assert_int_equal(rig_do(&rig, FUSE_READDIRPLUS, ROOT, RIG_ARG(in)), 0);
	assert_true(rig.len > 0);
	/* The same names at the same offsets, each with its handle. */
	for (size_t at = 0; at < len; n++) {
		const size_t head = sizeof(struct fuse_entry_out);
		struct fuse_entry_out e;
		struct fuse_dirent d;

		memcpy(&e, list + at, sizeof(e));
		memcpy(&d, list + at + head, FUSE_NAME_OFFSET);
		assert_memory_equal(list + at + head, (const uint8_t *)rig.data + at + head,
				    FUSE_NAME_OFFSET + d.namelen);
		assert_int_equal(e.nodeid, list[at + head + FUSE_NAME_OFFSET] == '.' ? 0 : 1);
		at += FUSE_DIRENT_ALIGN(head + FUSE_NAME_OFFSET + d.namelen);
	}
	if (n > 0)
		assert_int_equal(len, rig.len);
	return n;
}

static void opendir_returns_short_listings(void **state)
{
	struct fuse_mkdir_in in = {.mode = 0755};
	char name[32];

	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "folder-%02u", i);
		assert_int_equal(rig_do(&rig, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = name), 0);
	}
	assert_int_equal(features_of(UINT32_MAX & ~FUSE_PROTO_FEATURE_LIST),
			 FUSE_PROTO_FEATURES & ~FUSE_PROTO_FEATURE_LIST);
	assert_int_equal(entries_with_open(FUSE_PROTO_LIST_MAX), 0);
	assert_int_equal(features_of(UINT32_MAX), FUSE_PROTO_FEATURES);
	assert_int_equal(entries_with_open(0), 0);
	assert_int_equal(entries_with_open(FUSE_PROTO_LIST_MAX), 22);
	/* All entries or none. */
	assert_int_equal(entries_with_open(1000), 0);
	for (unsigned i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "another-folder-%03u", i);
		assert_int_equal(rig_do(&rig, FUSE_MKDIR, ROOT, RIG_ARG(in), .name = name), 0);
	}
	assert_int_equal(entries_with_open(FUSE_PROTO_LIST_MAX), 0);
}

/* Files and directories, one twice, and more than are open. */
static void files_are_closed_together(void **state)
{
	struct {
		struct fuse_release_in in;
		uint64_t more[4];
	} all = {};
	struct fuse_read_in read = {.size = 1};
	uint64_t node, fh[3];

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh[0]), 0);
	for (unsigned i = 1; i < ARRAY_SIZE(fh); i++)
		assert_int_equal(rig_open(&rig, node, O_RDONLY, &fh[i]), 0);
	all.in.fh = fh[0];
	all.more[0] = rig.files[fh[1] - RIG_FH].fh;
	all.more[1] = all.more[0];
	all.more[3] = UINT64_MAX;
	assert_int_equal(rig_do(&rig, FUSE_RELEASE, node, RIG_ARG(all)), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(fh); i++) {
		read.fh = fh[i];
		assert_int_equal(rig_do(&rig, FUSE_READ, node, RIG_ARG(read)), i < 2 ? -EBADF : 0);
	}
	assert_int_equal(rig_release(&rig, node, fh[2]), 0);
}

/* ------------------------------------------------------------------ who gets a place */

#define GUESTS 8U

static struct fuse_server_client *guests[GUESTS]; /* by session index; NULL: none */
static char guest_sessions[GUESTS];

static void guest_leaves(struct rudp_session *s)
{
	size_t i = (size_t)((char *)s - guest_sessions);

	assert_true(i < GUESTS);
	fuse_server_client_gone(guests[i]);
	guests[i] = NULL;
}

/* Sends a hello and nothing else. */
static int guest_knocks(unsigned i, enum fuse_hello_purpose purpose)
{
	struct fuse_hello h = rig.hello;
	uint8_t bytes[FUSE_HELLO_BYTES];

	h.mount_id[0] = (uint8_t)i;
	h.purpose = purpose;
	fuse_hello_put(bytes, &h);
	return fuse_server_accept(rig.server, (struct rudp_session *)&guest_sessions[i], NULL,
				  bytes, sizeof(bytes), &guests[i]);
}

static int guest_comes(unsigned i, enum fuse_hello_purpose purpose)
{
	struct fuse_server_client *was = rig.client;
	int r = guest_knocks(i, purpose);

	if (r < 0)
		return r;
	rig.client = guests[i];
	assert_int_equal(rig_init_session(&rig), 0);
	rig.client = was;
	return 0;
}

static void guests_go(void)
{
	for (unsigned i = 0; i < GUESTS; i++)
		if (guests[i])
			guest_leaves((struct rudp_session *)&guest_sessions[i]);
	server_turn(rig.server, clock_now_ns(), true);
}

/* The test's own mount takes a place, too. */
static void mount_workers_leave_places_to_mounts(void **state)
{
	rig.cfg.sessions = 8;
	rig_on_close = guest_leaves;
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(guest_comes(i, FUSE_HELLO_MOUNT_WORKER), 0);
	assert_int_equal(guest_comes(5, FUSE_HELLO_MOUNT_WORKER), -EDQUOT); /* two are reserved */
	assert_int_equal(guest_comes(5, FUSE_HELLO_MOUNT), 0);
	assert_int_equal(guest_comes(6, FUSE_HELLO_MOUNT), 0);
	assert_int_equal(guest_comes(7, FUSE_HELLO_MOUNT_WORKER), -EDQUOT);
	guests_go();
	rig.cfg.sessions = 2;
	assert_int_equal(guest_comes(0, FUSE_HELLO_MOUNT_WORKER), -EDQUOT);
	assert_int_equal(guest_comes(0, FUSE_HELLO_MOUNT), 0);
	guests_go();
	rig_on_close = NULL;
}

static void mounts_take_places_of_mount_workers(void **state)
{
	rig.cfg.sessions = 4;
	rig_on_close = guest_leaves;
	assert_int_equal(guest_comes(0, FUSE_HELLO_MOUNT_WORKER), 0);
	assert_int_equal(guest_comes(1, FUSE_HELLO_MOUNT_WORKER), 0);
	assert_int_equal(guest_comes(2, FUSE_HELLO_MOUNT), 0);
	assert_true(guests[0] && guests[1] && guests[2]); /* one was free */
	assert_int_equal(guest_comes(3, FUSE_HELLO_MOUNT), 0);
	assert_true(!guests[0] != !guests[1]);
	assert_int_equal(guest_comes(4, FUSE_HELLO_MOUNT), 0);
	assert_true(!guests[0] && !guests[1] && guests[2] && guests[3]);
	assert_int_equal(guest_comes(5, FUSE_HELLO_MOUNT), -ENOSPC);
	assert_true(guests[2] && guests[3] && guests[4]);
	guests_go();
	rig_on_close = NULL;
}

/* A mount worker that finishes its requests is always admitted and takes no place. */
static void mount_workers_finish_their_requests(void **state)
{
	rig.cfg.sessions = 2;
	rig_on_close = guest_leaves;
	assert_int_equal(guest_comes(0, FUSE_HELLO_MOUNT), 0);
	assert_int_equal(guest_comes(1, FUSE_HELLO_MOUNT_WORKER_FINISHING), 0);
	assert_int_equal(guest_comes(2, FUSE_HELLO_MOUNT), -ENOSPC);
	assert_non_null(guests[1]); /* takes no place */
	guest_leaves((struct rudp_session *)&guest_sessions[0]);
	assert_int_equal(guest_comes(2, FUSE_HELLO_MOUNT), 0);
	guests_go();
	rig_on_close = NULL;
}

static void silent_mount_workers_lose_their_places(void **state)
{
	rig.cfg.sessions = 4;
	rig_on_close = guest_leaves;
	assert_int_equal(guest_knocks(0, FUSE_HELLO_MOUNT_WORKER), 0);
	assert_int_equal(guest_comes(1, FUSE_HELLO_MOUNT), 0);
	assert_int_equal(guest_comes(2, FUSE_HELLO_MOUNT), 0);
	assert_int_equal(guest_comes(3, FUSE_HELLO_MOUNT), 0);
	assert_true(!guests[0] && guests[1] && guests[2] && guests[3]);
	guests_go();
	rig_on_close = NULL;
}

/* Beyond the limit, such sessions take places as mount workers do. */
static void finishing_sessions_are_limited(void **state)
{
	struct fuse_server_client *some[LAUNCH_SESSIONS_OWING];

	rig.cfg.sessions = 4;
	for (unsigned i = 0; i < ARRAY_SIZE(some); i++) {
		assert_int_equal(guest_comes(0, FUSE_HELLO_MOUNT_WORKER_FINISHING), 0);
		some[i] = guests[0];
	}
	rig_on_close = guest_leaves;
	assert_int_equal(guest_comes(1, FUSE_HELLO_MOUNT_WORKER_FINISHING), 0);
	assert_int_equal(guest_comes(2, FUSE_HELLO_MOUNT_WORKER_FINISHING), 0);
	assert_int_equal(guest_comes(0, FUSE_HELLO_MOUNT_WORKER_FINISHING), -EDQUOT);
	assert_int_equal(guest_comes(3, FUSE_HELLO_MOUNT), 0);
	assert_int_equal(guest_comes(4, FUSE_HELLO_MOUNT), 0);
	assert_true(!guests[1] != !guests[2] && guests[3] && guests[4]);
	for (unsigned i = 0; i < ARRAY_SIZE(some); i++)
		fuse_server_client_gone(some[i]);
	guests[0] = NULL;
	assert_int_equal(guest_comes(0, FUSE_HELLO_MOUNT_WORKER_FINISHING), 0);
	guests_go();
	rig_on_close = NULL;
}

static int guest_from(unsigned i, uint8_t host)
{
	const struct ip_addr from = {AF_INET, {10, 0, 0, host}};
	struct fuse_hello h = rig.hello;
	uint8_t bytes[FUSE_HELLO_BYTES];

	h.mount_id[0] = (uint8_t)i;
	h.purpose = FUSE_HELLO_MOUNT;
	fuse_hello_put(bytes, &h);
	return fuse_server_accept(rig.server, (struct rudp_session *)&guest_sessions[i], &from,
				  bytes, sizeof(bytes), &guests[i]);
}

/* The rig's own session is that of a third host. */
static void hosts_share_the_places(void **state)
{
	rig.cfg.sessions = 5;
	rig_on_close = guest_leaves;
	for (unsigned i = 0; i < 4; i++) /* no other host wants them */
		assert_int_equal(guest_from(i, 1), 0);
	assert_int_equal(guest_from(4, 1), -ENOSPC);
	assert_int_equal(guest_from(4, 2), 0);
	assert_true(guests[0] && guests[1] && guests[2] && !guests[3]); /* the newest left */
	assert_int_equal(guest_from(5, 2), 0);
	assert_true(guests[0] && guests[1] && !guests[2] && guests[4]);
	/* Both have two: neither takes more from the other. */
	assert_int_equal(guest_from(6, 2), -ENOSPC);
	assert_int_equal(guest_from(6, 1), -ENOSPC);
	guests_go();
	rig_on_close = NULL;
}

#define TAKEN 40U
#define BIG (1U << 20)

static void silent_clients_get_no_scarce_reply_buffer(void **state)
{
	struct fuse_read_in arg = {.size = BIG};
	struct fuse_server_client *was = rig.client;
	void *taken[TAKEN];
	uint64_t node, fh;

	rig.cfg.sessions = 8;
	assert_int_equal(guest_comes(0, FUSE_HELLO_MOUNT), 0);
	rig.client = guests[0];
	assert_int_equal(rig_create(&rig, ROOT, "read", O_RDWR, 0644, &node, &fh), 0);
	arg.fh = fh;
	for (unsigned i = 0; i < TAKEN; i++)
		taken[i] = buf_pool_get_as(&rig.server->answers, 9 + i, true, BIG);
	assert_non_null(taken[31]);
	assert_null(taken[32]); /* half of them for clients on trial */
	for (unsigned i = 32; i < TAKEN; i++)
		taken[i] = buf_pool_get(&rig.server->answers, BIG);
	rig_short = 0;
	rig_standing = RUDP_STANDING_SILENT;
	rig_send(&rig, rig.call,
		 &(struct rig_req){
			 .op = FUSE_READ, .node = node, .arg = &arg, .arg_len = sizeof(arg)});
	for (unsigned i = 0; i < 5; i++)
		server_turn(rig.server, clock_now_ns(), true);
	assert_false(rig.call->answered);
	assert_int_equal(rig_short, 0);
	/* Heard, but on trial as those that have them. */
	rig_standing = RUDP_STANDING_NEW;
	server_turn(rig.server, clock_now_ns() + NSEC_PER_SEC, true);
	assert_false(rig.call->answered);
	assert_true(rig_short > 0);
	rig_standing = RUDP_STANDING_GOOD;
	server_turn(rig.server, clock_now_ns() + 2 * NSEC_PER_SEC, true);
	assert_int_equal(rig_result(&rig, rig.call), 0);
	for (unsigned i = 0; i < TAKEN; i++)
		buf_pool_put(&rig.server->answers, taken[i]);
	assert_int_equal(rig_release(&rig, node, fh), 0);
	rig.client = was;
	guests_go();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON("/tmp", refused_sessions_get_a_reason),
		ON("/tmp", other_versions_are_refused),
		BOTH(read_only_mounts_cannot_write),
		BOTH(checked_clients_get_no_listing_leases),
		BOTH(folder_attributes_need_the_feature),
		BOTH(writes_return_attributes),
		BOTH(objects_without_xattrs_are_marked),
		BOTH(nothing_before_init_or_after_destroy),
		ON("/tmp", the_export_cannot_be_left),
		BOTH(pipes_and_devices_are_not_opened),
		BOTH(forged_handles_are_refused),
		BOTH(malformed_requests_get_replies),
		BOTH(files_are_closed_together),
		BOTH(the_end_flag_needs_the_feature),
		ON("/tmp", mount_workers_leave_places_to_mounts),
		ON("/tmp", mounts_take_places_of_mount_workers),
		ON("/tmp", mount_workers_finish_their_requests),
		ON("/tmp", silent_mount_workers_lose_their_places),
		ON("/tmp", finishing_sessions_are_limited),
		ON("/tmp", hosts_share_the_places),
		ON("/tmp", silent_clients_get_no_scarce_reply_buffer),
		BOTH(opendir_returns_short_listings),
	};

	return !rig_can() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
