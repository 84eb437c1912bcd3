/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state's memory: chunks of a memfd, given out and taken back so that the process may die
 * between any two instructions.
 */
#include "dataplane/fuse/fuse_back_state.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define STATE_MAGIC 0x4b43414253464c50ULL /* "PLFSBACK" */
#define STATE_VERSION 3
#define STATE_HEAD_BYTES STATE_CHUNK_BYTES
#define STATE_MAP_BYTES (STATE_HEAD_BYTES + (uint64_t)STATE_CHUNKS_MAX * STATE_CHUNK_BYTES)

struct state_head {
	uint64_t magic;
	uint32_t version;
};

static struct state_chunk *chunk_at(const struct state *s, uint32_t i)
{
	return (struct state_chunk *)(s->map + STATE_HEAD_BYTES + (uint64_t)i * STATE_CHUNK_BYTES);
}

static bool is_ours(const struct state *s, off_t size)
{
	const struct state_head *head = (const void *)s->map;

	return size >= (off_t)STATE_HEAD_BYTES && head->magic == STATE_MAGIC &&
	       head->version == STATE_VERSION;
}

static int format(struct state *s)
{
	struct state_head *head = (void *)s->map;

	if (ftruncate(s->fd, 0) < 0 || ftruncate(s->fd, (off_t)STATE_HEAD_BYTES) < 0)
		return -errno;
	head->version = STATE_VERSION;
	state_publish(&head->magic, STATE_MAGIC);
	return 0;
}

int state_init(struct state *s, int fd)
{
	struct stat st;
	int r = 0;

	*s = (struct state){.fd = -1};
	s->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : memfd_create("fuse-back", MFD_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &st) < 0) {
		r = -errno;
		goto fail;
	}
	/* The whole range is mapped at once: the file grows under it and pointers stay valid. */
	s->map = mmap(NULL, STATE_MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		      s->fd, 0);
	if (s->map == MAP_FAILED) {
		s->map = NULL;
		r = -errno;
		goto fail;
	}
	if (is_ours(s, st.st_size))
		s->n_chunks = (uint32_t)MIN_OF(((uint64_t)st.st_size - STATE_HEAD_BYTES) /
						       STATE_CHUNK_BYTES,
					       STATE_CHUNKS_MAX);
	else
		r = format(s);
	if (r == 0)
		return 0;
fail:
	state_done(s);
	return r;
}

void state_done(struct state *s)
{
	if (s->map)
		munmap(s->map, STATE_MAP_BYTES);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct state){.fd = -1};
}

static int grow(struct state *s)
{
	/* By an eighth, so that growing stays rare. */
	uint32_t n = MIN_OF(s->n_chunks + s->n_chunks / 8 + 4, STATE_CHUNKS_MAX);

	if (n == s->n_chunks)
		return -ENOMEM;
	if (ftruncate(s->fd, (off_t)(STATE_HEAD_BYTES + (uint64_t)n * STATE_CHUNK_BYTES)) < 0)
		return -errno;
	s->next = s->n_chunks;
	s->n_chunks = n;
	return 0;
}

void *state_chunk_new(struct state *s, const struct state_chunk *head)
{
	struct state_chunk *c;
	uint32_t i;

	for (i = s->next; i < s->n_chunks && chunk_at(s, i)->kind != STATE_FREE; i++)
		;
	if (i == s->n_chunks) {
		if (grow(s) < 0)
			return NULL;
		i = s->next;
	}
	s->next = i + 1;
	c = chunk_at(s, i);
	/* A predecessor may have died while it emptied it. */
	madvise(c, STATE_CHUNK_BYTES, MADV_REMOVE);
	c->pos = head->pos;
	memcpy(c->mount_id, head->mount_id, sizeof(c->mount_id));
	state_publish(&c->kind, head->kind);
	return c + 1;
}

int state_chunk_each(struct state *s,
		     int (*found)(void *arg, const struct state_chunk *head, void *records),
		     void *arg)
{
	for (uint32_t i = 0; i < s->n_chunks; i++) {
		struct state_chunk *c = chunk_at(s, i);
		int r = c->kind == STATE_FREE ? 0 : found(arg, c, c + 1);

		if (r < 0)
			return r;
	}
	return 0;
}

void state_chunk_free(struct state *s, void *records)
{
	struct state_chunk *c = (struct state_chunk *)records - 1;
	size_t i = ((size_t)((uint8_t *)c - s->map) - STATE_HEAD_BYTES) / STATE_CHUNK_BYTES;

	state_publish(&c->kind, (uint32_t)STATE_FREE);
	madvise(c, STATE_CHUNK_BYTES, MADV_REMOVE);
	s->next = (uint32_t)MIN_OF(s->next, i);
}
