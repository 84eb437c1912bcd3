/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * devlink: parsing answers of the kernel, made here and recorded; parsing requests; and a host in
 * memory whose NIC parameters are set for legs, changed by other programs, restored, or reported
 * as actions for the operator.
 */
#include "netcfg/base/file.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/netlink/devlink_watch.h"
#include "netcfg/linux/netlink/kernel_devlink.h"
#include "plugins/plugins.h"
#include "tests/lib/host/apply_host.h"
#include <libmnl/libmnl.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <sys/socket.h>

#define PF "0000:3b:00.0"
#define FAMILY 0x21

/* ---- messages ---- */

static struct nlmsghdr *answer(char *buf, uint8_t command)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	h->nlmsg_type = FAMILY;
	g->cmd = command;
	g->version = 1;
	mnl_attr_put_strz(h, DEVLINK_ATTR_BUS_NAME, "pci");
	mnl_attr_put_strz(h, DEVLINK_ATTR_DEV_NAME, PF);
	return h;
}

static void put_version(struct nlmsghdr *h, uint16_t kind, const char *name, const char *value)
{
	struct nlattr *nest = mnl_attr_nest_start(h, kind);

	mnl_attr_put_strz(h, DEVLINK_ATTR_INFO_VERSION_NAME, name);
	mnl_attr_put_strz(h, DEVLINK_ATTR_INFO_VERSION_VALUE, value);
	mnl_attr_nest_end(h, nest);
}

static void test_device_and_its_firmware(void **state)
{
	struct inventory *inv = inv_new();
	struct nlmsghdr *h;
	char buf[1024];

	assert_int_equal(kernel_devlink_parse(inv, answer(buf, DEVLINK_CMD_NEW)), 0);
	h = answer(buf, DEVLINK_CMD_INFO_GET);
	mnl_attr_put_strz(h, DEVLINK_ATTR_INFO_DRIVER_NAME, "ice");
	mnl_attr_put_strz(h, DEVLINK_ATTR_INFO_SERIAL_NUMBER, "00-01-00-ff-ff-00-00-00");
	put_version(h, DEVLINK_ATTR_INFO_VERSION_FIXED, "board.id", "K91258-000");
	put_version(h, DEVLINK_ATTR_INFO_VERSION_RUNNING, "fw.mgmt", "7.3.4");
	put_version(h, DEVLINK_ATTR_INFO_VERSION_RUNNING, "fw.app.name", "ICE OS Default Package");
	put_version(h, DEVLINK_ATTR_INFO_VERSION_STORED, "fw.mgmt", "7.4.0");
	assert_int_equal(kernel_devlink_parse(inv, h), 0);
	h = answer(buf, DEVLINK_CMD_ESWITCH_GET);
	mnl_attr_put_u16(h, DEVLINK_ATTR_ESWITCH_MODE, DEVLINK_ESWITCH_MODE_SWITCHDEV);
	assert_int_equal(kernel_devlink_parse(inv, h), 0);
	inv_sort(inv);
	assert_int_equal(inv->n_devlinks, 1);
	assert_ptr_equal(inv_devlink_find(inv, PF), &inv->devlinks[0]);
	assert_string_equal(inv->devlinks[0].device, "pci/" PF);
	assert_string_equal(inv->devlinks[0].driver, "ice");
	assert_string_equal(inv->devlinks[0].serial, "00-01-00-ff-ff-00-00-00");
	assert_string_equal(inv->devlinks[0].eswitch, "switchdev");
	assert_int_equal(inv->n_devlink_versions, 4);
	assert_string_equal(inv->devlink_versions[0].kind, "fixed");
	assert_string_equal(inv->devlink_versions[0].value, "K91258-000");
	assert_string_equal(inv->devlink_versions[3].kind, "stored");
	assert_string_equal(inv->devlink_versions[3].value, "7.4.0");
	inv_free(inv);
}

