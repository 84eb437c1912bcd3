/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes turns for this host in rollouts, and reports their results. */
#include "agent/cluster/rollout/rollout_follow.h"
#include "agent/cluster/rollout/rollout_age.h"
#include "netcfg/base/log.h"
#include "netcfg/base/when.h"
#include <stdio.h>
#include <string.h>

#define PASSED_NS (15 * NSEC_PER_SEC) /* time for the agent to report that it has begun a turn */

struct rollout_follow {
	struct rollout_follow_setup setup;
	char cluster[PLENUM_NAME_MAX], host[PLENUM_NAME_MAX];
	struct loop_source *timer;
	bool busy;    /* a request is in progress; there is one at a time */
	bool changed; /* the agent has sent another report since the current step began */
	struct rollout_self self;
	bool known; /* the agent has sent a report at least once */
	struct rollout record;
	uint64_t revision; /* revision of the record; 0: the record does not exist */
	struct rollout_ages ages;
	enum rollout_view view;
	uint64_t passed, passed_ns; /* the turn that was last passed to the agent, and the time of
				       that */
	uint64_t registered;	 /* revision of this host's registration when it was last checked */
	char *written, *writing; /* the last written value of this host's key, and the value that
				    is being written, both without the time */
};

static void look(struct rollout_follow *f);

static void arm(struct rollout_follow *f, uint64_t in_ns)
{
	loop_timer_arm(f->timer, member_jitter(in_ns));
}

static bool is_quick(const struct rollout_follow *f)
{
	const struct rollout *r = &f->record;

	return r->n_slots ||
	       (r->state == ROLLOUT_RUNNING && f->self.follows && rollout_is_behind(r, &f->self));
}

/* Ends a step and schedules the next one. If the agent has sent a report meanwhile, the next step
 * follows at once. */
static void rest(struct rollout_follow *f)
{
	if (f->changed)
		arm(f, NSEC_PER_MSEC);
	else
		arm(f, is_quick(f) ? ROLLOUT_LOOK_NS : ROLLOUT_IDLE_NS);
	f->changed = false;
}

static void started(struct rollout_follow *f, int r)
{
	f->busy = r == 0;
	if (r < 0) {
		rollout_ages_restart(&f->ages);
		rest(f);
	}
}

/* ---- writes ---- */

static void on_written(void *user, const struct kv_answer *a)
{
	struct rollout_follow *f = user;

	f->busy = false;
	if (a->trouble == CLUSTER_FINE && a->succeeded) {
		free(f->written);
		f->written = ptr_take(f->writing);
		/* read the record again: the next decision must depend on the record in the store
		 */
		arm(f, NSEC_PER_SEC / 5);
		return;
	}
	free(ptr_take(f->writing));
	if (a->trouble == CLUSTER_FINE) /* another host has changed the record first, or an earlier
					   answer was lost */
		arm(f, NSEC_PER_SEC / 2);
	else
		rest(f);
}

/* Returns the value for this host's key on the heap. with_time: includes the current time, as the
 * written value does. */
