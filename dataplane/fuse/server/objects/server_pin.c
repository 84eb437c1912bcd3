/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pins files: asks the agent to keep a descriptor of each open file that is about to lose its last
 * name, so that the file's handle stays valid after this process has ended.
 */
#include "dataplane/fuse/server/objects/server_pin.h"
#include "dataplane/fuse/server/objects/server_background.h"
#include "dataplane/fuse/server/objects/server_lease.h"
#include "dataplane/fuse/server/objects/server_node.h"
#include "dataplane/fuse/server/objects/server_types.h"
#include "netcfg/base/log.h"
#include <string.h>

/* Maximum number of files that stay pinned for clients that may never reconnect. */
#define PROVISIONAL_MAX 512U

/* Pause between two searches for pins that are no longer needed, while some may become so. */
#define SWEEP_NS (100 * NSEC_PER_MSEC)

static bool pin_is_of(const struct state_pin *rec, const struct fuse_handle *h)
{
	return rec->len == h->len && memcmp(rec->handle, h->bytes, h->len) == 0;
}

/* Further results of pin_find(), besides the record of the handle. */
struct pin_found {
	struct state_pin *free; /* an unused record; only set if no record has the handle */
	uint32_t n_provisional; /* count of provisional pins of all workers; only complete if no
				   record for the handle was found */
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
		/* A predecessor or another worker may have pinned the same file. */
		if (state == STATE_PIN_USED && pin_is_of(rec, h))
			return rec;
		if (state == STATE_PIN_FREE && rec->len == 0)
			break; /* the first record that was never used: all later records are
				  unused too */
		ret->n_provisional += state == STATE_PIN_USED && rec->provisional;
	}
	return NULL;
}

/* Finds the record of the pin for this handle, or creates one. Returns NULL if the table is
 * full. */
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

/* Returns the key under which the agent keeps the file's descriptor: the signature of the handle,
 * which is the same at all workers. */
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

/* If another worker has released the pin of record i, which this worker has requested too, releases
 * the pin for this worker as well. Returns false if the agent accepts no message now. */
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
 * Asks the agent for a pin. The agent may read the messages of different workers in any order, so
 * it may read another worker's release of this file before this worker's request. Therefore each
 * worker that has requested a pin also releases it when it sees that another worker has released
 * the record.
 */
static bool pin_ask(struct server_export *e, const struct state_pin *rec,
		    const struct fuse_handle *h, int fd)
{
	struct server_pin_request *request = &e->pin_requests[rec - e->state->holds];

	(void)request_end(e, (uint32_t)(rec - e->state->holds));
	request->word = __atomic_load_n(&rec->used, __ATOMIC_ACQUIRE);
	/* Make the key from h, because the record may have been reused meanwhile. */
	request->key = pin_key(h->bytes, h->len);
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
		log_debug("cannot pin an unlinked open file: its clients get ESTALE if this worker "
			  "restarts");
}

static struct state_pin *pin_make(struct server_export *e, const struct fuse_handle *h,
				  bool provisional, int fd)
{
	struct state_pin *rec = pin_record(e, h, provisional);

	if (!rec)
		return NULL;
	if (!pin_ask(e, rec, h, fd))
		log_debug("cannot pin an unlinked open file: its clients get ESTALE if this worker "
			  "restarts");
	return rec;
}

/* Returns whether the record of the node's pin still belongs to the node. Another worker may have
 * released the record, and another file may use the record now. */
static bool is_pinned(const struct server_node *n)
{
	return n->pin && state_pin_is_used(n->pin) && pin_is_of(n->pin, &n->handle);
}

/*
 * The export's state has a record of each pin. This worker writes the record before it asks the
 * agent for the pin, and removes the record after it has asked the agent to release the pin. So a
 * successor finds every file that the agent may have pinned. Asking for a pin twice, or releasing a
 * file that is not pinned, does no harm.
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

/* Returns whether mounts of any worker still have to reclaim their open files. in_grace: counts
 * only mounts in their grace period. */
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

/* Returns whether a client has the file open in another export of this worker. Two exports may
 * contain the same directory. */
static bool is_open_in_other_export(const struct fuse_server *srv, uint64_t key)
{
	return srv->n_exports > 1 && share_has_open(srv->share.own, key);
}

/* Returns whether the file is or may be open at another worker. A worker that restarts first
 * publishes that its mounts are reclaiming, then its new incarnation, and then clears its counts of
 * open files. So if the incarnation of a worker changes during this check, the file counts as open
 * there. */
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
		uint32_t incarnation = share_get(&o->incarnation);

		if (has_reclaiming(o, in_grace) || share_has_open(o, key) ||
		    share_get(&o->incarnation) != incarnation)
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

/* Pins the file if another worker has it open. Another worker may have opened it after the check
 * before the unlink. Either this function sees the other worker's count of open files, or the other
 * worker sees after the open that the link count is 0. */
void server_pin_unlinked(struct server_export *e, const struct helper_result *r, int fd)
{
	struct server_node *n = server_node_signed(e, r->handle, r->handle_len);

	if (fd < 0 || r->handle_len == 0 || r->handle[0] != FUSE_HANDLE_FILE ||
	    !S_ISREG(r->attr.mode) || r->attr.nlink > 0)
		return;
	if (!(n && is_pinned(n)) && server_pin_is_open_elsewhere(e, r->handle, r->handle_len))
		pin_provisional(e, r, fd);
}

