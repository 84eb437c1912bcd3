/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schema table, which lists all keys of plenum.yaml in one place. It is constant data;
 * spec_value.c has the functions for the types.
 */
#include "netcfg/spec/spec_schema.h"
#include "netcfg/spec/spec_table.h"

#include <stdio.h>
#include <string.h>

#define HA_NAME(member, text, bonds, help) text,
#define HA_BONDS(member, text, bonds, help) bonds,
#define HA_HELP(member, text, bonds, help) "\n" text ": " help
static const char *const ha_names[] = {SPEC_HA_MODES(HA_NAME)};
static const bool ha_bonds[] = {SPEC_HA_MODES(HA_BONDS)};
#define NAME(member, text) text,
static const char *const role_names[] = {SPEC_ROLES(NAME)};
static const char *const transport_names[] = {"auto", SPEC_TRANSPORTS(NAME)};
static const char *const qdisc_names[] = {"", SPEC_QDISCS(NAME)};
#undef NAME
static const char *const fallback_names[] = {
	[SPEC_FALLBACK_DEGRADE] = "degrade", [SPEC_FALLBACK_REFUSE] = "refuse"};
static const char *const locks_names[] = {
	[SPEC_LOCKS_LOCAL] = "local", [SPEC_LOCKS_NONE] = "none", [SPEC_LOCKS_CLUSTER] = "cluster"};
static const char *const cluster_config_names[] = {"off", "follow"};
static const char *const identity_names[] = {"off", "accept", "require"};
static const char *const security_names[] = {[SPEC_SECURITY_AUTH] = "auth",
					     [SPEC_SECURITY_ENCRYPT] = "encrypt",
					     [SPEC_SECURITY_NONE] = "none"};
static const char *const access_names[] = {[SPEC_ACCESS_RW] = "rw", [SPEC_ACCESS_RO] = "ro"};
static const char *const squash_names[] = {
	[SPEC_SQUASH_NONE] = "none", [SPEC_SQUASH_ROOT] = "root", [SPEC_SQUASH_ALL] = "all"};
static const char *const submounts_names[] = {
	[SPEC_SUBMOUNTS_HIDE] = "hide", [SPEC_SUBMOUNTS_CROSS] = "cross"};
static const char *const hash_names[] = {
	[SPEC_HASH_LAYER34] = "layer3+4", [SPEC_HASH_LAYER23] = "layer2+3",
	[SPEC_HASH_LAYER2] = "layer2",	  [SPEC_HASH_ENCAP34] = "encap3+4",
	[SPEC_HASH_ENCAP23] = "encap2+3",
};
static const char *const lacp_rate_names[] = {[SPEC_LACP_FAST] = "fast", [SPEC_LACP_SLOW] = "slow"};
static const char *const select_names[] = {[SPEC_SELECT_STABLE] = "stable",
					   [SPEC_SELECT_BANDWIDTH] = "bandwidth",
					   [SPEC_SELECT_COUNT] = "count"};
static const char *const reselect_names[] = {[SPEC_RESELECT_ALWAYS] = "always",
					     [SPEC_RESELECT_BETTER] = "better",
					     [SPEC_RESELECT_FAILURE] = "failure"};
static const char *const trust_names[] = {
	[SPEC_TRUST_AS_FOUND] = "",
	[SPEC_TRUST_PCP] = "pcp",
	[SPEC_TRUST_DSCP] = "dscp",
};
static const char *const ipoib_names[] = {
	[SPEC_IPOIB_AS_FOUND] = "",
	[SPEC_IPOIB_DATAGRAM] = "datagram",
	[SPEC_IPOIB_CONNECTED] = "connected",
};
static const char *const roce_names[] = {
	[SPEC_ROCE_AS_FOUND] = "",
	[SPEC_ROCE_V2] = "v2",
};
static const char *const switch_names[] = {
	[SPEC_AUTO] = "",
	[SPEC_OFF] = "off",
	[SPEC_ON] = "on",
};
static const char *const kernel_port_names[] = {
	[SPEC_KERNEL_PORT_AUTO] = "auto",
	[SPEC_KERNEL_PORT_AF_PACKET] = "af-packet",
	[SPEC_KERNEL_PORT_AF_XDP] = "af-xdp",
};
static const char *const rdma_names[] = {
	[SPEC_RDMA_AUTO] = "auto",
	[SPEC_RDMA_OFF] = "off",
	[SPEC_RDMA_ON] = "on",
	[SPEC_RDMA_ONLY] = "only",
};
_Static_assert(ARRAY_SIZE(switch_names) == SPEC_TRISTATE_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(ha_names) == SPEC_HA_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(role_names) == SPEC_ROLE_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(transport_names) == SPEC_TRANSPORT_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(fallback_names) == SPEC_FALLBACK_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(locks_names) == SPEC_LOCKS_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(security_names) == SPEC_SECURITY_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(access_names) == SPEC_ACCESS_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(squash_names) == SPEC_SQUASH_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(submounts_names) == SPEC_SUBMOUNTS_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(hash_names) == SPEC_HASH_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(lacp_rate_names) == SPEC_LACP_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(select_names) == SPEC_SELECT_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(reselect_names) == SPEC_RESELECT_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(trust_names) == SPEC_TRUST_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(ipoib_names) == SPEC_IPOIB_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(roce_names) == SPEC_ROCE_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(kernel_port_names) == SPEC_KERNEL_PORT_MAX, "one name per value");
_Static_assert(ARRAY_SIZE(rdma_names) == SPEC_RDMA_MAX, "one name per value");
/* The reader stores enums through a pointer to int. */
_Static_assert(sizeof(enum spec_ha) == sizeof(int), "enums are ints");

static const char *name_of(const char *const *names, size_t n, unsigned v)
{
	return v < n ? names[v] : "?";
}

/* Defines spec_TYPE_to_string(). */
#define TO_STRING(type, names)                                  \
	const char *spec_##type##_to_string(enum spec_##type v) \
	{                                                       \
		return name_of(names, ARRAY_SIZE(names), v);    \
	}
TO_STRING(ha, ha_names)
TO_STRING(role, role_names)
TO_STRING(transport, transport_names)
TO_STRING(hash, hash_names)
TO_STRING(lacp_rate, lacp_rate_names)
TO_STRING(select, select_names)
TO_STRING(reselect, reselect_names)
TO_STRING(security, security_names)
TO_STRING(ipoib, ipoib_names)
TO_STRING(qdisc, qdisc_names)
TO_STRING(roce, roce_names)
TO_STRING(squash, squash_names)

