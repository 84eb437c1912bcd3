/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to mount and unmount (`plenum mount`, `plenum umount`). A worker gets a requested mount
 * at once, without a reconcile. When the server serves the mount, the client gets its answer. If
 * the server does not serve it in time, the client gets the reason, and the mount is removed.
 */
#include "agent/control.h"
#include "agent/control/control_internal.h"
#include <stdio.h>
#include <string.h>

#define TICK_NS (20 * NSEC_PER_MSEC)
/* Time from the request until the server must serve the mount. */
#define MOUNT_LIMIT_NS (20 * NSEC_PER_SEC)
#define UNMOUNT_LIMIT_NS (10 * NSEC_PER_SEC) /* must be longer than MOUNTS_UNMOUNT_LIMIT_NS */

_Static_assert(PRIVSEP_KBS_MIN == SPEC_RATE_MIN && PRIVSEP_KBS_MAX == SPEC_RATE_MAX &&
		       PRIVSEP_OPERATIONS_MAX == SPEC_OPERATIONS_MAX,
	       "plenum.yaml has the same limits");
_Static_assert(PRIVSEP_PATH_MAX == sizeof(((struct launch_mount *)0)->path), "paths fit");

/* ---- answers ---- */

static void answer(struct agent *a, struct command_mount *e, struct control_reply *r)
{
	const uint64_t client = e->client;

	e->client = 0;
	if (client)
		control_answer(a, client, r);
	else
		json_decref(r->json);
}

static void answer_error(struct agent *a, struct command_mount *e, unsigned status,
			 const char *code, const char *text)
{
	struct control_reply r = {.http_status = 0};

	control_error(&r, status, code, text, NULL);
	answer(a, e, &r);
}

static void fail(struct agent *a, struct command_mount *e, unsigned status, const char *code,
		 const char *text)
{
	struct reason why;

	reason_set_text(&why, "%s", text);
	command_mounts_fail(&a->command_mounts, e, status, code, &why);
	e->due_ns = clock_now_ns() + UNMOUNT_LIMIT_NS;
}

/* Begins to end the mount. A client that waits gets its answer when the mount is unmounted. */
static void end(struct agent *a, struct command_mount *e)
{
	command_mounts_end(&a->command_mounts, e);
	e->due_ns = clock_now_ns() + UNMOUNT_LIMIT_NS;
}

/* ---- progress ---- */

static void keep(struct agent *a, struct command_mount *e)
{
	struct control_reply r = {.http_status = 0};

	e->state = COMMAND_MOUNT_KEPT;
	if (command_mounts_save(&a->command_mounts) < 0) {
		fail(a, e, 500, "not-written",
		     "the mount was removed again, because it cannot be recorded in the run "
		     "directory");
		return;
	}
	events_add(&a->events, LOG_LEVEL_INFO, "mounts",
		   "mounted %s from %s:%s by command, worker %u", e->what.path, e->what.peer,
		   e->what.export_name, e->worker);
	control_json(&r, 200,
		     json_pack("{s:s, s:s, s:s, s:I}", "path", e->what.path, "peer", e->what.peer,
			       "export", e->what.export_name, "worker", (json_int_t)e->worker));
	answer(a, e, &r);
}

/* Fails the mount because its time limit has passed. The error has the reason, if the agent knows
 * one. */
static void fail_late(struct agent *a, struct command_mount *e, const struct reason *served)
{
	const char *why = health_mount_reason(&a->health, e->worker, e->what.path);
	struct reason text;

	if (a->command_mounts.changed)
		reason_set_text(
			&text,
			"%s was not mounted, because an apply is running; try again when it "
			"has ended",
			e->what.path);
	else if (reason_is_set(served))
		reason_set_text(&text, "%s was not mounted: %.300s", e->what.path, served->text);
	else if (why)
		reason_set_text(&text, "%s was not mounted: %.300s", e->what.path, why);
	else
		reason_set_text(&text, "%s was not mounted: no answer from %s for export '%s'",
				e->what.path, e->what.peer, e->what.export_name);
	fail(a, e, 409, "not-served", text.text);
}

