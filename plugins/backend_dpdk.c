/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK: the worker drives its packets itself, on a VF that is its own where the device gives one,
 * else on the kernel's interface. Two ways of waiting for them, in one file because all else is the
 * same.
 */
#include "plugins/plugins.h"
#include <stdio.h>

/* The kernel keeps an interface of its own: what it shares is a copy of what comes, or a part. */
static void dpdk_device(const struct plan_port *port, unsigned index, char *buf, size_t size)
{
	if (!port->kernel_owned)
		snprintf(buf, size, "%s", port->pci);
	else if (port->kernel_port == PLAN_AF_XDP)
		snprintf(buf, size, "%s", PLENUM_DEVICE_AF_XDP);
	else
		snprintf(buf, size, "net_af_packet%u,iface=%s", index, port->ifname);
}

static bool takes_any(const struct nic_family *family)
{
	return true;
}

static bool takes_woken(const struct nic_family *family)
{
	return !family->vf_polled;
}

const struct backend backend_dpdk_vf = {
	.transport = SPEC_TRANSPORT_DPDK,
	.hugepages = true,
	.takes_vf = takes_any,
	.device = dpdk_device,
};

const struct backend backend_dpdk_interrupt_vf = {
	.transport = SPEC_TRANSPORT_DPDK_INTERRUPT,
	.hugepages = true,
	.takes_vf = takes_woken,
	.device = dpdk_device,
};
