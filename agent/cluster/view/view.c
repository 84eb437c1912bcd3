/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a list of all hosts, pools or addresses of the cluster from the keys in the store. */
#include "agent/cluster/view/view.h"
#include "agent/cluster/pools/pool.h"
#include "agent/cluster/view/links_rows.h"
#include <stdio.h>
#include <string.h>

#define ALIVE_PAGE 1024
#define LINKS_PAGE 256 /* the records of links are limited to LINKS_ROWS_BYTES_MAX */
/* Maximum number of summaries in one answer. Each has up to RECORDS_BYTES_MAX, which base64 makes
 * longer, and all together must stay below KV_ANSWER_BYTES_MAX. */
#define STATE_PAGE 32
#define ROW_BYTES 512 /* estimated size of a row without its texts */

struct alive {
	char host[PLENUM_NAME_MAX];
	bool listed;
};

struct view {
	struct view_setup setup;
	char cluster[PLENUM_NAME_MAX], host[PLENUM_NAME_MAX];
	char *own; /* a copy of setup.own */
	enum record_kind reads;
	unsigned page; /* maximum number of keys to read at a time */
	bool skips; /* reads the next key without its value, because the value exceeds the limit of
		       an answer */
	char next[KV_KEY_MAX], end[KV_KEY_MAX];
	struct alive alive[RECORDS_HOSTS_MAX]; /* sorted by strcmp(), as the keys are */
	size_t n_alive;
	json_t *list;
	size_t n_hosts, bytes, n_omitted;
	uint64_t now_ms;
	/* The valid pools, and the number of owned addresses in each. */
	struct cluster_pool pools[POOLS_MAX];
	size_t n_pools, n_owned[POOLS_MAX], n_squatted[POOLS_MAX];
};

/* Makes the list of links. If the store does not answer, the list has only the results of this
 * host. */
static json_t *links_answer(struct view *v, bool complete)
{
	json_t *rows = json_array();

	if (!complete) {
		json_decref(v->list);
		v->list = rows;
		(void)links_rows_add(v->list, v->host, v->setup.own, strlen(v->setup.own),
				     v->now_ms);
	} else {
		json_decref(rows);
	}
	return json_pack("{s:s, s:s, s:o, s:I, s:b}", "host", v->host, "cluster", v->cluster,
			 "links", links_rows_merge(v->list), "omitted_hosts",
			 (json_int_t)v->n_omitted, "complete", (int)complete);
}

static void end(struct view *v, enum cluster_trouble trouble, const char *why)
{
	json_t *o = NULL;
	char *text = NULL;

	if (v->setup.kind == ROWS_LINKS && (trouble == CLUSTER_FINE || v->setup.own)) {
		o = links_answer(v, trouble == CLUSTER_FINE);
		text = o ? json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
		json_decref(o);
		trouble = CLUSTER_FINE;
	} else if (trouble == CLUSTER_FINE) {
		o = json_pack("{s:s, s:s, s:O, s:I}", "host", v->host, "cluster", v->cluster,
			      rows_list(v->setup.kind), v->list, "omitted_hosts",
			      (json_int_t)v->n_omitted);
		text = o ? json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
		json_decref(o);
	}
	if (trouble == CLUSTER_FINE && (!text || strlen(text) > VIEW_ANSWER_BYTES_MAX)) {
		free(ptr_take(text));
		trouble = CLUSTER_WRONG;
		why = "the answer would be too large, or memory is short";
	}
	v->setup.on_end(v->setup.user, v, text, trouble, why);
	free(text);
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct alive *)a)->host, ((const struct alive *)b)->host);
}

static struct alive *find(struct view *v, const char *host)
{
	struct alive key;

	snprintf(key.host, sizeof(key.host), "%s", host);
	return bsearch(&key, v->alive, v->n_alive, sizeof(key), compare);
}

