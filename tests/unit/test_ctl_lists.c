/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that list mounts, exports, clients, peers, paths and sessions, with an agent that
 * answers as the test says. */
#include "tests/lib/agent/ctl_rig.h"

static void expect(const char *args, const char *asked, const char *answer, const char *table)
{
	struct result r = run(args, 200, answer);

	assert_int_equal(r.status, CTL_OK);
	assert_asked(asked);
	assert_string_equal(r.err, "");
	assert_string_equal(r.out, table);
}

static void mounts_have_state_files_and_times(void **state)
{
	static const char answer[] =
		"{\"host\":\"a\",\"mounts\":[{\"path\":\"/mnt/"
		"x\",\"peer\":\"b\",\"export\":\"x\",\"origin\":\"command\",\"state\":"
		"\"served\",\"reason\":\"\",\"since_s\":3700,\"worker\":2,\"lanes\":[3,4],\"by\":"
		"\"10.10.1.20\",\"read_only\":false,\"soft_s\":30,\"open_files\":5,\"latency\":[{"
		"\"class\":\"read\",\"requests\":300,\"seconds\":6,\"median_us\":250,\"p99_us\":"
		"1500},{"
		"\"class\":\"write\",\"requests\":60,\"seconds\":6,\"median_us\":500,\"p99_us\":"
		"2500}]},{"
		"\"path\":\"/mnt/"
		"y\",\"peer\":\"c\",\"export\":\"y\",\"origin\":\"configured\",\"state\":\"waits\","
		"\"reason\":"
		"\"no-answer: "
		"c\",\"since_s\":null,\"worker\":2,\"lanes\":[],\"by\":\"\",\"read_only\":"
		"true,\"soft_s\":null,\"open_files\":null,\"latency\":[]}]}";

	expect("mounts", "GET /v1/mounts", answer,
	       "MOUNT   FROM  ORIGIN      STATE   SINCE  WORKER  OPEN  REQUESTS/S  READ MS    "
	       "WRITE MS   "
	       "METADATA "
	       "MS  REASON\n"
	       "/mnt/x  b:x   command     served  1h 1m  2       5     60          0.25/1.50  "
	       "0.50/2.50  -     "
	       "   "
	       "    -\n"
	       "/mnt/y  c:y   configured  waits   -      2       -     -           -          -    "
	       "      -     "
	       "   "
	       "    no-answer: c\n");
	expect("mounts --no-header --filter state=gone", "GET /v1/mounts", answer, "");
	expect("mounts --no-header -o mount,by,lanes,options", "GET /v1/mounts", answer,
	       "/mnt/x  10.10.1.20  3, 4  read-write, soft 30 s\n"
	       "/mnt/y  -           -     read-only, hard\n");
}

static void exports_have_clients_and_files(void **state)
{
	expect("exports", "GET /v1/exports",
	       "{\"host\":\"b\",\"exports\":[{\"name\":\"x\",\"path\":\"/srv/"
	       "x\",\"state\":\"degraded\","
	       "\"reason\":\"export-full: "
	       "x\",\"workers\":[1],\"read_only\":false,\"squash\":[\"none\","
	       "\"root\"],\"clients\":12,\"open_files\":0,\"removed_files\":3,\"latency\":[]}]}",
	       "EXPORT  PATH    STATE     CLIENTS  ACCESS      SQUASH      OPEN  REMOVED  "
	       "REQUESTS/S  "
	       "READ MS  WRITE MS  METADATA MS  REASON\n"
	       "x       /srv/x  degraded  12       read-write  none, root  0     3        -        "
	       "   "
	       "-        -         -            export-full: x\n");
}

static void clients_have_the_time_of_their_last_packet_and_their_refusal(void **state)
{
	expect("clients", "GET /v1/clients",
	       "{\"host\":\"b\",\"omitted_mounts\":0,\"clients\":[{\"host\":\"a\",\"state\":"
	       "\"away\","
	       "\"addresses\":[\"10.10.1.10\"],\"exports\":[\"x\",\"y\"],\"workers\":[1,2],"
	       "\"mounts\":2,"
	       "\"open_files\":7,\"since_s\":61,\"heard_s\":66,\"refused_mounts\":1,\"reason\":"
	       "\"read-only: x\"}]}",
	       "HOST  STATE  SINCE  ADDRESSES   EXPORTS  MOUNTS  OPEN  HEARD  WORKERS  REFUSED  "
	       "REASON\n"
	       "a     away   1m 1s  10.10.1.10  x, y     2       7     1m 6s  1, 2     1        "
	       "read-only: x\n");
}

