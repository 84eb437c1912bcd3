/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests and responses: slots, generations, and the storage of received chunks. rudp_grant.c
 * decides the order of big requests.
 */
#include "dataplane/rudp/rudp_internal.h"

/* A client counts as stuck if, within limits.answer_ns, it leaves a response unacknowledged and
 * acknowledges fewer bytes of responses than this. In the default time, a link of 100 Mb/s carries
 * this many bytes for each of about sixty clients. */
#define ANSWERS_BYTES_MIN (2U << 20)

static uint32_t ring_size(unsigned n)
{
	uint32_t size = 1;

	while (size < n)
		size <<= 1;
	return size;
}

static uint32_t ring_count(const struct wait_ring *w)
{
	return w->tail - w->head;
}

/* Returns twice the slots: a cancelled call may still run while a new call uses its slot. */
static unsigned calls_count(unsigned n_slots)
{
	return 2 * n_slots;
}

size_t rudp_call_bytes(const struct rudp *r, bool is_client)
{
	unsigned n = r->lim.calls_per_session;
	size_t rest = is_client ? 2 * ring_size(n) * sizeof(struct waiting)
				: calls_count(n) * sizeof(struct rudp_call);

	return n * sizeof(struct slot) + rest;
}

void rudp_call_init(struct rudp_session *s, uint8_t *memory)
{
	unsigned n = s->r->lim.calls_per_session;

	for (unsigned q = 0; q < TX_QUEUE_MAX; q++)
		list_init(&s->tx[q]);
	s->slots = (struct slot *)memory;
	memory += n * sizeof(*s->slots);
	if (s->is_client) {
		s->wait_small.mask = s->wait_big.mask = ring_size(n) - 1;
		s->wait_small.w = (struct waiting *)memory;
		s->wait_big.w = s->wait_small.w + ring_size(n);
		return;
	}
	s->n_calls = calls_count(n);
	s->calls = (struct rudp_call *)memory;
}

void rudp_call_reset(struct rudp_session *s, unsigned n_slots, uint32_t free_bytes)
{
	s->n_slots = n_slots;
	s->n_fresh = 0;
	s->free_slots = NULL;
	s->n_active = s->n_active_big = 0;
	s->free_used = 0;
	s->free_most = free_bytes;
	rudp_grant_peer_init(s);
	list_init(&s->answers);
}

/* Returns slot `index`. Slots are initialised in order, at their first use in an incarnation. */
static struct slot *slot_at(struct rudp_session *s, unsigned index)
{
	while (s->n_fresh <= index) {
		struct slot *slot = &s->slots[s->n_fresh];

		memset(slot, 0, sizeof(*slot));
		slot->index = (uint16_t)s->n_fresh++;
		list_init(&slot->tx.node);
		list_init(&slot->in.node);
		list_init(&slot->in.grant_node);
		list_init(&slot->answer);
	}
	return &s->slots[index];
}

static bool slot_is_free(const struct rudp_session *s)
{
	return s->free_slots || s->n_fresh < s->n_slots;
}

static struct slot *slot_take(struct rudp_session *s)
{
	struct slot *slot = s->free_slots;

	if (!slot)
		return slot_at(s, s->n_fresh);
	s->free_slots = slot->next_free;
	return slot;
}

static void tx_start(struct rudp_session *s, struct slot *slot, const void *msg, uint32_t len)
{
	struct tx_msg *m = &slot->tx;

	m->data = msg;
	m->len = len;
	m->chunk_bytes = s->chunk_bytes;
	m->n_chunks = (uint16_t)wire_chunks(len, m->chunk_bytes);
	m->next_chunk = m->n_lost = m->n_acked = 0;
	m->allowed_chunks = m->n_chunks;
	m->announce = false;
	m->granted = true;
	m->active = true;
	m->turn = len > RUDP_SMALL_BYTES ? s->turn++ : 0;
	m->chunks[0] = (struct chunk_word){0};
	if (m->n_chunks > 64)
		memset(m->chunks, 0, (m->n_chunks + 63U) / 64 * sizeof(m->chunks[0]));
}

static void rx_drop(struct rudp_session *s, struct slot *slot)
{
	struct rx_msg *m = &slot->rx;
	void *buf = m->buf;

	if (!m->active)
		return;
	m->active = false;
	m->buf = NULL;
	if (buf)
		s->r->ops->buf_put(s->r->user, s, buf);
}

/* Client */

