/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the bond that the legs may form: its ports, its switches and its settings. */
#include "agent/ctl/doctor/doctor.h"
#include "netcfg/host/bond_setting.h"

#include <inttypes.h>
#include <string.h>

#define FAILURES_MAX 10

/* Returns the bond of the plan's legs. If the plan has no bond, returns NULL, and r has the reason.
 */
static const struct inv_bond *find_bond(const struct doctor_host *p, struct doctor_result *r)
{
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct inv_link *l = doctor_leg_link(p, &p->plan->legs[i]);
		const struct inv_bond *b = l ? doctor_link_bond(p, l->ifindex) : NULL;

		if (b)
			return b;
	}
	if (spec_has_bond(p->spec))
		doctor_report(r, DOCTOR_UNKNOWN, "the configured bond does not exist");
	else
		doctor_report(r, DOCTOR_PASS, "the legs are not bonded");
	return NULL;
}

#define EACH_PORT(p, b, at)                                            \
	for (const struct inv_bond_port *at = (p)->inv->bond_ports;    \
	     at < (p)->inv->bond_ports + (p)->inv->n_bond_ports; at++) \
		if (at->bond == (b)->ifindex)

static const char *name_of(const struct doctor_host *p, uint32_t ifindex)
{
	const struct inv_link *l = inv_link_by_index(p->inv, ifindex);

	return l ? l->name : "?";
}

static void run_ports(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	const struct inv_bond *b = find_bond(p, r);
	size_t n = 0;

	if (!b)
		return;
	EACH_PORT(p, b, at)
	{
		n++;
		if (at->link_up)
			continue;
		doctor_report(r, DOCTOR_FAIL, "port %s of bond %s carries no traffic",
			      name_of(p, at->ifindex), name_of(p, b->ifindex));
		doctor_advise(r, "check the cable of %s and the switch port",
			      name_of(p, at->ifindex));
	}
	if (n < 2) {
		doctor_report(r, DOCTOR_WARN, "bond %s has %zu ports, at least 2 are needed",
			      name_of(p, b->ifindex), n);
		doctor_advise(r, "plenum net add DEVICE");
	}
	doctor_report(r, DOCTOR_PASS, "all %zu ports of bond %s carry traffic", n,
		      name_of(p, b->ifindex));
}

static bool is_zero(const struct mac_addr *m)
{
	static const struct mac_addr zero;

	return memcmp(m, &zero, sizeof(zero)) == 0;
}

static void run_partner(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	const struct inv_bond *b = find_bond(p, r);
	char text[MAC_ADDR_STR_MAX];

	if (!b)
		return;
	if (b->setting.mode != INV_BOND_LACP) {
		doctor_report(r, DOCTOR_PASS, "the bond does not use LACP: it has no partner");
	} else if (!is_zero(&b->partner)) {
		doctor_report(r, DOCTOR_PASS, "the LACP partner is switch %s",
			      mac_addr_format(&b->partner, text, sizeof(text)));
	} else {
		doctor_report(r, DOCTOR_FAIL, "no switch answers %s via LACP",
			      name_of(p, b->ifindex));
		doctor_advise(r, "configure the switch ports as one LACP group (802.3ad, active)");
	}
}

static void run_aggregator(const struct doctor_host *p, const struct doctor_check *c,
			   struct doctor_result *r)
{
	const struct inv_bond *b = find_bond(p, r);

	if (!b)
		return;
	EACH_PORT(p, b, at)
	{
		if (b->setting.mode != INV_BOND_LACP || at->aggregator == b->aggregator)
			continue;
		doctor_report(r, DOCTOR_FAIL, "port %s is in another LACP group (%u) than %s (%u)",
			      name_of(p, at->ifindex), at->aggregator, name_of(p, b->ifindex),
			      b->aggregator);
		doctor_advise(r, "put the switch port of %s into the same LACP group as the others",
			      name_of(p, at->ifindex));
	}
	doctor_report(r, DOCTOR_PASS, "all ports are in one LACP group");
}

static void run_switches(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	const struct inv_bond *b = find_bond(p, r);
	const struct inv_bond_port *first = NULL;

	if (!b)
		return;
	EACH_PORT(p, b, at)
	{
		if (b->setting.mode != INV_BOND_LACP || is_zero(&at->partner_mac))
			continue;
		if (first &&
		    memcmp(&first->partner_mac, &at->partner_mac, sizeof(at->partner_mac)) != 0) {
			doctor_report(
				r, DOCTOR_FAIL,
				"ports %s and %s are at two switches that are not an LACP pair",
				name_of(p, first->ifindex), name_of(p, at->ifindex));
			doctor_advise(r, "join the switches for LACP (MLAG, vPC), or write ha: "
					 "{mode: dual-leg}");
		}
		first = at;
	}
	doctor_report(r, DOCTOR_PASS, "all ports reach the same switch");
}

