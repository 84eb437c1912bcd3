/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets and frees locks by the rules of fcntl(2) and flock(2), and queues requests that must wait. A
 * lock that becomes free is granted to waiting requests in the order of their arrival. A new
 * request that conflicts with no lock is granted at once, even if other requests wait, as the
 * kernel does with its own locks. New requests do not wait behind others in a queue, because two
 * programs could then wait for each other: a program that asks for a second lock, and a program
 * that is ahead in the queue but waits for the first program's first lock.
 */
#include "dataplane/fuse/server/locks/lock_internal.h"
#include <stdio.h>
#include <string.h>

/* Maximum number of records that one call visits to grant locks to waiting requests, and to find a
 * deadlock: some milliseconds of work. A lock of a whole file conflicts with the first record of a
 * search, so only a very large number of ranges in one file reaches the limit. */
#define GRANT_STEPS_MAX (LOCK_FILE_MAX * LOCK_FILE_MAX)
#define DEADLOCK_STEPS_MAX (GRANT_STEPS_MAX / 16)

/* ------------------------------------------------------------------ conflicts and owners */

static bool same_owner(const struct lock_record *a, const struct lock_record *b)
{
	return a->mount == b->mount && a->owner == b->owner && a->flock == b->flock;
}

static bool overlaps(const struct lock_record *a, const struct lock_record *b)
{
	return a->start <= b->end && b->start <= a->end;
}

/* Returns whether the lock `held` excludes the lock `with`. A lock that is being broken also
 * excludes new locks of its owner, so that the owner cannot lock the range again before the break
 * is complete. */
static bool conflicts(const struct lock_record *held, const struct lock_record *with)
{
	if (held->flock != with->flock || !overlaps(held, with))
		return false;
	return same_owner(held, with) ? held->state == LOCK_BREAKING : held->write || with->write;
}

struct lock_record lock_table_record(const struct lock_mount_ref *m, const struct lock_request *q)
{
	return (struct lock_record){
		.state = LOCK_HELD,
		.mount = m->index,
		.pid = q->pid,
		.opener = q->opener,
		.flock = q->flock,
		.write = q->write,
		.owner = q->owner,
		.start = q->start,
		.end = MIN_OF(q->end, (uint64_t)LOCK_END_MAX),
		.unique = q->unique,
		.since_ns = clock_now_ns(),
	};
}

/* Returns the first lock on the file that excludes the lock `with`, or NULL. */
static struct lock_record *conflict_of(struct lock_table *t, const struct lock_file *f,
				       const struct lock_record *with)
{
	struct lock_record *r = lock_record_at(t, f->held.first);

	for (; r && !conflicts(r, with); r = lock_record_at(t, r->in_file.next))
		t->steps -= t->steps > 0;
	return r;
}

/* ------------------------------------------------------------------ ranges of one owner */

/* Returns whether r is a lock of the owner of `as`, and not being broken. The owner cannot change a
 * lock that is being broken. */
static bool is_own(const struct lock_record *r, const struct lock_record *as)
{
	return r->state != LOCK_BREAKING && same_owner(r, as);
}

static unsigned own_ranges(struct lock_table *t, const struct lock_file *f,
			   const struct lock_record *as)
{
	const struct lock_record *r = lock_record_at(t, f->held.first);
	unsigned n = 0;

	for (; r; r = lock_record_at(t, r->in_file.next))
		n += is_own(r, as);
	return n;
}

/* Removes the range of `cut` from r, a lock of the same owner. Returns false if r must be split but
 * may_split is false, or if there are too many locks. */
static bool range_cut(struct lock_table *t, struct lock_record *r, const struct lock_record *cut,
		      bool may_split)
{
	struct lock_record rest = *r;

	if (r->start >= cut->start && r->end <= cut->end) {
		lock_record_drop(t, r);
		return true;
	}
	LOCK_TOUCH(t, r);
	if (r->start < cut->start && r->end > cut->end) {
		rest.start = cut->end + 1;
		r->end = cut->start - 1;
		return may_split && lock_record_new(t, &rest) != NULL;
	}
	if (r->start < cut->start)
		r->end = cut->start - 1;
	else
		r->start = cut->end + 1;
	return true;
}

