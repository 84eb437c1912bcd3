/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's side of file locks: requests of a mount that has lost its locks, or that another
 * worker serves, are not executed; files whose locks an operator breaks are barred. The test plays
 * another worker, which uses the same table.
 */
#include "dataplane/fuse/server/locks/lock_table.h"
#include "dataplane/lock_layout.h"
#include "netcfg/base/os/memfd.h"
#include "netcfg/base/reason.h"
#include "tests/lib/fuse/server_test.h"
#include "tests/lib/fuse/server_turn.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct lock_table *table; /* as the other worker has mapped it */
static struct lock_mount_ref other;

static void begin_session(void)
{
	struct fuse_init_in in = {.major = 7, .minor = 38, .unused = {FUSE_PROTO_FEATURE_LOCKS}};

	fuse_server_client_gone(rig.client);
	assert_int_equal(rig_accept(&rig), 0);
	assert_int_equal(rig_do(&rig, FUSE_INIT, 0, RIG_ARG(in), .unique = rig.own_unique += 2), 0);
}

static void join(void)
{
	begin_session();
	rig_reopen(&rig);
}

static int locks_setup(void **state)
{
	static const uint8_t id[16] = {0x77};
	autoclose int fd = memfd_new_shared("locks", LAUNCH_LOCKS_BYTES);

	setup(state);
	rig_stop(&rig);
	rig.cfg.worker_id = 1;
	rig.cfg.locks_fd = fcntl(fd, F_DUPFD_CLOEXEC, LAUNCH_FD_FIRST);
	assert_true(rig.cfg.locks_fd >= LAUNCH_FD_FIRST);
	rig_start(&rig);
	assert_int_equal(lock_table_map(fd, 2, &table), 0);
	assert_int_equal(
		lock_mount_join(table, id, "host-c", "scratch", true, clock_now_ns(), &other), 0);
	join();
	return 0;
}

static int locks_teardown(void **state)
{
	table = lock_table_unmap(table);
	close(rig.cfg.locks_fd);
	return teardown(state);
}

static int ask_lock(uint32_t op, uint64_t node, uint64_t fh, uint64_t owner, uint32_t type)
{
	struct fuse_lk_in in = {
		.fh = fh, .owner = owner, .lk = {.end = LOCK_END_MAX, .type = type, .pid = 42}};

	in.padding = (uint32_t)(fh - RIG_FH) + 1;
	return rig_do(&rig, op, node, RIG_ARG(in));
}

static int set_lock(uint64_t node, uint64_t fh, uint32_t type)
{
	return ask_lock(FUSE_SETLK, node, fh, 5, type);
}

/* The other worker's client waits for the whole file. */
static int other_waits(uint64_t unique)
{
	struct lock_request q = {
		.owner = 9, .write = true, .end = LOCK_END_MAX, .opener = 1, .unique = unique};
	struct stat st;

	assert_int_equal(stat(rig_path(&rig, "f"), &st), 0);
	q.dev = st.st_dev;
	q.ino = st.st_ino;
	return lock_set(table, &other, &q, true);
}

static bool other_has_got(void)
{
	uint64_t granted[4];

	return lock_granted(table, &other, granted, 4) == 1;
}

static void file_is(const char *text)
{
	char is[64] = "";
	autoclose int fd = open(rig_path(&rig, "f"), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && read(fd, is, sizeof(is) - 1) >= 0);
	assert_string_equal(is, text);
}

static void a_write_after_the_loss_of_the_locks_is_not_executed(void **state)
{
	uint64_t node, fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(set_lock(node, fh, F_WRLCK), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "mine", 4), 4);
	assert_int_equal(other_waits(1), -EINPROGRESS);
	/* The other worker has not heard of the mount for too long. */
	assert_int_equal(lock_mounts_grace(table, 1), 0);
	assert_int_equal(lock_mount_seen(table, &other, UINT64_MAX), 0);
	assert_int_equal(lock_mounts_expire(table, UINT64_MAX), 1);
	assert_true(other_has_got());
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "late", 4), -EIO);
	file_is("mine");
	join();
	assert_int_equal(set_lock(node, fh, F_WRLCK), -EAGAIN);
}

