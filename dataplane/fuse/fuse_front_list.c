/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries that come with the opening of a folder: whoever opens one is about to read it, and that
 * is then answered here. They show the folder as it was when it was opened, which is what
 * readdir(3) lists, for a moment alone, so that rewinddir(3) shows what was made since, and once:
 * who comes back to the beginning asks the server. The kernel takes what an answer says of a file
 * for newer than what it knows, so of a file of which it has learnt something since it is told the
 * name alone. Apart from what else is known because it is whole answers. Owns memory of the process
 * alone: a successor asks.
 */
#include "dataplane/fuse/fuse_front_internal.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define LIST_NS (100 * NSEC_PER_MSEC)
#define LIST_BYTES                     \
	((size_t)FUSE_PROTO_LIST_MAX + \
	 FUSE_PROTO_LIST_MAX / FUSE_PROTO_DIRPLUS_ENTRY * (1U + FUSE_PROTO_HANDLE_MAX))
#define MEMORY_BYTES ((FRONT_LISTS + 1) * LIST_BYTES) /* and one answer */
/* Programs that open folders and do not read them are believed to go on so: 2^n - 1 are opened
 * without a list after the n-th in a row that was not read. */
#define WASTED_MAX 6U
/* A folder that had too many entries has them for a while. */
#define LARGE_NS (5 * NSEC_PER_SEC)

int front_lists_init(struct fuse_front *f)
{
	void *p = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	f->lists.memory = p;
	for (unsigned i = 0; i < FRONT_LISTS; i++)
		f->lists.lists[i].bytes = f->lists.memory + i * LIST_BYTES;
	return 0;
}

void front_lists_done(struct fuse_front *f)
{
	if (f->lists.memory)
		munmap(f->lists.memory, MEMORY_BYTES);
	f->lists.memory = NULL;
}

void front_lists_drop(struct fuse_front *f)
{
	for (unsigned i = 0; i < FRONT_LISTS; i++)
		f->lists.lists[i].used = false;
}

void front_lists_trim(struct fuse_front *f)
{
	if (f->lists.n_touched == 0)
		return;
	front_lists_drop(f);
	(void)madvise(f->lists.memory, MEMORY_BYTES, MADV_DONTNEED);
	f->lists.n_touched = 0;
}

static struct front_list *list_of(struct fuse_front *f, uint64_t fh)
{
	return &f->lists.lists[(uint32_t)fh % FRONT_LISTS]; /* low in it is the file's index */
}

/* ------------------------------------------------------------------ what the kernel knows */

void front_list_shown(struct fuse_front *f, uint64_t nodeid)
{
	struct front_lists *l = &f->lists;

	l->shown[l->n_shown++ % FRONT_SHOWN] = nodeid;
}

void front_list_shown_all(struct fuse_front *f)
{
	f->lists.n_shown += FRONT_SHOWN + 1;
}

bool front_list_is_shown(const struct fuse_front *f, uint64_t nodeid, uint64_t n_shown)
{
	for (uint64_t i = n_shown; i < f->lists.n_shown; i++)
		if (f->lists.shown[i % FRONT_SHOWN] == nodeid)
			return true;
	return false;
}

/* What was shown of it was shown by a number that it will not have again. */
void front_list_forgotten(struct fuse_front *f, uint64_t nodeid)
{
	struct front_lists *l = &f->lists;

	if (front_list_is_shown(f, nodeid, l->n_shown - MIN_OF(l->n_shown, (uint64_t)FRONT_SHOWN)))
		front_list_shown_all(f);
}

/* ------------------------------------------------------------------ asking for it */

uint32_t front_list_wish(struct fuse_front *f, uint64_t nodeid, uint64_t now_ns)
{
	struct front_lists *l = &f->lists;

	if (!(f->features & FUSE_PROTO_FEATURE_LIST))
		return 0;
	if (l->large[nodeid % FRONT_LARGE].nodeid == nodeid &&
	    now_ns < l->large[nodeid % FRONT_LARGE].until_ns)
		return 0;
	if (l->n_skip > 0) {
		l->n_skip--;
		return 0;
	}
	return FUSE_PROTO_LIST_MAX;
}

static uint8_t *asked_at(const struct front_slot *s)
{
	return s->req + sizeof(struct fuse_in_header) + offsetof(struct fuse_open_in, open_flags);
}

void front_list_ask(struct front_slot *s, uint32_t bytes)
{
	memcpy(asked_at(s), &bytes, sizeof(bytes));
	s->resp_max = fuse_proto_resp_max(FUSE_OPENDIR, bytes);
}

