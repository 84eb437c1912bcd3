/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The identity of objects: signed handles, and the inode numbers that clients see. This file makes
 * and checks signatures, holds their key, and opens files by handle. So this code limits a
 * compromised worker to the worker's exports.
 */
#include "dataplane/fuse/helper/fs_helper_internal.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/os/folder.h"
#include <string.h>
#include <sys/vfs.h>

uint64_t fs_helper_ino(uint64_t dev, uint64_t root_dev, uint64_t ino)
{
	static const uint64_t key[2]; /* a key that is not secret, because it only mixes the
					 numbers */
	const uint64_t what[2] = {dev, ino};

	return dev == root_dev ? ino : hash_keyed(key, what, sizeof(what)) | 1ULL << 63;
}

void fs_helper_attr(const struct stat *st, uint64_t root_dev, struct fuse_attr *ret)
{
	*ret = (struct fuse_attr){
		.ino = fs_helper_ino(st->st_dev, root_dev, st->st_ino),
		.size = (uint64_t)st->st_size,
		.blocks = (uint64_t)st->st_blocks,
		.atime = (uint64_t)st->st_atim.tv_sec,
		.mtime = (uint64_t)st->st_mtim.tv_sec,
		.ctime = (uint64_t)st->st_ctim.tv_sec,
		.atimensec = (uint32_t)st->st_atim.tv_nsec,
		.mtimensec = (uint32_t)st->st_mtim.tv_nsec,
		.ctimensec = (uint32_t)st->st_ctim.tv_nsec,
		.mode = st->st_mode,
		.nlink = (uint32_t)st->st_nlink,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.rdev = (uint32_t)st->st_rdev,
		.blksize = (uint32_t)st->st_blksize,
	};
}

/* The bytes that a signature covers. They are the same under all names of an object. */
struct signed_bytes {
	uint8_t kind, type, len, fh[HELPERS_FH_MAX];
};

/* Identifies the export, so that handles of other exports are invalid in it. */
struct identity {
	char name[PLENUM_NAME_MAX];
	uint8_t fs[16];
	struct signed_bytes root;
	uint8_t which; /* selects the half of the key to derive */
};

static void fs_identity(int root_fd, uint8_t ret[16])
{
	struct statfs st;

	if (!folder_uuid(root_fd, ret) && fstatfs(root_fd, &st) == 0)
		memcpy(ret, &st.f_fsid, sizeof(st.f_fsid));
}

/* Gets the kernel's handle of an object. Returns 0, or a negative errno if the object has no handle
 * or is on another mount than the export. */
static int handle_get(const struct helper *self, int fd, const char *name, struct signed_bytes *ret)
{
	struct helpers_fh fh;
	int mount_id;

	fh.h.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(fd, name, &fh.h, &mount_id, *name ? 0 : AT_EMPTY_PATH) < 0)
		return -errno;
	if (mount_id != self->root_mount_id)
		return -EXDEV;
	if (fh.h.handle_bytes > HELPERS_FH_MAX || fh.h.handle_type < 0 ||
	    fh.h.handle_type > UINT8_MAX)
		return -EOVERFLOW;
	*ret = (struct signed_bytes){.kind = HELPERS_HANDLE_SIGNED,
				     .type = (uint8_t)fh.h.handle_type,
				     .len = (uint8_t)fh.h.handle_bytes};
	memcpy(ret->fh, fh.h.f_handle, fh.h.handle_bytes);
	return 0;
}

static int handle_open(const struct helper *self, const struct signed_bytes *s)
{
	struct helpers_fh fh;
	int fd;

	fh.h.handle_bytes = s->len;
	fh.h.handle_type = s->type;
	memcpy(fh.h.f_handle, s->fh, s->len);
	fd = open_by_handle_at(self->root_fd, &fh.h, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int helper_root_take(struct helper *self, const uint64_t key[2], int root_fd)
{
	struct identity id = {};
	struct helpers_fh fh;
	struct stat st;
	int r, fd;

	self->root_fd = root_fd;
	if (fstat(root_fd, &st) < 0)
		return -errno;
	self->root_dev = st.st_dev;
	self->root_ino = st.st_ino;
	self->root_mount_id = -1;
	memcpy(id.name, self->export_name, sizeof(id.name));
	fs_identity(root_fd, id.fs);
	fh.h.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(root_fd, "", &fh.h, &self->root_mount_id, AT_EMPTY_PATH) < 0)
		self->root_mount_id = -1;
	r = handle_get(self, root_fd, "", &id.root);
	for (unsigned i = 0; i < 2; i++) {
		id.which = (uint8_t)i;
		self->key[i] = hash_keyed(key, &id, sizeof(id));
	}
	id.which = 2;
	self->export->identity = hash_keyed(key, &id, sizeof(id));
	if (r < 0)
		return 0;
	fd = handle_open(self, &id.root);
	if (fd >= 0)
		close(fd);
	self->gives_handles = fd >= 0;
	self->export->gives_handles = self->gives_handles;
	return 0;
}

static size_t signed_len(const struct signed_bytes *s)
{
	return offsetof(struct signed_bytes, fh) + s->len;
}

uint8_t helper_sign(const struct helper *self, int fd, const char *name,
		    uint8_t to[FUSE_PROTO_HANDLE_MAX])
{
	struct signed_bytes s;
	uint64_t mac;
	size_t len;

	if (!self->gives_handles || handle_get(self, fd, name, &s) < 0)
		return 0;
	len = signed_len(&s);
	mac = hash_keyed(self->key, &s, len);
	memcpy(to, &s, len);
	memcpy(to + len, &mac, sizeof(mac));
	return (uint8_t)(len + sizeof(mac));
}
_Static_assert(sizeof(struct signed_bytes) + HELPERS_SIGNATURE_BYTES <= FUSE_PROTO_HANDLE_MAX,
	       "every signed handle fits the protocol");

int helper_open_signed(const struct helper *self, const uint8_t *handle, uint8_t len)
{
	struct signed_bytes s = {};
	uint64_t mac, differs;
	int fd;

	if (len < offsetof(struct signed_bytes, fh) + sizeof(mac) || len > FUSE_PROTO_HANDLE_MAX)
		return -ESTALE;
	memcpy(&s, handle, MIN_OF(len - sizeof(mac), sizeof(s)));
	if (s.kind != HELPERS_HANDLE_SIGNED || s.len > HELPERS_FH_MAX ||
	    len != signed_len(&s) + sizeof(mac))
		return -ESTALE;
	memcpy(&mac, handle + signed_len(&s), sizeof(mac));
	/* The comparison of one word takes equally long for all values, so its duration reveals
	 * nothing. */
	differs = mac ^ hash_keyed(self->key, &s, signed_len(&s));
	if (differs)
		return -ESTALE;
	fd = handle_open(self, &s);
	return fd == -ENOENT || fd == -EINVAL ? -ESTALE : fd;
}

uint64_t helper_object_id(const struct helper *self, int fd, const struct stat *st)
{
	struct signed_bytes s;
	struct {
		uint64_t dev, ino;
	} where = {st->st_dev, st->st_ino};
	uint64_t id;

	if (handle_get(self, fd, "", &s) == 0)
		id = hash_keyed(self->key, &s, signed_len(&s));
	else
		id = hash_keyed(self->key, &where, sizeof(where));
	return id ? id : 1;
}
