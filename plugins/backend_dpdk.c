/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK: the worker itself sends and receives packets, on a VF of its own if the device offers VFs,
 * otherwise on the kernel's interface. There are two back ends, which differ only in how they wait
 * for packets: by polling or by interrupts.
 */
#include "plugins/plugins.h"
#include <stdio.h>

/* Writes the device argument of a port: the worker's own PCI function or, on an interface that the
 * kernel keeps, how the worker gets packets from the kernel: copies of all packets (AF_PACKET) or
 * some packets (AF_XDP). */
static void dpdk_device(const struct plan_port *port, char *buf, size_t size)
{
	if (!port->kernel_owned)
		snprintf(buf, size, "%s", port->pci);
	else if (port->kernel_port == PLAN_AF_XDP)
		snprintf(buf, size, "%s", PLENUM_DEVICE_AF_XDP);
	else
		snprintf(buf, size, "%s", PLENUM_DEVICE_AF_PACKET);
}

static bool is_ethernet(const struct inv_link *device, struct reason *why)
{
	if (device->kind == INV_LINK_IPOIB)
		reason_set(why, "infiniband", "%.15s is InfiniBand, which DPDK does not support",
			   device->name);
	return device->kind != INV_LINK_IPOIB;
}

/* Polling occupies a core completely, so `auto` never polls on a core that other programs may use.
 */
static bool probe_polled(const struct inv_core *core, const struct inv_link *device,
			 struct reason *why)
{
	if (!is_ethernet(device, why))
		return false;
	if (core && core->isolated)
		return true;
	reason_set(why, "core-shared",
		   "dpdk polls all the time, but core %u is not isolated (isolcpus)",
		   core ? core->id : 0);
	return false;
}

static bool probe_woken(const struct inv_core *core, const struct inv_link *device,
			struct reason *why)
{
	if (!is_ethernet(device, why))
		return false;
	if (!nic_family_find(device->driver)->vf_polled)
		return true;
	reason_set(why, "vf-polled", "VFs of %.15s (%.31s) support polling only", device->name,
		   device->driver);
	return false;
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
	.score = 30,
	.hugepages = true,
	.probe = probe_polled,
	.takes_vf = takes_any,
	.device = dpdk_device,
};

const struct backend backend_dpdk_interrupt_vf = {
	.transport = SPEC_TRANSPORT_DPDK_INTERRUPT,
	.score = 20,
	.hugepages = true,
	.probe = probe_woken,
	.takes_vf = takes_woken,
	.device = dpdk_device,
};
