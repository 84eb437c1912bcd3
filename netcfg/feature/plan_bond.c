/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans a bond of the data devices. To the code for legs, the bond is a link like any other. The
 * planners in plugins/ define the modes. */
#include "netcfg/feature/plan_bond.h"
#include "netcfg/feature/bond_takeover.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/make/plan_match.h"
#include "netcfg/plan/make/plan_project.h"
#include "netcfg/plan/plan_guard.h"
#include <stdio.h>
#include <string.h>

/* Default names. If a bond with the first name exists and its mode, rate or selection would have to
 * change, the bond gets the second name, because the kernel cannot change these while the bond
 * exists. */
static const char *const default_names[] = {"data0", "data1"};

#define BOND_MTU_MIN 68
#define BOND_MTU_MAX 65535

/* ---- members ---- */

static bool kind_is_refused(const struct inv_link *l, struct reason *why)
{
	if (l->kind == INV_LINK_VF)
		reason_set(why, "bond-vf",
			   "%s is a VF, but a bond needs whole ports; write its PF %s, or mode: "
			   "dual-leg",
			   l->name, l->physfn);
	else if (l->n_vfs)
		reason_set(why, "bond-vf",
			   "%s has %u VFs, and packets of VFs bypass a bond; remove the VFs, or "
			   "write mode: dual-leg",
			   l->name, l->n_vfs);
	else if (l->kind != INV_LINK_PHYSICAL && l->kind != INV_LINK_VETH &&
		 l->kind != INV_LINK_VIRTUAL)
		reason_set(why, "bond-kind", "%s is %s, but a bond needs Ethernet ports", l->name,
			   inv_link_kind_to_string(l->kind));
	else
		return false;
	return true;
}

static bool carries_links(const struct plan_builder *b, const struct inv_link *l,
			  struct reason *why)
{
	for (size_t i = 0; i < b->inv->n_links; i++) {
		const struct inv_link *top = &b->inv->links[i];

		if (top->lower != l->ifindex || kernel_link_is_ours(top))
			continue;
		reason_set(why, "has-link",
			   "%s carries the link %s; remove this link, or write another device",
			   l->name, top->name);
		return true;
	}
	return false;
}

/* Returns whether the link is a port of a bond that Plenum created, which may be a bond that is no
 * longer configured. */
static bool is_port_of_ours(const struct plan_builder *b, const struct inv_link *l)
{
	const struct inv_link *master = l->master ? inv_link_by_index(b->inv, l->master) : NULL;

	return master && master->kind == INV_LINK_BOND && kernel_link_is_ours(master);
}

static bool is_taken(const struct plan_builder *b, const struct inv_link *l, struct reason *why)
{
	for (size_t i = 0; i < b->bond.n_members; i++) {
		if (b->bond.members[i].ifindex != l->ifindex)
			continue;
		reason_set(why, "used-twice",
			   "port %s already uses %s; each port needs its own device",
			   b->bond.members[i].net->name, l->name);
		return true;
	}
	return false;
}

/* Returns true and sets why if the link cannot become a port. With --force, even a port of another
 * program's bond can. */
static bool is_held(struct plan_builder *b, const struct inv_link *l, struct reason *why)
{
	const struct inv_link *master = l->master ? inv_link_by_index(b->inv, l->master) : NULL;

	if (!plan_link_refusal(b->inv, b->spec->management_interface, l, why))
		return false;
	if (!master || master->kind != INV_LINK_BOND || strcmp(why->code, "enslaved") != 0)
		return true;
	if (plan_is_forced(b, l, why))
		return false;
	reason_set(why, "enslaved",
		   "%s is enslaved to %s; write another device, release the port first, or take "
		   "the port over with plenum apply --force %s",
		   l->name, master->name, l->name);
	return true;
}

static bool is_refused(struct plan_builder *b, const struct inv_link *l, struct reason *why)
{
	if (is_taken(b, l, why) || kind_is_refused(l, why))
		return true;
	if (is_port_of_ours(b, l))
		return false;
	return is_held(b, l, why) || carries_links(b, l, why) ||
	       bond_takeover_is_refused(b, l, why);
}

