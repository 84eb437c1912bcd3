/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects whether another host on a link already has an address: ARP probes (RFC 5227) and the
 * neighbour solicitations of duplicate address detection (RFC 4862), sent by packet sockets before
 * the kernel has the address. Owns the sockets; changes nothing. Used by kernel_linux alone; the
 * parsers need no sockets, so that tests and fuzzers can feed them.
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

/* Opens the sockets that are not open yet, in the caller's namespace; needs CAP_NET_RAW. 0;
 * negative errno. */
int probe_open(struct probe_sockets *s);
void probe_close(struct probe_sockets *s);

/* struct kernel_ops' probe. -EBADF: the sockets are not open. */
int probe_run(const struct probe_sockets *s, struct kernel_probe *probes, size_t n,
	      const struct mac_addr *own, size_t n_own);

/* Writes the frame of a probe into buf, and its destination's MAC address into ret_to. */
#define PROBE_BYTES_MAX 72
size_t probe_write(const struct kernel_probe *p, uint8_t buf[static PROBE_BYTES_MAX],
		   struct mac_addr *ret_to);
/* The same for an announcement, by which hosts learn that p->mac has p->ip: an ARP announcement
 * (RFC 5227, section 2.3), or an unsolicited neighbour advertisement (RFC 4861, section 7.2.6). */
size_t probe_write_announcement(const struct kernel_probe *p, uint8_t buf[static PROBE_BYTES_MAX],
				struct mac_addr *ret_to);
/* Parses a packet behind its link header: the address that its sender has or claims, and in from
 * the link header's sender. False: it reveals neither. */
bool probe_parse_arp(const uint8_t *p, size_t len, struct ip_addr *ret, struct mac_addr *ret_by);
bool probe_parse_nd(const uint8_t *p, size_t len, const struct mac_addr *from, struct ip_addr *ret,
		    struct mac_addr *ret_by);

#endif
