/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds problems of workers, mounts and paths, with their causes as far as this host can tell. It
 * reads the workers' states and statistics pages, carriers, the plan and the kernel's ARP table.
 * The agent's state, the reasons in tables and replies, the metrics and the exit statuses are all
 * derived from this one list. A problem that often passes soon, such as during a failover or a
 * worker's restart, is reported only after a delay. The check runs once a second while there are
 * workers, and whenever a worker changes. It changes nothing but the list.
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
#define HEALTH_START_NS (NSEC_PER_SEC / 10) /* interval of checks while the agent is starting */

/* Kinds of problems in order of importance. Tables show a worker's most important problem and, if
 * that concerns a leg, also the problems of its other legs. */
enum health_kind {
	HEALTH_STATE,
	HEALTH_MOUNT,
	HEALTH_CARRIER,
	HEALTH_PORT,
	HEALTH_PAGE,
	HEALTH_PATH,
	HEALTH_REFUSED,
	HEALTH_LOSS,
	HEALTH_SLOW,
	HEALTH_DROPS,
	HEALTH_LABELS,
	HEALTH_PLAN,
};

struct health_entry {
	uint32_t worker;
	enum health_kind kind;
	/* The mount, leg or peer with the problem; stays the same when the text changes. */
	char key[HEALTH_KEY_MAX];
	char text[HEALTH_TEXT_MAX]; /* "code: sentence" */
	uint64_t due_ns;	    /* earliest time of the report */
	/* Time since which every check has found only a guess at the cause that differs from
	 * `text`, each of the same kind. 0: the last check found `text` or a certain cause, or the
	 * problem is not reported yet. */
	uint64_t guess_since_ns;
	uint8_t guess_kind;	 /* see guess_kind() in health_list.c */
	bool reported_elsewhere; /* a problem of the leg already includes it */
	bool seen;
};

/* Packets dropped in one queue: a receive queue of a worker, or a queue of the kernel. Zeroed:
 * nothing is known yet. */
struct health_drops {
	uint64_t since_ns, passed, dropped; /* time and counters at the beginning of the window */
	uint64_t age_ns;		    /* length of the last window */
	uint64_t window_dropped;	    /* packets dropped in the last window */
	uint32_t ppm;		   /* dropped packets per million in the last window; 0: none was
				      dropped */
	uint8_t bad_run, good_run; /* how many windows in a row were bad, or good */
	bool is_bad;
};

struct health_port { /* a port of a worker */
	uint32_t worker, index;
	struct health_drops missed;
};

struct health {
	struct health_entry *entries;
	size_t n;
	struct health_port *ports;
	size_t n_ports;
};

/* The data that a check reads. */
struct health_inputs {
	const struct sup *sup;
	const struct mounts *mounts;
	const struct carriers *carriers;
	const struct spec *spec;     /* NULL: no configuration runs */
	const struct plan *plan;     /* NULL: no configuration runs */
	const struct wiring *wiring; /* NULL: the wiring watch does not run */
	/* Returns whether probes have found that no host answers this leg, which is a problem
	 * already; NULL: nothing is probed. */
	bool (*leg_is_dead)(const void *user, const char *leg);
	const void *user;
	/* Knows why the addresses of a server are unknown; NULL: not used. */
	const struct cluster *cluster;
	const struct reason *memory; /* problem of the agent's control group; NULL: none */
	bool starting;		     /* the agent is starting, so checks are more frequent */
};

void health_done(struct health *h);
/* Checks all workers and updates the list. Returns in how many ns the next check is due, or 0 if
 * there are no workers. *ret_problems: the problems to report now, a new reference. */
uint64_t health_check(struct health *h, const struct health_inputs *in, json_t **ret_problems);
/* Returns whether a problem of a worker or a mount is not reported yet, see due_ns. */
bool health_waits(const struct health *h);
/* Writes to buf why a running worker is degraded: its most important problem and, if that problem
 * concerns a leg, also the problems of its other legs. Writes "" if the worker is not degraded. */
void health_reason(const struct health *h, uint32_t worker, char *buf, size_t size);

/* Returns why the path to that peer through that leg is down or, if it is up, why it is degraded.
 * Returns NULL if it is neither down nor degraded, or if the reason is unknown. */
const char *health_path_reason(const struct health *h, uint32_t worker, const char *leg,
			       const char *peer, bool up);

