/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins a port's address step by step, and sleeps between the steps for callers that have nothing
 * else to do. All ports that send address probes themselves use this code. It reads the clock and
 * handles missing links, because port_neigh does neither.
 */
#include "dataplane/port/l2/port_join.h"
#include <stdio.h>
#include <time.h>

#define REST_NS ((long)NSEC_PER_MSEC)

/* ------------------------------------------------------------------ waiting */

void port_join_rest(void)
{
	nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
}

int port_join(struct port *p, const struct launch_config *cfg, unsigned index, struct reason *why)
{
	int r;

	if (!p->ops->join)
		return 0;
	while ((r = p->ops->join(p, cfg, index, why)) == -EAGAIN || r == -EINPROGRESS)
		if (r == -EAGAIN)
			port_join_rest();
	return r;
}

/* ------------------------------------------------------------------ probing */

void port_join_begin(struct port_joining *j)
{
	*j = (struct port_joining){.early.fd = -1};
}

void port_join_end(struct port_joining *j)
{
	port_early_done(&j->early);
}

/* Waits for a link, because some drivers need a moment to report it. Without a link, no other host
 * could object to the address. Returns the result for port_ops.join(): -EAGAIN, or 1 after
 * PORT_JOIN_LINK_NS. */
static int link_await(struct port_joining *j, struct reason *why)
{
	const uint64_t now_ns = clock_now_ns();

	if (j->link_until_ns == 0)
		j->link_until_ns = now_ns + PORT_JOIN_LINK_NS;
	if (now_ns < j->link_until_ns)
		return -EAGAIN;
	port_early_done(&j->early); /* the replies to the early probes are not needed any more */
	reason_set_text(why, "no link, so the address was not probed");
	return 1;
}

/* Processes the replies to the early probes. If some may be missing, the port sends probes
 * again. */
static void early_replies_take(struct port_joining *j, const struct port_join_by *by)
{
	uint64_t now_ns = clock_now_ns();
	struct mac_addr owner;

	if (port_early_input(&j->early, by->neigh, now_ns) == 0)
		return;
	port_early_done(&j->early);
	if (port_neigh_probe_state(by->neigh, &owner) == PORT_NEIGH_PROBING)
		port_neigh_probe_start(by->neigh, now_ns);
}

/* Processes replies. Returns the result for port_ops.join(): -EINPROGRESS to be called again at
 * once, because more frames may be waiting, or -EAGAIN to be called again soon. */
static int replies_take(const struct port_join_by *by)
{
	bool more = true;

	for (unsigned i = 0; i < PORT_JOIN_BURSTS && more; i++)
		more = by->receive(by->port);
	(void)by->port->ops->tick(by->port, clock_now_ns());
	return more ? -EINPROGRESS : -EAGAIN;
}

int port_join_step(struct port_joining *j, const struct port_join_by *by, struct reason *why)
{
	int r;

	reason_clear(why);
	if (!j->linked && !by->has_link)
		return link_await(j, why);
	if (!j->linked && port_early_is_good(&j->early, by->mac))
		port_neigh_probe_sent_early(by->neigh, j->early.sent_ns);
	else if (!j->linked)
		port_early_done(&j->early); /* drop the early probes, so that the port probes
					       again */
	j->linked = true;
	early_replies_take(j, by);
	r = by->port->ops->probe(by->port, why);
	if (r == -EAGAIN)
		return replies_take(by);
	port_early_done(&j->early);
	return r;
}
