/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client's nodes and open files, and how they survive the death of its process, of the server's
 * process, and of the server's host.
 */
#include "tests/lib/fuse/client_rig.h"

static void test_nodes_map_to_handles(void **state)
{
	struct rig *g = *state;
	uint64_t a, b;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	b = lookup(g, "b", "handle-b");
	assert_true(a > UINT32_MAX || b > UINT32_MAX || a != b);
	assert_true(a != b && a != FUSE_ROOT_ID);
	assert_true(lookup(g, "hard-link-of-a", "handle-a") == a);
	assert_true(lookup(g, "..", "root") == FUSE_ROOT_ID);
	kernel_send_to(g, FUSE_READLINK, 4, b, "", 0);
	fuse_client_pull(g->f, true, NOW0);
	assert_int_equal(call_tail(0).n_handles, 1);
	expect_handle(0, 0, "handle-b");
	respond(g, 0, 0, "target", 6);
	expect_reply(g, 4, 0);
}

static void test_entries_have_the_clients_timeouts(void **state)
{
	struct rig *g = *state;
	struct fuse_entry_out file, dir, none = {.entry_valid = 1000};
	struct fuse_out_header out;

	bring_up(g);
	file = lookup_as(g, "f", "handle-f", S_IFREG | 0644);
	dir = lookup_as(g, "d", "handle-d", S_IFDIR | 0755);
	assert_int_equal(file.entry_valid, 0); /* each open looks up */
	assert_int_equal(file.attr_valid, 1);
	assert_int_equal(dir.entry_valid, 1);
	assert_true(file.generation == dir.generation);
	kernel_send(g, FUSE_LOOKUP, 4, "none", 5);
	fuse_client_pull(g->f, true, NOW0);
	respond(g, 0, 0, &none, sizeof(none));
	assert_true(kernel_receive(g, &out, &none, sizeof(none)) > 0);
	assert_int_equal(out.error, 0);
	assert_true(none.nodeid == 0 && none.entry_valid == 0);
}

static void test_forgotten_node_numbers_are_stale(void **state)
{
	struct rig *g = *state;
	uint64_t a, again;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	assert_true(lookup(g, "a", "handle-a") == a);
	forget(g, a, 1);
	kernel_send_to(g, FUSE_READLINK, 4, a, "", 0);
	fuse_client_pull(g->f, true, NOW0);
	respond(g, 0, 0, "x", 1);
	expect_reply(g, 4, 0);
	forget(g, a, 1);
	assert_int_equal(n_calls, 0); /* the server does not get the FORGET */
	kernel_send_to(g, FUSE_READLINK, 6, a, "", 0);
	fuse_client_pull(g->f, true, NOW0);
	expect_reply(g, 6, -ESTALE);
	again = lookup(g, "b", "handle-b");
	assert_int_equal((uint32_t)again, (uint32_t)a); /* the record is reused */
	assert_true(again != a);
	kernel_send_to(g, FUSE_READLINK, 8, a, "", 0);
	fuse_client_pull(g->f, true, NOW0);
	expect_reply(g, 8, -ESTALE);
}

static void test_batch_forget_frees_nodes(void **state)
{
	struct rig *g = *state;
	struct {
		struct fuse_batch_forget_in in;
		struct fuse_forget_one one[3];
	} msg = {.in = {.count = 1000}}; /* more than there are */

	bring_up(g);
	for (unsigned i = 0; i < 3; i++) {
		char name[2] = {(char)('a' + i), '\0'};

		msg.one[i] =
			(struct fuse_forget_one){.nodeid = lookup(g, name, name), .nlookup = 1};
	}
	assert_int_equal(g->f->nodes.n_used, 4);
	kernel_send_to(g, FUSE_BATCH_FORGET, 4, 0, &msg, sizeof(msg));
	fuse_client_pull(g->f, true, NOW0);
	assert_int_equal(g->f->nodes.n_used, 1);
	expect_silence(g);
	kernel_send_to(g, FUSE_BATCH_FORGET, 6, 0, &msg, 9); /* truncated */
	kernel_send_to(g, FUSE_FORGET, 8, 1, &msg, 3);
	fuse_client_pull(g->f, true, NOW0);
	expect_silence(g);
}

