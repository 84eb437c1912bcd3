/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and watches the keys of servers in the cluster's store, and the key of the revocations. The
 * table of servers also has an entry for the key of the revocations; its name is "". */
#include "agent/cluster/discovery.h"
#include "agent/cluster/servers.h"
#include "agent/cluster/store/member.h"
#include "netcfg/base/log.h"
#include <stdio.h>
#include <string.h>

#define RETRY_NS NSEC_PER_SEC
#define FAILURES_MAX 5U /* the pauses double up to 32 s */

struct server {
	char host[PLENUM_NAME_MAX];
	/* revision of the server's key that was last reported; 0: the key does not exist */
	uint64_t revision;
	bool known;    /* the key was read, or found to be absent */
	bool reported; /* the key or its absence was reported */
};

struct discovery {
	struct discovery_setup setup;
	char cluster[PLENUM_NAME_MAX];
	struct loop_source *timer;
	struct server servers[DISCOVERY_SERVERS_MAX + 1];
	size_t n;
	size_t at;		/* index of the next server to read in this round */
	uint64_t from_revision; /* revision of the store at the beginning of the round */
	bool busy;		/* a read is in progress */
	/* the list of servers has changed, so the answer to the read in progress is ignored */
	bool outdated;
	bool watching;
	bool missed; /* this round has found a change that the watch has not reported */
	unsigned n_failures;
};

static void check(struct discovery *d);

static void arm(struct discovery *d, uint64_t in_ns)
{
	loop_timer_arm(d->timer, member_jitter(in_ns));
}

static void retry(struct discovery *d)
{
	arm(d, RETRY_NS << MIN_OF(d->n_failures, FAILURES_MAX));
	d->n_failures++;
}

static struct server *find(struct discovery *d, const char *host)
{
	for (size_t i = 0; host && i < d->n; i++)
		if (strcmp(d->servers[i].host, host) == 0)
			return &d->servers[i];
	return NULL;
}

static void key_of(const struct discovery *d, const struct server *s, char buf[KV_KEY_MAX])
{
	if (s->host[0])
		record_key(RECORD_SERVING, d->cluster, s->host, buf);
	else
		record_revoked_key(d->cluster, buf);
}

/* Returns the entry to which a key of the store belongs, or NULL. */
static struct server *find_key(struct discovery *d, const char *key)
{
	char revoked[KV_KEY_MAX];

	record_revoked_key(d->cluster, revoked);
	return find(d,
		    strcmp(key, revoked) == 0 ? "" : record_host(RECORD_SERVING, d->cluster, key));
}

/* ---- changes of a server ---- */

/* Handles that a server has no key. Returns whether the server had one before. */
static bool take_absent(struct discovery *d, struct server *s)
{
	struct cluster_server gone = {.registered = 0};

	s->known = true;
	if (s->reported && s->revision == 0)
		return false;
	s->revision = 0;
	s->reported = true;
	if (!s->host[0]) /* revocations stay in force even if their key is deleted */
		return true;
	memcpy(gone.host, s->host, sizeof(gone.host));
	d->setup.on_server(d->setup.user, &gone);
	return true;
}

/* Handles a key that was read, or that an event reports. Returns whether it has changed. An event
 * may be older than the last read, so its revision must be higher. A read accepts any other
 * revision, because a store that was restored from a backup has lower ones. */
static bool take_pair(struct discovery *d, const struct kv_pair *p, bool is_event)
{
	struct server *s = find_key(d, p->key);
	struct cluster_server parsed;

	if (!s ||
	    (s->known && (is_event ? p->revision <= s->revision : p->revision == s->revision)))
		return false;
	if (p->deleted)
		return take_absent(d, s);
	s->known = true;
	s->revision = p->revision;
	if (!s->host[0]) {
		s->reported = true;
		d->setup.on_revoked(d->setup.user, p->value ? p->value : "", p->len);
		return true;
	}
	if (record_server_parse(s->host, p->value ? p->value : "", p->len, &parsed) < 0) {
		log_warning("cannot parse the key of the server %s in etcd; ignored", s->host);
		return true;
	}
	s->reported = true;
	d->setup.on_server(d->setup.user, &parsed);
	return true;
}

/* ---- the watch ---- */

static void on_event(void *user, const struct kv_answer *a)
{
	struct discovery *d = user;

	for (size_t i = 0; i < a->n_pairs; i++)
		take_pair(d, &a->pairs[i], true);
	if (a->trouble == CLUSTER_FINE && !a->compacted)
		return;
	d->watching = false;
	log_debug("the watch of the cluster's servers ended: %s",
		  a->compacted ? "etcd has deleted the revision at which the watch should begin"
			       : a->text);
	if (!d->busy)
		retry(d);
}

