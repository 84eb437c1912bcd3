/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The DPDK port: devices, buffers and bursts. It is a loadable module, so that other workers do not
 * need DPDK's memory. port_l2 and port_neigh interpret the frames. The first port that opens starts
 * DPDK's environment (EAL). The environment runs until the process ends, because DPDK cannot start
 * twice.
 */
#include "dataplane/port/dpdk/port_dpdk.h"
#include "dataplane/port/dpdk/port_dpdk_device.h"
#include "dataplane/port/dpdk/port_dpdk_queues.h"
#include "dataplane/port/dpdk/port_dpdk_rules.h"
#include "dataplane/port/l2/port_join.h"
#include "dataplane/port/l2/port_neigh.h"
#include "dataplane/port/xdp/port_xdp.h"
#include "netcfg/base/log.h"
#include <stdio.h>
#include <string.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#define CLOCK_NS (10 * NSEC_PER_MSEC) /* while polling, tx uses a time that is at most this old */
/* Interval at which a port checks the link if its worker may sleep. */
#define LINK_LOOK_NS (50 * NSEC_PER_MSEC)
/* Interval of attempts to restart the device after a reset of the PF. */
#define RESTART_NS NSEC_PER_SEC
#define FRESH 32U /* count of buffers taken from the pool at once */

struct port_dpdk {
	struct port *port;
	uint16_t id;
	bool on_pci, opened, started;
	struct port_joining joining;
	struct port_dpdk_wake wake; /* the descriptor by which the device wakes the worker; fd is -1
				       if the worker polls */
	struct port_dpdk_state state;
	uint32_t frame_max, datagram_max;
	uint64_t restart_ns;
	uint64_t now_ns; /* time of the last tick or control frame */
	struct port_dpdk_queues queues;
	bool shared; /* the device is shared with the kernel, which gets all traffic that no flow
			rule selects */
	struct port_dpdk_rules rules;
	struct port_xdp_control control; /* copies of the kernel's control frames */
	struct port_l2_local local;
	struct port_neigh *neigh;
	struct launch_port_counters counters;
	bool control_queued; /* the port has queued its own control frames, so this call must also
				flush tx */
	struct packet_writer *capture; /* ring of the capture; NULL: no capture */
	unsigned n_captured; /* count of frames in tx that were captured already when the device did
				not accept them */
	uint64_t tx_offload; /* value of the mbuf field tx_offload: the lengths of the headers */
	unsigned n_held, n_tx, n_fresh;
	struct rte_mbuf *held[PORT_BURST_MAX]; /* mbufs that the last rx call returned, which its
						  caller may still be reading */
	struct rte_mbuf *tx[PORT_BURST_MAX];
	struct rte_mbuf *fresh[FRESH]; /* empty mbufs for sending */
	char device[PLENUM_NAME_MAX];  /* name of the DPDK device */
	char bus[8];
};

/* ------------------------------------------------------------------ sending */

/* Captures a burst. All its frames get one timestamp. */
static void capture_frames(struct port_dpdk *d, struct rte_mbuf *const *frames, unsigned n,
			   enum packet_direction direction)
{
	uint64_t now_ns = clock_now_ns();

	for (unsigned i = 0; i < n; i++) {
		struct packet_part part = {rte_pktmbuf_mtod(frames[i], const void *),
					   frames[i]->data_len};
		struct packet_record r = {.time_ns = now_ns,
					  .wire_bytes = part.len,
					  .port = (uint8_t)d->port->index,
					  .direction = (uint8_t)direction};

		packet_writer_put(d->capture, &r, &part, 1);
	}
}

static void capture_tx(struct port_dpdk *d)
{
	capture_frames(d, d->tx + d->n_captured, d->n_tx - d->n_captured, PACKET_OUT);
	d->n_captured = d->n_tx;
}

/* Passes queued frames to the device. Frames that the device does not accept stay queued, in
 * order. */
