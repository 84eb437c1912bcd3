/* SPDX-License-Identifier: BSD-3-Clause */
/* The client counts how long each request took: by class, in the entry of the mount, from its
 * reading to the answer that the kernel gets. */
#include "tests/lib/fuse/client_mount_workers_rig.h"

static uint64_t counted(const struct launch_latencies *l, enum launch_request_class c)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(l->of[c].buckets); i++)
		n += l->of[c].buckets[i];
	return n;
}

static uint64_t counted_in_all(const struct launch_latencies *l)
{
	uint64_t n = 0;

	for (enum launch_request_class c = 0; c < LAUNCH_REQUEST_CLASS_MAX; c++)
		n += counted(l, c);
	return n;
}

/* Whether there is one request of that class, of that duration. */
static void expect_one(const struct launch_latencies *l, enum launch_request_class c, uint64_t ns)
{
	assert_int_equal(counted(l, c), 1);
	assert_int_equal(l->of[c].buckets[launch_latency_bucket(ns)], 1);
	assert_int_equal(l->of[c].sum_ns, ns);
}

static void kernel_read(struct rig *g, uint64_t node, uint64_t fh)
{
	struct fuse_read_in in = {.fh = fh, .size = 4096};

	kernel_send_to(g, FUSE_READ, g->unique += 2, node, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
}

static void each_class_is_counted_until_the_kernel_has_the_answer(void **state)
{
	struct rig *g = *state;
	const struct launch_latencies *l = &g->stats.latencies[0];
	struct fuse_write_out wrote = {.size = 4};
	uint64_t node, fh;

	bring_up(g);
	later_ns = g->now_ns + 30000;
	node = lookup(g, "a", "handle-a");
	expect_one(l, LAUNCH_METADATA, 30000);
	fh = open_file(g, node, 100);
	assert_int_equal(counted(l, LAUNCH_METADATA), 2);
	kernel_read(g, node, fh);
	/* The time of the turn in which the answer came is not the end. */
	later_ns = g->now_ns + 3 * NSEC_PER_MSEC;
	respond(g, 0, 0, "data", 4);
	expect_one(l, LAUNCH_READ, 3 * NSEC_PER_MSEC);
	kernel_write(g, node, fh, "data", 4);
	later_ns = g->now_ns + 8000;
	respond(g, 0, 0, &wrote, sizeof(wrote));
	expect_one(l, LAUNCH_WRITE, 8000);
	kernel_fsync(g, node, fh);
	later_ns = g->now_ns + NSEC_PER_SEC;
	respond(g, 0, -EIO, NULL, 0);
	expect_one(l, LAUNCH_SYNC, NSEC_PER_SEC);
	assert_int_equal(counted(l, LAUNCH_METADATA), 2);
	assert_int_equal(counted_in_all(&g->stats.latencies[1]), 0);
}

static void answers_without_the_server_are_not_counted(void **state)
{
	struct rig *g = *state;
	struct fuse_out_header out;
	uint64_t node, fh, before;

	bring_up(g);
	assert_int_equal(counted_in_all(&g->stats.latencies[0]), 0); /* INIT */
	node = lookup(g, "a", "handle-a");
	fh = open_file(g, node, 100);
	before = counted_in_all(&g->stats.latencies[0]);
	while (kernel_receive(g, &out, NULL, 0) > 0)
		;
	kernel_release(g, node, fh);
	fuse_client_tick(g->f, g->now_ns += NSEC_PER_SEC); /* reports the close */
	assert_int_equal(call_header(0).opcode, FUSE_RELEASE);
	respond(g, 0, 0, NULL, 0);
	assert_int_equal(counted_in_all(&g->stats.latencies[0]), before);
}

static void a_request_that_times_out_is_counted_once_with_that_time(void **state)
{
	struct rig *g = *state;
	const struct launch_latencies *l = &g->stats.latencies[0];
	uint64_t node, fh;

	bring_up(g);
	node = lookup(g, "a", "handle-a");
	fh = open_file(g, node, 100);
	kernel_read(g, node, fh);
	later_ns = g->now_ns += 30 * NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(l->of[LAUNCH_READ].buckets[LAUNCH_LATENCY_LIMITS], 1);
	assert_int_equal(l->of[LAUNCH_READ].sum_ns, 30 * NSEC_PER_SEC);
	for (unsigned i = 0; i < n_calls; i++)
		if (call_header(i).opcode == FUSE_READ) {
			respond(g, i, 0, "data", 4);
			break;
		}
	assert_int_equal(counted(l, LAUNCH_READ), 1);
}

static void a_clock_that_goes_back_counts_as_no_time(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	later_ns = g->now_ns - 1;
	(void)lookup(g, "a", "handle-a");
	expect_one(&g->stats.latencies[0], LAUNCH_METADATA, 0);
}

/* The owner of the mount has handed the requests over, and counts none of them. */
static void a_mount_worker_counts_in_its_own_entry(void **state)
{
	struct ends e;
	const struct launch_latencies *l;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	l = e.g->stats.latencies;
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	opened(&e);
	assert_int_equal(counted(&l[0], LAUNCH_READ), 0);
	later_ns = e.g->now_ns + 50000;
	respond(e.g, 0, 0, "data", 4);
	expect_one(&l[LAUNCH_MOUNTS_MAX], LAUNCH_READ, 50000);
	assert_int_equal(counted(&l[0], LAUNCH_READ), 0);
	ends_down(&e);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_class_is_counted_until_the_kernel_has_the_answer),
		TEST(answers_without_the_server_are_not_counted),
		TEST(a_request_that_times_out_is_counted_once_with_that_time),
		TEST(a_clock_that_goes_back_counts_as_no_time),
		TEST(a_mount_worker_counts_in_its_own_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