static void member_check(struct plan_builder *b, struct plan_member *m)
{
	const struct inv_link *l = inv_link_find(b->inv, m->net->device);
	const struct plan_pick *pick = plan_match_pick(b, m->net);

	m->state = PLAN_LEG_USABLE;
	if (!m->net->enabled) {
		m->state = PLAN_LEG_DISABLED;
		reason_set(
			&m->reason, "disabled",
			"the configuration disables this port; 'plenum net enable %s' enables it",
			m->net->name);
		return;
	}
	if (pick && !l) {
		m->state = pick->state;
		m->reason = pick->why;
		return;
	}
	if (!l) {
		m->state = PLAN_LEG_ABSENT;
		reason_set(&m->reason, "not-found", "this host has no device %.*s", PLENUM_NAME_MAX,
			   m->net->device);
		return;
	}
	memcpy(m->ifname, l->name, sizeof(m->ifname));
	if (is_refused(b, l, &m->reason)) {
		m->state = PLAN_LEG_REFUSED;
	} else if (!l->initialized && !is_port_of_ours(b, l)) {
		m->state = PLAN_LEG_ABSENT;
		reason_set(&m->reason, "not-ready", "udev is still initializing %s", l->name);
	}
	m->taken_over = m->state == PLAN_LEG_USABLE && !is_port_of_ours(b, l);
	m->ifindex = l->ifindex;
	if (pick && m->state == PLAN_LEG_USABLE) {
		m->state = pick->state;
		m->reason = pick->why;
	}
}

static bool member_joins(const struct plan_member *m)
{
	return m->state == PLAN_LEG_USABLE || m->state == PLAN_LEG_DEGRADED;
}

static const struct inv_link *member_link(const struct plan_builder *b, const struct plan_member *m)
{
	return inv_link_by_index(b->inv, m->ifindex);
}

static const struct plan_member *first_joining(const struct plan_builder *b)
{
	for (size_t i = 0; i < b->bond.n_members; i++)
		if (member_joins(&b->bond.members[i]))
			return &b->bond.members[i];
	return NULL;
}

/* ---- the bond ---- */

/* Compares the settings that cannot change while a bond exists. */
static bool fixed_settings_equal(const struct inv_bond_setting *a, const struct inv_bond_setting *b)
{
	return a->mode == b->mode && (!bond_attr_applies(BOND_RATE, a->mode) ||
				      (a->rate == b->rate && a->select == b->select));
}

/* Returns whether the name is free, or belongs to a bond of Plenum with the same fixed settings. */
static bool name_fits(const struct plan_builder *b, const char *name, struct reason *why)
{
	const struct inv_link *l = inv_link_by_name(b->inv, name);
	const struct inv_bond *have = l ? inv_bond_find(b->inv, l->ifindex) : NULL;

	if (!l)
		return true;
	if (!have || !kernel_link_is_ours(l))
		reason_set(why, "bond-foreign",
			   "interface %s already exists and another program created this "
			   "interface; write another name under ha.bond",
			   name);
	else if (!fixed_settings_equal(&have->setting, &b->bond.setting))
		reason_set(why, "bond-fixed",
			   "mode, rate and select of bond %s cannot change while the bond exists; "
			   "write another name under ha.bond",
			   name);
	else
		return true;
	return false;
}

/* Chooses the name of the bond. Returns false and sets why if no name is possible. */
static bool name_choose(struct plan_builder *b, struct reason *why)
{
	if (b->spec->bond.name[0]) {
		snprintf(b->bond.name, sizeof(b->bond.name), "%s", b->spec->bond.name);
		return name_fits(b, b->bond.name, why);
	}
	/* The first pass tries only names of existing bonds, so that such a bond stays in use. */
	for (size_t i = 0; i < 2 * ARRAY_SIZE(default_names); i++) {
		const char *name = default_names[i % ARRAY_SIZE(default_names)];

		snprintf(b->bond.name, sizeof(b->bond.name), "%s", name);
		if ((i >= ARRAY_SIZE(default_names) || inv_link_by_name(b->inv, name)) &&
		    name_fits(b, name, why))
			return true;
	}
	return false;
}

/* Returns the device's permanent MAC address, because while the device is a port, its current
 * address is the bond's. */
static struct mac_addr member_mac(const struct inv_link *l)
{
	static const struct mac_addr none;

	return memcmp(&l->permanent_mac, &none, sizeof(none)) ? l->permanent_mac : l->mac;
}

/* Adds the bond as the kernel would create it. It has the MAC address of the first port, which the
 * switch may already know. */
