/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the exported folders for the workers. While they are served, checks that their paths still
 * lead to them, and that their file systems answer and have free space. */
#include "agent/supervise/supervise_internal.h"
#include "netcfg/base/os/fdpass.h"
#include <stdio.h>
#include <string.h>

/* Time between checks by a child process while no difference is known. */
#define LOOK_NS (5 * NSEC_PER_SEC)
/* A file system that does not answer within this time counts as hanging. */
#define HUNG_NS (3 * NSEC_PER_SEC)

/* ---- reasons ---- */

static void say_unsaved(struct sup *s, int r)
{
	if (r < 0)
		events_add(s->setup.events, LOG_LEVEL_WARNING, "agent",
			   "the record of exported folders cannot be written (%s); after a restart "
			   "of the agent another folder at the same path is not noticed",
			   strerror(-r));
}

/* Sets why to the reason why the export's path cannot be opened. */
static void explain_error(int error, const struct launch_export *e, const char *link,
			  struct reason *why)
{
	if (error == -ETIMEDOUT)
		reason_set(why, "export-hung",
			   "export %.40s: %.80s: its file system does not answer; check the file "
			   "system's disk or server (dmesg)",
			   e->name, e->path);
	else if (error == -ELOOP)
		reason_set(why, "export-link",
			   "export %.40s: %.80s is a symbolic link that others than root "
			   "could have made; write the real path of the folder",
			   e->name, link);
	else
		reason_set(why, "export-missing",
			   "export %.60s: %.100s: %s; make the directory, or change the path of "
			   "the export",
			   e->name, e->path, strerror(-error));
}

static void explain_other(const struct export_record *r, uint64_t dev, uint64_t ino,
			  struct reason *why)
{
	char is[FOLDER_TEXT_MAX], was[FOLDER_TEXT_MAX];

	reason_set(why, "export-replaced",
		   "export %.30s: %.50s is %s, but %s was exported; put the exported folder back, "
		   "or run 'plenum apply' to export the new folder",
		   r->name, r->path, folder_text(dev, ino, is),
		   folder_text(r->id.dev, r->id.ino, was));
}

/* Warns of a full file system; only for exports that clients may write to. */
static void explain_room(const struct launch_export *e, const struct folder_room *room,
			 struct reason *why)
{
	if (e->read_only || !folder_is_full(room))
		return;
	if (room->inodes > 0 && room->free_inodes == 0)
		reason_set(why, "export-full",
			   "export %.40s: the file system of %.80s has no free inode; remove files "
			   "there",
			   e->name, e->path);
	else
		reason_set(why, "export-full",
			   "export %.40s: the file system of %.80s is nearly full: %llu of %llu "
			   "MiB are free; make room there",
			   e->name, e->path, (unsigned long long)(room->free_bytes >> 20),
			   (unsigned long long)(room->bytes >> 20));
}

/* Returns whether the reason concerns the file system; only a child process can check that, because
 * it may block. */
static bool is_of_file_system(const struct reason *why)
{
	return strcmp(why->code, "export-full") == 0 || strcmp(why->code, "export-hung") == 0;
}

/* ---- opening ---- */

static struct export_record *record_of(const struct sup *s, const struct launch_export *e)
{
	return (struct export_record *)export_records_find(&s->records, e->name, e->path);
}

/* Compares the opened folder with the export's record. Returns 0 if it is the recorded folder, or
 * was recorded now; otherwise negative errno with the reason in why. */
static int check(struct sup *s, const struct launch_export *e, const struct folder_id *is,
		 struct reason *why)
{
	const struct folder_id *was;
	struct export_record *rec;
	int saved, r = export_records_check(&s->records, e->name, e->path, is, &was, &saved);

	say_unsaved(s, saved);
	rec = record_of(s, e);
	if (r >= 0) {
		if (rec)
			reason_clear(&rec->differs);
		return 0;
	}
	explain_other(rec, is->dev, is->ino, why);
	rec->differs = *why;
	return r;
}

int sup_open_export(struct sup_worker *w, const struct launch_export *e)
{
	struct reason why = {.code = ""};
	struct async_folder found;
	autoclose int fd = async_open_open(&w->sup->dirs, e->path, &found);
	int r = fd;

	if (fd < 0)
		explain_error(fd, e, found.link, &why);
	else
		r = check(w->sup, e, &found.id, &why);
	if (r < 0)
		reason_format(&why, w->reason, sizeof(w->reason));
	return r < 0 ? r : fd_take(fd);
}

