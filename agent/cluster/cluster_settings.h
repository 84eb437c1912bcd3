/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the settings that the monitor sends to the process of the role `cluster`. */
#ifndef PLENUM_AGENT_CLUSTER_SETTINGS_H
#define PLENUM_AGENT_CLUSTER_SETTINGS_H

#include "agent/cluster/cluster.h"

/* Returns the settings as JSON on the heap, with the password of etcd. On failure returns NULL, and
 * why has the reason. */
char *cluster_settings_make(const struct cluster_setup *setup, const struct spec *s,
			    struct reason *why);
/* Lists the names of the servers of this host's mounts. */
json_t *cluster_settings_servers(const struct spec *s);

#endif
