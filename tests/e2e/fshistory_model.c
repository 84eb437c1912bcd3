/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of fshistory: each function does one operation as one file system would that all
 * clients share, and reports a wrong result of the client. Where the manual page lets a client see
 * the past, what it saw must have been true at one moment of that past.
 */
#include "tests/e2e/fshistory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static struct content *content_new(uint32_t size)
{
	struct content *c = calloc(1, sizeof(*c) + size);

	if (!c) {
		perror("calloc");
		exit(1);
	}
	c->refs = 1;
	c->size = size;
	return c;
}

static void content_put(struct content *c)
{
	if (c && --c->refs == 0)
		free(c);
}

static int inode_new(struct model *m, bool is_dir)
{
	for (unsigned i = 0; i < INODES; i++) {
		struct inode *n = &m->inodes[i];

		if (n->used)
			continue;
		*n = (struct inode){.used = true, .is_dir = is_dir, .nlink = 1};
		memset(n->names, 0xff, sizeof(n->names));
		if (!is_dir)
			n->versions[n->n_versions++] = (struct version){.seq = m->seq,
									.at_ns = 0,
									.content = content_new(0),
									.by = CLIENTS};
		return (int)i;
	}
	fputs("the model has too few inodes\n", stderr);
	exit(1);
}

bool content_is(const struct content *a, const struct content *b)
{
	return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static void inode_check_use(struct model *m, int i)
{
	struct inode *n = &m->inodes[i];

	if (n->nlink > 0 || n->n_open > 0)
		return;
	for (unsigned v = 0; v < n->n_versions; v++)
		content_put(n->versions[v].content);
	n->used = false;
}

void model_init(struct model *m)
{
	memset(m, 0, sizeof(*m));
	memset(m->dirs, 0xff, sizeof(m->dirs));
	m->seq = 1;
	inode_new(m, true);
	for (unsigned c = 0; c < CLIENTS; c++)
		for (unsigned s = 0; s < SLOTS; s++)
			m->slots[c][s].inode = NOTHING;
}

void model_copy(struct model *to, const struct model *from)
{
	*to = *from;
	for (unsigned i = 0; i < INODES; i++)
		for (unsigned v = 0; to->inodes[i].used && v < to->inodes[i].n_versions; v++)
			to->inodes[i].versions[v].content->refs++;
}

void model_done(struct model *m)
{
	for (unsigned i = 0; i < INODES; i++)
		for (unsigned v = 0; m->inodes[i].used && v < m->inodes[i].n_versions; v++)
			content_put(m->inodes[i].versions[v].content);
}

void model_data(const struct op *op, unsigned char *ret)
{
	uint32_t x = op->number * 2654435761U + op->client;

	for (uint32_t i = 0; i < op->skip + op->len; i++) {
		x = x * 1664525U + 1013904223U;
		if (i >= op->skip)
			ret[i - op->skip] = (unsigned char)(1 + (x >> 24) % 255);
	}
}

/* ------------------------------------------------------------------ names */

static int *names_of(struct model *m, const struct path *p)
{
	int dir = p->dir == NOTHING ? 0 : m->dirs[p->dir];

	return dir == NOTHING ? NULL : m->inodes[dir].names;
}

int model_find(const struct model *m, const struct path *p)
{
	const int *names = names_of((struct model *)m, p);

	return names ? names[p->name] : NOTHING;
}

static void name_drop(struct model *m, const struct path *p)
{
	int *at = &names_of(m, p)[p->name], inode = *at;

	*at = NOTHING;
	m->inodes[inode].nlink--;
	inode_check_use(m, inode);
}

static long do_unlink(struct model *m, const struct op *op)
{
	if (model_find(m, &op->a) == NOTHING)
		return -ENOENT;
	name_drop(m, &op->a);
	return 0;
}

static long do_link(struct model *m, const struct op *op)
{
	int inode = model_find(m, &op->a);

	if (inode == NOTHING || !names_of(m, &op->b))
		return -ENOENT;
	if (model_find(m, &op->b) != NOTHING)
		return -EEXIST;
	names_of(m, &op->b)[op->b.name] = inode;
	m->inodes[inode].nlink++;
	return 0;
}

bool model_link(struct model *m, int inode, const struct path *p)
{
	int *names = names_of(m, p);

	if (!names || names[p->name] != NOTHING || m->inodes[inode].nlink == 0)
		return false;
	names[p->name] = inode;
	m->inodes[inode].nlink++;
	return true;
}

static long do_rename(struct model *m, const struct op *op)
{
	int a = model_find(m, &op->a), b = model_find(m, &op->b);

	if (!names_of(m, &op->a) || !names_of(m, &op->b) || a == NOTHING)
		return -ENOENT;
	if ((op->flags & RENAME_NOREPLACE) && b != NOTHING)
		return -EEXIST;
	if ((op->flags & RENAME_EXCHANGE) && b == NOTHING)
		return -ENOENT;
	if (a == b)
		return 0;
	if (op->flags & RENAME_EXCHANGE) {
		names_of(m, &op->a)[op->a.name] = b;
		names_of(m, &op->b)[op->b.name] = a;
		return 0;
	}
	if (b != NOTHING)
		name_drop(m, &op->b);
	names_of(m, &op->a)[op->a.name] = NOTHING;
	names_of(m, &op->b)[op->b.name] = a;
	return 0;
}

static bool is_empty(const struct model *m, int dir)
{
	for (unsigned i = 0; i < NAMES; i++)
		if (m->inodes[dir].names[i] != NOTHING)
			return false;
	return true;
}

static void dir_drop(struct model *m, int name)
{
	m->inodes[m->dirs[name]].nlink = 0;
	inode_check_use(m, m->dirs[name]);
	m->dirs[name] = NOTHING;
}

static long do_dir(struct model *m, const struct op *op)
{
	int a = op->a.dir, b = op->b.dir;

	if (op->kind == OP_MKDIR) {
		if (m->dirs[a] != NOTHING)
			return -EEXIST;
		m->dirs[a] = inode_new(m, true);
		return 0;
	}
	if (m->dirs[a] == NOTHING)
		return -ENOENT;
	if (op->kind == OP_RENAMEDIR && a == b)
		return 0;
	if (op->kind == OP_RMDIR)
		b = a;
	if (m->dirs[b] != NOTHING && !is_empty(m, m->dirs[b]))
		return -ENOTEMPTY;
	if (m->dirs[b] != NOTHING)
		dir_drop(m, b);
	if (op->kind == OP_RENAMEDIR) {
		m->dirs[b] = m->dirs[a];
		m->dirs[a] = NOTHING;
	}
	return 0;
}

static const char *judge_readdir(const struct model *m, const struct op *op,
				 const struct outcome *o, long *ret)
{
	const int *names = names_of((struct model *)m, &op->a);
	uint32_t want = 0;

	*ret = names ? 0 : -ENOENT;
	if (o->r != *ret)
		return "result";
	for (unsigned i = 0; names && i < NAMES; i++)
		want |= names[i] == NOTHING ? 0 : 1U << i;
	for (unsigned i = 0; op->a.dir == NOTHING && i < DIRS; i++)
		want |= m->dirs[i] == NOTHING ? 0 : 1U << (NAMES + i);
	return names && o->names != want ? "the names that it lists" : NULL;
}

/* ------------------------------------------------------------------ contents */

const struct content *model_content(const struct model *m, int inode)
{
	const struct inode *n = &m->inodes[inode];

	return n->versions[n->n_versions - 1].content;
}

/* Drops the oldest version if there is no room; open files that may still see it become lost. */
static void versions_make_room(struct model *m, int inode)
{
	struct inode *n = &m->inodes[inode];

	if (n->n_versions < VERSIONS)
		return;
	content_put(n->versions[0].content);
	memmove(n->versions, n->versions + 1, (VERSIONS - 1) * sizeof(n->versions[0]));
	n->n_versions--;
	for (unsigned c = 0; c < CLIENTS; c++)
		for (unsigned s = 0; s < SLOTS; s++)
			if (m->slots[c][s].inode == inode &&
			    m->slots[c][s].open_seq < n->versions[0].seq)
				m->slots[c][s].lost = true;
}

static bool has_moment(const struct inode *n, const struct version *w)
{
	for (unsigned v = n->n_versions; v-- > 0 && n->versions[v].at_ns == w->at_ns;)
		if (content_is(n->versions[v].content, w->content))
			return true;
	return false;
}

void model_add_moments(struct model *m, int inode, const struct model *other, int other_inode)
{
	struct inode *n = &m->inodes[inode];
	const struct inode *o = &other->inodes[other_inode];
	uint64_t at_ns = n->versions[n->n_versions - 1].at_ns;

	for (unsigned v = 0; v + 1 < o->n_versions; v++) {
		const struct version *w = &o->versions[v];

		if (w->at_ns != at_ns || has_moment(n, w))
			continue;
		versions_make_room(m, inode);
		n->versions[n->n_versions] = n->versions[n->n_versions - 1];
		n->versions[n->n_versions - 1].content = w->content;
		n->versions[n->n_versions - 1].by = CLIENTS;
		n->n_versions++;
		w->content->refs++;
	}
}

/* A new version: the old bytes, then `data` from `from` on, and this size. */
static void change(struct model *m, const struct op *op, const struct outcome *o, int inode,
		   uint32_t size, uint32_t from, const unsigned char *data, uint32_t len)
{
	const struct content *old = model_content(m, inode);
	struct content *new = content_new(size);
	uint32_t to = MAX_OF(from + len, data ? from : MAX_OF(size, old->size));
	struct inode *n = &m->inodes[inode];

	memcpy(new->data, old->data, MIN_OF(size, old->size));
	if (data)
		memcpy(new->data + from, data, len);
	versions_make_room(m, inode);
	n->versions[n->n_versions++] = (struct version){.seq = ++m->seq,
							.at_ns = o->ended_ns,
							.content = new,
							.by = op->client,
							.from = from,
							.to = to};
}

static void cut(struct model *m, const struct op *op, const struct outcome *o, int inode,
		uint32_t size)
{
	uint32_t old = model_content(m, inode)->size;

	if (size != old)
		change(m, op, o, inode, size, MIN_OF(size, old), NULL, 0);
}

static long do_truncate(struct model *m, const struct op *op, const struct outcome *o)
{
	int inode = model_find(m, &op->a);

	if (inode == NOTHING)
		return -ENOENT;
	cut(m, op, o, inode, op->len);
	return 0;
}

static long do_write(struct model *m, const struct op *op, const struct outcome *o)
{
	const struct slot *s = &m->slots[op->client][op->slot];
	uint32_t size = model_content(m, s->inode)->size, from = s->append ? size : op->off;
	unsigned char data[IO_BYTES];

	model_data(op, data);
	change(m, op, o, s->inode, MAX_OF(size, from + op->len), from, data, op->len);
	return (long)op->len;
}

static long do_open(struct model *m, const struct op *op, const struct outcome *o)
{
	struct slot *s = &m->slots[op->client][op->slot];
	int inode = model_find(m, &op->a);

	if (!names_of(m, &op->a) || (inode == NOTHING && !(op->flags & O_CREAT)))
		return -ENOENT;
	if (inode != NOTHING && (op->flags & O_EXCL))
		return -EEXIST;
	if (inode == NOTHING) {
		inode = inode_new(m, false);
		names_of(m, &op->a)[op->a.name] = inode;
		m->inodes[inode].ino = o->ino;
	} else if (op->flags & O_TRUNC) {
		cut(m, op, o, inode, 0);
	}
	m->inodes[inode].n_open++;
	/* An open that runs beside a change may come before it. */
	*s = (struct slot){.inode = inode,
			   .append = op->flags & O_APPEND,
			   .open_seq = m->pair_seq ? m->pair_seq : m->seq};
	return 0;
}

static long do_close(struct model *m, const struct op *op)
{
	struct slot *s = &m->slots[op->client][op->slot];

	m->inodes[s->inode].n_open--;
	inode_check_use(m, s->inode);
	s->inode = NOTHING;
	return 0;
}

/* ------------------------------------------------------------------ what may be seen */

/* The first version that an open file may still see: the one at its open. */
static unsigned version_at(const struct inode *n, uint64_t seq)
{
	unsigned v = 0;

	while (v + 1 < n->n_versions && n->versions[v + 1].seq <= seq)
		v++;
	return v;
}

/* A client that changed a byte sees no older one. */
static unsigned first_for(const struct inode *n, unsigned first, unsigned client, uint32_t at)
{
	for (unsigned v = n->n_versions; v-- > first;)
		if (n->versions[v].by == client && at >= n->versions[v].from &&
		    at < n->versions[v].to)
			return v;
	return first;
}

static bool byte_may_be(const struct inode *n, unsigned first, uint32_t at, unsigned char byte)
{
	for (unsigned v = n->n_versions; v-- > first;) {
		const struct content *c = n->versions[v].content;

		if (byte == (at < c->size ? c->data[at] : 0))
			return true;
	}
	return false;
}

/* Of a truncated file the reader's kernel may have the pages before a border, and find the end
 * of the file at the border: the end lay behind it at one moment and before it at a later one. */
static bool border_may_be(const struct inode *n, unsigned first, const struct op *op, uint32_t end)
{
	unsigned own = first_for(n, first, op->client, end);
	bool was_behind = false;

	if (end % PAGE != 0 || end <= op->off)
		return false;
	for (unsigned v = first; v < n->n_versions; v++) {
		uint32_t size = n->versions[v].content->size;

		if (was_behind && v >= own && size <= end)
			return true;
		was_behind = was_behind || size >= end;
	}
	return false;
}

static bool length_may_be(const struct inode *n, unsigned first, const struct op *op, long len)
{
	for (unsigned v = n->n_versions; v-- > first;) {
		uint32_t size = n->versions[v].content->size;
		uint32_t left = size > op->off ? size - op->off : 0;

		if (len == (long)MIN_OF(left, op->len))
			return true;
	}
	return border_may_be(n, first, op, op->off + (uint32_t)len);
}

static const char *judge_read(const struct model *m, const struct op *op, const struct outcome *o,
			      long *ret)
{
	const struct slot *s = &m->slots[op->client][op->slot];
	const struct inode *n = &m->inodes[s->inode];
	unsigned first = version_at(n, s->open_seq);
	uint32_t size = model_content(m, s->inode)->size;

	*ret = (long)MIN_OF(size > op->off ? size - op->off : 0, op->len);
	if (o->r < 0)
		return "result";
	if (!length_may_be(n, first, op, o->r))
		return "the length that it reads";
	for (uint32_t i = 0; i < (uint32_t)o->r; i++) {
		uint32_t at = op->off + i;

		if (byte_may_be(n, first_for(n, first, op->client, at), at, o->data[i]))
			continue;
		*ret = (long)at;
		return "a byte that was never there (its offset)";
	}
	return NULL;
}

/* The size that the client itself left, where of two simultaneous operations the other came
 * later than this model assumes: the writer's answer may have carried the file's size at that
 * moment. */
static uint32_t size_alone(const struct inode *n, unsigned v)
{
	unsigned base = v, client = n->versions[v].by;
	uint32_t size;

	while (base > 0 && n->versions[base].at_ns == n->versions[v].at_ns)
		base--;
	size = n->versions[base].content->size;
	for (unsigned i = base + 1; i <= v; i++) {
		const struct version *w = &n->versions[i];

		if (w->by == client)
			size = w->content->size < n->versions[i - 1].content->size
				       ? w->content->size
				       : MAX_OF(size, w->to);
	}
	return size;
}

/* Sizes may be as old as the manual page allows, but not older than the client's own changes,
 * nor than its open. */
static const char *judge_fstat(const struct model *m, const struct op *op, const struct outcome *o,
			       long *ret)
{
	const struct slot *s = &m->slots[op->client][op->slot];
	const struct inode *n = &m->inodes[s->inode];
	unsigned first = version_at(n, s->open_seq);
	bool knows = false;

	*ret = 0;
	if (o->r < 0)
		return "result";
	if (n->ino && o->ino != n->ino) {
		*ret = (long)n->ino;
		return "the file";
	}
	for (unsigned v = n->n_versions; v-- > first;) {
		const struct version *w = &n->versions[v];

		/* A change at the same moment as the client's own may have come after it. */
		if (knows && w->at_ns != w[1].at_ns)
			break;
		if (o->size == w->content->size ||
		    (w->by == op->client && o->size == size_alone(n, v)))
			return NULL;
		knows |= w->by == op->client;
		if (w->at_ns + ATTR_AGE_NS < o->begun_ns)
			break;
	}
	*ret = (long)model_content(m, s->inode)->size;
	return "size";
}

static const char *judge_stat(const struct model *m, const struct op *op, const struct outcome *o,
			      long *ret)
{
	int inode = model_find(m, &op->a);

	*ret = inode == NOTHING ? -ENOENT : 0;
	if (o->r != *ret)
		return "result";
	if (inode == NOTHING)
		return NULL;
	*ret = (long)m->inodes[inode].ino;
	if (m->inodes[inode].ino && o->ino != m->inodes[inode].ino)
		return "the file";
	*ret = (long)model_content(m, inode)->size;
	if (o->size != model_content(m, inode)->size)
		return "size";
	*ret = (long)m->inodes[inode].nlink;
	return o->nlink != m->inodes[inode].nlink ? "links" : NULL;
}

static const char *judge_open(const struct model *m, const struct op *op, const struct outcome *o,
			      long *ret)
{
	int inode = model_find(m, &op->a);

	if (*ret < 0)
		return NULL;
	/* A new inode has a number that no other has. */
	for (int i = 0; i < (int)INODES; i++)
		if (i != inode && m->inodes[i].used && m->inodes[i].ino == o->ino)
			return "the file that it opens";
	if (m->inodes[inode].ino == 0 || o->ino == m->inodes[inode].ino)
		return NULL;
	*ret = (long)m->inodes[inode].ino;
	return "the file that it opens";
}

const char *model_step(struct model *m, const struct op *op, const struct outcome *o, long *ret)
{
	switch (op->kind) {
	case OP_READ:
		return judge_read(m, op, o, ret);
	case OP_FSTAT:
		return judge_fstat(m, op, o, ret);
	case OP_STAT:
		return judge_stat(m, op, o, ret);
	case OP_READDIR:
		return judge_readdir(m, op, o, ret);
	case OP_OPEN:
		*ret = do_open(m, op, o);
		break;
	case OP_CLOSE:
		*ret = do_close(m, op);
		break;
	case OP_WRITE:
		*ret = do_write(m, op, o);
		break;
	case OP_FTRUNCATE:
		cut(m, op, o, m->slots[op->client][op->slot].inode, op->len);
		*ret = 0;
		break;
	case OP_TRUNCATE:
		*ret = do_truncate(m, op, o);
		break;
	case OP_UNLINK:
		*ret = do_unlink(m, op);
		break;
	case OP_LINK:
		*ret = do_link(m, op);
		break;
	case OP_RENAME:
		*ret = do_rename(m, op);
		break;
	case OP_MKDIR:
	case OP_RMDIR:
	case OP_RENAMEDIR:
		*ret = do_dir(m, op);
		break;
	default:
		*ret = 0;
		break;
	}
	if (o->r != *ret)
		return "result";
	return op->kind == OP_OPEN ? judge_open(m, op, o, ret) : NULL;
}
