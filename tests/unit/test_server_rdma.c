/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests with RDMA data at a server without RDMA, with failed pairs or with busy pairs: no
 * data is lost. */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "tests/lib/fuse/server_rig.h"
#include "tests/lib/fuse/verbs_fake.h"

#define BYTES (256U << 10)
#define LEGS 3
#define WRITES 12U /* more than one pair takes at once */

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

/* The reply has the data and reports that no leg works. */
static void reads_fall_back_to_packets(void **state)
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

/* If the client accepts only RDMA, it must repeat the request. */
static void rdma_only_reads_must_be_repeated(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node = file_with_data(g, &fh);
	struct fuse_read_in in = {.fh = fh, .size = BYTES};
	const struct fuse_proto_bulk bulk = {.addr = 4096, .len = BYTES, .legs = LEGS};
	const uint16_t flags = FUSE_PROTO_REQ_BULK | FUSE_PROTO_REQ_ONLY;

	assert_int_equal(rig_do(g, FUSE_READ, node, RIG_ARG(in), .flags = flags, .bulk = bulk), 0);
	assert_int_equal(g->len, 0);
	assert_int_equal(done_of(g).failed, LEGS);
	assert_int_equal(done_of(g).again, 1);
	/* A few bytes at the end of the file do not use RDMA. */
	in.offset = BYTES - 100;
	assert_int_equal(rig_do(g, FUSE_READ, node, RIG_ARG(in), .flags = flags, .bulk = bulk), 0);
	assert_int_equal(g->len, 100);
	assert_int_equal(done_of(g).again, 0);
	assert_int_equal(rig_do(g, FUSE_READ, node, RIG_ARG(in), .flags = FUSE_PROTO_REQ_ONLY),
			 -EIO);
	assert_int_equal(rig_release(g, node, fh), 0);
}

/* The file is unchanged. */
static void failed_rdma_writes_must_be_repeated(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node = file_with_data(g, &fh);
	struct fuse_write_in in = {.fh = fh, .size = BYTES, .flags = O_RDWR};

	assert_int_equal(rig_do(g, FUSE_WRITE, node, RIG_ARG(in), .flags = FUSE_PROTO_REQ_BULK,
				.bulk = {.addr = 4096, .len = BYTES, .legs = LEGS}),
			 -EREMOTEIO);
	assert_int_equal(rig_read(g, node, fh, 0, BYTES), BYTES);
	assert_memory_equal(g->data, data, BYTES);
	/* Data in the request, or a wrong length: refused. */
	in.size = BYTES - 1;
	assert_int_equal(rig_do(g, FUSE_WRITE, node, RIG_ARG(in), .flags = FUSE_PROTO_REQ_BULK,
				.bulk = {.addr = 4096, .len = BYTES, .legs = LEGS}),
			 -EINVAL);
	in.size = BYTES;
	assert_int_equal(rig_do(g, FUSE_WRITE, node, RIG_ARG(in), .flags = FUSE_PROTO_REQ_BULK,
				.data = data, .data_len = 8,
				.bulk = {.addr = 4096, .len = BYTES - 8, .legs = LEGS}),
			 -EINVAL);
	/* Invalid memory, and an operation without bulk data. */
	assert_int_equal(rig_do(g, FUSE_WRITE, node, RIG_ARG(in), .flags = FUSE_PROTO_REQ_BULK,
				.bulk = {.addr = UINT64_MAX - 8, .len = BYTES, .legs = LEGS}),
			 -EIO);
	assert_int_equal(rig_do(g, FUSE_STATFS, node, .flags = FUSE_PROTO_REQ_BULK,
				.bulk = {.addr = 4096, .len = BYTES, .legs = LEGS}),
			 -EIO);
	assert_int_equal(rig_release(g, node, fh), 0);
}

/* Pairs with the client; transfers wait until the test completes them. */
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
	fuse_server_rdma(g->server, devices);
	assert_non_null(g->server->rdma_pool);
	assert_int_equal(port_rdma_peer_new(g->server->rdma_pool, &g->client->rdma), 0);
	assert_int_equal(port_rdma_pair(g->client->rdma, 0, 0, &half), PORT_RDMA_OK);
	assert_int_equal(port_rdma_join(g->client->rdma, 0, &half, true), PORT_RDMA_OK);
}

