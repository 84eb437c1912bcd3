/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes LLDP frames. It makes no system calls, so that the fuzzer and the unit tests can pass it
 * bytes. */
#include "agent/lldp/lldp_parse.h"
#include "netcfg/base/hash.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define ETHER_BYTES 14
#define TYPE_LLDP 0x88cc
#define ID_MAX 255U	/* bytes of a chassis or port id, 802.1AB 9.5.2 and 9.5.3 */
#define STRING_MAX 255U /* bytes of names and descriptions */
#define ADDRESS_MAX 31U /* bytes of a management address, 9.5.9 */
#define OUI_8021 0x0080c2U
#define OUI_8023 0x00120fU
#define OUI_CEE 0x001b21U /* vendor id of DCBX before 802.1Qaz, version 1.01 */

enum tlv_type {
	TLV_END,
	TLV_CHASSIS,
	TLV_PORT,
	TLV_TTL,
	TLV_PORT_ABOUT,
	TLV_NAME,
	TLV_ABOUT,
	TLV_CAPABILITIES,
	TLV_MANAGEMENT,
	TLV_OF_ORGANISATION = 127,
};

enum id_subtype { /* subtypes of chassis and port ids; ID_IS distinguishes the two */
		  CHASSIS_MAC = 4,
		  CHASSIS_NETWORK = 5,
		  PORT_MAC = 3,
		  PORT_NETWORK = 4,
};

enum cee { CEE_PFC = 3, CEE_ENABLED = 0x80, CEE_ERROR = 0x20 };

enum iana_family { IANA_IPV4 = 1, IANA_IPV6 = 2 };

struct tlv {
	unsigned type;
	const uint8_t *p;
	size_t len;
};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

/* ---- TLVs ---- */

/*
 * Reads the next TLV of the frame. Returns 1 if there is one, 0 at the end of the frame, with or
 * without an end TLV, or -EBADMSG if the TLV extends beyond the frame.
 */
static int tlv_next(const uint8_t **p, size_t *len, struct tlv *ret)
{
	unsigned head;

	if (*len < 2)
		return *len == 0 ? 0 : -EBADMSG;
	head = get16(*p);
	*ret = (struct tlv){.type = head >> 9, .p = *p + 2, .len = head & 0x1ff};
	if (ret->len > *len - 2)
		return -EBADMSG;
	*p += 2 + ret->len;
	*len -= 2 + ret->len;
	return ret->type == TLV_END ? 0 : 1;
}

/* ---- texts ---- */

static bool is_clean(uint8_t c)
{
	return c >= 0x20 && c <= 0x7e && c != '"' && c != '\\';
}

/* Returns whether all characters are printable. First removes final NULs, which some switches send,
 * from *len. */
static bool all_clean(const uint8_t *p, size_t *len)
{
	while (*len && p[*len - 1] == '\0')
		--*len;
	for (size_t i = 0; i < *len; i++)
		if (!is_clean(p[i]))
			return false;
	return *len > 0;
}

/* Makes printable text. Different texts stay different and equal ones stay equal, because peers and
 * operators compare them. */
static void put_text(char ret[LLDP_TEXT_MAX], const uint8_t *p, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * STRING_MAX + 4];
	size_t n = 0;
	bool clean = all_clean(p, &len);

	len = MIN_OF(len, STRING_MAX);
	if (!clean && len > 0)
		n = (size_t)snprintf(text, sizeof(text), "0x");
	for (size_t i = 0; i < len; i++) {
		if (!clean)
			text[n++] = digits[p[i] >> 4];
		text[n++] = clean ? (char)p[i] : digits[p[i] & 15];
	}
	text[n] = '\0';
	if (n < LLDP_TEXT_MAX)
		memcpy(ret, text, n + 1);
	else
		snprintf(ret, LLDP_TEXT_MAX, "%.100s~%016" PRIx64, text,
			 hash_keyed((const uint64_t[2]){0, 0}, text, n));
}

static bool take_address(unsigned family, const uint8_t *p, size_t len, struct ip_addr *ret)
{
	struct ip_addr a = {.family = 0};

	if (family == IANA_IPV4 && len == 4)
		a.family = AF_INET;
	else if (family == IANA_IPV6 && len == 16)
		a.family = AF_INET6;
	else
		return false;
	memcpy(a.bytes, p, len);
	*ret = a;
	return true;
}

/* Converts a chassis or port id to text. In the TLV, one byte of subtype precedes 1 to 255 bytes of
 * the id. */
static int take_id(const struct tlv *t, unsigned mac_subtype, unsigned network_subtype,
		   char ret[LLDP_TEXT_MAX])
{
	struct ip_addr a;
	const uint8_t *id = t->p + 1;
	size_t len = t->len - 1;

	if (t->len < 2 || len > ID_MAX)
		return -EBADMSG;
	if (t->p[0] == mac_subtype && len == sizeof(struct mac_addr)) {
		struct mac_addr mac;

		memcpy(mac.bytes, id, sizeof(mac.bytes));
		mac_addr_format(&mac, ret, LLDP_TEXT_MAX);
	} else if (t->p[0] == network_subtype && take_address(id[0], id + 1, len - 1, &a)) {
		ip_addr_format(&a, ret, LLDP_TEXT_MAX);
	} else {
		put_text(ret, id, len);
	}
	return ret[0] ? 0 : -EBADMSG;
}

