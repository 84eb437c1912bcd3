/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock table of the server: locks that operators break, processes that keep it or begin
 * together, and the agent's view of a table that a worker may have spoilt. */
#include "agent/supervise/handover/lock_view.h"
#include "dataplane/fuse/server/locks/lock_table.h"

#include "netcfg/base/os/memfd.h"
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct lock_table *t;
static struct lock_mount_ref mounts[2]; /* with two owners each */
static int fd;

static uint32_t random_below(uint32_t n)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 33) % n;
}

static void join(unsigned i)
{
	const uint8_t id[16] = {(uint8_t)(i + 1)};

	assert_int_equal(lock_mount_join(t, id, i == 0 ? "host-a" : "host-c", "scratch", true, 1,
					 &mounts[i]),
			 0);
}

static struct lock_view view; /* what the agent shows */

static int begin(void **state)
{
	(void)state;
	fd = memfd_new_shared("locks", LAUNCH_LOCKS_BYTES);
	assert_true(fd >= 0);
	assert_int_equal(lock_table_map(fd, 3, &t), 0);
	join(0);
	join(1);
	return 0;
}

static int end(void **state)
{
	(void)state;
	t = lock_table_unmap(t);
	lock_view_done(&view);
	close(fd);
	return 0;
}

static struct lock_request ask(unsigned owner, bool write, uint64_t start, uint64_t last)
{
	return (struct lock_request){.dev = 1,
				     .ino = 7,
				     .owner = 100 + owner,
				     .write = write,
				     .start = start,
				     .end = last,
				     .pid = owner,
				     .opener = owner + 1};
}

static int set(unsigned owner, bool write, uint64_t start, uint64_t last, bool wait)
{
	static uint64_t unique;
	struct lock_request q = ask(owner, write, start, last);

	q.unique = ++unique;
	return lock_set(t, &mounts[owner / 2], &q, wait);
}

static int release(unsigned owner, uint64_t start, uint64_t last)
{
	struct lock_request q = ask(owner, false, start, last);

	return lock_free(t, &mounts[owner / 2], &q);
}

/* Returns how many locks the agent shows, without requests that wait. */
static unsigned held(void)
{
	unsigned n = 0;

	lock_view_done(&view);
	assert_int_equal(lock_view_read(fd, LOCKS_RECORDS, &view), 0);
	for (size_t i = 0; i < view.n; i++)
		n += view.all[i].state != LOCK_WAITING;
	return n;
}

/* Sets a lock of an owner of mount m on a file. */
static int set_on(unsigned m, uint64_t ino, uint64_t owner, bool write, bool wait)
{
	static uint64_t unique = 1ULL << 32;
	struct lock_request q = ask(0, write, 0, LOCK_END_MAX);

	q.ino = ino;
	q.owner = owner;
	q.unique = ++unique;
	return lock_set(t, &mounts[m], &q, wait);
}

/* ------------------------------------------------------------------ locks that are broken */

