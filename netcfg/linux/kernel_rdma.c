/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the RDMA device of each link: by RDMA netlink for most devices, by sysfs for the rest.
 */
#include "netcfg/linux/kernel_rdma.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/netlink/netlink.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>

#define REQUEST_BYTES_MAX 256
#define RDMA_DEVICES_MAX 512
#define RDMA_ATTEMPTS_MAX 5

struct rdma_device {
	uint32_t index;
	char name[INV_TEXT_MAX];
};

struct rdma_devices {
	struct rdma_device dev[RDMA_DEVICES_MAX];
	size_t n;
};

/* The device whose ports are dumped, and the inventory that gets their links. */
struct port_walk {
	struct inventory *inv;
	const char *device;
};

static struct inv_link *link_by_index(struct inventory *inv, uint32_t ifindex)
{
	/* The cast is safe: only the lookup returns a const pointer, and the inventory itself is
	 * not const. */
	return (struct inv_link *)inv_link_by_index(inv, ifindex);
}

static void link_set_rdma(struct inv_link *l, const char *device)
{
	if (l && !l->rdma[0])
		inv_text_set(l->rdma, sizeof(l->rdma), device);
}

struct find_u32 {
	uint16_t type;
	const struct nlattr *found;
};

static int find_attr(const struct nlattr *a, void *user)
{
	struct find_u32 *f = user;

	if (mnl_attr_get_type(a) == f->type)
		f->found = a;
	return MNL_CB_OK;
}

static const struct nlattr *attr_of(const struct nlmsghdr *h, uint16_t type)
{
	struct find_u32 f = {.type = type};

	mnl_attr_parse(h, 0, find_attr, &f);
	return f.found;
}

bool kernel_rdma_parse_device(const struct nlmsghdr *h, uint32_t *ret_index, char *name,
			      size_t size)
{
	const struct nlattr *index = attr_of(h, RDMA_NLDEV_ATTR_DEV_INDEX);
	const struct nlattr *text = attr_of(h, RDMA_NLDEV_ATTR_DEV_NAME);

	if (h->nlmsg_type != RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET) || !index ||
	    !text || mnl_attr_validate(index, MNL_TYPE_U32) < 0 ||
	    mnl_attr_validate(text, MNL_TYPE_NUL_STRING) < 0)
		return false;
	*ret_index = mnl_attr_get_u32(index);
	inv_text_set(name, size, mnl_attr_get_str(text));
	return name[0] != '\0';
}

static uint32_t u32_of(const struct nlmsghdr *h, uint16_t type)
{
	const struct nlattr *a = attr_of(h, type);

	return a && mnl_attr_validate(a, MNL_TYPE_U32) == 0 ? mnl_attr_get_u32(a) : 0;
}

bool kernel_rdma_parse_port(const struct nlmsghdr *h, uint32_t *ret_port, uint32_t *ret_ifindex)
{
	if (h->nlmsg_type != RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET))
		return false;
	*ret_port = u32_of(h, RDMA_NLDEV_ATTR_PORT_INDEX);
	*ret_ifindex = u32_of(h, RDMA_NLDEV_ATTR_NDEV_INDEX);
	return true;
}

static void device_is_listed(struct inventory *inv, const char *device)
{
	for (size_t i = 0; i < inv->n_rdma; i++)
		if (strcmp(inv->rdma[i].device, device) == 0)
			inv->rdma[i].is_listed = true;
}

static int on_device(void *user, struct nlmsghdr *h)
{
	struct rdma_devices *devices = user;
	struct rdma_device *dev = &devices->dev[devices->n];

	if (devices->n < RDMA_DEVICES_MAX &&
	    kernel_rdma_parse_device(h, &dev->index, dev->name, sizeof(dev->name)))
		devices->n++;
	return 0;
}

static void port_set_link(struct inventory *inv, const char *device, uint32_t port,
			  uint32_t ifindex)
{
	for (size_t i = 0; i < inv->n_rdma; i++)
		if (inv->rdma[i].port == port && strcmp(inv->rdma[i].device, device) == 0)
			inv->rdma[i].ifindex = ifindex;
}

static int on_port(void *user, struct nlmsghdr *h)
{
	struct port_walk *w = user;
	uint32_t port, ifindex;

	if (!kernel_rdma_parse_port(h, &port, &ifindex) || !link_by_index(w->inv, ifindex))
		return 0; /* the port has no link, or one in another network namespace */
	link_set_rdma(link_by_index(w->inv, ifindex), w->device);
	port_set_link(w->inv, w->device, port, ifindex);
	return 0;
}

/* Dumps the objects of one device, or of all devices if `device` is negative. Returns the errors of
 * netlink_talk. */
static int rdma_dump(struct netlink *nl, int command, int64_t device, netlink_message_cb cb,
		     void *user)
{
	char buf[REQUEST_BYTES_MAX];
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);

	h->nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	if (device >= 0)
		mnl_attr_put_u32(h, RDMA_NLDEV_ATTR_DEV_INDEX, (uint32_t)device);
	return netlink_talk(nl, h, NLM_F_DUMP, cb, user, NULL);
}

static int collect_netlink(struct inventory *inv, struct rdma_devices *devices)
{
	struct netlink *nl;
	int r = netlink_open(NETLINK_RDMA, &nl);

	if (r < 0)
		return r;
	r = rdma_dump(nl, RDMA_NLDEV_CMD_GET, -1, on_device, devices);
	for (size_t i = 0; i < devices->n && r == 0; i++) {
		struct port_walk w = {inv, devices->dev[i].name};

		device_is_listed(inv, w.device);
		r = rdma_dump(nl, RDMA_NLDEV_CMD_PORT_GET, devices->dev[i].index, on_port, &w);
	}
	netlink_close(nl);
	return r;
}

