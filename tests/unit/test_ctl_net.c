/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of 'plenum net': what they send, and what they print. */
#include "tests/lib/agent/ctl_rig.h"

#define LEG_OF_TWO_FILES                                                                         \
	"{\"name\":\"leg-b\",\"file\":\"/f.yaml\",\"pending\":\"change\","                       \
	"\"changes\":{\"vfs\":{\"running\":1,\"staged\":2}},"                                    \
	"\"running\":{\"name\":\"leg-b\",\"label\":\"x\",\"vfs\":1,\"dcb\":null,\"ips\":[\"a\"," \
	"\"b\"]},"                                                                               \
	"\"staged\":{\"name\":\"leg-b\",\"label\":\"x\",\"vfs\":2,\"dcb\":null,\"ips\":[\"a\","  \
	"\"b\"]},"                                                                               \
	"\"overridden\":[{\"key\":\"label\",\"value\":\"x\",\"at\":\"/c.yaml:2:3\","             \
	"\"overridden\":\"y\",\"overridden_at\":\"/f.yaml:8:9\",\"edited\":true,"                \
	"\"text\":\"/f.yaml:8:9: warning: no effect\"}]}"

static void test_net_show_of_one_leg_names_what_is_overridden(void **state)
{
	struct result r = run("net show leg-b", 200, LEG_OF_TWO_FILES);

	assert_int_equal(r.status, CTL_OK);
	assert_asked("GET /v1/net/leg-b");
	assert_string_equal(r.out, "KEY      VALUE             STAGED  OVERRIDDEN\n"
				   "name     leg-b             -       -\n"
				   "label    x                 -       y (/f.yaml:8:9)\n"
				   "vfs      1                 2       -\n"
				   "ips      a, b              -       -\n"
				   "file     /f.yaml           -       -\n"
				   "pending  change            -       -\n"
				   "version  0123456789abcdef  -       -\n");
	assert_string_equal(r.err, "plenum: /f.yaml:8:9: warning: no effect\n");
	r = run("net show -o leg leg-b", 200, LEG_OF_TWO_FILES);
	assert_int_equal(r.status, CTL_USAGE);
	r = run("net show leg-b -j", 200, LEG_OF_TWO_FILES);
	assert_non_null(strstr(r.out, "\"version\": \"0123456789abcdef\""));
	r = run("net show a/b", 200, LEG_OF_TWO_FILES);
	assert_int_equal(r.status, CTL_USAGE);
}

static void test_net_show_and_diff_name_overridden_values(void **state)
{
	static const char answer[] = "{\"steps\":[],\"net\":[" LEG_OF_TWO_FILES "]}";
	struct result r = run("net show", 200, answer);

	assert_string_equal(r.err, "plenum: /f.yaml:8:9: warning: no effect\n");
	r = run("net show -o leg", 200, answer);
	assert_string_equal(r.err, "");
	r = run("diff", 200, answer);
	assert_int_equal(r.status, CTL_OK);
	assert_string_equal(r.err, "plenum: /f.yaml:8:9: warning: no effect\n");
	r = run("diff -j", 200, answer);
	assert_non_null(strstr(r.out, "\"/f.yaml:8:9: warning: no effect\""));
}

static void test_net_show_prints_a_dash_for_each_missing_value(void **state)
{
	static const char answer[] =
		"{\"net\":[{\"name\":\"leg-a\",\"device\":\"eth1\",\"network\":\"data-a\","
		"\"label\":"
		"\"switch-a\",\"switch\":\"sw-1\",\"switch_port\":\"Eth1/7\",\"state\":\"usable\","
		"\"ifname\":\"eth1\",\"up\":true,\"carrier\":true,\"mtu\":9000,\"ips\":[\"10.0.0.1/"
		"24\"],\"vfs\":\"auto\",\"pending\":\"add\",\"reason\":\"why\"},"
		"{\"name\":\"leg-b\",\"device\":\"\",\"network\":\"\",\"label\":null,\"switch\":"
		"null,"
		"\"switch_port\":null,\"state\":\"absent\",\"ifname\":\"\",\"up\":false,"
		"\"carrier\":"
		"false,\"mtu\":0,\"ips\":[],\"pending\":\"\",\"reason\":\"\"}]}";
	struct result r = run("net show", 200, answer);

	assert_int_equal(r.status, CTL_OK);
	assert_non_null(strstr(r.out, "LEG    DEVICE  NETWORK  LABEL     SWITCH PORT  STATE   "
				      "CARRIER  MTU   IPS          STAGED\n"
				      "leg-a  eth1    data-a   switch-a  sw-1 Eth1/7  usable  up   "
				      "    9000  10.0.0.1/24  + added\n"
				      "leg-b  -       -        unknown   -            absent  -    "
				      "    -     -            -\n"));
	r = run("net show --no-header -o leg,interface,vfs,rdma,reason", 200, answer);
	assert_string_equal(r.out, "leg-a  eth1  auto  -  why\n"
				   "leg-b  -     -     -  -\n");
}

