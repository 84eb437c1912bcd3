/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configures a DPDK device: its offloads, the number of its queues, and their memory. No function
 * here runs per packet.
 */
#include "dataplane/port/dpdk/port_dpdk_queues.h"
#include "dataplane/port/dpdk/port_dpdk.h"
#include "netcfg/base/log.h"
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_memory.h>

#define POOL_CACHE 256U
#define SPREAD_BY (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP)

struct setup { /* Parameters and results of setting up one device. The functions of this file share
		  them. */
	const struct port_dpdk_queues_of *of;
	const struct launch_port *lp;
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf;
	struct port_dpdk_wants wants;
	struct port_dpdk_sizes sizes;
	struct port_dpdk_got got;
	int memory_error;
};

/* ------------------------------------------------------------------ capabilities of the device */

/* Returns the speed of the kernel's interface or, for a VF, of its PF. 0: unknown. */
static uint32_t interface_mbps(const char *ifname)
{
	struct ethtool_cmd cmd = {.cmd = ETHTOOL_GSET};
	struct ifreq ifr = {.ifr_data = (char *)&cmd};
	autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t mbps;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	if (!ifname[0] || fd < 0 || ioctl(fd, SIOCETHTOOL, &ifr) < 0)
		return 0;
	mbps = ethtool_cmd_speed(&cmd);
	return mbps == (uint32_t)SPEED_UNKNOWN ? 0 : mbps;
}

/* Returns the highest speed, in Mb/s, that the device supports. */
static uint32_t capable_mbps(uint32_t capa)
{
	static const struct {
		uint32_t bit, mbps;
	} speeds[] = {
		{RTE_ETH_LINK_SPEED_200G, 200000}, {RTE_ETH_LINK_SPEED_100G, 100000},
		{RTE_ETH_LINK_SPEED_50G, 50000},   {RTE_ETH_LINK_SPEED_40G, 40000},
		{RTE_ETH_LINK_SPEED_25G, 25000},   {RTE_ETH_LINK_SPEED_10G, 10000},
		{RTE_ETH_LINK_SPEED_1G, 1000},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(speeds); i++)
		if (capa & speeds[i].bit)
			return speeds[i].mbps;
	return 0;
}

/* Returns whether this is an AF_PACKET device. For such a device, the kernel spreads packets over
 * as many sockets as the device's arguments request. Packets wait in the sockets' buffers, whose
 * size does not depend on the link speed. */
static bool is_af_packet(const struct rte_eth_dev_info *info)
{
	return strcmp(info->driver_name, "net_af_packet") == 0;
}

/* Returns how much space a frame needs in a buffer. An ordinary receive ring splits frames into
 * pieces of a KiB, but an AF_PACKET socket needs space for a whole frame. */
static unsigned frame_room(const struct setup *s)
{
	const unsigned around = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN + 2 * RTE_VLAN_HLEN;

	if (!s->of->on_pci)
		return port_dpdk_frame_room(s->lp->mtu);
	return (unsigned)RTE_ALIGN_CEIL(MAX_OF(s->lp->mtu + around, 2048U), 1024U);
}

static void wants_fill(struct setup *s, const struct launch_config *cfg, unsigned index)
{
	struct port_dpdk_wants *w = &s->wants;
	bool spreads = s->info.flow_type_rss_offloads & SPREAD_BY;

	w->mtu = s->lp->mtu;
	w->room = frame_room(s);
	w->memory_mib = port_dpdk_memory_mib(cfg, index);
	w->queues = 1;
	if (is_af_packet(&s->info)) {
		w->queues = s->info.max_rx_queues;
		w->all_queues = true;
		return;
	}
	w->mbps = interface_mbps(s->lp->ifname);
	if (w->mbps == 0)
		w->mbps = capable_mbps(s->info.speed_capa);
	/* Use one queue if the worker waits for interrupts, because only one queue can wake it. */
	if (spreads && cfg->transport != LAUNCH_DPDK_INTERRUPT)
		w->queues = MAX_OF(s->info.max_rx_queues, 1);
}

/* ------------------------------------------------------------------ configuration of the device */

static void offloads_choose(struct setup *s, struct port_dpdk_queues *q)
{
	uint64_t tx = RTE_ETH_TX_OFFLOAD_UDP_CKSUM, rx = RTE_ETH_RX_OFFLOAD_CHECKSUM;
	bool v4 = s->lp->ip.addr.family == AF_INET;

	if (v4)
		tx |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM;
	if ((s->info.tx_offload_capa & tx) == tx) {
		s->conf.txmode.offloads |= tx;
		q->tx_flags = PORT_L2_OFFLOAD_CHECKSUM;
		q->tx_mbuf_flags = RTE_MBUF_F_TX_UDP_CKSUM;
		q->tx_mbuf_flags |=
			v4 ? RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM : RTE_MBUF_F_TX_IPV6;
	}
	s->conf.txmode.offloads |= s->info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	s->conf.rxmode.offloads |= s->info.rx_offload_capa & rx;
}

static int configure_queues(struct setup *s, unsigned n)
{
	/* If the device is shared with the kernel, flow rules choose the queue of each packet. */
	bool spread = n > 1 && !is_af_packet(&s->info) && !s->lp->shared;

	s->conf.rxmode.mq_mode = spread ? RTE_ETH_MQ_RX_RSS : RTE_ETH_MQ_RX_NONE;
	s->conf.rx_adv_conf.rss_conf.rss_hf =
		spread ? SPREAD_BY & s->info.flow_type_rss_offloads : 0;
	return rte_eth_dev_configure(s->of->id, (uint16_t)n, 1, &s->conf);
}

