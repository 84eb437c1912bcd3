/* SPDX-License-Identifier: BSD-3-Clause */
/* Signs and checks certificates and revocations. All numbers in them are big-endian. */
#include "netcfg/base/files/identity.h"
#include "netcfg/base/host_name.h"

#include <endian.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define KEY IDENTITY_KEY_BYTES
#define SIGNATURE 64
#define FORM_VERSION 1
#define TEXT_MAX 32 /* length with the final NUL, which is part of the signed data */

/* Each kind of signed data begins with a different text, so that a signature of one kind is not
 * valid for another kind. */
static const char permission_text[TEXT_MAX] = "plenum host permission 1";
static const char certificate_text[TEXT_MAX] = "plenum host certificate 1";
static const char revocation_text[TEXT_MAX] = "plenum host revocation 1";

/* Offsets. A permission: version and three zeros, name, epoch, expiry, the key that is used once,
 * signature. A certificate adds the host's key and a signature. A revocation: version and three
 * zeros, name, epoch, signature. */
enum { AT_NAME = 4, AT_EPOCH = AT_NAME + PLENUM_NAME_MAX, AT_EXPIRES = AT_EPOCH + 8 };
enum { AT_ONCE = AT_EXPIRES + 8, AT_SIGNATURE = AT_ONCE + KEY, AT_KEY = AT_SIGNATURE + SIGNATURE };
enum { AT_HOST_SIGNATURE = AT_KEY + KEY, AT_REVOKED_SIGNATURE = AT_EPOCH + 8 };
_Static_assert(AT_KEY == IDENTITY_PERMISSION_BYTES, "the header names the length");
_Static_assert(AT_HOST_SIGNATURE + SIGNATURE == IDENTITY_CERTIFICATE_BYTES, "as does this");
_Static_assert(AT_REVOKED_SIGNATURE + SIGNATURE == IDENTITY_REVOCATION_BYTES, "as does this");

/* ------------------------------------------------------------------ keys */

static int pair_new(int type, struct identity_pair *ret)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_id(type, NULL);
	EVP_PKEY *key = NULL;
	size_t n = KEY, m = KEY;
	bool ok = ctx && EVP_PKEY_keygen_init(ctx) == 1 && EVP_PKEY_keygen(ctx, &key) == 1 &&
		  EVP_PKEY_get_raw_private_key(key, ret->secret, &n) == 1 &&
		  EVP_PKEY_get_raw_public_key(key, ret->public, &m) == 1;

	EVP_PKEY_free(key);
	EVP_PKEY_CTX_free(ctx);
	return ok ? 0 : -EIO;
}

static int pair_public(int type, struct identity_pair *p)
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(type, NULL, p->secret, KEY);
	size_t n = KEY;
	bool ok = key && EVP_PKEY_get_raw_public_key(key, p->public, &n) == 1;

	EVP_PKEY_free(key);
	return ok ? 0 : -EIO;
}

int identity_new_signer(struct identity_pair *ret)
{
	return pair_new(EVP_PKEY_ED25519, ret);
}

int identity_new_host(struct identity_pair *ret)
{
	return pair_new(EVP_PKEY_X25519, ret);
}

int identity_signer_public(struct identity_pair *p)
{
	return pair_public(EVP_PKEY_ED25519, p);
}

int identity_host_public(struct identity_pair *p)
{
	return pair_public(EVP_PKEY_X25519, p);
}

void identity_wipe(struct identity *i)
{
	explicit_bzero(i, sizeof(*i));
}

/* ------------------------------------------------------------------ signatures */

/* Signed data: the text of its kind, and the bytes before the signature. */
struct signed_data {
	uint8_t bytes[TEXT_MAX + IDENTITY_CERTIFICATE_BYTES];
	size_t len;
};

static void signed_put(struct signed_data *d, const char text[TEXT_MAX], const uint8_t *p,
		       size_t len)
{
	memcpy(d->bytes, text, TEXT_MAX);
	memcpy(d->bytes + TEXT_MAX, p, len);
	d->len = TEXT_MAX + len;
}

static int sign(const uint8_t secret[KEY], const char text[TEXT_MAX], const uint8_t *p, size_t len,
		uint8_t ret[SIGNATURE])
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, KEY);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t n = SIGNATURE;
	struct signed_data d;
	bool ok;

	signed_put(&d, text, p, len);
	ok = key && ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
	     EVP_DigestSign(ctx, ret, &n, d.bytes, d.len) == 1;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return ok ? 0 : -EIO;
}

static bool signature_good(const uint8_t public[KEY], const char text[TEXT_MAX], const uint8_t *p,
			   size_t len, const uint8_t signature[SIGNATURE])
{
	EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public, KEY);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	struct signed_data d;
	bool ok;

	signed_put(&d, text, p, len);
	ok = key && ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
	     EVP_DigestVerify(ctx, signature, SIGNATURE, d.bytes, d.len) == 1;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return ok;
}

static void put64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

/* Returns whether the text is valid as the name of a host in the configuration. */
static bool name_good(const char *name, size_t size)
{
	const size_t len = strnlen(name, size);

	if (len == 0 || len == size)
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	for (size_t i = len; i < PLENUM_NAME_MAX && size == PLENUM_NAME_MAX; i++)
		if (name[i])
			return false;
	return true;
}

