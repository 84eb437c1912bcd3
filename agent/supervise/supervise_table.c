/* SPDX-License-Identifier: BSD-3-Clause */
/* The state table of supervise.h. It has no state and makes no system call, so that tests can check
 * all of it. */
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

/* The state after an action. */
#define AFTER__(state) state
#define AFTER_SPAWN(state) SUP_STARTING
#define AFTER_STOP(state) SUP_STOPPING
#define AFTER_KILL(state) state
#define AFTER_BACKOFF(state) SUP_BACKOFF
#define AFTER_WAIT(state) SUP_BACKOFF
#define AFTER_GIVE_UP(state) SUP_FAILED
#define AFTER_NOTE_UP(state) SUP_UP
#define AFTER_NOTE_REASON(state) state
#define AFTER_REAPED(state) SUP_STOPPED
#define AFTER_ADOPT(state) SUP_STARTING
#define AFTER_REPLACE(state) SUP_STOPPING
#define AFTER_DISARM(state) SUP_STOPPED

#define SUP_ACT__ SUP_ACT_NONE

#define CELL(state, action)                                   \
	{                                                     \
		AFTER_##action(SUP_##state), SUP_ACT_##action \
	}
#define ROW(event, stopped, starting, up, stopping, backoff, failed)          \
	[SUP_EV_##event] = {CELL(STOPPED, stopped), CELL(STARTING, starting), \
			    CELL(UP, up),	    CELL(STOPPING, stopping), \
			    CELL(BACKOFF, backoff), CELL(FAILED, failed)}

/*
 * The action for each event in each state; AFTER_ has the next state for each action. "_" is
 * SUP_ACT_NONE: the state does not expect the event, which changes nothing. Examples: a message
 * that was sent before the worker was asked to stop, or a timer that fired while it was being
 * disarmed. The death of a worker without a process cannot happen and changes nothing either.
 */
/* clang-format off */
static const struct sup_rule rules[SUP_EVENT_MAX][SUP_STATE_MAX] = {
	/*  event             STOPPED  STARTING     UP           STOPPING  BACKOFF  FAILED */
	ROW(WANT,             SPAWN,   _,           _,           _,        _,       _),
	ROW(UNWANT,           _,       STOP,        STOP,        _,        DISARM,  DISARM),
	ROW(CONFIG_CHANGED,   SPAWN,   STOP,        STOP,        _,        SPAWN,   SPAWN),
	ROW(READY,            _,       NOTE_UP,     _,           _,        _,       _),
	ROW(FAILED_MSG,       _,       NOTE_REASON, NOTE_REASON, _,        _,       _),
	ROW(EXITED_0,         _,       BACKOFF,     BACKOFF,     REAPED,   _,       _),
	ROW(EXITED_CONFIG,    _,       GIVE_UP,     GIVE_UP,     REAPED,   _,       _),
	ROW(CRASHED,          _,       BACKOFF,     BACKOFF,     REAPED,   _,       _),
	ROW(SPAWN_FAILED,     _,       GIVE_UP,     _,           _,        _,       _),
	ROW(MUST_WAIT,        _,       WAIT,        _,           _,        _,       _),
	ROW(HEARTBEAT_MISSED, _,       _,           KILL,        _,        _,       _),
	ROW(START_TIMEOUT,    _,       KILL,        _,           _,        _,       _),
	ROW(TIMER,            _,       _,           _,           KILL,     SPAWN,   SPAWN),
	ROW(FOUND,            ADOPT,   _,           _,           _,        _,       _),
	ROW(FOUND_OTHER,      REPLACE, _,           _,           _,        _,       _),
};
/* clang-format on */

const struct sup_rule *sup_rule_get(enum sup_state s, enum sup_event e)
{
	return &rules[e][s];
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
