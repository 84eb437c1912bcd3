/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps and initialises the state of a mount's client, and computes the positions of its tables.
 */
#include "dataplane/fuse/client/tables/client_state.h"

#include "netcfg/base/os/memfd.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#define STATE_MAGIC 0x544e4f5246464c50ULL /* "PLFFRONT" */
#define STATE_VERSION 1

static bool state_is_ours(const struct client_state *s, const uint8_t mount_id[16])
{
	const struct client_head *h = s->head;

	return h->magic == STATE_MAGIC && h->version == STATE_VERSION &&
	       memcmp(h->mount_id, mount_id, sizeof(h->mount_id)) == 0 &&
	       (h->flags & ~FUSE_PROTO_FLAGS) == 0 && h->n_nodes >= 2 &&
	       h->n_nodes <= CLIENT_NODES_MAX && h->n_files <= CLIENT_FILES_MAX;
}

/* Makes an empty state. All memory is released first, so that unused records are zero. */
static int state_format(struct client_state *s, const uint8_t mount_id[16])
{
	uint32_t random[2] = {0};

	if (madvise(s->map, CLIENT_STATE_BYTES, MADV_REMOVE) < 0)
		return -errno;
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	s->head->version = STATE_VERSION;
	memcpy(s->head->mount_id, mount_id, sizeof(s->head->mount_id));
	s->head->generation = random[0];
	s->head->reuse = random[1];
	s->head->n_nodes = 2;
	s->nodes[FUSE_ROOT_ID].stamp.size = UINT64_MAX;
	s->nodes[FUSE_ROOT_ID].flags = CLIENT_NODE_USED;
	client_publish(&s->head->magic, STATE_MAGIC);
	return 0;
}

int client_state_init(struct client_state *s, int fd, uint64_t at, const uint8_t mount_id[16])
{
	void *map;
	int r = memfd_grow(fd, at + CLIENT_STATE_BYTES);

	*s = (struct client_state){.map = NULL};
	if (r < 0)
		return r;
	map = mmap(NULL, CLIENT_STATE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		   (off_t)at);
	if (map == MAP_FAILED)
		return -errno;
	s->map = map;
	s->head = map;
	s->files = (void *)(s->map + CLIENT_STATE_HEAD_BYTES);
	s->nodes = (void *)(s->map + CLIENT_STATE_HEAD_BYTES + CLIENT_STATE_FILES_BYTES);
	if (state_is_ours(s, mount_id))
		return 1;
	r = state_format(s, mount_id);
	if (r < 0)
		client_state_done(s);
	return r;
}

void client_state_done(struct client_state *s)
{
	if (s->map)
		munmap(s->map, CLIENT_STATE_BYTES);
	*s = (struct client_state){.map = NULL};
}
