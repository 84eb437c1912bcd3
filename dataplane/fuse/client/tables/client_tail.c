/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds the tails of requests, and parses the tails of answers. Answers come from other hosts, so
 * a fuzzer tests this file.
 */
#include "dataplane/fuse/client/tables/client_tail.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_BYTES_MAX 255U

/* Offsets of fields in the request with this opcode; 0: the request has no such field. */
struct op_rule {
	bool served;
	uint8_t arg_bytes;
	uint8_t node_at; /* offset of the number of the second node */
	uint8_t fh_at[CLIENT_REFS_MAX];
};

#define ARG_AT(type, field) (sizeof(struct fuse_in_header) + offsetof(struct type, field))
#define OP(arg, ...)                                            \
	{                                                       \
		.served = true, .arg_bytes = (arg), __VA_ARGS__ \
	}

static const struct op_rule rules[] = {
	[FUSE_LOOKUP] = OP(0),
	[FUSE_GETATTR] = OP(sizeof(struct fuse_getattr_in)),
	[FUSE_SETATTR] = OP(sizeof(struct fuse_setattr_in)),
	[FUSE_READLINK] = OP(0),
	[FUSE_SYMLINK] = OP(0),
	[FUSE_MKNOD] = OP(sizeof(struct fuse_mknod_in)),
	[FUSE_MKDIR] = OP(sizeof(struct fuse_mkdir_in)),
	[FUSE_UNLINK] = OP(0),
	[FUSE_RMDIR] = OP(0),
	[FUSE_RENAME] =
		OP(sizeof(struct fuse_rename_in), .node_at = ARG_AT(fuse_rename_in, newdir)),
	[FUSE_LINK] = OP(sizeof(struct fuse_link_in), .node_at = ARG_AT(fuse_link_in, oldnodeid)),
	[FUSE_OPEN] = OP(sizeof(struct fuse_open_in)),
	[FUSE_READ] = OP(sizeof(struct fuse_read_in), .fh_at = {ARG_AT(fuse_read_in, fh)}),
	[FUSE_WRITE] = OP(sizeof(struct fuse_write_in), .fh_at = {ARG_AT(fuse_write_in, fh)}),
	[FUSE_STATFS] = OP(0),
	[FUSE_RELEASE] = OP(sizeof(struct fuse_release_in), .fh_at = {ARG_AT(fuse_release_in, fh)}),
	[FUSE_FSYNC] = OP(sizeof(struct fuse_fsync_in), .fh_at = {ARG_AT(fuse_fsync_in, fh)}),
	[FUSE_FLUSH] = OP(sizeof(struct fuse_flush_in)),
	[FUSE_GETLK] = OP(sizeof(struct fuse_lk_in), .fh_at = {ARG_AT(fuse_lk_in, fh)}),
	[FUSE_SETLK] = OP(sizeof(struct fuse_lk_in), .fh_at = {ARG_AT(fuse_lk_in, fh)}),
	[FUSE_SETLKW] = OP(sizeof(struct fuse_lk_in), .fh_at = {ARG_AT(fuse_lk_in, fh)}),
	[FUSE_SETXATTR] = OP(8),
	[FUSE_GETXATTR] = OP(sizeof(struct fuse_getxattr_in)),
	[FUSE_LISTXATTR] = OP(sizeof(struct fuse_getxattr_in)),
	[FUSE_REMOVEXATTR] = OP(0),
	[FUSE_OPENDIR] = OP(sizeof(struct fuse_open_in)),
	[FUSE_READDIR] = OP(sizeof(struct fuse_read_in), .fh_at = {ARG_AT(fuse_read_in, fh)}),
	[FUSE_RELEASEDIR] =
		OP(sizeof(struct fuse_release_in), .fh_at = {ARG_AT(fuse_release_in, fh)}),
	[FUSE_FSYNCDIR] = OP(sizeof(struct fuse_fsync_in), .fh_at = {ARG_AT(fuse_fsync_in, fh)}),
	[FUSE_CREATE] = OP(sizeof(struct fuse_create_in)),
	[FUSE_FALLOCATE] =
		OP(sizeof(struct fuse_fallocate_in), .fh_at = {ARG_AT(fuse_fallocate_in, fh)}),
	[FUSE_READDIRPLUS] = OP(sizeof(struct fuse_read_in), .fh_at = {ARG_AT(fuse_read_in, fh)}),
	[FUSE_RENAME2] =
		OP(sizeof(struct fuse_rename2_in), .node_at = ARG_AT(fuse_rename2_in, newdir)),
	[FUSE_TMPFILE] = OP(sizeof(struct fuse_create_in)),
	[FUSE_LSEEK] = OP(sizeof(struct fuse_lseek_in), .fh_at = {ARG_AT(fuse_lseek_in, fh)}),
	[FUSE_COPY_FILE_RANGE] = OP(sizeof(struct fuse_copy_file_range_in),
				    .node_at = ARG_AT(fuse_copy_file_range_in, nodeid_out),
				    .fh_at = {ARG_AT(fuse_copy_file_range_in, fh_in),
					      ARG_AT(fuse_copy_file_range_in, fh_out)}),
};

