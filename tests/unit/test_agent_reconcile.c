/* SPDX-License-Identifier: BSD-3-Clause */
/* Reconciles on a host in memory: the first applies, a second writes nothing, and any failure
 * leaves host and workers unchanged. */
#include "agent/supervise/supervise_internal.h"
#include "netcfg/base/file.h"
#include "tests/lib/agent/reconcile_host.h"
#include <sys/mman.h>

static void test_second_start_writes_nothing(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_int_equal(a->state, AGENT_WELL);
	assert_int_equal(a->n_applies, 1);
	assert_true(a->reconcile.run.n_writes > 0);
	assert_int_equal(a->running.n_desired, 1);
	assert_int_equal(sup_first(a->sup)->state, SUP_STARTING);
	assert_int_equal(sup_first(a->sup)->config.n_ports, 2);
	for (enum reconcile_trigger t = RECONCILE_RELOAD; t <= RECONCILE_KERNEL; t++) {
		assert_int_equal(reconcile_now(f, t), 0);
		assert_int_equal(a->reconcile.run.n_writes, 0);
	}
	assert_int_equal(a->n_applies, 1);
	assert_int_equal(sup_count_processes(a->sup), 1);
}

static void remove_addr(struct fixture *f, uint32_t ifindex, const char *prefix)
{
	struct inv_addr gone = {.ifindex = ifindex, .ip = host_prefix(prefix)};

	host_load(f);
	assert_int_equal(kernel_do_addr_del(f->a.kernel, &gone, NULL), 0);
}

static void test_foreign_change_is_repaired(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	remove_addr(f, HOST_VETH1, "10.20.1.10/16");
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_int_equal(a->n_applies, 2);
	assert_true(event_has(a, "address 10.20.1.10/16 was removed from leg-b (veth1) by another "
				 "program; repairing"));
}

/* The problem of invalid files remains until they are fixed, even if other runs succeed. */
static void test_bad_reload_changes_nothing_and_stays_a_problem(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	pid_t pid;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	pid = sup_first(a->sup)->pid;
	write_file(f, HOST_YAML "nonsense: 1\n");
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), -EINVAL);
	assert_int_equal(a->state, AGENT_DEGRADED);
	assert_only_problem(a, "nonsense");
	assert_int_equal(a->reconcile.run.n_writes, 0);
	assert_int_equal(sup_first(a->sup)->pid, pid);
	remove_addr(f, HOST_VETH1, "10.20.1.10/16");
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_int_equal(a->n_applies, 2);
	assert_int_equal(a->state, AGENT_DEGRADED);
	assert_true(problem_has(a, "nonsense"));
	write_file(f, HOST_YAML);
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	assert_int_equal(a->state, AGENT_WELL);
	assert_int_equal(a->problems.n_all, 0);
	assert_int_equal(sup_first(a->sup)->pid, pid);
}

static void test_missing_device_degrades(void **state)
{
	struct fixture *f = *state;

	write_file(f, "networks: [{name: n, range: 10.1.1.1-10.1.1.9/24}]\n"
		      "net: [{name: l, device: eth7, network: n}]\n");
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_int_equal(f->a.reconcile.run.n_writes, 0);
	assert_int_equal(f->a.running.plan->legs[0].state, PLAN_LEG_ABSENT);
	assert_int_equal(f->a.state, AGENT_DEGRADED);
	assert_true(problem_has(&f->a, "eth7"));
}

static char *host_json(struct fixture *f)
{
	struct inventory *inv = NULL;
	struct diag d = DIAG_INIT;
	char *text;

	host_load(f);
	assert_int_equal(inv_collect(f->a.kernel, &d, &inv), 0);
	inv->number = 0;
	text = inv_to_json(inv);
	inv_free(inv);
	diag_done(&d);
	return text;
}

