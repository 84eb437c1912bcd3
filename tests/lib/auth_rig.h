/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client and a server of the transport for tests of access control: two legs, a virtual clock,
 * and an attacker in the middle who can read and change everything.
 */
#ifndef PLENUM_TESTS_AUTH_RIG_H
#define PLENUM_TESTS_AUTH_RIG_H

#include "dataplane/rudp/rudp_internal.h"
#include "tests/lib/rudp_ops.h"

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

static const uint8_t keys[3][RUDP_KEY_BYTES] = {{1}, {2}, {3}};

struct hop { /* a packet in flight */
	unsigned to, port;
	struct datagram_addr src;
	size_t len;
	uint8_t data[PACKET_MAX];
};

struct end {
	struct rudp *r;
	struct rudp_session *s; /* the client's */
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
	/* The attacker. True: drops the packet. */
	bool (*middle)(struct rig *g, struct hop *h);
	unsigned target, byte; /* for the attacker: which packet, which byte */
	bool hit;
	uint64_t spoofed_in, spoofed_out;
	unsigned n_kept;
	struct hop kept[256];
	uint8_t request[64];
	struct hop hops[QUEUE_MAX];
};

static struct rig *g; /* one at a time, for the operations */
static uint8_t reply[REPLY_MAX];
static uint32_t reply_len;

static inline struct datagram_addr addr_of(unsigned end, unsigned port)
{
	return (struct datagram_addr){{AF_INET, {10, (uint8_t)port, 0, (uint8_t)(1 + end)}}, 7000};
}

/* An uninvolved host. */
static const struct datagram_addr victim = {{AF_INET, {10, 1, 0, 99}}, 7000};

static inline int op_tx(void *user, unsigned port, const struct datagram_addr *dst,
			const struct datagram *pkt)
{
	unsigned from = user == &g->ends[CLIENT] ? CLIENT : SERVER;
	struct hop *h = &g->hops[g->n_hops];

	if (rudp_addr_equal(dst, &victim)) {
		g->spoofed_out += (uint64_t)pkt->hdr_len + pkt->payload_len;
		return 0;
	}
	if (g->n_hops == QUEUE_MAX)
		return -EAGAIN;
	*h = (struct hop){.to = !from, .port = port, .src = addr_of(from, port)};
	h->len = (size_t)pkt->hdr_len + pkt->payload_len;
	assert_true(h->len <= PACKET_MAX - 28);
	rudp_ops_copy(h->data, pkt);
	g->n_hops++;
	return 0;
}

static inline void op_request(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
			      size_t len)
{
	assert_int_equal(len, sizeof(g->request));
	assert_memory_equal(buf, g->request, len);
	free(buf);
	((struct end *)user)->requests++;
	rudp_respond(call, reply, reply_len, NULL);
}

static inline void op_response(void *user, struct rudp_session *s, uint64_t cookie, int status,
			       void *buf, size_t len)
{
	if (status == 0) {
		assert_int_equal(len, reply_len);
		assert_memory_equal(buf, reply, len);
		((struct end *)user)->answers++;
	}
	free(buf);
}

static inline int op_accept(void *user, struct rudp_session *s, const void *hello, size_t len,
			    void **ret)
{
	((struct end *)user)->accepts++;
	if (len == 2)
		rudp_session_refuse_with(s, "not-you");
	return len == 2 ? -EACCES : 0;
}

static inline void op_event(void *user, struct rudp_session *s, enum rudp_event e, unsigned path,
			    int code)
{
	struct end *end = user;
	struct datagram_addr from;

	end->events[e]++;
	if (e != RUDP_SESSION_REFUSED)
		return;
	end->code = code;
	snprintf(end->word, sizeof(end->word), "%s", rudp_session_refusal(s, &from));
}

static const struct rudp_ops ops = {.tx = op_tx,
				    .tx_flush = rudp_ops_flush,
				    .buf_get = rudp_ops_buf_get,
				    .buf_put = rudp_ops_buf_put,
				    .request = op_request,
				    .call_gone = rudp_ops_call_gone,
				    .response = op_response,
				    .sent = rudp_ops_sent,
				    .accept = op_accept,
				    .event = op_event};

