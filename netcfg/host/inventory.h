/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The actual state of the host as far as the data network needs it, as an immutable, numbered
 * snapshot. It is collected through kernel_ops, can be printed as text or JSON, and can be read
 * from JSON, which tests use for recorded hosts.
 */
#ifndef PLENUM_NETCFG_INVENTORY_H
#define PLENUM_NETCFG_INVENTORY_H

#include "netcfg/base/addr.h"
#include "netcfg/base/diag.h"
#include <net/if.h>
#include <stdio.h>

struct kernel;

enum inv_link_kind {
	INV_LINK_PHYSICAL,
	INV_LINK_VF,
	INV_LINK_LOOPBACK,
	INV_LINK_VETH,
	INV_LINK_BRIDGE,
	INV_LINK_BOND,
	INV_LINK_VLAN,
	INV_LINK_TUN,
	INV_LINK_IPOIB,
	INV_LINK_VIRTUAL, /* a link of any other kind */
	INV_LINK_KIND_MAX
};
const char *inv_link_kind_to_string(enum inv_link_kind k);

#define INV_NUMA_NONE (-1)
#define INV_TEXT_MAX 64
#define INV_PATH_MAX 128
#define INV_SWITCH_ID_MAX 72 /* 32 bytes in hexadecimal */

/* Settings of a link that plans can set and that are one text each: the enumerator in enum
 * device_attr, the member, and the name in plans and journals. "": the link has no such setting. */
#define INV_LINK_SETTINGS(X)                                                                    \
	/* "datagram" or "connected"; only of IPoIB links */                                    \
	X(IPOIB_MODE, ipoib_mode, "ipoib-mode")                                                 \
	/* the queueing discipline of all transmit queues, such as "fq_codel"; "tc:fq_codel" if \
	 * another program has set it, "default" while the link was never up */                 \
	X(QDISC, qdisc, "qdisc")
#define INV_LINK_SETTING_MAX 20
#define INV_LINK_SETTING(attr, member, name) char member[INV_LINK_SETTING_MAX];

struct inv_link {
	uint32_t ifindex;
	char name[IFNAMSIZ];
	char altnames[128]; /* alternative names, each followed by a blank */
	enum inv_link_kind kind;
	char kind_text[16]; /* IFLA_INFO_KIND of rtnetlink, "" for a physical link */
	char driver[INV_TEXT_MAX];
	char pci[16]; /* PCI address, such as "0000:3b:00.0"; "": not a PCI device */
	int numa_node;
	struct mac_addr mac, permanent_mac;
	uint32_t mtu, mtu_min, mtu_max;
	uint32_t speed_mbps; /* speed in Mb/s; 0: unknown */
	/* the fastest link mode that the port supports, in Mb/s; 0: unknown */
	uint32_t max_speed_mbps;
	bool up, carrier;
	/* ifindex of the bridge or bond that the link is a port of; 0: none */
	uint32_t master;
	uint32_t lower;		 /* ifindex of the parent link (of a VLAN); 0: none */
	uint16_t vlan;		 /* tag of a VLAN link */
	uint32_t n_vfs, max_vfs; /* SR-IOV virtual functions that exist, and that are possible */
	char physfn[16];	 /* PCI address of the PF, if the link is a VF */
	char rdma[INV_TEXT_MAX]; /* name of the RDMA device; "": none */
	char alias[INV_TEXT_MAX];
	/* The name of the link will not change any more: udev has processed the link, or udev does
	 * not run here. Until then the agent must not bring the link up, because older kernels
	 * rename only links that are down. */
	bool initialized;
	/* Values that distinguish the links of one PCI function: the device port, the port's name
	 * on the NIC, and the NIC's internal switch (in hexadecimal). A name such as "pf0vf3"
	 * belongs to a representor. */
	uint32_t dev_port;
	char port_name[INV_TEXT_MAX], switch_id[INV_SWITCH_ID_MAX];
	uint32_t vrf_table; /* routing table of a VRF link; 0: not a VRF */
	/* Properties that the driver of a PCI function reports; "" or 0: not reported. */
	char duplex[8];			 /* "full" or "half" */
	char fec[8];			 /* error correction in use: "off", "rs", "baser", "llrs" */
	uint32_t channels, max_channels; /* receive queues in use, and possible */
	char firmware[INV_TEXT_MAX];
	INV_LINK_SETTINGS(INV_LINK_SETTING)
	/* How AF_XDP sockets access the link's queues: "zero-copy" or "copy"; "none": this kernel
	 * has no AF_XDP sockets; "": unknown. */
	char af_xdp[12];
};

