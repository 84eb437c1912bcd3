/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A UDP datagram and where it goes: all that a port needs to know of the transport above it, and
 * all that the transport says of the port below. Plain values; nothing here allocates or owns.
 */
#ifndef PLENUM_DATAPLANE_DATAGRAM_H
#define PLENUM_DATAPLANE_DATAGRAM_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

#define DATAGRAM_HDR_MAX 80
#define DATAGRAM_SOURCES_MAX 8U /* UDP ports that one port of a leg sends from, with its own */

struct datagram_addr {
	struct ip_addr ip;
	uint16_t port; /* UDP, host order */
};

struct datagram { /* one to send; without a header it is all in the payload */
	uint8_t hdr[DATAGRAM_HDR_MAX];
	uint16_t hdr_len;
	uint16_t payload_len;
	bool alone;		/* it leaves in a send of its own */
	uint8_t source;		/* which of the port's own addresses it leaves by; 0: the first */
	const uint8_t *payload; /* stays valid until the port's flush returns */
};

#endif
