/* SPDX-License-Identifier: BSD-3-Clause */
/* The privilege boundary between the roles: every rule of a message, and descriptors of the wrong
 * kind. */
#include "agent/base/privsep.h"
#include "netcfg/base/os/memfd.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cmocka.h>

#define HEAD offsetof(struct privsep_msg, get)

static int pair[2];

static int setup(void **state)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int teardown(void **state)
{
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static int check(enum privsep_role sender, const struct privsep_msg *m, size_t len, bool fd)
{
	const char *why = NULL;
	int r = privsep_check(sender, m, len, fd, &why);

	if (r < 0)
		assert_non_null(why);
	return r;
}

static struct privsep_msg a_get(void)
{
	return (struct privsep_msg){.type = PRIVSEP_GET,
				    .size = sizeof(struct privsep_get),
				    .connection = 1,
				    .get = {.what = PRIVSEP_STATUS}};
}

static struct privsep_msg a_net_set(void)
{
	struct privsep_msg m = {
		.type = PRIVSEP_NET_SET, .size = sizeof(struct privsep_net), .connection = 1};

	strcpy(m.net.name, "leg-a");
	m.net.len = 2;
	return m;
}

static void test_valid_messages_are_accepted(void **state)
{
	struct privsep_msg m = a_get();

	assert_int_equal(check(PRIVSEP_API, &m, HEAD + sizeof(m.get), false), 0);
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + sizeof(m.get), false), 0);
	m = a_net_set();
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + sizeof(m.net), true), 0);
	m.if_match = 5;
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + sizeof(m.net), true), 0);
	m = a_get();
	m.if_match = 5; /* a read has no version */
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + sizeof(m.get), false), -EBADMSG);
}

static void test_log_levels_are_checked(void **state)
{
	struct privsep_msg m = {.type = PRIVSEP_LOG_LEVEL,
				.size = sizeof(struct privsep_log_level),
				.connection = 1,
				.log_level = {.worker = 1, .level = PRIVSEP_LOG_LEVELS}};

	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + sizeof(m.log_level), false), 0);
	assert_int_equal(check(PRIVSEP_API, &m, HEAD + sizeof(m.log_level), false), -EBADMSG);
	m.log_level.level++;
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + sizeof(m.log_level), false), -EBADMSG);
	m.log_level.level = 0;
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + sizeof(m.log_level), false), -EBADMSG);
	m.log_level = (struct privsep_log_level){.agent = 2, .level = 1};
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + sizeof(m.log_level), false), -EBADMSG);
}

static void test_moves_are_checked(void **state)
{
	struct privsep_msg m = {.type = PRIVSEP_WORKER_MOVE,
				.size = sizeof(struct privsep_move),
				.connection = 1,
				.move = {.worker = 1, .core = PRIVSEP_CORES_MAX - 1}};
	const size_t len = HEAD + sizeof(m.move);

	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, false), 0);
	assert_int_equal(check(PRIVSEP_API, &m, len, false), -EBADMSG);
	m.move.core++;
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, false), -EBADMSG);
	m.move = (struct privsep_move){.worker = 0, .core = 1};
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, false), -EBADMSG);
	m.type = PRIVSEP_GET_WORKER;
	m.move = (struct privsep_move){.worker = 1};
	assert_int_equal(check(PRIVSEP_API, &m, len, false), 0);
	m.move.core = 1;
	assert_int_equal(check(PRIVSEP_API, &m, len, false), -EBADMSG);
}

/* Only the process that serves the network passes tokens and answers about certificates, and only
 * the monitor assigns roles. */
