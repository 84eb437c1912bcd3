/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Identities of hosts in the handshake: both sides prove a key and send a certificate; hosts with
 * and without an identity; another host's certificate; revoked and expired ones; replay, floods and
 * changed packets.
 */
#include "netcfg/base/files/identity.h"
#include "tests/lib/rudp/auth_rig.h"

#define NOW_S 1000000U

static struct identity_pair signer, hosts[2];
static uint8_t certificates[2][IDENTITY_CERTIFICATE_BYTES];
static bool required[2]; /* by end: peers without an identity are refused */
static struct identity_revocation revoked[2][4];
static unsigned n_revoked[2];
static unsigned n_proofs;
static bool any_name; /* the client may have any name */
static const char *const names[2] = {"host-s", "host-c"};

static void card_make(unsigned end, const char *name, uint64_t expires_s)
{
	uint8_t permission[IDENTITY_PERMISSION_BYTES], once[IDENTITY_KEY_BYTES];

	assert_int_equal(identity_permit(&signer, name, 500, expires_s, permission, once), 0);
	assert_int_equal(identity_new_host(&hosts[end]), 0);
	assert_int_equal(identity_certify(permission, once, hosts[end].public, certificates[end]),
			 0);
}

/* What a worker does: checks the certificate, and that the key and the name are the right ones. */
static int check(unsigned end, const struct rudp_proof *p, struct rudp_peer *ret)
{
	struct identity_card card;
	int r;

	if (!p) {
		snprintf(ret->host, sizeof(ret->host), "%s", names[!end]); /* as it claims */
		snprintf(ret->word, sizeof(ret->word), "identity-required");
		return required[end] ? -ENOKEY : 0;
	}
	n_proofs++;
	r = identity_check(p->certificate, p->certificate_len, signer.public, NOW_S, &card);
	if (r == 0 && memcmp(card.key, p->key, sizeof(card.key)) != 0)
		r = -EBADMSG;
	if (r == 0 && strcmp(card.host, names[!end]) != 0 && !any_name)
		r = -EBADMSG;
	if (r == 0 && identity_is_revoked(revoked[end], n_revoked[end], card.host, card.epoch))
		r = -EKEYREVOKED;
	if (r < 0) {
		snprintf(ret->word, sizeof(ret->word), "identity-invalid");
		return r == -EBADMSG ? -EKEYREJECTED : r;
	}
	snprintf(ret->host, sizeof(ret->host), "%s", card.host);
	ret->epoch = card.epoch;
	ret->proven = true;
	return 0;
}

static void host_key_set(unsigned end)
{
	struct rudp_host_key *k = &auth->cfg[end].host_key;

	k->used = true;
	memcpy(k->secret, hosts[end].secret, sizeof(k->secret));
	memcpy(k->public, hosts[end].public, sizeof(k->public));
	memcpy(k->certificate, certificates[end], sizeof(certificates[end]));
	k->certificate_len = sizeof(certificates[end]);
}

static int setup(void **state)
{
	auth_setup(state);
	auth->check = check;
	n_proofs = n_revoked[0] = n_revoked[1] = 0;
	required[0] = required[1] = any_name = false;
	assert_int_equal(identity_new_signer(&signer), 0);
	for (unsigned i = 0; i < 2; i++) {
		auth_key_add(i, 0);
		card_make(i, names[i], 0);
		host_key_set(i);
	}
	return 0;
}

static void works(void)
{
	auth_call();
	auth_pass(20 * NSEC_PER_MSEC);
	assert_true(auth_is_up());
	assert_int_equal(auth->ends[CLIENT].answers, 1);
}

static void refused(int code)
{
	auth_begin();
	auth_pass(2 * NSEC_PER_SEC);
	assert_false(auth_is_up());
	assert_int_equal(auth->ends[SERVER].requests, 0);
	assert_in_range(auth->ends[CLIENT].events[RUDP_SESSION_REFUSED], 1, 8);
	assert_int_equal(auth->ends[CLIENT].code, code);
}