/* Call when a new agent has adopted this worker. The descriptors that the old agent kept are lost,
 * unless the service manager or the descriptor holder has kept copies. */
void fuse_server_pin_again(struct fuse_server *srv)
{
	for (unsigned i = 0; i < srv->n_exports; i++) {
		srv->exports[i].repin_next = 0;
		/* server_helper_repin() counts the space of the pinned files again. */
		srv->exports[i].pins_bytes = 0;
		server_helper_repin(&srv->exports[i]);
	}
}

/* Releases the pin unless another worker changes its record at the same time. */
static bool pin_drop(struct server_export *e, struct state_pin *rec)
{
	uint32_t word = __atomic_load_n(&rec->used, __ATOMIC_ACQUIRE);
	uint64_t key = pin_key(rec->handle, rec->len);

	if ((word & STATE_PIN_MASK) != STATE_PIN_USED || !state_pin_swap(rec, word, word))
		return true; /* another worker has released the pin, and the record may already
				belong to another file */
	if (!pin_tell(e, key, -1))
		return false;
	state_pin_swap(rec, word, word & ~STATE_PIN_MASK);
	e->pin_requests[rec - e->state->holds].word = 0;
	return true;
}

/* Returns whether mounts of the export may be missing in the counts that the other workers publish.
 * A mount is missing if its worker no longer has the export, or has not appeared yet since this
 * worker started with new shared memory. */
static bool mounts_unclaimed(const struct server_export *e)
{
	const struct share *share = &e->server->share;

	if (clock_now_ns() - share->own->born_ns > SHARE_GONE_NS)
		return false;
	for (unsigned i = 0; i < JOURNAL_MOUNTS_MAX; i++) {
		const struct state_mount *rec = &e->state->mounts[i];
		uint32_t server = STATE_SERVED_BY(state_served(rec));
		const struct share_slot *slot;

		if (!share_get(&rec->used) || !server || server == e->server->cfg->worker_id)
			continue;
		slot = share_slot_of(share, server);
		if (!slot || !share_serves(slot, e->name_hash))
			return true;
	}
	return false;
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
	/* Keep the pin if another client may have the file open or may still reclaim it, or if the
	 * agent accepts no message now. */
	if (e->n_reclaiming > 0 || mounts_unclaimed(e) ||
	    may_be_open_elsewhere(e, &n->handle, false) || !pin_drop(e, n->pin))
		e->sweep_due = true;
	else
		n->pin = NULL;
}

/* Returns whether a client has, or may have, the file open, so that its pin must be kept. */
static bool pin_is_needed(struct server_export *e, struct state_pin *rec, bool settled)
{
	struct fuse_handle h = {.len = MIN_OF(rec->len, sizeof(rec->handle))};
	struct server_node *n;

	memcpy(h.bytes, rec->handle, h.len);
	n = server_node_signed(e, h.bytes, h.len);
	if (!settled && !rec->provisional)
		return true;
	if (n && n->n_open > 0) {
		n->pin = rec; /* a client has opened the file again, so the node's last close
				 releases the pin */
		rec->provisional = false;
		return true;
	}
	return may_be_open_elsewhere(e, &h, !settled);
}

bool server_pin_is_unclaimed(const struct server_export *e, const uint8_t *handle, size_t len)
{
	const struct server_node *n = server_node_signed(e, handle, len);

	return (!n || n->n_open == 0) && !server_pin_is_open_elsewhere(e, handle, len);
}

uint32_t server_pins_unclaimed(const struct server_export *e)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < STATE_PINS_MAX; i++) {
		const struct state_pin *rec = &e->state->holds[i];

		if (rec->len == 0 && rec->used == 0)
			break;
		n += state_pin_is_used(rec) &&
		     server_pin_is_unclaimed(e, rec->handle, MIN_OF(rec->len, sizeof(rec->handle)));
	}
	return n;
}

/* Releases pins that are not needed. Provisional pins end when every client has reclaimed its
 * files, or after the grace period at the latest: otherwise one client that never reconnects would
 * make all removed files keep their space. */
void server_pins_sweep(struct server_export *e, uint64_t now_ns)
{
	bool settled, shared = e->server->share.n_peers > 0 || e->server->n_exports > 1;
	uint32_t n_provisional = 0, left = 0;

	if (PLENUM_LIKELY(!e->sweep_due) || now_ns < e->sweep_ns)
		return;
	settled = !are_reclaiming(e, false) && !mounts_unclaimed(e);
	if (!settled && are_reclaiming(e, true))
		return;
	for (uint32_t i = 0; i < STATE_PINS_MAX; i++) {
		struct state_pin *rec = &e->state->holds[i];

		if (!request_end(e, i))
			goto later;
		if (!state_pin_is_used(rec)) {
			if (rec->len == 0 && rec->used == 0)
				break; /* the first record that was never used: all later
					  records are unused too */
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
later: /* continue with this record when the agent accepts messages again */
	e->sweep_ns = now_ns + SWEEP_NS;
}