static void run_churn(const struct doctor_host *p, const struct doctor_check *c,
		      struct doctor_result *r)
{
	const struct inv_bond *b = find_bond(p, r);

	if (!b)
		return;
	EACH_PORT(p, b, at)
	{
		if (!at->churned)
			continue;
		doctor_report(r, DOCTOR_WARN, "port %s and its switch have not agreed on LACP",
			      name_of(p, at->ifindex));
		doctor_advise(
			r, "compare the switch's LACP settings of this port with the other ports");
	}
	doctor_report(r, DOCTOR_PASS, "all ports agree with their switch on LACP");
}

/* The kernel sees only the carriers of a static bond's ports. A switch that has not joined its
 * ports into one LAG is noticed because it sends the bond's broadcasts back on the other ports. */
static void run_echo(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	const struct inv_bond *b = find_bond(p, r);
	size_t n = 0;

	if (!b)
		return;
	if (!doctor_bond_is_static(b)) {
		doctor_report(r, DOCTOR_PASS, "the bond needs no static LAG at the switch");
		return;
	}
	for (size_t i = 0; i < p->n_arps; i++) {
		const struct doctor_arp *a = &p->arps[i];

		if (a->kind != DOCTOR_ARP_ECHO)
			continue;
		n++;
		if (!a->q.taken || memcmp(&a->q.by, &a->q.mac, sizeof(a->q.by)) != 0)
			continue;
		doctor_report(r, DOCTOR_FAIL,
			      "bond %s receives its own broadcasts: the switch has not joined the "
			      "ports into one static LAG",
			      name_of(p, b->ifindex));
		doctor_advise(r, "join the switch ports into one LAG without LACP (mode on), or "
				 "write ha: {mode: active-backup}");
	}
	if (p->no_arps[0] || n == 0)
		doctor_report(r, DOCTOR_UNKNOWN, "%s",
			      p->no_arps[0] ? p->no_arps : "the bond has no carrier");
	doctor_report(r, DOCTOR_PASS, "no broadcast of bond %s comes back to it",
		      name_of(p, b->ifindex));
}

static void run_failures(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	const struct inv_bond *b = find_bond(p, r);

	if (!b)
		return;
	EACH_PORT(p, b, at)
	{
		if (at->failures <= FAILURES_MAX)
			continue;
		doctor_report(r, DOCTOR_WARN, "port %s lost its link %" PRIu32 " times",
			      name_of(p, at->ifindex), at->failures);
		doctor_advise(r, "check the cable of %s and the log of its switch",
			      name_of(p, at->ifindex));
	}
	doctor_report(r, DOCTOR_PASS, "no port of the bond loses its link often");
}

static void run_hash(const struct doctor_host *p, const struct doctor_check *c,
		     struct doctor_result *r)
{
	const struct inv_bond *b = find_bond(p, r);

	if (!b)
		return;
	/* The value 0 is layer2 (networking/bonding in the kernel's documentation), with which
	 * traffic between two hosts uses only one link. */
	if (!bond_attr_applies(BOND_HASH, b->setting.mode) ||
	    p->spec->bond.hash != SPEC_HASH_LAYER2) {
		doctor_report(r, DOCTOR_PASS, "the hash policy is %s",
			      spec_hash_to_string(p->spec->bond.hash));
		return;
	}
	doctor_report(
		r, DOCTOR_WARN,
		"the hash policy uses MAC addresses: traffic between two hosts uses one port only");
	doctor_advise(r, "write ha.bond.hash: layer3+4");
}

static const struct doctor_check checks[] = {
	{"bond-set", "The bond has its configured settings", DOCTOR_NEEDS_PLAN, doctor_run_steps,
	 "bond-value"},
	{"bond-ports", "All ports of the bond carry traffic", DOCTOR_NEEDS_PLAN, run_ports, NULL},
	{"bond-partner", "A switch answers the bond via LACP", DOCTOR_NEEDS_PLAN, run_partner,
	 NULL},
	{"bond-group", "All ports of the bond are in one LACP group", DOCTOR_NEEDS_PLAN,
	 run_aggregator, NULL},
	{"bond-switches", "The ports of the bond reach one switch, or a pair", DOCTOR_NEEDS_PLAN,
	 run_switches, NULL},
	{"bond-echo", "A static bond does not receive its own broadcasts", DOCTOR_NEEDS_PLAN,
	 run_echo, NULL},
	{"bond-terms", "The ports of the bond agree with their switch on LACP", DOCTOR_NEEDS_PLAN,
	 run_churn, NULL},
	{"bond-steady", "The ports of the bond keep their links", DOCTOR_NEEDS_PLAN, run_failures,
	 NULL},
	{"bond-hash", "The bond spreads traffic to one host over its ports", DOCTOR_NEEDS_PLAN,
	 run_hash, NULL},
};

const struct doctor_subject doctor_bond = DOCTOR_SUBJECT("bond", checks);
