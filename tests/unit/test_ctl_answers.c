/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers of a broken or hostile agent: the command line ends, with one clear error, and passes no
 * control characters on. fuzz_ctl tries arbitrary ones. */
#include "netcfg/base/text.h"
#include "tests/lib/agent/ctl_rig.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* An escape sequence, a C1 control character and one that turns the direction of writing. */
#define EVIL "\\u001b[2J\\u009b2J\\u202e"

static void assert_shown(const char *text)
{
	char copy[sizeof(((struct result *)0)->out)];
	char *rest = strcpy(copy, text), *line;

	while ((line = strsep(&rest, "\n"))) {
		line[strcspn(line, "\r")] = '\0';
		if (!text_is_clean(line, strlen(line) + 1))
			print_error("printed: %s\n", line);
		assert_true(text_is_clean(line, strlen(line) + 1));
	}
}

static void test_no_command_passes_control_characters_on(void **state)
{
	static const char answer[] =
		"{\"state\":\"running" EVIL "\",\"host\":\"" EVIL "\",\"applied\":{\"number\":1,"
		"\"steps\":2,\"time\":\"" EVIL "\"},\"needs\":[{\"why\":\"" EVIL
		"\",\"commands\":[\"" EVIL "\"],\"firmware\":\"" EVIL "\"}],\"reasons\":[\"" EVIL
		"\"],\"legs\":[{\"name\":\"" EVIL "\",\"state\":\"" EVIL "\",\"reason\":\"" EVIL
		"\"}],\"processes\":[{\"id\":\"" EVIL "/1\",\"reason\":\"" EVIL
		"\",\"status\":\"" EVIL "\"}],\"events\":[{\"time\":\"" EVIL
		"\",\"severity\":\"" EVIL "\",\"source\":\"" EVIL "\",\"text\":\"" EVIL
		"\"}],\"net\":[{\"name\":\"" EVIL "\",\"reason\":\"" EVIL
		"\"}],\"history\":[{\"text\":\"" EVIL "\",\"by\":\"" EVIL
		"\"}],\"mounts\":[{\"path\":\"" EVIL "\",\"peer\":\"" EVIL "\",\"reason\":\"" EVIL
		"\"}],\"exports\":[{\"name\":\"" EVIL "\",\"squash\":[\"" EVIL
		"\"]}],\"clients\":[{\"host\":\"" EVIL "\",\"addresses\":[\"" EVIL
		"\"]}],\"peers\":[{\"host\":\"" EVIL "\",\"legs_up\":[\"" EVIL
		"\"]}],\"paths\":[{\"peer\":\"" EVIL "\",\"mount\":\"" EVIL
		"\"}],\"locks\":[{\"file\":\"" EVIL "\",\"host\":\"" EVIL "\",\"state\":\"" EVIL
		"\"}],\"faults\":[{\"by\":\"" EVIL "\"}],\"steps\":[{\"step\":\"" EVIL
		"\",\"reason\":\"" EVIL "\"}],\"warnings\":[\"" EVIL "\"],\"actions\":[{\"action\":"
		"\"" EVIL "\"}]}";
	static const char *const commands[] = {"status",
					       "status -j",
					       "processes",
					       "processes --csv",
					       "events",
					       "events -j",
					       "net show",
					       "net show --csv",
					       "history",
					       "fault show",
					       "fault show --csv",
					       "plan",
					       "plan -j",
					       "apply",
					       "apply --dry-run",
					       "top --once",
					       "top --count 1 -j",
					       "config show --running",
					       "mounts",
					       "exports --csv",
					       "clients",
					       "peers",
					       "paths",
					       "locks"};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		struct result r = run(commands[i], 200, answer);

		assert_true(r.status == CTL_OK || r.status == CTL_DEGRADED);
		assert_shown(r.out);
		assert_shown(r.err);
	}
}

static void test_json_output_keeps_the_characters_as_numbers(void **state)
{
	struct result r =
		run("status -j", 200, "{\"state\":\"a\\u009b\\u202e\\udb40\\udc41\xc3\xa9\"}");
	json_t *o = json_loads(r.out, 0, NULL);

	assert_int_equal(r.status, CTL_OK);
	assert_non_null(strstr(r.out, "\"a\\u009b\\u202e\\udb40\\udc41\xc3\xa9\""));
	assert_string_equal(ctl_text(o, "state"), "a\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81\xc3\xa9");
	json_decref(o);
}

