/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client end of the file system protocol as a pipe: negotiation, and how requests wait, are
 * sent, answered and ended. Other tests cover nodes and files.
 */
#include "tests/lib/fuse/client_rig.h"

#include <stdio.h>
#include <sys/mman.h>

static void test_init_negotiates_parameters(void **state)
{
	struct rig *g = *state;
	struct fuse_init_out init = {0};
	struct fuse_out_header out;

	kernel_init(g, 44, ~0ULL);
	assert_int_equal(fuse_client_pull(g->f, true, NOW0), 1);
	assert_int_equal(kernel_receive(g, &out, &init, sizeof(init)), sizeof(out) + sizeof(init));
	assert_int_equal(out.error, 0);
	assert_int_equal(out.unique, 2);
	assert_int_equal(init.major, 7);
	assert_int_equal(init.minor, FUSE_PROTO_MINOR_MAX);
	assert_int_equal(init.max_write, 1 << 20);
	assert_int_equal(init.max_pages, 256);
	assert_int_equal(init.max_readahead, 128 << 10);
	assert_true((init.flags | (uint64_t)init.flags2 << 32) ==
		    (FUSE_PROTO_FLAGS | FUSE_PROTO_DIRECT_IO_MMAP));
	assert_int_equal(n_calls, 0);
}

static void test_init_accepts_only_offered_flags(void **state)
{
	struct rig *g = *state;
	struct fuse_init_out init = {0};
	struct fuse_out_header out;

	kernel_init(g, 33, FUSE_ASYNC_READ | FUSE_WRITEBACK_CACHE);
	fuse_client_pull(g->f, true, NOW0);
	assert_true(kernel_receive(g, &out, &init, sizeof(init)) > 0);
	assert_int_equal(init.minor, 33);
	assert_true(init.flags == (FUSE_ASYNC_READ | FUSE_INIT_EXT));
	assert_int_equal(init.flags2, 0);
}

static void test_init_rejects_unknown_kernels(void **state)
{
	struct rig *g = *state;
	struct fuse_init_in in = {.major = 8, .minor = 1};
	struct fuse_init_out init = {0};
	struct fuse_out_header out;

	kernel_send(g, FUSE_INIT, 2, &in, sizeof(in));
	in = (struct fuse_init_in){.major = 7, .minor = 12};
	kernel_send(g, FUSE_INIT, 4, &in, sizeof(in));
	kernel_send(g, FUSE_INIT, 6, &in, 3);
	fuse_client_pull(g->f, true, NOW0);
	assert_true(kernel_receive(g, &out, &init, sizeof(init)) > 0);
	assert_int_equal(init.major, 7);
	assert_int_equal(init.max_write, 0);
	expect_reply(g, 4, -EPROTO);
	expect_reply(g, 6, -EPROTO);
	session.up = true;
	fuse_client_tick(g->f, NOW0);
	assert_int_equal(n_calls, 0); /* nothing negotiated, nothing to send */
}

static void test_requests_wait_for_the_hello(void **state)
{
	struct rig *g = *state;
	struct fuse_out_header out;

	kernel_init(g, 38, FUSE_PROTO_FLAGS);
	kernel_send(g, FUSE_STATFS, 4, "0123456789abcdef", 16);
	fuse_client_pull(g->f, true, NOW0);
	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	assert_int_equal(n_calls, 0);
	session.up = true;
	fuse_client_tick(g->f, NOW0);
	fuse_client_tick(g->f, NOW0);
	assert_int_equal(n_calls, 1);
	respond_init(g);
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_STATFS);
	assert_memory_equal(calls[0].msg + sizeof(struct fuse_in_header), "0123456789abcdef", 16);
	respond(g, 0, 0, "attributes", 10);
	expect_reply(g, 4, 0);
	assert_int_equal(fuse_client_in_flight(g->f), 0);
}

static void test_a_refused_hello_is_retried_later(void **state)
{
	struct rig *g = *state;
	struct fuse_out_header out;

	kernel_init(g, 38, FUSE_PROTO_FLAGS);
	fuse_client_pull(g->f, true, NOW0);
	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	session.up = true;
	fuse_client_tick(g->f, NOW0);
	respond(g, 0, -EPROTO, NULL, 0);
	assert_true(fuse_client_tick(g->f, NOW0) <= NOW0 + NSEC_PER_SEC);
	assert_int_equal(n_calls, 0);
	fuse_client_tick(g->f, NOW0 + 2 * NSEC_PER_SEC);
	assert_int_equal(n_calls, 1);
}

