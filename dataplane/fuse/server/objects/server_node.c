/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects of exports ("nodes"): finds the descriptor for a client's handle, and the handle for a
 * name, if the object is in memory. Otherwise an I/O helper must find the object. The nodes are
 * only a cache: except on file systems without file handles, a handle is valid even if there is no
 * node for it.
 */
#include "dataplane/fuse/server/objects/server_node.h"
#include "dataplane/fuse/server/objects/server_background.h"
#include "dataplane/fuse/server/objects/server_types.h"
#include "netcfg/base/hash.h"
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#define NODE_CHAINS (1U << 17)
#define NODE_CLOSED_MAX (1U << 17)
#define NODE_IDLE_TICKS 3
#define NODE_UNLINKED_MAX 256U
#define RAMFS_FS_MAGIC 0x858458f6
#define TMPFS_FS_MAGIC 0x01021994

/* ------------------------------------------------------------------ lists and chains */

static void list_push(struct server_list *l, struct server_node *n)
{
	n->list = l;
	n->newer = NULL;
	n->older = l->first;
	*(l->first ? &l->first->newer : &l->last) = n;
	l->first = n;
	l->n++;
}

static void list_remove(struct server_node *n)
{
	struct server_list *l = n->list;

	if (!l)
		return;
	*(n->newer ? &n->newer->older : &l->first) = n->older;
	*(n->older ? &n->older->newer : &l->last) = n->newer;
	n->list = NULL;
	l->n--;
}

static struct server_node **chain_by_handle(const struct server_export *e, const uint8_t *handle,
					    size_t len)
{
	const uint64_t key[2] = {e->server->hash_key[0], e->server->hash_key[1] ^ (uintptr_t)e};

	return &e->server->by_handle[hash_keyed(key, handle, len) & (NODE_CHAINS - 1)];
}

static struct server_node **chain_by_ino(const struct server_export *e, uint64_t dev, uint64_t ino)
{
	const uint64_t what[2] = {dev, ino};

	return &e->server->by_ino[hash_keyed(e->server->hash_key, what, sizeof(what)) &
				  (NODE_CHAINS - 1)];
}

static bool is_table_handle(const struct server_node *n)
{
	return n->handle.bytes[0] == FUSE_HANDLE_TABLE;
}

/* Returns the length of the handle without its signature. */
static size_t key_len(const uint8_t *handle, size_t len)
{
	return handle[0] == FUSE_HANDLE_FILE && len > HELPERS_SIGNATURE_BYTES
		       ? len - HELPERS_SIGNATURE_BYTES
		       : len;
}

struct server_node *server_node_find(const struct server_export *e, const uint8_t *handle,
				     size_t len)
{
	struct server_node *n = *chain_by_handle(e, handle, len);

	for (; n; n = n->next)
		if (n->export == e && key_len(n->handle.bytes, n->handle.len) == len &&
		    memcmp(n->handle.bytes, handle, len) == 0)
			return n;
	return NULL;
}

struct server_node *server_node_signed(const struct server_export *e, const uint8_t *handle,
				       size_t len)
{
	struct server_node *n = server_node_find(e, handle, key_len(handle, len));

	/* Compare with the signature in the node instead of computing a signature: a client can
	 * know the right signature only from this host. */
	return n && n->handle.len == len && memcmp(n->handle.bytes, handle, len) == 0 ? n : NULL;
}

/* Finds the node of an object without a file handle by the object's inode number. Such a node keeps
 * its descriptor open, so the file system cannot reuse the number. */
static struct server_node *table_node_find(const struct server_export *e, uint64_t dev,
					   uint64_t ino)
{
	struct server_node *n = *chain_by_ino(e, dev, ino);

	while (n && (n->export != e || n->ino != ino || n->dev != dev))
		n = n->next_ino;
	return n;
}