/* The agent has no running configuration yet, with which the staged one could be compared. */
static void test_diff_before_the_first_apply_names_the_next_commands(void **state)
{
	static const char text[] = "no configuration has been applied yet; 'plenum plan' shows the "
				   "steps of the first apply, 'plenum apply' carries them out";
	char answer[300], said[300];
	struct result r;

	snprintf(answer, sizeof(answer),
		 "{\"title\":\"Not Found\",\"status\":404,\"detail\":\"%s\",\"code\":\"not-found\","
		 "\"details\":[]}",
		 text);
	snprintf(said, sizeof(said), "plenum: %s\n", text);
	r = run("diff", 404, answer);
	assert_asked("GET /v1/config/running");
	assert_int_equal(r.status, CTL_NO_INPUT);
	assert_string_equal(r.out, "");
	assert_string_equal(r.err, said);
	r = run("diff -j", 404, answer);
	assert_int_equal(r.status, CTL_NO_INPUT);
	assert_non_null(strstr(r.out, "\"code\": \"not-found\""));
}

static void test_net_add_sends_its_options(void **state)
{
	struct result r = run("net add 0000:3b:00.0 --name leg-c --network=data-c --label sw-c "
			      "--ips 10.0.0.1,10.0.0.3-10.0.0.9",
			      201, "{\"name\":\"leg-c\"}");
	const char *body = strstr(agent->request, "\r\n\r\n");
	json_t *got, *want;

	assert_int_equal(r.status, CTL_OK);
	assert_asked("POST /v1/net");
	got = json_loads(body + 4, 0, NULL);
	want = json_pack("{s:s, s:s, s:s, s:s, s:[s, s]}", "name", "leg-c", "device",
			 "0000:3b:00.0", "network", "data-c", "label", "sw-c", "ips", "10.0.0.1",
			 "10.0.0.3-10.0.0.9");
	assert_true(json_equal(got, want));
	json_decref(got);
	json_decref(want);
	assert_non_null(strstr(r.out, "plenum apply"));
}

static const char leg_json[] = "{\"name\":\"leg-a\",\"pending\":\"change\"}";

