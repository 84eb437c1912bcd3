/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/mounts.h"
#include "agent/loop.h"
#include "agent/spawn.h"
#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define MOUNTS_UNMOUNT_MS 3000

struct mount_point {
	struct launch_mount what; /* path as configured, export, peer, id, fuse_fd */
	char real[sizeof(((struct launch_mount *)0)->path)];
	struct mount_point *next;
};

struct mounts {
	struct rundir *rundir;
	struct mount_point *points;
};

int mounts_new(struct rundir *rd, struct mounts **ret)
{
	struct mounts *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->rundir = rd;
	*ret = m;
	return 0;
}

struct mounts *mounts_free(struct mounts *m)
{
	if (!m)
		return NULL;
	while (m->points) {
		struct mount_point *next = m->points->next;

		cleanup_close(&m->points->what.fuse_fd);
		free(m->points);
		m->points = next;
	}
	free(m);
	return NULL;
}

/* ---- looking at mount points without entering them ---- */

/* mountinfo(5) writes blanks, tabs, newlines and backslashes as \ooo. */
static void mounts_unescape(char *s)
{
	char *to = s;

	for (; *s; s++, to++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*to = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to = *s;
		}
	}
	*to = '\0';
}

int mounts_lookup(const char *path, char *fstype, size_t size, unsigned *ret_major,
		  unsigned *ret_minor)
{
	autofree char *line = NULL;
	size_t cap = 0;
	int found = 0;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	if (!f)
		return -errno;
	/* "36 35 98:0 /root /mount/point options... - fstype source superoptions" */
	while (getline(&line, &cap, f) > 0) {
		char *save = NULL, *dev, *point, *rest = strstr(line, " - ");
		unsigned major, minor;

		if (!rest)
			continue;
		*rest = '\0';
		rest += 3;
		strtok_r(line, " ", &save);
		strtok_r(NULL, " ", &save);
		dev = strtok_r(NULL, " ", &save);
		strtok_r(NULL, " ", &save);
		point = strtok_r(NULL, " ", &save);
		if (!dev || !point || sscanf(dev, "%u:%u", &major, &minor) != 2)
			continue;
		mounts_unescape(point);
		if (strcmp(point, path) != 0)
			continue;
		rest[strcspn(rest, " ")] = '\0';
		snprintf(fstype, size, "%s", rest);
		*ret_major = major;
		*ret_minor = minor;
		found = 1; /* the last line is the topmost mount */
	}
	fclose(f);
	return found;
}

static bool mounts_dir_is_empty(int fd)
{
	DIR *d = fdopendir(fd);
	const struct dirent *e;
	bool empty = true;

	if (!d) {
		close(fd);
		return false;
	}
	while (empty && (e = readdir(d)))
		empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	closedir(d);
	return empty;
}

/* mountinfo comes first: opening a dead or deaf FUSE mount fails or waits. */
static int mounts_check_point(const char *path, char *why)
{
	unsigned major, minor;
	char fstype[32];
	int fd, r = mounts_lookup(path, fstype, sizeof(fstype), &major, &minor);

	if (r > 0) {
		snprintf(why, MOUNTS_WHY_MAX,
			 "mount point %.120s is busy: a %.20s file system is mounted on it; "
			 "unmount that or change its path",
			 path, fstype);
		return -EBUSY;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		r = -errno;
		snprintf(why, MOUNTS_WHY_MAX,
			 "mount point %.150s: %s; make an empty directory there", path,
			 strerror(-r));
		return r;
	}
	if (!mounts_dir_is_empty(fd)) {
		snprintf(why, MOUNTS_WHY_MAX,
			 "mount point %.120s is busy: the directory is not empty; empty it or "
			 "change its path",
			 path);
		return -ENOTEMPTY;
	}
	return 0;
}

/* The path as mountinfo(5) writes it: its parents' links resolved, the mount itself not looked at.
 */
static int mounts_canonical(const char *path, char *buf, size_t size)
{
	autofree char *parent = strdup(path), *real = NULL;
	char *slash;

	if (!parent)
		return -ENOMEM;
	slash = strrchr(parent, '/');
	while (slash && slash > parent && !slash[1]) { /* trailing slashes */
		*slash = '\0';
		slash = strrchr(parent, '/');
	}
	if (!slash || !slash[1])
		return -EINVAL;
	*slash = '\0';
	real = realpath(*parent ? parent : "/", NULL);
	if (!real)
		return -errno;
	if ((size_t)snprintf(buf, size, "%s/%s", strcmp(real, "/") == 0 ? "" : real, slash + 1) >=
	    size)
		return -ENAMETOOLONG;
	return 0;
}

