/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects whether all packets of GSO bursts are lost. */
#include "dataplane/rudp/path/rudp_gso.h"
#include "netcfg/base/base.h"

/* Bursts count as failing if this many in a row are lost. Even on a path that loses three of ten
 * packets, so many are not lost by chance. */
#define LOST_MOST 10U
/* After bursts have failed, packets are sent one by one for this time, and then a burst is tried
 * again. The time doubles after each failure. */
#define ALONE_NS (60 * NSEC_PER_SEC)
#define TRIES_MOST 4U

void rudp_gso_watch(struct rudp_gso *t, uint64_t pn, unsigned n, uint16_t bytes, uint64_t msg,
		    uint64_t now)
{
	if (t->n_watched == (t->lost > 0 ? RUDP_GSO_WATCHED : 1U) || rudp_gso_is_off(t, now))
		return;
	t->watched[t->n_watched++] = (struct rudp_gso_span){pn, pn + n, msg, bytes};
}

/* Counts as lost those watched bursts of which no packet arrived, although later packets of the
 * same message arrived. */
static void count_lost(struct rudp_gso *t)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < t->n_watched; i++) {
		if (!(t->overtaken & 1U << i)) {
			t->watched[kept++] = t->watched[i];
			continue;
		}
		if (t->lost == 0)
			t->single = 0;
		t->last = t->watched[i];
		t->lost = (uint8_t)MIN_OF(t->lost + 1U, LOST_MOST);
	}
	t->n_watched = (uint8_t)kept;
	t->overtaken = 0;
}

enum rudp_gso_news rudp_gso_ack_done(struct rudp_gso *t, uint64_t now)
{
	bool were_lost = t->off_until != 0;

	if (t->arrived) { /* A packet of a burst arrived, so the bursts that counted as lost may
			     only have been late. */
		*t = (struct rudp_gso){.lost = 0};
		return were_lost ? RUDP_GSO_ARRIVES : RUDP_GSO_NO_NEWS;
	}
	if (!t->overtaken)
		return RUDP_GSO_NO_NEWS;
	count_lost(t);
	/* As long as no single packet of this size has arrived, the size may be the cause of the
	 * loss. */
	if (t->lost < LOST_MOST || t->single < t->last.bytes)
		return RUDP_GSO_NO_NEWS;
	t->n_watched = 0;
	t->off_until = now + (ALONE_NS << t->tries);
	t->tries = (uint8_t)MIN_OF(t->tries + 1U, TRIES_MOST);
	return were_lost ? RUDP_GSO_NO_NEWS : RUDP_GSO_LOST;
}