static void check_new(struct agent *a, struct command_mount *e)
{
	const bool served = mounts_is_attached(a->mounts, e->what.path);
	const char *place = mounts_why(a->mounts, e->what.path);
	struct reason why;

	if (!clients_waits(a->clients, e->client)) {
		e->client = 0;
		fail(a, e, 409, "interrupted", "the client has gone");
	} else if (reconcile_is_served(a, &e->what, &why) && served) {
		keep(a, e);
	} else if (place) {
		fail(a, e, 409, "mount-point", place);
	} else if (mounts_is_refused(a->mounts, e->what.path) && reason_is_set(&why)) {
		reason_prefix(&why, "%s was not mounted", e->what.path);
		fail(a, e, 409, "refused", why.text);
	} else if (clock_now_ns() >= e->due_ns) {
		fail_late(a, e, &why);
	}
}

/* Answers the client of a mount that is ending or has ended. */
static void answer_ended(struct agent *a, struct command_mount *e)
{
	struct control_reply r = {.http_status = 0};

	if (e->code)
		control_error(&r, e->status, e->code, e->why.text, NULL);
	else if (mounts_has_path(a->mounts, e->what.path) &&
		 !command_mounts_is_configured(a->running.spec, e->what.path))
		control_error(&r, 500, "failed",
			      "the mount is still being unmounted; see 'plenum events'", NULL);
	else
		control_json(&r, 200, json_pack("{s:s}", "unmounted", e->what.path));
	answer(a, e, &r);
}

/* Returns whether the entry has ended and can be removed. */
static bool check_ending(struct agent *a, struct command_mount *e)
{
	const bool configured = command_mounts_is_configured(a->running.spec, e->what.path);

	if (!configured)
		mounts_drop(a->mounts, e->what.path);
	if (a->command_mounts.changed ||
	    (!configured && mounts_has_path(a->mounts, e->what.path))) {
		if (e->client && clock_now_ns() >= e->due_ns)
			answer_ended(a, e);
		return false;
	}
	answer_ended(a, e);
	e->unmount = control_unmount_forget(e->unmount);
	return true;
}

static void check_kept(struct agent *a, struct command_mount *e)
{
	if (e->unmount && e->client && clock_now_ns() >= e->due_ns)
		answer_error(a, e, 409, "busy",
			     "the unmount takes long, because the server does not answer; "
			     "'--force' ends the mount now");
	else if (!e->unmount && e->client && mounts_why(a->mounts, e->what.path))
		answer_error(a, e, 409, "in-use", mounts_why(a->mounts, e->what.path));
	else if (!e->unmount && e->client && !mounts_is_displaced(a->mounts, e->what.path))
		answer_error(a, e, 409, "conflict",
			     "not unmounted: another process has moved the mount back to its path");
}

/* Returns whether the configuration has the mount, and no pending apply can undo that. From then
 * on, the mount ends when it is removed from the configuration. */
static bool is_taken_over(const struct agent *a, const struct command_mount *e)
{
	return e->state == COMMAND_MOUNT_KEPT && !e->client && !e->unmount &&
	       !a->reconcile.pending.applier && !reconcile_is_active(a) &&
	       command_mounts_is_configured(a->running.spec, e->what.path);
}

static void take_over(struct agent *a, struct command_mount *e)
{
	events_add(&a->events, LOG_LEVEL_INFO, "mounts",
		   "the mount %s, which was made by command, is now part of the configuration",
		   e->what.path);
	command_mounts_remove(&a->command_mounts, e);
	a->command_mounts.unsaved = true;
}

static void refresh(struct agent *a)
{
	struct command_mounts *cm = &a->command_mounts;

	if (!cm->changed || reconcile_is_active(a) || !a->running.spec)
		return;
	cm->changed = false;
	/* A mount that fails in this call sets `changed` again. The next tick then repeats the
	 * call. */
	if (reconcile_refresh_mounts(a) < 0)
		cm->changed = true;
}

static void tick(struct agent *a)
{
	struct command_mounts *cm = &a->command_mounts;
	bool busy = false;

	if (!cm->timer || a->state == AGENT_STOPPING)
		return;
	refresh(a);
	for (size_t i = 0; i < cm->n;) {
		struct command_mount *e = &cm->list[i];

		if (e->state == COMMAND_MOUNT_NEW)
			check_new(a, e);
		else if (e->state == COMMAND_MOUNT_KEPT)
			check_kept(a, e);
		if (e->state == COMMAND_MOUNT_ENDING && check_ending(a, e)) {
			command_mounts_remove(cm, e);
			continue;
		}
		if (is_taken_over(a, e)) {
			take_over(a, e);
			continue;
		}
		busy |= e->state != COMMAND_MOUNT_KEPT || e->unmount || e->client;
		i++;
	}
	if (cm->unsaved)
		(void)command_mounts_save(cm);
	if (busy || cm->changed || cm->unsaved)
		loop_timer_arm(cm->timer, TICK_NS);
}