static void both_ends_prove_their_identities(void **state)
{
	for (unsigned security = RUDP_AUTH; security <= RUDP_ENCRYPT; security++) {
		auth->cfg[CLIENT].security = security;
		auth_begin();
		works();
		assert_int_equal(n_proofs, 2);
		assert_string_equal(rudp_session_host(auth->ends[CLIENT].s), names[SERVER]);
		assert_string_equal(
			rudp_session_host(rudp_session_next(auth->ends[SERVER].r, NULL)),
			names[CLIENT]);
		assert_int_equal(rudp_session_security(auth->ends[CLIENT].s), security);
		assert_int_equal(rudp_rx_drops(auth->ends[CLIENT].r), 0);
		assert_int_equal(rudp_rx_drops(auth->ends[SERVER].r), 0);
		auth_restart();
		auth->check = check;
		n_proofs = 0;
	}
}

static void a_host_without_identity_is_accepted_by_one_that_does_not_require_it(void **state)
{
	for (unsigned end = 0; end < 2; end++) {
		host_key_set(!end);
		auth->cfg[end].host_key.used = false;
		auth_begin();
		works();
		assert_int_equal(n_proofs, 0);
		auth_restart();
		auth->check = check;
	}
}

static void a_host_without_identity_is_refused_by_one_that_requires_it(void **state)
{
	for (unsigned end = 0; end < 2; end++) {
		host_key_set(!end);
		auth->cfg[end].host_key.used = false;
		required[!end] = true;
		required[end] = false;
		refused(-ENOKEY);
		assert_string_equal(auth->ends[CLIENT].word, "identity-required");
		auth_restart();
		auth->check = check;
	}
}

/* An attacker in the middle removes the server's key from CHALLENGE. */
static bool strip(struct rig *rig, struct hop *h)
{
	if ((h->data[1] & 0x0f) == WIRE_CHALLENGE && h->len == WIRE_CHALLENGE_KEY_BYTES) {
		h->len = WIRE_CHALLENGE_BYTES;
		rig->hit = true;
	}
	return false;
}

static void a_handshake_without_proof_cannot_be_forced(void **state)
{
	required[CLIENT] = true;
	auth->middle = strip;
	refused(-ENOKEY);
	assert_true(auth->hit);
}

/* An attacker in the middle replaces the server's key in CHALLENGE by its own. */
static bool replace(struct rig *rig, struct hop *h)
{
	if ((h->data[1] & 0x0f) == WIRE_CHALLENGE && h->len == WIRE_CHALLENGE_KEY_BYTES) {
		memcpy(h->data + WIRE_CHALLENGE_BYTES, signer.public, WIRE_KEY_BYTES);
		rig->hit = true;
	}
	return false;
}

static void a_replaced_key_of_the_server_ends_the_handshake(void **state)
{
	auth->middle = replace;
	auth_begin();
	auth_pass(NSEC_PER_SEC);
	assert_true(auth->hit);
	assert_false(auth_is_up());
	assert_int_equal(auth->ends[SERVER].accepts, 0);
	auth->middle = NULL; /* and the client recovers when the attacker has gone */
	auth_pass(5 * NSEC_PER_SEC);
	assert_true(auth_is_up());
}

/* A holder of the cluster's key has another host's certificate, which anyone may know, and a key of
 * its own */
static void a_certificate_for_another_key_is_refused(void **state)
{
	for (unsigned end = 0; end < 2; end++) {
		struct identity_pair own;

		host_key_set(!end);
		host_key_set(end);
		assert_int_equal(identity_new_host(&own), 0);
		memcpy(auth->cfg[end].host_key.secret, own.secret, sizeof(own.secret));
		memcpy(auth->cfg[end].host_key.public, own.public, sizeof(own.public));
		refused(-EKEYREJECTED);
		auth_restart();
		auth->check = check;
	}
}

