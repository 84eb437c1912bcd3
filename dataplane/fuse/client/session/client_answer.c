/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes answers from the server to the kernel: replaces the server's handles by local nodes and
 * files, and records acknowledged changes before the kernel gets the answer. The server's data are
 * checked before they are used; an answer that the kernel cannot handle becomes EIO.
 */
#include "dataplane/fuse/client/changes/client_changes.h"
#include "dataplane/fuse/client/session/client_session.h"
#include "netcfg/base/log.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* How long the kernel may cache attributes, in seconds. */
#define ATTR_VALID_S 1U

/* Returns which nodes a successful request has changed, as a bit mask: bit 0 for the first node
 * that the request names, bit 1 for the second. */
static unsigned changed_nodes(const struct client_slot *s)
{
	switch (s->opcode) {
	case FUSE_SETATTR:
	case FUSE_SETXATTR:
	case FUSE_REMOVEXATTR:
	case FUSE_FALLOCATE:
	case FUSE_SYMLINK:
	case FUSE_MKNOD:
	case FUSE_MKDIR:
	case FUSE_CREATE:
	case FUSE_UNLINK:
	case FUSE_RMDIR:
	case FUSE_WRITE:
		return 1;
	case FUSE_COPY_FILE_RANGE:
		return 2;
	case FUSE_RENAME:
	case FUSE_RENAME2:
	case FUSE_LINK:
		return 3;
	default:
		return 0;
	}
}

static void note_changes(const struct client_slot *s)
{
	unsigned which = changed_nodes(s);

	for (unsigned i = 0; i < s->refs.n_nodes; i++)
		if (which & 1U << i)
			client_node_changed(s->nodes[i]);
}

/* ------------------------------------------------------------------ entries */

/* Returns the type of file that the request creates; 0: any type. */
static mode_t type_wanted(const struct client_slot *s)
{
	struct fuse_mknod_in mknod;

	switch (s->opcode) {
	case FUSE_MKDIR:
		return S_IFDIR;
	case FUSE_SYMLINK:
		return S_IFLNK;
	case FUSE_CREATE:
	case FUSE_TMPFILE:
		return S_IFREG;
	case FUSE_MKNOD:
		memcpy(&mknod, s->req + sizeof(struct fuse_in_header), sizeof(mknod));
		return mknod.mode & S_IFMT;
	default:
		return 0;
	}
}

/* Caches the attributes of a file that a CREATE request has just made. No other client has changed
 * a new file, and no other request for it is in flight. */
static void created_note(struct fuse_client *f, const struct client_slot *s,
			 const struct client_node *n, const struct fuse_entry_out *entry,
			 bool is_leased)
{
	struct fuse_create_in in;

	if (s->opcode != FUSE_CREATE || !is_leased || client_slot_is_resent(s))
		return;
	memcpy(&in, s->req + sizeof(struct fuse_in_header), sizeof(in));
	if (in.flags & O_EXCL)
		client_cache_mark_created(&f->cache, n, &entry->attr, s->arrived_ns);
}

static int answer_entry(struct fuse_client *f, const struct client_slot *s, struct client_answer *a,
			struct client_node **ret)
{
	struct fuse_entry_out entry;
	mode_t kind = type_wanted(s);
	bool is_leased;
	int r;

	if (a->body_len < sizeof(entry))
		return -EIO;
	memcpy(&entry, a->body, sizeof(entry));
	is_leased = entry.generation & FUSE_PROTO_LEASED;
	if (entry.nodeid == 0 && s->opcode != FUSE_LOOKUP)
		return -EIO;
	if (entry.nodeid != 0 && kind != 0 && (entry.attr.mode & S_IFMT) != kind)
		return -EIO;
	r = client_entry_take(f, s, a, &entry, ret);
	if (r < 0)
		return r;
	if (entry.nodeid == FUSE_ROOT_ID && s->opcode != FUSE_LOOKUP)
		return -EIO;
	if (*ret && s->opcode != FUSE_LOOKUP && s->opcode != FUSE_LINK)
		client_node_changed(*ret);
	if (*ret)
		created_note(f, s, *ret, &entry, is_leased);
	memcpy(a->body, &entry, sizeof(entry));
	return 0;
}

/* ------------------------------------------------------------------ files */

