/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values that the role `cluster` reports to the monitor (privsep.h): the state of its connection to
 * the cluster's store, the addresses of a server, and the addresses of this host in a pool. The
 * values have a fixed size, and both processes check them.
 */
#ifndef PLENUM_AGENT_CLUSTER_REPORT_H
#define PLENUM_AGENT_CLUSTER_REPORT_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

#define CLUSTER_TEXT_MAX 320
#define CLUSTER_URL_MAX 96
/* Maximum number of data IPs that a server publishes. A client learns the other addresses from the
 * server's worker. */
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
	CLUSTER_WRONG,	     /* an answer of the store is invalid */
	CLUSTER_NAME_TAKEN,  /* another host has registered this host's name */
	CLUSTER_FILES,	     /* the monitor cannot read a file of the section `cluster` */
	/* Only as the result of an edit: an existing key prevents the edit, or the pool or host of
	 * the edit does not exist. */
	CLUSTER_CONFLICT,
	CLUSTER_NOT_FOUND,
	CLUSTER_TROUBLE_MAX
};

struct cluster_report {
	uint32_t registered; /* 1: the store has this host's keys, with a valid lease */
	uint32_t trouble;    /* enum cluster_trouble */
	uint32_t looked_up;  /* 1: the keys of all servers were read, and no read failed since */
	uint64_t lease_s;    /* duration of the lease in seconds; 0: this host has no lease */
	char endpoint[CLUSTER_URL_MAX]; /* the endpoint in use; "": none has answered yet */
	char text[CLUSTER_TEXT_MAX];	/* the error, or for CLUSTER_NAME_TAKEN the other host */
};

struct cluster_addr {
	struct ip_addr ip;
	uint16_t port;
	char label[PLENUM_NAME_MAX]; /* label of the leg; "": unknown */
};

struct cluster_server { /* a server as its host has published it */
	char host[PLENUM_NAME_MAX];
	uint32_t registered; /* 0: the store has no key of this server now, so its addresses are
				unknown */
	uint32_t n_addrs;
	struct cluster_addr addrs[CLUSTER_ADDRS_MAX];
};

struct cluster_pool { /* an address pool of the cluster */
	char name[PLENUM_NAME_MAX];
	struct ip_range range;
	struct ip_addr gateway; /* family 0: none */
	uint32_t mtu;		/* 0: none */
	uint16_t vlan;		/* 0: untagged */
};

/* Whether this host has all addresses that it needs from a pool, and if not, why. */
enum cluster_pool_state {
	CLUSTER_POOL_FINE,
	CLUSTER_POOL_UNKNOWN,	/* the cluster has no such pool, or its key is invalid */
	CLUSTER_POOL_EXHAUSTED, /* too few of its addresses are free */
	CLUSTER_POOL_FAILING,	/* the pools or addresses cannot be read or written */
	CLUSTER_POOL_STATE_MAX
};

#define CLUSTER_POOL_ADDRS_MAX 1024 /* maximum number of addresses of a host in one pool */
#define CLUSTER_POOL_CHUNK 32

/* The addresses of this host in a pool. A report has a part of the list: `at` is the list index of
 * its first address. A missing address has the family 0. */
struct cluster_pool_report {
	char cluster[PLENUM_NAME_MAX]; /* cluster to which the pool belongs */
	uint32_t state;		       /* enum cluster_pool_state */
	uint32_t n_total, at, n;
	/* In the states UNKNOWN and FAILING, only the pool's name is set, and the list of addresses
	 * is empty. */
	struct cluster_pool pool;
	struct ip_addr addrs[CLUSTER_POOL_CHUNK];
	char text[CLUSTER_TEXT_MAX]; /* why addresses are missing; "": no address is missing */
};

#endif
