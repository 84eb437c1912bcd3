/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes the record of the addresses that this host owns in pools, and fills the networks
 * of a plan from it. */
#include "netcfg/plan/plan_pools.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/vec.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct state_kind kind = {
	.name = "pools", .version = 1, .scope = STATE_OF_HOST, .bytes_max = 4U << 20};

struct plan_pool *plan_pools_find(const struct plan_pools *p, const char *name)
{
	for (size_t i = 0; p && i < p->n; i++)
		if (strcmp(p->all[i].name, name) == 0)
			return &p->all[i];
	return NULL;
}

struct plan_pool *plan_pools_of(const struct plan_pools *p, const struct ip_addr *ip)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->all[i].n; k++)
			if (ip_addr_equal(&p->all[i].addrs[k], ip))
				return &p->all[i];
	return NULL;
}

struct plan_pool *plan_pools_add(struct plan_pools *p, const char *name)
{
	struct plan_pool *pool = plan_pools_find(p, name);

	if (pool)
		return pool;
	pool = vec_add(&p->all, &p->n, sizeof(*pool));
	if (pool)
		snprintf(pool->name, sizeof(pool->name), "%s", name);
	return pool;
}

void plan_pools_remove(struct plan_pools *p, const char *name)
{
	struct plan_pool *pool = plan_pools_find(p, name);

	if (!pool)
		return;
	free(pool->addrs);
	p->n--;
	memmove(pool, pool + 1, (size_t)(p->all + p->n - pool) * sizeof(*pool));
}

void plan_pools_done(struct plan_pools *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->all[i].addrs);
	free(p->all);
	*p = (struct plan_pools){.n = 0};
}

/* ---- the record ---- */

static int read_pool(struct plan_pools *p, struct state_file *f)
{
	char name[PLENUM_NAME_MAX], range[2 * IP_ADDR_STR_MAX], gateway[IP_ADDR_STR_MAX];
	struct plan_pool *pool;
	struct ip_range r;

	state_file_copy(f, name, sizeof(name));
	state_file_copy(f, range, sizeof(range));
	state_file_copy(f, gateway, sizeof(gateway));
	if (!name[0] || plan_pools_find(p, name) || ip_range_parse(range, &r) < 0)
		return STATE_TORN;
	pool = plan_pools_add(p, name);
	if (!pool)
		return -ENOMEM;
	pool->range = r;
	pool->mtu = (uint32_t)state_file_number(f, UINT32_MAX);
	pool->vlan = (uint16_t)state_file_number(f, UINT16_MAX);
	if (strcmp(gateway, "-") != 0 && ip_addr_parse(gateway, &pool->gateway) < 0)
		return STATE_TORN;
	return state_file_line_ends(f) ? 0 : STATE_TORN;
}

static int read_address(struct plan_pools *p, struct state_file *f)
{
	struct plan_pool *pool = p->n ? &p->all[p->n - 1] : NULL;
	struct ip_addr ip = {.family = 0}, *to;
	char text[IP_ADDR_STR_MAX];

	state_file_copy(f, text, sizeof(text));
	if (!pool || !state_file_line_ends(f))
		return STATE_TORN;
	if (strcmp(text, "-") != 0 &&
	    (ip_addr_parse(text, &ip) < 0 || !ip_range_contains(&pool->range, &ip)))
		return STATE_TORN;
	to = vec_add(&pool->addrs, &pool->n, sizeof(*to));
	if (!to)
		return -ENOMEM;
	*to = ip;
	return 0;
}

static int read_line(struct plan_pools *p, struct state_file *f)
{
	const char *word = state_file_word(f);

	if (strcmp(word, "pool") == 0)
		return read_pool(p, f);
	if (strcmp(word, "address") == 0)
		return read_address(p, f);
	if (strcmp(word, "cluster") != 0)
		return STATE_TORN;
	state_file_copy(f, p->cluster, sizeof(p->cluster));
	state_file_copy(f, p->host, sizeof(p->host));
	state_file_copy(f, p->id, sizeof(p->id));
	return state_file_line_ends(f) ? 0 : STATE_TORN;
}

int plan_pools_load(struct plan_pools *p, const char *path, struct diag *d)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	int r = state_file_read(&f, &kind, path);

	plan_pools_done(p);
	while (r == 0 && state_file_line(&f))
		r = read_line(p, &f);
	if (r == 0 || r == STATE_MISSING)
		return 0;
	plan_pools_done(p);
	if (r == -ENOMEM)
		return r;
	diag_add(d, DIAG_WARNING, NULL, NULL,
		 "cannot read the record %s (%s); the addresses of this host in pools are unknown "
		 "until etcd answers",
		 path, state_file_error(r));
	return 0;
}

