/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates other hosts for duplicate address detection. */
#include "tests/lib/kernel/fake_probe.h"
#include "netcfg/base/base.h"
#include <string.h>

static const struct kernel_probe *answers;
static size_t n_answers;
static unsigned n_asked;

void fake_probe_others(const struct kernel_probe *others, size_t n)
{
	answers = others;
	n_answers = n;
}

unsigned fake_probe_count(void)
{
	return n_asked;
}

static bool is_own(const struct mac_addr *m, const struct mac_addr *own, size_t n_own)
{
	for (size_t i = 0; i < n_own; i++)
		if (memcmp(m, &own[i], sizeof(*m)) == 0)
			return true;
	return false;
}

int fake_probe(struct kernel *k, struct kernel_probe *probes, size_t n, const struct mac_addr *own,
	       size_t n_own)
{
	n_asked++;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n_answers; j++) {
			if (!ip_addr_equal(&probes[i].ip, &answers[j].ip) ||
			    is_own(&answers[j].by, own, n_own))
				continue;
			probes[i].taken = true;
			probes[i].by = answers[j].by;
		}
	return 0;
}
