/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of a mount: the token bucket with a virtual clock, and which requests wait for it. */
#include "tests/lib/fuse/client_rig.h"

#define MS NSEC_PER_MSEC

/* ---- the bucket ---- */

/* Starts requests of `units` as soon as they may start, from from_ns to to_ns. Returns the units.
 */
static uint64_t run(const struct client_rate *r, uint64_t *paid, uint64_t units, uint64_t from_ns,
		    uint64_t to_ns)
{
	uint64_t taken = 0, now = from_ns;

	while (now < to_ns) {
		const uint64_t due = client_rate_due(r, paid, now);

		if (due) {
			now = due;
			continue;
		}
		client_rate_take(r, paid, units, now);
		taken += units;
	}
	return taken;
}

static void the_rate_is_the_limit(void **state)
{
	const struct client_rate bytes = {.per_s = 10000000, .most = 1 << 20};
	const struct client_rate operations = {.per_s = 100, .most = 1};
	const uint64_t sizes[] = {512, 4096, 131072, 1 << 20};
	uint64_t paid;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		paid = 0;
		assert_in_range(run(&bytes, &paid, sizes[i], NOW0, NOW0 + 10 * NSEC_PER_SEC),
				100000000, 100000000 + 2000000 + sizes[i]);
	}
	paid = 0;
	assert_in_range(run(&operations, &paid, 1, NOW0, NOW0 + 10 * NSEC_PER_SEC), 1000, 1021);
}

static void idle_time_allows_a_bounded_burst(void **state)
{
	const struct client_rate r = {.per_s = 1000, .most = 1};
	uint64_t paid = 0;

	(void)run(&r, &paid, 1, NOW0, NOW0 + NSEC_PER_SEC);
	/* An hour of silence, then one instant. */
	assert_in_range(
		run(&r, &paid, 1, NOW0 + 3600 * NSEC_PER_SEC, NOW0 + 3600 * NSEC_PER_SEC + 1), 200,
		202);
}

static void two_buckets_are_independent(void **state)
{
	const struct client_rate r = {.per_s = 100, .most = 1};
	uint64_t a = 0, b = 0;

	(void)run(&r, &a, 1, NOW0, NOW0 + NSEC_PER_SEC);
	assert_true(client_rate_due(&r, &a, NOW0 + NSEC_PER_SEC - 5 * MS) > 0);
	assert_int_equal(client_rate_due(&r, &b, NOW0 + NSEC_PER_SEC - 5 * MS), 0);
}

/* The workers of a mount share the word, and none of them knows the others. */
static void many_workers_share_one_limit(void **state)
{
	const struct client_rate r = {.per_s = 10000000, .most = 1 << 20};
	uint64_t paid = 0, taken = 0;

	for (uint64_t now = NOW0; now < NOW0 + 10 * NSEC_PER_SEC; now += MS) {
		bool may[16];

		for (size_t i = 0; i < ARRAY_SIZE(may); i++)
			may[i] = client_rate_due(&r, &paid, now) == 0;
		for (size_t i = 0; i < ARRAY_SIZE(may); i++) {
			if (!may[i])
				continue;
			client_rate_take(&r, &paid, 1 << 20, now);
			taken += 1 << 20;
		}
	}
	assert_in_range(taken, 100000000, 100000000 + (19U << 20));
}

static void a_clock_that_jumps_never_stops_requests(void **state)
{
	const struct client_rate r = {.per_s = 100, .most = 1};
	uint64_t paid = 0;

	(void)run(&r, &paid, 1, NOW0, NOW0 + NSEC_PER_SEC);
	/* Back by a minute: the word says a time that is far ahead. */
	assert_int_equal(client_rate_due(&r, &paid, NOW0 - 60 * NSEC_PER_SEC), 0);
	assert_in_range(run(&r, &paid, 1, NOW0 - 60 * NSEC_PER_SEC, NOW0 - 59 * NSEC_PER_SEC), 100,
			121);
	paid = UINT64_MAX; /* damaged */
	assert_in_range(run(&r, &paid, 1, NOW0, NOW0 + NSEC_PER_SEC), 100, 121);
}

