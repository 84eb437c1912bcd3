/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repeated opens without the server: compilers and scripts open the same files for reading many
 * times a second. A file that the kernel has closed stays open at the server for a second, and the
 * next open of the file by the same user gets it, without a request. That is allowed only while the
 * server leases the file to this client: no other client can then have changed, replaced or removed
 * the file. The kernel may also keep its cached pages, because they have the content of the
 * leased state.
 *
 * The server has checked the permission when it opened the file. So the file is used again only if
 * its ctime is still the same, and this client has not changed it since.
 *
 * In the mount's state a kept file is a closed one, so a successor closes it at the server.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <fcntl.h>
#include <string.h>

#define KEPT_NS NSEC_PER_SEC
/* Files that are due soon are closed together, so that the worker wakes up less often. */
#define KEPT_BATCH_NS (100 * NSEC_PER_MSEC)
/* How long no file is kept after the server had no room for another open file. */
#define KEPT_STOP_NS (10 * NSEC_PER_SEC)

/* Only the owner of the mount uses this stage: mount workers get no opens. With cluster locks, a
 * program that has got a lock must read what another client has written. */
static bool kept_is_on(const struct fuse_client *f)
{
	return !f->area && !client_locks_wanted(f);
}

static struct client_kept_file *kept_at(struct fuse_client *f, uint32_t i)
{
	return &f->kept.items[i % CLIENT_KEPT_FILES_MAX];
}

/* Queues the oldest kept file to be closed at the server. */
static void kept_drop_oldest(struct fuse_client *f, uint64_t now_ns)
{
	const struct client_kept_file *k = kept_at(f, f->kept.begin++);

	if (k->nodeid == 0)
		return;
	if (f->files.n_closing == 0)
		f->closing_ns = now_ns;
	client_file_close(&f->files, client_file_at(&f->files, k->file));
}

/* Removes the entries of files that were opened again. */
static void kept_compact(struct fuse_client *f)
{
	uint32_t n = f->kept.begin;

	for (uint32_t i = f->kept.begin; i != f->kept.end; i++)
		if (kept_at(f, i)->nodeid != 0)
			*kept_at(f, n++) = *kept_at(f, i);
	f->kept.end = n;
}

void client_kept_files_close(struct fuse_client *f)
{
	while (f->kept.begin != f->kept.end)
		kept_drop_oldest(f, 0);
}

void client_kept_files_stop(struct fuse_client *f, uint64_t now_ns)
{
	client_kept_files_close(f);
	f->kept.stopped_until_ns = now_ns + KEPT_STOP_NS;
	f->flush_wanted = true;
}

/* ------------------------------------------------------------------ closing */

static struct client_opened_file *opened_of(struct fuse_client *f, const struct client_file *file)
{
	return &f->kept.opened[client_file_index(&f->files, file) % CLIENT_OPENED_FILES];
}

void client_kept_files_opened(struct fuse_client *f, const struct client_slot *s,
			      const struct client_file *file)
{
	const struct client_node *node = s->nodes[0];

	client_cache_lease_drop_newer(&f->cache, node,
				      client_slot_is_resent(s) ? 0 : s->arrived_ns);
	/* If this client has changed the file meanwhile, the change may be newer than the answer.
	 * An open that truncates the file counts as a change as well. */
	if (!kept_is_on(f) || client_slot_is_resent(s) || node->n_changes != s->n_changes ||
	    !client_node_has_stamp(node))
		return;
	*opened_of(f, file) = (struct client_opened_file){.fh = client_file_fh(&f->files, file),
							  .ctime_ns = node->stamp.ctime_ns,
							  .n_changes = node->n_changes};
}

/* Returns whether the server would open the file again: it opened it in this state. */
static bool is_unchanged(const struct client_node *node, uint32_t n_changes, uint64_t ctime_ns)
{
	return client_node_has_stamp(node) && node->stamp.ctime_ns == ctime_ns &&
	       node->n_changes == n_changes;
}

