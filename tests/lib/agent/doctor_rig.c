/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements doctor_rig.h. */
#include "tests/lib/agent/doctor_rig.h"
#include "netcfg/apply/apply.h"
#include "netcfg/apply/route_check.h"
#include "netcfg/base/os/folder.h"
#include "netcfg/plan/plan_owned.h"
#include "plugins/plugins.h"
#include <stdarg.h>

static const char rig_yaml[] =
	"host: host-a\n"
	"management: {interface: eth0}\n"
	"networks:\n"
	"  - {name: data-a, range: 10.10.1.10-10.10.1.40/16, gateway: 10.10.0.1, mtu: 9000}\n"
	"  - {name: data-b, range: 10.20.1.10-10.20.1.40/16, mtu: 9000}\n"
	"net:\n"
	"  - {name: leg-a, device: veth0, network: data-a, label: switch-a}\n"
	"  - {name: leg-b, device: veth1, network: data-b, label: switch-b}\n"
	"ha: {mode: dual-leg}\n"
	"workers:\n"
	"  - {role: frontend, cores: [1], transport: udp,\n"
	"     mounts: [{path: /mnt/x, from: host-b/x}]}\n"
	"  - {role: compute, cores: [2], transport: dpdk, exports: [{name: y, path: /srv/y}]}\n"
	"peers: [{name: host-b, ips: [10.10.2.10, 10.20.2.10]}]\n"
	"cluster: {name: prod, secret-file: /etc/plenum/cluster.key}\n";

/* ---- files ---- */

static void rig_path(const struct rig *g, const char *path, char *buf, size_t size)
{
	put_path(g->root, path, buf, size);
}

__attribute__((format(printf, 3, 4))) void rig_put(const struct rig *g, const char *path,
						   const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put_file_v(g->root, path, fmt, args);
	va_end(args);
}

static void rig_folder(const struct rig *g, const char *path)
{
	char full[512];

	rig_path(g, path, full, sizeof(full));
	assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
}

void rig_remove(const struct rig *g, const char *path)
{
	char full[512];

	snprintf(full, sizeof(full), "%s%s", g->root, path);
	assert_int_equal(remove(full), 0);
}

void rig_mode(const struct rig *g, const char *path, mode_t mode)
{
	char full[512];

	rig_path(g, path, full, sizeof(full));
	assert_int_equal(chmod(full, mode), 0);
}

/* ---- the host ---- */

struct inv_link *rig_link(struct rig *g, uint32_t ifindex)
{
	for (size_t i = 0; i < g->p.inv->n_links; i++)
		if (g->p.inv->links[i].ifindex == ifindex)
			return &g->p.inv->links[i];
	fail();
	return NULL;
}

void rig_set_sysctl(struct rig *g, const char *key, const char *value)
{
	for (size_t i = 0; i < g->p.inv->n_sysctls; i++)
		if (strcmp(g->p.inv->sysctls[i].key, key) == 0) {
			free(g->p.inv->sysctls[i].value);
			g->p.inv->sysctls[i].value = strdup(value);
			return;
		}
	fail();
}

/* Removes the parts of the host's picture that g->blind names, and the plan. */
static void rig_blind(struct rig *g)
{
	if (g->blind)
		g->p.plan = plan_free(g->p.plan);
	if (g->blind & DOCTOR_NEEDS_SPEC)
		g->p.spec = spec_free(g->p.spec);
	if (g->blind & DOCTOR_NEEDS_INVENTORY)
		g->p.inv = inv_free(g->p.inv);
}

