/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open files that are about to lose their last name: the agent is asked to hold them, so that their
 * handles stay good over this process's death.
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "netcfg/base/log.h"
#include <string.h>

/* As many files may be kept in vain, for clients that do not come back. */
#define MAYBE_MAX 512U

/* What is held is looked at so often: some need it still, or the agent does not listen. */
#define SWEEP_NS (100 * NSEC_PER_MSEC)

static bool hold_is_of(const struct state_hold *rec, const struct fuse_handle *h)
{
	return rec->len == h->len && memcmp(rec->handle, h->bytes, h->len) == 0;
}

/* What the search found beside it. */
struct hold_found {
	struct state_hold *free; /* where it may be put, if it is nowhere */
	uint32_t n_maybe;	 /* of any worker; all of them, if it is nowhere */
};

static struct state_hold *hold_find(struct server_export *e, const struct fuse_handle *h,
				    struct hold_found *ret)
{
	*ret = (struct hold_found){.free = NULL};
	for (uint32_t i = 0; i < STATE_HOLDS_MAX; i++) {
		struct state_hold *rec = &e->state->holds[i];
		uint32_t state = __atomic_load_n(&rec->used, __ATOMIC_ACQUIRE) & STATE_HOLD_MASK;

		if (state == STATE_HOLD_FREE && !ret->free)
			ret->free = rec;
		/* A predecessor's, or another worker's, which holds the same. */
		if (state == STATE_HOLD_USED && hold_is_of(rec, h))
			return rec;
		if (state == STATE_HOLD_FREE && rec->len == 0)
			break; /* none was ever used from here on */
		ret->n_maybe += state == STATE_HOLD_USED && rec->maybe;
	}
	return NULL;
}

/* Found, or filled. NULL: there is no room. */
static struct state_hold *hold_record(struct server_export *e, const struct fuse_handle *h,
				      bool maybe)
{
	struct hold_found found;
	struct state_hold *rec, *free;
	uint32_t word;

	for (;;) {
		rec = hold_find(e, h, &found);
		free = found.free;
		if (rec || !free || (maybe && found.n_maybe >= MAYBE_MAX))
			break;
		word = __atomic_load_n(&free->used, __ATOMIC_ACQUIRE);
		if ((word & STATE_HOLD_MASK) == STATE_HOLD_FREE &&
		    state_hold_swap(free, word, word | STATE_HOLD_MADE)) {
			free->len = h->len;
			memcpy(free->handle, h->bytes, h->len);
			free->maybe = maybe;
			state_publish(&free->used,
				      ((word | STATE_HOLD_MASK) + 1) | STATE_HOLD_USED);
			return free;
		}
	}
	if (rec && !maybe)
		rec->maybe = false;
	return rec;
}

/* Its signature is its name with the agent, whichever worker speaks of it. */
static uint64_t hold_key(const uint8_t *handle, size_t len)
{
	uint64_t key = 0;

	if (len > sizeof(key) && len <= FUSE_PROTO_HANDLE_MAX)
		memcpy(&key, handle + len - sizeof(key), sizeof(key));
	return key;
}

static bool hold_tell(struct server_export *e, uint64_t key, int fd)
{
	struct fuse_server *b = e->back;

	return b->hold(b->hold_user, (uint32_t)(e - b->exports), key, fd);
}

static bool is_named(const struct server_export *e, uint64_t key)
{
	for (uint32_t i = 0; i < STATE_HOLDS_MAX; i++) {
		const struct state_hold *rec = &e->state->holds[i];

		if (rec->len == 0 && rec->used == 0)
			break;
		if (state_hold_is_used(rec) && hold_key(rec->handle, rec->len) == key)
			return true;
	}
	return false;
}

/* Of a record that another let go of. False: the agent does not listen. */
static bool asked_end(struct server_export *e, uint32_t i)
{
	struct server_asked *asked = &e->asked[i];

	if (PLENUM_LIKELY(!asked->word) ||
	    asked->word == __atomic_load_n(&e->state->holds[i].used, __ATOMIC_ACQUIRE))
		return true;
	if (!is_named(e, asked->key) && !hold_tell(e, asked->key, -1))
		return false;
	asked->word = 0;
	return true;
}

/*
 * The agent hears its workers in any order, so it may hear that another let go of this before it
 * hears us ask. Whoever asked lets go, too, when he sees that the record is for something else.
 */
