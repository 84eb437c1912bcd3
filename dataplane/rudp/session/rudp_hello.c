/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Client side of the handshake. The client sends HELLO, gets CHALLENGE, sends HELLO again with the
 * cookie of CHALLENGE, and gets ACCEPT or REFUSE. After ACCEPT it sends JOIN for each further path.
 * After CHALLENGE, the handshake continues on one path at a time: with the cookie received there,
 * the client builds the first Noise message, which covers all clear fields of HELLO. If both hosts
 * have an identity, CHALLENGE has the public key of the server's host, and the handshake proves the
 * keys of both. A forged key there makes the handshake fail, because the server's certificate,
 * which ACCEPT has, must be for the same key. The server side is rudp_accept.c.
 */
#include "dataplane/rudp/session/rudp_session_internal.h"
#include <stdio.h>

#define HELLO_SOON_NS (100 * NSEC_PER_MSEC) /* longest interval of HELLOs in the first seconds */
#define HELLO_LATE_NS (500 * NSEC_PER_MSEC)
#define HELLO_SOON_FOR_NS (5 * NSEC_PER_SEC)
/* How long the client waits for ACCEPT from a worker that sent CHALLENGE. The time doubles after
 * each timeout, so that the client does not give up a slow worker again and again. */
#define CHOICE_NS (200 * NSEC_PER_MSEC)
#define CHOICE_DOUBLINGS_MOST 4U
/* A refusal that stays the same is reported again at this interval. */
#define REFUSED_AGAIN_NS (400 * NSEC_PER_MSEC)
/* Pauses after failed handshakes. They begin with REFUSED_FIRST_NS, double up to
 * RUDP_REFUSED_MOST_NS, and vary by a quarter, so that thousands of refused clients cost neither
 * side noticeable time. They begin with BUSY_FIRST_NS after a refusal that soon ends without action
 * (EBUSY: the mount moves), and after a session that ended right after it began. */
#define REFUSED_FIRST_NS (500 * NSEC_PER_MSEC)
#define BUSY_FIRST_NS (20 * NSEC_PER_MSEC)
#define BUSY_MOST_NS (500 * NSEC_PER_MSEC)
#define FAILED_MOST 16U
/* A session that lasted shorter than this ended right after it began. */
#define LASTING_NS NSEC_PER_SEC

static uint64_t pause_draw(struct rudp_session *s, unsigned n, uint64_t first, uint64_t most)
{
	uint64_t ns = MIN_OF(first << MIN_OF(n, FAILED_MOST), most);

	return ns - ns / 4 + rudp_random(s->r) % (ns / 2);
}

static void failed_count(struct rudp_handshake *o)
{
	o->n_failed = (uint8_t)MIN_OF(o->n_failed + 1U, FAILED_MOST);
}

void rudp_hello_start_again(struct rudp_session *s, uint64_t now)
{
	uint64_t at = now;

	if (now - s->up_ns >= LASTING_NS) {
		s->handshake->n_failed = 0;
	} else {
		at += pause_draw(s, s->handshake->n_failed, BUSY_FIRST_NS, RUDP_REFUSED_MOST_NS);
		failed_count(s->handshake);
	}
	rudp_hello_start(s, now);
	for (unsigned i = 0; i < s->n_paths; i++)
		s->paths[i].hello_ns = at;
	s->rotate_ns = MAX_OF(s->rotate_ns, at + NSEC_PER_SEC);
}

void rudp_hello_start(struct rudp_session *s, uint64_t now)
{
	for (unsigned i = 0; i < RUDP_PATHS_MAX; i++)
		if (s->paths[i].state !=
		    PATH_NONE) /* a write would allocate memory for unused paths */
			s->paths[i].state = PATH_NONE;
	s->n_paths = 0;
	s->handshake->chosen = false;
	s->handshake->refused_paths = 0;
	rudp_session_renumber(s);
	s->connecting_ns = now;
	s->rotate_ns = now + NSEC_PER_SEC;
	rudp_hello_add_seeds(s, now);
}

/* Begins the Noise handshake. server_key: the public key of the server's host; NULL: without proof
 * of identities. */
