/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport: auto in a reconcile: only a requested apply moves a worker to VFs, it is kept only if
 * the worker runs with them, and the accepted choice is recorded exactly when it is kept, despite
 * deaths and I/O errors.
 */
#include "netcfg/base/file.h"
#include "tests/lib/agent/reconcile_host.h"

#include <sys/wait.h>

#define PF_A "0000:3b:00.0"
#define PF_B "0000:3c:00.0"

#define AUTO_YAML                                               \
	"host: host-a\n"                                        \
	"management: {interface: eth0}\n"                       \
	"networks:\n"                                           \
	"  - {name: data-a, range: 10.10.1.10-10.10.1.40/16}\n" \
	"  - {name: data-b, range: 10.20.1.10-10.20.1.40/16}\n" \
	"net:\n"                                                \
	"  - {name: leg-a, device: veth0, network: data-a}\n"   \
	"  - {name: leg-b, device: veth1, network: data-b}\n"   \
	"ha: {mode: dual-leg}\n"                                \
	"workers:\n"                                            \
	"  - {role: compute, cores: [1], exports: [{name: x, path: /srv}]}\n"

#define TWO_YAML AUTO_YAML "  - {role: compute, cores: [2], exports: [{name: y, path: /srv}]}\n"

static void add_pf(struct inventory *inv, uint32_t ifindex, const char *pci)
{
	struct inv_function *pf = inv_function_add(inv);

	inv_text_set(pf->pci, sizeof(pf->pci), pci);
	inv_text_set(pf->driver, sizeof(pf->driver), "ixgbe");
	pf->max_vfs = 7;
	pf->iommu_group = (int)ifindex;
	for (size_t i = 0; i < inv->n_links; i++) {
		struct inv_link *l = &inv->links[i];

		if (l->ifindex != ifindex)
			continue;
		l->max_vfs = 7;
		l->up = l->carrier = true;
		l->kind = INV_LINK_PHYSICAL;
		inv_text_set(l->pci, sizeof(l->pci), pci);
		inv_text_set(l->driver, sizeof(l->driver), "ixgbe");
	}
}

/* Makes VFs appear while the applier waits, when ports get theirs. */
static pid_t agent_pid;
static struct kernel_ops shared_ops;
static struct kernel_ops own_ops;

static int collect_and_leave(struct kernel *k, struct diag *d, struct inventory *inv)
{
	int r = own_ops.collect(k, d, inv);

	if (getpid() != agent_pid)
		host_save(reconcile_fixture);
	return r;
}

static int change_and_leave(struct kernel *k, const struct kernel_change *c, struct reason *why)
{
	int r = own_ops.change(k, c, why);

	if (getpid() != agent_pid)
		host_save(reconcile_fixture);
	return r;
}

static void share_host(struct fixture *f)
{
	agent_pid = getpid();
	shared_ops = own_ops = *f->a.kernel->ops;
	shared_ops.collect = collect_and_leave;
	shared_ops.change = change_and_leave;
	f->a.kernel->ops = &shared_ops;
}

static int setup_pfs(void **state)
{
	struct inventory *inv = host_new();
	struct fixture *f;

	if (reconcile_setup(state) < 0)
		return -1;
	f = *state;
	share_host(f);
	add_pf(inv, HOST_VETH0, PF_A);
	add_pf(inv, HOST_VETH1, PF_B);
	inv->cores[1].isolated = true;
	assert_int_equal(kernel_fake_replace(f->a.kernel, inv), 0);
	inv_free(inv);
	write_file(f, AUTO_YAML);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	return 0;
}

/* Uses other PFs and another core. */
static void set_host(struct fixture *f, const char *driver, bool isolated)
{
	struct inventory *inv = NULL;

	host_load(f);
	assert_int_equal(inv_copy(kernel_fake_inventory(f->a.kernel), &inv), 0);
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].max_vfs)
			inv_text_set(inv->links[i].driver, sizeof(inv->links[i].driver), driver);
	inv->cores[1].isolated = isolated;
	assert_int_equal(kernel_fake_replace(f->a.kernel, inv), 0);
	inv_free(inv);
}

static enum spec_transport transport_of(const struct fixture *f)
{
	return f->a.running.plan->workers[0].effective;
}

static bool agreed(const struct fixture *f)
{
	autofree char *text = read_text(f->a.reconcile.records.choice_path);

	return text && strstr(text, "core 1 transport dpdk\n");
}