static void wasted(struct fuse_front *f)
{
	struct front_lists *l = &f->lists;

	l->n_wasted = MIN_OF(l->n_wasted + 1, WASTED_MAX);
	l->n_skip = (1U << l->n_wasted) - 1;
}

/* ------------------------------------------------------------------ taking it */

/* Whether all entries are whole, and have as many handles as they need. */
static bool is_whole(const struct front_answer *a)
{
	size_t off = 0, at;
	unsigned n = 0;
	bool special;
	int r;

	while ((r = front_direntplus_next(a->body, a->body_len, &off, &at, &special)) > 0) {
		struct fuse_entry_out entry;

		memcpy(&entry, a->body + at, sizeof(entry));
		n += entry.nodeid != 0;
	}
	return r == 0 && n == a->n_handles;
}

int front_list_take(struct fuse_front *f, const struct front_slot *s, struct front_answer *a,
		    uint64_t fh)
{
	const size_t head = sizeof(struct fuse_open_out);
	struct front_list *l = list_of(f, fh);
	struct front_answer of = *a;
	size_t handles = 0;
	uint32_t asked;

	of.body += head;
	of.body_len -= head;
	/* The kernel gets the beginning alone. */
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
	*l = (struct front_list){.used = true,
				 .fh = fh,
				 .sent_ns = s->born_ns,
				 .n_shown = s->n_shown,
				 .n_changes = s->n_changes,
				 .a = of,
				 .bytes = l->bytes};
	f->lists.n_touched++;
	return 0;
}

void front_list_none(struct fuse_front *f, const struct front_slot *s)
{
	uint64_t nodeid = s->refs.nodeids[0];
	uint32_t asked;

	memcpy(&asked, asked_at(s), sizeof(asked));
	if (asked == 0)
		return;
	f->lists.large[nodeid % FRONT_LARGE].nodeid = nodeid;
	f->lists.large[nodeid % FRONT_LARGE].until_ns = s->born_ns + LARGE_NS;
}

void front_list_close(struct fuse_front *f, uint64_t fh)
{
	struct front_list *l = list_of(f, fh);

	if (!l->used || l->fh != fh)
		return;
	l->used = false;
	if (l->off == 0)
		wasted(f);
}

/* ------------------------------------------------------------------ giving it */

/* Nothing has come between that the kernel must be told of instead. */
static bool is_good(const struct fuse_front *f, const struct front_list *l,
		    const struct front_node *node, uint64_t now_ns)
{
	return now_ns - l->sent_ns < LIST_NS && l->n_changes == node->n_changes && f->n_owed == 0 &&
	       f->lists.n_shown - l->n_shown <= FRONT_SHOWN;
}

/* The next entries, as far as there is room. Bytes. */
static size_t list_fill(struct fuse_front *f, struct front_list *l, bool plus, uint8_t *to,
			size_t room)
{
	const size_t head = sizeof(struct fuse_entry_out);
	size_t off = 0, at, used = 0;
	bool special;

	while (front_direntplus_next(l->a.body, l->a.body_len, &off, &at, &special) > 0) {
		struct front_handle skipped;
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
			front_answer_listed(f, l, special, &entry);
			memcpy(to + used, &entry, sizeof(entry));
		} else if (entry.nodeid != 0) {
			(void)front_answer_handle(&l->a, &skipped);
		}
		l->off = d.off;
		used += need;
	}
	l->a.body += off;
	l->a.body_len -= off;
	return used;
}

bool front_list_answer(struct fuse_front *f, const struct fuse_in_header *in,
		       const struct front_node *node, const struct fuse_read_in *read,
		       uint64_t now_ns)
{
	struct front_list *l = list_of(f, read->fh);
	uint8_t *msg = f->lists.memory + FRONT_LISTS * LIST_BYTES;
	struct fuse_out_header out = {.unique = in->unique};
	struct front_answer given = {.body = msg + sizeof(out)};
	bool plus = in->opcode == FUSE_READDIRPLUS;

	if (!l->used || l->fh != read->fh)
		return false;
	l->used = false;
	if (read->offset != l->off || !is_good(f, l, node, now_ns)) {
		if (l->off == 0)
			wasted(f);
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
	if (!front_reply(f, msg, out.len)) {
		if (plus)
			front_answer_unlist(f, &given);
		return true;
	}
	l->used = l->a.body_len > 0;
	if (!l->used)
		front_known_end_set(&f->known, node, l->fh, l->off, l->sent_ns);
	return true;
}
