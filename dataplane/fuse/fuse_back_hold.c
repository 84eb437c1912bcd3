/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open files that are about to lose their last name: the agent is asked to hold them, so that their
 * handles stay good over this process's death.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include "netcfg/base/log.h"

static struct state_hold *hold_at(const struct back_export *e, uint32_t i)
{
	struct state_hold *chunk = e->hold_chunks[i / STATE_HOLDS_PER_CHUNK];

	return chunk ? &chunk[i % STATE_HOLDS_PER_CHUNK] : NULL;
}

/* That of a predecessor, if it held the same, else a free one. */
static struct state_hold *hold_new(struct back_export *e, const struct fuse_handle *h)
{
	for (uint32_t i = 0; i < STATE_HOLD_CHUNKS * STATE_HOLDS_PER_CHUNK && hold_at(e, i); i++)
		if (hold_at(e, i)->used && fuse_handle_equal(&hold_at(e, i)->handle, h))
			return hold_at(e, i);
	for (uint32_t pos = 0; pos < STATE_HOLD_CHUNKS; pos++) {
		if (!e->hold_chunks[pos])
			e->hold_chunks[pos] = state_chunk_new(
				&e->state, &(struct state_chunk){.kind = STATE_HOLDS, .pos = pos});
		for (uint32_t i = 0; e->hold_chunks[pos] && i < STATE_HOLDS_PER_CHUNK; i++)
			if (!e->hold_chunks[pos][i].used)
				return &e->hold_chunks[pos][i];
	}
	return NULL;
}

static bool hold_tell(struct back_export *e, const struct fuse_handle *h, int fd)
{
	struct fuse_back *b = e->back;

	return b->hold(b->hold_user, (uint32_t)(e - b->exports), fuse_handle_mac(h), fd);
}

/*
 * The state says that a file is held before the agent is asked and until after it was told to let
 * go, so whenever the process dies its successor finds all that the agent may hold. Asking twice,
 * and letting go of what is not held, do no harm.
 */
void back_hold(struct back_node *n)
{
	const struct fuse_handle *h;
	int fd;

	if (n->n_open == 0 || n->hold || n->handle.bytes[0] != FUSE_HANDLE_FILE)
		return;
	h = back_node_handle(n);
	fd = h ? back_node_fd(n) : -EIO;
	n->hold = fd >= 0 ? hold_new(n->export, h) : NULL;
	if (!n->hold)
		return;
	n->hold->handle = *h;
	state_publish(&n->hold->used, 1U);
	if (!hold_tell(n->export, h, fd))
		log_debug("an open file without a name would not outlive this process");
}

struct back_node *back_hold_name(struct back_export *e, int dirfd, const char *name)
{
	struct back_node *n = back_node_named(e, dirfd, name);
	struct stat st;

	if (n && n->n_open > 0 && fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_nlink == 1)
		back_hold(n);
	return n;
}

/* What the former agent held went with it, unless the service manager has kept it. */
void fuse_back_hold_again(struct fuse_back *b)
{
	for (unsigned k = 0; k < b->n_exports; k++) {
		struct back_export *e = &b->exports[k];
		const struct state_hold *rec;

		for (uint32_t i = 0; i < STATE_HOLD_CHUNKS * STATE_HOLDS_PER_CHUNK; i++) {
			struct back_node *n;
			int fd = -1;

			rec = hold_at(e, i);
			if (!rec)
				break;
			if (rec->used &&
			    back_node_get(e, rec->handle.bytes, rec->handle.len, &n) == 0)
				fd = back_node_fd(n);
			if (fd >= 0 && !hold_tell(e, &rec->handle, fd))
				return; /* the agent does not read */
		}
	}
}

static bool hold_drop(struct back_export *e, struct state_hold *rec, struct back_node *n)
{
	if (!hold_tell(e, &rec->handle, -1))
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

void back_holds_sweep(struct back_export *e)
{
	if (!e->holds_due || e->n_unsettled > 0)
		return;
	for (uint32_t i = 0; i < STATE_HOLD_CHUNKS * STATE_HOLDS_PER_CHUNK; i++) {
		struct state_hold *rec = hold_at(e, i);
		struct back_node *n;

		if (!rec)
			break;
		if (!rec->used)
			continue;
		n = back_node_find(e, rec->handle.bytes, rec->handle.len - FUSE_HANDLE_MAC_BYTES);
		if (n && n->n_open > 0)
			n->hold = rec; /* opened again */
		else if (!hold_drop(e, rec, n))
			return; /* when the agent listens */
	}
	e->holds_due = false;
}
