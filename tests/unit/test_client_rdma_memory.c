/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a hostile server can reach in a client's memory by RDMA: the data of READs and WRITEs. It
 * writes all memory that is registered, at the worst moments, and the client still uses the
 * messages that it has checked.
 */
#include "tests/lib/fuse/client_prefetch_rig.h"
#include "tests/lib/fuse/client_rdma_rig.h"

#include <stdio.h>

#define ENTRIES 60U
#define ENTRY_BYTES FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + sizeof("file00") - 1)

/* The server's device writes all that it may. */
static void hostile_writes(void)
{
	static uint8_t bytes[1 << 20];
	unsigned n = 0;

	memset(bytes, 0xff, sizeof(bytes));
	for (unsigned i = 0; i < verbs.n_mrs; i++) {
		const uint64_t base = (uintptr_t)verbs.mrs[i].addr;

		for (size_t at = 0; at < verbs.mrs[i].length; at += sizeof(bytes), n++) {
			const size_t left = verbs.mrs[i].length - at;

			assert_true(verbs_arrives(rdma_qps[0], base + at, bytes,
						  MIN_OF(left, sizeof(bytes))));
		}
	}
	assert_true(n > 0);
}

static bool is_reachable(const void *p, size_t len)
{
	uint8_t bytes[FUSE_PROTO_WRITE_DATA];

	assert_true(len <= sizeof(bytes));
	memcpy(bytes, p, len);
	return verbs_arrives(rdma_qps[0], (uintptr_t)p, bytes, len);
}

/* The registered range has the data of all buffers and nothing else: what it shows of a request is
 * its data, and what comes before and behind it is refused. */
static void only_data_are_registered(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_bulk bulk;
	uint64_t fh, node, base;

	bring_up(g);
	pairs_up(g);
	node = rdma_file(g, &fh);
	assert_int_equal(verbs.n_mrs, 1);
	base = (uintptr_t)verbs.mrs[0].addr;
	assert_int_equal(verbs.mrs[0].length, CLIENT_POOL_BULK_BYTES);
	assert_int_equal(base % 4096, 0);
	assert_false(verbs_arrives(rdma_qps[0], base - 1, "x", 1));
	assert_false(verbs_arrives(rdma_qps[0], base + verbs.mrs[0].length, "x", 1));
	kernel_write(g, node, fh, rdma_data, 100 << 10);
	bulk = bulk_of(n_calls - 1);
	assert_int_equal(bulk.len, 100 << 10);
	assert_int_equal((bulk.addr - base) % CLIENT_POOL_DATA_BYTES, 0);
	assert_memory_equal((void *)(uintptr_t)bulk.addr, rdma_data, bulk.len);
	/* Neither the message, nor the buffer of the next request, nor the slots, nor the place of
	 * an answer that is parsed. */
	assert_false(is_reachable(calls[n_calls - 1].msg, FUSE_PROTO_WRITE_DATA));
	assert_false(is_reachable(g->f->read_buf, FUSE_PROTO_WRITE_DATA));
	assert_false(is_reachable(g->f->request, FUSE_PROTO_WRITE_DATA));
	assert_false(is_reachable(g->f->small_area, FUSE_PROTO_WRITE_DATA));
	assert_false(is_reachable(fuse_client_buf_get(g->f, calls[n_calls - 1].cookie, 24), 24));
}

/* Its server answers with more bytes than were written, after it tried to change the request. */
static void requests_do_not_change_while_they_wait(void **state)
{
	struct rig *g = *state;
	struct fuse_write_out out = {.size = 100 << 10};
	uint64_t fh, node;

	bring_up(g);
	pairs_up(g);
	node = rdma_file(g, &fh);
	kernel_write(g, node, fh, rdma_data, out.size);
	hostile_writes();
	respond(g, n_calls - 1, 0, &out, sizeof(out));
	expect_reply(g, g->unique, 0);
	kernel_write(g, node, fh, rdma_data, out.size);
	hostile_writes();
	out.size++;
	respond(g, n_calls - 1, 0, &out, sizeof(out));
	expect_reply(g, g->unique, -EIO);
}

/* The session ends and the WRITE is repeated: its head is the kernel's, whatever its data are. */
static void repeated_requests_keep_their_head(void **state)
{
	struct rig *g = *state;
	struct fuse_write_in write;
	uint64_t fh, node;
	unsigned i;

	bring_up(g);
	pairs_up(g);
	node = rdma_file(g, &fh);
	kernel_write(g, node, fh, rdma_data, 100 << 10);
	hostile_writes();
	reset_all(g, g->now_ns);
	fuse_client_event(g->f, RUDP_SESSION_RESTARTED, 0, g->now_ns);
	fuse_client_tick(g->f, g->now_ns);
	respond_init(g);
	i = call_of(FUSE_WRITE);
	assert_true(i < n_calls);
	assert_true(call_header(i).unique == (g->unique | FUSE_PROTO_UNIQUE_RESEND));
	memcpy(&write, calls[i].msg + sizeof(struct fuse_in_header), sizeof(write));
	assert_int_equal(write.size, 100 << 10);
}

/* Small requests leave the buffer in which the kernel's requests arrive before they are looked at.
 */
