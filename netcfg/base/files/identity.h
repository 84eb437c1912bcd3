/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The identity of a host: its key pair (X25519), and the certificate by which the cluster's signing
 * key (Ed25519) gives the public part a host name. A certificate has two signatures, so that
 * neither the signing key nor the host's key travels: the holder of the signing key signs a
 * permission, which has a host name and a second key; with that key, the host signs its own
 * public key and then forgets it. The invitation carries the key of the permission, so a copy of
 * the invitation can make a certificate for that name at any later time, until a revocation. A
 * revocation refuses all certificates of a host up to an epoch. The agent, the workers and the
 * command line use these functions. The primitives are libcrypto's.
 */
#ifndef PLENUM_NETCFG_IDENTITY_H
#define PLENUM_NETCFG_IDENTITY_H

#include "netcfg/base/reason.h"

#define IDENTITY_KEY_BYTES 32
#define IDENTITY_PERMISSION_BYTES 180
#define IDENTITY_CERTIFICATE_BYTES (IDENTITY_PERMISSION_BYTES + 96)
#define IDENTITY_REVOCATION_BYTES 140
#define IDENTITY_REVOKED_MAX 256 /* maximum number of revoked hosts of a cluster */

/* The files in the folder of the identity. Each has lines of hexadecimal digits. */
#define IDENTITY_DIR "/var/lib/plenum/identity" /* default of cluster.identity-dir */
#define IDENTITY_FILE_CLUSTER "cluster.public"
#define IDENTITY_FILE_KEY "host.key"
#define IDENTITY_FILE_CERTIFICATE "host.certificate"
#define IDENTITY_FILE_REVOKED "revoked"

struct identity_pair {
	uint8_t secret[IDENTITY_KEY_BYTES], public[IDENTITY_KEY_BYTES];
};

struct identity_card { /* contents of a valid certificate */
	char host[PLENUM_NAME_MAX];
	uint64_t epoch;	    /* when the permission was signed, in seconds since 1970 */
	uint64_t expires_s; /* in seconds since 1970; 0: never */
	uint8_t key[IDENTITY_KEY_BYTES];
};

struct identity_revocation { /* the revocation refuses all certificates of the host up to this epoch
			      */
	char host[PLENUM_NAME_MAX];
	uint64_t epoch;
};

struct identity { /* the identity of this host, as its files have it */
	struct identity_pair pair;
	uint8_t cluster[IDENTITY_KEY_BYTES]; /* public part of the cluster's signing key */
	uint8_t certificate[IDENTITY_CERTIFICATE_BYTES];
	struct identity_card card;
	struct identity_revocation revoked[IDENTITY_REVOKED_MAX];
	unsigned n_revoked;
};

/* Make key pairs: for signing (Ed25519), for a host (X25519). Return 0 or -EIO. */
int identity_new_signer(struct identity_pair *ret);
int identity_new_host(struct identity_pair *ret);
/* Compute the public part from the private part. Return 0 or -EIO. */
int identity_signer_public(struct identity_pair *p);
int identity_host_public(struct identity_pair *p);

/* Signs a permission. ret_secret: the key that is used once. Returns 0, -EINVAL if the name is
 * invalid, or -EIO. */
int identity_permit(const struct identity_pair *signer, const char *host, uint64_t epoch,
		    uint64_t expires_s, uint8_t ret[IDENTITY_PERMISSION_BYTES],
		    uint8_t ret_secret[IDENTITY_KEY_BYTES]);
/* Makes the certificate of a host's public key. Returns 0 or -EIO. */
int identity_certify(const uint8_t permission[IDENTITY_PERMISSION_BYTES],
		     const uint8_t secret[IDENTITY_KEY_BYTES],
		     const uint8_t host_public[IDENTITY_KEY_BYTES],
		     uint8_t ret[IDENTITY_CERTIFICATE_BYTES]);
/* Signs a revocation. Returns the same values as identity_permit(). */
int identity_revoke(const struct identity_pair *signer, const char *host, uint64_t epoch,
		    uint8_t ret[IDENTITY_REVOCATION_BYTES]);

/* Checks the form and both signatures. Returns 0, -EBADMSG, or -EKEYEXPIRED; in this case ret is
 * valid too. now_s: seconds since 1970. */
int identity_check(const uint8_t *p, size_t len, const uint8_t cluster[IDENTITY_KEY_BYTES],
		   uint64_t now_s, struct identity_card *ret);
/* Checks the form and the signature. Returns 0 or -EBADMSG. */
int identity_check_revocation(const uint8_t *p, size_t len,
			      const uint8_t cluster[IDENTITY_KEY_BYTES],
			      struct identity_revocation *ret);
/* Returns whether a revocation in the list applies to that certificate. As with the rights of
 * clients, a name with a domain and the same name without it mean the same host. */
bool identity_is_revoked(const struct identity_revocation *list, unsigned n, const char *host,
			 uint64_t epoch);
/* Returns the highest epoch in the list that applies to the host; 0: none. */
uint64_t identity_revoked_epoch(const struct identity_revocation *list, unsigned n,
				const char *host);
/* Adds a revocation to a list, or raises the epoch of its host there. Returns 1 if the list has
 * changed, 0 if not, or -ENOSPC. */
int identity_add_revoked(struct identity_revocation *list, unsigned *n,
			 const struct identity_revocation *r);

/* Write and read hexadecimal digits. hex has 2 * len + 1 bytes. identity_unhex() returns 0, or
 * -EINVAL if the text does not consist of exactly 2 * len digits. */
void identity_hex(const uint8_t *p, size_t len, char *hex);
int identity_unhex(const char *hex, uint8_t *ret, size_t len);

/* Reads the files of the folder. Returns 0, or negative errno with a text in `why` that names the
 * file and the remedy. */
int identity_read(const char *dir, const char *host, struct identity *ret, struct reason *why);
/* Reads a file with one line of 2 * len digits. secret: no user but root may have access. */
int identity_read_hex(const char *path, bool secret, uint8_t *ret, size_t len, struct reason *why);
/* Writes such a file atomically. Returns 0 or negative errno. */
int identity_write_hex(const char *path, bool secret, const uint8_t *p, size_t len);
/* Reads the signed revocations of the folder and drops invalid ones. Returns 0 or negative errno
 * with the reason in `why`; no file: an empty list. */
int identity_read_revoked(const char *dir, const uint8_t cluster[IDENTITY_KEY_BYTES],
			  struct identity_revocation *ret, unsigned *ret_n, struct reason *why);
/* Adds a signed revocation to the file of the folder. Returns 1 if it was new, 0 if the file has it
 * or a later one of that host, or negative errno. */
int identity_keep_revocation(const char *dir, const uint8_t cluster[IDENTITY_KEY_BYTES],
			     const uint8_t p[IDENTITY_REVOCATION_BYTES],
			     struct identity_revocation *ret);
/* Replaces the key, the certificate and the cluster's key of the folder in one step, and keeps the
 * revocations. Makes the folder if it is absent. Returns 0; -EEXIST if the folder belongs to
 * another cluster; or another negative errno. After an error the folder is unchanged. */
int identity_write(const char *dir, const struct identity *i);
void identity_wipe(struct identity *i);

#endif
