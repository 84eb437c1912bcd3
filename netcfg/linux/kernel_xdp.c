/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries the generic netlink family 'netdev' for the AF_XDP features of drivers. */
#include "netcfg/linux/kernel_xdp.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/netlink/genl.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include <linux/genetlink.h>
#include <string.h>

#define REQUEST_BYTES_MAX 256
#define PROTOCOLS_BYTES_MAX 16384

/* Values from linux/netdev.h, which older kernel headers lack. */
#define FAMILY_NAME "netdev"
enum { CMD_DEV_GET = 1 };
enum { A_DEV_IFINDEX = 1, A_DEV_XDP_FEATURES = 3, A_DEV_MAX = 3 };
#define XDP_FEATURE_XSK_ZEROCOPY (1U << 3)

static uint64_t u64_of(const struct nlattr *a)
{
	return a && mnl_attr_validate(a, MNL_TYPE_U64) == 0 ? mnl_attr_get_u64(a) : 0;
}

int kernel_xdp_parse(struct inventory *inv, const struct nlmsghdr *h)
{
	const struct genlmsghdr *g = mnl_nlmsg_get_payload(h);
	const struct nlattr *of[A_DEV_MAX + 1] = {NULL};
	struct genl_attrs t = {of, A_DEV_MAX};
	struct inv_link *l;

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*g) || g->cmd != CMD_DEV_GET)
		return 0;
	genl_attrs_parse(h, &t);
	/* The cast is safe: only the lookup returns a const pointer, and the inventory itself is
	 * not const. */
	l = (struct inv_link *)inv_link_by_index(inv, genl_u32(of[A_DEV_IFINDEX]));
	if (l && of[A_DEV_XDP_FEATURES])
		inv_text_set(l->af_xdp, sizeof(l->af_xdp),
			     u64_of(of[A_DEV_XDP_FEATURES]) & XDP_FEATURE_XSK_ZEROCOPY ? "zero-copy"
										       : "copy");
	return 0;
}

static int on_answer(void *user, struct nlmsghdr *h)
{
	return kernel_xdp_parse(user, h);
}

/* Netlink reports the AF_XDP features of drivers even if the kernel was built without AF_XDP
 * sockets, so only /proc/net/protocols shows that the sockets are missing. */
void kernel_xdp_take_protocols(struct inventory *inv, const char *protocols)
{
	for (size_t i = 0; !strstr(protocols, "\nXDP ") && i < inv->n_links; i++)
		if (inv->links[i].pci[0])
			inv_text_set(inv->links[i].af_xdp, sizeof(inv->links[i].af_xdp), "none");
}

void kernel_xdp_fill(int proc_net, struct inventory *inv)
{
	autofree char *protocols = calloc(1, PROTOCOLS_BYTES_MAX);
	char buf[REQUEST_BYTES_MAX];
	struct netlink *nl;
	uint16_t family;

	if (!protocols || sysfs_read(proc_net, "protocols", protocols, PROTOCOLS_BYTES_MAX) <= 0)
		return;
	kernel_xdp_take_protocols(inv, protocols);
	if (netlink_open(NETLINK_GENERIC, &nl) < 0)
		return;
	family = genl_family_find(nl, FAMILY_NAME);
	for (size_t i = 0; family && i < inv->n_links; i++) {
		struct nlmsghdr *h;

		if (!inv->links[i].pci[0] || inv->links[i].af_xdp[0])
			continue;
		h = genl_head(buf, family, CMD_DEV_GET);
		mnl_attr_put_u32(h, A_DEV_IFINDEX, inv->links[i].ifindex);
		(void)netlink_talk(nl, h, NLM_F_ACK, on_answer, inv, NULL);
	}
	netlink_close(nl);
}