bool client_kept_files_add(struct fuse_client *f, struct client_file *file, uint64_t now_ns)
{
	const struct client_opened_file *o = opened_of(f, file);
	const struct client_node *node = client_node_get(&f->nodes, file->nodeid);

	if (!kept_is_on(f) || f->link != CLIENT_READY || now_ns < f->kept.stopped_until_ns ||
	    file->flags != (CLIENT_FILE_USED | CLIENT_FILE_CACHED) ||
	    (file->open_flags & O_ACCMODE) != O_RDONLY ||
	    file->incarnation != f->server.incarnation || !node ||
	    o->fh != client_file_fh(&f->files, file) ||
	    !is_unchanged(node, o->n_changes, o->ctime_ns))
		return false;
	if (f->kept.end - f->kept.begin == CLIENT_KEPT_FILES_MAX)
		kept_compact(f);
	if (f->kept.end - f->kept.begin == CLIENT_KEPT_FILES_MAX)
		kept_drop_oldest(f, now_ns);
	client_file_keep(&f->files, file);
	*kept_at(f, f->kept.end++) =
		(struct client_kept_file){.nodeid = file->nodeid,
					  .until_ns = now_ns + KEPT_NS,
					  .file = client_file_index(&f->files, file),
					  .n_changes = o->n_changes,
					  .ctime_ns = o->ctime_ns};
	return true;
}

/* ------------------------------------------------------------------ opening */

/* Returns a kept file that serves this open as well, or NULL if there is none. */
static struct client_kept_file *kept_find(struct fuse_client *f, const struct fuse_in_header *in,
					  const struct client_node *node, uint32_t open_flags)
{
	for (uint32_t i = f->kept.end; i != f->kept.begin; i--) {
		struct client_kept_file *k = kept_at(f, i - 1);
		const struct client_file *file;

		if (k->nodeid != in->nodeid || !is_unchanged(node, k->n_changes, k->ctime_ns))
			continue;
		file = client_file_at(&f->files, k->file);
		if (file->open_flags == open_flags && file->uid == in->uid &&
		    file->gid == in->gid && file->incarnation == f->server.incarnation)
			return k;
	}
	return NULL;
}

/* Opens a file without the server, if a kept file serves. A program that writes the file past the
 * page cache makes the next reader bypass it too, which the answer of the server decides. */
static bool kept_take(struct fuse_client *f, const struct fuse_in_header *in, size_t len,
		      uint64_t now_ns)
{
	struct client_node *node = client_node_get(&f->nodes, in->nodeid);
	struct client_kept_file *k;
	struct client_file *file;
	struct fuse_open_in open;

	if (!node || len < sizeof(*in) + sizeof(open))
		return false;
	if (in->unique & FUSE_PROTO_UNIQUE_RESEND)
		return client_local_open_repeat(f, in, FOPEN_PARALLEL_DIRECT_WRITES);
	if (f->kept.begin == f->kept.end || f->link != CLIENT_READY || node->n_direct > 0 ||
	    client_dispatch_has_pending(f, node) ||
	    !client_cache_is_leased(&f->cache, node, client_clock_refresh(f, now_ns)))
		return false;
	memcpy(&open, f->request + sizeof(*in), sizeof(open));
	k = kept_find(f, in, node, open.flags);
	if (!k)
		return false;
	k->nodeid = 0;
	file = client_file_at(&f->files, k->file);
	client_file_reuse(&f->files, file, client_local_open_id(in));
	*opened_of(f, file) = (struct client_opened_file){.fh = client_file_fh(&f->files, file),
							  .ctime_ns = k->ctime_ns,
							  .n_changes = k->n_changes};
	client_local_open_reply(f, in, file, FOPEN_PARALLEL_DIRECT_WRITES | FOPEN_KEEP_CACHE);
	return true;
}

/* ------------------------------------------------------------------ the stage */

static void kept_flush(struct fuse_client *f, uint64_t now_ns)
{
	const struct client_kept_file *k = kept_at(f, f->kept.begin);

	if (f->kept.begin == f->kept.end || (k->nodeid != 0 && now_ns < k->until_ns))
		return;
	for (; f->kept.begin != f->kept.end; k = kept_at(f, f->kept.begin)) {
		if (k->nodeid != 0 && now_ns + KEPT_BATCH_NS < k->until_ns)
			return;
		kept_drop_oldest(f, now_ns);
	}
}

static uint64_t kept_due(struct fuse_client *f, uint64_t now_ns)
{
	return f->kept.begin != f->kept.end
		       ? client_due_after(kept_at(f, f->kept.begin)->until_ns, now_ns)
		       : UINT64_MAX;
}

const struct client_stage client_kept_files_stage = {
	.is_on = kept_is_on,
	.opcodes = CLIENT_STAGE_OPCODE(FUSE_OPEN),
	.take = kept_take,
	.flush = kept_flush,
	.due = kept_due,
};
