/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface to the host's kernel. Everything that netcfg reads or changes on the machine goes
 * through struct kernel_ops: kernel_linux implements it with libnl-3, libmnl, sysfs and procfs;
 * kernel_fake simulates a recorded host in tests. Sysfs is read through a descriptor that was
 * opened in the current network namespace, so that a process started by nsenter(1) sees that
 * namespace's devices.
 */
#ifndef PLENUM_NETCFG_KERNEL_H
#define PLENUM_NETCFG_KERNEL_H

#include "netcfg/base/diag.h"
#include "netcfg/base/reason.h"
#include "netcfg/host/bond_setting.h"
#include "netcfg/host/device_setting.h"

/* The protocol number by which the agent marks its routes and rules. */
#define PLENUM_RTPROT 0x70
/* The alias by which the agent marks the links that it creates. */
#define PLENUM_LINK_ALIAS "made by plenum"
/* The agent marks the RDMA devices that it creates by this name prefix, because RDMA devices have
 * no alias. */
#define PLENUM_RDMA_PREFIX "plenum_"

/*
 * A struct kernel_change describes one change of the host. Each kind of object has one line here,
 * one line in each of the tables of kernel_linux and kernel_fake, and a file object_<kind>.c for
 * planning.
 */
/* All kinds of changes. An OBJECT is created and removed; a VALUE is read and set. */
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
	uint32_t value, was; /* LINK_UP: 0 or 1 */
};

struct kernel_sysctl {
	char key[96]; /* below /proc/sys, such as "net/ipv4/conf/eth0/arp_announce" */
	char value[32], was[32];
};

/*
 * A value of a PCI function. VFS is the number of VFs of a PF: a new number first removes all
 * existing VFs, and the call lasts as long as the driver needs. AUTOPROBE says whether new VFs get
 * their kernel driver immediately: "1" or "0". DRIVER is the driver's name, "" for none; it is set
 * by driver_override, which stays as long as the function exists.
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

/* A value of a VF, set on its PF's link. MAC is an address; VLAN and RATE (in Mbps) are numbers,
 * "0" for none; SPOOF_CHECK and TRUST are "1" or "0". */
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

/* A VLAN link with the kernel's defaults and the agent's alias; the ifindex of the change
 * identifies the parent link. Removal fails with -EPERM if the link has another tag or alias. */
struct kernel_vlan {
	char name[IFNAMSIZ];
	uint16_t id;
};

/* The creation or removal of a whole bond. A new bond has no ports and the agent's alias. */
struct kernel_bond {
	char name[IFNAMSIZ];
	/* MAC address of the bond; the bond keeps it when its ports change */
	struct mac_addr mac;
	bool up;
	uint32_t mtu; /* MTU of the bond; 0: the kernel chooses it */
	struct inv_bond_setting setting;
};

/* A setting of a bond as text (bond_setting.h); "" for none. */
struct kernel_bond_value {
	enum bond_attr attr;
	char value[IFNAMSIZ], was[IFNAMSIZ];
};

/*
 * The bond that a link is a port of; "" for none. A link must be down to become a port; Linux then
 * brings it up and gives it the bond's MTU. After it has left the bond, the link is down. `up` and
 * `mtu` are then set on it; while it is a port, it has the bond's values.
 */
struct kernel_master {
	char value[IFNAMSIZ], was[IFNAMSIZ];
	bool up, was_up;
	uint32_t mtu, was_mtu;
	/* The negotiated state of a port of an LACP bond (inv_bond_port_lacp), which can only be
	 * read. */
	uint32_t lacp, was_lacp;
};

/* A soft-RoCE device on an Ethernet link. `was` is only read: the device's name, or "" if it does
 * not exist. Linux loads the kernel module. Removal fails with -EPERM if the agent did not create
 * the device. */
struct kernel_rxe {
	char name[INV_TEXT_MAX], was[INV_TEXT_MAX];
};

/* A setting of a link's device as device_setting.h writes it. The change fails if the driver does
 * not have or accept the setting. */
struct kernel_device {
	enum device_attr attr;
	uint8_t dscp; /* DEVICE_DSCP: the code point */
	char value[INV_DEVICE_VALUE_MAX], was[INV_DEVICE_VALUE_MAX];
};

