/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests whose data are to go by RDMA, at a server that has none or has lost it: nothing is lost.
 */
#include "tests/lib/back_rig.h"

#define BYTES (256U << 10)
#define LEGS 3

static uint8_t data[BYTES];

static uint64_t file_with_data(struct rig *g, uint64_t *ret_fh)
{
	uint64_t node;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31 + (i >> 8));
	assert_int_equal(rig_create(g, FUSE_ROOT_ID, "f", O_RDWR, 0600, &node, ret_fh), 0);
	assert_int_equal(rig_write(g, node, *ret_fh, 0, O_RDWR, data, sizeof(data)), BYTES);
	return node;
}

static struct fuse_proto_bulk_done done_of(const struct rig *g)
{
	struct fuse_proto_bulk_done done;
	struct fuse_proto_resp_tail t;

	assert_int_equal(g->tail_len, sizeof(t) + sizeof(done));
	memcpy(&t, g->tail, sizeof(t));
	assert_int_equal(t.flags, FUSE_PROTO_RESP_BULK);
	assert_int_equal(t.n_handles, 0);
	memcpy(&done, g->tail + sizeof(t), sizeof(done));
	return done;
}

static void pairs_are_refused(void **state)
{
	struct fuse_proto_rdma rdma = {.version = FUSE_PROTO_RDMA_VERSION, .n_legs = 1};
	const size_t head = offsetof(struct fuse_proto_rdma, legs);
	struct rig *g = *state;

	assert_int_equal(
		rig_do(g, FUSE_PROTO_RDMA, 0, .arg = &rdma, .arg_len = head + sizeof(rdma.legs[0])),
		-ENOSYS);
	for (size_t n = 0; n < head + sizeof(rdma.legs[0]); n++)
		assert_int_equal(rig_do(g, FUSE_PROTO_RDMA, 0, .arg = &rdma, .arg_len = n), -EIO);
}

/* The answer has the data, and says that no leg works. */
static void reads_come_by_packets(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node = file_with_data(g, &fh);
	struct fuse_read_in in = {.fh = fh, .size = BYTES};
	struct fuse_proto_bulk_done done;

	assert_int_equal(rig_do(g, FUSE_READ, node, RIG_ARG(in), .flags = FUSE_PROTO_REQ_BULK,
				.bulk = {.addr = 4096, .len = BYTES, .legs = LEGS}),
			 0);
	assert_int_equal(g->len, BYTES);
	assert_memory_equal(g->data, data, BYTES);
	done = done_of(g);
	assert_int_equal(done.len, 0);
	assert_int_equal(done.failed, LEGS);
	assert_int_equal(rig_release(g, node, fh), 0);
}

/* Nothing was begun: the file is as it was. */
static void writes_are_asked_for_again(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node = file_with_data(g, &fh);
	struct fuse_write_in in = {.fh = fh, .size = BYTES, .flags = O_RDWR};

	assert_int_equal(rig_do(g, FUSE_WRITE, node, RIG_ARG(in), .flags = FUSE_PROTO_REQ_BULK,
				.bulk = {.addr = 4096, .len = BYTES, .legs = LEGS}),
			 -EREMOTEIO);
	assert_int_equal(rig_read(g, node, fh, 0, BYTES), BYTES);
	assert_memory_equal(g->data, data, BYTES);
	/* Part of the data with the request, or another length than it says: refused as it is. */
	in.size = BYTES - 1;
	assert_int_equal(rig_do(g, FUSE_WRITE, node, RIG_ARG(in), .flags = FUSE_PROTO_REQ_BULK,
				.bulk = {.addr = 4096, .len = BYTES, .legs = LEGS}),
			 -EINVAL);
	in.size = BYTES;
	assert_int_equal(rig_do(g, FUSE_WRITE, node, RIG_ARG(in), .flags = FUSE_PROTO_REQ_BULK,
				.data = data, .data_len = 8,
				.bulk = {.addr = 4096, .len = BYTES - 8, .legs = LEGS}),
			 -EINVAL);
	/* Memory that does not exist, and an operation that has no bulk data. */
	assert_int_equal(rig_do(g, FUSE_WRITE, node, RIG_ARG(in), .flags = FUSE_PROTO_REQ_BULK,
				.bulk = {.addr = UINT64_MAX - 8, .len = BYTES, .legs = LEGS}),
			 -EIO);
	assert_int_equal(rig_do(g, FUSE_STATFS, node, .flags = FUSE_PROTO_REQ_BULK,
				.bulk = {.addr = 4096, .len = BYTES, .legs = LEGS}),
			 -EIO);
	assert_int_equal(rig_release(g, node, fh), 0);
}

static int setup(void **state)
{
	static struct rig g;

	rig_setup(&g, "/tmp");
	*state = &g;
	return 0;
}

static int teardown(void **state)
{
	rig_teardown(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pairs_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_come_by_packets, setup, teardown),
		cmocka_unit_test_setup_teardown(writes_are_asked_for_again, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
