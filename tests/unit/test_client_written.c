/* SPDX-License-Identifier: BSD-3-Clause */
/* The cached attributes of a file that is written and read through the kernel's cache: the
 * kernel asks after each write, and the client answers from the WRITE's answer. */
#include "tests/lib/fuse/client_rig.h"
#include <fcntl.h>

struct written {
	struct rig *g;
	uint64_t node, fh;
};

/* A LOOKUP whose answer says that the file has no extended attributes. */
static uint64_t lookup_bare(struct rig *g, const char *handle)
{
	struct fuse_entry_out e = entry_make(S_IFREG | 0644);
	struct tail t = tail_make(0, 1);
	struct fuse_out_header out;

	e.generation = FUSE_PROTO_NO_XATTRS;
	kernel_send(g, FUSE_LOOKUP, g->unique += 2, "name", 5);
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	tail_add_handle(&t, handle);
	respond_tail(g, n_calls - 1, 0, &e, sizeof(e), &t);
	assert_true(kernel_receive(g, &out, &e, sizeof(e)) > 0);
	return e.nodeid;
}

static struct written up(struct rig *g)
{
	struct written w = {.g = g};

	g->features |= FUSE_PROTO_FEATURE_WRITTEN;
	bring_up(g);
	w.node = lookup_bare(g, "handle-a");
	w.fh = open_file(g, w.node, 50);
	return w;
}

static uint64_t write_ask(struct written *w)
{
	kernel_write(w->g, w->node, w->fh, "data", 4);
	return w->g->unique;
}

static void write_answer_as(struct written *w, unsigned call, uint64_t unique, uint64_t size,
			    uint32_t mode)
{
	struct fuse_attr attr = {.ino = 7, .mode = mode, .nlink = 1, .size = size};
	struct tail t = tail_make(FUSE_PROTO_RESP_ATTR, 0);
	struct fuse_write_out out = {.size = 4};

	tail_add(&t, &attr, sizeof(attr));
	respond_tail(w->g, call, 0, &out, sizeof(out), &t);
	expect_reply(w->g, unique, 0);
}

static void write_answer(struct written *w, unsigned call, uint64_t unique, uint64_t size)
{
	write_answer_as(w, call, unique, size, S_IFREG | 0644);
}

static void write_all(struct written *w, uint64_t size)
{
	uint64_t unique = write_ask(w);

	write_answer(w, n_calls - 1, unique, size);
}