static int noise_begin(struct rudp_session *s, struct rudp_handshake *o, const uint8_t *server_key)
{
	const struct rudp_config *cfg = &s->r->cfg;
	struct rudp_noise_pair pair;
	int res;

	if (!server_key)
		return rudp_noise_init(&o->noise, s->r->cipher, true, cfg->keys[s->key], o->hdr,
				       sizeof(o->hdr));
	memcpy(pair.secret, cfg->host_key.secret, sizeof(pair.secret));
	memcpy(pair.public, cfg->host_key.public, sizeof(pair.public));
	res = rudp_noise_init_ik(&o->noise, s->r->cipher, cfg->keys[s->key], &pair, server_key,
				 o->hdr, sizeof(o->hdr));
	rudp_noise_wipe(&pair, sizeof(pair));
	return res;
}

/* Returns the number of bytes of HELLO's body before it is sealed. */
static size_t plain_len(const struct rudp_session *s, bool identity)
{
	return WIRE_HELLO_BODY_BYTES + s->hello_len +
	       (identity ? WIRE_CERTIFICATE_HEAD_BYTES + s->r->cfg.host_key.certificate_len : 0);
}

/* Builds the sealed part of HELLO, which is o->body_len bytes in o->body. */
static int body_make(struct rudp_session *s, struct rudp_handshake *o, const uint8_t *server_key)
{
	struct rudp *r = s->r;
	struct wire_hello_body b = {.identity = r->cfg.identity,
				    .former_number = s->replaced_number,
				    .epoch = r->cfg.epoch,
				    .mtu = r->mtu,
				    .slots = (uint16_t)r->lim.calls_per_session,
				    .security = r->cfg.security,
				    .app_len = s->hello_len};
	uint8_t plain[RUDP_PROOF_MAX + WIRE_HELLO_BODY_BYTES + WIRE_HELLO_APP_MAX];
	uint8_t e[RUDP_NOISE_KEY_BYTES];
	size_t len = 0;
	int res = rudp_token_make(r, s->key, s->number, b.token);

	if (res)
		return res;
	if (server_key)
		len = wire_put_certificate(plain, r->cfg.host_key.certificate,
					   r->cfg.host_key.certificate_len);
	len += wire_put_hello_body(plain + len, &b);
	memcpy(plain + len, s->hello, s->hello_len);
	len += s->hello_len;
	if (r->cfg.security == RUDP_SECURITY_NONE) {
		memcpy(o->body, plain, len);
		return 0;
	}
	res = noise_begin(s, o, server_key);
	res = res ? res : rudp_noise_random(e);
	res = res ? res : rudp_noise_write(&o->noise, e, plain, len, o->body);
	rudp_noise_wipe(e, sizeof(e));
	return res;
}

/* Builds the HELLO that is sent on p from now on, and repeated there. server_key: as CHALLENGE has
 * it, or NULL. */
static int handshake_make(struct rudp_session *s, struct rudp_path *p, uint64_t cookie,
			  const uint8_t *server_key, uint64_t now)
{
	struct rudp_handshake *o = s->handshake;
	bool sealed = s->r->cfg.security != RUDP_SECURITY_NONE;
	struct wire_common c = {.type = WIRE_HELLO,
				.path = p->index,
				.flags = p->standby ? WIRE_F_STANDBY : 0,
				.pn = rudp_stamp(now)};
	struct wire_hello h = {.client_number = s->number, .cookie = cookie};

	o->identity = server_key != NULL;
	o->body_len = (uint16_t)(plain_len(s, o->identity) +
				 (sealed ? rudp_noise_overhead(o->identity, true) : 0));
	h.body_len = o->body_len;
	h.identity = o->identity;
	h.cipher = sealed ? s->r->cipher : RUDP_CIPHER_NONE;
	wire_put_hello(o->hdr, &c, &h);
	o->path = p->index;
	o->chosen = true;
	o->chosen_ns = now;
	o->stamp = c.pn;
	o->n_sent = 0;
	s->key = 0;
	return body_make(s, o, server_key);
}