void rig_plan(struct rig *g)
{
	PLENUM_CLEANUP(plan_owned_done) struct plan_owned owned = {.path = NULL};
	const struct plan_context ctx = {.owned = &owned};
	struct diag d = DIAG_INIT;
	json_t *object;
	char record[128];

	snprintf(record, sizeof(record), "%s/owned", g->root);
	assert_int_equal(plan_owned_load(&owned, record, &d), 0);
	g->p.plan = plan_free(g->p.plan);
	g->p.spec = spec_free(g->p.spec);
	g->p.spec = host_spec(g->yaml);
	if (plan_build(g->p.spec, g->p.inv, &ctx, &d, &g->p.plan) < 0)
		diag_print(&d, stderr);
	assert_non_null(g->p.plan);
	diag_done(&d);
	if (g->p.plan->n_steps == 0)
		plan_check_routes(g->kernel, g->p.inv, g->p.plan);
	if (g->need)
		plan_need_add(g->p.plan, g->need, "the machine lacks something");
	json_decref(g->p.steps);
	object = plan_to_object(g->p.plan);
	g->p.steps = json_incref(json_object_get(object, "steps"));
	json_decref(object);
	rig_blind(g);
}

void rig_change_spec(struct rig *g, const char *from, const char *to)
{
	char *at = strstr(g->yaml, from), *text;

	assert_non_null(at);
	assert_true(asprintf(&text, "%.*s%s%s", (int)(at - g->yaml), g->yaml, to,
			     at + strlen(from)) > 0);
	free(g->yaml);
	g->yaml = text;
}

void rig_take_inventory(struct rig *g)
{
	inv_free(g->p.inv);
	assert_int_equal(inv_copy(kernel_fake_inventory(g->kernel), &g->p.inv), 0);
	inv_sort(g->p.inv);
}

static void rig_carriers(struct rig *g)
{
	kernel_fake_set_carrier(g->kernel, HOST_VETH0, true);
	kernel_fake_set_carrier(g->kernel, HOST_VETH1, true);
	rig_take_inventory(g);
	rig_plan(g);
}

void rig_apply(struct rig *g)
{
	char journal[128];

	snprintf(journal, sizeof(journal), "%s/journal", g->root);
	for (int round = 0; round < 4; round++) {
		struct apply_outcome o;
		struct apply *a = NULL;

		rig_carriers(g);
		if (apply_run(g->kernel, g->p.plan, journal, &a, &o) < 0)
			fail_msg("%s", o.why.text);
		assert_int_equal(apply_commit(a, &o), 0);
	}
	rig_carriers(g);
	assert_int_equal(g->p.plan->n_steps, 0);
}

void rig_snmp(const struct rig *g, unsigned all, unsigned no_room, unsigned damaged)
{
	rig_put(g, "/proc/net/snmp",
		"Ip: Forwarding DefaultTTL\nIp: 2 64\n"
		"Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors "
		"InCsumErrors\nUdp: %u 0 0 5 %u 0 %u\n",
		all, no_room, damaged);
}

void rig_process(const struct rig *g, unsigned pid, const char *comm)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	rig_put(g, path, "%s\n", comm);
	snprintf(path, sizeof(path), "/proc/%u/ns", pid);
	rig_folder(g, path);
	snprintf(path, sizeof(path), "%s/proc/%u/ns/net", g->root, pid);
	assert_int_equal(symlink("net:[1]", path), 0);
}

