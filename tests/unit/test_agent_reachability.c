/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Applies that cut off peers of workers, on a host in memory; the test writes the workers'
 * statistics pages. Wrong VLANs on VFs are tested in the lab.
 */
#include "tests/lib/agent/reconcile_host.h"

#define ON_DPDK(range)                                         \
	"host: host-a\n"                                       \
	"networks:\n"                                          \
	"  - {name: data-a, range: " range "/16, mtu: 9000}\n" \
	"net:\n"                                               \
	"  - {name: leg-a, device: veth0, network: data-a}\n"  \
	"workers:\n"                                           \
	"  - {role: compute, cores: [1], transport: dpdk, exports: [{name: x, path: /srv}]}\n"

static void apply_for(struct fixture *f, const struct reconcile_client *client)
{
	reconcile_ask_client(&f->a, client);
	wait_for_reconcile(f);
}

/* A worker serves a client; then the data IP changes, which on this leg only workers notice. */
static struct launch_stats *begin(struct fixture *f, const struct reconcile_client *client)
{
	struct launch_stats *page;

	write_file(f, ON_DPDK("10.10.1.10-10.10.1.40"));
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_int_equal(host_worker(f)->config.transport, LAUNCH_DPDK);
	page = host_serve(host_worker(f));
	write_file(f, ON_DPDK("10.10.2.10-10.10.2.40"));
	apply_for(f, client);
	return page;
}

static bool runs(struct fixture *f, const char *ip)
{
	autofree char *yaml = spec_to_yaml(f->a.running.spec);

	return yaml && strstr(yaml, ip);
}

/* Makes the worker look as if it was not restarted. */
static void check_network_continues(struct fixture *f)
{
	host_worker(f)->state = SUP_UP;
}

/* Lets the wait expire. */
static void time_is_up(struct fixture *f)
{
	f->a.reconcile.reachability.busy_ns = clock_now_ns() - 2 * RECONCILE_PROBE_NS;
}

static void test_kept_when_the_peer_answers(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7"};
	struct fixture *f = *state;
	struct launch_stats *page = begin(f, &client);

	assert_non_null(f->a.reconcile.pending.applier);
	assert_true(f->a.reconcile.reachability.alone);
	assert_int_equal(f->a.reconcile.reachability.n, 1);
	check_network_continues(f);
	/* Nobody has to confirm it; nor can anybody, before they are known to answer. */
	assert_int_equal(reconcile_pending_decide(&f->a, true, 0, "uid 0, pid 9"), -EHOSTUNREACH);
	page->paths[0].rx_packets += 2;
	turn_until_decided(f);
	assert_true(runs(f, "10.10.2.10"));
	assert_true(event_has(&f->a, "all peers that answered the workers before still answer"));
	assert_true(event_has(&f->a, "apply 2 kept: confirmed by its workers"));
	assert_false(f->a.reconcile.reachability.alone);
}

/* A path that is still up without new packets proves nothing. */
static void test_rolled_back_when_the_peer_is_silent(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7"};
	struct fixture *f = *state;

	begin(f, &client);
	check_network_continues(f);
	time_is_up(f);
	turn_until_decided(f);
	assert_true(runs(f, "10.10.1.10"));
	assert_true(problem_has(&f->a, "host-b no longer answers worker 1 on leg-a."));
	assert_int_equal(history_find(&f->a.reconcile.records.history, 2)->outcome,
			 HISTORY_ROLLED_BACK);
}

/* The switch drops longer frames. */
static void test_rolled_back_when_long_frames_are_lost(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7"};
	struct fixture *f = *state;
	struct launch_stats *page = begin(f, &client);

	check_network_continues(f);
	page->paths[0].rx_packets += 10;
	page->paths[0].mtu = 1500; /* the result is reported when the search is over */
	time_is_up(f);
	turn_until_decided(f);
	assert_true(runs(f, "10.10.1.10"));
	assert_true(problem_has(&f->a, "with frames of the leg's MTU"));
}

