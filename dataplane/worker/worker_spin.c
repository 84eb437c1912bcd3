/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides when to poll and when to sleep, by a small model that learns. It depends on nothing else,
 * so it can be tested alone. */
#include "dataplane/worker/worker.h"

#define SPIN_SCORE_MAX 1024U
#define SPIN_SCORE_WORTH 256U
#define SPIN_SHIFT 3 /* learning rate: one eighth per idle moment */
/* Cost of a wake-up: if work arrived later than this, spinning did not pay off. */
#define SPIN_WAKE_NS 40000ULL
#define GAP_MOST_NS (16 * SPIN_WAKE_NS) /* longer gaps do not tell more */
#define GAP_SHORT_NS (SPIN_WAKE_NS / 4) /* gaps within one request are shorter */
#define GAP_SHIFT 4			/* weight of one gap in the mean */
#define GAP_SHIFT_SHORT 6
/* The mean of a short wait and one about twice as long as the delay of acknowledgements. */
#define GAP_REST_NS (200 * NSEC_PER_USEC)

/*
 * Learns the mean gap. Spinning for an answer may pay off and still not be worth a core: if
 * requests are rare, a wake-up for each costs less CPU than spinning for each, and latency matters
 * little.
 */
static void gap_learn(struct worker_spin *s, uint64_t idle_ns)
{
	unsigned shift = idle_ns < GAP_SHORT_NS ? GAP_SHIFT_SHORT : GAP_SHIFT;

	s->gap_ns -= s->gap_ns >> shift;
	s->gap_ns += MIN_OF(idle_ns, GAP_MOST_NS) >> shift;
}

/*
 * A sleep teaches as much as a spin, because its length shows whether work would have arrived while
 * spinning. So a worker that has stopped spinning resumes when the traffic changes. Answers arrive
 * soon, but the next request only when a program sends it, so the two are learned separately.
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
