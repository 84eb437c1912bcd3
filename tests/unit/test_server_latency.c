/* SPDX-License-Identifier: BSD-3-Clause */
/* The server counts how long each request took: by class, in the entry of the export, from its
 * arrival until the answer is passed on. */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "tests/lib/fuse/server_test.h"

#define LATE_NS (100 * NSEC_PER_MSEC)

static uint64_t counted(unsigned export, enum launch_request_class c, uint64_t from_ns)
{
	const uint64_t *buckets = rig.stats.latencies[export].of[c].buckets;
	uint64_t n = 0;

	for (unsigned i = launch_latency_bucket(from_ns); i <= LAUNCH_LATENCY_LIMITS; i++)
		n += buckets[i];
	return n;
}

static void requests_are_counted_from_their_arrival_by_class(void **state)
{
	struct fuse_fsync_in sync = {};
	uint64_t before, node, fh;

	before = counted(0, LAUNCH_METADATA, 0);
	rig.late_ns = LATE_NS;
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(counted(0, LAUNCH_METADATA, 0), before + 1);
	assert_int_equal(counted(0, LAUNCH_METADATA, LATE_NS), 1);
	assert_int_equal(rig_write(&rig, node, fh, 0, 0, "data", 4), 4);
	assert_int_equal(counted(0, LAUNCH_WRITE, 0), 1);
	assert_int_equal(counted(0, LAUNCH_WRITE, LATE_NS), 1);
	assert_in_range(rig.stats.latencies[0].of[LAUNCH_WRITE].sum_ns, LATE_NS, UINT64_MAX);
	rig.late_ns = 0;
	assert_int_equal(rig_read(&rig, node, fh, 0, 4), 4);
	assert_int_equal(counted(0, LAUNCH_READ, 0), 1);
	assert_int_equal(counted(0, LAUNCH_WRITE, 0), 1);
	sync.fh = rig.files[fh - RIG_FH].fh;
	rig.late_ns = LATE_NS;
	(void)rig_do(&rig, FUSE_FSYNC, node, RIG_ARG(sync));
	assert_int_equal(counted(0, LAUNCH_SYNC, LATE_NS), 1);
	for (enum launch_request_class c = 0; c < LAUNCH_REQUEST_CLASS_MAX; c++)
		assert_int_equal(counted(1, c, 0), 0);
	rig.late_ns = 0;
}

/* More than a turn starts at once wait for the next. */
static void time_in_the_queue_counts(void **state)
{
	enum { MANY = 60 };
	struct rudp_call *many = calloc(MANY, sizeof(*many));
	uint64_t before = counted(0, LAUNCH_METADATA, LATE_NS);
	unsigned n_at_once = 0;

	assert_non_null(many);
	rig.late_ns = LATE_NS;
	for (unsigned i = 0; i < MANY; i++) {
		rig_send(&rig, &many[i], &(struct rig_req){.op = FUSE_STATFS, .node = ROOT});
		n_at_once += many[i].answered;
	}
	rig.late_ns = 0;
	assert_true(rig.server->n_wait > 0 && n_at_once < MANY);
	for (unsigned i = 0; i < MANY; i++)
		rig_wait(&rig, &many[i]);
	assert_int_equal(counted(0, LAUNCH_METADATA, LATE_NS), before + MANY);
	free(many);
}

static void a_request_that_no_client_waits_for_is_not_counted(void **state)
{
	uint64_t before = counted(0, LAUNCH_METADATA, 0);

	/* A helper has it: it is not answered yet. */
	rig_send(&rig, rig.call,
		 &(struct rig_req){.op = FUSE_LOOKUP, .node = ROOT, .name = "absent"});
	assert_false(rig.call->answered);
	fuse_server_call_cancelled(rig.client, rig.call);
	while (rig.server->n_active > 0)
		rig_poll(&rig);
	assert_int_equal(counted(0, LAUNCH_METADATA, 0), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON("/tmp", requests_are_counted_from_their_arrival_by_class),
		ON("/tmp", time_in_the_queue_counts),
		ON("/tmp", a_request_that_no_client_waits_for_is_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
