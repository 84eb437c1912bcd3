/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resolves neighbours without the kernel: ARP, neighbour discovery, duplicate address detection,
 * announcements and echo replies. The caller passes the time and the frames; this file never
 * accesses a device.
 */
#include "dataplane/port/l2/port_neigh.h"
#include <stdio.h>
#include <string.h>

#define BUCKETS 1024U /* a power of two, at least twice PORT_NEIGH_MAX */
#define NO_ENTRY UINT16_MAX
/* Count of entries in the cache that maps destinations to neighbours; a power of two. */
#define KNOWN 64U
#define NO_PARK UINT8_MAX
#define DEFEND_NS (10 * NSEC_PER_SEC) /* DEFEND_INTERVAL of RFC 5227 */
#define ECHO_BURST 64U		      /* maximum number of replies in ECHO_WINDOW_NS */
#define ECHO_WINDOW_NS (100 * NSEC_PER_MSEC)

enum entry_state {
	ENTRY_NONE,	  /* the entry is free */
	ENTRY_INCOMPLETE, /* a request was sent, but no MAC is known yet */
	ENTRY_REACHABLE,
	ENTRY_REFRESHING, /* the entry is used, while a request verifies that the MAC is still
			     right */
	ENTRY_FAILED,	  /* the neighbour did not answer; the entry is dropped after
			     PORT_NEIGH_FAILED_NS */
};

struct entry {
	struct ip_addr ip;
	struct mac_addr mac;
	uint8_t state; /* enum entry_state */
	uint8_t tries;
	uint8_t park;  /* index of the parked frame, or NO_PARK */
	uint16_t next; /* index of the next entry in the same hash bucket */
	uint64_t due_ns;
	uint64_t used_ns; /* when the entry was last resolved for a datagram */
};

struct known { /* entry of the cache that maps a destination to its neighbour; ip.family 0xff:
		  unused */
	struct ip_addr ip;
	uint16_t entry;
};

struct port_neigh {
	struct port_neigh_config cfg;
	struct ip_prefix subnet;
	struct port_neigh_counters counters;
	struct entry entries[PORT_NEIGH_MAX];
	uint16_t buckets[BUCKETS];
	struct known known[KNOWN];
	uint64_t next_due_ns;
	bool stands_by;
	/* State of the duplicate address probe for the port's own address. */
	enum port_neigh_probe probe;
	unsigned probes_sent;
	uint64_t probe_due_ns, announce_due_ns, defended_ns;
	/* when port_neigh_probe() was last called; 0: probing has ended */
	uint64_t probe_called_ns;
	struct mac_addr owner;
	uint64_t echo_window_ns;
	unsigned echoes;
	/* Parked frames. */
	uint32_t park_used; /* bit per index in park_len and `parked`: set if a frame is parked
			       there */
	size_t park_len[PORT_NEIGH_PARKED];
	uint8_t parked[]; /* PORT_NEIGH_PARKED frames of cfg.frame_bytes_max */
};

