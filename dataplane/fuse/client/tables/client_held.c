/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps held data in the mount's state descriptor. If the process dies at any instruction, the
 * buffer has either only its old data, or its old data and all new data. */
#include "dataplane/fuse/client/tables/client_held.h"

#include "netcfg/base/os/memfd.h"

#include <string.h>

#define HELD_MAGIC 0x31444c4548464c50ULL /* "PLFHELD1" */
#define HELD_HEAD_BYTES 4096U
#define HELD_BYTES \
	(HELD_HEAD_BYTES + (size_t)CLIENT_HELD_FILES * CLIENT_HELD_BUFS * CLIENT_HELD_BUF_BYTES)
_Static_assert(sizeof(struct client_held_head) <= HELD_HEAD_BYTES, "the buffers follow the head");

static bool is_valid(const struct client_held_head *head, const uint8_t mount_id[16])
{
	if (head->magic != HELD_MAGIC ||
	    memcmp(head->mount_id, mount_id, sizeof(head->mount_id)) != 0)
		return false;
	for (unsigned i = 0; i < CLIENT_HELD_FILES; i++)
		for (unsigned b = 0; b < CLIENT_HELD_BUFS; b++)
			if (head->files[i].bufs[b].len > CLIENT_HELD_BYTES)
				return false;
	return true;
}

int client_held_open(struct client_held *h, int fd, uint64_t at, const uint8_t mount_id[16],
		     bool adopt)
{
	int r = memfd_grow(fd, at + HELD_BYTES);
	void *map;

	*h = (struct client_held){.map = NULL};
	if (r < 0)
		return r;
	map = mmap(NULL, HELD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		   (off_t)at);
	if (map == MAP_FAILED)
		return -errno;
	h->map = map;
	h->head = map;
	h->files = h->head->files;
	if (adopt && is_valid(h->head, mount_id))
		return 1;
	client_publish(&h->head->magic, 0);
	memset(h->files, 0, sizeof(h->head->files));
	memcpy(h->head->mount_id, mount_id, sizeof(h->head->mount_id));
	client_publish(&h->head->magic, HELD_MAGIC);
	return 0;
}

void client_held_done(struct client_held *h)
{
	if (h->map)
		munmap(h->map, HELD_BYTES);
	*h = (struct client_held){.map = NULL};
}

void client_held_begin(struct client_held *h, unsigned i, const struct client_held_file *as)
{
	struct client_held_file *f = &h->files[i];
	uint64_t nodeid = as->nodeid;

	*f = *as;
	f->nodeid = 0;
	memset(f->bufs, 0, sizeof(f->bufs));
	client_publish(&f->nodeid, nodeid);
}

void client_held_end(struct client_held *h, unsigned i)
{
	client_publish(&h->files[i].nodeid, 0);
}

static uint64_t end_of(const struct client_held_buf *b)
{
	return b->offset + b->len;
}

static struct client_held_buf *buf_for(struct client_held *h, unsigned i, unsigned but,
				       uint64_t offset, uint32_t len)
{
	struct client_held_buf *empty = NULL;

	for (unsigned b = 0; b < CLIENT_HELD_BUFS; b++) {
		struct client_held_buf *buf = &h->files[i].bufs[b];

		if (b == but)
			continue;
		if (buf->len == 0)
			empty = buf;
		else if (end_of(buf) == offset && buf->len + len <= CLIENT_HELD_BYTES)
			return buf;
	}
	return empty;
}

bool client_held_add(struct client_held *h, unsigned i, unsigned but, uint64_t offset,
		     const void *data, uint32_t len)
{
	struct client_held_buf *buf = buf_for(h, i, but, offset, len);

	if (!buf || len > CLIENT_HELD_BYTES)
		return false;
	if (buf->len == 0)
		client_publish(&buf->offset, offset);
	memcpy(client_held_msg(h, i, (unsigned)(buf - h->files[i].bufs)) + FUSE_PROTO_WRITE_DATA +
		       buf->len,
	       data, len);
	client_publish(&buf->len, buf->len + len);
	return true;
}

unsigned client_held_first(const struct client_held *h, unsigned i)
{
	unsigned first = CLIENT_HELD_BUFS;

	for (unsigned b = 0; b < CLIENT_HELD_BUFS; b++) {
		const struct client_held_buf *buf = &h->files[i].bufs[b];

		if (buf->len > 0 &&
		    (first == CLIENT_HELD_BUFS || buf->offset < h->files[i].bufs[first].offset))
			first = b;
	}
	return first;
}

bool client_held_is_empty(const struct client_held *h, unsigned i)
{
	return client_held_first(h, i) == CLIENT_HELD_BUFS;
}

bool client_held_is_full(const struct client_held *h, unsigned i, uint32_t len)
{
	unsigned n = 0, first = client_held_first(h, i);

	for (unsigned b = 0; b < CLIENT_HELD_BUFS; b++)
		n += h->files[i].bufs[b].len > 0;
	return n == CLIENT_HELD_BUFS ||
	       (n > 0 && h->files[i].bufs[first].len + len > CLIENT_HELD_BYTES);
}

void client_held_drop(struct client_held *h, unsigned i, unsigned buf)
{
	client_publish(&h->files[i].bufs[buf].len, 0);
}

uint8_t *client_held_msg(const struct client_held *h, unsigned i, unsigned buf)
{
	return h->map + HELD_HEAD_BYTES +
	       ((size_t)i * CLIENT_HELD_BUFS + buf) * CLIENT_HELD_BUF_BYTES;
}
