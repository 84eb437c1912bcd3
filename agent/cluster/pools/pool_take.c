/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes the addresses that this host needs from pools: reads the pools and owned addresses, chooses
 * free ones, and writes a key for each new address in a transaction. The transaction is
 * carried out only if the addresses still have no key, the pools have not changed since they were
 * read, and the name of this host is still registered for this agent. So no address ever belongs to
 * two hosts, and after a kill at any time the next agent finds the addresses that this one took.
 *
 * To read all owned addresses takes etcd so long that hosts which join together would exceed their
 * time limits. So a host first reads only the addresses that it remembers, and at its first start
 * none. It reads all of them if that is not enough: because a pool is full, because other hosts are
 * faster again and again, or because it does not remember all its addresses.
 */
#include "agent/cluster/pools/pool_take_internal.h"
#include "netcfg/base/log.h"
#include <stdio.h>
#include <string.h>

/* pools of the configuration in force and of an apply in progress */
#define WANTS_MAX (2 * PLENUM_LEGS_MAX)
#define TAKE_MAX 32 /* maximum number of addresses in a transaction */
#define CHECK_MAX (KV_OPS_MAX - 1)
#define CONFLICT_NS (100 * NSEC_PER_MSEC) /* first pause after a conflict with another host */
#define CONFLICT_MAX_SHIFT 5U
#define CONFLICTS_AT_ONCE 8 /* conflicts in a row after which this host pauses and reads again */
#define RETRY_MAX_SHIFT 3U

/* An address that this host owns, and the revision that its key is expected to have. */
struct mine {
	struct ip_addr ip;
	uint64_t revision;
};

/* An address of this host that another host uses. */
struct squat {
	struct ip_addr ip; /* family 0: the entry is free */
	struct mac_addr by;
	uint64_t revision; /* of the key that says so; 0: it is not written yet */
	uint64_t until_ns; /* when that key is deleted */
};

struct pool_take {
	struct pool_take_setup setup;
	char cluster[PLENUM_NAME_MAX], host[PLENUM_NAME_MAX];
	struct record_owner self;
	struct loop_source *timer;
	struct pool_want *wants;
	size_t n;
	bool busy; /* a request is in progress */
	/* the wanted pools have changed, so the answer to the request in progress is ignored */
	bool outdated;
	bool complete; /* after the last scan this host owns all addresses that it needs */
	uint64_t config_revision;
	/* range of the keys of addresses that are not read yet */
	char next[KV_KEY_MAX], end[KV_KEY_MAX];
	unsigned page; /* count of addresses to read at a time */
	bool partial;  /* `owned` lacks addresses that were not asked for */
	bool read_all; /* the next scan reads all addresses */
	json_t *config;
	struct pool_owned *owned;
	size_t n_owned, cap;
	struct pool_want *taking;
	uint32_t indexes[TAKE_MAX]; /* worker index of each address in the transaction */
	size_t n_taking;
	/* until this time the host takes only addresses that it had before */
	uint64_t hold_until_ns;
	struct mine *mine; /* addresses of this host in all wanted pools */
	size_t n_mine, check_at;
	bool mine_known; /* `mine` has the revisions */
	struct squat squats[POOL_SQUATS_MAX];
	struct squat *squat;		  /* the one in the transaction in progress */
	unsigned n_failures, n_conflicts; /* numbers of consecutive failures and conflicts */
};

static void begin(struct pool_take *t);
static void report_failure(struct pool_take *t, const char *text);

static void arm(struct pool_take *t, uint64_t in_ns)
{
	if (t->n)
		loop_timer_arm(t->timer, member_jitter(in_ns));
}

static void retry(struct pool_take *t)
{
	arm(t, POOL_RETRY_NS << MIN_OF(t->n_failures, RETRY_MAX_SHIFT));
	t->n_failures++;
}

/* Does what is common to all answers; a NULL: the request failed. Returns whether the answer can be
 * used. */
