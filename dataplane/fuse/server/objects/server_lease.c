/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leases: a lease allows a client to cache a name and the attributes of its file for a second
 * without asking. A request that changes the name or the file waits until the leases of all other
 * clients on it have expired. So once a client's change is complete, no other client's kernel shows
 * the state before it.
 *
 * The table is in memory that all workers of the host share (server_share.h), because one worker
 * may change a file on which another worker has granted a lease. A worker records a grant before it
 * checks for changes by its peers, and a change before it checks for grants by its peers. If the
 * table is lost, the next change must wait until all leases have expired.
 */
#include "dataplane/fuse/server/objects/server_lease.h"
#include "dataplane/fuse/server/objects/server_types.h"
#include "netcfg/base/hash.h"

/* How long the server considers a lease valid. The client's process counts one second from the time
 * of its request. The client's kernel begins to count later, when the requesting program runs; the
 * additional half second covers that delay. */
#define LEASE_NS (1500 * NSEC_PER_MSEC)
/* How long the server considers a lease on the list of names in a folder valid. Only the client's
 * process uses this lease, not its kernel. So the additional time only covers the different rates
 * of the two hosts' clocks. */
#define LEASE_NAMES_NS (1100 * NSEC_PER_MSEC)
/* If another client has changed an object, a client gets a lease on the object only after the
 * object was unchanged for this long. */
#define LEASE_UNCHANGED_NS (2 * NSEC_PER_SEC)
/* After a request had to wait for a lease, the export grants no leases for this time. If that soon
 * happens again, the time doubles. */
#define LEASE_BACKOFF_NS (10 * NSEC_PER_SEC)
#define LEASE_BACKOFF_DOUBLINGS_MAX 6U
#define LEASE_NOTE_NS (100 * NSEC_PER_MSEC)
#define LEASE_SEVERAL UINT64_MAX

static bool has_mounts(const struct fuse_server *srv, const struct server_export *e)
{
	const struct server_mount *m = srv->mounts;

	while (m && m->export != e)
		m = m->next;
	return m;
}

/* Restores the information about the leases that a predecessor has granted. If the predecessor's
 * table still exists, it has all leases. Otherwise changes must wait until all leases have expired.
 * If the predecessor served a single mount, this mount need not wait: a client need not wait for
 * its own leases. */
void server_leases_restore(struct fuse_server *srv)
{
	uint64_t latest_ns = clock_now_ns() + LEASE_NS + LEASE_NOTE_NS;

	for (unsigned i = 0; i < srv->n_exports && srv->share.own->incarnation == 0; i++)
		if (has_mounts(srv, &srv->exports[i]))
			srv->predecessor_leases_until_ns =
				MAX_OF(srv->predecessor_leases_until_ns,
				       MIN_OF(latest_ns, srv->exports[i].state->granted_until_ns));
	for (const struct server_mount *m = srv->mounts; m; m = m->next)
		if (m->number != srv->mounts->number)
			return;
	if (srv->mounts)
		srv->predecessor_mount = srv->mounts->number;
}

uint64_t server_lease_key(const struct fuse_server *srv, const uint8_t *handle, size_t len)
{
	uint64_t key;

	if (len <= HELPERS_SIGNATURE_BYTES || handle[0] != FUSE_HANDLE_FILE)
		return 0;
	key = hash_keyed(srv->share.hash_key, handle, len - HELPERS_SIGNATURE_BYTES);
	return key ? key : 1;
}

/* Returns the key of the list of names in the folder with the key `key`. */
static uint64_t names_key(uint64_t key)
{
	uint64_t names = key ^ 0x9e3779b97f4a7c15ULL;

	return key == 0 ? 0 : names ? names : 1;
}

/* ------------------------------------------------------------------ memory for leases */

static struct server_lease *find(struct share_slot *slot, uint64_t key)
{
	uint64_t *keys = slot->keys[key & (SHARE_LEASE_SETS - 1)];

	for (unsigned i = 0; i < SHARE_LEASE_WAYS; i++)
		if (share_get(&keys[i]) == key)
			return &slot->leases[key & (SHARE_LEASE_SETS - 1)][i];
	return NULL;
}

/* Returns where the key of a lease in this worker's own table is stored. */
static uint64_t *key_slot(const struct fuse_server *srv, const struct server_lease *l)
{
	return &srv->share.own->keys[0][0] + (l - &srv->share.own->leases[0][0]);
}