static void test_logins_are_checked(void **state)
{
	struct privsep_msg m = {.type = PRIVSEP_LOGIN,
				.size = sizeof(struct privsep_login),
				.connection = 1,
				.login = {.has_token = 1}};
	size_t len = HEAD + sizeof(m.login);

	assert_int_equal(check(PRIVSEP_API_TLS, &m, len, false), 0);
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, false), -EBADMSG);
	assert_int_equal(check(PRIVSEP_API, &m, len, false), -EBADMSG);
	m.login.has_token = 2;
	assert_int_equal(check(PRIVSEP_API_TLS, &m, len, false), -EBADMSG);
	m = (struct privsep_msg){.type = PRIVSEP_ROLE,
				 .size = sizeof(m.role_of),
				 .connection = 1,
				 .role_of = {.role = ACCESS_ADMIN}};
	len = HEAD + sizeof(m.role_of);
	assert_int_equal(check(PRIVSEP_MONITOR, &m, len, false), 0);
	assert_int_equal(check(PRIVSEP_API_TLS, &m, len, false), -EBADMSG);
	m.role_of.role = ACCESS_ROLE_MAX;
	assert_int_equal(check(PRIVSEP_MONITOR, &m, len, false), -EBADMSG);
	m = (struct privsep_msg){.type = PRIVSEP_TLS_STATE, .size = sizeof(m.tls_state)};
	len = HEAD + sizeof(m.tls_state);
	assert_int_equal(check(PRIVSEP_API_TLS, &m, len, false), -EBADMSG); /* without a text */
	strcpy(m.tls_state.text, "the key does not fit");
	assert_int_equal(check(PRIVSEP_API_TLS, &m, len, false), 0);
	assert_int_equal(check(PRIVSEP_API, &m, len, false), -EBADMSG);
	memset(m.tls_state.text, 'x', sizeof(m.tls_state.text));
	assert_int_equal(check(PRIVSEP_API_TLS, &m, len, false), -EBADMSG);
}

/* A neighbour's names are restricted, only the lldp role may send them, and they belong to no
 * connection. */
static void test_neighbours_are_checked(void **state)
{
	struct privsep_msg m = {.type = PRIVSEP_NEIGHBOUR,
				.size = sizeof(struct privsep_neighbour),
				.neighbour = {.ifindex = 3}};
	struct lldp_neighbour *said = &m.neighbour.said;
	size_t len = HEAD + sizeof(m.neighbour);

	strcpy(said->chassis, "00:1b:21:aa:bb:cc");
	strcpy(said->port, "Ethernet1/7");
	assert_int_equal(check(PRIVSEP_LLDP, &m, len, false), 0);
	assert_int_equal(check(PRIVSEP_API, &m, len, false), -EBADMSG);
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, false), -EBADMSG);
	assert_int_equal(check(PRIVSEP_LLDP, &m, len, true), -EBADMSG);
	strcpy(said->name, "a \"b\"");
	assert_int_equal(check(PRIVSEP_LLDP, &m, len, false), -EBADMSG);
	memset(said->name, 'n', sizeof(said->name));
	assert_int_equal(check(PRIVSEP_LLDP, &m, len, false), -EBADMSG);
	said->name[0] = '\0';
	said->management.family = 77;
	assert_int_equal(check(PRIVSEP_LLDP, &m, len, false), -EBADMSG);
	said->management.family = 0;
	said->chassis[0] = '\0';
	assert_int_equal(check(PRIVSEP_LLDP, &m, len, false), -EBADMSG);
	m = a_get(); /* nor may it send clients' requests */
	assert_int_equal(check(PRIVSEP_LLDP, &m, HEAD + sizeof(m.get), false), -EBADMSG);
}