static void test_a_reset_resends_with_the_mark(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	kernel_send(g, FUSE_STATFS, 20, "", 0);
	fuse_client_pull(g->f, true, NOW0);
	assert_true(call_header(0).unique == 20);
	reset_all(g, NOW0);
	assert_false(fuse_client_is_ready(g->f));
	fuse_client_event(g->f, RUDP_SESSION_RESTARTED, 0, NOW0);
	fuse_client_tick(g->f, NOW0);
	respond_init(g);
	assert_true(call_header(0).unique == (20 | FUSE_PROTO_UNIQUE_RESEND));
	respond(g, 0, 0, "statfs", 6);
	expect_reply(g, 20, 0); /* the kernel never saw the mark */
}

static void test_the_kernels_resend_mark_is_kept(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	kernel_send(g, FUSE_STATFS, 20 | FUSE_PROTO_UNIQUE_RESEND, "", 0);
	fuse_client_pull(g->f, true, NOW0);
	assert_true(call_header(0).unique == (20 | FUSE_PROTO_UNIQUE_RESEND));
	respond(g, 0, 0, "statfs", 6);
	expect_reply(g, 20 | FUSE_PROTO_UNIQUE_RESEND, 0);
}

static void test_a_successor_has_requests_resent(void **state)
{
	struct rig *g = *state;
	struct fuse_out_header out;
	struct fuse_init_in init;

	bring_up(g);
	fuse_client_free(g->f);
	client_start(g);
	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	assert_true(out.unique == 0 && out.error == FUSE_PROTO_NOTIFY_RESEND);
	session.up = true;
	fuse_client_tick(g->f, NOW0);
	assert_int_equal(call_header(0).opcode, FUSE_INIT);
	memcpy(&init, calls[0].msg + sizeof(struct fuse_in_header), sizeof(init));
	assert_int_equal(init.minor, FUSE_PROTO_MINOR_MAX);
	assert_true((init.flags | (uint64_t)init.flags2 << 32) == FUSE_PROTO_FLAGS);
}

static void test_a_foreign_state_is_not_used(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	fuse_client_free(g->f);
	memset(g->cfg->mounts[0].id, 8, 16);
	client_start(g);
	expect_silence(g);
	session.up = true;
	fuse_client_tick(g->f, NOW0);
	assert_int_equal(n_calls, 0);
}

/* A procfs of one process; the test sets whether SIGKILL is pending for it. */
static char proc_dir[64];