static void tx_drain(struct port_dpdk *d)
{
	uint16_t n;

	if (d->n_tx == 0 || PLENUM_UNLIKELY(!d->started))
		return;
	if (PLENUM_UNLIKELY(d->capture != NULL))
		capture_tx(d);
	n = rte_eth_tx_burst(d->id, 0, d->tx, (uint16_t)d->n_tx);
	d->counters.tx_packets += n;
	d->n_tx -= n;
	d->n_captured = d->n_tx;
	if (PLENUM_UNLIKELY(d->n_tx > 0)) {
		d->counters.tx_full++;
		memmove(d->tx, d->tx + n, d->n_tx * sizeof(d->tx[0]));
	}
	d->control_queued = false;
}

/* Takes a batch of buffers from the pool, or a single one if the pool is nearly empty. Each buffer
 * has one segment and one reference. tx_mbuf_get() and its callers set all other fields that a
 * frame needs. */
static bool fresh_take(struct port_dpdk *d)
{
	if (PLENUM_LIKELY(rte_mempool_get_bulk(d->queues.pool, (void **)d->fresh, FRESH) == 0)) {
		d->n_fresh = FRESH;
		return true;
	}
	d->fresh[0] = rte_mbuf_raw_alloc(d->queues.pool);
	d->n_fresh = d->fresh[0] ? 1 : 0;
	return d->n_fresh > 0;
}

static struct rte_mbuf *tx_mbuf_get(struct port_dpdk *d)
{
	struct rte_mbuf *m;

	if (PLENUM_UNLIKELY(d->n_tx == PORT_BURST_MAX)) {
		tx_drain(d);
		if (d->n_tx == PORT_BURST_MAX)
			return NULL;
	}
	if (PLENUM_UNLIKELY(d->n_fresh == 0) && !fresh_take(d)) {
		tx_drain(d); /* frees mbufs that the device has finished with */
		if (!fresh_take(d))
			return NULL;
	}
	m = d->fresh[--d->n_fresh];
	rte_pktmbuf_reset_headroom(m);
	m->ol_flags = 0;
	m->tx_offload = d->tx_offload;
	return m;
}

static void tx_append(struct port_dpdk *d, struct rte_mbuf *m, size_t len)
{
	m->data_len = (uint16_t)len;
	m->pkt_len = (uint32_t)len;
	d->tx[d->n_tx++] = m;
}

static void neigh_emit(void *user, const uint8_t *frame, size_t len)
{
	struct port_dpdk *d = user;
	struct rte_mbuf *m = tx_mbuf_get(d);

	if (!m) {
		d->counters.tx_lost++;
		return;
	}
	memcpy(rte_pktmbuf_mtod(m, uint8_t *), frame, len);
	tx_append(d, m, len);
	d->control_queued = true;
}

/* Parks the frame while its neighbour is being resolved. port_neigh keeps one frame per neighbour
 * and refuses further ones. */
static int tx_park(struct port_dpdk *d, const struct datagram_addr *dst, const struct datagram *pkt)
{
	static const struct mac_addr later;
	uint8_t *frame = port_neigh_park(d->neigh, &dst->ip);

	if (d->control_queued)
		tx_drain(d);
	if (!frame)
		return -EHOSTUNREACH;
	/* Parked frames have complete checksums, because neigh_emit() sends them without offload
	 * flags. */
	port_neigh_park_len(d->neigh, &dst->ip,
			    port_l2_build_udp(frame, &d->local, &later, dst, pkt, 0));
	return 0;
}

static int port_dpdk_tx(struct port *p, const struct datagram_addr *dst, const struct datagram *pkt)
{
	struct port_dpdk *d = p->impl;
	struct mac_addr mac;
	struct rte_mbuf *m;
	size_t len;
	int r;

	if (PLENUM_UNLIKELY((uint32_t)pkt->hdr_len + pkt->payload_len > d->datagram_max ||
			    pkt->hdr_len > DATAGRAM_HDR_MAX))
		return -EMSGSIZE;
	r = port_neigh_resolve(d->neigh, &dst->ip, d->now_ns, &mac);
	if (PLENUM_UNLIKELY(r < 0))
		return r == -EINPROGRESS ? tx_park(d, dst, pkt) : r;
	m = tx_mbuf_get(d);
	if (PLENUM_UNLIKELY(!m))
		return -EAGAIN;
	len = port_l2_build_udp(rte_pktmbuf_mtod(m, uint8_t *), &d->local, &mac, dst, pkt,
				d->queues.tx_flags);
	m->ol_flags |= d->queues.tx_mbuf_flags;
	tx_append(d, m, len);
	return 0;
}

