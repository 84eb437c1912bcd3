/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands for identities of hosts. The cluster's signing key is in a file of the host where
 * 'plenum cluster authority' made it. An invitation that was made there for one new host contains a
 * permission. With it, the new host makes its key pair and its certificate.
 */
#include "agent/cluster/store/records.h"
#include "agent/ctl/join/ctl_join.h"
#include "netcfg/base/files/identity.h"
#include <string.h>
#include <sys/stat.h>

#define CONFIG_FILE PLENUM_SYSCONFDIR "/plenum.yaml"

static int fail(const char *path, int e)
{
	ctl_complain("cannot write %s: %s", path, strerror(-e));
	return e == -EACCES || e == -EPERM ? CTL_NO_PERMISSION : CTL_IO;
}

static const char *dir_of(const struct spec *s)
{
	return s->cluster.identity_dir ? s->cluster.identity_dir : IDENTITY_DIR;
}

/* ---- the identity of this host ---- */

/* Makes the key pair and certificate from the texts of an invitation. */
static int make(const struct invitation *i, const char *host, struct identity *ret)
{
	uint8_t permission[IDENTITY_PERMISSION_BYTES], once[IDENTITY_KEY_BYTES];
	int r = -EINVAL;

	if (i->authority && i->permission && i->once &&
	    identity_unhex(i->authority, ret->cluster, sizeof(ret->cluster)) == 0 &&
	    identity_unhex(i->permission, permission, sizeof(permission)) == 0 &&
	    identity_unhex(i->once, once, sizeof(once)) == 0)
		r = identity_new_host(&ret->pair);
	if (r >= 0)
		r = identity_certify(permission, once, ret->pair.public, ret->certificate);
	explicit_bzero(once, sizeof(once));
	if (r >= 0)
		r = identity_check(ret->certificate, sizeof(ret->certificate), ret->cluster, 0,
				   &ret->card);
	if (r >= 0 && strcmp(ret->card.host, host) == 0)
		return CTL_OK;
	ctl_complain("the invitation has no valid permission for the host '%.63s'; make one with "
		     "'plenum cluster invite FILE %.63s' on the host that has the cluster's "
		     "signing key",
		     host, host);
	return CTL_DATA;
}

/* Writes the identity. Also makes the parent of the identity's folder, because a new host does not
 * have it yet. */
static int write_identity(const char *dir, const struct identity *is)
{
	autofree char *above = strndup(dir, (size_t)(strrchr(dir, '/') - dir));
	int r;

	if (above && *above && mkdir(above, 0755) < 0 && errno != EEXIST)
		return fail(above, -errno);
	r = identity_write(dir, is);
	if (r != -EEXIST)
		return r < 0 ? fail(dir, r) : CTL_OK;
	ctl_complain("%s has the identity of another cluster: the signing key of the invitation "
		     "differs from that in %s/" IDENTITY_FILE_CLUSTER
		     ". If this host moves to the other cluster, remove that file",
		     dir, dir);
	return CTL_DATA;
}

int join_identity_make(const struct invitation *i, const char *host, const char *dir)
{
	struct identity *is = calloc(1, sizeof(*is));
	int r = is ? make(i, host, is) : ctl_put_text(NULL);

	if (r == CTL_OK)
		r = write_identity(dir, is);
	if (is)
		identity_wipe(is);
	free(is);
	return r;
}

int ctl_cmd_cluster_identity(const struct ctl_args *a)
{
	struct invitation i = {.all = NULL};
	struct spec *s = NULL;
	int r = ctl_load(CONFIG_FILE, &s);

	if (r == CTL_OK)
		r = invitation_read(a->operands[0], NULL, NULL, &i);
	if (r == CTL_OK)
		r = join_identity_make(&i, s->host, dir_of(s));
	if (r == CTL_OK)
		printf("This host has a new key and a certificate for the name '%s' in %s. Write "
		       "'identity: accept' or 'identity: require' in 'cluster' of " CONFIG_FILE
		       " if it is not there, and run 'plenum apply'.\n",
		       s->host, dir_of(s));
	invitation_done(&i);
	spec_free(s);
	return r;
}

/* ---- revocations ---- */

struct revoking {
	struct loop *loop;
	const struct invitation *of;
	struct kv *kv;
	const struct identity_pair *signer;
	const char *host;
	char key[KV_KEY_MAX];
	int status; /* exit status */
};

static void end(struct revoking *v, int status)
{
	v->status = status;
	loop_exit(v->loop, 0);
}

static int read_key(struct revoking *v);

