/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ledger of a mount's file locks. A mount rarely has many locks at a time, so an unsorted array
 * suffices. The record has the same array. A change moves locks of other nodes only to lower
 * places, and the record is written from its beginning, so such a lock is always in the record at
 * least once.
 */
#include "dataplane/fuse/client/tables/client_ledger.h"
#include "netcfg/base/os/memfd.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define RECORD_MAGIC 0x53524b434f4c4c50ULL /* "PLLOCKRS" */
#define ALL_NODES UINT64_MAX

struct client_ledger_record {
	uint64_t magic; /* published last */
	uint8_t mount_id[16];
	uint64_t changing; /* number of the node that is being changed, or ALL_NODES; 0: none */
	uint32_t n;	   /* all locks are at lower indexes than this */
	uint32_t overflown;
	struct client_lock all[CLIENT_LEDGER_MAX]; /* nodeid 0: the entry is empty. It is written
						      last, so that a successor never uses a
						      half-written entry */
};

/* A successor never sees *p = v without the stores that precede it in program order. */
#define publish(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* ------------------------------------------------------------------ the record */

static void change_begin(struct client_ledger *l, uint64_t nodeid)
{
	if (!l->record)
		return;
	publish(&l->record->changing, nodeid);
	/* Keep the compiler from moving later stores before this one. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static bool is_written(const struct client_lock *in, const struct client_lock *is)
{
	return in->nodeid == is->nodeid && in->owner == is->owner && in->start == is->start &&
	       in->end == is->end && in->file == is->file && in->pid == is->pid &&
	       in->flock == is->flock && in->write == is->write && in->doubt == is->doubt;
}

static void place_write(struct client_lock *to, const struct client_lock *is)
{
	struct client_lock copy = *is;

	publish(&to->nodeid, 0);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	copy.nodeid = 0;
	copy.sent = false;
	*to = copy;
	publish(&to->nodeid, is->nodeid);
}

static void change_end(struct client_ledger *l)
{
	struct client_ledger_record *r = l->record;

	if (!r)
		return;
	publish(&r->overflown, l->overflown);
	if (r->n < l->n)
		publish(&r->n, l->n);
	for (unsigned i = l->first; i < MIN_OF(l->end, l->n); i++)
		if (!is_written(&r->all[i], &l->all[i]))
			place_write(&r->all[i], &l->all[i]);
	l->first = l->end = 0;
	for (unsigned i = l->n; i < r->n; i++)
		publish(&r->all[i].nodeid, 0);
	publish(&r->n, l->n);
	publish(&r->changing, 0);
}

static void record_format(struct client_ledger_record *r, const uint8_t mount_id[16])
{
	publish(&r->magic, 0);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < MIN_OF(r->n, CLIENT_LEDGER_MAX); i++)
		r->all[i].nodeid = 0;
	r->n = 0;
	r->overflown = 0;
	r->changing = 0;
	memcpy(r->mount_id, mount_id, sizeof(r->mount_id));
	publish(&r->magic, RECORD_MAGIC);
}

void client_ledger_done(struct client_ledger *l)
{
	if (l->record)
		munmap(l->record, sizeof(*l->record));
	free(l->all);
	*l = (struct client_ledger){.n = 0};
}

void client_ledger_clear(struct client_ledger *l)
{
	change_begin(l, ALL_NODES);
	l->n = 0;
	l->overflown = false;
	change_end(l);
}

/* Call when the entry at index i has changed. */
static void touch(struct client_ledger *l, unsigned i)
{
	l->first = l->first < l->end ? MIN_OF(l->first, i) : i;
	l->end = MAX_OF(l->end, i + 1);
}

static void add(struct client_ledger *l, const struct client_lock *lock)
{
	if (l->n == l->room && l->room < CLIENT_LEDGER_MAX) {
		const unsigned room = MAX_OF(2 * l->room, 64U);
		struct client_lock *more = realloc(l->all, room * sizeof(*more));

		if (more) {
			l->all = more;
			l->room = room;
		}
	}
	if (l->n == l->room) {
		l->overflown = true;
		return;
	}
	touch(l, l->n);
	l->all[l->n++] = *lock;
}

static void take(struct client_ledger *l, unsigned i)
{
	touch(l, i);
	l->all[i] = l->all[--l->n];
}

static bool same_owner(const struct client_lock *a, const struct client_lock *b)
{
	return !a->doubt && a->nodeid == b->nodeid && a->owner == b->owner && a->flock == b->flock;
}

static bool overlaps(const struct client_lock *a, const struct client_lock *b)
{
	return a->start <= b->end && b->start <= a->end;
}

static bool adjoins(const struct client_lock *a, const struct client_lock *b)
{
	return (a->end == UINT64_MAX || b->start <= a->end + 1) &&
	       (b->end == UINT64_MAX || a->start <= b->end + 1);
}

static void range_free(struct client_ledger *l, const struct client_lock *range)
{
	for (unsigned i = 0; i < l->n;) {
		struct client_lock *is = &l->all[i], rest = *is;

		if (!same_owner(is, range) || !overlaps(is, range)) {
			i++;
			continue;
		}
		touch(l, i);
		if (is->start >= range->start && is->end <= range->end) {
			take(l, i);
		} else if (is->start < range->start && is->end > range->end) {
			is->end = range->start - 1;
			rest.start = range->end + 1;
			add(l, &rest);
			i++;
		} else if (is->start < range->start) {
			is->end = range->start - 1;
			i++;
		} else {
			is->start = range->end + 1;
			i++;
		}
	}
}

void client_ledger_free(struct client_ledger *l, const struct client_lock *range)
{
	change_begin(l, range->nodeid);
	range_free(l, range);
	change_end(l);
}

void client_ledger_set(struct client_ledger *l, const struct client_lock *lock)
{
	struct client_lock merged = *lock;

	change_begin(l, lock->nodeid);
	range_free(l, lock);
	for (unsigned i = 0; i < l->n;) {
		const struct client_lock *is = &l->all[i];

		if (!same_owner(is, &merged) || is->write != merged.write ||
		    !adjoins(is, &merged)) {
			i++;
			continue;
		}
		merged.start = MIN_OF(merged.start, is->start);
		merged.end = MAX_OF(merged.end, is->end);
		take(l, i);
		i = 0; /* start again, because the larger range may adjoin other ranges */
	}
	add(l, &merged);
	change_end(l);
}

void client_ledger_weaken(struct client_ledger *l, const struct client_lock *range)
{
	change_begin(l, range->nodeid);
	for (unsigned i = 0; i < l->n;) {
		struct client_lock part = l->all[i];

		if (!same_owner(&part, range) || !part.write || !overlaps(&part, range)) {
			i++;
			continue;
		}
		part.start = MAX_OF(part.start, range->start);
		part.end = MIN_OF(part.end, range->end);
		part.write = false;
		range_free(l, &part);
		add(l, &part);
		i = 0;
	}
	change_end(l);
}

void client_ledger_close(struct client_ledger *l, uint64_t nodeid, uint32_t file)
{
	change_begin(l, nodeid);
	for (unsigned i = 0; i < l->n;)
		if (!l->all[i].doubt && l->all[i].nodeid == nodeid && l->all[i].file == file)
			take(l, i);
		else
			i++;
	change_end(l);
}

void client_ledger_drop_node(struct client_ledger *l, uint64_t nodeid)
{
	change_begin(l, nodeid);
	for (unsigned i = 0; i < l->n;)
		if (l->all[i].nodeid == nodeid)
			take(l, i);
		else
			i++;
	change_end(l);
}

void client_ledger_doubt(struct client_ledger *l, uint64_t nodeid)
{
	if (client_ledger_is_doubted(l, nodeid))
		return;
	change_begin(l, nodeid);
	add(l, &(struct client_lock){.nodeid = nodeid, .doubt = true});
	change_end(l);
}

bool client_ledger_is_doubted(const struct client_ledger *l, uint64_t nodeid)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->all[i].doubt && l->all[i].nodeid == nodeid)
			return true;
	return false;
}

