/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schema table: constant data and nothing else, so that everything plenum.yaml may contain is
 * listed in one place. spec_value.c implements the types.
 */
#include "netcfg/spec/spec_schema.h"

#include <string.h>

static const char *const ha_names[] = {
	[SPEC_HA_NONE] = "none",
	[SPEC_HA_DUAL_LEG] = "dual-leg",
	[SPEC_HA_ACTIVE_BACKUP] = "active-backup",
	[SPEC_HA_LACP] = "lacp",
};
static const char *const role_names[] = {
	[SPEC_ROLE_FRONTEND] = "frontend",
	[SPEC_ROLE_COMPUTE] = "compute",
	[SPEC_ROLE_DRIVES] = "drives",
};
static const char *const transport_names[] = {
	[SPEC_TRANSPORT_AUTO] = "auto",
	[SPEC_TRANSPORT_DPDK] = "dpdk",
	[SPEC_TRANSPORT_DPDK_INTERRUPT] = "dpdk-interrupt",
	[SPEC_TRANSPORT_UDP] = "udp",
};
static const char *const fallback_names[] = {
	[SPEC_FALLBACK_DEGRADE] = "degrade",
	[SPEC_FALLBACK_REFUSE] = "refuse",
};
static const char *const locks_names[] = {
	[SPEC_LOCKS_LOCAL] = "local",
	[SPEC_LOCKS_NONE] = "none",
};
static const char *const security_names[] = {
	[SPEC_SECURITY_AUTH] = "auth",
	[SPEC_SECURITY_ENCRYPT] = "encrypt",
	[SPEC_SECURITY_NONE] = "none",
};
static const char *const access_names[] = {
	[SPEC_ACCESS_RW] = "rw",
	[SPEC_ACCESS_RO] = "ro",
};
static const char *const squash_names[] = {
	[SPEC_SQUASH_NONE] = "none",
	[SPEC_SQUASH_ROOT] = "root",
	[SPEC_SQUASH_ALL] = "all",
};
static const char *const submounts_names[] = {
	[SPEC_SUBMOUNTS_HIDE] = "hide",
	[SPEC_SUBMOUNTS_CROSS] = "cross",
};
static const char *const hash_names[] = {
	[SPEC_HASH_LAYER34] = "layer3+4", [SPEC_HASH_LAYER23] = "layer2+3",
	[SPEC_HASH_LAYER2] = "layer2",	  [SPEC_HASH_ENCAP34] = "encap3+4",
	[SPEC_HASH_ENCAP23] = "encap2+3",
};
static const char *const lacp_rate_names[] = {
	[SPEC_LACP_FAST] = "fast",
	[SPEC_LACP_SLOW] = "slow",
};
static const char *const select_names[] = {
	[SPEC_SELECT_STABLE] = "stable",
	[SPEC_SELECT_BANDWIDTH] = "bandwidth",
	[SPEC_SELECT_COUNT] = "count",
};
static const char *const reselect_names[] = {
	[SPEC_RESELECT_ALWAYS] = "always",
	[SPEC_RESELECT_BETTER] = "better",
	[SPEC_RESELECT_FAILURE] = "failure",
};
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
	[SPEC_ROCE_V1] = "v1",
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
/* The reader stores enums through an int. */
_Static_assert(sizeof(enum spec_ha) == sizeof(int), "enums are ints");

static const char *name_of(const char *const *names, size_t n, unsigned v)
{
	return v < n ? names[v] : "?";
}

const char *spec_ha_to_string(enum spec_ha v)
{
	return name_of(ha_names, ARRAY_SIZE(ha_names), v);
}

const char *spec_role_to_string(enum spec_role v)
{
	return name_of(role_names, ARRAY_SIZE(role_names), v);
}

const char *spec_transport_to_string(enum spec_transport v)
{
	return name_of(transport_names, ARRAY_SIZE(transport_names), v);
}

const char *spec_hash_to_string(enum spec_hash v)
{
	return name_of(hash_names, ARRAY_SIZE(hash_names), v);
}

const char *spec_lacp_rate_to_string(enum spec_lacp_rate v)
{
	return name_of(lacp_rate_names, ARRAY_SIZE(lacp_rate_names), v);
}

const char *spec_select_to_string(enum spec_select v)
{
	return name_of(select_names, ARRAY_SIZE(select_names), v);
}

const char *spec_reselect_to_string(enum spec_reselect v)
{
	return name_of(reselect_names, ARRAY_SIZE(reselect_names), v);
}

const char *spec_fallback_to_string(enum spec_fallback v)
{
	return name_of(fallback_names, ARRAY_SIZE(fallback_names), v);
}

const char *spec_security_to_string(enum spec_security v)
{
	return name_of(security_names, ARRAY_SIZE(security_names), v);
}

const char *spec_ipoib_to_string(enum spec_ipoib v)
{
	return name_of(ipoib_names, ARRAY_SIZE(ipoib_names), v);
}

const char *spec_roce_to_string(enum spec_roce v)
{
	return name_of(roce_names, ARRAY_SIZE(roce_names), v);
}

const char *spec_squash_to_string(enum spec_squash v)
{
	return name_of(squash_names, ARRAY_SIZE(squash_names), v);
}