static void test_net_set_sends_only_changed_keys(void **state)
{
	struct result r =
		run("net set leg-a --label 12 --vfs 4 --ips 10.0.0.1,10.0.0.2 --unset rdma", 200,
		    leg_json);

	assert_int_equal(r.status, CTL_OK);
	assert_asked("PATCH /v1/net/leg-a");
	assert_non_null(strstr(agent->request, "If-Match: \"0123456789abcdef\"\r\n"));
	assert_body(
		"{\"label\":\"12\",\"ips\":[\"10.0.0.1\",\"10.0.0.2\"],\"vfs\":4,\"rdma\":null}");
	assert_int_equal(run("net label leg-a auto", 200, leg_json).status, CTL_OK);
	assert_body("{\"label\":\"auto\"}");
	assert_int_equal(run("net disable leg-a", 200, leg_json).status, CTL_OK);
	assert_body("{\"enabled\":false}");
	assert_int_equal(run("net set leg-a --rdma-off", 200, leg_json).status, CTL_OK);
	assert_body("{\"rdma\":\"off\"}");
	assert_int_equal(run("net set leg-a --soft-roce --unset network", 200, leg_json).status,
			 CTL_OK);
	assert_body("{\"soft-roce\":true,\"network\":null}");
	assert_int_equal(run("net set leg-a --kernel-port af-xdp --ipoib-mode connected "
			     "--roce-mode v2 --roce-tos 96",
			     200, leg_json)
				 .status,
			 CTL_OK);
	assert_body("{\"kernel-port\":\"af-xdp\",\"ipoib-mode\":\"connected\",\"roce-mode\":\"v2\","
		    "\"roce-tos\":96}");
	assert_int_equal(run("net set leg-a --dcb "
			     "{pfc:[3],trust:dscp,dscp:[{\"dscp\":24,\"prio\":3}]}",
			     200, leg_json)
				 .status,
			 CTL_USAGE); /* YAML: no blank after the colon */
	assert_int_equal(run("net set leg-a --dcb "
			     "{\"pfc\":[3],\"trust\":\"dscp\",\"dscp\":[{\"dscp\":24,\"prio\":3}]}",
			     200, leg_json)
				 .status,
			 CTL_OK);
	assert_body("{\"dcb\":{\"pfc\":[3],\"trust\":\"dscp\",\"dscp\":[{\"dscp\":24,"
		    "\"prio\":3}]}}");
	assert_int_equal(run("net set leg-a --vf-spoof-check on --vf-trust off --vf-rate 1000", 200,
			     leg_json)
				 .status,
			 CTL_OK);
	assert_body("{\"vf-spoof-check\":\"on\",\"vf-trust\":\"off\",\"vf-rate\":1000}");
	assert_int_equal(run("net set leg-a --auto-label --vfs auto", 200, leg_json).status,
			 CTL_OK);
	assert_body("{\"label\":\"auto\",\"vfs\":\"auto\"}");
}

static void test_net_add_describes_a_network(void **state)
{
	assert_int_equal(run("net add eth7 --ips 10.0.1.5,10.0.0.9-10.0.0.11 --netmask 255.255.0.0 "
			     "--gateway 10.0.0.1 --vlan 7 --mtu 9000",
			     201, "{}")
				 .status,
			 CTL_OK);
	assert_body("{\"name\":\"eth7\",\"device\":\"eth7\",\"ips\":[\"10.0.1.5\",\"10.0.0.9-10.0."
		    "0.11\"],"
		    "\"network\":{\"name\":\"eth7\",\"range\":\"10.0.0.9-10.0.1.5/16\",\"gateway\":"
		    "\"10.0.0.1\",\"vlan\":7,\"mtu\":9000}}");
	assert_int_equal(run("net add eth7 --network n --inet6 --ips fd00::1-fd00::9 --netmask 64",
			     201, "{}")
				 .status,
			 CTL_OK);
	assert_body("{\"name\":\"eth7\",\"device\":\"eth7\",\"network\":{\"name\":\"n\",\"range\":"
		    "\"fd00::1-fd00::9/64\"}}");
}

/* --shared-ip needs no network, so the command asks for none. */
static void test_net_add_can_share_the_hosts_address(void **state)
{
	assert_int_equal(run("net add eth7 --shared-ip", 201, "{}").status, CTL_OK);
	assert_asked("POST /v1/net");
	assert_body("{\"name\":\"eth7\",\"device\":\"eth7\",\"shared-ip\":true}");
}

static void test_contradicting_net_options_are_refused(void **state)
{
	static const char *const bad[] = {
		"net add 0000:3b:00.0 --network n",
		"net add eth7 --netmask 24",
		"net add eth7 --network n --gateway 10.0.0.1",
		"net add eth7 --ips 10.0.0.x --netmask 24",
		"net add eth7 --ips 10.0.0.1 --netmask 255.0.255.0",
		"net add eth7 --ips 10.0.0.1 --netmask 64",
		"net add eth7 --ips fd00::1 --netmask 129",
		"net add eth7 --inet6 --ips 10.0.0.1 --netmask 24",
		"net add eth7 --network n --label a --auto-label",
		"net add eth7 --network n --rdma-off --rdma-only",
		"net add eth7 --unset label --network n",
		"net set leg-a",
		"net set leg-a --name b",
		"net set leg-a --unset name",
		"net set leg-a --unset colour",
		"net set leg-a --label x --unset label",
		"net set ../x --label x",
		"net set leg-a --dcb pfc",
		"net set leg-a --dcb [3]",
		"net set leg-a --dcb {pfc",
		"net set leg-a --dcb {\"pfc\":[03]}",
		"net label leg-a",
		"net show -o colour",
		"net show --sort colour",
		"net show --filter colour=x",
		"net show --filter LEG",
		"net show -j --csv",
		"status --csv",
		"inventory x",
	};
	unsigned before = agent->n_requests;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct result r = run(bad[i], 200, "{\"net\":[{\"name\":\"a\"}]}");

		if (r.status != CTL_USAGE || !r.err[0])
			fail_msg("%s: %d", bad[i], r.status);
	}
	assert_true(agent->n_requests <= before + 4); /* the first four requests read */
}

