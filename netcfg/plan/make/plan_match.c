/* SPDX-License-Identifier: BSD-3-Clause */
/* Selects the device of each leg that has `match`, and says which devices were considered. */
#include "netcfg/plan/make/plan_match.h"
#include "netcfg/base/vec.h"
#include "netcfg/host/kernel.h"
#include "netcfg/plan/plan_guard.h"
#include "netcfg/plan/transport_choice.h"
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_MAX 4
#define VALUE_MAX 64

/* Whether a device has a property. The speed of a device is unknown if its driver reports no link
 * modes and it has no carrier. */
enum answer { ANSWER_NO, ANSWER_UNKNOWN, ANSWER_YES };

/* ---- properties ---- */

/* Returns the driver or, for a virtual interface, which has none, its kind, such as "veth". */
static const char *driver_of(const struct inv_link *l)
{
	return l->driver[0] ? l->driver : inv_link_kind_to_string(l->kind);
}

static void driver_get(const struct inv_link *l, char *buf)
{
	snprintf(buf, VALUE_MAX, "%.63s", driver_of(l));
}

/* Returns the fastest speed that the device supports. The speed in use may be lower, and is unknown
 * without a carrier. */
static uint32_t speed_of(const struct inv_link *l)
{
	return MAX_OF(l->speed_mbps, l->max_speed_mbps);
}

static void speed_get(const struct inv_link *l, char *buf)
{
	snprintf(buf, VALUE_MAX, "%" PRIu32, speed_of(l));
}

static void numa_get(const struct inv_link *l, char *buf)
{
	snprintf(buf, VALUE_MAX, "%d", l->numa_node);
}

static void name_get(const struct inv_link *l, char *buf)
{
	snprintf(buf, VALUE_MAX, "%s", l->name);
}

static const struct mac_addr *mac_of(const struct inv_link *l)
{
	static const struct mac_addr none;

	return memcmp(&l->permanent_mac, &none, sizeof(none)) ? &l->permanent_mac : &l->mac;
}

static void mac_get(const struct inv_link *l, char *buf)
{
	mac_addr_format(mac_of(l), buf, VALUE_MAX);
}

static void pci_get(const struct inv_link *l, char *buf)
{
	snprintf(buf, VALUE_MAX, "%s", l->pci);
}

static enum answer fits(const char *pattern, const char *text, int flags)
{
	return fnmatch(pattern, text, flags) == 0 ? ANSWER_YES : ANSWER_NO;
}

static enum answer driver_matches(const struct plan_builder *b, const struct spec_match *m,
				  const struct inv_link *l)
{
	return m->driver[0] ? fits(m->driver, driver_of(l), 0) : ANSWER_YES;
}

static enum answer speed_matches(const struct plan_builder *b, const struct spec_match *m,
				 const struct inv_link *l)
{
	if (m->min_speed_mbps && !speed_of(l))
		return ANSWER_UNKNOWN;
	return speed_of(l) >= m->min_speed_mbps ? ANSWER_YES : ANSWER_NO;
}

static enum answer numa_matches(const struct plan_builder *b, const struct spec_match *m,
				const struct inv_link *l)
{
	return !m->numa || l->numa_node == (int)m->numa - 1 ? ANSWER_YES : ANSWER_NO;
}

static enum answer name_matches(const struct plan_builder *b, const struct spec_match *m,
				const struct inv_link *l)
{
	char name[sizeof(l->altnames)];
	size_t len;

	if (!m->name[0] || fits(m->name, l->name, 0) == ANSWER_YES)
		return ANSWER_YES;
	for (const char *at = l->altnames; *at; at += len + (at[len] == ' ')) {
		len = strcspn(at, " ");
		snprintf(name, sizeof(name), "%.*s", (int)len, at);
		if (fits(m->name, name, 0) == ANSWER_YES)
			return ANSWER_YES;
	}
	return ANSWER_NO;
}