/*
 * Chooses whether the kernel bypasses its page cache for the file. A record that a program appends
 * arrives in one request only if the cache is bypassed, because with the cache each partly written
 * page becomes a separate request. A file that is only written also bypasses the cache, which saves
 * a copy. But the kernel must not keep stale pages of the file, so either all openers of a file
 * bypass the cache, or none does.
 *
 * If a program reads and writes with O_DIRECT, the kernel bypasses the cache in each call, which
 * has costs. The kernel asks for the attributes before it reads data that it has changed, asks for
 * file capabilities before it writes again, and allows only one write at a time. A file with
 * FOPEN_DIRECT_IO from the beginning has none of these costs. A program that only reads or only
 * writes with O_DIRECT may instead have several requests of one call in flight.
 *
 * With cluster locks, all files bypass the cache: a program that has acquired a lock must
 * read what the last program with the lock has written.
 */
static uint32_t fopen_flags_of(const struct fuse_client *f, const struct client_node *node,
			       uint32_t open_flags)
{
	uint32_t mode = open_flags & O_ACCMODE;

	if (open_flags & O_APPEND || client_locks_wanted(f))
		return FOPEN_PARALLEL_DIRECT_WRITES | FOPEN_DIRECT_IO;
	if (!(f->state.head->kernel & CLIENT_KERNEL_DIRECT_MMAP))
		return FOPEN_PARALLEL_DIRECT_WRITES;
	if (open_flags & O_DIRECT)
		return FOPEN_PARALLEL_DIRECT_WRITES |
		       (mode == O_RDWR && node->n_cached == 0 ? FOPEN_DIRECT_IO : 0);
	if (node->n_direct > 0 || (mode == O_WRONLY && node->n_cached == 0))
		return FOPEN_DIRECT_IO;
	return FOPEN_PARALLEL_DIRECT_WRITES;
}

/* Returns whether the node must count this file as using the page cache (CLIENT_FILE_CACHED) or as
 * bypassing it (CLIENT_FILE_DIRECT). */
static uint32_t file_mode(uint32_t open_flags, uint32_t fopen_flags)
{
	if (open_flags & O_APPEND)
		return 0;
	if (fopen_flags & FOPEN_DIRECT_IO)
		return CLIENT_FILE_DIRECT;
	return open_flags & O_DIRECT ? 0 : CLIENT_FILE_CACHED;
}

static int file_take(struct fuse_client *f, const struct client_slot *s, uint8_t *at,
		     struct client_node *node, uint32_t open_flags, uint32_t fopen_flags,
		     struct client_file **ret)
{
	struct fuse_in_header in;
	struct fuse_open_out out;
	struct client_file as = {.flags = s->opcode == FUSE_OPENDIR
						  ? CLIENT_FILE_DIR
						  : file_mode(open_flags, fopen_flags)};
	struct client_file *file;

	memcpy(&in, s->req, sizeof(in));
	memcpy(&out, at, sizeof(out));
	as.server_fh = out.fh;
	as.incarnation = f->server.incarnation;
	as.open_flags = open_flags;
	as.uid = in.uid;
	as.gid = in.gid;
	file = client_slot_is_resent(s)
		       ? client_file_of_server_fh(&f->files, out.fh, as.incarnation)
		       : NULL;
	/* This OPEN was sent twice, and the first answer has created the file's record. Keep the
	 * choice that was made then between using and bypassing the page cache. */
	if (file && !(open_flags & O_APPEND))
		fopen_flags = file->flags & CLIENT_FILE_DIRECT ? fopen_flags | FOPEN_DIRECT_IO
							       : fopen_flags & ~FOPEN_DIRECT_IO;
	if (!file)
		file = client_file_new(&f->files, node, &as);
	if (!file)
		return -ENOMEM;
	out = (struct fuse_open_out){.fh = client_file_fh(&f->files, file),
				     .open_flags = fopen_flags};
	memcpy(at, &out, sizeof(out));
	*ret = file;
	return 0;
}

static int answer_create(struct fuse_client *f, const struct client_slot *s,
			 struct client_answer *a, struct client_node **ret_node,
			 struct client_file **ret_file)
{
	struct fuse_create_in create;
	int r;

	if (a->body_len != sizeof(struct fuse_entry_out) + sizeof(struct fuse_open_out))
		return -EIO;
	memcpy(&create, s->req + sizeof(struct fuse_in_header), sizeof(create));
	r = answer_entry(f, s, a, ret_node);
	if (r < 0)
		return r;
	return file_take(f, s, a->body + sizeof(struct fuse_entry_out), *ret_node, create.flags,
			 fopen_flags_of(f, *ret_node, create.flags), ret_file);
}