static void test_second_nodes_are_sent_as_handles(void **state)
{
	struct rig *g = *state;
	struct fuse_rename_in in;
	uint8_t msg[32] = {0};

	bring_up(g);
	in.newdir = lookup_as(g, "d", "handle-d", S_IFDIR | 0755).nodeid;
	memcpy(msg, &in, sizeof(in));
	memcpy(msg + sizeof(in), "a\0b", 4);
	kernel_send(g, FUSE_RENAME, 4, msg, sizeof(in) + 4);
	fuse_client_pull(g->f, true, NOW0);
	assert_int_equal(call_tail(0).n_handles, 2);
	expect_handle(0, 0, "root");
	expect_handle(0, 1, "handle-d");
	respond(g, 0, 0, NULL, 0);
	expect_reply(g, 4, 0);
	in.newdir += 1ULL << 32;
	memcpy(msg, &in, sizeof(in));
	kernel_send(g, FUSE_RENAME, 6, msg, sizeof(in) + 4);
	fuse_client_pull(g->f, true, NOW0);
	expect_reply(g, 6, -ESTALE);
}

static void test_file_handles_are_translated(void **state)
{
	struct rig *g = *state;
	struct fuse_read_in in = {.size = 100};
	uint64_t a, fh;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	fh = open_file(g, a, 0x1234);
	assert_true(fh != 0x1234);
	in.fh = fh;
	kernel_send_to(g, FUSE_READ, 4, a, &in, sizeof(in));
	fuse_client_pull(g->f, true, NOW0);
	memcpy(&in, calls[0].msg + sizeof(struct fuse_in_header), sizeof(in));
	assert_true(in.fh == 0x1234);
	respond(g, 0, 0, "x", 1);
	expect_reply(g, 4, 0);
	kernel_release(g, a, fh); /* answered at once */
	assert_int_equal(call_header(0).opcode, FUSE_RELEASE);
	expect_handle(0, 0, "handle-a");
	respond(g, 0, 0, NULL, 0);
	expect_silence(g);
	in.fh = fh;
	kernel_send_to(g, FUSE_READ, 6, a, &in, sizeof(in));
	fuse_client_pull(g->f, true, NOW0);
	expect_reply(g, 6, -ESTALE);
	kernel_release(g, a, fh); /* resent by a kernel whose worker died: was done */
	assert_int_equal(n_calls, 0);
}

static void test_a_successor_adopts_nodes_and_files(void **state)
{
	struct rig *g = *state;
	uint64_t a, b, fh;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	b = lookup(g, "b", "handle-b");
	fh = open_file(g, a, 5);
	forget(g, a, 1); /* pinned by the file only */
	worker_restarts(g);
	assert_int_equal(g->f->nodes.n_used, 3);
	write_some(g, a, fh);
	assert_true(lookup(g, "a", "handle-a") == a);
	kernel_send_to(g, FUSE_READLINK, 4, b, "", 0);
	fuse_client_pull(g->f, true, NOW0);
	expect_handle(0, 0, "handle-b");
	respond(g, 0, 0, "x", 1);
	expect_reply(g, 4, 0);
	/* Closed, and not reported yet: the next worker reports it. */
	calls_limit = 0;
	kernel_release(g, a, fh);
	worker_restarts(g);
	assert_int_equal(call_header(0).opcode, FUSE_RELEASE);
	respond(g, 0, 0, NULL, 0);
	forget(g, a, 1);
	assert_int_equal(g->f->nodes.n_used, 2);
}

/* The answer was recorded, but the kernel never got it: no second file for the same open. */
static void test_a_resent_open_makes_no_second_file(void **state)
{
	struct rig *g = *state;
	struct fuse_open_in in = {.flags = O_RDWR};
	struct fuse_open_out o = {.fh = 5};
	struct fuse_out_header out;
	uint64_t a, fh;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	fh = open_file(g, a, 5);
	worker_restarts(g);
	kernel_send_to(g, FUSE_OPEN, 90 | FUSE_PROTO_UNIQUE_RESEND, a, &in, sizeof(in));
	fuse_client_pull(g->f, true, NOW0);
	respond(g, 0, 0, &o, sizeof(o));
	assert_true(kernel_receive(g, &out, &o, sizeof(o)) > 0);
	assert_int_equal(out.error, 0);
	assert_true(o.fh == fh);
	assert_int_equal(g->f->state.head->n_files, 1);
}

