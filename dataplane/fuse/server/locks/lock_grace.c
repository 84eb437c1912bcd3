/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reclaiming locks after a reboot of the server's host. The agent keeps a record on disk of each
 * mount that may hold locks. When the table is new, it contains the mounts of these records,
 * without their locks, and a grace period begins: each of these mounts reclaims the locks that it
 * held, and no mount gets a new lock. If a mount does not come back in time, its record is removed
 * before other mounts get its locks, because otherwise it could reclaim them after another reboot.
 * For the same reason, the record of a mount whose lease ends is removed first.
 * If the agent cannot remove a record, because its disk fails, the grace period ends nevertheless
 * after a while, so that one bad disk does not stop all clients. The record is then removed as soon
 * as possible.
 */
#include "dataplane/fuse/server/locks/lock_internal.h"
#include <string.h>

/* In this time the agent removes records if its disk works. */
#define LOCK_GRACE_LATE_NS (3 * NSEC_PER_SEC)

/* Returns the first used entry from index i on, or NULL. */
static struct lock_mount *mount_next(struct lock_table *t, uint32_t i)
{
	const uint32_t n = MIN_OF(lock_once(t->mem->head.n_mounts), LOCKS_MOUNTS);

	while (i < n && !t->mem->mounts[i].used)
		i++;
	return i < n ? &t->mem->mounts[i] : NULL;
}

static uint32_t number_of(const struct lock_table *t, const struct lock_mount *m)
{
	return (uint32_t)(m - t->mem->mounts);
}

static struct lock_stable stable_of(const struct lock_table *t, const struct lock_mount *m)
{
	struct lock_stable of = {.index = number_of(t, m), .epoch = m->epoch};

	memcpy(of.id, m->id, sizeof(of.id));
	return of;
}

/* Reserves the table and returns the entry of the mount. If there is no such entry, returns NULL
 * without the table; *ret is then 0, or -EBUSY if the table could not be reserved. */
static struct lock_mount *enter_at(struct lock_table *t, const struct lock_stable *of, int *ret)
{
	struct lock_mount *m = lock_mount_at(t, of->index);

	*ret = lock_table_enter(t);
	if (*ret < 0)
		return NULL;
	if (m->used && m->epoch == of->epoch && memcmp(m->id, of->id, sizeof(m->id)) == 0)
		return m;
	lock_leave(t);
	return NULL;
}

static void stable_set(struct lock_table *t, struct lock_mount *m, uint32_t stable)
{
	LOCK_TOUCH(t, &m->stable);
	m->stable = stable;
	lock_commit(t);
}

/* ------------------------------------------------------------------ records */

int lock_mount_keep(struct lock_table *t, const struct lock_mount_ref *ref, struct lock_stable *ret)
{
	struct lock_mount *m;
	int r = lock_table_enter_as(t, ref, &m);

	if (r < 0)
		return r;
	if (t->mem->head.records && !(m->stable & (LOCK_STABLE_KEPT | LOCK_STABLE_NEVER))) {
		/* Set the flag before the agent is asked: if this process dies in between, there
		 * may be a record. */
		stable_set(t, m, m->stable | LOCK_STABLE_ASKED);
		*ret = stable_of(t, m);
		r = 1;
	}
	lock_leave(t);
	return r;
}

int lock_mount_kept(struct lock_table *t, const struct lock_stable *of)
{
	int r;
	struct lock_mount *m = enter_at(t, of, &r);

	if (!m)
		return r;
	if (m->leaving == LOCK_STAYS && !(m->stable & LOCK_STABLE_NEVER))
		stable_set(t, m, m->stable | LOCK_STABLE_KEPT);
	lock_leave(t);
	return 0;
}

int lock_mount_spoil(struct lock_table *t, const struct lock_mount_ref *ref,
		     struct lock_stable *ret)
{
	struct lock_mount *m;
	int r = lock_table_enter_as(t, ref, &m);

	if (r < 0)
		return r;
	stable_set(t, m, m->stable | LOCK_STABLE_NEVER);
	if (lock_mount_is_recorded(m)) {
		*ret = stable_of(t, m);
		r = 1;
	}
	lock_leave(t);
	return r;
}

unsigned lock_mounts_leaving(struct lock_table *t, struct lock_stable *ret, unsigned max)
{
	struct lock_mount *m;
	unsigned n = 0;

	if (lock_once(t->mem->head.n_mounts) == 0 || lock_table_enter(t) < 0)
		return 0;
	for (uint32_t i = 0; n < max && (m = mount_next(t, i)); i = number_of(t, m) + 1)
		if (m->leaving == LOCK_LEAVES)
			ret[n++] = stable_of(t, m);
	lock_leave(t);
	return n;
}