static int on_tick(void *user)
{
	tick(user);
	return 0;
}

void control_mount_ended(struct agent *a, const char *path)
{
	struct command_mounts *cm = &a->command_mounts;
	struct command_mount *e = command_mounts_find(cm, path);
	struct reason why;

	if (e && e->state == COMMAND_MOUNT_NEW) {
		reason_set_text(&why, "another process has unmounted %s", path);
		command_mounts_fail(cm, e, 409, "interrupted", &why);
	} else if (e) {
		command_mounts_end(cm, e);
	}
	if (e)
		e->due_ns = clock_now_ns() + UNMOUNT_LIMIT_NS;
	command_mounts_wake(&a->command_mounts);
}

void control_mount_failed(struct agent *a, const char *path, const char *text)
{
	struct command_mount *e = command_mounts_find(&a->command_mounts, path);
	struct reason why;

	if (!e || e->state != COMMAND_MOUNT_ENDING)
		return;
	reason_set_text(&why, "cannot unmount %.120s: %.250s; unmount it with umount(8)", path,
			text);
	command_mounts_fail(&a->command_mounts, e, 500, "failed", &why);
}

int control_mounts_open(struct agent *a)
{
	int r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_tick, a, &a->command_mounts.timer);

	if (r >= 0 && a->command_mounts.n > 0)
		command_mounts_wake(&a->command_mounts);
	return r;
}

void control_mounts_stop(struct agent *a, bool ends)
{
	struct command_mounts *cm = &a->command_mounts;

	for (size_t i = 0; i < cm->n; i++) {
		answer_error(a, &cm->list[i], 503, "stopping", "the agent is stopping");
		cm->list[i].unmount = control_unmount_forget(cm->list[i].unmount);
	}
	if (ends)
		command_mounts_clear(cm);
}

void control_mounts_done(struct agent *a)
{
	for (size_t i = 0; i < a->command_mounts.n; i++)
		a->command_mounts.list[i].unmount =
			control_unmount_forget(a->command_mounts.list[i].unmount);
}

/* ---- mount ---- */

static const struct launch_config *find_worker(const struct agent *a, uint32_t id)
{
	for (size_t i = 0; i < a->running.n_desired; i++)
		if (a->running.desired[i].worker_id == id &&
		    a->running.desired[i].role == LAUNCH_FRONTEND)
			return &a->running.desired[i];
	return NULL;
}

/* Returns whether the path is in use by a mount, even by one that is being unmounted; if so, why
 * has the reason. */
static bool is_taken(const struct agent *a, const char *path, struct reason *why)
{
	const struct command_mount *e = command_mounts_find(&a->command_mounts, path);

	if (e && e->state == COMMAND_MOUNT_ENDING)
		reason_set_text(why, "%s is being unmounted; try again", path);
	else if (e && mounts_is_displaced(a->mounts, path))
		reason_set_text(
			why,
			"programs still use the file system that was mounted on %.120s; end "
			"them, or run 'plenum umount %.120s --force', with which they get "
			"errors",
			path, path);
	else if (e)
		reason_set_text(why,
				"%s is mounted already, from %s:/%s; 'plenum umount %s' ends that "
				"mount",
				path, e->what.peer, e->what.export_name, path);
	else if (command_mounts_is_configured(a->running.spec, path))
		reason_set_text(why,
				"%s is a mount of the configuration; remove it there, or name "
				"another folder",
				path);
	else if (mounts_has_path(a->mounts, path))
		reason_set_text(why, "%s still has a mount that is ending; try again", path);
	else
		return false;
	return true;
}

static bool is_peer(const struct spec *s, const char *name)
{
	for (size_t i = 0; i < s->n_peers; i++)
		if (strcmp(s->peers[i].name, name) == 0)
			return true;
	return s->cluster.n_etcd > 0;
}

/* Checks the request against the running configuration, as a mount in YAML is checked. Returns the
 * HTTP status of the error, or 0. */
