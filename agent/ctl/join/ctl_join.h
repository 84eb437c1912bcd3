/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 'plenum join' and 'plenum cluster invite': an invitation is a file with all that a new host must
 * know of its cluster; a join asks the cluster's etcd for the pools, makes a configuration and has
 * the agent apply it. Only the files of this folder include this header.
 */
#ifndef PLENUM_AGENT_CTL_JOIN_H
#define PLENUM_AGENT_CTL_JOIN_H

#include "agent/cluster/pool.h"
#include "agent/ctl/ctl.h"
#include "netcfg/host/inventory.h"

#define JOIN_CA_FILE PLENUM_SYSCONFDIR "/etcd-ca.pem"
#define JOIN_PASSWORD_FILE PLENUM_SYSCONFDIR "/etcd.password"
#define JOIN_FILE_BYTES_MAX (256U << 10)

/* What an invitation, or the command line, says of the cluster. Texts are borrowed from `all`. */
struct invitation {
	json_t *all;
	const char *cluster, *ca, *user, *password, *security, *secret; /* NULL: not given */
	const json_t *etcd; /* list of URLs; NULL: not given */
	const json_t *legs; /* list of {"pool", "match"}; NULL: not given */
};

/* ---- join_invitation.c ---- */

/* Reads an invitation and the URL of the command line, which comes before those of the invitation.
 * Returns CTL_OK, or another exit status after printing the error. */
int invitation_read(const char *file, const char *url, const char *cluster, struct invitation *ret);
void invitation_done(struct invitation *i); /* wipes the secrets */

/* ---- join_pools.c ---- */

/* Asks etcd for the pools of the cluster. *ret_pools is on the heap. Returns CTL_OK, or another
 * exit status after printing the error. */
int join_pools_read(const struct invitation *i, struct cluster_pool **ret_pools, size_t *ret_n);

/* ---- join_config.c ---- */

/* Makes the configuration of this host. *ret is on the heap. Returns CTL_OK, or another exit status
 * after printing the error. */
int join_config_make(const struct ctl_args *a, const struct invitation *i,
		     const struct cluster_pool *pools, size_t n, const struct inventory *inv,
		     char **ret);

#endif
