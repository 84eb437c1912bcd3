/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the monitor (applier.c) and the applier's process (applier_work.c), and the
 * process's channel (applier_channel.c). */
#ifndef PLENUM_AGENT_APPLIER_INTERNAL_H
#define PLENUM_AGENT_APPLIER_INTERNAL_H

#include "agent/apply/applier.h"
#include "netcfg/base/diag.h"
#include "netcfg/plan/plan_conflict.h"

enum applier_message_type {
	/* From the applier. */
	APPLIER_STAGE,
	APPLIER_DIAG,
	APPLIER_CONFLICT,
	APPLIER_UNREACHABLE, /* the peer that does not answer yet; "": none */
	APPLIER_NOT_YET,     /* so a confirmation is refused */
	APPLIER_RESULT,
	/* To it. */
	APPLIER_CONFIRM,
	APPLIER_ROLL_BACK,
};

struct applier_message {
	enum applier_message_type type;
	union {
		struct {
			enum applier_stage stage;
			uint64_t until_ns; /* APPLIER_WAITING: of CLOCK_BOOTTIME */
		};
		struct applier_result result;
		struct plan_conflict conflict;
		char unreachable[APPLIER_UNREACHABLE_MAX];
		char by[REQUESTER_MAX]; /* who confirms or rolls back */
		struct {
			enum diag_severity severity;
			unsigned line, column;
			char file[256], path[128], text[768]; /* file, path: "" for none */
		} diag;
	};
};

/* ---- the applier's process ---- */

#define APPLIER_SUBSCRIBERS_MAX 8

/*
 * The applier's connections: the monitor that started it, and clients of its socket, which a later
 * monitor connects to. Orders are accepted from all: the socket is accessible to root only.
 */
struct applier_channel {
	int monitor, listener; /* -1: closed */
	int subscribers[APPLIER_SUBSCRIBERS_MAX];
	size_t n;
	struct applier_message current; /* the current stage, for later subscribers */
	/* Sent before it: the address conflicts that the applied plan leaves out. NULL: none yet.
	 */
	const struct plan_conflicts *conflicts;
	const char *path;
};

/* Creates the socket before the process starts, so that a later monitor that finds none knows that
 * no apply began. -1 on failure (logged): only the monitor is connected. */
int applier_channel_listen(const char *path);
/* Takes listener; -1: none. */
void applier_channel_open(struct applier_channel *l, int monitor, int listener, const char *path);
void applier_channel_close(struct applier_channel *l);
/* Sends the stage to all, and to later subscribers. Dropped where a peer does not read. */
void applier_channel_stage(struct applier_channel *l, enum applier_stage stage, uint64_t until_ns);
/* Sends to all; waits until they have room. */
void applier_channel_send(struct applier_channel *l, const struct applier_message *m);
/* Waits for an order until until_ns of CLOCK_BOOTTIME: APPLIER_CONFIRM or APPLIER_ROLL_BACK, and
 * who gave it; 0: wake_ns of that clock has passed; -ETIMEDOUT: the time is over; another negative
 * errno: waiting failed. */
int applier_channel_wait(struct applier_channel *l, uint64_t until_ns, uint64_t wake_ns,
			 char by[static REQUESTER_MAX]);
/* Sends to all. Dropped where a peer does not read. */
void applier_channel_try_send(struct applier_channel *l, const struct applier_message *m);

/* Main function of the applier's process; `channel` leads to the monitor, `listener` as above. Exit
 * status. */
int applier_work(const struct applier_task *t, int channel, int listener);

#endif
