/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 'plenum join' and 'plenum cluster invite'. An invitation is a file with all data that a new host
 * needs to join its cluster. 'plenum join' asks the cluster's etcd for the pools, makes a
 * configuration, and makes the agent apply it. Only the files of this folder include this header.
 */
#ifndef PLENUM_AGENT_CTL_JOIN_H
#define PLENUM_AGENT_CTL_JOIN_H

#include "agent/cluster/pools/pool.h"
#include "agent/ctl/ctl.h"
#include "netcfg/base/files/identity.h"
#include "netcfg/host/inventory.h"
#include "netcfg/spec/spec.h"

#define JOIN_CA_FILE PLENUM_SYSCONFDIR "/etcd-ca.pem"
#define JOIN_PASSWORD_FILE PLENUM_SYSCONFDIR "/etcd.password"
#define JOIN_FILE_BYTES_MAX (256U << 10)

/* The data about the cluster from an invitation and from the command line. Texts are borrowed from
 * `all`. */
struct invitation {
	json_t *all;
	const char *cluster, *ca, *user, *password, *security, *secret; /* NULL: not given */
	const json_t *etcd; /* list of URLs; NULL: not given */
	/* The permission for a host's identity (join_identity.c). Either all of these members are
	 * set, or none. */
	const char *host, *identity, *authority, *permission, *once;
	const json_t *legs; /* list of {"pool", "match"}; NULL: not given */
};

/* ---- join_invitation.c ---- */

/* Reads an invitation and the URL of the command line, which comes before those of the invitation.
 * Returns CTL_OK, or another exit status after printing the error. */
int invitation_read(const char *file, const char *url, const char *cluster, struct invitation *ret);
void invitation_done(struct invitation *i); /* wipes the secrets */

/* Makes the members of an invitation that come from this host's configuration: the cluster, and the
 * access to etcd. The caller calls invitation_use(), and later invitation_done(). */
int invitation_make(const struct spec *s, unsigned long valid_s, json_t **ret);
/* Sets the members from all. */
void invitation_use(struct invitation *i, json_t *all);

/* ---- join_permit.c ---- */

#define JOIN_SIGNER_FILE PLENUM_SYSCONFDIR "/cluster.signer"

/* Reads the cluster's signing key. Returns CTL_OK, or another exit status after printing the error.
 */
int join_signer_read(struct identity_pair *ret);
/* Returns in *ret an epoch that is at least `least`, and later than every epoch that this host has
 * signed with the key in this file. The clock alone does not suffice, because it may be set back.
 * Writes the epoch to the disk. Returns CTL_OK, or another exit status after printing the error. */
int join_signer_epoch(uint64_t least, uint64_t *ret);
/* Adds a permission for that host to an invitation, signed by the key of this host. */
int join_identity_permit(const struct spec *s, const char *host, json_t *to);

/* ---- join_identity.c ---- */

/* Makes the key pair and certificate of this host in the folder. */
int join_identity_make(const struct invitation *i, const char *host, const char *dir);

/* ---- join_pools.c ---- */

/* Opens the store of the invitation's cluster. Returns 0 or negative errno. */
int join_store_open(const struct invitation *i, struct loop *loop, struct kv **ret);
/* Prints why the store has not answered and what to do about it. Returns the exit status. */
int join_store_complain(const struct invitation *i, const struct kv_answer *a);

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
