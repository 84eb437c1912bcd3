/* SPDX-License-Identifier: BSD-3-Clause */
/* Caches that answer the kernel without the server. They lie in process memory, outside the
 * mount's state. */
#include "dataplane/fuse/client/cache/client_cache.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#define BARE_BYTES ((size_t)CLIENT_NODES_MAX * sizeof(uint64_t))
#define TOLD_BYTES BARE_BYTES
/* An entry with less remaining time than this may expire while a program that lists a directory
 * still looks at its entries. */
#define TOLD_LEFT_NS (CLIENT_CACHE_NS / 2)
#define NAMES_BITS                                                                    \
	(1U << 15) /* of a directory; 5,000 names there give one false positive in 25 \
		    */
#define NAMES_WORDS (NAMES_BITS / 32)
#define NAMES_BYTES ((size_t)CLIENT_CACHE_EMPTIES * NAMES_WORDS * sizeof(uint32_t))
#define NAMES_PROBES 4U

/* Pages are populated on first use. NULL: no memory. */
static void *memory_of(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int client_cache_init(struct client_cache *k, struct client_nodes *nodes)
{
	*k = (struct client_cache){.nodes = nodes,
				   .bare = memory_of(BARE_BYTES),
				   .told = memory_of(TOLD_BYTES),
				   .names = memory_of(NAMES_BYTES)};
	if (!k->bare || !k->told || !k->names) {
		client_cache_done(k);
		return -ENOMEM;
	}
	nodes->beside[0] = k->bare;
	nodes->beside[1] = k->told;
	for (unsigned i = 0; i < CLIENT_CACHE_EMPTIES; i++)
		k->empties[i].names = k->names + (size_t)i * NAMES_WORDS;
	return 0;
}

void client_cache_done(struct client_cache *k)
{
	if (k->nodes)
		k->nodes->beside[0] = k->nodes->beside[1] = NULL;
	if (k->bare)
		munmap(k->bare, BARE_BYTES);
	if (k->told)
		munmap(k->told, TOLD_BYTES);
	if (k->names)
		munmap(k->names, NAMES_BYTES);
	k->bare = NULL;
	k->told = NULL;
	k->names = NULL;
}

void client_cache_forget(struct client_cache *k)
{
	(void)madvise(k->bare, BARE_BYTES, MADV_DONTNEED);
	(void)madvise(k->told, TOLD_BYTES, MADV_DONTNEED);
	memset(k->folders, 0, sizeof(k->folders));
	memset(k->ends, 0, sizeof(k->ends));
	memset(k->made, 0, sizeof(k->made));
	client_cache_written_drop_all(k);
	for (unsigned i = 0; i < CLIENT_CACHE_EMPTIES; i++)
		k->empties[i].nodeid = 0;
}

static uint64_t *bare_of(const struct client_cache *k, const struct client_node *n)
{
	return &k->bare[n - k->nodes->state->nodes];
}

static uint64_t *told_of(const struct client_cache *k, const struct client_node *n)
{
	return &k->told[n - k->nodes->state->nodes];
}

void client_cache_fresh(struct client_cache *k, const struct client_node *n)
{
	*bare_of(k, n) = 0;
	*told_of(k, n) = 0;
}

void client_cache_bare_set(struct client_cache *k, const struct client_node *n, bool is_bare,
			   uint64_t sent_ns)
{
	uint64_t *p = bare_of(k, n);

	/* If two answers disagree, the one to the later request counts. */
	if (sent_ns > *p >> 1)
		*p = sent_ns << 1 | is_bare;
}

void client_cache_bare_drop(struct client_cache *k, const struct client_node *n, uint64_t now_ns)
{
	*bare_of(k, n) = now_ns << 1;
}

bool client_cache_bare(const struct client_cache *k, const struct client_node *n, uint64_t now_ns)
{
	uint64_t v = *bare_of(k, n);

	return v & 1 && now_ns - (v >> 1) < CLIENT_CACHE_NS;
}

bool client_cache_bare_said(const struct client_cache *k, const struct client_node *n,
			    uint64_t now_ns)
{
	return now_ns - (*bare_of(k, n) >> 1) < CLIENT_CACHE_NS;
}

void client_cache_told_set(struct client_cache *k, const struct client_node *n, uint64_t until_ns)
{
	*told_of(k, n) = until_ns;
}

void client_cache_told_drop(struct client_cache *k, const struct client_node *n)
{
	/* Not written if already 0: most pages of it have no memory. */
	if (*told_of(k, n) != 0)
		*told_of(k, n) = 0;
}

bool client_cache_told(const struct client_cache *k, const struct client_node *n, uint64_t now_ns)
{
	return n->n_lookups > 0 && *told_of(k, n) > now_ns + TOLD_LEFT_NS;
}

static struct client_folder *folder_of(struct client_cache *k, const struct client_node *n)
{
	return &k->folders[(size_t)(n - k->nodes->state->nodes) % CLIENT_CACHE_FOLDERS];
}

void client_cache_folder_set(struct client_cache *k, const struct client_node *n,
			     const struct fuse_attr *attr, uint64_t sent_ns)
{
	*folder_of(k, n) = (struct client_folder){.nodeid = client_node_id(k->nodes, n),
						  .sent_ns = sent_ns,
						  .n_changes = n->n_changes,
						  .attr = *attr};
}

void client_cache_folder_drop(struct client_cache *k, const struct client_node *n)
{
	folder_of(k, n)->nodeid = 0;
}

bool client_cache_folder(const struct client_cache *k, const struct client_node *n, uint64_t now_ns,
			 struct fuse_attr *ret, uint64_t *ret_for_ns)
{
	const struct client_folder *d = folder_of((struct client_cache *)k, n);

	if (d->nodeid != client_node_id(k->nodes, n) || d->n_changes != n->n_changes ||
	    now_ns - d->sent_ns >= CLIENT_CACHE_NS)
		return false;
	*ret = d->attr;
	*ret_for_ns = CLIENT_CACHE_NS - (now_ns - d->sent_ns);
	return true;
}

static struct client_end *end_of(struct client_cache *k, uint64_t fh)
{
	return &k->ends[(uint32_t)fh % CLIENT_CACHE_ENDS]; /* the low bits are the file's index */
}

void client_cache_end_set(struct client_cache *k, const struct client_node *n, uint64_t fh,
			  uint64_t off, uint64_t sent_ns)
{
	*end_of(k, fh) = (struct client_end){
		.fh = fh, .off = off, .sent_ns = sent_ns, .n_changes = n->n_changes, .used = true};
}

bool client_cache_end(struct client_cache *k, const struct client_node *n, uint64_t fh,
		      uint64_t off, uint64_t now_ns)
{
	struct client_end *e = end_of(k, fh);

	if (!e->used || e->fh != fh || e->off != off || e->n_changes != n->n_changes ||
	    now_ns - e->sent_ns >= CLIENT_CACHE_NS)
		return false;
	e->used = false;
	return true;
}

/* ------------------------------------------------------------------ absent names */

static struct client_empty *empty_of(struct client_cache *k, const struct client_node *n)
{
	return &k->empties[(size_t)(n - k->nodes->state->nodes) % CLIENT_CACHE_EMPTIES];
}

/*
 * FNV-1a with a last mix step of MurmurHash3: two halves produce all probes. A program that knows
 * the hash can only cause needless requests for its names. Names that the server's file system may
 * treat as equal need equal hashes: letters are lowered here, and false is returned for names that
 * only the server can compare (non-ASCII, short aliases, trailing characters that some file systems
 * drop) or may reject as too long.
 */
static bool name_hash(const char *name, size_t len, uint64_t *ret)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	if (len == 0 || len > NAME_MAX || name[len - 1] == '.' || name[len - 1] == ' ')
		return false;
	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)name[i];

		if (c >= 0x80 || c == '~')
			return false;
		h = (h ^ (c >= 'A' && c <= 'Z' ? c | 0x20U : c)) * 0x100000001b3ULL;
	}
	h = (h ^ h >> 33) * 0xff51afd7ed558ccdULL;
	*ret = h ^ h >> 33;
	return true;
}

