/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the files of the agent's control group and of its parents. */
#include "agent/base/memory_group.h"
#include "netcfg/base/file.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX 65536U
#define READ_NS (5 * NSEC_PER_SEC)

/* Reads a file of a control group into a heap string. Returns NULL if the file cannot be read, for
 * example because the group was removed. */
static char *read_group(const struct memory_group *g, const char *name, const char *file)
{
	char path[512], *text = NULL;
	size_t len;

	snprintf(path, sizeof(path), "%s%s/%s", g->root, name, file);
	return file_read(path, FILE_BYTES_MAX, &text, &len) < 0 ? NULL : text;
}

/* Returns the number in the line "KEY NUMBER", or 0 if there is no such line. */
static uint64_t number_of(const char *text, const char *key)
{
	const size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoull(line + len, NULL, 10);
	}
	return 0;
}

static uint64_t count_kills(const struct memory_group *g)
{
	autofree char *text = read_group(g, g->name, "memory.events");

	return number_of(text, "oom_kill");
}

/* Counts how often this group or a parent reached its limit with no memory left to reclaim. The
 * kernel's counter of kills also includes kills because the whole host lacks memory. So a kill
 * counts as caused by the group's limit only if this number has grown. */
static uint64_t count_limits_reached(const struct memory_group *g)
{
	char name[sizeof(g->name)];
	uint64_t sum = 0;
	char *slash;

	memcpy(name, g->name, sizeof(name));
	for (;;) {
		autofree char *text = read_group(g, name, "memory.events");

		sum += number_of(text, "oom");
		slash = strrchr(name, '/');
		if (!slash)
			return sum;
		*slash = '\0';
	}
}

void memory_group_open(struct memory_group *g, const char *root)
{
	autofree char *groups = NULL, *events = NULL;
	char path[200];
	const char *at;
	size_t len;

	*g = (struct memory_group){.is_known = false};
	snprintf(g->root, sizeof(g->root), "%.100s/sys/fs/cgroup", root);
	snprintf(path, sizeof(path), "%.100s/proc/self/cgroup", root);
	if (file_read(path, FILE_BYTES_MAX, &groups, &len) < 0)
		return;
	at = strncmp(groups, "0::/", 4) == 0 ? groups : strstr(groups, "\n0::/");
	if (!at)
		return;
	at += *at == '\n';
	at += 3;
	len = strcspn(at, "\n");
	if (len >= sizeof(g->name))
		return;
	snprintf(g->name, sizeof(g->name), "%.*s", len == 1 ? 0 : (int)len, at);
	events = read_group(g, g->name, "memory.events");
	g->is_known = events;
	g->n_kills = number_of(events, "oom_kill");
	g->n_limits = count_limits_reached(g);
}

/* Returns the memory that the kernel cannot reclaim. The page cache is excluded, because reads of
 * exports fill all free memory with it. */
static uint64_t used_bytes(const struct memory_group *g, const char *name)
{
	static const char *const keys[] = {"anon",   "shmem", "kernel_stack",	   "pagetables",
					   "percpu", "sock",  "slab_unreclaimable"};
	autofree char *text = read_group(g, name, "memory.stat");
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		sum += number_of(text, keys[i]);
	return sum;
}

/* Returns the limit in the file, or UINT64_MAX if the group has no limit. */
static uint64_t limit_of(const struct memory_group *g, const char *name, const char *file)
{
	autofree char *text = read_group(g, name, file);

	return text && text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
}

struct fullest { /* the group that is closest to its limit: the agent's group or a parent */
	char name[256];
	const char *key; /* systemd's name for the limit; NULL: no group has a limit */
	uint64_t used, limit;
};

static void compare(const struct memory_group *g, const char *name, const char *file,
		    const char *key, struct fullest *f)
{
	const uint64_t limit = limit_of(g, name, file);
	const uint64_t used = limit == UINT64_MAX ? 0 : used_bytes(g, name);

	if (limit == UINT64_MAX ||
	    (f->key && (double)used / (double)MAX_OF(limit, 1U) <=
			       (double)f->used / (double)MAX_OF(f->limit, 1U)))
		return;
	snprintf(f->name, sizeof(f->name), "%s", name[0] ? name : "/");
	f->key = key;
	f->used = used;
	f->limit = limit;
}

static void fullest_find(const struct memory_group *g, struct fullest *ret)
{
	char name[sizeof(g->name)];
	char *slash;

	*ret = (struct fullest){.key = NULL};
	memcpy(name, g->name, sizeof(name));
	for (;;) {
		compare(g, name, "memory.max", "MemoryMax", ret);
		compare(g, name, "memory.high", "MemoryHigh", ret);
		slash = strrchr(name, '/');
		if (!slash)
			return;
		*slash = '\0';
	}
}

bool memory_group_has_killed(struct memory_group *g, struct reason *why)
{
	const uint64_t n = g->is_known ? count_kills(g) : 0, was = g->n_limits;
	struct fullest f;

	if (n <= g->n_kills)
		return false;
	g->n_kills = n;
	g->n_limits = count_limits_reached(g);
	g->killed_ns = clock_now_ns();
	fullest_find(g, &f);
	if (f.key && g->n_limits > was)
		reason_set(&g->kill, "memory-limit",
			   "the kernel killed a process of Plenum because memory ran out; control "
			   "group %.150s may use %" PRIu64
			   " MiB (%s): raise this limit with 'systemctl edit plenumd', or give the "
			   "host more memory",
			   f.name, f.limit >> 20, f.key);
	else
		reason_set(&g->kill, "memory-limit",
			   "the kernel killed a process of Plenum because the host's memory ran "
			   "out; see which programs use it");
	*why = g->kill;
	return true;
}

const struct reason *memory_group_look(struct memory_group *g, uint64_t now_ns)
{
	static const struct reason none;
	struct fullest f;

	if (!g->is_known)
		return &none;
	if (!g->read_ns || now_ns - g->read_ns >= READ_NS) {
		g->read_ns = now_ns;
		reason_clear(&g->near);
		fullest_find(g, &f);
		if (f.key && f.used / MEMORY_GROUP_PERCENT >= f.limit / 100)
			reason_set(&g->near, "memory-limit",
				   "%" PRIu64 " of the %" PRIu64
				   " MiB that control group %.150s may use are taken (%s): at the "
				   "limit the kernel slows workers down or kills them; raise the "
				   "limit with 'systemctl edit plenumd'",
				   f.used >> 20, f.limit >> 20, f.name, f.key);
	}
	if (reason_is_set(&g->near))
		return &g->near;
	return g->killed_ns && now_ns - g->killed_ns < MEMORY_GROUP_KILL_NS ? &g->kill : &none;
}
