/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Server side of the handshake: makes cookies, answers HELLO by ACCEPT or REFUSE, and JOIN by
 * JOINED. Unauthenticated hosts can reach this code. Until a cookie has validated the client's
 * address, it stores nothing, computes nothing expensive, and sends no packet longer than the
 * packet that it answers. A session is added to the table only after the client's key was verified.
 */
#include "dataplane/rudp/session/rudp_session_internal.h"
#include <stdio.h>

#define COOKIE_PERIOD_NS (8 * NSEC_PER_SEC)
/*
 * Handshakes cost this worker time, so each address has a budget for them. When the budget is used
 * up, a HELLO is dropped before its key is checked, and the client repeats it later. The budget is
 * large enough for a host with a thousand refused mounts, because these pause between attempts
 * (rudp_hello.c), and for a host whose thousand mounts connect at once. Addresses with the same
 * hash share a budget.
 */
#define BUDGETS 1024U
#define BUDGET_NS (4 * NSEC_PER_SEC) /* the whole budget, which may be spent at once */
#define REFUSED_COST_NS (NSEC_PER_SEC / 64)
/* A failed handshake with identities costs this many times as much: the server multiplies with its
 * static key before it can see that the cluster's key is wrong. */
#define IDENTITY_COSTS 4U
/* The cost of a handshake that the server accepts, or refuses only because the mount is moving or
 * another worker serves it. */
#define ACCEPTED_COST_NS (NSEC_PER_SEC / 512)

/* A HELLO with a valid cookie, and the results of its checks. */
struct hello_in {
	unsigned port;
	const struct datagram_addr *src;
	const struct wire_common *c;
	struct wire_hello h;
	struct wire_hello_body b;
	struct rudp_noise noise;
	uint8_t key; /* index of the key that sealed the HELLO, in this endpoint's list of keys */
	struct rudp_proof proof; /* valid if h.identity is set */
	struct rudp_peer peer;	 /* result of ops->identify */
	/* the opened body, to which b.app and proof point */
	uint8_t body[RUDP_PROOF_MAX + WIRE_HELLO_BODY_BYTES + WIRE_HELLO_APP_MAX];
	uint64_t hash;
};

int rudp_accept_init(struct rudp *r)
{
	int res = rudp_hellos_init(r);

	r->spent_ns = calloc(BUDGETS, sizeof(*r->spent_ns));
	for (unsigned i = 0; i < r->cfg.n_ports; i++)
		rudp_port_put_addr(r, i);
	r->n_addrs = (uint8_t)r->cfg.n_ports;
	return res == 0 && r->spent_ns ? 0 : -ENOMEM;
}

/* ------------------------------------------------------------------ cookies */

static uint64_t cookie_make(const struct rudp *r, unsigned port, const struct datagram_addr *src,
			    uint64_t number, uint64_t period)
{
	struct {
		uint64_t number, period;
		uint8_t ip[17];
		uint8_t port;
		uint16_t udp;
		uint32_t tag;
	} in = {.number = number, .period = period, .port = (uint8_t)port};

	memcpy(in.ip, &src->ip, sizeof(src->ip));
	in.udp = src->port;
	in.tag = 0x636f6f6bU;
	return rudp_hash(r, &in, sizeof(in));
}

static bool cookie_good(const struct rudp *r, unsigned port, const struct datagram_addr *src,
			uint64_t number, uint64_t cookie, uint64_t now)
{
	uint64_t period = now / COOKIE_PERIOD_NS;

	return cookie && (cookie == cookie_make(r, port, src, number, period) ||
			  cookie == cookie_make(r, port, src, number, period - 1));
}

/* Returns the public key to send with CHALLENGE; NULL: the client does not ask for it, or this host
 * has none. */
static const uint8_t *challenge_key(const struct rudp *r, const struct hello_in *in)
{
	return r->cfg.host_key.used && in->h.identity &&
			       WIRE_HELLO_BYTES + in->h.body_len >= WIRE_CHALLENGE_KEY_BYTES
		       ? r->cfg.host_key.public
		       : NULL;
}

