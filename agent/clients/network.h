/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's part of the API over the network: its address, its certificate and key, the table
 * of tokens, and the limits per address, with the reasons why any of them does not work. It reads
 * the files, and passes the certificate and the key on without parsing them. clients.c keeps the
 * connections and the api-tls process, and calls this module.
 */
#ifndef PLENUM_AGENT_NETWORK_H
#define PLENUM_AGENT_NETWORK_H

#include "agent/base/privsep.h"
#include "agent/clients/limits.h"
#include <jansson.h>

struct network_config {
	struct ip_addr listen; /* family 0: the API is not served over the network */
	uint16_t port;
	char *certificate, *key, *tokens; /* paths; owned */
};

struct network_files { /* sealed memfd with the certificates and then the key */
	int fd;	       /* -1: no files */
	struct privsep_tls_files lens;
};

struct network {
	struct network_config config;
	struct access_table access;
	struct network_files offered; /* files sent to api-tls, which has not answered yet */
	struct network_files used;
	uint64_t expires_s; /* expiry of the certificate in use, since 1970; 0: unknown */
	bool has_logins;    /* a client has shown a valid token since the process started */
	struct reason tokens_why, certificate_why, address_why;
	struct limits limits;
};

void network_init(struct network *n);
void network_done(struct network *n);
void network_config_done(struct network_config *c);
bool network_config_equal(const struct network_config *a, const struct network_config *b);
/* Reads the files again. If they cannot be used, the contents that were read before stay in use. */
void network_load(struct network *n);
bool network_needs_files(const struct network *n); /* whether the files could not be used */
/* Marks the certificate in use as not offered yet, for an api-tls process that was restarted. */
void network_offer_again(struct network *n);
/* Handles the answer of the api-tls process to the offered files. */
void network_take_state(struct network *n, const struct privsep_tls_state *state);
/* Opens the listening socket. Returns the descriptor, or negative errno, whose reason is kept for
 * network_problems(). */
int network_listen(struct network *n);
/* Gets the address of the client of an accepted connection. */
int network_peer(int fd, struct ip_addr *ret);
/* Sets options so that the kernel ends a connection, such as a stream, whose client has
 * vanished. */
void network_tune(int fd);
/* Lists the problems of the address, the files and the certificate, one sentence each; the list is
 * empty if all of them work. Returns NULL if memory is short. */
json_t *network_problems(const struct network *n, uint64_t now_s);

#endif
