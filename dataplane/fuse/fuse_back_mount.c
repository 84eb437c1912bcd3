/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client's mount: what it has open, which ends with this process and is told again by the client.
 * A mount outlives its sessions, so nothing here belongs to one.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include <string.h>
#include <sys/random.h>

/* A client that was away for this long has lost its open files and kept answers. */
#define MOUNT_AWAY_S_MAX (24 * 3600)
/* With those that are away; the one that has been away longest goes first. */
#define MOUNTS_MAX (JOURNAL_MOUNTS_MAX - 1U)

static uint64_t boot_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec;
}

/* ------------------------------------------------------------------ open files */

static struct back_file *file_at(const struct back_mount *m, uint32_t i)
{
	return &m->file_chunks[i / BACK_FILES_PER_CHUNK][i % BACK_FILES_PER_CHUNK];
}

static void files_free_push(struct back_mount *m, uint32_t i)
{
	file_at(m, i)->fd = m->free_file;
	m->free_file = (int)i;
}

static int files_grow(struct back_mount *m)
{
	uint32_t pos = m->n_file_chunks, reuse;
	struct back_file *chunk = calloc(BACK_FILES_PER_CHUNK, sizeof(*chunk));
	void *p = realloc(m->file_chunks, (pos + 1) * sizeof(m->file_chunks[0]));

	if (p)
		m->file_chunks = p;
	/* Where numbers begin is not to be guessed, and no other process's: a file handle that
	 * this one has not given means nothing to it. */
	if (!p || !chunk || getrandom(&reuse, sizeof(reuse), 0) != sizeof(reuse)) {
		free(chunk);
		return -ENOMEM;
	}
	m->file_chunks[m->n_file_chunks++] = chunk;
	for (uint32_t i = BACK_FILES_PER_CHUNK; i-- > 0;) {
		chunk[i].mount = m;
		chunk[i].index = pos * BACK_FILES_PER_CHUNK + i;
		chunk[i].reuse = reuse;
		if (chunk[i].index > 0) /* no file handle is 0 */
			files_free_push(m, chunk[i].index);
	}
	return 0;
}

static void count_open(struct back_file *f, uint32_t by)
{
	struct back_node *n = f->node;

	if (!f->is_dir)
		n->export->n_open += by;
	n->n_open += by;
	if (n->n_open == 0)
		back_unhold(n);
}

static struct back_file *file_find(const struct back_mount *m, uint64_t fh)
{
	uint32_t i = (uint32_t)fh;
	struct back_file *f;

	if (i == 0 || i >= m->n_file_chunks * BACK_FILES_PER_CHUNK)
		return NULL;
	f = file_at(m, i);
	return f->used && !f->released && f->reuse == fh >> 32 ? f : NULL;
}

int back_file_new(struct back_mount *m, struct back_node *n, int fd, bool dir, uint64_t *ret)
{
	struct back_file *f;

	if (m->free_file < 0 && files_grow(m) < 0)
		return -ENOMEM;
	f = file_at(m, (uint32_t)m->free_file);
	m->free_file = f->fd;
	f->fd = fd;
	f->node = n;
	f->is_dir = dir;
	f->used = true;
	f->reuse++;
	back_node_ref(n);
	count_open(f, 1);
	*ret = (uint64_t)f->reuse << 32 | f->index;
	return 0;
}

bool back_file_has_open(const struct back_mount *m, const struct back_node *n)
{
	if (!n || n->n_open == 0)
		return false;
	for (uint32_t i = 1; i < m->n_file_chunks * BACK_FILES_PER_CHUNK; i++)
		if (file_at(m, i)->used && file_at(m, i)->node == n)
			return true;
	return false;
}

struct back_file *back_file_opened(const struct back_req *q)
{
	const struct back_mount *m = q->mount;
	uint64_t i = q->unique / 2 % ARRAY_SIZE(m->opened);

	return m->opened[i].unique == q->unique ? file_find(m, m->opened[i].fh) : NULL;
}

int back_file_get(const struct back_req *q, unsigned i, uint64_t fh, bool dir,
		  struct back_file **ret)
{
	struct back_file *f = file_find(q->mount, fh);

	if (!f || f->is_dir != dir || f->node->handle.len != q->args.handles[i].len ||
	    memcmp(f->node->handle.bytes, q->args.handles[i].bytes, f->node->handle.len) != 0)
		return -EBADF;
	*ret = f;
	return 0;
}

/* Of a file without a name the last descriptor takes its space with it, which lasts. */
static void file_close(struct back_file *f)
{
	struct back_mount *m = f->mount;
	struct stat st;

	if (!f->is_dir && f->node->n_open == 1 && fstat(f->fd, &st) == 0 && st.st_nlink == 0)
		back_hand_close(m->export, f->fd);
	else
		close(f->fd);
	f->released = f->used = false;
	count_open(f, -1U);
	back_node_put(f->node);
	files_free_push(m, f->index);
}

