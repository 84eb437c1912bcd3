/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes and parses the frames of duplicate address detection, and owns the sockets that carry
 * them. */
#include "netcfg/linux/probe.h"
#include "netcfg/base/os/packet_socket.h"
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip6.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Each probe is sent this many times because packets may be lost, with gaps long enough for a slow
 * host to answer. The longer intervals of RFC 5227 (7 s in all) are meant for hosts that appear at
 * random times. */
#define PROBES 3
#define PROBE_GAP_NS (150 * NSEC_PER_MSEC)

#define ARP_BYTES 28
#define ND_BYTES (sizeof(struct ip6_hdr) + sizeof(struct nd_neighbor_solicit))
/* the size of a solicitation, and 8 bytes for the option with the MAC address */
#define ADVERT_BYTES (ND_BYTES + 8)

static const struct mac_addr broadcast = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

/* ---- frames ---- */

/* Writes an ARP request. If the probe has no `from`, the sender's IP address is zero, as RFC 5227
 * demands for probes. */
static size_t arp_write(const struct kernel_probe *p, uint8_t *buf)
{
	static const uint8_t head[8] = {0, ARPHRD_ETHER, 8, 0, 6, 4, 0, ARPOP_REQUEST};

	memset(buf, 0, ARP_BYTES);
	memcpy(buf, head, sizeof(head));
	memcpy(buf + 8, p->mac.bytes, 6);
	if (p->from.family == AF_INET)
		memcpy(buf + 14, p->from.bytes, 4);
	memcpy(buf + 24, p->ip.bytes, 4);
	return ARP_BYTES;
}