/* Which values are implemented for keys that this version supports in part. A word that is no
 * valid value passes here: the type rejects it and lists the valid ones. */
static bool role_is_built(const char *text)
{
	return strcmp(text, "drives") != 0;
}

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)
#define FIELD(s, m) .offset = offsetof(struct s, m), .size = sizeof(((struct s *)0)->m)
#define LIST(s, m, n)                                                         \
	.offset = offsetof(struct s, m), .size = sizeof(*((struct s *)0)->m), \
	.n_offset = offsetof(struct s, n)
#define NAMES(array) .names = array, .n_names = ARRAY_SIZE(array)
#define TABLE(array) .keys = array, .n_keys = ARRAY_SIZE(array)
#define PLACE(s) .has_pos = true, .pos_offset = offsetof(struct s, pos)

/* clang-format off */
static const struct spec_key management_keys[] = {
	{"interface", SPEC_TYPE_INTERFACE, FIELD(spec, management_interface),
	 .help = "The interface that carries management traffic; it is never reconfigured."
		 "\nWhere it is missing, the data legs are configured all the same.",
	 .example = "eth0"},
};
static const struct spec_table management_table = {TABLE(management_keys)};

static const struct spec_key network_keys[] = {
	{"name", SPEC_TYPE_NAME, .required = true, FIELD(spec_network, name),
	 .help = "What the entries of net call this network; unique.",
	 .example = "data-a"},
	{"range", SPEC_TYPE_RANGE, .required = true, FIELD(spec_network, range),
	 .help = "The addresses that may be used, first to last, and the length of the subnet"
		 " they live in.\nRanges do not overlap.",
	 .example = "10.10.1.10-10.10.1.200/16"},
	{"gateway", SPEC_TYPE_IP, FIELD(spec_network, gateway),
	 .help = "The router to other subnets; inside the subnet, outside the range, or an IPv6"
		 " link-local address.",
	 .example = "10.10.0.1"},
	{"mtu", SPEC_TYPE_U32, .min = SPEC_MTU_MIN, .max = 65535,
	 FIELD(spec_network, mtu),
	 .why = "workers start on nothing smaller than what IPv6 guarantees",
	 .fallback_doc = "as it is",
	 .help = "The MTU in bytes of the devices on this network.",
	 .example = "9000"},
	{"vlan", SPEC_TYPE_U16, .min = 1, .max = 4094, FIELD(spec_network, vlan),
	 .fallback_doc = "untagged",
	 .help = "The 802.1Q tag of the network.\n"
		 "On each of its devices a VLAN interface is made, which has the data IPs; VFs get"
		 " the tag from the NIC.\n"
		 "The device itself is brought up, and its MTU is raised where the network's is"
		 " larger; it may be the management interface where neither is needed.\n"
		 "A VLAN interface that others have made is used where device names it.",
	 .example = "100"},
};
static const struct spec_table network_table = {TABLE(network_keys), PLACE(spec_network)};

static const struct spec_key ets_keys[] = {
	{"tc", SPEC_TYPE_U32, .required = true, .max = SPEC_PRIOS - 1, FIELD(spec_ets, tc),
	 .help = "The number of the class; unique.",
	 .example = "3"},
	{"prios", SPEC_TYPE_PRIOS, .required = true, .max = SPEC_PRIOS,
	 LIST(spec_ets, prios, n_prios),
	 .help = "The priorities that are in it; each of 0 to 7 is in one class.",
	 .example = "[3]"},
	{"bandwidth", SPEC_TYPE_U32, .min = 1, .max = 100, FIELD(spec_ets, bandwidth),
	 .fallback_doc = "strict: it goes before all classes that have a share",
	 .help = "Its share of the link in percent while others want to send too; those of all"
		 " classes make 100.",
	 .example = "50"},
};
static const struct spec_table ets_table = {TABLE(ets_keys), PLACE(spec_ets)};

static const struct spec_key dscp_keys[] = {
	{"dscp", SPEC_TYPE_U32, .required = true, .max = SPEC_DSCPS - 1, FIELD(spec_dscp, dscp),
	 .help = "The code point; unique.",
	 .example = "24"},
	{"prio", SPEC_TYPE_U32, .required = true, .max = SPEC_PRIOS - 1, FIELD(spec_dscp, prio),
	 .help = "The priority of packets that have it.",
	 .example = "3"},
};
static const struct spec_table dscp_table = {TABLE(dscp_keys), PLACE(spec_dscp)};

