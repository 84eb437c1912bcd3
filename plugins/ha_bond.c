/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The modes in which the devices are ports of one bond: IEEE 802.1AX with the switch (lacp), or one
 * active port and standby ports (active-backup). This file checks spec and host for both modes and
 * reports why a port carries no data. netcfg/feature/plan_bond.h plans the links, and
 * ha_backup_vf.c handles active-backup of devices with VFs.
 */
#include "netcfg/feature/plan_bond.h"
#include "plugins/plugins.h"
#include <stdio.h>
#include <string.h>

#define ALLOW_SEVERAL_NICS "several-nics"
#define MIIMON_MS 100 /* interval at which the kernel checks the ports' carriers */

/* ---- rules of the spec ---- */

static const struct spec_net *net_named(const struct spec *s, const char *name)
{
	for (size_t i = 0; i < s->n_nets; i++)
		if (strcmp(s->nets[i].name, name) == 0)
			return &s->nets[i];
	return NULL;
}

static void check_ports(const struct spec *s, struct diag *d)
{
	const char *mode = spec_ha_to_string(s->ha);
	const struct spec_net *with_ips = NULL;

	if (s->n_nets < 2)
		diag_add(d, DIAG_ERROR, &s->ha_pos, "ha.mode",
			 "%s needs at least two devices; add them to net", mode);
	for (size_t i = 0; i < s->n_nets; i++) {
		const struct spec_net *net = &s->nets[i];

		if (strcmp(net->network, s->nets[0].network) != 0)
			ha_net_error(d, s, i, "network",
				     "with %s all devices must be on one network; write '%s'", mode,
				     s->nets[0].network);
		if (net->vfs > 0 && s->ha == SPEC_HA_LACP)
			ha_net_error(d, s, i, "vfs",
				     "%s and VFs exclude each other; write 'vfs: 0', or mode: "
				     "dual-leg or active-backup",
				     mode);
		if (net->n_ips && with_ips)
			ha_net_error(d, s, i, "ips",
				     "with %s the devices share one list of addresses, which '%s' "
				     "has; remove this one",
				     mode, with_ips->name);
		with_ips = net->n_ips ? net : with_ips;
	}
}

static void check_allow(const struct spec *s, struct diag *d, const char *known)
{
	for (size_t i = 0; i < s->n_ha_allow; i++) {
		if (known && strcmp(s->ha_allow[i], known) == 0)
			continue;
		if (known)
			diag_add(d, DIAG_ERROR, &s->ha_pos, "ha.allow",
				 "mode %s has no restriction '%s' that could be lifted; write %s",
				 spec_ha_to_string(s->ha), s->ha_allow[i], known);
		else
			diag_add(d, DIAG_ERROR, &s->ha_pos, "ha.allow",
				 "it has no effect with mode %s; remove it",
				 spec_ha_to_string(s->ha));
	}
}

static void check_lacp(const struct spec *s, struct diag *d)
{
	check_ports(s, d);
	ha_refuse_hold(s, d);
	check_allow(s, d, ALLOW_SEVERAL_NICS);
	if (s->bond.primary[0] || s->bond.reselect != SPEC_RESELECT_ALWAYS)
		diag_add(d, DIAG_ERROR, &s->bond.pos, "ha.bond",
			 "primary and reselect need mode active-backup; with lacp all ports carry "
			 "data; remove them");
	if (s->bond.min_links > s->n_nets)
		diag_add(d, DIAG_ERROR, &s->bond.pos, "ha.bond.min-links",
			 "asks for %u ports, but net has %zu; write at most %zu", s->bond.min_links,
			 s->n_nets, s->n_nets);
}

