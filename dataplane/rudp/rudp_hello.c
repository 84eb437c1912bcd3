/* SPDX-License-Identifier: BSD-3-Clause */
/* The handshake: HELLO, CHALLENGE, HELLO with its cookie, ACCEPT or REFUSE; once per path. */
#include "dataplane/rudp/rudp_internal.h"

#define HELLO_FIRST_NS (5 * NSEC_PER_MSEC)
#define HELLO_SOON_NS (100 * NSEC_PER_MSEC) /* the longest interval in the first seconds */
#define HELLO_LATE_NS (500 * NSEC_PER_MSEC)
#define HELLO_SOON_FOR_NS (5 * NSEC_PER_SEC)
#define CHOICE_NS (200 * NSEC_PER_MSEC) /* a worker that challenged has this long to accept */
#define COOKIE_PERIOD_NS (8 * NSEC_PER_SEC)

void rudp_hello_init(struct rudp *r)
{
	for (unsigned i = 0; i < r->cfg.n_ports; i++) {
		const struct rudp_port_info *port = &r->cfg.ports[i];
		struct wire_addr a = {.family = port->local.ip.family == AF_INET ? 4 : 6,
				      .prefix_len = port->prefix_len,
				      .port = port->local.port,
				      .label = port->label};

		memcpy(a.ip, port->local.ip.bytes, a.family == 4 ? 4 : 16);
		wire_put_addr(r->addrs + (size_t)i * WIRE_ADDR_BYTES, &a);
		r->n_addrs++;
	}
}

/* The ports from which `a` is to be reached: those in its subnet, else all of its family. */
static unsigned ports_for(const struct rudp *r, const struct ip_addr *a, unsigned *ret)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->cfg.n_ports; i++) {
		struct ip_prefix net = {r->cfg.ports[i].local.ip, r->cfg.ports[i].prefix_len};

		if (net.addr.family == a->family && ip_prefix_contains(&net, a))
			ret[n++] = i;
	}
	for (unsigned i = 0; n == 0 && i < r->cfg.n_ports; i++)
		if (r->cfg.ports[i].local.ip.family == a->family)
			ret[n++] = i;
	return n;
}

static struct rudp_path *path_find(struct rudp_session *s, unsigned port,
				   const struct datagram_addr *remote)
{
	for (unsigned i = 0; i < s->n_paths; i++)
		if (s->paths[i].state != PATH_NONE && s->paths[i].port == port &&
		    rudp_addr_equal(&s->paths[i].remote, remote))
			return &s->paths[i];
	return NULL;
}

/*
 * Adds the paths to one address of the peer. A path between two labels is standby. Where labels are
 * not known and several ports reach the address, the order pairs them: n-th port, n-th address.
 */
static void paths_add(struct rudp_session *s, const struct datagram_addr *remote, unsigned order,
		      uint32_t label, uint64_t now)
{
	unsigned ports[RUDP_PORTS_MAX];
	unsigned n = ports_for(s->r, &remote->ip, ports);

	for (unsigned k = 0; k < n; k++) {
		uint32_t own = s->r->cfg.ports[ports[k]].label;
		bool standby = own && label ? own != label : n > 1 && order % n != k;
		struct rudp_path *p = path_find(s, ports[k], remote);

		if (p && p->standby != standby) {
			p->standby = standby;
			p->hello_again = true;
			p->hello_ns = now;
		}
		for (unsigned i = 0; !p && i < RUDP_PATHS_MAX; i++) {
			if (s->paths[i].state != PATH_NONE)
				continue;
			p = &s->paths[i];
			rudp_path_init(s, i, ports[k], remote, standby, now);
			p->state = PATH_JOINING;
			p->hello_ns = now;
			p->hello_interval = HELLO_FIRST_NS;
		}
	}
}

void rudp_hello_start(struct rudp_session *s, uint64_t now)
{
	for (unsigned i = 0; i < RUDP_PATHS_MAX; i++)
		s->paths[i].state = PATH_NONE;
	s->n_paths = 0;
	s->chosen_identity = 0;
	rudp_session_renumber(s);
	s->connecting_ns = now;
	s->rotate_ns = now + NSEC_PER_SEC;
	for (unsigned i = 0; i < s->n_seeds; i++) {
		unsigned at = (s->first_seed + i) % s->n_seeds;

		paths_add(s, &s->seeds[at], at, 0, now);
	}
}

