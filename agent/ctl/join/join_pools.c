/* SPDX-License-Identifier: BSD-3-Clause */
/* Asks the store of a cluster, to which this host does not belong yet, for its pools. */
#include "agent/ctl/join/ctl_join.h"
#include <string.h>

struct query {
	struct loop *loop;
	const struct invitation *of;
	struct cluster_pool *pools;
	size_t n;
	int status; /* exit status */
};

int join_store_complain(const struct invitation *i, const struct kv_answer *a)
{
	const char *url = json_string_value(json_array_get(i->etcd, 0));

	if (a->trouble == CLUSTER_REFUSED) {
		ctl_complain("etcd at %.90s refuses the user '%.60s' (%.200s); correct the user "
			     "and password in the invitation",
			     url, i->user ? i->user : "without a name", a->text);
		return CTL_NO_PERMISSION;
	}
	if (a->trouble == CLUSTER_CERTIFICATE)
		ctl_complain("the certificate of etcd at %.90s is not valid (%.200s); correct "
			     "'ca' in the invitation, or the URL",
			     url, a->text);
	else if (a->trouble == CLUSTER_UNREACHABLE)
		ctl_complain("etcd does not answer at %.90s (%.200s); check the URL, the network "
			     "and whether etcd runs",
			     url, a->text);
	else
		ctl_complain("the answer of etcd at %.90s is not valid (%.200s); check the URL and "
			     "the state of etcd",
			     url, a->text);
	return CTL_UNAVAILABLE;
}

static int take_pools(struct query *q, const json_t *config)
{
	const size_t n = json_array_size(json_object_get(config, "pools"));

	q->pools = calloc(n + 1, sizeof(*q->pools));
	for (size_t i = 0; q->pools && i < n; i++)
		if (pools_at(config, i, &q->pools[q->n]))
			q->n++;
		else
			fprintf(stderr,
				"plenum: the entry of the pool '%s' in etcd is not valid and is "
				"left out\n",
				q->pools[q->n].name);
	if (!q->pools)
		return ctl_put_text(NULL);
	if (q->n)
		return CTL_OK;
	ctl_complain("the cluster '%s' has no pool; run 'plenum pool add NAME --range "
		     "FIRST-LAST/LENGTH' on a host of the cluster first, and check the name of "
		     "the cluster",
		     q->of->cluster);
	return CTL_NO_INPUT;
}

static void on_config(void *user, const struct kv_answer *a)
{
	const struct kv_pair *p = a->n_pairs ? &a->pairs[0] : NULL;
	struct query *q = user;
	json_t *config;

	if (a->trouble != CLUSTER_FINE) {
		q->status = join_store_complain(q->of, a);
	} else {
		config = pools_parse(p && p->value ? p->value : "", p ? p->len : 0);
		if (config) {
			q->status = take_pools(q, config);
		} else {
			ctl_complain("this version cannot parse the key config of the cluster "
				     "'%s'; update Plenum on this host",
				     q->of->cluster);
			q->status = CTL_DATA;
		}
		json_decref(config);
	}
	loop_exit(q->loop, 0);
}

int join_store_open(const struct invitation *i, struct loop *loop, struct kv **ret)
{
	const char *endpoints[KV_ENDPOINTS_MAX];
	struct kv_setup setup = {.loop = loop,
				 .endpoints = endpoints,
				 .ca = i->ca,
				 .user = i->user,
				 .password = i->password};
	const json_t *url;
	size_t k;

	json_array_foreach (i->etcd, k, url)
		if (setup.n_endpoints < KV_ENDPOINTS_MAX && json_is_string(url))
			endpoints[setup.n_endpoints++] = json_string_value(url);
	return kv_etcd.open(&setup, ret);
}

static int ask(struct query *q)
{
	char key[KV_KEY_MAX];
	const struct kv_range range = {.first = key};
	struct kv *kv = NULL;
	int r;

	pool_config_key(q->of->cluster, key);
	r = join_store_open(q->of, q->loop, &kv);
	if (r >= 0)
		r = kv_etcd.range(kv, &range, on_config, q);
	if (r >= 0)
		r = loop_run(q->loop);
	kv_etcd.close(kv);
	return r;
}

int join_pools_read(const struct invitation *i, struct cluster_pool **ret_pools, size_t *ret_n)
{
	struct query q = {.of = i, .status = CTL_UNAVAILABLE};
	int r = loop_new(&q.loop);

	if (r >= 0)
		r = ask(&q);
	loop_free(q.loop);
	if (r < 0) {
		ctl_complain("cannot ask etcd: %s", strerror(-r));
		q.status = CTL_OS;
	}
	if (q.status != CTL_OK) {
		free(q.pools);
		return q.status;
	}
	*ret_pools = q.pools;
	*ret_n = q.n;
	return CTL_OK;
}