/* ---- mounting ---- */

struct mounts_option {
	const char *key, *value; /* NULL: a flag */
};

static int mounts_configure(int fs, const struct mounts_option *options, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fsconfig(fs, options[i].value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG,
			     options[i].key, options[i].value, 0) < 0)
			return -errno;
	return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ? -errno : 0;
}

/* A file system that is nowhere yet, and goes with its descriptor. Which it is in *ret_major and
 * *ret_minor. */
static int mounts_create(const struct launch_mount *w, int fuse_fd, unsigned *ret_major,
			 unsigned *ret_minor)
{
	char source[2 * PLENUM_NAME_MAX + 2], fuse[16], max_read[16];
	struct mounts_option options[] = {
		{"source", source},	{"subtype", MOUNTS_SUBTYPE},
		{"fd", fuse},		{"rootmode", "40000"},
		{"user_id", "0"},	{"group_id", "0"},
		{"max_read", max_read}, {"default_permissions", NULL},
		{"allow_other", NULL},	{"ro", NULL}, /* last */
	};
	unsigned attr = MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID;
	autoclose int fs = fsopen("fuse", FSOPEN_CLOEXEC);
	autoclose int mnt = -1;
	struct statx st;
	int r;

	if (fs < 0)
		return -errno;
	snprintf(source, sizeof(source), "%s:%s", w->peer, w->export_name);
	snprintf(fuse, sizeof(fuse), "%d", fuse_fd);
	snprintf(max_read, sizeof(max_read), "%d", MOUNTS_MAX_READ);
	r = mounts_configure(fs, options, ARRAY_SIZE(options) - (w->read_only ? 0 : 1));
	if (r < 0)
		return r;
	mnt = fsmount(fs, FSMOUNT_CLOEXEC, attr | (w->read_only ? MOUNT_ATTR_RDONLY : 0));
	/* Without AT_STATX_DONT_SYNC it would ask the worker that is not there yet. */
	if (mnt < 0 || statx(mnt, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0)
		return -errno;
	*ret_major = st.stx_dev_major;
	*ret_minor = st.stx_dev_minor;
	return fd_take(mnt);
}

/* The record comes first, so that an agent that is killed leaves no mount that its successor does
 * not know. */
static int mounts_attach(struct mounts *m, const struct mount_point *p, int mnt, unsigned major,
			 unsigned minor)
{
	int r = rundir_add_mount(m->rundir, major, minor, p->real, &p->what);

	if (r < 0) /* serving matters more */
		log_warning("%s is not in the record: %s", p->what.path, strerror(-r));
	if (move_mount(mnt, "", AT_FDCWD, p->real, MOVE_MOUNT_F_EMPTY_PATH) == 0)
		return 0;
	r = -errno;
	rundir_del_mount(m->rundir, p->real);
	return r;
}

static int mounts_mount(struct mounts *m, struct mount_point *p, char *why)
{
	struct launch_mount *w = &p->what;
	autoclose int fd = -1, mnt = -1;
	unsigned major = 0, minor = 0;
	int r = mounts_canonical(w->path, p->real, sizeof(p->real));

	if (r < 0) {
		snprintf(why, MOUNTS_WHY_MAX,
			 "mount point %.150s: %s; make an empty directory there", w->path,
			 strerror(-r));
		return r;
	}
	r = mounts_check_point(p->real, why);
	if (r < 0)
		return r;
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		r = -errno;
		snprintf(why, MOUNTS_WHY_MAX, "/dev/fuse: %s; is the fuse module loaded?",
			 strerror(-r));
		return r;
	}
	mnt = mounts_create(w, fd, &major, &minor);
	r = mnt < 0 ? mnt : mounts_attach(m, p, mnt, major, minor);
	if (r < 0) {
		snprintf(why, MOUNTS_WHY_MAX, "mounting %.40s:%.40s on %.100s: %s", w->peer,
			 w->export_name, w->path, strerror(-r));
		return r;
	}
	w->fuse_fd = fd_take(fd);
	return 0;
}

static bool mounts_same(const struct launch_mount *a, const struct launch_mount *b)
{
	return strcmp(a->path, b->path) == 0 && strcmp(a->export_name, b->export_name) == 0 &&
	       strcmp(a->peer, b->peer) == 0 && a->read_only == b->read_only;
}

/* Under this name the service manager keeps the descriptor over the agent's death. */
#define MOUNTS_FD_NAME_MAX 48

static const char *mounts_fd_name(const struct launch_mount *w, char *buf)
{
	char *p = buf + sprintf(buf, "fuse-");

	for (size_t i = 0; i < sizeof(w->id); i++)
		p += sprintf(p, "%02x", w->id[i]);
	return buf;
}

