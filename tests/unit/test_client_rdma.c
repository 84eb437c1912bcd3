/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk data at the client, whose memory the server writes: late data find no pair any more,
 * whatever happened to the request, the session or the pair meanwhile. */
#include "tests/lib/fuse/client_rdma_rig.h"

static void read_data_use_rdma(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_bulk bulk;
	uint64_t fh, node;

	bring_up(g);
	pairs_up(g);
	node = rdma_file(g, &fh);
	bulk = read_begin(g, node, fh);
	assert_int_equal(bulk.len, BYTES);
	assert_int_equal(bulk.legs, LEGS);
	assert_true(verbs_arrives(rdma_qps[1], bulk.addr, rdma_data, BYTES));
	answer_bulk(g, BYTES, 0, NULL, 0);
	expect_rdma_data(g, rdma_data);
	/* More than was offered, or data twice, are rejected. */
	read_begin(g, node, fh);
	answer_bulk(g, BYTES + 1, 0, NULL, 0);
	expect_reply(g, g->unique, -EIO);
	read_begin(g, node, fh);
	answer_bulk(g, BYTES, 0, rdma_data, 100);
	expect_reply(g, g->unique, -EIO);
}

/* A pair fails, the data come in packets, and late data of the failed pair arrive after the
 * memory has another use. */
static void late_data_of_a_failed_pair_are_dropped(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_bulk bulk, next;
	uint64_t fh, node;

	bring_up(g);
	pairs_up(g);
	node = rdma_file(g, &fh);
	bulk = read_begin(g, node, fh);
	answer_bulk(g, 0, 1, rdma_data, BYTES);
	expect_rdma_data(g, rdma_data);
	assert_false(verbs_arrives(rdma_qps[0], bulk.addr, rdma_late, BYTES));
	/* The same memory, offered over the other leg. */
	next = read_begin(g, node, fh);
	assert_true(next.addr == bulk.addr);
	assert_int_equal(next.legs, 2);
	assert_true(verbs_arrives(rdma_qps[1], next.addr, rdma_data, BYTES));
	assert_false(verbs_arrives(rdma_qps[0], bulk.addr, rdma_late, BYTES));
	answer_bulk(g, BYTES, 0, NULL, 0);
	expect_rdma_data(g, rdma_data);
	/* A new pair for the leg is a different pair: the old one's data do not use it. */
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	answer_pairs(g, 0, 0);
	assert_false(verbs_arrives(rdma_qps[0], bulk.addr, rdma_late, BYTES));
	assert_int_equal(read_begin(g, node, fh).legs, LEGS);
}

/* The server dies or is lost during the request; it is retried, with the same memory. */
static void late_data_of_an_ended_session_are_dropped(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_bulk bulk;
	uint64_t fh, node;

	bring_up(g);
	pairs_up(g);
	node = rdma_file(g, &fh);
	bulk = read_begin(g, node, fh);
	assert_int_equal(bulk.legs, LEGS);
	reset_all(g, g->now_ns);
	assert_false(verbs_arrives(rdma_qps[0], bulk.addr, rdma_late, BYTES));
	assert_false(verbs_arrives(rdma_qps[1], bulk.addr, rdma_late, BYTES));
	fuse_client_event(g->f, RUDP_SESSION_RESTARTED, 0, g->now_ns);
	fuse_client_tick(g->f, g->now_ns);
	respond_init(g);
	/* Nothing is offered until there are pairs again. */
	for (unsigned i = 0; i < n_calls; i++)
		if (call_header(i).opcode == FUSE_READ) {
			assert_int_equal(bulk_of(i).len, 0);
			respond(g, i, 0, rdma_data, BYTES);
		}
	expect_rdma_data(g, rdma_data);
}

/* An answer that is older than the pair does not refer to it. */
static void old_answers_leave_new_pairs(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node;
	unsigned old;

	bring_up(g);
	pairs_up(g);
	node = rdma_file(g, &fh);
	read_begin(g, node, fh);
	read_begin(g, node, fh);
	old = rdma_qps[0];
	answer_bulk(g, 0, 1, rdma_data, BYTES); /* of the second */
	expect_rdma_data(g, rdma_data);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 2);
	rdma_qps[0] = verbs.n_qps - 1;
	answer_pairs(g, 1, 0);
	answer_bulk(g, 0, 1, rdma_data, BYTES); /* of the first */
	expect_rdma_data(g, rdma_data);
	assert_false(verbs.qps[old].alive);
	assert_true(verbs.qps[rdma_qps[0]].alive);
	assert_int_equal(read_begin(g, node, fh).legs, LEGS);
}

