/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reasons of degraded legs, and the ports' counters, on the statistics page. Each leg's reason
 * is reported, kept and cleared independently of the others.
 */
#include "dataplane/worker/worker.h"
#include "netcfg/base/log.h"

#include <stdio.h>
#include <string.h>

/* Marks a truncated text for the reader. */
static void mark_cut(char *text, size_t len)
{
	static const char more[] = "...";

	if (len >= LAUNCH_REASON_MAX)
		memcpy(text + LAUNCH_REASON_MAX - sizeof(more), more, sizeof(more));
}

void worker_reason_join(char *text, const char *first, const char *second)
{
	mark_cut(text, (size_t)snprintf(text, LAUNCH_REASON_MAX, "%s: %s", first, second));
}

void worker_legs_add(const struct worker *w, struct worker_legs_why *why, unsigned i,
		     const char *reason)
{
	char *text = why->text[i];
	size_t len = strlen(text);

	if (len == 0)
		worker_reason_join(text, w->cfg->ports[i].leg, reason);
	else
		mark_cut(text, len + (size_t)snprintf(text + len, LAUNCH_REASON_MAX - len, "; %s",
						      reason));
}

void worker_legs_format(const struct worker_legs_why *why, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < LAUNCH_PORTS_MAX && len < size; i++)
		if (why->text[i][0])
			len += (size_t)snprintf(buf + len, size - len, "%s%s", len ? "; " : "",
						why->text[i]);
}

static void explain(struct worker *w, unsigned i, const char *why)
{
	char text[LAUNCH_REASON_MAX];

	if (strcmp(w->port_why.text[i], why) == 0)
		return;
	snprintf(w->port_why.text[i], sizeof(w->port_why.text[i]), "%s", why);
	snprintf(text, sizeof(text), "%.64s works as configured again", w->cfg->ports[i].leg);
	log_write(why[0] ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE, "%s", why[0] ? why : text);
	worker_send(w, LAUNCH_MSG_EVENT, why[0] ? LAUNCH_EVENT_DEGRADED : LAUNCH_EVENT_RESTORED, i,
		    why[0] ? why : text);
}

void worker_legs_explain(struct worker *w, const struct worker_legs_why *why)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		explain(w, i, why->text[i]);
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
	if (w->cfg->transport == LAUNCH_UDP)
		return "udp";
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
	launch_stat_set(&st->counters.tx_trains, now.tx_trains);
	launch_stat_set(&st->counters.rx_trains, now.rx_trains);
	for (unsigned k = 0; k < LAUNCH_SOURCES_MAX; k++)
		launch_stat_set(&st->counters.tx_by_source[k], now.tx_by_source[k]);
	launch_stat_set(&st->counts, 1);
}

void worker_legs_publish(struct worker *w)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		struct launch_port_stats *st = &w->stats->ports[i];

		snprintf(st->by, sizeof(st->by), "%s", carried_by(w, i));
		snprintf(st->reason, sizeof(st->reason), "%s", w->port_why.text[i]);
		counters_publish(w, i);
	}
}