/* Adds a host's rows, unless the answer has reached its limits. */
static int add(struct view *v, const char *host, bool alive, const struct kv_pair *p)
{
	const size_t before = json_array_size(v->list);
	const struct rows_host h = {.host = host,
				    .alive = alive,
				    .state = p ? p->value : NULL,
				    .len = p ? p->len : 0,
				    .now_ms = v->now_ms};
	int r;

	if (v->n_hosts == RECORDS_HOSTS_MAX || v->bytes > VIEW_ANSWER_BYTES_MAX / 2) {
		v->n_omitted++;
		return 0;
	}
	r = rows_add(v->list, v->setup.kind, &h);
	v->n_hosts++;
	v->bytes += h.len + (json_array_size(v->list) - before) * ROW_BYTES;
	return r;
}

static void take_alive(struct view *v, const char *host)
{
	if (v->n_alive == RECORDS_HOSTS_MAX) {
		v->n_omitted++;
		return;
	}
	snprintf(v->alive[v->n_alive].host, sizeof(v->alive[0].host), "%s", host);
	v->alive[v->n_alive++].listed = false;
}

static int take_state(struct view *v, const char *host, const struct kv_pair *p)
{
	struct alive *a = find(v, host);

	if (a)
		a->listed = true;
	return add(v, host, a != NULL, p);
}

/* Adds the hosts that have a lease but no summary yet. */
static int add_others(struct view *v)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < v->n_alive; i++)
		if (!v->alive[i].listed)
			r = add(v, v->alive[i].host, true, NULL);
	return r;
}

static int read_page(struct view *v);

static void begin(struct view *v, enum record_kind kind)
{
	v->reads = kind;
	v->page = kind == RECORD_SERVING ? ALIVE_PAGE
		  : kind == RECORD_LINKS ? LINKS_PAGE
					 : STATE_PAGE;
	record_key(kind, v->cluster, "", v->next);
	record_key_end(kind, v->cluster, v->end);
}

/* Sets `next` to the smallest key after the last key of this page. Returns whether there is another
 * page, or -EBADMSG if the store does not name its keys in ascending order, because reading would
 * then never end. */
static int advance(struct view *v, const struct kv_answer *a)
{
	const char *last = a->n_pairs ? a->pairs[a->n_pairs - 1].key : "";

	if (!a->more)
		return 0;
	if (strcmp(last, v->next) < 0 || strlen(last) + 2 > sizeof(v->next))
		return -EBADMSG;
	/* No host name has a character that sorts before '!', so this is the smallest possible key
	 * after it. */
	strcat(strcpy(v->next, last), "!");
	return 1;
}

static int take_links(struct view *v, const char *host, const struct kv_pair *p)
{
	if (v->n_hosts == RECORDS_HOSTS_MAX || v->bytes > VIEW_ANSWER_BYTES_MAX / 2) {
		v->n_omitted++;
		return 0;
	}
	v->n_hosts++;
	v->bytes += 2 * p->len;
	return links_rows_add(v->list, host, p->value, p->len, v->now_ms);
}

static int take_key(struct view *v, const struct kv_pair *p)
{
	const char *host = record_host(v->reads, v->cluster, p->key);
	struct alive *a;

	if (!host)
		return 0;
	if (v->reads == RECORD_SERVING) {
		take_alive(v, host);
		return 0;
	}
	if (v->reads == RECORD_LINKS)
		return v->skips ? 0 : take_links(v, host, p);
	if (!v->skips)
		return take_state(v, host, p);
	a = find(v, host);
	if (a)
		a->listed = true;
	v->n_omitted++;
	return 0;
}

/* Halves the number of keys to read, after an answer that was too large. If even a single key's
 * value is too large, reads only the key's name. */
static int read_less(struct view *v)
{
	if (v->page > 1)
		v->page /= 2;
	else
		v->skips = true;
	return read_page(v);
}

