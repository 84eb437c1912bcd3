/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes to the statistics page why a worker or one of its legs is degraded, and the counters of
 * the ports. Each leg has its own reason, which is reported and cleared independently of the
 * others.
 */
#include "dataplane/worker/worker.h"
#include "netcfg/base/log.h"

#include <stdio.h>
#include <string.h>

void worker_legs_add(const struct worker *w, struct worker_legs_why *why, unsigned i,
		     const struct reason *reason)
{
	char text[REASON_FORMAT_MAX];

	reason_format(reason, text, sizeof(text));
	if (reason_is_set(&why->leg[i]))
		reason_append(&why->leg[i], "%s", text);
	else
		reason_set_text(&why->leg[i], "%s: %s", w->cfg->ports[i].leg, text);
}

void worker_legs_format(const struct worker_legs_why *why, struct reason *ret)
{
	reason_clear(ret);
	for (unsigned i = 0; i < LAUNCH_PORTS_MAX; i++)
		if (reason_is_set(&why->leg[i]))
			reason_append(ret, "%s", why->leg[i].text);
}

static void explain(struct worker *w, unsigned i, const char *why)
{
	char text[LAUNCH_REASON_MAX];

	if (strcmp(w->port_why.leg[i].text, why) == 0)
		return;
	reason_set_text(&w->port_why.leg[i], "%s", why);
	snprintf(text, sizeof(text), "%.64s works as configured again", w->cfg->ports[i].leg);
	log_write(why[0] ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE, "%s", why[0] ? why : text);
	worker_send(w, LAUNCH_MSG_EVENT, why[0] ? LAUNCH_EVENT_DEGRADED : LAUNCH_EVENT_RESTORED, i,
		    why[0] ? why : text);
}

void worker_legs_set_reasons(struct worker *w, const struct worker_legs_why *why)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		explain(w, i, why->leg[i].text);
	worker_reason_publish(w);
}

void worker_leg_explain(struct worker *w, unsigned i, const char *why)
{
	explain(w, i, why);
	worker_reason_publish(w);
}

/* ---- the page ---- */

static const char *carried_by(const struct worker *w, unsigned i)
{
	if (!w->port_open[i])
		return "";
	if (w->ports[i].ops == &port_xdp_ops)
		return "af-xdp";
	if (strcmp(w->ports[i].ops->name, "dpdk") != 0)
		return w->ports[i].ops->name;
	return launch_port_is_function(&w->cfg->ports[i]) ? "dpdk" : "af-packet";
}

static void counters_publish(const struct worker *w, unsigned i)
{
	struct launch_port_stats *st = &w->stats->ports[i];
	const struct port *p = &w->ports[i];
	struct launch_port_counters now;

	if (!w->port_open[i] || !p->ops->counters)
		return;
	p->ops->counters(p, &now);
	launch_stat_set(&st->counters.tx_packets, now.tx_packets);
	launch_stat_set(&st->counters.rx_packets, now.rx_packets);
	launch_stat_set(&st->counters.tx_full, now.tx_full);
	launch_stat_set(&st->counters.tx_lost, now.tx_lost);
	launch_stat_set(&st->counters.rx_missed, now.rx_missed);
	launch_stat_set(&st->counters.rx_short, now.rx_short);
	launch_stat_set(&st->counters.rx_malformed, now.rx_malformed);
	launch_stat_set(&st->counters.rx_fragments, now.rx_fragments);
	launch_stat_set(&st->counters.rx_checksum, now.rx_checksum);
	launch_stat_set(&st->counters.rx_not_ours, now.rx_not_ours);
	launch_stat_set(&st->counters.conflicts, now.conflicts);
	launch_stat_set(&st->counters.tx_bytes, now.tx_bytes);
	launch_stat_set(&st->counters.rx_bytes, now.rx_bytes);
	launch_stat_set(&st->counters.tx_bursts, now.tx_bursts);
	launch_stat_set(&st->counters.rx_bursts, now.rx_bursts);
	for (unsigned k = 0; k < LAUNCH_SOURCES_MAX; k++)
		launch_stat_set(&st->counters.tx_by_source[k], now.tx_by_source[k]);
	launch_stat_set(&st->counts, 1);
}

void worker_legs_publish(struct worker *w)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		struct launch_port_stats *st = &w->stats->ports[i];

		snprintf(st->by, sizeof(st->by), "%s", carried_by(w, i));
		reason_copy_text(st->reason, sizeof(st->reason), w->port_why.leg[i].text);
		counters_publish(w, i);
		if (w->port_open[i] && w->ports[i].ops->refusals)
			w->ports[i].ops->refusals(&w->ports[i], st->refusals);
	}
}

void worker_reason_publish(struct worker *w)
{
	const char *why = w->backup_why[0]  ? w->backup_why
			  : w->peer_why[0]  ? w->peer_why
			  : w->fault_why[0] ? w->fault_why
			  : w->path_why[0]  ? w->path_why
					    : w->rdma_why;
	struct launch_stats *st = w->stats;

	__atomic_store_n(&st->seq, st->seq + 1, __ATOMIC_RELAXED);
	/* The fence makes `seq` odd before the text changes, so that readers notice the change and
	 * retry (worker_stats_publish()). */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	snprintf(st->network, sizeof(st->network), "%s%s", port_transport_name(w->cfg->transport),
		 w->rdma_used ? " / RDMA" : "");
	snprintf(st->reason, sizeof(st->reason), "%s", why);
	worker_legs_publish(w);
	__atomic_store_n(&st->seq, st->seq + 1, __ATOMIC_RELEASE);
}
