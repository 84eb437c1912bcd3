/* SPDX-License-Identifier: BSD-3-Clause */
/* RDMA tests at the client: an operator's, and those that its server asks for. */
#include "tests/lib/fuse/client_rdma_rig.h"

#define PING_HEAD offsetof(struct fuse_proto_ping, each_ns)

static struct fuse_proto_ping ping_of(unsigned call)
{
	struct fuse_proto_ping p = {.version = 0};

	assert_int_equal(call_header(call).opcode, FUSE_PROTO_RDMA_PING);
	assert_int_equal(calls[call].len, sizeof(struct fuse_in_header) + PING_HEAD);
	memcpy(&p, calls[call].msg + sizeof(struct fuse_in_header), PING_HEAD);
	return p;
}

static void ping_respond(struct rig *g, struct fuse_proto_ping p, uint8_t status, uint32_t count)
{
	p.status = status;
	p.count = count;
	p.took_ns = NSEC_PER_MSEC;
	g->now_ns += NSEC_PER_MSEC; /* it took as long here */
	for (uint32_t i = 0; i < count && i < FUSE_PROTO_PING_COUNT_MAX; i++)
		p.each_ns[i] = 1000 * (count - i);
	respond(g, n_calls - 1, 0, &p, PING_HEAD + count * sizeof(p.each_ns[0]));
}

static struct launch_ping ping_begin(struct rig *g)
{
	const struct launch_ping ask = {.id = 7,
					.port = 1,
					.what = LAUNCH_PING_OUT,
					.bytes = 4096,
					.count = 100,
					.depth = 1};

	assert_int_equal(fuse_client_ping(g->f, &ask, g->now_ns), 0);
	assert_int_equal(fuse_client_ping(g->f, &ask, g->now_ns), -EBUSY);
	fuse_client_tick(g->f, g->now_ns);
	return ask;
}

static struct launch_ping ping_result(struct rig *g)
{
	struct launch_ping p = {.id = 0};

	assert_true(fuse_client_ping_take(g->f, &p));
	assert_int_equal(p.id, 7);
	assert_false(fuse_client_ping_take(g->f, &p));
	return p;
}

static void pings_are_added_up(void **state)
{
	struct rig *g = *state;
	struct launch_ping got_ping;
	unsigned n_free;

	bring_up(g);
	pairs_up(g);
	n_free = g->f->pool.n_free;
	ping_begin(g);
	assert_int_equal(n_calls, 1);
	assert_int_equal(ping_of(0).count, 64);
	assert_int_equal(ping_of(0).leg, 1);
	assert_int_equal(ping_of(0).what, FUSE_PROTO_PING_READ);
	assert_true(verbs_arrives(rdma_qps[1], ping_of(0).addr, rdma_data, 4096));
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_DONE, 50);
	/* The server pauses; then it is busy. */
	fuse_client_tick(g->f, g->now_ns + 2 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 0);
	g->now_ns += 3 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(ping_of(0).count, 50);
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_BUSY, 0);
	g->now_ns += 10 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_DONE, 50);
	got_ping = ping_result(g);
	assert_int_equal(got_ping.status, 0);
	assert_int_equal(got_ping.done, 100);
	assert_int_equal(got_ping.took_ns, 2 * NSEC_PER_MSEC);
	assert_int_equal(got_ping.min_ns, 1000);
	assert_int_equal(got_ping.median_ns, 25000);
	assert_int_equal(got_ping.p99_ns, 50000);
	assert_int_equal(got_ping.max_ns, 50000);
	assert_int_equal(g->f->pool.n_free, n_free);
	assert_true(verbs.qps[rdma_qps[1]].alive);
}

/* Failed pairs are dropped before the memory has another use; so are those of a server with
 * malformed answers. */
static void failed_pings_drop_the_pair(void **state)
{
	static const struct {
		uint8_t status;
		uint32_t count;
		int error;
	} answers[] = {{FUSE_PROTO_PING_FAILED, 3, -EIO}, {FUSE_PROTO_PING_DONE, 65, -EPROTO}};
	struct rig *g = *state;
	unsigned n_free;

	bring_up(g);
	pairs_up(g);
	n_free = g->f->pool.n_free;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		struct fuse_proto_ping p;

		ping_begin(g);
		p = ping_of(0);
		if (answers[i].count <= 64)
			ping_respond(g, p, answers[i].status, answers[i].count);
		else
			respond(g, 0, 0, &p, PING_HEAD + 4); /* a count without its values */
		assert_false(verbs_arrives(rdma_qps[1], p.addr, rdma_late, 4096));
		assert_int_equal(ping_result(g).status, answers[i].error);
		assert_int_equal(g->f->pool.n_free, n_free);
		assert_true(verbs.qps[rdma_qps[0]].alive);
		g->now_ns += 40 * NSEC_PER_SEC;
		fuse_client_tick(g->f, g->now_ns);
		rdma_qps[1] = verbs.n_qps - 1;
		answer_pairs(g, 0, 0);
	}
}

