/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who gets in, and what strangers and listeners can do: keys, rotation, tampering with each byte of
 * each packet, replay, RESET, spoofed addresses, floods, other versions. A client and a server, two
 * legs, a virtual clock, and somebody in the middle who sees all and may do all.
 */
#include "dataplane/rudp/rudp_internal.h"

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

struct hop { /* a packet on its way */
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
	/* Who stands in the middle. True: the packet does not arrive. */
	bool (*middle)(struct rig *g, struct hop *h);
	unsigned target, byte; /* of the middle's: which packet, which byte */
	bool hit;
	uint64_t spoofed_in, spoofed_out;
	unsigned n_kept;
	struct hop kept[256];
	uint8_t request[64];
	struct hop hops[QUEUE_MAX];
};

static struct rig *g; /* one at a time: operations find it here */
static uint8_t reply[REPLY_MAX];
static uint32_t reply_len;

static struct datagram_addr addr_of(unsigned end, unsigned port)
{
	return (struct datagram_addr){{AF_INET, {10, (uint8_t)port, 0, (uint8_t)(1 + end)}}, 7000};
}

/* Somebody who has nothing to do with it. */
static const struct datagram_addr victim = {{AF_INET, {10, 1, 0, 99}}, 7000};

static int op_tx(void *user, unsigned port, const struct datagram_addr *dst,
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
	memcpy(h->data, pkt->hdr, pkt->hdr_len);
	if (pkt->payload_len)
		memcpy(h->data + pkt->hdr_len, pkt->payload, pkt->payload_len);
	g->n_hops++;
	return 0;
}

static void op_flush(void *user)
{
}

static void *op_buf_get(void *user, struct rudp_session *s, bool is_response, uint64_t cookie,
			size_t len)
{
	return malloc(len ? len : 1);
}

static void op_buf_put(void *user, struct rudp_session *s, void *buf)
{
	free(buf);
}

static void op_request(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
		       size_t len)
{
	assert_int_equal(len, sizeof(g->request));
	assert_memory_equal(buf, g->request, len);
	free(buf);
	((struct end *)user)->requests++;
	rudp_respond(call, reply, reply_len, NULL);
}

static void op_call_gone(void *user, struct rudp_session *s, struct rudp_call *call)
{
}

static void op_response(void *user, struct rudp_session *s, uint64_t cookie, int status, void *buf,
			size_t len)
{
	if (status == 0) {
		assert_int_equal(len, reply_len);
		assert_memory_equal(buf, reply, len);
		((struct end *)user)->answers++;
	}
	free(buf);
}

static void op_sent(void *user, struct rudp_session *s, void *token)
{
}

static int op_accept(void *user, struct rudp_session *s, const void *hello, size_t len, void **ret)
{
	((struct end *)user)->accepts++;
	if (len == 2)
		rudp_session_refuse_with(s, "not-you");
	return len == 2 ? -EACCES : 0;
}

static void op_event(void *user, struct rudp_session *s, enum rudp_event e, unsigned path, int code)
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
				    .tx_flush = op_flush,
				    .buf_get = op_buf_get,
				    .buf_put = op_buf_put,
				    .request = op_request,
				    .call_gone = op_call_gone,
				    .response = op_response,
				    .sent = op_sent,
				    .accept = op_accept,
				    .event = op_event};

static void end_start(unsigned i)
{
	struct rudp_config *cfg = &g->cfg[i];

	cfg->identity = i == SERVER ? SERVER_IDENTITY : CLIENT_IDENTITY;
	cfg->epoch = ++g->ends[i].epoch;
	cfg->seed = 77 * i + cfg->epoch;
	cfg->ops = &ops;
	cfg->user = &g->ends[i];
	cfg->n_ports = 2;
	cfg->limits.sessions = 8;
	for (unsigned p = 0; p < 2; p++)
		cfg->ports[p] = (struct rudp_port_info){
			.local = addr_of(i, p), .prefix_len = 24, .mtu = 1500, .up = true};
	assert_int_equal(rudp_new(cfg, g->now, &g->ends[i].r), 0);
}

