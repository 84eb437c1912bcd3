/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads mountinfo(5). Every other way to examine a FUSE mount can block if the mount has no
 * server. */
#include "agent/supervise/mounts/mountinfo.h"
#include "netcfg/base/base.h"
#include "netcfg/base/vec.h"
#include <stdio.h>
#include <string.h>

/* Replaces \ooo, which mountinfo(5) writes for blanks, tabs, newlines and backslashes. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++, to++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*to = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to = *s;
		}
	}
	*to = '\0';
}

struct line {
	char *point; /* path of the mount point */
	int id, parent;
	struct mountinfo mi;
};

/* Parses a line: "36 35 98:0 /root /mount/point options... - fstype source superoptions". */
static bool parse_line(char *text, struct line *ret)
{
	char *save = NULL, *id, *parent, *dev, *rest = strstr(text, " - ");

	if (!rest)
		return false;
	*rest = '\0';
	rest += 3;
	id = strtok_r(text, " ", &save);
	parent = strtok_r(NULL, " ", &save);
	dev = strtok_r(NULL, " ", &save);
	strtok_r(NULL, " ", &save);
	ret->point = strtok_r(NULL, " ", &save);
	if (!dev || !ret->point || sscanf(id, "%d", &ret->id) != 1 ||
	    sscanf(parent, "%d", &ret->parent) != 1 ||
	    sscanf(dev, "%u:%u", &ret->mi.major, &ret->mi.minor) != 2)
		return false;
	unescape(ret->point);
	rest[strcspn(rest, " ")] = '\0';
	snprintf(ret->mi.fstype, sizeof(ret->mi.fstype), "%s", rest);
	return true;
}

/* Calls cb for each mount until cb returns true or a negative errno. Mounts on one path come in the
 * order in which they were mounted. */
static int each_of(const char *file, int (*cb)(void *user, const struct line *l), void *user)
{
	autofree char *text = NULL;
	size_t cap = 0;
	int found = 0;
	FILE *f = fopen(file, "re");

	if (!f)
		return -errno;
	while (!found && getline(&text, &cap, f) > 0) {
		struct line l;

		if (parse_line(text, &l))
			found = cb(user, &l);
	}
	fclose(f);
	return found;
}

static int each(int (*cb)(void *user, const struct line *l), void *user)
{
	return each_of("/proc/self/mountinfo", cb, user);
}

struct visitor {
	int (*cb)(void *user, const char *point, const struct mountinfo *is);
	void *user;
};

static int visit(void *user, const struct line *l)
{
	const struct visitor *v = user;

	return v->cb(v->user, l->point, &l->mi);
}

int mountinfo_each(const char *file,
		   int (*cb)(void *user, const char *point, const struct mountinfo *is), void *user)
{
	struct visitor v = {cb, user};

	return each_of(file, visit, &v);
}

static bool is_same(const struct mountinfo *a, const struct mountinfo *b)
{
	return a->major == b->major && a->minor == b->minor && strcmp(a->fstype, b->fstype) == 0;
}

/* ---- at one path ---- */

struct at_path {
	const char *path;
	const struct mountinfo *want; /* NULL: any mount */
	struct mountinfo mi;
	bool any;
};

static int keep_top(void *user, const struct line *l)
{
	struct at_path *at = user;

	if (strcmp(l->point, at->path) != 0)
		return 0;
	at->mi = l->mi;
	at->any = true;
	return 0;
}

int mountinfo_top(const char *path, struct mountinfo *ret)
{
	struct at_path at = {.path = path};
	int r = each(keep_top, &at);

	if (r < 0 || !at.any)
		return r;
	*ret = at.mi;
	return 1;
}

static int find_same(void *user, const struct line *l)
{
	const struct at_path *at = user;

	return strcmp(l->point, at->path) == 0 && is_same(&l->mi, at->want);
}

int mountinfo_has(const char *path, const struct mountinfo *want)
{
	struct at_path at = {.path = path, .want = want};

	return each(find_same, &at);
}

struct search {
	const struct mountinfo *want;
	char *path;
	size_t size;
};

static int take_path(void *user, const struct line *l)
{
	struct search *s = user;

	if (!is_same(&l->mi, s->want))
		return 0;
	snprintf(s->path, s->size, "%s", l->point);
	return 1;
}

int mountinfo_find(const struct mountinfo *want, char *path, size_t size)
{
	struct search s = {want, path, size};

	return each(take_path, &s);
}

/* ---- where a path leads ---- */

struct mounted {
	int id, parent;
	size_t depth; /* bytes of the mount point's path */
	struct mountinfo mi;
};

struct way { /* the mounts on a path and on its parent directories */
	const char *path;
	struct mounted *all;
	size_t n;
};

static bool is_on_way(const char *point, const char *path)
{
	size_t len = strcmp(point, "/") == 0 ? 0 : strlen(point);

	return strncmp(point, path, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static int keep_way(void *user, const struct line *l)
{
	struct way *w = user;
	struct mounted *m;

	if (!is_on_way(l->point, w->path))
		return 0;
	m = vec_add(&w->all, &w->n, sizeof(*m));
	if (!m)
		return -ENOMEM;
	*m = (struct mounted){l->id, l->parent, strlen(l->point), l->mi};
	return 0;
}

/* Returns the mount that path resolution enters after `from`: of the mounts in `from`, the first
 * one on the path. Returns NULL if there is none. */
static const struct mounted *next_on(const struct way *w, const struct mounted *from)
{
	const struct mounted *next = NULL;

	for (size_t i = 0; i < w->n; i++) {
		const struct mounted *m = &w->all[i];

		if (m->parent == from->id && m != from && (!next || m->depth < next->depth))
			next = m;
	}
	return next;
}

int mountinfo_leads_elsewhere(const char *path, const struct mountinfo *want, struct mountinfo *ret)
{
	struct way w = {.path = path};
	const struct mounted *m;
	int r = each(keep_way, &w);

	m = w.n > 0 && w.all[0].depth == 1 ? &w.all[0] : NULL; /* the root mount */
	/* Each step enters another mount. The limit matters if the mounts changed while they were
	 * read. */
	for (size_t i = 0; r == 0 && m && i < w.n; i++) {
		const struct mounted *next = next_on(&w, m);

		if (!next)
			break;
		m = next;
	}
	if (r == 0 && m && (m->depth != strlen(path) || !is_same(&m->mi, want))) {
		*ret = m->mi;
		r = 1;
	}
	free(w.all);
	return r;
}
