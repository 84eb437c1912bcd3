/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps one socket per leg and address family open for the wiring watch, and passes each to the
 * role `lldp`, which parses the packets without privileges. Remembers the addresses that each
 * socket was opened for.
 */
#ifndef PLENUM_AGENT_WIRING_SOCKETS_H
#define PLENUM_AGENT_WIRING_SOCKETS_H

#include "agent/lldp/lldp.h"
#include "agent/wiring/wiring.h"

struct wiring_link_sockets { /* the addresses that a link's sockets were opened for */
	uint32_t ifindex;
	struct ip_addr watched[WIRING_ADDRESSES_MAX];
	size_t n;
};

struct wiring_sockets { /* zeroed: no socket is open */
	struct wiring_link_sockets links[PLENUM_LEGS_MAX];
	size_t n;
};

/* Opens the sockets that w needs, and closes all other sockets. A leg's sockets are replaced only
 * if its addresses change, since replacing them can lose packets. */
void wiring_sockets_update(struct wiring_sockets *s, const struct wiring *w, struct lldp *lldp);
/* Call when the role `lldp` has started and so has no sockets: passes the sockets to it. */
void wiring_sockets_reopen(struct wiring_sockets *s, struct lldp *lldp);

#endif