static void a_write_for_a_session_that_another_worker_has_replaced_is_not_executed(void **state)
{
	struct lock_mount_ref ref;
	uint64_t node, fh;
	uint8_t id[16];

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "mine", 4), 4);
	memcpy(id, rig.hello.mount_id, sizeof(id));
	id[15] &= 0xf0;
	assert_int_equal(
		lock_mount_join(table, id, "host-a", "scratch", true, clock_now_ns(), &ref), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "late", 4), -EIO);
	file_is("mine");
}

static void a_second_passes(void)
{
	server_turn(rig.server, clock_now_ns() + NSEC_PER_SEC, true);
}

/* Returns the id of the only lock of the mount: the first one has number 1. */
static void break_lock(uint64_t id)
{
	assert_int_equal(fuse_server_lock_break(rig.server, id), 0);
}

static void a_broken_lock_bars_the_files_that_were_open(void **state)
{
	uint64_t node, fh, second, later;
	struct fuse_setattr_in cut = {.valid = FATTR_SIZE | FATTR_FH};
	struct fuse_attr attr;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_open(&rig, node, O_RDWR, &second), 0);
	assert_int_equal(set_lock(node, fh, F_WRLCK), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "mine", 4), 4);
	assert_int_equal(other_waits(1), -EINPROGRESS);
	break_lock(1);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "late", 4), -EIO);
	assert_int_equal(rig_write(&rig, node, second, 0, O_RDWR, "late", 4), -EIO);
	assert_int_equal(rig_read(&rig, node, fh, 0, 4), -EIO);
	assert_int_equal(set_lock(node, fh, F_UNLCK), -EIO);
	cut.fh = fh;
	assert_int_equal(rig_do(&rig, FUSE_SETATTR, node, RIG_ARG(cut)), -EIO);
	assert_int_equal(rig_getattr(&rig, node, &attr), 0);
	assert_int_equal(attr.size, 4);
	assert_false(other_has_got()); /* the worker has not looked for earlier requests yet */
	a_second_passes();
	assert_true(other_has_got());
	/* A program that opens the file now may use it. */
	assert_int_equal(rig_open(&rig, node, O_RDWR, &later), 0);
	assert_int_equal(rig_write(&rig, node, later, 0, O_RDWR, "newer", 5), 5);
	assert_int_equal(rig_write(&rig, node, second, 0, O_RDWR, "late", 4), -EIO);
	file_is("newer");
}

static void a_request_that_waits_with_a_barred_file_fails(void **state)
{
	uint64_t node, fh, second, other_node, other_fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_create(&rig, ROOT, "g", O_RDWR, 0644, &other_node, &other_fh), 0);
	assert_int_equal(rig_open(&rig, node, O_RDWR, &second), 0);
	assert_int_equal(set_lock(node, fh, F_WRLCK), 0);
	assert_int_equal(ask_lock(FUSE_SETLKW, node, second, 6, F_WRLCK), -EINPROGRESS);
	break_lock(1);
	/* The session ends, so that the client repeats what waits. */
	assert_int_equal(rig_write(&rig, other_node, other_fh, 0, O_RDWR, "x", 1), -EIO);
	join();
	assert_int_equal(ask_lock(FUSE_SETLKW, node, second, 6, F_WRLCK), -EIO);
	assert_int_equal(rig_write(&rig, other_node, other_fh, 0, O_RDWR, "x", 1), 1);
	a_second_passes();
	assert_int_equal(other_waits(1), 0);
}

