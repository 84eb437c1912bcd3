/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prepares the kernel's requests for the server, by replacing the kernel's node and file numbers by
 * the server's handles. Answers those requests itself that need only the client's tables.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <string.h>

/* Copies the struct that follows the header. Returns false if the request is too short for it. */
static bool request_arg(const void *req, size_t len, void *ret, size_t size)
{
	if (len < sizeof(struct fuse_in_header) + size)
		return false;
	memcpy(ret, (const uint8_t *)req + sizeof(struct fuse_in_header), size);
	return true;
}

/* Returns how many bytes of data the request asks for; 0 if its opcode has no size field. */
static uint32_t request_size(struct client_slot *s)
{
	const size_t read_at = sizeof(struct fuse_in_header) + offsetof(struct fuse_read_in, size);
	struct fuse_read_in read = {0};
	struct fuse_getxattr_in xattr = {0};
	struct fuse_open_in open = {0};

	switch (s->opcode) {
	case FUSE_OPENDIR:
		(void)request_arg(s->req, s->req_len, &open, sizeof(open));
		return open.open_flags;
	case FUSE_READDIRPLUS: /* limit the size, because the server's answer also needs space for
				  the handles */
		(void)request_arg(s->req, s->req_len, &read, sizeof(read));
		read.size = MIN_OF(read.size, FUSE_PROTO_DIRPLUS_MAX);
		memcpy(s->req + read_at, &read.size, sizeof(read.size));
		return read.size;
	case FUSE_READ:
	case FUSE_READDIR:
		(void)request_arg(s->req, s->req_len, &read, sizeof(read));
		return read.size;
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR:
		(void)request_arg(s->req, s->req_len, &xattr, sizeof(xattr));
		return xattr.size;
	default:
		return 0;
	}
}

/* Returns the offset, in the request, of the name that the request creates; 0 if it creates no
 * name. */
static size_t name_made_at(uint32_t opcode)
{
	const size_t in = sizeof(struct fuse_in_header);

	switch (opcode) {
	case FUSE_SYMLINK:
		return in;
	case FUSE_MKNOD:
		return in + sizeof(struct fuse_mknod_in);
	case FUSE_MKDIR:
		return in + sizeof(struct fuse_mkdir_in);
	case FUSE_CREATE:
		return in + sizeof(struct fuse_create_in);
	case FUSE_LINK:
		return in + sizeof(struct fuse_link_in);
	case FUSE_RENAME:
		return in + sizeof(struct fuse_rename_in);
	case FUSE_RENAME2:
		return in + sizeof(struct fuse_rename2_in);
	default:
		return 0;
	}
}

static void name_note(struct fuse_client *f, const struct client_slot *s)
{
	bool moves = s->opcode == FUSE_RENAME || s->opcode == FUSE_RENAME2;
	const char *req = (const char *)s->req;
	size_t at = name_made_at(s->opcode);

	if (at == 0)
		return;
	if (moves) /* a RENAME has two names; the second is the one that it creates */
		at += strnlen(req + at, s->req_len - at) + 1;
	if (at < s->req_len)
		client_cache_name_created(&f->cache, s->nodes[moves ? 1 : 0], req + at,
					  strnlen(req + at, s->req_len - at));
}

int client_request_bind(struct fuse_client *f, struct client_slot *s)
{
	struct fuse_in_header in;
	int r;

	memcpy(&in, s->req, sizeof(in));
	s->opcode = in.opcode;
	s->unique = in.unique;
	s->pid = in.pid;
	r = client_refs_read(s->req, s->req_len, &s->refs);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < s->refs.n_nodes; i++) {
		struct client_node *node = client_node_get(&f->nodes, s->refs.nodeids[i]);

		if (!node)
			return -ESTALE;
		client_node_pin(node);
		s->nodes[i] = node;
	}
	for (unsigned i = 0; i < s->refs.n_fhs; i++) {
		const struct client_file *file = client_file_get(&f->files, s->refs.fhs[i]);

		if (!file || file->flags & CLIENT_FILE_DEAD)
			return -ESTALE;
		if (client_locks_lost(file, s->opcode))
			return -EIO;
	}
	s->n_shown = f->prefetch.n_shown;
	if (s->opcode == FUSE_OPENDIR)
		client_prefetch_request(
			s, in.unique & FUSE_PROTO_UNIQUE_RESEND
				   ? 0
				   : client_prefetch_bytes(f, in.nodeid, s->arrived_ns));
	s->resp_max = fuse_proto_resp_max(s->opcode, request_size(s));
	name_note(f, s);
	return 0;
}