static int proc_setup(void **state)
{
	struct rig *g;
	char pid[16];

	assert_int_equal(rig_setup(state), 0);
	g = *state;
	snprintf(proc_dir, sizeof(proc_dir), "/tmp/plenum-client-XXXXXX");
	assert_non_null(mkdtemp(proc_dir));
	g->proc_fd = open(proc_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(pid, sizeof(pid), "%d", getpid());
	assert_int_equal(mkdirat(g->proc_fd, pid, 0700), 0);
	g->f->proc_fd = g->proc_fd;
	return 0;
}

static void caller_is(struct rig *g, bool dying)
{
	char path[32], text[128];
	int fd, n;

	snprintf(path, sizeof(path), "%d/status", getpid());
	fd = openat(g->proc_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	n = snprintf(text, sizeof(text), "Name:\tx\nSigPnd:\t%016x\nShdPnd:\t%016x\n",
		     dying ? 0x100 : 0x800, 0x800);
	assert_int_equal(write(fd, text, (size_t)n), n);
	close(fd);
}

static int proc_teardown(void **state)
{
	struct rig *g = *state;
	char path[32];

	snprintf(path, sizeof(path), "%d/status", getpid());
	unlinkat(g->proc_fd, path, 0);
	*strchr(path, '/') = '\0';
	unlinkat(g->proc_fd, path, AT_REMOVEDIR);
	assert_int_equal(rmdir(proc_dir), 0);
	return rig_teardown(state);
}

static void kernel_interrupt(struct rig *g, uint64_t unique)
{
	struct fuse_interrupt_in in = {.unique = unique};

	kernel_send_to(g, FUSE_INTERRUPT, unique + 1, 0, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
}

static void test_a_harmless_signal_ends_nothing(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	caller_is(g, false);
	kernel_send(g, FUSE_STATFS, 30 | FUSE_PROTO_UNIQUE_RESEND, "", 0);
	fuse_client_pull(g->f, true, NOW0);
	kernel_interrupt(g, 30 | FUSE_PROTO_UNIQUE_RESEND);
	for (unsigned i = 0; i < 100; i++)
		fuse_client_tick(g->f, g->now_ns += NSEC_PER_SEC / 10);
	assert_int_equal(n_calls, 1); /* the server does not get an interrupt */
	expect_silence(g);
	respond(g, 0, 0, "statfs", 6);
	expect_reply(g, 30 | FUSE_PROTO_UNIQUE_RESEND, 0);
	assert_int_equal(fuse_client_in_flight(g->f), 0);
	assert_int_equal(g->f->n_interrupted, 0);
}

/* Not at once with the first signal, but with a second one, which FUSE does not report. */
static void test_a_killed_process_does_not_hang(void **state)
{
	struct rig *g = *state;
	struct fuse_interrupt_in in;
	uint64_t killed_ns;

	bring_up(g);
	caller_is(g, false);
	kernel_send(g, FUSE_STATFS, 30, "", 0);
	fuse_client_pull(g->f, true, NOW0);
	kernel_interrupt(g, 30);
	caller_is(g, true);
	assert_true(fuse_client_tick(g->f, NOW0) <= NOW0 + NSEC_PER_SEC / 4);
	killed_ns = g->now_ns += NSEC_PER_SEC / 4;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 2); /* the server may still end it regularly */
	assert_int_equal(call_header(1).opcode, FUSE_INTERRUPT);
	memcpy(&in, calls[1].msg + sizeof(struct fuse_in_header), sizeof(in));
	assert_true(in.unique == 30);
	expect_silence(g);
	while (g->now_ns < killed_ns + NSEC_PER_SEC + NSEC_PER_SEC / 4)
		fuse_client_tick(g->f, g->now_ns += NSEC_PER_SEC / 10);
	expect_reply(g, 30, -EINTR);
	respond_empty(g, 1);
	respond(g, 0, 0, "statfs", 6); /* the program no longer waits */
	expect_silence(g);
	assert_int_equal(fuse_client_in_flight(g->f), 0);
	kernel_interrupt(g, 30);		    /* answered already */
	kernel_send(g, FUSE_INTERRUPT, 35, &in, 3); /* truncated */
	fuse_client_pull(g->f, true, NOW0);
	assert_int_equal(n_calls, 0);
	expect_silence(g);
}

/* For direct I/O, FUSE does not report that the program is killed. */
static void test_a_kill_without_interrupt_is_found(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	caller_is(g, false);
	kernel_send(g, FUSE_STATFS, 30, "", 0);
	fuse_client_pull(g->f, true, g->now_ns);
	for (unsigned i = 0; i < 100; i++) {
		g->now_ns += NSEC_PER_SEC / 10;
		assert_true(fuse_client_tick(g->f, g->now_ns) <= g->now_ns + 2 * NSEC_PER_SEC);
	}
	assert_int_equal(n_calls, 1);
	expect_silence(g);
	caller_is(g, true);
	for (unsigned i = 0; i < 50; i++)
		fuse_client_tick(g->f, g->now_ns += NSEC_PER_SEC / 10);
	assert_int_equal(call_header(1).opcode, FUSE_INTERRUPT);
	expect_reply(g, 30, -EINTR);
	expect_silence(g);
}

static void test_a_kill_ends_queued_requests(void **state)
{
	struct rig *g = *state;

	caller_is(g, true);
	kernel_send(g, FUSE_STATFS, 40, "", 0);
	kernel_interrupt(g, 40);
	expect_reply(g, 40, -EINTR);
	assert_int_equal(fuse_client_in_flight(g->f), 0);
}

/* If waiting requests use all slots, their INTERRUPTs are queued behind requests without a slot. */
static void test_killed_processes_free_their_slots(void **state)
{
	static const uint8_t data[3 * CLIENT_SMALL_BYTES];
	struct rig *g = *state;
	const unsigned n = CLIENT_POOL_BUFS - 1;
	uint64_t nodeid, fh, first;

	bring_up(g);
	nodeid = lookup(g, "f", "handle-f");
	fh = open_file(g, nodeid, 5);
	session.up = false;
	reset_all(g, NOW0);
	fuse_client_event(g->f, RUDP_SESSION_LOST, 0, NOW0);
	caller_is(g, false);
	first = g->unique + 2;
	for (unsigned i = 0; i < n; i++)
		kernel_write(g, nodeid, fh, data, sizeof(data));
	kernel_interrupt(g, first);
	assert_int_equal(fuse_client_in_flight(g->f), n);
	assert_int_equal(g->f->n_interrupted, 0);
	g->now_ns += 2 * NSEC_PER_SEC;
	assert_true(fuse_client_tick(g->f, g->now_ns) <= g->now_ns + NSEC_PER_SEC / 4);
	expect_silence(g);
	caller_is(g, true);
	g->now_ns += NSEC_PER_SEC / 4;
	/* There is room, and the kernel does not signal waiting requests again. */
	assert_true(fuse_client_tick(g->f, g->now_ns) <= g->now_ns);
	for (unsigned i = 0; i < n; i++)
		expect_reply(g, first + 2 * i, -EINTR);
	assert_int_equal(fuse_client_in_flight(g->f), 0);
	assert_int_equal(fuse_client_pull(g->f, true, g->now_ns), 1);
	expect_silence(g);
}

static void test_hard_mounts_wait_and_soft_ones_time_out(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	session.up = false;
	reset_all(g, NOW0);
	fuse_client_event(g->f, RUDP_SESSION_LOST, 0, NOW0);
	kernel_send(g, FUSE_STATFS, 50, "", 0);
	fuse_client_pull(g->f, true, NOW0 + NSEC_PER_SEC);
	assert_true(fuse_client_tick(g->f, NOW0 + NSEC_PER_SEC) <= NOW0 + 30 * NSEC_PER_SEC);
	assert_true(fuse_client_tick(g->f, NOW0 + 29 * NSEC_PER_SEC) == NOW0 + 30 * NSEC_PER_SEC);
	assert_true(fuse_client_waits_ns(g->f, NOW0 + NSEC_PER_SEC) == NSEC_PER_SEC);
	expect_silence(g);
	fuse_client_tick(g->f, NOW0 + 30 * NSEC_PER_SEC);
	expect_reply(g, 50, -EIO);
	kernel_send(g, FUSE_STATFS, 51, "", 0); /* known to be away now: at once */
	fuse_client_pull(g->f, true, NOW0 + 31 * NSEC_PER_SEC);
	fuse_client_tick(g->f, NOW0 + 31 * NSEC_PER_SEC);
	expect_reply(g, 51, -EIO);
	assert_int_equal(fuse_client_timeouts(g->f), 2);
	assert_int_equal(fuse_client_in_flight(g->f), 0);
	assert_true(fuse_client_waits_ns(g->f, NOW0 + 32 * NSEC_PER_SEC) == 0);
	g->f->soft_ns = 0;
	kernel_send(g, FUSE_STATFS, 52, "", 0);
	fuse_client_pull(g->f, true, NOW0 + 32 * NSEC_PER_SEC);
	fuse_client_tick(g->f, NOW0 + 100000 * NSEC_PER_SEC);
	expect_silence(g);
	session.up = true;
	fuse_client_tick(g->f, NOW0 + 100001 * NSEC_PER_SEC);
	respond_init(g);
	assert_int_equal(call_header(0).opcode, FUSE_STATFS);
}

/* Also while the server lives; its late answer is dropped. */
static void test_soft_mounts_do_not_wait_for_a_slow_server(void **state)
{
	struct rig *g = *state;
	struct fuse_open_in in = {.flags = O_RDONLY};
	struct fuse_open_out o = {.fh = 77};
	struct fuse_release_in release;

	bring_up(g);
	kernel_send(g, FUSE_OPENDIR, 50, &in, sizeof(in));
	fuse_client_pull(g->f, true, NOW0);
	fuse_client_tick(g->f, NOW0 + 31 * NSEC_PER_SEC);
	expect_reply(g, 50, -EIO);
	assert_int_equal(fuse_client_in_flight(g->f), 1); /* its buffers are with the transport */
	respond(g, 0, 0, &o, sizeof(o));
	expect_silence(g);
	fuse_client_tick(g->f, NOW0 + 31 * NSEC_PER_SEC);
	assert_int_equal(call_header(0).opcode, FUSE_RELEASEDIR); /* no such file is open */
	memcpy(&release, calls[0].msg + sizeof(struct fuse_in_header), sizeof(release));
	assert_true(release.fh == 77);
	respond(g, 0, 0, NULL, 0);
	assert_int_equal(fuse_client_in_flight(g->f), 0);
}

/* A new session recovers slots that only the server still holds. */
static void test_a_hung_server_does_not_keep_all_slots(void **state)
{
	struct rig *g = *state;
	struct fuse_out_header out;
	unsigned kernels = CLIENT_SLOTS - CLIENT_SLOTS_INTERNAL;

	bring_up(g);
	calls_limit = CALLS_MAX;
	for (unsigned i = 0; i < kernels; i++) {
		kernel_send(g, FUSE_STATFS, 100 + 2 * i, "", 0);
		fuse_client_pull(g->f, true, NOW0);
	}
	assert_null(g->f->free);
	fuse_client_tick(g->f, NOW0 + 31 * NSEC_PER_SEC);
	for (unsigned i = 0; i < kernels; i++)
		assert_true(kernel_receive(g, &out, NULL, 0) > 0 && out.error == -EIO);
	kernel_send(g, FUSE_STATFS, 1000, "", 0);
	fuse_client_pull(g->f, true, NOW0 + 31 * NSEC_PER_SEC);
	assert_non_null(g->f->free);
	session.up = true;
	g->now_ns = NOW0 + 32 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	respond_init(g);
	assert_int_equal(call_header(0).opcode, FUSE_STATFS);
	assert_true(call_header(0).unique == 1000);
}

static void test_locks_are_refused_if_configured(void **state)
{
	struct rig *g = *state;
	struct fuse_lk_in in = {.fh = 1};
	struct fuse_init_out init = {0};
	struct fuse_out_header out;

	g->cfg->mounts[0].locks = LAUNCH_LOCKS_NONE;
	kernel_init(g, 44, ~0ULL);
	fuse_client_pull(g->f, true, NOW0);
	assert_true(kernel_receive(g, &out, &init, sizeof(init)) > 0);
	assert_true(init.flags & FUSE_POSIX_LOCKS && init.flags & FUSE_FLOCK_LOCKS);
	for (uint32_t opcode = FUSE_GETLK; opcode <= FUSE_SETLKW; opcode++) {
		kernel_send(g, opcode, 10 + 2 * opcode, &in, sizeof(in));
		fuse_client_pull(g->f, true, NOW0);
		expect_reply(g, 10 + 2 * opcode, -ENOLCK);
	}
	session_up(g);
	assert_false(((struct fuse_init_in *)(void *)(calls[0].msg + 40))->flags &
		     FUSE_POSIX_LOCKS); /* ends at the client */
}

static void test_requests_wait_when_slots_run_out(void **state)
{
	struct rig *g = *state;
	unsigned sent = 0, answered = 0, taken;
	struct fuse_out_header out;

	bring_up(g);
	calls_limit = 100;
	do {
		while (sent - answered < CLIENT_SLOTS + 50 && sent < 1000) {
			kernel_send(g, FUSE_STATFS, 100 + 2 * sent, "0123456789abcdef", 16);
			sent++;
			if (sent - answered >= 200) /* the socket's queue is short */
				break;
		}
		taken = 0;
		for (int n; (n = fuse_client_pull(g->f, true, NOW0)) > 0;)
			taken += (unsigned)n;
		assert_true(fuse_client_in_flight(g->f) <= CLIENT_SLOTS);
		assert_true(n_calls <= 100);
		while (n_calls > 0) {
			respond(g, 0, 0, "attr", 4);
			assert_true(kernel_receive(g, &out, NULL, 0) > 0);
			answered++;
		}
	} while (answered < 1000 && (taken > 0 || fuse_client_in_flight(g->f) > 0));
	assert_int_equal(answered, 1000);
	assert_int_equal(fuse_client_in_flight(g->f), 0);
}

static void test_large_requests_are_not_copied(void **state)
{
	struct rig *g = *state;
	static uint8_t data[64 << 10];
	struct fuse_read_in in = {.size = sizeof(data)};
	struct fuse_write_out wrote = {.size = sizeof(data)};
	const uint8_t *first;
	uint64_t nodeid;

	bring_up(g);
	nodeid = lookup(g, "f", "handle-f");
	in.fh = open_file(g, nodeid, 5);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31);
	kernel_write(g, nodeid, in.fh, data, sizeof(data));
	assert_memory_equal(calls[0].msg + FUSE_PROTO_WRITE_DATA, data, sizeof(data));
	expect_handle(0, 0, "handle-f"); /* behind the data, which stays where it was read */
	first = calls[0].msg;
	kernel_send_to(g, FUSE_READ, 62, nodeid, &in, sizeof(in));
	fuse_client_pull(g->f, true, NOW0);
	assert_ptr_equal(calls[0].msg, first);
	respond(g, 1, 0, data, sizeof(data));
	expect_reply(g, 62, 0);
	respond(g, 0, 0, &wrote, sizeof(wrote));
	expect_reply(g, g->unique, 0);
	assert_int_equal(launch_stat_get(&g->stats.read_bytes), sizeof(data));
	/* idle: the memory is returned */
	fuse_client_tick(g->f, NOW0 + 2 * NSEC_PER_SEC);
	assert_int_equal(g->f->pool.free_touched, 0);
}

static void is_resident(void *buf, size_t bytes)
{
	uint8_t resident[17] = {0}; /* the head has its own page */

	assert_int_equal(bytes, (sizeof(resident) - 1) * 4096);
	assert_int_equal(
		mincore((uint8_t *)buf - (uintptr_t)buf % 4096, sizeof(resident) * 4096, resident),
		0);
	for (unsigned i = 0; i < sizeof(resident); i++)
		assert_true(resident[i] & 1);
}

/* The buffer of the next request of that size is populated: if the kernel had to populate it
 * while we are killed, the request would fail. */
static void test_memory_is_populated_before_the_request(void **state)
{
	struct rig *g = *state;
	static uint8_t data[64 << 10];
	uint64_t nodeid, fh;

	bring_up(g);
	nodeid = lookup(g, "f", "handle-f");
	fh = open_file(g, nodeid, 5);
	kernel_write(g, nodeid, fh, data, sizeof(data));
	is_resident(g->f->read_buf, sizeof(data));
}

/* So is a buffer whose answer never came, and that of a successor's first request. */
static void test_unused_buffers_are_populated_too(void **state)
{
	struct rig *g = *state;
	static uint8_t data[64 << 10];
	struct client_pool pool;
	uint64_t nodeid, fh;
	void *buf;

	assert_int_equal(client_pool_init(&pool, true), 0);
	buf = client_pool_get(&pool, 0, FUSE_PROTO_WRITE_DATA);
	client_pool_put(&pool, buf, sizeof(data));
	assert_ptr_equal(client_pool_get(&pool, 0, FUSE_PROTO_WRITE_DATA), buf);
	client_pool_populate(&pool, buf, sizeof(data));
	is_resident(buf, sizeof(data));
	client_pool_done(&pool);

	bring_up(g);
	nodeid = lookup(g, "f", "handle-f");
	fh = open_file(g, nodeid, 5);
	kernel_write(g, nodeid, fh, data, sizeof(data));
	fuse_client_free(g->f);
	client_start(g);
	is_resident(g->f->read_buf, sizeof(data));
}

static void test_reads_leave_buffers_for_writes(void **state)
{
	struct rig *g = *state;
	struct fuse_read_in in = {.size = 1 << 20};
	unsigned reads;

	bring_up(g);
	in.fh = open_file(g, FUSE_ROOT_ID, 5);
	for (unsigned i = 0; i < CLIENT_POOL_BUFS; i++)
		kernel_send(g, FUSE_READ, 100 + 2 * i, &in, sizeof(in));
	fuse_client_pull(g->f, true, NOW0);
	reads = n_calls;
	assert_true(reads < CLIENT_POOL_BUFS && reads >= 16);
	kernel_send(g, FUSE_STATFS, 1000, "0123456789abcdef", 16);
	fuse_client_pull(g->f, true, NOW0);
	assert_int_equal(n_calls, reads + 1);
	assert_int_equal(call_header(reads).opcode, FUSE_STATFS);
	for (unsigned i = 0; i < reads; i++) {
		respond(g, 0, 0, "x", 1);
		expect_reply(g, 100 + 2 * i, 0);
	}
	fuse_client_tick(g->f, NOW0);
	assert_int_equal(n_calls, 1 + CLIENT_POOL_BUFS - reads);
}

static void test_bad_answers_become_errors(void **state)
{
	struct rig *g = *state;
	struct fuse_out_header bad[] = {
		{.len = 99}, {.len = 16, .error = 5}, {.len = 16, .error = -600}, {.len = 15}};

	bring_up(g);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		struct fake_call c;
		uint8_t *buf;

		kernel_send(g, FUSE_STATFS, 70 + 2 * i, "0123456789abcdef", 16);
		fuse_client_pull(g->f, true, NOW0);
		c = call_take(0);
		buf = fuse_client_buf_get(g->f, c.cookie, sizeof(bad[i]));
		memcpy(buf, &bad[i], sizeof(bad[i]));
		fuse_client_response(g->f, c.cookie, 0, buf, i == 3 ? 15 : sizeof(bad[i]), NOW0);
		expect_reply(g, 70 + 2 * i, -EIO);
		fuse_client_response(g->f, c.cookie, 0, buf, 16, NOW0); /* a second answer */
		expect_silence(g);
	}
	assert_null(fuse_client_buf_get(g->f, 12345, 16));
}