static void a_break_ends_after_a_request_that_came_in_the_same_turn(void **state)
{
	struct fuse_setattr_in cut = {.valid = FATTR_SIZE | FATTR_FH};
	static struct rudp_call call;
	uint64_t node, fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(set_lock(node, fh, F_WRLCK), 0);
	assert_int_equal(other_waits(1), -EINPROGRESS);
	cut.fh = fh;
	rig_send(&rig, &call, &(struct rig_req){.op = FUSE_SETATTR, .node = node, RIG_ARG(cut)});
	assert_false(call.answered); /* a helper has it */
	break_lock(1);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "late", 4), -EIO);
	fuse_server_begin(rig.server, clock_now_ns() + NSEC_PER_SEC);
	assert_false(call.answered);
	assert_false(other_has_got());
	assert_int_equal(rig_result(&rig, &call), 0);
	fuse_server_begin(rig.server, clock_now_ns() + 3 * NSEC_PER_SEC);
	assert_true(other_has_got());
}

static void a_program_that_opens_a_file_while_its_locks_are_broken_may_use_it(void **state)
{
	uint64_t node, fh, later, other_node, other_fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_create(&rig, ROOT, "g", O_RDWR, 0644, &other_node, &other_fh), 0);
	assert_int_equal(set_lock(node, fh, F_WRLCK), 0);
	assert_int_equal(set_lock(other_node, other_fh, F_WRLCK), 0);
	break_lock(1);
	assert_int_equal(rig_open(&rig, node, O_RDWR, &later), 0);
	break_lock(2);
	assert_int_equal(rig_write(&rig, node, later, 0, O_RDWR, "newer", 5), 5);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "late", 4), -EIO);
	assert_int_equal(rig_write(&rig, other_node, other_fh, 0, O_RDWR, "late", 4), -EIO);
}

static void a_broken_lock_bars_files_also_at_the_next_server(void **state)
{
	struct fuse_flush_in close_it = {.unused = FUSE_PROTO_FLUSH_OPENER};
	uint64_t node, fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(set_lock(node, fh, F_WRLCK), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "mine", 4), 4);
	break_lock(1);
	a_second_passes();
	rig_stop(&rig);
	/* rig_start() reopens files in a session without locks; only this one counts. */
	rig_start(&rig);
	rig.identity.incarnation = 0;
	join();
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "late", 4), -EIO);
	file_is("mine");
	close_it.fh = fh;
	close_it.lock_owner = fh - RIG_FH + 1;
	assert_int_equal(rig_do(&rig, FUSE_FLUSH, node, RIG_ARG(close_it)), 0);
	assert_int_equal(rig_release(&rig, node, fh), 0);
	assert_int_equal(other_waits(1), 0);
}

/* A process that keeps the table until it is killed. */
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

		if (fcntl(rig.cfg.locks_fd, F_SETLK, &all) != 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void reopen_send(struct rudp_call *call, uint64_t node)
{
	struct fuse_open_in in = {.flags = O_RDWR};

	rig_send(&rig, call,
		 &(struct rig_req){.op = FUSE_OPEN,
				   .node = node,
				   RIG_ARG(in),
				   .flags = FUSE_PROTO_REQ_REOPEN,
				   .unique = rig.own_unique += 2});
}

static void reopen_end(const struct rudp_call *call, uint64_t fh)
{
	struct fuse_open_out o;

	assert_int_equal(rig_result(&rig, call), 0);
	memcpy(&o, rig.data, sizeof(o));
	rig.files[fh - RIG_FH].fh = o.fh;
}

static void an_occupied_table_delays_reopens_and_bars_no_other_file(void **state)
{
	static struct rudp_call call, other_call;
	uint64_t node, fh, other_node, other_fh;
	struct fuse_attr attr;
	pid_t pid;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_create(&rig, ROOT, "g", O_RDWR, 0644, &other_node, &other_fh), 0);
	assert_int_equal(set_lock(node, fh, F_WRLCK), 0);
	break_lock(1);
	a_second_passes();
	rig_stop(&rig);
	rig_start(&rig);
	begin_session();
	assert_int_equal(rig_getattr(&rig, node, &attr), 0); /* the server looks for breaks */
	pid = occupy();
	reopen_send(&call, node);
	reopen_send(&other_call, other_node);
	for (unsigned i = 0; i < 40 && !(call.answered && other_call.answered); i++)
		rig_poll(&rig);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	reopen_end(&call, fh);
	reopen_end(&other_call, other_fh);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "late", 4), -EIO);
	assert_int_equal(rig_write(&rig, other_node, other_fh, 0, O_RDWR, "mine", 4), 4);
}