static void test_files_are_reopened_at_a_restarted_server(void **state)
{
	struct rig *g = *state;
	struct fuse_open_in open;
	struct fuse_open_out o = {.fh = 50};
	struct fuse_read_in in = {.size = 100};
	uint64_t a, b, fh_a, fh_b;
	unsigned first;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	b = lookup(g, "b", "handle-b");
	fh_a = open_with(g, a, O_RDWR | O_TRUNC | O_SYNC, 5, NULL).fh;
	fh_b = open_file(g, b, 6);
	in.fh = fh_a;
	kernel_send_to(g, FUSE_READ, 4, a, &in, sizeof(in));
	fuse_client_pull(g->f, true, NOW0);
	server_restarts(g, 2, 1);
	assert_false(fuse_client_is_ready(g->f));
	assert_int_equal(n_calls, 2); /* no other request is sent before */
	first = memcmp(calls[0].msg + call_header(0).len + 9, "handle-a", 8) != 0;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(call_header(i).opcode, FUSE_OPEN);
		assert_int_equal(call_tail(i).flags, FUSE_PROTO_REQ_REOPEN);
		assert_int_equal(call_header(i).uid, 1000);
		assert_int_equal(call_header(i).gid, 100);
	}
	memcpy(&open, calls[first].msg + sizeof(struct fuse_in_header), sizeof(open));
	assert_int_equal(open.flags, O_RDWR | O_SYNC);
	expect_handle(first, 0, "handle-a");
	respond(g, first, 0, &o, sizeof(o));
	respond(g, 0, -ESTALE, NULL, 0); /* b has been removed */
	fuse_client_tick(g->f, NOW0);
	assert_true(fuse_client_is_ready(g->f));
	assert_int_equal(n_calls, 1);
	assert_true(call_header(0).unique == (4 | FUSE_PROTO_UNIQUE_RESEND));
	memcpy(&in, calls[0].msg + sizeof(struct fuse_in_header), sizeof(in));
	assert_true(in.fh == 50);
	respond(g, 0, 0, "x", 1);
	expect_reply(g, 4, 0);
	kernel_write(g, b, fh_b, "data", 4);
	expect_reply(g, g->unique, -ESTALE);
	kernel_release(g, b, fh_b);
	assert_int_equal(n_calls, 0); /* unknown to the server */
}

/* Requests of a dead file; a file that is closed meanwhile; a server that has no room now. */
static void test_reopening_handles_dead_and_closed_files(void **state)
{
	struct rig *g = *state;
	struct fuse_open_out o = {.fh = 60};
	uint64_t a, b, fh_a, fh_b;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	b = lookup(g, "b", "handle-b");
	fh_a = open_file(g, a, 5);
	fh_b = open_file(g, b, 6);
	kernel_write(g, a, fh_a, "data", 4);
	server_restarts(g, 2, 1);
	assert_int_equal(n_calls, 2);
	kernel_release(g, b, fh_b); /* is just being reopened */
	respond(g, 1, -EMFILE, NULL, 0);
	respond(g, 0, -EMFILE, NULL, 0);
	fuse_client_tick(g->f, NOW0);
	assert_false(fuse_client_is_ready(g->f));
	assert_int_equal(n_calls, 0);
	assert_true(fuse_client_tick(g->f, NOW0) == NOW0 + NSEC_PER_SEC);
	g->now_ns += NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1); /* b is closed */
	expect_handle(0, 0, "handle-a");
	server_restarts(g, 3, 1); /* and once more */
	assert_int_equal(n_calls, 1);
	respond(g, 0, 0, "bad", 3);
	fuse_client_tick(g->f, g->now_ns);
	assert_true(fuse_client_is_ready(g->f));
	expect_reply(g, g->unique - 2, -ESTALE); /* the write */
	assert_int_equal(n_calls, 0);
	(void)o;
}