static bool is_idle(const struct share_slot *own, const struct server_lease *l, uint64_t now_ns)
{
	return (l->busy == 0 || l->incarnation != own->incarnation) && l->until_ns <= now_ns;
}

/* If the lease is from an earlier incarnation of this worker, clears its number of changes in
 * progress, because these have ended. */
static struct server_lease *reset_if_stale(struct share_slot *own, struct server_lease *l)
{
	if (l->incarnation != own->incarnation) {
		share_set(&l->busy, 0U);
		share_set(&l->incarnation, own->incarnation);
	}
	return l;
}

/* Returns the lease with this key in this worker's table, and creates it if there is none. Returns
 * NULL if all entries that the key may use have granted leases or changes in progress. */
static struct server_lease *lease_of(struct fuse_server *srv, uint64_t key, uint64_t now_ns)
{
	struct share_slot *own = srv->share.own;
	struct server_lease *l = find(own, key), *set = own->leases[key & (SHARE_LEASE_SETS - 1)];
	struct server_lease *oldest = NULL;

	if (l)
		return reset_if_stale(own, l);
	for (unsigned i = 0; i < SHARE_LEASE_WAYS; i++)
		if (is_idle(own, &set[i], now_ns) &&
		    (!oldest || set[i].changed_ns < oldest->changed_ns))
			oldest = &set[i];
	if (!oldest)
		return NULL;
	/* The entry is reused, so its last change is forgotten. Record the time of that change: a
	 * request that began earlier may have seen the state before it. Peers read forgotten_ns
	 * last. So they see either the change in the entry, or that it may be forgotten. */
	own->changes_forgotten = MAX_OF(own->changes_forgotten, oldest->changed);
	share_set(&own->forgotten_ns, MAX_OF(own->forgotten_ns, oldest->changed_ns));
	share_set(key_slot(srv, oldest), 0UL);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	share_set(&oldest->until_ns, 0UL);
	share_set(&oldest->changed_ns, 0UL);
	share_set(&oldest->busy, 0U);
	share_set(&oldest->incarnation, own->incarnation);
	oldest->changed = own->changes_forgotten;
	share_set(&oldest->holder, 0UL);
	share_set(&oldest->changer, 0UL);
	share_set(key_slot(srv, oldest), key);
	return oldest;
}

/* ------------------------------------------------------------------ granting leases */

static bool is_grantable(const struct server_lease *l, uint64_t mount, uint64_t since,
			 uint64_t now_ns)
{
	if (l->busy > 0 || l->changed > since)
		return false;
	return l->changer == mount || l->changed_ns == 0 ||
	       now_ns - l->changed_ns > LEASE_UNCHANGED_NS;
}

/* Returns whether a peer's table shows no change of the key since since_ns. The peer may be writing
 * to the table meanwhile. */
static bool peer_allows(struct share_slot *o, uint64_t key, uint64_t mount, uint64_t since_ns,
			uint64_t now_ns)
{
	struct server_lease *l = find(o, key);

	if (l) {
		bool busy = share_get(&l->busy) > 0;
		uint64_t changed_ns;

		if (busy && share_get(&l->incarnation) == share_get(&o->incarnation))
			return false;
		changed_ns = share_get(&l->changed_ns);
		if (changed_ns >= since_ns)
			return false;
		if (changed_ns && share_get(&l->changer) != mount &&
		    now_ns < changed_ns + LEASE_UNCHANGED_NS)
			return false;
	}
	return share_get(&o->n_untracked) == 0 && share_get(&o->untracked_ns) < since_ns &&
	       share_get(&o->forgotten_ns) < since_ns;
}

static void grant(struct server_lease *l, uint64_t mount, uint64_t now_ns, uint64_t until_ns)
{
	share_set(&l->holder, l->until_ns > now_ns && l->holder != mount ? LEASE_SEVERAL : mount);
	share_set(&l->until_ns, until_ns);
}

/* Grants all n leases, unless a worker changes one of the objects now, or has changed one since the
 * request began. */
static bool grant_all(struct server_req *q, struct server_lease *const l[], const uint64_t keys[],
		      unsigned n, uint64_t now_ns, uint64_t until_ns)
{
	struct share *share = &q->client->server->share;
	uint64_t mount = q->mount->number;
	struct server_lease was[2];
	bool free = true;

	for (unsigned i = 0; i < n; i++) {
		was[i] = *l[i];
		grant(l[i], mount, now_ns, until_ns);
	}
	share_refresh(share);
	for (uint32_t i = 0; i < share->n_peers; i++)
		for (unsigned k = 0; k < n && free; k++)
			free = peer_allows(share->peers[i], keys[k], mount, q->begun_ns, now_ns);
	for (unsigned i = 0; i < n && !free; i++) {
		share_set(&l[i]->until_ns, was[i].until_ns);
		share_set(&l[i]->holder, was[i].holder);
	}
	return free;
}