/* Moves the node to the front of the LRU list for its state. */
static void node_place(struct server_node *n)
{
	struct fuse_server *srv = n->export->server;

	list_remove(n);
	n->tick = srv->tick;
	if (n == n->export->root)
		return;
	if (n->unlinked && n->fd >= 0)
		list_push(&srv->unlinked_nodes, n);
	else if (!is_table_handle(n) && n->fd >= 0)
		list_push(&srv->open_nodes, n);
	else if (n->refs == 0)
		list_push(is_table_handle(n) ? &srv->table_nodes : &srv->closed_nodes, n);
}

static void node_free(struct server_node *n)
{
	struct server_node **p = chain_by_handle(n->export, n->handle.bytes,
						 key_len(n->handle.bytes, n->handle.len));

	list_remove(n);
	while (*p != n)
		p = &(*p)->next;
	*p = n->next;
	if (is_table_handle(n)) {
		for (p = chain_by_ino(n->export, n->dev, n->ino); *p != n;)
			p = &(*p)->next_ino;
		*p = n->next_ino;
	}
	if (n->fd >= 0 && n != n->export->root)
		close(n->fd);
	free(n);
}

static void node_close(struct server_node *n)
{
	close(n->fd);
	n->fd = -1;
	n->unlinked = false;
	node_place(n);
}

/* Evicts the least recently used nodes above each list's limit, but not the node that was just
 * used. */
static void nodes_trim(struct fuse_server *srv)
{
	while (srv->open_nodes.n > srv->n_open_max)
		node_close(srv->open_nodes.last);
	while (srv->closed_nodes.n > NODE_CLOSED_MAX)
		node_free(srv->closed_nodes.last);
	while (srv->table_nodes.n > srv->n_table_max)
		node_free(srv->table_nodes.last);
	while (srv->unlinked_nodes.n > NODE_UNLINKED_MAX)
		node_close(srv->unlinked_nodes.last);
}

void server_nodes_idle(struct fuse_server *srv)
{
	struct server_node *n;

	srv->tick++;
	while ((n = srv->open_nodes.last) && srv->tick - n->tick > NODE_IDLE_TICKS)
		node_close(n);
}

void server_node_ref(struct server_node *n)
{
	struct fuse_server *srv = n->export->server;

	n->refs++;
	if (n->list == &srv->closed_nodes || n->list == &srv->table_nodes)
		list_remove(n);
}

void server_node_put(struct server_node *n)
{
	if (--n->refs == 0 && !n->list)
		node_place(n);
}

/* ------------------------------------------------------------------ creating and freeing nodes */

int server_nodes_init(struct fuse_server *srv)
{
	long max = sysconf(_SC_OPEN_MAX);

	srv->n_open_max = (uint32_t)(max < 1024 ? 64 : MIN_OF(max / 8, 8192));
	srv->n_table_max = (uint32_t)(max < 1024 ? 64 : MIN_OF(max / 4, 1 << 18));
	srv->by_handle = calloc(NODE_CHAINS, sizeof(srv->by_handle[0]));
	srv->by_ino = calloc(NODE_CHAINS, sizeof(srv->by_ino[0]));
	if (!srv->by_handle || !srv->by_ino)
		return -ENOMEM;
	if (getrandom(srv->hash_key, sizeof(srv->hash_key), 0) != sizeof(srv->hash_key) ||
	    getrandom(srv->table_key, sizeof(srv->table_key), 0) != sizeof(srv->table_key) ||
	    getrandom(&srv->incarnation, sizeof(srv->incarnation), 0) != sizeof(srv->incarnation))
		return -EIO;
	return 0;
}

void server_nodes_done(struct fuse_server *srv)
{
	for (uint32_t i = 0; srv->by_handle && i < NODE_CHAINS; i++)
		while (srv->by_handle[i])
			node_free(srv->by_handle[i]);
	free(srv->by_handle);
	free(srv->by_ino);
	srv->by_handle = srv->by_ino = NULL;
}

