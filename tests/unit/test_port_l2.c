/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames: builders against known bytes and an independent checksum, the parser against any input.
 * Each parsed frame is a block of exactly its length, so that the sanitizer detects a read past its
 * end.
 */
#include "dataplane/port/l2/port_l2.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct mac_addr mac_a = {{0x02, 0, 0, 0, 0, 0x0a}};
static const struct mac_addr mac_b = {{0x02, 0, 0, 0, 0, 0x0b}};
static struct port_l2_local a4, b4, a6, b6;

static void local_set(struct port_l2_local *l, const struct mac_addr *mac, const char *ip)
{
	*l = (struct port_l2_local){.mac = *mac, .udp_port = 4420};
	assert_int_equal(ip_addr_parse(ip, &l->ip), 0);
}

static int setup(void **state)
{
	local_set(&a4, &mac_a, "192.0.2.1");
	local_set(&b4, &mac_b, "192.0.2.2");
	local_set(&a6, &mac_a, "2001:db8::1");
	local_set(&b6, &mac_b, "2001:db8::2");
	return 0;
}

static struct datagram_addr addr_of(const struct port_l2_local *l)
{
	return (struct datagram_addr){.ip = l->ip, .port = l->udp_port};
}

/* Byte by byte, as in the RFC. */
static uint16_t reference_sum(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* By the fast path. */
static bool is_taken(const struct port_l2_local *l, const uint8_t *frame, size_t len)
{
	struct datagram_addr src;
	uint32_t bytes;

	return port_l2_take_udp(l, frame, len, 0, &src, &bytes) != NULL;
}

static enum port_l2_kind parse(const struct port_l2_local *l, const uint8_t *frame, size_t len,
			       struct port_l2_frame *ret)
{
	uint8_t *exact = malloc(len ? len : 1);
	struct datagram_addr src;
	const uint8_t *taken;
	uint32_t taken_len;
	enum port_l2_kind kind;

	assert_non_null(exact);
	memcpy(exact, frame, len);
	kind = port_l2_parse(l, exact, len, 0, ret);
	taken = port_l2_take_udp(l, exact, len, 0, &src, &taken_len);
	if (taken) { /* the full parser agrees with the fast path */
		assert_int_equal(kind, PORT_L2_UDP);
		assert_ptr_equal(taken, ret->payload);
		assert_int_equal(taken_len, ret->payload_len);
		assert_true(ip_addr_equal(&src.ip, &ret->src.ip));
		assert_int_equal(src.port, ret->src.port);
	}
	if (kind == PORT_L2_UDP) { /* keep the payload readable for the caller */
		assert_true(ret->payload >= exact &&
			    ret->payload + ret->payload_len <= exact + len);
		ret->payload = frame + (ret->payload - exact);
	}
	free(exact);
	return kind;
}

static size_t udp_make(uint8_t *frame, const struct port_l2_local *from,
		       const struct port_l2_local *to, unsigned bytes)
{
	struct datagram_addr dst = addr_of(to);
	static uint8_t payload[9000];
	struct datagram pkt = {.hdr_len = (uint16_t)MIN_OF(bytes, 12U), .payload = payload};

	pkt.payload_len = (uint16_t)(bytes - pkt.hdr_len);
	for (unsigned i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 17 + bytes);
	memset(pkt.hdr, 0xa5, sizeof(pkt.hdr));
	return port_l2_build_udp(frame, from, &to->mac, &dst, &pkt, 0);
}

/* ------------------------------------------------------------------ checksums */

static void checksums_match_known_vectors(void **state)
{
	/* The example of RFC 1071 section 3. */
	static const uint8_t rfc[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
	/* A header with the well-known checksum b861. */
	uint8_t ip[] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
			0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};
	uint8_t out[2];
	uint16_t sum;

	sum = port_l2_sum_finish(port_l2_sum(rfc, sizeof(rfc), 0));
	memcpy(out, &sum, 2);
	assert_int_equal(out[0] << 8 | out[1], 0xffff & ~0xddf2);
	assert_int_equal(port_l2_sum_finish(port_l2_sum(ip, sizeof(ip), 0)), 0);
	ip[10] = ip[11] = 0;
	sum = port_l2_sum_finish(port_l2_sum(ip, sizeof(ip), 0));
	memcpy(out, &sum, 2);
	assert_int_equal(out[0] << 8 | out[1], 0xb861);
}

static void checksums_of_all_lengths_match(void **state)
{
	uint8_t bytes[9100], out[2];
	uint16_t sum;

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = i % 5 ? 0xff : (uint8_t)i;
	for (unsigned len = 0; len < sizeof(bytes) - 16; len += len < 300 ? 1 : 997) {
		uint8_t *from = bytes + len % 16; /* the alignment after headers */

		sum = port_l2_sum_finish(port_l2_sum(from, len, 0));
		memcpy(out, &sum, 2);
		assert_int_equal(out[0] << 8 | out[1], 0xffff & ~reference_sum(from, len, 0));
	}
	/* The largest sum of a datagram, and a sum to start from. */
	memset(bytes, 0xff, sizeof(bytes));
	for (unsigned len = 8192; len < 8192 + 128; len += 2) {
		sum = port_l2_sum_finish(port_l2_sum(bytes, len, UINT32_MAX));
		assert_int_equal(sum, 0);
	}
}

/* ------------------------------------------------------------------ datagrams */

static void udp_round_trip(const struct port_l2_local *from, const struct port_l2_local *to)
{
	size_t ip_bytes = from->ip.family == AF_INET ? 20 : 40, addr = ip_bytes == 20 ? 12 : 8;
	uint8_t frame[9100];

	for (unsigned bytes = 0; bytes < 8900; bytes += bytes < 130 ? 1 : 331) {
		size_t len = udp_make(frame, from, to, bytes), udp = 14 + ip_bytes;
		struct port_l2_frame f;

		assert_int_equal(len, udp + 8 + bytes);
		/* The checksum, computed independently: pseudo header and datagram. */
		assert_int_equal(
			reference_sum(frame + udp, 8 + bytes,
				      17 + 8 + bytes +
					      reference_sum(frame + 14 + addr, ip_bytes - addr, 0)),
			0xffff);
		if (ip_bytes == 20)
			assert_int_equal(reference_sum(frame + 14, 20, 0), 0xffff);
		assert_int_equal(parse(to, frame, len, &f), PORT_L2_UDP);
		assert_true(is_taken(to, frame, len));
		assert_int_equal(f.payload_len, bytes);
		assert_ptr_equal(f.payload, frame + udp + 8);
		assert_true(ip_addr_equal(&f.src.ip, &from->ip));
		assert_int_equal(f.src.port, 4420);
		assert_memory_equal(f.src_mac.bytes, from->mac.bytes, 6);
		/* Short frames arrive padded. */
		if (len < 60) {
			memset(frame + len, 0, 60 - len);
			assert_int_equal(parse(to, frame, 60, &f), PORT_L2_UDP);
			assert_int_equal(f.payload_len, bytes);
		}
	}
}

static void datagrams_round_trip(void **state)
{
	udp_round_trip(&a4, &b4);
	udp_round_trip(&a6, &b6);
}

/* Any split of a datagram into header and payload arrives whole with a valid checksum. */
static void datagrams_in_any_pieces_arrive(void **state)
{
	uint8_t bytes[DATAGRAM_HDR_MAX + 200], frame[PORT_L2_HEADERS_MAX + sizeof(bytes) + 1];
	struct datagram_addr dst = {b4.ip, b4.udp_port};

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 167 + 13);
	for (uint16_t cut = 0; cut <= DATAGRAM_HDR_MAX; cut++)
		for (uint16_t n = 0; n <= 200; n++) {
			struct datagram pkt = {.hdr_len = cut, .payload_len = n};
			struct port_l2_frame f;
			size_t len;

			memcpy(pkt.hdr, bytes, cut);
			pkt.payload = n ? bytes + cut : NULL;
			memset(frame, 0xaa, sizeof(frame));
			len = port_l2_build_udp(frame, &a4, &mac_b, &dst, &pkt, 0);
			assert_int_equal(frame[len], 0xaa);
			assert_int_equal(parse(&b4, frame, len, &f), PORT_L2_UDP);
			assert_int_equal(f.payload_len, cut + n);
			assert_memory_equal(f.payload, bytes, f.payload_len);
		}
}

