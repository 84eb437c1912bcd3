/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates the effects of each change in Linux, so that tests need neither root nor a namespace.
 * The test kernel_netns compares the simulation with Linux. */
#include "tests/lib/kernel/kernel_fake.h"
#include "netcfg/host/inventory_build.h"
#include "tests/lib/kernel/fake_bond.h"
#include "tests/lib/kernel/fake_device.h"
#include "tests/lib/kernel/fake_lookup.h"
#include "tests/lib/kernel/fake_probe.h"
#include "tests/lib/kernel/fake_rule.h"
#include "tests/lib/kernel/fake_rxe.h"
#include "tests/lib/kernel/fake_sriov.h"
#include "tests/lib/kernel/fake_sysctl.h"
#include "tests/lib/kernel/fake_vlan.h"
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

struct fake {
	struct kernel kernel;
	struct inventory *inv;
	bool *cable; /* for each link of inv->links: whether its cable is plugged in */
	uint64_t fail_nth, fail_count;
	int fail_error;
	char fail_why[REASON_TEXT_MAX];
	void (*on_write)(void *user, uint64_t nth);
	void *on_write_user;
	int event_fd; /* -1: the test does not watch the host */
	struct kernel_event *events;
	size_t n_events;
};

static struct fake *fake_of(struct kernel *k)
{
	return k->impl;
}

static int fail(struct reason *why, int error, const char *text)
{
	reason_set_text(why, "%s", text ? text : strerror(-error));
	return error;
}

static int ended(int r, struct reason *why)
{
	return r < 0 ? fail(why, r, NULL) : 0;
}

/* Begins a write: counts it, and fails if the test has requested that. */
static int write_begin(struct kernel *k, struct reason *why)
{
	struct fake *f = fake_of(k);

	k->n_writes++;
	if (f->on_write)
		f->on_write(f->on_write_user, k->n_writes);
	if (f->fail_nth > 1) {
		f->fail_nth--;
	} else if (f->fail_nth == 1) {
		if (f->fail_count > 0 && --f->fail_count == 0)
			f->fail_nth = 0;
		return fail(why, f->fail_error, f->fail_why[0] ? f->fail_why : NULL);
	}
	return 0;
}

static struct inv_link *link_get(struct fake *f, uint32_t ifindex)
{
	for (size_t i = 0; i < f->inv->n_links; i++)
		if (f->inv->links[i].ifindex == ifindex)
			return &f->inv->links[i];
	return NULL;
}

static int event_push(struct fake *f, enum kernel_event_type type, bool removed, uint32_t ifindex)
{
	const struct inv_link *l = link_get(f, ifindex);
	struct kernel_event e = {.type = type, .removed = removed, .ifindex = ifindex};

	if (f->event_fd < 0)
		return 0;
	if (l) {
		memcpy(e.ifname, l->name, sizeof(e.ifname));
		e.up = l->up;
		e.carrier = l->carrier;
	}
	return kernel_fake_push_event(&f->kernel, &e);
}

#define REMOVE_AT(inv, member, n_member, i)                 \
	memmove(&(inv)->member[i], &(inv)->member[(i) + 1], \
		(--(inv)->n_member - (i)) * sizeof((inv)->member[0]))

static struct ip_prefix subnet_of(const struct ip_prefix *ip)
{
	return (struct ip_prefix){ip_addr_network(&ip->addr, ip->len), ip->len};
}

static bool prefix_equal(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->len == b->len && ip_addr_equal(&a->addr, &b->addr);
}

static bool same_subnet(const struct inv_addr *a, const struct inv_addr *b)
{
	struct ip_prefix na = subnet_of(&a->ip), nb = subnet_of(&b->ip);

	return a->ifindex == b->ifindex && prefix_equal(&na, &nb);
}

/* Returns the route that the kernel adds for an address of a link that is up. */
static struct inv_route connected_route(const struct inv_addr *a)
{
	bool v4 = a->ip.addr.family == AF_INET;

	return (struct inv_route){
		.table = RT_TABLE_MAIN,
		.metric = v4 ? 0 : 256,
		.family = a->ip.addr.family,
		.proto = RTPROT_KERNEL,
		.scope = v4 ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE,
		.type = RTN_UNICAST,
		.dst = subnet_of(&a->ip),
		.src = v4 ? a->ip.addr : (struct ip_addr){0},
		.oif = a->ifindex,
	};
}

