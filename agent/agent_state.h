/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent's state, as one word for operators. It follows from the workers, the health check and
 * the problems. A module that changes one of them calls the functions below.
 */
#ifndef PLENUM_AGENT_AGENT_STATE_H
#define PLENUM_AGENT_AGENT_STATE_H

struct agent;

enum agent_state {
	AGENT_STARTING, /* until all desired workers are up or reported as problems */
	AGENT_RUNNING,	/* all desired workers run */
	AGENT_DEGRADED, /* some do not; the reasons are in `problems` */
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
/* Ends the loop once the agent is stopping, the applier has ended, administrators have their
 * answers, and, unless they stay, all workers have ended too. */
void agent_end_if_done(struct agent *a);

#endif