static void only_locks_fail_while_another_process_keeps_the_table(void **state)
{
	uint64_t node, fh, other_node, other_fh;
	pid_t pid;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(rig_create(&rig, ROOT, "g", O_RDWR, 0644, &other_node, &other_fh), 0);
	assert_int_equal(set_lock(node, fh, F_WRLCK), 0);
	pid = occupy();
	assert_int_equal(set_lock(other_node, other_fh, F_WRLCK), -ENOLCK);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "mine", 4), 4);
	a_second_passes();
	assert_string_equal(fuse_server_reason(rig.server)->code, "locks-occupied");
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(set_lock(node, fh, F_UNLCK), 0);
	assert_int_equal(set_lock(other_node, other_fh, F_WRLCK), 0);
	server_turn(rig.server, clock_now_ns() + 3 * NSEC_PER_SEC, true);
	assert_false(reason_is_set(fuse_server_reason(rig.server)));
}

/* ---- the record of the mount, and the grace period after a reboot ---- */

static struct launch_msg asked;

static void on_ask(void *user, const struct launch_msg *m)
{
	(void)user;
	asked = *m;
}

static struct lock_memory *table_map(void)
{
	struct lock_memory *mem = mmap(NULL, LAUNCH_LOCKS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
				       rig.cfg.locks_fd, 0);

	assert_true(mem != MAP_FAILED);
	return mem;
}

/* The session of a client that can reclaim locks. */
static void join_reclaiming(void)
{
	struct fuse_init_in in = {
		.major = 7,
		.minor = 38,
		.unused = {FUSE_PROTO_FEATURE_LOCKS | FUSE_PROTO_FEATURE_RECLAIM}};

	fuse_server_client_gone(rig.client);
	assert_int_equal(rig_accept(&rig), 0);
	assert_int_equal(rig_do(&rig, FUSE_INIT, 0, RIG_ARG(in), .unique = rig.own_unique += 2), 0);
	rig_reopen(&rig);
}

static uint64_t lock_send(struct rudp_call *call, uint64_t node, uint64_t fh, uint32_t flags)
{
	struct fuse_lk_in in = {.fh = rig.files[fh - RIG_FH].fh,
				.owner = 5,
				.lk = {.end = LOCK_END_MAX, .type = F_WRLCK, .pid = 42},
				.lk_flags = flags,
				.padding = (uint32_t)(fh - RIG_FH) + 1};

	memset(call, 0, sizeof(*call));
	rig_send(&rig, call,
		 &(struct rig_req){.op = FUSE_SETLK,
				   .node = node,
				   RIG_ARG(in),
				   .unique = rig.own_unique += 2});
	for (unsigned i = 0; i < 20; i++)
		rig_poll(&rig);
	return rig.own_unique;
}