static void test_a_broken_lock_goes_to_others_when_its_mount_has_no_earlier_requests(void **state)
{
	struct lock_breaking all[LOCK_BREAKS_MAX];
	uint64_t granted[4], id;
	uint32_t before, after;

	(void)state;
	assert_int_equal(set(0, true, 0, 9, true), 0);
	assert_int_equal(set(2, true, 0, 9, true), -EINPROGRESS);
	assert_int_equal(held(), 1);
	id = view.all[0].id;
	assert_true(lock_mount_is_current(t, &mounts[0], &before));
	assert_int_equal(lock_break(t, view.all[1].id), -EAGAIN); /* it only waits */
	assert_int_equal(lock_break(t, id + 1000), -ENOENT);
	assert_int_equal(lock_break(t, id), 0);
	assert_int_equal(lock_break(t, id), -EALREADY);
	assert_true(lock_mount_is_current(t, &mounts[0], &after));
	assert_int_not_equal(before, after);
	/* Until the worker of the mount says that it is over, the lock excludes others. */
	assert_int_equal(set(3, true, 5, 5, false), -EAGAIN);
	assert_int_equal(lock_granted(t, &mounts[1], granted, 4), 0);
	assert_int_equal(lock_breaks(t, &mounts[0], all), 1);
	assert_true(all[0].id == id && all[0].dev == 1 && all[0].ino == 7);
	assert_true(lock_reopened(t, &mounts[0], 1, 7, 12));
	assert_false(lock_reopened(t, &mounts[1], 1, 7, 11));
	assert_int_equal(lock_break_end(t, &mounts[0], id), 0);
	assert_int_equal(lock_break_end(t, &mounts[0], id), -ENOENT);
	assert_int_equal(lock_granted(t, &mounts[1], granted, 4), 1);
	assert_int_equal(lock_breaks(t, &mounts[0], all), 0);
	/* The record stays until the file is closed. */
	held();
	assert_int_equal(view.n, 2);
	assert_int_equal(view.all[1].state, LOCK_BROKEN);
	assert_int_equal(view.all[1].fd, 11);
	assert_true(lock_reopened(t, &mounts[0], 1, 7, 12));
	assert_int_equal(lock_free_opener(t, &mounts[0], 1), 0);
	assert_int_equal(held(), 1);
	assert_false(lock_reopened(t, &mounts[0], 1, 7, 12));
}

static void test_a_close_by_the_owner_ends_its_broken_locks(void **state)
{
	struct lock_request q = ask(0, true, 0, 9);

	(void)state;
	assert_int_equal(set(0, true, 0, 9, true), 0);
	held();
	assert_int_equal(lock_break(t, view.all[0].id), 0);
	assert_int_equal(lock_break_end(t, &mounts[0], view.all[0].id), 0);
	assert_int_equal(lock_free_owner(t, &mounts[0], &q), 0);
	assert_int_equal(held(), 0);
}

static void test_few_locks_of_a_mount_are_broken_at_a_time(void **state)
{
	(void)state;
	for (unsigned i = 0; i <= LOCK_BREAKS_MAX; i++)
		assert_int_equal(set(0, true, 2ULL * i, 2ULL * i, true), 0);
	assert_int_equal(held(), LOCK_BREAKS_MAX + 1);
	for (unsigned i = 0; i < LOCK_BREAKS_MAX; i++)
		assert_int_equal(lock_break(t, view.all[i].id), 0);
	assert_int_equal(lock_break(t, view.all[LOCK_BREAKS_MAX].id), -ENOSPC);
	lock_mount_leave(t, &mounts[0]);
	assert_int_equal(held(), 0);
}

static void begin_break(uint64_t *ret_id)
{
	held();
	*ret_id = view.all[0].id;
	assert_int_equal(lock_break(t, *ret_id), 0);
}

static void test_its_owner_cannot_merge_or_split_a_lock_that_is_being_broken(void **state)
{
	struct lock_breaking all[LOCK_BREAKS_MAX];
	uint64_t granted[4], id;

	(void)state;
	assert_int_equal(set(0, true, 0, 9, true), 0);
	begin_break(&id);
	assert_int_equal(set(0, true, 5, 5, false), -EAGAIN);
	assert_int_equal(set(0, false, 5, 5, false), -EAGAIN);
	assert_int_equal(set(0, true, 10, 19, false), 0);
	assert_int_equal(release(0, 3, 4), 0);
	assert_int_equal(lock_breaks(t, &mounts[0], all), 1);
	assert_true(all[0].id == id);
	assert_int_equal(held(), 2);
	assert_int_equal(set(2, true, 0, 9, true), -EINPROGRESS);
	assert_int_equal(lock_break_end(t, &mounts[0], id), 0);
	assert_int_equal(lock_granted(t, &mounts[1], granted, 4), 1);
}

static void test_an_owner_that_frees_all_its_locks_ends_their_break(void **state)
{
	struct lock_request q = ask(0, true, 0, 9);
	uint64_t id;

	(void)state;
	assert_int_equal(set(0, true, 0, 9, true), 0);
	begin_break(&id);
	assert_int_equal(lock_free_owner(t, &mounts[0], &q), 0);
	assert_int_equal(held(), 0);
	assert_int_equal(lock_break_end(t, &mounts[0], id), -ENOENT);
	assert_int_equal(set(2, true, 0, 9, false), 0);
}

