/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attacks by outsiders and eavesdroppers: tampering with each byte of each packet, replay, RESET,
 * spoofed addresses, floods, other versions; and refusals by the application.
 */
#include "tests/lib/rudp/auth_rig.h"

/* A client with the key that the application refuses gets an authenticated reason. */
static void the_application_refuses_a_client_with_a_reason(void **state)
{
	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 0);
	auth_end_start(SERVER);
	auth_end_start(CLIENT);
	auth_connect("no");
	auth_pass(NSEC_PER_SEC);
	assert_int_equal(auth->ends[CLIENT].code, -EACCES);
	assert_string_equal(auth->ends[CLIENT].word, "not-you");
	assert_int_equal(auth_sessions(SERVER), 0);
}

/* ------------------------------------------------------------------ attacker in the middle */

static bool tamper(struct rig *rig, struct hop *h)
{
	if (rig->n_seen != rig->target || rig->byte / 8 >= h->len)
		return false;
	h->data[rig->byte / 8] ^= (uint8_t)(1U << rig->byte % 8);
	rig->hit = true;
	return false;
}

/*
 * Flips one bit of each byte of each of the first packets, handshake, JOINs, request and response:
 * the packet counts as lost. Calls are answered once and correctly, and no session ends.
 */
static void tampering(enum rudp_security security)
{
	unsigned target = 0, byte = 0, worlds = 0;

	auth->cfg[SERVER].security = auth->cfg[CLIENT].security = security;
	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 0);
	while (target < 14) {
		auth->middle = tamper;
		auth->target = target;
		auth->byte = byte * 8 + (byte + target) % 8;
		auth_begin();
		auth_call();
		auth_pass(NSEC_PER_SEC);
		assert_true(auth_is_up());
		assert_int_equal(auth->ends[CLIENT].answers, 1);
		assert_int_equal(auth->ends[SERVER].requests, 1);
		assert_int_equal(auth_sessions(SERVER), 1);
		assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_RESTARTED], 0);
		assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_LOST], 0);
		byte = auth->hit ? byte + 1 : 0;
		target += auth->hit ? 0 : 1;
		worlds++;
		auth_restart();
	}
	assert_true(worlds > 500);
}

static void altered_authenticated_packets_count_as_lost(void **state)
{
	tampering(RUDP_AUTH);
}

static void altered_encrypted_packets_count_as_lost(void **state)
{
	tampering(RUDP_ENCRYPT);
}

/* The response arriving at the client, or NULL. */
static const struct rx_msg *coming(void)
{
	const struct rudp_session *s = auth->ends[CLIENT].s;

	for (unsigned i = 0; i < s->n_fresh; i++)
		if (s->slots[i].rx.active)
			return &s->slots[i].rx;
	return NULL;
}

/* It has no effect on the partly received response, not even until the next packet. */
static void give_forged(const struct hop *h)
{
	static uint8_t before[REPLY_MAX];
	const struct rx_msg *m = coming();
	unsigned n_got = m ? m->n_got : 0;

	if (m)
		memcpy(before, m->buf, auth_reply_len);
	assert_int_equal(auth_deliver(h), -EBADMSG);
	assert_ptr_equal(m, coming());
	if (!m)
		return;
	assert_int_equal(m->n_got, n_got);
	assert_memory_equal(m->buf, before, auth_reply_len);
	auth->hit = true;
}

/* Forgeries around each packet of the response: with its number and with unused ones, at its
 * position and at the first packet's. */
static bool forge(struct rig *rig, struct hop *h)
{
	struct hop bad;

	if (h->to != CLIENT || (h->data[1] & 0x0f) != WIRE_DATA || h->len < 500)
		return false;
	for (unsigned i = 0; i < 16; i++) {
		bad = *h;
		if (i & 1)
			wire_put32(bad.data + WIRE_OFF_PN, wire_get32(bad.data + WIRE_OFF_PN) + 90);
		if (i & 2)
			wire_put16(bad.data + RUDP_SECURE_BYTES + WIRE_OFF_CHUNK_INDEX, 0);
		bad.data[i & 4 ? bad.len - 1 : 300] ^= 0xff;
		if (i == 8)
			auth_deliver(h);
		give_forged(&bad);
	}
	return true; /* received already */
}

static void forged_chunks_have_no_effect(void **state)
{
	for (enum rudp_security k = RUDP_AUTH; k <= RUDP_ENCRYPT; k++) {
		auth->cfg[SERVER].security = auth->cfg[CLIENT].security = k;
		auth->cfg[SERVER].n_keys = auth->cfg[CLIENT].n_keys = 0;
		auth_key_add(SERVER, 0);
		auth_key_add(CLIENT, 0);
		auth_reply_len = 100000;
		for (unsigned i = 0; i < auth_reply_len; i++)
			auth_reply[i] = (uint8_t)(i * 7 + i / 251);
		auth_begin();
		auth_pass(20 * NSEC_PER_MSEC);
		auth->middle = forge;
		auth_call();
		auth_pass(NSEC_PER_SEC);
		assert_int_equal(auth->ends[CLIENT].answers, 1);
		assert_true(auth->hit);
		auth_restart();
	}
}

