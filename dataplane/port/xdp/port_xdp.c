/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The AF_XDP port: datagrams for one address and port bypass the kernel's network stack and arrive
 * in the worker's memory. port_l2 and port_neigh interpret frames, as with DPDK; only the source of
 * the frames differs. Nothing outlives the process, so no cleanup is necessary after a SIGKILL.
 */
#include "dataplane/port/xdp/port_xdp.h"
#include "dataplane/port/l2/port_interface.h"
#include "dataplane/port/l2/port_join.h"
#include "dataplane/port/l2/port_neigh.h"
#include "dataplane/port/port.h"
#include "netcfg/base/log.h"
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#define CLOCK_NS (10 * NSEC_PER_MSEC) /* while polling, tx uses a time that is at most this old */
/* If the kernel has accepted only some of the frames, the port offers the remaining frames again
 * after this time. */
#define TX_AGAIN_NS (50 * NSEC_PER_USEC)
/* If the kernel takes no frames, because the link is down, they are offered again after this
 * time. */
#define TX_STUCK_NS (10 * NSEC_PER_MSEC)
/* If nothing could be sent for this long, the kernel counts as taking no frames. */
#define TX_STUCK_AFTER_NS NSEC_PER_MSEC
/* How long all ports of a worker together wait for the queues of a dead process, which become free
 * when the last frame of that process was sent. The time is short, because the agent allows 30 s
 * for the worker's whole start, which also includes waiting for links. */
#define FREE_WAIT_NS (8 * NSEC_PER_SEC)
/* First interval of retries. Each interval is twice as long as the one before. */
#define REST_NS (2 * (long)NSEC_PER_MSEC)
#define REST_NS_MAX (64 * (long)NSEC_PER_MSEC)

struct port_xdp {
	struct port *port;
	struct port_xdp_socket socket;
	struct port_xdp_control control;
	int link;     /* descriptor that keeps the program attached to the interface while it is
			 open */
	int wake_fd;  /* descriptor that wakes the worker; -1: the worker polls */
	int timer_fd; /* timer in the epoll descriptor, which wakes the worker for the next retry */
	bool timer_set;
	struct port_joining joining;
	uint32_t ifindex;
	uint32_t frame_max, datagram_max;
	uint64_t now_ns; /* time of the last tick or control frame */
	struct port_l2_local local;
	struct port_neigh *neigh;
	struct launch_port_counters counters;
	uint64_t no_progress_ns;     /* when the kernel stopped sending the waiting frames; 0: the
					kernel is sending */
	bool stuck;		     /* nothing was sent for so long that retries can be slow */
	bool idle, rx_called;	     /* idle: no packets have arrived since wake_fd was last armed;
					rx_called: rx was called since then */
	unsigned n_queued, n_unsent; /* numbers of frames. n_queued: queued but not submitted;
					n_unsent: submitted but not taken by the kernel */
	struct packet_writer *capture; /* ring of the capture; NULL: no capture */
	unsigned n_held;
	/* Frames that the last rx call returned, which its caller may still be reading. */
	struct port_xdp_frame held[PORT_BURST_MAX];
};

/* ------------------------------------------------------------------ sending */

static void capture_frame(struct port_xdp *x, const uint8_t *frame, uint32_t len, uint64_t now_ns,
			  enum packet_direction direction)
{
	struct packet_part part = {frame, len};
	struct packet_record r = {.time_ns = now_ns,
				  .wire_bytes = len,
				  .port = (uint8_t)x->port->index,
				  .direction = (uint8_t)direction};

	packet_writer_put(x->capture, &r, &part, 1);
}

static void tx_send(struct port_xdp *x)
{
	uint64_t now_ns;

	if (x->n_unsent + x->n_queued == 0)
		return;
	x->counters.tx_packets += x->n_queued;
	x->n_queued = 0;
	x->n_unsent = port_xdp_socket_tx_send(&x->socket);
	if (PLENUM_LIKELY(x->n_unsent == 0)) {
		x->stuck = false;
		x->no_progress_ns = 0;
		return;
	}
	x->counters.tx_full++;
	now_ns = clock_now_ns();
	if (!x->socket.no_progress || x->no_progress_ns == 0)
		x->no_progress_ns = now_ns;
	x->stuck = now_ns - x->no_progress_ns >= TX_STUCK_AFTER_NS;
}

