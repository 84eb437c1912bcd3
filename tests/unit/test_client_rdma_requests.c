/* SPDX-License-Identifier: BSD-3-Clause */
/* When a client asks its server for pairs, and when servers' answers exclude RDMA. */
#include "tests/lib/fuse/client_rdma_rig.h"

/* Its device has an address again: the client asks at once. */
static void a_device_change_triggers_a_request(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node;

	bring_up(g);
	pairs_up(g);
	node = rdma_file(g, &fh);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns); /* they are checked */
	assert_int_equal(n_calls, 1);
	answer_pairs(g, 0, 0);
	read_begin(g, node, fh);
	answer_bulk(g, 0, 1, rdma_data, BYTES);
	expect_rdma_data(g, rdma_data);
	g->now_ns += NSEC_PER_SEC / 2;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
	verbs_tell(IBV_EVENT_GID_CHANGE);
	port_rdma_look(rdma);
	port_rdma_tick(rdma, g->now_ns);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	answer_pairs(g, 0, 0);
	/* Not more often than a server accepts. */
	g->now_ns += 100 * NSEC_PER_MSEC;
	verbs_tell(IBV_EVENT_GID_CHANGE);
	port_rdma_look(rdma);
	port_rdma_tick(rdma, g->now_ns);
	assert_int_equal(fuse_client_tick(g->f, g->now_ns), g->now_ns + 150 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 0);
	g->now_ns += 150 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	answer_pairs(g, 0, 0);
}

/* The check of every second does not count as work: unused memory is returned, and mount workers
 * sleep, while it is asked and answered. */
static void checks_do_not_count_as_work(void **state)
{
	struct rig *g = *state;
	uint64_t busy_ns;

	bring_up(g);
	pairs_up(g);
	busy_ns = g->f->busy_ns;
	for (unsigned i = 0; i < 3; i++) {
		g->now_ns += 2 * NSEC_PER_SEC;
		fuse_client_tick(g->f, g->now_ns);
		assert_int_equal(n_calls, 1);
		answer_pairs(g, 0, 0);
		assert_int_equal(g->f->busy_ns, busy_ns);
	}
}

/* Each leg's answer has its own status and link. */
static void answer_links(struct rig *g, const uint8_t status[2], const uint8_t link[2])
{
	struct fuse_proto_rdma p;
	size_t len = calls[0].len - sizeof(struct fuse_in_header);

	assert_int_equal(call_header(0).opcode, FUSE_PROTO_RDMA);
	assert_int_equal(len, offsetof(struct fuse_proto_rdma, legs) + 2 * sizeof(p.legs[0]));
	memset(&p, 0, sizeof(p));
	memcpy(&p, calls[0].msg + sizeof(struct fuse_in_header), len);
	for (unsigned i = 0; i < 2; i++) {
		p.legs[i].status = status[i];
		p.legs[i].link = link[i];
		p.legs[i].qpn = rdma_theirs[i];
	}
	respond(g, 0, 0, &p, len);
}

static void asks_nothing_but_links(struct rig *g)
{
	const struct fuse_proto_rdma_leg *legs;

	g->now_ns += 9 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	legs = (const void *)(calls[0].msg + sizeof(struct fuse_in_header) +
			      offsetof(struct fuse_proto_rdma, legs));
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(legs[i].mtu, 0);
		assert_int_equal(legs[i].key, 0);
		assert_int_equal(legs[i].link, PORT_RDMA_LINK_ROCE_V2);
	}
	assert_int_equal(port_rdma_pairs(g->f->rdma.ports, 0), 0);
}

/* A server with InfiniBand on one leg and Ethernet on the other gets no RDMA until that ends; in
 * the meantime data go in packets, and late data are dropped. */
