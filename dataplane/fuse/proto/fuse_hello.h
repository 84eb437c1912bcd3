/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a frontend says of itself in the transport's handshake: which export it wants, of which
 * host, on behalf of which mount. The only place that knows the bytes (plenum-protocol(7)). Pure.
 */
#ifndef PLENUM_DATAPLANE_FUSE_HELLO_H
#define PLENUM_DATAPLANE_FUSE_HELLO_H

#include "netcfg/base/base.h"

#define FUSE_HELLO_BYTES 224

/* On whose behalf. A server that is full serves mounts first, and keeps no lane from what it has
 * begun: nobody else can end that. */
enum fuse_hello_lane {
	FUSE_HELLO_MOUNT,
	FUSE_HELLO_LANE,
	FUSE_HELLO_LANE_OWES, /* it ends what it has begun, and then this session */
	FUSE_HELLO_LANE_MAX,
};

struct fuse_hello {
	uint8_t mount_id[16];
	bool read_only;
	bool follows; /* it goes where a refusal sends it */
	enum fuse_hello_lane lane;
	char export_name[PLENUM_NAME_MAX];
	char client_host[PLENUM_NAME_MAX];
	char server_host[PLENUM_NAME_MAX]; /* whom the client means to speak to */
};

void fuse_hello_put(uint8_t ret[FUSE_HELLO_BYTES], const struct fuse_hello *h);
/* 0; -EPROTO: not a hello, or of another version. */
int fuse_hello_get(const void *p, size_t len, struct fuse_hello *ret);
/* Whether a host that calls itself `own` may be called `name`: the same, but for a domain that one
 * of them is written without. */
bool fuse_hello_names_host(const char *name, const char *own);

#endif
