/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads from the workers' statistics pages whether servers accept mounts, and passes that to
 * mounts.c, which then attaches new mounts. */
#include "agent/base/stats_page.h"
#include "agent/supervise/supervise_internal.h"
#include <string.h>

#define LOOK_FIRST_NS (5 * NSEC_PER_MSEC)
#define LOOK_MOST_NS NSEC_PER_SEC
/* The time in which a server answers a worker that is up. */
#define SILENT_NS NSEC_PER_SEC

/* Returns whether the reason, "code: sentence", lasts until an operator changes a configuration;
 * for such a reason the client fails requests (client_refusal.c). Other refusals pass by
 * themselves, such as that of a server without a free session. */
static bool is_lasting(const char *reason)
{
	static const char *const codes[] = {
		"no-export:", "not-allowed:", "wrong-address:", "peer-unlisted:", "read-only:"};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (strncmp(reason, codes[i], strlen(codes[i])) == 0)
			return true;
	return false;
}

/* Programs wait on a mount whose refusal passes, as they do for a server that is away. */
static enum mounts_answer answer_of(const struct sup_worker *w, const struct launch_mount_stats *st)
{
	char reason[LAUNCH_REASON_MAX];

	if (launch_stat_get(&st->served))
		return MOUNTS_SERVED;
	stats_page_text(w->stats, st->reason, reason, sizeof(reason));
	return is_lasting(reason) ? MOUNTS_REFUSED : MOUNTS_SILENT;
}

void sup_look_at_mounts(struct sup_worker *w)
{
	const uint64_t now_ns = clock_now_ns();
	struct mounts *m = w->sup->setup.mounts;

	for (uint32_t i = 0; w->state == SUP_UP && w->stats && i < w->started->n_mounts; i++) {
		const enum mounts_answer answer = answer_of(w, &w->stats->mounts[i]);

		if (answer != MOUNTS_SILENT || now_ns >= w->up_since_ns + SILENT_NS)
			mounts_note_answer(m, &w->started->mounts[i], answer);
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