/* What the role `cluster` reports has limits, and no other role may report it. */
static void test_reports_of_the_cluster_are_checked(void **state)
{
	struct privsep_msg m = {
		.type = PRIVSEP_CLUSTER_SERVER,
		.size = sizeof(struct cluster_server),
		.cluster_server = {.host = "host-b", .registered = 1, .n_addrs = 1}};
	struct cluster_addr *a = &m.cluster_server.addrs[0];
	size_t len = HEAD + sizeof(m.cluster_server);

	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG); /* no address */
	assert_int_equal(ip_addr_parse("10.0.0.1", &a->ip), 0);
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG); /* no port */
	a->port = 7411;
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), 0);
	assert_int_equal(ip_addr_parse("127.0.0.1", &a->ip), 0); /* an address of no other host */
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);
	assert_int_equal(ip_addr_parse("10.0.0.1", &a->ip), 0);
	assert_int_equal(check(PRIVSEP_LLDP, &m, len, false), -EBADMSG);
	assert_int_equal(check(PRIVSEP_API, &m, len, false), -EBADMSG);
	strcpy(a->label, "a\x07");
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);
	a->label[0] = '\0';
	m.cluster_server.registered = 0; /* only a registered server has addresses */
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);
	m.cluster_server.registered = 1;
	m.cluster_server.n_addrs = CLUSTER_ADDRS_MAX + 1;
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);

	m = (struct privsep_msg){.type = PRIVSEP_CLUSTER_REPORT, .size = sizeof(m.cluster_report)};
	len = HEAD + sizeof(m.cluster_report);
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), 0);
	m.cluster_report.trouble = CLUSTER_FILES; /* only the monitor reads files */
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);
	m.cluster_report.trouble = CLUSTER_FULL;
	memset(m.cluster_report.text, 'x', sizeof(m.cluster_report.text));
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);

	m = (struct privsep_msg){.type = PRIVSEP_CLUSTER_READ,
				 .size = sizeof(m.cluster_read),
				 .cluster_read = {.id = 1, .what = PRIVSEP_CLUSTER_LISTS}};
	assert_int_equal(check(PRIVSEP_MONITOR, &m, HEAD + sizeof(m.cluster_read), false),
			 -EBADMSG);
	m.cluster_read.what = 0;
	assert_int_equal(check(PRIVSEP_MONITOR, &m, HEAD + sizeof(m.cluster_read), false), 0);
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, HEAD + sizeof(m.cluster_read), false),
			 -EBADMSG);
	m = a_get(); /* nor may it send clients' requests */
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, HEAD + sizeof(m.get), false), -EBADMSG);
}

/* Only the process that probes legs reports about them, and the monitor passes on what the process
 * of the store has read. */
static void test_reports_of_probes_are_checked(void **state)
{
	struct privsep_msg m = {.type = PRIVSEP_LINKS_REPORT,
				.size = sizeof(struct links_report),
				.links_report = {.ifindex = 2,
						 .known = 3,
						 .asked = 2,
						 .answering = 1,
						 .n_faults = 1,
						 .faults = {{.host = "b",
							     .leg = "leg-a",
							     .ip = {AF_INET, {10, 1, 0, 2}},
							     .verdict = LINKS_PEER_LEG}}}};
	const struct privsep_msg good = m;
	const size_t len = HEAD + sizeof(m.links_report);

	assert_int_equal(check(PRIVSEP_LINKS, &m, len, false), 0);
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);
	assert_int_equal(check(PRIVSEP_MONITOR, &m, len, false), -EBADMSG);
	m.links_report.faults[0].host[0] = '"';
	assert_int_equal(check(PRIVSEP_LINKS, &m, len, false), -EBADMSG);
	m = good;
	m.links_report.faults[0].verdict = LINKS_OK;
	assert_int_equal(check(PRIVSEP_LINKS, &m, len, false), -EBADMSG);
	m = good;
	m.links_report.faults[0].ip.family = 0;
	assert_int_equal(check(PRIVSEP_LINKS, &m, len, false), -EBADMSG);
	m = good;
	m.links_report.n_faults = LINKS_FAULTS_MAX + 1;
	assert_int_equal(check(PRIVSEP_LINKS, &m, len, false), -EBADMSG);
	m = good;
	m.links_report.alone = 2;
	assert_int_equal(check(PRIVSEP_LINKS, &m, len, false), -EBADMSG);
	m = good;
	m.links_report.answering = 3;
	assert_int_equal(check(PRIVSEP_LINKS, &m, len, false), -EBADMSG);
	m = (struct privsep_msg){.type = PRIVSEP_CLUSTER_MEMBERS, .size = sizeof(m.cluster_text)};
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, HEAD + m.size, true), 0);
	assert_int_equal(check(PRIVSEP_MONITOR, &m, HEAD + m.size, true), 0);
	assert_int_equal(check(PRIVSEP_LINKS, &m, HEAD + m.size, true), -EBADMSG);
	m = a_get(); /* nor may it send clients' requests */
	assert_int_equal(check(PRIVSEP_LINKS, &m, HEAD + sizeof(m.get), false), -EBADMSG);
}

