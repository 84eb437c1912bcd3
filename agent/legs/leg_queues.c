/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the counters of the legs' queues while packets are lost, and reports drops. */
#include "agent/legs/leg_queues.h"
#include "agent/agent.h"
#include "agent/base/child/child_task.h"
#include "agent/base/stats_page.h"
#include "netcfg/linux/rtnl/rtnl_qdisc.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_EVERY_NS (3 * NSEC_PER_SEC)
#define QUEUES_MAX 64	/* maximum number of links of legs */
#define QDISCS_MAX 1024 /* maximum number of qdiscs of the host */

struct queue {
	struct rtnl_qdisc last;
	struct health_drops drops;
	bool reported;
};

struct leg_queues {
	struct child_task *task; /* NULL: no child is reading */
	uint64_t read_ns;	 /* time at which the last read began */
	uint64_t lost;		 /* lost packets of all workers at the last check */
	struct queue queues[QUEUES_MAX];
	size_t n;
};

/* ---- the legs' links ---- */

static bool carries(const struct inventory *inv, const struct inv_link *top, uint32_t ifindex)
{
	const struct inv_link *l = inv_link_by_index(inv, ifindex);

	return top && l &&
	       (top == l || top->lower == ifindex || l->master == top->ifindex ||
		(top->lower && l->master == top->lower));
}

/* Returns the leg that sends through this link, or NULL if no leg does. */
static const struct plan_leg_info *leg_of(const struct agent *a, uint32_t ifindex)
{
	const struct plan *p = a->running.plan;

	for (size_t i = 0; p && a->running.inv && i < p->n_legs; i++)
		if (p->legs[i].ifindex &&
		    carries(a->running.inv, inv_link_by_index(a->running.inv, p->legs[i].ifindex),
			    ifindex))
			return &p->legs[i];
	return NULL;
}

/* ---- reporting ---- */

static void explain(const struct agent *a, const struct queue *q, const struct plan_leg_info *leg,
		    char *buf, size_t size)
{
	const struct inv_link *l = inv_link_by_index(a->running.inv, q->last.ifindex);
	char share[64];

	snprintf(buf, size,
		 "queue-drops: the kernel's queue of %.63s (%.15s, qdisc %.15s) drops %s that this "
		 "host sends; see tc -s qdisc show dev %.15s",
		 leg->name, l ? l->name : "?", q->last.kind,
		 health_drops_format(&q->drops, share, sizeof(share)), l ? l->name : "?");
}

/* Copies the drops of each leg to a->queue_shares, which the status reads. */
static void keep_shares(struct agent *a)
{
	const struct leg_queues *lq = a->leg_queues;
	const struct plan *p = a->running.plan;

	memset(a->queue_shares, 0, sizeof(a->queue_shares));
	for (size_t k = 0; p && k < p->n_legs; k++) {
		struct leg_queues_share *share = &a->queue_shares[k];

		memcpy(share->leg, p->legs[k].name, sizeof(share->leg));
		share->read_ns = lq->read_ns;
		for (size_t i = 0; i < lq->n; i++)
			if (leg_of(a, lq->queues[i].last.ifindex) == &p->legs[k])
				share->ppm = MAX_OF(share->ppm, lq->queues[i].drops.ppm);
	}
}

static void report(struct agent *a)
{
	struct leg_queues *lq = a->leg_queues;
	json_t *list = json_array();
	char text[HEALTH_TEXT_MAX];

	for (size_t i = 0; list && i < lq->n; i++) {
		struct queue *q = &lq->queues[i];
		const struct plan_leg_info *leg = leg_of(a, q->last.ifindex);

		if (q->drops.is_bad && leg) {
			explain(a, q, leg, text, sizeof(text));
			json_array_append_new(list, json_string(text));
			if (!q->reported)
				events_add(&a->events, LOG_LEVEL_WARNING, leg->name, "%s", text);
		} else if (q->reported && leg) {
			events_add(&a->events, LOG_LEVEL_NOTICE, leg->name,
				   "the kernel's queue of %s (qdisc %s) no longer drops packets",
				   leg->name, q->last.kind);
		}
		q->reported = q->drops.is_bad && leg;
	}
	keep_shares(a);
	if (problems_set(&a->problems, PROBLEMS_QUEUES, NULL, list)) {
		agent_update_state(a);
		agent_publish(a);
	}
	json_decref(list);
}

