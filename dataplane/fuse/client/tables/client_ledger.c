/* SPDX-License-Identifier: BSD-3-Clause */
/* The ledger of a mount's file locks. A mount rarely has many locks at a time, so an unsorted array
 * suffices. */
#include "dataplane/fuse/client/tables/client_ledger.h"
#include <stdlib.h>

void client_ledger_done(struct client_ledger *l)
{
	free(l->all);
	*l = (struct client_ledger){.n = 0};
}

void client_ledger_clear(struct client_ledger *l)
{
	l->n = 0;
	l->overflown = false;
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
	if (l->n == l->room)
		l->overflown = true;
	else
		l->all[l->n++] = *lock;
}

static void take(struct client_ledger *l, unsigned i)
{
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

void client_ledger_free(struct client_ledger *l, const struct client_lock *range)
{
	for (unsigned i = 0; i < l->n;) {
		struct client_lock *is = &l->all[i], rest = *is;

		if (!same_owner(is, range) || !overlaps(is, range)) {
			i++;
		} else if (is->start >= range->start && is->end <= range->end) {
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

void client_ledger_set(struct client_ledger *l, const struct client_lock *lock)
{
	struct client_lock merged = *lock;

	client_ledger_free(l, lock);
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
}

void client_ledger_weaken(struct client_ledger *l, const struct client_lock *range)
{
	for (unsigned i = 0; i < l->n;) {
		struct client_lock part = l->all[i];

		if (!same_owner(&part, range) || !part.write || !overlaps(&part, range)) {
			i++;
			continue;
		}
		part.start = MAX_OF(part.start, range->start);
		part.end = MIN_OF(part.end, range->end);
		part.write = false;
		client_ledger_free(l, &part);
		add(l, &part);
		i = 0;
	}
}

void client_ledger_close(struct client_ledger *l, uint64_t nodeid, uint32_t file)
{
	for (unsigned i = 0; i < l->n;)
		if (!l->all[i].doubt && l->all[i].nodeid == nodeid && l->all[i].file == file)
			take(l, i);
		else
			i++;
}

void client_ledger_drop_node(struct client_ledger *l, uint64_t nodeid)
{
	for (unsigned i = 0; i < l->n;)
		if (l->all[i].nodeid == nodeid)
			take(l, i);
		else
			i++;
}

void client_ledger_doubt(struct client_ledger *l, uint64_t nodeid)
{
	if (!client_ledger_is_doubted(l, nodeid))
		add(l, &(struct client_lock){.nodeid = nodeid, .doubt = true});
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
