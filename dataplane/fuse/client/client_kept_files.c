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
 * program that has acquired a lock must read what another client has written. */
static bool kept_is_on(const struct fuse_client *f)
{
	return !f->area && !client_locks_wanted(f);
}

static int kept_init(struct fuse_client *f)
{
	struct client_kept_files *k = &f->kept;

	*k = (struct client_kept_files){.stopped_until_ns = 0};
	list_init(&k->by_age);
	list_init(&k->unused);
	for (unsigned i = 0; i < CLIENT_KEPT_CHAINS; i++)
		list_init(&k->by_node[i]);
	for (unsigned i = 0; i < CLIENT_KEPT_FILES_MAX; i++) {
		list_init(&k->items[i].by_node);
		list_add_tail(&k->unused, &k->items[i].by_age);
	}
	return 0;
}

/* Returns the oldest kept file, or NULL if there is none. */
static struct client_kept_file *kept_oldest(struct fuse_client *f)
{
	return list_empty(&f->kept.by_age)
		       ? NULL
		       : list_entry(f->kept.by_age.next, struct client_kept_file, by_age);
}

/* The lower half of a node's number is the index of its record. */
static struct list *kept_chain(struct fuse_client *f, uint64_t nodeid)
{
	return &f->kept.by_node[(uint32_t)nodeid % CLIENT_KEPT_CHAINS];
}

static void kept_forget(struct fuse_client *f, struct client_kept_file *k)
{
	list_del(&k->by_node);
	list_del(&k->by_age);
	list_add_tail(&f->kept.unused, &k->by_age);
}

/* Queues the kept file to be closed at the server. */
static void kept_close(struct fuse_client *f, struct client_kept_file *k, uint64_t now_ns)
{
	if (f->files.n_closing == 0)
		f->closing_ns = now_ns;
	kept_forget(f, k);
	client_file_close(&f->files, client_file_at(&f->files, k->file));
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
	struct client_kept_file *k;

	if (!kept_is_on(f) || f->link != CLIENT_READY || now_ns < f->kept.stopped_until_ns ||
	    file->flags != (CLIENT_FILE_USED | CLIENT_FILE_CACHED) ||
	    (file->open_flags & O_ACCMODE) != O_RDONLY ||
	    file->incarnation != f->server.incarnation || !node ||
	    o->fh != client_file_fh(&f->files, file) ||
	    !is_unchanged(node, o->n_changes, o->ctime_ns))
		return false;
	if (list_empty(&f->kept.unused))
		kept_close(f, kept_oldest(f), now_ns);
	k = list_entry(list_take_first(&f->kept.unused), struct client_kept_file, by_age);
	client_file_keep(&f->files, file);
	k->nodeid = file->nodeid;
	k->until_ns = now_ns + KEPT_NS;
	k->file = client_file_index(&f->files, file);
	k->n_changes = o->n_changes;
	k->ctime_ns = o->ctime_ns;
	list_add_tail(&f->kept.by_age, &k->by_age);
	list_add_after(kept_chain(f, k->nodeid), &k->by_node);
	return true;
}

/* ------------------------------------------------------------------ removed names */

/* Returns the hash of a name in a directory; it is never 0. */
static uint64_t name_hash(const struct fuse_client *f, uint64_t dir, const uint8_t *name,
			  size_t max)
{
	size_t len = strnlen((const char *)name, max);

	return (client_node_hash(&f->nodes, name, (unsigned)len) ^ dir * 0x9e3779b97f4a7c15ULL) | 1;
}

static struct client_kept_name *kept_name(struct fuse_client *f, uint64_t hash)
{
	return &f->kept.names[(hash >> 32) % CLIENT_KEPT_NAMES];
}

void client_kept_files_named(struct fuse_client *f, const struct client_slot *s,
			     const struct client_node *node)
{
	const size_t at = sizeof(struct fuse_in_header);
	uint64_t hash;

	if (s->opcode != FUSE_LOOKUP || !kept_is_on(f) || at >= s->req_len)
		return;
	hash = name_hash(f, s->refs.nodeids[0], s->req + at, s->req_len - at);
	*kept_name(f, hash) =
		(struct client_kept_name){.hash = hash, .nodeid = client_node_id(&f->nodes, node)};
}

static void close_all(struct fuse_client *f)
{
	struct client_kept_file *k;

	while ((k = kept_oldest(f)))
		kept_close(f, k, 0);
}

static void close_node(struct fuse_client *f, uint64_t nodeid)
{
	struct list *chain = kept_chain(f, nodeid), *l, *next;

	for (l = chain->next; l != chain; l = next) {
		struct client_kept_file *k = list_entry(l, struct client_kept_file, by_node);

		next = l->next;
		if (k->nodeid == nodeid)
			kept_close(f, k, 0);
	}
}

/* Closes the file that loses this name. If it is unknown which file has the name, as after a
 * creation, closes all files: the server frees the space of a removed file when that is closed, and
 * the program may need the space or the quota at once. Forgets the name, which may get another
 * file. Returns the offset after the name. */