static void on_page(void *user, const struct kv_answer *a)
{
	struct view *v = user;
	int r = 0;

	if (a->too_large && !v->skips) {
		r = read_less(v);
		if (r < 0)
			end(v, CLUSTER_UNREACHABLE, strerror(-r));
		return;
	}
	if (a->trouble != CLUSTER_FINE) {
		end(v, a->trouble, a->text);
		return;
	}
	for (size_t i = 0; r >= 0 && i < a->n_pairs; i++)
		r = take_key(v, &a->pairs[i]);
	if (v->skips)
		v->page = STATE_PAGE;
	v->skips = false;
	if (r >= 0)
		r = advance(v, a);
	if (r == -EBADMSG) {
		end(v, CLUSTER_WRONG, "the store returned its keys in the wrong order");
		return;
	}
	if (r > 0) {
		r = read_page(v);
	} else if (r >= 0 && v->reads == RECORD_SERVING) {
		begin(v, RECORD_STATE);
		r = read_page(v);
	} else if (r >= 0) {
		r = v->reads == RECORD_LINKS ? 0 : add_others(v);
		if (r >= 0) {
			end(v, CLUSTER_FINE, "");
			return;
		}
	}
	if (r < 0)
		end(v, CLUSTER_UNREACHABLE, strerror(-r));
}

static int read_page(struct view *v)
{
	const bool names = v->reads == RECORD_SERVING || v->skips;
	const struct kv_range range = {
		.first = v->next, .end = v->end, .limit = v->page, .keys_only = names};

	return v->setup.ops->range(v->setup.kv, &range, on_page, v);
}

/* ---- pools and their addresses ---- */

static json_t *or_null(bool is, json_int_t n)
{
	return is ? json_integer(n) : json_null();
}

static int list_pools(struct view *v)
{
	char range[2 * IP_ADDR_STR_MAX], ip[IP_ADDR_STR_MAX];
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->n_pools; i++) {
		const struct cluster_pool *p = &v->pools[i];

		if (p->range.first.family)
			ip_range_format(&p->range, range, sizeof(range));
		r = json_array_append_new(
			v->list,
			json_pack("{s:s, s:s, s:o, s:o, s:o, s:I, s:I, s:I}", "name", p->name,
				  "range", p->range.first.family ? range : "not valid", "gateway",
				  p->gateway.family
					  ? json_string(ip_addr_format(&p->gateway, ip, sizeof(ip)))
					  : json_null(),
				  "mtu", or_null(p->mtu, p->mtu), "vlan", or_null(p->vlan, p->vlan),
				  "addresses",
				  p->range.first.family
					  ? (json_int_t)MIN_OF(ip_range_count(&p->range),
							       (uint64_t)INT64_MAX)
					  : 0,
				  "owned", (json_int_t)v->n_owned[i], "squatted",
				  (json_int_t)v->n_squatted[i]));
	}
	return r;
}

static int take_address(struct view *v, const struct kv_pair *p)
{
	const char *pool = "";
	char ip[IP_ADDR_STR_MAX];
	struct pool_owned o;

	if (!pool_take_pair(v->cluster, p, &o))
		return 0;
	for (size_t i = 0; i < v->n_pools; i++)
		if (v->pools[i].range.first.family &&
		    ip_range_contains(&v->pools[i].range, &o.ip)) {
			v->n_owned[i] += !o.squatter[0];
			v->n_squatted[i] += o.squatter[0] != '\0';
			pool = v->pools[i].name;
		}
	if (v->setup.kind == ROWS_POOLS)
		return 0;
	if (v->bytes > VIEW_ANSWER_BYTES_MAX / 2) {
		v->n_omitted++;
		return 0;
	}
	v->bytes += ROW_BYTES / 2;
	return json_array_append_new(
		v->list,
		json_pack("{s:s, s:s, s:s, s:o, s:s?}", "address",
			  ip_addr_format(&o.ip, ip, sizeof(ip)), "pool", pool, "host", o.host,
			  "worker",
			  or_null(o.index < CLUSTER_POOL_ADDRS_MAX, (json_int_t)o.index + 1),
			  "squatter", o.squatter[0] ? o.squatter : NULL));
}

static int read_addresses(struct view *v);