#define INV_IOMMU_NONE (-1)

/*
 * A PCI network function. The kernel has no link for a function that is bound to vfio or to no
 * driver, so this list is the only place for it. PCI has no network namespaces: the list has all
 * functions of the machine, and some may have their link in another namespace.
 */
struct inv_function {
	char pci[16];
	char driver[INV_TEXT_MAX]; /* name of the driver; "": the function has no driver */
	char physfn[16];	   /* PCI address of the PF; "": the function is not a VF */
	uint32_t vf;		   /* index of the VF on its PF */
	uint16_t vendor, device;   /* PCI IDs */
	int numa_node;
	int iommu_group; /* INV_IOMMU_NONE: the host has no active IOMMU */
	uint32_t n_vfs, max_vfs;
	bool autoprobe; /* for a PF: the kernel binds its driver to new VFs immediately */
};

/* A device of an IOMMU group that contains a network function; bridges, which the kernel keeps, are
 * omitted. vfio gives all devices of a group to the same process. */
struct inv_iommu {
	int group;
	char pci[16];
	char driver[INV_TEXT_MAX]; /* name of the driver; "": the device has no driver */
};

/* The settings of one VF, as its PF's link reports them. */
struct inv_vf {
	uint32_t ifindex, vf; /* ifindex of the PF's link, and index of the VF */
	struct mac_addr mac;
	/* tag that the NIC adds to sent and removes from received packets; 0: no tag */
	uint16_t vlan;
	bool spoof_check, trust;
	uint32_t min_rate_mbps, max_rate_mbps; /* limits in Mb/s; 0: no limit */
};

/* A bond's settings, numbered as in the kernel document networking/bonding, and what the bond knows
 * about its LACP partner. */
enum inv_bond_mode {
	INV_BOND_ROUND_ROBIN,
	INV_BOND_ACTIVE_BACKUP,
	INV_BOND_XOR,
	INV_BOND_BROADCAST,
	INV_BOND_LACP,
	INV_BOND_TLB,
	INV_BOND_ALB,
	INV_BOND_MODE_MAX
};

struct inv_bond_setting {
	uint8_t mode;	  /* enum inv_bond_mode; the agent makes only bonds of some modes */
	uint8_t hash;	  /* xmit_hash_policy */
	uint8_t rate;	  /* lacp_rate: 0 slow, 1 fast */
	uint8_t select;	  /* ad_select: how the bond selects one of several aggregators */
	uint8_t reselect; /* primary_reselect: when the preferred port becomes active again */
	uint32_t min_links, miimon_ms;
	char primary[IFNAMSIZ]; /* the preferred port; "": none */
};

struct inv_bond {
	uint32_t ifindex; /* the bond's link */
	struct inv_bond_setting setting;
	uint32_t primary; /* ifindex of setting.primary; 0: none */
	/* ifindex of the active port; 0: no port or several ports are active */
	uint32_t active;
	uint16_t aggregator; /* with LACP: ID of the active aggregator, and how many ports it has */
	uint16_t n_ports;
	/* LACP: MAC address of the switch; all zeros: the switch has not answered yet */
	struct mac_addr partner;
};

/* Bits of inv_bond_port.actor and .partner: Actor_State of IEEE 802.1AX. */
#define INV_LACP_SYNC 0x08
#define INV_LACP_COLLECTING 0x10
#define INV_LACP_DISTRIBUTING 0x20
/* the port uses default parameters, because no partner was heard */
#define INV_LACP_DEFAULTED 0x40
/* the partner's information is out of date, because the partner no longer sends */
#define INV_LACP_EXPIRED 0x80

struct inv_bond_port {
	uint32_t ifindex, bond; /* ifindex of the port, and of its bond */
	/* whether the port carries traffic while its link is up; false: the port is a standby */
	bool active;
	bool link_up;	   /* the link state that the bond's own link monitoring found */
	uint32_t failures; /* how many times the bond saw the link fail */
	uint16_t aggregator;
	uint8_t actor;
	uint16_t partner;
	/* MAC address of the switch that this port hears, and whether LACP churn was detected on
	 * either side. Only privileged processes can read them. */
	struct mac_addr partner_mac;
	bool churned;
};

/* Combines the LACP states of a port and of its switch in one number. The kernel sends no
 * notification when the state changes. */