static void assert_one_error(const struct result *r, const char *says)
{
	const char *first = strstr(r->err, "plenum: ");

	assert_int_equal(r->status, CTL_SOFTWARE);
	assert_string_equal(r->out, "");
	assert_non_null(first);
	assert_null(strstr(first + 1, "plenum: "));
	if (!strstr(r->err, says))
		print_error("printed: %s\n", r->err);
	assert_non_null(strstr(r->err, says));
}

static void test_an_answer_that_is_no_object_is_an_error(void **state)
{
	static const char *const answers[] = {"", "x", "[]", "7", "\"x\"", "{\"a\":1"};
	static const char *const commands[] = {"status",  "processes",	"net show",
					       "history", "events",	"plan",
					       "apply",	  "fault show", "status -j"};

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		for (size_t j = 0; j < ARRAY_SIZE(commands); j++) {
			struct result r = run(commands[j], 200, answers[i]);

			assert_one_error(&r, "is not a JSON object");
		}
}

static void test_an_answer_without_its_list_is_an_error(void **state)
{
	static const struct {
		const char *command, *says;
	} cases[] = {
		{"processes", "no list 'processes'"}, {"net show", "no list 'net'"},
		{"mounts", "no list 'mounts'"},	      {"exports", "no list 'exports'"},
		{"clients", "no list 'clients'"},     {"peers", "no list 'peers'"},
		{"paths", "no list 'paths'"},	      {"locks", "no list 'locks'"},
		{"history", "no list 'history'"},     {"events", "no list 'events'"},
		{"plan", "no list 'steps'"},	      {"fault show", "no list 'faults'"},
		{"status", "has no state"},	      {"apply", "does not say what was applied"}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct result r = run(cases[i].command, 200, "{}");

		assert_one_error(&r, cases[i].says);
	}
}

static void test_an_error_without_a_message_gives_the_http_status(void **state)
{
	struct result r = run("status", 500, "{\"code\":\"x\"}");

	assert_one_error(&r, "HTTP status 500");
}

static void test_mounts_that_are_no_texts_are_ignored(void **state)
{
	struct result r =
		run("apply", 200,
		    "{\"applied\":{\"steps\":1},\"mounts\":[7,null],\"state\":\"running\"}");

	assert_int_equal(r.status, CTL_OK);
}

static void test_ranges_and_names_of_locks_are_shown(void **state)
{
	struct result r = run("locks --csv -o id,file,kind,range", 200,
			      "{\"locks\":[{\"id\":\"2f\",\"file\":\"a/b\",\"kind\":\"fcntl\","
			      "\"mode\":\"shared\",\"start\":100,\"end\":199},{\"id\":\"30\","
			      "\"file\":null,\"inode\":7,\"kind\":\"flock\",\"mode\":"
			      "\"exclusive\",\"start\":0,\"end\":null},{\"id\":\"31\",\"file\":"
			      "null,\"inode\":7,\"kind\":\"fcntl\",\"mode\":\"shared\",\"start\":"
			      "5,\"end\":null}]}");

	assert_int_equal(r.status, CTL_OK);
	assert_string_equal(r.out,
			    "ID,FILE,KIND,RANGE\r\n2f,a/b,fcntl shared,100-199\r\n"
			    "30,inode 7,flock exclusive,all\r\n31,inode 7,fcntl shared,5-\r\n");
	r = run("locks break 2f", 200, "{\"breaks\":\"2f\"}");
	assert_int_equal(r.status, CTL_OK);
	assert_string_equal(r.out, "Lock 2f is being broken; 'plenum locks' shows its state.\n");
	assert_int_equal(run("locks break x", 200, "{}").status, CTL_USAGE);
	assert_int_equal(run("locks break 12345678901234567", 200, "{}").status, CTL_USAGE);
}

