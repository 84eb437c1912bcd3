/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements SipHash-2-4.
 */
#include "netcfg/base/hash.h"
#include <endian.h>
#include <string.h>

static inline uint64_t rotl(uint64_t x, unsigned b)
{
	return x << b | x >> (64 - b);
}

static void sip_rounds(uint64_t v[4], unsigned n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotl(v[1], 13) ^ v[0];
		v[3] = rotl(v[3], 16) ^ v[2];
		v[0] = rotl(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotl(v[1], 17) ^ v[2];
		v[3] = rotl(v[3], 21) ^ v[0];
		v[2] = rotl(v[2], 32);
	}
}

uint64_t hash_keyed(const uint64_t key[2], const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t v[4] = {key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL,
			 key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL};
	uint64_t last = (uint64_t)len << 56;
	uint64_t m;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&m, p, 8);
		m = le64toh(m);
		v[3] ^= m;
		sip_rounds(v, 2);
		v[0] ^= m;
	}
	for (size_t i = 0; i < len; i++)
		last |= (uint64_t)p[i] << (8 * i);
	v[3] ^= last;
	sip_rounds(v, 2);
	v[0] ^= last;
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
