/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one seam to the host. Everything that netcfg reads or changes on the machine goes through
 * struct kernel_ops: kernel_linux implements it (libnl-3, libmnl, sysfs, procfs), kernel_fake
 * simulates a recorded host in tests. Sysfs is read through a descriptor opened in the current
 * network namespace, so that a process entered by nsenter sees that namespace's devices.
 */
#ifndef PLENUM_NETCFG_KERNEL_H
#define PLENUM_NETCFG_KERNEL_H

#include "netcfg/base/diag.h"
#include "netcfg/base/reason.h"
#include "netcfg/host/bond_setting.h"
#include "netcfg/host/device_setting.h"

/* Protocol number of the agent's routes and rules. */
#define PLENUM_RTPROT 0x70
/* Alias of links that the agent created. */
#define PLENUM_LINK_ALIAS "made by plenum"
/* Name prefix of RDMA devices that the agent created: they have no alias. */
#define PLENUM_RDMA_PREFIX "plenum_"

/*
 * Description of one change of the host. A kind of object is one line here, one in the tables of
 * kernel_linux and kernel_fake, and a file object_<kind>.c for planning.
 */
/* The kinds of changes: of an object, which is made and removed, or of a value, which can be read.
 */
#define KERNEL_KINDS(OBJECT, VALUE)   \
	VALUE(LINK, link)             \
	OBJECT(ADDR, addr)            \
	OBJECT(ROUTE, route)          \
	OBJECT(RULE, rule)            \
	VALUE(SYSCTL, sysctl)         \
	VALUE(PCI, pci)               \
	VALUE(VF, vf)                 \
	OBJECT(VLAN, vlan)            \
	OBJECT(BOND, bond)            \
	VALUE(BOND_VALUE, bond_value) \
	VALUE(MASTER, master)         \
	VALUE(RXE, rxe)               \
	VALUE(DEVICE, device)         \
	VALUE(DEVLINK, devlink)
#define KERNEL_KIND(member, name) KERNEL_##member,
enum kernel_kind { KERNEL_KINDS(KERNEL_KIND, KERNEL_KIND) KERNEL_KIND_MAX };
#undef KERNEL_KIND

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
 * A value of a PCI function. VFS: how many VFs a PF has; existing ones are all removed before
 * others are created, and the call lasts as long as the driver takes. AUTOPROBE: "1" or "0",
 * whether new VFs get their kernel driver at once. DRIVER: its name, "" for none; by
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

/* A VLAN link with the kernel's defaults and our alias; the change's ifindex is the lower
 * link's. A link with another tag or alias is not removed (-EPERM). */
struct kernel_vlan {
	char name[IFNAMSIZ];
	uint16_t id;
};

/* Creation or removal of a whole bond; created without ports and with the agent's alias. */
struct kernel_bond {
	char name[IFNAMSIZ];
	struct mac_addr mac; /* assigned to the bond, so that it does not depend on a port */
	bool up;
	uint32_t mtu; /* 0: the kernel's choice */
	struct inv_bond_setting setting;
};

/* A bond setting as text (bond_setting.h), "" for none. */
struct kernel_bond_value {
	enum bond_attr attr;
	char value[IFNAMSIZ], was[IFNAMSIZ];
};

/*
 * The bond that a link is a port of, "" for none. Linux accepts only a link that is down as a port,
 * brings it up and sets the bond's MTU; a released port is down. `up` and `mtu` apply to the link
 * after its release; as a port it follows the bond.
 */
struct kernel_master {
	char value[IFNAMSIZ], was[IFNAMSIZ];
	bool up, was_up;
	uint32_t mtu, was_mtu;
	/* For a port in LACP, the negotiated state (inv_bond_port_lacp); read only. */
	uint32_t lacp, was_lacp;
};

/* A soft-RoCE device on an Ethernet link. `was` is only read: its name where it exists, else "".
 * Linux loads the module; a device on that link that the agent did not create stays (-EPERM). */
struct kernel_rxe {
	char name[INV_TEXT_MAX], was[INV_TEXT_MAX];
};

/* A setting of a link's device as device_setting.h writes it. A setting that the driver lacks or
 * rejects fails the change. */