/* Returns whether the two ranges overlap or touch each other. */
static bool adjoins(const struct lock_record *a, const struct lock_record *b)
{
	return a->start <= b->end + 1 && b->start <= a->end + 1;
}

/*
 * Frees the owner's locks in the range of *as. With `set`, also sets the lock *as, merged with
 * adjoining locks of the same type and owner. Returns false if there are too many locks; the caller
 * must then call lock_undo().
 */
static bool range_apply(struct lock_table *t, struct lock_file *f, struct lock_record *as, bool set)
{
	struct lock_record *r = lock_record_at(t, f->held.first), *next;
	unsigned n = own_ranges(t, f, as);

	if (set && n >= LOCK_OWNER_MAX)
		return false;
	for (; r; r = next) {
		next = lock_record_at(t, r->in_file.next);
		if (!is_own(r, as))
			continue;
		if (set && r->write == as->write && adjoins(r, as)) {
			as->start = MIN_OF(as->start, r->start);
			as->end = MAX_OF(as->end, r->end);
			lock_record_drop(t, r);
		} else if (overlaps(r, as) && !range_cut(t, r, as, n < LOCK_OWNER_MAX)) {
			return false;
		}
	}
	as->file = lock_file_number(t, f);
	return !set || lock_record_new(t, as) != NULL;
}

/* ------------------------------------------------------------------ waiting */

static bool grant(struct lock_table *t, struct lock_file *f, struct lock_record *w)
{
	struct lock_head *h = &t->mem->head;
	struct lock_record as = *w;
	bool done;

	as.state = LOCK_HELD;
	as.since_ns = clock_now_ns();
	lock_record_turn(t, w, LOCK_GRANTED);
	t->exceeds = true;
	done = range_apply(t, f, &as, true);
	t->exceeds = false;
	if (!done) {
		lock_undo(t);
		return false;
	}
	/* Count the grant before lock_commit(), so that the count includes every grant even if this
	 * process dies in between. Pairs with lock_grants(). */
	__atomic_store_n(&h->grants, h->grants + 1, __ATOMIC_RELEASE);
	lock_commit(t);
	return true;
}

void lock_table_flag(struct lock_table *t, struct lock_file *f, bool freed)
{
	if (f->freed == freed)
		return;
	f->freed = freed;
	t->mem->head.n_freed += freed ? 1 : -1U;
}

/* Grants locks on the file to waiting requests, in the order of their arrival. A grant can shrink
 * or convert locks that its owner already has; then the search starts again at the first waiting
 * request. The search visits a limited number of records, so that one file does not keep the table
 * for long. If the search is not complete, or if a grant failed because there were too many locks,
 * sets the flag `freed`, with which lock_mounts_expire() continues later. */
static void grant_waiting(struct lock_table *t, struct lock_file *f)
{
	struct lock_record *w = lock_record_at(t, f->waiting.first), *next;
	bool failed = false;

	/* In a grace period, another mount may still reclaim this lock. */
	if (lock_in_grace(t)) {
		lock_table_flag(t, f, w);
		return;
	}
	for (t->steps = GRANT_STEPS_MAX; w && t->steps > 0; w = next) {
		bool had;

		next = lock_record_at(t, w->in_file.next);
		if (conflict_of(t, f, w))
			continue;
		had = own_ranges(t, f, w) > 0;
		t->steps -= MIN_OF(t->steps, f->n);
		if (!grant(t, f, w))
			failed = true;
		else if (had)
			next = lock_record_at(t, f->waiting.first);
	}
	lock_table_flag(t, f, w || failed);
}

void lock_table_grant_all(struct lock_table *t)
{
	const struct lock_head *h = &t->mem->head;

	for (uint32_t i = 1; h->n_freed > 0 && i <= h->n_files && i <= LOCKS_FILES; i++)
		if (lock_file_at(t, i)->used && lock_file_at(t, i)->freed)
			grant_waiting(t, lock_file_at(t, i));
}

