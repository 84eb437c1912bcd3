/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Manages ports that share one address. The worker moves the address itself, so that a failover
 * needs no agent. The transport and the roles see a single port.
 */
#include "dataplane/worker/worker.h"
#include "netcfg/base/log.h"

#include <stdio.h>
#include <string.h>

void worker_backup_init(struct worker *w)
{
	worker_active_init(&w->backup, w->cfg->n_ports,
			   (uint64_t)w->cfg->hold_ms * (NSEC_PER_SEC / 1000));
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		w->labels[i] = worker_label_hash(w->cfg->ports[i].label);
}

static void stand_by(struct worker *w, unsigned i, bool stands_by)
{
	if (w->port_open[i] && w->ports[i].ops->stand_by)
		w->ports[i].ops->stand_by(&w->ports[i], stands_by);
}

/* Writes why the active port is not the first port of the configuration, or "" if it is. */
static void explain_active(const struct worker *w, char *buf, size_t size)
{
	const struct worker_active *b = &w->backup;
	const char *first = w->cfg->ports[0].leg, *leg = w->cfg->ports[b->active].leg;

	if (!worker_active_carries(b))
		snprintf(buf, size, "no-link: neither %.32s nor a standby port has a link", first);
	else if (b->active == 0)
		buf[0] = '\0';
	else if (b->works[0])
		snprintf(buf, size,
			 "on-backup: %.20s carries traffic; %.20s is back, and takes over if its "
			 "link lasts %llu s",
			 leg, first,
			 (unsigned long long)((b->hold_ns << b->doubled) / NSEC_PER_SEC));
	else
		snprintf(buf, size, "on-backup: %.32s carries traffic, because %.32s has no link",
			 leg, first);
}

static void report_active(struct worker *w)
{
	char why[LAUNCH_REASON_MAX], text[LAUNCH_REASON_MAX];

	explain_active(w, why, sizeof(why));
	if (strcmp(why, w->backup_why) == 0)
		return;
	memcpy(w->backup_why, why, sizeof(why));
	snprintf(text, sizeof(text), "%.64s carries traffic again", w->cfg->ports[0].leg);
	log_write(why[0] ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE, "%s", why[0] ? why : text);
	worker_send(w, LAUNCH_MSG_EVENT, why[0] ? LAUNCH_EVENT_DEGRADED : LAUNCH_EVENT_RESTORED,
		    w->backup.active, why[0] ? why : text);
	worker_reason_publish(w);
}

static void move(struct worker *w, unsigned from)
{
	const unsigned to = w->backup.active;

	stand_by(w, from, true);
	stand_by(w, to, false);
	if (w->ports[to].ops->announce)
		w->ports[to].ops->announce(&w->ports[to]);
	w->announce_ns[to] = w->now_ns;
	rudp_port_set_label(w->rudp, 0, w->labels[to], w->now_ns);
	w->stats_ns = 0; /* update the statistics page without waiting */
}

void worker_backup_look(struct worker *w)
{
	const unsigned from = w->backup.active;

	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		worker_active_set(&w->backup, i, w->port_up[i], w->now_ns);
	if (worker_active_choose(&w->backup, w->now_ns, &w->backup_ns))
		move(w, from);
	if (worker_active_carries(&w->backup) != w->carries) {
		w->carries = !w->carries;
		rudp_port_set_up(w->rudp, 0, w->carries, w->now_ns);
	}
	report_active(w);
}

uint64_t worker_backup_turn(struct worker *w)
{
	if (!w->cfg->failover)
		return UINT64_MAX;
	if (w->now_ns >= w->backup_ns)
		worker_backup_look(w);
	return w->backup_ns;
}

void worker_backup_label(struct worker *w, unsigned i, uint32_t label)
{
	w->labels[i] = label;
	if (i == w->backup.active)
		rudp_port_set_label(w->rudp, 0, label, w->now_ns);
}

/* Joins a port. Only one port probes the address: the others would find that this worker itself
 * uses it. */
static int join(struct worker *w, unsigned i, struct worker_legs_why *why)
{
	int r;

	stand_by(w, i, false);
	r = worker_port_join(w, i, why);
	if (r >= 0 && w->ports[i].ops->tick && w->ports[i].ops->link) {
		(void)w->ports[i].ops->tick(&w->ports[i], clock_now_ns());
		w->link_lost[i] = !w->ports[i].ops->link(&w->ports[i]);
	}
	w->port_up[i] = w->port_open[i] && !w->link_lost[i];
	return r;
}

unsigned worker_backup_join(struct worker *w, struct worker_legs_why *ret_why)
{
	unsigned n = 0;
	bool moved;

	*ret_why = w->open_why = w->port_why;
	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		worker_active_set(&w->backup, i, w->port_open[i], clock_now_ns());
		stand_by(w, i, true);
	}
	do {
		const unsigned from = w->backup.active;
		uint64_t unused;

		moved = false;
		if (!w->port_open[from] || join(w, from, ret_why) < 0 || !w->port_up[from]) {
			worker_active_set(&w->backup, from, false, clock_now_ns());
			moved = worker_active_choose(&w->backup, clock_now_ns(), &unused);
		}
		if (moved)
			stand_by(w, from, true);
	} while (moved);
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		n += w->port_open[i];
	w->carries = true; /* rudp considers a new port usable */
	return n;
}
