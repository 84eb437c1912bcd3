/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches the legs' networks. Addresses (RFC 5227, RFC 4862): finds other hosts that use a data IP
 * of this host, defends it, and notices when they have gone. Cables: finds a leg that leads to
 * another leg's network, and legs that are in one network (wiring_cables.c). A state machine
 * without sockets: the caller passes packets and the time, and sends what the module asks for.
 * While all is well it probes for each address of this host about once per WIRING_LOOK_NS, and
 * asks for peers only while a leg has no working path. It sends nothing on a quiet leg. Owns its
 * tables; changes nothing on the host.
 */
#ifndef PLENUM_AGENT_WIRING_H
#define PLENUM_AGENT_WIRING_H

#include "agent/base/address_claim.h"
#include "netcfg/base/base.h"
#include "netcfg/base/reason.h"
#include <net/if.h>

#define WIRING_LOOK_NS (60 * NSEC_PER_SEC)
#define WIRING_BURST_NS (250 * NSEC_PER_MSEC) /* between the probes after a link came up */
#define WIRING_BURST 3
/* Between probes while another host uses the address. */
#define WIRING_CONFLICT_NS (5 * NSEC_PER_SEC)
/* RFC 5227's DEFEND_INTERVAL. */
#define WIRING_DEFEND_NS (10 * NSEC_PER_SEC)
#define WIRING_GONE_NS NSEC_PER_SEC /* between the probes after the first without an answer */
#define WIRING_GONE 5		    /* unanswered probes that end a conflict */
/* On a quiet leg: a second packet within this time confirms a conflict; this silence ends it. */
#define WIRING_QUIET_NS (120 * NSEC_PER_SEC)
#define WIRING_ADDRESSES_MAX 128 /* per host; further ones are not watched */
/* Between questions about cables after the burst: at first, and later without an answer. */
#define WIRING_ASK_NS (10 * NSEC_PER_SEC)
#define WIRING_ASK_SLOW_NS (30 * NSEC_PER_SEC)
#define WIRING_ASKS_MAX 128
#define WIRING_SUBNETS_MAX 4 /* per leg */

enum wiring_kind {
	WIRING_OWN,	/* the kernel has the address */
	WIRING_HELD,	/* a worker answers for it, and defends it */
	WIRING_REFUSED, /* no worker uses it, because another host had it */
};

struct wiring_leg {
	char name[PLENUM_NAME_MAX], ifname[IFNAMSIZ];
	uint32_t ifindex;
	struct mac_addr mac;
	bool carrier;
	bool quiet; /* the management interface too: nothing is sent */
	struct ip_prefix subnets[WIRING_SUBNETS_MAX];
	size_t n_subnets;
	/* State, set by the module. */
	bool proven;	     /* a path to a peer's address of this network works */
	uint32_t crossed_to; /* the leg (ifindex) to whose network its cable leads; 0: its own */
};

enum wiring_question {
	WIRING_ASK_SELF,     /* this host's address of another leg: are both in one network? */
	WIRING_ASK_PEER,     /* a peer's address of this leg's network */
	WIRING_ASK_PEER_LEG, /* a peer's address of another leg's network */
};

/* An address that is asked for on a leg to learn where its cable leads. */
struct wiring_ask {
	enum wiring_question question;
	uint32_t ifindex, other; /* the leg that asks; the leg whose network the address is in */
	struct ip_addr ip, from; /* from: an address of the leg; family 0: a probe */
	char peer[PLENUM_NAME_MAX];
	/* State, set by the module. */
	uint64_t due_ns; /* UINT64_MAX: it need not be asked */
	unsigned burst, sent, unanswered;
	unsigned heard; /* so many questions in a row have been answered */
	bool answered;
	struct mac_addr by; /* that answered */
};

