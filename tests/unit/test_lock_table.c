/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock table of the server: against the kernel's locks, against a model that keeps an owner for
 * each byte, with waiting requests, leases, and processes that are killed while they change it. */
#include "agent/supervise/handover/lock_view.h"
#include "dataplane/fuse/server/locks/lock_table.h"

#include "netcfg/base/os/memfd.h"
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OWNERS 4U /* two mounts with two owners each */
#define BYTES 24U
#define ROUNDS 100000

static struct lock_table *t;
static struct lock_mount_ref mounts[2];
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

/* What the agent shows. */
static struct lock_view view;
static unsigned n_shown, n_waiting;

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

static unsigned held(void)
{
	lock_view_done(&view);
	n_shown = n_waiting = 0;
	assert_int_equal(lock_view_read(fd, LOCKS_RECORDS, &view), 0);
	for (size_t i = 0; i < view.n; i++) {
		n_waiting += view.all[i].state == LOCK_WAITING;
		n_shown += view.all[i].state != LOCK_WAITING;
	}
	return n_shown;
}

static int kernel_lock(int to, int op, short type, uint64_t start, uint64_t last, struct flock *ret)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)start};
	int r;

	l.l_len = last >= LOCK_END_MAX ? 0 : (off_t)(last - start + 1);
	r = fcntl(to, op, &l) < 0 ? -errno : 0;
	if (ret)
		*ret = l;
	return r;
}

static void test_ranges_are_set_split_and_merged_as_the_kernel_does(void **state)
{
	int file = memfd_create("kernel", 0), of[OWNERS];
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	for (unsigned i = 0; i < OWNERS; i++) {
		of[i] = open(path, O_RDWR);
		assert_true(of[i] >= 0);
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned o = random_below(OWNERS), what = random_below(8);
		uint64_t a = random_below(BYTES), b = a + random_below(8);
		bool write = random_below(2);
		struct lock_request q = ask(o, write, a, b);
		struct lock_conflict c;
		struct flock l;

		if (random_below(20) == 0)
			q.end = b = LOCK_END_MAX;
		if (what < 4) {
			assert_int_equal(set(o, write, a, b, false),
					 kernel_lock(of[o], F_OFD_SETLK, write ? F_WRLCK : F_RDLCK,
						     a, b, NULL));
		} else if (what < 7) {
			assert_int_equal(release(o, a, b), 0);
			assert_int_equal(kernel_lock(of[o], F_OFD_SETLK, F_UNLCK, a, b, NULL), 0);
		} else {
			assert_int_equal(kernel_lock(of[o], F_OFD_GETLK, write ? F_WRLCK : F_RDLCK,
						     a, b, &l),
					 0);
			assert_int_equal(lock_get(t, &mounts[o / 2], &q, &c), l.l_type != F_UNLCK);
		}
	}
	for (unsigned i = 0; i < OWNERS; i++) {
		struct lock_request q = ask(i, false, 0, 0);

		assert_int_equal(lock_free_owner(t, &mounts[i / 2], &q), 0);
		close(of[i]);
	}
	assert_int_equal(held(), 0);
	close(file);
}

/* The model: for each byte and owner 0, 1 (shared) or 2 (exclusive), and the waiting requests in
 * their order. */
static uint8_t model[OWNERS][BYTES];
static struct want {
	unsigned owner;
	bool write;
	uint64_t start, last, unique;
} wants[64];
static unsigned n_wants, n_deadlocks;

static bool model_conflicts(unsigned owner, bool write, uint64_t start, uint64_t last)
{
	for (unsigned o = 0; o < OWNERS; o++)
		for (uint64_t b = start; o != owner && b <= last; b++)
			if (model[o][b] == 2 || (model[o][b] == 1 && write))
				return true;
	return false;
}

static void model_set(unsigned owner, uint8_t value, uint64_t start, uint64_t last)
{
	for (uint64_t b = start; b <= last; b++)
		model[owner][b] = value;
}

/* Grants what may be granted; returns the requests in a set, since their order is that of the
 * queue. */
