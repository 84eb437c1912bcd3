/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends datagrams. Collects them in GSO bursts, each of which is one super-packet if the kernel
 * supports segmentation.
 */
#include "dataplane/port/udp/port_udp_internal.h"

#include <sys/mman.h>

static void tx_reset(struct udp_tx *tx)
{
	if (tx->stashed)
		(void)madvise(tx->stash, TX_BYTES_MAX, MADV_DONTNEED);
	tx->n_bursts = tx->n_datagrams = tx->n_iov = tx->sent = 0;
	tx->room_used = 0;
	tx->bytes = 0;
	tx->stashed = false;
}

/* Copies queued payload before the caller reuses its memory. */
static void tx_stash(struct udp_tx *tx)
{
	uint8_t *to = tx->stash;

	if (tx->stashed)
		return;
	for (unsigned i = tx->bursts[tx->sent].first_iov; i < tx->n_iov; i++) {
		struct iovec *v = &tx->iov[i];
		const uint8_t *from = v->iov_base;

		if (from >= tx->room && from < tx->room + TX_ROOM_BYTES)
			continue; /* these bytes were copied to `room` before */
		memcpy(to, v->iov_base, v->iov_len);
		v->iov_base = to;
		to += v->iov_len;
	}
	tx->stashed = true;
}

/* Records that the kernel refused packets to a destination. If no record is free, replaces the
 * oldest one. */
static void refusal_note(struct port_udp *u, const struct ip_addr *to, unsigned packets, int error)
{
	struct launch_refusal *r = &u->refusals[0];

	for (unsigned i = 0; i < LAUNCH_REFUSALS_MAX; i++) {
		struct launch_refusal *k = &u->refusals[i];

		if (k->to.family == to->family && memcmp(&k->to, to, sizeof(*to)) == 0) {
			r = k;
			break;
		}
		r = k->at_ns < r->at_ns ? k : r;
	}
	if (memcmp(&r->to, to, sizeof(*to)) != 0)
		*r = (struct launch_refusal){.to = *to};
	r->error = (uint64_t)error;
	r->packets += packets;
	r->at_ns = clock_now_ns();
}

static void tx_lost(struct port_udp *u, const struct gso_burst *t, unsigned segments, int error)
{
	u->counters.tx_lost += segments;
	u->counters.tx_errno = error;
	if (error == ECONNREFUSED) /* the peer's host has refused an earlier packet; this host has
				      refused none */
		return;
	if (error != EMSGSIZE) {
		refusal_note(u, &t->dst.ip, segments, error);
		return;
	}
	u->big_bytes = t->segment_bytes;
	u->big_dst = t->dst;
}

/* Sets ret to the next datagram of the burst: one iovec if the datagram's header and payload are
 * adjacent in memory, else one for each. The datagram stays in the burst. Returns the number of
 * iovecs. */
static unsigned segment_peek(const struct msghdr *whole, size_t bytes, struct iovec ret[2])
{
	unsigned n = 0;

	for (; bytes > 0; n++) {
		ret[n] = whole->msg_iov[n];
		ret[n].iov_len = MIN_OF(ret[n].iov_len, bytes);
		bytes -= ret[n].iov_len;
	}
	return n;
}

static void segment_skip(struct msghdr *whole, size_t bytes)
{
	while (bytes > 0) {
		struct iovec *v = whole->msg_iov;
		size_t n = MIN_OF(v->iov_len, bytes);

		v->iov_base = (uint8_t *)v->iov_base + n;
		v->iov_len -= n;
		bytes -= n;
		if (v->iov_len > 0)
			continue;
		whole->msg_iov++;
		whole->msg_iovlen--;
	}
}

static int burst_fd(const struct port_udp *u, const struct gso_burst *t)
{
	if (t->source)
		return u->source_fds[t->source];
	return t->hot && u->hot.fd >= 0 ? u->hot.fd : u->fd;
}

static void tx_count(struct port_udp *u, const struct gso_burst *t, unsigned segments,
		     uint32_t bytes)
{
	u->counters.tx_datagrams += segments;
	u->counters.tx_bytes += bytes;
	u->counters.tx_bursts += segments > 1;
	u->counters.tx_by_source[t->source] += segments;
}

/* Sends a burst that the kernel refused to segment, with one system call for each datagram. Removes
 * the sent datagrams from the burst, so that a later call can continue after -EAGAIN. Returns 0 or
 * -EAGAIN. */