static void challenge_send(struct rudp *r, const struct hello_in *in, uint64_t now)
{
	struct wire_common c = {.type = WIRE_CHALLENGE,
				.path = in->c->path,
				.session = in->h.client_number,
				.pn = in->c->pn};
	struct raw_pkt *raw = rudp_raw_add(r, in->port, in->src);

	if (raw)
		raw->len = (uint8_t)wire_put_challenge(raw->bytes, &c,
						       cookie_make(r, in->port, in->src,
								   in->h.client_number,
								   now / COOKIE_PERIOD_NS),
						       challenge_key(r, in));
}

/* ------------------------------------------------------------------ answers */

/* Encodes an answer with its body. The body is sealed if the HELLO was sealed and in->noise is
 * valid. Returns the length of the answer, or 0 on failure. */
static size_t answer_put(struct hello_in *in, enum wire_type type, enum rudp_cipher cipher,
			 const uint8_t *body, size_t len, uint8_t *ret)
{
	struct wire_common c = {
		.type = type, .path = in->c->path, .session = in->h.client_number, .pn = in->c->pn};
	struct wire_answer a = {.cipher = cipher,
				.identity = cipher && in->h.identity,
				.body_len = (uint16_t)(len + (cipher ? RUDP_NOISE_OVERHEAD : 0))};
	size_t n = wire_put_answer(ret, &c, &a);
	uint8_t e[RUDP_NOISE_KEY_BYTES];
	int res;

	if (!cipher) {
		memcpy(ret + n, body, len);
		return n + len;
	}
	res = rudp_noise_random(e);
	res = res ? res : rudp_noise_write(&in->noise, e, body, len, ret + n);
	rudp_noise_wipe(e, sizeof(e));
	return res ? 0 : n + a.body_len;
}

/* Sends REFUSE. cipher: a cipher that both sides support; RUDP_CIPHER_NONE if they have none in
 * common. */
static void refuse_send(struct rudp *r, struct hello_in *in, enum rudp_cipher cipher, int code,
			const char *word)
{
	uint8_t body[WIRE_REFUSE_BODY_BYTES + WIRE_REFUSE_TEXT_MAX];
	size_t len = wire_put_refuse_body(body, code, word);
	struct raw_pkt *raw = rudp_raw_add(r, in->port, in->src);

	_Static_assert(WIRE_ANSWER_BYTES + sizeof(body) + RUDP_NOISE_OVERHEAD <= sizeof(raw->bytes),
		       "the longest one fits");
	if (!raw)
		return;
	raw->len = (uint8_t)answer_put(in, WIRE_REFUSE, cipher, body, len, raw->bytes);
	if (raw->len == 0)
		r->raw_n--;
}

void rudp_accept_send(struct rudp_session *s)
{
	struct rudp_handshake *o = s->handshake;
	const struct rudp_path *p = &s->paths[o->path];
	struct datagram pkt = {
		.hdr_len = WIRE_ANSWER_BYTES, .payload = o->body, .payload_len = o->body_len};

	memcpy(pkt.hdr, o->hdr, WIRE_ANSWER_BYTES);
	if (rudp_transmit(s->r, p->port, &p->remote, &pkt) != -EAGAIN)
		o->due = false;
}

