/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of the simulator only. rudp_sim_net.c has the packets and links,
 * rudp_sim_pattern.c the bytes of messages, rudp_sim.c the applications and the time.
 */
#ifndef PLENUM_TESTS_RUDP_SIM_INTERNAL_H
#define PLENUM_TESTS_RUDP_SIM_INTERNAL_H

#include "tests/lib/rudp/rudp_sim.h"
#include <string.h>

struct sim_pkt {
	uint64_t at, serial;
	struct sim_end *to;
	unsigned leg;
	bool vanishes;	/* the packet is lost together with its burst */
	bool at_switch; /* true: the packet is on its way to the switch; false: it is on its way
			   from the switch */
	struct datagram_addr src;
	struct sim_end *from; /* the sender */
	struct sim_pkt *next;
	size_t len;
	uint8_t data[];
};

#define FAULT(sim, ...)                                                            \
	do {                                                                       \
		if (!(sim)->fault[0])                                              \
			snprintf((sim)->fault, sizeof((sim)->fault), __VA_ARGS__); \
	} while (0)

bool sim_chance(struct sim *sim, uint32_t in_a_million);

struct datagram_addr sim_end_addr(const struct sim *sim, unsigned end, unsigned leg);
/* Removes and returns the packet that arrives next, at any endpoint or switch. heap_n must not be
 * 0. */
struct sim_pkt *sim_net_pop(struct sim *sim);
/* Passes a packet from the switch to the port, behind the queued packets of all senders. Drops it
 * if the queue is full. */
void sim_net_forward(struct sim *sim, struct sim_pkt *p);
/* Implements the operation tx of rudp. */
int sim_net_tx(void *user, unsigned port, const struct datagram_addr *dst,
	       const struct datagram *pkt);

/* Fill a message with bytes that `key` determines, and compare a message with them. */
void sim_pattern_put(uint8_t *p, size_t len, uint64_t key);
bool sim_pattern_holds(const uint8_t *p, size_t len, uint64_t key);

#endif