static const struct spec_key dcb_keys[] = {
	{"pfc", SPEC_TYPE_PRIOS, .max = SPEC_PRIOS, LIST(spec_dcb, pfc, n_pfc),
	 .fallback_doc = "as it is",
	 .help = "The priorities with flow control (PFC, 802.1Qbb); the others have none.",
	 .example = "[3]"},
	{"trust", SPEC_TYPE_ENUM, NAMES(trust_names), FIELD(spec_dcb, trust),
	 .fallback_doc = "as it is",
	 .help = "What of a packet says its priority: the tag's (pcp), or the DSCP of its IP"
		 " header.\nMany drivers trust DSCP for as long as there are entries of dscp; they"
		 " are taken at their word.",
	 .example = "dscp"},
	{"dscp", SPEC_TYPE_MAPS, .table = &dscp_table, .max = SPEC_DSCPS,
	 LIST(spec_dcb, dscp, n_dscp),
	 .fallback_doc = "as they are",
	 .help = "Which priority a DSCP means; what is not named stays as it is.",
	 .example = "[{dscp: 24, prio: 3}, {dscp: 48, prio: 6}]"},
	{"ets", SPEC_TYPE_MAPS, .table = &ets_table, .max = SPEC_PRIOS,
	 LIST(spec_dcb, ets, n_ets),
	 .fallback_doc = "as they are",
	 .help = "The traffic classes (ETS, 802.1Qaz), all of them.",
	 .example = "[{tc: 0, prios: [0, 1, 2, 4, 5, 6, 7], bandwidth: 50},"
		    " {tc: 3, prios: [3], bandwidth: 50}]"},
};
static const struct spec_table dcb_table = {TABLE(dcb_keys), PLACE(spec_dcb)};

