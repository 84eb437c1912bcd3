/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that use the TLS library. */
#ifndef PLENUM_AGENT_TLS_INTERNAL_H
#define PLENUM_AGENT_TLS_INTERNAL_H

#include "agent/api/tls/tls_server.h"
#include <openssl/err.h>
#include <openssl/ssl.h>

#define TLS_HASH_BYTES 32

struct tls_connection;

struct tls_server {
	struct tls_server_setup setup;
	SSL_CTX *context; /* made from the certificate in use; NULL: no certificate is in use yet */
	struct tls_connection *list;
};

#endif
