/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks up watched legs, and varies pauses so that hosts do not send at the same time. */
#include "agent/wiring/wiring_internal.h"
#include <string.h>

const struct wiring_leg *wiring_leg_by_index(const struct wiring *w, uint32_t ifindex)
{
	for (size_t i = 0; i < w->v.n_legs; i++)
		if (w->v.legs[i].ifindex == ifindex)
			return &w->v.legs[i];
	return NULL;
}

const struct wiring_leg *wiring_leg_find(const struct wiring *w, const char *name)
{
	for (size_t i = 0; w && i < w->v.n_legs; i++)
		if (strcmp(w->v.legs[i].name, name) == 0)
			return &w->v.legs[i];
	return NULL;
}

uint64_t wiring_jittered(const struct wiring *w, uint64_t ns)
{
	return ns - ns / 4 + w->setup.random() % (ns / 2 + 1);
}
