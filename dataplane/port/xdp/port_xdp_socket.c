/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AF_XDP sockets: memory shared with the kernel, and the rings by which both sides exchange frames.
 * Everything is created before the first frame; after that, sending a burst costs one system call
 * and receiving none.
 *
 * Each frame is in one place at a time. A frame for sending is first free, then in the tx ring, in
 * flight, in the completion ring, and free again. A frame for receiving is first in the fill ring,
 * then in the rx ring, with the caller, and in the fill ring again.
 */
#include "dataplane/port/xdp/port_xdp.h"
#include <dirent.h>
#include <linux/ethtool.h>
#include <linux/if_xdp.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define RX_RING 2048U
#define TX_RING 1024U
/* Size of the fill ring. It is larger than the rx ring: with zero copy it also provides the buffers
 * for the kernel's own traffic, and it must not become empty while the port is busy. */
#define FILL_RING (2 * RX_RING)
#define SMALL_FRAME 2048U
#define LARGE_FRAME 4096U /* a page, which is the kernel's maximum */
/* The kernel's headroom, the Ethernet header, and VLAN tags. */
#define FRAME_OVERHEAD (256U + PORT_L2_ETHER_BYTES + 8U)
/* Count of frames that the kernel takes in one call if the driver copies frames. */
#define CALL_FRAMES 32U
#define SEND_CALLS_MAX (TX_RING / 16)
#define QUEUES_PATH "/sys/class/net/%.15s/queues"

unsigned port_xdp_frame_bytes(uint32_t mtu)
{
	return mtu + FRAME_OVERHEAD <= SMALL_FRAME ? SMALL_FRAME : LARGE_FRAME;
}

/* Counts the queues for which the kernel has files, because not all drivers report the number of
 * their queues. */
static unsigned queues_made(const char *ifname)
{
	char path[sizeof(QUEUES_PATH) + IFNAMSIZ];
	struct dirent *e;
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), QUEUES_PATH, ifname);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		n += strncmp(e->d_name, "rx-", 3) == 0;
	if (dir)
		closedir(dir);
	return n;
}

unsigned port_xdp_queues_count(const char *ifname)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq ifr = {.ifr_data = (char *)&channels};
	autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned told = 0;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	if (fd >= 0 && ioctl(fd, SIOCETHTOOL, &ifr) == 0)
		told = channels.rx_count + channels.combined_count;
	return MAX_OF(MAX_OF(told, queues_made(ifname)), 1U);
}

/* ------------------------------------------------------------------ rings */

static int ring_map(struct port_xdp_ring *r, int fd, uint64_t where, unsigned entries,
		    unsigned entry_bytes, const struct xdp_ring_offset *off)
{
	size_t bytes = off->desc + (size_t)entries * entry_bytes;
	uint8_t *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
			    (off_t)where);

	if (map == MAP_FAILED)
		return -errno;
	r->map = map;
	r->map_bytes = bytes;
	r->producer = (uint32_t *)(void *)(map + off->producer);
	r->consumer = (uint32_t *)(void *)(map + off->consumer);
	r->entries = map + off->desc;
	r->mask = entries - 1;
	return 0;
}

static void ring_unmap(struct port_xdp_ring *r)
{
	if (r->map)
		munmap(r->map, r->map_bytes);
	*r = (struct port_xdp_ring){.map = NULL};
}

/* Reads the index of the other side. All that the other side wrote before it moved the index is
 * visible afterwards. */
static uint32_t index_load(const uint32_t *index)
{
	/* The kernel writes the entries before it moves its index (smp_store_release() in its
	 * xsk_queue.h). */
	return __atomic_load_n(index, __ATOMIC_ACQUIRE);
}

static void index_store(uint32_t *index, uint32_t value)
{
	/* The kernel reads the index by smp_load_acquire() (xsk_queue.h), so it sees all entries up
	 * to the index. */
	__atomic_store_n(index, value, __ATOMIC_RELEASE);
}

static void fill_put(struct port_xdp_ring *fill, uint64_t address)
{
	uint64_t *entries = fill->entries;

	entries[fill->own++ & fill->mask] = address;
}

/* ------------------------------------------------------------------ creating and closing */

static int ring_size(int fd, int which, unsigned entries)
{
	return setsockopt(fd, SOL_XDP, which, &entries, sizeof(entries)) < 0 ? -errno : 0;
}

/* All queues share the memory registered by the first queue. */
static int memory_register(const struct port_xdp_socket *s, int fd)
{
	struct xdp_umem_reg reg = {.addr = (uint64_t)(uintptr_t)s->memory,
				   .len = s->memory_bytes,
				   .chunk_size = s->frame_bytes};

	return setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof(reg)) < 0 ? -errno : 0;
}

