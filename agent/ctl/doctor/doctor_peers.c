/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the way to other hosts: echo requests from the data IPs of the legs, small and as large
 * as the legs carry, whose answers are as large and so try both directions. */
#include "agent/ctl/doctor/doctor.h"

#include <inttypes.h>
#include <string.h>

/* False where nothing was asked, which r then says. */
static bool asked(const struct doctor_picture *p, bool gateways, struct doctor_result *r)
{
	if (p->n_unasked > 0 && !gateways)
		doctor_say(r, DOCTOR_UNKNOWN,
			   "%zu more ways to peers than are asked at once: see "
			   "--peer HOST",
			   p->n_unasked);
	for (size_t i = 0; i < p->n_echoes; i++)
		if (!p->echoes[i].peer[0] == gateways)
			return true;
	if (p->no_echoes[0])
		doctor_say(r, DOCTOR_UNKNOWN, "%s", p->no_echoes);
	else
		doctor_say(r, DOCTOR_PASS,
			   gateways ? "no leg has a gateway" : "no peer is configured");
	return false;
}

static bool answers_anywhere(const struct doctor_picture *p, const char *peer)
{
	for (size_t i = 0; i < p->n_echoes; i++)
		if (strcmp(p->echoes[i].peer, peer) == 0 && p->echoes[i].small)
			return true;
	return false;
}

static void run_answers(const struct doctor_picture *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	if (!asked(p, false, r))
		return;
	for (size_t i = 0; i < p->n_echoes; i++) {
		const struct doctor_echo *e = &p->echoes[i];

		if (!e->peer[0] || answers_anywhere(p, e->peer))
			continue;
		doctor_say(r, DOCTOR_FAIL, "%s answers on no leg", e->peer);
		doctor_advise(r, "plenum status and plenum doctor on %s", e->peer);
	}
	doctor_say(r, DOCTOR_PASS, "all peers answer");
}

static void say_lost(const struct doctor_echo *e, const char *whom, struct doctor_result *r)
{
	char from[IP_ADDR_STR_MAX], to[IP_ADDR_STR_MAX];

	doctor_say(r, DOCTOR_WARN, "%s does not answer on leg %s (%s to %s)", whom, e->leg,
		   ip_addr_format(&e->from, from, sizeof(from)),
		   ip_addr_format(&e->to, to, sizeof(to)));
	doctor_advise(r, "ip route get %s from %s; look at the switches of leg %s",
		      ip_addr_format(&e->to, to, sizeof(to)),
		      ip_addr_format(&e->from, from, sizeof(from)), e->leg);
}

static void run_legs(const struct doctor_picture *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	if (!asked(p, false, r))
		return;
	for (size_t i = 0; i < p->n_echoes; i++) {
		const struct doctor_echo *e = &p->echoes[i];

		if (e->peer[0] && !e->small && answers_anywhere(p, e->peer))
			say_lost(e, e->peer, r);
	}
	doctor_say(r, DOCTOR_PASS, "who answers does so on all legs");
}

static void run_gateways(const struct doctor_picture *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	if (!asked(p, true, r))
		return;
	for (size_t i = 0; i < p->n_echoes; i++)
		if (!p->echoes[i].peer[0] && !p->echoes[i].small)
			say_lost(&p->echoes[i], "the gateway", r);
	doctor_say(r, DOCTOR_PASS, "all gateways answer");
}

static void run_mtu(const struct doctor_picture *p, const struct doctor_check *c,
		    struct doctor_result *r)
{
	if (p->n_echoes == 0 && !asked(p, false, r))
		return;
	for (size_t i = 0; i < p->n_echoes; i++) {
		const struct doctor_echo *e = &p->echoes[i];
		char to[IP_ADDR_STR_MAX];

		if (!e->small || e->full)
			continue;
		doctor_say(r, DOCTOR_FAIL,
			   "%s (%s) answers small packets on leg %s, and none of %" PRIu32 " bytes",
			   e->peer[0] ? e->peer : "the gateway",
			   ip_addr_format(&e->to, to, sizeof(to)), e->leg, e->bytes);
		doctor_advise(r,
			      "set the MTU of the switch's ports and of the other end to %" PRIu32
			      " or more, or write a smaller networks[].mtu on all hosts",
			      e->bytes);
	}
	doctor_say(r, DOCTOR_PASS, "packets as large as the legs carry come and go");
}

static const struct doctor_check checks[] = {
	{"peer-answers", "All peers answer", 0, run_answers, NULL},
	{"peer-legs", "Peers answer on all legs", 0, run_legs, NULL},
	{"peer-mtu", "Packets as large as the legs carry come and go", 0, run_mtu, NULL},
	{"peer-gateways", "All gateways answer", 0, run_gateways, NULL},
};

const struct doctor_subject doctor_peers = DOCTOR_SUBJECT("peers", checks);
