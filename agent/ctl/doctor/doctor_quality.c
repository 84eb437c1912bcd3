/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of priorities, flow control and DSCP marks. A setting of this host has an effect only if
 * the other host and the switches between them have the same. */
#include "agent/ctl/doctor/doctor.h"

#include <string.h>

#define ECN_BITS 3

/* Returns the DCB state of a leg's port, or NULL if its driver does not support DCB. */
static const struct inv_dcb *dcb_of(const struct doctor_host *p, size_t leg)
{
	const struct inv_link *l = doctor_leg_link(p, &p->plan->legs[leg]);

	return l ? inv_dcb_find(p->inv, l->ifindex) : NULL;
}

static void compare(const char *what, const char *key, const char *a, const char *leg_a,
		    const char *b, const char *leg_b, struct doctor_result *r)
{
	if (!a[0] || !b[0] || strcmp(a, b) == 0)
		return;
	doctor_report(r, DOCTOR_WARN, "%s differs: %.60s on leg %s, %.60s on leg %s", what, a,
		      leg_a, b, leg_b);
	doctor_advise(r, "write one dcb: {%s: ...} for all legs; plenum apply", key);
}

static void run_same(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	const struct inv_dcb *first = NULL;
	const char *first_name = "";

	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct inv_dcb *d = dcb_of(p, i);
		const char *name = p->plan->legs[i].name;

		if (!d)
			continue;
		if (!first) {
			first = d;
			first_name = name;
			continue;
		}
		compare("priority flow control (pfc)", "pfc", first->pfc, first_name, d->pfc, name,
			r);
		compare("the trusted mark (trust)", "trust", first->trust, first_name, d->trust,
			name, r);
		compare("the mapping of DSCP to priorities", "dscp", first->dscp, first_name,
			d->dscp, name, r);
	}
	if (first)
		doctor_report(r, DOCTOR_PASS, "all legs have the same priority settings");
	else
		doctor_report(r, DOCTOR_PASS, "no leg's driver supports priorities");
}

/* Returns whether the leg depends on marks or on paused priorities. */
static bool relies_on_marks(const struct doctor_host *p, const char *leg)
{
	for (size_t i = 0; p->spec && i < p->spec->n_nets; i++) {
		const struct spec_net *n = &p->spec->nets[i];

		if (strcmp(n->name, leg) == 0)
			return n->dcb.n_dscp > 0 || n->dcb.n_pfc > 0 || n->soft_roce;
	}
	return false;
}

/* Priority flow control works only if both ends of the cable have enabled it for the same
 * priorities. */
static void run_switch(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	bool said = false;

	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const char *leg = p->plan->legs[i].name, *pfc, *name;
		const struct inv_dcb *d = dcb_of(p, i);
		const json_t *n;

		for (size_t k = 0; d && d->pfc[0] && (n = doctor_neighbour(p, leg, k)); k++) {
			pfc = json_string_value(json_object_get(n, "pfc"));
			name = json_string_value(json_object_get(n, "name"));
			said |= pfc != NULL;
			if (!pfc || strcmp(pfc, d->pfc) == 0 ||
			    (strcmp(d->pfc, "none") == 0 && !relies_on_marks(p, leg)))
				continue;
			doctor_report(
				r, DOCTOR_WARN,
				"leg %s has flow control on for priorities %.16s, but %.60s for "
				"%.16s",
				leg, d->pfc, name ? name : "the switch", pfc);
			doctor_advise(r,
				      "set the switch port as on the hosts, or write the switch's "
				      "setting as dcb: {pfc: ...} for the leg; plenum apply");
		}
	}
	doctor_report(r, DOCTOR_PASS, "%s",
		      said ? "legs and switches pause the same priorities"
			   : "no switch reports its paused priorities via LLDP, or no leg's driver "
			     "supports them");
}

/* Returns whether a peer answered an echo request; if not, r has the reason. Answers of gateways do
 * not count, because gateways may change the marks. */
