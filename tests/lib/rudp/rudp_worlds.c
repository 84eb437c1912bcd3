/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements rudp_worlds.h. */
#include "tests/lib/rudp/rudp_worlds.h"

const struct sim_config sim_clean = {.seed = 1,
				     .legs = 2,
				     .clients = 1,
				     .bits_per_s = 10000000000ULL,
				     .delay_ns = 20 * US,
				     .queue_bytes = 512U << 10};

bool sim_pump(struct sim *sim, unsigned total, unsigned depth, uint32_t req_len, uint32_t resp_len,
	      void (*at)(struct sim *sim))
{
	unsigned first = sim->n_calls;

	while (sim->n_calls < first + total && !sim->fault[0]) {
		uint64_t until = sim->now + 5 * SEC;

		while (sim->n_calls < first + total && sim->n_open < depth)
			if (!sim_call(sim, 1, req_len, resp_len, 0))
				break;
		if (at && sim->n_calls >= first + total / 2) {
			at(sim);
			at = NULL;
		}
		while (sim->n_open == depth && sim->now < until && !sim->fault[0])
			sim_pass(sim, 10 * US);
		if (sim->now >= until)
			return false;
	}
	return sim_finish(sim, 5 * SEC);
}

uint64_t sim_longest_pause(struct sim *sim, unsigned end)
{
	struct rudp_session *s = rudp_session_next(sim->ends[end].r, NULL);
	struct rudp_path_info info[RUDP_PATHS_MAX];
	unsigned n = rudp_session_paths(s, info, RUDP_PATHS_MAX);
	uint64_t most = 0;

	for (unsigned i = 0; i < n; i++)
		most = MAX_OF(most, info[i].last_pause_ns);
	return most;
}
