/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/rundir.h"
#include "agent/mounts.h"
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/stat.h>

#define RUNDIR_END_MS 3000 /* how long a killed process may take to go */

char *rundir_path(const char *dir, const char *name)
{
	char *p;

	return asprintf(&p, "%s/%s", dir, name) < 0 ? NULL : p;
}

static int rundir_write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

int rundir_write_file(const char *path, const char *text, size_t len, mode_t mode)
{
	autofree char *tmp = NULL;
	autoclose int fd = -1;
	int r;

	if (asprintf(&tmp, "%s.new", path) < 0) {
		tmp = NULL;
		return -ENOMEM;
	}
	/* A leftover of a killed predecessor, or a trap laid as a link, must not be followed. */
	unlink(tmp);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return -errno;
	r = rundir_write_all(fd, text, len);
	if (r >= 0 && fsync(fd) < 0)
		r = -errno;
	if (r >= 0 && rename(tmp, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(tmp);
	return r;
}

int rundir_process_start(pid_t pid, uint64_t *ret)
{
	char path[40], text[1024];
	autoclose int fd = -1;
	const char *p;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the name in parentheses may hold anything */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, " %" SCNu64, ret) != 1)
		return -EIO;
	return 0;
}

/* ---- the record ---- */

/* "mount 0:52 ID PEER EXPORT ro /as/configured" and, on a line of its own, "at /real/path". */
static void rundir_print_mount(FILE *f, const struct rundir_mount *m)
{
	fprintf(f, "mount %u:%u ", m->major, m->minor);
	for (size_t i = 0; i < sizeof(m->what.id); i++)
		fprintf(f, "%02x", m->what.id[i]);
	fprintf(f, " %s %s %s %s\nat %s\n", m->what.peer, m->what.export_name,
		m->what.read_only ? "ro" : "rw", m->what.path, m->path);
}

static bool rundir_parse_mount(const char *line, struct rundir_mount *ret)
{
	char id[33], mode[3];
	int at = 0;

	memset(ret, 0, sizeof(*ret));
	if (sscanf(line, "mount %u:%u %32[0-9a-f] %63s %63s %2s %n", &ret->major, &ret->minor, id,
		   ret->what.peer, ret->what.export_name, mode, &at) != 6 ||
	    at == 0 || strlen(id) != 32)
		return false;
	for (size_t i = 0; i < sizeof(ret->what.id); i++)
		if (sscanf(id + 2 * i, "%2hhx", &ret->what.id[i]) != 1)
			return false;
	ret->what.read_only = strcmp(mode, "ro") == 0;
	return (size_t)snprintf(ret->what.path, sizeof(ret->what.path), "%s", line + at) <
	       sizeof(ret->what.path);
}

static int rundir_save(struct rundir *rd)
{
	autofree char *path = rundir_path(rd->run, "record");
	autofree char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!path || !f) {
		if (f)
			fclose(f);
		return -ENOMEM;
	}
	for (size_t i = 0; i < rd->n_processes; i++)
		fprintf(f, "process %d %" PRIu64 "\n", rd->processes[i].pid,
			rd->processes[i].start_time);
	for (size_t i = 0; i < rd->n_mounts; i++)
		rundir_print_mount(f, &rd->mounts[i]);
	fprintf(f, "boot %" PRIx64 "\n", rd->boot_id);
	if (fclose(f) != 0)
		return -ENOMEM;
	return rundir_write_file(path, text, len, 0600);
}