void client_ledger_unsend(struct client_ledger *l)
{
	for (unsigned i = 0; i < l->n; i++)
		l->all[i].sent = false;
}

struct client_lock *client_ledger_unsent(struct client_ledger *l)
{
	for (unsigned i = 0; i < l->n; i++)
		if (!l->all[i].doubt && !l->all[i].sent)
			return &l->all[i];
	return NULL;
}

/* ------------------------------------------------------------------ a predecessor's record */

static bool has(const struct client_ledger *l, const struct client_lock *lock)
{
	for (unsigned i = 0; i < l->n; i++)
		if (is_written(&l->all[i], lock))
			return true;
	return false;
}

/* Reads the locks of the record. The predecessor may have died during a change. */
static void record_read(struct client_ledger *l)
{
	struct client_ledger_record *r = l->record;
	const uint64_t changing = r->changing;

	l->record = NULL; /* do not write the record while it is being read */
	l->overflown = r->overflown || changing == ALL_NODES;
	for (uint32_t i = 0; i < MIN_OF(r->n, CLIENT_LEDGER_MAX); i++) {
		struct client_lock lock = r->all[i];

		lock.sent = false;
		/* The record may contain a lock twice, if the predecessor died while it moved the
		 * lock. */
		if (lock.nodeid && lock.start <= lock.end && (!changing || !has(l, &lock)))
			add(l, &lock);
	}
	if (changing && changing != ALL_NODES)
		client_ledger_doubt(l, changing);
	l->record = r;
	change_begin(l, changing);
	change_end(l);
}

int client_ledger_open(struct client_ledger *l, int fd, uint64_t at, const uint8_t mount_id[16],
		       bool adopt)
{
	struct client_ledger_record *r;
	int error = memfd_grow(fd, at + sizeof(*r));

	if (error < 0)
		return error;
	r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		 (off_t)at);
	if (r == MAP_FAILED)
		return -errno;
	l->record = r;
	adopt = adopt && r->magic == RECORD_MAGIC &&
		memcmp(r->mount_id, mount_id, sizeof(r->mount_id)) == 0;
	if (adopt)
		record_read(l);
	else
		record_format(r, mount_id);
	return adopt;
}
