/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of nodes. Its index by handle uses linear hashing, which adds one chain per node, so
 * that no request has to wait for a rebuild of the whole index. When the kernel forgets nodes, the
 * memory of their records returns to the system in chunks. Free records that share a chunk with
 * used records are reused first.
 */
#include "dataplane/fuse/client/tables/client_nodes.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_FIRST 1024U
#define HASH_BYTES ((size_t)CLIENT_NODES_MAX * sizeof(uint32_t))
#define HASH_PAGE (4096U / (uint32_t)sizeof(uint32_t))
#define CHUNKS_BYTES ((size_t)CLIENT_CHUNKS_MAX * sizeof(struct client_chunk))
#define CHUNK_BYTES (CLIENT_CHUNK_NODES * sizeof(struct client_node))
#define CHUNK_COMPANION_BYTES (CLIENT_CHUNK_NODES * sizeof(uint64_t))
/* Count of empty chunks that keep their memory (1.2 MB in total). The kernel often looks up a node
 * again soon after it has forgotten it. */
#define EMPTY_MAX 16U
/* A lookup count of this value never changes again, and its node is never freed. */
#define LOOKUPS_MAX UINT64_MAX

static struct client_node *node_at(const struct client_nodes *t, uint32_t i)
{
	return &t->state->nodes[i];
}

static uint32_t node_index(const struct client_nodes *t, const struct client_node *n)
{
	return (uint32_t)(n - t->state->nodes);
}

/* Returns the hash of a handle. It is seeded, so that a server cannot choose handles that all fall
 * into one chain. */
uint64_t client_node_hash(const struct client_nodes *t, const void *handle, unsigned len)
{
	uint64_t h = t->seed ^ len, word;

	for (unsigned i = 0; i < len; i += (unsigned)sizeof(word)) {
		word = 0;
		memcpy(&word, (const uint8_t *)handle + i, MIN_OF(sizeof(word), len - i));
		h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	return h ^ h >> 32;
}

/* Returns the head of the chain for a hash. Only the first n_hash chains are in use. If the hash
 * modulo the next power of two selects a later chain, the next smaller power of two is used
 * instead. */
static uint32_t *hash_head(const struct client_nodes *t, uint64_t h)
{
	uint32_t top = HASH_FIRST, i;

	while (top * 2 <= t->n_hash)
		top *= 2;
	i = (uint32_t)h & (top * 2 - 1);
	return &t->hash[i < t->n_hash ? i : i - top];
}

static uint32_t *node_head(const struct client_nodes *t, const struct client_node *n)
{
	return hash_head(t, client_node_hash(t, n->handle, n->handle_len));
}

static void hash_push(struct client_nodes *t, uint32_t *head, uint32_t i)
{
	node_at(t, i)->next = *head;
	*head = i;
}

/* Adds a chain, and moves to it those nodes of an existing chain whose hash now selects the new
 * chain. */
static void hash_split(struct client_nodes *t)
{
	uint32_t top = HASH_FIRST, i, next, *from;

	if (t->n_hash == CLIENT_NODES_MAX)
		return;
	while (top * 2 <= t->n_hash)
		top *= 2;
	from = &t->hash[t->n_hash - top];
	t->n_hash++;
	i = *from;
	*from = 0;
	for (; i != 0; i = next) {
		next = node_at(t, i)->next;
		hash_push(t, node_head(t, node_at(t, i)), i);
	}
}

/* Removes the last chain; its nodes return to the chain from which they came. */
static void hash_merge(struct client_nodes *t)
{
	uint32_t top = HASH_FIRST, i, next, last = t->n_hash - 1;

	if (t->n_hash == HASH_FIRST)
		return;
	while (top * 2 <= last)
		top *= 2;
	i = t->hash[last];
	t->hash[last] = 0;
	t->n_hash = last;
	for (; i != 0; i = next) {
		next = node_at(t, i)->next;
		hash_push(t, &t->hash[last - top], i);
	}
	if (last % HASH_PAGE == 0)
		(void)madvise(&t->hash[last], 4096, MADV_DONTNEED);
}

static void hash_add(struct client_nodes *t, uint32_t i)
{
	if (++t->n_used > t->n_hash)
		hash_split(t);
	hash_push(t, node_head(t, node_at(t, i)), i);
}

static void hash_remove(struct client_nodes *t, uint32_t i)
{
	uint32_t *p = node_head(t, node_at(t, i));

	for (; *p != 0; p = &node_at(t, *p)->next)
		if (*p == i) {
			*p = node_at(t, i)->next;
			t->n_used--;
			break;
		}
	/* Merge up to two chains per freed node. So the index shrinks as if only the remaining
	 * nodes had ever been added. */
	for (unsigned n = 0; n < 2 && t->n_hash / 2 > t->n_used; n++)
		hash_merge(t);
}

/* ------------------------------------------------------------------ chunks */

static void chunk_push(struct client_nodes *t, uint32_t *list, uint32_t c)
{
	t->chunks[c].prev = 0;
	t->chunks[c].next = *list;
	if (*list != 0)
		t->chunks[*list].prev = c;
	*list = c;
}

static void chunk_remove(struct client_nodes *t, uint32_t *list, uint32_t c)
{
	struct client_chunk *chunk = &t->chunks[c];

	if (chunk->prev != 0)
		t->chunks[chunk->prev].next = chunk->next;
	else
		*list = chunk->next;
	if (chunk->next != 0)
		t->chunks[chunk->next].prev = chunk->prev;
}

/* Returns whether the chunk can become empty. Two kinds of chunk cannot become empty: one with
 * records that were never used, and the first one, which holds the root. */
static bool chunk_can_empty(const struct client_nodes *t, uint32_t c)
{
	return c > 0 && (c + 1) * CLIENT_CHUNK_NODES <= t->state->head->n_nodes;
}

/* Returns those pages to the system that are completely within the range. */
static void pages_give_back(void *from, size_t bytes, int advice)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t first = ((uintptr_t)from + page - 1) / page * page;
	const uintptr_t end = ((uintptr_t)from + bytes) / page * page;

	if (first < end)
		(void)madvise((uint8_t *)from + (first - (uintptr_t)from), end - first, advice);
}