static void a_raised_limit_forgets_an_old_debt(void **state)
{
	struct client_rate r = {.per_s = 100000, .most = 1 << 20};
	uint64_t paid = 0;

	client_rate_take(&r, &paid, 1 << 20, NOW0); /* ten seconds */
	assert_true(client_rate_due(&r, &paid, NOW0 + NSEC_PER_SEC) > 0);
	r.per_s = 1000000000;
	assert_int_equal(client_rate_due(&r, &paid, NOW0 + NSEC_PER_SEC), 0);
}

static void unused_units_are_given_back(void **state)
{
	const struct client_rate r = {.per_s = 1000000, .most = 1 << 20};
	uint64_t paid = 0;

	client_rate_take(&r, &paid, 1000000, NOW0);
	client_rate_return(&r, &paid, 900000);
	assert_int_equal(client_rate_due(&r, &paid, NOW0 + 100 * MS), 0);
}

/* ---- the client ---- */

static void limit(struct rig *g, uint64_t bytes_per_s, uint64_t operations_per_s)
{
	const struct launch_limits to = {.bytes_per_s = bytes_per_s,
					 .operations_per_s = operations_per_s};

	fuse_client_set_limits(g->f, &to);
}

static void ask(struct rig *g)
{
	kernel_send(g, FUSE_STATFS, g->unique += 2, "", 0);
	fuse_client_pull(g->f, true, g->now_ns);
}

/* Lets time pass as the worker's loop does: calls the client when it wants to be called. Returns
 * the number of calls. */
static unsigned pass(struct rig *g, uint64_t ns)
{
	const uint64_t until_ns = g->now_ns + ns;
	unsigned turns = 0;

	for (;;) {
		const uint64_t due_ns = fuse_client_tick(g->f, g->now_ns);

		assert_true(++turns < 100000);
		if (due_ns > until_ns)
			break;
		g->now_ns = MAX_OF(due_ns, g->now_ns);
	}
	g->now_ns = until_ns;
	(void)fuse_client_tick(g->f, g->now_ns);
	return turns;
}

static void operations_above_the_limit_wait(void **state)
{
	struct rig *g = *state;
	uint64_t waited_ns;
	bool limited;

	bring_up(g);
	limit(g, 0, 100);
	for (unsigned i = 0; i < 60; i++)
		ask(g);
	assert_in_range(n_calls, 20, 22);
	fuse_client_get_limited(g->f, g->now_ns, &limited, &waited_ns);
	assert_true(limited);
	/* It sleeps between them. */
	assert_true(pass(g, 200 * MS) < 60);
	assert_in_range(n_calls, 40, 42);
	fuse_client_get_limited(g->f, g->now_ns, &limited, &waited_ns);
	assert_in_range(waited_ns / MS, 1800, 2400);
	pass(g, NSEC_PER_SEC);
	assert_int_equal(n_calls, 60);
	pass(g, 3 * NSEC_PER_SEC);
	fuse_client_get_limited(g->f, g->now_ns, &limited, &waited_ns);
	assert_false(limited);
}

