/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `plenum doctor`: on a host on which all is well each check passes; each row here breaks one thing
 * of it and sees exactly one check turn. No check is without a row.
 */
#include "netcfg/base/file.h"
#include "tests/lib/doctor_rig.h"
#include <sys/timex.h>

struct breakage {
	const char *id; /* of the check that turns */
	enum doctor_state to;
	void (*prepare)(struct rig *g); /* another host, on which all is well; NULL: the usual */
	void (*break_it)(struct rig *g);
};

/* ---- configuration and agent ---- */

static void set_status(struct rig *g, const char *key, const char *value)
{
	json_object_set_new(g->p.status, key, json_string(value));
}

static void blind_host(struct rig *g)
{
	strcpy(g->p.no_inventory, "no netlink");
	g->blind |= DOCTOR_WANTS_INVENTORY;
}

static void blind_spec(struct rig *g)
{
	strcpy(g->p.no_spec, "plenum.yaml:3:1: error");
	g->blind |= DOCTOR_WANTS_SPEC;
}

static void blind_plan(struct rig *g)
{
	strcpy(g->p.no_plan, "net[0].device: error");
	g->blind |= DOCTOR_WANTS_PLAN;
}

static void no_agent(struct rig *g)
{
	json_decref(g->p.status);
	g->p.status = NULL;
	strcpy(g->p.no_agent, "none runs");
}

static void other_version(struct rig *g)
{
	set_status(g, "version", "0.0.1");
}

static void agent_degraded(struct rig *g)
{
	set_status(g, "state", "degraded");
}

static void not_enabled(struct rig *g)
{
	rig_remove(g, "/etc/systemd/system/multi-user.target.wants/plenumd.service");
}

static void no_systemd(struct rig *g)
{
	rig_remove(g, "/run/systemd/system");
}

static void state_full(struct rig *g)
{
	g->p.state.free_bytes = 1 << 20;
}

static void run_without_inodes(struct rig *g)
{
	g->p.run.free_inodes = 3;
}

static void open_folder(struct rig *g)
{
	rig_mode(g, "/var/lib/plenum", 0777);
}

static void open_key(struct rig *g)
{
	rig_mode(g, "/etc/plenum/cluster.key", 0644);
}

static void no_key(struct rig *g)
{
	rig_remove(g, "/etc/plenum/cluster.key");
}

static void no_security(struct rig *g)
{
	rig_change_spec(g, "secret-file: /etc/plenum/cluster.key", "security: none");
}

static void no_export(struct rig *g)
{
	rig_remove(g, "/srv/y");
}

static void no_mountpoint(struct rig *g)
{
	rig_remove(g, "/mnt/x");
}

static void not_served(struct rig *g)
{
	json_object_set_new(json_array_get(json_object_get(g->p.status, "mounts"), 0), "served",
			    json_false());
}

/* ---- kernel ---- */

static void old_kernel(struct rig *g)
{
	inv_text_set(g->p.inv->kernel_release, sizeof(g->p.inv->kernel_release), "6.8.0-1-amd64");
}

static void no_fuse(struct rig *g)
{
	rig_remove(g, "/dev/fuse");
}

static void no_io_uring(struct rig *g)
{
	rig_put(g, "/proc/sys/kernel/io_uring_disabled", "2\n");
}

static void no_gso(struct rig *g)
{
	g->p.udp_gso = -ENOPROTOOPT;
}

static void no_gro(struct rig *g)
{
	g->p.udp_gro = -ENOPROTOOPT;
}

static void no_seccomp(struct rig *g)
{
	rig_remove(g, "/proc/sys/kernel/seccomp/actions_avail");
}

static void no_namespaces(struct rig *g)
{
	rig_put(g, "/proc/sys/user/max_mnt_namespaces", "0\n");
}

static void unsafe_interrupts(struct rig *g)
{
	rig_put(g, "/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts", "Y\n");
}

static void no_frontend(struct rig *g)
{
	rig_change_spec(g,
			"  - {role: frontend, cores: [1], transport: udp,\n"
			"     mounts: [{path: /mnt/x, from: host-b/x}]}\n",
			"");
}

