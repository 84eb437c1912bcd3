/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client and a server of the transport for tests of access control: two legs, a virtual clock,
 * and an attacker between them who can read and change all packets.
 */
#ifndef PLENUM_TESTS_AUTH_RIG_H
#define PLENUM_TESTS_AUTH_RIG_H

#include "dataplane/rudp/rudp_internal.h"
#include "tests/lib/rudp/rudp_ops.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define PACKET_MAX 1500
#define QUEUE_MAX 4096
#define SERVER 0
#define CLIENT 1
#define STEP_NS (20 * NSEC_PER_USEC)
#define REPLY_MAX (1U << 20)
#define SERVER_IDENTITY 0x5e5e5e5e11223344ULL
#define CLIENT_IDENTITY 0xc1c1c1c155667788ULL

extern const uint8_t auth_keys[3][RUDP_KEY_BYTES];

struct hop { /* a packet in flight */
	unsigned to, port;
	struct datagram_addr src;
	size_t len;
	uint8_t data[PACKET_MAX];
};

struct end {
	struct rudp *r;
	struct rudp_session *s; /* the client's session; NULL at the server */
	unsigned events[RUDP_EVENT_MAX], accepts, requests, answers;
	int code;
	char word[WIRE_REFUSE_TEXT_MAX + 1];
	uint32_t epoch;
};

struct rig {
	struct end ends[2];
	struct rudp_config cfg[2];
	uint64_t now;
	unsigned n_hops, n_seen;
	/* The attacker, which may change the packet. Returns true to drop it. */
	bool (*middle)(struct rig *auth, struct hop *h);
	/* Checks the peer's proof, for ops->identify and ops->accepted; NULL: no check. */
	int (*check)(unsigned end, const struct rudp_proof *p, struct rudp_peer *ret);
	unsigned target, byte; /* for the attacker: the number of a packet, and of a byte in it */
	bool hit;
	uint64_t spoofed_in, spoofed_out;
	unsigned n_kept;
	struct hop kept[256];
	uint8_t request[64];
	struct hop hops[QUEUE_MAX];
};

extern struct rig *auth; /* the rig, which rudp's operations use */
extern uint8_t auth_reply[REPLY_MAX];
extern uint32_t auth_reply_len;

struct datagram_addr auth_addr(unsigned end, unsigned port);

/* The address of a host that does not take part in the session. */
extern const struct datagram_addr auth_victim;

void auth_end_start(unsigned i);
void auth_key_add(unsigned end, unsigned key);
void auth_connect(const char *hello);
int auth_setup(void **state);
int auth_teardown(void **state);
void auth_begin(void);

/* Ends both sides and starts them again with the same configuration. */
void auth_restart(void);
int auth_deliver(const struct hop *h);
void auth_turn(void);
void auth_pass(uint64_t ns);
bool auth_is_up(void);
void auth_call(void);
unsigned auth_sessions(unsigned end);

#define AUTH_TEST(f) cmocka_unit_test_setup_teardown(f, auth_setup, auth_teardown)

#endif