static void hello_send(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	struct wire_common c = {.type = WIRE_HELLO,
				.path = p->index,
				.flags = p->standby ? WIRE_F_STANDBY : 0,
				.pn = (uint32_t)(now / NSEC_PER_USEC)};
	struct wire_hello h = {.client_number = s->number,
			       .server_number =
				       s->peer_number ? s->peer_number : s->replaced_number,
			       .identity = s->r->cfg.identity,
			       .cookie = p->cookie,
			       .epoch = s->r->cfg.epoch,
			       .mtu = s->r->mtu,
			       .slots = (uint16_t)s->r->lim.calls_per_session,
			       .app_len = s->hello_len};
	struct datagram pkt = {.payload = s->hello, .payload_len = s->hello_len};
	uint64_t longest = s->state == SESSION_UP || now > s->connecting_ns + HELLO_SOON_FOR_NS
				   ? HELLO_LATE_NS
				   : HELLO_SOON_NS;

	if (s->state == SESSION_UP)
		c.flags |= WIRE_F_JOIN;
	pkt.hdr_len = (uint16_t)wire_put_hello(pkt.hdr, &c, &h);
	if (rudp_transmit(s->r, p->port, &p->remote, &pkt) == -EAGAIN)
		return;
	p->hello_ns = now + p->hello_interval + rudp_random(s->r) % (p->hello_interval / 4);
	p->hello_interval = MIN_OF(p->hello_interval * 2, longest);
}

static bool path_wants_hello(const struct rudp_path *p)
{
	return (p->state == PATH_JOINING || (p->state != PATH_NONE && p->hello_again)) &&
	       !p->local_down;
}

/* Free to follow another worker, or the same once more. */
static void choice_drop(struct rudp_session *s, uint64_t hello_at)
{
	s->chosen_identity = 0;
	for (unsigned i = 0; i < s->n_paths; i++) {
		if (s->paths[i].cookie) {
			s->paths[i].cookie = 0;
			s->paths[i].hello_ns = hello_at;
		}
	}
}

/* From the beginning: whoever found a cookie of ours good may have made a session, of which we
 * heard nothing, and sends packets to our number. Under a new one they cannot be taken for those of
 * the session that we will get in the end. */
static void hello_restart(struct rudp_session *s, uint64_t now)
{
	choice_drop(s, now);
	rudp_session_renumber(s);
}

void rudp_hello_poll(struct rudp_session *s, uint64_t now)
{
	if (s->state == SESSION_CONNECTING) {
		if (s->chosen_identity && now > s->chosen_ns + CHOICE_NS)
			hello_restart(s, now);
		/* More seeds than paths: let the next ones have their turn. */
		if (now >= s->rotate_ns) {
			s->rotate_ns = now + NSEC_PER_SEC;
			if (s->n_paths == RUDP_PATHS_MAX && !s->chosen_identity) {
				uint64_t since = s->connecting_ns;

				s->first_seed = (s->first_seed + 1) % s->n_seeds;
				rudp_hello_start(s, now);
				s->connecting_ns = since;
			}
		}
	}
	for (unsigned i = 0; i < s->n_paths; i++)
		if (path_wants_hello(&s->paths[i]) && now >= s->paths[i].hello_ns)
			hello_send(s, &s->paths[i], now);
}

uint64_t rudp_hello_deadline(const struct rudp_session *s)
{
	uint64_t d = RUDP_TIME_NEVER;

	for (unsigned i = 0; i < s->n_paths; i++)
		if (path_wants_hello(&s->paths[i]))
			d = MIN_OF(d, s->paths[i].hello_ns);
	return d;
}

