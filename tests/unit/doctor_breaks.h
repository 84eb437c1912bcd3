/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of breakages for the tests of `plenum doctor`, one a line. */
#ifndef PLENUM_TESTS_DOCTOR_BREAKS_H
#define PLENUM_TESTS_DOCTOR_BREAKS_H

#include "tests/lib/doctor_rig.h"

struct breakage {
	const char *id; /* the check that changes */
	enum doctor_state to;
	void (*prepare)(struct rig *g); /* another healthy host; NULL: the usual one */
	void (*break_it)(struct rig *g);
};

extern const struct breakage doctor_net_breaks[];
extern const size_t doctor_n_net_breaks;
extern const struct breakage doctor_peer_breaks[];
extern const size_t doctor_n_peer_breaks;
extern const struct breakage doctor_rdma_breaks[];
extern const size_t doctor_n_rdma_breaks;

/* The result of that check. */
static inline struct doctor_result result_of(const struct rig *g, const char *id)
{
	struct doctor_result r = {.state = DOCTOR_STATE_MAX};

	for (size_t i = 0; i < doctor_n_subjects; i++)
		for (size_t j = 0; j < doctor_subjects[i]->n_checks; j++)
			if (strcmp(doctor_subjects[i]->checks[j].id, id) == 0) {
				doctor_run(&g->p, &doctor_subjects[i]->checks[j], &r);
				return r;
			}
	fail_msg("there is no check %s", id);
	return r;
}

static inline enum doctor_state state_of(const struct rig *g, const char *id)
{
	return result_of(g, id).state;
}

#endif
