/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends and receives datagrams over kernel sockets, many in each system call. Where the kernel
 * supports this, a burst of datagrams of equal size passes through the kernel as one super-packet
 * (GSO when sending, GRO when receiving).
 */
#include "dataplane/port/udp/port_udp_internal.h"
#include "netcfg/base/log.h"
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

static void *lazy_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ------------------------------------------------------------------ open and close */

static void rx_prepare(struct udp_rx *rx)
{
	for (unsigned i = 0; i < RX_BUFS; i++) {
		struct msghdr *m = &rx->msgs[i].msg_hdr;

		rx->iov[i] = (struct iovec){rx->bufs + (size_t)i * RX_BUF_BYTES, RX_BUF_BYTES};
		m->msg_name = &rx->names[i];
		m->msg_namelen = sizeof(rx->names[i]);
		m->msg_iov = &rx->iov[i];
		m->msg_iovlen = 1;
		m->msg_control = rx->controls[i].bytes;
		m->msg_controllen = sizeof(rx->controls[i]);
	}
	rx->batch = 1;
}

static void port_udp_close(struct port *p)
{
	struct port_udp *u = p->impl;

	if (!u)
		return;
	if (u->hot.fd >= 0)
		close(u->hot.fd);
	for (unsigned k = 0; k < DATAGRAM_SOURCES_MAX; k++)
		if (u->source_fds[k] >= 0)
			close(u->source_fds[k]);
	if (u->fd >= 0)
		close(u->fd);
	if (u->poll_fd >= 0)
		close(u->poll_fd);
	if (u->announce_fd >= 0)
		close(u->announce_fd);
	if (u->rx.bufs)
		munmap(u->rx.bufs, (size_t)RX_BUFS * RX_BUF_BYTES);
	if (u->tx.stash)
		munmap(u->tx.stash, TX_BYTES_MAX);
	if (u->tx.room)
		munmap(u->tx.room, TX_ROOM_BYTES);
	munmap(u, sizeof(*u));
	p->impl = NULL;
}

static int watch(struct port_udp *u, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN};

	return epoll_ctl(u->poll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

static void watch_all(struct port_udp *u)
{
	/* If the descriptor cannot be watched, for example because memory is short, only timers
	 * wake the worker. */
	u->watched = watch(u, u->fd) == 0;
	if (u->hot.fd >= 0)
		(void)watch(u, u->hot.fd);
}

static void unwatch_all(struct port_udp *u)
{
	(void)epoll_ctl(u->poll_fd, EPOLL_CTL_DEL, u->fd, NULL);
	if (u->hot.fd >= 0)
		(void)epoll_ctl(u->poll_fd, EPOLL_CTL_DEL, u->hot.fd, NULL);
	u->watched = false;
}

/* Opens the additional source ports. If one of the sockets cannot be opened, the other sockets
 * carry its load. */
static void sources_open(struct port_udp *u, unsigned n, struct reason *why)
{
	for (unsigned k = 1; k < MIN_OF(n, DATAGRAM_SOURCES_MAX); k++) {
		int fd = udp_socket_open_source(&u->local, &u->source_ports[k]);

		if (fd < 0) {
			reason_set_text(why, "only %u of %u UDP source ports can be opened: %s", k,
					n, strerror(-fd));
			return;
		}
		u->source_fds[k] = fd;
	}
}

static int sockets_open(struct port_udp *u, struct reason *why)
{
	struct udp_features features;
	int r;

	u->fd = udp_socket_open(&u->local, &features, why);
	if (u->fd < 0)
		return u->fd;
	u->counters.gso = features.gso;
	u->counters.gro = features.gro;
	u->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	r = u->poll_fd < 0 ? -errno : watch(u, u->fd);
	if (r < 0)
		reason_set_text(why, "cannot watch the UDP socket: %s", strerror(-r));
	u->watched = r == 0;
	return r;
}

static int port_udp_open(struct port *p, const struct launch_config *cfg, unsigned index,
			 struct reason *why)
{
	const struct launch_port *lp = &cfg->ports[index];
	struct port_udp *u;
	uint32_t headers;
	int r;

	reason_clear(why);
	p->index = index;
	p->impl = u = lazy_map(sizeof(*u));
	if (!u) {
		reason_set_text(why, "out of memory");
		return -ENOMEM;
	}
	u->fd = u->poll_fd = u->hot.fd = -1;
	memset(u->source_fds, 0xff, sizeof(u->source_fds));
	u->announce_fd = udp_announce_open();
	u->local = (struct udp_local){.addr = {.ip = lp->ip.addr, .port = lp->udp_port},
				      .ifindex = lp->ifindex,
				      .spins = cfg->spin_us > 0};
	headers = lp->ip.addr.family == AF_INET6 ? 48 : 28;
	u->datagram_max = lp->mtu > headers ? MIN_OF(lp->mtu - headers, BURST_BYTES_MAX) : 0;
	u->tx.stash = lazy_map(TX_BYTES_MAX);
	u->tx.room = lazy_map(TX_ROOM_BYTES);
	u->rx.bufs = lazy_map((size_t)RX_BUFS * RX_BUF_BYTES);
	if (!u->tx.stash || !u->tx.room || !u->rx.bufs) {
		port_udp_close(p);
		reason_set_text(why, "out of memory");
		return -ENOMEM;
	}
	rx_prepare(&u->rx);
	r = sockets_open(u, why);
	if (r < 0)
		port_udp_close(p);
	else
		sources_open(u, lp->udp_sources, why);
	return r;
}

static uint64_t port_udp_tick(struct port *p, uint64_t now_ns)
{
	struct port_udp *u = p->impl;

	if (!u->tx.stashed || udp_tx_send(u) == 0)
		return UINT64_MAX;
	return now_ns + TX_RETRY_NS;
}

/* ------------------------------------------------------------------ receiving */

static uint64_t timespec_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * NSEC_PER_SEC + (uint64_t)t->tv_nsec;
}