/* The size that the kernel gets; 0: the server is asked. */
static uint64_t size_here(struct written *w)
{
	struct fuse_getattr_in in = {.getattr_flags = FUSE_GETATTR_FH, .fh = w->fh};
	struct fuse_attr_out out = {.attr.size = 0};
	struct rig *g = w->g;
	struct fuse_out_header h;
	unsigned n = n_calls;

	kernel_send_to(g, FUSE_GETATTR, g->unique += 2, w->node, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	if (n_calls > n) {
		respond(g, n_calls - 1, -EACCES, NULL, 0);
		expect_reply(g, g->unique, -EACCES);
		return 0;
	}
	assert_int_equal(kernel_receive(g, &h, &out, sizeof(out)), sizeof(h) + sizeof(out));
	assert_true(h.unique == g->unique && h.error == 0);
	assert_true(out.attr_valid == 0 || out.attr_valid_nsec == 0); /* one second at most */
	assert_int_equal(out.dummy, 0);
	return out.attr.size;
}

static void test_attributes_follow_the_last_write(void **state)
{
	struct rig *g = *state;
	struct written w = up(g);

	assert_int_equal(size_here(&w), 0);
	write_all(&w, 60);
	assert_int_equal(size_here(&w), 60);
	write_all(&w, 70);
	g->now_ns += NSEC_PER_SEC / 2;
	assert_int_equal(size_here(&w), 70);
	g->now_ns += NSEC_PER_SEC / 2;
	assert_int_equal(size_here(&w), 0);
	/* One without attributes. */
	lookup_bare(g, "handle-a");
	write_all(&w, 80);
	write_some(g, w.node, w.fh);
	assert_int_equal(size_here(&w), 0);
	/* Another session. */
	write_all(&w, 90);
	server_restarts(g, 2, 1);
	while (n_calls > 0) {
		const struct fuse_open_out reopened = {.fh = 51};

		respond(g, 0, 0, &reopened, sizeof(reopened));
	}
	assert_int_equal(size_here(&w), 0);
}

/* Of two concurrent writes, the order of the answers is unknown. */
static void test_concurrent_writes_are_not_cached(void **state)
{
	struct written w = up(*state);
	uint64_t a = write_ask(&w), b = write_ask(&w);

	write_answer(&w, 1, b, 60);
	assert_int_equal(size_here(&w), 60); /* the other has not been acknowledged */
	write_answer(&w, 0, a, 70);
	assert_int_equal(size_here(&w), 0);
	a = write_ask(&w);
	b = write_ask(&w);
	write_answer(&w, 0, a, 60);
	respond(w.g, 0, -ENOSPC, NULL, 0); /* part of it may be there */
	expect_reply(w.g, b, -ENOSPC);
	assert_int_equal(size_here(&w), 0);
}

/* ---- what makes it another file ---- */

static void does(struct written *w, uint32_t opcode, uint64_t node, const void *arg, size_t len,
		 const void *body, size_t body_len, struct tail *t)
{
	struct tail none = tail_make(0, 0);
	struct fuse_out_header out;

	kernel_send_to(w->g, opcode, w->g->unique += 2, node, arg, len);
	fuse_client_pull(w->g->f, true, w->g->now_ns);
	respond_tail(w->g, n_calls - 1, 0, body, body_len, t ? t : &none);
	assert_true(kernel_receive(w->g, &out, NULL, 0) > 0);
	assert_true(out.unique == w->g->unique && out.error == 0);
}

static void does_read(struct written *w) /* which changes its access time */
{
	const struct fuse_read_in in = {.fh = w->fh, .size = 4};

	does(w, FUSE_READ, w->node, &in, sizeof(in), "data", 4, NULL);
}

static void does_setattr(struct written *w)
{
	const struct fuse_setattr_in in = {.valid = FATTR_SIZE, .size = 1};
	const struct fuse_attr_out out = {.attr = {.ino = 7, .mode = S_IFREG | 0644, .size = 1}};

	does(w, FUSE_SETATTR, w->node, &in, sizeof(in), &out, sizeof(out), NULL);
}

static void does_getattr(struct written *w)
{
	const struct fuse_getattr_in in = {};
	const struct fuse_attr_out out = {.attr = {.ino = 7, .mode = S_IFREG | 0644, .size = 1}};

	w->g->now_ns += NSEC_PER_SEC; /* otherwise no request is sent */
	does(w, FUSE_GETATTR, w->node, &in, sizeof(in), &out, sizeof(out), NULL);
}

static void does_open(struct written *w)
{
	(void)open_file(w->g, w->node, 51);
}

/* By this name or another: another client may have changed it before. */
static void does_lookup(struct written *w)
{
	assert_true(lookup_bare(w->g, "handle-a") == w->node);
}

/* Possibly this file, by any of its names. */
static void does_unlink(struct written *w)
{
	does(w, FUSE_UNLINK, FUSE_ROOT_ID, "name", 5, NULL, 0, NULL);
}

static void does_rename(struct written *w)
{
	static const char names[] = "name\0other";
	uint8_t arg[sizeof(struct fuse_rename_in) + sizeof(names)] = {FUSE_ROOT_ID};

	memcpy(arg + sizeof(struct fuse_rename_in), names, sizeof(names));
	does(w, FUSE_RENAME, FUSE_ROOT_ID, arg, sizeof(arg), NULL, 0, NULL);
}

static void does_link(struct written *w)
{
	uint8_t arg[sizeof(struct fuse_link_in) + 2] = {[sizeof(struct fuse_link_in)] = 'l'};
	struct fuse_entry_out e = entry_make(S_IFREG | 0644);
	struct tail t = tail_make(0, 1);

	memcpy(arg, &w->node, sizeof(w->node));
	tail_add_handle(&t, "handle-a");
	does(w, FUSE_LINK, FUSE_ROOT_ID, arg, sizeof(arg), &e, sizeof(e), &t);
}

static void does_setxattr(struct written *w)
{
	static const uint8_t set[] = {1, 0, 0, 0, 0, 0, 0, 0, 'u', '.', 'x', 0, 'v'};

	does(w, FUSE_SETXATTR, w->node, set, sizeof(set), NULL, 0, NULL);
}

static void does_fallocate(struct written *w)
{
	const struct fuse_fallocate_in in = {.fh = w->fh, .length = 4096};

	does(w, FUSE_FALLOCATE, w->node, &in, sizeof(in), NULL, 0, NULL);
}

/* The data come from the written file: it was read. */
static void does_copy(struct written *w)
{
	const struct fuse_copy_file_range_in in = {
		.fh_in = w->fh, .fh_out = w->fh, .nodeid_out = w->node, .len = 4};
	const struct fuse_write_out out = {.size = 4};

	does(w, FUSE_COPY_FILE_RANGE, w->node, &in, sizeof(in), &out, sizeof(out), NULL);
}

static void test_other_operations_invalidate_the_entry(void **state)
{
	static void (*const all[])(struct written *) = {
		does_read,   does_setattr, does_getattr,  does_open,	  does_lookup, does_unlink,
		does_rename, does_link,	   does_setxattr, does_fallocate, does_copy};
	struct written w = up(*state);

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		uint64_t unique;

		lookup_bare(w.g, "handle-a");
		write_all(&w, 60);
		all[i](&w);
		assert_int_equal(size_here(&w), 0);
		/* An operation that ends while a WRITE is in flight may have come before it. */
		unique = write_ask(&w);
		all[i](&w);
		write_answer(&w, 0, unique, 60);
		assert_int_equal(size_here(&w), 0);
	}
}