bool spec_ha_bonds(enum spec_ha v)
{
	return v < SPEC_HA_MAX && ha_bonds[v];
}

char *spec_ha_bond_names(char buf[static SPEC_HA_NAMES_MAX])
{
	enum spec_ha last = SPEC_HA_MAX - 1;
	size_t len = 0;

	while (last > 0 && !ha_bonds[last])
		last--;
	for (enum spec_ha v = 0; v <= last; v++) {
		if (!ha_bonds[v])
			continue;
		len += (size_t)snprintf(buf + len, SPEC_HA_NAMES_MAX - len, "%s%s",
					!len	    ? ""
					: v == last ? " or "
						    : ", ",
					ha_names[v]);
	}
	return buf;
}

/* Some keys are implemented only for some values: these functions return whether a value is
 * implemented. For invalid words they return true, because the type rejects these with a list of
 * the valid words. */
static bool role_is_built(const char *text)
{
	return strcmp(text, "drives") != 0;
}

/* clang-format off */
static const struct spec_key management_keys[] = {
	{"interface", SPEC_TYPE_INTERFACE, FIELD(spec, management_interface),
	 .help = "The interface for management traffic. Plenum never changes it.\n"
		 "If the host has no such interface, the legs are configured all the same.",
	 .example = "eth0"},
};
static const struct spec_table management_table = {TABLE(management_keys)};

static const struct spec_key network_keys[] = {
	{"name", SPEC_TYPE_NAME, .required = true, FIELD(spec_network, name),
	 .help = "The name by which entries of 'net' refer to this network; unique.",
	 .example = "data-a"},
	{"range", SPEC_TYPE_RANGE, FIELD(spec_network, range), .fallback_doc = "of the pool",
	 .help = "The addresses that legs may use, first to last, and the prefix length of their subnet. Ranges of"
		 " different networks do not overlap. A network has either a range or a pool.",
	 .example = "10.10.1.10-10.10.1.200/16"},
	{"pool", SPEC_TYPE_NAME, FIELD(spec_network, pool),
	 .help = "The pool in cluster.etcd, made by 'plenum pool add', from which this host takes an address for each worker"
		 " core, and the gateway, MTU and VLAN that are not set here. It keeps them while etcd is away.",
	 .example = "data-a"},
	{"gateway", SPEC_TYPE_IP, FIELD(spec_network, gateway),
	 .help = "The router to other subnets: an address inside the subnet and outside the range, or an IPv6"
		 " link-local address.",
	 .example = "10.10.0.1"},
	{"mtu", SPEC_TYPE_U32, .min = SPEC_MTU_MIN, .max = 65535, FIELD(spec_network, mtu),
	 .why = "workers need the minimum MTU of IPv6",
	 .fallback_doc = "unchanged",
	 .help = "The MTU of the network's devices in bytes.",
	 .example = "9000"},
	{"vlan", SPEC_TYPE_U16, .min = 1, .max = 4094, FIELD(spec_network, vlan),
	 .fallback_doc = "untagged",
	 .help = "The network's 802.1Q tag.\n"
		 "Plenum creates a VLAN interface with the data IPs on each of the network's devices; for VFs the NIC adds and"
		 " strips the tag.\n"
		 "Plenum brings the device itself up, and raises its MTU if the network's MTU is larger. A device that needs"
		 " neither change may be the management interface.\n"
		 "To use an existing VLAN interface, name it as the device.",
	 .example = "100"},
};
static const struct spec_table network_table = {TABLE(network_keys), PLACE(spec_network)};

static const struct spec_key ets_keys[] = {
	{"tc", SPEC_TYPE_U32, .required = true, .max = SPEC_PRIOS - 1, FIELD(spec_ets, tc),
	 .help = "The number of the class; unique.",
	 .example = "3"},
	{"prios", SPEC_TYPE_PRIOS, .required = true, .max = SPEC_PRIOS,
	 LIST(spec_ets, prios, n_prios),
	 .help = "The priorities in this class. Each priority from 0 to 7 is in exactly one class.",
	 .example = "[3]"},
	{"bandwidth", SPEC_TYPE_U32, .min = 1, .max = 100, FIELD(spec_ets, bandwidth),
	 .fallback_doc = "strict: sent before all classes with a share",
	 .help = "The class's share of the link in percent while other classes also send. The shares of all classes"
		 " add up to 100.",
	 .example = "50"},
};
static const struct spec_table ets_table = {TABLE(ets_keys), PLACE(spec_ets)};

static const struct spec_key dscp_keys[] = {
	{"dscp", SPEC_TYPE_U32, .required = true, .max = SPEC_DSCPS - 1, FIELD(spec_dscp, dscp),
	 .help = "The code point; unique.",
	 .example = "24"},
	{"prio", SPEC_TYPE_U32, .required = true, .max = SPEC_PRIOS - 1, FIELD(spec_dscp, prio),
	 .help = "The priority of packets with this code point.", .example = "3"},
};
static const struct spec_table dscp_table = {TABLE(dscp_keys), PLACE(spec_dscp)};

static const struct spec_key dcb_keys[] = {
	{"pfc", SPEC_TYPE_PRIOS, .max = SPEC_PRIOS, LIST(spec_dcb, pfc, n_pfc),
	 .fallback_doc = "unchanged",
	 .help = "The priorities with flow control (PFC, 802.1Qbb); all other priorities have none.", .example = "[3]"},
	{"trust", SPEC_TYPE_ENUM, NAMES(trust_names), FIELD(spec_dcb, trust),
	 .fallback_doc = "unchanged",
	 .help = "Which field of a packet determines its priority: the VLAN tag (pcp) or the DSCP of the IP header.\n"
		 "Many drivers have no setting for this and trust the DSCP whenever 'dscp' has entries; if this contradicts the"
		 " value here, the leg is degraded.",
	 .example = "dscp"},
	{"dscp", SPEC_TYPE_MAPS, .table = &dscp_table, .max = SPEC_DSCPS,
	 LIST(spec_dcb, dscp, n_dscp),
	 .fallback_doc = "unchanged",
	 .help = "Maps DSCP values to priorities. DSCP values that are not listed keep their priority.",
	 .example = "[{dscp: 24, prio: 3}, {dscp: 48, prio: 6}]"},
	{"ets", SPEC_TYPE_MAPS, .table = &ets_table, .max = SPEC_PRIOS,
	 LIST(spec_dcb, ets, n_ets),
	 .fallback_doc = "unchanged",
	 .help = "All traffic classes (ETS, 802.1Qaz).",
	 .example = "[{tc: 0, prios: [0, 1, 2, 4, 5, 6, 7], bandwidth: 50},"
		    " {tc: 3, prios: [3], bandwidth: 50}]"},
};
static const struct spec_table dcb_table = {TABLE(dcb_keys), PLACE(spec_dcb)};

