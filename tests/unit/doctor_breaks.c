/* SPDX-License-Identifier: BSD-3-Clause */
/* Breakages of legs, routes, sockets, bonds, VFs, network managers, peers, users and control
 * groups. */
#include "tests/unit/doctor_breaks.h"
#include "netcfg/host/inventory_build.h"
#include <sys/timex.h>

/* ---- legs ---- */

#define INV_REMOVE(inv, list, n_list, i)                \
	memmove(&(inv)->list[i], &(inv)->list[(i) + 1], \
		(--(inv)->n_list - (i)) * sizeof((inv)->list[0]))

static void device_gone(struct rig *g)
{
	struct inventory *inv;

	assert_int_equal(kernel_fake_remove_link(g->kernel, HOST_VETH1), 0);
	rig_take_inventory(g);
	/* The kernel removes these along with the link. */
	inv = g->p.inv;
	for (size_t i = inv->n_rules; i-- > 0;)
		if (inv->rules[i].table == PLAN_TABLE_FIRST + 1)
			INV_REMOVE(inv, rules, n_rules, i);
	for (size_t i = inv->n_routes; i-- > 0;)
		if (inv->routes[i].table == PLAN_TABLE_FIRST + 1)
			INV_REMOVE(inv, routes, n_routes, i);
}

static void link_down(struct rig *g)
{
	rig_link(g, HOST_VETH0)->up = false;
}

static void no_carrier(struct rig *g)
{
	rig_link(g, HOST_VETH0)->carrier = false;
}

static void small_mtu(struct rig *g)
{
	rig_link(g, HOST_VETH0)->mtu = rig_link(g, HOST_VETH1)->mtu = 1500;
}

static void two_mtus(struct rig *g)
{
	rig_change_spec(g, "10.20.1.40/16, mtu: 9000", "10.20.1.40/16, mtu: 1500");
	rig_link(g, HOST_VETH1)->mtu = 1500;
}

static void two_speeds(struct rig *g)
{
	rig_link(g, HOST_VETH0)->speed_mbps = 25000;
	rig_link(g, HOST_VETH1)->speed_mbps = 10000;
}

static void half_duplex(struct rig *g)
{
	strcpy(rig_link(g, HOST_VETH0)->duplex, "half");
}

static void few_lanes(struct rig *g)
{
	rig_put(g, "/sys/class/net/veth0/device/current_link_width", "4\n");
	rig_put(g, "/sys/class/net/veth0/device/max_link_width", "16\n");
}

static void bad_frames(struct rig *g)
{
	rig_put(g, "/sys/class/net/veth1/statistics/rx_crc_errors", "7\n");
}

static void lost_packets(struct rig *g)
{
	rig_put(g, "/sys/class/net/veth1/statistics/rx_missed_errors", "20\n");
	rig_put(g, "/sys/class/net/veth1/statistics/rx_packets", "1000\n");
}

static void queue_drops(struct rig *g)
{
	g->p.queues[g->p.n_queues++] = (struct rtnl_qdisc){
		.ifindex = HOST_VETH1, .kind = "tbf", .packets = 1000, .drops = 300};
}

static void queues_not_known(struct rig *g)
{
	strcpy(g->p.no_queues, "no permission");
}

static void segmentation_lost(struct rig *g)
{
	json_object_set_new(rig_paths(g, 1), "segmentation_lost", json_true());
}

static void lost_sources(struct rig *g)
{
	json_object_set_new(rig_paths(g, 1), "sources_lost", json_integer(2));
}

static void flaps(struct rig *g)
{
	rig_put(g, "/sys/class/net/veth0/carrier_changes", "400\n");
}

static void mlx5(struct rig *g)
{
	for (uint32_t i = HOST_VETH0; i <= HOST_VETH1; i++) {
		struct inv_link *l = rig_link(g, i);

		inv_text_set(l->driver, sizeof(l->driver), "mlx5_core");
		inv_text_set(l->firmware, sizeof(l->firmware), "16.35.2000 (MT_0000000012)");
	}
}

static void old_firmware(struct rig *g)
{
	inv_text_set(rig_link(g, HOST_VETH1)->firmware, INV_TEXT_MAX, "16.24.1000");
}

static void firmware(struct rig *g, const char *driver, const char *version)
{
	struct inv_link *l = rig_link(g, HOST_VETH1);

	inv_text_set(l->driver, sizeof(l->driver), driver);
	inv_text_set(l->firmware, sizeof(l->firmware), version);
}