static char *host_value(const struct rollout_follow *f, bool with_time)
{
	const struct rollout_self *s = &f->self;
	const bool failed = s->failed_number && s->result == ROLLOUT_FAILED;
	char now[WHEN_TEXT_MAX] = "", *text;
	json_t *o;

	if (with_time)
		when_format(rollout_now_ms(), now);
	o = json_pack("{s:i, s:s, s:I, s:s, s:I, s:I, s:b, s:b, s:b, s:s, s:I, s:s, s:s}", "v",
		      RECORDS_VERSION, "host", f->host, "generation", (json_int_t)s->has.generation,
		      "hash", s->has.hash, "number", (json_int_t)s->number, "lineage",
		      (json_int_t)s->lineage, "drifted", s->drifted, "follows", s->follows, "ready",
		      s->ready, "busy", s->busy, "failed_number", (json_int_t)s->failed_number,
		      "failed", failed ? s->why : "", "time", now);
	text = o ? json_dumps(o, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	json_decref(o);
	return text;
}

/* Writes this host's key and, if r is not NULL, also the record. */
static int write_all(struct rollout_follow *f, const struct rollout *r)
{
	autofree char *record = r ? rollout_format(r) : NULL, *value = host_value(f, true);
	char record_at[KV_KEY_MAX], host_at[KV_KEY_MAX], owner_at[KV_KEY_MAX];
	const struct kv_compare also = {.key = owner_at,
					.revision = member_revision(f->setup.member)};
	const struct kv_op ops[] = {
		{.kind = KV_PUT, .key = host_at, .value = value},
		{.kind = KV_PUT, .key = record_at, .value = record},
	};
	const struct kv_txn txn = {.key = record_at,
				   .revision = f->revision,
				   .also = &also,
				   .n_also = 1,
				   .ops = ops,
				   .n_ops = r ? 2 : 1};

	rollout_key(ROLLOUT_KEY_RECORD, f->cluster, "", record_at);
	rollout_key(ROLLOUT_KEY_HOST, f->cluster, f->host, host_at);
	record_key(RECORD_OWNER, f->cluster, f->host, owner_at);
	free(f->writing);
	f->writing = host_value(f, false);
	if (!value || !f->writing || (r && !record))
		return -ENOMEM;
	return f->setup.ops->txn(f->setup.kv, &txn, on_written, f);
}

/* ---- turns that expire ---- */

static int expire(struct rollout_follow *f, const struct rollout_slot *slot)
{
	struct rollout next = f->record;
	char why[CLUSTER_TEXT_MAX];

	snprintf(why, sizeof(why),
		 "the host did not report a result within %u s: its agent may have exited or may "
		 "not reach etcd; the host counts as in flight until it reports, or until 'plenum "
		 "rollout resume'",
		 f->record.timeout_s);
	return rollout_expire(&next, slot->host, slot->turn, why) ? write_all(f, &next) : -EINVAL;
}

/* ---- steps ---- */

static void on_document(void *user, const struct kv_answer *a)
{
	const struct kv_pair *p = a->n_pairs ? &a->pairs[0] : NULL;
	struct rollout_follow *f = user;
	const struct rollout *r = &f->record;
	struct rollout_document d = {.text = NULL};
	uint64_t turn = 0;
	int k;

	f->busy = false;
	for (size_t i = 0; i < r->n_slots; i++)
		if (strcmp(r->slots[i].host, f->host) == 0)
			turn = r->slots[i].turn;
	if (a->trouble == CLUSTER_FINE && turn) {
		k = rollout_document_parse(p && p->value ? p->value : "", p ? p->len : 0, &d);
		if (k == 0 && strcmp(d.version.hash, rollout_wanted(r)->hash) == 0) {
			f->passed = turn;
			f->passed_ns = clock_now_ns();
			f->setup.on_turn(f->setup.user, r, turn, &d);
		} else /* The document was replaced meanwhile, or is damaged. Do nothing: the turn
			  expires. */
			log_warning("the document of the rollout in etcd is not the expected one");
		rollout_document_done(&d);
	}
	rest(f);
}

static int read_document(struct rollout_follow *f)
{
	char key[KV_KEY_MAX];
	const struct kv_range range = {.first = key};

	rollout_key(f->record.back ? ROLLOUT_KEY_FORMER : ROLLOUT_KEY_TARGET, f->cluster, "", key);
	return f->setup.ops->range(f->setup.kv, &range, on_document, f);
}

static int give(struct rollout_follow *f)
{
	struct rollout next = f->record;

	return rollout_give(&next, f->host, f->self.turn, f->self.result, f->self.why)
		       ? write_all(f, &next)
		       : -EINVAL;
}

/* Gives back a turn that this host has not begun. Waits for PASSED_NS after the turn was passed to
 * the agent, because the agent may have begun the turn, and its report may be on the way. */
static int give_back(struct rollout_follow *f)
{
	struct rollout next = f->record;

	for (size_t i = 0; i < next.n_slots; i++) {
		const struct rollout_slot *s = &next.slots[i];

		if (strcmp(s->host, f->host) != 0)
			continue;
		if (s->turn == f->passed && clock_now_ns() - f->passed_ns < PASSED_NS)
			return 1;
		return rollout_give(&next, f->host, s->turn, ROLLOUT_BUSY, "") ? write_all(f, &next)
									       : -EINVAL;
	}
	return 1;
}

static int take(struct rollout_follow *f)
{
	struct rollout next = f->record;

	return rollout_take(&next, f->host, f->self.id, rollout_draw()) ? write_all(f, &next)
									: -EINVAL;
}

/* Writes this host's key if its value in the store is out of date. */
static int write_self(struct rollout_follow *f)
{
	autofree char *value = host_value(f, false);

	if (!value || (f->written && strcmp(f->written, value) == 0))
		return 1;
	return write_all(f, NULL);
}

/* Does the next step that the record requires. Returns 0 if a request to the store is in progress,
 * 1 if no step is necessary, or negative errno. */
static int step(struct rollout_follow *f)
{
	const struct rollout_slot *expired =
		rollout_ages_read(&f->ages, &f->record, clock_now_ns());

	switch (rollout_next(&f->record, &f->self)) {
	case ROLLOUT_GIVE:
		return give(f);
	case ROLLOUT_TAKE:
		return take(f);
	case ROLLOUT_APPLY:
		return expired ? expire(f, expired) : read_document(f);
	case ROLLOUT_RETURN:
		if (!expired)
			return give_back(f);
		break;
	case ROLLOUT_REST:
		break;
	}
	if (expired)
		return expire(f, expired);
	return f->self.follows || f->written ? write_self(f) : 1;
}

/* Reports the view of the record to the agent if it has changed. */
static void note_view(struct rollout_follow *f)
{
	const enum rollout_view view = rollout_look(&f->record, &f->self);

	if (view == f->view)
		return;
	f->view = view;
	f->setup.on_view(f->setup.user, view);
}

static void on_record(void *user, const struct kv_answer *a)
{
	const struct kv_pair *p = a->n_pairs ? &a->pairs[0] : NULL;
	struct rollout_follow *f = user;
	int r;

	f->busy = false;
	if (a->trouble != CLUSTER_FINE) {
		rollout_ages_restart(&f->ages);
		rest(f);
		return;
	}
	f->revision = p ? p->revision : 0;
	if (rollout_parse(p && p->value ? p->value : "", p ? p->len : 0, &f->record) < 0) {
		log_warning("this version cannot parse the record of the rollout in etcd; update "
			    "Plenum on this host");
		rest(f);
		return;
	}
	f->changed = false;
	note_view(f);
	r = step(f);
	f->busy = r == 0;
	if (r != 0)
		rest(f);
}

static void look(struct rollout_follow *f)
{
	char key[KV_KEY_MAX];
	const struct kv_range range = {.first = key};

	/* A host that no longer follows the document only writes this fact to its key, once. */
	if (f->busy || !f->known || (!f->self.follows && !f->written))
		return;
	if (!member_revision(f->setup.member)) {
		rollout_ages_restart(&f->ages);
		arm(f, ROLLOUT_LOOK_NS);
		return;
	}
	if (member_revision(f->setup.member) != f->registered) {
		/* This host has registered again. The store may have been restored without this
		 * host's key, so write the key again. */
		free(ptr_take(f->written));
		f->registered = member_revision(f->setup.member);
	}
	rollout_key(ROLLOUT_KEY_RECORD, f->cluster, "", key);
	started(f, f->setup.ops->range(f->setup.kv, &range, on_record, f));
}

static int on_timer(void *user)
{
	look(user);
	return 0;
}

void rollout_follow_set(struct rollout_follow *f, const struct rollout_self *self)
{
	f->self = *self;
	f->known = true;
	f->changed = true;
	if (!f->busy)
		arm(f, NSEC_PER_MSEC);
}

/* ---- lifetime ---- */

int rollout_follow_new(const struct rollout_follow_setup *setup, struct rollout_follow **ret)
{
	struct rollout_follow *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->setup = *setup;
	snprintf(f->cluster, sizeof(f->cluster), "%s", setup->cluster);
	snprintf(f->host, sizeof(f->host), "%s", setup->host);
	r = loop_add_timer(setup->loop, NSEC_PER_MSEC, on_timer, f, &f->timer);
	if (r < 0) {
		rollout_follow_free(f);
		return r;
	}
	*ret = f;
	return 0;
}

struct rollout_follow *rollout_follow_free(struct rollout_follow *f)
{
	if (!f)
		return NULL;
	loop_source_free(f->timer);
	free(f->written);
	free(f->writing);
	free(f);
	return NULL;
}