static enum answer mac_matches(const struct plan_builder *b, const struct spec_match *m,
			       const struct inv_link *l)
{
	char text[VALUE_MAX];

	mac_get(l, text);
	return m->mac[0] ? fits(m->mac, text, FNM_CASEFOLD) : ANSWER_YES;
}

static enum answer pci_matches(const struct plan_builder *b, const struct spec_match *m,
			       const struct inv_link *l)
{
	return m->pci[0] ? fits(m->pci, l->pci, FNM_CASEFOLD) : ANSWER_YES;
}

static enum answer subnet_matches(const struct plan_builder *b, const struct spec_match *m,
				  const struct inv_link *l)
{
	for (size_t i = 0; m->n_subnets && i < b->inv->n_addrs; i++) {
		const struct inv_addr *a = &b->inv->addrs[i];

		if (a->ifindex != l->ifindex || plan_addr_is_ours(b, a))
			continue;
		for (size_t k = 0; k < m->n_subnets; k++)
			if (ip_prefix_contains(&m->subnets[k], &a->ip.addr))
				return ANSWER_YES;
	}
	return m->n_subnets ? ANSWER_NO : ANSWER_YES;
}

/* The keys of match, and the values of a device; first those by which an operator tells devices
 * apart. get NULL: the value cannot be printed. */
static const struct property {
	const char *key;
	enum answer (*matches)(const struct plan_builder *b, const struct spec_match *m,
			       const struct inv_link *l);
	void (*get)(const struct inv_link *l, char *buf);
} properties[] = {
	{"driver", driver_matches, driver_get},	 {"numa", numa_matches, numa_get},
	{"pci", pci_matches, pci_get},		 {"mac", mac_matches, mac_get},
	{"name", name_matches, name_get},	 {"subnet", subnet_matches, NULL},
	{"min-speed", speed_matches, speed_get},
};

/* Returns whether the device has all properties. If not, *ret is the first one that it lacks or
 * that is unknown. */
static enum answer link_matches(const struct plan_builder *b, const struct spec_match *m,
				const struct inv_link *l, const struct property **ret)
{
	enum answer worst = ANSWER_YES;

	for (size_t i = 0; i < ARRAY_SIZE(properties); i++) {
		enum answer a = properties[i].matches(b, m, l);

		if (a >= worst)
			continue;
		worst = a;
		*ret = &properties[i];
	}
	return worst;
}

/* ---- candidates ---- */

static bool has_hardware(const struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].kind == INV_LINK_PHYSICAL)
			return true;
	return false;
}

/* Returns whether the link stands for a VF or another function on the NIC's internal switch. */
static bool is_representor(const struct inv_link *l)
{
	return strstr(l->port_name, "pf") &&
	       (strstr(l->port_name, "vf") || strstr(l->port_name, "sf"));
}

/* Returns whether a selector may consider a link of this kind. On a host with NICs, veth links
 * belong to containers. */
static bool kind_is_selectable(const struct inventory *inv, const struct inv_link *l)
{
	if (is_representor(l))
		return false;
	return l->kind == INV_LINK_PHYSICAL || l->kind == INV_LINK_IPOIB ||
	       (l->kind == INV_LINK_VETH && !has_hardware(inv));
}

static bool is_named(const struct plan_builder *b, const struct inv_link *l, struct reason *why)
{
	for (size_t i = 0; i < b->given->n_nets; i++) {
		const struct spec_net *net = &b->given->nets[i];

		if (!net->device[0] || inv_link_find(b->inv, net->device) != l)
			continue;
		reason_set(why, "used-twice", "leg %s names %s", net->name, l->name);
		return true;
	}
	return false;
}

/* Writes what identifies a device over reboots and renames: its permanent MAC address, its PCI
 * address or, for a virtual device, its MAC address. */
static void identify(const struct inv_link *l, char ret[static PLAN_DEVICE_MAX])
{
	transport_choice_identify(l, ret);
	if (!ret[0])
		mac_addr_format(&l->mac, ret, PLAN_DEVICE_MAX);
}

