/* SPDX-License-Identifier: BSD-3-Clause */
/* The server puts the mounts of clients and their open files on the statistics page. */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "tests/lib/fuse/server_test.h"

/* The rig's rudp has no sessions of its making; its functions look at none. */
static void session_begin(void)
{
	static int session;

	rig.client->session = (struct rudp_session *)&session;
}

static const struct launch_client_stats *published(void)
{
	fuse_server_publish(rig.server);
	assert_int_equal(rig.stats.n_clients, 1);
	return &rig.stats.clients[0];
}

static void a_connected_client_is_listed_with_its_open_files(void **state)
{
	const struct launch_client_stats *c;
	uint64_t node, fh, before = clock_now_ns();

	session_begin();
	c = published();
	assert_string_equal(c->host, rig.client->host);
	assert_int_equal(c->state, LAUNCH_CLIENT_CONNECTED);
	assert_int_equal(c->export_index, fuse_server_client_export(rig.client));
	assert_int_equal(c->open_files, 0);
	assert_in_range(c->since_ns, 1, before);
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	assert_int_equal(published()->open_files, 1);
	assert_int_equal(rig.stats.open_files[c->export_index], 1);
	rig.client->session = NULL;
}

static void a_client_without_a_session_is_away_and_keeps_its_open_files(void **state)
{
	const struct launch_client_stats *c;
	uint64_t node, fh, before = clock_now_ns();

	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0644, &node, &fh), 0);
	session_begin();
	rig_heard_ns = 7;
	fuse_server_client_gone(rig.client);
	rig_heard_ns = 0;
	c = published();
	assert_int_equal(c->state, LAUNCH_CLIENT_AWAY);
	assert_int_equal(c->open_files, 1);
	assert_in_range(c->since_ns, before, clock_now_ns());
	assert_int_equal(c->heard_ns, 7);
	assert_int_equal(rig.stats.open_files[c->export_index], 1);
	rig_connect(&rig);
	session_begin();
	assert_int_equal(published()->state, LAUNCH_CLIENT_CONNECTED);
	rig.client->session = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON("/tmp", a_connected_client_is_listed_with_its_open_files),
		ON("/tmp", a_client_without_a_session_is_away_and_keeps_its_open_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