static int connected_add(struct fake *f, const struct inv_addr *a)
{
	struct inv_route want = connected_route(a), *slot;

	if (a->ip.len == ip_addr_bits(&a->ip.addr) || a->no_prefix_route)
		return 0;
	for (size_t i = 0; i < f->inv->n_routes; i++) {
		const struct inv_route *r = &f->inv->routes[i];

		if (r->proto == RTPROT_KERNEL && r->oif == want.oif && r->table == want.table &&
		    prefix_equal(&r->dst, &want.dst))
			return 0;
	}
	slot = inv_route_add(f->inv);
	if (!slot)
		return -ENOMEM;
	*slot = want;
	return 0;
}

static void connected_del(struct fake *f, const struct inv_addr *gone)
{
	struct inv_route was = connected_route(gone);

	for (size_t i = 0; i < f->inv->n_addrs; i++)
		if (same_subnet(&f->inv->addrs[i], gone))
			return;
	for (size_t i = f->inv->n_routes; i-- > 0;) {
		const struct inv_route *r = &f->inv->routes[i];

		if (r->proto == RTPROT_KERNEL && r->oif == was.oif && r->table == was.table &&
		    prefix_equal(&r->dst, &was.dst))
			REMOVE_AT(f->inv, routes, n_routes, i);
	}
}

/* Removes routes of the main table whose preferred source address was removed. */
static void routes_of_source_del(struct fake *f, const struct ip_addr *src)
{
	for (size_t i = f->inv->n_routes; i-- > 0;)
		if (f->inv->routes[i].table == RT_TABLE_MAIN && f->inv->routes[i].src.family &&
		    ip_addr_equal(&f->inv->routes[i].src, src))
			REMOVE_AT(f->inv, routes, n_routes, i);
}

static void link_goes_down(struct fake *f, struct inv_link *l)
{
	l->up = l->carrier = false;
	for (size_t i = 0; i < f->inv->n_links; i++) /* its VLANs go down and stay down */
		if (f->inv->links[i].lower == l->ifindex && f->inv->links[i].up)
			link_goes_down(f, &f->inv->links[i]);
	for (size_t i = f->inv->n_routes; i-- > 0;)
		if (f->inv->routes[i].oif == l->ifindex)
			REMOVE_AT(f->inv, routes, n_routes, i);
	for (size_t i = f->inv->n_addrs; i-- > 0;)
		if (f->inv->addrs[i].ifindex == l->ifindex &&
		    f->inv->addrs[i].ip.addr.family == AF_INET6)
			REMOVE_AT(f->inv, addrs, n_addrs, i);
}

