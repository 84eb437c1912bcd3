/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers this host in the cluster's store, and keeps its keys up to date. */
#include "agent/cluster/store/member.h"
#include "netcfg/base/log.h"
#include "netcfg/base/when.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

struct member {
	struct member_setup setup;
	char cluster[PLENUM_NAME_MAX], host[PLENUM_NAME_MAX];
	struct loop_source *timer;
	char *texts[RECORD_KIND_MAX];
	bool dirty[RECORD_KIND_MAX];
	bool busy;		 /* an operation is in progress; there is one at a time */
	enum record_kind writes; /* the kind of record that the operation in progress writes */
	/* A claim replaces the owner's key only if the key has this revision; 0: only if the key
	 * does not exist. */
	uint64_t claim_over;
	uint64_t owner_revision;   /* revision of the owner's key; 0: this host is not registered */
	uint64_t serving_revision; /* revision of the last write of RECORD_SERVING */
	/* the store's revision at this host's last write; it never decreases unless a backup was
	 * restored */
	uint64_t store_revision;
	uint64_t lease, ttl_ns; /* the lease and its duration; lease 0: none */
	uint64_t renewed_ns, renew_due_ns;
	/* The reported trouble comes from a write, so only a successful write ends it: a store that
	 * is full or refuses keys may still renew leases. */
	bool cannot_write;
	unsigned n_failures;	   /* consecutive failures */
	uint64_t failing_since_ns; /* time of the first of these failures */
	uint64_t retry_ns;
	struct cluster_report report, reported;
};

uint64_t member_jitter(uint64_t ns)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = 1U << 31;
	return ns - ns / 5 + (uint64_t)((double)random / UINT32_MAX * (double)(ns * 2 / 5));
}

static void report(struct member *m)
{
	struct cluster_report *r = &m->report;

	r->registered = m->owner_revision && m->lease && !m->dirty[RECORD_SERVING];
	r->lease_s = m->lease ? m->ttl_ns / NSEC_PER_SEC : 0;
	snprintf(r->endpoint, sizeof(r->endpoint), "%s", m->setup.ops->endpoint(m->setup.kv));
	if (memcmp(r, &m->reported, sizeof(*r)) == 0)
		return;
	m->reported = *r;
	m->setup.on_report(m->setup.user, r);
}

static void set_trouble(struct member *m, enum cluster_trouble trouble, const char *text)
{
	struct cluster_report *r = &m->report;

	memset(r->text, 0, sizeof(r->text)); /* so that memcmp() can compare reports */
	snprintf(r->text, sizeof(r->text), "%s", text);
	r->trouble = trouble;
}

/* Delays the next operation; each further failure doubles the delay, up to a limit. */
static void back_off(struct member *m)
{
	const unsigned shift = MIN_OF(m->n_failures, 5U);
	const uint64_t pause = MIN_OF(MEMBER_RETRY_FIRST_NS << shift, MEMBER_RETRY_MAX_NS);

	if (m->n_failures++ == 0)
		m->failing_since_ns = clock_now_ns();
	m->retry_ns = clock_now_ns() + member_jitter(pause);
}

/* ---- answers ---- */

static void step(struct member *m);

/* Marks all values to be written, because the store may have other ones. */
static void write_all(struct member *m)
{
	for (enum record_kind k = 0; k < RECORD_KIND_MAX; k++)
		m->dirty[k] = m->texts[k] != NULL;
}

/* Handles the store's revision in the answer to a write. If it is lower than before, the store was
 * restored from a backup, so this host registers again and writes everything. */
static void take_revision(struct member *m, uint64_t revision)
{
	if (revision < m->store_revision) {
		log_warning("the cluster's store has an earlier state than before; this host "
			    "registers again");
		m->owner_revision = m->claim_over = m->lease = 0;
		write_all(m);
	}
	m->store_revision = revision;
}

static void set_owner(struct member *m, uint64_t revision)
{
	m->owner_revision = revision;
	write_all(m);
}

/* Does what is common to all answers. Returns whether the operation was carried out. */
static bool take(struct member *m, const struct kv_answer *a, bool is_write)
{
	m->busy = false;
	/* Only answers to writes count: a read may be answered by a member that lacks the latest
	 * writes. */
	if (a->trouble == CLUSTER_FINE && is_write && a->revision)
		take_revision(m, a->revision);
	if (a->trouble == CLUSTER_FINE) {
		if (is_write || !m->cannot_write) {
			m->n_failures = 0;
			m->cannot_write = false;
			set_trouble(m, CLUSTER_FINE, "");
		}
		return true;
	}
	m->cannot_write = is_write;
	back_off(m);
	/* A short failure is not reported, because an election of the store's leader takes only
	 * seconds. */
	if (a->trouble != CLUSTER_UNREACHABLE || !m->report.registered ||
	    clock_now_ns() >= m->failing_since_ns + MEMBER_GRACE_NS)
		set_trouble(m, a->trouble, a->text);
	return false;
}