struct find_device {
	const char *name;
	uint32_t index, ifindex;
	bool found;
};

static int on_device_find(void *user, struct nlmsghdr *h)
{
	struct find_device *f = user;
	char name[INV_TEXT_MAX];
	uint32_t index;

	if (kernel_rdma_parse_device(h, &index, name, sizeof(name)) && strcmp(name, f->name) == 0) {
		f->found = true;
		f->index = index;
	}
	return 0;
}

static int on_port_find(void *user, struct nlmsghdr *h)
{
	struct find_device *f = user;
	uint32_t port, ifindex;

	if (kernel_rdma_parse_port(h, &port, &ifindex) && port == 1)
		f->ifindex = ifindex;
	return 0;
}

int kernel_rdma_find(struct netlink *nl, const char *name, uint32_t *ret_index,
		     uint32_t *ret_ifindex)
{
	int r = -EAGAIN;

	for (int attempt = 0; attempt < RDMA_ATTEMPTS_MAX && r == -EAGAIN; attempt++) {
		struct find_device f = {.name = name};

		r = rdma_dump(nl, RDMA_NLDEV_CMD_GET, -1, on_device_find, &f);
		if (r == 0 && !f.found)
			return -ENODEV;
		if (r == 0)
			r = rdma_dump(nl, RDMA_NLDEV_CMD_PORT_GET, f.index, on_port_find, &f);
		*ret_index = f.index;
		*ret_ifindex = f.ifindex;
	}
	return r;
}

struct sysfs_walk {
	struct inventory *inv;
	int root;
	const char *device;
};

static int on_sysfs_link(void *user, const char *name)
{
	struct sysfs_walk *w = user;
	const struct inv_link *l = inv_link_by_name(w->inv, name);

	if (l)
		link_set_rdma(link_by_index(w->inv, l->ifindex), w->device);
	return 0;
}

/* Finds the links of a device by its PCI function; a software device names its link in the file
 * "parent". */
static int on_sysfs_device(void *user, const char *name)
{
	struct sysfs_walk *w = user;
	struct sysfs_walk one = {w->inv, w->root, name};
	char path[128], parent[IFNAMSIZ + 1];

	snprintf(path, sizeof(path), "class/infiniband/%.64s/parent", name);
	if (sysfs_read(w->root, path, parent, sizeof(parent)) > 0)
		on_sysfs_link(&one, parent);
	snprintf(path, sizeof(path), "class/infiniband/%.64s/device/net", name);
	sysfs_each_entry(w->root, path, on_sysfs_link, &one);
	return 0;
}

int kernel_rdma_collect(int sysfs_root, struct inventory *inv)
{
	struct rdma_devices *devices = calloc(1, sizeof(*devices));
	struct sysfs_walk w = {inv, sysfs_root, NULL};
	int r = -EAGAIN;

	if (!devices)
		return -ENOMEM;
	/* -EAGAIN means that devices changed during the dump. Links that an earlier attempt already
	 * filled in stay unchanged. */
	for (int attempt = 0; attempt < RDMA_ATTEMPTS_MAX && r == -EAGAIN; attempt++) {
		devices->n = 0;
		r = collect_netlink(inv, devices);
	}
	free(devices);
	/* The kernel has no RDMA, or its RDMA netlink cannot list devices, if it returns one of
	 * these errors. Only sysfs is read then. */
	if (r == -EPROTONOSUPPORT || r == -EOPNOTSUPP || r == -EINVAL)
		r = 0;
	sysfs_each_entry(sysfs_root, "class/infiniband", on_sysfs_device, &w);
	return r;
}

struct find_link {
	uint32_t ifindex, port;
	const char *device;
	char found[INV_TEXT_MAX];
};

static int on_port_of_link(void *user, struct nlmsghdr *h)
{
	struct find_link *f = user;
	uint32_t port, ifindex;

	if (!kernel_rdma_parse_port(h, &port, &ifindex) || ifindex != f->ifindex ||
	    kernel_rdma_is_ours(f->found))
		return 0;
	inv_text_set(f->found, sizeof(f->found), f->device);
	f->port = port;
	return 0;
}

static int find_link(struct netlink *nl, struct rdma_devices *devices, struct find_link *f)
{
	int r;

	devices->n = 0;
	f->found[0] = '\0';
	r = rdma_dump(nl, RDMA_NLDEV_CMD_GET, -1, on_device, devices);
	for (size_t i = 0; i < devices->n && r == 0; i++) {
		f->device = devices->dev[i].name;
		r = rdma_dump(nl, RDMA_NLDEV_CMD_PORT_GET, devices->dev[i].index, on_port_of_link,
			      f);
	}
	return r < 0 || f->found[0] ? r : -ENODEV;
}

int kernel_rdma_on_link(uint32_t ifindex, char ret_device[static INV_TEXT_MAX], uint32_t *ret_port)
{
	autofree struct rdma_devices *devices = calloc(1, sizeof(*devices));
	struct find_link f = {.ifindex = ifindex};
	struct netlink *nl;
	int r = devices ? netlink_open(NETLINK_RDMA, &nl) : -ENOMEM;

	if (r == -EPROTONOSUPPORT)
		return -ENODEV;
	if (r < 0)
		return r;
	r = -EAGAIN;
	for (int attempt = 0; attempt < RDMA_ATTEMPTS_MAX && r == -EAGAIN; attempt++)
		r = find_link(nl, devices, &f);
	netlink_close(nl);
	if (r < 0)
		return r;
	memcpy(ret_device, f.found, sizeof(f.found));
	*ret_port = f.port;
	return 0;
}
