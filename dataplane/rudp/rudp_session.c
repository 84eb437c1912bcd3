/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life cycle of a session at either end: creation, reconnection and end, with its calls and memory.
 */
#include "dataplane/rudp/rudp_internal.h"
#include <sys/mman.h>

#define PAGE ((size_t)4096) /* memory page: data used together starts on one */

static uint64_t number_make(struct rudp *r, unsigned index)
{
	uint64_t n;

	do
		n = (rudp_random(r) & ~RUDP_INDEX_MASK) | index;
	while (n <= RUDP_INDEX_MASK);
	return n;
}

void rudp_session_renumber(struct rudp_session *s)
{
	s->number = number_make(s->r, (unsigned)(s->number & RUDP_INDEX_MASK));
}

/* One mapping holds everything of a session: unused parts cost no memory, so thousands of sessions
 * may be idle. */
static struct rudp_session *session_map(struct rudp *r, bool is_client)
{
	size_t calls_at = (sizeof(struct rudp_session) + PAGE - 1) & ~(PAGE - 1);
	size_t rings_at = (calls_at + rudp_call_bytes(r, is_client) + PAGE - 1) & ~(PAGE - 1);
	size_t bytes = rings_at + (size_t)RUDP_PATHS_MAX * RUDP_RING_MAX * sizeof(struct pkt_rec);
	uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct rudp_session *s = (struct rudp_session *)at;

	if (at == MAP_FAILED)
		return NULL;
	(void)madvise(at, bytes, MADV_NOHUGEPAGE); /* a huge page would allocate all of it */
	s->bytes = bytes;
	s->rings = (struct pkt_rec *)(at + rings_at);
	s->is_client = is_client;
	s->r = r;
	rudp_index_init_session(s);
	rudp_call_init(s, at + calls_at);
	return s;
}

int rudp_session_new(struct rudp *r, bool is_client, struct rudp_session **ret)
{
	struct rudp_session *s;
	unsigned index = r->free_from;

	while (index < r->n_sessions && r->sessions[index])
		index++;
	r->free_from = index;
	if (index == r->n_sessions)
		return -ENOSPC;
	s = session_map(r, is_client);
	if (!s)
		return -ENOMEM;
	s->state = SESSION_CONNECTING;
	s->number = number_make(r, index);
	s->last_rx_ns = r->now;
	list_init(&s->dirty_node);
	rudp_grant_peer_init(s);
	s->handshake = calloc(1, sizeof(*s->handshake));
	if (!s->handshake) {
		rudp_session_free(s);
		return -ENOMEM;
	}
	r->sessions[index] = s;
	r->n_live++;
	rudp_session_touch(s);
	*ret = s;
	return 0;
}

void rudp_session_unplace(struct rudp_session *s)
{
	struct rudp *r = s->r;
	unsigned index = (unsigned)(s->number & RUDP_INDEX_MASK);

	r->sessions[index] = NULL;
	r->free_from = MIN_OF(r->free_from, index);
	r->n_live--;
	rudp_index_drop(s);
	list_del(&s->dirty_node);
	s->dirty = false;
	rudp_timer_drop(s);
}

/* The keys of an incarnation end with it. */
static void session_forget(struct rudp_session *s)
{
	if (s->secure)
		rudp_secure_done(s->secure);
	free(ptr_take(s->secure));
}

void rudp_handshake_free(struct rudp_session *s)
{
	if (s->handshake)
		rudp_noise_wipe(s->handshake, sizeof(*s->handshake));
	free(ptr_take(s->handshake));
}

int rudp_session_secure(struct rudp_session *s, enum rudp_security security,
			enum rudp_cipher cipher, const struct rudp_noise_keys *keys)
{
	int res;

	session_forget(s);
	s->secure = calloc(1, sizeof(*s->secure));
	if (!s->secure)
		return -ENOMEM;
	res = rudp_secure_init(s->secure, security, cipher, keys, s->r->lim.phase_packets);
	if (res)
		session_forget(s);
	return res;
}

void rudp_session_free(struct rudp_session *s)
{
	if (!s)
		return;
	session_forget(s);
	rudp_handshake_free(s);
	munmap(s, s->bytes);
}

void rudp_session_set_mtu(struct rudp_session *s, uint16_t peer_mtu)
{
	s->peer_mtu = peer_mtu;
	rudp_path_set_chunk_bytes(s);
}

