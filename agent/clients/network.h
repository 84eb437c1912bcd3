/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The API's side of the network in the monitor: the address, the certificate with its key, the
 * table of tokens, the limits of each address, and why any of these does not work. Reads the files,
 * and passes certificate and key on without looking into them. clients.c has the connections and
 * the api-tls process, and calls this.
 */
#ifndef PLENUM_AGENT_NETWORK_H
#define PLENUM_AGENT_NETWORK_H

#include "agent/base/privsep.h"
#include "agent/clients/limits.h"
#include <jansson.h>

struct network_config {
	struct ip_addr listen; /* family 0: the API is not served by the network */
	uint16_t port;
	char *certificate, *key, *tokens; /* paths; owned */
};

struct network_files { /* sealed: certificates, then the key */
	int fd;	       /* -1: none */
	struct privsep_tls_files lens;
};

struct network {
	struct network_config config;
	struct access_table access;
	struct network_files offered; /* sent to api-tls, whose answer is pending */
	struct network_files used;
	uint64_t expires_s; /* of the certificate in use, since 1970; 0: unknown */
	bool has_logins;    /* since the process started, a client has shown a token of the table */
	struct reason tokens_why, certificate_why, address_why;
	struct limits limits;
};

void network_init(struct network *n);
void network_done(struct network *n);
void network_config_done(struct network_config *c);
bool network_config_equal(const struct network_config *a, const struct network_config *b);
/* Reads the files again. Files that cannot be used leave those of before in use. */
void network_load(struct network *n);
bool network_needs_files(const struct network *n); /* files could not be used */
/* Offers the certificate in use to a new process. */
void network_offer_again(struct network *n);
/* The process's answer to the files that were offered. */
void network_take_state(struct network *n, const struct privsep_tls_state *state);
/* Opens the listening socket. The descriptor, or a negative errno, with the reason kept. */
int network_listen(struct network *n);
/* Of a connection of that socket. */
int network_peer(int fd, struct ip_addr *ret);
/* Makes an accepted connection fit for streams: the kernel ends it when the client is gone. */
void network_tune(int fd);
/* Problems of address, files and certificate, one sentence each; empty: none. NULL: no memory. */
json_t *network_problems(const struct network *n, uint64_t now_s);

#endif
