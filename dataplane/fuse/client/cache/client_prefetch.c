/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prefetched directory entries: a program that opens a directory is about to read it, so the
 * entries come with the answer to OPENDIR, and the client answers the reads. They show the
 * directory as of its open, which is what readdir(3) lists, for a short time, so that rewinddir(3)
 * shows later changes, and once: a reader that rewinds asks the server. The kernel takes an
 * answer's attributes as newer than its own, so a file of which it has learned something since gets
 * an entry with its name only. If the server leases the names of a directory, the client caches a
 * copy and answers later opens from it: the server opens such a directory only when a read goes
 * beyond the copy. Owns process memory only: a successor asks the server.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define LIST_NS (100 * NSEC_PER_MSEC)
#define LIST_BYTES                     \
	((size_t)FUSE_PROTO_LIST_MAX + \
	 FUSE_PROTO_LIST_MAX / FUSE_PROTO_DIRPLUS_ENTRY * (1U + FUSE_PROTO_HANDLE_MAX))
#define KEPT_BYTES ((size_t)4 << 20)
#define MEMORY_BYTES ((CLIENT_PREFETCHES + 1) * LIST_BYTES + KEPT_BYTES) /* and one answer */
#define SHOWN_BYTES ((size_t)CLIENT_NODES_MAX * sizeof(uint64_t))
/* A directory is opened locally only while its names are leased for long enough to list it and
 * to look at its entries: expired entries would be looked up one by one, while the server
 * returns all at once. */
#define KEPT_NS (CLIENT_CACHE_NS - LIST_NS)
/* The same holds if the kernel has learned something of more than one in this many entries: a
 * program that has read a file asks for its times. */
#define KEPT_STALE 8U
/* Programs that open directories without reading them are expected to continue: after the n-th
 * unread prefetch in a row, the next 2^n - 1 opens request none. */
#define WASTED_MAX 6U
/* How long a directory that was too large for a prefetch is taken to stay so. */
#define LARGE_NS (5 * NSEC_PER_SEC)

