/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process of one role as the monitor sees it. The monitor starts it from this binary, exchanges
 * privsep messages with it, pings it every two seconds, and restarts it when it exits, breaks a
 * rule of privsep.h or stops answering. When it exits, a few clients' requests are lost and nothing
 * else.
 */
#ifndef PLENUM_AGENT_CHILD_ROLE_H
#define PLENUM_AGENT_CHILD_ROLE_H

#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/base/privsep.h"

struct child_role;
/* Handles one checked message. The handler may use fd and must not close it. Returns NULL, or the
 * rule that the message broke (static text); the process is then killed. */
typedef const char *(*role_message_cb)(void *user, struct child_role *r,
				       const struct privsep_msg *m, int fd);

struct child_role_setup {
	enum privsep_role role;
	struct loop *loop;
	struct events *events;
	enum log_level log_level;
	role_message_cb on_message;
	/* Called after each start (the first time before child_role_new returns) and after each
	 * exit; may be NULL. */
	void (*on_start)(void *user, struct child_role *r);
	void (*on_end)(void *user, struct child_role *r);
	void *user;
};

/* Starts the process. 0 or negative errno. */
int child_role_new(const struct child_role_setup *setup, struct child_role **ret);
/* Kills the process. Accepts NULL, returns NULL. */
struct child_role *child_role_free(struct child_role *r);
/* Sends the message, or queues it until the process reads again. -ENOTCONN while the process is
 * being restarted; another negative errno if the message could not be queued: the process is then
 * killed. */
int child_role_send(struct child_role *r, struct privsep_msg *m, int fd);
/* Kills the process and restarts it; `why` completes the event "the api process ...". */
void child_role_end(struct child_role *r, const char *why);
bool child_role_is_up(const struct child_role *r); /* accepts NULL */
enum privsep_role child_role_kind(const struct child_role *r);
pid_t child_role_pid(const struct child_role *r); /* 0: none */

/* Called by main() in a role's process. Returns the program's exit status. */
int api_main(enum privsep_role role, enum log_level level);
int lldp_main(enum log_level level);

#endif