/* Recorded dumps of a netdevsim device (a simulated NIC) of Linux 6.12, one after the other. */
static void test_recorded(void **state)
{
	struct inventory *inv = inv_new();
	autofree char *data = NULL;
	size_t len, at = 0;

	assert_int_equal(
		file_read(TOP_SRCDIR "/tests/fuzz/corpus/netlink/devlink", 65536, &data, &len), 0);
	for (struct nlmsghdr *h; at < len; at += NLMSG_ALIGN(h->nlmsg_len)) {
		h = (struct nlmsghdr *)(data + at);
		assert_int_equal(kernel_devlink_parse(inv, h), 0);
	}
	inv_sort(inv);
	assert_int_equal(inv->n_devlinks, 1);
	assert_string_equal(inv->devlinks[0].device, "netdevsim/netdevsim1");
	assert_string_equal(inv->devlinks[0].driver, "netdevsim");
	assert_int_equal(inv->n_devlink_versions, 2);
	assert_string_equal(inv->devlink_versions[0].kind, "running");
	assert_string_equal(inv->devlink_versions[0].value, "10.20.30");
	assert_int_equal(inv->n_devlink_ports, 2);
	assert_string_equal(inv->devlink_ports[1].flavour, "physical");
	assert_int_equal(inv->devlink_ports[1].number, 2);
	assert_int_equal(inv->n_devlink_params, 2);
	assert_string_equal(inv->devlink_params[0].name, "max_macs");
	assert_string_equal(inv->devlink_params[0].type, "u32");
	assert_string_equal(inv->devlink_params[0].value, "32");
	assert_string_equal(inv->devlink_params[1].mode, "driverinit");
	assert_string_equal(inv->devlink_params[1].value, "true");
	inv_free(inv);
}

static void test_ports(void **state)
{
	static const struct {
		uint16_t flavour;
		const char *name;
	} flavours[] = {
		{DEVLINK_PORT_FLAVOUR_PHYSICAL, "physical"}, {DEVLINK_PORT_FLAVOUR_PCI_PF, "pcipf"},
		{DEVLINK_PORT_FLAVOUR_PCI_VF, "pcivf"},	     {DEVLINK_PORT_FLAVOUR_PCI_SF, "pcisf"},
		{DEVLINK_PORT_FLAVOUR_VIRTUAL, "virtual"},   {0x7fff, ""},
	};
	struct inventory *inv = inv_new();

	for (uint32_t i = 0; i < ARRAY_SIZE(flavours); i++) {
		char buf[512];
		struct nlmsghdr *h = answer(buf, DEVLINK_CMD_PORT_NEW);

		mnl_attr_put_u32(h, DEVLINK_ATTR_PORT_INDEX, i);
		mnl_attr_put_u16(h, DEVLINK_ATTR_PORT_FLAVOUR, flavours[i].flavour);
		mnl_attr_put_u32(h, DEVLINK_ATTR_PORT_NETDEV_IFINDEX, 7 + i);
		mnl_attr_put_u16(h, DEVLINK_ATTR_PORT_PCI_PF_NUMBER, 1);
		mnl_attr_put_u16(h, DEVLINK_ATTR_PORT_PCI_VF_NUMBER, 3);
		assert_int_equal(kernel_devlink_parse(inv, h), 0);
		assert_string_equal(inv->devlink_ports[i].flavour, flavours[i].name);
		assert_int_equal(inv->devlink_ports[i].ifindex, 7 + i);
		assert_int_equal(inv->devlink_ports[i].vf, 3);
	}
	inv_free(inv);
}

static void put_param(struct nlmsghdr *h, const char *name, uint8_t type, uint8_t mode,
		      const void *data, size_t len)
{
	struct nlattr *param = mnl_attr_nest_start(h, DEVLINK_ATTR_PARAM), *list, *value;

	mnl_attr_put_strz(h, DEVLINK_ATTR_PARAM_NAME, name);
	mnl_attr_put_u8(h, DEVLINK_ATTR_PARAM_TYPE, type);
	list = mnl_attr_nest_start(h, DEVLINK_ATTR_PARAM_VALUES_LIST);
	value = mnl_attr_nest_start(h, DEVLINK_ATTR_PARAM_VALUE);
	mnl_attr_put_u8(h, DEVLINK_ATTR_PARAM_VALUE_CMODE, mode);
	if (data)
		mnl_attr_put(h, DEVLINK_ATTR_PARAM_VALUE_DATA, len, data);
	mnl_attr_nest_end(h, value);
	mnl_attr_nest_end(h, list);
	mnl_attr_nest_end(h, param);
}

