/* SPDX-License-Identifier: BSD-3-Clause */
/* When a client asks its server for pairs. */
#include "tests/lib/front_rdma_rig.h"

/* Its device has an address again: nothing else need be waited for. */
static void changed_devices_are_asked_for_soon(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node;

	bring_up(g);
	pairs_up(g);
	node = file(g, &fh);
	g->now_ns += 2 * NSEC_PER_SEC;
	fuse_front_tick(g->f, g->now_ns); /* they are asked after */
	assert_int_equal(n_calls, 1);
	answer_pairs(g, 0, 0);
	read_begin(g, node, fh);
	answer_bulk(g, 0, 1, data, BYTES);
	expect_data(g, data);
	g->now_ns += NSEC_PER_SEC / 2;
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
	verbs_tell(IBV_EVENT_GID_CHANGE);
	port_rdma_look(rdma);
	port_rdma_tick(rdma, g->now_ns);
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	answer_pairs(g, 0, 0);
	/* Not more often than a server hears it. */
	g->now_ns += 100 * NSEC_PER_MSEC;
	verbs_tell(IBV_EVENT_GID_CHANGE);
	port_rdma_look(rdma);
	port_rdma_tick(rdma, g->now_ns);
	assert_int_equal(fuse_front_tick(g->f, g->now_ns), g->now_ns + 150 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 0);
	g->now_ns += 150 * NSEC_PER_MSEC;
	fuse_front_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	answer_pairs(g, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(changed_devices_are_asked_for_soon, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
