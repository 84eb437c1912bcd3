/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans `soft-roce`: software RDMA for devices without hardware RDMA. An existing RDMA device is
 * used instead.
 */
#include "netcfg/feature/plan_rxe.h"
#include "netcfg/feature/feature.h"
#include "netcfg/object/object.h"
#include <stdio.h>
#include <string.h>

const struct inv_link *plan_rxe_place(const struct inventory *inv, const struct inv_link *link)
{
	return link && link->kind == INV_LINK_VLAN ? inv_link_by_index(inv, link->lower) : link;
}

/* Returns the name of the RDMA device on the link, preferably of a device that Plenum created, or
 * "" if the link has no RDMA device. */
static const char *device_on(const struct inventory *inv, const struct inv_link *link)
{
	const char *found = link->rdma;

	for (size_t i = 0; i < inv->n_rdma; i++) {
		if (inv->rdma[i].ifindex != link->ifindex)
			continue;
		found = inv->rdma[i].device;
		if (kernel_rdma_is_ours(found))
			break;
	}
	return found;
}

static bool name_is_free(const struct inventory *inv, const char *name)
{
	for (size_t i = 0; i < inv->n_rdma; i++)
		if (strcmp(inv->rdma[i].device, name) == 0)
			return false;
	return true;
}

/* Chooses a name for the RDMA device of a link. The RDMA device of a renamed link is still named
 * after the link's old name, so another device cannot get that name. */
static void name_choose(const struct inventory *inv, const struct inv_link *link,
			char ret[static INV_TEXT_MAX])
{
	snprintf(ret, INV_TEXT_MAX, PLENUM_RDMA_PREFIX "%s", link->name);
	for (unsigned n = 2; !name_is_free(inv, ret); n++)
		snprintf(ret, INV_TEXT_MAX, PLENUM_RDMA_PREFIX "%s_%u", link->name, n);
}

/* Returns whether the kernel is still removing the link's former RDMA device. Until the kernel has
 * finished, that device belongs to no link but still has its name. */
static bool is_being_removed(const struct inventory *inv, const struct inv_link *link)
{
	char name[INV_TEXT_MAX];

	snprintf(name, sizeof(name), PLENUM_RDMA_PREFIX "%s", link->name);
	for (size_t i = 0; i < inv->n_rdma; i++)
		if (inv->rdma[i].ifindex == 0 && !inv->rdma[i].is_listed &&
		    strcmp(inv->rdma[i].device, name) == 0)
			return true;
	return false;
}

static void rxe_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg)
{
	const struct inv_link *place = plan_rxe_place(b->inv, leg->device);
	struct reason why;

	if (!leg->net->soft_roce || (place && *device_on(b->inv, place)))
		return;
	if (place && b->inv->soft_roce && !is_being_removed(b->inv, place))
		return;
	if (place && b->inv->soft_roce)
		reason_set(&why, "no-soft-roce",
			   "the kernel is still removing the previous soft-RoCE device of %s; the "
			   "agent creates a new device afterwards",
			   place->name);
	else if (place)
		reason_set(&why, "no-soft-roce",
			   "this kernel has no soft-RoCE (module rdma_rxe); install the package of "
			   "your distribution with that module, or remove soft-roce");
	else
		reason_set(&why, "no-soft-roce",
			   "the parent of VLAN %s is in another network namespace, and soft-RoCE "
			   "needs the parent; remove soft-roce from the leg",
			   leg->device->name);
	planner_leg_set_state(b, i, PLAN_LEG_DEGRADED, &why);
}

static int rxe_want(struct plan_builder *b, const struct plan_leg *leg)
{
	const struct inv_link *place = plan_rxe_place(b->inv, leg->device);
	const char *have = place ? device_on(b->inv, place) : "";
	struct plan_step *s;

	if (!leg->net->soft_roce || !place)
		return 0;
	if (*have ? !kernel_rdma_is_ours(have) : !b->inv->soft_roce)
		return 0;
	if (!*have && is_being_removed(b->inv, place)) {
		b->plan->waits = true;
		return 0;
	}
	s = planner_want_add(b, &object_rxe, leg);
	if (!s)
		return -ENOMEM;
	planner_step_on(s, place);
	s->change.kind = KERNEL_RXE;
	if (*have)
		snprintf(s->change.rxe.name, sizeof(s->change.rxe.name), "%s", have);
	else
		name_choose(b->inv, place, s->change.rxe.name);
	snprintf(s->reason, sizeof(s->reason),
		 "soft-roce: %s has no RDMA device, so the kernel provides RDMA in software",
		 place->name);
	return 0;
}

/* Returns an IPv4 address as Linux writes it into a GID: ::ffff:a.b.c.d. */
static struct ip_addr gid_of(const struct ip_addr *ip)
{
	struct ip_addr gid = {.family = AF_INET6, .bytes = {[10] = 0xff, [11] = 0xff}};

	if (ip->family == AF_INET6)
		return *ip;
	memcpy(gid.bytes + 12, ip->bytes, 4);
	return gid;
}

static bool rxe_gid_is_pending(const struct inventory *inv, const struct inv_addr *a)
{
	const struct inv_link *place = plan_rxe_place(inv, inv_link_by_index(inv, a->ifindex));
	const char *device = place ? device_on(inv, place) : "";
	const struct ip_addr gid = gid_of(&a->ip.addr);

	if (!kernel_rdma_is_ours(device))
		return false;
	for (size_t i = 0; i < inv->n_gids; i++)
		if (strcmp(inv->gids[i].device, device) == 0 &&
		    ip_addr_equal(&inv->gids[i].gid, &gid))
			return false;
	return true;
}

const struct plan_feature plan_feature_rxe = {
	.name = "rxe",
	.check_leg = rxe_check_leg,
	.want = {[PLAN_STAGE_DEVICE] = rxe_want},
	.addr_is_pending = rxe_gid_is_pending,
};
