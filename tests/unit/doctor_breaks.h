/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables for the tests of `plenum doctor`. Each line describes one fault of a host and the check
 * that must find it. */
#ifndef PLENUM_TESTS_DOCTOR_BREAKS_H
#define PLENUM_TESTS_DOCTOR_BREAKS_H

#include "tests/lib/agent/doctor_rig.h"

struct breakage {
	const char *id; /* the check whose result changes */
	enum doctor_state to;
	/* makes another healthy host; NULL: the host of doctor_rig.h */
	void (*prepare)(struct rig *g);
	void (*break_it)(struct rig *g);
};

extern const struct breakage doctor_net_breaks[];
extern const size_t doctor_n_net_breaks;
extern const struct breakage doctor_folder_breaks[];
extern const size_t doctor_n_folder_breaks;
extern const struct breakage doctor_peer_breaks[];
extern const size_t doctor_n_peer_breaks;
extern const struct breakage doctor_rdma_breaks[];
extern const size_t doctor_n_rdma_breaks;

#endif