/* A sum of 0 is sent as ffff, because 0 means no checksum. */
static void a_zero_checksum_is_sent_as_ffff(void **state)
{
	struct datagram_addr dst = addr_of(&b4);
	struct datagram pkt = {.hdr_len = 2};
	struct port_l2_frame f;
	uint8_t frame[64];
	size_t len = port_l2_build_udp(frame, &a4, &mac_b, &dst, &pkt, 0);

	memcpy(pkt.hdr, frame + 40, 2); /* cancels the sum of the rest */
	len = port_l2_build_udp(frame, &a4, &mac_b, &dst, &pkt, 0);
	assert_int_equal(frame[40], 0xff);
	assert_int_equal(frame[41], 0xff);
	assert_int_equal(parse(&b4, frame, len, &f), PORT_L2_UDP);
	frame[40] = frame[41] = 0;
	assert_int_equal(parse(&b4, frame, len, &f), PORT_L2_DROP);
	assert_int_equal(f.drop, PORT_L2_DROP_CHECKSUM);
}

static void offloaded_checksums_are_partial(void **state)
{
	struct datagram_addr dst = addr_of(&b4);
	struct datagram pkt = {.hdr_len = 12};
	struct port_l2_local lax = b4;
	struct port_l2_frame f;
	uint8_t frame[64];
	size_t len = port_l2_build_udp(frame, &a4, &mac_b, &dst, &pkt, PORT_L2_OFFLOAD_CHECKSUM);
	uint16_t partial = reference_sum(frame + 26, 8, 17 + 20);

	/* Devices expect the pseudo header's sum in the field. */
	assert_int_equal(frame[40] << 8 | frame[41], partial);
	assert_int_equal(port_l2_parse(&b4, frame, len, PORT_L2_CHECKSUM_GOOD, &f), PORT_L2_UDP);
	assert_int_equal(parse(&b4, frame, len, &f), PORT_L2_DROP);
	/* As from another stack of this host, with a valid IP header checksum. */
	(void)port_l2_build_udp(frame, &a4, &mac_b, &dst, &pkt, 0);
	frame[40] = (uint8_t)(partial >> 8);
	frame[41] = (uint8_t)partial;
	assert_int_equal(parse(&b4, frame, len, &f), PORT_L2_DROP);
	lax.accept_partial_checksum = true;
	assert_int_equal(parse(&lax, frame, len, &f), PORT_L2_UDP);
	frame[41] ^= 1;
	assert_int_equal(parse(&lax, frame, len, &f), PORT_L2_DROP);
}

