/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the command line against an agent that a child process plays: the request, the output and
 * the exit status. Each command runs in a child so that its output and its exit can be caught.
 */
#include "agent/ctl/ctl.h"

#include "tests/lib/agent/ctl_rig.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const char processes[] =
	"{\"host\":\"host-a\",\"processes\":["
	"{\"id\":\"host-a/0\",\"host\":\"host-a\",\"role\":\"MANAGEMENT\",\"ips\":[],"
	"\"status\":\"UP\",\"network\":\"\",\"core\":null,\"memory_bytes\":9437184,"
	"\"uptime_s\":90061,\"pid\":10,\"restarts\":0,\"reason\":\"\"},"
	"{\"id\":\"host-a/1\",\"host\":\"host-a\",\"role\":\"FRONTEND\","
	"\"ips\":[\"10.10.1.10\",\"10.20.1.10\"],\"status\":\"UP\",\"network\":\"UDP\",\"core\":1,"
	"\"switches\":[{\"leg\":\"leg-a\",\"switch\":\"sw-1\",\"port\":\"Eth1/7\"},"
	"{\"leg\":\"leg-b\",\"switch\":null,\"port\":null}],"
	"\"memory_bytes\":20132659,\"uptime_s\":59,\"pid\":11,\"restarts\":2,"
	"\"last_death\":{\"time\":\"2026-01-02T03:04:05.678Z\",\"reason\":\"killed by "
	"SIGSEGV\\u001b\"},\"reason\":\"no huge pages\\u001b[31m\"}]}";

static void test_processes_prints_a_table(void **state)
{
	struct result r = run("processes", 200, processes);

	assert_int_equal(r.status, CTL_OK);
	assert_asked("GET /v1/processes");
	assert_string_equal(
		r.out,
		"ID        HOST    ROLE        IPS                     STATUS  NETWORK  "
		"SWITCHES              CORE  MEMORY    UPTIME  RESTARTS  REASON\n"
		"host-a/0  host-a  MANAGEMENT  -                       UP      -        "
		"-                     -     9.0 MiB   1d 1h   0         -\n"
		"host-a/1  host-a  FRONTEND    10.10.1.10, 10.20.1.10  UP      UDP      "
		"sw-1 Eth1/7, unknown  1     19.2 MiB  59s     2         no huge pages?[31m\n");
	assert_string_equal(r.err, "");
}

static void test_processes_can_show_the_last_death(void **state)
{
	struct result r = run("processes -o id,last-death", 200, processes);

	assert_string_equal(r.out, "ID        LAST DEATH\n"
				   "host-a/0  -\n"
				   "host-a/1  2026-01-02T03:04:05.678Z killed by SIGSEGV?\n");
}

static void test_json_option_prints_the_answer_unchanged(void **state)
{
	struct result r = run("processes -j", 200, processes);
	json_t *want = json_loads(processes, 0, NULL), *got = json_loads(r.out, 0, NULL);

	assert_int_equal(r.status, CTL_OK);
	assert_true(json_equal(want, got));
	json_decref(want);
	json_decref(got);
}