static void writes_begin_as(struct rig *g, uint64_t node, uint64_t fh, uint16_t flags)
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
					   .flags = flags,
					   .bulk = {.addr = 4096, .len = BYTES, .legs = 1}});
		assert_false(calls[i]->answered);
	}
}

static void writes_begin(struct rig *g, uint64_t node, uint64_t fh)
{
	writes_begin_as(g, node, fh, FUSE_PROTO_REQ_BULK);
}

static void expect_all(struct rig *g, int error)
{
	for (unsigned i = 0; i < WRITES; i++) {
		assert_int_equal(rig_result(g, calls[i]), error);
		free(calls[i]);
	}
	assert_int_equal(fuse_server_in_flight(g->server), 0);
}

/* The client keeps pairs that are busy. */
static void busy_pairs_are_waited_for(void **state)
{
	static const uint16_t flags[] = {FUSE_PROTO_REQ_BULK,
					 FUSE_PROTO_REQ_BULK | FUSE_PROTO_REQ_ONLY};
	struct rig *g = *state;
	uint64_t fh, node = file_with_data(g, &fh);

	pair_up(g);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		writes_begin_as(g, node, fh, flags[i]);
		while (verbs.n_wrs > 0) {
			verbs_end(0, IBV_WC_SUCCESS);
			rig_poll(g);
		}
		expect_all(g, 0);
	}
	assert_int_equal(port_rdma_ready(g->client->rdma), 1);
	assert_int_equal(rig_release(g, node, fh), 0);
}

/* Starts READs that accept only RDMA until some wait for the pair. */
static void reads_begin(struct rig *g, uint64_t node, uint64_t fh)
{
	const struct fuse_read_in in = {.fh = fh, .size = BYTES};

	for (unsigned i = 0; i < WRITES; i++) {
		calls[i] = calloc(1, sizeof(*calls[i]));
		assert_non_null(calls[i]);
		rig_send(g, calls[i],
			 &(struct rig_req){.op = FUSE_READ,
					   .node = node,
					   RIG_ARG(in),
					   .flags = FUSE_PROTO_REQ_BULK | FUSE_PROTO_REQ_ONLY,
					   .bulk = {.addr = 4096, .len = BYTES, .legs = 1}});
	}
	for (unsigned i = 0; i < 1000 && !g->server->reply_head; i++)
		rig_poll(g);
	assert_non_null(g->server->reply_head);
	for (unsigned i = 0; i < WRITES; i++)
		assert_false(calls[i]->answered);
}

static void expect_reads(struct rig *g, uint32_t len, uint8_t failed)
{
	for (unsigned i = 0; i < WRITES; i++) {
		assert_int_equal(rig_result(g, calls[i]), 0);
		assert_int_equal(g->len, 0);
		assert_int_equal(done_of(g).len, len);
		assert_int_equal(done_of(g).failed, failed);
		assert_int_equal(done_of(g).again, len == 0);
		free(calls[i]);
	}
	assert_int_equal(fuse_server_in_flight(g->server), 0);
}

/* Otherwise the client would repeat the reads again and again. */
static void reads_wait_for_busy_pairs(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node = file_with_data(g, &fh);

	pair_up(g);
	reads_begin(g, node, fh);
	for (unsigned i = 0; i < 1000 && fuse_server_in_flight(g->server) > 0; i++) {
		verbs_end(0, IBV_WC_SUCCESS);
		rig_poll(g);
	}
	expect_reads(g, BYTES, 0);
	reads_begin(g, node, fh);
	for (unsigned i = 0; i < 1000 && fuse_server_in_flight(g->server) > 0; i++) {
		verbs_end(0, IBV_WC_RETRY_EXC_ERR);
		rig_poll(g);
	}
	expect_reads(g, 0, 1);
	assert_int_equal(rig_release(g, node, fh), 0);
}

