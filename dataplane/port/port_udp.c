/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams by kernel sockets, many to a system call: trains of equal datagrams are segmented and
 * merged by the kernel where it can.
 */
#include "dataplane/port/port_udp.h"
#include "dataplane/port/port_udp_socket.h"
#include "netcfg/base/log.h"
#include <netinet/udp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define TX_DATAGRAMS_MAX PORT_BURST_MAX /* queued between two system calls */
#define TRAIN_SEGMENTS_MAX 64		/* what every kernel since 4.18 takes */
#define TRAIN_BYTES_MAX 65000		/* below 65535 less any IP and UDP header */
#define TX_BYTES_MAX (4U << 20)		/* payload queued between two system calls */
#define RX_BUFS 16
#define RX_BUF_BYTES 65536U
#define TX_RETRY_NS (50 * NSEC_PER_USEC)
#define HOT_STREAK 256U	   /* buffers in a row from one peer that make it the hot one */
#define HOT_REVIEW 1024U   /* buffers after which it is asked whether it still is */
#define UNWATCH_AFTER 256U /* turns without arm(): the worker spins */
#define HOT_MAIN_EVERY 8U  /* turns of which one looks at the common socket */

union tx_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(uint16_t))];
};

union rx_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct timespec))];
};

/* One message to the kernel: datagrams of one size (the last may be smaller) to one address. */
struct train {
	struct datagram_addr dst;
	struct sockaddr_storage name;
	union tx_control control;
	uint32_t first_iov;
	uint32_t bytes;
	uint16_t segment_bytes;
	uint16_t segments;
	bool closed; /* a smaller datagram ended it */
	bool hot;    /* leaves by the hot peer's socket */
};

struct udp_tx {
	struct train trains[TX_DATAGRAMS_MAX];
	struct mmsghdr msgs[TX_DATAGRAMS_MAX];
	struct iovec iov[2 * TX_DATAGRAMS_MAX];
	uint8_t hdrs[TX_DATAGRAMS_MAX][DATAGRAM_HDR_MAX];
	unsigned n_trains, n_datagrams, n_iov;
	unsigned sent;	/* trains that the kernel has taken */
	uint32_t bytes; /* payload queued */
	bool stashed;	/* payload is in `stash`: the caller's memory is no longer referred to */
	uint8_t *stash; /* TX_BYTES_MAX, untouched until a socket buffer was full */
};

struct udp_rx {
	struct mmsghdr msgs[RX_BUFS];
	struct iovec iov[RX_BUFS];
	struct sockaddr_storage names[RX_BUFS];
	union rx_control controls[RX_BUFS];
	uint64_t read_ns; /* the time by the clock that stamps them */
	uint8_t *bufs;	  /* RX_BUFS of RX_BUF_BYTES, touched as far as needed */
	unsigned batch;	  /* buffers offered to the next system call: grows under load */
	/* What the last system call brought and the caller had no room for. */
	unsigned filled, next;
	uint32_t offset;
};

/*
 * Where one peer sends nearly everything, it gets a connected socket beside the common one: the
 * kernel then looks up no route for its packets, which is an eighth of a short round trip.
 */
struct udp_hot {
	int fd; /* -1: nobody is hot */
	struct datagram_addr peer;
	uint32_t streak;	/* nobody is hot: buffers in a row from `peer` */
	uint32_t main_n, hot_n; /* buffers from either socket since the last review */
	uint32_t skipped;	/* turns since the common socket was looked at */
};

struct port_udp {
	int fd;
	/* An epoll of fd and hot.fd. While the worker spins they are not in it: being watched costs
	 * the sender of each packet some 300 ns, which is its time to give the packet to us. */
	int poll_fd;
	bool watched;
	uint32_t unarmed; /* turns since the last arm() */
	struct udp_local local;
	int announce_fd; /* negative: without CAP_NET_RAW switches learn from our traffic only */
	struct udp_hot hot;
	uint32_t datagram_max; /* what fits the leg's MTU */
	uint32_t big_bytes;    /* the kernel refused a datagram of this size; 0: none */
	struct datagram_addr big_dst;
	struct port_udp_counters counters;
	struct udp_tx tx;
	struct udp_rx rx;
};

