/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk data at the client, whose memory a server writes by itself: what comes late finds no pair
 * any more, whatever became of the request, the session or the pair meanwhile. */
#include "tests/lib/front_rdma_rig.h"

static void data_come_by_rdma(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_bulk bulk;
	uint64_t fh, node;

	bring_up(g);
	pairs_up(g);
	node = file(g, &fh);
	bulk = read_begin(g, node, fh);
	assert_int_equal(bulk.len, BYTES);
	assert_int_equal(bulk.legs, LEGS);
	assert_true(verbs_arrives(qps[1], bulk.addr, data, BYTES));
	answer_bulk(g, BYTES, 0, NULL, 0);
	expect_data(g, data);
	/* More than was offered, or data twice, is nobody's. */
	read_begin(g, node, fh);
	answer_bulk(g, BYTES + 1, 0, NULL, 0);
	expect_reply(g, g->unique, -EIO);
	read_begin(g, node, fh);
	answer_bulk(g, BYTES, 0, data, 100);
	expect_reply(g, g->unique, -EIO);
}

/* A pair fails, the data come in packets, and what the failed pair still had on its way comes when
 * the memory is somebody else's. */
static void late_data_of_a_failed_pair(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_bulk bulk, next;
	uint64_t fh, node;

	bring_up(g);
	pairs_up(g);
	node = file(g, &fh);
	bulk = read_begin(g, node, fh);
	answer_bulk(g, 0, 1, data, BYTES);
	expect_data(g, data);
	assert_false(verbs_arrives(qps[0], bulk.addr, late, BYTES));
	/* The same memory, offered over the leg that is left. */
	next = read_begin(g, node, fh);
	assert_true(next.addr == bulk.addr);
	assert_int_equal(next.legs, 2);
	assert_true(verbs_arrives(qps[1], next.addr, data, BYTES));
	assert_false(verbs_arrives(qps[0], bulk.addr, late, BYTES));
	answer_bulk(g, BYTES, 0, NULL, 0);
	expect_data(g, data);
	/* Another pair for the leg is another pair: the old one's data do not come by it. */
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	answer_pairs(g, 0, 0);
	assert_false(verbs_arrives(qps[0], bulk.addr, late, BYTES));
	assert_int_equal(read_begin(g, node, fh).legs, LEGS);
}

/* The server dies or is lost with the request under way; it is asked again, in the same memory. */
static void late_data_of_a_session_that_ended(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_bulk bulk;
	uint64_t fh, node;

	bring_up(g);
	pairs_up(g);
	node = file(g, &fh);
	bulk = read_begin(g, node, fh);
	assert_int_equal(bulk.legs, LEGS);
	reset_all(g, g->now_ns);
	assert_false(verbs_arrives(qps[0], bulk.addr, late, BYTES));
	assert_false(verbs_arrives(qps[1], bulk.addr, late, BYTES));
	fuse_front_event(g->f, RUDP_SESSION_RESTARTED, 0, g->now_ns);
	fuse_front_tick(g->f, g->now_ns);
	respond_init(g);
	/* Nothing is offered until there are pairs again. */
	for (unsigned i = 0; i < n_calls; i++)
		if (call_header(i).opcode == FUSE_READ) {
			assert_int_equal(bulk_of(i).len, 0);
			respond(g, i, 0, data, BYTES);
		}
	expect_data(g, data);
}

/* An answer that is older than the pair says nothing of it. */
static void old_answers_leave_new_pairs(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node;
	unsigned old;

	bring_up(g);
	pairs_up(g);
	node = file(g, &fh);
	read_begin(g, node, fh);
	read_begin(g, node, fh);
	old = qps[0];
	answer_bulk(g, 0, 1, data, BYTES); /* of the second */
	expect_data(g, data);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 2);
	qps[0] = verbs.n_qps - 1;
	answer_pairs(g, 1, 0);
	answer_bulk(g, 0, 1, data, BYTES); /* of the first */
	expect_data(g, data);
	assert_false(verbs.qps[old].alive);
	assert_true(verbs.qps[qps[0]].alive);
	assert_int_equal(read_begin(g, node, fh).legs, LEGS);
}

