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

/* Makes the configurations of a plan's workers, a heap array that the caller frees. servers: the
 * servers that the cluster knows, for mounts from hosts that `peers` does not list; NULL: none. If
 * the addresses of such a server are unknown, the mount gets none. Returns 0, -ENOMEM, or -EINVAL
 * with reasons in d. */
int worker_config_build(const struct spec *spec, const struct plan *plan,
			const struct servers *servers, enum log_level level, struct diag *d,
			struct launch_config **ret, size_t *ret_n);

/* Adds the addresses of the server lm->peer to lm, which has no addresses yet. Returns false if the
 * host is unknown. Returns true without adding addresses if the cluster may report them later. */
bool worker_config_add_addrs(const struct spec *spec, const struct plan *plan,
			     const struct servers *servers, struct launch_mount *lm);

/* For each desired mount without addresses: copies the addresses from the same mount (same export
 * of the same host) in `from`, if it has any. With these addresses, the mount keeps working while
 * the cluster's store cannot be reached and after a change of the cluster's name. A mount without
 * addresses waits. */
void mounts_keep_addrs(const struct launch_config *from, struct launch_config *desired, size_t n);
/* Calls mounts_keep_addrs() with the configurations of all running workers and worker processes,
 * including those of an earlier agent. */
void mounts_keep_running_addrs(const struct sup *sup, struct launch_config *desired, size_t n);

/* Reads the cluster's keys from their file into the n desired configurations. Returns 0, or -EINVAL
 * with the reason in d. */
int secrets_fill(const struct spec *spec, struct diag *d, struct launch_config *desired, size_t n);
/* Copies the cluster keys from a running worker's configuration instead of reading the file. */
void secrets_keep(const struct launch_config *from, struct launch_config *desired, size_t n);

#endif