static bool is_big(uint32_t len)
{
	return len > WIRE_SMALL_BYTES;
}

static void free_return(struct rudp_session *s, struct slot *slot)
{
	s->free_used -= slot->free_bytes;
	slot->free_bytes = 0;
}

/* Starts to send a request. A big request is announced first. by_chunks: its first chunks are sent
 * as the announcement, if the server allows bytes without a grant. */
static void call_start(struct rudp_session *s, struct slot *slot, const void *msg, uint32_t len,
		       bool by_chunks)
{
	struct tx_msg *m = &slot->tx;

	slot->gen++;
	tx_start(s, slot, msg, len);
	if (slot->big) {
		uint32_t left = s->free_most > s->free_used ? s->free_most - s->free_used : 0;

		m->allowed_chunks =
			(uint16_t)MIN_OF(m->n_chunks, by_chunks ? left / m->chunk_bytes : 0);
		m->announce = m->allowed_chunks == 0;
		m->granted = false;
		slot->free_bytes = (uint32_t)m->allowed_chunks * m->chunk_bytes;
		s->free_used += slot->free_bytes;
	}
	rudp_tx_queue(s, m);
}

static void slot_put(struct rudp_session *s, struct slot *slot)
{
	s->n_active_big -= slot->big;
	free_return(s, slot);
	slot->state = SLOT_IDLE;
	slot->next_free = s->free_slots;
	s->free_slots = slot;
	s->n_active--;
	rudp_session_touch(s);
}

static void activate(struct rudp_session *s, const struct waiting *w)
{
	struct slot *slot = slot_take(s);

	s->n_active++;
	slot->state = SLOT_CALLING;
	slot->cookie = w->cookie;
	slot->rx.active = false;
	slot->big = is_big(w->len);
	s->n_active_big += slot->big;
	call_start(s, slot, w->msg, w->len, true);
}

static void activate_waiting(struct rudp_session *s, struct wait_ring *ring)
{
	activate(s, &ring->w[ring->head++ & ring->mask]);
}

/* Big requests leave a quarter of the slots to small requests. */
static bool big_may_start(const struct rudp_session *s)
{
	return ring_count(&s->wait_big) && s->n_active_big < MAX_OF(s->n_slots * 3 / 4, 1U);
}

static bool small_may_start(const struct rudp_session *s)
{
	return s->state == SESSION_UP && slot_is_free(s);
}

void rudp_call_activate(struct rudp_session *s)
{
	if (!s->is_client || s->state != SESSION_UP)
		return;
	while (small_may_start(s) && ring_count(&s->wait_small))
		activate_waiting(s, &s->wait_small);
	while (slot_is_free(s) && big_may_start(s))
		activate_waiting(s, &s->wait_big);
}

void rudp_call_set_free(struct rudp_session *s, uint32_t bytes)
{
	s->free_most = bytes;
}

void rudp_call_granted(struct rudp_session *s, const struct wire_grant *g)
{
	struct slot *slot = g->slot < s->n_fresh ? &s->slots[g->slot] : NULL;
	struct tx_msg *m;

	if (!slot || slot->state != SLOT_CALLING || slot->gen != g->gen || slot->rx.active)
		return;
	m = &slot->tx;
	free_return(s, slot);
	rudp_session_touch(s);
	if (g->again) { /* send the request again as a new generation, so that acknowledgements of
			   the old chunks do not count */
		rudp_tx_drop(m);
		call_start(s, slot, m->data, m->len, false);
		return;
	}
	m->allowed_chunks = m->n_chunks;
	m->announce = false;
	m->granted = true;
	rudp_tx_queue(s, m);
}

int rudp_call_send(struct rudp_session *s, const void *msg, size_t len, uint64_t cookie)
{
	const struct waiting w = {.msg = msg, .len = (uint32_t)len, .cookie = cookie};
	struct wait_ring *ring;

	if (!s->is_client || len == 0)
		return -EINVAL;
	if (len > RUDP_MSG_BYTES_MAX)
		return -EMSGSIZE;
	if (s->state == SESSION_DEAD)
		return -ENOTCONN;
	if (ring_count(&s->wait_small) + ring_count(&s->wait_big) >= s->r->lim.calls_per_session)
		return -ENOBUFS;
	ring = is_big((uint32_t)len) ? &s->wait_big : &s->wait_small;
	rudp_session_touch(s);
	if (ring == &s->wait_small && !ring_count(ring) && small_may_start(s)) {
		activate(s, &w);
		return 0;
	}
	ring->w[ring->tail++ & ring->mask] = w;
	rudp_call_activate(s);
	return 0;
}