static void test_malformed_kernel_requests_are_ignored(void **state)
{
	struct rig *g = *state;
	uint8_t junk[100] = {1};

	bring_up(g);
	assert_int_equal(write(g->kernel, junk, 5), 5);
	assert_int_equal(write(g->kernel, junk, sizeof(junk)), sizeof(junk));
	assert_int_equal(fuse_client_pull(g->f, true, NOW0), 2);
	assert_int_equal(n_calls, 0);
	expect_silence(g);
}

static void test_unmount_sends_destroy(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	assert_false(fuse_client_owes_goodbye(g->f, NOW0));
	shutdown(g->kernel, SHUT_WR);
	assert_int_equal(fuse_client_pull(g->f, true, NOW0), -ENODEV);
	assert_int_equal(call_header(0).opcode, FUSE_DESTROY);
	assert_int_equal(fuse_client_sent(g->f), 1);
	respond(g, 0, 0, NULL, 0);
	fuse_client_tick(g->f, NOW0);
	assert_true(session.closed);
	assert_int_equal(fuse_client_sent(g->f), 0);
}

/* The server is away as the mount ends: it gets the goodbye when it is back. */
static void test_destroy_waits_for_an_absent_server(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	session.up = false;
	fuse_client_event(g->f, RUDP_SESSION_LOST, 0, NOW0);
	shutdown(g->kernel, SHUT_WR);
	assert_int_equal(fuse_client_pull(g->f, true, NOW0), -ENODEV);
	assert_true(fuse_client_tick(g->f, NOW0) <= NOW0 + NSEC_PER_SEC);
	assert_int_equal(n_calls, 0);
	assert_true(fuse_client_owes_goodbye(g->f, NOW0)); /* a stopping worker waits */
	/* The goodbye may be lost with the session. */
	for (unsigned i = 0; i < 2; i++) {
		session.up = true;
		fuse_client_event(g->f, RUDP_SESSION_UP, 0, NOW0);
		fuse_client_tick(g->f, NOW0);
		respond_init(g);
		fuse_client_tick(g->f, NOW0);
		assert_int_equal(call_header(0).opcode, FUSE_DESTROY);
		assert_false(session.closed);
		if (i == 0)
			reset_all(g, NOW0);
	}
	assert_true(fuse_client_owes_goodbye(g->f, NOW0));
	respond_empty(g, 0);
	assert_false(fuse_client_owes_goodbye(g->f, NOW0));
	fuse_client_tick(g->f, NOW0);
	assert_true(session.closed);
}

