/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that stay open at the server for a second after the kernel has closed them: the next open
 * asks no server while the file is leased, and never shows anything but the leased state. */
#include "tests/lib/fuse/client_mount_workers_rig.h"

#define KEEP (FOPEN_KEEP_CACHE | FOPEN_PARALLEL_DIRECT_WRITES)

/* The attributes of the file at the server. */
static const struct fuse_attr now = {
	.ino = 7, .mode = S_IFREG | 0644, .nlink = 1, .size = 100, .mtime = 5, .ctime = 6};

/* A LOOKUP of a leased file. */
static uint64_t lookup_leased(struct rig *g, const char *handle, const struct fuse_attr *attr)
{
	struct fuse_entry_out e = {.nodeid = 1, .generation = FUSE_PROTO_LEASED, .attr = *attr};
	struct tail t = tail_make(0, 1);
	struct fuse_out_header out;

	kernel_send(g, FUSE_LOOKUP, g->unique += 2, "name", 5);
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	tail_add_handle(&t, handle);
	respond_tail(g, n_calls - 1, 0, &e, sizeof(e), &t);
	assert_true(kernel_receive(g, &out, &e, sizeof(e)) > 0);
	assert_int_equal(out.error, 0);
	return e.nodeid;
}

/* Sends an OPEN. Returns true with the kernel's answer if the client has answered it, and false if
 * it has asked the server. */
static bool opens_locally_as(struct rig *g, uint64_t node, uint32_t flags, uint64_t unique,
			     struct fuse_open_out *ret)
{
	const struct fuse_open_in in = {.flags = flags};
	struct fuse_out_header out;
	unsigned n = n_calls;

	kernel_send_to(g, FUSE_OPEN, unique, node, &in, sizeof(in));
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	if (n_calls > n)
		return false;
	assert_int_equal(kernel_receive(g, &out, ret, sizeof(*ret)), sizeof(out) + sizeof(*ret));
	assert_true(out.unique == unique && out.error == 0);
	return true;
}

static bool opens_locally(struct rig *g, uint64_t node, struct fuse_open_out *ret)
{
	return opens_locally_as(g, node, O_RDONLY, g->unique += 2, ret);
}

/* Answers the last call, an OPEN that went to the server. Returns the kernel's handle. */
static uint64_t server_opens(struct rig *g, uint64_t server_fh, const struct fuse_attr *attr)
{
	struct fuse_open_out o = {.fh = server_fh};
	struct tail t = tail_make(FUSE_PROTO_RESP_ATTR, 0);
	struct fuse_out_header out;

	assert_int_equal(call_header(n_calls - 1).opcode, FUSE_OPEN);
	tail_add(&t, attr, sizeof(*attr));
	respond_tail(g, n_calls - 1, 0, &o, sizeof(o), &t);
	assert_true(kernel_receive(g, &out, &o, sizeof(o)) > 0);
	assert_int_equal(out.error, 0);
	return o.fh;
}

static uint64_t release_fh(unsigned call)
{
	struct fuse_release_in in;

	assert_int_equal(call_header(call).opcode, FUSE_RELEASE);
	memcpy(&in, calls[call].msg + sizeof(struct fuse_in_header), sizeof(in));
	return in.fh;
}

/* A leased file that was opened once at the server, as number 50, and closed again. */
static uint64_t closed_once(struct rig *g)
{
	uint64_t node;

	bring_up(g);
	node = lookup_leased(g, "handle-a", &now);
	kernel_release(g, node, open_with(g, node, O_RDONLY, 50, &now).fh);
	assert_int_equal(n_calls, 0);
	return node;
}

static void test_a_repeated_open_asks_no_server(void **state)
{
	struct rig *g = *state;
	uint64_t node = closed_once(g), last = 0;
	struct fuse_open_out o;

	for (unsigned i = 0; i < 3; i++) {
		assert_true(opens_locally(g, node, &o));
		assert_int_equal(o.open_flags, KEEP);
		assert_true(o.fh != last);
		last = o.fh;
		assert_int_equal(fuse_client_open_files(g->f), 1);
		kernel_release(g, node, o.fh);
		assert_int_equal(fuse_client_open_files(g->f), 0);
	}
	/* The open file is the server's. */
	assert_true(opens_locally(g, node, &o));
	kernel_fsync(g, node, o.fh);
	assert_int_equal(n_calls, 1);
	assert_memory_equal(calls[0].msg + sizeof(struct fuse_in_header), &(uint64_t){50}, 8);
	respond(g, 0, 0, NULL, 0);
	expect_reply(g, g->unique, 0);
	/* It serves one open at a time. */
	assert_false(opens_locally(g, node, &o));
	(void)server_opens(g, 51, &now);
}