/* Copies a WRITE, without its data, into the slot's small buffer. */
static uint8_t *request_head(struct client_slot *s, uint32_t len)
{
	memcpy(s->small, s->req, len);
	memcpy(s->small + offsetof(struct fuse_in_header, len), &len, sizeof(len));
	return s->small;
}

/* Returns whether to ask for the file's attributes in the answer to a WRITE. This pays if the file
 * also has a reader that uses the page cache, because the kernel requests the attributes next. */
static bool wants_attr(const struct fuse_client *f, const struct client_slot *s)
{
	const struct client_file *file;

	if (s->opcode != FUSE_WRITE || f->area || !(f->features & FUSE_PROTO_FEATURE_WRITTEN))
		return false;
	file = client_file_get(&f->files, s->refs.fhs[0]);
	return file && file->flags & CLIENT_FILE_CACHED;
}

int client_request_seal(struct fuse_client *f, struct client_slot *s, const void **ret_msg,
			size_t *ret_len)
{
	struct fuse_proto_bulk bulk;
	bool is_bulk = f->rdma.peer && client_rdma_offer(f, s, &bulk);
	uint8_t *msg = s->req;
	uint32_t len = s->req_len;

	struct client_handle handles[CLIENT_REFS_MAX];
	/* Send FUSE_PROTO_REQ_ONLY only to servers that know it, because other servers refuse a
	 * request with an unknown flag. */
	bool only = is_bulk && s->opcode == FUSE_READ && f->rdma.only &&
		    f->features & FUSE_PROTO_FEATURE_ONLY;
	unsigned flags = s->kind == CLIENT_SLOT_REOPEN	     ? FUSE_PROTO_REQ_REOPEN
			 : s->kind == CLIENT_SLOT_WRITE_BACK ? FUSE_PROTO_REQ_HELD
			 : only				     ? FUSE_PROTO_REQ_ONLY
			 : wants_attr(f, s)		     ? FUSE_PROTO_REQ_ATTR
							     : 0;

	if (client_write_back_asks(f, s))
		flags |= FUSE_PROTO_REQ_LEASE;
	for (unsigned i = 0; i < s->refs.n_fhs; i++) {
		const struct client_file *file = client_file_get(&f->files, s->refs.fhs[i]);

		/* Before any other request of a session, the client has reopened each file or
		 * marked it as dead. So a file that is not open at this server is lost. */
		if (!file || file->flags & CLIENT_FILE_DEAD ||
		    file->incarnation != f->server.incarnation)
			return -ESTALE;
		if (client_locks_lost(file, s->opcode))
			return -EIO;
		memcpy(s->req + s->refs.fh_at[i], &file->server_fh, sizeof(file->server_fh));
	}
	s->n_grants = f->locks.n_grants;
	s->n_dropped = f->files.n_dropped;
	for (unsigned i = 0; i < s->refs.n_nodes; i++)
		handles[i] = (struct client_handle){.bytes = s->nodes[i]->handle,
						    .len = s->nodes[i]->handle_len};
	if (s->nodes[0]) {
		s->n_changes = s->nodes[0]->n_changes;
		s->n_written = client_cache_written_count(&f->cache, s->nodes[0]);
	}
	if (is_bulk && s->opcode == FUSE_WRITE) {
		len = FUSE_PROTO_WRITE_DATA;
		msg = request_head(s, len);
	}
	*ret_msg = msg;
	*ret_len = len + client_tail_write(msg + len, flags, handles, s->refs.n_nodes,
					   is_bulk ? &bulk : NULL);
	return 0;
}

/* ------------------------------------------------------------------ answers from the cache */

/* Returns whether the server may omit this attribute from its list of a file's extended attributes.
 * The list then does not show whether the file has the attribute. */
static bool xattr_is_hidden(const char *name, size_t len)
{
	static const char prefix[] = "trusted.";

	return strnlen(name, len) == len || strncmp(name, prefix, sizeof(prefix) - 1) == 0;
}

/* Returns the error for an attribute that the file does not have. ls(1) asks for the security label
 * of each file, but stops asking if the mount does not support labels. So the error for a label is
 * "not supported". The exception is a host whose kernel uses labels, because it would treat this
 * error as a failure. */