/* Configures the queues. Only this call shows how many queues the PF allows a VF. */
static int device_configure(struct setup *s)
{
	int r = configure_queues(s, s->sizes.rx_queues);

	if (r == 0 || s->sizes.rx_queues == 1 || s->wants.all_queues)
		return r;
	s->wants.queues = 1;
	port_dpdk_sizes_choose(&s->wants, &s->sizes);
	return configure_queues(s, 1);
}

/* ------------------------------------------------------------------ memory */

static struct rte_mempool *pool_on(const struct setup *s, unsigned index, int node)
{
	unsigned room = s->wants.room + RTE_PKTMBUF_HEADROOM;
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "plenum-%u", index);
	return rte_pktmbuf_pool_create(name, port_dpdk_sizes_buffers(&s->sizes, POOL_CACHE),
				       POOL_CACHE, 0, (uint16_t)room, node);
}

static int pool_node(struct rte_mempool *pool)
{
	const struct rte_mempool_memhdr *first = STAILQ_FIRST(&pool->mem_list);
	const struct rte_memseg *seg = first ? rte_mem_virt2memseg(first->addr, NULL) : NULL;

	return seg ? seg->socket_id : -1;
}

/* Creates the buffers on the NUMA node of the NIC, or elsewhere if that node has no memory. If
 * memory is short, creates fewer buffers. */
static int pool_make(struct setup *s, unsigned index, struct reason *why, struct rte_mempool **ret)
{
	int node = rte_eth_dev_socket_id(s->of->id);
	uint64_t bytes = port_dpdk_sizes_buffer_bytes(s->wants.room);

	s->got.wanted = (uint16_t)(s->sizes.rx_descriptors * s->sizes.rx_queues);
	bytes *= port_dpdk_sizes_buffers(&s->sizes, POOL_CACHE);
	do {
		*ret = pool_on(s, index, node < 0 ? (int)rte_socket_id() : node);
		if (!*ret)
			*ret = pool_on(s, index, SOCKET_ID_ANY);
	} while (!*ret && port_dpdk_sizes_halve(&s->sizes));
	if (!*ret) {
		reason_set_text(why, "leg %.32s needs %u MiB of hugepages: %s", s->lp->leg,
				(unsigned)(bytes >> 20), rte_strerror(rte_errno));
		return -ENOMEM;
	}
	s->got.descriptors = (uint16_t)(s->sizes.rx_descriptors * s->sizes.rx_queues);
	s->got.device_node = s->of->on_pci ? node : -1;
	s->got.memory_node = pool_node(*ret);
	return 0;
}

static int rings_setup(const struct setup *s, struct rte_mempool *pool)
{
	unsigned node = (unsigned)rte_eth_dev_socket_id(s->of->id);

	for (uint16_t i = 0; i < s->sizes.rx_queues; i++) {
		int r = rte_eth_rx_queue_setup(s->of->id, i, s->sizes.rx_descriptors, node, NULL,
					       pool);

		if (r < 0)
			return r;
	}
	return rte_eth_tx_queue_setup(s->of->id, 0, s->sizes.tx_descriptors, node, NULL);
}

/* Returns the largest MTU of the device. If the device reports no MTU limit, its longest frame sets
 * the limit. AF_PACKET in DPDK 22.11 always reports 1518. */
static uint32_t mtu_most(const struct setup *s)
{
	const uint32_t around = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;

	if (s->info.max_mtu != UINT16_MAX || is_af_packet(&s->info) ||
	    s->info.max_rx_pktlen <= around)
		return s->info.max_mtu;
	return MIN_OF(s->info.max_rx_pktlen - around, (uint32_t)UINT16_MAX);
}

int port_dpdk_queues_setup(struct port_dpdk_queues *q, const struct port_dpdk_queues_of *of,
			   const struct launch_config *cfg, unsigned index, struct reason *why)
{
	struct setup s = {.of = of, .lp = &cfg->ports[index]};
	int r = rte_eth_dev_info_get(of->id, &s.info);

	if (r < 0)
		return r;
	if (s.lp->mtu < s.info.min_mtu || s.lp->mtu > mtu_most(&s)) {
		reason_set_text(why, "%.32s supports an MTU of %u to %u, not %u", of->device,
				s.info.min_mtu, mtu_most(&s), s.lp->mtu);
		return -EINVAL;
	}
	s.conf.rxmode.mtu =
		is_af_packet(&s.info) ? MIN_OF(s.lp->mtu, (uint32_t)RTE_ETHER_MTU) : s.lp->mtu;
	s.conf.intr_conf.rxq = cfg->transport == LAUNCH_DPDK_INTERRUPT;
	offloads_choose(&s, q);
	wants_fill(&s, cfg, index);
	if (s.wants.all_queues && s.wants.queues > PORT_DPDK_QUEUES_MAX) {
		reason_set_text(why, "%.32s supports at most %u queues (qpairs), not %u",
				of->device, PORT_DPDK_QUEUES_MAX, s.wants.queues);
		return -EINVAL;
	}
	port_dpdk_sizes_choose(&s.wants, &s.sizes);
	r = device_configure(&s);
	if (r < 0)
		return r;
	q->n_rx = s.sizes.rx_queues;
	r = rte_eth_dev_adjust_nb_rx_tx_desc(of->id, &s.sizes.rx_descriptors,
					     &s.sizes.tx_descriptors);
	if (r == 0)
		r = pool_make(&s, index, why, &q->pool);
	if (r == 0)
		r = rings_setup(&s, q->pool);
	if (r < 0)
		return r;
	log_info("%s: %u receive queues of %u descriptors, and send queues of %u", of->device,
		 q->n_rx, s.sizes.rx_descriptors, s.sizes.tx_descriptors);
	port_dpdk_sizes_report(&s.got, why);
	return 0;
}