static inline void end_start(unsigned i)
{
	struct rudp_config *cfg = &g->cfg[i];

	cfg->identity = i == SERVER ? SERVER_IDENTITY : CLIENT_IDENTITY;
	cfg->epoch = ++g->ends[i].epoch;
	cfg->seed = 77 * i + cfg->epoch;
	cfg->ops = &ops;
	cfg->user = &g->ends[i];
	cfg->n_ports = 2;
	cfg->limits.sessions = MAX_OF(cfg->limits.sessions, 8U);
	for (unsigned p = 0; p < 2; p++)
		cfg->ports[p] = (struct rudp_port_info){
			.local = addr_of(i, p), .prefix_len = 24, .mtu = 1500, .up = true};
	assert_int_equal(rudp_new(cfg, g->now, &g->ends[i].r), 0);
}

static inline void key_add(unsigned end, unsigned key)
{
	struct rudp_config *cfg = &g->cfg[end];

	memcpy(cfg->keys[cfg->n_keys++], keys[key], RUDP_KEY_BYTES);
	if (!cfg->security)
		cfg->security = RUDP_AUTH;
}

static inline void connect_with(const char *hello)
{
	struct datagram_addr to = addr_of(SERVER, 0);

	assert_int_equal(rudp_connect(g->ends[CLIENT].r, &to, 1, hello, strlen(hello), NULL, g->now,
				      &g->ends[CLIENT].s),
			 0);
}

static inline int setup(void **state)
{
	g = calloc(1, sizeof(*g));
	assert_non_null(g);
	g->now = 100 * NSEC_PER_SEC;
	reply_len = 64;
	for (unsigned i = 0; i < sizeof(g->request); i++)
		g->request[i] = (uint8_t)(i * 7 + 1);
	return 0;
}

static inline int teardown(void **state)
{
	for (unsigned i = 0; i < 2; i++)
		rudp_free(g->ends[i].r);
	free(g);
	return 0;
}

static inline void begin(void)
{
	end_start(SERVER);
	end_start(CLIENT);
	connect_with("hello");
}

/* Restarts the same setup. */
static inline void again(void)
{
	struct rudp_config cfg[2];

	memcpy(cfg, g->cfg, sizeof(cfg));
	teardown(NULL);
	setup(NULL);
	memcpy(g->cfg, cfg, sizeof(cfg));
}

static inline int give(const struct hop *h)
{
	uint8_t *copy =
		malloc(h->len ? h->len : 1); /* so that the sanitizer detects a read beyond it */
	int r;

	assert_non_null(copy);
	memcpy(copy, h->data, h->len);
	r = rudp_rx(g->ends[h->to].r, h->port, &h->src, copy, h->len, g->now);
	free(copy);
	return r;
}

static inline void turn(void)
{
	static struct hop batch[QUEUE_MAX];
	unsigned n = g->n_hops;

	memcpy(batch, g->hops, n * sizeof(batch[0]));
	g->n_hops = 0;
	g->now += STEP_NS;
	for (unsigned i = 0; i < n; i++) {
		struct hop *h = &batch[i];
		bool gone = g->middle && g->middle(g, h);

		g->n_seen++;
		if (!gone)
			give(h);
	}
	for (unsigned i = 0; i < 2; i++)
		if (g->ends[i].r)
			while (rudp_poll(g->ends[i].r, g->now))
				;
}

static inline void pass(uint64_t ns)
{
	uint64_t until = g->now + ns;

	while (g->now < until) {
		turn();
		if (g->n_hops == 0) { /* nothing in flight: advance to the next timer */
			uint64_t d =
				MIN_OF(rudp_deadline(g->ends[0].r), rudp_deadline(g->ends[1].r));

			if (d > g->now)
				g->now = MIN_OF(d, until);
		}
	}
}

static inline bool is_up(void)
{
	return rudp_session_is_up(g->ends[CLIENT].s);
}

static inline void call(void)
{
	assert_int_equal(rudp_call_send(g->ends[CLIENT].s, g->request, sizeof(g->request), 0), 0);
}

static inline unsigned sessions(unsigned end)
{
	unsigned n = 0;

	for (struct rudp_session *s = NULL; (s = rudp_session_next(g->ends[end].r, s));)
		n++;
	return n;
}

#define RIG_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