/* Server */

static void call_put(struct rudp_session *s, struct rudp_call *call)
{
	call->in_use = false;
	call->slot = NULL;
	call->next = s->free_calls;
	s->free_calls = call;
}

/* Call when the memory of a request was released: its bytes no longer count for the peer. */
static void held_release(struct rudp_session *s, struct rudp_call *call)
{
	s->grants.held_bytes -= call->held_bytes;
	call->held_bytes = 0;
	rudp_grant_again(s->r);
}

static void receiving_drop(struct rudp_session *s, struct slot *slot)
{
	rudp_grant_end(s, slot);
	rx_drop(s, slot);
	if (!slot->call)
		return;
	held_release(s, slot->call);
	call_put(s, slot->call);
	slot->call = NULL;
}

static void slot_sent(struct rudp_session *s, struct slot *slot)
{
	void *token = slot->token;

	rudp_tx_drop(&slot->tx);
	rudp_answer_remove(s, &slot->answer);
	slot->state = SLOT_IDLE;
	slot->token = NULL;
	s->r->ops->sent(s->r->user, s, token);
}

/* Ends the previous use of the slot, because a newer generation has begun in it. */
static void slot_retire(struct rudp_session *s, struct slot *slot)
{
	switch (slot->state) {
	case SLOT_ANNOUNCED:
	case SLOT_DISCARDED:
		rudp_grant_end(s, slot);
		break;
	case SLOT_RECEIVING:
		receiving_drop(s, slot);
		break;
	case SLOT_EXECUTING:
		slot->call->slot = NULL;
		slot->call = NULL;
		break;
	case SLOT_RESPONDING:
		s->acked_ns = s->r->now;
		slot_sent(s, slot);
		break;
	default:
		break;
	}
	slot->state = SLOT_IDLE;
}

void rudp_respond(struct rudp_call *call, const void *msg, size_t len, void *token)
{
	struct rudp_session *s = call->s;
	struct slot *slot = call->slot;

	held_release(s, call);
	rudp_session_touch(s);
	if (!slot) { /* the client has cancelled the call, so the next poll calls `sent` */
		call->in_use = false;
		call->token = token;
		call->next = s->abandoned_calls;
		s->abandoned_calls = call;
		return;
	}
	slot->call = NULL;
	slot->token = token;
	slot->state = SLOT_RESPONDING;
	slot->answer_ns = 0;
	rudp_answer_add(s, &slot->answer);
	call_put(s, call);
	tx_start(s, slot, msg, len > RUDP_MSG_BYTES_MAX ? 0 : (uint32_t)len);
	rudp_tx_queue(s, &slot->tx);
}

void rudp_call_set_user(struct rudp_call *call, void *user)
{
	call->user = user;
}

void *rudp_call_user(const struct rudp_call *call)
{
	return call->user;
}

struct rudp_session *rudp_call_session(const struct rudp_call *call)
{
	return call->s;
}

/* Hands back the responses of calls that the client has cancelled. */
static void abandoned_release(struct rudp_session *s)
{
	struct rudp_call *call = s->abandoned_calls;
	void *token = call->token;

	s->abandoned_calls = call->next;
	call_put(s, call);
	s->r->ops->sent(s->r->user, s, token);
}

/* Sets when new responses began. The application may answer long after the last time that rudp was
 * given, so a response begins at the first poll after it. */
static void answers_stamp(struct rudp_session *s, uint64_t now)
{
	for (struct list *l = s->answers.prev; l != &s->answers; l = l->prev) {
		struct slot *slot = list_entry(l, struct slot, answer);

		if (slot->answer_ns)
			return;
		slot->answer_ns = now;
	}
	s->answers_ns = now;
	s->answers_bytes = 0;
}

uint64_t rudp_call_deadline(const struct rudp_session *s)
{
	const struct slot *oldest = list_entry(s->answers.next, const struct slot, answer);

	if (list_empty(&s->answers) || !oldest->answer_ns)
		return RUDP_TIME_NEVER;
	return MAX_OF(oldest->answer_ns, s->answers_ns) + s->r->lim.answer_ns;
}

/* Counts acknowledged bytes, not the age of a response: if many clients share a slow link, a
 * response may take long although its client acknowledges all that arrives. */
