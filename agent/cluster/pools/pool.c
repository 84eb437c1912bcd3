/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats and parses the keys and values of pools and addresses, and chooses addresses for a
 * host. */
#include "agent/cluster/pools/pool.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/when.h"
#include "netcfg/spec/spec.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- keys ---- */

void pool_config_key(const char *cluster, char buf[KV_KEY_MAX])
{
	snprintf(buf, KV_KEY_MAX, "/plenum/%.*s/v%d/config", PLENUM_NAME_MAX - 1, cluster,
		 RECORDS_VERSION);
}

void pool_address_keys(const char *cluster, char first[KV_KEY_MAX], char end[KV_KEY_MAX])
{
	snprintf(first, KV_KEY_MAX, "/plenum/%.*s/v%d/address/", PLENUM_NAME_MAX - 1, cluster,
		 RECORDS_VERSION);
	memcpy(end, first, KV_KEY_MAX);
	end[strlen(end) - 1]++; /* replaces '/', the last character, by the next one */
}

void pool_address_key(const char *cluster, const struct ip_addr *ip, char buf[KV_KEY_MAX])
{
	char end[KV_KEY_MAX];

	pool_address_keys(cluster, buf, end);
	ip_addr_format(ip, buf + strlen(buf), IP_ADDR_STR_MAX);
}

bool pool_next_page(const struct kv_answer *a, char next[KV_KEY_MAX])
{
	for (size_t i = a->n_pairs; i-- > 0;) {
		const char *last = a->pairs[i].key; /* "": the store's key is too long */

		if (strlen(last) + 2 > KV_KEY_MAX || strcmp(last, next) < 0)
			continue;
		/* No address has a character that sorts before '.', so the key with '!' is before
		 * any other key that begins with `last`. */
		strcat(strcpy(next, last), "!");
		return true;
	}
	return false;
}

bool pool_key_address(const char *cluster, const char *key, struct ip_addr *ret)
{
	char first[KV_KEY_MAX], end[KV_KEY_MAX], text[IP_ADDR_STR_MAX];

	pool_address_keys(cluster, first, end);
	if (strncmp(key, first, strlen(first)) != 0)
		return false;
	key += strlen(first);
	/* Accepts only the normal form of the address, so that no two keys stand for one
	 * address. */
	return ip_addr_parse(key, ret) == 0 &&
	       strcmp(ip_addr_format(ret, text, sizeof(text)), key) == 0;
}

/* ---- pools ---- */

/* Checks that each address of the range can belong to a host. */
static bool range_is_usable(const struct ip_range *r, struct reason *why)
{
	const struct ip_prefix subnet = {ip_addr_network(&r->first, r->prefix_len), r->prefix_len};
	const struct ip_addr last = ip_prefix_last(&subnet);

	if (ip_addr_is_unusable(&r->first) || ip_addr_is_unusable(&r->last) ||
	    ip_addr_is_link_local(&r->first)) {
		reason_set_text(why, "the range has addresses that no host can have");
		return false;
	}
	if (r->first.family == AF_INET && r->prefix_len < 31 &&
	    (ip_addr_equal(&r->first, &subnet.addr) || ip_addr_equal(&r->last, &last))) {
		reason_set_text(why, "the range includes the address of the subnet itself or its "
				     "broadcast address; leave them out");
		return false;
	}
	return true;
}

static bool gateway_is_usable(const struct cluster_pool *p, struct reason *why)
{
	const struct ip_prefix subnet = {ip_addr_network(&p->range.first, p->range.prefix_len),
					 p->range.prefix_len};

	if (!p->gateway.family)
		return true;
	if (ip_addr_is_link_local(&p->gateway) && p->range.first.family == AF_INET6)
		return true;
	if (!ip_prefix_contains(&subnet, &p->gateway) || ip_addr_is_unusable(&p->gateway) ||
	    ip_range_contains(&p->range, &p->gateway)) {
		reason_set_text(why, "the gateway is not an address of the subnet outside the "
				     "range");
		return false;
	}
	return true;
}

