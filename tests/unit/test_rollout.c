/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rollouts: the record, its transitions, and hosts that carry out a rollout together, each of them
 * killed between any two of its steps.
 */
#include "agent/cluster/rollout/rollout_age.h"
#include "agent/cluster/rollout/rollout_note.h"
#include "netcfg/base/file.h"
#include "netcfg/base/os/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static void put_file(const char *path, const char *text)
{
	assert_int_equal(file_write(path, text, strlen(text), 0644), 0);
}

static struct rollout parse_back(const struct rollout *r)
{
	struct rollout ret;
	char *text = rollout_format(r);

	assert_non_null(text);
	assert_int_equal(rollout_parse(text, strlen(text), &ret), 0);
	free(text);
	return ret;
}

static struct rollout_version version(uint64_t generation, const char *text)
{
	struct rollout_version v = {.generation = generation};

	rollout_hash(text, strlen(text), v.hash);
	return v;
}

static struct rollout begin(uint32_t max, bool rolls_back)
{
	const struct rollout_request rq = {.max_unavailable = max,
					   .timeout_s = 600,
					   .rolls_back = rolls_back,
					   .random = 1,
					   .by = "uid 0",
					   .now = "2026-11-30T12:00:00Z"};
	const struct rollout_version v = version(1, "one");
	struct rollout r;

	assert_int_equal(rollout_parse("", 0, &r), 0);
	assert_true(rollout_start(&r, &v, &rq));
	return r;
}

static void a_record_is_read_as_it_was_written(void **state)
{
	struct rollout r = begin(3, true), back;

	(void)state;
	assert_true(rollout_take(&r, "host-a", "0123", 1));
	assert_true(rollout_take(&r, "host-b", "4567", 2));
	assert_true(rollout_give(&r, "host-a", 1, ROLLOUT_FAILED, "leg-a is absent"));
	back = parse_back(&r);
	assert_int_equal(back.n_slots, 1);
	assert_string_equal(back.slots[0].host, "host-b");
	assert_int_equal(back.slots[0].turn, 2);
	assert_true(back.back && back.rolls_back);
	assert_string_equal(back.failed, "host-a");
	assert_string_equal(back.why, "leg-a is absent");
	assert_string_equal(rollout_wanted(&back)->hash, r.former.hash);
}

static void a_record_with_a_wrong_value_is_refused(void **state)
{
	struct rollout r = begin(3, true), ret;
	char *good = rollout_format(&r);
	static const char *const wrong[][2] = {
		{"\"max_unavailable\":3", "\"max_unavailable\":65"},
		{"\"max_unavailable\":3", "\"max_unavailable\":0"},
		{"\"timeout_s\":600", "\"timeout_s\":179"},
		{"\"lineage\":1", "\"lineage\":0"},
		{"\"state\":\"running\"", "\"state\":\"none\""},
		{"\"state\":\"running\"", "\"state\":\"flying\""},
		{"\"number\":1", "\"number\":0"},
		{"\"attempt\":1", "\"attempt\":-1"},
		{"\"v\":1", "\"v\":2"},
		{"\"slots\":[]", "\"slots\":[{\"host\":\"a/b\",\"id\":\"1\",\"turn\":1}]"},
		{"\"slots\":[]", "\"slots\":[{\"host\":\"a\",\"id\":\"1\",\"turn\":1}]"},
		{"\"slots\":[]", "\"slots\":[{\"host\":\"a\",\"id\":\"1\",\"turn\":0}]"},
		{"\"back\":false", "\"back\":0"},
	};

	(void)state;
	assert_int_equal(rollout_parse(good, strlen(good), &ret), 0);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		const char *at = strstr(good, wrong[i][0]);
		char *bad = NULL;

		assert_non_null(at);
		assert_true(asprintf(&bad, "%.*s%s%s", (int)(at - good), good, wrong[i][1],
				     at + strlen(wrong[i][0])) > 0);
		assert_int_equal(rollout_parse(bad, strlen(bad), &ret), -EBADMSG);
		assert_int_equal(ret.number, 0);
		free(bad);
	}
	free(good);
}

