/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two sides of the applier say to each other: applier.c is the monitor's, applier_work.c
 * what its process does, applier_channel.c how that process hears and is heard. */
#ifndef PLENUM_AGENT_APPLIER_INTERNAL_H
#define PLENUM_AGENT_APPLIER_INTERNAL_H

#include "agent/apply/applier.h"
#include "netcfg/base/diag.h"
#include "netcfg/plan/plan_conflict.h"

enum applier_message_type {
	/* Of the applier. */
	APPLIER_STAGE,
	APPLIER_DIAG,
	APPLIER_CONFLICT,
	APPLIER_UNREACHABLE, /* who does not answer yet, while it waits; "": nobody */
	APPLIER_NOT_YET,     /* so a confirmation is not taken */
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
		char by[CLIENTS_BY_MAX]; /* who confirms, or wants it rolled back */
		struct {
			enum diag_severity severity;
			unsigned line, column;
			char file[256], path[128], text[768]; /* file, path: "" for none */
		} diag;
	};
};

/* ---- the applier's end ---- */

#define APPLIER_SUBSCRIBERS_MAX 8

/*
 * Who hears the applier's process: the monitor that started it, while that lives, and whoever
 * connects to its socket, which a monitor that was started later does. Orders are taken from any of
 * them: the socket is root's alone.
 */
struct applier_channel {
	int monitor, listener; /* -1: gone */
	int subscribers[APPLIER_SUBSCRIBERS_MAX];
	size_t n;
	struct applier_message current; /* the stage, for those who come later */
	/* And, before it, whose addresses are others': the plan that was done is without them. NULL
	 * until there is one. */
	const struct plan_conflicts *conflicts;
	const char *path;
};

/* The socket, made before there is a process that could answer there: a later monitor that finds
 * none knows that none has been begun. -1: there is none (the reason is logged), and only the
 * monitor hears. */
int applier_channel_listen(const char *path);
/* listener: takes it; -1: none. */
void applier_channel_open(struct applier_channel *l, int monitor, int listener, const char *path);
void applier_channel_close(struct applier_channel *l);
/* To all that are there, and later to those who come. May be lost on the way. */
void applier_channel_stage(struct applier_channel *l, enum applier_stage stage, uint64_t until_ns);
/* To all; waits until they have room. */
void applier_channel_send(struct applier_channel *l, const struct applier_message *m);
/* Waits for an order, until until_ns of CLOCK_BOOTTIME: APPLIER_CONFIRM or APPLIER_ROLL_BACK with
 * who it was; 0: it is wake_ns of that clock; -ETIMEDOUT: the time is over; another negative errno:
 * it cannot be waited for. */
int applier_channel_wait(struct applier_channel *l, uint64_t until_ns, uint64_t wake_ns,
			 char by[static CLIENTS_BY_MAX]);
/* To all that are there. May be lost on the way. */
void applier_channel_try_send(struct applier_channel *l, const struct applier_message *m);

/* All that the applier's process does; `channel` to the monitor, `listener` as above. Exit status.
 */
int applier_work(const struct applier_task *t, int channel, int listener);

#endif
