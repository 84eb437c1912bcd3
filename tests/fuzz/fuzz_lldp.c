/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as an LLDP frame from a switch or an attacker: rejected, or a neighbour whose texts are
 * terminated, clean enough for the privilege boundary, and identify it.
 */
#include "agent/lldp/lldp_parse.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_text(const char s[LLDP_TEXT_MAX])
{
	size_t len = strnlen(s, LLDP_TEXT_MAX);

	if (len == LLDP_TEXT_MAX)
		abort();
	for (size_t i = 0; i < len; i++)
		if (s[i] < 0x20 || s[i] > 0x7e || s[i] == '"' || s[i] == '\\')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1); /* so that a read past the end is detected */
	struct lldp_neighbour n;

	if (!exact)
		return 0;
	memcpy(exact, data, size);
	if (lldp_parse(exact, size, &n) == 0) {
		check_text(n.chassis);
		check_text(n.port);
		check_text(n.name);
		check_text(n.port_about);
		if (!n.chassis[0] || !n.port[0])
			abort();
		if (n.management.family && n.management.family != AF_INET &&
		    n.management.family != AF_INET6)
			abort();
	}
	free(exact);
	return 0;
}