static void model_grant(uint64_t *granted, unsigned *n)
{
	for (unsigned i = 0; i < n_wants;) {
		struct want w = wants[i];

		if (model_conflicts(w.owner, w.write, w.start, w.last)) {
			i++;
			continue;
		}
		model_set(w.owner, w.write ? 2 : 1, w.start, w.last);
		granted[(*n)++] = w.unique;
		memmove(&wants[i], &wants[i + 1], (--n_wants - i) * sizeof(wants[0]));
		i = 0;
	}
}

static bool is_among(const uint64_t *all, unsigned n, uint64_t one)
{
	for (unsigned i = 0; i < n; i++)
		if (all[i] == one)
			return true;
	return false;
}

static void check_granted(void)
{
	uint64_t expected[64], is[64];
	unsigned n = 0, n_is = 0;

	model_grant(expected, &n);
	for (unsigned i = 0; i < 2; i++)
		n_is += (unsigned)lock_granted(t, &mounts[i], is + n_is, 64 - n_is);
	assert_int_equal(n_is, n);
	for (unsigned i = 0; i < n; i++)
		assert_true(is_among(is, n, expected[i]));
}

static bool owner_waits(unsigned owner)
{
	for (unsigned i = 0; i < n_wants; i++)
		if (wants[i].owner == owner)
			return true;
	return false;
}

static bool model_owner_conflicts(unsigned other, bool write, uint64_t start, uint64_t last)
{
	for (uint64_t b = start; b <= last; b++)
		if (model[other][b] == 2 || (model[other][b] == 1 && write))
			return true;
	return false;
}

/* Whether `from`, if it waits for this, waits for `to` directly or through others. */
static bool model_waits_for(unsigned from, bool write, uint64_t a, uint64_t b, unsigned to,
			    unsigned depth)
{
	for (unsigned o = 0; o < OWNERS && depth < OWNERS; o++) {
		if (o == from || !model_owner_conflicts(o, write, a, b))
			continue;
		if (o == to)
			return true;
		for (unsigned i = 0; i < n_wants; i++)
			if (wants[i].owner == o &&
			    model_waits_for(o, wants[i].write, wants[i].start, wants[i].last, to,
					    depth + 1))
				return true;
	}
	return false;
}

static void step_set(unsigned o, bool write, uint64_t a, uint64_t b, uint64_t unique)
{
	struct lock_request q = ask(o, write, a, b);
	bool wait = random_below(2), may;
	int r;

	if (wait && owner_waits(o))
		return; /* one thread each */
	q.unique = unique;
	r = lock_set(t, &mounts[o / 2], &q, wait);
	may = !model_conflicts(o, write, a, b);
	if (may) {
		assert_int_equal(r, 0);
		model_set(o, write ? 2 : 1, a, b);
	} else if (!wait) {
		assert_int_equal(r, -EAGAIN);
	} else if (model_waits_for(o, write, a, b, o, 0)) {
		assert_int_equal(r, -EDEADLK);
		n_deadlocks++;
	} else {
		assert_int_equal(r, -EINPROGRESS);
		wants[n_wants++] = (struct want){o, write, a, b, unique};
	}
}

static void test_random_operations_agree_with_a_model(void **state)
{
	uint64_t unique = 1000000;

	(void)state;
	memset(model, 0, sizeof(model));
	n_wants = 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned o = random_below(OWNERS), what = random_below(20);
		uint64_t a = random_below(BYTES - 8), b = a + random_below(8);
		struct lock_request q = ask(o, false, 0, 0);

		if (what < 10) {
			step_set(o, random_below(2), a, b, ++unique);
		} else if (what < 17 || owner_waits(o)) {
			assert_int_equal(release(o, a, b), 0);
			model_set(o, 0, a, b);
		} else if (what == 17) {
			assert_int_equal(lock_free_owner(t, &mounts[o / 2], &q), 0);
			model_set(o, 0, 0, BYTES - 1);
		} else if (what == 18) {
			assert_int_equal(lock_free_opener(t, &mounts[o / 2], o + 1), 0);
			model_set(o, 0, 0, BYTES - 1);
		}
		check_granted();
		if (n_wants > 0 && random_below(10) == 0) {
			unsigned w = random_below(n_wants);

			assert_int_equal(
				lock_cancel(t, &mounts[wants[w].owner / 2], wants[w].unique), 0);
			memmove(&wants[w], &wants[w + 1], (--n_wants - w) * sizeof(wants[0]));
		}
		check_granted();
		if (i % 1000 == 0) {
			held();
			assert_int_equal(n_waiting, n_wants);
		}
	}
	assert_true(n_deadlocks > 100);
}

