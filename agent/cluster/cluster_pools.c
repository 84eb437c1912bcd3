/* SPDX-License-Identifier: BSD-3-Clause */
/* The monitor's side of pools: which addresses this host needs, and the reports about them. */
#include "agent/cluster/cluster.h"
#include <stdio.h>
#include <string.h>

static const struct plan_pool *known_pool(const struct plan_pools *known, const struct spec *s,
					  const char *name)
{
	return plan_pools_are_of(known, s) ? plan_pools_find(known, name) : NULL;
}

static json_t *ips_to_json(const struct plan_pool *p, bool with_missing)
{
	json_t *list = json_array();
	char ip[IP_ADDR_STR_MAX];

	for (size_t i = 0; list && p && i < p->n; i++)
		if (p->addrs[i].family)
			json_array_append_new(
				list, json_string(ip_addr_format(&p->addrs[i], ip, sizeof(ip))));
		else if (with_missing)
			json_array_append_new(list, json_null());
	return list;
}

json_t *cluster_pools_wanted(const struct plan_pools *known, const struct spec *s)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < s->n_networks; i++) {
		const struct spec_network *w = &s->networks[i];
		const size_t need = plan_pool_need(s, w);

		if (w->pool[0] && need)
			json_array_append_new(
				list, json_pack("{s:s, s:I, s:o}", "name", w->pool, "need",
						(json_int_t)need, "known",
						ips_to_json(known_pool(known, s, w->pool), true)));
	}
	return list;
}

/* Returns the entry of that pool in a list of wanted pools, or NULL if the list has no such
 * entry. */
static json_t *wanted_entry(const json_t *wanted, const char *name)
{
	json_t *o;
	size_t i;

	json_array_foreach (wanted, i, o)
		if (strcmp(json_string_value(json_object_get(o, "name")), name) == 0)
			return o;
	return NULL;
}

bool cluster_pools_is_wanted(const json_t *wanted, const char *name)
{
	return wanted_entry(wanted, name);
}

/* Adds the pools of another list. A pool in both lists gets the larger need. */
static void merge(json_t *wanted, const json_t *more)
{
	const char *const need = "need";
	json_t *o, *is;
	size_t i;

	json_array_foreach (more, i, o) {
		is = wanted_entry(wanted, json_string_value(json_object_get(o, "name")));
		if (!is)
			json_array_append(wanted, o);
		else if (json_integer_value(json_object_get(is, need)) <
			 json_integer_value(json_object_get(o, need)))
			json_object_set(is, need, json_object_get(o, need));
	}
}

char *cluster_pools_refresh(const char *settings, const struct plan_pools *known)
{
	json_t *all = json_loads(settings, 0, NULL), *o;
	char *text;
	size_t i;

	json_array_foreach (json_object_get(all, "pools"), i, o) {
		const char *name = json_string_value(json_object_get(o, "name"));

		json_object_set_new(o, "known", ips_to_json(plan_pools_find(known, name), true));
	}
	text = all ? json_dumps(all, JSON_COMPACT) : NULL;
	json_decref(all);
	return text;
}

char *cluster_pools_add(const char *settings, const char *other, json_t **pools)
{
	json_t *is = json_loads(settings, 0, NULL), *to = json_loads(other, 0, NULL);
	json_t *list = json_object_get(is, "pools");
	char *text = NULL;

	merge(list, json_object_get(to, "pools"));
	json_object_set(to, "servers", json_object_get(is, "servers"));
	json_object_set(to, "pools", list);
	if (is && json_equal(is, to))
		text = json_dumps(is, JSON_COMPACT);
	if (text && strcmp(text, settings) != 0) {
		json_decref(*pools);
		*pools = json_deep_copy(list);
	} else if (text) {
		explicit_bzero(text, strlen(text));
		free(ptr_take(text));
	}
	json_decref(is);
	json_decref(to);
	return text;
}

bool cluster_pools_withhold(struct plan_pools *known)
{
	if (known->n == 0 || known->withheld)
		return false;
	for (size_t i = 0; i < known->n; i++)
		if (known->all[i].confirmed)
			return false;
	known->withheld = true;
	return true;
}

void cluster_pools_keep(struct plan_pools *known, const json_t *wanted)
{
	if (known->n + json_array_size(wanted) <= CLUSTER_POOLS_KNOWN_MAX)
		return;
	for (size_t i = known->n; i-- > 0;)
		if (!cluster_pools_is_wanted(wanted, known->all[i].name))
			plan_pools_remove(known, known->all[i].name);
}

void cluster_pools_own(struct plan_pools *known, const char *cluster, const char *host,
		       const char *id)
{
	if (strcmp(known->cluster, cluster) == 0 && strcmp(known->host, host) == 0 &&
	    strcmp(known->id, id) == 0)
		return;
	plan_pools_done(known);
	snprintf(known->cluster, sizeof(known->cluster), "%s", cluster);
	snprintf(known->host, sizeof(known->host), "%s", host);
	snprintf(known->id, sizeof(known->id), "%s", id);
}