/* Reads the number of dropped packets, which the kernel adds to later packets of the socket. */
static void rx_overflow(struct port_udp *u, struct cmsghdr *c)
{
	uint32_t *known = &u->rx.overflow[u->rx.hot], now;

	memcpy(&now, CMSG_DATA(c), sizeof(now));
	u->counters.rx_overflow += now - *known;
	*known = now;
}

/* Reads the control messages of a received super-packet: the size of each datagram in it, and how
 * long the super-packet has waited in this host. */
static void rx_controls(struct port_udp *u, struct msghdr *m, uint32_t *ret_segment,
			uint64_t *ret_waited_ns)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
			int segment;

			memcpy(&segment, CMSG_DATA(c), sizeof(segment));
			if (segment > 0)
				*ret_segment = (uint32_t)segment;
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec came;

			memcpy(&came, CMSG_DATA(c), sizeof(came));
			/* Check the timestamps, because they are wall clock time, which may have
			 * been set meanwhile. */
			if (timespec_ns(&came) <= u->rx.read_ns &&
			    u->rx.read_ns - timespec_ns(&came) < NSEC_PER_SEC)
				*ret_waited_ns = u->rx.read_ns - timespec_ns(&came);
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
			rx_overflow(u, c);
		}
	}
}

/* Splits the filled buffers into datagrams. Continues where the last call stopped. */
static unsigned rx_split(struct port_udp *u, struct port_rx *pkts, unsigned max)
{
	struct udp_rx *rx = &u->rx;
	struct timespec read;
	unsigned n = 0;

	clock_gettime(CLOCK_REALTIME, &read);
	rx->read_ns = timespec_ns(&read);
	for (; rx->next < rx->filled; rx->next++, rx->offset = 0) {
		struct mmsghdr *mm = &rx->msgs[rx->next];
		const uint8_t *buf = rx->iov[rx->next].iov_base;
		uint32_t bytes = mm->msg_len, segment = bytes;
		uint64_t waited_ns = UINT64_MAX;
		struct datagram_addr src;

		if (mm->msg_hdr.msg_flags & MSG_TRUNC ||
		    ip_addr_from_sockaddr(mm->msg_hdr.msg_name, &src.ip, &src.port) < 0) {
			u->counters.rx_dropped++;
			continue;
		}
		rx_controls(u, &mm->msg_hdr, &segment, &waited_ns);
		if (rx->offset == 0) {
			u->counters.rx_bytes += bytes;
			u->counters.rx_bursts += segment < bytes;
		}
		while (rx->offset < bytes) {
			if (n == max)
				goto out;
			pkts[n].data = buf + rx->offset;
			pkts[n].len = MIN_OF(segment, bytes - rx->offset);
			pkts[n].src = src;
			pkts[n].waited_ns = waited_ns;
			rx->offset += pkts[n++].len;
		}
	}
out:
	u->counters.rx_datagrams += n;
	return n;
}

