/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of mounts: creates and removes them. mounts_adopt.c adopts those of an earlier agent.
 * mountinfo.c examines mount points without entering them; unmount.c unmounts without blocking. */
#include "agent/supervise/mounts/mounts.h"
#include "agent/base/child/async_open.h"
#include "agent/supervise/handover/fd_store.h"
#include "agent/supervise/mounts/mount_fs.h"
#include "agent/supervise/mounts/mount_place.h"
#include "agent/supervise/mounts/mount_spare.h"
#include "agent/supervise/mounts/mountinfo.h"
#include "agent/supervise/mounts/mounts_internal.h"
#include "agent/supervise/mounts/unmount.h"
#include "netcfg/base/os/memfd.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/random.h>

static void on_spare(void *user, int fd)
{
	struct mount_point *p = user;

	cleanup_close(&p->spare_fd);
	p->spare_fd = fd;
}

void mount_point_ask_spare(struct mount_point *p)
{
	/* Without a spare mount, for example for lack of memory, an unmount by another program ends
	 * the FUSE connection. */
	(void)mount_spare_ask(p->mounts->setup.loop, p->real, p->major, p->minor, on_spare, p,
			      &p->spare);
}

static void point_free(struct mount_point *p)
{
	unmount_free(p->leaving);
	loop_source_free(p->gone_source); /* removed before its descriptor is closed */
	cleanup_close(&p->what.fuse_fd);
	cleanup_close(&p->what.state_fd);
	cleanup_close(&p->bell_fd);
	cleanup_close(&p->mnt_fd);
	cleanup_close(&p->spare_fd);
	mount_spare_forget(p->spare);
	free(p);
}

struct mounts *mounts_free(struct mounts *m)
{
	if (!m)
		return NULL;
	while (m->points) {
		struct mount_point *next = m->points->next;

		point_free(m->points);
		m->points = next;
	}
	loop_source_free(m->info_source);
	loop_source_free(m->look_timer);
	loop_source_free(m->place_timer);
	async_open_done(&m->dirs);
	cleanup_close(&m->info_fd);
	free(m);
	return NULL;
}

