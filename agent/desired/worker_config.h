/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the desired configurations of a plan's workers, and puts the cluster's keys into them. Owns
 * nothing; only secrets_fill reads a file.
 */
#ifndef PLENUM_AGENT_WORKER_CONFIG_H
#define PLENUM_AGENT_WORKER_CONFIG_H

#include "agent/cluster/servers.h"
#include "agent/supervise/supervise.h"
#include "dataplane/launch.h"
#include "netcfg/base/log.h"
#include "netcfg/plan/plan.h"

/* Makes the configurations of a plan's workers, a heap array that the caller frees. servers: those
 * that the cluster knows, for mounts from hosts that are not in peers; NULL: none. A mount from a
 * server of the cluster whose addresses are unknown has none. Returns 0, -ENOMEM, or
 * -EINVAL with reasons in d. */
int worker_config_build(const struct spec *spec, const struct plan *plan,
			const struct servers *servers, enum log_level level, struct diag *d,
			struct launch_config **ret, size_t *ret_n);

/* Adds the addresses of lm->peer to lm, which has none. Returns false if the host is unknown; true
 * without addresses if the cluster may report them later. */
bool worker_config_add_addrs(const struct spec *spec, const struct plan *plan,
			     const struct servers *servers, struct launch_mount *lm);

/* Gives each mount that has no addresses those that the same mount, from the same export of the
 * same host, has in `from`. A mount that has them keeps working while the cluster's store is away,
 * and after the cluster's name has changed; any other mount waits. */
void mounts_keep_addrs(const struct launch_config *from, struct launch_config *desired, size_t n);
/* Does so from the configurations of all processes and workers, also of those that an earlier agent
 * started. */
void mounts_keep_running_addrs(const struct sup *sup, struct launch_config *desired, size_t n);

/* Reads the cluster's keys from their file into the n desired configurations. Returns 0, or -EINVAL
 * with the reason in d. */
int secrets_fill(const struct spec *spec, struct diag *d, struct launch_config *desired, size_t n);
/* Copies the cluster keys from a running worker's configuration instead of reading the file. */
void secrets_keep(const struct launch_config *from, struct launch_config *desired, size_t n);

#endif