/* 0: not given. */
static bool numbers_are_usable(uint32_t mtu, uint32_t vlan, struct reason *why)
{
	if (mtu && (mtu < SPEC_MTU_MIN || mtu > 65535))
		reason_set_text(why, "the MTU is not a number from %d to 65535", SPEC_MTU_MIN);
	else if (vlan > 4094)
		reason_set_text(why, "the VLAN is not a number from 1 to 4094");
	else
		return true;
	return false;
}

int pool_make(const char *name, const char *range, const char *gateway, uint32_t mtu, uint32_t vlan,
	      struct cluster_pool *ret, struct reason *why)
{
	struct cluster_pool p = {.mtu = mtu, .vlan = (uint16_t)vlan};

	if (!spec_name_is_valid(name)) {
		reason_set_text(why, "the name of the pool is not valid; write letters, digits, "
				     "'.', '_' and '-'");
		return -EINVAL;
	}
	snprintf(p.name, sizeof(p.name), "%s", name);
	if (!strchr(range, '/') || ip_range_parse(range, &p.range) < 0) {
		reason_set_text(why, "the range is not FIRST-LAST/LENGTH, two addresses of one "
				     "subnet in rising order");
		return -EINVAL;
	}
	if (gateway[0] && ip_addr_parse(gateway, &p.gateway) < 0) {
		reason_set_text(why, "the gateway is not an IP address");
		return -EINVAL;
	}
	if (!numbers_are_usable(mtu, vlan, why))
		return -EINVAL;
	if (!range_is_usable(&p.range, why) || !gateway_is_usable(&p, why))
		return -EINVAL;
	*ret = p;
	return 0;
}