static void port_dpdk_flush(struct port *p)
{
	tx_drain(p->impl);
}

/* ------------------------------------------------------------------ receiving */

static unsigned rx_parse_flags(const struct rte_mbuf *m)
{
	const uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;

	return (m->ol_flags & good) == good ? PORT_L2_CHECKSUM_GOOD : 0;
}

/* Processes the frame in m. Returns true, with *ret pointing to the datagram, if it contains one.
 * Otherwise returns false, and m may be freed. */
static bool rx_one(struct port_dpdk *d, const struct rte_mbuf *m, struct port_rx *ret)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	unsigned flags = rx_parse_flags(m);
	struct port_l2_frame f;

	if (PLENUM_UNLIKELY(m->nb_segs != 1)) {
		d->counters.rx_malformed++;
		return false;
	}
	ret->waited_ns = UINT64_MAX;
	ret->data = port_l2_take_udp(&d->local, frame, m->data_len, flags, &ret->src, &ret->len);
	if (PLENUM_LIKELY(ret->data != NULL))
		return true;
	if (port_l2_parse(&d->local, frame, m->data_len, flags, &f) == PORT_L2_UDP) {
		ret->data = f.payload;
		ret->len = f.payload_len;
		ret->src = f.src;
		return true;
	}
	if (f.kind == PORT_L2_DROP) {
		port_l2_count_drop(&d->counters, f.drop);
		return false;
	}
	d->now_ns = clock_now_ns();
	port_neigh_input(d->neigh, &f, frame, m->data_len, d->now_ns);
	return false;
}

static void control_look(void *user, const uint8_t *frame, uint32_t len)
{
	struct port_dpdk *d = user;
	struct packet_part part = {frame, len};
	struct packet_record r = {.time_ns = d->now_ns,
				  .wire_bytes = len,
				  .port = (uint8_t)d->port->index,
				  .direction = PACKET_IN};

	packet_writer_put(d->capture, &r, &part, 1);
}

/* Processes the kernel's control frames: address resolution. */
static void control_rx(struct port_dpdk *d)
{
	const struct port_xdp_control_to to = {.local = &d->local,
					       .neigh = d->neigh,
					       .counters = &d->counters,
					       .look = d->capture ? control_look : NULL,
					       .user = d};

	d->now_ns = clock_now_ns();
	port_xdp_control_input(&d->control, &to, d->now_ns);
}

/* Reads all queues. Each call starts with another queue, because one full queue may fill the whole
 * burst. */
static unsigned rx_burst(struct port_dpdk *d, struct rte_mbuf **ret, unsigned max)
{
	struct port_dpdk_queues *q = &d->queues;
	uint16_t at = q->first;
	unsigned n = rte_eth_rx_burst(d->id, at, ret, (uint16_t)max);

	if (PLENUM_LIKELY(q->n_rx == 1))
		return n;
	for (uint16_t i = 1; i < q->n_rx && n < max; i++) {
		at = at + 1 == q->n_rx ? 0 : (uint16_t)(at + 1);
		n += rte_eth_rx_burst(d->id, at, ret + n, (uint16_t)(max - n));
	}
	q->first = q->first + 1 == q->n_rx ? 0 : (uint16_t)(q->first + 1);
	return n;
}

/* Frees the mbufs of the last rx call. They belong to one pool, except on devices that forward
 * mbufs of other devices. */
static void held_free(struct port_dpdk *d)
{
	struct rte_mempool *pool = d->held[0]->pool;
	unsigned n = 0;

	for (unsigned i = 0; i < d->n_held; i++) {
		/* Each mbuf has one segment. */
		struct rte_mbuf *m = rte_pktmbuf_prefree_seg(d->held[i]);

		if (PLENUM_UNLIKELY(m && m->pool != pool))
			rte_mbuf_raw_free(m);
		else if (PLENUM_LIKELY(m != NULL))
			d->held[n++] = m;
	}
	rte_mempool_put_bulk(pool, (void **)d->held, n);
	d->n_held = 0;
}