static void rig_net_files(const struct rig *g)
{
	char path[256];

	rig_snmp(g, 100000, 0, 0);
	rig_put(g, "/proc/net/softnet_stat", "00100000 00000000 00000001 00000000\n");
	rig_put(g, "/proc/net/udp",
		"  sl  local_address rem_address   st tx_queue rx_queue\n"
		"  10: 0A010A0A:1CF3 00000000:0000 07 00000000:00000000\n");
	rig_put(g, "/proc/net/arp",
		"IP address HW type Flags HW address Mask Device\n"
		"10.10.0.1 0x1 0x2 02:00:00:00:00:99 * veth0\n");
	rig_put(g, "/proc/sys/net/ipv4/udp_mem", "98304 131072 196608\n");
	rig_put(g, "/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
	rig_put(g, "/proc/sys/net/ipv4/ip_local_reserved_ports", "\n");
	rig_put(g, "/proc/sys/net/ipv4/neigh/default/gc_thresh3", "8192\n");
	rig_put(g, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
	rig_folder(g, "/proc/self/ns");
	snprintf(path, sizeof(path), "%s/proc/self/ns/net", g->root);
	assert_int_equal(symlink("net:[1]", path), 0);
}

static void rig_files(const struct rig *g)
{
	static const char *const folders[] = {"/proc/irq/24", "/mnt/x", "/srv/y", "/var/lib/plenum",
					      "/run/plenum"};

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		rig_folder(g, folders[i]);
	rig_net_files(g);
	rig_put(g, "/dev/fuse", "x");
	rig_put(g, "/etc/plenum/cluster.key", "x");
	rig_put(g, "/etc/passwd",
		"plenum:x:990:990::/:/bin/false\nplenum-worker:x:991:991::/:/bin/false\n");
	rig_mode(g, "/etc/plenum/cluster.key", 0600);
	rig_folder(g, "/run/systemd/system");
	rig_put(g, "/etc/systemd/system/multi-user.target.wants/plenumd.service", "x");
	rig_put(g, "/proc/sys/kernel/io_uring_disabled", "0\n");
	rig_put(g, "/proc/sys/kernel/seccomp/actions_avail",
		"kill_process kill_thread trap errno trace log allow\n");
	rig_put(g, "/proc/sys/kernel/numa_balancing", "0\n");
	rig_put(g, "/proc/sys/user/max_mnt_namespaces", "1000\n");
	rig_put(g, "/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable:    4000000 kB\n");
	rig_put(g, "/proc/irq/24/effective_affinity_list", "0\n");
	rig_put(g, "/proc/100/comm", "plenumd\n");
	rig_put(g, "/proc/100/limits",
		"Max open files            1048576              1048576              files\n"
		"Max locked memory         unlimited            unlimited            bytes\n");
	rig_put(g, "/proc/101/status", "Name:\tplenum-worker\nCpus_allowed_list:\t1\n");
	rig_put(g, "/proc/100/cgroup", "0::/system.slice/plenumd.service\n");
	rig_put(g, "/sys/fs/cgroup/system.slice/plenumd.service/memory.max", "max\n");
	rig_put(g, "/sys/fs/cgroup/system.slice/cpuset.cpus.effective", "0-3\n");
	rig_put(g, "/sys/fs/cgroup/system.slice/hugetlb.2MB.max", "max\n");
	rig_put(g, "/sys/devices/system/cpu/nohz_full", "2\n");
	for (unsigned i = 0; i < 3; i++) {
		char path[96];

		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_governor", i);
		rig_put(g, path, "performance\n");
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", i);
		rig_put(g, path, "%u\n", i);
	}
}

static struct doctor_probe rig_echo(const char *leg, const char *peer, const char *from,
				    const char *to)
{
	struct doctor_probe e = {.from = host_addr(from),
				 .to = host_addr(to),
				 .bytes = 9000,
				 .echoes = true,
				 .small = true,
				 .full = true,
				 .marked = true,
				 .tos = 24 << 2 | 2,
				 .answered_tos = 24 << 2 | 2};

	if (peer[0])
		e.port = e.port_full = (struct port_probe){.from = e.from,
							   .to = e.to,
							   .port = 7411,
							   .n_packets = DOCTOR_PACKETS,
							   .n_sent = DOCTOR_PACKETS,
							   .n_answered = DOCTOR_PACKETS};
	snprintf(e.leg, sizeof(e.leg), "%s", leg);
	snprintf(e.peer, sizeof(e.peer), "%s", peer);
	return e;
}

struct doctor_arp *rig_arp(struct rig *g, enum doctor_arp_kind kind, const char *leg,
			   uint32_t ifindex, const char *ip)
{
	struct doctor_arp *a = &g->p.arps[g->p.n_arps++];

	*a = (struct doctor_arp){.kind = kind, .q = {.ifindex = ifindex, .ip = host_addr(ip)}};
	snprintf(a->leg, sizeof(a->leg), "%s", leg);
	return a;
}

/* Adds what the ARP probes of both legs find. */
static void rig_arps(struct rig *g)
{
	static const char *const legs[] = {"leg-a", "leg-b"},
				 *const own[] = {"10.10.1.10", "10.20.1.10"},
				 *const peers[] = {"10.10.2.10", "10.20.2.10"};

	for (uint32_t i = 0; i < 2; i++) {
		struct doctor_arp *a;

		rig_arp(g, DOCTOR_ARP_OWN, legs[i], HOST_VETH0 + i, own[i]);
		a = rig_arp(g, DOCTOR_ARP_OTHER_LEG, legs[i], HOST_VETH0 + i, own[1 - i]);
		snprintf(a->other, sizeof(a->other), "%s", legs[1 - i]);
		a = rig_arp(g, DOCTOR_ARP_PEER, legs[i], HOST_VETH0 + i, peers[i]);
		snprintf(a->peer, sizeof(a->peer), "host-b");
		a->q.taken = true;
		a->q.by = (struct mac_addr){{2, 0, 0, 0, 0, 0xb0 + (uint8_t)i}};
	}
}

struct doctor_arp *rig_find_arp(struct rig *g, enum doctor_arp_kind kind, size_t leg)
{
	for (size_t i = 0; i < g->p.n_arps; i++)
		if (g->p.arps[i].kind == kind && g->p.arps[i].q.ifindex == HOST_VETH0 + leg)
			return &g->p.arps[i];
	fail();
	return NULL;
}

void rig_set_leg(struct rig *g, size_t i, const char *key, const char *value)
{
	json_object_set_new(json_array_get(json_object_get(g->p.status, "legs"), i), key,
			    json_string(value));
}

struct inv_addr *rig_data_ip(struct rig *g)
{
	for (size_t i = 0; i < g->p.inv->n_addrs; i++)
		if (g->p.inv->addrs[i].ifindex == HOST_VETH0 &&
		    g->p.inv->addrs[i].ip.addr.family == AF_INET)
			return &g->p.inv->addrs[i];
	fail();
	return NULL;
}

/* Returns the frontend's path to host-b, in the form of the agent's status. */
static json_t *rig_status_path(const char *leg, const char *remote)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:i, s:b, s:i}", "leg", leg, "peer", "host-b",
			 "remote", remote, "state", "up", "up", 1, "mtu", 9000, "segmentation_lost",
			 0, "sources_lost", 0);
}