static uint64_t cookie_make(const struct rudp *r, unsigned port, const struct datagram_addr *src,
			    uint64_t client_number, uint64_t period)
{
	struct {
		uint64_t number, period;
		uint8_t ip[17];
		uint8_t port;
		uint16_t udp;
		uint32_t tag;
	} in = {.number = client_number, .period = period, .port = (uint8_t)port};

	memcpy(in.ip, &src->ip, sizeof(src->ip));
	in.udp = src->port;
	in.tag = 0x636f6f6bU;
	return rudp_hash(r, &in, sizeof(in));
}

/* An answer that stands for itself: a session has none yet, or no more. */
struct answer {
	enum wire_type type; /* CHALLENGE, REFUSE or RESET */
	uint64_t cookie;
	int code;
	char word[WIRE_REFUSE_TEXT_MAX + 1];
};

static void reply(struct rudp *r, unsigned port, const struct datagram_addr *src,
		  const struct wire_common *c, const struct wire_hello *h, const struct answer *a)
{
	struct wire_common out = {
		.type = a->type, .path = c->path, .session = h->client_number, .pn = c->pn};
	struct wire_challenge ch = {.cookie = a->cookie, .identity = r->cfg.identity};
	struct raw_pkt *raw = rudp_raw_add(r, port, src);

	if (!raw)
		return;
	if (a->type == WIRE_CHALLENGE)
		raw->len = (uint8_t)wire_put_challenge(raw->bytes, &out, &ch);
	else if (a->type == WIRE_REFUSE)
		raw->len = (uint8_t)wire_put_refuse(raw->bytes, &out, a->code, a->word);
	else {
		out.session = h->server_number;
		raw->len = (uint8_t)wire_put_common(raw->bytes, &out);
	}
}

static void reply_accept(struct rudp_session *s, unsigned port, const struct datagram_addr *src,
			 const struct wire_common *c)
{
	struct rudp *r = s->r;
	struct wire_common out = {
		.type = WIRE_ACCEPT, .path = c->path, .session = s->peer_number, .pn = c->pn};
	struct wire_accept a = {.server_number = s->number,
				.identity = r->cfg.identity,
				.epoch = r->cfg.epoch,
				.credit = rudp_grant_free_bytes(s),
				.mtu = r->mtu,
				.slots = (uint16_t)s->n_slots,
				.n_addrs = r->n_addrs};
	struct raw_pkt *raw = rudp_raw_add(r, port, src);

	if (!raw)
		return;
	raw->len = (uint8_t)wire_put_accept(raw->bytes, &out, &a);
	raw->with_addrs = true;
}

/* Sessions of former lives of the client end. False: the packet itself is of a former life. */
static bool end_older(struct rudp *r, const struct wire_hello *h)
{
	for (unsigned i = 0; i < r->n_sessions; i++) {
		struct rudp_session *s = r->sessions[i];

		if (!s || s->is_client || s->peer_identity != h->identity)
			continue;
		if ((int32_t)(s->peer_epoch - h->epoch) > 0)
			return false;
		if (s->peer_epoch != h->epoch || s->number == h->server_number)
			rudp_session_end(s, RUDP_SESSION_RESTARTED, -ECONNRESET);
	}
	return true;
}

static struct rudp_session *session_of_client(struct rudp *r, const struct wire_hello *h)
{
	for (unsigned i = 0; i < r->n_sessions; i++) {
		struct rudp_session *s = r->sessions[i];

		if (s && !s->is_client && s->peer_number == h->client_number &&
		    s->peer_identity == h->identity && s->peer_epoch == h->epoch)
			return s;
	}
	return NULL;
}

/* 0; negative errno: refused, with *ret_no's word. */
static int session_accept(struct rudp *r, const struct wire_hello *h, uint64_t now,
			  struct rudp_session **ret, struct answer *ret_no)
{
	struct rudp_session *s;
	int res;

