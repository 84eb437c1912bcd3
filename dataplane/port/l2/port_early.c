/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends address probes before the port exists. It has sockets and a thread of its own, because
 * port_neigh uses neither.
 */
#include "dataplane/port/l2/port_early.h"
#include "dataplane/port/l2/port_interface.h"
#include "netcfg/base/os/packet_socket.h"
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define HEARD_BYTES 2048U
/* Maximum number of frames that one call reads. The buffer of a socket usually has space for fewer.
 */
#define HEARD_MAX 4096U
#define STACK_BYTES (64UL << 10)

/* ------------------------------------------------------------------ the socket */

static uint32_t word_at(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

/* Installs a filter that passes only untagged ARP frames that are from or about the probed address.
 * The socket buffer is small: if other frames filled it, the reply might be dropped. */
static int filter_ip4(int fd, const struct ip_addr *addr)
{
	uint32_t ip = word_at(addr->bytes);
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 6),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_ARP, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 28), /* compare the address of the sender in the
							   ARP frame */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ip, 3, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 38), /* compare the address of the target in the
							   ARP frame */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ip, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};

	return packet_socket_filter(fd, code, ARRAY_SIZE(code));
}

/* Like filter_ip4(), but for IPv6: passes only solicitations and advertisements whose target is the
 * probed address. */
static int filter_ip6(int fd, const struct ip_addr *addr)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 15),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IPV6, 0, 13),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 0, 11),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 54),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ND_NEIGHBOR_SOLICIT, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ND_NEIGHBOR_ADVERT, 0, 8),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 62),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word_at(addr->bytes), 0, 6),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 66),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word_at(addr->bytes + 4), 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 70),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word_at(addr->bytes + 8), 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 74),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word_at(addr->bytes + 12), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};

	return packet_socket_filter(fd, code, ARRAY_SIZE(code));
}

/* Joins two multicast groups: the one to which hosts send the answer to an anonymous probe, and the
 * one to which they send questions about the probed address. */
static int groups_join(int fd, uint32_t ifindex, const struct ip_addr *ip)
{
	const struct mac_addr ours = mac_addr_solicited(ip);
	int r = packet_socket_group(fd, ifindex, &mac_addr_all_nodes);

	return r < 0 ? r : packet_socket_group(fd, ifindex, &ours);
}

/* Returns whether the interface has a link. An interface that cannot report a link counts as having
 * none. */
static bool has_link_now(const struct port_early *e)
{
	return port_interface_has_link(e->fd, e->ifname) > 0;
}

static int socket_open(struct port_early *e, unsigned ifindex)
{
	bool ip6 = e->local.ip.family == AF_INET6;
	int r;

	e->fd = packet_socket_new(SOCK_RAW);
	if (e->fd < 0)
		return e->fd;
	r = port_interface_mac(e->fd, e->ifname, &e->local.mac);
	if (r == 0)
		r = ip6 ? filter_ip6(e->fd, &e->local.ip) : filter_ip4(e->fd, &e->local.ip);
	if (r == 0)
		r = packet_socket_ignore_own(e->fd);
	if (r == 0)
		r = packet_socket_bind(e->fd, ifindex, ETH_P_ALL);
	if (r == 0 && ip6)
		r = groups_join(e->fd, ifindex, &e->local.ip);
	return r;
}

/* ------------------------------------------------------------------ sending probes */

void port_early_init(struct port_early_all *a)
{
	*a = (struct port_early_all){.runs = false};
	for (unsigned i = 0; i < LAUNCH_PORTS_MAX; i++)
		a->asks[i].fd = -1;
}

void port_early_add(struct port_early_all *a, const struct launch_port *lp, unsigned index)
{
	struct port_early *e = &a->asks[index];
	unsigned ifindex = if_nametoindex(lp->ifname);

	e->local.ip = lp->ip.addr;
	e->local.udp_port = lp->udp_port;
	e->local.accept_partial_checksum = true;
	snprintf(e->ifname, sizeof(e->ifname), "%s", lp->ifname);
	if (ifindex == 0 || socket_open(e, ifindex) < 0)
		port_early_done(e);
}

