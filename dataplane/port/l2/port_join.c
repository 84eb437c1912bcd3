/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a port gets its address, look by look, and how those wait that have nothing else to do
 * meanwhile. Apart from the ports, since it is the same for all that ask by themselves, and from
 * port_neigh, which is pure: here is a clock, and a link that may not come.
 */
#include "dataplane/port/l2/port_join.h"
#include <stdio.h>
#include <time.h>

#define REST_NS ((long)NSEC_PER_MSEC)

/* ------------------------------------------------------------------ who waits */

void port_join_rest(void)
{
	nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
}

int port_join(struct port *p, const struct launch_config *cfg, unsigned index, char *why)
{
	int r;

	if (!p->ops->join)
		return 0;
	while ((r = p->ops->join(p, cfg, index, why)) == -EAGAIN || r == -EINPROGRESS)
		if (r == -EAGAIN)
			port_join_rest();
	return r;
}

/* ------------------------------------------------------------------ who asks */

void port_join_begin(struct port_joining *j)
{
	*j = (struct port_joining){.early.fd = -1};
}

void port_join_end(struct port_joining *j)
{
	port_early_done(&j->early);
}

/* Some drivers need a moment; without a link nobody could object to our address anyway. As
 * port_ops.join(), where it does not go on. */
static int link_await(struct port_joining *j, char *why)
{
	const uint64_t now_ns = clock_now_ns();

	if (j->link_until_ns == 0)
		j->link_until_ns = now_ns + PORT_JOIN_LINK_NS;
	if (now_ns < j->link_until_ns)
		return -EAGAIN;
	port_early_done(&j->early); /* nobody reads there any more */
	snprintf(why, LAUNCH_REASON_MAX, "no link: address not probed");
	return 1;
}

/* What was said before there was a port. Where some of it may be missing, all is asked anew. */
static void early_hear(struct port_joining *j, const struct port_join_by *by)
{
	uint64_t now_ns = clock_now_ns();
	struct mac_addr owner;

	if (port_early_hear(&j->early, by->neigh, now_ns) == 0)
		return;
	port_early_done(&j->early);
	if (port_neigh_probe_state(by->neigh, &owner) == PORT_NEIGH_PROBING)
		port_neigh_probe_start(by->neigh, now_ns);
}

/* How soon to look again. */
static int heard_take(const struct port_join_by *by)
{
	bool more = true;

	for (unsigned i = 0; i < PORT_JOIN_BURSTS && more; i++)
		more = by->hear(by->port);
	(void)by->port->ops->tick(by->port, clock_now_ns());
	return more ? -EINPROGRESS : -EAGAIN;
}

int port_join_look(struct port_joining *j, const struct port_join_by *by, char *why)
{
	int r;

	why[0] = '\0';
	if (!j->linked && !by->has_link)
		return link_await(j, why);
	if (!j->linked && port_early_is_good(&j->early, by->mac))
		port_neigh_probe_asked(by->neigh, j->early.sent_ns);
	else if (!j->linked)
		port_early_done(&j->early); /* all is asked anew */
	j->linked = true;
	early_hear(j, by);
	r = by->port->ops->probe(by->port, why);
	if (r == -EAGAIN)
		return heard_take(by);
	port_early_done(&j->early);
	return r;
}