static const struct spec_key net_keys[] = {
	{"name", SPEC_TYPE_NAME, .required = true, FIELD(spec_net, name),
	 .help = "The name of the leg; unique.",
	 .example = "leg-a"},
	{"device", SPEC_TYPE_DEVICE, .required = true, FIELD(spec_net, device),
	 .help = "The device: a PCI address, a MAC address (both in quotes) or an interface name."
		 "\nOne that is not there is taken in when it appears; a PCI address that several"
		 " interfaces share names none of them.",
	 .example = "\"0000:3b:00.0\""},
	{"network", SPEC_TYPE_NAME, FIELD(spec_net, network),
	 .fallback_doc = "none with shared-ip; without it there must be one",
	 .help = "The entry of networks that the device is connected to.",
	 .example = "data-a"},
	{"label", SPEC_TYPE_NAME, FIELD(spec_net, label),
	 .fallback_doc = "the name of the leg",
	 .help = "The switch behind the device; traffic between hosts prefers legs of one label."
		 "\nauto: what the switch calls itself by LLDP, and unknown while it is silent.",
	 .example = "switch-a"},
	{"vfs", SPEC_TYPE_VFS, .fallback = "auto", .min = 0, .max = 256, FIELD(spec_net, vfs),
	 .help = "How many virtual functions (SR-IOV) the device has. auto: one for each worker "
		 "with transport dpdk, and dpdk-interrupt where they have receive interrupts, "
		 "and for each with transport auto that an apply has taken to VFs, as far as the "
		 "device offers them. 0: none.",
	 .example = "auto"},
	{"vf-spoof-check", SPEC_TYPE_ENUM, NAMES(switch_names), FIELD(spec_net, vf_spoof_check),
	 .fallback_doc = "as its driver has it",
	 .help = "Whether the NIC drops what its VFs send from another MAC address than theirs.",
	 .example = "on"},
	{"vf-trust", SPEC_TYPE_ENUM, NAMES(switch_names), FIELD(spec_net, vf_trust),
	 .fallback_doc = "as its driver has it",
	 .help = "Whether its VFs may do what only the host may, as to change their MAC address or"
		 " to hear what is not for them.",
	 .example = "off"},
	{"vf-rate", SPEC_TYPE_U32, .min = 1, .max = 1000000, FIELD(spec_net, vf_rate_mbps),
	 .fallback_doc = "no limit",
	 .help = "How many Mbit/s each of its VFs may send.",
	 .example = "10000"},
	{"kernel-port", SPEC_TYPE_ENUM, .fallback = "auto", NAMES(kernel_port_names),
	 FIELD(spec_net, kernel_port),
	 .help = "How workers with transport dpdk or dpdk-interrupt share the interface with the"
		 " kernel, where they have no VF of it. af-packet: the kernel has all that comes,"
		 " and workers have copies. af-xdp: a program on the interface gives the first worker"
		 " the datagrams for its address and port past the kernel's stack, and the kernel all"
		 " else; it goes with the worker, however that ends. auto: af-packet, for now.\n"
		 "AF_XDP takes a device or a VLAN on one, no bond or bridge; an MTU of up to 3498, 16"
		 " receive queues, one worker an interface, and no other XDP program there; and no"
		 " mode active-backup of ha.\nWhere it cannot be, the worker uses AF_PACKET, and says"
		 " why.",
	 .example = "af-xdp"},
	{"rdma", SPEC_TYPE_ENUM, .fallback = "auto", NAMES(rdma_names), FIELD(spec_net, rdma),
	 .help = "Whether bulk data use RDMA on this device. auto: where both ends have it and the"
		 " session is not encrypted; else they go in packets. on: the same, and a worker"
		 " whose data go in packets on this leg is degraded, with the reason. only: and reads and"
		 " writes of bulk size of this host's mounts wait, while none of the worker's legs has"
		 " RDMA to the server, instead of going in packets; so they do with on where"
		 " policy.on-fallback is refuse.\nBy what way a client of this host's exports has its"
		 " data is for the client to say.\nplenum processes -j says which they do, and why.\nWhat goes by RDMA is not authenticated,"
		 " whatever the session is: write off where the network cannot be trusted.",
	 .example = "auto"},
	{"soft-roce", SPEC_TYPE_BOOL, .fallback = "false", FIELD(spec_net, soft_roce),
	 .help = "Whether a device without RDMA of its own gets it in software (rdma_rxe): an RDMA"
		 " device plenum_INTERFACE, whose GIDs are the addresses of the interface and its"
		 " VLANs.\nWhere the kernel has none, the leg goes on without and is degraded.",
	 .example = "true"},
	{"udp-sources", SPEC_TYPE_U32, .fallback = "1", .min = 1, .max = 8,
	 FIELD(spec_net, udp_sources),
	 .help = "From how many UDP ports a worker with transport udp sends on this device.\nNICs and"
		 " switches choose queues and links by addresses and ports, so that one session has one"
		 " of each with 1, and up to so many with more.\nWhere a NIC has several receive queues"
		 " (for UDP by ports, too: ethtool -N DEVICE rx-flow-hash udp4 sdfn) or the fabric"
		 " several links, 4 is a good choice.\nMessages of more than 16 KiB take turns at them;"
		 " all else, and all that comes back, keeps to the port that 'port' says.\nThe kernel"
		 " chooses the others.\nOne that does not reach a peer is not used, and said.",
	 .example = "4"},
	{"dcb", SPEC_TYPE_MAP, .table = &dcb_table, FIELD(spec_net, dcb),
	 .fallback_doc = "as it is",
	 .help = "Priorities and classes of the device (Data Center Bridging), as RoCE wants them"
		 " from end to end: the switch has to have the same.\nThe device that a VLAN or VFs"
		 " are on has them; of a bond, each port its own.\nWhere the driver cannot do it,"
		 " the leg goes on without and is degraded.",
	 .example = "{pfc: [3], trust: dscp, dscp: [{dscp: 24, prio: 3}]}"},
	{"ipoib-mode", SPEC_TYPE_ENUM, NAMES(ipoib_names), FIELD(spec_net, ipoib_mode),
	 .fallback_doc = "as it is",
	 .help = "How an IPoIB interface sends: datagram takes an MTU of at most 2044, or 4092 where"
		 " the subnet's is 4096; connected one of at most 65520, and not every driver has"
		 " it.\nDevices that are not IPoIB go on without and are degraded.",
	 .example = "connected"},
	{"roce-mode", SPEC_TYPE_ENUM, NAMES(roce_names), FIELD(spec_net, roce_mode),
	 .fallback_doc = "as it is",
	 .help = "The RoCE that bulk data use, and connections of the device's RDMA port where the"
		 " program leaves it to the kernel (rdma_cm): v1, frames within one subnet, or v2, UDP"
		 " that is routed.\nBoth ends of a leg have to use the same.\nDevices without RoCE, or"
		 " without that version, go on without and are degraded.\nTwo legs on one device (an"
		 " interface, and a VLAN on it) ask for the same: so it is with all settings of a"
		 " device.",
	 .example = "v2"},
	{"roce-tos", SPEC_TYPE_U32, .min = 1, .max = UINT8_MAX, FIELD(spec_net, roce_tos),
	 .fallback_doc = "as it is",
	 .help = "The type of service of these connections: four times the DSCP by which switches"
		 " and dcb tell their priority.",
	 .example = "96"},
	{"ips", SPEC_TYPE_RANGES, LIST(spec_net, ips, n_ips),
	 .fallback_doc = "from the range of the network",
	 .help = "The data IPs of the device, in the order of the workers' cores: addresses and"
		 " ranges.\nWith shared-ip, which of the device's addresses is used.",
	 .example = "[10.20.1.10-10.20.1.17]"},
	{"shared-ip", SPEC_TYPE_BOOL, .fallback = "false", FIELD(spec_net, shared_ip),
	 .help = "Whether data use the address that the host has on the device already, as management"
		 " does: one IP for all.\nNothing is changed on the device but what dcb and soft-roce"
		 " say, so it may be the management interface and carry the default route.\nWorkers use UDP sockets of the"
		 " kernel, or DPDK beside it where their transport says so and the driver (mlx5)"
		 " gives them by flow rules what is for their ports.\nThe first has the port that"
		 " 'port' says, each further one the next.",
	 .example = "true"},
	{"enabled", SPEC_TYPE_BOOL, .fallback = "true", FIELD(spec_net, enabled),
	 .help = "Whether the leg is configured; false keeps its entry, its addresses and its"
		 " routing table, and leaves the device alone.",
	 .example = "false"},
};
static const struct spec_table net_table = {TABLE(net_keys), PLACE(spec_net)};