static void *lazy_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool addr_same(const struct datagram_addr *a, const struct datagram_addr *b)
{
	return a->port == b->port && a->ip.family == b->ip.family &&
	       memcmp(a->ip.bytes, b->ip.bytes, sizeof(a->ip.bytes)) == 0;
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
	/* Cannot fail but for want of memory; then the worker wakes by its timers. */
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

static int sockets_open(struct port_udp *u, char *why)
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
		snprintf(why, LAUNCH_REASON_MAX, "cannot watch the UDP socket: %s", strerror(-r));
	u->watched = r == 0;
	return r;
}

static int port_udp_open(struct port *p, const struct launch_config *cfg, unsigned index, char *why)
{
	const struct launch_port *lp = &cfg->ports[index];
	struct port_udp *u;
	uint32_t headers;
	int r;

	why[0] = '\0';
	p->index = index;
	p->impl = u = lazy_map(sizeof(*u));
	if (!u) {
		snprintf(why, LAUNCH_REASON_MAX, "out of memory");
		return -ENOMEM;
	}
	u->fd = u->poll_fd = u->hot.fd = -1;
	u->announce_fd = udp_announce_open();
	u->local = (struct udp_local){.addr = {.ip = lp->ip.addr, .port = lp->udp_port},
				      .ifindex = lp->ifindex,
				      .spins = cfg->spin_us > 0};
	headers = lp->ip.addr.family == AF_INET6 ? 48 : 28;
	u->datagram_max = lp->mtu > headers ? MIN_OF(lp->mtu - headers, TRAIN_BYTES_MAX) : 0;
	u->tx.stash = lazy_map(TX_BYTES_MAX);
	u->rx.bufs = lazy_map((size_t)RX_BUFS * RX_BUF_BYTES);
	if (!u->tx.stash || !u->rx.bufs) {
		port_udp_close(p);
		snprintf(why, LAUNCH_REASON_MAX, "out of memory");
		return -ENOMEM;
	}
	rx_prepare(&u->rx);
	r = sockets_open(u, why);
	if (r < 0)
		port_udp_close(p);
	return r;
}

/* ------------------------------------------------------------------ sending */

static void tx_reset(struct udp_tx *tx)
{
	if (tx->stashed)
		(void)madvise(tx->stash, TX_BYTES_MAX, MADV_DONTNEED);
	tx->n_trains = tx->n_datagrams = tx->n_iov = tx->sent = 0;
	tx->bytes = 0;
	tx->stashed = false;
}

/* The caller's payload is about to become invalid: keep copies of what has not left. */
static void tx_stash(struct udp_tx *tx)
{
	uint8_t *to = tx->stash;

	if (tx->stashed)
		return;
	for (unsigned i = tx->trains[tx->sent].first_iov; i < tx->n_iov; i++) {
		struct iovec *v = &tx->iov[i];
		const uint8_t *from = v->iov_base;

		if (from >= tx->hdrs[0] && from < tx->hdrs[TX_DATAGRAMS_MAX])
			continue; /* a header is ours already */
		memcpy(to, v->iov_base, v->iov_len);
		v->iov_base = to;
		to += v->iov_len;
	}
	tx->stashed = true;
}

static void tx_lost(struct port_udp *u, const struct train *t, unsigned segments, int error)
{
	u->counters.tx_lost += segments;
	u->counters.tx_errno = error;
	if (error != EMSGSIZE)
		return;
	u->big_bytes = t->segment_bytes;
	u->big_dst = t->dst;
}

/* Finds the iovecs of the train's next datagram. Datagrams are never split over iovecs shared with
 * another, so whole iovecs add up. */
static unsigned segment_iovs(const struct iovec *iov, size_t bytes)
{
	unsigned n = 0;

	while (bytes > 0)
		bytes -= iov[n++].iov_len;
	return n;
}

static int train_fd(const struct port_udp *u, const struct train *t)
{
	return t->hot && u->hot.fd >= 0 ? u->hot.fd : u->fd;
}

/* Sends a train that the kernel refused to segment, one datagram a call. What has left is taken off
 * the train, so that -EAGAIN can go on later. 0 or -EAGAIN. */
