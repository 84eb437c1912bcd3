/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles the events of one worker: carries out the actions that the table in supervise_table.c
 * chooses. */
#include "agent/supervise/supervise_internal.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define NO_TRANSPORT_NS (2 * NSEC_PER_SEC)
#define RETRY_NS NSEC_PER_SEC /* interval of checks for a missing resource */
#define WAIT_LIMIT_NS \
	(30 * NSEC_PER_SEC) /* limit for the downtime of a worker without soft mounts */

/* ---- actions ---- */

/* Lengthens a delay by up to a quarter, so that workers that died together do not restart at the
 * same moment. */
static uint64_t jitter(uint64_t ns)
{
	uint32_t x = 0;

	if (getrandom(&x, sizeof(x), GRND_NONBLOCK) != sizeof(x))
		x = (uint32_t)clock_now_ns();
	return ns + ns / 4 * (x % 1024) / 1024;
}

/* Returns whether the configuration has the mount. During a trial two workers may serve different
 * mounts at the same path, so the whole mount is compared. A configuration made from the record of
 * a process has only paths; for these, the path decides. */
static bool has_mount(const struct launch_config *c, const struct launch_mount *m)
{
	for (uint32_t i = 0; i < c->n_mounts; i++)
		if (strcmp(c->mounts[i].path, m->path) == 0 &&
		    (!c->mounts[i].peer[0] || launch_mount_equal(&c->mounts[i], m)))
			return true;
	return false;
}

static bool has_export(const struct launch_config *c, const char *name)
{
	for (uint32_t i = 0; i < c->n_exports; i++)
		if (strcmp(c->exports[i].name, name) == 0)
			return true;
	return false;
}

static const char *shared_with(const struct launch_config *c, const struct launch_config *other)
{
	for (uint32_t i = 0; i < c->n_mounts; i++)
		if (has_mount(other, &c->mounts[i]))
			return c->mounts[i].path;
	/* Workers of the same version may serve an export together. */
	for (uint32_t i = 0; i < c->n_exports && other->version != LAUNCH_VERSION; i++)
		if (has_export(other, c->exports[i].name))
			return c->exports[i].name;
	return NULL;
}

/* Returns another process that has to exit before this worker starts; NULL: none. Such a process
 * may still serve a mount or export of this worker, and two servers would corrupt the state of the
 * mount or export. Or it uses another table of file locks, and locks in two tables do not exclude
 * each other. */
static const struct sup_worker *other_server(const struct sup_worker *w, const char **ret_what)
{
	for (const struct sup_worker *o = w->sup->workers; o; o = o->next) {
		*ret_what = o == w || !o->started ? NULL
			    : o->other_locks && w->config.n_exports > 0
				    ? "other file locks"
				    : shared_with(&w->config, o->started);
		if (*ret_what)
			return o;
	}
	return NULL;
}

static void do_spawn(struct sup_worker *w)
{
	const char *what;
	const struct sup_worker *other = other_server(w, &what);
	int r;

	w->waits = false;
	if (other) {
		snprintf(w->reason, sizeof(w->reason), "worker %u still serves %.150s", other->id,
			 what);
		sup_handle_event(w, SUP_EV_MUST_WAIT);
		return;
	}
	r = sup_start(w);
	if (r >= 0)
		r = sup_watch(w);
	if (r >= 0) {
		loop_timer_arm(w->timer, SUP_START_LIMIT_NS);
		return;
	}
	if (!w->reason[0])
		snprintf(w->reason, sizeof(w->reason), "cannot be started: %s", strerror(-r));
	if (w->pidfd >= 0) /* the process was started but cannot be watched */
		sup_kill(w);
	sup_forget_process(w);
	/* A shortage of resources may pass. A missing directory or a busy mount point has to be
	 * fixed by an operator. */
	if (r == -ENOMEM || r == -EAGAIN || r == -EMFILE || r == -ENFILE || r == -ENOSPC) {
		if (!sup_is_reported(w))
			sup_report(w, LOG_LEVEL_ERR, "%s", w->reason);
		snprintf(w->reported, sizeof(w->reported), "%s", w->reason);
		sup_handle_event(w, SUP_EV_CRASHED);
	} else {
		sup_handle_event(w, SUP_EV_SPAWN_FAILED); /* do_give_up reports the failure */
	}
}

bool sup_dies_again(const struct sup_worker *w, uint64_t now_ns)
{
	return w->n_deaths >= SUP_DEATHS_MANY &&
	       !(w->up_since_ns && now_ns - w->up_since_ns >= SUP_HEALTHY_NS);
}

/* Returns how long programs wait for the worker. For a worker with mounts, these are the programs
 * on the mounts; for a worker with exports, the programs on its clients' mounts. */