int pool_change_make(const char *name, const char *range, const char *gateway, uint32_t mtu,
		     uint32_t vlan, struct cluster_pool *ret, struct reason *why)
{
	struct cluster_pool p = {.mtu = mtu, .vlan = (uint16_t)vlan};

	if (range[0])
		return pool_make(name, range, strcmp(gateway, POOL_NO_GATEWAY) == 0 ? "" : gateway,
				 mtu, vlan, ret, why);
	if (!spec_name_is_valid(name)) {
		reason_set_text(why, "the name of the pool is not valid");
		return -EINVAL;
	}
	if (gateway[0] && strcmp(gateway, POOL_NO_GATEWAY) != 0 &&
	    ip_addr_parse(gateway, &p.gateway) < 0) {
		reason_set_text(why, "the gateway is not an IP address, or 'none'");
		return -EINVAL;
	}
	if (!numbers_are_usable(mtu, vlan, why))
		return -EINVAL;
	snprintf(p.name, sizeof(p.name), "%s", name);
	*ret = p;
	return 0;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static uint32_t number_of(const json_t *o, const char *key)
{
	const json_int_t n = json_integer_value(json_object_get(o, key));

	return n < 0 || n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static int pool_of(const json_t *o, struct cluster_pool *ret, struct reason *why)
{
	return pool_make(text_of(o, "name"), text_of(o, "range"), text_of(o, "gateway"),
			 number_of(o, "mtu"), number_of(o, "vlan"), ret, why);
}

json_t *pools_parse(const char *text, size_t len)
{
	json_t *o;

	if (len == 0)
		return json_pack("{s:i, s:[]}", "v", RECORDS_VERSION, "pools");
	o = len <= RECORDS_BYTES_MAX ? json_loadb(text, len, 0, NULL) : NULL;
	if (json_is_object(o) && json_integer_value(json_object_get(o, "v")) >= RECORDS_VERSION &&
	    !json_object_get(o, "pools"))
		json_object_set_new(o, "pools", json_array());
	if (json_is_object(o) && json_integer_value(json_object_get(o, "v")) >= RECORDS_VERSION &&
	    json_is_array(json_object_get(o, "pools")))
		return o;
	json_decref(o);
	return NULL;
}

static const json_t *entry_of(const json_t *config, const char *name, size_t *ret_index)
{
	const json_t *o;
	size_t i;

	json_array_foreach (json_object_get(config, "pools"), i, o)
		if (strcmp(text_of(o, "name"), name) == 0) {
			*ret_index = i;
			return o;
		}
	return NULL;
}

int pools_find(const json_t *config, const char *name, struct cluster_pool *ret, struct reason *why)
{
	size_t i;
	const json_t *o = entry_of(config, name, &i);

	if (!o)
		return -ENOENT;
	return pool_of(o, ret, why) < 0 ? -EBADMSG : 0;
}

bool pools_at(const json_t *config, size_t i, struct cluster_pool *ret)
{
	const json_t *o = json_array_get(json_object_get(config, "pools"), i);
	struct reason why;

	if (pool_of(o, ret, &why) == 0)
		return true;
	*ret = (struct cluster_pool){.mtu = 0};
	if (spec_name_is_valid(text_of(o, "name")))
		snprintf(ret->name, sizeof(ret->name), "%s", text_of(o, "name"));
	return false;
}

/* Returns whether the gateway of one of the two pools is an address of the other. */
static bool gateway_overlaps(const struct cluster_pool *p, const struct cluster_pool *o,
			     struct reason *why)
{
	const struct cluster_pool *of = ip_range_contains(&o->range, &p->gateway)   ? p
					: ip_range_contains(&p->range, &o->gateway) ? o
										    : NULL;

	if (of)
		reason_set_text(why,
				"the gateway of the pool '%s' is in the range of the pool '%s'; "
				"leave it out of the range",
				of->name, of == p ? o->name : p->name);
	return of;
}

/* Returns whether another pool contains an address or the gateway of this one. */
static bool overlaps(const json_t *config, const struct cluster_pool *p, struct reason *why)
{
	const size_t n = json_array_size(json_object_get(config, "pools"));
	char range[2 * IP_ADDR_STR_MAX];
	struct cluster_pool o;

	for (size_t i = 0; i < n; i++) {
		if (!pools_at(config, i, &o) || strcmp(o.name, p->name) == 0)
			continue;
		if (gateway_overlaps(p, &o, why))
			return true;
		if (!ip_range_overlaps(&o.range, &p->range))
			continue;
		reason_set_text(why,
				"the range overlaps that of the pool '%s', %s; give each pool its "
				"own addresses",
				o.name, ip_range_format(&o.range, range, sizeof(range)));
		return true;
	}
	return false;
}

bool pools_are_equal(const struct cluster_pool *a, const struct cluster_pool *b)
{
	return strcmp(a->name, b->name) == 0 && ip_addr_equal(&a->range.first, &b->range.first) &&
	       ip_addr_equal(&a->range.last, &b->range.last) &&
	       a->range.prefix_len == b->range.prefix_len &&
	       ip_addr_equal(&a->gateway, &b->gateway) && a->mtu == b->mtu && a->vlan == b->vlan;
}

/* Writes the members of the pool, but its name, into its entry. Other members stay. */
static void pool_put(json_t *o, const struct cluster_pool *p)
{
	char range[2 * IP_ADDR_STR_MAX], ip[IP_ADDR_STR_MAX];

	ip_range_format(&p->range, range, sizeof(range));
	if (!strchr(range, '/'))
		snprintf(range + strlen(range), sizeof(range) - strlen(range), "/%u",
			 p->range.prefix_len);
	json_object_set_new(o, "range", json_string(range));
	json_object_del(o, "gateway");
	if (p->gateway.family)
		json_object_set_new(o, "gateway",
				    json_string(ip_addr_format(&p->gateway, ip, sizeof(ip))));
	if (p->mtu)
		json_object_set_new(o, "mtu", json_integer(p->mtu));
	if (p->vlan)
		json_object_set_new(o, "vlan", json_integer(p->vlan));
}

int pools_add(json_t *config, const struct cluster_pool *p, struct reason *why)
{
	json_t *list = json_object_get(config, "pools"), *o;
	struct cluster_pool is;
	struct reason bad;
	size_t i;

	if (entry_of(config, p->name, &i)) {
		if (pools_find(config, p->name, &is, &bad) < 0)
			reason_set_text(why,
					"the entry of the pool '%s' in etcd is not valid (%.100s); "
					"remove it with 'plenum pool remove %s' first",
					p->name, bad.text, p->name);
		else
			reason_set_text(why, "the pool '%s' exists already; see 'plenum pool show'",
					p->name);
		return -EEXIST;
	}
	if (overlaps(config, p, why))
		return -EEXIST;
	if (json_array_size(list) >= POOLS_MAX) {
		reason_set_text(why, "the cluster has %d pools, which is the limit", POOLS_MAX);
		return -E2BIG;
	}
	o = json_pack("{s:s}", "name", p->name);
	pool_put(o, p);
	return json_array_append_new(list, o) < 0 ? -ENOMEM : 0;
}

int pools_set(json_t *config, const struct cluster_pool *change, bool no_gateway,
	      struct cluster_pool *ret_was, struct cluster_pool *ret_is, struct reason *why)
{
	struct cluster_pool p;
	size_t i;
	int r;

	if (!entry_of(config, change->name, &i)) {
		reason_set_text(why, "the cluster has no pool '%.63s'; see 'plenum pool show'",
				change->name);
		return -ENOENT;
	}
	r = pools_find(config, change->name, ret_was, why);
	if (r < 0)
		return r;
	p = *ret_was;
	if (change->range.first.family)
		p.range = change->range;
	if (change->gateway.family || no_gateway)
		p.gateway = change->gateway;
	if (change->mtu)
		p.mtu = change->mtu;
	if (change->vlan)
		p.vlan = change->vlan;
	if (p.gateway.family && p.gateway.family != p.range.first.family) {
		reason_set_text(why, "the gateway and the range are of different families; set "
				     "both, or '--gateway none'");
		return -EINVAL;
	}
	if (!range_is_usable(&p.range, why) || !gateway_is_usable(&p, why))
		return -EINVAL;
	if (overlaps(config, &p, why))
		return -EEXIST;
	pool_put(json_array_get(json_object_get(config, "pools"), i), &p);
	*ret_is = p;
	return 0;
}

int pools_remove(json_t *config, const char *name, struct reason *why)
{
	size_t i;

	if (!entry_of(config, name, &i)) {
		reason_set_text(why, "the cluster has no pool '%.63s'; see 'plenum pool show'",
				name);
		return -ENOENT;
	}
	return json_array_remove(json_object_get(config, "pools"), i) < 0 ? -ENOMEM : 0;
}

/* ---- values of addresses ---- */

/* squatter "": the address has no squatter. */
static char *format_address(const char *pool, const char *host, const struct record_owner *self,
			    json_int_t index, const char *squatter)
{
	struct timespec now;
	char since[WHEN_TEXT_MAX], *text;
	json_t *o;

	clock_gettime(CLOCK_REALTIME, &now);
	when_format((uint64_t)now.tv_sec * 1000, since);
	o = json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:s}", "v", RECORDS_VERSION, "pool", pool,
		      "host", host, "id", self->id, "epoch", (json_int_t)self->epoch, "index",
		      index, "since", since);
	if (squatter[0])
		json_object_set_new(o, "squatter", json_string(squatter));
	text = o ? json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	json_decref(o);
	return text;
}

