/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges the requests of one export with the cluster's store. */
#include "agent/cluster/failover/failover_hold.h"
#include "netcfg/base/log.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* The store may still answer requests that this module has given up as lost. */
#define REQUESTS_MAX 8

struct request {
	struct failover_hold *hold; /* NULL: unused */
	uint64_t number;
	enum failover_op op;
};

struct failover_hold {
	struct failover_hold_setup setup;
	struct loop_source *timer;
	char owner[KV_KEY_MAX], record[KV_KEY_MAX], alive[KV_KEY_MAX];
	/* last known revision of the key that registers this host */
	uint64_t registration;
	struct request requests[REQUESTS_MAX];
	struct failover f;
	struct failover_report reported;
	bool has_reported, unreadable, eligible;
};

static void step(struct failover_hold *h);

/* ---- reports ---- */

static void report(struct failover_hold *h, uint64_t now)
{
	struct failover_report r;

	memset(&r, 0, sizeof(r)); /* so that memcmp() can compare reports */
	r.state = failover_state(&h->f, now);
	r.epoch = failover_epoch(&h->f);
	r.until_ns = failover_until(&h->f);
	r.undecided = failover_is_undecided(&h->f);
	snprintf(r.holder, sizeof(r.holder), "%s", failover_holder(&h->f));
	if (h->has_reported && memcmp(&r, &h->reported, sizeof(r)) == 0)
		return;
	h->reported = r;
	h->has_reported = true;
	h->setup.on_report(h->setup.user, &r);
}

/* ---- answers ---- */

static const struct kv_pair *find(const struct kv_answer *a, const char *key)
{
	for (size_t i = 0; i < a->n_pairs; i++)
		if (strcmp(a->pairs[i].key, key) == 0)
			return &a->pairs[i];
	return NULL;
}

/* Parses the values of the keys `record` and `alive`, of which each may be absent. Returns false if
 * this version of Plenum cannot parse one of them. */
static bool take_pairs(const struct failover_hold *h, const struct kv_answer *a,
		       struct failover_view *ret)
{
	const struct kv_pair *record = find(a, h->record), *alive = find(a, h->alive);

	ret->revision = a->revision;
	ret->record_revision = record ? record->revision : 0;
	ret->alive_revision = alive ? alive->revision : 0;
	return (!record ||
		(record->value && record->len &&
		 failover_record_parse(record->value, record->len, &ret->record) == 0)) &&
	       (!alive || (alive->value && alive->len &&
			   failover_alive_parse(alive->value, alive->len, &ret->lease) == 0));
}

static void on_answer(void *user, const struct kv_answer *a)
{
	struct request *q = user;
	struct failover_hold *h = q->hold;
	struct failover_answer got = {
		.number = q->number,
		.failed = a->trouble != CLUSTER_FINE,
		.succeeded = a->succeeded,
		.lease_gone = a->lease_gone,
		.lease = a->lease,
		.ttl_ns = a->ttl_s * NSEC_PER_SEC,
		.revision = a->revision,
	};
	const bool reads = q->op == FAILOVER_READ || (q->op != FAILOVER_GRANT && !a->succeeded);

	q->hold = NULL;
	if (!got.failed && !got.lease_gone && reads) {
		got.failed = !take_pairs(h, a, &got.is);
		if (got.failed && !h->unreadable)
			log_warning("cannot parse the keys of the export %s in etcd; this host "
				    "does not serve it",
				    h->setup.export_name);
		h->unreadable = got.failed;
	}
	failover_answer(&h->f, clock_boot_ns(), &got);
	step(h);
}

/* ---- requests ---- */

static int send_read(struct failover_hold *h, struct request *slot)
{
	const struct kv_op get[] = {{.kind = KV_GET, .key = h->record},
				    {.kind = KV_GET, .key = h->alive}};
	const struct kv_txn t = {.ops = get, .n_ops = ARRAY_SIZE(get)};

	return h->setup.ops->txn(h->setup.kv, &t, on_answer, slot);
}