static void key_add(unsigned end, unsigned key)
{
	struct rudp_config *cfg = &g->cfg[end];

	memcpy(cfg->keys[cfg->n_keys++], keys[key], RUDP_KEY_BYTES);
	if (!cfg->security)
		cfg->security = RUDP_AUTH;
}

static void connect_with(const char *hello)
{
	struct datagram_addr to = addr_of(SERVER, 0);

	assert_int_equal(rudp_connect(g->ends[CLIENT].r, &to, 1, hello, strlen(hello), NULL, g->now,
				      &g->ends[CLIENT].s),
			 0);
}

static int setup(void **state)
{
	g = calloc(1, sizeof(*g));
	assert_non_null(g);
	g->now = 100 * NSEC_PER_SEC;
	reply_len = 64;
	for (unsigned i = 0; i < sizeof(g->request); i++)
		g->request[i] = (uint8_t)(i * 7 + 1);
	return 0;
}

static int teardown(void **state)
{
	for (unsigned i = 0; i < 2; i++)
		rudp_free(g->ends[i].r);
	free(g);
	return 0;
}

static void begin(void)
{
	end_start(SERVER);
	end_start(CLIENT);
	connect_with("hello");
}

/* The same world once more, from the beginning. */
static void again(void)
{
	struct rudp_config cfg[2];

	memcpy(cfg, g->cfg, sizeof(cfg));
	teardown(NULL);
	setup(NULL);
	memcpy(g->cfg, cfg, sizeof(cfg));
}

static int give(const struct hop *h)
{
	uint8_t *copy = malloc(h->len ? h->len : 1); /* so that a read beyond it is seen */
	int r;

	assert_non_null(copy);
	memcpy(copy, h->data, h->len);
	r = rudp_rx(g->ends[h->to].r, h->port, &h->src, copy, h->len, g->now);
	free(copy);
	return r;
}

static void turn(void)
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

static void pass(uint64_t ns)
{
	uint64_t until = g->now + ns;

	while (g->now < until) {
		turn();
		if (g->n_hops == 0) { /* nothing on its way: on to the next timer */
			uint64_t d =
				MIN_OF(rudp_deadline(g->ends[0].r), rudp_deadline(g->ends[1].r));

			if (d > g->now)
				g->now = MIN_OF(d, until);
		}
	}
}

static bool is_up(void)
{
	return rudp_session_is_up(g->ends[CLIENT].s);
}

static void call(void)
{
	assert_int_equal(rudp_call_send(g->ends[CLIENT].s, g->request, sizeof(g->request), 0), 0);
}

static unsigned sessions(unsigned end)
{
	unsigned n = 0;

	for (struct rudp_session *s = NULL; (s = rudp_session_next(g->ends[end].r, s));)
		n++;
	return n;
}

/* ------------------------------------------------------------------ keys */

static void test_modes(void **state)
{
	for (unsigned server = RUDP_AUTH; server <= RUDP_ENCRYPT; server++) {
		for (unsigned client = RUDP_AUTH; client <= RUDP_ENCRYPT; client++) {
			struct rudp_path_info paths[RUDP_PATHS_MAX];

			g->cfg[SERVER].security = server;
			g->cfg[CLIENT].security = client;
			g->cfg[SERVER].n_keys = g->cfg[CLIENT].n_keys = 0;
			key_add(SERVER, 0);
			key_add(CLIENT, 0);
			begin();
			pass(50 * NSEC_PER_MSEC);
			assert_true(is_up());
			assert_int_equal(rudp_session_security(g->ends[CLIENT].s),
					 MAX_OF(server, client));
			assert_int_equal(rudp_session_paths(g->ends[CLIENT].s, paths, 8), 2);
			assert_true(paths[0].up && paths[1].up);
			call();
			pass(5 * NSEC_PER_MSEC);
			assert_int_equal(g->ends[CLIENT].answers, 1);
			assert_int_equal(rudp_rx_drops(g->ends[CLIENT].r), 0);
			assert_int_equal(rudp_rx_drops(g->ends[SERVER].r), 0);
			again();
		}
	}
}