static void test_net_remove_refuses_names_that_change_the_path(void **state)
{
	unsigned before;

	assert_int_equal(run("net remove leg-c", 200, "{}").status, CTL_OK);
	assert_asked("DELETE /v1/net/leg-c");
	before = agent->n_requests;
	assert_int_equal(run("net remove ../status", 200, "{}").status, CTL_USAGE);
	assert_int_equal(run("net remove a?b", 200, "{}").status, CTL_USAGE);
	assert_int_equal(agent->n_requests, before);
}

#define SEEN "fedcba9876543210"

/* The request has this version in If-Match. */
static void assert_expects(const char *first_line)
{
	assert_asked(first_line);
	assert_non_null(strstr(agent->request, "If-Match: \"" SEEN "\"\r\n"));
}

static void test_expect_sends_the_version_and_repeats_nothing(void **state)
{
	unsigned before = agent->n_requests;
	struct result r = run("net label leg-a x --expect " SEEN, 200, leg_json);

	assert_int_equal(r.status, CTL_OK);
	assert_int_equal(agent->n_requests, before + 1); /* the leg is not read */
	assert_expects("PATCH /v1/net/leg-a");
	agent->n_conflicts = 2;
	r = run("net set leg-a --vfs 3 --expect \"" SEEN "\"", 200,
		"{\"detail\":\"it is another\",\"code\":\"changed\",\"details\":[]}");
	assert_int_equal(r.status, CTL_DATA);
	assert_int_equal(agent->n_conflicts, 1);
	assert_string_equal(r.err, "plenum: it is another\n");
	agent->n_conflicts = 0;
	run("net remove leg-a --expect " SEEN, 200, "{}");
	assert_expects("DELETE /v1/net/leg-a");
	run("net add eth1 --network n --expect " SEEN, 201, "{}");
	assert_expects("POST /v1/net");
	run("restore --expect " SEEN, 200, "{}");
	assert_expects("DELETE /v1/config/staged");
	run("config stage " TOP_SRCDIR "/tests/golden/spec/good-minimal.yaml --expect " SEEN, 200,
	    "{}");
	assert_expects("PUT /v1/config/staged");
	run("apply --dry-run --expect " SEEN, 200, "{\"steps\":[]}");
	assert_expects("POST /v1/apply");
	before = agent->n_requests;
	r = run("apply --expect 7", 200, "{}");
	assert_int_equal(r.status, CTL_USAGE);
	assert_non_null(
		strstr(r.err, "--expect needs a version of 16 digits from 0 to f, found '7'"));
	assert_int_equal(run("net show --expect " SEEN, 200, "{}").status, CTL_USAGE);
	assert_int_equal(agent->n_requests, before);
}

static void test_plan_and_diff_print_the_version_and_the_authors(void **state)
{
	static const char authors[] = "Staged by root (uid 0, pid 7): 2 changes, the last one at "
				      "2026-11-27T22:00:05.000Z.\n";
	struct result r = run("plan", 200,
			      "{\"host\":\"h\",\"steps\":[{\"step\":\"s\",\"reason\":\"r\"}],"
			      "\"version\":\"" SEEN "\"}");

	assert_non_null(strstr(r.out, "\nVersion " SEEN "; 'plenum apply --expect " SEEN
				      "' applies only this version.\n"));
	r = run("plan", 200, "{\"host\":\"h\",\"steps\":[],\"version\":\"" SEEN "\"}");
	assert_null(strstr(r.out, "Version"));
	r = run("net show", 200,
		"{\"net\":[],\"staged_by\":[{\"uid\":0,\"by\":\"uid 0, pid 7\","
		"\"time\":\"2026-11-27T22:00:05.000Z\",\"changes\":2}]}");
	assert_non_null(strstr(r.out, authors));
	r = run("diff", 200,
		"{\"steps\":[],\"net\":[],\"staged_by\":[{\"uid\":0,\"by\":\"uid 0, pid 7\","
		"\"time\":\"2026-11-27T22:00:05.000Z\",\"changes\":2}]}");
	assert_string_equal(r.out, authors);
}

