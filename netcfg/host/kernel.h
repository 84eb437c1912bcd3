/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one seam to the host. Everything that netcfg reads of the machine or changes on it goes
 * via struct kernel_ops: kernel_linux does it for real (libnl-3, libmnl, sysfs, procfs),
 * kernel_fake plays a recorded host in tests. Sysfs is read through a descriptor made in the
 * current network namespace, so that a process entered by nsenter sees its own devices.
 */
#ifndef PLENUM_NETCFG_KERNEL_H
#define PLENUM_NETCFG_KERNEL_H

#include "netcfg/base/diag.h"
#include "netcfg/host/bond_setting.h"
#include "netcfg/host/device_setting.h"

/* Routes and rules that are ours carry this protocol number. */
#define PLENUM_RTPROT 0x70
/* Links that we made carry this alias. */
#define PLENUM_LINK_ALIAS "made by plenum"
/* Names of RDMA devices that we made begin with this: they have no alias. */
#define PLENUM_RDMA_PREFIX "plenum_"

/*
 * One change of the host, described. A kind of object is a line here and a line in the tables of
 * kernel_linux and kernel_fake; who plans changes has a file object_<kind>.c for each.
 */
enum kernel_kind {
	KERNEL_LINK,
	KERNEL_ADDR,
	KERNEL_ROUTE,
	KERNEL_RULE,
	KERNEL_SYSCTL,
	KERNEL_PCI,
	KERNEL_VF,
	KERNEL_VLAN,
	KERNEL_BOND,
	KERNEL_BOND_VALUE,
	KERNEL_MASTER,
	KERNEL_RXE,
	KERNEL_DEVICE,
	KERNEL_DEVLINK,
	KERNEL_KIND_MAX
};

enum kernel_link_attr { KERNEL_LINK_UP, KERNEL_LINK_MTU, KERNEL_LINK_ATTR_MAX };

struct kernel_link_value {
	enum kernel_link_attr attr;
	uint32_t value, was; /* up: 0 or 1 */
};

struct kernel_sysctl {
	char key[96]; /* "net/ipv4/conf/eth0/arp_announce", below /proc/sys */
	char value[32], was[32];
};

/*
 * A value of a PCI function. VFS: how many a PF has; where it has some already, they all go before
 * the others are made, and the call lasts as long as the driver takes. AUTOPROBE: "1" or "0",
 * whether VFs get their kernel driver as they are made. DRIVER: its name, "" for none; by
 * driver_override, which lasts as long as the function.
 */
enum kernel_pci_attr {
	KERNEL_PCI_VFS,
	KERNEL_PCI_AUTOPROBE,
	KERNEL_PCI_DRIVER,
	KERNEL_PCI_ATTR_MAX
};
struct kernel_pci {
	enum kernel_pci_attr attr;
	char value[32], was[32];
};

/* A value of a VF, set on its PF's link. MAC as text; VLAN, RATE (Mbps): a number, "0" for none;
 * SPOOF_CHECK and TRUST: "1" or "0". */
enum kernel_vf_attr {
	KERNEL_VF_MAC,
	KERNEL_VF_VLAN,
	KERNEL_VF_SPOOF_CHECK,
	KERNEL_VF_TRUST,
	KERNEL_VF_RATE,
	KERNEL_VF_ATTR_MAX
};
struct kernel_vf {
	uint32_t vf;
	enum kernel_vf_attr attr;
	char value[24], was[24];
};

/* A VLAN link with the kernel's defaults and our alias; the change's ifindex is that of the link
 * below. What is removed is looked at first: one of another tag or alias stays (-EPERM). */
struct kernel_vlan {
	char name[IFNAMSIZ];
	uint16_t id;
};

/* A bond that comes or goes, whole; made without ports and marked as ours. */
struct kernel_bond {
	char name[IFNAMSIZ];
	struct mac_addr mac; /* its own, which no port that goes takes along */
	bool up;
	uint32_t mtu; /* 0: the kernel's choice */
	struct inv_bond_setting setting;
};

/* A setting of a bond in the words of bond_setting.h, "" for none. */
struct kernel_bond_value {
	enum bond_attr attr;
	char value[IFNAMSIZ], was[IFNAMSIZ];
};

/*
 * The bond that a link is a port of, "" for none. Linux takes only a link that is down as a port,
 * brings it up and gives it the bond's MTU; one that it lets go is down. `up` and `mtu` are what
 * such a one gets then; a port's are the bond's.
 */
struct kernel_master {
	char value[IFNAMSIZ], was[IFNAMSIZ];
	bool up, was_up;
	uint32_t mtu, was_mtu;
	/* Of a port in LACP what it has come to with its switch (inv_bond_port_lacp); is only read.
	 */
	uint32_t lacp, was_lacp;
};

