/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What clients may believe without asking: a name and the attributes behind it, for a second. Who
 * changes either waits until nobody else believes it any more, so a client's kernel may keep names
 * and still never shows what another client's finished operation has made untrue. Apart from the
 * operations because it only delays them; what is here is never sent, and may be lost where all
 * that others believe is let run out first.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include "netcfg/base/hash.h"

#define LEASE_WAYS 4U
#define LEASE_SETS (1U << 14)
/* The client counts a second from when it asked; the rest is for its kernel's processes, which
 * begin to count when they run. */
#define LEASE_NS (1500 * NSEC_PER_MSEC)
/* What another has changed is lent only when it has been left alone for so long. */
#define LEASE_QUIET_NS (2 * NSEC_PER_SEC)
/* When somebody had to wait nothing of the export is lent for so long; twice as long each time that
 * it happens again soon. */
#define LEASE_CALM_NS (10 * NSEC_PER_SEC)
#define LEASE_PATIENCE_MAX 6U
#define LEASE_NOTE_NS (100 * NSEC_PER_MSEC)
#define LEASE_MANY UINT32_MAX

/* A file or folder, by its handle. All 0: unused. */
struct back_lease {
	uint64_t key;	   /* hash of the handle, never 0 */
	uint64_t until_ns; /* somebody believes what was said of it until then */
	uint64_t changed_ns;
	uint64_t changed; /* fuse_back's count of changes when the last ended */
	uint32_t holder;  /* mount; LEASE_MANY: several */
	uint32_t changer; /* mount that changed it last, or wants to */
	uint32_t busy;	  /* changes at work */
};

int back_leases_init(struct fuse_back *b)
{
	b->leases = calloc((size_t)LEASE_SETS * LEASE_WAYS, sizeof(*b->leases));
	return b->leases ? 0 : -ENOMEM;
}

void back_leases_done(struct fuse_back *b)
{
	free(b->leases);
	b->leases = NULL;
}

static uint32_t mount_number(const struct back_mount *m)
{
	return ((uint32_t)(m->export - m->back->exports) + 1) << 16 | m->journal;
}

/* To a single mount its own changes are known; who comes anew waits for what that one believes. */
void back_leases_restored(struct fuse_back *b)
{
	uint64_t latest_ns = clock_now_ns() + LEASE_NS + LEASE_NOTE_NS;

	for (unsigned i = 0; i < b->n_exports; i++)
		if (b->exports[i].n_unsettled > 0)
			b->blind_ns = MAX_OF(b->blind_ns,
					     MIN_OF(latest_ns, b->exports[i].state->lent_until_ns));
	if (b->n_mounts == 1)
		b->blind_but = mount_number(b->mounts);
}

/* 0: nothing is said of such. The signature is left out: exports may show the same file. */
static uint64_t key_of(const struct fuse_back *b, const uint8_t *handle, size_t len)
{
	uint64_t key;

	if (len <= HANDS_SIGNATURE_BYTES || handle[0] != FUSE_HANDLE_FILE)
		return 0;
	key = hash_keyed(b->hash_key, handle, len - HANDS_SIGNATURE_BYTES);
	return key ? key : 1;
}

static bool is_idle(const struct back_lease *l, uint64_t now_ns)
{
	return l->busy == 0 && l->until_ns <= now_ns;
}

/* NULL: all places are taken by what is lent or being changed. */
static struct back_lease *lease_of(struct fuse_back *b, uint64_t key, uint64_t now_ns)
{
	struct back_lease *set = &b->leases[(key & (LEASE_SETS - 1)) * LEASE_WAYS], *oldest = NULL;

	for (unsigned i = 0; i < LEASE_WAYS; i++) {
		if (set[i].key == key)
			return &set[i];
		if (is_idle(&set[i], now_ns) && (!oldest || set[i].changed_ns < oldest->changed_ns))
			oldest = &set[i];
	}
	if (!oldest)
		return NULL;
	/* Who looked before a change that is forgotten here has seen what was before it. */
	b->changes_forgotten = MAX_OF(b->changes_forgotten, oldest->changed);
	*oldest = (struct back_lease){.key = key, .changed = b->changes_forgotten};
	return oldest;
}