static int rings_make(struct port_xdp_socket *s, struct port_xdp_queue *q)
{
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof(off);
	bool first = q == s->queues;
	int r = 0;

	if (first)
		r = memory_register(s, q->fd);
	if (r == 0)
		r = ring_size(q->fd, XDP_UMEM_FILL_RING, FILL_RING);
	if (r == 0)
		r = ring_size(q->fd, XDP_UMEM_COMPLETION_RING, TX_RING);
	if (r == 0)
		r = ring_size(q->fd, XDP_RX_RING, RX_RING);
	if (r == 0 && first)
		r = ring_size(q->fd, XDP_TX_RING, TX_RING);
	if (r == 0 && getsockopt(q->fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len) < 0)
		r = -errno;
	if (r == 0)
		r = ring_map(&q->fill, q->fd, XDP_UMEM_PGOFF_FILL_RING, FILL_RING, sizeof(uint64_t),
			     &off.fr);
	if (r == 0)
		r = ring_map(&q->rx, q->fd, XDP_PGOFF_RX_RING, RX_RING, sizeof(struct xdp_desc),
			     &off.rx);
	if (r == 0 && first)
		r = ring_map(&s->completion, q->fd, XDP_UMEM_PGOFF_COMPLETION_RING, TX_RING,
			     sizeof(uint64_t), &off.cr);
	if (r == 0 && first)
		r = ring_map(&s->tx, q->fd, XDP_PGOFF_TX_RING, TX_RING, sizeof(struct xdp_desc),
			     &off.tx);
	return r;
}

static int queue_bind(struct port_xdp_socket *s, unsigned queue, uint32_t ifindex, bool zero_copy)
{
	struct sockaddr_xdp a = {.sxdp_family = AF_XDP,
				 .sxdp_ifindex = ifindex,
				 .sxdp_queue_id = queue,
				 .sxdp_flags = zero_copy ? XDP_ZEROCOPY : XDP_COPY};

	if (queue > 0) { /* use the memory that the first queue's socket has registered */
		a.sxdp_flags = XDP_SHARED_UMEM;
		a.sxdp_shared_umem_fd = (uint32_t)s->queues[0].fd;
	}
	return bind(s->queues[queue].fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
}

static int memory_make(struct port_xdp_socket *s, unsigned n_queues, unsigned fill)
{
	size_t n = (size_t)n_queues * fill + TX_RING;
	void *memory;

	s->free_frames = calloc(TX_RING, sizeof(*s->free_frames));
	if (!s->free_frames)
		return -ENOMEM;
	memory = mmap(NULL, n * s->frame_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	s->memory = memory;
	s->memory_bytes = n * s->frame_bytes;
	for (unsigned i = 0; i < TX_RING; i++)
		s->free_frames[s->n_free++] = (n - 1 - i) * s->frame_bytes;
	return 0;
}

int port_xdp_socket_init(struct port_xdp_socket *s, uint32_t ifindex, unsigned n_queues,
			 uint32_t mtu, bool zero_copy)
{
	const unsigned fill = zero_copy ? FILL_RING : RX_RING;
	uint64_t next = 0;
	int r;

	*s = (struct port_xdp_socket){.frame_bytes = port_xdp_frame_bytes(mtu)};
	if (n_queues > PORT_XDP_QUEUES_MAX)
		return -E2BIG;
	r = memory_make(s, n_queues, fill);
	for (unsigned i = 0; r == 0 && i < n_queues; i++) {
		struct port_xdp_queue *q = &s->queues[s->n_queues++];

		q->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
		r = q->fd < 0 ? -errno : rings_make(s, q);
		for (unsigned j = 0; r == 0 && j < fill; j++, next += s->frame_bytes)
			fill_put(&q->fill, next);
		if (r == 0) {
			index_store(q->fill.producer, q->fill.own);
			r = queue_bind(s, i, ifindex, zero_copy);
		}
	}
	return r;
}

void port_xdp_socket_done(struct port_xdp_socket *s)
{
	for (unsigned i = 0; i < s->n_queues; i++) {
		cleanup_close(&s->queues[i].fd);
		ring_unmap(&s->queues[i].fill);
		ring_unmap(&s->queues[i].rx);
	}
	ring_unmap(&s->tx);
	ring_unmap(&s->completion);
	if (s->memory)
		munmap(s->memory, s->memory_bytes);
	free(s->free_frames);
	*s = (struct port_xdp_socket){.memory = NULL};
}

/* ------------------------------------------------------------------ receiving */

static unsigned queue_rx(struct port_xdp_socket *s, unsigned queue, struct port_xdp_frame *frames,
			 unsigned max)
{
	struct port_xdp_ring *rx = &s->queues[queue].rx;
	const struct xdp_desc *entries = rx->entries;
	unsigned n = MIN_OF(index_load(rx->producer) - rx->own, max);

	for (unsigned i = 0; i < n; i++) {
		const struct xdp_desc *d = &entries[(rx->own + i) & rx->mask];

		frames[i] = (struct port_xdp_frame){.address = d->addr,
						    .data = s->memory + d->addr,
						    .len = d->len,
						    .queue = (uint16_t)queue};
	}
	if (n > 0) {
		rx->own += n;
		index_store(rx->consumer, rx->own);
	}
	return n;
}

unsigned port_xdp_socket_rx(struct port_xdp_socket *s, struct port_xdp_frame *frames, unsigned max)
{
	unsigned n = 0, queue = s->next_queue;

	for (unsigned i = 0; i < s->n_queues && n < max; i++) {
		n += queue_rx(s, queue, frames + n, max - n);
		queue = queue + 1 < s->n_queues ? queue + 1 : 0;
	}
	s->next_queue = queue;
	return n;
}

void port_xdp_socket_give_back(struct port_xdp_socket *s, const struct port_xdp_frame *frames,
			       unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct port_xdp_ring *fill = &s->queues[frames[i].queue].fill;

		fill_put(fill, frames[i].address & ~(uint64_t)(s->frame_bytes - 1));
		if (i + 1 == n || frames[i + 1].queue != frames[i].queue)
			index_store(fill->producer, fill->own);
	}
}

bool port_xdp_socket_has_rx(const struct port_xdp_socket *s)
{
	for (unsigned i = 0; i < s->n_queues; i++)
		if (index_load(s->queues[i].rx.producer) != s->queues[i].rx.own)
			return true;
	return false;
}

/* Counts frames for which there was no free buffer (rx_dropped) or no space in the rx ring. A
 * zero-copy driver counts nothing when the fill ring is empty. */
uint64_t port_xdp_socket_missed(const struct port_xdp_socket *s)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < s->n_queues; i++) {
		struct xdp_statistics st = {.rx_dropped = 0};
		socklen_t len = sizeof(st);

		if (getsockopt(s->queues[i].fd, SOL_XDP, XDP_STATISTICS, &st, &len) == 0)
			n += st.rx_dropped + st.rx_ring_full;
	}
	return n;
}

