/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests what each device can be used for, with the reason, and the switch behind it if the agent
 * knows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/ctl/ctl.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/kernel_xdp.h"
#include "netcfg/plan/nic_use.h"
#include "plugins/plugins.h"
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct inv_link *link_add(struct inventory *inv, const char *name, const char *driver,
				 const char *pci)
{
	struct inv_link *l = inv_link_add(inv);

	assert_non_null(l);
	l->ifindex = (uint32_t)inv->n_links;
	l->kind = INV_LINK_PHYSICAL;
	inv_text_set(l->name, sizeof(l->name), name);
	inv_text_set(l->driver, sizeof(l->driver), driver);
	inv_text_set(l->pci, sizeof(l->pci), pci);
	return l;
}

static void function_add(struct inventory *inv, const char *pci, uint32_t max_vfs, int group)
{
	struct inv_function *fn = inv_function_add(inv);

	assert_non_null(fn);
	inv_text_set(fn->pci, sizeof(fn->pci), pci);
	fn->max_vfs = max_vfs;
	fn->iommu_group = group;
}

/* One device of each kind. */
static struct inventory *host_new(uint64_t pages)
{
	struct inventory *inv = inv_new();
	struct inv_hugepages *h;

	assert_non_null(inv);
	link_add(inv, "eth0", "igb", "0000:01:00.0");
	function_add(inv, "0000:01:00.0", 7, 3);
	link_add(inv, "eth1", "ixgbe", "0000:02:00.0");
	function_add(inv, "0000:02:00.0", 64, 4);
	link_add(inv, "eth2", "mlx5_core", "0000:03:00.0");
	function_add(inv, "0000:03:00.0", 8, 5);
	link_add(inv, "eth3", "virtio_net", "0000:04:00.0");
	link_add(inv, "eth4", "ice", "0000:05:00.0");
	function_add(inv, "0000:05:00.0", 64, INV_IOMMU_NONE);
	link_add(inv, "ib0", "mlx5_core", "0000:06:00.0")->kind = INV_LINK_IPOIB;
	link_add(inv, "bond0", "bonding", "")->kind = INV_LINK_BOND;
	link_add(inv, "eth0v0", "igbvf", "0000:01:10.0")->kind = INV_LINK_VF;
	link_add(inv, "br0", "bridge", "")->kind = INV_LINK_BRIDGE;
	h = inv_hugepages_add(inv);
	assert_non_null(h);
	*h = (struct inv_hugepages){
		.size_kib = 2048, .numa_node = INV_NUMA_NONE, .total = pages, .free = pages};
	inv_sort(inv);
	return inv;
}

static void expect(const struct inventory *inv, const char *name, uint32_t vfs, bool shared,
		   const char *code)
{
	struct nic_use use;

	assert_true(nic_use_find(inv, inv_link_by_name(inv, name), &use));
	assert_int_equal(use.vfs, vfs);
	assert_int_equal(use.shared_ip, shared);
	assert_string_equal(use.why.code, code);
	assert_int_equal(use.why.code[0] == '\0', use.why.text[0] == '\0');
}

static void test_each_kind_of_device_has_its_reason(void **state)
{
	struct inventory *inv = host_new(4096);
	struct nic_use use;

	expect(inv, "eth0", 7, false, "");
	expect(inv, "eth1", 63, false, ""); /* its driver keeps one */
	expect(inv, "eth2", 0, true, "shared-ip");
	expect(inv, "eth3", 0, false, "no-vf");
	expect(inv, "eth4", 0, false, "no-iommu");
	expect(inv, "ib0", 0, false, "infiniband");
	expect(inv, "bond0", 0, false, "no-vf");
	assert_true(nic_use_find(inv, inv_link_by_name(inv, "eth3"), &use) && use.dpdk);
	assert_true(nic_use_find(inv, inv_link_by_name(inv, "ib0"), &use) && !use.dpdk);
	assert_false(nic_use_find(inv, inv_link_by_name(inv, "eth0v0"), &use));
	assert_false(nic_use_find(inv, inv_link_by_name(inv, "br0"), &use));
	inv_free(inv);

	inv = host_new(1);
	expect(inv, "eth0", 0, false, "no-hugepages");
	assert_true(nic_use_find(inv, inv_link_by_name(inv, "eth0"), &use) && !use.dpdk);
	inv_free(inv);
}