static void test_the_server_is_asked_when_the_lease_has_ended(void **state)
{
	struct rig *g = *state;
	uint64_t node = closed_once(g);
	struct fuse_open_out o;

	g->now_ns += NSEC_PER_SEC / 2;
	assert_true(opens_locally(g, node, &o));
	kernel_release(g, node, o.fh);
	g->now_ns += NSEC_PER_SEC / 2;
	assert_false(opens_locally(g, node, &o));
	kernel_release(g, node, server_opens(g, 51, &now));
	/* Another lease of the same state. */
	assert_true(lookup_leased(g, "handle-a", &now) == node);
	assert_true(opens_locally(g, node, &o));
}

/* The time at which the burst was read is older than the lease's end. */
static void test_the_lease_is_compared_with_the_time_of_the_open(void **state)
{
	struct rig *g = *state;
	uint64_t node = closed_once(g);
	struct fuse_open_out o;

	g->f->clock_ns = clock_later_ns;
	later_ns = g->now_ns + NSEC_PER_SEC;
	assert_false(opens_locally(g, node, &o));
}

static void test_a_file_without_a_lease_is_opened_at_the_server(void **state)
{
	struct rig *g = *state;
	struct fuse_open_out o;
	uint64_t node;

	bring_up(g);
	node = lookup(g, "name", "handle-a");
	kernel_release(g, node, open_with(g, node, O_RDONLY, 50, &now).fh);
	assert_false(opens_locally(g, node, &o));
}

static void test_another_open_is_not_the_same(void **state)
{
	struct rig *g = *state;
	uint64_t node = closed_once(g), other;
	struct fuse_open_out o;
	struct client_file *file = client_file_at(&g->f->files, 0);

	assert_false(opens_locally_as(g, node, O_WRONLY, g->unique += 2, &o));
	respond(g, n_calls - 1, -EACCES, NULL, 0);
	expect_reply(g, g->unique, -EACCES);
	assert_false(opens_locally_as(g, node, O_RDONLY | O_TRUNC, g->unique += 2, &o));
	respond(g, n_calls - 1, -EACCES, NULL, 0);
	expect_reply(g, g->unique, -EACCES);
	other = lookup_leased(g, "handle-b", &now);
	assert_false(opens_locally(g, other, &o));
	respond(g, n_calls - 1, -EACCES, NULL, 0);
	expect_reply(g, g->unique, -EACCES);
	/* Of another user. */
	assert_true(lookup_leased(g, "handle-a", &now) == node);
	file->uid++;
	assert_false(opens_locally(g, node, &o));
	respond(g, n_calls - 1, -EACCES, NULL, 0);
	expect_reply(g, g->unique, -EACCES);
	file->uid--;
	file->gid++;
	assert_false(opens_locally(g, node, &o));
	respond(g, n_calls - 1, -EACCES, NULL, 0);
	expect_reply(g, g->unique, -EACCES);
	file->gid--;
	assert_true(opens_locally(g, node, &o));
}

/* The client opens a changed file at the server. */
static void expect_changed(struct rig *g, uint64_t node, const struct fuse_attr *attr)
{
	struct fuse_open_out o;

	assert_true(lookup_leased(g, "handle-a", attr) == node);
	assert_false(opens_locally(g, node, &o));
	kernel_release(g, node, server_opens(g, 51, attr));
	assert_true(opens_locally(g, node, &o));
	kernel_release(g, node, o.fh);
}

static void test_a_change_by_another_client_is_seen(void **state)
{
	struct rig *g = *state;
	struct fuse_attr attr = now;
	uint64_t node = closed_once(g);

	attr.size++;
	expect_changed(g, node, &attr);
	attr.mtimensec++;
	expect_changed(g, node, &attr);
	attr.ctimensec++; /* such as of the mode */
	expect_changed(g, node, &attr);
}