/* Adds waiting requests to the list of requests that the current search must visit: the requests of
 * the owner of `of` that the search has not visited yet. todo: the first entry of this list.
 * Returns the new first entry. */
static uint32_t deadlock_todo(struct lock_table *t, const struct lock_record *of, uint32_t todo)
{
	const struct lock_mount *m = lock_mount_at(t, of->mount);
	const struct lock_record *w = lock_record_at(t, m->lists[LOCK_WAITING].first);

	for (; w && t->steps > 0; w = lock_record_at(t, w->in_mount.next)) {
		const uint32_t i = lock_record_number(t, w);

		t->steps--;
		if (!same_owner(w, of) || t->seen[i - 1] == t->search)
			continue;
		t->seen[i - 1] = t->search;
		t->seen[LOCKS_RECORDS + i - 1] = todo;
		todo = i;
	}
	return todo;
}

/*
 * Returns whether a deadlock would result if `as` waited, because the owner of a conflicting lock
 * waits, directly or via other owners, for a lock of the owner of `as`. Locks that are being broken
 * do not count, because they end soon. The caller does not call this function for flock(2) locks,
 * because the kernel does not search these for deadlocks either. After DEADLOCK_STEPS_MAX records
 * the search ends without a result, and the function returns false.
 */
static bool is_deadlock(struct lock_table *t, const struct lock_file *f,
			const struct lock_record *as)
{
	const uint32_t *next_of = t->seen + LOCKS_RECORDS;
	uint32_t todo = 0;
	const struct lock_record *w = as;

	t->search++;
	t->steps = DEADLOCK_STEPS_MAX;
	while (w) {
		const struct lock_record *h = lock_record_at(t, f->held.first);

		for (; h && t->steps > 0; h = lock_record_at(t, h->in_file.next)) {
			t->steps--;
			if (h->state == LOCK_BREAKING || !conflicts(h, w))
				continue;
			if (w != as && same_owner(h, as))
				return true;
			todo = deadlock_todo(t, h, todo);
		}
		w = lock_record_at(t, todo);
		if (w) {
			f = lock_file_at(t, w->file);
			todo = next_of[todo - 1];
		}
	}
	return false;
}

void lock_table_freed(struct lock_table *t, struct lock_file *f)
{
	lock_file_settle(t, f);
	lock_commit(t);
	if (f->used)
		grant_waiting(t, f);
}

/* Removes the first record of the list. Returns false if the list is empty, or so damaged that the
 * caller's loop would not end. After the last removal, the caller must call
 * lock_table_grant_all(). */
static bool drop_first(struct lock_table *t, const struct lock_list *l)
{
	struct lock_record *r = lock_record_at(t, l->first);
	struct lock_file *f;

	if (!r || r->state == LOCK_UNUSED)
		return false;
	f = r->state == LOCK_GRANTED ? NULL : lock_file_at(t, r->file);
	if (f)
		lock_table_flag(t, f, true);
	lock_record_drop(t, r);
	if (f)
		lock_file_settle(t, f);
	lock_commit(t);
	return true;
}

void lock_table_drop_mount(struct lock_table *t, struct lock_mount *m)
{
	static const enum lock_state order[] = {LOCK_WAITING, LOCK_GRANTED, LOCK_HELD,
						LOCK_BREAKING, LOCK_BROKEN};

	LOCK_TOUCH(t, m);
	m->leaving = LOCK_LEAVING;
	lock_commit(t);
	for (unsigned i = 0; i < ARRAY_SIZE(order); i++)
		while (drop_first(t, &m->lists[order[i]]))
			;
	LOCK_TOUCH(t, m);
	*m = (struct lock_mount){.used = 0};
	lock_commit(t);
	lock_table_grant_all(t);
}

/* ------------------------------------------------------------------ reserving the table */

