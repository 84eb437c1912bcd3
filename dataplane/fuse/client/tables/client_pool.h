/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of one FUSE client: large buffers, each for one whole message, passed by pointer. The
 * address space is reserved once. Pages are populated on first use, and are returned to the system
 * when there are more unused pages than a limit. Only the client uses it, in one thread.
 *
 * In each buffer, the message's data begins on a page boundary. The message's head is in the page
 * before the data; bytes after the first CLIENT_POOL_DATA_BYTES of data are in the pages behind. If
 * the pool may be registered with RDMA devices, the data pages of all buffers are mapped a second
 * time, one after the other: `bulk`. Only that range is registered. So a peer's device can neither
 * read nor write the heads of messages, and data are still received and sent without a copy.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_POOL_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_POOL_H

#include "dataplane/rudp/rudp.h"

#define CLIENT_POOL_BUFS 48
#define CLIENT_POOL_BUF_BYTES RUDP_MSG_BYTES_MAX
#define CLIENT_POOL_DATA_BYTES ((size_t)1 << 20)
/* Number of bytes before and behind a buffer's data: a multiple of the page size of every supported
 * processor.
 */
#define CLIENT_POOL_EDGE_BYTES ((size_t)64 << 10)
#define CLIENT_POOL_BULK_BYTES (CLIENT_POOL_BUFS * CLIENT_POOL_DATA_BYTES)
/* Number of bytes of unused pages that the pool keeps for the next burst. */
#define CLIENT_POOL_KEEP_BYTES (6U << 20)

struct client_pool {
	uint8_t *base;
	uint8_t *bulk; /* second mapping of all data pages; NULL: none */
	unsigned n_free;
	uint16_t free[CLIENT_POOL_BUFS]; /* a stack: the buffer that was freed last is used first,
					    because it is probably in the processor's cache */
	uint32_t touched[CLIENT_POOL_BUFS];   /* per buffer: how many of its first bytes may have
						 pages */
	uint32_t populated[CLIENT_POOL_BUFS]; /* per buffer: how many of its first bytes certainly
						 have pages */
	bool pinned;	     /* registered with an RDMA device, so the pages must not be freed */
	size_t free_touched; /* sum of `touched` of all free buffers */
};

/* has_bulk: the pool may be registered with RDMA devices. Returns 0 or -ENOMEM. */
int client_pool_init(struct client_pool *p, bool has_bulk);
void client_pool_done(struct client_pool *p);
/* Returns a buffer for a message whose head has head_bytes, so that the data begins on a page
 * boundary. Returns NULL if no more than `reserve` buffers are free. */
void *client_pool_get(struct client_pool *p, unsigned reserve, size_t head_bytes);
/* Returns the address in `bulk` that is mapped to the same page as this address in a buffer. */
uint64_t client_pool_bulk_addr(const struct client_pool *p, const void *data);
/* Call when `bulk` was registered with a device: the pool no longer frees the pages of `bulk`. */
void client_pool_pinned(struct client_pool *p);
/* Allocates the pages of the first bytes of the buffer now, not on first use. */
void client_pool_populate(struct client_pool *p, void *buf, size_t bytes);
/* Gives a buffer back to the pool. used_bytes: how many bytes of it may have been written. */
void client_pool_put(struct client_pool *p, void *buf, size_t used_bytes);
/* Returns all unused pages to the system. */
void client_pool_trim(struct client_pool *p);

#endif
