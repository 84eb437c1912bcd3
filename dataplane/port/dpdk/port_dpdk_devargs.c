/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses a leg's DPDK device and its arguments. */
#include "dataplane/port/dpdk/port_dpdk.h"
#include <stdio.h>
#include <string.h>

#define SMALL_ROOM 2048U
#define LARGE_ROOM 12288U /* 9000 bytes and the ring's headers, rounded up to whole pages */

unsigned port_dpdk_frame_room(uint32_t mtu)
{
	return mtu <= PLENUM_DPDK_SHORT_MTU ? SMALL_ROOM : LARGE_ROOM;
}

/* Returns whether the text is a PCI address, such as "0000:3b:02.1", with or without the domain. */
static bool is_pci_address(const char *s)
{
	unsigned domain, bus, dev, fn;
	int end = 0;

	if (sscanf(s, "%4x:%2x:%2x.%1u%n", &domain, &bus, &dev, &fn, &end) == 4 && !s[end])
		return true;
	end = 0;
	return sscanf(s, "%2x:%2x.%1u%n", &bus, &dev, &fn, &end) == 3 && !s[end];
}

static void device_default(const struct launch_port *lp, unsigned index,
			   struct port_dpdk_device *ret)
{
	unsigned room = port_dpdk_frame_room(lp->mtu);

	/* Each block has whole frames and whole pages. qdisc_bypass is set, because rudp itself
	 * paces the packets. */
	snprintf(ret->name, sizeof(ret->name), "net_af_packet%u", index);
	snprintf(ret->args, sizeof(ret->args),
		 "iface=%s,blocksz=%u,framesz=%u,framecnt=%u,qdisc_bypass=1", lp->ifname,
		 MAX_OF(room, 4096U), room, room == SMALL_ROOM ? 1024U : 256U);
}

bool port_dpdk_device_is_interface(const struct launch_port *lp)
{
	return !lp->device[0] || strcmp(lp->device, LAUNCH_DEVICE_AF_PACKET) == 0;
}

void port_dpdk_device_choose(const struct launch_port *lp, unsigned index,
			     struct port_dpdk_device *ret)
{
	const char *comma = strchr(lp->device, ',');

	*ret = (struct port_dpdk_device){.is_pci = is_pci_address(lp->device)};
	if (port_dpdk_device_is_interface(lp) || launch_port_is_xdp(lp)) {
		device_default(lp, index, ret);
		return;
	}
	snprintf(ret->name, sizeof(ret->name), "%.*s",
		 comma ? (int)(comma - lp->device) : (int)sizeof(lp->device), lp->device);
	if (comma)
		snprintf(ret->args, sizeof(ret->args), "%s", comma + 1);
}
