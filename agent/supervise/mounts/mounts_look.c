/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the set of mounts, and notices what other processes do to them: unmounts, moves, and file
 * systems that hide them. */
#include "agent/supervise/mounts/mount_place.h"
#include "agent/supervise/mounts/mounts_internal.h"
#include <fcntl.h>
#include <string.h>

/* The kernel ends a file system that no program uses within this time after the last unmount. */
#define MOUNTS_DISPLACED_NS NSEC_PER_SEC

static int on_mountinfo(void *user, int fd, uint32_t revents)
{
	struct mounts *m = user;

	return loop_timer_armed(m->look_timer) ? 0 : loop_timer_arm(m->look_timer, MOUNTS_LOOK_NS);
}

/* Attaches the same file system again. Programs that still use it, through open files, bind mounts
 * or in containers, are not disturbed, and neither is the worker. */
static void reattach(struct mounts *m, struct mount_point *p)
{
	p->mnt_fd = fd_take(p->spare_fd);
	rundir_del_mount(m->setup.rundir, p->real);
	mounts_say(m, LOG_LEVEL_WARNING,
		   "another process unmounted %s; attaching the mount again, with its connection",
		   p->what.path);
	mount_point_place(m, p);
}

/* Reports a file system that hides the mount. Does not unmount that file system, because an
 * operator may have mounted it. */
static void look_covered(struct mounts *m, struct mount_point *p)
{
	struct mountinfo mi = mount_point_info(p->major, p->minor);
	struct reason why;

	mount_place_is_covered(p->what.path, p->real, &mi, &why);
	if (reason_equal(&p->why, &why))
		return;
	p->why = why;
	if (reason_is_set(&why))
		mounts_say(m, LOG_LEVEL_WARNING, "%s", why.text);
	else
		mounts_say(m, LOG_LEVEL_NOTICE, "programs reach the mount %s again", p->what.path);
}

/* ---- mounts made by command ---- */

/* Ends a mount made by command whose file system no program uses any more. The callback removes the
 * mount from the saved list first. Otherwise, if the agent were killed here, the next agent would
 * make the mount again. */
static void end_unmounted(struct mount_point *p)
{
	struct mounts *m = p->mounts;

	mounts_say(m, LOG_LEVEL_NOTICE, "unmounted %s%s: this mount has ended", p->what.path,
		   p->by_agent ? "" : " by another process");
	if (m->setup.on_ended)
		m->setup.on_ended(m->setup.user, p->what.path);
	mount_point_remove(p);
}

/* Called when the kernel has ended the file system: it is mounted nowhere, and no file of it is
 * open. */
static int on_gone(void *user, int fd, uint32_t revents)
{
	end_unmounted(user);
	return 0;
}

/*
 * Handles a mount made by command that is no longer at its path. The mount ends when the kernel
 * ends its file system, and reports an error on the FUSE descriptor. That happens at once, unless
 * programs still use the file system through open files, another mount, or another mount namespace.
 * These programs must not lose the file system because this one path was unmounted.
 */
static void displace(struct mount_point *p)
{
	struct mounts *m = p->mounts;

	p->displaced = true;
	p->displaced_ns = clock_now_ns();
	p->by_agent = mounts_rule_of(m, p->what.path).by_agent;
	p->spare = mount_spare_forget(p->spare);
	mount_spare_drop(fd_take(p->spare_fd));
	p->spare_fd = -1;
	if (p->what.fuse_fd < 0 ||
	    loop_add_fd(m->setup.loop, p->what.fuse_fd, 0, false, on_gone, p, &p->gone_source) < 0)
		end_unmounted(p);
	else if (!loop_timer_armed(m->place_timer))
		loop_timer_arm(m->place_timer, MOUNTS_DISPLACED_NS);
}

static void return_to_place(struct mount_point *p)
{
	p->displaced = false;
	p->gone_source = loop_source_free(p->gone_source);
	mount_point_ask_spare(p);
}