static bool hold_ask(struct server_export *e, const struct state_hold *rec,
		     const struct fuse_handle *h, int fd)
{
	struct server_asked *asked = &e->asked[rec - e->state->holds];

	(void)asked_end(e, (uint32_t)(rec - e->state->holds));
	asked->word = __atomic_load_n(&rec->used, __ATOMIC_ACQUIRE);
	asked->key = hold_key(h->bytes, h->len); /* the record may be another's by now */
	e->holds_due |= e->back->share.n_others > 0;
	return hold_tell(e, asked->key, fd);
}

void server_hold_anew(struct server_export *e, const uint8_t *handle, uint32_t len, int fd)
{
	struct fuse_handle h = {.len = len};
	struct hold_found found;
	const struct state_hold *rec;

	memcpy(h.bytes, handle, len);
	rec = hold_find(e, &h, &found);
	if (rec && !hold_ask(e, rec, &h, fd))
		log_debug("an open file without a name would not outlive this process");
}

static struct state_hold *hold_make(struct server_export *e, const struct fuse_handle *h,
				    bool maybe, int fd)
{
	struct state_hold *rec = hold_record(e, h, maybe);

	if (!rec)
		return NULL;
	if (!hold_ask(e, rec, h, fd))
		log_debug("an open file without a name would not outlive this process");
	return rec;
}

/* Another worker may have let go of it, and hold something else there. */
static bool is_held(const struct server_node *n)
{
	return n->hold && state_hold_is_used(n->hold) && hold_is_of(n->hold, &n->handle);
}

/*
 * The state says that a file is held before the agent is asked and until after it was told to let
 * go, so whenever the process dies its successor finds all that the agent may hold. Asking twice,
 * and letting go of what is not held, do no harm.
 */
void server_hold(struct server_node *n, int fd)
{
	struct server_export *e = n->export;

	if (n->n_open == 0 || is_held(n) || fd < 0 || n->handle.bytes[0] != FUSE_HANDLE_FILE)
		return;
	n->hold = hold_make(e, &n->handle, false, fd);
}

static bool has_unsettled(const struct share_slot *o, bool suspects)
{
	return share_get(suspects ? &o->n_suspects : &o->n_unsettled) > 0;
}

/* Mounts, of any worker, that have not yet said what they have open; and are waited for. */
static bool are_unsettled(const struct server_export *e, bool suspects)
{
	struct share *share = &e->back->share;

	if ((suspects ? e->n_suspects : e->n_unsettled) > 0)
		return true;
	for (uint32_t i = 0; i < share->n_others; i++)
		if (has_unsettled(share->others[i], suspects))
			return true;
	return false;
}

/* By another of our exports, which shows the same directory. */
static bool is_open_beside(const struct fuse_server *b, uint64_t key)
{
	return b->n_exports > 1 && share_has_open(b->share.own, key);
}

/* Whether it is open at another worker, or may be. A worker that begins anew says first that its
 * mounts have not said what they have, then that it lives, then it forgets what was open: so that
 * it does so between the looks shows. */
static bool may_be_open_elsewhere(const struct server_export *e, const struct fuse_handle *h,
				  bool suspects)
{
	struct fuse_server *b = e->back;
	uint64_t key = server_lease_key(b, h->bytes, h->len);

	if (is_open_beside(b, key))
		return true;
	share_look(&b->share);
	for (uint32_t i = 0; i < b->share.n_others; i++) {
		const struct share_slot *o = b->share.others[i];
		uint32_t life = share_get(&o->life);

		if (has_unsettled(o, suspects) || share_has_open(o, key) ||
		    share_get(&o->life) != life)
			return true;
	}
	return false;
}

bool server_hold_suspects(const struct server_export *e)
{
	return e->n_maybe < MAYBE_MAX && are_unsettled(e, true);
}

bool server_hold_any_elsewhere(const struct server_export *e)
{
	const struct share *share = &e->back->share;

	for (uint32_t i = 0; i < share->n_others; i++)
		if (share_get(&share->others[i]->n_open) > 0)
			return true;
	return share->own->n_open > e->n_open;
}

bool server_hold_is_open_elsewhere(const struct server_export *e, const uint8_t *handle, size_t len)
{
	uint64_t key = server_lease_key(e->back, handle, len);

	return is_open_beside(e->back, key) || share_is_open_elsewhere(&e->back->share, key);
}

static void hold_maybe(struct server_export *e, const struct helper_result *r, int fd)
{
	struct fuse_handle h = {.len = r->handle_len};

	memcpy(h.bytes, r->handle, h.len);
	if (hold_make(e, &h, true, fd)) {
		e->n_maybe++;
		e->holds_due = true;
	}
}

