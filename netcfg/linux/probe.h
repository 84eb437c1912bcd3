/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether another host on a link has an address already: ARP probes (RFC 5227) and the neighbour
 * solicitations of duplicate detection (RFC 4862), sent by packet sockets before the kernel has the
 * address. Owns the sockets; changes nothing. Used by kernel_linux alone; the parsers are apart
 * from the sockets so that tests and fuzzers can feed them.
 */
#ifndef PLENUM_NETCFG_PROBE_H
#define PLENUM_NETCFG_PROBE_H

#include "netcfg/host/kernel.h"

struct probe_sockets {
	int arp, nd; /* -1: not open */
};
#define PROBE_SOCKETS_INIT     \
	(struct probe_sockets) \
	{                      \
		-1, -1         \
	}

/* Opens those that are not open, in the caller's namespace; needs CAP_NET_RAW. 0; negative errno.
 */
int probe_open(struct probe_sockets *s);
void probe_close(struct probe_sockets *s);

/* struct kernel_ops' probe. -EBADF: the sockets are not open. */
int probe_run(const struct probe_sockets *s, struct kernel_probe *probes, size_t n,
	      const struct mac_addr *own, size_t n_own);

/* Bytes of a probe for that address from that station into buf; the destination's station into
 * ret_to. */
#define PROBE_BYTES_MAX 64
size_t probe_write(const struct ip_addr *ip, const struct mac_addr *from,
		   uint8_t buf[static PROBE_BYTES_MAX], struct mac_addr *ret_to);
/* Which address the sender of a packet has or wants to have itself, by the packet behind its link
 * header. from: the link header's sender. False: it says nothing of that. */
bool probe_parse_arp(const uint8_t *p, size_t len, struct ip_addr *ret, struct mac_addr *ret_by);
bool probe_parse_nd(const uint8_t *p, size_t len, const struct mac_addr *from, struct ip_addr *ret,
		    struct mac_addr *ret_by);

#endif