static uint8_t *tx_get(struct port_xdp *x, uint64_t *ret_address)
{
	uint8_t *frame = port_xdp_socket_tx_get(&x->socket, ret_address);

	if (PLENUM_LIKELY(frame != NULL))
		return frame;
	tx_send(x);
	return port_xdp_socket_tx_get(&x->socket, ret_address);
}

static void tx_put(struct port_xdp *x, uint64_t address, const uint8_t *frame, size_t len)
{
	if (PLENUM_UNLIKELY(x->capture != NULL))
		capture_frame(x, frame, (uint32_t)len, clock_now_ns(), PACKET_OUT);
	port_xdp_socket_tx_put(&x->socket, address, (uint32_t)len);
	if (++x->n_queued == PORT_BURST_MAX)
		tx_send(x);
}

static void neigh_emit(void *user, const uint8_t *frame, size_t len)
{
	struct port_xdp *x = user;
	uint64_t address;
	uint8_t *to = tx_get(x, &address);

	if (!to) {
		x->counters.tx_lost++;
		return;
	}
	memcpy(to, frame, len);
	tx_put(x, address, to, len);
}

/* Parks the frame while its neighbour is being resolved. port_neigh keeps one frame per neighbour
 * and refuses further ones. */
static int tx_park(struct port_xdp *x, const struct datagram_addr *dst, const struct datagram *pkt)
{
	static const struct mac_addr later;
	uint8_t *frame = port_neigh_park(x->neigh, &dst->ip);

	tx_send(x);
	if (!frame)
		return -EHOSTUNREACH;
	port_neigh_park_len(x->neigh, &dst->ip,
			    port_l2_build_udp(frame, &x->local, &later, dst, pkt, 0));
	return 0;
}

static int port_xdp_tx(struct port *p, const struct datagram_addr *dst, const struct datagram *pkt)
{
	struct port_xdp *x = p->impl;
	struct mac_addr mac;
	uint64_t address;
	uint8_t *frame;
	int r;

	if (PLENUM_UNLIKELY((uint32_t)pkt->hdr_len + pkt->payload_len > x->datagram_max ||
			    pkt->hdr_len > DATAGRAM_HDR_MAX))
		return -EMSGSIZE;
	r = port_neigh_resolve(x->neigh, &dst->ip, x->now_ns, &mac);
	if (PLENUM_UNLIKELY(r < 0))
		return r == -EINPROGRESS ? tx_park(x, dst, pkt) : r;
	frame = tx_get(x, &address);
	if (PLENUM_UNLIKELY(!frame))
		return -EAGAIN;
	tx_put(x, address, frame, port_l2_build_udp(frame, &x->local, &mac, dst, pkt, 0));
	return 0;
}

static void port_xdp_flush(struct port *p)
{
	tx_send(p->impl);
}

/* ------------------------------------------------------------------ receiving */

static void control_look(void *user, const uint8_t *frame, uint32_t len)
{
	struct port_xdp *x = user;

	capture_frame(x, frame, len, x->now_ns, PACKET_IN);
}

/* Processes copies of the kernel's control frames: address resolution and echo requests. */
static void control_rx(struct port_xdp *x)
{
	const struct port_xdp_control_to to = {.local = &x->local,
					       .neigh = x->neigh,
					       .counters = &x->counters,
					       .look = x->capture ? control_look : NULL,
					       .user = x};

	x->now_ns = clock_now_ns();
	port_xdp_control_input(&x->control, &to, x->now_ns);
	tx_send(x);
}

