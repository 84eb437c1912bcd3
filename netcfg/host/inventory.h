/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host's actual state as far as the data network is concerned: an immutable, numbered snapshot.
 * Collected through kernel_ops, printed as text or JSON, read back from JSON (recorded hosts in
 * tests).
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
	INV_LINK_VIRTUAL, /* any other */
	INV_LINK_KIND_MAX
};
const char *inv_link_kind_to_string(enum inv_link_kind k);

#define INV_NUMA_NONE (-1)
#define INV_TEXT_MAX 64
#define INV_PATH_MAX 128
#define INV_SWITCH_ID_MAX 72 /* 32 bytes in hexadecimal */

struct inv_link {
	uint32_t ifindex;
	char name[IFNAMSIZ];
	char altnames[128]; /* further names, each followed by a blank */
	enum inv_link_kind kind;
	char kind_text[16]; /* rtnetlink's IFLA_INFO_KIND, "" for physical */
	char driver[INV_TEXT_MAX];
	char pci[16]; /* "0000:3b:00.0", "" where there is none */
	int numa_node;
	struct mac_addr mac, permanent_mac;
	uint32_t mtu, mtu_min, mtu_max;
	uint32_t speed_mbps; /* 0: unknown */
	bool up, carrier;
	uint32_t master;	 /* ifindex of bridge or bond, 0: none */
	uint32_t lower;		 /* ifindex of the link below (VLAN), 0: none */
	uint16_t vlan;		 /* tag of a VLAN link */
	uint32_t n_vfs, max_vfs; /* SR-IOV */
	char physfn[16];	 /* VF: PCI address of its PF */
	char rdma[INV_TEXT_MAX]; /* RDMA device, "" for none */
	char alias[INV_TEXT_MAX];
	/* udev has finished with the link, or manages no links here: its name will not change.
	 * Until then it must not be brought up, because older kernels rename only links that are
	 * down. */
	bool initialized;
	/* Distinguish the links of one PCI function: its port, the port's name on the NIC, and
	 * its switch (hexadecimal). A name such as "pf0vf3" is a representor's. */
	uint32_t dev_port;
	char port_name[INV_TEXT_MAX], switch_id[INV_SWITCH_ID_MAX];
	uint32_t vrf_table; /* table of a VRF link, 0: not a VRF */
	/* Link of a PCI function, as its driver reports; "" and 0: not reported. */
	char duplex[8];			 /* "full", "half" */
	char fec[8];			 /* in use: "off", "rs", "baser", "llrs" */
	uint32_t channels, max_channels; /* receive queues */
	char firmware[INV_TEXT_MAX];
	char ipoib_mode[12]; /* "datagram", "connected"; "": not IPoIB */
	/* How AF_XDP sockets reach its queues: "zero-copy", "copy"; "none": this kernel has no
	 * such sockets; "": unknown. */
	char af_xdp[12];
};

#define INV_IOMMU_NONE (-1)

/*
 * A PCI network function, with or without a link: one bound to vfio or to no driver appears nowhere
 * else. PCI has no network namespaces, so these are the machine's functions, and some may have
 * their link in another namespace.
 */
struct inv_function {
	char pci[16];
	char driver[INV_TEXT_MAX]; /* "": bound to none */
	char physfn[16];	   /* VF: PCI address of its PF; "": not a VF */
	uint32_t vf;		   /* VF: its index on the PF */
	uint16_t vendor, device;   /* PCI IDs */
	int numa_node;
	int iommu_group; /* INV_IOMMU_NONE: no IOMMU is active */
	uint32_t n_vfs, max_vfs;
	bool autoprobe; /* PF: new VFs get their kernel driver at once */
};

/* A device of an IOMMU group that contains a network function, except bridges, which the kernel
 * keeps. vfio assigns all devices of a group to one process, or none. */
struct inv_iommu {
	int group;
	char pci[16];
	char driver[INV_TEXT_MAX]; /* "": bound to none */
};

/* The settings of one VF, as its PF's link reports them. */
struct inv_vf {
	uint32_t ifindex, vf; /* the PF's link; the VF's index */
	struct mac_addr mac;
	uint16_t vlan; /* tag that the NIC adds and strips; 0: none */
	bool spoof_check, trust;
	uint32_t min_rate_mbps, max_rate_mbps; /* 0: no limit */
};

