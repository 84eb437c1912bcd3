/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles of files: their bytes and their signature. Apart from the server end because the process
 * that holds the key needs it too, and must not contain more than it needs.
 */
#include "dataplane/fuse/fuse_handle.h"
#include "netcfg/base/hash.h"
#include <fcntl.h>
#include <string.h>
#include <sys/vfs.h>

#define HEAD_BYTES 3U

struct handle_room {
	union {
		struct file_handle h;
		uint8_t space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	};
};

int fuse_handle_of(int dirfd, const char *name, struct fuse_handle *ret, int *ret_mount)
{
	struct handle_room room;
	int mount;

	room.h.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(dirfd, name, &room.h, &mount, name[0] ? 0 : AT_EMPTY_PATH) < 0)
		return errno == EOVERFLOW ? -EOPNOTSUPP : -errno;
	if (room.h.handle_bytes > FUSE_HANDLE_FH_MAX || room.h.handle_type < 0 ||
	    room.h.handle_type > UINT8_MAX)
		return -EOPNOTSUPP;
	ret->len = (uint8_t)(HEAD_BYTES + room.h.handle_bytes);
	ret->bytes[0] = FUSE_HANDLE_FILE;
	ret->bytes[1] = (uint8_t)room.h.handle_type;
	ret->bytes[2] = (uint8_t)room.h.handle_bytes;
	memcpy(ret->bytes + HEAD_BYTES, room.h.f_handle, room.h.handle_bytes);
	*ret_mount = mount;
	return 0;
}

int fuse_handle_export_id(const uint64_t key[2], const char *name, int root_fd, uint64_t *ret)
{
	struct {
		char name[PLENUM_NAME_MAX];
		uint8_t fsid[8];
		struct fuse_handle root;
	} what = {};
	struct statfs fs;
	int mount, r;

	_Static_assert(sizeof(fs.f_fsid) == sizeof(what.fsid), "copied whole");
	if (fstatfs(root_fd, &fs) < 0)
		return -errno;
	memcpy(what.name, name, strnlen(name, sizeof(what.name) - 1));
	memcpy(what.fsid, &fs.f_fsid, sizeof(what.fsid));
	r = fuse_handle_of(root_fd, "", &what.root, &mount);
	if (r < 0 && r != -EOPNOTSUPP)
		return r;
	*ret = hash_keyed(key, &what, sizeof(what));
	return 0;
}

/* Over all that says which file, and the export: what was reached by one is not opened by another,
 * which may be writable. */
static uint64_t signature(const uint64_t key[2], uint64_t export_id, const uint8_t *bytes,
			  size_t len)
{
	uint8_t what[sizeof(export_id) + FUSE_PROTO_HANDLE_MAX];

	memcpy(what, &export_id, sizeof(export_id));
	memcpy(what + sizeof(export_id), bytes, len);
	return hash_keyed(key, what, sizeof(export_id) + len);
}

void fuse_handle_sign(const uint64_t key[2], uint64_t export_id, struct fuse_handle *h)
{
	uint64_t mac = signature(key, export_id, h->bytes, h->len);

	memcpy(h->bytes + h->len, &mac, FUSE_HANDLE_MAC_BYTES);
	h->len = (uint8_t)(h->len + FUSE_HANDLE_MAC_BYTES);
}

static bool is_whole(const struct fuse_handle *h)
{
	return h->len > HEAD_BYTES + FUSE_HANDLE_MAC_BYTES && h->len <= sizeof(h->bytes) &&
	       h->bytes[0] == FUSE_HANDLE_FILE &&
	       h->len == HEAD_BYTES + h->bytes[2] + FUSE_HANDLE_MAC_BYTES;
}

bool fuse_handle_is_signed(const uint64_t key[2], uint64_t export_id, const struct fuse_handle *h)
{
	return is_whole(h) && fuse_handle_mac(h) == signature(key, export_id, h->bytes,
							      h->len - FUSE_HANDLE_MAC_BYTES);
}

int fuse_handle_open(int fd, const struct fuse_handle *h, int flags)
{
	struct handle_room room;

	if (!is_whole(h) || h->bytes[2] > FUSE_HANDLE_FH_MAX)
		return -ESTALE;
	room.h.handle_type = h->bytes[1];
	room.h.handle_bytes = h->bytes[2];
	memcpy(room.h.f_handle, h->bytes + HEAD_BYTES, h->bytes[2]);
	fd = open_by_handle_at(fd, &room.h, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

uint64_t fuse_handle_mac(const struct fuse_handle *h)
{
	uint64_t mac = 0;

	if (is_whole(h))
		memcpy(&mac, h->bytes + h->len - FUSE_HANDLE_MAC_BYTES, FUSE_HANDLE_MAC_BYTES);
	return mac;
}