static void take(struct agent *a, const struct rtnl_qdisc *q, uint64_t now)
{
	struct leg_queues *lq = a->leg_queues;
	struct queue *e = NULL;

	for (size_t i = 0; i < lq->n && !e; i++)
		if (lq->queues[i].last.ifindex == q->ifindex)
			e = &lq->queues[i];
	if (!e && lq->n < QUEUES_MAX) {
		e = &lq->queues[lq->n++];
		*e = (struct queue){.last = {.ifindex = q->ifindex}};
	}
	if (!e)
		return;
	if (strcmp(e->last.kind, q->kind) != 0) /* another program has replaced the queue */
		e->drops = (struct health_drops){.is_bad = false};
	e->last = *q;
	health_drops_take(&e->drops, q->packets, q->drops, now);
}

/* ---- reading ---- */

/* Reads the queues of all links. Runs in the child. */
static int work(void *user, int channel)
{
	struct agent *a = user;
	autofree struct rtnl_qdisc *all = calloc(QDISCS_MAX, sizeof(*all));
	size_t n = 0;

	if (!all || rtnl_qdisc_collect(all, QDISCS_MAX, &n) < 0)
		return 1;
	for (size_t i = 0; i < n; i++)
		if (leg_of(a, all[i].ifindex))
			child_task_send(channel, &all[i], sizeof(all[i]), -1);
	return 0;
}

static void on_message(void *user, const void *msg, size_t len, int fd)
{
	struct rtnl_qdisc q;

	if (len != sizeof(q))
		return;
	memcpy(&q, msg, sizeof(q));
	q.kind[sizeof(q.kind) - 1] = '\0';
	take(user, &q, clock_now_ns());
}

static void on_end(void *user, int status, const char *how)
{
	struct agent *a = user;

	a->leg_queues->task = NULL;
	if (status == 0)
		report(a);
}

static bool any_is_bad(const struct leg_queues *lq)
{
	for (size_t i = 0; i < lq->n; i++)
		if (lq->queues[i].drops.is_bad || lq->queues[i].drops.bad_run)
			return true;
	return false;
}

/* Counts the packets from this host's workers that did not arrive at a peer or that this host
 * refused to send. */
static uint64_t count_lost(const struct agent *a)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	uint64_t lost = 0;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		size_t n = w->stats ? stats_page_paths(w->stats, paths) : 0;

		for (size_t i = 0; i < n; i++)
			lost += paths[i].lost_packets +
				(paths[i].loss_out_ppm != UINT64_MAX ? paths[i].loss_out_ppm : 0);
		for (uint32_t i = 0; w->stats && i < LAUNCH_PORTS_MAX; i++)
			for (unsigned k = 0; k < LAUNCH_REFUSALS_MAX; k++)
				lost += w->stats->ports[i].refusals[k].packets;
	}
	return lost;
}

void leg_queues_look(struct agent *a)
{
	const struct child_task_setup setup = {.loop = a->loop,
					       .name = "plenum-queues",
					       .work = work,
					       .on_message = on_message,
					       .on_end = on_end,
					       .user = a};
	struct leg_queues *lq = a->leg_queues;
	uint64_t now = clock_now_ns(), lost;

	if (!lq || lq->task || now < lq->read_ns + READ_EVERY_NS)
		return;
	lost = count_lost(a);
	if (lost == lq->lost && !any_is_bad(lq))
		return;
	lq->lost = lost;
	lq->read_ns = now;
	(void)child_task_start(&setup, &lq->task); /* if memory is short, the next check retries */
}

int leg_queues_init(struct agent *a)
{
	a->leg_queues = calloc(1, sizeof(*a->leg_queues));
	return a->leg_queues ? 0 : -ENOMEM;
}

void leg_queues_done(struct agent *a)
{
	if (!a->leg_queues)
		return;
	(void)child_task_forget(a->leg_queues->task);
	free(ptr_take(a->leg_queues));
}