static unsigned check(const struct agent *a, const struct privsep_mount *m, struct reason *why)
{
	const struct spec *s = a->running.spec;

	if (!spec_name_is_valid(m->peer) || !spec_name_is_valid(m->export_name)) {
		reason_set_text(why, "'%.60s:/%.60s' is not a source; write HOST:/EXPORT", m->peer,
				m->export_name);
		return 400;
	}
	if (m->locks == LAUNCH_LOCKS_CLUSTER + 1 && m->soft_s) {
		reason_set_text(why, "cluster locks need a hard mount; remove 'soft'");
		return 400;
	}
	if (strcmp(m->peer, s->host) == 0) {
		reason_set_text(why, "'%s' is this host itself; name the export of a peer",
				m->peer);
		return 409;
	}
	if (!is_peer(s, m->peer)) {
		reason_set_text(why, "no peer is called '%s'; add the host to 'peers'", m->peer);
		return 404;
	}
	if (is_taken(a, m->path, why))
		return 409;
	if (m->worker && !find_worker(a, m->worker)) {
		reason_set_text(why, "no client worker has the ID %u; see 'plenum processes'",
				m->worker);
		return 404;
	}
	if (m->worker && find_worker(a, m->worker)->n_mounts == LAUNCH_MOUNTS_MAX) {
		reason_set_text(why, "worker %u has %d mounts, the maximum", m->worker,
				LAUNCH_MOUNTS_MAX);
		return 409;
	}
	if (a->command_mounts.n == COMMAND_MOUNTS_MAX) {
		reason_set_text(why, "%d mounts were made by command, the maximum; end one",
				COMMAND_MOUNTS_MAX);
		return 409;
	}
	return 0;
}

static struct launch_limits limits_of(const struct privsep_mount *m)
{
	return (struct launch_limits){.bytes_per_s = m->max_kbs * 1000ULL,
				      .operations_per_s = m->max_operations};
}

static void take(const struct privsep_mount *m, struct command_mount *e)
{
	struct launch_mount *w = &e->what;

	memcpy(w->path, m->path, sizeof(w->path));
	memcpy(w->peer, m->peer, sizeof(w->peer));
	memcpy(w->export_name, m->export_name, sizeof(w->export_name));
	w->read_only = m->read_only;
	w->suid = !m->nosuid;
	w->dev = !m->nodev;
	w->locks = m->locks - 1;
	w->soft_s = m->soft_s;
	w->limits = limits_of(m);
	e->no_exec = m->noexec;
	e->no_atime = m->noatime;
	e->worker = m->worker;
}

static const char *code_of(unsigned status)
{
	return status == 400 ? "bad-body" : status == 404 ? "not-found" : "conflict";
}

/* Returns whether the client's programs see the agent's mounts. A client in a container, or in a
 * service with PrivateTmp=, may have another mount namespace. Its programs would not see the mount,
 * and would write into the directory below it. */
static bool sees_mounts(const struct client *cl)
{
	char link[40], own[64], other[64];
	ssize_t n, m;

	if (cl->peer.uid == CLIENTS_NO_UID) /* the client has no programs on this host */
		return true;
	snprintf(link, sizeof(link), "/proc/%d/ns/mnt", cl->peer.pid);
	n = readlink("/proc/self/ns/mnt", own, sizeof(own));
	m = readlink(link, other, sizeof(other));
	return n > 0 && n == m && memcmp(own, other, (size_t)n) == 0;
}

/* Returns whether this client can change mounts now and `path` can be a mount point. If not, r has
 * the error. */
static bool can_change(struct agent *a, const struct client *cl, const char *path,
		       struct control_reply *r)
{
	if (a->state == AGENT_STOPPING)
		control_error(r, 503, "stopping", "the agent is stopping", NULL);
	else if (!a->running.spec)
		control_error(r, 503, "starting", "the agent has no configuration yet; try again",
			      NULL);
	else if (!command_mounts_path_is_valid(path))
		control_error(r, 400, "bad-body",
			      "the folder must be an absolute path without '.', '..' and '//', and "
			      "not '/'",
			      NULL);
	else if (!sees_mounts(cl))
		control_error(
			r, 409, "mount-namespace",
			"this command runs in another mount namespace than the agent, such as "
			"that of a container or a service; run it in the agent's mount namespace",
			NULL);
	else
		return true;
	return false;
}

/* Returns what the request would change besides the limits, or NULL. */
static const char *fixed_difference(const struct command_mount *e, const struct privsep_mount *m)
{
	const struct launch_mount *w = &e->what;

	if (strcmp(w->peer, m->peer) != 0 || strcmp(w->export_name, m->export_name) != 0)
		return "the source";
	if (m->worker && m->worker != e->worker)
		return "the worker";
	if (w->read_only != m->read_only)
		return "ro or rw";
	if (w->suid == m->nosuid)
		return "nosuid or suid";
	if (w->dev == m->nodev)
		return "nodev or dev";
	if (e->no_exec != m->noexec)
		return "noexec or exec";
	if (e->no_atime != m->noatime)
		return "noatime or relatime";
	if (w->soft_s != m->soft_s)
		return "hard or soft";
	return w->locks + 1 != m->locks ? "locks" : NULL;
}