static void a_document_whose_hash_is_wrong_is_refused(void **state)
{
	struct rollout_document d = {.version = version(4, "[]"), .text = "[]"}, ret;
	char *text = rollout_document_format(&d);

	(void)state;
	assert_int_equal(rollout_document_parse(text, strlen(text), &ret), 0);
	assert_string_equal(ret.text, "[]");
	rollout_document_done(&ret);
	free(text);
	d.text = "[ ]";
	text = rollout_document_format(&d);
	assert_int_equal(rollout_document_parse(text, strlen(text), &ret), -EBADMSG);
	free(text);
	assert_int_equal(rollout_document_parse("", 0, &ret), 0);
	assert_string_equal(ret.text, "[]\n");
	rollout_document_done(&ret);
}

/* For each state, which of the changes are allowed, and the state after them. */
static void every_change_has_its_states(void **state)
{
	static const enum rollout_state after[ROLLOUT_STATE_MAX][3] = {
		/* pause, resume, abort; ROLLOUT_NONE: refused */
		[ROLLOUT_RUNNING] = {ROLLOUT_PAUSED, ROLLOUT_NONE, ROLLOUT_ABORTED},
		[ROLLOUT_PAUSED] = {ROLLOUT_NONE, ROLLOUT_RUNNING, ROLLOUT_ABORTED},
		[ROLLOUT_STOPPED] = {ROLLOUT_NONE, ROLLOUT_RUNNING, ROLLOUT_ABORTED},
	};
	bool (*const change[3])(struct rollout * r) = {rollout_pause, rollout_resume,
						       rollout_abort};

	(void)state;
	for (enum rollout_state s = ROLLOUT_NONE; s < ROLLOUT_STATE_MAX; s++)
		for (size_t i = 0; i < 3; i++) {
			struct rollout r = begin(1, false);

			r.state = s;
			assert_int_equal(change[i](&r), after[s][i] != ROLLOUT_NONE);
			assert_int_equal(r.state, after[s][i] ? after[s][i] : s);
			assert_int_equal(rollout_take(&r, "host-a", "1", 1),
					 r.state == ROLLOUT_RUNNING);
		}
}

static void a_new_rollout_waits_for_hosts_in_flight(void **state)
{
	const struct rollout_request rq = {
		.max_unavailable = 1, .timeout_s = 60, .by = "", .now = ""};
	const struct rollout_version two = version(2, "two");
	struct rollout r = begin(1, false);

	(void)state;
	assert_true(rollout_take(&r, "host-a", "1", 1));
	assert_false(rollout_take(&r, "host-b", "2", 1)); /* one at a time */
	assert_false(rollout_take(&r, "host-a", "1", 1));
	assert_false(rollout_start(&r, &two, &rq));
	assert_false(rollout_give(&r, "host-a", 7, ROLLOUT_DONE, "")); /* not its turn */
	assert_true(rollout_give(&r, "host-a", 1, ROLLOUT_DONE, ""));
	assert_false(rollout_give(&r, "host-a", 1, ROLLOUT_DONE, "")); /* not twice */
	assert_true(rollout_start(&r, &two, &rq));
	assert_int_equal(r.former.generation, 1);
	assert_true(rollout_start(&r, &two, &rq)); /* again: the former document stays */
	assert_int_equal(r.former.generation, 1);
	assert_int_equal(r.number, 3);
}

/* A store that has lost its records begins again with rollout 1. */
static void a_result_of_a_lost_record_is_not_given(void **state)
{
	struct rollout r = begin(1, false);
	struct rollout_self s = {.host = "host-a", .id = "1", .follows = true, .ready = true};

	(void)state;
	s.turn = 5; /* ended, in the lost record */
	s.result = ROLLOUT_DONE;
	s.has = version(9, "nine");
	s.failed_number = 1;
	s.failed_attempt = 2;
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_TAKE);
	assert_true(rollout_take(&r, "host-a", "1", rollout_draw()));
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_APPLY);
}

