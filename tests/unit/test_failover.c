/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exports that several hosts can serve: the record, and hosts that share a store under a virtual
 * clock. Their agents and workers are killed and stopped, requests and answers are lost or late,
 * and the store is unreachable at times. A worker's write counts from its begin until it reaches
 * the disk. It is a violation if a write reaches the disk after one of a later epoch.
 */
#include "agent/cluster/failover/failover.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOSTS 3
#define MESSAGES_MAX 4096
#define LEASES_MAX 4096
#define TICK_NS (10 * NSEC_PER_MSEC)
#define ROUNDS 1000
#define FAULTS_S 60
#define CALM_S 25

/* ---- the simulation ---- */

/* Hosts that wait read the store often, so that they take an export at the first moment at which
 * they may. */
static struct failover_times times;

enum message_kind { NONE, REQUEST, ANSWER, ORDER, WRITE };
struct message {
	enum message_kind kind;
	uint64_t due_ns;
	unsigned host;
	uint64_t life; /* of the process that it is for */
	struct failover_request q;
	struct failover_answer a;
	uint64_t epoch, until_ns; /* of an order to the worker, and of a write */
	uint64_t sequence;	  /* of an order */
};

struct lease {
	uint64_t id, end_ns;
};

struct host {
	char name[8];
	bool power, agent; /* which of them runs */
	uint64_t agent_life, power_life;
	struct failover f;
	uint64_t agent_paused_ns, worker_paused_ns, agent_start_ns, power_on_ns, cut_until_ns;
	double clock_rate;
	uint64_t clock_offset_ns;
	uint64_t n_ordered, n_delivered; /* orders to the worker, which keep their sequence */
	uint64_t told_epoch, told_until_ns;
	uint64_t epoch, until_ns; /* the worker's orders */
	unsigned n_writes;	  /* in progress */
	uint64_t resumes_ns;
	bool eligible;
};

struct world {
	uint64_t now_ns, random;
	struct host hosts[HOSTS];
	struct message messages[MESSAGES_MAX];
	size_t n_messages;
	struct lease leases[LEASES_MAX];
	size_t n_leases;
	uint64_t next_lease, revision;
	struct failover_view is;
	uint64_t store_down_ns; /* until then the store does not answer; its leases then begin again
				 */
	uint64_t written_epoch, n_written, n_epochs, n_violations;
	uint64_t written_ns;
	bool calm;
};

static uint64_t draw(struct world *w, uint64_t n)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (w->random >> 11) % n;
}

static bool chance(struct world *w, unsigned per_million)
{
	return draw(w, 1000000) < per_million;
}

static uint64_t clock_of(const struct world *w, const struct host *h)
{
	return h->clock_offset_ns + (uint64_t)((double)w->now_ns * h->clock_rate);
}

static struct message *post(struct world *w, enum message_kind kind, unsigned host, uint64_t due_ns)
{
	for (size_t i = 0; i < MESSAGES_MAX; i++) {
		struct message *m = &w->messages[i];

		if (m->kind)
			continue;
		w->n_messages = MAX_OF(w->n_messages, i + 1);
		*m = (struct message){.kind = kind, .due_ns = due_ns, .host = host};
		return m;
	}
	fail_msg("too many messages");
	return NULL;
}

/* Returns when a message through the network arrives; 0: it is lost. */
static uint64_t arrives(struct world *w, unsigned host)
{
	if (w->now_ns < w->hosts[host].cut_until_ns || (!w->calm && chance(w, 30000)))
		return 0;
	if (!w->calm && chance(w, 100000))
		return w->now_ns + draw(w, 2 * NSEC_PER_SEC);
	return w->now_ns + NSEC_PER_MSEC + draw(w, 30 * NSEC_PER_MSEC);
}

/* ---- the store ---- */

static struct lease *lease_find(struct world *w, uint64_t id)
{
	for (size_t i = 0; id && i < w->n_leases; i++)
		if (w->leases[i].id == id)
			return &w->leases[i];
	return NULL;
}

