/* SPDX-License-Identifier: BSD-3-Clause */
/* States and pinned files of exports. They outlive workers and are passed from a worker to its
 * successor. */
#include "agent/supervise/handover/exports.h"
#include "agent/supervise/handover/fd_store.h"
#include "agent/supervise/handover/pinned_files.h"
#include "netcfg/base/os/memfd.h"
#include <stdio.h>
#include <string.h>

#define NAME_HEAD "export-"
#define STATE_NAME_MAX (PLENUM_NAME_MAX + 16)
#define REMOVED_MAX 16U /* maximum number of removed exports whose states are kept */

struct export
{
	char name[PLENUM_NAME_MAX];
	int state_fd; /* -1: none yet */
	/* When the export was removed from the configuration; 0: it is configured. */
	uint64_t removed_ns;
	struct pinned_files pinned;
	struct export *next;
};

/* Returns the size of a memory that all compute workers share; 0: the name is that of an export,
 * whose state has no fixed size. */
static size_t fixed_bytes(const char *name)
{
	if (strcmp(name, EXPORTS_SHARE) == 0)
		return LAUNCH_SHARE_BYTES;
	return strcmp(name, EXPORTS_LOCKS) == 0 ? LAUNCH_LOCKS_BYTES : 0;
}

/* Writes the name that the state has in the descriptor store and as a memfd. The name shows to
 * which export the state belongs. */
static const char *state_name(const char *name, char *buf)
{
	snprintf(buf, STATE_NAME_MAX, NAME_HEAD "%.*s", PLENUM_NAME_MAX - 1, name);
	return buf;
}

static struct export *find(const struct exports *x, const char *name)
{
	struct export *e = x->first;

	while (e && strcmp(e->name, name) != 0)
		e = e->next;
	return e;
}

static struct export *get(struct exports *x, const char *name)
{
	struct export *e = find(x, name);

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->state_fd = -1;
	e->next = x->first;
	x->first = e;
	return e;
}

static void forget(struct export *e)
{
	char name[STATE_NAME_MAX];

	if (e->state_fd >= 0)
		fd_store_drop(state_name(e->name, name));
	pinned_files_clear(&e->pinned, e->name);
}

static void export_free(struct export *e)
{
	pinned_files_done(&e->pinned);
	cleanup_close(&e->state_fd);
	free(e);
}

int exports_state(struct exports *x, const char *name)
{
	struct export *e = get(x, name);
	char text[STATE_NAME_MAX];

	if (!e)
		return -ENOMEM;
	if (e->state_fd >= 0)
		return e->state_fd;
	pinned_files_clear(&e->pinned, e->name);
	/* All workers of the export map the state, so no worker must be able to shrink it and crash
	 * the others. */
	e->state_fd = fixed_bytes(name)
			      ? memfd_new_shared(state_name(name, text), fixed_bytes(name))
			      : memfd_new_growing(state_name(name, text));
	if (e->state_fd >= 0)
		fd_store_put(e->state_fd, text);
	return e->state_fd;
}

int exports_locks(const struct exports *x)
{
	const struct export *e = find(x, EXPORTS_LOCKS);

	return e ? e->state_fd : -1;
}

bool exports_has_state(const struct exports *x, const char *name)
{
	const struct export *e = find(x, name);

	return e && e->state_fd >= 0;
}

static int adopt(struct exports *x, const char *name, int fd)
{
	char text[STATE_NAME_MAX];
	struct export *e;

	if (exports_has_state(x, name) || !memfd_has_name(fd, state_name(name, text)))
		return -ENOENT;
	if (fixed_bytes(name) && !memfd_is_fixed_at(fd, fixed_bytes(name)))
		return -ENOENT;
	e = get(x, name);
	if (!e)
		return -ENOMEM;
	e->state_fd = fd;
	/* The descriptor is stored even if it came from the store. That is harmless, because the
	 * service manager keeps only one copy. */
	fd_store_put(fd, text);
	return 0;
}

/* The file of a state from a worker must have seals. Without seals, the worker could pass a file
 * and shrink it while the export's other workers use it. A stored state was created by an agent; an
 * earlier version may have created it without seals. */
int exports_adopt(struct exports *x, const char *name, int fd)
{
	return memfd_is_fixed(fd) ? adopt(x, name, fd) : -ENOENT;
}

int exports_adopt_stored(struct exports *x, int fd, const char *stored)
{
	const char *name;
	uint64_t key;

	if (strncmp(stored, NAME_HEAD, strlen(NAME_HEAD)) == 0)
		return adopt(x, stored + strlen(NAME_HEAD), fd);
	name = pinned_files_parse_name(stored, &key);
	if (!name)
		return -ENOENT;
	exports_hold(x, name, key, fd);
	return 0;
}

int exports_hold(struct exports *x, const char *name, uint64_t key, int fd)
{
	struct export *e;

	exports_drop(x, key);
	e = get(x, name);
	if (e)
		return pinned_files_add(&e->pinned, e->name, key, fd);
	close(fd);
	return -ENOMEM;
}

void exports_drop(struct exports *x, uint64_t key)
{
	for (struct export *e = x->first; e; e = e->next)
		if (pinned_files_drop(&e->pinned, e->name, key))
			return;
}

unsigned exports_pinned(const struct exports *x, const char *name)
{
	for (const struct export *e = x->first; e; e = e->next)
		if (strcmp(e->name, name) == 0)
			return e->pinned.n;
	return 0;
}

/* Returns whether a configuration has the export, even if its directory is missing at present. */
static bool is_in_use(const struct export *e, const struct launch_config *configs, size_t n)
{
	if (fixed_bytes(e->name))
		return true;
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < configs[i].n_exports + configs[i].n_missing; j++)
			if (strcmp(configs[i].exports[j].name, e->name) == 0)
				return true;
	return false;
}

static unsigned removed_oldest(struct exports *x, struct export ***ret)
{
	unsigned n = 0;

	for (struct export **at = &x->first; *at; at = &(*at)->next) {
		if ((*at)->removed_ns == 0)
			continue;
		if (n++ == 0 || (*at)->removed_ns < (**ret)->removed_ns)
			*ret = at;
	}
	return n;
}

void exports_keep(struct exports *x, const struct launch_config *configs, size_t n)
{
	for (struct export *e = x->first; e; e = e->next) {
		if (is_in_use(e, configs, n))
			e->removed_ns = 0;
		else if (e->removed_ns == 0)
			e->removed_ns = clock_now_ns();
	}
}

void exports_settle(struct exports *x)
{
	struct export **oldest = NULL, *e;

	for (e = x->first; e; e = e->next)
		if (e->removed_ns)
			/* Releases the pinned files, which would keep the export's file system
			 * busy. */
			pinned_files_clear(&e->pinned, e->name);
	while (removed_oldest(x, &oldest) > REMOVED_MAX) {
		e = *oldest;
		*oldest = e->next;
		forget(e);
		export_free(e);
	}
}

void exports_done(struct exports *x, bool for_good)
{
	while (x->first) {
		struct export *e = x->first;

		x->first = e->next;
		if (for_good)
			forget(e);
		export_free(e);
	}
}