static int rundir_push_process(struct rundir *rd, pid_t pid, uint64_t start)
{
	struct rundir_process *p;

	p = reallocarray(rd->processes, rd->n_processes + 1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	rd->processes = p;
	p[rd->n_processes++] = (struct rundir_process){.pid = pid, .start_time = start};
	return 0;
}

static int rundir_push_mount(struct rundir *rd, const struct rundir_mount *new, const char *path)
{
	struct rundir_mount *m = reallocarray(rd->mounts, rd->n_mounts + 1, sizeof(*m));
	char *copy;

	if (!m)
		return -ENOMEM;
	rd->mounts = m;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	m[rd->n_mounts] = *new;
	m[rd->n_mounts++].path = copy;
	return 0;
}

/* Lines that make no sense are passed over: the record is ours, and half a line is no news. */
static int rundir_load(struct rundir *rd)
{
	autofree char *path = rundir_path(rd->run, "record");
	struct rundir_mount mount;
	bool have_mount = false;
	char line[4200];
	FILE *f;
	int r = 0;

	if (!path)
		return -ENOMEM;
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (r >= 0 && fgets(line, sizeof(line), f)) {
		uint64_t start;
		int pid;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "process %d %" SCNu64, &pid, &start) == 2 && pid > 1)
			r = rundir_push_process(rd, pid, start);
		else if (strncmp(line, "mount ", 6) == 0)
			have_mount = rundir_parse_mount(line, &mount);
		else if (strncmp(line, "at ", 3) == 0 && have_mount)
			r = rundir_push_mount(rd, &mount, line + 3);
		else
			sscanf(line, "boot %" SCNx64, &rd->former_boot_id);
	}
	fclose(f);
	return r;
}

int rundir_add_process(struct rundir *rd, pid_t pid)
{
	uint64_t start;
	int r = rundir_process_start(pid, &start);

	if (r >= 0)
		r = rundir_push_process(rd, pid, start);
	return r < 0 ? r : rundir_save(rd);
}

int rundir_del_process(struct rundir *rd, pid_t pid)
{
	for (size_t i = 0; i < rd->n_processes; i++)
		if (rd->processes[i].pid == pid) {
			rd->processes[i] = rd->processes[--rd->n_processes];
			return rundir_save(rd);
		}
	return 0;
}

int rundir_add_mount(struct rundir *rd, unsigned major, unsigned minor, const char *path,
		     const struct launch_mount *what)
{
	struct rundir_mount m = {.major = major, .minor = minor, .what = *what};
	int r = strchr(path, '\n') ? -EINVAL : rundir_push_mount(rd, &m, path);

	return r < 0 ? r : rundir_save(rd);
}

int rundir_del_mount(struct rundir *rd, const char *path)
{
	for (size_t i = 0; i < rd->n_mounts; i++)
		if (strcmp(rd->mounts[i].path, path) == 0) {
			free(rd->mounts[i].path);
			rd->mounts[i] = rd->mounts[--rd->n_mounts];
			return rundir_save(rd);
		}
	return 0;
}

/* ---- opening, cleaning ---- */

static int rundir_make(const char *path, mode_t mode, char *why, size_t why_size)
{
	char part[4096];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, path[i] ? 0755 : mode) < 0 && errno != EEXIST) {
			int r = -errno;

			snprintf(why, why_size, "%s: %s", part, strerror(-r));
			return r;
		}
	}
	return 0;
}

