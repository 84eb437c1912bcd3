/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and reads the cluster's signing key, and signs permissions with it. */
#include "agent/cluster/store/records.h"
#include "agent/ctl/join/ctl_join.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/identity.h"
#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static int fail(const char *path, int e)
{
	ctl_complain("cannot write %s: %s", path, strerror(-e));
	return e == -EACCES || e == -EPERM ? CTL_NO_PERMISSION : CTL_IO;
}

/* ---- the cluster's signing key ---- */

int join_signer_read(struct identity_pair *ret)
{
	struct reason why = {.code = ""};
	int r = identity_read_hex(JOIN_SIGNER_FILE, true, ret->secret, sizeof(ret->secret), &why);

	if (r >= 0 && identity_signer_public(ret) == 0)
		return CTL_OK;
	if (r == -ENOENT)
		reason_append(&why, "run this on the host that has the cluster's signing key; "
				    "'plenum cluster authority' makes the first one");
	ctl_complain("%s", r < 0 ? why.text : JOIN_SIGNER_FILE " has no valid key");
	return r == -ENOENT ? CTL_NO_INPUT : r == -EACCES ? CTL_NO_PERMISSION : CTL_DATA;
}

int join_signer_epoch(uint64_t least, uint64_t *ret)
{
	static const char *const path = JOIN_SIGNER_FILE ".epoch";
	/* The lock prevents that two commands get the same epoch. */
	autoclose int lock = open(JOIN_SIGNER_FILE, O_RDONLY | O_CLOEXEC);
	struct reason why = {.code = ""};
	const uint64_t now = (uint64_t)time(NULL);
	uint64_t last = 0, epoch;
	int r = lock < 0 || flock(lock, LOCK_EX) < 0 ? -errno : 0;

	if (r < 0)
		return fail(path, r);
	r = identity_read_hex(path, true, (uint8_t *)&last, sizeof(last), &why);
	if (r < 0 && r != -ENOENT) {
		ctl_complain("%s; this file has the epoch of the last signature. Restore the file, "
			     "or remove it if the clock of this host has never been set back",
			     why.text);
		return CTL_DATA;
	}
	last = r < 0 ? 0 : be64toh(last) + 1;
	epoch = MAX_OF(now, MAX_OF(least, last));
	last = htobe64(epoch);
	r = identity_write_hex(path, true, (const uint8_t *)&last, sizeof(last));
	if (r < 0)
		return fail(path, r);
	*ret = epoch;
	return CTL_OK;
}

int ctl_cmd_cluster_authority(const struct ctl_args *a)
{
	static const char *const new = JOIN_SIGNER_FILE ".new";
	char shown[2 * IDENTITY_KEY_BYTES + 1];
	struct identity_pair p;
	int r;

	(void)a;
	if (identity_new_signer(&p) < 0)
		return fail(JOIN_SIGNER_FILE, -EIO);
	identity_hex(p.public, sizeof(p.public), shown);
	/* link() fails if another command has made a key. If this command is killed, no incomplete
	 * file remains. */
	r = identity_write_hex(new, true, p.secret, sizeof(p.secret));
	explicit_bzero(&p, sizeof(p));
	if (r >= 0 && link(new, JOIN_SIGNER_FILE) < 0)
		r = -errno;
	unlink(new);
	if (r >= 0)
		r = file_sync_folder(JOIN_SIGNER_FILE);
	if (r < 0)
		return fail(JOIN_SIGNER_FILE, r);
	printf("Made the signing key of the cluster: " JOIN_SIGNER_FILE
	       ", public part %s. Keep a copy in a safe place: without the key, you can neither "
	       "give identities to hosts nor revoke them.\n",
	       shown);
	return CTL_OK;
}

/* ---- permissions ---- */

int join_identity_permit(const struct spec *s, const char *host, json_t *to)
{
	uint8_t permission[IDENTITY_PERMISSION_BYTES], once[IDENTITY_KEY_BYTES];
	char hex[2 * IDENTITY_PERMISSION_BYTES + 1];
	struct identity_pair signer;
	uint64_t epoch;
	int r = join_signer_read(
		&signer); /* this check comes first, because its error is easier to understand */

	r = r == CTL_OK ? join_signer_epoch(0, &epoch) : r;
	if (r != CTL_OK)
		return r;
	if (!record_name_is_valid(host) ||
	    identity_permit(&signer, host, epoch, 0, permission, once) < 0) {
		ctl_complain(
			"'%.60s' is not a valid host name; write letters, digits, '.', '_' and "
			"'-'",
			host);
		r = CTL_USAGE;
	} else {
		json_object_set_new(to, "host", json_string(host));
		json_object_set_new(to, "identity",
				    json_string(s->cluster.identity == SPEC_IDENTITY_REQUIRE
							? "require"
							: "accept"));
		identity_hex(signer.public, sizeof(signer.public), hex);
		json_object_set_new(to, "authority", json_string(hex));
		identity_hex(permission, sizeof(permission), hex);
		json_object_set_new(to, "permission", json_string(hex));
		identity_hex(once, sizeof(once), hex);
		json_object_set_new(to, "once", json_string(hex));
	}
	explicit_bzero(&signer, sizeof(signer));
	explicit_bzero(once, sizeof(once));
	explicit_bzero(hex, sizeof(hex));
	return r;
}
