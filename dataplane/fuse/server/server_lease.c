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
#define LEASE_QUIET_NS (2 * NSEC_PER_SEC)
/* When somebody had to wait nothing of the export is lent for so long; twice as long each time that
 * it happens again soon. */
#define LEASE_CALM_NS (10 * NSEC_PER_SEC)
#define LEASE_PATIENCE_MAX 6U
#define LEASE_NOTE_NS (100 * NSEC_PER_MSEC)
#define LEASE_MANY UINT64_MAX

static bool has_mounts(const struct fuse_server *b, const struct server_export *e)
{
	const struct server_mount *m = b->mounts;

	while (m && m->export != e)
		m = m->next;
	return m;
}

/* To a single mount its own changes are known; who comes anew waits for what that one believes. A
 * predecessor that left its leases where they are has left nothing to guess. */
void server_leases_restored(struct fuse_server *b)
{
	uint64_t latest_ns = clock_now_ns() + LEASE_NS + LEASE_NOTE_NS;

	for (unsigned i = 0; i < b->n_exports && b->share.own->life == 0; i++)
		if (has_mounts(b, &b->exports[i]))
			b->blind_ns = MAX_OF(b->blind_ns,
					     MIN_OF(latest_ns, b->exports[i].state->lent_until_ns));
	for (const struct server_mount *m = b->mounts; m; m = m->next)
		if (m->number != b->mounts->number)
			return;
	if (b->mounts)
		b->blind_but = b->mounts->number;
}

uint64_t server_lease_key(const struct fuse_server *b, const uint8_t *handle, size_t len)
{
	uint64_t key;

	if (len <= HELPERS_SIGNATURE_BYTES || handle[0] != FUSE_HANDLE_FILE)
		return 0;
	key = hash_keyed(b->share.hash_key, handle, len - HELPERS_SIGNATURE_BYTES);
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
static uint64_t *key_at(const struct fuse_server *b, const struct server_lease *l)
{
	return &b->share.own->keys[0][0] + (l - &b->share.own->leases[0][0]);
}

static bool is_idle(const struct share_slot *own, const struct server_lease *l, uint64_t now_ns)
{
	return (l->busy == 0 || l->life != own->life) && l->until_ns <= now_ns;
}

/* What a former life was at is over. */
static struct server_lease *of_this_life(struct share_slot *own, struct server_lease *l)
{
	if (l->life != own->life) {
		share_set(&l->busy, 0U);
		share_set(&l->life, own->life);
	}
	return l;
}

/* NULL: all places are taken by what is lent or being changed. */
static struct server_lease *lease_of(struct fuse_server *b, uint64_t key, uint64_t now_ns)
{
	struct share_slot *own = b->share.own;
	struct server_lease *l = find(own, key), *set = own->leases[key & (SHARE_LEASE_SETS - 1)];
	struct server_lease *oldest = NULL;

	if (l)
		return of_this_life(own, l);
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
	share_set(key_at(b, oldest), 0UL);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	share_set(&oldest->until_ns, 0UL);
	share_set(&oldest->changed_ns, 0UL);
	share_set(&oldest->busy, 0U);
	share_set(&oldest->life, own->life);
	oldest->changed = own->changes_forgotten;
	share_set(&oldest->holder, 0UL);
	share_set(&oldest->changer, 0UL);
	share_set(key_at(b, oldest), key);
	return oldest;
}

/* ------------------------------------------------------------------ what is lent */

static bool is_free_for(const struct server_lease *l, uint64_t mount, uint64_t since,
			uint64_t now_ns)
{
	if (l->busy > 0 || l->changed > since)
		return false;
	return l->changer == mount || l->changed_ns == 0 || now_ns - l->changed_ns > LEASE_QUIET_NS;
}

/* The same of another worker's, who may be writing it: nothing was changed there since then. */
static bool other_leaves_it(struct share_slot *o, uint64_t key, uint64_t mount, uint64_t since_ns,
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
		    now_ns < changed_ns + LEASE_QUIET_NS)
			return false;
	}
	return share_get(&o->n_unplaced) == 0 && share_get(&o->unplaced_ns) < since_ns &&
	       share_get(&o->forgotten_ns) < since_ns;
}