/* A bond's settings, numbered as in the kernel document networking/bonding, and what the bond
 * knows of its LACP partner. */
#define INV_BOND_ACTIVE_BACKUP 1
#define INV_BOND_LACP 4

struct inv_bond_setting {
	uint8_t mode; /* INV_BOND_LACP, INV_BOND_ACTIVE_BACKUP, or one that the agent never creates
		       */
	uint8_t hash; /* xmit_hash_policy */
	uint8_t rate; /* lacp_rate: 0 slow, 1 fast */
	uint8_t select;	  /* ad_select: how one of several aggregators is selected */
	uint8_t reselect; /* primary_reselect: when the primary becomes active again */
	uint32_t min_links, miimon_ms;
	char primary[IFNAMSIZ]; /* the preferred port; "": none */
};

struct inv_bond {
	uint32_t ifindex; /* the bond's link */
	struct inv_bond_setting setting;
	uint32_t primary;    /* ifindex of setting.primary, 0: none */
	uint32_t active;     /* ifindex of the active port; 0: none, or several */
	uint16_t aggregator; /* LACP: the active aggregator, and how many ports it has */
	uint16_t n_ports;
	struct mac_addr partner; /* LACP: its switch; all zeros: no answer so far */
};

/* Bits of inv_bond_port.actor and .partner: IEEE 802.1AX, Actor_State. */
#define INV_LACP_SYNC 0x08
#define INV_LACP_COLLECTING 0x10
#define INV_LACP_DISTRIBUTING 0x20
#define INV_LACP_DEFAULTED 0x40 /* no partner heard: default parameters are in use */
#define INV_LACP_EXPIRED 0x80	/* a partner was heard earlier and is silent now */

struct inv_bond_port {
	uint32_t ifindex, bond; /* the port's link and its bond's */
	bool active;		/* carries traffic, or would; else it is on standby */
	bool link_up;		/* link state as the bond's own monitoring sees it */
	uint32_t failures;	/* how often the link failed */
	uint16_t aggregator;
	uint8_t actor;
	uint16_t partner;
	/* The switch that this port hears, and the churn state of both ends; only privileged
	 * processes can read them. */
	struct mac_addr partner_mac;
	bool churned;
};

/* The negotiated LACP state of a port and its switch as one number. The kernel announces no
 * changes of it. */
static inline uint32_t inv_bond_port_lacp(const struct inv_bond_port *p)
{
	return p->actor | (uint32_t)(p->partner & 0xff) << 8 | (uint32_t)p->aggregator << 16;
}

struct inv_addr {
	uint32_t ifindex;
	struct ip_prefix ip;
	uint8_t proto; /* IFA_PROTO: PLENUM_RTPROT for the agent's, where inventory.addr_owner_known
			*/
	bool tentative, dad_failed;
	bool optimistic; /* usable while duplicate address detection still runs (RFC 4429) */
	bool secondary;	 /* removed with its subnet's primary unless promote_secondaries is set */
	bool no_prefix_route; /* the kernel created no route to its subnet for it */
	bool broadcast;	      /* IPv4: has its subnet's broadcast address */
	/* The kernel has no route of type local to it, though its link is up: packets to it do not
	 * arrive, and none can be sent from it. */
	bool local_missing;
	bool more; /* has attributes that are not stored here (a lifetime, a peer, a label): never
		      moved */
};

/* rtnetlink(7)'s numbers for tables, protocols and types of routes and rules. */
enum inv_table { INV_TABLE_DEFAULT = 253, INV_TABLE_MAIN = 254, INV_TABLE_LOCAL = 255 };
enum inv_route_type {
	INV_ROUTE_UNICAST = 1,
	INV_ROUTE_LOCAL = 2, /* in answers of route_lookup only */
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
	struct ip_prefix dst;		    /* len 0: default */
	struct ip_addr gateway, src;	    /* family 0: none */
	uint32_t oif;
	bool linkdown;
	bool more; /* has attributes that are not stored here (metrics, several hops): never moved
		    */
};