static void send_lock(struct rig *g, uint64_t node, uint64_t fh, uint32_t type)
{
	const struct fuse_lk_in in = {
		.fh = fh, .owner = 5, .lk = {.end = INT64_MAX, .type = type, .pid = 1}};

	kernel_send_to(g, FUSE_SETLK, g->unique += 2, node, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
}

static void requests_that_end_something_do_not_wait(void **state)
{
	struct fuse_flush_in flush = {.lock_owner = 5};
	struct fuse_out_header out;
	struct rig *g = *state;
	uint64_t node;
	unsigned n;

	g->f->soft_ns = 0;
	g->cfg->mounts[0].locks = LAUNCH_LOCKS_CLUSTER;
	g->features = FUSE_PROTO_FEATURE_LOCKS;
	bring_up(g);
	g->f->state.head->lock_epoch = 1;
	node = lookup(g, "name", "handle-a");
	flush.fh = open_file(g, node, 7);
	send_lock(g, node, flush.fh, F_WRLCK);
	respond(g, 0, 0, NULL, 0);
	while (kernel_receive(g, &out, NULL, 0) > 0)
		assert_true(out.unique == 0 || out.error == 0);
	limit(g, 0, 1);
	for (unsigned i = 0; i < 10; i++)
		ask(g);
	send_lock(g, node, flush.fh, F_WRLCK);
	n = n_calls;
	assert_in_range(n, 1, 2);
	send_lock(g, node, flush.fh, F_UNLCK);
	assert_int_equal(n_calls, n + 1);
	assert_int_equal(call_header(n).opcode, FUSE_SETLK);
	kernel_send_to(g, FUSE_FLUSH, g->unique += 2, node, &flush, sizeof(flush));
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(n_calls, n + 2);
	assert_int_equal(call_header(n + 1).opcode, FUSE_FLUSH);
}

static void a_request_that_waits_does_not_time_out(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	g->f->soft_ns = NSEC_PER_SEC;
	limit(g, 0, 1);
	ask(g);
	respond(g, 0, 0, NULL, 0);
	expect_reply(g, g->unique, 0);
	ask(g);
	ask(g);
	ask(g);
	pass(g, NSEC_PER_SEC + 500 * MS);
	assert_int_equal(fuse_client_timeouts(g->f), 0);
	expect_silence(g);
	assert_int_equal(n_calls, 1);
	/* Its time begins when it is sent. */
	pass(g, NSEC_PER_SEC);
	assert_int_equal(fuse_client_timeouts(g->f), 1);
}

static void bytes_above_the_limit_wait_but_not_metadata(void **state)
{
	static uint8_t data[4096];
	struct rig *g = *state;
	uint64_t node, fh;
	unsigned n;

	bring_up(g);
	node = lookup(g, "name", "handle-a");
	fh = open_file(g, node, 7);
	limit(g, 20000, 0);
	for (unsigned i = 0; i < 4; i++)
		kernel_write(g, node, fh, data, sizeof(data));
	n = n_calls;
	assert_in_range(n, 1, 2);
	ask(g);
	assert_int_equal(n_calls, n + 1);
	pass(g, NSEC_PER_SEC);
	assert_int_equal(n_calls, 5);
	limit(g, 0, 0);
	assert_int_equal(client_rate_due(&(struct client_rate){.per_s = 0}, &(uint64_t){UINT64_MAX},
					 g->now_ns),
			 0);
}

static void a_successor_continues_with_the_limit(void **state)
{
	struct rig *g = *state;
	unsigned n;

	g->cfg->mounts[0].limits.operations_per_s = 100;
	bring_up(g);
	limit(g, 0, 100);
	for (unsigned i = 0; i < 40; i++)
		ask(g);
	n = n_calls;
	assert_true(n < 30);
	worker_restarts(g);
	assert_true(g->f->limits.is_on);
	assert_true(g->f->state.head->limits.operations_paid_ns > g->now_ns);
	assert_int_equal(g->f->state.head->limits.operations_per_s, 100);
}

static void limits_that_go_release_what_waits(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	limit(g, 0, 1);
	for (unsigned i = 0; i < 20; i++)
		ask(g);
	assert_in_range(n_calls, 1, 2);
	limit(g, 0, 0);
	pass(g, MS);
	assert_int_equal(n_calls, 20);
}

/* Without a server nothing can start: a worker that came back at once would use its whole core. */
static void a_client_without_a_server_sleeps(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	limit(g, 0, 1);
	for (unsigned i = 0; i < 5; i++)
		ask(g);
	reset_all(g, g->now_ns);
	fuse_client_event(g->f, RUDP_SESSION_LOST, 0, g->now_ns);
	assert_true(g->f->link != CLIENT_READY);
	assert_true(pass(g, 10 * NSEC_PER_SEC) < 50);
	limit(g, 0, 2); /* as an agent that starts again does */
	assert_true(pass(g, 10 * NSEC_PER_SEC) < 50);
}

static void a_mount_without_limits_pays_nothing_for_them(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	limit(g, 0, 0);
	assert_false(g->f->limits.is_on);
	limit(g, 0, 1);
	ask(g);
	ask(g);
	limit(g, 0, 0);
	assert_true(g->f->limits.is_on); /* for the request that waits */
	pass(g, MS);
	assert_int_equal(n_calls, 2);
	limit(g, 0, 0);
	assert_false(g->f->limits.is_on);
}

/* The server remembers only its last requests, so a repeated one must come soon. */
static void a_repeated_request_does_not_wait(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	limit(g, 0, 10);
	for (unsigned i = 0; i < 10; i++)
		ask(g);
	assert_in_range(n_calls, 2, 4);
	const unsigned n = n_calls;

	kernel_send(g, FUSE_STATFS, (g->unique += 2) | FUSE_PROTO_UNIQUE_RESEND, "", 0);
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(n_calls, n + 1);
	/* It counts nevertheless. */
	pass(g, 190 * MS);
	assert_in_range(n_calls, n + 1, n + 2);
}

static void writes_that_wait_leave_room_for_others(void **state)
{
	static uint8_t data[64 << 10];
	const struct fuse_write_out out = {.size = sizeof(data)};
	struct fuse_flush_in flush = {.lock_owner = 5};
	struct fuse_out_header reply;
	struct rig *g = *state;
	uint64_t node;
	unsigned n, begun, i;

	g->cfg->mounts[0].locks = LAUNCH_LOCKS_CLUSTER;
	g->features = FUSE_PROTO_FEATURE_LOCKS;
	bring_up(g);
	g->f->state.head->lock_epoch = 1;
	node = lookup(g, "name", "handle-a");
	flush.fh = open_file(g, node, 7);
	limit(g, 1000000, 0);
	for (i = 0; i < 47; i++)
		kernel_write(g, node, flush.fh, data, sizeof(data));
	begun = n_calls;
	assert_in_range(begun, 12, 16);
	for (i = 0; i < begun; i++)
		respond(g, 0, 0, &out, sizeof(out));
	while (kernel_receive(g, &reply, NULL, 0) > 0)
		assert_int_equal(reply.error, 0);
	n = n_calls;
	kernel_send_to(g, FUSE_FLUSH, g->unique += 2, node, &flush, sizeof(flush));
	fuse_client_pull(g->f, true, g->now_ns);
	expect_reply(g, g->unique, 0);
	assert_int_equal(n_calls, n);
	/* The average stays: 47 writes take three seconds. */
	pass(g, 2 * NSEC_PER_SEC);
	assert_true(n_calls - n + begun < 37);
	pass(g, NSEC_PER_SEC);
	assert_int_equal(n_calls - n + begun, 47);
}

/* Programs that always have more requests than there is room get no more than the limit. */
static void many_writers_get_the_limit(void **state)
{
	static uint8_t data[64 << 10];
	const struct fuse_write_out out = {.size = sizeof(data)};
	const uint64_t begin_ns = ((struct rig *)*state)->now_ns;
	struct rig *g = *state;
	uint64_t node, fh;
	unsigned n = 0;

	bring_up(g);
	node = lookup(g, "name", "handle-a");
	fh = open_file(g, node, 7);
	limit(g, 1000000, 0);
	for (unsigned i = 0; i < 47; i++)
		kernel_write(g, node, fh, data, sizeof(data));
	while (g->now_ns < begin_ns + 20 * NSEC_PER_SEC) {
		for (; n_calls > 0 && n < 10000; n++) {
			struct fuse_out_header reply;

			respond(g, 0, 0, &out, sizeof(out));
			while (kernel_receive(g, &reply, NULL, 0) > 0)
				;
			kernel_write(g, node, fh, data, sizeof(data));
		}
		pass(g, 20 * MS);
	}
	assert_in_range(n * (sizeof(data) / 1000), 19000, 22000);
}

static void nothing_waits_when_the_worker_ends(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	limit(g, 0, 1);
	for (unsigned i = 0; i < 20; i++)
		ask(g);
	assert_in_range(n_calls, 1, 2);
	fuse_client_quiesce(g->f);
	assert_int_equal(fuse_client_sent(g->f), 20);
	(void)fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 20);
	assert_int_equal(fuse_client_sent(g->f), 20);
}

