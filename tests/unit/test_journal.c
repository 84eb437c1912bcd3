/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The journal: every state that a death can leave a record in, and what a successor does with it.
 * The deaths are real, of registered child processes.
 */
#include "dataplane/fuse/helper/fuse_journal.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const uint8_t id_a[16] = {1}, id_b[16] = {2};

struct world {
	int fd;
	struct journal j; /* of the worker */
	unsigned mount;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->fd = memfd_create("journal", MFD_CLOEXEC);
	assert_true(w->fd >= 0);
	assert_int_equal(journal_open(&w->j, w->fd), 0);
	assert_int_equal(journal_mount_get(&w->j, id_a, &w->mount), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	journal_close(&w->j);
	close(w->fd);
	free(w);
	return 0;
}

static enum journal_verdict begin(struct world *w, uint64_t unique, bool again,
				  struct journal_record **ret, uint64_t *ret_ticket)
{
	return journal_begin(&w->j, w->mount, unique, FUSE_MKDIR, again, ret, ret_ticket);
}

/* A child that registers, executes the request up to a state, and stays there. */
static pid_t helper_start(struct world *w, uint64_t unique, bool again, enum journal_state upto)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct helper_result result = {.error = -EEXIST, .count = 7};
		int life = journal_owner_register(&w->j, JOURNAL_NO_WORKER);
		struct journal_record *rec;
		struct journal_claim c;
		uint64_t ticket;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (life <= 0 || begin(w, unique, again, &rec, &ticket) != JOURNAL_RUN ||
		    journal_claim(&c, rec, ticket, (unsigned)life) < 0)
			_exit(1);
		if (upto == JOURNAL_INTENT || upto == JOURNAL_DONE)
			journal_log_intent(&c);
		if (upto == JOURNAL_DONE)
			journal_done(&c, &result);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void helper_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_a_finished_request_is_answered_again(void **state)
{
	struct world *w = *state;
	struct journal_record *rec, *again;
	uint64_t other;

	helper_kill(helper_start(w, 10, false, JOURNAL_DONE));
	assert_int_equal(begin(w, 10, true, &rec, &other), JOURNAL_ANSWER);
	assert_int_equal(rec->result.error, -EEXIST);
	assert_int_equal(rec->result.count, 7);
	journal_ack(rec);
	assert_int_equal(journal_state_get(rec), JOURNAL_ACKED);
	/* An acknowledged reply is kept: the client may ask again if its frontend died. */
	assert_int_equal(begin(w, 10, true, &again, &other), JOURNAL_ANSWER);
	assert_int_equal(journal_begin(&w->j, w->mount, 10, FUSE_UNLINK, true, &again, &other),
			 JOURNAL_MISMATCH);
}

/* Queued by a worker that died: the successor adopts it, and the dead worker's helper cannot. */
static void test_a_started_request_is_adopted(void **state)
{
	struct world *w = *state;
	struct journal_record *rec, *again;
	uint64_t ticket, other;
	struct journal_claim c;

	assert_int_equal(begin(w, 11, false, &rec, &ticket), JOURNAL_RUN);
	assert_int_equal(begin(w, 11, true, &again, &other), JOURNAL_RUN);
	assert_ptr_equal(again, rec);
	assert_int_equal(journal_claim(&c, rec, ticket, 1), -ECANCELED);
	assert_int_equal(journal_claim(&c, rec, other, 1), 0);
	assert_int_equal(journal_claim(&c, rec, other, 2), -ECANCELED);
}

static void test_a_request_killed_before_its_change_runs_again(void **state)
{
	struct world *w = *state;
	pid_t pid = helper_start(w, 12, false, JOURNAL_RUNNING);
	struct journal_record *rec;
	struct journal_claim c;
	uint64_t ticket;

	assert_int_equal(begin(w, 12, true, &rec, &ticket), JOURNAL_WAIT);
	helper_kill(pid);
	/* It had made no change. */
	assert_int_equal(begin(w, 12, true, &rec, &ticket), JOURNAL_RUN);
	assert_int_equal(journal_claim(&c, rec, ticket, 1), 0);
}

static void test_a_request_killed_after_its_intent_is_suspect(void **state)
{
	struct world *w = *state;
	pid_t pid = helper_start(w, 13, false, JOURNAL_INTENT);
	struct journal_record *rec;
	struct journal_claim c;
	uint64_t ticket;

	assert_int_equal(begin(w, 13, true, &rec, &ticket), JOURNAL_WAIT);
	helper_kill(pid);
	/* If the helper that resolves it is killed, too, it stays suspect. */
	helper_kill(helper_start(w, 13, true, JOURNAL_INTENT));
	assert_int_equal(begin(w, 13, true, &rec, &ticket), JOURNAL_RUN);
	assert_int_equal(journal_claim(&c, rec, ticket, 1), 1);
	journal_clear_intent(&c);
	assert_int_equal(journal_state_get(rec), JOURNAL_RUNNING);
}

/* A reused owner number does not make the dead owner's record look owned. */
static void test_a_reused_owner_number_owns_nothing(void **state)
{
	struct world *w = *state;
	struct journal_record *rec;
	uint64_t ticket;
	pid_t pid;

	helper_kill(helper_start(w, 14, false, JOURNAL_RUNNING));
	pid = helper_start(w, 15, false, JOURNAL_RUNNING);
	assert_int_equal(begin(w, 14, true, &rec, &ticket), JOURNAL_RUN);
	assert_int_equal(begin(w, 15, true, &rec, &ticket), JOURNAL_WAIT);
	assert_int_equal(JOURNAL_OWNER(rec->word), 1);
	helper_kill(pid);
}

static void test_a_cancelled_request_runs_again(void **state)
{
	struct world *w = *state;
	struct journal_record *rec, *again;
	uint64_t ticket, other;

	assert_int_equal(begin(w, 16, false, &rec, &ticket), JOURNAL_RUN);
	journal_cancel(rec, ticket);
	assert_int_equal(begin(w, 16, true, &again, &other), JOURNAL_RUN);
	assert_int_equal(journal_state_get(again), JOURNAL_STARTED);
}

/* The newest replies are kept as long as possible: a mount has no more requests in flight. */
static void test_the_newest_replies_are_kept(void **state)
{
	struct world *w = *state;
	struct journal_record *rec;
	uint64_t ticket;
	struct journal_claim c;
	const struct helper_result result = {};

	for (uint64_t i = 0; i < 3 * JOURNAL_RECORDS; i++) {
		assert_int_equal(begin(w, 1000 + i, false, &rec, &ticket), JOURNAL_RUN);
		assert_int_equal(journal_claim(&c, rec, ticket, 1), 0);
		journal_done(&c, &result);
		journal_ack(rec);
		for (uint64_t k = 1; k <= MIN_OF(i, FUSE_PROTO_CALLS_MAX); k += 50)
			assert_int_equal(begin(w, 1000 + i - k, true, &rec, &ticket),
					 JOURNAL_ANSWER);
	}
	/* Unfinished requests do not take the records that others need, and are kept while their
	 * owner is alive. */
	journal_owner_register(&w->j, 1);
	for (uint64_t i = 0; i < JOURNAL_RECORDS; i++) {
		assert_int_equal(begin(w, 9000 + i, false, &rec, &ticket), JOURNAL_RUN);
		assert_int_equal(journal_claim(&c, rec, ticket, 1), 0);
	}
	assert_int_equal(begin(w, 10000, false, &rec, &ticket), JOURNAL_FULL);
}

/* A helper is killed with a lock; the next owner of its number does not inherit it. */
static void test_locks_end_with_their_owner(void **state)
{
	struct world *w = *state;
	uint32_t *locks = journal_locks(&w->j);
	pid_t pid = fork();
	int life;

	if (pid == 0) {
		life = journal_owner_register(&w->j, JOURNAL_NO_WORKER);
		locks[7] = (uint32_t)life;
		locks[8] = (uint32_t)life + 1;
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(locks[7] > 0);
	life = journal_owner_register(&w->j, JOURNAL_NO_WORKER);
	assert_int_equal(life + 1, locks[8]);
	assert_int_equal(locks[7], 0);
}

static void test_mounts_have_separate_requests(void **state)
{
	struct world *w = *state;
	struct journal_record *rec;
	uint64_t ticket;
	struct stat st;
	unsigned b, again;

	assert_int_equal(journal_mount_get(&w->j, id_b, &b), 0);
	assert_int_not_equal(b, w->mount);
	assert_int_equal(journal_mount_get(&w->j, id_a, &again), 0);
	assert_int_equal(again, w->mount);
	assert_int_equal(begin(w, 20, false, &rec, &ticket), JOURNAL_RUN);
	/* The same number of another mount is another request. */
	assert_int_equal(journal_begin(&w->j, b, 20, FUSE_RMDIR, true, &rec, &ticket), JOURNAL_RUN);
	assert_int_equal(fstat(w->fd, &st), 0);
	assert_true(st.st_blocks * 512 < 128 << 10); /* unused records take no memory */
	journal_mount_drop(&w->j, b);
	assert_int_equal(journal_mount_get(&w->j, id_b, &b), 0);
	assert_int_equal(journal_begin(&w->j, b, 20, FUSE_RMDIR, true, &rec, &ticket), JOURNAL_RUN);
	assert_int_equal(journal_state_get(rec), JOURNAL_STARTED);
	assert_int_equal(JOURNAL_OWNER(rec->word), 0);
}

/* In a child whose clock is two days ahead. False: the host has no time namespaces. */
static bool later(bool (*what)(struct world *w), struct world *w)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		int fd = unshare(CLONE_NEWTIME) == 0
				 ? open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC)
				 : -1;

