/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file locks on this host's exports: those that clients hold or wait for, and those that an
 * operator breaks or has broken. Reading all of a large table takes many milliseconds, so a child
 * process makes the list; it may also wait for procfs.
 */
#include "agent/agent.h"
#include "agent/status/status_internal.h"
#include "agent/supervise/handover/lock_view.h"
#include "netcfg/base/text.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_MAX 4096U
#define PATH_SIZE 4096
#define TO_END ((uint64_t)INT64_MAX) /* last byte of a lock that reaches to the end of the file */

static pid_t pid_of(const struct agent *a, uint32_t worker)
{
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		if (w->id == worker && w->config.role == LAUNCH_COMPUTE)
			return w->pid;
	return -1;
}

/* Returns whether descriptor fd of the process has this inode open. Reads the inode number from
 * procfs, because a stat() could block on a file system that hangs. */
static bool has_open(pid_t pid, int fd, uint64_t ino)
{
	char path[48], text[512];
	const char *at;
	ssize_t n;
	autoclose int info = -1;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, fd);
	info = open(path, O_RDONLY | O_CLOEXEC);
	n = info < 0 ? -1 : read(info, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	at = strstr(text, "\nino:");
	return at && strtoull(at + strlen("\nino:"), NULL, 10) == ino;
}

/* Returns the part of the path below the export's folder, or "" if the path is not in an export. In
 * a compute worker's root directory, each export is at a folder with a number as its name. */
static const char *below_export(const char *path)
{
	const size_t digits = path[0] == '/' ? strspn(path + 1, "0123456789") : 0;

	return digits > 0 && path[1 + digits] == '/' ? path + 1 + digits + 1 : "";
}

/* Finds the path of the file below its export, from the descriptor by which a worker has the file
 * open. Returns "" if the worker has closed the file. */
static const char *find_path(const struct agent *a, const struct lock_view_entry *e,
			     char buf[PATH_SIZE])
{
	const pid_t pid = pid_of(a, e->worker);
	char link[48];
	ssize_t n;

	if (pid <= 0 || e->fd < 0 || !has_open(pid, e->fd, e->ino))
		return "";
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, e->fd);
	n = readlink(link, buf, PATH_SIZE - 1);
	if (n <= 0 || !has_open(pid, e->fd, e->ino))
		return "";
	buf[n] = '\0';
	text_clean(buf);
	return below_export(buf);
}

static const char *state_to_string(enum lock_state s)
{
	static const char *const names[LOCK_STATE_MAX] = {[LOCK_HELD] = "held",
							  [LOCK_WAITING] = "waiting",
							  [LOCK_BREAKING] = "breaking",
							  [LOCK_BROKEN] = "broken"};

	return names[s];
}

static json_t *lock_to_json(const struct lock_view_entry *e, const char *path)
{
	char id[17];

	snprintf(id, sizeof(id), "%" PRIx64, e->id);
	return json_pack("{s:s, s:o, s:o, s:I, s:o, s:I, s:s, s:s, s:I, s:o, s:s, s:o}", "id", id,
			 "export", status_text_to_json(e->export_name), "file",
			 path[0] ? status_text_to_json(path) : json_null(), "inode",
			 (json_int_t)MIN_OF(e->ino, (uint64_t)INT64_MAX), "host",
			 status_text_to_json(e->host), "pid", (json_int_t)e->pid, "kind",
			 e->flock ? "flock" : "fcntl", "mode", e->write ? "exclusive" : "shared",
			 "start", (json_int_t)MIN_OF(e->start, (uint64_t)INT64_MAX), "end",
			 e->end >= TO_END ? json_null() : json_integer((json_int_t)e->end), "state",
			 state_to_string(e->state), "since_s",
			 status_number_or_null(status_age_s(e->since_ns)));
}

/* The list is sorted by file, so that each path is searched for once. */
static json_t *locks_to_json(const struct agent *a, const struct lock_view *v)
{
	autofree char *buf = malloc(PATH_SIZE);
	json_t *list = buf ? json_array() : NULL;
	const char *path = "";

	for (size_t i = 0; list && i < v->n; i++) {
		const struct lock_view_entry *e = &v->all[i], *last = i > 0 ? e - 1 : NULL;

		if (!last || last->ino != e->ino || last->dev != e->dev)
			path = find_path(a, e, buf);
		if (!status_append(list, lock_to_json(e, path))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

int status_locks_to_json(const struct agent *a, int fd, json_t **ret)
{
	PLENUM_CLEANUP(lock_view_done) struct lock_view v = {.n = 0};
	const char *host = a->running.spec ? a->running.spec->host : "";
	int r = fd < 0 ? 0 : lock_view_read(fd, SHOWN_MAX, &v);
	json_t *list = r < 0 ? NULL : locks_to_json(a, &v);

	if (!list)
		return r < 0 ? r : -ENOMEM;
	*ret = json_pack("{s:o, s:o, s:I}", "host", status_text_to_json(host), "locks", list,
			 "omitted_locks", (json_int_t)MIN_OF(v.n_omitted, (uint64_t)UINT32_MAX));
	return *ret ? 0 : -ENOMEM;
}

int status_lock_describe(const struct agent *a, uint64_t id, char *buf, size_t size, bool *ret_held)
{
	struct lock_view_entry e;
	const int fd = sup_locks_fd(a->sup);
	int r = fd < 0 ? -ENOENT : lock_view_find(fd, id, &e);

	if (r < 0)
		return r;
	*ret_held = e.state == LOCK_HELD;
	snprintf(buf, size, "%s, %s of pid %u on %.40s, export %.40s, inode %" PRIu64,
		 state_to_string(e.state), e.flock ? "flock" : "fcntl", e.pid, e.host,
		 e.export_name, e.ino);
	return 0;
}