static bool keep(struct rig *rig, struct hop *h)
{
	if (rig->n_kept < ARRAY_SIZE(rig->kept))
		rig->kept[rig->n_kept++] = *h;
	return false;
}

/* Replays every packet: to the running session, after its end, and to a restarted server. */
static void replayed_packets_have_no_effect(void **state)
{
	unsigned requests;

	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 0);
	auth->middle = keep;
	auth_begin();
	auth_pass(20 * NSEC_PER_MSEC);
	for (unsigned i = 0; i < 5; i++) {
		auth_call();
		auth_pass(2 * NSEC_PER_MSEC);
	}
	auth->middle = NULL;
	requests = auth->ends[SERVER].requests;
	assert_int_equal(requests, 5);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < auth->n_kept; i++)
			auth_deliver(&auth->kept[i]);
		if (round == 0) {
			auth_pass(10 * NSEC_PER_MSEC);
			assert_true(auth_is_up());
			rudp_session_close(auth->ends[CLIENT].s, auth->now);
			auth->ends[CLIENT].s = NULL;
		} else if (round == 1) {
			rudp_free(auth->ends[SERVER].r);
			auth_end_start(SERVER);
		}
		auth_pass(10 * NSEC_PER_MSEC);
		if (round > 0)
			assert_int_equal(auth_sessions(SERVER), 0);
		assert_int_equal(auth->ends[SERVER].requests, requests);
		assert_int_equal(auth->ends[SERVER].accepts, 1);
	}
}

/* No packet reveals the identity of client or server. */
static void identities_are_hidden_on_the_wire(void **state)
{
	uint8_t want[2][8];
	bool seen = false;

	wire_put64(want[0], SERVER_IDENTITY);
	wire_put64(want[1], CLIENT_IDENTITY);
	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 0);
	auth->middle = keep;
	auth_begin();
	auth_pass(20 * NSEC_PER_MSEC);
	assert_true(auth_is_up() && auth->n_kept > 5);
	for (unsigned i = 0; i < auth->n_kept; i++)
		for (unsigned k = 0; k < 2; k++)
			seen |= memmem(auth->kept[i].data, auth->kept[i].len, want[k], 8) != NULL;
	assert_false(seen);
}

/* ------------------------------------------------------------------ RESET */

static void reset_inject(unsigned to, const uint8_t *tokens, unsigned n)
{
	struct rudp_session *s = rudp_session_next(auth->ends[to].r, NULL);
	struct wire_common c = {.type = WIRE_RESET, .session = s->peer_number};
	struct hop h = {.to = to, .src = auth_addr(!to, 0)};

	h.len = wire_put_common(h.data, &c);
	memcpy(h.data + h.len, tokens, (size_t)n * WIRE_TOKEN_BYTES);
	h.len += (size_t)n * WIRE_TOKEN_BYTES;
	assert_int_equal(auth_deliver(&h), -EBADMSG);
	for (size_t len = 0; len < 3 && h.len > len; len++, h.len--)
		auth_deliver(&h);
}

/* An eavesdropper knows the numbers, but not the tokens. */
static void a_reset_without_token_has_no_effect(void **state)
{
	uint8_t tokens[3 * WIRE_TOKEN_BYTES] = {0};

	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 0);
	auth_begin();
	auth_pass(20 * NSEC_PER_MSEC);
	for (unsigned to = 0; to < 2; to++)
		for (unsigned n = 0; n <= 3; n++)
			reset_inject(to, tokens, n);
	/* The other end's token does not help either. */
	memcpy(tokens, rudp_session_next(auth->ends[SERVER].r, NULL)->peer_token, WIRE_TOKEN_BYTES);
	reset_inject(CLIENT, tokens, 1);
	auth_pass(20 * NSEC_PER_MSEC);
	assert_true(auth_is_up());
	assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_UP], 1);
	auth_call();
	auth_pass(5 * NSEC_PER_MSEC);
	assert_int_equal(auth->ends[CLIENT].answers, 1);
}

/* A server that lost its memory proves its identity by the token, also with a new key before the
 * old one; the client reconnects at once. */
