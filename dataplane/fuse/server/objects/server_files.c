/* SPDX-License-Identifier: BSD-3-Clause */
/* The open files of a mount: their descriptors, and handles that a client cannot guess. */
#include "dataplane/fuse/server/objects/server_background.h"
#include "dataplane/fuse/server/objects/server_lease.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/objects/server_node.h"
#include "dataplane/fuse/server/objects/server_pin.h"
#include "dataplane/fuse/server/objects/server_quota_count.h"
#include "dataplane/fuse/server/objects/server_types.h"
#include "netcfg/base/hash.h"
#include <string.h>
#include <sys/random.h>

#define OPEN_CHAINS 65536U
/* Maximum number of files that one poll closes. Closing a file takes about two microseconds. */
#define CLOSE_PER_POLL 32U
#define SCAN_PER_POLL 4096U

int server_files_init(struct fuse_server *srv)
{
	srv->closing_tail = &srv->closing;
	srv->opens = calloc(OPEN_CHAINS, sizeof(srv->opens[0]));
	return srv->opens ? 0 : -ENOMEM;
}

/* ------------------------------------------------------------------ open files of a mount */

static struct server_open **open_at(const struct server_mount *m, const struct server_node *n)
{
	const uint64_t what[2] = {(uintptr_t)m, (uintptr_t)n};
	struct fuse_server *srv = m->server;
	struct server_open **at =
		&srv->opens[hash_keyed(srv->hash_key, what, sizeof(what)) % OPEN_CHAINS];

	while (*at && ((*at)->mount != m || (*at)->node != n))
		at = &(*at)->next;
	return at;
}

static struct server_open *open_take(const struct server_mount *m, const struct server_node *n)
{
	struct server_open **at = open_at(m, n), *o = *at;

	if (!o) {
		o = *at = calloc(1, sizeof(*o));
		if (!o)
			return NULL;
		o->mount = m;
		o->node = n;
	}
	o->n_files++;
	return o;
}

static void open_give(struct server_open *o)
{
	struct server_open **at;

	if (--o->n_files > 0)
		return;
	at = open_at(o->mount, o->node);
	*at = o->next;
	free(o);
}

/* ------------------------------------------------------------------ files */

static struct server_file *file_at(const struct server_mount *m, uint32_t i)
{
	return &m->file_chunks[i / SERVER_FILES_PER_CHUNK][i % SERVER_FILES_PER_CHUNK];
}

static void files_free_push(struct server_mount *m, uint32_t i)
{
	file_at(m, i)->fd = m->free_file;
	m->free_file = (int)i;
}

static int files_grow(struct server_mount *m)
{
	uint32_t pos = m->n_file_chunks, reuse;
	struct server_file *chunk = calloc(SERVER_FILES_PER_CHUNK, sizeof(*chunk));
	void *p = realloc(m->file_chunks, (pos + 1) * sizeof(m->file_chunks[0]));

	if (p)
		m->file_chunks = p;
	/* The upper half of the first file handle is a random number. So a client cannot guess a
	 * handle, and the handles of an earlier process are invalid in this process. */
	if (!p || !chunk || getrandom(&reuse, sizeof(reuse), 0) != sizeof(reuse)) {
		free(chunk);
		return -ENOMEM;
	}
	m->file_chunks[m->n_file_chunks++] = chunk;
	for (uint32_t i = SERVER_FILES_PER_CHUNK; i-- > 0;) {
		chunk[i].mount = m;
		chunk[i].index = pos * SERVER_FILES_PER_CHUNK + i;
		chunk[i].reuse = reuse;
		if (chunk[i].index > 0) /* 0 is not a valid file handle, so file 0 is never used */
			files_free_push(m, chunk[i].index);
	}
	return 0;
}