static void check_backup(const struct spec *s, struct diag *d)
{
	check_ports(s, d);
	check_allow(s, d, NULL);
	if (ha_is_backup_of_vfs(s)) {
		ha_backup_vf_check(s, d);
		return;
	}
	ha_refuse_hold(s, d);
	if (s->bond.hash != SPEC_HASH_LAYER34 || s->bond.rate != SPEC_LACP_FAST ||
	    s->bond.select != SPEC_SELECT_STABLE || s->bond.min_links > 1)
		diag_add(d, DIAG_ERROR, &s->bond.pos, "ha.bond",
			 "hash, rate, select and min-links need mode lacp; with active-backup one "
			 "port carries data; remove them");
	if (s->bond.primary[0] && !net_named(s, s->bond.primary))
		diag_add(d, DIAG_ERROR, &s->bond.pos, "ha.bond.primary",
			 "no device is called '%s'; write the name of one under net",
			 s->bond.primary);
	if (!s->bond.primary[0] && s->bond.reselect != SPEC_RESELECT_ALWAYS)
		diag_add(d, DIAG_ERROR, &s->bond.pos, "ha.bond.reselect",
			 "reselect needs a primary; write primary too");
}

/* ---- rules of the host ---- */

/* Whether both are functions of one NIC. The PCI addresses of such functions, such as
 * "0000:3b:00.1", differ only behind the dot. A device without a PCI address does not count as
 * another NIC. */
static bool same_nic(const struct inv_link *a, const struct inv_link *b)
{
	const size_t len = strcspn(a->pci, ".");

	return !a->pci[0] || !b->pci[0] ||
	       (len == strcspn(b->pci, ".") && memcmp(a->pci, b->pci, len) == 0);
}

/* lacp over two NICs is refused, because the link would depend on the failures, firmware and queues
 * of two devices. */
static void check_nics(struct plan_builder *b)
{
	const struct inv_link *first = NULL;

	if (b->given->n_ha_allow)
		return;
	for (size_t i = 0; i < b->bond.n_members; i++) {
		const struct inv_link *l = inv_link_by_index(b->inv, b->bond.members[i].ifindex);

		if (l && first && !same_nic(first, l))
			diag_add(b->d, DIAG_ERROR, &b->bond.members[i].net->pos, "ha.mode",
				 "lacp needs ports of one NIC, but %s (%s) and %s (%s) are on "
				 "different NICs; write allow: [" ALLOW_SEVERAL_NICS
				 "] under ha, or mode: dual-leg",
				 l->name, l->pci, first->name, first->pci);
		first = first ? first : l;
	}
}

/* ---- reasons ---- */

static bool mac_is_set(const struct mac_addr *m)
{
	static const struct mac_addr none;

	return memcmp(m, &none, sizeof(none)) != 0;
}

/* Finds another port that carries data but is connected to another switch than p. Returns NULL if
 * there is none. */
static const struct plan_member *other_switch(const struct plan_builder *b,
					      const struct inv_bond_port *p)
{
	for (size_t i = 0; mac_is_set(&p->partner_mac) && i < b->bond.n_members; i++) {
		const struct inv_bond_port *other = plan_bond_port(b, &b->bond.members[i]);

		if (other && mac_is_set(&other->partner_mac) &&
		    memcmp(&other->partner_mac, &p->partner_mac, sizeof(p->partner_mac)) != 0 &&
		    (other->actor & INV_LACP_DISTRIBUTING))
			return &b->bond.members[i];
	}
	return NULL;
}

static void explain_apart(const struct plan_builder *b, const struct plan_member *m,
			  const struct inv_bond_port *p, struct reason *why)
{
	const struct plan_member *other = other_switch(b, p);
	char mine[MAC_ADDR_STR_MAX], theirs[MAC_ADDR_STR_MAX];

	if (!other) {
		reason_set(why, "lacp-apart",
			   "%s: the switch has port %s in another LAG than the other ports, or in "
			   "none, so it carries no data; fix the switch's configuration",
			   b->bond.name, m->ifname);
		return;
	}
	mac_addr_format(&p->partner_mac, mine, sizeof(mine));
	mac_addr_format(&plan_bond_port(b, other)->partner_mac, theirs, sizeof(theirs));
	reason_set(why, "two-switches",
		   "%s: %s is on switch %s, %s on %s, which are not an MLAG pair, so only one "
		   "carries data; join them, or write mode: dual-leg",
		   b->bond.name, m->ifname, mine, other->ifname, theirs);
}

