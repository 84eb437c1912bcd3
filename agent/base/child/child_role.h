/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process of one role, as the monitor sees it. The monitor starts it from its own binary,
 * exchanges privsep messages with it and pings it every two seconds. It restarts the process when
 * it exits, breaks a rule of privsep.h or stops answering. An exit costs only the requests that
 * clients had sent to this process.
 */
#ifndef PLENUM_AGENT_CHILD_ROLE_H
#define PLENUM_AGENT_CHILD_ROLE_H

#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/base/privsep.h"

struct child_role;
/* Handles a checked message. The handler may use fd but does not close it. Returns NULL, or the
 * rule that the message broke, a static text; the process is then killed. */
typedef const char *(*role_message_cb)(void *user, struct child_role *r,
				       const struct privsep_msg *m, int fd);

struct child_role_setup {
	enum privsep_role role;
	struct loop *loop;
	struct events *events;
	enum log_level log_level;
	role_message_cb on_message;
	/* on_start is called after each start, the first time before child_role_new returns. on_end
	 * is called after each exit. Both may be NULL. */
	void (*on_start)(void *user, struct child_role *r);
	void (*on_end)(void *user, struct child_role *r);
	void *user;
};

/* Creates the object and starts its process. Returns 0 or negative errno. */
int child_role_new(const struct child_role_setup *setup, struct child_role **ret);
/* Kills the process. Accepts NULL, returns NULL. */
struct child_role *child_role_free(struct child_role *r);
/* Sends a message, or queues it until the process reads again. Returns -ENOTCONN if the process is
 * being restarted. Another negative errno means that the message could not be queued, and the
 * process is killed. */
int child_role_send(struct child_role *r, struct privsep_msg *m, int fd);
/* Kills the process and restarts it. `why` completes the event "the api process ...". */
void child_role_end(struct child_role *r, const char *why);
bool child_role_is_up(const struct child_role *r); /* accepts NULL */
enum privsep_role child_role_kind(const struct child_role *r);
pid_t child_role_pid(const struct child_role *r); /* returns 0 if the process does not run */

/* Main function of the roles that serve clients; main() calls it. Returns the program's exit
 * status. */
int api_main(enum privsep_role role, enum log_level level);
int lldp_main(enum log_level level);
int cluster_main(enum log_level level);
int links_main(enum log_level level);

#endif
