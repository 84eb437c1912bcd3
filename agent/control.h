/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's answers to the api process: one function a message. What arrives here has passed
 * privsep_check. The only place where a client's wish becomes a change.
 */
#ifndef PLENUM_AGENT_CONTROL_H
#define PLENUM_AGENT_CONTROL_H

#include "agent/privsep.h"

/* role_message_cb; user: struct agent. */
void control_on_message(void *user, const struct privsep_msg *m, int fd);
/* events' on_add; user: struct agent. Wakes the clients that wait for events. */
void control_on_event(void *user, uint64_t next);

#endif