static void store_expire(struct world *w)
{
	size_t kept = 0;

	if (w->store_down_ns) {
		if (w->now_ns < w->store_down_ns)
			return;
		w->store_down_ns = 0; /* the new leader begins all leases again */
		for (size_t i = 0; i < w->n_leases; i++)
			w->leases[i].end_ns = w->now_ns + times.ttl_ns;
	}
	for (size_t i = 0; i < w->n_leases; i++) {
		if (w->leases[i].end_ns > w->now_ns) {
			w->leases[kept++] = w->leases[i];
		} else if (w->leases[i].id == w->is.lease && w->is.alive_revision) {
			w->is.alive_revision = w->is.lease = 0;
			w->revision++;
		}
	}
	w->n_leases = kept;
}

static void store_grant(struct world *w, struct failover_answer *a)
{
	assert_true(w->n_leases < LEASES_MAX);
	w->leases[w->n_leases].id = ++w->next_lease;
	w->leases[w->n_leases++].end_ns = w->now_ns + times.ttl_ns;
	a->lease = w->next_lease;
	a->ttl_ns = times.ttl_ns;
}

static void store_change(struct world *w, const struct failover_request *q,
			 struct failover_answer *a)
{
	if (q->op != FAILOVER_RELEASE && !lease_find(w, q->lease)) {
		a->lease_gone = true;
		return;
	}
	a->succeeded = q->record_revision == w->is.record_revision &&
		       q->alive_revision == w->is.alive_revision;
	if (!a->succeeded)
		return;
	a->revision = ++w->revision;
	w->is.alive_revision = q->op == FAILOVER_RELEASE ? 0 : w->revision;
	w->is.lease = q->op == FAILOVER_RELEASE ? 0 : q->lease;
	if (q->op == FAILOVER_RENEW)
		return;
	w->is.record = q->record;
	w->is.record_revision = w->revision;
}

static void store_handle(struct world *w, const struct message *m)
{
	struct failover_answer a = {.number = m->q.number};
	uint64_t due;
	struct message *to;

	if (w->store_down_ns)
		return;
	if (m->q.op == FAILOVER_GRANT)
		store_grant(w, &a);
	else if (m->q.op != FAILOVER_READ)
		store_change(w, &m->q, &a);
	a.is = w->is;
	a.is.revision = w->revision;
	due = arrives(w, m->host);
	if (!due)
		return;
	to = post(w, ANSWER, m->host, due);
	to->life = m->life;
	to->a = a;
}

/* ---- a host ---- */

/* Sends the worker its orders, through a pipe that keeps their sequence. */
static void tell_worker(struct world *w, unsigned i)
{
	struct host *h = &w->hosts[i];
	const uint64_t until = failover_until(&h->f), epoch = failover_epoch(&h->f);
	struct message *m;

	if (failover_is_undecided(&h->f) || (h->told_until_ns == until && h->told_epoch == epoch))
		return;
	h->told_until_ns = until;
	h->told_epoch = epoch;
	m = post(w, ORDER, i, w->now_ns + draw(w, 100 * NSEC_PER_MSEC));
	m->life = h->power_life;
	m->sequence = h->n_ordered++;
	m->epoch = epoch;
	m->until_ns = until;
}

static void agent_begin(struct world *w, unsigned i)
{
	struct host *h = &w->hosts[i];

	h->agent = true;
	h->agent_life++;
	h->told_epoch = h->told_until_ns = UINT64_MAX; /* the worker's orders are not known */
	failover_init(&h->f, &times, h->name, h->name, 1 + draw(w, 1ULL << 40),
		      h->until_ns ? h->epoch : 0, clock_of(w, h));
	failover_set_eligible(&h->f, true);
}

static void agent_turn(struct world *w, unsigned i)
{
	struct host *h = &w->hosts[i];
	struct failover_request q;
	uint64_t due;
	struct message *m;

	if (!h->agent || w->now_ns < h->agent_paused_ns)
		return;
	/* The worker confirms the last order, not the one before. */
	if (h->f.stopping && h->n_delivered == h->n_ordered && h->until_ns == 0 && h->n_writes == 0)
		failover_stopped(&h->f);
	while ((q = failover_next(&h->f, clock_of(w, h), &due)).op != FAILOVER_NOTHING) {
		const uint64_t at = arrives(w, i);

		if (!at)
			continue;
		m = post(w, REQUEST, i, at);
		m->life = h->agent_life;
		m->q = q;
	}
	tell_worker(w, i);
}