/* The certificate's public key with another private key: no message can be made. */
static void a_public_key_without_its_private_key_is_refused(void **state)
{
	auth->cfg[CLIENT].host_key.secret[3] ^= 1;
	refused(-EKEYREJECTED);
	assert_string_equal(auth->ends[CLIENT].word, "key-mismatch");
	assert_int_equal(auth->ends[SERVER].accepts, 0);
	assert_int_equal(n_proofs, 0);
}

static void another_name_is_refused(void **state)
{
	for (unsigned end = 0; end < 2; end++) {
		card_make(!end, names[!end], 0);
		host_key_set(!end);
		card_make(end, "host-x", 0);
		host_key_set(end);
		refused(-EKEYREJECTED);
		auth_restart();
		auth->check = check;
	}
}

static void an_expired_certificate_is_refused(void **state)
{
	for (unsigned end = 0; end < 2; end++) {
		card_make(!end, names[!end], NOW_S + 1);
		host_key_set(!end);
		card_make(end, names[end], NOW_S);
		host_key_set(end);
		refused(-EKEYEXPIRED);
		auth_restart();
		auth->check = check;
	}
}

static void a_revoked_host_is_refused(void **state)
{
	for (unsigned end = 0; end < 2; end++) {
		snprintf(revoked[!end][0].host, PLENUM_NAME_MAX, "%s", names[end]);
		revoked[!end][0].epoch = 500;
		n_revoked[!end] = 1;
		n_revoked[end] = 0;
		refused(-EKEYREVOKED);
		auth_restart();
		auth->check = check;
	}
}

/* A revocation of an earlier epoch, or of another host, ends nothing. */
static void a_revocation_ends_the_sessions_of_that_host_alone(void **state)
{
	auth_begin();
	works();
	assert_int_equal(rudp_expel(auth->ends[SERVER].r, names[CLIENT], 499, auth->now), 0);
	assert_int_equal(rudp_expel(auth->ends[SERVER].r, "host-x", 500, auth->now), 0);
	auth_pass(100 * NSEC_PER_MSEC);
	assert_true(auth_is_up());
	snprintf(revoked[SERVER][0].host, PLENUM_NAME_MAX, "%s", names[CLIENT]);
	revoked[SERVER][0].epoch = 500;
	n_revoked[SERVER] = 1;
	assert_int_equal(rudp_expel(auth->ends[SERVER].r, names[CLIENT], 500, auth->now), 1);
	auth_pass(2 * NSEC_PER_SEC);
	assert_false(auth_is_up());
	assert_int_equal(auth_sessions(SERVER), 0);
	assert_int_equal(auth->ends[CLIENT].code, -EKEYREVOKED);
	assert_int_equal(auth->ends[SERVER].events[RUDP_SESSION_ENDED], 1);
}

/* While the cluster's key is changed, a server has two. */
static void a_server_with_two_keys_proves_its_identity_by_each(void **state)
{
	for (unsigned key = 0; key < 2; key++) {
		auth->cfg[SERVER].n_keys = auth->cfg[CLIENT].n_keys = 0;
		auth_key_add(SERVER, key);
		auth_key_add(SERVER, !key);
		auth_key_add(CLIENT, 0);
		auth_begin();
		works();
		assert_string_equal(
			rudp_session_host(rudp_session_next(auth->ends[SERVER].r, NULL)),
			names[CLIENT]);
		assert_int_equal(rudp_session_next(auth->ends[SERVER].r, NULL)->key, key);
		auth_restart();
		auth->check = check;
	}
}

/* A session without proof claims the revoked name. */
static void a_revocation_ends_the_sessions_that_claim_the_name(void **state)
{
	auth->cfg[CLIENT].host_key.used = false;
	auth_begin();
	works();
	assert_int_equal(rudp_expel(auth->ends[SERVER].r, "host-x", 500, auth->now), 0);
	assert_int_equal(rudp_expel(auth->ends[SERVER].r, "host-c.lan", 500, auth->now), 1);
	auth_pass(100 * NSEC_PER_MSEC);
	assert_int_equal(auth->ends[SERVER].events[RUDP_SESSION_ENDED], 1);
}

