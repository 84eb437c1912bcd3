/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a worker's messages and notices its exit. Passes both to supervise_events.c as events. */
#include "agent/base/child/spawn.h"
#include "agent/base/memory_group.h"
#include "agent/supervise/supervise_internal.h"
#include "netcfg/base/os/fdpass.h"
#include "netcfg/base/text.h"
#include <stdio.h>
#include <string.h>

#define MESSAGES_A_TURN 16
/* Maximum number of messages read from a worker at once; a socket of the default size holds
 * fewer. */
#define MESSAGES_SENT_MAX 65536

static void take_event(struct sup_worker *w, const struct launch_msg *msg)
{
	bool good = msg->code == LAUNCH_EVENT_PATH_UP || msg->code == LAUNCH_EVENT_PEER_UP ||
		    msg->code == LAUNCH_EVENT_RESTORED || msg->code == LAUNCH_EVENT_RDMA;
	char name[EVENTS_SOURCE_MAX];

	if (msg->code == LAUNCH_EVENT_PEER_UP || msg->code == LAUNCH_EVENT_PEER_REFUSED)
		sup_look_at_mounts_soon(w->sup);
	snprintf(name, sizeof(name), "worker %u", w->id);
	events_keep(w->sup->setup.events, good ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING, name,
		    msg->text);
}

/* Pins a file for the worker. Becomes the owner of fd. */
static void take_hold(struct sup_worker *w, const struct launch_msg *msg, int fd)
{
	const struct launch_config *c = w->started;
	int r = -ENOENT;

	if (c && c->n_exports > 0)
		r = exports_hold(&w->sup->exports,
				 c->exports[msg->index < c->n_exports ? msg->index : 0].name,
				 msg->key, fd);
	else
		close(fd);
	if (r < 0)
		log_debug("worker %u: cannot pin an open file: %s", w->id, strerror(-r));
}

/* Sets w->released of the device that the worker has released, and calls on_release. The next
 * reconcile finds out why: the device may be gone, or available again. */
static void take_release(struct sup_worker *w, const struct launch_msg *msg)
{
	const struct sup_setup *setup = &w->sup->setup;

	if (!w->started || msg->index >= w->started->n_ports || w->released[msg->index])
		return;
	w->released[msg->index] = true;
	if (setup->on_release)
		setup->on_release(setup->user);
}

/* Cleans the text of a message. Some types of messages have numbers in place of the text, for
 * example the result of an RDMA test; these are not changed. */
static void clean_message(struct launch_msg *msg)
{
	if (msg->type != LAUNCH_MSG_FAILED && msg->type != LAUNCH_MSG_EVENT)
		return;
	msg->text[sizeof(msg->text) - 1] = '\0';
	text_clean(msg->text);
}

/* Handles a message. Becomes the owner of its descriptor fd; -1: the message has none. */
static void take_message(struct sup_worker *w, struct launch_msg *msg, int fd)
{
	clean_message(msg);
	if (fd >= 0 && msg->type != LAUNCH_MSG_HOLD)
		close(fd);
	switch (msg->type) {
	case LAUNCH_MSG_HOLD:
		if (fd >= 0)
			take_hold(w, msg, fd);
		break;
	case LAUNCH_MSG_DROP:
		exports_drop(&w->sup->exports, msg->key);
		break;
	case LAUNCH_MSG_LOCK_KEEP:
	case LAUNCH_MSG_LOCK_FORGET:
		sup_lock_record(w, msg);
		break;
	case LAUNCH_MSG_READY:
		w->sup->on_event(w, SUP_EV_READY);
		break;
	case LAUNCH_MSG_FAILED:
		snprintf(w->reason, sizeof(w->reason), "%s", msg->text);
		w->sup->on_event(w, SUP_EV_FAILED_MSG);
		break;
	case LAUNCH_MSG_EVENT:
		take_event(w, msg);
		break;
	case LAUNCH_MSG_HAS_PORT:
		sup_take_port(w, msg->index, &msg->port);
		break;
	case LAUNCH_MSG_RELEASED:
		take_release(w, msg);
		break;
	case LAUNCH_MSG_PINGED:
		if (w->ping_asked && msg->ping.id == w->ping_asked)
			w->pinged = msg->ping;
		break;
	default:
		sup_report(w, LOG_LEVEL_WARNING, "sent a message of unknown type %u", msg->type);
	}
}

/* Returns whether the message is about pinned files. These messages begin with the same header in
 * all versions. */
