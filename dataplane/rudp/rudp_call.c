/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and responses: slots, generations, credit, placing chunks. */
#include "dataplane/rudp/rudp_internal.h"

static int ring_init(struct wait_ring *w, unsigned n)
{
	uint32_t size = 1;

	while (size < n)
		size <<= 1;
	w->w = calloc(size, sizeof(*w->w));
	w->mask = size - 1;
	return w->w ? 0 : -ENOMEM;
}

static uint32_t ring_count(const struct wait_ring *w)
{
	return w->tail - w->head;
}

int rudp_call_init(struct rudp_session *s)
{
	unsigned n = s->r->lim.calls_per_session;

	for (unsigned q = 0; q < TX_QUEUE_MAX; q++)
		list_init(&s->tx[q]);
	s->slots = calloc(n, sizeof(*s->slots));
	if (!s->slots)
		return -ENOMEM;
	if (s->is_client)
		return ring_init(&s->wait_small, n) || ring_init(&s->wait_big, n) ? -ENOMEM : 0;
	/* As many again for those that a client gave up while they ran. */
	s->n_calls = 2 * n;
	s->calls = calloc(s->n_calls, sizeof(*s->calls));
	if (!s->calls)
		return -ENOMEM;
	for (unsigned i = 0; i < s->n_calls; i++) {
		s->calls[i].s = s;
		s->calls[i].next = s->free_calls;
		s->free_calls = &s->calls[i];
	}
	return 0;
}

void rudp_call_free(struct rudp_session *s)
{
	free(s->slots);
	free(s->wait_small.w);
	free(s->wait_big.w);
	free(s->calls);
}

void rudp_call_reset(struct rudp_session *s, unsigned n_slots, uint32_t credit)
{
	s->n_slots = n_slots;
	s->free_slots = NULL;
	s->n_active = s->n_active_big = 0;
	s->credit_used = 0;
	s->credit_outstanding = 0;
	s->credit_granted = credit;
	for (unsigned i = n_slots; i-- > 0;) {
		struct slot *slot = &s->slots[i];

		slot->index = (uint16_t)i;
		slot->gen = 0;
		slot->state = SLOT_IDLE;
		slot->next_free = s->free_slots;
		s->free_slots = slot;
		list_init(&slot->tx.node);
	}
}

static void tx_start(struct rudp_session *s, struct slot *slot, const void *msg, uint32_t len)
{
	struct tx_msg *m = &slot->tx;
	size_t words;

	m->data = msg;
	m->len = len;
	m->chunk_bytes = s->chunk_bytes;
	m->n_chunks = (uint16_t)wire_chunks(len, m->chunk_bytes);
	m->next_chunk = m->n_lost = m->n_acked = 0;
	m->active = true;
	words = (m->n_chunks + 63U) / 64;
	memset(m->acked, 0, words * sizeof(m->acked[0]));
	memset(m->lost, 0, words * sizeof(m->lost[0]));
	rudp_tx_queue(s, m);
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
	return len > WIRE_CREDIT_FREE_BYTES;
}

static void slot_put(struct rudp_session *s, struct slot *slot)
{
	if (slot->credit_bytes)
		s->n_active_big--;
	slot->credit_bytes = 0;
	slot->state = SLOT_IDLE;
	slot->next_free = s->free_slots;
	s->free_slots = slot;
	s->n_active--;
	rudp_session_touch(s);
}

static void activate_one(struct rudp_session *s, struct wait_ring *ring)
{
	struct waiting *w = &ring->w[ring->head++ & ring->mask];
	struct slot *slot = s->free_slots;

	s->free_slots = slot->next_free;
	s->n_active++;
	slot->gen++;
	slot->state = SLOT_CALLING;
	slot->cookie = w->cookie;
	slot->rx.active = false;
	slot->credit_bytes = 0;
	if (is_big(w->len)) {
		slot->credit_bytes = w->len;
		s->credit_used += w->len;
		s->n_active_big++;
	}
	tx_start(s, slot, w->msg, w->len);
}

/* Big requests need credit and leave a quarter of the slots to small ones. */
static bool big_may_start(const struct rudp_session *s)
{
	const struct wait_ring *ring = &s->wait_big;
	unsigned most = MAX_OF(s->n_slots * 3 / 4, 1U);
	uint32_t len;

	if (ring_count(ring) == 0 || s->n_active_big >= most)
		return false;
	len = ring->w[ring->head & ring->mask].len;
	return (int32_t)(s->credit_granted - s->credit_used - len) >= 0;
}

