/* SPDX-License-Identifier: BSD-3-Clause */
/* The pinned files of an export, and their names in the descriptor store. */
#include "agent/supervise/handover/pinned_files.h"
#include "agent/supervise/handover/fd_store.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

/* Agents of other versions read these names too, so they must not change. */
#define NAME_HEAD "hold-"
#define HOLD_NAME_MAX (PLENUM_NAME_MAX + 32)

static const char *hold_name(const char *owner, uint64_t key, char *buf)
{
	snprintf(buf, HOLD_NAME_MAX, NAME_HEAD "%" PRIx64 "-%.*s", key, PLENUM_NAME_MAX, owner);
	return buf;
}

const char *pinned_files_parse_name(const char *name, uint64_t *ret_key)
{
	int n = 0;

	return sscanf(name, NAME_HEAD "%" SCNx64 "-%n", ret_key, &n) == 1 && n ? name + n : NULL;
}

static struct pinned_file **hold_find(struct pinned_files *h, uint64_t key)
{
	struct pinned_file **at = &h->first;

	while (*at && (*at)->key != key)
		at = &(*at)->next;
	return at;
}

static void hold_remove(struct pinned_files *h, const char *owner, struct pinned_file **at)
{
	struct pinned_file *file = *at;
	char name[HOLD_NAME_MAX];

	*at = file->next;
	h->n--;
	fd_store_drop(hold_name(owner, file->key, name));
	close(file->fd);
	free(file);
}

static bool hold_is_path(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && flags & O_PATH;
}

int pinned_files_add(struct pinned_files *h, const char *owner, uint64_t key, int fd)
{
	autoclose int own = fd;
	char name[HOLD_NAME_MAX];
	struct pinned_file *file;

	pinned_files_drop(h, owner, key);
	if (!hold_is_path(fd))
		return -EBADF;
	if (h->n >= PINNED_FILES_MAX)
		return -ENOSPC;
	file = malloc(sizeof(*file));
	if (!file)
		return -ENOMEM;
	*file = (struct pinned_file){.key = key, .fd = fd_take(own), .next = h->first};
	h->first = file;
	h->n++;
	fd_store_put(file->fd, hold_name(owner, key, name));
	return 0;
}

bool pinned_files_drop(struct pinned_files *h, const char *owner, uint64_t key)
{
	struct pinned_file **at = hold_find(h, key);

	if (!*at)
		return false;
	hold_remove(h, owner, at);
	return true;
}

void pinned_files_done(struct pinned_files *h)
{
	while (h->first) {
		struct pinned_file *file = h->first;

		h->first = file->next;
		close(file->fd);
		free(file);
	}
	h->n = 0;
}

void pinned_files_clear(struct pinned_files *h, const char *owner)
{
	while (h->first)
		hold_remove(h, owner, &h->first);
}
