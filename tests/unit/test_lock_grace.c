/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks over a reboot of the server's host: the agent's records of mounts on disk, the table that
 * they fill, and its grace period. The test plays the workers and their messages. A reboot is a new
 * table: of the old one nothing is left but the agent's file.
 */
#include "agent/supervise/handover/lock_records.h"
#include "dataplane/fuse/server/locks/lock_table.h"

#include "netcfg/base/os/memfd.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define S NSEC_PER_SEC

static char dir[] = "/tmp/test_lock_grace.XXXXXX";
static struct lock_records records;
static struct lock_table *t;
static struct lock_mount_ref mounts[3];
static int fd = -1;

static void join_as(unsigned i, bool can_reclaim)
{
	const uint8_t id[16] = {(uint8_t)(i + 1)};

	assert_int_equal(lock_mount_join(t, id, "host-a", "scratch", can_reclaim, 1, &mounts[i]),
			 0);
}

static void join(unsigned i)
{
	join_as(i, true);
}

/* The host starts, with the files of its disk. */
static void boot(void)
{
	memset(&records, 0, sizeof(records));
	assert_int_equal(lock_records_load(&records, dir), 0);
	fd = memfd_new_shared("locks", LAUNCH_LOCKS_BYTES);
	assert_true(fd >= 0);
	assert_int_equal(lock_records_check(&records, fd), 0);
	assert_int_equal(lock_table_map(fd, 1, &t), 0);
	lock_grace_tick(t, 10 * S); /* the first worker starts */
}

static void power_cut(void)
{
	t = lock_table_unmap(t);
	lock_records_done(&records);
	close(fd);
}

static int begin(void **state)
{
	(void)state;
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	assert_non_null(mkdtemp(dir));
	boot();
	for (unsigned i = 0; i < ARRAY_SIZE(mounts); i++)
		join(i);
	return 0;
}

static int end(void **state)
{
	char file[64];

	(void)state;
	power_cut();
	snprintf(file, sizeof(file), "%s/locks", dir);
	unlink(file);
	rmdir(dir);
	return 0;
}

/* ---- what workers do ---- */

static struct launch_msg message(uint32_t type, const struct lock_stable *of)
{
	struct launch_msg m = {.type = type, .index = of->index, .key = of->epoch};

	memcpy(m.mount_id, of->id, sizeof(m.mount_id));
	return m;
}

/* The agent writes its file and answers all requests. */
static void agent_saves(void)
{
	assert_int_equal(lock_records_save(&records), 0);
	for (unsigned i = 0; i < records.n_answers; i++) {
		const struct launch_msg *m = &records.answers[i].msg;
		struct lock_stable of = {.index = m->index, .epoch = m->key};

		memcpy(of.id, m->mount_id, sizeof(of.id));
		if (m->type == LAUNCH_MSG_LOCK_KEPT)
			assert_int_equal(lock_mount_kept(t, &of), 0);
		else
			assert_int_equal(lock_mount_forgotten(t, &of), 0);
	}
	records.n_answers = 0;
}

static void record(unsigned i)
{
	struct lock_stable of;
	struct launch_msg m;

	assert_int_equal(lock_mount_keep(t, &mounts[i], &of), 1);
	m = message(LAUNCH_MSG_LOCK_KEEP, &of);
	assert_true(lock_records_ask(&records, fd, 1, &m));
	agent_saves();
	assert_int_equal(lock_mount_keep(t, &mounts[i], &of), 0);
}

/* Removes the records of mounts whose locks are to be freed. Returns their number. */
static unsigned forget_leaving(void)
{
	struct lock_stable all[8];
	unsigned n = lock_mounts_leaving(t, all, ARRAY_SIZE(all));

	for (unsigned i = 0; i < n; i++) {
		struct launch_msg m = message(LAUNCH_MSG_LOCK_FORGET, &all[i]);

		assert_true(lock_records_ask(&records, fd, 1, &m));
	}
	agent_saves();
	return n;
}

static struct lock_request ask(unsigned i, uint64_t byte)
{
	return (struct lock_request){.dev = 1,
				     .ino = 7,
				     .owner = 100 + i,
				     .write = true,
				     .start = byte,
				     .end = byte,
				     .opener = 1,
				     .unique = 2 + 2 * i};
}

static int set(unsigned i, uint64_t byte, bool wait)
{
	struct lock_request q = ask(i, byte);

	return lock_set(t, &mounts[i], &q, wait);
}

