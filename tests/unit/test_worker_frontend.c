/* SPDX-License-Identifier: BSD-3-Clause */
/* A frontend worker and servers that refuse its mounts: the reason on the statistics page, and the
 * events. A SOCK_SEQPACKET socket replaces /dev/fuse. */
#include "dataplane/fuse/client/fuse_client.h"
#include "dataplane/worker/worker.h"
#include <fcntl.h>
#include <linux/fuse.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define START_NS (1000 * NSEC_PER_SEC)

static const struct worker_role *const role = &worker_role_front;

struct bench {
	struct worker w;
	struct launch_config cfg;
	struct launch_stats stats;
	int kernel, agent; /* the other ends of the mount and of the control channel */
	struct rudp_session *session;
};

static void rudp_make(struct bench *b)
{
	struct rudp_config rc = {.identity = 7, .epoch = 1, .n_ports = 1, .ops = role->ops};

	assert_int_equal(ip_prefix_parse("192.0.2.1/24", &b->cfg.ports[0].ip), 0);
	rc.user = &b->w;
	rc.ports[0] = (struct rudp_port_info){.local = {b->cfg.ports[0].ip.addr, 4420},
					      .prefix_len = 24,
					      .mtu = 1500,
					      .up = true};
	assert_int_equal(rudp_new(&rc, START_NS, &b->w.rudp), 0);
}

static void mount_make(struct launch_mount *m, int fuse_fd)
{
	strcpy(m->path, "/mnt/x");
	strcpy(m->peer, "host-b");
	strcpy(m->export_name, "x");
	m->fuse_fd = fuse_fd;
	m->state_fd = memfd_create("state", MFD_CLOEXEC);
	memset(m->id, 7, sizeof(m->id));
	m->n_addrs = 1;
	assert_int_equal(ip_addr_parse("192.0.2.9", &m->addrs[0].ip), 0);
	m->addrs[0].port = 4421;
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct reason why;
	int fuse[2], control[2];

	assert_non_null(b);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fuse), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
	b->kernel = fuse[0];
	b->agent = control[0];
	b->cfg.role = LAUNCH_FRONTEND;
	b->cfg.n_ports = b->cfg.n_mounts = 1;
	mount_make(&b->cfg.mounts[0], fuse[1]);
	b->w = (struct worker){.cfg = &b->cfg,
			       .role = role,
			       .stats = &b->stats,
			       .control_fd = control[1],
			       .epoll_fd = -1,
			       .sandbox = {.proc_fd = -1},
			       .looks_all = true,
			       .now_ns = START_NS};
	rudp_make(b);
	assert_int_equal(role->build(&b->w, &why), 0);
	b->session = rudp_session_next(b->w.rudp, NULL);
	assert_non_null(b->session);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	role->free(&b->w);
	rudp_free(b->w.rudp);
	close(b->cfg.mounts[0].fuse_fd);
	close(b->cfg.mounts[0].state_fd);
	close(b->w.control_fd);
	close(b->kernel);
	close(b->agent);
	free(b);
	return 0;
}

/* Sends a request of the kernel, which the worker reads. */
static void ask(struct bench *b, uint32_t opcode, uint64_t unique, const void *arg, size_t len)
{
	struct {
		struct fuse_in_header in;
		uint8_t arg[sizeof(struct fuse_init_in)];
	} msg = {.in = {.len = (uint32_t)(sizeof(msg.in) + len),
			.opcode = opcode,
			.unique = unique,
			.nodeid = FUSE_ROOT_ID}};

	if (len)
		memcpy(msg.arg, arg, len);
	assert_int_equal(send(b->kernel, &msg, msg.in.len, 0), msg.in.len);
	assert_int_equal(role->turn(&b->w), 1);
}

/* The time passes, without a packet of the server. Returns when the worker wants to look next. */
static uint64_t pass(struct bench *b, uint64_t ns)
{
	b->w.now_ns += ns;
	return role->tick(&b->w);
}

static void refuse(struct bench *b, int code)
{
	worker_report(&b->w, b->session, RUDP_SESSION_REFUSED, 0, code);
	role->tick(&b->w);
}

/* Counts the events that the worker has sent since the last call; each contains the text. */
static unsigned events(struct bench *b, const char *text)
{
	struct launch_msg m;
	unsigned n = 0;

	while (recv(b->agent, &m, sizeof(m), MSG_DONTWAIT) == (ssize_t)sizeof(m)) {
		assert_int_equal(m.type, LAUNCH_MSG_EVENT);
		assert_non_null(strstr(m.text, text));
		n++;
	}
	return n;
}

/* Otherwise the status would keep the reason while programs wait, and health_paths.c would blame no
 * path of the mount. */
static void a_refusal_ends_when_the_server_dies(void **state)
{
	struct bench *b = *state;
	const char *reason = b->stats.mounts[0].reason;

	for (unsigned i = 0; i < 4; i++) { /* the server repeats it every five seconds */
		refuse(b, -EACCES);
		assert_non_null(strstr(reason, "not-allowed: host-b"));
		assert_string_equal(b->stats.reason, reason);
		assert_true(pass(b, 5 * NSEC_PER_SEC) <= b->w.now_ns + FUSE_CLIENT_REFUSAL_LAST_NS);
	}
	assert_int_equal(events(b, "not-allowed: host-b"), 1);
	pass(b, FUSE_CLIENT_REFUSAL_LAST_NS - 5 * NSEC_PER_SEC);
	assert_string_equal(reason, "");
	assert_string_equal(b->stats.reason, "");
	refuse(b, -EACCES); /* the server is back */
	assert_non_null(strstr(reason, "not-allowed: host-b"));
	assert_int_equal(events(b, "not-allowed: host-b"), 1);
}

static void a_server_that_dies_after_a_refusal_is_reported_as_absent(void **state)
{
	const struct fuse_init_in init = {.major = 7, .minor = 38};
	struct bench *b = *state;

	ask(b, FUSE_INIT, 2, &init, sizeof(init));
	refuse(b, -ENOSPC); /* requests wait */
	ask(b, FUSE_STATFS, 4, NULL, 0);
	assert_int_equal(events(b, "server-full: "), 1);
	pass(b, 29 * NSEC_PER_SEC);
	assert_int_equal(events(b, ""), 0);
	pass(b, NSEC_PER_SEC);
	assert_int_equal(events(b, "has not answered for 30 s; requests wait"), 1);
	pass(b, 60 * NSEC_PER_SEC);
	assert_int_equal(events(b, ""), 0);
}

static void a_server_that_refused_the_mount_lately_is_not_absent(void **state)
{
	const struct fuse_init_in init = {.major = 7, .minor = 38};
	struct bench *b = *state;

	ask(b, FUSE_INIT, 2, &init, sizeof(init));
	ask(b, FUSE_STATFS, 4, NULL, 0);
	pass(b, 20 * NSEC_PER_SEC);
	refuse(b, -ENOSPC);
	assert_int_equal(events(b, "server-full: "), 1);
	pass(b, 29 * NSEC_PER_SEC); /* the request waits for 49 s */
	assert_string_equal(b->stats.mounts[0].reason, "");
	assert_int_equal(events(b, ""), 0);
	pass(b, NSEC_PER_SEC);
	assert_int_equal(events(b, "has not answered for 30 s; requests wait"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_refusal_ends_when_the_server_dies),
		TEST(a_server_that_dies_after_a_refusal_is_reported_as_absent),
		TEST(a_server_that_refused_the_mount_lately_is_not_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