static void only_hosts_with_the_new_document_return(void **state)
{
	struct rollout r = begin(2, true);
	struct rollout_self s = {.host = "host-b", .id = "2", .follows = true, .ready = true};

	(void)state;
	rollout_take(&r, "host-a", "1", 1);
	rollout_give(&r, "host-a", 1, ROLLOUT_FAILED, "no");
	assert_true(r.back);
	s.has = version(7, "an older one");
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_REST);
	s.has = r.target;
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_TAKE);
	s.has = r.former;
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_REST);
}

static void a_failure_in_a_pause_does_not_end_the_pause(void **state)
{
	struct rollout r = begin(2, false);

	(void)state;
	rollout_take(&r, "host-a", "1", 1);
	rollout_pause(&r);
	assert_true(rollout_give(&r, "host-a", 1, ROLLOUT_FAILED, "no"));
	assert_int_equal(r.state, ROLLOUT_PAUSED);
	r = begin(2, true);
	rollout_take(&r, "host-a", "1", 1);
	rollout_abort(&r);
	assert_true(rollout_give(&r, "host-a", 1, ROLLOUT_FAILED, "no"));
	assert_false(r.back); /* an aborted rollout changes no further host */
	assert_int_equal(r.state, ROLLOUT_ABORTED);
}

/* ---- several hosts in flight ---- */

static void a_second_failure_does_not_cancel_the_return(void **state)
{
	struct rollout r = begin(3, true);

	(void)state;
	rollout_take(&r, "host-a", "1", 1);
	rollout_take(&r, "host-b", "2", 2);
	rollout_take(&r, "host-c", "3", 3);
	assert_true(rollout_give(&r, "host-a", 1, ROLLOUT_FAILED, "no"));
	assert_true(rollout_give(&r, "host-b", 2, ROLLOUT_FAILED, "neither"));
	assert_true(r.back);
	assert_int_equal(r.state, ROLLOUT_RUNNING);
	assert_string_equal(r.failed, "host-a");
	r = parse_back(&r);
	assert_true(rollout_expire(&r, "host-c", 3, "late")); /* nor does a dead host */
	assert_int_equal(r.state, ROLLOUT_RUNNING);
	assert_true(rollout_take(&r, "host-d", "4", 4)); /* which returns */
	r = parse_back(&r);
	assert_true(rollout_give(&r, "host-d", 4, ROLLOUT_FAILED, "no way back"));
	assert_int_equal(r.state, ROLLOUT_STOPPED);
	assert_string_equal(r.failed, "host-d");
}

static void a_turn_that_has_not_begun_is_returned_unless_it_may_begin(void **state)
{
	struct rollout_self s = {.host = "host-a", .id = "1", .follows = true, .ready = true};
	bool (*const change[2])(struct rollout * r) = {rollout_pause, rollout_abort};
	struct rollout r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(change); i++) {
		r = begin(2, false);
		rollout_take(&r, "host-a", "1", 1);
		assert_int_equal(rollout_next(&r, &s), ROLLOUT_APPLY);
		change[i](&r);
		assert_int_equal(rollout_next(&r, &s), ROLLOUT_RETURN);
	}
	r = begin(2, false);
	rollout_take(&r, "host-a", "1", 1);
	rollout_take(&r, "host-b", "2", 2);
	s.follows = false; /* the operator has turned that off */
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_RETURN);
	s.follows = true;
	rollout_give(&r, "host-b", 2, ROLLOUT_FAILED, "no");
	assert_int_equal(r.state, ROLLOUT_STOPPED);
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_RETURN);
	r = begin(2, true);
	rollout_take(&r, "host-a", "1", 1);
	rollout_take(&r, "host-b", "2", 2);
	rollout_give(&r, "host-b", 2, ROLLOUT_FAILED, "no");
	assert_true(r.back); /* the turn was for the new document */
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_RETURN);
	s.turn = 1; /* a turn that has begun ends with its result */
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_REST);
}