void server_nodes_shrink(struct fuse_server *srv)
{
	/* Keep at least sixteen descriptors, because a caller may be using several nodes. */
	uint32_t keep = MAX_OF(srv->open_nodes.n / 2, 16U);

	while (srv->open_nodes.n > keep)
		node_close(srv->open_nodes.last);
	keep = MAX_OF(srv->table_nodes.n / 2, 16U);
	while (srv->table_nodes.n > keep)
		node_free(srv->table_nodes.last);
}

static struct server_node *node_new(struct server_export *e, const uint8_t *handle, size_t len,
				    uint64_t dev, const struct fuse_attr *attr)
{
	struct server_node *n = calloc(1, sizeof(*n)), **chain;

	if (!n)
		return NULL;
	n->export = e;
	n->dev = dev;
	n->ino = attr->ino;
	n->fmt = attr->mode & S_IFMT;
	n->fd = -1;
	n->handle.len = (uint8_t)len;
	memcpy(n->handle.bytes, handle, len);
	chain = chain_by_handle(e, handle, key_len(handle, len));
	n->next = *chain;
	*chain = n;
	if (is_table_handle(n)) {
		chain = chain_by_ino(e, n->dev, n->ino);
		n->next_ino = *chain;
		*chain = n;
	}
	return n;
}

/*
 * Makes a handle for an object without a file handle. The handle consists of a number in this
 * server's table and a signature. Without the signature, a client could try numbers, and so reach
 * objects even in directories that its users may not search. The signature is not checked
 * separately: nodes are found by a secret hash of the whole handle, and then the whole handle is
 * compared.
 */
static struct server_node *table_node_new(struct server_export *e, const struct helper_result *r)
{
	const struct fuse_server *srv = e->server;
	struct {
		uint64_t incarnation, number, export, mac;
	} h = {srv->incarnation, ++e->last_table_id, e->name_hash, 0};
	uint8_t handle[1 + 3 * sizeof(uint64_t)] = {FUSE_HANDLE_TABLE};

	h.mac = hash_keyed(srv->table_key, &h, sizeof(h));
	memcpy(handle + 1, &h.incarnation, sizeof(uint64_t));
	memcpy(handle + 1 + sizeof(uint64_t), &h.number, sizeof(uint64_t));
	memcpy(handle + 1 + 2 * sizeof(uint64_t), &h.mac, sizeof(uint64_t));
	return node_new(e, handle, sizeof(handle), r->dev, &r->attr);
}

/* ------------------------------------------------------------------ exports */

