/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes: from the client's number to a file handle to a descriptor and back. The one place that
 * resolves names and opens by handle, so that nothing outside an export is ever reached from
 * elsewhere.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define NODE_ROOT 1U
#define NODE_DEPTH_MAX 4096
#define RAMFS_FS_MAGIC 0x858458f6
#define TMPFS_FS_MAGIC 0x01021994

struct node_handle {
	union {
		struct file_handle h;
		uint8_t space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	};
	bool valid; /* and short enough for the record */
};

static struct state_node *node_at(const struct back_mount *m, uint32_t i)
{
	return &m->node_chunks[i / STATE_NODES_PER_CHUNK][i % STATE_NODES_PER_CHUNK];
}

static struct back_node *node_extra(const struct back_mount *m, uint32_t i)
{
	return &m->node_extras[i / STATE_NODES_PER_CHUNK][i % STATE_NODES_PER_CHUNK];
}

static uint32_t node_dev(dev_t dev)
{
	return (uint32_t)major(dev) << 20 ^ (uint32_t)minor(dev);
}

static uint64_t node_id(const struct back_mount *m, uint32_t i)
{
	return (uint64_t)node_at(m, i)->reuse << 32 | i;
}

struct state_node *back_node_get(struct back_mount *m, uint64_t nodeid, struct back_node **ret)
{
	uint32_t i = (uint32_t)nodeid;
	struct state_node *rec;

	if (i == 0 || i >= m->n_node_chunks * STATE_NODES_PER_CHUNK)
		return NULL;
	rec = node_at(m, i);
	if (!(rec->flags & STATE_NODE_USED) || rec->reuse != nodeid >> 32)
		return NULL;
	if (ret)
		*ret = node_extra(m, i);
	return rec;
}

/* Descriptor cache. */

int back_fds_init(struct fuse_back *b)
{
	struct back_fd_slot *s;
	long max = sysconf(_SC_OPEN_MAX);

	b->n_fds = (uint32_t)(max < 1024 ? 64 : MIN_OF(max / 8, 8192));
	b->fds = calloc(b->n_fds, sizeof(b->fds[0]));
	if (!b->fds)
		return -ENOMEM;
	b->fd_first = b->fd_last = BACK_NONE;
	b->fd_free = 0;
	for (uint32_t i = 0; i < b->n_fds; i++) {
		s = &b->fds[i];
		s->fd = -1;
		s->next = i + 1 < b->n_fds ? i + 1 : BACK_NONE;
	}
	return 0;
}

static void fds_unlink(struct fuse_back *b, uint32_t i)
{
	struct back_fd_slot *s = &b->fds[i];

	*(s->prev == BACK_NONE ? &b->fd_first : &b->fds[s->prev].next) = s->next;
	*(s->next == BACK_NONE ? &b->fd_last : &b->fds[s->next].prev) = s->prev;
}

static void fds_push(struct fuse_back *b, uint32_t i)
{
	struct back_fd_slot *s = &b->fds[i];

	s->prev = BACK_NONE;
	s->next = b->fd_first;
	*(s->next == BACK_NONE ? &b->fd_last : &b->fds[s->next].prev) = i;
	b->fd_first = i;
}

int back_signs_flush(struct fuse_back *b)
{
	int r;

	if (b->signs.n == 0)
		return 0;
	r = fuse_keeper_sign(b->keeper, (unsigned)(b->signs.export - b->exports), b->signs.offsets,
			     b->signs.fds, b->signs.n);
	b->signs.n = 0;
	b->keeper_gone |= r < 0;
	return r;
}

/* cached: fd is in the cache and stays open until it is dropped there; else it is not ours. */
static void signs_add(struct back_mount *m, const struct state_node *rec, int fd, bool cached)
{
	struct fuse_back *b = m->back;

	if (!b->keeper)
		return;
	if (b->signs.n == FUSE_KEEPER_BATCH_MAX || b->signs.export != m->export)
		(void)back_signs_flush(b);
	b->signs.export = m->export;
	b->signs.offsets[b->signs.n] = (uint64_t)((const uint8_t *)rec - b->state.map);
	b->signs.fds[b->signs.n++] = fd;
	if (!cached)
		(void)back_signs_flush(b);
}

