/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 'plenum support': collects the reports of this host in one archive, for a person who looks for a
 * fault without access to the host. Each report is made by a separate process of this program or of
 * another tool, so that a report that fails or hangs costs only itself. The archive has no keys and
 * no tokens: no report reads the files that contain them.
 */
#include "agent/ctl/ctl.h"
#include "netcfg/base/os/folder.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A report that takes longer than this or exceeds REPORT_BYTES_MAX is ended. */
#define REPORT_SECONDS_MAX 60
/* After a report for which the agent did not answer within SILENCE_NS, the reports that need its
 * answer get SILENT_SECONDS_MAX only. */
#define SILENCE_NS (5 * NSEC_PER_SEC)
#define SILENT_SECONDS_MAX 2
#define REPORT_BYTES_MAX (64U << 20)
#define ARCHIVE_SECONDS_MAX 120
/* How long a killed process may take to end. A process that waits for a hung disk ends later. */
#define KILL_SECONDS_MAX 1
#define ARGS_MAX 12
#define KILLED (-1)

extern char **environ;

struct report {
	const char *file;
	bool asks_agent; /* needs an answer of the agent */
	/* The program and its arguments, which end with NULL. "plenum" is this program. */
	const char *argv[ARGS_MAX];
};

static const struct report reports[] = {
	{"version.txt", false, {"plenum", "version"}},
	{"uname.txt", false, {"uname", "-a"}},
	{"status.txt", true, {"plenum", "status"}},
	{"status.json", true, {"plenum", "-j", "status"}},
	{"processes.json", true, {"plenum", "-j", "processes"}},
	{"mounts.json", true, {"plenum", "-j", "mounts"}},
	{"exports.json", true, {"plenum", "-j", "exports"}},
	{"clients.json", true, {"plenum", "-j", "clients"}},
	{"locks.json", true, {"plenum", "-j", "locks"}},
	{"peers.json", true, {"plenum", "-j", "peers"}},
	{"paths.json", true, {"plenum", "-j", "paths"}},
	{"sessions.json", true, {"plenum", "-j", "sessions"}},
	{"faults.json", true, {"plenum", "-j", "fault", "show"}},
	{"captures.json", true, {"plenum", "-j", "captures"}},
	{"net.json", true, {"plenum", "-j", "net", "show"}},
	{"metrics.txt", true, {"plenum", "metrics"}},
	{"events.json", true, {"plenum", "-j", "events"}},
	{"history.json", true, {"plenum", "-j", "history"}},
	{"config-running.yaml", true, {"plenum", "config", "show", "--running"}},
	{"config-staged.yaml", true, {"plenum", "config", "show", "--staged"}},
	{"validate.txt", false, {"plenum", "validate"}},
	{"diff.txt", true, {"plenum", "diff"}},
	{"plan.txt", false, {"plenum", "plan"}},
	{"inventory.json", false, {"plenum", "-j", "inventory"}},
	{"rdma-devices.json", false, {"plenum", "-j", "rdma", "devices"}},
	{"doctor.txt", false, {"plenum", "doctor", "--all"}},
	/* Keeps 64 bytes of each packet: its headers, and no data of files. */
	{"packets.pcapng",
	 true,
	 {"plenum", "capture", "--seconds", "2", "--size", "8", "--snap", "64", "-w", "-"}},
	{"agent.log",
	 false,
	 {"journalctl", "--no-pager", "-o", "short-iso-precise", "-u", "plenumd", "-n", "20000"}},
	{"kernel.log",
	 false,
	 {"journalctl", "--no-pager", "-o", "short-iso-precise", "-k", "-n", "2000"}},
};

struct collection {
	char parent[128]; /* temporary folder; "": not made yet */
	char name[128];	  /* name of the folder in `parent` that is packed into the archive */
	char path[260];	  /* PARENT/NAME */
	FILE *contents;	  /* PATH/contents.txt: a line for each report */
	bool silent;	  /* the agent did not answer for a report */
	unsigned failed;  /* reports whose program failed or was killed */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int signo)
{
	interrupted = signo;
}