/* ------------------------------------------------------------------ strictness */

struct damage {
	const char *what;
	unsigned at;
	uint8_t value;
	enum port_l2_drop drop;
};

static void damage_check(const struct port_l2_local *from, const struct port_l2_local *to,
			 const struct damage *d)
{
	struct port_l2_frame f;
	uint8_t frame[256];
	size_t len = udp_make(frame, from, to, 100);

	frame[d->at] = d->value;
	if (from->ip.family == AF_INET && d->at >= 14 && d->at < 34 && d->at != 24) {
		uint16_t sum;

		frame[24] = frame[25] = 0; /* so that only the damage counts */
		sum = port_l2_sum_finish(port_l2_sum(frame + 14, 20, 0));
		memcpy(frame + 24, &sum, 2);
	}
	if (parse(to, frame, len, &f) != PORT_L2_DROP || f.drop != d->drop)
		fail_msg("%s: kind %d, drop %s", d->what, f.kind, port_l2_drop_to_string(f.drop));
}

static void invalid_ipv4_is_dropped(void **state)
{
	static const struct damage damages[] = {
		{"another's MAC", 5, 0x77, PORT_L2_DROP_NOT_OURS},
		{"our own frame come back", 11, 0x0b, PORT_L2_DROP_NOT_OURS},
		{"VLAN tag", 12, 0x81, PORT_L2_DROP_NOT_OURS},
		{"version 6", 14, 0x65, PORT_L2_DROP_MALFORMED},
		{"header of 16 bytes", 14, 0x44, PORT_L2_DROP_MALFORMED},
		{"total length past the end", 16, 0x01, PORT_L2_DROP_SHORT},
		{"total length below the header", 17, 19, PORT_L2_DROP_MALFORMED},
		{"more fragments", 20, 0x20, PORT_L2_DROP_FRAGMENT},
		{"a later fragment", 21, 0x01, PORT_L2_DROP_FRAGMENT},
		{"TCP", 23, 6, PORT_L2_DROP_NOT_OURS},
		{"header checksum", 24, 0x12, PORT_L2_DROP_CHECKSUM},
		{"multicast source", 26, 224, PORT_L2_DROP_MALFORMED},
		{"source 0", 26, 0, PORT_L2_DROP_MALFORMED},
		{"another's address", 33, 9, PORT_L2_DROP_NOT_OURS},
		{"source port", 35, 0x45, PORT_L2_DROP_CHECKSUM},
		{"another port", 37, 0x45, PORT_L2_DROP_NOT_OURS},
		{"UDP length", 39, 107, PORT_L2_DROP_MALFORMED},
		{"payload", 60, 0x00, PORT_L2_DROP_CHECKSUM},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(damages); i++)
		damage_check(&a4, &b4, &damages[i]);
}

