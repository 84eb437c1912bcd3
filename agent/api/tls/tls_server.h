/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TLS 1.3 in the event loop of the api-tls process. For each connection it makes the handshake, and
 * then passes bytes between the client and a plain socket; api_client.c serves the other side of
 * that socket. Owns the certificate's private key and the clients' sockets. Reads only as many
 * bytes as it can pass on. So a client that does not read, or that sends without end, uses no more
 * than two buffers of this process and the buffers of the kernel. Does not know HTTP or rights, and
 * has no time limits, because the monitor drops connections.
 */
#ifndef PLENUM_AGENT_TLS_SERVER_H
#define PLENUM_AGENT_TLS_SERVER_H

#include "agent/base/loop.h"
#include "netcfg/base/reason.h"

struct tls_server;

struct tls_server_setup {
	struct loop *loop;
	/* Called when the handshake of that connection is complete. fd, which the callee owns, is
	 * the socket with the plain bytes. */
	void (*on_open)(void *user, uint64_t id, int fd);
	/* Called when the connection has ended and was freed, even if its handshake never
	 * completed. */
	void (*on_end)(void *user, uint64_t id);
	void *user;
};

/* Initialises the library, which opens files. Call before the sandbox is complete. */
int tls_server_new(const struct tls_server_setup *setup, struct tls_server **ret);
/* Sets the certificates and the key, in PEM, for new connections; open connections keep theirs.
 * ret_expires_s: end of the certificate's validity, in seconds since 1970. Returns -EINVAL with the
 * reason if they cannot be used; the previous ones then stay in use. */
int tls_server_load(struct tls_server *s, const char *certificate, size_t certificate_len,
		    const char *key, size_t key_len, uint64_t *ret_expires_s, struct reason *why);
/* Begins to serve fd, a new connection of a client, and becomes its owner. */
void tls_server_accept(struct tls_server *s, uint64_t id, int fd);
/* Ends the connection at once. Does nothing if the connection has ended already. */
void tls_server_drop(struct tls_server *s, uint64_t id);
bool tls_server_has(const struct tls_server *s, uint64_t id); /* accepts NULL */

/* Makes the SHA-256 of a token, which the monitor compares with its table. Returns false if the
 * library failed. */
bool tls_hash_token(const char *token, size_t len, uint8_t ret[static 32]);

#endif