static void count_open(struct server_file *f, uint32_t by)
{
	struct server_node *n = f->node;
	struct fuse_server *srv = n->export->server;

	if (!f->is_dir) {
		f->mount->n_open += by;
		n->export->n_open += by;
		share_open_count(&srv->share, server_lease_key(srv, n->handle.bytes, n->handle.len),
				 (int)by);
	}
	n->n_open += by;
	if (n->n_open == 0)
		server_unpin(n);
}

static struct server_file *file_find(const struct server_mount *m, uint64_t fh)
{
	uint32_t i = (uint32_t)fh;
	struct server_file *f;

	if (i == 0 || i >= m->n_file_chunks * SERVER_FILES_PER_CHUNK)
		return NULL;
	f = file_at(m, i);
	return f->used && !f->released && f->reuse == fh >> 32 ? f : NULL;
}

int server_file_new(struct server_mount *m, struct server_node *n, int fd, bool dir, uint32_t uid,
		    uint64_t *ret)
{
	struct server_user *user;
	struct server_open *open;
	struct server_file *f;

	if (m->free_file < 0 && files_grow(m) < 0)
		return -ENOMEM;
	user = server_quota_take(m, uid);
	if (!user)
		return -ENOMEM;
	open = open_take(m, n);
	if (!open) {
		server_quota_give(m, user, false);
		return -ENOMEM;
	}
	f = file_at(m, (uint32_t)m->free_file);
	m->free_file = f->fd;
	f->fd = fd;
	f->node = n;
	f->user = user;
	f->open = open;
	f->is_dir = dir;
	f->nonblock = f->ring_unfit = f->barred = false;
	f->known = 0;
	f->used = true;
	f->reuse++;
	server_node_ref(n);
	count_open(f, 1);
	*ret = (uint64_t)f->reuse << 32 | f->index;
	return 0;
}

bool server_file_has_open(const struct server_mount *m, const struct server_node *n)
{
	return n && n->n_open > 0 && *open_at(m, n);
}

struct server_file *server_file_opened(const struct server_req *q)
{
	const struct server_mount *m = q->mount;
	uint64_t i = q->unique / 2 % ARRAY_SIZE(m->opened);

	return m->opened[i].unique == q->unique ? file_find(m, m->opened[i].fh) : NULL;
}

int server_file_get(const struct server_req *q, unsigned i, uint64_t fh, bool dir,
		    struct server_file **ret)
{
	struct server_file *f = file_find(q->mount, fh);

	if (!f || f->is_dir != dir || f->node->handle.len != q->args.handles[i].len ||
	    memcmp(f->node->handle.bytes, q->args.handles[i].bytes, f->node->handle.len) != 0)
		return -EBADF;
	if (PLENUM_UNLIKELY(f->barred) && q->in->opcode != FUSE_FLUSH)
		return -EIO;
	*ret = f;
	return 0;
}

void server_file_bar(struct server_mount *m, uint64_t fh)
{
	struct server_file *f = file_find(m, fh);

	if (f)
		f->barred = true;
}

void server_files_bar(struct server_mount *m, uint64_t dev, uint64_t ino)
{
	for (uint32_t i = 1; i < m->n_file_chunks * SERVER_FILES_PER_CHUNK; i++) {
		struct server_file *f = file_at(m, i);

		if (f->used && f->node->dev == dev && f->node->ino == ino)
			f->barred = true;
	}
}

/* Closing the last descriptor of an unlinked file frees its space, which can take long, so a helper
 * closes it. */
static void file_close(struct server_file *f, bool closing)
{
	struct server_mount *m = f->mount;
	struct stat st;

	if (!f->is_dir && f->node->n_open == 1 && fstat(f->fd, &st) == 0 && st.st_nlink == 0)
		server_helper_close(m->export, f->fd);
	else
		close(f->fd);
	f->released = f->used = false;
	server_quota_give(m, f->user, closing);
	open_give(f->open);
	count_open(f, -1U);
	server_node_put(f->node);
}

static void file_end(struct server_file *f)
{
	file_close(f, false);
	files_free_push(f->mount, f->index);
}

