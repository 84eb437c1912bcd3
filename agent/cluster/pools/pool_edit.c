/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the changes of pools and of the owners of addresses that operators request. Each write is a
 * transaction that requires that the keys read before are unchanged; if they have changed, the
 * operation begins again.
 */
#include "agent/cluster/pools/pool.h"
#include "agent/cluster/rollout/rollout.h"
#include <stdio.h>
#include <string.h>

#define TRIES_MAX 8
#define DELETE_MAX 60 /* maximum number of address keys in a transaction */

struct address {
	struct ip_addr ip;
	uint64_t revision;
};

struct pool_edit {
	struct pool_edit_setup setup;
	char cluster[PLENUM_NAME_MAX], host[PLENUM_NAME_MAX], id[CLUSTER_ID_MAX];
	uint64_t registration; /* for POOL_LEAVE: revision of this host's registration */
	unsigned n_tries;
	json_t *config;
	/* from_revision: the store's revision at the first page of addresses */
	uint64_t config_revision, from_revision;
	struct cluster_pool pool; /* the pool to change or remove */
	struct cluster_pool to;	  /* for POOL_SET: the pool after the change */
	char next[KV_KEY_MAX], end[KV_KEY_MAX];
	unsigned page;	       /* count of addresses to read at a time */
	struct address *found; /* addresses of the host that leaves or is forgotten */
	size_t n_found, at, n_deleted;
	size_t n_in_range;
	char owner[PLENUM_NAME_MAX]; /* one of the hosts that own addresses of the pool */
	bool any_key;		     /* the host has other keys than addresses */
};

static void start(struct pool_edit *e);

static void end(struct pool_edit *e, const char *text, enum cluster_trouble trouble,
		const char *why)
{
	/* A transaction without an answer may be carried out later, when this host uses its
	 * addresses again. */
	if (e->setup.op == POOL_LEAVE && !text)
		member_register_again(e->setup.member);
	e->setup.on_end(e->setup.user, e, text, trouble, why);
}

static void fail(struct pool_edit *e, int r)
{
	end(e, NULL, CLUSTER_UNREACHABLE, strerror(-r));
}

static void succeed(struct pool_edit *e)
{
	const bool of_pool = e->setup.op <= POOL_REMOVE;
	json_t *o = of_pool ? json_pack("{s:s}", "pool", e->setup.pool.name)
			    : json_pack("{s:s, s:I}", "host", e->host, "addresses",
					(json_int_t)e->n_deleted);
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;

	json_decref(o);
	end(e, text, text ? CLUSTER_FINE : CLUSTER_WRONG, "out of memory");
	free(text);
}

/* Ends the operation if the answer has a trouble. Returns whether it has none. */
static bool is_fine(struct pool_edit *e, const struct kv_answer *a)
{
	if (a->trouble == CLUSTER_FINE)
		return true;
	end(e, NULL, a->trouble, a->text);
	return false;
}

/* Begins the operation again, because another program has changed a key that was read before. */
static void again(struct pool_edit *e)
{
	if (++e->n_tries < TRIES_MAX)
		start(e);
	else
		end(e, NULL, CLUSTER_CONFLICT,
		    "other changes were made at the same time; try again");
}

/* ---- pools ---- */

static void on_written(void *user, const struct kv_answer *a)
{
	struct pool_edit *e = user;

	if (!is_fine(e, a))
		return;
	if (a->succeeded)
		succeed(e);
	else
		again(e);
}

/* Writes all pools in a transaction, which fails if they have changed since they were read, or if
 * `also` is not NULL and is false. */
static int write_config(struct pool_edit *e, const struct kv_compare *also)
{
	autofree char *text = json_dumps(e->config, JSON_COMPACT | JSON_PRESERVE_ORDER);
	char key[KV_KEY_MAX];
	const struct kv_op op = {.kind = KV_PUT, .key = key, .value = text};
	const struct kv_txn txn = {.key = key,
				   .revision = e->config_revision,
				   .also = also,
				   .n_also = also ? 1 : 0,
				   .ops = &op,
				   .n_ops = 1};

	pool_config_key(e->cluster, key);
	return text ? e->setup.ops->txn(e->setup.kv, &txn, on_written, e) : -ENOMEM;
}

