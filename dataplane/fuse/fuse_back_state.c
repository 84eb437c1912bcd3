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
#define STATE_VERSION 2
#define STATE_HEAD_BYTES                                                           \
	((sizeof(struct state_head) + STATE_CHUNK_BYTES - 1) / STATE_CHUNK_BYTES * \
	 STATE_CHUNK_BYTES)
#define STATE_MAP_BYTES (STATE_HEAD_BYTES + (uint64_t)STATE_CHUNKS_MAX * STATE_CHUNK_BYTES)

static uint8_t *state_chunk_at(const struct state *s, uint32_t i)
{
	return s->map + STATE_HEAD_BYTES + (uint64_t)i * STATE_CHUNK_BYTES;
}

static uint32_t state_owner(unsigned mount, enum state_kind kind, uint32_t pos)
{
	return (uint32_t)kind << 28 | (mount + 1) << 20 | pos;
}

static bool state_is_ours(const struct state *s, off_t size)
{
	return size >= (off_t)STATE_HEAD_BYTES && s->head->magic == STATE_MAGIC &&
	       s->head->version == STATE_VERSION;
}

static int state_format(struct state *s)
{
	if (ftruncate(s->fd, 0) < 0 || ftruncate(s->fd, (off_t)STATE_HEAD_BYTES) < 0)
		return -errno;
	s->head->version = STATE_VERSION;
	state_publish(&s->head->magic, STATE_MAGIC);
	return 0;
}

static void state_chunk_free(struct state *s, uint32_t i)
{
	/* Emptied before it is free, so that a free chunk is always zero. */
	madvise(state_chunk_at(s, i), STATE_CHUNK_BYTES, MADV_REMOVE);
	state_publish(&s->head->owner[i], 0);
	s->next = MIN_OF(s->next, i);
}

/* A predecessor may have died while it dropped a mount. */
static void state_sweep(struct state *s)
{
	for (uint32_t i = 0; i < s->n_chunks; i++) {
		uint32_t o = s->head->owner[i], mount = (o >> 20 & 0xff) - 1;

		if (o != 0 && (mount >= STATE_MOUNTS_MAX || !s->head->mounts[mount].used))
			state_chunk_free(s, i);
	}
}

int state_init(struct state *s, int fd, bool *ret_old)
{
	struct stat st;
	int r;

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
	s->head = (struct state_head *)s->map;
	*ret_old = state_is_ours(s, st.st_size);
	if (!*ret_old) {
		r = state_format(s);
		if (r < 0)
			goto fail;
		return 0;
	}
	s->n_chunks = (uint32_t)MIN_OF(
		((uint64_t)st.st_size - STATE_HEAD_BYTES) / STATE_CHUNK_BYTES, STATE_CHUNKS_MAX);
	state_sweep(s);
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

static int state_grow(struct state *s)
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

void *state_chunk_new(struct state *s, unsigned mount, enum state_kind kind, uint32_t pos)
{
	uint32_t i;

	if (pos >= 1U << 20)
		return NULL;
	for (i = s->next; i < s->n_chunks && s->head->owner[i] != 0; i++)
		;
	if (i == s->n_chunks) {
		if (state_grow(s) < 0)
			return NULL;
		i = s->next;
	}
	s->next = i + 1;
	/* Free chunks hold no pages, so they read as zeroes. */
	state_publish(&s->head->owner[i], state_owner(mount, kind, pos));
	return state_chunk_at(s, i);
}

int state_chunk_each(struct state *s, unsigned mount,
		     int (*found)(void *arg, enum state_kind kind, uint32_t pos, void *chunk),
		     void *arg)
{
	for (uint32_t i = 0; i < s->n_chunks; i++) {
		uint32_t o = s->head->owner[i];
		int r;

		if (o == 0 || (o >> 20 & 0xff) != mount + 1)
			continue;
		r = found(arg, (enum state_kind)(o >> 28), o & 0xfffff, state_chunk_at(s, i));
		if (r < 0)
			return r;
	}
	return 0;
}

void state_mount_drop(struct state *s, unsigned mount)
{
	state_publish(&s->head->mounts[mount].used, 0);
	for (uint32_t i = 0; i < s->n_chunks; i++) {
		if ((s->head->owner[i] >> 20 & 0xff) == mount + 1)
			state_chunk_free(s, i);
	}
}