void server_hold_victim(struct server_export *e, const struct helper_result *r, int fd)
{
	struct server_node *n = server_node_signed(e, r->handle, r->handle_len);

	if (n && n->n_open > 0) {
		server_hold(n, fd);
		return;
	}
	if (fd < 0 || r->handle[0] != FUSE_HANDLE_FILE || !S_ISREG(r->attr.mode))
		return;
	if (server_hold_suspects(e) || server_hold_is_open_elsewhere(e, r->handle, r->handle_len))
		hold_maybe(e, r, fd);
}

/* Whoever opened it after it was looked at, and before it went, has noted so by now, or looks
 * whether it is gone after this. */
void server_hold_gone(struct server_export *e, const struct helper_result *r, int fd)
{
	struct server_node *n = server_node_signed(e, r->handle, r->handle_len);

	if (fd < 0 || r->handle_len == 0 || r->handle[0] != FUSE_HANDLE_FILE ||
	    !S_ISREG(r->attr.mode) || r->attr.nlink > 0)
		return;
	if (!(n && is_held(n)) && server_hold_is_open_elsewhere(e, r->handle, r->handle_len))
		hold_maybe(e, r, fd);
}

/* What the former agent held went with it, unless the service manager has kept it. */
void fuse_server_hold_again(struct fuse_server *b)
{
	for (unsigned i = 0; i < b->n_exports; i++) {
		b->exports[i].n_again = 0;
		server_helper_holds(&b->exports[i]);
	}
}

/* Of the word that says what it is for now: another worker may let it go as well. */
static bool hold_drop(struct server_export *e, struct state_hold *rec)
{
	uint32_t word = __atomic_load_n(&rec->used, __ATOMIC_ACQUIRE);
	uint64_t key = hold_key(rec->handle, rec->len);

	if ((word & STATE_HOLD_MASK) != STATE_HOLD_USED || !state_hold_swap(rec, word, word))
		return true; /* the key may be that of something else */
	if (!hold_tell(e, key, -1))
		return false;
	state_hold_swap(rec, word, word & ~STATE_HOLD_MASK);
	e->asked[rec - e->state->holds].word = 0;
	return true;
}

void server_unhold(struct server_node *n)
{
	struct server_export *e = n->export;

	if (!is_held(n)) {
		n->hold = NULL;
		return;
	}
	if (e->back->ending)
		return;
	/* Another may have it open, or have had at a predecessor and not yet come to say so. */
	if (e->n_unsettled > 0 || server_mounts_awaited(e) ||
	    may_be_open_elsewhere(e, &n->handle, false) || !hold_drop(e, n->hold))
		e->holds_due = true;
	else
		n->hold = NULL;
}

/* Whether somebody has it open, or may have. Then it is left where it is. */
static bool hold_is_needed(struct server_export *e, struct state_hold *rec, bool settled)
{
	struct fuse_handle h = {.len = MIN_OF(rec->len, sizeof(rec->handle))};
	struct server_node *n;

	memcpy(h.bytes, rec->handle, h.len);
	n = server_node_signed(e, h.bytes, h.len);
	if (!settled && !rec->maybe)
		return true;
	if (n && n->n_open > 0) {
		n->hold = rec; /* opened again */
		rec->maybe = false;
		return true;
	}
	return may_be_open_elsewhere(e, &h, !settled);
}

/* What is held on suspicion goes when all have said what they have, or after a time: else one
 * client that never comes back would keep the space of all that is removed. */
void server_holds_sweep(struct server_export *e, uint64_t now_ns)
{
	bool settled, shared = e->back->share.n_others > 0 || e->back->n_exports > 1;
	uint32_t n_maybe = 0, left = 0;

	if (PLENUM_LIKELY(!e->holds_due) || now_ns < e->sweep_ns)
		return;
	settled = !are_unsettled(e, false) && !server_mounts_awaited(e);
	if (!settled && are_unsettled(e, true))
		return;
	for (uint32_t i = 0; i < STATE_HOLDS_MAX; i++) {
		struct state_hold *rec = &e->state->holds[i];

		if (!asked_end(e, i))
			goto later;
		if (!state_hold_is_used(rec)) {
			if (rec->len == 0 && rec->used == 0)
				break; /* none was ever used from here on */
			continue;
		}
		if (hold_is_needed(e, rec, settled)) {
			n_maybe += rec->maybe;
			left++;
			continue;
		}
		if (!hold_drop(e, rec))
			goto later;
	}
	e->n_maybe = n_maybe;
	e->holds_due = left > 0 && (!settled || shared);
later: /* where it was cut short: when the agent listens */
	e->sweep_ns = now_ns + SWEEP_NS;
}
