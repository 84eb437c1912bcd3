/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Searches /proc for processes that use mounts. The child writes the result into memory that it
 * shares with the monitor, which ends the child if the search takes too long.
 */
#include "agent/supervise/mounts/mount_users.h"
#include "agent/base/child/child_task.h"
#include "agent/supervise/mounts/mountinfo.h"
#include "netcfg/base/base.h"
#include "netcfg/base/text.h"
#include "netcfg/base/vec.h"
#include <dirent.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Maximum number of places at which a mount namespace has the mounts. */
#define PLACES_MAX (4 * MOUNT_USERS_MOUNTS)

struct place { /* a path at which a mount namespace has a mount */
	char *path;
	size_t len;
	uint32_t mount; /* index of the mount */
};

struct places {
	char ns[64]; /* the mount namespace; "": none was read */
	char *root;  /* the root directory from which they were read */
	struct place *all;
	size_t n;
};

struct mount_search {
	struct loop *loop;
	struct child_task *child;
	struct loop_source *timer;
	mount_search_done done;
	void *user;
	char **paths;
	size_t n;
	struct mount_users *found; /* shared with the child */
	bool killed;		   /* the child has exceeded the time limit */
	/* In the child: device numbers of the mounts, and their places in the own mount namespace
	 * and in that of the process that is being examined. */
	struct mountinfo *devices;
	struct places own, other;
};

/* ------------------------------------------------------------------ in the child: places */

static void places_clear(struct places *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->all[i].path);
	free(p->all);
	free(p->root);
	*p = (struct places){.n = 0};
}

/* Adds a place. mountinfo(5) of a process shows paths below the root directory of the process, but
 * links in /proc show paths below the root of its mount namespace. */
static void place_add(struct places *p, const char *point, uint32_t mount)
{
	const bool below = p->root && p->root[0] && strcmp(p->root, "/") != 0;
	char path[2 * PATH_MAX];
	char *copy;

	snprintf(path, sizeof(path), "%s%s", below ? p->root : "",
		 below && strcmp(point, "/") == 0 ? "" : point);
	copy = p->n < PLACES_MAX ? strdup(path) : NULL;
	struct place *at = copy ? vec_add(&p->all, &p->n, sizeof(*at)) : NULL;

	if (at)
		*at = (struct place){copy, strlen(copy), mount};
	else
		free(copy);
}

struct filling {
	struct mount_search *s;
	struct places *to;
};

static int take_place(void *user, const char *point, const struct mountinfo *is)
{
	struct filling *f = user;

	for (size_t i = 0; i < f->s->n; i++) {
		const struct mountinfo *want = &f->s->devices[i];

		if (want->fstype[0] && is->major == want->major && is->minor == want->minor) {
			place_add(f->to, point, (uint32_t)i);
			break;
		}
	}
	return 0;
}

/* Sets the places of the mounts in the mount namespace of a process. */
static void places_read(struct mount_search *s, const char *pid, struct places *ret)
{
	struct filling f = {s, ret};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/mountinfo", pid);
	(void)mountinfo_each(path, take_place, &f);
}

/* Reads the link /proc/PID/NAME; "" if it cannot be read. */
static void link_of(const char *pid, const char *name, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, name);
	n = readlink(path, buf, size - 1);
	buf[n > 0 ? n : 0] = '\0';
}

/* Returns the places of the mounts in the process's mount namespace. A process with another root
 * directory does not see all mounts of its namespace, so its places are not used for others. */
static const struct places *places_of(struct mount_search *s, const char *pid)
{
	char name[sizeof(s->own.ns)], root[PATH_MAX];

	link_of(pid, "ns/mnt", name, sizeof(name));
	if (strcmp(name, s->own.ns) == 0 || !name[0])
		return &s->own;
	link_of(pid, "root", root, sizeof(root));
	if (strcmp(name, s->other.ns) != 0 || !s->other.root || !root[0] ||
	    (strcmp(s->other.root, "/") != 0 && strcmp(s->other.root, root) != 0)) {
		places_clear(&s->other);
		s->other.root = strdup(root);
		places_read(s, pid, &s->other);
		memcpy(s->other.ns, name, sizeof(name));
	}
	return &s->other;
}

/* ------------------------------------------------------------------ in the child: processes */