/* Ends the grace period if no mount has to reclaim locks any more. */
static void settle(struct lock_table *t)
{
	struct lock_head *h = &t->mem->head;
	struct lock_mount *m;

	if (h->grace_ns == 0)
		return;
	for (uint32_t i = 0; (m = mount_next(t, i)); i = number_of(t, m) + 1)
		if (m->stable & LOCK_STABLE_EXPECTED)
			return;
	/* Pairs with lock_in_grace(). If this process dies before it has granted the waiting
	 * requests, the next process that uses the table grants them. */
	__atomic_store_n(&h->grace_ns, 0, __ATOMIC_RELEASE);
	for (uint32_t i = 1; i <= h->n_files && i <= LOCKS_FILES; i++)
		if (lock_file_at(t, i)->used && lock_file_at(t, i)->waiting.first)
			lock_table_flag(t, lock_file_at(t, i), true);
	lock_table_grant_all(t);
}

int lock_mount_forgotten(struct lock_table *t, const struct lock_stable *of)
{
	int r;
	struct lock_mount *m = enter_at(t, of, &r);

	if (!m)
		return r;
	if (m->leaving == LOCK_LEAVES)
		lock_table_drop_mount(t, m);
	else if (m->stable & LOCK_STABLE_NEVER)
		stable_set(t, m, m->stable & ~(uint32_t)(LOCK_STABLE_ASKED | LOCK_STABLE_KEPT));
	settle(t);
	lock_leave(t);
	return 0;
}

/* ------------------------------------------------------------------ the grace period */

void lock_grace_tick(struct lock_table *t, uint64_t now_ns)
{
	struct lock_head *h = &t->mem->head;
	struct lock_mount *m;

	if (!lock_in_grace(t) || lock_table_enter(t) < 0)
		return;
	/* Either the grace period has not begun yet (LOCKS_GRACE_DUE), or another worker has
	 * damaged the value. */
	if (h->grace_ns > now_ns + LOCK_GRACE_NS && lock_in_grace(t))
		__atomic_store_n(&h->grace_ns, now_ns + LOCK_GRACE_NS, __ATOMIC_RELEASE);
	for (uint32_t i = 0; now_ns >= h->grace_ns && (m = mount_next(t, i));
	     i = number_of(t, m) + 1)
		if (m->stable & LOCK_STABLE_EXPECTED && m->leaving == LOCK_STAYS)
			lock_table_end_mount(t, m);
		else if (m->stable & LOCK_STABLE_EXPECTED &&
			 now_ns >= h->grace_ns + LOCK_GRACE_RECORDS_NS)
			stable_set(t, m,
				   (m->stable & ~(uint32_t)LOCK_STABLE_EXPECTED) |
					   LOCK_STABLE_OVERDUE);
	settle(t);
	lock_leave(t);
}

unsigned lock_grace_overdue(const struct lock_table *t, uint64_t now_ns)
{
	const struct lock_memory *mem = t->mem;
	const uint32_t n = MIN_OF(lock_once(mem->head.n_mounts), LOCKS_MOUNTS);
	const uint64_t until_ns = lock_once(mem->head.grace_ns);
	const uint32_t flags =
		LOCK_STABLE_OVERDUE |
		(until_ns && now_ns >= until_ns + LOCK_GRACE_LATE_NS ? LOCK_STABLE_EXPECTED : 0);
	unsigned n_overdue = 0;

	for (uint32_t i = 0; i < n; i++)
		n_overdue += lock_once(mem->mounts[i].used) && lock_once(mem->mounts[i].leaving) &&
			     lock_once(mem->mounts[i].stable) & flags;
	return n_overdue;
}

int lock_reclaim(struct lock_table *t, const struct lock_mount_ref *ref,
		 const struct lock_request *q)
{
	struct lock_record as = lock_table_record(ref, q);
	struct lock_mount *m;
	int r = lock_table_enter_as(t, ref, &m);

	if (r < 0)
		return r;
	if (lock_in_grace(t) && m->stable & LOCK_STABLE_EXPECTED) {
		t->exceeds = true; /* the mount had this lock before, so its share of the records
				      does not matter */
		r = lock_table_set_now(t, q, &as);
		t->exceeds = false;
	} else {
		r = -EINVAL;
	}
	lock_leave(t);
	return r;
}

int lock_reclaim_end(struct lock_table *t, const struct lock_mount_ref *ref)
{
	struct lock_mount *m;
	int r = lock_table_enter_as(t, ref, &m);

	if (r < 0)
		return r;
	stable_set(t, m, m->stable & ~(uint32_t)LOCK_STABLE_EXPECTED);
	settle(t);
	lock_leave(t);
	return 0;
}
