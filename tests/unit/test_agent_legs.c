/* SPDX-License-Identifier: BSD-3-Clause */
/* Legs that vanish and return, and the effect on workers. */
#include "tests/lib/agent/reconcile_host.h"

static char *replaced(const char *text, const char *find, const char *with)
{
	const char *at = strstr(text, find);
	char *made = NULL;

	assert_non_null(at);
	assert_true(asprintf(&made, "%.*s%s%s", (int)(at - text), text, with, at + strlen(find)) >
		    0);
	return made;
}

/* Removes the device with its addresses and routes. */
static void remove_link(struct fixture *f, uint32_t ifindex)
{
	struct inventory *inv = NULL;
	char conf[IFNAMSIZ + 2] = "";
	size_t n = 0;

	host_load(f);
	assert_int_equal(inv_copy(kernel_fake_inventory(f->a.kernel), &inv), 0);
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].ifindex != ifindex)
			inv->links[n++] = inv->links[i];
		else
			snprintf(conf, sizeof(conf), "/%s/", inv->links[i].name);
	inv->n_links = n;
	n = 0;
	for (size_t i = 0; i < inv->n_sysctls; i++) {
		if (!strstr(inv->sysctls[i].key, conf)) {
			inv->sysctls[n++] = inv->sysctls[i];
			continue;
		}
		free(inv->sysctls[i].key);
		free(inv->sysctls[i].value);
	}
	inv->n_sysctls = n;
	n = 0;
	for (size_t i = 0; i < inv->n_addrs; i++)
		if (inv->addrs[i].ifindex != ifindex)
			inv->addrs[n++] = inv->addrs[i];
	inv->n_addrs = n;
	n = 0;
	for (size_t i = 0; i < inv->n_routes; i++)
		if (inv->routes[i].oif != ifindex)
			inv->routes[n++] = inv->routes[i];
	inv->n_routes = n;
	assert_int_equal(kernel_fake_replace(f->a.kernel, inv), 0);
	inv_free(inv);
}

static void add_link(struct fixture *f, uint32_t ifindex, const char *name)
{
	struct inventory *inv = NULL;

	host_load(f);
	assert_int_equal(inv_copy(kernel_fake_inventory(f->a.kernel), &inv), 0);
	host_add_link(inv, ifindex, name, INV_LINK_VETH, true);
	inv_sort(inv);
	assert_int_equal(kernel_fake_replace(f->a.kernel, inv), 0);
	inv_free(inv);
}

static void goes_and_comes(struct fixture *f)
{
	struct agent *a = &f->a;
	const struct sup_worker *w;
	pid_t pid;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	w = sup_first(a->sup);
	pid = w->pid;
	remove_link(f, HOST_VETH1);
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_int_equal(a->state, AGENT_DEGRADED);
	assert_int_equal(a->running.plan->workers[0].n_ports, 1);
	assert_true(problem_has(a, "leg leg-b (veth1) is absent: not-found"));
	assert_true(event_has(a, "leg leg-b (veth1) is absent"));
	assert_int_equal(w->pid, pid);
	assert_int_equal(w->config.n_ports, 2);
	add_link(f, 9, "veth1");
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_int_equal(a->state, AGENT_WELL);
	assert_int_equal(a->reconcile.run.n_steps > 0, 1);
	assert_true(event_has(a, "leg leg-b (veth1) is usable"));
	assert_int_equal(w->pid, pid);
}

/* A worker with kernel sockets keeps its ports while a leg is absent and takes it back without a
 * restart. */
static void test_udp_worker_takes_a_leg_back(void **state)
{
	struct fixture *f = *state;
	const struct sup_worker *w;

	goes_and_comes(f);
	w = sup_first(f->a.sup);
	assert_int_equal(w->config.ports[1].ifindex, 9);
	assert_int_equal(w->started->ports[1].ifindex, HOST_VETH1); /* until it is up */
	assert_int_equal(w->state, SUP_STARTING);
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	assert_int_equal(w->state, SUP_STARTING);
}

/* A worker with DPDK devices keeps its ports too, but needs a restart, which is postponed. */
static void test_dpdk_worker_is_restarted_later(void **state)
{
	struct fixture *f = *state;
	autofree char *yaml = replaced(HOST_YAML, "transport: udp", "transport: dpdk");
	struct agent *a = &f->a;
	const struct sup_worker *w;

	write_file(f, yaml);
	goes_and_comes(f);
	w = sup_first(a->sup);
	assert_int_equal(w->config.ports[1].ifindex, HOST_VETH1);
	assert_int_equal(w->state, SUP_STARTING);
	assert_true(loop_timer_armed(a->reconcile.pacing.debounce)); /* it is looked at again */
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);     /* the caller does not wait */
	assert_int_equal(w->config.ports[1].ifindex, 9);
	assert_int_equal(w->state, SUP_STOPPING);
}