static const struct spec_key net_keys[] = {
	{"name", SPEC_TYPE_NAME, .required = true, FIELD(spec_net, name),
	 .help = "The name of the leg; unique.",
	 .example = "leg-a"},
	{"device", SPEC_TYPE_DEVICE, FIELD(spec_net, device), .fallback_doc = "selected by 'match'",
	 .help = "The device: a PCI address, a MAC address (both in quotes) or an interface name, also an alternative name.\n"
		 "A missing device is configured when it appears. A PCI address of several interfaces identifies no device.",
	 .example = "\"0000:3b:00.0\""},
	{"match", SPEC_TYPE_MAP, .table = &spec_match_table, FIELD(spec_net, match),
	 .help = "Selects the device by its properties, in place of 'device', so that many hosts can have the same file. Exactly"
		 " one device of the host has all of them. Patterns have '*', '?' and [...] as in a shell.\n"
		 "Requires management.interface. Selects only NICs (no VFs; of virtual interfaces only veth), never the management"
		 " interface, a device with a default route or (without 'subnet') an address of another program, a port of a bridge"
		 " or another bond, or a device that another leg names. If several match, the leg is refused.\n"
		 "A leg keeps its device, also after a reboot. If that is missing, 'plenum apply' selects another that matches.",
	 .example = "{driver: mlx5_core, numa: 0}"},
	{"network", SPEC_TYPE_NAME, FIELD(spec_net, network),
	 .fallback_doc = "none; required without shared-ip",
	 .help = "The network that the device is connected to: the name of an entry of 'networks'.",
	 .example = "data-a"},
	{"label", SPEC_TYPE_NAME, FIELD(spec_net, label),
	 .fallback_doc = "the name of the leg",
	 .help = "The switch behind the device. Traffic between hosts prefers legs with the same label.\n"
		 "auto: the switch's name from LLDP; unknown until the switch sends it.",
	 .example = "switch-a"},
	{"vfs", SPEC_TYPE_VFS, .fallback = "auto", .min = 0, .max = 256, FIELD(spec_net, vfs),
	 .help = "The number of SR-IOV virtual functions. auto: one for each worker with transport dpdk; one for each with"
		 " dpdk-interrupt if the VFs have receive interrupts; and one for each worker with transport auto that an apply"
		 " has moved to VFs; but at most as many as the device offers. 0: none.",
	 .example = "auto"},
	{"vf-spoof-check", SPEC_TYPE_ENUM, NAMES(switch_names), FIELD(spec_net, vf_spoof_check),
	 .fallback_doc = "the driver's default",
	 .help = "Whether the NIC drops frames that a VF sends from a MAC address other than its own.",
	 .example = "on"},
	{"vf-trust", SPEC_TYPE_ENUM, NAMES(switch_names), FIELD(spec_net, vf_trust),
	 .fallback_doc = "the driver's default",
	 .help = "Whether VFs are trusted, for example to change their MAC address or to receive frames for other"
		 " addresses.",
	 .example = "off"},
	{"vf-rate", SPEC_TYPE_U32, .min = 1, .max = 1000000, FIELD(spec_net, vf_rate_mbps),
	 .fallback_doc = "no limit",
	 .help = "The maximum sending rate of each VF in Mbit/s.",
	 .example = "10000"},
	{"kernel-port", SPEC_TYPE_ENUM, .fallback = "auto", NAMES(kernel_port_names),
	 FIELD(spec_net, kernel_port),
	 .help = "How workers with transport dpdk or dpdk-interrupt share the interface with the kernel where they have no VF."
		 " af-packet: the kernel receives every packet, and workers receive copies. af-xdp: an XDP program on the"
		 " interface passes the datagrams for the first worker's address and port to that worker, bypassing the"
		 " kernel's stack, and everything else to the kernel; the program is removed when the worker ends, however it"
		 " ends. auto currently means af-packet.\n"
		 "AF_XDP needs a device or a VLAN on a device (no bond or bridge), an MTU of at most 3498, at most 16 receive"
		 " queues, one worker per interface, no other XDP program on it, and an ha.mode other than active-backup.\n"
		 "Where AF_XDP is unavailable, the worker uses AF_PACKET and reports why.",
	 .example = "af-xdp"},
	{"rdma", SPEC_TYPE_ENUM, .fallback = "auto", NAMES(rdma_names), FIELD(spec_net, rdma),
	 .help = "Whether bulk data use RDMA on this device. auto: bulk data use RDMA where both hosts have RDMA and the"
		 " session is not encrypted, and packets otherwise. on: as auto, but a worker that sends bulk data as packets"
		 " on this leg is degraded, with the reason. only: while no leg of the worker has RDMA to the server, bulk"
		 " reads and writes of this host's mounts wait, rather than use packets; on has the same effect if"
		 " policy.on-fallback is refuse.\n"
		 "For each mount the setting on the client's host counts, not the setting on the server's.\n"
		 "plenum processes -j shows for each leg whether RDMA is in use, or the reason.\n"
		 "RDMA data are not authenticated, even in an authenticated session: write rdma: off where the network is not"
		 " trusted.",
	 .example = "auto"},
	{"soft-roce", SPEC_TYPE_BOOL, .fallback = "false", FIELD(spec_net, soft_roce),
	 .help = "Whether a device without RDMA hardware gets RDMA in software (rdma_rxe): an RDMA device"
		 " plenum_INTERFACE, whose GIDs are the addresses of the interface and its VLANs.\n"
		 "If the kernel lacks rdma_rxe, the leg works without RDMA and is degraded.",
	 .example = "true"},
	{"udp-sources", SPEC_TYPE_U32, .fallback = "1", .min = 1, .max = 8,
	 FIELD(spec_net, udp_sources),
	 .help = "The number of UDP source ports that a worker with transport udp uses on this device.\n"
		 "NICs and switches choose queues and links by addresses and ports: with 1, a session uses only one queue"
		 " and one link; with more, it uses up to that many of each.\n"
		 "4 is a good value where a NIC has several receive queues (it must also hash UDP by ports: ethtool -N"
		 " DEVICE rx-flow-hash udp4 sdfn) or the fabric has several links.\n"
		 "Messages of more than 16 KiB use the ports in turn; all other messages, and all incoming ones, use"
		 " the port of 'port'.\n"
		 "The kernel chooses the additional ports.\n"
		 "If packets from a port do not reach a peer, the worker does not use that port for the peer, and says so.",
	 .example = "4"},
	{"dcb", SPEC_TYPE_MAP, .table = &dcb_table, FIELD(spec_net, dcb),
	 .fallback_doc = "unchanged",
	 .help = "The device's priorities and traffic classes (Data Center Bridging). RoCE needs the same settings on every"
		 " hop, including the switch.\n"
		 "The settings of a leg on a VLAN or with VFs apply to the underlying device; the settings of a bond apply to"
		 " each of its ports.\n"
		 "If the driver lacks these features, the leg works without them and is degraded.",
	 .example = "{pfc: [3], trust: dscp, dscp: [{dscp: 24, prio: 3}]}"},
	{"ipoib-mode", SPEC_TYPE_ENUM, NAMES(ipoib_names), FIELD(spec_net, ipoib_mode),
	 .fallback_doc = "unchanged",
	 .help = "The mode of an IPoIB interface: datagram allows an MTU of at most 2044, or 4092 where the subnet's MTU is"
		 " 4096; connected allows at most 65520, and not every driver supports this mode.\n"
		 "A leg on another kind of device works without the setting and is degraded.",
	 .example = "connected"},
	{"qdisc", SPEC_TYPE_ENUM, NAMES(qdisc_names), FIELD(spec_net, qdisc),
	 .fallback_doc = "unchanged",
	 .help = "The queueing discipline (qdisc) in which the kernel keeps packets until the device sends them, with its"
		 " default parameters; a device with several transmit queues has one qdisc for each queue. Workers on VFs"
		 " bypass it.\n"
		 "pfifo: one queue, which drops packets only when it is full (usually 1,000 packets). fq_codel: a queue for"
		 " each flow; drops packets that wait for long. fq: a queue of at most 100 packets for each flow; the queues"
		 " send in turn.\n"
		 "The agent sets the qdisc at the device below a VLAN and at the ports of a bond that it makes. A qdisc that"
		 " another program has set stays, and the leg is degraded.",
	 .example = "pfifo"},
	{"roce-mode", SPEC_TYPE_ENUM, NAMES(roce_names), FIELD(spec_net, roce_mode),
	 .fallback_doc = "unchanged",
	 .help = "The RoCE version that rdma_cm uses on this device's RDMA port for programs that do not choose one. The only"
		 " value is v2, which runs over UDP and can be routed. Plenum's own RDMA over Ethernet always uses v2; RoCE v1"
		 " is not supported.\n"
		 "If roce-mode is set and the device lacks RoCE v2, the leg works without the setting and is degraded.\n"
		 "Two legs on one device (an interface and a VLAN on it) must have the same value, as for all device settings.",
	 .example = "v2"},
	{"roce-tos", SPEC_TYPE_U32, .min = 1, .max = UINT8_MAX, FIELD(spec_net, roce_tos),
	 .fallback_doc = "unchanged",
	 .help = "The type of service of the rdma_cm connections of programs that do not choose one: four times the DSCP, from"
		 " which switches and dcb derive the priority. Bulk data always have 96 (DSCP 24).",
	 .example = "96"},
	{"ips", SPEC_TYPE_RANGES, LIST(spec_net, ips, n_ips),
	 .fallback_doc = "from the network's range or pool",
	 .help = "The device's data IPs, in the order of the workers' cores: addresses and ranges.\n"
		 "With shared-ip: which of the device's addresses is used.",
	 .example = "[10.20.1.10-10.20.1.17]"},
	{"shared-ip", SPEC_TYPE_BOOL, .fallback = "false", FIELD(spec_net, shared_ip),
	 .help = "Whether data use the address that the host already has on the device: one IP for management and"
		 " data.\n"
		 "Plenum changes nothing on the device except what dcb and soft-roce set, so it may be the management"
		 " interface and carry the default route.\n"
		 "Workers use the kernel's UDP sockets, or DPDK beside the kernel if their transport says so and the"
		 " driver (mlx5) can steer datagrams for their ports by flow rules.\n"
		 "The first worker uses the port of 'port', each further worker the next port.",
	 .example = "true"},
	{"enabled", SPEC_TYPE_BOOL, .fallback = "true", FIELD(spec_net, enabled),
	 .help = "Whether the leg is configured. false keeps the entry, its addresses and its routing table reserved,"
		 " and does not touch the device.",
	 .example = "false"},
};
static const struct spec_table net_table = {TABLE(net_keys), PLACE(spec_net)};

