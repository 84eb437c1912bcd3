/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides when one host takes, renews and releases an export that several hosts can serve. */
#include "agent/cluster/failover/failover.h"
#include <stdio.h>
#include <string.h>

/* The pauses between two reads of a host that waits double, up to 8 times the first pause. */
#define FAILURES_MAX 3U

const struct failover_times failover_times = {
	.ttl_ns = 6 * NSEC_PER_SEC,
	.margin_ns = 1500 * NSEC_PER_MSEC,
	.poll_ns = 500 * NSEC_PER_MSEC,
	.retry_ns = 300 * NSEC_PER_MSEC,
	.answer_ns = NSEC_PER_SEC,
	.yield_ns = 15 * NSEC_PER_SEC,
};

static const char *const states[] = {"unknown", "standby",  "taking",
				     "active",	"stopping", "expired"};

const char *failover_state_to_string(enum failover_state s)
{
	return s < ARRAY_SIZE(states) ? states[s] : "?";
}

/* ---- the lease of this host ---- */

/* Returns until when this host may serve while `alive` belongs to its latest lease. */
static uint64_t lease_until(const struct failover *f)
{
	return f->lease_sent_ns + f->times.ttl_ns - f->times.margin_ns;
}

/* Returns whether the latest lease is young enough to attach `alive` to it. */
static bool lease_is_fresh(const struct failover *f, uint64_t now)
{
	return f->lease && now < f->lease_sent_ns + f->times.ttl_ns / 2;
}

/* Notes that the key `alive` now belongs to the latest lease of this host. */
static void hold(struct failover *f)
{
	f->held = true;
	f->until_ns = MAX_OF(f->until_ns, lease_until(f));
	f->renew_due_ns = f->lease_sent_ns + f->times.ttl_ns / 3;
	f->read_due_ns = UINT64_MAX;
}

/* Handles keys that show that another host holds the export, or may hold it. */
static void lose(struct failover *f, uint64_t now)
{
	if (f->held && f->stopping)
		f->yield_until_ns = now + f->times.yield_ns;
	if (f->held)
		f->stopping = f->stopped = false;
	f->held = false;
	f->until_ns = 0;
}

/* ---- both keys ---- */

/* Returns whether an agent process of this host has written the record. */
static bool is_own(const struct failover *f, const struct failover_record *r)
{
	return r->epoch && strcmp(r->host, f->host) == 0 && strcmp(r->id, f->id) == 0;
}

/* Returns whether, according to these keys, this agent process holds the export. */
static bool is_mine(const struct failover *f, const struct failover_view *v)
{
	return is_own(f, &v->record) && v->record.token == f->token && v->alive_revision;
}

/* A store that was restored from a backup has lost its latest changes, so it may have lost the
 * record of a holder that still serves. This host therefore waits for the longest possible duration
 * of a lease. */
static bool went_back(struct failover *f, const struct failover_view *v, uint64_t now)
{
	const bool back = v->revision < f->seen_revision ||
			  (f->has_read && v->record.epoch < f->is.record.epoch);

	if (back)
		f->take_from_ns =
			MAX_OF(f->take_from_ns, now + f->times.ttl_ns + f->times.margin_ns);
	f->seen_revision = v->revision;
	f->seen_epoch = MAX_OF(f->seen_epoch, v->record.epoch);
	return back;
}

static void take_view(struct failover *f, const struct failover_view *v, uint64_t now)
{
	const bool is_new = !f->has_read || v->record_revision != f->is.record_revision;
	const bool back = went_back(f, v, now);

	if (is_new && v->record.to[0] && strcmp(v->record.to, f->host) != 0)
		f->yield_until_ns = now + f->times.yield_ns;
	if (back || !is_mine(f, v) || (f->held && is_new))
		lose(f, now);
	f->is = *v;
	f->has_read = true;
	f->read_due_ns = now + f->times.poll_ns;
	if (back || !is_mine(f, v))
		return;
	if (v->lease == f->lease) {
		hold(f);
		return;
	}
	/* The key `alive` belongs to an earlier lease of this process, whose end this process no
	 * longer knows. The time until which this host may serve stays valid, because a later lease
	 * ends later. */
	f->held = true;
	f->renew_due_ns = now;
	f->read_due_ns = UINT64_MAX;
}

