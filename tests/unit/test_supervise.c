/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks through the supervisor's table completely, and tests its backoff and its updates of running
 * workers. */
#include "agent/supervise/mounts/mounts_internal.h"
#include "agent/supervise/supervise_internal.h"
#include "netcfg/base/os/fdpass.h"
#include "netcfg/base/os/folder.h"
#include "tests/lib/host/put_file.h"
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* An adopted worker that was ready must answer soon; one that is still starting has the time of a
 * start. */
static void test_an_adopted_worker_has_time_to_answer(void **state)
{
	const uint64_t now = 100 * NSEC_PER_SEC;

	assert_int_equal(sup_adopt_limit_ns(now - 60 * NSEC_PER_SEC, now), SUP_ADOPT_LIMIT_NS);
	assert_int_equal(sup_adopt_limit_ns(now - SUP_START_LIMIT_NS, now), SUP_ADOPT_LIMIT_NS);
	assert_int_equal(sup_adopt_limit_ns(now - 25 * NSEC_PER_SEC, now), SUP_ADOPT_LIMIT_NS);
	assert_int_equal(sup_adopt_limit_ns(now - 4 * NSEC_PER_SEC, now),
			 SUP_START_LIMIT_NS - 4 * NSEC_PER_SEC);
	assert_int_equal(sup_adopt_limit_ns(0, now), SUP_START_LIMIT_NS);
	assert_int_equal(sup_adopt_limit_ns(UINT64_MAX, now), SUP_START_LIMIT_NS);
	/* A worker may wait this long for its queues and its links. */
	assert_true(SUP_START_LIMIT_NS - SUP_ADOPT_LIMIT_NS >= 16 * NSEC_PER_SEC);
}

static bool has_process(enum sup_state s)
{
	return s == SUP_STARTING || s == SUP_UP || s == SUP_STOPPING;
}

static bool is_death(enum sup_event e)
{
	return e == SUP_EV_EXITED_0 || e == SUP_EV_EXITED_CONFIG || e == SUP_EV_CRASHED;
}

static void test_the_table_has_no_hole(void **state)
{
	for (unsigned s = 0; s < SUP_STATE_MAX; s++)
		for (unsigned e = 0; e < SUP_EVENT_MAX; e++) {
			const struct sup_rule *r = sup_rule_get(s, e);

			assert_int_not_equal(r->action, SUP_ACT_UNSET);
			assert_in_range(r->action, 1, SUP_ACTION_MAX - 1);
			assert_in_range(r->next, 0, SUP_STATE_MAX - 1);
			assert_string_not_equal(sup_state_to_string(s), "?");
			assert_string_not_equal(sup_event_to_string(e), "?");
		}
}

/* Properties of every state and event, whatever the table's content. */
static void test_the_table_keeps_its_invariants(void **state)
{
	for (unsigned s = 0; s < SUP_STATE_MAX; s++)
		for (unsigned e = 0; e < SUP_EVENT_MAX; e++) {
			const struct sup_rule *r = sup_rule_get(s, e);

			/* A process is never started while the worker has one that runs. */
			if (r->action == SUP_ACT_SPAWN) {
				assert_false(has_process(s));
				assert_int_equal(r->next, SUP_STARTING);
			}
			/*
			 * An exited process leaves no state that needs a process, and vice versa.
			 */
			if (has_process(s) && is_death(e))
				assert_false(has_process(r->next));
			if (has_process(s) && !is_death(e) && e != SUP_EV_SPAWN_FAILED &&
			    e != SUP_EV_MUST_WAIT)
				assert_true(has_process(r->next));
			if (r->action == SUP_ACT_STOP || r->action == SUP_ACT_KILL)
				assert_true(has_process(s));
			/* Nor is a running process adopted while the worker has one of our own. */
			if (r->action == SUP_ACT_ADOPT || r->action == SUP_ACT_REPLACE) {
				assert_int_equal(s, SUP_STOPPED);
				assert_true(has_process(r->next));
			}
			/* An adopted worker is not up before it answers. */
			if (r->next == SUP_UP && s != SUP_UP)
				assert_int_equal(e, SUP_EV_READY);
			/* Doing nothing changes nothing. */
			if (r->action == SUP_ACT_NONE)
				assert_int_equal(r->next, s);
		}
}

struct step {
	enum sup_event event;
	enum sup_state next;
	enum sup_action action;
};

static void walk(const struct step *steps, size_t n)
{
	enum sup_state s = SUP_STOPPED;

	for (size_t i = 0; i < n; i++) {
		const struct sup_rule *r = sup_rule_get(s, steps[i].event);

		assert_int_equal(r->next, steps[i].next);
		assert_int_equal(r->action, steps[i].action);
		s = r->next;
	}
}

