/* SPDX-License-Identifier: BSD-3-Clause */
/* The worker's time and its I/O helpers are shared among client hosts: a host that asks without
 * pause delays no other. */
#include "tests/lib/fuse/server_test.h"

#define FLOOD 40U
#define ENTRIES 400U
#define MANY 250U

static char sessions[2];
static struct fuse_server_client *guests[2]; /* of two hosts */
static struct rudp_call flood[FLOOD], *single;

static void guest_come(unsigned i)
{
	const struct ip_addr from = {AF_INET, {10, 0, 0, (uint8_t)(1 + i)}};
	struct fuse_hello h = rig.hello;
	uint8_t bytes[FUSE_HELLO_BYTES];

	h.mount_id[0] = (uint8_t)(1 + i);
	fuse_hello_put(bytes, &h);
	assert_int_equal(fuse_server_accept(rig.server, (struct rudp_session *)&sessions[i], &from,
					    bytes, sizeof(bytes), &guests[i]),
			 0);
	rig.client = guests[i];
	assert_int_equal(rig_init_session(&rig), 0);
}

/* Sends a flood of READDIRPLUS of one folder. */
static void flood_send(uint64_t fh)
{
	const struct fuse_read_in in = {.fh = fh, .size = 65536};

	for (unsigned i = 0; i < FLOOD; i++)
		rig_send(&rig, &flood[i],
			 &(struct rig_req){.op = FUSE_READDIRPLUS,
					   .node = ROOT,
					   .arg = &in,
					   .arg_len = sizeof(in)});
}

static unsigned flood_answered(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < FLOOD; i++)
		n += flood[i].answered;
	return n;
}

static void a_flood_of_listings_does_not_delay_another_host(void **state)
{
	struct fuse_server_client *was = rig.client;
	struct fuse_open_in open = {};
	char name[16];
	uint64_t fh, node;

	for (unsigned i = 0; i < ENTRIES; i++) {
		snprintf(name, sizeof(name), "entry-%03u", i);
		assert_int_equal(rig_mkdir(&rig, ROOT, name, &node), 0);
	}
	rig.cfg.sessions = 8;
	single = rig.call;
	guest_come(1);
	guest_come(0);
	assert_int_equal(rig_do(&rig, FUSE_OPENDIR, ROOT, RIG_ARG(open)), 0);
	fh = rig_file(&rig, ROOT, ((const struct fuse_open_out *)rig.data)->fh, O_DIRECTORY);
	rig.client = guests[1];
	assert_int_equal(rig_do(&rig, FUSE_STATFS, ROOT), 0);
	for (unsigned round = 0; round < 3; round++) {
		unsigned before;

		rig.client = guests[0];
		flood_send(fh);
		before = flood_answered();
		rig.client = guests[1];
		rig_send(&rig, single, &(struct rig_req){.op = FUSE_STATFS, .node = ROOT});
		assert_int_equal(rig_result(&rig, single), 0);
		/* Those that the helpers had begun, and a few that ended meanwhile. */
		assert_in_range(flood_answered() - before, 0, FLOOD / 4);
		for (unsigned i = 0; i < FLOOD; i++)
			rig_wait(&rig, &flood[i]);
	}
	rig.client = was;
	for (unsigned i = 0; i < 2; i++)
		fuse_server_client_gone(guests[i]);
	fuse_server_poll(rig.server, clock_now_ns(), true);
}

/* Requests that the worker answers itself: it starts few of them at once, and then hosts take
 * turns. */
static void a_flood_of_requests_does_not_delay_another_host(void **state)
{
	const struct fuse_getattr_in in = {};
	const struct rig_req req = {
		.op = FUSE_GETATTR, .node = ROOT, .arg = &in, .arg_len = sizeof(in)};
	struct rudp_call *many = calloc(MANY, sizeof(*many));
	struct fuse_server_client *was = rig.client;
	unsigned n = 0;

	assert_non_null(many);
	rig.cfg.sessions = 8;
	guest_come(1);
	guest_come(0);
	for (unsigned i = 0; i < MANY; i++)
		rig_send(&rig, &many[i], &req);
	rig.client = guests[1];
	rig_send(&rig, rig.call, &req);
	fuse_server_poll(rig.server, clock_now_ns(), false);
	assert_true(rig.call->answered);
	for (unsigned i = 0; i < MANY; i++)
		n += many[i].answered;
	assert_in_range(n, 16, MANY / 2);
	for (unsigned i = 0; i < MANY; i++) {
		rig_wait(&rig, &many[i]);
		assert_int_equal(rig_result(&rig, &many[i]), 0);
	}
	rig.client = was;
	for (unsigned i = 0; i < 2; i++)
		fuse_server_client_gone(guests[i]);
	fuse_server_poll(rig.server, clock_now_ns(), true);
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON("/tmp", a_flood_of_listings_does_not_delay_another_host),
		ON("/tmp", a_flood_of_requests_does_not_delay_another_host),
	};

	return !rig_can() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
