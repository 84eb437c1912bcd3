/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the records about locks in the mount's state, for this worker and its successors: the lock
 * epoch, the nodes on which programs may hold locks, and the open files that have made these locks.
 * A mark is set before the lock is requested. So a mark may exist without a lock, but a lock never
 * exists without its mark.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"
#include "netcfg/base/log.h"

#include <string.h>

bool client_locks_wanted(const struct fuse_client *f)
{
	return f->mount->locks == LAUNCH_LOCKS_CLUSTER;
}

static struct client_node *locked_node(struct fuse_client *f, const struct client_file *file)
{
	struct client_node *node =
		file->flags & CLIENT_FILE_USED ? client_node_get(&f->nodes, file->nodeid) : NULL;

	return node && node->flags & CLIENT_NODE_LOCKED ? node : NULL;
}

/* Marks the open files of the node, or of all nodes with locks, as having lost their locks, then
 * marks these nodes as having no locks. If this worker dies meanwhile, its successor repeats this,
 * because the epoch is stored last, or because it cannot reclaim locks of files that are marked. */
void client_locks_lose(struct fuse_client *f, uint64_t nodeid)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < f->state.head->n_files; i++) {
		struct client_file *file = client_file_at(&f->files, i);

		if (!locked_node(f, file) || file->flags & CLIENT_FILE_CLOSING ||
		    (nodeid && file->nodeid != nodeid))
			continue;
		client_publish(&file->flags, file->flags | CLIENT_FILE_LOST);
		n++;
	}
	for (uint32_t i = 0; i < f->state.head->n_files; i++) {
		const struct client_file *file = client_file_at(&f->files, i);
		struct client_node *node = locked_node(f, file);

		if (node && (!nodeid || file->nodeid == nodeid))
			client_publish(&node->flags, node->flags & ~CLIENT_NODE_LOCKED);
	}
	if (nodeid)
		client_ledger_drop_node(&f->locks.ledger, nodeid);
	else
		client_ledger_clear(&f->locks.ledger);
	if (n > 0)
		log_warning("%s: the server no longer has the file locks of %s; programs "
			    "may have held locks on %u open files, which fail with EIO until "
			    "programs close them",
			    f->mount->path, nodeid ? "a file of this mount" : "this mount", n);
}

void client_locks_served(struct fuse_client *f, uint64_t epoch, bool reclaims)
{
	struct client_head *head = f->state.head;

	if (head->lock_epoch && head->lock_epoch != epoch)
		client_locks_lose(f, 0);
	client_publish(&head->lock_epoch, epoch);
	f->locks.refused = false;
	f->locks.reclaim = reclaims ? CLIENT_RECLAIM_DUE : CLIENT_RECLAIM_NONE;
}

/* Returns whether the open file that has made the lock is still there. */
static bool is_made_by_file(struct fuse_client *f, const struct client_lock *lock)
{
	const struct client_file *file =
		lock->file < f->state.head->n_files ? client_file_at(&f->files, lock->file) : NULL;

	return file && file->nodeid == lock->nodeid && locked_node(f, file) &&
	       file->flags & CLIENT_FILE_LOCKED;
}

void client_locks_doubt_all(struct fuse_client *f)
{
	for (uint32_t i = 0; i < f->state.head->n_files; i++) {
		const struct client_file *file = client_file_at(&f->files, i);

		if (locked_node(f, file))
			client_ledger_doubt(&f->locks.ledger, file->nodeid);
	}
	f->locks.unread = false;
}

int client_locks_adopt(struct fuse_client *f)
{
	struct client_ledger *l = &f->locks.ledger;
	const int known =
		client_ledger_open(l, f->mount->state_fd, f->ledger_at, f->mount->id, f->adopted);

	if (known < 0)
		return known;
	f->locks.unread = f->adopted;
	if (!known && f->adopted)
		client_locks_doubt_all(f);
	for (unsigned i = 0, n = l->n; i < n; i++)
		if (!l->all[i].doubt && !is_made_by_file(f, &l->all[i]))
			client_ledger_doubt(l, l->all[i].nodeid);
	return 0;
}

bool client_locks_lost(const struct client_file *file, uint32_t opcode)
{
	return file->flags & CLIENT_FILE_LOST && opcode != FUSE_GETATTR && opcode != FUSE_FLUSH;
}

bool client_locks_release(struct fuse_client *f, struct client_file *file, void *req)
{
	struct fuse_in_header in;
	struct fuse_release_in was;
	struct fuse_flush_in flush = {.unused = FUSE_PROTO_FLUSH_OPENER};

	_Static_assert(sizeof(was) == sizeof(flush), "the request keeps its length");
	if (!(file->flags & CLIENT_FILE_LOCKED) || !f->state.head->lock_epoch)
		return false;
	memcpy(&in, req, sizeof(in));
	memcpy(&was, (uint8_t *)req + sizeof(in), sizeof(was));
	in.opcode = FUSE_FLUSH;
	flush.fh = was.fh; /* keep the kernel's handle, because the answer needs it; the server does
			      not read it */
	flush.lock_owner = client_file_index(&f->files, file) + 1ULL;
	memcpy(req, &in, sizeof(in));
	memcpy((uint8_t *)req + sizeof(in), &flush, sizeof(flush));
	return true;
}

bool client_locks_must_end(uint32_t opcode, bool sent)
{
	return opcode == FUSE_FLUSH || (sent && (opcode == FUSE_SETLK || opcode == FUSE_SETLKW));
}
