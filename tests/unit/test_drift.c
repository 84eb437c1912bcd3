/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drift: how changes by other programs are described, counted as fights and paced, and which
 * network manager is named with which setting.
 */
#include "agent/drift.h"
#include "agent/health/managers.h"
#include "netcfg/base/file.h"
#include "netcfg/base/os/folder.h"
#include "tests/lib/agent/reconcile_host.h"

static void remove_rule(struct fixture *f, const char *from)
{
	struct inv_rule gone = {.priority = PLAN_RULE_PRIORITY,
				.table = PLAN_TABLE_FIRST,
				.family = AF_INET,
				.proto = PLENUM_RTPROT,
				.from = host_prefix(from)};

	host_load(f);
	assert_int_equal(kernel_do_rule_del(f->a.kernel, &gone, NULL), 0);
}

static void test_each_change_is_described(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	struct inv_route gone = {.table = PLAN_TABLE_FIRST,
				 .family = AF_INET,
				 .proto = PLENUM_RTPROT,
				 .oif = HOST_VETH0,
				 .dst = host_prefix("10.10.0.0/16")};

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	host_load(f);
	kernel_route_normalize(&gone);
	assert_int_equal(kernel_do_route_del(a->kernel, &gone, NULL), 0);
	assert_int_equal(kernel_do_sysctl(a->kernel, "net/ipv4/conf/veth1/arp_filter", "0", NULL),
			 0);
	assert_int_equal(kernel_do_link(a->kernel, HOST_VETH1, KERNEL_LINK_MTU, 1400, NULL), 0);
	remove_rule(f, "10.10.1.10/32");
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_true(event_has(a, "route 10.10.0.0/16 on leg-a (veth0) in table 7000 was removed by "
				 "another program; repairing"));
	assert_true(event_has(a, "net/ipv4/conf/veth1/arp_filter of leg-b (veth1) was set to 0 (1 "
				 "is wanted) by another program"));
	assert_true(event_has(a, "the mtu of leg-b (veth1) was set to 1400 (9000 is wanted)"));
	assert_true(event_has(a, "rule 7000: from 10.10.1.10 lookup table 7000 was removed"));
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_int_equal(a->reconcile.run.n_writes, 0);
}

/* Of several values that the plan accepts, the setting had one, and the repair sets another. */
static void test_a_change_from_an_accepted_value_is_described(void **state)
{
	static const char key[] = "net/ipv4/conf/veth1/rp_filter";
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	host_load(f);
	assert_string_equal(inv_sysctl_value(a->running.inv, key), "0");
	assert_int_equal(kernel_do_sysctl(a->kernel, key, "1", NULL), 0);
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_true(event_has(a, "net/ipv4/conf/veth1/rp_filter of leg-b (veth1) was set to 1 (2 "
				 "is wanted) by another program"));
}

/* Changes without a kernel notification are found by polling. */
static void test_changes_without_notification_are_found(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	host_load(f);
	assert_true(a->running.plan->n_unannounced > 4);
	assert_false(plan_has_drifted(a->kernel, a->running.plan));
	drift_look(a);
	assert_false(loop_timer_armed(a->reconcile.pacing.debounce));
	assert_int_equal(kernel_do_sysctl(a->kernel, "net/ipv4/conf/veth1/arp_filter", "0", NULL),
			 0);
	assert_true(plan_has_drifted(a->kernel, a->running.plan));
	drift_look(a);
	assert_true(loop_timer_armed(a->reconcile.pacing.debounce));
}

/* A recreated device is not drift. */
static void test_recreated_device_is_not_drift(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	struct inv_link link;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	host_load(f);
	link = *inv_link_by_index(kernel_fake_inventory(a->kernel), HOST_VETH1);
	assert_int_equal(kernel_fake_remove_link(a->kernel, HOST_VETH1), 0);
	link.ifindex = 40;
	assert_int_equal(kernel_fake_add_link(a->kernel, &link), 0);
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_true(a->reconcile.run.n_writes > 0);
	assert_false(event_has(a, "another program"));
}