	if (!r->ops->accept)
		return -EOPNOTSUPP;
	res = rudp_session_new(r, false, &s);
	if (res)
		return res;
	s->peer_number = h->client_number;
	s->peer_identity = h->identity;
	s->peer_epoch = h->epoch;
	s->heard_ns = now;
	res = r->ops->accept(r->user, s, h->app, h->app_len, &s->user);
	if (res) {
		memcpy(ret_no->word, s->refusal, sizeof(ret_no->word));
		r->sessions[s->number & 0xfff] = NULL;
		r->n_live--;
		rudp_session_free(s);
		return res < 0 && res >= -4095 ? res : -EPROTO;
	}
	rudp_session_set_mtu(s, h->mtu);
	rudp_call_reset(s, MIN_OF(h->slots, r->lim.calls_per_session), 0);
	s->state = SESSION_UP;
	rudp_session_event(s, RUDP_SESSION_UP, 0, 0);
	*ret = s;
	return s->state == SESSION_UP ? 0 : -ECONNABORTED;
}

/* The client's address is proven; find or make its session. NULL: an answer was sent if due. */
static struct rudp_session *hello_session(struct rudp *r, unsigned port,
					  const struct datagram_addr *src,
					  const struct wire_common *c, const struct wire_hello *h,
					  uint64_t now)
{
	struct rudp_session *s;
	uint64_t period = now / COOKIE_PERIOD_NS;
	struct answer no = {.type = WIRE_REFUSE};
	int res;

	if (c->flags & WIRE_F_JOIN) {
		s = rudp_session_find(r, h->server_number);
		if (s && !s->is_client && s->peer_number == h->client_number)
			return s;
		reply(r, port, src, c, h, &(struct answer){.type = WIRE_RESET});
		return NULL;
	}
	if (h->cookie != cookie_make(r, port, src, h->client_number, period) &&
	    h->cookie != cookie_make(r, port, src, h->client_number, period - 1)) {
		no.type = WIRE_CHALLENGE;
		no.cookie = cookie_make(r, port, src, h->client_number, period);
		reply(r, port, src, c, h, &no);
		return NULL;
	}
	s = session_of_client(r, h);
	if (s)
		return s;
	if (!end_older(r, h))
		return NULL;
	res = session_accept(r, h, now, &s, &no);
	if (res == 0)
		return s;
	no.code = res;
	if (res != -ECONNABORTED)
		reply(r, port, src, c, h, &no);
	return NULL;
}

static int hello_rx(struct rudp *r, unsigned port, const struct datagram_addr *src,
		    const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now)
{
	struct rudp_session *s;
	struct rudp_path *p;
	struct wire_hello h;

	if (wire_get_hello(data, len, &h))
		return -EBADMSG;
	s = hello_session(r, port, src, c, &h, now);
	if (!s)
		return 0;
	p = &s->paths[c->path];
	if (p->state != PATH_NONE && (p->port != port || !rudp_addr_equal(&p->remote, src)))
		return -EBADMSG;
	s->heard_ns = now;
	reply_accept(s, port, src, c);
	if (p->state == PATH_NONE) {
		rudp_path_init(s, c->path, port, src, c->flags & WIRE_F_STANDBY, now);
		p->state = PATH_DOWN;
		if (!p->local_down)
			rudp_path_set_up(s, p, now);
	}
	p->standby = c->flags & WIRE_F_STANDBY;
	rudp_session_touch(s);
	return 0;
}

/* A worker answered a HELLO: go in with the first that does, through all doors that it has. */
static int challenge_rx(struct rudp_session *s, struct rudp_path *p, const uint8_t *data,
			size_t len, uint64_t now)
{
	struct wire_challenge ch;

	if (wire_get_challenge(data, len, &ch) || s->state != SESSION_CONNECTING)
		return -EBADMSG;
	if (ch.identity == s->refused_identity && now < s->refused_ns + HELLO_LATE_NS)
		return 0;
	if (!s->chosen_identity) {
		s->chosen_identity = ch.identity;
		s->chosen_ns = now;
	}
	if (ch.identity != s->chosen_identity)
		return 0;
	if (p->cookie && p->cookie != ch.cookie) { /* ours was refused: it is another life */
		hello_restart(s, now);
		rudp_session_touch(s);
		return 0;
	}
	p->cookie = ch.cookie;
	p->hello_ns = now;
	rudp_session_touch(s);
	return 0;
}

