/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is there: an immutable, numbered snapshot of the host as far as the data network is
 * concerned. Collected through kernel_ops, printed as text or JSON, read back from JSON (recorded
 * hosts in tests).
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
	/* udev is done with it, or serves no links here: its name stays. Until then it must not be
	 * brought up, because older kernels rename only links that are down. */
	bool initialized;
	/* What tells the links of one PCI function apart: its port, the port's name on the NIC, and
	 * the switch it belongs to (hexadecimal). A name as "pf0vf3" is a representor's. */
	uint32_t dev_port;
	char port_name[INV_TEXT_MAX], switch_id[INV_SWITCH_ID_MAX];
	uint32_t vrf_table; /* of a VRF link, 0: it is none */
	/* Of a PCI function's link, as its driver tells; "" and 0: it does not. */
	char duplex[8];			 /* "full", "half" */
	char fec[8];			 /* in use: "off", "rs", "baser", "llrs" */
	uint32_t channels, max_channels; /* receive queues */
	char firmware[INV_TEXT_MAX];
	char ipoib_mode[12]; /* "datagram", "connected"; "": it is not IPoIB */
	/* How its queues reach AF_XDP sockets: "zero-copy", "copy"; "none": this kernel has no such
	 * sockets; "": nobody says. */
	char af_xdp[12];
};

#define INV_IOMMU_NONE (-1)

/*
 * A network function on PCI, with a link or without: one that vfio has, or that no driver has, is
 * to be seen nowhere else. PCI knows no network namespaces, so these are the machine's, and some
 * may have their link elsewhere.
 */
struct inv_function {
	char pci[16];
	char driver[INV_TEXT_MAX]; /* "": bound to none */
	char physfn[16];	   /* VF: PCI address of its PF; "": not a VF */
	uint32_t vf;		   /* VF: its number on the PF */
	uint16_t vendor, device;   /* PCI IDs */
	int numa_node;
	int iommu_group; /* INV_IOMMU_NONE: no IOMMU is in use */
	uint32_t n_vfs, max_vfs;
	bool autoprobe; /* PF: its VFs are given to their kernel driver as they are made */
};

/* A device of an IOMMU group that has a network function; bridges, which the kernel keeps to
 * itself, do not count. Who has one of them by vfio has them all, or none of them. */
struct inv_iommu {
	int group;
	char pci[16];
	char driver[INV_TEXT_MAX]; /* "": bound to none */
};

/* What a PF's link says of one of its VFs. */
struct inv_vf {
	uint32_t ifindex, vf; /* of the PF's link; the VF's number */
	struct mac_addr mac;
	uint16_t vlan; /* tag that the NIC adds and takes off; 0: none */
	bool spoof_check, trust;
	uint32_t min_rate_mbps, max_rate_mbps; /* 0: no limit */
};

/* A bond's settings in the numbers of the kernel document networking/bonding, and what it knows of
 * its partner. */
#define INV_BOND_ACTIVE_BACKUP 1
#define INV_BOND_LACP 4

struct inv_bond_setting {
	uint8_t mode;	  /* INV_BOND_LACP, INV_BOND_ACTIVE_BACKUP, or one that we never make */
	uint8_t hash;	  /* xmit_hash_policy */
	uint8_t rate;	  /* lacp_rate: 0 slow, 1 fast */
	uint8_t select;	  /* ad_select: how one of several aggregators is chosen */
	uint8_t reselect; /* primary_reselect: when the primary is taken back */
	uint32_t min_links, miimon_ms;
	char primary[IFNAMSIZ]; /* the port that is preferred; "": none */
};

struct inv_bond {
	uint32_t ifindex; /* of the bond's link */
	struct inv_bond_setting setting;
	uint32_t primary;    /* ifindex of setting.primary, 0: none */
	uint32_t active;     /* ifindex of the port that carries; 0: none, or several do */
	uint16_t aggregator; /* LACP: the one that carries, and how many ports it has */
	uint16_t n_ports;
	struct mac_addr partner; /* LACP: its switch; all zeros: none has answered */
};

/* Bits of inv_bond_port.actor and .partner: IEEE 802.1AX, Actor_State. */
#define INV_LACP_SYNC 0x08
#define INV_LACP_COLLECTING 0x10
#define INV_LACP_DISTRIBUTING 0x20
#define INV_LACP_DEFAULTED 0x40 /* no partner is heard: its part is assumed */
#define INV_LACP_EXPIRED 0x80	/* one was heard, and is silent now */

