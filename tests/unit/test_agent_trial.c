/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Workers that a pending apply removes: their state is kept until it is confirmed, and no longer.
 * Checks the supervisor's list.
 */
#include "agent/supervise/supervise_internal.h"
#include "tests/lib/agent/reconcile_host.h"

#include <fcntl.h>

#define HELD_FD 200 /* a descriptor of the second worker's export */

/* The second of two workers, which the next configuration removes. */
static const struct sup_worker *second_worker(const struct agent *a)
{
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		if (w->id == 2)
			return w;
	return NULL;
}

static ino_t state_of(const struct sup_worker *w)
{
	struct stat st;

	assert_int_equal(fstat(w->state_fd, &st), 0);
	return st.st_ino;
}

/* An unlinked file that is open at a client. */
static void hold_one(struct sup *s)
{
	autoclose int root = open("/", O_PATH | O_CLOEXEC);

	assert_int_equal(fcntl(root, F_DUPFD_CLOEXEC, HELD_FD), HELD_FD);
	assert_int_equal(exports_hold(&s->exports, "y", 7, HELD_FD), 0);
}

static bool is_held(void)
{
	return fcntl(HELD_FD, F_GETFD) >= 0;
}

/* A pending apply removed the worker, and its process has exited; its state. */
static ino_t begin_without_second(struct fixture *f)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7", .confirm_s = 600};
	const struct sup_worker *w;
	ino_t state;

	write_file(f, HOST_YAML "  - {role: compute, cores: [0], transport: udp, exports: [{name: "
				"y, path: /srv}]}\n");
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	w = second_worker(&f->a);
	assert_true(w && w->state == SUP_STARTING);
	state = state_of(w);
	hold_one(f->a.sup);
	write_file(f, HOST_YAML);
	reconcile_ask_client(&f->a, &client);
	turn_until_pending(f);
	assert_false(second_worker(&f->a)->wanted);
	if (second_worker(&f->a)->pid > 0) /* it ignores the stop */
		kill(second_worker(&f->a)->pid, SIGKILL);
	while (second_worker(&f->a) && second_worker(&f->a)->state != SUP_STOPPED)
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
	return state;
}

static bool is_shown(const struct agent *a, uint32_t id)
{
	struct status st;
	bool found = false;

	assert_int_equal(status_collect(a, &st), 0);
	for (size_t i = 0; i < st.n_processes; i++)
		found = found || st.processes[i].id == id;
	status_done(&st);
	return found;
}

/* After a rollback the worker and its peers know each other. */
static void test_removed_worker_returns_after_rollback(void **state)
{
	struct fixture *f = *state;
	const ino_t knows = begin_without_second(f);
	const struct sup_worker *w = second_worker(&f->a);

	assert_non_null(w);
	assert_true(state_of(w) == knows);
	assert_false(is_shown(&f->a, 2));
	assert_int_equal(reconcile_pending_decide(&f->a, false, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	w = second_worker(&f->a);
	assert_true(w && w->wanted && w->state == SUP_STARTING);
	assert_true(state_of(w) == knows);
	assert_true(is_shown(&f->a, 2));
	assert_true(is_held());
}

static void test_removed_worker_is_forgotten_when_kept(void **state)
{
	struct fixture *f = *state;

	begin_without_second(f);
	assert_non_null(second_worker(&f->a));
	assert_true(is_held());
	assert_int_equal(reconcile_pending_decide(&f->a, true, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_null(second_worker(&f->a));
	assert_false(is_held());
}

/* After a rollback was ordered, the state is kept until the previous configuration runs. */
static void test_state_is_kept_until_the_rollback_runs(void **state)
{
	struct fixture *f = *state;
	struct reconcile *rec = &f->a.reconcile;
	const enum reconcile_source source = rec->run.source;

	assert_false(reconcile_on_trial(&f->a));
	rec->queue.last_good_pending = true;
	assert_true(reconcile_on_trial(&f->a));
	rec->queue.last_good_pending = false;
	rec->applier = (void *)f; /* at work */
	assert_false(reconcile_on_trial(&f->a));
	rec->run.source = RECONCILE_FROM_LAST_GOOD;
	assert_true(reconcile_on_trial(&f->a));
	rec->run.source = source;
	rec->applier = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECONCILE_TEST(test_removed_worker_returns_after_rollback),
		RECONCILE_TEST(test_removed_worker_is_forgotten_when_kept),
		RECONCILE_TEST(test_state_is_kept_until_the_rollback_runs),
	};

	return cmocka_run_group_tests_name("agent_trial", tests, NULL, NULL);
}