/* A soft-RoCE device on an Ethernet link. `was` is only read: its name where it is there, else "".
 * Linux loads the module; one that is no device of ours on that link stays (-EPERM). */
struct kernel_rxe {
	char name[INV_TEXT_MAX], was[INV_TEXT_MAX];
};

/* A setting of a link's device as device_setting.h writes it. What a driver does not have, or
 * refuses, is the change's error. */
struct kernel_device {
	enum device_attr attr;
	uint8_t dscp; /* DEVICE_DSCP: of this code point */
	char value[INV_DEVICE_VALUE_MAX], was[INV_DEVICE_VALUE_MAX];
};

/* A parameter of a PCI function's driver, by devlink. */
struct kernel_devlink {
	char name[INV_TEXT_MAX];
	char mode[12]; /* as inv_devlink_param has it */
	char value[INV_DEVLINK_VALUE_MAX], was[INV_DEVLINK_VALUE_MAX];
};

struct kernel_change {
	enum kernel_kind kind;
	bool remove;	  /* what is added and removed: addresses, routes, rules, links */
	bool foreign;	  /* an address or a route of others: the proto is theirs, 0 too */
	uint32_t ifindex; /* of the link that it is done on; 0: none. Those inside do not count */
	char pci[16];	  /* KERNEL_PCI, KERNEL_DEVLINK: the function that it is done on */
	union {
		struct kernel_link_value link;
		struct inv_addr addr;
		struct inv_route route;
		struct inv_rule rule;
		struct kernel_sysctl sysctl;
		struct kernel_pci pci_value;
		struct kernel_vf vf;
		struct kernel_vlan vlan;
		struct kernel_bond bond;
		struct kernel_bond_value bond_value;
		struct kernel_master master;
		struct kernel_rxe rxe;
		struct kernel_device device;
		struct kernel_devlink devlink;
	};
};

/* A link by what lasts longer than an ifindex: "leg0", "0000:3b:00.0", "0000:3b:00.0/vf3". Of
 * these the latter two are PCI functions too. */
#define KERNEL_LINK_REF_MAX 24

/* Whether another host on the link has an address; mac: the link's. */
struct kernel_probe {
	uint32_t ifindex;
	struct ip_addr ip;
	struct mac_addr mac;
	bool taken; /* out: by the host that has this station */
	struct mac_addr by;
};

/* Whether an address answers an echo request that leaves by a link, from an address of ours, in an
 * IP packet of so many bytes that is never fragmented, and whose answer comes back by that link. */
struct kernel_ping {
	uint32_t ifindex;
	struct ip_addr from, to;
	uint32_t bytes;
	uint8_t tos;	      /* DSCP and ECN bits of the request */
	uint8_t answered_tos; /* out: those of the answer, which Linux has from the request */
	bool answered;	      /* out */
	uint64_t took_ns;     /* out, where it is: from the latest request to the answer */
};

struct kernel;
struct kernel_event;

/*
 * Every operation: 0, or a negative errno. `why` (NULL or KERNEL_WHY_MAX bytes) is written on
 * failure only: the kernel's extended-ack text, else the errno's. What is added with proto 0
 * becomes ours (PLENUM_RTPROT), unless it is `foreign`; routes pass through kernel_route_normalize.
 * Errors worth telling apart: -EEXIST (it is there already), -ESRCH (no such route), -ENOENT (no
 * such rule or sysctl), -EADDRNOTAVAIL (no such address), -ENODEV (no such link), -EPERM.
 */
