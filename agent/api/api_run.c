/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the connections that have something to do, and the time limits of requests and streams.
 * Handlers of events and messages only note what has happened, so that no connection runs inside
 * the run of another one.
 */
#include "agent/api/api_internal.h"
#include "agent/api/api_stream.h"

#define TURNS_MAX 8 /* after these turns, the event loop handles other events */

static void arm_timer(struct api *a)
{
	const uint64_t at = MIN_OF(api_request_deadline(a), api_stream_deadline(a));
	uint64_t now;

	if (at == a->timer_ns)
		return;
	a->timer_ns = at;
	now = clock_now_ns();
	if (at == UINT64_MAX)
		loop_timer_disarm(a->timer);
	else
		loop_timer_arm(a->timer, at > now ? at - now : 0);
}

/* Each turn runs the connections that were ready at its beginning, so that a client that sends
 * without a pause does not delay the others. */
static void run(struct api *a)
{
	for (unsigned i = 0; a->ready && i < TURNS_MAX; i++) {
		struct api_client *list = a->ready;

		a->ready = NULL;
		a->ready_end = &a->ready;
		while (list) {
			struct api_client *cl = list;

			list = cl->next_ready;
			cl->is_ready = false;
			api_client_run(cl);
		}
	}
	if (a->ready)
		loop_timer_arm(a->again, 0);
	arm_timer(a);
}

static int on_again(void *user)
{
	run(user);
	return 0;
}

static int on_timer(void *user)
{
	struct api *a = user;
	const uint64_t now = clock_now_ns();

	a->timer_ns = UINT64_MAX;
	api_request_tick(a, now);
	api_stream_tick(a, now);
	run(a);
	return 0;
}

int api_run_open(struct api *a)
{
	int r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_timer, a, &a->timer);

	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_USEC, on_again, a, &a->again);
	a->run = run;
	a->ready_end = &a->ready;
	a->timer_ns = UINT64_MAX;
	return r;
}