static int hello_send(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	static const uint8_t padding[WIRE_KEY_BYTES];
	struct rudp_handshake *o = s->handshake;
	struct wire_common c = {.type = WIRE_HELLO,
				.path = p->index,
				.flags = p->standby ? WIRE_F_STANDBY : 0,
				.pn = rudp_stamp(now)};
	struct wire_hello h = {.client_number = s->number, .identity = s->r->cfg.host_key.used};
	struct datagram pkt = {.hdr_len = WIRE_HELLO_BYTES};

	if (o->chosen && o->path == p->index) {
		memcpy(pkt.hdr, o->hdr, sizeof(o->hdr));
		pkt.payload = o->body;
		pkt.payload_len = o->body_len;
		o->n_sent++;
	} else {
		if (h.identity) {
			pkt.payload = padding;
			pkt.payload_len = h.body_len = sizeof(padding);
		}
		wire_put_hello(pkt.hdr, &c, &h);
	}
	return rudp_transmit(s->r, p->port, &p->remote, &pkt);
}

static int join_send(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	uint64_t serial = s->ack_serial + 1;
	struct wire_common c = {.type = WIRE_JOIN,
				.path = p->index,
				.flags = p->standby ? WIRE_F_STANDBY : 0,
				.session = s->peer_number,
				.pn = (uint32_t)serial};
	struct wire_join j = {.cookie = p->cookie, .stamp = rudp_stamp(now)};
	struct datagram pkt = {.payload = NULL};
	int res;

	pkt.hdr_len = (uint16_t)wire_put_join(pkt.hdr, &c, &j);
	res = rudp_session_transmit(s, p, &pkt, RUDP_SECURE_CONTROL, serial);
	if (res == 0)
		s->ack_serial = serial;
	return res;
}

static void path_hello(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	uint64_t longest = s->state == SESSION_UP || now > s->connecting_ns + HELLO_SOON_FOR_NS
				   ? HELLO_LATE_NS
				   : HELLO_SOON_NS;

	if ((s->state == SESSION_UP ? join_send : hello_send)(s, p, now) == -EAGAIN)
		return;
	p->hello_ns = now + p->hello_interval + rudp_random(s->r) % (p->hello_interval / 4);
	p->hello_interval = MIN_OF(p->hello_interval * 2, longest);
}

static bool path_wants_hello(const struct rudp_path *p)
{
	return (p->state == PATH_JOINING || (p->state != PATH_NONE && p->hello_again)) &&
	       !p->local_down;
}

/*
 * Restarts the handshake. The client starts after a delay on the path that it had chosen, and at
 * once on the other paths. After a refusal, it starts only when the pause has ended. A worker that
 * accepted the cookie may have created a session that this client does not know, and may send
 * packets to this client's session number. So the client takes a new number. By this number it can
 * distinguish these packets from packets of the session that it finally gets.
 */
static void hello_restart(struct rudp_session *s, uint64_t later, uint64_t now)
{
	struct rudp_handshake *o = s->handshake;

	o->chosen = false;
	rudp_session_renumber(s);
	for (unsigned i = 0; i < s->n_paths; i++)
		if (i == o->path || !(o->refused_paths >> i & 1))
			s->paths[i].hello_ns = i == o->path ? now + later : now;
	rudp_session_touch(s);
}

/* Handles a refusal on this path: the client tries the other paths, which may lead to other
 * workers, and then pauses. */
static void refused_pause(struct rudp_session *s, unsigned path, int code, uint64_t now)
{
	struct rudp_handshake *o = s->handshake;
	uint64_t at;

	if (o->refused_paths >> path & 1) {
		failed_count(o);
		o->refused_paths = 0;
	}
	o->refused_paths |= (uint8_t)(1U << path);
	at = now + (code == -EBUSY
			    ? pause_draw(s, o->n_failed, BUSY_FIRST_NS, BUSY_MOST_NS)
			    : pause_draw(s, o->n_failed, REFUSED_FIRST_NS, RUDP_REFUSED_MOST_NS));
	for (unsigned i = 0; i < s->n_paths; i++)
		s->paths[i].hello_ns = o->refused_paths >> i & 1 ? at : now;
	s->rotate_ns = MAX_OF(s->rotate_ns, at);
}

void rudp_hello_unpause(struct rudp_session *s, uint64_t now)
{
	struct rudp_handshake *o = s->handshake;

	if (s->state != SESSION_CONNECTING || !o->refused_paths)
		return;
	o->n_failed = o->refused_paths = 0;
	for (unsigned i = 0; i < s->n_paths; i++)
		s->paths[i].hello_ns = MIN_OF(s->paths[i].hello_ns, now);
	rudp_session_touch(s);
}