static void very_old_kernel(struct rig *g)
{
	inv_text_set(g->p.inv->kernel_release, sizeof(g->p.inv->kernel_release), "5.10.0");
}

static void vlan(struct rig *g)
{
	rig_change_spec(g, "10.20.1.40/16, mtu: 9000", "10.20.1.40/16, mtu: 9000, vlan: 100");
	rig_put(g, "/lib/modules/" RIG_KERNEL "/modules.dep",
		"kernel/net/8021q/8021q.ko.xz: kernel/net/802/garp.ko.xz\n");
}

static void no_modules(struct rig *g)
{
	rig_remove(g, "/lib/modules/" RIG_KERNEL "/modules.dep");
}

static void bond(struct rig *g)
{
	rig_change_spec(g, "ha: {mode: dual-leg}", "ha: {mode: lacp, bond: {name: bond0}}");
	rig_change_spec(g, "  - {name: leg-b, device: veth1, network: data-b, label: switch-b}\n",
			"  - {name: leg-b, device: veth1, network: data-a, label: switch-a}\n");
	rig_put(g, "/lib/modules/" RIG_KERNEL "/modules.dep",
		"kernel/drivers/net/bonding/bonding.ko.xz:\n");
}

static void make_pf(struct rig *g, uint32_t ifindex, const char *pci)
{
	struct inv_function *pf = inv_function_add(g->p.inv);
	struct inv_link *l = rig_link(g, ifindex);

	inv_text_set(pf->pci, sizeof(pf->pci), pci);
	inv_text_set(pf->driver, sizeof(pf->driver), "ixgbe");
	pf->max_vfs = l->max_vfs = 63;
	pf->iommu_group = (int)ifindex;
	inv_text_set(l->pci, sizeof(l->pci), pci);
	inv_text_set(l->driver, sizeof(l->driver), "ixgbe");
}

/* The legs are NICs, of whose VFs a worker has one on each. */
static void sriov(struct rig *g)
{
	make_pf(g, HOST_VETH0, "0000:3b:00.0");
	make_pf(g, HOST_VETH1, "0000:3b:00.1");
	rig_put(g, "/sys/module/vfio_pci/x", "x");
	rig_put(g, "/dev/vfio/vfio", "x");
}

static void no_vfio_driver(struct rig *g)
{
	rig_remove(g, "/sys/module/vfio_pci/x");
	rig_remove(g, "/sys/module/vfio_pci");
}

static void no_vfio(struct rig *g)
{
	rig_remove(g, "/dev/vfio/vfio");
}

static void needs_iommu(struct rig *g)
{
	g->need = "iommu";
}

/* ---- cores ---- */

static void core_barred(struct rig *g)
{
	g->p.inv->cores[1].barred = true;
}

static void core_zero(struct rig *g)
{
	rig_change_spec(g, "cores: [1]", "cores: [0]");
}

static void not_isolated(struct rig *g)
{
	g->p.inv->cores[2].isolated = false;
}

static void ticks(struct rig *g)
{
	rig_put(g, "/sys/devices/system/cpu/nohz_full", "3\n");
}

static void no_tick_file(struct rig *g)
{
	rig_remove(g, "/sys/devices/system/cpu/nohz_full");
}

static void interrupt(struct rig *g)
{
	rig_put(g, "/proc/irq/24/effective_affinity_list", "0,2\n");
}

static void irqbalance(struct rig *g)
{
	rig_put(g, "/proc/200/comm", "irqbalance\n");
}