static void invalid_ipv6_is_dropped(void **state)
{
	static const struct damage damages[] = {
		{"version 4", 14, 0x40, PORT_L2_DROP_MALFORMED},
		{"length past the end", 18, 0x01, PORT_L2_DROP_SHORT},
		{"length short", 19, 100, PORT_L2_DROP_MALFORMED},
		{"fragment header", 20, 44, PORT_L2_DROP_FRAGMENT},
		{"hop-by-hop header", 20, 0, PORT_L2_DROP_NOT_OURS},
		{"multicast source", 22, 0xff, PORT_L2_DROP_MALFORMED},
		{"another's address", 53, 9, PORT_L2_DROP_NOT_OURS},
		{"another port", 57, 0x45, PORT_L2_DROP_NOT_OURS},
		{"payload", 80, 0x00, PORT_L2_DROP_CHECKSUM},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(damages); i++)
		damage_check(&a6, &b6, &damages[i]);
}

static void packets_with_ip_options_are_handled(void **state)
{
	uint8_t frame[256], with[256];
	size_t len = udp_make(frame, &a4, &b4, 50);
	struct port_l2_frame f;
	uint16_t sum;

	memcpy(with, frame, 34);
	memset(with + 34, 1, 8); /* NOP options */
	memcpy(with + 42, frame + 34, len - 34);
	with[14] = 0x47;
	with[17] = (uint8_t)(with[17] + 8);
	with[24] = with[25] = 0;
	sum = port_l2_sum_finish(port_l2_sum(with + 14, 28, 0));
	memcpy(with + 24, &sum, 2);
	assert_int_equal(parse(&b4, with, len + 8, &f), PORT_L2_UDP);
	assert_int_equal(f.payload_len, 50);
	/* A header length beyond the packet. */
	with[14] = 0x4f;
	assert_int_equal(parse(&b4, with, 40, &f), PORT_L2_DROP);
}