static void test_many_files_are_reopened(void **state)
{
	struct rig *g = *state;
	struct fuse_open_out o = {.fh = 0};
	uint64_t a;
	unsigned n = 0;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	for (unsigned i = 0; i < 200; i++)
		open_file(g, a, i);
	server_restarts(g, 2, 1);
	while (!fuse_client_is_ready(g->f)) {
		assert_true(n_calls > 0 && n_calls <= CLIENT_SLOTS_INTERNAL);
		o.fh = 1000 + n++;
		respond(g, 0, 0, &o, sizeof(o));
		fuse_client_tick(g->f, NOW0);
	}
	assert_int_equal(n, 200);
}

static void test_lost_data_are_reported_once_per_file(void **state)
{
	struct rig *g = *state;
	uint64_t a, b, fh[3], later;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	b = lookup(g, "b", "handle-b");
	fh[0] = open_file(g, a, 5);
	fh[1] = open_file(g, a, 6);
	fh[2] = open_file(g, b, 7);
	write_some(g, a, fh[0]);
	write_some(g, b, fh[2]);
	expect_fsync(g, b, fh[2], 0);
	g->server.verifier = 2; /* the host died; so the process is new too */
	server_restarts(g, 2, 2);
	while (!fuse_client_is_ready(g->f)) {
		struct fuse_open_out o = {.fh = 70 + n_calls};

		respond(g, 0, 0, &o, sizeof(o));
		fuse_client_tick(g->f, NOW0);
	}
	worker_restarts(g); /* the marks survive us */
	expect_fsync(g, a, fh[0], -EIO);
	expect_fsync(g, a, fh[0], 0);
	expect_fsync(g, a, fh[1], -EIO);
	expect_fsync(g, a, fh[1], 0);
	expect_fsync(g, b, fh[2], 0); /* was safe */
	later = open_file(g, a, 80);
	expect_fsync(g, a, later, 0); /* already reported */
}

static void test_the_next_opener_gets_an_unreported_loss(void **state)
{
	struct rig *g = *state;
	uint64_t a, fh;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	fh = open_file(g, a, 5);
	write_some(g, a, fh);
	kernel_release(g, a, fh);
	respond(g, 0, 0, NULL, 0);
	server_restarts(g, 2, 2);
	assert_true(fuse_client_is_ready(g->f));
	fh = open_file(g, a, 6);
	expect_fsync(g, a, fh, -EIO);
	fh = open_file(g, a, 7);
	expect_fsync(g, a, fh, 0);
}

/* An fsync covers only what was acknowledged before it was sent. */
static void test_fsync_does_not_cover_later_writes(void **state)
{
	struct rig *g = *state;
	struct fuse_open_out o = {.fh = 70};
	uint64_t a, fh, sync;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	fh = open_file(g, a, 5);
	write_some(g, a, fh);
	kernel_fsync(g, a, fh);
	sync = g->unique;
	write_some(g, a, fh);
	respond(g, 0, 0, NULL, 0);
	expect_reply(g, sync, 0);
	server_restarts(g, 2, 2);
	respond(g, 0, 0, &o, sizeof(o));
	fuse_client_tick(g->f, NOW0);
	expect_fsync(g, a, fh, -EIO);
}

static void test_the_page_cache_is_kept_while_unchanged(void **state)
{
	struct rig *g = *state;
	struct fuse_attr attr = {.size = 5, .mtime = 10, .mtimensec = 3, .ctime = 11};
	uint64_t a, fh;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	assert_false(open_with(g, a, O_RDONLY, 1, &attr).open_flags & FOPEN_KEEP_CACHE);
	assert_true(open_with(g, a, O_RDONLY, 2, &attr).open_flags & FOPEN_KEEP_CACHE);
	attr.ctimensec = 1;
	assert_false(open_with(g, a, O_RDONLY, 3, &attr).open_flags & FOPEN_KEEP_CACHE);
	assert_false(open_with(g, a, O_RDONLY, 4, NULL).open_flags & FOPEN_KEEP_CACHE);
	assert_false(open_with(g, a, O_RDONLY, 5, &attr).open_flags & FOPEN_KEEP_CACHE);
	fh = open_with(g, a, O_RDWR, 6, &attr).fh;
	write_some(g, a, fh);
	assert_false(open_with(g, a, O_RDONLY, 7, &attr).open_flags & FOPEN_KEEP_CACHE);
	server_restarts(g, 1, 2); /* possibly another file system */
	assert_false(open_with(g, a, O_RDONLY, 8, &attr).open_flags & FOPEN_KEEP_CACHE);
}

