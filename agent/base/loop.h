/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event loop of the agent's processes: descriptors, timers, signals, and the notifications for
 * the service manager. loop.c alone includes sd-event and sd-daemon. One loop per process, not
 * thread-safe. Callbacks run one at a time; a callback may remove any source, its own included. A
 * negative return of a callback ends the loop with that code.
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
/* Runs until loop_exit or an error: returns its code, or the negative errno. */
int loop_run(struct loop *l);
/* Runs one turn: waits at most timeout_ns for an event and dispatches it. 1; 0: timeout; negative
 * errno. */
int loop_turn(struct loop *l, uint64_t timeout_ns);
void loop_exit(struct loop *l, int code);

/* Watches fd, which stays the caller's. `urgent` sources are dispatched before all others. */
int loop_add_fd(struct loop *l, int fd, uint32_t events, bool urgent, loop_fd_cb cb, void *user,
		struct loop_source **ret);
/* A one-shot timer, disarmed at first. accuracy_ns: how late it may fire, to share wake-ups. */
int loop_add_timer(struct loop *l, uint64_t accuracy_ns, loop_timer_cb cb, void *user,
		   struct loop_source **ret);
/* (Re)arms a timer to fire once, delay_ns from now. */
int loop_timer_arm(struct loop_source *s, uint64_t delay_ns);
void loop_timer_disarm(struct loop_source *s);
bool loop_timer_armed(const struct loop_source *s);
/* Blocks the signal in this process and delivers it to cb. */
int loop_add_signal(struct loop *l, int signo, loop_signal_cb cb, void *user);
struct loop_source *loop_source_free(struct loop_source *s); /* accepts NULL, returns NULL */

/* Pets the service manager's watchdog at half its interval, if it asked for that. */
int loop_watchdog_enable(struct loop *l);
/* sd_notify(3): "READY=1\nSTATUS=..."; does nothing without a service manager. */
void loop_notify(const char *fmt, ...) PLENUM_PRINTF(1, 2);
/* Has the service manager keep a copy of fd until loop_unstore_fd, or until the service is stopped:
 * it passes the descriptors to our successor if we exit. Names: letters, digits, '-', '_', '.'. */
void loop_store_fd(int fd, const char *name);
void loop_unstore_fd(const char *name);
/* Delivers the stored descriptors (cb owns fd). Call once, before any child is started. */
void loop_take_stored(void (*cb)(void *user, int fd, const char *name), void *user);

#endif