/* A DPDK worker keeps its transport when all legs vanish. */
static void test_dpdk_worker_keeps_its_transport(void **state)
{
	struct fixture *f = *state;
	autofree char *yaml = replaced(HOST_YAML, "transport: udp", "transport: dpdk");
	const struct sup_worker *w;
	pid_t pid;

	write_file(f, yaml);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	w = sup_first(f->a.sup);
	pid = w->pid;
	assert_int_equal(w->config.transport, LAUNCH_DPDK);
	remove_link(f, HOST_VETH0);
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_int_equal(w->config.n_ports, 2);
	remove_link(f, HOST_VETH1);
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	assert_int_equal(w->pid, pid);
	assert_int_equal(w->state, SUP_STARTING);
	assert_int_equal(w->config.n_ports, 2);
}

/* A worker that had to release a device is restarted once for it. */
static void test_released_device_causes_one_restart(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	struct sup_worker *w;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	w = (struct sup_worker *)sup_first(a->sup);
	w->released[1] = true;
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_int_equal(w->state, SUP_STARTING); /* too young */
	assert_int_equal(w->config.ports[1].again, 0);
	assert_true(loop_timer_armed(a->reconcile.pacing.debounce));
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	assert_int_equal(w->state, SUP_STOPPING);
	assert_int_equal(w->config.ports[0].again, 0);
	assert_int_equal(w->config.ports[1].again, 1);
	while (w->state != SUP_STARTING) /* it has no ears: it is killed after a while */
		assert_true(loop_turn(a->loop, 10 * NSEC_PER_SEC) > 0);
	assert_false(w->released[1]);
	assert_int_equal(w->started->ports[1].again, 1);
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	assert_int_equal(w->state, SUP_STARTING);
	assert_int_equal(w->config.ports[1].again, 1);
}

/* A worker without a leg waits and gives the reason; errors of others are not its own. */
static void test_worker_waits_for_a_leg(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	struct status st;

	remove_link(f, HOST_VETH0);
	remove_link(f, HOST_VETH1);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_int_equal(sup_first(a->sup)->state, SUP_FAILED);
	assert_int_equal(sup_count_processes(a->sup), 0);
	assert_int_equal(status_collect(a, &st), 0);
	assert_string_equal(st.processes[1].reason, "no-leg: leg-a is absent, leg-b is absent");
	assert_string_equal(st.legs[0].state, "absent");
	assert_non_null(strstr(st.legs[0].reason, "this host has no device veth0"));
	status_done(&st);
	add_link(f, 9, "veth1");
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_int_equal(sup_first(a->sup)->state, SUP_STARTING);
	assert_int_equal(sup_first(a->sup)->config.n_ports, 1);
	assert_string_equal(sup_first(a->sup)->config.ports[0].leg, "leg-b");
	assert_int_equal(a->state, AGENT_DEGRADED);
}

/* A leg whose device becomes the management interface is left at once. */
static void test_management_device_is_left_at_once(void **state)
{
	struct fixture *f = *state;
	autofree char *step = replaced(HOST_YAML, "interface: eth0", "interface: veth1");
	autofree char *yaml = replaced(step, "device: veth1", "device: \"02:00:00:00:00:04\"");

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_int_equal(sup_first(f->a.sup)->config.n_ports, 2);
	write_file(f, yaml);
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	assert_string_equal(f->a.running.plan->legs[1].reason.code, "management");
	assert_int_equal(sup_first(f->a.sup)->state, SUP_STOPPING);
	assert_int_equal(sup_first(f->a.sup)->config.n_ports, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECONCILE_TEST(test_udp_worker_takes_a_leg_back),
		RECONCILE_TEST(test_dpdk_worker_is_restarted_later),
		RECONCILE_TEST(test_dpdk_worker_keeps_its_transport),
		RECONCILE_TEST(test_released_device_causes_one_restart),
		RECONCILE_TEST(test_worker_waits_for_a_leg),
		RECONCILE_TEST(test_management_device_is_left_at_once),
	};

	return cmocka_run_group_tests_name("agent_legs", tests, NULL, NULL);
}