/* Handles the answer to an open. For close-to-open consistency, the kernel may keep its cached
 * pages only if the file has not changed since they were read, except through this client. */
static int answer_open(struct fuse_client *f, const struct client_slot *s, struct client_answer *a,
		       struct client_file **ret)
{
	struct client_stamp now = {.size = UINT64_MAX};
	struct fuse_open_in open;
	uint32_t flags = 0;
	int r;

	if (a->body_len != sizeof(struct fuse_open_out) &&
	    (s->opcode != FUSE_OPENDIR || !a->is_end || a->body_len < sizeof(struct fuse_open_out)))
		return -EIO;
	memcpy(&open, s->req + sizeof(struct fuse_in_header), sizeof(open));
	if (open.flags & O_TRUNC)
		client_node_changed(s->nodes[0]);
	if (s->opcode == FUSE_OPEN && !(s->nodes[0]->flags & CLIENT_NODE_SPECIAL)) {
		flags = fopen_flags_of(f, s->nodes[0], open.flags);
		if (a->has_attr)
			now = client_stamp_of(&a->attr);
		if (now.size != UINT64_MAX && memcmp(&now, &s->nodes[0]->stamp, sizeof(now)) == 0)
			flags |= FOPEN_KEEP_CACHE;
		s->nodes[0]->stamp = now;
	}
	r = file_take(f, s, a->body, s->nodes[0], open.flags, flags, ret);
	if (r == 0 && s->opcode == FUSE_OPEN)
		client_kept_files_opened(f, s, *ret);
	if (r == 0 && a->is_end)
		r = client_prefetch_take(f, s, a, client_file_fh(&f->files, *ret));
	else if (r == 0 && s->opcode == FUSE_OPENDIR)
		client_prefetch_none(f, s);
	return r;
}

/* ------------------------------------------------------------------ other answers */

/* Checks the entries of a READDIRPLUS answer. One bad entry makes the whole answer invalid, because
 * the kernel would stop there and not count the lookups of the entries after it. */
static int dir_check(const struct client_answer *a)
{
	size_t off = 0, at;
	bool special;
	int r;

	do
		r = client_direntplus_next(a->body, a->body_len, &off, &at, &special);
	while (r > 0);
	return r < 0 ? -EIO : 0;
}

static int answer_dirplus(struct fuse_client *f, const struct client_slot *s,
			  struct client_answer *a)
{
	size_t off = 0, at;
	bool special;

	if (dir_check(a) < 0)
		return -EIO;
	while (client_direntplus_next(a->body, a->body_len, &off, &at, &special) > 0) {
		struct fuse_entry_out entry;
		struct client_handle skipped;
		struct client_node *node = NULL;

		memcpy(&entry, a->body + at, sizeof(entry));
		/* The kernel gets only the name for "." and "..", and for entries with invalid
		 * attributes: it makes no node for them and counts no lookup. */
		if (entry.nodeid != 0 && (special || !client_attr_is_valid(&entry.attr))) {
			(void)client_answer_handle(a, &skipped);
			entry.nodeid = 0;
		}
		if (client_entry_take(f, s, a, &entry, &node) < 0)
			entry.nodeid = 0;
		if (entry.nodeid == FUSE_ROOT_ID)
			entry.nodeid = 0;
		if (entry.nodeid != 0)
			client_shown_note(f, entry.nodeid);
		memcpy(a->body + at, &entry, sizeof(entry));
	}
	return 0;
}

static int answer_attr(struct fuse_client *f, const struct client_slot *s,
		       const struct client_answer *a)
{
	struct fuse_attr_out out;

	if (a->body_len != sizeof(out))
		return -EIO;
	memcpy(&out, a->body, sizeof(out));
	if (!client_attr_is_valid(&out.attr))
		return -EIO;
	client_node_seen(s->nodes[0], &out.attr);
	client_cache_no_xattrs_set(&f->cache, s->nodes[0],
				   out.dummy & FUSE_PROTO_NO_XATTRS && !client_slot_is_resent(s),
				   s->arrived_ns);
	out.dummy = 0;
	out.attr_valid = ATTR_VALID_S;
	out.attr_valid_nsec = 0;
	memcpy(a->body, &out, sizeof(out));
	return 0;
}

/* Handles the answer to a WRITE or COPY_FILE_RANGE. Checks the byte count, because kernels trust
 * it. A synchronous write does not count as an unsynced change, because its data cannot be lost any
 * more. Returns 0 or -EIO. */
