/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects of exports: from the handle that a client gives to a descriptor, and from names and
 * descriptors to handles. The one place that resolves names and opens by handle, so that nothing
 * outside an export is ever reached from elsewhere. All that is kept here may be forgotten: a
 * handle says what it means without it, unless it is of a file system that gives none.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include "netcfg/base/hash.h"
#include <linux/openat2.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#define NODE_CHAINS (1U << 17)
#define NODE_CLOSED_MAX (1U << 17)
#define NODE_DEPTH_MAX 4096
#define NODE_IDLE_TICKS 3
#define RAMFS_FS_MAGIC 0x858458f6
#define TMPFS_FS_MAGIC 0x01021994

/* ------------------------------------------------------------------ lists and chains */

static void list_push(struct back_list *l, struct back_node *n)
{
	n->list = l;
	n->newer = NULL;
	n->older = l->first;
	*(l->first ? &l->first->newer : &l->last) = n;
	l->first = n;
	l->n++;
}

static void list_remove(struct back_node *n)
{
	struct back_list *l = n->list;

	if (!l)
		return;
	*(n->newer ? &n->newer->older : &l->first) = n->older;
	*(n->older ? &n->older->newer : &l->last) = n->newer;
	n->list = NULL;
	l->n--;
}

static struct back_node **chain_by_handle(const struct back_export *e, const uint8_t *handle,
					  size_t len)
{
	const uint64_t key[2] = {e->back->hash_key[0], e->back->hash_key[1] ^ (uintptr_t)e};

	return &e->back->by_handle[hash_keyed(key, handle, len) & (NODE_CHAINS - 1)];
}

static struct back_node **chain_by_ino(const struct back_export *e, uint64_t dev, uint64_t ino)
{
	const uint64_t what[2] = {dev, ino};

	return &e->back->by_ino[hash_keyed(e->back->hash_key, what, sizeof(what)) &
				(NODE_CHAINS - 1)];
}

static bool is_kept(const struct back_node *n)
{
	return n->handle.bytes[0] == FUSE_HANDLE_KEPT;
}

/* Of its handle, what is there before it is signed. */
static size_t key_len(const struct back_node *n)
{
	return n->is_signed && !is_kept(n) ? n->handle.len - FUSE_HANDLE_MAC_BYTES : n->handle.len;
}

struct back_node *back_node_find(const struct back_export *e, const uint8_t *handle, size_t len)
{
	struct back_node *n = *chain_by_handle(e, handle, len);

	for (; n; n = n->next)
		if (n->export == e && key_len(n) == len &&
		    memcmp(n->handle.bytes, handle, len) == 0)
			return n;
	return NULL;
}

/* A node that keeps its descriptor pins the inode, so its number cannot mean another one. */
static struct back_node *find_kept(const struct back_export *e, const struct stat *st)
{
	struct back_node *n = *chain_by_ino(e, st->st_dev, st->st_ino);

	while (n && (n->export != e || n->ino != st->st_ino || n->dev != st->st_dev))
		n = n->next_ino;
	return n;
}

/* Its place among the least recently used, by what it has; the newest of them. */
static void node_place(struct back_node *n)
{
	struct fuse_back *b = n->export->back;

	list_remove(n);
	n->tick = b->tick;
	if (n == n->export->root)
		return;
	if (!is_kept(n) && n->fd >= 0)
		list_push(&b->open_nodes, n);
	else if (n->refs == 0)
		list_push(is_kept(n) ? &b->kept_nodes : &b->closed_nodes, n);
}

static void node_free(struct back_node *n)
{
	struct back_node **p = chain_by_handle(n->export, n->handle.bytes, key_len(n));

	list_remove(n);
	while (*p != n)
		p = &(*p)->next;
	*p = n->next;
	if (is_kept(n)) {
		for (p = chain_by_ino(n->export, n->dev, n->ino); *p != n;)
			p = &(*p)->next_ino;
		*p = n->next_ino;
	}
	if (n->fd >= 0 && n != n->export->root)
		close(n->fd);
	free(n);
}

static void node_close(struct back_node *n)
{
	(void)back_signs_flush(n->export->back); /* it may be among them */
	close(n->fd);
	n->fd = -1;
	node_place(n);
}