static int train_send_split(struct port_udp *u, struct train *t)
{
	struct msghdr *whole = &u->tx.msgs[u->tx.sent].msg_hdr;
	bool fits = true;

	while (t->segments > 0) {
		size_t bytes = MIN_OF(t->bytes, t->segment_bytes);
		struct msghdr m = {.msg_name = whole->msg_name,
				   .msg_namelen = whole->msg_namelen,
				   .msg_iov = whole->msg_iov,
				   .msg_iovlen = segment_iovs(whole->msg_iov, bytes)};

		if (sendmsg(train_fd(u, t), &m, MSG_DONTWAIT) < 0) {
			if (errno == EINTR)
				continue;
			if (errno == EAGAIN || errno == ENOBUFS)
				return -EAGAIN;
			fits = fits && errno != EMSGSIZE;
			tx_lost(u, t, 1, errno);
		} else {
			u->counters.tx_calls++;
			u->counters.tx_datagrams++;
			if (fits) /* one by one works, so it was segmentation */
				u->counters.gso = false;
		}
		whole->msg_iov += m.msg_iovlen;
		whole->msg_iovlen -= m.msg_iovlen;
		t->bytes -= (uint32_t)bytes;
		if (--t->segments == 1)
			whole->msg_controllen = 0;
	}
	return 0;
}