static bool mounts_still_there(const struct rundir_mount *rm)
{
	unsigned major, minor;
	char fstype[32];

	return mounts_lookup(rm->path, fstype, sizeof(fstype), &major, &minor) > 0 &&
	       strcmp(fstype, MOUNTS_FSTYPE) == 0 && major == rm->major && minor == rm->minor;
}

int mounts_adopt(struct mounts *m, int fd, const char *name)
{
	for (size_t i = 0; i < m->rundir->n_mounts; i++) {
		struct rundir_mount *rm = &m->rundir->mounts[i];
		char own_name[MOUNTS_FD_NAME_MAX];
		struct mount_point *p;

		if (strcmp(mounts_fd_name(&rm->what, own_name), name) != 0 ||
		    !mounts_still_there(rm) || strlen(rm->path) >= sizeof(p->real))
			continue;
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->what = rm->what;
		p->what.fuse_fd = fd;
		strcpy(p->real, rm->path);
		p->next = m->points;
		m->points = p;
		rm->adopted = true;
		return 0;
	}
	return -ENOENT;
}

int mounts_get(struct mounts *m, struct launch_mount *want, char *why)
{
	char name[MOUNTS_FD_NAME_MAX];
	struct mount_point *p;
	int r;

	for (p = m->points; p; p = p->next)
		if (mounts_same(&p->what, want))
			goto found;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->what = *want;
	p->what.fuse_fd = -1;
	if (getrandom(p->what.id, sizeof(p->what.id), 0) != sizeof(p->what.id))
		r = -EIO;
	else
		r = mounts_mount(m, p, why);
	if (r < 0) {
		free(p);
		return r;
	}
	loop_store_fd(p->what.fuse_fd, mounts_fd_name(&p->what, name));
	p->next = m->points;
	m->points = p;
found:
	memcpy(want->id, p->what.id, sizeof(want->id));
	want->fuse_fd = p->what.fuse_fd;
	return 0;
}

/* ---- unmounting ---- */

/* A child: it may hang where a file system has data to flush and nobody answers. */
static void __attribute__((noreturn)) mounts_unmount_child(const char *path)
{
	int r;

	/* It must hold no FUSE descriptor, or closing ours would not end a hung mount. */
	close_range(3, ~0U, 0);
	r = umount2(path, UMOUNT_NOFOLLOW);
	if (r < 0 && errno == EBUSY)
		r = umount2(path, UMOUNT_NOFOLLOW | MNT_DETACH);
	_exit(r < 0 && errno != EINVAL ? 1 : 0);
}

int mounts_unmount(const char *path)
{
	autoclose int pidfd = -1;
	struct pollfd pfd = {.events = POLLIN};
	siginfo_t si = {0};
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0)
		mounts_unmount_child(path);
	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0) {
		waitpid(pid, NULL, 0);
		return 0;
	}
	pfd.fd = pidfd;
	/* One that hangs past the limit goes when the descriptor it waits for is closed; nobody
	 * waits for it then, so the init process or our end collects it. */
	if (poll(&pfd, 1, MOUNTS_UNMOUNT_MS) <= 0)
		return -ETIMEDOUT;
	if (waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED) < 0)
		return -errno;
	return si.si_code == CLD_EXITED && si.si_status == 0 ? 0 : -EIO;
}

static void mounts_release(struct mounts *m, struct mount_point *p)
{
	char name[MOUNTS_FD_NAME_MAX];
	int r = mounts_unmount(p->real);

	if (r < 0)
		log_debug("unmounting %s: %s", p->what.path, strerror(-r));
	rundir_del_mount(m->rundir, p->real);
	loop_unstore_fd(mounts_fd_name(&p->what, name));
	cleanup_close(&p->what.fuse_fd);
	free(p);
}

static bool mounts_in_use(const struct launch_mount *w, const struct launch_config *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < c[i].n_mounts; k++)
			if (mounts_same(w, &c[i].mounts[k]))
				return true;
	return false;
}

void mounts_keep(struct mounts *m, const struct launch_config *configs, size_t n)
{
	for (struct mount_point **at = &m->points; *at;) {
		struct mount_point *p = *at;

		if (mounts_in_use(&p->what, configs, n)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		mounts_release(m, p);
	}
}

void mounts_drop(struct mounts *m, const char *path)
{
	for (struct mount_point **at = &m->points; *at; at = &(*at)->next) {
		struct mount_point *p = *at;

		if (strcmp(p->what.path, path) != 0)
			continue;
		*at = p->next;
		mounts_release(m, p);
		return;
	}
}