bool rudp_call_stuck(struct rudp_session *s, uint64_t now)
{
	if (now < rudp_call_deadline(s))
		return false;
	if (s->answers_bytes < ANSWERS_BYTES_MIN)
		return true;
	s->answers_ns = now;
	s->answers_bytes = 0;
	return false;
}

void rudp_call_poll(struct rudp_session *s, uint64_t now)
{
	while (s->abandoned_calls && s->state == SESSION_UP)
		abandoned_release(s);
	answers_stamp(s, now);
}

/* Both */

/* Begins the message that rx_describe() recorded, with a new buffer. Returns 0 or -ENOBUFS. */
static int rx_begin(struct rudp_session *s, struct slot *slot)
{
	struct rx_msg *m = &slot->rx;
	uint32_t len = m->len;

	m->buf = NULL;
	if (len) {
		m->buf = s->r->ops->buf_get(s->r->user, s, s->is_client,
					    s->is_client ? slot->cookie : 0, len);
		if (!m->buf)
			return -ENOBUFS;
	}
	m->active = true;
	m->n_got = 0;
	if (m->n_chunks > 1)
		memset(m->got, 0, sizeof(m->got));
	return 0;
}

static void rx_describe(struct rx_msg *m, const struct wire_data *d)
{
	m->len = d->msg_len;
	m->chunk_bytes = d->chunk_bytes;
	m->n_chunks = d->n_chunks;
	m->n_got = 0;
}

/*
 * The next packet probably has the next chunk. Prefetch the chunk's memory: it is loaded while the
 * packet's tag is verified, which accesses no other memory. Without tags, prefetching gains
 * nothing.
 */
/* A packet with a smaller payload (in bytes) is probably the last one of its message for now. */
#define PREFETCH_MIN 512U
#define LINE_BYTES 64U

static void prefetch_next(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i += LINE_BYTES)
		__builtin_prefetch(p + i, 1);
}

/* Records the chunks as received. Returns how many are new. */
static unsigned chunks_note(struct rx_msg *m, const struct wire_data *d)
{
	unsigned fresh = 0;

	if (m->n_chunks == 1) /* the message is complete, so nothing reads `got` */
		return 1;
	for (unsigned i = d->chunk_index; i < d->chunk_index + d->n_carried; i++) {
		uint64_t bit = 1ULL << (i & 63);

		fresh += !(m->got[i >> 6] & bit);
		m->got[i >> 6] |= bit;
	}
	return fresh;
}

/* Stores chunks. Returns 1 if the message is complete now, else 0, or -ENOBUFS or -EBADMSG. */
static int chunk_store(struct rudp_session *s, struct slot *slot, const struct wire_data *d)
{
	const size_t offset = (size_t)d->chunk_index * d->chunk_bytes;
	struct rx_msg *m = &slot->rx;
	unsigned fresh;

	if (!m->active) {
		rx_describe(m, d);
		if (rx_begin(s, slot))
			return -ENOBUFS;
	} else if (m->len != d->msg_len || m->chunk_bytes != d->chunk_bytes) {
		return -EBADMSG;
	}
	fresh = chunks_note(m, d);
	if (fresh == 0)
		return 0;
	if (d->payload_len) /* chunks that were received before are overwritten with equal bytes */
		memcpy(m->buf + offset, d->payload, d->payload_len);
	if (s->secure && d->payload_len >= PREFETCH_MIN)
		prefetch_next(m->buf + offset + d->payload_len,
			      MIN_OF((size_t)d->payload_len, m->len - offset - d->payload_len));
	m->n_got = (uint16_t)(m->n_got + fresh);
	return m->n_got == m->n_chunks;
}

static int response_rx(struct rudp_session *s, struct slot *slot, const struct wire_data *d)
{
	struct rx_msg *m = &slot->rx;
	void *buf;
	int res;

	rudp_call_set_free(s, d->credit);
	if (slot->state != SLOT_CALLING || d->gen != slot->gen)
		return 0;
	rudp_tx_drop(&slot->tx); /* a response also acknowledges its request */
	res = chunk_store(s, slot, d);
	if (res <= 0)
		return res;
	buf = m->buf;
	m->active = false;
	m->buf = NULL;
	slot_put(s, slot);
	s->r->ops->response(s->r->user, s, slot->cookie, 0, buf, m->len);
	return 0;
}

static struct rudp_call *call_at(struct rudp_session *s, unsigned i)
{
	return i < RUDP_FIRST_CALLS ? &s->first_calls[i] : &s->calls[i];
}