static int burst_send_split(struct port_udp *u, struct gso_burst *t)
{
	struct msghdr *whole = &u->tx.msgs[u->tx.sent].msg_hdr;
	bool fits = true;

	while (t->segments > 0) {
		size_t bytes = MIN_OF(t->bytes, t->segment_bytes);
		struct iovec iov[2];
		struct msghdr m = {.msg_name = whole->msg_name,
				   .msg_namelen = whole->msg_namelen,
				   .msg_iov = iov,
				   .msg_iovlen = segment_peek(whole, bytes, iov)};

		if (sendmsg(burst_fd(u, t), &m, MSG_DONTWAIT) < 0) {
			if (errno == EINTR)
				continue;
			if (errno == EAGAIN || errno == ENOBUFS)
				return -EAGAIN;
			fits = fits && errno != EMSGSIZE;
			tx_lost(u, t, 1, errno);
		} else {
			u->counters.tx_calls++;
			tx_count(u, t, 1, (uint32_t)bytes);
			if (fits) /* the kernel accepts single datagrams, so it cannot segment */
				u->counters.gso = false;
		}
		segment_skip(whole, bytes);
		t->bytes -= (uint32_t)bytes;
		if (--t->segments == 1)
			whole->msg_controllen = 0;
	}
	return 0;
}

/* Sends as many of the next bursts as use the same socket. Returns their number or a negative
 * errno. */