static const struct spec_key bond_keys[] = {
	{"name", SPEC_TYPE_INTERFACE, .required = true, FIELD(spec_bond, name),
	 .help = "The name of its interface.\n"
		 "Mode, rate and select of a bond stay while it is there: for others, another name.",
	 .example = "bond0"},
	{"hash", SPEC_TYPE_ENUM, .fallback = "layer3+4", NAMES(hash_names), FIELD(spec_bond, hash),
	 .help = "Of lacp: what of a packet says which port it leaves by.",
	 .example = "layer2+3"},
	{"rate", SPEC_TYPE_ENUM, .fallback = "fast", NAMES(lacp_rate_names), FIELD(spec_bond, rate),
	 .help = "Of lacp: how often the switch is to send: every second, or every 30.\n"
		 "Three times that long passes before a silent switch is left.",
	 .example = "slow"},
	{"select", SPEC_TYPE_ENUM, .fallback = "stable", NAMES(select_names),
	 FIELD(spec_bond, select),
	 .help = "Of lacp: which ports carry where the switch does not take all of them as one"
		 " group: those that did, those with most bandwidth, or the larger number.",
	 .example = "bandwidth"},
	{"min-links", SPEC_TYPE_U32, .fallback = "1", .min = 1, .max = SPEC_LEGS_MAX,
	 FIELD(spec_bond, min_links),
	 .help = "Of lacp: with fewer ports than that the bond counts as down.",
	 .example = "2"},
	{"primary", SPEC_TYPE_NAME, FIELD(spec_bond, primary),
	 .fallback_doc = "none: who carries goes on until it fails",
	 .help = "Of active-backup: the entry of net that carries while it can.",
	 .example = "leg-a"},
	{"reselect", SPEC_TYPE_ENUM, .fallback = "always", NAMES(reselect_names),
	 FIELD(spec_bond, reselect),
	 .help = "Of active-backup: when the primary is taken back after a failure: always, where"
		 " it is faster than the other, or not before that one fails.",
	 .example = "failure"},
};
static const struct spec_table bond_table = {TABLE(bond_keys), PLACE(spec_bond)};

static const struct spec_key ha_keys[] = {
	{"mode", SPEC_TYPE_ENUM, .fallback = "none", NAMES(ha_names), FIELD(spec, ha),
	 .help = "How the devices stand in for each other: not at all, as two or more independent"
		 " legs, or as the ports of a bond.\n"
		 "dual-leg wants two or more devices, each on its own network, and sends by all of"
		 " them at once; so it does over VFs, of which each worker has one of every device,"
		 " with an address on each.\n"
		 "The bonds (lacp: IEEE 802.1AX, all ports carry; active-backup: one does) want two"
		 " or more Ethernet devices on one network.\n"
		 "active-backup with a number of vfs for each device makes no bond: each worker has a"
		 " VF of every device and one address, which the VF of the first device carries while"
		 " that has a link, and that of the next one when it has none.",
	 .example = "dual-leg"},
	{"bond", SPEC_TYPE_MAP, .table = &bond_table, FIELD(spec, bond),
	 .fallback_doc = "data0, or data1 where data0 cannot become what is asked for",
	 .help = "The bond of lacp and active-backup.\nWith VFs there is none.",
	 .example = "{name: bond0, hash: layer2+3}"},
	{"allow", SPEC_TYPE_NAMES, .max = SPEC_ALLOW_MAX, .of = "rules", LIST(spec, ha_allow, n_ha_allow),
	 .help = "Rules of the mode that shall not hold here.\n"
		 "several-nics: lacp wants the ports of one NIC, which this lets be of several.",
	 .example = "[several-nics]"},
	{"hold", SPEC_TYPE_SECONDS, .min = 1, .max = 3600, FIELD(spec, ha_hold_s),
	 .fallback_doc = "10s",
	 .help = "Of active-backup with VFs: how long an earlier device must have had a link again"
		 " before it carries.\nA device that fails again soon after that has to last twice"
		 " as long each time, up to 64 times.",
	 .example = "30s"},
};
static const struct spec_table ha_table = {TABLE(ha_keys), .has_pos = true,
					   .pos_offset = offsetof(struct spec, ha_pos)};

static const struct spec_key mount_keys[] = {
	{"path", SPEC_TYPE_PATH, .required = true, FIELD(spec_mount, path),
	 .help = "The absolute path of the mount point; unique.\nIt may lie within another mount: it is "
		 "mounted when that is served.",
	 .example = "/mnt/scratch"},
	{"from", SPEC_TYPE_FROM, .required = true, .offset = offsetof(struct spec_mount, from_host),
	 .size = 2 * PLENUM_NAME_MAX,
	 .help = "The host and its export.\nThe host is one of the peers.",
	 .example = "storage-01/scratch"},
	{"read-only", SPEC_TYPE_BOOL, .fallback = "false", FIELD(spec_mount, read_only),
	 .help = "Whether writing is refused.",
	 .example = "true"},
	{"soft", SPEC_TYPE_SECONDS, .min = 1, .max = 86400, FIELD(spec_mount, soft_s),
	 .fallback_doc = "hard: requests wait for as long as it takes",
	 .help = "How long requests wait for an answer before they fail with EIO.\n"
		 "What has failed so may still be executed; see plenum-consistency(7).",
	 .example = "30s"},
	{"locks", SPEC_TYPE_ENUM, .fallback = "local", NAMES(locks_names), FIELD(spec_mount, locks),
	 .help = "What becomes of locks by flock(2) and fcntl(2).\n"
		 "With local, programs on this host see each other's and nobody else's; with none,"
		 " they are refused with ENOLCK, so that no program relies on them.",
	 .example = "none"},
	{"suid", SPEC_TYPE_BOOL, .fallback = "true", FIELD(spec_mount, suid),
	 .help = "Whether set-user-ID and set-group-ID bits and file capabilities take effect;"
		 " false is the option nosuid of mount(8).",
	 .example = "false"},
	{"dev", SPEC_TYPE_BOOL, .fallback = "true", FIELD(spec_mount, dev),
	 .help = "Whether device nodes can be opened; false is the option nodev of mount(8).",
	 .example = "false"},
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
	 .help = "The id here that stands for it.",
	 .example = "51000"},
	{"count", SPEC_TYPE_U32, .fallback = "1", .min = 1, .max = UINT32_MAX - 1,
	 FIELD(spec_ids, count),
	 .help = "How many ids, from these on.",
	 .example = "1000"},
};
static const struct spec_table ids_table = {TABLE(ids_keys), PLACE(spec_ids)};