/* Computes the checksum over the pseudo header and the message (RFC 4443, section 2.3). */
static uint16_t icmp6_checksum(const uint8_t *packet, size_t len)
{
	const size_t at = sizeof(struct ip6_hdr);
	uint32_t sum = (uint32_t)(len - at) + IPPROTO_ICMPV6;

	for (size_t i = offsetof(struct ip6_hdr, ip6_src); i + 1 < len; i += 2)
		sum += (uint32_t)packet[i] << 8 | packet[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Writes a neighbour solicitation. If the probe has no `from`, the source is the unspecified
 * address, so that receivers do not learn an address from the packet (RFC 4862, section 5.4.2). */
static size_t nd_write(const struct kernel_probe *p, uint8_t *buf, struct mac_addr *ret_to)
{
	const struct ip_addr *ip = &p->ip;

	struct ip6_hdr h = {.ip6_flow = htonl(6U << 28)};
	struct nd_neighbor_solicit ns = {.nd_ns_type = ND_NEIGHBOR_SOLICIT};
	static const uint8_t group[13] = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};

	h.ip6_plen = htons(sizeof(ns));
	h.ip6_nxt = IPPROTO_ICMPV6;
	h.ip6_hlim = 255;
	if (p->from.family == AF_INET6)
		memcpy(&h.ip6_src, p->from.bytes, 16);
	memcpy(&h.ip6_dst, group, sizeof(group));
	memcpy((uint8_t *)&h.ip6_dst + 13, ip->bytes + 13, 3);
	memcpy(&ns.nd_ns_target, ip->bytes, 16);
	memcpy(buf, &h, sizeof(h));
	memcpy(buf + sizeof(h), &ns, sizeof(ns));
	ns.nd_ns_cksum = htons(icmp6_checksum(buf, ND_BYTES));
	memcpy(buf + sizeof(h), &ns, sizeof(ns));
	*ret_to = mac_addr_solicited(ip);
	return ND_BYTES;
}

size_t probe_write(const struct kernel_probe *p, uint8_t buf[static PROBE_BYTES_MAX],
		   struct mac_addr *ret_to)
{
	_Static_assert(ND_BYTES <= PROBE_BYTES_MAX && ARP_BYTES <= PROBE_BYTES_MAX, "both fit");
	*ret_to = broadcast;
	return p->ip.family == AF_INET ? arp_write(p, buf) : nd_write(p, buf, ret_to);
}

/* Writes an advertisement to all nodes, with the override flag, which makes them replace their
 * cached entries. */
static size_t advert_write(const struct kernel_probe *p, uint8_t *buf, struct mac_addr *ret_to)
{
	static const uint8_t all_nodes[16] = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
	static const uint8_t option[2] = {ND_OPT_TARGET_LINKADDR, 1};
	struct nd_neighbor_advert na = {.nd_na_type = ND_NEIGHBOR_ADVERT,
					.nd_na_flags_reserved = ND_NA_FLAG_OVERRIDE};
	struct ip6_hdr h = {.ip6_flow = htonl(6U << 28)};

	h.ip6_plen = htons(ADVERT_BYTES - sizeof(h));
	h.ip6_nxt = IPPROTO_ICMPV6;
	h.ip6_hlim = 255;
	memcpy(&h.ip6_src, p->ip.bytes, 16);
	memcpy(&h.ip6_dst, all_nodes, sizeof(all_nodes));
	memcpy(&na.nd_na_target, p->ip.bytes, 16);
	memcpy(buf, &h, sizeof(h));
	memcpy(buf + sizeof(h), &na, sizeof(na));
	memcpy(buf + ND_BYTES, option, sizeof(option));
	memcpy(buf + ND_BYTES + sizeof(option), p->mac.bytes, 6);
	na.nd_na_cksum = htons(icmp6_checksum(buf, ADVERT_BYTES));
	memcpy(buf + sizeof(h), &na, sizeof(na));
	*ret_to = mac_addr_all_nodes;
	return ADVERT_BYTES;
}

size_t probe_write_announcement(const struct kernel_probe *p, uint8_t buf[static PROBE_BYTES_MAX],
				struct mac_addr *ret_to)
{
	struct kernel_probe a = *p;

	_Static_assert(ADVERT_BYTES <= PROBE_BYTES_MAX, "an advertisement fits in a probe buffer");
	if (p->ip.family == AF_INET6)
		return advert_write(p, buf, ret_to);
	a.from = p->ip;
	*ret_to = broadcast;
	return arp_write(&a, buf);
}

bool probe_parse_arp(const uint8_t *p, size_t len, struct ip_addr *ret, struct mac_addr *ret_by)
{
	static const uint8_t head[6] = {0, ARPHRD_ETHER, 8, 0, 6, 4};
	static const uint8_t none[4];
	const uint8_t *sender = p + 14, *target = p + 24;

	if (len < ARP_BYTES || memcmp(p, head, sizeof(head)) != 0)
		return false;
	*ret = (struct ip_addr){.family = AF_INET};
	memcpy(ret_by->bytes, p + 8, 6);
	if (memcmp(sender, none, 4) != 0)
		memcpy(ret->bytes, sender, 4);
	else if (p[7] == ARPOP_REQUEST)
		/* a solicitation without a source: another host is probing for the same address now
		 */
		memcpy(ret->bytes, target, 4);
	else
		return false;
	return true;
}

bool probe_parse_nd(const uint8_t *p, size_t len, const struct mac_addr *from, struct ip_addr *ret,
		    struct mac_addr *ret_by)
{
	struct nd_neighbor_solicit m; /* an advertisement has the same layout */
	struct ip6_hdr h;

	if (len < ND_BYTES)
		return false;
	memcpy(&h, p, sizeof(h));
	memcpy(&m, p + sizeof(h), sizeof(m));
	/* A hop limit below 255 means that the packet was forwarded from another network, so it is
	 * invalid (RFC 4861, section 7.1). */
	if (h.ip6_vfc >> 4 != 6 || h.ip6_nxt != IPPROTO_ICMPV6 || h.ip6_hlim != 255 ||
	    m.nd_ns_code != 0)
		return false;
	if (m.nd_ns_type != ND_NEIGHBOR_ADVERT &&
	    (m.nd_ns_type != ND_NEIGHBOR_SOLICIT || !IN6_IS_ADDR_UNSPECIFIED(&h.ip6_src)))
		return false;
	*ret = (struct ip_addr){.family = AF_INET6};
	memcpy(ret->bytes, &m.nd_ns_target, 16);
	*ret_by = *from;
	return true;
}

/* ---- sockets ---- */

/* Sets a filter that passes only neighbour discovery. Without this filter, the kernel would copy
 * all IPv6 traffic of the host to the socket. */
static int filter_nd(int fd)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, offsetof(struct ip6_hdr, ip6_nxt)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 0, 4),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, sizeof(struct ip6_hdr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ND_NEIGHBOR_SOLICIT, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ND_NEIGHBOR_ADVERT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT16_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};

	return packet_socket_filter(fd, code, ARRAY_SIZE(code));
}

static int socket_open(int *fd, int (*filter)(int fd))
{
	autoclose int new = -1;
	int r = 0;

	if (*fd >= 0)
		return 0;
	new = packet_socket_new(SOCK_DGRAM);
	if (new < 0)
		return new;
	if (filter)
		r = filter(new);
	if (r == 0) {
		*fd = new;
		new = -1;
	}
	return r;
}

