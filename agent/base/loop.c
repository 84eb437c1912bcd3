/* SPDX-License-Identifier: BSD-3-Clause */
/* The only file that includes sd-event and sd-daemon, so that other files do not depend on them. */
#include "agent/base/loop.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

struct loop_source {
	sd_event_source *sd;
	union {
		loop_fd_cb on_fd;
		loop_timer_cb on_timer;
		loop_signal_cb on_signal;
	};
	void *user;
	struct loop_source *next; /* only for signals, which are freed with the loop */
};

struct loop {
	sd_event *event;
	struct loop_source *signals;
};

static int on_primer(sd_event_source *sd, uint64_t usec, void *user)
{
	return 0;
}

/* When sd-event arms its first timer, it reads the boot id from /proc. This function arms one
 * before the process gives up the right to open files. */
static int prime(sd_event *event)
{
	sd_event_source *timer = NULL;
	int r = sd_event_add_time_relative(event, &timer, CLOCK_MONOTONIC, 3600ULL * 1000000, 0,
					   on_primer, NULL);

	if (r >= 0)
		r = sd_event_run(event, 0);
	sd_event_source_disable_unref(timer);
	return r;
}

int loop_new(struct loop **ret)
{
	struct loop *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	r = sd_event_new(&l->event);
	if (r >= 0)
		r = prime(l->event);
	if (r < 0) {
		sd_event_unref(l->event);
		free(l);
		return r;
	}
	*ret = l;
	return 0;
}

struct loop *loop_free(struct loop *l)
{
	if (!l)
		return NULL;
	while (l->signals) {
		struct loop_source *next = l->signals->next;

		loop_source_free(l->signals);
		l->signals = next;
	}
	sd_event_unref(l->event);
	free(l);
	return NULL;
}

int loop_run(struct loop *l)
{
	return sd_event_loop(l->event);
}

int loop_turn(struct loop *l, uint64_t timeout_ns)
{
	return sd_event_run(l->event, timeout_ns / NSEC_PER_USEC);
}

void loop_exit(struct loop *l, int code)
{
	sd_event_exit(l->event, code);
}

/* sd-event would disable a source whose callback fails, and would continue. This ends the loop
 * instead. */
static int result_of(struct loop_source *s, sd_event *event, int r)
{
	if (r < 0)
		sd_event_exit(event, r);
	return 0;
}

static int dispatch_fd(sd_event_source *sd, int fd, uint32_t revents, void *user)
{
	struct loop_source *s = user;
	sd_event *event = sd_event_source_get_event(sd);

	return result_of(s, event, s->on_fd(s->user, fd, revents));
}

static int dispatch_timer(sd_event_source *sd, uint64_t usec, void *user)
{
	struct loop_source *s = user;
	sd_event *event = sd_event_source_get_event(sd);

	return result_of(s, event, s->on_timer(s->user));
}

static int dispatch_signal(sd_event_source *sd, const struct signalfd_siginfo *si, void *user)
{
	struct loop_source *s = user;
	sd_event *event = sd_event_source_get_event(sd);

	return result_of(s, event, s->on_signal(s->user, (int)si->ssi_signo));
}

static struct loop_source *source_new(void *user)
{
	struct loop_source *s = calloc(1, sizeof(*s));

	if (s)
		s->user = user;
	return s;
}

/* Completes the creation of a source: passes s to the caller in *ret or, if r is an error, frees s.
 * Returns r. */
static int source_finish(struct loop_source *s, int r, struct loop_source **ret)
{
	if (r < 0) {
		loop_source_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

int loop_add_fd(struct loop *l, int fd, uint32_t events, bool urgent, loop_fd_cb cb, void *user,
		struct loop_source **ret)
{
	struct loop_source *s = source_new(user);
	int r;

	if (!s)
		return -ENOMEM;
	s->on_fd = cb;
	r = sd_event_add_io(l->event, &s->sd, fd, events, dispatch_fd, s);
	if (r >= 0 && urgent)
		r = sd_event_source_set_priority(s->sd, SD_EVENT_PRIORITY_IMPORTANT);
	return source_finish(s, r, ret);
}

int loop_add_timer(struct loop *l, uint64_t accuracy_ns, loop_timer_cb cb, void *user,
		   struct loop_source **ret)
{
	struct loop_source *s = source_new(user);
	int r;

	if (!s)
		return -ENOMEM;
	s->on_timer = cb;
	r = sd_event_add_time(l->event, &s->sd, CLOCK_MONOTONIC, UINT64_MAX,
			      MAX_OF(accuracy_ns / NSEC_PER_USEC, 1), dispatch_timer, s);
	if (r >= 0)
		r = sd_event_source_set_enabled(s->sd, SD_EVENT_OFF);
	return source_finish(s, r, ret);
}

int loop_timer_arm(struct loop_source *s, uint64_t delay_ns)
{
	int r = sd_event_source_set_time(s->sd, (clock_now_ns() + delay_ns) / NSEC_PER_USEC);

	if (r < 0)
		return r;
	return sd_event_source_set_enabled(s->sd, SD_EVENT_ONESHOT);
}

void loop_timer_disarm(struct loop_source *s)
{
	sd_event_source_set_enabled(s->sd, SD_EVENT_OFF);
}

bool loop_timer_armed(const struct loop_source *s)
{
	int enabled = SD_EVENT_OFF;

	return sd_event_source_get_enabled(s->sd, &enabled) > 0;
}

int loop_add_signal(struct loop *l, int signo, loop_signal_cb cb, void *user)
{
	struct loop_source *s = source_new(user);
	sigset_t set;
	int r;

	if (!s)
		return -ENOMEM;
	s->on_signal = cb;
	sigemptyset(&set);
	sigaddset(&set, signo);
	r = sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -errno : 0;
	if (r >= 0)
		r = sd_event_add_signal(l->event, &s->sd, signo, dispatch_signal, s);
	if (r < 0) {
		loop_source_free(s);
		return r;
	}
	s->next = l->signals;
	l->signals = s;
	return 0;
}

struct loop_source *loop_source_free(struct loop_source *s)
{
	if (!s)
		return NULL;
	sd_event_source_disable_unref(s->sd);
	free(s);
	return NULL;
}

int loop_watchdog_enable(struct loop *l)
{
	int r = sd_event_set_watchdog(l->event, true);

	return r < 0 ? r : 0;
}

void loop_notify(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sd_notify(0, text);
}

void loop_store_fd(int fd, const char *name)
{
	char text[300];

	/* With the default FDPOLL=1 systemd would drop a FUSE descriptor that is in an error
	 * state. */
	snprintf(text, sizeof(text), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
	sd_pid_notify_with_fds(0, 0, text, &fd, 1);
}

void loop_unstore_fd(const char *name)
{
	loop_notify("FDSTOREREMOVE=1\nFDNAME=%s", name);
}

void loop_take_stored(void (*cb)(void *user, int fd, const char *name), void *user)
{
	char **names = NULL;
	int n = sd_listen_fds_with_names(1, &names);

	for (int i = 0; i < n; i++) {
		cb(user, SD_LISTEN_FDS_START + i, names[i]);
		free(names[i]);
	}
	free(names);
}