static bool call_is_free(const struct rudp_session *s)
{
	return s->free_calls || s->n_fresh_calls < s->n_calls;
}

static bool call_take(struct rudp_session *s, struct slot *slot, uint32_t held)
{
	struct rudp_call *call = s->free_calls;

	if (!call_is_free(s))
		return false;
	if (call) {
		s->free_calls = call->next;
	} else {
		call = call_at(s, s->n_fresh_calls++);
		call->s = s;
	}
	call->in_use = true;
	call->slot = slot;
	call->user = NULL;
	call->held_bytes = held;
	s->grants.held_bytes += held;
	slot->call = call;
	slot->state = SLOT_RECEIVING;
	return true;
}

bool rudp_call_reserve(struct rudp_session *s, struct slot *slot)
{
	struct grant_peer *g = &s->grants;
	uint32_t len = slot->rx.len;

	if (!call_is_free(s) || g->held_bytes + len > s->r->lim.rx_bytes_per_session)
		return false;
	if (rx_begin(s, slot)) {
		s->r->grants.short_of_memory = true;
		return false;
	}
	return call_take(s, slot, len);
}

void rudp_call_discard(struct rudp_session *s, struct slot *slot)
{
	receiving_drop(s, slot);
	slot->state = SLOT_DISCARDED;
	rudp_grant_queue(s, slot);
}

/* Starts to receive a new request. Returns 0 or -ENOBUFS. */
static int request_begin(struct rudp_session *s, struct slot *slot, const struct wire_data *d)
{
	if (!is_big(d->msg_len) && !call_is_free(s))
		return -ENOBUFS;
	slot->gen = d->gen;
	slot->rx.active = false;
	rx_describe(&slot->rx, d);
	if (!is_big(d->msg_len)) {
		call_take(s, slot, 0);
		return 0;
	}
	slot->state = SLOT_ANNOUNCED;
	rudp_grant_announced(s, slot);
	return 0;
}

/* If a granted request is announced again, the grant was lost, so sends it again. */
static int announce_rx(struct rudp_session *s, struct slot *slot)
{
	if (slot->state == SLOT_RECEIVING && slot->in.granted)
		rudp_grant_queue(s, slot);
	return 0;
}

/* Stores chunks of a request by chunk_store(), and updates the accounting of grants. */
static int request_store(struct rudp_session *s, struct slot *slot, const struct wire_data *d)
{
	bool first = !slot->rx.active;
	uint16_t had = slot->rx.n_got;
	int res;

	/* The chunk arrived before the request was granted. Accept it, unless other requests wait
	 * for the memory. */
	if (slot->state == SLOT_ANNOUNCED) {
		if (s->r->grants.short_of_memory || !rudp_call_reserve(s, slot))
			return -ENOBUFS;
		rudp_grant_move_first(s, slot);
	}
	res = chunk_store(s, slot, d);
	if (res < 0 || (slot->rx.n_chunks == 1 && !is_big(d->msg_len)))
		return res;
	if (!is_big(d->msg_len) && first)
		rudp_grant_begin(s, slot);
	if (first || slot->rx.n_got > had)
		rudp_grant_progress(s, slot, d->payload_len);
	return res;
}

static int request_rx(struct rudp_session *s, struct slot *slot, const struct wire_common *c,
		      const struct wire_data *d)
{
	int32_t newer = (int32_t)(d->gen - slot->gen);
	struct rudp_call *call;
	void *buf;
	int res;

	if (newer > 0) {
		slot_retire(s, slot);
		if (s->state != SESSION_UP)
			return 0;
		res = request_begin(s, slot, d);
		if (res)
			return res;
	}
	if (newer < 0 || (slot->state != SLOT_RECEIVING && slot->state != SLOT_ANNOUNCED))
		return 0;
	if (slot->rx.len != d->msg_len || slot->rx.chunk_bytes != d->chunk_bytes)
		return -EBADMSG;
	if (c->flags & WIRE_F_NEED)
		return announce_rx(s, slot);
	res = request_store(s, slot, d);
	if (res <= 0)
		return res;
	if (slot->rx.n_chunks > 1 || is_big(d->msg_len))
		rudp_grant_end(s, slot);
	s->grants.stall_shift = 0;
	call = slot->call;
	buf = slot->rx.buf;
	slot->rx.active = false;
	slot->rx.buf = NULL;
	slot->state = SLOT_EXECUTING;
	slot->tx.prefer = c->path;
	s->r->ops->request(s->r->user, s, call, buf, slot->rx.len);
	return 0;
}