static void expect_queues(const struct inventory *inv, const char *name, const char *want)
{
	struct nic_use use;

	assert_true(nic_use_find(inv, inv_link_by_name(inv, name), &use));
	assert_string_equal(use.queues, want);
}

/* An answer of the netlink family 'netdev' about a link, with the XDP features of its driver. */
static void take_features(struct inventory *inv, uint32_t ifindex, uint64_t features)
{
	char buf[256];
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	g->cmd = 1;
	mnl_attr_put_u32(h, 1, ifindex);
	mnl_attr_put_u64(h, 3, features);
	assert_int_equal(kernel_xdp_parse(inv, h), 0);
}

static void test_xdp_support_is_the_kernels_answer(void **state)
{
	struct inventory *inv = host_new(4096);
	const struct inv_link *l = inv_link_by_name(inv, "eth3");

	take_features(inv, l->ifindex, 1 | 2 | 4);
	assert_string_equal(l->af_xdp, "copy");
	take_features(inv, l->ifindex, 1 | 2 | 8);
	assert_string_equal(l->af_xdp, "zero-copy");
	take_features(inv, 99, 8); /* no such link here */
	assert_string_equal(inv_link_by_name(inv, "eth0")->af_xdp, "");
	kernel_xdp_take_protocols(inv, "protocol  size\nXDP        1088\nUDP  1\n");
	assert_string_equal(l->af_xdp, "zero-copy");
	kernel_xdp_take_protocols(inv, "protocol  size\nUDP        1088\n");
	assert_string_equal(l->af_xdp, "none");
	inv_free(inv);
}

/* The kernel's answer decides; without one, the kernel version and the family's table. */
static void test_queues_column_shows_the_access(void **state)
{
	struct inventory *inv = host_new(4096);
	struct inv_link *igb = (struct inv_link *)inv_link_by_name(inv, "eth0");
	struct inv_link *virtio = (struct inv_link *)inv_link_by_name(inv, "eth3");

	expect_queues(inv, "eth0", "vfio");
	expect_queues(inv, "eth2", "bifurcated");
	expect_queues(inv, "eth3", "");
	inv_text_set(inv->kernel_release, sizeof(inv->kernel_release), "6.1.0-18-amd64");
	expect_queues(inv, "eth0", "vfio"); /* the driver got it in a later version */
	expect_queues(inv, "eth1", "vfio, AF_XDP");
	expect_queues(inv, "eth2", "bifurcated, AF_XDP");
	expect_queues(inv, "eth4", "AF_XDP"); /* no IOMMU */
	expect_queues(inv, "ib0", "");
	inv_text_set(inv->kernel_release, sizeof(inv->kernel_release), "6.14.2");
	expect_queues(inv, "eth0", "vfio, AF_XDP");
	inv_text_set(igb->af_xdp, sizeof(igb->af_xdp), "copy");
	inv_text_set(virtio->af_xdp, sizeof(virtio->af_xdp), "zero-copy");
	expect_queues(inv, "eth0", "vfio, AF_XDP by copies");
	expect_queues(inv, "eth3", "AF_XDP");
	kernel_xdp_take_protocols(inv, "UDP\n"); /* a kernel built without AF_XDP */
	expect_queues(inv, "eth1", "vfio");
	expect_queues(inv, "eth3", "");
	inv_free(inv);
}