static uint64_t wait_limit_ns(const struct sup_worker *w)
{
	uint64_t ns = UINT64_MAX;

	for (uint32_t i = 0; i < w->config.n_mounts; i++)
		if (w->config.mounts[i].soft_s)
			ns = MIN_OF(ns, w->config.mounts[i].soft_s * NSEC_PER_SEC);
	return ns == UINT64_MAX ? WAIT_LIMIT_NS : ns;
}

/* Restarts the worker after a delay of at most a quarter of its downtime limit. If the worker will
 * be down for longer than the limit, an event reports this once. */
static void do_backoff(struct sup_worker *w)
{
	uint64_t now = clock_now_ns(), limit = wait_limit_ns(w), delay;

	if (w->up_since_ns && now - w->up_since_ns >= SUP_HEALTHY_NS)
		w->n_deaths = 0;
	if (!w->down_since_ns)
		w->down_since_ns = now;
	w->n_deaths++;
	w->n_failed_starts += w->up_since_ns == 0;
	sup_note_death(w, w->reason);
	w->n_restarts++;
	w->up_since_ns = 0;
	delay = MIN_OF(jitter(sup_backoff_ns(w->n_deaths)), limit / 4);
	/* The agent is making a plan with another transport, which ends this delay. */
	if (w->no_transport)
		delay = MAX_OF(delay, NO_TRANSPORT_NS);
	if (delay && !sup_is_reported(w))
		sup_report(w, LOG_LEVEL_NOTICE, "restarts in %.1f s (death %u in a row)",
			   (double)delay / NSEC_PER_SEC, w->n_deaths);
	if (!w->is_late && now + delay - w->down_since_ns > limit) {
		w->is_late = true;
		sup_report(
			w, LOG_LEVEL_ERR,
			"will be down for %.0f s until its restart, longer than %.0f s: programs "
			"on soft mounts may get errors, programs on hard mounts wait",
			(double)(now + delay - w->down_since_ns) / NSEC_PER_SEC,
			(double)limit / NSEC_PER_SEC);
	}
	loop_timer_arm(w->timer, delay);
}

/* Reports that the worker failed. A failed start is retried, because a missing resource, such as a
 * mount point, may appear without an event. A worker that exited because of its configuration stays
 * down. */
static void do_give_up(struct sup_worker *w, enum sup_event e)
{
	bool retried = e == SUP_EV_SPAWN_FAILED;

	if (!retried)
		sup_note_death(w, w->reason);
	if (!sup_is_reported(w) || !retried)
		sup_report(w, LOG_LEVEL_ERR, "%s: %s",
			   retried ? "cannot be started; retrying until this is fixed"
				   : "failed and stays down until the next reload or apply",
			   w->reason);
	snprintf(w->reported, sizeof(w->reported), "%s", w->reason);
	/* The missing leg or directory may appear at any moment. Programs on the mounts wait
	 * meanwhile, as for a server that cannot be reached, and can be interrupted. */
	if (retried) {
		loop_timer_arm(w->timer, RETRY_NS);
		return;
	}
	loop_timer_disarm(w->timer);
	/* No worker will serve these mounts. Programs get an error, which is better than blocking
	 * for ever. */
	for (uint32_t i = 0; i < w->config.n_mounts; i++)
		mounts_drop(w->sup->setup.mounts, w->config.mounts[i].path);
}

static void do_note_up(struct sup_worker *w)
{
	uint64_t now = clock_now_ns();

	w->reason[0] = w->reported[0] = '\0';
	w->is_late = false;
	w->down_since_ns = 0;
	w->rdma_seen = 0;
	loop_timer_disarm(w->timer);
	/* The configuration may have changed while the worker started. */
	if (!w->postponed && !sup_update_ports(w)) {
		sup_handle_when_unmounted(w, SUP_EV_CONFIG_CHANGED);
		return;
	}
	sup_look_at_mounts_soon(w->sup);
	sup_update_links(w);
	sup_update_labels(w, w->adopted);
	sup_update_keys(w);
	sup_update_limits(w);
	sup_update_faults(w);
	if (w->adopted) {
		w->up_since_ns = w->started_ns;
		sup_report(w, LOG_LEVEL_NOTICE, "adopted: pid %d on core %u", w->pid,
			   w->config.core);
	} else {
		w->up_since_ns = now;
		w->n_deaths -= MIN_OF(w->n_deaths, w->n_failed_starts);
		w->n_failed_starts = 0;
		sup_report(w, LOG_LEVEL_NOTICE, "ready on core %u, pid %d, in %.0f ms",
			   w->config.core, w->pid, (double)(now - w->started_ns) / NSEC_PER_MSEC);
	}
	if (!loop_timer_armed(w->sup->heartbeat))
		loop_timer_arm(w->sup->heartbeat, SUP_HEARTBEAT_CHECK_NS);
}