int probe_open(struct probe_sockets *s)
{
	int r = socket_open(&s->arp, NULL);

	return r < 0 ? r : socket_open(&s->nd, filter_nd);
}

void probe_close(struct probe_sockets *s)
{
	cleanup_close(&s->arp);
	cleanup_close(&s->nd);
	*s = PROBE_SOCKETS_INIT;
}

/* Joins the multicast groups to which hosts send answers and probes. The membership ends when the
 * socket is closed. */
static void join(int fd, const struct kernel_probe *p, const struct mac_addr *group)
{
	(void)packet_socket_group(fd, p->ifindex, group);
	(void)packet_socket_group(fd, p->ifindex, &mac_addr_all_nodes);
}

/* Sends one of the PROBES packets. A failure is ignored: more packets follow, and the link may be
 * up then. */
static void send_one(const struct probe_sockets *s, const struct kernel_probe *p, bool first)
{
	const bool v4 = p->ip.family == AF_INET;
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(v4 ? ETH_P_ARP : ETH_P_IPV6),
				 .sll_ifindex = (int)p->ifindex,
				 .sll_halen = 6};
	uint8_t buf[PROBE_BYTES_MAX];
	struct mac_addr station;
	size_t len = probe_write(p, buf, &station);

	memcpy(to.sll_addr, station.bytes, 6);
	if (first && !v4)
		join(s->nd, p, &station);
	(void)sendto(v4 ? s->arp : s->nd, buf, len, 0, (struct sockaddr *)&to, sizeof(to));
}

static void take(struct kernel_probe *probes, size_t n, uint32_t ifindex, const struct ip_addr *ip,
		 const struct mac_addr *by)
{
	for (size_t i = 0; i < n; i++) {
		if (probes[i].ifindex != ifindex || !ip_addr_equal(&probes[i].ip, ip))
			continue;
		probes[i].taken = true;
		probes[i].by = *by;
	}
}

static bool is_own(const struct mac_addr *m, const struct mac_addr *own, size_t n_own)
{
	for (size_t i = 0; i < n_own; i++)
		if (memcmp(m, &own[i], sizeof(*m)) == 0)
			return true;
	return false;
}

static void receive(int fd, bool v4, struct kernel_probe *probes, size_t n,
		    const struct mac_addr *own, size_t n_own)
{
	uint8_t buf[128];
	struct sockaddr_ll sll;
	ssize_t len;

	for (;;) {
		socklen_t size = sizeof(sll);
		struct mac_addr from, by;
		struct ip_addr ip;

		len = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&sll, &size);
		if (len < 0)
			return;
		memcpy(from.bytes, sll.sll_addr, sizeof(from.bytes));
		if (sll.sll_pkttype != PACKET_OUTGOING &&
		    (v4 ? probe_parse_arp(buf, (size_t)len, &ip, &by)
			: probe_parse_nd(buf, (size_t)len, &from, &ip, &by)) &&
		    !is_own(&by, own, n_own) && !is_own(&from, own, n_own))
			take(probes, n, (uint32_t)sll.sll_ifindex, &ip, &by);
	}
}

int probe_run(const struct probe_sockets *s, struct kernel_probe *probes, size_t n,
	      const struct mac_addr *own, size_t n_own)
{
	struct pollfd fds[2] = {{s->arp, POLLIN, 0}, {s->nd, POLLIN, 0}};
	uint64_t next = clock_now_ns();
	int r;

	if (s->arp < 0 || s->nd < 0)
		return -EBADF;
	r = packet_socket_bind(s->arp, 0, ETH_P_ARP);
	if (r == 0)
		r = packet_socket_bind(s->nd, 0, ETH_P_IPV6);
	for (unsigned sent = 0; r == 0;) {
		uint64_t now = clock_now_ns();

		if (now >= next && sent == PROBES)
			break;
		if (now >= next) {
			for (size_t i = 0; i < n; i++)
				send_one(s, &probes[i], sent == 0);
			next = now + PROBE_GAP_NS;
			sent++;
		}
		(void)poll(fds, ARRAY_SIZE(fds), (int)((next - now) / NSEC_PER_MSEC) + 1);
		receive(s->arp, true, probes, n, own, n_own);
		receive(s->nd, false, probes, n, own, n_own);
	}
	return r;
}
