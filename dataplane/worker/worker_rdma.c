/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens the RDMA devices before the worker enters its sandbox, watches them in the worker's loop,
 * and writes their state to the statistics page. The roles transfer the data.
 */
#include "dataplane/worker/worker.h"
#include "netcfg/base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

int worker_rdma_open(struct worker *w, struct reason *why)
{
	const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
	int e = port_rdma_open(w->cfg, &w->rdma);

	if (e < 0)
		reason_set_text(why, "RDMA: %s", strerror(-e));
	/* Raise RLIMIT_MEMLOCK. After the worker has dropped root's privileges, registered memory
	 * counts against this limit. */
	if (w->rdma)
		(void)setrlimit(RLIMIT_MEMLOCK, &all);
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		w->rdma_reported[i] = port_rdma_reason(w->rdma, i);
	return e;
}

void worker_rdma_watch(struct worker *w)
{
	int fds[LAUNCH_PORTS_MAX];
	unsigned n = port_rdma_fds(w->rdma, fds, LAUNCH_PORTS_MAX);

	for (unsigned i = 0; i < n; i++)
		worker_watch(w, fds[i], WORKER_SOURCE_ROLE, EPOLLIN);
	n = port_rdma_event_fds(w->rdma, fds, LAUNCH_PORTS_MAX);
	for (unsigned i = 0; i < n; i++)
		worker_watch(w, fds[i], WORKER_SOURCE_RDMA, EPOLLIN);
}

/*
 * The RDMA library opens the device by its usual name, which is a link to the file that the agent
 * has sent. The worker opens the file itself, so the open file has only the rights of the worker's
 * user.
 */
void worker_rdma_take(struct worker *w, int fd, const struct launch_msg *m)
{
	const char *device = m->text;
	int n;

	if (w->rdma && m->code != 0) {
		port_rdma_refuse(w->rdma, m->index, PORT_RDMA_OLD);
		w->stats_ns = 0;
		return;
	}
	if (!w->rdma || fd < 0 || w->sandbox.device_fd < 0)
		return;
	n = dup3(fd, w->sandbox.device_fd, O_CLOEXEC) < 0 ? -errno
							  : port_rdma_find(w->rdma, device);
	if (n < 0) {
		log_debug("RDMA device %s is unusable: %s", device, strerror(-n));
		return;
	}
	log_notice("RDMA device %s is available now, for %d leg%s", device, n, n == 1 ? "" : "s");
	if (w->role->rdma_came)
		w->role->rdma_came(w);
	worker_rdma_watch(w); /* worker_watch() skips devices that are watched already */
	w->stats_ns = 0;
}

uint64_t worker_rdma_turn(struct worker *w)
{
	return port_rdma_tick(w->rdma, w->now_ns);
}

static enum port_rdma_reason reason_of(const struct worker *w, unsigned port, unsigned pairs)
{
	enum port_rdma_reason why = port_rdma_reason(w->rdma, port);

	if (why != PORT_RDMA_OK || pairs > 0 || !w->role->rdma || !w->end)
		return why;
	return w->role->rdma(w, port);
}

/* Returns a text that says how bulk data is sent while RDMA is unavailable. Only a client can be
 * configured to let bulk data wait. */
static const char *fallback_text(const struct worker *w, unsigned port, bool used)
{
	if (!w->cfg->ports[port].rdma_only || w->cfg->role != LAUNCH_FRONTEND)
		return "bulk data use packets";
	return used ? "bulk data use RDMA of other legs" : "bulk data wait until RDMA works";
}

/* Sends an event for each change. On a host without RDMA, sends one only if the configuration asks
 * for RDMA. */
static void report(struct worker *w, unsigned port, enum port_rdma_reason why, bool used)
{
	char text[LAUNCH_REASON_MAX];

	if (w->rdma_reported[port] == why)
		return;
	w->rdma_reported[port] = why;
	if (why == PORT_RDMA_OK)
		snprintf(text, sizeof(text), "%s: bulk data can use RDMA", w->cfg->ports[port].leg);
	else
		snprintf(text, sizeof(text), "%s: %s: %s", w->cfg->ports[port].leg,
			 fallback_text(w, port, used), port_rdma_reason_code(why));
	log_info("%s", text);
	worker_send(w, LAUNCH_MSG_EVENT, LAUNCH_EVENT_RDMA, port, text);
}

bool worker_rdma_publish(struct worker *w)
{
	char asked[LAUNCH_REASON_MAX] = "";
	bool used = false;

	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		used |= port_rdma_pairs(w->rdma, i) > 0;
	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		struct launch_rdma_stats *st = &w->stats->rdma[i];
		unsigned pairs = port_rdma_pairs(w->rdma, i);
		enum port_rdma_reason why = reason_of(w, i, pairs);

		launch_stat_set(&st->pairs, pairs);
		snprintf(st->reason, sizeof(st->reason), "%s",
			 why == PORT_RDMA_OK ? "" : port_rdma_reason_code(why));
		snprintf(st->gpu, sizeof(st->gpu), "%s",
			 port_rdma_gpu_code(port_rdma_gpu(w->rdma, i)));
		report(w, i, why, used);
		if (why != PORT_RDMA_OK && w->cfg->ports[i].rdma_asked && !asked[0])
			snprintf(asked, sizeof(asked), "%s: %s: %s", port_rdma_reason_code(why),
				 w->cfg->ports[i].leg, fallback_text(w, i, used));
	}
	if (used == w->rdma_used && strcmp(asked, w->rdma_why) == 0)
		return false;
	w->rdma_used = used;
	memcpy(w->rdma_why, asked, sizeof(asked));
	return true;
}