/* Starts a second client with the identity of the first, a later epoch and whatever the caller has
 * set in the configuration. The first client keeps its session, but its packets no longer pass. */
static struct rudp *intruder_start(void)
{
	struct end *c = &auth->ends[CLIENT];
	struct rudp *first = c->r;

	c->epoch += 1000;
	auth_end_start(CLIENT);
	auth_connect("hello");
	auth_pass(100 * NSEC_PER_MSEC);
	return first;
}

static void restarted_sessions(unsigned n)
{
	assert_int_equal(auth->ends[SERVER].events[RUDP_SESSION_RESTARTED], n);
}

static void only_a_proven_host_ends_its_earlier_sessions(void **state)
{
	for (unsigned kind = 0; kind < 4; kind++) {
		struct rudp *first;

		card_make(CLIENT, names[CLIENT], 0);
		host_key_set(CLIENT);
		auth_begin();
		works();
		restarted_sessions(0);
		/* 0: the same host; 1: without proof, accepted; 2: without proof, refused; 3:
		 * another host's valid certificate */
		auth->cfg[CLIENT].host_key.used = kind == 0 || kind == 3;
		required[SERVER] = kind == 2;
		any_name = true;
		if (kind == 3) {
			card_make(CLIENT, "host-x", 0);
			host_key_set(CLIENT);
		}
		first = intruder_start();
		restarted_sessions(kind == 0);
		assert_int_equal(auth_sessions(SERVER), kind == 1 || kind == 3 ? 2 : 1);
		rudp_free(first);
		auth_restart();
		auth->check = check;
		required[SERVER] = any_name = false;
	}
}

/* A host gets its identity while a session of it, without proof, is up. */
static void a_host_that_proves_its_name_ends_its_sessions_without_proof(void **state)
{
	/* 0: later start, the same host; 1: earlier start; 2: another host's certificate */
	for (unsigned kind = 0; kind < 3; kind++) {
		struct rudp *first;

		auth->cfg[CLIENT].host_key.used = false;
		auth->ends[CLIENT].epoch = 5000;
		auth_begin();
		works();
		assert_int_equal(n_proofs, 0);
		any_name = true;
		card_make(CLIENT, kind == 2 ? "host-x" : names[CLIENT], 0);
		host_key_set(CLIENT);
		auth->ends[CLIENT].epoch = kind == 1 ? 1 : 5000;
		first = intruder_start();
		assert_true(auth_is_up());
		restarted_sessions(kind == 0);
		assert_int_equal(auth_sessions(SERVER), kind == 0 ? 1 : 2);
		rudp_free(first);
		auth_restart();
		auth->check = check;
		any_name = false;
		n_proofs = 0;
	}
}

/* Another host has the victim's identity number and a higher epoch. */
static void the_epoch_of_another_host_keeps_no_host_out(void **state)
{
	struct rudp *first;

	card_make(CLIENT, "host-x", 0);
	host_key_set(CLIENT);
	any_name = true;
	auth->ends[CLIENT].epoch = 5000;
	auth_begin();
	works();
	card_make(CLIENT, names[CLIENT], 0);
	host_key_set(CLIENT);
	auth->ends[CLIENT].epoch = 10;
	first = auth->ends[CLIENT].r;
	auth_end_start(CLIENT);
	auth_connect("hello");
	auth_pass(100 * NSEC_PER_MSEC);
	assert_true(auth_is_up());
	restarted_sessions(0);
	assert_int_equal(auth_sessions(SERVER), 2);
	rudp_free(first);
}

static bool keep(struct rig *rig, struct hop *h)
{
	if (h->to == SERVER && rig->n_kept < ARRAY_SIZE(rig->kept))
		rig->kept[rig->n_kept++] = *h;
	return false;
}