/*
 * Releases the chunk's memory. The largest reuse count of its records becomes the start value of
 * all new records, so that no node number is ever used twice. The chunk is marked as released
 * before its memory is released; a successor treats a marked chunk as released.
 */
static void chunk_release(struct client_nodes *t, uint32_t c)
{
	const uint32_t first = c * CLIENT_CHUNK_NODES;
	uint32_t reuse = t->state->head->reuse;

	for (uint32_t i = first; i < first + CLIENT_CHUNK_NODES; i++)
		if ((int32_t)(node_at(t, i)->reuse - reuse) > 0)
			reuse = node_at(t, i)->reuse;
	client_publish(&t->state->head->reuse, reuse);
	client_publish(&t->state->head->released[c], 1);
	pages_give_back(node_at(t, first), CHUNK_BYTES, MADV_REMOVE);
	for (unsigned k = 0; k < ARRAY_SIZE(t->companions); k++)
		if (t->companions[k])
			pages_give_back(t->companions[k] + first, CHUNK_COMPANION_BYTES,
					MADV_DONTNEED);
	t->chunks[c].free = 0;
	chunk_push(t, &t->released, c);
}

static void record_push(struct client_nodes *t, uint32_t i)
{
	struct client_chunk *chunk = &t->chunks[i / CLIENT_CHUNK_NODES];

	node_at(t, i)->next = chunk->free;
	chunk->free = i;
}

/* Makes all records of the chunk free again. */
static void chunk_take_back(struct client_nodes *t, uint32_t c)
{
	const uint32_t first = c * CLIENT_CHUNK_NODES;

	chunk_remove(t, &t->released, c);
	for (uint32_t i = first + CLIENT_CHUNK_NODES; i-- > first;) {
		*node_at(t, i) = (struct client_node){.reuse = t->state->head->reuse};
		record_push(t, i);
	}
	client_publish(&t->state->head->released[c], 0);
	chunk_push(t, &t->empty, c);
	t->n_empty++;
}