static void test_failed_step_is_rolled_back(void **state)
{
	struct fixture *f = *state;
	char *before = host_json(f), *after;

	kernel_fake_fail(f->a.kernel, 5, 1, -EIO, "made of cheese");
	assert_int_equal(reconcile_now(f, RECONCILE_START), -EIO);
	assert_true(event_has(&f->a, "made of cheese"));
	assert_int_equal(f->a.n_applies, 0);
	assert_null(sup_first(f->a.sup));
	after = host_json(f);
	assert_string_equal(after, before);
	free(before);
	free(after);
}

/* Another program removes an address right after the apply. */
static void sabotage(void *user, uint64_t nth)
{
	struct inv_addr gone = {.ifindex = HOST_VETH0, .ip = host_prefix("10.10.1.10/16")};
	struct fixture *f = user;

	if (nth != f->sabotage_at)
		return;
	f->sabotage_at = 0;
	kernel_do_addr_del(f->a.kernel, &gone, NULL);
}

static void test_unverified_is_rolled_back(void **state)
{
	struct fixture *f = *state;
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	struct plan *p = NULL;
	char *before = host_json(f), *after;
	struct spec *spec = host_spec(HOST_YAML);

	assert_int_equal(inv_collect(f->a.kernel, &d, &inv), 0);
	assert_int_equal(plan_build(spec, inv, NULL, &d, &p), 0);
	f->sabotage_at = p->n_steps;
	plan_free(p);
	inv_free(inv);
	spec_free(spec);
	kernel_fake_on_write(f->a.kernel, sabotage, f);
	assert_int_equal(reconcile_now(f, RECONCILE_START), -ETIMEDOUT);
	assert_true(event_has(&f->a, "steps were rolled back"));
	assert_int_equal(f->a.n_applies, 0);
	assert_null(sup_first(f->a.sup));
	after = host_json(f);
	assert_string_equal(after, before);
	free(before);
	free(after);
	diag_done(&d);
}

/* Another program adds the desired address before the first write, and removes the other leg's
 * after the last one, so that the apply is rolled back. */
static void meddle(void *user, uint64_t nth)
{
	struct inv_addr made = {.ifindex = HOST_VETH0,
				.ip = host_prefix("10.10.1.10/16"),
				.proto = INV_PROTO_STATIC};
	struct inv_addr gone = {.ifindex = HOST_VETH1, .ip = host_prefix("10.20.1.10/16")};
	struct fixture *f = user;

	if (nth == 1)
		assert_int_equal(kernel_do_addr_add(f->a.kernel, &made, NULL), 0);
	if (nth == f->sabotage_at)
		assert_int_equal(kernel_do_addr_del(f->a.kernel, &gone, NULL), 0);
}

static void test_a_rollback_keeps_foreign_objects(void **state)
{
	struct fixture *f = *state;
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	struct plan *p = NULL;
	struct spec *spec = host_spec(HOST_YAML);
	size_t n_others = 0;

	assert_int_equal(inv_collect(f->a.kernel, &d, &inv), 0);
	assert_int_equal(plan_build(spec, inv, NULL, &d, &p), 0);
	f->sabotage_at = p->n_steps + 1; /* one write is not the plan's */
	plan_free(p);
	inv_free(inv);
	spec_free(spec);
	kernel_fake_on_write(f->a.kernel, meddle, f);
	assert_int_equal(reconcile_now(f, RECONCILE_START), -ETIMEDOUT);
	assert_true(event_has(&f->a, "steps were rolled back"));
	host_load(f);
	for (size_t i = 0; i < kernel_fake_inventory(f->a.kernel)->n_addrs; i++) {
		const struct inv_addr *a = &kernel_fake_inventory(f->a.kernel)->addrs[i];

		assert_int_equal(a->proto, INV_PROTO_STATIC);
		n_others++;
	}
	assert_int_equal(n_others, 1);
	diag_done(&d);
}

