/* SPDX-License-Identifier: BSD-3-Clause */
/* The open files of a mount: handles that the client cannot guess, and the descriptors behind them.
 */
#include "dataplane/fuse/server/objects/server_background.h"
#include "dataplane/fuse/server/objects/server_lease.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/objects/server_node.h"
#include "dataplane/fuse/server/objects/server_pin.h"
#include "dataplane/fuse/server/objects/server_quota_count.h"
#include "dataplane/fuse/server/objects/server_types.h"
#include <string.h>
#include <sys/random.h>

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
	/* File handles start at a random number: a client cannot guess one, and a handle of a
	 * former process is invalid here. */
	if (!p || !chunk || getrandom(&reuse, sizeof(reuse), 0) != sizeof(reuse)) {
		free(chunk);
		return -ENOMEM;
	}
	m->file_chunks[m->n_file_chunks++] = chunk;
	for (uint32_t i = SERVER_FILES_PER_CHUNK; i-- > 0;) {
		chunk[i].mount = m;
		chunk[i].index = pos * SERVER_FILES_PER_CHUNK + i;
		chunk[i].reuse = reuse;
		if (chunk[i].index > 0) /* 0 is not a valid file handle */
			files_free_push(m, chunk[i].index);
	}
	return 0;
}

static void count_open(struct server_file *f, uint32_t by)
{
	struct server_node *n = f->node;
	struct fuse_server *srv = n->export->server;

	if (!f->is_dir) {
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
	struct server_file *f;

	if (m->free_file < 0 && files_grow(m) < 0)
		return -ENOMEM;
	user = server_quota_take(m, uid);
	if (!user)
		return -ENOMEM;
	f = file_at(m, (uint32_t)m->free_file);
	m->free_file = f->fd;
	f->fd = fd;
	f->node = n;
	f->user = user;
	f->is_dir = dir;
	f->nonblock = f->ring_unfit = false;
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
	if (!n || n->n_open == 0)
		return false;
	for (uint32_t i = 1; i < m->n_file_chunks * SERVER_FILES_PER_CHUNK; i++)
		if (file_at(m, i)->used && file_at(m, i)->node == n)
			return true;
	return false;
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
	*ret = f;
	return 0;
}

/* The last descriptor of an unlinked file frees its space, which can take long, so a helper
 * closes it. */
static void file_close(struct server_file *f)
{
	struct server_mount *m = f->mount;
	struct stat st;

	if (!f->is_dir && f->node->n_open == 1 && fstat(f->fd, &st) == 0 && st.st_nlink == 0)
		server_helper_close(m->export, f->fd);
	else
		close(f->fd);
	f->released = f->used = false;
	server_quota_give(m, f->user);
	count_open(f, -1U);
	server_node_put(f->node);
	files_free_push(m, f->index);
}

void server_file_release(struct server_mount *m, uint64_t fh)
{
	struct server_file *f = file_find(m, fh);

	if (!f)
		return;
	f->released = true;
	if (f->busy == 0)
		file_close(f);
}

void server_file_put(struct server_file *f)
{
	if (--f->busy == 0 && f->released)
		file_close(f);
}

void server_files_close(struct server_mount *m)
{
	for (uint32_t i = 1; i < m->n_file_chunks * SERVER_FILES_PER_CHUNK; i++)
		if (file_at(m, i)->used)
			file_close(file_at(m, i));
}

void server_files_done(struct server_mount *m)
{
	server_files_close(m);
	for (uint32_t i = 0; i < m->n_file_chunks; i++)
		free(m->file_chunks[i]);
	free(m->file_chunks);
}

/* ------------------------------------------------------------------ clients that are away */

void server_files_held(struct server_mount *m, uint32_t mark, uint32_t *n, uint64_t *bytes)
{
	for (uint32_t i = 1; i < m->n_file_chunks * SERVER_FILES_PER_CHUNK; i++) {
		const struct server_file *f = file_at(m, i);
		struct stat st;

		/* An object that is open twice, or in two mounts, is counted once. */
		if (!f->used || f->is_dir || f->node->held_mark == mark || fstat(f->fd, &st) < 0 ||
		    st.st_nlink > 0)
			continue;
		f->node->held_mark = mark;
		(*n)++;
		*bytes += (uint64_t)st.st_blocks * 512;
	}
}