/* Nor of one that the server has not answered for yet. */
static void old_answers_leave_pairs_to_come(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node;

	bring_up(g);
	pairs_up(g);
	node = file(g, &fh);
	read_begin(g, node, fh);
	read_begin(g, node, fh);
	answer_bulk(g, 0, 1, data, BYTES); /* of the second */
	expect_data(g, data);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 2);
	qps[0] = verbs.n_qps - 1;
	assert_int_equal(call_header(1).opcode, FUSE_PROTO_RDMA);
	answer_call(g, 0, 0, 1, data, BYTES); /* of the first */
	expect_data(g, data);
	assert_true(verbs.qps[qps[0]].alive);
	answer_pairs(g, 0, 0);
	assert_int_equal(read_begin(g, node, fh).legs, LEGS);
}

/* The server could not fetch them: they go in packets, and the program sees nothing of it. */
static void writes_go_in_packets_then(void **state)
{
	struct rig *g = *state;
	const struct fuse_write_out out = {.size = 100 << 10};
	uint64_t fh, node;
	unsigned i;

	bring_up(g);
	pairs_up(g);
	node = file(g, &fh);
	kernel_write(g, node, fh, data, out.size);
	i = n_calls - 1;
	assert_int_equal(bulk_of(i).len, out.size);
	assert_true(calls[i].len < 1000);
	respond(g, i, -EREMOTEIO, NULL, 0);
	expect_silence(g);
	fuse_front_tick(g->f, g->now_ns);
	for (i = 0; call_header(i).opcode != FUSE_WRITE; i++)
		;
	assert_int_equal(bulk_of(i).len, 0);
	assert_true(calls[i].len > out.size);
	assert_memory_equal(calls[i].msg + FUSE_PROTO_WRITE_DATA, data, out.size);
	respond(g, i, 0, &out, sizeof(out));
	expect_reply(g, g->unique, 0);
	assert_false(verbs.qps[qps[0]].alive || verbs.qps[qps[1]].alive);
}

/* Where every pair of a leg fails, transfers do not pay for it each second. */
static void pairs_that_never_last_are_rare(void **state)
{
	struct rig *g = *state;
	unsigned n_tries = 0;
	uint64_t fh, node;

	bring_up(g);
	pairs_up(g);
	node = file(g, &fh);
	for (unsigned i = 0; i < 600; i++) {
		if (read_begin(g, node, fh).legs & 1) {
			answer_bulk(g, 0, 1, data, BYTES);
			n_tries++;
		} else {
			answer_bulk(g, 0, 0, data, BYTES);
		}
		expect_data(g, data);
		g->now_ns += NSEC_PER_SEC;
		fuse_front_tick(g->f, g->now_ns);
		if (n_calls > 0)
			answer_pairs(g, 0, 0);
	}
	assert_in_range(n_tries, 8, 20);
	/* Not where the path itself is down meanwhile: that pair comes back with it. */
	session_paths[0].up = false;
	g->now_ns += 100 * NSEC_PER_SEC;
	fuse_front_tick(g->f, g->now_ns);
	session_paths[0].up = true;
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	answer_pairs(g, 0, 0);
}

static unsigned call_of(uint32_t opcode)
{
	unsigned i = 0;

	while (i < n_calls && call_header(i).opcode != opcode)
		i++;
	return i;
}

/* As pairs_up, where other calls may be under way. */
static void pairs_again(struct rig *g)
{
	for (unsigned i = 0; i < 8 && call_of(FUSE_PROTO_RDMA) == n_calls; i++) {
		g->now_ns += NSEC_PER_SEC;
		fuse_front_tick(g->f, g->now_ns);
	}
	assert_int_not_equal(call_of(FUSE_PROTO_RDMA), n_calls);
	answer_pairs(g, call_of(FUSE_PROTO_RDMA), 0);
	fuse_front_tick(g->f, g->now_ns);
}