/* Sends as many of the next trains as share a socket. Number sent; negative errno. */
static int tx_syscall(struct port_udp *u)
{
	struct udp_tx *tx = &u->tx;
	const struct train *t = &tx->trains[tx->sent];
	struct mmsghdr *msgs = &tx->msgs[tx->sent];
	unsigned left = tx->n_trains - tx->sent, run = 1;
	int fd = train_fd(u, t), n;

	while (run < left && t[run].hot == t->hot)
		run++;
	if (run == 1)
		return sendmsg(fd, &msgs->msg_hdr, MSG_DONTWAIT) < 0 ? -errno : 1;
	n = sendmmsg(fd, msgs, run, MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

/* Hands queued trains to the kernel. 0: all gone; -EAGAIN: the socket buffer is full. */
static int tx_send(struct port_udp *u)
{
	struct udp_tx *tx = &u->tx;
	bool again = false;

	while (tx->sent < tx->n_trains) {
		struct train *t = &tx->trains[tx->sent];
		int n = tx_syscall(u);

		if (n > 0) {
			u->counters.tx_calls++;
			for (int i = 0; i < n; i++)
				u->counters.tx_datagrams += t[i].segments;
			tx->sent += (unsigned)n;
			continue;
		}
		if (n == -EINTR)
			continue;
		if (n == -ECONNREFUSED && t->hot && !again) {
			again = true; /* tells of an earlier packet; this one was not tried */
			continue;
		}
		again = false;
		if (n == -EAGAIN || n == -ENOBUFS) {
			u->counters.tx_full++;
			return -EAGAIN;
		}
		if (t->segments > 1 && (n == -EIO || n == -EINVAL)) {
			if (train_send_split(u, t) < 0)
				return -EAGAIN;
		} else {
			tx_lost(u, t, t->segments, -n);
		}
		tx->sent++;
	}
	tx_reset(tx);
	return 0;
}

static bool train_takes(const struct port_udp *u, const struct train *t,
			const struct datagram_addr *dst, uint32_t bytes)
{
	return u->counters.gso && !t->closed && bytes > 0 && bytes <= t->segment_bytes &&
	       t->segments < TRAIN_SEGMENTS_MAX && t->bytes + bytes <= TRAIN_BYTES_MAX &&
	       addr_same(&t->dst, dst);
}

static int train_begin(struct port_udp *u, const struct datagram_addr *dst, uint32_t bytes)
{
	struct udp_tx *tx = &u->tx;
	struct train *t = &tx->trains[tx->n_trains];
	struct msghdr *m = &tx->msgs[tx->n_trains].msg_hdr;
	bool hot = u->hot.fd >= 0 && addr_same(dst, &u->hot.peer);
	int len = hot ? 0 : udp_sockaddr_make(&u->local, dst, &t->name);

	if (len < 0 || dst->ip.family != u->local.addr.ip.family)
		return -EAFNOSUPPORT;
	t->dst = *dst;
	t->hot = hot;
	t->first_iov = tx->n_iov;
	t->bytes = 0;
	t->segment_bytes = (uint16_t)bytes;
	t->segments = 0;
	t->closed = false;
	*m = (struct msghdr){.msg_name = hot ? NULL : &t->name,
			     .msg_namelen = (socklen_t)len,
			     .msg_iov = &tx->iov[tx->n_iov]};
	tx->n_trains++;
	return 0;
}

static void train_set_segment(struct train *t, struct msghdr *m)
{
	struct cmsghdr *c = &t->control.align;

	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(uint16_t));
	memcpy(CMSG_DATA(c), &t->segment_bytes, sizeof(uint16_t));
	m->msg_control = t->control.bytes;
	m->msg_controllen = sizeof(t->control);
}

static void train_add(struct udp_tx *tx, const struct datagram *pkt)
{
	struct train *t = &tx->trains[tx->n_trains - 1];
	struct msghdr *m = &tx->msgs[tx->n_trains - 1].msg_hdr;
	uint8_t *hdr = tx->hdrs[tx->n_datagrams++];
	uint32_t bytes = pkt->hdr_len + pkt->payload_len;

	if (pkt->hdr_len > 0) {
		memcpy(hdr, pkt->hdr, pkt->hdr_len);
		tx->iov[tx->n_iov++] = (struct iovec){hdr, pkt->hdr_len};
		m->msg_iovlen++;
	}
	if (pkt->payload_len > 0) {
		tx->iov[tx->n_iov++] = (struct iovec){(void *)pkt->payload, pkt->payload_len};
		m->msg_iovlen++;
		tx->bytes += pkt->payload_len;
	}
	t->bytes += bytes;
	t->closed = bytes < t->segment_bytes;
	if (++t->segments == 2)
		train_set_segment(t, m);
}

static int port_udp_tx(struct port *p, const struct datagram_addr *dst, const struct datagram *pkt)
{
	struct port_udp *u = p->impl;
	struct udp_tx *tx = &u->tx;
	uint32_t bytes = (uint32_t)pkt->hdr_len + pkt->payload_len;
	int r;

	if (PLENUM_UNLIKELY(bytes > u->datagram_max || pkt->hdr_len > DATAGRAM_HDR_MAX))
		return -EMSGSIZE;
	if (PLENUM_UNLIKELY(tx->stashed || tx->n_datagrams == TX_DATAGRAMS_MAX ||
			    tx->bytes + pkt->payload_len > TX_BYTES_MAX)) {
		if (tx_send(u) < 0)
			return -EAGAIN;
	}
	if (tx->n_trains == 0 || !train_takes(u, &tx->trains[tx->n_trains - 1], dst, bytes)) {
		r = train_begin(u, dst, bytes);
		if (r < 0)
			return r;
	}
	train_add(tx, pkt);
	return 0;
}

static void port_udp_flush(struct port *p)
{
	struct port_udp *u = p->impl;

	if (u->tx.n_trains > 0 && tx_send(u) < 0)
		tx_stash(&u->tx);
}

static bool port_udp_too_big(struct port *p, struct datagram_addr *ret_dst, uint32_t *ret_bytes)
{
	struct port_udp *u = p->impl;

	if (PLENUM_LIKELY(u->big_bytes == 0))
		return false;
	*ret_dst = u->big_dst;
	*ret_bytes = u->big_bytes;
	u->big_bytes = 0;
	return true;
}

static uint64_t port_udp_tick(struct port *p, uint64_t now_ns)
{
	struct port_udp *u = p->impl;

	if (!u->tx.stashed || tx_send(u) == 0)
		return UINT64_MAX;
	return now_ns + TX_RETRY_NS;
}

/* ------------------------------------------------------------------ receiving */

static uint64_t timespec_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * NSEC_PER_SEC + (uint64_t)t->tv_nsec;
}

/* What the kernel says of a received super-packet: the size of its datagrams, the whole where it is
 * one, and how long it has been in the host. */
static void rx_controls(struct msghdr *m, uint64_t read_ns, uint32_t *ret_segment,
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
			/* The clock of the day may have been set meanwhile. */
			if (timespec_ns(&came) <= read_ns &&
			    read_ns - timespec_ns(&came) < NSEC_PER_SEC)
				*ret_waited_ns = read_ns - timespec_ns(&came);
		}
	}
}

