/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event loop of the agent's processes: descriptors, timers, signals, and notifications to the
 * service manager. Only loop.c includes sd-event and sd-daemon. One loop per process, not
 * thread-safe. Callbacks run one at a time and may remove any source, including their own. If a
 * callback returns a negative value, the loop ends and returns it.
 */
#ifndef PLENUM_AGENT_LOOP_H
#define PLENUM_AGENT_LOOP_H

#include "netcfg/base/base.h"
#include <sys/epoll.h>

struct loop;
struct loop_source;

/* revents: EPOLLIN, EPOLLHUP, ... as epoll_wait(2) gives them. */
typedef int (*loop_fd_cb)(void *user, int fd, uint32_t revents);
typedef int (*loop_timer_cb)(void *user);
typedef int (*loop_signal_cb)(void *user, int signo);

int loop_new(struct loop **ret);
struct loop *loop_free(struct loop *l); /* accepts NULL, returns NULL */
/* Runs until loop_exit or an error. Returns the exit code or negative errno. */
int loop_run(struct loop *l);
/* Waits at most timeout_ns for an event and handles it. Returns 1 if it handled an event, 0 at the
 * timeout, or negative errno. */
int loop_turn(struct loop *l, uint64_t timeout_ns);
void loop_exit(struct loop *l, int code);

/* Watches fd, which stays the caller's. Events of `urgent` sources are handled before all
 * others. */
int loop_add_fd(struct loop *l, int fd, uint32_t events, bool urgent, loop_fd_cb cb, void *user,
		struct loop_source **ret);
/* Adds a one-shot timer that is not armed yet. accuracy_ns: how late it may fire, so that wake-ups
 * can be shared. */
int loop_add_timer(struct loop *l, uint64_t accuracy_ns, loop_timer_cb cb, void *user,
		   struct loop_source **ret);
/* Arms or rearms a timer to fire once, in delay_ns. */
int loop_timer_arm(struct loop_source *s, uint64_t delay_ns);
void loop_timer_disarm(struct loop_source *s);
bool loop_timer_armed(const struct loop_source *s);
/* Blocks the signal in this process and delivers it to cb. */
int loop_add_signal(struct loop *l, int signo, loop_signal_cb cb, void *user);
struct loop_source *loop_source_free(struct loop_source *s); /* accepts NULL, returns NULL */

/* Sends the service manager's watchdog signal at half its interval, if the service manager
 * requested such signals. */
int loop_watchdog_enable(struct loop *l);
/* Calls sd_notify(3), for example with "READY=1\nSTATUS=...". Does nothing without a service
 * manager. */
void loop_notify(const char *fmt, ...) PLENUM_PRINTF(1, 2);
/* Makes the service manager keep a copy of fd until loop_unstore_fd or until the service is
 * stopped. If this process exits, the service manager passes the copies to its successor. Names
 * have letters, digits, '-', '_' and '.'. */
void loop_store_fd(int fd, const char *name);
void loop_unstore_fd(const char *name);
/* Passes the stored descriptors to cb, which owns them. Call once, before any child process is
 * started. */
void loop_take_stored(void (*cb)(void *user, int fd, const char *name), void *user);

#endif
