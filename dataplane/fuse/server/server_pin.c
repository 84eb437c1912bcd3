/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open files that are about to lose their last name: the agent is asked to hold them, so that their
 * handles stay good over this process's death.
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "netcfg/base/log.h"
#include <string.h>

/* As many files may be kept in vain, for clients that do not come back. */
#define PROVISIONAL_MAX 512U

/* What is held is looked at so often: some need it still, or the agent does not listen. */
#define SWEEP_NS (100 * NSEC_PER_MSEC)

static bool pin_is_of(const struct state_pin *rec, const struct fuse_handle *h)
{
	return rec->len == h->len && memcmp(rec->handle, h->bytes, h->len) == 0;
}

/* What the search found beside it. */
struct pin_found {
	struct state_pin *free; /* where it may be put, if it is nowhere */
	uint32_t n_provisional; /* of any worker; all of them, if it is nowhere */
};

static struct state_pin *pin_find(struct server_export *e, const struct fuse_handle *h,
				  struct pin_found *ret)
{
	*ret = (struct pin_found){.free = NULL};
	for (uint32_t i = 0; i < STATE_PINS_MAX; i++) {
		struct state_pin *rec = &e->state->holds[i];
		uint32_t state = __atomic_load_n(&rec->used, __ATOMIC_ACQUIRE) & STATE_PIN_MASK;

		if (state == STATE_PIN_FREE && !ret->free)
			ret->free = rec;
		/* A predecessor's, or another worker's, which holds the same. */
		if (state == STATE_PIN_USED && pin_is_of(rec, h))
			return rec;
		if (state == STATE_PIN_FREE && rec->len == 0)
			break; /* none was ever used from here on */
		ret->n_provisional += state == STATE_PIN_USED && rec->provisional;
	}
	return NULL;
}

/* Found, or filled. NULL: there is no room. */
static struct state_pin *pin_record(struct server_export *e, const struct fuse_handle *h,
				    bool provisional)
{
	struct pin_found found;
	struct state_pin *rec, *free;
	uint32_t word;

	for (;;) {
		rec = pin_find(e, h, &found);
		free = found.free;
		if (rec || !free || (provisional && found.n_provisional >= PROVISIONAL_MAX))
			break;
		word = __atomic_load_n(&free->used, __ATOMIC_ACQUIRE);
		if ((word & STATE_PIN_MASK) == STATE_PIN_FREE &&
		    state_pin_swap(free, word, word | STATE_PIN_FILLING)) {
			free->len = h->len;
			memcpy(free->handle, h->bytes, h->len);
			free->provisional = provisional;
			state_publish(&free->used, ((word | STATE_PIN_MASK) + 1) | STATE_PIN_USED);
			return free;
		}
	}
	if (rec && !provisional)
		rec->provisional = false;
	return rec;
}

/* Its signature is its name with the agent, whichever worker speaks of it. */
static uint64_t pin_key(const uint8_t *handle, size_t len)
{
	uint64_t key = 0;

	if (len > sizeof(key) && len <= FUSE_PROTO_HANDLE_MAX)
		memcpy(&key, handle + len - sizeof(key), sizeof(key));
	return key;
}

static bool pin_tell(struct server_export *e, uint64_t key, int fd)
{
	struct fuse_server *srv = e->server;

	return srv->pin(srv->pin_user, (uint32_t)(e - srv->exports), key, fd);
}

static bool key_is_pinned(const struct server_export *e, uint64_t key)
{
	for (uint32_t i = 0; i < STATE_PINS_MAX; i++) {
		const struct state_pin *rec = &e->state->holds[i];

		if (rec->len == 0 && rec->used == 0)
			break;
		if (state_pin_is_used(rec) && pin_key(rec->handle, rec->len) == key)
			return true;
	}
	return false;
}

/* Of a record that another let go of. False: the agent does not listen. */
static bool request_end(struct server_export *e, uint32_t i)
{
	struct server_pin_request *request = &e->pin_requests[i];

	if (PLENUM_LIKELY(!request->word) ||
	    request->word == __atomic_load_n(&e->state->holds[i].used, __ATOMIC_ACQUIRE))
		return true;
	if (!key_is_pinned(e, request->key) && !pin_tell(e, request->key, -1))
		return false;
	request->word = 0;
	return true;
}

/*
 * The agent hears its workers in any order, so it may hear that another let go of this before it
 * hears us ask. Whoever asked lets go, too, when he sees that the record is for something else.
 */