/* Builds ACCEPT and derives the session's keys. Keeps ACCEPT until the client has confirmed it. */
static int accept_make(struct rudp_session *s, struct hello_in *in)
{
	struct rudp *r = s->r;
	struct rudp_handshake *o = s->handshake;
	enum rudp_security security =
		in->h.cipher ? MAX_OF(in->b.security, r->cfg.security) : RUDP_SECURITY_NONE;
	struct wire_accept a = {.server_number = s->number,
				.identity = r->cfg.identity,
				.epoch = r->cfg.epoch,
				.credit = rudp_grant_free_bytes(s),
				.mtu = r->mtu,
				.slots = (uint16_t)s->n_slots,
				.n_addrs = r->n_addrs,
				.security = (uint8_t)security};
	uint8_t body[RUDP_ANSWER_MAX], msg[WIRE_ANSWER_BYTES + RUDP_ANSWER_MAX];
	struct rudp_noise_keys keys;
	size_t n = 0;
	int res = rudp_token_make(r, s->key, s->number, a.token);

	if (res)
		return res;
	if (in->h.identity)
		n = wire_put_certificate(body, r->cfg.host_key.certificate,
					 r->cfg.host_key.certificate_len);
	n += wire_put_accept_body(body + n, &a);
	s->labels = r->labels;
	s->n_addrs_confirmed = r->n_addrs;
	memcpy(body + n, r->addrs, (size_t)r->n_addrs * WIRE_ADDR_BYTES);
	n = answer_put(in, WIRE_ACCEPT, in->h.cipher, body,
		       n + (size_t)r->n_addrs * WIRE_ADDR_BYTES, msg);
	if (n == 0)
		return -EIO;
	memcpy(o->hdr, msg, WIRE_ANSWER_BYTES);
	o->body_len = (uint16_t)(n - WIRE_ANSWER_BYTES);
	memcpy(o->body, msg + WIRE_ANSWER_BYTES, o->body_len);
	o->path = in->c->path;
	if (!in->h.cipher)
		return 0;
	res = rudp_noise_split(&in->noise, &keys);
	res = res ? res : rudp_session_secure(s, security, in->h.cipher, &keys);
	rudp_noise_wipe(&keys, sizeof(keys));
	return res;
}

/* ------------------------------------------------------------------ HELLO */

static void end_replaced(struct rudp_session *s)
{
	if (s)
		rudp_session_end(s, RUDP_SESSION_RESTARTED, -ECONNRESET);
}

/* Ends the sessions of earlier incarnations of the client, and the session that this HELLO
 * replaces. Returns false if the HELLO itself is of an earlier incarnation. Each HELLO is checked
 * here, so all sessions of an identity have the same epoch. A client chooses its identity and its
 * epoch, so it is compared only with sessions of the host that it has proved to be, or with those
 * of unproven hosts if it has proved none. */
static bool end_older(struct rudp *r, const struct hello_in *in)
{
	const struct wire_hello_body *b = &in->b;
	const uint64_t peer = rudp_index_peer(r, &in->peer);
	struct rudp_session *s = rudp_index_sibling(r, b->identity, peer);

	if (!s)
		return true;
	if ((int32_t)(s->peer_epoch - b->epoch) > 0)
		return false;
	while (s && s->peer_epoch != b->epoch) {
		end_replaced(s);
		s = rudp_index_sibling(r, b->identity, peer);
	}
	s = rudp_session_find(r, b->former_number);
	end_replaced(s && !s->is_client && s->peer_identity == b->identity && s->peer_hash == peer
			     ? s
			     : NULL);
	end_replaced(rudp_index_client(r, b->identity, in->h.client_number, peer));
	return true;
}

/* Returns a session of an earlier incarnation of the client in which it only claimed the name that
 * it has proved now. */
static struct rudp_session *claimed_session(const struct rudp *r, const struct hello_in *in)
{
	struct rudp_session *first = rudp_index_sibling(r, in->b.identity, 0), *s = first;

	if (!s || (int32_t)(s->peer_epoch - in->b.epoch) >= 0)
		return NULL;
	do {
		if (strcmp(s->peer_host, in->peer.host) == 0)
			return s;
		s = list_entry(s->siblings.next, struct rudp_session, siblings);
	} while (s != first);
	return NULL;
}

/* Ends the sessions that the client had before it got an identity. Otherwise they would keep its
 * open files and locks until their timeout. */
static void end_unproven(struct rudp *r, const struct hello_in *in)
{
	struct rudp_session *s;

	while (in->peer.proven && (s = claimed_session(r, in)))
		end_replaced(s);
}