static void read_answered(struct rig *g, uint64_t nodeid, uint64_t fh, uint64_t offset, int error,
			  size_t len)
{
	struct fuse_read_in in = {.fh = fh, .offset = offset, .size = 4096};

	kernel_send_to(g, FUSE_READ, 4, nodeid, &in, sizeof(in));
	fuse_client_pull(g->f, true, NOW0);
	respond(g, 0, error, "x", len);
	expect_reply(g, 4, error);
}

/* The kernel takes the request's offset as the end of the file. */
static void test_a_read_behind_the_end_sets_no_size(void **state)
{
	struct fuse_notify_inval_inode_out inval;
	struct fuse_out_header out;
	struct rig *g = *state;
	uint64_t a, fh;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	fh = open_file(g, a, 0x1234);
	read_answered(g, a, fh, 0, 0, 0);
	expect_silence(g);
	read_answered(g, a, fh, 8192, 0, 1);
	expect_silence(g);
	read_answered(g, a, fh, 8192, -EIO, 0);
	expect_silence(g);
	read_answered(g, a, fh, 8192, 0, 0);
	assert_int_equal(kernel_receive(g, &out, &inval, sizeof(inval)),
			 sizeof(out) + sizeof(inval));
	assert_true(out.unique == 0 && out.error == FUSE_NOTIFY_INVAL_INODE);
	assert_true(inval.ino == a && inval.off == -1);
	expect_silence(g);
}

/* Only the client knows of an open pipe: the server does not know that it is open, and frees it. */
static void test_a_removed_pipe_has_attributes(void **state)
{
	struct rig *g = *state;
	struct fuse_getattr_in in = {.getattr_flags = 0};
	struct fuse_attr_out attr = {.attr_valid = 7};
	struct fuse_out_header out;
	uint64_t pipe, file;

	bring_up(g);
	pipe = lookup_as(g, "p", "handle-p", S_IFIFO | 0640).nodeid;
	file = lookup(g, "f", "handle-f");
	worker_restarts(g);
	kernel_send_to(g, FUSE_GETATTR, 4, pipe, &in, sizeof(in));
	fuse_client_pull(g->f, true, NOW0);
	respond(g, 0, -ESTALE, NULL, 0);
	assert_true(kernel_receive(g, &out, &attr, sizeof(attr)) == sizeof(out) + sizeof(attr));
	assert_true(out.error == 0 && out.unique == 4 && attr.attr_valid == 0);
	assert_int_equal(attr.attr.mode, S_IFIFO | 0640);
	assert_int_equal(attr.attr.ino, 7);
	assert_int_equal(attr.attr.nlink, 0);
	kernel_send_to(g, FUSE_GETATTR, 6, file, &in, sizeof(in));
	fuse_client_pull(g->f, true, NOW0);
	respond(g, 0, -ESTALE, NULL, 0);
	expect_reply(g, 6, -ESTALE);
}

/* ---- a directory with its handles ---- */

struct dir {
	size_t len;
	uint8_t bytes[4096];
};

static void dir_add(struct dir *d, const char *name, uint64_t nodeid, uint32_t mode)
{
	struct fuse_direntplus e = {
		.entry_out = {.nodeid = nodeid, .attr = {.mode = mode, .nlink = 1}},
		.dirent = {.ino = 9, .namelen = (uint32_t)strlen(name)}};

	memcpy(d->bytes + d->len, &e, FUSE_NAME_OFFSET_DIRENTPLUS);
	memcpy(d->bytes + d->len + FUSE_NAME_OFFSET_DIRENTPLUS, name, strlen(name));
	d->len += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + strlen(name));
}