static int port_xdp_rx(struct port *p, struct port_rx *pkts, unsigned max)
{
	struct port_xdp *x = p->impl;
	unsigned n = 0;

	x->rx_called = true;
	if (PLENUM_UNLIKELY(x->n_unsent > 0))
		tx_send(x);
	if (x->n_held > 0)
		port_xdp_socket_give_back(&x->socket, x->held, x->n_held);
	x->n_held = port_xdp_socket_rx(&x->socket, x->held, MIN_OF(max, PORT_BURST_MAX));
	x->counters.rx_packets += x->n_held;
	for (unsigned i = 0; i < x->n_held; i++) {
		const struct port_xdp_frame *h = &x->held[i];
		struct port_l2_frame f;

		if (PLENUM_UNLIKELY(x->capture != NULL))
			capture_frame(x, h->data, h->len, clock_now_ns(), PACKET_IN);
		if (PLENUM_UNLIKELY(port_l2_parse(&x->local, h->data, h->len, 0, &f) !=
				    PORT_L2_UDP)) {
			port_l2_count_drop(&x->counters,
					   f.kind == PORT_L2_DROP ? f.drop : PORT_L2_DROP_NOT_OURS);
			continue;
		}
		pkts[n++] = (struct port_rx){.data = f.payload,
					     .len = f.payload_len,
					     .src = f.src,
					     .waited_ns = UINT64_MAX};
	}
	if (PLENUM_UNLIKELY(port_xdp_control_has(&x->control))) {
		control_rx(x);
		x->idle = false;
	}
	x->idle &= x->n_held == 0;
	return (int)n;
}

static int port_xdp_fd(struct port *p)
{
	const struct port_xdp *x = p->impl;

	return x->wake_fd;
}

/* Reads the errors of the sockets. The socket of an interface that went down stays readable until
 * its error is read. */
static void errors_take(const struct port_xdp *x)
{
	socklen_t len = sizeof(int);
	int error;

	(void)getsockopt(x->control.fd, SOL_SOCKET, SO_ERROR, &error, &len);
	for (unsigned i = 0; i < x->socket.n_queues; i++)
		(void)getsockopt(x->socket.queues[i].fd, SOL_SOCKET, SO_ERROR, &error, &len);
}

static uint64_t again_ns(const struct port_xdp *x)
{
	return x->stuck ? TX_STUCK_NS : TX_AGAIN_NS;
}

/* Sets the timer for frames that the kernel has not taken. It wakes the worker, and the next
 * operation on this port offers these frames again. */
static void timer_set(struct port_xdp *x)
{
	struct itimerspec t = {.it_value.tv_nsec = x->n_unsent > 0 ? (long)again_ns(x) : 0};

	if (x->n_unsent == 0 && !x->timer_set)
		return;
	(void)timerfd_settime(x->timer_fd, 0, &t, NULL);
	x->timer_set = x->n_unsent > 0;
}

static bool port_xdp_arm(struct port *p)
{
	struct port_xdp *x = p->impl;

	/* The worker woke up and called rx, but no packet has arrived: perhaps the error of a
	 * socket has woken it. */
	if (x->idle && x->rx_called)
		errors_take(x);
	x->idle = true;
	x->rx_called = false;
	timer_set(x);
	return x->n_queued == 0 && !port_xdp_socket_has_rx(&x->socket) &&
	       !port_xdp_control_has(&x->control);
}

static uint64_t port_xdp_tick(struct port *p, uint64_t now_ns)
{
	struct port_xdp *x = p->impl;
	uint64_t due;

	x->now_ns = now_ns;
	due = port_neigh_tick(x->neigh, now_ns);
	tx_send(x);
	if (x->n_unsent > 0)
		return MIN_OF(due, now_ns + again_ns(x));
	return MIN_OF(due, now_ns + (x->wake_fd < 0 ? CLOCK_NS : NSEC_PER_SEC));
}

static void port_xdp_announce(struct port *p)
{
	struct port_xdp *x = p->impl;

	port_neigh_announce(x->neigh, clock_now_ns());
	tx_send(x);
}

static void port_xdp_capture(struct port *p, struct packet_writer *to)
{
	struct port_xdp *x = p->impl;

	x->capture = to;
}