static void a_restarted_server_resets_its_sessions(void **state)
{
	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 0);
	auth_begin();
	auth_pass(20 * NSEC_PER_MSEC);
	assert_true(auth_is_up());
	rudp_free(auth->ends[SERVER].r);
	auth->cfg[SERVER].n_keys = 0;
	auth_key_add(SERVER, 1);
	auth_key_add(SERVER, 0);
	auth_end_start(SERVER);
	auth_call();
	auth_pass(100 * NSEC_PER_MSEC);
	assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_RESTARTED], 1);
	assert_true(auth_is_up());
}

/* ------------------------------------------------------------------ outsiders */

static bool spoof(struct rig *rig, struct hop *h)
{
	if (h->to != SERVER || h->port != 1)
		return false;
	h->src = auth_victim; /* the client's second leg claims the victim's address */
	rig->spoofed_in += h->len;
	return false;
}

/* An accepted client redirects its responses to a victim: the victim never gets more than three
 * times what came from its address. */
static void a_spoofed_path_is_not_amplified(void **state)
{
	for (unsigned security = RUDP_SECURITY_NONE; security <= RUDP_AUTH; security++) {
		if (security) {
			auth_key_add(SERVER, 0);
			auth_key_add(CLIENT, 0);
		}
		auth_reply_len = REPLY_MAX;
		memset(auth_reply, 0xa5, sizeof(auth_reply));
		auth->middle = spoof;
		auth_begin();
		for (unsigned i = 0; i < 4; i++)
			auth_call();
		auth_pass(3 * NSEC_PER_SEC);
		assert_int_equal(auth->ends[CLIENT].answers, 4);
		assert_true(auth->spoofed_in > 0);
		assert_true(auth->spoofed_out <= 3 * auth->spoofed_in);
		auth_restart();
	}
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

/* HELLOs with and without cookies from many addresses: no session, no amplification, and the next
 * client connects. */
static void a_flood_of_hellos_makes_no_session(void **state)
{
	uint32_t seed = 3;
	uint64_t in = 0;

	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 0);
	auth_end_start(SERVER);
	auth_end_start(CLIENT);
	for (unsigned i = 0; i < 10000; i++) {
		struct wire_common c = {.type = WIRE_HELLO, .pn = i};
		struct wire_hello h = {.client_number = 1 + draw(&seed, 1U << 30),
				       .cookie = draw(&seed, 2) ? draw(&seed, 1U << 30) : 0,
				       .cipher = RUDP_AESGCM,
				       .body_len = (uint16_t)draw(&seed, 400)};
		struct hop hop = {.to = SERVER, .port = 1, .src = auth_victim};

		hop.len = wire_put_hello(hop.data, &c, &h) + h.body_len;
		in += hop.len;
		auth_deliver(&hop);
		if (i % 16 == 0)
			auth_turn();
	}
	assert_int_equal(auth_sessions(SERVER), 0);
	assert_true(auth->spoofed_out > 0 && auth->spoofed_out <= in);
	auth_connect("hello");
	auth_pass(50 * NSEC_PER_MSEC);
	assert_true(auth_is_up());
}

/* An outsider that receives at its address but has no key: it gets a refusal and occupies no
 * session. */
static void hosts_without_the_key_hold_no_session(void **state)
{
	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 1);
	auth_end_start(SERVER);
	auth_end_start(CLIENT);
	for (unsigned i = 0; i < 8; i++) {
		auth_connect("hello");
		auth_pass(NSEC_PER_SEC);
	}
	assert_int_equal(auth_sessions(SERVER), 0);
	assert_int_equal(auth->ends[SERVER].accepts, 0);
}

/* Tries that do not pause: each makes a handshake. Returns how many the application saw. */
static unsigned refused_tries(unsigned n, const struct datagram_addr *to)
{
	unsigned before = auth->ends[SERVER].accepts;

	for (unsigned i = 0; i < n; i++) {
		struct rudp_session **s = &auth->ends[CLIENT].s;

		assert_int_equal(
			rudp_connect(auth->ends[CLIENT].r, to, 1, "no", 2, NULL, auth->now, s), 0);
		for (unsigned k = 0; k < 8; k++)
			auth_turn();
		rudp_session_close(*s, auth->now);
	}
	return auth->ends[SERVER].accepts - before;
}

/* An address has a budget of handshakes; beyond it they are dropped before the key is checked. */
static void a_client_that_does_not_pause_is_ignored(void **state)
{
	const struct datagram_addr first = auth_addr(SERVER, 0), second = auth_addr(SERVER, 1);

	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 0);
	auth_end_start(SERVER);
	auth_end_start(CLIENT);
	assert_in_range(refused_tries(5000, &first), 250, 350); /* within a second */
	/* Another address has its own budget. */
	assert_int_equal(refused_tries(50, &second), 50);
	/* With its budget whole again, the first one is heard. */
	auth->now += 8 * NSEC_PER_SEC;
	auth_connect("hello");
	auth_pass(50 * NSEC_PER_MSEC);
	assert_true(auth_is_up());
}