/* A child may ask for all its clients at once, but only for what each of them may read, and only
 * the monitor may answer. */
static void test_a_child_asks_for_itself(void **state)
{
	struct privsep_msg m = {.type = PRIVSEP_SHARED_READ,
				.size = sizeof(struct privsep_shared_read),
				.shared_read = {.what = PRIVSEP_EVENTS}};
	size_t len = HEAD + sizeof(m.shared_read);

	assert_int_equal(check(PRIVSEP_API, &m, len, false), 0);
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, false), 0);
	assert_int_equal(check(PRIVSEP_LLDP, &m, len, false), -EBADMSG);
	m.connection = 1;
	assert_int_equal(check(PRIVSEP_API, &m, len, false), -EBADMSG);
	m.connection = 0;
	m.shared_read.what = PRIVSEP_STATUS;
	assert_int_equal(check(PRIVSEP_API, &m, len, false), 0);
	m.shared_read.what = PRIVSEP_CONFIG_STAGED; /* each client asks for itself */
	assert_int_equal(check(PRIVSEP_API, &m, len, false), -EBADMSG);
	m.shared_read.what = PRIVSEP_PLAN;
	assert_int_equal(check(PRIVSEP_API, &m, len, false), -EBADMSG);
	m.shared_read.what = PRIVSEP_WHAT_MAX;
	assert_int_equal(check(PRIVSEP_API, &m, len, false), -EBADMSG);
	m = (struct privsep_msg){
		.type = PRIVSEP_SHARED_ANSWER,
		.size = sizeof(struct privsep_shared_answer),
		.shared_answer = {.what = PRIVSEP_EVENTS, .reply = {.http_status = 200}}};
	len = HEAD + sizeof(m.shared_answer);
	assert_int_equal(check(PRIVSEP_MONITOR, &m, len, true), 0);
	assert_int_equal(check(PRIVSEP_API, &m, len, true), -EBADMSG);
	strcpy(m.shared_answer.reply.location, "/a\r\nb");
	assert_int_equal(check(PRIVSEP_MONITOR, &m, len, true), -EBADMSG);
	m.shared_answer.reply.location[0] = '\0';
	m.shared_answer.reply.len = PRIVSEP_REPLY_MAX + 1;
	assert_int_equal(check(PRIVSEP_MONITOR, &m, len, true), -EBADMSG);
}

static void test_wrong_lengths_are_rejected(void **state)
{
	struct privsep_msg m = a_get();
	size_t good = HEAD + sizeof(m.get);

	for (size_t len = 0; len <= sizeof(m); len++)
		if (len != good)
			assert_int_equal(check(PRIVSEP_API, &m, len, false), -EBADMSG);
	m.size++;
	assert_int_equal(check(PRIVSEP_API, &m, good, false), -EBADMSG);
	m.size = UINT32_MAX;
	assert_int_equal(check(PRIVSEP_API, &m, good, false), -EBADMSG);
}

static void test_types_are_bound_to_senders(void **state)
{
	struct privsep_msg m = a_get();
	size_t len = HEAD + sizeof(m.get);

	assert_int_equal(check(PRIVSEP_MONITOR, &m, len, false), -EBADMSG);
	for (uint32_t type = 0; type < 1000; type++) {
		m.type = type;
		if (type != PRIVSEP_GET)
			assert_int_equal(check(PRIVSEP_MONITOR, &m, len, false), -EBADMSG);
	}
	m.type = UINT32_MAX;
	assert_int_equal(check(PRIVSEP_API, &m, len, false), -EBADMSG);
	/* The unprivileged side must not be able to reply for the monitor. */
	m = (struct privsep_msg){.type = PRIVSEP_REPLY,
				 .size = sizeof(m.reply),
				 .connection = 1,
				 .reply = {.http_status = 200}};
	assert_int_equal(check(PRIVSEP_API, &m, HEAD + sizeof(m.reply), true), -EBADMSG);
	assert_int_equal(check(PRIVSEP_MONITOR, &m, HEAD + sizeof(m.reply), true), 0);
}

