/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 'plenum worker logs': the lines of one worker in the journal. All processes of the agent write to
 * its standard error, which the service manager connects to the journal. The journal knows each
 * line's process: a worker has its number in its command line, so this command also finds the lines
 * of its earlier processes. Needs no agent, but the right to read the journal.
 */
#include "agent/ctl/ctl.h"
#include "netcfg/base/log.h"
#include "netcfg/base/text.h"
#include "netcfg/base/when.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#define LINES_DEFAULT 100
#define LINES_MAX 100000
#define WORKER_NAME "plenum-worker "
#define CURSOR_MAX 256

extern char **environ;

struct logs {
	const struct ctl_args *args;
	bool agent;	  /* the agent's lines instead of those of a worker */
	unsigned long id; /* of the worker */
	uid_t uids[2];	  /* users as whom the agent and the workers run */
	json_t *lines;	  /* the latest first; NULL: lines are printed at once */
	size_t lines_max;
	char cursor[CURSOR_MAX]; /* of the latest entry that was read; "": none */
};

/* ---- entries of the journal ---- */

static const char *member(const json_t *entry, const char *key)
{
	const char *text = json_string_value(json_object_get(entry, key));

	return text ? text : "";
}

/* Copies the text of an entry. The journal gives texts that are not UTF-8 as lists of bytes. */
static void message_of(const json_t *entry, char *buf, size_t size)
{
	const json_t *m = json_object_get(entry, "MESSAGE"), *byte;
	size_t i;

	snprintf(buf, size, "%s", member(entry, "MESSAGE"));
	json_array_foreach (m, i, byte)
		if (i + 1 < size) {
			buf[i] = (char)json_integer_value(byte);
			buf[i + 1] = '\0';
		}
	text_clean(buf);
}

/* Returns whether a process of the agent or a worker wrote the entry: other users could write lines
 * that look the same. */
static bool is_trusted(const struct logs *l, const json_t *entry)
{
	const char *uid = member(entry, "_UID");
	const unsigned long n = strtoul(uid, NULL, 10);

	return *uid && (n == l->uids[0] || n == l->uids[1]);
}

/* Returns the number of the worker whose process wrote the entry, from its command line
 * "plenum-worker HOST/ID core CORE"; 0: the process is not a worker. */
static unsigned long writer_of(const json_t *entry)
{
	const char *at = strstr(member(entry, "_CMDLINE"), WORKER_NAME);
	const char *slash = at ? strchr(at, '/') : NULL;
	char *end;
	unsigned long id;

	if (!slash)
		return 0;
	id = strtoul(slash + 1, &end, 10);
	return end > slash + 1 && strncmp(end, " core ", 6) == 0 ? id : 0;
}

/* Returns whether the worker wrote the entry, or the agent wrote it about the worker, such as why
 * the worker ended. */
static bool is_wanted(const struct logs *l, const json_t *entry, const char *message)
{
	const unsigned long writer = writer_of(entry);
	char about[40];

	if (!is_trusted(l, entry))
		return false;
	/* The agent runs as root, and a worker can change its command line. */
	if (writer == 0 && strcmp(member(entry, "_UID"), "0") != 0)
		return false;
	if (l->agent)
		return writer == 0;
	snprintf(about, sizeof(about), "worker %lu: ", l->id);
	return writer == l->id || (writer == 0 && strncmp(message, about, strlen(about)) == 0);
}

static json_t *line_of(const json_t *entry, const char *message)
{
	const unsigned long level = strtoul(member(entry, "PRIORITY"), NULL, 10);
	char when[WHEN_TEXT_MAX];

	when_format(strtoull(member(entry, "__REALTIME_TIMESTAMP"), NULL, 10) / 1000, when);
	return json_pack(
		"{s:s, s:s, s:s, s:I, s:s}", "time", when, "level",
		log_level_to_string((enum log_level)MAX_OF(level, (unsigned long)LOG_LEVEL_ERR)),
		"process", member(entry, "_COMM"), "pid",
		(json_int_t)strtol(member(entry, "_PID"), NULL, 10), "text", message);
}

