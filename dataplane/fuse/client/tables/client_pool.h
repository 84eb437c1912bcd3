/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of one fuse_client: large buffers, each for one whole message, passed by pointer. Address
 * space is reserved once; pages are populated on first use and return to the system when unused
 * pages exceed a budget. Used by fuse_client only, by one thread.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_POOL_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_POOL_H

#include "dataplane/rudp/rudp.h"

#define CLIENT_POOL_BUFS 48
#define CLIENT_POOL_BUF_BYTES RUDP_MSG_BYTES_MAX
#define CLIENT_POOL_KEEP_BYTES (6U << 20) /* unused pages kept for the next burst */

struct client_pool {
	uint8_t *base;
	unsigned n_free;
	uint16_t free[CLIENT_POOL_BUFS];      /* a stack: the last one returned is warm */
	uint32_t touched[CLIENT_POOL_BUFS];   /* bytes that may have pages, and */
	uint32_t populated[CLIENT_POOL_BUFS]; /* bytes that have */
	bool pinned;			      /* registered with an RDMA device: pages stay */
	size_t free_touched;		      /* sum of touched over the free ones */
};

/* 0; -ENOMEM. */
int client_pool_init(struct client_pool *p);
void client_pool_done(struct client_pool *p);
#define CLIENT_POOL_BYTES ((size_t)CLIENT_POOL_BUFS * CLIENT_POOL_BUF_BYTES)
/* NULL if at most `reserve` are left. */
void *client_pool_get(struct client_pool *p, unsigned reserve);
/* Populates the pages of the buffer's first bytes now. */
void client_pool_populate(struct client_pool *p, void *buf, size_t bytes);
/* used_bytes: how much of it may have been written. */
void client_pool_put(struct client_pool *p, void *buf, size_t used_bytes);
/* Returns all unused pages to the system. */
void client_pool_trim(struct client_pool *p);

#endif
