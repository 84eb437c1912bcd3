/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of the cluster's pools (networks[].pool) that this host owns, and the record of
 * them, so that an agent that starts without etcd uses the same addresses. The agent takes the
 * addresses and writes the record; plans read it. It is a record file (state_file.h) of the kind
 * "pools" with the lines:
 *
 *	cluster NAME HOST ID
 *	pool NAME RANGE GATEWAY MTU VLAN
 *	address IP
 *
 * The addresses of a pool follow the line of the pool, in the order of the worker ids; "-" means
 * none.
 */
#ifndef PLENUM_NETCFG_PLAN_POOLS_H
#define PLENUM_NETCFG_PLAN_POOLS_H

#include "netcfg/plan/planner.h"

#define PLAN_POOLS_FILE "pools" /* name of the file in the state directory */
#define PLAN_POOLS_ID_MAX 33

struct plan_pool {
	char name[PLENUM_NAME_MAX];
	struct ip_range range;	/* range of the whole pool; first.family 0: unknown */
	struct ip_addr gateway; /* family 0: the pool has no gateway */
	uint32_t mtu;		/* 0: the pool sets no MTU */
	uint16_t vlan;		/* 0: untagged */
	/* The addresses of this host. Entry i is for the worker with the id i + 1; family 0: that
	 * worker has none. */
	struct ip_addr *addrs;
	size_t n;
	/* the cluster's store has confirmed the addresses since the agent started */
	bool confirmed;
	/* why there are fewer addresses than workers; empty: the reason is unknown */
	struct reason why;
};

struct plan_pools {
	char cluster[PLENUM_NAME_MAX]; /* name of the cluster to which the pools belong */
	/* The host to which the addresses belong, and the id of its state directory in the cluster.
	 * Two hosts with copies of one state directory must not use the same addresses. */
	char host[PLENUM_NAME_MAX], id[PLAN_POOLS_ID_MAX];
	/* another host has registered this host's name, so plans must not use the record */
	bool withheld;
	struct plan_pool *all;
	size_t n;
};

/* Returns the pool with that name, borrowed, or NULL. p may be NULL. */
struct plan_pool *plan_pools_find(const struct plan_pools *p, const char *name);
/* Returns the pool of which the host has that address, borrowed, or NULL. */
struct plan_pool *plan_pools_of(const struct plan_pools *p, const struct ip_addr *ip);
/* Returns the pool with that name, which the function adds if necessary. Returns NULL if memory is
 * short. */
struct plan_pool *plan_pools_add(struct plan_pools *p, const char *name);
/* Removes the pool with that name, if there is one. */
void plan_pools_remove(struct plan_pools *p, const char *name);
void plan_pools_done(struct plan_pools *p);
/* Reads the record into p. If it is missing, p becomes empty. It also becomes empty if the record
 * is unreadable, with a warning in d that says what is lost. Returns 0 or -ENOMEM. */
int plan_pools_load(struct plan_pools *p, const char *path, struct diag *d);
/* Writes the record. Returns 0 or a negative errno of state_file.h. */
int plan_pools_save(const struct plan_pools *p, const char *path);

/* Returns the number of entries in the list that have an address. */
size_t plan_pool_count(const struct ip_addr *addrs, size_t n);
/* Returns whether the addresses belong to the cluster and the host of that configuration, and plans
 * may use them. */
bool plan_pools_are_of(const struct plan_pools *p, const struct spec *spec);
/* Returns how many addresses of its pool the network needs: one for each worker core; 0 if the
 * network has no pool or no leg uses it. */
size_t plan_pool_need(const struct spec *spec, const struct spec_network *network);
/* Makes a copy of the spec in which networks with a pool have the pool's values and addresses from
 * p. p may be NULL or of another cluster; these networks then stay without values. Returns 0 and
 * *ret_spec, or -ENOMEM. The caller frees the array of networks in *ret_spec; all other members are
 * borrowed from spec. */
int plan_pools_resolve(const struct spec *spec, const struct plan_pools *p, struct spec *ret_spec);
/* Describes why the network has fewer addresses than workers, and what to do. */
void plan_pool_reason(const struct plan_builder *b, const struct spec_network *network,
		      struct reason *why);

#endif
