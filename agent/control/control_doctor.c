/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers POST /v1/doctor: runs 'plenum doctor' in a child process, and passes on its report. The
 * doctor sends requests to this agent like any client. Only one doctor runs at a time, because it
 * sends packets to all peers. The program plenum is the one beside this agent's program, or the
 * installed one.
 */
#include "agent/base/child/child_task.h"
#include "agent/control/control_internal.h"
#include "netcfg/base/os/memfd.h"
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RUN_SECONDS_MAX 120
#define REPORT_BYTES_MAX (2U << 20)
#define COMPLAINT_BYTES_MAX 400
/* Largest exit status of a run with a report: 1: a check warns; 2: a check fails. */
#define REPORT_STATUS_MAX 2

struct control_doctor {
	struct agent *agent;
	struct child_task *child;
	uint64_t client;
	bool answered;
};

/* A message of the child. Its descriptor has the report, or what the program wrote to standard
 * error. */
struct message {
	bool is_report;
	uint64_t len;
};

/* ---- in the child ---- */

static const char *find_program(char *buf, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[MAX_OF(n, 0)] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	if (slash && (size_t)snprintf(buf, size, "%s/plenum", self) < size &&
	    access(buf, X_OK) == 0)
		return buf;
	return PLENUM_BINDIR "/plenum";
}

/* Starts the program. It ends together with this child, and the child ends together with the
 * agent. */
static pid_t start(const char *program, int out, int err)
{
	char *const argv[] = {(char *)"plenum", (char *)"--json", (char *)"doctor", NULL};
	const struct rlimit size = {.rlim_cur = REPORT_BYTES_MAX, .rlim_max = REPORT_BYTES_MAX};
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	setrlimit(RLIMIT_FSIZE, &size);
	if (dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0)
		execv(program, argv);
	dprintf(err, "cannot execute %s: %s", program, strerror(errno));
	_exit(127);
}

/* Waits for the program. Returns its exit status; -ETIMEDOUT if it had to be killed, or -ECHILD if
 * a signal killed it. */
static int await(pid_t pid)
{
	autoclose int pidfd = pidfd_open(pid, 0);
	struct pollfd p = {.fd = pidfd, .events = POLLIN};
	int status = 0;
	bool late = poll(&p, 1, RUN_SECONDS_MAX * 1000) == 0;

	if (late)
		kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		return -ECHILD;
	if (late)
		return -ETIMEDOUT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

/* Sends a sealed copy of the file's content, at most `max` bytes of it. */
static void send_file(int channel, int fd, bool is_report, size_t max)
{
	struct message m = {.is_report = is_report};
	struct stat st = {.st_size = 0};
	autofree char *text = malloc(max);
	autoclose int copy = -1;
	ssize_t n = -1;

	if (text && fstat(fd, &st) == 0)
		n = pread(fd, text, MIN_OF(max, (size_t)st.st_size), 0);
	if (n < 0)
		return;
	m.len = (uint64_t)n;
	copy = memfd_new_sealed("plenum-doctor", text, (size_t)n);
	if (copy >= 0)
		child_task_send(channel, &m, sizeof(m), copy);
}

static int work(void *user, int channel)
{
	const struct control_doctor *d = user;
	autoclose int out = memfd_new_empty("plenum-report");
	autoclose int err = memfd_new_empty("plenum-errors");
	char program[PATH_MAX + 16];
	pid_t pid;
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (out < 0 || err < 0 || setenv("PLENUM_SOCKET", d->agent->socket_path, 1) < 0)
		return 1;
	pid = start(find_program(program, sizeof(program)), out, err);
	if (pid < 0)
		return 1;
	status = await(pid);
	if (status == -ETIMEDOUT)
		dprintf(err, "the doctor did not end within %d s", RUN_SECONDS_MAX);
	if (status >= 0 && status <= REPORT_STATUS_MAX)
		send_file(channel, out, true, REPORT_BYTES_MAX);
	else
		send_file(channel, err, false, COMPLAINT_BYTES_MAX);
	return 0;
}

/* ---- in the monitor ---- */

static void answer(struct control_doctor *d, json_t *report, const char *why)
{
	struct control_reply r = {.http_status = 0};

	d->answered = true;
	if (report)
		control_json(&r, 200, report);
	else
		control_error(&r, 500, "failed", "the doctor ended without a report",
			      json_pack("[s]", why));
	control_answer(d->agent, d->client, &r);
}

static void on_message(void *user, const void *msg, size_t len, int fd)
{
	struct control_doctor *d = user;
	autofree char *text = NULL;
	json_t *report = NULL;
	struct message m;

	if (d->answered || len != sizeof(m) || fd < 0)
		return;
	memcpy(&m, msg, sizeof(m));
	if (m.len > REPORT_BYTES_MAX || privsep_read_memfd(fd, m.len, &text) < 0)
		return;
	for (char *c = text; !m.is_report && *c; c++)
		*c = *c < ' ' || *c > '~' ? ' ' : *c;
	if (m.is_report)
		report = json_loads(text, 0, NULL);
	answer(d, report, m.is_report ? "its report is not JSON" : text);
}

static void forget(struct control_doctor *d)
{
	d->agent->doctor = NULL;
	if (d->child) /* safe: the child was not reaped yet, so no other process can have its pid */
		kill(child_task_pid(d->child), SIGKILL);
	child_task_forget(d->child);
	free(d);
}

static void on_end(void *user, int status, const char *how)
{
	struct control_doctor *d = user;

	d->child = NULL; /* the child task has freed itself */
	if (!d->answered)
		answer(d, NULL, how);
	forget(d);
}

void control_doctor_done(struct agent *a)
{
	if (a->doctor)
		forget(a->doctor);
}

void control_doctor(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		    struct control_reply *r)
{
	struct child_task_setup setup = {.loop = a->loop,
					 .name = "plenumd-doctor",
					 .work = work,
					 .on_message = on_message,
					 .on_end = on_end};
	struct control_doctor *d;
	int e = -ENOMEM;

	if (a->doctor) {
		control_error(r, 409, "busy",
			      "the doctor is already running; try again when it has ended", NULL);
		return;
	}
	d = calloc(1, sizeof(*d));
	if (d) {
		*d = (struct control_doctor){.agent = a, .client = cl->id};
		setup.user = d;
		e = child_task_start(&setup, &d->child);
	}
	if (e < 0) {
		free(d);
		control_failure(a, r, e, &(struct diag)DIAG_INIT);
		return;
	}
	a->doctor = d;
	control_note(a, cl, "doctor started");
	r->later = true;
}