/* Types as numbered by netlink policies; the value of a flag is its presence. */
static void test_parameters_round_trip(void **state)
{
	static const uint8_t u8 = 200;
	static const uint32_t u32 = 4000000000U;
	static const struct {
		uint8_t type, mode;
		const void *data;
		size_t len;
		const char *type_name, *mode_name, *value;
	} cases[] = {
		{1, 0, &u8, 1, "u8", "runtime", "200"},
		{3, 1, &u32, 4, "u32", "driverinit", "4000000000"},
		{5, 0, "smfs", 5, "string", "runtime", "smfs"},
		{6, 2, "", 0, "bool", "permanent", "true"},
		{6, 1, NULL, 0, "bool", "driverinit", "false"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct inventory *inv = inv_new();
		struct kernel_devlink v = {.name = "x"};
		char buf[DEVLINK_REQUEST_BYTES_MAX];
		struct nlmsghdr *h = answer(buf, DEVLINK_CMD_PARAM_GET);
		const struct inv_devlink_param *p;
		const struct nlattr *a;
		bool has_data = false;

		put_param(h, "x", cases[i].type, cases[i].mode, cases[i].data, cases[i].len);
		assert_int_equal(kernel_devlink_parse(inv, h), 0);
		p = inv_devlink_param_find(inv, PF, "x", cases[i].mode_name);
		assert_non_null(p);
		assert_string_equal(p->type, cases[i].type_name);
		assert_string_equal(p->value, cases[i].value);
		strcpy(v.mode, cases[i].mode_name);
		strcpy(v.value, cases[i].value);
		assert_true(kernel_devlink_request(FAMILY, "pci/" PF, &v, p->type, buf) > 0);
		mnl_attr_for_each(a, h, sizeof(struct genlmsghdr))
		{
			if (mnl_attr_get_type(a) == DEVLINK_ATTR_DEV_NAME)
				assert_string_equal(mnl_attr_get_str(a), PF);
			if (mnl_attr_get_type(a) == DEVLINK_ATTR_PARAM_TYPE)
				assert_int_equal(mnl_attr_get_u8(a), cases[i].type);
			if (mnl_attr_get_type(a) == DEVLINK_ATTR_PARAM_VALUE_CMODE)
				assert_int_equal(mnl_attr_get_u8(a), cases[i].mode);
			if (mnl_attr_get_type(a) != DEVLINK_ATTR_PARAM_VALUE_DATA)
				continue;
			has_data = true;
			assert_int_equal(mnl_attr_get_payload_len(a), cases[i].len);
			assert_memory_equal(mnl_attr_get_payload(a), cases[i].data, cases[i].len);
		}
		assert_int_equal(has_data, cases[i].data != NULL);
		inv_free(inv);
	}
}

static void test_values_of_another_type_are_not_sent(void **state)
{
	static const struct {
		const char *type, *value, *mode;
	} bad[] = {{"u8", "256", "runtime"}, {"u8", "-1", "runtime"},  {"u32", "", "runtime"},
		   {"u32", "1x", "runtime"}, {"bool", "1", "runtime"}, {"u8", "1", "now"},
		   {"float", "1", "runtime"}};
	char buf[DEVLINK_REQUEST_BYTES_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct kernel_devlink v = {.name = "x"};

		strcpy(v.mode, bad[i].mode);
		strcpy(v.value, bad[i].value);
		assert_int_equal(kernel_devlink_request(FAMILY, "pci/" PF, &v, bad[i].type, buf),
				 -EINVAL);
	}
}

/* ---- a host ---- */

static const char format[] = "host: host-a\n"
			     "networks: [{name: data-a, range: 10.10.1.10-10.10.1.40/16}]\n"
			     "net: [{name: leg-a, device: veth0, network: data-a%s}]\n"
			     "workers: [{role: compute, cores: [1], transport: udp, exports: "
			     "[{name: x, path: /srv}]}]\n";
static const char none[] = "host: host-a\n"
			   "networks: [{name: data-b, range: fd00:b::10-fd00:b::40/64}]\n"
			   "net: [{name: leg-b, device: eth9, network: data-b}]\n";

static struct spec *wanted(const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text), format, more);
	return host_spec(text);
}