static int send_change(struct failover_hold *h, const struct failover_request *q,
		       struct request *slot)
{
	autofree char *record = failover_record_format(&q->record);
	autofree char *alive = failover_alive_format(q->lease);
	const struct kv_op put_record = {.kind = KV_PUT, .key = h->record, .value = record};
	const struct kv_op put_alive = {
		.kind = KV_PUT, .key = h->alive, .value = alive, .lease = q->lease};
	const struct kv_op drop_alive = {.kind = KV_DELETE, .key = h->alive};
	const struct kv_op ops[] = {q->op == FAILOVER_RELEASE ? drop_alive : put_alive, put_record};
	const struct kv_op get[] = {{.kind = KV_GET, .key = h->record},
				    {.kind = KV_GET, .key = h->alive}};
	const struct kv_compare also[] = {{.key = h->alive, .revision = q->alive_revision},
					  {.key = h->owner, .revision = h->registration}};
	const struct kv_txn t = {.key = h->record,
				 .revision = q->record_revision,
				 .also = also,
				 .n_also = ARRAY_SIZE(also),
				 .ops = ops,
				 .n_ops = q->op == FAILOVER_RENEW ? 1 : 2,
				 .otherwise = get,
				 .n_otherwise = ARRAY_SIZE(get)};

	if (!record || !alive)
		return -ENOMEM;
	return h->registration ? h->setup.ops->txn(h->setup.kv, &t, on_answer, slot) : -EPERM;
}

static struct request *request_new(struct failover_hold *h, const struct failover_request *q)
{
	for (size_t i = 0; i < REQUESTS_MAX; i++)
		if (!h->requests[i].hold) {
			h->requests[i] = (struct request){h, q->number, q->op};
			return &h->requests[i];
		}
	return NULL;
}

static void send_request(struct failover_hold *h, const struct failover_request *q)
{
	const struct failover_answer failed = {.number = q->number, .failed = true};
	struct request *slot = request_new(h, q);
	int r = -EBUSY;

	if (!slot)
		;
	else if (q->op == FAILOVER_READ)
		r = send_read(h, slot);
	else if (q->op == FAILOVER_GRANT)
		r = h->setup.ops->grant(h->setup.kv, h->setup.times->ttl_ns / NSEC_PER_SEC,
					on_answer, slot);
	else
		r = send_change(h, q, slot);
	if (r >= 0)
		return;
	if (slot)
		slot->hold = NULL;
	failover_answer(&h->f, clock_boot_ns(), &failed);
}

static void step(struct failover_hold *h)
{
	const uint64_t registration = member_revision(h->setup.member);
	struct failover_request q;
	uint64_t now = clock_boot_ns(), due = now;

	/* The registration (member.h) uses another, longer lease. When that lease has ended, the
	 * registration of this host still exists for a while. */
	if (registration)
		h->registration = registration;
	failover_set_eligible(&h->f, h->eligible && h->registration);
	while ((q = failover_next(&h->f, now, &due)).op != FAILOVER_NOTHING) {
		send_request(h, &q);
		now = clock_boot_ns();
	}
	/* The state changes at this time if the host could not renew its lease before. */
	if (failover_until(&h->f) > now)
		due = MIN_OF(due, failover_until(&h->f));
	report(h, now);
	loop_timer_arm(h->timer, MAX_OF(due, now) - now + NSEC_PER_MSEC);
}

static int on_timer(void *user)
{
	step(user);
	return 0;
}

/* ---- the monitor ---- */

void failover_hold_set_eligible(struct failover_hold *h, bool eligible)
{
	h->eligible = eligible;
	step(h);
}

void failover_hold_stop(struct failover_hold *h, const char *to)
{
	failover_stop(&h->f, to);
	step(h);
}

void failover_hold_stopped(struct failover_hold *h)
{
	failover_stopped(&h->f);
	step(h);
}

/* ---- lifetime ---- */

int failover_hold_new(const struct failover_hold_setup *setup, struct failover_hold **ret)
{
	struct failover_hold *h = calloc(1, sizeof(*h));
	uint64_t token = 0;
	int r;

	if (!h)
		return -ENOMEM;
	h->setup = *setup;
	record_key(RECORD_OWNER, setup->cluster, setup->host, h->owner);
	failover_key(FAILOVER_KEY_RECORD, setup->cluster, setup->export_name, h->record);
	failover_key(FAILOVER_KEY_ALIVE, setup->cluster, setup->export_name, h->alive);
	r = getrandom(&token, sizeof(token), 0) == sizeof(token) && token ? 0 : -EIO;
	if (r >= 0)
		r = loop_add_timer(setup->loop, NSEC_PER_MSEC, on_timer, h, &h->timer);
	if (r >= 0)
		r = loop_timer_arm(h->timer, 0);
	if (r < 0) {
		failover_hold_free(h);
		return r;
	}
	failover_init(&h->f, setup->times, setup->host, setup->self->id, token,
		      setup->running_epoch, clock_boot_ns());
	*ret = h;
	return 0;
}

struct failover_hold *failover_hold_free(struct failover_hold *h)
{
	if (!h)
		return NULL;
	loop_source_free(h->timer);
	free(h);
	return NULL;
}