static void test_a_worker_restarts_after_it_exits(void **state)
{
	static const struct step steps[] = {
		{SUP_EV_WANT, SUP_STARTING, SUP_ACT_SPAWN},
		{SUP_EV_READY, SUP_UP, SUP_ACT_NOTE_UP},
		{SUP_EV_CRASHED, SUP_BACKOFF, SUP_ACT_BACKOFF},
		{SUP_EV_TIMER, SUP_STARTING, SUP_ACT_SPAWN},
		{SUP_EV_START_TIMEOUT, SUP_STARTING, SUP_ACT_KILL},
		{SUP_EV_CRASHED, SUP_BACKOFF, SUP_ACT_BACKOFF},
		{SUP_EV_TIMER, SUP_STARTING, SUP_ACT_SPAWN},
		{SUP_EV_READY, SUP_UP, SUP_ACT_NOTE_UP},
		{SUP_EV_HEARTBEAT_MISSED, SUP_UP, SUP_ACT_KILL},
		{SUP_EV_CRASHED, SUP_BACKOFF, SUP_ACT_BACKOFF},
		{SUP_EV_UNWANT, SUP_STOPPED, SUP_ACT_DISARM},
	};

	walk(steps, ARRAY_SIZE(steps));
}

static void test_a_failed_worker_waits_for_a_change(void **state)
{
	static const struct step steps[] = {
		{SUP_EV_WANT, SUP_STARTING, SUP_ACT_SPAWN},
		{SUP_EV_FAILED_MSG, SUP_STARTING, SUP_ACT_NOTE_REASON},
		{SUP_EV_EXITED_CONFIG, SUP_FAILED, SUP_ACT_GIVE_UP},
		{SUP_EV_WANT, SUP_FAILED, SUP_ACT_NONE},
		{SUP_EV_CONFIG_CHANGED, SUP_STARTING, SUP_ACT_SPAWN},
		{SUP_EV_SPAWN_FAILED, SUP_FAILED, SUP_ACT_GIVE_UP},
		{SUP_EV_TIMER, SUP_STARTING, SUP_ACT_SPAWN}, /* the missing resource is available */
	};

	walk(steps, ARRAY_SIZE(steps));
}

static void test_a_changed_configuration_restarts_the_worker(void **state)
{
	static const struct step steps[] = {
		{SUP_EV_WANT, SUP_STARTING, SUP_ACT_SPAWN},
		{SUP_EV_READY, SUP_UP, SUP_ACT_NOTE_UP},
		{SUP_EV_CONFIG_CHANGED, SUP_STOPPING, SUP_ACT_STOP},
		{SUP_EV_CONFIG_CHANGED, SUP_STOPPING, SUP_ACT_NONE},
		{SUP_EV_TIMER, SUP_STOPPING, SUP_ACT_KILL},
		{SUP_EV_CRASHED, SUP_STOPPED, SUP_ACT_REAPED},
		{SUP_EV_WANT, SUP_STARTING, SUP_ACT_SPAWN},
	};

	walk(steps, ARRAY_SIZE(steps));
}

/* It waits until the other worker that serves its mounts or exports has exited. */
static void test_a_worker_waits_for_another_to_exit(void **state)
{
	static const struct step steps[] = {
		{SUP_EV_WANT, SUP_STARTING, SUP_ACT_SPAWN},
		{SUP_EV_MUST_WAIT, SUP_BACKOFF, SUP_ACT_WAIT},
		{SUP_EV_TIMER, SUP_STARTING, SUP_ACT_SPAWN},
		{SUP_EV_MUST_WAIT, SUP_BACKOFF, SUP_ACT_WAIT},
		{SUP_EV_UNWANT, SUP_STOPPED, SUP_ACT_DISARM},
	};

	walk(steps, ARRAY_SIZE(steps));
}