struct examined { /* the process that is being examined */
	struct mount_search *s;
	const char *pid;
	const struct places *places;
	struct mount_user *as; /* its entry; NULL: it uses no mount so far */
	uint32_t n;	       /* count of the process's uses of mounts */
	bool full;	       /* the list has no room for it */
	bool denied;	       /* the kernel does not let the agent examine it */
	pid_t thread;	       /* the thread whose open files were examined last; 0: none */
};

/* Reads the name of a program; other characters than printable ASCII become '?'. */
static void name_of(const char *pid, char *buf, size_t size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(buf, (int)size, f))
		snprintf(buf, size, "?");
	if (f)
		fclose(f);
	buf[strcspn(buf, "\n")] = '\0';
	for (char *c = buf; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

static void note_user(struct examined *x, uint32_t mount)
{
	struct mount_users *u = x->s->found;

	if (u->n < MOUNT_USERS_MAX) {
		x->as = &u->list[u->n];
		*x->as = (struct mount_user){.mount = mount, .pid = (pid_t)atoi(x->pid)};
		name_of(x->pid, x->as->program, sizeof(x->as->program));
	} else {
		x->full = true;
	}
	u->n++;
}

/* Copies the name of a file; control characters, and all bytes of a name that is not UTF-8, become
 * '?'. */
static void copy_file(const char *file, char *buf, size_t size)
{
	const size_t len = MIN_OF(strlen(file), size - 1);
	bool is_utf8;

	memset(buf, 0, size);
	memcpy(buf, file, len);
	is_utf8 = text_is_utf8(buf, strlen(buf));
	for (char *c = buf; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f || (!is_utf8 && *c & 0x80))
			*c = '?';
}

static void note_file(struct mount_user *as, const char *file)
{
	const uint32_t n = MIN_OF(as->n_files, MOUNT_USER_FILES);
	char copy[MOUNT_USER_FILE_MAX];

	copy_file(file, copy, sizeof(copy));
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(as->files[i], copy) == 0)
			return;
	if (n < MOUNT_USER_FILES)
		memcpy(as->files[n], copy, sizeof(copy));
	as->n_files++;
}

/* Notes the use if the link in /proc leads to a mount. Reading the link enters no file system. */
static void examine_link(struct examined *x, const char *link)
{
	char target[PATH_MAX];
	const ssize_t n = readlink(link, target, sizeof(target) - 1);
	const struct place *at = NULL;

	if (n <= 0 || target[0] != '/')
		return;
	target[n] = '\0';
	for (size_t i = 0; i < x->places->n; i++) {
		const struct place *p = &x->places->all[i];

		if ((!at || p->len > at->len) && strncmp(target, p->path, p->len) == 0 &&
		    (target[p->len] == '/' || target[p->len] == '\0'))
			at = p;
	}
	if (!at)
		return;
	if (!x->as && !x->full)
		note_user(x, at->mount);
	if (x->as)
		note_file(x->as, target);
}

static void note_denied(struct examined *x, int error)
{
	struct mount_users *u = x->s->found;

	if (x->denied)
		return;
	x->denied = true;
	if (u->n_denied++ > 0)
		return;
	u->denied = (pid_t)atoi(x->pid);
	u->denied_error = error;
}

/* Examines the links in a folder. Returns their number, or negative errno. */
static int examine_links(struct examined *x, const char *folder)
{
	char path[300];
	struct dirent *e;
	DIR *d = opendir(folder);
	int n = 0;

	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%.200s/%.60s", folder, e->d_name);
		examine_link(x, path);
		n++;
	}
	closedir(d);
	return n;
}

/* Calls cb for each thread until cb returns false. A thread can have its own directories and open
 * files, and the other threads of a process continue if its first one has ended. */
static void each_thread(struct examined *x, bool (*cb)(struct examined *x, const char *tid))
{
	char path[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.20s/task", x->pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && !cb(x, e->d_name))
			break;
	if (d)
		closedir(d);
}

/* Returns whether the thread has the same table of open files as the thread that was examined
 * before it. Most threads of a process have, and their number can be large. */
static bool shares_files(const struct examined *x, pid_t tid)
{
	return x->thread && syscall(SYS_kcmp, x->thread, tid, KCMP_FILES, 0, 0) == 0;
}

static bool examine_thread(struct examined *x, const char *tid)
{
	static const char *const links[] = {"cwd", "root"};
	char path[100];
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		snprintf(path, sizeof(path), "/proc/%.20s/task/%.20s/%s", x->pid, tid, links[i]);
		examine_link(x, path);
	}
	if (shares_files(x, (pid_t)atoi(tid)))
		return true;
	snprintf(path, sizeof(path), "/proc/%.20s/task/%.20s/fd", x->pid, tid);
	r = examine_links(x, path);
	if (r == -EACCES || r == -EPERM)
		note_denied(x, -r);
	x->thread = (pid_t)atoi(tid);
	return true;
}

