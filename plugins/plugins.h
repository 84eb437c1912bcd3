/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of what differs by site: the planners of the modes of `ha`, what is known of
 * families of NICs, and the ways in which workers send beside the kernel's sockets. Each is a const
 * table in a file of its own; this is the one place that lists them. Owns nothing, never looks at a
 * host. Called by each program once, before its first plan_build.
 */
#ifndef PLENUM_PLUGINS_PLUGINS_H
#define PLENUM_PLUGINS_PLUGINS_H

#include "netcfg/plan/backend.h"
#include "netcfg/plan/nic.h"
#include "netcfg/plan/planner.h"

extern const struct planner_ops ha_none_planner;
extern const struct planner_ops ha_dual_leg_planner;
extern const struct planner_ops ha_lacp_planner;
extern const struct planner_ops ha_active_backup_planner;

/* For the planners' checks: an error of the i-th data device, "net[1].network: ...". */
__attribute__((format(printf, 5, 6))) void ha_net_error(struct diag *d, const struct spec *s,
							size_t i, const char *key, const char *fmt,
							...);
/* Refuses what the file says of a bond: the mode makes none. */
void ha_refuse_bond(const struct spec *s, struct diag *d);
/* Refuses ha.hold: nothing of this mode waits for it. */
void ha_refuse_hold(const struct spec *s, struct diag *d);

/* active-backup of devices that have VFs (ha_backup_vf.c): whether it is that, and the parts of its
 * planner. */
bool ha_is_backup_of_vfs(const struct spec *s);
void ha_backup_vf_check(const struct spec *s, struct diag *d);
int ha_backup_vf_legs(struct plan_builder *b);
/* Of dual-leg, for whose devices are all legs. */
int ha_dual_leg_legs(struct plan_builder *b);
int ha_dual_leg_want(struct plan_builder *b);

extern const struct nic_family nic_intel_igb, nic_intel_ixgbe, nic_intel_i40e, nic_intel_ice,
	nic_mlx5;

extern const struct backend backend_dpdk_vf, backend_dpdk_interrupt_vf;

/* Makes all planners, families and back ends known to plan_build. */
void plugins_register(void);

#endif