static const struct spec_key client_keys[] = {
	{"hosts", SPEC_TYPE_NAMES, .max = SPEC_WHO_MAX, LIST(spec_client, hosts, n_hosts),
	 .help = "Clients by the names of their hosts.",
	 .example = "[host-a, host-b]"},
	{"networks", SPEC_TYPE_NETWORKS, .max = SPEC_WHO_MAX,
	 LIST(spec_client, networks, n_networks),
	 .help = "Clients by their data IPs.\n"
		 "An entry without hosts and networks is for every client that no entry before it"
		 " is for.",
	 .example = "[10.10.0.0/16]"},
	{"access", SPEC_TYPE_ENUM, .fallback = "rw",
	 .fallback_doc = "rw, or ro where the export is read-only", NAMES(access_names),
	 FIELD(spec_client, access),
	 .help = "Whether they may write.",
	 .example = "ro"},
	{"squash", SPEC_TYPE_ENUM, .fallback = "root", NAMES(squash_names),
	 FIELD(spec_client, squash),
	 .help = "Whose requests are those of the anonymous user and group: nobody's, root's, or"
		 " all; what exports(5) calls no_root_squash, root_squash and all_squash.",
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
	 .help = "Which users of the clients are which users here, both ways.\n"
		 "Where there is a map, users whom it does not name are the anonymous user.",
	 .example = "[{client: 1000, server: 51000, count: 1000}]"},
	{"gid-map", SPEC_TYPE_MAPS, .table = &ids_table, .max = SPEC_IDS_MAX,
	 LIST(spec_client, gid_map, n_gid_map),
	 .fallback_doc = "groups have the same ids on both sides",
	 .help = "The same for groups.",
	 .example = "[{client: 1000, server: 51000, count: 1000}]"},
};
static const struct spec_table client_table = {TABLE(client_keys), PLACE(spec_client)};

static const struct spec_key export_keys[] = {
	{"name", SPEC_TYPE_NAME, .required = true, FIELD(spec_export, name),
	 .help = "The name under which other hosts mount it; unique.",
	 .example = "scratch"},
	{"path", SPEC_TYPE_PATH, .required = true, FIELD(spec_export, path),
	 .help = "The absolute path of the directory that is served.",
	 .example = "/srv/scratch"},
	{"read-only", SPEC_TYPE_BOOL, .fallback = "false", FIELD(spec_export, read_only),
	 .help = "Whether writing is refused to all.",
	 .example = "true"},
	{"submounts", SPEC_TYPE_ENUM, .fallback = "hide", NAMES(submounts_names),
	 FIELD(spec_export, submounts),
	 .help = "What clients see where something is mounted below the directory when the worker"
		 " starts: hide shows the directory beneath it, cross what is mounted there, as"
		 " crossmnt of exports(5) does.",
	 .example = "cross"},
	{"clients", SPEC_TYPE_MAPS, .table = &client_table, .max = SPEC_CLIENTS_MAX,
	 LIST(spec_export, clients, n_clients),
	 .fallback_doc = "every client, with the defaults of an entry",
	 .help = "Who may mount it, and as whom.\n"
		 "The first entry that a client fits counts; a client that fits none is refused.",
	 .example = "[{hosts: [host-a], squash: none}, {networks: [10.10.0.0/16], access: ro}]"},
};
static const struct spec_table export_table = {TABLE(export_keys), PLACE(spec_export)};