static void refuse_name(struct member *m, const struct record_owner *o)
{
	const struct record_owner *self = &m->setup.self;
	const bool is_copy = strcmp(o->id, self->id) == 0;
	char text[CLUSTER_TEXT_MAX];

	snprintf(text, sizeof(text),
		 "the host with the id %s, start %llu, has it since %s; this host has the id %s, "
		 "start "
		 "%llu%s",
		 o->id, (unsigned long long)o->epoch, o->since, self->id,
		 (unsigned long long)self->epoch,
		 is_copy ? ", of the same state directory or a copy of it" : "");
	set_trouble(m, CLUSTER_NAME_TAKEN, text);
	m->claim_over = 0;
	m->retry_ns = clock_now_ns() + member_jitter(MEMBER_RETRY_MAX_NS);
}

static void on_claimed(void *user, const struct kv_answer *a)
{
	struct member *m = user;
	struct record_owner o;

	if (!take(m, a, true))
		;
	else if (a->succeeded)
		set_owner(m, a->revision);
	else if (a->n_pairs == 0) /* the owner's key was removed meanwhile */
		m->claim_over = 0;
	else if (record_owner_parse(a->pairs[0].value ? a->pairs[0].value : "", a->pairs[0].len,
				    &o) < 0) {
		set_trouble(m, CLUSTER_NAME_TAKEN, "the key of this name has an unknown form");
		back_off(m);
	} else if (strcmp(o.id, m->setup.self.id) != 0 || o.epoch > m->setup.self.epoch ||
		   (o.epoch == m->setup.self.epoch && strcmp(o.nonce, m->setup.self.nonce) != 0))
		refuse_name(m, &o);
	else /* This host also replaces the key if the key is already its own, because a former
		process of this role may have sent transactions that the store has not executed yet.
	      */
		m->claim_over = a->pairs[0].revision;
	step(m);
}

/* Marks the values to be written that disappear with the lease. */
static void write_leased(struct member *m)
{
	for (enum record_kind k = 0; k < RECORD_KIND_MAX; k++)
		m->dirty[k] |= record_has_lease(k) && m->texts[k];
}

static void drop_lease(struct member *m)
{
	m->lease = 0;
	write_leased(m);
}

static void on_granted(void *user, const struct kv_answer *a)
{
	struct member *m = user;

	if (take(m, a, false)) {
		m->lease = a->lease;
		m->ttl_ns = a->ttl_s * NSEC_PER_SEC;
		m->renewed_ns = clock_now_ns();
		m->renew_due_ns = m->renewed_ns + m->ttl_ns / 3;
		write_leased(m);
	}
	step(m);
}

static void on_renewed(void *user, const struct kv_answer *a)
{
	struct member *m = user;

	if (take(m, a, false)) {
		if (a->lease_gone)
			drop_lease(m);
		m->renewed_ns = clock_now_ns();
		m->renew_due_ns = m->renewed_ns + m->ttl_ns / 3;
	}
	step(m);
}

/* Checks whether the store still has the last value of RECORD_SERVING. Another program, or a
 * restored backup, may have removed or replaced it. */
static void check_serving(struct member *m, const struct kv_answer *a)
{
	const uint64_t is = a->n_pairs ? a->pairs[0].revision : 0;

	if (m->texts[RECORD_SERVING] && is != m->serving_revision)
		m->dirty[RECORD_SERVING] = true;
}

static void on_written(void *user, const struct kv_answer *a)
{
	struct member *m = user;

	if (!take(m, a, true)) {
		m->dirty[m->writes] = true;
	} else if (a->lease_gone) {
		m->dirty[m->writes] = true;
		drop_lease(m);
	} else if (!a->succeeded) { /* the registration was removed or replaced */
		m->dirty[m->writes] = true;
		m->owner_revision = m->claim_over = 0;
	} else if (m->writes == RECORD_SERVING) {
		m->serving_revision = a->revision;
	} else {
		check_serving(m, a);
	}
	step(m);
}

/* ---- operations ---- */

static int claim(struct member *m)
{
	struct record_owner self = m->setup.self;
	struct timespec now;
	char key[KV_KEY_MAX];
	autofree char *value = NULL;

	clock_gettime(CLOCK_REALTIME, &now);
	when_format((uint64_t)now.tv_sec * 1000, self.since);
	record_key(RECORD_OWNER, m->cluster, m->host, key);
	value = record_owner_format(&self);
	const struct kv_op put = {.kind = KV_PUT, .key = key, .value = value};
	const struct kv_op get = {.kind = KV_GET, .key = key};
	const struct kv_txn t = {.key = key,
				 .revision = m->claim_over,
				 .ops = &put,
				 .n_ops = 1,
				 .otherwise = &get,
				 .n_otherwise = 1};

	_Static_assert(sizeof(self.since) >= WHEN_TEXT_MAX, "when_format() writes to it");
	return value ? m->setup.ops->txn(m->setup.kv, &t, on_claimed, m) : -ENOMEM;
}

