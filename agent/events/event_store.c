/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the events of earlier agents, and decides which events are written to which folder, and
 * when. */
#include "agent/events/event_store.h"
#include "agent/base/child/child_task.h"
#include "agent/base/path.h"
#include "agent/events/event_log.h"
#include "netcfg/base/log.h"
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define HUNG_NS (30 * NSEC_PER_SEC) /* a write that takes longer is reported */
#define CLOSE_WAIT_MS 1000
#define SOON_NS NSEC_PER_SEC /* delay of a write, because several events often come together */

/* The events in one of the two folders. */
struct copy {
	char *path;
	uint64_t written; /* ID of the last event that was written to this folder */
	bool replace;	  /* the file is damaged, so the next write replaces it */
	bool failing;	  /* the last write failed, and an event has reported that */
};

struct event_store {
	struct loop *loop;
	struct events *events;
	struct copy run, disk;
	struct loop_source *timer;
	struct child_task *task; /* writes to the disk; NULL: not running */
	uint64_t task_to, task_began_ns;
	size_t task_events;
	bool task_hangs;	/* an event has reported that the task hangs */
	uint64_t not_before_ns; /* earliest time of the next write to the disk */
};

/* Arms the timer for the next write to the disk. The timer also retries a write to the run
 * directory that failed. */
static void arm(struct event_store *s)
{
	const uint64_t now = clock_now_ns();

	if (!loop_timer_armed(s->timer))
		(void)loop_timer_arm(s->timer, s->not_before_ns > now + SOON_NS
						       ? s->not_before_ns - now
						       : SOON_NS);
}

/* Handles the result of a write up to event number `to`. Adds an event when writes begin to fail,
 * and when they succeed again. */
static void take_result(struct event_store *s, struct copy *c, int r, uint64_t to)
{
	const bool was_failing = c->failing;

	c->failing = r < 0;
	if (r >= 0) {
		c->written = to;
		c->replace = false;
	} else if (r == -EBADMSG) {
		c->replace = true;
	}
	if (c->failing && !was_failing)
		events_add(s->events, LOG_LEVEL_WARNING, "agent",
			   "cannot write events to %s (%s); events are kept in memory, and written "
			   "once the file can be written",
			   c->path, r == -EBADMSG ? "the file is damaged" : strerror(-r));
	else if (!c->failing && was_failing)
		events_add(s->events, LOG_LEVEL_NOTICE, "agent", "events are written to %s again",
			   c->path);
}

static int write_to(const struct event_store *s, const struct copy *c, bool sync)
{
	const uint64_t after = c->replace ? 0 : c->written;
	autofree struct events_entry *entries = NULL;
	size_t n;

	entries = events_copy(s->events, after, &n);
	if (!entries)
		return -ENOMEM;
	return c->replace ? event_log_replace(c->path, s->events->instance, entries, n)
			  : event_log_append(c->path, s->events->instance, entries, n, sync);
}

/* ---- the disk, written by a child process ---- */

/* Locks the folder, because a child of an earlier, killed agent may still be writing. Locks of the
 * files would not help, because files are replaced. */
static int lock_folder(const char *path)
{
	autofree char *copy = strdup(path);
	autoclose int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (!copy)
		return -ENOMEM;
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return -errno;
	return fd_take(fd);
}

static int work(void *user, int channel)
{
	const struct event_store *s = user;
	int lock, r;

	lock = lock_folder(s->disk.path);
	r = lock < 0 ? lock : write_to(s, &s->disk, true);
	return MIN_OF(-r, 125);
}

static void on_end(void *user, int status, const char *how)
{
	struct event_store *s = user;

	s->task = NULL;
	if (s->task_hangs) {
		s->task_hangs = false;
		log_notice("the write of events to %s has ended", s->disk.path);
	}
	if (status < 0 || status > 125) { /* the child was killed, or failed before it wrote */
		s->disk.replace = true;
		status = EIO;
	}
	s->not_before_ns = clock_now_ns() + (status || s->task_events >= EVENT_STORE_MANY
						     ? EVENT_STORE_SLOW_NS
						     : EVENT_STORE_DELAY_NS);
	loop_timer_disarm(s->timer);
	take_result(s, &s->disk, -status, s->task_to);
	if (s->disk.written < events_newest(s->events) || s->run.failing)
		arm(s);
}

/* Starts the child. loop: NULL if the event loop has ended. */
static void start_task(struct event_store *s, struct loop *loop)
{
	const struct child_task_setup setup = {
		.loop = loop, .name = "plenum-events", .work = work, .on_end = on_end, .user = s};
	const uint64_t last = events_newest(s->events);
	int r;

	if (s->disk.written >= last)
		return;
	s->task_to = last;
	s->task_events = (size_t)MIN_OF(last - s->disk.written, (uint64_t)EVENTS_KEPT);
	s->task_began_ns = clock_now_ns();
	r = child_task_start(&setup, &s->task);
	if (r < 0) {
		s->not_before_ns = clock_now_ns() + EVENT_STORE_SLOW_NS;
		take_result(s, &s->disk, r, 0);
	}
}

/* ---- the run directory, written at once ---- */

