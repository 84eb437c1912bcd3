/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers over two legs at once: each byte goes once, by legs that work, and its end is told when
 * nothing of it is under way any more. */
#include "dataplane/port/port_rdma_internal.h"
#include "tests/lib/verbs_fake.h"

#define BOTH 3
#define KIB 1024U
#define THERE 4096U

static uint8_t memory[1 << 20];

static struct world {
	struct launch_config cfg;
	struct port_rdma *r;
	struct port_rdma_pool *pool;
	struct port_rdma_peer *peer;
	unsigned qps[2];
} w;

static struct counted {
	struct port_rdma_spread s;
	unsigned n;
	int status;
} moves[8];

static void move_done(struct port_rdma_spread *s, int status)
{
	struct counted *c = (struct counted *)s;

	c->n++;
	c->status = status;
}

static int setup(void **state)
{
	const struct port_rdma_region region = {.base = memory, .bytes = sizeof(memory)};

	verbs_reset();
	w = (struct world){.cfg.n_ports = 2};
	memset(moves, 0, sizeof(moves));
	for (unsigned i = 0; i < 2; i++) {
		w.cfg.ports[i].rdma = true;
		w.cfg.ports[i].ip.addr =
			(struct ip_addr){.family = AF_INET, .bytes = {10, 0, 0, 1}};
	}
	memcpy(verbs.gid, (uint8_t[16]){[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}, 16);
	assert_int_equal(port_rdma_open(&w.cfg, &w.r), 0);
	assert_int_equal(port_rdma_pool_new(w.r, &region, 1, true, &w.pool), 0);
	assert_int_equal(port_rdma_peer_new(w.pool, &w.peer), 0);
	for (unsigned leg = 0; leg < 2; leg++) {
		struct port_rdma_half ours,
			theirs = {.link = PORT_RDMA_LINK_ROCE_V2, .mtu = 3, .qpn = 99};

		assert_int_equal(port_rdma_pair(w.peer, leg, leg, &ours), PORT_RDMA_OK);
		assert_int_equal(port_rdma_join(w.peer, leg, &theirs, true), PORT_RDMA_OK);
		w.qps[leg] = ours.qpn;
	}
	return 0;
}

static int teardown(void **state)
{
	port_rdma_stop(w.r);
	w.peer = port_rdma_peer_free(w.peer);
	w.pool = port_rdma_pool_free(w.pool);
	w.r = port_rdma_free(w.r);
	verbs_done();
	return 0;
}

static int begin(unsigned i, uint8_t legs, uint32_t bytes, bool is_write)
{
	const struct port_rdma_move m = {
		.here = memory, .there = THERE, .bytes = bytes, .is_write = is_write};

	moves[i].s.done = move_done;
	return port_rdma_spread(w.peer, legs, &m, &moves[i].s);
}

static uint32_t bytes_by(unsigned leg, enum ibv_wr_opcode opcode)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < verbs.n_wrs; i++)
		if (verbs.wrs[i].qp == w.qps[leg] && verbs.wrs[i].wr.opcode == opcode)
			n += verbs.wrs[i].sge.length;
	return n;
}

/* Each byte of it is on its way once, to where it belongs. */
static void covers(uint32_t bytes, enum ibv_wr_opcode opcode)
{
	static uint8_t seen[sizeof(memory)];

	memset(seen, 0, sizeof(seen));
	for (unsigned i = 0; i < verbs.n_wrs; i++) {
		const struct verbs_wr *wr = &verbs.wrs[i];
		uint64_t at = wr->wr.wr.rdma.remote_addr - THERE;

		if (wr->wr.opcode != opcode)
			continue;
		assert_int_equal(wr->sge.addr - (uintptr_t)memory, at);
		assert_true(at + wr->sge.length <= bytes);
		for (uint32_t k = 0; k < wr->sge.length; k++)
			assert_int_equal(seen[at + k]++, 0);
	}
	for (uint32_t k = 0; k < bytes; k++)
		assert_int_equal(seen[k], 1);
}

static void end_leg(unsigned leg, enum ibv_wc_status status)
{
	verbs_end(w.qps[leg], status);
	port_rdma_poll(w.r);
}

static void large_ones_go_by_both(void **state)
{
	assert_int_equal(begin(0, BOTH, sizeof(memory), false), 0);
	assert_int_equal(bytes_by(0, IBV_WR_RDMA_READ), 512 * KIB);
	assert_int_equal(bytes_by(1, IBV_WR_RDMA_READ), 512 * KIB);
	covers(sizeof(memory), IBV_WR_RDMA_READ);
	end_leg(1, IBV_WC_SUCCESS);
	assert_int_equal(moves[0].n, 0);
	end_leg(0, IBV_WC_SUCCESS);
	assert_int_equal(moves[0].n, 1);
	assert_int_equal(moves[0].status, 0);
	assert_int_equal(moves[0].s.n_parts, 2);
	assert_int_equal(port_rdma_spread_failed(&moves[0].s), 0);
	/* A length that divides badly, and the other direction. */
	assert_int_equal(begin(1, BOTH, 300 * KIB + 1, true), 0);
	covers(300 * KIB + 1, IBV_WR_RDMA_WRITE);
	assert_true(bytes_by(0, IBV_WR_RDMA_WRITE) >= 128 * KIB);
	assert_true(bytes_by(1, IBV_WR_RDMA_WRITE) >= 128 * KIB);
}