/* The printed table, on the heap. */
static char *devices_view(const struct ctl_args *a, const struct inventory *inv, const char *legs)
{
	json_t *o = json_loads(legs, 0, NULL);
	const int was = dup(STDOUT_FILENO), fd = memfd_create("stdout", MFD_CLOEXEC);
	char *text = calloc(1, 8192);

	assert_non_null(text);
	fflush(stdout);
	assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
	assert_int_equal(ctl_put_devices(a, inv, o, a->view.csv ? NULL : "DATA DEVICES"), CTL_OK);
	fflush(stdout);
	assert_int_equal(dup2(was, STDOUT_FILENO), STDOUT_FILENO);
	assert_true(pread(fd, text, 8191, 0) > 0);
	close(was);
	close(fd);
	json_decref(o);
	return text;
}

static char *devices_text(const struct inventory *inv, const char *legs)
{
	static const struct ctl_args plain;

	return devices_view(&plain, inv, legs);
}

static void assert_line(const char *text, const char *name, const char *want)
{
	const char *line = strstr(text, name), *found = line ? strstr(line, want) : NULL;

	if (!found || memchr(line, '\n', (size_t)(found - line)))
		fail_msg("no '%s' behind '%s' in:\n%s", want, name, text);
}

static void test_switches_come_from_the_agent(void **state)
{
	static const char legs[] =
		"{\"net\": [{\"name\": \"leg-a\", \"switch\": \"leaf-1\", \"switch_port\": "
		"\"Eth1/7\","
		" \"neighbours\": [{\"ifname\": \"eth0\", \"chassis\": \"02:00\"}]},"
		" {\"name\": \"bond\", \"switch\": \"leaf-2\", \"switch_port\": \"x\","
		" \"neighbours\": [{\"ifname\": \"eth1\", \"name\": \"leaf-2\", \"port\": "
		"\"Eth2\"},"
		" {\"ifname\": \"eth3\", \"chassis\": \"02:aa\", \"port\": \"Eth3\"},"
		" {\"ifname\": \"eth4\", \"name\": \"p\", \"port\": \"1\"},"
		" {\"ifname\": \"eth4\", \"name\": \"q\", \"port\": \"2\"}]}]}";
	struct inventory *inv = host_new(4096);
	char *text = devices_text(inv, legs);

	assert_line(text, "eth0", "by 7 VFs");
	assert_line(text, "eth0", " leaf-1 ");
	assert_line(text, "eth0", " Eth1/7 ");
	assert_line(text, "eth1", " leaf-2 ");
	assert_line(text, "eth1", " Eth2 ");
	assert_line(text, "eth2", "unknown  unknown");
	assert_line(text, "eth3", " 02:aa ");
	assert_line(text, "eth4", "unknown  unknown"); /* several neighbours: no guess */
	free(text);
	text = devices_text(inv, "{}");
	assert_line(text, "eth0", "unknown  unknown");
	free(text);
	inv_free(inv);
}

static void test_columns_and_rows_can_be_chosen(void **state)
{
	struct inventory *inv = host_new(4096);
	char *filters[] = {"DPDK~VFs"};
	const struct ctl_args a = {.view = {.columns = "device,driver,max vfs,queues",
					    .sort = "-DEVICE",
					    .filters = {.n = 1, .items = {filters[0]}},
					    .csv = true}};
	char *text = devices_view(&a, inv, "{}");

	assert_string_equal(text, "DEVICE,DRIVER,MAX VFS,QUEUES\r\n"
				  "eth1,ixgbe,,vfio\r\n"
				  "eth0,igb,,vfio\r\n");
	free(text);
	inv_free(inv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_kind_of_device_has_its_reason),
		cmocka_unit_test(test_xdp_support_is_the_kernels_answer),
		cmocka_unit_test(test_queues_column_shows_the_access),
		cmocka_unit_test(test_columns_and_rows_can_be_chosen),
		cmocka_unit_test(test_switches_come_from_the_agent),
	};

	setenv("COLUMNS", "1000", 1);
	plugins_register();
	return cmocka_run_group_tests_name("devices", tests, NULL, NULL);
}