void rudp_hello_poll(struct rudp_session *s, uint64_t now)
{
	if (s->state == SESSION_CONNECTING) {
		if (s->handshake->chosen &&
		    now > s->handshake->chosen_ns + (CHOICE_NS << s->handshake->n_late)) {
			s->handshake->n_late =
				(uint8_t)MIN_OF(s->handshake->n_late + 1U, CHOICE_DOUBLINGS_MOST);
			hello_restart(s, s->n_paths > 1 ? CHOICE_NS : 0, now);
		}
		/* If there are more addresses than paths, the addresses are tried in turn. */
		if (now >= s->rotate_ns) {
			s->rotate_ns = now + NSEC_PER_SEC;
			if (s->n_paths == RUDP_PATHS_MAX && !s->handshake->chosen) {
				uint64_t since = s->connecting_ns;

				s->first_seed = (s->first_seed + 1) % s->n_seeds;
				if (s->handshake->refused_paths)
					failed_count(s->handshake);
				rudp_hello_start(s, now);
				s->connecting_ns = since;
			}
		}
	}
	for (unsigned i = 0; i < s->n_paths; i++)
		if (path_wants_hello(&s->paths[i]) && now >= s->paths[i].hello_ns)
			path_hello(s, &s->paths[i], now);
}

uint64_t rudp_hello_deadline(const struct rudp_session *s)
{
	uint64_t d = RUDP_TIME_NEVER;

	for (unsigned i = 0; i < s->n_paths; i++)
		if (path_wants_hello(&s->paths[i]))
			d = MIN_OF(d, s->paths[i].hello_ns);
	return d;
}

/* Handles a CHALLENGE. If several workers answer HELLO, the handshake continues with the first of
 * them, on this path. */
static int challenge_rx(struct rudp_session *s, struct rudp_path *p, const uint8_t *data,
			size_t len, uint64_t now)
{
	struct rudp_handshake *o = s->handshake;
	const uint8_t *key;
	uint64_t cookie;

	if (wire_get_challenge(data, len, &cookie, &key) || s->state != SESSION_CONNECTING)
		return -EBADMSG;
	if (o->chosen && o->path == p->index) {
		/* The worker has not accepted the cookie: it has restarted, or this client was too
		 * slow. If a worker rejects several cookies in a row, the client waits between
		 * attempts. */
		if (cookie == wire_get64(o->hdr + WIRE_OFF_COOKIE))
			return 0;
		hello_restart(
			s, o->n_stale ? pause_draw(s, o->n_stale, BUSY_FIRST_NS, BUSY_MOST_NS) : 0,
			now);
		o->n_stale = (uint8_t)MIN_OF(o->n_stale + 1U, FAILED_MOST);
		return 0;
	}
	if (o->chosen)
		return 0;
	if (handshake_make(s, p, cookie, s->r->cfg.host_key.used ? key : NULL, now)) {
		o->chosen = false;
		return -EBADMSG;
	}
	p->hello_ns = now;
	rudp_session_touch(s);
	return 0;
}

static void accept_list(struct rudp_session *s, const struct wire_accept *a, uint64_t now)
{
	memcpy(s->handshake->addrs, a->addrs, a->n_addrs * sizeof(a->addrs[0]));
	s->handshake->n_addrs = a->n_addrs;
	rudp_hello_add_addresses(s, 0, now);
}

void rudp_hello_address(struct rudp_session *s, unsigned index, const struct wire_addr *a,
			uint64_t now)
{
	struct rudp_handshake *o = s->handshake;

	if (index != o->n_addrs) /* skip an address that is known already, or whose predecessor in
				    the list is missing */
		return;
	o->addrs[o->n_addrs++] = *a;
	rudp_hello_add_addresses(s, index, now);
	rudp_session_touch(s);
}

/* Handles paths that were made from ports in other subnets while no port was in the subnet of the
 * address. Such a path becomes standby if it works. A path without any answer is removed, because
 * the server does not know the path. */