/* The server has not checked the present permissions of the file that was opened before. */
static void test_a_file_that_was_opened_before_a_change_is_not_used(void **state)
{
	struct rig *g = *state;
	struct fuse_attr attr = now;
	uint64_t node = closed_once(g);
	struct fuse_open_out o;

	attr.ctimensec++;
	assert_true(lookup_leased(g, "handle-a", &attr) == node);
	assert_false(opens_locally(g, node, &o));
	(void)server_opens(g, 51, &attr);
	assert_false(opens_locally(g, node, &o));
}

static void test_a_change_by_this_client_is_seen(void **state)
{
	struct fuse_setattr_in set = {.valid = FATTR_MODE, .mode = 0600};
	struct fuse_attr_out out = {.attr = now};
	struct rig *g = *state;
	uint64_t node = closed_once(g), fh = open_file(g, node, 60);
	struct fuse_open_out o;

	write_some(g, node, fh);
	assert_false(opens_locally(g, node, &o));
	kernel_release(g, node, server_opens(g, 51, &now));
	/* The server's clock has not moved since. */
	assert_true(lookup_leased(g, "handle-a", &now) == node);
	assert_true(opens_locally(g, node, &o));
	kernel_release(g, node, o.fh);
	kernel_send_to(g, FUSE_SETATTR, g->unique += 2, node, &set, sizeof(set));
	fuse_client_pull(g->f, true, g->now_ns);
	respond(g, n_calls - 1, 0, &out, sizeof(out));
	expect_reply(g, g->unique, 0);
	assert_false(opens_locally(g, node, &o));
	(void)server_opens(g, 52, &now);
	assert_true(lookup_leased(g, "handle-a", &now) == node);
	assert_false(opens_locally(g, node, &o)); /* number 51 has the permissions of before */
}