static void *memory_of(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int client_prefetches_init(struct fuse_client *f)
{
	struct client_prefetches *l = &f->lists;

	l->memory = memory_of(MEMORY_BYTES);
	l->shown = memory_of(SHOWN_BYTES);
	if (!l->memory || !l->shown)
		return -ENOMEM;
	for (unsigned i = 0; i < CLIENT_PREFETCHES; i++)
		l->lists[i].bytes = l->memory + i * LIST_BYTES;
	l->kept_bytes = l->memory + (CLIENT_PREFETCHES + 1) * LIST_BYTES;
	f->nodes.beside[2] = l->shown;
	return 0;
}

void client_prefetches_done(struct fuse_client *f)
{
	f->nodes.beside[2] = NULL;
	if (f->lists.memory)
		munmap(f->lists.memory, MEMORY_BYTES);
	if (f->lists.shown)
		munmap(f->lists.shown, SHOWN_BYTES);
	f->lists.memory = NULL;
	f->lists.shown = NULL;
}

void client_prefetches_drop(struct fuse_client *f)
{
	for (unsigned i = 0; i < CLIENT_PREFETCHES; i++)
		f->lists.lists[i].used = false;
	memset(f->lists.kept, 0, sizeof(f->lists.kept));
}

void client_prefetches_trim(struct fuse_client *f)
{
	if (f->lists.n_touched == 0)
		return;
	client_prefetches_drop(f);
	(void)madvise(f->lists.memory, MEMORY_BYTES, MADV_DONTNEED);
	f->lists.n_touched = 0;
}

static struct client_prefetch *list_of(struct fuse_client *f, uint64_t fh)
{
	return &f->lists.lists[(uint32_t)fh %
			       CLIENT_PREFETCHES]; /* the low bits are the file's index */
}

/* ------------------------------------------------------------------ what the kernel knows */

void client_prefetch_shown(struct fuse_client *f, uint64_t nodeid)
{
	const struct client_node *node = client_node_get(&f->nodes, nodeid);

	if (!node)
		client_prefetch_shown_all(f);
	else
		f->lists.shown[node - f->state.nodes] = ++f->lists.n_shown;
}

void client_prefetch_shown_all(struct fuse_client *f)
{
	f->lists.n_shown_all = ++f->lists.n_shown;
}

static uint64_t *gone_of(const struct fuse_client *f, const struct client_node *node)
{
	uint64_t hash = client_node_hash(&f->nodes, node->handle, node->handle_len);

	return (uint64_t *)&f->lists.gone[hash % CLIENT_GONE];
}

/* Its node number will not be reused, so its count must be kept by handle. Prefetches older than
 * the last CLIENT_SHOWN counts are not used, so older counts need not be kept. */
void client_prefetch_forgotten(struct fuse_client *f, const struct client_node *node)
{
	uint64_t shown = f->lists.shown[node - f->state.nodes];

	if (shown != 0 && f->lists.n_shown - shown < CLIENT_SHOWN)
		*gone_of(f, node) = ++f->lists.n_shown;
}

bool client_prefetch_is_shown(const struct fuse_client *f, const struct client_node *node,
			      uint64_t n_shown)
{
	return f->lists.n_shown_all > n_shown || f->lists.shown[node - f->state.nodes] > n_shown ||
	       *gone_of(f, node) > n_shown;
}

/* ------------------------------------------------------------------ requesting entries */

uint32_t client_prefetch_wish(struct fuse_client *f, uint64_t nodeid, uint64_t now_ns)
{
	struct client_prefetches *l = &f->lists;

	if (!(f->features & FUSE_PROTO_FEATURE_LIST))
		return 0;
	if (l->large[nodeid % CLIENT_LARGE].nodeid == nodeid &&
	    now_ns < l->large[nodeid % CLIENT_LARGE].until_ns)
		return 0;
	if (l->n_skip > 0) {
		l->n_skip--;
		return 0;
	}
	return FUSE_PROTO_LIST_MAX;
}

static uint8_t *asked_at(const struct client_slot *s)
{
	return s->req + sizeof(struct fuse_in_header) + offsetof(struct fuse_open_in, open_flags);
}

void client_prefetch_ask(struct client_slot *s, uint32_t bytes)
{
	memcpy(asked_at(s), &bytes, sizeof(bytes));
	s->resp_max = fuse_proto_resp_max(FUSE_OPENDIR, bytes);
}

static void wasted(struct fuse_client *f, const struct client_prefetch *unread)
{
	struct client_prefetches *l = &f->lists;

	if (unread->is_copy) /* the server has sent nothing for it */
		return;
	l->n_wasted = MIN_OF(l->n_wasted + 1, WASTED_MAX);
	l->n_skip = (1U << l->n_wasted) - 1;
}

/* ------------------------------------------------------------------ storing entries */

/* Whether all entries are complete, and have as many handles as they need. */
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

static struct client_dir_cache *kept_of(struct fuse_client *f, uint64_t nodeid)
{
	return &f->lists.kept[(uint32_t)nodeid % CLIENT_KEPT];
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

/* Copies an unread prefetch into the cache. Not for an empty directory: another client may
 * remove it at once, and then the server must know who has it open. */
static void kept_put(struct fuse_client *f, uint64_t nodeid, const struct client_prefetch *from,
		     size_t handles_len)
{
	struct client_prefetches *l = &f->lists;
	size_t len = from->a.body_len + handles_len;
	uint32_t n = n_names(&from->a);

	client_prefetch_forget(f, nodeid);
	if (n == 0)
		return;
	if (l->kept_at % KEPT_BYTES + len > KEPT_BYTES)
		l->kept_at += KEPT_BYTES - l->kept_at % KEPT_BYTES;
	memcpy(l->kept_bytes + l->kept_at % KEPT_BYTES, from->bytes, len);
	*kept_of(f, nodeid) = (struct client_dir_cache){.nodeid = nodeid,
							.sent_ns = from->sent_ns,
							.n_shown = from->n_shown,
							.n_changes = from->n_changes,
							.body_len = (uint32_t)from->a.body_len,
							.handles_len = (uint32_t)handles_len,
							.n_handles = from->a.n_handles,
							.n_names = n,
							.at = l->kept_at};
	l->kept_at += len;
}

void client_prefetch_forget(struct fuse_client *f, uint64_t nodeid)
{
	if (kept_of(f, nodeid)->nodeid == nodeid)
		kept_of(f, nodeid)->nodeid = 0;
}

static struct client_answer kept_entries(const struct client_prefetches *l,
					 const struct client_dir_cache *k)
{
	uint8_t *bytes = l->kept_bytes + k->at % KEPT_BYTES;

	return (struct client_answer){.body = bytes,
				      .body_len = k->body_len,
				      .handles = bytes + k->body_len,
				      .n_handles = k->n_handles};
}

/* Whether most of its entries are still useful to the kernel. */
static bool kept_is_worth(const struct fuse_client *f, const struct client_dir_cache *k)
{
	struct client_answer a = kept_entries(&f->lists, k);
	unsigned n = 0, n_stale = 0;
	struct client_handle h;

	for (; client_answer_handle(&a, &h); n++) {
		const struct client_node *node = client_node_find(&f->nodes, h.bytes, h.len);

		n_stale += node && client_prefetch_is_shown(f, node, k->n_shown);
	}
	return n_stale * KEPT_STALE <= n;
}

/* NULL: the directory is not cached, or the kernel knows newer entries. */
static const struct client_dir_cache *kept_get(struct fuse_client *f, uint64_t nodeid,
					       const struct client_node *node, uint64_t now_ns)
{
	const struct client_dir_cache *k = kept_of(f, nodeid);

	return k->nodeid == nodeid && now_ns - k->sent_ns < KEPT_NS &&
			       k->n_changes == node->n_changes &&
			       f->lists.kept_at - k->at <= KEPT_BYTES &&
			       k->n_shown >= f->lists.n_shown_all &&
			       f->lists.n_shown - k->n_shown <= CLIENT_SHOWN && f->n_owed == 0 &&
			       kept_is_worth(f, k)
		       ? k
		       : NULL;
}

int client_prefetch_take(struct fuse_client *f, const struct client_slot *s,
			 struct client_answer *a, uint64_t fh)
{
	const size_t head = sizeof(struct fuse_open_out);
	struct client_prefetch *l = list_of(f, fh);
	struct client_answer of = *a;
	size_t handles = 0;
	uint32_t asked;

	of.body += head;
	of.body_len -= head;
	/* The kernel gets only the struct fuse_open_out. */
	a->body_len = head;
	a->out.len = (uint32_t)(sizeof(a->out) + head);
	memcpy(a->body - sizeof(a->out), &a->out, sizeof(a->out));
	memcpy(&asked, asked_at(s), sizeof(asked));
	if (of.body_len > asked || !is_whole(&of))
		return -EIO;
	for (unsigned i = 0; i < of.n_handles; i++)
		handles += 1U + of.handles[handles];
	l->used = false;
	if (of.body_len + handles > LIST_BYTES)
		return 0;
	memcpy(l->bytes, of.body, of.body_len);
	memcpy(l->bytes + of.body_len, of.handles, handles);
	of.handles = l->bytes + of.body_len;
	of.body = l->bytes;
	*l = (struct client_prefetch){.used = true,
				      .fh = fh,
				      .opened_ns = s->born_ns,
				      .sent_ns = s->born_ns,
				      .n_shown = s->n_shown,
				      .n_changes = s->n_changes,
				      .a = of,
				      .bytes = l->bytes};
	if (a->has_names && !f->deal && !f->lane)
		kept_put(f, s->refs.nodeids[0], l, handles);
	f->lists.n_touched++;
	return 0;
}

void client_prefetch_none(struct fuse_client *f, const struct client_slot *s)
{
	uint64_t nodeid = s->refs.nodeids[0];
	uint32_t asked;

	memcpy(&asked, asked_at(s), sizeof(asked));
	if (asked == 0)
		return;
	f->lists.large[nodeid % CLIENT_LARGE].nodeid = nodeid;
	f->lists.large[nodeid % CLIENT_LARGE].until_ns = s->born_ns + LARGE_NS;
}

void client_prefetch_close(struct fuse_client *f, uint64_t fh)
{
	struct client_prefetch *l = list_of(f, fh);

	if (!l->used || l->fh != fh)
		return;
	l->used = false;
	if (l->off == 0)
		wasted(f, l);
}

/* ------------------------------------------------------------------ answering reads */

/* The prefetch is fresh, and nothing has changed that the kernel must see instead. */
static bool is_good(const struct fuse_client *f, const struct client_prefetch *l,
		    const struct client_node *node, uint64_t now_ns)
{
	return now_ns - l->opened_ns < LIST_NS && l->n_changes == node->n_changes &&
	       f->n_owed == 0 && l->n_shown >= f->lists.n_shown_all &&
	       f->lists.n_shown - l->n_shown <= CLIENT_SHOWN;
}

/* Copies the next entries, as far as there is room. Returns bytes. */
static size_t list_fill(struct fuse_client *f, struct client_prefetch *l, bool plus, uint8_t *to,
			size_t room)
{
	const size_t head = sizeof(struct fuse_entry_out);
	size_t off = 0, at, used = 0;
	bool special;

	while (client_direntplus_next(l->a.body, l->a.body_len, &off, &at, &special) > 0) {
		struct client_handle skipped;
		struct fuse_entry_out entry;
		struct fuse_dirent d;
		size_t need = off - at;

		memcpy(&entry, l->a.body + at, sizeof(entry));
		memcpy(&d, l->a.body + at + head, FUSE_NAME_OFFSET);
		if (!plus)
			need = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + d.namelen);
		if (need > room - used) {
			off = at;
			break;
		}
		memcpy(to + used, l->a.body + at + (plus ? 0 : head), need);
		if (plus) {
			client_answer_listed(f, l, special, &entry);
			memcpy(to + used, &entry, sizeof(entry));
		} else if (entry.nodeid != 0) {
			(void)client_answer_handle(&l->a, &skipped);
		}
		l->off = d.off;
		used += need;
	}
	l->a.body += off;
	l->a.body_len -= off;
	return used;
}

bool client_prefetch_answer(struct fuse_client *f, const struct fuse_in_header *in,
			    const struct client_node *node, const struct fuse_read_in *read,
			    uint64_t now_ns)
{
	struct client_prefetch *l = list_of(f, read->fh);
	uint8_t *msg = f->lists.memory + CLIENT_PREFETCHES * LIST_BYTES;
	struct fuse_out_header out = {.unique = in->unique};
	struct client_answer given = {.body = msg + sizeof(out)};
	bool plus = in->opcode == FUSE_READDIRPLUS;

	if (!l->used || l->fh != read->fh)
		return false;
	now_ns = client_clock_refresh(f, now_ns);
	l->used = false;
	if (read->offset != l->off || !is_good(f, l, node, now_ns)) {
		if (l->off == 0)
			wasted(f, l);
		return false;
	}
	l->a.age_ns = now_ns - l->sent_ns;
	given.body_len = list_fill(f, l, plus, given.body,
				   MIN_OF((size_t)read->size, LIST_BYTES - sizeof(out)));
	if (given.body_len == 0)
		return false;
	f->lists.n_wasted = 0;
	out.len = (uint32_t)(sizeof(out) + given.body_len);
	memcpy(msg, &out, sizeof(out));
	if (!client_reply(f, msg, out.len)) {
		if (plus)
			client_answer_unlist(f, &given);
		return true;
	}
	l->used = l->a.body_len > 0;
	if (!l->used)
		client_cache_end_set(&f->known, node, l->fh, l->off, l->sent_ns);
	return true;
}

/* ------------------------------------------------------------------ opening directories locally */

/* A prefetch for the new file handle, copied from the cache. */
static void list_copy(struct fuse_client *f, const struct client_dir_cache *k, uint64_t fh,
		      uint64_t now_ns)
{
	struct client_prefetch *l = list_of(f, fh);
	struct client_answer a = kept_entries(&f->lists, k);
	uint8_t *bytes = l->bytes;

	memcpy(bytes, a.body, k->body_len + k->handles_len);
	a.body = bytes;
	a.handles = bytes + k->body_len;
	*l = (struct client_prefetch){.used = true,
				      .fh = fh,
				      .opened_ns = now_ns,
				      .sent_ns = k->sent_ns,
				      .n_shown = k->n_shown,
				      .n_changes = k->n_changes,
				      .a = a,
				      .bytes = bytes,
				      .is_copy = true};
	f->lists.n_touched++;
}

/* Odd, since kernels use even request numbers. */
static uint32_t listed_by(const struct fuse_in_header *in)
{
	return (uint32_t)in->unique | 1;
}

/* A predecessor may have answered this open without the kernel receiving it: return the same
 * file. */
static bool open_again(struct fuse_client *f, const struct fuse_in_header *in)
{
	struct client_file *file = client_file_listed(&f->files, in->nodeid, listed_by(in));
	struct {
		struct fuse_out_header out;
		struct fuse_open_out open;
	} reply = {.out = {.len = sizeof(reply), .unique = in->unique}};

	if (!file)
		return false;
	reply.open.fh = client_file_fh(&f->files, file);
	if (!client_reply(f, &reply, sizeof(reply)))
		client_file_close(&f->files, file);
	return true;
}

/* ------------------------------------------------------------------ local directories */

/*
 * A directory cannot be removed while it has names and no other client removes them. A removed
 * directory stays usable for clients that the server knows to have it open: so the client opens it
 * at the server before its lease on the names ends, and before it removes the last name itself; at
 * the latest when it would need the entries again, so that the server has time to open it.
 */

/* NULL: it is closed, or open at the server. */
static const struct client_file *alone_file(const struct fuse_client *f,
					    const struct client_local_dir *a)
{
	const struct client_file *file = client_file_get(&f->files, a->fh);

	return file && !(file->flags & (CLIENT_FILE_DEAD | CLIENT_FILE_CLOSING)) &&
			       file->incarnation != f->server.incarnation
		       ? file
		       : NULL;
}

static void alone_trim(struct fuse_client *f)
{
	struct client_prefetches *l = &f->lists;
	unsigned n = 0;

	for (unsigned i = 0; i < l->n_alone; i++)
		if (alone_file(f, &l->alone[i]))
			l->alone[n++] = l->alone[i];
	l->n_alone = n;
}

/* False: not possible now. */
static bool alone_tell(struct fuse_client *f, const struct client_local_dir *a)
{
	uint32_t i = (uint32_t)a->fh;

	return client_internal_is_reopening(f, i) || client_internal_reopen(f, i);
}

void client_prefetch_flush(struct fuse_client *f, uint64_t now_ns)
{
	struct client_prefetches *l = &f->lists;

	if (l->n_alone == 0)
		return;
	alone_trim(f);
	for (unsigned i = 0; i < l->n_alone; i++) {
		if (now_ns >= l->alone[i].due_ns &&
		    (f->reopen_again || !alone_tell(f, &l->alone[i])))
			return;
	}
}

uint64_t client_prefetch_due(const struct fuse_client *f, uint64_t now_ns)
{
	uint64_t due = UINT64_MAX;

	for (unsigned i = 0; i < f->lists.n_alone; i++)
		if (f->lists.alone[i].due_ns > now_ns)
			due = MIN_OF(due, f->lists.alone[i].due_ns);
	return due;
}

static bool takes_name(uint32_t opcode)
{
	return opcode == FUSE_UNLINK || opcode == FUSE_RMDIR || opcode == FUSE_RENAME ||
	       opcode == FUSE_RENAME2;
}

/* If the server cannot open it just now, removals proceed anyway: they may free resources. */
bool client_prefetch_holds(struct fuse_client *f, const struct client_slot *s)
{
	struct client_prefetches *l = &f->lists;
	bool holds = false;

	if (l->n_alone == 0 || !takes_name(s->opcode))
		return false;
	for (unsigned i = 0; i < l->n_alone; i++) {
		struct client_local_dir *a = &l->alone[i];
		const struct client_file *file = alone_file(f, a);

		if (!file || file->nodeid != s->refs.nodeids[0] || f->reopen_again)
			continue;
		(void)alone_tell(f, a);
		if (a->n_names > 1)
			a->n_names--;
		else
			holds = true;
	}
	return holds;
}

/* A removal in it is in flight: the number of its names is unknown. */
static bool is_losing(const struct fuse_client *f, const struct client_node *node)
{
	for (unsigned i = 0; f->n_sent > 0 && i < CLIENT_SLOTS - CLIENT_SLOTS_OWN; i++)
		if (f->slots[i].state == CLIENT_SLOT_SENT && f->slots[i].nodes[0] == node &&
		    takes_name(f->slots[i].opcode))
			return true;
	return false;
}

static bool alone_has_room(struct fuse_client *f)
{
	if (f->lists.n_alone == CLIENT_ALONE)
		alone_trim(f);
	return f->lists.n_alone < CLIENT_ALONE;
}

static void alone_add(struct fuse_client *f, const struct client_dir_cache *k, uint64_t fh,
		      uint64_t now_ns)
{
	f->lists.alone[f->lists.n_alone++] =
		(struct client_local_dir){.fh = fh,
					  .due_ns = MIN_OF(now_ns + LIST_NS, k->sent_ns + KEPT_NS),
					  .n_names = k->n_names};
}

bool client_prefetch_open(struct fuse_client *f, const void *req, size_t len, uint64_t now_ns)
{
	struct {
		struct fuse_out_header out;
		struct fuse_open_out open;
	} reply = {.out = {.len = sizeof(reply)}};
	struct client_file as = {.flags = CLIENT_FILE_DIR}, *file;
	const struct client_dir_cache *k;
	const struct client_node *node;
	struct fuse_in_header in;
	struct fuse_open_in open;

	if (len < sizeof(in) + sizeof(open) || f->lane)
		return false;
	memcpy(&in, req, sizeof(in));
	memcpy(&open, (const uint8_t *)req + sizeof(in), sizeof(open));
	if (in.unique & FUSE_PROTO_UNIQUE_RESEND)
		return open_again(f, &in);
	node = client_node_get(&f->nodes, in.nodeid);
	now_ns = client_clock_refresh(f, now_ns);
	k = node && f->link == CLIENT_READY ? kept_get(f, in.nodeid, node, now_ns) : NULL;
	if (!k || is_losing(f, node) || !alone_has_room(f))
		return false;
	as.open_flags = open.flags;
	as.uid = in.uid;
	as.gid = in.gid;
	as.listed = listed_by(&in);
	as.server_fh = f->server.verifier;
	file = client_file_new(&f->files, client_node_get(&f->nodes, in.nodeid), &as);
	if (!file)
		return false;
	list_copy(f, k, client_file_fh(&f->files, file), now_ns);
	alone_add(f, k, client_file_fh(&f->files, file), now_ns);
	reply.out.unique = in.unique;
	reply.open.fh = client_file_fh(&f->files, file);
	if (!client_reply(f, &reply, sizeof(reply)))
		client_file_close(&f->files, file);
	return true;
}
