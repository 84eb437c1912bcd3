/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When to poll and when to sleep, apart because it is a small model that learns and is tested
 * alone.
 */
#include "dataplane/worker/worker.h"

#define SPIN_SCORE_MAX 1024U
#define SPIN_SCORE_WORTH 256U
#define SPIN_SHIFT 3	      /* how fast it learns: one eighth an observation */
#define SPIN_WAKE_NS 40000ULL /* what being woken costs: work that came this late was lost too */
#define GAP_MOST_NS (16 * SPIN_WAKE_NS) /* longer ones say no more */
#define GAP_SHORT_NS (SPIN_WAKE_NS / 4) /* parts of one request come so close together */
#define GAP_SHIFT 4			/* what a wait weighs in the mean */
#define GAP_SHIFT_SHORT 6
/* The mean of a short wait and one of about twice as long as acknowledgements wait for company. */
#define GAP_REST_NS (200 * NSEC_PER_USEC)

/*
 * An answer may be worth meeting and yet not worth a core: where requests come now and then, being
 * woken for each costs less of it than spinning for each, and nobody is in a hurry.
 */
static void gap_learn(struct worker_spin *s, uint64_t idle_ns)
{
	unsigned shift = idle_ns < GAP_SHORT_NS ? GAP_SHIFT_SHORT : GAP_SHIFT;

	s->gap_ns -= s->gap_ns >> shift;
	s->gap_ns += MIN_OF(idle_ns, GAP_MOST_NS) >> shift;
}

/*
 * A sleep teaches as much as a spin: its length tells whether spinning would have met the work. So
 * a worker that has stopped spinning starts again by itself when the traffic changes. Answers come
 * soon, the next request when a program likes: what one teaches is not true of the other.
 */
void worker_spin_learn(struct worker_spin *s, uint64_t idle_ns)
{
	uint32_t *score = &s->scores[s->awaits];

	if (s->limit_ns == 0)
		return;
	gap_learn(s, idle_ns);
	if (idle_ns <= s->limit_ns + SPIN_WAKE_NS)
		*score += (SPIN_SCORE_MAX - *score) >> SPIN_SHIFT;
	else
		*score -= (*score + (1U << SPIN_SHIFT) - 1) >> SPIN_SHIFT;
}

bool worker_spin_wanted(const struct worker_spin *s, uint64_t idle_ns)
{
	return idle_ns < s->limit_ns && s->gap_ns <= s->limit_ns + SPIN_WAKE_NS &&
	       s->scores[s->awaits] >= SPIN_SCORE_WORTH;
}

bool worker_spin_rests(const struct worker_spin *s)
{
	return s->gap_ns >= MAX_OF(GAP_REST_NS, s->limit_ns + SPIN_WAKE_NS);
}
