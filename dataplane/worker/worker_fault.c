/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Injects faults into the worker's packets. Without faults, the loop only checks a pointer. Delayed
 * packets are in slots, which are allocated with the first fault, and form a list ordered by due
 * time. Packets with the same delay are due in the order of their arrival, so a new packet usually
 * belongs at the end of the list.
 */
#include "dataplane/worker/worker_fault.h"
#include "dataplane/worker/worker.h"
#include "netcfg/base/list.h"
#include "netcfg/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define ADDRS_MAX 64
/* Interval at which the addresses of a peer are looked up. */
#define LOOK_NS (100 * NSEC_PER_MSEC)
#define HELD_MAX 8192U

struct fault {
	struct launch_fault is;
	uint64_t touched;
	bool by_peer;
	struct ip_addr addrs[ADDRS_MAX]; /* known addresses of the peer */
	unsigned n_addrs;
};

struct held {
	struct list node; /* node in the list worker_faults.unused, or in worker_faults.due, which
			     is ordered by due_ns */
	uint64_t due_ns;
	unsigned way;
	bool out;
	struct datagram_addr addr;
	struct datagram pkt; /* the delayed datagram; its payload is in `bytes` */
	uint8_t *bytes;
};

struct worker_faults {
	struct fault all[LAUNCH_FAULTS_MAX];
	unsigned n;
	uint64_t look_ns, random;
	struct held *slots;
	struct list unused, due;
	uint8_t *bytes;
	uint32_t slot_bytes;
};

/* The combined effect of all injected faults on one packet. */
struct verdict {
	bool lost, twice;
	uint64_t wait_ns;
};

/* ---- selection of packets ---- */

static uint32_t random_ppm(struct worker_faults *fs)
{
	fs->random ^= fs->random << 13;
	fs->random ^= fs->random >> 7;
	fs->random ^= fs->random << 17;
	return (uint32_t)((fs->random >> 32) * LAUNCH_FAULT_PPM >> 32);
}

static void add_addr(struct fault *f, const struct ip_addr *a)
{
	for (unsigned i = 0; i < f->n_addrs; i++)
		if (ip_addr_equal(&f->addrs[i], a))
			return;
	if (f->n_addrs < ADDRS_MAX)
		f->addrs[f->n_addrs++] = *a;
}

/* Looks up the addresses of a peer that is given by name: the configured addresses and the
 * addresses of its sessions. Only adds addresses, so that the fault continues to affect a peer that
 * cannot reconnect because of it. */
static void look_up(struct worker *w, struct fault *f)
{
	struct rudp_path_info info[RUDP_PATHS_MAX];

	for (unsigned i = 0; i < w->cfg->n_mounts; i++)
		for (unsigned j = 0; j < w->cfg->mounts[i].n_addrs; j++)
			if (strcmp(w->cfg->mounts[i].peer, f->is.peer) == 0)
				add_addr(f, &w->cfg->mounts[i].addrs[j].ip);
	for (unsigned i = 0; i < w->cfg->n_shared; i++)
		for (unsigned j = 0; j < w->cfg->shared[i].n_addrs; j++)
			if (strcmp(w->cfg->shared[i].peer, f->is.peer) == 0)
				add_addr(f, &w->cfg->shared[i].addrs[j].ip);
	for (struct rudp_session *s = rudp_session_next(w->rudp, NULL); s;
	     s = rudp_session_next(w->rudp, s)) {
		unsigned n;

		if (strcmp(w->role->peer_name(w, s), f->is.peer) != 0)
			continue;
		n = rudp_session_paths(s, info, RUDP_PATHS_MAX);
		for (unsigned i = 0; i < n; i++)
			add_addr(f, &info[i].remote.ip);
	}
}

static bool matches(const struct worker *w, const struct fault *f, enum launch_fault_way direction,
		    unsigned way, const struct ip_addr *peer)
{
	if (!(f->is.ways & direction) ||
	    (f->is.leg[0] && strcmp(f->is.leg, w->cfg->ports[worker_port(w, way)].leg) != 0))
		return false;
	for (unsigned i = 0; i < f->n_addrs; i++)
		if (ip_addr_equal(&f->addrs[i], peer))
			return true;
	return !f->by_peer;
}