static bool is_wanted(const struct sup_worker *w, const struct launch_export *e)
{
	for (uint32_t i = 0; i < w->config.n_exports; i++)
		if (strcmp(w->config.exports[i].name, e->name) == 0 &&
		    strcmp(w->config.exports[i].path, e->path) == 0)
			return true;
	return false;
}

bool sup_exports_stay(const struct sup_worker *w)
{
	const struct launch_config *c = w->started;

	for (uint32_t i = 0; c && i < c->n_exports; i++) {
		const struct launch_export *e = &c->exports[i];
		const struct export_record *r = record_of(w->sup, e);
		uint64_t dev, ino;
		int error;

		if (!r || r->former_boot || !is_wanted(w, e))
			continue;
		error = folder_look(e->path, &dev, &ino);
		if (error == -EAGAIN)
			continue;
		if (error < 0 || dev != r->id.dev || ino != r->id.ino)
			return false;
	}
	return true;
}

void sup_ask_exports(struct sup *s, const struct launch_config *c)
{
	for (uint32_t i = 0; i < c->n_exports; i++)
		async_open_ask(&s->dirs, c->exports[i].path);
}

bool sup_gains_export(struct sup_worker *w)
{
	const struct launch_config *c = w->started;

	for (uint32_t i = 0; c && i < c->n_missing; i++) {
		const struct launch_export *e = &c->exports[c->n_exports + i];
		struct async_folder found;
		struct reason why = {.code = ""};
		int r = async_open_look(&w->sup->dirs, e->path, &found);

		if (r == 0)
			r = check(w->sup, e, &found.id, &why);
		if (r == 0)
			return true;
		if (r != -EAGAIN && r != -EREMCHG)
			explain_error(r, e, found.link, &why);
		if (r != -EAGAIN)
			reason_format(&why, w->lacks, sizeof(w->lacks));
	}
	return false;
}

/* ---- folders that an operator's apply exports ---- */

static void export_new_folder(struct sup *s, const struct launch_export *e)
{
	char is[FOLDER_TEXT_MAX], was[FOLDER_TEXT_MAX];
	struct export_record *r = record_of(s, e);
	struct async_folder found;
	autoclose int fd = r && !r->taken ? async_open_open(&s->dirs, e->path, &found) : -1;

	if (fd < 0 || folder_is_same(&r->id, &found.id, !r->former_boot))
		return;
	events_add(s->setup.events, LOG_LEVEL_INFO, "agent",
		   "export %s: %s is now %s (was %s), as this apply found it", e->name, e->path,
		   folder_text(found.id.dev, found.id.ino, is),
		   folder_text(r->id.dev, r->id.ino, was));
	say_unsaved(s, export_records_put(&s->records, e->name, e->path, &found.id));
	record_of(s, e)->taken = true;
}

void sup_take_exports(struct sup *s, const struct launch_config *wants, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sup_ask_exports(s, &wants[i]);
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < wants[i].n_exports; j++)
			export_new_folder(s, &wants[i].exports[j]);
}

bool sup_export_taken(const struct sup_worker *w)
{
	const struct launch_config *c = &w->config;

	for (uint32_t i = 0; i < c->n_exports; i++) {
		const struct export_record *r = record_of(w->sup, &c->exports[i]);

		if (r && r->taken)
			return true;
	}
	return false;
}

void sup_keep_exports(struct sup *s, const struct launch_config *wants, size_t n)
{
	for (size_t i = 0; i < s->records.n; i++)
		s->records.all[i].taken = false;
	/* Records stay during a trial, which may be rolled back, and while the agent stops, because
	 * the next agent serves the same exports. */
	if (!s->stopping && (!s->setup.on_trial || !s->setup.on_trial(s->setup.user)))
		say_unsaved(s, export_records_keep(&s->records, wants, n));
}

const struct reason *sup_export_differs(const struct sup *s, const struct launch_export *e)
{
	static const struct reason none;
	const struct export_record *r = record_of(s, e);

	return r ? &r->differs : &none;
}

unsigned sup_export_pinned(const struct sup *s, const char *export_name)
{
	return exports_pinned(&s->exports, export_name);
}

/* ---- checks while an export is served ---- */

/* Checks the path and the file system of a served export. why gets the problem, or is cleared if
 * the export has no problem. Returns 0, or -EAGAIN if the result is not known yet. */
static int check_path(struct sup *s, const struct launch_export *e, struct export_record *r,
		      struct reason *why)
{
	uint64_t now = clock_now_ns(), dev, ino;
	struct async_folder found;
	int error = folder_look(e->path, &dev, &ino);
	const bool is_same = error == 0 && dev == r->id.dev && ino == r->id.ino && !r->former_boot;

