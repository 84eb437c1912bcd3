/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses, prints and compares addresses of both families, and does the arithmetic of prefixes and
 * ranges, so that no caller has to distinguish IPv4 from IPv6.
 */
#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static unsigned address_bytes(const struct ip_addr *a)
{
	return a->family == AF_INET ? 4 : 16;
}

int ip_addr_parse(const char *text, struct ip_addr *ret)
{
	struct ip_addr a = {0};

	if (inet_pton(AF_INET, text, a.bytes) == 1)
		a.family = AF_INET;
	else if (inet_pton(AF_INET6, text, a.bytes) == 1)
		a.family = AF_INET6;
	else
		return -EINVAL;
	*ret = a;
	return 0;
}

/* Parses the first `len` bytes of text as an address. */
static int parse_part(const char *text, size_t len, struct ip_addr *ret)
{
	char part[INET6_ADDRSTRLEN];

	if (len >= sizeof(part))
		return -EINVAL;
	memcpy(part, text, len);
	part[len] = '\0';
	return ip_addr_parse(part, ret);
}

/* Parses one to three decimal digits without a leading zero. */
static int parse_prefix_len(const char *text, unsigned max, uint8_t *ret)
{
	unsigned v = 0;
	size_t n = strlen(text);

	if (n == 0 || n > 3 || (text[0] == '0' && n > 1))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		v = 10 * v + (unsigned)(text[i] - '0');
	}
	if (v > max)
		return -EINVAL;
	*ret = (uint8_t)v;
	return 0;
}

int ip_prefix_parse(const char *text, struct ip_prefix *ret)
{
	const char *slash = strchr(text, '/');
	struct ip_prefix p;
	int r;

	r = parse_part(text, slash ? (size_t)(slash - text) : strlen(text), &p.addr);
	if (r < 0)
		return r;
	p.len = (uint8_t)ip_addr_bits(&p.addr);
	if (slash) {
		r = parse_prefix_len(slash + 1, p.len, &p.len);
		if (r < 0)
			return r;
	}
	*ret = p;
	return 0;
}