void rudp_call_activate(struct rudp_session *s)
{
	if (!s->is_client || s->state != SESSION_UP)
		return;
	while (s->free_slots && ring_count(&s->wait_small))
		activate_one(s, &s->wait_small);
	while (s->free_slots && big_may_start(s))
		activate_one(s, &s->wait_big);
}

bool rudp_call_stuck(const struct rudp_session *s)
{
	return s->is_client && s->n_active == 0 && ring_count(&s->wait_big);
}

int rudp_call_send(struct rudp_session *s, const void *msg, size_t len, uint64_t cookie)
{
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
	ring->w[ring->tail++ & ring->mask] =
		(struct waiting){.msg = msg, .len = (uint32_t)len, .cookie = cookie};
	rudp_call_activate(s);
	rudp_session_touch(s);
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

static void credit_return(struct rudp_session *s, uint32_t *bytes)
{
	s->credit_granted += *bytes;
	s->credit_outstanding -= *bytes;
	*bytes = 0;
}

static void slot_sent(struct rudp_session *s, struct slot *slot)
{
	void *token = slot->token;

	rudp_tx_drop(&slot->tx);
	slot->state = SLOT_IDLE;
	slot->token = NULL;
	s->r->ops->sent(s->r->user, s, token);
}

/* Whatever the slot held is over for the client. */
static void slot_retire(struct rudp_session *s, struct slot *slot)
{
	switch (slot->state) {
	case SLOT_RECEIVING:
		rx_drop(s, slot);
		if (slot->call) {
			credit_return(s, &slot->call->credit_bytes);
			call_put(s, slot->call);
			slot->call = NULL;
		}
		break;
	case SLOT_EXECUTING:
		slot->call->slot = NULL;
		slot->call = NULL;
		break;
	case SLOT_RESPONDING:
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

	credit_return(s, &call->credit_bytes);
	rudp_session_touch(s);
	if (!slot) { /* given up by the client: `sent` comes from the next poll */
		call->token = token;
		call->next = s->done_calls;
		s->done_calls = call;
		return;
	}
	slot->call = NULL;
	slot->token = token;
	slot->state = SLOT_RESPONDING;
	call_put(s, call);
	tx_start(s, slot, msg, len > RUDP_MSG_BYTES_MAX ? 0 : (uint32_t)len);
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

void rudp_call_poll(struct rudp_session *s)
{
	while (s->done_calls && s->state == SESSION_UP) {
		struct rudp_call *call = s->done_calls;
		void *token = call->token;

		s->done_calls = call->next;
		call_put(s, call);
		s->tell = true; /* credit came back, but no response carries it */
		s->r->ops->sent(s->r->user, s, token);
	}
}

/* Both */

/* 1: the message is whole; 0: not yet, or had it; -ENOBUFS; -EBADMSG. */
static int chunk_store(struct rudp_session *s, struct slot *slot, const struct wire_data *d)
{
	struct rx_msg *m = &slot->rx;
	uint64_t bit = 1ULL << (d->chunk_index & 63);
	uint64_t *word = &m->got[d->chunk_index >> 6];

	if (!m->active) {
		m->buf = NULL;
		if (d->msg_len) {
			m->buf = s->r->ops->buf_get(s->r->user, s, s->is_client,
						    s->is_client ? slot->cookie : 0, d->msg_len);
			if (!m->buf)
				return -ENOBUFS;
		}
		m->active = true;
		m->len = d->msg_len;
		m->chunk_bytes = d->chunk_bytes;
		m->n_chunks = d->n_chunks;
		m->n_got = 0;
		memset(m->got, 0, (d->n_chunks + 63U) / 64 * sizeof(m->got[0]));
	} else if (m->len != d->msg_len || m->chunk_bytes != d->chunk_bytes) {
		return -EBADMSG;
	}
	if (*word & bit)
		return 0;
	*word |= bit;
	if (d->payload_len)
		memcpy(m->buf + (size_t)d->chunk_index * d->chunk_bytes, d->payload,
		       d->payload_len);
	return ++m->n_got == m->n_chunks;
}

static int response_rx(struct rudp_session *s, struct slot *slot, const struct wire_data *d)
{
	struct rx_msg *m = &slot->rx;
	void *buf;
	int res;

	if ((int32_t)(d->credit - s->credit_granted) > 0) {
		s->credit_granted = d->credit;
		rudp_session_touch(s);
	}
	if (slot->state != SLOT_CALLING || d->gen != slot->gen)
		return 0;
	rudp_tx_drop(&slot->tx); /* a response acknowledges its request */
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

static int request_begin(struct rudp_session *s, struct slot *slot, const struct wire_data *d)
{
	struct rudp_call *call = s->free_calls;
	uint32_t credit = is_big(d->msg_len) ? d->msg_len : 0;

	if (!call)
		return -ENOBUFS;
	if (s->credit_outstanding + credit > s->r->lim.rx_bytes_per_session)
		return -EBADMSG;
	s->free_calls = call->next;
	call->in_use = true;
	call->slot = slot;
	call->user = NULL;
	call->credit_bytes = credit;
	s->credit_outstanding += credit;
	slot->call = call;
	slot->gen = d->gen;
	slot->state = SLOT_RECEIVING;
	slot->rx.active = false;
	return 0;
}

static int request_rx(struct rudp_session *s, struct slot *slot, const struct wire_common *c,
		      const struct wire_data *d)
{
	int32_t newer = (int32_t)(d->gen - slot->gen);
	struct rudp_call *call;
	void *buf;
	int res;

	if (newer < 0 || (newer == 0 && slot->state != SLOT_RECEIVING))
		return 0;
	if (newer > 0) {
		slot_retire(s, slot);
		if (s->state != SESSION_UP)
			return 0;
		res = request_begin(s, slot, d);
		if (res)
			return res;
	}
	res = chunk_store(s, slot, d);
	if (res <= 0)
		return res;
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
	return s->is_client ? response_rx(s, &s->slots[d->slot], d)
			    : request_rx(s, &s->slots[d->slot], c, d);
}

void rudp_call_acked(struct rudp_session *s, uint16_t index, uint32_t gen, uint16_t chunk)
{
	struct slot *slot = &s->slots[index];
	struct tx_msg *m = &slot->tx;
	uint64_t bit = 1ULL << (chunk & 63);

	if (slot->gen != gen || !m->active || m->acked[chunk >> 6] & bit)
		return;
	m->acked[chunk >> 6] |= bit;
	if (m->lost[chunk >> 6] & bit) {
		m->lost[chunk >> 6] &= ~bit;
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

	if (slot->gen != gen || !m->active || (m->acked[chunk >> 6] | m->lost[chunk >> 6]) & bit)
		return false;
	m->lost[chunk >> 6] |= bit;
	m->n_lost++;
	rudp_tx_queue(s, m);
	return true;
}

static void client_end_calls(struct rudp_session *s, int status)
{
	struct wait_ring *rings[2] = {&s->wait_small, &s->wait_big};
	uint32_t ends[2] = {s->wait_small.tail, s->wait_big.tail};

	for (unsigned i = 0; i < s->n_slots; i++) {
		struct slot *slot = &s->slots[i];
		bool calling = slot->state == SLOT_CALLING;

		rudp_tx_drop(&slot->tx);
		rx_drop(s, slot);
		if (slot->state != SLOT_IDLE)
			slot_put(s, slot);
		if (calling)
			s->r->ops->response(s->r->user, s, slot->cookie, status, NULL, 0);
	}
	for (unsigned k = 0; k < 2; k++) /* not those that the callbacks add */
		while ((int32_t)(ends[k] - rings[k]->head) > 0 && ring_count(rings[k]))
			s->r->ops->response(s->r->user, s,
					    rings[k]->w[rings[k]->head++ & rings[k]->mask].cookie,
					    status, NULL, 0);
}

static void server_end_calls(struct rudp_session *s)
{
	for (unsigned i = 0; i < s->n_slots; i++)
		if (s->slots[i].state == SLOT_RECEIVING || s->slots[i].state == SLOT_RESPONDING)
			slot_retire(s, &s->slots[i]);
	while (s->done_calls) {
		struct rudp_call *call = s->done_calls;
		void *token = call->token;

		s->done_calls = call->next;
		call_put(s, call);
		s->r->ops->sent(s->r->user, s, token);
	}
	for (unsigned i = 0; i < s->n_calls; i++) {
		struct rudp_call *call = &s->calls[i];

		if (!call->in_use)
			continue;
		if (call->slot)
			call->slot->state = SLOT_IDLE;
		s->r->ops->call_gone(s->r->user, s, call);
		call_put(s, call);
	}
}

void rudp_session_end_calls(struct rudp_session *s, int status)
{
	if (s->is_client)
		client_end_calls(s, status);
	else
		server_end_calls(s);
}