static void fds_drop(struct fuse_back *b, uint32_t i)
{
	struct back_fd_slot *s = &b->fds[i];

	(void)back_signs_flush(b); /* it may be among them */
	fds_unlink(b, i);
	close(s->fd);
	s->fd = -1;
	node_extra(s->mount, s->node)->cache = BACK_NONE;
	s->next = b->fd_free;
	b->fd_free = i;
}

/* Owns fd. */
static void fds_add(struct back_mount *m, uint32_t node, int fd)
{
	struct fuse_back *b = m->back;
	struct back_fd_slot *s;
	uint32_t i;

	if (b->fd_free == BACK_NONE)
		fds_drop(b, b->fd_last);
	i = b->fd_free;
	s = &b->fds[i];
	b->fd_free = s->next;
	s->fd = fd;
	s->mount = m;
	s->node = node;
	fds_push(b, i);
	node_extra(m, node)->cache = i;
}

void back_fds_shrink(struct fuse_back *b)
{
	/* Sixteen stay: a caller may be holding more than one. */
	uint32_t n = 0, keep;

	for (uint32_t i = b->fd_first; i != BACK_NONE; i = b->fds[i].next)
		n++;
	for (keep = MAX_OF(n / 2, 16); n > keep; n--)
		fds_drop(b, b->fd_last);
}

void back_fds_drop_mount(struct back_mount *m)
{
	struct fuse_back *b = m->back;
	uint32_t next;

	for (uint32_t i = b->fd_first; i != BACK_NONE; i = next) {
		next = b->fds[i].next;
		if (b->fds[i].mount == m)
			fds_drop(b, i);
	}
}

void back_fds_done(struct fuse_back *b)
{
	for (uint32_t i = 0; b->fds && i < b->n_fds; i++)
		if (b->fds[i].fd >= 0)
			close(b->fds[i].fd);
	free(b->fds);
	b->fds = NULL;
}

/* Handles. */

static int handle_of(int dirfd, const char *name, struct node_handle *h, int *ret_mount)
{
	h->valid = false;
	h->h.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(dirfd, name, &h->h, ret_mount, name[0] ? 0 : AT_EMPTY_PATH) < 0)
		return -errno;
	h->valid = h->h.handle_bytes <= STATE_HANDLE_BYTES_MAX && h->h.handle_type >= 0 &&
		   h->h.handle_type <= UINT8_MAX;
	return 0;
}