static int port_dpdk_rx(struct port *p, struct port_rx *pkts, unsigned max)
{
	struct port_dpdk *d = p->impl;
	struct rte_mbuf *burst[PORT_BURST_MAX];
	unsigned n = 0, got;

	if (d->n_held > 0)
		held_free(d);
	if (PLENUM_UNLIKELY(!d->started))
		return -ENETDOWN;
	if (PLENUM_UNLIKELY(d->wake.armed))
		port_dpdk_wake_disarm(&d->wake);
	got = rx_burst(d, burst, MIN_OF(max, PORT_BURST_MAX));
	d->counters.rx_packets += got;
	if (PLENUM_UNLIKELY(d->capture != NULL))
		capture_frames(d, burst, got, PACKET_IN);
	for (unsigned i = 0; i < got; i++) {
		if (rx_one(d, burst[i], &pkts[n]))
			d->held[n++] = burst[i];
		else
			rte_pktmbuf_free(burst[i]);
	}
	d->n_held = n;
	d->wake.rx_called = true;
	d->wake.idle &= got == 0;
	if (PLENUM_UNLIKELY(d->shared) && port_xdp_control_has(&d->control)) {
		control_rx(d);
		d->wake.idle = false;
	}
	if (PLENUM_UNLIKELY(d->control_queued))
		tx_drain(d);
	return (int)n;
}

static int port_dpdk_fd(struct port *p)
{
	const struct port_dpdk *d = p->impl;

	return d->wake.fd;
}

static bool port_dpdk_arm(struct port *p)
{
	struct port_dpdk *d = p->impl;

	if (d->n_tx > 0 || (d->shared && port_xdp_control_has(&d->control)))
		return false;
	return port_dpdk_wake_arm(&d->wake);
}

/* Joins two multicast groups of neighbour discovery: the group of all hosts, and the group of hosts
 * whose address has the same last bytes as this port's address. The groups are joined one by one,
 * because many PFs do not allow a VF to receive all multicast packets. Devices without a filter
 * pass these packets in any case. */
static void multicast_join(struct port_dpdk *d)
{
	const struct mac_addr ours = mac_addr_solicited(&d->local.ip);
	struct rte_ether_addr groups[2];

	memcpy(groups[0].addr_bytes, mac_addr_all_nodes.bytes, sizeof(groups[0].addr_bytes));
	memcpy(groups[1].addr_bytes, ours.bytes, sizeof(groups[1].addr_bytes));

	if (d->local.ip.family == AF_INET6 && !d->shared &&
	    rte_eth_dev_set_mc_addr_list(d->id, groups, ARRAY_SIZE(groups)) < 0)
		(void)rte_eth_allmulticast_enable(d->id);
}

/* Restarts the device, because a reset of the PF has removed the VF's queues, and a restart
 * requests them again. This takes about 15 ms, during which the worker serves no other leg. */
static void device_restart(struct port_dpdk *d)
{
	int r = d->started ? rte_eth_dev_stop(d->id) : 0;

	d->started = false;
	d->restart_ns = d->now_ns + RESTART_NS;
	if (r == 0)
		r = rte_eth_dev_start(d->id);
	d->started = r == 0;
	if (r == 0)
		r = port_dpdk_wake_again(&d->wake);
	if (r < 0) {
		log_err("cannot restart %s: %s", d->device, strerror(-r));
		return;
	}
	multicast_join(d);
	log_notice("%s: restarted in case its PF was reset", d->device);
	port_neigh_announce(d->neigh, d->now_ns);
}

static bool restart_is_due(struct port_dpdk *d)
{
	return port_dpdk_state_needs_restart(&d->state, d->now_ns) ||
	       (!d->started && d->state.up && d->now_ns >= d->restart_ns);
}

static uint64_t port_dpdk_tick(struct port *p, uint64_t now_ns)
{
	struct port_dpdk *d = p->impl;
	uint64_t due;

	d->now_ns = now_ns;
	port_dpdk_state_poll(&d->state, d->counters.rx_packets, now_ns);
	if (PLENUM_UNLIKELY(restart_is_due(d)))
		device_restart(d);
	due = port_neigh_tick(d->neigh, now_ns);
	tx_drain(d);
	if (d->n_tx > 0 && d->started)
		return now_ns + 50 * NSEC_PER_USEC;
	if (d->wake.fd < 0)
		return MIN_OF(due, now_ns + CLOCK_NS);
	return MIN_OF(due, now_ns + (d->state.watched ? LINK_LOOK_NS : NSEC_PER_SEC));
}

