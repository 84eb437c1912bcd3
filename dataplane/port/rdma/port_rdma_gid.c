/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the GID of a leg in its device's table, or the reason why the leg cannot use RDMA. */
#include "dataplane/port/rdma/port_rdma_internal.h"
#include <stdlib.h>
#include <string.h>

#define GIDS_MAX 256

/* Checks one entry of the GID table. Returns PORT_RDMA_OK if this is the leg's GID,
 * PORT_RDMA_NO_DEVICE if the GID belongs to another address, or the reason why the leg cannot use
 * the GID. */
static enum port_rdma_reason gid_check(struct ibv_context *context, const struct ibv_gid_entry *e,
				       const struct rdma_leg *leg)
{
	struct ibv_port_attr port;

	if (e->gid_type == IBV_GID_TYPE_IB) {
		if (ibv_query_port(context, (uint8_t)e->port_num, &port) != 0)
			return PORT_RDMA_NO_DEVICE;
		if (port.link_layer == IBV_LINK_LAYER_ETHERNET)
			return leg->ifindex && e->ndev_ifindex == leg->ifindex
				       ? PORT_RDMA_IWARP
				       : PORT_RDMA_NO_DEVICE;
		return leg->is_ipoib && memcmp(e->gid.raw, leg->ib_gid, sizeof(leg->ib_gid)) == 0
			       ? PORT_RDMA_OK
			       : PORT_RDMA_NO_DEVICE;
	}
	if (memcmp(e->gid.raw, leg->gid, sizeof(leg->gid)) != 0)
		return PORT_RDMA_NO_DEVICE;
	return e->gid_type == IBV_GID_TYPE_ROCE_V2 ? PORT_RDMA_OK : PORT_RDMA_NO_GID;
}

enum port_rdma_reason rdma_gid_find(struct ibv_context *context, const struct rdma_leg *leg,
				    struct ibv_gid_entry *ret)
{
	enum port_rdma_reason why = PORT_RDMA_NO_DEVICE;
	autofree struct ibv_gid_entry *all = calloc(GIDS_MAX, sizeof(*all));
	ssize_t n = all ? ibv_query_gid_table(context, all, GIDS_MAX, 0) : -ENOMEM;

	for (ssize_t i = 0; i < n; i++) {
		enum port_rdma_reason is = gid_check(context, &all[i], leg);

		if (is == PORT_RDMA_OK && why != PORT_RDMA_OK)
			*ret = all[i];
		if (is == PORT_RDMA_OK || why == PORT_RDMA_NO_DEVICE)
			why = is;
	}
	return why;
}

int rdma_gid_get(const struct port_rdma *r, unsigned port, struct ibv_gid_entry *ret)
{
	const struct rdma_leg *leg = &r->legs[port];

	return rdma_gid_find(r->devices[leg->device].context, leg, ret) == PORT_RDMA_OK ? 0
											: -ENOENT;
}

enum port_rdma_reason port_rdma_reason(const struct port_rdma *r, unsigned port)
{
	if (!r)
		return PORT_RDMA_OFF;
	return port < r->n_legs ? r->legs[port].reason : PORT_RDMA_NO_DEVICE; /* the leg of this
										 port does not exist
										 yet; it will be
										 added later */
}