static bool is_port_of_ours(const struct inventory *inv, const struct inv_link *l)
{
	const struct inv_link *master = l->master ? inv_link_by_index(inv, l->master) : NULL;

	return master && master->kind == INV_LINK_BOND && kernel_link_is_ours(master);
}

/* Returns the device of the record, or NULL if the host does not have it. Several ports can have
 * one PCI address; then the name decides. A bond gives its MAC address to virtual ports, which are
 * then found by name. */
static const struct inv_link *device_find(const struct plan_builder *b,
					  const struct transport_choice_device *d)
{
	const struct inv_link *found = NULL;

	for (size_t i = 0; i < b->inv->n_links; i++) {
		const struct inv_link *l = &b->inv->links[i];
		const bool same_name = strcmp(l->name, d->ifname) == 0;
		char id[PLAN_DEVICE_MAX];

		if (l->kind != INV_LINK_PHYSICAL && l->kind != INV_LINK_IPOIB &&
		    l->kind != INV_LINK_VETH)
			continue;
		identify(l, id);
		if (strcmp(id, d->device) != 0 &&
		    !(same_name && l->kind == INV_LINK_VETH && is_port_of_ours(b->inv, l)))
			continue;
		if (!found || same_name)
			found = l;
	}
	return found;
}

/* Returns whether the device, or a VLAN on it, has an address of Plenum from the leg's network, or
 * is a port of Plenum's bond. The addresses show this even after a start of the agent, when no plan
 * is running yet. */
static bool device_serves(const struct plan_builder *b, const struct inv_link *l,
			  const struct spec_net *net)
{
	const struct spec_network *network = planner_network_find(b->given, net->network);

	for (size_t i = 0; network && i < b->inv->n_addrs; i++) {
		const struct inv_addr *a = &b->inv->addrs[i];
		const struct inv_link *on = inv_link_by_index(b->inv, a->ifindex);

		if (on && (on == l || (on->kind == INV_LINK_VLAN && on->lower == l->ifindex)) &&
		    plan_addr_is_ours(b, a) && ip_range_contains(&network->range, &a->ip.addr))
			return true;
	}
	return is_port_of_ours(b->inv, l);
}

/* Returns whether another program has given the device an address that other hosts can reach. */
static bool has_foreign_address(const struct plan_builder *b, const struct inv_link *l,
				struct reason *why)
{
	char ip[IP_ADDR_STR_MAX];

	for (size_t i = 0; i < b->inv->n_addrs; i++) {
		const struct inv_addr *a = &b->inv->addrs[i];

		if (a->ifindex != l->ifindex || plan_addr_is_ours(b, a) ||
		    ip_addr_is_link_local(&a->ip.addr))
			continue;
		reason_set(why, "management", "%s has the address %s of another program", l->name,
			   ip_addr_format(&a->ip.addr, ip, sizeof(ip)));
		return true;
	}
	return false;
}

/* Returns whether the link must not be selected: the host may depend on it. The default route alone
 * does not show that, because at boot there may be none yet. */
static bool is_excluded(const struct plan_builder *b, const struct spec_net *net,
			const struct inv_link *l, struct reason *why)
{
	if (is_named(b, l, why) ||
	    plan_link_refusal(b->inv, b->given->management_interface, l, why))
		return true;
	/* A leg in service may get a default route, for example by a router advertisement; the leg
	 * reports that. */
	if (device_serves(b, l, net))
		return false;
	if (!inv_link_by_name(b->inv, b->given->management_interface)) {
		reason_set(why, "management",
			   "it may be the management interface, because this host has no %s",
			   b->given->management_interface);
		return true;
	}
	if (plan_link_dependent(b->inv, l, why) && strcmp(why->code, "default-route") == 0)
		return true;
	return !net->match.n_subnets && has_foreign_address(b, l, why);
}