struct inv_bond_port {
	uint32_t ifindex, bond; /* of the port's link and of its bond's */
	bool active;		/* it carries, or would; else it stands by */
	bool link_up;		/* what the bond's own look at the carrier says */
	uint32_t failures;	/* how often that has gone */
	uint16_t aggregator;
	uint8_t actor;
	uint16_t partner;
	/* The switch that this port hears and whether the two do not come to terms; known to the
	 * privileged only. */
	struct mac_addr partner_mac;
	bool churned;
};

/* What the port and its switch have come to, as one number: of its changes nobody is told. */
static inline uint32_t inv_bond_port_lacp(const struct inv_bond_port *p)
{
	return p->actor | (uint32_t)(p->partner & 0xff) << 8 | (uint32_t)p->aggregator << 16;
}

struct inv_addr {
	uint32_t ifindex;
	struct ip_prefix ip;
	uint8_t proto; /* IFA_PROTO: ours is PLENUM_RTPROT where inventory.addr_owner_known */
	bool tentative, dad_failed;
	bool optimistic;      /* usable while duplicate detection still runs (RFC 4429) */
	bool secondary;	      /* goes with its subnet's primary unless promote_secondaries is set */
	bool no_prefix_route; /* the kernel made no route to its subnet for it */
	bool broadcast;	      /* IPv4: has its subnet's broadcast address */
	bool more; /* has what is not shown here (a lease's end, a peer, a label): never moved */
};

/* The numbers of rtnetlink(7) for what routes and rules say. */
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
	bool more; /* has what is not shown here (metrics, several hops): never moved */
};

struct inv_rule {
	uint32_t priority, table;
	uint8_t family, proto;
	struct ip_prefix from; /* family 0: all */
	bool more;	       /* has selectors or an action that are not shown here: never ours */
};

struct inv_rdma { /* a port of an RDMA device */
	char device[INV_TEXT_MAX];
	uint32_t port;
	char kind[8];	  /* "ib", "roce", "iwarp" */
	char state[16];	  /* the kernel's word: "ACTIVE" */
	char rate[32];	  /* and for the rate: "100 Gb/sec (4X EDR)" */
	uint32_t ifindex; /* of the link that it is on; 0: none, or the kernel does not tell */
	bool is_listed;	  /* by netlink: not one that is being removed */
	/* What rdma_cm takes where a program does not say: "v1", "v2"; "96". "": it is no RoCE, or
	 * known to the privileged only. */
	char roce_mode[4], roce_tos[4];
};

/*
 * What a link's driver does of Data Center Bridging; values as device_setting.h writes them, "" for
 * what the driver does not have. There is one of each link that has some.
 */
#define INV_DEVICE_VALUE_MAX 96
#define INV_DCB_DSCP_MAX 896

struct inv_dcb {
	uint32_t ifindex;
	bool firmware;		      /* the NIC's own firmware says it, the host may not */
	uint8_t max_classes, max_pfc; /* 0: as many as there are */
	char pfc[16], trust[48], ets[INV_DEVICE_VALUE_MAX], dscp[INV_DCB_DSCP_MAX];
};

/*
 * What drivers tell and take by devlink. A device is named as devlink names it, bus and address:
 * "pci/0000:3b:00.0".
 */
#define INV_DEVLINK_VALUE_MAX 32 /* the kernel's own limit of a text */

struct inv_devlink {
	char device[INV_TEXT_MAX];
	char driver[INV_TEXT_MAX], serial[INV_TEXT_MAX];
	char eswitch[16]; /* "legacy", "switchdev"; "": none, or known to the privileged only */
};

struct inv_devlink_version { /* of a device, or of a part of it: "fw.mgmt" */
	char device[INV_TEXT_MAX], name[INV_TEXT_MAX], value[INV_TEXT_MAX];
	char kind[12]; /* "fixed", "running", "stored" */
};

struct inv_devlink_param {
	char device[INV_TEXT_MAX], name[INV_TEXT_MAX];
	char mode[12]; /* "runtime", "driverinit" (as of the driver's next start), "permanent" */
	char type[8];  /* "u8", "u16", "u32", "u64", "bool", "string" */
	char value[INV_DEVLINK_VALUE_MAX];
};

