/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of addresses, rules, routes and ARP: packets of a leg must use that leg. The plan compares
 * the settings that it makes itself; these checks find other obstacles. */
#include "agent/ctl/doctor/doctor.h"

#include "netcfg/host/kernel.h"
#include <inttypes.h>
#include <string.h>

#define NEIGHBOURS_MIN 1024

static void run_diverted(const struct doctor_host *p, const struct doctor_check *c,
			 struct doctor_result *r)
{
	for (size_t i = 0; i < p->plan->n_legs; i++) {
		const struct plan_leg_info *leg = &p->plan->legs[i];

		if (strcmp(leg->reason.code, "diverted") != 0)
			continue;
		doctor_report(r, DOCTOR_FAIL, "leg %s: %s", leg->name, leg->reason.text);
		doctor_advise(r, "ip rule; ip route get GATEWAY from DATA-IP; remove the rule or "
				 "route that diverts the packets");
	}
	doctor_report(r, DOCTOR_PASS, "packets from a leg's data IP leave via that leg");
}

/* Returns whether data ports of peers answer. If so, a foreign rule with unknown selectors does no
 * harm. */
static bool all_peers_answer(const struct doctor_host *p)
{
	bool any = false;

	for (size_t i = 0; i < p->n_probes; i++) {
		if (!p->probes[i].peer[0])
			continue;
		if (!doctor_peer_answers(p, &p->probes[i]))
			return false;
		any = true;
	}
	return any;
}

/* Reports a rule that selects by mark, port or similar, because it may match packets of workers. */
static void check_more(const struct doctor_host *p, const struct inv_rule *rule,
		       struct doctor_result *r)
{
	if (all_peers_answer(p))
		return;
	doctor_report(r, DOCTOR_UNKNOWN,
		      "rule %" PRIu32
		      " precedes our rules and selects by more than the source (a mark, a port, an "
		      "interface): whether the rule matches packets of workers is not known",
		      rule->priority);
	doctor_advise(r, "ip rule show pref %" PRIu32, rule->priority);
}

static bool is_foreign(const struct inv_rule *rule)
{
	return rule->proto != PLENUM_RTPROT && rule->priority < PLAN_RULE_PRIORITY &&
	       rule->table != INV_TABLE_LOCAL;
}

/* Finds rules of other programs that come before the agent's rules and match one of this host's
 * data IPs. */
static void run_foreign(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	for (size_t i = 0; i < p->inv->n_rules; i++) {
		const struct inv_rule *rule = &p->inv->rules[i];
		char text[IP_ADDR_STR_MAX];
		bool ours = false;

		if (!is_foreign(rule))
			continue;
		if (!rule->from.addr.family || rule->from.len == 0) {
			if (rule->more)
				check_more(p, rule, r);
			continue;
		}
		for (size_t j = 0; j < p->plan->n_workers; j++)
			for (size_t k = 0; k < p->plan->workers[j].n_ports; k++)
				ours = ours ||
				       ip_prefix_contains(&rule->from,
							  &p->plan->workers[j].ports[k].ip.addr);
		if (!ours)
			continue;
		if (rule->more) {
			check_more(p, rule, r);
			continue;
		}
		doctor_report(r, DOCTOR_WARN,
			      "rule %" PRIu32 " (from %s lookup %" PRIu32 ") precedes our rules",
			      rule->priority, ip_prefix_format(&rule->from, text, sizeof(text)),
			      rule->table);
		doctor_advise(r, "ip rule del pref %" PRIu32, rule->priority);
	}
	doctor_report(r, DOCTOR_PASS, "no foreign rule matches a data IP");
}

