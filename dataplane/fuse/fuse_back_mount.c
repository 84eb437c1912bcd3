/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client's mount: what it has open, which ends with this process and is told again by the client,
 * and its last answers, which are kept in the export's state. A mount outlives its sessions, so
 * nothing here belongs to one.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include <string.h>
#include <sys/random.h>

/* A client that was away for this long has lost its open files and kept answers. */
#define MOUNT_AWAY_S_MAX (24 * 3600)
/* With those that are away; the one that has been away longest goes first. */
#define MOUNTS_MAX 65536U

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

static struct back_file *file_find(const struct back_mount *m, uint64_t fh)
{
	uint32_t i = (uint32_t)fh;
	struct back_file *f;

	if (i == 0 || i >= m->n_file_chunks * BACK_FILES_PER_CHUNK)
		return NULL;
	f = file_at(m, i);
	return f->used && !f->released && f->reuse == fh >> 32 ? f : NULL;
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

static void file_close(struct back_file *f)
{
	struct back_mount *m = f->mount;

	close(f->fd);
	back_dir_free(f->dir);
	f->dir = NULL;
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

/* ------------------------------------------------------------------ kept answers */

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
			return a->len + a->tail_len <= STATE_ANSWER_BYTES_MAX ? a : NULL;
	}
	return NULL;
}

static int answers_grow(struct back_mount *m, uint32_t pos)
{
	struct state_chunk head = {.kind = STATE_ANSWERS, .pos = pos};

	memcpy(head.mount_id, m->id, sizeof(head.mount_id));
	m->answers[pos] = state_chunk_new(&m->export->state, &head);
	return m->answers[pos] ? 0 : -ENOMEM;
}

struct state_answer *back_answer_new(struct back_mount *m, uint64_t unique, uint32_t opcode)
{
	struct state_answer *a = NULL;

	/* Round the ring, past those whose client may still ask. If all may, the oldest goes. */
	for (uint32_t tries = 0; tries <= STATE_ANSWERS_MAX; tries++) {
		uint32_t i = m->next_answer++ % STATE_ANSWERS_MAX;

		if (!m->answers[i / STATE_ANSWERS_PER_CHUNK]) {
			if (answers_grow(m, (uint32_t)(i / STATE_ANSWERS_PER_CHUNK)) < 0)
				return NULL;
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
	a->len = a->tail_len = 0;
	a->incarnation = m->back->incarnation;
	a->size_then = UINT64_MAX;
	state_publish(&a->state, STATE_ANSWER_STARTED);
	return a;
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
	for (uint32_t i = 0; i < ARRAY_SIZE(m->answers) && forget_state; i++)
		if (m->answers[i])
			state_chunk_free(&m->export->state, m->answers[i]);
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

static int restore_answers(struct back_export *e, const struct state_chunk *head, void *records)
{
	struct back_mount *m = mount_find(e, head->mount_id);

	if (head->pos >= STATE_ANSWER_CHUNKS || (m && m->answers[head->pos])) {
		state_chunk_free(&e->state, records);
		return 0;
	}
	if (!m) {
		m = mount_new(e, head->mount_id);
		if (!m)
			return -ENOMEM;
		m->unsettled = true;
		e->n_unsettled++;
	}
	m->answers[head->pos] = records;
	return 0;
}

static int restore_chunk(void *arg, const struct state_chunk *head, void *records)
{
	struct back_export *e = arg;
	struct state_hold *holds = records;

	if (head->kind == STATE_ANSWERS)
		return restore_answers(e, head, records);
	if (head->kind != STATE_HOLDS || head->pos >= STATE_HOLD_CHUNKS ||
	    e->hold_chunks[head->pos]) {
		state_chunk_free(&e->state, records);
		return 0;
	}
	e->hold_chunks[head->pos] = holds;
	e->holds_due = true;
	for (uint32_t i = 0; i < STATE_HOLDS_PER_CHUNK; i++)
		if (holds[i].used && !fuse_handle_mac(&holds[i].handle))
			state_publish(&holds[i].used, 0U); /* damaged */
	return 0;
}

int back_mounts_restore(struct back_export *e)
{
	return state_chunk_each(&e->state, restore_chunk, e);
}

void back_mounts_expire(struct fuse_back *b)
{
	uint64_t now_s = boot_seconds();
	struct back_mount *next;

	for (struct back_mount *m = b->mounts; m; m = next) {
		next = m->next;
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

int back_mount_get(struct fuse_back *b, struct back_export *e, const uint8_t id[16],
		   struct back_mount **ret)
{
	struct back_mount *m = mount_find(e, id);
	int r;

	if (!m) {
		r = mounts_make_room(b);
		if (r < 0)
			return r;
		m = mount_new(e, id);
		if (!m)
			return -ENOMEM;
		/* At once, so that a successor knows of it. */
		if (answers_grow(m, 0) < 0) {
			back_mount_free(m, false);
			return -ENOMEM;
		}
	}
	*ret = m;
	return 0;
}