/* Examines the mapped files. All threads of a process have the same memory; one that has ended has
 * none. */
static bool examine_memory(struct examined *x, const char *tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/map_files", tid);
	return examine_links(x, path) <= 0;
}

static struct mount_user *known(const struct mount_search *s, pid_t pid)
{
	struct mount_users *u = s->found;

	for (uint32_t i = 0; i < MIN_OF(u->n, MOUNT_USERS_MAX); i++)
		if (u->list[i].pid == pid)
			return &u->list[i];
	return NULL;
}

static void examine(struct mount_search *s, const char *pid, bool mapped)
{
	struct examined x = {.s = s, .pid = pid, .places = places_of(s, pid)};

	if (x.places->n == 0)
		return;
	if (!mapped) {
		each_thread(&x, examine_thread);
		return;
	}
	x.as = known(s, (pid_t)atoi(pid));
	/* The kernel may hold the lock of this process's memory. Then the monitor ends the search,
	 * and names the process. */
	s->found->busy = (pid_t)atoi(pid);
	if (!x.as && s->found->n < MOUNT_USERS_MAX)
		each_thread(&x, examine_memory); /* a mapped file may have no descriptor */
	s->found->busy = 0;
}

static void examine_all(struct mount_search *s, bool mapped)
{
	struct dirent *e;
	DIR *d = opendir("/proc");

	while (d && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			examine(s, e->d_name, mapped);
	if (d)
		closedir(d);
}

static int work(void *user, int channel)
{
	struct mount_search *s = user;

	(void)channel;
	s->devices = calloc(MAX_OF(s->n, 1U), sizeof(*s->devices));
	if (!s->devices)
		return 1;
	for (size_t i = 0; i < s->n; i++)
		if (mountinfo_top(s->paths[i], &s->devices[i]) <= 0)
			s->devices[i].fstype[0] = '\0';
	link_of("self", "ns/mnt", s->own.ns, sizeof(s->own.ns));
	places_read(s, "self", &s->own);
	examine_all(s, false);
	examine_all(s, true);
	s->found->incomplete = false;
	return 0;
}

/* ------------------------------------------------------------------ in the monitor */

static void search_free(struct mount_search *s)
{
	child_task_forget(s->child);
	loop_source_free(s->timer);
	if (s->found)
		munmap(s->found, sizeof(*s->found));
	for (size_t i = 0; s->paths && i < s->n; i++)
		free(s->paths[i]);
	free(s->paths);
	free(s);
}

static void conclude(struct mount_search *s, int error)
{
	/* The callback may free the object that refers to s. */
	s->done(s->user, error, s->found, (const char *const *)s->paths);
	search_free(s);
}

static void on_end(void *user, int status, const char *how)
{
	struct mount_search *s = user;

	(void)how;
	s->child = NULL; /* the child task frees itself */
	conclude(s, status == 0 || s->killed ? 0 : -EIO);
}

static int on_late(void *user)
{
	struct mount_search *s = user;

	if (s->killed) { /* the child does not end, because it is blocked in the kernel */
		conclude(s, 0);
		return 0;
	}
	s->killed = true;
	kill(child_task_pid(s->child), SIGKILL); /* the child is not reaped yet */
	loop_timer_arm(s->timer, NSEC_PER_SEC);
	return 0;
}

static int copy_paths(struct mount_search *s, const char *const *paths, size_t n)
{
	s->paths = calloc(MAX_OF(n, 1U), sizeof(*s->paths));
	if (!s->paths)
		return -ENOMEM;
	for (; s->n < MIN_OF(n, MOUNT_USERS_MOUNTS); s->n++) {
		s->paths[s->n] = strdup(paths[s->n]);
		if (!s->paths[s->n])
			return -ENOMEM;
	}
	return 0;
}

int mount_search_start(struct loop *loop, const char *const *paths, size_t n,
		       mount_search_done done, void *user, struct mount_search **ret)
{
	struct mount_search *s = calloc(1, sizeof(*s));
	const struct child_task_setup setup = {
		.loop = loop, .name = "plenumd-users", .work = work, .on_end = on_end, .user = s};
	int r;

	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->done = done;
	s->user = user;
	s->found = mmap(NULL, sizeof(*s->found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (s->found == MAP_FAILED)
		s->found = NULL;
	r = s->found ? copy_paths(s, paths, n) : -ENOMEM;
	if (r == 0) {
		s->found->incomplete = true; /* wait until the child has ended the search */
		r = loop_add_timer(loop, NSEC_PER_MSEC, on_late, s, &s->timer);
	}
	if (r >= 0)
		r = child_task_start(&setup, &s->child);
	if (r < 0) {
		search_free(s);
		return r;
	}
	loop_timer_arm(s->timer, MOUNT_USERS_LIMIT_NS);
	*ret = s;
	return 0;
}

struct mount_search *mount_search_cancel(struct mount_search *s)
{
	if (!s)
		return NULL;
	if (s->child)
		kill(child_task_pid(s->child), SIGKILL);
	search_free(s);
	return NULL;
}

/* ------------------------------------------------------------------ texts */

#define NAMED_MAX 5U /* maximum number of processes that a sentence names */

bool mount_users_any(const struct mount_users *u)
{
	return u->n > 0 || u->n_denied > 0 || u->incomplete;
}

static uint32_t listed(const struct mount_users *u)
{
	return MIN_OF(u->n, MOUNT_USERS_MAX);
}

void mount_users_describe(const struct mount_users *u, char *buf, size_t size)
{
	const uint32_t named = MIN_OF(listed(u), NAMED_MAX);
	size_t len = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < named && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%sprocess %d (%s)", len ? ", " : "",
					(int)u->list[i].pid, u->list[i].program);
	if (u->n > named && len < size)
		snprintf(buf + len, size - len, " and %u more", u->n - named);
}

static void line_of(const struct mount_user *is, const char *const *paths, char *buf, size_t size)
{
	const uint32_t named = MIN_OF(is->n_files, MOUNT_USER_FILES);
	size_t len = (size_t)snprintf(buf, size, "%s is in use by process %d (%s)",
				      paths[is->mount], (int)is->pid, is->program);

	for (uint32_t i = 0; i < named && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s", i ? ", " : ": ",
					is->files[i]);
	if (is->n_files > named && len < size)
		snprintf(buf + len, size - len, " and %u more", is->n_files - named);
}

/* Writes a line about processes that the list does not name. */
static bool rest_line(const struct mount_users *u, uint32_t i, char *buf, size_t size)
{
	const uint32_t n_more = u->n - listed(u);

	if (n_more > 0 && i-- == 0)
		snprintf(buf, size, "%u more processes use the mounts", n_more);
	else if (u->n_denied > 0 && i-- == 0)
		snprintf(buf, size,
			 "the kernel does not let the agent examine %u processes, such as process "
			 "%d (%s), so they may use the mounts; the agent needs CAP_SYS_PTRACE, and "
			 "no security module may deny it",
			 u->n_denied, (int)u->denied, strerror(u->denied_error));
	else if (u->incomplete && u->busy && i == 0)
		snprintf(buf, size,
			 "the memory of process %d cannot be examined, so it may use the mounts",
			 (int)u->busy);
	else if (u->incomplete && i == 0)
		snprintf(buf, size,
			 "the search for processes that use the mounts did not end in time, so "
			 "more may use them");
	else
		return false;
	return true;
}

bool mount_users_line(const struct mount_users *u, const char *const *paths, uint32_t i, char *buf,
		      size_t size)
{
	if (i >= listed(u))
		return rest_line(u, i - listed(u), buf, size);
	line_of(&u->list[i], paths, buf, size);
	return true;
}

json_t *mount_users_to_json(const struct mount_users *u, const char *const *paths)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < listed(u); i++) {
		const struct mount_user *is = &u->list[i];
		json_t *files = json_array();

		for (uint32_t j = 0; j < MIN_OF(is->n_files, MOUNT_USER_FILES); j++)
			json_array_append_new(files, json_string(is->files[j]));
		json_array_append_new(all, json_pack("{s:s, s:i, s:s, s:o}", "mount",
						     paths[is->mount], "pid", (int)is->pid,
						     "program", is->program, "files", files));
	}
	return all;
}