static void powersave(struct rig *g)
{
	rig_put(g, "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
}

static void no_governor(struct rig *g)
{
	rig_remove(g, "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor");
}

static void siblings(struct rig *g)
{
	rig_put(g, "/sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,2\n");
}

static void other_node(struct rig *g)
{
	g->p.inv->cores[1].numa_node = 1;
	rig_link(g, HOST_VETH0)->numa_node = 0;
}

/* ---- memory ---- */

/* A worker that goes by UDP for want of pages has the same addresses as one that wants none. */
static void udp_only(struct rig *g)
{
	rig_change_spec(g, "cores: [2], transport: dpdk", "cores: [2], transport: udp");
	g->p.inv->hugepages[0].total = g->p.inv->hugepages[0].free = 31;
}

static void wants_dpdk(struct rig *g)
{
	rig_change_spec(g, "cores: [2], transport: udp", "cores: [2], transport: dpdk");
}

static void node_without_pages(struct rig *g)
{
	struct inv_hugepages *h = inv_hugepages_add(g->p.inv);

	*h = (struct inv_hugepages){.size_kib = 2048, .numa_node = 1, .total = 16, .free = 16};
	g->p.inv->cores[2].numa_node = 1;
}

static void no_memory(struct rig *g)
{
	rig_put(g, "/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable:    40000 kB\n");
}

static void numa_balancing(struct rig *g)
{
	rig_put(g, "/proc/sys/kernel/numa_balancing", "1\n");
}

static void few_locked(struct rig *g)
{
	rig_put(g, "/proc/100/limits",
		"Max open files            1048576   1048576   files\n"
		"Max locked memory         8388608   8388608   bytes\n");
}

static void few_files(struct rig *g)
{
	rig_put(g, "/proc/100/limits",
		"Max open files            1024      524288    files\n"
		"Max locked memory         unlimited unlimited bytes\n");
}

/* ---- legs ---- */

#define INV_REMOVE(inv, list, n_list, i)                \
	memmove(&(inv)->list[i], &(inv)->list[(i) + 1], \
		(--(inv)->n_list - (i)) * sizeof((inv)->list[0]))

static void device_gone(struct rig *g)
{
	struct inventory *inv;

	assert_int_equal(kernel_fake_remove_link(g->kernel, HOST_VETH1), 0);
	rig_take_inventory(g);
	/* What the kernel would keep without it is given back. */
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
	inv_text_set(rig_link(g, HOST_VETH1)->firmware, INV_TEXT_MAX, "16.20.1010");
}

static void old_driver(struct rig *g)
{
	rig_put(g, "/sys/module/mlx5_core/version", "4.5-1.0.1\n");
}

static void one_label(struct rig *g)
{
	rig_change_spec(g, "label: switch-b", "label: switch-a");
}

static void set_leg(struct rig *g, size_t i, const char *key, const char *value)
{
	json_object_set_new(json_array_get(json_object_get(g->p.status, "legs"), i), key,
			    json_string(value));
}

static void no_lldp(struct rig *g)
{
	set_leg(g, 0, "label_source", "unknown");
}

static void one_switch(struct rig *g)
{
	set_leg(g, 1, "switch", "switch-a");
}

static void no_switches(struct rig *g)
{
	set_leg(g, 0, "switch", "");
	set_leg(g, 1, "switch", "");
}

static void crossed(struct rig *g)
{
	set_leg(g, 0, "switch", "switch-b");
	set_leg(g, 1, "switch", "switch-a");
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

static struct inv_addr *data_ip(struct rig *g)
{
	for (size_t i = 0; i < g->p.inv->n_addrs; i++)
		if (g->p.inv->addrs[i].ifindex == HOST_VETH0 &&
		    g->p.inv->addrs[i].ip.addr.family == AF_INET)
			return &g->p.inv->addrs[i];
	fail();
	return NULL;
}

static void no_address(struct rig *g)
{
	INV_REMOVE(g->p.inv, addrs, n_addrs, (size_t)(data_ip(g) - g->p.inv->addrs));
}

static void duplicate(struct rig *g)
{
	data_ip(g)->dad_failed = true;
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
				  .from = {.addr = data_ip(g)->ip.addr, .len = 32}};
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

static void no_arp_answer(struct rig *g)
{
	rig_put(g, "/proc/net/arp",
		"IP address HW type Flags HW address Mask Device\n"
		"10.10.0.1 0x1 0x0 00:00:00:00:00:00 * veth0\n");
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

/* ---- sockets and the firewall ---- */

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

#define NFT_CHAIN(policy)                                                                          \
	"{\"nftables\": [{\"chain\": {\"family\": \"inet\", \"table\": \"filter\", \"name\": "     \
	"\"input\", \"type\": \"filter\", \"hook\": \"input\", \"prio\": 0, \"policy\": \"" policy \
	"\"}}"
#define NFT_RULE(expr)                                                                      \
	", {\"rule\": {\"family\": \"inet\", \"table\": \"filter\", \"chain\": \"input\", " \
	"\"expr\": [" expr "]}}"
#define NFT_PORT(right)                                                                 \
	"{\"match\": {\"op\": \"==\", \"left\": {\"payload\": {\"protocol\": \"udp\", " \
	"\"field\": \"dport\"}}, \"right\": " right "}}"

static void set_nft(struct rig *g, const char *text)
{
	free(g->p.nft);
	g->p.nft = strdup(text);
}

/* All but what is named is dropped, and our port is among that. */
static void nft_accepts(struct rig *g)
{
	g->nft = NFT_CHAIN("drop") NFT_RULE(
		NFT_PORT("{\"set\": [53, {\"range\": [7000, 8000]}]}") ", {\"accept\": null}") "]}";
}

static void nft_policy(struct rig *g)
{
	set_nft(g, NFT_CHAIN("drop") NFT_RULE(NFT_PORT("53") ", {\"accept\": null}") "]}");
}

static void nft_drops(struct rig *g)
{
	set_nft(g, NFT_CHAIN("accept") NFT_RULE(NFT_PORT("7411") ", {\"drop\": null}") "]}");
}

static void nft_unsure(struct rig *g)
{
	set_nft(g, NFT_CHAIN("drop") NFT_RULE(
			   "{\"match\": {\"op\": \"==\", \"left\": {\"payload\": {\"protocol\": "
			   "\"ip\", \"field\": \"saddr\"}}, \"right\": \"10.0.0.1\"}}, "
			   "{\"accept\": null}") "]}");
}

static void no_nft(struct rig *g)
{
	free(g->p.nft);
	g->p.nft = NULL;
	strcpy(g->p.no_nft, "no permission");
}

static void set_iptables(struct rig *g, const char *text)
{
	free(g->p.iptables);
	g->p.iptables = strdup(text);
}

static void iptables_policy(struct rig *g)
{
	set_iptables(g, "*filter\n:INPUT DROP [0:0]\n-A INPUT -p tcp -m tcp --dport 22 -j "
			"ACCEPT\nCOMMIT\n");
}

static void iptables_drops(struct rig *g)
{
	set_iptables(g, "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -i veth1 -p udp -m udp --dport "
			"7411 -j DROP\nCOMMIT\n");
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
	first_vf(g)->iommu_others = 1;
	strcpy(first_vf(g)->iommu_other, "0000:3b:00.7");
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

static void peer_gone(struct rig *g)
{
	for (size_t i = 0; i < g->p.n_echoes; i++)
		if (g->p.echoes[i].peer[0])
			g->p.echoes[i].small = g->p.echoes[i].full = false;
}

static void peer_on_one_leg(struct rig *g)
{
	g->p.echoes[0].small = g->p.echoes[0].full = false;
}

static void path_too_small(struct rig *g)
{
	g->p.echoes[1].full = false;
}

static void gateway_gone(struct rig *g)
{
	g->p.echoes[2].small = g->p.echoes[2].full = false;
}

static const struct breakage breakages[] = {
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
	{"leg-flaps", DOCTOR_WARN, NULL, flaps},
	{"leg-firmware", DOCTOR_WARN, mlx5, old_firmware},
	{"leg-driver", DOCTOR_FAIL, NULL, old_driver},
	{"leg-labels", DOCTOR_WARN, NULL, one_label},
	{"leg-lldp", DOCTOR_WARN, NULL, no_lldp},
	{"leg-diverse", DOCTOR_WARN, NULL, one_switch},
	{"leg-diverse", DOCTOR_UNKNOWN, NULL, no_switches},
	{"leg-crossed", DOCTOR_FAIL, NULL, crossed},
	{"leg-two", DOCTOR_WARN, NULL, one_leg},
	{"leg-management", DOCTOR_FAIL, NULL, no_management},
	{"address-set", DOCTOR_FAIL, NULL, no_address},
	{"address-duplicate", DOCTOR_FAIL, NULL, duplicate},
	{"address-overlap", DOCTOR_WARN, NULL, overlap},
	{"route-set", DOCTOR_FAIL, NULL, no_route},
	{"route-rules", DOCTOR_FAIL, NULL, no_rule},
	{"route-diverted", DOCTOR_FAIL, NULL, diverting_rule},
	{"route-foreign", DOCTOR_WARN, NULL, foreign_rule},
	{"arp-announce", DOCTOR_FAIL, NULL, no_arp_announce},
	{"arp-filter", DOCTOR_FAIL, NULL, no_arp_filter},
	{"arp-ignore", DOCTOR_FAIL, same_subnet, no_arp_ignore},
	{"arp-answers", DOCTOR_WARN, NULL, no_arp_answer},
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
	{"firewall-nft", DOCTOR_FAIL, nft_accepts, nft_policy},
	{"firewall-nft", DOCTOR_FAIL, NULL, nft_drops},
	{"firewall-nft", DOCTOR_UNKNOWN, nft_accepts, nft_unsure},
	{"firewall-nft", DOCTOR_UNKNOWN, NULL, no_nft},
	{"firewall-iptables", DOCTOR_FAIL, NULL, iptables_policy},
	{"firewall-iptables", DOCTOR_FAIL, NULL, iptables_drops},
	{"bond-set", DOCTOR_FAIL, bond, other_setting},
	{"bond-ports", DOCTOR_FAIL, bond, bond_port_down},
	{"bond-partner", DOCTOR_FAIL, bond, no_partner},
	{"bond-group", DOCTOR_FAIL, bond, other_group},
	{"bond-switches", DOCTOR_FAIL, bond, two_switches},
	{"bond-terms", DOCTOR_WARN, bond, churned},
	{"bond-steady", DOCTOR_WARN, bond, failing_port},
	{"bond-hash", DOCTOR_WARN, bond, hash_by_mac},
	{"vfs-made", DOCTOR_FAIL, sriov, vf_unbound},
	{"vfs-set", DOCTOR_FAIL, sriov, vf_mac},
	{"vfs-usable", DOCTOR_WARN, sriov, vfs_of_others},
	{"vfs-group", DOCTOR_FAIL, sriov, shared_group},
	{"rdma-active", DOCTOR_WARN, rdma, rdma_down},
	{"rdma-gids", DOCTOR_WARN, rdma, no_gid},
	{"rdma-kinds", DOCTOR_FAIL, rdma, two_kinds},
	{"rdma-access", DOCTOR_WARN, rdma, no_uverbs},
	{"manager-links", DOCTOR_WARN, NULL, manager_of_links},
	{"manager-routes", DOCTOR_WARN, NULL, manager_of_routes},
	{"manager-rules", DOCTOR_WARN, NULL, manager_of_rules},
	{"clock-set", DOCTOR_WARN, NULL, clock_wrong},
	{"clock-source", DOCTOR_WARN, NULL, slow_clock},
	{"peer-answers", DOCTOR_FAIL, NULL, peer_gone},
	{"peer-legs", DOCTOR_WARN, NULL, peer_on_one_leg},
	{"peer-mtu", DOCTOR_FAIL, NULL, path_too_small},
	{"peer-gateways", DOCTOR_WARN, NULL, gateway_gone},
	{"config-host", DOCTOR_FAIL, NULL, blind_host},
	{"config-file", DOCTOR_FAIL, NULL, blind_spec},
	{"config-plan", DOCTOR_FAIL, NULL, blind_plan},
	{"agent-answers", DOCTOR_WARN, NULL, no_agent},
	{"agent-version", DOCTOR_WARN, NULL, other_version},
	{"agent-state", DOCTOR_FAIL, NULL, agent_degraded},
	{"agent-enabled", DOCTOR_WARN, NULL, not_enabled},
	{"agent-enabled", DOCTOR_UNKNOWN, NULL, no_systemd},
	{"room-state", DOCTOR_FAIL, NULL, state_full},
	{"room-run", DOCTOR_FAIL, NULL, run_without_inodes},
	{"state-folder", DOCTOR_FAIL, NULL, open_folder},
	{"key-file", DOCTOR_FAIL, NULL, open_key},
	{"key-file", DOCTOR_FAIL, NULL, no_key},
	{"key-security", DOCTOR_WARN, NULL, no_security},
	{"folders-exported", DOCTOR_FAIL, NULL, no_export},
	{"folders-mounted", DOCTOR_FAIL, NULL, no_mountpoint},
	{"mounts-served", DOCTOR_FAIL, NULL, not_served},
	{"kernel-fuse-resend", DOCTOR_WARN, NULL, old_kernel},
	{"kernel-version", DOCTOR_FAIL, no_frontend, very_old_kernel},
	{"kernel-vlan", DOCTOR_FAIL, vlan, no_modules},
	{"kernel-bonding", DOCTOR_FAIL, bond, no_modules},
	{"kernel-vfio-pci", DOCTOR_FAIL, sriov, no_vfio_driver},
	{"kernel-vfio", DOCTOR_FAIL, sriov, no_vfio},
	{"config-needs", DOCTOR_WARN, NULL, needs_iommu},
	{"kernel-fuse", DOCTOR_FAIL, NULL, no_fuse},
	{"kernel-io-uring", DOCTOR_WARN, NULL, no_io_uring},
	{"kernel-udp-gso", DOCTOR_WARN, NULL, no_gso},
	{"kernel-udp-gro", DOCTOR_WARN, NULL, no_gro},
	{"kernel-seccomp", DOCTOR_FAIL, NULL, no_seccomp},
	{"kernel-namespaces", DOCTOR_FAIL, NULL, no_namespaces},
	{"kernel-unsafe-interrupts", DOCTOR_WARN, NULL, unsafe_interrupts},
	{"cores-allowed", DOCTOR_WARN, NULL, core_barred},
	{"cores-zero", DOCTOR_WARN, NULL, core_zero},
	{"cores-isolated", DOCTOR_WARN, NULL, not_isolated},
	{"cores-tick", DOCTOR_WARN, NULL, ticks},
	{"cores-tick", DOCTOR_UNKNOWN, NULL, no_tick_file},
	{"cores-interrupts", DOCTOR_WARN, NULL, interrupt},
	{"cores-irqbalance", DOCTOR_WARN, NULL, irqbalance},
	{"cores-governor", DOCTOR_WARN, NULL, powersave},
	{"cores-governor", DOCTOR_UNKNOWN, NULL, no_governor},
	{"cores-siblings", DOCTOR_WARN, NULL, siblings},
	{"cores-numa", DOCTOR_WARN, NULL, other_node},
	{"memory-hugepages", DOCTOR_FAIL, udp_only, wants_dpdk},
	{"memory-hugepages-node", DOCTOR_WARN, NULL, node_without_pages},
	{"memory-available", DOCTOR_WARN, NULL, no_memory},
	{"memory-numa-balancing", DOCTOR_WARN, NULL, numa_balancing},
	{"memory-locked", DOCTOR_WARN, NULL, few_locked},
	{"memory-files", DOCTOR_WARN, NULL, few_files},
};

/* ---- the test of them all ---- */

#define CHECKS_MAX 256

static const struct doctor_check *check_at(size_t n)
{
	for (size_t i = 0; i < doctor_n_subjects; n -= doctor_subjects[i++]->n_checks)
		if (n < doctor_subjects[i]->n_checks)
			return &doctor_subjects[i]->checks[n];
	return NULL;
}

static size_t run_all(const struct rig *g, struct doctor_result ret[static CHECKS_MAX])
{
	size_t n = 0;

	for (const struct doctor_check *c; (c = check_at(n)); n++) {
		assert_true(n < CHECKS_MAX);
		doctor_run(&g->p, c, &ret[n]);
		/* Nobody is left alone with a finding. */
		assert_true(ret[n].evidence[0]);
		assert_true(ret[n].state < DOCTOR_WARN || ret[n].remedy[0]);
	}
	return n;
}

/* What a check wants is not there: it cannot turn, it can only say so. */
static bool is_blind(const struct rig *g, const struct doctor_check *c)
{
	return ((c->wants & DOCTOR_WANTS_INVENTORY) && !g->p.inv) ||
	       ((c->wants & DOCTOR_WANTS_SPEC) && !g->p.spec) ||
	       ((c->wants & DOCTOR_WANTS_PLAN) && !g->p.plan) ||
	       ((c->wants & DOCTOR_WANTS_APPLIED) && json_array_size(g->p.steps) > 0) ||
	       ((c->wants & DOCTOR_WANTS_AGENT) && !g->p.status);
}

/* Whether what it breaks turns its check and no other. */
static bool break_one(const struct breakage *b)
{
	static struct doctor_result before[CHECKS_MAX], after[CHECKS_MAX];
	struct rig *g = rig_new(b->prepare);
	size_t n = run_all(g, before);
	bool found = false, good = true;

	b->break_it(g);
	assert_int_equal(kernel_fake_replace(g->kernel, g->p.inv), 0);
	rig_plan(g);
	assert_int_equal(run_all(g, after), n);
	for (size_t i = 0; i < n; i++) {
		const char *id = check_at(i)->id;
		bool is_it = strcmp(id, b->id) == 0;

		found = found || is_it;
		if (!is_it && is_blind(g, check_at(i))) {
			assert_int_equal(after[i].state, DOCTOR_UNKNOWN);
			continue;
		}
		if (after[i].state == (is_it ? b->to : before[i].state) &&
		    !(is_it && before[i].state == b->to))
			continue;
		good = false;
		print_error("broken for %s, %s says %s: %s; before %s: %s\n", b->id, id,
			    doctor_state_to_string(after[i].state), after[i].evidence,
			    doctor_state_to_string(before[i].state), before[i].evidence);
	}
	if (!found)
		fail_msg("there is no check %s", b->id);
	rig_free(g);
	return good;
}

static void test_each_turns_one(void **state)
{
	bool good = true;

	for (size_t i = 0; i < ARRAY_SIZE(breakages); i++)
		good = break_one(&breakages[i]) && good;
	assert_true(good);
}

static void test_all_pass(void **state)
{
	static struct doctor_result all[CHECKS_MAX];
	struct rig *g = rig_new(NULL);
	size_t n = run_all(g, all);

	for (size_t i = 0; i < n; i++)
		if (all[i].state != DOCTOR_PASS)
			fail_msg("%s: %s", check_at(i)->id, all[i].evidence);
	rig_free(g);
}

static void test_each_is_broken(void **state)
{
	const struct doctor_check *c;

	for (size_t n = 0; (c = check_at(n)); n++) {
		bool found = false;

		for (size_t i = 0; i < ARRAY_SIZE(breakages) && !found; i++)
			found = strcmp(breakages[i].id, c->id) == 0;
		if (!found)
			fail_msg("nothing breaks %s", c->id);
	}
}

static void test_man_page(void **state)
{
	autofree char *table = doctor_man_table(), *manual = NULL;
	size_t len;

	assert_non_null(table);
	assert_int_equal(file_read(TOP_SRCDIR "/man/plenum.1", 1 << 20, &manual, &len), 0);
	if (!strstr(manual, table))
		fail_msg("plenum(1) has another list of checks: run make -C man update-keys");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_man_page),
		cmocka_unit_test(test_all_pass),
		cmocka_unit_test(test_each_turns_one),
		cmocka_unit_test(test_each_is_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