/* A leg removed from the configuration gets its original settings back. */
static void test_removed_leg_is_restored(void **state)
{
	struct fixture *f = *state;
	char *before = host_json(f), *after;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	write_file(f, "host: host-a\n");
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	after = host_json(f);
	assert_string_equal(after, before);
	free(before);
	free(after);
}

/* The applier is killed once in the middle; the host keeps that state. */
static void die(void *user, uint64_t nth)
{
	struct fixture *f = user;

	if (nth != 4 || access(f->killed, F_OK) == 0)
		return;
	host_save(f);
	assert_int_equal(file_write(f->killed, "", 0, 0600), 0);
	kill(getpid(), SIGKILL);
}

static void test_killed_applier_is_rolled_back(void **state)
{
	struct fixture *f = *state;
	char *before = host_json(f), *after;

	kernel_fake_on_write(f->a.kernel, die, f);
	assert_int_equal(reconcile_now(f, RECONCILE_START), -EINTR);
	assert_true(problem_has(&f->a, "killed by SIGKILL"));
	assert_true(problem_has(&f->a, "rolled back 3 steps of an interrupted apply"));
	assert_int_equal(f->a.n_applies, 0);
	after = host_json(f);
	assert_string_equal(after, before);
	assert_int_equal(access(f->a.journal, F_OK), -1);
	free(before);
	free(after);
}

/* The journal of a killed agent is rolled back before the first reconcile. */
static void test_start_rolls_back_journal_first(void **state)
{
	struct fixture *f = *state;

	kernel_fake_on_write(f->a.kernel, die, f);
	assert_int_equal(reconcile_now(f, RECONCILE_START), -EINTR);
	assert_int_equal(unlink(f->killed), 0);
	f->a.reconcile.pacing.files.blocked = false;
	reconcile_start(&f->a);
	wait_for_reconcile(f);
	assert_int_equal(f->a.reconcile.run.error, -EINTR);
	assert_int_equal(unlink(f->killed), 0);
	kernel_fake_on_write(f->a.kernel, NULL, NULL);
	reconcile_start(&f->a);
	wait_for_reconcile(f);
	assert_int_equal(f->a.state, AGENT_WELL);
}

/* A new agent on the same state directory. */
static void forget_all(struct fixture *f)
{
	assert_int_equal(sup_reconcile(f->a.sup, NULL, 0, false), 0);
	generation_swap(&f->a, &(struct generation){0});
}

static void test_invalid_file_at_start_runs_last_good(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	forget_all(f);
	write_file(f, "nonsense: 1\n");
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_non_null(a->running.spec);
	assert_int_equal(a->running.n_desired, 1);
	assert_int_equal(a->state, AGENT_DEGRADED);
	assert_true(problem_has(a, "nonsense"));
	write_file(f, HOST_YAML);
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	assert_int_equal(a->state, AGENT_WELL);
}

/* The previous configuration fails too: its reason is reported once. */
static void test_no_configuration_can_run(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	forget_all(f);
	remove_addr(f, HOST_VETH1, "10.20.1.10/16");
	kernel_fake_fail(a->kernel, 1, 0, -EIO, "made of cheese");
	assert_true(reconcile_now(f, RECONCILE_START) < 0);
	assert_null(a->running.spec);
	assert_int_equal(a->problems.n_all, 1);
	assert_int_equal(a->state, AGENT_DEGRADED);
}

/* A configuration that the host cannot carry out is retried when the host changes. */
static void test_failed_reload_is_retried(void **state)
{
	static const struct inv_core more[] = {{.id = 0, .online = true},
					       {.id = 1, .online = true},
					       {.id = 2, .online = true},
					       {.id = 3, .online = true},
					       {.id = 9, .online = true}};
	struct fixture *f = *state;
	struct agent *a = &f->a;
	struct inventory *inv = NULL, grown;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	write_file(f, HOST_YAML "  - {role: compute, cores: [9], transport: udp}\n"
				"policy: {on-fallback: refuse}\n");
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), -EINVAL);
	assert_int_equal(a->running.n_desired, 1);
	assert_int_equal(a->state, AGENT_DEGRADED);
	assert_int_equal(inv_copy(kernel_fake_inventory(a->kernel), &inv), 0);
	grown = *inv;
	grown.cores = (struct inv_core *)more;
	grown.n_cores = ARRAY_SIZE(more);
	assert_int_equal(kernel_fake_replace(a->kernel, &grown), 0);
	inv_free(inv);
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_int_equal(a->running.n_desired, 2);
	assert_int_equal(a->state, AGENT_WELL);
}