static void clients_end_while_reads_wait(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node = file_with_data(g, &fh);

	pair_up(g);
	reads_begin(g, node, fh);
	fuse_server_client_gone(g->client);
	assert_null(g->server->reply_head);
	for (unsigned i = 0; i < 1000 && fuse_server_in_flight(g->server) > 0; i++)
		rig_poll(g);
	assert_int_equal(fuse_server_in_flight(g->server), 0);
	for (unsigned i = 0; i < WRITES; i++) {
		assert_false(calls[i]->answered);
		free(calls[i]);
	}
	rig_connect(g);
}

static void failed_pairs_are_not_waited_for(void **state)
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

/* Making pairs is limited per client, and refused requests cost nothing. */
static void requests_for_pairs_are_limited(void **state)
{
	struct fuse_proto_rdma rdma = {.version = FUSE_PROTO_RDMA_VERSION};
	const size_t head = offsetof(struct fuse_proto_rdma, legs);
	struct rig *g = *state;
	unsigned n = 0;
	uint64_t spent;

	pair_up(g);
	g->client->session =
		(struct rudp_session *)g; /* the test supplies its paths and security */
	while (n < 1000 && rig_do(g, FUSE_PROTO_RDMA, 0, .arg = &rdma, .arg_len = head) == 0)
		n++;
	assert_in_range(n, 8, 900);
	spent = g->server->rdma_spent_ns;
	g->client->rdma_spent_ns += NSEC_PER_SEC;
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(rig_do(g, FUSE_PROTO_RDMA, 0, .arg = &rdma, .arg_len = head),
				 -EBUSY);
	assert_true(g->server->rdma_spent_ns == spent);
	g->client->rdma_spent_ns = 0; /* later */
	assert_int_equal(rig_do(g, FUSE_PROTO_RDMA, 0, .arg = &rdma, .arg_len = head), 0);
	/* The limit for all clients together. */
	g->client->rdma_spent_ns = 0;
	g->server->rdma_spent_ns = clock_now_ns() + 100 * NSEC_PER_SEC;
	assert_int_equal(rig_do(g, FUSE_PROTO_RDMA, 0, .arg = &rdma, .arg_len = head), -EBUSY);
	g->client->session = NULL;
}

/* From the last reply. */
static struct fuse_proto_rdma_leg answered_leg(const struct rig *g)
{
	struct fuse_proto_rdma p;

	assert_int_equal(g->len, offsetof(struct fuse_proto_rdma, legs) + sizeof(p.legs[0]));
	memcpy(&p, g->data, g->len);
	assert_int_equal(p.n_legs, 1);
	return p.legs[0];
}

/* A client may check its pair at any time. */
static void clients_can_check_pairs(void **state)
{
	struct fuse_proto_rdma rdma = {.version = FUSE_PROTO_RDMA_VERSION, .n_legs = 1};
	const size_t len = offsetof(struct fuse_proto_rdma, legs) + sizeof(rdma.legs[0]);
	struct rig *g = *state;

	pair_up(g);
	g->client->session = (struct rudp_session *)g;
	rdma.legs[0] = (struct fuse_proto_rdma_leg){.status = FUSE_PROTO_RDMA_CHECK,
						    .qpn = verbs.qps[verbs.n_qps - 1].qp.qp_num};
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(rig_do(g, FUSE_PROTO_RDMA, 0, .arg = &rdma, .arg_len = len), 0);
		assert_int_equal(answered_leg(g).status, 0);
	}
	rdma.legs[0].qpn++;
	assert_int_equal(rig_do(g, FUSE_PROTO_RDMA, 0, .arg = &rdma, .arg_len = len), 0);
	assert_int_not_equal(answered_leg(g).status, 0);
	rdma.legs[0].qpn--;
	rdma.legs[0].leg = 200;
	assert_int_equal(rig_do(g, FUSE_PROTO_RDMA, 0, .arg = &rdma, .arg_len = len), 0);
	assert_int_not_equal(answered_leg(g).status, 0);
	rdma.legs[0].leg = 0;
	/* Clients of version 1 cannot check pairs; unknown versions are refused. */
	rdma.version = 1;
	assert_int_equal(rig_do(g, FUSE_PROTO_RDMA, 0, .arg = &rdma, .arg_len = len), 0);
	rdma.version = FUSE_PROTO_RDMA_VERSION + 1;
	assert_int_equal(rig_do(g, FUSE_PROTO_RDMA, 0, .arg = &rdma, .arg_len = len), -EIO);
	rdma.version = FUSE_PROTO_RDMA_VERSION;
	fuse_server_path_down(g->client, 0);
	assert_int_equal(rig_do(g, FUSE_PROTO_RDMA, 0, .arg = &rdma, .arg_len = len), 0);
	assert_int_not_equal(answered_leg(g).status, 0);
	g->client->session = NULL;
}

