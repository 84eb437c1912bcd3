/* SPDX-License-Identifier: BSD-3-Clause */
/* Other hosts that have addresses, seen from the host in memory. Part of kernel_fake. */
#ifndef PLENUM_TESTS_FAKE_PROBE_H
#define PLENUM_TESTS_FAKE_PROBE_H

#include "netcfg/host/kernel.h"

/* Who answers from now on, by ip and by, on every link of every host in memory; borrowed. 0:
 * nobody, as at first. */
void fake_probe_others(const struct kernel_probe *others, size_t n);
/* How often somebody has asked. */
unsigned fake_probe_count(void);
/* struct kernel_ops' probe. */
int fake_probe(struct kernel *k, struct kernel_probe *probes, size_t n, const struct mac_addr *own,
	       size_t n_own);

#endif