/* It does not return: nothing of the mount remains here. */
static void test_destroy_is_given_up_after_a_minute(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	session.up = false;
	fuse_client_event(g->f, RUDP_SESSION_LOST, 0, NOW0);
	shutdown(g->kernel, SHUT_WR);
	assert_int_equal(fuse_client_pull(g->f, true, NOW0), -ENODEV);
	fuse_client_tick(g->f, NOW0);
	fuse_client_tick(g->f, NOW0 + 59 * NSEC_PER_SEC);
	assert_false(session.closed);
	fuse_client_tick(g->f, NOW0 + 60 * NSEC_PER_SEC);
	assert_true(session.closed);
	assert_null(fuse_client_session(g->f));
	assert_true(fuse_client_tick(g->f, NOW0 + 61 * NSEC_PER_SEC) == UINT64_MAX);
	assert_false(fuse_client_owes_goodbye(g->f, NOW0 + 61 * NSEC_PER_SEC));
}

static void stat_fs(struct rig *g)
{
	kernel_send(g, FUSE_STATFS, g->unique += 2, NULL, 0);
}

/* Each read is a system call: if all recently active programs wait, no read is tried. */
static void test_reads_are_skipped_while_all_programs_wait(void **state)
{
	struct rig *g = *state;
	const struct fuse_statfs_out st = {};

	bring_up(g);
	stat_fs(g);
	assert_int_equal(fuse_client_pull(g->f, false, NOW0), 1);
	stat_fs(g);
	assert_int_equal(fuse_client_pull(g->f, false, NOW0), 0);
	assert_int_equal(fuse_client_pull(g->f, true, NOW0), 1);
	/* Two programs are active: while one of them is answered, the other may ask. */
	respond(g, n_calls - 1, 0, &st, sizeof(st));
	stat_fs(g);
	stat_fs(g);
	assert_int_equal(fuse_client_pull(g->f, false, NOW0), 1);
	assert_int_equal(fuse_client_pull(g->f, false, NOW0), 0);
	assert_int_equal(fuse_client_pull(g->f, true, NOW0), 1);
	/* There were three, but for a long time only one. */
	for (unsigned i = 0; i < 3; i++)
		respond(g, n_calls - 1, 0, &st, sizeof(st));
	for (unsigned i = 0; i < 3 * 64; i++) {
		stat_fs(g);
		assert_int_equal(fuse_client_pull(g->f, false, NOW0), 1);
		respond(g, n_calls - 1, 0, &st, sizeof(st));
	}
	stat_fs(g);
	stat_fs(g);
	assert_int_equal(fuse_client_pull(g->f, false, NOW0), 1);
	assert_int_equal(fuse_client_pull(g->f, false, NOW0), 0);
	assert_int_equal(fuse_client_pull(g->f, true, NOW0), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)
#define PROC_TEST(f) cmocka_unit_test_setup_teardown(f, proc_setup, proc_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_init_negotiates_parameters),
		TEST(test_init_accepts_only_offered_flags),
		TEST(test_init_rejects_unknown_kernels),
		TEST(test_requests_wait_for_the_hello),
		TEST(test_a_refused_hello_is_retried_later),
		TEST(test_a_reset_resends_with_the_mark),
		TEST(test_the_kernels_resend_mark_is_kept),
		TEST(test_a_successor_has_requests_resent),
		TEST(test_a_foreign_state_is_not_used),
		PROC_TEST(test_a_harmless_signal_ends_nothing),
		PROC_TEST(test_a_killed_process_does_not_hang),
		PROC_TEST(test_a_kill_without_interrupt_is_found),
		PROC_TEST(test_a_kill_ends_queued_requests),
		PROC_TEST(test_killed_processes_free_their_slots),
		TEST(test_hard_mounts_wait_and_soft_ones_time_out),
		TEST(test_soft_mounts_do_not_wait_for_a_slow_server),
		TEST(test_a_hung_server_does_not_keep_all_slots),
		TEST(test_locks_are_refused_if_configured),
		TEST(test_requests_wait_when_slots_run_out),
		TEST(test_large_requests_are_not_copied),
		TEST(test_memory_is_populated_before_the_request),
		TEST(test_unused_buffers_are_populated_too),
		TEST(test_reads_leave_buffers_for_writes),
		TEST(test_bad_answers_become_errors),
		TEST(test_malformed_kernel_requests_are_ignored),
		TEST(test_reads_are_skipped_while_all_programs_wait),
		TEST(test_unmount_sends_destroy),
		TEST(test_destroy_waits_for_an_absent_server),
		TEST(test_destroy_is_given_up_after_a_minute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
