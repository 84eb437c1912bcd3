/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client's mount as it is kept in the state: its open files and its last answers. A mount
 * outlives its sessions and this process, so nothing here belongs to either.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include <string.h>

/* A client that was away for this long has lost its nodes and open files. */
#define MOUNT_AWAY_S_MAX (24 * 3600)

static uint64_t boot_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec;
}

static struct state_mount *mount_record(const struct back_mount *m)
{
	return &m->back->state.head->mounts[m->slot];
}

/* Open files. */

static struct state_file *file_at(const struct back_mount *m, uint32_t i)
{
	return &m->file_chunks[i / STATE_FILES_PER_CHUNK][i % STATE_FILES_PER_CHUNK];
}

static struct back_file *file_extra(const struct back_mount *m, uint32_t i)
{
	return &m->file_extras[i / STATE_FILES_PER_CHUNK][i % STATE_FILES_PER_CHUNK];
}

static void files_free_push(struct back_mount *m, uint32_t i)
{
	file_extra(m, i)->fd = m->free_file;
	m->free_file = (int)i;
}

static int files_chunk(struct back_mount *m, uint32_t pos, struct state_file *chunk)
{
	uint32_t n = MAX_OF(m->n_file_chunks, pos + 1);

	if (n > m->n_file_chunks) {
		void *p = realloc(m->file_chunks, n * sizeof(m->file_chunks[0]));

		if (!p)
			return -ENOMEM;
		m->file_chunks = p;
		p = realloc(m->file_extras, n * sizeof(m->file_extras[0]));
		if (!p)
			return -ENOMEM;
		m->file_extras = p;
		for (uint32_t i = m->n_file_chunks; i < n; i++) {
			m->file_chunks[i] = NULL;
			m->file_extras[i] = NULL;
		}
		m->n_file_chunks = n;
	}
	if (m->file_chunks[pos])
		return -EBADMSG;
	m->file_extras[pos] = calloc(STATE_FILES_PER_CHUNK, sizeof(struct back_file));
	if (!m->file_extras[pos])
		return -ENOMEM;
	m->file_chunks[pos] = chunk;
	for (uint32_t i = 0; i < STATE_FILES_PER_CHUNK; i++)
		m->file_extras[pos][i] = (struct back_file){
			.mount = m,
			.index = (uint32_t)(pos * STATE_FILES_PER_CHUNK + i),
			.fd = -1,
		};
	return 0;
}

static int files_grow(struct back_mount *m)
{
	uint32_t pos = m->n_file_chunks;
	struct state_file *chunk = state_chunk_new(&m->back->state, m->slot, STATE_FILES, pos);
	int r;

	if (!chunk)
		return -ENOMEM;
	r = files_chunk(m, pos, chunk);
	if (r < 0)
		return r;
	for (uint32_t i = STATE_FILES_PER_CHUNK; i-- > 0;)
		if (pos > 0 || i > 0) /* no file handle is 0 */
			files_free_push(m, (uint32_t)(pos * STATE_FILES_PER_CHUNK + i));
	return 0;
}

/* by is 1 for one more open file of the node, -1 for one less. */
static void files_count(struct back_mount *m, const struct state_file *rec, int by)
{
	struct back_node *extra;

	if (!(rec->flags & STATE_FILE_DIR))
		m->n_open += (uint32_t)by;
	if (!back_node_get(m, rec->nodeid, &extra))
		return;
	extra->n_open += (uint32_t)by;
	if (extra->n_open == 0)
		back_unhold(m, rec->nodeid);
}

static int files_restore(struct back_mount *m)
{
	for (uint32_t i = 0; i < m->n_file_chunks; i++)
		if (!m->file_chunks[i])
			return -EBADMSG;
	for (uint32_t i = (uint32_t)(m->n_file_chunks * STATE_FILES_PER_CHUNK); i-- > 1;)
		if (file_at(m, i)->flags & STATE_FILE_USED)
			files_count(m, file_at(m, i), 1);
		else
			files_free_push(m, i);
	back_unhold_mount(m, false);
	return 0;
}

int back_file_new(struct back_mount *m, uint64_t nodeid, int fd, uint32_t open_flags, bool dir,
		  uint64_t *ret)
{
	struct state_file *rec;
	uint32_t i;

	if (m->free_file < 0 && files_grow(m) < 0)
		return -ENOMEM;
	i = (uint32_t)m->free_file;
	m->free_file = file_extra(m, i)->fd;
	file_extra(m, i)->fd = fd;
	rec = file_at(m, i);
	rec->reuse++;
	rec->nodeid = nodeid;
	rec->open_flags = open_flags;
	state_publish(&rec->flags, (uint32_t)(STATE_FILE_USED | (dir ? STATE_FILE_DIR : 0)));
	files_count(m, rec, 1);
	*ret = (uint64_t)rec->reuse << 32 | i;
	return 0;
}

