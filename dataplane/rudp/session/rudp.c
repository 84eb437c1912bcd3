/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The endpoint: its event loop (packets in, timers, packets out), packets without a session, and
 * the public functions.
 */
#include "dataplane/rudp/session/rudp_session_internal.h"

/* Sends the queued replies to packets without a session. If a port is full, its replies wait for
 * the next poll. */
static void raw_flush(struct rudp *r)
{
	for (unsigned i = 0; i < r->raw_n; i++) {
		struct raw_pkt *raw = &r->raw[i];
		struct datagram pkt = {.hdr_len = MIN_OF(raw->len, DATAGRAM_HDR_MAX)};

		memcpy(pkt.hdr, raw->bytes, pkt.hdr_len);
		pkt.payload_len = (uint16_t)(raw->len - pkt.hdr_len);
		pkt.payload = pkt.payload_len ? raw->bytes + pkt.hdr_len : NULL;
		raw->sent = rudp_transmit(r, raw->port, &raw->dst, &pkt) != -EAGAIN;
	}
}

/* Drops the replies that were sent. Call it after the flush of the ports, because the ports read
 * the bytes until then. */
static void raw_forget(struct rudp *r)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < r->raw_n; i++)
		if (!r->raw[i].sent)
			r->raw[kept++] = r->raw[i];
	r->raw_n = kept;
}

static void reap_dead(struct rudp *r)
{
	while (r->depth == 0 && r->dead) {
		struct rudp_session *s = r->dead;

		r->dead = s->next_dead;
		rudp_session_free(s);
	}
}

static void limits_fill(struct rudp_limits *l)
{
#define DEFAULT(field, value) l->field = l->field ? l->field : (value)
	DEFAULT(sessions, 4096);
	DEFAULT(calls_per_session, 128);
	DEFAULT(rx_bytes_per_session, 8U << 20);
	DEFAULT(min_rto_ns, NSEC_PER_MSEC);
	DEFAULT(path_dead_ns, 8 * NSEC_PER_MSEC);
	DEFAULT(hold_ns, NSEC_PER_SEC);
	DEFAULT(keepalive_ns, NSEC_PER_SEC);
	DEFAULT(lost_ns, 5 * NSEC_PER_SEC);
	DEFAULT(stall_ns, NSEC_PER_SEC / 2);
	DEFAULT(answer_ns, 10 * NSEC_PER_SEC);
#undef DEFAULT
	l->rx_bytes_per_session = MAX_OF(l->rx_bytes_per_session, RUDP_MSG_BYTES_MAX);
	l->rx_bytes_per_session = MIN_OF(l->rx_bytes_per_session, 1U << 30);
	l->keepalive_ns = MIN_OF(l->keepalive_ns, l->lost_ns / 4 + 1);
}

static int config_check(const struct rudp_config *cfg)
{
	if (!cfg->ops || cfg->n_ports == 0 || cfg->n_ports > RUDP_PORTS_MAX)
		return -EINVAL;
	if ((unsigned)cfg->security >= RUDP_SECURITY_MAX || cfg->n_keys > RUDP_KEYS_MAX ||
	    (cfg->n_keys == 0) != (cfg->security == RUDP_SECURITY_NONE) ||
	    (cfg->host_key.used && (cfg->n_keys == 0 || cfg->host_key.certificate_len == 0 ||
				    cfg->host_key.certificate_len > RUDP_CERTIFICATE_MAX)))
		return -EINVAL;
	if (cfg->limits.sessions > RUDP_INDEX_MASK + 1 ||
	    cfg->limits.calls_per_session > WIRE_SLOTS_MAX)
		return -EINVAL;
	for (unsigned i = 0; i < cfg->n_ports; i++)
		if (!rudp_port_valid(&cfg->ports[i]))
			return -EINVAL;
	return 0;
}

/* Allocates the memory for sealed packets. config_check() has refused security without keys, and
 * also keys without security, because sessions would then not be protected. */
