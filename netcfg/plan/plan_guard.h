/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of the host depends on a link: the one place that says whether a link may be a data leg, and
 * what would suffer if it were interrupted. plan_build asks before it takes a device, `config
 * generate` before it offers one. Pure: it looks at the inventory only.
 */
#ifndef PLENUM_NETCFG_PLAN_GUARD_H
#define PLENUM_NETCFG_PLAN_GUARD_H

#include "netcfg/base/reason.h"
#include "netcfg/host/inventory.h"

/*
 * Whether no leg can be made of the link, whatever would be changed on it: it is, or carries, the
 * management interface (a name, "" where none is named), it is enslaved, it is the loopback. True
 * and *ret; false: it may be one.
 */
bool plan_link_refusal(const struct inventory *inv, const char *management,
		       const struct inv_link *link, struct reason *ret);
/*
 * The first thing of the host that would suffer if the link went down for a moment: a default route
 * of any table or VRF that is not ours, established connections, a network file system. True and
 * *ret, whose text begins with the link's name; false: nothing depends on it.
 */
bool plan_link_dependent(const struct inventory *inv, const struct inv_link *link,
			 struct reason *ret);
struct plan_builder;
/* The same where something is to be interrupted that ctx->forced does not name: true and *ret,
 * which is to be followed by what else could be written. */
bool plan_link_guarded(struct plan_builder *b, const struct inv_link *link, struct reason *ret);
/* Whether ctx->forced names the link or the code of `why`; noted as used. */
bool plan_is_forced(struct plan_builder *b, const struct inv_link *link, const struct reason *why);
/* Says in b->d which of ctx->forced named nothing that was in the way. */
void plan_forced_check(struct plan_builder *b);
/* The reason of a link without a carrier. */
void plan_explain_carrier(const struct inv_link *link, struct reason *ret);
/* Whether traffic of `top` passes `link`: it is the link itself, or is stacked on it (VLAN, bridge,
 * bond). */
bool plan_link_stands_on(const struct inventory *inv, const struct inv_link *top,
			 const struct inv_link *link);

#endif