static bool pin_ask(struct server_export *e, const struct state_pin *rec,
		    const struct fuse_handle *h, int fd)
{
	struct server_pin_request *request = &e->pin_requests[rec - e->state->holds];

	(void)request_end(e, (uint32_t)(rec - e->state->holds));
	request->word = __atomic_load_n(&rec->used, __ATOMIC_ACQUIRE);
	request->key = pin_key(h->bytes, h->len); /* the record may be another's by now */
	e->sweep_due |= e->server->share.n_peers > 0;
	return pin_tell(e, request->key, fd);
}

void server_pin_again(struct server_export *e, const uint8_t *handle, uint32_t len, int fd)
{
	struct fuse_handle h = {.len = len};
	struct pin_found found;
	const struct state_pin *rec;

	memcpy(h.bytes, handle, len);
	rec = pin_find(e, &h, &found);
	if (rec && !pin_ask(e, rec, &h, fd))
		log_debug("an open file without a name would not outlive this process");
}

static struct state_pin *pin_make(struct server_export *e, const struct fuse_handle *h,
				  bool provisional, int fd)
{
	struct state_pin *rec = pin_record(e, h, provisional);

	if (!rec)
		return NULL;
	if (!pin_ask(e, rec, h, fd))
		log_debug("an open file without a name would not outlive this process");
	return rec;
}

/* Another worker may have let go of it, and hold something else there. */
static bool is_pinned(const struct server_node *n)
{
	return n->pin && state_pin_is_used(n->pin) && pin_is_of(n->pin, &n->handle);
}

/*
 * The state says that a file is held before the agent is asked and until after it was told to let
 * go, so whenever the process dies its successor finds all that the agent may hold. Asking twice,
 * and letting go of what is not held, do no harm.
 */
void server_pin(struct server_node *n, int fd)
{
	struct server_export *e = n->export;

	if (n->n_open == 0 || is_pinned(n) || fd < 0 || n->handle.bytes[0] != FUSE_HANDLE_FILE)
		return;
	n->pin = pin_make(e, &n->handle, false, fd);
}

static bool has_reclaiming(const struct share_slot *o, bool in_grace)
{
	return share_get(in_grace ? &o->n_in_grace : &o->n_reclaiming) > 0;
}

/* Mounts, of any worker, that have not yet said what they have open; and are waited for. */
static bool are_reclaiming(const struct server_export *e, bool in_grace)
{
	struct share *share = &e->server->share;

	if ((in_grace ? e->n_in_grace : e->n_reclaiming) > 0)
		return true;
	for (uint32_t i = 0; i < share->n_peers; i++)
		if (has_reclaiming(share->peers[i], in_grace))
			return true;
	return false;
}

/* By another of our exports, which shows the same directory. */
static bool is_open_in_other_export(const struct fuse_server *srv, uint64_t key)
{
	return srv->n_exports > 1 && share_has_open(srv->share.own, key);
}

/* Whether it is open at another worker, or may be. A worker that begins anew says first that its
 * mounts have not said what they have, then that it lives, then it forgets what was open: so that
 * it does so between the looks shows. */
static bool may_be_open_elsewhere(const struct server_export *e, const struct fuse_handle *h,
				  bool in_grace)
{
	struct fuse_server *srv = e->server;
	uint64_t key = server_lease_key(srv, h->bytes, h->len);

	if (is_open_in_other_export(srv, key))
		return true;
	share_refresh(&srv->share);
	for (uint32_t i = 0; i < srv->share.n_peers; i++) {
		const struct share_slot *o = srv->share.peers[i];
		uint32_t life = share_get(&o->life);

		if (has_reclaiming(o, in_grace) || share_has_open(o, key) ||
		    share_get(&o->life) != life)
			return true;
	}
	return false;
}

bool server_pin_in_grace(const struct server_export *e)
{
	return e->n_provisional < PROVISIONAL_MAX && are_reclaiming(e, true);
}

bool server_pin_any_open_elsewhere(const struct server_export *e)
{
	const struct share *share = &e->server->share;

	for (uint32_t i = 0; i < share->n_peers; i++)
		if (share_get(&share->peers[i]->n_open) > 0)
			return true;
	return share->own->n_open > e->n_open;
}

bool server_pin_is_open_elsewhere(const struct server_export *e, const uint8_t *handle, size_t len)
{
	uint64_t key = server_lease_key(e->server, handle, len);

	return is_open_in_other_export(e->server, key) ||
	       share_is_open_elsewhere(&e->server->share, key);
}

static void pin_provisional(struct server_export *e, const struct helper_result *r, int fd)
{
	struct fuse_handle h = {.len = r->handle_len};

	memcpy(h.bytes, r->handle, h.len);
	if (pin_make(e, &h, true, fd)) {
		e->n_provisional++;
		e->sweep_due = true;
	}
}