/* The role can report only addresses that are in the pool of the same message. */
static void test_addresses_of_pools_are_checked(void **state)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_POOL,
				.size = sizeof(m.cluster_pool_report)};
	struct cluster_pool_report *r = &m.cluster_pool_report;
	const size_t len = HEAD + sizeof(*r);

	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG); /* no name */
	strcpy(r->pool.name, "data-a");
	strcpy(r->cluster, "prod");
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG); /* no range */
	assert_int_equal(ip_range_parse("10.0.0.1-10.0.0.9/24", &r->pool.range), 0);
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), 0);
	assert_int_equal(check(PRIVSEP_LLDP, &m, len, false), -EBADMSG);
	r->n_total = r->n = 2; /* missing addresses */
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), 0);
	assert_int_equal(ip_addr_parse("10.0.0.9", &r->addrs[1]), 0);
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), 0);
	assert_int_equal(ip_addr_parse("10.0.0.10", &r->addrs[1]), 0);
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);
	r->n = 1;
	r->at = 2;
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);
	r->at = 0;
	r->n_total = CLUSTER_POOL_ADDRS_MAX + 1;
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);
	r->n_total = 1;
	r->pool.range.prefix_len = 33;
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);
	r->pool.range.prefix_len = 24;
	r->pool.mtu = 100;
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);
	r->pool.mtu = 0;
	r->state = CLUSTER_POOL_UNKNOWN; /* has no addresses */
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);
}

static void test_missing_and_extra_descriptors_are_rejected(void **state)
{
	struct privsep_msg m = a_get();
	size_t len = HEAD + sizeof(m.get);

	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, true), -EBADMSG);
	m.connection = 0;
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, false), -EBADMSG);
	m = (struct privsep_msg){
		.type = PRIVSEP_PUT_STAGED, .size = sizeof(m.put_staged), .connection = 1};
	len = HEAD + sizeof(m.put_staged);
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, false), -EBADMSG);
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, true), 0);
	m.put_staged.len = PRIVSEP_TEXT_MAX + 1;
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, true), -EBADMSG);
}

static void test_bad_fields_are_rejected(void **state)
{
	static const char *const bad[] = {"a\"b", "a\\b", "a\nb", "\x7f", "\xc3\xa4", "\x01"};
	struct privsep_msg m = a_get();
	size_t len = HEAD + sizeof(m.get);

	m.get.what = PRIVSEP_WHAT_MAX;
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, false), -EBADMSG);
	len = HEAD + sizeof(m.net);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		m = a_net_set();
		strcpy(m.net.name, bad[i]);
		assert_int_equal(check(PRIVSEP_ADMIN, &m, len, true), -EBADMSG);
	}
	m = a_net_set();
	memset(m.net.name, 'x', sizeof(m.net.name)); /* not terminated */
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, true), -EBADMSG);
	m = a_net_set();
	m.net.name[0] = '\0';
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, true), -EBADMSG);
	m.type = PRIVSEP_NET_ADD; /* its name is in the JSON */
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, true), 0);
	m.net.len = PRIVSEP_JSON_MAX + 1;
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, true), -EBADMSG);
	m = a_net_set();
	m.type = PRIVSEP_NET_DEL; /* without JSON */
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, false), -EBADMSG);
}

static void test_messages_arrive_with_their_descriptors(void **state)
{
	autoclose int fd = memfd_new_sealed("t", "text", 4);
	struct privsep_msg out = {.type = PRIVSEP_PUT_STAGED, .connection = 7, .put_staged = {4}},
			   in;
	autofree char *text = NULL;
	const char *why = NULL;
	autoclose int got = -1;

	assert_int_equal(privsep_recv(pair[1], PRIVSEP_ADMIN, &in, &got, &why), -EAGAIN);
	assert_int_equal(privsep_send(pair[0], PRIVSEP_ADMIN, &out, fd), 0);
	assert_int_equal(privsep_recv(pair[1], PRIVSEP_ADMIN, &in, &got, &why), 1);
	assert_int_equal(in.connection, 7);
	assert_true(got >= 0);
	assert_int_equal(privsep_read_memfd(got, 4, &text), 0);
	assert_string_equal(text, "text");
	assert_int_equal(privsep_read_memfd(got, 5, &text), -EBADMSG);
	/* The sender applies the same rules. */
	out.type = PRIVSEP_REPLY;
	assert_int_equal(privsep_send(pair[0], PRIVSEP_ADMIN, &out, fd), -EBADMSG);
}

