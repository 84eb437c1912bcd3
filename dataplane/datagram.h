/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UDP datagrams and their addresses: the interface between the transport and the ports. Plain
 * structures; nothing here allocates or owns memory.
 */
#ifndef PLENUM_DATAPLANE_DATAGRAM_H
#define PLENUM_DATAPLANE_DATAGRAM_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

#define DATAGRAM_HDR_MAX 80
/* maximum number of UDP source ports of one leg's port, including the port's main source port */
#define DATAGRAM_SOURCES_MAX 8U

struct datagram_addr {
	struct ip_addr ip;
	uint16_t port; /* UDP port in host byte order */
};

struct datagram { /* a datagram to send: a header, then the payload; either may be empty */
	uint8_t hdr[DATAGRAM_HDR_MAX];
	uint16_t hdr_len;
	uint16_t payload_len;
	bool alone;	/* the port must send this datagram alone, not in one system call with
			   others */
	uint8_t source; /* index of the port's UDP source port to send from; 0: the main one */
	const uint8_t *payload; /* the payload, which must not change until the port's flush
				   returns */
};

#endif
