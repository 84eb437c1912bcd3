/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes unsigned file handles, by which the server finds objects that it knows already. Only the
 * helpers can sign handles.
 */
#include "dataplane/fuse/helper/fuse_handle.h"
#include <fcntl.h>
#include <string.h>

#define HEAD_BYTES 3U
#define FH_MAX 64U /* equals HELPERS_FH_MAX */

int fuse_handle_of(int fd, struct fuse_handle *ret, int *ret_mount)
{
	struct {
		union {
			struct file_handle h;
			uint8_t space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
		};
	} room;
	int mount;

	room.h.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(fd, "", &room.h, &mount, AT_EMPTY_PATH) < 0)
		return errno == EOVERFLOW ? -EOPNOTSUPP : -errno;
	if (room.h.handle_bytes > FH_MAX || room.h.handle_type < 0 ||
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