static bool port_dpdk_link(struct port *p)
{
	const struct port_dpdk *d = p->impl;

	return d->state.up && d->started;
}

static bool port_dpdk_wanted_back(struct port *p)
{
	const struct port_dpdk *d = p->impl;

	return port_dpdk_state_wanted_back(&d->state);
}

static void port_dpdk_announce(struct port *p)
{
	struct port_dpdk *d = p->impl;

	port_neigh_announce(d->neigh, clock_now_ns());
	tx_drain(d);
}

/* Also drops the queued frames. If they were sent after a dead link has recovered, switches would
 * learn an old location of the address. */
static void port_dpdk_stand_by(struct port *p, bool stands_by)
{
	struct port_dpdk *d = p->impl;

	if (stands_by) {
		rte_pktmbuf_free_bulk(d->tx, d->n_tx);
		d->n_tx = d->n_captured = 0;
		d->control_queued = false;
	}
	port_neigh_stand_by(d->neigh, stands_by);
}

static void port_dpdk_capture(struct port *p, struct packet_writer *to)
{
	struct port_dpdk *d = p->impl;

	d->capture = to;
}

/* ------------------------------------------------------------------ opening */

/* Sets the configured MAC if there is one; otherwise uses the MAC of the device. */
static int mac_choose(struct port_dpdk *d, const struct launch_port *lp)
{
	static const struct mac_addr none;
	struct rte_ether_addr mac;
	int r = rte_eth_macaddr_get(d->id, &mac);

	if (r < 0)
		return r;
	if (!d->shared && memcmp(&lp->mac, &none, sizeof(none)) != 0 &&
	    memcmp(mac.addr_bytes, lp->mac.bytes, sizeof(lp->mac.bytes)) != 0) {
		memcpy(mac.addr_bytes, lp->mac.bytes, sizeof(lp->mac.bytes));
		r = rte_eth_dev_default_mac_addr_set(d->id, &mac);
		if (r < 0)
			return r;
	}
	memcpy(d->local.mac.bytes, mac.addr_bytes, sizeof(d->local.mac.bytes));
	return 0;
}

/* Opens the socket that gets copies of the kernel's control frames. Call it after the device is
 * open: all sockets that appear while the device opens count as the device's own. */
static int control_open(struct port_dpdk *d, const struct launch_port *lp, struct reason *why)
{
	int r = port_xdp_control_init(&d->control, &d->local, lp->ifindex);

	if (r == 0 && d->wake.fd >= 0)
		r = port_dpdk_wake_add(&d->wake, d->control.fd);
	if (r < 0)
		reason_set_text(why, "cannot receive ARP and ND on %.16s: %s", lp->ifname,
				strerror(-r));
	return r;
}

static int device_start(struct port_dpdk *d, const struct launch_config *cfg, unsigned index,
			struct reason *why)
{
	struct port_dpdk_queues_of of = {.id = d->id, .on_pci = d->on_pci, .device = d->device};
	int r = 0;

	if (d->shared && d->on_pci)
		r = port_dpdk_rules_isolate(&d->rules, &d->local, d->device, why);
	if (r == 0)
		r = port_dpdk_queues_setup(&d->queues, &of, cfg, index, why);
	/* Isolate a virtual device only after its queues exist. net_tap accepts isolation earlier,
	 * but then the kernel gets no packets. */
	if (r == 0 && d->shared && !d->on_pci)
		r = port_dpdk_rules_isolate(&d->rules, &d->local, d->device, why);
	if (r < 0)
		return r;
	r = mac_choose(d, &cfg->ports[index]);
	if (r == 0)
		r = rte_eth_dev_start(d->id);
	if (r < 0) {
		/* `why` only contains a limitation so far, not the cause of this failure. */
		reason_clear(why);
		return r;
	}
	d->started = true;
	multicast_join(d);
	return d->shared
		       ? port_dpdk_rules_make(&d->rules, &d->local, d->queues.n_rx, d->device, why)
		       : 0;
}