/* ---- optional TLVs: a malformed one is skipped, the rest of the frame counts ---- */

static void take_string(const struct tlv *t, char ret[LLDP_TEXT_MAX])
{
	if (!ret[0] && t->len <= STRING_MAX)
		put_text(ret, t->p, t->len);
}

static void take_management(const struct tlv *t, struct lldp_neighbour *n)
{
	size_t len = t->len ? t->p[0] : 0;

	if (n->management.family || len < 2 || len > ADDRESS_MAX + 1 || t->len < 1 + len)
		return;
	take_address(t->p[1], t->p + 2, len - 1, &n->management);
}

static void take_aggregation(const uint8_t *p, size_t len, struct lldp_neighbour *n)
{
	if (len >= 5 && (p[0] & 2)) /* bit 1: enabled; bit 0, supported, does not matter */
		n->aggregation = get32(p + 1);
}

/* Reads the TLVs within a CEE TLV; each has versions of the feature, flags, a kind and a value. A
 * value of 802.1Qaz in the same frame has priority. */
static void take_cee(const uint8_t *p, size_t len, struct lldp_neighbour *n)
{
	struct tlv t;

	while (tlv_next(&p, &len, &t) == 1)
		if (t.type == CEE_PFC && t.len >= 5 && !n->pfc)
			n->pfc = LLDP_PFC_SAID |
				 ((t.p[2] & (CEE_ENABLED | CEE_ERROR)) == CEE_ENABLED ? t.p[4] : 0);
}

static void take_of_organisation(const struct tlv *t, struct lldp_neighbour *n)
{
	uint32_t oui, subtype;
	const uint8_t *p = t->p + 4;
	size_t len = t->len - 4;

	if (t->len < 4)
		return;
	oui = get32(t->p) >> 8;
	subtype = t->p[3];
	if (oui == OUI_8021 && subtype == 1 && len >= 2)
		n->vlan = get16(p);
	else if (oui == OUI_8023 && subtype == 4 && len >= 2)
		n->mtu = get16(p);
	/* The second byte has a bit for each priority with priority flow control. */
	else if (oui == OUI_8021 && subtype == 11 && len >= 2)
		n->pfc = LLDP_PFC_SAID | p[1];
	else if (oui == OUI_CEE && subtype == 2)
		take_cee(p, len, n);
	else if ((oui == OUI_8021 && subtype == 7) || (oui == OUI_8023 && subtype == 3))
		take_aggregation(p, len, n);
}

static void take_optional(const struct tlv *t, struct lldp_neighbour *n)
{
	switch (t->type) {
	case TLV_PORT_ABOUT:
		take_string(t, n->port_about);
		break;
	case TLV_NAME:
		take_string(t, n->name);
		break;
	case TLV_CAPABILITIES:
		if (t->len >= 4)
			/* the supported capabilities come first */
			n->capabilities = get16(t->p + 2);
		break;
	case TLV_MANAGEMENT:
		take_management(t, n);
		break;
	case TLV_OF_ORGANISATION:
		take_of_organisation(t, n);
		break;
	default:
		break;
	}
}

/* ---- the frame ---- */

/* Reads the three mandatory TLVs, which must be in the order chassis, port, TTL. */
static int take_head(const uint8_t **p, size_t *len, struct lldp_neighbour *n)
{
	struct tlv t;

	if (tlv_next(p, len, &t) != 1 || t.type != TLV_CHASSIS ||
	    take_id(&t, CHASSIS_MAC, CHASSIS_NETWORK, n->chassis))
		return -EBADMSG;
	if (tlv_next(p, len, &t) != 1 || t.type != TLV_PORT ||
	    take_id(&t, PORT_MAC, PORT_NETWORK, n->port))
		return -EBADMSG;
	if (tlv_next(p, len, &t) != 1 || t.type != TLV_TTL || t.len < 2)
		return -EBADMSG;
	n->ttl_s = get16(t.p);
	return 0;
}

int lldp_parse(const void *frame, size_t len, struct lldp_neighbour *ret)
{
	struct lldp_neighbour n = {.ttl_s = 0};
	const uint8_t *p = frame;
	struct tlv t;
	int r;

	if (len < ETHER_BYTES || len > LLDP_FRAME_MAX || get16(p + 12) != TYPE_LLDP)
		return -EBADMSG;
	p += ETHER_BYTES;
	len -= ETHER_BYTES;
	r = take_head(&p, &len, &n);
	while (r == 0 && n.ttl_s > 0) {
		int more = tlv_next(&p, &len, &t);

		if (more == 0)
			break;
		/* 802.1AB, 9.2.7.7.1: a repeated mandatory TLV makes the frame invalid. */
		if (more < 0 || t.type <= TLV_TTL)
			r = -EBADMSG;
		else
			take_optional(&t, &n);
	}
	if (r < 0)
		return r;
	*ret = n;
	return 0;
}