int plan_pools_save(const struct plan_pools *p, const char *path)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;
	char range[2 * IP_ADDR_STR_MAX], ip[IP_ADDR_STR_MAX];

	state_draft_init(&d, &kind);
	state_draft_put(&d, "cluster");
	state_draft_word(&d, p->cluster);
	state_draft_word(&d, p->host);
	state_draft_word(&d, p->id);
	state_draft_end(&d);
	for (size_t i = 0; i < p->n; i++) {
		const struct plan_pool *pool = &p->all[i];

		if (!pool->range.first.family)
			continue;
		state_draft_put(&d, "pool");
		state_draft_word(&d, pool->name);
		state_draft_word(&d, ip_range_format(&pool->range, range, sizeof(range)));
		state_draft_word(&d, pool->gateway.family
					     ? ip_addr_format(&pool->gateway, ip, sizeof(ip))
					     : "-");
		state_draft_put(&d, "%" PRIu32 " %u", pool->mtu, pool->vlan);
		state_draft_end(&d);
		for (size_t k = 0; k < pool->n; k++) {
			state_draft_put(&d, "address");
			state_draft_word(&d, pool->addrs[k].family ? ip_addr_format(&pool->addrs[k],
										    ip, sizeof(ip))
								   : "-");
			state_draft_end(&d);
		}
	}
	return state_draft_save(&d, path);
}

/* ---- networks of a plan ---- */

const struct spec_network *planner_network_find(const struct spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->n_networks; i++)
		if (strcmp(spec->networks[i].name, name) == 0)
			return &spec->networks[i];
	return NULL;
}

size_t plan_pool_need(const struct spec *spec, const struct spec_network *network)
{
	bool used = false;
	size_t n = 0;

	for (size_t i = 0; i < spec->n_nets; i++)
		used |= spec->nets[i].enabled && strcmp(spec->nets[i].network, network->name) == 0;
	for (size_t i = 0; network->pool[0] && used && i < spec->n_workers; i++)
		n += spec->workers[i].n_cores;
	return n;
}

size_t plan_pool_count(const struct ip_addr *addrs, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += addrs[i].family != 0;
	return count;
}

static void resolve(struct spec_network *w, const struct plan_pool *pool)
{
	w->range = pool->range;
	w->taken = pool->addrs;
	w->n_taken = pool->n;
	if (!w->gateway.family)
		w->gateway = pool->gateway;
	if (!w->mtu)
		w->mtu = pool->mtu;
	if (!w->vlan)
		w->vlan = pool->vlan;
}

bool plan_pools_are_of(const struct plan_pools *p, const struct spec *spec)
{
	return !p->withheld && strcmp(p->cluster, spec->cluster.name) == 0 &&
	       strcmp(p->host, spec->host) == 0;
}

int plan_pools_resolve(const struct spec *spec, const struct plan_pools *p, struct spec *ret_spec)
{
	struct spec_network *networks = calloc(spec->n_networks + 1, sizeof(*networks));

	if (!networks)
		return -ENOMEM;
	if (spec->n_networks)
		memcpy(networks, spec->networks, spec->n_networks * sizeof(*networks));
	for (size_t i = 0; p && i < spec->n_networks; i++) {
		const struct plan_pool *pool = plan_pools_find(p, networks[i].pool);

		if (networks[i].pool[0] && pool && plan_pool_count(pool->addrs, pool->n) &&
		    plan_pools_are_of(p, spec))
			resolve(&networks[i], pool);
	}
	*ret_spec = *spec;
	ret_spec->networks = networks;
	return 0;
}

void plan_pool_reason(const struct plan_builder *b, const struct spec_network *network,
		      struct reason *why)
{
	const struct plan_pools *p = b->ctx->pools;
	const struct plan_pool *pool =
		p && plan_pools_are_of(p, b->spec) ? plan_pools_find(p, network->pool) : NULL;

	if (pool && reason_is_set(&pool->why)) {
		*why = pool->why;
		return;
	}
	if (p && p->withheld) {
		reason_set(why, "pool-pending",
			   "another host has registered the name of this host, so this one does "
			   "not use its addresses of the pool '%s'; see 'plenum cluster status'",
			   network->pool);
		return;
	}
	reason_set(why, "pool-pending",
		   "this host has %zu of the %zu addresses that its workers need of the pool "
		   "'%s'; the agent takes the others when etcd answers, see 'plenum cluster "
		   "status'",
		   plan_pool_count(network->taken, network->n_taken),
		   plan_pool_need(b->spec, network), network->pool);
}