static unsigned n_forgotten;

static void note_forget(struct kernel *k)
{
	n_forgotten++;
}

/* An apply reads the host again, so a NIC repaired by hand is seen. */
static void test_apply_reads_the_host_again(void **state)
{
	static struct kernel_ops ops;
	struct fixture *f = *state;

	ops = *f->a.kernel->ops;
	ops.forget = note_forget;
	f->a.kernel->ops = &ops;
	n_forgotten = 0;
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_int_equal(n_forgotten, 1);
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_int_equal(n_forgotten, 1);
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	assert_int_equal(n_forgotten, 2);
}

/* A failed apply is not retried because of its rollback's notifications. */
static void test_failing_apply_is_paced(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	kernel_fake_fail(a->kernel, 5, 1, -EIO, "made of cheese");
	assert_int_equal(reconcile_now(f, RECONCILE_START), -EIO);
	a->reconcile.run.n_writes = 0;
	reconcile_ask(a, RECONCILE_KERNEL);
	assert_false(reconcile_is_active(a));
	assert_int_equal(a->reconcile.run.n_writes, 0);
	assert_true(loop_timer_armed(a->reconcile.pacing.debounce));
}

static bool wants_any(const struct agent *a)
{
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		if (w->wanted)
			return true;
	return false;
}

static void test_apply_starts_no_workers_while_stopping(void **state)
{
	const struct reconcile_client no_client = {.id = 0};
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	remove_addr(f, HOST_VETH1, "10.20.1.10/16");
	reconcile_ask(a, RECONCILE_KERNEL);
	assert_true(reconcile_is_active(a));
	reconcile_ask_client(a, &no_client);
	a->state = AGENT_STOPPING;
	reconcile_stop(a);
	sup_stop_all(a->sup);
	assert_false(wants_any(a));
	wait_for_reconcile(f);
	assert_int_equal(a->reconcile.run.error, -ESHUTDOWN);
	reconcile_ask_client(a, &no_client);
	reconcile_ask(a, RECONCILE_RELOAD);
	assert_false(reconcile_is_active(a));
	assert_false(wants_any(a));
}

/* A queued apply uses the configuration staged at its request, even if another reconcile runs
 * first. */
static void test_staging_is_refused_before_a_queued_apply(void **state)
{
	const struct reconcile_client first = {.by = "uid 0, pid 7"};
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	remove_addr(f, HOST_VETH1, "10.20.1.10/16");
	reconcile_ask(a, RECONCILE_KERNEL);
	assert_true(reconcile_is_active(a));
	assert_false(reconcile_holds_staged(a));
	reconcile_ask_client(a, &first);
	assert_true(reconcile_holds_staged(a));
	wait_for_reconcile(f);
	assert_int_equal(a->reconcile.queue.n_clients, 0);
	assert_false(reconcile_holds_staged(a));
}

static bool has_action(const struct plan *p, const char *text)
{
	for (size_t i = 0; i < p->n_actions; i++)
		if (strcmp(p->actions[i].text, text) == 0)
			return true;
	return false;
}