static uint64_t dir_node(const struct dir *d, unsigned i)
{
	struct fuse_direntplus e;
	size_t off = 0;

	while (i-- > 0) {
		memcpy(&e, d->bytes + off, FUSE_NAME_OFFSET_DIRENTPLUS);
		off += FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + e.dirent.namelen);
	}
	memcpy(&e, d->bytes + off, FUSE_NAME_OFFSET_DIRENTPLUS);
	return e.entry_out.nodeid;
}

static void kernel_readdir(struct rig *g, uint64_t fh, uint32_t size)
{
	struct fuse_read_in in = {.fh = fh, .size = size};

	kernel_send(g, FUSE_READDIRPLUS, g->unique += 2, &in, sizeof(in));
	fuse_client_pull(g->f, true, NOW0);
}

static void test_directory_entries_become_nodes(void **state)
{
	struct rig *g = *state;
	struct dir d = {.len = 0}, got = {.len = 0};
	struct tail t = tail_make(0, 4);
	struct fuse_out_header out;
	struct fuse_read_in in;
	uint64_t fh;

	bring_up(g);
	fh = open_file(g, FUSE_ROOT_ID, 5);
	dir_add(&d, ".", 1, S_IFDIR);
	dir_add(&d, "a", 1, S_IFREG);
	dir_add(&d, "gone", 0, 0);
	dir_add(&d, "b", 1, S_IFREG);
	dir_add(&d, "odd", 1, 0); /* no such file type */
	tail_add_handle(&t, "root");
	tail_add_handle(&t, "handle-a");
	tail_add_handle(&t, "handle-b");
	tail_add_handle(&t, "handle-odd");
	kernel_readdir(g, fh, 1 << 20);
	memcpy(&in, calls[0].msg + sizeof(struct fuse_in_header), sizeof(in));
	assert_int_equal(in.size, FUSE_PROTO_DIRPLUS_MAX); /* room for the handles */
	respond_tail(g, 0, 0, d.bytes, d.len, &t);
	got.len = kernel_receive(g, &out, got.bytes, sizeof(got.bytes));
	assert_int_equal(got.len, sizeof(out) + d.len);
	assert_int_equal(out.error, 0);
	assert_true(dir_node(&got, 0) == 0 && dir_node(&got, 2) == 0 && dir_node(&got, 4) == 0);
	assert_int_equal(g->f->nodes.n_used, 3);
	assert_true(lookup(g, "a", "handle-a") == dir_node(&got, 1));
	assert_true(lookup(g, "b", "handle-b") == dir_node(&got, 3));
	forget(g, dir_node(&got, 1), 2);
	forget(g, dir_node(&got, 3), 2);
	assert_int_equal(g->f->nodes.n_used, 1);
}

static void test_bad_directories_leave_nothing(void **state)
{
	struct rig *g = *state;
	struct tail t = tail_make(0, 1), more = tail_make(0, 2);
	uint64_t fh;

	bring_up(g);
	fh = open_file(g, FUSE_ROOT_ID, 5);
	tail_add_handle(&t, "handle-a");
	tail_add_handle(&more, "handle-a"); /* and no second one */
	for (unsigned i = 0; i < 5; i++) {
		struct dir d = {.len = 0};

		dir_add(&d, "a", 1, S_IFREG);
		dir_add(&d, i == 0 ? "x/y" : i == 1 ? "" : "b", i == 4, S_IFREG);
		kernel_readdir(g, fh, 4096);
		respond_tail(g, 0, 0, d.bytes, d.len - (i == 2 ? 8 : 0), i == 3 ? &more : &t);
		expect_reply(g, g->unique, i == 4 ? 0 : -EIO);
		if (i < 4)
			assert_int_equal(g->f->nodes.n_used, 1);
	}
}

/* ---- a malicious server ---- */

