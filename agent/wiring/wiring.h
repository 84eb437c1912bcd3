/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches the networks of the legs. Addresses (RFC 5227, RFC 4862): finds other hosts that use a
 * data IP of this host, defends the IP, and notices when the other host has stopped using it.
 * Cables (wiring_cables.c): finds a leg whose cable leads to another leg's network, and legs that
 * share a layer-2 network. A state machine without sockets: the caller passes in packets and the
 * time, and sends the packets that the module requests. Without faults it sends about one probe per
 * address in WIRING_LOOK_NS, and it asks for peers' addresses only while a leg has no working path.
 * It sends nothing on a quiet leg. Owns its tables; changes nothing on the host.
 */
#ifndef PLENUM_AGENT_WIRING_H
#define PLENUM_AGENT_WIRING_H

#include "agent/base/address_claim.h"
#include "netcfg/base/base.h"
#include "netcfg/base/reason.h"
#include <net/if.h>

#define WIRING_LOOK_NS (60 * NSEC_PER_SEC)
#define WIRING_BURST_NS                                                           \
	(250 * NSEC_PER_MSEC) /* time between the probes after a link has come up \
			       */
#define WIRING_BURST 3
/* Time between probes while another host uses the address. */
#define WIRING_CONFLICT_NS (5 * NSEC_PER_SEC)
/* Shortest time between two announcements that defend an address: DEFEND_INTERVAL of RFC 5227. */
#define WIRING_DEFEND_NS (10 * NSEC_PER_SEC)
#define WIRING_GONE_NS NSEC_PER_SEC /* time between probes after a probe had no answer */
#define WIRING_GONE 5		    /* a conflict ends after this many unanswered probes */
/* On a quiet leg, a second packet within this time confirms a conflict, and silence for this time
 * ends it. */
#define WIRING_QUIET_NS (120 * NSEC_PER_SEC)
#define WIRING_ADDRESSES_MAX 128 /* maximum number of watched addresses of this host */
/* Pauses between questions about cables after the burst: WIRING_ASK_SLOW_NS once questions stay
 * unanswered, WIRING_ASK_NS before that. */
#define WIRING_ASK_NS (10 * NSEC_PER_SEC)
#define WIRING_ASK_SLOW_NS (30 * NSEC_PER_SEC)
#define WIRING_ASKS_MAX 128
#define WIRING_SUBNETS_MAX 4 /* maximum number of subnets per leg */

enum wiring_kind {
	WIRING_OWN,  /* this host's kernel has the address */
	WIRING_HELD, /* a worker has the address, answers probes for the address and defends it */
	WIRING_REFUSED, /* no worker uses the address, because another host has it */
};

struct wiring_leg {
	char name[PLENUM_NAME_MAX], ifname[IFNAMSIZ];
	uint32_t ifindex;
	struct mac_addr mac;
	bool carrier;
	bool quiet; /* the leg is also the management interface, so nothing is sent on it */
	struct ip_prefix subnets[WIRING_SUBNETS_MAX];
	size_t n_subnets;
	/* The members below are set by this module. */
	bool proven;	     /* a path to a peer's address of this network works */
	uint32_t crossed_to; /* ifindex of another leg to whose network this leg's cable leads; 0:
				none is known */
};

enum wiring_question {
	WIRING_ASK_SELF,     /* asks for an address of this host on another leg, to find out whether
				both legs share a layer-2 network */
	WIRING_ASK_PEER,     /* asks for a peer's address of this leg's network */
	WIRING_ASK_PEER_LEG, /* asks for a peer's address of another leg's network */
};

/* A question: an address that is asked for on a leg, to find out where the leg's cable leads. */
struct wiring_ask {
	enum wiring_question question;
	/* ifindex: the leg on which the question is asked; other: the leg whose network has the
	 * address */
	uint32_t ifindex, other;
	/* from: sender address, an address of the leg; family 0: send a probe without a sender */
	struct ip_addr ip, from;
	char peer[PLENUM_NAME_MAX];
	/* The members below are set by this module. */
	uint64_t due_ns; /* UINT64_MAX: the question is not needed */
	unsigned burst, sent, unanswered;
	unsigned heard; /* count of latest questions in a row that were answered */
	bool answered;
	struct mac_addr by; /* MAC of the station that answered */
};

struct wiring_address {
	struct ip_addr ip;
	uint32_t ifindex; /* interface index of the address's leg */
	enum wiring_kind kind;
	/* The members below are set by this module. */
	uint64_t due_ns; /* time of the next probe; UINT64_MAX: no probe is planned */
	uint64_t first_ns, defended_ns, sent_ns;
	uint64_t heard_ns;   /* time of the other host's last packet */
	struct mac_addr by;  /* MAC of the other host */
	unsigned burst;	     /* count of probes left to send in quick succession */
	unsigned unanswered; /* count of probes since the last packet of the other host */
	bool taken;	     /* another host uses the address */
	bool dropped;	     /* the conflict ended because this host no longer has the address */
};