/* A frame truncated anywhere is dropped. */
static void truncated_frames_are_dropped(void **state)
{
	uint8_t frame[256];
	struct port_l2_frame f;
	size_t len;

	len = udp_make(frame, &a4, &b4, 100);
	for (size_t n = 0; n < len; n++)
		assert_int_equal(parse(&b4, frame, n, &f), PORT_L2_DROP);
	len = udp_make(frame, &a6, &b6, 100);
	for (size_t n = 0; n < len; n++)
		assert_int_equal(parse(&b6, frame, n, &f), PORT_L2_DROP);
	len = port_l2_build_solicit(frame, &mac_a, &a4.ip, &b4.ip, NULL);
	for (size_t n = 0; n < len; n++)
		assert_int_equal(parse(&b4, frame, n, &f), PORT_L2_DROP);
	len = port_l2_build_solicit(frame, &mac_a, &a6.ip, &b6.ip, NULL);
	for (size_t n = 0; n < len; n++)
		assert_int_equal(parse(&b6, frame, n, &f), PORT_L2_DROP);
}

/* Random damage to every kind of frame: the parser stays within the frame, and a datagram lies
 * within it. */
static void damaged_frames_are_parsed_safely(void **state)
{
	const struct port_l2_local *to[] = {&b4, &b6};
	uint64_t seed = 42;

	for (unsigned turn = 0; turn < 60000; turn++) {
		const struct port_l2_local *from = turn & 1 ? &a6 : &a4, *l = to[turn & 1];
		struct port_l2_local lax = *l;
		struct port_l2_frame f;
		uint8_t frame[256], reply[PORT_L2_ECHO_MAX];
		size_t len;

		switch (turn / 2 % 3) {
		case 0:
			len = udp_make(frame, from, l, turn % 90);
			break;
		case 1:
			len = port_l2_build_solicit(frame, &mac_a, &from->ip, &l->ip, NULL);
			break;
		default:
			len = port_l2_build_advert(frame, &mac_a, &from->ip, &mac_b, &l->ip);
			break;
		}
		for (unsigned i = 0; i <= turn % 4; i++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			frame[12 + (seed >> 33) % (len - 12)] = (uint8_t)(seed >> 56);
		}
		lax.accept_partial_checksum = turn & 8;
		if (turn % 5 == 0)
			len = (seed >> 20) % (len + 1);
		if (parse(&lax, frame, len, &f) == PORT_L2_ECHO)
			assert_in_range(port_l2_build_echo_reply(reply, &lax, frame, len), 0,
					PORT_L2_ECHO_MAX);
	}
}

/* ------------------------------------------------------------------ ARP and discovery */

static void arp_round_trips(void **state)
{
	static const uint8_t request[42] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0,	0,    0, 0,   0x0a, 0x08, 0x06,
		0x00, 0x01, 0x08, 0x00, 0x06, 0x04, 0x00, 0x01, 0x02, 0, 0,   0,    0,	  0x0a,
		192,  0,    2,	  1,	0,    0,    0,	  0,	0,    0, 192, 0,    2,	  2};
	uint8_t frame[PORT_L2_CONTROL_MAX];
	static const struct ip_addr unspecified;
	struct port_l2_frame f;
	size_t len = port_l2_build_solicit(frame, &mac_a, &a4.ip, &b4.ip, NULL);

	assert_int_equal(len, sizeof(request));
	assert_memory_equal(frame, request, sizeof(request));
	assert_int_equal(parse(&b4, frame, len, &f), PORT_L2_ARP);
	assert_false(f.is_reply);
	assert_true(f.has_mac && ip_addr_equal(&f.sender, &a4.ip));
	assert_true(ip_addr_equal(&f.target, &b4.ip));
	len = port_l2_build_advert(frame, &mac_b, &b4.ip, &mac_a, &a4.ip);
	assert_int_equal(parse(&a4, frame, len, &f), PORT_L2_ARP);
	assert_true(f.is_reply && ip_addr_equal(&f.sender, &b4.ip));
	assert_memory_equal(f.sender_mac.bytes, mac_b.bytes, 6);
	/* A probe has no sender; an announcement asks for itself. */
	len = port_l2_build_solicit(frame, &mac_a, &unspecified, &a4.ip, NULL);
	assert_memory_equal(frame + 28, unspecified.bytes, 4);
	len = port_l2_build_announce(frame, &mac_a, &a4.ip);
	assert_int_equal(parse(&b4, frame, len, &f), PORT_L2_ARP);
	assert_true(ip_addr_equal(&f.sender, &a4.ip) && ip_addr_equal(&f.target, &a4.ip));
	/* Other hardware, protocol, sizes and operation, and a group as sender. */
	for (unsigned i = 0; i < 5; i++) {
		static const unsigned at[] = {15, 16, 18, 21, 22};

		len = port_l2_build_solicit(frame, &mac_a, &a4.ip, &b4.ip, NULL);
		frame[at[i]] = 0x09;
		assert_int_equal(parse(&b4, frame, len, &f), PORT_L2_DROP);
		assert_int_equal(f.drop, PORT_L2_DROP_MALFORMED);
	}
}

