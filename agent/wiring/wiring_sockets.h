/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps one socket per leg and address family open for the wiring watch, and passes each to the
 * role `lldp`, which parses the packets without privileges. Knows what each socket was opened for.
 */
#ifndef PLENUM_AGENT_WIRING_SOCKETS_H
#define PLENUM_AGENT_WIRING_SOCKETS_H

#include "agent/lldp/lldp.h"
#include "agent/wiring/wiring.h"

struct wiring_link_sockets { /* what a link's sockets were opened for */
	uint32_t ifindex;
	struct ip_addr watched[WIRING_ADDRESSES_MAX];
	size_t n;
};

struct wiring_sockets { /* zeros: none is open */
	struct wiring_link_sockets links[PLENUM_LEGS_MAX];
	size_t n;
};

/* Opens what w needs, and closes the rest. Opens a leg's sockets again only if its addresses
 * change, since that can lose packets. */
void wiring_sockets_update(struct wiring_sockets *s, const struct wiring *w, struct lldp *lldp);
/* The role `lldp` has started without sockets: gives them to it. */
void wiring_sockets_reopen(struct wiring_sockets *s, struct lldp *lldp);

#endif