static void very_old_firmware(struct rig *g)
{
	firmware(g, "mlx5_core", "20.26.4012");
}

static void irdma(struct rig *g)
{
	rig_put(g, "/sys/module/irdma/refcnt", "0\n");
}

static void old_nvm(struct rig *g)
{
	firmware(g, "ice", "2.20 0x80002d5e 1.2789.0");
}

static void old_nvm_of_700(struct rig *g)
{
	firmware(g, "i40e", "3.33 0x80000e48 1.1876.0");
}

static void mute_firmware(struct rig *g)
{
	firmware(g, "mlx5_core", "N/A");
}

static void old_ice(struct rig *g)
{
	rig_put(g, "/sys/module/ice/version", "1.2.1\n");
}

static void old_i40e(struct rig *g)
{
	rig_put(g, "/sys/module/i40e/version", "2.3.2-k\n");
}

static void old_driver(struct rig *g)
{
	rig_put(g, "/sys/module/mlx5_core/version", "4.5-1.0.1\n");
}

static void no_lldp(struct rig *g)
{
	rig_set_leg(g, 0, "label_source", "unknown");
}

static void one_leg(struct rig *g)
{
	rig_change_spec(g, "label: switch-b}", "label: switch-b, enabled: false}");
	rig_apply(g);
}

static void no_management(struct rig *g)
{
	rig_link(g, HOST_ETH0)->carrier = false;
}

/* ---- addresses and routes ---- */

static void no_address(struct rig *g)
{
	INV_REMOVE(g->p.inv, addrs, n_addrs, (size_t)(rig_data_ip(g) - g->p.inv->addrs));
}

/* As after 'ip route flush table all'. */
static void no_local_route(struct rig *g)
{
	rig_data_ip(g)->local_missing = true;
}

static void overlap(struct rig *g)
{
	struct inv_addr *a = inv_addr_add(g->p.inv);

	*a = (struct inv_addr){.ifindex = HOST_ETH0, .ip = host_prefix("10.20.200.1/16")};
}

static void no_route(struct rig *g)
{
	for (size_t i = 0; i < g->p.inv->n_routes; i++)
		if (g->p.inv->routes[i].table == PLAN_TABLE_FIRST) {
			INV_REMOVE(g->p.inv, routes, n_routes, i);
			return;
		}
	fail();
}

static void no_rule(struct rig *g)
{
	for (size_t i = 0; i < g->p.inv->n_rules; i++)
		if (g->p.inv->rules[i].table == PLAN_TABLE_FIRST) {
			INV_REMOVE(g->p.inv, rules, n_rules, i);
			return;
		}
	fail();
}

static void foreign_rule(struct rig *g)
{
	struct inv_rule *rule = inv_rule_add(g->p.inv);

	*rule = (struct inv_rule){.priority = 100,
				  .table = PLAN_TABLE_FIRST,
				  .family = AF_INET,
				  .from = {.addr = rig_data_ip(g)->ip.addr, .len = 32}};
}

static void diverting_rule(struct rig *g)
{
	struct inv_rule *rule = inv_rule_add(g->p.inv);

	*rule = (struct inv_rule){.priority = 100, .table = 99, .family = AF_INET};
	host_add_route(g->p.inv, 99, INV_PROTO_STATIC, "0.0.0.0/0", "192.0.2.1", HOST_ETH0);
}

static void no_arp_announce(struct rig *g)
{
	rig_set_sysctl(g, "net/ipv4/conf/veth0/arp_announce", "0");
}

static void no_arp_filter(struct rig *g)
{
	rig_set_sysctl(g, "net/ipv4/conf/veth0/arp_filter", "0");
}

static void same_subnet(struct rig *g)
{
	rig_change_spec(g, "10.20.1.10-10.20.1.40", "10.10.3.10-10.10.3.40");
}

static void no_arp_ignore(struct rig *g)
{
	rig_set_sysctl(g, "net/ipv4/conf/veth0/arp_ignore", "0");
}

static void small_table(struct rig *g)
{
	rig_put(g, "/proc/sys/net/ipv4/neigh/default/gc_thresh3", "128\n");
}

static void strict_rp_filter(struct rig *g)
{
	rig_set_sysctl(g, "net/ipv4/conf/veth0/rp_filter", "1");
}