static void lend(struct server_lease *l, uint64_t mount, uint64_t now_ns, uint64_t until_ns)
{
	share_set(&l->holder, l->until_ns > now_ns && l->holder != mount ? LEASE_MANY : mount);
	share_set(&l->until_ns, until_ns);
}

/* Unless another worker changes it, or has since the request looked at it. */
static bool lend_all(struct server_req *q, struct server_lease *const l[], const uint64_t keys[],
		     unsigned n, uint64_t now_ns, uint64_t until_ns)
{
	struct share *share = &q->client->back->share;
	uint64_t mount = q->mount->number;
	struct server_lease was[2];
	bool free = true;

	for (unsigned i = 0; i < n; i++) {
		was[i] = *l[i];
		lend(l[i], mount, now_ns, until_ns);
	}
	share_look(share);
	for (uint32_t i = 0; i < share->n_others; i++)
		for (unsigned k = 0; k < n && free; k++)
			free = other_leaves_it(share->others[i], keys[k], mount, q->begun_ns,
					       now_ns);
	for (unsigned i = 0; i < n && !free; i++) {
		share_set(&l[i]->until_ns, was[i].until_ns);
		share_set(&l[i]->holder, was[i].holder);
	}
	return free;
}

static void changer_set(struct server_lease *l, uint64_t mount)
{
	share_set(&l->changer, l->busy > 0 && l->changer != mount ? LEASE_MANY : mount);
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
static bool is_placed(const struct server_req *q)
{
	const struct share_slot *own = q->client->back->share.own;

	return own->n_unplaced == 0 && q->changes_before >= own->unplaced_changed;
}

/* A successor is to know before the client does; seldom enough to cost nothing. */
static void lent_note(struct state *state, uint64_t now_ns)
{
	if (share_get(&state->lent_until_ns) < now_ns + LEASE_NS)
		state_publish(&state->lent_until_ns, now_ns + LEASE_NS + LEASE_NOTE_NS);
}

bool server_lease_grant(struct server_req *q, const uint8_t *handle, size_t len,
			const struct fuse_attr *attr)
{
	struct fuse_server *b = q->client->back;
	struct state *state = q->mount->export->state;
	struct server_lease *l[2];
	uint64_t now_ns, keys[2];

	/* Folders the client believes for a second anyway; of several names one could go without
	 * the others' folders. */
	if (!(q->client->features & FUSE_PROTO_FEATURE_LEASE) || q->again || S_ISDIR(attr->mode) ||
	    attr->nlink != 1)
		return false;
	if (!is_placed(q))
		return false;
	keys[0] = server_lease_key(b, q->args.handles[0].bytes, q->args.handles[0].len);
	keys[1] = server_lease_key(b, handle, len);
	now_ns = clock_now_ns();
	for (unsigned i = 0; i < 2; i++) {
		l[i] = keys[i] ? lease_of(b, keys[i], now_ns) : NULL;
		made_by(l[i], q, now_ns);
		if (now_ns < share_get(&state->calm_ns) || !l[i] ||
		    !is_free_for(l[i], q->mount->number, q->changes_before, now_ns))
			return false;
	}
	if (*key_at(b, l[0]) != keys[0]) /* the second took its place */
		return false;
	lent_note(state, now_ns);
	return lend_all(q, l, keys, 2, now_ns, now_ns + LEASE_NS);
}

static bool names_grant(struct server_req *q, const uint8_t *handle, size_t len)
{
	struct fuse_server *b = q->client->back;
	struct state *state = q->mount->export->state;
	uint64_t key = names_key(server_lease_key(b, handle, len)), now_ns = clock_now_ns();
	struct server_lease *l;

	if (q->again || !key || now_ns < share_get(&state->calm_ns) || !is_placed(q))
		return false;
	l = lease_of(b, key, now_ns);
	if (!l || !is_free_for(l, q->mount->number, q->changes_before, now_ns))
		return false;
	lent_note(state, now_ns);
	return lend_all(q, &l, &key, 1, now_ns, now_ns + LEASE_NAMES_NS);
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
static unsigned changes_what(const struct server_req *q)
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
	uint64_t calm_ns = share_get(&s->calm_ns),
		 patience = MIN_OF(share_get(&s->patience), (uint64_t)LEASE_PATIENCE_MAX);
	bool soon = calm_ns && now_ns < calm_ns + (LEASE_CALM_NS << patience);

	if (now_ns < calm_ns)
		return;
	patience = soon ? MIN_OF(patience + 1, (uint64_t)LEASE_PATIENCE_MAX) : 0;
	share_set(&s->patience, patience);
	share_set(&s->calm_ns, now_ns + (LEASE_CALM_NS << patience));
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
static uint64_t believed_until(struct fuse_server *b, const struct server_lease *l, uint64_t now_ns)
{
	uint64_t until_ns = l ? l->until_ns : 0;

	for (uint32_t i = 0; l && i < b->share.n_others; i++) {
		const struct server_lease *o = find(b->share.others[i], *key_at(b, l));

		if (o)
			until_ns = MAX_OF(until_ns, share_get(&o->until_ns));
	}
	return until_ns > now_ns ? until_ns : 0;
}

/* The kernel of whoever moves a name goes on believing it under the new one: until that is over the
 * folder where it is then is as if it had been lent with it. Before it is moved: who changes that
 * folder looks once, when it begins. Whether anything is believed. */
static bool lend_on(struct server_req *q, struct server_lease *const l[2], uint64_t now_ns)
{
	struct fuse_server *b = q->client->back;
	uint64_t until_ns;

	if (!moves(q) || !l[0] || !l[1] || l[0] == l[1])
		return false;
	until_ns = MAX_OF(believed_until(b, l[0], now_ns), believed_until(b, l[1], now_ns));
	for (unsigned i = 0; i < 2 && until_ns; i++)
		lend(l[i], q->mount->number, now_ns, until_ns);
	return until_ns > 0;
}

static bool is_busy(const struct share_slot *o, const struct server_lease *l, uint64_t mount)
{
	return l && share_get(&l->busy) > 0 && share_get(&l->life) == share_get(&o->life) &&
	       share_get(&l->changer) != mount;
}

/* One of both is being changed by somebody else, who has not seen that what moves there is
 * believed. Comes after a full fence. */
static bool is_changed_beside(struct server_req *q, struct server_lease *const l[2],
			      const uint64_t keys[2])
{
	struct share *share = &q->client->back->share;
	uint64_t mount = q->mount->number;

	if (is_busy(share->own, l[0], mount) || is_busy(share->own, l[1], mount) ||
	    share->own->n_unplaced > 0)
		return true;
	for (uint32_t i = 0; i < share->n_others; i++) {
		struct share_slot *o = share->others[i];

		if (share_get(&o->n_unplaced) > 0 || is_busy(o, find(o, keys[0]), mount) ||
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
static bool is_lent_elsewhere(struct server_req *q, const uint64_t keys[SERVER_LEASES_MAX],
			      uint64_t now_ns)
{
	struct share *share = &q->client->back->share;

	share_look(share);
	for (uint32_t i = 0; i < share->n_others; i++)
		for (unsigned k = 0; k < SERVER_LEASES_MAX; k++) {
			const struct server_lease *l =
				keys[k] ? find(share->others[i], keys[k]) : NULL;

			if (l && share_get(&l->until_ns) > now_ns &&
			    share_get(&l->holder) != q->mount->number)
				return true;
		}
	return false;
}

static uint64_t key_of(const struct server_req *q, unsigned i)
{
	return server_lease_key(q->client->back, q->args.handles[i].bytes, q->args.handles[i].len);
}

/* What is lent is noted as being changed, by this request. Whether all of it has a place. */
static bool note_changes(struct server_req *q, unsigned what, uint64_t keys[SERVER_LEASES_MAX],
			 struct server_lease *l[SERVER_LEASES_MAX], uint64_t now_ns, bool *free)
{
	struct fuse_server *b = q->client->back;
	bool placed = true;

	keys[0] = what & CHANGES_FIRST ? key_of(q, 0) : 0;
	keys[1] = what & CHANGES_SECOND ? key_of(q, 1) : 0;
	keys[2] = what & CHANGES_NAMES_FIRST ? names_key(key_of(q, 0)) : 0;
	keys[3] = what & CHANGES_NAMES_SECOND ? names_key(key_of(q, 1)) : 0;
	for (unsigned i = 0; i < SERVER_LEASES_MAX; i++) {
		if (!keys[i])
			continue;
		l[i] = lease_of(b, keys[i], now_ns);
		/* What has no place nobody believes, and none is to be had before all that is there
		 * has run out, which others can prevent for ever. */
		if (!l[i])
			placed = false;
		else
			*free &= change_one(q, l[i], now_ns);
	}
	return placed;
}

static bool is_noted(const struct server_req *q)
{
	for (unsigned i = 0; i < ARRAY_SIZE(q->leases); i++)
		if (q->leases[i])
			return true;
	return false;
}

bool server_lease_change(struct server_req *q)
{
	unsigned what = changes_what(q);
	struct fuse_server *b = q->client->back;
	struct share_slot *own = b->share.own;
	struct server_lease *l[SERVER_LEASES_MAX] = {};
	uint64_t keys[SERVER_LEASES_MAX],
		now_ns = what || b->share.n_others > 0 ? clock_now_ns() : 0;
	bool free = now_ns >= b->blind_ns || q->mount->number == b->blind_but, lent_on;

	q->changes_before = own->n_changes;
	q->begun_ns = now_ns;
	if (!what || q->unplaced || is_noted(q))
		return true;
	q->unplaced = !note_changes(q, what, keys, l, now_ns, &free);
	lent_on = free && lend_on(q, l, now_ns);
	share_set(&own->n_unplaced, own->n_unplaced + q->unplaced);
	if (is_lent_elsewhere(q, keys, now_ns) || (lent_on && is_changed_beside(q, l, keys)))
		free = false;
	/* Whoever moves a name goes on believing it: the folder where it is then needs a place. */
	if (free && q->unplaced && moves(q) &&
	    (believed_until(b, l[0], now_ns) || believed_until(b, l[1], now_ns)))
		free = false;
	if (!free && now_ns >= b->blind_ns)
		conflict(q->mount->export->state, now_ns);
	free = free || is_suspect(q);
	for (unsigned i = 0; i < SERVER_LEASES_MAX; i++) {
		if (l[i] && !free)
			share_set(&l[i]->busy, l[i]->busy - 1);
		q->leases[i] = free ? l[i] : NULL;
	}
	if (!free) {
		share_set(&own->n_unplaced, own->n_unplaced - q->unplaced);
		q->unplaced = false;
	}
	return free;
}

void server_lease_changed(struct server_req *q)
{
	struct share_slot *own = q->client->back->share.own;

	for (unsigned i = 0; i < ARRAY_SIZE(q->leases); i++) {
		struct server_lease *l = q->leases[i];

		if (!l)
			continue;
		l->changed = ++own->n_changes;
		share_set(&l->changed_ns, clock_now_ns());
		share_set(&l->busy, l->busy - 1);
		q->leases[i] = NULL;
	}
	if (q->unplaced) {
		own->unplaced_changed = ++own->n_changes;
		share_set(&own->unplaced_ns, clock_now_ns());
		share_set(&own->n_unplaced, own->n_unplaced - 1);
		q->unplaced = false;
	}
}
