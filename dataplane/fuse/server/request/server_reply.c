/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds replies: the kernel's structures, and the tail with the signed handles of nodes and
 * further parts of the protocol.
 */
#include "dataplane/fuse/server/request/server_reply.h"
#include "dataplane/fuse/server/objects/server_lease.h"
#include "dataplane/fuse/server/objects/server_node.h"
#include "dataplane/fuse/server/objects/server_write_lease.h"
#include "dataplane/fuse/server/request/server_request.h"
#include <string.h>

/* A tail that is being built behind len bytes of data; it may be unaligned. */
struct tail {
	uint8_t *start, *at;
	struct fuse_proto_resp_tail head;
};

static struct tail tail_begin(struct server_req *q, size_t len)
{
	uint8_t *start = server_req_data(q) + len;

	return (struct tail){.start = start, .at = start + sizeof(struct fuse_proto_resp_tail)};
}

static void tail_part(struct tail *t, uint16_t flag, const void *part, size_t len)
{
	memcpy(t->at, part, len);
	t->at += len;
	t->head.flags |= flag;
}

static void tail_handle(struct tail *t, const struct fuse_handle *h)
{
	memcpy(t->at, h, 1U + h->len);
	t->at += 1U + h->len;
	t->head.n_handles++;
}

static size_t tail_end(struct tail *t)
{
	memcpy(t->start, &t->head, sizeof(t->head));
	return (size_t)(t->at - t->start);
}

void server_reply_data(struct server_req *q, size_t len)
{
	server_req_finish(q, 0, len, 0);
}

void server_reply_err(struct server_req *q, int err)
{
	server_req_finish(q, -err, 0, 0);
}

/* Returns FUSE_PROTO_NO_XATTRS if the reply may state that the object has no extended attributes.
 * The reply to a repeated request may not, because its result is that of the first execution. */
static uint32_t no_xattrs_flag(const struct server_req *q, bool no_xattrs)
{
	return no_xattrs && !q->resent ? FUSE_PROTO_NO_XATTRS : 0;
}

/* Writes the entry of an object to *ret, with the protocol's flags in `generation`. The client
 * fills in the timeouts. */
static void entry_fill(struct server_req *q, const struct server_entry *e,
		       struct fuse_entry_out *ret)
{
	*ret = (struct fuse_entry_out){.nodeid = FUSE_ROOT_ID,
				       .generation = no_xattrs_flag(q, e->no_xattrs)};
	server_rights_attr(q, &e->attr, &ret->attr);
	if (server_write_lease_grant_read(q, e->node->handle.bytes, e->node->handle.len, &e->attr))
		ret->generation |= FUSE_PROTO_LEASED;
	if (q->in->opcode == FUSE_MKDIR &&
	    server_lease_empty(q, e->node->handle.bytes, e->node->handle.len))
		ret->generation |= FUSE_PROTO_EMPTY;
}

/* Appends the attributes of the folder after a name in it has changed, because the client's kernel
 * asks for them next. Omits them if only a helper can read them, or if the reply repeats an earlier
 * result, because the folder may have changed since. */