static void test_status_shows_legs_paths_and_reasons(void **state)
{
	struct result r = run(
		"status", 200,
		"{\"host\":\"host-a\",\"version\":\"1\",\"state\":\"degraded\","
		"\"applied\":{\"number\":3,\"time\":\"2026-01-02T03:04:05Z\",\"steps\":12},"
		"\"legs\":[{\"name\":\"leg-a\",\"device\":\"eth1\",\"label\":\"switch-a\","
		"\"ifname\":\"eth1\",\"state\":\"degraded\",\"network\":\"data-a\",\"carrier\":"
		"false,\"up\":true,\"mtu\":1500,"
		"\"ips\":[\"10.10.1.10/24\"]}],\"workers\":{\"up\":1,\"total\":2},"
		"\"paths\":[{\"worker\":1,\"leg\":\"leg-a\",\"local\":\"10.10.1.10\","
		"\"remote\":\"10.10.1.20\",\"peer\":\"host-b/1\",\"up\":true,\"standby\":true,"
		"\"srtt_us\":41.5,\"mtu\":1500,\"cwnd_bytes\":65536,\"tx_bytes\":1,\"rx_bytes\":2,"
		"\"loss_to_percent\":0.25,\"retransmits\":3,\"failovers\":4,"
		"\"last_pause_ms\":1.25}],\"reasons\":[\"leg-a has no carrier\",\"second\"]}");

	assert_int_equal(r.status, CTL_DEGRADED);
	assert_asked("GET /v1/status");
	assert_non_null(strstr(r.out, "State:    degraded\n"));
	assert_non_null(strstr(r.out, "Applied:  12 steps, 2026-01-02T03:04:05Z\n"));
	assert_non_null(strstr(r.out, "Workers:  1 of 2 up\n"));
	assert_non_null(strstr(r.out, "Reasons:  leg-a has no carrier\n          second\n"));
	assert_non_null(strstr(r.out, "degraded  no carrier  1500  10.10.1.10/24\n"));
	assert_non_null(strstr(r.out, "41 us  1500  64.0 KiB  1 B   2 B       0.25%    -      "));
	assert_non_null(strstr(r.out, "1.2 ms\n"));
}

/* The exit status follows the state in the output. */
static void test_status_exits_by_state(void **state)
{
#define STATUS(state, up, leg, served)                                                     \
	"{\"state\":\"" state "\",\"workers\":{\"up\":" up ",\"total\":2},\"legs\":[{" leg \
	"}],\"mounts\":[{\"served\":" served "}],\"paths\":[{\"up\":false}],"              \
	"\"reasons\":[],\"notes\":[\"worker 1: no-vf\"]}"
	static const struct {
		const char *reply;
		int exit;
	} cases[] = {
		{STATUS("running", "2", "\"carrier\":true,\"state\":\"usable\"", "true"), CTL_OK},
		{STATUS("running", "1", "\"carrier\":false", "false"), CTL_OK},
		{STATUS("starting", "2", "\"carrier\":true", "true"), CTL_DEGRADED},
		{STATUS("degraded", "2", "\"carrier\":true", "true"), CTL_DEGRADED},
		{STATUS("stopping", "2", "\"carrier\":true", "true"), CTL_DEGRADED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(run("status", 200, cases[i].reply).status, cases[i].exit);
		assert_int_equal(run("status -j", 200, cases[i].reply).status, CTL_OK);
	}
}

/* No line is wider than the terminal; the omitted columns are named; the reason is complete. */
static void test_tables_fit_the_terminal(void **state)
{
	struct result r;
	char *rest;

	setenv("COLUMNS", "60", 1);
	r = run("processes", 200, processes);
	unsetenv("COLUMNS");
	assert_int_equal(r.status, CTL_OK);
	assert_non_null(strstr(r.out, "10.10.1.10, 10.20.1.10"));
	assert_non_null(strstr(r.out, "no huge pages?[31m"));
	assert_null(strstr(r.out, "  MEMORY"));
	assert_non_null(strstr(r.out, "(left out, the terminal is too narrow: HOST, "));
	rest = r.out;
	for (char *line; (line = strsep(&rest, "\n"));)
		assert_true(strlen(line) <= 60);
	setenv("COLUMNS", "90", 1);
	r = run("plan", 200,
		"{\"steps\":[],\"workers\":[{\"id\":1,\"role\":\"frontend\",\"core\":1,\"reason\":"
		"\"one two "
		"three "
		"four five six seven eight nine ten eleven twelve thirteen fourteen\"}]}");
	unsetenv("COLUMNS");
	rest = strstr(r.out, "  id  role");
	assert_non_null(rest);
	assert_non_null(strstr(rest, "fourteen"));
	for (char *line; (line = strsep(&rest, "\n"));)
		assert_true(strlen(line) <= 90);
}

/* Members may be missing or have other types; test_ctl_answers has what no command can use. */
static void test_malformed_answers_are_harmless(void **state)
{
	static const char odd[] =
		"{\"state\":\"x\",\"processes\":[1,null,{}],\"legs\":5,\"paths\":[[]],"
		"\"events\":[1,{}],\"net\":[0],\"steps\":[[]],\"applied\":{\"steps\":[]},"
		"\"needs\":[{\"commands\":[7]},7],\"mounts\":[7]}";
	static const char *const commands[] = {"processes", "status", "events",	  "net show",
					       "plan",	    "apply",  "status -j"};

	for (size_t j = 0; j < ARRAY_SIZE(commands); j++)
		assert_int_equal(run(commands[j], 200, odd).status,
				 strcmp(commands[j], "status") == 0 ? CTL_DEGRADED : CTL_OK);
}

static void test_net_show_gives_the_reason_of_an_absent_leg(void **state)
{
	struct result r =
		run("net show", 200,
		    "{\"host\":\"host-a\",\"net\":[{\"name\":\"leg-a\",\"device\":\"eth1\","
		    "\"ifname\":\"\","
		    "\"label\":\"switch-a\",\"network\":\"data-a\",\"state\":\"absent\","
		    "\"reason\":\"not-found: this host has no device eth1\",\"carrier\":false,"
		    "\"up\":false,\"mtu\":0,\"ips\":[]}]}");

	assert_int_equal(r.status, CTL_OK);
	assert_non_null(strstr(r.out, "absent  -        -    -\n"));
	assert_non_null(strstr(r.out, "\n  leg-a (eth1) is absent: not-found: this host has no "
				      "device eth1\n"));
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
		"{\"label\":\"12\",\"vfs\":4,\"ips\":[\"10.0.0.1\",\"10.0.0.2\"],\"rdma\":null}");
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
			     "--gateway 10.0.0.1 --vlan 7",
			     201, "{}")
				 .status,
			 CTL_OK);
	assert_body("{\"name\":\"eth7\",\"device\":\"eth7\",\"ips\":[\"10.0.1.5\",\"10.0.0.9-10.0."
		    "0.11\"],"
		    "\"network\":{\"name\":\"eth7\",\"range\":\"10.0.0.9-10.0.1.5/16\",\"gateway\":"
		    "\"10.0.0.1\",\"vlan\":7}}");
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