void mounts_say(const struct mounts *m, enum log_level level, const char *fmt, ...)
{
	char text[EVENTS_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	events_add(m->setup.events, level, "mounts", "%s", text);
}

struct mounts_rule mounts_rule_of(const struct mounts *m, const char *path)
{
	return m->setup.rule ? m->setup.rule(m->setup.user, path)
			     : (struct mounts_rule){.attributes = 0};
}

/* ---- mounting ---- */

/*
 * Attaches the mount. The record is written first, so that an agent that is killed here leaves no
 * mount that the next agent does not know.
 */
static int attach(struct mounts *m, const struct mount_point *p, int dir)
{
	const bool by_command = mounts_rule_of(m, p->what.path).by_command;
	int r = rundir_add_mount(m->setup.rundir, p->major, p->minor, p->real, &p->what,
				 by_command);

	if (r < 0) /* the mount is attached nevertheless, because programs wait for it */
		mounts_say(m, LOG_LEVEL_WARNING,
			   "cannot record the mount %s: %s; the next agent may not find it",
			   p->what.path, strerror(-r));
	if (move_mount(p->mnt_fd, "", dir, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) ==
	    0) {
		if (by_command)
			rundir_mark_mount(m->setup.rundir, p->real, false);
		return 0;
	}
	r = -errno;
	rundir_del_mount(m->setup.rundir, p->real);
	return r;
}

/* Returns whether an earlier mount is still attached at the path of p. */
static bool replaces_other(const struct mounts *m, const struct mount_point *p)
{
	for (const struct mount_point *o = m->points; o; o = o->next)
		if (o != p && o->mnt_fd < 0 && strcmp(o->what.path, p->what.path) == 0)
			return true;
	return false;
}

/* Attaches the file system to its mount point if possible. Until then the worker serves the mount,
 * but no program can use the mount or block on it. */
void mount_point_place(struct mounts *m, struct mount_point *p)
{
	struct reason why = {.code = ""};
	autoclose int dir = -1;
	int r;

	if (!p->may_attach || replaces_other(m, p)) /* on_unmount attaches it later */
		return;
	r = dir = mount_place_open(&m->dirs, p->what.path, p->real, sizeof(p->real), &why);
	if (r >= 0) {
		r = attach(m, p, dir);
		if (r < 0)
			reason_set_text(&why, "mounting %.40s:%.40s on %.100s: %s", p->what.peer,
					p->what.export_name, p->what.path, strerror(-r));
	}
	if (r >= 0) {
		p->spare_fd = mount_spare_new(p->mnt_fd);
		cleanup_close(&p->mnt_fd);
		p->mnt_fd = -1;
		if (reason_is_set(&p->why))
			mounts_say(m, LOG_LEVEL_NOTICE, "mounted %s", p->what.path);
		reason_clear(&p->why);
		return;
	}
	if (!reason_equal(&p->why, &why))
		mounts_say(m, LOG_LEVEL_WARNING, "%s", why.text);
	p->why = why;
	loop_timer_arm(m->place_timer, MOUNTS_PLACE_NS);
}

void mounts_place_all(struct mounts *m)
{
	for (struct mount_point *p = m->points; p; p = p->next)
		if (p->mnt_fd >= 0)
			mount_point_place(m, p);
}

static int mount_one(struct mounts *m, struct mount_point *p, struct reason *why)
{
	struct launch_mount *w = &p->what;
	const struct mounts_rule rule = mounts_rule_of(m, w->path);
	autoclose int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	int r = -errno;

	if (fd < 0) {
		reason_set_text(why, "/dev/fuse: %s; is the fuse module loaded?", strerror(-r));
		return r;
	}
	p->mnt_fd = mount_fs_new(w, &rule, fd, &p->major, &p->minor);
	if (p->mnt_fd < 0) {
		r = p->mnt_fd;
		reason_set_text(why, "mounting %.40s:%.40s on %.100s: %s", w->peer, w->export_name,
				w->path, strerror(-r));
		return r;
	}
	w->fuse_fd = fd_take(fd);
	p->made_ns = clock_now_ns();
	if (!loop_timer_armed(m->place_timer))
		loop_timer_arm(m->place_timer, MOUNTS_PLACE_NS);
	return 0;
}

static const char *id_name(const char *head, const struct launch_mount *w, char *buf)
{
	char *p = buf + sprintf(buf, "%s-", head);

	for (size_t i = 0; i < sizeof(w->id); i++)
		p += sprintf(p, "%02x", w->id[i]);
	return buf;
}

const char *mount_point_fd_name(const struct launch_mount *w, char *buf)
{
	return id_name("fuse", w, buf);
}

const char *mount_point_state_name(const struct launch_mount *w, char *buf)
{
	return id_name("mount", w, buf);
}

/* Returns an entry that is initialised as an attached mount. */
struct mount_point *mount_point_new(void)
{
	struct mount_point *p = calloc(1, sizeof(*p));

	if (p) {
		p->mnt_fd = p->bell_fd = p->spare_fd = -1;
		p->may_attach = true;
	}
	return p;
}

void mount_point_add(struct mounts *m, struct mount_point *p)
{
	p->mounts = m;
	p->next = m->points;
	m->points = p;
}

struct mountinfo mount_point_info(unsigned major, unsigned minor)
{
	return (struct mountinfo){.fstype = MOUNTS_FSTYPE, .major = major, .minor = minor};
}

bool mount_point_is_recorded(const struct rundir_mount *rm)
{
	struct mountinfo mi = mount_point_info(rm->major, rm->minor);

	return mountinfo_has(rm->path, &mi) > 0;
}

struct rundir_mount *mount_point_record(struct mounts *m, const uint8_t id[16])
{
	struct rundir *rd = m->setup.rundir;

	for (size_t i = 0; i < rd->n_mounts; i++)
		if (memcmp(rd->mounts[i].what.id, id, sizeof(rd->mounts[i].what.id)) == 0)
			return &rd->mounts[i];
	return NULL;
}

struct mount_point *mount_point_find(const struct mounts *m, const uint8_t id[16])
{
	struct mount_point *p = m->points;

	while (p && memcmp(p->what.id, id, sizeof(p->what.id)) != 0)
		p = p->next;
	return p;
}

bool mounts_has(const struct mounts *m, const uint8_t id[16])
{
	return mount_point_find(m, id) != NULL;
}

void mounts_path(const struct mounts *m, const uint8_t id[16], char *buf, size_t size)
{
	const struct mount_point *p = mount_point_find(m, id);

	snprintf(buf, size, "%s", p ? p->what.path : "");
}

void mounts_serve(struct mounts *m, const uint8_t id[16], uint32_t worker_id)
{
	struct mount_point *p = mount_point_find(m, id);

	if (p)
		p->worker_id = worker_id;
}

static struct mount_point *find_same(const struct mounts *m, const struct launch_mount *want)
{
	for (struct mount_point *p = m->points; p; p = p->next)
		if (!p->leaving && launch_mount_equal(&p->what, want))
			return p;
	return NULL;
}

void mounts_note_answer(struct mounts *m, const struct launch_mount *what,
			enum mounts_answer answer)
{
	struct mount_point *p = find_same(m, what);

	if (!p)
		return;
	p->was_served |= answer == MOUNTS_SERVED;
	p->refused = answer == MOUNTS_REFUSED;
	if (p->refused || p->may_attach ||
	    (answer == MOUNTS_SILENT && mounts_rule_of(m, what->path).needs_server))
		return;
	p->may_attach = true;
	mount_point_place(m, p);
}

static bool is_held_back(const struct mount_point *p)
{
	return !p->leaving && p->mnt_fd >= 0 && !p->may_attach;
}

bool mounts_await_answer(const struct mounts *m)
{
	for (const struct mount_point *p = m->points; p; p = p->next)
		if (is_held_back(p) && !p->refused)
			return true;
	return false;
}

bool mounts_is_held_back(const struct mounts *m, const char *path)
{
	for (const struct mount_point *p = m->points; p; p = p->next)
		if (is_held_back(p) && strcmp(p->what.path, path) == 0)
			return true;
	return false;
}

static const struct mount_point *find_attached(const struct mounts *m, const char *path)
{
	for (const struct mount_point *p = m->points; p; p = p->next)
		if (!p->leaving && !p->displaced && p->mnt_fd < 0 &&
		    strcmp(p->what.path, path) == 0)
			return p;
	return NULL;
}

bool mounts_is_attached(const struct mounts *m, const char *path)
{
	const struct mount_point *p = find_attached(m, path);

	return p && !reason_is_set(&p->why);
}

const char *mounts_real_path(const struct mounts *m, const char *path)
{
	const struct mount_point *p = find_attached(m, path);

	return p ? p->real : NULL;
}

size_t mounts_real_paths(const struct mounts *m, const char **ret, size_t max)
{
	size_t n = 0;

	for (const struct mount_point *p = m->points; p && n < max; p = p->next)
		if (!p->leaving && !p->displaced && p->mnt_fd < 0)
			ret[n++] = p->real;
	return n;
}

const char *mounts_at(const struct mounts *m, const char *real)
{
	for (const struct mount_point *p = m->points; p; p = p->next)
		if (!p->leaving && !p->displaced && p->mnt_fd < 0 && strcmp(p->real, real) == 0)
			return p->what.path;
	return NULL;
}

bool mounts_is_refused(const struct mounts *m, const char *path)
{
	for (const struct mount_point *p = m->points; p; p = p->next)
		if (is_held_back(p) && p->refused && strcmp(p->what.path, path) == 0)
			return true;
	return false;
}

bool mounts_has_path(const struct mounts *m, const char *path)
{
	for (const struct mount_point *p = m->points; p; p = p->next)
		if (strcmp(p->what.path, path) == 0)
			return true;
	return false;
}

bool mounts_ended_before(const struct mounts *m, const char *path)
{
	const struct rundir *rd = m->setup.rundir;

	for (size_t i = 0; i < rd->n_mounts; i++)
		if (strcmp(rd->mounts[i].what.path, path) == 0)
			return !rd->mounts[i].by_agent && !mounts_has_path(m, path) &&
			       !mount_point_is_recorded(&rd->mounts[i]);
	return false;
}

bool mounts_is_displaced(const struct mounts *m, const char *path)
{
	for (const struct mount_point *p = m->points; p; p = p->next)
		if (!p->leaving && p->displaced && strcmp(p->what.path, path) == 0)
			return true;
	return false;
}

bool mounts_was_served(const struct mounts *m, const struct launch_mount *what)
{
	const struct mount_point *p = find_same(m, what);

	return p && p->was_served;
}

bool mounts_waits(const struct mounts *m, const char *path)
{
	bool waits = false, leaves = false;

	for (const struct mount_point *p = m->points; p; p = p->next) {
		if (strcmp(p->what.path, path) != 0)
			continue;
		waits |= p->mnt_fd >= 0;
		leaves |= p->leaving != NULL;
	}
	return waits && leaves;
}

const char *mounts_why(const struct mounts *m, const char *path)
{
	for (const struct mount_point *p = m->points; p; p = p->next)
		if (!p->leaving && reason_is_set(&p->why) && strcmp(p->what.path, path) == 0)
			return p->why.text;
	return NULL;
}

static int point_new(struct mounts *m, const struct launch_mount *want, struct reason *why,
		     struct mount_point **ret)
{
	struct mount_point *p = mount_point_new();
	char name[MOUNT_FD_NAME_MAX];
	int r;

	if (!p)
		return -ENOMEM;
	p->may_attach = false;
	p->what = *want;
	p->what.fuse_fd = p->what.state_fd = -1;
	if (getrandom(p->what.id, sizeof(p->what.id), 0) != sizeof(p->what.id))
		r = -EIO;
	else
		r = mount_one(m, p, why);
	if (r < 0) {
		free(p);
		return r;
	}
	fd_store_put(p->what.fuse_fd, mount_point_fd_name(&p->what, name));
	mount_point_add(m, p);
	*ret = p;
	return 0;
}

/* Creates the state of a mount. A mount that was adopted without its state gets an empty one. */
static int point_make_state(struct mount_point *p)
{
	char name[MOUNT_FD_NAME_MAX];

	if (p->what.state_fd >= 0)
		return 0;
	p->what.state_fd = memfd_new_growing(mount_point_state_name(&p->what, name));
	if (p->what.state_fd >= 0)
		fd_store_put(p->what.state_fd, name);
	return p->what.state_fd;
}

/* Sets the id and the descriptors of *want. A worker that crashes while it writes to the eventfd
 * harms no other worker, because the value of the eventfd is not used. */
static int point_give(struct mount_point *p, struct launch_mount *want)
{
	bool shares = want->has_mount_workers || want->mount_worker;

	if (shares && p->bell_fd < 0)
		p->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (shares && p->bell_fd < 0)
		return -errno;
	memcpy(want->id, p->what.id, sizeof(want->id));
	want->fuse_fd = p->what.fuse_fd;
	want->state_fd = p->what.state_fd;
	/* No worker gets the eventfd if the mount has no mount workers. */
	want->bell_fd = shares ? p->bell_fd : -1;
	return 0;
}

int mounts_get(struct mounts *m, struct launch_mount *want, uint32_t worker_id, struct reason *why)
{
	struct mount_point *p = find_same(m, want);
	int r = p ? 0 : point_new(m, want, why, &p);

	if (r >= 0)
		r = point_make_state(p);
	if (r < 0)
		return r;
	p->worker_id = worker_id;
	return point_give(p, want);
}

static struct mount_point *find_shared(const struct mounts *m, const struct launch_mount *want)
{
	struct mount_point *p = find_same(m, want);

	return p && p->what.fuse_fd >= 0 && p->what.state_fd >= 0 ? p : NULL;
}

int mounts_get_shared(struct mounts *m, struct launch_mount *want)
{
	struct mount_point *p = find_shared(m, want);

	return p ? point_give(p, want) : -ENOENT;
}

bool mounts_shared_id(const struct mounts *m, const struct launch_mount *want, uint8_t ret[16])
{
	const struct mount_point *p = find_shared(m, want);

	if (p)
		memcpy(ret, p->what.id, sizeof(p->what.id));
	return p;
}

/* ---- unmounting ---- */

void mount_point_remove(struct mount_point *p)
{
	struct mounts *m = p->mounts;
	struct mount_point **at = &m->points;
	char name[MOUNT_FD_NAME_MAX];

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (p->mnt_fd < 0)
		rundir_del_mount(m->setup.rundir, p->real);
	fd_store_drop(mount_point_fd_name(&p->what, name));
	fd_store_drop(mount_point_state_name(&p->what, name));
	point_free(p);
}

/* Reports that a mount could not be unmounted and stays attached, and removes it from the list. */
static void give_up(struct mount_point *p, const char *why)
{
	struct mounts *m = p->mounts;

	mounts_say(m, LOG_LEVEL_WARNING, "cannot unmount %s: %s", p->what.path, why);
	if (m->setup.on_failed)
		m->setup.on_failed(m->setup.user, p->what.path, why);
	mount_point_remove(p);
}

/*
 * Closes the descriptor, so that a mount that hangs ends when its worker ends. Keeps the mount in
 * the record until it is unmounted, so that the next agent knows it.
 */
static void on_unmount(void *user, enum unmount_end end)
{
	struct mount_point *p = user;
	struct mounts *m = p->mounts;
	struct mountinfo mi = mount_point_info(p->major, p->minor);
	char name[MOUNT_FD_NAME_MAX];

	if (end == UNMOUNT_LATE) {
		mounts_say(m, LOG_LEVEL_WARNING,
			   "unmounting %s takes long; stopping its worker first", p->what.path);
		fd_store_drop(mount_point_fd_name(&p->what, name));
		cleanup_close(&p->what.fuse_fd);
		p->what.fuse_fd = -1;
		p->worker_id = 0;
	} else {
		if (end == UNMOUNT_FAILED || mountinfo_has(p->real, &mi) > 0)
			give_up(p, "the file system is still mounted there");
		else
			mount_point_remove(p);
		mounts_place_all(m);
	}
	if (m->setup.on_change)
		m->setup.on_change(m->setup.user);
}

static void point_leave(struct mount_point *p)
{
	struct mountinfo mi = mount_point_info(p->major, p->minor);
	struct mounts *m = p->mounts;
	struct reason why;
	int r;

	if (p->leaving)
		return;
	if (p->mnt_fd >= 0 || p->displaced) { /* the mount is not attached */
		mount_point_remove(p);
		return;
	}
	if (mount_place_is_covered(p->what.path, p->real, &mi, &why)) {
		/* umount(2) would unmount the file system that hides the mount. */
		give_up(p, why.text);
		return;
	}
	p->spare = mount_spare_forget(p->spare);
	cleanup_close(&p->spare_fd); /* the spare would keep the file system mounted */
	p->spare_fd = -1;
	r = unmount_new(m->setup.loop, p->real, p->major, p->minor, MOUNTS_UNMOUNT_LIMIT_NS,
			on_unmount, p, &p->leaving);
	if (r >= 0)
		return;
	give_up(p, strerror(-r));
}

static bool is_in_use(const struct launch_mount *w, const struct launch_config *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < c[i].n_mounts; k++)
			if (launch_mount_equal(w, &c[i].mounts[k]))
				return true;
	return false;
}