void server_pin_victim(struct server_export *e, const struct helper_result *r, int fd)
{
	struct server_node *n = server_node_signed(e, r->handle, r->handle_len);

	if (n && n->n_open > 0) {
		server_pin(n, fd);
		return;
	}
	if (fd < 0 || r->handle[0] != FUSE_HANDLE_FILE || !S_ISREG(r->attr.mode))
		return;
	if (server_pin_in_grace(e) || server_pin_is_open_elsewhere(e, r->handle, r->handle_len))
		pin_provisional(e, r, fd);
}

/* Whoever opened it after it was looked at, and before it went, has noted so by now, or looks
 * whether it is gone after this. */
void server_pin_unlinked(struct server_export *e, const struct helper_result *r, int fd)
{
	struct server_node *n = server_node_signed(e, r->handle, r->handle_len);

	if (fd < 0 || r->handle_len == 0 || r->handle[0] != FUSE_HANDLE_FILE ||
	    !S_ISREG(r->attr.mode) || r->attr.nlink > 0)
		return;
	if (!(n && is_pinned(n)) && server_pin_is_open_elsewhere(e, r->handle, r->handle_len))
		pin_provisional(e, r, fd);
}

/* What the former agent held went with it, unless the service manager has kept it. */
void fuse_server_pin_again(struct fuse_server *srv)
{
	for (unsigned i = 0; i < srv->n_exports; i++) {
		srv->exports[i].repin_next = 0;
		server_helper_repin(&srv->exports[i]);
	}
}

/* Of the word that says what it is for now: another worker may let it go as well. */
static bool pin_drop(struct server_export *e, struct state_pin *rec)
{
	uint32_t word = __atomic_load_n(&rec->used, __ATOMIC_ACQUIRE);
	uint64_t key = pin_key(rec->handle, rec->len);

	if ((word & STATE_PIN_MASK) != STATE_PIN_USED || !state_pin_swap(rec, word, word))
		return true; /* the key may be that of something else */
	if (!pin_tell(e, key, -1))
		return false;
	state_pin_swap(rec, word, word & ~STATE_PIN_MASK);
	e->pin_requests[rec - e->state->holds].word = 0;
	return true;
}

void server_unpin(struct server_node *n)
{
	struct server_export *e = n->export;

	if (!is_pinned(n)) {
		n->pin = NULL;
		return;
	}
	if (e->server->ending)
		return;
	/* Another may have it open, or have had at a predecessor and not yet come to say so. */
	if (e->n_reclaiming > 0 || server_mounts_unclaimed(e) ||
	    may_be_open_elsewhere(e, &n->handle, false) || !pin_drop(e, n->pin))
		e->sweep_due = true;
	else
		n->pin = NULL;
}

/* Whether somebody has it open, or may have. Then it is left where it is. */
static bool pin_is_needed(struct server_export *e, struct state_pin *rec, bool settled)
{
	struct fuse_handle h = {.len = MIN_OF(rec->len, sizeof(rec->handle))};
	struct server_node *n;

	memcpy(h.bytes, rec->handle, h.len);
	n = server_node_signed(e, h.bytes, h.len);
	if (!settled && !rec->provisional)
		return true;
	if (n && n->n_open > 0) {
		n->pin = rec; /* opened again */
		rec->provisional = false;
		return true;
	}
	return may_be_open_elsewhere(e, &h, !settled);
}

/* What is held on suspicion goes when all have said what they have, or after a time: else one
 * client that never comes back would keep the space of all that is removed. */
void server_pins_sweep(struct server_export *e, uint64_t now_ns)
{
	bool settled, shared = e->server->share.n_peers > 0 || e->server->n_exports > 1;
	uint32_t n_provisional = 0, left = 0;

	if (PLENUM_LIKELY(!e->sweep_due) || now_ns < e->sweep_ns)
		return;
	settled = !are_reclaiming(e, false) && !server_mounts_unclaimed(e);
	if (!settled && are_reclaiming(e, true))
		return;
	for (uint32_t i = 0; i < STATE_PINS_MAX; i++) {
		struct state_pin *rec = &e->state->holds[i];

		if (!request_end(e, i))
			goto later;
		if (!state_pin_is_used(rec)) {
			if (rec->len == 0 && rec->used == 0)
				break; /* none was ever used from here on */
			continue;
		}
		if (pin_is_needed(e, rec, settled)) {
			n_provisional += rec->provisional;
			left++;
			continue;
		}
		if (!pin_drop(e, rec))
			goto later;
	}
	e->n_provisional = n_provisional;
	e->sweep_due = left > 0 && (!settled || shared);
later: /* where it was cut short: when the agent listens */
	e->sweep_ns = now_ns + SWEEP_NS;
}