static int reclaim(unsigned i, uint64_t byte)
{
	struct lock_request q = ask(i, byte);

	return lock_reclaim(t, &mounts[i], &q);
}

static int release(unsigned i, uint64_t byte)
{
	struct lock_request q = ask(i, byte);

	return lock_free(t, &mounts[i], &q);
}

static bool has_got(unsigned i)
{
	uint64_t granted[4];

	return lock_granted(t, &mounts[i], granted, 4) == 1;
}

/* ---- cases ---- */

static void without_records_no_grace_period_begins(void **state)
{
	(void)state;
	assert_false(lock_in_grace(t));
	assert_int_equal(set(0, 0, false), 0);
	power_cut();
	boot();
	assert_false(lock_in_grace(t));
}

static void a_recorded_mount_reclaims_its_lock(void **state)
{
	const uint64_t epoch = mounts[0].epoch;

	(void)state;
	record(0);
	assert_int_equal(set(0, 0, false), 0);
	power_cut();
	boot();
	join(0);
	join(1);
	assert_true(lock_in_grace(t) && mounts[0].reclaims && mounts[0].epoch == epoch);
	assert_false(mounts[1].reclaims);
	assert_int_equal(reclaim(0, 0), 0);
	assert_int_equal(lock_reclaim_end(t, &mounts[0]), 0);
	assert_false(lock_in_grace(t));
	assert_int_equal(set(1, 0, false), -EAGAIN);
	assert_int_equal(release(0, 0), 0);
	assert_int_equal(set(1, 0, false), 0);
	join(0);
	assert_false(mounts[0].reclaims);
}

static void in_the_grace_period_new_locks_wait(void **state)
{
	(void)state;
	record(0);
	record(1);
	power_cut();
	boot();
	join(0);
	join(1);
	join(2);
	assert_int_equal(set(2, 0, false), -EALREADY);
	assert_int_equal(set(2, 0, true), -EINPROGRESS);
	assert_int_equal(reclaim(0, 0), 0); /* the request that waits is not in the way */
	assert_int_equal(reclaim(0, 1), 0);
	assert_int_equal(reclaim(1, 1), -EAGAIN);
	assert_int_equal(reclaim(2, 5), -EINVAL);
	assert_int_equal(set(1, 0, false), -EAGAIN);
	assert_int_equal(lock_reclaim_end(t, &mounts[0]), 0);
	assert_int_equal(set(0, 3, false), -EALREADY); /* the other one may have it */
	assert_int_equal(reclaim(0, 3), -EINVAL);
	assert_int_equal(release(0, 0), 0);
	assert_false(has_got(2));
	assert_int_equal(lock_reclaim_end(t, &mounts[1]), 0);
	assert_true(has_got(2));
	assert_int_equal(set(0, 3, false), 0);
}

static void a_mount_that_does_not_come_back_loses_its_record_before_the_grace_period_ends(
	void **state)
{
	const uint64_t epoch = mounts[0].epoch;

	(void)state;
	record(0);
	record(1);
	power_cut();
	boot();
	join(1);
	assert_int_equal(lock_reclaim_end(t, &mounts[1]), 0);
	lock_grace_tick(t, 10 * S + LOCK_GRACE_NS - 1);
	assert_int_equal(forget_leaving(), 0);
	assert_true(lock_in_grace(t));
	lock_grace_tick(t, 10 * S + LOCK_GRACE_NS);
	assert_true(lock_in_grace(t)); /* the record is on disk */
	join(0);
	assert_false(mounts[0].reclaims || mounts[0].epoch == epoch);
	assert_true(lock_in_grace(t));
	assert_int_equal(forget_leaving(), 1);
	assert_false(lock_in_grace(t));
	assert_int_equal(set(0, 0, false), 0); /* by its new entry */
	power_cut();
	boot();
	join(0);
	assert_false(mounts[0].reclaims);
}

