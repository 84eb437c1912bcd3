/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of supervise.h: no state and no system call, so that tests walk through all of it. */
#include "agent/supervise/supervise.h"

const char *sup_state_to_string(enum sup_state s)
{
	static const char *const names[SUP_STATE_MAX] = {"STOPPED",  "STARTING", "UP",
							 "STOPPING", "BACKOFF",	 "FAILED"};

	return s < SUP_STATE_MAX ? names[s] : "?";
}

const char *sup_event_to_string(enum sup_event e)
{
	static const char *const names[SUP_EVENT_MAX] = {
		[SUP_EV_WANT] = "want",
		[SUP_EV_UNWANT] = "unwant",
		[SUP_EV_CONFIG_CHANGED] = "config-changed",
		[SUP_EV_READY] = "ready",
		[SUP_EV_FAILED_MSG] = "failed-msg",
		[SUP_EV_EXITED_0] = "exited-0",
		[SUP_EV_EXITED_CONFIG] = "exited-config",
		[SUP_EV_CRASHED] = "crashed",
		[SUP_EV_SPAWN_FAILED] = "spawn-failed",
		[SUP_EV_MUST_WAIT] = "must-wait",
		[SUP_EV_HEARTBEAT_MISSED] = "heartbeat-missed",
		[SUP_EV_START_TIMEOUT] = "start-timeout",
		[SUP_EV_TIMER] = "timer",
		[SUP_EV_FOUND] = "found",
		[SUP_EV_FOUND_OTHER] = "found-other",
	};

	return e < SUP_EVENT_MAX ? names[e] : "?";
}

#define DO(state, act)                     \
	{                                  \
		SUP_##state, SUP_ACT_##act \
	}

/*
 * An event that a state does not expect changes nothing (NONE): for example a message that was in
 * flight when the worker was asked to stop, or a timer that fired while it was being disarmed. A
 * death without a process cannot happen and changes nothing either.
 */
