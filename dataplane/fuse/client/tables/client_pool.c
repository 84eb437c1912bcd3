/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers for requests: one mapping; returns cold pages to the system, so that a burst of large
 * writes does not stay in memory.
 */
#include "dataplane/fuse/client/tables/client_pool.h"

#include "netcfg/base/os/memfd.h"

int client_pool_init(struct client_pool *p)
{
	void *base = mmap(NULL, CLIENT_POOL_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return -ENOMEM;
	/* A huge page for a request of 100 bytes would exceed the memory budget. */
	(void)madvise(base, CLIENT_POOL_BYTES, MADV_NOHUGEPAGE);
	*p = (struct client_pool){.base = base, .n_free = CLIENT_POOL_BUFS};
	for (unsigned i = 0; i < CLIENT_POOL_BUFS; i++)
		p->free[i] = (uint16_t)(CLIENT_POOL_BUFS - 1 - i);
	return 0;
}

void client_pool_done(struct client_pool *p)
{
	if (p->base)
		munmap(p->base, CLIENT_POOL_BYTES);
	*p = (struct client_pool){0};
}

static uint8_t *pool_buf(const struct client_pool *p, unsigned i)
{
	return p->base + (size_t)i * CLIENT_POOL_BUF_BYTES;
}

static void pool_drop_pages(struct client_pool *p, unsigned i)
{
	if (p->touched[i] == 0 || p->pinned)
		return;
	(void)madvise(pool_buf(p, i), CLIENT_POOL_BUF_BYTES, MADV_DONTNEED);
	p->free_touched -= p->touched[i];
	p->touched[i] = p->populated[i] = 0;
}

void *client_pool_get(struct client_pool *p, unsigned reserve)
{
	unsigned i;

	if (p->n_free <= reserve)
		return NULL;
	i = p->free[--p->n_free];
	p->free_touched -= p->touched[i];
	return pool_buf(p, i);
}

static unsigned pool_index(const struct client_pool *p, const void *buf)
{
	return (unsigned)((size_t)((const uint8_t *)buf - p->base) / CLIENT_POOL_BUF_BYTES);
}

/* A kernel before 5.14 refuses: then pages are populated on first use. */
void client_pool_populate(struct client_pool *p, void *buf, size_t bytes)
{
	unsigned i = pool_index(p, buf);

	bytes = MIN_OF(bytes, (size_t)CLIENT_POOL_BUF_BYTES);
	if (p->populated[i] >= bytes || madvise(buf, bytes, MADV_POPULATE_WRITE) < 0)
		return;
	p->populated[i] = (uint32_t)bytes;
	p->touched[i] = MAX_OF(p->touched[i], p->populated[i]);
}

void client_pool_put(struct client_pool *p, void *buf, size_t used_bytes)
{
	unsigned i = pool_index(p, buf);

	p->touched[i] = (uint32_t)MAX_OF((size_t)p->touched[i], used_bytes);
	p->free_touched += p->touched[i];
	p->free[p->n_free++] = (uint16_t)i;
	/* The coldest buffers lose their pages first: they are at the bottom of the stack. */
	for (unsigned k = 0; k < p->n_free && p->free_touched > CLIENT_POOL_KEEP_BYTES; k++)
		pool_drop_pages(p, p->free[k]);
}

void client_pool_trim(struct client_pool *p)
{
	for (unsigned k = 0; k < p->n_free; k++)
		pool_drop_pages(p, p->free[k]);
}