static void test_tables_select_sort_and_filter(void **state)
{
	static const char net[] = "{\"net\":[{\"name\":\"leg-10\",\"label\":\"a,b\",\"state\":"
				  "\"usable\",\"vfs\":\"auto\"},"
				  "{\"name\":\"leg-9\",\"label\":\"say "
				  "\\\"x\\\"\",\"state\":\"absent\",\"reason\":\"gone\","
				  "\"vfs\":4}]}";
	struct result r = run("net show --csv -o leg,LABEL,vfs --sort leg", 200, net);

	assert_string_equal(r.out, "LEG,LABEL,VFS\r\nleg-9,\"say \"\"x\"\"\",4\r\n"
				   "leg-10,\"a,b\",auto\r\n");
	r = run("net show -o LEG --sort -leg --no-header", 200, net);
	assert_string_equal(r.out, "leg-10\nleg-9\n");
	r = run("net show -o LEG --no-header -F state=usable", 200, net);
	assert_string_equal(r.out, "leg-10\n");
	r = run("net show -o LEG --no-header -F state!=usable -F label~say", 200, net);
	assert_string_equal(r.out, "leg-9\n");
	r = run("net show -o LEG --no-header -F reason=-", 200, net);
	assert_string_equal(r.out, "leg-10\n");
	/* A filter is checked even if the table has no rows. */
	assert_int_equal(run("net show -F leg=nope -F colour=x", 200, net).status, CTL_USAGE);
	assert_int_equal(run("net show -F colour=x", 200, "{\"net\":[]}").status, CTL_USAGE);
	r = run("processes -o ID,MEMORY --no-header --sort memory", 200,
		"{\"processes\":[{\"id\":\"a\",\"memory_bytes\":1572864},{\"id\":\"b\","
		"\"memory_bytes\":9216},{\"id\":\"c\",\"memory_bytes\":5}]}");
	assert_string_equal(r.out, "c  5 B\nb  9.0 KiB\na  1.5 MiB\n");
	r = run("processes -o PORTS --no-header", 200,
		"{\"processes\":[{\"ports\":[{\"leg\":\"leg-a\",\"by\":\"af-xdp\",\"counters\":{"
		"\"tx_packets\":12,\"rx_packets\":11,\"rx_missed\":4,\"rx_dropped\":{\"short\":1,"
		"\"checksum\":2}}},{\"leg\":\"leg-b\",\"by\":null,\"counters\":null},{\"leg\":"
		"\"leg-c\",\"by\":\"udp\",\"counters\":{"
		"\"tx_packets\":7,\"tx_by_source\":[3,0,4]}}]}]}");
	assert_string_equal(
		r.out, "leg-a af-xdp: 12 sent, 11 received, 3 dropped, 4 missed, leg-b closed, "
		       "leg-c udp: 7 sent, 0 received, 0 dropped, 0 missed, by 3 ports\n");
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

static void test_apply_prints_steps_and_actions(void **state)
{
	struct result r =
		run("apply", 200, "{\"applied\":{\"number\":2,\"steps\":5},\"warnings\":[\"w\"]}");

	assert_int_equal(r.status, CTL_OK);
	assert_asked("POST /v1/apply");
	assert_string_equal(r.out, "Applied: 5 steps.\n");
	assert_string_equal(r.err, "plenum: w\n");
	r = run("apply", 200, "{\"applied\":{\"number\":2,\"steps\":0}}");
	assert_string_equal(r.out, "Nothing to do: the host matches the configuration.\n");
	r = run("apply", 200,
		"{\"applied\":{\"number\":2,\"steps\":0},\"actions\":[{\"action\":\"restart worker "
		"1\","
		"\"reason\":\"its exports change\"}]}");
	assert_string_equal(r.out, "Applied: 0 steps.\n  restart worker 1 (its exports change)\n");
}

static void test_apply_sends_dry_run_and_force(void **state)
{
	struct result r =
		run("apply --dry-run", 200,
		    "{\"steps\":[{\"step\":\"set x\",\"reason\":\"y\"}],\"warnings\":[]}");

	assert_int_equal(r.status, CTL_OK);
	assert_asked("POST /v1/apply");
	assert_body("{\"dry-run\":true}");
	assert_non_null(strstr(r.out, "1. set x\n      y\n"));
	run("apply --force eth0 --force ssh", 200, "{\"applied\":{\"number\":2,\"steps\":5}}");
	assert_body("{\"force\":[\"eth0\",\"ssh\"]}");
}

static void test_an_error_of_the_agent_is_printed_with_its_details(void **state)
{
	static const char body[] = "{\"code\":\"invalid\",\"detail\":\"not valid\","
				   "\"details\":[\"a.yaml:1:2: error: x\",\"b\"]}";
	static const struct {
		int http, exit;
	} cases[] = {{400, CTL_DATA},	    {403, CTL_NO_PERMISSION}, {404, CTL_NO_INPUT},
		     {409, CTL_DATA},	    {422, CTL_DATA},	      {500, CTL_SOFTWARE},
		     {503, CTL_UNAVAILABLE}};
	struct result r;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		r = run("apply", cases[i].http, body);
		assert_int_equal(r.status, cases[i].exit);
		assert_string_equal(r.err, "plenum: not valid\na.yaml:1:2: error: x\nb\n");
		assert_string_equal(r.out, "");
	}
	r = run("plan -j", 422, body);
	assert_int_equal(r.status, CTL_DATA);
	assert_non_null(strstr(r.out, "\"details\""));
	r = run("status", 500, "<html>");
	assert_string_equal(r.err, "plenum: the agent answered with HTTP status 500\n");
}