/* Sends one probe. Returns false if the probe could not be sent. */
static bool probe_send(const struct port_early *e)
{
	static const struct ip_addr unspecified;
	uint8_t frame[PORT_L2_CONTROL_MAX];
	size_t len = port_l2_build_solicit(frame, &e->local.mac, &unspecified, &e->local.ip, NULL);

	return has_link_now(e) && send(e->fd, frame, len, 0) == (ssize_t)len;
}

static void probes_send(struct port_early_all *a, unsigned round)
{
	for (unsigned i = 0; i < LAUNCH_PORTS_MAX; i++) {
		struct port_early *e = &a->asks[i];

		if (e->fd < 0 || e->n_sent != round)
			continue;
		e->n_sent = probe_send(e) ? round + 1 : 0;
		e->sent_ns = clock_now_ns();
	}
}

static void *probes_run(void *user)
{
	struct port_early_all *a = user;
	uint64_t due_ns = clock_now_ns();

	for (unsigned round = 0; round < PORT_NEIGH_PROBES; round++) {
		struct timespec due = {.tv_sec = (time_t)(due_ns / NSEC_PER_SEC),
				       .tv_nsec = (long)(due_ns % NSEC_PER_SEC)};

		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
			;
		probes_send(a, round);
		due_ns = clock_now_ns() + PORT_NEIGH_PROBE_NS;
	}
	return NULL;
}

void port_early_begin(struct port_early_all *a)
{
	pthread_attr_t attr;
	bool any = false;

	for (unsigned i = 0; i < LAUNCH_PORTS_MAX; i++)
		any |= a->asks[i].fd >= 0;
	if (!any || pthread_attr_init(&attr) != 0)
		return;
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	a->runs = pthread_create(&a->thread, &attr, probes_run, a) == 0;
	pthread_attr_destroy(&attr);
}

void port_early_wait(struct port_early_all *a)
{
	if (a->runs)
		pthread_join(a->thread, NULL);
	a->runs = false;
}

void port_early_done(struct port_early *e)
{
	cleanup_close(&e->fd);
	*e = (struct port_early){.fd = -1};
}

/* ------------------------------------------------------------------ reading replies */

bool port_early_is_good(const struct port_early *e, const struct mac_addr *mac)
{
	struct tpacket_stats st = {.tp_drops = 0};
	socklen_t len = sizeof(st), error_len = sizeof(int);
	int error = 0;

	/* An error of the socket means that the interface went down meanwhile, so replies may be
	 * lost. */
	return e->fd >= 0 && e->n_sent == PORT_NEIGH_PROBES &&
	       memcmp(e->local.mac.bytes, mac->bytes, sizeof(mac->bytes)) == 0 &&
	       getsockopt(e->fd, SOL_PACKET, PACKET_STATISTICS, &st, &len) == 0 &&
	       st.tp_drops == 0 &&
	       getsockopt(e->fd, SOL_SOCKET, SO_ERROR, &error, &error_len) == 0 && error == 0 &&
	       has_link_now(e);
}

int port_early_input(const struct port_early *e, struct port_neigh *neigh, uint64_t now_ns)
{
	uint8_t frame[HEARD_BYTES];

	if (e->fd < 0)
		return 0;
	for (unsigned i = 0; i < HEARD_MAX; i++) {
		ssize_t n = recv(e->fd, frame, sizeof(frame), 0);
		struct port_l2_frame f;

		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		(void)port_l2_parse(&e->local, frame, (size_t)n, 0, &f);
		if (f.kind != PORT_L2_DROP && f.kind != PORT_L2_UDP)
			port_neigh_input(neigh, &f, frame, (size_t)n, now_ns);
	}
	return -EOVERFLOW;
}
