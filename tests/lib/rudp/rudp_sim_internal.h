/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the parts of the simulator and included nowhere else. rudp_sim_net.c: packets and
 * links. rudp_sim_pattern.c: the bytes of messages. rudp_sim.c: applications and time.
 */
#ifndef PLENUM_TESTS_RUDP_SIM_INTERNAL_H
#define PLENUM_TESTS_RUDP_SIM_INTERNAL_H

#include "tests/lib/rudp/rudp_sim.h"
#include <string.h>

struct sim_pkt {
	uint64_t at, serial;
	struct sim_end *to;
	unsigned leg;
	bool vanishes;	/* lost with its burst */
	bool at_switch; /* on the way to the switch, else from it */
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
/* The next packet to arrive anywhere; heap_n is not 0. */
struct sim_pkt *sim_net_pop(struct sim *sim);
/* From the switch to the port: queues behind other senders' packets, or is dropped if the queue is
 * full. */
void sim_net_forward(struct sim *sim, struct sim_pkt *p);
/* rudp's ops->tx. */
int sim_net_tx(void *user, unsigned port, const struct datagram_addr *dst,
	       const struct datagram *pkt);

/* Fills a message with bytes that identify it by `key`, and compares them. */
void sim_pattern_put(uint8_t *p, size_t len, uint64_t key);
bool sim_pattern_holds(const uint8_t *p, size_t len, uint64_t key);

#endif