static struct verdict judge(struct worker *w, enum launch_fault_way direction, unsigned way,
			    const struct ip_addr *peer)
{
	struct worker_faults *fs = w->faults;
	struct verdict v = {.lost = false};

	for (unsigned i = 0; i < fs->n; i++) {
		struct fault *f = &fs->all[i];
		bool lost, twice, late;

		if (!matches(w, f, direction, way, peer))
			continue;
		lost = random_ppm(fs) < f->is.drop_ppm;
		twice = random_ppm(fs) < f->is.duplicate_ppm;
		late = random_ppm(fs) < f->is.reorder_ppm;
		v.lost |= lost;
		v.twice |= twice;
		v.wait_ns += f->is.delay_us * NSEC_PER_USEC + (late ? WORKER_FAULT_REORDER_NS : 0);
		f->touched += lost || twice || late || f->is.delay_us > 0;
	}
	return v;
}

/* ---- delayed packets ---- */

static uint32_t largest_mtu(const struct launch_config *cfg)
{
	uint32_t mtu = IP6_MTU_MIN;

	for (unsigned i = 0; i < cfg->n_ports; i++)
		mtu = MAX_OF(mtu, cfg->ports[i].mtu);
	return mtu;
}

static bool slots_make(struct worker_faults *fs, const struct launch_config *cfg)
{
	uint32_t mtu = largest_mtu(cfg), n;

	list_init(&fs->unused);
	list_init(&fs->due);
	n = MIN_OF(HELD_MAX, WORKER_FAULT_HELD_BYTES / mtu);
	fs->slots = calloc(n, sizeof(*fs->slots));
	fs->bytes = malloc((size_t)n * mtu);
	if (!fs->slots || !fs->bytes)
		return false;
	fs->slot_bytes = mtu;
	for (uint32_t i = 0; i < n; i++) {
		fs->slots[i].bytes = fs->bytes + (size_t)i * mtu;
		list_add_tail(&fs->unused, &fs->slots[i].node);
	}
	return true;
}

static struct held *held_of(struct list *node)
{
	return node ? list_entry(node, struct held, node) : NULL;
}

static void hold(struct worker_faults *fs, struct held *h)
{
	struct list *after = fs->due.prev;

	while (after != &fs->due && held_of(after)->due_ns > h->due_ns)
		after = after->prev;
	list_add_after(after, &h->node);
}

/* Returns a slot for a packet of that many bytes. Returns NULL if no slot is free; the packet is
 * then lost. */
static struct held *slot_take(struct worker_faults *fs, size_t len)
{
	return len > fs->slot_bytes ? NULL : held_of(list_take_first(&fs->unused));
}

static struct held *due_take(struct worker_faults *fs, uint64_t now_ns)
{
	bool is_due = !list_empty(&fs->due) && held_of(fs->due.next)->due_ns <= now_ns;

	return is_due ? held_of(list_take_first(&fs->due)) : NULL;
}

static void slot_put(struct worker_faults *fs, struct held *h)
{
	list_add_after(&fs->unused, &h->node);
}

/* ---- packets ---- */

static int port_tx(struct worker *w, unsigned way, const struct datagram_addr *dst,
		   const struct datagram *pkt)
{
	unsigned port = worker_port(w, way);

	return w->port_open[port] ? w->ports[port].ops->tx(&w->ports[port], dst, pkt) : -ENETDOWN;
}

int worker_fault_tx(struct worker *w, unsigned way, const struct datagram_addr *dst,
		    const struct datagram *pkt)
{
	struct verdict v = judge(w, LAUNCH_FAULT_OUT, way, &dst->ip);
	struct held *h;
	int r;

	if (v.lost)
		return 0;
	if (v.wait_ns == 0) {
		r = port_tx(w, way, dst, pkt);
		return r < 0 || !v.twice ? r : port_tx(w, way, dst, pkt);
	}
	for (int copies = v.twice ? 2 : 1; copies > 0; copies--) {
		h = slot_take(w->faults, pkt->payload_len);
		if (!h)
			return 0;
		h->due_ns = w->now_ns + v.wait_ns;
		h->out = true;
		h->way = way;
		h->addr = *dst;
		h->pkt = *pkt;
		h->pkt.payload = h->bytes;
		if (pkt->payload_len > 0)
			memcpy(h->bytes, pkt->payload, pkt->payload_len);
		hold(w->faults, h);
	}
	return 0;
}

