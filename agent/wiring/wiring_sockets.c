/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes the wiring watch's sockets as the watched addresses change. */
#include "agent/wiring/wiring_sockets.h"
#include "agent/wiring/wiring_socket.h"
#include "netcfg/base/log.h"
#include <string.h>

static void find_watched(const struct wiring *w, uint32_t ifindex, struct wiring_link_sockets *ret)
{
	*ret = (struct wiring_link_sockets){.ifindex = ifindex};
	for (size_t i = 0; i < w->v.n_addresses; i++)
		if (w->v.addresses[i].ifindex == ifindex)
			ret->watched[ret->n++] = w->v.addresses[i].ip;
	for (size_t i = 0; i < w->v.n_asks && ret->n < ARRAY_SIZE(ret->watched); i++)
		if (w->v.asks[i].ifindex == ifindex)
			ret->watched[ret->n++] = w->v.asks[i].ip;
}

static void open_one(struct lldp *lldp, const struct wiring_link_sockets *s, uint8_t family)
{
	const enum privsep_frames frames =
		family == AF_INET ? PRIVSEP_FRAMES_ARP : PRIVSEP_FRAMES_ND;
	struct ip_addr watched[WIRING_ADDRESSES_MAX];
	struct wiring_filter f = {.watched = watched};
	autoclose int fd = -1;
	int r = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->watched[i].family == family)
			watched[f.n_watched++] = s->watched[i];
	if (f.n_watched == 0) {
		lldp_unwatch(lldp, s->ifindex, frames);
		return;
	}
	fd = wiring_socket_open(s->ifindex, family, &f);
	r = fd < 0 ? fd : lldp_watch(lldp, s->ifindex, frames, fd);
	if (r < 0 && r != -ENOTCONN)
		log_warning("cannot watch addresses on link %u: %s", s->ifindex, strerror(-r));
}

static bool is_same(const struct wiring_link_sockets *a, const struct wiring_link_sockets *b)
{
	return a->ifindex == b->ifindex && a->n == b->n &&
	       memcmp(a->watched, b->watched, a->n * sizeof(a->watched[0])) == 0;
}

static void close_others(struct wiring_sockets *s, const struct wiring *w, struct lldp *lldp)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		bool is_leg = false;

		for (size_t j = 0; j < w->v.n_legs; j++)
			is_leg |= w->v.legs[j].ifindex == s->links[i].ifindex;
		if (is_leg) {
			s->links[kept++] = s->links[i];
			continue;
		}
		lldp_unwatch(lldp, s->links[i].ifindex, PRIVSEP_FRAMES_ARP);
		lldp_unwatch(lldp, s->links[i].ifindex, PRIVSEP_FRAMES_ND);
	}
	s->n = kept;
}

void wiring_sockets_update(struct wiring_sockets *s, const struct wiring *w, struct lldp *lldp)
{
	close_others(s, w, lldp);
	for (size_t i = 0; i < w->v.n_legs; i++) {
		struct wiring_link_sockets want, *have = NULL;

		find_watched(w, w->v.legs[i].ifindex, &want);
		for (size_t j = 0; j < s->n; j++)
			if (s->links[j].ifindex == want.ifindex)
				have = &s->links[j];
		if (have && is_same(have, &want))
			continue;
		if (!have)
			have = &s->links[s->n++];
		*have = want;
		open_one(lldp, have, AF_INET);
		open_one(lldp, have, AF_INET6);
	}
}

void wiring_sockets_reopen(struct wiring_sockets *s, struct lldp *lldp)
{
	for (size_t i = 0; i < s->n; i++) {
		open_one(lldp, &s->links[i], AF_INET);
		open_one(lldp, &s->links[i], AF_INET6);
	}
}