struct kernel_device {
	enum device_attr attr;
	uint8_t dscp; /* DEVICE_DSCP: of this code point */
	char value[INV_DEVICE_VALUE_MAX], was[INV_DEVICE_VALUE_MAX];
};

/* A parameter of a PCI function's driver, set by devlink. */
struct kernel_devlink {
	char name[INV_TEXT_MAX];
	char mode[12]; /* as inv_devlink_param has it */
	char value[INV_DEVLINK_VALUE_MAX], was[INV_DEVLINK_VALUE_MAX];
};

struct kernel_change {
	enum kernel_kind kind;
	bool remove;	  /* addresses, routes, rules, links: remove instead of add */
	bool foreign;	  /* an address or route that is not the agent's: keep its proto, even 0 */
	uint32_t ifindex; /* the link to change; 0: none. ifindexes inside the union are ignored */
	char pci[16];	  /* KERNEL_PCI, KERNEL_DEVLINK: the function to change */
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

/* Identifies a link by something more lasting than an ifindex: "leg0", "0000:3b:00.0",
 * "0000:3b:00.0/vf3". The latter two identify PCI functions too. */
#define KERNEL_LINK_REF_MAX 24

/* Asks whether another host on the link has an address; mac: the link's. */
struct kernel_probe {
	uint32_t ifindex;
	struct ip_addr ip;
	/* Family 0: a probe of duplicate address detection, which every host that has the address
	 * answers. Else an ordinary request from this address of the link, to be answered by the
	 * hosts that would send packets back the same way. */
	struct ip_addr from;
	struct mac_addr mac;
	bool taken; /* out: the MAC address of the host that has it */
	struct mac_addr by;
};

/* Asks whether an address answers an ICMP echo request that leaves by the given link, from one
 * of the host's addresses, in an unfragmented IP packet of the given size, with an answer by the
 * same link. */
struct kernel_ping {
	uint32_t ifindex;
	struct ip_addr from, to;
	uint32_t bytes;
	uint8_t tos;	      /* DSCP and ECN bits of the request */
	uint8_t answered_tos; /* out: those of the answer, which Linux copies from the request */
	bool answered;	      /* out */
	uint64_t took_ns;     /* out, if answered: from the latest request to the answer */
};

struct kernel;
struct kernel_event;

/*
 * Each operation returns 0 or a negative errno. `why` (may be NULL) is written on failure only:
 * the kernel's extended-ack text, else the errno's. Objects added with proto 0 become
 * the agent's (PLENUM_RTPROT) unless they are `foreign`; routes pass through
 * kernel_route_normalize. Errors worth distinguishing: -EEXIST (exists already), -ESRCH (no such
 * route), -ENOENT (no such rule or sysctl), -EADDRNOTAVAIL (no such address), -ENODEV (no such
 * link), -EPERM.
 */
struct kernel_ops {
	int (*collect)(struct kernel *k, struct diag *d, struct inventory *inv);
	/* The link that a reference means at present. -ENODEV: none; -ENOTUNIQ: several. */
	int (*link_find)(struct kernel *k, const char *ref, uint32_t *ret_ifindex);
	/* The address of the PCI function that a reference means at present. -ENODEV. */
	int (*function_find)(struct kernel *k, const char *ref, char ret[static 16]);
	/* Reads the current value into the `was` of c. -EOPNOTSUPP: c has no value. */
	int (*read)(struct kernel *k, struct kernel_change *c);
	/* Does what c needs beforehand and only full privileges allow: loads a driver's module,
	 * opens the sockets of probe and ping. The change itself reports failures. NULL: nothing
	 * to prepare. */
	void (*prepare)(struct kernel *k, const struct kernel_change *c);
	/* Carries out c; ignores its `was`. */
	int (*change)(struct kernel *k, const struct kernel_change *c, struct reason *why);
	/*
	 * Probes all addresses at once and waits for answers for a time that does not grow with
	 * their number, well below a second. The host's own MAC addresses do not count. On links
	 * that are down or lack a carrier there is no answer. -EBADF: prepare was not called; NULL:
	 * not supported.
	 */
	int (*probe)(struct kernel *k, struct kernel_probe *probes, size_t n,
		     const struct mac_addr *own, size_t n_own);
	/*
	 * Sends all requests at once, repeatedly, until all have answers or limit_ns is over.
	 * Requests that cannot be sent count as unanswered. -EBADF: prepare was not called; NULL:
	 * not supported.
	 */
	int (*ping)(struct kernel *k, struct kernel_ping *pings, size_t n, uint64_t limit_ns);
	/*
	 * Looks up the route of a packet to `to` ('ip route get TO from FROM') through rules and
	 * tables, as for a packet of this host. from: NULL or family 0 leaves the choice to the
	 * kernel, else an address of the host; oif: 0, or the link it must leave by; udp_port: 0,
	 * or that of a UDP packet, source and destination, for rules that select by them. Returns
	 * the route: its table, oif, gateway, type (RTN_LOCAL for the host's addresses) and source.
	 * -ENETUNREACH, -EHOSTUNREACH, -EACCES, -EINVAL: no route, or one that rejects the packet,
	 * or `from` is not an address of the host. Changes nothing.
	 */
	int (*route_lookup)(struct kernel *k, const struct ip_addr *from, const struct ip_addr *to,
			    uint32_t oif, uint16_t udp_port, struct inv_route *ret,
			    struct reason *why);
	/*
	 * Notifications of links, addresses, routes and rules, udev's of links and devlink's of
	 * devices, from the first watch_fd on; until then nothing is cached between two
	 * collections. watch_fd: a descriptor to poll for reading, owned by the kernel object; or a
	 * negative errno. watch_read: passes on pending notifications and never blocks; 0 or a
	 * negative errno.
	 */
	int (*watch_fd)(struct kernel *k);
	/* Drops caches, so that the next collection sees also what changed without a
	 * notification. NULL: nothing is cached. */
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
	KERNEL_EVENT_UDEV,   /* udev has finished with a link: inv_link.initialized may have changed
			      */
	KERNEL_EVENT_DEVICE, /* devlink's data of some device has changed; no ifindex */
	KERNEL_EVENT_LOST    /* notifications were lost: collect again */
};
struct kernel_event {
	enum kernel_event_type type;
	bool removed;
	uint32_t ifindex;
	char ifname[16];  /* the current name; a different one than before is a rename */
	bool up, carrier; /* links */
};

struct kernel {
	const struct kernel_ops *ops;
	void *impl;
	uint64_t n_writes; /* changes sent to the kernel; a second apply adds none */
};

/*
 * The host as the caller's network namespace shows it: descriptors are opened here, so a caller
 * that changes its namespace later creates a new object. Needs no privilege to read. 0 and *ret;
 * negative errno. One user at a time: not thread-safe.
 */
int kernel_linux_new(struct kernel **ret);
struct kernel *kernel_free(struct kernel *k); /* accepts NULL, returns NULL */
/* Drops the cached inventory, so that the next collection reads everything. */
void kernel_forget(struct kernel *k);

/* Writes text, or the errno's if text is "", to why (may be NULL) and returns r: for
 * implementations of operations. */
int kernel_fail(struct reason *why, int r, const char *text);
/*
 * The form in which the kernel reports a route back: type 0 becomes unicast, table 0 main, proto 0
 * PLENUM_RTPROT, an IPv4 route without gateway scope link, an IPv6 route without metric 1024; the
 * destination's host bits are cleared.
 */
void kernel_route_normalize(struct inv_route *r);
/* Whether the agent created the link: it has the agent's alias. */
bool kernel_link_is_ours(const struct inv_link *l);
/* Whether the agent created the RDMA device, by its name. */
bool kernel_rdma_is_ours(const char *device);
/* The VLAN link with that tag on the link. NULL: none. */
const struct inv_link *kernel_vlan_find(const struct inventory *inv, uint32_t lower, uint16_t id);
/* One value of a VF in the form of struct kernel_vf; returns buf. */
const char *kernel_vf_format(const struct inv_vf *v, enum kernel_vf_attr attr, char buf[static 24]);
/* Whether both are the same object to route_del and rule_del; both normalized. */
bool kernel_route_equal(const struct inv_route *a, const struct inv_route *b);
bool kernel_rule_equal(const struct inv_rule *a, const struct inv_rule *b);

#endif