static bool take_answer(struct pool_take *t, const struct kv_answer *a)
{
	t->busy = false;
	if (t->outdated) {
		begin(t);
		return false;
	}
	if (a && a->trouble == CLUSTER_FINE)
		return true;
	t->complete = false;
	/* If the store does not answer, the registration already reports that (member.c). */
	if (a && a->trouble != CLUSTER_UNREACHABLE)
		report_failure(t, a->text);
	retry(t);
	return false;
}

/* Sets `busy` according to the result of starting a request, and retries after a failure. */
static void started(struct pool_take *t, int r)
{
	t->busy = r == 0;
	if (r < 0)
		retry(t);
}

static void report_failure(struct pool_take *t, const char *text)
{
	for (size_t i = 0; i < t->n; i++)
		pool_report_failure(&t->setup, &t->wants[i], text);
}

/* ---- taking ---- */

static void choose_all(struct pool_take *t);
static int add_owned(struct pool_take *t, const struct kv_pair *p);

/* Takes the owners of the chosen addresses from the answer to a transaction that was not carried
 * out. Returns whether only addresses have other owners, so that others can be chosen at once: to
 * read all addresses again after each conflict would cost hosts that join together minutes. */
static bool learn_owners(struct pool_take *t, const struct kv_answer *a)
{
	char owner[KV_KEY_MAX], config[KV_KEY_MAX];
	bool registered = false, same_pools = t->config_revision == 0;
	const size_t before = t->n_owned;

	record_key(RECORD_OWNER, t->cluster, t->host, owner);
	pool_config_key(t->cluster, config);
	for (size_t i = 0; i < a->n_pairs; i++) {
		const struct kv_pair *p = &a->pairs[i];

		if (strcmp(p->key, owner) == 0)
			registered = p->revision == member_revision(t->setup.member);
		else if (strcmp(p->key, config) == 0)
			same_pools = p->revision == t->config_revision;
		else if (add_owned(t, p) < 0)
			return false;
	}
	return registered && same_pools && t->n_owned > before;
}

static void on_taken(void *user, const struct kv_answer *a)
{
	struct pool_take *t = user;

	if (!take_answer(t, a))
		return;
	if (!a->succeeded) {
		/* Another host has taken an address first, or the pools or the registration have
		 * changed. */
		const unsigned n = t->n_conflicts++;

		t->complete = false;
		t->read_all |= n % CONFLICTS_AT_ONCE == CONFLICTS_AT_ONCE - 1;
		if (learn_owners(t, a) && !t->read_all)
			choose_all(t);
		else
			arm(t, CONFLICT_NS << MIN_OF(n, CONFLICT_MAX_SHIFT));
		return;
	}
	t->n_conflicts = 0;
	for (size_t i = 0; i < t->n_taking && t->n_owned < t->cap; i++) {
		struct pool_owned *o = &t->owned[t->n_owned++];

		*o = (struct pool_owned){.ip = t->taking->choice.addrs[t->indexes[i]],
					 .index = t->indexes[i],
					 .revision = a->revision};
		memcpy(o->host, t->host, sizeof(o->host));
		memcpy(o->id, t->self.id, sizeof(o->id));
	}
	choose_all(t);
}