static int answer_write(const struct client_slot *s, const struct client_answer *a)
{
	struct fuse_copy_file_range_in copy;
	struct fuse_write_in write;
	struct fuse_write_out out;
	uint64_t asked;
	bool synced = false;

	if (a->body_len != sizeof(out))
		return -EIO;
	memcpy(&out, a->body, sizeof(out));
	if (s->opcode == FUSE_WRITE) {
		memcpy(&write, s->req + sizeof(struct fuse_in_header), sizeof(write));
		asked = write.size;
		synced = write.flags & O_DSYNC;
	} else {
		memcpy(&copy, s->req + sizeof(struct fuse_in_header), sizeof(copy));
		asked = copy.len;
	}
	if (out.size > asked)
		return -EIO;
	if (synced)
		client_node_unstamp(s->nodes[0]);
	else
		note_changes(s);
	return 0;
}

/* Handles the answer to a sync. Returns whether the program must get an error: each opener of the
 * file gets one error if the death of the server's host has lost data. */
static bool answer_sync(struct fuse_client *f, const struct client_slot *s)
{
	struct client_file *file = client_file_get(&f->files, s->refs.fhs[0]);
	struct client_node *node = s->nodes[0];

	/* Changes count as synced only if the client acknowledged no change after it sent the sync.
	 * n_changes does not yet count writes that a mount worker has replied to but not reported,
	 * so check for these as well. */
	if (node->n_changes == s->n_changes && !client_dispatch_has_pending(f, node))
		client_node_synced(node);
	return file && client_node_lost_report(node, &file->lost);
}

/*
 * Caches the attributes of a directory after a name in it has changed, because the kernel asks for
 * them next. They are valid only if this client got no answer to another change of the directory
 * since it sent this request, because the other change may be the later one. Removing or moving a
 * directory changes other directories too, so it drops the attributes of all directories.
 */
static void dir_attr_note(struct fuse_client *f, const struct client_slot *s,
			  const struct client_answer *a, uint32_t n_changes)
{
	switch (s->opcode) {
	case FUSE_RMDIR:
	case FUSE_RENAME:
	case FUSE_RENAME2:
		memset(f->cache.dirs, 0, sizeof(f->cache.dirs));
		break;
	case FUSE_READDIR:
	case FUSE_READDIRPLUS: /* reading a directory changes its access time */
	case FUSE_OPENDIR:
		client_cache_dir_drop(&f->cache, s->nodes[0]);
		break;
	default:
		break;
	}
	if (a->has_dir_attr && n_changes == s->n_changes && !client_slot_is_resent(s) &&
	    S_ISDIR(a->dir_attr.mode) && client_attr_is_valid(&a->dir_attr))
		client_cache_dir_set(&f->cache, s->nodes[0], &a->dir_attr, s->arrived_ns);
}

struct answer_effects { /* the effects of an answer, to be undone if the kernel rejects it */
	struct client_node *node;
	struct client_file *file;
	bool dir;
	bool lost; /* the sync has succeeded, but some of the data was lost before */
};

static int answer_effect(struct fuse_client *f, struct client_slot *s, struct client_answer *a,
			 struct answer_effects *e)
{
	int r;

	switch (s->opcode) {
	case FUSE_WRITE:
		client_cache_created_stale(&f->cache, s->nodes[0]);
		r = answer_write(s, a);
		if (r == 0)
			client_write_back_written(f, s, a);
		return r;
	case FUSE_COPY_FILE_RANGE:
		return answer_write(s, a);
	case FUSE_FSYNC:
	case FUSE_FSYNCDIR:
		e->lost = answer_sync(f, s);
		return 0;
	case FUSE_GETATTR:
		return answer_attr(f, s, a);
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return answer_open(f, s, a, &e->file);
	case FUSE_READDIRPLUS:
		r = answer_dirplus(f, s, a);
		e->dir = r == 0;
		return r;
	default:
		break;
	}
	note_changes(s);
	switch (s->opcode) {
	case FUSE_SETATTR:
		return answer_attr(f, s, a);
	case FUSE_LOOKUP:
	case FUSE_LINK:
	case FUSE_MKDIR:
	case FUSE_MKNOD:
	case FUSE_SYMLINK:
		return a->body_len == sizeof(struct fuse_entry_out)
			       ? answer_entry(f, s, a, &e->node)
			       : -EIO;
	case FUSE_CREATE:
	case FUSE_TMPFILE:
		return answer_create(f, s, a, &e->node, &e->file);
	default:
		return 0;
	}
}

