/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A role's process as the monitor sees it: started from this binary, spoken to by privsep messages,
 * asked every two seconds whether it still answers, and started again when it died, broke the rules
 * or did not answer. Its death loses a few clients' requests and nothing else.
 */
#ifndef PLENUM_AGENT_ROLE_H
#define PLENUM_AGENT_ROLE_H

#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/base/privsep.h"

struct child_role;
/* Handles one checked message; fd is the handler's to use, not to close. NULL: fine; else the rule
 * that the message broke (static text), and the process is ended. */
typedef const char *(*role_message_cb)(void *user, struct child_role *r,
				       const struct privsep_msg *m, int fd);

struct child_role_setup {
	enum privsep_role role;
	struct loop *loop;
	struct events *events;
	enum log_level log_level;
	role_message_cb on_message;
	/* Each time that it has been started (the first time before child_role_new returns) and has
	 * ended; may be NULL. */
	void (*on_start)(void *user, struct child_role *r);
	void (*on_end)(void *user, struct child_role *r);
	void *user;
};

/* Starts the process. 0 or negative errno. */
int child_role_new(const struct child_role_setup *setup, struct child_role **ret);
/* Ends the process. Accepts NULL, returns NULL. */
struct child_role *child_role_free(struct child_role *r);
/* Sends, or keeps until the process reads again. -ENOTCONN while it is being restarted; another
 * negative errno where nothing could be kept: then the process is ended. */
int child_role_send(struct child_role *r, struct privsep_msg *m, int fd);
/* Ends the process, and has a new one started; `why` goes on from "the api process". */
void child_role_end(struct child_role *r, const char *why);
bool child_role_is_up(const struct child_role *r); /* accepts NULL */
enum privsep_role child_role_kind(const struct child_role *r);
pid_t child_role_pid(const struct child_role *r); /* 0: none */

/* The other side: what main() calls in a role's process. Exit status of the program. */
int api_main(enum privsep_role role, enum log_level level);
int lldp_main(enum log_level level);

#endif