static int bond_add(struct plan_builder *b, const struct plan_member *first)
{
	struct inv_link l = {
		.kind = INV_LINK_BOND,
		.kind_text = "bond",
		.numa_node = INV_NUMA_NONE,
		.mtu = 1500,
		.mtu_min = BOND_MTU_MIN,
		.mtu_max = BOND_MTU_MAX,
		.initialized = true,
		.alias = PLENUM_LINK_ALIAS,
	};
	struct inv_bond *bond;
	int r;

	memcpy(l.name, b->bond.name, sizeof(l.name));
	l.mac = member_mac(member_link(b, first));
	r = plan_project_add(b, &l);
	if (r < 0)
		return r;
	bond = inv_bond_add(b->projected);
	if (!bond)
		return -ENOMEM;
	bond->ifindex = inv_link_by_name(b->inv, b->bond.name)->ifindex;
	bond->setting = b->bond.setting;
	memset(bond->setting.primary, 0, sizeof(bond->setting.primary));
	return 0;
}

/* Sets the label of the bond if all members have the same label. */
static void label_choose(struct plan_builder *b)
{
	const struct spec *s = b->given;

	for (size_t i = 0; i < s->n_nets; i++) {
		if (strcmp(s->nets[i].label, s->nets[0].label) == 0)
			continue;
		b->bond.net.label[0] = '\0';
		return;
	}
}

/* Makes a spec with the bond as its only device. The bond's entry is a copy of the first device's
 * entry, with the addresses, soft-RoCE and UDP source ports that any of the devices sets. */
static void spec_derive(struct plan_builder *b)
{
	b->given = b->spec;
	b->bond.net = b->given->nets[0];
	for (size_t i = 0; i < b->given->n_nets; i++) {
		b->bond.net.soft_roce |= b->given->nets[i].soft_roce;
		b->bond.net.udp_sources =
			MAX_OF(b->bond.net.udp_sources, b->given->nets[i].udp_sources);
		if (!b->given->nets[i].n_ips)
			continue;
		b->bond.net.ips = b->given->nets[i].ips;
		b->bond.net.n_ips = b->given->nets[i].n_ips;
	}
	b->bond.net.vfs = 0;
	b->bond.net.enabled = true;
	label_choose(b);
	_Static_assert(IFNAMSIZ <= PLENUM_NAME_MAX, "an interface name fits in a leg name");
	memset(b->bond.net.name, 0, sizeof(b->bond.net.name));
	memset(b->bond.net.device, 0, sizeof(b->bond.net.device));
	memset(&b->bond.net.match, 0, sizeof(b->bond.net.match));
	memcpy(b->bond.net.name, b->bond.name, sizeof(b->bond.name));
	memcpy(b->bond.net.device, b->bond.name, sizeof(b->bond.name));
	b->bond.spec = *b->given;
	b->bond.spec.nets = &b->bond.net;
	b->bond.spec.n_nets = 1;
	b->spec = &b->bond.spec;
}

/* Called if the bond cannot exist. Gives the bond the worst state of its members and the reason of
 * the first member. */
static void bond_is_missing(struct plan_builder *b)
{
	const struct plan_member *m = &b->bond.members[0];

	b->bond.state = PLAN_LEG_ABSENT;
	for (size_t i = 0; i < b->bond.n_members; i++)
		b->bond.state = MAX_OF(b->bond.state, b->bond.members[i].state);
	if (b->bond.n_members)
		b->bond.reason = m->reason;
}

/* Sets the interface of the preferred port. */
static void primary_choose(struct plan_builder *b)
{
	const char *name = b->given->bond.primary;

	for (size_t i = 0; i < b->bond.n_members; i++) {
		const struct plan_member *m = &b->bond.members[i];

		if (name[0] && strcmp(m->net->name, name) == 0 && member_joins(m))
			memcpy(b->bond.setting.primary, m->ifname, sizeof(m->ifname));
	}
}

int plan_bond_project(struct plan_builder *b, const struct inv_bond_setting *setting)
{
	const struct plan_member *first;
	struct reason why;
	bool fits;

	b->bond.setting = *setting;
	for (size_t i = 0; i < b->spec->n_nets && i < ARRAY_SIZE(b->bond.members); i++) {
		struct plan_member *m = &b->bond.members[i];

		m->net = &b->spec->nets[i];
		member_check(b, m);
		b->bond.n_members = i + 1;
	}
	fits = name_choose(b, &why);
	spec_derive(b);
	primary_choose(b);
	if (!fits) {
		b->bond.state = PLAN_LEG_REFUSED;
		b->bond.reason = why;
		return 0;
	}
	first = first_joining(b);
	if (inv_link_by_name(b->inv, b->bond.name))
		return 0;
	if (first)
		return bond_add(b, first);
	bond_is_missing(b);
	return 0;
}