static void an_expired_turn_counts_until_a_report_or_a_resume(void **state)
{
	struct rollout r = begin(1, false), stopped;

	(void)state;
	rollout_take(&r, "host-a", "1", 1);
	assert_true(rollout_expire(&r, "host-a", 1, "late"));
	assert_false(rollout_expire(&r, "host-a", 1, "late"));
	assert_int_equal(r.state, ROLLOUT_STOPPED);
	r.state = ROLLOUT_RUNNING;
	r = parse_back(&r);
	assert_false(rollout_take(&r, "host-b", "2", 2)); /* host-a may still be applying */
	stopped = r;
	assert_true(rollout_give(&r, "host-a", 1, ROLLOUT_FAILED, "it did report"));
	assert_string_equal(r.why, "late"); /* it does not count as failed twice */
	assert_true(rollout_take(&r, "host-b", "2", 2));
	assert_true(rollout_resume(&stopped)); /* of a running rollout too, then */
	assert_int_equal(stopped.n_slots, 0);
	assert_false(rollout_resume(&stopped));
	assert_true(rollout_take(&stopped, "host-b", "2", 2));
}

static void a_host_that_failed_in_a_pause_tries_again_after_it(void **state)
{
	struct rollout r = begin(1, false);
	struct rollout_self s = {.host = "host-a", .id = "1", .follows = true, .ready = true};

	(void)state;
	rollout_take(&r, "host-a", "1", 1);
	s.failed_number = r.number;
	s.failed_attempt = r.attempt;
	rollout_pause(&r);
	rollout_give(&r, "host-a", 1, ROLLOUT_FAILED, "no");
	assert_int_equal(rollout_look(&r, &s), ROLLOUT_VIEW_RESUME);
	assert_true(rollout_resume(&r));
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_TAKE);
	assert_string_equal(r.failed, "");
}

static void a_turn_ages_only_while_the_record_is_read(void **state)
{
	struct rollout r = begin(2, false);
	struct rollout_ages a = {.n = 0};
	const uint64_t look = 3 * NSEC_PER_SEC, limit = 600 * NSEC_PER_SEC;
	uint64_t now = 1000 * NSEC_PER_SEC, from = now;

	(void)state;
	rollout_take(&r, "host-a", "1", 1);
	for (; now <= from + limit; now += look)
		assert_null(rollout_ages_read(&a, &r, now));
	assert_non_null(rollout_ages_read(&a, &r, now + look)); /* the limit is reached */
	rollout_ages_restart(&a);				/* a read has failed */
	for (from = now += 2 * look; now <= from + limit; now += look)
		assert_null(rollout_ages_read(&a, &r, now));
	now += limit; /* no read for a long time */
	assert_null(rollout_ages_read(&a, &r, now));
	r.slots[0].expired = true;
	for (from = now; now <= from + 2 * limit; now += look)
		assert_null(rollout_ages_read(&a, &r, now));
}

static void a_restored_older_record_changes_no_host(void **state)
{
	const struct rollout_version three = version(3, "three");
	struct rollout_request rq = {.max_unavailable = 1, .timeout_s = 600, .random = 5};
	struct rollout r = begin(1, false);
	struct rollout_self s = {.host = "host-a", .id = "1", .follows = true, .ready = true};

	(void)state;
	rq.by = rq.now = "";
	s.has = version(9, "nine");
	s.number = 4;
	s.lineage = r.lineage;
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_REST);
	assert_int_equal(rollout_look(&r, &s), ROLLOUT_VIEW_OLDER);
	rq.number_min = 4; /* an operator decides: the next rollout is above what hosts have */
	assert_true(rollout_start(&r, &three, &rq));
	assert_int_equal(r.number, 5);
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_TAKE);
	s.number = 40; /* of a record that was lost */
	s.lineage = r.lineage + 1;
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_TAKE);
}

