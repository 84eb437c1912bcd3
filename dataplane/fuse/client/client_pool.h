/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of one fuse_client: large buffers, each for one whole message, taken and given back by
 * pointer. Address space is reserved once; pages come when they are first written and go back to
 * the system when more than a budget of them lies unused. Used by fuse_client only, by one thread.
 */
#ifndef PLENUM_DATAPLANE_FUSE_FRONT_POOL_H
#define PLENUM_DATAPLANE_FUSE_FRONT_POOL_H

#include "dataplane/rudp/rudp.h"

#define CLIENT_POOL_BUFS 48
#define CLIENT_POOL_BUF_BYTES RUDP_MSG_BYTES_MAX
#define CLIENT_POOL_KEEP_BYTES (6U << 20) /* unused pages kept for the next burst */

struct client_pool {
	uint8_t *base;
	unsigned n_free;
	uint16_t free[CLIENT_POOL_BUFS];      /* a stack: the last one given back is warm */
	uint32_t touched[CLIENT_POOL_BUFS];   /* so many bytes may have pages, */
	uint32_t populated[CLIENT_POOL_BUFS]; /* and so many have */
	bool pinned;			      /* an RDMA device knows its pages: they stay */
	size_t free_touched;		      /* sum of touched over the free ones */
};

/* 0; -ENOMEM. */
int client_pool_init(struct client_pool *p);
void client_pool_done(struct client_pool *p);
#define CLIENT_POOL_BYTES ((size_t)CLIENT_POOL_BUFS * CLIENT_POOL_BUF_BYTES)
/* NULL where no more than `reserve` are left. */
void *client_pool_get(struct client_pool *p, unsigned reserve);
/* Its first bytes get their pages now, not when they are first written. */
void client_pool_populate(struct client_pool *p, void *buf, size_t bytes);
/* used_bytes: how much of it may have been written. */
void client_pool_put(struct client_pool *p, void *buf, size_t used_bytes);
/* Gives all unused pages back to the system. */
void client_pool_trim(struct client_pool *p);

#endif