/* ---- requests ---- */

static bool adopts(const struct failover *f)
{
	return is_own(f, &f->is.record) && f->running_epoch &&
	       f->is.record.epoch == f->running_epoch;
}

static bool may_take(const struct failover *f, uint64_t now)
{
	if (!f->eligible || f->stopping || f->seen_epoch >= FAILOVER_EPOCH_MAX)
		return false;
	if (adopts(f) && f->is.alive_revision)
		return true;
	/* This host pauses after it has released an export. A release for this host ends the
	 * pause. */
	if (now < f->yield_until_ns && strcmp(f->is.record.to, f->host) != 0)
		return false;
	return now >= f->take_from_ns && (!f->is.alive_revision || is_own(f, &f->is.record));
}

static enum failover_op choose(struct failover *f, uint64_t now, uint64_t *ret_due)
{
	if (!f->has_read || now >= f->read_due_ns)
		return FAILOVER_READ;
	if (f->held && !f->eligible)
		failover_stop(f, "");
	if (f->held && f->stopped)
		return FAILOVER_RELEASE;
	if (f->held && now < f->renew_due_ns) {
		*ret_due = f->renew_due_ns;
		return FAILOVER_NOTHING;
	}
	if (f->held)
		return f->lease != f->is.lease && lease_is_fresh(f, now) ? FAILOVER_RENEW
									 : FAILOVER_GRANT;
	if (may_take(f, now))
		return lease_is_fresh(f, now) ? FAILOVER_TAKE : FAILOVER_GRANT;
	*ret_due = f->read_due_ns;
	return FAILOVER_NOTHING;
}

static void fill_record(const struct failover *f, enum failover_op op, struct failover_record *r)
{
	*r = (struct failover_record){.epoch = f->is.record.epoch, .token = f->token};
	if (op == FAILOVER_RELEASE) {
		snprintf(r->to, sizeof(r->to), "%s", f->to);
		return;
	}
	if (!adopts(f))
		r->epoch = MAX_OF(f->seen_epoch, f->is.record.epoch) + 1;
	snprintf(r->host, sizeof(r->host), "%s", f->host);
	snprintf(r->id, sizeof(r->id), "%s", f->id);
}

static void pause_requests(struct failover *f, uint64_t now)
{
	const unsigned shift = f->held ? 0 : MIN_OF(f->n_failures, FAILURES_MAX);

	f->n_failures++;
	f->retry_at_ns = now + (f->times.retry_ns << shift);
}

/* The store may or may not have executed the requested change, so this host reads the keys. */
static void miss_answer(struct failover *f, uint64_t now)
{
	if (f->sent.op != FAILOVER_GRANT)
		f->read_due_ns = now;
	f->sent = (struct failover_request){.op = FAILOVER_NOTHING};
	pause_requests(f, now);
}

struct failover_request failover_next(struct failover *f, uint64_t now, uint64_t *ret_due)
{
	const struct failover_request none = {.op = FAILOVER_NOTHING};
	struct failover_request q = none;

	if (f->sent.number && now >= f->sent_ns + f->times.answer_ns)
		miss_answer(f, now);
	*ret_due = f->sent.number ? f->sent_ns + f->times.answer_ns : f->retry_at_ns;
	if (f->sent.number || now < f->retry_at_ns)
		return none;
	q.op = choose(f, now, ret_due);
	if (q.op == FAILOVER_NOTHING)
		return none;
	q.number = ++f->last_number;
	q.lease = f->lease;
	q.record_revision = f->is.record_revision;
	q.alive_revision = f->is.alive_revision;
	fill_record(f, q.op, &q.record);
	f->sent = q;
	f->sent_ns = now;
	*ret_due = now + f->times.answer_ns;
	return q;
}

/* ---- answers ---- */

static void take_lease(struct failover *f, const struct failover_answer *a, uint64_t sent_ns)
{
	f->lease = a->lease;
	f->lease_sent_ns = sent_ns;
}