static void test_worker_stop_and_start_wait_for_the_worker(void **state)
{
	struct result r =
		run("worker stop 2", 200,
		    "{\"worker\":2,\"processes\":[{\"id\":\"h/2\",\"status\":\"STOPPED\"}]}");

	assert_int_equal(r.status, CTL_OK);
	assert_string_equal(r.out, "Worker 2 is stopped.\n");
	r = run("worker start 2", 409,
		"{\"detail\":\"worker 2 was not "
		"stopped\",\"code\":\"not-stopped\",\"details\":[]}");
	assert_int_equal(r.status, CTL_DATA);
	assert_int_equal(run("worker stop x", 200, "{}").status, CTL_USAGE);
	assert_int_equal(run("worker stop", 200, "{}").status, CTL_USAGE);
	assert_int_equal(run("worker start 0", 200, "{}").status, CTL_USAGE);
}

static void test_worker_log_level_waits_for_the_worker(void **state)
{
	struct result r = run("worker log-level 2 debug", 200,
			      "{\"worker\":2,\"level\":\"debug\",\"processes\":[{\"id\":\"h/"
			      "2\",\"log_level\":\"debug\"}]}");

	assert_int_equal(r.status, CTL_OK);
	assert_string_equal(r.out, "Worker 2 is at log level debug until it restarts.\n");
	r = run("worker log-level agent error", 200, "{\"worker\":null,\"level\":\"error\"}");
	assert_int_equal(r.status, CTL_OK);
	assert_string_equal(r.out, "The agent is at log level error until it restarts.\n");
	assert_asked("POST /v1/workers/log-level");
	assert_body("{\"agent\":true,\"level\":\"error\"}");
	r = run("worker log-level 2 loud", 200, "{}");
	assert_int_equal(r.status, CTL_USAGE);
	assert_non_null(strstr(r.err, "'loud' is not a log level"));
	assert_int_equal(run("worker log-level 0 info", 200, "{}").status, CTL_USAGE);
	assert_int_equal(run("worker log-level 2", 200, "{}").status, CTL_USAGE);
}

static void test_more_restarts_than_workers_are_an_error(void **state)
{
	struct result r = run("worker restart --outdated", 200,
			      "{\"processes\":[{\"id\":\"a/1\"}],\"restarts\":[1,1,1]}");

	assert_one_error(&r, "more workers than there are");
}

static void test_a_long_cell_does_not_widen_all_rows(void **state)
{
	char answer[8192], name[4001];
	struct result r;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(answer, sizeof(answer),
		 "{\"processes\":[{\"id\":\"%s\"},{\"id\":\"a/1\"},{\"id\":\"a/2\"}]}", name);
	r = run("processes -o ID,HOST", 200, answer);
	assert_int_equal(r.status, CTL_OK);
	assert_true(strlen(r.out) < 4000 + 3 * 600);
}

/* A process with `plenum WORDS`. */
static pid_t begin(const char *socket, const char *words, int out)
{
	char *argv[16] = {(char *)"plenum", (char *)"--socket", (char *)socket};
	autofree char *copy = strdup(words);
	char *rest = copy, *word;
	int argc = 3;
	pid_t pid;

	while ((word = strsep(&rest, " ")))
		argv[argc++] = word;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out, STDOUT_FILENO);
		dup2(out, STDERR_FILENO);
		exit(ctl_run(argc, argv));
	}
	return pid;
}

static int end_of(pid_t pid)
{
	int wstatus;

	assert_int_equal(waitpid(pid, &wstatus, 0), pid);
	return wstatus;
}

static void test_rdma_ping_reports_an_agent_that_ends(void **state)
{
	autoclose int out = memfd_create("out", MFD_CLOEXEC);
	char path[160], text[2048] = "";
	int listen_fd, wstatus;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/ping", agent->dir);
	listen_fd = fake_listen(path);
	pid = begin(path, "rdma ping host-b --count 1", out);
	fake_answer(listen_fd, "GET /v1/net ", "{\"net\":[{\"name\":\"leg-a\"}]}");
	fake_answer(listen_fd, "POST /v1/rdma-pings ", "{\"ping\":\"00000000000000aa\"}");
	fake_answer(listen_fd, "POST /v1/rdma-pings/00000000000000aa ", "{\"ended\":false}");
	fake_answer(listen_fd, "POST /v1/rdma-pings/00000000000000aa ", "{\"ended\":false}");
	unlink(path);
	close(listen_fd);
	wstatus = end_of(pid);
	assert_true(WIFEXITED(wstatus));
	assert_int_equal(WEXITSTATUS(wstatus), CTL_UNAVAILABLE);
	assert_true(pread(out, text, sizeof(text) - 1, 0) > 0);
	assert_non_null(strstr(text, "plenum: "));
}

