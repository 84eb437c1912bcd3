/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of the host's carriers: the one place where it is kept. The monitor writes it, from
 * each inventory and from the kernel's notifications in between; the supervisor and the status read
 * it. It keeps every link, legs or not, so that a worker that is adopted before the first inventory
 * learns of its leg too; what an inventory no longer has is forgotten.
 */
#ifndef PLENUM_AGENT_CARRIERS_H
#define PLENUM_AGENT_CARRIERS_H

#include "netcfg/host/inventory.h"

struct carrier {
	uint32_t ifindex;
	bool up, carrier; /* administratively; as IFF_LOWER_UP says */
};

struct carriers {
	struct carrier *links; /* ascending ifindex */
	size_t n, cap;
};

void carriers_done(struct carriers *c);
/* NULL: nothing is known of that link. Good until the next change. */
const struct carrier *carriers_find(const struct carriers *c, uint32_t ifindex);
/* Whether packets can pass; a link of which nothing is known counts as usable. */
bool carriers_usable(const struct carriers *c, uint32_t ifindex);
/* Keeps a state. 1: whether the link is usable has changed; 0: it has not; -ENOMEM. */
int carriers_set(struct carriers *c, uint32_t ifindex, bool up, bool carrier);
/* Takes the states of all links of an inventory, calls cb for each whose usability has changed, and
 * forgets the links that it does not have. 0 or -ENOMEM. */
int carriers_take(struct carriers *c, const struct inventory *inv,
		  void (*cb)(void *user, const struct inv_link *link, bool usable), void *user);

#endif