static uint32_t probe_of(uint64_t hash, unsigned i)
{
	return ((uint32_t)hash + i * (uint32_t)(hash >> 32)) % NAMES_BITS;
}

void client_cache_empty_set(struct client_cache *k, const struct client_node *n, uint64_t sent_ns)
{
	struct client_empty *e = empty_of(k, n);

	memset(e->names, 0, NAMES_WORDS * sizeof(*e->names));
	e->nodeid = client_node_id(k->nodes, n);
	e->sent_ns = sent_ns;
}

void client_cache_name(struct client_cache *k, const struct client_node *n, const char *name,
		       size_t len)
{
	struct client_empty *e = empty_of(k, n);
	uint64_t hash;

	if (e->nodeid != client_node_id(k->nodes, n))
		return;
	if (!name_hash(name, len, &hash)) {
		e->nodeid = 0;
		return;
	}
	for (unsigned i = 0; i < NAMES_PROBES; i++)
		e->names[probe_of(hash, i) / 32] |= 1U << probe_of(hash, i) % 32;
}

bool client_cache_absent(struct client_cache *k, const struct client_node *n, const char *name,
			 size_t len, uint64_t now_ns)
{
	const struct client_empty *e = empty_of(k, n);
	uint64_t hash;

	if (e->nodeid != client_node_id(k->nodes, n) || now_ns - e->sent_ns >= CLIENT_CACHE_NS ||
	    !name_hash(name, len, &hash))
		return false;
	for (unsigned i = 0; i < NAMES_PROBES; i++)
		if (!(e->names[probe_of(hash, i) / 32] & 1U << probe_of(hash, i) % 32))
			return true;
	return false;
}

