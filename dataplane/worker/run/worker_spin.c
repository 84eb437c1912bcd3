/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides when an idle worker polls and when it sleeps, by a small model that learns from the
 * traffic. It does not depend on other parts of the worker, so it can be tested alone. */
#include "dataplane/worker/run/worker_run.h"

#define SPIN_SCORE_MAX 1024U
#define SPIN_SCORE_WORTH 256U
#define SPIN_SHIFT                                                                     \
	3 /* learning rate: each idle moment changes the estimate by one eighth of the \
	     difference */
/* Cost of a wake-up in ns. Polling does not pay off if work arrives later than this. */
#define SPIN_WAKE_NS 40000ULL
/* Maximum length with which a gap counts, because even longer gaps contain no more information. */
#define GAP_MOST_NS (16 * SPIN_WAKE_NS)
#define GAP_SHORT_NS                                                                  \
	(SPIN_WAKE_NS / 4) /* A longer gap separates two requests; shorter gaps occur \
			      within one request. */
#define GAP_SHIFT 4	   /* weight of the newest gap in the mean */
#define GAP_SHIFT_SHORT 6
/* If the mean gap is above this limit, the worker does not delay acknowledgements. The limit is the
 * mean of a short wait and of a wait about twice as long as the delay of acknowledgements. */
#define GAP_REST_NS (200 * NSEC_PER_USEC)

/*
 * Updates the mean of the idle gaps. If requests are rare, sleeping is better even if polling for
 * each answer would pay off: a wake-up per request costs less CPU time than polling, and a higher
 * latency matters little.
 */
static void gap_learn(struct worker_spin *s, uint64_t idle_ns)
{
	unsigned shift = idle_ns < GAP_SHORT_NS ? GAP_SHIFT_SHORT : GAP_SHIFT;

	s->gap_ns -= s->gap_ns >> shift;
	s->gap_ns += MIN_OF(idle_ns, GAP_MOST_NS) >> shift;
}

/*
 * Learns from sleeps as well as from polling, because the length of a sleep shows whether polling
 * would have paid off. So a worker that has stopped polling starts again when the traffic changes.
 * Idle moments with and without pending answers are learned separately: an answer arrives soon, but
 * the next request only when a program sends it.
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
