/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of clients that a compute worker refuses: bounded, with a reason and one event each, and
 * without those that were accepted or have given up. */
#include "dataplane/worker/worker_refused.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
	struct worker w;
	struct worker_refused r;
	struct launch_stats stats;
	int agent; /* the other end of the worker's control channel */
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	int pair[2];

	assert_non_null(b);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	b->w.stats = &b->stats;
	b->w.control_fd = pair[0];
	b->w.now_ns = 1000 * NSEC_PER_SEC;
	b->agent = pair[1];
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	close(b->w.control_fd);
	close(b->agent);
	free(b);
	return 0;
}

static struct fuse_server_asked asked_by(const char *host, const char *export_name, unsigned mount)
{
	struct fuse_server_asked h = {.mount_id = {(uint8_t)mount, 1}};

	snprintf(h.host, sizeof(h.host), "%s", host);
	snprintf(h.export_name, sizeof(h.export_name), "%s", export_name);
	return h;
}

static void refuse(struct bench *b, const struct fuse_server_asked *h, const char *from, int error)
{
	struct ip_addr ip;

	assert_int_equal(ip_addr_parse(from, &ip), 0);
	worker_refused_add(&b->w, &b->r, h, &ip, error);
	worker_refused_publish(&b->w, &b->r);
}

static unsigned events(struct bench *b, const char *begin)
{
	struct launch_msg m;
	unsigned n = 0;

	while (recv(b->agent, &m, sizeof(m), MSG_DONTWAIT) == (ssize_t)sizeof(m)) {
		assert_int_equal(m.type, LAUNCH_MSG_EVENT);
		assert_int_equal(m.code, LAUNCH_EVENT_PEER_REFUSED);
		assert_ptr_equal(strstr(m.text, begin), m.text);
		n++;
	}
	return n;
}

static void a_refused_mount_is_listed_with_its_reason_and_one_event(void **state)
{
	static const struct {
		int error;
		const char *reason;
	} rows[] = {
		{-ENOENT, "no-export: host-a (10.1.1.1) asks for export 'x', which this host does "
			  "not have"},
		{-ENXIO, "export-missing: host-a (10.1.1.1) waits for export 'x', whose directory "
			 "is missing"},
		{-EACCES, "not-allowed: host-a (10.1.1.1) may not use export 'x': no rule of its "
			  "clients matches"},
		{-EROFS, "read-only: host-a (10.1.1.1) may only read export 'x', and mounts it for "
			 "writing"},
		{-EDESTADDRREQ, "peer-unlisted: 10.1.1.1 claims to be host-a, but 'peers' has no "
				"'ips' for that host; "},
		{-EADDRNOTAVAIL, "wrong-address: 10.1.1.1 claims to be host-a, but 'peers' has "
				 "other 'ips' for that host; "},
	};
	const struct fuse_server_asked h = asked_by("host-a", "x", 1);
	struct bench *b = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		const size_t len = MIN_OF(strlen(rows[i].reason), 100);

		refuse(b, &h, "10.1.1.1", rows[i].error);
		b->w.now_ns += 4 * NSEC_PER_SEC;
		refuse(b, &h, "10.2.1.1", rows[i].error); /* by its other leg */
		refuse(b, &h, "10.1.1.1", rows[i].error);
		assert_int_equal(events(b, rows[i].reason), 1);
		assert_int_equal(b->stats.n_refused, 1);
		assert_memory_equal(b->stats.refused[0].reason, rows[i].reason, len);
		assert_string_equal(b->stats.refused[0].host, "host-a");
		assert_string_equal(b->stats.refused[0].export_name, "x");
		assert_int_equal(b->stats.refused[0].times, 3);
		assert_int_equal(b->stats.refusals, 3 * (i + 1));
	}
}

static void refusals_that_pass_by_themselves_are_not_listed(void **state)
{
	struct fuse_server_asked h = asked_by("host-a", "x", 1);
	struct bench *b = *state;

	refuse(b, &h, "10.1.1.1", -EBUSY);
	refuse(b, &h, "10.1.1.1", -EREMOTE);
	h.by_mount_worker = true; /* the mount itself is listed */
	refuse(b, &h, "10.1.1.1", -EACCES);
	assert_int_equal(b->stats.n_refused, 0);
	assert_int_equal(b->stats.refusals, 0);
	assert_true(worker_refused_tick(&b->w, &b->r) == UINT64_MAX);
}

static void an_accepted_mount_and_one_that_gave_up_leave_the_list(void **state)
{
	struct fuse_server_asked one = asked_by("host-a", "x", 1), two = asked_by("host-a", "y", 2);
	struct bench *b = *state;

	refuse(b, &one, "10.1.1.1", -EACCES);
	refuse(b, &two, "10.1.1.1", -EACCES);
	assert_int_equal(b->stats.n_refused, 2);
	worker_refused_drop(&b->w, &b->r, &one);
	worker_refused_publish(&b->w, &b->r);
	assert_int_equal(b->stats.n_refused, 1);
	assert_string_equal(b->stats.refused[0].export_name, "y");
	assert_true(worker_refused_tick(&b->w, &b->r) < UINT64_MAX);
	b->w.now_ns += WORKER_REFUSED_NS;
	assert_true(worker_refused_tick(&b->w, &b->r) == UINT64_MAX);
	worker_refused_publish(&b->w, &b->r);
	assert_int_equal(b->stats.n_refused, 0);
	assert_int_equal(events(b, "not-allowed: "), 2);
	refuse(b, &two, "10.1.1.1", -EACCES); /* it is back */
	assert_int_equal(events(b, "not-allowed: "), 1);
}

static void one_address_cannot_fill_the_list(void **state)
{
	struct bench *b = *state;
	char text[32];

	for (unsigned i = 0; i < 200; i++) {
		struct fuse_server_asked h;

		snprintf(text, sizeof(text), "liar-%u", i);
		h = asked_by(text, "x", i);
		refuse(b, &h, "10.1.1.9", -EACCES);
	}
	assert_int_equal(b->stats.n_refused, 8);
	assert_int_equal(events(b, "not-allowed: liar-"), 8);
	for (unsigned i = 0; i < 200; i++) {
		struct fuse_server_asked h = asked_by("host-a", "x", i);

		h.mount_id[1] = 2;
		snprintf(text, sizeof(text), "10.1.2.%u", i);
		refuse(b, &h, text, -EACCES);
	}
	assert_int_equal(b->stats.n_refused, LAUNCH_REFUSED_MAX);
	assert_int_equal(events(b, "not-allowed: host-a"), 1); /* once for all its mounts */
	assert_int_equal(b->stats.refusals, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(a_refused_mount_is_listed_with_its_reason_and_one_event),
		TEST(refusals_that_pass_by_themselves_are_not_listed),
		TEST(an_accepted_mount_and_one_that_gave_up_leave_the_list),
		TEST(one_address_cannot_fill_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