int back_file_get(struct back_mount *m, uint64_t fh, uint64_t nodeid, bool dir,
		  struct back_file **ret, struct state_file **ret_rec)
{
	uint32_t i = (uint32_t)fh;
	struct state_file *rec;
	struct back_file *f;
	int fd;

	if (i == 0 || i >= m->n_file_chunks * STATE_FILES_PER_CHUNK)
		return -EBADF;
	rec = file_at(m, i);
	f = file_extra(m, i);
	if (!(rec->flags & STATE_FILE_USED) || rec->reuse != fh >> 32 || f->released ||
	    rec->nodeid != nodeid || !!(rec->flags & STATE_FILE_DIR) != dir)
		return -EBADF;
	if (f->fd < 0) {
		/* Opened by a predecessor. */
		fd = back_node_open(m, rec->nodeid, (int)rec->open_flags);
		if (fd < 0)
			return fd;
		f->fd = fd;
	}
	*ret = f;
	if (ret_rec)
		*ret_rec = rec;
	return 0;
}

static void file_close(struct back_file *f)
{
	struct back_mount *m = f->mount;

	if (f->fd >= 0)
		close(f->fd);
	back_dir_free(f->dir);
	f->dir = NULL;
	f->released = false;
	files_count(m, file_at(m, f->index), -1);
	state_publish(&file_at(m, f->index)->flags, 0);
	files_free_push(m, f->index);
}

