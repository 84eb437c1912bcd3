/* SPDX-License-Identifier: BSD-3-Clause */
/* The worker's time and its I/O helpers are shared among client hosts: a host that asks without
 * pause delays no other. */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "tests/lib/fuse/server_test.h"
#include "tests/lib/fuse/server_turn.h"
#include <signal.h>

#define FLOOD 40U
#define ENTRIES 400U
#define MANY 250U

#define HOSTS 5U
#define GUESTS 9U
#define EACH 240U

static char sessions[GUESTS];
static struct fuse_server_client *guests[GUESTS]; /* most of them each of another host */
static struct rudp_call flood[FLOOD], *single;

/* A session of another mount, from that host. */
static void guest_of(unsigned i, unsigned host)
{
	const struct ip_addr from = {AF_INET, {10, 0, 0, (uint8_t)(1 + host)}};
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

static void guest_come(unsigned i)
{
	guest_of(i, i);
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

/* Fills the root folder. */
static void entries_make(void)
{
	char name[16];
	uint64_t node;

	for (unsigned i = 0; i < ENTRIES; i++) {
		snprintf(name, sizeof(name), "entry-%03u", i);
		assert_int_equal(rig_mkdir(&rig, ROOT, name, &node), 0);
	}
}

/* Clients of two hosts connect; the first one has the root folder open. Returns its handle. */
static uint64_t guests_come_and_open(void)
{
	struct fuse_open_in open = {};

	rig.cfg.sessions = 8;
	single = rig.call;
	guest_come(1);
	guest_come(0);
	assert_int_equal(rig_do(&rig, FUSE_OPENDIR, ROOT, RIG_ARG(open)), 0);
	return rig_file(&rig, ROOT, ((const struct fuse_open_out *)rig.data)->fh, O_DIRECTORY);
}

static void a_flood_of_listings_does_not_delay_another_host(void **state)
{
	struct fuse_server_client *was = rig.client;
	unsigned least = UINT32_MAX;
	uint64_t fh;

	entries_make();
	fh = guests_come_and_open();
	rig.client = guests[1];
	assert_int_equal(rig_do(&rig, FUSE_STATFS, ROOT), 0);
	/* A busy machine can run the helpers of the listings and not the one of the request. */
	for (unsigned round = 0; round < 20 && least > FLOOD / 4; round++) {
		unsigned before;

		rig.client = guests[0];
		flood_send(fh);
		before = flood_answered();
		rig.client = guests[1];
		rig_send(&rig, single, &(struct rig_req){.op = FUSE_STATFS, .node = ROOT});
		assert_int_equal(rig_result(&rig, single), 0);
		least = MIN_OF(least, flood_answered() - before);
		for (unsigned i = 0; i < FLOOD; i++)
			rig_wait(&rig, &flood[i]);
	}
	/* Those that the helpers had begun, and a few that ended meanwhile. */
	assert_in_range(least, 0, FLOOD / 4);
	rig.client = was;
	for (unsigned i = 0; i < 2; i++)
		fuse_server_client_gone(guests[i]);
	server_turn(rig.server, clock_now_ns(), true);
}

/* Stops or continues the helpers of a queue. */
static void helpers_signal(enum helpers_queue queue, int sig)
{
	unsigned first = queue == HELPERS_QUICK ? 1 : 1 + fs_helper_count(HELPERS_QUICK);

	for (unsigned i = first; i < first + fs_helper_count(queue); i++)
		assert_int_equal(kill(fs_helper_pid(rig.helpers, i), sig), 0);
}

static void guests_leave(struct fuse_server_client *was, unsigned n)
{
	rig.client = was;
	for (unsigned i = 0; i < n; i++)
		fuse_server_client_gone(guests[i]);
	server_turn(rig.server, clock_now_ns(), true);
}

static void listings_beside_another_host_use_no_helper_for_names(void **state)
{
	const struct fuse_read_in in = {.size = 65536};
	struct fuse_server_client *was = rig.client;
	struct fuse_read_in read = in;

	read.fh = guests_come_and_open();
	for (unsigned i = 0; i < 2; i++) {
		rig.client = guests[i];
		assert_int_equal(rig_do(&rig, FUSE_STATFS, ROOT), 0);
	}
	helpers_signal(HELPERS_SLOW, SIGSTOP);
	rig.client = guests[0];
	rig_send(&rig, &flood[0],
		 &(struct rig_req){.op = FUSE_READDIRPLUS, .node = ROOT, RIG_ARG(read)});
	for (unsigned i = 0; i < 20; i++) {
		rig.client = guests[i % 2];
		assert_int_equal(rig_do(&rig, FUSE_STATFS, ROOT), 0);
	}
	assert_false(flood[0].answered);
	helpers_signal(HELPERS_SLOW, SIGCONT);
	rig_wait(&rig, &flood[0]);
	assert_int_equal(rig_result(&rig, &flood[0]), 0);
	guests_leave(was, 2);
}

/* Four hosts use all helper calls of the export, and more of their requests wait. */
static void hosts_take_turns_to_have_a_helper_call(void **state)
{
	struct rudp_call *many = calloc((HOSTS - 1) * EACH, sizeof(*many));
	struct fuse_server_client *was = rig.client;
	unsigned n = 0;

	assert_non_null(many);
	rig.cfg.sessions = 8;
	single = rig.call;
	for (unsigned i = HOSTS; i-- > 0;) {
		guest_come(i);
		assert_int_equal(rig_do(&rig, FUSE_STATFS, ROOT), 0);
	}
	helpers_signal(HELPERS_QUICK, SIGSTOP);
	for (unsigned i = 0; i < (HOSTS - 1) * EACH; i++) {
		rig.client = guests[i % (HOSTS - 1)];
		rig_send(&rig, &many[i], &(struct rig_req){.op = FUSE_STATFS, .node = ROOT});
	}
	/* Each poll starts some, until all calls are in use; the others then wait for one. */
	for (unsigned i = 0; i < EACH; i++)
		server_turn(rig.server, clock_now_ns(), false);
	assert_false(fs_helper_has_call(rig.helpers, 0));
	rig.client = guests[HOSTS - 1];
	rig_send(&rig, single, &(struct rig_req){.op = FUSE_STATFS, .node = ROOT});
	helpers_signal(HELPERS_QUICK, SIGCONT);
	assert_int_equal(rig_result(&rig, single), 0);
	for (unsigned i = 0; i < (HOSTS - 1) * EACH; i++)
		n += many[i].answered;
	print_message("%u requests of other hosts were answered before\n", n);
	for (unsigned i = 0; i < (HOSTS - 1) * EACH; i++) {
		rig_wait(&rig, &many[i]);
		assert_int_equal(rig_result(&rig, &many[i]), 0);
	}
	assert_in_range(n, 0, (HOSTS - 1) * EACH / 2);
	guests_leave(was, HOSTS);
	free(many);
}

/* Polls until the call is answered, without time passing. Number of polls after which a step was
 * left to do. */
static unsigned steps_await(const struct rudp_call *call)
{
	uint64_t now_ns = rig.server->now_ns, end = clock_now_ns() + RIG_DEADLINE_NS;
	unsigned n = 0;

	while (!call->answered && clock_now_ns() < end) {
		server_turn(rig.server, now_ns, true);
		n += !list_empty(&rig.server->step_sources);
	}
	assert_true(call->answered);
	return n;
}

static void short_request(unsigned guest)
{
	const struct fuse_getattr_in in = {};

	rig.client = guests[guest];
	assert_int_equal(rig_do(&rig, FUSE_GETATTR, ROOT, RIG_ARG(in)), 0);
	/* Just now, however long the reply took. */
	assert_ptr_equal(rig.server->latest[0].from, guests[guest]->from);
	rig.server->latest[0].at_ns = rig.server->now_ns;
}

/* Reads the file's first MiB as the first guest. Returns as steps_await(). */
static unsigned large_read(uint64_t node, uint64_t fh, const uint8_t *data)
{
	const struct fuse_read_in in = {.fh = fh, .size = 1U << 20};
	unsigned n;

	rig.client = guests[0];
	rig_send(&rig, single, &(struct rig_req){.op = FUSE_READ, .node = node, RIG_ARG(in)});
	n = steps_await(single);
	assert_int_equal(rig_result(&rig, single), 0);
	assert_int_equal(rig.len, 1U << 20);
	assert_memory_equal(rig.data, data, 1U << 20);
	return n;
}

static void large_reads_go_in_steps_beside_another_host(void **state)
{
	struct fuse_server_client *was = rig.client;
	struct fuse_open_in open = {};
	const size_t bytes = 1U << 20;
	uint8_t *data = malloc(bytes);
	uint64_t node, fh;
	unsigned n;
	int fd;

	assert_non_null(data);
	for (size_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)(i * 7 + i / 4096);
	fd = openat(AT_FDCWD, rig_path(&rig, "data"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, data, bytes), bytes);
	close(fd);
	rig.cfg.sessions = 8;
	single = rig.call;
	guest_come(1);
	guest_come(0);
	assert_int_equal(rig_lookup(&rig, ROOT, "data", &node), 0);
	assert_int_equal(rig_do(&rig, FUSE_OPEN, node, RIG_ARG(open)), 0);
	fh = rig_file(&rig, node, ((const struct fuse_open_out *)rig.data)->fh, 0);
	memset(rig.server->latest, 0, sizeof(rig.server->latest));
	assert_int_equal(large_read(node, fh, data), 0);
	short_request(0);
	assert_int_equal(large_read(node, fh, data), 0);
	short_request(1);
	n = large_read(node, fh, data);
	/* A disk's file system need not tell what it has in memory. */
	assert_true(n >= 2 || strncmp(rig.dir, "/dev/shm", 8) != 0);
	guests_leave(was, 2);
	free(data);
}

static void listings_go_in_steps_beside_another_host(void **state)
{
	struct fuse_server_client *was = rig.client;
	struct fuse_read_in in = {.size = 65536};
	size_t len, tail_len;

	entries_make();
	in.fh = guests_come_and_open();
	memset(rig.server->latest, 0, sizeof(rig.server->latest));
	for (unsigned guest = 0; guest < 2; guest++) {
		unsigned n;

		short_request(guest);
		rig.client = guests[0];
		rig_send(&rig, single,
			 &(struct rig_req){.op = FUSE_READDIRPLUS, .node = ROOT, RIG_ARG(in)});
		n = steps_await(single);
		assert_int_equal(rig_result(&rig, single), 0);
		if (guest == 0) {
			assert_int_equal(n, 0);
			len = rig.len;
			tail_len = rig.tail_len;
			assert_true(len > 32768);
		} else {
			assert_true(n >= 1);
			assert_int_equal(rig.len, len);
			assert_int_equal(rig.tail_len, tail_len);
		}
	}
	guests_leave(was, 2);
}

#define LARGE_BUFFERS 64U

/* Reads of a guest that are answered although other requests wait. */
static void reads_at_once(unsigned guest, uint64_t node, struct fuse_read_in read)
{
	rig.client = guests[guest];
	for (unsigned i = 0; i < 8; i++) {
		rig_send(&rig, single,
			 &(struct rig_req){.op = FUSE_READ, .node = node, RIG_ARG(read)});
		assert_int_equal(rig_result(&rig, single), 0);
	}
}

/* One host takes as many large reply buffers as it gets, and acknowledges nothing. */
static void a_host_with_its_share_of_reply_buffers_leaves_the_rest_to_others(void **state)
{
	const struct fuse_read_in in = {.size = 1U << 20};
	struct rudp_call *held = calloc(LARGE_BUFFERS, sizeof(*held));
	struct fuse_server_client *was = rig.client;
	struct fuse_read_in read = in;
	uint64_t nodes[GUESTS], fhs[GUESTS];
	unsigned n = 0;

	assert_non_null(held);
	rig_put_text(&rig, "data", "text");
	rig.cfg.sessions = 16;
	rig_standing = RUDP_STANDING_GOOD;
	single = rig.call;
	for (unsigned i = 0; i < GUESTS; i++) {
		guest_of(i, i == GUESTS - 1);
		guests[i]->peer = 1 + i;
		assert_int_equal(rig_lookup(&rig, ROOT, "data", &nodes[i]), 0);
		assert_int_equal(rig_open(&rig, nodes[i], O_RDONLY, &fhs[i]), 0);
	}
	rig_short = 0;
	for (unsigned i = 0; i < LARGE_BUFFERS; i++) {
		rig.client = guests[i / 8];
		read.fh = fhs[i / 8];
		held[i].hold = true;
		rig_send(&rig, &held[i],
			 &(struct rig_req){.op = FUSE_READ, .node = nodes[i / 8], RIG_ARG(read)});
	}
	for (unsigned i = 0; i < 200; i++)
		rig_poll(&rig);
	for (unsigned i = 0; i < LARGE_BUFFERS; i++)
		n += held[i].answered;
	assert_int_equal(n, LARGE_BUFFERS * 3 / 4);
	/* Its own clients end for want of memory if they are silent, the other's do not. */
	assert_true(rig_short > 0);
	assert_true(fuse_server_client_may_end(guests[0]));
	assert_false(fuse_server_client_may_end(guests[GUESTS - 1]));
	/* Small requests of the same session pass the large ones that wait. */
	assert_true(guests[5]->n_waits > 0);
	reads_at_once(5, nodes[5], (struct fuse_read_in){.size = 4, .fh = fhs[5]});
	assert_true(guests[5]->n_waits > 0);
	/* The other host reads at once. */
	read.fh = fhs[GUESTS - 1];
	reads_at_once(GUESTS - 1, nodes[GUESTS - 1], read);
	for (unsigned i = 0; i < LARGE_BUFFERS; i++) {
		held[i].hold = false;
		if (held[i].answered)
			fuse_server_sent(rig.server, held[i].token);
	}
	for (unsigned i = 0; i < LARGE_BUFFERS; i++)
		rig_wait(&rig, &held[i]);
	guests_leave(was, GUESTS);
	free(held);
}

/* Requests that the worker answers itself: it starts few of each host at once, and then hosts take
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
	short_request(1);
	short_request(0);
	for (unsigned i = 0; i < MANY; i++)
		rig_send(&rig, &many[i], &req);
	rig.client = guests[1];
	rig_send(&rig, rig.call, &req);
	/* Without time passing: both hosts have just sent something. */
	server_turn(rig.server, rig.server->now_ns, false);
	assert_true(rig.call->answered);
	for (unsigned i = 0; i < MANY; i++)
		n += many[i].answered;
	assert_in_range(n, 4, 10);
	for (unsigned i = 0; i < MANY; i++) {
		rig_wait(&rig, &many[i]);
		assert_int_equal(rig_result(&rig, &many[i]), 0);
	}
	rig.client = was;
	for (unsigned i = 0; i < 2; i++)
		fuse_server_client_gone(guests[i]);
	server_turn(rig.server, clock_now_ns(), true);
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON("/tmp", a_flood_of_listings_does_not_delay_another_host),
		ON("/tmp", listings_beside_another_host_use_no_helper_for_names),
		ON("/tmp", hosts_take_turns_to_have_a_helper_call),
		ON("/dev/shm", a_host_with_its_share_of_reply_buffers_leaves_the_rest_to_others),
		BOTH(large_reads_go_in_steps_beside_another_host),
		ON("/tmp", listings_go_in_steps_beside_another_host),
		ON("/tmp", a_flood_of_requests_does_not_delay_another_host),
	};

	return !rig_can() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
