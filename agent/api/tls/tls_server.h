/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TLS 1.3 in the loop of the api-tls process: for each connection it makes the handshake and then
 * passes bytes between the client and a plain socket, at whose other end the HTTP library serves
 * them. Owns the certificate's private key and the client's socket. Reads at most what it can pass
 * on, so that a client that does not read, or sends without end, holds two buffers and the kernel's
 * own. Knows nothing of HTTP and of rights; sets no time limits: the monitor drops connections.
 */
#ifndef PLENUM_AGENT_TLS_SERVER_H
#define PLENUM_AGENT_TLS_SERVER_H

#include "agent/base/loop.h"
#include "netcfg/base/reason.h"

struct tls_server;

struct tls_server_setup {
	struct loop *loop;
	/* The handshake of that connection is complete: fd, which the callee owns, has its bytes.
	 */
	void (*on_open)(void *user, uint64_t id, int fd);
	/* The connection has ended, and is forgotten; also where it was never open. */
	void (*on_end)(void *user, uint64_t id);
	void *user;
};

/* Initialises the library, which opens files: call before the sandbox is complete. */
int tls_server_new(const struct tls_server_setup *setup, struct tls_server **ret);
/* Takes certificates and key in PEM for further connections; open ones keep theirs. -EINVAL with
 * the text: they cannot be used, and those of before stay. ret_expires_s: since 1970. */
int tls_server_load(struct tls_server *s, const char *certificate, size_t certificate_len,
		    const char *key, size_t key_len, uint64_t *ret_expires_s, struct reason *why);
/* Takes fd, a connection of a client. */
void tls_server_accept(struct tls_server *s, uint64_t id, int fd);
/* Ends the connection at once, if it is there. */
void tls_server_drop(struct tls_server *s, uint64_t id);
bool tls_server_has(const struct tls_server *s, uint64_t id); /* accepts NULL */

/* The SHA-256 of a token, as the monitor's table has it. false: the library failed. */
bool tls_hash_token(const char *token, size_t len, uint8_t ret[static 32]);

#endif
