/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers for requests, in one memory mapping. Pages that were not used lately are returned to the
 * system, so that a burst of large writes does not occupy memory for ever.
 */
#include "dataplane/fuse/client/tables/client_pool.h"

#include "netcfg/base/os/memfd.h"

#include <unistd.h>

#define STRIDE_BYTES (CLIENT_POOL_DATA_BYTES + 2 * CLIENT_POOL_EDGE_BYTES)
#define POOL_BYTES (CLIENT_POOL_BUFS * STRIDE_BYTES)

static uint8_t *memory_map(size_t bytes, int sharing)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    sharing | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	/* The pool uses no huge pages: a huge page for a request of 100 bytes would exceed the
	 * memory budget. */
	(void)madvise(memory, bytes, MADV_NOHUGEPAGE);
	return memory;
}

static uint8_t *pool_data(const struct client_pool *p, unsigned i)
{
	return p->base + i * STRIDE_BYTES + CLIENT_POOL_EDGE_BYTES;
}

/* Replaces the data pages of each buffer by a second mapping of pages of `bulk`. mremap(2) with an
 * old size of zero keeps the first mapping. */
static int bulk_map(struct client_pool *p)
{
	p->bulk = memory_map(CLIENT_POOL_BULK_BYTES, MAP_SHARED);
	if (!p->bulk)
		return -ENOMEM;
	for (unsigned i = 0; i < CLIENT_POOL_BUFS; i++)
		if (mremap(p->bulk + i * CLIENT_POOL_DATA_BYTES, 0, CLIENT_POOL_DATA_BYTES,
			   MREMAP_MAYMOVE | MREMAP_FIXED, pool_data(p, i)) == MAP_FAILED)
			return -ENOMEM;
	return 0;
}

int client_pool_init(struct client_pool *p, bool has_bulk)
{
	*p = (struct client_pool){.base = memory_map(POOL_BYTES, MAP_PRIVATE),
				  .n_free = CLIENT_POOL_BUFS};
	if (!p->base || (has_bulk && bulk_map(p) < 0)) {
		client_pool_done(p);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < CLIENT_POOL_BUFS; i++)
		p->free[i] = (uint16_t)(CLIENT_POOL_BUFS - 1 - i);
	return 0;
}

void client_pool_done(struct client_pool *p)
{
	if (p->base)
		munmap(p->base, POOL_BYTES);
	if (p->bulk)
		munmap(p->bulk, CLIENT_POOL_BULK_BYTES);
	*p = (struct client_pool){0};
}

static void pool_drop_pages(struct client_pool *p, unsigned i)
{
	if (p->touched[i] == 0 || p->pinned)
		return;
	(void)madvise(pool_data(p, i) - CLIENT_POOL_EDGE_BYTES, CLIENT_POOL_EDGE_BYTES,
		      MADV_DONTNEED);
	(void)madvise(pool_data(p, i) + CLIENT_POOL_DATA_BYTES, CLIENT_POOL_EDGE_BYTES,
		      MADV_DONTNEED);
	(void)madvise(pool_data(p, i), CLIENT_POOL_DATA_BYTES,
		      p->bulk ? MADV_REMOVE : MADV_DONTNEED);
	p->free_touched -= p->touched[i];
	p->touched[i] = p->populated[i] = 0;
}

void *client_pool_get(struct client_pool *p, unsigned reserve, size_t head_bytes)
{
	unsigned i;

	if (p->n_free <= reserve)
		return NULL;
	i = p->free[--p->n_free];
	p->free_touched -= p->touched[i];
	return pool_data(p, i) - head_bytes;
}

/* Drops the page table entries of `bulk`, but not the pages. The registration of `bulk` with a
 * device has created these entries. The processor never uses them, and because of them the kernel
 * would count each page twice as memory of this process. */
void client_pool_pinned(struct client_pool *p)
{
	p->pinned = true;
	(void)madvise(p->bulk, CLIENT_POOL_BULK_BYTES, MADV_DONTNEED);
}

static unsigned pool_index(const struct client_pool *p, const void *buf)
{
	return (unsigned)((size_t)((const uint8_t *)buf - p->base) / STRIDE_BYTES);
}

uint64_t client_pool_bulk_addr(const struct client_pool *p, const void *data)
{
	unsigned i = pool_index(p, data);

	return (uintptr_t)p->bulk + i * CLIENT_POOL_DATA_BYTES +
	       (size_t)((const uint8_t *)data - pool_data(p, i));
}

/* A kernel before 5.14 refuses to populate pages. The pages are then populated on first use. */
void client_pool_populate(struct client_pool *p, void *buf, size_t bytes)
{
	unsigned i = pool_index(p, buf);
	size_t before = (uintptr_t)buf % (uintptr_t)sysconf(_SC_PAGESIZE);

	bytes = MIN_OF(bytes, (size_t)CLIENT_POOL_BUF_BYTES);
	if (p->populated[i] >= bytes ||
	    madvise((uint8_t *)buf - before, before + bytes, MADV_POPULATE_WRITE) < 0)
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
	/* The buffers at the bottom of the stack lose their pages first, because they have not been
	 * used for the longest time. */
	for (unsigned k = 0; k < p->n_free && p->free_touched > CLIENT_POOL_KEEP_BYTES; k++)
		pool_drop_pages(p, p->free[k]);
}

void client_pool_trim(struct client_pool *p)
{
	for (unsigned k = 0; k < p->n_free; k++)
		pool_drop_pages(p, p->free[k]);
}