static void run_overlap(const struct doctor_host *p, const struct doctor_check *c,
			struct doctor_result *r)
{
	for (size_t i = 0; i < p->inv->n_addrs; i++) {
		const struct inv_addr *a = &p->inv->addrs[i];
		const struct inv_link *l = inv_link_by_index(p->inv, a->ifindex);
		bool is_leg = l && l->kind == INV_LINK_LOOPBACK;
		char text[IP_ADDR_STR_MAX];

		for (size_t j = 0; j < p->plan->n_legs; j++)
			is_leg = is_leg || p->plan->legs[j].ifindex == a->ifindex;
		for (size_t j = 0; j < p->spec->n_networks && l && !is_leg; j++) {
			const struct spec_network *n = &p->spec->networks[j];

			if (!ip_prefix_contains(&a->ip, &n->range.first))
				continue;
			doctor_report(
				r, DOCTOR_WARN, "address %s of %s is in the subnet of network %s",
				ip_prefix_format(&a->ip, text, sizeof(text)), l->name, n->name);
			doctor_advise(r, "give network %s a subnet that no other interface uses",
				      n->name);
		}
	}
	doctor_report(r, DOCTOR_PASS, "no other interface is in the subnet of a data network");
}

static void run_neighbours(const struct doctor_host *p, const struct doctor_check *c,
			   struct doctor_result *r)
{
	static const char file[] = "/proc/sys/net/ipv4/neigh/default/gc_thresh3";
	int64_t n;

	if (doctor_read_number(p, &n, "%s", file) < 0) {
		doctor_report(r, DOCTOR_UNKNOWN, "%s cannot be read here", file);
	} else if (n >= NEIGHBOURS_MIN) {
		doctor_report(r, DOCTOR_PASS, "the kernel keeps up to %" PRId64 " neighbours", n);
	} else {
		doctor_report(r, DOCTOR_WARN, "the kernel keeps only %" PRId64 " neighbours", n);
		doctor_advise(r, "sysctl -w net.ipv4.neigh.default.gc_thresh3=8192");
	}
}

static const struct doctor_check checks[] = {
	{"address-set", "Legs have their data IPs", DOCTOR_NEEDS_PLAN, doctor_run_steps, "addr"},
	{"address-overlap", "Data networks share no subnet with other interfaces",
	 DOCTOR_NEEDS_PLAN, run_overlap, NULL},
	{"route-set", "Each leg has its routes", DOCTOR_NEEDS_PLAN, doctor_run_steps, "route"},
	{"route-rules", "Data IPs are routed by their leg's table", DOCTOR_NEEDS_PLAN,
	 doctor_run_steps, "rule"},
	{"route-diverted", "Packets from a data IP leave via its leg",
	 DOCTOR_NEEDS_PLAN | DOCTOR_NEEDS_APPLIED, run_diverted, NULL},
	{"route-foreign", "No foreign rule matches a data IP", DOCTOR_NEEDS_PLAN, run_foreign,
	 NULL},
	{"arp-announce", "ARP requests carry an address of their leg", DOCTOR_NEEDS_PLAN,
	 doctor_run_steps, "sysctl arp_announce"},
	{"arp-filter", "Only the leg that has an address answers ARP for it", DOCTOR_NEEDS_PLAN,
	 doctor_run_steps, "sysctl arp_filter"},
	{"arp-ignore", "Legs in one subnet answer ARP only for their own addresses",
	 DOCTOR_NEEDS_PLAN, doctor_run_steps, "sysctl arp_ignore"},
	{"arp-table", "The kernel has room for the neighbours of a cluster", 0, run_neighbours,
	 NULL},
	{"setting-rp-filter", "Packets that return via another leg are not dropped",
	 DOCTOR_NEEDS_PLAN, doctor_run_steps, "sysctl /rp_filter"},
	{"setting-linkdown", "Routes of a leg without carrier are not used", DOCTOR_NEEDS_PLAN,
	 doctor_run_steps, "sysctl ignore_routes_with_linkdown"},
	{"setting-promote", "Removing a data IP removes no other address", DOCTOR_NEEDS_PLAN,
	 doctor_run_steps, "sysctl promote_secondaries"},
	{"setting-forwarding", "The kernel does not forward packets for workers", DOCTOR_NEEDS_PLAN,
	 doctor_run_steps, "sysctl forwarding"},
};

const struct doctor_subject doctor_routes = DOCTOR_SUBJECT("addresses and routes", checks);