/* The answers to an OPEN and a later LOOKUP arrive in the wrong order. */
static void test_an_old_answer_is_not_the_leased_state(void **state)
{
	struct fuse_open_in in = {.flags = O_RDONLY};
	struct rig *g = *state;
	struct fuse_open_out o;
	uint64_t node;

	bring_up(g);
	node = lookup_leased(g, "handle-a", &now);
	kernel_send_to(g, FUSE_OPEN, g->unique += 2, node, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	g->now_ns++;
	{
		struct fuse_entry_out e = {
			.nodeid = 1, .generation = FUSE_PROTO_LEASED, .attr = now};
		struct tail t = tail_make(0, 1);
		struct fuse_out_header out;

		kernel_send(g, FUSE_LOOKUP, g->unique += 2, "name", 5);
		fuse_client_pull(g->f, true, g->now_ns);
		tail_add_handle(&t, "handle-a");
		respond_tail(g, 1, 0, &e, sizeof(e), &t);
		assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	}
	kernel_release(g, node, server_opens(g, 50, &now));
	assert_false(opens_locally(g, node, &o));
}

static void test_a_kept_file_is_closed_after_a_second(void **state)
{
	struct rig *g = *state;
	uint64_t node = closed_once(g);
	struct fuse_open_out o;

	assert_int_equal(fuse_client_tick(g->f, g->now_ns), g->now_ns + NSEC_PER_SEC);
	g->now_ns += NSEC_PER_SEC / 2;
	assert_true(opens_locally(g, node, &o));
	kernel_release(g, node, o.fh);
	fuse_client_tick(g->f, g->now_ns += NSEC_PER_SEC / 2); /* a second after the first close */
	fuse_client_tick(g->f, g->now_ns += NSEC_PER_SEC / 2 - 1);
	assert_int_equal(n_calls, 0);
	fuse_client_tick(g->f, ++g->now_ns);
	fuse_client_tick(g->f, g->now_ns += 20 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 1);
	assert_int_equal(release_fh(0), 50);
	respond(g, 0, 0, NULL, 0);
	assert_int_equal(fuse_client_tick(g->f, g->now_ns += 2 * NSEC_PER_SEC), UINT64_MAX);
	assert_int_equal(n_calls, 0);
}

static void expect_not_kept(struct rig *g, uint64_t node, uint32_t flags)
{
	struct fuse_open_out o;

	kernel_release(g, node, open_with(g, node, flags, 60, &now).fh);
	assert_false(opens_locally_as(g, node, flags, g->unique += 2, &o));
	kernel_release(g, node, server_opens(g, 61, &now));
}

static void test_only_files_that_are_read_are_kept(void **state)
{
	struct rig *g = *state;
	uint64_t node = closed_once(g);

	expect_not_kept(g, node, O_RDWR);
	expect_not_kept(g, node, O_WRONLY);
	expect_not_kept(g, node, O_RDONLY | O_TRUNC);
	expect_not_kept(g, node, O_RDONLY | O_DIRECT);
	expect_not_kept(g, node, O_RDONLY | O_APPEND);
}

/* The reader must bypass the page cache as well, which the answer of the server decides. */
static void test_a_file_that_is_written_past_the_page_cache_is_opened_at_the_server(void **state)
{
	struct rig *g = *state;
	uint64_t node = closed_once(g);
	struct fuse_open_out o;

	g->f->state.head->kernel |= CLIENT_KERNEL_DIRECT_MMAP;
	(void)open_with(g, node, O_WRONLY, 60, &now);
	assert_false(opens_locally(g, node, &o));
}

/* The kernel gets a mount worker's answers before the owner gets the report. */
static void test_a_file_that_mount_workers_use_is_opened_at_the_server(void **state)
{
	struct rig *g = *state;
	struct fuse_open_out o;
	struct ends e;

	owner_up(&e, g);
	mount_worker_lives(&e);
	assert_true(lookup_leased(g, "handle-a", &now) == e.node);
	kernel_release(g, e.node, open_with(g, e.node, O_RDONLY, 60, &now).fh);
	ask_read(&e);
	ask_read(&e);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED);
	assert_false(opens_locally(g, e.node, &o));
	kernel_release(g, e.node, server_opens(g, 61, &now));
	mount_worker_says(&e, 0, MOUNT_WORKER_DONE);
	fuse_client_pull(g->f, true, g->now_ns);
	assert_true(opens_locally(g, e.node, &o));
	ends_down(&e);
}

/* The server must not have to keep a removed file for this client. */
static void test_kept_files_are_closed_before_a_name_is_removed(void **state)
{
	struct rig *g = *state;
	struct fuse_open_out o;
	uint64_t node = closed_once(g);

	kernel_send(g, FUSE_UNLINK, g->unique += 2, "name", 5);
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(n_calls, 2);
	assert_int_equal(release_fh(0), 50);
	assert_int_equal(call_header(1).opcode, FUSE_UNLINK);
	assert_false(opens_locally(g, node, &o));
}

/* It is unknown which file has the name, for example if this client created the file: the space of
 * a removed file must be free at once. */
static void test_the_removal_of_an_unknown_name_closes_all_kept_files(void **state)
{
	struct rig *g = *state;
	struct fuse_open_out o;
	uint64_t node = closed_once(g);

	kernel_send(g, FUSE_UNLINK, g->unique += 2, "other", 6);
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(n_calls, 2);
	assert_int_equal(release_fh(0), 50);
	assert_int_equal(call_header(1).opcode, FUSE_UNLINK);
	assert_false(opens_locally(g, node, &o));
}

static void test_a_rename_closes_the_file_whose_name_another_gets(void **state)
{
	const struct {
		struct fuse_rename_in in;
		char names[9];
	} over = {.in = {.newdir = FUSE_ROOT_ID}, .names = "abc\0name"};
	struct rig *g = *state;

	(void)closed_once(g);
	kernel_send(g, FUSE_RENAME, g->unique += 2, &over, sizeof(over));
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(n_calls, 2);
	assert_int_equal(release_fh(0), 50);
	assert_int_equal(call_header(1).opcode, FUSE_RENAME);
}

