/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and numbers of held descriptors: apart because a hold outlives worker and agent alike. */
#include "agent/holds.h"
#include "agent/loop.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#define HOLD_NAME_MAX 64

static const char *hold_name(uint32_t worker_id, uint32_t index, uint64_t key, char *buf)
{
	snprintf(buf, HOLD_NAME_MAX, "hold-%" PRIu32 "-%" PRIu32 "-%" PRIx64, worker_id, index,
		 key);
	return buf;
}

bool holds_parse_name(const char *name, uint32_t *ret_worker_id, uint32_t *ret_index,
		      uint64_t *ret_key)
{
	return sscanf(name, "hold-%" SCNu32 "-%" SCNu32 "-%" SCNx64, ret_worker_id, ret_index,
		      ret_key) == 3;
}

static struct hold **hold_find(struct holds *h, uint32_t index, uint64_t key)
{
	struct hold **at = &h->first;

	while (*at && ((*at)->index != index || (*at)->key != key))
		at = &(*at)->next;
	return at;
}

static void hold_remove(struct holds *h, uint32_t worker_id, struct hold **at)
{
	struct hold *hold = *at;
	char name[HOLD_NAME_MAX];

	*at = hold->next;
	h->n--;
	loop_unstore_fd(hold_name(worker_id, hold->index, hold->key, name));
	close(hold->fd);
	free(hold);
}

static bool hold_is_path(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && flags & O_PATH;
}

int holds_add(struct holds *h, uint32_t worker_id, uint32_t index, uint64_t key, int fd)
{
	autoclose int own = fd;
	char name[HOLD_NAME_MAX];
	struct hold *hold;

	holds_drop(h, worker_id, index, key);
	if (!hold_is_path(fd))
		return -EBADF;
	if (h->n >= HOLDS_MAX)
		return -ENOSPC;
	hold = malloc(sizeof(*hold));
	if (!hold)
		return -ENOMEM;
	*hold = (struct hold){.index = index, .key = key, .fd = fd_take(own), .next = h->first};
	h->first = hold;
	h->n++;
	loop_store_fd(hold->fd, hold_name(worker_id, index, key, name));
	return 0;
}

void holds_drop(struct holds *h, uint32_t worker_id, uint32_t index, uint64_t key)
{
	struct hold **at = hold_find(h, index, key);

	if (*at)
		hold_remove(h, worker_id, at);
}

void holds_done(struct holds *h)
{
	while (h->first) {
		struct hold *hold = h->first;

		h->first = hold->next;
		close(hold->fd);
		free(hold);
	}
	h->n = 0;
}

void holds_clear(struct holds *h, uint32_t worker_id)
{
	while (h->first)
		hold_remove(h, worker_id, &h->first);
}