void mounts_keep(struct mounts *m, const struct launch_config *configs, size_t n)
{
	for (struct mount_point *p = m->points, *next; p; p = next) {
		next = p->next;
		if (!is_in_use(&p->what, configs, n))
			point_leave(p);
	}
}

void mounts_drop(struct mounts *m, const char *path)
{
	for (struct mount_point *p = m->points, *next; p; p = next) {
		next = p->next;
		if (strcmp(p->what.path, path) == 0)
			point_leave(p);
	}
}

/* Recorded mounts without an open descriptor have no server left, so unmounting them does not take
 * long. */
void mounts_clean(struct mounts *m)
{
	struct rundir *rd = m->setup.rundir;

	for (size_t i = 0; i < rd->n_mounts;) {
		struct rundir_mount *rm = &rd->mounts[i];
		struct mount_point *p;

		if (rm->adopted) {
			i++;
			continue;
		}
		p = mount_point_is_recorded(rm) && strlen(rm->path) < sizeof(p->real)
			    ? mount_point_new()
			    : NULL;
		if (!p) {
			rundir_del_mount(rd, rm->path);
			continue;
		}
		rm->adopted = true; /* keeps the mount in the record until it is unmounted */
		if (mounts_rule_of(m, rm->what.path).by_command)
			rundir_mark_mount(rd, rm->path, true);
		p->what = rm->what;
		rm->what.state_fd = -1;
		p->what.fuse_fd = -1;
		if (!p->what.path[0])
			snprintf(p->what.path, sizeof(p->what.path), "%s", rm->path);
		strcpy(p->real, rm->path);
		mount_point_add(m, p);
		mounts_say(m, LOG_LEVEL_NOTICE, "unmounting %s, which no worker serves any more",
			   p->real);
		point_leave(p);
		i = 0; /* the record's list may have become shorter */
	}
}

bool mounts_leaving(const struct mounts *m, uint32_t worker_id)
{
	for (const struct mount_point *p = m->points; p; p = p->next)
		if (p->leaving && (worker_id == 0 || p->worker_id == worker_id))
			return true;
	return false;
}

bool mounts_leaving_id(const struct mounts *m, const uint8_t id[16])
{
	const struct mount_point *p = mount_point_find(m, id);

	return p && p->leaving && p->worker_id != 0;
}
