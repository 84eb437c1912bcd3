/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles local directories. While the server leases the names in a directory to the client, the
 * client opens the directory from its cache, without the server. This is safe as long as the lease
 * lasts: no other client can remove the names, and a directory with names in it cannot be removed.
 * After its removal, a directory is usable only for clients that have it open at the server. So the
 * client opens a local directory at the server before its lease on the names ends, and before it
 * removes the last name itself. It starts early enough for the server to answer: at the latest when
 * the cached entries have become too old to be used.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <string.h>

/* ------------------------------------------------------------------ opening at the server */

/* Returns the open file of the local directory. Returns NULL if the file was closed, or was opened
 * at the server since. */
static const struct client_file *local_dir_file(const struct fuse_client *f,
						const struct client_local_dir *a)
{
	const struct client_file *file = client_file_get(&f->files, a->fh);

	return file && !(file->flags & (CLIENT_FILE_DEAD | CLIENT_FILE_CLOSING)) &&
			       file->incarnation != f->server.incarnation
		       ? file
		       : NULL;
}

static void local_dirs_trim(struct fuse_client *f)
{
	struct client_prefetches *p = &f->prefetch;
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_local_dirs; i++)
		if (local_dir_file(f, &p->local_dirs[i]))
			p->local_dirs[n++] = p->local_dirs[i];
	p->n_local_dirs = n;
}

/* Opens the directory at the server. Returns false if that is not possible now. */
static bool local_dir_reopen(struct fuse_client *f, const struct client_local_dir *a)
{
	uint32_t i = (uint32_t)a->fh;

	return client_internal_is_reopening(f, i) || client_internal_reopen(f, i);
}

/* Opens local directories at the server if it is time to, because the client's leases on their
 * names end soon. */
static void local_dir_flush(struct fuse_client *f, uint64_t now_ns)
{
	struct client_prefetches *p = &f->prefetch;

	if (f->reopen_again && now_ns >= f->retry_ns) {
		f->reopen_again = false;
		f->retry_ns = 0;
		f->flush_wanted = true;
	}
	if (p->n_local_dirs == 0)
		return;
	local_dirs_trim(f);
	for (unsigned i = 0; i < p->n_local_dirs; i++) {
		if (now_ns >= p->local_dirs[i].due_ns &&
		    (f->reopen_again || !local_dir_reopen(f, &p->local_dirs[i])))
			return;
	}
}

static uint64_t local_dir_due(struct fuse_client *f, uint64_t now_ns)
{
	uint64_t due = UINT64_MAX;

	for (unsigned i = 0; i < f->prefetch.n_local_dirs; i++)
		if (f->prefetch.local_dirs[i].due_ns > now_ns)
			due = MIN_OF(due, f->prefetch.local_dirs[i].due_ns);
	return due;
}

static bool removes_name(uint32_t opcode)
{
	return opcode == FUSE_UNLINK || opcode == FUSE_RMDIR || opcode == FUSE_RENAME ||
	       opcode == FUSE_RENAME2;
}

/* Returns whether a removal must wait until the directory is open at the server. If the server
 * cannot open the directory at present, for example because it is out of resources, the client
 * still sends the removal, because it may free such resources. */
static bool names_hold(struct fuse_client *f, const struct client_slot *s)
{
	struct client_prefetches *p = &f->prefetch;
	bool holds = false;

	if (p->n_local_dirs == 0 || !removes_name(s->opcode))
		return false;
	for (unsigned i = 0; i < p->n_local_dirs; i++) {
		struct client_local_dir *a = &p->local_dirs[i];
		const struct client_file *file = local_dir_file(f, a);

		if (!file || file->nodeid != s->refs.nodeids[0] || f->reopen_again)
			continue;
		(void)local_dir_reopen(f, a);
		if (a->n_names > 1)
			a->n_names--;
		else
			holds = true;
	}
	return holds;
}

/* Makes a request wait until the server has opened the local directory that the request uses, or
 * whose last name the request may remove. */
static int local_dir_holds(struct fuse_client *f, struct client_slot *s)
{
	const struct client_file *file =
		s->refs.n_fhs > 0 ? client_file_get(&f->files, s->refs.fhs[0]) : NULL;
	uint32_t i;

	if (!file || file->opened_by == 0 || file->incarnation == f->server.incarnation ||
	    file->flags & CLIENT_FILE_DEAD)
		return names_hold(f, s) ? -ENOMEM : 0;
	i = client_file_index(&f->files, file);
	if (!f->reopen_again && !client_internal_is_reopening(f, i))
		(void)client_internal_reopen(f, i);
	return -ENOMEM;
}