static void add(struct pool_edit *e)
{
	struct reason why, other;
	struct cluster_pool is;
	int r;

	reason_clear(&why);
	r = pools_add(e->config, &e->setup.pool, &why);
	if (r == -EEXIST && e->n_tries &&
	    pools_find(e->config, e->setup.pool.name, &is, &other) == 0 &&
	    pools_are_equal(&is, &e->setup.pool)) {
		succeed(e); /* an earlier attempt was carried out, but its answer was lost */
		return;
	}
	if (r == -EEXIST || r == -E2BIG) {
		end(e, NULL, CLUSTER_CONFLICT, why.text);
		return;
	}
	if (r == 0)
		r = write_config(e, NULL);
	if (r < 0)
		fail(e, r);
}

static int read_page(struct pool_edit *e);

/* Begins to remove a pool: reads which of its addresses are owned. If the pool's entry is invalid,
 * the pool has no addresses. */
static void remove_pool(struct pool_edit *e)
{
	struct reason why;
	int r;

	reason_clear(&why);
	memset(&e->pool, 0, sizeof(e->pool));
	(void)pools_find(e->config, e->setup.pool.name, &e->pool, &why);
	r = pools_remove(e->config, e->setup.pool.name, &why);
	if (r == -ENOENT &&
	    e->n_tries) { /* an earlier attempt, or another operator, has removed it */
		succeed(e);
		return;
	}
	if (r == -ENOENT) {
		end(e, NULL, CLUSTER_NOT_FOUND, why.text);
		return;
	}
	if (r == 0)
		r = read_page(e);
	if (r < 0)
		fail(e, r);
}

/* Changes the pool, but not before the owned addresses are read: each must stay in its range. */
static void set_pool(struct pool_edit *e)
{
	struct reason why;
	int r;

	reason_clear(&why);
	r = pools_set(e->config, &e->setup.pool, e->setup.force, &e->pool, &e->to, &why);
	if (r == 0 && pools_are_equal(&e->pool, &e->to)) {
		succeed(e); /* reports success also if an earlier attempt has already made the
			       change */
		return;
	}
	if (r == 0)
		r = read_page(e);
	if (r == -EINVAL || r == -EEXIST || r == -EBADMSG)
		end(e, NULL, CLUSTER_CONFLICT, why.text);
	else if (r == -ENOENT)
		end(e, NULL, CLUSTER_NOT_FOUND, why.text);
	else if (r < 0)
		fail(e, r);
}

/* Says why hosts that own addresses prevent the change. */
static void refuse_owned(struct pool_edit *e)
{
	char why[CLUSTER_TEXT_MAX];

	if (e->setup.op == POOL_SET)
		snprintf(why, sizeof(why),
			 "hosts own %zu addresses of this pool that the new range leaves out, such "
			 "as %.63s; see 'plenum pool addresses'; write a range with all of them",
			 e->n_in_range, e->owner);
	else
		snprintf(why, sizeof(why),
			 "hosts own %zu addresses of this pool, such as %.63s; see 'plenum pool "
			 "addresses'; change their configurations, then 'plenum cluster leave' "
			 "there, or 'plenum cluster forget HOST' for one that is gone",
			 e->n_in_range, e->owner);
	end(e, NULL, CLUSTER_CONFLICT, why);
}

/* Writes the change, unless hosts own addresses that it would take away. */
static void write_unowned(struct pool_edit *e)
{
	char first[KV_KEY_MAX], last[KV_KEY_MAX];
	const struct kv_compare also = {
		.key = first, .end = last, .revision = e->from_revision + 1};
	int r;

	if (e->n_in_range) {
		refuse_owned(e);
		return;
	}
	pool_address_keys(e->cluster, first, last);
	r = write_config(e, &also);
	if (r < 0)
		fail(e, r);
}

static void on_config(void *user, const struct kv_answer *a)
{
	const struct kv_pair *p = a->n_pairs ? &a->pairs[0] : NULL;
	struct pool_edit *e = user;

	if (!is_fine(e, a))
		return;
	json_decref(e->config);
	e->config = pools_parse(p && p->value ? p->value : "", p ? p->len : 0);
	e->config_revision = p ? p->revision : 0;
	if (!e->config)
		end(e, NULL, CLUSTER_CONFLICT,
		    "the cluster's key config has a form that this version does not know");
	else if (e->setup.op == POOL_ADD)
		add(e);
	else if (e->setup.op == POOL_SET)
		set_pool(e);
	else
		remove_pool(e);
}

/* ---- addresses of a host ---- */

static int delete_some(struct pool_edit *e);

static void on_deleted(void *user, const struct kv_answer *a)
{
	struct pool_edit *e = user;
	int r;

	if (!is_fine(e, a))
		return;
	if (!a->succeeded) {
		again(e);
		return;
	}
	e->n_deleted += MIN_OF(e->n_found - e->at, (size_t)DELETE_MAX);
	e->at += DELETE_MAX;
	if (e->at >= e->n_found) {
		succeed(e);
		return;
	}
	r = delete_some(e);
	if (r < 0)
		fail(e, r);
}