static void test_a_found_worker_is_adopted_or_replaced(void **state)
{
	static const struct step steps[] = {
		{SUP_EV_FOUND, SUP_STARTING, SUP_ACT_ADOPT},
		{SUP_EV_WANT, SUP_STARTING, SUP_ACT_NONE},
		{SUP_EV_READY, SUP_UP, SUP_ACT_NOTE_UP},
		{SUP_EV_READY, SUP_UP, SUP_ACT_NONE},
		{SUP_EV_CRASHED, SUP_BACKOFF, SUP_ACT_BACKOFF},
	};
	static const struct step deaf[] = {
		{SUP_EV_FOUND, SUP_STARTING, SUP_ACT_ADOPT},
		{SUP_EV_START_TIMEOUT, SUP_STARTING, SUP_ACT_KILL},
		{SUP_EV_CRASHED, SUP_BACKOFF, SUP_ACT_BACKOFF},
	};
	static const struct step other[] = {
		{SUP_EV_FOUND_OTHER, SUP_STOPPING, SUP_ACT_REPLACE},
		{SUP_EV_WANT, SUP_STOPPING, SUP_ACT_NONE},
		{SUP_EV_TIMER, SUP_STOPPING, SUP_ACT_KILL},
		{SUP_EV_CRASHED, SUP_STOPPED, SUP_ACT_REAPED},
		{SUP_EV_WANT, SUP_STARTING, SUP_ACT_SPAWN},
	};

	walk(steps, ARRAY_SIZE(steps));
	walk(deaf, ARRAY_SIZE(deaf));
	walk(other, ARRAY_SIZE(other));
}

static void test_the_backoff_grows_to_its_limit(void **state)
{
	assert_int_equal(sup_backoff_ns(1), 0); /* immediate */
	assert_int_equal(sup_backoff_ns(2), 0);
	assert_int_equal(sup_backoff_ns(3), SUP_BACKOFF_FIRST_NS);
	assert_int_equal(sup_backoff_ns(4), 2 * SUP_BACKOFF_FIRST_NS);
	/* With its jitter of a quarter it stays well below a mount's default timeout. */
	assert_true(SUP_BACKOFF_MAX_NS * 5 / 4 < 30 * NSEC_PER_SEC / 2);
	for (unsigned n = 2; n < 100; n++) {
		assert_true(sup_backoff_ns(n) >= sup_backoff_ns(n - 1));
		assert_true(sup_backoff_ns(n) <= SUP_BACKOFF_MAX_NS);
	}
	assert_int_equal(sup_backoff_ns(100), SUP_BACKOFF_MAX_NS);
}

/* A worker gets a leg that is added later, except one for RDMA if the worker has given up what RDMA
 * needs. */
static void test_a_running_worker_gets_new_ports(void **state)
{
	struct launch_config is = {.transport = LAUNCH_UDP, .n_ports = 1}, want = is;

	strcpy(is.ports[0].leg, "leg-a");
	want.ports[0] = is.ports[0];
	strcpy(want.ports[1].leg, "leg-b");
	want.n_ports = 2;
	assert_true(sup_ports_follow(&is, &want));
	want.ports[1].rdma = true;
	assert_false(sup_ports_follow(&is, &want));
	is.ports[0].rdma = want.ports[0].rdma = true;
	assert_true(sup_ports_follow(&is, &want));
	want.ports[0].rdma = false;
	assert_false(sup_ports_follow(&is, &want));
}

/* ---- RDMA devices that appear later ---- */

static void put(const char *root, const char *path, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put_file_v(root, path, fmt, args);
	va_end(args);
}

/* A device of that driver, with the address as a GID for RoCE v1 only. */
static void put_device(const char *root, const char *module, const char *version)
{
	char to[256], at[256];

	put(root, "/class/infiniband_verbs/uverbs3/ibdev", "mlx5_0\n");
	put(root, "/class/infiniband/mlx5_0/ports/1/gids/0",
	    "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
	put(root, "/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0", "IB/RoCE v1\n");
	put(root, "/class/infiniband/mlx5_0/device/driver/x", "x");
	snprintf(at, sizeof(at), "%s/class/infiniband/mlx5_0/device/driver/module", root);
	snprintf(to, sizeof(to), "%s/module/%s", root, module);
	(void)unlink(at);
	assert_int_equal(symlink(to, at), 0);
	snprintf(at, sizeof(at), "/module/%s/version", module);
	put(root, at, "%s\n", version);
}

/* The device is found by the leg's address and RoCE version, and its driver is checked for the
 * worker, which cannot read the files. */
static void test_an_rdma_device_is_found_by_address_and_version(void **state)
{
	static const struct {
		const char *module, *version;
		bool is_old;
	} drivers[] = {
		{"mlx5_core", "4.5-1.0.1", true},
		{"mlx5_core", "4.6-1.0.1", false},
		{"mlx5_core", "24.10-1.1.4", false},
		{"irdma", "1.0", false},
	};
	struct launch_port port = {.ip.addr = {.family = AF_INET, .bytes = {10, 0, 0, 1}}};
	char root[] = "/tmp/plenum-rdma-XXXXXX";
	autoclose int fd = -1;
	struct sup_rdma found;

	assert_non_null(mkdtemp(root));
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_false(sup_rdma_search(fd, &port, false, &found));
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
		put_device(root, drivers[i].module, drivers[i].version);
		assert_true(sup_rdma_search(fd, &port, false, &found));
		assert_string_equal(found.file, "uverbs3");
		assert_string_equal(found.device, "mlx5_0");
		assert_int_equal(found.is_old, drivers[i].is_old);
	}
	assert_false(sup_rdma_search(fd, &port, true, &found));
	put(root, "/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0", "RoCE v2\n");
	assert_true(sup_rdma_search(fd, &port, true, &found));
	port.ip.addr.bytes[3] = 2;
	assert_false(sup_rdma_search(fd, &port, false, &found));
	folder_remove(root);
}