static void test_repeated_repairs_are_a_fight(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	a->drift.root = "/nowhere";
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	for (unsigned i = 1; i <= DRIFT_FIGHT; i++) {
		assert_int_equal(a->state, AGENT_WELL);
		remove_rule(f, "10.10.1.10/32");
		assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
		assert_true(drift_delay_ns(&a->drift) == RECONCILE_DEBOUNCE_NS);
	}
	assert_int_equal(a->state, AGENT_DEGRADED);
	assert_true(problem_has(
		a, "leg-a: another program keeps undoing the agent's settings, last: rule "
		   "7000: from 10.10.1.10"));
	assert_true(problem_has(a, "no known network manager here would do this"));
	drift_look(a);
	assert_int_equal(a->state, AGENT_DEGRADED);
	/* A minute later. */
	for (unsigned i = 0; i < DRIFT_FIGHT; i++)
		a->drift.places[0].at_ns[i] -= DRIFT_WINDOW_NS;
	drift_look(a);
	assert_int_equal(a->state, AGENT_WELL);
	assert_true(event_has(a, "no other program has changed the agent's settings for a minute"));
}

static void test_repairs_are_paced(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	a->drift.spent_ns = clock_now_ns() + (DRIFT_BURST - 2) * DRIFT_REFILL_NS;
	for (int i = 0; i < 3; i++) {
		assert_true(drift_delay_ns(&a->drift) == RECONCILE_DEBOUNCE_NS);
		remove_rule(f, "10.10.1.10/32");
		assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	}
	assert_in_range(drift_delay_ns(&a->drift), RECONCILE_DEBOUNCE_NS, DRIFT_REFILL_NS);
	remove_rule(f, "10.10.1.10/32");
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_true(drift_delay_ns(&a->drift) > RECONCILE_DEBOUNCE_NS);
}

/* ---- network managers ---- */

struct root {
	char dir[32];
};

