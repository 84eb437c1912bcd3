/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the commands about the cluster: a list that the agent keeps of the cluster. */
#ifndef PLENUM_AGENT_CTL_CLUSTER_H
#define PLENUM_AGENT_CTL_CLUSTER_H

#include "agent/ctl/ctl.h"

/* Prints a list of the cluster: by `print`, with the resource's columns, or as JSON. Returns the
 * exit status. */
int ctl_cluster_list(const struct ctl_args *a, enum resource_id id,
		     int (*print)(const struct ctl_args *a, const json_t *list,
				  const char *columns));

#endif