/* Nor to one that the server has not answered for yet. */
static void old_answers_leave_requested_pairs(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node;

	bring_up(g);
	pairs_up(g);
	node = rdma_file(g, &fh);
	read_begin(g, node, fh);
	read_begin(g, node, fh);
	answer_bulk(g, 0, 1, rdma_data, BYTES); /* of the second */
	expect_rdma_data(g, rdma_data);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 2);
	rdma_qps[0] = verbs.n_qps - 1;
	assert_int_equal(call_header(1).opcode, FUSE_PROTO_RDMA);
	answer_call(g, 0, 0, 1, rdma_data, BYTES); /* of the first */
	expect_rdma_data(g, rdma_data);
	assert_true(verbs.qps[rdma_qps[0]].alive);
	answer_pairs(g, 0, 0);
	assert_int_equal(read_begin(g, node, fh).legs, LEGS);
}

/* The server could not fetch them: they go in packets, and the program does not notice. */
static void writes_fall_back_to_packets(void **state)
{
	struct rig *g = *state;
	const struct fuse_write_out out = {.size = 100 << 10};
	uint64_t fh, node;
	unsigned i;

	bring_up(g);
	pairs_up(g);
	node = rdma_file(g, &fh);
	kernel_write(g, node, fh, rdma_data, out.size);
	i = n_calls - 1;
	assert_int_equal(bulk_of(i).len, out.size);
	assert_true(calls[i].len < 1000);
	respond(g, i, -EREMOTEIO, NULL, 0);
	expect_silence(g);
	fuse_client_tick(g->f, g->now_ns);
	for (i = 0; call_header(i).opcode != FUSE_WRITE; i++)
		;
	assert_int_equal(bulk_of(i).len, 0);
	assert_true(calls[i].len > out.size);
	assert_memory_equal(calls[i].msg + FUSE_PROTO_WRITE_DATA, rdma_data, out.size);
	respond(g, i, 0, &out, sizeof(out));
	expect_reply(g, g->unique, 0);
	assert_false(verbs.qps[rdma_qps[0]].alive || verbs.qps[rdma_qps[1]].alive);
}

/* If every pair of a leg fails, transfers do not pay for it each second. */
static void failing_pairs_are_retried_rarely(void **state)
{
	struct rig *g = *state;
	unsigned n_tries = 0;
	uint64_t fh, node;

	bring_up(g);
	pairs_up(g);
	node = rdma_file(g, &fh);
	for (unsigned i = 0; i < 600; i++) {
		if (read_begin(g, node, fh).legs & 1) {
			answer_bulk(g, 0, 1, rdma_data, BYTES);
			n_tries++;
		} else {
			answer_bulk(g, 0, 0, rdma_data, BYTES);
		}
		expect_rdma_data(g, rdma_data);
		g->now_ns += NSEC_PER_SEC;
		fuse_client_tick(g->f, g->now_ns);
		if (n_calls > 0)
			answer_pairs(g, 0, 0);
	}
	assert_in_range(n_tries, 8, 20);
	/* Not while the path is down: that pair is retried with it. */
	session_paths[0].up = false;
	g->now_ns += 100 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	session_paths[0].up = true;
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	answer_pairs(g, 0, 0);
}

/* As pairs_up, with other calls possibly in flight. */
static void pairs_again(struct rig *g)
{
	for (unsigned i = 0; i < 8 && call_of(FUSE_PROTO_RDMA) == n_calls; i++) {
		g->now_ns += NSEC_PER_SEC;
		fuse_client_tick(g->f, g->now_ns);
	}
	assert_int_not_equal(call_of(FUSE_PROTO_RDMA), n_calls);
	answer_pairs(g, call_of(FUSE_PROTO_RDMA), 0);
	fuse_client_tick(g->f, g->now_ns);
}