static void test_a_turn_and_a_rollout_are_checked(void **state)
{
	struct privsep_msg m = {
		.type = PRIVSEP_CLUSTER_TURN,
		.size = sizeof(m.cluster_turn),
		.cluster_turn = {.number = 1, .lineage = 1, .attempt = 1, .turn = 1}};
	const size_t len = HEAD + sizeof(m.cluster_turn);

	(void)state;
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, true), -EBADMSG); /* no hash */
	strcpy(m.cluster_turn.hash, "0123456789abcdef");
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, true), 0);
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, false), -EBADMSG);
	assert_int_equal(check(PRIVSEP_ADMIN, &m, len, true), -EBADMSG);
	m.cluster_turn.hash[3] = '/';
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, true), -EBADMSG);
	m.cluster_turn.hash[3] = '3';
	m.cluster_turn.len = PRIVSEP_DOCUMENT_MAX + 1;
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, true), -EBADMSG);
	m.cluster_turn.len = 0;
	m.cluster_turn.turn = 0;
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, true), -EBADMSG);
	m.cluster_turn.turn = 1;
	m.cluster_turn.lineage = 0;
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, len, true), -EBADMSG);
	m = (struct privsep_msg){.type = PRIVSEP_CLUSTER_VIEW, .size = sizeof(m.cluster_view)};
	m.cluster_view.view = PRIVSEP_VIEWS - 1;
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, HEAD + m.size, false), 0);
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + m.size, false), -EBADMSG);
	m.cluster_view.view = PRIVSEP_VIEWS;
	assert_int_equal(check(PRIVSEP_CLUSTER, &m, HEAD + m.size, false), -EBADMSG);
	m = (struct privsep_msg){
		.type = PRIVSEP_ROLLOUT_START,
		.size = sizeof(m.rollout),
		.connection = 1,
		.rollout = {.max_unavailable = 1, .timeout_s = 600, .rollback = 1}};
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + m.size, false), 0);
	m.rollout.percent = 10; /* not both */
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + m.size, false), -EBADMSG);
	m.rollout.max_unavailable = 0;
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + m.size, false), 0);
	m.rollout.rollback = 0;
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + m.size, false), -EBADMSG);
}

/*
 * The role that parses readers' bytes has no message that changes anything, whatever its content.
 */
static void test_the_api_role_cannot_send_changes(void **state)
{
	autoclose int fd = memfd_new_sealed("t", "text", 4);
	unsigned n_changes = 0;

	for (uint32_t type = 1; type < PRIVSEP_TYPE_MAX; type++) {
		bool change = privsep_is_change((enum privsep_type)type);

		n_changes += change;
		for (uint32_t size = 0; size <= sizeof(struct privsep_msg) - HEAD; size++)
			for (int with_fd = 0; change && with_fd < 2; with_fd++) {
				struct privsep_msg m = a_net_set();

				m.type = type;
				m.size = size;
				assert_int_equal(check(PRIVSEP_API, &m, HEAD + size, with_fd),
						 -EBADMSG);
			}
	}
	assert_int_equal(n_changes, 33);
	assert_false(privsep_is_change(PRIVSEP_GET));
	assert_false(privsep_is_change(PRIVSEP_GET_EVENTS));
	assert_false(privsep_is_change(PRIVSEP_TYPE_MAX));
}