/* Completes the work of a process that died while it used the table. */
static void recover(struct lock_table *t)
{
	struct lock_head *h = &t->mem->head;

	h->n_freed = 0;
	for (uint32_t i = 1; i <= h->n_files && i <= LOCKS_FILES; i++) {
		lock_file_at(t, i)->freed = false;
		if (lock_file_at(t, i)->used)
			lock_table_flag(t, lock_file_at(t, i), true);
	}
	for (uint32_t i = 0; i < h->n_mounts && i < LOCKS_MOUNTS; i++)
		if (t->mem->mounts[i].used && t->mem->mounts[i].leaving == LOCK_LEAVING)
			lock_table_drop_mount(t, &t->mem->mounts[i]);
	lock_table_grant_all(t);
}

int lock_table_enter(struct lock_table *t)
{
	bool died;
	int r = lock_enter(t, &died);

	if (died)
		recover(t);
	return r;
}

int lock_table_enter_as(struct lock_table *t, const struct lock_mount_ref *ref,
			struct lock_mount **ret)
{
	struct lock_mount *m = lock_mount_at(t, ref->index);
	int r = lock_table_enter(t);

	if (r < 0)
		return r;
	*ret = m;
	if (ref->epoch && m->used && m->epoch == ref->epoch && m->leaving == LOCK_STAYS)
		return 0;
	lock_leave(t);
	return -ESTALE;
}

/* ------------------------------------------------------------------ mounts */

/* Frees the locks of the mount and its entry: now, or as soon as its record is removed. */
void lock_table_end_mount(struct lock_table *t, struct lock_mount *m)
{
	if (!lock_mount_is_recorded(m)) {
		lock_table_drop_mount(t, m);
		return;
	}
	LOCK_TOUCH(t, &m->leaving);
	/* A worker that sees this value in lock_mount_is_current(), without a lock on the table,
	 * stops serving the old session. */
	__atomic_store_n(&m->leaving, LOCK_LEAVES, __ATOMIC_RELEASE);
	lock_commit(t);
}

static struct lock_mount *mount_new(struct lock_table *t, const uint8_t id[16])
{
	struct lock_head *h = &t->mem->head;
	const uint32_t n = lock_once(h->n_mounts);
	struct lock_mount *m = t->mem->mounts, *end = m + MIN_OF(n, LOCKS_MOUNTS);

	while (m < end && m->used)
		m++;
	if (m == t->mem->mounts + LOCKS_MOUNTS)
		return NULL;
	LOCK_TOUCH(t, m);
	LOCK_TOUCH(t, &h->epoch);
	LOCK_TOUCH(t, &h->n_mounts);
	if (m == end)
		h->n_mounts++;
	*m = (struct lock_mount){.used = 1, .epoch = ++h->epoch};
	memcpy(m->id, id, sizeof(m->id));
	lock_commit(t);
	return m;
}

static struct lock_mount *mount_find(struct lock_table *t, const uint8_t id[16])
{
	const uint32_t n = lock_once(t->mem->head.n_mounts);
	struct lock_mount *m = t->mem->mounts;
	const struct lock_mount *end = m + MIN_OF(n, LOCKS_MOUNTS);

	while (m < end && (!m->used || m->leaving || memcmp(m->id, id, sizeof(m->id)) != 0))
		m++;
	return m < end ? m : NULL;
}

static void mount_begin(struct lock_table *t, struct lock_mount *m, uint64_t now_ns)
{
	m->seen_ns = MAX_OF(m->seen_ns, now_ns);
	/* A worker that sees this value in lock_mount_is_current(), without a lock on the table,
	 * stops serving the old session. */
	__atomic_store_n(&m->session, ++t->mem->head.last_session, __ATOMIC_RELEASE);
	while (drop_first(t, &m->lists[LOCK_WAITING]))
		;
	while (drop_first(t, &m->lists[LOCK_GRANTED]))
		;
	lock_table_grant_all(t);
}

int lock_mount_join(struct lock_table *t, const uint8_t id[16], const char *host,
		    const char *export_name, bool can_reclaim, uint64_t now_ns,
		    struct lock_mount_ref *ret)
{
	struct lock_mount *m;
	struct lock_name *name;
	int r = lock_table_enter(t);

