/* SPDX-License-Identifier: BSD-3-Clause */
/* Verifies the revocations of hosts in the cluster's store, and keeps valid ones in the identity's
 * folder. */
#include "agent/cluster/cluster.h"
#include <stdio.h>
#include <string.h>

#define WARN_NS (60 * NSEC_PER_SEC) /* shortest interval of the warning */

char *cluster_identity_dir(const struct spec *s)
{
	if (s->cluster.identity == SPEC_IDENTITY_OFF)
		return NULL;
	return strdup(s->cluster.identity_dir ? s->cluster.identity_dir : IDENTITY_DIR);
}

/* Limits the warnings, so that a host that writes invalid values to etcd cannot fill the log. */
static void warn_unsigned(void)
{
	static uint64_t last_ns;
	const uint64_t now = clock_now_ns();

	if (last_ns && now < last_ns + WARN_NS)
		return;
	last_ns = now;
	log_warning("the cluster's key has not signed some of the revocations in etcd; these are "
		    "ignored");
}

int cluster_revoked_keep(const char *dir, struct events *events,
			 const uint8_t p[IDENTITY_REVOCATION_BYTES],
			 struct identity_revocation *ret)
{
	uint8_t key[IDENTITY_KEY_BYTES];
	struct reason why = {.code = ""};
	autofree char *path = NULL;
	int r;

	if (!dir)
		return -ENOENT;
	if (asprintf(&path, "%s/" IDENTITY_FILE_CLUSTER, dir) < 0)
		return -ENOMEM;
	r = identity_read_hex(path, false, key, sizeof(key), &why);
	if (r < 0)
		return r;
	r = identity_keep_revocation(dir, key, p, ret);
	if (r == -EBADMSG)
		warn_unsigned();
	else if (r < 0)
		events_add(events, LOG_LEVEL_WARNING, "cluster",
			   "cannot write the revocation of %.63s to %.120s: %s", ret->host, dir,
			   strerror(-r));
	else if (r == 1)
		events_add(events, LOG_LEVEL_NOTICE, "cluster", "the identity of %.63s is revoked",
			   ret->host);
	return r == -EBADMSG ? r : 0;
}
