/* SPDX-License-Identifier: BSD-3-Clause */
/* The monitor's side of the applier: starts the process or connects to the process that an earlier
 * monitor started, receives its progress, and starts a recovery if the process is killed. */
#include "agent/apply/applier_internal.h"
#include "agent/base/child/child_task.h"
#include "netcfg/base/log.h"
#include "netcfg/base/os/fdpass.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Maximum number of recoveries of one apply, because a recovery may be killed too. */
#define RECOVERIES_MAX 3

struct applier {
	struct applier_task task; /* only loop, host and paths stay valid after the start */
	/* NULL: an earlier monitor started the applier, or the applier has ended */
	struct child_task *child;
	int channel; /* connection to an adopted applier; -1: none */
	pid_t pid;   /* pid of an adopted applier */
	struct loop_source *source;
	enum applier_stage stage;
	unsigned n_recoveries; /* recoveries started because the process was killed */
	/* The applier has waited for a confirmation. So if a recovery finds a committed journal, it
	 * is the journal of this apply. */
	bool waited;
	bool has_result;
	bool listens; /* the applier has a socket for later monitors */
	char unreachable[APPLIER_UNREACHABLE_MAX];
	struct applier_result result;
	struct diag diag;
	struct plan_conflicts conflicts;
};

const char *applier_stage_to_string(enum applier_stage s)
{
	static const char *const names[APPLIER_STAGE_MAX] = {
		"recovering",  "applying", "verifying", "probing", "waiting for a confirmation",
		"rolling back"};

	return s < APPLIER_STAGE_MAX ? names[s] : "?";
}

static void take_diag(struct applier *ap, struct applier_message *m)
{
	struct diag_pos pos = {m->diag.file, m->diag.line, m->diag.column};

	m->diag.file[sizeof(m->diag.file) - 1] = '\0';
	m->diag.path[sizeof(m->diag.path) - 1] = '\0';
	m->diag.text[sizeof(m->diag.text) - 1] = '\0';
	diag_add(&ap->diag, m->diag.severity, m->diag.file[0] ? &pos : NULL,
		 m->diag.path[0] ? m->diag.path : NULL, "%s", m->diag.text);
}

static void take_result(struct applier *ap, struct applier_result r)
{
	/* At this point a recovery has succeeded. It has rolled back the requested apply, or it has
	 * found that the apply was committed, and has removed the journal. In the second case the
	 * host is as desired, which the next plan will show. */
	if (ap->n_recoveries > 0 && r.error == 0)
		r.error = !r.committed ? -EINTR : ap->waited ? 0 : -EAGAIN;
	r.n_writes += ap->result.n_writes;
	r.by[sizeof(r.by) - 1] = '\0';
	ap->result = r;
	ap->has_result = true;
}

static void take_stage(struct applier *ap, enum applier_stage stage, uint64_t until_ns)
{
	bool waits = stage == APPLIER_WAITING && ap->stage != stage;

	ap->stage = stage;
	ap->waited |= waits;
	if (waits && ap->task.on_wait)
		ap->task.on_wait(ap->task.user, until_ns, &ap->conflicts);
}

static void take_unreachable(struct applier *ap, struct applier_message *m)
{
	m->unreachable[sizeof(m->unreachable) - 1] = '\0';
	memcpy(ap->unreachable, m->unreachable, sizeof(ap->unreachable));
	if (m->type == APPLIER_NOT_YET && ap->task.on_not_yet)
		ap->task.on_not_yet(ap->task.user, ap->unreachable);
}

static void on_message(void *user, const void *msg, size_t len, int fd)
{
	struct applier *ap = user;
	struct applier_message m;

	if (len != sizeof(m))
		return;
	memcpy(&m, msg, sizeof(m));
	switch (m.type) {
	case APPLIER_STAGE:
		take_stage(ap, m.stage, m.until_ns);
		break;
	case APPLIER_DIAG:
		take_diag(ap, &m);
		break;
	case APPLIER_CONFLICT:
		if (plan_conflicts_add(&ap->conflicts, &m.conflict) < 0)
			ap->diag.out_of_memory = true;
		break;
	case APPLIER_UNREACHABLE:
	case APPLIER_NOT_YET:
		take_unreachable(ap, &m);
		break;
	case APPLIER_RESULT:
		take_result(ap, m.result);
		break;
	case APPLIER_CONFIRM:
	case APPLIER_ROLL_BACK:
		break;
	}
}

static int start_child(struct applier *ap);

/* The process was killed: starts a process that rolls back its journal. The end of the apply is
 * reported after that. */
static bool begin_recovery(struct applier *ap, const char *how)
{
	int r;

	if (ap->n_recoveries == 0)
		diag_add(&ap->diag, DIAG_ERROR, NULL, NULL, "the applier process ended: %s", how);
	ap->task.spec = NULL;
	ap->task.plan = NULL;
	ap->stage = APPLIER_RECOVERING;
	ap->result = (struct applier_result){.error = -EINTR, .stuck = true};
	if (ap->n_recoveries++ == RECOVERIES_MAX) {
		diag_add(&ap->diag, DIAG_ERROR, NULL, NULL,
			 "the rollback process ended %d times: %s; the next apply retries the "
			 "rollback",
			 RECOVERIES_MAX, how);
		return false;
	}
	r = start_child(ap);
	if (r < 0)
		diag_add(&ap->diag, DIAG_ERROR, NULL, NULL,
			 "cannot start the rollback: %s; the next apply retries it", strerror(-r));
	return r >= 0;
}

