/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data walk on a host in memory: what it applies, that a second one writes nothing, and that
 * whatever goes wrong leaves the host and the wanted workers as they were.
 */
#include "agent/agent.h"
#include "agent/status.h"
#include "netcfg/base/file.h"
#include "plugins/plugins.h"
#include "tests/lib/plan_host.h"
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>

struct fixture {
	struct agent a;
	struct inventory *inv;
	char dir[32], file[64], state_dir[64];
	char host[64], worker[64], killed[64];
	uint64_t sabotage_at; /* number of the write after which somebody takes an address away */
};

/* ---- the host, which the applier changes in a process of its own ---- */

static char *read_text(const char *path)
{
	FILE *in = fopen(path, "re");
	size_t size = 0, len;
	char *text = NULL;

	if (!in)
		return NULL;
	len = getdelim(&text, &size, '\0', in) < 0 ? 0 : strlen(text);
	fclose(in);
	return len > 0 ? text : NULL;
}

static void host_save(struct fixture *f)
{
	autofree char *text = inv_to_json(kernel_fake_inventory(f->a.kernel));

	assert_int_equal(file_write(f->host, text, strlen(text), 0600), 0);
}

/* Makes the host what an applier has left. */
static void host_load(struct fixture *f)
{
	autofree char *text = read_text(f->host);
	struct inventory *inv = NULL;
	struct diag d = DIAG_INIT;

	if (!text)
		return;
	assert_int_equal(inv_from_json(text, strlen(text), &d, &inv), 0);
	assert_int_equal(kernel_fake_replace(f->a.kernel, inv), 0);
	inv_free(inv);
	diag_done(&d);
	unlink(f->host);
}

static struct fixture *current;
static int (*collect)(struct kernel *k, struct diag *d, struct inventory *inv);

static int load_and_collect(struct kernel *k, struct diag *d, struct inventory *inv)
{
	host_load(current);
	return collect(k, d, inv);
}

static void host_watch_appliers(struct fixture *f)
{
	static struct kernel_ops ops;

	current = f;
	ops = *f->a.kernel->ops;
	collect = ops.collect;
	ops.collect = load_and_collect;
	f->a.kernel->ops = &ops;
}

static int applier_opens(void *user, struct kernel **ret)
{
	struct fixture *f = user;

	host_load(f);
	f->a.kernel->n_writes = 0;
	*ret = f->a.kernel;
	return 0;
}

static void applier_closes(void *user, struct kernel *k)
{
	host_save(user);
}

static void write_file(struct fixture *f, const char *text)
{
	assert_int_equal(file_write(f->file, text, strlen(text), 0600), 0);
}

