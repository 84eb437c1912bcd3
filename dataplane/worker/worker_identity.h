/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The identities of hosts in a worker: passes this host's key to the transport, and checks the
 * certificate that a peer has sent in the handshake. The agent has read and checked the keys and
 * revocations; this module reads no files. It never sends a private key to anyone.
 */
#ifndef PLENUM_DATAPLANE_WORKER_IDENTITY_H
#define PLENUM_DATAPLANE_WORKER_IDENTITY_H

#include "dataplane/worker/worker.h"

/* The reason codes of refusals. A REFUSE packet also carries these words. */
#define WORKER_IDENTITY_REQUIRED "identity-required"
#define WORKER_IDENTITY_INVALID "identity-invalid"

/* Copies this host's key pair and certificate, and wipes the private key in cfg. */
void worker_identity_fill(struct launch_config *cfg, struct rudp_host_key *ret);
/* Checks that the peer is `host`. proof: what the peer has proved in the handshake; NULL: the peer
 * has no identity. exact: the name must equal that of the certificate; else one of the two may omit
 * its domain. Returns 0 and fills ret, or returns the code with which to refuse the peer, with
 * ret->word: -ENOKEY (no proof), -EKEYREJECTED, -EKEYEXPIRED, -EKEYREVOKED, or -EBADE (another
 * host). */
int worker_identity_check(const struct launch_config *cfg, const struct rudp_proof *proof,
			  const char *host, bool exact, struct rudp_peer *ret);
/* Ends the sessions of a host whose certificates up to this epoch are revoked, and refuses them
 * from now on. */
void worker_identity_revoke(struct worker *w, const char *host, uint64_t epoch);
/* Writes the reason for such a refusal. host, ip: the name that the peer claims or is expected to
 * have, and its address. by_peer: true: the peer has refused this host; false: this host has
 * refused the peer. word: the word in the REFUSE packet. */
void worker_identity_format(const char *host, const char *ip, bool by_peer, int code,
			    const char *word, char *text, size_t size);
/* Returns whether worker_identity_check() returns this code. The refusal of a wrong cluster key
 * also has the code -EKEYREJECTED, but another word. */
static inline bool worker_identity_is_code(int code, const char *word)
{
	return code == -ENOKEY || code == -EKEYEXPIRED || code == -EKEYREVOKED || code == -EBADE ||
	       (code == -EKEYREJECTED && strcmp(word, WORKER_IDENTITY_INVALID) == 0);
}

#endif
