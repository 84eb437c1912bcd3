/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reclaims the mount's locks after a reboot of the server's host. The client learns from the
 * server's answers which locks programs hold, and requests these locks again in the first session
 * after the reboot, before any other request. If the reboot has prevented the answer to a lock
 * request, the server may or may not have executed the request. So the client reclaims only locks
 * that its programs hold in both cases, and then sends the request again. If the server does not
 * grant a reclaimed lock, the open files of that node fail with EIO, as after a loss of all locks.
 */
#include "dataplane/fuse/client/changes/client_changes.h"

#include <fcntl.h>
#include <string.h>

#define RETRY_NS NSEC_PER_SEC

/* a request that sets or frees locks */
struct change {
	struct client_lock lock;
	bool sets;   /* true: sets `lock`; false: frees the range */
	bool opener; /* frees all locks that the open file lock.file has made */
};

/* Reads the request into *ret. Returns false if it neither sets nor frees locks. */
static bool change_read(const uint8_t *req, struct change *ret)
{
	struct fuse_flush_in flush;
	struct fuse_in_header in;
	struct fuse_lk_in lk;

	memcpy(&in, req, sizeof(in));
	*ret = (struct change){.lock = {.nodeid = in.nodeid, .end = INT64_MAX}};
	if (in.opcode == FUSE_FLUSH) {
		memcpy(&flush, req + sizeof(in), sizeof(flush));
		ret->opener = flush.unused & FUSE_PROTO_FLUSH_OPENER;
		ret->lock.owner = flush.lock_owner;
		/* When a process closes a file, it loses all its locks on the file, also those made
		 * with other open files. */
		ret->lock.file = ret->opener ? (uint32_t)flush.lock_owner - 1 : UINT32_MAX;
		return true;
	}
	if (in.opcode != FUSE_SETLK && in.opcode != FUSE_SETLKW)
		return false;
	memcpy(&lk, req + sizeof(in), sizeof(lk));
	ret->sets = lk.lk.type != F_UNLCK;
	ret->lock.owner = lk.owner;
	ret->lock.start = lk.lk.start;
	ret->lock.end = MIN_OF(lk.lk.end, (uint64_t)INT64_MAX);
	ret->lock.file = lk.padding - 1;
	ret->lock.pid = lk.lk.pid;
	ret->lock.flock = lk.lk_flags & FUSE_LK_FLOCK;
	ret->lock.write = lk.lk.type == F_WRLCK;
	return true;
}

/* ------------------------------------------------------------------ updating the ledger */

static bool disturbs(const struct change *a, const struct change *b)
{
	if (a->lock.nodeid != b->lock.nodeid)
		return false;
	/* The last close of an open file frees only the locks that programs have made with this
	 * open file. */
	if (a->opener || b->opener)
		return a->lock.file == b->lock.file;
	return a->lock.owner == b->lock.owner && a->lock.flock == b->lock.flock &&
	       a->lock.start <= b->lock.end && b->lock.start <= a->lock.end;
}

/* Returns whether another request of the same owner for an overlapping range is in flight. It is
 * then unknown in which order the server has executed the two. */
static bool is_disturbed(const struct fuse_client *f, const struct client_slot *self,
			 const struct change *c)
{
	struct change other;

	for (unsigned i = 0; i < CLIENT_SLOTS; i++) {
		const struct client_slot *s = &f->slots[i];

		if (s != self && s->state == CLIENT_SLOT_SENT && s->kind == CLIENT_SLOT_KERNEL &&
		    change_read(s->req, &other) && disturbs(&other, c))
			return true;
	}
	for (unsigned i = 0; i < f->locks.n_waits; i++)
		if (change_read(f->locks.waits[i].req, &other) && disturbs(&other, c))
			return true;
	return false;
}

static void note_set(struct client_ledger *l, const struct change *c, int error)
{
	switch (error) {
	case 0:
		client_ledger_set(l, &c->lock);
		break;
	case -EAGAIN:
	case -EINTR: /* flock(2) frees the owner's old lock first if it cannot convert it at once */
		if (c->lock.flock)
			client_ledger_free(l, &c->lock);
		break;
	case -EDEADLK: /* only lock requests by fcntl(2) fail with this error, and they leave the
			  locks unchanged */
		break;
	case -ENOLCK:
		if (!c->lock.flock)
			break;
		/* fall through */
	default:
		client_ledger_doubt(l, c->lock.nodeid);
	}
}

void client_locks_note(struct fuse_client *f, const struct client_slot *self, const uint8_t *req,
		       int error, bool resent)
{
	struct client_ledger *l = &f->locks.ledger;
	struct change c;

	if (!change_read(req, &c))
		return;
	if (is_disturbed(f, self, &c))
		client_ledger_doubt(l, c.lock.nodeid);
	if (c.opener)
		client_ledger_close(l, c.lock.nodeid, c.lock.file);
	else if (c.sets)
		note_set(l, &c, error);
	else if (error == 0)
		client_ledger_free(l, &c.lock);
	else if (error != -ENOLCK || resent)
		client_ledger_doubt(l, c.lock.nodeid);
	/* The client may have reclaimed a shared lock, while the program still holds the exclusive
	 * lock. */
	if (c.sets && error == -ENOLCK && resent)
		client_ledger_doubt(l, c.lock.nodeid);
}

/* ------------------------------------------------------------------ reclaiming */

/* The server may have executed this request before the reboot. Removes from the ledger the locks
 * that the request frees. */