/* A client that ends with transfers in flight and waiting leaves nothing behind. */
static void clients_end_while_transfers_wait(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node = file_with_data(g, &fh);

	pair_up(g);
	writes_begin(g, node, fh);
	fuse_server_client_gone(g->client);
	for (unsigned i = 0; i < 1000 && fuse_server_in_flight(g->server) > 0; i++)
		rig_poll(g);
	assert_int_equal(fuse_server_in_flight(g->server), 0);
	for (unsigned i = 0; i < WRITES; i++) {
		assert_false(calls[i]->answered);
		free(calls[i]);
	}
	rig_connect(g);
}

/* ---- tries that an operator asks for ---- */

#define PING_HEAD offsetof(struct fuse_proto_ping, each_ns)
#define PING(what_, len_)                                                                    \
	(struct fuse_proto_ping)                                                             \
	{                                                                                    \
		.version = FUSE_PROTO_PING_VERSION, .what = (what_), .depth = 2, .count = 5, \
		.len = (len_), .addr = 4096                                                  \
	}

static void ping_send(struct rig *g, const struct fuse_proto_ping *p)
{
	rig_send(g, g->call,
		 &(struct rig_req){.op = FUSE_PROTO_RDMA_PING, .arg = p, .arg_len = PING_HEAD});
}

static struct fuse_proto_ping ping_answer(struct rig *g)
{
	struct fuse_proto_ping a = {.version = 0};

	assert_int_equal(rig_result(g, g->call), 0);
	assert_in_range(g->len, PING_HEAD, sizeof(a));
	memcpy(&a, g->data, g->len);
	assert_int_equal(g->len, PING_HEAD + a.count * sizeof(a.each_ns[0]));
	return a;
}

/* After the server's pause. */
static void ping_rested(struct rig *g)
{
	g->server->ping.pause_until_ns = 0;
}

static void pings_are_timed(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_ping p = PING(FUSE_PROTO_PING_WRITE, BYTES), a;
	uint64_t fh, node;

	pair_up(g);
	node = file_with_data(g, &fh); /* its data is in the buffer used now */
	for (p.what = FUSE_PROTO_PING_WRITE; p.what < FUSE_PROTO_PING_WHAT_MAX; p.what++) {
		ping_rested(g);
		ping_send(g, &p);
		assert_int_equal(fuse_server_in_flight(g->server), 1);
		for (unsigned n = 0; n < 3; n++) {
			const uint8_t *from = (const void *)(uintptr_t)verbs.wrs[0].sge.addr;

			assert_int_equal(g->server->ping.n_under_way, n < 2 ? 2 : 1);
			/* No data of other clients reaches this client. */
			for (uint32_t i = 0; p.what == FUSE_PROTO_PING_WRITE && i < BYTES; i++)
				assert_int_equal(from[i], 0);
			assert_int_equal(verbs.wrs[0].wr.wr.rdma.remote_addr, 4096);
			verbs_end(0, IBV_WC_SUCCESS);
			rig_poll(g);
		}
		a = ping_answer(g);
		assert_int_equal(a.status, FUSE_PROTO_PING_DONE);
		assert_int_equal(a.count, 5);
		assert_int_equal(fuse_server_in_flight(g->server), 0);
	}
	/* The pause is three times the test's duration. */
	g->server->ping.pause_until_ns = clock_now_ns() + NSEC_PER_SEC;
	ping_send(g, &p);
	assert_int_equal(rig_result(g, g->call), -EIO);
	p.what = FUSE_PROTO_PING_READ;
	ping_send(g, &p);
	assert_int_equal(ping_answer(g).status, FUSE_PROTO_PING_BUSY);
	assert_int_equal(verbs.n_wrs, 0);
	assert_int_equal(rig_release(g, node, fh), 0);
}

