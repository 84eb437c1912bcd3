/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbour resolution for one leg without the kernel: it resolves addresses by ARP or neighbour
 * discovery and refreshes entries before they expire. It also answers requests for the port's own
 * address, probes that address for duplicates (RFC 5227, RFC 4862) and defends it. It is a pure
 * state machine: the caller passes received frames and the time, and frames to send leave through
 * `emit`. Its memory is one block, allocated once. Each port owns a struct port_neigh and uses it
 * in its own thread.
 */
#ifndef PLENUM_DATAPLANE_PORT_NEIGH_H
#define PLENUM_DATAPLANE_PORT_NEIGH_H

#include "dataplane/port/l2/port_l2.h"
#include "netcfg/base/reason.h"

#define PORT_NEIGH_MAX 512 /* maximum number of neighbours in the table */
/* Maximum number of frames that wait for neighbours; at most one frame for each neighbour. */
#define PORT_NEIGH_PARKED 32
#define PORT_NEIGH_PROBES 3 /* count of duplicate address probes for the port's own address */
#define PORT_NEIGH_PROBE_NS (60 * NSEC_PER_MSEC)
/* Time before the first retry of a request. Each retry doubles it, up to a second. */
#define PORT_NEIGH_RETRY_NS (50 * NSEC_PER_MSEC)
/* After this many unanswered requests, the neighbour counts as unreachable for
 * PORT_NEIGH_FAILED_NS. */
#define PORT_NEIGH_TRIES 5
/* How long a neighbour that did not answer counts as unreachable. */
#define PORT_NEIGH_FAILED_NS NSEC_PER_SEC
/* An entry in use is refreshed after this time. */
#define PORT_NEIGH_REFRESH_NS (20 * NSEC_PER_SEC)
#define PORT_NEIGH_IDLE_NS (60 * NSEC_PER_SEC) /* an unused entry is removed after this time */

struct port_neigh_config {
	struct port_l2_local local;
	uint8_t prefix_len;
	struct ip_addr gateway; /* family 0: none */
	bool host_answers; /* the host's kernel has the same address, answers requests for it and
			      defends it */
	uint32_t frame_bytes_max; /* maximum number of bytes of a parked frame */
	/* Sends one frame. Does not use its bytes after returning. */
	void (*emit)(void *user, const uint8_t *frame, size_t len);
	void *user;
};

struct port_neigh_counters {
	/* moved: neighbours whose MAC has changed. */
	uint64_t resolved, unreachable, moved;
	/* park_lost: parked frames whose neighbour never answered. */
	uint64_t parked, park_full, park_lost;
	uint64_t answered, conflicts, echoes, echoes_limited;
};

enum port_neigh_probe { PORT_NEIGH_PROBING, PORT_NEIGH_FREE, PORT_NEIGH_TAKEN };

struct port_neigh;

/* Returns 0 or -ENOMEM. */
int port_neigh_new(const struct port_neigh_config *cfg, struct port_neigh **ret);
struct port_neigh *port_neigh_free(struct port_neigh *n);

/*
 * Finds the MAC for datagrams to ip. Returns 0 with *ret set; -EINPROGRESS if the MAC is being
 * resolved, in which case the caller may park one frame; -EHOSTUNREACH if the host does not answer
 * at present; -ENETUNREACH if ip is outside the leg's subnet and there is no gateway; or -EINVAL if
 * ip is not a unicast address.
 */
int port_neigh_resolve(struct port_neigh *n, const struct ip_addr *ip, uint64_t now_ns,
		       struct mac_addr *ret);
/* Returns memory in which the caller must build one frame to ip at once. When the neighbour
 * answers, the frame is sent with the neighbour's MAC as destination. Returns NULL, and counts
 * that, if a frame is parked for ip already or there is no space for another frame. Call it only
 * after -EINPROGRESS for the same ip. */
uint8_t *port_neigh_park(struct port_neigh *n, const struct ip_addr *ip);
void port_neigh_park_len(struct port_neigh *n, const struct ip_addr *ip, size_t len);

/* Processes a received frame that port_l2_parse() classified as ARP, SOLICIT, ADVERT or ECHO. f:
 * the parsed frame; frame: its bytes. */
void port_neigh_input(struct port_neigh *n, const struct port_l2_frame *f, const uint8_t *frame,
		      size_t len, uint64_t now_ns);
/* Retransmits requests, refreshes and evicts entries. Returns when to call it next; UINT64_MAX:
 * never. */
uint64_t port_neigh_tick(struct port_neigh *n, uint64_t now_ns);

/* Starts to probe whether another host has the port's address. port_neigh_tick() continues that for
 * PORT_NEIGH_PROBES times PORT_NEIGH_PROBE_NS. */
void port_neigh_probe_start(struct port_neigh *n, uint64_t now_ns);
/* Returns the state of the probe. *ret_owner: MAC of the other host, if the state is
 * PORT_NEIGH_TAKEN. */
enum port_neigh_probe port_neigh_probe_state(const struct port_neigh *n,
					     struct mac_addr *ret_owner);
/* Records that all PORT_NEIGH_PROBES probes were sent already, the last one at last_ns. The next
 * port_neigh_probe() then only waits for the end of the last interval, or probes again if last_ns
 * is too long ago. Before that call, the caller must pass all replies that it has received so far.
 * After each -EAGAIN, it must read further replies. */
void port_neigh_probe_sent_early(struct port_neigh *n, uint64_t last_ns);
/* Probes the port's address, for callers that poll; the first call starts it. Returns -EAGAIN while
 * probing continues (in port_neigh_tick()); 0 if no other host has the address, which is then
 * announced; or -EADDRINUSE with a sentence in why. */
int port_neigh_probe(struct port_neigh *n, uint64_t now_ns, struct reason *why);
/* stands_by: puts this port on standby, because another port has the address now; otherwise ends
 * the standby. On standby the port sends no answers, requests or announcements, and does not defend
 * the address. It also forgets its neighbours, because they may move meanwhile. */
void port_neigh_stand_by(struct port_neigh *n, bool stands_by);
/* Announces the port's address now and once more a second later. */
void port_neigh_announce(struct port_neigh *n, uint64_t now_ns);

void port_neigh_counters_get(const struct port_neigh *n, struct port_neigh_counters *ret);

#endif
