/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a packet that arrives while addresses are probed: the first selects the kind. A
 * packet counts as a claim only if it is complete, and for an address of that family. */
#include "netcfg/linux/probe.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mac_addr from = {{2, 0, 0, 0, 0, 1}};
	struct mac_addr by = {{0}};
	struct ip_addr ip = {0};
	uint8_t *packet; /* of exactly its length, so that a read past the end is detected */
	bool claim, v4;

	if (size == 0)
		return 0;
	v4 = (data[0] & 1) == 0;
	packet = malloc(MAX_OF(size - 1, 1));
	if (!packet)
		return 0;
	memcpy(packet, data + 1, size - 1);
	claim = v4 ? probe_parse_arp(packet, size - 1, &ip, &by)
		   : probe_parse_nd(packet, size - 1, &from, &ip, &by);
	if (claim && (ip.family != (v4 ? AF_INET : AF_INET6) || size - 1 < (v4 ? 28U : 64U)))
		abort();
	free(packet);
	return 0;
}
