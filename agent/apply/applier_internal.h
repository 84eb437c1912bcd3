/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the monitor (applier.c) and the applier's process (applier_work.c), and the
 * process's channel (applier_channel.c). */
#ifndef PLENUM_AGENT_APPLIER_INTERNAL_H
#define PLENUM_AGENT_APPLIER_INTERNAL_H

#include "agent/apply/applier.h"
#include "netcfg/base/diag.h"
#include "netcfg/plan/plan_conflict.h"

enum applier_message_type {
	/* Messages from the applier to the monitor. */
	APPLIER_STAGE,
	APPLIER_DIAG,
	APPLIER_CONFLICT,
	APPLIER_UNREACHABLE, /* the peer that does not answer yet; "": all answer */
	/* a confirmation was refused, because the peer in `unreachable` does not answer */
	APPLIER_NOT_YET,
	APPLIER_RESULT,
	/* Messages from the monitor to the applier. */
	APPLIER_CONFIRM,
	APPLIER_ROLL_BACK,
};

struct applier_message {
	enum applier_message_type type;
	union {
		struct {
			enum applier_stage stage;
			/* For APPLIER_WAITING: end of the wait, by CLOCK_BOOTTIME. */
			uint64_t until_ns;
		};
		struct applier_result result;
		struct plan_conflict conflict;
		char unreachable[APPLIER_UNREACHABLE_MAX];
		char by[REQUESTER_MAX]; /* the client that confirms or rolls back */
		struct {
			enum diag_severity severity;
			unsigned line, column;
			char file[256], path[128], text[768]; /* file, path: "" if there is none */
		} diag;
	};
};

/* ---- the applier's process ---- */

#define APPLIER_SUBSCRIBERS_MAX 8

/*
 * The applier's connections: to the monitor that started it, and to clients of its socket, such as
 * a later monitor. It accepts orders from all of them, because only root can reach the socket.
 */
struct applier_channel {
	int monitor, listener; /* -1: closed */
	int subscribers[APPLIER_SUBSCRIBERS_MAX];
	size_t n;
	struct applier_message current; /* the current stage, which a new subscriber gets first */
	/* Address conflicts that the applied plan leaves out; a new subscriber gets them before the
	 * stage. NULL: none yet. */
	const struct plan_conflicts *conflicts;
	const char *path;
};

/* Creates the socket before the process starts: a later monitor that finds no socket can then
 * conclude that no apply began. Returns -1, after logging why, on failure; then only the monitor
 * that started the process can connect. */
int applier_channel_listen(const char *path);
/* Opens the channel. monitor: connection to the monitor. listener: the socket from
 * applier_channel_listen(), or -1; the channel then owns the socket. */
void applier_channel_open(struct applier_channel *l, int monitor, int listener, const char *path);
void applier_channel_close(struct applier_channel *l);
/* Sends the stage to all connections and, from now on, to each new subscriber. A process that does
 * not read from its connection misses the stage. */
void applier_channel_stage(struct applier_channel *l, enum applier_stage stage, uint64_t until_ns);
/* Sends a message to all connections, and waits until their sockets have room. */
void applier_channel_send(struct applier_channel *l, const struct applier_message *m);
/* Waits for an order until until_ns of CLOCK_BOOTTIME. Returns the order, APPLIER_CONFIRM or
 * APPLIER_ROLL_BACK, with its client in `by`; 0 if wake_ns of that clock has passed; -ETIMEDOUT if
 * until_ns has passed; or another negative errno if waiting failed. */
int applier_channel_wait(struct applier_channel *l, uint64_t until_ns, uint64_t wake_ns,
			 char by[static REQUESTER_MAX]);
/* Sends a message to all connections. A process that does not read from its connection misses the
 * message. */
void applier_channel_try_send(struct applier_channel *l, const struct applier_message *m);

/* Main function of the applier's process. `channel` is its socket to the monitor, `listener` the
 * socket from applier_channel_listen. Returns the exit status. */
int applier_work(const struct applier_task *t, int channel, int listener);

#endif