static const struct spec_key bond_keys[] = {
	{"name", SPEC_TYPE_INTERFACE, .required = true, FIELD(spec_bond, name),
	 .help = "The name of the bond interface.\n"
		 "The mode, rate and select of an existing bond cannot change: for other values, choose another name.",
	 .example = "bond0"},
	{"hash", SPEC_TYPE_ENUM, .fallback = "layer3+4", NAMES(hash_names), FIELD(spec_bond, hash),
	 .help = "Modes in which all ports carry traffic: the fields of a packet that select the port for sending it.",
	 .example = "layer2+3"},
	{"rate", SPEC_TYPE_ENUM, .fallback = "fast", NAMES(lacp_rate_names), FIELD(spec_bond, rate),
	 .help = "lacp: how often the switch sends LACP frames: every second or every 30 seconds.\n"
		 "A silent switch is considered gone after three intervals.",
	 .example = "slow"},
	{"select", SPEC_TYPE_ENUM, .fallback = "stable", NAMES(select_names),
	 FIELD(spec_bond, select),
	 .help = "lacp: which ports carry traffic if the switch does not put all of them into one group: the group in"
		 " use so far, the one with most bandwidth, or the one with most ports.",
	 .example = "bandwidth"},
	{"min-links", SPEC_TYPE_U32, .fallback = "1", .min = 1, .max = SPEC_LEGS_MAX,
	 FIELD(spec_bond, min_links),
	 .help = "lacp: the bond counts as down with fewer working ports than this.",
	 .example = "2"},
	{"primary", SPEC_TYPE_NAME, FIELD(spec_bond, primary),
	 .fallback_doc = "none: the active port stays active until it fails",
	 .help = "active-backup: the entry of net that carries traffic whenever it can.",
	 .example = "leg-a"},
	{"reselect", SPEC_TYPE_ENUM, .fallback = "always", NAMES(reselect_names),
	 FIELD(spec_bond, reselect),
	 .help = "active-backup: when traffic returns to the primary port after a failure: always, if the primary is faster"
		 " than the active port, or only when the active port fails.",
	 .example = "failure"},
};
static const struct spec_table bond_table = {TABLE(bond_keys), PLACE(spec_bond)};

