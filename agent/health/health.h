/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What keeps workers, mounts and paths from being all they were asked to be, with its cause as far
 * as this host can tell: from the workers' states and statistics pages, the carriers, the plan and
 * the kernel's ARP table. The state of the agent, the reasons in tables and answers, the metrics
 * and exit statuses all follow from this one list. What passes by itself within a moment, as a path
 * that is left and taken back or a worker that is restarted, is not in it. Looked at once a second
 * while there are workers, when the first of what is seen counts, and whenever one of them
 * changes. Reads, and changes nothing but the list.
 */
#ifndef PLENUM_AGENT_HEALTH_H
#define PLENUM_AGENT_HEALTH_H

#include "agent/supervise/supervise.h"

#define HEALTH_TEXT_MAX 320
#define HEALTH_KEY_MAX 288
#define HEALTH_LOOK_NS NSEC_PER_SEC
#define HEALTH_START_NS (NSEC_PER_SEC / 10) /* while the agent is starting */

struct agent;

enum health_kind { /* the first of a worker's is its reason in tables, with those of its other legs
		    * where it is one of a leg */
		   HEALTH_STATE,
		   HEALTH_MOUNT,
		   HEALTH_CARRIER,
		   HEALTH_PORT,
		   HEALTH_PAGE,
		   HEALTH_PATH,
		   HEALTH_LABELS,
		   HEALTH_PLAN,
};

struct health_entry {
	uint32_t worker;
	enum health_kind kind;
	char key[HEALTH_KEY_MAX];   /* what of that kind it is about; the text may change */
	char text[HEALTH_TEXT_MAX]; /* "code: sentence" */
	uint64_t due_ns;	    /* from when on it counts */
	bool reported_elsewhere;    /* a leg's state says it already */
	bool seen;
};

struct health {
	struct health_entry *entries;
	size_t n, cap;
	struct loop_source *timer;
	uint64_t next_ns; /* when it fires, where it is armed */
};

int health_init(struct agent *a);
void health_done(struct health *h);
void health_look(struct agent *a);
/* Whether a worker or a mount is not there, but not for so long that it counts. */
bool health_waits(const struct agent *a);
/* Why the worker, which is up, is less than it should be: the first cause, and of a leg's that of
 * each leg; "": it is not. */
void health_reason(const struct agent *a, uint32_t worker, char *buf, size_t size);

/* Why nothing comes from that peer by that leg; NULL: it is not known, or it does. */
const char *health_path_reason(const struct agent *a, uint32_t worker, const char *leg,
			       const char *peer);

/* ---- health_cause.c: pure, but for the ARP table ---- */

enum health_arp {
	HEALTH_ARP_UNKNOWN, /* not IPv4, not asked for, or not the kernel's to know */
	HEALTH_ARP_SILENT,
	HEALTH_ARP_ANSWERS,
};
/* Looks one address up in a table with the columns of /proc/net/arp. */
enum health_arp health_arp_find(const char *table, const char *ip, const char *ifname);
/* Why nothing comes from that mount's server, as "code: sentence" into buf. */
void health_explain_silence(const struct launch_config *c, const struct launch_mount *m,
			    const struct carriers *carriers, const char *arp_table, char *buf,
			    size_t size);
/* The same of one address behind one port, of a peer that answers by another path. */
void health_explain_path(const struct launch_config *c, const struct launch_port *port,
			 const char *peer, const char *remote, const char *arp_table, char *buf,
			 size_t size);

#endif