static int rundir_lock(struct rundir *rd, pid_t *ret_owner, char *why, size_t why_size)
{
	autofree char *path = rundir_path(rd->run, "plenumd.pid");
	char text[24] = "";
	int len;

	if (!path)
		return -ENOMEM;
	rd->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (rd->lock_fd < 0) {
		int r = -errno;

		snprintf(why, why_size, "%s: %s", path, strerror(-r));
		return r;
	}
	if (flock(rd->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		ssize_t n = pread(rd->lock_fd, text, sizeof(text) - 1, 0);

		*ret_owner = n > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
		snprintf(why, why_size, "%s is locked", path);
		return -EBUSY;
	}
	/* Ours now, whoever wrote what is in it. */
	len = snprintf(text, sizeof(text), "%d\n", getpid());
	if (ftruncate(rd->lock_fd, 0) < 0 || pwrite(rd->lock_fd, text, (size_t)len, 0) != len)
		return -errno;
	return 0;
}

int rundir_open(const char *run, const char *state, struct rundir *ret, pid_t *ret_owner, char *why,
		size_t why_size)
{
	struct rundir rd = {.lock_fd = -1};
	int r;

	why[0] = '\0';
	r = rundir_make(run, 0755, why, why_size);
	if (r >= 0)
		r = rundir_make(state, 0700, why, why_size);
	if (r >= 0) {
		rd.run = realpath(run, NULL);
		rd.state = realpath(state, NULL);
		r = rd.run && rd.state ? 0 : -errno;
	}
	if (r >= 0)
		r = rundir_lock(&rd, ret_owner, why, why_size);
	if (r >= 0)
		r = rundir_load(&rd);
	if (r >= 0 && getrandom(&rd.boot_id, sizeof(rd.boot_id), 0) != sizeof(rd.boot_id))
		r = -EIO;
	if (r < 0) {
		rundir_done(&rd);
		return r;
	}
	*ret = rd;
	return 0;
}

void rundir_done(struct rundir *rd)
{
	for (size_t i = 0; i < rd->n_mounts; i++)
		free(rd->mounts[i].path);
	free(rd->mounts);
	free(rd->processes);
	cleanup_close(&rd->lock_fd);
	free(rd->run);
	free(rd->state);
	*rd = (struct rundir){.lock_fd = -1};
}

/* The pidfd is taken before the start time is compared, so the pid cannot change hands between. */
static void rundir_end_process(const struct rundir_process *p, struct events *ev)
{
	autoclose int pidfd = pidfd_open(p->pid, 0);
	struct pollfd pfd = {.fd = pidfd, .events = POLLIN};
	uint64_t start;

	if (pidfd < 0 || rundir_process_start(p->pid, &start) < 0 || start != p->start_time)
		return;
	events_add(ev, LOG_LEVEL_NOTICE, "agent", "ending process %d of an agent that was killed",
		   p->pid);
	if (pidfd_send_signal(pidfd, SIGKILL, NULL, 0) < 0)
		return;
	if (poll(&pfd, 1, RUNDIR_END_MS) <= 0)
		events_add(ev, LOG_LEVEL_WARNING, "agent", "process %d does not go away", p->pid);
}

static void rundir_end_mount(const struct rundir_mount *m, struct events *ev)
{
	unsigned major, minor;
	char fstype[32];

	if (mounts_lookup(m->path, fstype, sizeof(fstype), &major, &minor) <= 0 ||
	    strcmp(fstype, MOUNTS_FSTYPE) != 0 || major != m->major || minor != m->minor)
		return;
	events_add(ev, LOG_LEVEL_NOTICE, "agent", "unmounting %s, left by an agent that was killed",
		   m->path);
	if (mounts_unmount(m->path) < 0)
		events_add(ev, LOG_LEVEL_WARNING, "agent", "%s cannot be unmounted", m->path);
}

void rundir_clean(struct rundir *rd, struct events *ev)
{
	size_t kept = 0;
	int r;

	for (size_t i = 0; i < rd->n_processes; i++)
		rundir_end_process(&rd->processes[i], ev);
	rd->n_processes = 0;
	for (size_t i = 0; i < rd->n_mounts; i++) {
		if (rd->mounts[i].adopted) {
			rd->mounts[kept++] = rd->mounts[i];
			continue;
		}
		rundir_end_mount(&rd->mounts[i], ev);
		free(rd->mounts[i].path);
	}
	rd->n_mounts = kept;
	r = rundir_save(rd);
	if (r < 0)
		events_add(ev, LOG_LEVEL_WARNING, "agent", "%s/record: %s", rd->run, strerror(-r));
}

uint32_t rundir_next_epoch(struct rundir *rd)
{
	autofree char *path = rundir_path(rd->state, "epoch");
	uint32_t stored = 0, now = (uint32_t)time(NULL);
	char text[16];
	int len;

	if (path) {
		FILE *f = fopen(path, "re");

		if (f && fscanf(f, "%" SCNu32, &stored) != 1)
			stored = 0;
		if (f)
			fclose(f);
	}
	rd->epoch = MAX_OF(MAX_OF(rd->epoch, stored) + 1, now);
	len = snprintf(text, sizeof(text), "%u\n", rd->epoch);
	if (path && rundir_write_file(path, text, (size_t)len, 0600) < 0)
		log_debug("%s could not be written; the clock stands in for it", path);
	return rd->epoch;
}

int rundir_open_key(const struct rundir *rd)
{
	autofree char *path = rundir_path(rd->run, "handle-key");
	char key[LAUNCH_KEY_BYTES];
	struct stat st;
	int fd, r;

	if (!path)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size == sizeof(key))
		return fd;
	cleanup_close(&fd);
	if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
		return -EIO;
	r = rundir_write_file(path, key, sizeof(key), 0600);
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