unsigned worker_fault_rx(struct worker *w, unsigned way, const struct port_rx *pkt)
{
	struct verdict v = judge(w, LAUNCH_FAULT_IN, way, &pkt->src.ip);
	struct held *h;

	if (v.lost || v.wait_ns == 0)
		return v.lost ? 0 : v.twice ? 2 : 1;
	for (int copies = v.twice ? 2 : 1; copies > 0; copies--) {
		h = slot_take(w->faults, pkt->len);
		if (!h)
			return 0;
		h->due_ns = w->now_ns + v.wait_ns;
		h->out = false;
		h->way = way;
		h->addr = pkt->src;
		h->pkt.payload = h->bytes;
		h->pkt.payload_len = (uint16_t)pkt->len;
		memcpy(h->bytes, pkt->data, pkt->len);
		hold(w->faults, h);
	}
	return 0;
}

/* Sends packets whose delay is over, or passes them to the transport. A sent packet stays in its
 * slot until the flush. */
static void deliver_due(struct worker *w)
{
	struct worker_faults *fs = w->faults;
	struct list sent, *node;
	struct held *h;

	list_init(&sent);
	while ((h = due_take(fs, w->now_ns))) {
		if (h->out) { /* if the port is full, the delayed packet is lost */
			(void)port_tx(w, h->way, &h->addr, &h->pkt);
			list_add_tail(&sent, &h->node);
			continue;
		}
		rudp_rx_waited(w->rudp, 0);
		(void)rudp_rx(w->rudp, h->way, &h->addr, h->bytes, h->pkt.payload_len, w->now_ns);
		slot_put(fs, h);
	}
	for (unsigned i = 0; !list_empty(&sent) && i < w->cfg->n_ports; i++)
		if (w->port_open[i])
			w->ports[i].ops->flush(&w->ports[i]);
	while ((node = list_take_first(&sent)))
		slot_put(fs, held_of(node));
}

/* ---- faults ---- */

static void report_faults(struct worker *w)
{
	const struct worker_faults *fs = w->faults;
	const struct launch_fault *f = fs ? &fs->all[0].is : NULL;

	w->fault_why[0] = '\0';
	if (f)
		snprintf(w->fault_why, sizeof(w->fault_why),
			 "fault-injected: faults are active (%u in all), the first on %.32s; see "
			 "'plenum fault show'",
			 fs->n, f->leg[0] ? f->leg : "all legs");
	worker_reason_publish(w);
	w->stats_ns = 0; /* update the statistics page without waiting */
}

/* Sends all delayed packets, or passes them to the transport, so that none is lost. */
static void deliver_all(struct worker *w)
{
	for (struct list *l = w->faults->due.next; l != &w->faults->due; l = l->next)
		held_of(l)->due_ns = 0;
	deliver_due(w);
}

static void end_all(struct worker *w)
{
	deliver_all(w);
	worker_fault_free(w);
}

/* Makes the slots larger if necessary. Handles the delayed packets first, because their slots are
 * freed. If rudp meanwhile sends a reply that is delayed too, that reply is lost. */
void worker_fault_port(struct worker *w)
{
	struct worker_faults *fs = w->faults;

	if (!fs || largest_mtu(w->cfg) <= fs->slot_bytes)
		return;
	deliver_all(w);
	free(ptr_take(fs->slots));
	free(ptr_take(fs->bytes));
	if (!slots_make(fs, w->cfg))
		log_err("out of memory: delayed packets were dropped");
}