static inline uint32_t inv_bond_port_lacp(const struct inv_bond_port *p)
{
	return p->actor | (uint32_t)(p->partner & 0xff) << 8 | (uint32_t)p->aggregator << 16;
}

struct inv_addr {
	uint32_t ifindex;
	struct ip_prefix ip;
	/* IFA_PROTO, the program that added the address: PLENUM_RTPROT for the agent, if
	 * inventory.addr_owner_known */
	uint8_t proto;
	bool tentative, dad_failed;
	/* the address is in use although duplicate address detection has not finished (RFC 4429) */
	bool optimistic;
	/* the kernel removes this address together with its subnet's primary address unless
	 * promote_secondaries is set */
	bool secondary;
	bool no_prefix_route; /* the kernel added no route to the subnet together with this
				 address */
	bool broadcast;	      /* for IPv4: the address has the broadcast address of its subnet */
	/* The link is up, but the kernel has no route of type local for this address: packets to it
	 * do not arrive, and it cannot be a source address. */
	bool local_missing;
	/* the address has attributes that this struct does not store (a lifetime, a peer, a label),
	 * so the agent never moves it */
	bool more;
};

/* Routing tables, protocols, and types of routes and rules, with the numbers of rtnetlink(7). */
enum inv_table { INV_TABLE_DEFAULT = 253, INV_TABLE_MAIN = 254, INV_TABLE_LOCAL = 255 };
enum inv_route_type {
	INV_ROUTE_UNICAST = 1,
	INV_ROUTE_LOCAL = 2, /* occurs only in results of route_lookup */
	INV_ROUTE_BLACKHOLE = 6,
	INV_ROUTE_UNREACHABLE = 7,
	INV_ROUTE_PROHIBIT = 8,
	INV_ROUTE_THROW = 9,
};
enum inv_proto {
	INV_PROTO_KERNEL = 2,
	INV_PROTO_BOOT = 3,
	INV_PROTO_STATIC = 4,
	INV_PROTO_RA = 9,
	INV_PROTO_DHCP = 16,
};

struct inv_route {
	uint32_t table, metric;
	uint8_t family, proto, scope, type; /* enum inv_proto, enum inv_route_type */
	struct ip_prefix dst;		    /* len 0: the default route */
	struct ip_addr gateway, src;	    /* family 0: none */
	uint32_t oif;
	bool linkdown;
	/* the route has attributes that this struct does not store (metrics, several next hops), so
	 * the agent never moves it */
	bool more;
};

struct inv_rule {
	uint32_t priority, table;
	uint8_t family, proto;
	struct ip_prefix from; /* family 0: any source */
	/* the rule applies only to packets with this firewall mark; 0: to all */
	uint32_t mark;
	/* the rule has selectors or an action that this struct does not store, so it is not a rule
	 * of the agent */
	bool more;
};

struct inv_rdma { /* a port of an RDMA device */
	char device[INV_TEXT_MAX];
	uint32_t port;
	char kind[8];	/* "ib", "roce", "iwarp" */
	char state[16]; /* state from the kernel, such as "ACTIVE" */
	char rate[32];	/* rate from the kernel, such as "100 Gb/sec (4X EDR)" */
	/* ifindex of the port's link; 0: the port has no link, or the kernel does not report it */
	uint32_t ifindex;
	bool is_listed; /* RDMA netlink lists the port; false while the device is being removed */
	/* Defaults of rdma_cm for programs that do not choose: "v1" or "v2"; a traffic class
	 * such as "96". "": the port is not RoCE, or this process lacks the privilege to read
	 * the value. */
	char roce_mode[4], roce_tos[4];
};

/*
 * Data Center Bridging settings of a link, as device_setting.h writes them; "": the driver does not
 * have the setting. Each link with at least one of these settings has one entry.
 */
#define INV_DEVICE_VALUE_MAX 96
#define INV_DCB_DSCP_MAX 896

struct inv_dcb {
	uint32_t ifindex;
	/* the NIC's firmware controls the settings, and the host cannot change them */
	bool firmware;
	/* maximum numbers of classes and of priorities with flow control; 0: not reported */
	uint8_t max_classes, max_pfc;
	char pfc[16], trust[48], ets[INV_DEVICE_VALUE_MAX], dscp[INV_DCB_DSCP_MAX];
};

/*
 * Values that drivers report and accept by devlink. A device is named by its bus and address as in
 * devlink: "pci/0000:3b:00.0".
 */