const struct inv_link *plan_bond_link(const struct plan_builder *b)
{
	const struct inv_link *l = inv_link_by_name(b->inv, b->bond.name);

	return l && !inv_link_is_planned(l) && l->kind == INV_LINK_BOND ? l : NULL;
}

const struct inv_bond_port *plan_bond_port(const struct plan_builder *b,
					   const struct plan_member *m)
{
	const struct inv_bond_port *p = inv_bond_port_find(b->inv, m->ifindex);
	const struct inv_link *bond = plan_bond_link(b);

	return p && bond && p->bond == bond->ifindex && member_joins(m) ? p : NULL;
}

/* ---- legs ---- */

void plan_bond_blame(struct plan_builder *b, struct plan_member *m, const struct reason *why)
{
	if (m->state == PLAN_LEG_USABLE) {
		m->state = PLAN_LEG_DEGRADED;
		m->reason = *why;
	}
	if (b->bond.state == PLAN_LEG_USABLE) {
		b->bond.state = PLAN_LEG_DEGRADED;
		b->bond.reason = *why;
	}
}

static void report_missing_members(struct plan_builder *b)
{
	for (size_t i = 0; i < b->bond.n_members; i++) {
		struct plan_member *m = &b->bond.members[i];
		struct reason why;

		if (member_joins(m) || m->state == PLAN_LEG_DISABLED)
			continue;
		reason_set(&why, "port-missing", "%.32s is %s: %.150s", m->net->name,
			   plan_leg_state_to_string(m->state), m->reason.text);
		plan_bond_blame(b, m, &why);
	}
}

static void member_show(struct plan_builder *b, const struct plan_member *m)
{
	struct plan_leg_info *info = &b->plan->legs[b->plan->n_legs++];

	memcpy(info->name, m->net->name, sizeof(info->name));
	plan_match_show(b, m->net, info);
	memcpy(info->network, m->net->network, sizeof(info->network));
	memcpy(info->label, m->net->label[0] ? m->net->label : m->net->name, sizeof(info->label));
	memcpy(info->bond, b->bond.name, sizeof(info->bond));
	memcpy(info->ifname, m->ifname, sizeof(info->ifname));
	info->ifindex = m->ifindex;
	info->state = m->state;
	info->reason = m->reason;
	if (!member_joins(m) && m->state != PLAN_LEG_DISABLED &&
	    b->spec->on_fallback == SPEC_FALLBACK_REFUSE)
		diag_add(
			b->d, DIAG_ERROR, &m->net->pos, NULL,
			"%s; policy.on-fallback is refuse, so nothing is applied without this port",
			m->reason.text);
}

int plan_bond_legs(struct plan_builder *b)
{
	int r = 0;

	report_missing_members(b);
	if (b->bond.state != PLAN_LEG_USABLE)
		planner_leg_set_state(b, 0, b->bond.state, &b->bond.reason);
	if (plan_leg_is_configured(&b->plan->legs[0]))
		r = planner_leg_add(b, 0);
	else
		planner_leg_show(b, 0);
	_Static_assert(ARRAY_SIZE(b->plan->legs) > ARRAY_SIZE(b->bond.members),
		       "the bond and its members fit");
	for (size_t i = 0; i < b->bond.n_members; i++)
		member_show(b, &b->bond.members[i]);
	return r;
}

/* ---- desired state ---- */

static int want_bond(struct plan_builder *b, const struct plan_leg *leg)
{
	struct plan_step *s = planner_want_add(b, &object_bond, leg);

	if (!s)
		return -ENOMEM;
	s->link[0] = '\0'; /* the bond does not exist yet when the step begins */
	s->change.kind = KERNEL_BOND;
	s->change.ifindex = 0;
	memcpy(s->change.bond.name, b->bond.name, sizeof(s->change.bond.name));
	s->change.bond.mac = leg->device->mac;
	s->change.bond.setting = b->bond.setting;
	memset(s->change.bond.setting.primary, 0, sizeof(s->change.bond.setting.primary));
	snprintf(s->reason, sizeof(s->reason), "ha.mode is %s", spec_ha_to_string(b->given->ha));
	return 0;
}