static void port_xdp_counters(const struct port *p, struct launch_port_counters *ret)
{
	const struct port_xdp *x = p->impl;
	struct port_neigh_counters neigh;

	port_neigh_counters_get(x->neigh, &neigh);
	*ret = x->counters;
	ret->rx_missed = port_xdp_socket_missed(&x->socket);
	ret->conflicts = neigh.conflicts;
}

/* ------------------------------------------------------------------ opening */

/* The modes in which a program can be attached to an interface, the best mode first. */
static const struct xdp_mode {
	enum port_xdp_mode mode;
	bool zero_copy;
	const char *text;
} modes[] = {
	{PORT_XDP_NATIVE, true, "native mode with zero copy"},
	{PORT_XDP_NATIVE, false, "native mode with copies"},
	{PORT_XDP_GENERIC, false, "generic mode"},
};

/* The resources of one attempt to open the port, in the order of their creation. A failure frees
 * all of them. */
struct attempt {
	unsigned n_queues;
	uint32_t mtu;
	int map, program;	 /* shared by all modes */
	enum port_xdp_mode mode; /* mode of x->link, if attached */
};

static bool is_busy(int r)
{
	return r == -EBUSY || r == -EEXIST;
}

static int link_make(struct port_xdp *x, struct attempt *a, enum port_xdp_mode mode)
{
	x->link = port_xdp_link_new(a->program, x->ifindex, mode);
	a->mode = mode;
	return x->link < 0 ? x->link : 0;
}

/* Tries one mode. Until the last step the interface works as before, because traffic of queues
 * without a socket stays with the kernel. */
static int mode_try(struct port_xdp *x, struct attempt *a, const struct xdp_mode *mode)
{
	int r = port_xdp_socket_init(&x->socket, x->ifindex, a->n_queues, a->mtu, mode->zero_copy);

	for (unsigned i = 0; r == 0 && i < a->n_queues; i++)
		r = port_xdp_map_set(a->map, i, x->socket.queues[i].fd);
	if (r == 0 && x->link < 0)
		r = link_make(x, a, mode->mode);
	if (r < 0)
		port_xdp_socket_done(&x->socket);
	return r;
}

/* Tries the modes in turn. ret_mode: the mode that worked. */
static int modes_try(struct port_xdp *x, struct attempt *a, const struct xdp_mode **ret_mode)
{
	int r = -EOPNOTSUPP;

	for (unsigned i = 0; i < ARRAY_SIZE(modes); i++) {
		if (x->link >= 0 && modes[i].mode != a->mode)
			continue;
		r = mode_try(x, a, &modes[i]);
		if (r == 0) {
			*ret_mode = &modes[i];
			return 0;
		}
		log_debug("AF_XDP in %s: %s", modes[i].text, strerror(-r));
		if (is_busy(r))
			break; /* do not try a worse mode, because it is better to wait until this
				  mode is available */
	}
	return r;
}

/*
 * Waits while another process has a queue, but only if that process is dead. An interface can have
 * only one XDP program, which shows whether the process is dead. While that process is alive, its
 * program is attached, so the program of this port cannot be attached. When that process has died,
 * the kernel has removed its program. But its queue stays in use as long as the kernel has one of
 * its frames. So if this port's program can be attached, the queue will become free, and no other
 * process can take it first.
 */
static int free_await(struct port_xdp *x, struct attempt *a, uint64_t wait_ns,
		      const struct xdp_mode **ret_mode)
{
	const uint64_t deadline = clock_now_ns() + wait_ns;
	struct timespec rest = {.tv_nsec = REST_NS};
	int r = link_make(x, a, PORT_XDP_NATIVE);

	if (r < 0 && !is_busy(r))
		r = link_make(x, a, PORT_XDP_GENERIC);
	if (r < 0)
		return is_busy(r) ? -EEXIST : r;
	do {
		nanosleep(&rest, NULL);
		rest.tv_nsec = MIN_OF(2 * rest.tv_nsec, REST_NS_MAX);
		r = modes_try(x, a, ret_mode);
	} while (is_busy(r) && clock_now_ns() < deadline);
	if (r == 0)
		return 0;
	close(x->link);
	x->link = -1;
	return is_busy(r) ? -EBUSY : modes_try(x, a, ret_mode);
}

