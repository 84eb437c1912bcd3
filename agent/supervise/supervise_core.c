/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects that the core of a running worker left the agent's cpuset or was taken offline, so that
 * the kernel moved the worker to other cores. Moves the worker back when its core returns. */
#include "agent/supervise/supervise_internal.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>

/* Sets the affinity of the worker's process to its core again. Returns false only if the core is
 * offline or outside the cpuset. Returns true also if the affinity cannot be read. */
static bool is_on_core(const struct sup_worker *w)
{
	cpu_set_t is, want;

	CPU_ZERO(&want);
	CPU_SET(w->config.core, &want);
	if (sched_getaffinity(w->pid, sizeof(is), &is) < 0 || CPU_EQUAL(&is, &want))
		return true;
	/* A worker that is not this agent's child may have exited and been reaped, and its pid may
	 * belong to another process now. */
	if (pidfd_send_signal(w->pidfd, 0, NULL, 0) < 0)
		return true;
	if (sched_setaffinity(w->pid, sizeof(want), &want) < 0)
		return errno != EINVAL;
	if (!w->off_core[0])
		sup_report(w, LOG_LEVEL_WARNING,
			   "another program changed the worker's CPU affinity; moved the worker "
			   "back to core %u",
			   w->config.core);
	return true;
}

void sup_watch_core(struct sup_worker *w)
{
	const bool is_there = w->config.core >= CPU_SETSIZE || is_on_core(w);

	if (is_there == !w->off_core[0])
		return;
	if (is_there) {
		w->off_core[0] = '\0';
		sup_report(w, LOG_LEVEL_NOTICE, "runs on core %u again", w->config.core);
		return;
	}
	snprintf(w->off_core, sizeof(w->off_core),
		 "no-core: core %u has left the cpuset or is offline, so the worker shares other "
		 "cores; add the core (AllowedCPUs= of plenumd.service, or the container's "
		 "cpuset), or write another core under 'workers'",
		 w->config.core);
	sup_report(w, LOG_LEVEL_WARNING, "%s", w->off_core);
}
