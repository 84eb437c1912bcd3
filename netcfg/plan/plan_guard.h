/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether a link may be a data leg and what the host would lose if the link went down.
 * plan_build asks before it uses a device, `config generate` before it offers one. Pure: reads
 * only the inventory.
 */
#ifndef PLENUM_NETCFG_PLAN_GUARD_H
#define PLENUM_NETCFG_PLAN_GUARD_H

#include "netcfg/base/reason.h"
#include "netcfg/host/inventory.h"

/*
 * Whether the link can never be a leg: it is or carries the management interface (a name; "":
 * none), it has a master, or it is the loopback. True and *ret; false: it can be one.
 */
bool plan_link_refusal(const struct inventory *inv, const char *management,
		       const struct inv_link *link, struct reason *ret);
/*
 * The most important dependency of the host on the link: a default route of any table or VRF that
 * is not ours, established connections, a network file system. True and *ret, whose text begins
 * with the link's name; false: no dependency.
 */
bool plan_link_dependent(const struct inventory *inv, const struct inv_link *link,
			 struct reason *ret);
struct plan_builder;
/* The same for a disruptive change, without dependencies that ctx->forced names. True and *ret, to
 * which the caller adds the remedy. */
bool plan_link_guarded(struct plan_builder *b, const struct inv_link *link, struct reason *ret);
/* Whether ctx->forced names the link or the code of `why`; marks the name as used. */
bool plan_is_forced(struct plan_builder *b, const struct inv_link *link, const struct reason *why);
/* Warns in b->d about names in ctx->forced that had no effect. */
void plan_forced_check(struct plan_builder *b);
/* The reason for a link without carrier. */
void plan_explain_carrier(const struct inv_link *link, struct reason *ret);
/* Whether traffic of `top` passes through `link`: it is the link itself or stacked on it (VLAN,
 * bridge, bond). */
bool plan_link_stands_on(const struct inventory *inv, const struct inv_link *top,
			 const struct inv_link *link);

#endif