/* Nobody gets in, and the client's operator learns why. */
static void expect_refused(const char *word)
{
	begin();
	pass(2 * NSEC_PER_SEC);
	assert_false(is_up());
	assert_int_equal(sessions(SERVER), 0);
	assert_int_equal(g->ends[SERVER].accepts, 0);
	assert_in_range(g->ends[CLIENT].events[RUDP_SESSION_REFUSED], 1, 5);
	assert_int_equal(g->ends[CLIENT].code, -EKEYREJECTED);
	assert_string_equal(g->ends[CLIENT].word, word);
}

static void test_wrong_key(void **state)
{
	key_add(SERVER, 0);
	key_add(CLIENT, 1);
	expect_refused("key-mismatch");
}

static void test_key_required(void **state)
{
	key_add(SERVER, 0);
	expect_refused("key-required");
}

static void test_no_key_here(void **state)
{
	key_add(CLIENT, 0);
	expect_refused("no-key-here");
}

/* Old on all, new beside it on all, new first on all, old taken away: at each step, whatever the
 * order in which hosts take it, everybody gets in. */
static void test_rotation(void **state)
{
	static const int steps[][2] = {{0, -1}, {0, 1}, {1, 0}, {1, -1}};

	for (unsigned i = 0; i < ARRAY_SIZE(steps); i++) {
		for (unsigned j = i ? i - 1 : 0; j < ARRAY_SIZE(steps) && j <= i + 1; j++) {
			for (unsigned k = 0; k < 2; k++) {
				if (steps[i][k] >= 0)
					key_add(SERVER, (unsigned)steps[i][k]);
				if (steps[j][k] >= 0)
					key_add(CLIENT, (unsigned)steps[j][k]);
			}
			begin();
			pass(50 * NSEC_PER_MSEC);
			assert_true(is_up());
			g->cfg[SERVER].n_keys = g->cfg[CLIENT].n_keys = 0;
			again();
		}
	}
}

/* Who knows the key and is not wanted is told so by somebody who knows it too. */
static void test_application_refuses(void **state)
{
	key_add(SERVER, 0);
	key_add(CLIENT, 0);
	end_start(SERVER);
	end_start(CLIENT);
	connect_with("no");
	pass(NSEC_PER_SEC);
	assert_int_equal(g->ends[CLIENT].code, -EACCES);
	assert_string_equal(g->ends[CLIENT].word, "not-you");
	assert_int_equal(sessions(SERVER), 0);
}

/* ------------------------------------------------------------------ the middle */

static bool tamper(struct rig *rig, struct hop *h)
{
	if (rig->n_seen != rig->target || rig->byte / 8 >= h->len)
		return false;
	h->data[rig->byte / 8] ^= (uint8_t)(1U << rig->byte % 8);
	rig->hit = true;
	return false;
}

/*
 * One bit of each byte of each of the first packets, handshake, JOINs, request and response: it is
 * as if the packet had been lost. Calls are answered once and right, no session ends.
 */
static void tampering(enum rudp_security security)
{
	unsigned target = 0, byte = 0, worlds = 0;

	g->cfg[SERVER].security = g->cfg[CLIENT].security = security;
	key_add(SERVER, 0);
	key_add(CLIENT, 0);
	while (target < 14) {
		g->middle = tamper;
		g->target = target;
		g->byte = byte * 8 + (byte + target) % 8;
		begin();
		call();
		pass(NSEC_PER_SEC);
		assert_true(is_up());
		assert_int_equal(g->ends[CLIENT].answers, 1);
		assert_int_equal(g->ends[SERVER].requests, 1);
		assert_int_equal(sessions(SERVER), 1);
		assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_RESTARTED], 0);
		assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_LOST], 0);
		byte = g->hit ? byte + 1 : 0;
		target += g->hit ? 0 : 1;
		worlds++;
		again();
	}
	assert_true(worlds > 500);
}