static void test_events_are_printed_one_a_line(void **state)
{
	struct result r =
		run("events --since 7", 200,
		    "{\"next\":9,\"events\":[{\"seq\":8,\"time\":\"2026-01-02T03:04:05Z\","
		    "\"severity\":\"warning\",\"source\":\"worker 1\",\"text\":\"a\\nb\"}]}");

	assert_int_equal(r.status, CTL_OK);
	assert_asked("GET /v1/events?since=7");
	assert_string_equal(r.out, "2026-01-02T03:04:05Z  warning  worker 1    a?b\n");
}

/* ---- the agent restarts under `events -f` ---- */

static void read_until(int fd, const char *want)
{
	char text[4096] = "";
	size_t len = 0;

	while (!strstr(text, want)) {
		ssize_t n = read(fd, text + len, sizeof(text) - 1 - len);

		if (n <= 0)
			print_error("read: %s\n", text);
		assert_true(n > 0);
		len += (size_t)n;
		text[len] = '\0';
	}
}

#define EVENT(text)                                                                                \
	"{\"seq\":1,\"time\":\"2026-01-02T03:04:05Z\",\"severity\":\"info\",\"source\":\"agent\"," \
	"\"text\":\"" text "\"}"

static void test_events_follow_survives_a_restart(void **state)
{
	char path[160];
	int out[2], listen_fd, wstatus;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/follow", agent->dir);
	listen_fd = fake_listen(path);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char *argv[] = {(char *)"plenum", (char *)"--socket", path,
				(char *)"events", (char *)"-f",	      NULL};

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
		exit(ctl_run(5, argv));
	}
	close(out[1]);
	fake_answer(
		listen_fd, "GET /v1/events?since=0 ",
		"{\"next\":8,\"instance\":\"00000000000000aa\",\"events\":[" EVENT("first") "]}");
	read_until(out[0], "first");
	fake_answer(
		listen_fd, "GET /v1/events?since=8&wait=20&instance=00000000000000aa ",
		"{\"next\":9,\"instance\":\"00000000000000aa\",\"events\":[" EVENT("second") "]}");
	read_until(out[0], "second");
	close(listen_fd);
	unlink(path);
	read_until(out[0], "does not answer; waiting for it");
	listen_fd = fake_listen(path);
	fake_answer(
		listen_fd, "GET /v1/events?since=9&wait=20&instance=00000000000000aa ",
		"{\"next\":2,\"instance\":\"00000000000000bb\",\"events\":[" EVENT("third") "]}");
	read_until(out[0], "third");
	fake_answer(listen_fd, "GET /v1/events?since=2&wait=20&instance=00000000000000bb ",
		    "{\"next\":2,\"instance\":\"00000000000000bb\",\"events\":[]}");
	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &wstatus, 0), pid);
	assert_true(WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGTERM);
	close(listen_fd);
	close(out[0]);
	unlink(path);
}