/* For a device that the worker may not use it gets only name and leg, and no file; about a usable
 * one that is gone again it gets no message. */
static void test_a_device_with_an_old_driver_is_not_passed(void **state)
{
	const struct sup_rdma old = {.file = "uverbs-none", .device = "mlx5_0", .is_old = true},
			      gone = {.file = "uverbs-none", .device = "mlx5_1"};
	struct sup_worker w = {.control_fd = -1};
	struct launch_msg m = {.type = 0};
	int ends[2], fd = -1;
	bool whole = false;

	assert_false(sup_rdma_send(&w, 1, &old));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	w.control_fd = ends[0];
	assert_false(sup_rdma_send(&w, 1, &gone));
	assert_true(sup_rdma_send(&w, 1, &old));
	assert_int_equal(fdpass_recv(ends[1], &m, sizeof(m), &fd, &whole), sizeof(m));
	assert_true(whole);
	assert_int_equal(fd, -1);
	assert_int_equal(m.type, LAUNCH_MSG_RDMA);
	assert_int_equal(m.code, 1);
	assert_int_equal(m.index, 1);
	assert_string_equal(m.text, "mlx5_0");
	close(ends[0]);
	close(ends[1]);
}

/* Bytes of the number of an RDMA test may look like invalid text; the agent must keep them. */
static void test_the_result_of_an_rdma_test_is_taken_as_it_is(void **state)
{
	const struct launch_msg m = {
		.type = LAUNCH_MSG_PINGED,
		.ping = {.id = 0x80ff7f011b9be2ff, .status = -ENOTSUP, .reason = "rdma-off"}};
	struct sup_worker w = {.control_fd = -1, .pins_fd = -1, .ping_asked = m.ping.id};
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	w.control_fd = ends[0];
	assert_int_equal(send(ends[1], &m, sizeof(m), 0), sizeof(m));
	sup_read_control(&w, 1);
	assert_memory_equal(&w.pinged, &m.ping, sizeof(m.ping));
	close(ends[0]);
	close(ends[1]);
}

/* More messages than one call reads. */
static void test_reading_what_a_dead_worker_sent_stops_at_a_limit(void **state)
{
	const int room = 64 << 20;
	struct sup_worker w = {.control_fd = -1};
	unsigned n = 0;
	int ends[2];
	char left;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	if (setsockopt(ends[1], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) < 0)
		skip(); /* only root may have a queue of this length */
	while (n < 70000 && send(ends[1], "", 1, MSG_DONTWAIT) == 1)
		n++;
	assert_int_equal(n, 70000);
	w.pins_fd = ends[0];
	sup_read_sent(&w);
	assert_int_equal(recv(ends[0], &left, 1, MSG_DONTWAIT), 1); /* of a later turn */
	close(ends[0]);
	close(ends[1]);
}

/* The kernel puts as many descriptors into the receiver's memory as have room there. */
static void test_of_several_descriptors_in_a_message_one_is_received(void **state)
{
	struct launch_msg m = {.type = LAUNCH_MSG_HOLD};
	union {
		char buf[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr head;
	} control = {.buf = {0}};
	struct iovec iov = {.iov_base = &m, .iov_len = sizeof(m)};
	int ends[2], pipes[2], fd = -1;
	bool whole = true;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	for (size_t n = 2; n <= 3; n++) {
		struct msghdr mh = {.msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = control.buf,
				    .msg_controllen = CMSG_SPACE(n * sizeof(int))};
		struct pollfd p;

		assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
		control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS,
						.cmsg_len = CMSG_LEN(n * sizeof(int))};
		for (size_t i = 0; i < n; i++)
			memcpy(CMSG_DATA(&control.head) + i * sizeof(int), &pipes[1], sizeof(int));
		assert_int_equal(sendmsg(ends[1], &mh, 0), sizeof(m));
		close(pipes[1]);
		assert_int_equal(fdpass_recv(ends[0], &m, sizeof(m), &fd, &whole), sizeof(m));
		assert_true(fd >= 0);
		assert_false(whole);
		close(fd);
		p = (struct pollfd){.fd = pipes[0]};
		assert_int_equal(poll(&p, 1, 0), 1); /* no write end is open */
		close(pipes[0]);
	}
	close(ends[0]);
	close(ends[1]);
}