/* Where nothing else will do, what is large waits for a pair, again and again; the rest goes on. */
static void data_may_wait_for_rdma(void **state)
{
	struct rig *g = *state;
	const struct fuse_proto_bulk_done again = {.failed = LEGS, .again = 1};
	struct fuse_read_in in = {.size = 4096};
	struct tail t = tail_make(FUSE_PROTO_RESP_BULK, 0);
	uint64_t node;

	tail_add(&t, &again, sizeof(again));
	g->cfg->ports[1].rdma_only = true;
	fuse_front_rdma(g->f, rdma, g->cfg);
	g->features = FUSE_PROTO_FEATURE_ONLY;
	bring_up(g);
	node = file(g, &in.fh);
	kernel_send_to(g, FUSE_READ, g->unique += 2, node, &in, sizeof(in));
	assert_true(fuse_front_pull(g->f, true, g->now_ns) > 0);
	respond(g, call_of(FUSE_READ), 0, data, 4096);
	expect_reply(g, g->unique, 0);
	in.size = BYTES;
	kernel_send_to(g, FUSE_READ, g->unique += 2, node, &in, sizeof(in));
	assert_true(fuse_front_pull(g->f, true, g->now_ns) > 0);
	assert_int_equal(call_of(FUSE_READ), n_calls);
	for (unsigned i = 0; i < 3; i++) {
		pairs_again(g);
		assert_int_equal(bulk_of(call_of(FUSE_READ)).legs, LEGS);
		assert_int_equal(call_tail(call_of(FUSE_READ)).flags,
				 FUSE_PROTO_REQ_BULK | FUSE_PROTO_REQ_ONLY);
		respond_tail(g, call_of(FUSE_READ), 0, NULL, 0, &t);
		fuse_front_tick(g->f, g->now_ns);
		assert_int_equal(call_of(FUSE_READ), n_calls);
		expect_silence(g);
	}
	pairs_again(g);
	memcpy((void *)(uintptr_t)bulk_of(call_of(FUSE_READ)).addr, data, BYTES);
	answer_call(g, call_of(FUSE_READ), BYTES, 0, NULL, 0);
	expect_data(g, data);
}

/* It would refuse what it does not know; what it answers in packets is taken. */
static void older_servers_hear_nothing_of_it(void **state)
{
	struct rig *g = *state;
	struct fuse_read_in in = {.size = BYTES};
	uint64_t node;

	g->cfg->ports[1].rdma_only = true;
	fuse_front_rdma(g->f, rdma, g->cfg);
	bring_up(g);
	node = file(g, &in.fh);
	kernel_send_to(g, FUSE_READ, g->unique += 2, node, &in, sizeof(in));
	assert_true(fuse_front_pull(g->f, true, g->now_ns) > 0);
	assert_int_equal(call_of(FUSE_READ), n_calls);
	pairs_again(g);
	assert_int_equal(call_tail(call_of(FUSE_READ)).flags, FUSE_PROTO_REQ_BULK);
	answer_call(g, call_of(FUSE_READ), 0, LEGS, data, BYTES);
	expect_data(g, data);
}

static void written_data_may_wait_for_rdma(void **state)
{
	struct rig *g = *state;
	const struct fuse_write_out out = {.size = 100 << 10};
	uint64_t fh, node;

	g->cfg->ports[0].rdma_only = true;
	fuse_front_rdma(g->f, rdma, g->cfg);
	bring_up(g);
	node = file(g, &fh);
	kernel_write(g, node, fh, data, out.size);
	assert_int_equal(call_of(FUSE_WRITE), n_calls);
	pairs_again(g);
	assert_int_equal(bulk_of(call_of(FUSE_WRITE)).len, out.size);
	respond(g, call_of(FUSE_WRITE), -EREMOTEIO, NULL, 0);
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(call_of(FUSE_WRITE), n_calls);
	expect_silence(g);
	pairs_again(g);
	assert_int_equal(bulk_of(call_of(FUSE_WRITE)).len, out.size);
	respond(g, call_of(FUSE_WRITE), 0, &out, sizeof(out));
	expect_reply(g, g->unique, 0);
}

