/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds what is wrong with workers, mounts and paths, with the cause as far as this host can tell:
 * from the workers' states and statistics pages, carriers, the plan and the kernel's ARP table. The
 * agent's state, the reasons in tables and replies, metrics and exit statuses follow from this one
 * list. Transient trouble, such as a failover or a worker's restart, is held back for a moment.
 * Checked once a second while there are workers, and whenever a worker changes. Changes nothing but
 * the list.
 */
#ifndef PLENUM_AGENT_HEALTH_H
#define PLENUM_AGENT_HEALTH_H

#include "agent/supervise/supervise.h"
#include "agent/wiring/wiring.h"
#include "netcfg/plan/plan.h"
#include <jansson.h>

#define HEALTH_TEXT_MAX 320
#define HEALTH_KEY_MAX 288
#define HEALTH_LOOK_NS NSEC_PER_SEC
#define HEALTH_START_NS (NSEC_PER_SEC / 10) /* while the agent is starting */

/* In order of importance. Tables show a worker's problem of the first kind; if that is about a leg,
 * also those of its other legs. */
enum health_kind {
	HEALTH_STATE,
	HEALTH_MOUNT,
	HEALTH_CARRIER,
	HEALTH_PORT,
	HEALTH_PAGE,
	HEALTH_PATH,
	HEALTH_LOSS,
	HEALTH_SLOW,
	HEALTH_DROPS,
	HEALTH_LABELS,
	HEALTH_PLAN,
};

struct health_entry {
	uint32_t worker;
	enum health_kind kind;
	char key[HEALTH_KEY_MAX]; /* the mount, leg or peer that it is about; the text may change */
	char text[HEALTH_TEXT_MAX]; /* "code: sentence" */
	uint64_t due_ns;	    /* held back until then */
	uint64_t guess_since_ns; /* since when the cause in `text` is gone and only a guess is left;
				    0: never */
	bool reported_elsewhere; /* a leg's problem reports it already */
	bool seen;
};

/* How often packets were dropped at one place of this host; zeros: nothing known yet. */
struct health_drops {
	uint64_t since_ns, passed, dropped; /* the counters when the window began */
	uint64_t age_ns;		    /* how long the last window took */
	uint64_t window_dropped;	    /* in the last window */
	uint32_t ppm;			    /* of the packets in the last window; 0: none */
	uint8_t bad_run, good_run;	    /* windows in a row */
	bool is_bad;
};

struct health_port { /* of a worker's port */
	uint32_t worker, index;
	struct health_drops missed;
};

struct health {
	struct health_entry *entries;
	size_t n;
	struct health_port *ports;
	size_t n_ports;
};

/* What a check reads. */
struct health_inputs {
	const struct sup *sup;
	const struct mounts *mounts;
	const struct carriers *carriers;
	const struct plan *plan;     /* NULL: none runs */
	const struct wiring *wiring; /* NULL: the wiring is not watched */
	const struct reason *memory; /* of the agent's control group; NULL: none */
	bool starting;		     /* checks are more frequent */
};

void health_done(struct health *h);
/* Checks all workers and updates the list. Returns in how many ns the next check is due, 0: there
 * are no workers; *ret_problems: the reasons that count now, a new reference. */
uint64_t health_check(struct health *h, const struct health_inputs *in, json_t **ret_problems);
/* Whether trouble with a worker or a mount is still held back. */
bool health_waits(const struct health *h);
/* Why a running worker is degraded: its first reason, plus those of its legs where that is about a
 * leg; "": it is not. */
void health_reason(const struct health *h, uint32_t worker, char *buf, size_t size);

/* Why the path to that peer via that leg is down; or, if it is up, why it is degraded. NULL:
 * unknown, or it is not. */
const char *health_path_reason(const struct health *h, uint32_t worker, const char *leg,
			       const char *peer, bool up);

/* ---- health_cause.c: pure, but for the ARP table ---- */

enum health_arp {
	HEALTH_ARP_UNKNOWN, /* not IPv4, not resolved, or not a kernel socket */
	HEALTH_ARP_SILENT,
	HEALTH_ARP_ANSWERS,
	HEALTH_ARP_FIXED, /* a permanent entry: the peer was not asked */
};
#define HEALTH_MAC_MAX 18
/* Looks one address up in a table with the columns of /proc/net/arp; ret_mac: its MAC address, ""
 * if it has none. */
enum health_arp health_arp_find(const char *table, const char *ip, const char *ifname,
				char ret_mac[HEALTH_MAC_MAX]);
/* NULL: the plan, which may be NULL too, has no such leg. */
const struct plan_leg_info *health_plan_leg(const struct plan *p, const char *name);
/* Why that mount's server is silent, as "code: sentence" into buf. page: of the worker. */
void health_explain_silence(const struct launch_config *c, const struct launch_stats *page,
			    const struct plan *plan, const struct launch_mount *m,
			    const struct carriers *carriers, const char *arp_table, char *buf,
			    size_t size);
/* The same for one address via one port, of a peer that answers on another path. */
void health_explain_path(const struct launch_config *c, const struct launch_stats *page,
			 const struct plan *plan, const struct launch_port *port, const char *peer,
			 const char *remote, const char *arp_table, char *buf, size_t size);

/* Packets of a million that a path loses in that direction, if it is lossy; else 0. */
static inline uint64_t health_loss_ppm(const struct launch_path_stats *s, bool out)
{
	if (out)
		return s->lossy_out && s->loss_out_ppm != UINT64_MAX ? s->loss_out_ppm : 0;
	return s->lossy_in && s->loss_in_ppm != UINT64_MAX ? s->loss_in_ppm : 0;
}
/* Whether a leg with working paths to the peer carries no load to it, because no leg of the peer
 * has its label. False where the peer has fewer legs than this host, and on a server's leg that
 * carries load to other clients: then the client has the wrong label and reports it. mounts:
 * whether the peer is the server of a mount of this worker. */
bool health_label_is_unshared(const struct launch_path_stats *paths, size_t n, const char *leg,
			      const char *peer, bool mounts);
/* Why a path that loses packets is degraded, as "code: sentence" into buf. */
void health_explain_loss(const struct launch_path_stats *s, char *buf, size_t size);
/* The same for a path with a long round trip. */
void health_explain_slow(const struct launch_path_stats *s, char *buf, size_t size);

/* ---- health_drops.c: pure ---- */

/* Takes the counters of one place: packets that passed, and that were dropped, since any time; a
 * counter that falls starts again. Judges windows of some seconds, with hysteresis. */
void health_drops_take(struct health_drops *d, uint64_t passed, uint64_t dropped, uint64_t now);
/* "3.1 % of the packets (120 a second)" into buf; returns buf. */
const char *health_drops_format(const struct health_drops *d, char *buf, size_t size);
/* Takes the counters of a worker's port. NULL: it drops few or none. */
const struct health_drops *health_port_drops(struct health *h, uint32_t worker, uint32_t index,
					     const struct launch_port_counters *c, uint64_t now);

#endif