/* Writes the keys of the first new addresses of a choice in a transaction. */
static int take(struct pool_take *t, struct pool_want *w)
{
	char owner[KV_KEY_MAX], config[KV_KEY_MAX];
	char keys[TAKE_MAX][KV_KEY_MAX], *values[TAKE_MAX] = {NULL};
	struct kv_compare also[TAKE_MAX + 1] = {{.key = config, .revision = t->config_revision}};
	struct kv_op ops[TAKE_MAX];
	struct kv_op reads[TAKE_MAX + 2] = {{.kind = KV_GET, .key = owner},
					    {.kind = KV_GET, .key = config}};
	struct kv_txn txn = {.key = owner,
			     .revision = member_revision(t->setup.member),
			     .also = also,
			     .n_also = 1,
			     .ops = ops,
			     .otherwise = reads,
			     .n_otherwise = 2};
	int r = txn.revision ? 0 : -EAGAIN;

	record_key(RECORD_OWNER, t->cluster, t->host, owner);
	pool_config_key(t->cluster, config);
	for (size_t i = 0; r == 0 && i < w->choice.n && txn.n_ops < TAKE_MAX; i++) {
		const size_t n = txn.n_ops;

		if (!w->choice.is_new[i])
			continue;
		pool_address_key(t->cluster, &w->choice.addrs[i], keys[n]);
		values[n] = pool_address_format(w->name, t->host, &t->self, (uint32_t)i);
		r = values[n] ? 0 : -ENOMEM;
		also[txn.n_also++] = (struct kv_compare){.key = keys[n]};
		ops[txn.n_ops++] =
			(struct kv_op){.kind = KV_PUT, .key = keys[n], .value = values[n]};
		reads[txn.n_otherwise++] = (struct kv_op){.kind = KV_GET, .key = keys[n]};
		t->indexes[n] = (uint32_t)i;
	}
	t->taking = w;
	t->n_taking = txn.n_ops;
	if (r == 0)
		r = t->setup.ops->txn(t->setup.kv, &txn, on_taken, t);
	for (size_t i = 0; i < txn.n_ops; i++)
		free(values[i]);
	return r;
}

static bool is_mine(const struct pool_take *t, const struct pool_owned *o)
{
	return strcmp(o->host, t->host) == 0 && strcmp(o->id, t->self.id) == 0;
}

/* Remembers the chosen addresses, so that this host can take them again if the store loses them. */
static void remember(struct pool_want *w)
{
	for (size_t i = 0; i < w->choice.n; i++)
		if (w->choice.addrs[i].family)
			w->known[i] = w->choice.addrs[i];
	w->n_known = MAX_OF(w->n_known, w->choice.n);
}

/* Removes from a choice the addresses that this host is giving up. The monitor has removed them
 * from its record, and must not use them again: their keys may end with the lease. */
static void leave_out_squats(const struct pool_take *t, struct pool_choice *c)
{
	for (size_t k = 0; k < POOL_SQUATS_MAX; k++)
		for (size_t i = 0; t->squats[k].ip.family && i < c->n; i++)
			if (!c->is_new[i] && ip_addr_equal(&c->addrs[i], &t->squats[k].ip)) {
				c->addrs[i] = (struct ip_addr){.family = 0};
				c->n_missing++;
			}
}

/* Chooses addresses of one wanted pool. If the store has lost addresses of this host, it has
 * probably lost those of other hosts too. So this host then takes no addresses that may belong to
 * others. */
static void choose(struct pool_take *t, struct pool_want *w)
{
	pool_choose(&w->pool, t->owned, t->n_owned, t->host, t->self.id, w->known, w->n_known,
		    w->need, &w->choice);
	if (w->choice.n_again)
		t->hold_until_ns = clock_now_ns() + POOL_HOLD_NS;
	if (clock_now_ns() < t->hold_until_ns)
		pool_choose_known_only(&w->choice);
	leave_out_squats(t, &w->choice);
}

/* Lists the addresses that this host owns, for the next check. */
static void list_mine(struct pool_take *t)
{
	t->n_mine = 0;
	free(t->mine);
	t->mine = calloc(t->n_owned + 1, sizeof(*t->mine));
	for (size_t i = 0; t->mine && i < t->n_owned; i++)
		if (is_mine(t, &t->owned[i]) && !t->owned[i].squatter[0])
			t->mine[t->n_mine++] = (struct mine){t->owned[i].ip, t->owned[i].revision};
	t->mine_known = t->mine;
	free(ptr_take(t->owned));
	t->n_owned = t->cap = 0;
}

static void read_everything(struct pool_take *t);

/* Returns whether a choice made without all addresses may be wrong: the pool may be full, or this
 * host may own an address that it does not remember, which it must use. At the first start of a
 * state directory no address can have the id of this host. */