bool cluster_pools_lack(const struct plan_pools *known, const struct spec *s)
{
	bool lacks = false;

	for (size_t i = 0; i < s->n_networks; i++) {
		const struct spec_network *w = &s->networks[i];
		const size_t need = plan_pool_need(s, w);
		const struct plan_pool *p = w->pool[0] ? known_pool(known, s, w->pool) : NULL;

		lacks |= w->pool[0] && need &&
			 (!p || !p->confirmed || plan_pool_count(p->addrs, p->n) < need);
	}
	return lacks;
}

bool cluster_pools_use(const struct spec *s)
{
	for (size_t i = 0; i < s->n_networks; i++)
		if (s->networks[i].pool[0])
			return true;
	return false;
}

json_t *cluster_pools_to_json(const struct plan_pools *known, const struct spec *s)
{
	json_t *list = json_array();
	char text[REASON_FORMAT_MAX];

	for (size_t i = 0; list && i < s->n_networks; i++) {
		const struct spec_network *w = &s->networks[i];
		const struct plan_pool *p = w->pool[0] ? known_pool(known, s, w->pool) : NULL;

		if (!w->pool[0])
			continue;
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:I, s:o, s:s}", "pool", w->pool, "network",
					w->name, "needs", (json_int_t)plan_pool_need(s, w),
					"addresses", ips_to_json(p, false), "reason",
					p ? reason_format(&p->why, text, sizeof(text)) : ""));
	}
	return list;
}

void cluster_pools_problems(const struct plan_pools *known, const struct spec *s, json_t *list)
{
	char text[REASON_FORMAT_MAX];

	for (size_t i = 0; i < s->n_networks; i++) {
		const struct spec_network *w = &s->networks[i];
		const struct plan_pool *p = w->pool[0] ? known_pool(known, s, w->pool) : NULL;

		/* If addresses are missing, the leg already reports the reason. */
		if (p && reason_is_set(&p->why) &&
		    plan_pool_count(p->addrs, p->n) >= plan_pool_need(s, w))
			json_array_append_new(
				list, json_string(reason_format(&p->why, text, sizeof(text))));
	}
}

/* Replaces the addresses of a pool by those of a complete report. Returns whether something has
 * changed. */
static bool replace(struct plan_pool *p, struct cluster_pool_draft *d)
{
	const struct cluster_pool *to = &d->head.pool;
	const bool same =
		ip_addr_equal(&p->range.first, &to->range.first) &&
		ip_addr_equal(&p->range.last, &to->range.last) &&
		p->range.prefix_len == to->range.prefix_len &&
		ip_addr_equal(&p->gateway, &to->gateway) && p->mtu == to->mtu &&
		p->vlan == to->vlan && p->n == d->n &&
		(d->n == 0 || memcmp(p->addrs, d->addrs, d->n * sizeof(p->addrs[0])) == 0);

	if (same)
		return false;
	p->range = to->range;
	p->gateway = to->gateway;
	p->mtu = to->mtu;
	p->vlan = to->vlan;
	free(p->addrs);
	p->addrs = ptr_take(d->addrs);
	p->n = d->n;
	return true;
}

bool cluster_pools_take(struct plan_pools *known, struct cluster_pool_draft *d,
			const struct cluster_pool_report *r)
{
	static const char *const codes[CLUSTER_POOL_STATE_MAX] = {"", "pool-unknown",
								  "pool-exhausted", "pool-failing"};
	struct plan_pool *p;
	struct reason was;
	bool changed = false;

	if (r->at == 0) {
		free(ptr_take(d->addrs));
		*d = (struct cluster_pool_draft){.head = *r};
		d->addrs = calloc(r->n_total + 1, sizeof(*d->addrs));
	}
	if (!d->addrs || strcmp(d->head.pool.name, r->pool.name) != 0 || r->at != d->n ||
	    r->n > d->head.n_total - d->n)
		return false;
	memcpy(d->addrs + d->n, r->addrs, r->n * sizeof(r->addrs[0]));
	d->n += r->n;
	if (d->n < d->head.n_total)
		return false;
	if (strcmp(known->cluster, r->cluster) != 0) {
		plan_pools_done(known);
		snprintf(known->cluster, sizeof(known->cluster), "%s", r->cluster);
	}
	p = plan_pools_add(known, r->pool.name);
	if (!p)
		return false;
	was = p->why;
	reason_clear(&p->why);
	if (r->state != CLUSTER_POOL_FINE)
		reason_set(&p->why, codes[r->state], "%s", r->text);
	/* In these two states the report has no addresses, so the known ones stay in use. */
	if (r->state != CLUSTER_POOL_UNKNOWN && r->state != CLUSTER_POOL_FAILING) {
		changed = replace(p, d);
		p->confirmed = true;
	}
	free(ptr_take(d->addrs));
	return changed || !reason_equal(&was, &p->why);
}
