/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of open files between users, mounts and clients; the files of clients that are away; the
 * space of removed files that a crashed client had open; and requests that a disk keeps waiting.
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/objects/server_pin.h"
#include "dataplane/fuse/server/request/server_hung.h"
#include "dataplane/fuse/server/request/server_quota.h"
#include "tests/lib/fuse/server_test.h"
#include "tests/lib/fuse/server_turn.h"
#include <poll.h>

#define FILES 120U
#define WRITTEN 4096U

/* A session of this mount from that address; the rig's next requests go there. */
static struct fuse_server_client *join(const char *host, const char *addr, uint8_t mount)
{
	uint8_t hello[FUSE_HELLO_BYTES];
	struct ip_addr from;

	assert_int_equal(ip_addr_parse(addr, &from), 0);
	rig.hello.mount_id[0] = mount;
	strcpy(rig.hello.client_host, host);
	fuse_hello_put(hello, &rig.hello);
	assert_int_equal(
		fuse_server_accept(rig.server, NULL, &from, hello, sizeof(hello), &rig.client), 0);
	assert_int_equal(rig_init_session(&rig), 0);
	memcpy(&rig.identity, rig.tail + sizeof(struct fuse_proto_resp_tail), sizeof(rig.identity));
	return rig.client;
}

static uint64_t node_of(const char *name)
{
	uint64_t node;

	rig_put_text(&rig, name, "text");
	assert_int_equal(rig_lookup(&rig, ROOT, name, &node), 0);
	return node;
}

/* Opens as this user until that fails. Returns how many. */
static unsigned take(uint64_t node, uint32_t uid, unsigned max)
{
	unsigned n = 0;
	uint64_t fh;
	int r = 0;

	rig.uid = uid;
	while (n < max && (r = rig_open(&rig, node, O_RDONLY, &fh)) == 0)
		n++;
	assert_true(n == max || r == -ENFILE);
	return n;
}

static void no_user_takes_all_files(void **state)
{
	struct fuse_server_client *a, *b;
	uint64_t node, fh, made;
	struct fuse_attr attr;

	rig.server->files_max = FILES;
	a = join("host-a", "10.0.0.1", 'a');
	node = node_of("f");
	assert_int_equal(take(node, 1000, 20000), FILES * 2 / 3);
	/* Nor by other ways to open. */
	rig.uid = 1000;
	assert_int_equal(rig_open(&rig, ROOT, O_DIRECTORY, &fh), -ENFILE);
	assert_int_equal(rig_create(&rig, ROOT, "new", O_RDWR, 0600, &made, &fh), -ENFILE);
	assert_int_equal(access(rig_path(&rig, "new"), F_OK), -1);
	assert_int_equal(rig_do(&rig, FUSE_OPEN, node, RIG_ARG(((struct fuse_open_in){})),
				.flags = FUSE_PROTO_REQ_REOPEN),
			 -ENFILE);
	assert_int_equal(rig_getattr(&rig, node, &attr), 0);
	/* The server names the user. */
	server_quota_tick(rig.server, clock_now_ns());
	assert_non_null(strstr(fuse_server_reason(rig.server)->text, "user 1000 of host-a has"));
	/* Another user of the mount gets some, another client more, and both look up names. */
	assert_in_range(take(node, 1001, 20000), 1, FILES / 12);
	b = join("host-b", "10.0.0.2", 'b');
	assert_int_equal(rig_lookup(&rig, ROOT, "f", &node), 0);
	assert_in_range(take(node, 1000, 20000), FILES / 8, FILES / 3);
	/* Another mount of the first client gets no more than what is left of the client's share.
	 */
	join("host-a", "10.0.0.1", 'c');
	assert_int_equal(take(node, 2000, 20000), 0);
	/* The server names the client, since that was refused, not the user. */
	server_quota_tick(rig.server, clock_now_ns());
	assert_string_equal(fuse_server_reason(rig.server)->code, "files-short");
	assert_non_null(
		strstr(fuse_server_reason(rig.server)->text, "client host-a has used up its"));
	/* A third client opens and looks up as well. */
	join("host-c", "fd00::1", 'd');
	assert_true(take(node, 1000, 20000) > 0);
	rig.client = a;
	assert_true(rig.server->n_files < FILES);
	rig.client = b;
}