/* Files take precedence: a busy pair refuses tests and stays usable. */
static void pings_wait_for_files(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_ping p = PING(FUSE_PROTO_PING_READ, 64);
	uint64_t fh, node = file_with_data(g, &fh);

	pair_up(g);
	writes_begin(g, node, fh);
	ping_send(g, &p);
	assert_int_equal(ping_answer(g).status, FUSE_PROTO_PING_BUSY);
	while (verbs.n_wrs > 0) {
		verbs_end(0, IBV_WC_SUCCESS);
		rig_poll(g);
	}
	expect_all(g, 0);
	assert_int_equal(port_rdma_ready(g->client->rdma), 1);
	assert_int_equal(rig_release(g, node, fh), 0);
}

static void failed_pings_report_why(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_ping p = PING(FUSE_PROTO_PING_READ, 64);

	pair_up(g);
	p.leg = 1; /* no such pair */
	ping_send(g, &p);
	assert_int_equal(ping_answer(g).status, FUSE_PROTO_PING_FAILED);
	p.leg = 0;
	ping_rested(g);
	ping_send(g, &p);
	verbs_end(0, IBV_WC_RETRY_EXC_ERR);
	rig_poll(g);
	assert_int_equal(ping_answer(g).status, FUSE_PROTO_PING_FAILED);
	assert_int_equal(port_rdma_ready(g->client->rdma), 0);
}

static void pings_are_checked(void **state)
{
	struct rig *g = *state;
	const struct fuse_proto_ping good = PING(FUSE_PROTO_PING_WRITE, 64);
	struct fuse_proto_ping bad[10];

	ping_send(g, &good); /* no RDMA */
	assert_int_equal(rig_result(g, g->call), -ENOSYS);
	pair_up(g);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = good;
	bad[0].version = 2;
	bad[1].leg = PORT_RDMA_LEGS_MAX;
	bad[2].what = 0;
	bad[3].what = FUSE_PROTO_PING_WHAT_MAX;
	bad[4].depth = FUSE_PROTO_PING_DEPTH_MAX + 1;
	bad[5].depth = 0;
	bad[6].count = FUSE_PROTO_PING_COUNT_MAX + 1;
	bad[7].len = FUSE_PROTO_MAX_WRITE + 1;
	bad[8].addr = UINT64_MAX - 8;
	bad[9].count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ping_send(g, &bad[i]);
		assert_int_equal(rig_result(g, g->call), -EIO);
	}
	for (size_t n = 0; n < sizeof(good); n++)
		if (n != PING_HEAD)
			assert_int_equal(
				rig_do(g, FUSE_PROTO_RDMA_PING, 0, .arg = &good, .arg_len = n),
				-EIO);
	assert_int_equal(verbs.n_wrs, 0);
}

/* The order that the client sees when it checks its pair. */
static struct fuse_proto_ping_order n_reported(struct rig *g)
{
	struct fuse_proto_rdma rdma = {.version = FUSE_PROTO_RDMA_VERSION, .n_legs = 1};
	const size_t len = offsetof(struct fuse_proto_rdma, legs) + sizeof(rdma.legs[0]);
	struct fuse_proto_ping_order order;
	struct fuse_proto_rdma_leg leg;

	rdma.legs[0] = (struct fuse_proto_rdma_leg){.status = FUSE_PROTO_RDMA_CHECK,
						    .qpn = verbs.qps[verbs.n_qps - 1].qp.qp_num};
	memset(rdma.legs[0].gid, 1, sizeof(rdma.legs[0].gid));
	g->client->session = (struct rudp_session *)g;
	assert_int_equal(rig_do(g, FUSE_PROTO_RDMA, 0, .arg = &rdma, .arg_len = len), 0);
	g->client->session = NULL;
	leg = answered_leg(g);
	memcpy(&order, leg.gid, sizeof(order));
	return order;
}