/* Opens the sealed body of HELLO with the cluster's keys. Returns 0 or -EBADMSG. */
static int body_unseal(const struct rudp *r, struct hello_in *in, const uint8_t *hdr)
{
	const struct rudp_host_key *own = &r->cfg.host_key;
	struct rudp_noise_pair pair;
	unsigned key = 0;
	int res = -EBADMSG;

	for (unsigned i = 0; i < r->cfg.n_keys && res && !in->h.identity; i++) {
		key = i;
		res = rudp_noise_init(&in->noise, in->h.cipher, false, r->cfg.keys[i], hdr,
				      WIRE_HELLO_BYTES);
		res = res ? res : rudp_noise_read(&in->noise, in->h.body, in->h.body_len, in->body);
	}
	if (in->h.identity) {
		memcpy(pair.secret, own->secret, sizeof(pair.secret));
		memcpy(pair.public, own->public, sizeof(pair.public));
		res = rudp_noise_init_ik(&in->noise, in->h.cipher, r->cfg.keys[0], &pair, NULL, hdr,
					 WIRE_HELLO_BYTES);
		rudp_noise_wipe(&pair, sizeof(pair));
		res = res ? res
			  : rudp_noise_read_keys(&in->noise, r->cfg.keys, r->cfg.n_keys, in->h.body,
						 in->h.body_len, in->body, &key);
	}
	in->key = (uint8_t)key;
	return res;
}

/* Reads the certificate at the start of an opened body. Advances *body and *len behind it. */
static bool proof_get(struct hello_in *in, const uint8_t **body, size_t *len)
{
	struct rudp_proof *p = &in->proof;
	size_t n;

	if (wire_get_certificate(*body, *len, &p->certificate, &p->certificate_len))
		return false;
	memcpy(p->key, in->noise.rs, sizeof(p->key));
	n = WIRE_CERTIFICATE_HEAD_BYTES + p->certificate_len;
	*body += n;
	*len -= n;
	return true;
}

/* Opens the sealed part of HELLO. Returns NULL on success, or the word to send with the refusal. */
static const char *body_open(const struct rudp *r, struct hello_in *in, const uint8_t *data)
{
	size_t len = in->h.body_len;
	const uint8_t *body = in->h.body;

	if (!in->h.cipher != (r->cfg.security == RUDP_SECURITY_NONE))
		return in->h.cipher ? "no-key-here" : "key-required";
	if (in->h.cipher) {
		if (in->h.cipher >= RUDP_CIPHER_MAX || (in->h.identity && !r->cfg.host_key.used) ||
		    len > sizeof(in->body) + rudp_noise_overhead(in->h.identity, true))
			return "key-mismatch";
		if (body_unseal(r, in, data))
			return "key-mismatch";
		body = in->body;
		len -= rudp_noise_overhead(in->h.identity, true);
		if (in->h.identity && !proof_get(in, &body, &len))
			return "bad-hello";
	} else if (in->h.identity) {
		return "bad-hello";
	}
	return wire_get_hello_body(body, len, &in->b) ? "bad-hello" : NULL;
}

/* Asks the application to check the identity of the client. Returns the same values as
 * session_accept(). */
static int client_identify(struct rudp *r, struct hello_in *in, char word[WIRE_REFUSE_TEXT_MAX + 1])
{
	int res;

	if (!r->ops->accept)
		return -EOPNOTSUPP;
	if (!r->ops->identify)
		return 0;
	res = r->ops->identify(r->user, in->src, in->b.app, in->b.app_len,
			       in->h.identity ? &in->proof : NULL, &in->peer);
	if (res == 0)
		return 0;
	snprintf(word, WIRE_REFUSE_TEXT_MAX + 1, "%.*s", (int)WIRE_REFUSE_TEXT_MAX, in->peer.word);
	return res < 0 && res >= -4095 ? res : -EPROTO;
}

/* Creates the session. Returns 0, or a negative errno if the client is refused; `word` must then be
 * sent to it. */