static void mixed_servers_get_no_rdma(void **state)
{
	static const uint8_t roce[2] = {PORT_RDMA_LINK_ROCE_V2, PORT_RDMA_LINK_ROCE_V2},
			     ib[2] = {PORT_RDMA_LINK_ROCE_V2, PORT_RDMA_LINK_IB},
			     v1[2] = {PORT_RDMA_LINK_ROCE_V2, 3}, kind[2] = {0, PORT_RDMA_KIND},
			     fine[2] = {0, 0}, still[2] = {PORT_RDMA_FAILED, PORT_RDMA_KIND},
			     over[2] = {PORT_RDMA_FAILED, PORT_RDMA_FAILED};
	struct rig *g = *state;
	unsigned qp;

	bring_up(g);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	answer_links(g, kind, v1); /* both are Ethernet: the other leg uses RDMA */
	fuse_client_rdma_check_mixed(&g->f, 1);
	assert_int_equal(fuse_client_rdma_reason(g->f, 0), PORT_RDMA_OK);
	assert_int_equal(fuse_client_rdma_reason(g->f, 1), PORT_RDMA_KIND);
	qp = verbs.n_qps - 2;
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	answer_links(g, kind, ib);
	assert_true(verbs.qps[qp].alive);
	fuse_client_rdma_check_mixed(&g->f, 1);
	assert_false(verbs.qps[qp].alive);
	assert_int_equal(fuse_client_rdma_reason(g->f, 0), PORT_RDMA_MIXED);
	assert_int_equal(fuse_client_rdma_reason(g->f, 1), PORT_RDMA_MIXED);
	assert_int_equal(port_rdma_ready(g->f->rdma.peer), 0);
	fuse_client_tick(g->f, g->now_ns); /* not as often as the server changes its answer */
	assert_int_equal(n_calls, 0);
	asks_nothing_but_links(g);
	answer_links(g, still, ib);
	asks_nothing_but_links(g);
	answer_links(g, still, ib);
	fuse_client_rdma_check_mixed(&g->f, 1);
	assert_int_equal(fuse_client_rdma_reason(g->f, 0), PORT_RDMA_MIXED);
	asks_nothing_but_links(g);
	answer_links(g, over, roce);
	fuse_client_rdma_check_mixed(&g->f, 1);
	fuse_client_tick(g->f, g->now_ns + NSEC_PER_SEC - 1);
	assert_int_equal(n_calls, 0);
	g->now_ns += NSEC_PER_SEC; /* pairs are requested, earlier than the next regular check */
	fuse_client_tick(g->f, g->now_ns);
	answer_links(g, fine, roce);
	assert_int_equal(port_rdma_ready(g->f->rdma.peer), 3);
	/* After its end a session's answers no longer count. */
	g->f->rdma.legs[1].layers = CLIENT_LAYER_IB;
	fuse_client_rdma_check_mixed(&g->f, 1);
	assert_true(g->f->rdma.mixed);
	server_restarts(g, 77, 78);
	fuse_client_rdma_check_mixed(&g->f, 1);
	assert_false(g->f->rdma.mixed);
}

/* A busy server's last answer stays valid; for a leg without a path it does not. */
static void busy_mixed_servers_keep_their_answer(void **state)
{
	static const uint8_t ib[2] = {PORT_RDMA_LINK_ROCE_V2, PORT_RDMA_LINK_IB},
			     kind[2] = {0, PORT_RDMA_KIND};
	static const int busy[] = {-EBUSY, -ENOMEM};
	struct rig *g = *state;

	bring_up(g);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	answer_links(g, kind, ib);
	fuse_client_rdma_check_mixed(&g->f, 1);
	assert_true(g->f->rdma.mixed);
	for (size_t i = 0; i < ARRAY_SIZE(busy); i++) {
		asks_nothing_but_links(g);
		respond(g, 0, busy[i], NULL, 0);
		fuse_client_rdma_check_mixed(&g->f, 1);
		assert_true(g->f->rdma.mixed);
	}
	session_paths[1].up = false;
	g->now_ns += 9 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	fuse_client_rdma_check_mixed(&g->f, 1);
	assert_false(g->f->rdma.mixed);
	session_paths[1].up = true;
	/* Or whose port cannot be asked for here. */
	respond(g, 0, -EBUSY, NULL, 0);
	g->f->rdma.legs[1].layers = CLIENT_LAYER_IB;
	verbs.state = IBV_PORT_DOWN;
	g->now_ns += 9 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(g->f->rdma.legs[1].layers, 0);
}

/* Two mounts have servers with different link types: neither uses RDMA. Data for RDMA only wait. */
static void mixed_clusters_get_no_rdma(void **state)
{
	static struct fuse_client other;
	struct rig *g = *state;
	struct fuse_client *clients[] = {g->f, NULL, &other};

	bring_up(g);
	pairs_up(g);
	other = (struct fuse_client){.rdma = {.ports = g->f->rdma.ports, .n_ports = 2}};
	other.rdma.legs[0].layers = CLIENT_LAYER_ETHERNET;
	fuse_client_rdma_check_mixed(clients, ARRAY_SIZE(clients));
	assert_int_equal(port_rdma_ready(g->f->rdma.peer), 3);
	other.rdma.legs[0].layers = CLIENT_LAYER_IB;
	assert_int_equal(port_rdma_peer_new(g->f->rdma.pool, &other.rdma.peer), 0);
	fuse_client_rdma_check_mixed(clients, ARRAY_SIZE(clients));
	assert_true(g->f->rdma.mixed && other.rdma.mixed);
	assert_false(verbs.qps[rdma_qps[0]].alive || verbs.qps[rdma_qps[1]].alive);
	/* The other mount ends. */
	fuse_client_rdma_check_mixed(clients, 1);
	assert_false(g->f->rdma.mixed);
	other.rdma.peer = port_rdma_peer_free(other.rdma.peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_device_change_triggers_a_request, rdma_setup,
						rdma_teardown),
		cmocka_unit_test_setup_teardown(checks_do_not_count_as_work, rdma_setup,
						rdma_teardown),
		cmocka_unit_test_setup_teardown(mixed_servers_get_no_rdma, rdma_setup,
						rdma_teardown),
		cmocka_unit_test_setup_teardown(busy_mixed_servers_keep_their_answer, rdma_setup,
						rdma_teardown),
		cmocka_unit_test_setup_teardown(mixed_clusters_get_no_rdma, rdma_setup,
						rdma_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