/* ------------------------------------------------------------------ what is lent */

static bool is_free_for(const struct back_lease *l, uint32_t mount, uint64_t since, uint64_t now_ns)
{
	if (l->busy > 0 || l->changed > since)
		return false;
	return l->changer == mount || l->changed_ns == 0 || now_ns - l->changed_ns > LEASE_QUIET_NS;
}

static void lend(struct back_lease *l, uint32_t mount, uint64_t now_ns)
{
	l->holder = l->until_ns > now_ns && l->holder != mount ? LEASE_MANY : mount;
	l->until_ns = now_ns + LEASE_NS;
}

/* Who made it will go on with it. */
static void made_by(struct back_lease *l, const struct back_req *q, uint64_t now_ns)
{
	if (q->in->opcode == FUSE_LOOKUP || q->in->opcode == FUSE_READDIRPLUS || !l)
		return;
	l->changer = mount_number(q->mount);
	l->changed_ns = now_ns;
}

bool back_lease_grant(struct back_req *q, const uint8_t *handle, size_t len,
		      const struct fuse_attr *attr)
{
	struct fuse_back *b = q->client->back;
	struct state *state = q->mount->export->state;
	uint32_t mount = mount_number(q->mount);
	struct back_lease *l[2];
	uint64_t now_ns, keys[2];

	/* Folders the client believes for a second anyway; of several names one could go without
	 * the others' folders. */
	if (!(q->client->features & FUSE_PROTO_FEATURE_LEASE) || q->again || S_ISDIR(attr->mode) ||
	    attr->nlink != 1)
		return false;
	/* What has no place is changed, or was since this looked: it may be this. */
	if (b->n_unplaced > 0 || q->changes_before < b->unplaced_changed)
		return false;
	keys[0] = key_of(b, q->args.handles[0].bytes, q->args.handles[0].len);
	keys[1] = key_of(b, handle, len);
	now_ns = clock_now_ns();
	for (unsigned i = 0; i < 2; i++) {
		l[i] = keys[i] ? lease_of(b, keys[i], now_ns) : NULL;
		made_by(l[i], q, now_ns);
		if (now_ns < state->calm_ns || !l[i] ||
		    !is_free_for(l[i], mount, q->changes_before, now_ns))
			return false;
	}
	if (l[0]->key != keys[0]) /* the second took its place */
		return false;
	/* A successor is to know before the client does; seldom enough to cost nothing. */
	if (state->lent_until_ns < now_ns + LEASE_NS)
		state_publish(&state->lent_until_ns, now_ns + LEASE_NS + LEASE_NOTE_NS);
	lend(l[0], mount, now_ns);
	lend(l[1], mount, now_ns);
	return true;
}

/* ------------------------------------------------------------------ what is changed */

/* Of what the request names, what others may believe and it makes untrue: bits. A name that is new
 * makes nothing untrue; where it may not be, what is cut is not known by its handle yet. */
static unsigned changes_what(const struct back_req *q)
{
	const struct fuse_open_in *open = back_req_arg(q);
	const struct fuse_create_in *create = back_req_arg(q);

	switch (q->in->opcode) {
	case FUSE_SETATTR:
	case FUSE_SETXATTR:
	case FUSE_REMOVEXATTR:
	case FUSE_FALLOCATE:
	case FUSE_WRITE:
	case FUSE_UNLINK:
		return 1;
	case FUSE_COPY_FILE_RANGE:
	case FUSE_LINK:
		return 2;
	case FUSE_RENAME:
	case FUSE_RENAME2:
		return 3;
	case FUSE_OPEN:
		return open->flags & O_TRUNC ? 1 : 0;
	case FUSE_CREATE:
		return create->flags & O_TRUNC && !(create->flags & O_EXCL) ? 1 : 0;
	default:
		return 0;
	}
}

/* Somebody has to wait. */
static void conflict(struct state *s, uint64_t now_ns)
{
	bool soon = s->calm_ns && now_ns < s->calm_ns + (LEASE_CALM_NS << s->patience);

	s->patience = soon ? MIN_OF(s->patience + 1, (uint64_t)LEASE_PATIENCE_MAX) : 0;
	s->calm_ns = now_ns + (LEASE_CALM_NS << s->patience);
}