/* Opens the sockets and attaches the program. ret_mode: the mode that worked. Returns 0, -EEXIST if
 * another process uses the interface, -EBUSY if a dead process still has a queue, or another
 * negative errno. */
static int socket_open(struct port_xdp *x, unsigned n_queues, uint32_t mtu, uint64_t wait_ns,
		       const struct xdp_mode **ret_mode)
{
	autoclose int map = port_xdp_map_new(n_queues), program = -1;
	struct attempt a = {.n_queues = n_queues, .mtu = mtu, .map = map};
	int r;

	if (map < 0)
		return map;
	a.program = program = port_xdp_program_load(&x->local, map);
	if (program < 0)
		return program;
	r = modes_try(x, &a, ret_mode);
	return is_busy(r) ? free_await(x, &a, wait_ns, ret_mode) : r;
}

static int wake_init(struct port_xdp *x)
{
	struct epoll_event ev = {.events = EPOLLIN};

	x->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	x->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (x->wake_fd < 0 || x->timer_fd < 0 ||
	    epoll_ctl(x->wake_fd, EPOLL_CTL_ADD, x->timer_fd, &ev) < 0 ||
	    epoll_ctl(x->wake_fd, EPOLL_CTL_ADD, x->control.fd, &ev) < 0)
		return -errno;
	for (unsigned i = 0; i < x->socket.n_queues; i++)
		if (epoll_ctl(x->wake_fd, EPOLL_CTL_ADD, x->socket.queues[i].fd, &ev) < 0)
			return -errno;
	return 0;
}

/* Finds the index and MAC of the interface. Returns 0 or a negative errno. */
static int interface_find(struct port_xdp *x, const char *ifname)
{
	autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	x->ifindex = if_nametoindex(ifname);
	if (x->ifindex == 0)
		return -ENODEV;
	return fd < 0 ? -errno : port_interface_mac(fd, ifname, &x->local.mac);
}

static int neigh_make(struct port_xdp *x, const struct launch_port *lp)
{
	struct port_neigh_config cfg = {
		.local = x->local,
		.prefix_len = lp->ip.len,
		.gateway = lp->gateway,
		.frame_bytes_max = x->frame_max,
		.emit = neigh_emit,
		.user = x,
	};

	return port_neigh_new(&cfg, &x->neigh);
}

static int refuse(struct reason *why, int r, const char *ifname, const char *text)
{
	reason_set_text(why, "cannot use AF_XDP on %.16s: %s", ifname, text ? text : strerror(-r));
	return r;
}

static int all_open(struct port_xdp *x, const struct launch_config *cfg,
		    const struct launch_port *lp, struct reason *why)
{
	const struct xdp_mode *mode = NULL;
	unsigned n_queues;
	char text[80];
	int r = interface_find(x, lp->ifname);

	if (r < 0)
		return refuse(why, r, lp->ifname, NULL);
	if (lp->mtu > PLENUM_AF_XDP_MTU_MAX) {
		snprintf(text, sizeof(text), "the MTU %u exceeds the limit of %u", lp->mtu,
			 PLENUM_AF_XDP_MTU_MAX);
		return refuse(why, -EMSGSIZE, lp->ifname, text);
	}
	n_queues = port_xdp_queues_count(lp->ifname);
	if (n_queues > PORT_XDP_QUEUES_MAX) {
		snprintf(text, sizeof(text),
			 "%u receive queues exceed the limit of %u; use ethtool -L", n_queues,
			 PORT_XDP_QUEUES_MAX);
		return refuse(why, -E2BIG, lp->ifname, text);
	}
	r = socket_open(x, n_queues, lp->mtu, FREE_WAIT_NS / cfg->n_ports, &mode);
	if (r < 0)
		return refuse(why, r, lp->ifname,
			      r == -EEXIST  ? "another program or worker uses the interface"
			      : r == -EBUSY ? "the kernel still holds a dead worker's queue; kill "
					      "this worker to retry"
					    : NULL);
	r = port_xdp_control_init(&x->control, &x->local, x->ifindex);
	if (r == 0 && cfg->transport == LAUNCH_DPDK_INTERRUPT)
		r = wake_init(x);
	if (r == 0)
		r = neigh_make(x, lp);
	if (r < 0)
		return refuse(why, r, lp->ifname, NULL);
	log_notice("%s: AF_XDP on %s, %u queue(s), %s", lp->leg, lp->ifname, n_queues, mode->text);
	return 0;
}

