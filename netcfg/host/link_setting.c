/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the kernel settings of a leg's link. The collectors (netlink for the values of one
 * link, procfs for those of all links) and the plan share it.
 */
#include "netcfg/host/link_setting.h"
#include "netcfg/host/inventory_build.h"
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <stdio.h>
#include <string.h>

/* The kernel numbers IPv4 settings from 1, and the netlink array starts at 0. */
#define INET(n) (IPV4_DEVCONF_##n - 1)

/* clang-format off */
const struct link_setting_entry link_settings[LINK_SETTING_MAX] = {
	[LINK_SETTING_ARP_ANNOUNCE] = {"ipv4", "arp_announce", INET(ARP_ANNOUNCE), LINK_JOIN_LARGER},
	[LINK_SETTING_ARP_FILTER] = {"ipv4", "arp_filter", INET(ARPFILTER), LINK_JOIN_EITHER},
	[LINK_SETTING_ARP_IGNORE] = {"ipv4", "arp_ignore", INET(ARP_IGNORE), LINK_JOIN_LARGER},
	[LINK_SETTING_FORWARDING4] = {"ipv4", "forwarding", INET(FORWARDING), LINK_JOIN_OWN},
	[LINK_SETTING_LINKDOWN4] = {"ipv4", "ignore_routes_with_linkdown",
				    INET(IGNORE_ROUTES_WITH_LINKDOWN), LINK_JOIN_EITHER},
	[LINK_SETTING_PROMOTE_SECONDARIES] = {"ipv4", "promote_secondaries",
					      INET(PROMOTE_SECONDARIES), LINK_JOIN_EITHER},
	[LINK_SETTING_RP_FILTER] = {"ipv4", "rp_filter", INET(RP_FILTER), LINK_JOIN_LARGER},
	[LINK_SETTING_ACCEPT_DAD] = {"ipv6", "accept_dad", DEVCONF_ACCEPT_DAD, LINK_JOIN_LARGER},
	[LINK_SETTING_ACCEPT_RA] = {"ipv6", "accept_ra", DEVCONF_ACCEPT_RA, LINK_JOIN_OWN},
	[LINK_SETTING_DISABLE_IPV6] = {"ipv6", "disable_ipv6", DEVCONF_DISABLE_IPV6, LINK_JOIN_OWN},
	[LINK_SETTING_LINKDOWN6] = {"ipv6", "ignore_routes_with_linkdown",
				    DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN, LINK_JOIN_OWN},
	[LINK_SETTING_OPTIMISTIC_DAD] = {"ipv6", "optimistic_dad", DEVCONF_OPTIMISTIC_DAD,
					 LINK_JOIN_EITHER, .optional = true},
	[LINK_SETTING_USE_OPTIMISTIC] = {"ipv6", "use_optimistic", DEVCONF_USE_OPTIMISTIC,
					 LINK_JOIN_EITHER, .optional = true},
};
/* clang-format on */

const char *link_setting_key(enum link_setting s, const char *conf, char *buf)
{
	snprintf(buf, LINK_SETTING_KEY_MAX, "net/%s/conf/%.*s/%s", link_settings[s].family,
		 IFNAMSIZ, conf, link_settings[s].name);
	return buf;
}

bool link_setting_value(const struct inventory *inv, enum link_setting s, const char *conf,
			int *ret)
{
	char key[LINK_SETTING_KEY_MAX];
	const char *value = inv_sysctl_value(inv, link_setting_key(s, conf, key));

	if (!value)
		return false;
	*ret = atoi(value);
	return true;
}

bool link_setting_effective(const struct inventory *inv, enum link_setting s, const char *ifname,
			    int *ret_own, int *ret_effective)
{
	int own, all;

	if (!link_setting_value(inv, s, ifname, &own))
		return false;
	*ret_own = *ret_effective = own;
	if (link_settings[s].join != LINK_JOIN_OWN && link_setting_value(inv, s, "all", &all))
		/* The larger value also gives "either is on", because these values are 0 or 1. */
		*ret_effective = MAX_OF(all, own);
	return true;
}

/* Returns the optional setting whose name is the end of the key, or LINK_SETTING_MAX if the key
 * ends with no such name. */
static enum link_setting optional_of(const char *key)
{
	const char *name = strrchr(key, '/');

	for (enum link_setting s = 0; name && s < LINK_SETTING_MAX; s++)
		if (link_settings[s].optional && strcmp(name + 1, link_settings[s].name) == 0)
			return s;
	return LINK_SETTING_MAX;
}

int link_settings_add_new(struct inventory *inv, const char *ifname)
{
	char key[LINK_SETTING_KEY_MAX], text[16];
	int value;

	for (enum link_setting s = 0; s < LINK_SETTING_MAX; s++) {
		if (!link_setting_value(inv, s, LINK_SETTING_NEW, &value))
			continue;
		snprintf(text, sizeof(text), "%d", value);
		if (inv_sysctl_add(inv, link_setting_key(s, ifname, key), text) < 0)
			return -ENOMEM;
	}
	return 0;
}

void link_setting_drop_absent(struct inventory *inv)
{
	bool absent[LINK_SETTING_MAX + 1] = {false};
	size_t n = 0;
	int value;

	for (enum link_setting s = 0; s < LINK_SETTING_MAX; s++)
		absent[s] = link_settings[s].optional && !link_setting_value(inv, s, "all", &value);
	for (size_t i = 0; i < inv->n_sysctls; i++) {
		if (!absent[optional_of(inv->sysctls[i].key)]) {
			inv->sysctls[n++] = inv->sysctls[i];
			continue;
		}
		free(inv->sysctls[i].key);
		free(inv->sysctls[i].value);
	}
	inv->n_sysctls = n;
}