	if (r < 0)
		return r;
	m = mount_find(t, id);
	if (m && m->stable & LOCK_STABLE_EXPECTED && !can_reclaim) {
		/* This client is too old to reclaim its locks, so other clients must not wait for a
		 * reclaim. */
		lock_table_end_mount(t, m);
		m = NULL;
	}
	if (!m)
		m = mount_new(t, id);
	if (m) {
		name = &t->mem->names[m - t->mem->mounts];
		snprintf(name->host, sizeof(name->host), "%s", host);
		snprintf(name->export_name, sizeof(name->export_name), "%s", export_name);
		mount_begin(t, m, now_ns);
		*ret = (struct lock_mount_ref){.index = (uint32_t)(m - t->mem->mounts),
					       .epoch = m->epoch,
					       .session = m->session,
					       .reclaims = m->stable & LOCK_STABLE_EXPECTED};
	}
	lock_leave(t);
	return m ? 0 : -ENOSPC;
}

int lock_mount_seen(struct lock_table *t, const struct lock_mount_ref *ref, uint64_t heard_ns)
{
	struct lock_mount *m;
	int r = lock_table_enter_as(t, ref, &m);

	if (r < 0)
		return r;
	m->seen_ns = MAX_OF(m->seen_ns, heard_ns);
	lock_leave(t);
	return 0;
}

bool lock_mount_is_current(const struct lock_table *t, const struct lock_mount_ref *ref,
			   uint32_t *ret_breaks)
{
	const struct lock_mount *m = lock_mount_at(t, ref->index);

	*ret_breaks = __atomic_load_n(&m->breaks, __ATOMIC_ACQUIRE);
	/* Other processes change these words in mount_begin() and lock_table_drop_mount(). This
	 * function reads them without a lock on the table. */
	return ref->epoch && __atomic_load_n(&m->session, __ATOMIC_ACQUIRE) == ref->session &&
	       !__atomic_load_n(&m->leaving, __ATOMIC_ACQUIRE);
}

int lock_mounts_grace(struct lock_table *t, uint64_t now_ns)
{
	int r = lock_table_enter(t);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < t->mem->head.n_mounts && i < LOCKS_MOUNTS; i++)
		t->mem->mounts[i].seen_ns = MAX_OF(t->mem->mounts[i].seen_ns, now_ns);
	lock_leave(t);
	return 0;
}

unsigned lock_mounts_expire(struct lock_table *t, uint64_t before_ns)
{
	unsigned n = 0;

	if (__atomic_load_n(&t->mem->head.n_mounts, __ATOMIC_RELAXED) == 0 ||
	    lock_table_enter(t) < 0)
		return 0;
	for (uint32_t i = 0; i < t->mem->head.n_mounts && i < LOCKS_MOUNTS; i++) {
		struct lock_mount *m = &t->mem->mounts[i];

		if (!m->used || m->leaving == LOCK_LEAVES || m->seen_ns >= before_ns ||
		    m->stable & LOCK_STABLE_EXPECTED)
			continue;
		lock_table_end_mount(t, m);
		n++;
	}
	lock_table_grant_all(t);
	lock_leave(t);
	return n;
}

void lock_mount_leave(struct lock_table *t, const struct lock_mount_ref *ref)
{
	struct lock_mount *m;

	if (lock_table_enter_as(t, ref, &m) < 0)
		return;
	lock_table_end_mount(t, m);
	lock_leave(t);
}

/* ------------------------------------------------------------------ locks */

static int set_now(struct lock_table *t, struct lock_file *f, struct lock_record *as)
{
	if (!range_apply(t, f, as, true)) {
		lock_undo(t);
		return -ENOLCK;
	}
	lock_commit(t);
	grant_waiting(t, f); /* the new lock may be weaker than the owner's former ones, for example
				shared instead of exclusive */
	return 0;
}

/* Converts a flock(2) lock that cannot be converted at once. Frees the owner's lock first, as
 * flock(2) does. Otherwise two owners of shared locks that both want an exclusive lock would wait
 * for each other for ever. */
