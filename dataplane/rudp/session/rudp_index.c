/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds sessions by the values that handshakes and RESETs contain, with hash chains. Any host may
 * send these packets, and a server has thousands of sessions, so searching the whole table would
 * take too long. The hashes are keyed, so a peer cannot choose values that fall into one chain.
 */
#include "dataplane/rudp/session/rudp_session_internal.h"

/* A RESET is compared with at most this many sessions that have the same peer number. Correct peers
 * draw their numbers at random, so never so many sessions have the same one. If there are more, a
 * RESET may have no effect, and the session ends by its timeout instead. */
#define SAME_NUMBER_MAX 8U

int rudp_index_init(struct rudp *r)
{
	unsigned n = 64;

	while (n < r->n_sessions)
		n *= 2;
	r->index = calloc((size_t)n * RUDP_INDEX_MAX, sizeof(*r->index));
	if (!r->index)
		return -ENOMEM;
	r->index_mask = n - 1;
	for (unsigned i = 0; i < n * RUDP_INDEX_MAX; i++)
		list_init(&r->index[i]);
	return 0;
}

void rudp_index_init_session(struct rudp_session *s)
{
	for (unsigned i = 0; i < RUDP_INDEX_MAX; i++)
		list_init(&s->index[i]);
	list_init(&s->siblings);
}

struct key {
	uint64_t a, b, peer;
};

uint64_t rudp_index_peer(const struct rudp *r, const struct rudp_peer *peer)
{
	return peer->proven ? rudp_hash(r, peer->host, strlen(peer->host)) : 0;
}

static struct key key_of(const struct rudp_session *s, enum rudp_index which)
{
	switch (which) {
	case RUDP_INDEX_HELLO:
		return (struct key){s->hello_hash, 0, 0};
	case RUDP_INDEX_CLIENT:
		return (struct key){s->peer_identity, s->peer_number, s->peer_hash};
	case RUDP_INDEX_NUMBER:
		return (struct key){s->peer_number, 0, 0};
	default:
		return (struct key){s->peer_identity, 0, s->peer_hash};
	}
}

static struct list *chain_of(const struct rudp *r, enum rudp_index which, struct key key)
{
	const uint64_t in[4] = {which, key.a, key.b, key.peer};
	/* most peers have proved no name */
	uint64_t hash = rudp_hash(r, in, key.peer ? sizeof(in) : sizeof(in) - sizeof(in[3]));

	return &r->index[(size_t)which * (r->index_mask + 1) + (hash & r->index_mask)];
}

static struct rudp_session *session_at(struct list *l, enum rudp_index which)
{
	return (struct rudp_session *)((char *)l - offsetof(struct rudp_session, index) -
				       which * sizeof(struct list));
}

static struct rudp_session *find(const struct rudp *r, enum rudp_index which, struct key key)
{
	struct list *chain = chain_of(r, which, key);

	for (struct list *l = chain->next; l != chain; l = l->next) {
		struct rudp_session *s = session_at(l, which);
		const struct key of = key_of(s, which);

		if (of.a == key.a && of.b == key.b && of.peer == key.peer)
			return s;
	}
	return NULL;
}

struct rudp_session *rudp_index_sibling(const struct rudp *r, uint64_t identity, uint64_t peer)
{
	return find(r, RUDP_INDEX_IDENTITY, (struct key){identity, 0, peer});
}

struct rudp_session *rudp_index_client(const struct rudp *r, uint64_t identity, uint64_t number,
				       uint64_t peer)
{
	return find(r, RUDP_INDEX_CLIENT, (struct key){identity, number, peer});
}

struct rudp_session *rudp_index_hello(const struct rudp *r, uint64_t hash)
{
	return find(r, RUDP_INDEX_HELLO, (struct key){hash, 0, 0});
}

struct rudp_session *rudp_index_number(const struct rudp *r, uint64_t number,
				       bool (*fits)(const struct rudp_session *s, const void *user),
				       const void *user)
{
	struct list *chain = chain_of(r, RUDP_INDEX_NUMBER, (struct key){number, 0, 0});
	unsigned n = 0;

	for (struct list *l = chain->next; l != chain && n < SAME_NUMBER_MAX; l = l->next) {
		struct rudp_session *s = session_at(l, RUDP_INDEX_NUMBER);

		if (s->peer_number != number)
			continue;
		if (fits(s, user))
			return s;
		n++;
	}
	return NULL;
}