static void tail_folder(struct server_req *q, struct tail *t)
{
	uint32_t opcode = q->in->opcode;
	struct fuse_attr attr, shown;
	struct stat st;
	int fd;

	if (!(q->client->features & FUSE_PROTO_FEATURE_DIR_ATTR) || q->resent ||
	    opcode == FUSE_LOOKUP || opcode == FUSE_TMPFILE)
		return;
	fd = server_req_fd(q, 0);
	if (fd < 0 || fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		return;
	fs_helper_attr(&st, q->mount->export->root_dev, &attr);
	server_rights_attr(q, &attr, &shown);
	tail_part(t, FUSE_PROTO_RESP_DIR_ATTR, &shown, sizeof(shown));
}

void server_reply_entry(struct server_req *q, const struct server_entry *e)
{
	struct tail t = tail_begin(q, sizeof(struct fuse_entry_out));

	entry_fill(q, e, (struct fuse_entry_out *)server_req_data(q));
	tail_folder(q, &t);
	tail_handle(&t, &e->node->handle);
	server_req_finish(q, 0, sizeof(struct fuse_entry_out), tail_end(&t));
}

void server_reply_entries(struct server_req *q, size_t len, const uint8_t *handles,
			  size_t handles_len, unsigned n, uint16_t flags)
{
	struct tail t = tail_begin(q, len);

	if (n > 0) {
		t.head.n_handles = (uint16_t)n;
		memcpy(t.at, handles, handles_len);
		t.at += handles_len;
	}
	/* The flags need a tail, so add them only if there is space for one. */
	if (q->client->features & FUSE_PROTO_FEATURE_END &&
	    (n > 0 || len + sizeof(t.head) <= q->out_max))
		t.head.flags = flags;
	server_req_finish(q, 0, len, n > 0 || t.head.flags ? tail_end(&t) : 0);
}

void server_reply_names(struct server_req *q)
{
	struct tail t = tail_begin(q, 0);

	tail_folder(q, &t);
	server_req_finish(q, 0, 0, t.head.flags ? tail_end(&t) : 0);
}

void server_reply_attr(struct server_req *q, const struct fuse_attr *attr, bool no_xattrs)
{
	struct fuse_attr_out *out = (void *)server_req_data(q);

	*out = (struct fuse_attr_out){.dummy = no_xattrs_flag(q, no_xattrs)};
	server_rights_attr(q, attr, &out->attr);
	server_req_finish(q, 0, sizeof(struct fuse_attr_out), 0);
}

void server_reply_open(struct server_req *q, const struct server_entry *e,
		       const struct fuse_attr *attr, uint64_t fh)
{
	size_t at = e ? sizeof(struct fuse_entry_out) : 0;
	struct tail t = tail_begin(q, at + sizeof(struct fuse_open_out));
	uint8_t *to = server_req_data(q);
	struct fuse_attr shown;

	if (e) {
		entry_fill(q, e, (struct fuse_entry_out *)to);
		tail_folder(q, &t);
		tail_handle(&t, &e->node->handle);
	}
	if (attr) {
		server_rights_attr(q, attr, &shown);
		tail_part(&t, FUSE_PROTO_RESP_ATTR, &shown, sizeof(shown));
	}
	*(struct fuse_open_out *)(to + at) = (struct fuse_open_out){.fh = fh};
	server_req_finish(q, 0, at + sizeof(struct fuse_open_out), e || attr ? tail_end(&t) : 0);
}

static size_t tail_bulk(struct server_req *q, size_t len, const struct fuse_proto_bulk_done *done)
{
	struct tail t = tail_begin(q, len);

	tail_part(&t, FUSE_PROTO_RESP_BULK, done, sizeof(*done));
	return tail_end(&t);
}

void server_reply_write(struct server_req *q, uint32_t size, const struct fuse_attr *attr)
{
	const struct fuse_proto_bulk_done done = {.failed = q->args.failed};
	struct tail t = tail_begin(q, sizeof(struct fuse_write_out));
	struct fuse_attr shown;

	*(struct fuse_write_out *)server_req_data(q) = (struct fuse_write_out){
		.size = size,
		.padding = size > 0 ? server_write_lease_take(q) : 0,
	};
	if (attr && q->args.flags & FUSE_PROTO_REQ_ATTR && !q->resent) {
		server_rights_attr(q, attr, &shown);
		tail_part(&t, FUSE_PROTO_RESP_ATTR, &shown, sizeof(shown));
	}
	if (q->args.failed)
		tail_part(&t, FUSE_PROTO_RESP_BULK, &done, sizeof(done));
	server_req_finish(q, 0, sizeof(struct fuse_write_out), t.head.flags ? tail_end(&t) : 0);
}

void server_reply_bulk(struct server_req *q, uint32_t len, uint32_t there, uint8_t failed)
{
	const struct fuse_proto_bulk_done done = {.len = there, .failed = failed};
	size_t in_answer = there > 0 ? 0 : len;

	server_req_finish(q, 0, in_answer, tail_bulk(q, in_answer, &done));
}

void server_reply_retry(struct server_req *q, uint8_t failed)
{
	const struct fuse_proto_bulk_done done = {.failed = failed, .again = 1};

	server_req_finish(q, 0, 0, tail_bulk(q, 0, &done));
}

void server_reply_lock(struct server_req *q, bool unlocked)
{
	struct tail t = tail_begin(q, 0);

	if (unlocked)
		t.head.flags = FUSE_PROTO_RESP_UNLOCKED;
	server_req_finish(q, 0, 0, unlocked ? tail_end(&t) : 0);
}

void server_reply_init(struct server_req *q)
{
	const struct fuse_init_in *in = server_req_arg(q);
	const struct server_export *e = q->mount->export;
	/* A client that was away for so long that its files were closed gets another incarnation
	 * number. So it opens its files again, as after a restart of this process. */
	uint64_t incarnation = q->client->server->incarnation + q->mount->n_drops;
	struct fuse_proto_server server = {.incarnation = MAX_OF(incarnation, 1UL),
					   .verifier = e->verifier};
	struct fuse_init_out *out = (void *)server_req_data(q);
	struct tail t = tail_begin(q, sizeof(*out));

	*out = (struct fuse_init_out){
		.major = FUSE_PROTO_MAJOR,
		.minor = in->minor,
		.max_readahead = in->max_readahead,
		.flags = in->flags,
		.flags2 = in->flags2,
		.max_background = FUSE_PROTO_MAX_BACKGROUND,
		.max_write = FUSE_PROTO_MAX_WRITE,
		.max_pages = FUSE_PROTO_MAX_PAGES,
		.unused = {q->client->features},
	};
	if (q->client->features & FUSE_PROTO_FEATURE_LOCKS) {
		out->unused[FUSE_PROTO_INIT_EPOCH] = (uint32_t)q->mount->locks.epoch;
		out->unused[FUSE_PROTO_INIT_EPOCH + 1] = (uint32_t)(q->mount->locks.epoch >> 32);
		out->unused[FUSE_PROTO_INIT_RECLAIM] = q->mount->locks.reclaims;
	}
	tail_part(&t, FUSE_PROTO_RESP_SERVER, &server, sizeof(server));
	tail_handle(&t, &e->root->handle);
	server_req_finish(q, 0, sizeof(*out), tail_end(&t));
}
