/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An upgrade loses no record: the files in old-records are as an agent of the commit 60dec88 wrote
 * them, before records had one format. Each is read in full, and written and read again in today's.
 */
#include "agent/apply/apply_records.h"
#include "agent/apply/history.h"
#include "agent/lldp/neighbours.h"
#include "agent/supervise/handover/rundir.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/boot_stamp.h"
#include "netcfg/plan/plan_owned.h"
#include "netcfg/plan/transport_choice.h"
#include "netcfg/plan/worker/plan_worker_ids.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char dir[64], path[128];

static int setup(void **state)
{
	strcpy(dir, "/tmp/plenum-old-records-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	static const char *const names[] = {"record", "plenumd.lock", "plenumd.pid", "epoch",
					    "history"};

	unlink(path);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

/* Copies an old file to `path`, as if written in this boot and network namespace. */
static void take_old(const char *name)
{
	autofree char *from = NULL, *text = NULL;
	char here[BOOT_STAMP_TEXT_MAX], *stamp;
	FILE *f;
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_true(asprintf(&from, TOP_SRCDIR "/tests/unit/old-records/%s", name) > 0);
	assert_int_equal(file_read(from, 65536, &text, &len), 0);
	stamp = strstr(text, "boot ");
	if (stamp && (stamp > strchr(text, '\n') || strncmp(text, "plenum-", 7) != 0))
		stamp = NULL;
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "%.*s%s%s", stamp ? (int)(stamp - text) : (int)len, text,
		stamp ? boot_stamp_text(here, sizeof(here)) : "",
		stamp ? stamp + strcspn(stamp, "\n") : "");
	assert_int_equal(fclose(f), 0);
}

static void assert_has_sum(void)
{
	autofree char *text = NULL;
	size_t len;

	assert_int_equal(file_read(path, 65536, &text, &len), 0);
	assert_non_null(strstr(text, " sum "));
}

static void test_owned_values(void **state)
{
	struct plan_owned o = {.path = NULL};
	struct diag d = DIAG_INIT;

	take_old("owned");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(plan_owned_load(&o, path, &d), 0);
		assert_int_equal(d.n, 0);
		assert_int_equal(o.n, 7);
		assert_int_equal(o.steps[0].change.ifindex, 3);
		assert_string_equal(o.steps[6].link, "v0");
		assert_int_equal(plan_owned_prepare(&o, path), 0);
		assert_int_equal(file_commit(path), 0);
		assert_has_sum();
	}
	plan_owned_done(&o);
	diag_done(&d);
}

static void test_worker_ids(void **state)
{
	struct plan_worker_ids p = {.n = 0};
	struct plan_worker workers[] = {{.id = 1, .core = 2}, {.id = 2, .core = 7}};
	const struct plan plan = {.workers = workers, .n_workers = 2};
	struct diag d = DIAG_INIT;

	take_old("workers");
	assert_int_equal(plan_worker_ids_load(&p, path, &d), 0);
	assert_int_equal(p.n, 3);
	assert_int_equal(p.entries[2].core, 3);
	assert_int_equal(p.entries[2].id, 9);
	assert_int_equal(plan_worker_ids_save(&p, path, &plan), 0);
	assert_has_sum();
	assert_int_equal(plan_worker_ids_load(&p, path, &d), 0);
	assert_int_equal(p.n, 2);
	assert_int_equal(p.entries[1].core, 7);
	assert_int_equal(p.entries[1].id, 2);
	assert_int_equal(d.n, 0);
	plan_worker_ids_done(&p);
	diag_done(&d);
}

static void test_accepted_transports(void **state)
{
	struct transport_choice a = {.n = 0};
	const struct transport_choice_entry *e;

	take_old("agreed");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(transport_choice_load(&a, path), 0);
		assert_int_equal(a.n, 3);
		assert_int_equal(transport_choice_transport(&a, 2), SPEC_TRANSPORT_DPDK);
		e = transport_choice_find(&a, 2, "leg-a", "3c:ec:ef:00:00:01");
		assert_non_null(e);
		assert_int_equal(e->vf, 3);
		assert_non_null(transport_choice_find(&a, 2, "leg-b", "0000:01:00.1"));
		assert_int_equal(transport_choice_save(&a, path), 0);
		assert_has_sum();
	}
	transport_choice_done(&a);
}

static void test_failed_attempts(void **state)
{
	const struct plan_worker w = {.id = 3, .core = 5, .asked = SPEC_TRANSPORT_DPDK};
	struct plan_failures f = {0};

	take_old("attempts");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(plan_failures_load(&f, path), 0);
		assert_int_equal(f.n + f.n_refusals, 2);
		assert_non_null(plan_failures_find(&f, &w));
		assert_non_null(plan_failures_find_vfs(&f, "0000:01:00.0", 64));
		assert_int_equal(plan_failures_save(&f, path), 0);
		assert_has_sum();
	}
	plan_failures_clear(&f);
}

