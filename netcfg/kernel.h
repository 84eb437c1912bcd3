/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one seam to the host. Everything that netcfg reads of the machine or changes on it goes
 * through struct kernel_ops: kernel_linux does it for real (libnl-3, libmnl, sysfs, procfs),
 * kernel_fake plays a recorded host in tests. Sysfs is read through a descriptor made in the
 * current network namespace, so that a process entered by nsenter sees its own devices.
 */
#ifndef PLENUM_NETCFG_KERNEL_H
#define PLENUM_NETCFG_KERNEL_H

#include "netcfg/diag.h"
#include "netcfg/inventory.h"

/* Routes and rules that are ours carry this protocol number. */
#define PLENUM_RTPROT 0x70

struct kernel_link_change { /* members with `set_` false are left alone */
	uint32_t ifindex;
	bool set_up, up;
	bool set_mtu;
	uint32_t mtu;
};

struct kernel;
struct kernel_event;

/* Every operation: 0, or a negative errno with the kernel's extended-ack text in `why` (may be
 * NULL). */
#define KERNEL_WHY_MAX 256
struct kernel_ops {
	int (*collect)(struct kernel *k, struct diag *d, struct inventory *inv);
	int (*link_set)(struct kernel *k, const struct kernel_link_change *c, char *why);
	int (*addr_add)(struct kernel *k, const struct inv_addr *a, char *why);
	int (*addr_del)(struct kernel *k, const struct inv_addr *a, char *why);
	int (*route_add)(struct kernel *k, const struct inv_route *r, char *why);
	int (*route_del)(struct kernel *k, const struct inv_route *r, char *why);
	int (*rule_add)(struct kernel *k, const struct inv_rule *r, char *why);
	int (*rule_del)(struct kernel *k, const struct inv_rule *r, char *why);
	/* key: "net/ipv4/conf/eth0/arp_announce", below /proc/sys */
	int (*sysctl_get)(struct kernel *k, const char *key, char *buf, size_t size);
	int (*sysctl_set)(struct kernel *k, const char *key, const char *value, char *why);
	/* Notifications of links, addresses, routes and rules: a descriptor to poll, and what came.
	 */
	int (*watch_fd)(struct kernel *k);
	int (*watch_read)(struct kernel *k, void (*cb)(void *user, const struct kernel_event *e),
			  void *user);
	void (*free)(struct kernel *k);
};

enum kernel_event_type {
	KERNEL_EVENT_LINK,
	KERNEL_EVENT_ADDR,
	KERNEL_EVENT_ROUTE,
	KERNEL_EVENT_RULE,
	KERNEL_EVENT_LOST /* the socket overflowed: collect again */
};
struct kernel_event {
	enum kernel_event_type type;
	bool removed;
	uint32_t ifindex;
	char ifname[16];
	bool up, carrier; /* links */
};

struct kernel {
	const struct kernel_ops *ops;
	void *impl;
	uint64_t n_writes; /* changes asked of the kernel; a second apply adds none */
};

int kernel_linux_new(struct kernel **ret);
struct kernel *kernel_free(struct kernel *k);

#endif
