/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pending applies on a host in memory: who may decide and when, how a later agent continues or
 * finishes one, and that a rolled-back configuration is not retried. tests/e2e/agent_confirm tests
 * them on a real kernel.
 */
#include "netcfg/base/file.h"
#include "tests/lib/agent/reconcile_host.h"
#include "tests/lib/kernel/fake_probe.h"

#include <pthread.h>
#include <sys/wait.h>

/* Replaces the configuration on the same links. */
#define OTHER_YAML                                                         \
	"host: host-a\n"                                                   \
	"networks:\n"                                                      \
	"  - {name: data-a, range: 10.10.2.10-10.10.2.40/16, mtu: 9000}\n" \
	"net:\n"                                                           \
	"  - {name: leg-a, device: veth0, network: data-a}\n"              \
	"workers:\n"                                                       \
	"  - {role: compute, cores: [1], transport: udp, exports: [{name: x, path: /srv}]}\n"

/* The first apply is kept without a confirmation; the second becomes pending. */
static void begin(struct fixture *f, unsigned confirm_s)
{
	const struct reconcile_client client = {
		.id = 0, .by = "uid 0, pid 7", .confirm_s = confirm_s};

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	write_file(f, OTHER_YAML);
	reconcile_ask_client(&f->a, &client);
	turn_until_pending(f);
}

static bool running_has(struct fixture *f, const char *text)
{
	autofree char *yaml = spec_to_yaml(f->a.running.spec);

	assert_non_null(yaml);
	return strstr(yaml, text);
}

static bool last_good_has(struct fixture *f, const char *text)
{
	autofree char *yaml = read_text(f->a.reconcile.records.last_good);

	return yaml && strstr(yaml, text);
}

static bool host_has(struct fixture *f, const char *prefix)
{
	const struct ip_prefix p = host_prefix(prefix);
	const struct inventory *inv;

	host_load(f);
	inv = kernel_fake_inventory(f->a.kernel);
	for (size_t i = 0; i < inv->n_addrs; i++)
		if (ip_addr_equal(&inv->addrs[i].ip.addr, &p.addr))
			return true;
	return false;
}

static enum history_outcome outcome(struct fixture *f, uint64_t number)
{
	const struct history_entry *e = history_find(&f->a.reconcile.records.history, number);

	return e ? e->outcome : HISTORY_OUTCOME_MAX;
}