static bool is_about_pins(const struct launch_msg *msg, ssize_t n)
{
	return n >= (ssize_t)offsetof(struct launch_msg, text) &&
	       (msg->type == LAUNCH_MSG_HOLD || msg->type == LAUNCH_MSG_DROP);
}

/* Reads at most n_max messages. From a worker of another version it handles only messages about
 * pinned files. */
void sup_read_control(struct sup_worker *w, unsigned n_max)
{
	const bool is_other = w->pins_fd >= 0;
	const int fd = is_other ? w->pins_fd : w->control_fd;
	struct launch_msg msg;
	int passed;

	for (unsigned i = 0; i < n_max && fd >= 0; i++) {
		ssize_t n = fdpass_recv(fd, &msg, sizeof(msg), &passed, NULL);

		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n <= 0) {
			/* At end of file, the pidfd will report the exit. */
			w->control_source = loop_source_free(w->control_source);
			return;
		}
		if (is_about_pins(&msg, n) || ((size_t)n == sizeof(msg) && !is_other)) {
			take_message(w, &msg, passed);
			continue;
		}
		cleanup_close(&passed);
		if (!is_other)
			sup_report(w, LOG_LEVEL_WARNING, "sent a message of %zd bytes, not %zu", n,
				   sizeof(msg));
	}
}

void sup_read_sent(struct sup_worker *w)
{
	sup_read_control(w, MESSAGES_SENT_MAX);
}

/* Reads only a few messages per turn, so that a worker that sends many does not delay the
 * others. */
static int on_control(void *user, int fd, uint32_t revents)
{
	sup_read_control(user, MESSAGES_A_TURN);
	return 0;
}

/* Reports why the worker exited. If a worker exits again and again with the same reason, only the
 * first exit is reported. */
static void report_end(struct sup_worker *w, enum sup_event e, const char *how)
{
	bool explained = w->reason[0];

	/* do_give_up reports a configuration that cannot work. */
	if (!sup_is_reported(w) && e != SUP_EV_EXITED_CONFIG)
		sup_report(w, LOG_LEVEL_ERR, "ended: %s%s%s", how, explained ? ": " : "",
			   w->reason);
	snprintf(w->reported, sizeof(w->reported), "%s", w->reason);
	if (!explained)
		snprintf(w->reason, sizeof(w->reason), "%s", how);
}

static int on_exit_process(void *user, int fd, uint32_t revents)
{
	struct sup_worker *w = user;
	struct sup *s = w->sup;
	enum sup_event e = SUP_EV_CRASHED;
	char how[96] = "gone";
	struct reason killed;
	int status = -1;

	/* Messages sent before the exit explain it and name the files to pin. */
	sup_read_sent(w);
	spawn_reap(fd, &status, how, sizeof(how));
	sup_forget_process(w);
	if (status == SPAWN_EXIT_CORE && !w->reason[0])
		snprintf(w->reason, sizeof(w->reason),
			 "no-core: core %u is offline or not in the agent's cpuset; add the core "
			 "(AllowedCPUs= of plenumd.service, or the container's cpuset)",
			 w->config.core);
	if (status == LAUNCH_EXIT_STOPPED)
		e = SUP_EV_EXITED_0;
	else if (status == LAUNCH_EXIT_CONFIG)
		e = SUP_EV_EXITED_CONFIG;
	else if (status == SPAWN_EXIT_CORE && w->state == SUP_STARTING)
		/* The worker program was not executed: this is a failed start, which is retried,
		 * and not a death. */
		e = SUP_EV_SPAWN_FAILED;
	if (status != LAUNCH_EXIT_STOPPED && s->setup.memory &&
	    /* The kernel has killed the worker or one of its I/O helpers. */
	    memory_group_has_killed(s->setup.memory, &killed))
		reason_format(&killed, w->reason, sizeof(w->reason));
	w->no_transport = status == LAUNCH_EXIT_TRANSPORT;
	if (w->no_transport && w->sup->setup.on_no_transport)
		w->sup->setup.on_no_transport(w->sup->setup.user, w->id, w->reason);
	if (w->state != SUP_STOPPING)
		report_end(w, e, how);
	w->sup->on_event(w, e);
	s->on_gone(s);
	return 0;
}

int sup_watch(struct sup_worker *w)
{
	struct loop *l = w->sup->setup.loop;
	int r = loop_add_fd(l, w->pidfd, EPOLLIN, false, on_exit_process, w, &w->pid_source);
	int fd = w->pins_fd >= 0 ? w->pins_fd : w->control_fd;

	if (r >= 0 && fd >= 0)
		r = loop_add_fd(l, fd, EPOLLIN, false, on_control, w, &w->control_source);
	return r;
}