static struct applier *applier_free(struct applier *ap)
{
	if (!ap)
		return NULL;
	child_task_forget(ap->child);
	loop_source_free(ap->source);
	cleanup_close(&ap->channel);
	diag_done(&ap->diag);
	plan_conflicts_done(&ap->conflicts);
	free(ap);
	return NULL;
}

static void end(struct applier *ap, const char *how)
{
	if (!ap->has_result && begin_recovery(ap, how))
		return;
	ap->result.conflicts = &ap->conflicts;
	ap->task.on_end(ap->task.user, &ap->result, &ap->diag);
	applier_free(ap);
}

static void on_end(void *user, int status, const char *how)
{
	struct applier *ap = user;

	ap->child = NULL; /* the child task has freed itself */
	end(ap, how);
}

static int work(void *user, int channel)
{
	const struct applier *ap = user;

	return applier_work(&ap->task, channel, ap->listens ? CHILD_TASK_KEPT_FD : -1);
}

static int start_child(struct applier *ap)
{
	autoclose int listener =
		ap->task.plan && ap->task.socket ? applier_channel_listen(ap->task.socket) : -1;
	const struct child_task_setup setup = {.loop = ap->task.loop,
					       .name = "plenumd-applier",
					       .kept = MAX_OF(listener, 0),
					       .work = work,
					       .on_message = on_message,
					       .on_end = on_end,
					       .user = ap};

	ap->listens = listener >= 0;
	return child_task_start(&setup, &ap->child);
}

static struct applier *applier_new(const struct applier_task *task)
{
	struct applier *ap = calloc(1, sizeof(*ap));

	_Static_assert(sizeof(struct applier_message) <= CHILD_TASK_MESSAGE_MAX,
		       "a message is one piece");
	if (!ap)
		return NULL;
	ap->task = *task;
	ap->channel = -1;
	ap->stage = task->plan ? APPLIER_APPLYING : APPLIER_RECOVERING;
	return ap;
}

int applier_start(const struct applier_task *task, struct applier **ret)
{
	struct applier *ap = applier_new(task);
	int r;

	if (!ap)
		return -ENOMEM;
	r = start_child(ap);
	if (r < 0) {
		applier_free(ap);
		return r;
	}
	*ret = ap;
	return 0;
}

/* ---- adoption ---- */

static int on_channel(void *user, int fd, uint32_t revents)
{
	struct applier *ap = user;
	struct applier_message m;
	ssize_t n;

	do {
		autoclose int passed = -1;
		bool whole = false;

		n = fdpass_recv(fd, &m, sizeof(m), &passed, &whole);
		if (n > 0 && whole)
			on_message(ap, &m, (size_t)n, -1);
	} while (n > 0 || n == -EINTR);
	if (n == -EAGAIN)
		return 0;
	ap->source = loop_source_free(ap->source);
	cleanup_close(&ap->channel);
	ap->channel = -1;
	ap->pid = 0;
	end(ap, "it was killed");
	return 0;
}

static int connect_to(const char *path, int *ret, pid_t *ret_pid)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred peer = {.pid = 0};
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	*ret_pid = peer.pid;
	*ret = fd_take(fd);
	return 0;
}

int applier_adopt(const struct applier_task *task, struct applier **ret)
{
	struct applier *ap = applier_new(task);
	int r;

	if (!ap)
		return -ENOMEM;
	ap->stage = APPLIER_APPLYING;
	r = connect_to(task->socket, &ap->channel, &ap->pid);
	if (r >= 0)
		r = loop_add_fd(task->loop, ap->channel, EPOLLIN, false, on_channel, ap,
				&ap->source);
	if (r < 0) {
		applier_free(ap);
		return r;
	}
	*ret = ap;
	return 0;
}

/* ---- orders ---- */

int applier_order(const struct applier *ap, bool keep, const char *by)
{
	struct applier_message m = {.type = keep ? APPLIER_CONFIRM : APPLIER_ROLL_BACK};

	if (!ap->child && ap->channel < 0)
		return -ESRCH;
	snprintf(m.by, sizeof(m.by), "%s", by);
	return ap->child ? child_task_tell(ap->child, &m, sizeof(m))
			 : fdpass_send(ap->channel, &m, sizeof(m), -1);
}

struct applier *applier_forget(struct applier *ap)
{
	return applier_free(ap);
}

enum applier_stage applier_stage(const struct applier *ap)
{
	return ap->stage;
}

const char *applier_unreachable(const struct applier *ap)
{
	return ap->unreachable;
}

pid_t applier_pid(const struct applier *ap)
{
	return ap->child ? child_task_pid(ap->child) : ap->pid;
}
