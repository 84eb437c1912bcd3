/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of one fuse_client: large buffers, each for one whole message, passed by pointer. Address
 * space is reserved once; pages are populated on first use and return to the system when unused
 * pages exceed a budget. Used by fuse_client only, by one thread.
 *
 * In a buffer the message's data begin on a page; its head is in the page before, and whatever
 * follows CLIENT_POOL_DATA_BYTES of data in the pages behind. If the pool is to be registered with
 * RDMA devices, the data pages of all buffers are mapped a second time, one behind the other:
 * `bulk`. That range alone is registered. A peer's device can then neither read nor write the heads
 * of messages, and data are still received and sent without a copy.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_POOL_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_POOL_H

#include "dataplane/rudp/rudp.h"

#define CLIENT_POOL_BUFS 48
#define CLIENT_POOL_BUF_BYTES RUDP_MSG_BYTES_MAX
#define CLIENT_POOL_DATA_BYTES ((size_t)1 << 20)
/* Before and behind a buffer's data: a multiple of the page size of any supported processor. */
#define CLIENT_POOL_EDGE_BYTES ((size_t)64 << 10)
#define CLIENT_POOL_BULK_BYTES (CLIENT_POOL_BUFS * CLIENT_POOL_DATA_BYTES)
#define CLIENT_POOL_KEEP_BYTES (6U << 20) /* unused pages kept for the next burst */

struct client_pool {
	uint8_t *base;
	uint8_t *bulk; /* second mapping of all data pages; NULL: none */
	unsigned n_free;
	uint16_t free[CLIENT_POOL_BUFS];      /* a stack: the last one returned is warm */
	uint32_t touched[CLIENT_POOL_BUFS];   /* bytes that may have pages, and */
	uint32_t populated[CLIENT_POOL_BUFS]; /* bytes that have */
	bool pinned;			      /* registered with an RDMA device: pages stay */
	size_t free_touched;		      /* sum of touched over the free ones */
};

/* 0; -ENOMEM. has_bulk: the pool may be registered. */
int client_pool_init(struct client_pool *p, bool has_bulk);
void client_pool_done(struct client_pool *p);
/* A buffer for a message whose head has head_bytes: its data begin on a page. NULL if at most
 * `reserve` are left. */
void *client_pool_get(struct client_pool *p, unsigned reserve, size_t head_bytes);
/* The address in `bulk` of a buffer's data. */
uint64_t client_pool_bulk_addr(const struct client_pool *p, const void *data);
/* `bulk` has been registered: pages stay. */
void client_pool_pinned(struct client_pool *p);
/* Populates the pages of the buffer's first bytes now. */
void client_pool_populate(struct client_pool *p, void *buf, size_t bytes);
/* used_bytes: how much of it may have been written. */
void client_pool_put(struct client_pool *p, void *buf, size_t used_bytes);
/* Returns all unused pages to the system. */
void client_pool_trim(struct client_pool *p);

#endif
