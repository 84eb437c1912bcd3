/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases for writing. The client returns a lease within some milliseconds by itself, after it has
 * sent all held data; so a request of another mount only waits and needs no message to the client.
 * If a client keeps a lease for ten seconds after such a request has arrived, the server ends the
 * lease. It then refuses the held data, because other clients may have changed the file.
 *
 * All workers of the host share one small table. A worker changes an entry by an exchange of its
 * word, so a worker that dies at any instruction blocks no other worker. A lease outlives the
 * session and the worker that granted it.
 */
#include "dataplane/fuse/server/objects/server_write_lease.h"
#include "dataplane/fuse/server/objects/server_lease.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/log.h"

#include <fcntl.h>
#include <string.h>

/* How long other mounts wait for a client that does not return its lease. */
#define WRITE_LEASE_PATIENCE_NS (10 * NSEC_PER_SEC)
/* After another mount wanted the file, the server grants no lease on it for this time. */
#define WRITE_LEASE_PAUSE_NS (2 * NSEC_PER_SEC)
/* A worker of an older version, which does not record its slot in the entry, has died if it needs
 * longer than this to fill in the entry. */
#define WRITE_LEASE_FILL_NS (10 * NSEC_PER_SEC)
/* A lease that is older than this is ended: its client has gone, and its mount has lost its open
 * files. */
#define WRITE_LEASE_MAX_NS (120 * NSEC_PER_SEC)
/* Maximum number of leases of one host. */
#define WRITE_LEASES_OF_HOST 16U
/* Maximum number of paused files, so that all workers find leases fast. */
#define WRITE_LEASES_PAUSED 8U

/*
 * share_write_lease.word: the state, the number of the lease, and the worker that fills in the
 * entry: its slot and the lowest bits of its incarnation. A worker may be stopped for any time
 * while it stores the members, so another worker may use such an entry only after the first one was
 * restarted. Otherwise the first worker would overwrite the members of a newer lease.
 */
#define STATE_BITS 3U
#define NUMBER_BITS 37U
#define SLOT_BITS 8U
#define SLOT_SHIFT (STATE_BITS + NUMBER_BITS)
#define INCARNATION_SHIFT (SLOT_SHIFT + SLOT_BITS)
_Static_assert(SHARE_SLOTS <= 1U << SLOT_BITS, "a word has room for each slot");
enum {
	STATE_FREE,
	STATE_FILLING, /* a worker is storing the members */
	STATE_HELD,
	STATE_ENDING, /* the server is ending the lease; a WRITE of held data may still be in
			 progress */
	STATE_PAUSED, /* no client has a lease, and the server grants none for a while */
};

static unsigned state_of(uint64_t word)
{
	return word & ((1U << STATE_BITS) - 1);
}

static uint32_t number_of(uint64_t word)
{
	return (uint32_t)(word >> STATE_BITS);
}