static int session_accept(struct rudp *r, struct hello_in *in, uint64_t now,
			  struct rudp_session **ret, char word[WIRE_REFUSE_TEXT_MAX + 1])
{
	struct rudp_session *s;
	int res = rudp_session_new(r, false, &s);

	if (res)
		return res;
	s->peer_number = in->h.client_number;
	s->peer_identity = in->b.identity;
	s->peer_epoch = in->b.epoch;
	s->hello_hash = in->hash;
	s->key = in->key;
	memcpy(s->peer_token, in->b.token, sizeof(s->peer_token));
	s->last_rx_ns = now;
	s->hello_from = *in->src;
	rudp_session_set_peer(s, &in->peer);
	res = r->ops->accept(r->user, s, in->b.app, in->b.app_len, &s->user);
	if (res) {
		memcpy(word, s->refusal, WIRE_REFUSE_TEXT_MAX + 1);
		rudp_session_unplace(s);
		rudp_session_free(s);
		return res < 0 && res >= -4095 ? res : -EPROTO;
	}
	rudp_index_add_client(s);
	rudp_call_reset(s, MIN_OF(in->b.slots, r->lim.calls_per_session), 0);
	s->state = SESSION_UP;
	s->up_ns = now;
	if (accept_make(s, in)) {
		rudp_session_end(s, RUDP_SESSION_CLOSED, -ENOMEM);
		return -ECONNABORTED;
	}
	rudp_session_set_mtu(s, in->b.mtu);
	rudp_session_event(s, RUDP_SESSION_UP, 0, 0);
	*ret = s;
	return s->state == SESSION_UP ? 0 : -ECONNABORTED;
}

/* Returns the table entry with the time at which the budget of this address is full again. An IPv6
 * host may use all addresses of its /64, so these share one budget. */
static uint64_t *budget_of(struct rudp *r, const struct datagram_addr *src)
{
	size_t len = src->ip.family == AF_INET ? 4 : 8;

	return &r->spent_ns[rudp_hash(r, src->ip.bytes, len) % BUDGETS];
}

static void budget_take(struct rudp *r, const struct datagram_addr *src, int res, uint64_t now)
{
	uint64_t *spent_ns = budget_of(r, src);
	bool cheap = res == 0 || res == -EBUSY || res == -EREMOTE;

	*spent_ns = MAX_OF(*spent_ns, now) + (cheap ? ACCEPTED_COST_NS : REFUSED_COST_NS);
}

/* Processes a HELLO from a validated address. */
static int hello_process(struct rudp *r, struct hello_in *in, const uint8_t *data, uint64_t now)
{
	char word[WIRE_REFUSE_TEXT_MAX + 1] = "";
	const char *why = body_open(r, in, data);
	struct rudp_session *s = NULL;
	struct rudp_path *p;
	int res;

	if (why) {
		budget_take(r, in->src, -EKEYREJECTED, now);
		for (unsigned i = 1; in->h.identity && i < IDENTITY_COSTS; i++)
			budget_take(r, in->src, -EKEYREJECTED, now);
		refuse_send(r, in, RUDP_CIPHER_NONE, -EKEYREJECTED, why);
		return 0;
	}
	if (in->h.cipher &&
	    (in->b.security == RUDP_SECURITY_NONE || in->b.security >= RUDP_SECURITY_MAX))
		return -EBADMSG;
	res = client_identify(r, in, word);
	if (res == 0 && !end_older(r, in)) {
		budget_take(r, in->src, -ESTALE, now);
		return 0;
	}
	if (res == 0)
		end_unproven(r, in);
	res = res ? res : session_accept(r, in, now, &s, word);
	budget_take(r, in->src, res, now);
	if (res) {
		if (res != -ECONNABORTED)
			refuse_send(r, in, in->h.cipher, res, word);
		return 0;
	}
	rudp_hello_note(r, in->hash);
	p = &s->paths[in->c->path];
	rudp_path_init(s, in->c->path, in->port, in->src, in->c->flags & WIRE_F_STANDBY, now);
	p->state = PATH_DOWN;
	if (!p->local_down)
		rudp_path_set_up(s, p, now);
	s->handshake->due = true;
	rudp_session_touch(s);
	return 0;
}

