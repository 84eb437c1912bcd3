/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides what to report about a leg if the probes and the paths of workers disagree. */
#include "agent/links/links_judge.h"
#include "agent/links/links_watch.h"
#include <string.h>

bool links_path_counts(bool up, uint64_t heard_ns, uint64_t now)
{
	return up && heard_ns && heard_ns <= now && now - heard_ns < LINKS_PATH_NS;
}

static unsigned paths_of(const struct links_watch_leg *leg, const struct links_evidence *e)
{
	unsigned n = 0;

	for (size_t i = 0; i < e->n_paths; i++)
		n += strcmp(e->paths[i].leg, leg->name) == 0;
	return n;
}

static void judge_unprobed(const struct links_watch_leg *leg, struct links_opinion *ret)
{
	if (leg->error == -ECANCELED)
		reason_set_text(&ret->why, "not probed: cluster.probe-legs is false on this host");
	else if (leg->error == -EADDRNOTAVAIL)
		reason_set_text(&ret->why, "not probed: this host's kernel does not have the "
					   "address of this leg, and no session uses the leg");
	else
		reason_set_text(&ret->why, "not probed: %s", strerror(-leg->error));
}

/* Writes the sentence for a leg that no host answers, with the probable causes. */
static void judge_silent(const struct links_watch_leg *leg, const struct links_evidence *e,
			 struct links_opinion *ret)
{
	const struct links_report *r = &leg->report;

	if (!e->answered) {
		reason_set_text(
			&ret->why,
			"no probe was ever answered on any leg of this host: a firewall may "
			"drop UDP port %d",
			LINKS_PORT);
		return;
	}
	if (r->alone) {
		ret->alone = true;
		reason_set(&ret->why, "leg-unreachable",
			   "none of the %u hosts that %s (%s) asks answers, and no other leg of "
			   "this host gets answers: these hosts are down, or this host is cut off",
			   r->asked, leg->name, leg->ifname);
		return;
	}
	ret->verdict = LINKS_OWN_LEG;
	ret->dead = true;
	reason_set(&ret->why, "leg-unreachable",
		   "none of the %u hosts that %s (%s) asks answers, but other legs get answers; "
		   "check the cable, the switch port and its VLAN",
		   r->asked, leg->name, leg->ifname);
}

void links_judge(const struct links_watch_leg *leg, const struct links_evidence *e,
		 struct links_opinion *ret)
{
	const struct links_report *r = &leg->report;
	const unsigned n_paths = paths_of(leg, e);

	*ret = (struct links_opinion){.verdict = LINKS_UNKNOWN};
	if (!e->carrier) {
		ret->verdict = LINKS_OWN_LEG;
		reason_set(&ret->why, "no-carrier", "%s has no carrier", leg->ifname);
	} else if (leg->error == 0 && r->verdict == LINKS_OK) {
		ret->verdict = LINKS_OK;
	} else if (n_paths > 0) {
		ret->verdict = LINKS_OK;
		ret->by_paths = true;
		reason_set_text(&ret->why, "by sessions: %u %s of workers %s on this leg", n_paths,
				n_paths > 1 ? "paths" : "path", n_paths > 1 ? "work" : "works");
	} else if (leg->error < 0) {
		judge_unprobed(leg, ret);
	} else if (r->verdict == LINKS_OWN_LEG || r->alone || (!e->answered && r->n_faults)) {
		judge_silent(leg, e, ret);
	} else if (r->ifindex && r->known == 0) {
		reason_set_text(&ret->why,
				"not probed: no other host of the cluster is known on this leg");
	} else if (r->n_faults) {
		reason_set_text(&ret->why,
				"%s does not answer, and no third host was available to find out "
				"whether its leg or the leg of this host is at fault",
				r->faults[0].host);
	}
}

enum links_verdict links_judge_fault(const struct links_watch_leg *leg,
				     const struct links_report_fault *f,
				     const struct links_evidence *e)
{
	for (size_t i = 0; i < e->n_paths; i++) {
		const struct links_path *p = &e->paths[i];

		/* Another worker of the peer may have another address in the same subnet. */
		if (strcmp(p->leg, leg->name) == 0 &&
		    (ip_addr_equal(&p->remote, &f->ip) ||
		     (strcmp(p->peer, f->host) == 0 && ip_prefix_contains(&leg->ip, &p->remote))))
			return LINKS_OK;
	}
	/* If no probe was ever answered, a firewall may drop all probes. */
	return e->answered ? (enum links_verdict)f->verdict : LINKS_UNKNOWN;
}