/* A confirmation is refused while a peer is cut off. */
static void test_confirmation_is_refused_while_cut_off(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7", .confirm_s = 600};
	struct fixture *f = *state;
	struct launch_stats *page = begin(f, &client);

	assert_false(f->a.reconcile.reachability.alone);
	check_network_continues(f);
	page->paths[0].rx_packets += 2;
	while (f->a.reconcile.reachability.n > 0)
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
	assert_non_null(f->a.reconcile.pending.applier); /* still to be confirmed */
	assert_int_equal(reconcile_pending_decide(&f->a, false, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	/* Whom the change has cut off may have to change, too: until the end of the window. */
	page = host_serve(host_worker(f));
	apply_for(f, &client);
	check_network_continues(f);
	time_is_up(f);
	for (unsigned i = 0; i < 5; i++)
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
	assert_non_null(f->a.reconcile.pending.applier);
	assert_int_equal(reconcile_pending_decide(&f->a, true, 0, "uid 0, pid 9"), -EHOSTUNREACH);
	assert_non_null(
		strstr(f->a.reconcile.reachability.lost, "host-b no longer answers worker 1"));
	page->paths[0].rx_packets += 2;
	assert_int_equal(reconcile_pending_decide(&f->a, true, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_true(runs(f, "10.10.2.10"));
}

/* A peer that answers late is not the reason of a later rollback. */
static void test_late_answer_is_not_a_reason(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7", .confirm_s = 600};
	struct fixture *f = *state;
	struct launch_stats *page = begin(f, &client);
	const struct history_entry *e;

	check_network_continues(f);
	assert_int_equal(reconcile_pending_decide(&f->a, true, 0, "uid 0, pid 9"), -EHOSTUNREACH);
	page->paths[0].rx_packets += 2;
	while (f->a.reconcile.reachability.n > 0)
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
	assert_int_equal(reconcile_pending_decide(&f->a, false, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	e = history_find(&f->a.reconcile.records.history, 2);
	assert_int_equal(e->outcome, HISTORY_ROLLED_BACK);
	assert_non_null(strstr(e->text, "rolled back by uid 0, pid 9"));
	assert_null(strstr(e->text, "does not answer"));
}

/* A second apply waits during the workers' check, as during the kernel's probes. */
static void test_second_apply_waits(void **state)
{
	const struct reconcile_client first = {.by = "uid 0, pid 7"},
				      second = {.by = "uid 0, pid 8"};
	struct fixture *f = *state;
	struct launch_stats *page = begin(f, &first);

	assert_true(f->a.reconcile.reachability.alone);
	write_file(f, ON_DPDK("10.10.3.10-10.10.3.40"));
	reconcile_ask_client(&f->a, &second);
	assert_int_equal(f->a.reconcile.queue.n_clients, 1);
	assert_true(runs(f, "10.10.2.10"));
	check_network_continues(f);
	page->paths[0].rx_packets += 2;
	while (!runs(f, "10.10.3.10"))
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
	assert_int_equal(f->a.reconcile.queue.n_clients, 0);
	assert_true(event_has(&f->a, "apply 2 kept: confirmed by its workers"));
	check_network_continues(f);
	page->paths[0].rx_packets += 2;
	turn_until_decided(f); /* its applier writes to the host that ends with this test */
}

/* The agent dies; another one adopts its worker and applier. */
static void die_and_be_found(struct fixture *f)
{
	struct agent *a = &f->a;

	reconcile_done(a);
	a->reconcile = (struct reconcile){.state = RECONCILE_IDLE};
	generation_swap(a, &(struct generation){0});
	assert_int_equal(reconcile_init(a, NULL), 0);
	reconcile_start(a);
	while (!a->reconcile.pending.applier || reconcile_is_active(a))
		assert_true(loop_turn(a->loop, 10 * NSEC_PER_SEC) > 0);
	check_network_continues(f);
}

/* The next agent refuses a confirmation too while a peer is cut off. */
static void test_next_agent_refuses_confirmation_too(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7", .confirm_s = 600};
	struct fixture *f = *state;
	struct reconcile *rec = &f->a.reconcile;
	struct launch_stats *page = begin(f, &client);

	die_and_be_found(f);
	for (unsigned i = 0; i < 5; i++)
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
	assert_int_equal(reconcile_pending_decide(&f->a, true, 0, "uid 0, pid 9"), -EHOSTUNREACH);
	assert_non_null(strstr(reachability_unreachable(&f->a),
			       "host-b no longer answers worker 1 on leg-a"));
	/* It answers at another port, and then as well as before. */
	page->paths[0].up = 0;
	assert_int_equal(reconcile_pending_decide(&f->a, true, 0, "uid 0, pid 9"), -EHOSTUNREACH);
	page->paths[0].up = 1;
	snprintf(page->paths[0].remote, sizeof(page->paths[0].remote), "10.10.1.21");
	assert_int_equal(reconcile_pending_decide(&f->a, true, 0, "uid 0, pid 9"), -EHOSTUNREACH);
	page->paths[0].rx_packets += 2;
	assert_int_equal(reconcile_pending_decide(&f->a, true, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_string_equal(reachability_unreachable(&f->a), "");
	assert_true(runs(f, "10.10.2.10"));
	assert_int_equal(history_find(&rec->records.history, 2)->outcome, HISTORY_APPLIED);
}

/* Without an operator's confirmation the next agent's workers confirm. */
static void test_next_agent_confirms_by_its_workers(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7"};
	struct fixture *f = *state;
	struct launch_stats *page = begin(f, &client);

	die_and_be_found(f);
	assert_true(f->a.reconcile.reachability.alone);
	while (!f->a.reconcile.reachability.paths[0].counted)
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
	page->paths[0].rx_packets += 2;
	turn_until_decided(f);
	assert_true(runs(f, "10.10.2.10"));
	assert_true(event_has(&f->a, "apply 2 kept: confirmed by its workers"));
}

/* A hostile peer name is not written to the ticket, which is read as a configuration. */
static void test_hostile_name_is_not_written(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7", .confirm_s = 600};
	struct fixture *f = *state;
	struct launch_stats *page;
	autofree char *text = NULL;

	write_file(f, ON_DPDK("10.10.1.10-10.10.1.40"));
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	page = host_serve(host_worker(f));
	page->n_paths = 2;
	page->paths[1] = page->paths[0];
	snprintf(page->paths[1].peer, sizeof(page->paths[1].peer), "x\nadmin: {users: [eve]}\n#");
	write_file(f, ON_DPDK("10.10.2.10-10.10.2.40"));
	apply_for(f, &client);
	assert_int_equal(f->a.reconcile.reachability.n, 2);
	text = read_text(f->a.reconcile.records.pending_path);
	assert_non_null(strstr(text, "peer host-b"));
	assert_null(strstr(text, "eve"));
	assert_int_equal(reconcile_pending_decide(&f->a, false, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
}

static void test_unaffected_peers_cause_no_wait(void **state)
{
	const struct reconcile_client forced = {
		.by = "uid 0, pid 7", .forced = {"probes"}, .n_forced = 1};
	const struct reconcile_client client = {.by = "uid 0, pid 7"};
	struct fixture *f = *state;

	begin(f, &forced);
	assert_null(f->a.reconcile.pending.applier);
	assert_true(runs(f, "10.10.2.10"));
	/* A peer that did not answer before is not missed. */
	host_worker(f)->state = SUP_UP;
	host_serve(host_worker(f))->paths[0].up = 0;
	write_file(f, ON_DPDK("10.10.1.10-10.10.1.40"));
	apply_for(f, &client);
	assert_null(f->a.reconcile.pending.applier);
	/* A change that does not touch the leg waits for no peer. */
	host_serve(host_worker(f));
	write_file(f, ON_DPDK("10.10.1.10-10.10.1.40") "policy: {on-fallback: degrade}\n");
	apply_for(f, &client);
	assert_null(f->a.reconcile.pending.applier);
}

/* The next agent starts, and its worker serves the client; the files were edited meanwhile. */
static struct launch_stats *begin_edited(struct fixture *f, const char *yaml)
{
	struct agent *a = &f->a;

	write_file(f, ON_DPDK("10.10.1.10-10.10.1.40"));
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	restart_agent(f);
	a->converged = false;
	write_file(f, yaml);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_true(runs(f, "10.10.1.10"));
	assert_true(event_has(a, "the files differ from the configuration that ran last"));
	return host_serve(host_worker(f));
}

static void test_edited_files_at_a_start_are_rolled_back(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	begin_edited(f, ON_DPDK("10.10.2.10-10.10.2.40"));
	agent_update_state(a); /* all workers are up */
	turn_until_pending(f);
	assert_true(runs(f, "10.10.2.10"));
	check_network_continues(f);
	time_is_up(f);
	turn_until_decided(f);
	assert_true(runs(f, "10.10.1.10"));
	assert_true(problem_has(a, "apply 2 (files, at agent start, by plenumd) was rolled back: "
				   "host-b no longer answers worker 1 on leg-a"));
	assert_true(problem_has(a, "'plenum apply' retries it"));
	/* Later starts do not try it again. */
	restart_agent(f);
	a->converged = true;
	assert_int_equal(reconcile_now(f, RECONCILE_START), -ECANCELED);
	assert_null(a->reconcile.pending.applier);
	assert_true(runs(f, "10.10.1.10"));
	assert_true(problem_has(a, "was rolled back"));
}

static void test_edited_files_at_a_start_are_kept(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	struct launch_stats *page = begin_edited(f, ON_DPDK("10.10.2.10-10.10.2.40"));

	agent_update_state(a);
	turn_until_pending(f);
	check_network_continues(f);
	page->paths[0].rx_packets += 2;
	turn_until_decided(f);
	assert_true(runs(f, "10.10.2.10"));
	assert_string_equal(history_find(&a->reconcile.records.history, 2)->what,
			    "files, at agent start");
	/* A start with the files that ran last applies them at once. */
	restart_agent(f);
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_true(runs(f, "10.10.2.10"));
	assert_false(a->reconcile.queue.edited_files);
}

/* Workers that do not come up cannot delay them for ever; what an operator applies counts. */
static void test_edited_files_wait_at_a_start(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	begin_edited(f, ON_DPDK("10.10.2.10-10.10.2.40"))->paths[0].up = 0;
	host_worker(f)->state = SUP_STARTING;
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_true(runs(f, "10.10.1.10"));
	/* Nor can the kernel's events, which use the same timer. */
	a->reconcile.queue.edited_due_ns = clock_now_ns() + 100 * NSEC_PER_MSEC;
	reconcile_arm(a, 0);
	for (uint64_t end_ns = clock_now_ns() + 8 * NSEC_PER_SEC;
	     !runs(f, "10.10.2.10") && clock_now_ns() < end_ns;)
		loop_turn(a->loop, NSEC_PER_SEC);
	wait_for_reconcile(f);
	assert_true(runs(f, "10.10.2.10"));
	restart_agent(f);
	a->converged = false;
	write_file(f, ON_DPDK("10.10.3.10-10.10.3.40"));
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	write_file(f, ON_DPDK("10.10.4.10-10.10.4.40"));
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	assert_true(runs(f, "10.10.4.10"));
	assert_false(a->reconcile.queue.edited_files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECONCILE_TEST(test_kept_when_the_peer_answers),
		RECONCILE_TEST(test_rolled_back_when_the_peer_is_silent),
		RECONCILE_TEST(test_rolled_back_when_long_frames_are_lost),
		RECONCILE_TEST(test_confirmation_is_refused_while_cut_off),
		RECONCILE_TEST(test_late_answer_is_not_a_reason),
		RECONCILE_TEST(test_second_apply_waits),
		RECONCILE_TEST(test_next_agent_refuses_confirmation_too),
		RECONCILE_TEST(test_next_agent_confirms_by_its_workers),
		RECONCILE_TEST(test_hostile_name_is_not_written),
		RECONCILE_TEST(test_unaffected_peers_cause_no_wait),
		RECONCILE_TEST(test_edited_files_at_a_start_are_rolled_back),
		RECONCILE_TEST(test_edited_files_at_a_start_are_kept),
		RECONCILE_TEST(test_edited_files_wait_at_a_start),
	};

	return cmocka_run_group_tests_name("agent_vouch", tests, NULL, NULL);
}