static void on_written(void *user, const struct kv_answer *a)
{
	struct revoking *v = user;

	if (a->trouble != CLUSTER_FINE)
		end(v, join_store_complain(v->of, a));
	else if (a->succeeded)
		end(v, CTL_OK);
	else if (read_key(v) < 0) /* another command has changed the key in etcd meanwhile */
		end(v, CTL_OS);
}

/* Makes the new value of the key from its value in etcd. Returns CTL_OK or another exit status. */
static int new_value(const struct revoking *v, const char *text, size_t len, char **ret)
{
	uint8_t bytes[IDENTITY_REVOCATION_BYTES];
	uint64_t epoch = record_revoked_epoch(text, len, v->signer->public, v->host);
	bool known;
	/* A revocation with an earlier epoch than the revocation of the host in etcd would have no
	 * effect. */
	int r = join_signer_epoch(epoch + 1, &epoch);

	if (r != CTL_OK)
		return r;
	if (identity_revoke(v->signer, v->host, epoch, bytes) < 0)
		return CTL_OS;
	*ret = record_revoked_add(text, len, v->signer->public, bytes, &known);
	if (!*ret) {
		ctl_complain("etcd has the revocations of %u hosts already, or memory is short",
			     IDENTITY_REVOKED_MAX);
		return CTL_DATA;
	}
	if (!known)
		ctl_complain("warning: the value of the key %s in etcd was invalid and is "
			     "replaced; hosts keep the revocations that they already have",
			     v->key);
	return CTL_OK;
}

static void on_read(void *user, const struct kv_answer *a)
{
	const struct kv_pair *p = a->n_pairs ? &a->pairs[0] : NULL;
	struct revoking *v = user;
	struct kv_op put = {.kind = KV_PUT, .key = v->key};
	const struct kv_txn t = {
		.key = v->key, .revision = p ? p->revision : 0, .ops = &put, .n_ops = 1};
	char *text = NULL;
	int r;

	if (a->trouble != CLUSTER_FINE) {
		end(v, join_store_complain(v->of, a));
		return;
	}
	r = new_value(v, p && p->value ? p->value : "", p ? p->len : 0, &text);
	put.value = text;
	if (r != CTL_OK) {
		end(v, r);
	} else if (kv_etcd.txn(v->kv, &t, on_written, v) < 0) {
		end(v, CTL_OS);
	}
	free(text);
}

static int read_key(struct revoking *v)
{
	const struct kv_range range = {.first = v->key};

	return kv_etcd.range(v->kv, &range, on_read, v);
}

static int store(const struct invitation *i, const struct identity_pair *signer, const char *host)
{
	struct revoking v = {.of = i, .signer = signer, .host = host, .status = CTL_UNAVAILABLE};
	int r = loop_new(&v.loop);

	record_revoked_key(i->cluster, v.key);
	if (r >= 0)
		r = join_store_open(i, v.loop, &v.kv);
	if (r >= 0)
		r = read_key(&v);
	if (r >= 0)
		r = loop_run(v.loop);
	kv_etcd.close(v.kv);
	loop_free(v.loop);
	if (r >= 0)
		return v.status;
	ctl_complain("cannot ask etcd: %s", strerror(-r));
	return CTL_OS;
}

int ctl_cmd_cluster_revoke(const struct ctl_args *a)
{
	struct invitation i = {.all = NULL};
	struct identity_pair signer;
	struct spec *s = NULL;
	json_t *all = NULL;
	int r = join_signer_read(&signer);

	if (r == CTL_OK)
		r = ctl_load(CONFIG_FILE, &s);
	if (r == CTL_OK && s->cluster.n_etcd == 0) {
		ctl_complain("cluster.etcd is not in " CONFIG_FILE
			     ", so other hosts would not get the revocation; write cluster.etcd");
		r = CTL_DATA;
	}
	if (r == CTL_OK && !record_name_is_valid(a->operands[0])) {
		ctl_complain("'%.60s' is not a valid host name", a->operands[0]);
		r = CTL_USAGE;
	}
	if (r == CTL_OK)
		r = invitation_make(s, 1, &all);
	invitation_use(&i, all);
	if (r == CTL_OK)
		r = store(&i, &signer, a->operands[0]);
	explicit_bzero(&signer, sizeof(signer));
	if (r == CTL_OK)
		printf("The identity of %s is revoked: hosts with cluster.identity end its "
		       "sessions and refuse it. To give it a new identity, use 'plenum cluster "
		       "invite FILE %s' and "
		       "'plenum cluster identity FILE'.\n",
		       a->operands[0], a->operands[0]);
	invitation_done(&i);
	spec_free(s);
	return r;
}