static bool is_doubtful(const struct pool_take *t, const struct pool_choice *c)
{
	return t->partial && (c->n_missing || (t->self.epoch != 1 && c->n_new > c->n_again));
}

/* Chooses addresses of each wanted pool. At the first pool that needs new addresses, starts the
 * transaction that takes them and returns; on_taken() calls this function again. If no pool needs
 * new addresses, the scan ends. */
static void choose_all(struct pool_take *t)
{
	struct reason why;

	t->complete = true;
	for (size_t i = 0; i < t->n; i++) {
		struct pool_want *w = &t->wants[i];

		reason_clear(&why);
		if (pools_find(t->config, w->name, &w->pool, &why) < 0) {
			pool_report_unknown(&t->setup, w, &why);
			t->complete = false;
			continue;
		}
		choose(t, w);
		if (is_doubtful(t, &w->choice)) {
			read_everything(t);
			return;
		}
		if (w->choice.n_new) {
			t->complete = false;
			started(t, take(t, w));
			return;
		}
		t->complete = t->complete && !w->choice.n_missing;
		remember(w);
		pool_report_choice(&t->setup, w, clock_now_ns() < t->hold_until_ns);
	}
	list_mine(t);
	t->check_at = 0;
	t->read_all = !t->complete;
	if (t->complete)
		t->n_failures = 0;
	if (t->complete)
		arm(t, t->setup.check_ns);
	else
		retry(t);
}

/* ---- the scan ---- */

static int read_page(struct pool_take *t);

/* Makes room for one more address, and for all addresses that this host may take. */
static int reserve(struct pool_take *t)
{
	const size_t cap = t->cap ? 2 * t->cap : 2 * WANTS_MAX * CLUSTER_POOL_ADDRS_MAX;
	struct pool_owned *longer;

	if (t->n_owned + WANTS_MAX * CLUSTER_POOL_ADDRS_MAX < t->cap)
		return 0;
	if (t->n_owned >= POOL_OWNED_MAX)
		return -E2BIG;
	longer = reallocarray(t->owned, cap, sizeof(*longer));
	if (!longer)
		return -ENOMEM;
	t->owned = longer;
	t->cap = cap;
	return 0;
}

static int add_owned(struct pool_take *t, const struct kv_pair *p)
{
	struct pool_owned o;

	if (!pool_take_pair(t->cluster, p, &o))
		return 0;
	t->owned[t->n_owned++] = o;
	return reserve(t);
}

static void on_page(void *user, const struct kv_answer *a)
{
	struct pool_take *t = user;
	int r = 0;

	if (a->too_large && t->page > 1 && !t->outdated) {
		t->page /= 2;
		started(t, read_page(t));
		return;
	}
	if (!take_answer(t, a))
		return;
	for (size_t i = 0; r == 0 && i < a->n_pairs; i++)
		r = add_owned(t, &a->pairs[i]);
	if (r == 0 && a->more && !pool_next_page(a, t->next))
		r = -EBADMSG;
	if (r < 0) {
		log_warning("cannot read the addresses of the cluster's pools: %s", strerror(-r));
		report_failure(t, r == -E2BIG ? "the cluster has more than 65536 addresses"
				  : r == -EBADMSG
					  ? "keys below address/ in etcd are too long; delete them"
					  : strerror(-r));
		t->complete = false;
		retry(t);
		return;
	}
	if (!a->more) {
		choose_all(t);
		return;
	}
	started(t, read_page(t));
}

static int read_page(struct pool_take *t)
{
	const struct kv_range range = {.first = t->next, .end = t->end, .limit = t->page};

	return t->setup.ops->range(t->setup.kv, &range, on_page, t);
}

static void read_everything(struct pool_take *t)
{
	t->partial = false;
	t->n_owned = 0;
	pool_address_keys(t->cluster, t->next, t->end);
	started(t, reserve(t) < 0 ? -ENOMEM : read_page(t));
}

static int ask_known(struct pool_take *t);

