/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides what the monitor says about a leg, from its carrier, from the paths of workers that use
 * it, and from the probes. A path of a worker carries the real traffic, so it counts more than
 * probes, which a firewall may drop. The functions hold no state.
 */
#ifndef PLENUM_AGENT_LINKS_JUDGE_H
#define PLENUM_AGENT_LINKS_JUDGE_H

#include "agent/base/links_report.h"
#include "netcfg/base/reason.h"

/* On an idle path that works, a packet of the peer arrives every 4 s. */
#define LINKS_PATH_NS (5 * NSEC_PER_SEC)
#define LINKS_PATHS_MAX 4096 /* maximum number of paths that are considered */

struct links_path { /* a path of a worker */
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX];
	struct ip_addr remote;
};

struct links_opinion {
	enum links_verdict verdict; /* LINKS_UNKNOWN, LINKS_OK or LINKS_OWN_LEG */
	bool by_paths; /* the verdict comes from the paths of workers, not from probes */
	bool dead;     /* no host answers the leg, which is a problem of this host */
	bool alone;    /* no host answers any leg, although hosts have answered before */
	struct reason why;
};

struct links_evidence {
	const struct links_path *paths; /* only paths that links_path_counts() accepts */
	size_t n_paths;
	bool carrier;
	bool answered; /* whether a probe on any leg was answered since the agent's start */
};

struct links_watch_leg;

/* Returns whether the path is up and its peer was heard lately. */
bool links_path_counts(bool up, uint64_t heard_ns, uint64_t now);
void links_judge(const struct links_watch_leg *leg, const struct links_evidence *e,
		 struct links_opinion *ret);
/* Returns the verdict about the leg of another host that does not answer probes. It is LINKS_OK if
 * a path of a worker leads there. */
enum links_verdict links_judge_fault(const struct links_watch_leg *leg,
				     const struct links_report_fault *f,
				     const struct links_evidence *e);

#endif