static bool ip_same(const struct ip_addr *a, const struct ip_addr *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static bool mac_same(const struct mac_addr *a, const struct mac_addr *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static bool ip_is_zero(const struct ip_addr *a)
{
	static const uint8_t zero[16];

	return memcmp(a->bytes, zero, sizeof(zero)) == 0;
}

static bool ip_is_unicast(const struct ip_addr *a)
{
	if (ip_is_zero(a))
		return false;
	if (a->family == AF_INET)
		return a->bytes[0] != 0 && a->bytes[0] < 224;
	return a->bytes[0] != 0xff;
}

int port_neigh_new(const struct port_neigh_config *cfg, struct port_neigh **ret)
{
	size_t bytes = sizeof(struct port_neigh) + (size_t)PORT_NEIGH_PARKED * cfg->frame_bytes_max;
	struct port_neigh *n = calloc(1, bytes);

	if (!n)
		return -ENOMEM;
	n->cfg = *cfg;
	n->subnet = (struct ip_prefix){.addr = cfg->local.ip, .len = cfg->prefix_len};
	memset(n->buckets, 0xff, sizeof(n->buckets));
	memset(n->known, 0xff, sizeof(n->known));
	n->next_due_ns = n->probe_due_ns = n->announce_due_ns = UINT64_MAX;
	n->probe = PORT_NEIGH_FREE;
	*ret = n;
	return 0;
}

struct port_neigh *port_neigh_free(struct port_neigh *n)
{
	free(n);
	return NULL;
}

/* ------------------------------------------------------------------ the table */

static uint32_t ip_hash(const struct ip_addr *ip)
{
	uint64_t a, b;

	memcpy(&a, ip->bytes, sizeof(a));
	memcpy(&b, ip->bytes + 8, sizeof(b));
	return (uint32_t)(((a ^ b * 31) * 0x9e3779b97f4a7c15ULL) >> 40) & (BUCKETS - 1);
}

static struct entry *entry_find(struct port_neigh *n, const struct ip_addr *ip)
{
	for (uint16_t i = n->buckets[ip_hash(ip)]; i != NO_ENTRY; i = n->entries[i].next)
		if (ip_same(&n->entries[i].ip, ip))
			return &n->entries[i];
	return NULL;
}

static void entry_unpark(struct port_neigh *n, struct entry *e)
{
	if (e->park == NO_PARK)
		return;
	n->park_used &= ~(1U << e->park);
	e->park = NO_PARK;
}

static void entry_drop(struct port_neigh *n, struct entry *e)
{
	uint16_t *link = &n->buckets[ip_hash(&e->ip)];

	while (*link != (uint16_t)(e - n->entries))
		link = &n->entries[*link].next;
	*link = e->next;
	/* Empty the cache `known`, which may refer to this slot, because another neighbour may use
	 * the slot next. */
	memset(n->known, 0xff, sizeof(n->known));
	if (e->park != NO_PARK)
		n->counters.park_lost++;
	entry_unpark(n, e);
	e->state = ENTRY_NONE;
}

/* Returns a free slot. If no slot is free: with `evict`, evicts the least recently used entry;
 * otherwise returns NULL. This search runs once per new neighbour, not per packet. */
static struct entry *slot_find(struct port_neigh *n, bool evict)
{
	struct entry *oldest = &n->entries[0];

	for (unsigned i = 0; i < PORT_NEIGH_MAX; i++) {
		struct entry *e = &n->entries[i];

		if (e->state == ENTRY_NONE)
			return e;
		if (e->used_ns < oldest->used_ns)
			oldest = e;
	}
	if (!evict)
		return NULL;
	entry_drop(n, oldest);
	return oldest;
}

static struct entry *entry_add(struct port_neigh *n, const struct ip_addr *ip, bool evict,
			       uint64_t now_ns)
{
	struct entry *e = slot_find(n, evict);
	uint16_t *bucket = &n->buckets[ip_hash(ip)];

	if (!e)
		return NULL;
	*e = (struct entry){.ip = *ip, .park = NO_PARK, .next = *bucket, .used_ns = now_ns};
	*bucket = (uint16_t)(e - n->entries);
	return e;
}

static void entry_set_due(struct port_neigh *n, struct entry *e, uint64_t due_ns)
{
	e->due_ns = due_ns;
	n->next_due_ns = MIN_OF(n->next_due_ns, due_ns);
}

static void entry_ask(struct port_neigh *n, struct entry *e, uint64_t now_ns)
{
	uint8_t frame[PORT_L2_CONTROL_MAX];
	uint64_t wait = PORT_NEIGH_RETRY_NS << MIN_OF(e->tries, 8U);
	/* A refresh first asks the neighbour by unicast, to save broadcasts. */
	bool unicast = e->state == ENTRY_REFRESHING && e->tries < 2;
	size_t len = port_l2_build_solicit(frame, &n->cfg.local.mac, &n->cfg.local.ip, &e->ip,
					   unicast ? &e->mac : NULL);

	e->tries++;
	entry_set_due(n, e, now_ns + MIN_OF(wait, NSEC_PER_SEC));
	n->cfg.emit(n->cfg.user, frame, len);
}

static void entry_reached(struct port_neigh *n, struct entry *e, const struct mac_addr *mac,
			  uint64_t now_ns)
{
	if (e->state == ENTRY_INCOMPLETE || e->state == ENTRY_FAILED)
		n->counters.resolved++;
	else if (!mac_same(&e->mac, mac))
		n->counters.moved++;
	e->mac = *mac;
	e->state = ENTRY_REACHABLE;
	e->tries = 0;
	entry_set_due(n, e, now_ns + PORT_NEIGH_REFRESH_NS);
	if (e->park != NO_PARK) {
		uint8_t *frame = n->parked + (size_t)e->park * n->cfg.frame_bytes_max;
		size_t len = n->park_len[e->park];

		entry_unpark(n, e);
		if (len > 0) {
			port_l2_set_dst(frame, mac);
			n->cfg.emit(n->cfg.user, frame, len);
		}
	}
}

/* ------------------------------------------------------------------ resolving */

/* Finds the next hop for a datagram to ip: ip itself, or the gateway. */
static int next_hop(const struct port_neigh *n, const struct ip_addr *ip, struct ip_addr *ret)
{
	bool link_local =
		ip->family == AF_INET6 && ip->bytes[0] == 0xfe && (ip->bytes[1] & 0xc0) == 0x80;

	if (ip->family != n->cfg.local.ip.family || !ip_is_unicast(ip))
		return -EINVAL;
	if (link_local || ip_prefix_contains(&n->subnet, ip)) {
		*ret = *ip;
		return 0;
	}
	if (!n->cfg.gateway.family)
		return -ENETUNREACH;
	*ret = n->cfg.gateway;
	return 0;
}

static int resolve_slow(struct port_neigh *n, struct entry *e, const struct ip_addr *hop,
			uint64_t now_ns)
{
	if (e && e->state == ENTRY_FAILED && now_ns < e->due_ns)
		return -EHOSTUNREACH;
	if (!e)
		e = entry_add(n, hop, true, now_ns);
	e->used_ns = now_ns;
	if (e->state != ENTRY_INCOMPLETE) {
		e->state = ENTRY_INCOMPLETE;
		e->tries = 0;
		entry_ask(n, e, now_ns);
	}
	return -EINPROGRESS;
}

static bool entry_is_usable(const struct entry *e)
{
	return e->state == ENTRY_REACHABLE || e->state == ENTRY_REFRESHING;
}

/* A small cache saves checking the subnet and searching the table, which would take several times
 * as long as all other work for a small frame. */
int port_neigh_resolve(struct port_neigh *n, const struct ip_addr *ip, uint64_t now_ns,
		       struct mac_addr *ret)
{
	struct known *k = &n->known[ip_hash(ip) % KNOWN];
	struct entry *e = NULL;
	struct ip_addr hop;

	if (PLENUM_LIKELY(ip_same(&k->ip, ip)))
		e = &n->entries[k->entry];
	if (PLENUM_UNLIKELY(!e || !entry_is_usable(e))) {
		int r = next_hop(n, ip, &hop);

		if (r < 0)
			return r;
		e = entry_find(n, &hop);
		if (!e || !entry_is_usable(e))
			return resolve_slow(n, e, &hop, now_ns);
		*k = (struct known){.ip = *ip, .entry = (uint16_t)(e - n->entries)};
	}
	e->used_ns = now_ns;
	*ret = e->mac;
	return 0;
}

uint8_t *port_neigh_park(struct port_neigh *n, const struct ip_addr *ip)
{
	struct ip_addr hop;
	struct entry *e;

	if (next_hop(n, ip, &hop) < 0)
		return NULL;
	e = entry_find(n, &hop);
	if (!e || e->state != ENTRY_INCOMPLETE || e->park != NO_PARK ||
	    n->park_used == UINT32_MAX) {
		n->counters.park_full++;
		return NULL;
	}
	e->park = (uint8_t)__builtin_ctz(~n->park_used);
	n->park_used |= 1U << e->park;
	n->park_len[e->park] = 0;
	n->counters.parked++;
	return n->parked + (size_t)e->park * n->cfg.frame_bytes_max;
}

void port_neigh_park_len(struct port_neigh *n, const struct ip_addr *ip, size_t len)
{
	struct ip_addr hop;
	struct entry *e;

	if (next_hop(n, ip, &hop) < 0)
		return;
	e = entry_find(n, &hop);
	if (e && e->park != NO_PARK)
		n->park_len[e->park] = len;
}

/* ------------------------------------------------------------------ the port's own address */

void port_neigh_probe_start(struct port_neigh *n, uint64_t now_ns)
{
	n->probe = PORT_NEIGH_PROBING;
	n->probes_sent = 0;
	n->probe_due_ns = now_ns;
	(void)port_neigh_tick(n, now_ns);
}

enum port_neigh_probe port_neigh_probe_state(const struct port_neigh *n, struct mac_addr *ret_owner)
{
	if (n->probe == PORT_NEIGH_TAKEN)
		*ret_owner = n->owner;
	return n->probe;
}

static void announce_send(struct port_neigh *n)
{
	uint8_t frame[PORT_L2_CONTROL_MAX];
	size_t len = port_l2_build_announce(frame, &n->cfg.local.mac, &n->cfg.local.ip);

	n->cfg.emit(n->cfg.user, frame, len);
}

void port_neigh_announce(struct port_neigh *n, uint64_t now_ns)
{
	if (n->stands_by)
		return;
	announce_send(n);
	/* Announce once more, after 1 s. RFC 5227 waits 2 s (ANNOUNCE_INTERVAL). */
	n->announce_due_ns = now_ns + NSEC_PER_SEC;
}

void port_neigh_probe_sent_early(struct port_neigh *n, uint64_t last_ns)
{
	n->probe = PORT_NEIGH_PROBING;
	n->probes_sent = PORT_NEIGH_PROBES;
	n->probe_due_ns = last_ns + PORT_NEIGH_PROBE_NS;
	n->probe_called_ns = last_ns;
}

int port_neigh_probe(struct port_neigh *n, uint64_t now_ns, struct reason *why)
{
	char ip[IP_ADDR_STR_MAX], mac[MAC_ADDR_STR_MAX];

	/* If the caller has paused, probe again, because the link may not have carried the earlier
	 * probes. */
	if (n->probe_called_ns == 0 || now_ns - n->probe_called_ns > NSEC_PER_SEC)
		port_neigh_probe_start(n, now_ns);
	n->probe_called_ns = now_ns;
	if (n->probe == PORT_NEIGH_PROBING)
		return -EAGAIN;
	n->probe_called_ns = 0;
	if (n->probe == PORT_NEIGH_FREE) {
		port_neigh_announce(n, now_ns);
		return 0;
	}
	reason_set_text(why, "%s is in use by %s on this network",
			ip_addr_format(&n->cfg.local.ip, ip, sizeof(ip)),
			mac_addr_format(&n->owner, mac, sizeof(mac)));
	return -EADDRINUSE;
}

void port_neigh_stand_by(struct port_neigh *n, bool stands_by)
{
	n->stands_by = stands_by;
	if (!stands_by)
		return;
	n->probe_called_ns = 0;
	for (unsigned i = 0; i < PORT_NEIGH_MAX; i++)
		if (n->entries[i].state != ENTRY_NONE)
			entry_drop(n, &n->entries[i]);
	n->probe = PORT_NEIGH_FREE;
	n->next_due_ns = n->probe_due_ns = n->announce_due_ns = UINT64_MAX;
}

static void probe_tick(struct port_neigh *n, uint64_t now_ns)
{
	static const struct ip_addr unspecified;
	uint8_t frame[PORT_L2_CONTROL_MAX];
	size_t len;

	if (n->probe != PORT_NEIGH_PROBING || now_ns < n->probe_due_ns)
		return;
	if (n->probes_sent == PORT_NEIGH_PROBES) {
		n->probe = PORT_NEIGH_FREE;
		n->probe_due_ns = UINT64_MAX;
		return;
	}
	n->probes_sent++;
	n->probe_due_ns = now_ns + PORT_NEIGH_PROBE_NS;
	len = port_l2_build_solicit(frame, &n->cfg.local.mac, &unspecified, &n->cfg.local.ip, NULL);
	n->cfg.emit(n->cfg.user, frame, len);
}

/* Returns whether the frame shows that another host claims the port's address. While the port
 * probes the address, a probe by another host counts as a claim too. */
static bool claims_ours(const struct port_neigh *n, const struct port_l2_frame *f)
{
	const struct mac_addr *mac = f->has_mac ? &f->sender_mac : &f->src_mac;

	if (mac_same(mac, &n->cfg.local.mac))
		return false;
	if (ip_same(&f->sender, &n->cfg.local.ip))
		return true;
	return n->probe == PORT_NEIGH_PROBING && !f->is_reply && ip_is_zero(&f->sender) &&
	       ip_same(&f->target, &n->cfg.local.ip);
}

static void conflict(struct port_neigh *n, const struct port_l2_frame *f, uint64_t now_ns)
{
	n->counters.conflicts++;
	n->owner = f->has_mac ? f->sender_mac : f->src_mac;
	if (n->probe == PORT_NEIGH_PROBING) {
		n->probe = PORT_NEIGH_TAKEN;
		n->probe_due_ns = UINT64_MAX;
		return;
	}
	if (n->cfg.host_answers)
		return;
	/* The port has the address already: defend it, but at most once per interval, so that two
	 * hosts do not flood the network. */
	if (n->defended_ns == 0 || now_ns - n->defended_ns >= DEFEND_NS) {
		n->defended_ns = now_ns;
		announce_send(n);
	}
}

/* ------------------------------------------------------------------ input */

static void learn(struct port_neigh *n, const struct port_l2_frame *f, bool create, uint64_t now_ns)
{
	struct entry *e;

	if (!f->has_mac || !ip_is_unicast(&f->sender) || f->sender.family != n->cfg.local.ip.family)
		return;
	e = entry_find(n, &f->sender);
	if (!e) {
		if (!create || !ip_prefix_contains(&n->subnet, &f->sender))
			return;
		/* A host that asks for the port's address will soon get packets from it. So add an
		 * entry for the host, but evict no other entry. */
		e = entry_add(n, &f->sender, false, now_ns);
		if (!e)
			return;
		e->state = ENTRY_INCOMPLETE;
	}
	/* RFC 4861 section 7.2.5: an advertisement without the override flag does not change a
	 * known MAC. */
	if (f->kind == PORT_L2_ADVERT && !f->is_override && e->state >= ENTRY_REACHABLE &&
	    e->state != ENTRY_FAILED && !mac_same(&e->mac, &f->sender_mac))
		return;
	entry_reached(n, e, &f->sender_mac, now_ns);
}

static void answer(struct port_neigh *n, const struct port_l2_frame *f)
{
	uint8_t frame[PORT_L2_CONTROL_MAX];
	size_t len;

	/* The port must not answer for the address before probing has succeeded. */
	if (n->probe != PORT_NEIGH_FREE || n->cfg.host_answers)
		return;
	len = port_l2_build_advert(frame, &n->cfg.local.mac, &n->cfg.local.ip,
				   f->has_mac ? &f->sender_mac : &f->src_mac, &f->sender);
	n->counters.answered++;
	n->cfg.emit(n->cfg.user, frame, len);
}

static void echo(struct port_neigh *n, const uint8_t *frame, size_t len, uint64_t now_ns)
{
	uint8_t reply[PORT_L2_ECHO_MAX];

	if (n->probe != PORT_NEIGH_FREE || n->cfg.host_answers)
		return;
	if (now_ns - n->echo_window_ns >= ECHO_WINDOW_NS) {
		n->echo_window_ns = now_ns;
		n->echoes = 0;
	}
	if (++n->echoes > ECHO_BURST) {
		n->counters.echoes_limited++;
		return;
	}
	len = port_l2_build_echo_reply(reply, &n->cfg.local, frame, len);
	if (len == 0)
		return;
	n->counters.echoes++;
	n->cfg.emit(n->cfg.user, reply, len);
}

void port_neigh_input(struct port_neigh *n, const struct port_l2_frame *f, const uint8_t *frame,
		      size_t len, uint64_t now_ns)
{
	bool asks_us;

	if (n->stands_by)
		return;
	if (f->kind == PORT_L2_ECHO) {
		echo(n, frame, len, now_ns);
		return;
	}
	if (f->kind != PORT_L2_ARP && f->kind != PORT_L2_SOLICIT && f->kind != PORT_L2_ADVERT)
		return;
	if (claims_ours(n, f)) {
		conflict(n, f, now_ns);
		return;
	}
	asks_us = !f->is_reply && ip_same(&f->target, &n->cfg.local.ip);
	learn(n, f, asks_us, now_ns);
	if (asks_us)
		answer(n, f);
}

/* ------------------------------------------------------------------ time */

static void entry_tick(struct port_neigh *n, struct entry *e, uint64_t now_ns)
{
	switch (e->state) {
	case ENTRY_INCOMPLETE:
	case ENTRY_REFRESHING:
		if (e->tries < PORT_NEIGH_TRIES) {
			entry_ask(n, e, now_ns);
			return;
		}
		n->counters.unreachable++;
		if (e->park != NO_PARK)
			n->counters.park_lost++;
		entry_unpark(n, e);
		e->state = ENTRY_FAILED;
		entry_set_due(n, e, now_ns + PORT_NEIGH_FAILED_NS);
		return;
	case ENTRY_REACHABLE:
		if (now_ns - e->used_ns >= PORT_NEIGH_IDLE_NS) {
			entry_drop(n, e);
		} else if (now_ns - e->used_ns >= PORT_NEIGH_REFRESH_NS) {
			/* The entry was not used lately, so do not refresh it. Check it again when
			 * it can be dropped for having been unused. */
			entry_set_due(n, e, e->used_ns + PORT_NEIGH_IDLE_NS);
		} else {
			e->state = ENTRY_REFRESHING;
			e->tries = 0;
			entry_ask(n, e, now_ns);
		}
		return;
	case ENTRY_FAILED:
		entry_drop(n, e);
		return;
	}
}

uint64_t port_neigh_tick(struct port_neigh *n, uint64_t now_ns)
{
	probe_tick(n, now_ns);
	if (now_ns >= n->announce_due_ns) {
		n->announce_due_ns = UINT64_MAX;
		announce_send(n);
	}
	if (now_ns >= n->next_due_ns) {
		uint64_t next = UINT64_MAX;

		n->next_due_ns = UINT64_MAX;
		for (unsigned i = 0; i < PORT_NEIGH_MAX; i++) {
			struct entry *e = &n->entries[i];

			if (e->state != ENTRY_NONE && now_ns >= e->due_ns)
				entry_tick(n, e, now_ns);
			if (e->state != ENTRY_NONE)
				next = MIN_OF(next, e->due_ns);
		}
		n->next_due_ns = next;
	}
	return MIN_OF(n->next_due_ns, MIN_OF(n->probe_due_ns, n->announce_due_ns));
}

void port_neigh_counters_get(const struct port_neigh *n, struct port_neigh_counters *ret)
{
	*ret = n->counters;
}