static void refs_add_fh(struct client_refs *refs, const uint8_t *req, uint32_t at)
{
	refs->fh_at[refs->n_fhs] = at;
	memcpy(&refs->fhs[refs->n_fhs++], req + at, sizeof(uint64_t));
}

/* Adds the file handles of requests in which a flag shows whether the handle is valid. */
static void refs_add_optional(struct client_refs *refs, const uint8_t *req, uint32_t opcode)
{
	struct fuse_getattr_in get;
	struct fuse_setattr_in set;
	struct fuse_flush_in flush;

	if (opcode == FUSE_GETATTR) {
		memcpy(&get, req + sizeof(struct fuse_in_header), sizeof(get));
		if (get.getattr_flags & FUSE_GETATTR_FH)
			refs_add_fh(refs, req, ARG_AT(fuse_getattr_in, fh));
	} else if (opcode == FUSE_SETATTR) {
		memcpy(&set, req + sizeof(struct fuse_in_header), sizeof(set));
		if (set.valid & FATTR_FH)
			refs_add_fh(refs, req, ARG_AT(fuse_setattr_in, fh));
	} else if (opcode == FUSE_FLUSH) {
		memcpy(&flush, req + sizeof(struct fuse_in_header), sizeof(flush));
		if (!(flush.unused & FUSE_PROTO_FLUSH_OPENER))
			refs_add_fh(refs, req, ARG_AT(fuse_flush_in, fh));
	}
}

int client_refs_read(const void *req, size_t len, struct client_refs *ret)
{
	struct client_refs refs = {.n_nodes = 1};
	const struct op_rule *rule;
	struct fuse_in_header in;

	memcpy(&in, req, sizeof(in));
	if (in.opcode == FUSE_IOCTL)
		return -ENOTTY;
	if (in.opcode >= ARRAY_SIZE(rules) || !rules[in.opcode].served)
		return -ENOSYS;
	rule = &rules[in.opcode];
	if (len - sizeof(in) < rule->arg_bytes)
		return -EINVAL;
	refs.nodeids[0] = in.nodeid;
	if (rule->node_at) {
		memcpy(&refs.nodeids[1], (const uint8_t *)req + rule->node_at, sizeof(uint64_t));
		refs.n_nodes = 2;
	}
	for (unsigned i = 0; i < CLIENT_REFS_MAX && rule->fh_at[i]; i++)
		refs_add_fh(&refs, req, rule->fh_at[i]);
	refs_add_optional(&refs, req, in.opcode);
	*ret = refs;
	return 0;
}

size_t client_tail_write(uint8_t *to, unsigned flags, const struct client_handle *handles,
			 unsigned n, const struct fuse_proto_bulk *bulk)
{
	const struct fuse_proto_req_tail tail = {
		.flags = (uint16_t)(flags | (bulk ? FUSE_PROTO_REQ_BULK : 0)),
		.n_handles = (uint8_t)n};
	size_t len = sizeof(tail);

	memcpy(to, &tail, sizeof(tail));
	for (unsigned i = 0; i < n; i++) {
		to[len++] = (uint8_t)handles[i].len;
		memcpy(to + len, handles[i].bytes, handles[i].len);
		len += handles[i].len;
	}
	if (bulk) {
		memcpy(to + len, bulk, sizeof(*bulk));
		len += sizeof(*bulk);
	}
	return len;
}

/* Copies the next n bytes at *p and advances *p. */
static bool take(const uint8_t **p, size_t *left, void *ret, size_t n)
{
	if (*left < n)
		return false;
	memcpy(ret, *p, n);
	*p += n;
	*left -= n;
	return true;
}

/* Returns whether all handles are complete. Reads each length only once: if the handles follow the
 * data of a READ, a server's RDMA device could change a length between two reads. The client does
 * not use the handles of such an answer. */
static bool handles_are_whole(const uint8_t *p, size_t left, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const unsigned len = left > 0 ? *(const volatile uint8_t *)p : 0;

		if (len == 0 || len > FUSE_PROTO_HANDLE_MAX || left - 1 < len)
			return false;
		left -= 1U + len;
		p += 1U + len;
	}
	return left == 0;
}

