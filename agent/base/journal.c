/* SPDX-License-Identifier: BSD-3-Clause */
/* Selects the lines of one worker or of the agent from the output of journalctl. */
#include "agent/base/journal.h"
#include "netcfg/base/log.h"
#include "netcfg/base/text.h"
#include "netcfg/base/when.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#define WORKER_NAME "plenum-worker "
/* Longer entries are not read; journald cuts lines at 48 KiB unless it is configured otherwise. */
#define ENTRY_BYTES_MAX (1U << 20)

extern char **environ;

void journal_filter_init(struct journal_filter *f, unsigned long worker)
{
	const struct passwd *pw = getpwnam("plenum-worker");

	/* Workers run as this user if that account does not exist. */
	if (!pw)
		pw = getpwnam("nobody");
	*f = (struct journal_filter){.worker = worker, .uids = {0, pw ? pw->pw_uid : 0}};
}

/* ---- entries ---- */

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

/* Returns whether one of the filter's users wrote the entry. */
static bool is_trusted(const struct journal_filter *f, const json_t *entry)
{
	const char *uid = member(entry, "_UID");
	const unsigned long n = strtoul(uid, NULL, 10);

	return *uid && (n == f->uids[0] || n == f->uids[1]);
}

/* Returns the ID of the worker whose process wrote the entry, from its command line "plenum-worker
 * HOST/ID core CORE"; 0: the process is not a worker. */
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

/* Returns whether the filter selects the entry. It selects entries that the worker wrote, and
 * entries that the agent wrote about the worker, for example why the worker exited. */
static bool is_wanted(const struct journal_filter *f, const json_t *entry, const char *message)
{
	const unsigned long writer = writer_of(entry);
	char about[40];

	if (!is_trusted(f, entry))
		return false;
	/* A worker can change its command line, but cannot write as root, as which the agent
	 * runs. */
	if (writer == 0 && strcmp(member(entry, "_UID"), "0") != 0)
		return false;
	if (f->worker == 0)
		return writer == 0;
	snprintf(about, sizeof(about), "worker %lu: ", f->worker);
	return writer == f->worker || (writer == 0 && strncmp(message, about, strlen(about)) == 0);
}

json_t *journal_line(const struct journal_filter *f, const json_t *entry)
{
	const unsigned long level = strtoul(member(entry, "PRIORITY"), NULL, 10);
	char when[WHEN_TEXT_MAX], message[2048];

	message_of(entry, message, sizeof(message));
	if (!is_wanted(f, entry, message))
		return NULL;
	when_format(strtoull(member(entry, "__REALTIME_TIMESTAMP"), NULL, 10) / 1000, when);
	return json_pack(
		"{s:s, s:s, s:s, s:I, s:s}", "time", when, "level",
		log_level_to_string((enum log_level)MAX_OF(level, (unsigned long)LOG_LEVEL_ERR)),
		"process", member(entry, "_COMM"), "pid",
		(json_int_t)strtol(member(entry, "_PID"), NULL, 10), "text", message);
}

/* ---- journalctl ---- */

/* Starts journalctl with its output in *ret_fd and no blocked signals. Returns its process, or
 * negative errno. */
static pid_t start(const char *const *argv, int *ret_fd)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int pipes[2], r;
	sigset_t none;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, pipes[1], STDOUT_FILENO);
	r = posix_spawnp(&pid, argv[0], &files, &attr, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	close(pipes[1]);
	if (r == 0) {
		*ret_fd = pipes[0];
		return pid;
	}
	close(pipes[0]);
	return -r;
}

/* Passes the complete lines in buf to `take`, and moves the rest to the beginning of buf. Returns
 * whether `take` wants more lines. */
static bool take_lines(char *buf, size_t *len, journal_take take, void *user)
{
	char *line = buf, *end;
	bool more = true;

	while (more && (end = memchr(line, '\n', *len - (size_t)(line - buf)))) {
		json_t *entry = json_loadb(line, (size_t)(end - line), 0, NULL);

		more = !entry || take(user, entry);
		json_decref(entry);
		line = end + 1;
	}
	*len -= (size_t)(line - buf);
	memmove(buf, line, *len);
	if (*len == ENTRY_BYTES_MAX)
		*len = 0;
	return more;
}

static int wait_ms(uint64_t limit_ns)
{
	const uint64_t now = clock_now_ns();

	if (!limit_ns)
		return -1;
	return limit_ns > now ? (int)((limit_ns - now) / NSEC_PER_MSEC) + 1 : 0;
}

