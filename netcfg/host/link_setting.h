/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel settings of a link that a data leg depends on: their names below /proc/sys/net, and
 * how the kernel combines a link's value with that of all links. The collectors and the plan use
 * the same table, so every setting that a plan needs is collected.
 */
#ifndef PLENUM_NETCFG_LINK_SETTING_H
#define PLENUM_NETCFG_LINK_SETTING_H

#include "netcfg/host/inventory.h"

enum link_setting {
	LINK_SETTING_ARP_ANNOUNCE,
	LINK_SETTING_ARP_FILTER,
	LINK_SETTING_ARP_IGNORE,
	LINK_SETTING_FORWARDING4,
	LINK_SETTING_LINKDOWN4,
	LINK_SETTING_PROMOTE_SECONDARIES,
	LINK_SETTING_RP_FILTER,
	LINK_SETTING_ACCEPT_DAD,
	LINK_SETTING_ACCEPT_RA,
	LINK_SETTING_DISABLE_IPV6,
	LINK_SETTING_LINKDOWN6,
	LINK_SETTING_OPTIMISTIC_DAD,
	LINK_SETTING_USE_OPTIMISTIC,
	LINK_SETTING_MAX
};

/* How the kernel combines conf/all/NAME and conf/INTERFACE/NAME to the effective value (kernel
 * document networking/ip-sysctl; include/linux/inetdevice.h, net/ipv6/addrconf.c). */
enum link_setting_join {
	LINK_JOIN_OWN,	  /* the link's value alone */
	LINK_JOIN_LARGER, /* the larger of both values */
	LINK_JOIN_EITHER, /* the setting is on if either value is on */
};

struct link_setting_entry {
	const char *family, *name; /* parts of the name below /proc/sys/net, such as "ipv4" and
				      "rp_filter" */
	unsigned devconf;	   /* index in IFLA_INET_CONF or IFLA_INET6_CONF, from 0 */
	enum link_setting_join join;
	bool optional; /* a kernel may have been built without the setting, and still report it
			  as 0 over netlink */
};
extern const struct link_setting_entry link_settings[LINK_SETTING_MAX];

#define LINK_SETTING_KEY_MAX 96
/* Takes the place of an interface in a key: the values that new links get. */
#define LINK_SETTING_NEW "default"
/* Writes the key "net/ipv4/conf/CONF/rp_filter" into buf (LINK_SETTING_KEY_MAX bytes) and returns
 * buf. CONF is an interface, "all" or "default". */
const char *link_setting_key(enum link_setting s, const char *conf, char *buf);
/* Finds the value in the inventory. Returns false if the host does not have the setting. */
bool link_setting_value(const struct inventory *inv, enum link_setting s, const char *conf,
			int *ret);
/* Finds the link's own value and the effective value. Returns false if the host does not have the
 * setting. */
bool link_setting_effective(const struct inventory *inv, enum link_setting s, const char *ifname,
			    int *ret_own, int *ret_effective);
/* Adds to the inventory the settings that a new link of that name will get. Returns 0 or
 * -ENOMEM. */
int link_settings_add_new(struct inventory *inv, const char *ifname);
/* Removes the settings that the kernel reports although it was built without them. They are
 * recognized because the inventory has no value of conf/all for them. */
void link_setting_drop_absent(struct inventory *inv);

#endif
