/* SPDX-License-Identifier: BSD-3-Clause */
/* Provides the data that several kinds of checks read. */
#include "agent/health/health_internal.h"
#include "netcfg/base/file.h"
#include <string.h>

#define ARP_BYTES_MAX (1U << 20)

const char *health_look_arp(struct health_look *l)
{
	size_t len;

	if (!l->arp && file_read("/proc/net/arp", ARP_BYTES_MAX, &l->arp, &len) < 0)
		l->arp = strdup("");
	return l->arp;
}

static bool is_served(const struct sup_worker *w, uint32_t i)
{
	const struct launch_mount_stats *s = sup_mount_stats(w, i);

	return s && launch_stat_get(&s->served);
}

bool health_has_mount(const struct sup_worker *w, const char *peer, bool served)
{
	for (uint32_t i = 0; i < w->config.n_mounts; i++)
		if (strcmp(w->config.mounts[i].peer, peer) == 0 && is_served(w, i) == served)
			return true;
	return false;
}

bool health_is_of_mount(const struct sup_worker *w, const struct ip_addr *to)
{
	for (uint32_t i = 0; i < w->config.n_mounts; i++) {
		const struct launch_mount *m = &w->config.mounts[i];

		for (uint32_t k = 0; k < m->n_addrs; k++)
			if (ip_addr_equal(&m->addrs[k].ip, to) && !is_served(w, i))
				return true;
	}
	return false;
}