static void watch(struct discovery *d)
{
	static char keys[DISCOVERY_SERVERS_MAX + 1][KV_KEY_MAX];
	const char *list[DISCOVERY_SERVERS_MAX + 1];

	for (size_t i = 0; i < d->n; i++) {
		key_of(d, &d->servers[i], keys[i]);
		list[i] = keys[i];
	}
	d->watching = d->setup.ops->watch(d->setup.kv, list, d->n, d->from_revision + 1, on_event,
					  d) == 0;
}

/* ---- reads ---- */

static size_t chunk_end(const struct discovery *d)
{
	return MIN_OF(d->n, d->at + KV_OPS_MAX);
}

static void end_round(struct discovery *d)
{
	d->setup.on_looked(d->setup.user, CLUSTER_FINE, "");
	if (d->watching && !d->missed) /* the watch has worked during a whole round, so its next
					  failure is retried at once */
		d->n_failures = 0;
	if (d->watching && d->missed) {
		log_info("the watch of the cluster's servers missed a change; starting it again");
		d->watching = false;
	}
	if (!d->watching && d->n > 0)
		watch(d);
	d->at = 0;
	if (d->watching)
		arm(d, d->setup.check_ns);
	else if (d->n > 0)
		retry(d);
}

static void on_read(void *user, const struct kv_answer *a)
{
	struct discovery *d = user;
	const size_t end = chunk_end(d);

	d->busy = false;
	if (d->outdated) {
		check(d);
		return;
	}
	if (a->trouble != CLUSTER_FINE) {
		d->at = 0;
		retry(d);
		d->setup.on_looked(d->setup.user, a->trouble, a->text);
		return;
	}
	if (d->at == 0)
		d->from_revision = a->revision;
	for (size_t i = 0; i < a->n_pairs; i++)
		d->missed |= take_pair(d, &a->pairs[i], false);
	for (; d->at < end; d->at++) {
		struct server *s = &d->servers[d->at];
		bool found = false;

		for (size_t i = 0; i < a->n_pairs && !found; i++)
			found = find_key(d, a->pairs[i].key) == s;
		if (!found)
			d->missed |= take_absent(d, s);
	}
	if (d->at < d->n)
		check(d);
	else
		end_round(d);
}

/* Reads the next servers of the round. */
static void check(struct discovery *d)
{
	static char keys[KV_OPS_MAX][KV_KEY_MAX];
	struct kv_op ops[KV_OPS_MAX];
	struct kv_txn t = {.ops = ops};

	if (d->outdated) {
		d->at = 0;
		d->outdated = false;
	}
	if (d->at == 0)
		d->missed = false;
	if (d->n == 0) {
		end_round(d);
		return;
	}
	for (size_t i = d->at; i < chunk_end(d); i++) {
		char *key = keys[t.n_ops];

		key_of(d, &d->servers[i], key);
		ops[t.n_ops++] = (struct kv_op){.kind = KV_GET, .key = key};
	}
	d->busy = d->setup.ops->txn(d->setup.kv, &t, on_read, d) == 0;
	if (!d->busy)
		retry(d);
}

static int on_timer(void *user)
{
	struct discovery *d = user;

	if (!d->busy)
		check(d);
	return 0;
}

/* ---- servers to find ---- */

void discovery_want(struct discovery *d, const json_t *hosts)
{
	bool changed = false;
	const json_t *o;
	size_t kept = 0, i;

	for (size_t k = 0; k < d->n; k++)
		if (!d->servers[k].host[0] || servers_lists(hosts, d->servers[k].host))
			d->servers[kept++] = d->servers[k];
	changed = kept != d->n || d->outdated;
	d->n = kept;
	json_array_foreach (hosts, i, o) {
		struct server *s = &d->servers[d->n];

		if (d->n == DISCOVERY_SERVERS_MAX + 1 || find(d, json_string_value(o)))
			continue;
		*s = (struct server){.known = false};
		snprintf(s->host, sizeof(s->host), "%s", json_string_value(o));
		d->n++;
		changed = true;
	}
	if (!changed)
		return;
	d->setup.ops->unwatch(d->setup.kv);
	d->watching = false;
	d->outdated = true;
	if (!d->busy)
		check(d);
}

/* ---- lifetime ---- */

int discovery_new(const struct discovery_setup *setup, struct discovery **ret)
{
	struct discovery *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->setup = *setup;
	snprintf(d->cluster, sizeof(d->cluster), "%s", setup->cluster);
	d->n = setup->on_revoked != NULL; /* the entry "" */
	d->outdated = d->n > 0;
	r = loop_add_timer(setup->loop, NSEC_PER_MSEC, on_timer, d, &d->timer);
	if (r < 0) {
		discovery_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

struct discovery *discovery_free(struct discovery *d)
{
	if (!d)
		return NULL;
	loop_source_free(d->timer);
	free(d);
	return NULL;
}