static void explain_displaced(const struct mount_point *p, struct reason *why)
{
	struct mountinfo mi = mount_point_info(p->major, p->minor);
	char at[sizeof(p->real)];

	if (mountinfo_find(&mi, at, sizeof(at)) > 0)
		reason_set_text(why,
				"%.120s was unmounted or moved, but its file system is mounted at "
				"%.120s; unmount that too, or run 'plenum umount %.120s --force', "
				"after which programs there get errors",
				p->what.path, at, p->what.path);
	else
		reason_set_text(
			why,
			"%.120s was unmounted, but programs still use its file system, "
			"with open files or in another mount namespace; end them, or run "
			"'plenum umount %.120s --force', after which these programs get errors",
			p->what.path, p->what.path);
}

static bool report_displaced(struct mounts *m)
{
	bool again = false;

	for (struct mount_point *p = m->points; p; p = p->next) {
		if (!p->displaced || p->leaving || reason_is_set(&p->why))
			continue;
		if (clock_now_ns() < p->displaced_ns + MOUNTS_DISPLACED_NS) {
			again = true;
			continue;
		}
		explain_displaced(p, &p->why);
		mounts_say(m, LOG_LEVEL_WARNING, "%s", p->why.text);
	}
	return again;
}

/* ---- all ---- */

/*
 * Examines the mounts after a change. A mount without a spare cannot be attached again: its worker
 * gets a new mount with a new descriptor.
 */
static int on_look(void *user)
{
	struct mounts *m = user;

	for (struct mount_point *p = m->points, *next; p; p = next) {
		struct mountinfo mi = mount_point_info(p->major, p->minor);
		uint32_t worker_id = p->worker_id;

		next = p->next;
		if (p->leaving || p->mnt_fd >= 0)
			continue;
		if (mountinfo_has(p->real, &mi) != 0) {
			if (p->displaced)
				return_to_place(p);
			look_covered(m, p);
			continue;
		}
		if (mounts_rule_of(m, p->what.path).by_command) {
			if (!p->displaced)
				displace(p);
			continue;
		}
		if (p->spare_fd >= 0) {
			reattach(m, p);
			continue;
		}
		mounts_say(m, LOG_LEVEL_WARNING,
			   "another process unmounted %s; mounting it again, as configured",
			   p->what.path);
		mount_point_remove(p);
		if (worker_id && m->setup.on_lost)
			m->setup.on_lost(m->setup.user, worker_id);
	}
	return 0;
}

void mounts_look(struct mounts *m)
{
	(void)on_look(m);
}

/* ---- the set ---- */

/* Attaches a new mount if its worker has not reported for MOUNTS_ANSWER_LIMIT_NS whether the server
 * accepts the mount. Programs then wait for the worker, as they do when it dies. */
static int on_place(void *user)
{
	struct mounts *m = user;
	const uint64_t now_ns = clock_now_ns();
	bool again;

	for (struct mount_point *p = m->points; p; p = p->next)
		if (!p->refused && now_ns >= p->made_ns + MOUNTS_ANSWER_LIMIT_NS &&
		    !mounts_rule_of(m, p->what.path).needs_server)
			p->may_attach = true;
	mounts_place_all(m);
	again = report_displaced(m);
	return again || mounts_await_answer(m) ? loop_timer_arm(m->place_timer, MOUNTS_PLACE_NS)
					       : 0;
}

int mounts_new(const struct mounts_setup *setup, struct mounts **ret)
{
	struct mounts *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->setup = *setup;
	m->dirs.loop = setup->loop;
	m->info_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	r = m->info_fd < 0 ? -errno : 0;
	if (r >= 0)
		r = loop_add_fd(setup->loop, m->info_fd, EPOLLPRI, false, on_mountinfo, m,
				&m->info_source);
	if (r >= 0)
		r = loop_add_timer(setup->loop, NSEC_PER_MSEC, on_look, m, &m->look_timer);
	if (r >= 0)
		r = loop_add_timer(setup->loop, NSEC_PER_MSEC, on_place, m, &m->place_timer);
	if (r < 0) {
		mounts_free(m);
		return r;
	}
	*ret = m;
	return 0;
}