static void test_actions_are_listed(void **state)
{
	struct fixture *f = *state;
	const struct plan *p;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	p = f->a.running.plan;
	assert_int_equal(p->n_actions, 2);
	assert_true(has_action(p, "start worker 1 (compute on core 1)"));
	assert_true(has_action(p, "export x (/srv)"));
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	assert_int_equal(f->a.running.plan->n_actions, 0);
	write_file(f,
		   HOST_YAML "  - {role: frontend, cores: [2], mounts: [{path: /m, from: h/x}]}\n"
			     "peers: [{name: h, ips: [10.10.1.99]}]\n");
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	p = f->a.running.plan;
	assert_int_equal(p->n_actions, 2);
	assert_true(has_action(p, "start worker 2 (frontend on core 2)"));
	assert_true(has_action(p, "mount h:x on /m"));
}

static void test_status_texts(void **state)
{
	struct fixture *f = *state;
	struct status st;
	json_t *o;
	char *text;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_int_equal(status_collect(&f->a, &st), 0);
	o = status_to_json(&st);
	assert_string_equal(json_string_value(json_object_get(o, "state")), "starting");
	assert_int_equal(json_array_size(json_object_get(o, "legs")), 2);
	json_decref(o);
	o = status_processes_to_json(&st);
	assert_int_equal(json_array_size(json_object_get(o, "processes")), 2);
	json_decref(o);
	o = status_net_to_json(&st);
	assert_int_equal(json_array_size(json_object_get(o, "net")), 2);
	json_decref(o);
	text = status_to_metrics(&st);
	assert_non_null(strstr(text, "plenum_applies_total 1\n"));
	assert_non_null(strstr(text, "plenum_worker_up{worker=\"1\",role=\"COMPUTE\"} 0\n"));
	free(text);
	/* Invalid texts of a worker about its ports spoil only these values. */
	st.processes[1].n_rdma = st.processes[1].n_ports = 1;
	strcpy(st.processes[1].ports[0].leg, "\xff");
	strcpy(st.processes[1].ports[0].s.by, "a\"} 1");
	st.processes[1].ports[0].s.counts = 1;
	st.processes[1].ports[0].s.counters.rx_checksum = 7;
	strcpy(st.processes[1].rdma[0].leg, "\xff");
	strcpy(st.processes[1].rdma[0].s.reason, "a\"} 1\nplenum_up 0");
	o = status_processes_to_json(&st);
	assert_int_equal(json_array_size(json_object_get(o, "processes")), 2);
	json_decref(o);
	text = status_to_metrics(&st);
	assert_non_null(strstr(text, "plenum_rdma_refused_info{worker=\"1\""));
	assert_null(strstr(text, "\nplenum_up 0"));
	assert_non_null(strstr(text, "plenum_port_rx_checksum_total{worker=\"1\",leg=\"\xff\","
				     "by=\"a_} 1\"} 7\n"));
	free(text);
	status_done(&st);
}

static bool list_has(const json_t *list, const char *text)
{
	const json_t *o;
	size_t i;

	json_array_foreach (list, i, o)
		if (strcmp(json_string_value(o), text) == 0)
			return true;
	return false;
}

/* The first worker, made to look up; its statistics page in *ret_page, which may be NULL. */
static struct sup_worker *worker_is_up(struct fixture *f, struct launch_stats **ret_page)
{
	struct launch_stats *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sup_worker *w;

	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	w = (struct sup_worker *)sup_first(f->a.sup);
	if (w->stats)
		munmap((void *)w->stats, sizeof(*page));
	w->stats = page;
	w->state = SUP_UP;
	if (ret_page)
		*ret_page = page;
	return w;
}

/* The agent is RUNNING only after all mounts are served or reported missing; the same after each
 * apply. */
