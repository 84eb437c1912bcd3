/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the ports of a leg. */
#include "netcfg/plan/plan.h"
#include <string.h>

static bool kernel_has(const struct inventory *inv, const struct plan_port *port)
{
	for (size_t i = 0; i < inv->n_addrs; i++)
		if (inv->addrs[i].ifindex == port->ifindex &&
		    ip_addr_equal(&inv->addrs[i].ip.addr, &port->ip.addr))
			return true;
	return false;
}

const struct plan_port *plan_port_on(const struct plan *p, const struct inventory *inv,
				     const char *leg, bool *ret_owned)
{
	const struct plan_port *found = NULL;

	*ret_owned = false;
	for (size_t i = 0; i < p->n_workers; i++)
		for (size_t k = 0; k < p->workers[i].n_ports; k++) {
			const struct plan_port *port = &p->workers[i].ports[k];

			/* A standby port uses the address of another leg. */
			if (strcmp(port->leg, leg) != 0 || port->stands_by)
				continue;
			*ret_owned = kernel_has(inv, port);
			if (*ret_owned)
				return port;
			found = found ?: port;
		}
	return found;
}