static void param_add(struct inventory *inv, const char *name, const char *mode, const char *value)
{
	struct inv_devlink_param *p = inv_devlink_param_add(inv);

	assert_non_null(p);
	*p = (struct inv_devlink_param){.device = "pci/" PF, .type = "bool"};
	strcpy(p->name, name);
	strcpy(p->mode, mode);
	strcpy(p->value, value);
}

/* Makes veth0 a NIC of that driver, with or without an RDMA port. */
static struct inventory *nic(struct host *h, const char *driver, const char *rdma)
{
	struct inventory *inv = host_collect(h);
	struct inv_function *fn = inv_function_add(inv);
	struct inv_devlink *d = inv_devlink_add(inv);

	inv_text_set(fn->pci, sizeof(fn->pci), PF);
	inv_text_set(fn->driver, sizeof(fn->driver), driver);
	inv_text_set(d->device, sizeof(d->device), "pci/" PF);
	for (size_t i = 0; i < inv->n_links; i++) {
		struct inv_link *l = &inv->links[i];

		if (l->ifindex != HOST_VETH0)
			continue;
		l->kind = INV_LINK_PHYSICAL;
		inv_text_set(l->pci, sizeof(l->pci), PF);
		inv_text_set(l->driver, sizeof(l->driver), driver);
		inv_text_set(l->rdma, sizeof(l->rdma), rdma);
	}
	if (*rdma) {
		struct inv_rdma *p = inv_rdma_add(inv);

		*p = (struct inv_rdma){.port = 1, .kind = "roce", .ifindex = HOST_VETH0};
		inv_text_set(p->device, sizeof(p->device), rdma);
	}
	return inv;
}

static void host_becomes(struct host *h, struct inventory *inv)
{
	assert_int_equal(kernel_fake_replace(h->fake, inv), 0);
	inv_free(inv);
}

static const char *value_now(struct host *h, const char *name, const char *mode)
{
	return inv_devlink_param_find(kernel_fake_inventory(h->fake), PF, name, mode)->value;
}

static void test_runtime_parameters_are_set_and_restored(void **state)
{
	struct host *h = *state;
	struct spec *s = wanted(", roce-tos: 96"), *plain = wanted(""), *nothing = host_spec(none);
	struct kernel_change c = {.kind = KERNEL_DEVLINK,
				  .pci = PF,
				  .devlink = {"enable_roce", "runtime", "false", ""}};
	struct inventory *inv = nic(h, "ice", "rocep59s0");
	struct plan *p;
	char text[256];

	param_add(inv, "enable_roce", "runtime", "false");
	param_add(inv, "enable_iwarp", "runtime", "false");
	host_becomes(h, inv);
	plan_free(host_apply(h, plain)); /* a leg that asks for nothing gets nothing */
	assert_string_equal(value_now(h, "enable_roce", "runtime"), "false");
	plan_free(host_apply(h, s));
	assert_string_equal(value_now(h, "enable_roce", "runtime"), "true");
	assert_int_equal(host_steps_left(h, s), 0);
	/* Another program resets it: detected, reported, set again. */
	p = host_plan(h, s);
	assert_false(plan_has_drifted(h->fake, p));
	assert_int_equal(h->fake->ops->change(h->fake, &c, NULL), 0);
	assert_true(plan_has_drifted(h->fake, p));
	plan_free(p);
	p = host_plan(h, s);
	assert_int_equal(p->n_steps, 1);
	plan_step_describe_undone(&p->steps[0], text, sizeof(text));
	assert_string_equal(text, "the devlink enable_roce (runtime) of leg-a (veth0) was set to "
				  "false (true is wanted)");
	plan_free(p);
	plan_free(host_apply(h, s));
	assert_string_equal(value_now(h, "enable_roce", "runtime"), "true");
	plan_free(host_apply(h, plain));
	assert_string_equal(value_now(h, "enable_roce", "runtime"), "false");
	plan_free(host_apply(h, nothing));
	assert_int_equal(host_steps_left(h, nothing), 0);
	spec_free(s);
	spec_free(plain);
	spec_free(nothing);
}