static void test_plan_of_the_agent_is_printed(void **state)
{
	struct result r =
		run("plan", 200,
		    "{\"steps\":[{\"step\":\"set leg-a up\",\"reason\":\"it is down\","
		    "\"disruptive\":true}],\"workers\":[{\"id\":1,\"role\":\"frontend\","
		    "\"core\":1,\"asked\":\"dpdk\",\"transport\":\"udp\",\"reason\":\"why\","
		    "\"ports\":[{\"leg\":\"a\",\"ip\":\"10.0.0.1/"
		    "24\"},{\"leg\":\"b\",\"ip\":\"10.0.1.1/24\"}],"
		    "\"details\":[\"mounts /mnt/x\"]}],\"host\":\"h\\u001b\"}");

	assert_int_equal(r.status, CTL_OK);
	assert_asked("GET /v1/plan");
	assert_non_null(strstr(r.out, "   1. set leg-a up  [disruptive]\n      it is down\n"));
	assert_non_null(strstr(r.out, "h?: 1 step\n"));
	assert_non_null(strstr(r.out, "  a=10.0.0.1/24, b=10.0.1.1/24\n      mounts /mnt/x\n"
				      "      why\n"));
}

static void test_config_commands_use_their_resources(void **state)
{
	struct result r = run("config show --running", 200, "host: a\n");

	assert_asked("GET /v1/config/running");
	assert_string_equal(r.out, "host: a\n");
	r = run("diff", 200, "{\"steps\":[]}");
	assert_int_equal(r.status, CTL_OK); /* all differences are of this kind */
	assert_string_equal(r.out, "");
	r = run("diff", 200,
		"{\"host\":\"h\",\"steps\":[{\"step\":\"set it\",\"reason\":\"why\"}]}");
	assert_int_equal(r.status, CTL_DIFFERS);
	assert_non_null(strstr(r.out, "these steps would restore it:\nh: 1 step\n   1. set it\n"));
	r = run("diff " TOP_SRCDIR "/tests/golden/spec/good-minimal.yaml", 200,
		"host: h\nport: 7412\nha:\n  mode: none\npolicy:\n  on-fallback: degrade\n"
		"  fault-injection: false\nrdma:\n  read-min-kib: 32\n  write-min-kib: 256\n");
	assert_int_equal(r.status, CTL_DIFFERS);
	assert_string_equal(r.out, " host: h\n-port: 7412\n+port: 7411\n ha:\n   mode: none\n"
				   " policy:\n");
	r = run("config stage " TOP_SRCDIR "/tests/golden/spec/good-minimal.yaml", 200, "{}");
	assert_int_equal(r.status, CTL_OK);
	assert_asked("PUT /v1/config/staged");
	assert_body("host: h\n");
	assert_int_equal(run("restore", 200, "{}").status, CTL_OK);
	assert_asked("DELETE /v1/config/staged");
}