/* One that starts and says nothing. */
static const char worker[] = "#!/bin/sh\nexec tail -f /dev/null\n";

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct agent *a = &f->a;
	struct sup_setup sup;
	char why[128];
	pid_t owner;

	plugins_register();
	log_set_level(LOG_LEVEL_ERR);
	strcpy(f->dir, "/tmp/plenum-walk-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->file, sizeof(f->file), "%s/plenum.yaml", f->dir);
	snprintf(f->state_dir, sizeof(f->state_dir), "%s/state", f->dir);
	snprintf(f->host, sizeof(f->host), "%s/host.json", f->dir);
	snprintf(f->worker, sizeof(f->worker), "%s/worker", f->dir);
	snprintf(f->killed, sizeof(f->killed), "%s/killed", f->dir);
	write_file(f, HOST_YAML);
	assert_int_equal(file_write(f->worker, worker, strlen(worker), 0700), 0);
	f->inv = host_new();
	assert_int_equal(kernel_fake_new(f->inv, &a->kernel), 0);
	host_watch_appliers(f);
	assert_int_equal(loop_new(&a->loop), 0);
	assert_int_equal(rundir_open(f->dir, f->state_dir, &a->rundir, &owner, why, sizeof(why)),
			 0);
	assert_int_equal(store_init(&a->store, f->file, f->state_dir), 0);
	assert_int_equal(mounts_new(&a->rundir, &a->mounts), 0);
	events_init(&a->events);
	sup = (struct sup_setup){.loop = a->loop,
				 .events = &a->events,
				 .mounts = a->mounts,
				 .rundir = &a->rundir,
				 .carriers = &a->carriers,
				 .worker_path = f->worker};
	assert_int_equal(sup_new(&sup, &a->sup), 0);
	a->journal = rundir_path(f->state_dir, "journal");
	a->verify_ns = NSEC_PER_MSEC;
	a->applier_host =
		(struct applier_host){.open = applier_opens, .close = applier_closes, .user = f};
	assert_int_equal(walk_init(a), 0);
	*state = f;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	walk_done(a);
	sup_free(a->sup);
	mounts_free(a->mounts);
	loop_free(a->loop);
	kernel_free(a->kernel);
	walk_round_done(&a->now);
	plan_failures_clear(&a->failures);
	carriers_done(&a->carriers);
	problems_done(&a->problems);
	store_done(&a->store);
	rundir_done(&a->rundir);
	free(a->journal);
	inv_free(f->inv);
	nftw(f->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

/* Serves the loop until no walk is on its way. */
static void wait_for_walk(struct fixture *f)
{
	while (walk_is_active(&f->a))
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
}

static int walk(struct fixture *f, enum walk_trigger t)
{
	walk_ask(&f->a, t);
	wait_for_walk(f);
	return f->a.walk.error;
}

static bool event_has(const struct agent *a, const char *text)
{
	for (uint64_t i = 1; i < a->events.next; i++)
		if (strstr(a->events.ring[i % EVENTS_KEPT].text, text))
			return true;
	return false;
}

static bool problem_has(const struct agent *a, const char *text)
{
	for (size_t i = 0; i < a->problems.n_all; i++)
		if (strstr(a->problems.all[i], text))
			return true;
	return false;
}

static void test_start_and_again(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(walk(f, WALK_START), 0);
	assert_int_equal(a->state, AGENT_RUNNING);
	assert_int_equal(a->applied.number, 1);
	assert_true(a->applied.steps > 0);
	assert_true(a->walk.n_writes > 0);
	assert_int_equal(a->now.n_wants, 1);
	assert_int_equal(sup_first(a->sup)->state, SUP_STARTING);
	assert_int_equal(sup_first(a->sup)->config.n_ports, 2);
	for (enum walk_trigger t = WALK_RELOAD; t <= WALK_KERNEL; t++) {
		assert_int_equal(walk(f, t), 0);
		assert_int_equal(a->walk.n_writes, 0);
	}
	assert_int_equal(a->applied.number, 1);
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

	assert_int_equal(walk(f, WALK_START), 0);
	remove_addr(f, HOST_VETH1, "10.20.1.10/16");
	assert_int_equal(walk(f, WALK_KERNEL), 0);
	assert_int_equal(a->applied.number, 2);
	assert_true(event_has(a, "somebody changed what is ours"));
}

/* The files stay wrong, whatever else succeeds, until they are right. */
static void test_bad_reload_changes_nothing_and_stays_a_problem(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	pid_t pid;

	assert_int_equal(walk(f, WALK_START), 0);
	pid = sup_first(a->sup)->pid;
	write_file(f, HOST_YAML "nonsense: 1\n");
	assert_int_equal(walk(f, WALK_RELOAD), -EINVAL);
	assert_int_equal(a->state, AGENT_DEGRADED);
	assert_true(problem_has(a, "nonsense"));
	assert_int_equal(a->walk.n_writes, 0);
	assert_int_equal(sup_first(a->sup)->pid, pid);
	remove_addr(f, HOST_VETH1, "10.20.1.10/16");
	assert_int_equal(walk(f, WALK_KERNEL), 0);
	assert_int_equal(a->applied.number, 2);
	assert_int_equal(a->state, AGENT_DEGRADED);
	assert_true(problem_has(a, "nonsense"));
	write_file(f, HOST_YAML);
	assert_int_equal(walk(f, WALK_RELOAD), 0);
	assert_int_equal(a->state, AGENT_RUNNING);
	assert_int_equal(a->problems.n_all, 0);
	assert_int_equal(sup_first(a->sup)->pid, pid);
}

static void test_missing_device(void **state)
{
	struct fixture *f = *state;

	write_file(f, "networks: [{name: n, range: 10.1.1.1-10.1.1.9/24}]\n"
		      "net: [{name: l, device: eth7, network: n}]\n");
	assert_int_equal(walk(f, WALK_START), 0);
	assert_int_equal(f->a.walk.n_writes, 0);
	assert_int_equal(f->a.now.plan->legs[0].state, PLAN_LEG_ABSENT);
	assert_int_equal(f->a.state, AGENT_DEGRADED);
	assert_true(problem_has(&f->a, "eth7"));
}

static char *replaced(const char *text, const char *find, const char *with)
{
	const char *at = strstr(text, find);
	char *made = NULL;

	assert_non_null(at);
	assert_true(asprintf(&made, "%.*s%s%s", (int)(at - text), text, with, at + strlen(find)) >
		    0);
	return made;
}

/* The device is pulled out: its addresses and routes go with it. */
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

/* A worker keeps its ports while a leg is away, and is not restarted at once when it is back. */
static void test_leg_goes_and_comes(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	const struct sup_worker *w;
	pid_t pid;

	assert_int_equal(walk(f, WALK_START), 0);
	w = sup_first(a->sup);
	pid = w->pid;
	remove_link(f, HOST_VETH1);
	assert_int_equal(walk(f, WALK_KERNEL), 0);
	assert_int_equal(a->state, AGENT_DEGRADED);
	assert_int_equal(a->now.plan->workers[0].n_ports, 1);
	assert_true(problem_has(a, "leg leg-b (veth1) is absent: not-found"));
	assert_true(event_has(a, "leg leg-b (veth1) is absent"));
	assert_int_equal(w->pid, pid);
	assert_int_equal(w->config.n_ports, 2);
	add_link(f, 9, "veth1");
	assert_int_equal(walk(f, WALK_KERNEL), 0);
	assert_int_equal(a->state, AGENT_RUNNING);
	assert_int_equal(a->walk.n_steps > 0, 1);
	assert_true(event_has(a, "leg leg-b (veth1) is usable"));
	assert_int_equal(w->config.ports[1].ifindex, HOST_VETH1);
	assert_int_equal(w->state, SUP_STARTING);
	assert_true(loop_timer_armed(a->walk.debounce)); /* it is looked at again */
	assert_int_equal(walk(f, WALK_RELOAD), 0);	 /* who asks does not wait */
	assert_int_equal(w->config.ports[1].ifindex, 9);
	assert_int_equal(w->state, SUP_STOPPING);
}

/* So does one that sends by DPDK: its transport does not depend on the legs that are there. */
static void test_all_legs_go(void **state)
{
	struct fixture *f = *state;
	autofree char *yaml = replaced(HOST_YAML, "transport: udp", "transport: dpdk");
	const struct sup_worker *w;
	pid_t pid;

	write_file(f, yaml);
	assert_int_equal(walk(f, WALK_START), 0);
	w = sup_first(f->a.sup);
	pid = w->pid;
	assert_int_equal(w->config.transport, LAUNCH_DPDK);
	remove_link(f, HOST_VETH0);
	assert_int_equal(walk(f, WALK_KERNEL), 0);
	assert_int_equal(w->config.n_ports, 2);
	remove_link(f, HOST_VETH1);
	assert_int_equal(walk(f, WALK_RELOAD), 0);
	assert_int_equal(w->pid, pid);
	assert_int_equal(w->state, SUP_STARTING);
	assert_int_equal(w->config.n_ports, 2);
}

/* Without any leg the worker waits, and says why; the others' errors are not its own. */
static void test_worker_waits_for_a_leg(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;
	struct status st;

	remove_link(f, HOST_VETH0);
	remove_link(f, HOST_VETH1);
	assert_int_equal(walk(f, WALK_START), 0);
	assert_int_equal(sup_first(a->sup)->state, SUP_FAILED);
	assert_int_equal(sup_count_processes(a->sup), 0);
	assert_int_equal(status_collect(a, &st), 0);
	assert_string_equal(st.processes[1].reason, "no-leg: leg-a is absent, leg-b is absent");
	assert_string_equal(st.legs[0].state, "absent");
	assert_non_null(strstr(st.legs[0].reason, "this host has no device veth0"));
	status_done(&st);
	add_link(f, 9, "veth1");
	assert_int_equal(walk(f, WALK_KERNEL), 0);
	assert_int_equal(sup_first(a->sup)->state, SUP_STARTING);
	assert_int_equal(sup_first(a->sup)->config.n_ports, 1);
	assert_string_equal(sup_first(a->sup)->config.ports[0].leg, "leg-b");
	assert_int_equal(a->state, AGENT_DEGRADED);
}

/* Who makes a leg's device the management interface wants the worker off it now. */
static void test_refused_leg_is_left_at_once(void **state)
{
	struct fixture *f = *state;
	autofree char *step = replaced(HOST_YAML, "interface: eth0", "interface: veth1");
	autofree char *yaml = replaced(step, "device: veth1", "device: \"02:00:00:00:00:04\"");

	assert_int_equal(walk(f, WALK_START), 0);
	assert_int_equal(sup_first(f->a.sup)->config.n_ports, 2);
	write_file(f, yaml);
	assert_int_equal(walk(f, WALK_RELOAD), 0);
	assert_string_equal(f->a.now.plan->legs[1].reason.code, "management");
	assert_int_equal(sup_first(f->a.sup)->state, SUP_STOPPING);
	assert_int_equal(sup_first(f->a.sup)->config.n_ports, 1);
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

static void test_failed_step_leaves_all_as_it_was(void **state)
{
	struct fixture *f = *state;
	char *before = host_json(f), *after;

	kernel_fake_fail(f->a.kernel, 5, 1, -EIO, "made of cheese");
	assert_int_equal(walk(f, WALK_START), -EIO);
	assert_true(event_has(&f->a, "made of cheese"));
	assert_int_equal(f->a.applied.number, 0);
	assert_null(sup_first(f->a.sup));
	after = host_json(f);
	assert_string_equal(after, before);
	free(before);
	free(after);
}

/* Somebody takes an address away right after it was all there. */
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
	assert_int_equal(walk(f, WALK_START), -ETIMEDOUT);
	assert_true(event_has(&f->a, "steps were rolled back"));
	assert_int_equal(f->a.applied.number, 0);
	assert_null(sup_first(f->a.sup));
	after = host_json(f);
	assert_string_equal(after, before);
	free(before);
	free(after);
	diag_done(&d);
}

/* Before the first write somebody makes the very address that is wanted; after the last one the
 * other leg's goes, so that the whole is rolled back. */
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

static void test_rollback_leaves_what_others_made(void **state)
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
	assert_int_equal(walk(f, WALK_START), -ETIMEDOUT);
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

/* A leg that is no longer asked for is given back as it was found. */
static void test_what_leaves_is_given_back(void **state)
{
	struct fixture *f = *state;
	char *before = host_json(f), *after;

	assert_int_equal(walk(f, WALK_START), 0);
	write_file(f, "host: host-a\n");
	assert_int_equal(walk(f, WALK_RELOAD), 0);
	after = host_json(f);
	assert_string_equal(after, before);
	free(before);
	free(after);
}

/* Killed once, in the middle; the host is as it was at that moment. */
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
	assert_int_equal(walk(f, WALK_START), -EINTR);
	assert_true(problem_has(&f->a, "killed by SIGKILL"));
	assert_true(
		problem_has(&f->a, "3 steps of an apply that was interrupted were rolled back"));
	assert_int_equal(f->a.applied.number, 0);
	after = host_json(f);
	assert_string_equal(after, before);
	assert_int_equal(access(f->a.journal, F_OK), -1);
	free(before);
	free(after);
}

/* What a killed agent left is rolled back before the first walk. */
static void test_start_recovers_first(void **state)
{
	struct fixture *f = *state;

	kernel_fake_on_write(f->a.kernel, die, f);
	assert_int_equal(walk(f, WALK_START), -EINTR);
	assert_int_equal(unlink(f->killed), 0);
	f->a.walk.of_files.blocked = false;
	walk_start(&f->a);
	wait_for_walk(f);
	assert_int_equal(f->a.walk.error, -EINTR);
	assert_int_equal(unlink(f->killed), 0);
	kernel_fake_on_write(f->a.kernel, NULL, NULL);
	walk_start(&f->a);
	wait_for_walk(f);
	assert_int_equal(f->a.state, AGENT_RUNNING);
}

/* A new agent on the same state directory. */
static void forget_all(struct fixture *f)
{
	sup_stop_all(f->a.sup);
	walk_round_done(&f->a.now);
}

static void test_bad_file_at_the_start(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(walk(f, WALK_START), 0);
	forget_all(f);
	write_file(f, "nonsense: 1\n");
	assert_int_equal(walk(f, WALK_START), 0);
	assert_non_null(a->now.spec);
	assert_int_equal(a->now.n_wants, 1);
	assert_int_equal(a->state, AGENT_DEGRADED);
	assert_true(problem_has(a, "nonsense"));
	write_file(f, HOST_YAML);
	assert_int_equal(walk(f, WALK_RELOAD), 0);
	assert_int_equal(a->state, AGENT_RUNNING);
}

/* What the files want and the host cannot do is tried again when the host has changed. */
static void test_refused_reload_is_tried_again(void **state)
{
	static const struct inv_core more[] = {{.id = 0, .online = true},
					       {.id = 1, .online = true},
					       {.id = 2, .online = true},
					       {.id = 3, .online = true},
					       {.id = 9, .online = true}};
	struct fixture *f = *state;
	struct agent *a = &f->a;
	struct inventory *inv = NULL, grown;

	assert_int_equal(walk(f, WALK_START), 0);
	write_file(f, HOST_YAML "  - {role: compute, cores: [9], transport: udp}\n");
	assert_int_equal(walk(f, WALK_RELOAD), -EINVAL);
	assert_int_equal(a->now.n_wants, 1);
	assert_int_equal(a->state, AGENT_DEGRADED);
	assert_int_equal(inv_copy(kernel_fake_inventory(a->kernel), &inv), 0);
	grown = *inv;
	grown.cores = (struct inv_core *)more;
	grown.n_cores = ARRAY_SIZE(more);
	assert_int_equal(kernel_fake_replace(a->kernel, &grown), 0);
	inv_free(inv);
	assert_int_equal(walk(f, WALK_KERNEL), 0);
	assert_int_equal(a->now.n_wants, 2);
	assert_int_equal(a->state, AGENT_RUNNING);
}

/* One that fails on the host is not tried again by the notifications that its rollback makes. */
static void test_failing_apply_does_not_spin(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	kernel_fake_fail(a->kernel, 5, 1, -EIO, "made of cheese");
	assert_int_equal(walk(f, WALK_START), -EIO);
	a->walk.n_writes = 0;
	walk_ask(a, WALK_KERNEL);
	assert_false(walk_is_active(a));
	assert_int_equal(a->walk.n_writes, 0);
	assert_true(loop_timer_armed(a->walk.debounce));
}

static bool wants_any(const struct agent *a)
{
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		if (w->wanted)
			return true;
	return false;
}

static void test_no_apply_revives_workers_in_a_stop(void **state)
{
	const struct walk_client nobody = {.id = 0};
	struct fixture *f = *state;
	struct agent *a = &f->a;

	assert_int_equal(walk(f, WALK_START), 0);
	remove_addr(f, HOST_VETH1, "10.20.1.10/16");
	walk_ask(a, WALK_KERNEL);
	assert_true(walk_is_active(a));
	walk_ask_client(a, &nobody);
	a->state = AGENT_STOPPING;
	walk_stop(a);
	sup_stop_all(a->sup);
	assert_false(wants_any(a));
	wait_for_walk(f);
	assert_int_equal(a->walk.error, -ESHUTDOWN);
	walk_ask_client(a, &nobody);
	walk_ask(a, WALK_RELOAD);
	assert_false(walk_is_active(a));
	assert_false(wants_any(a));
}

static bool has_action(const struct plan *p, const char *text)
{
	for (size_t i = 0; i < p->n_actions; i++)
		if (strcmp(p->actions[i].text, text) == 0)
			return true;
	return false;
}

static void test_actions(void **state)
{
	struct fixture *f = *state;
	const struct plan *p;

	assert_int_equal(walk(f, WALK_START), 0);
	p = f->a.now.plan;
	assert_int_equal(p->n_actions, 2);
	assert_true(has_action(p, "start worker 1 (compute on core 1)"));
	assert_true(has_action(p, "export x (/srv)"));
	assert_int_equal(walk(f, WALK_RELOAD), 0);
	assert_int_equal(f->a.now.plan->n_actions, 0);
	write_file(f,
		   HOST_YAML "  - {role: frontend, cores: [2], mounts: [{path: /m, from: h/x}]}\n"
			     "peers: [{name: h, ips: [10.10.1.99]}]\n");
	assert_int_equal(walk(f, WALK_RELOAD), 0);
	p = f->a.now.plan;
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

	assert_int_equal(walk(f, WALK_START), 0);
	assert_int_equal(status_collect(&f->a, &st), 0);
	o = status_to_json(&st);
	assert_string_equal(json_string_value(json_object_get(o, "state")), "running");
	assert_int_equal(json_array_size(json_object_get(o, "legs")), 2);
	json_decref(o);
	o = status_processes_to_json(&st);
	assert_int_equal(json_array_size(json_object_get(o, "processes")), 2);
	json_decref(o);
	o = status_net_to_json(&st);
	assert_int_equal(json_array_size(json_object_get(o, "net")), 2);
	json_decref(o);
	text = status_to_metrics(&st);
	assert_non_null(strstr(text, "plenum_applied_number 1\n"));
	assert_non_null(strstr(text, "plenum_worker_up{worker=\"1\",role=\"COMPUTE\"} 0\n"));
	free(text);
	status_done(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_start_and_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign_change_is_repaired, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_reload_changes_nothing_and_stays_a_problem,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_missing_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leg_goes_and_comes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_all_legs_go, setup, teardown),
		cmocka_unit_test_setup_teardown(test_worker_waits_for_a_leg, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_leg_is_left_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_step_leaves_all_as_it_was, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_unverified_is_rolled_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rollback_leaves_what_others_made, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_leaves_is_given_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed_applier_is_rolled_back, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_start_recovers_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_file_at_the_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_reload_is_tried_again, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_failing_apply_does_not_spin, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_apply_revives_workers_in_a_stop, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_actions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_status_texts, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
