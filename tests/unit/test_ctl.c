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
	"{\"leg\":\"leg-b\",\"label\":\"sw-2\",\"switch\":null,\"port\":null},"
	"{\"leg\":\"leg-c\",\"label\":null,\"switch\":null,\"port\":null}],"
	"\"memory_bytes\":20132659,\"uptime_s\":59,\"pid\":11,\"restarts\":2,"
	"\"last_death\":{\"time\":\"2026-01-02T03:04:05.678Z\",\"reason\":\"killed by "
	"SIGSEGV\\u001b\"},\"reason\":\"no huge pages\\u001b[31m\"}]}";

static void test_processes_prints_a_table(void **state)
{
	struct result r = run("processes", 200, processes);

	assert_int_equal(r.status, CTL_OK);
	assert_asked("GET /v1/processes");
	assert_string_equal(
		r.out, "ID        HOST    ROLE        IPS                     STATUS  NETWORK  "
		       "SWITCHES                    CORE  MEMORY    UPTIME  RESTARTS  REASON\n"
		       "host-a/0  host-a  MANAGEMENT  -                       UP      -        "
		       "-                           -     9.0 MiB   1d 1h   0         -\n"
		       "host-a/1  host-a  FRONTEND    10.10.1.10, 10.20.1.10  UP      UDP      "
		       "sw-1 Eth1/7, sw-2, unknown  1     19.2 MiB  59s     2         no huge "
		       "pages?[31m\n");
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

static void test_metrics_are_printed_or_replace_a_file(void **state)
{
	char folder[] = "/tmp/plenum-ctl.XXXXXX", file[64], args[80], text[64];
	static const char metrics[] = "# TYPE plenum_problems gauge\nplenum_problems 0\n";
	struct result r = run("metrics", 200, metrics);
	FILE *f;

	assert_int_equal(r.status, CTL_OK);
	assert_asked("GET /v1/metrics");
	assert_string_equal(r.out, metrics);
	assert_int_equal(run("metrics -j", 200, metrics).status, CTL_USAGE);
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/plenum.prom", folder);
	snprintf(args, sizeof(args), "metrics %s", file);
	r = run(args, 200, metrics);
	assert_int_equal(r.status, CTL_OK);
	assert_string_equal(r.out, "");
	f = fopen(file, "re");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(text, metrics);
	assert_int_equal(run(args, 500, "{}").status, CTL_SOFTWARE);
	assert_int_equal(access(file, F_OK), 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(run(args, 200, metrics).status, CTL_IO);
}

static void test_status_shows_legs_paths_and_reasons(void **state)
{
	struct result r = run(
		"status", 200,
		"{\"host\":\"host-a\",\"version\":\"1\",\"state\":\"degraded\","
		"\"applied\":{\"number\":3,\"time\":\"2026-01-02T03:04:05Z\",\"steps\":12,"
		"\"by\":\"uid 0, pid 7, plenum\"},"
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
	assert_non_null(strstr(r.out, "Applied:  number 3, 12 steps, 2026-01-02T03:04:05Z, by root "
				      "(uid 0, pid 7, plenum)\n"));
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
		"{\"applied\":{\"number\":2,\"steps\":1},\"actions\":[{\"action\":\"restart worker "
		"1\","
		"\"reason\":\"its exports change\"}]}");
	assert_string_equal(r.out, "Applied: 1 step.\n  restart worker 1 (its exports change)\n");
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
	r = run("diff", 200, "{\"steps\":[],\"net\":[]}");
	assert_int_equal(r.status, CTL_OK); /* all differences are of this kind */
	assert_string_equal(r.out, "");
	r = run("diff", 200,
		"{\"host\":\"h\",\"steps\":[{\"step\":\"set it\",\"reason\":\"why\"}],\"net\":[]}");
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

static void test_validate_names_overridden_values(void **state)
{
	char file[160], folder[160], dropin[180], args[200];
	struct result r;

	snprintf(file, sizeof(file), "%s/plenum.yaml", agent->dir);
	snprintf(folder, sizeof(folder), "%s/plenum.d", agent->dir);
	snprintf(dropin, sizeof(dropin), "%s/50-cli.yaml", folder);
	snprintf(args, sizeof(args), "validate %s", file);
	put_file(file, "host: h\nnetworks: [{name: n, range: 10.0.0.1-10.0.0.9/24}]\n"
		       "net: [{name: a, device: eth1, network: n, label: sw-a}]\n"
		       "ha: {mode: none}\nworkers: [{role: compute, cores: [1]}]\n");
	assert_int_equal(mkdir(folder, 0700), 0);
	put_file(dropin, "net-set: [{name: a, label: sw-b}]\n");
	r = run(args, 500, "");
	assert_int_equal(r.status, CTL_OK);
	assert_non_null(strstr(r.err, "/plenum.yaml:3:50: note: net[a].label: the value 'sw-a' has "
				      "no effect: net-set in "));
	assert_non_null(strstr(r.err, "/plenum.d/50-cli.yaml:1:28 overrides it with 'sw-b'; "
				      "'plenum net set a --unset label' makes the file's value "
				      "count\n"));
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
	assert_non_null(strstr(r.err, "asks-for-nothing.yaml: warning: this configures nothing: "));
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
	assert_non_null(strstr(r.err, "unknown command 'confg show'; did you mean 'config show'?"));
	r = run("net ad x", 200, "{}");
	assert_non_null(strstr(r.err, "did you mean 'net add'?"));
	r = run("net show --help", 200, "{}");
	assert_int_equal(r.status, CTL_OK);
	assert_non_null(strstr(r.out, "Usage: plenum net show"));
}

/* The agent is not asked for session keys unless they have a file of their own. */
static void test_a_refused_capture_leaves_no_new_file(void **state)
{
	static const char refusal[] = "{\"detail\":\"no\",\"code\":\"busy\",\"details\":[]}";
	char file[160], keys[160], args[400];

	snprintf(file, sizeof(file), "%s/out.pcapng", agent->dir);
	snprintf(keys, sizeof(keys), "%s/keys", agent->dir);
	snprintf(args, sizeof(args), "capture -w %s --keys %s", file, keys);
	assert_int_equal(run(args, 409, refusal).status, CTL_BUSY);
	assert_int_equal(access(file, F_OK), -1);
	assert_int_equal(access(keys, F_OK), -1);
	put_file(file, "mine");
	assert_int_equal(run(args, 409, refusal).status, CTL_BUSY);
	assert_int_equal(access(file, F_OK), 0);
	assert_int_equal(access(keys, F_OK), -1);
	unlink(file);
}

/* The checks of one subject on this host: those that pass are left out on demand. */
static void test_doctor_shows_one_subject_and_only_what_is_bad(void **state)
{
	struct result all = run("doctor kernel", 200, "{}"),
		      bad = run("doctor kernel --bad", 200, "{}"), typo;

	assert_non_null(strstr(all.out, "\n  pass "));
	assert_null(strstr(all.out, "\ncores\n"));
	assert_null(strstr(bad.out, "\n  pass "));
	assert_non_null(strstr(bad.out, " passed, "));
	assert_int_equal(all.status, bad.status);
	assert_int_equal(run("doctor --bad --all", 200, "{}").status, CTL_USAGE);
	typo = run("doctor kernle", 200, "{}");
	assert_int_equal(typo.status, CTL_NO_INPUT);
	assert_non_null(strstr(typo.err, "\n  kernel\n"));
	assert_string_equal(typo.out, "");
}

static struct result setup_from(const char *answers)
{
	char file[160], args[200];
	struct result r;

	snprintf(file, sizeof(file), "%s/answers", agent->dir);
	snprintf(args, sizeof(args), "setup --dry-run --answers %s", file);
	put_file(file, answers);
	r = run(args, 200, "{}");
	unlink(file);
	return r;
}

static void test_setup_makes_a_configuration_of_answers(void **state)
{
	const unsigned before = agent->n_requests;
	struct result r =
		setup_from("host: h1\n"
			   "legs: [no-a 10.9.1.1-10.9.1.4/24 sw-a, no-b 10.9.2.1-10.9.2.4/24]\n"
			   "exports: [data /srv]\nmounts: [/mnt/x host-b/scratch]\n"
			   "peers: ['host-b 10.9.1.20,10.9.2.20']\ncores: '0,1'\n");

	assert_int_equal(r.status, CTL_OK);
	assert_non_null(strstr(
		r.out,
		"host: h1\nnetworks:\n  - {name: data-1, range: 10.9.1.1-10.9.1.4/24}\n"
		"  - {name: data-2, range: 10.9.2.1-10.9.2.4/24}\nnet:\n"
		"  - {name: leg-1, network: data-1, device: no-a, label: sw-a}\n"
		"  - {name: leg-2, network: data-2, device: no-b, label: auto}\n"
		"ha: {mode: dual-leg}\nworkers:\n  - role: frontend\n    cores: [0]\n"
		"    transport: auto\n    mounts:\n      - {path: /mnt/x, from: host-b/scratch}\n"
		"  - role: compute\n    cores: [1]\n    transport: auto\n    exports:\n"
		"      - {name: data, path: /srv}\npeers:\n"
		"  - {name: host-b, ips: [10.9.1.20,10.9.2.20]}\n"));
	assert_non_null(strstr(r.out, "exports /srv as data"));
	r = setup_from("legs: no-a 10.9.1.1-10.9.1.4/24\nexport: data /srv\n");
	assert_int_equal(r.status, CTL_DATA);
	assert_non_null(strstr(r.err, "/answers:2:1: error: export: is not a question of setup; "
				      "did you mean 'exports'?\n"));
	r = setup_from("legs: no-a\nexports: data /srv\n");
	assert_int_equal(r.status, CTL_DATA);
	assert_non_null(strstr(r.err, "legs: 'no-a' has 1 words, expected 2 or one more\n"));
	r = setup_from("legs: no-a 10.9.1.1-10.9.1.4/24\n");
	assert_int_equal(r.status, CTL_DATA);
	assert_non_null(strstr(r.err, "nothing to serve and nothing to mount"));
	r = setup_from("exports: data /srv\n");
	assert_non_null(strstr(r.err, "legs: no data leg was given"));
	r = setup_from("legs: no-a 10.9.1.x/24\nexports: data /srv\n");
	assert_int_equal(r.status, CTL_DATA); /* the configuration is checked as any other */
	assert_non_null(strstr(r.err, "networks[data-1].range"));
	assert_int_equal(agent->n_requests, before);
}

/* A suggestion by meaning or spelling; "": none. */
static void assert_suggests(const char *typed, const char *want)
{
	struct result r = run(typed, 200, "{}");
	char text[120];

	snprintf(text, sizeof(text),
		 strstr(want, "--help") ? "; see 'plenum %s'\n" : "; did you mean '%s'?\n", want);
	assert_int_equal(r.status, CTL_USAGE);
	assert_non_null(strstr(r.err, *want ? text : "; see 'plenum --help'\n"));
}

static void test_suggestions_go_by_meaning_and_never_disrupt(void **state)
{
	const unsigned before = agent->n_requests;

	assert_suggests("show", "status");
	assert_suggests("restart", "worker --help");
	assert_suggests("list", "processes");
	assert_suggests("diag", "doctor");
	assert_suggests("logs", "events");
	assert_suggests("unmount", "mounts");
	assert_suggests("mont", "mounts");
	assert_suggests("up", "net --help");
	assert_suggests("down", "net --help");
	assert_suggests("net list", "net show");
	assert_suggests("net delete leg-a", "net --help");
	assert_suggests("worker list", "processes");
	assert_suggests("statsu", "status");
	assert_suggests("hystory", "history");
	assert_suggests("stpo", "top"); /* not stop, which is nearer */
	assert_suggests("restor", "");
	assert_suggests("rolback", "");
	assert_suggests("aply", "");
	assert_int_equal(agent->n_requests, before);
}

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
		assert_non_null(strstr(r.err, i < 2 ? "a separate file" : "/nowhere/keys"));
	}
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	assert_int_equal(access("test_ctl.tmp", F_OK), -1); /* it was new, and would be empty */
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
		cmocka_unit_test(test_metrics_are_printed_or_replace_a_file),
		cmocka_unit_test(test_status_shows_legs_paths_and_reasons),
		cmocka_unit_test(test_status_exits_by_state),
		cmocka_unit_test(test_tables_fit_the_terminal),
		cmocka_unit_test(test_malformed_answers_are_harmless),
		cmocka_unit_test(test_net_show_gives_the_reason_of_an_absent_leg),
		cmocka_unit_test(test_tables_select_sort_and_filter),
		cmocka_unit_test(test_apply_prints_steps_and_actions),
		cmocka_unit_test(test_apply_sends_dry_run_and_force),
		cmocka_unit_test(test_an_error_of_the_agent_is_printed_with_its_details),
		cmocka_unit_test(test_events_are_printed_one_a_line),
		cmocka_unit_test(test_events_follow_survives_a_restart),
		cmocka_unit_test(test_plan_of_the_agent_is_printed),
		cmocka_unit_test(test_config_commands_use_their_resources),
		cmocka_unit_test(test_config_stage_merges_the_dropins),
		cmocka_unit_test(test_validate_names_overridden_values),
		cmocka_unit_test(test_file_commands_need_no_agent),
		cmocka_unit_test(test_validate_warns_of_no_effect),
		cmocka_unit_test(test_wrong_usage_is_refused),
		cmocka_unit_test(test_a_refused_capture_leaves_no_new_file),
		cmocka_unit_test(test_doctor_shows_one_subject_and_only_what_is_bad),
		cmocka_unit_test(test_setup_makes_a_configuration_of_answers),
		cmocka_unit_test(test_suggestions_go_by_meaning_and_never_disrupt),
		cmocka_unit_test(test_capture_refuses_keys_in_a_shared_file),
		cmocka_unit_test(test_commands_print_their_help),
		cmocka_unit_test(test_an_absent_agent_is_reported),
		cmocka_unit_test(test_a_failed_write_is_an_error),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