/* Each write fails once; the steps done are rolled back, and the next plan does everything. */
static void test_every_failed_step_is_rolled_back(void **state)
{
	struct host *h = *state;
	struct spec *s = wanted(", roce-mode: v2, roce-tos: 96");
	struct inventory *inv = nic(h, "ice", "rocep59s0");
	struct apply_outcome o;
	struct apply *a = NULL;
	char *before;
	size_t n;

	param_add(inv, "enable_roce", "runtime", "false");
	inv_text_set(inv->rdma[0].roce_mode, sizeof(inv->rdma[0].roce_mode), "v1");
	inv_text_set(inv->rdma[0].roce_tos, sizeof(inv->rdma[0].roce_tos), "0");
	host_becomes(h, inv);
	before = host_json(h);
	n = host_steps_left(h, s);
	for (size_t nth = 1; nth <= n; nth++) {
		struct plan *p = host_plan(h, s);
		char *after;

		assert_int_equal(p->n_steps, n);
		kernel_fake_fail(h->fake, nth, 1, -EIO, "made to fail");
		assert_true(apply_run(h->fake, p, h->journal, &a, &o) < 0);
		after = host_json(h);
		assert_string_equal(after, before);
		free(after);
		plan_free(p);
	}
	plan_free(host_apply(h, s));
	assert_int_equal(host_steps_left(h, s), 0);
	free(before);
	spec_free(s);
}

static void test_a_configured_iwarp_stays(void **state)
{
	struct host *h = *state;
	struct spec *s = wanted(", roce-tos: 96");
	struct inventory *inv = nic(h, "ice", "iwp59s0");

	param_add(inv, "enable_roce", "runtime", "false");
	param_add(inv, "enable_iwarp", "runtime", "true");
	host_becomes(h, inv);
	plan_free(host_apply(h, s));
	assert_string_equal(value_now(h, "enable_roce", "runtime"), "false");
	spec_free(s);
}

static void test_driver_restarts_are_left_to_the_operator(void **state)
{
	struct host *h = *state;
	struct spec *s = wanted(", roce-tos: 96");
	struct inventory *inv = nic(h, "mlx5_core", "");
	struct plan *p;

	param_add(inv, "enable_roce", "driverinit", "false");
	host_becomes(h, inv);
	p = host_apply(h, s);
	assert_string_equal(value_now(h, "enable_roce", "driverinit"), "true");
	assert_int_equal(p->n_needs, 1);
	assert_string_equal(p->needs[0].code, "devlink-reload");
	assert_string_equal(p->needs[0].command, "devlink dev param set pci/" PF
						 " name enable_roce value true cmode driverinit && "
						 "devlink dev reload pci/" PF);
	assert_false(p->needs[0].reboot);
	plan_free(p);
	/* Set, but without effect yet. */
	p = host_plan(h, s);
	assert_int_equal(p->n_steps, 0);
	assert_int_equal(p->n_needs, 1);
	plan_free(p);
	/* After a restart of the driver there is an RDMA port. */
	inv = nic(h, "mlx5_core", "mlx5_0");
	host_becomes(h, inv);
	p = host_plan(h, s);
	assert_int_equal(p->n_needs, 0);
	plan_free(p);
	spec_free(s);
}