/* What is too much goes, but for the one that was just used. */
static void nodes_trim(struct fuse_back *b)
{
	while (b->open_nodes.n > b->n_open_max)
		node_close(b->open_nodes.last);
	while (b->closed_nodes.n > NODE_CLOSED_MAX)
		node_free(b->closed_nodes.last);
	while (b->kept_nodes.n > b->n_kept_max)
		node_free(b->kept_nodes.last);
}

void back_nodes_idle(struct fuse_back *b)
{
	struct back_node *n;

	b->tick++;
	while ((n = b->open_nodes.last) && b->tick - n->tick > NODE_IDLE_TICKS)
		node_close(n);
}

void back_node_removed(struct back_node *n)
{
	struct stat st;

	if (!n || n->refs > 0 || n->fd < 0 || n == n->export->root)
		return;
	if (fstatat(n->fd, "", &st, AT_EMPTY_PATH) == 0 && st.st_nlink > 0 &&
	    n->fmt != S_IFDIR) /* whose links are counted otherwise on some file systems */
		return;
	(void)back_signs_flush(n->export->back);
	node_free(n);
}

void back_node_ref(struct back_node *n)
{
	n->refs++;
	if (n->list && n->list != &n->export->back->open_nodes)
		list_remove(n);
}

void back_node_put(struct back_node *n)
{
	if (--n->refs == 0 && !n->list)
		node_place(n);
}

/* ------------------------------------------------------------------ life */

int back_nodes_init(struct fuse_back *b)
{
	long max = sysconf(_SC_OPEN_MAX);

	b->n_open_max = (uint32_t)(max < 1024 ? 64 : MIN_OF(max / 8, 8192));
	b->n_kept_max = (uint32_t)(max < 1024 ? 64 : MIN_OF(max / 4, 1 << 18));
	b->by_handle = calloc(NODE_CHAINS, sizeof(b->by_handle[0]));
	b->by_ino = calloc(NODE_CHAINS, sizeof(b->by_ino[0]));
	if (!b->by_handle || !b->by_ino)
		return -ENOMEM;
	if (getrandom(b->hash_key, sizeof(b->hash_key), 0) != sizeof(b->hash_key) ||
	    getrandom(&b->incarnation, sizeof(b->incarnation), 0) != sizeof(b->incarnation))
		return -EIO;
	return 0;
}

void back_nodes_done(struct fuse_back *b)
{
	b->signs.n = 0;
	for (uint32_t i = 0; b->by_handle && i < NODE_CHAINS; i++)
		while (b->by_handle[i])
			node_free(b->by_handle[i]);
	free(b->by_handle);
	free(b->by_ino);
	b->by_handle = b->by_ino = NULL;
}

void back_nodes_shrink(struct fuse_back *b)
{
	/* Sixteen stay: a caller may be holding more than one. */
	uint32_t keep = MAX_OF(b->open_nodes.n / 2, 16U);

	while (b->open_nodes.n > keep)
		node_close(b->open_nodes.last);
	keep = MAX_OF(b->kept_nodes.n / 2, 16U);
	while (b->kept_nodes.n > keep)
		node_free(b->kept_nodes.last);
}

static int node_new(struct back_export *e, const struct fuse_handle *h, bool is_signed,
		    const struct stat *st, struct back_node **ret)
{
	struct back_node *n = calloc(1, sizeof(*n)), **chain;

	if (!n)
		return -ENOMEM;
	n->export = e;
	n->dev = st->st_dev;
	n->ino = st->st_ino;
	n->fmt = st->st_mode & S_IFMT;
	n->fd = -1;
	n->handle = *h;
	n->is_signed = is_signed;
	chain = chain_by_handle(e, n->handle.bytes, key_len(n));
	n->next = *chain;
	*chain = n;
	if (is_kept(n)) {
		chain = chain_by_ino(e, n->dev, n->ino);
		n->next_ino = *chain;
		*chain = n;
	}
	*ret = n;
	return 0;
}

/* ------------------------------------------------------------------ signatures */

static int sign_now(struct fuse_back *b, struct back_export *e, struct fuse_handle *ret)
{
	static const uint64_t key[2];
	int fds[BACK_SIGNS_MAX];
	unsigned n = b->signs.n;

	for (unsigned i = 0; i < n; i++) {
		fds[i] = b->signs.nodes[i]->fd;
		ret[i] = b->signs.nodes[i]->handle;
		if (!b->keeper)
			fuse_handle_sign(key, e->id, &ret[i]);
	}
	return b->keeper ? fuse_keeper_sign(b->keeper, (unsigned)(e - b->exports), fds, n, ret) : 0;
}