	reason_clear(why);
	if (now < r->look_ns && (is_same || error == -EAGAIN))
		return is_same && !is_of_file_system(&r->differs) ? 0 : -EAGAIN;
	/* A child process makes the check when the kernel's cache has no answer or shows a
	 * difference, or when LOOK_NS have passed since the last such check. */
	error = async_open_look(&s->dirs, e->path, &found);
	if (error == -EAGAIN && async_open_waits_ns(&s->dirs, e->path) < HUNG_NS)
		return error;
	if (error == -EAGAIN) {
		explain_error(-ETIMEDOUT, e, "", why);
		return 0;
	}
	r->look_ns = now + LOOK_NS;
	if (error < 0) {
		explain_error(error, e, found.link, why);
	} else if (!folder_is_same(&r->id, &found.id, !r->former_boot)) {
		explain_other(r, found.id.dev, found.id.ino, why);
	} else {
		/* Some file systems get another device number with each mount, so the record gets
		 * the present one. */
		r->id.dev = found.id.dev;
		explain_room(e, &found.room, why);
	}
	return 0;
}

static void report_change(struct sup *s, const struct launch_export *e, const struct reason *was,
			  const struct reason *is)
{
	char text[REASON_FORMAT_MAX];

	if (reason_is_set(is))
		events_add(s->setup.events, LOG_LEVEL_WARNING, "agent", "%s",
			   reason_format(is, text, sizeof(text)));
	else if (is_of_file_system(was))
		events_add(s->setup.events, LOG_LEVEL_NOTICE, "agent", "export %s: %s has ended",
			   e->name, was->code);
	else
		events_add(s->setup.events, LOG_LEVEL_NOTICE, "agent",
			   "export %s: %s leads to the exported folder again", e->name, e->path);
}

void sup_watch_exports(struct sup_worker *w)
{
	const struct launch_config *c = w->started;
	struct sup *s = w->sup;
	bool changed = false;

	for (uint32_t i = 0; c && i < c->n_exports; i++) {
		const struct launch_export *e = &c->exports[i];
		struct export_record *r = record_of(s, e);
		struct reason why;

		if (!r || check_path(s, e, r, &why) < 0 || reason_equal(&why, &r->differs))
			continue;
		/* No event if only the amount of free space has changed. */
		if (strcmp(why.code, r->differs.code) != 0)
			report_change(s, e, &r->differs, &why);
		r->differs = why;
		changed = true;
	}
	if (changed && s->setup.on_change)
		s->setup.on_change(s->setup.user);
}

/* ---- file locks ---- */

/* Requests that come within this time are collected, so that one write of the records serves all
 * these requests. */
#define LOCKS_SAVE_NS (5 * NSEC_PER_MSEC)

int sup_give_locks(struct sup *s)
{
	const int fd = exports_state(&s->exports, EXPORTS_LOCKS);
	int r;

	if (fd < 0)
		return fd;
	r = lock_records_check(&s->lock_records, fd);
	return r < 0 ? r : fd;
}

static void lock_answer(const struct sup *s, uint32_t worker_id, const struct launch_msg *msg)
{
	for (const struct sup_worker *w = s->workers; w; w = w->next)
		if (w->id == worker_id && w->control_fd >= 0)
			(void)fdpass_send(w->control_fd, msg, sizeof(*msg), -1);
}

static int on_locks_save(void *user)
{
	struct sup *s = user;
	struct lock_records *x = &s->lock_records;
	int r = lock_records_save(x);

	for (unsigned i = 0; i < x->n_answers && r == 0; i++)
		lock_answer(s, x->answers[i].worker_id, &x->answers[i].msg);
	x->n_answers = 0; /* after an error, the workers ask again */
	if (r < 0 && !s->lock_unsaved)
		events_add(s->setup.events, LOG_LEVEL_WARNING, "agent",
			   "the record of mounts with file locks cannot be written (%s): until "
			   "it can be written, locks of clients that did not return stay, and "
			   "clients lose new locks if this host reboots",
			   strerror(-r));
	s->lock_unsaved = r < 0;
	return 0;
}

void sup_lock_record(struct sup_worker *w, const struct launch_msg *msg)
{
	struct sup *s = w->sup;
	const int fd = exports_locks(&s->exports);

	if (fd < 0 || !lock_records_ask(&s->lock_records, fd, w->id, msg))
		return;
	if (!s->lock_timer &&
	    loop_add_timer(s->setup.loop, NSEC_PER_MSEC, on_locks_save, s, &s->lock_timer) < 0)
		return;
	if (!loop_timer_armed(s->lock_timer))
		(void)loop_timer_arm(s->lock_timer, LOCKS_SAVE_NS);
}
