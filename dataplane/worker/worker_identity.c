/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the identities of peers, and ends sessions with revoked hosts. */
#include "dataplane/worker/worker_identity.h"
#include "netcfg/base/files/identity.h"
#include "netcfg/base/host_name.h"
#include "netcfg/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

_Static_assert(LAUNCH_CERTIFICATE_BYTES == IDENTITY_CERTIFICATE_BYTES &&
		       LAUNCH_SECRET_BYTES == IDENTITY_KEY_BYTES &&
		       LAUNCH_CERTIFICATE_BYTES <= RUDP_CERTIFICATE_MAX &&
		       PLENUM_NAME_MAX <= RUDP_HOST_MAX,
	       "launch.h, identity.h and rudp.h agree");

void worker_identity_fill(struct launch_config *cfg, struct rudp_host_key *ret)
{
	*ret = (struct rudp_host_key){.used = cfg->identity != LAUNCH_IDENTITY_OFF};
	if (!ret->used)
		return;
	memcpy(ret->secret, cfg->host_secret, sizeof(ret->secret));
	memcpy(ret->public, cfg->host_public, sizeof(ret->public));
	memcpy(ret->certificate, cfg->certificate, sizeof(cfg->certificate));
	ret->certificate_len = sizeof(cfg->certificate);
	explicit_bzero(cfg->host_secret, sizeof(cfg->host_secret));
}

/* Returns whether the host is revoked. As with the rights of clients, a revocation of a name with a
 * domain also applies to the name without the domain, and the reverse. */
static bool is_revoked(const struct launch_config *cfg, const char *host, uint64_t epoch)
{
	for (uint32_t i = 0; i < cfg->n_revoked; i++)
		if (epoch <= cfg->revoked[i].epoch && host_name_matches(cfg->revoked[i].host, host))
			return true;
	return false;
}

static int refuse(struct rudp_peer *ret, int code, const char *word)
{
	snprintf(ret->word, sizeof(ret->word), "%s", word);
	return code;
}

/* The peer has no proof of its identity, so it may claim any name. The check of the name only
 * refuses a revoked host that still uses its real name. */
static int check_unproven(const struct launch_config *cfg, const char *host, struct rudp_peer *ret)
{
	if (cfg->identity == LAUNCH_IDENTITY_REQUIRE)
		return refuse(ret, -ENOKEY, WORKER_IDENTITY_REQUIRED);
	if (is_revoked(cfg, host, 0))
		return refuse(ret, -EKEYREVOKED, host);
	snprintf(ret->host, sizeof(ret->host), "%s", host);
	return 0;
}

int worker_identity_check(const struct launch_config *cfg, const struct rudp_proof *proof,
			  const char *host, bool exact, struct rudp_peer *ret)
{
	struct identity_card card;
	int r;

	*ret = (struct rudp_peer){.proven = false};
	if (cfg->identity == LAUNCH_IDENTITY_OFF)
		return 0;
	if (!proof)
		return check_unproven(cfg, host, ret);
	r = identity_check(proof->certificate, proof->certificate_len, cfg->cluster_key,
			   (uint64_t)time(NULL), &card);
	if (r == -EKEYEXPIRED)
		return refuse(ret, -EKEYEXPIRED, card.host);
	if (r < 0 || memcmp(card.key, proof->key, sizeof(card.key)) != 0)
		return refuse(ret, -EKEYREJECTED, WORKER_IDENTITY_INVALID);
	if (is_revoked(cfg, card.host, card.epoch))
		return refuse(ret, -EKEYREVOKED, card.host);
	if (exact ? strcmp(host, card.host) != 0 : !host_name_matches(host, card.host))
		return refuse(ret, -EBADE, card.host);
	snprintf(ret->host, sizeof(ret->host), "%s", card.host);
	ret->proven = true;
	ret->epoch = card.epoch;
	return 0;
}

/* Adds the revocation to the worker's list. Returns whether that is a change. */
static bool keep(struct launch_config *cfg, const char *host, uint64_t epoch)
{
	uint32_t i = 0;

	while (i < cfg->n_revoked && strcmp(cfg->revoked[i].host, host) != 0)
		i++;
	if (i == LAUNCH_REVOKED_MAX || (i < cfg->n_revoked && cfg->revoked[i].epoch >= epoch))
		return false;
	snprintf(cfg->revoked[i].host, sizeof(cfg->revoked[i].host), "%s", host);
	cfg->revoked[i].epoch = epoch;
	cfg->n_revoked += i == cfg->n_revoked;
	return true;
}

void worker_identity_revoke(struct worker *w, const char *host, uint64_t epoch)
{
	int n;

	if (!keep(w->cfg, host, epoch))
		return;
	n = rudp_expel(w->rudp, host, epoch, w->now_ns);
	log_notice("the identity of %s is revoked; %d sessions end", host, n);
}

/* Writes the reason why the peer refuses this host, for the operator of this host. */
static void format_of_peer(const char *host, const char *ip, int code, const char *word, char *text,
			   size_t size)
{
	if (code == -ENOKEY)
		snprintf(text, size,
			 WORKER_IDENTITY_REQUIRED
			 ": %.40s (%s) requires an identity, and this host has none; run 'plenum "
			 "cluster identity' on this host",
			 host, ip);
	else if (code == -EKEYEXPIRED)
		snprintf(text, size,
			 "identity-expired: the certificate of this host, %.40s, has expired, as "
			 "%.40s (%s) reports; run 'plenum cluster identity' on this host",
			 word, host, ip);
	else if (code == -EKEYREVOKED)
		snprintf(
			text, size,
			"identity-revoked: the identity of %.40s is revoked, so %.40s (%s) refuses "
			"this host; this host needs a new invitation",
			word, host, ip);
	else if (code == -EBADE)
		snprintf(text, size,
			 "identity-name: the certificate of this host is for the name %.30s, so "
			 "%.30s (%s) refuses this host; run 'plenum cluster identity' on this host",
			 word, host, ip);
	else
		snprintf(text, size,
			 WORKER_IDENTITY_INVALID
			 ": for %.40s (%s), the certificate of this host is not signed by the "
			 "cluster's key",
			 host, ip);
}

/* Writes the reason why this host refuses the peer. */
static void format_own(const char *host, const char *ip, int code, const char *word, char *text,
		       size_t size)
{
	if (code == -ENOKEY)
		snprintf(text, size,
			 WORKER_IDENTITY_REQUIRED
			 ": %.40s (%s) has no identity, and this host requires one; run 'plenum "
			 "cluster identity' there",
			 host, ip);
	else if (code == -EKEYEXPIRED)
		snprintf(text, size,
			 "identity-expired: the certificate of %.40s has expired (%s); renew it "
			 "there with 'plenum cluster identity'",
			 word, ip);
	else if (code == -EKEYREVOKED)
		snprintf(text, size,
			 "identity-revoked: the identity of %.40s is revoked (%s); it needs a new "
			 "invitation",
			 word, ip);
	else if (code == -EBADE)
		snprintf(text, size,
			 "identity-name: %s claims to be %.30s, but its certificate is for the "
			 "name %.30s",
			 ip, host, word);
	else
		snprintf(text, size,
			 WORKER_IDENTITY_INVALID
			 ": the certificate of %.40s (%s) is not signed by the cluster's key",
			 host, ip);
}

void worker_identity_format(const char *host, const char *ip, bool by_peer, int code,
			    const char *word, char *text, size_t size)
{
	(by_peer ? format_of_peer : format_own)(host, ip, code, word, text, size);
}