/* The devices that a leg's match considers. */
struct choice {
	const struct spec_net *net;
	const struct inv_link **yes, **unknown;
	size_t n_yes, n_unknown;
	char others[256]; /* why other devices do not match, truncated */
	size_t n_others;
};

static void choice_done(struct choice *c)
{
	free(c->yes);
	free(c->unknown);
}

/* Appends ", TEXT" as long as few are shown. */
static void PLENUM_PRINTF(2, 3) add_other(struct choice *c, const char *fmt, ...)
{
	const size_t len = strlen(c->others);
	va_list args;

	if (c->n_others <= SHOWN_MAX)
		snprintf(c->others + len, sizeof(c->others) - len, "%s%s", len ? ", " : "",
			 c->n_others == SHOWN_MAX ? "..." : "");
	if (c->n_others++ >= SHOWN_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(c->others + strlen(c->others), sizeof(c->others) - strlen(c->others), fmt, args);
	va_end(args);
}

static void explain_other(struct choice *c, const struct inv_link *l, const struct property *p)
{
	char value[VALUE_MAX] = "";

	if (p->get)
		p->get(l, value);
	if (p->get && value[0])
		add_other(c, "%s has %s %s", l->name, p->key, value);
	else
		add_other(c, "%s has no %s", l->name, p->get ? p->key : "address in the subnet");
}

static int choice_make(const struct plan_builder *b, struct choice *c)
{
	const struct inventory *inv = b->inv;

	for (size_t i = 0; i < inv->n_links; i++) {
		const struct inv_link *l = &inv->links[i], **to;
		const struct property *lacks = NULL;
		struct reason why;
		enum answer a;

		if (!kind_is_selectable(inv, l))
			continue;
		a = link_matches(b, &c->net->match, l, &lacks);
		if (a == ANSWER_NO) {
			explain_other(c, l, lacks);
			continue;
		}
		if (is_excluded(b, c->net, l, &why)) {
			add_other(c, "%s is not selected (%.80s)", l->name, why.text);
			continue;
		}
		to = a == ANSWER_YES ? vec_add(&c->yes, &c->n_yes, sizeof(*c->yes))
				     : vec_add(&c->unknown, &c->n_unknown, sizeof(*c->unknown));
		if (!to)
			return -ENOMEM;
		*to = l;
	}
	return 0;
}

/* ---- the choice ---- */

/* Returns the only device that serves the leg. Used without a record of the leg's device, if no
 * plan is in force either. */
static const struct inv_link *choice_serving(const struct plan_builder *b, const struct choice *c)
{
	const struct inv_link *found = NULL;

	for (size_t i = 0; !b->ctx->running && i < c->n_yes + c->n_unknown; i++) {
		const struct inv_link *l = i < c->n_yes ? c->yes[i] : c->unknown[i - c->n_yes];

		if (!device_serves(b, l, c->net))
			continue;
		if (found)
			return NULL;
		found = l;
	}
	return found;
}

/* Returns a property whose values differ between all the devices, for a message. */
static const struct property *property_that_differs(const struct inv_link *const *list, size_t n)
{
	for (size_t p = 0; p < ARRAY_SIZE(properties); p++) {
		char a[VALUE_MAX], other[VALUE_MAX];
		bool differ = properties[p].get != NULL;

		for (size_t i = 1; differ && i < n; i++)
			for (size_t k = 0; differ && k < i; k++) {
				properties[p].get(list[i], a);
				properties[p].get(list[k], other);
				differ = strcmp(a, other) != 0;
			}
		if (differ)
			return &properties[p];
	}
	return NULL;
}

/* Writes "ens1 (numa 0), ens2 (numa 1)" into buf; returns the key that differs. */
static const char *list_format(const struct inv_link *const *list, size_t n, char *buf, size_t size)
{
	const struct property *p = property_that_differs(list, MIN_OF(n, (size_t)SHOWN_MAX));
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && i <= SHOWN_MAX && len < size; i++) {
		char value[VALUE_MAX] = "";

		if (p)
			p->get(list[i], value);
		if (i == SHOWN_MAX)
			len += (size_t)snprintf(buf + len, size - len, ", ...");
		else
			len += (size_t)snprintf(buf + len, size - len, "%s%s (%s %s)",
						i ? ", " : "", list[i]->name, p ? p->key : "name",
						value);
	}
	return p ? p->key : "name";
}