static int write_key(struct member *m, enum record_kind kind)
{
	char owner[KV_KEY_MAX], key[KV_KEY_MAX], serving[KV_KEY_MAX];
	const struct kv_op ops[] = {{.kind = KV_PUT,
				     .key = key,
				     .value = m->texts[kind],
				     .lease = record_has_lease(kind) ? m->lease : 0},
				    {.kind = KV_GET, .key = serving}};
	const struct kv_txn t = {.key = owner,
				 .revision = m->owner_revision,
				 .ops = ops,
				 .n_ops = kind == RECORD_SERVING ? 1 : 2};

	record_key(RECORD_SERVING, m->cluster, m->host, serving);
	record_key(RECORD_OWNER, m->cluster, m->host, owner);
	record_key(kind, m->cluster, m->host, key);
	m->dirty[kind] = false;
	m->writes = kind;
	return m->setup.ops->txn(m->setup.kv, &t, on_written, m);
}

/* Starts the next operation. Returns 1 if an operation was started, 0 if nothing is due now, or
 * negative errno. */
static int begin(struct member *m, uint64_t now)
{
	const struct kv_ops *ops = m->setup.ops;
	int r;

	if (m->lease && now > m->renewed_ns + m->ttl_ns)
		drop_lease(m);
	if (!m->owner_revision)
		r = claim(m);
	else if (!m->lease)
		r = ops->grant(m->setup.kv,
			       member_jitter(MEMBER_LEASE_S * NSEC_PER_SEC) / NSEC_PER_SEC,
			       on_granted, m);
	else if (now >= m->renew_due_ns)
		r = ops->renew(m->setup.kv, m->lease, on_renewed, m);
	else if (m->dirty[RECORD_SERVING])
		r = write_key(m, RECORD_SERVING);
	else if (m->dirty[RECORD_LINKS])
		r = write_key(m, RECORD_LINKS);
	else if (m->dirty[RECORD_STATE])
		r = write_key(m, RECORD_STATE);
	else
		return 0;
	return r < 0 ? r : 1;
}

static void step(struct member *m)
{
	const uint64_t now = clock_now_ns();
	uint64_t due;
	int r = 0;

	/* The lease is renewed even while writes fail. */
	const bool renews = m->cannot_write && m->owner_revision && m->lease;

	report(m);
	if (m->busy)
		return;
	if (now >= m->retry_ns || (renews && now >= m->renew_due_ns))
		r = begin(m, now);
	m->busy = r > 0;
	if (r < 0)
		back_off(m);
	if (m->busy) {
		loop_timer_disarm(m->timer);
		return;
	}
	due = m->owner_revision && m->lease ? m->renew_due_ns : now;
	due = renews ? MIN_OF(due, m->retry_ns) : MAX_OF(due, m->retry_ns);
	due = MAX_OF(due, now);
	loop_timer_arm(m->timer, due - now + NSEC_PER_MSEC);
}

static int on_timer(void *user)
{
	step(user);
	return 0;
}

int member_publish(struct member *m, enum record_kind kind, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(m->texts[kind]);
	m->texts[kind] = copy;
	m->dirty[kind] = true;
	step(m);
	return 0;
}

void member_register_again(struct member *m)
{
	if (!m->owner_revision)
		return; /* the next step claims the name in any case */
	m->claim_over = m->owner_revision;
	m->owner_revision = 0;
	step(m);
}

uint64_t member_revision(const struct member *m)
{
	return m->lease ? m->owner_revision : 0;
}

uint64_t member_lease(const struct member *m)
{
	return m->lease;
}

/* ---- lifetime ---- */

int member_new(const struct member_setup *setup, struct member **ret)
{
	struct member *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->setup = *setup;
	snprintf(m->cluster, sizeof(m->cluster), "%s", setup->cluster);
	snprintf(m->host, sizeof(m->host), "%s", setup->host);
	r = loop_add_timer(setup->loop, NSEC_PER_MSEC, on_timer, m, &m->timer);
	if (r >= 0)
		r = loop_timer_arm(m->timer, 0);
	if (r < 0) {
		member_free(m);
		return r;
	}
	*ret = m;
	return 0;
}

struct member *member_free(struct member *m)
{
	if (!m)
		return NULL;
	loop_source_free(m->timer);
	for (size_t i = 0; i < RECORD_KIND_MAX; i++)
		free(m->texts[i]);
	free(m);
	return NULL;
}