static void test_permanent_parameters_require_a_reboot(void **state)
{
	struct host *h = *state;
	struct spec *s = wanted(", vfs: 4");
	struct inventory *inv = nic(h, "mlx5_core", "");
	struct plan *p;

	param_add(inv, "enable_sriov", "permanent", "false");
	param_add(inv, "total_vfs", "permanent", "0");
	host_becomes(h, inv);
	p = host_plan(h, s);
	assert_int_equal(p->n_needs, 1);
	assert_string_equal(p->needs[0].code, "sriov-firmware");
	assert_string_equal(p->needs[0].command, "devlink dev param set pci/" PF
						 " name enable_sriov value true cmode permanent && "
						 "devlink dev param set pci/" PF
						 " name total_vfs value 4 cmode permanent");
	assert_true(p->needs[0].reboot);
	assert_string_equal(p->legs[0].reason.code, "no-vf");
	plan_free(p);
	spec_free(s);
}

static void test_no_vfs_behind_a_switch_in_the_nic(void **state)
{
	struct host *h = *state;
	struct spec *s = wanted(", vfs: 2");
	struct inventory *inv = nic(h, "ice", "");
	struct plan *p;

	inv->functions[0].max_vfs = 8;
	inv->functions[0].iommu_group = 1;
	inv_text_set(inv->devlinks[0].eswitch, sizeof(inv->devlinks[0].eswitch), "switchdev");
	host_becomes(h, inv);
	p = host_plan(h, s);
	assert_string_equal(p->legs[0].reason.code, "switchdev");
	for (size_t i = 0; i < p->n_steps; i++)
		assert_ptr_not_equal(p->steps[i].kind, &object_pci);
	plan_free(p);
	spec_free(s);
}

/* VFs, one of which shares its IOMMU group with a device of another driver. */
static void test_no_vfs_in_a_foreign_iommu_group(void **state)
{
	struct host *h = *state;
	struct spec *s = wanted(", vfs: 2");
	static const char *const drivers[] = {"igbvf", "vfio-pci", "nvme"};

	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
		struct inventory *inv = host_collect(h);
		struct inv_iommu *m;
		struct plan *p;

		if (inv->n_functions == 0) {
			inv_free(inv);
			inv = nic(h, "ice", "");
			inv->functions[0].max_vfs = 8;
			inv->functions[0].n_vfs = 2;
			inv->functions[0].iommu_group = 1;
			for (uint32_t vf = 0; vf < 2; vf++) {
				struct inv_function *fn = inv_function_add(inv);

				snprintf(fn->pci, sizeof(fn->pci), "0000:3b:01.%u", vf);
				inv_text_set(fn->physfn, sizeof(fn->physfn), PF);
				fn->vf = vf;
				fn->iommu_group = 7; /* the driver of both VFs, which is harmless */
				m = inv_iommu_add(inv);
				m->group = 7;
				memcpy(m->pci, fn->pci, sizeof(m->pci));
			}
			m = inv_iommu_add(inv);
			m->group = 7;
			strcpy(m->pci, "0000:3c:00.0");
		}
		for (size_t j = 0; j < inv->n_iommu; j++)
			if (strcmp(inv->iommu[j].pci, "0000:3c:00.0") == 0)
				inv_text_set(inv->iommu[j].driver, sizeof(inv->iommu[j].driver),
					     drivers[i]);
		host_becomes(h, inv);
		p = host_plan(h, s);
		if (strcmp(drivers[i], "vfio-pci") == 0) {
			assert_string_not_equal(p->legs[0].reason.code, "iommu-group");
		} else {
			assert_string_equal(p->legs[0].reason.code, "iommu-group");
			assert_non_null(strstr(p->legs[0].reason.text, "0000:3c:00.0"));
			assert_non_null(strstr(p->legs[0].reason.text, drivers[i]));
			for (size_t j = 0; j < p->n_steps; j++)
				assert_ptr_not_equal(p->steps[j].kind, &object_pci);
		}
		plan_free(p);
	}
	spec_free(s);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, apply_host_setup, apply_host_teardown)

/* ---- cached values until devlink announces a change ---- */