struct wiring_address {
	struct ip_addr ip;
	uint32_t ifindex; /* of its leg */
	enum wiring_kind kind;
	/* State, set by the module. */
	uint64_t due_ns; /* the next probe; UINT64_MAX: none */
	uint64_t first_ns, defended_ns, sent_ns;
	uint64_t heard_ns;   /* the last packet of the other host */
	struct mac_addr by;  /* the other host */
	unsigned burst;	     /* probes that follow soon */
	unsigned unanswered; /* probes since a packet of the other host */
	bool taken;	     /* another host uses it */
	bool dropped;	     /* the conflict ended because this host no longer has it */
};

/* What to send: a probe, a request, or an announcement that defends the address. */
struct wiring_packet {
	const struct wiring_leg *leg;
	const struct ip_addr *ip, *from; /* from: NULL: a probe */
	bool announce;
};

enum wiring_fault { WIRING_CROSSED, WIRING_ONE_NETWORK };

struct wiring_setup {
	void (*send)(void *user, const struct wiring_packet *p);
	/* Another host uses the address from now on (taken), or does not any more. */
	void (*on_change)(void *user, const struct wiring_leg *leg, const struct wiring_address *a);
	/* A fault of cables begins or ends; ONE_NETWORK once for each pair of legs. */
	void (*on_cable)(void *user, enum wiring_fault f, bool begins, const struct wiring_leg *leg,
			 const struct wiring_leg *other);
	uint32_t (*random)(void);
	void *user;
};

/* The watched legs and addresses. */
struct wiring_view {
	struct wiring_leg legs[PLENUM_LEGS_MAX];
	size_t n_legs;
	struct wiring_address addresses[WIRING_ADDRESSES_MAX]; /* ip, ifindex and kind are set */
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
		uint32_t a, b; /* ifindexes of legs that are in one network */
	} pairs[PLENUM_LEGS_MAX * PLENUM_LEGS_MAX / 2];
	size_t n_pairs;
	/* Pairs of legs seen in separate networks, also with exchanged cables. */
	struct {
		uint32_t a, b;
	} apart[PLENUM_LEGS_MAX * PLENUM_LEGS_MAX / 2];
	size_t n_apart;
};

void wiring_init(struct wiring *w, const struct wiring_setup *setup);
void wiring_done(struct wiring *w);
/* Replaces what is watched, and takes view->own; known addresses keep their state. */
void wiring_watch(struct wiring *w, struct wiring_view *view, uint64_t now);
/* The link's carrier has changed: addresses are probed soon after it came. */
void wiring_carrier(struct wiring *w, uint32_t ifindex, bool carrier, uint64_t now);
void wiring_hear(struct wiring *w, uint32_t ifindex, const struct address_claim *c, uint64_t now);
/* Sends what is due. In how many ns the next packet is due; UINT64_MAX: none is. */
uint64_t wiring_run(struct wiring *w, uint64_t now);

/* Whether a path to a peer's address of the leg's network works: then its cable is right. */
void wiring_prove(struct wiring *w, uint32_t ifindex, bool proven, uint64_t now);
/* Whether the legs have networks apart, so that they must not hear each other. */
bool wiring_legs_are_apart(const struct wiring_leg *a, const struct wiring_leg *b);

const struct wiring_leg *wiring_leg_find(const struct wiring *w, const char *name);
/* Whether a fault explains that packets from that address of the leg have no answer: another host
 * uses it, or the leg's cable leads to another network; *ret: the fault. w may be NULL. */
bool wiring_explains(const struct wiring *w, const char *leg, const struct ip_addr *ip,
		     struct reason *ret);
/* The n-th fault of a leg, from 0. False: it has no more. */
bool wiring_leg_reason(const struct wiring *w, const char *leg, size_t n, struct reason *ret);
/* The n-th pair of legs in one network, from 0: a note. False: there are no more. */
bool wiring_pair_reason(const struct wiring *w, size_t n, const struct wiring_leg **ret_a,
			const struct wiring_leg **ret_b, struct reason *ret);

#endif