/* Changes the limits of a mount. The worker gets them at the next tick, without a restart. */
static void remount(struct agent *a, const struct client *cl, const struct privsep_mount *m,
		    struct control_reply *r)
{
	struct command_mount *e = command_mounts_find(&a->command_mounts, m->path);
	const bool configured = command_mounts_is_configured(a->running.spec, m->path);
	const char *fixed = e ? fixed_difference(e, m) : NULL;
	struct launch_limits was;
	struct reason why = {.code = ""};

	if (configured)
		reason_set_text(&why,
				"%s is a mount of the configuration; change it there, and apply",
				m->path);
	else if (!e)
		reason_set_text(&why, "%s is not a mount of Plenum; see 'plenum mounts'", m->path);
	else if (e->state != COMMAND_MOUNT_KEPT || e->client || e->unmount)
		reason_set_text(&why, "%s is being mounted or unmounted; try again", m->path);
	else if (fixed)
		reason_set_text(&why,
				"remount changes only max-throughput and max-operations; to change "
				"%s of %.150s, unmount it, and mount it again",
				fixed, m->path);
	if (reason_is_set(&why)) {
		control_error(r, !e && !configured ? 404 : 409,
			      !e && !configured ? "not-found" : "conflict", why.text, NULL);
		return;
	}
	was = e->what.limits;
	e->what.limits = limits_of(m);
	if (command_mounts_save(&a->command_mounts) < 0) {
		e->what.limits = was;
		control_error(r, 500, "not-written",
			      "the limits were not changed, because they cannot be recorded in the "
			      "run directory",
			      NULL);
		return;
	}
	a->command_mounts.changed = true;
	command_mounts_wake(&a->command_mounts);
	control_note(a, cl, "new limits of %.80s requested", m->path);
	control_json(r, 200,
		     json_pack("{s:s, s:s, s:s, s:I}", "path", e->what.path, "peer", e->what.peer,
			       "export", e->what.export_name, "worker", (json_int_t)e->worker));
}

void control_mount(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		   struct control_reply *r)
{
	struct command_mount *e;
	struct reason why;
	unsigned status;

	if (!can_change(a, cl, m->mount.path, r))
		return;
	/* Checks for recent unmounts first, so that their paths count as free. */
	mounts_look(a->mounts);
	tick(a);
	if (m->mount.remount) {
		remount(a, cl, &m->mount, r);
		return;
	}
	status = check(a, &m->mount, &why);
	if (status) {
		control_error(r, status, code_of(status), why.text, NULL);
		return;
	}
	e = command_mounts_add(&a->command_mounts);
	if (!e) {
		control_failure(a, r, -ENOMEM, &(struct diag)DIAG_INIT);
		return;
	}
	take(&m->mount, e);
	e->client = cl->id;
	e->due_ns = clock_now_ns() + MOUNT_LIMIT_NS;
	a->command_mounts.changed = true;
	control_note(a, cl, "mount of %s:/%s on %.80s requested", m->mount.peer,
		     m->mount.export_name, m->mount.path);
	r->later = true;
	command_mounts_wake(&a->command_mounts);
}

/* ---- unmount ---- */

/* Called when the child that tried to unmount the mount has ended. */
static void on_unmounted(struct agent *a, const char *path, int error,
			 const struct mount_users *users, const char *const *paths)
{
	struct command_mount *e = command_mounts_find(&a->command_mounts, path);
	char by[REASON_TEXT_MAX / 2] = "";
	struct control_reply r = {.http_status = 0};
	struct reason why;

	if (!e)
		return;
	/* Called while e->unmount is set, so that the unmount counts as the agent's. */
	mounts_look(a->mounts);
	e->unmount = control_unmount_forget(e->unmount); /* frees path */
	path = e->what.path;
	command_mounts_wake(&a->command_mounts);
	/* If the mount was unmounted, the tick answers the client when the kernel has ended the
	 * file system. */
	if (e->state == COMMAND_MOUNT_ENDING || mounts_is_displaced(a->mounts, e->what.path))
		return;
	if (users)
		mount_users_describe(users, by, sizeof(by));
	if (error == 0 || error == -EINVAL) /* another process has moved the mount */
		reason_set_text(
			&why,
			"%s was not unmounted: another process has moved the mount; try again",
			path);
	else if (error != -EBUSY)
		reason_set_text(&why, "cannot unmount %s: %s", path, strerror(-error));
	else
		reason_set_text(
			&why,
			"%s is in use by %s; end the programs that use it, or use --force, "
			"with which they get errors",
			path, *by ? by : "a program that could not be found, or a mount below it");
	if (error == -EBUSY)
		control_in_use(&r, why.text, users, paths);
	else
		control_error(&r, 409, "failed", why.text, NULL);
	answer(a, e, &r);
}

