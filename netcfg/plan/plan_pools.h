/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses that this host has of the cluster's address pools (networks[].pool), and the record
 * of them, so that a start without etcd uses the same addresses. The agent takes them and writes
 * the record; plans read it. It is a record file (state_file.h) of the kind "pools" with the lines:
 *
 *	cluster NAME HOST ID
 *	pool NAME RANGE GATEWAY MTU VLAN
 *	address IP
 *
 * The addresses of a pool follow its line in the order of the worker ids; "-" means none.
 */
#ifndef PLENUM_NETCFG_PLAN_POOLS_H
#define PLENUM_NETCFG_PLAN_POOLS_H

#include "netcfg/plan/planner.h"

#define PLAN_POOLS_FILE "pools" /* in the state directory */
#define PLAN_POOLS_ID_MAX 33

struct plan_pool {
	char name[PLENUM_NAME_MAX];
	struct ip_range range;	/* of the whole pool; first.family 0: not known */
	struct ip_addr gateway; /* family 0: none */
	uint32_t mtu;		/* 0: none */
	uint16_t vlan;		/* 0: untagged */
	/* Of this host; entry i belongs to the worker with the id i + 1. Family 0: it has none. */
	struct ip_addr *addrs;
	size_t n;
	bool confirmed;	   /* by the cluster's store, since the agent has started */
	struct reason why; /* why there are fewer addresses than workers; empty: not known */
};

struct plan_pools {
	char cluster[PLENUM_NAME_MAX]; /* of which cluster the pools are */
	/* Of which host the addresses are: a copied state directory must not make two hosts use
	 * them. id: that of the state directory in the cluster. */
	char host[PLENUM_NAME_MAX], id[PLAN_POOLS_ID_MAX];
	bool withheld; /* another host has the name of this one, so no plan uses the record */
	struct plan_pool *all;
	size_t n;
};

/* Returns the pool, borrowed, or NULL. p may be NULL. */
struct plan_pool *plan_pools_find(const struct plan_pools *p, const char *name);
/* Returns the pool, which it adds if necessary, or NULL if memory is short. */
struct plan_pool *plan_pools_add(struct plan_pools *p, const char *name);
/* Removes the pool, if there is one. */
void plan_pools_remove(struct plan_pools *p, const char *name);
void plan_pools_done(struct plan_pools *p);
/* Reads the record into p. If it is missing, p becomes empty. It also becomes empty if the record
 * is unreadable, with a warning in d that says what is lost. Returns 0 or -ENOMEM. */
int plan_pools_load(struct plan_pools *p, const char *path, struct diag *d);
/* Returns 0 or negative errno, as of state_file.h. */
int plan_pools_save(const struct plan_pools *p, const char *path);

/* Returns the number of addresses in the list that are not missing. */
size_t plan_pool_count(const struct ip_addr *addrs, size_t n);
/* Returns whether the addresses are of that configuration's cluster and host, and may be used. */
bool plan_pools_are_of(const struct plan_pools *p, const struct spec *spec);
/* Returns how many addresses of its pool the network needs: one for each worker core, or 0 if it
 * has no pool, or no leg uses it. */
size_t plan_pool_need(const struct spec *spec, const struct spec_network *network);
/* Copies the networks of the spec, and sets those with a pool from p, which may be NULL or of
 * another cluster. Returns 0 and *ret_spec, which borrows all other members and has an array of
 * networks that the caller frees; or -ENOMEM. */
int plan_pools_resolve(const struct spec *spec, const struct plan_pools *p, struct spec *ret_spec);
/* Describes why the network has fewer addresses than workers, and what to do. */
void plan_pool_reason(const struct plan_builder *b, const struct spec_network *network,
		      struct reason *why);

#endif
