/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates devlink parameters of drivers, and the defaults of rdma_cm. A device has the parameters
 * that the inventory contains, with their types and modes. */
#include "tests/lib/kernel/fake_devlink.h"
#include "netcfg/host/inventory_build.h"
#include <string.h>

static struct inv_devlink_param *param_of(const struct inventory *inv,
					  const struct kernel_change *c)
{
	/* This cast is safe: only the lookup returns a const pointer, the array is writable. */
	return (struct inv_devlink_param *)inv_devlink_param_find(inv, c->pci, c->devlink.name,
								  c->devlink.mode);
}

/* RoCE and iWARP exclude each other, as in drivers/net/ethernet/intel/ice. */
static bool is_excluded(const struct inventory *inv, const struct kernel_change *c)
{
	const struct inv_devlink_param *other =
		inv_devlink_param_find(inv, c->pci, "enable_iwarp", "runtime");

	return other && strcmp(other->value, "true") == 0 &&
	       strcmp(c->devlink.name, "enable_roce") == 0 && strcmp(c->devlink.value, "true") == 0;
}

int fake_devlink_change(struct inventory *inv, const struct kernel_change *c)
{
	struct inv_devlink_param *p = param_of(inv, c);
	const char *v = c->devlink.value;

	if (!p)
		return -EOPNOTSUPP;
	if (strcmp(p->type, "bool") == 0 && strcmp(v, "true") != 0 && strcmp(v, "false") != 0)
		return -EINVAL;
	if (is_excluded(inv, c))
		return -EOPNOTSUPP;
	inv_text_set(p->value, sizeof(p->value), v);
	return 0;
}

int fake_devlink_read(const struct inventory *inv, struct kernel_change *c)
{
	const struct inv_devlink_param *p = param_of(inv, c);

	if (!p)
		return -EOPNOTSUPP;
	memcpy(c->devlink.was, p->value, sizeof(c->devlink.was));
	return 0;
}

/* Returns the RDMA port of a link. rdma_cm gives each new device the default RoCE v2. */
static struct inv_rdma *port_of(const struct inventory *inv, uint32_t ifindex)
{
	struct inv_rdma *p = (struct inv_rdma *)inv_rdma_find(inv, ifindex);

	if (p && !p->roce_mode[0]) {
		inv_text_set(p->roce_mode, sizeof(p->roce_mode), "v2");
		inv_text_set(p->roce_tos, sizeof(p->roce_tos), "0");
	}
	return p;
}

int fake_roce_change(struct inventory *inv, const struct kernel_change *c)
{
	struct inv_rdma *p = port_of(inv, c->ifindex);

	if (!p)
		return -ENODEV;
	if (c->device.attr == DEVICE_ROCE_TOS)
		inv_text_set(p->roce_tos, sizeof(p->roce_tos), c->device.value);
	else if (kernel_rdma_is_ours(p->device) && strcmp(c->device.value, "v2") != 0)
		return -EINVAL;
	else
		inv_text_set(p->roce_mode, sizeof(p->roce_mode), c->device.value);
	return 0;
}

int fake_roce_read(const struct inventory *inv, struct kernel_change *c)
{
	const struct inv_rdma *p = port_of(inv, c->ifindex);

	if (!p)
		return -ENODEV;
	inv_text_set(c->device.was, sizeof(c->device.was),
		     c->device.attr == DEVICE_ROCE_TOS ? p->roce_tos : p->roce_mode);
	return 0;
}