static void limited_ends_soon_after_the_last_wait(void **state)
{
	static uint8_t data[64 << 10];
	struct rig *g = *state;
	uint64_t node, waited_ns, fh;
	bool limited;

	bring_up(g);
	node = lookup(g, "name", "handle-a");
	fh = open_file(g, node, 7);
	limit(g, 10000, 0); /* a write is paid after 6.5 s */
	kernel_write(g, node, fh, data, sizeof(data));
	kernel_write(g, node, fh, data, sizeof(data));
	fuse_client_get_limited(g->f, g->now_ns, &limited, &waited_ns);
	assert_true(limited);
	limit(g, 1000000, 0);
	pass(g, MS);
	assert_int_equal(n_calls, 2);
	fuse_client_get_limited(g->f, g->now_ns, &limited, &waited_ns);
	assert_false(limited);
}

static void a_lower_limit_does_not_bill_what_was_before(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	limit(g, 0, 100);
	for (unsigned i = 0; i < 60; i++)
		ask(g);
	limit(g, 0, 0);
	pass(g, MS);
	assert_int_equal(n_calls, 60);
	limit(g, 0, 50);
	ask(g);
	assert_int_equal(n_calls, 61);
}

/* Write-back counts data when it gathers them, and gathers none while a limit is exceeded. */
static void gathered_data_count(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	client_limits_count(g->f, 1 << 20, g->now_ns); /* without limits: nothing */
	limit(g, 1000000, 0);
	pass(g, MS);
	assert_false(client_limits_exceeded(g->f, g->now_ns));
	client_limits_count(g->f, 500000, g->now_ns);
	assert_true(client_limits_exceeded(g->f, g->now_ns));
	pass(g, 310 * MS);
	assert_false(client_limits_exceeded(g->f, g->now_ns));
}

