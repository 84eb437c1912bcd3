/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbour resolution for one leg without the kernel: resolves addresses by ARP or neighbour
 * discovery, refreshes before expiry, answers for our own address, probes it for duplicates (RFC
 * 5227, RFC 4862) and defends it. A pure state machine: parsed frames come in, frames leave through
 * `emit`, the caller passes the time. One memory block, allocated once. One port owns it and uses
 * it in its thread.
 */
#ifndef PLENUM_DATAPLANE_PORT_NEIGH_H
#define PLENUM_DATAPLANE_PORT_NEIGH_H

#include "dataplane/port/l2/port_l2.h"
#include "netcfg/base/reason.h"

#define PORT_NEIGH_MAX 512   /* neighbours known at once */
#define PORT_NEIGH_PARKED 32 /* frames waiting for a neighbour, one per neighbour */
#define PORT_NEIGH_PROBES 3  /* DAD probes for our own address */
#define PORT_NEIGH_PROBE_NS (60 * NSEC_PER_MSEC)
#define PORT_NEIGH_RETRY_NS (50 * NSEC_PER_MSEC) /* first; doubles up to a second */
#define PORT_NEIGH_TRIES 5			 /* then the neighbour is unreachable for a while */
#define PORT_NEIGH_FAILED_NS NSEC_PER_SEC	 /* for this long */
#define PORT_NEIGH_REFRESH_NS (20 * NSEC_PER_SEC) /* an entry in use is refreshed */
#define PORT_NEIGH_IDLE_NS (60 * NSEC_PER_SEC)	  /* an unused entry is removed */

struct port_neigh_config {
	struct port_l2_local local;
	uint8_t prefix_len;
	struct ip_addr gateway; /* family 0: none */
	bool host_answers; /* the host's kernel has the address too, answers for it and defends it
			    */
	uint32_t frame_bytes_max; /* of a parked frame */
	/* Sends one frame; the bytes are not kept. */
	void (*emit)(void *user, const uint8_t *frame, size_t len);
	void *user;
};

struct port_neigh_counters {
	uint64_t resolved, unreachable, moved; /* moved: another MAC than before */
	uint64_t parked, park_full, park_lost; /* lost: the neighbour never answered */
	uint64_t answered, conflicts, echoes, echoes_limited;
};

enum port_neigh_probe { PORT_NEIGH_PROBING, PORT_NEIGH_FREE, PORT_NEIGH_TAKEN };

struct port_neigh;

/* 0; -ENOMEM. */
int port_neigh_new(const struct port_neigh_config *cfg, struct port_neigh **ret);
struct port_neigh *port_neigh_free(struct port_neigh *n);

/*
 * The MAC for datagrams to ip. 0 and *ret; -EINPROGRESS: being resolved, the caller may park one
 * frame; -EHOSTUNREACH: no answer at present; -ENETUNREACH: outside the leg's subnet, and no
 * gateway; -EINVAL: not a unicast address.
 */
int port_neigh_resolve(struct port_neigh *n, const struct ip_addr *ip, uint64_t now_ns,
		       struct mac_addr *ret);
/* Memory for one frame to ip; it is sent, with its destination filled in, once the neighbour
 * answers. The caller builds it there at once. NULL: one is parked already or no space is left;
 * counted. Only after -EINPROGRESS for the same ip. */
uint8_t *port_neigh_park(struct port_neigh *n, const struct ip_addr *ip);
void port_neigh_park_len(struct port_neigh *n, const struct ip_addr *ip, size_t len);

/* Processes a frame that port_l2_parse classified as ARP, SOLICIT, ADVERT or ECHO; frame is the raw
 * one. */
void port_neigh_input(struct port_neigh *n, const struct port_l2_frame *f, const uint8_t *frame,
		      size_t len, uint64_t now_ns);
/* Retransmits, refreshes and evicts. Returns the time of the next call; UINT64_MAX: never. */
uint64_t port_neigh_tick(struct port_neigh *n, uint64_t now_ns);

/* Starts to probe for another owner of our address; continues in tick for PORT_NEIGH_PROBES times
 * PORT_NEIGH_PROBE_NS. */
void port_neigh_probe_start(struct port_neigh *n, uint64_t now_ns);
/* ret_owner: the other owner, for PORT_NEIGH_TAKEN. */
enum port_neigh_probe port_neigh_probe_state(const struct port_neigh *n,
					     struct mac_addr *ret_owner);
/* PORT_NEIGH_PROBES probes were already sent, the last at last_ns: the next port_neigh_probe()
 * continues from there, unless that is long ago. The caller inputs the replies before that call,
 * and reads again after its -EAGAIN. */
void port_neigh_probe_sent_early(struct port_neigh *n, uint64_t last_ns);
/* Both in one, for callers that poll: the first call starts probing. -EAGAIN: still probing in
 * tick; 0: no other owner, and the address was announced; -EADDRINUSE with a sentence in why. */
int port_neigh_probe(struct port_neigh *n, uint64_t now_ns, struct reason *why);
/* On standby another port has the address: this one answers, asks, announces and defends nothing,
 * and discards its neighbours, which may move meanwhile. */
void port_neigh_stand_by(struct port_neigh *n, bool stands_by);
/* Announces our address now and once more a second later. */
void port_neigh_announce(struct port_neigh *n, uint64_t now_ns);

void port_neigh_counters_get(const struct port_neigh *n, struct port_neigh_counters *ret);

#endif
