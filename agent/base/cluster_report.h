/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values that the role `cluster` reports to the monitor (privsep.h): the state of its connection to
 * the cluster's store, and the addresses of a server. They have a fixed size, and both ends check
 * them.
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

#endif