/* Writes into `why` why the port carries no data. Returns false if it does carry data. */
static bool explain_port(const struct plan_builder *b, const struct plan_member *m,
			 const struct inv_bond_port *p, struct reason *why)
{
	const struct inv_link *l = inv_link_by_index(b->inv, m->ifindex);
	const bool lacp = b->bond.setting.mode == INV_BOND_LACP;

	if (!l->carrier || !p->link_up)
		reason_set(why, "port-down",
			   "%s: port %s has no carrier; check the cable and the peer port",
			   b->bond.name, m->ifname);
	else if (lacp && (p->actor & INV_LACP_DEFAULTED))
		reason_set(why, "no-lacp",
			   "%s: the switch behind %s sends no LACP; enable it there", b->bond.name,
			   m->ifname);
	else if (lacp && (p->actor & INV_LACP_EXPIRED))
		reason_set(why, "lacp-silent",
			   "%s: the switch behind %s stopped sending LACP; check it", b->bond.name,
			   m->ifname);
	else if (lacp && !(p->actor & INV_LACP_DISTRIBUTING))
		explain_apart(b, m, p, why);
	else
		return false;
	return true;
}

/* Reports for each port why it carries no data. That no port of a bond has a carrier is reported by
 * the bond's own leg instead. */
static void bond_reasons(struct plan_builder *b)
{
	if (b->bond.setting.mode == INV_BOND_LACP)
		check_nics(b);
	for (size_t i = 0; i < b->bond.n_members; i++) {
		const struct inv_bond_port *p = plan_bond_port(b, &b->bond.members[i]);
		struct reason why;

		if (p && explain_port(b, &b->bond.members[i], p, &why))
			plan_bond_blame(b, &b->bond.members[i], &why);
	}
}

/* ---- the modes ---- */

static int lacp_links(struct plan_builder *b)
{
	const struct spec_bond *want = &b->spec->bond;
	struct inv_bond_setting s = {.mode = INV_BOND_LACP,
				     .miimon_ms = MIIMON_MS,
				     .min_links = MAX_OF(want->min_links, 1)};

	/* The spec uses the kernel's words for these values, so parsing cannot fail. */
	(void)bond_value_parse(&s, BOND_HASH, spec_hash_to_string(want->hash));
	(void)bond_value_parse(&s, BOND_RATE, spec_lacp_rate_to_string(want->rate));
	(void)bond_value_parse(&s, BOND_SELECT, spec_select_to_string(want->select));
	return plan_bond_project(b, &s);
}

static int backup_links(struct plan_builder *b)
{
	struct inv_bond_setting s = {.mode = INV_BOND_ACTIVE_BACKUP, .miimon_ms = MIIMON_MS};

	if (ha_is_backup_of_vfs(b->given))
		return 0;
	(void)bond_value_parse(&s, BOND_RESELECT, spec_reselect_to_string(b->spec->bond.reselect));
	return plan_bond_project(b, &s);
}

static void backup_reasons(struct plan_builder *b)
{
	if (!ha_is_backup_of_vfs(b->given))
		bond_reasons(b);
}

static int backup_legs(struct plan_builder *b)
{
	return ha_is_backup_of_vfs(b->given) ? ha_backup_vf_legs(b) : plan_bond_legs(b);
}

static int backup_want(struct plan_builder *b)
{
	return ha_is_backup_of_vfs(b->given) ? planner_want_legs(b) : plan_bond_want(b);
}

const struct planner_ops ha_lacp_planner = {
	.mode = SPEC_HA_LACP,
	.check = check_lacp,
	.links = lacp_links,
	.reasons = bond_reasons,
	.legs = plan_bond_legs,
	.want = plan_bond_want,
};

const struct planner_ops ha_active_backup_planner = {
	.mode = SPEC_HA_ACTIVE_BACKUP,
	.check = check_backup,
	.links = backup_links,
	.reasons = backup_reasons,
	.legs = backup_legs,
	.want = backup_want,
};