static bool asked(const struct doctor_host *p, struct doctor_result *r)
{
	bool any = false, silent = true;

	for (size_t i = 0; i < p->n_probes; i++) {
		if (p->probes[i].peer[0] && p->probes[i].small)
			return true;
		any = any || p->probes[i].peer[0];
		silent = silent && p->probes[i].port.n_answered == 0;
	}
	if (p->no_probes[0] || p->no_echoes[0])
		doctor_report(r, DOCTOR_UNKNOWN, "%s",
			      p->no_probes[0] ? p->no_probes : p->no_echoes);
	else if (any)
		doctor_report(r, DOCTOR_UNKNOWN, "no peer answers echo requests");
	else
		doctor_report(r, DOCTOR_PASS, "no peer is configured");
	if (any && silent)
		doctor_blame(r, "peer-answers");
	return false;
}

static void run_marked(const struct doctor_host *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	if (!asked(p, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];

		if (!e->peer[0] || !e->small || e->marked)
			continue;
		doctor_report(r, DOCTOR_FAIL,
			      "%s answers on leg %s, but does not answer packets with DSCP %u and "
			      "ECN: these are dropped on the way there or back",
			      e->peer, e->leg, e->tos >> 2);
		doctor_advise(r,
			      "look for a policy for DSCP %u on the switches of leg %s and in the "
			      "firewalls of both hosts",
			      e->tos >> 2, e->leg);
	}
	doctor_report(r, DOCTOR_PASS, "DSCP and ECN marks do not affect delivery");
}

/* A peer's answer has the same mark as the request that arrived at the peer. */
static void run_dscp(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (!asked(p, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];
		bool matters = relies_on_marks(p, e->leg);

		if (!e->peer[0] || !e->marked || e->tos >> 2 == e->answered_tos >> 2)
			continue;
		doctor_report(
			r, matters ? DOCTOR_WARN : DOCTOR_NOTE,
			"DSCP %u comes back from %s on leg %s as %u%s", e->tos >> 2, e->peer,
			e->leg, e->answered_tos >> 2,
			matters ? ": a device on the path changes the DSCP, and so the priority"
				: ", which nothing here relies on");
		if (matters)
			doctor_advise(r,
				      "make the switches of leg %s trust DSCP and keep it, and "
				      "look on both hosts for rules that set the DSCP: nft list "
				      "ruleset; tc filter show",
				      e->leg);
	}
	doctor_report(r, DOCTOR_PASS, "DSCP marks come back unchanged");
}

static void run_ecn(const struct doctor_host *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	if (!asked(p, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];
		bool matters = relies_on_marks(p, e->leg);

		/* Changed bits are no fault: a congested queue marks packets by setting both bits
		 * (CE). */
		if (!e->peer[0] || !e->marked || (e->answered_tos & ECN_BITS))
			continue;
		doctor_report(r, matters ? DOCTOR_WARN : DOCTOR_NOTE,
			      "ECN bits of packets to %s on leg %s are cleared on the path%s",
			      e->peer, e->leg,
			      matters ? ": congestion shows up only as packet loss"
				      : ", which nothing here relies on");
		if (matters)
			doctor_advise(r,
				      "make the switches of leg %s keep ECN bits, and mark queued "
				      "packets (WRED with ECN) in the lossless class",
				      e->leg);
	}
	doctor_report(r, DOCTOR_PASS, "ECN bits come back unchanged");
}

static const struct doctor_check checks[] = {
	{"dcb-set", "Devices have the configured priorities, flow control and modes",
	 DOCTOR_NEEDS_PLAN, doctor_run_steps, "device"},
	{"dcb-same", "All legs have the same priority settings", DOCTOR_NEEDS_PLAN, run_same, NULL},
	{"dcb-switch", "Switches pause the same priorities as the legs",
	 DOCTOR_NEEDS_PLAN | DOCTOR_NEEDS_AGENT, run_switch, NULL},
	{"peer-marked", "Peers answer marked packets", 0, run_marked, NULL},
	{"peer-dscp", "DSCP marks of traffic classes are kept on the path", DOCTOR_NEEDS_SPEC,
	 run_dscp, NULL},
	{"peer-ecn", "ECN marks are kept on the path", DOCTOR_NEEDS_SPEC, run_ecn, NULL},
};

const struct doctor_subject doctor_quality = DOCTOR_SUBJECT("priorities", checks);