int back_signs_flush(struct fuse_back *b)
{
	struct fuse_handle signs[BACK_SIGNS_MAX];
	int r;

	if (b->signs.n == 0)
		return 0;
	r = sign_now(b, b->signs.nodes[0]->export, signs);
	for (unsigned i = 0; i < b->signs.n && r == 0; i++) {
		struct back_node *n = b->signs.nodes[i];

		/* Else it is another object by now, which a descriptor does not become. */
		if (signs[i].len == n->handle.len + FUSE_HANDLE_MAC_BYTES &&
		    memcmp(signs[i].bytes, n->handle.bytes, n->handle.len) == 0) {
			n->handle = signs[i];
			n->is_signed = true;
		}
	}
	b->signs.n = 0;
	b->keeper_gone |= r < 0;
	return r;
}

static void signs_add(struct back_node *n)
{
	struct fuse_back *b = n->export->back;

	if (b->signs.n == BACK_SIGNS_MAX ||
	    (b->signs.n > 0 && b->signs.nodes[0]->export != n->export))
		(void)back_signs_flush(b);
	b->signs.nodes[b->signs.n++] = n;
}

const struct fuse_handle *back_node_handle(struct back_node *n)
{
	if (!n->is_signed)
		(void)back_signs_flush(n->export->back);
	return n->is_signed ? &n->handle : NULL;
}

/* ------------------------------------------------------------------ exports */

static uint64_t boot_verifier(const struct fuse_back *b, const struct back_export *e,
			      const struct statfs *fs)
{
	const uint64_t key[2] = {b->keeper ? b->keeper->boot : 0};
	uint64_t what[3] = {e->root_ino};

	_Static_assert(sizeof(fs->f_fsid) == sizeof(what[0]), "copied whole");
	memcpy(&what[1], &fs->f_fsid, sizeof(what[1]));
	what[2] = (uint64_t)fs->f_type;
	return hash_keyed(key, what, sizeof(what));
}

static void kept_handle(struct back_export *e, struct fuse_handle *ret)
{
	uint64_t what[2] = {e->back->incarnation, ++e->last_kept};

	*ret = (struct fuse_handle){.len = 1 + sizeof(what), .bytes = {FUSE_HANDLE_KEPT}};
	memcpy(ret->bytes + 1, what, sizeof(what));
}

/* Whether handles of this file system can be opened, where we would do that ourselves. */
static bool handles_work(const struct back_export *e)
{
	static const uint64_t key[2];
	struct fuse_handle h;
	autoclose int fd = -1;
	int mount;

	if (fuse_handle_of(e->root_fd, "", &h, &mount) < 0)
		return false;
	fuse_handle_sign(key, e->id, &h);
	fd = fuse_handle_open(e->root_fd, &h, O_PATH);
	return fd >= 0;
}

static int root_init(struct back_export *e, const struct stat *st)
{
	struct fuse_handle h;
	int r;

	if (fuse_handle_of(e->root_fd, "", &h, &e->mount_id) < 0)
		e->mount_id = -1;
	if (!e->handles)
		kept_handle(e, &h);
	r = node_new(e, &h, !e->handles, st, &e->root);
	if (r < 0)
		return r;
	e->root->refs = 1;
	e->root->fd = e->root_fd;
	if (e->handles)
		signs_add(e->root);
	return back_node_handle(e->root) ? 0 : -EIO;
}

