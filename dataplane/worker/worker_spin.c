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
	if (idle_ns <= s->limit_ns + SPIN_WAKE_NS)
		*score += (SPIN_SCORE_MAX - *score) >> SPIN_SHIFT;
	else
		*score -= (*score + (1U << SPIN_SHIFT) - 1) >> SPIN_SHIFT;
}

bool worker_spin_wanted(const struct worker_spin *s, uint64_t idle_ns)
{
	return idle_ns < s->limit_ns && s->scores[s->awaits] >= SPIN_SCORE_WORTH;
}