static void peers_have_their_legs_and_the_worst_loss(void **state)
{
	expect("peers", "GET /v1/peers",
	       "{\"host\":\"a\",\"peers\":[{\"host\":\"b\",\"state\":\"up\",\"reason\":\"no-"
	       "carrier: x\","
	       "\"addresses\":[],\"legs_up\":[\"leg-a\"],\"legs_down\":[\"leg-b\"],\"mounts\":[],"
	       "\"exports\":[],\"paths\":2,\"paths_up\":1,\"rtt_us\":180.4,\"loss_to_percent\":0.5,"
	       "\"loss_from_percent\":null,\"mtu\":9000,\"since_s\":9,\"heard_s\":0}]}",
	       "HOST  STATE  SINCE  LEGS UP  LEGS DOWN  PATHS   RTT     LOSS TO  LOSS FROM  MTU   "
	       "HEARD  REASON\n"
	       "b     up     9s     leg-a    leg-b      1 of 2  180 us  0.5%     -          9000  "
	       "0s  "
	       "   no-carrier: x\n");
}

static void paths_name_their_mount_or_export(void **state)
{
	expect("paths --no-header -o worker,peer,for,state", "GET /v1/paths",
	       "{\"host\":\"a\",\"paths\":[{\"worker\":1,\"peer\":\"b\",\"mount\":\"/mnt/"
	       "x\",\"export\":"
	       "\"\",\"up\":true,\"state\":\"suspect\"},{\"worker\":2,\"peer\":\"c\",\"mount\":"
	       "\"\","
	       "\"export\":\"y\",\"up\":false,\"state\":\"joining\"}]}",
	       "1  b  /mnt/x    suspect\n"
	       "2  c  export y  joining\n");
}

#define SESSIONS                                                                                   \
	"\"sessions\":[{\"id\":\"1/0\",\"peer\":\"b\",\"state\":\"up\",\"role\":\"client\","       \
	"\"worker\":1,\"core\":3,\"mount\":\"/mnt/x\",\"export\":\"\",\"local\":\"10.1.1.1\","     \
	"\"remote\":\"10.1.1.2\",\"paths\":[{\"leg\":\"leg-a\",\"state\":\"up\"},{\"leg\":"        \
	"\"leg-a\",\"state\":\"up\"},{\"leg\":\"leg-b\",\"state\":\"down\"}],\"since_s\":61,"      \
	"\"heard_s\":0,\"rtt_us\":180.4,\"lease_s\":null,\"age_s\":1,\"in_flight\":4,\"waiting\":" \
	"0,"                                                                                       \
	"\"tx_bytes\":2048,\"rx_bytes\":0,\"lost_packets\":5,\"rx_lost_packets\":6,"               \
	"\"retransmits\":7},{\"id\":\"2/"                                                          \
	"9\",\"peer\":\"c\",\"state\":\"unknown\",\"role\":\"server\","                            \
	"\"worker\":2,\"core\":4,\"mount\":\"\",\"export\":\"y\",\"local\":null,\"remote\":null,"  \
	"\"paths\":[],\"since_s\":null,\"heard_s\":20,\"rtt_us\":null,\"lease_s\":12,\"age_s\":"   \
	"19,"                                                                                      \
	"\"in_flight\":0,\"waiting\":0,\"tx_bytes\":0,\"rx_bytes\":0,\"lost_packets\":0,"          \
	"\"rx_lost_packets\":0,\"retransmits\":0}]"

static void sessions_have_their_legs_and_their_age(void **state)
{
	expect("sessions --no-header -o id,peer,role,state,since,worker,core,for,legs,remote,rtt",
	       "GET /v1/sessions",
	       "{\"host\":\"a\",\"omitted_sessions\":0,\"unknown_workers\":[]," SESSIONS "}",
	       "1/0  b  client  up       1m 1s  1  3  /mnt/x    leg-a up, leg-b down  10.1.1.2  "
	       "180 us\n"
	       "2/9  c  server  unknown  -      2  4  export y  -                     -         "
	       "-\n");
	expect("sessions --no-header -o in-flight,sent,lost-to,lost-from,resent,lease,heard,age",
	       "GET /v1/sessions",
	       "{\"host\":\"a\",\"omitted_sessions\":0,\"unknown_workers\":[]," SESSIONS "}",
	       "4  2.0 KiB  5  6  7  -    0s   1s\n"
	       "0  0 B      0  0  0  12s  20s  19s\n");
}

static void what_the_list_of_sessions_lacks_is_said(void **state)
{
	struct result r = run("sessions --no-header -o peer", 200,
			      "{\"host\":\"a\",\"omitted_sessions\":3,\"unknown_workers\":[2,5],"
			      "" SESSIONS "}");

	assert_int_equal(r.status, CTL_OK);
	assert_string_equal(r.out, "b\nc\n");
	assert_non_null(strstr(r.err, "3 further sessions are not listed"));
	assert_non_null(strstr(r.err, "workers are unknown: 2, 5;"));
}