static void addresses_of_a_subnet_are_one_client(void **state)
{
	uint64_t node;

	rig.server->files_max = FILES;
	join("host-a", "fd00::1", 'a');
	node = node_of("f");
	assert_int_equal(take(node, 1000, 20000), FILES * 2 / 3);
	take(node, 1001, 20000);
	take(node, 1002, 20000);
	join("host-x", "fd00::2", 'b'); /* the rest of the client's share */
	assert_in_range(take(node, 1000, 20000), 0, FILES / 24);
	join("host-y", "fd00:0:0:1::2", 'c');
	assert_true(take(node, 1000, 20000) > FILES / 8);
}

static void closing_files_frees_the_share(void **state)
{
	uint64_t node;

	rig.server->files_max = FILES;
	join("host-a", "10.0.0.1", 'a');
	node = node_of("f");
	assert_int_equal(take(node, 1000, 20000), FILES * 2 / 3);
	for (unsigned i = 0; i < rig.n_files; i++)
		assert_int_equal(rig_release(&rig, node, RIG_FH + i), 0);
	assert_int_equal(rig.server->n_files, 0);
	for (unsigned i = 0; i < 4096; i++)
		assert_null(rig.server->users[i]);
	assert_int_equal(take(node, 1000, 20000), FILES * 2 / 3);
}

/* The mount's client is away for so many seconds more. */
static void leave_for(struct server_mount *m, unsigned seconds)
{
	if (m->client)
		fuse_server_client_gone(m->client);
	rig_poll(&rig);
	m->last_seen_s -= seconds;
	rig.server->held_ns = 0;
}

/* Files are closed some at a time. */
static void closed_await(const struct server_mount *m)
{
	assert_int_equal(server_mount_files(m), 0);
	for (unsigned i = 0; m->n_files > 0 && i < FILES; i++)
		(void)server_turn(rig.server, clock_now_ns(), true);
	assert_int_equal(m->n_files, 0);
}

static void files_of_clients_that_are_away_are_closed_first(void **state)
{
	struct fuse_server_client *a;
	struct fuse_proto_server was;
	struct server_mount *m;
	uint64_t node, fh;

	rig.server->files_max = FILES;
	a = join("host-a", "10.0.0.1", 'a');
	was = rig.identity;
	m = a->mount;
	node = node_of("f");
	assert_int_equal(take(node, 1000, 20000), FILES * 2 / 3);
	leave_for(m, 6);
	assert_int_equal(m->n_files, FILES * 2 / 3); /* it may be back soon, and files suffice */
	join("host-b", "10.0.0.2", 'b');
	assert_int_equal(take(node, 1000, 20000), FILES * 2 / 3);
	closed_await(m);
	/* The client that returns learns that it has to open its files again. */
	join("host-a", "10.0.0.1", 'a');
	assert_int_not_equal(rig.identity.incarnation, was.incarnation);
	assert_int_equal(rig_do(&rig, FUSE_OPEN, node, RIG_ARG(((struct fuse_open_in){})),
				.flags = FUSE_PROTO_REQ_REOPEN),
			 0);
	assert_int_equal(rig_open(&rig, node, O_RDONLY, &fh), 0);
}

static void few_free_files_are_a_reason(void **state)
{
	uint64_t node;

	rig.server->files_max = 100;
	join("host-a", "10.0.0.1", 'a');
	node = node_of("f");
	assert_int_equal(take(node, 1000, 60), 60);
	join("host-b", "10.0.0.2", 'b');
	assert_int_equal(take(node, 1000, 19), 19);
	server_quota_tick(rig.server, clock_now_ns());
	assert_false(reason_is_set(fuse_server_reason(rig.server)));
	assert_int_equal(take(node, 1000, 1), 1);
	server_quota_tick(rig.server, clock_now_ns());
	assert_string_equal(fuse_server_reason(rig.server)->code, "files-short");
	assert_non_null(strstr(fuse_server_reason(rig.server)->text, "80 of 100"));
	assert_non_null(
		strstr(fuse_server_reason(rig.server)->text, "host-a has most of them: 60"));
}