static int link_goes_up(struct fake *f, struct inv_link *l)
{
	const struct inv_link *lower = l->lower ? link_get(f, l->lower) : NULL;
	int r;

	if (lower && !lower->up)
		return -ENETDOWN;
	l->up = true;
	l->carrier = lower			? lower->carrier
		     : l->kind == INV_LINK_BOND ? fake_bond_carrier(f->inv, l)
						: f->cable[l - f->inv->links];
	for (size_t i = 0; i < f->inv->n_addrs; i++) {
		if (f->inv->addrs[i].ifindex != l->ifindex)
			continue;
		r = connected_add(f, &f->inv->addrs[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int mtu_set(struct fake *f, struct inv_link *l, uint32_t mtu, struct reason *why)
{
	const struct inv_link *lower = l->lower ? link_get(f, l->lower) : NULL;

	if (mtu < l->mtu_min)
		return fail(why, -EINVAL, "mtu less than device minimum");
	if (l->mtu_max && mtu > l->mtu_max)
		return fail(why, -EINVAL, "mtu greater than device maximum");
	if (fake_device_refuses_mtu(l, mtu) || (lower && mtu > lower->mtu))
		return fail(why, lower ? -ERANGE : -EINVAL, NULL);
	l->mtu = mtu;
	fake_bond_spread_mtu(f->inv, l);
	fake_vlan_follow_mtu(f->inv, l);
	return 0;
}

static int link_change(struct fake *f, const struct kernel_change *c, struct reason *why)
{
	struct inv_link *l = link_get(f, c->ifindex);
	int r = 0;

	if (!l)
		return fail(why, -ENODEV, NULL);
	if (c->link.attr == KERNEL_LINK_MTU)
		r = mtu_set(f, l, c->link.value, why);
	else if (c->link.value && !l->up)
		r = link_goes_up(f, l);
	else if (!c->link.value && l->up)
		link_goes_down(f, l);
	fake_bonds_follow(f->inv);
	return r < 0 ? r : event_push(f, KERNEL_EVENT_LINK, false, c->ifindex);
}

static bool ipv6_disabled(struct fake *f, const struct inv_link *l)
{
	char key[96];
	const char *value;

	snprintf(key, sizeof(key), "net/ipv6/conf/%s/disable_ipv6", l->name);
	value = inv_sysctl_value(f->inv, key);
	return value && strcmp(value, "0") != 0;
}

static int addr_add(struct fake *f, const struct inv_addr *a, bool foreign, struct reason *why)
{
	struct inv_link *l = link_get(f, a->ifindex);
	bool v4 = a->ip.addr.family == AF_INET, secondary = false;
	struct inv_addr *slot;
	int r = 0;

	if (!l)
		return fail(why, -ENODEV, NULL);
	if (!v4 && ipv6_disabled(f, l))
		return fail(why, -EACCES, "ipv6: IPv6 is disabled on this device");
	for (size_t i = 0; i < f->inv->n_addrs; i++) {
		struct inv_addr *b = &f->inv->addrs[i];

		secondary |= v4 && same_subnet(b, a);
		if (b->ifindex != a->ifindex || !ip_addr_equal(&b->ip.addr, &a->ip.addr) ||
		    (v4 && b->ip.len != a->ip.len))
			continue;
		if (!b->local_missing)
			return fail(why, -EEXIST, v4 ? "ipv4: Address already assigned" : NULL);
		b->local_missing = false;
		return event_push(f, KERNEL_EVENT_ADDR, false, a->ifindex);
	}
	slot = inv_addr_add(f->inv);
	if (!slot)
		return fail(why, -ENOMEM, NULL);
	*slot = *a;
	slot->secondary = secondary;
	slot->tentative = slot->dad_failed = slot->optimistic = false; /* DAD has ended */
	if (slot->proto == 0 && !foreign)
		slot->proto = PLENUM_RTPROT;
	slot->proto = f->inv->addr_owner_known ? slot->proto : 0;
	if (l->up)
		r = connected_add(f, slot);
	return r < 0 ? fail(why, r, NULL) : event_push(f, KERNEL_EVENT_ADDR, false, a->ifindex);
}

static struct inv_addr *addr_get(struct fake *f, const struct inv_addr *a)
{
	for (size_t i = 0; i < f->inv->n_addrs; i++)
		if (f->inv->addrs[i].ifindex == a->ifindex &&
		    prefix_equal(&f->inv->addrs[i].ip, &a->ip))
			return &f->inv->addrs[i];
	return NULL;
}

/* After a primary address, removes its secondary addresses, or makes the first one primary. */
static void secondaries_settle(struct fake *f, const struct inv_addr *gone)
{
	const struct inv_link *l = link_get(f, gone->ifindex);
	const char *promote;
	char key[96];

	snprintf(key, sizeof(key), "net/ipv4/conf/%s/promote_secondaries", l->name);
	promote = inv_sysctl_value(f->inv, key);
	if (promote && strcmp(promote, "0") != 0) {
		for (size_t i = 0; i < f->inv->n_addrs; i++) {
			if (!same_subnet(&f->inv->addrs[i], gone))
				continue;
			f->inv->addrs[i].secondary = false;
			return;
		}
		return;
	}
	for (size_t i = f->inv->n_addrs; i-- > 0;) {
		if (!same_subnet(&f->inv->addrs[i], gone))
			continue;
		routes_of_source_del(f, &f->inv->addrs[i].ip.addr);
		REMOVE_AT(f->inv, addrs, n_addrs, i);
	}
}

static bool is_somewhere(const struct fake *f, const struct ip_addr *a)
{
	for (size_t i = 0; i < f->inv->n_addrs; i++)
		if (ip_addr_equal(&f->inv->addrs[i].ip.addr, a))
			return true;
	return false;
}

static int addr_del(struct fake *f, const struct inv_addr *a, struct reason *why)
{
	struct inv_addr *found, gone;
	struct inv_link *l = link_get(f, a->ifindex);
	int r = 0;

	if (!l)
		return fail(why, -ENODEV, NULL);
	found = addr_get(f, a);
	if (!found)
		return fail(why, -EADDRNOTAVAIL,
			    a->ip.addr.family == AF_INET ? "ipv4: Address not found"
							 : "address not found");
	gone = *found;
	REMOVE_AT(f->inv, addrs, n_addrs, (size_t)(found - f->inv->addrs));
	if (!is_somewhere(f, &gone.ip.addr))
		routes_of_source_del(f, &gone.ip.addr);
	if (gone.ip.addr.family == AF_INET && !gone.secondary)
		secondaries_settle(f, &gone);
	connected_del(f, &gone);
	for (size_t i = 0; l->up && r == 0 && i < f->inv->n_addrs; i++)
		if (same_subnet(&f->inv->addrs[i], &gone) && !f->inv->addrs[i].secondary)
			r = connected_add(f, &f->inv->addrs[i]);
	return r < 0 ? fail(why, r, NULL) : event_push(f, KERNEL_EVENT_ADDR, true, a->ifindex);
}

static int addr_change(struct fake *f, const struct kernel_change *c, struct reason *why)
{
	struct inv_addr a = c->addr;

	a.ifindex = c->ifindex;
	return c->remove ? addr_del(f, &a, why) : addr_add(f, &a, c->foreign, why);
}

/* Returns the ifindex of the link (any, without an oif) that reaches the route's gateway, or 0. */
static uint32_t gateway_link(struct fake *f, const struct inv_route *r)
{
	if (ip_addr_is_link_local(&r->gateway)) /* every link has the link-local subnet */
		return r->oif;
	for (size_t i = 0; i < f->inv->n_routes; i++) {
		const struct inv_route *via = &f->inv->routes[i];

		if (via->family == r->gateway.family && !via->gateway.family &&
		    (via->table == r->table || via->table == RT_TABLE_MAIN) &&
		    (r->oif == 0 || via->oif == r->oif) &&
		    ip_prefix_contains(&via->dst, &r->gateway))
			return via->oif;
	}
	return 0;
}

static int route_check(struct fake *f, struct inv_route *r, struct reason *why)
{
	bool v4 = r->family == AF_INET, src_is_local = r->src.family == 0;
	struct inv_link *l = r->oif ? link_get(f, r->oif) : NULL;

	if (r->type != RTN_UNICAST)
		return 0;
	if (r->oif && !l)
		return fail(why, -ENODEV, NULL);
	if (l && !l->up)
		return fail(why, -ENETDOWN, "Device for nexthop is not up");
	if (r->gateway.family && !gateway_link(f, r))
		return fail(why, v4 ? -ENETUNREACH : -EHOSTUNREACH, "Nexthop has invalid gateway");
	if (r->gateway.family && !r->oif)
		r->oif = gateway_link(f, r);
	if (!r->oif)
		return fail(why, -ENODEV, NULL);
	for (size_t i = 0; i < f->inv->n_addrs && !src_is_local; i++)
		src_is_local = ip_addr_equal(&f->inv->addrs[i].ip.addr, &r->src);
	return src_is_local ? 0 : fail(why, -EINVAL, "Invalid prefsrc address");
}

static int route_add(struct fake *f, struct inv_route want, struct reason *why)
{
	struct inv_route *slot;
	int r;

	kernel_route_normalize(&want);
	want.linkdown = false;
	r = route_check(f, &want, why);
	if (r < 0)
		return r;
	for (size_t i = 0; i < f->inv->n_routes; i++) {
		const struct inv_route *b = &f->inv->routes[i];

		if (b->family == want.family && b->table == want.table &&
		    b->metric == want.metric && prefix_equal(&b->dst, &want.dst))
			return fail(why, -EEXIST, NULL);
	}
	slot = inv_route_add(f->inv);
	if (!slot)
		return fail(why, -ENOMEM, NULL);
	*slot = want;
	return event_push(f, KERNEL_EVENT_ROUTE, false, want.oif);
}

static int route_del(struct fake *f, struct inv_route want, struct reason *why)
{
	kernel_route_normalize(&want);
	for (size_t i = 0; i < f->inv->n_routes; i++) {
		const struct inv_route *b = &f->inv->routes[i];

		if (b->family != want.family || b->table != want.table || b->proto != want.proto ||
		    b->metric != want.metric || b->type != want.type ||
		    !prefix_equal(&b->dst, &want.dst) || (want.oif && want.oif != b->oif) ||
		    (want.gateway.family && !ip_addr_equal(&want.gateway, &b->gateway)))
			continue;
		REMOVE_AT(f->inv, routes, n_routes, i);
		return event_push(f, KERNEL_EVENT_ROUTE, true, want.oif);
	}
	return fail(why, -ESRCH, NULL);
}

static int route_change(struct fake *f, const struct kernel_change *c, struct reason *why)
{
	struct inv_route route = c->route;

	route.oif = c->ifindex;
	return c->remove ? route_del(f, route, why) : route_add(f, route, why);
}

static int rule_change(struct fake *f, const struct kernel_change *c, struct reason *why)
{
	int r = fake_rule_change(f->inv, &c->rule, c->remove);

	return r < 0 ? fail(why, r, NULL) : event_push(f, KERNEL_EVENT_RULE, c->remove, 0);
}

static int sysctl_change(struct fake *f, const struct kernel_change *c, struct reason *why)
{
	return ended(fake_sysctl_change(f->inv, &c->sysctl), why);
}

static int pci_change(struct fake *f, const struct kernel_change *c, struct reason *why)
{
	return ended(fake_sriov_pci_change(&f->kernel, f->inv, c), why);
}

static int vf_change(struct fake *f, const struct kernel_change *c, struct reason *why)
{
	return ended(fake_sriov_vf_change(f->inv, c), why);
}

static int vlan_change(struct fake *f, const struct kernel_change *c, struct reason *why)
{
	return ended(c->remove ? fake_vlan_remove(&f->kernel, f->inv, c)
			       : fake_vlan_add(&f->kernel, f->inv, c),
		     why);
}

static int bond_change(struct fake *f, const struct kernel_change *c, struct reason *why)
{
	int r = fake_bond_change(&f->kernel, f->inv, c);

	fake_bonds_follow(f->inv);
	return r < 0 ? fail(why, r, NULL) : 0;
}

static int bond_value_change(struct fake *f, const struct kernel_change *c, struct reason *why)
{
	return ended(fake_bond_value_change(f->inv, c), why);
}

/* Adds the link to a bond, or removes it from its bond. The link goes down for a moment. */
static int master_change(struct fake *f, const struct kernel_change *c, struct reason *why)
{
	struct inv_link *l = link_get(f, c->ifindex);
	bool up = false;
	int r;

	if (!l)
		return fail(why, -ENODEV, NULL);
	r = fake_master_change(f->inv, c, &up);
	if (r > 0 && l->up)
		link_goes_down(f, l);
	if (up && !l->up)
		link_goes_up(f, l);
	fake_bonds_follow(f->inv);
	return r < 0 ? fail(why, r, NULL) : event_push(f, KERNEL_EVENT_LINK, false, c->ifindex);
}

static int rxe_change(struct fake *f, const struct kernel_change *c, struct reason *why)
{
	return ended(fake_rxe_change(f->inv, c), why);
}

static int device_change(struct fake *f, const struct kernel_change *c, struct reason *why)
{
	return ended(fake_device_change(f->inv, c), why);
}

static int (*const changes[KERNEL_KIND_MAX])(struct fake *f, const struct kernel_change *c,
					     struct reason *why) = {
	[KERNEL_LINK] = link_change,	 [KERNEL_ADDR] = addr_change,
	[KERNEL_ROUTE] = route_change,	 [KERNEL_RULE] = rule_change,
	[KERNEL_SYSCTL] = sysctl_change, [KERNEL_PCI] = pci_change,
	[KERNEL_VF] = vf_change,	 [KERNEL_VLAN] = vlan_change,
	[KERNEL_BOND] = bond_change,	 [KERNEL_BOND_VALUE] = bond_value_change,
	[KERNEL_MASTER] = master_change, [KERNEL_RXE] = rxe_change,
	[KERNEL_DEVICE] = device_change, [KERNEL_DEVLINK] = device_change,
};

static int fake_change(struct kernel *k, const struct kernel_change *c, struct reason *why)
{
	int r = write_begin(k, why);

	if (r == 0)
		r = changes[c->kind](fake_of(k), c, why);
	fake_rxe_follow(fake_of(k)->inv);
	return r;
}

static int fake_read(struct kernel *k, struct kernel_change *c)
{
	const struct inv_link *l = link_get(fake_of(k), c->ifindex);

	if (c->kind == KERNEL_SYSCTL)
		return fake_sysctl_read(fake_of(k)->inv, &c->sysctl);
	if (c->kind == KERNEL_PCI)
		return fake_sriov_pci_read(fake_of(k)->inv, c);
	if (c->kind == KERNEL_VF)
		return fake_sriov_vf_read(fake_of(k)->inv, c);
	if (c->kind == KERNEL_BOND_VALUE)
		return fake_bond_value_read(fake_of(k)->inv, c);
	if (c->kind == KERNEL_MASTER)
		return fake_master_read(fake_of(k)->inv, c);
	if (c->kind == KERNEL_RXE)
		return fake_rxe_read(fake_of(k)->inv, c);
	if (c->kind == KERNEL_DEVICE || c->kind == KERNEL_DEVLINK)
		return fake_device_read(fake_of(k)->inv, c);
	if (c->kind != KERNEL_LINK)
		return -EOPNOTSUPP;
	if (!l)
		return -ENODEV;
	c->link.was = c->link.attr == KERNEL_LINK_MTU ? l->mtu : l->up;
	return 0;
}

/* Returns whether `ref` identifies the link. *vfs counts the VFs of the PF in `ref` so far. */
static bool link_is(const struct inv_link *l, const char *ref, unsigned *vfs)
{
	size_t len = strcspn(ref, "/");

	if (!ref[len])
		return strcmp(l->name, ref) == 0 || (l->pci[0] && strcmp(l->pci, ref) == 0);
	return strlen(l->physfn) == len && memcmp(l->physfn, ref, len) == 0 &&
	       (*vfs)++ == (unsigned)strtoul(ref + len + 3, NULL, 10);
}

static int fake_link_find(struct kernel *k, const char *ref, uint32_t *ret_ifindex)
{
	const struct inventory *inv = fake_of(k)->inv;
	uint32_t found = 0;
	unsigned vfs = 0;

	for (size_t i = 0; i < inv->n_links; i++) {
		if (!link_is(&inv->links[i], ref, &vfs))
			continue;
		if (found)
			return -ENOTUNIQ;
		found = inv->links[i].ifindex;
	}
	if (!found)
		return -ENODEV;
	*ret_ifindex = found;
	return 0;
}

static int fake_function_find(struct kernel *k, const char *ref, char ret[static 16])
{
	const struct inv_function *fn = inv_function_by_ref(fake_of(k)->inv, ref);

	if (fn)
		memcpy(ret, fn->pci, sizeof(fn->pci));
	return fn ? 0 : -ENODEV;
}

static int fake_collect(struct kernel *k, struct diag *d, struct inventory *inv)
{
	return inv_append(inv, fake_of(k)->inv);
}

static int fake_route_lookup(struct kernel *k, const struct ip_addr *from, const struct ip_addr *to,
			     uint32_t oif, uint16_t port, struct inv_route *ret, struct reason *why)
{
	return ended(fake_lookup(fake_of(k)->inv, from, to, oif, ret), why);
}

static int fake_watch_fd(struct kernel *k)
{
	struct fake *f = fake_of(k);

	if (f->event_fd < 0)
		f->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return f->event_fd < 0 ? -errno : f->event_fd;
}

static int fake_watch_read(struct kernel *k, void (*cb)(void *user, const struct kernel_event *e),
			   void *user)
{
	struct fake *f = fake_of(k);
	autofree struct kernel_event *events = ptr_take(f->events);
	size_t n = f->n_events;
	uint64_t drained;

	f->n_events = 0;
	if (f->event_fd >= 0 && read(f->event_fd, &drained, sizeof(drained)) < 0 && errno != EAGAIN)
		return -errno;
	for (size_t i = 0; i < n; i++)
		cb(user, &events[i]);
	return 0;
}

static void fake_free(struct kernel *k)
{
	struct fake *f = fake_of(k);

	inv_free(f->inv);
	free(f->cable);
	free(f->events);
	if (f->event_fd >= 0)
		close(f->event_fd);
	free(f);
}

static const struct kernel_ops fake_ops = {
	.collect = fake_collect,
	.link_find = fake_link_find,
	.function_find = fake_function_find,
	.read = fake_read,
	.change = fake_change,
	.probe = fake_probe,
	.route_lookup = fake_route_lookup,
	.watch_fd = fake_watch_fd,
	.watch_read = fake_watch_read,
	.free = fake_free,
};

int kernel_fake_new(const struct inventory *inv, struct kernel **ret)
{
	struct fake *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->kernel = (struct kernel){.ops = &fake_ops, .impl = f};
	f->event_fd = -1;
	f->cable = calloc(inv->n_links + 1, sizeof(*f->cable));
	r = f->cable ? inv_copy(inv, &f->inv) : -ENOMEM;
	if (r < 0) {
		fake_free(&f->kernel);
		return r;
	}
	for (size_t i = 0; i < inv->n_links; i++)
		f->cable[i] = inv->links[i].carrier || !inv->links[i].up;
	*ret = &f->kernel;
	return 0;
}

int kernel_fake_replace(struct kernel *k, const struct inventory *inv)
{
	struct fake *f = fake_of(k);
	bool *cable = calloc(inv->n_links + 1, sizeof(*cable));
	struct inventory *copy = NULL;
	int r = cable ? inv_copy(inv, &copy) : -ENOMEM;

	if (r < 0) {
		free(cable);
		return r;
	}
	for (size_t i = 0; i < inv->n_links; i++)
		cable[i] = inv->links[i].carrier || !inv->links[i].up;
	free(f->cable);
	inv_free(f->inv);
	f->cable = cable;
	f->inv = copy;
	return 0;
}

const struct inventory *kernel_fake_inventory(struct kernel *k)
{
	return fake_of(k)->inv;
}

void kernel_fake_fail(struct kernel *k, uint64_t nth, uint64_t count, int error, const char *why)
{
	struct fake *f = fake_of(k);

	f->fail_nth = nth;
	f->fail_count = count;
	f->fail_error = error;
	inv_text_set(f->fail_why, sizeof(f->fail_why), why ? why : "");
}

void kernel_fake_on_write(struct kernel *k, void (*cb)(void *user, uint64_t nth), void *user)
{
	fake_of(k)->on_write = cb;
	fake_of(k)->on_write_user = user;
}

int kernel_fake_set_carrier(struct kernel *k, uint32_t ifindex, bool carrier)
{
	struct fake *f = fake_of(k);
	struct inv_link *l = link_get(f, ifindex);

	if (!l)
		return -ENODEV;
	f->cable[l - f->inv->links] = carrier;
	l->carrier = carrier && l->up;
	fake_bonds_follow(f->inv);
	for (size_t i = 0; i < f->inv->n_routes; i++)
		if (f->inv->routes[i].oif == ifindex)
			f->inv->routes[i].linkdown = !carrier;
	return event_push(f, KERNEL_EVENT_LINK, false, ifindex);
}

int kernel_fake_add_link(struct kernel *k, const struct inv_link *l)
{
	struct fake *f = fake_of(k);
	bool *grown = reallocarray(f->cable, f->inv->n_links + 2, sizeof(*grown));
	struct inv_link *slot;

	if (!grown)
		return -ENOMEM;
	f->cable = grown;
	slot = inv_link_add(f->inv);
	if (!slot)
		return -ENOMEM;
	*slot = *l;
	f->cable[f->inv->n_links - 1] = true;
	return event_push(f, KERNEL_EVENT_LINK, false, l->ifindex);
}

int kernel_fake_remove_link(struct kernel *k, uint32_t ifindex)
{
	struct fake *f = fake_of(k);
	struct inv_link *l = link_get(f, ifindex);
	size_t i;

	if (!l)
		return -ENODEV;
	link_goes_down(f, l);
	for (i = f->inv->n_addrs; i-- > 0;)
		if (f->inv->addrs[i].ifindex == ifindex)
			REMOVE_AT(f->inv, addrs, n_addrs, i);
	i = (size_t)(l - f->inv->links);
	memmove(&f->cable[i], &f->cable[i + 1], f->inv->n_links - i - 1);
	REMOVE_AT(f->inv, links, n_links, i);
	return event_push(f, KERNEL_EVENT_LINK, true, ifindex);
}

int kernel_fake_push_event(struct kernel *k, const struct kernel_event *e)
{
	struct fake *f = fake_of(k);
	struct kernel_event *grown;
	const uint64_t one = 1;

	grown = reallocarray(f->events, f->n_events + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	f->events = grown;
	f->events[f->n_events++] = *e;
	if (f->event_fd >= 0 && write(f->event_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		return -errno;
	return 0;
}
