/* SPDX-License-Identifier: BSD-3-Clause */
/* Continues a worker that an earlier agent started, or replaces the worker by a successor.
 * supervise_adopt.c has found the worker and validated the data that the worker passed. */
#include "agent/supervise/supervise_internal.h"
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>

static bool has_all_mounts(const struct sup_worker *w)
{
	for (uint32_t i = 0; i < w->config.n_mounts; i++)
		if (!mounts_has(w->sup->setup.mounts, w->config.mounts[i].id))
			return false;
	return true;
}

/* Watches a worker. This fails only for lack of memory. The worker is then killed, because no
 * worker may run unwatched. */
static void watch_or_kill(struct sup_worker *w)
{
	if (sup_watch(w) >= 0)
		return;
	sup_report(w, LOG_LEVEL_ERR, "out of memory: pid %d cannot be watched; killing it", w->pid);
	sup_kill(w);
	sup_forget_process(w);
	w->state = SUP_STOPPED;
	w->wanted = false;
}

/* Stops a worker that cannot be adopted. The resources for its successor have been copied. Until
 * the worker exits, the agent reads only its messages about pinned files, and sends it no
 * messages. */
void sup_do_replace(struct sup_worker *w)
{
	sup_report(w, LOG_LEVEL_NOTICE, "replacing pid %d of another agent: %s", w->pid, w->reason);
	memset(&w->config, 0, sizeof(w->config));
	sup_record(w, w->pid, &w->config);
	w->pins_fd = fd_take(w->control_fd);
	if (pidfd_send_signal(w->pidfd, SIGTERM, NULL, 0) < 0)
		sup_kill(w);
	loop_timer_arm(w->timer, SUP_STOP_LIMIT_NS);
	watch_or_kill(w);
}

uint64_t sup_adopt_limit_ns(uint64_t started_ns, uint64_t now_ns)
{
	/* started_ns is 0 if the worker has not reported its start time yet. A wrong time cannot
	 * lengthen the wait beyond the limit. */
	const uint64_t age_ns = started_ns && started_ns < now_ns ? now_ns - started_ns : 0;

	if (age_ns >= SUP_START_LIMIT_NS - SUP_ADOPT_LIMIT_NS)
		return SUP_ADOPT_LIMIT_NS;
	return SUP_START_LIMIT_NS - age_ns;
}

/* Adopts the worker. Before asking the worker to answer, the agent reads the messages that the
 * worker sent while no agent was listening, so that the socket has room for the answer. */
bool sup_do_adopt(struct sup_worker *w)
{
	bool whole = has_all_mounts(w);

	if (sup_keep_started(w, &w->config) < 0) {
		sup_kill(w);
		return true;
	}
	sup_record(w, w->pid, &w->config);
	for (uint32_t i = 0; i < w->config.n_mounts; i++)
		mounts_serve(w->sup->setup.mounts, w->config.mounts[i].id, w->id);
	sup_config_normalise(&w->config);
	w->wanted = w->adopted = w->keys_unsure = w->limits_unsure = w->revoked_unsure = true;
	w->agreed = false;
	w->started_ns = launch_stat_get(&w->stats->started_ns);
	loop_timer_arm(w->timer, sup_adopt_limit_ns(w->started_ns, clock_now_ns()));
	watch_or_kill(w);
	sup_read_sent(w);
	if (sup_send(w, LAUNCH_MSG_ADOPT, 0, 0) < 0)
		sup_kill(w);
	return whole || !w->wanted;
}