/* A program that is killed does not wait for RDMA that may never come. */
static void who_is_killed_waits_no_longer(void **state)
{
	struct rig *g = *state;
	struct fuse_interrupt_in in;
	uint64_t fh, node;

	g->cfg->ports[0].rdma_only = true;
	fuse_front_rdma(g->f, rdma, g->cfg);
	bring_up(g);
	node = file(g, &fh);
	kernel_write(g, node, fh, data, 100 << 10);
	assert_int_equal(call_of(FUSE_WRITE), n_calls);
	in.unique = g->unique;
	kernel_send_to(g, FUSE_INTERRUPT, g->unique + 1, 0, &in, sizeof(in));
	assert_true(fuse_front_pull(g->f, true, g->now_ns) > 0);
	expect_reply(g, in.unique, -EINTR);
	pairs_again(g);
	assert_int_equal(call_of(FUSE_WRITE), n_calls);
	expect_silence(g);
}

/* What is asked after each second, by the server's number of it. */
static struct fuse_proto_rdma check_begin(struct rig *g)
{
	struct fuse_proto_rdma p;
	size_t len;

	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_PROTO_RDMA);
	len = calls[0].len - sizeof(struct fuse_in_header);
	assert_int_equal(len, offsetof(struct fuse_proto_rdma, legs) + 2 * sizeof(p.legs[0]));
	memset(&p, 0, sizeof(p));
	memcpy(&p, calls[0].msg + sizeof(struct fuse_in_header), len);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(p.legs[i].status, FUSE_PROTO_RDMA_CHECK);
		assert_int_equal(p.legs[i].qpn, theirs[i]);
		p.legs[i].status = 0;
	}
	return p;
}

static void check_end(struct rig *g, struct fuse_proto_rdma p, unsigned n_legs)
{
	p.n_legs = n_legs;
	respond(g, 0, 0, &p, offsetof(struct fuse_proto_rdma, legs) + n_legs * sizeof(p.legs[0]));
}

/* A server that has lost its halves of pairs says so though no data go by them, and nobody has to
 * find out by a transfer. */
static void lost_halves_are_found(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_rdma p;

	bring_up(g);
	pairs_up(g);
	check_end(g, check_begin(g), 2);
	assert_true(verbs.qps[qps[0]].alive && verbs.qps[qps[1]].alive);
	/* It had no time to look. */
	check_begin(g);
	respond(g, 0, -EBUSY, NULL, 0);
	assert_true(verbs.qps[qps[0]].alive && verbs.qps[qps[1]].alive);
	/* Nor memory, be it for an answer that says so. */
	check_begin(g);
	respond(g, 0, -ENOMEM, NULL, 0);
	check_begin(g);
	respond_empty(g, 0);
	assert_true(verbs.qps[qps[0]].alive && verbs.qps[qps[1]].alive);
	/* One is lost, and made again at once. */
	p = check_begin(g);
	p.legs[1].status = PORT_RDMA_FAILED;
	check_end(g, p, 2);
	assert_true(verbs.qps[qps[0]].alive);
	assert_false(verbs.qps[qps[1]].alive);
	assert_int_equal(fuse_front_rdma_reason(g->f, 1), PORT_RDMA_OK);
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	qps[1] = verbs.n_qps - 1;
	answer_pairs(g, 0, 0);
	assert_true(verbs.qps[qps[1]].alive);
	/* What is not spoken of is lost, too. */
	check_end(g, check_begin(g), 1);
	assert_true(verbs.qps[qps[0]].alive);
	assert_false(verbs.qps[qps[1]].alive);
	fuse_front_tick(g->f, g->now_ns);
	answer_pairs(g, 0, 0);
	qps[1] = verbs.n_qps - 1;
	check_begin(g);
	respond(g, 0, -ENOSYS, NULL, 0);
	assert_false(verbs.qps[qps[0]].alive || verbs.qps[qps[1]].alive);
}

