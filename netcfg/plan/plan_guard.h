/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether a link may be a data leg, and what the host would lose if the link went down.
 * plan_build calls this before it uses a device, `config generate` before it offers one. The
 * functions are pure: they read only the inventory.
 */
#ifndef PLENUM_NETCFG_PLAN_GUARD_H
#define PLENUM_NETCFG_PLAN_GUARD_H

#include "netcfg/base/reason.h"
#include "netcfg/host/inventory.h"

/*
 * Returns true and *ret if the link can never be a leg. Such a link is the management interface
 * (`management` is its name or ""), carries that interface, is a port of another link, or is a VRF
 * or the loopback.
 */
bool plan_link_refusal(const struct inventory *inv, const char *management,
		       const struct inv_link *link, struct reason *ret);
/*
 * Finds the most important dependency of the host on the link: a default route in any table or VRF
 * that is not Plenum's, an established connection, or a network file system. Returns true and *ret,
 * whose text begins with the link's name, or false if nothing depends on the link.
 */
bool plan_link_dependent(const struct inventory *inv, const struct inv_link *link,
			 struct reason *ret);
struct plan_builder;
/* Finds the most important dependency in the same way for a disruptive change, but ignores
 * dependencies that ctx->forced names. The caller adds the remedy to *ret. */
bool plan_link_guarded(struct plan_builder *b, const struct inv_link *link, struct reason *ret);
/* Returns whether ctx->forced names the link or the code of `why`, and marks that name as used. */
bool plan_is_forced(struct plan_builder *b, const struct inv_link *link, const struct reason *why);
/* Adds a warning to b->d for each name in ctx->forced that had no effect. */
void plan_forced_check(struct plan_builder *b);
/* Sets the reason for a link without a carrier. */
void plan_explain_carrier(const struct inv_link *link, struct reason *ret);
/* Returns whether traffic of `top` passes through `link`: both are the same, or `top` is a VLAN,
 * bridge or bond on it. */
bool plan_link_stands_on(const struct inventory *inv, const struct inv_link *top,
			 const struct inv_link *link);

#endif