static void the_grace_period_ends_although_the_agent_cannot_remove_the_record(void **state)
{
	const uint64_t late = 10 * S + LOCK_GRACE_NS + LOCK_GRACE_RECORDS_NS;

	(void)state;
	record(0);
	record(1);
	power_cut();
	boot();
	join(1);
	assert_int_equal(lock_reclaim_end(t, &mounts[1]), 0);
	lock_grace_tick(t, 10 * S + LOCK_GRACE_NS);
	assert_int_equal(lock_grace_overdue(t, 10 * S + LOCK_GRACE_NS), 0); /* the agent is asked */
	lock_grace_tick(t, late - 1);
	assert_true(lock_in_grace(t));
	assert_int_equal(lock_grace_overdue(t, late - 1), 1);
	lock_grace_tick(t, late);
	assert_false(lock_in_grace(t));
	assert_int_equal(lock_grace_overdue(t, late), 1);
	assert_int_equal(set(1, 0, false), 0);
	join(0);
	assert_false(mounts[0].reclaims);      /* it is late */
	assert_int_equal(forget_leaving(), 1); /* the disk works again */
	assert_int_equal(lock_grace_overdue(t, late), 0);
	assert_int_equal(set(0, 0, false), -EAGAIN);
}

static void another_reboot_in_the_grace_period_changes_nothing(void **state)
{
	(void)state;
	record(0);
	record(1);
	power_cut();
	boot();
	join(0);
	assert_int_equal(reclaim(0, 0), 0);
	assert_int_equal(lock_reclaim_end(t, &mounts[0]), 0);
	power_cut();
	boot();
	join(0);
	join(1);
	assert_true(mounts[0].reclaims && mounts[1].reclaims);
	assert_int_equal(reclaim(0, 0), 0);
	assert_int_equal(lock_reclaim_end(t, &mounts[0]), 0);
	assert_true(lock_in_grace(t));
	assert_int_equal(lock_reclaim_end(t, &mounts[1]), 0);
	assert_false(lock_in_grace(t));
}

/* A client is cut off, its lease ends, another one gets the lock and frees it, the host reboots. */
static void a_mount_whose_lease_has_ended_cannot_reclaim(void **state)
{
	const uint64_t epoch = mounts[0].epoch;

	(void)state;
	record(0);
	assert_int_equal(set(0, 0, false), 0);
	assert_int_equal(set(1, 0, true), -EINPROGRESS);
	assert_int_equal(lock_mount_seen(t, &mounts[1], 1000), 0);
	assert_int_equal(lock_mount_seen(t, &mounts[2], 1000), 0);
	assert_int_equal(lock_mounts_expire(t, 1000), 1);
	assert_int_equal(set(0, 1, false), -ESTALE);
	assert_false(has_got(1)); /* while the record is on disk */
	assert_int_equal(lock_mounts_expire(t, 1000), 0);
	assert_int_equal(forget_leaving(), 1);
	assert_true(has_got(1));
	power_cut();
	boot();
	join(0);
	assert_false(mounts[0].reclaims || mounts[0].epoch == epoch);
}

static void a_late_request_does_not_write_a_record_that_was_removed(void **state)
{
	struct lock_stable of;
	struct launch_msg late;

	(void)state;
	assert_int_equal(lock_mount_keep(t, &mounts[0], &of), 1);
	late = message(LAUNCH_MSG_LOCK_KEEP, &of);
	lock_mount_leave(t, &mounts[0]);
	assert_false(lock_records_ask(&records, fd, 1, &late));
	assert_int_equal(forget_leaving(), 1);
	assert_false(lock_records_ask(&records, fd, 1, &late));
	late.index = UINT32_MAX;
	assert_false(lock_records_ask(&records, fd, 1, &late));
	agent_saves();
	power_cut();
	boot();
	assert_false(lock_in_grace(t));
}

static void a_mount_with_a_broken_lock_has_no_record_any_more(void **state)
{
	struct lock_stable of;
	struct launch_msg m;

	(void)state;
	record(0);
	assert_int_equal(lock_mount_spoil(t, &mounts[0], &of), 1);
	m = message(LAUNCH_MSG_LOCK_FORGET, &of);
	assert_true(lock_records_ask(&records, fd, 1, &m));
	agent_saves();
	assert_int_equal(lock_mount_spoil(t, &mounts[0], &of), 0);
	assert_int_equal(lock_mount_keep(t, &mounts[0], &of), 0);
	m.type = LAUNCH_MSG_LOCK_KEEP;
	assert_false(lock_records_ask(&records, fd, 1, &m));
	assert_int_equal(set(0, 0, false), 0); /* its other locks work */
	power_cut();
	boot();
	assert_false(lock_in_grace(t));
}

