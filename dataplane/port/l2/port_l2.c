/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds and parses the frames around datagrams: Ethernet, IPv4, IPv6, UDP, and the control packets
 * of address resolution. It has no state and no input other than the bytes of the frame, so a
 * fuzzer reaches all code that parses network input.
 */
#include "dataplane/port/l2/port_l2.h"
#include <arpa/inet.h>
#include <netinet/icmp6.h>
#include <netinet/if_ether.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <string.h>

#define ETHER_BYTES PORT_L2_ETHER_BYTES
#define IP4_BYTES 20U
#define IP6_BYTES 40U
#define UDP_BYTES 8U
#define HOP_LIMIT 64
/* A packet with this hop limit was not forwarded by a router: RFC 4861 section 11.2 */
#define ND_HOP_LIMIT 255
#define ND_MESSAGE_BYTES 24U
#define ND_OPTION_BYTES 8U
#define IP6_FRAGMENT 44

static const struct mac_addr mac_broadcast = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
static const uint8_t ip6_all_nodes[16] = {0xff, 0x02, [15] = 0x01};

static const char *const drop_names[PORT_L2_DROP_MAX] = {
	[PORT_L2_DROP_SHORT] = "short",	      [PORT_L2_DROP_MALFORMED] = "malformed",
	[PORT_L2_DROP_FRAGMENT] = "fragment", [PORT_L2_DROP_CHECKSUM] = "checksum",
	[PORT_L2_DROP_NOT_OURS] = "not-ours",
};

const char *port_l2_drop_to_string(enum port_l2_drop d)
{
	return (unsigned)d < PORT_L2_DROP_MAX ? drop_names[d] : "unknown";
}

void port_l2_count_drop(struct launch_port_counters *c, enum port_l2_drop d)
{
	c->rx_short += d == PORT_L2_DROP_SHORT;
	c->rx_malformed += d == PORT_L2_DROP_MALFORMED;
	c->rx_fragments += d == PORT_L2_DROP_FRAGMENT;
	c->rx_checksum += d == PORT_L2_DROP_CHECKSUM;
	c->rx_not_ours += d == PORT_L2_DROP_NOT_OURS;
}

/* ------------------------------------------------------------------ checksums and bytes */

typedef uint64_t words __attribute__((vector_size(16)));
typedef words words_anywhere __attribute__((aligned(1), may_alias));

/* Adds 32-bit words to a 64-bit sum, which cannot overflow with fewer than 2^32 words. The loop
 * reads 64 bits at a time. It adds the whole to one sum, and the upper half to another sum, which
 * is shifted by 32 bits and subtracted from the first sum at the end. The loop uses vectors
 * explicitly, because compilers do not vectorise it at -O2; every 64-bit processor has vector
 * instructions. Byte order does not matter before the sum is folded. If `to` is not NULL, the loop
 * also copies the words there: so each byte is read only once, and not right after it was written,
 * which would be slow. */
static inline __attribute__((always_inline)) uint64_t sum_words(uint8_t *to, const uint8_t *p,
								size_t len, uint64_t sum)
{
	const size_t bytes = len & ~(sizeof(words) - 1);
	words all = {0}, high = {0};
	size_t at = 0;
	uint32_t word;
	uint16_t half;

	for (; at + 4 * sizeof(words) <= bytes; at += 4 * sizeof(words)) {
		const words_anywhere *v = (const words_anywhere *)(p + at);

		all += v[0] + v[1] + v[2] + v[3];
		high += (v[0] >> 32) + (v[1] >> 32) + (v[2] >> 32) + (v[3] >> 32);
		if (to)
			memcpy(to + at, v, 4 * sizeof(words));
	}
	for (; at < bytes; at += sizeof(words)) {
		const words v = *(const words_anywhere *)(p + at);

		all += v;
		high += v >> 32;
		if (to)
			memcpy(to + at, &v, sizeof(v));
	}
	all += high - (high << 32);
	sum += all[0] + all[1];
	for (; at + sizeof(word) <= len; at += sizeof(word)) {
		memcpy(&word, p + at, sizeof(word));
		sum += word;
		if (to)
			memcpy(to + at, &word, sizeof(word));
	}
	if (len & 2) {
		memcpy(&half, p + at, sizeof(half));
		sum += half;
		if (to)
			memcpy(to + at, &half, sizeof(half));
		at += sizeof(half);
	}
	if ((len & 1) == 0)
		return sum;
	if (to)
		to[at] = p[at];
	return sum + htons((uint16_t)(p[at] << 8));
}