static void a_replayed_handshake_has_no_effect(void **state)
{
	auth->middle = keep;
	auth_begin();
	works();
	auth->middle = NULL;
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < auth->n_kept; i++)
			auth_deliver(&auth->kept[i]);
		auth_pass(10 * NSEC_PER_MSEC);
		assert_int_equal(auth->ends[SERVER].accepts, 1);
		assert_int_equal(auth->ends[SERVER].requests, 1);
		if (round == 0) {
			rudp_session_close(auth->ends[CLIENT].s, auth->now);
			auth->ends[CLIENT].s = NULL;
		} else if (round == 1) { /* the cookies of another incarnation */
			rudp_free(auth->ends[SERVER].r);
			auth_end_start(SERVER);
		}
		auth_pass(10 * NSEC_PER_MSEC);
	}
}

static bool change(struct rig *rig, struct hop *h)
{
	if (rig->n_seen != rig->target || rig->byte >= h->len)
		return false;
	h->data[rig->byte] ^= (uint8_t)(1U << rig->byte % 8);
	rig->hit = true;
	return false;
}

static void changed_packets_of_the_handshake_count_as_lost(void **state)
{
	unsigned target = 0, byte = 0;

	while (target < 4) {
		auth->middle = change;
		auth->target = target;
		auth->byte = byte;
		auth_begin();
		auth_pass(2 * NSEC_PER_SEC);
		assert_true(auth_is_up());
		assert_string_equal(rudp_session_host(auth->ends[CLIENT].s), names[SERVER]);
		assert_int_equal(auth_sessions(SERVER), 1);
		byte = auth->hit ? byte + 7 : 0;
		target += auth->hit ? 0 : 1;
		auth_restart();
		auth->check = check;
	}
}

static bool measure(struct rig *rig, struct hop *h)
{
	if (rudp_addr_equal(&h->src, &auth_victim))
		rig->spoofed_in += h->len;
	return false;
}

/* HELLOs from an address that is not the sender's: the server checks no key, and sends no more
 * bytes than it gets. */
static void spoofed_requests_for_the_key_are_not_amplified(void **state)
{
	struct wire_common c = {.type = WIRE_HELLO};
	struct wire_hello h = {.client_number = 7, .identity = true};
	struct hop hop = {.to = SERVER, .port = 1, .src = auth_victim};

	auth->middle = measure;
	auth_end_start(SERVER);
	auth_end_start(CLIENT);
	for (unsigned len = 0; len <= 600; len += 4) {
		h.body_len = (uint16_t)len;
		memset(hop.data, 0, sizeof(hop.data));
		hop.len = wire_put_hello(hop.data, &c, &h) + len;
		auth->spoofed_in = hop.len;
		auth->spoofed_out = 0;
		auth_deliver(&hop);
		rudp_poll(auth->ends[SERVER].r, auth->now);
		assert_true(auth->spoofed_out > 0 && auth->spoofed_out <= auth->spoofed_in);
	}
	assert_int_equal(n_proofs, 0);
	assert_int_equal(auth->ends[SERVER].accepts, 0);
	auth_connect("hello");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, auth_teardown)
		T(both_ends_prove_their_identities),
		T(a_host_without_identity_is_accepted_by_one_that_does_not_require_it),
		T(a_host_without_identity_is_refused_by_one_that_requires_it),
		T(a_handshake_without_proof_cannot_be_forced),
		T(a_replaced_key_of_the_server_ends_the_handshake),
		T(a_certificate_for_another_key_is_refused),
		T(a_public_key_without_its_private_key_is_refused),
		T(another_name_is_refused),
		T(an_expired_certificate_is_refused),
		T(a_revoked_host_is_refused),
		T(a_revocation_ends_the_sessions_of_that_host_alone),
		T(a_server_with_two_keys_proves_its_identity_by_each),
		T(a_revocation_ends_the_sessions_that_claim_the_name),
		T(a_host_that_proves_its_name_ends_its_sessions_without_proof),
		T(only_a_proven_host_ends_its_earlier_sessions),
		T(the_epoch_of_another_host_keeps_no_host_out),
		T(a_replayed_handshake_has_no_effect),
		T(changed_packets_of_the_handshake_count_as_lost),
		T(spoofed_requests_for_the_key_are_not_amplified),
#undef T
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
