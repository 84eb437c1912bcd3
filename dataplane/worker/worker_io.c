/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives the transport and the roles access to the ports, and to the descriptors that wake the
 * sleeping loop. */
#include "dataplane/worker/worker.h"

#include <sys/epoll.h>

int worker_tx(void *user, unsigned port, const struct datagram_addr *dst,
	      const struct datagram *pkt)
{
	struct worker *w = user;

	if (w->faults)
		return worker_fault_tx(w, port, dst, pkt);
	port = worker_port(w, port);
	return w->port_open[port] ? w->ports[port].ops->tx(&w->ports[port], dst, pkt) : -ENETDOWN;
}

void worker_tx_flush(void *user)
{
	struct worker *w = user;
	bool is_long = rudp_tx_wants_stamp(w->rudp);

	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		if (!w->port_open[i])
			continue;
		if (is_long && worker_port(w, worker_way(w, i)) == i)
			rudp_tx_stamp(w->rudp, worker_way(w, i), clock_now_ns());
		w->ports[i].ops->flush(&w->ports[i]);
	}
}

void worker_watch(struct worker *w, int fd, uint32_t source, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.u32 = source};

	if (fd >= 0)
		(void)epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

void worker_unwatch(struct worker *w, int fd)
{
	(void)epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* The hash is FNV-1a. */
uint32_t worker_label_hash(const char *label)
{
	uint32_t h = 2166136261U;

	if (!label[0])
		return 0;
	for (; *label; label++)
		h = (h ^ (uint8_t)*label) * 16777619U;
	return h ? h : 1;
}

struct rudp_port_info worker_port_info(const struct launch_port *p, bool up)
{
	return (struct rudp_port_info){.local = {.ip = p->ip.addr, .port = p->udp_port},
				       .prefix_len = p->ip.len,
				       .routed = p->gateway.family != 0,
				       .mtu = p->mtu,
				       .label = worker_label_hash(p->label),
				       .sources = p->udp_sources ? p->udp_sources - 1 : 0,
				       .up = up};
}