char *pool_address_format(const char *pool, const char *host, const struct record_owner *self,
			  uint32_t index)
{
	return format_address(pool, host, self, (json_int_t)index, "");
}

char *pool_squat_format(const char *pool, const char *host, const struct record_owner *self,
			const struct mac_addr *by)
{
	char mac[MAC_ADDR_STR_MAX];

	/* Versions that do not know the member see an address of no worker. */
	return format_address(pool, host, self, -1, mac_addr_format(by, mac, sizeof(mac)));
}

bool pool_take_pair(const char *cluster, const struct kv_pair *p, struct pool_owned *ret)
{
	struct mac_addr by;
	json_t *o;

	*ret = (struct pool_owned){.host = "?", .index = UINT32_MAX, .revision = p->revision};
	if (!pool_key_address(cluster, p->key, &ret->ip))
		return false;
	o = p->value && p->len <= RECORDS_BYTES_MAX ? json_loadb(p->value, p->len, 0, NULL) : NULL;
	if (json_is_object(o) && record_name_is_valid(text_of(o, "host"))) {
		snprintf(ret->host, sizeof(ret->host), "%s", text_of(o, "host"));
		snprintf(ret->id, sizeof(ret->id), "%s", text_of(o, "id"));
		ret->index = number_of(o, "index");
		if (mac_addr_parse(text_of(o, "squatter"), &by) == 0) {
			mac_addr_format(&by, ret->squatter, sizeof(ret->squatter));
			ret->index = UINT32_MAX;
		}
	}
	json_decref(o);
	return true;
}