static void write_run(struct event_store *s)
{
	const uint64_t last = events_newest(s->events);

	if (s->run.written < last)
		take_result(s, &s->run, write_to(s, &s->run, false), last);
}

void event_store_note(struct event_store *s)
{
	if (!s)
		return;
	if (!s->run.failing) /* after an error, the timer retries the write */
		write_run(s);
	arm(s);
}

static int on_timer(void *user)
{
	struct event_store *s = user;

	write_run(s);
	if (!s->task) {
		start_task(s, s->loop);
	} else if (!s->task_hangs && clock_now_ns() - s->task_began_ns >= HUNG_NS) {
		s->task_hangs = true;
		events_add(s->events, LOG_LEVEL_WARNING, "agent",
			   "writing events to %s takes more than 30 s (process %d); events are "
			   "kept in memory until the disk answers",
			   s->disk.path, (int)child_task_pid(s->task));
	}
	if (s->task)
		(void)loop_timer_arm(s->timer, HUNG_NS);
	else if (s->disk.written < events_newest(s->events) || s->run.failing)
		arm(s);
	return 0;
}

/* ---- start and end ---- */

static void report(struct event_store *s, const struct event_log *log, const struct copy *c, int r)
{
	if (r < 0)
		events_add(s->events, LOG_LEVEL_WARNING, "agent",
			   "cannot read the earlier events in %s: %s", c->path,
			   r == -EFBIG ? "the file is too large" : strerror(-r));
	if (log->newer)
		events_add(
			s->events, LOG_LEVEL_NOTICE, "agent",
			"%s was written by a newer version of Plenum (format %u): its events are "
			"not listed, and before the next write the file is renamed to events.v%u",
			c->path, log->newer, log->newer);
	if (log->n_damaged || log->headless)
		events_add(s->events, LOG_LEVEL_WARNING, "agent",
			   "%s was damaged (unusable lines: %zu); the events in these lines are "
			   "lost unless the other copy has them",
			   c->path, log->n_damaged + log->incomplete + log->headless);
	else if (log->incomplete)
		events_add(s->events, LOG_LEVEL_NOTICE, "agent",
			   "%s: the last event was incomplete, as after a power failure; this "
			   "event is lost unless the other copy has it",
			   c->path);
}

/* Merges the events of both folders. If the run directory has no file, the host was restarted. */
static void merge(const struct event_log *disk, const struct event_log *run, struct events *ev)
{
	const uint64_t instance = run->instance	   ? run->instance
				  : disk->instance ? disk->instance
						   : ev->instance;
	const size_t n_disk = !disk->instance || disk->instance == instance ? disk->n : 0;
	const uint64_t disk_last = n_disk ? disk->last : 0;
	const uint64_t last = MAX_OF(run->last, disk_last);
	const uint64_t next = last + 1 + (last && !run->n ? EVENT_STORE_JUMP : 0);

	events_restore(ev, disk->entries, n_disk, instance, next);
	for (size_t i = 0; i < run->n; i++)
		if (run->entries[i].seq > disk_last)
			events_restore(ev, &run->entries[i], 1, instance, next);
}

static void begin_copy(struct event_store *s, struct copy *c, const struct event_log *log, int r)
{
	c->replace = r < 0 || !event_log_is_whole(log) ||
		     (log->instance && log->instance != s->events->instance);
	c->written = c->replace ? 0 : log->last;
}

static int load(struct event_store *s, const char *started)
{
	PLENUM_CLEANUP(event_log_done) struct event_log disk = {0};
	PLENUM_CLEANUP(event_log_done) struct event_log run = {0};
	const int d = event_log_read(&disk, s->disk.path), r = event_log_read(&run, s->run.path);

	if (d == -ENOMEM || r == -ENOMEM)
		return -ENOMEM;
	merge(&disk, &run, s->events);
	begin_copy(s, &s->disk, &disk, d);
	begin_copy(s, &s->run, &run, r);
	if (started)
		events_add(s->events, LOG_LEVEL_NOTICE, "agent", "%s", started);
	report(s, &disk, &s->disk, d);
	report(s, &run, &s->run, r);
	return 0;
}

int event_store_open(struct loop *loop, struct events *events, const char *run_dir,
		     const char *state_dir, const char *started, struct event_store **ret)
{
	struct event_store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->events = events;
	s->run.path = path_join(run_dir, "events");
	s->disk.path = path_join(state_dir, "events");
	r = s->run.path && s->disk.path ? load(s, started) : -ENOMEM;
	if (r >= 0)
		r = loop_add_timer(loop, NSEC_PER_SEC / 2, on_timer, s, &s->timer);
	if (r < 0) {
		event_store_close(s);
		return r;
	}
	if (s->disk.written < events_newest(events) || s->run.written < events_newest(events))
		event_store_note(s);
	*ret = s;
	return 0;
}

void event_store_close(struct event_store *s)
{
	if (!s)
		return;
	if (s->task)
		(void)child_task_await(s->task, CLOSE_WAIT_MS);
	if (s->timer && !s->task) {
		start_task(s, NULL);
		if (s->task)
			(void)child_task_await(s->task, CLOSE_WAIT_MS);
	}
	child_task_forget(s->task);
	loop_source_free(s->timer);
	free(s->run.path);
	free(s->disk.path);
	free(s);
}
