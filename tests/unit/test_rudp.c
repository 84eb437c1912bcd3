/* SPDX-License-Identifier: BSD-3-Clause */
/* rudp in a simulated world. PLENUM_RUDP_SEED runs the random worlds with that seed only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rudp_sim.h"

#define MS NSEC_PER_MSEC
#define US NSEC_PER_USEC
#define SEC NSEC_PER_SEC

#define CHECK(sim, cond)                                                       \
	do {                                                                   \
		if (!(cond))                                                   \
			fail_msg("seed %llu, at %.3f ms: %s%s%s",              \
				 (unsigned long long)(sim)->cfg.seed,          \
				 (double)((sim)->now - 10 * SEC) / 1e6, #cond, \
				 (sim)->fault[0] ? ": " : "", (sim)->fault);   \
	} while (0)

static const struct sim_config clean = {.seed = 1,
					.legs = 2,
					.clients = 1,
					.bits_per_s = 10000000000ULL,
					.delay_ns = 20 * US,
					.queue_bytes = 512U << 10};

static void test_echo(void **state)
{
	struct sim *sim = sim_new(&clean);

	CHECK(sim, sim_connect(sim, 100 * MS));
	for (unsigned i = 0; i < 100; i++)
		assert_true(sim_call(sim, 1, 100 + i * 97, 100 + i * 211, 0));
	CHECK(sim, sim_finish(sim, SEC));
	for (unsigned i = 0; i < 20; i++)
		assert_true(
			sim_call(sim, 1, RUDP_MSG_BYTES_MAX, i % 2 ? 16 : RUDP_MSG_BYTES_MAX, 50));
	CHECK(sim, sim_finish(sim, SEC));
	for (unsigned i = 0; i < sim->n_calls; i++)
		assert_int_equal(sim->calls[i].status, 0);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_echo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