static void linkdown(struct rig *g)
{
	rig_set_sysctl(g, "net/ipv4/conf/veth0/ignore_routes_with_linkdown", "0");
}

static void no_promote(struct rig *g)
{
	rig_set_sysctl(g, "net/ipv4/conf/veth0/promote_secondaries", "0");
}

static void forwarding(struct rig *g)
{
	rig_set_sysctl(g, "net/ipv4/conf/veth0/forwarding", "1");
}

/* ---- sockets ---- */

static void full_sockets(struct rig *g)
{
	rig_snmp(g, 1000, 10, 0);
}

static void bad_checksums(struct rig *g)
{
	rig_snmp(g, 1000, 0, 10);
}

static void little_udp_mem(struct rig *g)
{
	rig_put(g, "/proc/sys/net/ipv4/udp_mem", "512 1024 2048\n");
}

static void full_queues(struct rig *g)
{
	rig_put(g, "/proc/net/softnet_stat", "00001000 00000010 00000000 00000000\n");
}

static void small_budget(struct rig *g)
{
	rig_put(g, "/proc/net/softnet_stat", "00001000 00000000 00000100 00000000\n");
}

static void port_given_out(struct rig *g)
{
	rig_put(g, "/proc/sys/net/ipv4/ip_local_port_range", "1024\t65535\n");
}

static void port_taken(struct rig *g)
{
	rig_put(g, "/proc/net/udp",
		"  sl  local_address rem_address   st tx_queue rx_queue\n"
		"  10: 00000000:1CF3 00000000:0000 07 00000000:00000000\n");
}

static void full_conntrack(struct rig *g)
{
	rig_put(g, "/proc/sys/net/netfilter/nf_conntrack_count", "990\n");
	rig_put(g, "/proc/sys/net/netfilter/nf_conntrack_max", "1000\n");
}

/* ---- bonds ---- */

static void bond_port_down(struct rig *g)
{
	g->p.inv->bond_ports[0].link_up = false;
}

static void no_partner(struct rig *g)
{
	g->p.inv->bonds[0].partner = (struct mac_addr){{0}};
}

static void other_group(struct rig *g)
{
	g->p.inv->bond_ports[1].aggregator++;
}

static void two_switches(struct rig *g)
{
	g->p.inv->bond_ports[0].partner_mac = (struct mac_addr){{2, 0, 0, 0, 1, 1}};
	g->p.inv->bond_ports[1].partner_mac = (struct mac_addr){{2, 0, 0, 0, 1, 2}};
}

static void static_lag(struct rig *g)
{
	struct doctor_arp *a = rig_arp(g, DOCTOR_ARP_ECHO, "bond0", HOST_VETH0, "10.10.1.10");

	rig_bond(g);
	rig_change_spec(g, "mode: lacp", "mode: static-lag");
	a->q.mac = (struct mac_addr){{2, 0, 0, 0, 0, 7}};
}

static void echo(struct rig *g)
{
	struct doctor_arp *a = rig_find_arp(g, DOCTOR_ARP_ECHO, 0);

	a->q.taken = true;
	a->q.by = a->q.mac;
}

static void no_echo_asked(struct rig *g)
{
	rig_find_arp(g, DOCTOR_ARP_ECHO, 0)->kind = DOCTOR_ARP_OWN;
}

static void churned(struct rig *g)
{
	g->p.inv->bond_ports[0].churned = true;
}

static void failing_port(struct rig *g)
{
	g->p.inv->bond_ports[0].failures = 100;
}

static void other_setting(struct rig *g)
{
	g->p.inv->bonds[0].setting.hash = 0;
}

static void hash_by_mac(struct rig *g)
{
	rig_change_spec(g, "name: bond0", "name: bond0, hash: layer2");
	g->p.inv->bonds[0].setting.hash = 0;
}

/* ---- VFs and RDMA ---- */

static struct inv_function *first_vf(struct rig *g)
{
	for (size_t i = 0; i < g->p.inv->n_functions; i++)
		if (g->p.inv->functions[i].physfn[0])
			return &g->p.inv->functions[i];
	fail();
	return NULL;
}

static void vf_unbound(struct rig *g)
{
	first_vf(g)->driver[0] = '\0';
}

static void vf_mac(struct rig *g)
{
	g->p.inv->vfs[0].mac = (struct mac_addr){{2, 9, 9, 9, 9, 9}};
}