static void foreign_paths_retire(struct rudp_session *s, uint64_t now)
{
	for (unsigned i = 0; i < s->n_paths; i++) {
		struct rudp_path *p = &s->paths[i];
		unsigned ports[RUDP_PORTS_MAX], n, k = 0;

		if (p->state == PATH_NONE)
			continue;
		n = rudp_hello_ports(s->r, &p->remote.ip, ports);
		while (k < n && ports[k] != p->port)
			k++;
		if (k < n)
			continue;
		if (p->state == PATH_JOINING && !p->cookie) {
			p->state = PATH_NONE;
			continue;
		}
		p->crossed = true;
		rudp_hello_classify(s, p, now);
	}
}

void rudp_hello_port(struct rudp_session *s, uint64_t now)
{
	if (s->state == SESSION_CONNECTING)
		rudp_hello_add_seeds(s, now);
	if (s->state == SESSION_UP) {
		foreign_paths_retire(s, now);
		rudp_hello_add_addresses(s, 0, now);
	}
	rudp_session_touch(s);
}

static void session_accepted(struct rudp_session *s, struct rudp_path *via,
			     const struct wire_accept *a, uint64_t now)
{
	s->peer_number = a->server_number;
	rudp_index_add_number(s);
	s->peer_identity = a->identity;
	s->peer_epoch = a->epoch;
	memcpy(s->peer_token, a->token, sizeof(s->peer_token));
	s->replaced_number = 0;
	s->ack_serial = 0;
	s->peer_ack_serial = 0;
	s->peer_down_mask = 0;
	s->state = SESSION_UP;
	rudp_session_set_mtu(s, a->mtu);
	rudp_call_reset(s, MIN_OF(a->slots, s->r->lim.calls_per_session), a->credit);
	for (unsigned i = 0; i < s->n_paths; i++) /* other paths may lead to other workers */
		if (&s->paths[i] != via)
			s->paths[i].state = PATH_NONE;
	accept_list(s, a, now);
	rudp_session_event(s, RUDP_SESSION_UP, 0, 0);
}

/* Copies or decrypts the body of an answer to the HELLO into ret. *ret_len: its length.
 * *ret_proven: whether the sender has proved that it knows the key. */
static int answer_open(struct rudp_session *s, const struct wire_common *c, const uint8_t *data,
		       size_t len, uint8_t *ret, size_t *ret_len, bool *ret_proven)
{
	struct rudp_handshake *o = s->handshake;
	struct wire_answer a;
	struct rudp_noise noise;
	int res;

	if (wire_get_answer(data, len, &a) || !o->chosen || c->path != o->path || c->flags ||
	    c->pn != o->stamp || a.body_len > RUDP_ANSWER_MAX)
		return -EBADMSG;
	*ret_proven = a.cipher != RUDP_CIPHER_NONE;
	if (!*ret_proven) {
		memcpy(ret, a.body, a.body_len);
		*ret_len = a.body_len;
		return 0;
	}
	if (s->r->cfg.security == RUDP_SECURITY_NONE || a.cipher != s->r->cipher ||
	    a.identity != o->identity)
		return -EBADMSG;
	noise = o->noise; /* use a copy of the state, because a forged answer must not change the
			     state that the real answer needs */
	res = rudp_noise_read(&noise, a.body, a.body_len, ret);
	if (res == 0) {
		o->noise = noise;
		*ret_len = a.body_len - RUDP_NOISE_OVERHEAD;
	}
	rudp_noise_done(&noise);
	return res ? -EBADMSG : 0;
}

/* Derives the keys of a session with security. */
static int session_secure(struct rudp_session *s, const struct wire_accept *a, bool authenticated)
{
	struct rudp_noise_keys keys;
	int res;

	if (a->security >= RUDP_SECURITY_MAX || a->security < s->r->cfg.security ||
	    authenticated != (a->security != RUDP_SECURITY_NONE))
		return -EBADMSG;
	if (!authenticated)
		return 0;
	res = rudp_noise_split(&s->handshake->noise, &keys);
	res = res ? res : rudp_session_secure(s, a->security, s->r->cipher, &keys);
	rudp_noise_wipe(&keys, sizeof(keys));
	rudp_noise_done(&s->handshake->noise);
	return res ? -EBADMSG : 0;
}