/* The hand that was at it when it was killed was given it when nobody believed any more; now it is
 * to be judged before anything else happens to the file. */
static bool is_suspect(const struct back_req *q)
{
	return q->record && JOURNAL_STATE(q->ticket) == JOURNAL_SUSPECT;
}

static bool moves(const struct back_req *q)
{
	return q->in->opcode == FUSE_RENAME || q->in->opcode == FUSE_RENAME2;
}

static bool is_believed(struct back_lease *const l[2], uint64_t now_ns)
{
	return (l[0] && l[0]->until_ns > now_ns) || (l[1] && l[1]->until_ns > now_ns);
}

/* The kernel of whoever moves a name goes on believing it under the new one: until that is over the
 * folder where it is now is as if it had been lent with it. */
static void lend_on(struct back_req *q, uint64_t now_ns)
{
	struct back_lease *const *l = q->leases;
	uint64_t until_ns;

	if (!moves(q) || !l[0] || !l[1] || !is_believed(l, now_ns))
		return;
	until_ns = MAX_OF(l[0]->until_ns, l[1]->until_ns);
	for (unsigned i = 0; i < 2; i++) {
		lend(l[i], mount_number(q->mount), now_ns);
		l[i]->until_ns = until_ns;
	}
}

/* Somebody else believes it: false. From here on it is lent to nobody else. */
static bool change_one(struct back_req *q, struct back_lease *l, uint64_t now_ns)
{
	uint32_t mount = mount_number(q->mount);
	struct state *state = q->mount->export->state;
	bool free = l->until_ns <= now_ns || l->holder == mount;

	if (!free && now_ns >= state->calm_ns)
		conflict(state, now_ns);
	l->changer = mount;
	l->changed_ns = now_ns;
	l->busy++;
	return free;
}

bool back_lease_change(struct back_req *q)
{
	unsigned what = changes_what(q);
	struct fuse_back *b = q->client->back;
	struct back_lease *l[2] = {};
	uint64_t now_ns = what ? clock_now_ns() : 0;
	bool free = now_ns >= b->blind_ns || mount_number(q->mount) == b->blind_but;
	bool unplaced = false;

	q->changes_before = b->n_changes;
	if (!what || q->leases[0] || q->leases[1] || q->unplaced)
		return true;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t key = what & 1U << i
				       ? key_of(b, q->args.handles[i].bytes, q->args.handles[i].len)
				       : 0;

		if (!key)
			continue;
		l[i] = lease_of(b, key, now_ns);
		/* What has no place nobody believes, and none is to be had before all that is there
		 * has run out, which others can prevent for ever. */
		if (!l[i])
			unplaced = true;
		else
			free &= change_one(q, l[i], now_ns);
	}
	/* Whoever moves a name goes on believing it: the folder where it is then needs a place. */
	if (free && unplaced && moves(q) && is_believed(l, now_ns)) {
		free = false;
		if (now_ns >= q->mount->export->state->calm_ns)
			conflict(q->mount->export->state, now_ns);
	}
	free = free || is_suspect(q);
	for (unsigned i = 0; i < 2; i++) {
		if (l[i] && !free)
			l[i]->busy--;
		q->leases[i] = free ? l[i] : NULL;
	}
	q->unplaced = free && unplaced;
	b->n_unplaced += q->unplaced;
	return free;
}

void back_lease_changed(struct back_req *q)
{
	struct fuse_back *b = q->client->back;

	if (q->leases[0] && q->leases[1])
		lend_on(q, clock_now_ns());
	for (unsigned i = 0; i < ARRAY_SIZE(q->leases); i++) {
		struct back_lease *l = q->leases[i];

		if (!l)
			continue;
		l->busy--;
		l->changed = ++b->n_changes;
		l->changed_ns = clock_now_ns();
		q->leases[i] = NULL;
	}
	if (q->unplaced) {
		b->n_unplaced--;
		b->unplaced_changed = ++b->n_changes;
		q->unplaced = false;
	}
}