struct inv_devlink_port {
	char device[INV_TEXT_MAX];
	uint32_t index;
	char flavour[12];    /* "physical", "virtual", "pcipf", "pcivf", "pcisf": representors */
	uint32_t ifindex;    /* of its link; 0: it has none here */
	uint32_t number;     /* a physical one: as it is written on the NIC */
	uint32_t pf, vf, sf; /* a representor: of whom */
};

struct inv_gid { /* an address that such a port has */
	char device[INV_TEXT_MAX];
	uint32_t port, index;
	struct ip_addr gid;
	char type[16];	  /* the kernel's: "IB/RoCE v1", "RoCE v2" */
	uint32_t ifindex; /* of the link that it is from; 0: of none */
};

struct inv_core {
	unsigned id;
	int numa_node;
	bool online, isolated;
	bool barred; /* who looked may not use it, by its cpuset or affinity */
};

struct inv_hugepages {
	uint32_t size_kib;
	int numa_node; /* INV_NUMA_NONE: the whole host, of which the nodes' entries are parts */
	uint64_t total, free; /* pages */
};

/* Established TCP connections that one local address carries: with the address they are lost. */
struct inv_conns {
	struct ip_addr local;
	uint32_t n;
	uint32_t n_ssh; /* of them those on the local port of ssh */
};

/* A mounted file system whose data come over the network. */
struct inv_mount {
	char path[INV_PATH_MAX]; /* "/" is the host's root */
	char type[16];		 /* "nfs4" */
	struct ip_addr server;	 /* family 0: not to be read from the mount's options */
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
	struct inv_sysctl *sysctls; /* those that a data leg depends on */
	size_t n_sysctls;
	bool addr_owner_known; /* the kernel stores who added an address: Linux 5.18 or later */
	bool soft_roce;	       /* the kernel has soft-RoCE (rdma_rxe), or a module to load */
};

/* 0 and *ret; negative errno with entries in d. Needs no privilege; what could not be read is a
 * warning in d. */
int inv_collect(struct kernel *k, struct diag *d, struct inventory **ret);
struct inventory *inv_free(struct inventory *inv); /* accepts NULL, returns NULL */
/* A deep copy with the same number. 0, -ENOMEM. */
int inv_copy(const struct inventory *inv, struct inventory **ret);
const struct inv_link *inv_link_by_name(const struct inventory *inv, const char *name);
const struct inv_link *inv_link_by_index(const struct inventory *inv, uint32_t ifindex);
/* NULL: there is none. */
const struct inv_function *inv_function_find(const struct inventory *inv, const char *pci);
/* The n-th VF of a PF. NULL: it has not been made. */
const struct inv_function *inv_function_vf(const struct inventory *inv, const char *pf, uint32_t n);
/* By a reference of kernel.h: "0000:3b:00.0", "0000:3b:00.0/vf3". */
const struct inv_function *inv_function_by_ref(const struct inventory *inv, const char *ref);
/* The i-th other member of a function's IOMMU group. NULL: there are no more. */
const struct inv_iommu *inv_iommu_other(const struct inventory *inv, const struct inv_function *fn,
					size_t i);
/* "0000:3b:00.1 (ice), 0000:3b:00.2": all of them, cut at size; "": there are none. Returns buf. */
const char *inv_iommu_format(const struct inventory *inv, const struct inv_function *fn, char *buf,
			     size_t size);
const struct inv_vf *inv_vf_find(const struct inventory *inv, uint32_t ifindex, uint32_t vf);
/* Of the link of that number: as a bond, as a port of one. NULL: it is none. */
const struct inv_bond *inv_bond_find(const struct inventory *inv, uint32_t ifindex);
const struct inv_bond_port *inv_bond_port_find(const struct inventory *inv, uint32_t ifindex);
/* Of the link of that number. NULL: its driver has none. */
const struct inv_dcb *inv_dcb_find(const struct inventory *inv, uint32_t ifindex);
/* The RDMA port on the link: one of ours, else any. NULL: there is none. */
const struct inv_rdma *inv_rdma_find(const struct inventory *inv, uint32_t ifindex);
/* Of the PCI function of that address. NULL: its driver does not speak devlink, or has no such
 * parameter in that mode. */
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