/* ---- health_cause.c: makes no system calls, except to read the ARP table ---- */

enum health_arp {
	/* the address is not IPv4 or not in the table, or the kernel does not send to it */
	HEALTH_ARP_UNKNOWN,
	HEALTH_ARP_SILENT,
	HEALTH_ARP_ANSWERS,
	HEALTH_ARP_FIXED, /* a permanent entry, so the kernel does not ask for the address */
};
#define HEALTH_MAC_MAX 18
/* Looks up an address in a table with the columns of /proc/net/arp. ret_mac: the MAC address in its
 * entry, or "" if there is none. */
enum health_arp health_arp_find(const char *table, const char *ip, const char *ifname,
				char ret_mac[HEALTH_MAC_MAX]);
/* Returns the leg of the plan, or NULL if the plan has no such leg or is NULL. */
const struct plan_leg_info *health_plan_leg(const struct plan *p, const char *name);
/* Writes to buf why the server of that mount does not answer, as "code: sentence". page: the
 * statistics page of the worker. */
void health_explain_silence(const struct launch_config *c, const struct launch_stats *page,
			    const struct plan *plan, const struct launch_mount *m,
			    const struct carriers *carriers, const char *arp_table, char *buf,
			    size_t size);
/* Explains like health_explain_silence() why one address does not answer through one port although
 * the peer answers on another path. */
void health_explain_path(const struct launch_config *c, const struct launch_stats *page,
			 const struct plan *plan, const struct launch_port *port, const char *peer,
			 const char *remote, const char *arp_table, char *buf, size_t size);

/* Writes to buf, as "code: sentence", that this host refuses to send to that address from that
 * port. Returns false if the host does not refuse, or refuses only because the peer or the gateway
 * does not answer ARP. peer: the name to show. */
bool health_explain_refusal(const struct launch_config *c, const struct launch_stats *page,
			    const struct launch_port *p, const char *peer, const struct ip_addr *to,
			    const char *arp_table, char *buf, size_t size);

/* Returns the packets per million that a path loses in that direction, or 0 if the path is not
 * lossy. */
static inline uint64_t health_loss_ppm(const struct launch_path_stats *s, bool out)
{
	if (out)
		return s->lossy_out && s->loss_out_ppm != UINT64_MAX ? s->loss_out_ppm : 0;
	return s->lossy_in && s->loss_in_ppm != UINT64_MAX ? s->loss_in_ppm : 0;
}
/*
 * Returns whether a leg with working paths to the peer gets no load because no leg of the peer has
 * its label. Returns false if the peer has fewer legs than this host. Also returns false for a
 * server's leg that carries load to other clients: then this client has the wrong label and reports
 * it. mounts: whether the peer is the server of a mount of this worker.
 */
bool health_label_is_unshared(const struct launch_path_stats *paths, size_t n, const char *leg,
			      const char *peer, bool mounts);
/* Writes to buf why a path that loses packets is degraded, as "code: sentence". */
void health_explain_loss(const struct launch_path_stats *s, char *buf, size_t size);
/* Writes to buf why a path with a long round-trip time is degraded, as "code: sentence". */
void health_explain_slow(const struct launch_path_stats *s, char *buf, size_t size);

/* Returns why that mount of a running worker is not served, or why programs do not reach it.
 * Returns NULL if it is served and reached, or if the reason is unknown. */
const char *health_mount_reason(const struct health *h, uint32_t worker, const char *path);

/* ---- health_drops.c: makes no system calls ---- */

/* Updates d from the counters of one queue: packets that passed and packets that were dropped, both
 * counted from any earlier time. A counter that has become smaller has started again from 0.
 * d->is_bad changes only after several windows of some seconds. */
void health_drops_take(struct health_drops *d, uint64_t passed, uint64_t dropped, uint64_t now);
/* Writes a text such as "3.1 % of the packets (120 a second)" to buf, and returns buf. */
const char *health_drops_format(const struct health_drops *d, char *buf, size_t size);
/* Updates the drops of a worker's port from its counters. Returns the drops, borrowed, or NULL if
 * the port drops few packets or none. */
const struct health_drops *health_port_drops(struct health *h, uint32_t worker, uint32_t index,
					     const struct launch_port_counters *c, uint64_t now);

#endif