static void worker_turn(struct world *w, unsigned i)
{
	struct host *h = &w->hosts[i];
	struct message *m;

	if (!h->power || w->now_ns < h->worker_paused_ns || clock_of(w, h) >= h->until_ns)
		return;
	/* A write takes less than the margin to reach the disk. */
	m = post(w, WRITE, i,
		 w->now_ns + draw(w, !w->calm && chance(w, 20000) ? 1400 * NSEC_PER_MSEC
								  : 5 * NSEC_PER_MSEC));
	m->life = h->power_life;
	m->epoch = h->epoch;
	h->n_writes++;
}

static void write_lands(struct world *w, const struct message *m)
{
	w->hosts[m->host].n_writes--;
	w->n_written++;
	w->written_ns = w->now_ns;
	if (m->epoch < w->written_epoch)
		w->n_violations++;
	if (m->epoch > w->written_epoch)
		w->n_epochs++;
	w->written_epoch = MAX_OF(w->written_epoch, m->epoch);
}

static void deliver(struct world *w, struct message *slot)
{
	const struct message m = *slot;
	struct host *h = &w->hosts[m.host];

	if ((m.kind == ANSWER && h->agent && w->now_ns < h->agent_paused_ns) ||
	    (m.kind == ORDER && m.life == h->power_life &&
	     (w->now_ns < h->worker_paused_ns || m.sequence != h->n_delivered)))
		return; /* it stays in the socket */
	slot->kind = NONE;
	if (m.kind == REQUEST)
		store_handle(w, &m);
	else if (m.kind == ANSWER && h->agent && m.life == h->agent_life)
		failover_answer(&h->f, clock_of(w, h), &m.a);
	else if (m.kind == ORDER && m.life == h->power_life) {
		h->epoch = m.until_ns ? m.epoch : h->epoch;
		h->until_ns = m.until_ns;
		h->n_delivered++;
	} else if (m.kind == WRITE && m.life == h->power_life)
		write_lands(w, &m);
}

static void power_off(struct world *w, unsigned i, uint64_t for_ns)
{
	struct host *h = &w->hosts[i];

	h->power = h->agent = false;
	h->power_life++;
	h->agent_life++;
	h->epoch = h->until_ns = h->n_writes = 0;
	h->n_ordered = h->n_delivered = 0;
	h->power_on_ns = w->now_ns + for_ns;
}

/* Most faults are short, some last longer than a lease. */
static uint64_t fault_ns(struct world *w)
{
	return w->now_ns + draw(w, (chance(w, 400000) ? 12 : 2) * NSEC_PER_SEC);
}

static void make_faults(struct world *w, unsigned i)
{
	struct host *h = &w->hosts[i];

	if (chance(w, 200))
		power_off(w, i, draw(w, 10 * NSEC_PER_SEC));
	if (chance(w, 400) && h->agent) {
		h->agent = false;
		h->agent_life++;
		h->agent_start_ns = fault_ns(w);
	}
	if (chance(w, 400))
		h->agent_paused_ns = fault_ns(w);
	if (chance(w, 300))
		h->worker_paused_ns = fault_ns(w);
	if (chance(w, 100)) /* the host is suspended, but its clock runs */
		h->agent_paused_ns = h->worker_paused_ns = fault_ns(w);
	if (chance(w, 400))
		h->cut_until_ns = fault_ns(w);
	if (chance(w, 2000) && h->agent)
		failover_stop(&h->f, chance(w, 300000) ? w->hosts[draw(w, HOSTS)].name : "");
	if (chance(w, 500) && h->agent)
		failover_set_eligible(&h->f, !h->f.eligible || chance(w, 300000));
	if (chance(w, 100) && !w->store_down_ns)
		w->store_down_ns = fault_ns(w) + 1;
}