#define ON_RIG(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rate_is_the_limit),
		cmocka_unit_test(idle_time_allows_a_bounded_burst),
		cmocka_unit_test(two_buckets_are_independent),
		cmocka_unit_test(many_workers_share_one_limit),
		cmocka_unit_test(a_clock_that_jumps_never_stops_requests),
		cmocka_unit_test(a_raised_limit_forgets_an_old_debt),
		cmocka_unit_test(unused_units_are_given_back),
		ON_RIG(operations_above_the_limit_wait),
		ON_RIG(requests_that_end_something_do_not_wait),
		ON_RIG(a_request_that_waits_does_not_time_out),
		ON_RIG(bytes_above_the_limit_wait_but_not_metadata),
		ON_RIG(a_successor_continues_with_the_limit),
		ON_RIG(limits_that_go_release_what_waits),
		ON_RIG(a_client_without_a_server_sleeps),
		ON_RIG(a_mount_without_limits_pays_nothing_for_them),
		ON_RIG(a_repeated_request_does_not_wait),
		ON_RIG(writes_that_wait_leave_room_for_others),
		ON_RIG(many_writers_get_the_limit),
		ON_RIG(nothing_waits_when_the_worker_ends),
		ON_RIG(limited_ends_soon_after_the_last_wait),
		ON_RIG(a_lower_limit_does_not_bill_what_was_before),
		ON_RIG(gathered_data_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