static void answer_undo(struct fuse_client *f, const struct client_answer *a,
			const struct answer_effects *e)
{
	if (e->file)
		client_file_close(&f->files, e->file);
	if (e->node)
		client_node_forget(&f->nodes, e->node, 1);
	if (e->dir)
		client_entries_undo(f, a);
}

/* Answers GETATTR for an unlinked pipe, socket or device that a program still has open: the server
 * no longer knows it, so the attributes come from the node's record. Returns true if it has
 * answered. */
static bool answer_recall(struct fuse_client *f, struct client_slot *s, int error)
{
	struct {
		struct fuse_out_header out;
		struct fuse_attr_out attr;
	} reply = {.out = {.len = sizeof(reply), .unique = s->unique}};

	if (error != -ESTALE || s->opcode != FUSE_GETATTR || s->answered ||
	    !client_node_recall(s->nodes[0], &reply.attr.attr))
		return false;
	if (client_reply(f, &reply, sizeof(reply)))
		client_slot_note_latency(f, s);
	client_slot_free(f, s);
	return true;
}

static void bad_answer(struct fuse_client *f, struct client_slot *s, int error)
{
	if (f->bad_responses++ == 0)
		log_warning("%s: the server sent an invalid answer to FUSE opcode %u: %s",
			    f->mount->path, s->opcode, strerror(-error));
	launch_stat_add(&f->stats->request_errors, 1);
	client_slot_fail(f, s, error);
}

/* After an empty answer to READ, the kernel takes the offset of the request as the size of the
 * file, but the file may be smaller. This notification invalidates the size. It must follow the
 * answer: if it were sent first, the kernel would keep the wrong size and fill the gap with
 * zeros. */
static void invalidate_size(struct fuse_client *f, const struct client_slot *s)
{
	struct fuse_read_in read;
	struct {
		struct fuse_out_header out;
		struct fuse_notify_inval_inode_out inval;
	} notice = {.out = {.len = sizeof(notice), .error = FUSE_NOTIFY_INVAL_INODE},
		    .inval = {.ino = s->refs.nodeids[0],
			      .off = -1}}; /* invalidates only attributes, so the kernel does not
					      wait for locked pages */

	memcpy(&read, s->req + sizeof(struct fuse_in_header), sizeof(read));
	if (read.offset > 0)
		(void)client_reply(f, &notice, sizeof(notice));
}

/* Caches the offset at which the directory ends, unless this client has changed the directory since
 * it sent the request. */
static void dir_end_note(struct fuse_client *f, const struct client_slot *s,
			 const struct client_answer *a)
{
	uint64_t off;

	if (a->is_end && (s->opcode == FUSE_READDIR || s->opcode == FUSE_READDIRPLUS) &&
	    s->n_changes == s->nodes[0]->n_changes && !client_slot_is_resent(s) &&
	    client_dirents_end(a->body, a->body_len, s->opcode == FUSE_READDIRPLUS, &off))
		client_cache_dir_end_set(&f->cache, s->nodes[0], s->refs.fhs[0], off,
					 s->arrived_ns);
}

/*
 * For each node that the answer shows or has changed, records that the kernel now knows newer
 * attributes than those in prefetched entries. A renamed object may be a directory; the prefetched
 * entries of that directory also contain its parent.
 */
static void shown_note(struct fuse_client *f, const struct client_slot *s)
{
	if (s->opcode == FUSE_OPENDIR || s->opcode == FUSE_READDIR ||
	    s->opcode == FUSE_READDIRPLUS) /* the answer has no attributes of the directory
					      itself */
		return;
	if (s->opcode == FUSE_RENAME || s->opcode == FUSE_RENAME2)
		client_shown_note_all(f);
	for (unsigned i = 0; i < s->refs.n_nodes; i++) {
		client_shown_note(f, s->refs.nodeids[i]);
		/* Even a failed request may have been executed in part, so drop the cached
		 * names. */
		if (changed_nodes(s)) {
			client_dir_cache_drop(f, s->refs.nodeids[i]);
			client_cache_lease_drop(&f->cache, s->nodes[i]);
		}
		if (s->opcode != FUSE_GETXATTR)
			client_cache_kernel_valid_drop(&f->cache, s->nodes[i]);
	}
}

/*
 * Drops the file's attributes that the client cached from answers to WRITEs. The server may execute
 * requests in another order than the client receives their answers. So after any request that shows
 * or changes the file, the client cannot tell which attributes are newest. Removals and renames may
 * change a file that they do not name by node. Returns true if no other answer has dropped the
 * file's attributes since the client received this request.
 */