static void expect_hung(unsigned after_s, bool hung)
{
	server_hung_look(rig.server, clock_now_ns() + after_s * NSEC_PER_SEC);
	assert_int_equal(reason_is_set(fuse_server_reason(rig.server)), hung);
	if (hung)
		assert_string_equal(fuse_server_reason(rig.server)->code, "export-hung");
}

/* Waits until the helper has stored the space that it frees. */
static void work_bytes_await(uint64_t bytes)
{
	const uint64_t *work = &rig.server->active->helper_call->work_bytes;

	for (unsigned i = 0; i < 5000 && __atomic_load_n(work, __ATOMIC_RELAXED) < bytes; i++)
		(void)poll(NULL, 0, 1); /* paces itself */
	assert_true(__atomic_load_n(work, __ATOMIC_RELAXED) >= bytes);
}

/* The helper may have finished, but until the server polls, the request waits for it. */
static void a_request_that_its_file_system_keeps_waiting_is_named(void **state)
{
	const struct fuse_mkdir_in make = {.mode = 0755};
	const struct fuse_open_in empty = {.flags = O_WRONLY | O_TRUNC};
	static const char data[WRITTEN] = "data";
	struct fuse_fsync_in sync = {};
	struct rudp_call *call = calloc(1, sizeof(*call));
	uint64_t node, fh;

	assert_non_null(call);
	join("host-a", "10.0.0.1", 'a');
	node = node_of("f");
	assert_int_equal(rig_open(&rig, node, O_RDWR, &fh), 0);
	assert_int_equal(rig_write(&rig, node, fh, 0, O_RDWR, data, WRITTEN), WRITTEN);
	sync.fh = fh;
	expect_hung(7, false);
	rig_send(&rig, call,
		 &(struct rig_req){.op = FUSE_MKDIR, .node = ROOT, RIG_ARG(make), .name = "new"});
	expect_hung(5, false);
	expect_hung(7, true);
	rig_wait(&rig, call);
	expect_hung(7, false);
	/* To empty a small file takes no longer, but to free the space of a large one does. */
	memset(call, 0, sizeof(*call));
	rig_send(&rig, call, &(struct rig_req){.op = FUSE_OPEN, .node = node, RIG_ARG(empty)});
	expect_hung(5, false);
	expect_hung(7, true);
	work_bytes_await(WRITTEN);
	rig.server->active->helper_call->work_bytes = 256ULL << 20;
	expect_hung(9, false);
	expect_hung(11, true);
	rig.server->active->helper_call->work_bytes = 1ULL << 50;
	expect_hung(59, false);
	expect_hung(61, true);
	rig_wait(&rig, call);
	/* A sync takes as long as there is data. */
	memset(call, 0, sizeof(*call));
	rig_send(&rig, call, &(struct rig_req){.op = FUSE_FSYNC, .node = node, RIG_ARG(sync)});
	expect_hung(50, false);
	expect_hung(61, true);
	rig_wait(&rig, call);
	expect_hung(61, false);
	free(call);
}

/* Makes, opens twice and removes three files of 1 MiB. */
static void make_removed(void)
{
	static const char zeros[1 << 20];

	for (unsigned i = 0; i < 3; i++) {
		const char name[] = {'r', (char)('0' + i), '\0'};
		uint64_t node, fh, again;

		assert_int_equal(rig_create(&rig, ROOT, name, O_RDWR, 0600, &node, &fh), 0);
		for (unsigned at = 0; at < sizeof(zeros); at += 65536)
			assert_int_equal(rig_write(&rig, node, fh, at, O_RDWR, zeros, 65536),
					 65536);
		assert_int_equal(rig_open(&rig, node, O_RDONLY, &again), 0);
		assert_int_equal(rig_do(&rig, FUSE_UNLINK, ROOT, .name = name), 0);
	}
}

static void sweep(void)
{
	static uint64_t later_ns; /* a sweep does not begin at once after the last one */

	later_ns += NSEC_PER_SEC;
	server_mounts_expire(rig.server);
	server_pins_sweep(&rig.server->exports[0], clock_now_ns() + later_ns);
	rig_poll(&rig);
}