/* Puts a chunk that is in no list into the list that fits its state. */
static void chunk_place(struct client_nodes *t, uint32_t c)
{
	struct client_chunk *chunk = &t->chunks[c];

	if (chunk->n_used > 0 || !chunk_can_empty(t, c)) {
		if (chunk->free != 0)
			chunk_push(t, &t->partial, c);
	} else if (t->n_empty < EMPTY_MAX) {
		chunk_push(t, &t->empty, c);
		t->n_empty++;
	} else {
		chunk_release(t, c);
	}
}

/* Takes a free record and returns its number, or 0 if no record is free. */
static uint32_t record_pop(struct client_nodes *t)
{
	struct client_chunk *chunk;
	uint32_t c, i;

	if (t->partial == 0 && t->chunks[0].free == 0) {
		if (t->empty == 0 && t->released != 0)
			chunk_take_back(t, t->released);
		if (t->empty == 0)
			return 0;
		c = t->empty;
		chunk_remove(t, &t->empty, c);
		t->n_empty--;
		chunk_push(t, &t->partial, c);
	}
	c = t->chunks[0].free != 0 ? 0 : t->partial;
	chunk = &t->chunks[c];
	i = chunk->free;
	chunk->free = node_at(t, i)->next;
	if (c != 0 && chunk->free == 0)
		chunk_remove(t, &t->partial, c);
	return i;
}

static void node_free(struct client_nodes *t, uint32_t i)
{
	const uint32_t c = i / CLIENT_CHUNK_NODES;
	bool full = t->chunks[c].free == 0;

	hash_remove(t, i);
	client_publish(&node_at(t, i)->flags, 0);
	record_push(t, i);
	t->chunks[c].n_used--;
	if (c == 0)
		return;
	if (!full && t->chunks[c].n_used > 0)
		return;
	if (!full)
		chunk_remove(t, &t->partial, c);
	chunk_place(t, c);
}

/* ------------------------------------------------------------------ creating and freeing nodes */

static void record_take_over(struct client_nodes *t, uint32_t i)
{
	struct client_node *n = node_at(t, i);

	n->n_pins = 0;
	n->n_cached = n->n_direct = 0;
	if (n->handle_len > FUSE_PROTO_HANDLE_MAX) /* an invalid length: the state is damaged */
		n->handle_len = 0;
	if (n->flags & CLIENT_NODE_USED && n->handle_len > 0) {
		hash_add(t, i);
		t->chunks[i / CLIENT_CHUNK_NODES].n_used++;
	} else if (i != FUSE_ROOT_ID) {
		n->flags = 0; /* the node has neither lookups nor pins: free it, and make its number
				 invalid */
		record_push(t, i);
	} else {
		n->flags = CLIENT_NODE_USED;
		n->handle_len = 0; /* the server has not given the root's handle yet */
	}
}

static void chunk_take_over(struct client_nodes *t, uint32_t c)
{
	const uint32_t n_nodes = t->state->head->n_nodes;
	uint32_t i = MIN_OF((c + 1) * CLIENT_CHUNK_NODES, n_nodes);

	if (t->state->head->released[c] && chunk_can_empty(t, c)) {
		chunk_push(t, &t->released, c);
		return;
	}
	t->state->head->released[c] = 0;
	while (i-- > MAX_OF(c * CLIENT_CHUNK_NODES, (uint32_t)FUSE_ROOT_ID))
		record_take_over(t, i);
	if (c > 0)
		chunk_place(t, c);
}