static void tick(struct world *w)
{
	w->now_ns += TICK_NS;
	store_expire(w);
	for (size_t i = 0; i < w->n_messages; i++)
		if (w->messages[i].kind && w->messages[i].due_ns <= w->now_ns)
			deliver(w, &w->messages[i]);
	for (unsigned i = 0; i < HOSTS; i++) {
		struct host *h = &w->hosts[i];

		if (!w->calm)
			make_faults(w, i);
		if (!h->power && w->now_ns >= h->power_on_ns) {
			h->power = true;
			agent_begin(w, i);
		}
		if (h->power && !h->agent && w->now_ns >= h->agent_start_ns)
			agent_begin(w, i);
		agent_turn(w, i);
		worker_turn(w, i);
	}
}

static void run(struct world *w, uint64_t ns)
{
	for (const uint64_t end = w->now_ns + ns; w->now_ns < end;)
		tick(w);
}

static struct world *world_new(uint64_t seed, bool impatient)
{
	struct world *w = calloc(1, sizeof(*w));

	times = failover_times;
	if (impatient)
		times.poll_ns = 2 * TICK_NS;

	assert_non_null(w);
	w->random = 0x9e3779b97f4a7c15 * (seed + 1);
	w->revision = 1;
	w->now_ns = NSEC_PER_SEC;
	for (unsigned i = 0; i < HOSTS; i++) {
		struct host *h = &w->hosts[i];

		snprintf(h->name, sizeof(h->name), "host-%c", 'a' + i);
		h->power = true;
		h->clock_offset_ns = draw(w, 1000 * NSEC_PER_SEC);
		h->clock_rate = 0.995 + (double)draw(w, 1000) / 100000;
		agent_begin(w, i);
	}
	return w;
}

/* All faults end. Hosts that cannot serve can do so again. */
static void calm(struct world *w)
{
	w->calm = true;
	for (unsigned i = 0; i < HOSTS; i++) {
		struct host *h = &w->hosts[i];

		h->agent_paused_ns = h->worker_paused_ns = h->cut_until_ns = 0;
		h->agent_start_ns = h->power_on_ns = 0;
		failover_set_eligible(&h->f, true);
	}
	w->store_down_ns = MIN_OF(w->store_down_ns, w->now_ns + 1);
}

/* Returns the host whose worker serves, or -1; fails if there are two. */
static int holder(const struct world *w)
{
	int ret = -1;

	for (int i = 0; i < HOSTS; i++) {
		const struct host *h = &w->hosts[i];

		if (!h->power || clock_of(w, h) >= h->until_ns)
			continue;
		assert_int_equal(ret, -1);
		ret = i;
	}
	return ret;
}

/* ---- tests ---- */

static void no_write_follows_one_of_a_later_epoch_in_1000_random_histories(void **state)
{
	uint64_t n_written = 0, n_epochs = 0;

	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		struct world *w = world_new(seed, true);

		run(w, FAULTS_S * NSEC_PER_SEC);
		calm(w);
		run(w, CALM_S * NSEC_PER_SEC);
		if (w->n_violations)
			fail_msg("seed %llu: %llu writes came after those of a later epoch",
				 (unsigned long long)seed, (unsigned long long)w->n_violations);
		if (holder(w) < 0)
			fail_msg("seed %llu: no host serves after the faults",
				 (unsigned long long)seed);
		n_written += w->n_written;
		n_epochs += w->n_epochs;
		free(w);
	}
	print_message("# %llu writes in %llu epochs\n", (unsigned long long)n_written,
		      (unsigned long long)n_epochs);
	assert_true(n_epochs > 2 * ROUNDS);
}

static void another_host_serves_within_9_s_of_a_power_cut(void **state)
{
	uint64_t longest = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct world *w = world_new(seed, false);
		uint64_t from;
		int was;

		calm(w);
		run(w, 20 * NSEC_PER_SEC + draw(w, 3 * NSEC_PER_SEC));
		was = holder(w);
		assert_true(was >= 0);
		power_off(w, (unsigned)was, 1000 * NSEC_PER_SEC);
		from = w->now_ns;
		while (holder(w) < 0 && w->now_ns < from + 20 * NSEC_PER_SEC)
			tick(w);
		longest = MAX_OF(longest, w->now_ns - from);
		assert_int_equal(w->n_violations, 0);
		free(w);
	}
	print_message("# at most %llu ms\n", (unsigned long long)(longest / NSEC_PER_MSEC));
	assert_true(longest < 9 * NSEC_PER_SEC);
}

