/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of planners (one per mode of `ha`), NIC families, and transports other than kernel
 * sockets. Each of them is a const table in a separate file, and has one line in a list below. Each
 * program calls plugins_register() once, before its first plan_build.
 */
#ifndef PLENUM_PLUGINS_PLUGINS_H
#define PLENUM_PLUGINS_PLUGINS_H

#include "netcfg/plan/backend.h"
#include "netcfg/plan/nic.h"
#include "netcfg/plan/planner.h"

/* All planners, NIC families and back ends, one line each. */
#define PLUGINS_PLANNERS(X)      \
	X(ha_none_planner)       \
	X(ha_dual_leg_planner)   \
	X(ha_lacp_planner)       \
	X(ha_static_lag_planner) \
	X(ha_active_backup_planner)
#define PLUGINS_NICS(X)    \
	X(nic_intel_igb)   \
	X(nic_intel_ixgbe) \
	X(nic_intel_i40e)  \
	X(nic_intel_ice)   \
	X(nic_mlx5)
#define PLUGINS_BACKENDS(X) \
	X(backend_dpdk_vf)  \
	X(backend_dpdk_interrupt_vf)

#define PLUGINS_PLANNER(name) extern const struct planner_ops name;
#define PLUGINS_NIC(name) extern const struct nic_family name;
#define PLUGINS_BACKEND(name) extern const struct backend name;
PLUGINS_PLANNERS(PLUGINS_PLANNER)
PLUGINS_NICS(PLUGINS_NIC)
PLUGINS_BACKENDS(PLUGINS_BACKEND)

/* For the checks of planners: adds an error about `key` of the i-th data device, such as
 * "net[leg-a].network: ...". */
__attribute__((format(printf, 5, 6))) void ha_net_error(struct diag *d, const struct spec *s,
							size_t i, const char *key, const char *fmt,
							...);
/* Rejects settings of ha.bond, because the mode creates no bond. */
void ha_refuse_bond(const struct spec *s, struct diag *d);
/* Rejects ha.hold, because the mode does not use it. */
void ha_refuse_hold(const struct spec *s, struct diag *d);

/* Mode active-backup of devices with VFs (ha_backup_vf.c). ha_is_backup_of_vfs(): whether the spec
 * has this mode. The other functions belong to its planner. */
bool ha_is_backup_of_vfs(const struct spec *s);
void ha_backup_vf_check(const struct spec *s, struct diag *d);
int ha_backup_vf_legs(struct plan_builder *b);

/* Registers all planners, NIC families, back ends and features of legs with the plan. */
void plugins_register(void);

#endif