/* A packet to send: a probe, a request, or an announcement that defends the address. */
struct wiring_packet {
	const struct wiring_leg *leg;
	const struct ip_addr *ip, *from; /* from: sender address; NULL: the packet is a probe */
	bool announce;
};

enum wiring_fault { WIRING_CROSSED, WIRING_ONE_NETWORK };

struct wiring_setup {
	void (*send)(void *user, const struct wiring_packet *p);
	/* Another host has begun (a->taken) or stopped using the address. */
	void (*on_change)(void *user, const struct wiring_leg *leg, const struct wiring_address *a);
	/* A cabling fault begins or ends. WIRING_ONE_NETWORK is reported once per pair of legs. */
	void (*on_cable)(void *user, enum wiring_fault f, bool begins, const struct wiring_leg *leg,
			 const struct wiring_leg *other);
	uint32_t (*random)(void);
	void *user;
};

/* The legs and addresses to watch, and the questions about cables. */
struct wiring_view {
	struct wiring_leg legs[PLENUM_LEGS_MAX];
	size_t n_legs;
	/* The caller sets ip, ifindex and kind. */
	struct wiring_address addresses[WIRING_ADDRESSES_MAX];
	size_t n_addresses;
	struct wiring_ask asks[WIRING_ASKS_MAX];
	size_t n_asks;
	struct mac_addr *own; /* MAC addresses of this host; heap */
	size_t n_own;
};

struct wiring {
	struct wiring_setup setup;
	struct wiring_view v;
	struct {
		uint32_t a, b; /* ifindexes of legs that share a layer-2 network */
	} pairs[PLENUM_LEGS_MAX * PLENUM_LEGS_MAX / 2];
	size_t n_pairs;
	/* Pairs of legs whose networks were found to be separate; kept while the cables are
	 * exchanged. */
	struct {
		uint32_t a, b;
	} apart[PLENUM_LEGS_MAX * PLENUM_LEGS_MAX / 2];
	size_t n_apart;
};

void wiring_init(struct wiring *w, const struct wiring_setup *setup);
void wiring_done(struct wiring *w);
/* Replaces the watched legs and addresses, and takes ownership of view->own. Addresses that were
 * watched before keep their state. */
void wiring_watch(struct wiring *w, struct wiring_view *view, uint64_t now);
/* Call when a link's carrier has changed. Soon after a carrier has appeared, the leg's addresses
 * are probed. */
void wiring_carrier(struct wiring *w, uint32_t ifindex, bool carrier, uint64_t now);
void wiring_hear(struct wiring *w, uint32_t ifindex, const struct address_claim *c, uint64_t now);
/* Sends the packets that are due. Returns in how many ns the next packet is due, or UINT64_MAX if
 * no packet is to be sent. */
uint64_t wiring_run(struct wiring *w, uint64_t now);

/* Sets whether a path to a peer's address of the leg's network works, which proves the cable
 * right. */
void wiring_prove(struct wiring *w, uint32_t ifindex, bool proven, uint64_t now);
/* Returns whether the legs have different networks, so that neither must receive packets of the
 * other. */
bool wiring_legs_are_apart(const struct wiring_leg *a, const struct wiring_leg *b);

const struct wiring_leg *wiring_leg_find(const struct wiring *w, const char *name);
/* Returns whether a fault explains why packets from that address of the leg get no answer: another
 * host uses the address, or the leg's cable leads to another network. *ret describes the fault. w
 * may be NULL. */
bool wiring_explains(const struct wiring *w, const char *leg, const struct ip_addr *ip,
		     struct reason *ret);
/* Returns question number n, counted from 0, about a peer's address of the leg's network that was
 * answered there, or NULL if there is no further one. w may be NULL. */
const struct wiring_ask *wiring_peer_heard(const struct wiring *w, const char *leg, size_t n);
/* Describes fault number n of a leg, counted from 0. Returns false if the leg has no further
 * fault. */
bool wiring_leg_reason(const struct wiring *w, const char *leg, size_t n, struct reason *ret);
/* Gets pair number n, counted from 0, of legs that share a layer-2 network, with a note. Returns
 * false if there is no further pair. */
bool wiring_pair_reason(const struct wiring *w, size_t n, const struct wiring_leg **ret_a,
			const struct wiring_leg **ret_b, struct reason *ret);

#endif