static void test_a_released_lock_goes_to_the_first_that_waits(void **state)
{
	uint64_t granted[4];

	(void)state;
	assert_int_equal(set(0, true, 0, 9, true), 0);
	assert_int_equal(set(2, true, 0, 9, true), -EINPROGRESS);
	assert_int_equal(set(3, true, 5, 5, true), -EINPROGRESS);
	assert_int_equal(set(1, false, 9, 9, true), -EINPROGRESS);
	assert_int_equal(set(2, true, 0, 9, false), -EAGAIN);
	assert_int_equal(release(0, 0, 9), 0);
	assert_int_equal(lock_granted(t, &mounts[0], granted, 4), 0);
	assert_int_equal(lock_granted(t, &mounts[1], granted, 4), 1);
	assert_int_equal(lock_granted(t, &mounts[1], granted, 4), 0);
	assert_int_equal(release(2, 0, 9), 0);
	assert_int_equal(lock_granted(t, &mounts[0], granted, 4), 1);
	assert_int_equal(lock_granted(t, &mounts[1], granted, 4), 1);
}

/* As with the kernel's locks: the program that has the first lock may have to get the second one
 * before it frees the first. */
static void test_a_second_shared_lock_does_not_wait_behind_a_writer(void **state)
{
	uint64_t granted[4];

	(void)state;
	assert_int_equal(set(0, false, 0, 9, true), 0);
	assert_int_equal(set(2, true, 0, 9, true), -EINPROGRESS);
	assert_int_equal(set(1, false, 0, 9, true), 0);
	assert_int_equal(release(1, 0, 9), 0);
	assert_int_equal(release(0, 0, 9), 0);
	assert_int_equal(lock_granted(t, &mounts[1], granted, 4), 1);
}

static int set_flock(unsigned owner, bool write, bool wait)
{
	struct lock_request q = ask(owner, write, 0, LOCK_END_MAX);

	q.flock = true;
	q.unique = 1000 + owner;
	return lock_set(t, &mounts[owner / 2], &q, wait);
}

static void test_a_shared_flock_that_is_converted_is_freed_first(void **state)
{
	uint64_t granted[4];

	(void)state;
	assert_int_equal(set_flock(0, false, true), 0);
	assert_int_equal(set_flock(2, false, true), 0);
	assert_int_equal(set_flock(0, true, true), -EINPROGRESS);
	assert_int_equal(set_flock(2, true, true), 0);
	assert_int_equal(lock_granted(t, &mounts[0], granted, 4), 0);
	assert_int_equal(lock_free_opener(t, &mounts[1], 3), 0);
	assert_int_equal(lock_granted(t, &mounts[0], granted, 4), 1);
	assert_int_equal(set_flock(2, false, false), -EAGAIN);
	/* Without others it is converted at once. */
	assert_int_equal(set_flock(0, false, false), 0);
	assert_int_equal(set_flock(2, false, false), 0);
	assert_int_equal(set_flock(0, true, false), -EAGAIN);
	assert_int_equal(set_flock(2, true, false), 0);
}

static void test_a_cycle_of_waiting_owners_is_a_deadlock(void **state)
{
	(void)state;
	for (unsigned i = 0; i < OWNERS; i++)
		assert_int_equal(set(i, true, i, i, true), 0);
	assert_int_equal(set(0, true, 1, 1, true), -EINPROGRESS);
	assert_int_equal(set(1, true, 2, 2, true), -EINPROGRESS);
	assert_int_equal(set(2, true, 3, 3, true), -EINPROGRESS);
	assert_int_equal(set(3, true, 0, 0, true), -EDEADLK);
	/* No cycle: the last in the chain releases what the one before it waits for. */
	assert_int_equal(release(3, 3, 3), 0);
	assert_int_equal(set(3, true, 0, 0, true), -EINPROGRESS);
}

