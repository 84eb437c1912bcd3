/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the paths to other hosts: echo requests from the legs' data IPs, small ones and ones
 * as large as the leg's MTU. The answers have the same size, so both directions are tested. */
#include "agent/ctl/doctor/doctor.h"

#include <inttypes.h>
#include <string.h>

/* False if no probe was sent; r then says why. */
static bool asked(const struct doctor_host *p, bool gateways, struct doctor_result *r)
{
	if (p->n_skipped > 0 && !gateways)
		doctor_report(r, DOCTOR_UNKNOWN,
			      "%zu probes skipped, too many at once; use --peer HOST",
			      p->n_skipped);
	for (size_t i = 0; i < p->n_probes; i++)
		if (!p->probes[i].peer[0] == gateways)
			return true;
	if (p->no_probes[0])
		doctor_report(r, DOCTOR_UNKNOWN, "%s", p->no_probes);
	else
		doctor_report(r, DOCTOR_PASS,
			      gateways ? "no leg has a gateway" : "no peer is configured");
	return false;
}

static bool answers_anywhere(const struct doctor_host *p, const char *peer)
{
	for (size_t i = 0; i < p->n_probes; i++)
		if (strcmp(p->probes[i].peer, peer) == 0 && p->probes[i].small)
			return true;
	return false;
}

static void run_answers(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	if (!asked(p, false, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];

		if (!e->peer[0] || answers_anywhere(p, e->peer))
			continue;
		doctor_report(r, DOCTOR_FAIL, "peer %s answers on no leg", e->peer);
		doctor_advise(r, "check peer %s there: plenum status; plenum doctor", e->peer);
	}
	doctor_report(r, DOCTOR_PASS, "all peers answer");
}

static void say_lost(const struct doctor_probe *e, const char *whom, struct doctor_result *r)
{
	char from[IP_ADDR_STR_MAX], to[IP_ADDR_STR_MAX];

	doctor_report(r, DOCTOR_WARN, "peer %s does not answer on leg %s (%s to %s)", whom, e->leg,
		      ip_addr_format(&e->from, from, sizeof(from)),
		      ip_addr_format(&e->to, to, sizeof(to)));
	doctor_advise(r, "ip route get %s from %s; check the switches of leg %s",
		      ip_addr_format(&e->to, to, sizeof(to)),
		      ip_addr_format(&e->from, from, sizeof(from)), e->leg);
}

static void run_legs(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (!asked(p, false, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];

		if (e->peer[0] && !e->small && answers_anywhere(p, e->peer))
			say_lost(e, e->peer, r);
	}
	doctor_report(r, DOCTOR_PASS, "all reachable peers answer on all legs");
}

static void run_gateways(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	if (!asked(p, true, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++)
		if (!p->probes[i].peer[0] && !p->probes[i].small)
			say_lost(&p->probes[i], "the gateway", r);
	doctor_report(r, DOCTOR_PASS, "all gateways answer");
}

static void run_mtu(const struct doctor_host *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	if (p->n_probes == 0 && !asked(p, false, r))
		return;
	for (size_t i = 0; i < p->n_probes; i++) {
		const struct doctor_probe *e = &p->probes[i];
		char to[IP_ADDR_STR_MAX];

		if (!e->small || e->full)
			continue;
		doctor_report(r, DOCTOR_FAIL,
			      "%s (%s) answers small packets on leg %s, but not packets of %" PRIu32
			      " bytes",
			      e->peer[0] ? e->peer : "the gateway",
			      ip_addr_format(&e->to, to, sizeof(to)), e->leg, e->bytes);
		doctor_advise(
			r,
			"set the MTU of the switch ports and of the other end to at least %" PRIu32
			", or write a smaller networks[].mtu on all hosts",
			e->bytes);
	}
	doctor_report(r, DOCTOR_PASS,
		      "packets as large as the legs' MTU arrive, in both directions");
}

static const struct doctor_check checks[] = {
	{"peer-answers", "All peers answer", 0, run_answers, NULL},
	{"peer-legs", "Peers answer on all legs", 0, run_legs, NULL},
	{"peer-mtu", "Packets as large as the legs' MTU arrive, in both directions", 0, run_mtu,
	 NULL},
	{"peer-gateways", "All gateways answer", 0, run_gateways, NULL},
};

const struct doctor_subject doctor_peers = DOCTOR_SUBJECT("peers", checks);
