/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of the simulator's messages. All messages are copied from one table, each from another
 * offset. Copying and comparing whole ranges is fast even in sanitized builds, which check each
 * access. */
#include "tests/lib/rudp/rudp_sim_internal.h"

#define PATTERN_BYTES 65521U /* a prime number, so that no chunk of a message equals another */

static const uint8_t *pattern_table(void)
{
	static uint8_t table[PATTERN_BYTES];
	uint64_t dice = 1;

	for (size_t i = 0; !table[0] && i < sizeof(table); i++)
		table[sizeof(table) - 1 - i] = (uint8_t)(1 + sim_random_of(&dice, 255));
	return table;
}

void sim_pattern_put(uint8_t *p, size_t len, uint64_t key)
{
	const uint8_t *table = pattern_table();
	size_t at = sim_random_of(&key, PATTERN_BYTES), n;

	for (; len; p += n, len -= n, at = 0) {
		n = MIN_OF(len, PATTERN_BYTES - at);
		memcpy(p, table + at, n);
	}
}

bool sim_pattern_holds(const uint8_t *p, size_t len, uint64_t key)
{
	const uint8_t *table = pattern_table();
	size_t at = sim_random_of(&key, PATTERN_BYTES), n;

	for (; len; p += n, len -= n, at = 0) {
		n = MIN_OF(len, PATTERN_BYTES - at);
		if (memcmp(p, table + at, n))
			return false;
	}
	return true;
}