static void nd_sum_check(const uint8_t *frame, size_t len)
{
	uint16_t pseudo = reference_sum(frame + 22, 32, 58 + (uint32_t)(len - 54));

	assert_int_equal(reference_sum(frame + 54, len - 54, pseudo), 0xffff);
}

static void nd_sum_fix(uint8_t *frame, size_t len)
{
	uint16_t sum;

	frame[56] = frame[57] = 0;
	sum = (uint16_t)~reference_sum(frame + 54, len - 54,
				       reference_sum(frame + 22, 32, 58 + (uint32_t)(len - 54)));
	frame[56] = (uint8_t)(sum >> 8);
	frame[57] = (uint8_t)sum;
}

static void neighbour_discovery_round_trips(void **state)
{
	static const uint8_t group_mac[] = {0x33, 0x33, 0xff, 0, 0, 2};
	static const struct ip_addr unspecified;
	uint8_t frame[PORT_L2_CONTROL_MAX];
	struct port_l2_frame f;
	size_t len = port_l2_build_solicit(frame, &mac_a, &a6.ip, &b6.ip, NULL);

	assert_int_equal(len, 86);
	assert_memory_equal(frame, group_mac, 6);
	nd_sum_check(frame, len);
	assert_int_equal(parse(&b6, frame, len, &f), PORT_L2_SOLICIT);
	assert_true(f.has_mac && ip_addr_equal(&f.sender, &a6.ip));
	assert_true(ip_addr_equal(&f.target, &b6.ip));
	/* Another group. */
	frame[53] = 9;
	assert_int_equal(parse(&b6, frame, len, &f), PORT_L2_DROP);
	/* A DAD probe: no source address, no option. */
	len = port_l2_build_solicit(frame, &mac_a, &unspecified, &b6.ip, NULL);
	assert_int_equal(len, 78);
	nd_sum_check(frame, len);
	assert_int_equal(parse(&b6, frame, len, &f), PORT_L2_SOLICIT);
	assert_false(f.has_mac);
	len = port_l2_build_advert(frame, &mac_b, &b6.ip, &mac_a, &a6.ip);
	nd_sum_check(frame, len);
	assert_int_equal(parse(&a6, frame, len, &f), PORT_L2_ADVERT);
	assert_true(f.is_solicited && f.is_override && f.has_mac);
	assert_memory_equal(f.sender_mac.bytes, mac_b.bytes, 6);
	len = port_l2_build_announce(frame, &mac_b, &b6.ip);
	nd_sum_check(frame, len);
	assert_int_equal(parse(&a6, frame, len, &f), PORT_L2_ADVERT);
	assert_true(!f.is_solicited && f.is_override && ip_addr_equal(&f.sender, &b6.ip));
}

