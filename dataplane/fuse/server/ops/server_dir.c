/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Directory requests: converts the entries that an I/O helper has read into FUSE entries, for
 * replies to READDIR and READDIRPLUS, and for the listing in a reply to OPENDIR. Offsets in
 * directories are cookies of the file system, so they are passed on unchanged.
 */
#include "dataplane/fuse/server/objects/server_lease.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/objects/server_write_lease.h"
#include "dataplane/fuse/server/ops/server_ops.h"
#include "dataplane/fuse/server/request/server_fair.h"
#include "dataplane/fuse/server/request/server_helper.h"
#include "dataplane/fuse/server/request/server_reply.h"
#include "dataplane/fuse/server/request/server_request.h"
#include "dataplane/fuse/server/request/server_steps.h"
#include <dirent.h>
#include <limits.h>
#include <string.h>

#define DIR_BYTES_MAX (60U << 10) /* maximum number of bytes that a helper reads at once */

/* A reply under construction. */
struct dir_answer {
	const struct server_node *dir;
	size_t pos; /* position in the entries that the helper has read */
	bool full;  /* an entry did not fit into the reply */
	uint8_t *at;
	size_t room;
	uint8_t *handles, *handle_at;
	unsigned n_handles;
};

/* Writes the entry of one name to *out. If the object has a handle, appends the handle at
 * a->handle_at, because handles follow the data in the reply. */
static void entry_fill(struct server_req *q, const struct helper_dirent *de, const char *name,
		       struct dir_answer *a, struct fuse_entry_out *out)
{
	const uint8_t *handle = (const uint8_t *)name + de->name_len;

	*out = (struct fuse_entry_out){.generation = de->no_xattrs ? FUSE_PROTO_NO_XATTRS : 0,
				       .attr = {.ino = de->ino, .mode = DTTOIF(de->type)}};
	if (de->has_attr)
		server_rights_attr(q, &de->attr, &out->attr);
	/* Return only the name of an object without a file handle, and of a file to which another
	 * client has acknowledged writes that are not here yet. The client looks the name up when
	 * it needs the object. */
	if (de->handle_len == 0 || server_write_lease_hides(q, handle, de->handle_len))
		return;
	out->nodeid = FUSE_ROOT_ID;
	if (de->has_attr && server_write_lease_grant_read(q, handle, de->handle_len, &de->attr))
		out->generation |= FUSE_PROTO_LEASED;
	*a->handle_at = de->handle_len;
	memcpy(a->handle_at + 1, handle, de->handle_len);
	a->handle_at += 1U + de->handle_len;
	a->n_handles++;
}

/* Adds one entry to the reply. Returns false if it does not fit. */
static bool dir_add(struct server_req *q, const struct helper_dirent *de, bool plus,
		    struct dir_answer *a)
{
	const struct server_export *e = q->mount->export;
	size_t head = plus ? sizeof(struct fuse_entry_out) : 0;
	size_t need = FUSE_DIRENT_ALIGN(head + FUSE_NAME_OFFSET + de->name_len);
	struct fuse_dirent *out = (void *)(a->at + head);
	const char *name = (const char *)(de + 1);

	if (need > a->room)
		return false;
	memset(a->at, 0, need);
	if (plus)
		entry_fill(q, de, name, a, (void *)a->at);
	*out = (struct fuse_dirent){
		.ino = de->ino,
		.off = de->off,
		.namelen = de->name_len,
		.type = de->type,
	};
	if (a->dir == e->root && de->name_len == 2 && memcmp(name, "..", 2) == 0)
		out->ino = e->root_ino;
	memcpy(out->name, name, de->name_len);
	a->at += need;
	a->room -= need;
	return true;
}

/* Converts up to `most` of the entries that the helper has read, as far as they fit. Returns true
 * if the reply is complete. */
static bool dir_fill(struct server_req *q, size_t count, bool plus, unsigned most,
		     struct dir_answer *a)
{
	while (a->pos + sizeof(struct helper_dirent) <= count && !a->full && most-- > 0) {
		const struct helper_dirent *de = (const void *)((uint8_t *)q->temp + a->pos);

		a->full = !dir_add(q, de, plus, a);
		if (!a->full)
			a->pos += HELPER_DIRENT_BYTES(de->name_len, de->handle_len);
	}
	return a->full || a->pos + sizeof(struct helper_dirent) > count;
}

static uint8_t *handles_of(const struct server_req *q)
{
	return (uint8_t *)q->temp + q->temp_bytes / 2;
}