/* With RDMA only, large requests wait for a pair, repeatedly; other requests proceed. */
static void data_may_wait_for_rdma(void **state)
{
	struct rig *g = *state;
	const struct fuse_proto_bulk_done again = {.failed = LEGS, .again = 1};
	struct fuse_read_in in = {.size = 4096};
	struct tail t = tail_make(FUSE_PROTO_RESP_BULK, 0);
	uint64_t node;

	tail_add(&t, &again, sizeof(again));
	g->cfg->ports[1].rdma_only = true;
	fuse_client_set_rdma(g->f, rdma, g->cfg);
	g->features = FUSE_PROTO_FEATURE_ONLY;
	bring_up(g);
	node = rdma_file(g, &in.fh);
	kernel_send_to(g, FUSE_READ, g->unique += 2, node, &in, sizeof(in));
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	respond(g, call_of(FUSE_READ), 0, rdma_data, 4096);
	expect_reply(g, g->unique, 0);
	in.size = BYTES;
	kernel_send_to(g, FUSE_READ, g->unique += 2, node, &in, sizeof(in));
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	assert_int_equal(call_of(FUSE_READ), n_calls);
	for (unsigned i = 0; i < 3; i++) {
		pairs_again(g);
		assert_int_equal(bulk_of(call_of(FUSE_READ)).legs, LEGS);
		assert_int_equal(call_tail(call_of(FUSE_READ)).flags,
				 FUSE_PROTO_REQ_BULK | FUSE_PROTO_REQ_ONLY);
		respond_tail(g, call_of(FUSE_READ), 0, NULL, 0, &t);
		fuse_client_tick(g->f, g->now_ns);
		assert_int_equal(call_of(FUSE_READ), n_calls);
		expect_silence(g);
	}
	pairs_again(g);
	memcpy((void *)(uintptr_t)bulk_of(call_of(FUSE_READ)).addr, rdma_data, BYTES);
	answer_call(g, call_of(FUSE_READ), BYTES, 0, NULL, 0);
	expect_rdma_data(g, rdma_data);
}

/* It would refuse an unknown flag; its answers in packets are accepted. */
static void older_servers_get_no_rdma_only_flag(void **state)
{
	struct rig *g = *state;
	struct fuse_read_in in = {.size = BYTES};
	uint64_t node;

	g->cfg->ports[1].rdma_only = true;
	fuse_client_set_rdma(g->f, rdma, g->cfg);
	bring_up(g);
	node = rdma_file(g, &in.fh);
	kernel_send_to(g, FUSE_READ, g->unique += 2, node, &in, sizeof(in));
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	assert_int_equal(call_of(FUSE_READ), n_calls);
	pairs_again(g);
	assert_int_equal(call_tail(call_of(FUSE_READ)).flags, FUSE_PROTO_REQ_BULK);
	answer_call(g, call_of(FUSE_READ), 0, LEGS, rdma_data, BYTES);
	expect_rdma_data(g, rdma_data);
}