/* A change was carried out, and the keys are as this host has written them. */
static void take_change(struct failover *f, const struct failover_request *q, uint64_t revision,
			uint64_t now)
{
	f->is.revision = f->seen_revision = revision;
	f->is.alive_revision = q->op == FAILOVER_RELEASE ? 0 : revision;
	f->is.lease = q->op == FAILOVER_RELEASE ? 0 : q->lease;
	if (q->op != FAILOVER_RENEW) {
		f->is.record = q->record;
		f->is.record_revision = revision;
		f->seen_epoch = MAX_OF(f->seen_epoch, q->record.epoch);
	}
	if (q->op != FAILOVER_RELEASE) {
		hold(f);
		return;
	}
	if (q->record.to[0])
		f->yield_until_ns = now + f->times.yield_ns;
	f->held = f->stopping = f->stopped = false;
	f->until_ns = 0;
	f->read_due_ns = now + f->times.poll_ns;
}

void failover_answer(struct failover *f, uint64_t now, const struct failover_answer *a)
{
	const struct failover_request q = f->sent;
	const uint64_t sent_ns = f->sent_ns;

	if (!q.number || a->number != q.number) /* the answer arrived too late */
		return;
	/* A lease shorter than requested could end before the time until which this host believes
	 * that it may serve. */
	if (a->failed || (q.op == FAILOVER_GRANT && a->ttl_ns < f->times.ttl_ns)) {
		miss_answer(f, now);
		return;
	}
	f->sent = (struct failover_request){.op = FAILOVER_NOTHING};
	f->n_failures = 0;
	if (q.op == FAILOVER_GRANT) {
		take_lease(f, a, sent_ns);
	} else if (a->lease_gone) {
		f->lease = 0;
		f->read_due_ns = now;
	} else if (q.op != FAILOVER_READ && a->succeeded) {
		take_change(f, &q, a->revision, now);
	} else {
		take_view(f, &a->is, now);
		if (q.op != FAILOVER_READ) /* another host has changed the keys first */
			f->retry_at_ns = now + f->times.retry_ns / 3;
	}
}

/* ---- the monitor ---- */

void failover_set_eligible(struct failover *f, bool eligible)
{
	f->eligible = eligible;
}

void failover_stop(struct failover *f, const char *to)
{
	if (!f->held || f->stopping)
		return;
	f->stopping = true;
	f->stopped = false;
	snprintf(f->to, sizeof(f->to), "%s", to);
}

void failover_stopped(struct failover *f)
{
	f->stopped = f->stopping;
}

bool failover_is_undecided(const struct failover *f)
{
	return !f->has_read || (!f->held && f->eligible && f->is.alive_revision && adopts(f));
}

uint64_t failover_until(const struct failover *f)
{
	return f->held && f->eligible && !f->stopping ? f->until_ns : 0;
}

uint64_t failover_epoch(const struct failover *f)
{
	return f->is.record.epoch;
}

enum failover_state failover_state(const struct failover *f, uint64_t now)
{
	if (!f->has_read)
		return FAILOVER_UNKNOWN;
	if (!f->held)
		return f->sent.op == FAILOVER_GRANT || f->sent.op == FAILOVER_TAKE
			       ? FAILOVER_TAKING
			       : FAILOVER_STANDBY;
	if (f->stopping || !f->eligible)
		return FAILOVER_STOPPING;
	return now < f->until_ns ? FAILOVER_ACTIVE : FAILOVER_EXPIRED;
}

const char *failover_holder(const struct failover *f)
{
	return f->is.alive_revision ? f->is.record.host : "";
}

void failover_init(struct failover *f, const struct failover_times *times, const char *host,
		   const char *id, uint64_t token, uint64_t running_epoch, uint64_t now)
{
	*f = (struct failover){
		.times = *times,
		.token = token,
		.running_epoch = running_epoch,
		/* A process that has just started does not know whether the store was restored from
		 * a backup. */
		.take_from_ns = now + times->ttl_ns + times->margin_ns,
	};
	snprintf(f->host, sizeof(f->host), "%s", host);
	snprintf(f->id, sizeof(f->id), "%s", id);
}