static void test_kinds_of_locks_do_not_conflict(void **state)
{
	struct lock_request q = ask(2, true, 0, LOCK_END_MAX);

	(void)state;
	assert_int_equal(set(0, true, 0, LOCK_END_MAX, false), 0);
	q.flock = true;
	assert_int_equal(lock_set(t, &mounts[1], &q, false), 0);
	q.owner++;
	assert_int_equal(lock_set(t, &mounts[1], &q, false), -EAGAIN);
	assert_int_equal(lock_free_owner(t, &mounts[1], &q), 0); /* no close frees this kind */
	assert_int_equal(lock_set(t, &mounts[1], &q, false), -EAGAIN);
	assert_int_equal(lock_free_opener(t, &mounts[1], 3), 0);
	assert_int_equal(lock_set(t, &mounts[1], &q, false), 0);
}

static void test_the_locks_of_a_silent_mount_are_freed(void **state)
{
	const struct lock_mount_ref was = mounts[0];
	struct lock_conflict c;
	struct lock_request q = ask(2, true, 0, 9);
	uint64_t granted[4];

	(void)state;
	assert_int_equal(set(0, true, 0, 9, false), 0);
	assert_int_equal(lock_get(t, &mounts[1], &q, &c), 1);
	assert_int_equal(c.pid, 0); /* of another host */
	assert_int_equal(set(2, true, 0, 9, true), -EINPROGRESS);
	assert_int_equal(lock_mount_seen(t, &mounts[0], 50), 0);
	assert_int_equal(lock_mount_seen(t, &mounts[1], 90), 0);
	assert_int_equal(lock_mounts_expire(t, 50), 0);
	assert_int_equal(lock_mounts_expire(t, 51), 1);
	assert_int_equal(lock_granted(t, &mounts[1], granted, 4), 1);
	assert_int_equal(lock_mount_seen(t, &was, 100), -ESTALE);
	assert_int_equal(set(0, true, 20, 20, false), -ESTALE);
	join(0);
	assert_true(mounts[0].epoch != was.epoch);
	assert_int_equal(set(0, true, 0, 9, false), -EAGAIN);
	assert_int_equal(lock_mounts_grace(t, 1000), 0);
	assert_int_equal(lock_mounts_expire(t, 1000), 0);
	lock_mount_leave(t, &mounts[1]);
	assert_int_equal(set(0, true, 0, 9, false), 0);
	assert_true(lock_mount_has(t, &mounts[0], 1, 7));
	assert_false(lock_mount_has(t, &mounts[0], 1, 8));
}

static void test_a_mount_that_joins_again_keeps_its_locks_but_not_its_queue(void **state)
{
	const struct lock_mount_ref was = mounts[1];

	(void)state;
	assert_int_equal(set(0, true, 0, 9, true), 0);
	assert_int_equal(set(2, true, 20, 29, true), 0);
	assert_int_equal(set(2, true, 0, 9, true), -EINPROGRESS);
	join(1);
	assert_true(was.epoch == mounts[1].epoch);
	held();
	assert_int_equal(n_shown, 2);
	assert_int_equal(n_waiting, 0);
	assert_int_equal(set(0, true, 20, 20, false), -EAGAIN);
}