/* The PF's number of VFs. */
static uint32_t vfs_of(struct fixture *f, const char *pci)
{
	const struct inventory *inv;

	host_load(f);
	inv = kernel_fake_inventory(f->a.kernel);
	return inv_function_find(inv, pci)->n_vfs;
}

static void check_sockets(struct fixture *f)
{
	assert_int_equal(transport_of(f), SPEC_TRANSPORT_UDP);
	assert_int_equal(vfs_of(f, PF_A), 0);
	assert_int_equal(vfs_of(f, PF_B), 0);
	assert_false(agreed(f));
}

static void check_on_vfs(const struct fixture *f)
{
	assert_int_equal(transport_of(f), SPEC_TRANSPORT_DPDK);
	assert_string_equal(f->a.running.plan->workers[0].ports[1].vf, PF_B "/vf0");
}

/* Checked after the applier ended, which holds the host in memory until then. */
static void check_vfs(struct fixture *f)
{
	check_on_vfs(f);
	assert_int_equal(vfs_of(f, PF_A), 1);
	assert_int_equal(vfs_of(f, PF_B), 1);
}

static struct sup_worker *worker_on(struct fixture *f, uint32_t core)
{
	for (const struct sup_worker *w = sup_first(f->a.sup); w; w = w->next)
		if (w->config.core == core && w->wanted)
			return (struct sup_worker *)w;
	fail();
	return NULL;
}

/* Its process may have ended already: kill(0) would end all processes of the test run. */
static void end_process(const struct sup_worker *w)
{
	if (w->pid > 0)
		kill(w->pid, SIGKILL);
}

/* The new worker process has replaced the old one. */
static struct launch_stats *come_up(struct fixture *f, uint32_t core)
{
	struct sup_worker *w = worker_on(f, core);

	while (w->state == SUP_STOPPING) {
		end_process(w);
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
	}
	return host_serve(w);
}

static void ask(struct fixture *f, unsigned confirm_s)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7", .confirm_s = confirm_s};

	reconcile_ask_client(&f->a, &client);
}

/* Runs until the apply is pending, its worker is up and a client answers it. */
static void try(struct fixture *f, unsigned confirm_s)
{
	come_up(f, 1);
	ask(f, confirm_s);
	turn_until_pending(f);
	come_up(f, 1);
}

static void apply(struct fixture *f)
{
	try(f, 0);
	turn_until_decided(f);
	assert_int_equal(f->a.reconcile.run.error, 0);
}

static void decide(struct fixture *f, bool keep)
{
	assert_int_equal(reconcile_pending_decide(&f->a, keep, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
}

static void test_only_an_apply_moves_it(void **state)
{
	static const enum reconcile_trigger others[] = {RECONCILE_KERNEL, RECONCILE_FALLBACK,
							RECONCILE_RELOAD, RECONCILE_START};
	struct fixture *f = *state;

	check_sockets(f);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_int_equal(reconcile_now(f, others[i]), 0);
		check_sockets(f);
		assert_string_equal(f->a.running.plan->workers[0].reason.code, "vf-unused");
	}
	apply(f);
	check_vfs(f);
	assert_true(agreed(f));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_int_equal(reconcile_now(f, others[i]), 0);
		check_vfs(f);
	}
}

/* A later agent, of any version, keeps the transport. */
static void test_next_agent_keeps_the_transport(void **state)
{
	struct fixture *f = *state;

	restart_agent(f);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	check_sockets(f);
	apply(f);
	restart_agent(f);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	check_vfs(f);
	assert_int_equal(f->a.reconcile.run.n_steps, 0);
	assert_true(agreed(f));
}

static void test_move_is_pending_until_decided(void **state)
{
	struct fixture *f = *state;

	try(f, 600);
	check_on_vfs(f);
	assert_false(agreed(f));
	decide(f, false);
	check_sockets(f);
	/* The files contain the running configuration: they have no problem. */
	assert_int_equal(f->a.problems.n_all, 0);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	check_sockets(f);
	try(f, 600);
	decide(f, true);
	check_vfs(f);
	assert_true(agreed(f));
}

