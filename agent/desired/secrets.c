/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies the cluster's keys and this host's identity from their files into the workers'
 * configurations. This file is separate
 * because worker_config.c must not read files.
 */
#include "agent/desired/worker_config.h"
#include "netcfg/base/files/identity.h"
#include "netcfg/base/files/secret.h"
#include <string.h>

static enum launch_security security_of(enum spec_security s)
{
	switch (s) {
	case SPEC_SECURITY_AUTH:
		return LAUNCH_SECURITY_AUTH;
	case SPEC_SECURITY_ENCRYPT:
		return LAUNCH_SECURITY_ENCRYPT;
	default:
		return LAUNCH_SECURITY_NONE;
	}
}

static void identity_put(const struct identity *i, enum spec_identity mode,
			 struct launch_config *ret)
{
	ret->identity =
		mode == SPEC_IDENTITY_REQUIRE ? LAUNCH_IDENTITY_REQUIRE : LAUNCH_IDENTITY_ACCEPT;
	memcpy(ret->host_secret, i->pair.secret, sizeof(ret->host_secret));
	memcpy(ret->host_public, i->pair.public, sizeof(ret->host_public));
	memcpy(ret->cluster_key, i->cluster, sizeof(ret->cluster_key));
	memcpy(ret->certificate, i->certificate, sizeof(ret->certificate));
	for (unsigned k = 0; k < i->n_revoked; k++) {
		memcpy(ret->revoked[k].host, i->revoked[k].host, sizeof(ret->revoked[k].host));
		ret->revoked[k].epoch = i->revoked[k].epoch;
	}
	ret->n_revoked = i->n_revoked;
}

/* Reads the identity of this host. Drives workers have no sessions, so they get no key. */
static int identity_fill(const struct spec *spec, struct diag *d, struct launch_config *desired,
			 size_t n)
{
	const struct spec_cluster *c = &spec->cluster;
	const char *dir = c->identity_dir ? c->identity_dir : IDENTITY_DIR;
	autofree struct identity *i = malloc(sizeof(*i));
	struct reason why = {.code = ""};

	_Static_assert(IDENTITY_REVOKED_MAX == LAUNCH_REVOKED_MAX, "both lists have one size");
	if (c->identity == SPEC_IDENTITY_OFF)
		return 0;
	if (!i)
		return -ENOMEM;
	if (identity_read(dir, spec->host, i, &why) < 0) {
		diag_add(d, DIAG_ERROR, &c->pos, "cluster.identity", "%s", why.text);
		return -EINVAL;
	}
	for (size_t k = 0; k < n; k++)
		if (desired[k].role != LAUNCH_DRIVES)
			identity_put(i, c->identity, &desired[k]);
	identity_wipe(i);
	return 0;
}

int secrets_fill(const struct spec *spec, struct diag *d, struct launch_config *desired, size_t n)
{
	const struct spec_cluster *cluster = &spec->cluster;
	struct secret s = {.n = 0};
	struct reason why;

	_Static_assert(sizeof(s.keys) == sizeof(desired->secrets),
		       "both arrays have the same size");
	if (!*cluster->name || cluster->security == SPEC_SECURITY_NONE)
		return 0;
	if (secret_read(cluster->secret_file, &s, &why) < 0) {
		diag_add(d, DIAG_ERROR, &cluster->pos, "cluster.secret-file", "%s: %s",
			 cluster->secret_file, why.text);
		return -EINVAL;
	}
	for (size_t i = 0; i < n; i++) {
		desired[i].security = security_of(cluster->security);
		desired[i].n_secrets = s.n;
		memcpy(desired[i].secrets, s.keys, sizeof(s.keys));
	}
	secret_wipe(&s);
	return identity_fill(spec, d, desired, n);
}

void secrets_keep(const struct launch_config *from, struct launch_config *desired, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		desired[i].security = from->security;
		desired[i].n_secrets = from->n_secrets;
		memcpy(desired[i].secrets, from->secrets, sizeof(desired[i].secrets));
		desired[i].identity = from->identity;
		memcpy(desired[i].host_secret, from->host_secret, sizeof(from->host_secret));
		memcpy(desired[i].host_public, from->host_public, sizeof(from->host_public));
		memcpy(desired[i].cluster_key, from->cluster_key, sizeof(from->cluster_key));
		memcpy(desired[i].certificate, from->certificate, sizeof(from->certificate));
		memcpy(desired[i].revoked, from->revoked, sizeof(from->revoked));
		desired[i].n_revoked = from->n_revoked;
	}
}
