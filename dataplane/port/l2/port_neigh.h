/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbours of one leg where the kernel does not know them: resolves addresses by ARP or
 * neighbour discovery, refreshes before expiry, answers for our own address, probes that nobody
 * else has it (RFC 5227, RFC 4862) and defends it. A pure state machine: frames come in parsed,
 * leave through `emit`, time is passed in. One memory block, made once. Owned by a port, used by
 * its thread only.
 */
#ifndef PLENUM_DATAPLANE_PORT_NEIGH_H
#define PLENUM_DATAPLANE_PORT_NEIGH_H

#include "dataplane/port/l2/port_l2.h"

#define PORT_NEIGH_MAX 512   /* neighbours known at once */
#define PORT_NEIGH_PARKED 32 /* frames that wait for a neighbour, one each */
#define PORT_NEIGH_PROBES 3  /* for our own address before it is used */
#define PORT_NEIGH_PROBE_NS (60 * NSEC_PER_MSEC)
#define PORT_NEIGH_RETRY_NS (50 * NSEC_PER_MSEC) /* first; doubles up to a second */
#define PORT_NEIGH_TRIES 5			 /* then the neighbour is unreachable for a while */
#define PORT_NEIGH_FAILED_NS NSEC_PER_SEC	 /* that long */
#define PORT_NEIGH_REFRESH_NS (20 * NSEC_PER_SEC) /* an entry in use is asked for again */
#define PORT_NEIGH_IDLE_NS (60 * NSEC_PER_SEC)	  /* an unused entry is forgotten */

struct port_neigh_config {
	struct port_l2_local local;
	uint8_t prefix_len;
	struct ip_addr gateway; /* family 0: none */
	bool host_answers;	/* the address is the host's, which answers for it and defends it */
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
 * The MAC to which a datagram for ip goes. 0 and *ret; -EINPROGRESS: being resolved, the caller may
 * park one frame; -EHOSTUNREACH: nobody answers at present; -ENETUNREACH: neither in the leg's
 * subnet nor is there a gateway; -EINVAL: no unicast address.
 */
int port_neigh_resolve(struct port_neigh *n, const struct ip_addr *ip, uint64_t now_ns,
		       struct mac_addr *ret);
/* Memory for one frame to ip that leaves, with its destination filled in, as soon as that answers;
 * the caller builds it there at once. NULL: one waits already or no room is left; counted. Only
 * after -EINPROGRESS for the same ip. */
uint8_t *port_neigh_park(struct port_neigh *n, const struct ip_addr *ip);
void port_neigh_park_len(struct port_neigh *n, const struct ip_addr *ip, size_t len);

/* Any frame that port_l2_parse called ARP, SOLICIT, ADVERT or ECHO; frame is the raw one. */
void port_neigh_input(struct port_neigh *n, const struct port_l2_frame *f, const uint8_t *frame,
		      size_t len, uint64_t now_ns);
/* Retransmits, refreshes, forgets. The time of the next call; UINT64_MAX: never. */
uint64_t port_neigh_tick(struct port_neigh *n, uint64_t now_ns);

/* Asks whether somebody has our address; goes on in tick for PORT_NEIGH_PROBES times
 * PORT_NEIGH_PROBE_NS. */
void port_neigh_probe_start(struct port_neigh *n, uint64_t now_ns);
/* ret_owner: who has it, for PORT_NEIGH_TAKEN. */
enum port_neigh_probe port_neigh_probe_state(const struct port_neigh *n,
					     struct mac_addr *ret_owner);
/* Somebody has asked already, PORT_NEIGH_PROBES times, the last time then: the next
 * port_neigh_probe() goes on from there, unless that was long ago. The caller inputs what was
 * answered before that call, and looks again after its -EAGAIN. */
void port_neigh_probe_asked(struct port_neigh *n, uint64_t last_ns);
/* The two in one, for who looks again and again: asks with the first call. -EAGAIN: goes on in
 * tick; 0: nobody has it, and it was announced; -EADDRINUSE with a sentence in why. */
int port_neigh_probe(struct port_neigh *n, uint64_t now_ns, char *why, size_t size);
/* While it stands by, another port has the address: nothing is answered, asked, announced or
 * defended here, and what was known of neighbours is forgotten, for they may move meanwhile. */
void port_neigh_stand_by(struct port_neigh *n, bool stands_by);
/* Says where our address is, now and once more a second later. */
void port_neigh_announce(struct port_neigh *n, uint64_t now_ns);

void port_neigh_counters_get(const struct port_neigh *n, struct port_neigh_counters *ret);

#endif
