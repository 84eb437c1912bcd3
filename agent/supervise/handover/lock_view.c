/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the table of file locks with pread(2). In mapped memory, a value could change after the
 * check and before the use. */
#include "agent/supervise/handover/lock_view.h"
#include "netcfg/base/text.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATE_READY 2U
#define CHUNK 4096U /* count of records that are read at once */

/* A copy of the table, except that it has only one chunk of the records. */
struct copy {
	int fd;
	uint32_t n_mounts, n_files, n_records;
	struct lock_mount *mounts;
	struct lock_name *names;
	struct lock_file *files;
	struct lock_record *records; /* the chunk that was read last */
};

static int read_at(int fd, void *to, size_t len, size_t at)
{
	uint8_t *p = to;

	while (len > 0) {
		ssize_t n = pread(fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPROTO;
		p += n;
		at += (size_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* Reads the first n members of an array of the table. */
static int read_array(const struct copy *c, void **ret, size_t size, uint32_t n, size_t at)
{
	*ret = calloc(MAX_OF(n, 1U), size);
	return *ret ? read_at(c->fd, *ret, n * size, at) : -ENOMEM;
}

#define READ_ARRAY(c, member, n)                                          \
	read_array((c), (void **)&(c)->member, sizeof(*(c)->member), (n), \
		   offsetof(struct lock_memory, member))

static void copy_done(struct copy *c)
{
	free(c->mounts);
	free(c->names);
	free(c->files);
	free(c->records);
}

static int copy_begin(struct copy *c)
{
	struct lock_head head;
	int r = read_at(c->fd, &head, sizeof(head), offsetof(struct lock_memory, head));

	if (r < 0)
		return r;
	if (head.state != STATE_READY)
		return 0; /* the table is empty */
	if (head.version != LOCKS_VERSION)
		return -EPROTO;
	c->n_mounts = MIN_OF(head.n_mounts, LOCKS_MOUNTS);
	c->n_files = MIN_OF(head.n_files, LOCKS_FILES);
	c->n_records = MIN_OF(head.n_records, LOCKS_RECORDS);
	r = READ_ARRAY(c, mounts, c->n_mounts);
	if (r == 0)
		r = READ_ARRAY(c, names, c->n_mounts);
	if (r == 0)
		r = READ_ARRAY(c, files, c->n_files);
	c->records = calloc(CHUNK, sizeof(*c->records));
	return r == 0 && !c->records ? -ENOMEM : r;
}

/* Reads up to CHUNK records, beginning with record number `at`. Returns their number or negative
 * errno. */
static int copy_chunk(struct copy *c, uint32_t at)
{
	uint32_t n = MIN_OF(c->n_records - at, CHUNK);
	int r = read_at(c->fd, c->records, n * sizeof(*c->records),
			offsetof(struct lock_memory, records) + at * sizeof(*c->records));

	return r < 0 ? r : (int)n;
}

static void name_copy(char to[PLENUM_NAME_MAX], const char from[PLENUM_NAME_MAX])
{
	memcpy(to, from, PLENUM_NAME_MAX);
	to[PLENUM_NAME_MAX - 1] = '\0';
	text_clean(to);
}

/* Copies a record. Returns false if the record has no lock and no waiting request, or is
 * invalid. */
static bool entry_copy(const struct copy *c, const struct lock_record *r,
		       struct lock_view_entry *ret)
{
	const struct lock_file *f;

	if (r->state != LOCK_HELD && r->state != LOCK_WAITING && r->state != LOCK_BREAKING &&
	    r->state != LOCK_BROKEN)
		return false;
	if (r->file == 0 || r->file > c->n_files || r->mount >= c->n_mounts || r->start > r->end)
		return false;
	f = &c->files[r->file - 1];
	if (!f->used || !c->mounts[r->mount].used)
		return false;
	*ret = (struct lock_view_entry){
		.id = r->id,
		.dev = f->dev,
		.ino = f->ino,
		.start = r->start,
		.end = r->end,
		.since_ns = r->since_ns,
		.state = (enum lock_state)r->state,
		.pid = r->pid,
		.flock = r->flock != 0,
		.write = r->write != 0,
		.contended = f->waiting.first != 0,
		.worker = f->worker,
		.fd = f->fd,
	};
	name_copy(ret->host, c->names[r->mount].host);
	name_copy(ret->export_name, c->names[r->mount].export_name);
	return true;
}

static int compare(const void *a, const void *b)
{
	/* order of the states: held, being broken, broken, waiting */
	static const uint8_t order[LOCK_STATE_MAX] = {
		[LOCK_BREAKING] = 1, [LOCK_BROKEN] = 2, [LOCK_WAITING] = 3};
	const struct lock_view_entry *x = a, *y = b;
	int r = strcmp(x->export_name, y->export_name);

#define COMPARE(v, w) ((v) < (w) ? -1 : (v) > (w))
	if (r == 0)
		r = COMPARE(x->dev, y->dev);
	if (r == 0)
		r = COMPARE(x->ino, y->ino);
	if (r == 0)
		r = COMPARE(order[x->state], order[y->state]);
	if (r == 0)
		r = COMPARE(x->since_ns, y->since_ns);
	return r != 0 ? r : COMPARE(x->id, y->id);
#undef COMPARE
}

/* Adds the entry. If the list is full and a request waits for the entry's file, the entry replaces
 * an entry of a file for which no request waits. */
static void view_add(struct lock_view *v, size_t max, const struct lock_view_entry *e, size_t *next)
{
	if (v->n < max) {
		v->all[v->n++] = *e;
		return;
	}
	v->n_omitted++;
	if (!e->contended)
		return;
	while (*next < max && v->all[*next].contended)
		(*next)++;
	if (*next < max)
		v->all[(*next)++] = *e;
}

int lock_view_read(int fd, size_t max, struct lock_view *ret)
{
	PLENUM_CLEANUP(copy_done) struct copy c = {.fd = fd};
	struct lock_view v = {.all = calloc(MAX_OF(max, 1U), sizeof(*v.all))};
	struct lock_view_entry e;
	size_t replaced = 0;
	int n = v.all ? copy_begin(&c) : -ENOMEM;

	for (uint32_t at = 0; n >= 0 && at < c.n_records; at += CHUNK) {
		n = copy_chunk(&c, at);
		for (int i = 0; i < n; i++)
			if (entry_copy(&c, &c.records[i], &e))
				view_add(&v, max, &e, &replaced);
	}
	if (n < 0) {
		free(v.all);
		return n;
	}
	qsort(v.all, v.n, sizeof(*v.all), compare);
	*ret = v;
	return 0;
}

void lock_view_done(struct lock_view *v)
{
	free(ptr_take(v->all));
}

int lock_view_find(int fd, uint64_t id, struct lock_view_entry *ret)
{
	PLENUM_CLEANUP(copy_done) struct copy c = {.fd = fd};
	int n = copy_begin(&c);

	for (uint32_t at = 0; n >= 0 && at < c.n_records; at += CHUNK) {
		n = copy_chunk(&c, at);
		for (int i = 0; i < n; i++)
			if (c.records[i].id == id && entry_copy(&c, &c.records[i], ret))
				return 0;
	}
	return n < 0 ? n : -ENOENT;
}