static void print_line(const struct ctl_args *a, const json_t *line)
{
	if (a->json) {
		ctl_put_json_line(line);
		return;
	}
	ctl_put(ctl_text(line, "time"), stdout);
	printf("  %-7s  ", ctl_text(line, "level"));
	ctl_put(ctl_text(line, "process"), stdout);
	printf("[%" JSON_INTEGER_FORMAT "]  ", ctl_int(line, "pid"));
	ctl_put(ctl_text(line, "text"), stdout);
	putchar('\n');
}

/* Takes a line of journalctl's output. Returns whether more are wanted. */
static bool take_entry(struct logs *l, const char *text)
{
	json_t *entry = json_loads(text, 0, NULL), *line;
	char message[2048];

	if (l->lines && !l->cursor[0])
		snprintf(l->cursor, sizeof(l->cursor), "%s", member(entry, "__CURSOR"));
	message_of(entry, message, sizeof(message));
	if (entry && is_wanted(l, entry, message)) {
		line = line_of(entry, message);
		if (l->lines) {
			json_array_append_new(l->lines, line);
		} else {
			print_line(l->args, line);
			fflush(stdout);
			json_decref(line);
		}
	}
	json_decref(entry);
	return !ferror(stdout) && (!l->lines || json_array_size(l->lines) < l->lines_max);
}

/* ---- journalctl ---- */

/* Starts journalctl with its output in *ret. Returns its process, or negative errno. */
static pid_t start(const char *const *argv, FILE **ret)
{
	posix_spawn_file_actions_t files;
	int pipes[2], r;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, pipes[1], STDOUT_FILENO);
	r = posix_spawnp(&pid, argv[0], &files, NULL, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	close(pipes[1]);
	*ret = r ? NULL : fdopen(pipes[0], "r");
	if (*ret)
		return pid;
	close(pipes[0]);
	return r ? -r : -ENOMEM;
}

/* Reads the journal with these further options. Returns 0, or negative errno if journalctl cannot
 * be run. */
static int read_journal(struct logs *l, const char *const *options, size_t n)
{
	const char *argv[16] = {"journalctl",
				"--no-pager",
				"-q",
				"-o",
				"json",
				"--output-fields",
				"MESSAGE,PRIORITY,_CMDLINE,_COMM,_PID,_UID",
				"-t",
				"plenumd"};
	autofree char *text = NULL;
	FILE *out = NULL;
	size_t size = 0;
	pid_t pid;

	memcpy(&argv[9], options, n * sizeof(*options));
	pid = start(argv, &out);
	if (pid < 0)
		return pid;
	while (getline(&text, &size, out) > 0 && take_entry(l, text))
		;
	/* If not all was read, the journal is longer than wanted. */
	fclose(out);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	return 0;
}

static int follow(struct logs *l)
{
	char after[CURSOR_MAX + 32];
	const char *const options[] = {"--follow", "--no-tail", after};
	int r;

	/* Without an entry yet, all that come are new. */
	snprintf(after, sizeof(after), l->cursor[0] ? "--after-cursor=%s" : "--since=now",
		 l->cursor);
	json_decref(l->lines);
	l->lines = NULL;
	fflush(stdout);
	r = read_journal(l, options, ARRAY_SIZE(options));
	if (r < 0 || ferror(stdout))
		return r < 0 ? CTL_OS : CTL_IO;
	ctl_complain("journalctl has ended");
	return CTL_OS;
}

/* ---- where else the log is ---- */

/* Finds the process in the list. Returns false if there is none with that ID. */
static bool find_process(const struct logs *l, const json_t *processes, json_int_t *ret_pid)
{
	const json_t *p;
	size_t i;

	json_array_foreach (json_object_get(processes, "processes"), i, p) {
		const char *slash = strrchr(ctl_text(p, "id"), '/');

		if (slash && strtoul(slash + 1, NULL, 10) == (l->agent ? 0 : l->id)) {
			*ret_pid = ctl_int(p, "pid");
			return true;
		}
	}
	return false;
}