static void test_the_oldest_kept_file_is_closed_for_a_newer_one(void **state)
{
	struct rig *g = *state;
	uint64_t fhs[CLIENT_KEPT_FILES_MAX + 1];
	uint64_t node = closed_once(g);
	struct fuse_open_out o;

	assert_true(opens_locally(g, node, &o));
	fhs[0] = o.fh;
	for (unsigned i = 1; i < ARRAY_SIZE(fhs); i++) {
		assert_false(opens_locally(g, node, &o));
		fhs[i] = server_opens(g, 50 + i, &now);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(fhs); i++)
		kernel_release(g, node, fhs[i]);
	fuse_client_tick(g->f, g->now_ns += 20 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 1);
	assert_int_equal(release_fh(0), 50);
	respond(g, 0, 0, NULL, 0);
	for (unsigned i = 1; i < ARRAY_SIZE(fhs); i++)
		assert_true(opens_locally(g, node, &o));
	assert_false(opens_locally(g, node, &o));
}

static void test_many_opens_of_one_file_leave_the_others_kept(void **state)
{
	struct rig *g = *state;
	uint64_t node = closed_once(g), other = lookup_leased(g, "handle-b", &now);
	struct fuse_open_out o;

	kernel_release(g, other, open_with(g, other, O_RDONLY, 51, &now).fh);
	for (unsigned i = 0; i < 2 * CLIENT_KEPT_FILES_MAX; i++) {
		assert_true(opens_locally(g, other, &o));
		kernel_release(g, other, o.fh);
	}
	assert_true(opens_locally(g, node, &o));
	assert_int_equal(n_calls, 0);
}

/* ---- a server without room ---- */

/* Sends a request of the kernel to open something, and answers it with ENFILE. The client closes
 * its kept file, number 50, and waits for the server's answer to that. */