static void port_xdp_close(struct port *p)
{
	struct port_xdp *x = p->impl;

	if (!x)
		return;
	cleanup_close(&x->link); /* detach the program first, so that it redirects no more frames */
	cleanup_close(&x->wake_fd);
	cleanup_close(&x->timer_fd);
	port_join_end(&x->joining);
	port_xdp_control_done(&x->control);
	port_xdp_socket_done(&x->socket);
	port_neigh_free(x->neigh);
	free(x);
	p->impl = NULL;
}

static int port_xdp_open(struct port *p, const struct launch_config *cfg, unsigned index,
			 struct reason *why)
{
	const struct launch_port *lp = &cfg->ports[index];
	struct port_xdp *x;
	int r;

	reason_clear(why);
	p->impl = x = calloc(1, sizeof(*x));
	if (!x) {
		reason_set_text(why, "out of memory");
		return -ENOMEM;
	}
	p->index = index;
	x->port = p;
	x->link = x->wake_fd = x->timer_fd = x->control.fd = -1;
	port_join_begin(&x->joining);
	x->now_ns = clock_now_ns();
	x->frame_max = PORT_L2_ETHER_BYTES + lp->mtu;
	x->datagram_max = lp->mtu - MIN_OF(lp->mtu, lp->ip.addr.family == AF_INET6 ? 48U : 28U);
	x->local.ip = lp->ip.addr;
	x->local.udp_port = lp->udp_port;
	/* Accept partial checksums: other workers on this host leave the checksum to a device, but
	 * packets between workers of one host pass no device that completes it. */
	x->local.accept_partial_checksum = true;
	r = all_open(x, cfg, lp, why);
	if (r < 0)
		port_xdp_close(p);
	return r;
}

static int port_xdp_probe(struct port *p, struct reason *why)
{
	struct port_xdp *x = p->impl;
	int r = port_neigh_probe(x->neigh, clock_now_ns(), why);

	tx_send(x);
	return r;
}

static bool join_receive(struct port *p)
{
	const struct port_xdp *x = p->impl;
	uint64_t was = x->counters.rx_packets;
	struct port_rx rx[16];

	(void)port_xdp_rx(p, rx, ARRAY_SIZE(rx));
	return x->counters.rx_packets != was || port_xdp_control_has(&x->control);
}

static int port_xdp_join(struct port *p, const struct launch_config *cfg, unsigned index,
			 struct reason *why)
{
	struct port_xdp *x = p->impl;
	struct port_join_by by = {
		.port = p, .neigh = x->neigh, .mac = &x->local.mac, .receive = join_receive};

	/* A device that cannot report a link counts as having one. */
	by.has_link = x->joining.linked ||
		      port_interface_has_link(x->control.fd, cfg->ports[index].ifname) != 0;
	return port_join_step(&x->joining, &by, why);
}

const struct port_ops port_xdp_ops = {
	.name = "af_xdp",
	.open = port_xdp_open,
	.join = port_xdp_join,
	.probe = port_xdp_probe,
	.close = port_xdp_close,
	.rx = port_xdp_rx,
	.tx = port_xdp_tx,
	.flush = port_xdp_flush,
	.fd = port_xdp_fd,
	.arm = port_xdp_arm,
	.tick = port_xdp_tick,
	.announce = port_xdp_announce,
	.capture = port_xdp_capture,
	.counters = port_xdp_counters,
};