static const struct launch_ping ordered = {
	.id = 9, .what = LAUNCH_PING_IN, .bytes = 4096, .count = 7, .depth = 2};

static void order(struct rig *g, uint64_t now_ns)
{
	enum port_rdma_reason why;

	assert_int_equal(fuse_server_ping(g->client, &ordered, now_ns, &why), 0);
	assert_int_equal(fuse_server_ping(g->client, &ordered, now_ns, &why), -EBUSY);
}

/* The client runs `count` operations of the order. */
static void order_run(struct rig *g, uint32_t count)
{
	struct fuse_proto_ping p = PING(FUSE_PROTO_PING_READ, 4096);

	p.count = count;
	ping_rested(g);
	ping_send(g, &p);
	while (verbs.n_wrs > 0) {
		verbs_end(0, IBV_WC_SUCCESS);
		rig_poll(g);
	}
	assert_int_equal(ping_answer(g).count, count);
}

/* The client sees what remains until all is done; only its tests for the order count. */
static void ordered_pings_are_run_by_the_client(void **state)
{
	struct fuse_proto_ping other = PING(FUSE_PROTO_PING_WRITE, 64);
	struct rig *g = *state;
	struct launch_ping p;
	uint64_t due;

	pair_up(g);
	assert_int_equal(n_reported(g).what, 0);
	assert_false(fuse_server_ping_take(g->server, 0, &p, &due));
	assert_int_equal(due, UINT64_MAX);
	order(g, 1);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(n_reported(g).what, FUSE_PROTO_PING_READ);
		assert_int_equal(n_reported(g).depth, 2);
		assert_int_equal(n_reported(g).count, 7);
		assert_int_equal(n_reported(g).len, 4096);
	}
	other.count = 1;
	ping_send(g, &other); /* started by the client's operator */
	verbs_end(0, IBV_WC_SUCCESS);
	rig_poll(g);
	assert_int_equal(n_reported(g).what, FUSE_PROTO_PING_READ);
	order_run(g, 1); /* shorter, or repeated after a lost session */
	assert_int_equal(n_reported(g).count, 6);
	order_run(g, 3);
	assert_int_equal(n_reported(g).what, FUSE_PROTO_PING_READ);
	assert_int_equal(n_reported(g).count, 3);
	assert_false(fuse_server_ping_take(g->server, 2, &p, &due));
	assert_int_equal(due, 1 + LAUNCH_PING_S_MAX * NSEC_PER_SEC);
	order_run(g, 5); /* more than remains: not part of the order */
	order_run(g, 3);
	assert_int_equal(n_reported(g).what, 0);
	assert_true(fuse_server_ping_take(g->server, 2, &p, &due));
	assert_int_equal(p.id, 9);
	assert_int_equal(p.status, 0);
	assert_int_equal(p.done, 7);
	assert_true(p.took_ns > 0);
	assert_true(p.min_ns <= p.median_ns && p.median_ns <= p.p99_ns && p.p99_ns <= p.max_ns);
	assert_false(fuse_server_ping_take(g->server, 2, &p, &due));
}

/* The pair fails, the client never asks, or it ends: the result has the reason. */
static void ordered_pings_that_do_not_run_report_why(void **state)
{
	struct fuse_proto_ping read = PING(FUSE_PROTO_PING_READ, 4096);
	enum port_rdma_reason why = PORT_RDMA_OK;
	struct rig *g = *state;
	struct launch_ping p;
	uint64_t due;

	assert_int_equal(fuse_server_ping(g->client, &ordered, 1, &why), -ENOTSUP);
	assert_int_equal(why, PORT_RDMA_OFF);
	pair_up(g);
	order(g, 1);
	assert_true(
		fuse_server_ping_take(g->server, 1 + LAUNCH_PING_S_MAX * NSEC_PER_SEC, &p, &due));
	assert_int_equal(p.status, -ETIMEDOUT);
	assert_int_equal(p.done, 0);
	order(g, 1);
	ping_send(g, &read);
	verbs_end(0, IBV_WC_RETRY_EXC_ERR);
	rig_poll(g);
	assert_true(fuse_server_ping_take(g->server, 2, &p, &due));
	assert_int_equal(p.status, -EIO);
	assert_string_equal(p.reason, "rdma-failed");
	assert_int_equal(fuse_server_ping(g->client, &ordered, 1, &why), -ENOTSUP);
	assert_int_equal(why, PORT_RDMA_PEER);
}

