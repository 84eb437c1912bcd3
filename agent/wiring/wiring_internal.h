/* SPDX-License-Identifier: BSD-3-Clause */
/* Interface between the address watch (wiring.c) and the cable watch (wiring_cables.c). */
#ifndef PLENUM_AGENT_WIRING_INTERNAL_H
#define PLENUM_AGENT_WIRING_INTERNAL_H

#include "agent/wiring/wiring.h"
#include <string.h>

static inline bool wiring_mac_equal(const struct mac_addr *a, const struct mac_addr *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* Returns the leg with that interface index, or NULL if no leg has it. */
const struct wiring_leg *wiring_leg_by_index(const struct wiring *w, uint32_t ifindex);
/* Returns a random time between 3/4 and 5/4 of ns, so that hosts that start together do not keep
 * sending at the same time. */
uint64_t wiring_jittered(const struct wiring *w, uint64_t ns);

/* The functions of wiring.h with the same names, without "cables", call these functions for the
 * questions about cables. */
void wiring_cables_watch(const struct wiring *w, struct wiring_view *view);
void wiring_cables_carrier(struct wiring *w, struct wiring_leg *leg, uint64_t now);
/* Asks the questions that are due. Returns the time of the next question. */
uint64_t wiring_cables_run(struct wiring *w, uint64_t now);
void wiring_cables_hear(struct wiring *w, const struct wiring_leg *leg,
			const struct address_claim *c, uint64_t now);
/* Draws conclusions from the answers and reports those that have changed. */
void wiring_cables_judge(struct wiring *w);
/* Explains why the leg's cable is wrong. Returns false if no fault is known. */
bool wiring_cables_explain(const struct wiring *w, const struct wiring_leg *leg,
			   struct reason *ret);

#endif