/* With a keeper it gives O_PATH only, whatever the flags. */
static int handle_open_once(struct back_mount *m, const struct state_node *rec, int flags)
{
	struct fuse_back *b = m->back;
	struct node_handle h;
	int fd;

	if (b->keeper) {
		(void)back_signs_flush(b);
		fd = fuse_keeper_open(b->keeper, (unsigned)(m->export - b->exports),
				      (uint64_t)((const uint8_t *)rec - b->state.map));
		b->keeper_gone |= fd == -EPIPE;
		return fd;
	}

	h.h.handle_bytes = rec->handle_len;
	h.h.handle_type = rec->handle_type;
	memcpy(h.h.f_handle, rec->handle, rec->handle_len);
	fd = open_by_handle_at(m->export->root_fd, &h.h, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int handle_open(struct back_mount *m, const struct state_node *rec, int flags)
{
	int fd = handle_open_once(m, rec, flags);

	if (fd == -EMFILE || fd == -ENFILE) {
		back_fds_shrink(m->back);
		fd = handle_open_once(m, rec, flags);
	}
	return fd;
}

int back_export_init(struct back_export *e, const struct launch_export *cfg, bool try_handles)
{
	struct node_handle h;
	struct statfs fs;
	struct stat st;
	int fd;

	*e = (struct back_export){.cfg = cfg, .root_fd = cfg->dir_fd, .mount_id = -1};
	if (fstat(e->root_fd, &st) < 0 || fstatfs(e->root_fd, &fs) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	e->root_dev = st.st_dev;
	e->root_ino = st.st_ino;
	e->in_memory = fs.f_type == TMPFS_FS_MAGIC || fs.f_type == RAMFS_FS_MAGIC;
	if (handle_of(e->root_fd, "", &h, &e->mount_id) < 0 || !h.valid || !try_handles)
		return 0;
	fd = open_by_handle_at(e->root_fd, &h.h, O_PATH | O_CLOEXEC);
	e->handles = fd >= 0;
	if (fd >= 0)
		close(fd);
	return 0;
}

/* Hash by (dev, ino). */

static uint32_t *hash_head(const struct back_mount *m, uint32_t dev, uint64_t ino)
{
	uint64_t x = (ino ^ (uint64_t)dev << 40) * 0x9e3779b97f4a7c15ULL;

	return &m->hash[x >> 32 & (m->n_hash - 1)];
}

static void hash_add(struct back_mount *m, uint32_t i)
{
	const struct state_node *rec = node_at(m, i);
	uint32_t *head = hash_head(m, rec->dev, rec->ino);

	node_extra(m, i)->hash_next = *head;
	*head = i;
}

static void hash_remove(struct back_mount *m, uint32_t i)
{
	const struct state_node *rec = node_at(m, i);
	uint32_t *p = hash_head(m, rec->dev, rec->ino);

	for (; *p != BACK_NONE; p = &node_extra(m, *p)->hash_next)
		if (*p == i) {
			*p = node_extra(m, i)->hash_next;
			return;
		}
}

static int hash_resize(struct back_mount *m, uint32_t n)
{
	uint32_t *hash = malloc(n * sizeof(hash[0]));

	if (!hash)
		return -ENOMEM;
	memset(hash, 0xff, n * sizeof(hash[0]));
	free(m->hash);
	m->hash = hash;
	m->n_hash = n;
	for (uint32_t i = 1; i < m->n_node_chunks * STATE_NODES_PER_CHUNK; i++)
		if (node_at(m, i)->flags & STATE_NODE_USED)
			hash_add(m, i);
	return 0;
}

/* A node that keeps its descriptor pins the inode, so its number cannot mean another one. */
static uint32_t hash_find(const struct back_mount *m, const struct stat *st,
			  const struct node_handle *h)
{
	uint32_t dev = node_dev(st->st_dev), i = *hash_head(m, dev, st->st_ino);

	for (; i != BACK_NONE; i = node_extra(m, i)->hash_next) {
		const struct state_node *rec = node_at(m, i);

		if (rec->ino != st->st_ino || rec->dev != dev)
			continue;
		if (rec->flags & STATE_NODE_KEPT)
			break;
		if (h->valid && rec->handle_len == h->h.handle_bytes &&
		    rec->handle_type == h->h.handle_type &&
		    memcmp(rec->handle, h->h.f_handle, rec->handle_len) == 0)
			break;
	}
	return i;
}

/* The table. */

int back_nodes_chunk(struct back_mount *m, uint32_t pos, struct state_node *chunk)
{
	uint32_t n = MAX_OF(m->n_node_chunks, pos + 1);

	if (n > m->n_node_chunks) {
		void *p = realloc(m->node_chunks, n * sizeof(m->node_chunks[0]));

		if (!p)
			return -ENOMEM;
		m->node_chunks = p;
		p = realloc(m->node_extras, n * sizeof(m->node_extras[0]));
		if (!p)
			return -ENOMEM;
		m->node_extras = p;
		for (uint32_t i = m->n_node_chunks; i < n; i++) {
			m->node_chunks[i] = NULL;
			m->node_extras[i] = NULL;
		}
		m->n_node_chunks = n;
	}
	if (m->node_chunks[pos])
		return -EBADMSG;
	m->node_extras[pos] = calloc(STATE_NODES_PER_CHUNK, sizeof(struct back_node));
	if (!m->node_extras[pos])
		return -ENOMEM;
	m->node_chunks[pos] = chunk;
	for (uint32_t i = 0; i < STATE_NODES_PER_CHUNK; i++) {
		m->node_extras[pos][i].cache = BACK_NONE;
		m->node_extras[pos][i].kept_fd = -1;
	}
	return 0;
}

static void nodes_free_push(struct back_mount *m, uint32_t i)
{
	node_extra(m, i)->hash_next = m->free_node;
	m->free_node = i;
}

static int nodes_grow(struct back_mount *m)
{
	uint32_t pos = m->n_node_chunks;
	struct state_node *chunk = state_chunk_new(&m->back->state, m->slot, STATE_NODES, pos);
	int r;

	if (!chunk)
		return -ENOMEM;
	r = back_nodes_chunk(m, pos, chunk);
	if (r < 0)
		return r;
	for (uint32_t i = STATE_NODES_PER_CHUNK; i-- > 0;)
		if (pos * STATE_NODES_PER_CHUNK + i > NODE_ROOT)
			nodes_free_push(m, (uint32_t)(pos * STATE_NODES_PER_CHUNK + i));
	return 0;
}

int back_nodes_init(struct back_mount *m)
{
	struct state_node *root;
	int r;

	m->free_node = BACK_NONE;
	r = nodes_grow(m);
	if (r < 0)
		return r;
	root = node_at(m, NODE_ROOT);
	root->ino = m->export->root_ino;
	root->dev = node_dev(m->export->root_dev);
	root->fmt = S_IFDIR;
	root->nlookup = UINT32_MAX;
	state_publish(&root->flags, (uint8_t)(STATE_NODE_USED | STATE_NODE_KEPT));
	m->n_nodes = 1;
	return hash_resize(m, BACK_HASH_MIN);
}

static void node_erase(struct back_mount *m, uint32_t i)
{
	struct state_node *rec = node_at(m, i);

	state_publish(&rec->flags, 0);
	rec->reuse++;
	nodes_free_push(m, i);
}

int back_nodes_restore(struct back_mount *m)
{
	uint32_t n = BACK_HASH_MIN;

	m->free_node = BACK_NONE;
	m->n_nodes = 0;
	for (uint32_t i = 0; i < m->n_node_chunks; i++)
		if (!m->node_chunks[i])
			return -EBADMSG;
	if (m->n_node_chunks == 0 || !(node_at(m, NODE_ROOT)->flags & STATE_NODE_USED))
		return -EBADMSG;
	for (uint32_t i = (uint32_t)(m->n_node_chunks * STATE_NODES_PER_CHUNK); i-- > NODE_ROOT;) {
		const struct state_node *rec = node_at(m, i);

		if (rec->flags & STATE_NODE_USED && rec->handle_len > STATE_HANDLE_BYTES_MAX)
			return -EBADMSG;
		/* Without a handle there is no way back to it. */
		if (i != NODE_ROOT && rec->flags & STATE_NODE_KEPT)
			node_erase(m, i);
		else if (rec->flags & STATE_NODE_USED)
			m->n_nodes++;
		else
			nodes_free_push(m, i);
	}
	while (n < m->n_nodes)
		n *= 2;
	return hash_resize(m, n);
}

void back_nodes_done(struct back_mount *m)
{
	for (uint32_t i = 0; i < m->n_node_chunks; i++) {
		for (uint32_t k = 0; m->node_extras[i] && k < STATE_NODES_PER_CHUNK; k++)
			if (m->node_extras[i][k].kept_fd >= 0)
				close(m->node_extras[i][k].kept_fd);
		free(m->node_extras[i]);
	}
	free(m->node_extras);
	free(m->node_chunks);
	free(m->hash);
}

static int node_new(struct back_mount *m, const struct stat *st, const struct node_handle *h,
		    uint32_t *ret)
{
	struct state_node *rec;
	uint8_t flags = STATE_NODE_USED;
	uint32_t i;

	if (m->free_node == BACK_NONE && nodes_grow(m) < 0)
		return -ENOMEM;
	if (m->n_nodes >= m->n_hash && m->n_hash < 1U << 30)
		hash_resize(m, m->n_hash * 2); /* a failure costs speed only */
	i = m->free_node;
	m->free_node = node_extra(m, i)->hash_next;
	rec = node_at(m, i);
	rec->reuse++;
	rec->ino = st->st_ino;
	rec->dev = node_dev(st->st_dev);
	rec->fmt = st->st_mode & S_IFMT;
	rec->nlookup = 0;
	rec->handle_len = 0;
	rec->signature = 0;
	if (h->valid) {
		rec->handle_len = (uint8_t)h->h.handle_bytes;
		rec->handle_type = (uint8_t)h->h.handle_type;
		memcpy(rec->handle, h->h.f_handle, rec->handle_len);
	} else {
		flags |= STATE_NODE_KEPT;
	}
	node_extra(m, i)->stamp = 0;
	node_extra(m, i)->n_open = 0;
	state_publish(&rec->flags, flags);
	hash_add(m, i);
	m->n_nodes++;
	*ret = i;
	return 0;
}

static void node_drop(struct back_mount *m, uint32_t i)
{
	struct back_node *extra = node_extra(m, i);

	back_unhold(m, node_id(m, i));
	if (extra->cache != BACK_NONE)
		fds_drop(m->back, extra->cache);
	if (extra->kept_fd >= 0)
		close(extra->kept_fd);
	extra->kept_fd = -1;
	hash_remove(m, i);
	node_erase(m, i);
	m->n_nodes--;
}

void back_node_forget(struct back_mount *m, uint64_t nodeid, uint64_t n)
{
	struct state_node *rec = back_node_get(m, nodeid, NULL);

	if (!rec || rec->nlookup == UINT32_MAX)
		return;
	rec->nlookup -= (uint32_t)MIN_OF(n, rec->nlookup);
	if (rec->nlookup == 0)
		node_drop(m, (uint32_t)nodeid);
}

static void node_entry(struct back_mount *m, uint32_t i, const struct stat *st,
		       struct back_entry *ret)
{
	struct state_node *rec = node_at(m, i);

	if (rec->nlookup != UINT32_MAX)
		rec->nlookup++;
	*ret = (struct back_entry){.nodeid = node_id(m, i), .st = *st};
}

int back_node_fd(struct back_mount *m, uint64_t nodeid)
{
	struct back_node *extra;
	struct state_node *rec = back_node_get(m, nodeid, &extra);
	int fd;

	if (!rec)
		return -ESTALE;
	if (nodeid == FUSE_ROOT_ID)
		return m->export->root_fd;
	if (extra->kept_fd >= 0)
		return extra->kept_fd;
	if (extra->cache != BACK_NONE) {
		struct fuse_back *b = m->back;

		if (b->fd_first != extra->cache) {
			fds_unlink(b, extra->cache);
			fds_push(b, extra->cache);
		}
		return b->fds[extra->cache].fd;
	}
	fd = handle_open(m, rec, O_PATH | O_NOFOLLOW);
	if (fd >= 0)
		fds_add(m, (uint32_t)nodeid, fd);
	return fd;
}

int back_node_open(struct back_mount *m, uint64_t nodeid, int flags)
{
	struct back_node *extra;
	struct state_node *rec = back_node_get(m, nodeid, &extra);
	char path[32];
	int fd;

	if (!rec)
		return -ESTALE;
	if (rec->fmt != S_IFREG && rec->fmt != S_IFDIR)
		return rec->fmt == S_IFLNK ? -ELOOP
					   : -ENXIO; /* pipes and devices are the client's */
	if (rec->fmt == S_IFDIR && (flags & O_ACCMODE) != O_RDONLY)
		return -EISDIR;
	/* Not O_NONBLOCK: io_uring would take it to mean that reads must not wait either. */
	flags |= O_NOCTTY | O_CLOEXEC;
	if (rec->handle_len > 0 && extra->cache == BACK_NONE && !m->back->keeper)
		return handle_open(m, rec, flags);
	fd = back_node_fd(m, nodeid);
	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, flags);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		back_fds_shrink(m->back);
		fd = open(path, flags);
	}
	return fd < 0 ? -errno : fd;
}

/* Finds or makes the node that fd shows. path_fd: fd is O_PATH and given away. */
static int node_of_fd(struct back_mount *m, int fd, bool path_fd, struct back_entry *ret)
{
	autoclose int own = path_fd ? fd : -1;
	struct node_handle h = {.valid = false};
	struct stat st;
	int mount_id = -1, r;
	bool is_new;
	uint32_t i;

	if (fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		return -errno;
	if (m->export->handles)
		handle_of(fd, "", &h, &mount_id);
	if (mount_id != m->export->mount_id)
		h.valid = false; /* another file system: its handles mean nothing to ours */
	i = hash_find(m, &st, &h);
	is_new = i == BACK_NONE;
	if (is_new) {
		if (!h.valid && own < 0) {
			char path[32];

			snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
			own = open(path, O_PATH | O_CLOEXEC);
			if (own < 0)
				return -errno;
		}
		r = node_new(m, &st, &h, &i);
		if (r < 0)
			return r;
		if (!h.valid)
			node_extra(m, i)->kept_fd = fd_take(own);
	}
	if (own >= 0 && i != NODE_ROOT && node_extra(m, i)->cache == BACK_NONE &&
	    node_extra(m, i)->kept_fd < 0)
		fds_add(m, i, fd_take(own));
	if (is_new && h.valid)
		signs_add(m, node_at(m, i), fd, node_extra(m, i)->cache != BACK_NONE);
	node_entry(m, i, &st, ret);
	return 0;
}

int back_node_of_fd(struct back_mount *m, int fd, struct back_entry *ret)
{
	return node_of_fd(m, fd, false, ret);
}

uint64_t back_node_last_name(struct back_mount *m, int dirfd, const char *name)
{
	struct node_handle h;
	struct stat st;
	int mount_id;
	uint32_t i;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_nlink != 1 ||
	    handle_of(dirfd, name, &h, &mount_id) < 0)
		return 0;
	i = hash_find(m, &st, &h);
	return i == BACK_NONE ? 0 : node_id(m, i);
}

uint64_t back_node_next_held(const struct back_mount *m, uint64_t nodeid)
{
	for (uint32_t i = (uint32_t)nodeid + 1; i < m->n_node_chunks * STATE_NODES_PER_CHUNK; i++)
		if (m->node_chunks[i / STATE_NODES_PER_CHUNK] && /* else the state is damaged */
		    node_at(m, i)->flags & STATE_NODE_HELD)
			return node_id(m, i);
	return 0;
}

static int node_open_name(struct back_mount *m, int dirfd, const char *name)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
	};
	long fd = syscall(SYS_openat2, dirfd, name, &how, sizeof(how));

	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		back_fds_shrink(m->back);
		fd = syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
	}
	return fd < 0 ? -errno : (int)fd;
}