static void a_crashed_client_keeps_removed_files_for_its_lease(void **state)
{
	const struct reason *why = fuse_server_reason(rig.server);
	struct fuse_server_client *a = join("host-a", "10.0.0.1", 'a');
	struct server_mount *m = a->mount;

	make_removed();
	assert_int_equal(rig.n_held, 3);
	server_quota_tick(rig.server, clock_now_ns());
	assert_false(reason_is_set(fuse_server_reason(rig.server))); /* a client at work */
	leave_for(m, 6);
	server_quota_tick(rig.server, clock_now_ns());
	why = fuse_server_reason(rig.server);
	assert_string_equal(why->code, "space-held");
	assert_non_null(strstr(why->text, "host-a is away"));
	assert_non_null(strstr(why->text, "3 removed files"));
	assert_non_null(strstr(why->text, "3 MiB"));
	leave_for(m, SERVER_LEASE_S - 20);
	sweep();
	assert_int_equal(m->n_files, 6);
	leave_for(m, 20);
	sweep();
	assert_int_equal(m->n_files, 0);
	assert_int_equal(rig.n_held, 0);
	server_quota_tick(rig.server, clock_now_ns());
	assert_false(reason_is_set(fuse_server_reason(rig.server)));
	join("host-a", "10.0.0.1", 'a');
}

/* The rig ends only the last client. */
static void others_end(void)
{
	struct fuse_server_client *next;

	for (struct fuse_server_client *c = rig.server->clients; c; c = next) {
		next = c->next;
		if (c != rig.client)
			fuse_server_client_gone(c);
	}
}

static void all_leave_for(unsigned seconds)
{
	for (struct server_mount *m = rig.server->mounts; m; m = m->next)
		if (m->n_clients == 0)
			m->last_seen_s -= seconds;
	rig.server->held_ns = 0;
}

/* The successor has only the pins, and does not know whether the client will return. */
static void a_successor_keeps_them_for_as_long(void **state)
{
	struct fuse_server_client *a = join("host-a", "10.0.0.1", 'a');

	make_removed();
	rig.client = a;
	others_end();
	rig_stop(&rig);
	rig.hello.mount_id[0] = 'b';
	rig.n_files = 0;
	rig_start(&rig); /* with another mount, which has none of the files */
	sweep();
	assert_int_equal(rig.n_held, 3);
	all_leave_for(6);
	server_quota_tick(rig.server, clock_now_ns()); /* asks for their space */
	while (rig.server->n_helper_calls > 0)
		rig_poll(&rig);
	rig.server->held_ns = 0;
	server_quota_tick(rig.server, clock_now_ns());
	assert_string_equal(fuse_server_reason(rig.server)->code, "space-held");
	assert_non_null(strstr(fuse_server_reason(rig.server)->text, "3 removed files, 3 MiB"));
	all_leave_for(SERVER_LEASE_S - 6);
	sweep();
	assert_int_equal(rig.n_held, 0);
	rig.server->held_ns = 0;
	server_quota_tick(rig.server, clock_now_ns());
	assert_false(reason_is_set(fuse_server_reason(rig.server)));
}

static int end(void **state)
{
	others_end();
	return teardown(state);
}

#define HERE(dir, f)                                        \
	{                                                   \
#f " on " dir, f, setup, end, (void *)(dir) \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE("/dev/shm", no_user_takes_all_files),
		HERE("/dev/shm", addresses_of_a_subnet_are_one_client),
		HERE("/dev/shm", closing_files_frees_the_share),
		HERE("/dev/shm", files_of_clients_that_are_away_are_closed_first),
		HERE("/dev/shm", few_free_files_are_a_reason),
		HERE("/tmp", a_request_that_its_file_system_keeps_waiting_is_named),
		HERE("/tmp", a_crashed_client_keeps_removed_files_for_its_lease),
		HERE("/dev/shm", a_crashed_client_keeps_removed_files_for_its_lease),
		HERE("/dev/shm", a_successor_keeps_them_for_as_long),
	};

	return !rig_can() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
