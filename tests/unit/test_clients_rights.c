/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the rights of clients, and which of them lose their connections to others. */
#include "agent/clients/clients.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_rights_follow_uids_and_groups(void **state)
{
	char *users[] = {"root", "4711", "no-such-user"}, *groups[] = {"root", "815"};
	gid_t of_groups[] = {7, 815}, of_none[] = {7, 816};
	struct clients_peer p = {.uid = 1, .gid = 1};
	struct clients_rights r;
	struct events ev;

	events_init(&ev);
	log_set_level(LOG_LEVEL_ERR);
	assert_int_equal(clients_rights_resolve(users, 3, groups, 2, &ev, &r), 0);
	assert_int_equal(r.n_users, 2);
	assert_int_equal(r.n_groups, 2);
	assert_non_null(strstr(ev.ring[1].text, "unknown user no-such-user"));
	r.readers = 100;
	assert_false(clients_rights_change(&r, &p));
	assert_false(clients_rights_read(&r, &p));
	p.uid = 4711;
	assert_true(clients_rights_change(&r, &p));
	p = (struct clients_peer){.uid = 1, .gid = 1, .pid = 1, .groups = of_groups, .n_groups = 2};
	assert_true(clients_rights_change(&r, &p));
	p.groups = of_none;
	assert_false(clients_rights_change(&r, &p));
	p.gid = 100; /* the readers' group grants reading only */
	assert_true(clients_rights_read(&r, &p));
	assert_false(clients_rights_change(&r, &p));
	clients_rights_done(&r);
	/* Without an admin list only root may make changes. */
	assert_int_equal(clients_rights_resolve(NULL, 0, NULL, 0, &ev, &r), 0);
	p = (struct clients_peer){.uid = UINT32_MAX, .gid = UINT32_MAX};
	assert_false(clients_rights_change(&r, &p));
	assert_false(clients_rights_read(&r, &p));
	p.uid = 0;
	assert_true(clients_rights_change(&r, &p));
	clients_rights_done(&r);
}

/* ---- eviction of connections ---- */

static struct client table[CLIENTS_STREAMS_MAX];

static struct client *fill(size_t n, uid_t first_uid, size_t of_each, enum client_state state)
{
	memset(table, 0, sizeof(table));
	for (size_t i = 0; i < n; i++) {
		table[i].id = i + 1;
		table[i].role = PRIVSEP_API;
		table[i].peer.uid = first_uid + (uid_t)(i / of_each);
		table[i].state = state;
		table[i].next = i + 1 < n ? &table[i + 1] : NULL;
	}
	return table;
}

static struct client *victim(struct client *list, uid_t uid, bool *full)
{
	return clients_victim(list, PRIVSEP_API, &(struct clients_peer){.uid = uid}, full);
}

static struct client *stream_victim(struct client *list, uid_t uid, bool *full)
{
	return clients_stream_victim(list, PRIVSEP_API, &(struct clients_peer){.uid = uid}, full);
}

static void test_the_uid_with_most_connections_is_evicted(void **state)
{
	bool full;

	assert_null(victim(NULL, 0, &full));
	assert_false(full);
	/* A uid at its limit loses its own oldest connection, and none of another child. */
	fill(CLIENTS_UID_MAX, 1, CLIENTS_UID_MAX, CLIENT_NEW);
	assert_null(victim(table, 2, &full));
	assert_false(full);
	assert_ptr_equal(victim(table, 1, &full), &table[0]);
	assert_null(clients_victim(table, PRIVSEP_ADMIN, &(struct clients_peer){.uid = 1}, &full));
	table[0].state = CLIENT_HELD; /* idle connections go before waiting ones */
	assert_ptr_equal(victim(table, 1, &full), &table[1]);
	fill(CLIENTS_UID_MAX, 1, CLIENTS_UID_MAX, CLIENT_HELD);
	assert_ptr_equal(victim(table, 1, &full), &table[0]);
	/* All connections of the uid wait for an answer: its next one is refused. */
	fill(CLIENTS_UID_MAX, 1, CLIENTS_UID_MAX, CLIENT_ASKED);
	assert_null(victim(table, 1, &full));
	assert_true(full);
	fill(CLIENTS_UID_MAX, 1, CLIENTS_UID_MAX, CLIENT_WAITS);
	assert_null(victim(table, 1, &full));
	assert_true(full);
	table[7].state = CLIENT_NEW;
	assert_ptr_equal(victim(table, 1, &full), &table[7]);
	/* Many uids fill the table: the uid with the most connections loses one, so a uid with a
	 * single connection keeps it. */
	fill(CLIENTS_MAX, 1, 16, CLIENT_NEW);
	table[0].peer.uid = 99;
	assert_ptr_equal(victim(table, 50, &full), &table[16]);
	assert_false(full);
	/* A child that closes no connection. */
	fill(CLIENTS_MAX, 1, 1, CLIENT_DROPPED);
	assert_null(victim(table, 50, &full));
	assert_true(full);
}

static void test_the_uid_with_most_streams_loses_one(void **state)
{
	static const size_t of_each = CLIENTS_STREAMS_UID_MAX;
	bool full;

	assert_null(stream_victim(NULL, 1, &full));
	assert_false(full);
	/* A user at the limit gets no further stream, and keeps the open ones. */
	fill(of_each, 1, of_each, CLIENT_STREAM);
	assert_null(stream_victim(table, 1, &full));
	assert_true(full);
	assert_null(stream_victim(table, 2, &full));
	assert_false(full);
	/* Streams take no place of other requests, of whichever user. */
	assert_null(victim(table, 1, &full));
	assert_false(full);
	/* A full table: a new user gets a place of the one with the most streams. */
	fill(CLIENTS_STREAMS_MAX, 1, of_each, CLIENT_STREAM);
	assert_ptr_equal(stream_victim(table, 50, &full), &table[0]);
	assert_false(full);
	fill(CLIENTS_STREAMS_MAX, 1, 1, CLIENT_STREAM);
	assert_ptr_equal(stream_victim(table, 5000, &full), &table[0]);
	assert_null(stream_victim(table, 1, &full));
	assert_true(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rights_follow_uids_and_groups),
		cmocka_unit_test(test_the_uid_with_most_connections_is_evicted),
		cmocka_unit_test(test_the_uid_with_most_streams_loses_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