static void small_ones_go_by_one(void **state)
{
	assert_int_equal(begin(0, BOTH, 255 * KIB, false), 0);
	assert_int_equal(moves[0].s.n_parts, 1);
	covers(255 * KIB, IBV_WR_RDMA_READ);
	/* And the next one by the other leg. */
	assert_int_equal(begin(1, BOTH, 255 * KIB, false), 0);
	assert_int_equal(bytes_by(0, IBV_WR_RDMA_READ), 255 * KIB);
	assert_int_equal(bytes_by(1, IBV_WR_RDMA_READ), 255 * KIB);
}

/* The leg that has less to do takes more of it, and all where both are busy anyway. */
static void legs_end_together(void **state)
{
	assert_int_equal(begin(0, 1, 512 * KIB, false), 0);
	assert_int_equal(begin(1, BOTH, sizeof(memory), false), 0);
	assert_int_equal(bytes_by(0, IBV_WR_RDMA_READ), 768 * KIB);
	assert_int_equal(bytes_by(1, IBV_WR_RDMA_READ), 768 * KIB);
	assert_int_equal(begin(2, BOTH, sizeof(memory), false), 0);
	assert_int_equal(moves[2].s.n_parts, 2);
	assert_int_equal(begin(3, BOTH, sizeof(memory), false), 0);
	assert_int_equal(moves[3].s.n_parts, 1);
	/* One that has more to do than it is worth. */
	end_leg(1, IBV_WC_SUCCESS);
	assert_int_equal(begin(4, BOTH, 512 * KIB, false), 0);
	assert_int_equal(moves[4].s.n_parts, 1);
	assert_int_equal(bytes_by(1, IBV_WR_RDMA_READ), 512 * KIB);
}

static void one_leg_is_enough(void **state)
{
	assert_int_equal(begin(0, 2, sizeof(memory), true), 0);
	assert_int_equal(moves[0].s.n_parts, 1);
	assert_int_equal(bytes_by(1, IBV_WR_RDMA_WRITE), sizeof(memory));
	assert_int_equal(begin(1, 0, 4096, true), -EAGAIN);
}

/* A part fails: which leg's is told, when the other part is over, too. */
static void a_failed_part_is_told_last(void **state)
{
	assert_int_equal(begin(0, BOTH, sizeof(memory), true), 0);
	end_leg(0, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(moves[0].n, 0);
	end_leg(1, IBV_WC_SUCCESS);
	assert_int_equal(moves[0].n, 1);
	assert_true(moves[0].status < 0);
	assert_int_equal(port_rdma_spread_failed(&moves[0].s), 1);
	assert_int_equal(begin(0, BOTH, sizeof(memory), true), 0);
	assert_int_equal(bytes_by(1, IBV_WR_RDMA_WRITE), sizeof(memory));
	end_leg(1, IBV_WC_SUCCESS);
	assert_int_equal(moves[0].n, 2);
	assert_int_equal(moves[0].status, 0);
}

/* A pair whose failure shows when it is given something: the other one takes that, too. */
static void what_one_refuses_the_other_takes(void **state)
{
	for (unsigned leg = 0; leg < 2; leg++) {
		verbs.qps[w.qps[leg]].state = IBV_QPS_ERR;
		if (leg == 1) { /* neither */
			assert_int_equal(begin(leg, BOTH, sizeof(memory), false), -EIO);
			break;
		}
		/* The first choice is the leg after the last one's. */
		w.peer->last = 0;
		assert_int_equal(begin(leg, BOTH, sizeof(memory), false), 0);
		assert_int_equal(bytes_by(1, IBV_WR_RDMA_READ), sizeof(memory));
		covers(sizeof(memory), IBV_WR_RDMA_READ);
		end_leg(1, IBV_WC_SUCCESS);
		assert_int_equal(moves[leg].n, 1);
		assert_int_equal(moves[leg].status, 0);
	}
}

/* Both legs have one device: what it takes no second part of goes whole by one leg. */
static void a_full_device_takes_no_halves(void **state)
{
	const unsigned n_ops = w.r->devices[w.peer->pairs[0]->device].n_ops;

	assert_int_equal(w.peer->pairs[0]->device, w.peer->pairs[1]->device);
	w.r->devices[w.peer->pairs[0]->device].n_ops = RDMA_DEVICE_OPS_MAX - 1;
	assert_int_equal(begin(0, BOTH, sizeof(memory), false), 0);
	assert_int_equal(moves[0].s.n_parts, 1);
	covers(sizeof(memory), IBV_WR_RDMA_READ);
	w.r->devices[w.peer->pairs[0]->device].n_ops = n_ops + 1;
	verbs_end(0, IBV_WC_SUCCESS);
	port_rdma_poll(w.r);
	assert_int_equal(moves[0].n, 1);
	assert_int_equal(moves[0].status, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(large_ones_go_by_both),
		TEST(small_ones_go_by_one),
		TEST(legs_end_together),
		TEST(one_leg_is_enough),
		TEST(a_failed_part_is_told_last),
		TEST(what_one_refuses_the_other_takes),
		TEST(a_full_device_takes_no_halves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
