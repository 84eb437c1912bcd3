/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates soft-RoCE: drivers/infiniband/sw/rxe and the GID tables. Does not change recorded
 * devices of other drivers. */
#include "tests/lib/kernel/fake_rxe.h"
#include "netcfg/host/inventory_build.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REMOVE_AT(inv, member, n_member, i)                 \
	memmove(&(inv)->member[i], &(inv)->member[(i) + 1], \
		(--(inv)->n_member - (i)) * sizeof((inv)->member[0]))

static struct inv_link *link_of(const struct inventory *inv, uint32_t ifindex)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].ifindex == ifindex)
			return &inv->links[i];
	return NULL;
}

static size_t find(const struct inventory *inv, const char *device)
{
	size_t i = 0;

	while (i < inv->n_rdma && strcmp(inv->rdma[i].device, device) != 0)
		i++;
	return i;
}

static int device_add(struct inventory *inv, const struct kernel_change *c)
{
	struct inv_link *l = link_of(inv, c->ifindex);
	struct inv_rdma *p;

	if (!l)
		return -ENODEV;
	if (!inv->soft_roce)
		return -EINVAL;
	if (l->kind == INV_LINK_VLAN)
		return -EPERM;
	for (size_t i = 0; i < inv->n_rdma; i++)
		if (inv->rdma[i].ifindex == c->ifindex)
			return -EEXIST;
	if (find(inv, c->rxe.name) < inv->n_rdma)
		return -ENFILE;
	p = inv_rdma_add(inv);
	if (!p)
		return -ENOMEM;
	*p = (struct inv_rdma){.port = 1, .kind = "roce", .ifindex = c->ifindex};
	snprintf(p->device, sizeof(p->device), "%s", c->rxe.name);
	snprintf(p->rate, sizeof(p->rate), "2.5 Gb/sec (1X SDR)");
	if (!l->rdma[0])
		memcpy(l->rdma, c->rxe.name, sizeof(l->rdma));
	return 0;
}

static void device_remove(struct inventory *inv, size_t i)
{
	struct inv_link *l = link_of(inv, inv->rdma[i].ifindex);

	if (l && strcmp(l->rdma, inv->rdma[i].device) == 0)
		memset(l->rdma, 0, sizeof(l->rdma));
	for (size_t j = inv->n_gids; j-- > 0;)
		if (strcmp(inv->gids[j].device, inv->rdma[i].device) == 0)
			REMOVE_AT(inv, gids, n_gids, j);
	REMOVE_AT(inv, rdma, n_rdma, i);
}

int fake_rxe_change(struct inventory *inv, const struct kernel_change *c)
{
	size_t i;

	if (!c->remove)
		return device_add(inv, c);
	i = find(inv, c->rxe.name);
	if (i == inv->n_rdma)
		return -ENOENT;
	if (!kernel_rdma_is_ours(c->rxe.name) || inv->rdma[i].ifindex != c->ifindex)
		return -EPERM;
	device_remove(inv, i);
	return 0;
}

int fake_rxe_read(const struct inventory *inv, struct kernel_change *c)
{
	const size_t i = find(inv, c->rxe.name);

	memset(c->rxe.was, 0, sizeof(c->rxe.was));
	if (i < inv->n_rdma && inv->rdma[i].ifindex == c->ifindex)
		memcpy(c->rxe.was, c->rxe.name, sizeof(c->rxe.was));
	return 0;
}

static void gid_add(struct inventory *inv, const struct inv_rdma *p, uint32_t index,
		    const struct inv_addr *a)
{
	struct inv_gid *g = inv_gid_add(inv);

	if (!g)
		abort(); /* out of memory in a test */
	*g = (struct inv_gid){
		.port = p->port, .index = index, .gid = a->ip.addr, .ifindex = a->ifindex};
	memcpy(g->device, p->device, sizeof(g->device));
	snprintf(g->type, sizeof(g->type), "RoCE v2");
	if (a->ip.addr.family == AF_INET) {
		g->gid = (struct ip_addr){.family = AF_INET6, .bytes = {[10] = 0xff, [11] = 0xff}};
		memcpy(g->gid.bytes + 12, a->ip.addr.bytes, 4);
	}
}

static void gids_follow(struct inventory *inv, struct inv_rdma *p)
{
	const struct inv_link *l = link_of(inv, p->ifindex);
	uint32_t index = 0;

	snprintf(p->state, sizeof(p->state), "%s", l->up && l->carrier ? "ACTIVE" : "DOWN");
	for (size_t i = inv->n_gids; i-- > 0;)
		if (strcmp(inv->gids[i].device, p->device) == 0)
			REMOVE_AT(inv, gids, n_gids, i);
	for (size_t i = 0; i < inv->n_addrs; i++) {
		const struct inv_link *on = link_of(inv, inv->addrs[i].ifindex);

		if (on == l || (on && on->kind == INV_LINK_VLAN && on->lower == l->ifindex))
			gid_add(inv, p, index++, &inv->addrs[i]);
	}
}

void fake_rxe_follow(struct inventory *inv)
{
	for (size_t i = inv->n_rdma; i-- > 0;) {
		if (!kernel_rdma_is_ours(inv->rdma[i].device))
			continue;
		if (link_of(inv, inv->rdma[i].ifindex))
			gids_follow(inv, &inv->rdma[i]);
		else
			device_remove(inv, i);
	}
}
