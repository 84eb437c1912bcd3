/* SPDX-License-Identifier: BSD-3-Clause */
/* Breaks locks for operators, in the two steps that lock_break() in lock_table.h explains. */
#include "dataplane/fuse/server/locks/lock_internal.h"

static struct lock_record *record_find(struct lock_table *t, uint64_t id)
{
	for (uint32_t i = 1; i <= t->mem->head.n_records && i <= LOCKS_RECORDS; i++) {
		struct lock_record *r = &t->mem->records[i - 1];

		if (r->state != LOCK_UNUSED && r->state != LOCK_GRANTED && r->id == id)
			return r;
	}
	return NULL;
}

static unsigned count_breaking(struct lock_table *t, const struct lock_mount *m)
{
	const struct lock_record *r = lock_record_at(t, m->lists[LOCK_BREAKING].first);
	unsigned n = 0;

	for (; r && n < LOCK_BREAKS_MAX; r = lock_record_at(t, r->in_mount.next))
		n++;
	return n;
}

static int record_break(struct lock_table *t, struct lock_record *r)
{
	struct lock_mount *m = lock_mount_at(t, r->mount);

	if (r->state != LOCK_HELD)
		return r->state == LOCK_WAITING ? -EAGAIN : -EALREADY;
	if (count_breaking(t, m) == LOCK_BREAKS_MAX)
		return -ENOSPC;
	lock_record_turn(t, r, LOCK_BREAKING);
	/* Increment the count before lock_commit(): the mount's worker then notices every break,
	 * even if this process dies in between. Pairs with lock_mount_is_current(). */
	__atomic_store_n(&m->breaks, m->breaks + 1, __ATOMIC_RELEASE);
	lock_commit(t);
	return 0;
}

int lock_break(struct lock_table *t, uint64_t id)
{
	struct lock_record *found;
	int r = lock_table_enter(t);

	if (r < 0)
		return r;
	found = record_find(t, id);
	r = found ? record_break(t, found) : -ENOENT;
	lock_leave(t);
	return r;
}

int lock_breaks(struct lock_table *t, const struct lock_mount_ref *ref,
		struct lock_breaking ret[LOCK_BREAKS_MAX])
{
	const struct lock_record *r;
	struct lock_mount *m;
	unsigned n = 0;
	int e = lock_table_enter_as(t, ref, &m);

	if (e < 0)
		return e;
	r = lock_record_at(t, m->lists[LOCK_BREAKING].first);
	for (; r && n < LOCK_BREAKS_MAX; r = lock_record_at(t, r->in_mount.next)) {
		const struct lock_file *f = lock_file_at(t, r->file);

		ret[n++] = (struct lock_breaking){.id = r->id, .dev = f->dev, .ino = f->ino};
	}
	lock_leave(t);
	return (int)n;
}

int lock_waits_drop(struct lock_table *t, const struct lock_mount_ref *ref, uint64_t dev,
		    uint64_t ino)
{
	struct lock_record *r, *next;
	struct lock_mount *m;
	struct lock_file *f;
	int n = 0, e = lock_table_enter_as(t, ref, &m);

	if (e < 0)
		return e;
	f = lock_file_find(t, dev, ino, NULL);
	for (r = f ? lock_record_at(t, f->waiting.first) : NULL; r; r = next) {
		next = lock_record_at(t, r->in_file.next);
		if (r->mount != ref->index)
			continue;
		lock_record_drop(t, r);
		lock_commit(t);
		n++;
	}
	if (n > 0)
		lock_table_freed(t, f); /* requests that waited for the removed requests may get
					   their locks now */
	lock_leave(t);
	return n;
}

int lock_reopened(struct lock_table *t, const struct lock_mount_ref *ref, uint64_t dev,
		  uint64_t ino, int fd)
{
	struct lock_record *r;
	struct lock_mount *m;
	struct lock_file *f;
	bool broken = false;
	int e = lock_table_enter_as(t, ref, &m);

	if (e < 0)
		return e;
	f = lock_file_find(t, dev, ino, NULL);
	if (f) {
		f->worker = t->worker; /* lock_undo() does not restore worker and fd, which are only
					  displayed */
		f->fd = fd;
		for (r = lock_record_at(t, f->held.first); r && !broken;
		     r = lock_record_at(t, r->in_file.next))
			broken = r->mount == ref->index && r->state == LOCK_BREAKING;
		for (r = lock_record_at(t, f->broken.first); r && !broken;
		     r = lock_record_at(t, r->in_file.next))
			broken = r->mount == ref->index;
	}
	lock_leave(t);
	return broken;
}

int lock_break_end(struct lock_table *t, const struct lock_mount_ref *ref, uint64_t id)
{
	struct lock_record *r;
	struct lock_mount *m;
	int e = lock_table_enter_as(t, ref, &m);

	if (e < 0)
		return e;
	r = lock_record_at(t, m->lists[LOCK_BREAKING].first);
	while (r && r->id != id)
		r = lock_record_at(t, r->in_mount.next);
	if (r) {
		struct lock_file *f = lock_file_at(t, r->file);

		lock_table_flag(t, f, true); /* set the flag first: if this process dies, the next
						process that uses the table grants the lock to
						waiting requests */
		lock_record_turn(t, r, LOCK_BROKEN);
		lock_table_freed(t, f);
	}
	lock_leave(t);
	return r ? 0 : -ENOENT;
}
