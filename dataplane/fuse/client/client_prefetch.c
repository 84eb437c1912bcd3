/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prefetched directory entries: a program that opens a directory is about to read it, so the
 * entries arrive with the answer to OPENDIR, and the client answers the reads. The entries show the
 * directory at the time of its open, which is what readdir(3) lists. They are valid only for a
 * short time, so that rewinddir(3) shows later changes, and are used only once: when a reader
 * rewinds, the client asks the server. The kernel takes the attributes in an answer as newer than
 * those that it has cached. So if it has learned something about a file since the open, the entry
 * of this file has only the name. If the server leases the names of a directory, the client caches
 * a copy of the entries, from which client_local_dir.c answers later opens. All of this is only in
 * process memory, so a successor asks the server.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PREFETCH_BYTES                 \
	((size_t)FUSE_PROTO_LIST_MAX + \
	 FUSE_PROTO_LIST_MAX / FUSE_PROTO_DIRPLUS_ENTRY * (1U + FUSE_PROTO_HANDLE_MAX))
#define DIR_CACHE_BYTES ((size_t)4 << 20)
/* Memory for the prefetches, for one answer in progress, and for the cached directories. */
#define MEMORY_BYTES ((CLIENT_PREFETCHES + 1) * PREFETCH_BYTES + DIR_CACHE_BYTES)
#define SHOWN_BYTES ((size_t)CLIENT_NODES_MAX * sizeof(uint64_t))
/* The client does not use a cached directory if the kernel has learned something newer about more
 * than one in this many entries, because these entries would have no attributes. */
#define DIR_CACHE_STALE 8U
/* Limit for n below. A program that opens directories without reading them will probably continue
 * to do so. So after the n-th unread prefetch in a row, the next 2^n - 1 opens request no
 * entries. */
#define UNREAD_MAX 6U
/* How long the client assumes that a directory is too large for a prefetch, after it was too large
 * once. */
#define LARGE_NS (5 * NSEC_PER_SEC)

