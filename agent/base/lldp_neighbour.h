/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a neighbour announces in an LLDP frame, as plain values. The role `lldp` sends these values
 * to the monitor (privsep.h), which keeps them in the table of neighbours.
 */
#ifndef PLENUM_AGENT_LLDP_NEIGHBOUR_H
#define PLENUM_AGENT_LLDP_NEIGHBOUR_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

#define LLDP_TEXT_MAX 128

enum lldp_capability { /* enabled capabilities, with the bit numbers of 802.1AB */
		       LLDP_CAP_BRIDGE = 1 << 2,
		       LLDP_CAP_ROUTER = 1 << 4,
		       LLDP_CAP_STATION = 1 << 7,
};

#define LLDP_PFC_SAID 0x100

/*
 * Texts are printable ASCII without quotes and backslashes. Other bytes are shown as hexadecimal
 * digits. A long text is cut and ends with a hash of the whole text, so that different texts stay
 * different. A value that is absent is "" or 0.
 */
struct lldp_neighbour {
	char chassis[LLDP_TEXT_MAX]; /* a MAC has the form 00:1b:21:aa:bb:cc */
	char port[LLDP_TEXT_MAX];
	char name[LLDP_TEXT_MAX];	/* name of the system */
	char port_about[LLDP_TEXT_MAX]; /* description of the port */
	struct ip_addr management;	/* the first IP address; family 0: none */
	/* Seconds for which the values are valid; 0: the neighbour announces that it leaves, and
	 * the other values are absent. */
	uint16_t ttl_s;
	uint16_t vlan;	       /* VLAN of untagged frames (802.1 PVID) */
	uint16_t mtu;	       /* largest frame in bytes (802.3) */
	uint16_t capabilities; /* enabled capabilities */
	/* Bit N: the neighbour's port has priority flow control (PFC) enabled for priority N.
	 * LLDP_PFC_SAID: it announced PFC at all, by 802.1Qaz or the older CEE DCBX. */
	uint16_t pfc;
	uint32_t aggregation; /* aggregation group of the port; 0: none */
};

#endif