/* The server is gone, or silent: the memory is kept as long as it may write there. */
static void pings_of_silent_servers_time_out(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_ping p;
	unsigned n_free;

	bring_up(g);
	pairs_up(g);
	n_free = g->f->pool.n_free;
	ping_begin(g);
	p = ping_of(0);
	g->now_ns += LAUNCH_PING_S_MAX * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(ping_result(g).status, -ETIMEDOUT);
	assert_int_equal(g->f->pool.n_free, n_free - 1);
	assert_true(verbs_arrives(rdma_qps[1], p.addr, rdma_late, 4096));
	reset_all(g, g->now_ns);
	assert_false(verbs_arrives(rdma_qps[1], p.addr, rdma_late, 4096));
	assert_int_equal(g->f->pool.n_free, n_free);
	/* A ping that begins without a session. */
	ping_begin(g);
	assert_int_equal(ping_result(g).status, -ENOTCONN);
	assert_int_equal(g->f->pool.n_free, n_free);
}

/* Without a pair no request is sent; an older server refuses. */
static void pings_without_pairs_report_a_reason(void **state)
{
	struct rig *g = *state;
	struct launch_ping p;

	bring_up(g);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	answer_pairs(g, 0, PORT_RDMA_NO_DEVICE);
	ping_begin(g); /* the server is being asked again, which the test waits for */
	assert_int_equal(n_calls, 1);
	assert_false(fuse_client_ping_take(g->f, &p));
	answer_pairs(g, 0, PORT_RDMA_NO_DEVICE);
	g->now_ns += 10 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
	p = ping_result(g);
	assert_int_equal(p.status, -ENOTSUP);
	assert_string_equal(p.reason, "rdma-peer-without");
	pairs_up(g);
	ping_begin(g);
	respond(g, 0, -EIO, NULL, 0);
	assert_string_equal(ping_result(g).reason, "rdma-peer-without");
	assert_true(verbs.qps[rdma_qps[1]].alive);
}

/* The server's durations do not change the time of the next request. */
static void servers_cannot_shorten_the_pause(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_ping p;

	bring_up(g);
	pairs_up(g);
	ping_begin(g);
	p = ping_of(0);
	g->now_ns += 20 * NSEC_PER_MSEC;
	p.count = 0;
	p.took_ns = 0;
	p.status = FUSE_PROTO_PING_DONE;
	respond(g, 0, 0, &p, PING_HEAD);
	fuse_client_tick(g->f, g->now_ns + 4 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 0);
	g->now_ns += 5 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	p = ping_of(0);
	g->now_ns += 20 * NSEC_PER_MSEC;
	p.count = 1;
	p.took_ns = 0;
	p.status = FUSE_PROTO_PING_DONE;
	respond(g, 0, 0, &p, PING_HEAD + sizeof(p.each_ns[0]));
	fuse_client_tick(g->f, g->now_ns + 59 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 0);
	fuse_client_tick(g->f, g->now_ns + 60 * NSEC_PER_MSEC);
	assert_int_equal(ping_of(0).count, 64);
}

/* The next test starts when the answer to the previous one has finally come, which does not
 * count for it; until then the memory is kept. */
static void pings_after_silent_servers_wait_for_the_answer(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_ping old;
	struct launch_ping p;
	unsigned n_free;

	bring_up(g);
	pairs_up(g);
	n_free = g->f->pool.n_free;
	ping_begin(g);
	old = ping_of(0);
	for (unsigned i = 0; i < 2; i++) {
		g->now_ns += LAUNCH_PING_S_MAX * NSEC_PER_SEC;
		fuse_client_tick(g->f, g->now_ns);
		assert_int_equal(ping_result(g).status, -ETIMEDOUT);
		assert_int_equal(g->f->pool.n_free, n_free - 1);
		ping_begin(g);
	}
	old.count = 64;
	respond(g, call_of(FUSE_PROTO_RDMA_PING), 0, &old, PING_HEAD + sizeof(old.each_ns));
	assert_false(fuse_client_ping_take(g->f, &p));
	assert_int_equal(g->f->ping.run.done, 0);
	for (unsigned i = 0; i < 2; i++) {
		while (call_of(FUSE_PROTO_RDMA) < n_calls)
			answer_pairs(g, call_of(FUSE_PROTO_RDMA), 0);
		g->now_ns += 10 * NSEC_PER_MSEC;
		fuse_client_tick(g->f, g->now_ns);
	}
	assert_int_equal(n_calls, 1);
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_DONE, 64);
	g->now_ns += 40 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_DONE, 36);
	assert_int_equal(ping_result(g).done, 100);
	assert_int_equal(g->f->pool.n_free, n_free);
}