static void on_asked(void *user, const struct kv_answer *a)
{
	struct pool_take *t = user;
	int r = 0;

	if (!take_answer(t, a))
		return;
	for (size_t i = 0; r == 0 && i < a->n_pairs; i++)
		r = add_owned(t, &a->pairs[i]);
	t->check_at = MIN_OF(t->check_at + KV_OPS_MAX, t->n_mine);
	if (r < 0)
		read_everything(t);
	else if (t->check_at < t->n_mine)
		started(t, ask_known(t));
	else
		choose_all(t);
}

/* Reads the next addresses of `mine` by their keys. */
static int ask_known(struct pool_take *t)
{
	static char keys[KV_OPS_MAX][KV_KEY_MAX];
	struct kv_op ops[KV_OPS_MAX];
	struct kv_txn txn = {.ops = ops};

	for (size_t i = t->check_at; i < t->n_mine && txn.n_ops < KV_OPS_MAX; i++) {
		char *key = keys[txn.n_ops];

		pool_address_key(t->cluster, &t->mine[i].ip, key);
		ops[txn.n_ops++] = (struct kv_op){.kind = KV_GET, .key = key};
	}
	return t->setup.ops->txn(t->setup.kv, &txn, on_asked, t);
}

/* Reads the addresses that this host remembers. If it must own further ones, reads all. */
static void read_known(struct pool_take *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->wants[i].n_known;
	free(t->mine);
	t->mine = calloc(n + 1, sizeof(*t->mine));
	t->n_mine = t->check_at = 0;
	t->mine_known = false;
	for (size_t i = 0; t->mine && i < t->n; i++)
		for (size_t k = 0; k < t->wants[i].n_known; k++)
			if (t->wants[i].known[k].family)
				t->mine[t->n_mine++].ip = t->wants[i].known[k];
	t->partial = t->mine && !t->read_all && (t->n_mine || t->self.epoch == 1);
	if (!t->partial)
		read_everything(t);
	else if (t->n_mine)
		started(t, ask_known(t));
	else
		choose_all(t);
}

static void on_config(void *user, const struct kv_answer *a)
{
	struct pool_take *t = user;
	const struct kv_pair *p = a->n_pairs ? &a->pairs[0] : NULL;

	if (!take_answer(t, a))
		return;
	json_decref(t->config);
	t->config = pools_parse(p && p->value ? p->value : "", p ? p->len : 0);
	t->config_revision = p ? p->revision : 0;
	if (!t->config) {
		report_failure(t, "the cluster's key config has a form that this version does "
				  "not know; correct or delete the key, or update this host");
		t->complete = false;
		retry(t);
		return;
	}
	read_known(t);
}

static void scan(struct pool_take *t)
{
	char key[KV_KEY_MAX];
	const struct kv_range range = {.first = key};

	pool_config_key(t->cluster, key);
	t->n_owned = 0;
	t->page = POOL_ADDRESS_PAGE;
	started(t,
		reserve(t) < 0 ? -ENOMEM : t->setup.ops->range(t->setup.kv, &range, on_config, t));
}

/* ---- the check ---- */

/* Returns whether the answer has the addresses of this host with the expected revisions. */
static bool is_as_known(const struct pool_take *t, const struct kv_answer *a)
{
	const size_t n = MIN_OF(t->n_mine - t->check_at, (size_t)CHECK_MAX);
	size_t k = 0;

	if (a->n_pairs != n + 1 || a->pairs[0].revision != t->config_revision)
		return false;
	for (; k < n; k++)
		if (a->pairs[k + 1].revision != t->mine[t->check_at + k].revision)
			return false;
	return true;
}

static void check(struct pool_take *t);

static void on_checked(void *user, const struct kv_answer *a)
{
	struct pool_take *t = user;

	if (!take_answer(t, a))
		return;
	if (!is_as_known(t, a)) {
		scan(t);
		return;
	}
	t->check_at += a->n_pairs - 1;
	if (t->check_at < t->n_mine) {
		check(t);
		return;
	}
	t->check_at = 0;
	arm(t, t->setup.check_ns);
}