static void put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* A file with drop-ins beside it is staged merged with them; a file alone is staged unchanged. */
static void test_config_stage_merges_the_dropins(void **state)
{
	char file[160], folder[160], dropin[180], args[200];

	snprintf(file, sizeof(file), "%s/plenum.yaml", agent->dir);
	snprintf(folder, sizeof(folder), "%s/plenum.d", agent->dir);
	snprintf(dropin, sizeof(dropin), "%s/10-port.yaml", folder);
	snprintf(args, sizeof(args), "config stage %s", file);
	put_file(file, "# mine\nhost: h\n");
	assert_int_equal(run(args, 200, "{}").status, CTL_OK);
	assert_body("# mine\nhost: h\n");
	assert_int_equal(mkdir(folder, 0700), 0);
	put_file(dropin, "port: 7412\n");
	assert_int_equal(run(args, 200, "{}").status, CTL_OK);
	assert_body("host: h\nport: 7412\nha:\n  mode: none\npolicy:\n  on-fallback: degrade\n"
		    "  fault-injection: false\nrdma:\n  read-min-kib: 32\n  write-min-kib: 256\n");
	put_file(dropin, "host: other\n");
	assert_int_equal(run(args, 200, "{}").status, CTL_DATA);
	unlink(dropin);
	rmdir(folder);
	unlink(file);
}