static void changer_set(struct server_lease *l, uint64_t mount)
{
	share_set(&l->changer, l->busy > 0 && l->changer != mount ? LEASE_SEVERAL : mount);
}

/* Records the mount of q as the last mount that changed the object. The mount's client has created
 * or changed the object and will probably change the object again. */
static void made_by(struct server_lease *l, const struct server_req *q, uint64_t now_ns)
{
	uint32_t opcode = q->in->opcode;

	if (opcode == FUSE_LOOKUP || opcode == FUSE_READDIRPLUS || opcode == FUSE_OPENDIR || !l)
		return;
	changer_set(l, q->mount->number);
	share_set(&l->changed_ns, now_ns);
}

/* Returns whether all changes without an entry in the table ended before this request began. Any
 * later such change may have changed one of the request's objects. */
static bool untracked_is_quiet(const struct server_req *q)
{
	const struct share_slot *own = q->client->server->share.own;

	return own->n_untracked == 0 && q->changes_before >= own->untracked_changed;
}

/* Records in the export's state, for a successor, until when leases may be valid. Call it before
 * the client can use the lease. It writes only rarely, so it costs almost nothing. */
static void granted_note(struct state *state, uint64_t now_ns)
{
	if (share_get(&state->granted_until_ns) < now_ns + LEASE_NS)
		state_publish(&state->granted_until_ns, now_ns + LEASE_NS + LEASE_NOTE_NS);
}

bool server_lease_grant(struct server_req *q, const uint8_t *handle, size_t len,
			const struct fuse_attr *attr)
{
	struct fuse_server *srv = q->client->server;
	struct state *state = q->mount->export->state;
	struct server_lease *l[2];
	uint64_t now_ns, keys[2];

	/* A folder needs no lease, because clients cache its names and attributes for a second even
	 * without a lease. A file with several names gets none: if it is unlinked in another
	 * folder, the server checks only the lease of that folder. */
	if (!(q->client->features & FUSE_PROTO_FEATURE_LEASE) || q->resent || S_ISDIR(attr->mode) ||
	    attr->nlink != 1)
		return false;
	if (!untracked_is_quiet(q))
		return false;
	keys[0] = server_lease_key(srv, q->args.handles[0].bytes, q->args.handles[0].len);
	keys[1] = server_lease_key(srv, handle, len);
	now_ns = clock_now_ns();
	for (unsigned i = 0; i < 2; i++) {
		l[i] = keys[i] ? lease_of(srv, keys[i], now_ns) : NULL;
		made_by(l[i], q, now_ns);
		if (now_ns < share_get(&state->backoff_until_ns) || !l[i] ||
		    !is_grantable(l[i], q->mount->number, q->changes_before, now_ns))
			return false;
	}
	if (*key_slot(srv, l[0]) != keys[0]) /* the second lease has taken the entry of the first
						one */
		return false;
	granted_note(state, now_ns);
	return grant_all(q, l, keys, 2, now_ns, now_ns + LEASE_NS);
}

static bool names_grant(struct server_req *q, const uint8_t *handle, size_t len)
{
	struct fuse_server *srv = q->client->server;
	struct state *state = q->mount->export->state;
	uint64_t key = names_key(server_lease_key(srv, handle, len)), now_ns = clock_now_ns();
	struct server_lease *l;

	if (q->resent || !key || now_ns < share_get(&state->backoff_until_ns) ||
	    !untracked_is_quiet(q))
		return false;
	l = lease_of(srv, key, now_ns);
	if (!l || !is_grantable(l, q->mount->number, q->changes_before, now_ns))
		return false;
	granted_note(state, now_ns);
	return grant_all(q, &l, &key, 1, now_ns, now_ns + LEASE_NAMES_NS);
}

/* The folder is new, so only changes since its creation can conflict. */
bool server_lease_empty(struct server_req *q, const uint8_t *handle, size_t len)
{
	return q->client->features & FUSE_PROTO_FEATURE_EMPTY && names_grant(q, handle, len);
}

bool server_lease_names(struct server_req *q)
{
	return q->client->features & FUSE_PROTO_FEATURE_NAMES &&
	       names_grant(q, q->args.handles[0].bytes, q->args.handles[0].len);
}

