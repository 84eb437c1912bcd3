/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests `plenum doctor`: on a healthy host every check passes. Each row of a table breaks one
 * thing and sees exactly one check change. Every check has a row, and stays as it is while a
 * neighbour of its subject is broken.
 */
#include "agent/ctl/ctl.h"
#include "netcfg/base/file.h"
#include "netcfg/host/inventory_build.h"
#include "tests/unit/doctor_breaks.h"

/* ---- configuration and agent ---- */

static void set_status(struct rig *g, const char *key, const char *value)
{
	json_object_set_new(g->p.status, key, json_string(value));
}

static void blind_host(struct rig *g)
{
	strcpy(g->p.no_inventory, "no netlink");
	g->blind |= DOCTOR_NEEDS_INVENTORY;
}

static void blind_spec(struct rig *g)
{
	strcpy(g->p.no_spec, "plenum.yaml:3:1: error");
	g->blind |= DOCTOR_NEEDS_SPEC;
}

static void blind_plan(struct rig *g)
{
	strcpy(g->p.no_plan, "net[0].device: error");
	g->blind |= DOCTOR_NEEDS_PLAN;
}

static void no_agent(struct rig *g)
{
	json_decref(g->p.status);
	g->p.status = NULL;
	strcpy(g->p.no_agent, "none runs");
	strcpy(g->p.agent_remedy, "start it");
}

static void agent_is_forbidden(struct rig *g)
{
	no_agent(g);
	g->p.agent_state = CTL_AGENT_FORBIDDEN;
}

static void agent_is_slow(struct rig *g)
{
	g->p.agent_took_ns = 3 * NSEC_PER_SEC;
}

static void mute_agent(struct rig *g)
{
	g->mute = true;
}

static void cut_off(struct rig *g)
{
	rig_put(g, "/run/plenum/journal", "plenum-journal 2 boot x netns 1\n");
}

static void left_waiting(struct rig *g)
{
	cut_off(g);
	rig_put(g, "/proc/300/comm", "plenumd-applier\n");
}

static void other_version(struct rig *g)
{
	set_status(g, "version", "0.0.1");
}

static void agent_degraded(struct rig *g)
{
	set_status(g, "state", "degraded");
}

static void agent_starting(struct rig *g)
{
	set_status(g, "state", "starting");
}

static void not_enabled(struct rig *g)
{
	rig_remove(g, "/etc/systemd/system/multi-user.target.wants/plenumd.service");
}