static void small_requests_are_taken_from_memory_of_the_client(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	pairs_up(g);
	lookup(g, "f", "handle");
	assert_true(g->f->request >= g->f->small_area &&
		    g->f->request <
			    g->f->small_area + (size_t)CLIENT_SLOTS * 2 * CLIENT_SMALL_BYTES);
}

static uint64_t dir_open(struct rig *g)
{
	const struct fuse_open_out out = {.fh = 9};

	open_begin(g);
	respond(g, n_calls - 1, 0, &out, sizeof(out));
	return open_end(g);
}

/* An answer to READDIRPLUS that exceeds a slot's memory, with a handle per entry. */
static size_t listing_put(uint8_t *to)
{
	const struct fuse_proto_resp_tail tail = {.n_handles = ENTRIES};
	const struct fuse_out_header out = {.len = (uint32_t)(sizeof(out) + ENTRIES * ENTRY_BYTES)};
	struct fuse_entry_out e = entry_make(S_IFREG | 0644);
	size_t len = sizeof(out);
	char text[8];

	e.nodeid = 1;
	memset(to, 0, out.len);
	memcpy(to, &out, len);
	for (unsigned i = 0; i < ENTRIES; i++, len += ENTRY_BYTES) {
		const struct fuse_dirent d = {.ino = 7, .off = i + 1, .namelen = 6};

		snprintf(text, sizeof(text), "file%02u", i);
		memcpy(to + len, &e, sizeof(e));
		memcpy(to + len + sizeof(e), &d, FUSE_NAME_OFFSET);
		memcpy(to + len + FUSE_NAME_OFFSET_DIRENTPLUS, text, d.namelen);
	}
	memcpy(to + len, &tail, sizeof(tail));
	len += sizeof(tail);
	for (unsigned i = 0; i < ENTRIES; i++, len += 4) {
		snprintf(text, sizeof(text), "h%02u", i);
		to[len] = 3;
		memcpy(to + len + 1, text, 3);
	}
	return len;
}

/* The server changes its answer after it has arrived: lengths of handles beyond the message, names
 * with a slash. */
static void answers_do_not_change_after_their_arrival(void **state)
{
	static uint8_t sent[32 << 10], got[32 << 10];
	const struct fuse_read_in in = {.size = sizeof(sent)};
	struct fuse_read_in read = in;
	struct rig *g = *state;
	struct fuse_out_header out;
	size_t len = listing_put(sent);
	struct fake_call c;
	uint8_t *buf;

	bring_up(g);
	pairs_up(g);
	read.fh = dir_open(g);
	kernel_send(g, FUSE_READDIRPLUS, g->unique += 2, &read, sizeof(read));
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	c = call_take(call_of(FUSE_READDIRPLUS));
	assert_true(len > CLIENT_SMALL_BYTES);
	buf = fuse_client_buf_get(g->f, c.cookie, len);
	assert_non_null(buf);
	memcpy(buf, sent, len);
	hostile_writes();
	assert_memory_equal(buf, sent, len);
	fuse_client_response(g->f, c.cookie, 0, buf, len, g->now_ns);
	assert_int_equal(kernel_receive(g, &out, got, sizeof(got)),
			 sizeof(out) + ENTRIES * ENTRY_BYTES);
	assert_int_equal(out.error, 0);
	for (unsigned i = 0; i < ENTRIES; i++) {
		struct fuse_entry_out e;

		memcpy(&e, got + i * ENTRY_BYTES, sizeof(e));
		assert_int_not_equal(e.nodeid, 0);
	}
}

/* Data that come in packets although memory was offered: the server changes them and their tail,
 * not the head that the kernel gets. */
static void heads_of_read_data_do_not_change(void **state)
{
	struct rig *g = *state;
	const struct fuse_out_header head = {.len = sizeof(head) + BYTES};
	const struct fuse_proto_resp_tail tail = {.n_handles = 0};
	struct fuse_out_header out;
	uint64_t fh, node;
	struct fake_call c;
	uint8_t *buf;

	bring_up(g);
	pairs_up(g);
	node = rdma_file(g, &fh);
	read_begin(g, node, fh);
	c = call_take(n_calls - 1);
	buf = fuse_client_buf_get(g->f, c.cookie, head.len + sizeof(tail));
	assert_non_null(buf);
	memcpy(buf, &head, sizeof(head));
	memcpy(buf + head.len, &tail, sizeof(tail));
	hostile_writes();
	assert_memory_equal(buf, &head, sizeof(head));
	memcpy(buf + head.len, &tail, sizeof(tail));
	fuse_client_response(g->f, c.cookie, 0, buf, head.len + sizeof(tail), g->now_ns);
	assert_int_equal(kernel_receive(g, &out, rdma_got, sizeof(rdma_got)), head.len);
	assert_int_equal(out.error, 0);
	assert_true(out.unique == g->unique);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rdma_setup, rdma_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_data_are_registered),
		TEST(requests_do_not_change_while_they_wait),
		TEST(repeated_requests_keep_their_head),
		TEST(small_requests_are_taken_from_memory_of_the_client),
		TEST(answers_do_not_change_after_their_arrival),
		TEST(heads_of_read_data_do_not_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