/* Reads only the pools and the addresses that this host owns. */
static void check(struct pool_take *t)
{
	static char keys[KV_OPS_MAX][KV_KEY_MAX];
	struct kv_op ops[KV_OPS_MAX] = {{.kind = KV_GET, .key = keys[0]}};
	struct kv_txn txn = {.ops = ops, .n_ops = 1};

	pool_config_key(t->cluster, keys[0]);
	for (size_t i = t->check_at; i < t->n_mine && txn.n_ops < KV_OPS_MAX; i++) {
		char *key = keys[txn.n_ops];

		pool_address_key(t->cluster, &t->mine[i].ip, key);
		ops[txn.n_ops++] = (struct kv_op){.kind = KV_GET, .key = key};
	}
	started(t, t->setup.ops->txn(t->setup.kv, &txn, on_checked, t));
}

/* ---- addresses that other hosts use ---- */

/* Forgets the entry. The monitor has removed the address from its record, so this host's addresses
 * are read and reported again: the address may be among them after all. */
static void drop_squat(struct pool_take *t, struct squat *q)
{
	q->ip.family = 0;
	for (size_t i = 0; i < t->n; i++)
		t->wants[i].reported = false;
	t->complete = false;
}

static void on_squat(void *user, const struct kv_answer *a)
{
	struct pool_take *t = user;
	struct squat *q = ptr_take(t->squat);
	const bool deletes = q->revision;

	if (!take_answer(t, a))
		return;
	/* If the key has changed, this host no longer owns the address. */
	if (a->succeeded && !deletes) {
		q->revision = a->revision;
		q->until_ns = clock_now_ns() + member_jitter(POOL_SQUAT_NS);
	} else {
		drop_squat(t, q);
	}
	t->complete = false;
	begin(t);
}

static const char *pool_of(const struct pool_take *t, const struct ip_addr *ip)
{
	for (size_t i = 0; i < t->n; i++)
		if (ip_range_contains(&t->wants[i].pool.range, ip))
			return t->wants[i].name;
	return "";
}

static uint64_t revision_of(const struct pool_take *t, const struct ip_addr *ip)
{
	for (size_t i = 0; t->mine_known && i < t->n_mine; i++)
		if (ip_addr_equal(&t->mine[i].ip, ip))
			return t->mine[i].revision;
	return 0;
}

/* Writes that another host uses the address, or deletes the key that says so. The key has the lease
 * of this host, so that it disappears with this host. */
static int change_squat(struct pool_take *t, struct squat *q)
{
	autofree char *value = pool_squat_format(pool_of(t, &q->ip), t->host, &t->self, &q->by);
	char owner[KV_KEY_MAX], key[KV_KEY_MAX];
	const struct kv_compare also = {
		.key = key, .revision = q->revision ? q->revision : revision_of(t, &q->ip)};
	const struct kv_op op = {.kind = q->revision ? KV_DELETE : KV_PUT,
				 .key = key,
				 .value = value,
				 .lease = member_lease(t->setup.member)};
	const struct kv_txn txn = {.key = owner,
				   .revision = member_revision(t->setup.member),
				   .also = &also,
				   .n_also = 1,
				   .ops = &op,
				   .n_ops = 1};

	record_key(RECORD_OWNER, t->cluster, t->host, owner);
	pool_address_key(t->cluster, &q->ip, key);
	t->squat = q;
	return value ? t->setup.ops->txn(t->setup.kv, &txn, on_squat, t) : -ENOMEM;
}

/* Begins with the next address whose key must change. Returns false if there is none. */
static bool begin_squat(struct pool_take *t)
{
	const uint64_t now = clock_now_ns();

	for (size_t i = 0; i < POOL_SQUATS_MAX; i++) {
		struct squat *q = &t->squats[i];

		if (!q->ip.family || (q->revision && now < q->until_ns))
			continue;
		if (!q->revision && !revision_of(t, &q->ip)) {
			if (t->mine_known)
				drop_squat(t, q);
			continue;
		}
		started(t, change_squat(t, q));
		return true;
	}
	return false;
}

