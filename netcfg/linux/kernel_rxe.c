/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates, removes and finds soft-RoCE devices by RDMA netlink (RDMA_NLDEV_CMD_NEWLINK).
 */
#include "netcfg/base/file.h"
#include "netcfg/linux/kernel_rdma.h"
#include "netcfg/linux/netlink/netlink.h"
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <limits.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REQUEST_BYTES_MAX 512
#define MODULES_BYTES_MAX (16U << 20)

static struct nlmsghdr *request(char *buf, int command)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);

	h->nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	return h;
}

static int ask(struct netlink *nl, struct nlmsghdr *h, struct reason *why)
{
	struct reason said;
	int r = netlink_talk(nl, h, NLM_F_ACK, NULL, NULL, &said);

	return r < 0 ? kernel_fail(why, r, said.text) : 0;
}

/* Creates the device. The kernel accepts the link only by its name, and returns EINVAL if the
 * driver is missing. */
static int device_make(struct netlink *nl, const struct kernel_change *c, struct reason *why)
{
	char buf[REQUEST_BYTES_MAX], ifname[IFNAMSIZ];
	struct nlmsghdr *h = request(buf, RDMA_NLDEV_CMD_NEWLINK);
	int r;

	if (!if_indextoname(c->ifindex, ifname))
		return kernel_fail(why, -ENODEV, strerror(ENODEV));
	mnl_attr_put_strz(h, RDMA_NLDEV_ATTR_DEV_NAME, c->rxe.name);
	mnl_attr_put_strz(h, RDMA_NLDEV_ATTR_LINK_TYPE, "rxe");
	mnl_attr_put_strz(h, RDMA_NLDEV_ATTR_NDEV_NAME, ifname);
	r = ask(nl, h, why);
	return r == -EINVAL ? kernel_fail(why, r,
					  "this kernel has no soft-RoCE (module rdma_rxe), or "
					  "cannot load it")
			    : r;
}

static int device_remove(struct netlink *nl, const struct kernel_change *c, struct reason *why)
{
	char buf[REQUEST_BYTES_MAX];
	struct nlmsghdr *h = request(buf, RDMA_NLDEV_CMD_DELLINK);
	uint32_t index, ifindex;
	int r = kernel_rdma_find(nl, c->rxe.name, &index, &ifindex);

	if (r < 0)
		return kernel_fail(why, r == -ENODEV ? -ENOENT : r,
				   "the RDMA device does not exist");
	if (!kernel_rdma_is_ours(c->rxe.name) || ifindex != c->ifindex)
		return kernel_fail(why, -EPERM, "that RDMA device was not created by plenum");
	mnl_attr_put_u32(h, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	return ask(nl, h, why);
}

int kernel_rxe_change(const struct kernel_change *c, struct reason *why)
{
	struct netlink *nl;
	int r = netlink_open(NETLINK_RDMA, &nl);

	if (r < 0)
		return kernel_fail(why, r, "this kernel has no RDMA");
	r = c->remove ? device_remove(nl, c, why) : device_make(nl, c, why);
	netlink_close(nl);
	return r;
}

int kernel_rxe_read(struct kernel_change *c)
{
	uint32_t index, ifindex = 0;
	struct netlink *nl;
	int r = netlink_open(NETLINK_RDMA, &nl);

	c->rxe.was[0] = '\0';
	if (r < 0)
		/* success, because a kernel without RDMA has no device that could be removed */
		return 0;
	r = kernel_rdma_find(nl, c->rxe.name, &index, &ifindex);
	netlink_close(nl);
	if (r == 0 && ifindex == c->ifindex)
		memcpy(c->rxe.was, c->rxe.name, sizeof(c->rxe.was));
	return r == -ENODEV ? 0 : r;
}

/* Returns whether one of the kernel's lists of modules contains rdma_rxe. */
static bool list_has(const char *release, const char *list)
{
	autofree char *text = NULL;
	char path[PATH_MAX];
	size_t len;

	snprintf(path, sizeof(path), "/lib/modules/%s/%s", release, list);
	return file_read(path, MODULES_BYTES_MAX, &text, &len) == 0 &&
	       strstr(text, "/rdma_rxe.ko") != NULL;
}

bool kernel_rxe_is_there(int sysfs_root, const char *release)
{
	return faccessat(sysfs_root, "module/rdma_rxe", F_OK, 0) == 0 ||
	       list_has(release, "modules.dep") || list_has(release, "modules.builtin");
}