int rudp_call_rx(struct rudp_session *s, const struct wire_common *c, const struct wire_data *d)
{
	if (d->slot >= s->n_slots || s->is_client != !!(c->flags & WIRE_F_RESPONSE))
		return -EBADMSG;
	if (!s->is_client)
		return request_rx(s, slot_at(s, d->slot), c, d);
	return d->slot < s->n_fresh ? response_rx(s, &s->slots[d->slot], d) : 0;
}

void rudp_call_acked(struct rudp_session *s, uint16_t index, uint32_t gen, uint16_t chunk)
{
	struct slot *slot = &s->slots[index];
	struct tx_msg *m = &slot->tx;
	uint64_t bit = 1ULL << (chunk & 63);
	struct chunk_word *w;

	if (slot->gen != gen || !m->active || chunk == PKT_ANNOUNCE)
		return;
	w = &m->chunks[chunk >> 6];
	if (w->acked & bit)
		return;
	w->acked |= bit;
	if (slot->state == SLOT_RESPONDING) {
		s->answers_bytes += m->chunk_bytes;
		s->acked_ns = s->r->now;
	}
	if (w->lost & bit) {
		w->lost &= ~bit;
		m->n_lost--;
	}
	if (++m->n_acked < m->n_chunks)
		return;
	if (slot->state == SLOT_RESPONDING) {
		slot_sent(s, slot);
	} else {
		rudp_tx_drop(m);
	}
}

bool rudp_call_lost(struct rudp_session *s, uint16_t index, uint32_t gen, uint16_t chunk)
{
	struct slot *slot = &s->slots[index];
	struct tx_msg *m = &slot->tx;
	uint64_t bit = 1ULL << (chunk & 63);

	if (slot->gen != gen || !m->active || (chunk == PKT_ANNOUNCE && m->granted))
		return false;
	if (chunk != PKT_ANNOUNCE) {
		struct chunk_word *w = &m->chunks[chunk >> 6];

		if ((w->acked | w->lost) & bit)
			return false;
		w->lost |= bit;
		m->n_lost++;
	}
	if (!m->granted) { /* the server may have dropped the chunk for lack of memory: announce the
			      request before sending the chunk again */
		free_return(s, slot);
		m->allowed_chunks = 0;
		m->announce = true;
	}
	rudp_tx_queue(s, m);
	return true;
}

static void client_end_calls(struct rudp_session *s, int status)
{
	struct wait_ring *rings[2] = {&s->wait_small, &s->wait_big};
	uint32_t ends[2] = {s->wait_small.tail, s->wait_big.tail};

	for (unsigned i = 0; i < s->n_fresh; i++) {
		struct slot *slot = &s->slots[i];
		bool calling = slot->state == SLOT_CALLING;

		rudp_tx_drop(&slot->tx);
		rx_drop(s, slot);
		if (slot->state != SLOT_IDLE)
			slot_put(s, slot);
		if (calling)
			s->r->ops->response(s->r->user, s, slot->cookie, status, NULL, 0);
	}
	/* End the requests that wait in both rings, except those that the callbacks add. */
	for (unsigned k = 0; k < 2; k++)
		while ((int32_t)(ends[k] - rings[k]->head) > 0 && ring_count(rings[k]))
			s->r->ops->response(s->r->user, s,
					    rings[k]->w[rings[k]->head++ & rings[k]->mask].cookie,
					    status, NULL, 0);
}

/* Ends the use of all slots except those whose request the application is executing. */
static void server_end_answers(struct rudp_session *s)
{
	for (unsigned i = 0; i < s->n_fresh; i++)
		if (s->slots[i].state != SLOT_EXECUTING)
			slot_retire(s, &s->slots[i]);
	while (s->abandoned_calls)
		abandoned_release(s);
}

static void server_end_calls(struct rudp_session *s)
{
	server_end_answers(s);
	for (unsigned i = 0; i < s->n_fresh_calls; i++) {
		struct rudp_call *call = call_at(s, i);

		if (!call->in_use)
			continue;
		if (call->slot)
			call->slot->state = SLOT_IDLE;
		held_release(s, call);
		s->r->ops->call_gone(s->r->user, s, call);
		call_put(s, call);
	}
	server_end_answers(s); /* the callbacks above may have answered further requests */
}

void rudp_session_end_calls(struct rudp_session *s, int status)
{
	if (s->is_client)
		client_end_calls(s, status);
	else
		server_end_calls(s);
}