void sup_explain_hold(struct sup_worker *w)
{
	snprintf(w->reason, sizeof(w->reason),
		 "an operator has stopped the worker (%s); 'plenum worker start %u' starts it",
		 w->held_by, w->id);
}

static void do_reaped(struct sup_worker *w)
{
	loop_timer_disarm(w->timer);
	w->up_since_ns = 0;
	if (w->wanted && w->held) {
		sup_explain_hold(w);
		sup_report(w, LOG_LEVEL_NOTICE, "stopped by an operator (%s)", w->held_by);
	} else if (w->wanted)
		sup_handle_event(w, SUP_EV_WANT);
	else
		sup_report(w, LOG_LEVEL_INFO, "stopped");
}

static void do_kill(struct sup_worker *w, enum sup_event e)
{
	sup_report(w, LOG_LEVEL_ERR, "does not answer (%s); killing it", sup_event_to_string(e));
	snprintf(w->reason, sizeof(w->reason), "killed: %s", sup_event_to_string(e));
	sup_kill(w);
}

/* ---- events ---- */

static void act(struct sup_worker *w, enum sup_action a, enum sup_event e)
{
	switch (a) {
	case SUP_ACT_SPAWN:
		do_spawn(w);
		break;
	case SUP_ACT_STOP:
		if (sup_send(w, LAUNCH_MSG_STOP, 0, 0) < 0)
			sup_kill(w);
		loop_timer_arm(w->timer, SUP_STOP_LIMIT_NS);
		break;
	case SUP_ACT_KILL:
		do_kill(w, e);
		break;
	case SUP_ACT_BACKOFF:
		do_backoff(w);
		break;
	/* Normally the exit of the other worker ends the wait. The timer ends it if that exit was
	 * missed. */
	case SUP_ACT_WAIT:
		w->waits = true;
		loop_timer_arm(w->timer, RETRY_NS);
		break;
	case SUP_ACT_GIVE_UP:
		do_give_up(w, e);
		break;
	case SUP_ACT_NOTE_UP:
		do_note_up(w);
		break;
	case SUP_ACT_REAPED:
		do_reaped(w);
		break;
	case SUP_ACT_ADOPT:
		if (!sup_do_adopt(w))
			sup_handle_when_unmounted(w, SUP_EV_CONFIG_CHANGED);
		break;
	case SUP_ACT_REPLACE:
		sup_do_replace(w);
		break;
	case SUP_ACT_DISARM:
		loop_timer_disarm(w->timer);
		break;
	case SUP_ACT_NOTE_REASON: /* w->reason has the message, which is reported at the exit */
	case SUP_ACT_NONE:
	case SUP_ACT_UNSET:
	case SUP_ACTION_MAX:
		break;
	}
}

void sup_handle_event(struct sup_worker *w, enum sup_event e)
{
	const struct sup_rule *rule = sup_rule_get(w->state, e);
	enum sup_state was = w->state;

	if (w->held && rule->action == SUP_ACT_SPAWN)
		/* sup_release starts the worker later, with its configuration at that time */
		return;
	log_debug("worker %u: %s in %s -> %s", w->id, sup_event_to_string(e),
		  sup_state_to_string(was), sup_state_to_string(rule->next));
	w->state = rule->next;
	act(w, rule->action, e);
	if (w->state != was && w->sup->setup.on_change)
		w->sup->setup.on_change(w->sup->setup.user);
}

static bool has_leaving(const struct sup_worker *w)
{
	const struct mounts *m = w->sup->setup.mounts;
	bool has = mounts_leaving(m, w->id);

	for (uint32_t i = 0; !has && w->started && i < w->started->n_shared; i++)
		has = mounts_leaving_id(m, w->started->shared[i].id);
	return has;
}

/* A worker whose mounts are being unmounted serves them until they are unmounted. A mount worker
 * waits too, because the server of its mount keeps files open until it learns of the unmount. */
void sup_handle_when_unmounted(struct sup_worker *w, enum sup_event e)
{
	if (has_leaving(w)) {
		w->deferred = e;
		return;
	}
	w->deferred = SUP_EVENT_MAX;
	sup_handle_event(w, e);
}

int sup_on_timer(void *user)
{
	struct sup_worker *w = user;
	enum sup_event e = SUP_EV_TIMER;

	if (w->state == SUP_STARTING)
		e = SUP_EV_START_TIMEOUT;
	if (w->state == SUP_FAILED && sup_check_resources(w) < 0)
		return loop_timer_arm(w->timer, RETRY_NS);
	sup_handle_event(w, e);
	return 0;
}