static bool claim(struct rig *rig, struct hop *h)
{
	struct wire_common c;
	struct wire_accept a = {.server_number = 5, .identity = 5, .mtu = 1500, .slots = 4};
	struct wire_answer answer = {.body_len = WIRE_ACCEPT_BODY_BYTES};
	struct hop forged = {.to = CLIENT, .port = h->port, .src = auth_addr(SERVER, h->port)};

	if (h->to != SERVER || wire_get_common(h->data, h->len, &c) || c.type != WIRE_HELLO ||
	    h->len == WIRE_HELLO_BYTES)
		return false;
	/* All clear fields of HELLO are known: path, stamp, number. Only the key is not. */
	c.type = WIRE_ACCEPT;
	c.flags = 0;
	c.session = wire_get64(h->data + 16);
	forged.len = wire_put_answer(forged.data, &c, &answer);
	forged.len += wire_put_accept_body(forged.data + forged.len, &a);
	assert_int_equal(auth_deliver(&forged), -EBADMSG);
	/* The same, marked as sealed. */
	forged.data[16] = h->data[32];
	assert_int_equal(auth_deliver(&forged), -EBADMSG);
	/* An unauthenticated refusal. */
	c.type = WIRE_REFUSE;
	answer.body_len = WIRE_REFUSE_BODY_BYTES;
	forged.len = wire_put_answer(forged.data, &c, &answer);
	forged.len += wire_put_refuse_body(forged.data + forged.len, -ENOENT, "");
	assert_int_equal(auth_deliver(&forged), -EBADMSG);
	/* One with a code that needs no proof, and a word that does. */
	answer.body_len = WIRE_REFUSE_BODY_BYTES + sizeof("identity-invalid") - 1;
	forged.len = wire_put_answer(forged.data, &c, &answer);
	forged.len +=
		wire_put_refuse_body(forged.data + forged.len, -EKEYREJECTED, "identity-invalid");
	assert_int_equal(auth_deliver(&forged), -EBADMSG);
	rig->hit = true;
	return false;
}

static unsigned n_checked;

static int count_check(unsigned end, const struct rudp_proof *p, struct rudp_peer *ret)
{
	n_checked += end == CLIENT;
	return 0;
}

static void forged_answers_are_rejected(void **state)
{
	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 0);
	auth->middle = claim;
	auth->check = count_check;
	n_checked = 0;
	auth_begin();
	auth_pass(50 * NSEC_PER_MSEC);
	assert_true(auth->hit);
	assert_int_equal(n_checked, 1); /* no forged ACCEPT reaches the application */
	assert_true(auth_is_up());
	assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_REFUSED], 0);
	assert_int_equal(rudp_session_peer(auth->ends[CLIENT].s, NULL), SERVER_IDENTITY);
}

static bool newer(struct rig *rig, struct hop *h)
{
	if (h->to == SERVER && (h->data[1] & 0x0f) == WIRE_HELLO)
		h->data[1] = 5 << 4 | WIRE_HELLO; /* a newer version */
	else if (h->to == CLIENT && (h->data[1] & 0x0f) == WIRE_VERSIONS)
		h->data[16] = 5; /* an older version */
	return false;
}

static void other_versions_are_reported(void **state)
{
	auth->middle = newer;
	auth_begin();
	auth_pass(NSEC_PER_SEC);
	assert_int_equal(auth_sessions(SERVER), 0);
	assert_int_equal(auth->ends[CLIENT].code, -EPROTONOSUPPORT);
	assert_string_equal(auth->ends[CLIENT].word, "wire-version-5");
	/* With equal versions it connects: */
	auth->middle = NULL;
	auth_pass(2 * NSEC_PER_SEC);
	assert_true(auth_is_up());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AUTH_TEST(the_application_refuses_a_client_with_a_reason),
		AUTH_TEST(altered_authenticated_packets_count_as_lost),
		AUTH_TEST(altered_encrypted_packets_count_as_lost),
		AUTH_TEST(forged_chunks_have_no_effect),
		AUTH_TEST(replayed_packets_have_no_effect),
		AUTH_TEST(identities_are_hidden_on_the_wire),
		AUTH_TEST(a_reset_without_token_has_no_effect),
		AUTH_TEST(a_restarted_server_resets_its_sessions),
		AUTH_TEST(a_spoofed_path_is_not_amplified),
		AUTH_TEST(a_flood_of_hellos_makes_no_session),
		AUTH_TEST(hosts_without_the_key_hold_no_session),
		AUTH_TEST(a_client_that_does_not_pause_is_ignored),
		AUTH_TEST(forged_answers_are_rejected),
		AUTH_TEST(other_versions_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