/* ------------------------------------------------------------------ sending */

/* Frees frames that were sent. */
static void completions_take(struct port_xdp_socket *s)
{
	struct port_xdp_ring *c = &s->completion;
	const uint64_t *entries = c->entries;
	uint32_t end = index_load(c->producer);

	if (end == c->own)
		return;
	for (; c->own != end; c->own++)
		s->free_frames[s->n_free++] =
			entries[c->own & c->mask] & ~(uint64_t)(s->frame_bytes - 1);
	index_store(c->consumer, c->own);
}

uint8_t *port_xdp_socket_tx_get(struct port_xdp_socket *s, uint64_t *ret_address)
{
	if (s->n_free == 0)
		completions_take(s);
	if (s->n_free == 0)
		return NULL;
	/* The ring cannot be full, because it has an entry for each frame. */
	*ret_address = s->free_frames[--s->n_free];
	return s->memory + *ret_address;
}

void port_xdp_socket_tx_put(struct port_xdp_socket *s, uint64_t address, uint32_t len)
{
	struct xdp_desc *entries = s->tx.entries;

	entries[s->tx.own++ & s->tx.mask] = (struct xdp_desc){.addr = address, .len = len};
}

/* Returns a number that grows whenever the kernel makes progress: frames taken plus frames sent. If
 * the driver copies, kernels before 6.17 show all frames as taken only when they have taken the
 * last frame. */
static uint32_t moved(const struct port_xdp_socket *s)
{
	return index_load(s->tx.consumer) + index_load(s->completion.producer);
}

/*
 * Makes the kernel send the queued frames. If the driver copies frames, the kernel takes a limited
 * number per call. It returns EAGAIN both if frames are left and if it can take none. So this
 * function makes as many calls as are necessary for all frames, but only one call if the kernel
 * made no progress last time.
 */
unsigned port_xdp_socket_tx_send(struct port_xdp_socket *s)
{
	struct port_xdp_ring *tx = &s->tx;
	unsigned calls, i;
	uint32_t at;

	index_store(tx->producer, tx->own);
	calls = s->no_progress ? 1 : (tx->own - index_load(tx->consumer)) / CALL_FRAMES + 2;
	for (i = 1; i <= SEND_CALLS_MAX && tx->own != index_load(tx->consumer); i++) {
		at = moved(s);
		/* A zero-copy driver sends the other frames without further calls. */
		if (sendto(s->queues[0].fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
			break;
		if (moved(s) == at && (errno != EAGAIN || i >= calls))
			break;
	}
	at = moved(s);
	s->no_progress = at == s->moved;
	s->moved = at;
	completions_take(s);
	return tx->own - index_load(tx->consumer);
}