/* Returns the value of the mbuf field with the lengths of the headers, for devices that compute
 * checksums. */
static uint64_t headers_len(const struct port_l2_local *local)
{
	struct rte_mbuf m = {.tx_offload = 0};

	m.l2_len = PORT_L2_ETHER_BYTES;
	m.l3_len = local->ip.family == AF_INET ? 20 : 40;
	return m.tx_offload;
}

static int device_wake_by(struct port_dpdk *d, const struct port_dpdk_fds *before,
			  struct reason *why)
{
	int r = port_dpdk_wake_init(&d->wake, d->id, before);

	if (r == -EOPNOTSUPP)
		reason_set_text(why, "the driver of %s cannot wake the worker; use transport: dpdk",
				d->device);
	return r;
}

static int neigh_setup(struct port_dpdk *d, const struct launch_port *lp, struct reason *why)
{
	struct port_neigh_config cfg = {
		.local = d->local,
		.prefix_len = lp->ip.len,
		.gateway = lp->gateway,
		.host_answers = lp->shared,
		.frame_bytes_max = d->frame_max,
		.emit = neigh_emit,
		.user = d,
	};
	int r = port_neigh_new(&cfg, &d->neigh);

	if (r < 0)
		reason_set_text(why, "out of memory");
	return r;
}

static bool has_link_now(const struct port_dpdk *d)
{
	struct rte_eth_link link;

	/* A device that cannot report a link counts as up. */
	return rte_eth_link_get_nowait(d->id, &link) < 0 || link.link_status == RTE_ETH_LINK_UP;
}

static int port_dpdk_probe(struct port *p, struct reason *why)
{
	struct port_dpdk *d = p->impl;
	int r = port_neigh_probe(d->neigh, clock_now_ns(), why);

	tx_drain(d);
	return r;
}

static bool join_receive(struct port *p)
{
	const struct port_dpdk *d = p->impl;
	uint64_t was = d->counters.rx_packets;
	struct port_rx rx[16];

	(void)port_dpdk_rx(p, rx, ARRAY_SIZE(rx));
	return d->counters.rx_packets != was;
}

static int port_dpdk_join(struct port *p, const struct launch_config *cfg, unsigned index,
			  struct reason *why)
{
	struct port_dpdk *d = p->impl;
	struct port_join_by by = {
		.port = p, .neigh = d->neigh, .mac = &d->local.mac, .receive = join_receive};

	reason_clear(why);
	if (cfg->ports[index].shared)
		return 0; /* skip the check: the host itself already uses this address */
	by.has_link = d->joining.linked || has_link_now(d);
	return port_join_step(&d->joining, &by, why);
}

static void port_dpdk_close(struct port *p)
{
	struct port_dpdk *d = p->impl;

	if (!d)
		return;
	port_dpdk_state_end(&d->state);
	port_dpdk_wake_done(&d->wake);
	port_xdp_control_done(&d->control);
	port_join_end(&d->joining);
	port_dpdk_rules_done(&d->rules);
	rte_pktmbuf_free_bulk(d->held, d->n_held);
	rte_pktmbuf_free_bulk(d->tx, d->n_tx);
	rte_pktmbuf_free_bulk(d->fresh, d->n_fresh);
	if (d->started)
		(void)rte_eth_dev_stop(d->id);
	if (d->opened) {
		(void)rte_eth_dev_close(d->id);
		(void)rte_eal_hotplug_remove(d->bus, d->device);
	}
	rte_mempool_free(d->queues.pool);
	port_neigh_free(d->neigh);
	free(d);
	p->impl = NULL;
}

static int device_attach(struct port_dpdk *d, const struct launch_port *lp, unsigned index,
			 struct reason *why)
{
	struct port_dpdk_device dev;
	int r;