/* Cuts filled buffers into datagrams from where the last call left off. */
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
		rx_controls(&mm->msg_hdr, rx->read_ns, &segment, &waited_ns);
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
	/* One at a time costs less while little arrives: no second look at an empty queue. */
	n = recvmsg(fd, &rx->msgs[0].msg_hdr, MSG_DONTWAIT);
	if (n < 0)
		return -1;
	rx->msgs[0].msg_len = (unsigned)n;
	return 1;
}

/* A failure costs nothing but the advantage: it is tried again after the next streak. */
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
	u->counters.hot = true;
}

/* The few packets that still wait in the socket are lost; they are looked at before this. */
static void hot_close(struct port_udp *u)
{
	close(u->hot.fd); /* leaves the epoll by itself */
	u->hot.fd = -1;
	u->hot.streak = 0;
	u->counters.hot = false;
}

/* Something came through the common socket. */
static void hot_learn(struct port_udp *u, const struct datagram_addr *src)
{
	struct udp_hot *hot = &u->hot;

	if (hot->fd >= 0) {
		hot->main_n += u->rx.filled;
		if (hot->main_n + hot->hot_n < HOT_REVIEW)
			return;
		if (hot->main_n > hot->hot_n / 4 && u->tx.n_trains == 0)
			hot_close(u);
		hot->main_n = hot->hot_n = 0;
		return;
	}
	if (!addr_same(&hot->peer, src)) {
		hot->peer = *src;
		hot->streak = 0;
	}
	hot->streak += u->rx.filled;
	if (hot->streak >= HOT_STREAK)
		hot_open(u);
}

/* Takes what waits in one socket. Number of datagrams; 0: nothing. */
static int rx_socket(struct port_udp *u, int fd, struct port_rx *pkts, unsigned max)
{
	struct udp_rx *rx = &u->rx;
	unsigned batch = rx->batch;
	int n = rx_syscall(u, fd, batch);

	if (n <= 0) {
		rx->batch = 1;
		/* A pending error is reported once and says nothing about the port: a peer without
		 * listener, a router without route. rudp finds out by itself. */
		return n == 0 || errno != EBADF ? 0 : -EBADF;
	}
	u->counters.rx_calls++;
	rx->batch = (unsigned)n == batch ? MIN_OF(batch * 2, RX_BUFS) : (unsigned)n;
	rx->filled = (unsigned)n;
	rx->next = 0;
	rx->offset = 0;
	return (int)rx_split(u, pkts, max);
}

static int port_udp_rx(struct port *p, struct port_rx *pkts, unsigned max)
{
	struct port_udp *u = p->impl;
	struct udp_hot *hot = &u->hot;
	int n;

	if (PLENUM_UNLIKELY(u->tx.stashed))
		(void)tx_send(u);
	if (u->rx.next < u->rx.filled)
		return (int)rx_split(u, pkts, max);
	if (u->watched && ++u->unarmed > UNWATCH_AFTER)
		unwatch_all(u);
	if (hot->fd >= 0) {
		n = rx_socket(u, hot->fd, pkts, max);
		if (n > 0) {
			hot->hot_n += u->rx.filled;
			return n;
		}
		if (++hot->skipped < HOT_MAIN_EVERY)
			return 0;
		hot->skipped = 0;
	}
	n = rx_socket(u, u->fd, pkts, max);
	if (n > 0)
		hot_learn(u, &pkts[0].src);
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

	if (u->tx.stashed && tx_send(u) < 0)
		return false;		 /* nothing would wake us when the socket has room */
	u->hot.skipped = HOT_MAIN_EVERY; /* whoever wakes up looks at both sockets */
	u->unarmed = 0;
	if (!u->watched)
		watch_all(u);
	return u->rx.next == u->rx.filled;
}

/* ------------------------------------------------------------------ announcing, extras */

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

int port_udp_set_tos(struct port *p, uint8_t tos)
{
	struct port_udp *u = p->impl;
	int r;

	u->local.tos = tos;
	r = udp_socket_set_tos(u->fd, &u->local);
	if (r == 0 && u->hot.fd >= 0)
		r = udp_socket_set_tos(u->hot.fd, &u->local);
	return r;
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
	.tx = port_udp_tx,
	.flush = port_udp_flush,
	.too_big = port_udp_too_big,
	.fd = port_udp_fd,
	.arm = port_udp_arm,
	.tick = port_udp_tick,
	.announce = port_udp_announce,
};