static int rx_syscall(struct port_udp *u, int fd, unsigned batch)
{
	struct udp_rx *rx = &u->rx;
	ssize_t n;

	for (unsigned i = 0; i < batch; i++) {
		rx->msgs[i].msg_hdr.msg_namelen = sizeof(rx->names[i]);
		rx->msgs[i].msg_hdr.msg_controllen = sizeof(rx->controls[i]);
	}
	if (batch > 1)
		return recvmmsg(fd, rx->msgs, batch, MSG_DONTWAIT, NULL);
	/* Under light load, reading one buffer per call is cheaper: recvmmsg() would also read the
	 * queue once more to find it empty. */
	n = recvmsg(fd, &rx->msgs[0].msg_hdr, MSG_DONTWAIT);
	if (n < 0)
		return -1;
	rx->msgs[0].msg_len = (unsigned)n;
	return 1;
}

/* Opens the hot peer's socket. If that fails, the peer's packets continue to use the common socket;
 * the next long series of buffers from one peer causes another attempt. */
static void hot_open(struct port_udp *u)
{
	struct udp_hot *hot = &u->hot;
	int fd = udp_socket_open_peer(&u->local, u->fd, &hot->peer);

	hot->streak = 0;
	if (fd < 0)
		return;
	if (u->watched && watch(u, fd) < 0) {
		close(fd);
		return;
	}
	hot->fd = fd;
	hot->main_n = hot->hot_n = hot->skipped = 0;
	hot->main_busy = hot->main_due = false;
	u->rx.overflow[true] = 0;
	u->counters.hot = true;
}

/* Closes the hot peer's socket. Packets that are still in the socket are lost, so callers first
 * read the socket until it is empty. */
static void hot_close(struct port_udp *u)
{
	close(u->hot.fd); /* close() also removes the socket from the epoll descriptor */
	u->hot.fd = -1;
	u->hot.streak = 0;
	u->counters.hot = false;
}

/* Decides which peer is hot, after packets on the common socket. hot_is_empty: the hot socket was
 * read until it was empty, so it can be closed without losing packets. */
static void hot_learn(struct port_udp *u, const struct datagram_addr *src, bool hot_is_empty)
{
	struct udp_hot *hot = &u->hot;

	if (hot->fd >= 0) {
		hot->main_n += u->rx.filled;
		if (hot->main_n + hot->hot_n < HOT_REVIEW || !hot_is_empty)
			return;
		if (hot->main_n > hot->hot_n / 4 && u->tx.n_bursts == 0)
			hot_close(u);
		hot->main_n = hot->hot_n = 0;
		return;
	}
	if (!udp_addr_same(&hot->peer, src)) {
		hot->peer = *src;
		hot->streak = 0;
	}
	hot->streak += u->rx.filled;
	if (hot->streak >= HOT_STREAK)
		hot_open(u);
}

/* Receives from one socket. Returns the number of datagrams; 0 if none are waiting. */
static int rx_socket(struct port_udp *u, int fd, struct port_rx *pkts, unsigned max)
{
	struct udp_rx *rx = &u->rx;
	unsigned batch = rx->batch;
	int n = rx_syscall(u, fd, batch);

	if (n <= 0) {
		rx->batch = 1;
		/* The kernel reports each pending error once. The error does not concern the port:
		 * for example, a peer has no listener, or a router has no route. rudp detects that
		 * itself. */
		return n == 0 || errno != EBADF ? 0 : -EBADF;
	}
	rx->hot = fd == u->hot.fd;
	u->counters.rx_calls++;
	rx->batch = (unsigned)n == batch ? MIN_OF(batch * 2, RX_BUFS) : (unsigned)n;
	rx->filled = (unsigned)n;
	rx->next = 0;
	rx->offset = 0;
	return (int)rx_split(u, pkts, max);
}

static int rx_hot(struct port_udp *u, struct port_rx *pkts, unsigned max)
{
	int n = rx_socket(u, u->hot.fd, pkts, max);

	if (n <= 0)
		return 0;
	u->hot.hot_n += u->rx.filled;
	u->hot.since_main += u->rx.filled;
	/* Read the common socket now and then, so that other peers are served even if the hot
	 * socket is never empty. */
	u->hot.main_due = u->hot.main_busy || u->hot.since_main >= HOT_MAIN_BUFS;
	return n;
}

