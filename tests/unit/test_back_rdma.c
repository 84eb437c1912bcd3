/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests whose data are to go by RDMA, at a server that has none, has lost it, or has enough to
 * do with it: nothing is lost. */
#include "dataplane/fuse/fuse_back_internal.h"
#include "tests/lib/back_rig.h"
#include "tests/lib/verbs_fake.h"

#define BYTES (256U << 10)
#define LEGS 3
#define WRITES 12U /* more than a pair takes at once */

static uint8_t data[BYTES];
static struct port_rdma *devices;
static struct rudp_call *calls[WRITES];

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

/* A pair with the client; what the server fetches waits until the test lets it come. */
static void pair_up(struct rig *g)
{
	static const uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1};
	const struct ip_addr ip = {.family = AF_INET, .bytes = {10, 0, 0, 1}};
	struct port_rdma_half half;

	memcpy(verbs.gid, gid, sizeof(gid));
	g->cfg.n_ports = 1;
	g->cfg.ports[0].rdma = true;
	g->cfg.ports[0].ip.addr = ip;
	assert_int_equal(port_rdma_open(&g->cfg, &devices), 0);
	fuse_back_rdma(g->back, devices);
	assert_non_null(g->back->rdma_pool);
	assert_int_equal(port_rdma_peer_new(g->back->rdma_pool, &g->client->rdma), 0);
	assert_int_equal(port_rdma_pair(g->client->rdma, 0, 0, &half), PORT_RDMA_OK);
	assert_int_equal(port_rdma_join(g->client->rdma, 0, &half, true), PORT_RDMA_OK);
}

static void writes_begin(struct rig *g, uint64_t node, uint64_t fh)
{
	for (unsigned i = 0; i < WRITES; i++) {
		struct fuse_write_in in = {
			.fh = fh, .offset = (uint64_t)i * BYTES, .size = BYTES, .flags = O_RDWR};

		calls[i] = calloc(1, sizeof(*calls[i]));
		assert_non_null(calls[i]);
		rig_send(g, calls[i],
			 &(struct rig_req){.op = FUSE_WRITE,
					   .node = node,
					   RIG_ARG(in),
					   .flags = FUSE_PROTO_REQ_BULK,
					   .bulk = {.addr = 4096, .len = BYTES, .legs = 1}});
		assert_false(calls[i]->answered);
	}
}

static void expect_all(struct rig *g, int error)
{
	for (unsigned i = 0; i < WRITES; i++) {
		assert_int_equal(rig_result(g, calls[i]), error);
		free(calls[i]);
	}
	assert_int_equal(fuse_back_in_flight(g->back), 0);
}

/* Pairs that work and have enough to do are no reason for a client to give them up. */
static void busy_pairs_are_waited_for(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node = file_with_data(g, &fh);

	pair_up(g);
	writes_begin(g, node, fh);
	while (verbs.n_wrs > 0) {
		verbs_end(0, IBV_WC_SUCCESS);
		rig_poll(g);
	}
	expect_all(g, 0);
	assert_int_equal(port_rdma_ready(g->client->rdma), 1);
	assert_int_equal(rig_release(g, node, fh), 0);
}

static void pairs_that_fail_are_not(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node = file_with_data(g, &fh);

	pair_up(g);
	writes_begin(g, node, fh);
	verbs_end(0, IBV_WC_RETRY_EXC_ERR);
	expect_all(g, -EREMOTEIO);
	assert_int_equal(rig_read(g, node, fh, 0, BYTES), BYTES);
	assert_memory_equal(g->data, data, BYTES);
	assert_int_equal(rig_release(g, node, fh), 0);
}

/* Who goes while some are under way and some wait leaves nothing behind. */
static void clients_go_while_they_wait(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node = file_with_data(g, &fh);

	pair_up(g);
	writes_begin(g, node, fh);
	fuse_back_client_gone(g->client);
	for (unsigned i = 0; i < 1000 && fuse_back_in_flight(g->back) > 0; i++)
		rig_poll(g);
	assert_int_equal(fuse_back_in_flight(g->back), 0);
	for (unsigned i = 0; i < WRITES; i++) {
		assert_false(calls[i]->answered);
		free(calls[i]);
	}
	rig_connect(g);
}

static int setup(void **state)
{
	static struct rig g;

	verbs_reset();
	rig_setup(&g, "/tmp");
	*state = &g;
	return 0;
}

static int teardown(void **state)
{
	rig_teardown(*state);
	devices = port_rdma_free(devices);
	verbs_done();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pairs_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_come_by_packets, setup, teardown),
		cmocka_unit_test_setup_teardown(writes_are_asked_for_again, setup, teardown),
		cmocka_unit_test_setup_teardown(busy_pairs_are_waited_for, setup, teardown),
		cmocka_unit_test_setup_teardown(pairs_that_fail_are_not, setup, teardown),
		cmocka_unit_test_setup_teardown(clients_go_while_they_wait, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
