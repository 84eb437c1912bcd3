/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel settings of a link that a data leg depends on: which there are, how they are called
 * below /proc/sys/net, and how the kernel joins a link's own with those of all links. What is
 * collected comes from this one table and what is wanted names its entries, so nothing can be
 * wanted that is never looked at.
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

/* How conf/all/NAME and conf/INTERFACE/NAME become what counts (kernel document
 * networking/ip-sysctl; include/linux/inetdevice.h, net/ipv6/addrconf.c). */
enum link_setting_join {
	LINK_JOIN_OWN,	  /* the link's alone */
	LINK_JOIN_LARGER, /* the larger of both */
	LINK_JOIN_EITHER, /* one of them is enough */
};

struct link_setting_entry {
	const char *family, *name; /* "ipv4", "rp_filter" */
	unsigned devconf;	   /* place in IFLA_INET_CONF or IFLA_INET6_CONF, counted from 0 */
	enum link_setting_join join;
	bool optional; /* kernels may be built without it, and then tell 0 all the same */
};
extern const struct link_setting_entry link_settings[LINK_SETTING_MAX];

#define LINK_SETTING_KEY_MAX 96
#define LINK_SETTING_NEW "default" /* CONF that tells what a link made from now on gets */
/* "net/ipv4/conf/CONF/rp_filter", CONF an interface or "all", in buf (LINK_SETTING_KEY_MAX); buf.
 */
const char *link_setting_key(enum link_setting s, const char *conf, char *buf);
/* The recorded value; false: the host has no such setting. */
bool link_setting_value(const struct inventory *inv, enum link_setting s, const char *conf,
			int *ret);
/* The link's own value, and the one that counts. false: the host has no such setting. */
bool link_setting_effective(const struct inventory *inv, enum link_setting s, const char *ifname,
			    int *ret_own, int *ret_effective);
/* Adds the settings that a link of that name has when it is made. 0, -ENOMEM. */
int link_settings_add_new(struct inventory *inv, const char *ifname);
/* Removes what the kernel tells of settings that it was built without: those of which `all` is not
 * recorded. */
void link_setting_drop_absent(struct inventory *inv);

#endif