static uint64_t opens_without_room(struct rig *g, uint32_t opcode, uint64_t node, const void *arg,
				   size_t len)
{
	uint64_t unique = g->unique += 2;

	kernel_send_to(g, opcode, unique, node, arg, len);
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	assert_int_equal(call_header(n_calls - 1).opcode, opcode);
	respond(g, n_calls - 1, -ENFILE, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	assert_int_equal(release_fh(0), 50);
	return unique;
}

/* The same request is sent again. Answers it with this error, which the program gets. */
static void expect_retry(struct rig *g, uint32_t opcode, uint64_t unique, int error)
{
	respond(g, 0, 0, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, opcode);
	assert_true((call_header(0).unique & ~FUSE_PROTO_UNIQUE_RESEND) == unique);
	respond(g, 0, error, NULL, 0);
	expect_reply(g, unique, error);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
}

static const struct fuse_open_in reads = {.flags = O_RDONLY};

static void test_an_open_gets_the_room_of_kept_files(void **state)
{
	struct rig *g = *state;
	uint64_t other;

	(void)closed_once(g);
	other = lookup_leased(g, "handle-b", &now);
	(void)opens_without_room(g, FUSE_OPEN, other, &reads, sizeof(reads));
	expect_silence(g);
	respond(g, 0, 0, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	(void)server_opens(g, 60, &now);
	expect_silence(g);
}

static void test_a_request_is_sent_twice_at_most(void **state)
{
	struct rig *g = *state;
	uint64_t node = closed_once(g), fh = open_file(g, node, 60), unique;

	unique = opens_without_room(g, FUSE_OPENDIR, FUSE_ROOT_ID, &reads, sizeof(reads));
	respond(g, 0, 0, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	kernel_release(g, node, fh); /* it would free room again */
	assert_int_equal(call_header(0).opcode, FUSE_OPENDIR);
	respond(g, 0, -ENFILE, NULL, 0);
	expect_reply(g, unique, -ENFILE);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	assert_int_equal(release_fh(0), 60);
	respond(g, 0, 0, NULL, 0);
	/* Without files that the client could close, it is sent once. */
	kernel_send_to(g, FUSE_OPEN, g->unique += 2, node, &reads, sizeof(reads));
	fuse_client_pull(g->f, true, g->now_ns);
	respond(g, 0, -ENFILE, NULL, 0);
	expect_reply(g, g->unique, -ENFILE);
}

/* Both programs get the room, although the first answer alone closes the kept file. */
static void test_two_opens_at_once_get_the_room(void **state)
{
	struct rig *g = *state;
	struct fuse_open_out o;
	uint64_t other;

	(void)closed_once(g);
	other = lookup_leased(g, "handle-b", &now);
	assert_false(opens_locally(g, other, &o));
	kernel_send_to(g, FUSE_OPEN, g->unique += 2, other, &reads, sizeof(reads));
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(n_calls, 2);
	respond(g, 0, -ENFILE, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(release_fh(1), 50);
	respond(g, 1, 0, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 2);
	respond(g, 0, -ENFILE, NULL, 0); /* sent before the file was closed */
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 2);
	for (unsigned i = 0; i < 2; i++)
		(void)server_opens(g, 60 + i, &now);
}

struct create {
	struct fuse_create_in in;
	char name[4];
};
static const struct create creates = {.in = {.flags = O_RDWR | O_CREAT | O_EXCL, .mode = 0644},
				      .name = "new"};

/* The server must find what it may have written to its journal about the request. */
static void test_a_create_is_sent_again_as_the_same_request(void **state)
{
	struct rig *g = *state;
	uint64_t unique;

	(void)closed_once(g);
	unique = opens_without_room(g, FUSE_CREATE, FUSE_ROOT_ID, &creates, sizeof(creates));
	respond(g, 0, 0, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	assert_true(call_header(0).unique == (unique | FUSE_PROTO_UNIQUE_RESEND));
	respond(g, 0, -EEXIST, NULL, 0);
	expect_reply(g, unique, -EEXIST);
}

/* The server may have created the file in the first session, and fail to open it now. */
static void test_a_create_of_two_sessions_is_not_sent_again(void **state)
{
	struct rig *g = *state;
	struct fuse_open_out o;
	uint64_t node, unique;

	node = closed_once(g);
	assert_true(opens_locally(g, node, &o));
	kernel_send(g, FUSE_CREATE, unique = g->unique += 2, &creates, sizeof(creates));
	fuse_client_pull(g->f, true, g->now_ns);
	reset_all(g, g->now_ns);
	fuse_client_event(g->f, RUDP_SESSION_LOST, 0, g->now_ns);
	fuse_client_event(g->f, RUDP_SESSION_UP, 0, g->now_ns);
	fuse_client_tick(g->f, g->now_ns);
	respond_init(g);
	kernel_release(g, node, o.fh);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(call_header(0).opcode, FUSE_CREATE);
	respond(g, 0, -ENFILE, NULL, 0);
	expect_reply(g, unique, -ENFILE);
}

static void test_no_file_is_kept_while_the_server_has_no_room(void **state)
{
	struct rig *g = *state;
	uint64_t node = closed_once(g), other = lookup_leased(g, "handle-b", &now);
	struct fuse_open_out o;

	expect_retry(g, FUSE_OPEN, opens_without_room(g, FUSE_OPEN, other, &reads, sizeof(reads)),
		     -ENFILE);
	kernel_release(g, node, open_with(g, node, O_RDONLY, 51, &now).fh);
	assert_false(opens_locally(g, node, &o));
	(void)server_opens(g, 52, &now);
	/* Later it has. */
	g->now_ns += 10 * NSEC_PER_SEC;
	assert_true(lookup_leased(g, "handle-a", &now) == node);
	kernel_release(g, node, open_with(g, node, O_RDONLY, 53, &now).fh);
	assert_true(opens_locally(g, node, &o));
}

static void test_a_restarted_server_opens_the_file_again(void **state)
{
	struct rig *g = *state;
	uint64_t node = closed_once(g);
	struct fuse_open_out o;

	server_restarts(g, 2, 1);
	assert_int_equal(n_calls, 0); /* it is closed: nothing is reopened */
	assert_true(lookup_leased(g, "handle-a", &now) == node);
	assert_false(opens_locally(g, node, &o));
	(void)server_opens(g, 51, &now);
	fuse_client_tick(g->f, g->now_ns += 20 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 0); /* that server does not know number 50 */
}

/* ---- deaths of the worker ---- */

static void test_a_successor_closes_kept_files(void **state)
{
	struct rig *g = *state;
	struct fuse_open_out o;
	uint64_t node = closed_once(g);

	worker_restarts(g);
	fuse_client_tick(g->f, g->now_ns += 20 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 1);
	assert_int_equal(release_fh(0), 50);
	assert_true(lookup_leased(g, "handle-a", &now) == node);
	assert_false(opens_locally(g, node, &o));
}

static void test_a_resent_open_gets_the_same_file(void **state)
{
	struct rig *g = *state;
	struct fuse_open_out o, again;
	uint64_t node = closed_once(g), unique = g->unique += 2;

	assert_true(opens_locally_as(g, node, O_RDONLY, unique, &o)); /* but the answer is lost */
	worker_restarts(g);
	assert_true(opens_locally_as(g, node, O_RDONLY, unique | FUSE_PROTO_UNIQUE_RESEND, &again));
	assert_true(again.fh == o.fh);
	assert_int_equal(again.open_flags, FOPEN_PARALLEL_DIRECT_WRITES);
	assert_int_equal(fuse_client_open_files(g->f), 1);
	/* One that the predecessor has not answered. */
	assert_false(opens_locally_as(g, node, O_RDONLY,
				      (g->unique += 2) | FUSE_PROTO_UNIQUE_RESEND, &o));
}

/* The kernel sends it again if the worker died before its answer. */
static void test_a_resent_close_does_not_close_the_next_open(void **state)
{
	struct rig *g = *state;
	struct fuse_open_out o, again;
	uint64_t node = closed_once(g);

	assert_true(opens_locally(g, node, &o));
	kernel_release(g, node, o.fh);
	assert_true(opens_locally(g, node, &again));
	kernel_release(g, node, o.fh);
	assert_int_equal(fuse_client_open_files(g->f), 1);
	fuse_client_tick(g->f, g->now_ns += 2 * NSEC_PER_SEC);
	fuse_client_tick(g->f, g->now_ns += 20 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 0);
}

/* A worker that died in the middle of the reuse leaves a closed file with another handle. */
static void test_a_half_reused_file_is_closed(void **state)
{
	struct rig *g = *state;

	(void)closed_once(g);
	client_file_at(&g->f->files, 0)->reuse++;
	worker_restarts(g);
	fuse_client_tick(g->f, g->now_ns += 20 * NSEC_PER_MSEC);
	assert_int_equal(release_fh(0), 50);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_repeated_open_asks_no_server),
		TEST(test_the_server_is_asked_when_the_lease_has_ended),
		TEST(test_the_lease_is_compared_with_the_time_of_the_open),
		TEST(test_a_file_without_a_lease_is_opened_at_the_server),
		TEST(test_another_open_is_not_the_same),
		TEST(test_a_change_by_another_client_is_seen),
		TEST(test_a_file_that_was_opened_before_a_change_is_not_used),
		TEST(test_a_change_by_this_client_is_seen),
		TEST(test_an_old_answer_is_not_the_leased_state),
		TEST(test_a_kept_file_is_closed_after_a_second),
		TEST(test_only_files_that_are_read_are_kept),
		TEST(test_a_file_that_is_written_past_the_page_cache_is_opened_at_the_server),
		TEST(test_a_file_that_mount_workers_use_is_opened_at_the_server),
		TEST(test_kept_files_are_closed_before_a_name_is_removed),
		TEST(test_the_removal_of_an_unknown_name_closes_all_kept_files),
		TEST(test_a_rename_closes_the_file_whose_name_another_gets),
		TEST(test_the_oldest_kept_file_is_closed_for_a_newer_one),
		TEST(test_many_opens_of_one_file_leave_the_others_kept),
		TEST(test_an_open_gets_the_room_of_kept_files),
		TEST(test_a_request_is_sent_twice_at_most),
		TEST(test_two_opens_at_once_get_the_room),
		TEST(test_a_create_is_sent_again_as_the_same_request),
		TEST(test_a_create_of_two_sessions_is_not_sent_again),
		TEST(test_no_file_is_kept_while_the_server_has_no_room),
		TEST(test_a_restarted_server_opens_the_file_again),
		TEST(test_a_successor_closes_kept_files),
		TEST(test_a_resent_open_gets_the_same_file),
		TEST(test_a_resent_close_does_not_close_the_next_open),
		TEST(test_a_half_reused_file_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