static void test_workers_and_mounts(void **state)
{
	struct rundir_process p = {.pid = getpid(), .worker_id = 4};
	struct rundir rd;
	struct reason why;
	pid_t owner;

	take_old("record");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rundir_open(dir, dir, &rd, &owner, &why), 0);
		assert_int_equal(rd.record_error, 0);
		assert_int_equal(rd.n_processes, 1 + i);
		assert_int_equal(rd.processes[0].pid, 6496);
		assert_int_equal(rd.processes[0].start_time, 1681628);
		assert_int_equal(rd.processes[0].worker_id, 3);
		assert_int_equal(rd.processes[0].launch_version, 19);
		assert_int_equal(rd.processes[0].n_restarts, 5);
		assert_int_equal(rd.processes[0].n_fuse, 2);
		assert_memory_equal(rd.processes[0].fuse[1].id, "123456789abcdef", 16);
		assert_int_equal(rd.processes[0].fuse[0].state_fd, 10);
		assert_int_equal(rd.processes[0].fuse[1].state_fd, -1);
		assert_int_equal(rd.processes[0].n_shared, 1);
		assert_int_equal(rd.processes[0].shared[0].fd, 20);
		assert_int_equal(rd.processes[0].n_states, 2);
		assert_string_equal(rd.processes[0].states[1].export, "home");
		assert_int_equal(rd.n_mounts, 2);
		assert_string_equal(rd.mounts[0].path, "/mnt/my data");
		assert_string_equal(rd.mounts[0].what.path, "/mnt/my data");
		assert_true(rd.mounts[0].what.suid && !rd.mounts[0].what.read_only);
		assert_string_equal(rd.mounts[1].path, "/home/back\\slash");
		assert_string_equal(rd.mounts[1].what.peer, "host-c");
		assert_true(rd.mounts[1].what.dev && rd.mounts[1].what.read_only);
		assert_int_equal(rd.mounts[1].minor, 53);
		assert_int_equal(rundir_add_process(&rd, &p), 0);
		assert_has_sum();
		rundir_done(&rd);
	}
}

static void test_the_epoch(void **state)
{
	struct rundir rd = {.lock = RUN_LOCK_NONE, .state = dir};

	take_old("epoch");
	/* The clock may be behind: the stored epoch counts. */
	assert_true(rundir_next_epoch(&rd) > 1795807121);
	assert_has_sum();
	rd.epoch = 0;
	assert_true(rundir_next_epoch(&rd) > 1795807122);
}

static void test_the_history(void **state)
{
	const struct history_entry *e;
	struct history h;

	take_old("history");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(history_open(&h, dir), 0);
		assert_int_equal(h.n, 3 + i);
		assert_int_equal(h.next, 4 + i);
		e = history_find(&h, 2);
		assert_non_null(e);
		assert_int_equal(e->time_s, 1795807121);
		assert_int_equal(e->steps, 3);
		assert_int_equal(e->outcome, HISTORY_ROLLED_BACK);
		assert_string_equal(e->by, "plenumd");
		assert_string_equal(e->what, "files, at agent start");
		assert_string_equal(e->text, "not confirmed within 60 s or so");
		assert_int_equal(history_find(&h, 3)->outcome, HISTORY_WAITING);
		assert_int_equal(history_begin(&h, "", "files"), 4 + i);
		assert_has_sum();
		history_done(&h);
	}
}

static void test_neighbours(void **state)
{
	struct neighbours t = {.n = 0};
	const struct neighbour *n;
	char ip[IP_ADDR_STR_MAX];

	take_old("neighbours");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(neighbours_load(&t, path), 0);
		assert_int_equal(t.n, 2);
		assert_int_equal(t.links[0].ifindex, 3);
		assert_string_equal(t.links[0].ifname, "eth3");
		assert_int_equal(t.links[0].n, 1);
		n = &t.links[0].all[0];
		assert_string_equal(n->said.chassis, "00:1b:21:aa:bb:cc");
		assert_string_equal(n->said.port, "Ethernet 1/7");
		assert_string_equal(n->said.name, "switch a");
		assert_string_equal(n->said.port_about, "to host-a");
		ip_addr_format(&n->said.management, ip, sizeof(ip));
		assert_string_equal(ip, "192.0.2.7");
		assert_int_equal(n->said.vlan, 10);
		assert_int_equal(n->said.mtu, 9216);
		assert_int_equal(n->said.capabilities, 20);
		assert_int_equal(n->said.aggregation, 7);
		assert_int_equal(n->said.pfc, LLDP_PFC_SAID | 1 << 3);
		assert_int_equal(n->heard_ns, 5000000000);
		assert_int_equal(n->until_ns, 125000000000);
		assert_true(n->remembered);
		assert_string_equal(t.links[1].all[0].said.chassis, "x");
		assert_int_equal(neighbours_save(&t, path), 0);
		assert_has_sum();
		neighbours_done(&t);
	}
}