int back_export_init(struct fuse_back *b, unsigned i, const struct launch_export *cfg, bool handles)
{
	static const uint64_t key[2];
	struct back_export *e = &b->exports[i];
	struct statfs fs;
	struct stat st;
	int r;

	*e = (struct back_export){.cfg = cfg, .back = b, .root_fd = cfg->dir_fd, .state.fd = -1};
	if (fstat(e->root_fd, &st) < 0 || fstatfs(e->root_fd, &fs) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	e->root_dev = st.st_dev;
	e->root_ino = st.st_ino;
	e->in_memory = fs.f_type == TMPFS_FS_MAGIC || fs.f_type == RAMFS_FS_MAGIC;
	e->verifier = boot_verifier(b, e, &fs);
	r = b->keeper ? 0 : fuse_handle_export_id(key, cfg->name, e->root_fd, &e->id);
	if (r < 0)
		return r;
	e->handles = b->keeper ? handles : handles_work(e);
	return root_init(e, &st);
}

/* ------------------------------------------------------------------ from handles */

/* With a keeper it gives O_PATH only, and looks at the signature. */
static int handle_open_once(struct back_export *e, const struct fuse_handle *h)
{
	static const uint64_t key[2];
	struct fuse_back *b = e->back;
	int fd;

	if (!b->keeper)
		return fuse_handle_is_signed(key, e->id, h)
			       ? fuse_handle_open(e->root_fd, h, O_PATH | O_NOFOLLOW)
			       : -ESTALE;
	(void)back_signs_flush(b);
	fd = fuse_keeper_open(b->keeper, (unsigned)(e - b->exports), h);
	b->keeper_gone |= fd == -EPIPE;
	return fd == -EPIPE ? -EIO : fd;
}

static int handle_open(struct back_export *e, const struct fuse_handle *h)
{
	int fd = handle_open_once(e, h);

	if (fd == -EMFILE || fd == -ENFILE) {
		back_nodes_shrink(e->back);
		fd = handle_open_once(e, h);
	}
	return fd;
}

int back_node_get(struct back_export *e, const uint8_t *handle, size_t len, struct back_node **ret)
{
	struct fuse_handle h = {.len = (uint8_t)len};
	bool file = len > FUSE_HANDLE_MAC_BYTES && handle[0] == FUSE_HANDLE_FILE;
	struct back_node *n = back_node_find(e, handle, file ? len - FUSE_HANDLE_MAC_BYTES : len);
	autoclose int fd = -1;
	struct stat st;
	int r;

	memcpy(h.bytes, handle, len);
	if (n) {
		const struct fuse_handle *known = back_node_handle(n);

		if (!known || !fuse_handle_equal(known, &h))
			return known ? -ESTALE : -EIO;
		*ret = n;
		return 0;
	}
	if (!file || !e->handles)
		return -ESTALE;
	fd = handle_open(e, &h);
	if (fd < 0)
		return fd;
	if (fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		return -errno;
	r = node_new(e, &h, true, &st, &n);
	if (r < 0)
		return r;
	n->fd = fd_take(fd);
	node_place(n);
	nodes_trim(e->back);
	*ret = n;
	return 0;
}

int back_req_node(const struct back_req *q, unsigned i, struct back_node **ret)
{
	return back_node_get(q->mount->export, q->args.handles[i].bytes, q->args.handles[i].len,
			     ret);
}

int back_req_fd(const struct back_req *q, unsigned i)
{
	struct back_node *n;
	int r = back_req_node(q, i, &n);

	return r < 0 ? r : back_node_fd(n);
}

int back_node_fd(struct back_node *n)
{
	struct fuse_back *b = n->export->back;
	int fd;

	if (n->fd < 0) {
		fd = handle_open(n->export, &n->handle);
		if (fd < 0)
			return fd;
		n->fd = fd;
	} else if (!n->list || (n->list->first == n && n->tick == b->tick)) {
		return n->fd;
	}
	node_place(n);
	nodes_trim(b);
	return n->fd;
}

int back_node_open(struct back_node *n, int flags)
{
	char path[BACK_FD_PATH_MAX];
	int fd;

	if (n->fmt != S_IFREG && n->fmt != S_IFDIR)
		return n->fmt == S_IFLNK ? -ELOOP : -ENXIO; /* pipes, devices are the client's */
	if (n->fmt == S_IFDIR && (flags & O_ACCMODE) != O_RDONLY)
		return -EISDIR;
	/* Not O_NONBLOCK: io_uring would take it to mean that reads must not wait either. */
	flags |= O_NOCTTY | O_CLOEXEC;
	fd = back_node_fd(n);
	if (fd < 0)
		return fd;
	back_fd_path(fd, path);
	fd = open(path, flags);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		back_nodes_shrink(n->export->back);
		fd = open(path, flags);
	}
	return fd < 0 ? -errno : fd;
}

/* ------------------------------------------------------------------ from descriptors and names */

struct back_node *back_node_named(const struct back_export *e, int dirfd, const char *name)
{
	struct fuse_handle h;
	struct stat st;
	int mount;

	if (e->handles && fuse_handle_of(dirfd, name, &h, &mount) == 0 && mount == e->mount_id)
		return back_node_find(e, h.bytes, h.len);
	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? find_kept(e, &st) : NULL;
}

static int path_fd_of(int fd)
{
	char path[BACK_FD_PATH_MAX];
	int own = open(back_fd_path(fd, path), O_PATH | O_CLOEXEC);

	return own < 0 ? -errno : own;
}

/* Finds or makes the node that fd shows. path_fd: fd is O_PATH and given away. */
static int node_of_fd(struct back_export *e, int fd, bool path_fd, struct back_entry *ret)
{
	autoclose int own = path_fd ? fd : -1;
	struct fuse_handle h;
	struct back_node *n;
	int mount = -1, r;
	bool file;

	if (fstatat(fd, "", &ret->st, AT_EMPTY_PATH) < 0)
		return -errno;
	/* Handles of another file system, mounted below, would mean nothing to ours. */
	file = e->handles && fuse_handle_of(fd, "", &h, &mount) == 0 && mount == e->mount_id;
	n = file ? back_node_find(e, h.bytes, h.len) : find_kept(e, &ret->st);
	if (!n) {
		if (own < 0)
			own = path_fd_of(fd);
		if (own < 0)
			return own;
		if (!file)
			kept_handle(e, &h);
		r = node_new(e, &h, !file, &ret->st, &n);
		if (r < 0)
			return r;
		n->fd = fd_take(own);
		if (file)
			signs_add(n);
	} else if (n->fd < 0 && own >= 0) {
		n->fd = fd_take(own);
	}
	node_place(n);
	nodes_trim(e->back);
	ret->node = n;
	return 0;
}

int back_node_of_fd(struct back_export *e, int fd, struct back_entry *ret)
{
	return node_of_fd(e, fd, false, ret);
}

static int open_name(struct back_export *e, int dirfd, const char *name)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
	};
	long fd = syscall(SYS_openat2, dirfd, name, &how, sizeof(how));

	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		back_nodes_shrink(e->back);
		fd = syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
	}
	return fd < 0 ? -errno : (int)fd;
}

