/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent's state as one word for operators. It is derived from the workers, the health check and
 * the problems. A module that changes one of these calls the functions below.
 */
#ifndef PLENUM_AGENT_AGENT_STATE_H
#define PLENUM_AGENT_AGENT_STATE_H

struct agent;

enum agent_state {
	AGENT_STARTING, /* no problem degrades the state, but a desired worker is not up, or the
			   mounts have not all been served since the start or the last apply */
	AGENT_RUNNING,	/* all desired workers are up, and no problem degrades the state */
	AGENT_DEGRADED, /* a problem degrades the state (base/problems.h) */
	AGENT_STOPPING,
	AGENT_STATE_MAX
};
const char *agent_state_to_string(enum agent_state s);

/* Checks the health of all workers now and updates problems and state. */
void agent_check_health(struct agent *a);
/* Recomputes the agent's state from workers and problems. */
void agent_update_state(struct agent *a);
/* Updates the service manager's status line. */
void agent_publish(struct agent *a);
/* Ends the event loop if the agent is stopping and has nothing left to wait for. It waits until the
 * applier has ended, administrators have received their answers, and the workers have ended. If the
 * agent leaves the workers running, it waits only until no worker is being restarted. */
void agent_end_if_done(struct agent *a);

#endif