static void test_bad_hello_answers_are_refused(void **state)
{
	struct rig *g = *state;
	struct fuse_out_header out;
	struct fuse_init_out init = {.major = 7};
	struct fuse_proto_server server = {.incarnation = 0};
	struct tail t;

	kernel_init(g, 44, ~0ULL);
	fuse_client_pull(g->f, true, NOW0);
	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	session_up(g);
	for (unsigned i = 0; i < 4; i++) {
		t = tail_make(i == 0 ? 0 : FUSE_PROTO_RESP_SERVER, i == 1 ? 0 : i == 3 ? 2 : 1);
		server.incarnation = i != 2;
		if (i > 0)
			tail_add(&t, &server, sizeof(server));
		for (unsigned k = 0; k < (i == 1 ? 0 : i == 3 ? 2 : 1); k++)
			tail_add_handle(&t, "root");
		respond_tail(g, 0, 0, &init, sizeof(init), i == 0 ? NULL : &t);
		assert_false(fuse_client_is_ready(g->f));
		g->now_ns += 2 * NSEC_PER_SEC;
		fuse_client_tick(g->f, g->now_ns);
		assert_int_equal(n_calls, 1);
	}
	respond_init(g);
	assert_true(fuse_client_is_ready(g->f));
}

static void test_bad_entries_become_eio(void **state)
{
	struct rig *g = *state;
	struct fuse_mkdir_in in = {.mode = 0755};
	uint8_t arg[sizeof(in) + 4];

	bring_up(g);
	memcpy(arg, &in, sizeof(in));
	memcpy(arg + sizeof(in), "dir", 4);
	for (unsigned i = 0; i < 8; i++) {
		struct fuse_entry_out e = entry_make(i == 0 ? S_IFREG : S_IFDIR);
		struct tail t = tail_make(i == 7 ? 0x80 : 0, i != 1);

		if (i == 2)
			e.nodeid = 0; /* made, and does not exist */
		if (i == 3)
			e.attr.size = UINT64_MAX;
		if (i != 1)
			tail_add_handle(&t, i == 4 ? "root" : "handle-d");
		if (i == 5)
			t.len--;
		if (i == 6)
			t.bytes[t.len++] = 1;
		kernel_send(g, FUSE_MKDIR, g->unique += 2, arg, sizeof(arg));
		fuse_client_pull(g->f, true, NOW0);
		respond_tail(g, 0, 0, &e, sizeof(e), &t);
		expect_reply(g, g->unique, -EIO);
		assert_int_equal(g->f->nodes.n_used, 1);
		assert_int_equal(fuse_client_in_flight(g->f), 0);
	}
	assert_int_equal(g->f->bad_responses, 8);
}

static void test_a_write_count_above_the_request_is_eio(void **state)
{
	struct rig *g = *state;
	struct fuse_write_out out = {.size = 5};
	uint64_t a, fh;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	fh = open_file(g, a, 5);
	kernel_write(g, a, fh, "data", 4);
	respond(g, 0, 0, &out, sizeof(out));
	expect_reply(g, g->unique, -EIO);
}

/* ---- the tables alone ---- */

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_nodes_map_to_handles),
		CASE(test_entries_have_the_clients_timeouts),
		CASE(test_forgotten_node_numbers_are_stale),
		CASE(test_batch_forget_frees_nodes),
		CASE(test_second_nodes_are_sent_as_handles),
		CASE(test_file_handles_are_translated),
		CASE(test_a_successor_adopts_nodes_and_files),
		CASE(test_a_resent_open_makes_no_second_file),
		CASE(test_files_are_reopened_at_a_restarted_server),
		CASE(test_reopening_handles_dead_and_closed_files),
		CASE(test_many_files_are_reopened),
		CASE(test_lost_data_are_reported_once_per_file),
		CASE(test_the_next_opener_gets_an_unreported_loss),
		CASE(test_fsync_does_not_cover_later_writes),
		CASE(test_the_page_cache_is_kept_while_unchanged),
		CASE(test_a_read_behind_the_end_sets_no_size),
		CASE(test_a_removed_pipe_has_attributes),
		CASE(test_directory_entries_become_nodes),
		CASE(test_bad_directories_leave_nothing),
		CASE(test_bad_hello_answers_are_refused),
		CASE(test_bad_entries_become_eio),
		CASE(test_a_write_count_above_the_request_is_eio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
