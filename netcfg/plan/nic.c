/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds the registered NIC families, and the defaults for an unknown family. */
#include "netcfg/plan/nic.h"
#include <string.h>

static const char *const no_drivers[] = {NULL};

/* The defaults for an unknown driver, which assume only standard SR-IOV. */
static const struct nic_family unknown = {
	.name = "unknown",
	.drivers = no_drivers,
	.reach = NIC_BY_VFIO,
};

static struct {
	const struct nic_family *const *table;
	size_t n;
} families;

void nic_table_set(const struct nic_family *const *table, size_t n)
{
	families.table = table;
	families.n = n;
}

const struct nic_family *nic_family_find(const char *driver)
{
	for (size_t i = 0; i < families.n; i++)
		for (const char *const *d = families.table[i]->drivers; *d; d++)
			if (strcmp(*d, driver) == 0)
				return families.table[i];
	return &unknown;
}