/* Finds the mount by its configured path, or by the real path that results from resolving symbolic
 * links. */
static struct command_mount *find(struct agent *a, const char *path)
{
	struct command_mount *e = command_mounts_find(&a->command_mounts, path);
	const char *at = e ? NULL : mounts_at(a->mounts, path);

	return at ? command_mounts_find(&a->command_mounts, at) : e;
}

static void refuse_unknown(struct agent *a, const char *path, struct control_reply *r)
{
	const bool configured = command_mounts_is_configured(a->running.spec, path);
	struct reason why;

	if (configured)
		reason_set_text(&why,
				"%s is a mount of the configuration; remove it there, and apply",
				path);
	else
		reason_set_text(&why, "%s is not a mount of Plenum; see 'plenum mounts'", path);
	control_error(r, configured ? 409 : 404, configured ? "conflict" : "not-found", why.text,
		      NULL);
}

/* Begins to unmount the mount unless programs use it. Returns NULL, or the reason why this is not
 * possible. */
static const char *begin_gently(struct agent *a, struct command_mount *e)
{
	const char *real = mounts_real_path(a->mounts, e->what.path);
	const char *hidden = mounts_why(a->mounts, e->what.path);

	/* umount(2) would unmount the file system of another program that hides the mount. */
	if (real && hidden)
		return hidden;
	if (mounts_is_displaced(a->mounts, e->what.path))
		return hidden ? hidden : "the mount is ending; try again";
	if (!real) { /* the mount is not attached, so no program uses it */
		end(a, e);
		return NULL;
	}
	e->unmount = control_unmount_start(a, e->what.path, real, on_unmounted);
	e->due_ns = clock_now_ns() + UNMOUNT_LIMIT_NS;
	return e->unmount ? NULL : "cannot start the process that unmounts; try again";
}

/* Returns why the mount cannot be unmounted at present, or NULL. */
static const char *is_busy(const struct command_mount *e, bool force)
{
	if (e->client || e->state == COMMAND_MOUNT_NEW)
		return "another client is mounting or unmounting this folder; try again";
	if (e->state == COMMAND_MOUNT_ENDING)
		return "the mount is being unmounted already; see 'plenum events'";
	if (e->unmount && !force)
		return "an earlier unmount of this folder still waits for the server; '--force' "
		       "ends the mount now";
	return NULL;
}

void control_unmount(struct agent *a, const struct client *cl, const struct privsep_msg *m, int fd,
		     struct control_reply *r)
{
	const char *path = m->mount.path, *why = NULL;
	struct command_mount *e;

	if (!can_change(a, cl, path, r))
		return;
	mounts_look(a->mounts);
	tick(a);
	e = find(a, path);
	if (!e || command_mounts_is_configured(a->running.spec, e->what.path)) {
		refuse_unknown(a, e ? e->what.path : path, r);
		return;
	}
	why = is_busy(e, m->mount.force);
	if (why) {
		control_error(r, 409, "busy", why, NULL);
		return;
	}
	if (m->mount.force && mounts_real_path(a->mounts, e->what.path))
		why = mounts_why(a->mounts, e->what.path);
	/* The unmount would fail, or would unmount the file system that hides the mount. */
	if (why) {
		control_error(r, 409, "mount-point", why, NULL);
		return;
	}
	control_note(a, cl, "unmount of %.100s requested%s", e->what.path,
		     m->mount.force ? ", also if it is in use" : "");
	if (m->mount.force)
		end(a, e);
	else
		why = begin_gently(a, e);
	if (why) {
		control_error(r, 409, "mount-point", why, NULL);
		return;
	}
	e->client = cl->id;
	r->later = true;
	command_mounts_wake(&a->command_mounts);
}