/* Writes the members with which all kinds of signed data begin. */
static int head_put(uint8_t *p, const char *host, uint64_t epoch)
{
	char name[PLENUM_NAME_MAX] = "";

	snprintf(name, sizeof(name), "%s", host);
	if (strlen(host) >= sizeof(name) || !name_good(name, sizeof(name)))
		return -EINVAL;
	memset(p, 0, AT_NAME);
	p[0] = FORM_VERSION;
	memcpy(p + AT_NAME, name, sizeof(name));
	put64(p + AT_EPOCH, epoch);
	return 0;
}

static bool head_good(const uint8_t *p)
{
	return p[0] == FORM_VERSION && p[1] == 0 && p[2] == 0 && p[3] == 0 &&
	       name_good((const char *)p + AT_NAME, PLENUM_NAME_MAX);
}

int identity_permit(const struct identity_pair *signer, const char *host, uint64_t epoch,
		    uint64_t expires_s, uint8_t ret[IDENTITY_PERMISSION_BYTES],
		    uint8_t ret_secret[KEY])
{
	struct identity_pair once;
	int r = head_put(ret, host, epoch);

	r = r ? r : identity_new_signer(&once);
	if (r)
		return r;
	put64(ret + AT_EXPIRES, expires_s);
	memcpy(ret + AT_ONCE, once.public, KEY);
	memcpy(ret_secret, once.secret, KEY);
	explicit_bzero(&once, sizeof(once));
	return sign(signer->secret, permission_text, ret, AT_SIGNATURE, ret + AT_SIGNATURE);
}

int identity_certify(const uint8_t permission[IDENTITY_PERMISSION_BYTES], const uint8_t secret[KEY],
		     const uint8_t host_public[KEY], uint8_t ret[IDENTITY_CERTIFICATE_BYTES])
{
	memcpy(ret, permission, IDENTITY_PERMISSION_BYTES);
	memcpy(ret + AT_KEY, host_public, KEY);
	return sign(secret, certificate_text, ret, AT_HOST_SIGNATURE, ret + AT_HOST_SIGNATURE);
}

int identity_revoke(const struct identity_pair *signer, const char *host, uint64_t epoch,
		    uint8_t ret[IDENTITY_REVOCATION_BYTES])
{
	int r = head_put(ret, host, epoch);

	return r ? r
		 : sign(signer->secret, revocation_text, ret, AT_REVOKED_SIGNATURE,
			ret + AT_REVOKED_SIGNATURE);
}

int identity_check(const uint8_t *p, size_t len, const uint8_t cluster[KEY], uint64_t now_s,
		   struct identity_card *ret)
{
	if (len != IDENTITY_CERTIFICATE_BYTES || !head_good(p) ||
	    !signature_good(cluster, permission_text, p, AT_SIGNATURE, p + AT_SIGNATURE) ||
	    !signature_good(p + AT_ONCE, certificate_text, p, AT_HOST_SIGNATURE,
			    p + AT_HOST_SIGNATURE))
		return -EBADMSG;
	memcpy(ret->host, p + AT_NAME, sizeof(ret->host));
	ret->epoch = get64(p + AT_EPOCH);
	ret->expires_s = get64(p + AT_EXPIRES);
	memcpy(ret->key, p + AT_KEY, KEY);
	return ret->expires_s && now_s >= ret->expires_s ? -EKEYEXPIRED : 0;
}

int identity_check_revocation(const uint8_t *p, size_t len, const uint8_t cluster[KEY],
			      struct identity_revocation *ret)
{
	if (len != IDENTITY_REVOCATION_BYTES || !head_good(p) ||
	    !signature_good(cluster, revocation_text, p, AT_REVOKED_SIGNATURE,
			    p + AT_REVOKED_SIGNATURE))
		return -EBADMSG;
	memcpy(ret->host, p + AT_NAME, sizeof(ret->host));
	ret->epoch = get64(p + AT_EPOCH);
	return 0;
}

/* ------------------------------------------------------------------ lists */

bool identity_is_revoked(const struct identity_revocation *list, unsigned n, const char *host,
			 uint64_t epoch)
{
	for (unsigned i = 0; i < n; i++)
		if (epoch <= list[i].epoch && host_name_matches(list[i].host, host))
			return true;
	return false;
}

uint64_t identity_revoked_epoch(const struct identity_revocation *list, unsigned n,
				const char *host)
{
	uint64_t epoch = 0;

	for (unsigned i = 0; i < n; i++)
		if (host_name_matches(list[i].host, host))
			epoch = MAX_OF(epoch, list[i].epoch);
	return epoch;
}

int identity_add_revoked(struct identity_revocation *list, unsigned *n,
			 const struct identity_revocation *r)
{
	unsigned i = 0;

	while (i < *n && strcmp(list[i].host, r->host) != 0)
		i++;
	if (i < *n && list[i].epoch >= r->epoch)
		return 0;
	if (i == IDENTITY_REVOKED_MAX)
		return -ENOSPC;
	list[i] = *r;
	*n += i == *n;
	return 1;
}

/* ------------------------------------------------------------------ digits */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void identity_hex(const uint8_t *p, size_t len, char *hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = digits[p[i] >> 4];
		hex[2 * i + 1] = digits[p[i] & 0xf];
	}
	hex[2 * len] = '\0';
}

int identity_unhex(const char *hex, uint8_t *ret, size_t len)
{
	if (strnlen(hex, 2 * len + 1) != 2 * len)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}