static void vfs_of_others(struct rig *g)
{
	rig_remove(g, "/owned");
}

static void shared_group(struct rig *g)
{
	struct inv_iommu *m = inv_iommu_add(g->p.inv);

	m->group = first_vf(g)->iommu_group;
	strcpy(m->pci, "0000:3b:00.7");
}

static void rdma(struct rig *g)
{
	for (uint32_t i = HOST_VETH0; i <= HOST_VETH1; i++) {
		struct inv_rdma *at = inv_rdma_add(g->p.inv);
		struct inv_gid *gid = inv_gid_add(g->p.inv);

		snprintf(at->device, sizeof(at->device), "rxe%u", i);
		strcpy(rig_link(g, i)->rdma, at->device);
		strcpy(at->kind, "roce");
		strcpy(at->state, "ACTIVE");
		strcpy(gid->device, at->device);
		strcpy(gid->type, "RoCE v2");
		at->port = gid->port = 1;
	}
	rig_put(g, "/dev/infiniband/uverbs0", "x");
}

static void rdma_asked(struct rig *g)
{
	rig_change_spec(g, "label: switch-a", "label: switch-a, rdma: on");
	rdma(g);
}

static void no_rdma_device(struct rig *g)
{
	rig_link(g, HOST_VETH0)->rdma[0] = '\0';
}

static void mlx5_with_rdma(struct rig *g)
{
	mlx5(g);
	rig_put(g, "/sys/module/mlx5_ib/refcnt", "0\n");
}

static void no_rdma_module(struct rig *g)
{
	rig_remove(g, "/sys/module/mlx5_ib/refcnt");
	rig_remove(g, "/sys/module/mlx5_ib");
}

static void rdma_down(struct rig *g)
{
	strcpy(g->p.inv->rdma[0].state, "DOWN");
}

static void no_gid(struct rig *g)
{
	strcpy(g->p.inv->gids[0].type, "IB/RoCE v1");
}

static void two_kinds(struct rig *g)
{
	strcpy(g->p.inv->rdma[0].kind, "iwarp");
}

static void no_uverbs(struct rig *g)
{
	rig_remove(g, "/dev/infiniband/uverbs0");
}

/* ---- the host and its peers ---- */

static void manager_of_links(struct rig *g)
{
	rig_process(g, 300, "systemd-network");
	rig_put(g, "/etc/systemd/networkd.conf",
		"[Network]\nManageForeignRoutes=no\nManageForeignRoutingPolicyRules=no\n");
	rig_put(g, "/run/systemd/netif/links/3", "ADMIN_STATE=configured\n");
}

static void manager_of_routes(struct rig *g)
{
	rig_process(g, 300, "systemd-network");
	rig_put(g, "/etc/systemd/networkd.conf", "[Network]\nManageForeignRoutingPolicyRules=no\n");
}

static void manager_of_rules(struct rig *g)
{
	rig_process(g, 300, "systemd-network");
	rig_put(g, "/etc/systemd/networkd.conf", "[Network]\nManageForeignRoutes=no\n");
}

static void clock_wrong(struct rig *g)
{
	g->p.clock_state = TIME_ERROR;
}

