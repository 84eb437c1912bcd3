/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the TLS library's context from a certificate and its key, and hashes tokens. These
 * functions use the library without a connection. */
#include "agent/api/tls/tls_internal.h"
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>
#include <time.h>

/* Supplies no passphrase. Without this callback, the library would ask for one on a terminal. */
static int no_passphrase(char *buf, int size, int writes, void *user)
{
	return -1;
}

static const char *last_error(void)
{
	const char *text = ERR_reason_error_string(ERR_peek_last_error());

	return text ? text : "unknown error";
}

static BIO *bio_of(const char *text, size_t len)
{
	return len <= INT_MAX ? BIO_new_mem_buf(text, (int)len) : NULL;
}

/* The first certificate belongs to the host; the others belong to the authorities between it and a
 * root. */
static int take_certificates(SSL_CTX *ctx, const char *text, size_t len, uint64_t *ret_expires_s,
			     struct reason *why)
{
	BIO *bio = bio_of(text, len);
	struct tm expires;
	unsigned n = 0;
	X509 *x;

	while (bio && (x = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL))) {
		const bool first = n++ == 0;

		if (first && ASN1_TIME_to_tm(X509_get0_notAfter(x), &expires) == 1)
			*ret_expires_s = (uint64_t)MAX_OF(timegm(&expires), 0);
		if ((first ? SSL_CTX_use_certificate(ctx, x)
			   : (int)SSL_CTX_add1_chain_cert(ctx, x)) != 1) {
			reason_set_text(why, "certificate %u in the file cannot be used (%s)", n,
					last_error());
			X509_free(x);
			BIO_free(bio);
			return -EINVAL;
		}
		X509_free(x);
	}
	BIO_free(bio);
	/* At the end of the file the library reports an error: no further certificate begins. This
	 * is not an error here. */
	if (n > 0 && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE)
		return 0;
	if (n > 0)
		reason_set_text(why, "certificate %u in the file is damaged (%s)", n + 1,
				last_error());
	else
		reason_set_text(why, "the file has no certificate in PEM (%s)", last_error());
	return -EINVAL;
}

static int take_key(SSL_CTX *ctx, const char *text, size_t len, struct reason *why)
{
	BIO *bio = bio_of(text, len);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
	int r = -EINVAL;

	if (!key)
		reason_set_text(why,
				"the key file has no private key in PEM without a passphrase "
				"(%s)",
				last_error());
	else if (SSL_CTX_use_PrivateKey(ctx, key) != 1 || SSL_CTX_check_private_key(ctx) != 1)
		reason_set_text(why, "the key does not belong to the certificate (%s)",
				last_error());
	else
		r = 0;
	EVP_PKEY_free(key);
	BIO_free(bio);
	return r;
}

/* Chooses http/1.1. A client that offers protocols but not this one is refused; a client may offer
 * none. */
static int choose_protocol(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
			   const unsigned char *offered, unsigned len, void *user)
{
	static const unsigned char known[] = "\x08http/1.1";

	if (SSL_select_next_proto((unsigned char **)(uintptr_t)ret, ret_len, known,
				  sizeof(known) - 1, offered, len) == OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_OK;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *new_context(void)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	if (!ctx)
		return NULL;
	SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
	SSL_CTX_set_security_level(ctx, 2);
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
	SSL_CTX_set_num_tickets(ctx, 0);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
	return ctx;
}

int tls_server_load(struct tls_server *s, const char *certificate, size_t certificate_len,
		    const char *key, size_t key_len, uint64_t *ret_expires_s, struct reason *why)
{
	SSL_CTX *ctx = new_context();
	uint64_t expires_s = 0;
	int r;

	ERR_clear_error();
	if (!ctx) {
		reason_set_text(why, "the TLS library failed (%s)", last_error());
		return -EINVAL;
	}
	r = take_certificates(ctx, certificate, certificate_len, &expires_s, why);
	ERR_clear_error();
	if (r >= 0)
		r = take_key(ctx, key, key_len, why);
	ERR_clear_error();
	if (r < 0) {
		SSL_CTX_free(ctx);
		return r;
	}
	SSL_CTX_free(s->context);
	s->context = ctx;
	*ret_expires_s = expires_s;
	return 0;
}

bool tls_hash_token(const char *token, size_t len, uint8_t ret[static TLS_HASH_BYTES])
{
	return EVP_Digest(token, len, ret, NULL, EVP_sha256(), NULL) == 1;
}