unsigned rudp_session_index(const struct rudp_session *s)
{
	return (unsigned)(s->number & RUDP_INDEX_MASK);
}

/* The application numbers paths as rudp_session_paths lists them. */
static unsigned path_ordinal(const struct rudp_session *s, unsigned index)
{
	unsigned n = 0;

	for (unsigned i = 0; i < index; i++)
		n += s->paths[i].state != PATH_NONE;
	return n;
}

void rudp_session_event(struct rudp_session *s, enum rudp_event e, unsigned path, int code)
{
	path = path_ordinal(s, path);
	if (s->r->ops->event)
		s->r->ops->event(s->r->user, s, e, path, code);
}

void rudp_session_end(struct rudp_session *s, enum rudp_event e, int status)
{
	struct rudp *r = s->r;

	if (s->state == SESSION_DEAD)
		return;
	s->state = SESSION_DEAD;
	rudp_session_unplace(s);
	s->next_dead = r->dead;
	r->dead = s;
	rudp_session_end_calls(s, status);
	if (e != RUDP_SESSION_CLOSED) /* the reason; then the end */
		rudp_session_event(s, e, 0, status);
	rudp_session_event(s, RUDP_SESSION_CLOSED, 0, status);
}

void rudp_session_reconnect(struct rudp_session *s, enum rudp_event e, uint64_t now)
{
	s->state = SESSION_CONNECTING;
	s->replaced_number = s->peer_number;
	s->peer_number = 0;
	rudp_index_drop(s);
	session_forget(s);
	rudp_hello_start_again(s, now);
	rudp_session_touch(s);
	rudp_session_end_calls(s, -ECONNRESET);
	if (s->state != SESSION_DEAD)
		rudp_session_event(s, e, 0, -ECONNRESET);
}

int rudp_session_seal(struct rudp_session *s, const struct rudp_path *p, const struct datagram *pkt,
		      unsigned counter, uint64_t number)
{
	struct rudp *r = s->r;
	uint32_t bytes = pkt->hdr_len + RUDP_SECURE_BYTES + (uint32_t)pkt->payload_len;
	struct datagram sealed;
	int res;

	if (r->blocked_ports & 1U << p->port)
		return -EAGAIN;
	if (PLENUM_UNLIKELY(r->seal_used + bytes > RUDP_SEAL_BUF_BYTES)) {
		r->again = true;
		return -EAGAIN;
	}
	/* In one piece the packets of a burst follow one another in memory, and the port need not
	 * gather them. */
	res = rudp_secure_seal(s->secure, counter, number, pkt, r->seal_buf + r->seal_used,
			       &sealed);
	res = res ? res : rudp_transmit(r, p->port, &p->remote, &sealed);
	if (res)
		return res;
	rudp_secure_sent(s->secure, counter, number);
	if (rudp_secure_joins(s->secure, pkt))
		r->seal_used += bytes;
	return 0;
}

int rudp_session_raw(struct rudp_session *s, unsigned port, const struct datagram_addr *dst,
		     const struct datagram *pkt, uint64_t number)
{
	struct raw_pkt *raw = rudp_raw_add(s->r, port, dst);
	struct datagram sealed = *pkt;
	int res = 0;

	if (!raw)
		return -EAGAIN;
	if (s->secure)
		res = rudp_secure_seal(s->secure, RUDP_SECURE_CONTROL, number, pkt, NULL, &sealed);
	if (res) {
		s->r->raw_n--;
		return res;
	}
	if (s->secure)
		rudp_secure_sent(s->secure, RUDP_SECURE_CONTROL, number);
	memcpy(raw->bytes, sealed.hdr, sealed.hdr_len);
	raw->len = (uint8_t)sealed.hdr_len;
	return 0;
}

void rudp_session_send_close(struct rudp_session *s)
{
	struct wire_common c = {.type = WIRE_CLOSE, .session = s->peer_number};
	struct datagram pkt = {.payload = NULL};

	if (s->state != SESSION_UP)
		return;
	for (unsigned i = 0; i < s->n_paths; i++) {
		struct rudp_path *p = &s->paths[i];

		if (p->state != PATH_UP)
			continue;
		c.path = p->index;
		c.pn = (uint32_t)++s->ack_serial;
		pkt.hdr_len = (uint16_t)wire_put_common(pkt.hdr, &c);
		(void)rudp_session_raw(s, p->port, &p->remote, &pkt, s->ack_serial);
	}
}