static void test_a_flock_that_is_being_broken_is_not_converted(void **state)
{
	struct lock_request q = ask(0, true, 0, LOCK_END_MAX);
	struct lock_breaking all[LOCK_BREAKS_MAX];
	uint64_t id;

	(void)state;
	q.flock = true;
	assert_int_equal(lock_set(t, &mounts[0], &q, false), 0);
	begin_break(&id);
	q.write = false;
	assert_int_equal(lock_set(t, &mounts[0], &q, false), -EAGAIN);
	assert_int_equal(lock_breaks(t, &mounts[0], all), 1);
	assert_true(all[0].id == id);
}

static void test_a_lock_that_is_being_broken_is_in_no_deadlock(void **state)
{
	uint64_t id;

	(void)state;
	assert_int_equal(set(0, true, 0, 0, true), 0);
	begin_break(&id);
	assert_int_equal(set(2, true, 1, 1, true), 0);
	assert_int_equal(set(0, true, 1, 1, true), -EINPROGRESS);
	assert_int_equal(set(2, true, 0, 0, true), -EINPROGRESS);
}

static void test_requests_that_wait_with_barred_files_are_dropped(void **state)
{
	uint64_t granted[4], id;

	(void)state;
	assert_int_equal(set(0, true, 0, 9, true), 0);
	begin_break(&id);
	assert_int_equal(set(1, true, 0, 9, true), -EINPROGRESS);
	assert_int_equal(set(0, true, 0, 9, true), -EINPROGRESS);
	assert_int_equal(set(2, true, 0, 9, true), -EINPROGRESS);
	assert_int_equal(lock_waits_drop(t, &mounts[0], 1, 8), 0);
	assert_int_equal(lock_waits_drop(t, &mounts[0], 1, 7), 2);
	assert_int_equal(lock_waits_drop(t, &mounts[0], 1, 7), 0);
	assert_int_equal(lock_break_end(t, &mounts[0], id), 0);
	assert_int_equal(lock_granted(t, &mounts[0], granted, 4), 0);
	assert_int_equal(lock_granted(t, &mounts[1], granted, 4), 1);
}

/* ------------------------------------------------------------------ hostile and slow processes */