static void on_addresses(void *user, const struct kv_answer *a)
{
	struct view *v = user;
	int r = 0;

	if (a->too_large && v->page > 1) {
		v->page /= 2;
		r = read_addresses(v);
		if (r < 0)
			end(v, CLUSTER_UNREACHABLE, strerror(-r));
		return;
	}
	if (a->trouble != CLUSTER_FINE) {
		end(v, a->trouble, a->text);
		return;
	}
	for (size_t i = 0; r == 0 && i < a->n_pairs; i++)
		r = take_address(v, &a->pairs[i]) < 0 ? -ENOMEM : 0;
	if (r == 0 && a->more)
		r = pool_next_page(a, v->next) ? 1 : -EBADMSG;
	if (r > 0) {
		r = read_addresses(v);
	} else if (r == 0) {
		r = v->setup.kind == ROWS_POOLS && list_pools(v) < 0 ? -ENOMEM : 0;
		if (r == 0) {
			end(v, CLUSTER_FINE, "");
			return;
		}
	}
	if (r < 0)
		end(v, r == -EBADMSG ? CLUSTER_WRONG : CLUSTER_UNREACHABLE,
		    r == -EBADMSG ? "keys below address/ in etcd are too long; delete them"
				  : strerror(-r));
}

static int read_addresses(struct view *v)
{
	const struct kv_range range = {.first = v->next, .end = v->end, .limit = v->page};

	return v->setup.ops->range(v->setup.kv, &range, on_addresses, v);
}

static void on_pools(void *user, const struct kv_answer *a)
{
	const struct kv_pair *p = a->n_pairs ? &a->pairs[0] : NULL;
	struct view *v = user;
	json_t *config;
	int r;

	if (a->trouble != CLUSTER_FINE) {
		end(v, a->trouble, a->text);
		return;
	}
	config = pools_parse(p && p->value ? p->value : "", p ? p->len : 0);
	if (!config) {
		end(v, CLUSTER_WRONG,
		    "this version cannot parse the key config of the cluster; another version of "
		    "Plenum may have written it");
		return;
	}
	for (size_t i = 0;
	     v->n_pools < POOLS_MAX && i < json_array_size(json_object_get(config, "pools")); i++)
		v->n_pools +=
			pools_at(config, i, &v->pools[v->n_pools]) || v->pools[v->n_pools].name[0];
	json_decref(config);
	pool_address_keys(v->cluster, v->next, v->end);
	v->page = POOL_ADDRESS_PAGE;
	r = read_addresses(v);
	if (r < 0)
		end(v, CLUSTER_UNREACHABLE, strerror(-r));
}

static int read_pools(struct view *v)
{
	char key[KV_KEY_MAX];
	const struct kv_range range = {.first = key};

	pool_config_key(v->cluster, key);
	return v->setup.ops->range(v->setup.kv, &range, on_pools, v);
}

int view_new(const struct view_setup *setup, struct view **ret)
{
	struct view *v = calloc(1, sizeof(*v));
	struct timespec now;
	int r;

	if (!v)
		return -ENOMEM;
	v->setup = *setup;
	snprintf(v->cluster, sizeof(v->cluster), "%s", setup->cluster);
	snprintf(v->host, sizeof(v->host), "%s", setup->host);
	v->setup.own = v->own = setup->own ? strdup(setup->own) : NULL;
	clock_gettime(CLOCK_REALTIME, &now);
	v->now_ms = (uint64_t)now.tv_sec * 1000;
	v->list = json_array();
	if (!v->list) {
		r = -ENOMEM;
	} else if (setup->kind == ROWS_LINKS) {
		begin(v, RECORD_LINKS);
		r = read_page(v);
	} else if (setup->kind >= ROWS_POOLS) {
		r = read_pools(v);
	} else {
		begin(v, RECORD_SERVING);
		r = read_page(v);
	}
	if (r < 0) {
		view_free(v);
		return r;
	}
	*ret = v;
	return 0;
}

struct view *view_free(struct view *v)
{
	if (!v)
		return NULL;
	json_decref(v->list);
	free(v->own);
	free(v);
	return NULL;
}

uint64_t view_id(const struct view *v)
{
	return v->setup.id;
}