/* Says where the process writes its log to. */
static void explain_place(const char *who, json_int_t pid)
{
	char path[40], target[256];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%" JSON_INTEGER_FORMAT "/fd/2", pid);
	n = pid > 0 ? readlink(path, target, sizeof(target) - 1) : 0;
	target[MAX_OF(n, 0)] = '\0';
	if (pid <= 0)
		ctl_complain("the journal has no lines of %s, which does not run now", who);
	else if (n < 0)
		ctl_complain(
			"the journal has no lines of %s; where it logs to cannot be read (%s), "
			"try as root",
			who, strerror(errno));
	else if (strcmp(target, "/dev/null") == 0)
		ctl_complain("%s does not log to the journal, and its log is discarded: the agent "
			     "was started with its standard error in /dev/null",
			     who);
	else if (*target == '/')
		ctl_complain("%s does not log to the journal: its log is in %s, with the lines of "
			     "the other processes; its lines have its number %" JSON_INTEGER_FORMAT,
			     who, target, pid);
	else if (strncmp(target, "socket:", 7) == 0)
		ctl_complain("the journal has no lines of %s, or does not let this user read them; "
			     "try as root",
			     who);
	else
		ctl_complain(
			"%s does not log to the journal: its log goes to a pipe of the program "
			"that has started the agent",
			who);
}

/* Explains why there are no lines. Returns the exit status. */
static int explain(const struct logs *l, int error)
{
	const struct ctl_request rq = {.resource = RESOURCE_PROCESSES, .list = "processes"};
	json_int_t pid = 0;
	json_t *o = NULL;
	char who[40];
	bool found;
	int r = ctl_ask_json(l->args, &rq, &o);

	if (error < 0)
		ctl_complain("cannot run journalctl: %s", strerror(-error));
	if (r != CTL_OK)
		return r;
	snprintf(who, sizeof(who), l->agent ? "the agent" : "worker %lu", l->id);
	found = find_process(l, o, &pid);
	json_decref(o);
	if (found)
		explain_place(who, pid);
	else
		ctl_complain("no worker has the ID %lu; see 'plenum processes'", l->id);
	return CTL_NO_INPUT;
}

/* ---- the command ---- */

static void take_uids(struct logs *l)
{
	const struct passwd *pw = getpwnam("plenum-worker");

	/* Without that account, workers run as this one. */
	if (!pw)
		pw = getpwnam("nobody");
	l->uids[0] = 0;
	l->uids[1] = pw ? pw->pw_uid : 0;
}

static int take_arguments(struct logs *l)
{
	const struct ctl_args *a = l->args;
	unsigned long lines = LINES_DEFAULT;
	int r = ctl_take_number("--lines", a->lines, 1, LINES_MAX, &lines);

	l->agent = strcmp(a->operands[0], "agent") == 0;
	if (r == CTL_OK && !l->agent)
		r = ctl_take_number("ID", a->operands[0], 1, UINT32_MAX, &l->id);
	l->lines_max = lines;
	return r;
}

int ctl_cmd_worker_logs(const struct ctl_args *a)
{
	static const char *const latest_first[] = {"--reverse"};
	struct logs l = {.args = a};
	int e, r = take_arguments(&l);

	if (r != CTL_OK)
		return r;
	take_uids(&l);
	l.lines = json_array();
	if (!l.lines)
		return CTL_OS;
	e = read_journal(&l, latest_first, ARRAY_SIZE(latest_first));
	for (size_t i = json_array_size(l.lines); i > 0; i--)
		print_line(a, json_array_get(l.lines, i - 1));
	if (e < 0 || (json_array_size(l.lines) == 0 && !a->follow))
		r = explain(&l, e);
	else if (a->follow)
		r = follow(&l);
	json_decref(l.lines);
	return r;
}