static void ordered_pings_end_with_the_pair(void **state)
{
	struct rig *g = *state;
	struct launch_ping p;
	uint64_t due;

	pair_up(g);
	order(g, 1);
	fuse_server_path_down(g->client, 0); /* and so does the pair */
	assert_true(fuse_server_ping_take(g->server, 2, &p, &due));
	assert_int_equal(p.status, -EIO);
	assert_string_equal(p.reason, "rdma-peer-without");
}

/* A local cause is named. */
static void ordered_pings_end_with_the_device(void **state)
{
	struct rig *g = *state;
	struct launch_ping p;
	uint64_t due;

	pair_up(g);
	order(g, 1);
	fuse_server_path_down(g->client, 0);
	g->server->rdma = NULL;
	assert_true(fuse_server_ping_take(g->server, 2, &p, &due));
	g->server->rdma = devices;
	assert_int_equal(p.status, -EIO);
	assert_string_equal(p.reason, "rdma-off");
}

static void ordered_pings_end_with_the_client(void **state)
{
	struct rig *g = *state;
	struct launch_ping p;
	uint64_t due;

	pair_up(g);
	order(g, 1);
	fuse_server_client_gone(g->client);
	rig_poll(g);
	assert_true(fuse_server_ping_take(g->server, 2, &p, &due));
	assert_int_equal(p.status, -ENOTCONN);
	rig_connect(g);
}

/* The device owns the memory until completion; then nothing is left. */
static void clients_end_during_pings(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_ping p = PING(FUSE_PROTO_PING_WRITE, 4096);

	pair_up(g);
	verbs.flushes = false;
	ping_send(g, &p);
	fuse_server_client_gone(g->client);
	rig_poll(g);
	assert_int_equal(fuse_server_in_flight(g->server), 1);
	verbs_end(0, IBV_WC_WR_FLUSH_ERR);
	rig_poll(g);
	assert_int_equal(fuse_server_in_flight(g->server), 0);
	assert_null(g->server->ping.client);
	assert_false(g->call->answered);
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
		cmocka_unit_test_setup_teardown(reads_fall_back_to_packets, setup, teardown),
		cmocka_unit_test_setup_teardown(rdma_only_reads_must_be_repeated, setup, teardown),
		cmocka_unit_test_setup_teardown(requests_for_pairs_are_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(clients_can_check_pairs, setup, teardown),
		cmocka_unit_test_setup_teardown(failed_rdma_writes_must_be_repeated, setup,
						teardown),
		cmocka_unit_test_setup_teardown(busy_pairs_are_waited_for, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_wait_for_busy_pairs, setup, teardown),
		cmocka_unit_test_setup_teardown(clients_end_while_reads_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(failed_pairs_are_not_waited_for, setup, teardown),
		cmocka_unit_test_setup_teardown(clients_end_while_transfers_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(pings_are_timed, setup, teardown),
		cmocka_unit_test_setup_teardown(pings_wait_for_files, setup, teardown),
		cmocka_unit_test_setup_teardown(failed_pings_report_why, setup, teardown),
		cmocka_unit_test_setup_teardown(pings_are_checked, setup, teardown),
		cmocka_unit_test_setup_teardown(clients_end_during_pings, setup, teardown),
		cmocka_unit_test_setup_teardown(ordered_pings_are_run_by_the_client, setup,
						teardown),
		cmocka_unit_test_setup_teardown(ordered_pings_that_do_not_run_report_why, setup,
						teardown),
		cmocka_unit_test_setup_teardown(ordered_pings_end_with_the_client, setup, teardown),
		cmocka_unit_test_setup_teardown(ordered_pings_end_with_the_pair, setup, teardown),
		cmocka_unit_test_setup_teardown(ordered_pings_end_with_the_device, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
