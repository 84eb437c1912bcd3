/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens directories in child tasks. An answer may arrive after the caller has stopped waiting. */
#include "agent/base/child/async_open.h"
#include "agent/base/child/child_task.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

/* After this many timeouts within LATE_NS, further calls wait only HASTE_MS. */
#define LATE_MAX 2
#define LATE_NS (10 * NSEC_PER_SEC)
#define HASTE_MS 5
#define STALE_NS (3 * NSEC_PER_SEC) /* older results are not used */

struct dir {
	char *path;
	struct child_task *task; /* the child task that opens the directory; NULL: it has exited */
	uint64_t asked_ns;
	bool empty; /* fail if the directory is not empty */
	/* async_open_look() started the task: its descriptor is closed at once, because an open one
	 * keeps the file system busy. */
	bool is_look;
	/* Valid when the task has exited. */
	struct async_folder found;
	int error, fd;
	struct dir *next;
};

struct answer {
	int error;
	struct async_folder found;
};
_Static_assert(sizeof(struct answer) <= CHILD_TASK_MESSAGE_MAX, "an answer is one message");

/* ---- in the child ---- */

static bool is_empty(int fd)
{
	DIR *d = fdopendir(dup(fd));
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			return false;
	return d != NULL;
}

static int open_empty(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

static int work(void *user, int channel)
{
	const struct dir *e = user;
	struct answer a = {.error = 0};
	int fd;

	/* Ends the task together with the agent. The next agent starts it again. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = e->empty ? open_empty(e->path) : folder_open(e->path, a.found.link);
	if (fd < 0)
		a.error = fd;
	else if (e->empty)
		a.error = is_empty(fd) ? 0 : -ENOTEMPTY;
	else
		a.error = folder_identify(fd, &a.found.id);
	if (fd >= 0 && !e->empty && a.error == 0)
		a.error = folder_measure(fd, &a.found.room);
	child_task_send(channel, &a, sizeof(a), fd);
	return 0;
}

/* ---- in the monitor ---- */

static void on_message(void *user, const void *msg, size_t len, int fd)
{
	struct dir *e = user;
	struct answer a;

	if (len != sizeof(a))
		return;
	memcpy(&a, msg, sizeof(a));
	e->error = a.error;
	e->found = a.found;
	if (fd >= 0 && !e->is_look)
		e->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (e->error == 0 && !e->is_look && e->fd < 0)
		e->error = fd < 0 ? -EIO : -errno;
}

static void on_end(void *user, int status, const char *how)
{
	struct dir *e = user;

	e->task = NULL;
	if (!e->is_look)
		return;
	cleanup_close(&e->fd); /* the answer arrived just after the caller had stopped waiting */
	e->fd = -1;
}

static struct dir **find(const struct async_open *d, const char *path, bool empty)
{
	struct dir **at = (struct dir **)&d->first;

	while (*at && ((*at)->empty != empty || strcmp((*at)->path, path) != 0))
		at = &(*at)->next;
	return at;
}

static void dir_free(struct dir *e)
{
	if (e->task)
		kill(child_task_pid(e->task), SIGKILL); /* safe: the child was not reaped yet, so no
							   other process can have its pid */
	child_task_forget(e->task);
	cleanup_close(&e->fd);
	free(e->path);
	free(e);
}

static void forget(struct dir **at)
{
	struct dir *e = *at;

	*at = e->next;
	dir_free(e);
}

static int begin(struct async_open *d, const char *path, bool empty, bool is_look, struct dir **ret)
{
	struct child_task_setup setup = {.loop = d->loop,
					 .name = "plenum-dir",
					 .work = work,
					 .on_message = on_message,
					 .on_end = on_end};
	struct dir *e = calloc(1, sizeof(*e));
	int r = -ENOMEM;

	if (!e)
		return r;
	*e = (struct dir){.path = strdup(path),
			  .asked_ns = clock_now_ns(),
			  .empty = empty,
			  .is_look = is_look,
			  .error = -EIO,
			  .fd = -1};
	setup.user = e;
	if (e->path)
		r = child_task_start(&setup, &e->task);
	if (r < 0) {
		dir_free(e);
		return r;
	}
	e->next = d->first;
	*ret = d->first = e;
	return 0;
}

void async_open_ask(struct async_open *d, const char *path)
{
	struct dir **at = find(d, path, false), *e;

	if (*at && (*at)->task)
		return;
	if (*at)
		forget(at);
	(void)begin(d, path, false, false, &e); /* a later open returns the error */
}

/* Waits for the child until the time limit, counted from the request. Returns whether the child has
 * answered. */
static bool await(struct async_open *d, struct dir *e)
{
	uint64_t now = clock_now_ns();
	bool hasty = d->n_late >= LATE_MAX && now - d->late_ns < LATE_NS;
	uint64_t end_ns = e->asked_ns + (hasty ? HASTE_MS : ASYNC_OPEN_LIMIT_MS) * NSEC_PER_MSEC;

	if (!e->task ||
	    child_task_await(e->task,
			     now < end_ns ? (unsigned)((end_ns - now) / NSEC_PER_MSEC) + 1 : 0))
		return true;
	if (now - d->late_ns >= LATE_NS) {
		d->late_ns = now;
		d->n_late = 0;
	}
	d->n_late += now < end_ns;
	return false;
}

static int open_one(struct async_open *d, const char *path, bool empty, struct async_folder *ret)
{
	struct dir **at, *e = *find(d, path, empty);
	int r = e ? 0 : begin(d, path, empty, false, &e);

	*ret = (struct async_folder){.link = ""};
	if (r < 0)
		return r;
	if (!await(d, e)) {
		e->is_look = true;
		return -ETIMEDOUT;
	}
	if (e->is_look) { /* the caller needs only the result, so the descriptor is closed
			     already */
		forget(find(d, path, empty));
		return open_one(d, path, empty, ret);
	}
	at = find(d, path, empty);
	*ret = e->found;
	r = e->error < 0 ? e->error : fd_take(e->fd);
	forget(at);
	return r;
}

int async_open_open(struct async_open *d, const char *path, struct async_folder *ret)
{
	return open_one(d, path, false, ret);
}

int async_open_open_empty(struct async_open *d, const char *path)
{
	struct async_folder unused;

	return open_one(d, path, true, &unused);
}

int async_open_look(struct async_open *d, const char *path, struct async_folder *ret)
{
	struct dir **at = find(d, path, false), *e = *at;
	int r = -EAGAIN;

	if (e && e->task)
		return r;
	if (e && clock_now_ns() - e->asked_ns > STALE_NS) {
		forget(at);
		e = NULL;
	}
	if (e) {
		*ret = e->found;
		r = e->error;
		forget(at);
	} else {
		(void)begin(d, path, false, true, &e);
	}
	return r;
}

uint64_t async_open_waits_ns(const struct async_open *d, const char *path)
{
	const struct dir *e = *find(d, path, false);

	return e && e->task ? clock_now_ns() - e->asked_ns : 0;
}

void async_open_done(struct async_open *d)
{
	while (d->first)
		forget(&d->first);
}