static void refused(struct rudp_session *s, const struct datagram_addr *src, bool here, int code,
		    const char *word, uint64_t now)
{
	bool again = s->refused_code == code && s->refused_here == here &&
		     !strcmp(s->refusal, word) && now < s->refused_ns + REFUSED_AGAIN_NS;

	s->refused_code = code;
	snprintf(s->refusal, sizeof(s->refusal), "%s", word);
	s->refused_by = *src;
	s->refused_here = here;
	rudp_session_touch(s);
	if (again)
		return;
	s->refused_ns = now;
	rudp_session_event(s, RUDP_SESSION_REFUSED, 0, code);
}

/* Decodes the body of ACCEPT. proof: the server's certificate, if the handshake proves identities;
 * it points into the body. */
static int accept_get(const struct rudp_handshake *o, const uint8_t *body, size_t len,
		      struct rudp_proof *proof, struct wire_accept *ret)
{
	size_t n;

	if (!o->identity)
		return wire_get_accept_body(body, len, ret);
	if (wire_get_certificate(body, len, &proof->certificate, &proof->certificate_len))
		return -EBADMSG;
	memcpy(proof->key, o->noise.rs, sizeof(proof->key));
	n = WIRE_CERTIFICATE_HEAD_BYTES + proof->certificate_len;
	return wire_get_accept_body(body + n, len - n, ret);
}

/* Asks the application whether it accepts this server. If it does not, the client acts as if the
 * server had refused it. */
static bool server_accepted(struct rudp_session *s, const struct rudp_path *p,
			    const struct rudp_proof *proof, uint64_t now)
{
	char word[WIRE_REFUSE_TEXT_MAX + 1];
	const struct datagram_addr from = p->remote;
	const unsigned path = p->index;
	int code = 0;

	rudp_session_set_peer(s, &(struct rudp_peer){.proven = false});
	if (!s->r->ops->accepted)
		return true;
	memcpy(word, s->refusal, sizeof(word));
	s->refusal[0] = '\0';
	s->proof = proof;
	code = s->r->ops->accepted(s->r->user, s);
	s->proof = NULL;
	if (code == 0) {
		memcpy(s->refusal, word, sizeof(word));
		return true;
	}
	memcpy(word, s->refusal, sizeof(word));
	hello_restart(s, 0, now);
	refused_pause(s, path, code, now);
	refused(s, &from, true, code, word, now);
	return false;
}

static int accept_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		     const uint8_t *data, size_t len, uint64_t now)
{
	uint8_t body[RUDP_ANSWER_MAX];
	struct rudp_proof proof = {.certificate = NULL};
	struct wire_accept a;
	size_t body_len;
	bool authenticated;
	uint32_t rtt_us = rudp_stamp(now) - c->pn;

	if (s->state != SESSION_CONNECTING)
		return -EBADMSG; /* a second answer: the session is up already */
	/* Do not decode an answer whose sender has not proved the key: `proof` and the code below
	 * are for sealed answers. */
	if (answer_open(s, c, data, len, body, &body_len, &authenticated) ||
	    (!authenticated && s->r->cfg.security != RUDP_SECURITY_NONE) ||
	    accept_get(s->handshake, body, body_len, &proof, &a))
		return -EBADMSG;
	if (!server_accepted(s, p, proof.certificate ? &proof : NULL, now)) {
		/* The server has made a session, which the next HELLO to it ends. */
		s->replaced_number = a.server_number;
		return 0;
	}
	if (session_secure(s, &a, authenticated))
		return -EBADMSG;
	s->handshake->chosen = false;
	s->handshake->n_late = s->handshake->n_stale = 0;
	s->up_ns = now;
	session_accepted(s, p, &a, now);
	if (s->state != SESSION_UP)
		return 0;
	s->last_rx_ns = now;
	/* If HELLO was sent several times, it is unknown which one was answered, so the round trip
	 * is unknown too. */
	if (s->handshake->n_sent == 1 && rtt_us < 1000000 && p->rtt.srtt == 0)
		rudp_path_rtt(p, MAX_OF(rtt_us, 1U) * NSEC_PER_USEC, 0, now);
	if (p->state == PATH_JOINING)
		rudp_path_set_up(s, p, now);
	rudp_session_touch(s);
	return 0;
}

/* Returns whether a server that cannot prove the key may send this refusal: it reports why the two
 * hosts have no key in common. Anyone on the network can send it, so other words have no effect. */