static void order_said(struct rig *g, struct fuse_proto_ping_order order)
{
	struct fuse_proto_rdma p = check_begin(g);

	memcpy(p.legs[1].gid, &order, sizeof(order));
	check_end(g, p, 2);
	fuse_client_tick(g->f, g->now_ns);
}

/* A server asks for a test: within an operator's limits, one at a time, and without a result
 * here. */
static void servers_may_request_pings(void **state)
{
	const struct fuse_proto_ping_order good = {
		.what = FUSE_PROTO_PING_READ, .depth = 1, .count = 100, .len = 4096};
	struct fuse_proto_ping_order bad[7];
	struct rig *g = *state;
	struct launch_ping p;
	unsigned n_free;

	bring_up(g);
	pairs_up(g);
	n_free = g->f->pool.n_free;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = good;
	bad[0].what = 0;
	bad[1].what = FUSE_PROTO_PING_WHAT_MAX;
	bad[2].depth = FUSE_PROTO_PING_DEPTH_MAX + 1;
	bad[3].count = FUSE_PROTO_PING_ORDER_COUNT_MAX + 1;
	bad[4].len = FUSE_PROTO_MAX_WRITE + 1;
	bad[5].count = 0;
	bad[6].len = 0;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		order_said(g, bad[i]);
		assert_int_equal(n_calls, 0);
		assert_int_equal(g->f->pool.n_free, n_free);
	}
	order_said(g, good);
	assert_int_equal(n_calls, 1);
	assert_int_equal(ping_of(0).count, 64);
	assert_int_equal(ping_of(0).leg, 1);
	assert_int_equal(ping_of(0).what, FUSE_PROTO_PING_READ);
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_DONE, 64);
	g->now_ns += 4 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_DONE, 36);
	assert_false(fuse_client_ping_take(g->f, &p));
	assert_int_equal(g->f->pool.n_free, n_free);
	/* An operator's test is not disturbed by it. */
	ping_begin(g);
	assert_int_equal(ping_of(0).len, 4096);
	g->f->ping.order = (struct launch_ping){
		.id = 1, .what = LAUNCH_PING_IN, .bytes = 64, .count = 1, .depth = 1};
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	respond(g, 0, -EIO, NULL, 0);
	assert_int_equal(ping_result(g).status, -ENOTSUP);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
}

/* At least a second passes between two, however long one took, and an operator's test here goes
 * first. */
static void requested_pings_are_limited(void **state)
{
	const struct fuse_proto_ping_order order = {
		.what = FUSE_PROTO_PING_READ, .depth = 1, .count = 1, .len = 64};
	struct rig *g = *state;
	struct launch_ping p = {.id = 0};
	unsigned n_free;

	bring_up(g);
	pairs_up(g);
	n_free = g->f->pool.n_free;
	order_said(g, order);
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_DONE, 1);
	assert_false(fuse_client_ping_take(g->f, &p));
	g->f->ping.order = (struct launch_ping){
		.id = 1, .port = 1, .what = LAUNCH_PING_OUT, .bytes = 64, .count = 1, .depth = 1};
	g->now_ns += NSEC_PER_SEC - 1;
	fuse_client_tick(g->f, g->now_ns);
	while (call_of(FUSE_PROTO_RDMA) < n_calls)
		answer_pairs(g, call_of(FUSE_PROTO_RDMA), 0);
	assert_int_equal(n_calls, 0);
	g->now_ns++;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(ping_of(0).len, 64);
	/* It never answers. */
	ping_begin(g);
	assert_int_equal(n_calls, 1);
	assert_int_equal(g->f->pool.n_free, n_free - 1);
	respond(g, 0, -EIO, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(ping_of(0).len, 4096);
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_DONE, 64);
	g->now_ns += 10 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_DONE, 36);
	assert_int_equal(ping_result(g).done, 100);
	/* One that took all its time does not delay the next. */
	g->now_ns += 10 * NSEC_PER_SEC;
	order_said(g, order);
	assert_int_equal(ping_of(0).len, 64);
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_BUSY, 0);
	g->now_ns += LAUNCH_PING_S_MAX * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_true(g->f->ping.over);
	assert_false(fuse_client_ping_take(g->f, &p));
	while (n_calls > 0)
		answer_pairs(g, 0, 0);
	order_said(g, order);
	assert_int_equal(ping_of(0).len, 64);
	respond(g, 0, -EIO, NULL, 0);
	assert_false(fuse_client_ping_take(g->f, &p));
	assert_int_equal(g->f->pool.n_free, n_free);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rdma_setup, rdma_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pings_are_added_up),
		TEST(failed_pings_drop_the_pair),
		TEST(pings_of_silent_servers_time_out),
		TEST(pings_without_pairs_report_a_reason),
		TEST(servers_may_request_pings),
		TEST(servers_cannot_shorten_the_pause),
		TEST(pings_after_silent_servers_wait_for_the_answer),
		TEST(requested_pings_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
