/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client's hello, which is the application data in the transport's handshake. It names the
 * export, the server's host and the mount. Only this module knows its format (plenum-protocol(7)).
 * The functions only read and write bytes.
 */
#ifndef PLENUM_DATAPLANE_FUSE_HELLO_H
#define PLENUM_DATAPLANE_FUSE_HELLO_H

#include "netcfg/base/base.h"

#define FUSE_HELLO_BYTES 224

/* The purpose of the session. A full server prefers mounts to mount workers. Beyond its limit, the
 * server accepts LAUNCH_SESSIONS_OWING mount workers that only finish their requests, because no
 * other process can finish these requests. Further mount workers count against the limit. */
enum fuse_hello_purpose {
	FUSE_HELLO_MOUNT,
	FUSE_HELLO_MOUNT_WORKER,
	FUSE_HELLO_MOUNT_WORKER_FINISHING, /* finishes old requests, then ends the session */
	FUSE_HELLO_PURPOSE_MAX,
};

struct fuse_hello {
	uint8_t mount_id[16];
	bool read_only;
	bool follows_redirects;
	enum fuse_hello_purpose purpose;
	char export_name[PLENUM_NAME_MAX];
	char client_host[PLENUM_NAME_MAX];
	char server_host[PLENUM_NAME_MAX]; /* the host that the client wants to reach */
};

void fuse_hello_put(uint8_t ret[FUSE_HELLO_BYTES], const struct fuse_hello *h);
/* Decodes a hello. Returns 0, or -EPROTO if it is not a hello, or one of another version. */
int fuse_hello_get(const void *p, size_t len, struct fuse_hello *ret);

#endif