static void invalid_neighbour_discovery_is_dropped(void **state)
{
	static const struct damage damages[] = {
		{"forwarded", 21, 254, 0},	   {"code", 55, 1, 0},
		{"multicast target", 62, 0xff, 0}, {"option of length 0", 79, 0, 0},
		{"option past the end", 79, 2, 0}, {"group as sender", 80, 0x03, 0},
	};
	uint8_t frame[PORT_L2_CONTROL_MAX];
	struct port_l2_frame f;

	for (unsigned i = 0; i < ARRAY_SIZE(damages); i++) {
		size_t len = port_l2_build_solicit(frame, &mac_a, &a6.ip, &b6.ip, NULL);

		frame[damages[i].at] = damages[i].value;
		nd_sum_fix(frame, len);
		if (parse(&b6, frame, len, &f) != PORT_L2_DROP || f.drop != PORT_L2_DROP_MALFORMED)
			fail_msg("%s", damages[i].what);
	}
}

/* ------------------------------------------------------------------ echo */

static void echo_requests_are_answered(void **state)
{
	uint8_t frame[128] = {0}, reply[PORT_L2_ECHO_MAX];
	struct port_l2_frame f;
	uint16_t sum;
	size_t len = udp_make(frame, &a4, &b4, 48); /* turned into an echo request */

	frame[23] = 1;
	frame[24] = frame[25] = 0;
	sum = port_l2_sum_finish(port_l2_sum(frame + 14, 20, 0));
	memcpy(frame + 24, &sum, 2);
	memset(frame + 34, 0, 4);
	frame[34] = 8;
	sum = port_l2_sum_finish(port_l2_sum(frame + 34, len - 34, 0));
	memcpy(frame + 36, &sum, 2);
	assert_int_equal(parse(&b4, frame, len, &f), PORT_L2_ECHO);
	assert_int_equal(port_l2_build_echo_reply(reply, &b4, frame, len), len);
	assert_int_equal(reply[34], 0);
	assert_int_equal(port_l2_sum_finish(port_l2_sum(reply + 34, len - 34, 0)), 0);
	assert_int_equal(port_l2_sum_finish(port_l2_sum(reply + 14, 20, 0)), 0);
	assert_memory_equal(reply, mac_a.bytes, 6);
	assert_memory_equal(reply + 30, a4.ip.bytes, 4);
	assert_memory_equal(reply + 38, frame + 38, len - 38);
	frame[50] ^= 1;
	assert_int_equal(parse(&b4, frame, len, &f), PORT_L2_DROP);
}

static void ipv6_echo_requests_are_answered(void **state)
{
	uint8_t frame[128] = {0}, reply[PORT_L2_ECHO_MAX];
	struct port_l2_frame f;
	size_t len = udp_make(frame, &a6, &b6, 48);

	frame[20] = 58;
	memset(frame + 54, 0, 4);
	frame[54] = 128;
	nd_sum_fix(frame, len);
	assert_int_equal(parse(&b6, frame, len, &f), PORT_L2_ECHO);
	assert_int_equal(port_l2_build_echo_reply(reply, &b6, frame, len), len);
	assert_int_equal(reply[54], 129);
	nd_sum_check(reply, len);
	assert_memory_equal(reply + 38, a6.ip.bytes, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checksums_match_known_vectors),
		cmocka_unit_test(checksums_of_all_lengths_match),
		cmocka_unit_test(datagrams_round_trip),
		cmocka_unit_test(datagrams_in_any_pieces_arrive),
		cmocka_unit_test(a_zero_checksum_is_sent_as_ffff),
		cmocka_unit_test(offloaded_checksums_are_partial),
		cmocka_unit_test(invalid_ipv4_is_dropped),
		cmocka_unit_test(invalid_ipv6_is_dropped),
		cmocka_unit_test(packets_with_ip_options_are_handled),
		cmocka_unit_test(truncated_frames_are_dropped),
		cmocka_unit_test(damaged_frames_are_parsed_safely),
		cmocka_unit_test(arp_round_trips),
		cmocka_unit_test(neighbour_discovery_round_trips),
		cmocka_unit_test(invalid_neighbour_discovery_is_dropped),
		cmocka_unit_test(echo_requests_are_answered),
		cmocka_unit_test(ipv6_echo_requests_are_answered),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