static void a_failure_is_shown_while_the_rollout_wants_the_host(void **state)
{
	static const enum rollout_view view[ROLLOUT_STATE_MAX] = {
		[ROLLOUT_RUNNING] = ROLLOUT_VIEW_START,
		[ROLLOUT_PAUSED] = ROLLOUT_VIEW_RESUME,
		[ROLLOUT_STOPPED] = ROLLOUT_VIEW_RESUME,
		[ROLLOUT_ABORTED] = ROLLOUT_VIEW_NONE};
	struct rollout r = begin(1, false);
	struct rollout_self s = {.host = "host-a", .id = "1", .follows = true, .ready = true};

	(void)state;
	assert_int_equal(rollout_look(&r, &s), ROLLOUT_VIEW_NONE);
	s.failed_number = r.number;
	s.failed_attempt = r.attempt;
	for (size_t i = ROLLOUT_RUNNING; i < ARRAY_SIZE(view); i++) {
		r.state = (enum rollout_state)i;
		assert_int_equal(rollout_look(&r, &s), view[i]);
	}
	r.state = ROLLOUT_STOPPED;
	s.has = r.target; /* an operator has set the former document again */
	assert_int_equal(rollout_look(&r, &s), ROLLOUT_VIEW_NONE);
}

/* ---- hosts that carry out a rollout ---- */

#define HOSTS 7
struct host {
	struct rollout_self self;
	char installed[ROLLOUT_HASH_MAX]; /* what an apply in progress brings; "": none */
	bool fails;
	uint64_t attempt; /* of the turn in progress */
};
struct world {
	struct rollout record;
	struct host hosts[HOSTS];
	size_t most; /* hosts that were in flight at a time */
	unsigned seed;
	uint64_t turn;
};

static unsigned draw(struct world *w, unsigned n)
{
	w->seed = w->seed * 1103515245u + 12345u;
	return (w->seed >> 16) % n;
}

static void world_init(struct world *w, struct rollout r, unsigned seed)
{
	*w = (struct world){.record = r, .seed = seed};
	for (size_t i = 0; i < HOSTS; i++) {
		struct rollout_self *s = &w->hosts[i].self;

		snprintf(s->host, sizeof(s->host), "host-%zu", i);
		snprintf(s->id, sizeof(s->id), "%zu", i);
		s->follows = s->ready = true;
		s->has = version(0, "[]\n");
	}
}

/* The agent's half of a turn, as rollout_host.c: the result is known when the apply has ended. */
static void finish_apply(struct world *w, struct host *h)
{
	struct rollout_self *s = &h->self;

	if (h->fails && strcmp(h->installed, w->record.target.hash) == 0) {
		s->result = ROLLOUT_FAILED;
		s->failed_number = w->record.number;
		s->failed_attempt = h->attempt;
	} else {
		s->result = ROLLOUT_DONE;
		strcpy(s->has.hash, h->installed);
		s->number = w->record.number;
	}
	h->installed[0] = '\0';
}

/* One step of a host, against the record as another host left it. A kill is a step that is not
 * made: everything that counts is in the record or in the host's note. */
static void step(struct world *w, struct host *h)
{
	struct rollout_self *s = &h->self;
	const struct rollout_slot *slot;

	if (h->installed[0] && draw(w, 3) == 0) {
		finish_apply(w, h);
		return;
	}
	switch (rollout_next(&w->record, s)) {
	case ROLLOUT_TAKE:
		assert_true(rollout_take(&w->record, s->host, s->id, ++w->turn));
		break;
	case ROLLOUT_APPLY:
		slot = &w->record.slots[0];
		while (strcmp(slot->host, s->host) != 0)
			slot++;
		s->turn = slot->turn;
		s->result = ROLLOUT_NO_RESULT;
		strcpy(h->installed, rollout_wanted(&w->record)->hash);
		h->attempt = w->record.attempt;
		break;
	case ROLLOUT_RETURN:
		slot = &w->record.slots[0];
		while (strcmp(slot->host, s->host) != 0)
			slot++;
		assert_true(rollout_give(&w->record, s->host, slot->turn, ROLLOUT_BUSY, ""));
		break;
	case ROLLOUT_GIVE:
		assert_true(rollout_give(&w->record, s->host, s->turn, s->result, "it failed"));
		break;
	case ROLLOUT_REST:
		break;
	}
	w->record = parse_back(&w->record);
	w->most = MAX_OF(w->most, w->record.n_slots);
	assert_true(w->record.n_slots <= w->record.max_unavailable);
}