int server_export_init(struct fuse_server *srv, unsigned i, const struct launch_export *cfg)
{
	struct server_export *e = &srv->exports[i];
	struct statfs fs;
	struct stat st;
	uint64_t what[2];

	*e = (struct server_export){
		.cfg = cfg, .server = srv, .root_fd = cfg->dir_fd, .mount_id = -1};
	if (fstat(e->root_fd, &st) < 0 || fstatfs(e->root_fd, &fs) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	e->name_hash = share_name_hash(cfg->name);
	e->root_dev = st.st_dev;
	e->root_ino = st.st_ino;
	e->in_memory = fs.f_type == TMPFS_FS_MAGIC || fs.f_type == RAMFS_FS_MAGIC;
	e->handles = fs_helper_gives_handles(srv->helpers, i);
	e->journal = fs_helper_journal(srv->helpers, i);
	what[0] = fs_helper_export_identity(srv->helpers, i);
	what[1] = srv->boot;
	e->verifier = hash_keyed((const uint64_t[2]){1, 1}, what, sizeof(what));
	return 0;
}

int server_root_init(struct server_export *e, const struct helper_result *r)
{
	struct fuse_handle h;

	if (r->error < 0)
		return r->error;
	if (r->handle_len > 0 && fuse_handle_of(e->root_fd, &h, &e->mount_id) < 0)
		e->mount_id = -1;
	e->root = r->handle_len > 0 ? node_new(e, r->handle, r->handle_len, r->dev, &r->attr)
				    : table_node_new(e, r);
	if (!e->root)
		return -ENOMEM;
	e->root->refs = 1;
	e->root->fd = e->root_fd;
	return 0;
}

/* ------------------------------------------------------------------ nodes in memory */

struct server_node *server_req_node(const struct server_req *q, unsigned i)
{
	return server_node_signed(q->mount->export, q->args.handles[i].bytes,
				  q->args.handles[i].len);
}

int server_node_fd(struct server_node *n)
{
	/* Record the use, unless the node is already the newest in its list. */
	if (n->fd >= 0 && n->list && (n->list->first != n || n->tick != n->export->server->tick))
		node_place(n);
	return n->fd;
}

int server_req_fd(const struct server_req *q, unsigned i)
{
	struct server_node *n = server_req_node(q, i);

	return n ? server_node_fd(n) : -1;
}

struct server_node *server_node_of(struct server_export *e, const struct helper_result *r, int fd)
{
	autoclose int own = fd;
	struct server_node *n;

	if (r->handle_len > 0)
		n = server_node_signed(e, r->handle, r->handle_len);
	else
		n = table_node_find(e, r->dev, r->attr.ino);
	if (!n && r->handle_len > 0)
		n = node_new(e, r->handle, r->handle_len, r->dev, &r->attr);
	else if (!n && own >= 0)
		n = table_node_new(e, r);
	if (!n)
		return NULL;
	if (n->fd < 0)
		n->fd = fd_take(own);
	node_place(n);
	nodes_trim(e->server);
	return n;
}

void server_node_removed(struct server_export *e, const struct helper_result *r, int fd)
{
	struct server_node *n = r->handle_len > 0 ? server_node_signed(e, r->handle, r->handle_len)
						  : table_node_find(e, r->dev, r->attr.ino);
	/* Use the file type, not the link count, because file systems count the links of
	 * directories differently. */
	bool dir = S_ISDIR(r->attr.mode);

	if (!S_ISREG(r->attr.mode) && (dir || r->attr.nlink == 0)) {
		n = server_node_of(e, r, fd);
		if (n && !is_table_handle(n) && n->fd >= 0) {
			n->unlinked = true;
			node_place(n);
			nodes_trim(e->server);
		}
		return;
	}
	if (n && n->refs == 0 && n != e->root && r->attr.nlink == 0)
		node_free(n);
	if (fd >= 0)
		server_helper_close(e, fd);
}

/* ------------------------------------------------------------------ nodes by name */

const char *server_fd_path(int fd, char path[SERVER_FD_PATH_MAX])
{
	snprintf(path, SERVER_FD_PATH_MAX, "/proc/self/fd/%d", fd);
	return path;
}

bool server_has_no_xattrs(const struct server_export *e, int fd)
{
	char path[SERVER_FD_PATH_MAX];

	return e->in_memory && listxattr(server_fd_path(fd, path), NULL, 0) == 0;
}

int server_node_cached(struct server_node *dir, const char *name, struct server_entry *ret)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS |
			   RESOLVE_CACHED,
	};
	struct server_export *e = dir->export;
	autoclose int fd = -1;
	struct fuse_handle h;
	struct stat st;
	int mount;

	if (!e->handles || server_node_fd(dir) < 0)
		return -EAGAIN;
	fd = (int)syscall(SYS_openat2, dir->fd, name, &how, sizeof(how));
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? -errno : -EAGAIN;
	if (fuse_handle_of(fd, &h, &mount) < 0 || mount != e->mount_id ||
	    fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		return -EAGAIN;
	ret->node = server_node_find(e, h.bytes, h.len);
	if (!ret->node)
		return -EAGAIN;
	fs_helper_attr(&st, e->root_dev, &ret->attr);
	ret->no_xattrs = server_has_no_xattrs(e, fd);
	if (ret->node->fd < 0) {
		ret->node->fd = fd_take(fd);
		node_place(ret->node);
		nodes_trim(e->server);
	}
	return 0;
}