static void explain_ambiguous(const struct choice *c, const char *text, struct reason *why)
{
	char list[240];
	const char *key = list_format(c->yes, c->n_yes, list, sizeof(list));

	reason_set(why, "ambiguous",
		   "%zu devices match '%.120s': %s; add '%s' to match, so that one is left",
		   c->n_yes, text, list, key);
}

static void explain_unknown(const struct choice *c, const char *text, struct reason *why)
{
	char list[240];

	list_format(c->unknown, c->n_unknown, list, sizeof(list));
	reason_set(why, "speed-unknown",
		   "the speed of devices that may match '%.120s' is unknown, because they have no "
		   "carrier and their drivers report no link modes: %s; bring them up, or match by "
		   "other keys",
		   text, list);
}

static void explain_none(const struct choice *c, const char *text, struct reason *why)
{
	reason_set(why, "no-match", "no device matches '%.120s': %s; correct 'match'", text,
		   c->others[0] ? c->others : "this host has no NIC");
}

/* Selects the only device that matches. Otherwise the leg waits or is refused. */
static void pick_new(const struct choice *c, const char *text, struct plan_pick *pick)
{
	if (c->n_yes == 1) {
		pick->ifindex = c->yes[0]->ifindex;
	} else if (c->n_yes) {
		pick->state = PLAN_LEG_REFUSED;
		explain_ambiguous(c, text, &pick->why);
	} else {
		pick->state = PLAN_LEG_ABSENT;
		if (c->n_unknown)
			explain_unknown(c, text, &pick->why);
		else
			explain_none(c, text, &pick->why);
	}
}

/* Keeps the device of the leg, and reports if it would not be selected again. */
static void pick_keep(const struct plan_builder *b, const struct choice *c,
		      const struct inv_link *keep, const char *text, struct plan_pick *pick)
{
	const struct property *lacks = NULL;
	const bool fits_still = link_matches(b, &c->net->match, keep, &lacks) != ANSWER_NO;

	pick->in_service = true;
	pick->ifindex = keep->ifindex;
	if (is_named(b, keep, &pick->why)) {
		pick->ifindex = 0;
		pick->state = PLAN_LEG_REFUSED;
		return;
	}
	if (fits_still && c->n_yes <= 1)
		return;
	pick->state = PLAN_LEG_DEGRADED;
	if (c->n_yes > 1)
		explain_ambiguous(c, text, &pick->why);
	else if (c->n_yes)
		reason_set(&pick->why, "no-match",
			   "%s matches '%.120s'; 'plenum apply' moves the leg to it",
			   c->yes[0]->name, text);
	else
		explain_none(c, text, &pick->why);
	if (!fits_still)
		reason_prefix(&pick->why, "%s serves the leg, but does not match any more",
			      keep->name);
}

static void pick_missing(const struct choice *c, const struct transport_choice_device *d,
			 const char *text, struct plan_pick *pick)
{
	pick->state = PLAN_LEG_ABSENT;
	if (c->n_yes == 1)
		reason_set(&pick->why, "not-found",
			   "the leg's device %s (%s) is missing; 'plenum apply' selects %s, which "
			   "matches '%.120s'",
			   d->ifname, d->device, c->yes[0]->name, text);
	else
		reason_set(&pick->why, "not-found",
			   "the leg's device %s (%s) is missing; after its replacement 'plenum "
			   "apply' selects the only device that matches '%.120s'",
			   d->ifname, d->device, text);
}

/* A leg keeps the device of the record. Only an operator's apply selects another one, if the device
 * is missing or does not match any more, because the plan shows the move and the operator can roll
 * it back. */