static const struct spec_key worker_keys[] = {
	{"role", SPEC_TYPE_ENUM, .required = true, NAMES(role_names), FIELD(spec_worker, role),
	 .help = "What the workers do: frontend mounts, compute serves directories.",
	 .not_built = "this version has no workers for raw devices; write compute, and export"
		      " a directory",
	 .is_built = role_is_built,
	 .example = "frontend"},
	{"cores", SPEC_TYPE_CORES, .required = true, LIST(spec_worker, cores, n_cores),
	 .help = "The cores, one worker per core: a number, a range, or a list of both.\n"
		 "A core is used once.\n"
		 "The mounts of a frontend entry are divided among its cores; those that are left "
		 "carry data of one each, beside the core that has it, fifteen for a mount at most.\n"
		 "The exports of a compute entry are served by each of its cores, and the mounts of clients are"
		 " spread over them.\n"
		 "Core 0, which the kernel likes for itself, is taken only when named by itself and"
		 " not in a range.",
	 .example = "[2, 4-7]"},
	{"transport", SPEC_TYPE_ENUM, .fallback = "auto", NAMES(transport_names),
	 FIELD(spec_worker, transport),
	 .help = "How the workers send: dpdk polls a core of its own, dpdk-interrupt sleeps "
		 "until there are packets, udp uses the kernel's sockets. auto takes the best that "
		 "devices, cores and memory allow when somebody applies it, and stays with that.",
	 .example = "udp"},
	{"mounts", SPEC_TYPE_MAPS, .table = &mount_table, LIST(spec_worker, mounts, n_mounts),
	 .help = "What frontends mount; their cores take the mounts in turn, at most 128 per core.",
	 .example = "[{path: /mnt/scratch, from: storage-01/scratch}]"},
	{"exports", SPEC_TYPE_MAPS, .table = &export_table, .max = SPEC_EXPORTS_MAX,
	 LIST(spec_worker, exports, n_exports),
	 .help = "What compute workers serve, at most 16 directories, each by all cores of the entry.",
	 .example = "[{name: scratch, path: /srv/scratch}]"},
	{"sessions", SPEC_TYPE_U32, .min = 1, .max = SPEC_SESSIONS_MAX,
	 FIELD(spec_worker, sessions),
	 .fallback_doc = "4096",
	 .help = "How many clients' mounts each compute worker of the entry serves at a time.\n"
		 "A client's mount counts once for each core that carries data of it; the cores but for one "
		 "leave a quarter, one at least, to other mounts, and give way to them.\n"
		 "One more is refused, for the reason server-full at both ends, and is served as "
		 "soon as there is room.\n"
		 "An idle one costs the worker less than 16 KiB of memory.",
	 .example = "200"},
};
static const struct spec_table worker_table = {TABLE(worker_keys), PLACE(spec_worker)};

static const struct spec_key peer_keys[] = {
	{"name", SPEC_TYPE_NAME, .required = true, FIELD(spec_peer, name),
	 .help = "The name of the host, as its own file has it; unique.",
	 .example = "storage-01"},
	{"ips", SPEC_TYPE_IPS, .required = true, .max = SPEC_PEER_IPS_MAX,
	 LIST(spec_peer, ips, n_ips),
	 .help = "Data IPs of any of its workers, one per leg and at most 16; the others are learnt"
		 " from it.",
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
	 .help = "What to do where a transport or a leg that was asked for cannot be had: degrade"
		 " goes on with what there is and says why, refuse changes nothing.",
	 .example = "refuse"},
	{"confirm", SPEC_TYPE_SECONDS, .min = 1, .max = 3600, FIELD(spec, confirm_s),
	 .fallback_doc = "nobody is waited for",
	 .help = "How long a change that somebody asks for waits for 'plenum confirm', before it is"
		 " rolled back, where it may stop traffic: it sets, removes or replaces something"
		 " that is there.\nWhat only adds to the host, or restarts workers, does not"
		 " wait.\nThe value that runs counts, and where there is none the new one.",
	 .example = "120s"},
	{"fault-injection", SPEC_TYPE_BOOL, .fallback = "false", FIELD(spec, fault_injection),
	 .help = "Whether 'plenum fault' may have workers lose, delay, duplicate or reorder packets"
		 " on purpose.\nNo longer true: what there is of that ends.",
	 .example = "true"},
};
static const struct spec_table policy_table = {TABLE(policy_keys)};

static const struct spec_key rdma_keys[] = {
	{"read-min-kib", SPEC_TYPE_U32, .fallback = "32", .min = 32, .max = 1024,
	 FIELD(spec, rdma_read_min_kib),
	 .help = "Reads of so many KiB and more go by RDMA, where the leg has it at both ends.",
	 .example = "64"},
	{"write-min-kib", SPEC_TYPE_U32, .fallback = "256", .min = 32, .max = 1024,
	 FIELD(spec, rdma_write_min_kib),
	 .help = "The same of writes.",
	 .example = "512"},
};
static const struct spec_table rdma_table = {TABLE(rdma_keys)};

static const struct spec_key admin_keys[] = {
	{"users", SPEC_TYPE_ACCOUNTS, .max = SPEC_ADMINS_MAX, LIST(spec, admin_users, n_admin_users),
	 .help = "Users, by name or number.",
	 .example = "[storage]"},
	{"groups", SPEC_TYPE_ACCOUNTS, .max = SPEC_ADMINS_MAX, LIST(spec, admin_groups, n_admin_groups),
	 .help = "Groups whose members are, by name or number.",
	 .example = "[storage-admins]"},
};
static const struct spec_table admin_table = {TABLE(admin_keys)};