static void no_systemd(struct rig *g)
{
	rig_remove(g, "/run/systemd/system");
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

/* Without a cluster nothing asks for authentication. */
static void no_cluster(struct rig *g)
{
	rig_change_spec(g, "cluster: {name: prod, secret-file: /etc/plenum/cluster.key}\n", "");
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

static void server_of_5_12(struct rig *g)
{
	no_frontend(g);
	inv_text_set(g->p.inv->kernel_release, sizeof(g->p.inv->kernel_release), "5.12.3");
}

static void soft_roce(struct rig *g)
{
	rig_put(g, "/sys/module/rdma_rxe/refcnt", "0\n");
}

static void vlan(struct rig *g)
{
	rig_change_spec(g, "10.20.1.40/16, mtu: 9000", "10.20.1.40/16, mtu: 9000, vlan: 100");
	rig_put(g, "/lib/modules/" RIG_KERNEL "/modules.dep",
		"kernel/net/8021q/8021q.ko.xz: kernel/net/802/garp.ko.xz\n");
}

/* The kernel lacks the module, so there is no link of the kind that it makes. */
static void no_modules(struct rig *g)
{
	struct inventory *inv = g->p.inv;

	rig_remove(g, "/lib/modules/" RIG_KERNEL "/modules.dep");
	for (size_t i = inv->n_links; i-- > 0;)
		if (inv->links[i].kind == INV_LINK_VLAN) {
			memmove(&inv->links[i], &inv->links[i + 1],
				(inv->n_links - i - 1) * sizeof(inv->links[0]));
			inv->n_links--;
		}
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

/* In a group above the agent's. What the caller may use does not matter. */
static void core_not_allowed(struct rig *g)
{
	rig_put(g, "/sys/fs/cgroup/system.slice/cpuset.cpus.effective", "0,2-3\n");
}

static void no_cpuset(struct rig *g)
{
	rig_remove(g, "/sys/fs/cgroup/system.slice/cpuset.cpus.effective");
	rig_put(g, "/proc/100/status", "Name:\tplenumd\nCpus_allowed_list:\t0,2\n");
}

static void cores_not_known(struct rig *g)
{
	rig_remove(g, "/sys/fs/cgroup/system.slice/cpuset.cpus.effective");
}

/* The cpuset has shrunk under the worker. */
static void core_taken_away(struct rig *g)
{
	rig_put(g, "/proc/101/status", "Name:\tplenum-worker\nCpus_allowed_list:\t0,2\n");
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

/* A worker that fell back to UDP for lack of huge pages has the same addresses as one that asked
 * for UDP. */
static void udp_only(struct rig *g)
{
	rig_change_spec(g, "cores: [2], transport: dpdk", "cores: [2], transport: udp");
	g->p.inv->hugepages[0].total = g->p.inv->hugepages[0].free = 31;
}

static void wants_dpdk(struct rig *g)
{
	rig_change_spec(g, "cores: [2], transport: udp", "cores: [2], transport: dpdk");
}

/* A dpdk-interrupt worker does not poll, but needs huge pages too. */
static void wants_dpdk_interrupt(struct rig *g)
{
	rig_change_spec(g, "cores: [2], transport: udp", "cores: [2], transport: dpdk-interrupt");
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

static void little_group_memory(struct rig *g)
{
	rig_put(g, "/sys/fs/cgroup/system.slice/plenumd.service/memory.max", "268435456\n");
}

/* The limit of a group above the agent's. */
static void few_group_pages(struct rig *g)
{
	rig_put(g, "/sys/fs/cgroup/system.slice/hugetlb.2MB.max", "2097152\n");
}

static void few_files(struct rig *g)
{
	rig_put(g, "/proc/100/limits",
		"Max open files            1024      524288    files\n"
		"Max locked memory         unlimited unlimited bytes\n");
}

static const struct breakage own_breaks[] = {
	{"config-host", DOCTOR_FAIL, NULL, blind_host},
	{"config-file", DOCTOR_FAIL, NULL, blind_spec},
	{"config-plan", DOCTOR_FAIL, NULL, blind_plan},
	{"agent-answers", DOCTOR_FAIL, NULL, no_agent},
	{"agent-answers", DOCTOR_UNKNOWN, NULL, agent_is_forbidden},
	{"agent-answers", DOCTOR_WARN, NULL, agent_is_slow},
	{"agent-version", DOCTOR_WARN, NULL, other_version},
	{"agent-state", DOCTOR_FAIL, NULL, agent_degraded},
	{"agent-state", DOCTOR_WARN, NULL, agent_starting},
	{"agent-enabled", DOCTOR_WARN, NULL, not_enabled},
	{"agent-enabled", DOCTOR_UNKNOWN, NULL, no_systemd},
	{"agent-journal", DOCTOR_FAIL, mute_agent, cut_off},
	{"agent-journal", DOCTOR_WARN, mute_agent, left_waiting},
	{"state-folder", DOCTOR_FAIL, NULL, open_folder},
	{"key-file", DOCTOR_FAIL, NULL, open_key},
	{"key-file", DOCTOR_FAIL, NULL, no_key},
	{"key-security", DOCTOR_WARN, NULL, no_security},
	{"key-security", DOCTOR_WARN, NULL, no_cluster},
	{"kernel-fuse-resend", DOCTOR_NOTE, NULL, old_kernel},
	{"kernel-version", DOCTOR_FAIL, no_frontend, very_old_kernel},
	{"leg-driver", DOCTOR_WARN, server_of_5_12, soft_roce},
	{"kernel-vlan", DOCTOR_FAIL, vlan, no_modules},
	{"kernel-bonding", DOCTOR_FAIL, rig_bond, no_modules},
	{"kernel-vfio-pci", DOCTOR_FAIL, rig_sriov, no_vfio_driver},
	{"kernel-vfio", DOCTOR_FAIL, rig_sriov, no_vfio},
	{"config-needs", DOCTOR_WARN, NULL, needs_iommu},
	{"kernel-fuse", DOCTOR_FAIL, NULL, no_fuse},
	{"kernel-io-uring", DOCTOR_WARN, NULL, no_io_uring},
	{"kernel-udp-gso", DOCTOR_WARN, NULL, no_gso},
	{"kernel-udp-gro", DOCTOR_WARN, NULL, no_gro},
	{"kernel-seccomp", DOCTOR_FAIL, NULL, no_seccomp},
	{"kernel-namespaces", DOCTOR_FAIL, NULL, no_namespaces},
	{"kernel-unsafe-interrupts", DOCTOR_WARN, NULL, unsafe_interrupts},
	{"cores-allowed", DOCTOR_WARN, NULL, core_not_allowed},
	{"cores-allowed", DOCTOR_WARN, NULL, no_cpuset},
	{"cores-allowed", DOCTOR_UNKNOWN, NULL, cores_not_known},
	{"agent-journal", DOCTOR_FAIL, NULL, cut_off},
	{"cores-used", DOCTOR_WARN, NULL, core_taken_away},
	{"cores-zero", DOCTOR_NOTE, NULL, core_zero},
	{"cores-isolated", DOCTOR_WARN, NULL, not_isolated},
	{"cores-tick", DOCTOR_WARN, NULL, ticks},
	{"cores-tick", DOCTOR_UNKNOWN, NULL, no_tick_file},
	{"cores-interrupts", DOCTOR_WARN, NULL, interrupt},
	{"cores-governor", DOCTOR_WARN, NULL, powersave},
	{"cores-governor", DOCTOR_UNKNOWN, NULL, no_governor},
	{"cores-siblings", DOCTOR_WARN, NULL, siblings},
	{"cores-numa", DOCTOR_WARN, NULL, other_node},
	{"memory-hugepages", DOCTOR_FAIL, udp_only, wants_dpdk},
	{"memory-hugepages", DOCTOR_FAIL, udp_only, wants_dpdk_interrupt},
	{"memory-hugepages-node", DOCTOR_WARN, NULL, node_without_pages},
	{"memory-available", DOCTOR_WARN, NULL, no_memory},
	{"memory-numa-balancing", DOCTOR_WARN, NULL, numa_balancing},
	{"memory-locked", DOCTOR_WARN, NULL, few_locked},
	{"memory-locked", DOCTOR_NOTE, udp_only, few_locked},
	{"memory-files", DOCTOR_WARN, NULL, few_files},
	{"memory-group", DOCTOR_WARN, NULL, little_group_memory},
	{"memory-group", DOCTOR_FAIL, NULL, few_group_pages},
};

/* ---- the test of them all ---- */

static const struct breakage *break_at(size_t n)
{
	if (n < ARRAY_SIZE(own_breaks))
		return &own_breaks[n];
	n -= ARRAY_SIZE(own_breaks);
	if (n < doctor_n_net_breaks)
		return &doctor_net_breaks[n];
	n -= doctor_n_net_breaks;
	if (n < doctor_n_folder_breaks)
		return &doctor_folder_breaks[n];
	n -= doctor_n_folder_breaks;
	if (n < doctor_n_peer_breaks)
		return &doctor_peer_breaks[n];
	n -= doctor_n_peer_breaks;
	return n < doctor_n_rdma_breaks ? &doctor_rdma_breaks[n] : NULL;
}

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
		/* Every finding has a remedy. */
		assert_true(ret[n].evidence[0]);
		assert_true(ret[n].state < DOCTOR_WARN || ret[n].remedy[0]);
	}
	return n;
}

/* A check without its prerequisites can only be unknown. */
static bool is_blind(const struct rig *g, const struct doctor_check *c)
{
	return ((c->needs & DOCTOR_NEEDS_INVENTORY) && !g->p.inv) ||
	       ((c->needs & DOCTOR_NEEDS_SPEC) && !g->p.spec) ||
	       ((c->needs & DOCTOR_NEEDS_PLAN) && !g->p.plan) ||
	       ((c->needs & DOCTOR_NEEDS_APPLIED) && json_array_size(g->p.steps) > 0) ||
	       ((c->needs & DOCTOR_NEEDS_AGENT) && !g->p.status);
}

/* Checks that stayed as they were while another one of their subject was broken. */
static bool has_neighbour[CHECKS_MAX];

static const struct doctor_subject *subject_at(size_t n)
{
	size_t i = 0;

	for (; n >= doctor_subjects[i]->n_checks; i++)
		n -= doctor_subjects[i]->n_checks;
	return doctor_subjects[i];
}

static void note_neighbours(const struct doctor_result *before, const struct doctor_result *after,
			    size_t n, size_t broken)
{
	for (size_t i = 0; i < n; i++)
		if (i != broken && subject_at(i) == subject_at(broken) &&
		    before[i].state == DOCTOR_PASS && after[i].state == DOCTOR_PASS)
			has_neighbour[i] = true;
}

/* Whether the result names the check that reports the cause, at once or through another that does.
 */
static bool is_consequence(const struct doctor_result *r, const char *id)
{
	const char *because = doctor_because(r);

	return because && (strcmp(because, id) == 0 || (strcmp(id, "leg-crossed") == 0 &&
							strcmp(because, "peer-answers") == 0));
}

/* Whether the breakage changes its check and no other, but for consequences that say so. */
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
		if (is_it)
			note_neighbours(before, after, n, i);
		if (!is_it && is_blind(g, check_at(i))) {
			assert_int_equal(after[i].state, DOCTOR_UNKNOWN);
			continue;
		}
		if (!is_it && is_consequence(&after[i], b->id))
			continue;
		if (after[i].state == (is_it ? b->to : before[i].state) &&
		    !(is_it && before[i].state == b->to))
			continue;
		good = false;
		print_error("broken for %s, %s says %s: %s; before %s: %s\n", b->id, id,
			    doctor_state_to_string(after[i].state), after[i].evidence,
			    doctor_state_to_string(before[i].state), before[i].evidence);
	}
	if (!found)
		fail_msg("the doctor has no check %s", b->id);
	rig_free(g);
	return good;
}

static void test_each_breakage_changes_one_check(void **state)
{
	const struct breakage *b;
	bool good = true;

	for (size_t i = 0; (b = break_at(i)); i++)
		good = break_one(b) && good;
	assert_true(good);
}

static void test_all_checks_pass_on_a_healthy_host(void **state)
{
	static struct doctor_result all[CHECKS_MAX];
	struct rig *g = rig_new(NULL);
	size_t n = run_all(g, all);

	for (size_t i = 0; i < n; i++)
		if (all[i].state != DOCTOR_PASS)
			fail_msg("%s: %s", check_at(i)->id, all[i].evidence);
	rig_free(g);
}

static void test_every_check_has_a_breakage(void **state)
{
	const struct doctor_check *c;
	const struct breakage *b;

	for (size_t n = 0; (c = check_at(n)); n++) {
		bool found = false;

		for (size_t i = 0; (b = break_at(i)) && !found; i++)
			found = strcmp(b->id, c->id) == 0;
		if (!found)
			fail_msg("nothing breaks %s", c->id);
		if (!has_neighbour[n])
			fail_msg("nothing breaks a neighbour of %s and leaves it as it is", c->id);
	}
}

/* The driver of the function decides, as sysfs reports it; most NICs of i40e have no RDMA
 * at all. */
/* A user without the right to ask the agent gets no advice to start one. */
static void test_the_remedy_for_steps_fits_the_agent(void **state)
{
	struct rig *g = rig_new(NULL);

	rig_data_ip(g)->ifindex = HOST_VETH1;
	rig_plan(g);
	assert_string_equal(rig_result_of(g, "address-set").remedy, "plenum plan; plenum apply");
	no_agent(g);
	assert_non_null(strstr(rig_result_of(g, "address-set").remedy, "systemctl start plenumd"));
	g->p.agent_state = CTL_AGENT_FORBIDDEN;
	assert_string_equal(rig_result_of(g, "address-set").remedy,
			    "start it; then 'plenum plan' shows the steps");
	rig_free(g);
}

static void test_rdma_modules_follow_the_driver_of_the_function(void **state)
{
	struct rig *g = rig_new(NULL);
	char *driver = rig_link(g, HOST_VETH0)->driver;

	strcpy(driver, "i40e");
	assert_int_equal(rig_state_of(g, "rdma-modules"), DOCTOR_PASS);
	strcpy(driver, "mlx4_core");
	assert_int_equal(rig_state_of(g, "rdma-modules"), DOCTOR_WARN);
	rig_free(g);
}

/* A host with the in-tree driver is not advised to install it. */
static void test_the_remedy_for_an_old_driver_fits_its_origin(void **state)
{
	struct rig *g = rig_new(NULL);

	rig_put(g, "/sys/module/ice/version", "0.8.2-k\n");
	assert_non_null(strstr(rig_result_of(g, "leg-driver").remedy, "run a later kernel"));
	rig_put(g, "/sys/module/ice/version", "1.2.1\n");
	assert_non_null(strstr(rig_result_of(g, "leg-driver").remedy, "the kernel's own driver"));
	rig_free(g);
}

static void test_a_single_leg_by_configuration_is_a_note(void **state)
{
	struct rig *g = rig_new(NULL);

	rig_change_spec(g, "label: switch-b}", "label: switch-b, enabled: false}");
	rig_plan(g);
	assert_int_equal(rig_state_of(g, "leg-two"), DOCTOR_WARN);
	rig_change_spec(g, "ha: {mode: dual-leg}", "ha: {mode: none}");
	rig_plan(g);
	assert_int_equal(rig_state_of(g, "leg-two"), DOCTOR_NOTE);
	rig_free(g);
}

/* irqbalance leaves out the cores of its list, or without one the isolated cores. */
static void test_an_irqbalance_that_spares_the_polling_cores_passes(void **state)
{
	struct rig *g = rig_new(NULL);

	rig_put(g, "/proc/200/comm", "irqbalance\n");
	assert_int_equal(rig_state_of(g, "cores-irqbalance"), DOCTOR_PASS);
	g->p.inv->cores[2].isolated = false;
	assert_int_equal(rig_state_of(g, "cores-irqbalance"), DOCTOR_WARN);
	rig_put(g, "/etc/default/irqbalance", "IRQBALANCE_BANNED_CPULIST=2-3\n");
	assert_int_equal(rig_state_of(g, "cores-irqbalance"), DOCTOR_PASS);
	rig_free(g);
}

/* Both ends of the cable pause the same priorities. */
static void test_matching_flow_control_passes(void **state)
{
	struct rig *g = rig_new(NULL);
	struct inv_dcb *d = inv_dcb_add(g->p.inv);
	json_t *leg = json_array_get(json_object_get(g->p.net, "net"), 1);
	json_t *it = json_array_get(json_object_get(leg, "neighbours"), 1);

	d->ifindex = HOST_VETH1;
	inv_text_set(d->pfc, sizeof(d->pfc), "3");
	assert_int_equal(rig_state_of(g, "dcb-switch"),
			 DOCTOR_PASS); /* the switch reports nothing */
	json_object_set_new(it, "pfc", json_string("3"));
	assert_int_equal(rig_state_of(g, "dcb-switch"), DOCTOR_PASS);
	json_object_set_new(it, "pfc", json_string("34"));
	assert_int_equal(rig_state_of(g, "dcb-switch"), DOCTOR_WARN);
	/* The switch's setting does not matter if this host pauses nothing and relies on
	 * nothing. */
	inv_text_set(d->pfc, sizeof(d->pfc), "none");
	assert_int_equal(rig_state_of(g, "dcb-switch"), DOCTOR_PASS);
	rig_free(g);
}

/* Linux before 5.15 reports the lazy mode under the name of the strict one. */
static void test_old_kernels_leave_the_iommu_mode_unknown(void **state)
{
	struct rig *g = rig_new(NULL);

	inv_text_set(rig_link(g, HOST_VETH1)->pci, INV_TEXT_MAX, "0000:3b:00.1");
	rig_put(g, "/sys/bus/pci/devices/0000:3b:00.1/iommu_group/type", "DMA\n");
	assert_int_equal(rig_state_of(g, "iommu-mode"), DOCTOR_WARN);
	rig_put(g, "/proc/sys/kernel/osrelease", "5.14.21-generic\n");
	assert_int_equal(rig_state_of(g, "iommu-mode"), DOCTOR_UNKNOWN);
	rig_put(g, "/proc/sys/kernel/osrelease", "6.1.0-13-amd64\n");
	assert_int_equal(rig_state_of(g, "iommu-mode"), DOCTOR_WARN);
	rig_free(g);
}

static void blank_mount(struct rig *g)
{
	rig_change_spec(g, "path: /mnt/x", "path: '/mnt/a b'");
}

/* mountinfo(5) writes the blank as \\040. A mounted folder is not opened. */
static void test_a_mounted_path_with_a_blank_is_recognized(void **state)
{
	struct rig *g = rig_new(blank_mount);

	assert_int_equal(rig_state_of(g, "folders-mounted"), DOCTOR_FAIL);
	rig_put(g, "/proc/self/mountinfo",
		"40 30 0:50 / /mnt/a\\040b rw - fuse.plenum host-b:x rw\n");
	assert_int_equal(rig_state_of(g, "folders-mounted"), DOCTOR_PASS);
	rig_free(g);
}

/* Of earlier mounts, and of mounts beside and below it. */
static void test_neighbours_of_a_mount_do_not_cover_it(void **state)
{
	struct rig *g = rig_new(NULL);

	rig_put(g, "/proc/self/mountinfo",
		"22 1 8:1 / / rw - ext4 disk rw\n"
		"39 22 0:49 / /mnt rw - tmpfs tmpfs rw\n"
		"40 39 0:50 / /mnt/x rw - fuse.plenum host-b:x rw\n"
		"41 39 0:51 / /mnt/xy rw - tmpfs tmpfs rw\n"
		"42 40 0:52 / /mnt/x/below rw - tmpfs tmpfs rw\n");
	assert_int_equal(rig_state_of(g, "mounts-reached"), DOCTOR_PASS);
	rig_free(g);
}

/* The remedy names the device below a VLAN, which does the segmentation; and no device for a leg
 * that the plan lacks. */
static void test_broken_segmentation_names_the_nic(void **state)
{
	struct rig *g = rig_new(NULL);
	json_t *path = json_pack("{s:s, s:s, s:b}", "leg", "leg-b", "peer", "host-b",
				 "segmentation_lost", 1);
	struct doctor_result r;

	json_object_set_new(g->p.status, "paths", json_pack("[o]", path));
	inv_text_set(rig_link(g, HOST_VETH1)->driver, INV_TEXT_MAX, "igb");
	r = rig_result_of(g, "leg-segmentation");
	assert_non_null(strstr(r.evidence,
			       "veth1 of leg leg-b (driver igb) segments packets itself, but "
			       "the segmented packets do not reach host-b"));
	assert_non_null(strstr(r.remedy, "ethtool -K veth1 tx-udp-segmentation off"));
	rig_link(g, HOST_VETH1)->lower = HOST_VETH0;
	r = rig_result_of(g, "leg-segmentation");
	assert_non_null(strstr(r.remedy, "ethtool -K veth0 tx-udp-segmentation off"));
	json_object_set_new(path, "leg", json_string("leg-c"));
	assert_int_equal(rig_state_of(g, "leg-segmentation"), DOCTOR_PASS);
	json_object_set_new(path, "leg", json_null());
	assert_int_equal(rig_state_of(g, "leg-segmentation"), DOCTOR_PASS);
	rig_free(g);
}

static void test_json_is_valid_for_any_evidence(void **state)
{
	struct doctor_result r = {.state = DOCTOR_WARN, .evidence = "x\xffy", .remedy = "z\xc3"};
	json_t *o = doctor_to_json(&doctor_config, &doctor_config.checks[0], &r);

	assert_non_null(o);
	assert_string_equal(json_string_value(json_object_get(o, "evidence")), "x?y");
	assert_string_equal(json_string_value(json_object_get(o, "remedy")), "z?");
	json_decref(o);
}

static void test_the_manual_lists_all_checks(void **state)
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
		cmocka_unit_test(test_the_manual_lists_all_checks),
		cmocka_unit_test(test_all_checks_pass_on_a_healthy_host),
		cmocka_unit_test(test_each_breakage_changes_one_check),
		cmocka_unit_test(test_every_check_has_a_breakage),
		cmocka_unit_test(test_the_remedy_for_steps_fits_the_agent),
		cmocka_unit_test(test_rdma_modules_follow_the_driver_of_the_function),
		cmocka_unit_test(test_the_remedy_for_an_old_driver_fits_its_origin),
		cmocka_unit_test(test_matching_flow_control_passes),
		cmocka_unit_test(test_a_single_leg_by_configuration_is_a_note),
		cmocka_unit_test(test_an_irqbalance_that_spares_the_polling_cores_passes),
		cmocka_unit_test(test_old_kernels_leave_the_iommu_mode_unknown),
		cmocka_unit_test(test_neighbours_of_a_mount_do_not_cover_it),
		cmocka_unit_test(test_a_mounted_path_with_a_blank_is_recognized),
		cmocka_unit_test(test_broken_segmentation_names_the_nic),
		cmocka_unit_test(test_json_is_valid_for_any_evidence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