/* ------------------------------------------------------------------ changes of files */

enum {
	CHANGES_FIRST = 1, /* the first object that the request names; the next constant: the second
			      object */
	CHANGES_SECOND = 2,
	CHANGES_NAMES_FIRST = 4, /* the set of names in the first folder, which other clients may
				    have cached; the next constant: in the second folder */
	CHANGES_NAMES_SECOND = 8,
};

/* Returns a bit for each object that the request changes and that clients may have cached. CREATE
 * may open an existing file whose handle is not known yet; the bit of the folder then stands for
 * the file. */
static unsigned changes_of(const struct server_req *q)
{
	const struct fuse_open_in *open = server_req_arg(q);
	const struct fuse_create_in *create = server_req_arg(q);

	switch (q->in->opcode) {
	case FUSE_SETATTR:
	case FUSE_SETXATTR:
	case FUSE_REMOVEXATTR:
	case FUSE_FALLOCATE:
	case FUSE_WRITE:
		return CHANGES_FIRST;
	case FUSE_UNLINK:
		return CHANGES_FIRST | CHANGES_NAMES_FIRST;
	case FUSE_COPY_FILE_RANGE:
		return CHANGES_SECOND;
	case FUSE_LINK:
		return CHANGES_SECOND | CHANGES_NAMES_FIRST;
	case FUSE_RENAME:
	case FUSE_RENAME2:
		return CHANGES_FIRST | CHANGES_SECOND | CHANGES_NAMES_FIRST | CHANGES_NAMES_SECOND;
	case FUSE_OPEN:
		return open->flags & O_TRUNC ? CHANGES_FIRST : 0;
	case FUSE_CREATE:
		return CHANGES_NAMES_FIRST |
		       (create->flags & O_TRUNC && !(create->flags & O_EXCL) ? CHANGES_FIRST : 0);
	case FUSE_SYMLINK:
	case FUSE_MKNOD:
	case FUSE_MKDIR:
	case FUSE_RMDIR: /* the folder itself needs no lease, because clients cache names of folders
			    for a second even without a lease */
		return CHANGES_NAMES_FIRST;
	default:
		return 0;
	}
}

/* Call when a request must wait for a lease. */
static void conflict(struct state *s, uint64_t now_ns)
{
	uint64_t backoff_until_ns = share_get(&s->backoff_until_ns),
		 backoff_doublings = MIN_OF(share_get(&s->backoff_doublings),
					    (uint64_t)LEASE_BACKOFF_DOUBLINGS_MAX);
	bool soon = backoff_until_ns &&
		    now_ns < backoff_until_ns + (LEASE_BACKOFF_NS << backoff_doublings);

	if (now_ns < backoff_until_ns)
		return;
	backoff_doublings =
		soon ? MIN_OF(backoff_doublings + 1, (uint64_t)LEASE_BACKOFF_DOUBLINGS_MAX) : 0;
	share_set(&s->backoff_doublings, backoff_doublings);
	share_set(&s->backoff_until_ns, now_ns + (LEASE_BACKOFF_NS << backoff_doublings));
}

/* Returns whether a helper was killed while it executed this request. All leases had expired before
 * the helper got the request, so the request does not wait again: its result must be known before
 * anything else happens to the file. */
static bool is_suspect(const struct server_req *q)
{
	return q->record && JOURNAL_STATE(q->ticket) == JOURNAL_SUSPECT;
}

static bool moves(const struct server_req *q)
{
	return q->in->opcode == FUSE_RENAME || q->in->opcode == FUSE_RENAME2;
}

/* Returns when the last lease on the object expires, whichever worker has granted it; 0 if no lease
 * is granted. */
static uint64_t leased_until(struct fuse_server *srv, const struct server_lease *l, uint64_t now_ns)
{
	uint64_t until_ns = l ? l->until_ns : 0;

	for (uint32_t i = 0; l && i < srv->share.n_peers; i++) {
		const struct server_lease *o = find(srv->share.peers[i], *key_slot(srv, l));

		if (o)
			until_ns = MAX_OF(until_ns, share_get(&o->until_ns));
	}
	return until_ns > now_ns ? until_ns : 0;
}

/* Call before a rename. The kernel of the client that renames keeps its cached entry under the new
 * name. So until that entry expires, the target folder counts as leased too. Record this before the
 * rename, because a request that changes the folder checks for leases only when it begins. Returns
 * true if there may be such an entry. */