static int port_udp_rx(struct port *p, struct port_rx *pkts, unsigned max)
{
	struct port_udp *u = p->impl;
	struct udp_hot *hot = &u->hot;
	bool due = hot->main_due;
	int n;

	if (PLENUM_UNLIKELY(u->tx.stashed))
		(void)udp_tx_send(u);
	if (u->rx.next < u->rx.filled)
		return (int)rx_split(u, pkts, max);
	if (u->watched && ++u->unarmed > UNWATCH_AFTER)
		unwatch_all(u);
	if (hot->fd >= 0 && !due) {
		n = rx_hot(u, pkts, max);
		if (n > 0 || (!hot->main_busy && ++hot->skipped < HOT_MAIN_EVERY))
			return n;
		hot->skipped = 0;
	}
	hot->main_due = false;
	hot->since_main = 0;
	n = rx_socket(u, u->fd, pkts, max);
	hot->main_busy = n > 0;
	if (n > 0)
		hot_learn(u, &pkts[0].src, !due);
	else if (due && hot->fd >= 0)
		n = rx_hot(u, pkts, max);
	return n;
}

static int port_udp_fd(struct port *p)
{
	const struct port_udp *u = p->impl;

	return u->poll_fd;
}

static bool port_udp_arm(struct port *p)
{
	struct port_udp *u = p->impl;

	/* Datagrams are queued, and nothing would wake the worker when the socket has space
	 * again. */
	if (u->tx.stashed && udp_tx_send(u) < 0)
		return false;
	u->hot.skipped = HOT_MAIN_EVERY; /* the first rx after the sleep must read both sockets */
	u->unarmed = 0;
	if (!u->watched)
		watch_all(u);
	return u->rx.next == u->rx.filled;
}

/* ------------------------------------------------------------------ announcements and counters */

static void port_udp_announce(struct port *p)
{
	const struct port_udp *u = p->impl;
	int r = udp_announce(u->announce_fd, &u->local);

	if (r < 0)
		log_debug("port %u: cannot announce the address: %s", p->index, strerror(-r));
}

void port_udp_counters_get(const struct port *p, struct port_udp_counters *ret)
{
	const struct port_udp *u = p->impl;

	*ret = u->counters;
}

static void port_udp_counters(const struct port *p, struct launch_port_counters *ret)
{
	const struct port_udp *u = p->impl;
	const struct port_udp_counters *c = &u->counters;

	*ret = (struct launch_port_counters){
		.tx_packets = c->tx_datagrams,
		.rx_packets = c->rx_datagrams,
		.tx_full = c->tx_full,
		.tx_lost = c->tx_lost,
		.rx_missed = c->rx_overflow,
		.rx_short = c->rx_dropped,
		.tx_bytes = c->tx_bytes,
		.rx_bytes = c->rx_bytes,
		.tx_bursts = c->tx_bursts,
		.rx_bursts = c->rx_bursts,
	};
	_Static_assert(sizeof(ret->tx_by_source) == sizeof(c->tx_by_source),
		       "both arrays have the same size");
	memcpy(ret->tx_by_source, c->tx_by_source, sizeof(ret->tx_by_source));
}

static void port_udp_refusals(const struct port *p, struct launch_refusal ret[LAUNCH_REFUSALS_MAX])
{
	const struct port_udp *u = p->impl;

	memcpy(ret, u->refusals, sizeof(u->refusals));
}

static uint16_t port_udp_source(const struct port *p, unsigned source)
{
	const struct port_udp *u = p->impl;

	if (source == 0 || source >= DATAGRAM_SOURCES_MAX || u->source_fds[source] < 0)
		return u->local.addr.port;
	return u->source_ports[source];
}

int port_udp_socket(const struct port *p)
{
	const struct port_udp *u = p->impl;

	return u->fd;
}

const struct port_ops port_udp_ops = {
	.name = "udp",
	.reopens = true,
	.open = port_udp_open,
	.close = port_udp_close,
	.rx = port_udp_rx,
	.tx = udp_tx,
	.flush = udp_tx_flush,
	.too_big = udp_tx_too_big,
	.fd = port_udp_fd,
	.arm = port_udp_arm,
	.tick = port_udp_tick,
	.announce = port_udp_announce,
	.counters = port_udp_counters,
	.refusals = port_udp_refusals,
	.source = port_udp_source,
};
