/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What clients may believe without asking: a name and the attributes behind it, for a second. Who
 * changes either waits until nobody else believes it any more, so a client's kernel may keep names
 * and still never shows what another client's finished operation has made untrue. Apart from the
 * operations because it only delays them. It lies in memory that all workers of the host share
 * (fuse_server_share.h), for what one lends another may be asked to change: a grant is written down
 * before it is looked whether others change, a change before it is looked whether others have lent.
 * It may be lost where all that others believe is let run out first.
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "netcfg/base/hash.h"

/* The client counts a second from when it asked; the rest is for its kernel's processes, which
 * begin to count when they run. */
#define LEASE_NS (1500 * NSEC_PER_MSEC)
/* Which names a folder has the client counts for a second, and no kernel keeps it; the rest is for
 * clocks that do not go alike. */
#define LEASE_NAMES_NS (1100 * NSEC_PER_MSEC)
/* What another has changed is lent only when it has been left alone for so long. */
#define LEASE_UNCHANGED_NS (2 * NSEC_PER_SEC)
/* When somebody had to wait nothing of the export is lent for so long; twice as long each time that
 * it happens again soon. */
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

/* To a single mount its own changes are known; who comes anew waits for what that one believes. A
 * predecessor that left its leases where they are has left nothing to guess. */
void server_leases_restore(struct fuse_server *srv)
{
	uint64_t latest_ns = clock_now_ns() + LEASE_NS + LEASE_NOTE_NS;

	for (unsigned i = 0; i < srv->n_exports && srv->share.own->life == 0; i++)
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

/* That of the names that a folder has, and has not. */
static uint64_t names_key(uint64_t key)
{
	uint64_t names = key ^ 0x9e3779b97f4a7c15ULL;

	return key == 0 ? 0 : names ? names : 1;
}

/* ------------------------------------------------------------------ places */

static struct server_lease *find(struct share_slot *slot, uint64_t key)
{
	uint64_t *keys = slot->keys[key & (SHARE_LEASE_SETS - 1)];

	for (unsigned i = 0; i < SHARE_LEASE_WAYS; i++)
		if (share_get(&keys[i]) == key)
			return &slot->leases[key & (SHARE_LEASE_SETS - 1)][i];
	return NULL;
}

/* Where the key of one of ours stands. */
static uint64_t *key_slot(const struct fuse_server *srv, const struct server_lease *l)
{
	return &srv->share.own->keys[0][0] + (l - &srv->share.own->leases[0][0]);
}

static bool is_idle(const struct share_slot *own, const struct server_lease *l, uint64_t now_ns)
{
	return (l->busy == 0 || l->life != own->life) && l->until_ns <= now_ns;
}

/* What a former life was at is over. */
static struct server_lease *reset_if_stale(struct share_slot *own, struct server_lease *l)
{
	if (l->life != own->life) {
		share_set(&l->busy, 0U);
		share_set(&l->life, own->life);
	}
	return l;
}

/* NULL: all places are taken by what is lent or being changed. */
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
	/* Who looked before a change that is forgotten here has seen what was before it. Others
	 * look at this last, so they see either the change or that it may be forgotten. */
	own->changes_forgotten = MAX_OF(own->changes_forgotten, oldest->changed);
	share_set(&own->forgotten_ns, MAX_OF(own->forgotten_ns, oldest->changed_ns));
	share_set(key_slot(srv, oldest), 0UL);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	share_set(&oldest->until_ns, 0UL);
	share_set(&oldest->changed_ns, 0UL);
	share_set(&oldest->busy, 0U);
	share_set(&oldest->life, own->life);
	oldest->changed = own->changes_forgotten;
	share_set(&oldest->holder, 0UL);
	share_set(&oldest->changer, 0UL);
	share_set(key_slot(srv, oldest), key);
	return oldest;
}

/* ------------------------------------------------------------------ what is lent */

static bool is_grantable(const struct server_lease *l, uint64_t mount, uint64_t since,
			 uint64_t now_ns)
{
	if (l->busy > 0 || l->changed > since)
		return false;
	return l->changer == mount || l->changed_ns == 0 ||
	       now_ns - l->changed_ns > LEASE_UNCHANGED_NS;
}