static int tail_read(const uint8_t *p, size_t left, struct client_answer *a)
{
	struct fuse_proto_resp_tail tail;

	if (!take(&p, &left, &tail, sizeof(tail)) ||
	    tail.flags & ~(FUSE_PROTO_RESP_ATTR | FUSE_PROTO_RESP_SERVER |
			   FUSE_PROTO_RESP_DIR_ATTR | FUSE_PROTO_RESP_BULK | FUSE_PROTO_RESP_END |
			   FUSE_PROTO_RESP_NAMES | FUSE_PROTO_RESP_UNLOCKED))
		return -EPROTO;
	a->has_attr = tail.flags & FUSE_PROTO_RESP_ATTR;
	a->has_server = tail.flags & FUSE_PROTO_RESP_SERVER;
	a->has_dir_attr = tail.flags & FUSE_PROTO_RESP_DIR_ATTR;
	a->has_bulk = tail.flags & FUSE_PROTO_RESP_BULK;
	a->is_end = tail.flags & FUSE_PROTO_RESP_END;
	a->is_unlocked = tail.flags & FUSE_PROTO_RESP_UNLOCKED;
	a->has_names = tail.flags & FUSE_PROTO_RESP_NAMES;
	if ((a->has_attr && !take(&p, &left, &a->attr, sizeof(a->attr))) ||
	    (a->has_server && !take(&p, &left, &a->server, sizeof(a->server))) ||
	    (a->has_dir_attr && !take(&p, &left, &a->dir_attr, sizeof(a->dir_attr))) ||
	    (a->has_bulk && !take(&p, &left, &a->bulk, sizeof(a->bulk))))
		return -EPROTO;
	a->n_handles = tail.n_handles;
	a->handles = p;
	return handles_are_whole(p, left, tail.n_handles) ? 0 : -EPROTO;
}

int client_answer_read(void *msg, size_t len, struct client_answer *ret)
{
	struct client_answer a = {.body = (uint8_t *)msg + sizeof(a.out)};
	int r = 0;

	if (len < sizeof(a.out))
		return -EPROTO;
	memcpy(&a.out, msg, sizeof(a.out));
	if (a.out.len < sizeof(a.out) || a.out.len > len || a.out.error > 0 || a.out.error <= -512)
		return -EPROTO;
	if (a.out.error != 0 && (a.out.len != sizeof(a.out) || len != sizeof(a.out)))
		return -EPROTO;
	a.body_len = a.out.len - sizeof(a.out);
	if (len > a.out.len)
		r = tail_read((const uint8_t *)msg + a.out.len, len - a.out.len, &a);
	if (r == 0)
		*ret = a;
	return r;
}

bool client_answer_handle(struct client_answer *a, struct client_handle *ret)
{
	if (a->n_handles == 0)
		return false;
	*ret = (struct client_handle){.bytes = a->handles + 1, .len = a->handles[0]};
	a->handles += 1U + ret->len;
	a->n_handles--;
	return true;
}

bool client_attr_is_valid(const struct fuse_attr *attr)
{
	mode_t m = attr->mode;

	return attr->size <= INT64_MAX && (S_ISREG(m) || S_ISDIR(m) || S_ISLNK(m) || S_ISCHR(m) ||
					   S_ISBLK(m) || S_ISFIFO(m) || S_ISSOCK(m));
}

bool client_dirents_end(const uint8_t *body, size_t len, bool plus, uint64_t *ret)
{
	const size_t head = plus ? sizeof(struct fuse_entry_out) : 0;
	struct fuse_dirent d = {0};
	size_t off = 0;

	while (len - off >= head + FUSE_NAME_OFFSET) {
		size_t size;

		memcpy(&d, body + off + head, FUSE_NAME_OFFSET);
		size = FUSE_DIRENT_ALIGN(head + FUSE_NAME_OFFSET + (size_t)d.namelen);
		if (size > len - off)
			return false;
		off += size;
	}
	*ret = d.off;
	return off > 0 && off == len;
}

int client_direntplus_next(const uint8_t *body, size_t len, size_t *off, size_t *ret_at,
			   bool *ret_special)
{
	const uint8_t *name;
	struct fuse_direntplus d;
	size_t size;

	if (*off == len)
		return 0;
	if (len - *off < FUSE_NAME_OFFSET_DIRENTPLUS)
		return -EPROTO;
	memcpy(&d, body + *off, FUSE_NAME_OFFSET_DIRENTPLUS);
	name = body + *off + FUSE_NAME_OFFSET_DIRENTPLUS;
	if (d.dirent.namelen == 0 || d.dirent.namelen > NAME_BYTES_MAX)
		return -EPROTO;
	size = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET_DIRENTPLUS + d.dirent.namelen);
	if (len - *off < size || memchr(name, '/', d.dirent.namelen) ||
	    memchr(name, '\0', d.dirent.namelen))
		return -EPROTO;
	*ret_special = name[0] == '.' &&
		       (d.dirent.namelen == 1 || (d.dirent.namelen == 2 && name[1] == '.'));
	*ret_at = *off;
	*off += size;
	return 1;
}