int client_nodes_init(struct client_nodes *t, struct client_state *s)
{
	void *hash = mmap(NULL, HASH_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *chunks = mmap(NULL, CHUNKS_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*t = (struct client_nodes){.state = s,
				   .hash = hash == MAP_FAILED ? NULL : hash,
				   .chunks = chunks == MAP_FAILED ? NULL : chunks,
				   .n_hash = HASH_FIRST};
	if (!t->hash || !t->chunks) {
		client_nodes_done(t);
		return -ENOMEM;
	}
	if (getrandom(&t->seed, sizeof(t->seed), 0) != (ssize_t)sizeof(t->seed)) {
		client_nodes_done(t);
		return -EIO;
	}
	for (uint32_t c = (s->head->n_nodes + CLIENT_CHUNK_NODES - 1) / CLIENT_CHUNK_NODES;
	     c-- > 0;)
		chunk_take_over(t, c);
	return 0;
}

void client_nodes_done(struct client_nodes *t)
{
	if (t->hash)
		munmap(t->hash, HASH_BYTES);
	if (t->chunks)
		munmap(t->chunks, CHUNKS_BYTES);
	*t = (struct client_nodes){.state = NULL};
}

uint32_t client_nodes_next(const struct client_nodes *t, uint32_t i)
{
	const struct client_head *head = t->state->head;

	while (i < head->n_nodes && head->released[i / CLIENT_CHUNK_NODES])
		i += CLIENT_CHUNK_NODES - i % CLIENT_CHUNK_NODES;
	return i;
}

void client_nodes_sweep(struct client_nodes *t)
{
	for (uint32_t i = FUSE_ROOT_ID + 1; i < t->state->head->n_nodes;
	     i = client_nodes_next(t, i + 1))
		if (node_at(t, i)->flags & CLIENT_NODE_USED)
			client_node_settle(t, node_at(t, i));
}

struct client_node *client_node_get(const struct client_nodes *t, uint64_t nodeid)
{
	uint32_t i = (uint32_t)nodeid;

	if (nodeid == FUSE_ROOT_ID)
		return node_at(t, FUSE_ROOT_ID);
	/* Do not read records of a released chunk, because reading alone would allocate memory. */
	if (i <= FUSE_ROOT_ID || i >= t->state->head->n_nodes ||
	    t->state->head->released[i / CLIENT_CHUNK_NODES] ||
	    !(node_at(t, i)->flags & CLIENT_NODE_USED) || node_at(t, i)->reuse != nodeid >> 32)
		return NULL;
	return node_at(t, i);
}

uint64_t client_node_id(const struct client_nodes *t, const struct client_node *n)
{
	uint32_t i = node_index(t, n);

	return i == FUSE_ROOT_ID ? i : (uint64_t)n->reuse << 32 | i;
}

struct client_node *client_node_find(const struct client_nodes *t, const void *handle, unsigned len)
{
	uint32_t i = *hash_head(t, client_node_hash(t, handle, len));

	for (; i != 0; i = node_at(t, i)->next)
		if (node_at(t, i)->handle_len == len &&
		    memcmp(node_at(t, i)->handle, handle, len) == 0)
			return node_at(t, i);
	return NULL;
}

static uint32_t index_new(struct client_nodes *t)
{
	struct client_head *head = t->state->head;
	uint32_t i = record_pop(t);

	if (i != 0)
		return i;
	if (head->n_nodes == CLIENT_NODES_MAX)
		return 0;
	i = head->n_nodes;
	node_at(t, i)->reuse = head->reuse;
	client_publish(&head->n_nodes, i + 1);
	return i;
}

struct client_node *client_node_of(struct client_nodes *t, const void *handle, unsigned len)
{
	struct client_node *n = client_node_find(t, handle, len);
	uint32_t i;

	if (n)
		return n;
	i = index_new(t);
	if (i == 0)
		return NULL;
	n = node_at(t, i);
	*n = (struct client_node){
		.reuse = n->reuse + 1,
		.stamp.size = UINT64_MAX,
		.handle_len = (uint8_t)len,
	};
	memcpy(n->handle, handle, len);
	client_publish(&n->flags, CLIENT_NODE_USED);
	hash_add(t, i);
	t->chunks[i / CLIENT_CHUNK_NODES].n_used++;
	return n;
}

void client_node_root(struct client_nodes *t, const void *handle, unsigned len)
{
	struct client_node *n = node_at(t, FUSE_ROOT_ID), *other;

	if (n->handle_len == len && memcmp(n->handle, handle, len) == 0)
		return;
	if (n->handle_len > 0)
		hash_remove(t, FUSE_ROOT_ID);
	/* Another node may have this handle already, if the root is a directory that the client
	 * knew as part of the export. The other node keeps its number, but client_node_find() no
	 * longer returns the other node. */
	other = client_node_find(t, handle, len);
	memcpy(n->handle, handle, len);
	n->handle_len = (uint8_t)len;
	n->stamp.size = UINT64_MAX;
	if (other)
		hash_remove(t, node_index(t, other));
	hash_add(t, FUSE_ROOT_ID);
}

void client_node_pin(struct client_node *n)
{
	n->n_pins++;
}

void client_node_unpin(struct client_nodes *t, struct client_node *n)
{
	n->n_pins--;
	client_node_settle(t, n);
}

void client_node_looked_up(struct client_node *n)
{
	if (n->n_lookups != LOOKUPS_MAX)
		n->n_lookups++;
}

void client_node_forget(struct client_nodes *t, struct client_node *n, uint64_t n_lookups)
{
	if (n->n_lookups != LOOKUPS_MAX)
		n->n_lookups -= MIN_OF(n->n_lookups, n_lookups);
	client_node_settle(t, n);
}

void client_node_settle(struct client_nodes *t, struct client_node *n)
{
	uint32_t i = node_index(t, n);

	if (i != FUSE_ROOT_ID && n->n_lookups == 0 && n->n_pins == 0)
		node_free(t, i);
}

void client_node_seen(struct client_node *n, const struct fuse_attr *attr)
{
	mode_t m = attr->mode;

	if (!S_ISFIFO(m) && !S_ISSOCK(m) && !S_ISCHR(m) && !S_ISBLK(m))
		return;
	n->special = (struct client_special){.ino = attr->ino,
					     .mode = attr->mode,
					     .uid = attr->uid,
					     .gid = attr->gid,
					     .rdev = attr->rdev};
	n->flags |= CLIENT_NODE_SPECIAL;
}

bool client_node_recall(const struct client_node *n, struct fuse_attr *ret)
{
	if (!(n->flags & CLIENT_NODE_SPECIAL))
		return false;
	*ret = (struct fuse_attr){.ino = n->special.ino,
				  .mode = n->special.mode,
				  .uid = n->special.uid,
				  .gid = n->special.gid,
				  .rdev = n->special.rdev,
				  .blksize = 4096};
	return true;
}

struct client_stamp client_stamp_of(const struct fuse_attr *attr)
{
	return (struct client_stamp){.size = attr->size,
				     .mtime_ns = attr->mtime * NSEC_PER_SEC + attr->mtimensec,
				     .ctime_ns = attr->ctime * NSEC_PER_SEC + attr->ctimensec};
}

void client_node_unstamp(struct client_node *n)
{
	if (!(n->flags & CLIENT_NODE_SPECIAL))
		n->stamp.size = UINT64_MAX;
}

void client_node_changed(struct client_node *n)
{
	n->n_changes++;
	client_node_unstamp(n);
	n->flags |= CLIENT_NODE_UNSYNCED;
}

void client_node_synced(struct client_node *n)
{
	n->flags &= (uint8_t)~CLIENT_NODE_UNSYNCED;
}

void client_node_lose(struct client_node *n)
{
	n->lost = (n->lost & ~1U) + 2;
}

/* Each node's loss is counted before its flag UNSYNCED is cleared. If a successor takes over in
 * between, it counts the loss again, which callers of fsync see as one loss. */
void client_nodes_lose(struct client_nodes *t)
{
	for (uint32_t i = FUSE_ROOT_ID; i < t->state->head->n_nodes;
	     i = client_nodes_next(t, i + 1)) {
		struct client_node *n = node_at(t, i);

		client_node_unstamp(n);
		if ((n->flags & CLIENT_NODE_USED) && (n->flags & CLIENT_NODE_UNSYNCED)) {
			client_node_lose(n);
			client_node_synced(n);
		}
	}
}

uint32_t client_node_lost_sample(const struct client_node *n)
{
	return n->lost >> 1 > 0 && !(n->lost & 1) ? n->lost - 2 : n->lost;
}

bool client_node_lost_report(struct client_node *n, uint32_t *sample)
{
	if (n->lost >> 1 == *sample >> 1)
		return false;
	n->lost |= 1;
	*sample = n->lost;
	return true;
}
