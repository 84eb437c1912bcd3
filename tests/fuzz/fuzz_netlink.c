/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a datagram from the kernel: every parser of a netlink message accepts or refuses
 * it. */
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/dependents.h"
#include "netcfg/linux/kernel_rdma.h"
#include "netcfg/linux/kernel_xdp.h"
#include "netcfg/linux/netlink/ethtool.h"
#include "netcfg/linux/netlink/kernel_dcb.h"
#include "netcfg/linux/netlink/kernel_devlink.h"
#include "netcfg/linux/netlink/netlink.h"
#include "netcfg/linux/rtnl/rtnl.h"
#include "netcfg/linux/rtnl/rtnl_qdisc.h"
#include "netcfg/linux/sysfs/udev.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* A driver's texts become text that can be read back, or nothing. */
static void parse_dcb(struct inventory *inv, const struct nlmsghdr *h)
{
	uint8_t prios[DCB_DSCPS];
	struct dcb_state state;
	struct inv_dcb *dcb;

	if (kernel_dcb_result(h) > 0)
		abort();
	if (!kernel_dcb_parse(h, &state))
		return;
	dcb = inv_dcb_add(inv);
	if (!dcb)
		abort();
	kernel_dcb_fill(&state, dcb);
	if (dcb_dscp_parse(dcb->dscp, prios) < 0 || (state.has_pfc && !dcb->pfc[0]))
		abort();
}

static void parse_message(struct inventory *inv, struct nlmsghdr *h)
{
	static const rtnl_message_cb parsers[] = {rtnl_parse_link, rtnl_parse_addr,
						  rtnl_parse_route, rtnl_parse_rule,
						  rtnl_parse_lookup};
	struct reason why;
	char name[INV_TEXT_MAX];
	struct rtnl_qdisc queue;
	struct kernel_event e;
	uint32_t number, ifindex;

	for (size_t i = 0; i < ARRAY_SIZE(parsers); i++)
		parsers[i](inv, h);
	dependents_parse_conn(inv, h);
	netlink_parse_ack(h, &why);
	if (rtnl_parse_event(h, &e) && memchr(e.ifname, '\0', sizeof(e.ifname)) == NULL)
		abort();
	if (rtnl_qdisc_parse(h, &queue) && !memchr(queue.kind, '\0', sizeof(queue.kind)))
		abort();
	ethtool_parse(inv, h);
	parse_dcb(inv, h);
	kernel_devlink_parse(inv, h);
	kernel_xdp_parse(inv, h);
	kernel_rdma_parse_device(h, &number, name, sizeof(name));
	kernel_rdma_parse_port(h, &number, &ifindex);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inventory *inv = inv_new();
	struct kernel_event e;
	size_t left = size;
	/* Exactly as long as the input, so that a sanitizer detects a read past the end. */
	char *copy = malloc(size ? size : 1);

	if (!inv || !copy)
		abort();
	memcpy(copy, data, size);
	if (udev_parse_event(copy, size, &e) && memchr(e.ifname, '\0', sizeof(e.ifname)) == NULL)
		abort();
	for (struct nlmsghdr *h = (struct nlmsghdr *)copy;
	     left >= sizeof(*h) && h->nlmsg_len >= sizeof(*h) && h->nlmsg_len <= left;) {
		size_t step = NLMSG_ALIGN(h->nlmsg_len);

		parse_message(inv, h);
		if (step >= left)
			break;
		left -= step;
		h = (struct nlmsghdr *)((char *)h + step);
	}
	inv_sort(inv);
	free(inv_to_json(inv));
	free(inv_to_text(inv));
	inv_free(inv);
	free(copy);
	return 0;
}