	port_dpdk_device_choose(lp, index, &dev);
	snprintf(d->bus, sizeof(d->bus), "%s", dev.is_pci ? "pci" : "vdev");
	snprintf(d->device, sizeof(d->device), "%s", dev.name);
	d->on_pci = dev.is_pci;
	d->local.accept_partial_checksum = !dev.is_pci;
	if ((!lp->device[0] || launch_port_is_xdp(lp)) && if_nametoindex(lp->ifname) == 0) {
		reason_set_text(why, "no interface %.16s", lp->ifname);
		return -ENODEV;
	}
	/* PCI devices that were given to the environment at its start are attached already. */
	if (rte_eth_dev_get_port_by_name(d->device, &d->id) != 0) {
		r = rte_eal_hotplug_add(d->bus, d->device, dev.args);
		if (r < 0 || rte_eth_dev_get_port_by_name(d->device, &d->id) != 0) {
			reason_set_text(why, "DPDK cannot use %s for %.16s: %s", d->device,
					lp->ifname, strerror(r < 0 ? -r : ENODEV));
			return r < 0 ? r : -ENODEV;
		}
	}
	d->opened = true;
	port_dpdk_rules_init(&d->rules, d->id);
	return 0;
}

static int port_dpdk_open(struct port *p, const struct launch_config *cfg, unsigned index,
			  struct reason *why)
{
	const struct launch_port *lp = &cfg->ports[index];
	struct port_dpdk_fds before;
	struct port_dpdk *d;
	int r;

	reason_clear(why);
	log_set_level((enum log_level)cfg->log_level); /* set the level here too, because this
							  module has its own copy of the log */
	r = port_dpdk_eal_start(cfg, why);
	if (r < 0)
		return r;
	p->impl = d = calloc(1, sizeof(*d));
	if (!d) {
		reason_set_text(why, "out of memory");
		return -ENOMEM;
	}
	p->index = index;
	d->port = p;
	d->wake.fd = d->control.fd = d->rules.port_fd = -1;
	port_join_begin(&d->joining);
	port_dpdk_eal_early(index, &d->joining.early);
	d->shared = lp->shared;
	d->now_ns = clock_now_ns();
	d->frame_max = PORT_L2_ETHER_BYTES + lp->mtu;
	d->datagram_max = lp->mtu - MIN_OF(lp->mtu, lp->ip.addr.family == AF_INET6 ? 48U : 28U);
	d->local.ip = lp->ip.addr;
	d->local.udp_port = lp->udp_port;
	d->tx_offload = headers_len(&d->local);
	port_dpdk_fds_note(&before);
	r = device_attach(d, lp, index, why);
	if (r == 0)
		r = device_start(d, cfg, index, why);
	if (r == 0 && cfg->transport == LAUNCH_DPDK_INTERRUPT)
		r = device_wake_by(d, &before, why);
	if (r == 0 && d->shared)
		r = control_open(d, lp, why);
	if (r == 0)
		port_dpdk_state_begin(&d->state, d->id, d->device, d->on_pci && !d->shared);
	if (r == 0)
		r = neigh_setup(d, lp, why);
	if (r < 0) {
		if (!reason_is_set(why))
			reason_set_text(why, "cannot start %s: %s", d->device, strerror(-r));
		port_dpdk_close(p);
		return r;
	}
	return 0;
}

static void port_dpdk_counters(const struct port *p, struct launch_port_counters *ret)
{
	const struct port_dpdk *d = p->impl;
	struct port_neigh_counters neigh;

	port_neigh_counters_get(d->neigh, &neigh);
	*ret = d->counters;
	ret->conflicts = neigh.conflicts;
}

const struct port_ops plenum_port_module = {
	.layout = PORT_LAYOUT,
	.name = "dpdk",
	.open = port_dpdk_open,
	.join = port_dpdk_join,
	.probe = port_dpdk_probe,
	.close = port_dpdk_close,
	.rx = port_dpdk_rx,
	.tx = port_dpdk_tx,
	.flush = port_dpdk_flush,
	.fd = port_dpdk_fd,
	.arm = port_dpdk_arm,
	.tick = port_dpdk_tick,
	.link = port_dpdk_link,
	.wanted_back = port_dpdk_wanted_back,
	.announce = port_dpdk_announce,
	.stand_by = port_dpdk_stand_by,
	.capture = port_dpdk_capture,
	.counters = port_dpdk_counters,
};