static void test_tampering_auth(void **state)
{
	tampering(RUDP_AUTH);
}

static void test_tampering_encrypt(void **state)
{
	tampering(RUDP_ENCRYPT);
}

static bool keep(struct rig *rig, struct hop *h)
{
	if (rig->n_kept < ARRAY_SIZE(rig->kept))
		rig->kept[rig->n_kept++] = *h;
	return false;
}

/* Whatever was heard is said again: while the session is there, when it is gone, and to a server in
 * its next life. */
static void test_replay(void **state)
{
	unsigned requests;

	key_add(SERVER, 0);
	key_add(CLIENT, 0);
	g->middle = keep;
	begin();
	pass(20 * NSEC_PER_MSEC);
	for (unsigned i = 0; i < 5; i++) {
		call();
		pass(2 * NSEC_PER_MSEC);
	}
	g->middle = NULL;
	requests = g->ends[SERVER].requests;
	assert_int_equal(requests, 5);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < g->n_kept; i++)
			give(&g->kept[i]);
		if (round == 0) {
			pass(10 * NSEC_PER_MSEC);
			assert_true(is_up());
			rudp_session_close(g->ends[CLIENT].s, g->now);
			g->ends[CLIENT].s = NULL;
		} else if (round == 1) {
			rudp_free(g->ends[SERVER].r);
			end_start(SERVER);
		}
		pass(10 * NSEC_PER_MSEC);
		if (round > 0)
			assert_int_equal(sessions(SERVER), 0);
		assert_int_equal(g->ends[SERVER].requests, requests);
		assert_int_equal(g->ends[SERVER].accepts, 1);
	}
}

/* In clear on the wire: neither who the client is nor who the server is, in any packet. */
static void test_identity_hidden(void **state)
{
	uint8_t want[2][8];
	bool seen = false;

	wire_put64(want[0], SERVER_IDENTITY);
	wire_put64(want[1], CLIENT_IDENTITY);
	key_add(SERVER, 0);
	key_add(CLIENT, 0);
	g->middle = keep;
	begin();
	pass(20 * NSEC_PER_MSEC);
	assert_true(is_up() && g->n_kept > 5);
	for (unsigned i = 0; i < g->n_kept; i++)
		for (unsigned k = 0; k < 2; k++)
			seen |= memmem(g->kept[i].data, g->kept[i].len, want[k], 8) != NULL;
	assert_false(seen);
}

/* ------------------------------------------------------------------ RESET */

static void reset_inject(unsigned to, const uint8_t *tokens, unsigned n)
{
	struct rudp_session *s = rudp_session_next(g->ends[to].r, NULL);
	struct wire_common c = {.type = WIRE_RESET, .session = s->peer_number};
	struct hop h = {.to = to, .src = addr_of(!to, 0)};

	h.len = wire_put_common(h.data, &c);
	memcpy(h.data + h.len, tokens, (size_t)n * WIRE_TOKEN_BYTES);
	h.len += (size_t)n * WIRE_TOKEN_BYTES;
	assert_int_equal(give(&h), -EBADMSG);
	for (size_t len = 0; len < 3 && h.len > len; len++, h.len--)
		give(&h);
}