static unsigned n_looks;

static int look_at_devices(struct inventory *inv)
{
	struct inv_devlink *d = inv_devlink_add(inv);

	assert_non_null(d);
	snprintf(d->device, sizeof(d->device), "pci/" PF);
	snprintf(d->serial, sizeof(d->serial), "%u", ++n_looks);
	return 0;
}

/* Collects once more: the number of driver queries so far. */
static unsigned looks_after(struct devlink_watch *w)
{
	struct inventory *inv = inv_new();

	assert_int_equal(devlink_watch_collect(w, inv), 0);
	assert_int_equal(inv->n_devlinks, 1);
	assert_int_equal(atoi(inv->devlinks[0].serial), n_looks);
	inv_free(inv);
	return n_looks;
}

static void tell(int fd, uint8_t command)
{
	char buf[512];
	struct nlmsghdr *h = answer(buf, command);

	assert_int_equal(send(fd, h, h->nlmsg_len, 0), h->nlmsg_len);
}

static void on_event(void *user, const struct kernel_event *e)
{
	assert_int_equal(e->type, KERNEL_EVENT_DEVICE);
	assert_int_equal(e->ifindex, 0);
	++*(unsigned *)user;
}

static void test_drivers_are_queried_only_after_changes(void **state)
{
	static const uint8_t changes[] = {DEVLINK_CMD_NEW, DEVLINK_CMD_DEL, DEVLINK_CMD_PORT_NEW,
					  DEVLINK_CMD_PORT_DEL, DEVLINK_CMD_PARAM_NEW};
	struct devlink_watch w = {.fd = -1, .collect = look_at_devices};
	unsigned events = 0;
	int fds[2];

	n_looks = 0;
	assert_int_equal(looks_after(&w), 1); /* no event would announce it */
	assert_int_equal(looks_after(&w), 2);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	w.fd = fds[0];
	assert_int_equal(looks_after(&w), 3);
	assert_int_equal(looks_after(&w), 3);
	for (unsigned i = 0; i < ARRAY_SIZE(changes); i++) {
		tell(fds[1], changes[i]);
		tell(fds[1], changes[i]);
		assert_int_equal(devlink_watch_read(&w, on_event, &events), 0);
		assert_int_equal(events, i + 1);
		assert_int_equal(looks_after(&w), 4 + i);
		assert_int_equal(looks_after(&w), 4 + i);
	}
	/* Progress of an update and packet traps are not changes. */
	tell(fds[1], DEVLINK_CMD_FLASH_UPDATE_STATUS);
	tell(fds[1], DEVLINK_CMD_TRAP_GET);
	assert_int_equal(send(fds[1], "x", 1, 0), 1);
	assert_int_equal(looks_after(&w), 8);
	/* Changes between two inventories are not lost without an event listener. */
	tell(fds[1], DEVLINK_CMD_FLASH_UPDATE_END);
	assert_int_equal(looks_after(&w), 9);
	assert_int_equal(events, ARRAY_SIZE(changes));
	/* The kernel does not announce every change. */
	devlink_watch_forget(&w);
	assert_int_equal(looks_after(&w), 10);
	assert_int_equal(looks_after(&w), 10);
	devlink_watch_close(&w);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_device_and_its_firmware),
		cmocka_unit_test(test_recorded),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_parameters_round_trip),
		cmocka_unit_test(test_values_of_another_type_are_not_sent),
		cmocka_unit_test(test_drivers_are_queried_only_after_changes),
		CASE(test_runtime_parameters_are_set_and_restored),
		CASE(test_every_failed_step_is_rolled_back),
		CASE(test_a_configured_iwarp_stays),
		CASE(test_driver_restarts_are_left_to_the_operator),
		CASE(test_permanent_parameters_require_a_reboot),
		CASE(test_no_vfs_behind_a_switch_in_the_nic),
		CASE(test_no_vfs_in_a_foreign_iommu_group),
	};

	plugins_register();
	return cmocka_run_group_tests_name("devlink", tests, NULL, NULL);
}
