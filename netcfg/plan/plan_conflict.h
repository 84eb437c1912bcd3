/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data IPs that other hosts use, found by probes before or after Plenum added them. A plan assigns
 * these IPs to no worker. The agent owns the list and removes old entries, because the other host
 * may have released the address.
 */
#ifndef PLENUM_NETCFG_PLAN_CONFLICT_H
#define PLENUM_NETCFG_PLAN_CONFLICT_H

#include "netcfg/plan/plan.h"

struct plan_conflict {
	struct ip_addr ip;
	char ifname[IFNAMSIZ]; /* the interface on which the probe was sent */
	bool known;	       /* whether `by`, the MAC address of the other host, is known */
	struct mac_addr by;
};

struct plan_conflicts {
	struct plan_conflict *entries;
	size_t n;
};

/* Adds a copy of e, or replaces the entry with the same address and link. Returns 0 or -ENOMEM. */
int plan_conflicts_add(struct plan_conflicts *c, const struct plan_conflict *e);
/* Returns the conflict about the address on that link, borrowed, or NULL if the address has no
 * conflict there. c may be NULL. */
const struct plan_conflict *plan_conflicts_find(const struct plan_conflicts *c,
						const struct ip_addr *ip, const char *ifname);
void plan_conflicts_done(struct plan_conflicts *c);
/* Writes a text such as "another host (02:00:00:00:00:07) already uses 10.1.1.10 on eth1"; returns
 * buf. */
const char *plan_conflict_describe(const struct plan_conflict *c, char *buf, size_t size);

#endif