void server_file_release(struct server_mount *m, uint64_t fh)
{
	struct server_file *f = file_find(m, fh);

	if (!f)
		return;
	f->released = true;
	if (f->busy == 0)
		file_end(f);
}

void server_file_put(struct server_file *f)
{
	if (--f->busy == 0 && f->released)
		file_end(f);
}

/* ------------------------------------------------------------------ closing all of a mount */

static void mount_end(struct server_mount *m)
{
	if (m->n_closings > 0 || !m->ended)
		return;
	server_quota_leave(m);
	free(m);
}

static void closing_end(struct server_closing *k)
{
	struct server_mount *m = k->mount;

	for (uint32_t i = 0; i < k->n_chunks; i++)
		free(k->chunks[i]);
	free(k->chunks);
	free(k);
	m->n_closings--;
	mount_end(m);
}

/* Closes at most `most` of the mount's files. Returns their number. */
static unsigned closing_run(struct server_closing *k, unsigned most)
{
	uint32_t end = MIN_OF(k->n_chunks * SERVER_FILES_PER_CHUNK, k->at + SCAN_PER_POLL);
	unsigned n = 0;

	for (; n < most && k->at < end; k->at++) {
		struct server_file *f =
			&k->chunks[k->at / SERVER_FILES_PER_CHUNK][k->at % SERVER_FILES_PER_CHUNK];

		if (!f->used)
			continue;
		file_close(f, true);
		n++;
	}
	return n;
}

unsigned server_files_close_some(struct fuse_server *srv)
{
	unsigned n = 0;

	while (srv->closing && n < CLOSE_PER_POLL) {
		struct server_closing *k = srv->closing;

		n += closing_run(k, CLOSE_PER_POLL - n);
		if (k->at < k->n_chunks * SERVER_FILES_PER_CHUNK)
			break;
		srv->closing = k->next;
		if (!k->next)
			srv->closing_tail = &srv->closing;
		closing_end(k);
	}
	return n;
}

void server_files_close(struct server_mount *m)
{
	struct fuse_server *srv = m->server;
	struct server_closing *k;

	if (m->n_file_chunks == 0)
		return;
	k = calloc(1, sizeof(*k));
	if (!k) { /* no memory to close them in steps: close all files now */
		for (uint32_t i = 1; i < m->n_file_chunks * SERVER_FILES_PER_CHUNK; i++)
			if (file_at(m, i)->used)
				file_end(file_at(m, i));
		return;
	}
	*k = (struct server_closing){
		.mount = m, .chunks = m->file_chunks, .n_chunks = m->n_file_chunks};
	server_quota_closing(m);
	m->n_closings++;
	m->file_chunks = NULL;
	m->n_file_chunks = 0;
	m->free_file = -1;
	*srv->closing_tail = k;
	srv->closing_tail = &k->next;
}

void server_files_end(struct server_mount *m)
{
	server_files_close(m);
	for (uint32_t i = 0; i < m->n_file_chunks; i++)
		free(m->file_chunks[i]);
	free(m->file_chunks);
	m->ended = true;
	mount_end(m);
}

void server_files_done(struct fuse_server *srv)
{
	while (srv->closing)
		server_files_close_some(srv);
	free(srv->opens);
	srv->opens = NULL;
}

/* ------------------------------------------------------------------ clients without a session */

void server_files_held(struct server_mount *m, uint32_t mark, uint32_t *n, uint64_t *bytes)
{
	for (uint32_t i = 1; i < m->n_file_chunks * SERVER_FILES_PER_CHUNK; i++) {
		const struct server_file *f = file_at(m, i);
		struct stat st;

		/* Count each removed object only once, even if it is open several times or in
		 * several mounts: held_mark shows which objects were counted. */
		if (!f->used || f->is_dir || f->node->held_mark == mark || fstat(f->fd, &st) < 0 ||
		    st.st_nlink > 0)
			continue;
		f->node->held_mark = mark;
		(*n)++;
		*bytes += (uint64_t)st.st_blocks * 512;
	}
}