static size_t count(const struct world *w, const struct rollout_version *v)
{
	size_t n = 0;

	for (size_t i = 0; i < HOSTS; i++)
		n += strcmp(w->hosts[i].self.has.hash, v->hash) == 0;
	return n;
}

static void run(struct world *w, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++)
		if (draw(w, 4)) /* else the host is killed before its step */
			step(w, &w->hosts[draw(w, HOSTS)]);
}

static void a_good_rollout_reaches_all_hosts(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++) {
		struct world w;

		world_init(&w, begin(1 + seed % 4, seed % 2), seed);
		run(&w, 2000);
		assert_int_equal(count(&w, &w.record.target), HOSTS);
		assert_int_equal(w.record.n_slots, 0);
		assert_int_equal(w.record.state, ROLLOUT_RUNNING);
		assert_int_equal(w.most, MIN_OF(1 + seed % 4, 4U));
	}
}

static void a_failure_stops_and_leaves_the_rest_untouched(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++) {
		struct world w;
		size_t had, none;

		world_init(&w, begin(2, false), seed);
		w.hosts[seed % HOSTS].fails = true;
		run(&w, 2000);
		had = count(&w, &w.record.target);
		none = count(&w, &w.record.former);
		assert_int_equal(w.record.state, ROLLOUT_STOPPED);
		assert_string_equal(w.record.failed, w.hosts[seed % HOSTS].self.host);
		assert_int_equal(had + none, HOSTS);
		assert_true(none >= 1);
		run(&w, 200);
		assert_int_equal(count(&w, &w.record.target), had);
		w.hosts[seed % HOSTS].fails = false;
		assert_true(rollout_resume(&w.record));
		run(&w, 2000);
		assert_int_equal(count(&w, &w.record.target), HOSTS);
	}
}

static void a_failure_lets_all_hosts_return_if_asked(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++) {
		struct world w;

		world_init(&w, begin(3, true), seed);
		w.hosts[seed % HOSTS].fails = true;
		w.hosts[(seed + 1 + seed % 3) % HOSTS].fails = true;
		run(&w, 3000);
		assert_int_equal(w.record.state, ROLLOUT_RUNNING);
		assert_true(w.record.back);
		assert_int_equal(count(&w, &w.record.former), HOSTS);
		assert_int_equal(w.record.n_slots, 0);
	}
}

static void a_host_rests_unless_it_may_apply(void **state)
{
	struct rollout r = begin(1, false);
	struct rollout_self s = {.host = "host-a", .id = "1", .follows = true, .ready = true};
	struct rollout other = r;

	(void)state;
	s.has = version(0, "[]\n");
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_TAKE);
	s.follows = false;
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_REST);
	s.follows = true;
	s.ready = false;
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_REST);
	s.ready = true;
	s.failed_number = s.failed_attempt = 1;
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_REST);
	r.attempt = 2;
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_TAKE);
	s.has = r.target;
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_REST);
	s.drifted = true; /* repaired by a further rollout, not by the one that brought it */
	s.number = 1;
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_REST);
	r.number = 2;
	assert_int_equal(rollout_next(&r, &s), ROLLOUT_TAKE);
	/* the turn of another state directory with the same name */
	rollout_take(&other, "host-a", "2", 1);
	assert_int_equal(rollout_next(&other, &s), ROLLOUT_REST);
}