		if (fd < 0 || write(fd, "boottime 172800 0", 17) < 0)
			_exit(77);
		pid = fork(); /* its children are in the namespace */
		if (pid == 0)
			_exit(what(w) ? 0 : 1);
		_exit(waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
	return WEXITSTATUS(status) == 0;
}

static void id_make(uint8_t id[16], unsigned i)
{
	memset(id, 0xee, 16);
	memcpy(id, &i, sizeof(i));
}

static bool one_more_is_the_second(struct world *w)
{
	uint8_t id[16];
	unsigned n, first;

	/* The first mount has a session, but no journalled request for days. */
	journal_mount_seen(&w->j, w->mount);
	id_make(id, JOURNAL_MOUNTS_MAX);
	return journal_mount_get(&w->j, id, &n) == 0 && n == w->mount + 1 &&
	       journal_mount_get(&w->j, id_a, &first) == 0 && first == w->mount;
}

static void test_the_mount_table_has_a_limit(void **state)
{
	struct world *w = *state;
	uint8_t id[16];
	unsigned n;

	for (unsigned i = 1; i < JOURNAL_MOUNTS_MAX; i++) {
		id_make(id, i);
		assert_int_equal(journal_mount_get(&w->j, id, &n), 0);
		assert_int_equal(n, i);
	}
	id_make(id, JOURNAL_MOUNTS_MAX);
	assert_int_equal(journal_mount_get(&w->j, id, &n), -ENOSPC);
	if (!later(one_more_is_the_second, w))
		print_message("no time namespaces: mounts away for a day are not tested\n");
}

static void test_a_worker_lives_as_long_as_its_process(void **state)
{
	struct world *w = *state;
	int ready[2];
	char byte;
	pid_t pid;

	assert_false(journal_worker_is_alive(&w->j, 5));
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (journal_owner_register(&w->j, 5) > 0 && journal_owner_register(&w->j, 6) > 0 &&
		    write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_true(journal_worker_is_alive(&w->j, 5));
	assert_true(journal_worker_is_alive(&w->j, 6));
	assert_false(journal_worker_is_alive(&w->j, 7));
	helper_kill(pid);
	assert_false(journal_worker_is_alive(&w->j, 5));
	assert_false(journal_worker_is_alive(&w->j, 6));
	close(ready[0]);
	close(ready[1]);
}

static void test_a_journal_of_another_version_is_reset(void **state)
{
	struct world *w = *state;
	struct journal_record *rec;
	struct journal other;
	uint64_t ticket;
	unsigned mount;
	char wrong = 1;

	assert_int_equal(begin(w, 30, false, &rec, &ticket), JOURNAL_RUN);
	assert_int_equal(pwrite(w->fd, &wrong, 1, 0), 1);
	assert_int_equal(journal_open(&other, w->fd), 0);
	assert_int_equal(journal_mount_get(&other, id_a, &mount), 0);
	assert_int_equal(journal_begin(&other, mount, 30, FUSE_RMDIR, true, &rec, &ticket),
			 JOURNAL_RUN);
	journal_close(&other);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_a_finished_request_is_answered_again),
		T(test_a_started_request_is_adopted),
		T(test_a_request_killed_before_its_change_runs_again),
		T(test_a_request_killed_after_its_intent_is_suspect),
		T(test_a_reused_owner_number_owns_nothing),
		T(test_a_cancelled_request_runs_again),
		T(test_the_mount_table_has_a_limit),
		T(test_the_newest_replies_are_kept),
		T(test_locks_end_with_their_owner),
		T(test_mounts_have_separate_requests),
		T(test_a_worker_lives_as_long_as_its_process),
		T(test_a_journal_of_another_version_is_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