/* Deletes the next addresses in a transaction, which fails if one of their keys has changed.
 * POOL_FORGET without force also requires that the host has no lease, and POOL_LEAVE that this host
 * is still registered. The last transaction of POOL_FORGET also deletes the other keys of the
 * host. */
static int delete_some(struct pool_edit *e)
{
	static char keys[DELETE_MAX][KV_KEY_MAX];
	char serving[KV_KEY_MAX], owner[KV_KEY_MAX], state[KV_KEY_MAX];
	char rollout[KV_KEY_MAX];
	struct kv_compare also[DELETE_MAX];
	struct kv_op ops[DELETE_MAX + 4];
	struct kv_txn txn = {.also = also, .ops = ops};

	record_key(RECORD_SERVING, e->cluster, e->host, serving);
	record_key(RECORD_OWNER, e->cluster, e->host, owner);
	record_key(RECORD_STATE, e->cluster, e->host, state);
	rollout_key(ROLLOUT_KEY_HOST, e->cluster, e->host, rollout);
	if (e->setup.op == POOL_FORGET && !e->setup.force)
		txn.key = serving; /* revision 0: the host has no lease */
	/* only the host that is registered by this name gives its addresses back */
	if (e->setup.op == POOL_LEAVE) {
		txn.key = owner;
		txn.revision = e->registration;
	}
	for (size_t i = e->at; i < e->n_found && txn.n_ops < DELETE_MAX; i++) {
		char *key = keys[txn.n_ops];

		pool_address_key(e->cluster, &e->found[i].ip, key);
		also[txn.n_also++] =
			(struct kv_compare){.key = key, .revision = e->found[i].revision};
		ops[txn.n_ops++] = (struct kv_op){.kind = KV_DELETE, .key = key};
	}
	if (e->setup.op == POOL_FORGET && e->at + DELETE_MAX >= e->n_found) {
		ops[txn.n_ops++] = (struct kv_op){.kind = KV_DELETE, .key = owner};
		ops[txn.n_ops++] = (struct kv_op){.kind = KV_DELETE, .key = state};
		ops[txn.n_ops++] = (struct kv_op){.kind = KV_DELETE, .key = serving};
		ops[txn.n_ops++] = (struct kv_op){.kind = KV_DELETE, .key = rollout};
	}
	return e->setup.ops->txn(e->setup.kv, &txn, on_deleted, e);
}

static void delete_all(struct pool_edit *e)
{
	char why[CLUSTER_TEXT_MAX];
	int r;

	e->at = 0;
	if (e->n_found == 0 && e->setup.op == POOL_LEAVE) {
		succeed(e);
		return;
	}
	if (e->n_found == 0 && !e->any_key && e->n_tries) { /* an earlier attempt was carried out */
		succeed(e);
		return;
	}
	if (e->n_found == 0 && !e->any_key && e->n_deleted == 0) {
		snprintf(why, sizeof(why),
			 "the cluster knows no host '%s'; see 'plenum cluster hosts' and 'plenum "
			 "pool addresses'",
			 e->host);
		end(e, NULL, CLUSTER_NOT_FOUND, why);
		return;
	}
	r = delete_some(e);
	if (r < 0)
		fail(e, r);
}

static void on_keys(void *user, const struct kv_answer *a)
{
	struct pool_edit *e = user;
	char serving[KV_KEY_MAX], why[CLUSTER_TEXT_MAX];
	bool lives = false;
	int r;

	if (!is_fine(e, a))
		return;
	record_key(RECORD_SERVING, e->cluster, e->host, serving);
	for (size_t i = 0; i < a->n_pairs; i++)
		lives = lives || strcmp(a->pairs[i].key, serving) == 0;
	e->any_key = a->n_pairs > 0;
	if (lives && !e->setup.force) {
		snprintf(why, sizeof(why),
			 "the agent of the host '%s' runs, or ended less than a minute ago: its "
			 "lease is valid; stop it first, or use '--force lease' if it is not that "
			 "host",
			 e->host);
		end(e, NULL, CLUSTER_CONFLICT, why);
		return;
	}
	r = read_page(e);
	if (r < 0)
		fail(e, r);
}