static void written_data_may_wait_for_rdma(void **state)
{
	struct rig *g = *state;
	const struct fuse_write_out out = {.size = 100 << 10};
	uint64_t fh, node;

	g->cfg->ports[0].rdma_only = true;
	fuse_client_set_rdma(g->f, rdma, g->cfg);
	bring_up(g);
	node = rdma_file(g, &fh);
	kernel_write(g, node, fh, rdma_data, out.size);
	assert_int_equal(call_of(FUSE_WRITE), n_calls);
	pairs_again(g);
	assert_int_equal(bulk_of(call_of(FUSE_WRITE)).len, out.size);
	respond(g, call_of(FUSE_WRITE), -EREMOTEIO, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(call_of(FUSE_WRITE), n_calls);
	expect_silence(g);
	pairs_again(g);
	assert_int_equal(bulk_of(call_of(FUSE_WRITE)).len, out.size);
	respond(g, call_of(FUSE_WRITE), 0, &out, sizeof(out));
	expect_reply(g, g->unique, 0);
}

/* A program that is killed does not wait for RDMA that may never come. */
static void killed_programs_do_not_wait_for_rdma(void **state)
{
	struct rig *g = *state;
	struct fuse_interrupt_in in;
	uint64_t fh, node;

	g->cfg->ports[0].rdma_only = true;
	fuse_client_set_rdma(g->f, rdma, g->cfg);
	bring_up(g);
	node = rdma_file(g, &fh);
	kernel_write(g, node, fh, rdma_data, 100 << 10);
	assert_int_equal(call_of(FUSE_WRITE), n_calls);
	in.unique = g->unique;
	kernel_send_to(g, FUSE_INTERRUPT, g->unique + 1, 0, &in, sizeof(in));
	assert_true(fuse_client_pull(g->f, true, g->now_ns) > 0);
	expect_reply(g, in.unique, -EINTR);
	pairs_again(g);
	assert_int_equal(call_of(FUSE_WRITE), n_calls);
	expect_silence(g);
}

/* The client finds a server's lost halves of pairs by its checks, without a failed transfer. */
static void lost_halves_of_pairs_are_found(void **state)
{
	struct rig *g = *state;
	struct fuse_proto_rdma p;

	bring_up(g);
	pairs_up(g);
	check_end(g, check_begin(g), 2);
	assert_true(verbs.qps[rdma_qps[0]].alive && verbs.qps[rdma_qps[1]].alive);
	/* The server was busy. */
	check_begin(g);
	respond(g, 0, -EBUSY, NULL, 0);
	assert_true(verbs.qps[rdma_qps[0]].alive && verbs.qps[rdma_qps[1]].alive);
	/* Or out of memory, even for an answer that says so. */
	check_begin(g);
	respond(g, 0, -ENOMEM, NULL, 0);
	check_begin(g);
	respond_empty(g, 0);
	assert_true(verbs.qps[rdma_qps[0]].alive && verbs.qps[rdma_qps[1]].alive);
	/* One is lost, and made again at once. */
	p = check_begin(g);
	p.legs[1].status = PORT_RDMA_FAILED;
	check_end(g, p, 2);
	assert_true(verbs.qps[rdma_qps[0]].alive);
	assert_false(verbs.qps[rdma_qps[1]].alive);
	assert_int_equal(fuse_client_rdma_reason(g->f, 1), PORT_RDMA_OK);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	rdma_qps[1] = verbs.n_qps - 1;
	answer_pairs(g, 0, 0);
	assert_true(verbs.qps[rdma_qps[1]].alive);
	/* A pair that the answer omits is lost too. */
	check_end(g, check_begin(g), 1);
	assert_true(verbs.qps[rdma_qps[0]].alive);
	assert_false(verbs.qps[rdma_qps[1]].alive);
	fuse_client_tick(g->f, g->now_ns);
	answer_pairs(g, 0, 0);
	rdma_qps[1] = verbs.n_qps - 1;
	check_begin(g);
	respond(g, 0, -ENOSYS, NULL, 0);
	assert_false(verbs.qps[rdma_qps[0]].alive || verbs.qps[rdma_qps[1]].alive);
}

/* A server without RDMA, or one that does not know it. */
static void servers_may_have_no_rdma(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node;

	bring_up(g);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	answer_pairs(g, 0, PORT_RDMA_NO_DEVICE);
	assert_int_equal(fuse_client_rdma_reason(g->f, 0), PORT_RDMA_PEER);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	/* Asked again, without a change. */
	assert_int_equal(fuse_client_rdma_reason(g->f, 0), PORT_RDMA_PEER);
	respond(g, 0, -ENOSYS, NULL, 0);
	assert_int_equal(fuse_client_rdma_reason(g->f, 1), PORT_RDMA_PEER);
	node = rdma_file(g, &fh);
	assert_int_equal(read_begin(g, node, fh).len, 0);
	for (unsigned i = 1; i < verbs.n_qps; i++)
		assert_false(verbs.qps[i].alive);
}

/* RDMA data are not encrypted: an encrypted session uses no RDMA, and data for RDMA only wait. */
static void encrypted_sessions_use_no_rdma(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node;

	session_security = RUDP_ENCRYPT;
	bring_up(g);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
	assert_int_equal(fuse_client_rdma_reason(g->f, 0), PORT_RDMA_ENCRYPTED);
	node = rdma_file(g, &fh);
	assert_int_equal(read_begin(g, node, fh).len, 0);
}

/* Each with its own reason, and the data go in packets. */
static void servers_may_have_another_link_type(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	answer_pairs(g, 0, PORT_RDMA_KIND);
	assert_int_equal(fuse_client_rdma_reason(g->f, 0), PORT_RDMA_KIND);
	assert_int_equal(fuse_client_rdma_reason(g->f, 1), PORT_RDMA_KIND);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	answer_pairs(g, 0, PORT_RDMA_MTU);
	assert_int_equal(fuse_client_rdma_reason(g->f, 0), PORT_RDMA_MTU);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rdma_setup, rdma_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(read_data_use_rdma),
		TEST(late_data_of_a_failed_pair_are_dropped),
		TEST(late_data_of_an_ended_session_are_dropped),
		TEST(old_answers_leave_new_pairs),
		TEST(old_answers_leave_requested_pairs),
		TEST(writes_fall_back_to_packets),
		TEST(failing_pairs_are_retried_rarely),
		TEST(data_may_wait_for_rdma),
		TEST(written_data_may_wait_for_rdma),
		TEST(killed_programs_do_not_wait_for_rdma),
		TEST(lost_halves_of_pairs_are_found),
		TEST(older_servers_get_no_rdma_only_flag),
		TEST(servers_may_have_no_rdma),
		TEST(encrypted_sessions_use_no_rdma),
		TEST(servers_may_have_another_link_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