static bool grant_for_rename(struct server_req *q, struct server_lease *const l[2], uint64_t now_ns)
{
	struct fuse_server *srv = q->client->server;
	uint64_t until_ns;

	if (!moves(q) || !l[0] || !l[1] || l[0] == l[1])
		return false;
	until_ns = MAX_OF(leased_until(srv, l[0], now_ns), leased_until(srv, l[1], now_ns));
	for (unsigned i = 0; i < 2 && until_ns; i++)
		grant(l[i], q->mount->number, now_ns, until_ns);
	return until_ns > 0;
}

static bool is_busy(const struct share_slot *o, const struct server_lease *l, uint64_t mount)
{
	return l && share_get(&l->busy) > 0 &&
	       share_get(&l->incarnation) == share_get(&o->incarnation) &&
	       share_get(&l->changer) != mount;
}

/* Returns whether another request is changing one of the two folders, and may have checked for
 * leases before the moved entry was recorded. The caller must have issued a full fence. */
static bool is_changing_elsewhere(struct server_req *q, struct server_lease *const l[2],
				  const uint64_t keys[2])
{
	struct share *share = &q->client->server->share;
	uint64_t mount = q->mount->number;

	if (is_busy(share->own, l[0], mount) || is_busy(share->own, l[1], mount) ||
	    share->own->n_untracked > 0)
		return true;
	for (uint32_t i = 0; i < share->n_peers; i++) {
		struct share_slot *o = share->peers[i];

		if (share_get(&o->n_untracked) > 0 || is_busy(o, find(o, keys[0]), mount) ||
		    is_busy(o, find(o, keys[1]), mount))
			return true;
	}
	return false;
}

/* Marks the object as being changed, so that no new lease on it is granted. Returns false if
 * another mount has a lease on it. */
static bool change_one(struct server_req *q, struct server_lease *l, uint64_t now_ns)
{
	uint64_t mount = q->mount->number;

	changer_set(l, mount);
	share_set(&l->changed_ns, now_ns);
	share_set(&l->busy, l->busy + 1);
	return l->until_ns <= now_ns || l->holder == mount;
}

/* Returns whether a peer has granted a lease on one of the keys to another mount. */
static bool is_granted_elsewhere(struct server_req *q, const uint64_t keys[SERVER_LEASES_MAX],
				 uint64_t now_ns)
{
	struct share *share = &q->client->server->share;

	share_refresh(share);
	for (uint32_t i = 0; i < share->n_peers; i++)
		for (unsigned k = 0; k < SERVER_LEASES_MAX; k++) {
			const struct server_lease *l =
				keys[k] ? find(share->peers[i], keys[k]) : NULL;

			if (l && share_get(&l->until_ns) > now_ns &&
			    share_get(&l->holder) != q->mount->number)
				return true;
		}
	return false;
}

static uint64_t key_of(const struct server_req *q, unsigned i)
{
	return server_lease_key(q->client->server, q->args.handles[i].bytes,
				q->args.handles[i].len);
}

/* Marks all objects that the request changes as being changed. Returns true if each of them has an
 * entry in the table. */
static bool mark_changing(struct server_req *q, unsigned what, uint64_t keys[SERVER_LEASES_MAX],
			  struct server_lease *l[SERVER_LEASES_MAX], uint64_t now_ns, bool *free)
{
	struct fuse_server *srv = q->client->server;
	bool tracked = true;

	keys[0] = what & CHANGES_FIRST ? key_of(q, 0) : 0;
	keys[1] = what & CHANGES_SECOND ? key_of(q, 1) : 0;
	keys[2] = what & CHANGES_NAMES_FIRST ? names_key(key_of(q, 0)) : 0;
	keys[3] = what & CHANGES_NAMES_SECOND ? names_key(key_of(q, 1)) : 0;
	for (unsigned i = 0; i < SERVER_LEASES_MAX; i++) {
		if (!keys[i])
			continue;
		l[i] = lease_of(srv, keys[i], now_ns);
		/* Do not wait for a free entry in the table, because other clients could keep all
		 * entries in use for ever. The object of a missing entry has no lease in this
		 * table. */
		if (!l[i])
			tracked = false;
		else
			*free &= change_one(q, l[i], now_ns);
	}
	return tracked;
}

static bool is_marked(const struct server_req *q)
{
	for (unsigned i = 0; i < ARRAY_SIZE(q->leases); i++)
		if (q->leases[i])
			return true;
	return false;
}