static size_t name_lost(struct fuse_client *f, const struct client_slot *s, unsigned dir, size_t at)
{
	const size_t max = s->req_len - at;
	const uint64_t hash = name_hash(f, s->refs.nodeids[dir], s->req + at, max);
	struct client_kept_name *name = kept_name(f, hash);

	if (name->hash == hash)
		close_node(f, name->nodeid);
	else
		close_all(f);
	if (name->hash == hash)
		name->hash = 0;
	return at + strnlen((const char *)s->req + at, max) + 1;
}

void client_kept_files_removal(struct fuse_client *f, const struct client_slot *s)
{
	size_t at = sizeof(struct fuse_in_header);

	if (s->opcode == FUSE_RENAME)
		at += sizeof(struct fuse_rename_in);
	else if (s->opcode == FUSE_RENAME2)
		at += sizeof(struct fuse_rename2_in);
	else if (s->opcode != FUSE_UNLINK)
		return;
	if (!kept_is_on(f) || at >= s->req_len)
		return;
	at = name_lost(f, s, 0, at);
	/* The old name comes first. A file that has the new name is removed. */
	if (s->opcode != FUSE_UNLINK && at < s->req_len)
		(void)name_lost(f, s, s->refs.n_nodes - 1U, at);
}

/* ------------------------------------------------------------------ a server without room */

void client_kept_files_stop(struct fuse_client *f, uint64_t now_ns)
{
	if (!kept_is_on(f))
		return;
	close_all(f);
	f->closing_ns = 0; /* report all closed files at once */
	f->kept.stopped_until_ns = now_ns + KEPT_STOP_NS;
	f->flush_wanted = true;
}

/* Marks the request as one that the server has received before: it may have left a record in the
 * server's journal, and without the mark the journal would then have two records for one request.
 * The slot does not count as resent: as the server has executed nothing, its answer cannot be an
 * old one. */
static void mark_resent(struct client_slot *s)
{
	struct fuse_in_header h;

	memcpy(&h, s->req, sizeof(h));
	h.unique |= FUSE_PROTO_UNIQUE_RESEND;
	memcpy(s->req, &h, sizeof(h));
}

/* Returns whether the answer ENFILE means that the server has executed nothing. That is unknown for
 * a CREATE that was sent in more than one session: the server may have created the file for the
 * first one, and have no room to open it again for the second. */
static bool executed_nothing(const struct client_slot *s)
{
	switch (s->opcode) {
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return true;
	case FUSE_CREATE:
	case FUSE_TMPFILE:
		return !client_slot_is_resent(s);
	default:
		return false;
	}
}

bool client_kept_files_retry(struct fuse_client *f, struct client_slot *s, uint64_t now_ns)
{
	bool may_free = f->files.n_shut > 0 || f->files.n_dropped != s->n_dropped;

	client_kept_files_stop(f, now_ns);
	if (!kept_is_on(f) || s->answered || s->retry_at != 0 || !may_free || !executed_nothing(s))
		return false;
	/* Wait until the server has closed the files. The sum is not 0, because may_free is set. */
	s->retry_at = f->files.n_dropped + f->files.n_shut;
	if (s->opcode == FUSE_CREATE || s->opcode == FUSE_TMPFILE)
		mark_resent(s);
	client_slot_queue(f, s);
	return true;
}

static int kept_holds(struct fuse_client *f, struct client_slot *s)
{
	return f->files.n_dropped < s->retry_at && f->files.n_shut > 0 ? -ENOMEM : 0;
}

/* ------------------------------------------------------------------ opening */

/* Returns a kept file that serves this open as well, or NULL if there is none. */
static struct client_kept_file *kept_find(struct fuse_client *f, const struct fuse_in_header *in,
					  const struct client_node *node, uint32_t open_flags)
{
	struct list *chain = kept_chain(f, in->nodeid);

	for (struct list *l = chain->next; l != chain; l = l->next) {
		struct client_kept_file *k = list_entry(l, struct client_kept_file, by_node);
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
	if (list_empty(kept_chain(f, in->nodeid)) || f->link != CLIENT_READY ||
	    node->n_direct > 0 || client_dispatch_has_pending(f, node) ||
	    !client_cache_is_leased(&f->cache, node, client_clock_refresh(f, now_ns)))
		return false;
	memcpy(&open, f->request + sizeof(*in), sizeof(open));
	k = kept_find(f, in, node, open.flags);
	if (!k)
		return false;
	kept_forget(f, k);
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
	struct client_kept_file *k = kept_oldest(f);

	if (!k || now_ns < k->until_ns)
		return;
	for (; k && now_ns + KEPT_BATCH_NS >= k->until_ns; k = kept_oldest(f))
		kept_close(f, k, now_ns);
}

static uint64_t kept_due(struct fuse_client *f, uint64_t now_ns)
{
	const struct client_kept_file *k = kept_oldest(f);

	return k ? client_due_after(k->until_ns, now_ns) : UINT64_MAX;
}

const struct client_stage client_kept_files_stage = {
	.is_on = kept_is_on,
	.init = kept_init,
	.opcodes = CLIENT_STAGE_OPCODE(FUSE_OPEN),
	.take = kept_take,
	.holds = kept_holds,
	.flush = kept_flush,
	.due = kept_due,
};