int rudp_accept_hello(struct rudp *r, unsigned port, const struct datagram_addr *src,
		      const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now)
{
	struct hello_in in = {.port = port, .src = src, .c = c};
	struct rudp_session *s;
	int res;

	if (wire_get_hello(data, len, &in.h) || c->session || c->phase)
		return -EBADMSG;
	if (!cookie_good(r, port, src, in.h.client_number, in.h.cookie, now)) {
		challenge_send(r, &in, now);
		return 0;
	}
	in.hash = rudp_hash(r, data, len);
	s = rudp_index_hello(r, in.hash);
	if (s) {
		/* The client repeats a HELLO that was accepted: ACCEPT was lost, so send it
		 * again. */
		if (s->handshake) {
			s->handshake->due = true;
			rudp_session_touch(s);
		}
		return 0;
	}
	if (rudp_hello_is_used(r, in.hash) || *budget_of(r, src) > now + BUDGET_NS)
		return -EBADMSG;
	res = hello_process(r, &in, data, now);
	rudp_noise_done(&in.noise);
	return res;
}

void rudp_accept_versions(struct rudp *r, unsigned port, const struct datagram_addr *src,
			  const uint8_t *data)
{
	struct raw_pkt *raw = rudp_raw_add(r, port, src);

	if (raw)
		raw->len = (uint8_t)wire_put_versions(raw->bytes, data);
}

/* ------------------------------------------------------------------ JOIN */

static void joined_send(struct rudp_session *s, unsigned port, const struct datagram_addr *src,
			const struct wire_common *in, uint32_t stamp, uint64_t cookie)
{
	uint64_t serial = s->ack_serial + 1;
	struct wire_common c = {.type = WIRE_JOINED,
				.path = in->path,
				.flags = cookie ? WIRE_F_PROVE : 0,
				.session = s->peer_number,
				.pn = (uint32_t)serial};
	struct wire_join j = {.cookie = cookie, .stamp = stamp};
	struct datagram pkt = {.payload = NULL};

	pkt.hdr_len = (uint16_t)wire_put_join(pkt.hdr, &c, &j);
	if (rudp_session_raw(s, port, src, &pkt, serial) == 0)
		s->ack_serial = serial;
}

int rudp_accept_join(struct rudp_session *s, unsigned port, const struct datagram_addr *src,
		     const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now)
{
	struct rudp_path *p = &s->paths[c->path];
	struct wire_join j;

	if (s->is_client || wire_get_join(data, len, &j))
		return -EBADMSG;
	if (p->state != PATH_NONE && (p->port != port || !rudp_addr_equal(&p->remote, src)))
		return -EBADMSG;
	/* A JOIN of the session may come from any address. Validate that the client has the address
	 * before creating a path to it. */
	if (p->state == PATH_NONE && !cookie_good(s->r, port, src, s->number, j.cookie, now)) {
		joined_send(s, port, src, c, j.stamp,
			    cookie_make(s->r, port, src, s->number, now / COOKIE_PERIOD_NS));
		return 0;
	}
	s->last_rx_ns = now;
	if (p->state == PATH_NONE) {
		rudp_path_init(s, c->path, port, src, c->flags & WIRE_F_STANDBY, now);
		rudp_label_path_made(s, p, now);
		p->state = PATH_DOWN;
		if (!p->local_down)
			rudp_path_set_up(s, p, now);
	}
	if ((int32_t)(c->pn - p->join_pn) > 0) { /* if a later JOIN has arrived before this one,
						    ignore the flag */
		p->join_pn = c->pn;
		p->standby = c->flags & WIRE_F_STANDBY;
	}
	joined_send(s, port, src, c, j.stamp, 0);
	rudp_session_touch(s);
	return 0;
}
