/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests `plenum rdma devices` on a recorded sysfs: the leg of a port and its counters. */
#include "agent/ctl/ctl.h"
#include "agent/ctl/net/ctl_rdma.h"
#include "netcfg/base/os/folder.h"

#include "netcfg/host/inventory_build.h"
#include "tests/lib/host/put_file.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct host {
	char path[64];
	int root;
	struct inventory *inv;
	json_t *legs;
};

__attribute__((format(printf, 3, 4))) static void put(const struct host *h, const char *path,
						      const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put_file_v(h->path, path, fmt, args);
	va_end(args);
}

static struct inv_link *add_link(struct host *h, uint32_t ifindex, const char *name)
{
	struct inv_link *l = inv_link_add(h->inv);

	assert_non_null(l);
	l->ifindex = ifindex;
	strcpy(l->name, name);
	return l;
}

static struct inv_rdma *add_port(struct host *h, const char *device, uint32_t port,
				 uint32_t ifindex)
{
	struct inv_rdma *p = inv_rdma_add(h->inv);

	assert_non_null(p);
	strcpy(p->device, device);
	strcpy(p->kind, "roce");
	strcpy(p->state, "ACTIVE");
	p->port = port;
	p->ifindex = ifindex;
	return p;
}

/* A port whose link is a leg, one below a leg's VLAN, one that is a port of a leg's bond, and one
 * without a leg. */
static int setup(void **state)
{
	struct host *h = calloc(1, sizeof(*h));
	struct inv_gid *g;

	strcpy(h->path, "/tmp/plenum-rdma-XXXXXX");
	assert_non_null(mkdtemp(h->path));
	h->root = open(h->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	h->inv = calloc(1, sizeof(*h->inv));
	add_link(h, 1, "eth1");
	add_link(h, 2, "eth2");
	add_link(h, 3, "eth2.100")->lower = 2;
	add_link(h, 4, "bond0");
	add_link(h, 5, "eth3")->master = 4;
	add_link(h, 6, "eth4");
	add_port(h, "mlx5_0", 1, 1);
	add_port(h, "mlx5_0", 2, 2);
	add_port(h, "rxe0", 1, 5);
	add_port(h, "rxe1", 1, 6);
	g = inv_gid_add(h->inv);
	strcpy(g->device, "mlx5_0");
	g->port = 2;
	g->index = 3;
	g->ifindex = 3;
	assert_int_equal(ip_addr_parse("::ffff:10.10.1.10", &g->gid), 0);
	strcpy(g->type, "RoCE v2");
	put(h, "/class/infiniband/mlx5_0/fw_ver", "16.35.2000\n");
	put(h, "/class/infiniband/mlx5_0/node_type", "1: CA\n");
	put(h, "/class/infiniband/mlx5_0/ports/1/phys_state", "5: LinkUp\n");
	put(h, "/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1048576\n");
	put(h, "/class/infiniband/mlx5_0/ports/1/counters/link_downed", "3\n");
	put(h, "/class/infiniband/mlx5_0/ports/1/counters/VL15_dropped", "7\n");
	put(h, "/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence", "12\n");
	put(h, "/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan", "10\n");
	put(h, "/class/infiniband/mlx5_0/ports/1/hw_counters/odd", "many\n");
	put(h, "/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts", "42\n");
	h->legs = json_pack("{s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}]}", "net", "name",
			    "leg-a", "ifname", "eth1", "name", "leg-b", "ifname", "eth2.100",
			    "name", "leg-c", "ifname", "bond0", "name", "leg-d", "ifname", "");
	assert_non_null(h->legs);
	*state = h;
	return 0;
}

static int teardown(void **state)
{
	struct host *h = *state;

	close(h->root);
	folder_remove(h->path);
	inv_free(h->inv);
	json_decref(h->legs);
	free(h);
	return 0;
}

static const json_t *port_at(const json_t *o, size_t device, size_t port)
{
	const json_t *p = json_array_get(
		json_object_get(json_array_get(json_object_get(o, "devices"), device), "ports"),
		port);

	assert_non_null(p);
	return p;
}

static void test_ports_belong_to_the_legs_on_their_links(void **state)
{
	const struct host *h = *state;
	json_t *o = ctl_rdma_look(h->root, h->inv, h->legs), *alone;

	assert_int_equal(json_array_size(json_object_get(o, "devices")), 3);
	assert_string_equal(ctl_text(port_at(o, 0, 0), "leg"), "leg-a");
	assert_string_equal(ctl_text(port_at(o, 0, 1), "leg"), "leg-b");
	assert_string_equal(ctl_text(port_at(o, 1, 0), "leg"), "leg-c");
	assert_true(json_is_null(json_object_get(port_at(o, 2, 0), "leg")));
	assert_string_equal(ctl_text(port_at(o, 2, 0), "interface"), "eth4");
	json_decref(o);
	alone = ctl_rdma_look(h->root, h->inv, NULL);
	assert_true(json_is_null(json_object_get(port_at(alone, 0, 0), "leg")));
	json_decref(alone);
}

static void test_devices_report_firmware_guids_and_gids(void **state)
{
	const struct host *h = *state;
	json_t *o = ctl_rdma_look(h->root, h->inv, h->legs);
	const json_t *device = json_array_get(json_object_get(o, "devices"), 0);
	const json_t *gids = json_object_get(port_at(o, 0, 1), "gids");

	assert_string_equal(ctl_text(device, "firmware"), "16.35.2000");
	assert_string_equal(ctl_text(device, "type"), "CA");
	assert_true(json_is_null(json_object_get(device, "board")));
	assert_string_equal(ctl_text(port_at(o, 0, 0), "physical_state"), "LinkUp");
	assert_int_equal(json_array_size(gids), 1);
	assert_int_equal(ctl_int(json_array_get(gids, 0), "index"), 3);
	assert_string_equal(ctl_text(json_array_get(gids, 0), "type"), "RoCE v2");
	assert_string_equal(ctl_text(json_array_get(gids, 0), "interface"), "eth2.100");
	assert_int_equal(json_array_size(json_object_get(port_at(o, 0, 0), "gids")), 0);
	json_decref(o);
}

static void test_counters_are_read_as_numbers(void **state)
{
	const struct host *h = *state;
	json_t *o = ctl_rdma_look(h->root, h->inv, h->legs);
	const json_t *c = json_object_get(port_at(o, 0, 0), "counters");

	assert_int_equal(json_object_size(c),
			 4); /* neither a setting nor a text that is not a number */
	assert_int_equal(ctl_int(c, "port_xmit_data"), 1048576);
	assert_int_equal(ctl_int(c, "link_downed"), 3);
	assert_int_equal(ctl_int(c, "out_of_sequence"), 12);
	assert_int_equal(ctl_int(json_object_get(port_at(o, 1, 0), "counters"), "sent_pkts"), 42);
	assert_int_equal(json_object_size(json_object_get(port_at(o, 2, 0), "counters")), 0);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ports_belong_to_the_legs_on_their_links, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_devices_report_firmware_guids_and_gids, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_counters_are_read_as_numbers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
