/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The carriers of the host's links. The monitor writes the table, from each inventory and from the
 * kernel's notifications in between; the supervisor and the status read it. The table has all links
 * of the host, not only those of legs. A worker may be adopted before the first inventory, and then
 * needs the carrier of its leg. Links that a new inventory lacks are dropped.
 */
#ifndef PLENUM_AGENT_CARRIERS_H
#define PLENUM_AGENT_CARRIERS_H

#include "netcfg/host/inventory.h"

struct carrier {
	uint32_t ifindex;
	bool up, carrier; /* up: administrative state; carrier: IFF_LOWER_UP */
};

struct carriers {
	struct carrier *links; /* sorted by ifindex */
	size_t n;
};

void carriers_done(struct carriers *c);
/* Returns the state of a link, or NULL if the link is unknown. The pointer is valid until the next
 * change. */
const struct carrier *carriers_find(const struct carriers *c, uint32_t ifindex);
/* Returns whether the link can carry packets. A link that is not in the table counts as usable. */
bool carriers_usable(const struct carriers *c, uint32_t ifindex);
/* Stores the state of a link. Returns 1 if the link became usable or unusable, 0 if not, or
 * -ENOMEM. */
int carriers_set(struct carriers *c, uint32_t ifindex, bool up, bool carrier);
/* Stores the states of all links of an inventory. Calls cb for each link that became usable or
 * unusable, and drops the links that the inventory lacks. Returns 0 or -ENOMEM. */
int carriers_take(struct carriers *c, const struct inventory *inv,
		  void (*cb)(void *user, const struct inv_link *link, bool usable), void *user);

#endif