/* A server without RDMA, or one that knows nothing of it. */
static void servers_may_have_none(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node;

	bring_up(g);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_front_tick(g->f, g->now_ns);
	answer_pairs(g, 0, PORT_RDMA_NO_DEVICE);
	assert_int_equal(fuse_front_rdma_reason(g->f, 0), PORT_RDMA_PEER);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_front_tick(g->f, g->now_ns);
	respond(g, 0, -ENOSYS, NULL, 0);
	assert_int_equal(fuse_front_rdma_reason(g->f, 1), PORT_RDMA_PEER);
	node = file(g, &fh);
	assert_int_equal(read_begin(g, node, fh).len, 0);
	for (unsigned i = 1; i < verbs.n_qps; i++)
		assert_false(verbs.qps[i].alive);
}

/* What goes by RDMA is not encrypted: nothing does, and what must not go otherwise waits. */
static void encrypted_sessions_have_none(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node;

	session_security = RUDP_ENCRYPT;
	bring_up(g);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
	assert_int_equal(fuse_front_rdma_reason(g->f, 0), PORT_RDMA_ENCRYPTED);
	node = file(g, &fh);
	assert_int_equal(read_begin(g, node, fh).len, 0);
}

/* Each with its own reason, and the data go in packets. */
static void servers_may_have_another_kind(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_front_tick(g->f, g->now_ns);
	answer_pairs(g, 0, PORT_RDMA_KIND);
	assert_int_equal(fuse_front_rdma_reason(g->f, 0), PORT_RDMA_KIND);
	assert_int_equal(fuse_front_rdma_reason(g->f, 1), PORT_RDMA_KIND);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_front_tick(g->f, g->now_ns);
	answer_pairs(g, 0, PORT_RDMA_MTU);
	assert_int_equal(fuse_front_rdma_reason(g->f, 0), PORT_RDMA_MTU);
}

/* ---- tries that an operator asks for ---- */

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

	assert_int_equal(fuse_front_ping(g->f, &ask, g->now_ns), 0);
	assert_int_equal(fuse_front_ping(g->f, &ask, g->now_ns), -EBUSY);
	fuse_front_tick(g->f, g->now_ns);
	return ask;
}

static struct launch_ping ping_result(struct rig *g)
{
	struct launch_ping p = {.id = 0};

	assert_true(fuse_front_ping_take(g->f, &p));
	assert_int_equal(p.id, 7);
	assert_false(fuse_front_ping_take(g->f, &p));
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
	assert_true(verbs_arrives(qps[1], ping_of(0).addr, data, 4096));
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_DONE, 50);
	/* The server rests; then it has enough to do. */
	fuse_front_tick(g->f, g->now_ns + 2 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 0);
	g->now_ns += 3 * NSEC_PER_MSEC;
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(ping_of(0).count, 50);
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_BUSY, 0);
	g->now_ns += 10 * NSEC_PER_MSEC;
	fuse_front_tick(g->f, g->now_ns);
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
	assert_true(verbs.qps[qps[1]].alive);
}

/* Pairs that fail are dropped before the memory is anybody else's; so are those of a server that
 * talks nonsense. */
static void pings_that_fail(void **state)
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
			respond(g, 0, 0, &p, PING_HEAD + 4); /* a count without its numbers */
		assert_false(verbs_arrives(qps[1], p.addr, late, 4096));
		assert_int_equal(ping_result(g).status, answers[i].error);
		assert_int_equal(g->f->pool.n_free, n_free);
		assert_true(verbs.qps[qps[0]].alive);
		g->now_ns += 40 * NSEC_PER_SEC;
		fuse_front_tick(g->f, g->now_ns);
		qps[1] = verbs.n_qps - 1;
		answer_pairs(g, 0, 0);
	}
}

/* The server is gone, or silent: the memory is kept for as long as it may write there. */
static void pings_of_silent_servers(void **state)
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
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(ping_result(g).status, -ETIMEDOUT);
	assert_int_equal(g->f->pool.n_free, n_free - 1);
	assert_true(verbs_arrives(qps[1], p.addr, late, 4096));
	reset_all(g, g->now_ns);
	assert_false(verbs_arrives(qps[1], p.addr, late, 4096));
	assert_int_equal(g->f->pool.n_free, n_free);
	/* And one that begins where no session is. */
	ping_begin(g);
	assert_int_equal(ping_result(g).status, -ENOTCONN);
	assert_int_equal(g->f->pool.n_free, n_free);
}