static void catch_signals(void)
{
	struct sigaction act = {.sa_handler = on_signal};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
}

/* ---- processes ---- */

/* Waits until the process has ended. Returns false after `seconds`, or after a signal. */
static bool has_ended(int pidfd, int seconds)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, seconds * 1000) > 0;
}

/* Runs a program with its output in the files `out` and `err`. Returns its exit status, KILLED if a
 * signal or the time limit ended it, or 127 if the program does not exist. */
static int run(const char *const *argv, int out, int err, int seconds)
{
	const struct rlimit size = {.rlim_cur = REPORT_BYTES_MAX, .rlim_max = REPORT_BYTES_MAX};
	bool is_plenum = strcmp(argv[0], "plenum") == 0;
	autoclose int pidfd = -1;
	posix_spawn_file_actions_t files;
	int status = 0, r;
	pid_t pid;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
	r = posix_spawnp(&pid, is_plenum ? "/proc/self/exe" : argv[0], &files, NULL,
			 (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	if (r)
		return 127;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	prlimit(pid, RLIMIT_FSIZE, &size, NULL);
	if (!has_ended(pidfd, seconds)) {
		kill(pid, SIGKILL);
		if (!has_ended(pidfd, KILL_SECONDS_MAX))
			return KILLED;
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : KILLED;
}

/* ---- reports ---- */

static int create_in(const struct collection *c, const char *file, const char *suffix)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/%s%s", c->path, file, suffix);
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static off_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_size : 0;
}

static void describe(struct collection *c, const struct report *p, int status, off_t bytes)
{
	char text[24];

	if (status == KILLED)
		snprintf(text, sizeof(text), "killed");
	else
		snprintf(text, sizeof(text), "exit %d", status);
	fprintf(c->contents, "%-20s  %-8s  %10lld bytes  %s", p->file, text, (long long)bytes,
		p->argv[0]);
	for (size_t i = 1; i < ARGS_MAX && p->argv[i]; i++)
		fprintf(c->contents, " %s", p->argv[i]);
	fputc('\n', c->contents);
}

static void remove_from(const struct collection *c, const char *file, const char *suffix)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/%s%s", c->path, file, suffix);
	unlink(path);
}

/* Makes a report. What its program prints on standard error goes to a separate file. Returns 0
 * also if the program fails, or negative errno if the report's files cannot be made. */
static int make_report(struct collection *c, const struct report *p)
{
	autoclose int out = create_in(c, p->file, ""), err = create_in(c, p->file, ".errors");
	uint64_t begin_ns = clock_now_ns();
	int status;

	if (out < 0 || err < 0)
		return -errno;
	status = run(p->argv, out, err,
		     p->asks_agent && c->silent ? SILENT_SECONDS_MAX : REPORT_SECONDS_MAX);
	if (p->asks_agent && (status == KILLED || status == CTL_UNAVAILABLE))
		c->silent |= clock_now_ns() - begin_ns > SILENCE_NS;
	describe(c, p, status, size_of(out));
	/* Lower exit statuses are findings, such as those of doctor. */
	c->failed += status < 0 || status >= CTL_USAGE;
	if (size_of(out) == 0)
		remove_from(c, p->file, "");
	if (size_of(err) == 0)
		remove_from(c, p->file, ".errors");
	return 0;
}

static int begin(struct collection *c)
{
	const char *folder = getenv("TMPDIR");
	char host[PLENUM_NAME_MAX] = "host", when[24];
	time_t now = time(NULL);
	struct tm tm;
	int fd;

	gethostname(host, sizeof(host) - 1);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	snprintf(c->name, sizeof(c->name), "plenum-support-%s-%s", host, when);
	snprintf(c->parent, sizeof(c->parent), "%s/plenum-support.XXXXXX",
		 folder && *folder ? folder : "/tmp");
	if (!mkdtemp(c->parent)) {
		c->parent[0] = '\0';
		return -errno;
	}
	snprintf(c->path, sizeof(c->path), "%s/%s", c->parent, c->name);
	if (mkdir(c->path, 0700) < 0)
		return -errno;
	fd = create_in(c, "contents.txt", "");
	c->contents = fd < 0 ? NULL : fdopen(fd, "w");
	return c->contents ? 0 : -errno;
}

/* Makes all reports, each of which is shown on a terminal while it is made. */
static int collect(struct collection *c)
{
	bool shown = isatty(STDERR_FILENO);
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(reports) && r == 0 && !interrupted; i++) {
		if (shown)
			fprintf(stderr, "\r\033[K%zu of %zu: %s", i + 1, ARRAY_SIZE(reports),
				reports[i].file);
		r = make_report(c, &reports[i]);
	}
	if (shown)
		fputs("\r\033[K", stderr);
	if (fclose(c->contents) != 0 && r == 0)
		r = -errno;
	c->contents = NULL;
	return interrupted ? -EINTR : r;
}

