/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests in the simulator: reports of failures, a network without faults, and sequences of
 * calls.
 */
#ifndef PLENUM_TESTS_RUDP_WORLDS_H
#define PLENUM_TESTS_RUDP_WORLDS_H

#include "tests/lib/rudp/rudp_sim.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

extern const struct sim_config sim_clean;

/* Makes `total` calls of client 1, at most `depth` of them at a time. Calls `at` (may be NULL)
 * after half of them. Returns false if the calls do not end in time or a fault occurs. */
bool sim_pump(struct sim *sim, unsigned total, unsigned depth, uint32_t req_len, uint32_t resp_len,
	      void (*at)(struct sim *sim));

/* Returns the longest failover pause of all paths of the endpoint. */
uint64_t sim_longest_pause(struct sim *sim, unsigned end);

#endif