static const struct spec_key ha_keys[] = {
	{"mode", SPEC_TYPE_ENUM, .fallback = "none", NAMES(ha_names), FIELD(spec, ha),
	 .help = "How legs back each other up." SPEC_HA_MODES(HA_HELP)
		 "\nA bond needs two or more Ethernet devices on one network.",
	 .example = "dual-leg"},
	{"bond", SPEC_TYPE_MAP, .table = &bond_table, FIELD(spec, bond),
	 .fallback_doc = "data0, or data1 if data0 cannot be changed as required",
	 .help = "The bond of a mode that makes one.\n"
		 "If active-backup uses VFs, there is no bond.",
	 .example = "{name: bond0, hash: layer2+3}"},
	{"allow", SPEC_TYPE_NAMES, .max = SPEC_ALLOW_MAX, .of = "rules", LIST(spec, ha_allow, n_ha_allow),
	 .help = "Rules of the mode to ignore.\n"
		 "several-nics: a bond in which all ports carry traffic requires ports of one NIC; this value allows ports of"
		 " several NICs.",
	 .example = "[several-nics]"},
	{"hold", SPEC_TYPE_SECONDS, .min = 1, .max = 3600, FIELD(spec, ha_hold_s),
	 .fallback_doc = "10s",
	 .help = "active-backup with VFs: how long a preferred device must have a link before traffic returns to it.\n"
		 "Each time the device soon fails again, this time doubles, to at most 64 times the value.",
	 .example = "30s"},
};
static const struct spec_table ha_table = {TABLE(ha_keys), .has_pos = true,
					   .pos_offset = offsetof(struct spec, ha_pos)};

static const struct spec_key mount_keys[] = {
	{"path", SPEC_TYPE_PATH, .required = true, FIELD(spec_mount, path),
	 .help = "The absolute path of the mount point; unique.\n"
		 "A mount point within another mount is mounted once that mount is served.",
	 .example = "/mnt/scratch"},
	{"from", SPEC_TYPE_FROM, .required = true, .offset = offsetof(struct spec_mount, from_host),
	 .size = 2 * PLENUM_NAME_MAX,
	 .help = "The host and its export.\n"
		 "The host is one of the peers, or registered in cluster.etcd.",
	 .example = "storage-01/scratch"},
	{"read-only", SPEC_TYPE_BOOL, .fallback = "false", FIELD(spec_mount, read_only),
	 .help = "Whether the mount is read-only.",
	 .example = "true"},
	{"soft", SPEC_TYPE_SECONDS, .min = 1, .max = 86400, FIELD(spec_mount, soft_s),
	 .fallback_doc = "hard: requests wait until the server answers",
	 .help = "How long requests wait for an answer before they fail with EIO.\n"
		 "A request that failed in this way may still be executed; see plenum-consistency(7).",
	 .example = "30s"},
	{"locks", SPEC_TYPE_ENUM, .fallback = "local", NAMES(locks_names), FIELD(spec_mount, locks),
	 .help = "How flock(2) and fcntl(2) locks work.\n"
		 "local: locks exclude programs of this mount only, not programs of other clients. none: locks fail with"
		 " ENOLCK, so that no program relies on locks. cluster: locks exclude programs of all mounts with cluster"
		 " locks; reads bypass the page cache, one core serves the mount, and the mount must be hard. See"
		 " plenum-consistency(7).",
	 .example = "none"},
	{"write-back", SPEC_TYPE_BOOL, .fallback = "false", FIELD(spec_mount, write_back),
	 .help = "Whether small writes are answered at once, gathered, and sent to the server within some milliseconds.\n"
		 "The server lets no other client see or change the file meanwhile. Errors such as a full disk are"
		 " reported by the next write, fsync or close of the file. Needs one core and locks other than cluster;"
		 " takes effect when the file system is mounted. See plenum-consistency(7).",
	 .example = "true"},
	{"suid", SPEC_TYPE_BOOL, .fallback = "true", FIELD(spec_mount, suid),
	 .help = "Whether set-user-ID and set-group-ID bits and file capabilities take effect; false is mount(8)'s nosuid.",
	 .example = "false"},
	{"dev", SPEC_TYPE_BOOL, .fallback = "true", FIELD(spec_mount, dev),
	 .help = "Whether device nodes can be opened; false is mount(8)'s option nodev.",
	 .example = "false"},
	{"max-throughput", SPEC_TYPE_RATE, .min = SPEC_RATE_MIN, .max = SPEC_RATE_MAX, FIELD(spec_mount, max_kbs),
	 .fallback_doc = "no limit",
	 .help = "The limit for file data that programs read and write, without copies that the server makes; requests above it wait in the client.",
	 .example = "200MB/s"},
	{"max-operations", SPEC_TYPE_U32, .min = 1, .max = SPEC_OPERATIONS_MAX, FIELD(spec_mount, max_operations),
	 .fallback_doc = "no limit",
	 .help = "The limit for requests to the server per second; closing and unlocking does not count.",
	 .example = "5000"},
};
static const struct spec_table mount_table = {TABLE(mount_keys), PLACE(spec_mount)};
_Static_assert(offsetof(struct spec_mount, from_export) ==
		       offsetof(struct spec_mount, from_host) + PLENUM_NAME_MAX,
	       "SPEC_TYPE_FROM fills both");

static const struct spec_key ids_keys[] = {
	{"client", SPEC_TYPE_U32, .required = true, .max = UINT32_MAX - 1, FIELD(spec_ids, client),
	 .help = "The first id on the client.",
	 .example = "1000"},
	{"server", SPEC_TYPE_U32, .required = true, .max = UINT32_MAX - 1, FIELD(spec_ids, server),
	 .help = "The id on this host to which the first client id maps.",
	 .example = "51000"},
	{"count", SPEC_TYPE_U32, .fallback = "1", .min = 1, .max = UINT32_MAX - 1,
	 FIELD(spec_ids, count),
	 .help = "The number of consecutive ids, starting with 'client' and 'server'.",
	 .example = "1000"},
};
static const struct spec_table ids_table = {TABLE(ids_keys), PLACE(spec_ids)};