static void test_limits_are_errors(void **state)
{
	int r = 0;
	unsigned n = 0;

	(void)state;
	while (r == 0 && n < 2 * LOCK_OWNER_MAX)
		r = set(0, true, 2ULL * n, 2ULL * n, false), n++;
	assert_int_equal(r, -ENOLCK);
	assert_int_equal(held(), LOCK_OWNER_MAX);
	assert_int_equal(release(0, 0, LOCK_END_MAX), 0);
	assert_int_equal(held(), 0);
	assert_int_equal(set(0, true, 0, LOCK_END_MAX, false), 0);
	for (n = 0, r = 0; r == 0 && n < 2 * LOCK_OWNER_MAX; n++)
		r = release(0, 2ULL * n + 1, 2ULL * n + 1);
	assert_int_equal(r, -ENOLCK);
	assert_int_equal(release(0, 0, LOCK_END_MAX), 0);
	assert_int_equal(held(), 0);
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

static void test_a_full_file_gives_its_lock_to_all_that_wait(void **state)
{
	uint64_t granted[16];
	unsigned n = 0, waits = 0;
	int r = -EINPROGRESS;

	(void)state;
	assert_int_equal(set_on(1, 9, 1, true, false), 0);
	while (r == -EINPROGRESS && waits <= LOCK_FILE_MAX)
		r = set_on(0, 9, 2 + waits++, false, true);
	assert_int_equal(r, -ENOLCK);
	assert_int_equal(waits, LOCK_FILE_MAX); /* the holder counts, too */
	assert_int_equal(set_on(0, 10, 2, false, true), 0);
	lock_mount_leave(t, &mounts[1]);
	/* So many requests need more than one call. */
	for (unsigned i = 0; i < 100; i++)
		lock_mounts_expire(t, 1);
	for (unsigned got = 1; got > 0; n += got)
		got = (unsigned)lock_granted(t, &mounts[0], granted, ARRAY_SIZE(granted));
	assert_int_equal(n, LOCK_FILE_MAX - 1);
	assert_int_equal(held(), LOCK_FILE_MAX);
}

static void test_a_mount_leaves_locks_to_others(void **state)
{
	unsigned most = 0, n = 0;

	(void)state;
	for (uint8_t i = 0; i < 40; i++) {
		uint8_t id[16] = {0xaa, i};

		assert_int_equal(lock_mount_join(t, id, "", "", true, 1000, &mounts[0]), 0);
		for (n = 0; set_on(0, 1000ULL * i + n / 1000, n, false, false) == 0;)
			n++;
		assert_true(n >= 64);
		most = n > most ? n : most;
	}
	assert_true(most > LOCK_MOUNT_MAX / 2);
	join(0);
	assert_int_equal(set_on(0, 1ULL << 40, 1, true, false), 0);
}

/* A process that is killed at any instruction leaves the table as before or after its change. */
static void work_until_killed(void)
{
	for (;;) {
		unsigned o = 2 + random_below(2);
		uint64_t a = random_below(BYTES), b = a + random_below(8);

		if (random_below(2))
			set(o, random_below(2), a, b, false);
		else
			release(o, a, b);
	}
}

static void test_a_killed_process_leaves_no_half_of_a_change(void **state)
{
	uint64_t granted[4];

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			work_until_killed();
		poll(NULL, 0, 1 + (int)(i % 3));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		(void)random_below(7); /* another sequence for the next child */
		/* Whatever was held, all is free after this, and can be locked. */
		assert_int_equal(release(2, 0, LOCK_END_MAX), 0);
		assert_int_equal(release(3, 0, LOCK_END_MAX), 0);
		assert_int_equal(held(), 0);
		assert_int_equal(set(0, true, 0, LOCK_END_MAX, false), 0);
		assert_int_equal(set(2, true, 3, 3, true), -EINPROGRESS);
		assert_int_equal(release(0, 0, LOCK_END_MAX), 0);
		assert_int_equal(lock_granted(t, &mounts[1], granted, 4), 1);
		assert_int_equal(release(2, 0, LOCK_END_MAX), 0);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ranges_are_set_split_and_merged_as_the_kernel_does),
		TEST(test_random_operations_agree_with_a_model),
		TEST(test_a_released_lock_goes_to_the_first_that_waits),
		TEST(test_a_second_shared_lock_does_not_wait_behind_a_writer),
		TEST(test_a_shared_flock_that_is_converted_is_freed_first),
		TEST(test_a_cycle_of_waiting_owners_is_a_deadlock),
		TEST(test_kinds_of_locks_do_not_conflict),
		TEST(test_the_locks_of_a_silent_mount_are_freed),
		TEST(test_a_mount_that_joins_again_keeps_its_locks_but_not_its_queue),
		TEST(test_limits_are_errors),
		TEST(test_a_full_file_gives_its_lock_to_all_that_wait),
		TEST(test_a_mount_leaves_locks_to_others),
		TEST(test_a_killed_process_leaves_no_half_of_a_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