#define INV_DEVLINK_VALUE_MAX 32 /* the kernel's limit for strings */

struct inv_devlink {
	char device[INV_TEXT_MAX];
	char driver[INV_TEXT_MAX], serial[INV_TEXT_MAX];
	/* "legacy" or "switchdev"; "": the device has no such mode, or this process lacks the
	 * privilege to read it */
	char eswitch[16];
};

struct inv_devlink_version { /* a version of a device or of a part of it, such as "fw.mgmt" */
	char device[INV_TEXT_MAX], name[INV_TEXT_MAX], value[INV_TEXT_MAX];
	char kind[12]; /* "fixed", "running" or "stored" */
};

struct inv_devlink_param {
	char device[INV_TEXT_MAX], name[INV_TEXT_MAX];
	/* "runtime", "driverinit" (takes effect when the driver starts) or "permanent" */
	char mode[12];
	char type[8]; /* "u8", "u16", "u32", "u64", "bool" or "string" */
	char value[INV_DEVLINK_VALUE_MAX];
};

struct inv_devlink_port {
	char device[INV_TEXT_MAX];
	uint32_t index;
	/* "physical" or "virtual"; "pcipf", "pcivf" or "pcisf" for a representor */
	char flavour[12];
	uint32_t ifindex;    /* ifindex of the port's link; 0: the port has no link in this
				namespace */
	uint32_t number;     /* a physical port: the number printed on the NIC */
	uint32_t pf, vf, sf; /* the function for which a representor stands */
};

struct inv_gid { /* an address (GID) of an RDMA port */
	char device[INV_TEXT_MAX];
	uint32_t port, index;
	struct ip_addr gid;
	char type[16];	  /* type from the kernel: "IB/RoCE v1" or "RoCE v2" */
	uint32_t ifindex; /* ifindex of the link from whose address the GID is made; 0: none */
};

struct inv_core {
	unsigned id;
	int numa_node;
	bool online, isolated;
	/* the collecting process may not use the core, because of its cpuset or affinity mask */
	bool barred;
};

struct inv_hugepages {
	uint32_t size_kib;
	/* INV_NUMA_NONE: the whole host, with the pages of all nodes */
	int numa_node;
	uint64_t total, free; /* pages */
};

/* Established TCP connections from one local address. They break when the address is removed. */
struct inv_conns {
	struct ip_addr local;
	uint32_t n;
	uint32_t n_ssh; /* count of these connections that go to the local SSH port */
};

/* A mounted network file system. */
struct inv_mount {
	char path[INV_PATH_MAX]; /* relative to the host's root directory, "/" */
	char type[16];		 /* type of the file system, such as "nfs4" */
	struct ip_addr server;	 /* family 0: the mount's options do not name the server */
};

/* a kernel setting; the key has the form of struct kernel_ops: "net/ipv4/conf/all/rp_filter" */
struct inv_sysctl {
	char *key;
	char *value;
};

struct inventory {
	uint64_t number;
	char host[64], kernel_release[INV_TEXT_MAX];
	struct inv_link *links;
	size_t n_links;
	struct inv_function *functions;
	size_t n_functions;
	struct inv_iommu *iommu;
	size_t n_iommu;
	struct inv_vf *vfs;
	size_t n_vfs;
	struct inv_bond *bonds;
	size_t n_bonds;
	struct inv_bond_port *bond_ports;
	size_t n_bond_ports;
	struct inv_dcb *dcb;
	size_t n_dcb;
	struct inv_devlink *devlinks;
	size_t n_devlinks;
	struct inv_devlink_version *devlink_versions;
	size_t n_devlink_versions;
	struct inv_devlink_param *devlink_params;
	size_t n_devlink_params;
	struct inv_devlink_port *devlink_ports;
	size_t n_devlink_ports;
	struct inv_addr *addrs;
	size_t n_addrs;
	struct inv_route *routes;
	size_t n_routes;
	struct inv_rule *rules;
	size_t n_rules;
	struct inv_rdma *rdma;
	size_t n_rdma;
	struct inv_gid *gids;
	size_t n_gids;
	struct inv_core *cores;
	size_t n_cores;
	struct inv_hugepages *hugepages;
	size_t n_hugepages;
	struct inv_conns *conns;
	size_t n_conns;
	struct inv_mount *mounts;
	size_t n_mounts;
	struct inv_sysctl *sysctls; /* the kernel settings that data legs depend on */
	size_t n_sysctls;
	/* the kernel stores which program added an address (Linux 5.18 or later) */
	bool addr_owner_known;
	/* the kernel has soft-RoCE (rdma_rxe) built in, or as a module that can be loaded */
	bool soft_roce;
};