/* The same of another worker's, who may be writing it: nothing was changed there since then. */
static bool peer_allows(struct share_slot *o, uint64_t key, uint64_t mount, uint64_t since_ns,
			uint64_t now_ns)
{
	struct server_lease *l = find(o, key);

	if (l) {
		bool busy = share_get(&l->busy) > 0;
		uint64_t changed_ns;

		if (busy && share_get(&l->life) == share_get(&o->life))
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

/* Unless another worker changes it, or has since the request looked at it. */
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

/* Who made it will go on with it. */
static void made_by(struct server_lease *l, const struct server_req *q, uint64_t now_ns)
{
	uint32_t opcode = q->in->opcode;

	if (opcode == FUSE_LOOKUP || opcode == FUSE_READDIRPLUS || opcode == FUSE_OPENDIR || !l)
		return;
	changer_set(l, q->mount->number);
	share_set(&l->changed_ns, now_ns);
}

/* What has no place is changed, or was since this looked: it may be what is asked about. */
static bool untracked_is_quiet(const struct server_req *q)
{
	const struct share_slot *own = q->client->server->share.own;

	return own->n_untracked == 0 && q->changes_before >= own->untracked_changed;
}

/* A successor is to know before the client does; seldom enough to cost nothing. */
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

	/* Folders the client believes for a second anyway; of several names one could go without
	 * the others' folders. */
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
	if (*key_slot(srv, l[0]) != keys[0]) /* the second took its place */
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

/* Nobody had it before: only who made a name there since could have. */
bool server_lease_empty(struct server_req *q, const uint8_t *handle, size_t len)
{
	return q->client->features & FUSE_PROTO_FEATURE_EMPTY && names_grant(q, handle, len);
}

bool server_lease_names(struct server_req *q)
{
	return q->client->features & FUSE_PROTO_FEATURE_NAMES &&
	       names_grant(q, q->args.handles[0].bytes, q->args.handles[0].len);
}

/* ------------------------------------------------------------------ what is changed */

enum {
	CHANGES_FIRST = 1, /* what the request names */
	CHANGES_SECOND = 2,
	CHANGES_NAMES_FIRST =
		4, /* in that folder a name is made, or goes, and others may know all */
	CHANGES_NAMES_SECOND = 8,
};

/* Of what the request names, what others may believe and it makes untrue: bits. Where a name may be
 * there already, what is cut is not known by its handle yet. */
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
	case FUSE_RMDIR: /* as for its own name, folders are believed for a second */
		return CHANGES_NAMES_FIRST;
	default:
		return 0;
	}
}

/* Somebody has to wait. */
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

/* The hand that was at it when it was killed was given it when nobody believed any more; now it is
 * to be judged before anything else happens to the file. */
static bool is_suspect(const struct server_req *q)
{
	return q->record && JOURNAL_STATE(q->ticket) == JOURNAL_SUSPECT;
}

static bool moves(const struct server_req *q)
{
	return q->in->opcode == FUSE_RENAME || q->in->opcode == FUSE_RENAME2;
}

/* Until when somebody believes it, whoever lent it; 0: nobody does. */
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

/* The kernel of whoever moves a name goes on believing it under the new one: until that is over the
 * folder where it is then is as if it had been lent with it. Before it is moved: who changes that
 * folder looks once, when it begins. Whether anything is believed. */
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
	return l && share_get(&l->busy) > 0 && share_get(&l->life) == share_get(&o->life) &&
	       share_get(&l->changer) != mount;
}

/* One of both is being changed by somebody else, who has not seen that what moves there is
 * believed. Comes after a full fence. */
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

/* Somebody else believes it: false. From here on it is lent to nobody else. */
static bool change_one(struct server_req *q, struct server_lease *l, uint64_t now_ns)
{
	uint64_t mount = q->mount->number;

	changer_set(l, mount);
	share_set(&l->changed_ns, now_ns);
	share_set(&l->busy, l->busy + 1);
	return l->until_ns <= now_ns || l->holder == mount;
}

/* Another worker has lent one of them to somebody else. */
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

/* What is lent is noted as being changed, by this request. Whether all of it has a place. */
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
		/* What has no place nobody believes, and none is to be had before all that is there
		 * has run out, which others can prevent for ever. */
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
	/* Whoever moves a name goes on believing it: the folder where it is then needs a place. */
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
