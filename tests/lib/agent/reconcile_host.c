/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements reconcile_host.h. */
#include "tests/lib/agent/reconcile_host.h"
#include "agent/base/path.h"
#include "netcfg/base/file.h"
#include "netcfg/base/os/folder.h"

/* ---- the host, which the applier changes as a separate process ---- */

char *read_text(const char *path)
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

void host_save(struct fixture *f)
{
	autofree char *text = inv_to_json(kernel_fake_inventory(f->a.kernel));

	assert_int_equal(file_write(f->host, text, strlen(text), 0600), 0);
}

void host_load(struct fixture *f)
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

struct fixture *reconcile_fixture;
static int (*collect)(struct kernel *k, struct diag *d, struct inventory *inv);

static int load_and_collect(struct kernel *k, struct diag *d, struct inventory *inv)
{
	host_load(reconcile_fixture);
	return collect(k, d, inv);
}

static void host_watch_appliers(struct fixture *f)
{
	static struct kernel_ops ops;

	reconcile_fixture = f;
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

void write_file(struct fixture *f, const char *text)
{
	assert_int_equal(file_write(f->file, text, strlen(text), 0600), 0);
}

const char reconcile_worker[] = "#!/bin/sh\nexec tail -f /dev/null\n";

int reconcile_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct agent *a = &f->a;
	struct sup_setup sup;
	struct reason why;
	pid_t owner;

	plugins_register();
	log_set_level(LOG_LEVEL_ERR);
	strcpy(f->dir, "/tmp/plenum-reconcile-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->file, sizeof(f->file), "%s/plenum.yaml", f->dir);
	snprintf(f->state_dir, sizeof(f->state_dir), "%s/state", f->dir);
	snprintf(f->host, sizeof(f->host), "%s/host.json", f->dir);
	snprintf(f->worker, sizeof(f->worker), "%s/worker", f->dir);
	snprintf(f->killed, sizeof(f->killed), "%s/killed", f->dir);
	write_file(f, HOST_YAML);
	assert_int_equal(file_write(f->worker, reconcile_worker, strlen(reconcile_worker), 0700),
			 0);
	f->inv = host_new();
	assert_int_equal(kernel_fake_new(f->inv, &a->kernel), 0);
	host_watch_appliers(f);
	assert_int_equal(loop_new(&a->loop), 0);
	assert_int_equal(rundir_open(f->dir, f->state_dir, &a->rundir, &owner, &why), 0);
	assert_int_equal(store_init(&a->store, f->file, f->state_dir), 0);
	assert_int_equal(mounts_new(&(struct mounts_setup){.rundir = &a->rundir,
							   .loop = a->loop,
							   .events = &a->events},
				    &a->mounts),
			 0);
	events_init(&a->events);
	sup = (struct sup_setup){.loop = a->loop,
				 .events = &a->events,
				 .mounts = a->mounts,
				 .rundir = &a->rundir,
				 .carriers = &a->carriers,
				 .labels = &a->labels,
				 .faults = &a->faults,
				 .worker_path = f->worker,
				 .on_trial = reconcile_on_trial,
				 .user = a};
	assert_int_equal(sup_new(&sup, &a->sup), 0);
	a->journal = path_join(f->state_dir, "journal");
	a->verify_ns = NSEC_PER_MSEC;
	a->applier_host =
		(struct applier_host){.open = applier_opens, .close = applier_closes, .user = f};
	assert_int_equal(reconcile_init(a, NULL), 0);
	*state = f;
	return 0;
}

int reconcile_teardown(void **state)
{
	struct fixture *f = *state;
	struct agent *a = &f->a;

	reconcile_done(a);
	sup_stop_all(a->sup); /* otherwise the workers would keep running for another agent */
	sup_kill_all(a->sup);
	sup_free(a->sup);
	mounts_free(a->mounts);
	loop_free(a->loop);
	kernel_free(a->kernel);
	generation_swap(a, &(struct generation){0});
	plan_failures_clear(&a->failures);
	carriers_done(&a->carriers);
	problems_done(&a->problems);
	health_done(&a->health);
	latency_done(&a->latency);
	json_decref(a->actions_reported);
	store_done(&a->store);
	rundir_done(&a->rundir);
	free(a->journal);
	inv_free(f->inv);
	folder_remove(f->dir);
	free(f);
	return 0;
}

void wait_for_reconcile(struct fixture *f)
{
	while (reconcile_is_active(&f->a))
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
}

int reconcile_now(struct fixture *f, enum reconcile_trigger t)
{
	reconcile_ask(&f->a, t);
	wait_for_reconcile(f);
	return f->a.reconcile.run.error;
}

void turn_until_pending(struct fixture *f)
{
	while (!f->a.reconcile.pending.applier || reconcile_is_active(&f->a))
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
}

void turn_until_decided(struct fixture *f)
{
	while (f->a.reconcile.pending.applier || reconcile_is_active(&f->a))
		assert_true(loop_turn(f->a.loop, 10 * NSEC_PER_SEC) > 0);
}

struct sup_worker *host_worker(struct fixture *f)
{
	return (struct sup_worker *)sup_first(f->a.sup);
}

struct launch_stats *host_serve(struct sup_worker *w)
{
	struct launch_stats *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	if (w->stats)
		munmap((void *)w->stats, sizeof(*page));
	w->stats = page;
	w->state = SUP_UP;
	w->up_since_ns = clock_now_ns();
	page->heartbeat_ns = UINT64_MAX; /* the worker must never count as stuck */
	page->n_paths = 1;
	snprintf(page->paths[0].leg, sizeof(page->paths[0].leg), "leg-a");
	snprintf(page->paths[0].peer, sizeof(page->paths[0].peer), "host-b");
	snprintf(page->paths[0].remote, sizeof(page->paths[0].remote), "10.10.1.20");
	page->paths[0].up = 1;
	page->paths[0].mtu = page->paths[0].mtu_found = page->paths[0].mtu_most = 9000;
	page->paths[0].rx_packets = 100;
	return page;
}

void restart_agent(struct fixture *f)
{
	struct agent *a = &f->a;

	reconcile_done(a);
	a->reconcile = (struct reconcile){.state = RECONCILE_IDLE};
	assert_int_equal(sup_reconcile(a->sup, NULL, 0, false), 0);
	generation_swap(a, &(struct generation){0});
	assert_int_equal(reconcile_init(a, NULL), 0);
}

bool event_has(const struct agent *a, const char *text)
{
	for (uint64_t i = 1; i < a->events.next; i++)
		if (strstr(a->events.ring[i % EVENTS_KEPT].text, text))
			return true;
	return false;
}

bool problem_has(const struct agent *a, const char *text)
{
	for (size_t i = 0; i < a->problems.n_all; i++)
		if (strstr(a->problems.all[i], text))
			return true;
	return false;
}

void assert_only_problem(const struct agent *a, const char *text)
{
	for (size_t i = 0; i < a->problems.n_all; i++)
		if (!strstr(a->problems.all[i], text))
			print_error("another problem: %s\n", a->problems.all[i]);
	assert_true(problem_has(a, text));
	assert_int_equal(a->problems.n_all, 1);
}