static void await_requests(unsigned n)
{
	while (*(volatile unsigned *)&agent->n_requests < n)
		(void)poll(NULL, 0, 1);
}

static void test_a_second_signal_ends_a_capture_that_the_agent_does_not_end(void **state)
{
	autoclose int out = memfd_create("out", MFD_CLOEXEC);
	pid_t pid;
	int wstatus;

	agent->status = 202; /* there is more, for ever */
	strcpy(agent->reply, "{\"capture\":\"00000000000000aa\"}");
	agent->n_requests = 0;
	pid = begin(agent->path, "capture", out);
	await_requests(3);
	kill(pid, SIGINT);
	await_requests(agent->n_requests + 5);
	kill(pid, SIGINT);
	wstatus = end_of(pid);
	assert_true(WIFEXITED(wstatus));
	assert_int_equal(WEXITSTATUS(wstatus), 128 + SIGINT);
}

static void test_a_capture_without_a_number_is_an_error(void **state)
{
	static const char *const answers[] = {"{}", "{\"capture\":\"../status\"}",
					      "{\"capture\":\"00000000000000aab\"}"};

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		struct result r = run("capture", 200, answers[i]);

		assert_int_equal(r.status, CTL_SOFTWARE);
		assert_non_null(strstr(r.err, "no valid 'capture'"));
	}
}

/* With both exports and mounts the default of the last question is two cores. */
static void test_setup_offers_a_core_for_each_role(void **state)
{
	static const char typed[] = "h1\nno-a 10.9.1.1-10.9.1.4/24\n\ndata /srv\n\n"
				    "/mnt/x host-b/scratch\n\nhost-b 10.9.1.20\n\n\n";
	FILE *was = stdin;
	const char *cores;
	struct result r;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	stdin = fmemopen((void *)(uintptr_t)typed, sizeof(typed) - 1, "r");
	assert_non_null(stdin);
	r = run("setup --dry-run", 200, "{}");
	fclose(stdin);
	stdin = was;
	cores = strstr(r.out, "comma-separated [");
	assert_non_null(cores);
	cores += strlen("comma-separated [");
	assert_true(strcspn(cores, ",") < strcspn(cores, "]"));
	assert_int_equal(r.status, CTL_OK);
}

/* Late by more than the doctor expects of an agent that works, and less than it waits. */
static void test_doctor_tells_a_slow_agent_from_a_dead_one(void **state)
{
	struct result r;

	agent->late_ms = 2500;
	r = run("doctor configuration", 200, "{\"state\": \"running\"}");
	assert_non_null(strstr(r.out, "warn     agent-answers "));
	assert_non_null(strstr(r.out, "the agent runs, but took 2."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setup_offers_a_core_for_each_role),
		cmocka_unit_test(test_no_command_passes_control_characters_on),
		cmocka_unit_test(test_json_output_keeps_the_characters_as_numbers),
		cmocka_unit_test(test_an_answer_that_is_no_object_is_an_error),
		cmocka_unit_test(test_an_answer_without_its_list_is_an_error),
		cmocka_unit_test(test_an_error_without_a_message_gives_the_http_status),
		cmocka_unit_test(test_mounts_that_are_no_texts_are_ignored),
		cmocka_unit_test(test_ranges_and_names_of_locks_are_shown),
		cmocka_unit_test(test_worker_stop_and_start_wait_for_the_worker),
		cmocka_unit_test(test_worker_log_level_waits_for_the_worker),
		cmocka_unit_test(test_more_restarts_than_workers_are_an_error),
		cmocka_unit_test(test_a_long_cell_does_not_widen_all_rows),
		cmocka_unit_test(test_rdma_ping_reports_an_agent_that_ends),
		cmocka_unit_test(test_a_second_signal_ends_a_capture_that_the_agent_does_not_end),
		cmocka_unit_test(test_a_capture_without_a_number_is_an_error),
		cmocka_unit_test(test_doctor_tells_a_slow_agent_from_a_dead_one),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