void back_file_release(struct back_mount *m, uint64_t fh)
{
	uint32_t i = (uint32_t)fh;
	struct back_file *f;

	if (i == 0 || i >= m->n_file_chunks * STATE_FILES_PER_CHUNK)
		return;
	f = file_extra(m, i);
	if (!(file_at(m, i)->flags & STATE_FILE_USED) || file_at(m, i)->reuse != fh >> 32)
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

/* Kept answers. */

static struct state_answer *answer_at(const struct back_mount *m, uint32_t i)
{
	struct state_answer *chunk = m->answers[i / STATE_ANSWERS_PER_CHUNK];

	return chunk ? &chunk[i % STATE_ANSWERS_PER_CHUNK] : NULL;
}

struct state_answer *back_answer_find(struct back_mount *m, uint64_t unique)
{
	for (uint32_t i = 0; i < STATE_ANSWERS_MAX; i++) {
		struct state_answer *a = answer_at(m, i);

		if (a && a->state != STATE_ANSWER_FREE && a->unique == unique)
			return a->len <= STATE_ANSWER_BYTES_MAX ? a : NULL;
	}
	return NULL;
}

struct state_answer *back_answer_new(struct back_mount *m, uint64_t unique, uint32_t opcode)
{
	struct state_answer *a = NULL;

	/* Round the ring, past those whose client may still ask. If all may, the oldest goes. */
	for (uint32_t tries = 0; tries <= STATE_ANSWERS_MAX; tries++) {
		uint32_t i = m->next_answer++ % STATE_ANSWERS_MAX;

		if (!m->answers[i / STATE_ANSWERS_PER_CHUNK]) {
			void *chunk = state_chunk_new(&m->back->state, m->slot, STATE_ANSWERS,
						      (uint32_t)(i / STATE_ANSWERS_PER_CHUNK));

			if (!chunk)
				return NULL;
			m->answers[i / STATE_ANSWERS_PER_CHUNK] = chunk;
		}
		a = answer_at(m, i);
		if (a->state == STATE_ANSWER_FREE || a->state == STATE_ANSWER_ACKED ||
		    (tries == STATE_ANSWERS_MAX && a->state == STATE_ANSWER_DONE))
			break;
	}
	state_publish(&a->state, STATE_ANSWER_FREE);
	a->unique = unique;
	a->opcode = opcode;
	a->error = 0;
	a->len = 0;
	a->size_then = UINT64_MAX;
	state_publish(&a->state, STATE_ANSWER_STARTED);
	return a;
}

/* Mounts. */

static struct back_mount *mount_alloc(struct fuse_back *b, struct back_export *e, unsigned slot)
{
	struct back_mount *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->back = b;
	m->export = e;
	m->slot = slot;
	m->free_node = BACK_NONE;
	m->free_file = -1;
	return m;
}

void back_mount_free(struct back_mount *m, bool forget_state)
{
	struct fuse_back *b = m->back;

	if (forget_state)
		back_unhold_mount(m, true);
	back_fds_drop_mount(m);
	back_nodes_done(m);
	for (uint32_t i = 0; i < m->n_file_chunks; i++) {
		for (uint32_t k = 0; m->file_extras[i] && k < STATE_FILES_PER_CHUNK; k++) {
			struct back_file *f = &m->file_extras[i][k];

			if (m->file_chunks[i][k].flags & STATE_FILE_USED && f->fd >= 0)
				close(f->fd);
			back_dir_free(f->dir);
		}
		free(m->file_extras[i]);
	}
	free(m->file_extras);
	free(m->file_chunks);
	if (forget_state)
		state_mount_drop(&b->state, m->slot);
	b->mounts[m->slot] = NULL;
	free(m);
}

void back_mount_put(struct back_mount *m)
{
	if (m->n_clients > 0)
		return;
	mount_record(m)->seen_s = boot_seconds();
	if (m->gone && m->n_refs == 0)
		back_mount_free(m, true);
}

static int mount_chunk_found(void *arg, enum state_kind kind, uint32_t pos, void *chunk)
{
	struct back_mount *m = arg;

	switch (kind) {
	case STATE_NODES:
		return back_nodes_chunk(m, pos, chunk);
	case STATE_FILES:
		return files_chunk(m, pos, chunk);
	case STATE_ANSWERS:
		if (pos >= ARRAY_SIZE(m->answers))
			return -EBADMSG;
		m->answers[pos] = chunk;
		return 0;
	case STATE_KIND_MAX:
		break;
	}
	return -EBADMSG;
}

int back_mount_restore(struct fuse_back *b, unsigned slot)
{
	struct state_mount *rec = &b->state.head->mounts[slot];
	struct back_export *e = NULL;
	struct back_mount *m;
	int r;

	for (unsigned i = 0; i < b->n_exports; i++)
		if (strncmp(b->exports[i].cfg->name, rec->export_name, PLENUM_NAME_MAX) == 0)
			e = &b->exports[i];
	if (!e || rec->root_dev != e->root_dev || rec->root_ino != e->root_ino) {
		state_mount_drop(&b->state, slot);
		return 0;
	}
	m = mount_alloc(b, e, slot);
	if (!m)
		return -ENOMEM;
	b->mounts[slot] = m;
	rec->seen_s = boot_seconds(); /* its client was there until our predecessor's end */
	r = state_chunk_each(&b->state, slot, mount_chunk_found, m);
	if (r == 0)
		r = back_nodes_restore(m);
	if (r == 0)
		r = files_restore(m);
	if (r < 0)
		back_mount_free(m, r == -EBADMSG);
	return r == -ENOMEM ? r : 0;
}

void back_mounts_expire(struct fuse_back *b)
{
	uint64_t now_s = boot_seconds();

	for (unsigned i = 0; i < STATE_MOUNTS_MAX; i++) {
		struct back_mount *m = b->mounts[i];

		if (m && m->n_clients == 0 && m->n_refs == 0 &&
		    now_s - mount_record(m)->seen_s > MOUNT_AWAY_S_MAX)
			back_mount_free(m, true);
	}
}

/* A free record, or that of the mount whose client has been away longest. */
static int mount_slot(struct fuse_back *b, unsigned *ret)
{
	struct state_mount *recs = b->state.head->mounts;
	unsigned oldest = STATE_MOUNTS_MAX;

	for (unsigned i = 0; i < STATE_MOUNTS_MAX; i++) {
		if (!b->mounts[i]) {
			*ret = i;
			return 0;
		}
		if (b->mounts[i]->n_clients == 0 && b->mounts[i]->n_refs == 0 &&
		    (oldest == STATE_MOUNTS_MAX || recs[i].seen_s < recs[oldest].seen_s))
			oldest = i;
	}
	if (oldest == STATE_MOUNTS_MAX)
		return -ENOSPC;
	back_mount_free(b->mounts[oldest], true);
	*ret = oldest;
	return 0;
}

int back_mount_get(struct fuse_back *b, struct back_export *e, const uint8_t id[16],
		   struct back_mount **ret)
{
	struct state_mount *rec;
	struct back_mount *m;
	unsigned slot;
	int r;

	for (slot = 0; slot < STATE_MOUNTS_MAX; slot++) {
		m = b->mounts[slot];
		rec = &b->state.head->mounts[slot];
		if (m && !m->gone && m->export == e && memcmp(rec->id, id, 16) == 0) {
			*ret = m;
			return 0;
		}
	}
	r = mount_slot(b, &slot);
	if (r < 0)
		return r;
	m = mount_alloc(b, e, slot);
	if (!m)
		return -ENOMEM;
	b->mounts[slot] = m;
	rec = &b->state.head->mounts[slot];
	memcpy(rec->id, id, 16);
	memcpy(rec->export_name, e->cfg->name, sizeof(rec->export_name));
	rec->root_dev = e->root_dev;
	rec->root_ino = e->root_ino;
	rec->seen_s = boot_seconds();
	r = back_nodes_init(m);
	if (r < 0) {
		back_mount_free(m, true);
		return r;
	}
	/* Last: until here the chunks belong to nobody, and a successor sweeps them. */
	state_publish(&rec->used, 1U);
	*ret = m;
	return 0;
}