struct inv_rule {
	uint32_t priority, table;
	uint8_t family, proto;
	struct ip_prefix from; /* family 0: all */
	uint32_t mark;	       /* only packets with this firewall mark; 0: any */
	bool more; /* has selectors or an action that are not stored here: never the agent's */
};

struct inv_rdma { /* a port of an RDMA device */
	char device[INV_TEXT_MAX];
	uint32_t port;
	char kind[8];	  /* "ib", "roce", "iwarp" */
	char state[16];	  /* in the kernel's words: "ACTIVE" */
	char rate[32];	  /* in the kernel's words: "100 Gb/sec (4X EDR)" */
	uint32_t ifindex; /* its link; 0: none, or the kernel does not report it */
	bool is_listed;	  /* RDMA netlink lists it: not one that is being removed */
	/* rdma_cm's defaults for programs that set none: "v1", "v2"; "96". "": not RoCE, or
	 * readable by privileged processes only. */
	char roce_mode[4], roce_tos[4];
};

/*
 * The Data Center Bridging of a link's driver; values as device_setting.h writes them, "" for what
 * the driver lacks. One entry for each link that has any.
 */
#define INV_DEVICE_VALUE_MAX 96
#define INV_DCB_DSCP_MAX 896

struct inv_dcb {
	uint32_t ifindex;
	bool firmware;		      /* the NIC's firmware configures it; the host may not */
	uint8_t max_classes, max_pfc; /* 0: no limit reported */
	char pfc[16], trust[48], ets[INV_DEVICE_VALUE_MAX], dscp[INV_DCB_DSCP_MAX];
};

/*
 * What drivers report and accept by devlink. A device is named as in devlink, bus and address:
 * "pci/0000:3b:00.0".
 */
#define INV_DEVLINK_VALUE_MAX 32 /* the kernel's own limit for strings */

struct inv_devlink {
	char device[INV_TEXT_MAX];
	char driver[INV_TEXT_MAX], serial[INV_TEXT_MAX];
	char eswitch[16]; /* "legacy", "switchdev"; "": none, or readable by privileged processes
			     only */
};

struct inv_devlink_version { /* version of a device or of a part of it: "fw.mgmt" */
	char device[INV_TEXT_MAX], name[INV_TEXT_MAX], value[INV_TEXT_MAX];
	char kind[12]; /* "fixed", "running", "stored" */
};

struct inv_devlink_param {
	char device[INV_TEXT_MAX], name[INV_TEXT_MAX];
	char mode[12]; /* "runtime", "driverinit" (takes effect when the driver starts), "permanent"
			*/
	char type[8];  /* "u8", "u16", "u32", "u64", "bool", "string" */
	char value[INV_DEVLINK_VALUE_MAX];
};

struct inv_devlink_port {
	char device[INV_TEXT_MAX];
	uint32_t index;
	char flavour[12];    /* "physical", "virtual", "pcipf", "pcivf", "pcisf": representors */
	uint32_t ifindex;    /* its link; 0: none in this namespace */
	uint32_t number;     /* a physical port: the number printed on the NIC */
	uint32_t pf, vf, sf; /* a representor: what it represents */
};

struct inv_gid { /* an address of such a port */
	char device[INV_TEXT_MAX];
	uint32_t port, index;
	struct ip_addr gid;
	char type[16];	  /* in the kernel's words: "IB/RoCE v1", "RoCE v2" */
	uint32_t ifindex; /* the link that it derives from; 0: none */
};

struct inv_core {
	unsigned id;
	int numa_node;
	bool online, isolated;
	bool barred; /* outside the cpuset or affinity mask of the process that collected */
};

struct inv_hugepages {
	uint32_t size_kib;
	int numa_node;	      /* INV_NUMA_NONE: the whole host, including the nodes' entries */
	uint64_t total, free; /* pages */
};

/* Established TCP connections from one local address, which are lost with the address. */
struct inv_conns {
	struct ip_addr local;
	uint32_t n;
	uint32_t n_ssh; /* of these, connections to the local SSH port */
};

