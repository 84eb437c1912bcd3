/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses that an ARP or neighbour discovery packet claims or asks for, as plain values. The
 * role `lldp` parses the packet and sends these values to the monitor (privsep.h).
 */
#ifndef PLENUM_AGENT_ADDRESS_CLAIM_H
#define PLENUM_AGENT_ADDRESS_CLAIM_H

#include "netcfg/base/addr.h"

struct address_claim {
	struct ip_addr sender; /* the sender's address; family 0: it has none yet */
	/* The address that the sender asks for; family 0: it asks for none. */
	struct ip_addr target;
	struct mac_addr by;   /* MAC address of the sender, as the packet gives it */
	struct mac_addr from; /* source of the Ethernet frame */
};

#endif