/* An operation that does not change the file leaves the entry valid. */
static void test_queries_keep_the_entry(void **state)
{
	static const uint8_t get[] = {20,  0,	0,   0,	  0,   0,   0,	 0, 't',
				      'r', 'u', 's', 't', 'e', 'd', '.', 0};
	const struct fuse_lseek_in in = {.whence = SEEK_DATA};
	const struct fuse_lseek_out out = {};
	struct written w = up(*state);
	struct fuse_lseek_in seek = in;

	write_all(&w, 60);
	seek.fh = w.fh;
	does(&w, FUSE_LSEEK, w.node, &seek, sizeof(seek), &out, sizeof(out), NULL);
	does(&w, FUSE_GETXATTR, w.node, get, sizeof(get), "v", 1, NULL);
	assert_int_equal(size_here(&w), 60);
}

/* ---- which requests the entry answers ---- */

/* From time to time the server must confirm that it has no extended attributes. */
static void test_xattrs_are_confirmed_periodically(void **state)
{
	struct rig *g = *state;
	struct written w = up(g);

	g->now_ns += NSEC_PER_SEC / 2;
	write_all(&w, 60);
	assert_int_equal(size_here(&w), 60);
	g->now_ns += NSEC_PER_SEC / 2;
	assert_int_equal(size_here(&w), 0);
}

static uint16_t flags_of_write(struct written *w, uint32_t open_flags)
{
	uint16_t flags;
	uint64_t unique;

	w->fh = open_with(w->g, w->node, open_flags, 60, NULL).fh;
	unique = write_ask(w);
	flags = call_tail(n_calls - 1).flags;
	write_answer(w, n_calls - 1, unique, 60);
	return flags;
}

/* Past its cache the kernel does not ask. */
static void test_direct_writes_request_no_attributes(void **state)
{
	struct written w = up(*state);

	assert_int_equal(flags_of_write(&w, O_RDWR), FUSE_PROTO_REQ_ATTR);
	assert_int_equal(flags_of_write(&w, O_RDWR | O_APPEND), 0);
	assert_int_equal(flags_of_write(&w, O_RDWR | O_DIRECT), 0);
}

static void test_a_server_without_the_feature_gets_no_flag(void **state)
{
	struct rig *g = *state;
	struct written w = {.g = g};

	bring_up(g);
	w.node = lookup_bare(g, "handle-a");
	assert_int_equal(flags_of_write(&w, O_RDWR), 0);
}

static void test_bad_attributes_are_not_cached(void **state)
{
	struct rig *g = *state;
	struct written w = up(g);
	uint64_t unique = write_ask(&w);

	write_answer_as(&w, 0, unique, 60, S_IFDIR | 0755);
	assert_int_equal(size_here(&w), 0);
	unique = write_ask(&w);
	write_answer(&w, 0, unique, UINT64_MAX);
	assert_int_equal(size_here(&w), 0);
	/* It was executed before, and this answer is from then. */
	unique = write_ask(&w);
	server_restarts(g, 1, 1);
	assert_int_equal(call_header(0).opcode, FUSE_WRITE);
	assert_true(call_header(0).unique & FUSE_PROTO_UNIQUE_RESEND);
	write_answer(&w, 0, unique, 60);
	assert_int_equal(size_here(&w), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_attributes_follow_the_last_write),
		CASE(test_concurrent_writes_are_not_cached),
		CASE(test_other_operations_invalidate_the_entry),
		CASE(test_queries_keep_the_entry),
		CASE(test_xattrs_are_confirmed_periodically),
		CASE(test_direct_writes_request_no_attributes),
		CASE(test_a_server_without_the_feature_gets_no_flag),
		CASE(test_bad_attributes_are_not_cached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