static void put(const struct root *r, const char *path, const char *text)
{
	char full[256], *slash;

	snprintf(full, sizeof(full), "%s%s", r->dir, path);
	for (slash = strchr(full + strlen(r->dir) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	if (text)
		assert_int_equal(file_write(full, text, strlen(text), 0600), 0);
}

static void put_process(const struct root *r, const char *pid, const char *comm, const char *netns)
{
	char path[64], full[128];

	snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
	put(r, path, NULL);
	snprintf(full, sizeof(full), "%s%s", r->dir, path);
	assert_int_equal(symlink(netns, full), 0);
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	if (comm)
		put(r, path, comm);
}

static int root_setup(void **state)
{
	struct root *r = calloc(1, sizeof(*r));

	strcpy(r->dir, "/tmp/plenum-root-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	put_process(r, "self", NULL, "net:[1]");
	put_process(r, "1", "systemd\n", "net:[1]");
	*state = r;
	return 0;
}

static int root_teardown(void **state)
{
	struct root *r = *state;

	folder_remove(r->dir);
	free(r);
	return 0;
}

static bool explains(const struct root *r, enum managers_matter m, const char *text)
{
	char buf[MANAGERS_TEXT_MAX] = "";
	bool known = managers_explain(r->dir, m, "eth1", 7, buf, sizeof(buf));

	if (strstr(buf, text))
		return known;
	fprintf(stderr, "no '%s' in: %s\n", text, buf);
	return false;
}

static bool no_manager(const struct root *r, enum managers_matter m)
{
	char buf[MANAGERS_TEXT_MAX];

	return !managers_explain(r->dir, m, "eth1", 7, buf, sizeof(buf)) && buf[0];
}

static void test_networkd_is_named(void **state)
{
	struct root *r = *state;

	assert_true(no_manager(r, MANAGERS_RULES));
	put_process(r, "90", "systemd-network\n", "net:[2]");
	assert_true(no_manager(r, MANAGERS_RULES)); /* it is in another namespace */
	put_process(r, "91", "systemd-network\n", "net:[1]");
	assert_true(explains(r, MANAGERS_RULES, "ManageForeignRoutingPolicyRules=no"));
	assert_true(explains(r, MANAGERS_ROUTES, "ManageForeignRoutes=no"));
	assert_true(no_manager(r, MANAGERS_LINKS));
	put(r, "/run/systemd/netif/links/7", "ADMIN_STATE=unmanaged\n");
	assert_true(no_manager(r, MANAGERS_LINKS));
	put(r, "/run/systemd/netif/links/7",
	    "# private\nADMIN_STATE=configured\nNETWORK_FILE=/etc/systemd/network/20-x.network\n");
	assert_true(explains(r, MANAGERS_LINKS,
			     "manages eth1 with /etc/systemd/network/20-x.network; write "
			     "Unmanaged=yes below [Link] there"));
	/* The last word counts. */
	put(r, "/etc/systemd/networkd.conf",
	    "[Network]\n#ManageForeignRoutes=yes\nManageForeignRoutingPolicyRules = no\n");
	assert_true(no_manager(r, MANAGERS_RULES));
	assert_true(explains(r, MANAGERS_ROUTES, "ManageForeignRoutes=no"));
	put(r, "/etc/systemd/networkd.conf.d/10-a.conf",
	    "[Network]\nManageForeignRoutingPolicyRules=yes\nManageForeignRoutes=false\n");
	assert_true(explains(r, MANAGERS_RULES, "ManageForeignRoutingPolicyRules=no"));
	assert_true(no_manager(r, MANAGERS_ROUTES));
}

static void test_other_managers_are_named(void **state)
{
	struct root *r = *state;

	put_process(r, "92", "NetworkManager\n", "net:[1]");
	assert_true(no_manager(r, MANAGERS_LINKS));
	put(r, "/run/NetworkManager/devices/7", "[device]\nmanaged=false\n");
	assert_true(no_manager(r, MANAGERS_LINKS));
	put(r, "/run/NetworkManager/devices/7", "[device]\nmanaged=true\n");
	assert_true(explains(r, MANAGERS_LINKS,
			     "unmanaged-devices+=interface-name:eth1 below [keyfile] into "
			     "/etc/NetworkManager/conf.d/plenum-eth1.conf"));
	assert_true(explains(r, MANAGERS_ROUTES, "NetworkManager manages eth1"));
	assert_true(no_manager(r, MANAGERS_RULES));
	put(r, "/run/NetworkManager/devices/7", "[device]\n");
	put_process(r, "93", "dhcpcd\n", "net:[1]");
	assert_true(explains(r, MANAGERS_LINKS, "denyinterfaces eth1"));
}

/* A manager that records the link late is named with the next repair, not a minute later. */
static void test_late_manager_is_named(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	void *of_root = NULL;
	struct root *r;

	assert_int_equal(root_setup(&of_root), 0);
	r = of_root;
	a->drift.root = r->dir;
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	remove_rule(f, "10.10.1.10/32");
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_false(event_has(a, "systemd-networkd removes"));
	put_process(r, "90", "systemd-network\n", "net:[1]");
	remove_rule(f, "10.10.1.10/32");
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_true(event_has(a, "systemd-networkd removes rules"));
	a->drift.root = NULL;
	assert_int_equal(root_teardown(&of_root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECONCILE_TEST(test_each_change_is_described),
		RECONCILE_TEST(test_a_change_from_an_accepted_value_is_described),
		RECONCILE_TEST(test_changes_without_notification_are_found),
		RECONCILE_TEST(test_recreated_device_is_not_drift),
		RECONCILE_TEST(test_repeated_repairs_are_a_fight),
		RECONCILE_TEST(test_repairs_are_paced),
		RECONCILE_TEST(test_late_manager_is_named),
		cmocka_unit_test_setup_teardown(test_networkd_is_named, root_setup, root_teardown),
		cmocka_unit_test_setup_teardown(test_other_managers_are_named, root_setup,
						root_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