bool server_lease_change(struct server_req *q)
{
	unsigned what = changes_of(q);
	struct fuse_server *srv = q->client->server;
	struct share_slot *own = srv->share.own;
	struct server_lease *l[SERVER_LEASES_MAX] = {};
	uint64_t keys[SERVER_LEASES_MAX],
		now_ns = what || srv->share.n_peers > 0 ? clock_now_ns() : 0;
	bool free = now_ns >= srv->predecessor_leases_until_ns ||
		    q->mount->number == srv->predecessor_mount,
	     granted_for_rename;

	q->changes_before = own->n_changes;
	q->begun_ns = now_ns;
	if (!what || q->untracked || is_marked(q))
		return true;
	q->untracked = !mark_changing(q, what, keys, l, now_ns, &free);
	granted_for_rename = free && grant_for_rename(q, l, now_ns);
	share_set(&own->n_untracked, own->n_untracked + q->untracked);
	if (is_granted_elsewhere(q, keys, now_ns) ||
	    (granted_for_rename && is_changing_elsewhere(q, l, keys)))
		free = false;
	/* A rename needs entries in the table, to record that the client keeps its cached entry in
	 * the target folder. */
	if (free && q->untracked && moves(q) &&
	    (leased_until(srv, l[0], now_ns) || leased_until(srv, l[1], now_ns)))
		free = false;
	if (!free && now_ns >= srv->predecessor_leases_until_ns)
		conflict(q->mount->export->state, now_ns);
	free = free || is_suspect(q);
	for (unsigned i = 0; i < SERVER_LEASES_MAX; i++) {
		if (l[i] && !free)
			share_set(&l[i]->busy, l[i]->busy - 1);
		q->leases[i] = free ? l[i] : NULL;
	}
	if (!free) {
		share_set(&own->n_untracked, own->n_untracked - q->untracked);
		q->untracked = false;
	}
	return free;
}

void server_lease_changed(struct server_req *q)
{
	struct share_slot *own = q->client->server->share.own;

	for (unsigned i = 0; i < ARRAY_SIZE(q->leases); i++) {
		struct server_lease *l = q->leases[i];

		if (!l)
			continue;
		l->changed = ++own->n_changes;
		share_set(&l->changed_ns, clock_now_ns());
		share_set(&l->busy, l->busy - 1);
		q->leases[i] = NULL;
	}
	if (q->untracked) {
		own->untracked_changed = ++own->n_changes;
		share_set(&own->untracked_ns, clock_now_ns());
		share_set(&own->n_untracked, own->n_untracked - 1);
		q->untracked = false;
	}
}

/* ------------------------------------------------------------------ leases for writing */

/* Returns how many of the changes in progress in this worker's own table are those of q. */
static uint32_t own_changes(const struct server_req *q, const struct server_lease *l)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(q->leases); i++)
		n += q->leases[i] == l;
	return n;
}

bool server_lease_is_changing(struct server_req *q, uint64_t key)
{
	struct share *share = &q->client->server->share;
	const struct server_lease *l = find(share->own, key);

	if (l && l->incarnation == share->own->incarnation && l->busy > own_changes(q, l))
		return true;
	for (uint32_t i = 0; i < share->n_peers; i++) {
		struct share_slot *o = share->peers[i];

		l = find(o, key);
		if (l && share_get(&l->busy) > 0 &&
		    share_get(&l->incarnation) == share_get(&o->incarnation))
			return true;
	}
	return false;
}

static bool any_untracked(const struct server_req *q)
{
	const struct share *share = &q->client->server->share;

	if (share->own->n_untracked > q->untracked)
		return true;
	for (uint32_t i = 0; i < share->n_peers; i++)
		if (share_get(&share->peers[i]->n_untracked) > 0)
			return true;
	return false;
}

bool server_lease_is_alone(struct server_req *q, uint64_t key)
{
	struct share *share = &q->client->server->share;
	uint64_t mount = q->mount->number, now_ns = clock_now_ns();
	const struct server_lease *l = find(share->own, key);

	/* Without an entry, this change of the file is not recorded. */
	if (!l || q->untracked || (l->until_ns > now_ns && l->holder != mount) ||
	    any_untracked(q) || server_lease_is_changing(q, key))
		return false;
	for (uint32_t i = 0; i < share->n_peers; i++) {
		l = find(share->peers[i], key);
		if (l && ((share_get(&l->until_ns) > now_ns && share_get(&l->holder) != mount) ||
			  (share_get(&l->changer) != mount &&
			   now_ns < share_get(&l->changed_ns) + LEASE_UNCHANGED_NS)))
			return false;
	}
	return true;
}