static void the_first_lock_waits_for_the_record_of_the_mount(void **state)
{
	static struct rudp_call call;
	struct lock_memory *mem = table_map();
	uint64_t node, fh;

	mem->head.records = 1;
	asked = (struct launch_msg){.type = 0};
	fuse_server_lock_records(rig.server, on_ask, NULL);
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	join_reclaiming();
	lock_send(&call, node, fh, 0);
	assert_false(call.answered);
	assert_int_equal(asked.type, LAUNCH_MSG_LOCK_KEEP);
	assert_int_equal(asked.key, mem->mounts[asked.index].epoch);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "mine", 4), 4);
	asked.type = LAUNCH_MSG_LOCK_KEPT;
	fuse_server_lock_answer(rig.server, &asked);
	rig_wait(&rig, &call);
	assert_int_equal(rig_result(&rig, &call), 0);
	asked.type = 0;
	assert_int_equal(set_lock(node, fh, F_UNLCK), 0);
	assert_int_equal(set_lock(node, fh, F_WRLCK), 0);
	assert_int_equal(asked.type, 0);
	munmap(mem, LAUNCH_LOCKS_BYTES);
}

static void a_lock_waits_in_the_grace_period_unless_its_program_gets_a_signal(void **state)
{
	static struct rudp_call call;
	struct lock_memory *mem = table_map();
	struct fuse_interrupt_in end;
	uint64_t node, fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	mem->mounts[other.index].stable = LOCK_STABLE_EXPECTED;
	mem->head.grace_ns = LOCKS_GRACE_DUE;
	end.unique = lock_send(&call, node, fh, 0);
	assert_false(call.answered);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "mine", 4), 4);
	(void)rig_do(&rig, FUSE_INTERRUPT, 0, RIG_ARG(end));
	rig_wait(&rig, &call);
	assert_int_equal(rig_result(&rig, &call), -EINTR);
	lock_send(&call, node, fh, FUSE_PROTO_LK_RECLAIM); /* it had no locks before */
	rig_wait(&rig, &call);
	assert_int_equal(rig_result(&rig, &call), -EINVAL);
	lock_send(&call, node, fh, 0);
	assert_false(call.answered);
	assert_int_equal(lock_reclaim_end(table, &other), 0);
	rig_wait(&rig, &call);
	assert_int_equal(rig_result(&rig, &call), 0);
	munmap(mem, LAUNCH_LOCKS_BYTES);
}

/* The client repeats the request in its next session, and its program may free the lock then. */
static void a_lock_that_waits_in_the_grace_period_ends_with_its_session(void **state)
{
	static struct rudp_call call;
	struct lock_memory *mem = table_map();
	uint64_t node, fh;

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	mem->mounts[other.index].stable = LOCK_STABLE_EXPECTED;
	mem->head.grace_ns = LOCKS_GRACE_DUE;
	lock_send(&call, node, fh, 0);
	assert_false(call.answered);
	fuse_server_call_cancelled(rig.client, &call);
	assert_int_equal(lock_reclaim_end(table, &other), 0);
	for (unsigned i = 0; i < 10; i++) { /* longer than the pause between two tries */
		assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, "mine", 4), 4);
		poll(NULL, 0, 5);
	}
	assert_int_equal(other_waits(1), 0);
	munmap(mem, LAUNCH_LOCKS_BYTES);
}

#define TEST(f)                                          \
	{                                                \
#f, f, locks_setup, locks_teardown, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_write_after_the_loss_of_the_locks_is_not_executed),
		TEST(a_write_for_a_session_that_another_worker_has_replaced_is_not_executed),
		TEST(a_broken_lock_bars_the_files_that_were_open),
		TEST(a_request_that_waits_with_a_barred_file_fails),
		TEST(a_break_ends_after_a_request_that_came_in_the_same_turn),
		TEST(a_program_that_opens_a_file_while_its_locks_are_broken_may_use_it),
		TEST(a_broken_lock_bars_files_also_at_the_next_server),
		TEST(an_occupied_table_delays_reopens_and_bars_no_other_file),
		TEST(only_locks_fail_while_another_process_keeps_the_table),
		TEST(the_first_lock_waits_for_the_record_of_the_mount),
		TEST(a_lock_waits_in_the_grace_period_unless_its_program_gets_a_signal),
		TEST(a_lock_that_waits_in_the_grace_period_ends_with_its_session),
	};

	return rig_can() ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
