/* SPDX-License-Identifier: BSD-3-Clause */
/* Tries two modes of a mount in turns (all its workers read requests, or only the owner), and
 * compares how many requests the mount serves in each. */
#include "dataplane/fuse/client/workers/client_trial.h"

/* All workers keep reading if the mount then serves at least this percentage of the requests that
 * it serves when only the owner reads. */
#define GAIN_PERCENT 105U

/* Returns whether all workers read in this window. The two ways alternate in an order (the
 * Thue-Morse sequence) in which neither comes earlier on average. So a growing or shrinking load
 * favours neither. */
static bool all_in(unsigned window)
{
	return __builtin_parity(window);
}

static void trial_end(struct client_trial *t, bool finds, uint64_t now_ns)
{
	uint64_t longer = MIN_OF(2 * t->rest_ns, CLIENT_TRIAL_REST_MAX_NS);

	t->rest_ns = finds == t->kept && longer ? longer : CLIENT_TRIAL_REST_MIN_NS;
	t->all = t->kept = finds;
	t->n_windows = 0;
	t->due_ns = now_ns + t->rest_ns;
}

static void trial_continue(struct client_trial *t, uint64_t rate, uint64_t now_ns)
{
	t->rates[t->all] += rate;
	if (t->n_windows == CLIENT_TRIAL_WINDOWS)
		trial_end(t, t->rates[true] * 100 > t->rates[false] * GAIN_PERCENT, now_ns);
	else
		t->all = all_in(t->n_windows++);
}

static void trial_begin(struct client_trial *t)
{
	t->rates[false] = t->rates[true] = 0;
	t->all = all_in(0);
	t->n_windows = 1;
}

/* Returns whether a trial is useful. It is not if only the owner reads and its core keeps up. While
 * all workers read, a trial is always useful, because the owner's core may keep up only because of
 * the others. */
static bool is_worth_it(const struct client_trial *t, uint64_t n, uint64_t n_behind)
{
	return t->kept || n_behind >= n / 2;
}

void client_trial_look(struct client_trial *t, uint64_t n, uint64_t n_behind, uint64_t now_ns)
{
	uint64_t took_ns = now_ns - t->since_ns, rate = (n - t->n) * NSEC_PER_SEC / took_ns;

	if (took_ns >= 2 * CLIENT_TRIAL_WINDOW_NS || rate < CLIENT_TRIAL_LOAD) {
		t->n_windows = 0; /* too few requests to compare */
		t->kept &= now_ns < t->due_ns;
		t->all = t->kept;
	} else if (t->n_windows > 0) {
		trial_continue(t, rate, now_ns);
	} else if (now_ns >= t->due_ns && is_worth_it(t, n - t->n, n_behind - t->n_behind)) {
		trial_begin(t);
	}
	t->since_ns = now_ns;
	t->n = n;
	t->n_behind = n_behind;
}