#define WORKER                                                                             \
	"{\"worker\":7,\"role\":\"frontend\",\"file\":\"/f.yaml\",\"pending\":\"change\"," \
	"\"changes\":{\"core\":{\"running\":1,\"staged\":0}},\"running\":{\"core\":1},"    \
	"\"staged\":{\"core\":0},\"overridden\":[{\"key\":\"cores\",\"value\":\"[0]\","    \
	"\"at\":\"/c.yaml:2:3\",\"overridden\":\"[1]\",\"overridden_at\":\"/f.yaml:8:9\"," \
	"\"edited\":false,\"text\":\"/f.yaml:8:9: note: no effect\"}]}"

static void test_worker_move_stages_a_core(void **state)
{
	unsigned before = agent->n_requests;
	struct result r = run("worker move 7 --core 0", 200, WORKER);

	assert_int_equal(r.status, CTL_OK);
	assert_int_equal(agent->n_requests, before + 2); /* it reads the version first */
	assert_asked("PATCH /v1/workers/7");
	assert_non_null(strstr(agent->request, "\r\n\r\n{\"core\":0}"));
	assert_non_null(strstr(agent->request, "If-Match: \"0123456789abcdef\""));
	assert_non_null(strstr(r.out, "The change is staged; 'plenum plan' shows the steps"));
	run("worker move 7 --core 12 --expect " SEEN, 200, WORKER);
	assert_expects("PATCH /v1/workers/7");
	r = run("worker move 7 --core 1", 200, "{\"pending\":\"\"}");
	assert_string_equal(r.out, "Nothing to stage: the worker uses this core already.\n");
	before = agent->n_requests;
	assert_int_equal(run("worker move 7", 200, "{}").status, CTL_USAGE);
	assert_int_equal(run("worker move 7 --core 1-2", 200, "{}").status, CTL_USAGE);
	assert_int_equal(run("worker move 7 --core 1024", 200, "{}").status, CTL_USAGE);
	assert_int_equal(run("worker move 0 --core 1", 200, "{}").status, CTL_USAGE);
	assert_int_equal(run("worker move x --core 1", 200, "{}").status, CTL_USAGE);
	assert_int_equal(run("worker show x", 200, "{}").status, CTL_USAGE);
	assert_int_equal(agent->n_requests, before);
	r = run("worker show 7", 200, WORKER);
	assert_asked("GET /v1/workers/7");
	assert_string_equal(r.out, "KEY      VALUE             STAGED\n"
				   "core     1                 0\n"
				   "role     frontend          -\n"
				   "file     /f.yaml           -\n"
				   "pending  change            -\n"
				   "version  0123456789abcdef  -\n");
	assert_string_equal(r.err, "plenum: /f.yaml:8:9: note: no effect\n");
	r = run("diff", 200,
		"{\"steps\":[],\"net\":[],\"workers_overridden\":[{\"text\":\"no effect\"}]}");
	assert_string_equal(r.err, "plenum: no effect\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_net_show_of_one_leg_names_what_is_overridden),
		cmocka_unit_test(test_net_show_and_diff_name_overridden_values),
		cmocka_unit_test(test_net_show_prints_a_dash_for_each_missing_value),
		cmocka_unit_test(test_diff_before_the_first_apply_names_the_next_commands),
		cmocka_unit_test(test_net_add_sends_its_options),
		cmocka_unit_test(test_net_set_sends_only_changed_keys),
		cmocka_unit_test(test_net_add_describes_a_network),
		cmocka_unit_test(test_net_add_can_share_the_hosts_address),
		cmocka_unit_test(test_contradicting_net_options_are_refused),
		cmocka_unit_test(test_net_remove_refuses_names_that_change_the_path),
		cmocka_unit_test(test_expect_sends_the_version_and_repeats_nothing),
		cmocka_unit_test(test_plan_and_diff_print_the_version_and_the_authors),
		cmocka_unit_test(test_worker_move_stages_a_core),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