static bool is_unproven_refusal(int code, const char *word)
{
	static const char *const words[] = {"key-mismatch", "key-required", "no-key-here",
					    "bad-hello"};

	for (unsigned i = 0; code == -EKEYREJECTED && i < ARRAY_SIZE(words); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

static int refuse_rx(struct rudp_session *s, const struct datagram_addr *src,
		     const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now)
{
	uint8_t body[RUDP_ANSWER_MAX];
	char word[WIRE_REFUSE_TEXT_MAX + 1];
	size_t body_len;
	bool authenticated;
	int code;

	if (s->state != SESSION_CONNECTING ||
	    answer_open(s, c, data, len, body, &body_len, &authenticated) ||
	    wire_get_refuse_body(body, body_len, &code, word))
		return -EBADMSG;
	if (!authenticated && s->r->cfg.security != RUDP_SECURITY_NONE &&
	    !is_unproven_refusal(code, word))
		return -EBADMSG;
	s->handshake->n_stale = 0;
	hello_restart(s, 0, now);
	refused_pause(s, c->path, code, now);
	refused(s, src, false, code, word, now);
	return 0;
}

int rudp_hello_joined(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		      const uint8_t *data, size_t len, uint64_t now)
{
	struct wire_join j;
	uint32_t rtt_us;

	if (!s->is_client || wire_get_join(data, len, &j))
		return -EBADMSG;
	s->last_rx_ns = now;
	rtt_us = rudp_stamp(now) - j.stamp;
	if (rtt_us < 1000000 && p->rtt.srtt == 0)
		rudp_path_rtt(p, MAX_OF(rtt_us, 1U) * NSEC_PER_USEC, 0, now);
	rudp_session_touch(s);
	if (c->flags & WIRE_F_PROVE) {
		if (p->cookie != j.cookie)
			p->hello_ns = now;
		p->cookie = j.cookie;
		return 0;
	}
	/* A smaller stamp means that the packet answers a JOIN with an older value of the flag. */
	if ((int32_t)(j.stamp - p->class_stamp) >= 0)
		p->hello_again = false;
	if (p->state == PATH_JOINING)
		rudp_path_set_up(s, p, now);
	return 0;
}

/* Finds the session and path to which an answer to HELLO belongs. */
static struct rudp_session *answered_session(struct rudp *r, unsigned port,
					     const struct datagram_addr *src,
					     const struct wire_common *c,
					     struct rudp_path **ret_path)
{
	struct rudp_session *s = rudp_session_find(r, c->session);
	struct rudp_path *p;

	if (!s || !s->is_client)
		return NULL;
	p = &s->paths[c->path];
	if (p->state == PATH_NONE || p->port != port || !rudp_addr_equal(&p->remote, src))
		return NULL;
	*ret_path = p;
	return s;
}

int rudp_hello_versions(struct rudp *r, unsigned port, const struct datagram_addr *src,
			const uint8_t *data, size_t len, uint64_t now)
{
	char word[WIRE_REFUSE_TEXT_MAX + 1];
	struct wire_common c;
	struct rudp_session *s;
	struct rudp_path *p;
	uint8_t highest;

	if (wire_get_versions(data, len, &c, &highest))
		return -EBADMSG;
	s = answered_session(r, port, src, &c, &p);
	if (!s || s->state != SESSION_CONNECTING)
		return -EBADMSG;
	refused_pause(s, p->index, -EPROTONOSUPPORT, now);
	snprintf(word, sizeof(word), "wire-version-%u", highest);
	refused(s, src, false, -EPROTONOSUPPORT, word, now);
	return 0;
}

int rudp_hello_rx(struct rudp *r, unsigned port, const struct datagram_addr *src,
		  const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now)
{
	struct rudp_path *p;
	struct rudp_session *s = answered_session(r, port, src, c, &p);

	if (!s || c->phase)
		return -EBADMSG;
	switch (c->type) {
	case WIRE_CHALLENGE:
		return challenge_rx(s, p, data, len, now);
	case WIRE_ACCEPT:
		return accept_rx(s, p, c, data, len, now);
	case WIRE_REFUSE:
		return refuse_rx(s, src, c, data, len, now);
	default:
		return -EBADMSG;
	}
}
