/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens packet sockets with a filter generated from lists of addresses, and sends probes. */
#include "agent/wiring/wiring_socket.h"
#include "agent/wiring/wiring.h"
#include "netcfg/base/os/packet_socket.h"
#include "netcfg/linux/probe.h"
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/icmp6.h>
#include <string.h>

/* Offsets in an Ethernet frame. The filter compares only the last 32 bits of an IPv6 address;
 * wiring.c compares the whole address later. */
#define ARP_SENDER 28
#define ARP_TARGET 38
#define IP6_NEXT 20
#define IP6_SOURCE_END 34
#define ND_TYPE 54
#define ND_TARGET_END 74
#define PASS UINT16_MAX
#define GROUPS_MAX 16 /* maximum number of multicast groups that a socket joins */
#define RCVBUF_BYTES (64 * 1024)

struct program {
	struct sock_filter code[BPF_MAXINSNS];
	size_t n;
};

static void emit(struct program *p, struct sock_filter i)
{
	if (p->n < ARRAY_SIZE(p->code))
		p->code[p->n++] = i;
}

static uint32_t word(const struct ip_addr *ip)
{
	uint32_t w;

	memcpy(&w, ip->bytes + (ip->family == AF_INET ? 0 : 12), sizeof(w));
	return ntohl(w);
}

/* Appends instructions that accept the packet if the word at `at` equals the last word of one of
 * the addresses. */
static void pass_if_in(struct program *p, uint32_t at, const struct wiring_filter *f)
{
	emit(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at));
	for (size_t i = 0; i < f->n_watched && i < WIRING_FILTER_MAX; i++) {
		emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						     word(&f->watched[i]), 0, 1));
		emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, PASS));
	}
}

/* Appends instructions that drop the packet if the loaded value is not k. */
static void drop_unless(struct program *p, uint32_t k)
{
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, 1, 0));
	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0));
}

/* Appends instructions that drop a frame with a VLAN tag. Such a frame belongs to another network,
 * even if the host has no link for that VLAN. */
static void drop_tagged(struct program *p)
{
	emit(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_B | BPF_ABS,
					     (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)));
	drop_unless(p, 0);
}

static void filter_arp(struct program *p, const struct wiring_filter *f)
{
	drop_tagged(p);
	pass_if_in(p, ARP_SENDER, f);
	drop_unless(p, 0); /* drops requests of senders that already have an address */
	pass_if_in(p, ARP_TARGET, f);
	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0));
}

static void filter_nd(struct program *p, const struct wiring_filter *f)
{
	size_t jump;

	drop_tagged(p);
	emit(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_B | BPF_ABS, IP6_NEXT));
	drop_unless(p, IPPROTO_ICMPV6);
	emit(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_B | BPF_ABS, ND_TYPE));
	emit(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ND_NEIGHBOR_ADVERT, 1, 0));
	jump = p->n;
	emit(p, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
	pass_if_in(p, ND_TARGET_END, f); /* the address that an advertisement announces */
	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0));
	p->code[jump].k = (uint32_t)(p->n - jump - 1);
	drop_unless(p, ND_NEIGHBOR_SOLICIT);
	pass_if_in(p, IP6_SOURCE_END, f);
	drop_unless(p, 0);
	pass_if_in(p, ND_TARGET_END, f);
	emit(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0));
}

/* Joins the multicast groups to which other hosts send probes and answers for the addresses. */
static void join(int fd, uint32_t ifindex, const struct wiring_filter *f)
{
	(void)packet_socket_group(fd, ifindex, &mac_addr_all_nodes);
	for (size_t i = 0; i < f->n_watched && i < GROUPS_MAX; i++) {
		const struct mac_addr group = mac_addr_solicited(&f->watched[i]);

		(void)packet_socket_group(fd, ifindex, &group);
	}
}

int wiring_socket_open(uint32_t ifindex, uint8_t family, const struct wiring_filter *f)
{
	autoclose int fd = packet_socket_new(SOCK_RAW);
	const int bytes = RCVBUF_BYTES;
	struct program p = {.n = 0};
	int r;

	if (fd < 0)
		return fd;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (family == AF_INET)
		filter_arp(&p, f);
	else
		filter_nd(&p, f);
	r = packet_socket_filter(fd, p.code, p.n);
	if (r >= 0)
		r = packet_socket_filter_keep(fd);
	if (r >= 0)
		r = packet_socket_ignore_own(fd);
	if (r >= 0 && family == AF_INET6)
		join(fd, ifindex, f);
	if (r >= 0)
		r = packet_socket_bind(fd, ifindex, family == AF_INET ? ETH_P_ARP : ETH_P_IPV6);
	return r < 0 ? r : fd_take(fd);
}

int wiring_socket_sender(void)
{
	return packet_socket_new(SOCK_DGRAM);
}

int wiring_socket_send(int fd, const struct wiring_packet *w)
{
	const struct kernel_probe p = {.ifindex = w->leg->ifindex,
				       .ip = *w->ip,
				       .from = w->from ? *w->from : (struct ip_addr){0},
				       .mac = w->leg->mac};
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol =
					 htons(w->ip->family == AF_INET ? ETH_P_ARP : ETH_P_IPV6),
				 .sll_ifindex = (int)p.ifindex,
				 .sll_halen = sizeof(p.mac.bytes)};
	uint8_t buf[PROBE_BYTES_MAX];
	struct mac_addr station;
	size_t len = w->announce ? probe_write_announcement(&p, buf, &station)
				 : probe_write(&p, buf, &station);

	memcpy(to.sll_addr, station.bytes, sizeof(station.bytes));
	return sendto(fd, buf, len, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to)) < 0 ? -errno
											  : 0;
}
