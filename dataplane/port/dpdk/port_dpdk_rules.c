/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow rules of a NIC that is shared with the kernel. Its driver leaves all traffic to the kernel
 * except UDP datagrams to one address and port.
 */
#include "dataplane/port/dpdk/port_dpdk_rules.h"
#include "dataplane/port/dpdk/port_dpdk.h"
#include "dataplane/port/dpdk/port_dpdk_sizes.h"
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#define SPREAD_BY (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP)
#define KEEP_BYTES 1 /* receive buffer size; the kernel raises it to its own minimum */

/* Writes the sentence about a refused rule to `why`. The driver may not have given an error
 * message. */
static int refuse(int r, const struct rte_flow_error *e, const char *device, const char *what,
		  struct reason *why)
{
	r = r < 0 ? r : -EIO;
	reason_set_text(why, "%.32s %s: %s", device, what, e->message ? e->message : strerror(-r));
	return r;
}

void port_dpdk_rules_init(struct port_dpdk_rules *r, uint16_t id)
{
	*r = (struct port_dpdk_rules){.id = id, .port_fd = -1};
}

/* Reserves the UDP port by a socket that is never read. So datagrams that arrive before the flow
 * rule exists are dropped, while otherwise the kernel would answer them with ICMP errors. */
static int port_keep(const struct port_l2_local *local)
{
	const int bytes = KEEP_BYTES, on = 1;
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(local->udp_port)};
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(local->udp_port)};
	bool is_v6 = local->ip.family == AF_INET6;
	int fd = socket(local->ip.family, SOCK_DGRAM | SOCK_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	memcpy(&v4.sin_addr, local->ip.bytes, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, local->ip.bytes, sizeof(v6.sin6_addr));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (is_v6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	r = is_v6 ? bind(fd, (const struct sockaddr *)&v6, sizeof(v6))
		  : bind(fd, (const struct sockaddr *)&v4, sizeof(v4));
	if (r == 0)
		return fd;
	r = -errno;
	close(fd);
	return r;
}

int port_dpdk_rules_isolate(struct port_dpdk_rules *r, const struct port_l2_local *local,
			    const char *device, struct reason *why)
{
	struct rte_flow_error e = {.message = NULL};
	char ip[IP_ADDR_STR_MAX];
	int ret;

	r->port_fd = port_keep(local);
	if (r->port_fd < 0) {
		reason_set_text(why, "cannot reserve UDP port %u on %s: %s", local->udp_port,
				ip_addr_format(&local->ip, ip, sizeof(ip)), strerror(-r->port_fd));
		return r->port_fd;
	}
	ret = rte_flow_isolate(r->id, 1, &e);
	if (ret < 0)
		return refuse(ret, &e, device, "cannot leave other traffic to the kernel", why);
	r->isolated = true;
	return 0;
}

/* Creates a rule that steers packets to the first n_queues queues. It distributes them over several
 * queues by a hash of addresses and ports. */
static struct rte_flow *flow_new(uint16_t id, const struct rte_flow_item *pattern,
				 unsigned n_queues, struct rte_flow_error *e)
{
	const struct rte_flow_attr attr = {.ingress = 1};
	const struct rte_flow_action_queue queue = {.index = 0};
	struct rte_flow_action_rss rss = {.queue_num = n_queues};
	uint16_t queues[PORT_DPDK_QUEUES_MAX];
	struct rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue},
					    {.type = RTE_FLOW_ACTION_TYPE_END}};
	struct rte_eth_dev_info info;

	if (n_queues > 1) {
		if (rte_eth_dev_info_get(id, &info) < 0)
			return NULL;
		for (uint16_t i = 0; i < n_queues; i++)
			queues[i] = i;
		rss.queue = queues;
		rss.types = SPREAD_BY & info.flow_type_rss_offloads;
		actions[0] = (struct rte_flow_action){RTE_FLOW_ACTION_TYPE_RSS, &rss};
	}
	return rte_flow_create(id, &attr, pattern, actions, e);
}

int port_dpdk_rules_make(struct port_dpdk_rules *r, const struct port_l2_local *local,
			 unsigned n_queues, const char *device, struct reason *why)
{
	struct rte_flow_item_ipv4 v4, v4_mask;
	struct rte_flow_item_ipv6 v6, v6_mask;
	const struct rte_flow_item_udp udp = {.hdr.dst_port = htons(local->udp_port)};
	const struct rte_flow_item_udp udp_mask = {.hdr.dst_port = UINT16_MAX};
	const bool is_v6 = local->ip.family == AF_INET6;
	const struct rte_flow_item pattern[] = {
		{.type = RTE_FLOW_ITEM_TYPE_ETH},
		is_v6 ? (struct rte_flow_item){RTE_FLOW_ITEM_TYPE_IPV6, &v6, NULL, &v6_mask}
		      : (struct rte_flow_item){RTE_FLOW_ITEM_TYPE_IPV4, &v4, NULL, &v4_mask},
		{RTE_FLOW_ITEM_TYPE_UDP, &udp, NULL, &udp_mask},
		{.type = RTE_FLOW_ITEM_TYPE_END},
	};
	struct rte_flow_error e = {.message = NULL};

	if (n_queues == 0 || n_queues > PORT_DPDK_QUEUES_MAX)
		return -EINVAL;
	memset(&v4, 0, sizeof(v4));
	memset(&v6, 0, sizeof(v6));
	v4_mask = v4;
	v6_mask = v6;
	memcpy(&v4.hdr.dst_addr, local->ip.bytes, sizeof(v4.hdr.dst_addr));
	memcpy(&v6.hdr.dst_addr, local->ip.bytes, sizeof(v6.hdr.dst_addr));
	memset(&v4_mask.hdr.dst_addr, 0xff, sizeof(v4_mask.hdr.dst_addr));
	memset(&v6_mask.hdr.dst_addr, 0xff, sizeof(v6_mask.hdr.dst_addr));
	/* The pattern need not contain the IP protocol, because the UDP item that follows implies
	 * it. */
	r->flow = flow_new(r->id, pattern, n_queues, &e);
	if (!r->flow)
		return refuse(-rte_errno, &e, device, "refuses the flow rule for our datagrams",
			      why);
	return 0;
}

void port_dpdk_rules_done(struct port_dpdk_rules *r)
{
	struct rte_flow_error e;

	if (r->flow)
		(void)rte_flow_destroy(r->id, r->flow, &e);
	cleanup_close(&r->port_fd);
	r->flow = NULL;
	r->port_fd = -1;
	r->isolated = false;
}