void pool_take_squat(struct pool_take *t, const struct ip_addr *ip, const struct mac_addr *by)
{
	struct squat *free = NULL;

	for (size_t i = 0; i < POOL_SQUATS_MAX; i++) {
		struct squat *q = &t->squats[i];

		if (!q->ip.family)
			free = q;
		else if (ip_addr_equal(&q->ip, ip))
			return;
	}
	if (!free)
		return;
	*free = (struct squat){.ip = *ip, .by = *by};
	begin(t);
}

static void begin(struct pool_take *t)
{
	const bool outdated = t->outdated;

	t->outdated = false;
	if (t->busy || t->n == 0 || !member_revision(t->setup.member))
		return;
	loop_timer_disarm(t->timer);
	if (begin_squat(t))
		return;
	if (t->complete && !outdated && t->mine)
		check(t);
	else
		scan(t);
}

static int on_timer(void *user)
{
	begin(user);
	return 0;
}

void pool_take_look(struct pool_take *t)
{
	if (!t->busy && !loop_timer_armed(t->timer))
		begin(t);
}

/* ---- wanted pools ---- */

static void set_want(struct pool_want *w, const json_t *o)
{
	const char *name = json_string_value(json_object_get(o, "name"));
	const json_t *ip;
	size_t i;

	snprintf(w->name, sizeof(w->name), "%s", name ? name : "");
	w->need = (size_t)MAX_OF(json_integer_value(json_object_get(o, "need")), 0);
	json_array_foreach (json_object_get(o, "known"), i, ip) {
		if (i == CLUSTER_POOL_ADDRS_MAX)
			break;
		if (!json_is_string(ip) || ip_addr_parse(json_string_value(ip), &w->known[i]) < 0)
			w->known[i].family = 0;
		w->n_known = i + 1;
	}
}

static bool is_same(const struct pool_take *t, const struct pool_want *wants, size_t n)
{
	if (n != t->n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(wants[i].name, t->wants[i].name) != 0 ||
		    wants[i].need != t->wants[i].need)
			return false;
	return true;
}

void pool_take_want(struct pool_take *t, const json_t *pools)
{
	const size_t n = MIN_OF(json_array_size(pools), (size_t)WANTS_MAX);
	struct pool_want *wants = calloc(n + 1, sizeof(*wants));

	if (!wants)
		return; /* the next settings try it again */
	for (size_t i = 0; i < n; i++)
		set_want(&wants[i], json_array_get(pools, i));
	if (is_same(t, wants, n)) {
		free(wants);
		return;
	}
	/* the addresses that this object found since then are newer */
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < t->n; k++)
			if (strcmp(wants[i].name, t->wants[k].name) == 0 && t->wants[k].n_known) {
				memcpy(wants[i].known, t->wants[k].known, sizeof(wants[i].known));
				wants[i].n_known = t->wants[k].n_known;
			}
	free(t->wants);
	t->wants = wants;
	t->n = n;
	t->outdated = true;
	t->complete = false;
	t->n_failures = 0;
	loop_timer_disarm(t->timer);
	if (!t->busy)
		begin(t);
}

/* ---- lifetime ---- */

int pool_take_new(const struct pool_take_setup *setup, struct pool_take **ret)
{
	struct pool_take *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->setup = *setup;
	t->self = *setup->self;
	snprintf(t->cluster, sizeof(t->cluster), "%s", setup->cluster);
	snprintf(t->host, sizeof(t->host), "%s", setup->host);
	r = loop_add_timer(setup->loop, NSEC_PER_MSEC, on_timer, t, &t->timer);
	if (r < 0) {
		pool_take_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

struct pool_take *pool_take_free(struct pool_take *t)
{
	if (!t)
		return NULL;
	loop_source_free(t->timer);
	json_decref(t->config);
	free(t->wants);
	free(t->owned);
	free(t->mine);
	free(t);
	return NULL;
}