static const struct spec_key cluster_keys[] = {
	{"name", SPEC_TYPE_NAME, .required = true, FIELD(spec_cluster, name),
	 .help = "The name of the cluster.",
	 .example = "prod"},
	{"etcd", SPEC_TYPE_URLS, LIST(spec_cluster, etcd, n_etcd),
	 .help = "The client URLs of etcd.",
	 .not_built = "this version asks no etcd; leave etcd out and list the other hosts under"
		      " peers",
	 .example = "[\"https://10.0.0.11:2379\"]"},
	{"secret-file", SPEC_TYPE_PATH, FIELD(spec_cluster, secret_file),
	 .help = "The file with the key that the hosts of the cluster share, which nobody but root"
		 " may read.\nMade by 'plenum secret generate'.\nWhile the file has two keys,"
		 " either is good, see plenum(1).\nA change of its keys restarts no worker.\nLeft out only with security: none.",
	 .example = "/etc/plenum/cluster.key"},
	{"security", SPEC_TYPE_ENUM, .fallback = "auth", NAMES(security_names),
	 FIELD(spec_cluster, security),
	 .help = "What guards the packets between the workers of the cluster's hosts.\n"
		 "With auth none is accepted that was not sent by one who has the key, or was"
		 " altered; with encrypt it cannot be read either, and of two hosts the one that"
		 " wants it has it; with none, as without a cluster, the network must be"
		 " trusted.\nBulk data by RDMA (net[].rdma) are not covered by auth, and not used with"
		 " encrypt.\nA host with a key and one without do not connect.",
	 .example = "encrypt"},
};
static const struct spec_table cluster_table = {TABLE(cluster_keys), PLACE(spec_cluster)};

static const struct spec_key root_keys[] = {
	{"host", SPEC_TYPE_NAME, FIELD(spec, host),
	 .fallback_doc = "the hostname",
	 .help = "The name of this host, as its peers call it.",
	 .example = "storage-07"},
	{"port", SPEC_TYPE_U16, .fallback = TEXT_OF(SPEC_PORT_DEFAULT), .min = 1, .max = 65535, FIELD(spec, port),
	 .help = "The UDP port of the workers.",
	 .example = "7411"},
	{"management", SPEC_TYPE_MAP, .table = &management_table,
	 .help = "The management network.",
	 .example = "{interface: eth0}"},
	{"networks", SPEC_TYPE_MAPS, .table = &network_table, LIST(spec, networks, n_networks),
	 .help = "The data networks: where addresses come from.",
	 .example = "[{name: data-a, range: 10.10.1.10-10.10.1.200/16}]"},
	{"net", SPEC_TYPE_MAPS, .table = &net_table, LIST(spec, nets, n_nets),
	 .help = "The data devices, at most eight.",
	 .example = "[{name: leg-a, device: eth1, network: data-a}]"},
	{"net-set", SPEC_TYPE_MAPS, .table = &net_table, .changes = "net",
	 LIST(spec, net_sets, n_net_sets),
	 .help = "Changes to entries of net that stand in another file, by their name: only the keys"
		 " that are written here change.\n"
		 "It is how 'plenum net set' changes a leg without touching the file that has it.",
	 .example = "[{name: leg-a, label: switch-b}]"},
	{"ha", SPEC_TYPE_MAP, .table = &ha_table,
	 .help = "High availability.",
	 .example = "{mode: dual-leg}"},
	{"workers", SPEC_TYPE_MAPS, .table = &worker_table, LIST(spec, workers, n_workers),
	 .help = "The worker processes.",
	 .example = "[{role: frontend, cores: [2]}]"},
	{"peers", SPEC_TYPE_MAPS, .table = &peer_table, LIST(spec, peers, n_peers),
	 .help = "Where other hosts are found.",
	 .example = "[{name: storage-01, ips: [10.10.1.20]}]"},
	{"policy", SPEC_TYPE_MAP, .table = &policy_table,
	 .help = "What to do when not all is well.",
	 .example = "{on-fallback: refuse}"},
	{"rdma", SPEC_TYPE_MAP, .table = &rdma_table,
	 .help = "What goes by RDMA.\nThe mounts of this host count: their requests say how their"
		 " data go.",
	 .example = "{read-min-kib: 64}"},
	{"admin", SPEC_TYPE_MAP, .table = &admin_table,
	 .help = "Who may make changes beside root.\nWho may, can have any directory exported and"
		 " mounted, so that it amounts to being root.",
	 .example = "{users: [storage]}"},
	{"cluster", SPEC_TYPE_MAP, .table = &cluster_table, FIELD(spec, cluster),
	 .help = "The cluster; without it nothing guards the packets between hosts.",
	 .example = "{name: prod, secret-file: /etc/plenum/cluster.key}"},
};
const struct spec_table spec_schema = {TABLE(root_keys)};
/* clang-format on */

bool spec_key_is_built(const struct spec_key *k, const char *text)
{
	return !k->not_built || (k->is_built && (!text || k->is_built(text)));
}

const struct spec_key *spec_key_find(const struct spec_table *t, const char *name)
{
	for (size_t i = 0; i < t->n_keys; i++)
		if (strcmp(t->keys[i].name, name) == 0)
			return &t->keys[i];
	return NULL;
}

bool spec_type_is_list(enum spec_type t)
{
	return t == SPEC_TYPE_MAPS || t == SPEC_TYPE_IPS || t == SPEC_TYPE_RANGES ||
	       t == SPEC_TYPE_URLS || t == SPEC_TYPE_ACCOUNTS || t == SPEC_TYPE_NAMES ||
	       t == SPEC_TYPE_NETWORKS || t == SPEC_TYPE_CORES || t == SPEC_TYPE_PRIOS;
}
