/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a text file of the kernel: the state of a bond in /proc/net/bonding, and a list of
 * numbers in sysfs.
 */
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/sysfs/proc_bond.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define CORES 64

static bool taken;

bool fuzz_input_taken(void)
{
	return taken;
}

static struct inventory *host_with_a_bond(void)
{
	struct inventory *inv = inv_new();
	struct inv_link *l = inv ? inv_link_add(inv) : NULL;
	struct inv_bond_port *p = l ? inv_bond_port_add(inv) : NULL;

	if (!p)
		abort();
	l->ifindex = p->ifindex = 2;
	strcpy(l->name, "eth0");
	return inv;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mac_addr none;
	struct inventory *inv = host_with_a_bond();
	char *text = malloc(size + 1); /* so that a read past the end is detected */
	bool set[CORES + 1] = {false};

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	proc_bond_parse(text, inv);
	taken = inv->bond_ports[0].churned ||
		memcmp(&inv->bond_ports[0].partner_mac, &none, sizeof(none)) != 0;
	taken |= sysfs_parse_list(text, set, CORES) == 0;
	if (set[CORES])
		abort();
	inv_free(inv);
	free(text);
	return 0;
}