/* The worker fails with its VF: the apply is rolled back at once, so that the worker runs. */
static void test_failing_worker_rolls_back(void **state)
{
	struct fixture *f = *state;

	assert_false(reconcile_is_on_trial(&f->a, 1));
	try(f, 600);
	assert_true(reconcile_is_on_trial(&f->a, 1));
	assert_false(reconcile_is_on_trial(&f->a, 2));
	reachability_refuse(&f->a, 1, "it does not attach");
	turn_until_decided(f);
	check_sockets(f);
	assert_true(event_has(&f->a, "it does not attach"));
	apply(f);
	assert_false(reconcile_is_on_trial(&f->a, 1));
}

/* The policy's confirmation time applies. */
static void test_policy(void **state)
{
	struct fixture *f = *state;

	set_host(f, "ice", false);
	apply(f);
	assert_int_equal(transport_of(f), SPEC_TRANSPORT_DPDK_INTERRUPT);
	/* The same VFs, by another back end: no step of the plan disturbs anybody. */
	set_host(f, "ice", true);
	write_file(f, AUTO_YAML "policy: {confirm: 60s}\n");
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	assert_null(f->a.reconcile.pending.applier);
	assert_int_equal(transport_of(f), SPEC_TRANSPORT_DPDK_INTERRUPT);
	try(f, 0);
	check_on_vfs(f);
	assert_false(f->a.reconcile.reachability.alone);
	decide(f, false);
	assert_int_equal(transport_of(f), SPEC_TRANSPORT_DPDK_INTERRUPT);
	assert_false(agreed(f));
}

/* A move alone, without a changed file or a step, waits for the requested confirmation. */
static void test_confirm_of_a_move_alone(void **state)
{
	struct fixture *f = *state;

	set_host(f, "ice", false);
	apply(f);
	set_host(f, "ice", true);
	try(f, 600);
	assert_int_equal(f->a.reconcile.pending.n_steps, 1); /* that of the worker */
	assert_false(f->a.reconcile.reachability.alone);
	check_on_vfs(f);
	assert_false(agreed(f));
	decide(f, true);
	assert_true(agreed(f));
}

/* ---- verification by peers ---- */

/* A worker without a peer moves only with an operator's confirmation, once it runs. */
static void test_move_without_a_peer_needs_confirmation(void **state)
{
	struct fixture *f = *state;
	struct sup_worker *w;

	come_up(f, 1)->paths[0].up = 0;
	ask(f, 0);
	wait_for_reconcile(f);
	assert_null(f->a.reconcile.pending.applier);
	check_sockets(f);
	assert_string_equal(f->a.running.plan->workers[0].reason.code, "no-witness");
	ask(f, 600);
	turn_until_pending(f);
	check_on_vfs(f);
	w = worker_on(f, 1);
	assert_int_not_equal(w->state, SUP_UP);
	assert_int_equal(reconcile_pending_decide(&f->a, true, 0, "uid 0, pid 9"), -EHOSTUNREACH);
	assert_non_null(strstr(reachability_unreachable(&f->a), "since its move to VFs"));
	come_up(f, 1)->paths[0].up = 0;
	decide(f, true);
	assert_true(agreed(f));
}

/* Lets the wait expire. */
static void time_is_up(struct fixture *f)
{
	f->a.reconcile.reachability.busy_ns = clock_now_ns() - 2 * RECONCILE_PROBE_NS;
}

static void set_worker(struct fixture *f, const char *text)
{
	assert_int_equal(file_write(f->worker, text, strlen(text), 0700), 0);
}

/* The new worker process has replaced the old one and exited. */
static void fall(struct fixture *f)
{
	struct sup_worker *w = worker_on(f, 1);

	while (w->state != SUP_BACKOFF && w->state != SUP_FAILED) {
		if (w->state == SUP_STOPPING)
			end_process(w);
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
	}
}

static void test_worker_does_not_come_up(void **state)
{
	static const struct reconcile_client forced = {
		.by = "uid 0, pid 7", .forced = {"probes"}, .n_forced = 1};
	struct fixture *f = *state;

	for (unsigned i = 0; i < 2; i++) {
		come_up(f, 1);
		set_worker(f, "#!/bin/sh\nexit 1\n");
		if (i == 0)
			ask(f, 0);
		else
			reconcile_ask_client(&f->a,
					     &forced); /* the answers of peers do not count */
		turn_until_pending(f);
		assert_true(f->a.reconcile.reachability.alone);
		fall(f);
		while (f->a.reconcile.pending.applier) {
			time_is_up(f);
			assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
		}
		set_worker(f, reconcile_worker);
		turn_until_decided(f);
		check_sockets(f);
		assert_true(event_has(&f->a, "since its move to VFs: exit status 1"));
		assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	}
}