void back_file_release(struct back_mount *m, uint64_t fh)
{
	struct back_file *f = file_find(m, fh);

	if (!f)
		return;
	f->released = true;
	if (f->busy == 0)
		file_close(f);
}

void back_file_put(struct back_file *f)
{
	if (--f->busy == 0 && f->released)
		file_close(f);
}

static void files_done(struct back_mount *m)
{
	for (uint32_t i = 1; i < m->n_file_chunks * BACK_FILES_PER_CHUNK; i++)
		if (file_at(m, i)->used)
			file_close(file_at(m, i));
	for (uint32_t i = 0; i < m->n_file_chunks; i++)
		free(m->file_chunks[i]);
	free(m->file_chunks);
}

/* ------------------------------------------------------------------ mounts */

static struct back_mount *mount_new(struct back_export *e, const uint8_t id[16])
{
	struct fuse_back *b = e->back;
	struct back_mount *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->back = b;
	m->export = e;
	memcpy(m->id, id, sizeof(m->id));
	m->seen_s = boot_seconds();
	m->free_file = -1;
	m->next = b->mounts;
	b->mounts = m;
	b->n_mounts++;
	return m;
}

void back_mount_free(struct back_mount *m, bool forget_state)
{
	struct fuse_back *b = m->back;
	struct back_mount **p = &b->mounts;

	back_mount_settle(m);
	files_done(m);
	if (forget_state) {
		state_publish(&m->export->state->mounts[m->journal].used, 0U);
		journal_mount_drop(m->export->journal, m->journal);
	}
	while (*p != m)
		p = &(*p)->next;
	*p = m->next;
	b->n_mounts--;
	free(m);
}

void back_mount_settle(struct back_mount *m)
{
	if (m->unsettled)
		m->export->n_unsettled--;
	m->unsettled = false;
}

void back_mount_put(struct back_mount *m)
{
	if (m->n_clients > 0)
		return;
	m->seen_s = boot_seconds();
	if (m->gone && m->n_refs == 0)
		back_mount_free(m, true);
}

static struct back_mount *mount_find(const struct back_export *e, const uint8_t id[16])
{
	struct back_mount *m = e->back->mounts;

	while (m && (m->gone || m->export != e || memcmp(m->id, id, sizeof(m->id)) != 0))
		m = m->next;
	return m;
}

int back_mounts_restore(struct back_export *e)
{
	for (unsigned i = 0; i < JOURNAL_MOUNTS_MAX; i++) {
		struct state_mount *rec = &e->state->mounts[i];
		struct back_mount *m;

		if (!rec->used)
			continue;
		m = mount_new(e, rec->id);
		if (!m)
			return -ENOMEM;
		m->journal = i;
		m->unsettled = true;
		e->n_unsettled++;
	}
	/* Those of a predecessor among them. */
	for (unsigned i = 0; i < STATE_HOLDS_MAX; i++)
		e->n_maybe += e->state->holds[i].used && e->state->holds[i].maybe;
	e->holds_due = true;
	return 0;
}

void back_mounts_expire(struct fuse_back *b)
{
	uint64_t now_s = boot_seconds();
	struct back_mount *next;

	for (struct back_mount *m = b->mounts; m; m = next) {
		next = m->next;
		if (m->n_clients > 0)
			journal_mount_seen(m->export->journal, m->journal);
		if (m->n_clients == 0 && m->n_refs == 0 && now_s - m->seen_s > MOUNT_AWAY_S_MAX)
			back_mount_free(m, true);
	}
}

static int mounts_make_room(struct fuse_back *b)
{
	struct back_mount *oldest = NULL;

	if (b->n_mounts < MOUNTS_MAX)
		return 0;
	for (struct back_mount *m = b->mounts; m; m = m->next)
		if (m->n_clients == 0 && m->n_refs == 0 && (!oldest || m->seen_s < oldest->seen_s))
			oldest = m;
	if (!oldest)
		return -ENOSPC;
	back_mount_free(oldest, true);
	return 0;
}

/* So that a successor knows of it. */
static int mount_record(struct back_mount *m)
{
	struct state_mount *rec;
	int r = journal_mount_get(m->export->journal, m->id, &m->journal);

	if (r < 0)
		return r;
	rec = &m->export->state->mounts[m->journal];
	memcpy(rec->id, m->id, sizeof(rec->id));
	state_publish(&rec->used, 1U);
	return 0;
}

int back_mount_get(struct fuse_back *b, struct back_export *e, const uint8_t id[16],
		   struct back_mount **ret)
{
	struct back_mount *m = mount_find(e, id);
	int r;

	if (!m) {
		back_mounts_expire(b); /* the host may have slept for days */
		r = mounts_make_room(b);
		if (r < 0)
			return r;
		m = mount_new(e, id);
		if (!m)
			return -ENOMEM;
		r = mount_record(m);
		if (r < 0) {
			back_mount_free(m, false);
			return r;
		}
	}
	*ret = m;
	return 0;
}
