/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open files that are about to lose their last name: the agent is asked to hold them, so that their
 * handles stay good over this process's death.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include "netcfg/base/log.h"
#include <string.h>

/* As many files may be kept in vain, for clients that do not come back. */
#define MAYBE_MAX 512U

static struct state_hold *hold_find(struct back_export *e, const struct fuse_handle *h)
{
	struct state_hold *free = NULL;

	for (uint32_t i = 0; i < STATE_HOLDS_MAX; i++) {
		struct state_hold *rec = &e->state->holds[i];

		if (!rec->used && !free)
			free = rec;
		/* A predecessor's, which held the same. */
		if (rec->used && rec->len == h->len && memcmp(rec->handle, h->bytes, h->len) == 0)
			return rec;
		if (!rec->used && rec->len == 0)
			break; /* none was ever used from here on */
	}
	return free;
}

/* Its signature is its name with the agent. */
static uint64_t hold_key(const struct state_hold *rec)
{
	uint64_t key = 0;

	if (rec->len > sizeof(key))
		memcpy(&key, rec->handle + rec->len - sizeof(key), sizeof(key));
	return key;
}

static bool hold_tell(struct back_export *e, const struct state_hold *rec, int fd)
{
	struct fuse_back *b = e->back;

	return b->hold(b->hold_user, (uint32_t)(e - b->exports), hold_key(rec), fd);
}

static struct state_hold *hold_make(struct back_export *e, const struct fuse_handle *h, bool maybe,
				    int fd)
{
	struct state_hold *rec = hold_find(e, h);

	if (!rec)
		return NULL;
	rec->len = h->len;
	memcpy(rec->handle, h->bytes, h->len);
	rec->maybe = maybe;
	state_publish(&rec->used, 1U);
	if (!hold_tell(e, rec, fd))
		log_debug("an open file without a name would not outlive this process");
	return rec;
}

/*
 * The state says that a file is held before the agent is asked and until after it was told to let
 * go, so whenever the process dies its successor finds all that the agent may hold. Asking twice,
 * and letting go of what is not held, do no harm.
 */
void back_hold(struct back_node *n, int fd)
{
	struct back_export *e = n->export;

	if (n->n_open == 0 || n->hold || fd < 0 || n->handle.bytes[0] != FUSE_HANDLE_FILE)
		return;
	n->hold = hold_make(e, &n->handle, false, fd);
}

bool back_hold_suspects(const struct back_export *e)
{
	return e->n_unsettled > 0 && !e->back->grace_over && e->n_maybe < MAYBE_MAX;
}

void back_hold_victim(struct back_export *e, const struct hand_result *r, int fd)
{
	struct back_node *n = back_node_signed(e, r->handle, r->handle_len);
	struct fuse_handle h = {.len = r->handle_len};

	if (n && n->n_open > 0) {
		back_hold(n, fd);
		return;
	}
	if (!back_hold_suspects(e) || fd < 0 || r->handle[0] != FUSE_HANDLE_FILE ||
	    !S_ISREG(r->attr.mode))
		return;
	memcpy(h.bytes, r->handle, h.len);
	if (hold_make(e, &h, true, fd)) {
		e->n_maybe++;
		e->holds_due = true;
	}
}

/* What the former agent held went with it, unless the service manager has kept it. */
void fuse_back_hold_again(struct fuse_back *b)
{
	for (unsigned i = 0; i < b->n_exports; i++) {
		b->exports[i].n_again = 0;
		back_hand_holds(&b->exports[i]);
	}
}

static bool hold_drop(struct back_export *e, struct state_hold *rec, struct back_node *n)
{
	if (!hold_tell(e, rec, -1))
		return false;
	state_publish(&rec->used, 0U);
	if (n)
		n->hold = NULL;
	return true;
}

void back_unhold(struct back_node *n)
{
	struct back_export *e = n->export;

	/* Another may have had it open at a predecessor, and not yet come to say so. */
	if (n->hold && !e->back->ending && (e->n_unsettled > 0 || !hold_drop(e, n->hold, n)))
		e->holds_due = true;
}

/* What is held on suspicion goes when all have said what they have, or after a time: else one
 * client that never comes back would keep the space of all that is removed. */
void back_holds_sweep(struct back_export *e)
{
	bool settled = e->n_unsettled == 0, grace_over = e->back->grace_over && e->n_maybe > 0;

	if (!e->holds_due || (!settled && !grace_over))
		return;
	for (uint32_t i = 0; i < STATE_HOLDS_MAX; i++) {
		struct state_hold *rec = &e->state->holds[i];
		struct back_node *n;

		if (!rec->used || (!settled && !rec->maybe))
			continue;
		n = rec->len <= sizeof(rec->handle) ? back_node_signed(e, rec->handle, rec->len)
						    : NULL;
		if (n && n->n_open > 0) {
			n->hold = rec; /* opened again */
			rec->maybe = false;
		} else if (!hold_drop(e, rec, n)) {
			return; /* when the agent listens */
		}
	}
	e->n_maybe = 0;
	e->holds_due = !settled;
}