/* Nothing valid arrived for too long: a client reconnects, a server forgets the session. */
static void session_lost(struct rudp_session *s, uint64_t now)
{
	if (s->is_client)
		rudp_session_reconnect(s, RUDP_SESSION_LOST, now);
	else
		rudp_session_end(s, RUDP_SESSION_LOST, -ECONNRESET);
}

/* A live client that takes no response would hold its memory forever. */
void rudp_session_stuck(struct rudp_session *s)
{
	rudp_session_send_close(s);
	rudp_session_end(s, RUDP_SESSION_STUCK, -ECONNRESET);
}

static bool has_src_ports(const struct rudp_session *s, const struct rudp_path *p)
{
	return s->r->cfg.ports[p->port].sources > 0;
}

static uint64_t session_deadline(const struct rudp_session *s)
{
	uint64_t d = s->last_rx_ns + s->r->lim.lost_ns;

	d = MIN_OF(d, s->is_client ? rudp_hello_deadline(s) : rudp_call_deadline(s));
	for (unsigned i = 0; i < s->n_paths; i++)
		d = MIN_OF(d, rudp_path_deadline(s, &s->paths[i]));
	for (unsigned i = 0; i < s->n_paths; i++)
		if (PLENUM_UNLIKELY(has_src_ports(s, &s->paths[i])))
			d = MIN_OF(d, rudp_validate_deadline(&s->paths[i]));
	if (PLENUM_UNLIKELY(rudp_port_addrs_pending(s)))
		d = MIN_OF(d, s->addr_ns);
	return d;
}

static void session_poll_up(struct rudp_session *s, uint64_t now)
{
	if (PLENUM_UNLIKELY(s->handshake &&
			    s->handshake->due)) /* before packets that depend on it */
		rudp_accept_send(s);
	for (unsigned i = 0; i < s->n_paths && s->state == SESSION_UP; i++) {
		s->paths[i].tx_blocked = false;
		rudp_path_poll(s, &s->paths[i], now);
		if (PLENUM_UNLIKELY(s->paths[i].label_pending))
			rudp_label_poll(s, &s->paths[i], now);
		if (PLENUM_UNLIKELY(has_src_ports(s, &s->paths[i])))
			rudp_validate_poll(s, &s->paths[i], now);
	}
	if (s->state == SESSION_UP && PLENUM_UNLIKELY(rudp_port_addrs_pending(s)))
		rudp_port_poll(s, now);
	if (s->state == SESSION_UP && PLENUM_UNLIKELY(s->ask_due))
		rudp_standing_ask(s, now);
	if (s->state == SESSION_UP)
		rudp_call_poll(s, now);
	if (s->state == SESSION_UP && PLENUM_UNLIKELY(rudp_call_stuck(s, now)))
		rudp_session_stuck(s);
	if (s->state != SESSION_UP)
		return;
	rudp_call_activate(s);
	rudp_tx_grants(s, now);
	/* Small messages first: acknowledgements ride on them. Big ones after the rest. */
	rudp_tx_run(s, false, now);
	rudp_rx_send_acks(s, now);
	rudp_tx_run(s, true, now);
}

void rudp_session_poll(struct rudp_session *s, uint64_t now)
{
	if (PLENUM_UNLIKELY(s->key_gone))
		rudp_keys_end(s, now);
	if (PLENUM_UNLIKELY(s->key_gone)) {
		rudp_session_touch(s);
		return;
	}
	if (s->state == SESSION_UP && now >= s->last_rx_ns + s->r->lim.lost_ns)
		session_lost(s, now);
	if (s->state == SESSION_UP)
		session_poll_up(s, now);
	if (s->state == SESSION_DEAD)
		return;
	if (s->is_client)
		rudp_hello_poll(s, now);
	rudp_timer_set(s, s->state == SESSION_UP ? session_deadline(s) : rudp_hello_deadline(s));
	if (s->r->again)
		rudp_session_touch(s);
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

void rudp_session_refuse_with(struct rudp_session *s, const char *word)
{
	size_t n = strnlen(word, WIRE_REFUSE_TEXT_MAX);

	memcpy(s->refusal, word, n);
	s->refusal[n] = '\0';
}

void rudp_session_from(const struct rudp_session *s, struct datagram_addr *ret)
{
	*ret = s->hello_from;
}

const char *rudp_session_refusal(const struct rudp_session *s, struct datagram_addr *ret_from)
{
	*ret_from = s->refused_by;
	return s->refusal;
}