static void listing_step(struct server_req *q)
{
	const struct fuse_read_in *in = server_req_arg(q);
	bool plus = q->in->opcode == FUSE_READDIRPLUS;
	size_t most = plus ? MIN_OF(in->size, FUSE_PROTO_DIRPLUS_MAX) : in->size;
	struct dir_answer a = {
		.dir = q->file->node,
		.pos = q->listing.pos,
		.at = server_req_data(q) + q->listing.filled,
		.room = most - q->listing.filled,
		.handles = handles_of(q),
		.handle_at = handles_of(q) + q->listing.handles_len,
		.n_handles = q->listing.n_handles,
	};
	bool end = dir_fill(q, q->listing.count, plus,
			    server_steps_wanted(q) ? SERVER_STEP_ENTRIES : UINT_MAX, &a);

	q->listing.pos = (uint32_t)a.pos;
	q->listing.filled = (uint32_t)(a.at - server_req_data(q));
	q->listing.handles_len = (uint32_t)(a.handle_at - a.handles);
	q->listing.n_handles = (uint16_t)a.n_handles;
	if (!end)
		server_steps_add(q, listing_step);
	else
		server_reply_entries(q, q->listing.filled, a.handles, q->listing.handles_len,
				     a.n_handles,
				     q->listing.is_last && !a.full ? FUSE_PROTO_RESP_END : 0);
}

static void read_then(struct server_req *q, const struct helper_result *r, int fd)
{
	q->listing.count = (uint32_t)r->count;
	q->listing.is_last = r->flags & HELPER_RESULT_END;
	listing_step(q);
}

/* ------------------------------------------------------------------ listing in the answer to
 * OPENDIR */

static uint32_t list_wanted(const struct server_req *q)
{
	const struct fuse_open_in *in = server_req_arg(q);

	if (q->in->opcode != FUSE_OPENDIR || q->resent || q->args.flags & FUSE_PROTO_REQ_REOPEN ||
	    !(q->client->features & FUSE_PROTO_FEATURE_LIST))
		return 0;
	return MIN_OF(in->open_flags, FUSE_PROTO_LIST_MAX);
}

bool server_dir_lists(const struct server_req *q)
{
	return list_wanted(q) > 0;
}

void server_dir_list_ask(struct server_req *q, struct helper_call *call)
{
	q->temp_bytes = MIN_OF(2 * list_wanted(q), DIR_BYTES_MAX) * 2;
	q->temp = q->temp ? q->temp : buf_pool_get(&q->client->server->answers, q->temp_bytes);
	if (!q->temp) /* no buffer is free: open the directory without a listing, because the client
			 can still send READDIR */
		return;
	call->data = q->temp;
	call->data_size = q->temp_bytes / 2;
}

void server_dir_reply_open(struct server_req *q, const struct server_node *n, uint64_t fh)
{
	struct fuse_open_out *out = (void *)server_req_data(q);
	struct dir_answer a = {.dir = n, .at = (uint8_t *)(out + 1), .room = list_wanted(q)};
	bool all;

	*out = (struct fuse_open_out){.fh = fh};
	if (q->list_bytes > 0)
		a.handles = a.handle_at = handles_of(q);
	all = q->list_bytes > 0 && dir_fill(q, q->list_bytes, true, UINT_MAX, &a) && !a.full;
	if (!all)
		server_reply_open(q, NULL, NULL, fh);
	else
		server_reply_entries(q, (size_t)(a.at - server_req_data(q)), a.handles,
				     (size_t)(a.handle_at - a.handles), a.n_handles,
				     FUSE_PROTO_RESP_END |
					     (server_lease_names(q) ? FUSE_PROTO_RESP_NAMES : 0));
}

/* ------------------------------------------------------------------ reading */

/* Makes a helper read entries into the first half of a buffer. The handles for the reply are later
 * collected in the second half. */
static void dir_read(struct server_req *q, enum helper_op op)
{
	const struct fuse_read_in *in = server_req_arg(q);
	struct fuse_server *srv = q->client->server;
	struct helper_call *call;
	struct server_file *f;

	if (server_file_get(q, 0, in->fh, true, &f) < 0) {
		server_reply_err(q, EBADF);
		return;
	}
	/* Get the call before the buffer. The number of calls of each host is limited, so the
	 * number of its buffers is limited too. */
	call = server_helper_call(q, op, 0);
	if (!call)
		return;
	q->temp_bytes = MIN_OF(2 * MAX_OF(in->size, 4096U), DIR_BYTES_MAX) * 2;
	q->temp = q->temp ? q->temp : buf_pool_get(&srv->answers, q->temp_bytes);
	if (!q->temp) {
		server_helper_drop(q, call);
		server_req_requeue(q);
		return;
	}
	server_helper_use_file(q, &call->a, f);
	call->offset = in->offset;
	call->data = q->temp;
	call->data_size = q->temp_bytes / 2;
	server_helper_submit(q, call, server_fair_listings(q), false, read_then);
}

void server_op_readdir(struct server_req *q)
{
	dir_read(q, HELPER_READDIR);
}

void server_op_readdirplus(struct server_req *q)
{
	dir_read(q, HELPER_READDIRPLUS);
}