static void a_killed_agent_is_replaced_without_another_epoch(void **state)
{
	struct world *w = world_new(5, false);
	uint64_t epoch;
	int was;

	(void)state;
	calm(w);
	run(w, 20 * NSEC_PER_SEC);
	was = holder(w);
	assert_true(was >= 0);
	epoch = w->hosts[was].epoch;
	w->hosts[was].agent = false;
	w->hosts[was].agent_life++;
	w->hosts[was].agent_start_ns = w->now_ns + 2 * NSEC_PER_SEC;
	for (unsigned i = 0; i < 3000; i++) {
		tick(w);
		assert_int_equal(holder(w), was);
	}
	assert_int_equal(w->hosts[was].epoch, epoch);
	free(w);
}

static void a_released_export_is_taken_at_once_by_the_host_that_it_is_for(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct world *w = world_new(seed, false);
		int was, to;
		uint64_t from;

		calm(w);
		run(w, 20 * NSEC_PER_SEC);
		was = holder(w);
		assert_true(was >= 0);
		to = (was + 2) % HOSTS;
		failover_stop(&w->hosts[was].f, w->hosts[to].name);
		from = w->now_ns;
		while (holder(w) != to && w->now_ns < from + 10 * NSEC_PER_SEC)
			tick(w);
		assert_true(w->now_ns < from + 2 * NSEC_PER_SEC);
		run(w, NSEC_PER_SEC);
		failover_stop(&w->hosts[to].f, w->hosts[was].name); /* and back */
		from = w->now_ns;
		while (holder(w) != was && w->now_ns < from + 10 * NSEC_PER_SEC)
			tick(w);
		assert_true(w->now_ns < from + 2 * NSEC_PER_SEC);
		run(w, 20 * NSEC_PER_SEC);
		assert_int_equal(holder(w), was);
		free(w);
	}
}

static void a_holder_stops_before_its_lease_ends_if_the_store_is_away(void **state)
{
	struct world *w = world_new(9, false);
	uint64_t from;
	int was;

	(void)state;
	calm(w);
	run(w, 20 * NSEC_PER_SEC);
	was = holder(w);
	assert_true(was >= 0);
	w->store_down_ns = UINT64_MAX;
	from = w->now_ns;
	run(w, times.ttl_ns - times.margin_ns + NSEC_PER_SEC / 10);
	assert_int_equal(holder(w), -1);
	assert_true(w->written_ns < from + times.ttl_ns);
	run(w, 3600 * NSEC_PER_SEC);
	assert_int_equal(holder(w), -1);
	w->store_down_ns = w->now_ns + 1;
	run(w, 5 * NSEC_PER_SEC);
	assert_int_equal(holder(w), was); /* the lease of the holder begins again */
	free(w);
}

static void a_store_that_was_restored_is_believed_after_a_lease(void **state)
{
	struct world *w = world_new(11, false);
	struct failover_view old;
	uint64_t from;
	int was;

	(void)state;
	calm(w);
	run(w, 20 * NSEC_PER_SEC);
	old = w->is;
	was = holder(w);
	assert_true(was >= 0);
	power_off(w, (unsigned)was, 1000 * NSEC_PER_SEC);
	run(w, 20 * NSEC_PER_SEC);
	was = holder(w);
	assert_true(was >= 0);
	/* The holder has epoch 2; the store knows epoch 1 and no holder that lives. */
	w->is = old;
	w->is.alive_revision = w->is.lease = 0;
	w->revision = old.record_revision + 1;
	w->n_leases = 0;
	w->hosts[was].cut_until_ns = UINT64_MAX; /* it does not learn of the restored store */
	from = w->now_ns;
	while (w->n_epochs < 3 && w->now_ns < from + 60 * NSEC_PER_SEC)
		tick(w);
	run(w, 5 * NSEC_PER_SEC);
	assert_int_equal(w->n_epochs, 3);
	assert_int_equal(w->n_violations, 0);
	free(w);
}