static int read_keys(struct pool_edit *e)
{
	char keys[3][KV_KEY_MAX];
	struct kv_op ops[3];
	const struct kv_txn txn = {.ops = ops, .n_ops = ARRAY_SIZE(ops)};

	for (enum record_kind k = RECORD_OWNER; k <= RECORD_STATE; k++) {
		record_key(k, e->cluster, e->host, keys[k]);
		ops[k] = (struct kv_op){.kind = KV_GET, .key = keys[k]};
	}
	return e->setup.ops->txn(e->setup.kv, &txn, on_keys, e);
}

/* ---- pages of addresses ---- */

static int take_pair(struct pool_edit *e, const struct kv_pair *p)
{
	struct pool_owned o;
	struct address *longer;

	if (!pool_take_pair(e->cluster, p, &o))
		return 0;
	if (e->setup.op == POOL_REMOVE || e->setup.op == POOL_SET) {
		if (e->pool.range.first.family && ip_range_contains(&e->pool.range, &o.ip) &&
		    !(e->setup.op == POOL_SET && ip_range_contains(&e->to.range, &o.ip))) {
			e->n_in_range++;
			memcpy(e->owner, o.host, sizeof(e->owner));
		}
		return 0;
	}
	if (strcmp(o.host, e->host) != 0 || (e->setup.op == POOL_LEAVE && strcmp(o.id, e->id) != 0))
		return 0;
	longer = e->n_found < POOL_OWNED_MAX
			 ? reallocarray(e->found, e->n_found + 1, sizeof(*longer))
			 : NULL;
	if (!longer)
		return -ENOMEM;
	e->found = longer;
	e->found[e->n_found++] = (struct address){o.ip, o.revision};
	return 0;
}

static void on_page(void *user, const struct kv_answer *a)
{
	struct pool_edit *e = user;
	int r = 0;

	if (a->too_large && e->page > 1) {
		e->page /= 2;
		r = read_page(e);
		if (r < 0)
			fail(e, r);
		return;
	}
	if (!is_fine(e, a))
		return;
	if (!e->from_revision)
		e->from_revision = a->revision;
	for (size_t i = 0; r == 0 && i < a->n_pairs; i++)
		r = take_pair(e, &a->pairs[i]);
	if (r == 0 && a->more && pool_next_page(a, e->next)) {
		r = read_page(e);
	} else if (r == 0 && a->more) {
		end(e, NULL, CLUSTER_WRONG,
		    "keys below address/ in etcd are too long; delete them");
		return;
	} else if (r == 0 && e->setup.op <= POOL_REMOVE) {
		write_unowned(e);
		return;
	} else if (r == 0) {
		delete_all(e);
		return;
	}
	if (r < 0)
		fail(e, r);
}

static int read_page(struct pool_edit *e)
{
	const struct kv_range range = {.first = e->next, .end = e->end, .limit = e->page};

	return e->setup.ops->range(e->setup.kv, &range, on_page, e);
}

/* ---- begin and end ---- */

static int begin(struct pool_edit *e)
{
	char key[KV_KEY_MAX];
	const struct kv_range range = {.first = key};

	pool_address_keys(e->cluster, e->next, e->end);
	e->page = POOL_ADDRESS_PAGE;
	e->from_revision = 0;
	e->n_in_range = e->n_found = 0;
	if (e->setup.op == POOL_FORGET)
		return read_keys(e);
	if (e->setup.op == POOL_LEAVE) {
		e->registration = member_revision(e->setup.member);
		return e->registration ? read_page(e) : -EPERM;
	}
	pool_config_key(e->cluster, key);
	return e->setup.ops->range(e->setup.kv, &range, on_config, e);
}

static void start(struct pool_edit *e)
{
	int r = begin(e);

	if (r == -EPERM)
		end(e, NULL, CLUSTER_CONFLICT, POOL_NOT_REGISTERED);
	else if (r < 0)
		fail(e, r);
}

int pool_edit_new(const struct pool_edit_setup *setup, struct pool_edit **ret)
{
	struct pool_edit *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->setup = *setup;
	snprintf(e->cluster, sizeof(e->cluster), "%s", setup->cluster);
	snprintf(e->host, sizeof(e->host), "%s",
		 setup->op == POOL_FORGET ? setup->host : setup->self);
	memcpy(e->id, setup->owner->id, sizeof(e->id));
	r = begin(e);
	if (r < 0) {
		pool_edit_free(e);
		return r;
	}
	*ret = e;
	return 0;
}

struct pool_edit *pool_edit_free(struct pool_edit *e)
{
	if (!e)
		return NULL;
	json_decref(e->config);
	free(e->found);
	free(e);
	return NULL;
}

uint64_t pool_edit_id(const struct pool_edit *e)
{
	return e->setup.id;
}