/* The client answers another worker of the host, not the moved one. */
static void test_another_worker_proves_nothing(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page;

	write_file(f, TWO_YAML);
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	come_up(f, 1);
	come_up(f, 2)->paths[0].up = 0;
	ask(f, 0);
	turn_until_pending(f);
	assert_int_equal(f->a.running.plan->workers[1].effective, SPEC_TRANSPORT_UDP);
	page = come_up(f, 1);
	page->paths[0].up = 0;
	page = come_up(f, 2);
	worker_on(f, 2)->started_ns = clock_now_ns(); /* restarted: its later results count */
	time_is_up(f);
	turn_until_decided(f);
	check_sockets(f);
	assert_true(event_has(&f->a, "host-b no longer answers worker 1 on leg-a"));
}

/* The next agent continues the pending apply to its end. */
static void test_next_agent_continues_the_check(void **state)
{
	struct fixture *f = *state;

	for (int keep = 0; keep < 2; keep++) {
		try(f, 600);
		restart_agent(f);
		reconcile_start(&f->a);
		turn_until_pending(f);
		check_on_vfs(f);
		assert_false(agreed(f));
		assert_int_equal(reconcile_pending_decide(&f->a, true, 0, "uid 0, pid 9"),
				 -EHOSTUNREACH);
		come_up(f, 1);
		decide(f, keep);
		assert_int_equal(agreed(f), keep);
		if (!keep)
			check_sockets(f);
	}
	check_vfs(f);
}

/* Killed between confirmation and record. */
static void test_ticket_keeps_the_choice(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	static const char old[] = "# plenum-pending 1 2 files 600 9\n# uid 0, pid 7\n" AUTO_YAML;
	autofree char *ticket = NULL;

	try(f, 600);
	ticket = read_text(a->reconcile.records.pending_path);
	assert_non_null(ticket);
	decide(f, true);
	/* One of an agent that knew nothing of it takes nothing back. */
	assert_int_equal(file_write(a->reconcile.records.pending_path, old, strlen(old), 0600), 0);
	assert_int_equal(unlink(a->reconcile.records.outcome_path), 0);
	restart_agent(f);
	reconcile_start(a);
	wait_for_reconcile(f);
	assert_true(agreed(f));
	assert_int_equal(
		file_write(a->reconcile.records.pending_path, ticket, strlen(ticket), 0600), 0);
	assert_int_equal(unlink(a->reconcile.records.choice_path), 0);
	restart_agent(f);
	reconcile_start(a);
	wait_for_reconcile(f);
	assert_true(agreed(f));
	check_vfs(f);
}

/* The machine is reset while the apply was pending: it counts as not confirmed. */
static void test_reset_rolls_back_the_move(void **state)
{
	struct fixture *f = *state;
	pid_t pid;

	try(f, 600);
	host_save(f);
	pid = applier_pid(f->a.reconcile.pending.applier);
	assert_true(pid > 0);
	restart_agent(f);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	reconcile_start(&f->a);
	wait_for_reconcile(f);
	check_sockets(f);
}

/* ---- the record ---- */

/* The agent dies; the next one adopts the worker. */
static void die_and_find_it(struct fixture *f)
{
	struct agent *a = &f->a;

	reconcile_done(a);
	a->reconcile = (struct reconcile){.state = RECONCILE_IDLE};
	generation_swap(a, &(struct generation){0});
	assert_int_equal(reconcile_init(a, NULL), 0);
}

/* The workers that the successor stopped have exited. */
static void end_workers(struct fixture *f)
{
	for (const struct sup_worker *w = sup_first(f->a.sup); w; w = sup_first(f->a.sup)) {
		end_process(w);
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
	}
}

static void spoil(struct fixture *f)
{
	assert_int_equal(file_write(f->a.reconcile.records.choice_path, "spoilt\n", 7, 0600), 0);
}

/* Damage to the record while an agent runs has no effect. */
static void test_damaged_record_has_no_effect(void **state)
{
	static const enum reconcile_trigger all[] = {RECONCILE_KERNEL, RECONCILE_FALLBACK,
						     RECONCILE_RELOAD};
	struct fixture *f = *state;

	apply(f);
	spoil(f);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		assert_int_equal(reconcile_now(f, all[i]), 0);
		check_vfs(f);
	}
	assert_int_equal(f->a.problems.n_all, 0);
}