/* A directory that was moved out of the export has parents that are none of the client's business:
 * only one from which the root can be reached upwards is shown. */
static int is_below_root(const struct back_export *e, int fd)
{
	autoclose int up = -1;
	struct stat st, last = {};

	for (unsigned depth = 0; depth < NODE_DEPTH_MAX; depth++) {
		int next;

		if (fstat(up < 0 ? fd : up, &st) < 0)
			return -errno;
		if (st.st_dev == e->root_dev && st.st_ino == e->root_ino)
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

static int lookup_parent(struct back_node *n, int fd, struct back_entry *ret)
{
	struct back_export *e = n->export;
	autoclose int up = -1;
	int r;

	if (n == e->root)
		return node_of_fd(e, fd, false, ret);
	r = is_below_root(e, fd);
	if (r < 0)
		return r;
	up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (up < 0)
		return -errno;
	/* Once more: it may have moved between the two. */
	r = is_below_root(e, up);
	return r < 0 ? r : node_of_fd(e, fd_take(up), true, ret);
}

int back_node_lookup(struct back_node *parent, const char *name, struct back_entry *ret)
{
	struct back_export *e = parent->export;
	int dirfd = back_node_fd(parent), mount, fd, r;
	struct fuse_handle h;
	struct back_node *n;

	if (dirfd < 0)
		return dirfd;
	if (strcmp(name, ".") == 0)
		return node_of_fd(e, dirfd, false, ret);
	if (strcmp(name, "..") == 0)
		return lookup_parent(parent, dirfd, ret);
	if (e->handles) {
		/* Two calls instead of four where the object is known. A handle names it beyond
		 * doubt, so a name that changes between the two is noticed. */
		r = fuse_handle_of(dirfd, name, &h, &mount);
		if (r < 0 && r != -EOPNOTSUPP)
			return r;
		n = r == 0 && mount == e->mount_id ? back_node_find(e, h.bytes, h.len) : NULL;
		if (n && fstatat(dirfd, name, &ret->st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    n->ino == ret->st.st_ino && n->dev == ret->st.st_dev) {
			ret->node = n;
			return 0;
		}
	}
	fd = open_name(e, dirfd, name);
	return fd < 0 ? fd : node_of_fd(e, fd, true, ret);
}