static void a_lease_that_is_shorter_than_requested_is_not_used(void **state)
{
	struct failover f;
	struct failover_answer a = {.is = {.revision = 1}};
	const uint64_t now = 100 * NSEC_PER_SEC;
	uint64_t due;

	(void)state;
	failover_init(&f, &failover_times, "host-a", "id", 1, 0, 0);
	failover_set_eligible(&f, true);
	a.number = failover_next(&f, now, &due).number;
	failover_answer(&f, now, &a);
	a.number = failover_next(&f, now, &due).number;
	a.lease = 7;
	a.ttl_ns = failover_times.ttl_ns - 1;
	failover_answer(&f, now, &a);
	assert_int_equal(failover_next(&f, now + 350 * NSEC_PER_MSEC, &due).op, FAILOVER_GRANT);
	a.number++;
	a.ttl_ns++;
	failover_answer(&f, now + 350 * NSEC_PER_MSEC, &a);
	assert_int_equal(failover_next(&f, now + 350 * NSEC_PER_MSEC, &due).op, FAILOVER_TAKE);
}

static void a_record_is_read_as_it_was_written(void **state)
{
	const struct failover_record r = {.epoch = 7,
					  .host = "host-a",
					  .id = "0123456789abcdef0123456789abcdef",
					  .token = 0xfedcba9876543210,
					  .to = "host-b"};
	struct failover_record back;
	char *text = failover_record_format(&r), *alive = failover_alive_format(UINT64_MAX - 1);
	uint64_t lease;

	(void)state;
	assert_int_equal(failover_record_parse(text, strlen(text), &back), 0);
	assert_true(back.epoch == r.epoch && back.token == r.token);
	assert_string_equal(back.host, r.host);
	assert_string_equal(back.id, r.id);
	assert_string_equal(back.to, r.to);
	assert_int_equal(failover_alive_parse(alive, strlen(alive), &lease), 0);
	assert_true(lease == UINT64_MAX - 1);
	assert_int_equal(failover_record_parse("", 0, &back), 0);
	assert_int_equal(back.epoch, 0);
	free(text);
	free(alive);
}

static void a_record_with_a_wrong_value_is_refused(void **state)
{
	static const char *const wrong[] = {
		"{}",
		"{\"v\":2,\"epoch\":7,\"host\":\"a\",\"id\":\"1\",\"token\":\"0000000000000001\","
		"\"to\":\"\"}",
		"{\"v\":1,\"epoch\":0,\"host\":\"a\",\"id\":\"1\",\"token\":\"0000000000000001\","
		"\"to\":\"\"}",
		"{\"v\":1,\"epoch\":-1,\"host\":\"a\",\"id\":\"1\",\"token\":\"0000000000000001\","
		"\"to\":\"\"}",
		"{\"v\":1,\"epoch\":7,\"host\":\"a/"
		"b\",\"id\":\"1\",\"token\":\"0000000000000001\",\"to\":\"\"}",
		"{\"v\":1,\"epoch\":7,\"host\":\"a\",\"id\":\"1\",\"token\":\"1\",\"to\":\"\"}",
		"{\"v\":1,\"epoch\":7,\"host\":\"a\",\"id\":\"1\",\"token\":\"0000000000000001\"}",
	};
	struct failover_record r;
	uint64_t lease;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(failover_record_parse(wrong[i], strlen(wrong[i]), &r), -EBADMSG);
		assert_int_equal(r.epoch, 0);
	}
	assert_int_equal(failover_alive_parse("{\"v\":1,\"lease\":\"-1\"}", 20, &lease), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_write_follows_one_of_a_later_epoch_in_1000_random_histories),
		cmocka_unit_test(another_host_serves_within_9_s_of_a_power_cut),
		cmocka_unit_test(a_killed_agent_is_replaced_without_another_epoch),
		cmocka_unit_test(a_released_export_is_taken_at_once_by_the_host_that_it_is_for),
		cmocka_unit_test(a_holder_stops_before_its_lease_ends_if_the_store_is_away),
		cmocka_unit_test(a_store_that_was_restored_is_believed_after_a_lease),
		cmocka_unit_test(a_lease_that_is_shorter_than_requested_is_not_used),
		cmocka_unit_test(a_record_is_read_as_it_was_written),
		cmocka_unit_test(a_record_with_a_wrong_value_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
