/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses ARP and neighbour discovery packets. All fields are at fixed positions, and the frame's
 * length is checked first. */
#include "agent/lldp/claim.h"
#include <errno.h>
#include <linux/if_ether.h>
#include <netinet/icmp6.h>
#include <netinet/ip6.h>
#include <string.h>

#define ARP_BYTES 28
#define ND_BYTES (sizeof(struct ip6_hdr) + sizeof(struct nd_neighbor_solicit))

static bool is_zero(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

/* Group addresses and the zero address are not valid senders. */
static bool is_station(const struct mac_addr *m)
{
	return !(m->bytes[0] & 1) && !is_zero(m->bytes, sizeof(m->bytes));
}

static struct ip_addr ip4(const uint8_t *p)
{
	struct ip_addr ip = {.family = AF_INET};

	memcpy(ip.bytes, p, 4);
	return is_zero(p, 4) ? (struct ip_addr){0} : ip;
}

static struct ip_addr ip6(const uint8_t *p)
{
	struct ip_addr ip = {.family = AF_INET6};

	memcpy(ip.bytes, p, 16);
	return is_zero(p, 16) ? (struct ip_addr){0} : ip;
}

static int parse_arp(const uint8_t *p, size_t len, struct address_claim *ret)
{
	/* hardware type Ethernet, protocol IPv4, and the address lengths of both */
	static const uint8_t head[7] = {0, 1, 8, 0, 6, 4, 0};

	if (len < ARP_BYTES || memcmp(p, head, sizeof(head)) != 0 || (p[7] != 1 && p[7] != 2))
		return -EBADMSG;
	memcpy(ret->by.bytes, p + 8, sizeof(ret->by.bytes));
	ret->sender = ip4(p + 14);
	ret->target = ip4(p + 24);
	return 0;
}

/* Parses a neighbour solicitation or advertisement. A hop limit below 255 shows that a router
 * forwarded the packet from another network, so the packet is invalid (RFC 4861, section 7.1). */
static int parse_nd(const uint8_t *p, size_t len, struct address_claim *ret)
{
	struct nd_neighbor_solicit m; /* an advertisement has the same layout */
	struct ip6_hdr h;

	if (len < ND_BYTES)
		return -EBADMSG;
	memcpy(&h, p, sizeof(h));
	memcpy(&m, p + sizeof(h), sizeof(m));
	if (h.ip6_vfc >> 4 != 6 || h.ip6_nxt != IPPROTO_ICMPV6 || h.ip6_hlim != 255 ||
	    m.nd_ns_code != 0 || IN6_IS_ADDR_MULTICAST(&m.nd_ns_target))
		return -EBADMSG;
	ret->by = ret->from;
	if (m.nd_ns_type == ND_NEIGHBOR_ADVERT) {
		ret->sender = ip6((const uint8_t *)&m.nd_ns_target);
		return 0;
	}
	if (m.nd_ns_type != ND_NEIGHBOR_SOLICIT)
		return -EBADMSG;
	ret->sender = ip6((const uint8_t *)&h.ip6_src);
	ret->target = ip6((const uint8_t *)&m.nd_ns_target);
	return 0;
}

int claim_parse(const void *frame, size_t len, struct address_claim *ret)
{
	struct address_claim c = {.sender = {.family = 0}};
	const uint8_t *p = frame;
	int r;

	if (len < ETH_HLEN)
		return -EBADMSG;
	memcpy(c.from.bytes, p + ETH_ALEN, ETH_ALEN);
	if (p[12] == ETH_P_ARP >> 8 && p[13] == (ETH_P_ARP & 0xff))
		r = parse_arp(p + ETH_HLEN, len - ETH_HLEN, &c);
	else if (p[12] == ETH_P_IPV6 >> 8 && p[13] == (ETH_P_IPV6 & 0xff))
		r = parse_nd(p + ETH_HLEN, len - ETH_HLEN, &c);
	else
		r = -EBADMSG;
	if (r == 0 &&
	    (!is_station(&c.by) || !is_station(&c.from) || (!c.sender.family && !c.target.family)))
		r = -EBADMSG;
	if (r == 0)
		*ret = c;
	return r;
}