static int tx_syscall(struct port_udp *u)
{
	struct udp_tx *tx = &u->tx;
	const struct gso_burst *t = &tx->bursts[tx->sent];
	struct mmsghdr *msgs = &tx->msgs[tx->sent];
	unsigned left = tx->n_bursts - tx->sent, run = 1;
	int fd = burst_fd(u, t), n;

	while (run < left && t[run].hot == t->hot && t[run].source == t->source)
		run++;
	if (run == 1)
		return sendmsg(fd, &msgs->msg_hdr, MSG_DONTWAIT) < 0 ? -errno : 1;
	n = sendmmsg(fd, msgs, run, MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

int udp_tx_send(struct port_udp *u)
{
	struct udp_tx *tx = &u->tx;
	bool again = false;

	while (tx->sent < tx->n_bursts) {
		struct gso_burst *t = &tx->bursts[tx->sent];
		int n = tx_syscall(u);

		if (n > 0) {
			u->counters.tx_calls++;
			for (int i = 0; i < n; i++)
				tx_count(u, &t[i], t[i].segments, t[i].bytes);
			tx->sent += (unsigned)n;
			continue;
		}
		if (n == -EINTR)
			continue;
		if (n == -ECONNREFUSED && t->hot && !again) {
			again = true; /* the kernel has reported the error of an earlier packet, and
					 has not sent this burst */
			continue;
		}
		again = false;
		if (n == -EAGAIN || n == -ENOBUFS) {
			u->counters.tx_full++;
			return -EAGAIN;
		}
		if (t->segments > 1 && (n == -EIO || n == -EINVAL)) {
			if (burst_send_split(u, t) < 0)
				return -EAGAIN;
		} else {
			tx_lost(u, t, t->segments, -n);
		}
		tx->sent++;
	}
	tx_reset(tx);
	return 0;
}

static bool burst_accepts(const struct port_udp *u, const struct gso_burst *t,
			  const struct datagram_addr *dst, unsigned source, uint32_t bytes)
{
	return u->counters.gso && !t->closed && bytes > 0 && bytes <= t->segment_bytes &&
	       t->segments < BURST_SEGMENTS_MAX && t->bytes + bytes <= BURST_BYTES_MAX &&
	       t->source == source && udp_addr_same(&t->dst, dst);
}

static int burst_begin(struct port_udp *u, const struct datagram_addr *dst, unsigned source,
		       uint32_t bytes)
{
	struct udp_tx *tx = &u->tx;
	struct gso_burst *t = &tx->bursts[tx->n_bursts];
	struct msghdr *m = &tx->msgs[tx->n_bursts].msg_hdr;
	bool hot = source == 0 && u->hot.fd >= 0 && udp_addr_same(dst, &u->hot.peer);
	int len = hot ? 0 : udp_sockaddr_make(&u->local, dst, &t->name);

	if (len < 0 || dst->ip.family != u->local.addr.ip.family)
		return -EAFNOSUPPORT;
	t->dst = *dst;
	t->hot = hot;
	t->source = (uint8_t)source;
	t->first_iov = tx->n_iov;
	t->bytes = 0;
	t->segment_bytes = (uint16_t)bytes;
	t->segments = 0;
	t->closed = false;
	*m = (struct msghdr){.msg_name = hot ? NULL : &t->name,
			     .msg_namelen = (socklen_t)len,
			     .msg_iov = &tx->iov[tx->n_iov]};
	tx->n_bursts++;
	return 0;
}

static void burst_set_segment(struct gso_burst *t, struct msghdr *m)
{
	struct cmsghdr *c = &t->control.align;

	c->cmsg_level = SOL_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(uint16_t));
	memcpy(CMSG_DATA(c), &t->segment_bytes, sizeof(uint16_t));
	m->msg_control = t->control.bytes;
	m->msg_controllen = sizeof(t->control);
}

/* Adds a piece of memory to the message. If it directly follows the previous piece, extends that
 * piece. */
static void burst_piece(struct udp_tx *tx, struct msghdr *m, const uint8_t *piece, size_t bytes)
{
	struct iovec *last = m->msg_iovlen > 0 ? &tx->iov[tx->n_iov - 1] : NULL;

	if (last && (const uint8_t *)last->iov_base + last->iov_len == piece) {
		last->iov_len += bytes;
		return;
	}
	tx->iov[tx->n_iov++] = (struct iovec){(void *)piece, bytes};
	m->msg_iovlen++;
}

static const uint8_t *room_copy(struct udp_tx *tx, const uint8_t *from, size_t bytes)
{
	uint8_t *to = tx->room + tx->room_used;

	memcpy(to, from, bytes);
	tx->room_used += bytes;
	return to;
}

static void burst_add(struct udp_tx *tx, const struct datagram *pkt)
{
	struct gso_burst *t = &tx->bursts[tx->n_bursts - 1];
	struct msghdr *m = &tx->msgs[tx->n_bursts - 1].msg_hdr;
	uint32_t bytes = pkt->hdr_len + pkt->payload_len;
	const uint8_t *payload = pkt->payload;

	tx->n_datagrams++;
	if (pkt->hdr_len > 0)
		burst_piece(tx, m, room_copy(tx, pkt->hdr, pkt->hdr_len), pkt->hdr_len);
	if (pkt->payload_len > 0) {
		/* A datagram without a header can directly follow the previous one in memory. */
		if (pkt->hdr_len > 0 && pkt->payload_len <= TX_COPY_MOST)
			payload = room_copy(tx, payload, pkt->payload_len);
		burst_piece(tx, m, payload, pkt->payload_len);
		tx->bytes += pkt->payload_len;
	}
	t->bytes += bytes;
	t->closed = pkt->alone || bytes < t->segment_bytes;
	if (++t->segments == 2)
		burst_set_segment(t, m);
}

/* Returns the index of the source port: the requested one, or 0 if that could not be opened. */
static unsigned source_of(const struct port_udp *u, const struct datagram *pkt)
{
	unsigned k = pkt->source % DATAGRAM_SOURCES_MAX;

	return PLENUM_UNLIKELY(k) && u->source_fds[k] >= 0 ? k : 0;
}

int udp_tx(struct port *p, const struct datagram_addr *dst, const struct datagram *pkt)
{
	struct port_udp *u = p->impl;
	struct udp_tx *tx = &u->tx;
	uint32_t bytes = (uint32_t)pkt->hdr_len + pkt->payload_len;
	unsigned source = source_of(u, pkt);
	int r;

	if (PLENUM_UNLIKELY(bytes > u->datagram_max || pkt->hdr_len > DATAGRAM_HDR_MAX))
		return -EMSGSIZE;
	if (PLENUM_UNLIKELY(tx->stashed || tx->n_datagrams == TX_DATAGRAMS_MAX ||
			    tx->bytes + pkt->payload_len > TX_BYTES_MAX)) {
		if (udp_tx_send(u) < 0)
			return -EAGAIN;
	}
	if (tx->n_bursts == 0 || pkt->alone ||
	    !burst_accepts(u, &tx->bursts[tx->n_bursts - 1], dst, source, bytes)) {
		r = burst_begin(u, dst, source, bytes);
		if (r < 0)
			return r;
	}
	burst_add(tx, pkt);
	return 0;
}

void udp_tx_flush(struct port *p)
{
	struct port_udp *u = p->impl;

	if (u->tx.n_bursts > 0 && udp_tx_send(u) < 0)
		tx_stash(&u->tx);
}

bool udp_tx_too_big(struct port *p, struct datagram_addr *ret_dst, uint32_t *ret_bytes)
{
	struct port_udp *u = p->impl;

	if (PLENUM_LIKELY(u->big_bytes == 0))
		return false;
	*ret_dst = u->big_dst;
	*ret_bytes = u->big_bytes;
	u->big_bytes = 0;
	return true;
}
