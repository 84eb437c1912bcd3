/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of planners (one per mode of `ha`), NIC families and transports beside the kernel's
 * sockets. Each is a const table in its own file; plugins.c lists them. Each program calls
 * plugins_register() once, before its first plan_build.
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

/* For planners' checks: adds an error of the i-th data device, "net[leg-a].network: ...". */
__attribute__((format(printf, 5, 6))) void ha_net_error(struct diag *d, const struct spec *s,
							size_t i, const char *key, const char *fmt,
							...);
/* Rejects settings of ha.bond: the mode creates no bond. */
void ha_refuse_bond(const struct spec *s, struct diag *d);
/* Rejects ha.hold: the mode does not use it. */
void ha_refuse_hold(const struct spec *s, struct diag *d);

/* active-backup of devices with VFs (ha_backup_vf.c): whether the spec is that, and the parts of
 * its planner. */
bool ha_is_backup_of_vfs(const struct spec *s);
void ha_backup_vf_check(const struct spec *s, struct diag *d);
int ha_backup_vf_legs(struct plan_builder *b);

extern const struct nic_family nic_intel_igb, nic_intel_ixgbe, nic_intel_i40e, nic_intel_ice,
	nic_mlx5;

extern const struct backend backend_dpdk_vf, backend_dpdk_interrupt_vf;

/* Registers all planners, families, back ends and the features of a leg with plan_build. */
void plugins_register(void);

#endif