/* Collects the inventory. Returns 0 and *ret, or negative errno with entries in d. It needs no
 * privilege: parts that it cannot read are warnings in d. */
int inv_collect(struct kernel *k, struct diag *d, struct inventory **ret);
struct inventory *inv_free(struct inventory *inv); /* accepts NULL, returns NULL */
/* Writes the numbers of the online cores into buf, such as "0-3,6". */
void inv_format_online(const struct inventory *inv, char *buf, size_t size);
/* Returns a deep copy with the same number. Errors: -ENOMEM. */
int inv_copy(const struct inventory *inv, struct inventory **ret);
const struct inv_link *inv_link_by_name(const struct inventory *inv, const char *name);
const struct inv_link *inv_link_by_index(const struct inventory *inv, uint32_t ifindex);

/* Links that exist only in a plan have indexes from here on. The kernel's indexes are smaller,
 * because they are positive ints. */
#define INV_IFINDEX_PLANNED 0x80000000U

static inline bool inv_ifindex_is_planned(uint32_t ifindex)
{
	return ifindex >= INV_IFINDEX_PLANNED;
}

static inline bool inv_link_is_planned(const struct inv_link *l)
{
	return inv_ifindex_is_planned(l->ifindex);
}
/* Returns the function with that PCI address, or NULL if the host has no such function. */
const struct inv_function *inv_function_find(const struct inventory *inv, const char *pci);
/* Returns VF number n of a PF, or NULL if it does not exist. */
const struct inv_function *inv_function_vf(const struct inventory *inv, const char *pf, uint32_t n);
/* Finds a function by a reference of kernel.h, such as "0000:3b:00.0" or "0000:3b:00.0/vf3". */
const struct inv_function *inv_function_by_ref(const struct inventory *inv, const char *ref);
/* Returns the i-th other member of a function's IOMMU group, or NULL if there are no more. */
const struct inv_iommu *inv_iommu_other(const struct inventory *inv, const struct inv_function *fn,
					size_t i);
/* Writes all other members of the function's IOMMU group into buf, such as "0000:3b:00.1 (ice),
 * 0000:3b:00.2", truncated to size; "" if there are none. Returns buf. */
const char *inv_iommu_format(const struct inventory *inv, const struct inv_function *fn, char *buf,
			     size_t size);
const struct inv_vf *inv_vf_find(const struct inventory *inv, uint32_t ifindex, uint32_t vf);
/* Return the bond, or the port of a bond, with that ifindex, or NULL if the link is not one. */
const struct inv_bond *inv_bond_find(const struct inventory *inv, uint32_t ifindex);
const struct inv_bond_port *inv_bond_port_find(const struct inventory *inv, uint32_t ifindex);
/* Finds the DCB settings by the link's ifindex. Returns NULL if its driver has no DCB. */
const struct inv_dcb *inv_dcb_find(const struct inventory *inv, uint32_t ifindex);
/* Returns an RDMA port on the link, preferably one that the agent created, or NULL if the link has
 * no RDMA port. */
const struct inv_rdma *inv_rdma_find(const struct inventory *inv, uint32_t ifindex);
/* Find devlink data by the PCI address of the function. Return NULL if its driver has no devlink,
 * or lacks the parameter in that mode. */
const struct inv_devlink *inv_devlink_find(const struct inventory *inv, const char *pci);
const struct inv_devlink_param *inv_devlink_param_find(const struct inventory *inv, const char *pci,
						       const char *name, const char *mode);
/* Finds a link by PCI address, MAC address or interface name, in the form of spec_net.device. */
const struct inv_link *inv_link_find(const struct inventory *inv, const char *device);
/* Returns the recorded value of a sysctl, borrowed, or NULL if the host does not have the
 * sysctl. */
const char *inv_sysctl_value(const struct inventory *inv, const char *key);

/* Return heap strings, which the caller frees, or NULL if out of memory. */
char *inv_to_json(const struct inventory *inv);
char *inv_to_text(const struct inventory *inv);
/* Returns the JSON Schema of the text that inv_to_json() returns. */
char *inv_json_schema(void);
int inv_from_json(const char *text, size_t len, struct diag *d, struct inventory **ret);

#endif