static void test_file_commands_need_no_agent(void **state)
{
	unsigned before = agent->n_requests;
	struct result r = run("validate " TOP_SRCDIR "/etc/examples/full.yaml", 500, "");

	assert_int_equal(r.status, CTL_OK);
	assert_non_null(strstr(r.out, "full.yaml is valid.\n"));
	r = run("validate " TOP_SRCDIR "/tests/golden/spec/dual-leg-one-net.yaml", 500, "");
	assert_int_equal(r.status, CTL_DATA);
	assert_non_null(strstr(r.err, "dual-leg-one-net.yaml:4:5: error: ha.mode: "));
	assert_int_equal(run("validate /nonexistent", 500, "").status, CTL_NO_INPUT);
	assert_int_equal(run("validate -j /nonexistent", 500, "").status, CTL_NO_INPUT);
	r = run("config show " TOP_SRCDIR "/etc/examples/host-a.yaml", 500, "");
	assert_int_equal(r.status, CTL_OK);
	assert_non_null(strstr(r.out, "    device: eth2\n"));
	assert_int_equal(run("config schema", 500, "").status, CTL_OK);
	assert_int_equal(agent->n_requests, before);
}

/* A valid file that configures nothing, or something that this build does not support, gets a
 * warning or an error. */
static void test_validate_warns_of_no_effect(void **state)
{
	struct result r =
		run("validate " TOP_SRCDIR "/tests/golden/spec/asks-for-nothing.yaml", 500, "");

	assert_int_equal(r.status, CTL_OK);
	assert_non_null(strstr(r.err, "asks-for-nothing.yaml: warning: configures nothing: "));
	r = run("validate " TOP_SRCDIR "/tests/golden/spec/bond-good.yaml", 500, "");
	assert_int_equal(r.status, CTL_OK);
	r = run("validate " TOP_SRCDIR "/tests/golden/spec/lacp.yaml", 500, "");
	assert_int_equal(r.status, CTL_DATA);
	assert_non_null(strstr(r.err, "net[p0].vfs: lacp and VFs exclude each other"));
	r = run("plan", 200, "{\"steps\":[],\"warnings\":[\"asks for nothing\"]}");
	assert_string_equal(r.err, "plenum: asks for nothing\n");
}

static void test_wrong_usage_is_refused(void **state)
{
	static const char *const wrong[] = {"",
					    "nonsense",
					    "net",
					    "net add eth0",
					    "net add",
					    "processes extra",
					    "processes --follow",
					    "net show --drop 1%",
					    "fault add --leg leg-a --sort id",
					    "inventory --snapshot /nowhere/x -o device",
					    "--nonsense",
					    "config show a b",
					    "config show --running --staged",
					    "apply x",
					    "plan --force x",
					    "apply --force a --force b --force c --force d "
					    "--force e --force f --force g --force h --force i"};
	struct result r;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		r = run(wrong[i], 200, "{}");
		assert_int_equal(r.status, CTL_USAGE);
		assert_string_equal(r.out, "");
		assert_true(*r.err);
	}
	r = run("proceses", 200, "{}");
	assert_non_null(strstr(r.err, "did you mean 'processes'?"));
	r = run("confg show --running", 200, "{}");
	assert_non_null(
		strstr(r.err, "there is no command 'confg show'; did you mean 'config show'?"));
	r = run("net ad x", 200, "{}");
	assert_non_null(strstr(r.err, "did you mean 'net add'?"));
	r = run("net show --help", 200, "{}");
	assert_int_equal(r.status, CTL_OK);
	assert_non_null(strstr(r.out, "Usage: plenum net show"));
}

/* The agent is not asked for session keys unless they have a file of their own. */
static void test_capture_refuses_keys_in_a_shared_file(void **state)
{
	static const char *const wrong[] = {"capture -w test_ctl.tmp --keys test_ctl.tmp",
					    "capture -w test_ctl.tmp --keys /dev/null",
					    "capture -w test_ctl.tmp --keys /nowhere/keys"};
	struct stat st;
	struct result r;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		r = run(wrong[i], 200, "{\"capture\":\"1\"}");
		assert_int_equal(r.status, CTL_IO);
		assert_non_null(strstr(r.err, i < 2 ? "a file of their own" : "/nowhere/keys"));
	}
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	assert_int_equal(unlink("test_ctl.tmp"), 0);
}