static void flock_convert(struct lock_table *t, struct lock_file *f, const struct lock_record *as)
{
	struct lock_record all = *as;

	range_apply(t, f, &all, false); /* `all` covers the whole file, so no lock is split */
	lock_commit(t);
	grant_waiting(t, f);
}

static int set(struct lock_table *t, struct lock_record *as, const struct lock_request *q,
	       bool wait)
{
	struct lock_file *f = lock_file_find(t, q->dev, q->ino, as);
	const bool grace = lock_in_grace(t);
	bool free;
	int r;

	if (!f) {
		lock_undo(t);
		return -ENOLCK;
	}
	f->worker = t->worker; /* lock_undo() does not restore worker and fd, because they are
				  only displayed */
	f->fd = q->fd;
	free = !conflict_of(t, f, as);
	if (!free && as->flock && own_ranges(t, f, as) > 0) {
		flock_convert(t, f, as);
		free = !conflict_of(t, f, as);
	}
	if (free && !grace)
		return set_now(t, f, as);
	r = free ? -EALREADY : -EAGAIN;
	if (wait && !free && !as->flock && is_deadlock(t, f, as)) {
		r = -EDEADLK;
	} else if (wait) {
		as->state = LOCK_WAITING;
		as->file = lock_file_number(t, f);
		r = lock_record_new(t, as) ? -EINPROGRESS : -ENOLCK;
	}
	if (r == -EINPROGRESS)
		lock_commit(t);
	else
		lock_undo(t);
	return r;
}

int lock_set(struct lock_table *t, const struct lock_mount_ref *ref, const struct lock_request *q,
	     bool wait)
{
	struct lock_record as = lock_table_record(ref, q);
	struct lock_mount *m;
	int r = lock_table_enter_as(t, ref, &m);

	if (r < 0)
		return r;
	r = set(t, &as, q, wait);
	lock_leave(t);
	return r;
}

int lock_table_set_now(struct lock_table *t, const struct lock_request *q, struct lock_record *as)
{
	struct lock_file *f = lock_file_find(t, q->dev, q->ino, as);

	if (!f || conflict_of(t, f, as)) {
		lock_undo(t);
		return f ? -EAGAIN : -ENOLCK;
	}
	f->worker = t->worker; /* lock_undo() does not restore this, which is only displayed */
	f->fd = q->fd;
	return set_now(t, f, as);
}

/* Removes the owner's locks in this list of the file, including locks that are being broken. */
static void own_drop(struct lock_table *t, const struct lock_list *l, const struct lock_record *as)
{
	struct lock_record *r = lock_record_at(t, l->first), *next;

	for (; r; r = next) {
		next = lock_record_at(t, r->in_file.next);
		if (!same_owner(r, as))
			continue;
		lock_record_drop(t, r);
		lock_commit(t);
	}
}

int lock_free(struct lock_table *t, const struct lock_mount_ref *ref, const struct lock_request *q)
{
	struct lock_record as = lock_table_record(ref, q);
	struct lock_mount *m;
	struct lock_file *f;
	int r = lock_table_enter_as(t, ref, &m);

	if (r < 0)
		return r;
	f = lock_file_find(t, q->dev, q->ino, NULL);
	t->exceeds = true; /* freeing a part of a range may split a lock, which must succeed even if
			      the mount's share of records is used up */
	if (f && range_apply(t, f, &as, false)) {
		lock_commit(t);
		/* The owner frees the whole file, as close(2) does, so remove its broken locks
		 * too. */
		if (as.start == 0 && as.end == LOCK_END_MAX) {
			own_drop(t, &f->held, &as);
			own_drop(t, &f->broken, &as);
		}
		lock_table_freed(t, f);
	} else if (f) {
		lock_undo(t);
		r = -ENOLCK;
	}
	t->exceeds = false;
	lock_leave(t);
	return r;
}