/* Returns 1 after the last entry, 0 if `take` wants no more entries, or negative errno. */
static int read_all(int fd, uint64_t limit_ns, journal_take take, void *user)
{
	autofree char *buf = malloc(ENTRY_BYTES_MAX);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t len = 0;
	ssize_t n;
	int r;

	if (!buf)
		return -ENOMEM;
	for (;;) {
		r = poll(&p, 1, wait_ms(limit_ns));
		if (r == 0)
			return -ETIME;
		n = r < 0 ? -1 : read(fd, buf + len, ENTRY_BYTES_MAX - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 1;
		len += (size_t)n;
		if (!take_lines(buf, &len, take, user))
			return 0;
	}
}

/* Waits for the exit of journalctl, and kills it if its output was not read to the end. Returns r
 * if it is an error; -ETIME if journalctl did not exit in time; -EIO if journalctl failed, so that
 * entries may be missing; otherwise 0. */
static int end(pid_t pid, int r, uint64_t limit_ns)
{
	struct pollfd p = {.fd = r == 1 ? pidfd_open(pid, 0) : -1, .events = POLLIN};
	int status = 0, ended = p.fd < 0;

	while (p.fd >= 0 && (ended = poll(&p, 1, wait_ms(limit_ns))) < 0 && errno == EINTR)
		;
	if (r == 1 && ended == 0)
		r = -ETIME;
	if (r != 1)
		kill(pid, SIGKILL);
	if (p.fd >= 0)
		close(p.fd);
	if (waitpid(pid, &status, 0) < 0 || r != 1)
		return MIN_OF(r, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

int journal_read(const char *const *options, size_t n, uint64_t limit_ns, journal_take take,
		 void *user)
{
	const char *argv[10 + JOURNAL_OPTIONS_MAX] = {"journalctl",
						      "--no-pager",
						      "-q",
						      "-o",
						      "json",
						      "--output-fields",
						      "MESSAGE,PRIORITY,_CMDLINE,_COMM,_PID,_UID",
						      "-t",
						      "plenumd"};
	int fd = -1, r;
	pid_t pid;

	memcpy(&argv[9], options, MIN_OF(n, JOURNAL_OPTIONS_MAX) * sizeof(*options));
	pid = start(argv, &fd);
	if (pid < 0)
		return pid;
	r = read_all(fd, limit_ns, take, user);
	/* journalctl may still be writing; closing the pipe stops it */
	close(fd);
	return end(pid, r, limit_ns);
}

/* ---- where a process logs if not to the journal ---- */

const char *journal_explain_place(const char *who, pid_t pid, char buf[static JOURNAL_PLACE_MAX])
{
	/* A search by root finds everything, so 'try as root' would not help. */
	const char *as_root = geteuid() == 0 ? "" : ", try as root";
	char path[40], target[256];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/2", pid);
	n = pid > 0 ? readlink(path, target, sizeof(target) - 1) : 0;
	target[MAX_OF(n, 0)] = '\0';
	if (pid <= 0)
		snprintf(buf, JOURNAL_PLACE_MAX,
			 "the journal has no lines of %s, which does not run now", who);
	else if (n < 0)
		snprintf(buf, JOURNAL_PLACE_MAX,
			 "the journal has no lines of %s, and the target of its log cannot be read "
			 "(%s)%s",
			 who, strerror(errno), as_root);
	else if (strcmp(target, "/dev/null") == 0)
		snprintf(buf, JOURNAL_PLACE_MAX,
			 "%s does not log to the journal, and its log is discarded: the agent was "
			 "started with its standard error in /dev/null",
			 who);
	else if (*target == '/')
		snprintf(buf, JOURNAL_PLACE_MAX,
			 "%s does not log to the journal: its log is in %s, with the lines of the "
			 "other processes; its lines have its number %d",
			 who, target, pid);
	else if (strncmp(target, "socket:", 7) == 0)
		snprintf(buf, JOURNAL_PLACE_MAX,
			 *as_root ? "the journal has no lines of %s, or does not let this user "
				    "read them; try as root"
				  : "the journal has no lines of %s",
			 who);
	else
		snprintf(buf, JOURNAL_PLACE_MAX,
			 "%s does not log to the journal: its log goes to a pipe of the program "
			 "that has started the agent",
			 who);
	return buf;
}