static void accept_list(struct rudp_session *s, const struct wire_accept *a, uint64_t now)
{
	for (unsigned i = 0; i < a->n_addrs; i++) {
		struct datagram_addr remote = {.port = a->addrs[i].port};

		remote.ip.family = a->addrs[i].family == 4 ? AF_INET : AF_INET6;
		memcpy(remote.ip.bytes, a->addrs[i].ip, sizeof(remote.ip.bytes));
		paths_add(s, &remote, i, a->addrs[i].label, now);
	}
}

static void session_accepted(struct rudp_session *s, struct rudp_path *via,
			     const struct wire_accept *a, uint64_t now)
{
	s->peer_number = a->server_number;
	s->peer_identity = a->identity;
	s->peer_epoch = a->epoch;
	s->replaced_number = 0;
	s->refused_identity = 0;
	s->ack_serial = s->peer_ack_serial = 0;
	s->peer_down_mask = 0;
	s->state = SESSION_UP;
	rudp_session_set_mtu(s, a->mtu);
	rudp_call_reset(s, MIN_OF(a->slots, s->r->lim.calls_per_session), a->credit);
	/* Doors of other workers are not ours. */
	for (unsigned i = 0; i < s->n_paths; i++)
		if (&s->paths[i] != via && !s->paths[i].cookie)
			s->paths[i].state = PATH_NONE;
	accept_list(s, a, now);
	rudp_session_event(s, RUDP_SESSION_UP, 0, 0);
}

static int accept_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		     const uint8_t *data, size_t len, uint64_t now)
{
	struct wire_accept a;
	uint32_t rtt_us = (uint32_t)(now / NSEC_PER_USEC) - c->pn;

	if (wire_get_accept(data, len, &a))
		return -EBADMSG;
	if (s->state == SESSION_CONNECTING) {
		if (!s->chosen_identity || a.identity != s->chosen_identity)
			return -EBADMSG;
		session_accepted(s, p, &a, now);
	}
	if (s->state != SESSION_UP)
		return 0;
	if (a.server_number != s->peer_number)
		return -EBADMSG;
	s->heard_ns = now;
	p->hello_again = false;
	if (rtt_us < 1000000 && p->rtt.srtt == 0)
		rudp_path_rtt(p, MAX_OF(rtt_us, 1U) * NSEC_PER_USEC, 0, now);
	if (p->state == PATH_JOINING)
		rudp_path_set_up(s, p, now);
	rudp_session_touch(s);
	return 0;
}

static int refuse_rx(struct rudp_session *s, const struct datagram_addr *src, const uint8_t *data,
		     size_t len, uint64_t now)
{
	char word[WIRE_REFUSE_TEXT_MAX + 1];
	int code;

	if (wire_get_refuse(data, len, &code, word) || s->state != SESSION_CONNECTING ||
	    !s->chosen_identity)
		return -EBADMSG;
	memcpy(s->refusal, word, sizeof(word));
	s->refused_by = *src;
	s->refused_identity = s->chosen_identity;
	s->refused_ns = now;
	choice_drop(s, now + HELLO_LATE_NS);
	rudp_session_touch(s);
	rudp_session_event(s, RUDP_SESSION_REFUSED, 0, code);
	return 0;
}

int rudp_hello_rx(struct rudp *r, unsigned port, const struct datagram_addr *src,
		  const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now)
{
	struct rudp_session *s;
	struct rudp_path *p;

	if (c->type == WIRE_HELLO)
		return hello_rx(r, port, src, c, data, len, now);
	s = rudp_session_find(r, c->session);
	if (!s || !s->is_client)
		return -EBADMSG;
	p = &s->paths[c->path];
	if (p->state == PATH_NONE || p->port != port || !rudp_addr_equal(&p->remote, src))
		return -EBADMSG;
	switch (c->type) {
	case WIRE_CHALLENGE:
		return challenge_rx(s, p, data, len, now);
	case WIRE_ACCEPT:
		return accept_rx(s, p, c, data, len, now);
	case WIRE_REFUSE:
		return refuse_rx(s, src, data, len, now);
	default:
		return -EBADMSG;
	}
}