static void pick_set(const struct plan_builder *b, const struct choice *c, struct plan_pick *pick)
{
	const struct transport_choice_device *had;
	const struct inv_link *keep;
	const struct property *lacks = NULL;
	char text[SPEC_MATCH_TEXT_MAX];

	spec_match_format(&c->net->match, text);
	had = transport_choice_device(b->ctx->accepted, c->net->name, text);
	keep = had ? device_find(b, had) : choice_serving(b, c);
	if (had && keep && b->ctx->may_move && c->n_yes == 1 &&
	    link_matches(b, &c->net->match, keep, &lacks) == ANSWER_NO)
		keep = NULL;
	if (keep)
		pick_keep(b, c, keep, text, pick);
	else if (had && !b->ctx->may_move)
		pick_missing(c, had, text, pick);
	else
		pick_new(c, text, pick);
}

/* Refuses one of two legs that select the same device: the later one, unless only that is in
 * service. */
static void refuse_twins(struct plan_builder *b, const struct spec *s)
{
	for (size_t i = 0; i < MIN_OF(s->n_nets, ARRAY_SIZE(b->picks)); i++)
		for (size_t k = 0; k < i; k++) {
			struct plan_pick *late = &b->picks[i], *early = &b->picks[k];
			const bool swap = late->in_service && !early->in_service;
			const struct spec_net *has = &s->nets[swap ? i : k];
			const struct inv_link *l = inv_link_by_index(b->inv, late->ifindex);
			struct plan_pick *loser = swap ? early : late;
			char text[SPEC_MATCH_TEXT_MAX];

			if (!l || late->ifindex != early->ifindex)
				continue;
			loser->ifindex = 0;
			loser->state = PLAN_LEG_REFUSED;
			reason_set(&loser->why, "used-twice",
				   "leg %s selects %s too, by '%.120s'; each leg needs its own "
				   "device, so add a key to match by which the two legs differ",
				   has->name, l->name, spec_match_format(&has->match, text));
		}
}

/* ---- for the plan ---- */

int plan_match_resolve(struct plan_builder *b, struct spec *resolved)
{
	const size_t n = MIN_OF(resolved->n_nets, ARRAY_SIZE(b->picks));
	struct spec_net *nets = calloc(resolved->n_nets + 1, sizeof(*nets));
	int r = 0;

	if (!nets)
		return -ENOMEM;
	if (resolved->n_nets)
		memcpy(nets, resolved->nets, resolved->n_nets * sizeof(*nets));
	for (size_t i = 0; i < n && r == 0; i++) {
		struct choice c = {.net = &resolved->nets[i]};

		if (!spec_match_is_set(&c.net->match) || !c.net->enabled)
			continue;
		r = choice_make(b, &c);
		if (r == 0)
			pick_set(b, &c, &b->picks[i]);
		choice_done(&c);
	}
	refuse_twins(b, resolved);
	for (size_t i = 0; i < n; i++) {
		const struct inv_link *l = inv_link_by_index(b->inv, b->picks[i].ifindex);

		if (b->picks[i].ifindex && l)
			snprintf(nets[i].device, sizeof(nets[i].device), "%s", l->name);
	}
	resolved->nets = nets;
	return r;
}

const struct plan_pick *plan_match_pick(const struct plan_builder *b, const struct spec_net *net)
{
	size_t i;

	if (!spec_match_is_set(&net->match))
		return NULL;
	i = (size_t)(net - b->given->nets);
	return i < ARRAY_SIZE(b->picks) ? &b->picks[i] : NULL;
}

void plan_match_show(const struct plan_builder *b, const struct spec_net *net,
		     struct plan_leg_info *info)
{
	const struct plan_pick *pick = plan_match_pick(b, net);
	const struct inv_link *l = pick ? inv_link_by_index(b->inv, pick->ifindex) : NULL;

	if (l)
		identify(l, info->selected);
	memcpy(info->device, net->device, sizeof(info->device));
	spec_match_format(&net->match, info->match);
}