static void *memory_of(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int prefetch_init(struct fuse_client *f)
{
	struct client_prefetches *p = &f->prefetch;

	p->memory = memory_of(MEMORY_BYTES);
	p->shown = memory_of(SHOWN_BYTES);
	if (!p->memory || !p->shown)
		return -ENOMEM;
	for (unsigned i = 0; i < CLIENT_PREFETCHES; i++)
		p->items[i].bytes = p->memory + i * PREFETCH_BYTES;
	p->dir_cache_bytes = p->memory + (CLIENT_PREFETCHES + 1) * PREFETCH_BYTES;
	f->nodes.companions[2] = p->shown;
	return 0;
}

static void prefetch_done(struct fuse_client *f)
{
	f->nodes.companions[2] = NULL;
	if (f->prefetch.memory)
		munmap(f->prefetch.memory, MEMORY_BYTES);
	if (f->prefetch.shown)
		munmap(f->prefetch.shown, SHOWN_BYTES);
	f->prefetch.memory = NULL;
	f->prefetch.shown = NULL;
}

static void prefetch_down(struct fuse_client *f, uint64_t now_ns)
{
	(void)now_ns;
	for (unsigned i = 0; i < CLIENT_PREFETCHES; i++)
		f->prefetch.items[i].used = false;
	memset(f->prefetch.dir_cache, 0, sizeof(f->prefetch.dir_cache));
}

void client_prefetches_trim(struct fuse_client *f)
{
	if (f->prefetch.n_touched == 0)
		return;
	prefetch_down(f, 0);
	(void)madvise(f->prefetch.memory, MEMORY_BYTES, MADV_DONTNEED);
	f->prefetch.n_touched = 0;
}

static struct client_prefetch *prefetch_of(struct fuse_client *f, uint64_t fh)
{
	return &f->prefetch.items[(uint32_t)fh %
				  CLIENT_PREFETCHES]; /* the low bits are the file's index */
}

/* ------------------------------------------------------------------ requesting entries */

uint32_t client_prefetch_bytes(struct fuse_client *f, uint64_t nodeid, uint64_t now_ns)
{
	struct client_prefetches *p = &f->prefetch;

	if (!(f->features & FUSE_PROTO_FEATURE_LIST))
		return 0;
	if (p->large[nodeid % CLIENT_LARGE].nodeid == nodeid &&
	    now_ns < p->large[nodeid % CLIENT_LARGE].until_ns)
		return 0;
	if (p->n_skip > 0) {
		p->n_skip--;
		return 0;
	}
	return FUSE_PROTO_LIST_MAX;
}

static uint8_t *request_bytes_at(const struct client_slot *s)
{
	return s->req + sizeof(struct fuse_in_header) + offsetof(struct fuse_open_in, open_flags);
}

void client_prefetch_request(struct client_slot *s, uint32_t bytes)
{
	memcpy(request_bytes_at(s), &bytes, sizeof(bytes));
	s->resp_max = fuse_proto_resp_max(FUSE_OPENDIR, bytes);
}

static void note_unread(struct fuse_client *f, const struct client_prefetch *unread)
{
	struct client_prefetches *p = &f->prefetch;

	if (unread->is_copy) /* no prefetch was wasted, because the entries are a copy from the
				cache */
		return;
	p->n_unread = MIN_OF(p->n_unread + 1, UNREAD_MAX);
	p->n_skip = (1U << p->n_unread) - 1;
}

/* ------------------------------------------------------------------ storing entries */

/* Returns whether the answer contains only complete entries, and a handle for each entry that needs
 * one. */
static bool is_whole(const struct client_answer *a)
{
	size_t off = 0, at;
	unsigned n = 0;
	bool special;
	int r;

	while ((r = client_direntplus_next(a->body, a->body_len, &off, &at, &special)) > 0) {
		struct fuse_entry_out entry;

		memcpy(&entry, a->body + at, sizeof(entry));
		n += entry.nodeid != 0;
	}
	return r == 0 && n == a->n_handles;
}

static struct client_dir_cache *dir_cache_of(struct fuse_client *f, uint64_t nodeid)
{
	return &f->prefetch.dir_cache[(uint32_t)nodeid % CLIENT_DIR_CACHE_MAX];
}

static uint32_t n_names(const struct client_answer *a)
{
	size_t off = 0, at;
	uint32_t n = 0;
	bool special;

	while (client_direntplus_next(a->body, a->body_len, &off, &at, &special) > 0)
		n += !special;
	return n;
}

/* Copies an unread prefetch into the directory cache. An empty directory is not cached, because
 * another client may remove it at any time, and the server must then know which clients have it
 * open. */
static void dir_cache_put(struct fuse_client *f, uint64_t nodeid,
			  const struct client_prefetch *from, size_t handles_len)
{
	struct client_prefetches *p = &f->prefetch;
	size_t len = from->a.body_len + handles_len;
	uint32_t n = n_names(&from->a);

	client_dir_cache_drop(f, nodeid);
	if (n == 0)
		return;
	if (p->dir_cache_at % DIR_CACHE_BYTES + len > DIR_CACHE_BYTES)
		p->dir_cache_at += DIR_CACHE_BYTES - p->dir_cache_at % DIR_CACHE_BYTES;
	memcpy(p->dir_cache_bytes + p->dir_cache_at % DIR_CACHE_BYTES, from->bytes, len);
	*dir_cache_of(f, nodeid) = (struct client_dir_cache){.nodeid = nodeid,
							     .sent_ns = from->sent_ns,
							     .n_shown = from->n_shown,
							     .n_changes = from->n_changes,
							     .body_len = (uint32_t)from->a.body_len,
							     .handles_len = (uint32_t)handles_len,
							     .n_handles = from->a.n_handles,
							     .n_names = n,
							     .at = p->dir_cache_at};
	p->dir_cache_at += len;
}

void client_dir_cache_drop(struct fuse_client *f, uint64_t nodeid)
{
	if (dir_cache_of(f, nodeid)->nodeid == nodeid)
		dir_cache_of(f, nodeid)->nodeid = 0;
}

static struct client_answer dir_cache_entries(const struct client_prefetches *p,
					      const struct client_dir_cache *k)
{
	uint8_t *bytes = p->dir_cache_bytes + k->at % DIR_CACHE_BYTES;

	return (struct client_answer){.body = bytes,
				      .body_len = k->body_len,
				      .handles = bytes + k->body_len,
				      .n_handles = k->n_handles};
}

/* Returns whether most cached entries still have current attributes. */
static bool dir_cache_is_useful(const struct fuse_client *f, const struct client_dir_cache *k)
{
	struct client_answer a = dir_cache_entries(&f->prefetch, k);
	unsigned n = 0, n_stale = 0;
	struct client_handle h;

	for (; client_answer_handle(&a, &h); n++) {
		const struct client_node *node = client_node_find(&f->nodes, h.bytes, h.len);

		n_stale += node && client_shown_since(f, node, k->n_shown);
	}
	return n_stale * DIR_CACHE_STALE <= n;
}

const struct client_dir_cache *client_dir_cache_get(struct fuse_client *f, uint64_t nodeid,
						    const struct client_node *node, uint64_t now_ns)
{
	const struct client_dir_cache *k = dir_cache_of(f, nodeid);

	return k->nodeid == nodeid && now_ns - k->sent_ns < CLIENT_DIR_CACHE_NS &&
			       k->n_changes == node->n_changes &&
			       f->prefetch.dir_cache_at - k->at <= DIR_CACHE_BYTES &&
			       k->n_shown >= f->prefetch.n_shown_all &&
			       f->prefetch.n_shown - k->n_shown <= CLIENT_SHOWN_MAX &&
			       f->n_deferred == 0 && dir_cache_is_useful(f, k)
		       ? k
		       : NULL;
}

int client_prefetch_take(struct fuse_client *f, const struct client_slot *s,
			 struct client_answer *a, uint64_t fh)
{
	const size_t head = sizeof(struct fuse_open_out);
	struct client_prefetch *p = prefetch_of(f, fh);
	struct client_answer of = *a;
	size_t handles = 0;
	uint32_t asked;

	of.body += head;
	of.body_len -= head;
	/* The kernel gets only the struct fuse_open_out, without the entries that follow it. */
	a->body_len = head;
	a->out.len = (uint32_t)(sizeof(a->out) + head);
	memcpy(a->body - sizeof(a->out), &a->out, sizeof(a->out));
	memcpy(&asked, request_bytes_at(s), sizeof(asked));
	if (of.body_len > asked || !is_whole(&of))
		return -EIO;
	for (unsigned i = 0; i < of.n_handles; i++)
		handles += 1U + of.handles[handles];
	p->used = false;
	if (of.body_len + handles > PREFETCH_BYTES)
		return 0;
	memcpy(p->bytes, of.body, of.body_len);
	memcpy(p->bytes + of.body_len, of.handles, handles);
	of.handles = p->bytes + of.body_len;
	of.body = p->bytes;
	*p = (struct client_prefetch){.used = true,
				      .fh = fh,
				      .opened_ns = s->arrived_ns,
				      .sent_ns = s->arrived_ns,
				      .n_shown = s->n_shown,
				      .n_changes = s->n_changes,
				      .a = of,
				      .bytes = p->bytes};
	if (a->has_names && !f->dispatch && !f->area)
		dir_cache_put(f, s->refs.nodeids[0], p, handles);
	f->prefetch.n_touched++;
	return 0;
}

void client_prefetch_none(struct fuse_client *f, const struct client_slot *s)
{
	uint64_t nodeid = s->refs.nodeids[0];
	uint32_t asked;

	memcpy(&asked, request_bytes_at(s), sizeof(asked));
	if (asked == 0)
		return;
	f->prefetch.large[nodeid % CLIENT_LARGE].nodeid = nodeid;
	f->prefetch.large[nodeid % CLIENT_LARGE].until_ns = s->arrived_ns + LARGE_NS;
}

void client_prefetch_close(struct fuse_client *f, uint64_t fh)
{
	struct client_prefetch *p = prefetch_of(f, fh);

	if (!p->used || p->fh != fh)
		return;
	p->used = false;
	if (p->off == 0)
		note_unread(f, p);
}

/* ------------------------------------------------------------------ answering reads */

/* Returns whether the prefetch is still recent, this client has not changed the directory since the
 * open, and the kernel has learned nothing newer that may concern any node. */
static bool is_valid(const struct fuse_client *f, const struct client_prefetch *p,
		     const struct client_node *node, uint64_t now_ns)
{
	return now_ns - p->opened_ns < CLIENT_PREFETCH_NS && p->n_changes == node->n_changes &&
	       f->n_deferred == 0 && p->n_shown >= f->prefetch.n_shown_all &&
	       f->prefetch.n_shown - p->n_shown <= CLIENT_SHOWN_MAX;
}

/* Copies as many of the next entries as fit into the reply to the kernel. Returns the number of
 * bytes. */
static size_t prefetch_fill(struct fuse_client *f, struct client_prefetch *p, bool plus,
			    uint8_t *to, size_t room)
{
	const size_t head = sizeof(struct fuse_entry_out);
	size_t off = 0, at, used = 0;
	bool special;

	while (client_direntplus_next(p->a.body, p->a.body_len, &off, &at, &special) > 0) {
		struct client_handle skipped;
		struct fuse_entry_out entry;
		struct fuse_dirent d;
		size_t need = off - at;

		memcpy(&entry, p->a.body + at, sizeof(entry));
		memcpy(&d, p->a.body + at + head, FUSE_NAME_OFFSET);
		if (!plus)
			need = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + d.namelen);
		if (need > room - used) {
			off = at;
			break;
		}
		memcpy(to + used, p->a.body + at + (plus ? 0 : head), need);
		if (plus) {
			client_entry_prefetched(f, p, special, &entry);
			memcpy(to + used, &entry, sizeof(entry));
		} else if (entry.nodeid != 0) {
			(void)client_answer_handle(&p->a, &skipped);
		}
		p->off = d.off;
		used += need;
	}
	p->a.body += off;
	p->a.body_len -= off;
	return used;
}