static int xattr_is_absent(const struct fuse_client *f, const char *name, size_t len)
{
	static const char label[] = "security.selinux";

	return f->unlabelled && len >= sizeof(label) && memcmp(name, label, sizeof(label)) == 0
		       ? -EOPNOTSUPP
		       : -ENODATA;
}

static void cached_xattr(struct fuse_client *f, const struct fuse_in_header *in, uint32_t size,
			 const char *name, size_t len)
{
	struct {
		struct fuse_out_header out;
		struct fuse_getxattr_out none;
	} reply = {.out = {.len = sizeof(reply.out), .unique = in->unique}};

	if (in->opcode == FUSE_GETXATTR)
		reply.out.error = xattr_is_absent(f, name, len);
	else if (size == 0) /* the request asks only for the size of the list */
		reply.out.len = sizeof(reply);
	(void)client_reply(f, &reply, reply.out.len);
}

/*
 * Returns the attributes that the server sent with the answer to the last WRITE of the file, if the
 * client still has them. Does not use them while the update of the ctime is deferred. Also does not
 * use them while another worker has a request for the file in flight, because the kernel may get
 * the answer to that request first. Asks the server at intervals, because only the server's answers
 * show whether the file has extended attributes.
 */
static bool cached_written(struct fuse_client *f, const struct client_node *node, uint64_t now_ns,
			   struct fuse_attr *ret, uint64_t *ret_for_ns)
{
	return !(node->flags & CLIENT_NODE_CTIME_DEFERRED) &&
	       client_cache_no_xattrs_reported(&f->cache, node, now_ns) &&
	       client_cache_written(&f->cache, node, now_ns, ret, ret_for_ns) &&
	       !client_dispatch_has_pending(f, node);
}

static bool cached_attr(struct fuse_client *f, const struct fuse_in_header *in,
			const struct client_node *node, uint64_t now_ns)
{
	struct {
		struct fuse_out_header out;
		struct fuse_attr_out attr;
	} reply = {.out = {.len = sizeof(reply), .unique = in->unique}};
	uint64_t for_ns;

	if (!client_cache_dir(&f->cache, node, now_ns, &reply.attr.attr, &for_ns) &&
	    !cached_written(f, node, now_ns, &reply.attr.attr, &for_ns))
		return false;
	reply.attr.attr_valid = for_ns / NSEC_PER_SEC;
	reply.attr.attr_valid_nsec = (uint32_t)(for_ns % NSEC_PER_SEC);
	(void)client_reply(f, &reply, sizeof(reply));
	return true;
}

/* Answers a read of a directory from prefetched entries. Also answers the read at the end of the
 * directory, whose offset the client knows once a reader has received the last entry. */
static bool cached_entries(struct fuse_client *f, const struct fuse_in_header *in,
			   const struct client_node *node, const void *req, size_t len,
			   uint64_t now_ns)
{
	struct fuse_read_in read;

	if (!request_arg(req, len, &read, sizeof(read)))
		return false;
	if (client_prefetch_answer(f, in, node, &read, now_ns))
		return true;
	if (!client_cache_dir_end(&f->cache, node, read.fh, read.offset, now_ns))
		return false;
	client_reply_error(f, in->unique, 0);
	return true;
}

/* Answers a lookup in a directory that was just created, if the name cannot exist in it. */
static bool cached_absent(struct fuse_client *f, const struct fuse_in_header *in,
			  const struct client_node *node, const char *name, size_t len,
			  uint64_t now_ns)
{
	size_t n = strnlen(name, len);

	if (n == len ||
	    !client_cache_absent(&f->cache, node, name, n, client_clock_refresh(f, now_ns)))
		return false;
	client_reply_error(f, in->unique, -ENOENT);
	return true;
}