/* Pairs with itself in all workers. */
static bool exchange(struct share_write_lease *l, uint64_t was, unsigned state)
{
	uint64_t word = state == STATE_FREE ? 0 : (was & ~((1UL << STATE_BITS) - 1)) | state;

	return __atomic_compare_exchange_n(&l->word, &was, word, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static uint64_t word_new(const struct share *s, uint64_t number)
{
	return STATE_FILLING | (number & ((1UL << NUMBER_BITS) - 1)) << STATE_BITS |
	       (uint64_t)s->own_index << SLOT_SHIFT |
	       (uint64_t)s->own->incarnation << INCARNATION_SHIFT;
}

/* Returns whether the worker that fills in the entry may still store its members. */
static bool filler_may_live(const struct share *s, uint64_t word)
{
	const uint32_t slot = word >> SLOT_SHIFT & ((1U << SLOT_BITS) - 1);
	const struct share_slot *filler = share_slot_of(s, slot);

	return filler &&
	       (uint16_t)share_get(&filler->incarnation) == (uint16_t)(word >> INCARNATION_SHIFT);
}

static uint64_t used_entries(const struct share_write_leases *t)
{
	return __atomic_load_n(&t->used, __ATOMIC_SEQ_CST);
}

/* Returns the word if the entry is about this file and not unused, else 0. */
static uint64_t word_for(const struct share_write_lease *l, uint64_t key, uint64_t *ret_mount)
{
	uint64_t word = share_get(&l->word), mount;

	if (state_of(word) <= STATE_FILLING || share_get(&l->key) != key)
		return 0;
	mount = share_get(&l->mount);
	/* If the word has changed since the first load, a worker has meanwhile used the entry for
	 * another file, and `mount` may belong to that file. The loads above are acquire loads, so
	 * the processor cannot move them behind this load. */
	if (share_get(&l->word) != word)
		return 0;
	*ret_mount = mount;
	return word;
}

/* Ends a lease. First records the end, for requests that have read the file before the client's
 * data arrived. Such a request finds either the lease or this record, and is tried again. */
static bool lease_end(struct share_write_leases *t, struct share_write_lease *l, uint64_t word,
		      unsigned state)
{
	uint64_t *ended = &t->ended[share_get(&l->key) % SHARE_WRITE_LEASES_ENDED];
	uint64_t n = __atomic_add_fetch(&t->n_ended, 1, __ATOMIC_SEQ_CST), was = share_get(ended);

	while (was < n && !__atomic_compare_exchange_n(ended, &was, n, false, __ATOMIC_SEQ_CST,
						       __ATOMIC_SEQ_CST))
		;
	return exchange(l, word, state);
}

static uint64_t key_of(const struct server_req *q, unsigned i)
{
	return server_lease_key(q->client->server, q->args.handles[i].bytes,
				q->args.handles[i].len);
}

static uint64_t host_of(const struct server_req *q)
{
	const struct fuse_server_client *c = q->client;

	return hash_keyed(c->server->share.hash_key, c->host, strnlen(c->host, sizeof(c->host)));
}

/* ------------------------------------------------------------------ granting */

/* Begins to end the lease. A WRITE of held data may still be in progress, so the lease has ended
 * only when a later call finds no such WRITE. */
static bool lease_take_away(struct share_write_lease *l, uint64_t word, uint64_t now_ns)
{
	if (!exchange(l, word, STATE_ENDING))
		return false;
	share_set(&l->since_ns, now_ns);
	return true;
}

/* Frees the entry if its time has passed. Ends a lease whose client has gone. */
static void expire(struct server_req *q, unsigned i, uint64_t now_ns)
{
	static const uint64_t most_ns[] = {
		[STATE_FILLING] = WRITE_LEASE_FILL_NS,
		[STATE_HELD] = WRITE_LEASE_MAX_NS,
		[STATE_ENDING] = 0,
		[STATE_PAUSED] = WRITE_LEASE_PAUSE_NS,
	};
	struct share *share = &q->client->server->share;
	struct share_write_leases *t = share->write_leases;
	struct share_write_lease *l = &t->all[i];
	uint64_t word = share_get(&l->word), since_ns = share_get(&l->since_ns);

	if (!word || now_ns <= since_ns || now_ns - since_ns <= most_ns[state_of(word)] ||
	    (state_of(word) == STATE_FILLING && filler_may_live(share, word)))
		return;
	if (state_of(word) == STATE_HELD) {
		(void)lease_take_away(l, word, now_ns);
	} else if (state_of(word) == STATE_ENDING) {
		/* A worker marks the file as being changed before it looks for the lease. */
		share_refresh(share);
		if (!server_lease_is_changing(q, share_get(&l->key)))
			(void)lease_end(t, l, word, STATE_FREE);
	} else {
		(void)exchange(l, word, STATE_FREE);
	}
}

/* Chooses an entry that is free, or whose file need not be paused any more. Returns
 * SHARE_WRITE_LEASES if there is none for this host. */
static unsigned entry_choose(struct server_req *q, uint64_t host, uint64_t now_ns)
{
	struct share_write_leases *t = q->client->server->share.write_leases;
	unsigned n = 0, n_paused = 0, free = SHARE_WRITE_LEASES, paused = SHARE_WRITE_LEASES;

	for (unsigned i = SHARE_WRITE_LEASES; i-- > 0;) {
		struct share_write_lease *l = &t->all[i];
		unsigned state;

		expire(q, i, now_ns);
		state = state_of(share_get(&l->word));
		if (state == STATE_FREE) {
			free = i;
		} else if (state == STATE_PAUSED) {
			n_paused++;
			if (paused == SHARE_WRITE_LEASES ||
			    share_get(&l->since_ns) < share_get(&t->all[paused].since_ns))
				paused = i;
		} else {
			n += share_get(&l->host) == host;
		}
	}
	if (n >= WRITE_LEASES_OF_HOST)
		return SHARE_WRITE_LEASES;
	return n_paused >= WRITE_LEASES_PAUSED || free == SHARE_WRITE_LEASES ? paused : free;
}

/* Takes an entry. Returns SHARE_WRITE_LEASES if there is none for this host. */
static unsigned entry_take(struct server_req *q, uint64_t host, uint64_t now_ns, uint64_t *ret_word)
{
	struct share_write_leases *t = q->client->server->share.write_leases;
	uint64_t number = __atomic_add_fetch(&t->number, 1, __ATOMIC_SEQ_CST), was;
	unsigned i;

	/* Number 0 means that there is no lease. Clients get only the lowest 32 bits, so these must
	 * not be 0. */
	if ((uint32_t)number == 0)
		return SHARE_WRITE_LEASES;
	i = entry_choose(q, host, now_ns);
	if (i == SHARE_WRITE_LEASES)
		return i;
	was = share_get(&t->all[i].word);
	*ret_word = word_new(&q->client->server->share, number);
	if (was && state_of(was) != STATE_PAUSED)
		return SHARE_WRITE_LEASES;
	/* Set the time before the state, because another worker frees an entry whose state lasts
	 * for too long. */
	share_set(&t->all[i].since_ns, now_ns);
	if (!__atomic_compare_exchange_n(&t->all[i].word, &was, *ret_word, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return SHARE_WRITE_LEASES;
	/* The bit of an entry is set before its first lease begins, and is never cleared. Workers
	 * take the first free entry, so that few bits are set and a search is short. */
	__atomic_fetch_or(&t->used, 1ULL << i, __ATOMIC_SEQ_CST);
	return i;
}

/* Returns the number of the mount's lease; 0 if it has none. *ret_other: there is an entry that
 * forbids a lease for this mount. */
static uint32_t find_own(const struct share_write_leases *t, uint64_t key, uint64_t mount,
			 unsigned except, bool *ret_other)
{
	uint64_t used = used_entries(t), holder;
	uint32_t number = 0;

	*ret_other = false;
	for (unsigned i = 0; used; i++, used >>= 1) {
		uint64_t word = used & 1 && i != except ? word_for(&t->all[i], key, &holder) : 0;

		if (!word)
			continue;
		if (state_of(word) == STATE_HELD && holder == mount)
			number = number_of(word);
		else
			*ret_other = true;
	}
	return number;
}

/* Returns whether all workers obey leases for writing. */
static bool all_obey(const struct share *s)
{
	for (uint32_t i = 0; i < s->n_peers; i++)
		if (share_get(&s->peers[i]->write_leases) != share_get(&s->peers[i]->incarnation))
			return false;
	return true;
}

uint32_t server_write_lease_take(struct server_req *q)
{
	struct fuse_server *srv = q->client->server;
	struct share_write_leases *t = srv->share.write_leases;
	uint64_t key = key_of(q, 0), mount = q->mount->number, now_ns = clock_now_ns(), word;
	bool other;
	uint32_t number;
	unsigned i;

	if (!(q->args.flags & FUSE_PROTO_REQ_LEASE) || !key || !q->call || q->client->gone ||
	    q->mount->mount_worker || !(q->client->features & FUSE_PROTO_FEATURE_WRITE_BACK))
		return 0;
	for (i = 0; i < SHARE_WRITE_LEASES && used_entries(t); i++)
		expire(q, i, now_ns);
	number = find_own(t, key, mount, SHARE_WRITE_LEASES, &other);
	if (number || other)
		return other ? 0 : number;
	i = entry_take(q, host_of(q), now_ns, &word);
	if (i == SHARE_WRITE_LEASES)
		return 0;
	share_set(&t->all[i].key, key);
	share_set(&t->all[i].mount, mount);
	share_set(&t->all[i].host, host_of(q));
	share_set(&t->all[i].wanted_ns, 0UL);
	if (!exchange(&t->all[i], word, STATE_HELD))
		return 0;
	/* Record this lease before looking for other leases. If two workers grant leases on the
	 * same file at the same time, at least one of them then sees the lease of the other. The
	 * same is true for a lease for reading. */
	share_refresh(&srv->share);
	(void)find_own(t, key, mount, i, &other);
	if (!other && all_obey(&srv->share) && server_lease_is_alone(q, key))
		return (uint32_t)(word >> STATE_BITS);
	(void)lease_end(t, &t->all[i], word + STATE_HELD - STATE_FILLING, STATE_FREE);
	return 0;
}

/* ------------------------------------------------------------------ held data */

bool server_write_lease_holds(struct server_req *q, uint32_t number)
{
	struct share_write_leases *t = q->client->server->share.write_leases;
	bool other;

	/* server_lease_change() has marked the file as being changed, with a full fence. Another
	 * worker that ends the lease sees this mark, or this worker sees that the lease ends. */
	return number &&
	       find_own(t, key_of(q, 0), q->mount->number, SHARE_WRITE_LEASES, &other) == number;
}

bool server_write_lease_is_held(const struct fuse_server_client *c,
				const struct fuse_server_args *args)
{
	uint64_t key;
	bool other;

	if (!c->mount || args->handles[0].len == 0)
		return false;
	key = server_lease_key(c->server, args->handles[0].bytes, args->handles[0].len);
	return key && find_own(c->server->share.write_leases, key, c->mount->number,
			       SHARE_WRITE_LEASES, &other) != 0;
}

bool server_write_lease_return(struct server_req *q, uint32_t number)
{
	struct share_write_leases *t = q->client->server->share.write_leases;
	uint64_t used = used_entries(t), key = key_of(q, 0), holder, word;

	share_refresh(&q->client->server->share);
	for (unsigned i = 0; used; i++, used >>= 1) {
		struct share_write_lease *l = &t->all[i];

		word = used & 1 ? word_for(l, key, &holder) : 0;
		if ((state_of(word) != STATE_HELD && state_of(word) != STATE_ENDING) ||
		    holder != q->mount->number || (number && number_of(word) != number))
			continue;
		/* A WRITE of held data of a former session may still be in progress. It must not
		 * overwrite what the client writes after the return. */
		if (server_lease_is_changing(q, key))
			return false;
		if (share_get(&l->wanted_ns)) {
			share_set(&l->since_ns, clock_now_ns());
			(void)lease_end(t, l, word, STATE_PAUSED);
		} else {
			(void)lease_end(t, l, word, STATE_FREE);
		}
	}
	return true;
}

void server_write_leases_drop(struct server_mount *m)
{
	struct share_write_leases *t = m->server->share.write_leases;
	uint64_t used = used_entries(t);

	for (unsigned i = 0; used; i++, used >>= 1) {
		struct share_write_lease *l = &t->all[i];
		uint64_t word = used & 1 ? share_get(&l->word) : 0;

		if (state_of(word) == STATE_HELD && share_get(&l->mount) == m->number)
			(void)lease_end(t, l, word, STATE_FREE);
	}
}

/* ------------------------------------------------------------------ requests of other mounts */

/* Ends the lease of a client that does not return it. Returns false when the lease has ended and no
 * WRITE of held data is in progress any more. */
static bool must_wait(struct server_req *q, struct share_write_lease *l, uint64_t word,
		      uint64_t key)
{
	uint64_t now_ns = clock_now_ns(), none = 0, wanted_ns;

	__atomic_compare_exchange_n(&l->wanted_ns, &none, now_ns, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	wanted_ns = share_get(&l->wanted_ns);
	if (state_of(word) == STATE_HELD) {
		if (now_ns < wanted_ns + WRITE_LEASE_PATIENCE_NS ||
		    server_lease_is_changing(q, key))
			return true;
		if (lease_take_away(l, word, now_ns))
			log_warning(
				"%s: a client has not returned the write lease of a file within 10 "
				"s. The server has ended the lease, and programs on the client get "
				"errors for written data that the client has not sent",
				q->mount->export->cfg->name);
		return true;
	}
	/* A worker that has started meanwhile may have begun a WRITE of held data. */
	share_refresh(&q->client->server->share);
	if (server_lease_is_changing(q, key))
		return true;
	share_set(&l->since_ns, now_ns);
	return !lease_end(q->client->server->share.write_leases, l, word, STATE_PAUSED);
}

/* Returns whether another mount has the lease of the file. waits: the request waits for the end of
 * that lease, so the time in which the client must return it begins. */
static bool is_kept_from(struct server_req *q, uint64_t key, bool waits)
{
	struct share_write_leases *t = q->client->server->share.write_leases;
	uint64_t used = used_entries(t), holder, word;
	bool is_kept = false;

	for (unsigned i = 0; key && used; i++, used >>= 1) {
		word = used & 1 ? word_for(&t->all[i], key, &holder) : 0;
		if (word && state_of(word) != STATE_PAUSED && holder != q->mount->number)
			is_kept |= !waits || must_wait(q, &t->all[i], word, key);
	}
	return is_kept;
}

bool server_write_lease_any(const struct server_req *q)
{
	struct share_write_leases *t = q->client->server->share.write_leases;
	uint64_t used = used_entries(t);

	for (unsigned i = 0; used; i++, used >>= 1) {
		unsigned state = used & 1 ? state_of(share_get(&t->all[i].word)) : STATE_FREE;

		if ((state == STATE_HELD || state == STATE_ENDING) &&
		    share_get(&t->all[i].mount) != q->mount->number)
			return true;
	}
	return false;
}

bool server_write_lease_waits(struct server_req *q)
{
	struct share_write_leases *t = q->client->server->share.write_leases;
	bool waits = false;

	if (PLENUM_LIKELY(!used_entries(t)) || q->args.flags & FUSE_PROTO_REQ_REOPEN)
		return false;
	q->write_leases_ended = __atomic_load_n(&t->n_ended, __ATOMIC_SEQ_CST);
	switch (q->in->opcode) {
	case FUSE_INIT:
	case FUSE_DESTROY:
	case FUSE_INTERRUPT:
	case FUSE_STATFS:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_GETLK:
	case FUSE_SETLK:
	case FUSE_SETLKW:
		return false;
	case FUSE_LOOKUP:
	case FUSE_CREATE:
		/* Look up the name again only after the lease has ended. */
		if (q->hidden_key && is_kept_from(q, q->hidden_key, true))
			return true;
		q->hidden_key = 0;
		break;
	default:
		break;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(q->args.handles); i++)
		if (q->args.handles[i].len)
			waits |= is_kept_from(q, key_of(q, i), true);
	return waits;
}

static bool has_ended_since(const struct server_req *q, uint64_t key)
{
	struct share_write_leases *t = q->client->server->share.write_leases;

	return key && __atomic_load_n(&t->ended[key % SHARE_WRITE_LEASES_ENDED], __ATOMIC_SEQ_CST) >
			      q->write_leases_ended;
}

bool server_write_lease_hides(struct server_req *q, const uint8_t *handle, size_t len)
{
	struct fuse_server *srv = q->client->server;
	uint64_t key;

	if (PLENUM_LIKELY(!used_entries(srv->share.write_leases)))
		return false;
	key = server_lease_key(srv, handle, len);
	return is_kept_from(q, key, false) || has_ended_since(q, key);
}

bool server_write_lease_awaits(struct server_req *q, const uint8_t *handle, size_t len)
{
	struct fuse_server *srv = q->client->server;
	uint64_t key;

	if (PLENUM_LIKELY(!used_entries(srv->share.write_leases)))
		return false;
	key = server_lease_key(srv, handle, len);
	if (is_kept_from(q, key, true))
		q->hidden_key = key;
	return q->hidden_key || has_ended_since(q, key);
}

bool server_write_lease_grant_read(struct server_req *q, const uint8_t *handle, size_t len,
				   const struct fuse_attr *attr)
{
	/* A worker that grants a lease for writing records that lease before it looks for other
	 * leases. So it sees this lease, or this worker sees that lease. */
	return !server_write_lease_hides(q, handle, len) &&
	       server_lease_grant(q, handle, len, attr) &&
	       !server_write_lease_hides(q, handle, len);
}