static struct plan_step *want_of_member(struct plan_builder *b, const struct plan_leg *leg,
					const struct object_kind *kind, const struct plan_member *m)
{
	struct plan_step *s = planner_want_add(b, kind, leg);

	if (!s)
		return NULL;
	memcpy(s->leg, m->net->name, sizeof(s->leg));
	planner_step_on(s, member_link(b, m));
	return s;
}

static int want_port(struct plan_builder *b, const struct plan_leg *leg,
		     const struct plan_member *m)
{
	const struct inv_link *l = member_link(b, m);
	const struct inv_link *master = l->master ? inv_link_by_index(b->inv, l->master) : NULL;
	const struct inv_bond_port *port = plan_bond_port(b, m);
	struct plan_step *s = want_of_member(b, leg, &object_link, m);

	if (!s)
		return -ENOMEM;
	s->change.kind = KERNEL_LINK;
	s->change.link = (struct kernel_link_value){KERNEL_LINK_UP, 1, l->up};
	snprintf(s->reason, sizeof(s->reason), "a port must be up to carry data");
	s = want_of_member(b, leg, &object_master, m);
	if (!s)
		return -ENOMEM;
	s->change.kind = KERNEL_MASTER;
	s->change.master = (struct kernel_master){.up = true, .was_up = l->up};
	memcpy(s->change.master.value, b->bond.name, sizeof(b->bond.name));
	if (master)
		memcpy(s->change.master.was, master->name, sizeof(master->name));
	if (port)
		s->change.master.lacp = inv_bond_port_lacp(port);
	s->disruptive = l->up;
	snprintf(s->reason, sizeof(s->reason), "%s is one of the ports of %s", m->net->name,
		 b->bond.name);
	return 0;
}

static int want_value(struct plan_builder *b, const struct plan_leg *leg,
		      const struct inv_link *link, enum bond_attr attr)
{
	const struct inv_bond *have = inv_bond_find(b->inv, link->ifindex);
	struct plan_step *s = planner_want_add(b, &object_bond_value, leg);

	if (!s)
		return -ENOMEM;
	planner_step_on(s, link);
	s->change.kind = KERNEL_BOND_VALUE;
	s->change.bond_value.attr = attr;
	bond_value_format(&b->bond.setting, attr, s->change.bond_value.value);
	if (have)
		bond_value_format(&have->setting, attr, s->change.bond_value.was);
	s->disruptive = true;
	snprintf(s->reason, sizeof(s->reason), "ha.bond asks for this value");
	return 0;
}

int plan_bond_want(struct plan_builder *b)
{
	const struct plan_leg *leg = b->n_legs ? &b->legs[0] : NULL;
	const struct inv_link *link = inv_link_by_name(b->inv, b->bond.name);
	int r = leg ? want_bond(b, leg) : 0;

	if (leg && r == 0)
		r = bond_takeover_want(b, leg);
	for (size_t i = 0; leg && i < b->bond.n_members && r == 0; i++)
		if (member_joins(&b->bond.members[i]))
			r = want_port(b, leg, &b->bond.members[i]);
	for (enum bond_attr a = 0; leg && link && a < BOND_ATTR_MAX && r == 0; a++)
		if (bond_attr_applies(a, b->bond.setting.mode) && a != BOND_RATE &&
		    a != BOND_SELECT)
			r = want_value(b, leg, link, a);
	return r == 0 && leg ? planner_want_leg(b, leg) : r;
}

size_t plan_bond_places(const struct plan_builder *b, const struct plan_leg *leg,
			struct plan_place ret[static PLAN_PORTS_MAX])
{
	size_t n = 0;

	if (!b->bond.name[0]) {
		ret[0] = (struct plan_place){leg->net, leg->device};
		return 1;
	}
	for (size_t i = 0; i < b->bond.n_members; i++) {
		const struct plan_member *m = &b->bond.members[i];
		const struct inv_link *link =
			m->ifindex ? inv_link_by_index(b->inv, m->ifindex) : NULL;

		if (link && (m->state == PLAN_LEG_USABLE || m->state == PLAN_LEG_DEGRADED))
			ret[n++] = (struct plan_place){m->net, link};
	}
	return n;
}