static void give_up(struct client_ledger *l, const uint8_t *req)
{
	struct change c;

	if (!change_read(req, &c))
		return;
	if (c.opener)
		client_ledger_close(l, c.lock.nodeid, c.lock.file);
	else if (!c.sets || (c.lock.flock && c.lock.write))
		client_ledger_free(l, &c.lock);
	else if (!c.lock.write)
		client_ledger_weaken(l, &c.lock);
}

static void prepare(struct fuse_client *f)
{
	struct client_ledger *l = &f->locks.ledger;

	for (unsigned i = 0; i < CLIENT_SLOTS; i++) {
		const struct client_slot *s = &f->slots[i];

		if (s->state != CLIENT_SLOT_FREE && s->kind == CLIENT_SLOT_KERNEL &&
		    client_slot_is_resent(s))
			give_up(l, s->req);
	}
	for (unsigned i = 0; i < f->locks.n_waits; i++)
		give_up(l, f->locks.waits[i].req);
	if (l->overflown)
		client_locks_lose(f, 0);
	for (unsigned i = 0; i < l->n;)
		if (l->all[i].doubt) {
			client_locks_lose(f, l->all[i].nodeid);
			i = 0;
		} else {
			i++;
		}
	client_ledger_unsend(l);
}

/* Returns the open file that has made the lock, or NULL if the server does not have it open now. */
static const struct client_file *opener_of(const struct fuse_client *f,
					   const struct client_lock *lock)
{
	const struct client_file *file =
		lock->file < f->state.head->n_files ? client_file_at(&f->files, lock->file) : NULL;

	return file && file->flags & CLIENT_FILE_USED && file->nodeid == lock->nodeid &&
			       file->incarnation == f->server.incarnation &&
			       !(file->flags &
				 (CLIENT_FILE_DEAD | CLIENT_FILE_CLOSING | CLIENT_FILE_LOST))
		       ? file
		       : NULL;
}

/* Requests the lock again. Returns false if the client cannot send the request now. */
static bool reclaim(struct fuse_client *f, struct client_lock *lock)
{
	const struct client_file *file = opener_of(f, lock);
	struct client_node *node = client_node_get(&f->nodes, lock->nodeid);
	struct fuse_lk_in lk = {
		.owner = lock->owner,
		.lk = {.start = lock->start,
		       .end = lock->end,
		       .type = lock->write ? F_WRLCK : F_RDLCK,
		       .pid = lock->pid},
		.lk_flags = FUSE_PROTO_LK_RECLAIM | (lock->flock ? FUSE_LK_FLOCK : 0),
		.padding = lock->file + 1,
	};

	if (!file || !node) {
		client_locks_lose(f, lock->nodeid);
		return true;
	}
	lk.fh = file->server_fh;
	if (!client_internal_ask(f, CLIENT_SLOT_LOCK_RECLAIM, FUSE_SETLK, node, &lk, sizeof(lk)))
		return false;
	lock->sent = true;
	f->locks.n_reclaims++;
	return true;
}

static bool reclaim_end(struct fuse_client *f)
{
	struct client_node *root = client_node_get(&f->nodes, FUSE_ROOT_ID);
	const struct fuse_lk_in lk = {.lk_flags = FUSE_PROTO_LK_RECLAIMED};

	return root &&
	       client_internal_ask(f, CLIENT_SLOT_LOCK_RECLAIM, FUSE_SETLK, root, &lk, sizeof(lk));
}

bool client_locks_reclaim(struct fuse_client *f)
{
	struct client_locks *l = &f->locks;
	struct client_lock *next;

	if (l->reclaim == CLIENT_RECLAIM_DUE) {
		/* A request of a predecessor that is not read yet may have freed a lock, which
		 * another client may have acquired meanwhile. */
		if (l->unread && client_has_room(f))
			return false;
		if (l->unread) /* the client cannot answer requests before the reclaim has ended, so
				  it does not read them from the kernel */
			client_locks_doubt_all(f);
		prepare(f);
		l->reclaim = CLIENT_RECLAIM_LOCKS;
	}
	if (l->reclaim == CLIENT_RECLAIM_LOCKS) {
		while (!f->unmounted && (next = client_ledger_unsent(&l->ledger)))
			if (!reclaim(f, next))
				return false;
		if (l->n_reclaims == 0)
			l->reclaim = CLIENT_RECLAIM_END;
	}
	if (l->reclaim == CLIENT_RECLAIM_END && reclaim_end(f))
		l->reclaim = CLIENT_RECLAIM_ENDS;
	return l->reclaim == CLIENT_RECLAIM_NONE;
}

void client_locks_reclaimed(struct fuse_client *f, const struct client_slot *s, const void *msg,
			    size_t len, uint64_t now_ns)
{
	struct fuse_out_header out = {.error = -EIO};
	struct fuse_lk_in lk;

	memcpy(&lk, s->req + sizeof(struct fuse_in_header), sizeof(lk));
	if (msg && len >= sizeof(out))
		memcpy(&out, msg, sizeof(out));
	f->flush_wanted = true;
	if (lk.lk_flags & FUSE_PROTO_LK_RECLAIM) {
		f->locks.n_reclaims--;
		if (msg && out.error != 0)
			client_locks_lose(f, client_node_id(&f->nodes, s->nodes[0]));
		return;
	}
	if (f->locks.reclaim != CLIENT_RECLAIM_ENDS || !msg)
		return;
	f->locks.reclaim = out.error == 0 ? CLIENT_RECLAIM_NONE : CLIENT_RECLAIM_END;
	if (out.error != 0)
		f->retry_ns = now_ns + RETRY_NS;
}
