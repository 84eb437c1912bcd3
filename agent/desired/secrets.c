/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies the cluster's keys from their file into the workers' configurations. This file is separate
 * because worker_config.c must not read files.
 */
#include "agent/desired/worker_config.h"
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
	return 0;
}

void secrets_keep(const struct launch_config *from, struct launch_config *desired, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		desired[i].security = from->security;
		desired[i].n_secrets = from->n_secrets;
		memcpy(desired[i].secrets, from->secrets, sizeof(desired[i].secrets));
	}
}