static bool cache_take(struct fuse_client *f, const struct fuse_in_header *in, size_t len,
		       uint64_t now_ns)
{
	const struct client_node *node = client_node_get(&f->nodes, in->nodeid);
	const uint8_t *req = f->request;
	struct fuse_getxattr_in xattr;
	size_t at = sizeof(*in) + sizeof(xattr);

	if (!node || f->link != CLIENT_READY)
		return false;
	if (in->opcode == FUSE_LOOKUP)
		return cached_absent(f, in, node, (const char *)req + sizeof(*in),
				     len - sizeof(*in), now_ns);
	if (in->opcode == FUSE_GETATTR)
		return cached_attr(f, in, node, now_ns);
	if (in->opcode == FUSE_READDIR || in->opcode == FUSE_READDIRPLUS)
		return cached_entries(f, in, node, req, len, now_ns);
	if (!request_arg(req, len, &xattr, sizeof(xattr)) ||
	    !client_cache_no_xattrs(&f->cache, node, now_ns) ||
	    (in->opcode == FUSE_GETXATTR && xattr_is_hidden((const char *)req + at, len - at)))
		return false;
	cached_xattr(f, in, xattr.size, (const char *)req + at, len - at);
	return true;
}

const struct client_stage client_cache_stage = {
	.opcodes = CLIENT_STAGE_OPCODE(FUSE_LOOKUP) | CLIENT_STAGE_OPCODE(FUSE_GETATTR) |
		   CLIENT_STAGE_OPCODE(FUSE_GETXATTR) | CLIENT_STAGE_OPCODE(FUSE_LISTXATTR) |
		   CLIENT_STAGE_OPCODE(FUSE_READDIR) | CLIENT_STAGE_OPCODE(FUSE_READDIRPLUS),
	.take = cache_take,
};

/* ------------------------------------------------------------------ requests answered by the
 * client itself */

static void forget_one(struct fuse_client *f, uint64_t nodeid, uint64_t n_lookups)
{
	struct client_node *node = client_node_get(&f->nodes, nodeid);

	if (!node)
		return;
	if (node->n_lookups <= n_lookups)
		client_shown_forgotten(f, node);
	client_node_forget(&f->nodes, node, n_lookups);
}

void client_request_forget(struct fuse_client *f, const void *req, size_t len)
{
	struct fuse_in_header in;
	struct fuse_forget_in forget;
	struct fuse_batch_forget_in batch = {0};
	struct fuse_forget_one one;
	size_t at = sizeof(in) + sizeof(batch);

	memcpy(&in, req, sizeof(in));
	if (in.opcode == FUSE_FORGET) {
		if (request_arg(req, len, &forget, sizeof(forget)))
			forget_one(f, in.nodeid, forget.nlookup);
		return;
	}
	(void)request_arg(req, len, &batch, sizeof(batch));
	for (uint32_t i = 0; i < batch.count && len - at >= sizeof(one); i++) {
		memcpy(&one, (const uint8_t *)req + at, sizeof(one));
		forget_one(f, one.nodeid, one.nlookup);
		at += sizeof(one);
	}
}

/* Replies to a RELEASE at once. The mount's state records the close before the kernel gets the
 * reply, so a resent RELEASE finds the file closed. Returns false if the server must first free
 * locks. */
static bool request_release(struct fuse_client *f, const void *req, size_t len, uint64_t now_ns)
{
	struct fuse_in_header in;
	struct fuse_release_in release;
	struct client_file *file = NULL;

	memcpy(&in, req, sizeof(in));
	if (request_arg(req, len, &release, sizeof(release)))
		file = client_file_get(&f->files, release.fh);
	if (file && in.opcode == FUSE_RELEASE && !(file->flags & CLIENT_FILE_CLOSING) &&
	    client_locks_release(f, file, f->request))
		return false;
	if (f->files.n_closing == 0)
		f->closing_ns = now_ns;
	if (file && !(file->flags & CLIENT_FILE_CLOSING)) {
		client_prefetch_close(f, release.fh);
		if (!client_kept_files_add(f, file, now_ns))
			client_file_close(&f->files, file);
		client_dispatch_close(f, release.fh);
	}
	client_reply_error(f, in.unique, 0);
	f->flush_wanted = true;
	return true;
}

/* Answers the requests that need no server. */
static bool request_take(struct fuse_client *f, const struct fuse_in_header *in, size_t n,
			 uint64_t now_ns)
{
	if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET)
		client_request_forget(f, f->request, n);
	else
		return request_release(f, f->request, n, now_ns);
	return true;
}

const struct client_stage client_request_stage = {
	.opcodes = CLIENT_STAGE_OPCODE(FUSE_FORGET) | CLIENT_STAGE_OPCODE(FUSE_BATCH_FORGET) |
		   CLIENT_STAGE_OPCODE(FUSE_RELEASE) | CLIENT_STAGE_OPCODE(FUSE_RELEASEDIR),
	.take = request_take,
};