/* A process that has the table until it is killed. */
static pid_t occupy(void)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

		if (fcntl(fd, F_SETLK, &all) != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void test_calls_fail_while_a_process_keeps_the_table(void **state)
{
	struct lock_mount_ref ref;
	const uint8_t id[16] = {9};
	uint32_t worker;
	pid_t pid;

	(void)state;
	assert_int_equal(set(0, true, 0, 9, true), 0);
	assert_false(lock_table_is_occupied(t, &worker));
	pid = occupy();
	assert_int_equal(set(0, true, 20, 29, true), -EBUSY);
	assert_true(lock_table_is_occupied(t, &worker));
	assert_int_equal(worker, 3); /* the one that used the table last by the rules */
	assert_int_equal(release(0, 0, 9), -EBUSY);
	assert_int_equal(lock_mount_join(t, id, "", "", true, 1, &ref), -EBUSY);
	assert_int_equal(lock_mount_seen(t, &mounts[0], 100), -EBUSY);
	assert_int_equal(lock_mounts_expire(t, 1000), 0);
	assert_int_equal(lock_break(t, 1), -EBUSY);
	assert_true(lock_mount_has(t, &mounts[0], 1, 7));
	assert_int_equal(lock_reopened(t, &mounts[0], 1, 7, 12), -EBUSY);
	/* The agent never waits for the table. */
	assert_int_equal(held(), 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(release(0, 0, 9), 0);
	assert_false(lock_table_is_occupied(t, &worker));
	assert_int_equal(held(), 0);
}

/* Another process makes lists without an end, in which no call may stay: the first call that enters
 * one leaves it after a while, and later calls fail at once. */
static void test_lists_without_an_end_end_the_use_of_the_table(void **state)
{
	struct lock_memory *mem =
		mmap(NULL, LAUNCH_LOCKS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint32_t worker;
	uint64_t began_ns;

	(void)state;
	assert_true(mem != MAP_FAILED);
	assert_int_equal(set(0, false, 0, 9, true), 0);
	assert_int_equal(set(0, false, 20, 29, true), 0);
	assert_int_equal(mem->head.n_records, 2);
	for (unsigned i = 0; i < 2; i++) {
		mem->records[i].in_file.next = 2 - i;
		mem->records[i].in_mount.next = 2 - i;
	}
	(void)set(1, false, 40, 49, true);
	assert_true(lock_mount_has(t, &mounts[1], 1, 7)); /* unknown */
	began_ns = clock_now_ns();
	assert_int_equal(set(1, false, 60, 69, true), -EBUSY);
	assert_int_equal(release(0, 0, 9), -EBUSY);
	assert_int_equal(lock_mounts_expire(t, 1000), 0);
	assert_true(clock_now_ns() < began_ns + NSEC_PER_SEC);
	assert_true(lock_table_is_occupied(t, &worker));
	munmap(mem, LAUNCH_LOCKS_BYTES);
}

enum { PROCESSES = 8, LOCKS = 50 };

/* A process that maps the new table and locks files in it. */
static void lock_files(int of, uint8_t number)
{
	const uint8_t id[16] = {number, 1};
	struct lock_request q = ask(0, false, 0, 9);
	struct lock_mount_ref ref;
	struct lock_table *own;

	int r = lock_table_map(of, number, &own);

	if (r < 0)
		_exit(1);
	/* On a busy machine other processes keep the table longer than a call waits for it. */
	while ((r = lock_mount_join(own, id, "", "", true, 1, &ref)) == -EBUSY)
		sched_yield();
	for (q.ino = 0; r >= 0 && q.ino < LOCKS; q.ino++)
		while ((r = lock_set(own, &ref, &q, false)) == -EBUSY)
			sched_yield();
	_exit(r < 0 ? 2 : 0);
}

/* Checks that one process at a time used the table: no change of the counts is lost. */
static void check_counts(int of)
{
	struct lock_table *own;
	struct lock_head head;

	assert_int_equal(lock_table_map(of, 1, &own), 0);
	lock_mounts_expire(own, 1); /* undoes what a killed process had begun */
	lock_table_unmap(own);
	assert_int_equal(pread(of, &head, sizeof(head), 0), sizeof(head));
	lock_view_done(&view);
	assert_int_equal(lock_view_read(of, LOCKS_RECORDS, &view), 0);
	assert_true(view.n >= PROCESSES * LOCKS);
	assert_int_equal(head.n_used, view.n);
}

/* In each second round a process has died while it prepared the table. */
static void test_processes_that_begin_together_prepare_the_table_once(void **state)
{
	const uint32_t begun = 1;

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		int of = memfd_new_shared("locks", LAUNCH_LOCKS_BYTES), status;
		pid_t pids[PROCESSES + 1];

		assert_true(of >= 0);
		if (round % 2)
			assert_int_equal(pwrite(of, &begun, sizeof(begun), 0), sizeof(begun));
		for (uint8_t i = 0; i <= PROCESSES; i++) {
			pids[i] = fork();
			assert_true(pids[i] >= 0);
			if (pids[i] == 0)
				lock_files(of, i);
		}
		kill(pids[PROCESSES], SIGKILL);
		for (unsigned i = 0; i < PROCESSES; i++) {
			assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
			assert_int_equal(status, 0);
		}
		assert_int_equal(waitpid(pids[PROCESSES], NULL, 0), pids[PROCESSES]);
		check_counts(of);
		close(of);
	}
}

static void test_the_session_that_joined_last_is_current(void **state)
{
	const struct lock_mount_ref was = mounts[0];
	uint32_t breaks;

	(void)state;
	assert_true(lock_mount_is_current(t, &was, &breaks));
	join(0);
	assert_true(was.epoch == mounts[0].epoch);
	assert_false(lock_mount_is_current(t, &was, &breaks));
	assert_true(lock_mount_is_current(t, &mounts[0], &breaks));
	assert_int_equal(lock_mounts_expire(t, 1000), 2);
	assert_false(lock_mount_is_current(t, &mounts[0], &breaks));
}

static void test_the_view_shows_who_holds_and_who_waits(void **state)
{
	const struct lock_view_entry *e;
	struct lock_view_entry one;
	struct lock_request q;

	(void)state;
	assert_int_equal(set_on(0, 5, 1, true, false), 0);
	assert_int_equal(set(0, true, 3, 9, true), 0);
	assert_int_equal(set(2, false, 0, LOCK_END_MAX, true), -EINPROGRESS);
	held();
	assert_int_equal(view.n, 3);
	assert_int_equal(view.n_omitted, 0);
	e = view.all;
	assert_true(e[0].ino == 5 && e[1].ino == 7 && e[2].ino == 7);
	assert_string_equal(e[1].host, "host-a");
	assert_string_equal(e[2].host, "host-c");
	assert_string_equal(e[2].export_name, "scratch");
	assert_true(e[1].state == LOCK_HELD && e[1].start == 3 && e[1].end == 9 && e[1].write);
	assert_true(e[2].state == LOCK_WAITING && e[2].pid == 2 && !e[2].write && !e[2].flock);
	assert_true(e[2].end == LOCK_END_MAX && e[2].worker == 3 && e[2].contended);
	assert_int_equal(lock_view_find(fd, e[2].id, &one), 0);
	assert_int_equal(one.state, LOCK_WAITING);
	assert_int_equal(lock_view_find(fd, 1U << 31, &one), -ENOENT);
	/* If not all can be shown, those of files for which requests wait are. */
	q = ask(0, true, 20, 20);
	lock_view_done(&view);
	assert_int_equal(lock_view_read(fd, 2, &view), 0);
	assert_int_equal(view.n, 2);
	assert_int_equal(view.n_omitted, 1);
	assert_true(view.all[0].ino == 7 && view.all[1].ino == 7);
	assert_int_equal(lock_set(t, &mounts[0], &q, false), 0);
}

/* Whatever a worker writes, the agent reads only within its copy, and shows only texts that are
 * clean. Sanitizers and valgrind see more than this test. */
static void test_the_view_survives_a_table_of_random_bytes(void **state)
{
	uint8_t *mem = mmap(NULL, LAUNCH_LOCKS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct lock_view_entry one;
	uint64_t most = 0;

	(void)state;
	assert_true(mem != MAP_FAILED);
	for (unsigned i = 0; i < 40; i++)
		assert_int_equal(set_on(i % 2, i / 2, i, false, false), 0);
	for (unsigned round = 0; round < 200; round++) {
		for (unsigned i = 0; i < 400; i++) {
			size_t at = random_below(2)
					    ? offsetof(struct lock_memory, records) +
						      random_below(50 * sizeof(struct lock_record))
				    : random_below(2)
					    ? offsetof(struct lock_memory, files) +
						      random_below(30 * sizeof(struct lock_file))
					    : offsetof(struct lock_memory, names) +
						      random_below(3 * sizeof(struct lock_name));

			mem[at] = (uint8_t)random_below(256);
		}
		((struct lock_memory *)(void *)mem)->head.n_records = random_below(UINT32_MAX);
		((struct lock_memory *)(void *)mem)->head.n_files = random_below(UINT32_MAX);
		lock_view_done(&view);
		assert_int_equal(lock_view_read(fd, 1 + random_below(64), &view), 0);
		for (size_t i = 0; i < view.n; i++) {
			const struct lock_view_entry *e = &view.all[i];

			assert_true(memchr(e->host, 0, sizeof(e->host)) &&
				    memchr(e->export_name, 0, sizeof(e->export_name)));
			for (const char *c = e->host; *c; c++)
				assert_true((uint8_t)*c >= 0x20 && *c != 0x7f);
			assert_true(e->start <= e->end && e->state < LOCK_STATE_MAX &&
				    e->state != LOCK_GRANTED && e->state != LOCK_UNUSED);
		}
		most = MAX_OF(most, view.n);
		(void)lock_view_find(fd, random_below(100), &one);
	}
	assert_true(most > 10);
	munmap(mem, LAUNCH_LOCKS_BYTES);
}

/* Another worker writes any number into the table. The process of the test has no memory behind
 * these, so that it would end. */
static void test_calls_use_only_numbers_within_the_table(void **state)
{
	struct lock_memory *mem =
		mmap(NULL, LAUNCH_LOCKS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct lock_list *waiting, *notices;
	uint64_t granted[4];
	pid_t pid;

	(void)state;
	assert_true(mem != MAP_FAILED);
	waiting = &mem->mounts[mounts[1].index].lists[LOCK_WAITING];
	notices = &mem->mounts[mounts[1].index].lists[LOCK_GRANTED];
	mem->head.n_undo = 1U << 30;
	assert_int_equal(set(0, true, 0, 9, true), 0);
	assert_int_equal(mem->head.n_undo, 0);
	assert_int_equal(set(2, true, 20, 29, true), 0);
	waiting->first = UINT32_MAX; /* the search for deadlocks looks there */
	assert_int_equal(set(0, true, 20, 29, true), -EINPROGRESS);
	notices->first = UINT32_MAX;
	assert_int_equal(lock_granted(t, &mounts[1], granted, 4), 0);
	join(1);
	waiting->first = notices->first = UINT32_MAX;
	mem->head.free_record = mem->head.n_records = UINT32_MAX;
	assert_int_equal(set(0, true, 40, 49, false), -ENOLCK);
	mem->head.n_mounts = mem->head.n_files = UINT32_MAX;
	pid = occupy();
	mem->head.n_undo = UINT32_MAX;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(release(0, 0, 9), 0); /* first restores what that process had begun */
	lock_mount_leave(t, &mounts[1]);
	mem->head.n_files = UINT32_MAX;
	mem->head.n_freed = 1;
	assert_int_equal(lock_mounts_expire(t, 1000), 1);
	munmap(mem, LAUNCH_LOCKS_BYTES);
}

static void test_calls_end_although_chains_of_files_have_no_end(void **state)
{
	struct lock_memory *mem =
		mmap(NULL, LAUNCH_LOCKS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	(void)state;
	assert_true(mem != MAP_FAILED);
	assert_int_equal(set_on(0, 5, 1, true, false), 0);
	mem->files[10].next = 11;
	for (unsigned i = 0; i < LOCKS_CHAINS; i++)
		mem->chains[i] = 11;
	lock_mount_leave(t, &mounts[0]);
	assert_int_equal(set_on(1, 6, 1, true, false), 0);
	munmap(mem, LAUNCH_LOCKS_BYTES);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_broken_lock_goes_to_others_when_its_mount_has_no_earlier_requests),
		TEST(test_a_close_by_the_owner_ends_its_broken_locks),
		TEST(test_its_owner_cannot_merge_or_split_a_lock_that_is_being_broken),
		TEST(test_an_owner_that_frees_all_its_locks_ends_their_break),
		TEST(test_a_flock_that_is_being_broken_is_not_converted),
		TEST(test_a_lock_that_is_being_broken_is_in_no_deadlock),
		TEST(test_requests_that_wait_with_barred_files_are_dropped),
		TEST(test_few_locks_of_a_mount_are_broken_at_a_time),
		TEST(test_calls_fail_while_a_process_keeps_the_table),
		TEST(test_lists_without_an_end_end_the_use_of_the_table),
		TEST(test_processes_that_begin_together_prepare_the_table_once),
		TEST(test_the_session_that_joined_last_is_current),
		TEST(test_the_view_shows_who_holds_and_who_waits),
		TEST(test_the_view_survives_a_table_of_random_bytes),
		TEST(test_calls_use_only_numbers_within_the_table),
		TEST(test_calls_end_although_chains_of_files_have_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