uint64_t port_l2_sum(const void *bytes, size_t len, uint64_t sum)
{
	return sum_words(NULL, bytes, len, sum);
}

static uint16_t sum_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

uint16_t port_l2_sum_finish(uint64_t sum)
{
	return (uint16_t)~sum_fold(sum);
}

static uint64_t sum_pseudo(const void *src, const void *dst, size_t addr_bytes, uint8_t protocol,
			   uint32_t len)
{
	uint64_t sum = (uint64_t)htons(protocol) + htonl(len);

	return port_l2_sum(dst, addr_bytes, port_l2_sum(src, addr_bytes, sum));
}

static uint32_t word_at(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static uint64_t sum_addr(const uint8_t *p, bool v4)
{
	return v4 ? word_at(p) : port_l2_sum(p, 16, 0);
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* Writes a checksum in memory order. */
static void put_sum(uint8_t *p, uint16_t sum)
{
	memcpy(p, &sum, sizeof(sum));
}

static struct ip_addr ip4_get(const uint8_t *p)
{
	struct ip_addr a = {.family = AF_INET};

	memcpy(a.bytes, p, 4);
	return a;
}

static struct ip_addr ip6_get(const uint8_t *p)
{
	struct ip_addr a = {.family = AF_INET6};

	memcpy(a.bytes, p, 16);
	return a;
}

static bool mac_equal(const uint8_t *p, const struct mac_addr *m)
{
	return memcmp(p, m->bytes, sizeof(m->bytes)) == 0;
}

static bool mac_is_unicast(const uint8_t *p)
{
	static const uint8_t none[6];

	return !(p[0] & 1) && memcmp(p, none, sizeof(none)) != 0;
}

/* Returns whether the address can be the source of a packet. */
static bool ip4_is_host(const uint8_t *p)
{
	return p[0] != 0 && p[0] < 224;
}

static bool ip6_is_zero(const uint8_t *p)
{
	static const uint8_t zero[16];

	return memcmp(p, zero, sizeof(zero)) == 0;
}

static bool ip6_is_host(const uint8_t *p)
{
	return p[0] != 0xff && !ip6_is_zero(p);
}

/* ------------------------------------------------------------------ parsing */

static enum port_l2_kind drop(struct port_l2_frame *f, enum port_l2_drop why)
{
	f->drop = why;
	return f->kind = PORT_L2_DROP;
}

static enum port_l2_kind parse_arp(const uint8_t *p, size_t len, struct port_l2_frame *f)
{
	uint16_t op;

	if (len < 28)
		return drop(f, PORT_L2_DROP_SHORT);
	op = get16(p + 6);
	if (get16(p) != 1 || get16(p + 2) != ETHERTYPE_IP || p[4] != 6 || p[5] != 4 ||
	    (op != 1 && op != 2) || !mac_is_unicast(p + 8))
		return drop(f, PORT_L2_DROP_MALFORMED);
	memcpy(f->sender_mac.bytes, p + 8, 6);
	f->has_mac = true;
	f->sender = ip4_get(p + 14);
	f->target = ip4_get(p + 24);
	f->is_reply = op == 2;
	f->is_override = f->is_solicited = f->is_reply;
	return f->kind = PORT_L2_ARP;
}

/* Finds the option with the link-layer address of the source (type 1) or target (type 2). Returns
 * false if the options are malformed. */
static bool nd_option_find(const uint8_t *p, size_t len, uint8_t type, struct port_l2_frame *f)
{
	while (len > 0) {
		size_t bytes = len >= 2 ? p[1] * 8U : 0;

		if (bytes == 0 || bytes > len)
			return false;
		if (p[0] == type && bytes == ND_OPTION_BYTES) {
			if (!mac_is_unicast(p + 2))
				return false;
			memcpy(f->sender_mac.bytes, p + 2, 6);
			f->has_mac = true;
		}
		p += bytes;
		len -= bytes;
	}
	return true;
}

/* Makes the checks of RFC 4861 sections 7.1.1 and 7.1.2; `ip` is the IPv6 header, p the ICMP
 * message. */
static enum port_l2_kind parse_nd(const uint8_t *ip, const uint8_t *p, size_t len,
				  struct port_l2_frame *f)
{
	bool advert = p[0] == ND_NEIGHBOR_ADVERT;

	if (len < ND_MESSAGE_BYTES)
		return drop(f, PORT_L2_DROP_SHORT);
	if (ip[7] != ND_HOP_LIMIT || p[1] != 0 || !ip6_is_host(p + 8))
		return drop(f, PORT_L2_DROP_MALFORMED);
	if (!nd_option_find(p + ND_MESSAGE_BYTES, len - ND_MESSAGE_BYTES, advert ? 2 : 1, f))
		return drop(f, PORT_L2_DROP_MALFORMED);
	f->target = ip6_get(p + 8);
	if (!advert) {
		f->sender = ip6_get(ip + 8);
		if (ip6_is_zero(ip + 8) && f->has_mac)
			return drop(f, PORT_L2_DROP_MALFORMED);
		return f->kind = PORT_L2_SOLICIT;
	}
	f->sender = f->target;
	f->is_reply = true;
	f->is_solicited = p[4] & 0x40;
	f->is_override = p[4] & 0x20;
	return f->kind = PORT_L2_ADVERT;
}

/* Returns whether the checksum over p and the pseudo header is correct. pseudo: the sum of the
 * pseudo header; at: offset of the checksum field. If local accepts partial checksums, these count
 * as correct. */
static bool checksum_holds(const struct port_l2_local *local, const uint8_t *p, size_t len,
			   size_t at, uint64_t pseudo)
{
	uint16_t field;

	if (port_l2_sum_finish(port_l2_sum(p, len, pseudo)) == 0)
		return true;
	memcpy(&field, p + at, sizeof(field));
	return local->accept_partial_checksum && field == sum_fold(pseudo);
}

static enum port_l2_kind parse_udp(const struct port_l2_local *local, const uint8_t *p, size_t len,
				   unsigned flags, uint64_t pseudo, struct port_l2_frame *f)
{
	if (len < UDP_BYTES)
		return drop(f, PORT_L2_DROP_SHORT);
	if (get16(p + 2) != local->udp_port)
		return drop(f, PORT_L2_DROP_NOT_OURS);
	if (get16(p + 4) != len || get16(p) == 0)
		return drop(f, PORT_L2_DROP_MALFORMED);
	if (get16(p + 6) == 0) {
		/* The sender has computed no checksum. Only IPv4 allows that, but all Plenum hosts
		 * compute one. */
		return drop(f, PORT_L2_DROP_CHECKSUM);
	}
	if (!(flags & PORT_L2_CHECKSUM_GOOD) && !checksum_holds(local, p, len, 6, pseudo))
		return drop(f, PORT_L2_DROP_CHECKSUM);
	f->src.port = get16(p);
	f->payload = p + UDP_BYTES;
	f->payload_len = (uint32_t)(len - UDP_BYTES);
	return f->kind = PORT_L2_UDP;
}

static enum port_l2_kind parse_ip4(const struct port_l2_local *local, const uint8_t *p, size_t len,
				   unsigned flags, struct port_l2_frame *f)
{
	size_t header, total;

	if (len < IP4_BYTES)
		return drop(f, PORT_L2_DROP_SHORT);
	header = (p[0] & 15) * 4U;
	total = get16(p + 2);
	if (p[0] >> 4 != 4 || header < IP4_BYTES || total < header)
		return drop(f, PORT_L2_DROP_MALFORMED);
	if (total > len)
		return drop(f, PORT_L2_DROP_SHORT);
	if (local->ip.family != AF_INET || memcmp(p + 16, local->ip.bytes, 4) != 0)
		return drop(f, PORT_L2_DROP_NOT_OURS);
	if (get16(p + 6) & (IP_MF | IP_OFFMASK))
		return drop(f, PORT_L2_DROP_FRAGMENT);
	if (!(flags & PORT_L2_CHECKSUM_GOOD) && port_l2_sum_finish(port_l2_sum(p, header, 0)) != 0)
		return drop(f, PORT_L2_DROP_CHECKSUM);
	if (!ip4_is_host(p + 12))
		return drop(f, PORT_L2_DROP_MALFORMED);
	f->src.ip = ip4_get(p + 12);
	len = total - header;
	if (p[9] == IPPROTO_UDP)
		return parse_udp(local, p + header, len, flags,
				 sum_pseudo(p + 12, p + 16, 4, IPPROTO_UDP, (uint32_t)len), f);
	if (p[9] != IPPROTO_ICMP || len < 8 || p[header] != ICMP_ECHO || p[header + 1] != 0)
		return drop(f, PORT_L2_DROP_NOT_OURS);
	if (!checksum_holds(local, p + header, len, 2, 0))
		return drop(f, PORT_L2_DROP_CHECKSUM);
	return f->kind = PORT_L2_ECHO;
}

/* Returns whether a packet to this address is for the port. Solicitations are sent to the
 * solicited-node group, unsolicited advertisements to all nodes. */
static bool ip6_dst_is_ours(const struct port_l2_local *local, const uint8_t *dst)
{
	static const uint8_t solicited_node[13] = {0xff, 0x02, [11] = 0x01, 0xff};

	if (local->ip.family != AF_INET6)
		return false;
	if (memcmp(dst, local->ip.bytes, 16) == 0 || memcmp(dst, ip6_all_nodes, 16) == 0)
		return true;
	return memcmp(dst, solicited_node, sizeof(solicited_node)) == 0 &&
	       memcmp(dst + 13, local->ip.bytes + 13, 3) == 0;
}

static enum port_l2_kind parse_icmp6(const struct port_l2_local *local, const uint8_t *ip,
				     const uint8_t *p, size_t len, bool unicast,
				     struct port_l2_frame *f)
{
	uint64_t pseudo = sum_pseudo(ip + 8, ip + 24, 16, IPPROTO_ICMPV6, (uint32_t)len);

	if (len < 8)
		return drop(f, PORT_L2_DROP_SHORT);
	if (p[0] != ND_NEIGHBOR_SOLICIT && p[0] != ND_NEIGHBOR_ADVERT &&
	    (p[0] != ICMP6_ECHO_REQUEST || !unicast))
		return drop(f, PORT_L2_DROP_NOT_OURS);
	if (!checksum_holds(local, p, len, 2, pseudo))
		return drop(f, PORT_L2_DROP_CHECKSUM);
	if (p[0] == ICMP6_ECHO_REQUEST) {
		if (p[1] != 0 || !ip6_is_host(ip + 8))
			return drop(f, PORT_L2_DROP_MALFORMED);
		return f->kind = PORT_L2_ECHO;
	}
	return parse_nd(ip, p, len, f);
}

static enum port_l2_kind parse_ip6(const struct port_l2_local *local, const uint8_t *p, size_t len,
				   unsigned flags, struct port_l2_frame *f)
{
	size_t bytes;
	bool unicast;

	if (len < IP6_BYTES)
		return drop(f, PORT_L2_DROP_SHORT);
	bytes = get16(p + 4);
	if (p[0] >> 4 != 6)
		return drop(f, PORT_L2_DROP_MALFORMED);
	if (bytes > len - IP6_BYTES)
		return drop(f, PORT_L2_DROP_SHORT);
	if (!ip6_dst_is_ours(local, p + 24))
		return drop(f, PORT_L2_DROP_NOT_OURS);
	if (p[6] == IP6_FRAGMENT)
		return drop(f, PORT_L2_DROP_FRAGMENT);
	f->src.ip = ip6_get(p + 8);
	unicast = memcmp(p + 24, local->ip.bytes, 16) == 0;
	if (p[6] == IPPROTO_ICMPV6)
		return parse_icmp6(local, p, p + IP6_BYTES, bytes, unicast, f);
	if (p[6] != IPPROTO_UDP || !unicast)
		return drop(f, PORT_L2_DROP_NOT_OURS);
	if (!ip6_is_host(p + 8))
		return drop(f, PORT_L2_DROP_MALFORMED);
	return parse_udp(local, p + IP6_BYTES, bytes, flags,
			 sum_pseudo(p + 8, p + 24, 16, IPPROTO_UDP, (uint32_t)bytes), f);
}

enum port_l2_kind port_l2_parse(const struct port_l2_local *local, const uint8_t *frame, size_t len,
				unsigned flags, struct port_l2_frame *ret)
{
	*ret = (struct port_l2_frame){0};
	if (len < ETHER_BYTES)
		return drop(ret, PORT_L2_DROP_SHORT);
	/* A promiscuous device also delivers frames for other hosts and frames of this host. */
	if (!(frame[0] & 1) && !mac_equal(frame, &local->mac))
		return drop(ret, PORT_L2_DROP_NOT_OURS);
	if (mac_equal(frame + 6, &local->mac))
		return drop(ret, PORT_L2_DROP_NOT_OURS);
	memcpy(ret->src_mac.bytes, frame + 6, 6);
	frame += ETHER_BYTES;
	len -= ETHER_BYTES;
	switch (get16(frame - 2)) {
	case ETHERTYPE_ARP:
		return parse_arp(frame, len, ret);
	case ETHERTYPE_IP:
		return parse_ip4(local, frame, len, flags, ret);
	case ETHERTYPE_IPV6:
		return parse_ip6(local, frame, len, flags, ret);
	default:
		return drop(ret, PORT_L2_DROP_NOT_OURS);
	}
}

/* The last step of the fast path: verifies the UDP checksum. `addrs`: sum of the two addresses.
 * Returns NULL after any error; port_l2_parse() then finds the kind of the error. */
static const uint8_t *take_payload(const struct port_l2_local *local, const uint8_t *p, size_t len,
				   unsigned flags, uint64_t addrs, uint32_t *ret_len)
{
	uint64_t pseudo = addrs + htons(IPPROTO_UDP) + htonl((uint32_t)len);

	if (get16(p + 2) != local->udp_port || get16(p + 4) != len || get16(p) == 0 ||
	    get16(p + 6) == 0)
		return NULL;
	if (!(flags & PORT_L2_CHECKSUM_GOOD) &&
	    port_l2_sum_finish(port_l2_sum(p, len, pseudo)) != 0)
		return NULL;
	*ret_len = (uint32_t)(len - UDP_BYTES);
	return p + UDP_BYTES;
}

static const uint8_t *take_udp4(const struct port_l2_local *local, const uint8_t *p, size_t len,
				unsigned flags, struct datagram_addr *ret_src, uint32_t *ret_len)
{
	uint64_t addrs = (uint64_t)word_at(p + 12) + word_at(p + 16);
	uint64_t header = addrs + word_at(p) + word_at(p + 4) + word_at(p + 8);
	size_t total = get16(p + 2);
	const uint8_t *payload;

	if (p[0] != 0x45 || total > len || total < IP4_BYTES + UDP_BYTES ||
	    (get16(p + 6) & (IP_MF | IP_OFFMASK)) || p[9] != IPPROTO_UDP ||
	    word_at(p + 16) != word_at(local->ip.bytes) || !ip4_is_host(p + 12))
		return NULL;
	if (!(flags & PORT_L2_CHECKSUM_GOOD) && port_l2_sum_finish(header) != 0)
		return NULL;
	payload = take_payload(local, p + IP4_BYTES, total - IP4_BYTES, flags, addrs, ret_len);
	if (payload)
		*ret_src = (struct datagram_addr){ip4_get(p + 12), get16(p + IP4_BYTES)};
	return payload;
}

static const uint8_t *take_udp6(const struct port_l2_local *local, const uint8_t *p, size_t len,
				unsigned flags, struct datagram_addr *ret_src, uint32_t *ret_len)
{
	size_t bytes = get16(p + 4);
	const uint8_t *payload;

	if (p[0] >> 4 != 6 || bytes > len - IP6_BYTES || bytes < UDP_BYTES || p[6] != IPPROTO_UDP ||
	    memcmp(p + 24, local->ip.bytes, 16) != 0 || !ip6_is_host(p + 8))
		return NULL;
	payload = take_payload(local, p + IP6_BYTES, bytes, flags, port_l2_sum(p + 8, 32, 0),
			       ret_len);
	if (payload)
		*ret_src = (struct datagram_addr){ip6_get(p + 8), get16(p + IP6_BYTES)};
	return payload;
}

const uint8_t *port_l2_take_udp(const struct port_l2_local *local, const uint8_t *frame, size_t len,
				unsigned flags, struct datagram_addr *ret_src, uint32_t *ret_len)
{
	bool v4 = local->ip.family == AF_INET;

	if (len < ETHER_BYTES + (v4 ? IP4_BYTES : IP6_BYTES) + UDP_BYTES ||
	    get16(frame + 12) != (v4 ? ETHERTYPE_IP : ETHERTYPE_IPV6) ||
	    !mac_equal(frame, &local->mac) || mac_equal(frame + 6, &local->mac))
		return NULL;
	frame += ETHER_BYTES;
	len -= ETHER_BYTES;
	return v4 ? take_udp4(local, frame, len, flags, ret_src, ret_len)
		  : take_udp6(local, frame, len, flags, ret_src, ret_len);
}

/* ------------------------------------------------------------------ building */

static uint8_t *put_ether(uint8_t *p, const uint8_t *dst, const struct mac_addr *src, uint16_t type)
{
	memcpy(p, dst, 6);
	memcpy(p + 6, src->bytes, 6);
	put16(p + 12, type);
	return p + ETHER_BYTES;
}

static size_t build_arp(uint8_t *frame, uint16_t op, const struct mac_addr *mac,
			const struct mac_addr *to, const struct ip_addr *sender,
			const struct mac_addr *target_mac, const struct ip_addr *target)
{
	uint8_t *p = put_ether(frame, to->bytes, mac, ETHERTYPE_ARP);

	put16(p, 1);
	put16(p + 2, ETHERTYPE_IP);
	p[4] = 6;
	p[5] = 4;
	put16(p + 6, op);
	memcpy(p + 8, mac->bytes, 6);
	memcpy(p + 14, sender->bytes, 4);
	memcpy(p + 18, target_mac->bytes, 6);
	memcpy(p + 24, target->bytes, 4);
	return ETHER_BYTES + 28;
}

static void put_ip6(uint8_t *p, const uint8_t *src, const uint8_t *dst, uint8_t protocol,
		    size_t bytes, uint8_t hop_limit)
{
	memset(p, 0, 4);
	p[0] = 0x60;
	put16(p + 4, (uint16_t)bytes);
	p[6] = protocol;
	p[7] = hop_limit;
	memcpy(p + 8, src, 16);
	memcpy(p + 24, dst, 16);
}

/* Builds a neighbour discovery message. option: 1 for the source's link-layer address, 2 for the
 * target's, 0 for none. */
static size_t build_nd(uint8_t *frame, uint8_t type, uint8_t flags, uint8_t option,
		       const struct mac_addr *mac, const uint8_t *to_mac, const uint8_t *src,
		       const uint8_t *dst, const uint8_t *target)
{
	uint8_t *ip = put_ether(frame, to_mac, mac, ETHERTYPE_IPV6), *p = ip + IP6_BYTES;
	size_t bytes = ND_MESSAGE_BYTES + (option ? ND_OPTION_BYTES : 0);

	put_ip6(ip, src, dst, IPPROTO_ICMPV6, bytes, ND_HOP_LIMIT);
	memset(p, 0, 8);
	p[0] = type;
	p[4] = flags;
	memcpy(p + 8, target, 16);
	if (option) {
		p[ND_MESSAGE_BYTES] = option;
		p[ND_MESSAGE_BYTES + 1] = 1;
		memcpy(p + ND_MESSAGE_BYTES + 2, mac->bytes, 6);
	}
	put_sum(p + 2,
		port_l2_sum_finish(port_l2_sum(
			p, bytes, sum_pseudo(src, dst, 16, IPPROTO_ICMPV6, (uint32_t)bytes))));
	return ETHER_BYTES + IP6_BYTES + bytes;
}

size_t port_l2_build_solicit(uint8_t *frame, const struct mac_addr *mac,
			     const struct ip_addr *sender, const struct ip_addr *target,
			     const struct mac_addr *dst_mac)
{
	static const struct mac_addr no_mac;
	uint8_t group[16] = {0xff, 0x02, [11] = 0x01, 0xff};
	struct mac_addr group_mac;

	if (target->family == AF_INET)
		return build_arp(frame, 1, mac, dst_mac ? dst_mac : &mac_broadcast, sender, &no_mac,
				 target);
	memcpy(group + 13, target->bytes + 13, 3);
	group_mac = mac_addr_solicited(target);
	return build_nd(frame, ND_NEIGHBOR_SOLICIT, 0, sender->family ? 1 : 0, mac,
			dst_mac ? dst_mac->bytes : group_mac.bytes, sender->bytes,
			dst_mac ? target->bytes : group, target->bytes);
}

size_t port_l2_build_advert(uint8_t *frame, const struct mac_addr *mac, const struct ip_addr *ip,
			    const struct mac_addr *to_mac, const struct ip_addr *to)
{
	if (ip->family == AF_INET)
		return build_arp(frame, 2, mac, to_mac, ip, to_mac, to);
	if (ip6_is_zero(to->bytes))
		return build_nd(frame, ND_NEIGHBOR_ADVERT, 0x20, 2, mac, mac_addr_all_nodes.bytes,
				ip->bytes, ip6_all_nodes, ip->bytes);
	return build_nd(frame, ND_NEIGHBOR_ADVERT, 0x60, 2, mac, to_mac->bytes, ip->bytes,
			to->bytes, ip->bytes);
}

size_t port_l2_build_announce(uint8_t *frame, const struct mac_addr *mac, const struct ip_addr *ip)
{
	static const struct mac_addr no_mac;
	static const struct ip_addr unspecified;

	/* Announce an IPv4 address by an ARP request (RFC 5227 section 3), because some hosts
	 * ignore ARP replies. */
	if (ip->family == AF_INET)
		return build_arp(frame, 1, mac, &mac_broadcast, ip, &no_mac, ip);
	return port_l2_build_advert(frame, mac, ip, NULL, &unspecified);
}

static void ip4_finish(uint8_t *p)
{
	put16(p + 10, 0);
	put_sum(p + 10, port_l2_sum_finish(port_l2_sum(p, IP4_BYTES, 0)));
}

static void put_ip4(uint8_t *p, const uint8_t *src, const uint8_t *dst, uint8_t protocol,
		    size_t bytes)
{
	memset(p, 0, IP4_BYTES);
	p[0] = 0x45;
	put16(p + 2, (uint16_t)(IP4_BYTES + bytes));
	put16(p + 6, IP_DF); /* the packet is never fragmented, so the identification may be 0: RFC
				6864 */
	p[8] = HOP_LIMIT;
	p[9] = protocol;
	memcpy(p + 12, src, 4);
	memcpy(p + 16, dst, 4);
}

size_t port_l2_build_echo_reply(uint8_t *out, const struct port_l2_local *local,
				const uint8_t *frame, size_t len)
{
	const uint8_t *ip = frame + ETHER_BYTES;
	size_t header, bytes;
	uint64_t pseudo = 0;
	uint8_t *p;

	if (local->ip.family == AF_INET) {
		header = (ip[0] & 15) * 4U;
		bytes = get16(ip + 2) - header;
		if (ETHER_BYTES + IP4_BYTES + bytes > PORT_L2_ECHO_MAX)
			return 0;
		p = put_ether(out, frame + 6, &local->mac, ETHERTYPE_IP);
		put_ip4(p, local->ip.bytes, ip + 12, IPPROTO_ICMP, bytes);
		ip4_finish(p);
		p += IP4_BYTES;
	} else {
		header = IP6_BYTES;
		bytes = get16(ip + 4);
		if (ETHER_BYTES + IP6_BYTES + bytes > PORT_L2_ECHO_MAX)
			return 0;
		p = put_ether(out, frame + 6, &local->mac, ETHERTYPE_IPV6);
		put_ip6(p, local->ip.bytes, ip + 8, IPPROTO_ICMPV6, bytes, HOP_LIMIT);
		p += IP6_BYTES;
		pseudo = sum_pseudo(local->ip.bytes, ip + 8, 16, IPPROTO_ICMPV6, (uint32_t)bytes);
	}
	memcpy(p, ip + header, bytes);
	p[0] = local->ip.family == AF_INET ? ICMP_ECHOREPLY : ICMP6_ECHO_REPLY;
	put16(p + 2, 0);
	put_sum(p + 2, port_l2_sum_finish(port_l2_sum(p, bytes, pseudo)));
	return (size_t)(p - out) + bytes;
}

/* Computes the checksum of the header that put_ip4() has just written. Computes it from the values,
 * because reading words right after their bytes were written is slow. */
static uint16_t ip4_sum(uint64_t sum_addrs, uint8_t protocol, size_t bytes)
{
	return port_l2_sum_finish(sum_addrs + htons(0x4500) + htons((uint16_t)(IP4_BYTES + bytes)) +
				  htons(IP_DF) + htons((uint16_t)(HOP_LIMIT << 8 | protocol)));
}

/* Copies the datagram's header and payload to p, and returns `sum` plus their words. */
static uint64_t put_data(uint8_t *p, const struct datagram *pkt, uint64_t sum)
{
	/* If the payload starts at an odd offset, copy header and payload first, and then sum them
	 * together. */
	bool odd = pkt->hdr_len & 1;

	sum = sum_words(p, pkt->hdr, odd ? 0 : pkt->hdr_len, sum);
	if (!odd)
		return sum_words(p + pkt->hdr_len, pkt->payload, pkt->payload_len, sum);
	memcpy(p, pkt->hdr, pkt->hdr_len);
	if (pkt->payload_len > 0)
		memcpy(p + pkt->hdr_len, pkt->payload, pkt->payload_len);
	return port_l2_sum(p, (size_t)pkt->hdr_len + pkt->payload_len, sum);
}

size_t port_l2_build_udp(uint8_t *frame, const struct port_l2_local *local,
			 const struct mac_addr *dst_mac, const struct datagram_addr *dst,
			 const struct datagram *pkt, unsigned flags)
{
	bool v4 = local->ip.family == AF_INET, offload = flags & PORT_L2_OFFLOAD_CHECKSUM;
	size_t data = (size_t)pkt->hdr_len + pkt->payload_len, bytes = UDP_BYTES + data;
	uint64_t addrs = sum_addr(dst->ip.bytes, v4) + sum_addr(local->ip.bytes, v4);
	uint64_t sum = addrs + htons(IPPROTO_UDP) + htonl((uint32_t)bytes); /* pseudo header */
	uint16_t field;
	uint8_t *p;

	if (v4) {
		p = put_ether(frame, dst_mac->bytes, &local->mac, ETHERTYPE_IP);
		put_ip4(p, local->ip.bytes, dst->ip.bytes, IPPROTO_UDP, bytes);
		if (!offload)
			put_sum(p + 10, ip4_sum(addrs, IPPROTO_UDP, bytes));
		p += IP4_BYTES;
	} else {
		p = put_ether(frame, dst_mac->bytes, &local->mac, ETHERTYPE_IPV6);
		put_ip6(p, local->ip.bytes, dst->ip.bytes, IPPROTO_UDP, bytes, HOP_LIMIT);
		p += IP6_BYTES;
	}
	put16(p, local->udp_port);
	put16(p + 2, dst->port);
	put16(p + 4, (uint16_t)bytes);
	if (offload) {
		memcpy(p + UDP_BYTES, pkt->hdr, pkt->hdr_len);
		if (pkt->payload_len > 0)
			memcpy(p + UDP_BYTES + pkt->hdr_len, pkt->payload, pkt->payload_len);
		field = sum_fold(sum); /* a device that completes the checksum starts with the sum
					  of the pseudo header */
	} else {
		sum = sum + htons(local->udp_port) + htons(dst->port) + htons((uint16_t)bytes);
		field = port_l2_sum_finish(put_data(p + UDP_BYTES, pkt, sum));
		if (field == 0)
			field = 0xffff; /* a checksum of 0 means "no checksum", so send the
					   equivalent 0xffff */
	}
	put_sum(p + 6, field);
	return (size_t)(p - frame) + bytes;
}

void port_l2_set_dst(uint8_t *frame, const struct mac_addr *dst_mac)
{
	memcpy(frame, dst_mac->bytes, sizeof(dst_mac->bytes));
}