static void slow_clock(struct rig *g)
{
	rig_put(g, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
}

/* The drivers support priorities. */
static void with_dcb_drivers(struct rig *g)
{
	for (uint32_t i = HOST_VETH0; i <= HOST_VETH1; i++) {
		struct inv_dcb *d = inv_dcb_add(g->p.inv);

		d->ifindex = i;
		inv_text_set(d->pfc, sizeof(d->pfc), "none");
		inv_text_set(d->trust, sizeof(d->trust), "pcp");
		inv_text_set(d->dscp, sizeof(d->dscp), "24:0");
	}
}

/* The configuration sets priorities. */
static void with_dcb(struct rig *g)
{
	static const char *const labels[][2] = {
		{"label: switch-a}", "label: switch-a, dcb: {pfc: [3], trust: dscp}}"},
		{"label: switch-b}", "label: switch-b, dcb: {pfc: [3], trust: dscp}}"}};

	with_dcb_drivers(g);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		rig_change_spec(g, labels[i][0], labels[i][1]);
}

static void pfc_off(struct rig *g)
{
	for (size_t i = 0; i < g->p.inv->n_dcb; i++)
		strcpy(g->p.inv->dcb[i].pfc, "none");
}

static void other_pfc(struct rig *g)
{
	strcpy(g->p.inv->dcb[1].pfc, "4");
}

static void marks_dropped(struct rig *g)
{
	g->p.probes[0].marked = false;
}

static void dscp_cleared(struct rig *g)
{
	g->p.probes[1].answered_tos = 2;
}

static void ecn_cleared(struct rig *g)
{
	g->p.probes[1].answered_tos = 24 << 2;
}

/* ---- irqbalance ---- */

static void irqbalance(struct rig *g)
{
	rig_put(g, "/proc/200/comm", "irqbalance\n");
	rig_put(g, "/etc/default/irqbalance", "#X=1\nIRQBALANCE_BANNED_CPULIST=\"3,7\"\n");
}

static void irqbalance_by_sysconfig(struct rig *g)
{
	rig_put(g, "/proc/200/comm", "irqbalance\n");
	rig_put(g, "/etc/sysconfig/irqbalance", "IRQBALANCE_BANNED_CPULIST=3\n");
}

/* ---- users and control groups ---- */

static void no_worker_account(struct rig *g)
{
	rig_put(g, "/etc/passwd",
		"root:x:0:0::/:/bin/sh\nplenum:x:990:990::/:/bin/false\n"
		"plenum-workers:x:991:991::/:/bin/false\n");
}

static void no_passwd(struct rig *g)
{
	rig_remove(g, "/etc/passwd");
}

static void low_group_mark(struct rig *g)
{
	rig_put(g, "/sys/fs/cgroup/system.slice/memory.high", "104857600\n");
}

const struct breakage doctor_net_breaks[] = {
	{"leg-present", DOCTOR_FAIL, NULL, device_gone},
	{"leg-up", DOCTOR_FAIL, NULL, link_down},
	{"leg-carrier", DOCTOR_FAIL, NULL, no_carrier},
	{"leg-mtu", DOCTOR_FAIL, NULL, small_mtu},
	{"leg-mtu-same", DOCTOR_WARN, NULL, two_mtus},
	{"leg-speed", DOCTOR_WARN, NULL, two_speeds},
	{"leg-duplex", DOCTOR_FAIL, NULL, half_duplex},
	{"leg-pcie", DOCTOR_WARN, NULL, few_lanes},
	{"leg-errors", DOCTOR_WARN, NULL, bad_frames},
	{"leg-drops", DOCTOR_WARN, NULL, lost_packets},
	{"leg-drops", DOCTOR_WARN, NULL, queue_drops},
	{"leg-drops", DOCTOR_UNKNOWN, NULL, queues_not_known},
	{"leg-segmentation", DOCTOR_WARN, NULL, segmentation_lost},
	{"leg-sources", DOCTOR_WARN, NULL, lost_sources},
	{"leg-flaps", DOCTOR_WARN, NULL, flaps},
	{"leg-firmware", DOCTOR_WARN, mlx5, old_firmware},
	{"leg-firmware", DOCTOR_FAIL, mlx5, very_old_firmware},
	{"leg-firmware", DOCTOR_UNKNOWN, mlx5, mute_firmware},
	{"leg-firmware", DOCTOR_WARN, irdma, old_nvm},
	{"leg-firmware", DOCTOR_WARN, irdma, old_nvm_of_700},
	{"leg-driver", DOCTOR_FAIL, NULL, old_driver},
	{"leg-driver", DOCTOR_WARN, NULL, old_ice},
	{"leg-driver", DOCTOR_WARN, NULL, old_i40e},
	{"leg-lldp", DOCTOR_WARN, NULL, no_lldp},
	{"leg-two", DOCTOR_WARN, NULL, one_leg},
	{"leg-management", DOCTOR_FAIL, NULL, no_management},
	{"address-set", DOCTOR_FAIL, NULL, no_address},
	{"address-set", DOCTOR_FAIL, NULL, no_local_route},
	{"address-overlap", DOCTOR_WARN, NULL, overlap},
	{"route-set", DOCTOR_FAIL, NULL, no_route},
	{"route-rules", DOCTOR_FAIL, NULL, no_rule},
	{"route-diverted", DOCTOR_FAIL, NULL, diverting_rule},
	{"route-foreign", DOCTOR_WARN, NULL, foreign_rule},
	{"arp-announce", DOCTOR_FAIL, NULL, no_arp_announce},
	{"arp-filter", DOCTOR_FAIL, NULL, no_arp_filter},
	{"arp-ignore", DOCTOR_FAIL, same_subnet, no_arp_ignore},
	{"arp-table", DOCTOR_WARN, NULL, small_table},
	{"setting-rp-filter", DOCTOR_FAIL, NULL, strict_rp_filter},
	{"setting-linkdown", DOCTOR_FAIL, NULL, linkdown},
	{"setting-promote", DOCTOR_FAIL, NULL, no_promote},
	{"setting-forwarding", DOCTOR_FAIL, NULL, forwarding},
	{"udp-room", DOCTOR_WARN, NULL, full_sockets},
	{"udp-checksums", DOCTOR_WARN, NULL, bad_checksums},
	{"udp-memory", DOCTOR_WARN, NULL, little_udp_mem},
	{"udp-queues", DOCTOR_WARN, NULL, full_queues},
	{"udp-budget", DOCTOR_WARN, NULL, small_budget},
	{"port-reserved", DOCTOR_WARN, NULL, port_given_out},
	{"port-free", DOCTOR_FAIL, NULL, port_taken},
	{"firewall-conntrack", DOCTOR_WARN, NULL, full_conntrack},
	{"bond-set", DOCTOR_FAIL, rig_bond, other_setting},
	{"bond-ports", DOCTOR_FAIL, rig_bond, bond_port_down},
	{"bond-partner", DOCTOR_FAIL, rig_bond, no_partner},
	{"bond-group", DOCTOR_FAIL, rig_bond, other_group},
	{"bond-switches", DOCTOR_FAIL, rig_bond, two_switches},
	{"bond-echo", DOCTOR_FAIL, static_lag, echo},
	{"bond-echo", DOCTOR_UNKNOWN, static_lag, no_echo_asked},
	{"bond-terms", DOCTOR_WARN, rig_bond, churned},
	{"bond-steady", DOCTOR_WARN, rig_bond, failing_port},
	{"bond-hash", DOCTOR_WARN, rig_bond, hash_by_mac},
	{"vfs-made", DOCTOR_FAIL, rig_sriov, vf_unbound},
	{"vfs-set", DOCTOR_FAIL, rig_sriov, vf_mac},
	{"vfs-usable", DOCTOR_WARN, rig_sriov, vfs_of_others},
	{"vfs-group", DOCTOR_FAIL, rig_sriov, shared_group},
	{"rdma-modules", DOCTOR_WARN, mlx5_with_rdma, no_rdma_module},
	{"rdma-present", DOCTOR_FAIL, rdma_asked, no_rdma_device},
	{"rdma-active", DOCTOR_WARN, rdma, rdma_down},
	{"rdma-gids", DOCTOR_WARN, rdma, no_gid},
	{"rdma-kinds", DOCTOR_FAIL, rdma, two_kinds},
	{"rdma-access", DOCTOR_WARN, rdma, no_uverbs},
	{"manager-links", DOCTOR_WARN, NULL, manager_of_links},
	{"manager-routes", DOCTOR_WARN, NULL, manager_of_routes},
	{"manager-rules", DOCTOR_WARN, NULL, manager_of_rules},
	{"clock-set", DOCTOR_WARN, NULL, clock_wrong},
	{"clock-source", DOCTOR_WARN, NULL, slow_clock},
	{"dcb-set", DOCTOR_FAIL, with_dcb, pfc_off},
	{"dcb-same", DOCTOR_WARN, with_dcb_drivers, other_pfc},
	{"peer-marked", DOCTOR_FAIL, NULL, marks_dropped},
	{"peer-dscp", DOCTOR_WARN, with_dcb, dscp_cleared},
	{"peer-dscp", DOCTOR_NOTE, NULL, dscp_cleared},
	{"peer-ecn", DOCTOR_WARN, with_dcb, ecn_cleared},
	{"peer-ecn", DOCTOR_NOTE, NULL, ecn_cleared},
	{"cores-irqbalance", DOCTOR_WARN, NULL, irqbalance},
	{"cores-irqbalance", DOCTOR_WARN, NULL, irqbalance_by_sysconfig},
	{"accounts", DOCTOR_WARN, NULL, no_worker_account},
	{"accounts", DOCTOR_WARN, NULL, no_passwd},
	{"memory-group", DOCTOR_WARN, NULL, low_group_mark},
};
const size_t doctor_n_net_breaks = ARRAY_SIZE(doctor_net_breaks);