static void hosts_of_the_cluster_have_the_age_of_their_summary(void **state)
{
	expect("cluster hosts -o host,state,age,workers,reasons,seen", "GET /v1/cluster/hosts",
	       "{\"host\":\"a\",\"cluster\":\"c\",\"omitted_hosts\":0,\"hosts\":[{\"host\":\"b\","
	       "\"state\":\"unknown\",\"version\":\"1\",\"workers_up\":1,\"workers_total\":2,"
	       "\"exports\":1,\"reasons\":[\"no-carrier\"],\"seen\":\"2001-09-09T01:46:40.000Z\","
	       "\"age_s\":61},{\"host\":\"c\",\"state\":\"unknown\",\"seen\":null,\"age_s\":null}]"
	       "}",
	       "HOST  STATE    AGE    WORKERS  REASONS     SEEN\n"
	       "b     unknown  1m 1s  1 of 2   no-carrier  2001-09-09T01:46:40.000Z\n"
	       "c     unknown  -      0 of 0   -           -\n");
}

static void exports_of_the_cluster_name_their_host(void **state)
{
	expect("cluster exports", "GET /v1/cluster/exports",
	       "{\"exports\":[{\"host\":\"b\",\"id\":\"b/x\",\"name\":\"x\",\"path\":\"/srv/x\","
	       "\"state\":\"served\",\"reason\":\"\",\"read_only\":true,\"clients\":2}]}",
	       "HOST  EXPORT  PATH    STATE   ACCESS     CLIENTS  REASON\n"
	       "b     x       /srv/x  served  read-only  2        -\n");
}

static void links_of_the_cluster_name_their_source(void **state)
{
	expect("cluster links", "GET /v1/cluster/links",
	       "{\"links\":[{\"id\":\"b/"
	       "leg-a\",\"host\":\"b\",\"leg\":\"leg-a\",\"address\":\"10.1.0.2\","
	       "\"known\":3,\"asked\":3,\"answering\":2,\"loss_percent\":1,\"full_loss_percent\":"
	       "50,"
	       "\"rtt_us\":null,\"verdict\":\"peer-leg\",\"source\":\"a\",\"age_s\":61,\"reports\":"
	       "2,"
	       "\"reason\":\"r\"}]}",
	       "HOST  LEG    ADDRESS   PEERS   LOSS          RTT  VERDICT   SOURCE  AGE    REASON\n"
	       "b     leg-a  10.1.0.2  2 of 3  1%, 50% full  -    peer-leg  a       1m 1s  r\n");
}

#define LINK(leg, losses)                                                                       \
	"{\"id\":\"b/" leg "\",\"host\":\"b\",\"leg\":\"" leg "\",\"address\":\"10.1.0.2\","    \
	"\"known\":3,\"asked\":3,\"answering\":3," losses ",\"rtt_us\":400,\"verdict\":\"ok\"," \
	"\"source\":\"b\",\"age_s\":2,\"reports\":0,\"reason\":\"\"}"

static void an_unknown_loss_of_a_link_is_empty(void **state)
{
	expect("cluster links -o LEG,LOSS", "GET /v1/cluster/links",
	       "{\"links\":[" LINK(
		       "leg-a",
		       "\"loss_percent\":null,\"full_loss_percent\":null") "," LINK("leg-b",
										    "\"loss_"
										    "percent\":0,"
										    "\"full_loss_"
										    "percent\":"
										    "null") "]}",
	       "LEG    LOSS\n"
	       "leg-a  -\n"
	       "leg-b  0%\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mounts_have_state_files_and_times),
		cmocka_unit_test(exports_have_clients_and_files),
		cmocka_unit_test(clients_have_the_time_of_their_last_packet_and_their_refusal),
		cmocka_unit_test(hosts_of_the_cluster_have_the_age_of_their_summary),
		cmocka_unit_test(exports_of_the_cluster_name_their_host),
		cmocka_unit_test(links_of_the_cluster_name_their_source),
		cmocka_unit_test(an_unknown_loss_of_a_link_is_empty),
		cmocka_unit_test(peers_have_their_legs_and_the_worst_loss),
		cmocka_unit_test(paths_name_their_mount_or_export),
		cmocka_unit_test(sessions_have_their_legs_and_their_age),
		cmocka_unit_test(what_the_list_of_sessions_lacks_is_said),
	};

	return cmocka_run_group_tests_name("ctl_lists", tests, fake_setup, fake_teardown);
}
