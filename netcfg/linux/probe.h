/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects whether another host on a link already has an address. It sends ARP probes (RFC 5227) or
 * the neighbour solicitations of duplicate address detection (RFC 4862) by packet sockets, before
 * the address is added to the link. It owns the sockets and changes nothing on the host.
 * kernel_linux alone uses it; the parsers need no sockets, so that tests and fuzzers can call them.
 */
#ifndef PLENUM_NETCFG_PROBE_H
#define PLENUM_NETCFG_PROBE_H

#include "netcfg/host/kernel.h"

struct probe_sockets {
	int arp, nd; /* packet sockets for ARP and neighbour discovery; -1: not open */
};
#define PROBE_SOCKETS_INIT     \
	(struct probe_sockets) \
	{                      \
		-1, -1         \
	}

/* Opens the sockets that are not open yet, in the caller's network namespace; needs CAP_NET_RAW.
 * Returns 0 or negative errno. */
int probe_open(struct probe_sockets *s);
void probe_close(struct probe_sockets *s);

/* Implements probe of struct kernel_ops. Returns -EBADF if the sockets are not open. */
int probe_run(const struct probe_sockets *s, struct kernel_probe *probes, size_t n,
	      const struct mac_addr *own, size_t n_own);

/* Writes the frame of a probe into buf and the MAC address of its destination into ret_to, and
 * returns its length. */
#define PROBE_BYTES_MAX 72
size_t probe_write(const struct kernel_probe *p, uint8_t buf[static PROBE_BYTES_MAX],
		   struct mac_addr *ret_to);
/* Like probe_write, but writes an announcement, from which other hosts learn that p->mac has p->ip.
 * This is an ARP announcement (RFC 5227, section 2.3) or an unsolicited neighbour advertisement
 * (RFC 4861, section 7.2.6). */
size_t probe_write_announcement(const struct kernel_probe *p, uint8_t buf[static PROBE_BYTES_MAX],
				struct mac_addr *ret_to);
/* Parse a packet that begins after the link header. Store the IP address that the sender of the
 * packet has or probes for, and the sender's MAC address. `from` is the source MAC address in the
 * link header. Return false if the packet contains no such address. */
bool probe_parse_arp(const uint8_t *p, size_t len, struct ip_addr *ret, struct mac_addr *ret_by);
bool probe_parse_nd(const uint8_t *p, size_t len, const struct mac_addr *from, struct ip_addr *ret,
		    struct mac_addr *ret_by);

#endif