static void test_running_only_after_all_mounts_are_served(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	struct launch_stats *page;
	struct sup_worker *w;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	agent_check_health(a); /* as any client's request does meanwhile */
	assert_int_equal(a->state, AGENT_STARTING);
	w = worker_is_up(f, &page);
	agent_check_health(a);
	assert_int_equal(a->state, AGENT_RUNNING);
	w->state = SUP_STARTING; /* the worker died; its restart is not a problem yet */
	agent_check_health(a);
	agent_update_state(a);
	assert_int_equal(a->state, AGENT_STARTING);
	w->state = SUP_UP;
	w->config.n_mounts = 1;
	strcpy(w->config.mounts[0].path, "/m");
	agent_update_state(a);
	assert_int_equal(a->state, AGENT_RUNNING);
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	w->state = SUP_UP;
	w->config.n_mounts = 1;
	strcpy(w->config.mounts[0].path, "/m");
	w->started = w->started ? w->started : calloc(1, sizeof(*w->started));
	*w->started = w->config; /* which the process has too */
	agent_check_health(a);
	assert_int_equal(a->state, AGENT_STARTING);
	launch_stat_set(&page->mounts[0].served, 1);
	agent_check_health(a);
	assert_int_equal(a->state, AGENT_RUNNING);
}

/* Reasons of both legs appear, with the leg's name, besides other reasons. */
static void test_reasons_name_both_legs(void **state)
{
	static const char a[] = "leg-a: no-af-xdp: AF_PACKET is used",
			  b[] = "leg-b: no such device";
	struct fixture *f = *state;
	struct launch_stats *page;
	struct status st;
	json_t *o, *process;

	(void)worker_is_up(f, &page);
	snprintf(page->ports[0].reason, sizeof(page->ports[0].reason), "%s", a);
	snprintf(page->ports[1].reason, sizeof(page->ports[1].reason), "%s", b);
	snprintf(page->ports[0].by, sizeof(page->ports[0].by), "af-packet");
	page->ports[0].counts = 1;
	page->ports[0].counters.tx_packets = 12;
	snprintf(page->reason, sizeof(page->reason), "segmentation-lost: less");
	agent_check_health(&f->a);
	assert_int_equal(status_collect(&f->a, &st), 0);
	assert_string_equal(st.processes[1].reason,
			    "leg-a: no-af-xdp: AF_PACKET is used; leg-b: no such device");
	o = status_to_json(&st);
	assert_true(list_has(json_object_get(o, "reasons"),
			     "worker 1: leg-a: no-af-xdp: AF_PACKET is used"));
	assert_true(list_has(json_object_get(o, "reasons"), "worker 1: leg-b: no such device"));
	assert_true(list_has(json_object_get(o, "reasons"), "worker 1: segmentation-lost: less"));
	json_decref(o);
	o = status_processes_to_json(&st);
	process = json_array_get(json_object_get(o, "processes"), 1);
	assert_int_equal(json_array_size(json_object_get(process, "ports")), 2);
	process = json_array_get(json_object_get(process, "ports"), 0);
	assert_string_equal(json_string_value(json_object_get(process, "leg")), "leg-a");
	assert_string_equal(json_string_value(json_object_get(process, "by")), "af-packet");
	assert_string_equal(json_string_value(json_object_get(process, "reason")), a);
	process = json_object_get(process, "counters");
	assert_int_equal(json_integer_value(json_object_get(process, "tx_packets")), 12);
	json_decref(o);
	status_done(&st);
	page->ports[0].reason[0] = '\0';
	agent_check_health(&f->a);
	assert_int_equal(status_collect(&f->a, &st), 0);
	assert_string_equal(st.processes[1].reason, b);
	status_done(&st);
}

/* The paths of a refused mount's session are not reported, unless the leg is down for all. */
static void test_refused_mount_hides_its_paths(void **state)
{
	struct fixture *f = *state;
	struct launch_stats *page;
	struct sup_worker *w = worker_is_up(f, &page);
	const char *leg = w->config.ports[0].leg;

	w->config.n_mounts = page->n_paths = 2;
	page->mounts[1].served = page->paths[1].up = 1;
	for (int i = 0; i < 2; i++) {
		strcpy(w->config.mounts[i].path, i ? "/m" : "/refused");
		strcpy(w->config.mounts[i].peer, "peer");
		strcpy(page->paths[i].leg, leg);
		strcpy(page->paths[i].peer, "peer");
		strcpy(page->paths[i].remote, "10.10.1.77");
	}
	w->started = w->started ? w->started : calloc(1, sizeof(*w->started));
	*w->started = w->config; /* which the process has too */
	agent_check_health(&f->a);
	assert_null(health_path_reason(&f->a.health, w->id, leg, "peer", false));
	page->paths[1].up = 0;
	agent_check_health(&f->a);
	assert_non_null(health_path_reason(&f->a.health, w->id, leg, "peer", false));
}