/* A mounted network file system. */
struct inv_mount {
	char path[INV_PATH_MAX]; /* "/" is the host's root */
	char type[16];		 /* "nfs4" */
	struct ip_addr server;	 /* family 0: the mount's options do not contain it */
};

struct inv_sysctl { /* key as struct kernel_ops takes it: "net/ipv4/conf/all/rp_filter" */
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
	struct inv_sysctl *sysctls; /* settings that data legs depend on */
	size_t n_sysctls;
	bool addr_owner_known; /* the kernel stores the owner of an address: Linux 5.18 or later */
	bool soft_roce;	       /* the kernel has soft-RoCE (rdma_rxe), or a module to load */
};

/* 0 and *ret; negative errno with entries in d. Needs no privilege; unreadable parts are
 * warnings in d. */
int inv_collect(struct kernel *k, struct diag *d, struct inventory **ret);
struct inventory *inv_free(struct inventory *inv); /* accepts NULL, returns NULL */
/* A deep copy with the same number. 0, -ENOMEM. */
int inv_copy(const struct inventory *inv, struct inventory **ret);
const struct inv_link *inv_link_by_name(const struct inventory *inv, const char *name);
const struct inv_link *inv_link_by_index(const struct inventory *inv, uint32_t ifindex);

/* First index of links that exist only in a plan; the kernel's indexes are positive ints. */
#define INV_IFINDEX_PLANNED 0x80000000U

static inline bool inv_ifindex_is_planned(uint32_t ifindex)
{
	return ifindex >= INV_IFINDEX_PLANNED;
}

static inline bool inv_link_is_planned(const struct inv_link *l)
{
	return inv_ifindex_is_planned(l->ifindex);
}
/* NULL: there is none. */
const struct inv_function *inv_function_find(const struct inventory *inv, const char *pci);
/* The n-th VF of a PF. NULL: it does not exist. */
const struct inv_function *inv_function_vf(const struct inventory *inv, const char *pf, uint32_t n);
/* By a reference of kernel.h: "0000:3b:00.0", "0000:3b:00.0/vf3". */
const struct inv_function *inv_function_by_ref(const struct inventory *inv, const char *ref);
/* The i-th other member of a function's IOMMU group. NULL: no more. */
const struct inv_iommu *inv_iommu_other(const struct inventory *inv, const struct inv_function *fn,
					size_t i);
/* "0000:3b:00.1 (ice), 0000:3b:00.2": all of them, truncated at size; "": none. Returns buf. */
const char *inv_iommu_format(const struct inventory *inv, const struct inv_function *fn, char *buf,
			     size_t size);
const struct inv_vf *inv_vf_find(const struct inventory *inv, uint32_t ifindex, uint32_t vf);
/* The bond, or port of a bond, with that ifindex. NULL: not one. */
const struct inv_bond *inv_bond_find(const struct inventory *inv, uint32_t ifindex);
const struct inv_bond_port *inv_bond_port_find(const struct inventory *inv, uint32_t ifindex);
/* By the link's ifindex. NULL: its driver has no DCB. */
const struct inv_dcb *inv_dcb_find(const struct inventory *inv, uint32_t ifindex);
/* The RDMA port on the link: one that the agent created, else any. NULL: none. */
const struct inv_rdma *inv_rdma_find(const struct inventory *inv, uint32_t ifindex);
/* By the PCI address of the function. NULL: its driver has no devlink, or lacks the parameter in
 * that mode. */
const struct inv_devlink *inv_devlink_find(const struct inventory *inv, const char *pci);
const struct inv_devlink_param *inv_devlink_param_find(const struct inventory *inv, const char *pci,
						       const char *name, const char *mode);
/* By PCI address, MAC or interface name, as spec_net.device is written. */
const struct inv_link *inv_link_find(const struct inventory *inv, const char *device);
/* The recorded value of a sysctl, borrowed; NULL: not recorded (the host does not have it). */
const char *inv_sysctl_value(const struct inventory *inv, const char *key);

/* Heap strings; the caller frees. NULL: out of memory. */
char *inv_to_json(const struct inventory *inv);
char *inv_to_text(const struct inventory *inv);
int inv_from_json(const char *text, size_t len, struct diag *d, struct inventory **ret);

#endif