static const struct spec_key client_keys[] = {
	{"hosts", SPEC_TYPE_NAMES, .max = SPEC_WHO_MAX, LIST(spec_client, hosts, n_hosts),
	 .help = "The clients of this entry, by host name.\n"
		 "Without a cluster key, a host with one of these names is served only from the addresses that 'peers' lists"
		 " for the name; a host without a listed address is refused.",
	 .example = "[host-a, host-b]"},
	{"networks", SPEC_TYPE_NETWORKS, .max = SPEC_WHO_MAX,
	 LIST(spec_client, networks, n_networks),
	 .help = "The clients of this entry, by data IP.\n"
		 "An entry without hosts and networks matches every client that no earlier entry matches.",
	 .example = "[10.10.0.0/16]"},
	{"access", SPEC_TYPE_ENUM, .fallback = "rw",
	 .fallback_doc = "rw, or ro where the export is read-only", NAMES(access_names),
	 FIELD(spec_client, access),
	 .help = "Whether these clients may write. No client may write to a read-only export.",
	 .example = "ro"},
	{"squash", SPEC_TYPE_ENUM, .fallback = "root", NAMES(squash_names),
	 FIELD(spec_client, squash),
	 .help = "Which users become the anonymous user and group: none, root, or all; exports(5) calls these"
		 " no_root_squash, root_squash and all_squash.",
	 .example = "none"},
	{"anonuid", SPEC_TYPE_U32, .fallback = TEXT_OF(SPEC_ID_NOBODY), .max = UINT32_MAX - 1,
	 FIELD(spec_client, anonuid),
	 .help = "The anonymous user.",
	 .example = "65534"},
	{"anongid", SPEC_TYPE_U32, .fallback = TEXT_OF(SPEC_ID_NOBODY), .max = UINT32_MAX - 1,
	 FIELD(spec_client, anongid),
	 .help = "The anonymous group.",
	 .example = "65534"},
	{"uid-map", SPEC_TYPE_MAPS, .table = &ids_table, .max = SPEC_IDS_MAX,
	 LIST(spec_client, uid_map, n_uid_map),
	 .fallback_doc = "users have the same ids on both sides",
	 .help = "Maps users of the clients to users of this host, in both directions.\n"
		 "With a map, users outside the map become the anonymous user.",
	 .example = "[{client: 1000, server: 51000, count: 1000}]"},
	{"gid-map", SPEC_TYPE_MAPS, .table = &ids_table, .max = SPEC_IDS_MAX,
	 LIST(spec_client, gid_map, n_gid_map),
	 .fallback_doc = "groups have the same ids on both sides",
	 .help = "Maps groups of the clients to groups of this host, as uid-map does for users.",
	 .example = "[{client: 1000, server: 51000, count: 1000}]"},
};
static const struct spec_table client_table = {TABLE(client_keys), PLACE(spec_client)};

static const struct spec_key export_keys[] = {
	{"name", SPEC_TYPE_NAME, .required = true, FIELD(spec_export, name),
	 .help = "The name under which other hosts mount the export; unique.",
	 .example = "scratch"},
	{"path", SPEC_TYPE_PATH, .required = true, FIELD(spec_export, path),
	 .help = "The absolute path of the exported directory. Symbolic links in it are followed "
		 "only if no user but root could have made them. plenumd(8) says what happens if "
		 "the path later leads to another directory.",
	 .example = "/srv/scratch"},
	{"read-only", SPEC_TYPE_BOOL, .fallback = "false", FIELD(spec_export, read_only),
	 .help = "Whether the export is read-only for all clients.",
	 .example = "true"},
	{"submounts", SPEC_TYPE_ENUM, .fallback = "hide", NAMES(submounts_names),
	 FIELD(spec_export, submounts),
	 .help = "The view of clients at a mount point below the directory. hide: clients see the directory underneath. cross:"
		 " clients see the file system that was mounted when the worker started, as with crossmnt of exports(5).",
	 .example = "cross"},
	{"clients", SPEC_TYPE_MAPS, .table = &client_table, .max = SPEC_CLIENTS_MAX,
	 LIST(spec_export, clients, n_clients),
	 .fallback_doc = "every client, with an entry's defaults",
	 .help = "Which clients may mount the export, and how their users are mapped.\n"
		 "The first matching entry counts; a client that matches no entry is refused.",
	 .example = "[{hosts: [host-a], squash: none}, {networks: [10.10.0.0/16], access: ro}]"},
};
static const struct spec_table export_table = {TABLE(export_keys), PLACE(spec_export)};

static const struct spec_key worker_keys[] = {
	{"role", SPEC_TYPE_ENUM, .required = true, NAMES(role_names), FIELD(spec_worker, role),
	 .help = "The task of the workers: frontend workers mount, compute workers serve directories.",
	 .not_built = "this version does not support raw devices; use 'compute' and export"
		      " a directory",
	 .is_built = role_is_built,
	 .example = "frontend"},
	{"cores", SPEC_TYPE_CORES, .required = true, LIST(spec_worker, cores, n_cores),
	 .help = "The cores, one worker per core: a number, a range, or a list of both.\n"
		 "Each core can be used only once.\n"
		 "The mounts of a frontend entry are divided among its cores. A core without a mount carries data of"
		 " another core's mount (a mount worker, see plenum-worker(8)), at most fifteen such cores per mount.\n"
		 "Each core of a compute entry serves all of the entry's exports, and clients' mounts are spread over"
		 " the cores.\n"
		 "Core 0, which the kernel uses most, is accepted as a number, not in a range.",
	 .example = "[2, 4-7]"},
	{"transport", SPEC_TYPE_ENUM, .fallback = "auto", NAMES(transport_names),
	 FIELD(spec_worker, transport),
	 .help = "How the workers send: dpdk polls on a dedicated core, dpdk-interrupt sleeps until packets arrive,"
		 " udp uses the kernel's sockets. auto chooses the best that devices, cores and memory allow when an"
		 " operator applies the configuration, and keeps that choice.",
	 .example = "udp"},
	{"mounts", SPEC_TYPE_MAPS, .table = &mount_table, LIST(spec_worker, mounts, n_mounts),
	 .help = "The mounts of a frontend entry. They are divided among its cores, at most 128 per core.",
	 .example = "[{path: /mnt/scratch, from: storage-01/scratch}]"},
	{"exports", SPEC_TYPE_MAPS, .table = &export_table, .max = SPEC_EXPORTS_MAX,
	 LIST(spec_worker, exports, n_exports),
	 .help = "The exports of a compute entry: at most 16 directories, each served by all cores of the entry.",
	 .example = "[{name: scratch, path: /srv/scratch}]"},
	{"sessions", SPEC_TYPE_U32, .min = 1, .max = SPEC_SESSIONS_MAX,
	 FIELD(spec_worker, sessions),
	 .fallback_doc = "4096",
	 .help = "The number of clients' mounts that each compute worker of the entry serves at a time.\n"
		 "A mount counts once for each client core that carries its data. Each of these cores has its own session. The"
		 " sessions of mount workers (see plenum-worker(8)) leave a quarter of the sessions, at least one, free for"
		 " other mounts, and end when other mounts need them.\n"
		 "A further mount is refused with the reason server-full on both hosts, and is served when a session is free.\n"
		 "An idle mount costs the worker less than 16 KiB of memory.",
	 .example = "200"},
};
static const struct spec_table worker_table = {TABLE(worker_keys), PLACE(spec_worker)};