static void test_the_outcome_of_an_apply(void **state)
{
	struct reason why;
	uint64_t number;
	int error;

	take_old("outcome");
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(apply_outcome_load(path, &number, &error, &why), 0);
		assert_int_equal(number, 3);
		assert_int_equal(error, -ECANCELED);
		assert_string_equal(why.text, "nobody confirmed it within 2 s");
		assert_int_equal(apply_outcome_save(path, number, error, why.text), 0);
		assert_has_sum();
	}
}

static void test_the_rolled_back_configuration(void **state)
{
	struct reason why;

	take_old("rolled-back");
	for (unsigned i = 0; i < 2; i++) {
		autofree char *yaml = NULL;

		assert_int_equal(apply_refused_load(path, &why, &yaml), 0);
		assert_string_equal(why.text,
				    "apply 3 (files, by uid 0, pid 4579) was rolled back: nobody "
				    "confirmed it within 2 s; 'plenum plan' shows it, 'plenum "
				    "apply' tries it again");
		assert_int_equal(strncmp(yaml, "host: host-a\nport: 7411\n", 24), 0);
		assert_non_null(strstr(yaml, "\n  write-min-kib: 256\n"));
		assert_int_equal(apply_refused_save(path, why.text, yaml), 0);
		assert_has_sum();
	}
}

/* The ticket of an apply that waits for its confirmation during the upgrade. */
static void test_the_ticket(void **state)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	autofree char *config = NULL, *agreed = NULL;
	struct transport_choice a = {.n = 0};

	take_old("pending");
	assert_int_equal(state_file_read(&f, &apply_ticket_kind, path), 0);
	assert_true(state_file_line(&f));
	state_file_expect(&f, "apply");
	assert_int_equal(state_file_number(&f, 9), 2);
	state_file_expect(&f, "staged");
	assert_int_equal(state_file_number(&f, 99), 60);
	assert_int_equal(state_file_number(&f, 99), 4);
	assert_true(state_file_line_ends(&f) && state_file_line(&f));
	state_file_expect(&f, "by");
	assert_string_equal(state_file_text(&f), "uid 0, pid 4120");
	assert_true(state_file_line_ends(&f));
	config = state_file_block(&f, "config");
	assert_int_equal(strncmp(config, "host: host-a\nport: 7411\n", 24), 0);
	assert_non_null(strstr(config, "\n  write-min-kib: 256\n"));
	agreed = state_file_block(&f, "agreed");
	assert_int_equal(transport_choice_parse(&a, agreed), 0);
	assert_int_equal(a.n, 0);
	transport_choice_done(&a);
}

/* All comments that such a ticket may have. */
static void test_the_comments_of_a_ticket(void **state)
{
	static const char old[] =
		"# plenum-pending 1 7 files 0 12\n# plenumd\n"
		"# agreed plenum-agreed 1 boot x netns 1\n# agreed core 2 transport dpdk\n"
		"# makes VFs of enp1s0f0\n# takes workers to VFs alone\n"
		"# answered worker 1 role 0 dpdk 1 full 0 leg leg-a peer host-b alone\nhost: a\n";
	static const char *const lines[] = {
		"apply 7 files 0 12",
		"by plenumd",
		"agreed plenum-agreed 1 boot x netns 1",
		"agreed core 2 transport dpdk",
		"vfs-of enp1s0f0",
		"moves alone",
		"answered worker 1 role 0 dpdk 1 full 0 leg leg-a peer host-b alone",
		"config host: a"};
	PLENUM_CLEANUP(state_file_done) struct state_file f;

	assert_int_equal(state_file_parse(&f, &apply_ticket_kind, old), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_true(state_file_line(&f));
		assert_string_equal(state_file_text(&f), lines[i]);
	}
	assert_false(state_file_line(&f));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_owned_values),
		CASE(test_worker_ids),
		CASE(test_accepted_transports),
		CASE(test_failed_attempts),
		CASE(test_workers_and_mounts),
		CASE(test_the_epoch),
		CASE(test_the_history),
		CASE(test_neighbours),
		CASE(test_the_outcome_of_an_apply),
		CASE(test_the_rolled_back_configuration),
		CASE(test_the_ticket),
		CASE(test_the_comments_of_a_ticket),
	};

	return cmocka_run_group_tests_name("old_records", tests, NULL, NULL);
}