/* ---- the choice of addresses ---- */

static int compare_ip(const void *a, const void *b)
{
	return ip_addr_cmp(&((const struct pool_owned *)a)->ip,
			   &((const struct pool_owned *)b)->ip);
}

static int compare_host(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct chooser {
	const struct cluster_pool *pool;
	const struct pool_owned *owned; /* sorted by address */
	size_t n_owned;
	struct pool_choice *to;
	bool has[CLUSTER_POOL_ADDRS_MAX];
};

static bool is_chosen(const struct chooser *c, const struct ip_addr *ip)
{
	for (size_t i = 0; i < CLUSTER_POOL_ADDRS_MAX; i++)
		if (c->has[i] && c->to->is_new[i] && ip_addr_equal(&c->to->addrs[i], ip))
			return true;
	return false;
}

static bool is_free(const struct chooser *c, const struct ip_addr *ip)
{
	const struct pool_owned key = {.ip = *ip};

	return ip_range_contains(&c->pool->range, ip) && !ip_addr_equal(ip, &c->pool->gateway) &&
	       !(c->n_owned && bsearch(&key, c->owned, c->n_owned, sizeof(key), compare_ip));
}

static void set(struct chooser *c, size_t index, const struct ip_addr *ip, bool is_new)
{
	c->has[index] = true;
	c->to->addrs[index] = *ip;
	c->to->is_new[index] = is_new;
	c->to->n_new += is_new;
}

/* Chooses the addresses that the host owns. Of two addresses with the same index, the lower one
 * counts. */
static void set_owned(struct chooser *c, const char *host, const char *id)
{
	for (size_t i = 0; i < c->n_owned; i++) {
		const struct pool_owned *o = &c->owned[i];

		if (!ip_range_contains(&c->pool->range, &o->ip))
			continue;
		c->to->n_owned++;
		if (strcmp(o->host, host) == 0 && strcmp(o->id, id) == 0 &&
		    o->index < CLUSTER_POOL_ADDRS_MAX && !c->has[o->index])
			set(c, o->index, &o->ip, false);
	}
}

/* Chooses addresses that the host had before, even more than it needs, because the id of a worker
 * may exceed the number of workers. */
static void set_known(struct chooser *c, const struct ip_addr *known, size_t n)
{
	for (size_t i = 0; i < n && i < CLUSTER_POOL_ADDRS_MAX; i++)
		if (!c->has[i] && is_free(c, &known[i]) && !is_chosen(c, &known[i])) {
			set(c, i, &known[i], true);
			c->to->is_known[i] = true;
			c->to->n_again++;
		}
}

/* Returns the address from which the search for free ones begins: the one after the last address
 * that the host owns, so that its addresses stay adjacent; without one, a place that depends on the
 * host's name, so that hosts that join at the same time seldom choose the same addresses. Such
 * places lie as far apart as the host needs addresses: two hosts have the same place, or neither
 * reaches the place of the other. */
static struct ip_addr first_to_try(const struct chooser *c, const char *host, size_t need)
{
	static const uint64_t key[2] = {0, 0};
	const struct ip_range *range = &c->pool->range;
	const uint64_t n_places = MAX_OF(ip_range_count(range) / MAX_OF(need, (size_t)1), 1U);
	const uint64_t place = hash_keyed(key, host, strlen(host)) % n_places;
	struct ip_addr at = range->first;

	for (size_t i = CLUSTER_POOL_ADDRS_MAX; i-- > 0;)
		if (c->has[i])
			return c->to->addrs[i];
	(void)ip_addr_add(&range->first, place * MAX_OF(need, (size_t)1), &at);
	return at;
}

/* Moves to the next address of the range, or from the last to the first one. */
static struct ip_addr next_of(const struct ip_range *range, const struct ip_addr *at)
{
	struct ip_addr next;

	if (ip_addr_cmp(at, &range->last) < 0 && ip_addr_add(at, 1, &next))
		return next;
	return range->first;
}

/* Chooses the next free address for each missing index. The loop skips each owned address only
 * once, so it is short even in a range of 2^64 addresses. */
static void set_next(struct chooser *c, const char *host, size_t need)
{
	const struct ip_addr first = first_to_try(c, host, need);
	struct ip_addr at = first;
	bool more = true;

	for (size_t i = 0; i < need; i++) {
		if (c->has[i])
			continue;
		while (more && (!is_free(c, &at) || is_chosen(c, &at))) {
			at = next_of(&c->pool->range, &at);
			more = !ip_addr_equal(&at, &first);
		}
		if (more)
			set(c, i, &at, true);
		else
			c->to->n_missing++;
	}
}

static size_t count_hosts(const struct chooser *c)
{
	const char **hosts = calloc(c->n_owned + 1, sizeof(*hosts));
	size_t n = 0, n_hosts = 0;

	for (size_t i = 0; hosts && i < c->n_owned; i++)
		if (ip_range_contains(&c->pool->range, &c->owned[i].ip))
			hosts[n++] = c->owned[i].host;
	if (hosts && n)
		qsort(hosts, n, sizeof(*hosts), compare_host);
	for (size_t i = 0; i < n; i++)
		n_hosts += i == 0 || strcmp(hosts[i], hosts[i - 1]) != 0;
	free(hosts);
	return n_hosts;
}

void pool_choose(const struct cluster_pool *p, struct pool_owned *owned, size_t n_owned,
		 const char *host, const char *id, const struct ip_addr *known, size_t n_known,
		 size_t need, struct pool_choice *ret)
{
	struct chooser c = {.pool = p, .owned = owned, .n_owned = n_owned, .to = ret};

	memset(ret, 0, sizeof(*ret));
	ret->n_range = ip_range_count(&p->range);
	if (n_owned)
		qsort(owned, n_owned, sizeof(*owned), compare_ip);
	need = MIN_OF(need, (size_t)CLUSTER_POOL_ADDRS_MAX);
	set_owned(&c, host, id);
	set_known(&c, known, n_known);
	set_next(&c, host, need);
	if (ret->n_missing)
		ret->n_hosts = count_hosts(&c);
	for (size_t i = 0; i < CLUSTER_POOL_ADDRS_MAX; i++)
		if (c.has[i])
			ret->n = i + 1;
}

void pool_choose_known_only(struct pool_choice *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (c->is_new[i] && !c->is_known[i]) {
			c->addrs[i] = (struct ip_addr){.family = 0};
			c->is_new[i] = false;
			c->n_new--;
			c->n_missing++;
		}
		if (c->addrs[i].family)
			n = i + 1;
	}
	c->n = n;
}