/* ---- the archive ---- */

static int pack(const struct collection *c, int fd)
{
	const char *const argv[] = {"tar", "-C", c->parent, "-cz", c->name, NULL};
	int status = run(argv, fd, STDERR_FILENO, ARCHIVE_SECONDS_MAX);

	if (status == 127)
		ctl_complain("cannot run tar; install it");
	return interrupted ? -EINTR : status == 0 ? 0 : -EIO;
}

static int fail(const char *what, int error)
{
	if (error == -EINTR) {
		ctl_complain("interrupted; no archive was written");
		return 128 + interrupted;
	}
	ctl_complain("cannot write %s: %s", what, strerror(-error));
	return error == -EACCES || error == -EPERM ? CTL_NO_PERMISSION : CTL_IO;
}

static int put_result(const struct ctl_args *a, const struct collection *c, const char *file)
{
	int n = (int)ARRAY_SIZE(reports), r;
	json_t *o;

	if (a->json) {
		o = json_pack("{s:s,s:i,s:i}", "file", file, "reports", n, "failed",
			      (int)c->failed);
		r = ctl_put_json(o);
		json_decref(o);
		return r;
	}
	printf("%s: %d reports", file, n);
	if (c->failed)
		printf("; %u of them failed: see contents.txt in the archive", c->failed);
	puts("\nThe archive has no keys and no tokens, but names, addresses, logs and the "
	     "configuration of this host.");
	return CTL_OK;
}

static int make_archive(const struct ctl_args *a, struct collection *c)
{
	autofree char *own = NULL;
	const char *file = a->n_operands > 0 ? a->operands[0] : NULL;
	autoclose int fd = -1;
	int r = begin(c);

	if (r < 0)
		return fail(*c->parent ? c->parent : "a temporary folder", r);
	if (!file && asprintf(&own, "%s.tar.gz", c->name) < 0)
		return fail("the archive", -ENOMEM);
	file = file ? file : own;
	/* The file is opened before the reports are made, so that a wrong name costs no time. */
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST) {
		ctl_complain("%s exists already; name another file", file);
		return CTL_IO;
	}
	if (fd < 0)
		return fail(file, -errno);
	r = collect(c);
	if (r == 0)
		r = pack(c, fd);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0)
		return put_result(a, c, file);
	unlink(file);
	return fail(file, r);
}

int ctl_cmd_support(const struct ctl_args *a)
{
	struct collection c = {.failed = 0};
	int r;

	/* The reports use the same agent as this command. */
	if (setenv("PLENUM_SOCKET", a->socket, 1) < 0)
		return fail("the environment", -ENOMEM);
	catch_signals();
	r = make_archive(a, &c);
	if (c.contents)
		fclose(c.contents);
	if (*c.parent)
		(void)folder_remove(c.parent);
	return r;
}