/* An unreadable record at the start leaves running workers alone; it is read when possible. */
static void test_unreadable_record_keeps_transports(void **state)
{
	struct fixture *f = *state;
	autofree char *text = NULL, *path = NULL;

	apply(f);
	path = strdup(f->a.reconcile.records.choice_path);
	text = read_text(path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	die_and_find_it(f);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	check_vfs(f);
	assert_true(
		problem_has(&f->a, "running workers with transport: auto keep their transport"));
	assert_int_equal(f->a.reconcile.run.n_steps, 0);
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	check_vfs(f);
	assert_true(problem_has(&f->a, "cannot read the record"));
	assert_true(loop_timer_armed(f->a.reconcile.pacing.debounce));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(file_write(path, text, strlen(text), 0600), 0);
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	check_vfs(f);
	assert_int_equal(f->a.problems.n_all, 0);
	/* Removing an invalid record accepts the running transport. */
	spoil(f);
	die_and_find_it(f);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	check_vfs(f);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	check_vfs(f);
	assert_true(agreed(f));
	assert_int_equal(f->a.problems.n_all, 0);
}

/* Without running workers an unreadable record means UDP until it can be read or an apply is
 * requested. */
static void test_damaged_record_means_udp(void **state)
{
	struct fixture *f = *state;
	autofree char *text = NULL;

	apply(f);
	spoil(f);
	restart_agent(f);
	end_workers(f);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_int_equal(transport_of(f), SPEC_TRANSPORT_UDP);
	assert_true(problem_has(&f->a, "'plenum apply' writes a new record"));
	text = read_text(f->a.reconcile.records.choice_path);
	assert_string_equal(text, "spoilt\n");
	apply(f);
	check_vfs(f);
	assert_true(agreed(f));
	assert_int_equal(f->a.problems.n_all, 0);
}

/* A full disk changes no transport; that a reboot would is reported until it is fixed. */
static void test_unwritable_record_is_reported(void **state)
{
	struct fixture *f = *state;
	autofree char *beside = NULL;

	assert_true(asprintf(&beside, "%s.new", f->a.reconcile.records.choice_path) > 0);
	assert_int_equal(mkdir(beside, 0700), 0);
	apply(f);
	assert_false(agreed(f));
	assert_true(problem_has(&f->a, "a restart returns workers"));
	assert_true(loop_timer_armed(f->a.reconcile.pacing.debounce));
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	check_vfs(f);
	assert_int_equal(rmdir(beside), 0);
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	check_vfs(f);
	assert_true(agreed(f));
	assert_int_equal(f->a.problems.n_all, 0);
}

/* ---- lost transports ---- */

static void test_lost_transport_is_reported(void **state)
{
	struct fixture *f = *state;

	apply(f);
	set_host(f, "igb", false); /* which can only be polled */
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_int_equal(transport_of(f), SPEC_TRANSPORT_UDP);
	assert_true(event_has(&f->a, "worker 1: dpdk unavailable, using fallback: core-shared"));
	come_up(f, 1);
	agent_check_health(&f->a);
	assert_true(problem_has(&f->a, "worker 1: core-shared"));
	assert_true(agreed(f));
	set_host(f, "igb", true);
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	check_on_vfs(f);
	assert_true(event_has(&f->a, "worker 1: dpdk available again"));
	come_up(f, 1);
	agent_check_health(&f->a);
	assert_false(problem_has(&f->a, "core-shared"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_pfs, reconcile_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_only_an_apply_moves_it),
		TEST(test_next_agent_keeps_the_transport),
		TEST(test_move_is_pending_until_decided),
		TEST(test_failing_worker_rolls_back),
		TEST(test_policy),
		TEST(test_confirm_of_a_move_alone),
		TEST(test_move_without_a_peer_needs_confirmation),
		TEST(test_worker_does_not_come_up),
		TEST(test_another_worker_proves_nothing),
		TEST(test_next_agent_continues_the_check),
		TEST(test_ticket_keeps_the_choice),
		TEST(test_reset_rolls_back_the_move),
		TEST(test_damaged_record_has_no_effect),
		TEST(test_unreadable_record_keeps_transports),
		TEST(test_damaged_record_means_udp),
		TEST(test_unwritable_record_is_reported),
		TEST(test_lost_transport_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