/* Who sees the packets knows the numbers, but not the tokens. */
static void test_reset_without_token(void **state)
{
	uint8_t tokens[3 * WIRE_TOKEN_BYTES] = {0};

	key_add(SERVER, 0);
	key_add(CLIENT, 0);
	begin();
	pass(20 * NSEC_PER_MSEC);
	for (unsigned to = 0; to < 2; to++)
		for (unsigned n = 0; n <= 3; n++)
			reset_inject(to, tokens, n);
	/* Not the other end's token either. */
	memcpy(tokens, rudp_session_next(g->ends[SERVER].r, NULL)->peer_token, WIRE_TOKEN_BYTES);
	reset_inject(CLIENT, tokens, 1);
	pass(20 * NSEC_PER_MSEC);
	assert_true(is_up());
	assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_UP], 1);
	call();
	pass(5 * NSEC_PER_MSEC);
	assert_int_equal(g->ends[CLIENT].answers, 1);
}

/* A server that lost its memory still proves that it is the one, also with a new key before the old
 * one; and the client comes back at once. */
static void test_reset_after_restart(void **state)
{
	key_add(SERVER, 0);
	key_add(CLIENT, 0);
	begin();
	pass(20 * NSEC_PER_MSEC);
	assert_true(is_up());
	rudp_free(g->ends[SERVER].r);
	g->cfg[SERVER].n_keys = 0;
	key_add(SERVER, 1);
	key_add(SERVER, 0);
	end_start(SERVER);
	call();
	pass(100 * NSEC_PER_MSEC);
	assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_RESTARTED], 1);
	assert_true(is_up());
}

/* ------------------------------------------------------------------ strangers */

static bool spoof(struct rig *rig, struct hop *h)
{
	if (h->to != SERVER || h->port != 1)
		return false;
	h->src = victim; /* the client's second leg says that it is somebody else */
	rig->spoofed_in += h->len;
	return false;
}

/* A client that is let in has its answers sent to somebody who did not ask: never more than three
 * times what came from there. */
static void test_spoofed_path(void **state)
{
	for (unsigned security = RUDP_SECURITY_NONE; security <= RUDP_AUTH; security++) {
		if (security) {
			key_add(SERVER, 0);
			key_add(CLIENT, 0);
		}
		reply_len = REPLY_MAX;
		memset(reply, 0xa5, sizeof(reply));
		g->middle = spoof;
		begin();
		for (unsigned i = 0; i < 4; i++)
			call();
		pass(3 * NSEC_PER_SEC);
		assert_int_equal(g->ends[CLIENT].answers, 4);
		assert_true(g->spoofed_in > 0);
		assert_true(g->spoofed_out <= 3 * g->spoofed_in);
		again();
	}
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

/* Hellos with and without cookies, from anywhere: no session, no more bytes than came, and the next
 * client gets in. */
static void test_flood(void **state)
{
	uint32_t seed = 3;
	uint64_t in = 0;

	key_add(SERVER, 0);
	key_add(CLIENT, 0);
	end_start(SERVER);
	end_start(CLIENT);
	for (unsigned i = 0; i < 10000; i++) {
		struct wire_common c = {.type = WIRE_HELLO, .pn = i};
		struct wire_hello h = {.client_number = 1 + draw(&seed, 1U << 30),
				       .cookie = draw(&seed, 2) ? draw(&seed, 1U << 30) : 0,
				       .cipher = RUDP_AESGCM,
				       .body_len = (uint16_t)draw(&seed, 400)};
		struct hop hop = {.to = SERVER, .port = 1, .src = victim};

		hop.len = wire_put_hello(hop.data, &c, &h) + h.body_len;
		in += hop.len;
		give(&hop);
		if (i % 16 == 0)
			turn();
	}
	assert_int_equal(sessions(SERVER), 0);
	assert_true(g->spoofed_out > 0 && g->spoofed_out <= in);
	connect_with("hello");
	pass(50 * NSEC_PER_MSEC);
	assert_true(is_up());
}

/* One who may receive where it says it is, and has no key: it is told so, and holds no place. */
static void test_flood_with_cookies(void **state)
{
	key_add(SERVER, 0);
	key_add(CLIENT, 1);
	end_start(SERVER);
	end_start(CLIENT);
	for (unsigned i = 0; i < 8; i++) {
		connect_with("hello");
		pass(NSEC_PER_SEC);
	}
	assert_int_equal(sessions(SERVER), 0);
	assert_int_equal(g->ends[SERVER].accepts, 0);
}

static bool claim(struct rig *rig, struct hop *h)
{
	struct wire_common c;
	struct wire_accept a = {.server_number = 5, .identity = 5, .mtu = 1500, .slots = 4};
	struct wire_answer answer = {.body_len = WIRE_ACCEPT_BODY_BYTES};
	struct hop forged = {.to = CLIENT, .port = h->port, .src = addr_of(SERVER, h->port)};

	if (h->to != SERVER || wire_get_common(h->data, h->len, &c) || c.type != WIRE_HELLO ||
	    h->len == WIRE_HELLO_BYTES)
		return false;
	/* The whole HELLO is known: path, stamp, number. Only the key is not. */
	c.type = WIRE_ACCEPT;
	c.flags = 0;
	c.session = wire_get64(h->data + 16);
	forged.len = wire_put_answer(forged.data, &c, &answer);
	forged.len += wire_put_accept_body(forged.data + forged.len, &a);
	assert_int_equal(give(&forged), -EBADMSG);
	/* The same, called sealed. */
	forged.data[16] = h->data[32];
	assert_int_equal(give(&forged), -EBADMSG);
	/* A no that nobody has proven. */
	c.type = WIRE_REFUSE;
	answer.body_len = WIRE_REFUSE_BODY_BYTES;
	forged.len = wire_put_answer(forged.data, &c, &answer);
	forged.len += wire_put_refuse_body(forged.data + forged.len, -ENOENT, "");
	assert_int_equal(give(&forged), -EBADMSG);
	rig->hit = true;
	return false;
}

static void test_hostile_accept(void **state)
{
	key_add(SERVER, 0);
	key_add(CLIENT, 0);
	g->middle = claim;
	begin();
	pass(50 * NSEC_PER_MSEC);
	assert_true(g->hit);
	assert_true(is_up());
	assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_REFUSED], 0);
	assert_int_equal(rudp_session_peer(g->ends[CLIENT].s, NULL), SERVER_IDENTITY);
}