/* A pending apply is not written to the files, and no second apply starts. */
static void test_pending_apply_is_not_written(void **state)
{
	const struct reconcile_client second = {.by = "uid 1, pid 8"};
	struct fixture *f = *state;
	struct agent *a = &f->a;
	struct status st;

	begin(f, 600);
	assert_true(running_has(f, "10.10.2.10"));
	assert_false(last_good_has(f, "10.10.2.10"));
	assert_int_equal(outcome(f, 2), HISTORY_WAITING);
	assert_int_equal(a->state, AGENT_WELL);
	assert_true(reconcile_pending_left_s(a) > 500 && reconcile_pending_left_s(a) <= 600);
	assert_int_equal(status_collect(a, &st), 0);
	assert_int_equal(st.waits_entry, 2);
	assert_non_null(strstr(st.apply, "uid 0, pid 7"));
	status_done(&st);
	reconcile_ask_client(a, &second);
	reconcile_ask(a, RECONCILE_RELOAD);
	reconcile_ask(a, RECONCILE_KERNEL);
	assert_false(reconcile_is_active(a));
	assert_int_equal(a->reconcile.queue.n_clients, 0);
	assert_int_equal(reconcile_pending_decide(a, true, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_int_equal(outcome(f, 2), HISTORY_APPLIED);
	assert_true(last_good_has(f, "10.10.2.10"));
	assert_true(event_has(a, "confirmed by uid 0, pid 9"));
	assert_true(host_has(f, "10.10.2.10/16"));
	assert_false(host_has(f, "10.20.1.10/16"));
	assert_int_equal(access(a->reconcile.records.pending_path, F_OK), -1);
	assert_int_equal(access(a->reconcile.records.applier_socket, F_OK), -1);
	assert_int_equal(reconcile_pending_decide(a, true, 0, "uid 0, pid 9"), -ENOENT);
}

/* What the owner has heard. */
static struct {
	unsigned n_applied, n_decided;
	uint64_t applied, decided; /* the client */
	int apply_error, decision_error;
	unsigned confirm_s;
	bool keep;
} heard;

static void on_applied(struct agent *a, const struct reconcile_client *c,
		       const struct reconcile_answer *answer)
{
	heard.n_applied++;
	heard.applied = c->id;
	heard.apply_error = answer->error;
	heard.confirm_s = answer->confirm_s;
}

static void on_decided(struct agent *a, const struct reconcile_decision *d)
{
	heard.n_decided++;
	heard.decided = d->client;
	heard.decision_error = d->error;
	heard.keep = d->keep;
}

/* Each client gets one answer: to its apply once that waits, to its decision once that is carried
 * out, and a refusal at once. */
static void test_each_client_gets_one_answer(void **state)
{
	const struct reconcile_client first = {.id = 7, .by = "uid 0, pid 7", .confirm_s = 600},
				      second = {.id = 8, .by = "uid 1, pid 8"};
	struct fixture *f = *state;
	struct agent *a = &f->a;

	memset(&heard, 0, sizeof(heard));
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	a->reconcile.setup = (struct reconcile_setup){on_applied, on_decided, NULL};
	write_file(f, OTHER_YAML);
	reconcile_ask_client(a, &first);
	turn_until_pending(f);
	assert_int_equal(heard.n_applied, 1);
	assert_int_equal(heard.applied, 7);
	assert_int_equal(heard.apply_error, 0);
	assert_in_range(heard.confirm_s, 1, 600);
	reconcile_ask_client(a, &second);
	assert_int_equal(heard.n_applied, 2);
	assert_int_equal(heard.applied, 8);
	assert_int_equal(heard.apply_error, -EALREADY);
	assert_int_equal(heard.n_decided, 0);
	assert_int_equal(reconcile_pending_decide(a, false, 9, "uid 0, pid 9"), 0);
	assert_int_equal(reconcile_pending_decide(a, true, 10, "uid 0, pid 10"), -EALREADY);
	turn_until_decided(f);
	assert_int_equal(heard.n_applied, 2);
	assert_int_equal(heard.n_decided, 1);
	assert_int_equal(heard.decided, 9);
	assert_false(heard.keep);
	assert_int_equal(heard.decision_error, -ECANCELED);
}

/* The previous configuration runs, the files stay, and only a request retries them. */
static void check_rolled_back(struct fixture *f)
{
	struct agent *a = &f->a;
	uint64_t writes;

	assert_true(running_has(f, "10.20.1.10"));
	assert_true(host_has(f, "10.20.1.10/16"));
	assert_false(host_has(f, "10.10.2.10/16"));
	assert_int_equal(access(a->journal, F_OK), -1);
	assert_int_equal(a->state, AGENT_DEGRADED);
	assert_true(problem_has(a, "apply 2 (files, by uid 0, pid 7) was rolled back"));
	writes = a->kernel->n_writes;
	assert_int_equal(reconcile_now(f, RECONCILE_KERNEL), 0);
	assert_int_equal(reconcile_now(f, RECONCILE_START), -ECANCELED);
	assert_int_equal(a->kernel->n_writes, writes);
	assert_true(running_has(f, "10.20.1.10"));
	assert_true(problem_has(a, "was rolled back"));
	assert_int_equal(reconcile_now(f, RECONCILE_RELOAD), 0);
	assert_true(running_has(f, "10.10.2.10"));
	assert_false(problem_has(a, "was rolled back"));
	assert_int_equal(a->state, AGENT_WELL);
}

static void test_operator_rolls_back(void **state)
{
	struct fixture *f = *state;

	begin(f, 600);
	assert_int_equal(reconcile_pending_decide(&f->a, false, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_true(event_has(&f->a, "rolled back by uid 0, pid 9"));
	assert_int_equal(outcome(f, 2), HISTORY_ROLLED_BACK);
	check_rolled_back(f);
}

static void test_timeout_rolls_back(void **state)
{
	struct fixture *f = *state;

	begin(f, 1);
	turn_until_decided(f);
	assert_true(event_has(&f->a, "not confirmed within 1 s"));
	check_rolled_back(f);
}

/* A reload queued during a pending apply does not repeat the apply that was rolled back. */
static void test_queued_reload_does_not_retry(void **state)
{
	struct fixture *f = *state;

	begin(f, 600);
	reconcile_ask(&f->a, RECONCILE_RELOAD);
	assert_int_equal(reconcile_pending_decide(&f->a, false, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_int_equal(outcome(f, 2), HISTORY_ROLLED_BACK);
	check_rolled_back(f);
}

/* It applies files that were edited since. */
static void test_queued_reload_reads_edited_files(void **state)
{
	struct fixture *f = *state;

	begin(f, 600);
	write_file(f, HOST_YAML "policy: {on-fallback: degrade, confirm: 60s}\n");
	reconcile_ask(&f->a, RECONCILE_RELOAD);
	assert_int_equal(reconcile_pending_decide(&f->a, false, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_true(running_has(f, "10.20.1.10"));
	assert_true(running_has(f, "confirm: 60s"));
	assert_int_equal(f->a.state, AGENT_WELL);
}

/* An apply that needs a confirmation and fails is not retried without one. */
static void test_failed_apply_is_not_retried_unconfirmed(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7", .confirm_s = 600};
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	write_file(f, OTHER_YAML);
	kernel_fake_fail(a->kernel, 2, 1, -EIO, "made of cheese");
	reconcile_ask_client(a, &client);
	wait_for_reconcile(f);
	kernel_fake_fail(a->kernel, 0, 0, 0, NULL);
	assert_int_equal(a->reconcile.run.error, -EIO);
	assert_int_equal(outcome(f, 2), HISTORY_FAILED);
	assert_false(a->reconcile.pacing.retry_files);
	check_rolled_back(f);
}

/* A failed apply that a retry brings up gets an entry, so that it can be rolled back. */
static void test_successful_retry_is_an_entry(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7"};
	const struct history_entry *e;
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	write_file(f, OTHER_YAML);
	kernel_fake_fail(a->kernel, 2, 1, -EIO, "made of cheese");
	reconcile_ask_client(a, &client);
	wait_for_reconcile(f);
	kernel_fake_fail(a->kernel, 0, 0, 0, NULL);
	assert_int_equal(outcome(f, 2), HISTORY_FAILED);
	while (!running_has(f, "10.10.2.10"))
		assert_true(loop_turn(a->loop, 10 * NSEC_PER_SEC) > 0);
	wait_for_reconcile(f);
	e = history_find(&a->reconcile.records.history, 3);
	assert_non_null(e);
	assert_string_equal(e->what, "files, retried");
	assert_string_equal(e->by, "plenumd");
	assert_int_equal(e->outcome, HISTORY_APPLIED);
	assert_int_equal(outcome(f, 2), HISTORY_FAILED);
}

/* The error in the history names the key. */
static void test_history_names_the_key(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7"};
	struct fixture *f = *state;
	struct agent *a = &f->a;
	const struct history_entry *e;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	write_file(f, "bogus: 1\n");
	reconcile_ask_client(a, &client);
	wait_for_reconcile(f);
	e = history_find(&a->reconcile.records.history, 2);
	assert_non_null(e);
	assert_int_equal(e->outcome, HISTORY_FAILED);
	assert_non_null(strstr(e->text, "bogus: unknown key"));
}

/* Where workers did not get the new configuration, the applied one is still the one not retried. */
static void test_failed_second_half_is_not_retried(void **state)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct fixture *f = *state;
	struct agent *a = &f->a;
	const struct spec *was;
	struct spec *former = NULL;

	begin(f, 600);
	was = a->running.spec;
	/* The previous spec runs, as if the reconcile had failed after the applier. */
	assert_int_equal(spec_parse("former", HOST_YAML, strlen(HOST_YAML), &d, &former), 0);
	a->running.spec = former;
	assert_int_equal(reconcile_pending_decide(a, false, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	spec_free((struct spec *)was); /* of which the plan borrowed */
	check_rolled_back(f);
}

static void test_killed_applier_rolls_back(void **state)
{
	struct fixture *f = *state;

	begin(f, 600);
	host_save(f); /* nothing of what it did is in the memory of the one that recovers */
	kill(applier_pid(f->a.reconcile.pending.applier), SIGKILL);
	turn_until_decided(f);
	assert_int_equal(outcome(f, 2), HISTORY_ROLLED_BACK);
	assert_true(running_has(f, "10.20.1.10"));
	assert_true(problem_has(&f->a,
				"was rolled back: the applier process ended: killed by SIGKILL"));
	assert_int_equal(access(f->a.journal, F_OK), -1);
}

/* A last good configuration that could not be written is still the target of a rollback. */
static void test_rollback_to_unwritten_last_good(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7", .confirm_s = 600};
	struct fixture *f = *state;
	struct reconcile *rec = &f->a.reconcile;

	begin(f, 600);
	assert_int_equal(unlink(rec->records.last_good), 0);
	assert_int_equal(mkdir(rec->records.last_good, 0700), 0); /* which no file replaces */
	assert_int_equal(reconcile_pending_decide(&f->a, true, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_true(event_has(&f->a, "running.yaml: Is a directory"));
	write_file(f, HOST_YAML);
	reconcile_ask_client(&f->a, &client);
	turn_until_pending(f);
	assert_true(running_has(f, "10.20.1.10"));
	assert_int_equal(rmdir(rec->records.last_good), 0);
	assert_int_equal(reconcile_pending_decide(&f->a, false, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_false(running_has(f, "10.20.1.10"));
	assert_true(running_has(f, "10.10.2.10"));
}

static void test_next_agent_adopts_pending_apply(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	begin(f, 600);
	restart_agent(f);
	reconcile_start(a);
	assert_int_equal(applier_stage(a->reconcile.applier), APPLIER_APPLYING);
	turn_until_pending(f);
	assert_true(running_has(f, "10.10.2.10"));
	assert_int_equal(a->reconcile.pending.entry, 2);
	assert_string_equal(a->reconcile.pending.by, "uid 0, pid 7");
	assert_false(last_good_has(f, "10.10.2.10"));
	assert_int_equal(reconcile_pending_decide(a, true, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_int_equal(outcome(f, 2), HISTORY_APPLIED);
	assert_true(last_good_has(f, "10.10.2.10"));
	assert_true(host_has(f, "10.10.2.10/16"));
}

static bool stop_child;

/* Called in each child before it does anything. */
static void in_child(void)
{
	if (stop_child)
		raise(SIGSTOP);
}

static void ask_for_one_that_stops(struct agent *a, const struct reconcile_client *client)
{
	static bool known;

	if (!known)
		assert_int_equal(pthread_atfork(NULL, NULL, in_child), 0);
	known = true;
	stop_child = true;
	reconcile_ask_client(a, client);
	stop_child = false;
}

/* The agent is killed right after it forked its applier. */
static void test_next_agent_adopts_new_applier(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7", .confirm_s = 600};
	struct fixture *f = *state;
	struct agent *a = &f->a;
	siginfo_t si;
	pid_t pid;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	write_file(f, OTHER_YAML);
	ask_for_one_that_stops(a, &client);
	pid = applier_pid(a->reconcile.applier);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WSTOPPED), 0);
	restart_agent(f);
	reconcile_start(a);
	assert_int_equal(applier_stage(a->reconcile.applier), APPLIER_APPLYING);
	assert_int_equal(access(a->reconcile.records.pending_path, F_OK), 0);
	assert_int_equal(kill(pid, SIGCONT), 0);
	turn_until_pending(f);
	assert_true(running_has(f, "10.10.2.10"));
	assert_int_equal(reconcile_pending_decide(a, true, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_int_equal(outcome(f, 2), HISTORY_APPLIED);
	assert_true(host_has(f, "10.10.2.10/16"));
}

/* The applier is killed before its first step: nothing was changed, and nothing will be. */
static void test_killed_before_the_first_step(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7", .confirm_s = 600};
	struct fixture *f = *state;
	struct agent *a = &f->a;
	siginfo_t si;
	pid_t pid;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	write_file(f, OTHER_YAML);
	ask_for_one_that_stops(a, &client);
	pid = applier_pid(a->reconcile.applier);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WSTOPPED), 0);
	restart_agent(f);
	reconcile_start(a);
	assert_int_equal(kill(pid, SIGKILL), 0);
	wait_for_reconcile(f);
	assert_int_equal(outcome(f, 2), HISTORY_FAILED);
	assert_true(running_has(f, "10.20.1.10"));
	assert_true(host_has(f, "10.20.1.10/16"));
	assert_false(host_has(f, "10.10.2.10/16"));
	waitpid(pid, NULL, 0);
}

/* Address conflicts are passed on, so that no worker starts with a missing address. */
static void test_next_agent_knows_address_conflicts(void **state)
{
	static struct kernel_probe other = {
		.by = {{2, 9, 9, 9, 9, 9}}}; /* an applier may ask last */
	struct fixture *f = *state;
	struct agent *a = &f->a;

	other.ip = host_addr("10.10.2.10");
	fake_probe_others(&other, 1);
	begin(f, 600);
	assert_int_equal(a->reconcile.inputs.conflicts.n, 1);
	assert_false(host_has(f, "10.10.2.10/16"));
	restart_agent(f);
	assert_int_equal(a->reconcile.inputs.conflicts.n, 0);
	reconcile_start(a);
	turn_until_pending(f);
	fake_probe_others(NULL, 0);
	assert_int_equal(a->reconcile.inputs.conflicts.n, 1);
	assert_true(ip_addr_equal(&a->reconcile.inputs.conflicts.entries[0].ip, &other.ip));
	assert_int_equal(reconcile_pending_decide(a, false, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
}

static void test_next_agent_reads_the_outcome(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	begin(f, 1);
	restart_agent(f);
	while (access(a->reconcile.records.applier_socket, F_OK) == 0)
		loop_turn(a->loop, 10 * NSEC_PER_MSEC);
	reconcile_start(a);
	wait_for_reconcile(f);
	assert_int_equal(outcome(f, 2), HISTORY_ROLLED_BACK);
	check_rolled_back(f);
}

/* A machine reset: no process is left that could roll back. */
static void test_reset_rolls_back(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	pid_t pid;

	begin(f, 600);
	host_save(f);
	pid = applier_pid(a->reconcile.pending.applier);
	restart_agent(f);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	reconcile_start(a);
	wait_for_reconcile(f);
	assert_int_equal(outcome(f, 2), HISTORY_FAILED);
	assert_true(problem_has(a, "was rolled back: it was interrupted"));
	assert_true(running_has(f, "10.20.1.10"));
	assert_int_equal(access(a->journal, F_OK), -1);
}

/* A reset after the confirmation, before the ticket is removed. */
static void test_reset_after_confirmation_keeps(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	autofree char *ticket = NULL;

	begin(f, 600);
	ticket = read_text(a->reconcile.records.pending_path);
	assert_non_null(ticket);
	assert_int_equal(reconcile_pending_decide(a, true, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_int_equal(
		file_write(a->reconcile.records.pending_path, ticket, strlen(ticket), 0600), 0);
	assert_int_equal(unlink(a->reconcile.records.outcome_path), 0);
	restart_agent(f);
	reconcile_start(a);
	wait_for_reconcile(f);
	assert_int_equal(outcome(f, 2), HISTORY_APPLIED);
	assert_true(running_has(f, "10.10.2.10"));
	assert_int_equal(a->problems.n_all, 0);
	assert_int_equal(a->state, AGENT_WELL);
}

/* A start with the last configuration adds no history entry. */
static void test_start_adds_no_entry(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	begin(f, 600);
	assert_int_equal(reconcile_pending_decide(a, false, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_int_equal(a->reconcile.records.history.n, 2);
	write_file(f, HOST_YAML);
	for (unsigned i = 0; i < 2; i++) {
		restart_agent(f);
		host_load(f);
		assert_int_equal(kernel_fake_replace(a->kernel, f->inv), 0); /* a new boot */
		reconcile_start(a);
		wait_for_reconcile(f);
		assert_true(running_has(f, "10.20.1.10"));
		assert_true(a->reconcile.run.n_steps > 0);
		assert_int_equal(a->reconcile.records.history.n, 2);
	}
	assert_int_equal(outcome(f, 2), HISTORY_ROLLED_BACK);
	/* A start with edited files does, once what ran last works. */
	restart_agent(f);
	write_file(f, OTHER_YAML);
	a->converged = true;
	reconcile_start(a);
	wait_for_reconcile(f);
	assert_true(running_has(f, "10.10.2.10"));
	assert_int_equal(a->reconcile.records.history.n, 3);
}

static void apply_for(struct fixture *f, const struct reconcile_client *client)
{
	reconcile_ask_client(&f->a, client);
	while (reconcile_is_active(&f->a))
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
}

/* The policy's confirmation applies only to disruptive requested applies. */
static void test_policy(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7"};
	struct fixture *f = *state;
	struct agent *a = &f->a;

	write_file(f, HOST_YAML "policy: {confirm: 600s}\n");
	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_null(a->reconcile.pending.applier);
	write_file(f, HOST_YAML "  - {role: compute, cores: [2], transport: udp}\n"
				"policy: {confirm: 600s}\n");
	apply_for(f, &client);
	assert_int_equal(a->reconcile.run.error, 0);
	assert_null(a->reconcile.pending.applier); /* one more worker, one more address a leg */
	write_file(f, OTHER_YAML);
	apply_for(f, &client);
	assert_non_null(a->reconcile.pending.applier);
	assert_int_equal(reconcile_pending_decide(a, true, 0, "uid 0, pid 7"), 0);
	turn_until_decided(f);
	assert_true(running_has(f, "10.10.2.10"));
	/* The policy is removed now. */
	write_file(f, HOST_YAML);
	apply_for(f, &client);
	assert_null(a->reconcile.pending.applier);
	assert_true(running_has(f, "10.20.1.10"));
}

/* A rollback to a number leaves the files, and reports that they differ. */
static bool is_refused_as(const struct agent *a, uint64_t number, uid_t uid, bool keep, int error,
			  const char *text)
{
	struct reason why = {.code = ""};
	int r = reconcile_pending_match(a, number, uid, keep, &why);

	if (r == error && strstr(why.text, text))
		return true;
	print_message("%d: %s\n", r, why.text);
	return false;
}

/* Each operator decides about their own apply, or names the other's number. */
static void test_only_the_owner_decides_without_a_number(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_true(is_refused_as(a, 0, 0, true, -ENOENT, "no apply waits"));
	assert_true(is_refused_as(a, 9, 0, true, -ENOENT, "no apply waits"));
	begin(f, 600);
	assert_int_equal(reconcile_pending_match(a, 2, 1000, true, NULL), 0);
	assert_int_equal(reconcile_pending_match(a, 0, 0, true, NULL), 0);
	assert_int_equal(reconcile_pending_match(a, 0, 0, false, NULL), 0);
	assert_true(is_refused_as(a, 0, 1000, true, -EPERM,
				  "apply 2 (files, by uid 0, pid 7) belongs to another user; use "
				  "'plenum confirm 2'"));
	assert_true(is_refused_as(a, 0, 1000, false, -EPERM, "use 'plenum rollback 2'"));
	assert_true(is_refused_as(a, 1, 0, true, -EPERM,
				  "apply 1 does not wait for a confirmation, apply 2 (files, by "
				  "uid 0, pid 7) does; use 'plenum confirm 2'"));
	restart_agent(f);
	reconcile_start(a);
	turn_until_pending(f);
	assert_true(is_refused_as(a, 0, 1000, true, -EPERM, "'plenum confirm 2'"));
	assert_int_equal(reconcile_pending_match(a, 0, 0, true, NULL), 0);
	assert_int_equal(reconcile_pending_decide(a, false, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_true(is_refused_as(
		a, 2, 0, true, -ENOENT,
		"no apply waits for a confirmation: apply 2 is 'rolled back' in 'plenum history'"));
}

static bool file_has(const char *path, const char *text)
{
	autofree char *yaml = read_text(path);

	return yaml && strstr(yaml, text);
}

static void stage_and_begin(struct fixture *f)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7", .confirm_s = 600};
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	assert_int_equal(store_put_staged(&f->a.store, OTHER_YAML, strlen(OTHER_YAML), &d), 0);
	reconcile_ask_client(&f->a, &client);
	turn_until_pending(f);
}

static int files_checked(struct fixture *f)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	int r = reconcile_pending_check_files(&f->a, &d);

	if (r < 0)
		assert_string_equal(d.entries[0].file, f->file);
	return r;
}

/* A confirmation does not overwrite a file edited while the apply was pending. */
static void test_edited_file_is_not_overwritten(void **state)
{
	const struct reconcile_client again = {.by = "uid 0, pid 11"};
	struct fixture *f = *state;
	struct agent *a = &f->a;

	stage_and_begin(f);
	assert_int_equal(files_checked(f), 0);
	write_file(f, "# by hand\n" OTHER_YAML);
	assert_int_equal(files_checked(f), -ESTALE);
	restart_agent(f);
	reconcile_start(a);
	turn_until_pending(f);
	assert_int_equal(files_checked(f), -ESTALE);
	/* One whose confirmation was on its way already. */
	assert_int_equal(reconcile_pending_decide(a, true, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	assert_true(file_has(f->file, "# by hand"));
	assert_true(running_has(f, "10.10.2.10"));
	assert_true(last_good_has(f, "10.10.2.10"));
	assert_int_equal(a->state, AGENT_DEGRADED);
	assert_true(problem_has(a, "the files were edited meanwhile"));
	assert_true(store_has_staged(&a->store));
	/* The operator has seen the warning: now it is replaced. */
	reconcile_ask_client(a, &again);
	wait_for_reconcile(f);
	assert_false(file_has(f->file, "# by hand"));
	assert_false(store_has_staged(&a->store));
	assert_int_equal(a->state, AGENT_WELL);
}

static void test_force_overwrites_edited_file(void **state)
{
	struct fixture *f = *state;
	char former[80];

	stage_and_begin(f);
	write_file(f, "# by hand\n" OTHER_YAML);
	store_forget_base(&f->a.store);
	assert_int_equal(files_checked(f), 0);
	assert_int_equal(reconcile_pending_decide(&f->a, true, 0, "uid 0, pid 9"), 0);
	turn_until_decided(f);
	snprintf(former, sizeof(former), "%s~", f->file);
	assert_false(file_has(f->file, "# by hand"));
	assert_true(file_has(former, "# by hand"));
	assert_int_equal(f->a.state, AGENT_WELL);
}

static void test_rollback_to_a_number(void **state)
{
	const struct reconcile_client client = {.by = "uid 0, pid 7"},
				      back = {.by = "uid 0, pid 7", .back_to = 1},
				      nowhere = {.by = "uid 0, pid 7", .back_to = 9};
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(reconcile_now(f, RECONCILE_START), 0);
	write_file(f, OTHER_YAML);
	apply_for(f, &client);
	assert_true(host_has(f, "10.10.2.10/16"));
	{
		autofree char *now = spec_to_yaml(a->running.spec);

		assert_int_equal(history_kept_other(&a->reconcile.records.history, now), 1);
	}
	apply_for(f, &back);
	assert_int_equal(a->reconcile.run.error, 0);
	assert_true(running_has(f, "10.20.1.10"));
	assert_true(last_good_has(f, "10.20.1.10"));
	assert_true(host_has(f, "10.20.1.10/16"));
	assert_false(host_has(f, "10.10.2.10/16"));
	assert_true(problem_has(
		a, "the running configuration differs from the files since apply 3 (rollback "
		   "to 1, by uid 0, pid 7)"));
	restart_agent(f);
	reconcile_start(a);
	wait_for_reconcile(f);
	assert_true(running_has(f, "10.20.1.10"));
	assert_true(problem_has(a, "the running configuration differs from the files"));
	apply_for(f, &nowhere);
	assert_int_equal(a->reconcile.run.error, -ENOENT);
	assert_true(running_has(f, "10.20.1.10"));
	apply_for(f, &client);
	assert_true(running_has(f, "10.10.2.10"));
	assert_int_equal(a->problems.n_all, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECONCILE_TEST(test_pending_apply_is_not_written),
		RECONCILE_TEST(test_operator_rolls_back),
		RECONCILE_TEST(test_timeout_rolls_back),
		RECONCILE_TEST(test_queued_reload_does_not_retry),
		RECONCILE_TEST(test_queued_reload_reads_edited_files),
		RECONCILE_TEST(test_failed_apply_is_not_retried_unconfirmed),
		RECONCILE_TEST(test_history_names_the_key),
		RECONCILE_TEST(test_successful_retry_is_an_entry),
		RECONCILE_TEST(test_failed_second_half_is_not_retried),
		RECONCILE_TEST(test_killed_applier_rolls_back),
		RECONCILE_TEST(test_rollback_to_unwritten_last_good),
		RECONCILE_TEST(test_next_agent_adopts_pending_apply),
		RECONCILE_TEST(test_next_agent_adopts_new_applier),
		RECONCILE_TEST(test_killed_before_the_first_step),
		RECONCILE_TEST(test_next_agent_knows_address_conflicts),
		RECONCILE_TEST(test_next_agent_reads_the_outcome),
		RECONCILE_TEST(test_reset_rolls_back),
		RECONCILE_TEST(test_reset_after_confirmation_keeps),
		RECONCILE_TEST(test_start_adds_no_entry),
		RECONCILE_TEST(test_policy),
		RECONCILE_TEST(test_each_client_gets_one_answer),
		RECONCILE_TEST(test_rollback_to_a_number),
		RECONCILE_TEST(test_only_the_owner_decides_without_a_number),
		RECONCILE_TEST(test_edited_file_is_not_overwritten),
		RECONCILE_TEST(test_force_overwrites_edited_file),
	};

	return cmocka_run_group_tests_name("agent_confirm", tests, NULL, NULL);
}
