/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The modes in which the devices are ports of one bond, one row of a table each. This file checks
 * spec and host for these modes and reports why a port carries no data. netcfg/feature/plan_bond.h
 * plans the links, netcfg/host/bond_setting.c knows which settings the kernel's modes have, and
 * ha_backup_vf.c handles active-backup of devices with VFs.
 */
#include "netcfg/feature/plan_bond.h"
#include "netcfg/host/bond_setting.h"
#include "plugins/plugins.h"
#include <stdio.h>
#include <string.h>

#define ALLOW_SEVERAL_NICS "several-nics"
#define MIIMON_MS 100 /* interval at which the kernel checks the ports' carriers */

/* The kernel's mode of each mode of ha that makes a bond. */
static const uint8_t kernel_modes[SPEC_HA_MAX] = {
	[SPEC_HA_LACP] = INV_BOND_LACP,
	[SPEC_HA_STATIC_LAG] = INV_BOND_XOR,
	[SPEC_HA_ACTIVE_BACKUP] = INV_BOND_ACTIVE_BACKUP,
};

static bool is_lag(const struct spec *s)
{
	return bond_mode_is_lag(kernel_modes[s->ha]);
}

static bool has_setting(const struct spec *s, enum bond_attr a)
{
	return bond_attr_applies(a, kernel_modes[s->ha]);
}

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
			 "%s needs at least two devices; add entries to 'net'", mode);
	for (size_t i = 0; i < s->n_nets; i++) {
		const struct spec_net *net = &s->nets[i];

		if (strcmp(net->network, s->nets[0].network) != 0)
			ha_net_error(d, s, i, "network",
				     "with %s all devices must be on one network; write '%s'", mode,
				     s->nets[0].network);
		if (net->vfs > 0 && is_lag(s))
			ha_net_error(d, s, i, "vfs",
				     "%s and VFs exclude each other; write 'vfs: 0', or mode: "
				     "dual-leg or active-backup",
				     mode);
		if (net->n_ips && with_ips)
			ha_net_error(d, s, i, "ips",
				     "with %s the devices share one list of 'ips', which '%s' "
				     "already has; remove these 'ips'",
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
				 "it has no effect with mode %s; remove the key",
				 spec_ha_to_string(s->ha));
	}
}

/* Refuses settings that bonds of the mode do not have. The kernel's default counts as not set. */
static void check_settings(const struct spec *s, struct diag *d)
{
	const bool is_set[BOND_ATTR_MAX] = {
		[BOND_HASH] = s->bond.hash != SPEC_HASH_LAYER34,
		[BOND_RATE] = s->bond.rate != SPEC_LACP_FAST,
		[BOND_SELECT] = s->bond.select != SPEC_SELECT_STABLE,
		[BOND_RESELECT] = s->bond.reselect != SPEC_RESELECT_ALWAYS,
		[BOND_MIN_LINKS] = s->bond.min_links > 1,
		[BOND_PRIMARY] = s->bond.primary[0],
	};
	char path[32];

	for (enum bond_attr a = 0; a < BOND_ATTR_MAX; a++) {
		if (!is_set[a] || has_setting(s, a))
			continue;
		snprintf(path, sizeof(path), "ha.bond.%s", bond_attr_to_string(a));
		diag_add(d, DIAG_ERROR, &s->bond.pos, path,
			 "it has no effect with mode %s; remove the key", spec_ha_to_string(s->ha));
	}
}

static void check_bond(const struct spec *s, struct diag *d)
{
	check_ports(s, d);
	check_allow(s, d, is_lag(s) ? ALLOW_SEVERAL_NICS : NULL);
	if (ha_is_backup_of_vfs(s) && !is_lag(s)) {
		ha_backup_vf_check(s, d);
		return;
	}
	ha_refuse_hold(s, d);
	check_settings(s, d);
	if (has_setting(s, BOND_MIN_LINKS) && s->bond.min_links > s->n_nets)
		diag_add(d, DIAG_ERROR, &s->bond.pos, "ha.bond.min-links",
			 "it asks for %u ports, but 'net' has %zu; write at most %zu",
			 s->bond.min_links, s->n_nets, s->n_nets);
	if (!has_setting(s, BOND_PRIMARY))
		return;
	if (s->bond.primary[0] && !net_named(s, s->bond.primary))
		diag_add(d, DIAG_ERROR, &s->bond.pos, "ha.bond.primary",
			 "no device is called '%s'; write the name of an entry of 'net'",
			 s->bond.primary);
	if (!s->bond.primary[0] && s->bond.reselect != SPEC_RESELECT_ALWAYS)
		diag_add(d, DIAG_ERROR, &s->bond.pos, "ha.bond.reselect",
			 "'reselect' needs 'primary'; write both keys");
}

/* ---- rules of the host ---- */