static void test_rdma_tests_are_checked(void **state)
{
	const struct privsep_ping good = {.what = LAUNCH_PING_IN,
					  .bytes = LAUNCH_PING_BYTES_MAX,
					  .count = LAUNCH_PING_COUNT_MAX,
					  .depth = LAUNCH_PING_DEPTH_MAX,
					  .leg = "leg-a",
					  .peer = "host-b"};
	struct privsep_msg m = {.type = PRIVSEP_RDMA_PING, .size = sizeof(good), .connection = 1};
	struct privsep_ping bad[6];

	m.ping = good;
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + m.size, false), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		bad[i] = good;
	bad[0].what = LAUNCH_PING_WHAT_MAX;
	bad[1].bytes++;
	bad[2].count++;
	bad[3].depth++;
	bad[4].leg[0] = '\0';
	memset(bad[5].peer, 'p', sizeof(bad[5].peer));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		m.ping = bad[i];
		assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + m.size, false), -EBADMSG);
	}
	m.ping = (struct privsep_ping){.id = 7};
	assert_int_equal(check(PRIVSEP_ADMIN, &m, HEAD + m.size, false), 0);
}

static void test_system_calls_have_names(void **state)
{
	char buf[40];

	assert_non_null(
		strstr(privsep_syscall_to_string(SYS_socket, buf, sizeof(buf)), " (socket)"));
	assert_string_equal(privsep_syscall_to_string(4095, buf, sizeof(buf)), "4095");
}

static void test_garbage_is_rejected(void **state)
{
	struct privsep_msg in;
	char junk[sizeof(in) + 64];
	const char *why = NULL;
	int fd = -1;

	memset(junk, 0xff, sizeof(junk));
	for (size_t len = 1; len <= sizeof(junk); len += 97) {
		assert_int_equal(send(pair[0], junk, len, 0), (ssize_t)len);
		assert_int_equal(privsep_recv(pair[1], PRIVSEP_API, &in, &fd, &why), -EBADMSG);
		assert_int_equal(fd, -1);
	}
	close(pair[0]);
	assert_int_equal(privsep_recv(pair[1], PRIVSEP_API, &in, &fd, &why), 0);
	pair[0] = -1;
}

static void test_unsealed_memory_is_rejected(void **state)
{
	autoclose int plain = memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	autoclose int dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	int pipes[2];

	assert_int_equal(ftruncate(plain, 4), 0);
	assert_int_equal(privsep_read_memfd(plain, 4, &text), -EBADMSG);
	assert_int_equal(privsep_read_memfd(dir, 0, &text), -EBADMSG);
	assert_int_equal(privsep_read_memfd(file, 0, &text), -EBADMSG);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0); /* reading it would block for ever */
	assert_int_equal(privsep_read_memfd(pipes[0], 4, &text), -EBADMSG);
	close(pipes[0]);
	close(pipes[1]);
	assert_null(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid_messages_are_accepted),
		cmocka_unit_test(test_log_levels_are_checked),
		cmocka_unit_test(test_moves_are_checked),
		cmocka_unit_test(test_logins_are_checked),
		cmocka_unit_test(test_neighbours_are_checked),
		cmocka_unit_test(test_reports_of_the_cluster_are_checked),
		cmocka_unit_test(test_reports_of_probes_are_checked),
		cmocka_unit_test(test_a_child_asks_for_itself),
		cmocka_unit_test(test_wrong_lengths_are_rejected),
		cmocka_unit_test(test_types_are_bound_to_senders),
		cmocka_unit_test(test_addresses_of_pools_are_checked),
		cmocka_unit_test(test_missing_and_extra_descriptors_are_rejected),
		cmocka_unit_test(test_bad_fields_are_rejected),
		cmocka_unit_test(test_a_turn_and_a_rollout_are_checked),
		cmocka_unit_test(test_the_api_role_cannot_send_changes),
		cmocka_unit_test(test_rdma_tests_are_checked),
		cmocka_unit_test(test_system_calls_have_names),
		cmocka_unit_test_setup_teardown(test_messages_arrive_with_their_descriptors, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_garbage_is_rejected, setup, teardown),
		cmocka_unit_test(test_unsealed_memory_is_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