int lock_free_owner(struct lock_table *t, const struct lock_mount_ref *m,
		    const struct lock_request *q)
{
	struct lock_request all = *q;

	all.start = 0;
	all.end = LOCK_END_MAX;
	all.flock = false;
	return lock_free(t, m, &all);
}

int lock_free_opener(struct lock_table *t, const struct lock_mount_ref *ref, uint32_t opener)
{
	static const enum lock_state states[] = {LOCK_HELD, LOCK_BREAKING, LOCK_BROKEN};
	struct lock_file *f = NULL; /* all locks that an open file has made are on one file */
	struct lock_record *r, *next;
	struct lock_mount *m;
	int e = lock_table_enter_as(t, ref, &m);

	if (e < 0)
		return e;
	for (unsigned i = 0; i < ARRAY_SIZE(states); i++) {
		for (r = lock_record_at(t, m->lists[states[i]].first); r; r = next) {
			next = lock_record_at(t, r->in_mount.next);
			if (r->opener != opener || (f && f != lock_file_at(t, r->file)))
				continue;
			f = lock_file_at(t, r->file);
			lock_record_drop(t, r);
			lock_commit(t);
		}
	}
	if (f)
		lock_table_freed(t, f);
	lock_leave(t);
	return 0;
}

int lock_get(struct lock_table *t, const struct lock_mount_ref *ref, const struct lock_request *q,
	     struct lock_conflict *ret)
{
	const struct lock_record as = lock_table_record(ref, q), *r = NULL;
	const struct lock_file *f;
	struct lock_mount *m;
	int e = lock_table_enter_as(t, ref, &m);

	if (e < 0)
		return e;
	f = lock_file_find(t, q->dev, q->ino, NULL);
	if (f)
		r = conflict_of(t, f, &as);
	if (r)
		*ret = (struct lock_conflict){.start = r->start,
					      .end = r->end,
					      .write = r->write,
					      .pid = r->mount == as.mount ? r->pid : 0};
	lock_leave(t);
	return r ? 1 : 0;
}

int lock_cancel(struct lock_table *t, const struct lock_mount_ref *ref, uint64_t unique)
{
	struct lock_record *r;
	struct lock_mount *m;
	struct lock_file *f;
	int e = lock_table_enter_as(t, ref, &m);

	if (e < 0)
		return e;
	r = lock_record_at(t, m->lists[LOCK_WAITING].first);
	while (r && r->unique != unique)
		r = lock_record_at(t, r->in_mount.next);
	if (r) {
		f = lock_file_at(t, r->file);
		lock_record_drop(t, r);
		lock_table_freed(t, f); /* requests that waited for the removed request may get
					   their locks now */
	}
	lock_leave(t);
	return r ? 0 : -ENOENT;
}

bool lock_mount_has(struct lock_table *t, const struct lock_mount_ref *ref, uint64_t dev,
		    uint64_t ino)
{
	const struct lock_file *f;
	struct lock_mount *m;
	bool has = false;
	int e = lock_table_enter_as(t, ref, &m);

	if (e < 0)
		return e == -EBUSY;
	f = lock_file_find(t, dev, ino, NULL);
	for (unsigned i = 0; f && i < 3; i++) {
		const struct lock_list *l = i == 0 ? &f->held : i == 1 ? &f->waiting : &f->broken;
		const struct lock_record *r = lock_record_at(t, l->first);

		for (; r && !has; r = lock_record_at(t, r->in_file.next))
			has = r->mount == ref->index;
	}
	lock_leave(t);
	return has;
}

int lock_granted(struct lock_table *t, const struct lock_mount_ref *ref, uint64_t *ret,
		 unsigned max)
{
	const struct lock_record *r;
	struct lock_mount *m;
	unsigned n = 0;
	int e = lock_table_enter_as(t, ref, &m);

	if (e < 0)
		return e;
	while (n < max && (r = lock_record_at(t, m->lists[LOCK_GRANTED].first))) {
		ret[n] = r->unique;
		if (!drop_first(t, &m->lists[LOCK_GRANTED]))
			break;
		n++;
	}
	lock_leave(t);
	return (int)n;
}