json_t *rig_paths(struct rig *g, size_t i)
{
	return json_array_get(json_object_get(g->p.status, "paths"), i);
}

struct rig *rig_new(void (*prepare)(struct rig *g))
{
	struct rig *g = calloc(1, sizeof(*g));
	struct inventory *inv = host_new();
	autoclose int root = -1;

	plugins_register();
	inv_text_set(inv->kernel_release, sizeof(inv->kernel_release), RIG_KERNEL);
	inv->cores[2].isolated = true;
	g->p.inv = inv;
	g->yaml = strdup(rig_yaml);
	strcpy(g->root, "/tmp/plenum-doctor-XXXXXX");
	assert_non_null(mkdtemp(g->root));
	rig_folder(g, "/sys");
	rig_files(g);
	if (prepare)
		prepare(g);
	inv_sort(inv);
	assert_int_equal(kernel_fake_new(inv, &g->kernel), 0);
	root = open(g->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g->p.root = g->root;
	g->p.kernel = g->kernel;
	g->p.sys = openat(root, "sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rig_apply(g);
	g->p.processes = json_pack(
		"{s:[{s:s, s:i}, {s:s, s:i, s:i, s:i, s:[{s:s, s:s, s:s}, {s:s, s:s, s:s}]}]}",
		"processes", "role", "MANAGEMENT", "pid", 100, "role", "FRONTEND", "id", 1, "pid",
		101, "core", 1, "rdma", "leg", "leg-a", "reason", "", "gpu", "gpu-dma-buf", "leg",
		"leg-b", "reason", "rdma-off", "gpu", "gpu-no-device");
	g->p.net = json_pack("{s:[{s:s, s:[]}, {s:s, s:[{s:s}, {s:s, s:i}]}]}", "net", "name",
			     "leg-a", "neighbours", "name", "leg-b", "neighbours", "name", "mute",
			     "name", "switch-b", "max_frame_bytes", 9018);
	g->p.status = json_pack(
		"{s:s, s:s, s:[{s:s, s:s, s:s, s:b}], s:[{s:s, s:s, s:s}, {s:s, s:s, s:s}]}",
		"state", "running", "version", PLENUM_VERSION, "mounts", "path", "/mnt/x", "peer",
		"host-b", "export", "x", "served", 1, "legs", "name", "leg-a", "label_source",
		"configured", "switch", "switch-a", "name", "leg-b", "label_source", "configured",
		"switch", "switch-b");
	json_object_set_new(g->p.status, "paths",
			    json_pack("[o, o]", rig_status_path("leg-a", "10.10.2.10"),
				      rig_status_path("leg-b", "10.20.2.10")));
	if (g->mute) {
		json_decref(g->p.status);
		g->p.status = NULL;
		strcpy(g->p.no_agent, "none runs");
		strcpy(g->p.agent_remedy, "start it");
	}
	g->p.probes[0] = rig_echo("leg-a", "host-b", "10.10.1.10", "10.10.2.10");
	g->p.probes[1] = rig_echo("leg-b", "host-b", "10.20.1.10", "10.20.2.10");
	g->p.probes[2] = rig_echo("leg-a", "", "10.10.1.10", "10.10.0.1");
	g->p.n_probes = 3;
	rig_arps(g);
	g->p.state = g->p.run = (struct doctor_space){.free_bytes = 1U << 30,
						      .total_bytes = 1U << 30,
						      .free_inodes = 10000,
						      .total_inodes = 10000};
	g->p.exports[0] = g->p.state;
	g->p.privileged = true;
	return g;
}

void rig_free(struct rig *g)
{
	g->p.kernel = NULL;
	doctor_host_done(&g->p);
	kernel_free(g->kernel);
	folder_remove(g->root);
	free(g->yaml);
	free(g);
}

/* ---- other hosts ---- */

void rig_bond(struct rig *g)
{
	rig_change_spec(g, "ha: {mode: dual-leg}", "ha: {mode: lacp, bond: {name: bond0}}");
	rig_change_spec(g, "  - {name: leg-b, device: veth1, network: data-b, label: switch-b}\n",
			"  - {name: leg-b, device: veth1, network: data-a, label: switch-a}\n");
	rig_put(g, "/lib/modules/" RIG_KERNEL "/modules.dep",
		"kernel/drivers/net/bonding/bonding.ko.xz:\n");
}

static void rig_make_pf(struct rig *g, uint32_t ifindex, const char *pci)
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

void rig_sriov(struct rig *g)
{
	rig_make_pf(g, HOST_VETH0, "0000:3b:00.0");
	rig_make_pf(g, HOST_VETH1, "0000:3b:00.1");
	rig_put(g, "/sys/module/vfio_pci/x", "x");
	rig_put(g, "/dev/vfio/vfio", "x");
}

struct doctor_result rig_result_of(const struct rig *g, const char *id)
{
	struct doctor_result r = {.state = DOCTOR_STATE_MAX};

	for (size_t i = 0; i < doctor_n_subjects; i++)
		for (size_t j = 0; j < doctor_subjects[i]->n_checks; j++)
			if (strcmp(doctor_subjects[i]->checks[j].id, id) == 0) {
				doctor_run(&g->p, &doctor_subjects[i]->checks[j], &r);
				return r;
			}
	fail_msg("the doctor has no check %s", id);
	return r;
}

enum doctor_state rig_state_of(const struct rig *g, const char *id)
{
	return rig_result_of(g, id).state;
}