static void end_one(struct worker *w, unsigned i, const char *how)
{
	struct worker_faults *fs = w->faults;

	log_notice("fault %u has ended: %s; it affected %llu packets", fs->all[i].is.id, how,
		   (unsigned long long)fs->all[i].touched);
	fs->all[i] = fs->all[--fs->n];
	if (fs->n == 0)
		end_all(w);
	report_faults(w);
}

static struct fault *find(struct worker_faults *fs, uint32_t id)
{
	for (unsigned i = 0; fs && i < fs->n; i++)
		if (fs->all[i].is.id == id)
			return &fs->all[i];
	return NULL;
}

static int make(struct worker *w)
{
	struct worker_faults *fs = calloc(1, sizeof(*fs));

	if (!fs)
		return -ENOMEM;
	w->faults = fs;
	if (!slots_make(fs, w->cfg)) {
		worker_fault_free(w);
		return -ENOMEM;
	}
	if (getrandom(&fs->random, sizeof(fs->random), 0) != (ssize_t)sizeof(fs->random) ||
	    fs->random == 0)
		fs->random = w->now_ns | 1;
	return 0;
}

int worker_fault_set(struct worker *w, const struct launch_fault *f)
{
	struct fault *is = find(w->faults, f->id);
	struct ip_addr addr;
	int r;

	if (!launch_fault_is_valid(f))
		return -EINVAL;
	if (f->until_ns <= w->now_ns) {
		if (is)
			end_one(w, (unsigned)(is - w->faults->all), "removed by the agent");
		return 0;
	}
	r = w->faults ? 0 : make(w);
	if (r < 0)
		return r;
	if (!is && w->faults->n == LAUNCH_FAULTS_MAX)
		return -ENOSPC;
	if (!is)
		is = &w->faults->all[w->faults->n++];
	*is = (struct fault){.is = *f, .touched = is->is.id == f->id ? is->touched : 0};
	is->by_peer = f->peer[0] != '\0';
	if (is->by_peer && ip_addr_parse(f->peer, &addr) == 0)
		add_addr(is, &addr);
	w->faults->look_ns = w->now_ns;
	log_warning("injected fault %u: %s%s%s, drop %u, duplicate %u, reorder %u ppm, delay %u "
		    "us, for %llu s",
		    f->id, f->leg[0] ? f->leg : "all legs", is->by_peer ? " to " : "", f->peer,
		    f->drop_ppm, f->duplicate_ppm, f->reorder_ppm, f->delay_us,
		    (unsigned long long)((f->until_ns - w->now_ns) / NSEC_PER_SEC));
	report_faults(w);
	return 0;
}

uint64_t worker_fault_turn(struct worker *w)
{
	struct worker_faults *fs = w->faults;
	uint64_t due;

	if (!fs)
		return UINT64_MAX;
	deliver_due(w);
	for (unsigned i = 0; w->now_ns >= fs->look_ns && i < fs->n; i++)
		if (fs->all[i].by_peer)
			look_up(w, &fs->all[i]);
	if (w->now_ns >= fs->look_ns)
		fs->look_ns = w->now_ns + LOOK_NS;
	for (unsigned i = 0; w->faults && i < fs->n; i++)
		if (w->now_ns >= fs->all[i].is.until_ns)
			end_one(w, i--, "its time has expired");
	if (!w->faults)
		return UINT64_MAX;
	due = list_empty(&fs->due) ? UINT64_MAX : held_of(fs->due.next)->due_ns;
	return MIN_OF(due, fs->look_ns);
}

void worker_fault_publish(const struct worker *w)
{
	struct launch_stats *st = w->stats;

	for (unsigned i = 0; i < LAUNCH_FAULTS_MAX; i++) {
		const struct fault *f = w->faults && i < w->faults->n ? &w->faults->all[i] : NULL;

		st->faults[i].fault = f ? f->is : (struct launch_fault){.id = 0};
		launch_stat_set(&st->faults[i].touched, f ? f->touched : 0);
	}
}

void worker_fault_free(struct worker *w)
{
	struct worker_faults *fs = ptr_take(w->faults);

	if (!fs)
		return;
	free(fs->slots);
	free(fs->bytes);
	free(fs);
}