/* Adds a new mount of the worker that is not attached yet. Its path is missing, so that it is never
 * attached in this test. */
static struct mount_point *put_new_mount(struct mounts *m, struct launch_config *config)
{
	struct mount_point *p = mount_point_new();

	assert_non_null(p);
	snprintf(p->what.path, sizeof(p->what.path), "/no-such-directory/mnt");
	p->what.fuse_fd = p->what.state_fd = -1;
	p->mnt_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(p->mnt_fd >= 0);
	p->may_attach = false;
	mount_point_add(m, p);
	config->mounts[0] = p->what;
	config->n_mounts = 1;
	return p;
}

/* An operator has to resolve the first five reasons. The others pass by themselves, and programs
 * that start meanwhile must wait instead of writing into the directory below. */
static void test_a_new_mount_is_held_back_only_by_a_refusal_that_lasts(void **state)
{
	static const struct {
		const char *reason;
		bool is_held_back;
	} rows[] = {
		{"no-export: host-b has no export 'x'", true},
		{"not-allowed: host-b does not let this host use export 'x'", true},
		{"wrong-address: host-b does not list 10.1.1.1", true},
		{"peer-unlisted: host-b lists no IP of this host", true},
		{"read-only: host-b lets this host only read export 'x'", true},
		{"export-missing: the directory of export 'x' is missing", false},
		{"server-full: host-b serves its maximum number of mounts", false},
		{"server-busy: the worker of host-b still executes requests", false},
		{"key-mismatch: the peer at 10.1.1.1 has another cluster key", false},
		{"", false},
	};
	struct launch_config *config = calloc(1, sizeof(*config));
	struct launch_stats *stats = calloc(1, sizeof(*stats));
	struct events *events = calloc(1, sizeof(*events));
	struct sup s = {.setup = {.loop = NULL}};
	struct sup_worker w = {.sup = &s, .state = SUP_UP, .started = config, .stats = stats};
	struct loop *loop;
	struct mounts *m;

	assert_true(config && stats && events);
	events_init(events);
	assert_int_equal(loop_new(&loop), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mount_point *p;

		assert_int_equal(
			mounts_new(&(struct mounts_setup){.loop = loop, .events = events}, &m), 0);
		s.setup.mounts = m;
		p = put_new_mount(m, config);
		snprintf(stats->mounts[0].reason, sizeof(stats->mounts[0].reason), "%s",
			 rows[i].reason);
		w.up_since_ns = clock_now_ns() - 2 * NSEC_PER_SEC;
		sup_look_at_mounts(&w);
		assert_int_equal(mounts_is_held_back(m, p->what.path), rows[i].is_held_back);
		assert_false(mounts_await_answer(m)); /* READY=1 is sent */
		stats->mounts[0].served = 1;
		sup_look_at_mounts(&w);
		assert_false(mounts_is_held_back(m, p->what.path));
		stats->mounts[0].served = 0;
		mounts_free(m);
	}
	loop_free(loop);
	free(config);
	free(stats);
	free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_rdma_device_is_found_by_address_and_version),
		cmocka_unit_test(test_a_device_with_an_old_driver_is_not_passed),
		cmocka_unit_test(test_an_adopted_worker_has_time_to_answer),
		cmocka_unit_test(test_the_table_has_no_hole),
		cmocka_unit_test(test_the_table_keeps_its_invariants),
		cmocka_unit_test(test_a_worker_restarts_after_it_exits),
		cmocka_unit_test(test_a_failed_worker_waits_for_a_change),
		cmocka_unit_test(test_a_changed_configuration_restarts_the_worker),
		cmocka_unit_test(test_a_worker_waits_for_another_to_exit),
		cmocka_unit_test(test_a_found_worker_is_adopted_or_replaced),
		cmocka_unit_test(test_the_backoff_grows_to_its_limit),
		cmocka_unit_test(test_a_running_worker_gets_new_ports),
		cmocka_unit_test(test_a_new_mount_is_held_back_only_by_a_refusal_that_lasts),
		cmocka_unit_test(test_the_result_of_an_rdma_test_is_taken_as_it_is),
		cmocka_unit_test(test_reading_what_a_dead_worker_sent_stops_at_a_limit),
		cmocka_unit_test(test_of_several_descriptors_in_a_message_one_is_received),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
