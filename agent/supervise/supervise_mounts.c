/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads from the workers' statistics pages whether servers accept mounts, and tells mounts.c, which
 * then attaches new mounts. */
#include "agent/supervise/supervise_internal.h"

#define LOOK_FIRST_NS (5 * NSEC_PER_MSEC)
#define LOOK_MOST_NS NSEC_PER_SEC
/* The time in which a server answers a worker that is up. */
#define SILENT_NS NSEC_PER_SEC

void sup_look_at_mounts(struct sup_worker *w)
{
	const uint64_t now_ns = clock_now_ns();
	struct mounts *m = w->sup->setup.mounts;

	for (uint32_t i = 0; w->state == SUP_UP && w->stats && i < w->started->n_mounts; i++) {
		const struct launch_mount_stats *st = &w->stats->mounts[i];
		const struct launch_mount *what = &w->started->mounts[i];

		if (launch_stat_get(&st->served))
			mounts_note_answer(m, what, MOUNTS_SERVED);
		else if (__atomic_load_n(&st->reason[0], __ATOMIC_RELAXED))
			mounts_note_answer(m, what, MOUNTS_REFUSED);
		else if (now_ns >= w->up_since_ns + SILENT_NS)
			mounts_note_answer(m, what, MOUNTS_SILENT);
	}
}

/* Repeats while new mounts wait for the answers of their servers, at growing intervals. */
static int on_look(void *user)
{
	struct sup *s = user;
	const bool waited = mounts_await_answer(s->setup.mounts);

	for (struct sup_worker *w = s->workers; w; w = w->next)
		sup_look_at_mounts(w);
	if (mounts_await_answer(s->setup.mounts)) {
		s->look_ns = MIN_OF(2 * s->look_ns, LOOK_MOST_NS);
		return loop_timer_arm(s->look, s->look_ns);
	}
	if (waited && s->setup.on_change)
		s->setup.on_change(s->setup.user);
	return 0;
}

int sup_mounts_init(struct sup *s)
{
	return loop_add_timer(s->setup.loop, NSEC_PER_MSEC, on_look, s, &s->look);
}

void sup_look_at_mounts_soon(struct sup *s)
{
	s->look_ns = LOOK_FIRST_NS;
	loop_timer_arm(s->look, s->look_ns);
}
