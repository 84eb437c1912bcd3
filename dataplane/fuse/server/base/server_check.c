/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Validates requests. The code that executes requests relies on names that are terminated and
 * arguments that are complete. A fuzzer tests this file separately.
 */
#include "dataplane/fuse/server/base/server_check.h"
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/xattr.h>

#define CHECK_NAMES_MAX 2

enum check_name {
	NAME_NONE,
	NAME_LOOKUP, /* one path component, which may be "." or ".." */
	NAME_ENTRY,  /* one path component, but neither "." nor ".." */
	NAME_TARGET, /* the target of a symbolic link: any text */
	NAME_XATTR,
};

struct check_rule { /* the layout of a request behind struct fuse_in_header */
	bool served;
	uint8_t names[CHECK_NAMES_MAX];
	uint8_t n_handles; /* count of handles in the tail */
	uint16_t arg_bytes;
};

#define RULE_N(n, arg, ...)                                                                    \
	{                                                                                      \
		.served = true, .n_handles = (n), .arg_bytes = (arg), .names = { __VA_ARGS__ } \
	}
#define RULE(arg, ...) RULE_N(1, arg, __VA_ARGS__)

/* Size of the short form of struct fuse_setxattr_in. The long form is never used, because
 * FUSE_SETXATTR_EXT is never negotiated. */
#define SETXATTR_ARG_BYTES 8

static const struct check_rule rules[] = {
	[FUSE_LOOKUP] = RULE(0, NAME_LOOKUP),
	[FUSE_GETATTR] = RULE(sizeof(struct fuse_getattr_in), NAME_NONE),
	[FUSE_SETATTR] = RULE(sizeof(struct fuse_setattr_in), NAME_NONE),
	[FUSE_READLINK] = RULE(0, NAME_NONE),
	[FUSE_SYMLINK] = RULE(0, NAME_ENTRY, NAME_TARGET),
	[FUSE_MKNOD] = RULE(sizeof(struct fuse_mknod_in), NAME_ENTRY),
	[FUSE_MKDIR] = RULE(sizeof(struct fuse_mkdir_in), NAME_ENTRY),
	[FUSE_UNLINK] = RULE(0, NAME_ENTRY),
	[FUSE_RMDIR] = RULE(0, NAME_ENTRY),
	[FUSE_RENAME] = RULE_N(2, sizeof(struct fuse_rename_in), NAME_ENTRY, NAME_ENTRY),
	[FUSE_LINK] = RULE_N(2, sizeof(struct fuse_link_in), NAME_ENTRY),
	[FUSE_OPEN] = RULE(sizeof(struct fuse_open_in), NAME_NONE),
	[FUSE_READ] = RULE(sizeof(struct fuse_read_in), NAME_NONE),
	[FUSE_WRITE] = RULE(sizeof(struct fuse_write_in), NAME_NONE),
	[FUSE_STATFS] = RULE(0, NAME_NONE),
	[FUSE_RELEASE] = RULE(sizeof(struct fuse_release_in), NAME_NONE),
	[FUSE_FSYNC] = RULE(sizeof(struct fuse_fsync_in), NAME_NONE),
	[FUSE_FLUSH] = RULE(sizeof(struct fuse_flush_in), NAME_NONE),
	[FUSE_GETLK] = RULE(sizeof(struct fuse_lk_in), NAME_NONE),
	[FUSE_SETLK] = RULE(sizeof(struct fuse_lk_in), NAME_NONE),
	[FUSE_SETLKW] = RULE(sizeof(struct fuse_lk_in), NAME_NONE),
	[FUSE_SETXATTR] = RULE(SETXATTR_ARG_BYTES, NAME_XATTR),
	[FUSE_GETXATTR] = RULE(sizeof(struct fuse_getxattr_in), NAME_XATTR),
	[FUSE_LISTXATTR] = RULE(sizeof(struct fuse_getxattr_in), NAME_NONE),
	[FUSE_REMOVEXATTR] = RULE(0, NAME_XATTR),
	[FUSE_INIT] = RULE_N(0, sizeof(struct fuse_init_in), NAME_NONE),
	[FUSE_OPENDIR] = RULE(sizeof(struct fuse_open_in), NAME_NONE),
	[FUSE_READDIR] = RULE(sizeof(struct fuse_read_in), NAME_NONE),
	[FUSE_RELEASEDIR] = RULE(sizeof(struct fuse_release_in), NAME_NONE),
	[FUSE_FSYNCDIR] = RULE(sizeof(struct fuse_fsync_in), NAME_NONE),
	[FUSE_CREATE] = RULE(sizeof(struct fuse_create_in), NAME_ENTRY),
	[FUSE_INTERRUPT] = RULE_N(0, sizeof(struct fuse_interrupt_in), NAME_NONE),
	[FUSE_DESTROY] = RULE_N(0, 0, NAME_NONE),
	[FUSE_FALLOCATE] = RULE(sizeof(struct fuse_fallocate_in), NAME_NONE),
	[FUSE_READDIRPLUS] = RULE(sizeof(struct fuse_read_in), NAME_NONE),
	[FUSE_RENAME2] = RULE_N(2, sizeof(struct fuse_rename2_in), NAME_ENTRY, NAME_ENTRY),
	/* The server ignores the name in a TMPFILE request. */
	[FUSE_TMPFILE] = RULE(sizeof(struct fuse_create_in), NAME_TARGET),
	[FUSE_LSEEK] = RULE(sizeof(struct fuse_lseek_in), NAME_NONE),
	[FUSE_COPY_FILE_RANGE] = RULE_N(2, sizeof(struct fuse_copy_file_range_in), NAME_NONE),
};