/* A worker that keeps dying is degraded even while it serves between two deaths. */
static void test_repeated_deaths_degrade(void **state)
{
	struct fixture *f = *state;
	const struct health_entry *e;
	struct sup_worker *w;
	char why[HEALTH_TEXT_MAX];

	w = worker_is_up(f, NULL);
	w->up_since_ns = clock_now_ns();
	w->n_deaths = SUP_DEATHS_MANY - 1;
	strcpy(w->died_of, "killed by SIGSEGV");
	agent_check_health(&f->a);
	health_reason(&f->a.health, w->id, why, sizeof(why));
	assert_null(strstr(why, "dies-again"));

	w->n_deaths++;
	agent_check_health(&f->a);
	health_reason(&f->a.health, w->id, why, sizeof(why));
	assert_string_equal(
		why,
		"dies-again: died 5 times in a row, last: killed by SIGSEGV; see 'plenum events'");
	assert_true(problems_degrade(&f->a.problems));
	w->state = SUP_BACKOFF;
	w->up_since_ns = 0;
	strcpy(w->reason, "killed by SIGSEGV");
	agent_check_health(&f->a);
	health_reason(&f->a.health, w->id, why, sizeof(why));
	assert_string_equal(why, "is BACKOFF: killed by SIGSEGV");

	w->state = SUP_UP;
	w->up_since_ns = clock_now_ns() - SUP_HEALTHY_NS;
	agent_check_health(&f->a);
	e = f->a.health.entries;
	for (size_t i = 0; i < f->a.health.n; i++)
		assert_int_not_equal(e[i].kind, HEALTH_STATE);
}

/* A worker may claim only ports that an agent gave it, earlier or now. */
static void test_only_given_ports_are_believed(void **state)
{
	struct fixture *f = *state;
	struct launch_config *has;
	struct launch_port port;
	struct sup_worker *w;
	uint32_t n;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	w = (struct sup_worker *)sup_first(f->a.sup);
	has = w->started;
	n = has->n_ports;
	has->transport = LAUNCH_UDP;
	port = has->ports[0];
	port.udp_port++; /* another address of the same leg */
	sup_take_port(w, 0, &port);
	assert_int_equal(has->ports[0].udp_port, port.udp_port - 1);
	sup_take_port(w, n, &has->ports[0]); /* twice the same leg */
	assert_int_equal(has->n_ports, n);
	port = has->ports[0];
	strcpy(port.leg, "leg-c");
	strcpy(port.device, "0000:3b:00.0"); /* which the host could not have back */
	sup_take_port(w, n, &port);
	assert_int_equal(has->n_ports, n);
	port.device[0] = '\0';
	sup_take_port(w, n + 1, &port);
	assert_int_equal(has->n_ports, n);
	strcpy(port.leg, "leg\033[2J"); /* names reach terminals and metrics */
	sup_take_port(w, n, &port);
	assert_int_equal(has->n_ports, n);
	strcpy(port.leg, "leg-c");
	memset(&port.rdma, 2, sizeof(port.rdma)); /* neither true nor false */
	sup_take_port(w, n, &port);
	assert_int_equal(has->n_ports, n);
	port.rdma = false;
	sup_take_port(w, n, &port);
	assert_int_equal(has->n_ports, n + 1);
	port.ifindex++; /* it has moved */
	sup_take_port(w, n, &port);
	assert_int_equal(has->n_ports, n + 1);
	assert_int_equal(has->ports[n].ifindex, port.ifindex);
}