int client_local_dir_error(const struct fuse_client *f, const struct client_slot *s, int error)
{
	const struct client_file *file =
		s->refs.n_fhs > 0 ? client_file_get(&f->files, s->refs.fhs[0]) : NULL;
	bool reads = s->opcode == FUSE_READDIR || s->opcode == FUSE_READDIRPLUS;

	if (error != -ESTALE || !file || file->opened_by == 0 || file->incarnation != 0 ||
	    !(file->flags & CLIENT_FILE_DEAD))
		return error;
	return file->server_fh != 0 ? -(int)file->server_fh : reads ? 0 : -ESTALE;
}

/* ------------------------------------------------------------------ opening */

/* Returns whether the removal of a name in the directory is in flight. If so, the number of names
 * left is unknown. */
static bool is_losing_names(const struct fuse_client *f, const struct client_node *node)
{
	for (unsigned i = 0; f->n_sent > 0 && i < CLIENT_SLOTS - CLIENT_SLOTS_INTERNAL; i++)
		if (f->slots[i].state == CLIENT_SLOT_SENT && f->slots[i].nodes[0] == node &&
		    removes_name(f->slots[i].opcode))
			return true;
	return false;
}

static bool local_dirs_have_room(struct fuse_client *f)
{
	if (f->prefetch.n_local_dirs == CLIENT_LOCAL_DIRS_MAX)
		local_dirs_trim(f);
	return f->prefetch.n_local_dirs < CLIENT_LOCAL_DIRS_MAX;
}

static void local_dir_add(struct fuse_client *f, const struct client_dir_cache *k, uint64_t fh,
			  uint64_t now_ns)
{
	f->prefetch.local_dirs[f->prefetch.n_local_dirs++] = (struct client_local_dir){
		.fh = fh,
		.due_ns = MIN_OF(now_ns + CLIENT_PREFETCH_NS, k->sent_ns + CLIENT_DIR_CACHE_NS),
		.n_names = k->n_names};
}

/* Opens a directory locally, if its cached entries are valid. */
static bool local_dir_take(struct fuse_client *f, const struct fuse_in_header *in, size_t len,
			   uint64_t now_ns)
{
	struct client_file as = {.flags = CLIENT_FILE_DIR}, *file;
	const struct client_dir_cache *k;
	const struct client_node *node;
	struct fuse_open_in open;

	if (len < sizeof(*in) + sizeof(open))
		return false;
	memcpy(&open, f->request + sizeof(*in), sizeof(open));
	if (in->unique & FUSE_PROTO_UNIQUE_RESEND)
		return client_local_open_repeat(f, in, 0);
	node = client_node_get(&f->nodes, in->nodeid);
	now_ns = client_clock_refresh(f, now_ns);
	k = node && f->link == CLIENT_READY ? client_dir_cache_get(f, in->nodeid, node, now_ns)
					    : NULL;
	if (!k || is_losing_names(f, node) || !local_dirs_have_room(f))
		return false;
	as.open_flags = open.flags;
	as.uid = in->uid;
	as.gid = in->gid;
	as.opened_by = client_local_open_id(in);
	as.server_fh = f->server.verifier;
	file = client_file_new(&f->files, client_node_get(&f->nodes, in->nodeid), &as);
	if (!file)
		return false;
	client_prefetch_from_cache(f, k, client_file_fh(&f->files, file), now_ns);
	local_dir_add(f, k, client_file_fh(&f->files, file), now_ns);
	client_local_open_reply(f, in, file, 0);
	return true;
}

/* Only the owner of the mount uses this stage: mount workers get no directory requests. */
static bool local_dir_is_on(const struct fuse_client *f)
{
	return !f->area;
}

const struct client_stage client_local_dir_stage = {
	.is_on = local_dir_is_on,
	.opcodes = CLIENT_STAGE_OPCODE(FUSE_OPENDIR),
	.take = local_dir_take,
	.holds = local_dir_holds,
	.flush = local_dir_flush,
	.due = local_dir_due,
};