static int seal_buf_init(struct rudp *r)
{
	if (r->cfg.security == RUDP_SECURITY_NONE)
		return 0;
	r->cipher = rudp_cipher_best();
	r->seal_buf = malloc(RUDP_SEAL_BUF_BYTES); /* pages that are never accessed use no memory */
	return r->seal_buf ? 0 : -ENOMEM;
}

int rudp_new(const struct rudp_config *cfg, uint64_t now_ns, struct rudp **ret)
{
	struct rudp *r;
	uint64_t x = cfg->seed;
	int res = config_check(cfg);

	if (res)
		return res;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->cfg = *cfg;
	r->ops = cfg->ops;
	r->user = cfg->user;
	r->now = r->polled_ns = now_ns;
	r->deadline = r->waited_ns = RUDP_TIME_NEVER;
	limits_fill(&r->cfg.limits);
	r->lim = r->cfg.limits;
	for (unsigned i = 0; i < 2; i++) { /* both halves of the key depend on the seed */
		x += 0x9e3779b97f4a7c15ULL;
		r->key[i] = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL;
	}
	for (unsigned i = 0; i < cfg->n_ports; i++) {
		r->cfg.ports[i].mtu = MIN_OF(cfg->ports[i].mtu, WIRE_PACKET_BYTES_MAX);
		r->mtu = (uint16_t)MAX_OF(r->mtu, r->cfg.ports[i].mtu);
	}
	r->n_sessions = r->lim.sessions;
	list_init(&r->dirty_list);
	list_init(&r->answering);
	r->sessions = calloc(r->n_sessions, sizeof(*r->sessions));
	r->heap = calloc(r->n_sessions, sizeof(*r->heap));
	if (!r->sessions || !r->heap) {
		free(r->sessions);
		free(r->heap);
		free(r);
		return -ENOMEM;
	}
	rudp_grant_init(r);
	if (seal_buf_init(r) || rudp_index_init(r) || rudp_accept_init(r)) {
		rudp_free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

struct rudp *rudp_free(struct rudp *r)
{
	if (!r)
		return NULL;
	for (unsigned i = 0; i < r->n_sessions; i++)
		rudp_session_free(r->sessions[i]);
	r->depth = 0;
	reap_dead(r);
	free(r->sessions);
	free(r->heap);
	free(r->index);
	rudp_hellos_done(r);
	free(r->spent_ns);
	free(r->seal_buf);
	rudp_noise_wipe(r, sizeof(*r)); /* wipe the endpoint, because it contains keys */
	free(r);
	return NULL;
}

/* Answers a packet for an unknown session with a RESET, at a limited rate. The RESET has a token
 * for each of this endpoint's keys. A token proves to the peer that the RESET comes from the host
 * that had the session. */
static int rx_unknown_session(struct rudp *r, unsigned port, const struct datagram_addr *src,
			      const struct wire_common *c, uint64_t now)
{
	struct wire_common reset = {.type = WIRE_RESET, .path = c->path, .session = c->session};
	struct raw_pkt *raw;

	if (c->session == 0)
		return -EBADMSG;
	if (r->reset_tokens_ns + 100 * NSEC_PER_MSEC < now) /* at most 10 RESETs at once, and 100 a
							       second */
		r->reset_tokens_ns = now - 100 * NSEC_PER_MSEC;
	if (r->reset_tokens_ns + 10 * NSEC_PER_MSEC > now)
		return -EBADMSG;
	raw = rudp_raw_add(r, port, src);
	if (raw) {
		raw->len = (uint8_t)wire_put_common(raw->bytes, &reset);
		for (unsigned i = 0; i < MAX_OF(r->cfg.n_keys, 1U); i++) {
			rudp_token_make(r, i, c->session, raw->bytes + raw->len);
			raw->len += WIRE_TOKEN_BYTES;
		}
		r->reset_tokens_ns += 10 * NSEC_PER_MSEC;
	}
	return -EBADMSG;
}

struct reset {
	const uint8_t *tokens;
	size_t len;
};

static bool is_reset_by(const struct rudp_session *s, const void *user)
{
	const struct reset *reset = user;

	for (size_t at = 0; s->state == SESSION_UP && at < reset->len; at += WIRE_TOKEN_BYTES)
		if (rudp_noise_equal(reset->tokens + at, s->peer_token, WIRE_TOKEN_BYTES))
			return true;
	return false;
}

static int rx_reset(struct rudp *r, const struct wire_common *c, const uint8_t *data, size_t len,
		    uint64_t now)
{
	struct reset reset = {.tokens = data + WIRE_COMMON_BYTES, .len = len - WIRE_COMMON_BYTES};
	struct rudp_session *s;

	if (len <= WIRE_COMMON_BYTES || reset.len > WIRE_TOKENS_MAX * WIRE_TOKEN_BYTES ||
	    reset.len % WIRE_TOKEN_BYTES)
		return -EBADMSG;
	s = rudp_index_number(r, c->session, is_reset_by, &reset);
	if (!s)
		return -EBADMSG;
	if (s->is_client)
		rudp_session_reconnect(s, RUDP_SESSION_RESTARTED, now);
	else
		rudp_session_end(s, RUDP_SESSION_RESTARTED, -ECONNRESET);
	return 0;
}

/* Handles a packet of another protocol version. Answers a HELLO with the versions that this
 * endpoint supports. VERSIONS, the answer of this kind from a peer, counts as a refusal. Any other
 * packet is malformed. */
static int rx_foreign(struct rudp *r, unsigned port, const struct datagram_addr *src,
		      const uint8_t *data, size_t len, uint64_t now)
{
	if (wire_is_foreign_hello(data, len)) {
		rudp_accept_versions(r, port, src, data);
		return -EBADMSG;
	}
	return rudp_hello_versions(r, port, src, data, len, now);
}

static int rx_dispatch(struct rudp *r, unsigned port, const struct datagram_addr *src,
		       const uint8_t *data, size_t len, uint64_t now)
{
	struct wire_common c;
	struct rudp_session *s;

	if (port >= r->cfg.n_ports)
		return -EBADMSG;
	if (PLENUM_UNLIKELY(wire_get_common(data, len, &c)))
		return rx_foreign(r, port, src, data, len, now);
	switch (c.type) {
	case WIRE_HELLO:
		return rudp_accept_hello(r, port, src, &c, data, len, now);
	case WIRE_DATA:
	case WIRE_ACK:
	case WIRE_PING:
	case WIRE_GRANT:
	case WIRE_CLOSE:
	case WIRE_JOIN:
	case WIRE_JOINED:
	case WIRE_LABEL:
	case WIRE_SHARE:
		s = rudp_session_find(r, c.session);
		if (s && s->state == SESSION_UP && c.type == WIRE_JOIN)
			return rudp_rx_join(s, port, src, &c, data, len, now);
		if (PLENUM_LIKELY(s && s->state == SESSION_UP))
			return rudp_rx_packet(s, port, src, &c, data, len, now);
		return s ? -EBADMSG : rx_unknown_session(r, port, src, &c, now);
	case WIRE_RESET:
		return rx_reset(r, &c, data, len, now);
	default:
		return rudp_hello_rx(r, port, src, &c, data, len, now);
	}
}

int rudp_rx(struct rudp *r, unsigned port, const struct datagram_addr *src, const void *data,
	    size_t len, uint64_t now_ns)
{
	int res;

	r->depth++;
	r->now = now_ns;
	res = rx_dispatch(r, port, src, data, len, now_ns);
	if (res)
		r->drops++;
	r->depth--;
	reap_dead(r);
	return res ? -EBADMSG : 0;
}

void rudp_rx_waited(struct rudp *r, uint64_t ns)
{
	r->waited_ns = ns;
}

void rudp_ack_at_once(struct rudp *r, bool rests)
{
	r->rests = rests;
}

void rudp_tx_stamp(struct rudp *r, unsigned port, uint64_t now_ns)
{
	for (unsigned i = 0; i < r->n_bursts; i++) {
		const struct gso_burst *t = &r->bursts[i];

		if (t->path->port == port)
			rudp_sent_stamp(&t->path->sent, t->first_pn, t->n, now_ns);
	}
}

bool rudp_tx_wants_stamp(const struct rudp *r)
{
	return r->n_bursts > 0;
}

/* Polls each session in dirty_list once. Sessions that are added meanwhile are polled in the next
 * poll. */
static void sessions_poll(struct rudp *r, uint64_t now)
{
	struct list turn;

	if (list_empty(&r->dirty_list))
		return;
	list_add_tail(&r->dirty_list, &turn);
	list_del(&r->dirty_list);
	while (!list_empty(&turn)) {
		struct rudp_session *s = list_entry(turn.next, struct rudp_session, dirty_node);

		list_del(&s->dirty_node);
		s->dirty = false;
		rudp_session_poll(s, now);
	}
}

bool rudp_poll(struct rudp *r, uint64_t now_ns)
{
	bool late;

	r->now = now_ns;
	r->polled_ns = now_ns;
	if (!r->dirty && r->raw_n == 0 && now_ns < r->deadline)
		return false;
	r->depth++;
	r->dirty = false;
	r->again = false;
	r->blocked_ports = 0;
	r->sent_in_poll = 0;
	r->n_polls++;
	r->deadline = RUDP_TIME_NEVER;
	raw_flush(r);
	rudp_grant_run(r, now_ns);
	late = rudp_timer_run(r, now_ns);
	rudp_standing_run(r, now_ns);
	sessions_poll(r, now_ns);
	r->dirty = late || !list_empty(&r->dirty_list);
	r->deadline = MIN_OF(rudp_grant_deadline(r), rudp_timer_next(r));
	r->deadline = MIN_OF(r->deadline, rudp_standing_deadline(r, now_ns));
	if (r->sent_in_poll)
		rudp_flush(r);
	raw_forget(r);
	r->depth--;
	reap_dead(r);
	return r->again || r->dirty;
}

uint64_t rudp_deadline(const struct rudp *r)
{
	return r->dirty || r->raw_n ? 0 : r->deadline;
}

uint64_t rudp_rx_drops(const struct rudp *r)
{
	return r->drops;
}

void rudp_too_big(struct rudp *r, unsigned port, const struct datagram_addr *dst, uint32_t bytes,
		  uint64_t now_ns)
{
	r->depth++;
	r->now = now_ns;
	for (unsigned i = 0; i < r->n_sessions; i++) {
		struct rudp_session *s = r->sessions[i];

		for (unsigned k = 0; s && s->state == SESSION_UP && k < s->n_paths; k++) {
			struct rudp_path *p = &s->paths[k];

			if (p->state == PATH_UP && p->port == port &&
			    rudp_addr_equal(&p->remote, dst))
				rudp_path_too_big(s, p, bytes, now_ns);
		}
	}
	r->depth--;
	reap_dead(r);
}

void rudp_port_set_up(struct rudp *r, unsigned port, bool up, uint64_t now_ns)
{
	if (port >= r->cfg.n_ports || r->cfg.ports[port].up == up)
		return;
	r->depth++;
	r->now = now_ns;
	r->cfg.ports[port].up = up;
	for (unsigned i = 0; i < r->n_sessions; i++) {
		struct rudp_session *s = r->sessions[i];

		for (unsigned k = 0; s && k < s->n_paths; k++) {
			struct rudp_path *p = &s->paths[k];

			if (p->state == PATH_NONE || p->port != port || s->state == SESSION_DEAD)
				continue;
			p->local_down = !up;
			p->probe_ns = now_ns;
			p->hello_ns = now_ns;
			if (!up)
				rudp_path_set_down(s, p, -ENETDOWN, now_ns);
			s->state_due = true;
			rudp_session_touch(s);
		}
	}
	r->depth--;
	reap_dead(r);
}

unsigned rudp_session_count(const struct rudp *r)
{
	return r->n_live;
}

unsigned rudp_session_table(const struct rudp *r)
{
	return r->n_sessions;
}

static struct rudp_session *live_at(const struct rudp *r, unsigned index)
{
	struct rudp_session *s = index < r->n_sessions ? r->sessions[index] : NULL;

	return s && s->state != SESSION_DEAD ? s : NULL;
}

const struct rudp_session *rudp_session_at(const struct rudp *r, unsigned index)
{
	return live_at(r, index);
}

struct rudp_session *rudp_session_next(struct rudp *r, struct rudp_session *prev)
{
	unsigned i = prev ? (unsigned)(prev->number & RUDP_INDEX_MASK) + 1 : 0;

	for (; i < r->n_sessions; i++)
		if (live_at(r, i))
			return r->sessions[i];
	return NULL;
}

int rudp_connect(struct rudp *r, const struct datagram_addr *addrs, unsigned n_addrs,
		 const void *hello, size_t hello_len, void *session_user, uint64_t now_ns,
		 struct rudp_session **ret)
{
	struct rudp_session *s;
	int res;

	if (n_addrs == 0 || n_addrs > RUDP_SEEDS_MAX || hello_len > WIRE_HELLO_APP_MAX)
		return -EINVAL;
	for (unsigned i = 0; i < n_addrs; i++)
		if ((addrs[i].ip.family != AF_INET && addrs[i].ip.family != AF_INET6) ||
		    addrs[i].port == 0)
			return -EINVAL;
	r->now = now_ns;
	res = rudp_session_new(r, true, &s);
	if (res)
		return res;
	s->user = session_user;
	memcpy(s->seeds, addrs, n_addrs * sizeof(*addrs));
	s->n_seeds = n_addrs;
	if (hello_len)
		memcpy(s->hello, hello, hello_len);
	s->hello_len = (uint16_t)hello_len;
	rudp_hello_start(s, now_ns);
	rudp_session_touch(s);
	*ret = s;
	return 0;
}

void rudp_session_close(struct rudp_session *s, uint64_t now_ns)
{
	struct rudp *r = s->r;

	if (s->state == SESSION_DEAD)
		return;
	r->depth++;
	r->now = now_ns;
	rudp_session_send_close(s);
	rudp_session_end(s, RUDP_SESSION_CLOSED, -ECANCELED);
	r->depth--;
	reap_dead(r);
}

void *rudp_session_user(const struct rudp_session *s)
{
	return s->user;
}

enum rudp_security rudp_session_security(const struct rudp_session *s)
{
	return s->secure ? s->secure->mode : RUDP_SECURITY_NONE;
}

bool rudp_session_key(const struct rudp_session *s, bool in, struct rudp_session_key *ret)
{
	const uint8_t *key;

	if (!s->secure || s->secure->mode != RUDP_ENCRYPT)
		return false;
	rudp_secure_key(s->secure, in, &ret->phase, &key);
	memcpy(ret->key, key, sizeof(ret->key));
	ret->number = in ? s->number : s->peer_number;
	ret->cipher = s->secure->cipher;
	return true;
}

bool rudp_session_is_up(const struct rudp_session *s)
{
	return s->state == SESSION_UP;
}

uint64_t rudp_session_peer(const struct rudp_session *s, uint32_t *ret_epoch)
{
	if (ret_epoch)
		*ret_epoch = s->peer_epoch;
	return s->peer_identity;
}

static bool is_swapped(const struct rudp *r, const struct rudp_path *p)
{
	const struct rudp_port_info *ports = r->cfg.ports;

	if (!p->peer_label || !ports[p->port].label || ports[p->port].label == p->peer_label)
		return false;
	for (unsigned i = 0; i < r->cfg.n_ports; i++)
		if (ports[i].label == p->peer_label)
			return true;
	return false;
}

static void path_info(const struct rudp_session *s, const struct rudp_path *p,
		      struct rudp_path_info *ret)
{
	*ret = (struct rudp_path_info){
		.port = p->port,
		.remote = p->remote,
		.up = p->state == PATH_UP,
		.standby = p->standby,
		.swapped = is_swapped(s->r, p),
		.joining = p->state == PATH_JOINING,
		.suspect = p->state == PATH_UP && p->timed_out,
		.srtt_ns = p->rtt.srtt,
		.rto_ns = rudp_path_rto(s, p),
		.cwnd_bytes = p->cc.cwnd,
		.in_flight_bytes = p->sent.in_flight,
		.mtu = p->mtu.cur,
		.mtu_found = p->mtu.found,
		.mtu_most = p->mtu.max,
		.alone = rudp_gso_is_off(&p->gso, s->r->now),
		.sources = (uint8_t)(1 + __builtin_popcount(p->src_ports.usable)),
		.sources_lost = p->src_ports.lost,
		.tx_packets = p->tx_packets,
		.tx_bytes = p->tx_bytes,
		.rx_packets = p->rx_packets,
		.rx_bytes = p->rx_bytes,
		.lost_packets = p->lost_packets,
		.retransmits = p->retransmits,
		.failovers = p->failovers,
		.loss_out_ppm = rudp_loss_share(&p->quality.out),
		.loss_in_ppm = rudp_loss_share(&p->quality.in),
		.lossy_out = p->quality.out.lossy_ppm != 0,
		.lossy_in = p->quality.in.lossy_ppm != 0,
		.avoided = p->quality.avoided,
		.slow_ns = p->latency.slow,
		.slow_than_ns = p->latency.than,
		.slow_port = p->latency.than_port == RUDP_LATENCY_OWN_PAST
				     ? RUDP_PORTS_MAX
				     : (unsigned)p->latency.than_port,
		.rtt_at_ns = p->rtt_at_ns,
		.rx_lost_packets = p->quality.in_lost,
		.peer_srtt_ns = p->quality.peer_srtt_us * NSEC_PER_USEC,
		.last_pause_ns = p->last_pause_ns,
		.since_ns = p->since_ns,
		.heard_ns = p->rx_packets ? p->last_rx_ns : 0,
	};
}

bool rudp_session_answers(const struct rudp_session *s)
{
	for (unsigned i = 0; i < RUDP_PATHS_MAX; i++)
		if (s->paths[i].state == PATH_UP)
			return true;
	return false;
}

uint64_t rudp_session_heard_ns(const struct rudp_session *s)
{
	return s->last_rx_ns;
}

uint64_t rudp_session_since_ns(const struct rudp_session *s)
{
	return s->state == SESSION_UP ? s->up_ns : s->connecting_ns;
}

void rudp_session_calls(const struct rudp_session *s, uint32_t *ret_in_flight,
			uint32_t *ret_waiting)
{
	*ret_in_flight = s->is_client && s->state == SESSION_UP ? s->n_active : 0;
	*ret_waiting = s->is_client ? s->wait_small.tail - s->wait_small.head + s->wait_big.tail -
					      s->wait_big.head
				    : 0;
}

unsigned rudp_session_paths(const struct rudp_session *s, struct rudp_path_info *ret, unsigned max)
{
	unsigned n = 0;

	for (unsigned i = 0; i < RUDP_PATHS_MAX && n < max; i++)
		if (s->paths[i].state != PATH_NONE)
			path_info(s, &s->paths[i], &ret[n++]);
	return n;
}