static const struct spec_key peer_keys[] = {
	{"name", SPEC_TYPE_NAME, .required = true, FIELD(spec_peer, name),
	 .help = "The host's name, as in its own configuration; unique.",
	 .example = "storage-01"},
	{"ips", SPEC_TYPE_IPS, .required = true, .max = SPEC_PEER_IPS_MAX,
	 LIST(spec_peer, ips, n_ips),
	 .help = "Data IPs of any of its workers, one per leg and at most 16. Clients learn the other addresses from that"
		 " worker.\n"
		 "Without a cluster key, list the data IPs of all frontend workers of a host that 'exports' name in 'hosts':"
		 " only these addresses prove its name.",
	 .example = "[10.10.1.20, 10.20.1.20]"},
	{"port", SPEC_TYPE_U16, .min = 1, .max = 65535, FIELD(spec_peer, port),
	 .fallback_doc = "the port of this host",
	 .help = "The UDP port of its workers.",
	 .example = "7411"},
};
static const struct spec_table peer_table = {TABLE(peer_keys), PLACE(spec_peer)};

static const struct spec_key policy_keys[] = {
	{"on-fallback", SPEC_TYPE_ENUM, .fallback = "degrade", NAMES(fallback_names),
	 FIELD(spec, on_fallback),
	 .help = "The reaction if a requested transport or leg is unavailable. degrade: Plenum uses the available transports"
		 " and legs, and reports the reason. refuse: this is an error, and nothing is changed.",
	 .example = "refuse"},
	{"confirm", SPEC_TYPE_SECONDS, .min = 1, .max = 3600, FIELD(spec, confirm_s),
	 .fallback_doc = "no confirmation is needed",
	 .help = "How long an apply that may interrupt traffic waits for 'plenum confirm' before it is rolled back. An apply"
		 " may interrupt traffic if it sets, replaces or removes something that exists on the host, or ends a served"
		 " mount or export.\n"
		 "An apply that only adds to the host or restarts workers does not wait.\n"
		 "The value of the running configuration counts; for the first apply, the value of the new configuration.",
	 .example = "120s"},
	{"fault-injection", SPEC_TYPE_BOOL, .fallback = "false", FIELD(spec, fault_injection),
	 .help = "Whether 'plenum fault' may make workers drop, delay, duplicate or reorder packets.\n"
		 "Changing it to false ends all injected faults.",
	 .example = "true"},
};
static const struct spec_table policy_table = {TABLE(policy_keys)};

static const struct spec_key rdma_keys[] = {
	{"read-min-kib", SPEC_TYPE_U32, .fallback = "32", .min = 32, .max = 1024,
	 FIELD(spec, rdma_read_min_kib),
	 .help = "Reads of at least this many KiB use RDMA where the leg has RDMA on both hosts.",
	 .example = "64"},
	{"write-min-kib", SPEC_TYPE_U32, .fallback = "256", .min = 32, .max = 1024,
	 FIELD(spec, rdma_write_min_kib),
	 .help = "Writes of at least this many KiB use RDMA where the leg has RDMA on both hosts.",
	 .example = "512"},
};
static const struct spec_table rdma_table = {TABLE(rdma_keys)};

static const struct spec_key cluster_keys[] = {
	{"name", SPEC_TYPE_NAME, .required = true, FIELD(spec_cluster, name), .help = "The name of the cluster.", .example = "prod"},
	{"etcd", SPEC_TYPE_URLS, .max = SPEC_ETCD_MAX, LIST(spec_cluster, etcd, n_etcd),
	 .fallback_doc = "hosts know one another from peers alone", .example = "[\"https://10.0.0.11:2379\"]",
	 .help = "The client URLs of etcd 3.4 or later, with IP addresses and ports, at most 16.\n"
		 "The host registers its name there, and publishes its data IPs, the names of its exports and a summary of its"
		 " state. Mounts find servers there that are not in peers, and work while etcd is away.\n"
		 "Who may write to etcd decides where clients look for a server: only the cluster's key proves which host answers."},
	{"etcd-ca", SPEC_TYPE_PATH, FIELD(spec_cluster, etcd_ca), .example = "/etc/plenum/etcd-ca.crt",
	 .help = "The file with the certificates, in PEM, of the authority that signed those of etcd. https:// needs it."},
	{"etcd-user", SPEC_TYPE_NAME, FIELD(spec_cluster, etcd_user), .fallback_doc = "no authentication", .example = "plenum",
	 .help = "The user of etcd. Its role needs read and write rights for the keys below /plenum/NAME/."},
	{"etcd-password-file", SPEC_TYPE_PATH, FIELD(spec_cluster, etcd_password_file), .example = "/etc/plenum/etcd.password",
	 .help = "The file with that user's password in its first line. Only root may have access to it."},
	{"secret-file", SPEC_TYPE_PATH, FIELD(spec_cluster, secret_file),
	 .help = "The file with the key that the cluster's hosts share. Only root may have access to it.\n"
		 "'plenum secret generate' creates it.\n"
		 "While the file has two keys, the host accepts both; plenum(1) explains how to change the key.\n"
		 "A change of the cluster keys restarts no worker.\n"
		 "Omit 'secret-file' only with security: none.",
	 .example = "/etc/plenum/cluster.key"},
	{"security", SPEC_TYPE_ENUM, .fallback = "auth", NAMES(security_names),
	 FIELD(spec_cluster, security),
	 .help = "How packets between the workers of the cluster's hosts are protected.\n"
		 "auth: packets that were altered, or whose sender lacks the key, are rejected. encrypt: packets are also"
		 " unreadable to others; encryption is used if either of two hosts asks for it. none, or no cluster entry: the"
		 " network must be trusted.\n"
		 "auth does not cover bulk data by RDMA (net[].rdma); encrypt does not use RDMA.\n"
		 "A host with a key and a host without a key do not connect.",
	 .example = "encrypt"},
	{"identity", SPEC_TYPE_ENUM, .fallback = "off", NAMES(identity_names), FIELD(spec_cluster, identity), .example = "require",
	 .help = "Whether hosts prove their names.\n"
		 "off: a host with the cluster's key may claim any name. accept: this host proves its name, and treats hosts without an identity as with off. require: they are refused.\nA change restarts the workers. See SECURITY in plenumd(8)."},
	{"identity-dir", SPEC_TYPE_PATH, FIELD(spec_cluster, identity_dir), .fallback_doc = "/var/lib/plenum/identity",
	 .example = "/etc/plenum/id", .help = "The folder with the files of this host's identity, for root alone."},
	{"config", SPEC_TYPE_ENUM, .fallback = "off", NAMES(cluster_config_names), FIELD(spec_cluster, config), .example = "follow",
	 .help = "Whether this host takes the configuration document of the cluster.\n"
		 "follow: a rollout ('plenum rollout start') merges the document's sections for this host below the host's own files,"
		 " whose values count first, and keeps them in plenum.d/00-cluster.yaml. off: the host ignores rollouts and that file.\n"
		 "Who may write to etcd can then change the networks, legs, ha, peers, policy, rdma and port of this host, and"
		 " no other section."},
	{"probe-legs", SPEC_TYPE_BOOL, .fallback = "false", FIELD(spec_cluster, probe_legs), .example = "true",
	 .help = "Whether the legs of this host probe legs of other hosts of the cluster, and answer their probes, on UDP port 7410.\n"
		 "Each leg sends 3 packets a second, at most 6 while a host does not answer, whatever the number of hosts."
		 " 'plenum cluster links' shows the results. It needs cluster.etcd."},
};
static const struct spec_table cluster_table = {TABLE(cluster_keys), PLACE(spec_cluster)};

