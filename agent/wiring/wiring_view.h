/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the legs, addresses and peers for the wiring watch on this host. The wiring watch asks
 * for the peers' addresses to find out where a cable leads. Reads the configuration in force and
 * changes nothing.
 */
#ifndef PLENUM_AGENT_WIRING_VIEW_H
#define PLENUM_AGENT_WIRING_VIEW_H

#include "agent/lldp/carriers.h"
#include "agent/wiring/wiring.h"
#include "dataplane/launch.h"
#include "netcfg/plan/plan.h"
#include "netcfg/plan/plan_conflict.h"

/* Maximum number of peers whose addresses are asked for, to find out where a cable leads. Peers of
 * `peers` in the configuration come before peers with sessions. */
#define WIRING_PEERS_MAX 3

struct wiring_peer {
	char name[PLENUM_NAME_MAX];
	struct ip_addr ips[PLENUM_LEGS_MAX];
	size_t n;
};

struct wiring_peers { /* peers with sessions; zeroed: none */
	struct wiring_peer all[WIRING_PEERS_MAX];
	size_t n;
};

struct wiring_host { /* inputs, all borrowed */
	const struct spec *spec;
	const struct plan *plan;
	const struct inventory *inv;
	const struct plan_conflicts *conflicts;
	const struct carriers *carriers;
	const struct wiring_peers *peers;
};

/* Makes the view for wiring_watch, which takes ownership of ret->own. Returns 0 or -ENOMEM; after
 * an error the caller frees nothing. */
int wiring_view_make(const struct wiring_host *h, struct wiring_view *ret);
/* Learns peers from a worker's paths, and marks in proven the legs of w whose cable a path proves
 * right. Returns whether an address of a peer is new. */
bool wiring_peers_learn(struct wiring_peers *peers, const struct wiring *w,
			const struct launch_path_stats *paths, size_t n,
			bool proven[PLENUM_LEGS_MAX]);

#endif