static void an_old_client_does_not_keep_the_others_waiting(void **state)
{
	const uint64_t epoch = mounts[0].epoch;

	(void)state;
	record(0);
	power_cut();
	boot();
	join_as(0, false);
	assert_false(mounts[0].reclaims || mounts[0].epoch == epoch);
	assert_int_equal(forget_leaving(), 1);
	assert_false(lock_in_grace(t));
}

static void a_new_agent_keeps_the_table_and_its_records(void **state)
{
	(void)state;
	record(0);
	record(1);
	assert_int_equal(set(0, 0, false), 0);
	/* The record of mount 1 remains though its entry is gone, as by a defect. */
	lock_mount_leave(t, &mounts[1]);
	lock_mount_forgotten(
		t, &(struct lock_stable){.index = mounts[1].index, .epoch = mounts[1].epoch, {2}});
	lock_records_done(&records);
	assert_int_equal(lock_records_load(&records, dir), 0);
	assert_int_equal(records.n, 2);
	assert_int_equal(lock_records_check(&records, fd), 0);
	assert_false(lock_in_grace(t));
	assert_int_equal(records.n, 1);
	assert_int_equal(set(1, 0, false), -ESTALE);
	assert_int_equal(set(2, 0, false), -EAGAIN);
}

static void a_table_without_an_agent_has_no_records(void **state)
{
	const uint8_t id[16] = {9};
	struct lock_mount_ref m;
	struct lock_table *own;
	struct lock_stable of;

	(void)state;
	assert_int_equal(lock_table_map(-1, 1, &own), 0);
	assert_int_equal(lock_mount_join(own, id, "", "", true, 1, &m), 0);
	assert_int_equal(lock_mount_keep(own, &m, &of), 0);
	lock_table_unmap(own);
}

static void a_damaged_file_counts_as_no_records(void **state)
{
	char path[64];
	FILE *f;

	(void)state;
	record(0);
	snprintf(path, sizeof(path), "%s/locks", dir);
	f = fopen(path, "a");
	assert_non_null(f);
	fputs("mount 01\n", f);
	fclose(f);
	lock_records_done(&records);
	assert_true(lock_records_load(&records, dir) < 0);
	assert_int_equal(records.n, 0);
}

/* Without space on the disk, a record that must go is removed with all others. */
static void a_record_is_removed_even_if_the_file_cannot_be_written(void **state)
{
	char path[64];

	(void)state;
	record(0);
	record(1);
	snprintf(path, sizeof(path), "%s/locks.new", dir);
	assert_int_equal(mkdir(path, 0700), 0); /* the new file cannot be made */
	lock_mount_leave(t, &mounts[0]);
	assert_int_equal(forget_leaving(), 1);
	rmdir(path);
	power_cut();
	boot();
	assert_false(lock_in_grace(t));
}

static void a_request_is_not_answered_if_the_file_cannot_be_written(void **state)
{
	struct lock_stable of;
	struct launch_msg m;
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/locks.new", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(lock_mount_keep(t, &mounts[0], &of), 1);
	m = message(LAUNCH_MSG_LOCK_KEEP, &of);
	assert_true(lock_records_ask(&records, fd, 1, &m));
	assert_true(lock_records_save(&records) < 0);
	records.n_answers = 0;
	rmdir(path);
	assert_true(lock_records_ask(&records, fd, 1, &m)); /* the worker asks again */
	agent_saves();
	power_cut();
	boot();
	assert_true(lock_in_grace(t));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(without_records_no_grace_period_begins),
		TEST(a_recorded_mount_reclaims_its_lock),
		TEST(in_the_grace_period_new_locks_wait),
		TEST(a_mount_that_does_not_come_back_loses_its_record_before_the_grace_period_ends),
		TEST(the_grace_period_ends_although_the_agent_cannot_remove_the_record),
		TEST(another_reboot_in_the_grace_period_changes_nothing),
		TEST(a_mount_whose_lease_has_ended_cannot_reclaim),
		TEST(a_late_request_does_not_write_a_record_that_was_removed),
		TEST(a_mount_with_a_broken_lock_has_no_record_any_more),
		TEST(an_old_client_does_not_keep_the_others_waiting),
		TEST(a_new_agent_keeps_the_table_and_its_records),
		TEST(a_table_without_an_agent_has_no_records),
		TEST(a_damaged_file_counts_as_no_records),
		TEST(a_record_is_removed_even_if_the_file_cannot_be_written),
		TEST(a_request_is_not_answered_if_the_file_cannot_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
