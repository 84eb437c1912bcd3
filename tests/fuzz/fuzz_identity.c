/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a certificate, as a revocation, as the start of a handshake's body, and as the value
 * of the revocations in etcd. A certificate or revocation that is valid is not valid with any bit
 * changed; a list of revocations stays readable when one is added.
 */
#include "agent/cluster/store/records.h"
#include "dataplane/rudp/wire/wire.h"
#include "netcfg/base/files/identity.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static struct identity_pair signer = {.secret = {1, 2, 3}};
static bool taken;

bool fuzz_input_taken(void)
{
	return taken;
}

static void check_name(const char *name)
{
	if (!*name || !memchr(name, '\0', PLENUM_NAME_MAX))
		abort();
	for (; *name; name++)
		if (*name <= ' ' || *name > '~')
			abort();
}

static void check_certificate(const uint8_t *p, size_t len)
{
	uint8_t bad[IDENTITY_CERTIFICATE_BYTES];
	struct identity_card card;

	if (identity_check(p, len, signer.public, 1, &card) != 0)
		return;
	check_name(card.host);
	memcpy(bad, p, sizeof(bad));
	bad[card.epoch % sizeof(bad)] ^= 1;
	if (identity_check(bad, sizeof(bad), signer.public, 1, &card) != -EBADMSG)
		abort();
	taken = true;
}

static void check_revocation(const uint8_t *p, size_t len)
{
	uint8_t bad[IDENTITY_REVOCATION_BYTES];
	struct identity_revocation r;

	if (identity_check_revocation(p, len, signer.public, &r) < 0)
		return;
	check_name(r.host);
	memcpy(bad, p, sizeof(bad));
	bad[r.epoch % sizeof(bad)] ^= 1;
	if (identity_check_revocation(bad, sizeof(bad), signer.public, &r) != -EBADMSG)
		abort();
	taken = true;
}

static void check_body(const uint8_t *p, size_t len)
{
	const uint8_t *certificate;
	size_t n;

	if (wire_get_certificate(p, len, &certificate, &n) < 0)
		return;
	if (n == 0 || n > WIRE_CERTIFICATE_MAX || certificate < p || certificate + n > p + len)
		abort();
	check_certificate(certificate, n);
}

static void count(void *user, const uint8_t p[IDENTITY_REVOCATION_BYTES])
{
	check_revocation(p, IDENTITY_REVOCATION_BYTES);
	++*(unsigned *)user;
}

static void check_list(const char *text, size_t len)
{
	uint8_t bytes[IDENTITY_REVOCATION_BYTES];
	unsigned before = 0, after = 0;
	bool known;
	char *added;

	if (record_revoked_parse(text, len, count, &before) < 0)
		return;
	if (identity_revoke(&signer, "host-z",
			    record_revoked_epoch(text, len, signer.public, "host-z") + 1,
			    bytes) < 0)
		abort();
	added = record_revoked_add(text, len, signer.public, bytes, &known);
	if (!known || (added && (record_revoked_parse(added, strlen(added), count, &after) < 0 ||
				 after == 0 || after > before + 1)))
		abort();
	free(added);
	taken = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (identity_signer_public(&signer) < 0)
		abort();
	taken = false;
	check_certificate(data, size);
	check_revocation(data, size);
	check_body(data, size);
	check_list((const char *)data, size);
	return 0;
}