#define KERNEL_WHY_MAX 256
struct kernel_ops {
	int (*collect)(struct kernel *k, struct diag *d, struct inventory *inv);
	/* The link that a reference means now. -ENODEV: there is none; -ENOTUNIQ: several. */
	int (*link_find)(struct kernel *k, const char *ref, uint32_t *ret_ifindex);
	/* The address of the PCI function that a reference means now, which lives there. -ENODEV.
	 */
	int (*function_find)(struct kernel *k, const char *ref, char ret[static 16]);
	/* Reads into the `was` of c what its value is now. -EOPNOTSUPP: c has no value. */
	int (*read)(struct kernel *k, struct kernel_change *c);
	/* Does what c needs beforehand and only full privilege gives: loads a driver's module,
	 * opens the sockets of probe and ping. What does not work here the change itself will say.
	 * NULL: there is never anything. */
	void (*prepare)(struct kernel *k, const struct kernel_change *c);
	/* Does c. Its `was` is not looked at. */
	int (*change)(struct kernel *k, const struct kernel_change *c, char *why);
	/*
	 * Asks who has these addresses, all at once, and waits for answers for a time that does not
	 * grow with them, well below a second. Stations of our own are no other host. Where links
	 * are down or without a carrier nobody answers. -EBADF: it was not prepared for; NULL: not
	 * possible here.
	 */
	int (*probe)(struct kernel *k, struct kernel_probe *probes, size_t n,
		     const struct mac_addr *own, size_t n_own);
	/*
	 * Asks them all at once, again and again, until all have answered or limit_ns is over.
	 * What cannot be sent is not answered. -EBADF: it was not prepared for; NULL: not possible
	 * here.
	 */
	int (*ping)(struct kernel *k, struct kernel_ping *pings, size_t n, uint64_t limit_ns);
	/*
	 * Which way a packet to `to` would leave ('ip route get TO from FROM'): the rules and
	 * tables are walked as for a packet of this host. from: NULL or family 0 leaves the choice
	 * to the kernel, else an address that the host has; oif: 0, or the link it must leave by.
	 * The route found: its table, oif, gateway, type (RTN_LOCAL for an address of our own) and
	 * the source it would have. -ENETUNREACH, -EHOSTUNREACH, -EACCES, -EINVAL: there is no way,
	 * or a route forbids it; so also where `from` is not ours. Changes nothing.
	 */
	int (*route_lookup)(struct kernel *k, const struct ip_addr *from, const struct ip_addr *to,
			    uint32_t oif, struct inv_route *ret, char *why);
	/*
	 * Notifications of links, addresses, routes and rules, udev's of links and devlink's of
	 * devices, seen from the first watch_fd on; until then nothing of the host is remembered
	 * from one look to the next. watch_fd: a descriptor to poll for reading, owned by the
	 * kernel object; or a negative errno. watch_read: hands over what came and never blocks; 0
	 * or a negative errno.
	 */
	int (*watch_fd)(struct kernel *k);
	/* Whoever looks next is to see what is there, and not what nobody said has changed. NULL:
	 * nothing is ever remembered. */
	void (*forget)(struct kernel *k);
	int (*watch_read)(struct kernel *k, void (*cb)(void *user, const struct kernel_event *e),
			  void *user);
	void (*free)(struct kernel *k);
};

enum kernel_event_type {
	KERNEL_EVENT_LINK,
	KERNEL_EVENT_ADDR,
	KERNEL_EVENT_ROUTE,
	KERNEL_EVENT_RULE,
	KERNEL_EVENT_UDEV,   /* udev is done with a link: inv_link.initialized may have changed */
	KERNEL_EVENT_DEVICE, /* what devlink tells of some device has changed; no ifindex */
	KERNEL_EVENT_LOST    /* the socket overflowed: collect again */
};
struct kernel_event {
	enum kernel_event_type type;
	bool removed;
	uint32_t ifindex;
	char ifname[16];  /* as it is called now: another name than before is a rename */
	bool up, carrier; /* links */
};

struct kernel {
	const struct kernel_ops *ops;
	void *impl;
	uint64_t n_writes; /* changes asked of the kernel; a second apply adds none */
};

/*
 * The host as the caller's network namespace shows it: descriptors are made here, so a caller that
 * changes its namespace later makes a new one. Needs no privilege to read. 0 and *ret; negative
 * errno. One user at a time: not thread-safe.
 */
int kernel_linux_new(struct kernel **ret);
struct kernel *kernel_free(struct kernel *k); /* accepts NULL, returns NULL */

/* r, with text in why, which may be NULL: for who carries out operations. */
int kernel_fail(char *why, int r, const char *text);
/*
 * The form in which the kernel reports a route back: type 0 becomes unicast, table 0 main, proto 0
 * PLENUM_RTPROT, an IPv4 route without gateway scope link, an IPv6 route without metric 1024; the
 * destination's host bits are cleared.
 */
void kernel_route_normalize(struct inv_route *r);
/* Whether we made the link: it carries our alias. */
bool kernel_link_is_ours(const struct inv_link *l);
/* Whether the RDMA device is one that we made: its name says so. */
bool kernel_rdma_is_ours(const char *device);
/* The VLAN of that tag on the link. NULL: there is none. */
const struct inv_link *kernel_vlan_find(const struct inventory *inv, uint32_t lower, uint16_t id);
/* One value of a VF as struct kernel_vf has it; returns buf. */
const char *kernel_vf_format(const struct inv_vf *v, enum kernel_vf_attr attr, char buf[static 24]);
/* Whether they are the same object to route_del and rule_del; both normalized. */
bool kernel_route_equal(const struct inv_route *a, const struct inv_route *b);
bool kernel_rule_equal(const struct inv_rule *a, const struct inv_rule *b);

#endif
