/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads sysfs features and kernel messages that the test machine lacks, from recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netcfg/base/os/folder.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/dependents.h"
#include "netcfg/linux/kernel_rdma.h"
#include "netcfg/linux/netlink/ethtool.h"
#include "netcfg/linux/netlink/netlink.h"
#include "netcfg/linux/pci.h"
#include "netcfg/linux/rtnl/rtnl.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include "netcfg/linux/sysfs/udev.h"
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/ethtool.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct tree {
	char path[64];
	int root;
};

static void make_folders(int root, const char *path)
{
	char part[256];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		assert_true(mkdirat(root, part, 0700) == 0 || errno == EEXIST);
	}
}

static void put(int root, const char *path, const char *text)
{
	FILE *f;
	int fd;

	make_folders(root, path);
	fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void put_link(int root, const char *path, const char *target)
{
	make_folders(root, path);
	assert_int_equal(symlinkat(target, root, path), 0);
}

#define PF "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"
#define VF "devices/pci0000:3a/0000:3a:00.0/0000:3b:02.0"
#define VIRTIO "devices/pci0000:00/0000:00:03.0"

static int setup(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	strcpy(t->path, "/tmp/plenum-sysfs-XXXXXX");
	assert_non_null(mkdtemp(t->path));
	t->root = open(t->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(t->root >= 0);
	put(t->root, PF "/net/ens1f0/speed", "100000\n");
	put(t->root, PF "/net/ens1f0/dev_port", "1\n");
	put_link(t->root, PF "/net/ens1f0/device", "../../../0000:3b:00.0");
	put_link(t->root, "class/net/ens1f0", "../../" PF "/net/ens1f0");
	put_link(t->root, PF "/driver", "../../../../bus/pci/drivers/mlx5_core");
	put(t->root, PF "/numa_node", "1\n");
	put(t->root, PF "/sriov_totalvfs", "8\n");
	put(t->root, PF "/sriov_numvfs", "2\n");
	put(t->root, VF "/net/ens1f0v0/speed", "-1\n");
	put_link(t->root, VF "/net/ens1f0v0/device", "../../../0000:3b:02.0");
	put_link(t->root, "class/net/ens1f0v0", "../../" VF "/net/ens1f0v0");
	put_link(t->root, VF "/physfn", "../0000:3b:00.0");
	put(t->root, VF "/numa_node", "-1\n");
	put(t->root, VIRTIO "/virtio0/net/eth0/speed", "garbage\n");
	put_link(t->root, VIRTIO "/virtio0/net/eth0/device", "../../../virtio0");
	put_link(t->root, "class/net/eth0", "../../" VIRTIO "/virtio0/net/eth0");
	put(t->root, VIRTIO "/numa_node", "0\n");
	put(t->root, "devices/virtual/net/odd0/speed", "10\n");
	put_link(t->root, "class/net/odd0", "../../devices/virtual/net/odd0");
	put(t->root, PF "/infiniband/mlx5_0/node_type", "1: CA\n");
	put_link(t->root, PF "/infiniband/mlx5_0/device", "../../../0000:3b:00.0");
	put_link(t->root, "class/infiniband/mlx5_0", "../../" PF "/infiniband/mlx5_0");
	put(t->root, "class/infiniband/rxe0/parent", "eth0\n");
	put(t->root, PF "/infiniband/mlx5_0/ports/1/link_layer", "Ethernet\n");
	put(t->root, PF "/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
	put(t->root, PF "/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
	put(t->root, PF "/infiniband/mlx5_0/ports/1/gids/0",
	    "fe80:0000:0000:0000:0e42:a1ff:fe00:0001\n");
	put(t->root, PF "/infiniband/mlx5_0/ports/1/gids/1",
	    "0000:0000:0000:0000:0000:0000:0000:0000\n");
	put(t->root, PF "/infiniband/mlx5_0/ports/1/gids/3",
	    "0000:0000:0000:0000:0000:ffff:0a0a:010a\n");
	put(t->root, PF "/infiniband/mlx5_0/ports/1/gid_attrs/types/0", "IB/RoCE v1\n");
	put(t->root, PF "/infiniband/mlx5_0/ports/1/gid_attrs/types/3", "RoCE v2\n");
	put(t->root, PF "/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/3", "ens1f0\n");
	put(t->root, "class/infiniband/cxgb4_0/node_type", "4: RNIC\n");
	put(t->root, "class/infiniband/cxgb4_0/ports/1/link_layer", "Ethernet\n");
	put(t->root, "class/infiniband/ib0/node_type", "1: CA\n");
	put(t->root, "class/infiniband/ib0/ports/2/link_layer", "InfiniBand\n");
	put(t->root, "class/infiniband/ib0/ports/2/state", "1: DOWN\n");
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct tree *t = *state;

	close(t->root);
	folder_remove(t->path);
	free(t);
	return 0;
}

static struct inv_link link_named(const char *name)
{
	struct inv_link l = {.kind = INV_LINK_VIRTUAL, .numa_node = INV_NUMA_NONE, .up = true};

	inv_text_set(l.name, sizeof(l.name), name);
	return l;
}

static void test_physical_function(void **state)
{
	struct tree *t = *state;
	struct inv_link l = link_named("ens1f0");

	sysfs_fill_link(t->root, &l);
	assert_int_equal(l.kind, INV_LINK_PHYSICAL);
	assert_string_equal(l.pci, "0000:3b:00.0");
	assert_string_equal(l.driver, "mlx5_core");
	assert_int_equal(l.numa_node, 1);
	assert_int_equal(l.speed_mbps, 100000);
	assert_int_equal(l.n_vfs, 2);
	assert_int_equal(l.max_vfs, 8);
	assert_int_equal(l.dev_port, 1);
}

static void test_virtual_function(void **state)
{
	struct tree *t = *state;
	struct inv_link l = link_named("ens1f0v0");

	sysfs_fill_link(t->root, &l);
	assert_int_equal(l.kind, INV_LINK_VF);
	assert_string_equal(l.pci, "0000:3b:02.0");
	assert_string_equal(l.physfn, "0000:3b:00.0");
	assert_int_equal(l.numa_node, INV_NUMA_NONE);
	assert_int_equal(l.speed_mbps, 0);
}

static void test_virtio_uses_its_parents_address(void **state)
{
	struct tree *t = *state;
	struct inv_link l = link_named("eth0");

	sysfs_fill_link(t->root, &l);
	assert_int_equal(l.kind, INV_LINK_PHYSICAL);
	assert_string_equal(l.pci, "0000:00:03.0");
	assert_int_equal(l.numa_node, 0);
	assert_int_equal(l.speed_mbps, 0);
}

static void test_a_link_without_device_is_valid(void **state)
{
	struct tree *t = *state;
	struct inv_link l = link_named("odd0"), gone = link_named("gone0");

	sysfs_fill_link(t->root, &l);
	assert_int_equal(l.kind, INV_LINK_VIRTUAL);
	assert_int_equal(l.speed_mbps, 0);
	sysfs_fill_link(t->root, &gone);
	assert_int_equal(gone.kind, INV_LINK_VIRTUAL);
}

/* Adds to the VF's group a device that belongs to xhci_hcd. */
static void put_foreign_member(const struct tree *t)
{
	put_link(t->root, VF "/iommu_group", "../../../../kernel/iommu_groups/41");
	put_link(t->root, "kernel/iommu_groups/41/devices/0000:3b:02.0", "../../../../" VF);
	put_link(t->root, "kernel/iommu_groups/41/devices/0000:3a:01.1", "../../../../x");
	put_link(t->root, "bus/pci/devices/0000:3a:01.1",
		 "../../../devices/pci0000:3a/0000:3a:01.1");
	put(t->root, "devices/pci0000:3a/0000:3a:01.1/class", "0x0c0330\n");
	put_link(t->root, "devices/pci0000:3a/0000:3a:01.1/driver",
		 "../../../../bus/pci/drivers/xhci_hcd");
}

/* Functions are found with a link or without; a VF is numbered by its PF; other members of the
 * group count, except bridges. */
static void test_functions(void **state)
{
	struct tree *t = *state;
	struct inventory *inv = inv_new();
	const struct inv_function *pf, *vf;
	char with[128];

	assert_int_equal(sysfs_add_functions(t->root, inv), 0); /* without PCI */
	assert_int_equal(inv->n_functions, 0);
	put_link(t->root, "bus/pci/devices/0000:3b:00.0", "../../../" PF);
	put_link(t->root, "bus/pci/devices/0000:3b:02.0", "../../../" VF);
	put(t->root, "devices/pci0000:3a/0000:3a:00.0/class", "0x060400\n");
	put_link(t->root, "bus/pci/devices/0000:3a:00.0",
		 "../../../devices/pci0000:3a/0000:3a:00.0");
	put(t->root, "devices/pci0000:3a/0000:3a:01.0/class", "0x010802\n");
	put_link(t->root, "bus/pci/devices/0000:3a:01.0",
		 "../../../devices/pci0000:3a/0000:3a:01.0");
	put(t->root, PF "/class", "0x020000\n");
	put(t->root, PF "/vendor", "0x15b3\n");
	put(t->root, PF "/device", "0x1017\n");
	put(t->root, PF "/sriov_drivers_autoprobe", "0\n");
	put_link(t->root, PF "/virtfn1", "../0000:3b:02.0");
	put(t->root, VF "/class", "0x020000\n");
	put_link(t->root, VF "/driver", "../../../../bus/pci/drivers/vfio-pci");
	put_link(t->root, "kernel/iommu_groups/41/devices/0000:3a:00.0", "../../../../x");
	put_link(t->root, "kernel/iommu_groups/41/devices/0000:3a:01.0", "../../../../x");
	put_foreign_member(t);
	assert_int_equal(sysfs_add_functions(t->root, inv), 0);
	inv_sort(inv);
	assert_int_equal(inv->n_functions, 2);
	pf = inv_function_find(inv, "0000:3B:00.0");
	assert_non_null(pf);
	assert_string_equal(pf->driver, "mlx5_core");
	assert_int_equal(pf->vendor, 0x15b3);
	assert_int_equal(pf->device, 0x1017);
	assert_int_equal(pf->max_vfs, 8);
	assert_int_equal(pf->n_vfs, 2);
	assert_false(pf->autoprobe);
	assert_int_equal(pf->iommu_group, INV_IOMMU_NONE);
	vf = inv_function_by_ref(inv, "0000:3b:00.0/vf1");
	assert_non_null(vf);
	assert_string_equal(vf->pci, "0000:3b:02.0");
	assert_string_equal(vf->driver, "vfio-pci");
	assert_int_equal(vf->iommu_group, 41);
	/* All except the bridge, with their drivers. */
	assert_int_equal(inv->n_iommu, 3);
	assert_string_equal(inv_iommu_other(inv, vf, 0)->pci, "0000:3a:01.0");
	assert_string_equal(inv_iommu_other(inv, vf, 0)->driver, "");
	assert_string_equal(inv_iommu_other(inv, vf, 1)->driver, "xhci_hcd");
	assert_null(inv_iommu_other(inv, vf, 2));
	assert_null(inv_iommu_other(inv, pf, 0));
	assert_string_equal(inv_iommu_format(inv, vf, with, sizeof(with)),
			    "0000:3a:01.0, 0000:3a:01.1 (xhci_hcd)");
	assert_null(inv_function_by_ref(inv, "0000:3b:00.0/vf0"));
	inv_free(inv);
}

/* The order of writes to the kernel: the override comes before the unbind. */
static void test_a_driver_change_overrides_before_it_unbinds(void **state)
{
	struct tree *t = *state;
	struct kernel_change c = {.kind = KERNEL_PCI,
				  .pci = "0000:3b:02.0",
				  .pci_value = {.attr = KERNEL_PCI_DRIVER, .value = "vfio-pci"}};
	struct reason why;
	char text[64], address[16];
	int pci;

	put_link(t->root, "bus/pci/devices/0000:3b:00.0", "../../../" PF);
	put_link(t->root, "bus/pci/devices/0000:3b:02.0", "../../../" VF);
	put_link(t->root, PF "/virtfn0", "../0000:3b:02.0");
	put(t->root, VF "/driver_override", "");
	put(t->root, VF "/reset", "");
	put(t->root, "bus/pci/drivers_probe", "");
	put(t->root, "bus/pci/drivers/vfio-pci/new_id", "");
	pci = openat(t->root, "bus/pci", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(pci >= 0);
	assert_int_equal(pci_function_find(pci, "0000:3b:00.0/vf0", address), 0);
	assert_string_equal(address, "0000:3b:02.0");
	assert_int_equal(pci_function_find(pci, "0000:3b:00.0/vf1", address), -ENODEV);
	assert_int_equal(pci_function_find(pci, "../../class", address), -ENODEV);
	assert_int_equal(pci_read(pci, &c), 0);
	assert_string_equal(c.pci_value.was, "");
	/* A recorded tree binds nothing: the change writes, checks, and reports what it found. */
	assert_int_equal(pci_change(pci, &c, &why), -EIO);
	assert_string_equal(why.text,
			    "0000:3b:02.0 is bound to no driver: driver vfio-pci refused it");
	assert_true(sysfs_read(t->root, VF "/driver_override", text, sizeof(text)) > 0);
	assert_string_equal(text, "vfio-pci");
	assert_true(sysfs_read(t->root, "bus/pci/drivers_probe", text, sizeof(text)) > 0);
	assert_string_equal(text, "0000:3b:02.0");
	put_link(t->root, VF "/driver", "../../../../bus/pci/drivers/vfio-pci");
	assert_int_equal(pci_read(pci, &c), 0);
	assert_string_equal(c.pci_value.was, "vfio-pci");
	assert_int_equal(sysfs_read(t->root, VF "/reset", text, sizeof(text)), 0);
	/* A function that its driver has released is reset. */
	put(t->root, "bus/pci/drivers/vfio-pci/unbind", "");
	strcpy(c.pci_value.value, "");
	assert_int_equal(pci_change(pci, &c, &why), -EIO);
	assert_true(sysfs_read(t->root, VF "/reset", text, sizeof(text)) > 0);
	assert_string_equal(text, "1");
	strcpy(c.pci_value.value, "no-such-driver");
	assert_int_equal(pci_change(pci, &c, &why), -ENOENT);
	assert_non_null(strstr(why.text, "no-such-driver"));
	c.pci_value = (struct kernel_pci){.attr = KERNEL_PCI_VFS, .value = "4"};
	strcpy(c.pci, "0000:3b:00.0");
	assert_int_equal(pci_read(pci, &c), 0);
	assert_string_equal(c.pci_value.was, "2");
	assert_int_equal(pci_change(pci, &c, &why), 0);
	assert_true(sysfs_read(t->root, PF "/sriov_numvfs", text, sizeof(text)) > 0);
	assert_string_equal(text, "4");
	close(pci);
}

/* Another driver owns a part of its IOMMU group: the change is not attempted. */
static void test_a_shared_group_keeps_its_driver(void **state)
{
	struct tree *t = *state;
	struct kernel_change c = {.kind = KERNEL_PCI,
				  .pci = "0000:3b:02.0",
				  .pci_value = {.attr = KERNEL_PCI_DRIVER, .value = "vfio-pci"}};
	struct reason why;
	char text[64];
	autoclose int pci = -1;

	put_link(t->root, "bus/pci/devices/0000:3b:02.0", "../../../" VF);
	put(t->root, VF "/driver_override", "");
	put(t->root, "bus/pci/drivers_probe", "");
	put(t->root, "bus/pci/drivers/vfio-pci/new_id", "");
	put_foreign_member(t);
	pci = openat(t->root, "bus/pci", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(pci >= 0);
	assert_int_equal(pci_change(pci, &c, &why), -EBUSY);
	assert_string_equal(why.text,
			    "0000:3b:02.0 shares its IOMMU group with 0000:3a:01.1, which "
			    "driver xhci_hcd uses; turn ACS on in the firmware, or move the NIC "
			    "to another slot");
	assert_int_equal(sysfs_read(t->root, VF "/driver_override", text, sizeof(text)), 0);
}

static void test_rdma_from_sysfs(void **state)
{
	struct tree *t = *state;
	struct inventory *inv = inv_new();

	*inv_link_add(inv) = link_named("ens1f0");
	*inv_link_add(inv) = link_named("eth0");
	inv->links[0].ifindex = 1;
	inv->links[1].ifindex = 2;
	/* The test machine may have RDMA devices: they have other links. */
	kernel_rdma_collect(t->root, inv);
	assert_string_equal(inv->links[0].rdma, "mlx5_0");
	assert_string_equal(inv->links[1].rdma, "rxe0");
	inv_free(inv);
}

static void test_cores(void **state)
{
	struct tree *t = *state;
	struct inventory *inv = inv_new();

	assert_int_equal(sysfs_add_cores(t->root, inv), -ENOENT);
	put(t->root, "devices/system/cpu/present", "0-3,8\n");
	put(t->root, "devices/system/cpu/online", "0-2,8\n");
	put(t->root, "devices/system/cpu/isolated", "2,8\n");
	put(t->root, "devices/system/node/online", "0-1\n");
	put(t->root, "devices/system/node/node0/cpulist", "0-1\n");
	put(t->root, "devices/system/node/node1/cpulist", "2-3,8\n");
	assert_int_equal(sysfs_add_cores(t->root, inv), 0);
	assert_int_equal(inv->n_cores, 5);
	assert_int_equal(inv->cores[4].id, 8);
	assert_true(inv->cores[4].isolated && inv->cores[4].online);
	assert_false(inv->cores[3].online);
	assert_int_equal(inv->cores[1].numa_node, 0);
	assert_int_equal(inv->cores[2].numa_node, 1);
	inv_free(inv);
}

static void test_hugepages(void **state)
{
	struct tree *t = *state;
	struct inventory *inv = inv_new();

	assert_int_equal(sysfs_add_hugepages(t->root, inv), 0);
	assert_int_equal(inv->n_hugepages, 0);
	put(t->root, "kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n");
	put(t->root, "kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "500\n");
	put(t->root, "devices/system/node/online", "1\n");
	put(t->root, "devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "512\n");
	put(t->root, "devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages",
	    "500\n");
	assert_int_equal(sysfs_add_hugepages(t->root, inv), 0);
	assert_int_equal(inv->n_hugepages, 2);
	assert_int_equal(inv->hugepages[0].numa_node, INV_NUMA_NONE);
	assert_int_equal(inv->hugepages[0].size_kib, 2048);
	assert_int_equal(inv->hugepages[1].numa_node, 1);
	assert_int_equal(inv->hugepages[1].free, 500);
	inv_free(inv);
}

static void test_lists(void **state)
{
	static const char *const bad[] = {"a", "1-", "3-1", "1,,2", "1;2", "-1"};
	bool set[16] = {false};

	assert_int_equal(sysfs_parse_list("", set, 16), 0);
	assert_int_equal(sysfs_parse_list("0,3-4,14-99\n", set, 16), 0);
	assert_true(set[0] && set[3] && set[4] && set[14] && set[15]);
	assert_false(set[1] || set[5]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(sysfs_parse_list(bad[i], set, 16), -EINVAL);
}

/* A netlink message of a header, and attributes added one by one. */
struct message {
	union {
		struct nlmsghdr h;
		char bytes[512];
	};
};

static void message_add(struct message *m, uint16_t type, const void *data, size_t len)
{
	struct nlattr a = {.nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type};

	memcpy(m->bytes + m->h.nlmsg_len, &a, sizeof(a));
	memcpy(m->bytes + m->h.nlmsg_len + NLA_HDRLEN, data, len);
	m->h.nlmsg_len += (uint32_t)NLA_ALIGN(a.nla_len);
}

static void test_rdma_messages(void **state)
{
	const uint32_t index = 3, port = 2, ifindex = 7;
	struct message m = {.h = {.nlmsg_len = NLMSG_HDRLEN}};
	uint32_t number = 0, on = 1;
	char name[8];

	m.h.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);
	assert_false(kernel_rdma_parse_device(&m.h, &number, name, sizeof(name)));
	message_add(&m, RDMA_NLDEV_ATTR_DEV_INDEX, &index, sizeof(index));
	message_add(&m, RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_bond_0", sizeof("mlx5_bond_0"));
	assert_true(kernel_rdma_parse_device(&m.h, &number, name, sizeof(name)));
	assert_int_equal(number, 3);
	assert_string_equal(name, "mlx5_bo");
	assert_false(kernel_rdma_parse_port(&m.h, &number, &on));
	m.h.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET);
	assert_true(kernel_rdma_parse_port(&m.h, &number, &on));
	assert_int_equal(number, 0);
	assert_int_equal(on, 0);
	message_add(&m, RDMA_NLDEV_ATTR_PORT_INDEX, &port, sizeof(port));
	message_add(&m, RDMA_NLDEV_ATTR_NDEV_INDEX, &ifindex, sizeof(ifindex));
	assert_true(kernel_rdma_parse_port(&m.h, &number, &on));
	assert_int_equal(number, 2);
	assert_int_equal(on, 7);
}

static void test_link_references(void **state)
{
	struct tree *t = *state;
	char name[IFNAMSIZ] = "";

	put_link(t->root, "bus/pci/devices/0000:3b:00.0", "../../../" PF);
	put_link(t->root, PF "/virtfn0", "../0000:3b:02.0");
	assert_int_equal(sysfs_link_name(t->root, "leg0", name), 0);
	assert_string_equal(name, "leg0");
	assert_int_equal(sysfs_link_name(t->root, "0000:3b:00.0", name), 0);
	assert_string_equal(name, "ens1f0");
	assert_int_equal(sysfs_link_name(t->root, "0000:3b:00.0/vf0", name), 0);
	assert_string_equal(name, "ens1f0v0");
	assert_int_equal(sysfs_link_name(t->root, "0000:3b:00.0/vf1", name), -ENODEV);
	assert_int_equal(sysfs_link_name(t->root, "0000:3b:00.1", name), -ENODEV);
	assert_int_equal(sysfs_link_name(t->root, "0000:3b:00.0/../x", name), -EINVAL);
	assert_int_equal(sysfs_link_name(t->root, "3b:00", name), -EINVAL);
	assert_int_equal(sysfs_link_name(t->root, "a-name-of-sixteen", name), -ENODEV);
	put(t->root, PF "/net/ens1f0d1/speed", "-1\n");
	assert_int_equal(sysfs_link_name(t->root, "0000:3b:00.0", name), -ENOTUNIQ);
	assert_string_equal(name, "ens1f0v0"); /* untouched by what failed */
}

/* udev names a link: only if its daemon listens for links of this namespace, and only until it
 * has finished. */
static void test_udev_names_links_only_while_it_listens(void **state)
{
	static const char head[] = "sk               Eth Pid        Groups   Rmem     Wmem\n";
	static const char route[] = "00000000bdf401f8 0   1          00000001 0        0\n";
	static const char kernel[] = "00000000bdf401f9 15  311        00000001 0        0\n";
	static const char library[] = "00000000bdf401fa 15  312        00000002 0        0\n";
	struct tree *t = *state;
	struct inventory *inv = inv_new();
	char text[512];

	for (uint32_t i = 1; i <= 4; i++) {
		struct inv_link *l = inv_link_add(inv);

		l->ifindex = i;
		l->kind = i == 1 ? INV_LINK_LOOPBACK : INV_LINK_PHYSICAL;
	}
	put(t->root, "control", "");
	put(t->root, "data/b8:0", "I:1234567\n");
	snprintf(text, sizeof(text), "%s%s%s%s", head, route, library, kernel);
	put(t->root, "netlink", text);
	assert_false(udev_serves(t->root, t->root)); /* the daemon listens for disks only */
	put(t->root, "data/n2", "I:1234567\nE:ID_NET_NAME=ens1\n");
	put(t->root, "data/n3", "I:1234567\nE:ID_RENAMING=1\n");
	assert_int_equal(unlinkat(t->root, "control", 0), 0);
	assert_false(udev_serves(t->root, t->root)); /* the daemon has exited */
	snprintf(text, sizeof(text), "%s%s%s", head, route, library);
	put(t->root, "netlink", text);
	udev_fill_links(t->root, t->root, inv);
	assert_true(inv->links[2].initialized && inv->links[3].initialized);
	put(t->root, "control", "");
	assert_false(udev_serves(t->root, t->root)); /* the daemon listens elsewhere */
	snprintf(text, sizeof(text), "%s%s%s%s", head, route, library, kernel);
	put(t->root, "netlink", text);
	assert_true(udev_serves(t->root, t->root));
	udev_fill_links(t->root, t->root, inv);
	assert_true(inv->links[0].initialized && inv->links[1].initialized);
	assert_false(inv->links[2].initialized || inv->links[3].initialized);
	put(t->root, "data/n3", "I:1234567\n");
	put(t->root, "data/n4", "I:1234567\n");
	udev_fill_links(t->root, t->root, inv);
	assert_true(inv->links[2].initialized && inv->links[3].initialized);
	assert_false(udev_serves(-1, -1));
	inv_free(inv);
}

/* Recorded lines of mountinfo. */
static void test_mounts(void **state)
{
	static const struct {
		const char *line, *path, *type, *server; /* path NULL: no network file system */
	} cases[] = {
		{"29 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw", NULL, "", ""},
		{"29 1 0:51 / / rw shared:1 - nfs4 10.1.2.3:/root rw,vers=4.2,proto=tcp,"
		 "clientaddr=10.1.2.9,local_lock=none,addr=10.1.2.3",
		 "/", "nfs4", "10.1.2.3"},
		{"30 29 0:52 / /mnt/my\\040data rw - cifs //files/x rw,addr=fd00::7,unix",
		 "/mnt/my data", "cifs", "fd00::7"},
		{"31 29 0:53 / /l rw master:7 propagate_from:2 - lustre 10.9.0.1@tcp:/fs rw", "/l",
		 "lustre", "10.9.0.1"},
		{"32 29 0:54 / /c rw - ceph [fd00::1]:6789:/ rw,name=x,mon_addr=10.5.5.5:6789/",
		 "/c", "ceph", "10.5.5.5"},
		{"33 29 0:55 / /g rw - fuse.glusterfs storage-1:/vol rw,user_id=0", "/g",
		 "fuse.glusterfs", ""},
		{"34 29 0:56 / /v rw - 9p share rw,access=client,trans=virtio", NULL, "", ""},
		{"35 29 0:57 / /t rw - 9p 10.3.3.3 rw,trans=tcp,port=564", "/t", "9p", "10.3.3.3"},
		{"36 29 0:58 / /p rw - fuse.plenum host-a/x rw", NULL, "", ""},
		{"37 29 0:59 / /broken rw - nfs", NULL, "", ""},
		{"", NULL, "", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ip_addr server = {0};
		struct inv_mount m = {0};

		assert_int_equal(dependents_parse_mount(cases[i].line, &m), !!cases[i].path);
		if (!cases[i].path)
			continue;
		assert_string_equal(m.path, cases[i].path);
		assert_string_equal(m.type, cases[i].type);
		if (cases[i].server[0])
			assert_int_equal(ip_addr_parse(cases[i].server, &server), 0);
		assert_true(ip_addr_equal(&m.server, &server));
	}
}

static struct message link_message(const char *name)
{
	struct message m = {.h = {.nlmsg_len = NLMSG_HDRLEN + sizeof(struct ifinfomsg),
				  .nlmsg_type = RTM_NEWLINK}};
	const struct ifinfomsg ifi = {.ifi_index = 9, .ifi_flags = IFF_UP};

	memcpy(m.bytes + NLMSG_HDRLEN, &ifi, sizeof(ifi));
	message_add(&m, IFLA_IFNAME, name, strlen(name) + 1);
	return m;
}

/* A representor reports its switch and port; a VRF its table. */
static void test_link_messages(void **state)
{
	static const uint8_t id[] = {0x00, 0xc0, 0xff, 0xee};
	const uint32_t table = 77;
	struct message m = link_message("eth4_0"), data = {.h = {0}}, info = {.h = {0}};
	struct inventory *inv = inv_new();

	message_add(&m, IFLA_PHYS_PORT_NAME, "pf0vf3", sizeof("pf0vf3"));
	message_add(&m, IFLA_PHYS_SWITCH_ID, id, sizeof(id));
	assert_int_equal(rtnl_parse_link(inv, &m.h), 0);
	assert_string_equal(inv->links[0].port_name, "pf0vf3");
	assert_string_equal(inv->links[0].switch_id, "00c0ffee");
	assert_int_equal(inv->links[0].vrf_table, 0);
	/* Nested attributes: a message built without header is used as data. */
	data.h.nlmsg_len = info.h.nlmsg_len = NLMSG_HDRLEN;
	message_add(&data, IFLA_VRF_TABLE, &table, sizeof(table));
	message_add(&info, IFLA_INFO_KIND, "vrf", sizeof("vrf"));
	message_add(&info, IFLA_INFO_DATA, data.bytes + NLMSG_HDRLEN,
		    data.h.nlmsg_len - NLMSG_HDRLEN);
	m = link_message("blue");
	message_add(&m, IFLA_LINKINFO, info.bytes + NLMSG_HDRLEN, info.h.nlmsg_len - NLMSG_HDRLEN);
	assert_int_equal(rtnl_parse_link(inv, &m.h), 0);
	assert_int_equal(inv->links[1].vrf_table, 77);
	inv_free(inv);
}

/* Two VFs with complete and partial data of their drivers, and a truncated list. */
static void test_vf_messages(void **state)
{
	struct message m = link_message("ens1f0"), list = {.h = {.nlmsg_len = NLMSG_HDRLEN}};
	struct inventory *inv = inv_new();
	char text[24];

	for (uint32_t n = 0; n < 2; n++) {
		struct message vf = {.h = {.nlmsg_len = NLMSG_HDRLEN}};
		struct ifla_vf_mac mac = {.vf = n, .mac = {2, 0, 0, 0, 0, (uint8_t)n}};
		struct ifla_vf_vlan vlan = {.vf = n, .vlan = 100 + n};
		struct ifla_vf_spoofchk spoof = {.vf = n, .setting = n ? UINT32_MAX : 1};
		struct ifla_vf_trust trust = {.vf = n, .setting = n};

		message_add(&vf, IFLA_VF_MAC, &mac, sizeof(mac));
		message_add(&vf, IFLA_VF_VLAN, &vlan, n ? sizeof(vlan) : 4);
		message_add(&vf, IFLA_VF_SPOOFCHK, &spoof, sizeof(spoof));
		message_add(&vf, IFLA_VF_TRUST, &trust, sizeof(trust));
		message_add(&list, IFLA_VF_INFO, vf.bytes + NLMSG_HDRLEN,
			    vf.h.nlmsg_len - NLMSG_HDRLEN);
	}
	message_add(&m, IFLA_VFINFO_LIST, list.bytes + NLMSG_HDRLEN,
		    list.h.nlmsg_len - NLMSG_HDRLEN);
	assert_int_equal(rtnl_parse_link(inv, &m.h), 0);
	assert_int_equal(inv->n_vfs, 2);
	assert_int_equal(inv->vfs[1].ifindex, 9);
	assert_int_equal(inv->vfs[0].vlan, 0); /* too short to be valid */
	assert_int_equal(inv->vfs[1].vlan, 101);
	assert_true(inv->vfs[0].spoof_check);
	assert_false(inv->vfs[1].spoof_check); /* its driver does not report it */
	assert_true(inv->vfs[1].trust);
	assert_string_equal(kernel_vf_format(&inv->vfs[1], KERNEL_VF_MAC, text),
			    "02:00:00:00:00:01");
	assert_string_equal(kernel_vf_format(&inv->vfs[1], KERNEL_VF_VLAN, text), "101");
	inv_free(inv);
}

/* With the request in the ack and without; with text and without. */
static void test_ack(void **state)
{
	static const char text[] = "mtu greater than device maximum";
	struct reason why;

	for (int capped = 0; capped < 2; capped++) {
		struct message m = {.h = {.nlmsg_len = NLMSG_HDRLEN + sizeof(struct nlmsgerr),
					  .nlmsg_type = NLMSG_ERROR}};
		struct nlmsgerr e = {.error = -EINVAL, .msg = {.nlmsg_len = NLMSG_HDRLEN + 20}};

		memcpy(m.bytes + NLMSG_HDRLEN, &e, sizeof(e));
		if (capped)
			m.h.nlmsg_flags |= NLM_F_CAPPED;
		else
			m.h.nlmsg_len += 20;
		assert_int_equal(netlink_parse_ack(&m.h, &why), -EINVAL);
		assert_string_equal(why.text, "");
		m.h.nlmsg_flags |= NLM_F_ACK_TLVS;
		assert_int_equal(netlink_parse_ack(&m.h, &why), -EINVAL);
		message_add(&m, NLMSGERR_ATTR_MSG, text, sizeof(text));
		assert_int_equal(netlink_parse_ack(&m.h, &why), -EINVAL);
		assert_string_equal(why.text, text);
		assert_int_equal(netlink_parse_ack(&m.h, NULL), -EINVAL);
		m.h.nlmsg_len = NLMSG_HDRLEN + 4;
		assert_int_equal(netlink_parse_ack(&m.h, &why), -EBADMSG);
	}
}

/* Ports by kind and state; GIDs with their index, without the empty entries. */
static void test_rdma_ports(void **state)
{
	struct tree *t = *state;
	struct inventory *inv = inv_new();
	struct inv_link *l = inv_link_add(inv);
	char ip[IP_ADDR_STR_MAX];

	*l = link_named("ens1f0");
	l->ifindex = 7;
	assert_int_equal(sysfs_add_rdma(t->root, inv), 0);
	inv_sort(inv);
	assert_int_equal(inv->n_rdma, 3);
	assert_string_equal(inv->rdma[0].kind, "iwarp");
	assert_string_equal(inv->rdma[1].kind, "ib");
	assert_int_equal(inv->rdma[1].port, 2);
	assert_string_equal(inv->rdma[1].state, "DOWN");
	assert_string_equal(inv->rdma[2].device, "mlx5_0");
	assert_string_equal(inv->rdma[2].kind, "roce");
	assert_string_equal(inv->rdma[2].state, "ACTIVE");
	assert_string_equal(inv->rdma[2].rate, "100 Gb/sec (4X EDR)");
	assert_int_equal(inv->n_gids, 2);
	assert_int_equal(inv->gids[0].index, 0);
	assert_string_equal(inv->gids[0].type, "IB/RoCE v1");
	assert_int_equal(inv->gids[0].ifindex, 0);
	assert_int_equal(inv->gids[1].index, 3);
	assert_string_equal(inv->gids[1].type, "RoCE v2");
	assert_string_equal(ip_addr_format(&inv->gids[1].gid, ip, sizeof(ip)), "::ffff:10.10.1.10");
	assert_int_equal(inv->gids[1].ifindex, 7);
	inv_free(inv);
}

static struct nlmsghdr *ethtool_answer(char *buf, uint8_t command, uint32_t ifindex)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));
	struct nlattr *header;

	g->cmd = command;
	header = mnl_attr_nest_start(h, 1);
	mnl_attr_put_u32(h, ETHTOOL_A_HEADER_DEV_INDEX, ifindex);
	mnl_attr_nest_end(h, header);
	return h;
}

static void test_ethtool(void **state)
{
	struct inventory *inv = inv_new();
	struct inv_link *l = inv_link_add(inv);
	const uint32_t supported[4] = {1U << 5 | 1U << 31, 0, 0, 1U << 31};
	char buf[512];
	struct nlmsghdr *h;
	struct nlattr *modes;

	l->ifindex = 7;
	h = ethtool_answer(buf, ETHTOOL_MSG_LINKMODES_GET_REPLY, 7);
	mnl_attr_put_u8(h, ETHTOOL_A_LINKMODES_DUPLEX, DUPLEX_FULL);
	modes = mnl_attr_nest_start(h, ETHTOOL_A_LINKMODES_OURS);
	/* 1 and 25 Gb/s are supported, and 1 Gb/s is advertised; then a word that the table lacks
	 */
	mnl_attr_put(h, ETHTOOL_A_BITSET_MASK, 4 * sizeof(*supported), supported);
	mnl_attr_put(h, ETHTOOL_A_BITSET_VALUE, sizeof(*supported), supported);
	mnl_attr_nest_end(h, modes);
	assert_int_equal(ethtool_parse(inv, h), 0);
	assert_int_equal(l->max_speed_mbps, 25000);
	h = ethtool_answer(buf, ETHTOOL_MSG_FEC_GET_REPLY, 7);
	mnl_attr_put_u32(h, ETHTOOL_A_FEC_ACTIVE, ETHTOOL_LINK_MODE_FEC_RS_BIT);
	assert_int_equal(ethtool_parse(inv, h), 0);
	h = ethtool_answer(buf, ETHTOOL_MSG_CHANNELS_GET_REPLY, 7);
	mnl_attr_put_u32(h, ETHTOOL_A_CHANNELS_COMBINED_COUNT, 8);
	mnl_attr_put_u32(h, ETHTOOL_A_CHANNELS_COMBINED_MAX, 63);
	assert_int_equal(ethtool_parse(inv, h), 0);
	h = ethtool_answer(buf, ETHTOOL_MSG_CHANNELS_GET_REPLY,
			   8); /* of a link that does not exist here */
	assert_int_equal(ethtool_parse(inv, h), 0);
	h = ethtool_answer(buf, ETHTOOL_MSG_LINKMODES_GET_REPLY, 7);
	mnl_attr_put_u32(h, ETHTOOL_A_LINKMODES_DUPLEX, DUPLEX_HALF); /* of the wrong size */
	assert_int_equal(ethtool_parse(inv, h), 0);
	assert_string_equal(l->duplex, "full");
	assert_string_equal(l->fec, "rs");
	assert_int_equal(l->channels, 8);
	assert_int_equal(l->max_channels, 63);
	inv_free(inv);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_physical_function),
		CASE(test_virtual_function),
		CASE(test_virtio_uses_its_parents_address),
		CASE(test_a_link_without_device_is_valid),
		CASE(test_functions),
		CASE(test_a_driver_change_overrides_before_it_unbinds),
		CASE(test_a_shared_group_keeps_its_driver),
		CASE(test_rdma_from_sysfs),
		CASE(test_vf_messages),
		CASE(test_cores),
		CASE(test_hugepages),
		CASE(test_link_references),
		CASE(test_udev_names_links_only_while_it_listens),
		cmocka_unit_test_setup_teardown(test_rdma_ports, setup, teardown),
		cmocka_unit_test(test_ethtool),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_rdma_messages),
		cmocka_unit_test(test_link_messages),
		cmocka_unit_test(test_ack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
