/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A role's process as the monitor sees it: started from this binary, spoken to by privsep messages,
 * started again after a while when it dies or breaks the rules. Its death loses a few clients'
 * requests and nothing else.
 */
#ifndef PLENUM_AGENT_ROLE_H
#define PLENUM_AGENT_ROLE_H

#include "agent/events.h"
#include "agent/loop.h"
#include "agent/privsep.h"

struct role;
/* Handles one checked message; fd is the handler's to use, not to close. */
typedef void (*role_message_cb)(void *user, const struct privsep_msg *m, int fd);

struct role_setup {
	enum privsep_role role;
	struct loop *loop;
	struct events *events;
	int listen_fd; /* handed to it; stays the caller's */
	enum log_level log_level;
	role_message_cb on_message;
	void (*on_start)(void *user); /* each time that it has been started; may be NULL */
	void *user;
};

/* Starts the process. 0 or negative errno. */
int role_new(const struct role_setup *setup, struct role **ret);
/* Ends the process. Accepts NULL, returns NULL. */
struct role *role_free(struct role *r);
/* -ENOTCONN while it is being restarted; -EAGAIN where it does not read. */
int role_send(struct role *r, struct privsep_msg *m, int fd);
pid_t role_pid(const struct role *r); /* 0: none */

/* The other side: what main() calls in a role's process. Exit status of the program. */
int api_main(enum log_level level);

#endif
