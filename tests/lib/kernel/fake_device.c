/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulates the device settings of drivers. A link supports the settings that its inventory
 * contains, within the limits there. */
#include "tests/lib/kernel/fake_device.h"
#include "netcfg/host/inventory_build.h"
#include "tests/lib/kernel/fake_devlink.h"
#include <stdio.h>
#include <string.h>

static struct inv_dcb *dcb_of(const struct inventory *inv, uint32_t ifindex)
{
	for (size_t i = 0; i < inv->n_dcb; i++)
		if (inv->dcb[i].ifindex == ifindex)
			return &inv->dcb[i];
	return NULL;
}

static int dscp_change(struct inv_dcb *dcb, const struct kernel_device *v)
{
	uint8_t prios[DCB_DSCPS], bits;

	if (v->dscp >= DCB_DSCPS || dcb_prios_parse(v->value, &bits) < 0 ||
	    dcb_dscp_parse(dcb->dscp, prios) < 0)
		return -EINVAL;
	prios[v->dscp] = bits;
	memset(dcb->dscp, 0, sizeof(dcb->dscp));
	dcb_dscp_format(prios, dcb->dscp);
	return 0;
}

/* Drivers reject bandwidth shares that do not add up to 100 or 0. */
static int ets_change(struct inv_dcb *dcb, const struct kernel_device *v)
{
	char text[INV_DEVICE_VALUE_MAX];
	unsigned sum = 0;
	struct dcb_ets e;

	if (!dcb->ets[0])
		return -EOPNOTSUPP;
	if (dcb_ets_parse(v->value, &e) < 0)
		return -EINVAL;
	for (unsigned i = 0; i < DCB_PRIOS; i++) {
		sum += e.tsa[i] == DCB_TSA_ETS ? e.bandwidth[i] : 0;
		if (dcb->max_classes && e.tc[i] >= dcb->max_classes)
			return -EINVAL;
	}
	if (sum != 0 && sum != 100)
		return -EINVAL;
	inv_text_set(dcb->ets, sizeof(dcb->ets), dcb_ets_format(&e, text));
	return 0;
}

static int pfc_change(struct inv_dcb *dcb, const struct kernel_device *v)
{
	char text[DCB_PRIOS_TEXT_MAX];
	uint8_t bits;

	if (!dcb->pfc[0])
		return -EOPNOTSUPP;
	if (dcb_prios_parse(v->value, &bits) < 0 ||
	    (dcb->max_pfc && __builtin_popcount(bits) > dcb->max_pfc))
		return -EINVAL;
	inv_text_set(dcb->pfc, sizeof(dcb->pfc), dcb_prios_format(bits, text));
	return 0;
}

/* The IPoIB mode limits the MTU, as in drivers/infiniband/ulp/ipoib. */
#define DATAGRAM_MTU_MAX 2044

bool fake_device_refuses_mtu(const struct inv_link *l, uint32_t mtu)
{
	return strcmp(l->ipoib_mode, "datagram") == 0 && mtu > DATAGRAM_MTU_MAX;
}

static int link_setting_change(struct inventory *inv, const struct kernel_change *c)
{
	for (size_t i = 0; i < inv->n_links; i++) {
		struct inv_link *l = &inv->links[i];

		if (l->ifindex != c->ifindex || !*device_link_setting(l, c->device.attr))
			continue;
		inv_text_set(device_link_setting(l, c->device.attr), INV_LINK_SETTING_MAX,
			     c->device.value);
		if (fake_device_refuses_mtu(l, l->mtu))
			l->mtu = DATAGRAM_MTU_MAX;
		return 0;
	}
	return -EOPNOTSUPP;
}

static bool is_roce(const struct kernel_change *c)
{
	return c->device.attr == DEVICE_ROCE_MODE || c->device.attr == DEVICE_ROCE_TOS;
}

int fake_device_change(struct inventory *inv, const struct kernel_change *c)
{
	struct inv_dcb *dcb = dcb_of(inv, c->ifindex);

	if (c->kind == KERNEL_DEVLINK)
		return fake_devlink_change(inv, c);
	if (is_roce(c))
		return fake_roce_change(inv, c);
	if (device_link_setting(&(struct inv_link){.ifindex = 0}, c->device.attr))
		return link_setting_change(inv, c);
	if (!dcb)
		return -EOPNOTSUPP;
	if (dcb->firmware)
		return -EINVAL;
	switch (c->device.attr) {
	case DEVICE_DSCP:
		return dscp_change(dcb, &c->device);
	case DEVICE_ETS:
		return ets_change(dcb, &c->device);
	case DEVICE_PFC:
		return pfc_change(dcb, &c->device);
	default:
		if (!dcb->trust[0])
			return -EOPNOTSUPP;
		inv_text_set(dcb->trust, sizeof(dcb->trust), c->device.value);
		return 0;
	}
}

int fake_device_read(const struct inventory *inv, struct kernel_change *c)
{
	char buf[INV_DEVICE_VALUE_MAX];
	const char *is;

	if (c->kind == KERNEL_DEVLINK)
		return fake_devlink_read(inv, c);
	if (is_roce(c))
		return fake_roce_read(inv, c);
	is = device_value_find(inv, c->ifindex, c->device.attr, c->device.dscp, buf);
	if (!is)
		return -EOPNOTSUPP;
	inv_text_set(c->device.was, sizeof(c->device.was), is);
	return 0;
}
