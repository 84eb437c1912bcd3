/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses, prints and compares IP addresses, prefixes, ranges and MAC addresses. All these types are
 * plain values without heap memory. IPv4 and IPv6 are treated alike; texts have the form of
 * inet_ntop(3).
 */
#ifndef PLENUM_NETCFG_ADDR_H
#define PLENUM_NETCFG_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* enough for an address, address/prefix or [address]:port, and the NUL */
#define IP_ADDR_STR_MAX 64
#define IP6_MTU_MIN 1280U   /* minimum MTU of IPv6 in bytes (RFC 8200, section 5) */
#define MAC_ADDR_STR_MAX 18 /* 00:11:22:33:44:55 and the NUL */

struct ip_addr {
	uint8_t family;	   /* AF_INET, AF_INET6; 0: no address */
	uint8_t bytes[16]; /* network byte order; IPv4 uses the first four, the rest are 0 */
};

struct ip_prefix {
	struct ip_addr addr; /* host bits may be set, as in an interface address */
	uint8_t len;	     /* bits: 0-32 or 0-128 */
};

/* first <= last, both of the same family; `prefix_len` is the prefix length of their subnet. */
struct ip_range {
	struct ip_addr first, last;
	uint8_t prefix_len;
};

struct mac_addr {
	uint8_t bytes[6];
};

/* The parsing functions parse all of `text`. They return 0; if the text is invalid, they return
 * -EINVAL and leave *ret unchanged. */
int ip_addr_parse(const char *text, struct ip_addr *ret);
int ip_prefix_parse(const char *text, struct ip_prefix *ret);
/* Parses "FIRST-LAST/LEN", "ADDR/LEN" (a range of one address), "FIRST-LAST" or "ADDR" (without
 * /LEN, prefix_len is the address length). Returns -EINVAL for another form, -ERANGE if LAST is
 * before FIRST or outside the subnet. */
int ip_range_parse(const char *text, struct ip_range *ret);
int mac_addr_parse(const char *text, struct mac_addr *ret);

/* The printing functions write to buf and return buf. IP_ADDR_STR_MAX or MAC_ADDR_STR_MAX bytes are
 * always enough. */
const char *ip_addr_format(const struct ip_addr *a, char *buf, size_t size);
const char *ip_prefix_format(const struct ip_prefix *p, char *buf, size_t size);
const char *ip_range_format(const struct ip_range *r, char *buf, size_t size);
const char *mac_addr_format(const struct mac_addr *m, char *buf, size_t size);

/* Returns <0, 0 or >0 like memcmp(3); IPv4 sorts before IPv6. */
int ip_addr_cmp(const struct ip_addr *a, const struct ip_addr *b);
static inline bool ip_addr_equal(const struct ip_addr *a, const struct ip_addr *b)
{
	return ip_addr_cmp(a, b) == 0;
}
static inline unsigned ip_addr_bits(const struct ip_addr *a)
{
	return a->family == AF_INET ? 32 : 128;
}
/* Link-local addresses, fe80::/10, are valid only together with an interface. */
static inline bool ip_addr_is_link_local(const struct ip_addr *a)
{
	return a->family == AF_INET6 && a->bytes[0] == 0xfe && (a->bytes[1] & 0xc0) == 0x80;
}
/* Returns whether no other host can have the address: it is a loopback, multicast, broadcast,
 * unspecified or reserved one. */
bool ip_addr_is_unusable(const struct ip_addr *a);
/* Computes a + n. Returns false if the result is not an address of the family. */
bool ip_addr_add(const struct ip_addr *a, uint64_t n, struct ip_addr *ret);
/* Returns `a` with all bits after the first `len` cleared. */
struct ip_addr ip_addr_network(const struct ip_addr *a, unsigned len);
/* Returns the last address of the prefix: all bits after its length are set. */
struct ip_addr ip_prefix_last(const struct ip_prefix *p);
bool ip_prefix_contains(const struct ip_prefix *p, const struct ip_addr *a);
bool ip_range_contains(const struct ip_range *r, const struct ip_addr *a);
bool ip_range_overlaps(const struct ip_range *a, const struct ip_range *b);
/* Returns the number of addresses, or UINT64_MAX if there are more. */
uint64_t ip_range_count(const struct ip_range *r);

/* Multicast destination MAC addresses of IPv6 (RFC 2464, section 7): for all nodes (ff02::1), and
 * for the solicited-node group of an address (RFC 4291, section 2.7.1). */
extern const struct mac_addr mac_addr_all_nodes;
struct mac_addr mac_addr_solicited(const struct ip_addr *ip);

/* Convert to and from socket addresses; `port` is in host byte order. ip_addr_to_sockaddr() returns
 * the length, or -EAFNOSUPPORT if the family is neither IPv4 nor IPv6. */
int ip_addr_to_sockaddr(const struct ip_addr *a, uint16_t port, struct sockaddr_storage *ret);
int ip_addr_from_sockaddr(const struct sockaddr *sa, struct ip_addr *ret, uint16_t *ret_port);

#endif
