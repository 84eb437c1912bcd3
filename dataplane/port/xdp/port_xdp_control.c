/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies control frames (address resolution and echo requests) for a port on AF_XDP, or on a NIC
 * shared with the kernel. An XDP program or flow rule delivers a frame either to the port or to the
 * kernel, and the kernel has addresses on the interface too. So the kernel receives these frames,
 * and a packet socket copies them for the port. The socket has a memory-mapped ring, so that a
 * polling port makes no system call.
 */
#include "dataplane/port/l2/port_neigh.h"
#include "dataplane/port/xdp/port_xdp.h"
#include "netcfg/base/os/packet_socket.h"
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAMES 64U
/* Maximum number of frames that one call reads before datagrams are processed again. */
#define BURST 64U
/* Space for the longest echo request that is answered and for the ring's header. */
#define FRAME_BYTES 2048U

static struct tpacket2_hdr *frame_at(const struct port_xdp_control *c, unsigned i)
{
	return (struct tpacket2_hdr *)(void *)(c->ring + (size_t)i * FRAME_BYTES);
}

/* Installs a filter that passes only frames that port_l2_parse() does not drop: untagged ARP
 * frames, and echo requests for the port's address. */
static int filter_ip4(int fd, const struct port_l2_local *local)
{
	uint32_t ip = (uint32_t)local->ip.bytes[0] << 24 | (uint32_t)local->ip.bytes[1] << 16 |
		      (uint32_t)local->ip.bytes[2] << 8 | local->ip.bytes[3];
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 7),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_ARP, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IP, 0, 4),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMP, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 30),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ip, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};

	return packet_socket_filter(fd, code, ARRAY_SIZE(code));
}

static int filter_ip6(int fd)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 8),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETHERTYPE_IPV6, 0, 6),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 0, 4),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 54),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ND_NEIGHBOR_SOLICIT, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ND_NEIGHBOR_ADVERT, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ICMP6_ECHO_REQUEST, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};

	return packet_socket_filter(fd, code, ARRAY_SIZE(code));
}

static int ring_map(struct port_xdp_control *c)
{
	const int version = TPACKET_V2;
	struct tpacket_req req = {.tp_block_size = FRAMES * FRAME_BYTES,
				  .tp_block_nr = 1,
				  .tp_frame_size = FRAME_BYTES,
				  .tp_frame_nr = FRAMES};
	void *ring;

	if (setsockopt(c->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) < 0 ||
	    setsockopt(c->fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)) < 0)
		return -errno;
	ring = mmap(NULL, (size_t)FRAMES * FRAME_BYTES, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, c->fd, 0);
	if (ring == MAP_FAILED)
		return -errno;
	c->ring = ring;
	return 0;
}

int port_xdp_control_init(struct port_xdp_control *c, const struct port_l2_local *local,
			  uint32_t ifindex)
{
	const struct mac_addr group = mac_addr_solicited(&local->ip);
	bool ip6 = local->ip.family == AF_INET6;
	int r;

	*c = (struct port_xdp_control){.fd = packet_socket_new(SOCK_RAW)};
	if (c->fd < 0)
		return c->fd;
	r = ip6 ? filter_ip6(c->fd) : filter_ip4(c->fd, local);
	if (r == 0)
		r = ring_map(c);
	if (r == 0)
		r = packet_socket_ignore_own(c->fd);
	if (r == 0)
		r = packet_socket_bind(c->fd, ifindex, ETH_P_ALL);
	if (r == 0 && ip6)
		r = packet_socket_group(c->fd, ifindex, &group);
	return r;
}

void port_xdp_control_done(struct port_xdp_control *c)
{
	if (c->ring)
		munmap(c->ring, (size_t)FRAMES * FRAME_BYTES);
	cleanup_close(&c->fd);
	*c = (struct port_xdp_control){.fd = -1};
}

bool port_xdp_control_has(const struct port_xdp_control *c)
{
	/* Pairs with the kernel, which sets this flag when the frame is complete
	 * (packet_mmap.rst). */
	return c->ring && (__atomic_load_n(&frame_at(c, c->next)->tp_status, __ATOMIC_ACQUIRE) &
			   TP_STATUS_USER);
}

const uint8_t *port_xdp_control_get(const struct port_xdp_control *c, uint32_t *ret_len)
{
	const struct tpacket2_hdr *h;

	if (!port_xdp_control_has(c))
		return NULL;
	h = frame_at(c, c->next);
	*ret_len = h->tp_snaplen;
	return (const uint8_t *)h + h->tp_mac;
}

void port_xdp_control_drop(struct port_xdp_control *c)
{
	/* Pairs with the kernel, which may write another frame into this place from now on. */
	__atomic_store_n(&frame_at(c, c->next)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	c->next = (c->next + 1) % FRAMES;
}

void port_xdp_control_input(struct port_xdp_control *c, const struct port_xdp_control_to *to,
			    uint64_t now_ns)
{
	struct port_l2_frame f;
	const uint8_t *frame;
	uint32_t len;

	for (unsigned i = 0; i < BURST && (frame = port_xdp_control_get(c, &len)); i++) {
		enum port_l2_kind kind = port_l2_parse(to->local, frame, len, 0, &f);

		if (to->look)
			to->look(to->user, frame, len);
		if (kind == PORT_L2_DROP)
			port_l2_count_drop(to->counters, f.drop);
		else if (kind != PORT_L2_UDP)
			port_neigh_input(to->neigh, &f, frame, len, now_ns);
		port_xdp_control_drop(c);
	}
}