/* Nobody is asked where there is no pair; an older server says no. */
static void pings_without_pairs(void **state)
{
	struct rig *g = *state;
	struct launch_ping p;

	bring_up(g);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_front_tick(g->f, g->now_ns);
	answer_pairs(g, 0, PORT_RDMA_NO_DEVICE);
	ping_begin(g); /* the server is being asked anew, which is waited for */
	assert_int_equal(n_calls, 1);
	assert_false(fuse_front_ping_take(g->f, &p));
	answer_pairs(g, 0, PORT_RDMA_NO_DEVICE);
	g->now_ns += 10 * NSEC_PER_MSEC;
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
	p = ping_result(g);
	assert_int_equal(p.status, -ENOTSUP);
	assert_string_equal(p.reason, "rdma-peer-without");
	pairs_up(g);
	ping_begin(g);
	respond(g, 0, -EIO, NULL, 0);
	assert_string_equal(ping_result(g).reason, "rdma-peer-without");
	assert_true(verbs.qps[qps[1]].alive);
}

static void wish_said(struct rig *g, struct fuse_proto_wish wish)
{
	struct fuse_proto_rdma p = check_begin(g);

	memcpy(p.legs[1].gid, &wish, sizeof(wish));
	check_end(g, p, 2);
	fuse_front_tick(g->f, g->now_ns);
}

/* A server has the client ask: within what an operator here may ask for, one at a time, and nobody
 * here is told what comes of it. */
static void servers_may_wish_for_pings(void **state)
{
	const struct fuse_proto_wish good = {
		.what = FUSE_PROTO_PING_READ, .depth = 1, .count = 100, .len = 4096};
	struct fuse_proto_wish bad[7];
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
	bad[3].count = FUSE_PROTO_WISH_COUNT_MAX + 1;
	bad[4].len = FUSE_PROTO_MAX_WRITE + 1;
	bad[5].count = 0;
	bad[6].len = 0;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		wish_said(g, bad[i]);
		assert_int_equal(n_calls, 0);
		assert_int_equal(g->f->pool.n_free, n_free);
	}
	wish_said(g, good);
	assert_int_equal(n_calls, 1);
	assert_int_equal(ping_of(0).count, 64);
	assert_int_equal(ping_of(0).leg, 1);
	assert_int_equal(ping_of(0).what, FUSE_PROTO_PING_READ);
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_DONE, 64);
	g->now_ns += 4 * NSEC_PER_MSEC;
	fuse_front_tick(g->f, g->now_ns);
	ping_respond(g, ping_of(0), FUSE_PROTO_PING_DONE, 36);
	assert_false(fuse_front_ping_take(g->f, &p));
	assert_int_equal(g->f->pool.n_free, n_free);
	/* One of an operator here is not disturbed by it. */
	ping_begin(g);
	assert_int_equal(ping_of(0).len, 4096);
	g->f->ping.wish = (struct launch_ping){
		.id = 1, .what = LAUNCH_PING_IN, .bytes = 64, .count = 1, .depth = 1};
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	respond(g, 0, -EIO, NULL, 0);
	assert_int_equal(ping_result(g).status, -ENOTSUP);
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(data_come_by_rdma),
		TEST(late_data_of_a_failed_pair),
		TEST(late_data_of_a_session_that_ended),
		TEST(old_answers_leave_new_pairs),
		TEST(old_answers_leave_pairs_to_come),
		TEST(writes_go_in_packets_then),
		TEST(pairs_that_never_last_are_rare),
		TEST(data_may_wait_for_rdma),
		TEST(written_data_may_wait_for_rdma),
		TEST(who_is_killed_waits_no_longer),
		TEST(lost_halves_are_found),
		TEST(older_servers_hear_nothing_of_it),
		TEST(servers_may_have_none),
		TEST(encrypted_sessions_have_none),
		TEST(servers_may_have_another_kind),
		TEST(pings_are_added_up),
		TEST(pings_that_fail),
		TEST(pings_of_silent_servers),
		TEST(pings_without_pairs),
		TEST(servers_may_wish_for_pings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