/* Workers write the page, and adopted faults go to other workers: only valid ones are taken. */
static void test_only_valid_faults_are_adopted(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	const uint64_t now = clock_now_ns();
	const struct launch_fault good = {.id = 3,
					  .ways = LAUNCH_FAULT_IN | LAUNCH_FAULT_OUT,
					  .drop_ppm = 10000,
					  .until_ns = now + 600 * NSEC_PER_SEC,
					  .leg = "leg-a",
					  .peer = "host-b"};
	struct launch_stats *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sup_worker *w;
	json_t *o;

	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	faults_init(&a->faults, &(struct faults_setup){a->loop, &a->events, a->sup});
	w = (struct sup_worker *)sup_first(a->sup);
	if (w->stats)
		munmap((void *)w->stats, sizeof(*page));
	w->stats = page;
	for (size_t i = 0; i < LAUNCH_FAULTS_MAX; i++) {
		page->faults[i].fault = good;
		page->faults[i].fault.id = (uint32_t)(10 + i);
	}
	page->faults[0].fault.until_ns = UINT64_MAX; /* for ever */
	page->faults[1].fault.drop_ppm = LAUNCH_FAULT_PPM + 1;
	page->faults[2].fault.ways = 4;
	memset(page->faults[3].fault.leg, 'x', sizeof(page->faults[3].fault.leg));
	page->faults[4].fault.leg[0] = (char)0xff; /* no list of faults could show it */
	page->faults[5].fault.id = UINT32_MAX;	   /* the next one would have none */
	page->faults[6].fault.until_ns = now;	   /* it is over */
	page->faults[7].fault = good;
	faults_adopt(&a->faults);
	assert_int_equal(a->faults.n, 1);
	assert_int_equal(a->faults.last_id, 3);
	assert_memory_equal(&a->faults.all[0].is, &good, sizeof(good));
	o = faults_to_json(&a->faults);
	assert_int_equal(json_array_size(json_object_get(o, "faults")), 1);
	json_decref(o);
	faults_done(&a->faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECONCILE_TEST(test_second_start_writes_nothing),
		RECONCILE_TEST(test_foreign_change_is_repaired),
		RECONCILE_TEST(test_bad_reload_changes_nothing_and_stays_a_problem),
		RECONCILE_TEST(test_missing_device_degrades),
		RECONCILE_TEST(test_failed_step_is_rolled_back),
		RECONCILE_TEST(test_unverified_is_rolled_back),
		RECONCILE_TEST(test_a_rollback_keeps_foreign_objects),
		RECONCILE_TEST(test_removed_leg_is_restored),
		RECONCILE_TEST(test_killed_applier_is_rolled_back),
		RECONCILE_TEST(test_start_rolls_back_journal_first),
		RECONCILE_TEST(test_invalid_file_at_start_runs_last_good),
		RECONCILE_TEST(test_no_configuration_can_run),
		RECONCILE_TEST(test_apply_reads_the_host_again),
		RECONCILE_TEST(test_failed_reload_is_retried),
		RECONCILE_TEST(test_failing_apply_is_paced),
		RECONCILE_TEST(test_apply_starts_no_workers_while_stopping),
		RECONCILE_TEST(test_staging_is_refused_before_a_queued_apply),
		RECONCILE_TEST(test_running_only_after_all_mounts_are_served),
		RECONCILE_TEST(test_actions_are_listed),
		RECONCILE_TEST(test_status_texts),
		RECONCILE_TEST(test_reasons_name_both_legs),
		RECONCILE_TEST(test_refused_mount_hides_its_paths),
		RECONCILE_TEST(test_repeated_deaths_degrade),
		RECONCILE_TEST(test_only_given_ports_are_believed),
		RECONCILE_TEST(test_only_valid_faults_are_adopted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
