/* SPDX-License-Identifier: BSD-3-Clause */
/* Other hosts that use addresses, as the host in memory sees them. Part of kernel_fake. */
#ifndef PLENUM_TESTS_FAKE_PROBE_H
#define PLENUM_TESTS_FAKE_PROBE_H

#include "netcfg/host/kernel.h"

/* Sets the n other hosts (each an IP and MAC address) that answer probes on every link of every
 * host in memory. By default no host answers. The array is borrowed. */
void fake_probe_others(const struct kernel_probe *others, size_t n);
/* Returns the number of probes so far. */
unsigned fake_probe_count(void);
/* Implements probe of struct kernel_ops. */
int fake_probe(struct kernel *k, struct kernel_probe *probes, size_t n, const struct mac_addr *own,
	       size_t n_own);

#endif