int ip_range_parse(const char *text, struct ip_range *ret)
{
	const char *slash = strchr(text, '/');
	const char *end = slash ? slash : text + strlen(text);
	/* Ignore a dash after the slash: it does not separate two addresses, and parse_prefix_len()
	 * rejects it. */
	const char *dash = memchr(text, '-', (size_t)(end - text));
	struct ip_prefix subnet;
	struct ip_range range;
	int r;

	r = parse_part(text, (size_t)((dash ? dash : end) - text), &range.first);
	if (r < 0)
		return r;
	range.last = range.first;
	if (dash) {
		r = parse_part(dash + 1, (size_t)(end - dash - 1), &range.last);
		if (r < 0)
			return r;
	}
	if (range.first.family != range.last.family)
		return -EINVAL;
	range.prefix_len = (uint8_t)ip_addr_bits(&range.first);
	if (slash) {
		r = parse_prefix_len(slash + 1, range.prefix_len, &range.prefix_len);
		if (r < 0)
			return r;
	}
	if (ip_addr_cmp(&range.first, &range.last) > 0)
		return -ERANGE;
	subnet = (struct ip_prefix){range.first, range.prefix_len};
	if (slash && !ip_prefix_contains(&subnet, &range.last))
		return -ERANGE;
	*ret = range;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int mac_addr_parse(const char *text, struct mac_addr *ret)
{
	struct mac_addr m;

	/* A text of exactly this length keeps every index used below within the text. */
	if (strlen(text) != MAC_ADDR_STR_MAX - 1)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(m.bytes); i++) {
		int high = hex_digit(text[3 * i]), low = hex_digit(text[3 * i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		if (i > 0 && text[3 * i - 1] != ':')
			return -EINVAL;
		m.bytes[i] = (uint8_t)(high << 4 | low);
	}
	*ret = m;
	return 0;
}

const char *ip_addr_format(const struct ip_addr *a, char *buf, size_t size)
{
	if (a->family == 0)
		snprintf(buf, size, "-");
	else if (!inet_ntop(a->family, a->bytes, buf, (socklen_t)size) && size > 0)
		buf[0] = '\0';
	return buf;
}

const char *ip_prefix_format(const struct ip_prefix *p, char *buf, size_t size)
{
	char addr[INET6_ADDRSTRLEN];

	snprintf(buf, size, "%s/%u", ip_addr_format(&p->addr, addr, sizeof(addr)), p->len);
	return buf;
}

const char *ip_range_format(const struct ip_range *r, char *buf, size_t size)
{
	char first[INET6_ADDRSTRLEN], last[INET6_ADDRSTRLEN];
	bool one = ip_addr_equal(&r->first, &r->last);
	char len[8] = "";

	ip_addr_format(&r->first, first, sizeof(first));
	ip_addr_format(&r->last, last, sizeof(last));
	if (r->prefix_len != ip_addr_bits(&r->first))
		snprintf(len, sizeof(len), "/%u", r->prefix_len);
	snprintf(buf, size, "%s%s%s%s", first, one ? "" : "-", one ? "" : last, len);
	return buf;
}

const char *mac_addr_format(const struct mac_addr *m, char *buf, size_t size)
{
	snprintf(buf, size, "%02x:%02x:%02x:%02x:%02x:%02x", m->bytes[0], m->bytes[1], m->bytes[2],
		 m->bytes[3], m->bytes[4], m->bytes[5]);
	return buf;
}

int ip_addr_cmp(const struct ip_addr *a, const struct ip_addr *b)
{
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	if (a->family == 0)
		return 0;
	/* Bytes in network order compare as the numbers do. Only the first four bytes of an IPv4
	 * address count. */
	return memcmp(a->bytes, b->bytes, address_bytes(a));
}

bool ip_addr_is_unusable(const struct ip_addr *a)
{
	if (a->family == AF_INET)
		return a->bytes[0] == 0 || a->bytes[0] == 127 || a->bytes[0] >= 224;
	if (a->family == AF_INET6) {
		static const uint8_t zeros[15];

		return a->bytes[0] == 0xff ||
		       (memcmp(a->bytes, zeros, sizeof(zeros)) == 0 && a->bytes[15] <= 1);
	}
	return false;
}

bool ip_addr_add(const struct ip_addr *a, uint64_t n, struct ip_addr *ret)
{
	struct ip_addr sum = *a;

	if (a->family == 0)
		return n == 0;
	for (unsigned i = address_bytes(a); n > 0 && i-- > 0;) {
		/* Adds the lowest byte of n; a carry is added to the remaining bytes of n. */
		unsigned v = sum.bytes[i] + (unsigned)(n & 0xff);

		sum.bytes[i] = (uint8_t)v;
		n >>= 8;
		if (v > 0xff)
			n++; /* n < 2^56 here, so this cannot overflow */
	}
	if (n > 0)
		return false;
	*ret = sum;
	return true;
}

struct ip_addr ip_addr_network(const struct ip_addr *a, unsigned len)
{
	struct ip_addr net = *a;

	for (unsigned i = 0; i < sizeof(net.bytes); i++) {
		unsigned bits = len > 8 * i ? MIN_OF(8U, len - 8 * i) : 0;

		net.bytes[i] &= (uint8_t)(0xff00U >> bits);
	}
	return net;
}

struct ip_addr ip_prefix_last(const struct ip_prefix *p)
{
	struct ip_addr last = p->addr;

	for (unsigned bit = p->len; bit < ip_addr_bits(&last); bit++)
		last.bytes[bit / 8] |= (uint8_t)(0x80U >> bit % 8);
	return last;
}

bool ip_prefix_contains(const struct ip_prefix *p, const struct ip_addr *a)
{
	struct ip_addr want, have;

	if (p->addr.family != a->family)
		return false;
	/* A prefix may be an interface's address, whose host bits are set. */
	want = ip_addr_network(&p->addr, p->len);
	have = ip_addr_network(a, p->len);
	return ip_addr_equal(&want, &have);
}

bool ip_range_contains(const struct ip_range *r, const struct ip_addr *a)
{
	return r->first.family == a->family && ip_addr_cmp(&r->first, a) <= 0 &&
	       ip_addr_cmp(a, &r->last) <= 0;
}

bool ip_range_overlaps(const struct ip_range *a, const struct ip_range *b)
{
	return a->first.family == b->first.family && ip_addr_cmp(&a->first, &b->last) <= 0 &&
	       ip_addr_cmp(&b->first, &a->last) <= 0;
}

uint64_t ip_range_count(const struct ip_range *r)
{
	unsigned n = address_bytes(&r->first);
	uint64_t high = 0, low = 0;
	int borrow = 0;

	/* Computes last - first byte by byte from the right; high and low hold the 128-bit
	 * difference. */
	for (unsigned i = n; i-- > 0;) {
		int v = r->last.bytes[i] - r->first.bytes[i] - borrow;
		unsigned shift = 8 * (n - 1 - i);

		borrow = v < 0;
		if (shift < 64)
			low |= (uint64_t)(uint8_t)v << shift;
		else
			high |= (uint64_t)(uint8_t)v << (shift - 64);
	}
	return high > 0 || low == UINT64_MAX ? UINT64_MAX : low + 1;
}

const struct mac_addr mac_addr_all_nodes = {{0x33, 0x33, 0, 0, 0, 1}};

struct mac_addr mac_addr_solicited(const struct ip_addr *ip)
{
	return (struct mac_addr){{0x33, 0x33, 0xff, ip->bytes[13], ip->bytes[14], ip->bytes[15]}};
}

int ip_addr_to_sockaddr(const struct ip_addr *a, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_storage ss = {0};
	int len;

	if (a->family == AF_INET) {
		struct sockaddr_in *in = (struct sockaddr_in *)&ss;

		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, a->bytes, 4);
		len = sizeof(*in);
	} else if (a->family == AF_INET6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;

		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		memcpy(&in6->sin6_addr, a->bytes, 16);
		len = sizeof(*in6);
	} else {
		return -EAFNOSUPPORT;
	}
	*ret = ss;
	return len;
}

int ip_addr_from_sockaddr(const struct sockaddr *sa, struct ip_addr *ret, uint16_t *ret_port)
{
	struct ip_addr a = {.family = (uint8_t)sa->sa_family};
	uint16_t port;
	int len;

	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)sa;

		memcpy(a.bytes, &in->sin_addr, 4);
		port = ntohs(in->sin_port);
		len = sizeof(*in);
	} else if (sa->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;

		memcpy(a.bytes, &in6->sin6_addr, 16);
		port = ntohs(in6->sin6_port);
		len = sizeof(*in6);
	} else {
		return -EAFNOSUPPORT;
	}
	*ret = a;
	if (ret_port)
		*ret_port = port;
	return len;
}