/* Copies the argument, because it may be unaligned in the message. */
#define ARG(var, msg) \
	memcpy(&(var), (const uint8_t *)(msg) + sizeof(struct fuse_in_header), sizeof(var))

static int check_name(enum check_name kind, const char *name, size_t len)
{
	switch (kind) {
	case NAME_TARGET:
		return len == 0 ? -ENOENT : len >= PATH_MAX ? -ENAMETOOLONG : 0;
	case NAME_XATTR:
		return len == 0 || len > XATTR_NAME_MAX ? -ERANGE : 0;
	case NAME_LOOKUP:
	case NAME_ENTRY:
		break;
	case NAME_NONE:
		return 0;
	}
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	if (len == 0 || memchr(name, '/', len))
		return -EINVAL;
	if (kind == NAME_ENTRY && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
		return -EINVAL;
	return 0;
}

/* Checks that start and end of a range fit into off_t. */
static int check_range(uint64_t off, uint64_t len)
{
	return off > INT64_MAX || len > INT64_MAX - off ? -EFBIG : 0;
}

/* Accepts only versions and flags that this server knows: in other versions arguments may have
 * other sizes, and other flags may change the meaning of requests. */
static int check_init(const void *msg)
{
	struct fuse_init_in arg;
	uint64_t flags;

	ARG(arg, msg);
	flags = arg.flags | (uint64_t)arg.flags2 << 32;
	if (arg.major != FUSE_PROTO_MAJOR || arg.minor < FUSE_PROTO_MINOR_MIN ||
	    arg.minor > FUSE_PROTO_MINOR_MAX || flags & ~FUSE_PROTO_FLAGS)
		return -EPROTO;
	return 0;
}

static int check_data(uint32_t opcode, const void *msg, size_t rest,
		      const struct fuse_server_args *args)
{
	if (opcode == FUSE_INIT)
		return check_init(msg);
	if (opcode == FUSE_WRITE) {
		struct fuse_write_in arg;

		ARG(arg, msg);
		/* With FUSE_PROTO_REQ_BULK, the server reads the data of the WRITE from the
		 * client's memory later. */
		if (args->flags & FUSE_PROTO_REQ_BULK)
			rest = rest == 0 ? args->bulk.len : SIZE_MAX;
		if (arg.size > FUSE_PROTO_MAX_WRITE || arg.size != rest)
			return -EINVAL;
		return check_range(arg.offset, arg.size);
	}
	if (opcode == FUSE_READ || opcode == FUSE_READDIR || opcode == FUSE_READDIRPLUS) {
		struct fuse_read_in arg;

		ARG(arg, msg);
		if (arg.size > FUSE_PROTO_MAX_WRITE)
			return -EINVAL;
		/* Do not check offsets in directories, because they are cookies of the file
		 * system. */
		return opcode == FUSE_READ ? check_range(arg.offset, arg.size) : 0;
	}
	if (opcode == FUSE_SETXATTR) {
		uint32_t size;

		ARG(size, msg);
		return size > FUSE_PROTO_XATTR_MAX ? -E2BIG : size != rest ? -EINVAL : 0;
	}
	if (opcode == FUSE_FALLOCATE) {
		struct fuse_fallocate_in arg;

		ARG(arg, msg);
		return check_range(arg.offset, arg.length);
	}
	if (opcode == FUSE_GETLK || opcode == FUSE_SETLK || opcode == FUSE_SETLKW) {
		struct fuse_lk_in arg;

		ARG(arg, msg);
		return arg.lk.type > F_UNLCK || arg.lk.start > arg.lk.end ? -EINVAL : 0;
	}
	if (opcode == FUSE_RELEASE || opcode == FUSE_RELEASEDIR)
		return rest % sizeof(uint64_t) || rest >= FUSE_PROTO_RELEASES_MAX * sizeof(uint64_t)
			       ? -EINVAL
			       : 0;
	return 0;
}

static bool check_flags(uint32_t opcode, uint16_t flags)
{
	const uint16_t of_write = FUSE_PROTO_REQ_ATTR | FUSE_PROTO_REQ_LEASE | FUSE_PROTO_REQ_HELD;

	switch (opcode == FUSE_WRITE ? flags & ~of_write : flags) {
	case 0:
		return true;
	case FUSE_PROTO_REQ_REOPEN:
		return opcode == FUSE_OPEN || opcode == FUSE_OPENDIR;
	case FUSE_PROTO_REQ_BULK:
	case FUSE_PROTO_REQ_BULK | FUSE_PROTO_REQ_ONLY:
		return opcode == FUSE_READ || opcode == FUSE_WRITE;
	default:
		return false;
	}
}

/* Checks only whether the description of the client's memory is consistent. The client's own RDMA
 * device controls the access to that memory. */
static int check_bulk(const uint8_t *p, size_t len, struct fuse_server_args *ret)
{
	if (len != sizeof(ret->bulk))
		return -EBADMSG;
	memcpy(&ret->bulk, p, sizeof(ret->bulk));
	return ret->bulk.len == 0 || ret->bulk.len > FUSE_PROTO_MAX_WRITE ||
			       ret->bulk.len > UINT64_MAX - ret->bulk.addr
		       ? -EBADMSG
		       : 0;
}

/* Checks the tail. It must contain as many complete handles as the request needs, the description
 * of the client's memory if FUSE_PROTO_REQ_BULK is set, and nothing else. */
static int check_tail(uint32_t opcode, const uint8_t *p, size_t len, struct fuse_server_args *ret)
{
	struct fuse_proto_req_tail tail = {};

	*ret = (struct fuse_server_args){};
	if (len < sizeof(tail))
		return len == 0 && rules[opcode].n_handles == 0 ? 0 : -EBADMSG;
	memcpy(&tail, p, sizeof(tail));
	p += sizeof(tail);
	len -= sizeof(tail);
	if (tail.n_handles != rules[opcode].n_handles || !check_flags(opcode, tail.flags))
		return -EBADMSG;
	for (unsigned i = 0; i < tail.n_handles; i++) {
		size_t n = len > 0 ? p[0] : 0;

		if (n == 0 || n > FUSE_PROTO_HANDLE_MAX || n >= len)
			return -EBADMSG;
		ret->handles[i].bytes = p + 1;
		ret->handles[i].len = (uint8_t)n;
		p += 1 + n;
		len -= 1 + n;
	}
	ret->flags = tail.flags;
	if (tail.flags & FUSE_PROTO_REQ_BULK)
		return check_bulk(p, len, ret);
	return len == 0 ? 0 : -EBADMSG;
}

int fuse_server_check(const void *msg, size_t len, struct fuse_server_args *ret)
{
	const struct check_rule *rule;
	struct fuse_in_header in;
	const char *p;
	size_t rest;
	int r;

	if (len < sizeof(in))
		return -EBADMSG;
	memcpy(&in, msg, sizeof(in));
	if (in.len < sizeof(in) || in.len > len)
		return -EBADMSG;
	if (in.opcode == FUSE_IOCTL)
		return -ENOTTY;
	if (in.opcode >= ARRAY_SIZE(rules) || !rules[in.opcode].served)
		return -ENOSYS;
	rule = &rules[in.opcode];
	r = check_tail(in.opcode, (const uint8_t *)msg + in.len, len - in.len, ret);
	if (r < 0)
		return r;
	rest = in.len - sizeof(in);
	if (rest < rule->arg_bytes)
		return -EINVAL;
	p = (const char *)msg + sizeof(in) + rule->arg_bytes;
	rest -= rule->arg_bytes;
	for (unsigned i = 0; i < CHECK_NAMES_MAX && rule->names[i] != NAME_NONE; i++) {
		size_t n = strnlen(p, rest);

		if (n == rest)
			return -EINVAL;
		r = check_name(rule->names[i], p, n);
		if (r < 0)
			return r;
		p += n + 1;
		rest -= n + 1;
	}
	return check_data(in.opcode, msg, rest, ret);
}

size_t fuse_server_check_reply_bytes(const struct fuse_in_header *in)
{
	uint32_t size = 0;

	switch (in->opcode) {
	case FUSE_READ:
	case FUSE_READDIR:
	case FUSE_READDIRPLUS: {
		struct fuse_read_in arg;

		ARG(arg, in);
		size = arg.size;
		break;
	}
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR: {
		struct fuse_getxattr_in arg;

		ARG(arg, in);
		size = arg.size;
		break;
	}
	case FUSE_OPENDIR: {
		struct fuse_open_in arg;

		ARG(arg, in);
		size = arg.open_flags;
		break;
	}
	default:
		break;
	}
	return fuse_proto_resp_max(in->opcode, size) - sizeof(struct fuse_out_header);
}

bool fuse_server_check_is_non_idempotent(const struct fuse_in_header *in)
{
	switch (in->opcode) {
	case FUSE_SETATTR:
	case FUSE_SYMLINK:
	case FUSE_MKNOD:
	case FUSE_MKDIR:
	case FUSE_UNLINK:
	case FUSE_RMDIR:
	case FUSE_RENAME:
	case FUSE_RENAME2:
	case FUSE_LINK:
	case FUSE_CREATE:
	case FUSE_TMPFILE:
	case FUSE_SETXATTR:
	case FUSE_REMOVEXATTR:
	case FUSE_FALLOCATE: /* not repeatable, because another client may truncate the file between
				the two executions */
	case FUSE_COPY_FILE_RANGE:
		return true;
	case FUSE_OPEN: {
		struct fuse_open_in arg;

		ARG(arg, in);
		return arg.flags & O_TRUNC;
	}
	case FUSE_WRITE: {
		struct fuse_write_in arg;

		ARG(arg, in);
		return (arg.flags & O_APPEND) && !(arg.write_flags & FUSE_WRITE_CACHE);
	}
	default:
		return false;
	}
}
