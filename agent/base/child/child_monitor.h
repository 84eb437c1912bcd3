/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor, as the process of a role sees it: reads the monitor's messages in the event loop of
 * the role, answers its pings, and sends messages to it. When the monitor exits or breaks a rule of
 * privsep.h, the loop ends. Called by the roles' main functions.
 */
#ifndef PLENUM_AGENT_CHILD_MONITOR_H
#define PLENUM_AGENT_CHILD_MONITOR_H

#include "agent/base/loop.h"
#include "agent/base/privsep.h"

struct child_monitor {
	struct loop *loop;
	enum privsep_role role;
	/* Handles a checked message other than a ping. *fd is its descriptor or -1; a handler that
	 * keeps the descriptor sets *fd to -1. A negative errno ends the loop. */
	int (*handle)(void *user, const struct privsep_msg *m, int *fd);
	void *user;
};

/* Begins to read messages. The caller keeps m until the loop ends. Returns 0 or negative errno. */
int child_monitor_watch(struct child_monitor *m);
/* Sends a message to the monitor, with fd unless it is negative, and waits until the socket has
 * room. Returns 0 or negative errno. */
int child_monitor_tell(enum privsep_role role, struct privsep_msg *m, int fd);

#endif