static bool newer(struct rig *rig, struct hop *h)
{
	if (h->to == SERVER && (h->data[1] & 0x0f) == WIRE_HELLO)
		h->data[1] = 5 << 4 | WIRE_HELLO; /* from the future */
	else if (h->to == CLIENT && (h->data[1] & 0x0f) == WIRE_VERSIONS)
		h->data[16] = 5; /* to the past */
	return false;
}

static void test_versions(void **state)
{
	g->middle = newer;
	begin();
	pass(NSEC_PER_SEC);
	assert_int_equal(sessions(SERVER), 0);
	assert_int_equal(g->ends[CLIENT].code, -EPROTONOSUPPORT);
	assert_string_equal(g->ends[CLIENT].word, "wire-version-5");
	/* And when both understand each other after all: */
	g->middle = NULL;
	pass(2 * NSEC_PER_SEC);
	assert_true(is_up());
}

int main(void)
{
#define RIG_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_modes),
		RIG_TEST(test_wrong_key),
		RIG_TEST(test_key_required),
		RIG_TEST(test_no_key_here),
		RIG_TEST(test_rotation),
		RIG_TEST(test_application_refuses),
		RIG_TEST(test_tampering_auth),
		RIG_TEST(test_tampering_encrypt),
		RIG_TEST(test_replay),
		RIG_TEST(test_identity_hidden),
		RIG_TEST(test_reset_without_token),
		RIG_TEST(test_reset_after_restart),
		RIG_TEST(test_spoofed_path),
		RIG_TEST(test_flood),
		RIG_TEST(test_flood_with_cookies),
		RIG_TEST(test_hostile_accept),
		RIG_TEST(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
