/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of priorities, flow control and marks: what one host sets is worth nothing where the
 * other, or a switch between them, treats it otherwise. */
#include "agent/ctl/doctor/doctor.h"

#include <string.h>

#define ECN_BITS 3

/* Of a leg's port in the kernel; NULL: its driver has none. */
static const struct inv_dcb *dcb_of(const struct doctor_picture *p, size_t leg)
{
	const struct inv_link *l = doctor_leg_link(p, &p->plan->legs[leg]);

	return l ? inv_dcb_find(p->inv, l->ifindex) : NULL;
}

static void compare(const char *what, const char *key, const char *a, const char *leg_a,
		    const char *b, const char *leg_b, struct doctor_result *r)
{
	if (!a[0] || !b[0] || strcmp(a, b) == 0)
		return;
	doctor_say(r, DOCTOR_WARN, "%s is %.60s on leg %s and %.60s on leg %s", what, a, leg_a, b,
		   leg_b);
	doctor_advise(r, "write one dcb: {%s: ...} for all legs; plenum apply", key);
}

static void run_same(const struct doctor_picture *p, const struct doctor_check *c,
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
		compare("flow control", "pfc", first->pfc, first_name, d->pfc, name, r);
		compare("what is trusted", "trust", first->trust, first_name, d->trust, name, r);
		compare("the priority by DSCP", "dscp", first->dscp, first_name, d->dscp, name, r);
	}
	if (first)
		doctor_say(r, DOCTOR_PASS, "legs with priorities have the same");
	else
		doctor_say(r, DOCTOR_PASS, "no leg's driver has priorities of its own");
}

/* Whether what a mark says, or that priorities are paused, matters on this leg. */
static bool relies_on_marks(const struct doctor_picture *p, const char *leg)
{
	for (size_t i = 0; p->spec && i < p->spec->n_nets; i++) {
		const struct spec_net *n = &p->spec->nets[i];

		if (strcmp(n->name, leg) == 0)
			return n->dcb.n_dscp > 0 || n->dcb.n_pfc > 0 || n->soft_roce;
	}
	return false;
}

/* A pause that one end of a cable asks for and the other does not know is no pause. */
static void run_switch(const struct doctor_picture *p, const struct doctor_check *c,
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
			doctor_say(r, DOCTOR_WARN,
				   "leg %s has flow control for priorities %.16s, and the port of "
				   "%.60s that it is on for %.16s",
				   leg, d->pfc, name ? name : "the switch", pfc);
			doctor_advise(r,
				      "set the switch's port to that of the hosts, or write dcb: "
				      "{pfc: ...} for the leg as the switch has it; plenum apply");
		}
	}
	doctor_say(r, DOCTOR_PASS, "%s",
		   said ? "legs and switches pause the same priorities"
			: "no switch tells by LLDP which priorities it pauses, or no leg's driver "
			  "has any");
}

/* What is marked is asked of peers alone: gateways may answer as they like. */
static bool asked(const struct doctor_picture *p, struct doctor_result *r)
{
	for (size_t i = 0; i < p->n_echoes; i++)
		if (p->echoes[i].peer[0] && p->echoes[i].small)
			return true;
	doctor_say(r, p->no_echoes[0] ? DOCTOR_UNKNOWN : DOCTOR_PASS, "%s",
		   p->no_echoes[0] ? p->no_echoes : "no peer answers at all");
	return false;
}

static void run_marked(const struct doctor_picture *p, const struct doctor_check *c,
		       struct doctor_result *r)
{
	if (!asked(p, r))
		return;
	for (size_t i = 0; i < p->n_echoes; i++) {
		const struct doctor_echo *e = &p->echoes[i];

		if (!e->peer[0] || !e->small || e->marked)
			continue;
		doctor_say(r, DOCTOR_FAIL,
			   "%s answers on leg %s, but not what is marked with DSCP %u and ECN: it "
			   "is dropped on the way there or back",
			   e->peer, e->leg, e->tos >> 2);
		doctor_advise(r,
			      "look for a policy about DSCP %u on the switches of leg %s, and in "
			      "the firewalls of both hosts",
			      e->tos >> 2, e->leg);
	}
	doctor_say(r, DOCTOR_PASS, "what is marked comes and goes as what is not");
}

/* An echo comes back with the mark that it arrived with. */
static void run_dscp(const struct doctor_picture *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (!asked(p, r))
		return;
	for (size_t i = 0; i < p->n_echoes; i++) {
		const struct doctor_echo *e = &p->echoes[i];
		bool matters = relies_on_marks(p, e->leg);

		if (!e->peer[0] || !e->marked || e->tos >> 2 == e->answered_tos >> 2)
			continue;
		doctor_say(r, matters ? DOCTOR_WARN : DOCTOR_PASS,
			   "DSCP %u comes back from %s on leg %s as %u%s", e->tos >> 2, e->peer,
			   e->leg, e->answered_tos >> 2,
			   matters ? ": somebody on the way changes it, and the priority with it"
				   : ", which nothing here relies on");
		if (matters)
			doctor_advise(
				r,
				"have the switches of leg %s trust DSCP and leave it as it is, and "
				"look for rules that set it on both hosts: nft list ruleset; tc "
				"filter show",
				e->leg);
	}
	doctor_say(r, DOCTOR_PASS, "marks come back as they were sent");
}

static void run_ecn(const struct doctor_picture *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	if (!asked(p, r))
		return;
	for (size_t i = 0; i < p->n_echoes; i++) {
		const struct doctor_echo *e = &p->echoes[i];
		bool matters = relies_on_marks(p, e->leg);

		/* A queue on the way may have marked it: that is what the bits are for. */
		if (!e->peer[0] || !e->marked || (e->answered_tos & ECN_BITS))
			continue;
		doctor_say(r, matters ? DOCTOR_WARN : DOCTOR_PASS,
			   "ECN bits of what is sent to %s on leg %s are cleared on the way%s",
			   e->peer, e->leg,
			   matters ? ": congestion is noticed by loss alone"
				   : ", which nothing here relies on");
		if (matters)
			doctor_advise(r,
				      "have the switches of leg %s leave ECN bits alone, and mark "
				      "what waits (WRED with ECN) in the lossless class",
				      e->leg);
	}
	doctor_say(r, DOCTOR_PASS, "ECN bits come and go");
}

static const struct doctor_check checks[] = {
	{"dcb-set", "Devices have the priorities, flow control and modes that are configured",
	 DOCTOR_WANTS_PLAN, doctor_run_steps, "device"},
	{"dcb-same", "All legs treat priorities alike", DOCTOR_WANTS_PLAN, run_same, NULL},
	{"dcb-switch", "Switches pause the priorities that legs do",
	 DOCTOR_WANTS_PLAN | DOCTOR_WANTS_AGENT, run_switch, NULL},
	{"peer-marked", "Peers answer what is marked, too", 0, run_marked, NULL},
	{"peer-dscp", "Marks of traffic classes come and go unchanged", DOCTOR_WANTS_SPEC, run_dscp,
	 NULL},
	{"peer-ecn", "Congestion can be marked on the way", DOCTOR_WANTS_SPEC, run_ecn, NULL},
};

const struct doctor_subject doctor_quality = DOCTOR_SUBJECT("priorities", checks);
