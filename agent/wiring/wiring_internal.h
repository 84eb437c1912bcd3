/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the watch of addresses (wiring.c) and that of cables (wiring_cables.c). */
#ifndef PLENUM_AGENT_WIRING_INTERNAL_H
#define PLENUM_AGENT_WIRING_INTERNAL_H

#include "agent/wiring/wiring.h"
#include <string.h>

static inline bool wiring_mac_equal(const struct mac_addr *a, const struct mac_addr *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* NULL: no such leg. */
const struct wiring_leg *wiring_leg_by_index(const struct wiring *w, uint32_t ifindex);
/* Three quarters of a time to five quarters of it, so that hosts that start together drift apart.
 */
uint64_t wiring_jittered(const struct wiring *w, uint64_t ns);

/* The parts of wiring_watch, wiring_carrier, wiring_run and wiring_hear. */
void wiring_cables_watch(const struct wiring *w, struct wiring_view *view);
void wiring_cables_carrier(struct wiring *w, struct wiring_leg *leg, uint64_t now);
uint64_t wiring_cables_run(struct wiring *w, uint64_t now); /* the time of the next question */
void wiring_cables_hear(struct wiring *w, const struct wiring_leg *leg,
			const struct address_claim *c, uint64_t now);
/* Draws the conclusions and reports those that have changed. */
void wiring_cables_judge(struct wiring *w);
/* Why the leg's cable is wrong. False: it is not known to be. */
bool wiring_cables_explain(const struct wiring *w, const struct wiring_leg *leg,
			   struct reason *ret);

#endif
