/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values that the role `cluster` reports to the monitor (privsep.h): the state of its connection to
 * the cluster's store, the addresses of a server, and those of this host in a pool. They have a
 * fixed size, and both ends check them.
 */
#ifndef PLENUM_AGENT_CLUSTER_REPORT_H
#define PLENUM_AGENT_CLUSTER_REPORT_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

#define CLUSTER_TEXT_MAX 320
#define CLUSTER_URL_MAX 96
/* Most data IPs of a server that are published: a client learns the others from its worker. */
#define CLUSTER_ADDRS_MAX 16
#define CLUSTER_NONCE_MAX 17
#define CLUSTER_ID_MAX 33 /* 32 hexadecimal digits, which identify the agent's state directory */

/* Whether the role `cluster` can use the store, and if not, why. */
enum cluster_trouble {
	CLUSTER_FINE,
	CLUSTER_UNREACHABLE, /* no endpoint answers in time */
	CLUSTER_CERTIFICATE, /* the endpoint's certificate is not valid for the CA and address */
	CLUSTER_REFUSED,     /* user, password or permissions are not accepted */
	CLUSTER_FULL,	     /* the store has no room */
	CLUSTER_WRONG,	     /* the answers are not those of the store */
	CLUSTER_NAME_TAKEN,  /* another host has registered this host's name */
	CLUSTER_FILES,	     /* the monitor cannot read a file of the section `cluster` */
	/* Only of an edit: what it would change is in the way, or does not exist. */
	CLUSTER_CONFLICT,
	CLUSTER_NOT_FOUND,
	CLUSTER_TROUBLE_MAX
};

struct cluster_report {
	uint32_t registered; /* 1: the store has this host's keys, with a valid lease */
	uint32_t trouble;    /* enum cluster_trouble */
	uint32_t looked_up;  /* 1: the keys of all servers were read, and no read failed since */
	uint64_t lease_s;    /* duration of the lease in seconds; 0: there is none */
	char endpoint[CLUSTER_URL_MAX]; /* the endpoint in use; "": none has answered yet */
	char text[CLUSTER_TEXT_MAX];	/* the error, or for CLUSTER_NAME_TAKEN the other host */
};

struct cluster_addr {
	struct ip_addr ip;
	uint16_t port;
	char label[PLENUM_NAME_MAX]; /* of the leg; "": unknown */
};

struct cluster_server { /* as a server has published it */
	char host[PLENUM_NAME_MAX];
	uint32_t registered; /* 0: the store has no such key now; then there are no addresses */
	uint32_t n_addrs;
	struct cluster_addr addrs[CLUSTER_ADDRS_MAX];
};

struct cluster_pool { /* an address pool */
	char name[PLENUM_NAME_MAX];
	struct ip_range range;
	struct ip_addr gateway; /* family 0: none */
	uint32_t mtu;		/* 0: none */
	uint16_t vlan;		/* 0: untagged */
};

/* Whether this host has the addresses that it needs of a pool, and if not, why. */
enum cluster_pool_state {
	CLUSTER_POOL_FINE,
	CLUSTER_POOL_UNKNOWN,	/* the cluster has no such pool, or not a valid one */
	CLUSTER_POOL_EXHAUSTED, /* too few of its addresses are free */
	CLUSTER_POOL_FAILING,	/* the pools or addresses cannot be read or written */
	CLUSTER_POOL_STATE_MAX
};

#define CLUSTER_POOL_ADDRS_MAX 1024 /* most addresses of a host in one pool */
#define CLUSTER_POOL_CHUNK 32

/* The addresses of this host in a pool, in parts: `at` is the index of the first address here. An
 * address with the family 0 is a missing one. */
struct cluster_pool_report {
	char cluster[PLENUM_NAME_MAX]; /* of which cluster the pool is */
	uint32_t state;		       /* enum cluster_pool_state */
	uint32_t n_total, at, n;
	/* With CLUSTER_POOL_UNKNOWN and _FAILING only the name counts, and there are no addresses.
	 */
	struct cluster_pool pool;
	struct ip_addr addrs[CLUSTER_POOL_CHUNK];
	char text[CLUSTER_TEXT_MAX]; /* why addresses are missing; "": none is */
};

#endif