/* Returns whether both devices are functions of one NIC. The PCI addresses of such functions, such
 * as "0000:3b:00.1", differ only behind the dot. A device without a PCI address does not count as
 * another NIC. */
static bool same_nic(const struct inv_link *a, const struct inv_link *b)
{
	const size_t len = strcspn(a->pci, ".");

	return !a->pci[0] || !b->pci[0] ||
	       (len == strcspn(b->pci, ".") && memcmp(a->pci, b->pci, len) == 0);
}

/* Refuses a LAG over two NICs, because the link would depend on the failures, firmware and queues
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
				 "%s needs ports of one NIC, but %s (%s) and %s (%s) are on "
				 "different NICs; write allow: [" ALLOW_SEVERAL_NICS
				 "] under ha, or mode: dual-leg",
				 spec_ha_to_string(b->given->ha), l->name, l->pci, first->name,
				 first->pci);
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
			   "no LAG, so the port carries no data; fix the switch's configuration",
			   b->bond.name, m->ifname);
		return;
	}
	mac_addr_format(&p->partner_mac, mine, sizeof(mine));
	mac_addr_format(&plan_bond_port(b, other)->partner_mac, theirs, sizeof(theirs));
	reason_set(
		why, "two-switches",
		"%s: %s is on switch %s, and %s is on switch %s, but the switches are not an MLAG "
		"pair, so only one port carries data; join the switches, or write mode: dual-leg",
		b->bond.name, m->ifname, mine, other->ifname, theirs);
}

/* Writes the reason why the port carries no data into `why`. Returns false if the port carries
 * data. */
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
			   "%s: the switch behind %s sends no LACP; enable LACP there",
			   b->bond.name, m->ifname);
	else if (lacp && (p->actor & INV_LACP_EXPIRED))
		reason_set(why, "lacp-silent",
			   "%s: the switch behind %s stopped sending LACP; check the switch",
			   b->bond.name, m->ifname);
	else if (lacp && !(p->actor & INV_LACP_DISTRIBUTING))
		explain_apart(b, m, p, why);
	else
		return false;
	return true;
}

/* Reports for each port why it carries no data. If no port of a bond has a carrier, the bond's own
 * leg reports this instead. */
static void bond_reasons(struct plan_builder *b)
{
	if (!spec_has_bond(b->given))
		return;
	if (bond_mode_is_lag(b->bond.setting.mode))
		check_nics(b);
	for (size_t i = 0; i < b->bond.n_members; i++) {
		const struct inv_bond_port *p = plan_bond_port(b, &b->bond.members[i]);
		struct reason why;

		if (p && explain_port(b, &b->bond.members[i], p, &why))
			plan_bond_blame(b, &b->bond.members[i], &why);
	}
}

/* ---- the modes ---- */

/* Sets a setting that bonds of the mode have. The spec uses the kernel's words for the values, so
 * parsing cannot fail. */
static void setting_take(struct inv_bond_setting *s, enum bond_attr a, const char *text)
{
	if (bond_attr_applies(a, s->mode))
		(void)bond_value_parse(s, a, text);
}

static int bond_links(struct plan_builder *b)
{
	const struct spec_bond *want = &b->spec->bond;
	struct inv_bond_setting s = {.mode = kernel_modes[b->given->ha], .miimon_ms = MIIMON_MS};

	if (!spec_has_bond(b->given))
		return 0;
	if (bond_attr_applies(BOND_MIN_LINKS, s.mode))
		s.min_links = MAX_OF(want->min_links, 1);
	setting_take(&s, BOND_HASH, spec_hash_to_string(want->hash));
	setting_take(&s, BOND_RATE, spec_lacp_rate_to_string(want->rate));
	setting_take(&s, BOND_SELECT, spec_select_to_string(want->select));
	setting_take(&s, BOND_RESELECT, spec_reselect_to_string(want->reselect));
	return plan_bond_project(b, &s);
}

static int bond_legs(struct plan_builder *b)
{
	return spec_has_bond(b->given) ? plan_bond_legs(b) : ha_backup_vf_legs(b);
}

static int bond_want(struct plan_builder *b)
{
	return spec_has_bond(b->given) ? plan_bond_want(b) : planner_want_legs(b);
}

#define BOND_PLANNER(mode_)                                                                       \
	{                                                                                         \
		.mode = mode_, .check = check_bond, .links = bond_links, .reasons = bond_reasons, \
		.legs = bond_legs, .want = bond_want                                              \
	}

const struct planner_ops ha_lacp_planner = BOND_PLANNER(SPEC_HA_LACP);
const struct planner_ops ha_static_lag_planner = BOND_PLANNER(SPEC_HA_STATIC_LAG);
const struct planner_ops ha_active_backup_planner = BOND_PLANNER(SPEC_HA_ACTIVE_BACKUP);