static void what_a_host_reports_is_read_again(void **state)
{
	struct rollout_self s = {.host = "host-a", .id = "1", .follows = true, .turn = 3}, back;
	char *text;

	(void)state;
	s.has = version(2, "two");
	s.result = ROLLOUT_FAILED;
	strcpy(s.why, "leg-a is absent");
	text = rollout_self_format(&s);
	assert_int_equal(rollout_self_parse(text, strlen(text), &back), 0);
	assert_string_equal(back.has.hash, s.has.hash);
	assert_string_equal(back.why, s.why);
	assert_int_equal(back.result, ROLLOUT_FAILED);
	assert_true(back.follows && !back.ready);
	assert_int_equal(rollout_self_parse(text, strlen(text) - 1, &back), -EBADMSG);
	free(text);
}

static void a_note_survives_a_restart(void **state)
{
	struct rollout_note n = {.number = 3, .turn = 7, .result = ROLLOUT_FAILED}, back;

	(void)state;
	n.has = version(2, "two");
	n.failed_number = 3;
	n.failed_attempt = 2;
	strcpy(n.why, "leg-a is absent");
	n.now = (struct rollout_turn){
		.number = 3, .lineage = 9, .attempt = 2, .turn = 8, .unusable = 2, .n_cut = 1};
	n.lineage = 9;
	n.now.problems[n.now.n_problems++] = 17;
	n.now.problems[n.now.n_problems++] = INT64_MAX;
	n.now.version = version(3, "three");
	assert_int_equal(rollout_note_save(&n, "note"), 0);
	assert_int_equal(rollout_note_load(&back, "note"), 0);
	assert_string_equal(back.has.hash, n.has.hash);
	assert_string_equal(back.why, n.why);
	assert_int_equal(back.lineage, 9);
	assert_int_equal(back.result, ROLLOUT_FAILED);
	assert_memory_equal(&back.now, &n.now, sizeof(n.now));
	put_file("note", "plenum-rollout torn\n");
	assert_true(rollout_note_load(&back, "note") < 0);
	assert_int_equal(back.number, 0);
}

static int remove_dir(void **state)
{
	(void)state;
	return folder_remove(dir) < 0 ? -1 : 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_is_read_as_it_was_written),
		cmocka_unit_test(a_record_with_a_wrong_value_is_refused),
		cmocka_unit_test(a_document_whose_hash_is_wrong_is_refused),
		cmocka_unit_test(every_change_has_its_states),
		cmocka_unit_test(a_new_rollout_waits_for_hosts_in_flight),
		cmocka_unit_test(a_result_of_a_lost_record_is_not_given),
		cmocka_unit_test(only_hosts_with_the_new_document_return),
		cmocka_unit_test(a_failure_in_a_pause_does_not_end_the_pause),
		cmocka_unit_test(a_second_failure_does_not_cancel_the_return),
		cmocka_unit_test(a_turn_that_has_not_begun_is_returned_unless_it_may_begin),
		cmocka_unit_test(an_expired_turn_counts_until_a_report_or_a_resume),
		cmocka_unit_test(a_host_that_failed_in_a_pause_tries_again_after_it),
		cmocka_unit_test(a_turn_ages_only_while_the_record_is_read),
		cmocka_unit_test(a_restored_older_record_changes_no_host),
		cmocka_unit_test(a_failure_is_shown_while_the_rollout_wants_the_host),
		cmocka_unit_test(a_good_rollout_reaches_all_hosts),
		cmocka_unit_test(a_failure_stops_and_leaves_the_rest_untouched),
		cmocka_unit_test(a_failure_lets_all_hosts_return_if_asked),
		cmocka_unit_test(a_host_rests_unless_it_may_apply),
		cmocka_unit_test(what_a_host_reports_is_read_again),
		cmocka_unit_test(a_note_survives_a_restart),
	};

	strcpy(dir, "/tmp/test_rollout.XXXXXX");
	if (!mkdtemp(dir) || chdir(dir) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, remove_dir);
}
