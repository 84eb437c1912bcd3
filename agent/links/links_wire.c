/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes and parses the packets that probe legs. */
#include "agent/links/links_wire.h"
#include "netcfg/base/hash.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WIRE_VERSION 1
#define ADDRESS_BYTES 17 /* the family and the bytes of an address */

/* Offsets of the head's fields; all numbers are in network byte order. */
enum {
	AT_MAGIC,
	AT_VERSION = 4,
	AT_TYPE,
	AT_FAMILY,
	AT_ANSWERED,
	AT_LEN,
	AT_ZERO = 10,
	AT_NUMBER = 16,
	AT_TARGET = 24,
	AT_HASH = 40
};
static const uint8_t magic[4] = {'P', 'l', 'L', 'k'};

static void put(uint8_t *to, uint64_t value, size_t n)
{
	while (n-- > 0) {
		to[n] = (uint8_t)value;
		value >>= 8;
	}
}

static uint64_t get(const uint8_t *from, size_t n)
{
	uint64_t value = 0;

	for (size_t i = 0; i < n; i++)
		value = value << 8 | from[i];
	return value;
}

void links_keys_add(struct links_keys *k, const char *cluster, const uint8_t *secret, size_t len)
{
	uint64_t root[2] = {0, 0};
	uint8_t text[128] = {0};
	size_t used;

	if (k->n == LINKS_KEYS_MAX)
		return;
	if (secret && len >= 16) {
		memcpy(root, secret, sizeof(root));
		k->secret = true;
	}
	snprintf((char *)text + 1, 79, "plenum links %s", cluster);
	used = 80;
	if (secret && len > 16) {
		memcpy(text + used, secret + 16, MIN_OF(len - 16, sizeof(text) - used));
		used = sizeof(text);
	}
	for (uint8_t i = 0; i < 2; i++) {
		text[0] = i;
		k->keys[k->n][i] = hash_keyed(root, text, used);
	}
	k->n++;
	explicit_bzero(text, sizeof(text));
	explicit_bzero(root, sizeof(root));
}

static uint8_t family_number(const struct ip_addr *a)
{
	return a->family == AF_INET ? 4 : a->family == AF_INET6 ? 6 : 0;
}

static uint64_t hash_of(const uint8_t *head, const uint64_t key[2], const struct ip_addr *from,
			const struct ip_addr *to)
{
	uint8_t text[AT_HASH + 2 * ADDRESS_BYTES];
	uint8_t *at = text + AT_HASH;

	memcpy(text, head, AT_HASH);
	*at++ = family_number(from);
	memcpy(at, from->bytes, sizeof(from->bytes));
	at += sizeof(from->bytes);
	*at++ = family_number(to);
	memcpy(at, to->bytes, sizeof(to->bytes));
	return hash_keyed(key, text, sizeof(text));
}

void links_wire_sign(uint8_t *buf, const struct links_keys *k, const struct ip_addr *from,
		     const struct ip_addr *to)
{
	put(buf + AT_HASH, hash_of(buf, k->keys[0], from, to), 8);
}

void links_wire_write(uint8_t *buf, size_t len, const struct links_packet *p,
		      const struct links_keys *k, const struct ip_addr *from,
		      const struct ip_addr *to)
{
	memset(buf, 0, len);
	memcpy(buf + AT_MAGIC, magic, sizeof(magic));
	buf[AT_VERSION] = WIRE_VERSION;
	buf[AT_TYPE] = (uint8_t)p->type;
	buf[AT_FAMILY] = family_number(&p->target);
	buf[AT_ANSWERED] = p->answered;
	put(buf + AT_LEN, len, 2);
	put(buf + AT_NUMBER, p->number, 8);
	memcpy(buf + AT_TARGET, p->target.bytes, sizeof(p->target.bytes));
	links_wire_sign(buf, k, from, to);
}

static bool is_signed(const uint8_t *buf, const struct links_keys *k, const struct ip_addr *from,
		      const struct ip_addr *to)
{
	for (unsigned i = 0; i < k->n; i++)
		if (get(buf + AT_HASH, 8) == hash_of(buf, k->keys[i], from, to))
			return true;
	return false;
}

static bool take_target(const uint8_t *buf, struct ip_addr *ret)
{
	static const uint8_t zeros[16];
	const size_t used = buf[AT_FAMILY] == 4 ? 4 : buf[AT_FAMILY] == 6 ? 16 : 0;

	*ret = (struct ip_addr){.family = buf[AT_FAMILY] == 4	? AF_INET
					  : buf[AT_FAMILY] == 6 ? AF_INET6
								: 0};
	memcpy(ret->bytes, buf + AT_TARGET, used);
	return (used || buf[AT_FAMILY] == 0) &&
	       memcmp(buf + AT_TARGET + used, zeros, sizeof(zeros) - used) == 0;
}

int links_wire_parse(const uint8_t *buf, size_t len, const struct links_keys *k,
		     const struct ip_addr *from, const struct ip_addr *to, struct links_packet *ret)
{
	struct links_packet p = {.number = 0};
	bool is_indirect;

	if (len < LINKS_HEAD_BYTES || len > LINKS_PACKET_MAX ||
	    memcmp(buf, magic, sizeof(magic)) != 0 || buf[AT_VERSION] != WIRE_VERSION ||
	    buf[AT_TYPE] < LINKS_PING || buf[AT_TYPE] >= LINKS_TYPE_MAX || buf[AT_ANSWERED] > 1 ||
	    get(buf + AT_LEN, 2) != len || get(buf + AT_ZERO, 6) != 0 ||
	    !take_target(buf, &p.target))
		return -EBADMSG;
	p.type = (enum links_type)buf[AT_TYPE];
	p.answered = buf[AT_ANSWERED];
	p.number = get(buf + AT_NUMBER, 8);
	is_indirect = p.type == LINKS_ASK || p.type == LINKS_TOLD;
	if (is_indirect != (p.target.family != 0) || (is_indirect && len != LINKS_HEAD_BYTES) ||
	    (p.answered && p.type != LINKS_TOLD) ||
	    (is_indirect && ip_addr_is_unusable(&p.target)) || !is_signed(buf, k, from, to))
		return -EBADMSG;
	*ret = p;
	return 0;
}