static const struct sup_rule rules[SUP_STATE_MAX][SUP_EVENT_MAX] =
	{
		[SUP_STOPPED] =
			{
				[SUP_EV_WANT] = DO(STARTING, SPAWN),
				[SUP_EV_UNWANT] = DO(STOPPED, NONE),
				[SUP_EV_CONFIG_CHANGED] = DO(STARTING, SPAWN),
				[SUP_EV_READY] = DO(STOPPED, NONE),
				[SUP_EV_FAILED_MSG] = DO(STOPPED, NONE),
				[SUP_EV_EXITED_0] = DO(STOPPED, NONE),
				[SUP_EV_EXITED_CONFIG] = DO(STOPPED, NONE),
				[SUP_EV_CRASHED] = DO(STOPPED, NONE),
				[SUP_EV_SPAWN_FAILED] = DO(STOPPED, NONE),
				[SUP_EV_MUST_WAIT] = DO(STOPPED, NONE),
				[SUP_EV_HEARTBEAT_MISSED] = DO(STOPPED, NONE),
				[SUP_EV_START_TIMEOUT] = DO(STOPPED, NONE),
				[SUP_EV_TIMER] = DO(STOPPED, NONE),
				[SUP_EV_FOUND] = DO(STARTING, ADOPT),
				[SUP_EV_FOUND_OTHER] = DO(STOPPING, REPLACE),
			},
		[SUP_STARTING] =
			{
				[SUP_EV_WANT] = DO(STARTING, NONE),
				[SUP_EV_UNWANT] = DO(STOPPING, STOP),
				[SUP_EV_CONFIG_CHANGED] = DO(STOPPING, STOP),
				[SUP_EV_READY] = DO(UP, NOTE_UP),
				[SUP_EV_FAILED_MSG] = DO(STARTING, NOTE_REASON),
				[SUP_EV_EXITED_0] = DO(BACKOFF, BACKOFF),
				[SUP_EV_EXITED_CONFIG] = DO(FAILED, GIVE_UP),
				[SUP_EV_CRASHED] = DO(BACKOFF, BACKOFF),
				[SUP_EV_SPAWN_FAILED] = DO(FAILED, GIVE_UP),
				[SUP_EV_MUST_WAIT] = DO(BACKOFF, WAIT),
				[SUP_EV_HEARTBEAT_MISSED] = DO(STARTING, NONE),
				[SUP_EV_START_TIMEOUT] = DO(STARTING, KILL),
				[SUP_EV_TIMER] = DO(STARTING, NONE),
				[SUP_EV_FOUND] = DO(STARTING, NONE),
				[SUP_EV_FOUND_OTHER] = DO(STARTING, NONE),
			},
		[SUP_UP] =
			{
				[SUP_EV_WANT] = DO(UP, NONE),
				[SUP_EV_UNWANT] = DO(STOPPING, STOP),
				[SUP_EV_CONFIG_CHANGED] = DO(STOPPING, STOP),
				[SUP_EV_READY] = DO(UP, NONE),
				[SUP_EV_FAILED_MSG] = DO(UP, NOTE_REASON),
				[SUP_EV_EXITED_0] = DO(BACKOFF, BACKOFF),
				[SUP_EV_EXITED_CONFIG] = DO(FAILED, GIVE_UP),
				[SUP_EV_CRASHED] = DO(BACKOFF, BACKOFF),
				[SUP_EV_SPAWN_FAILED] = DO(UP, NONE),
				[SUP_EV_MUST_WAIT] = DO(UP, NONE),
				[SUP_EV_HEARTBEAT_MISSED] = DO(UP, KILL),
				[SUP_EV_START_TIMEOUT] = DO(UP, NONE),
				[SUP_EV_TIMER] = DO(UP, NONE),
				[SUP_EV_FOUND] = DO(UP, NONE),
				[SUP_EV_FOUND_OTHER] = DO(UP, NONE),
			},
		[SUP_STOPPING] =
			{
				[SUP_EV_WANT] = DO(STOPPING, NONE),
				[SUP_EV_UNWANT] = DO(STOPPING, NONE),
				[SUP_EV_CONFIG_CHANGED] = DO(STOPPING, NONE),
				[SUP_EV_READY] = DO(STOPPING, NONE),
				[SUP_EV_FAILED_MSG] = DO(STOPPING, NONE),
				[SUP_EV_EXITED_0] = DO(STOPPED, REAPED),
				[SUP_EV_EXITED_CONFIG] = DO(STOPPED, REAPED),
				[SUP_EV_CRASHED] = DO(STOPPED, REAPED),
				[SUP_EV_SPAWN_FAILED] = DO(STOPPING, NONE),
				[SUP_EV_MUST_WAIT] = DO(STOPPING, NONE),
				[SUP_EV_HEARTBEAT_MISSED] = DO(STOPPING, NONE),
				[SUP_EV_START_TIMEOUT] = DO(STOPPING, NONE),
				[SUP_EV_TIMER] = DO(STOPPING, KILL),
				[SUP_EV_FOUND] = DO(STOPPING, NONE),
				[SUP_EV_FOUND_OTHER] = DO(STOPPING, NONE),
			},
		[SUP_BACKOFF] =
			{
				[SUP_EV_WANT] = DO(BACKOFF, NONE),
				[SUP_EV_UNWANT] = DO(STOPPED, DISARM),
				[SUP_EV_CONFIG_CHANGED] = DO(STARTING, SPAWN),
				[SUP_EV_READY] = DO(BACKOFF, NONE),
				[SUP_EV_FAILED_MSG] = DO(BACKOFF, NONE),
				[SUP_EV_EXITED_0] = DO(BACKOFF, NONE),
				[SUP_EV_EXITED_CONFIG] = DO(BACKOFF, NONE),
				[SUP_EV_CRASHED] = DO(BACKOFF, NONE),
				[SUP_EV_SPAWN_FAILED] = DO(BACKOFF, NONE),
				[SUP_EV_MUST_WAIT] = DO(BACKOFF, NONE),
				[SUP_EV_HEARTBEAT_MISSED] = DO(BACKOFF, NONE),
				[SUP_EV_START_TIMEOUT] = DO(BACKOFF, NONE),
				[SUP_EV_TIMER] = DO(STARTING, SPAWN),
				[SUP_EV_FOUND] = DO(BACKOFF, NONE),
				[SUP_EV_FOUND_OTHER] = DO(BACKOFF, NONE),
			},
		[SUP_FAILED] =
			{
				[SUP_EV_WANT] = DO(FAILED, NONE),
				[SUP_EV_UNWANT] = DO(STOPPED, DISARM),
				[SUP_EV_CONFIG_CHANGED] = DO(STARTING, SPAWN),
				[SUP_EV_READY] = DO(FAILED, NONE),
				[SUP_EV_FAILED_MSG] = DO(FAILED, NONE),
				[SUP_EV_EXITED_0] = DO(FAILED, NONE),
				[SUP_EV_EXITED_CONFIG] = DO(FAILED, NONE),
				[SUP_EV_CRASHED] = DO(FAILED, NONE),
				[SUP_EV_SPAWN_FAILED] = DO(FAILED, NONE),
				[SUP_EV_MUST_WAIT] = DO(FAILED, NONE),
				[SUP_EV_HEARTBEAT_MISSED] = DO(FAILED, NONE),
				[SUP_EV_START_TIMEOUT] = DO(FAILED, NONE),
				[SUP_EV_TIMER] = DO(STARTING, SPAWN),
				[SUP_EV_FOUND] = DO(FAILED, NONE),
				[SUP_EV_FOUND_OTHER] = DO(FAILED, NONE),
			},
};

const struct sup_rule *sup_rule_get(enum sup_state s, enum sup_event e)
{
	return &rules[s][e];
}

uint64_t sup_backoff_ns(unsigned n_deaths)
{
	uint64_t ns = SUP_BACKOFF_FIRST_NS;

	if (n_deaths <= 2)
		return 0;
	for (unsigned i = 3; i < n_deaths && ns < SUP_BACKOFF_MAX_NS; i++)
		ns *= 2;
	return MIN_OF(ns, SUP_BACKOFF_MAX_NS);
}
