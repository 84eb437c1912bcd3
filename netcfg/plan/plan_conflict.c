/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of data IPs that other hosts use. The agent adds to it after probing; plans read it. */
#include "netcfg/plan/plan_conflict.h"
#include "netcfg/base/base.h"
#include "netcfg/base/vec.h"
#include <stdio.h>
#include <string.h>

const struct plan_conflict *plan_conflicts_find(const struct plan_conflicts *c,
						const struct ip_addr *ip, const char *ifname)
{
	for (size_t i = 0; c && i < c->n; i++)
		if (ip_addr_equal(&c->entries[i].ip, ip) &&
		    strcmp(c->entries[i].ifname, ifname) == 0)
			return &c->entries[i];
	return NULL;
}

int plan_conflicts_add(struct plan_conflicts *c, const struct plan_conflict *e)
{
	const struct plan_conflict *have = plan_conflicts_find(c, &e->ip, e->ifname);
	struct plan_conflict *added;

	if (have) {
		c->entries[have - c->entries] = *e;
		return 0;
	}
	added = vec_add(&c->entries, &c->n, sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = *e;
	return 0;
}

void plan_conflicts_done(struct plan_conflicts *c)
{
	free(c->entries);
	*c = (struct plan_conflicts){0};
}

const char *plan_conflict_describe(const struct plan_conflict *c, char *buf, size_t size)
{
	char ip[IP_ADDR_STR_MAX], mac[MAC_ADDR_STR_MAX];

	ip_addr_format(&c->ip, ip, sizeof(ip));
	mac_addr_format(&c->by, mac, sizeof(mac));
	snprintf(buf, size, "another host%s%s%s already uses %s on %s", c->known ? " (" : "",
		 c->known ? mac : "", c->known ? ")" : "", ip, c->ifname);
	return buf;
}