static const struct spec_key root_keys[] = {
	{"host", SPEC_TYPE_NAME, FIELD(spec, host),
	 .fallback_doc = "the hostname",
	 .help = "The name of this host, as its peers refer to it.",
	 .example = "storage-07"},
	{"port", SPEC_TYPE_U16, .fallback = TEXT_OF(SPEC_PORT_DEFAULT), .min = 1, .max = 65535, FIELD(spec, port),
	 .help = "The UDP port of the workers.",
	 .example = "7411"},
	{"management", SPEC_TYPE_MAP, .table = &management_table,
	 .help = "The management network.",
	 .example = "{interface: eth0}"},
	{"networks", SPEC_TYPE_MAPS, .table = &network_table, LIST(spec, networks, n_networks),
	 .help = "The data networks, from which legs get their addresses.",
	 .example = "[{name: data-a, range: 10.10.1.10-10.10.1.200/16}]"},
	{"net", SPEC_TYPE_MAPS, .table = &net_table, LIST(spec, nets, n_nets),
	 .help = "The legs, at most eight; in the bond modes of ha the ports of the bond.",
	 .example = "[{name: leg-a, device: eth1, network: data-a}]"},
	{"net-set", SPEC_TYPE_MAPS, .table = &net_table, .changes = "net", .by = "name",
	 LIST(spec, net_sets, n_net_sets),
	 .help = "Changes to entries of 'net' in another file, by name: only the keys written here change.\n"
		 "'plenum net set' uses it to change a leg without editing the file that defines it.",
	 .example = "[{name: leg-a, label: switch-b}]"},
	{"ha", SPEC_TYPE_MAP, .table = &ha_table,
	 .help = "High availability.",
	 .example = "{mode: dual-leg}"},
	{"workers", SPEC_TYPE_MAPS, .table = &worker_table, LIST(spec, workers, n_workers),
	 .help = "The worker processes.",
	 .example = "[{role: frontend, cores: [2]}]"},
	{"workers-set", SPEC_TYPE_MAPS, .table = &worker_table, .changes = "workers", .by = "core",
	 LIST(spec, worker_sets, n_worker_sets),
	 .help = "Changes to entries of 'workers' in another file. The key 'core', one of the cores that the other file has"
		 " for the entry, says which entry is changed, and only the other keys written here change.\n"
		 "'plenum worker move' uses it to change 'cores' without editing the file that defines the entry.",
	 .example = "[{core: 2, cores: [3, 4-7]}]"},
	{"peers", SPEC_TYPE_MAPS, .table = &peer_table, LIST(spec, peers, n_peers),
	 .help = "Addresses of other hosts.",
	 .example = "[{name: storage-01, ips: [10.10.1.20]}]"},
	{"policy", SPEC_TYPE_MAP, .table = &policy_table,
	 .help = "The handling of fallbacks, disruptive changes and fault injection.",
	 .example = "{on-fallback: refuse}"},
	{"rdma", SPEC_TYPE_MAP, .table = &rdma_table,
	 .help = "Which requests use RDMA.\n"
		 "The settings on the client's host count, because its requests say how the server sends data.",
	 .example = "{read-min-kib: 64}"},
	{"admin", SPEC_TYPE_MAP, .table = &spec_admin_table,
	 .help = "The users besides root who may change the configuration.\n"
		 "They can export and mount any directory, which makes them equivalent to root.",
	 .example = "{users: [storage]}"},
	{"cluster", SPEC_TYPE_MAP, .table = &cluster_table, FIELD(spec, cluster),
	 .help = "The cluster; without this section, packets between hosts are not protected.",
	 .example = "{name: prod, secret-file: /etc/plenum/cluster.key}"},
	{"api", SPEC_TYPE_MAP, .table = &spec_api_table, FIELD(spec, api),
	 .help = "The REST API and the web page over TLS 1.3, for programs and browsers on other hosts; without this section,"
		 " API and page are served only on the host itself.\n"
		 "A client presents a token; plenum-api(7) explains the rights of a token.",
	 .example = "{listen: 192.0.2.11, certificate: /etc/plenum/api.crt, key: /etc/plenum/api.key,"
		    " tokens: /etc/plenum/api.tokens}"},
};
const struct spec_table spec_schema = {TABLE(root_keys)};
/* clang-format on */