/* A directory that was moved out of the export has parents that are none of the client's business:
 * only one from which the root can be reached upwards is shown. */
static int node_is_below_root(const struct back_mount *m, int fd)
{
	autoclose int up = -1;
	struct stat st, last = {};

	for (unsigned depth = 0; depth < NODE_DEPTH_MAX; depth++) {
		int next;

		if (fstat(up < 0 ? fd : up, &st) < 0)
			return -errno;
		if (st.st_dev == m->export->root_dev && st.st_ino == m->export->root_ino)
			return 0;
		if (depth > 0 && st.st_dev == last.st_dev && st.st_ino == last.st_ino)
			return -ESTALE;
		last = st;
		next = openat(up < 0 ? fd : up, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (next < 0)
			return -errno;
		if (up >= 0)
			close(up);
		up = next;
	}
	return -ESTALE;
}

static int node_lookup_parent(struct back_mount *m, uint64_t nodeid, int fd, struct back_entry *ret)
{
	autoclose int up = -1;
	int r;

	if (nodeid == FUSE_ROOT_ID)
		return node_of_fd(m, fd, false, ret);
	r = node_is_below_root(m, fd);
	if (r < 0)
		return r;
	up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (up < 0)
		return -errno;
	/* Once more: it may have moved between the two. */
	r = node_is_below_root(m, up);
	return r < 0 ? r : node_of_fd(m, fd_take(up), true, ret);
}

int back_node_lookup(struct back_mount *m, uint64_t parent, const char *name,
		     struct back_entry *ret)
{
	int dirfd = back_node_fd(m, parent), mount_id, fd, r;
	struct node_handle h;
	struct stat st;
	uint32_t i;

	if (dirfd < 0)
		return dirfd;
	if (strcmp(name, ".") == 0)
		return node_of_fd(m, dirfd, false, ret);
	if (strcmp(name, "..") == 0)
		return node_lookup_parent(m, parent, dirfd, ret);
	if (m->export->handles) {
		/* Two calls instead of four where the node is known. A handle names the inode
		 * beyond doubt, so a name that changes between the two is noticed. */
		r = handle_of(dirfd, name, &h, &mount_id);
		if (r < 0 && r != -EOPNOTSUPP && r != -EOVERFLOW)
			return r;
		if (h.valid && fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			i = hash_find(m, &st, &h);
			if (i != BACK_NONE) {
				node_entry(m, i, &st, ret);
				return 0;
			}
		}
	}
	fd = node_open_name(m, dirfd, name);
	return fd < 0 ? fd : node_of_fd(m, fd, true, ret);
}