static void check_help(const char *words)
{
	char args[3][64];

	snprintf(args[0], sizeof(args[0]), "%s --help", words);
	snprintf(args[1], sizeof(args[1]), "help %s", words);
	snprintf(args[2], sizeof(args[2]), "-h %s", words);
	for (size_t i = 0; i < ARRAY_SIZE(args); i++) {
		struct result r = run(args[i], 200, "{}");

		assert_int_equal(r.status, CTL_OK);
		assert_non_null(strstr(r.out, words));
		assert_string_equal(r.err, "");
	}
}

static void test_commands_print_their_help(void **state)
{
	struct result r;

	check_help("config"); /* lists config show and its like */
	check_help("diff");
	for (size_t i = 0; i < RESOURCE_MAX; i++)
		for (size_t j = 0; resources[i].commands[j].words; j++)
			check_help(resources[i].commands[j].words);
	r = run("help", 200, "{}");
	assert_int_equal(r.status, CTL_OK);
	assert_non_null(strstr(r.out, "Usage: plenum"));
	assert_int_equal(run("help nonsense", 200, "{}").status, CTL_USAGE);
}

static void test_an_absent_agent_is_reported(void **state)
{
	struct result r = run("status --socket /nonexistent/socket", 200, "{}");

	assert_int_equal(r.status, CTL_UNAVAILABLE);
	assert_non_null(strstr(r.err, "no agent answers on /nonexistent/socket"));
}

static void test_a_failed_write_is_an_error(void **state)
{
	pid_t pid = fork();
	int wstatus;

	assert_true(pid >= 0);
	if (pid == 0) {
		char *argv[] = {(char *)"plenum", (char *)"version", NULL};

		if (!freopen("/dev/full", "w", stdout) || !freopen("/dev/null", "w", stderr))
			exit(1);
		exit(ctl_run(2, argv));
	}
	assert_int_equal(waitpid(pid, &wstatus, 0), pid);
	assert_true(WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == CTL_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes_prints_a_table),
		cmocka_unit_test(test_processes_can_show_the_last_death),
		cmocka_unit_test(test_json_option_prints_the_answer_unchanged),
		cmocka_unit_test(test_status_shows_legs_paths_and_reasons),
		cmocka_unit_test(test_status_exits_by_state),
		cmocka_unit_test(test_tables_fit_the_terminal),
		cmocka_unit_test(test_malformed_answers_are_harmless),
		cmocka_unit_test(test_net_show_gives_the_reason_of_an_absent_leg),
		cmocka_unit_test(test_net_add_sends_its_options),
		cmocka_unit_test(test_net_set_sends_only_changed_keys),
		cmocka_unit_test(test_net_add_describes_a_network),
		cmocka_unit_test(test_net_add_can_share_the_hosts_address),
		cmocka_unit_test(test_contradicting_net_options_are_refused),
		cmocka_unit_test(test_tables_select_sort_and_filter),
		cmocka_unit_test(test_net_remove_refuses_names_that_change_the_path),
		cmocka_unit_test(test_apply_prints_steps_and_actions),
		cmocka_unit_test(test_apply_sends_dry_run_and_force),
		cmocka_unit_test(test_an_error_of_the_agent_is_printed_with_its_details),
		cmocka_unit_test(test_events_are_printed_one_a_line),
		cmocka_unit_test(test_events_follow_survives_a_restart),
		cmocka_unit_test(test_plan_of_the_agent_is_printed),
		cmocka_unit_test(test_config_commands_use_their_resources),
		cmocka_unit_test(test_config_stage_merges_the_dropins),
		cmocka_unit_test(test_file_commands_need_no_agent),
		cmocka_unit_test(test_validate_warns_of_no_effect),
		cmocka_unit_test(test_wrong_usage_is_refused),
		cmocka_unit_test(test_capture_refuses_keys_in_a_shared_file),
		cmocka_unit_test(test_commands_print_their_help),
		cmocka_unit_test(test_an_absent_agent_is_reported),
		cmocka_unit_test(test_a_failed_write_is_an_error),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
