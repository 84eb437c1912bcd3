/* SPDX-License-Identifier: BSD-3-Clause */
/* What is broken for `plenum doctor` to see, a line each: those of the network and of RDMA are
 * apart for their length. */
#ifndef PLENUM_TESTS_DOCTOR_BREAKS_H
#define PLENUM_TESTS_DOCTOR_BREAKS_H

#include "tests/lib/doctor_rig.h"

struct breakage {
	const char *id; /* of the check that turns */
	enum doctor_state to;
	void (*prepare)(struct rig *g); /* another host, on which all is well; NULL: the usual */
	void (*break_it)(struct rig *g);
};

extern const struct breakage doctor_net_breaks[];
extern const size_t doctor_n_net_breaks;
extern const struct breakage doctor_rdma_breaks[];
extern const size_t doctor_n_rdma_breaks;

#endif