bool client_prefetch_answer(struct fuse_client *f, const struct fuse_in_header *in,
			    const struct client_node *node, const struct fuse_read_in *read,
			    uint64_t now_ns)
{
	struct client_prefetch *p = prefetch_of(f, read->fh);
	uint8_t *msg = f->prefetch.memory + CLIENT_PREFETCHES * PREFETCH_BYTES;
	struct fuse_out_header out = {.unique = in->unique};
	struct client_answer answer = {.body = msg + sizeof(out)};
	bool plus = in->opcode == FUSE_READDIRPLUS;

	if (!p->used || p->fh != read->fh)
		return false;
	now_ns = client_clock_refresh(f, now_ns);
	p->used = false;
	if (read->offset != p->off || !is_valid(f, p, node, now_ns)) {
		if (p->off == 0)
			note_unread(f, p);
		return false;
	}
	p->a.age_ns = now_ns - p->sent_ns;
	answer.body_len = prefetch_fill(f, p, plus, answer.body,
					MIN_OF((size_t)read->size, PREFETCH_BYTES - sizeof(out)));
	if (answer.body_len == 0)
		return false;
	f->prefetch.n_unread = 0;
	out.len = (uint32_t)(sizeof(out) + answer.body_len);
	memcpy(msg, &out, sizeof(out));
	if (!client_reply(f, msg, out.len)) {
		if (plus)
			client_entries_undo(f, &answer);
		return true;
	}
	p->used = p->a.body_len > 0;
	if (!p->used)
		client_cache_dir_end_set(&f->cache, node, p->fh, p->off, p->sent_ns);
	return true;
}

/* ------------------------------------------------------------------ the directory cache */

void client_prefetch_from_cache(struct fuse_client *f, const struct client_dir_cache *k,
				uint64_t fh, uint64_t now_ns)
{
	struct client_prefetch *p = prefetch_of(f, fh);
	struct client_answer a = dir_cache_entries(&f->prefetch, k);
	uint8_t *bytes = p->bytes;

	memcpy(bytes, a.body, k->body_len + k->handles_len);
	a.body = bytes;
	a.handles = bytes + k->body_len;
	*p = (struct client_prefetch){.used = true,
				      .fh = fh,
				      .opened_ns = now_ns,
				      .sent_ns = k->sent_ns,
				      .n_shown = k->n_shown,
				      .n_changes = k->n_changes,
				      .a = a,
				      .bytes = bytes,
				      .is_copy = true};
	f->prefetch.n_touched++;
}

/* Only the owner of the mount uses this stage: mount workers get no directory requests. */
static bool prefetch_is_on(const struct fuse_client *f)
{
	return !f->area;
}

const struct client_stage client_prefetch_stage = {
	.is_on = prefetch_is_on,
	.init = prefetch_init,
	.done = prefetch_done,
	.down = prefetch_down,
};