/* ------------------------------------------------------------------ files that this client
 * created */

static struct client_made *made_of(struct client_cache *k, const struct client_node *n)
{
	return &k->made[(size_t)(n - k->nodes->state->nodes) % CLIENT_CACHE_MADE];
}

void client_cache_made_set(struct client_cache *k, const struct client_node *n,
			   const struct fuse_attr *attr, uint64_t sent_ns)
{
	*made_of(k, n) = (struct client_made){.nodeid = client_node_id(k->nodes, n),
					      .sent_ns = sent_ns,
					      .n_changes = n->n_changes,
					      .attr = *attr};
}

void client_cache_made_changed(struct client_cache *k, const struct client_node *n,
			       const struct fuse_attr *attr)
{
	struct client_made *m = made_of(k, n);

	if (m->nodeid != client_node_id(k->nodes, n))
		return;
	m->n_changes = n->n_changes;
	m->attr = *attr;
}

void client_cache_made_stale(struct client_cache *k, const struct client_node *n)
{
	struct client_made *m = made_of(k, n);

	if (m->nodeid == client_node_id(k->nodes, n))
		m->n_changes = n->n_changes - 1;
}

void client_cache_made_drop(struct client_cache *k, const struct client_node *n)
{
	made_of(k, n)->nodeid = 0;
}

const struct fuse_attr *client_cache_made(struct client_cache *k, const struct client_node *n,
					  uint64_t now_ns)
{
	const struct client_made *m = made_of(k, n);

	return m->nodeid == client_node_id(k->nodes, n) && m->n_changes == n->n_changes &&
			       now_ns - m->sent_ns < CLIENT_CACHE_NS
		       ? &m->attr
		       : NULL;
}

/* ------------------------------------------------------------------ files that are written */

static struct client_written *written_of(const struct client_cache *k, const struct client_node *n)
{
	size_t i = (size_t)(n - k->nodes->state->nodes) % CLIENT_CACHE_WRITTEN;

	return (struct client_written *)&k->written[i];
}

void client_cache_written_set(struct client_cache *k, const struct client_node *n,
			      const struct fuse_attr *attr, uint64_t sent_ns)
{
	struct client_written *w = written_of(k, n);

	*w = (struct client_written){.nodeid = client_node_id(k->nodes, n),
				     .sent_ns = sent_ns,
				     .n_changes = n->n_changes,
				     .n_moves = k->n_moves,
				     .n_drops = w->n_drops,
				     .attr = *attr};
}

uint32_t client_cache_written_count(const struct client_cache *k, const struct client_node *n)
{
	return written_of(k, n)->n_drops + k->n_moves;
}

void client_cache_written_drop(struct client_cache *k, const struct client_node *n)
{
	struct client_written *w = written_of(k, n);

	w->nodeid = 0;
	w->n_drops++;
}

void client_cache_written_drop_all(struct client_cache *k)
{
	k->n_moves++;
}

bool client_cache_written(const struct client_cache *k, const struct client_node *n,
			  uint64_t now_ns, struct fuse_attr *ret, uint64_t *ret_for_ns)
{
	const struct client_written *w = written_of(k, n);

	if (w->nodeid != client_node_id(k->nodes, n) || w->n_changes != n->n_changes ||
	    w->n_moves != k->n_moves || now_ns - w->sent_ns >= CLIENT_CACHE_NS)
		return false;
	*ret = w->attr;
	*ret_for_ns = CLIENT_CACHE_NS - (now_ns - w->sent_ns);
	return true;
}