/* A parameter of a PCI function's driver, which is set by devlink. */
struct kernel_devlink {
	char name[INV_TEXT_MAX];
	char mode[12]; /* mode, as in struct inv_devlink_param */
	char value[INV_DEVLINK_VALUE_MAX], was[INV_DEVLINK_VALUE_MAX];
};

struct kernel_change {
	enum kernel_kind kind;
	bool remove;	  /* remove the address, route, rule or link instead of adding it */
	bool foreign;	  /* an address or route of another program: keep its proto, even 0 */
	uint32_t ifindex; /* the link to change; 0: none. An ifindex inside the union is ignored. */
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

/* A reference identifies a link by something that outlasts its ifindex: "leg0", "0000:3b:00.0",
 * "0000:3b:00.0/vf3". The last two forms also identify PCI functions. */
#define KERNEL_LINK_REF_MAX 24

/* Asks whether another host on the link has an address. `mac` is the link's own. */
struct kernel_probe {
	uint32_t ifindex;
	struct ip_addr ip;
	/* Family 0: the request is a probe of duplicate address detection, which each host that has
	 * the address answers. Otherwise the probe is an ordinary request from this address of the
	 * link. A host answers such a request only if it sends packets back on the same link. */
	struct ip_addr from;
	struct mac_addr mac;
	bool taken; /* result. taken: another host has the address. by: the MAC address of that
		       host */
	struct mac_addr by;
};

/* Asks whether an address answers an ICMP echo request that leaves by the given link from one of
 * the host's addresses, in an unfragmented IP packet of the given size. Only an answer that arrives
 * by the same link counts. */
struct kernel_ping {
	uint32_t ifindex;
	struct ip_addr from, to;
	uint32_t bytes;
	uint8_t tos; /* DSCP and ECN bits of the request */
	/* out: the same bits of the answer, which Linux copies from the request */
	uint8_t answered_tos;
	bool answered;	  /* out: whether an answer arrived */
	uint64_t took_ns; /* out, if answered: time from the last request to the answer */
};

struct kernel;
struct kernel_event;

/*
 * Each operation returns 0 or a negative errno. On failure, `why` (may be NULL) gets the text of
 * the kernel's extended ack or, if there is none, the text of the errno. An object that is added
 * with proto 0 gets PLENUM_RTPROT, unless it is `foreign`; routes pass through
 * kernel_route_normalize. Callers distinguish these errors: -EEXIST (the object exists already),
 * -ESRCH (no such route), -ENOENT (no such rule or sysctl), -EADDRNOTAVAIL (no such address),
 * -ENODEV (no such link), -EPERM.
 */
struct kernel_ops {
	int (*collect)(struct kernel *k, struct diag *d, struct inventory *inv);
	/* Finds the link that a reference identifies now. Returns -ENODEV if there is none, or
	 * -ENOTUNIQ if there are several. */
	int (*link_find)(struct kernel *k, const char *ref, uint32_t *ret_ifindex);
	/* Finds the address of the PCI function that a reference identifies now. Returns -ENODEV if
	 * it identifies no function. */
	int (*function_find)(struct kernel *k, const char *ref, char ret[static 16]);
	/* Reads the current value into the `was` of c. Returns -EOPNOTSUPP if c is not a value. */
	int (*read)(struct kernel *k, struct kernel_change *c);
	/* Makes the preparations for c that need full privileges: loads a driver's module, opens
	 * the sockets of probe and ping. If a preparation fails, the later call reports the error.
	 * NULL if no call needs a preparation. */
	void (*prepare)(struct kernel *k, const struct kernel_change *c);
	/* Carries out c. Its `was` is ignored. */
	int (*change)(struct kernel *k, const struct kernel_change *c, struct reason *why);
	/*
	 * Probes all addresses at the same time and waits well below a second for answers, however
	 * many there are. The host's own MAC addresses do not count as answers. Links that are down
	 * or lack a carrier get no answers. Returns -EBADF if prepare was not called. NULL if
	 * probes are not supported.
	 */
	int (*probe)(struct kernel *k, struct kernel_probe *probes, size_t n,
		     const struct mac_addr *own, size_t n_own);
	/*
	 * Sends all requests at the same time, and repeats them until all are answered or limit_ns
	 * has passed. A request that cannot be sent counts as unanswered. Returns -EBADF if prepare
	 * was not called. NULL if pings are not supported.
	 */
	int (*ping)(struct kernel *k, struct kernel_ping *pings, size_t n, uint64_t limit_ns);
	/*
	 * Looks up the route of a packet that this host sends to `to`, by its rules and tables (as
	 * 'ip route get TO from FROM'). from: an address of the host; NULL or family 0: the kernel
	 * chooses one. oif: the link by which the packet must leave, or 0. udp_port: the source and
	 * destination port of a UDP packet, for rules that select by port, or 0. The result has
	 * table, oif, gateway, type (RTN_LOCAL for the host's addresses) and source. Returns
	 * -ENETUNREACH, -EHOSTUNREACH, -EACCES or -EINVAL if there is no route, the route rejects
	 * the packet, or `from` is not an address of the host. Changes nothing.
	 */
	int (*route_lookup)(struct kernel *k, const struct ip_addr *from, const struct ip_addr *to,
			    uint32_t oif, uint16_t udp_port, struct inv_route *ret,
			    struct reason *why);
	/*
	 * Notifications of links, addresses, routes and rules, of links by udev, and of devices by
	 * devlink. They begin with the first call of watch_fd; before that call, collections cache
	 * nothing. watch_fd returns a descriptor to poll for reading, owned by the kernel object,
	 * or negative errno. watch_read passes on pending notifications and never blocks; it
	 * returns 0 or negative errno.
	 */
	int (*watch_fd)(struct kernel *k);
	/* Drops caches, so that the next collection also sees changes without a notification. NULL
	 * if nothing is cached. */
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
	/* udev has processed a link, so inv_link.initialized may have changed */
	KERNEL_EVENT_UDEV,
	KERNEL_EVENT_DEVICE, /* the devlink data of a device have changed; without an ifindex */
	KERNEL_EVENT_LOST    /* notifications were lost, so everything must be collected again */
};
struct kernel_event {
	enum kernel_event_type type;
	bool removed;
	uint32_t ifindex;
	char ifname[16];  /* the current name, which differs from the earlier name after a rename */
	bool up, carrier; /* valid for links */
};

struct kernel {
	const struct kernel_ops *ops;
	void *impl;
	/* count of changes sent to the kernel; an apply of an unchanged plan adds none */
	uint64_t n_writes;
};

/*
 * Opens the host as the caller's network namespace shows it; a caller that changes its namespace
 * later creates a new object. Reading needs no privilege. Returns 0 and *ret, or negative errno.
 * Not thread-safe.
 */
int kernel_linux_new(struct kernel **ret);
struct kernel *kernel_free(struct kernel *k); /* accepts NULL, returns NULL */
/* Drops the cached inventory, so that the next collection reads everything. */
void kernel_forget(struct kernel *k);

/* Writes `text` to why (may be NULL), or the text of the errno r if `text` is "". Returns r. The
 * implementations of the operations use this function. */
int kernel_fail(struct reason *why, int r, const char *text);
/*
 * Changes a route to the form in which the kernel reports it. Type 0 becomes unicast, table 0
 * becomes main, and proto 0 becomes PLENUM_RTPROT. An IPv4 route without a gateway gets scope link.
 * An IPv6 route without a metric gets metric 1024. The destination's host bits are cleared.
 */
void kernel_route_normalize(struct inv_route *r);
/* Returns whether the agent created the link, which shows in its alias. */
bool kernel_link_is_ours(const struct inv_link *l);
/* Returns whether the agent created the RDMA device, which shows in its name. */
bool kernel_rdma_is_ours(const char *device);
/* Returns the VLAN link with that tag on the link `lower`, or NULL. */
const struct inv_link *kernel_vlan_find(const struct inventory *inv, uint32_t lower, uint16_t id);
/* Writes one value of a VF in the form of struct kernel_vf; returns buf. */
const char *kernel_vf_format(const struct inv_vf *v, enum kernel_vf_attr attr, char buf[static 24]);
/* Return whether a request to remove `a` would also remove `b`. Both must be normalized. */
bool kernel_route_equal(const struct inv_route *a, const struct inv_route *b);
bool kernel_rule_equal(const struct inv_rule *a, const struct inv_rule *b);

#endif