static void add(struct rudp_session *s, enum rudp_index which)
{
	list_add_tail(chain_of(s->r, which, key_of(s, which)), &s->index[which]);
}

void rudp_index_add_number(struct rudp_session *s)
{
	list_del(&s->index[RUDP_INDEX_NUMBER]);
	add(s, RUDP_INDEX_NUMBER);
}

/* Adds a server's session to the chains. Only one session of each identity and proven host is in
 * the chain by identity, so that a peer with many sessions does not lengthen it. */
void rudp_index_add_client(struct rudp_session *s)
{
	struct rudp_session *sibling = rudp_index_sibling(s->r, s->peer_identity, s->peer_hash);

	add(s, RUDP_INDEX_HELLO);
	add(s, RUDP_INDEX_CLIENT);
	rudp_index_add_number(s);
	if (sibling)
		list_add_tail(&sibling->siblings, &s->siblings);
	else
		add(s, RUDP_INDEX_IDENTITY);
}

void rudp_index_drop(struct rudp_session *s)
{
	bool in_chain = !list_empty(&s->index[RUDP_INDEX_IDENTITY]);

	for (unsigned i = 0; i < RUDP_INDEX_MAX; i++)
		list_del(&s->index[i]);
	if (in_chain && !list_empty(&s->siblings))
		add(list_entry(s->siblings.next, struct rudp_session, siblings),
		    RUDP_INDEX_IDENTITY);
	list_del(&s->siblings);
}

/* ------------------------------------------------------------------ HELLOs that created a session
 */

/* A ring of the latest HELLOs that created sessions. Each HELLO is also in a hash chain, ordered by
 * age: the oldest HELLO of the ring is the last one of its chain. */
struct rudp_hellos {
	unsigned n, n_used; /* size of the ring; count of its entries in use */
	unsigned next;	    /* index of the next entry to write, which is the oldest one if all are
			       in use */
	unsigned mask;	    /* count of chains minus 1 */
	struct hello_used {
		uint64_t hash;
		uint32_t next; /* index of the next entry of the chain plus 1; 0: this is the last
				  entry */
	} * ring;
	uint32_t *chains; /* for each chain: index of its first entry plus 1 */
};

int rudp_hellos_init(struct rudp *r)
{
	struct rudp_hellos *u = calloc(1, sizeof(*u));
	unsigned n = 64;

	r->hellos = u;
	if (!u)
		return -ENOMEM;
	u->n = 2 * r->n_sessions;
	while (n < u->n)
		n *= 2;
	u->mask = n - 1;
	u->ring = calloc(u->n, sizeof(*u->ring));
	u->chains = calloc(n, sizeof(*u->chains));
	return u->ring && u->chains ? 0 : -ENOMEM;
}

void rudp_hellos_done(struct rudp *r)
{
	if (!r->hellos)
		return;
	free(r->hellos->ring);
	free(r->hellos->chains);
	free(ptr_take(r->hellos));
}

bool rudp_hello_is_used(const struct rudp *r, uint64_t hash)
{
	const struct rudp_hellos *u = r->hellos;

	for (uint32_t i = u->chains[hash & u->mask]; i; i = u->ring[i - 1].next)
		if (u->ring[i - 1].hash == hash)
			return true;
	return false;
}

void rudp_hello_note(struct rudp *r, uint64_t hash)
{
	struct rudp_hellos *u = r->hellos;
	struct hello_used *h = &u->ring[u->next];
	uint32_t *at = &u->chains[h->hash & u->mask];

	if (u->n_used == u->n) {
		while (*at != u->next + 1)
			at = &u->ring[*at - 1].next;
		*at = h->next;
	} else {
		u->n_used++;
	}
	at = &u->chains[hash & u->mask];
	*h = (struct hello_used){.hash = hash, .next = *at};
	*at = u->next + 1;
	u->next = (u->next + 1) % u->n;
}