static bool written_drop(struct fuse_client *f, const struct client_slot *s)
{
	bool last =
		s->nodes[0] && s->n_written == client_cache_written_count(&f->cache, s->nodes[0]);

	switch (s->opcode) {
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR:
	case FUSE_LSEEK:
		break;
	case FUSE_UNLINK:
	case FUSE_RENAME:
	case FUSE_RENAME2:
		client_cache_drop_all_written(&f->cache);
		break;
	default:
		for (unsigned i = 0; i < s->refs.n_nodes; i++)
			client_cache_written_drop(&f->cache, s->nodes[i]);
		break;
	}
	return last;
}

static void written_note(struct fuse_client *f, const struct client_slot *s,
			 const struct client_answer *a)
{
	if (s->opcode == FUSE_WRITE && a->has_attr && !client_slot_is_resent(s) &&
	    S_ISREG(a->attr.mode) && client_attr_is_valid(&a->attr))
		client_cache_written_set(&f->cache, s->nodes[0], &a->attr, s->arrived_ns);
}

/* Updates the client's caches and the list of deferred ctimes with the attributes in the answer and
 * with the changes that the request may have made. */
static void answer_note(struct fuse_client *f, const struct client_slot *s,
			const struct client_answer *a, uint32_t n_changes, uint64_t now_ns)
{
	struct fuse_attr_out attr;

	if (s->opcode == FUSE_SETXATTR || s->opcode == FUSE_REMOVEXATTR)
		client_cache_no_xattrs_drop(&f->cache, s->nodes[0], now_ns);
	for (unsigned i = 0; i < s->refs.n_nodes && a->out.error != 0; i++)
		/* The request may have been executed in part. */
		client_cache_created_drop(&f->cache, s->nodes[i]);
	if (a->out.error != 0)
		return;
	client_deferred_ctime_applied(f, s);
	if (s->opcode == FUSE_SETATTR && s->n_changes == n_changes && !client_slot_is_resent(s)) {
		memcpy(&attr, a->body, sizeof(attr));
		client_cache_created_changed(&f->cache, s->nodes[0], &attr.attr);
	}
	dir_attr_note(f, s, a, n_changes);
	dir_end_note(f, s, a);
}

void client_answer_take(struct fuse_client *f, struct client_slot *s, void *msg, size_t len,
			uint64_t now_ns)
{
	struct answer_effects e = {.node = NULL};
	uint32_t n_changes = s->nodes[0] ? s->nodes[0]->n_changes : 0;
	bool last = written_drop(f, s), accepted;
	struct client_answer a;
	int r;

	launch_stat_add(&f->stats->responses, 1);
	shown_note(f, s);
	if (len > s->resp_max || client_answer_read(msg, len, &a) < 0 ||
	    ((a.has_bulk || s->bulk_legs) && client_rdma_take(f, s, &a, &msg) < 0)) {
		bad_answer(f, s, -EIO);
		return;
	}
	if (s->bulk_legs && client_rdma_retry(f, s, &a))
		return;
	if (client_locks_wanted(f) && client_locks_answer(f, s, &a))
		return;
	if (a.out.error == -ENFILE && client_kept_files_retry(f, s, now_ns))
		return;
	a.age_ns = now_ns - s->arrived_ns;
	if (answer_recall(f, s, a.out.error))
		return;
	r = a.out.error == 0 ? answer_effect(f, s, &a, &e) : 0;
	if (r == 0)
		answer_note(f, s, &a, n_changes, now_ns);
	if (r == 0 && last && a.out.error == 0)
		written_note(f, s, &a);
	if (e.node)
		client_shown_note(f, client_node_id(&f->nodes, e.node));
	if (r < 0) {
		answer_undo(f, &a, &e);
		bad_answer(f, s, r);
		return;
	}
	if (e.lost) {
		client_slot_fail(f, s, -EIO);
		return;
	}
	if (s->opcode == FUSE_READ)
		launch_stat_add(&f->stats->read_bytes, a.body_len);
	accepted = client_slot_reply(f, s, msg, a.out.len);
	s->accepted |= accepted;
	if (!accepted)
		answer_undo(f, &a, &e);
	else if (s->opcode == FUSE_READ && a.out.error == 0 && a.body_len == 0)
		invalidate_size(f, s);
	client_slot_free(f, s);
}
