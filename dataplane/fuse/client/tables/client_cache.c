/* SPDX-License-Identifier: BSD-3-Clause */
/* Caches from which the client answers the kernel without asking the server. They are in process
 * memory, not in the mount's state. */
#include "dataplane/fuse/client/tables/client_cache.h"

#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#define NO_XATTRS_BYTES ((size_t)CLIENT_NODES_MAX * sizeof(uint64_t))
#define KERNEL_VALID_BYTES NO_XATTRS_BYTES
/* An entry that is valid for less time may expire while a program that lists a directory still uses
 * the directory's entries. */
#define KERNEL_VALID_LEFT_NS (CLIENT_CACHE_NS / 2)
/* Number of bits in a directory's Bloom filter. If the directory has 5,000 names, the client must
 * ask the server in one of 25 lookups of a name that does not exist. */
#define NAMES_BITS (1U << 15)
#define NAMES_WORDS (NAMES_BITS / 32)
#define NAMES_BYTES ((size_t)CLIENT_CACHE_EMPTY_DIRS * NAMES_WORDS * sizeof(uint32_t))
#define NAMES_PROBES 4U

/* Reserves memory, whose pages are populated on first use. Returns NULL if memory is short. */
static void *memory_of(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int client_cache_init(struct client_cache *k, struct client_nodes *nodes)
{
	*k = (struct client_cache){.nodes = nodes,
				   .no_xattrs = memory_of(NO_XATTRS_BYTES),
				   .kernel_valid = memory_of(KERNEL_VALID_BYTES),
				   .names = memory_of(NAMES_BYTES)};
	if (!k->no_xattrs || !k->kernel_valid || !k->names) {
		client_cache_done(k);
		return -ENOMEM;
	}
	nodes->companions[0] = k->no_xattrs;
	nodes->companions[1] = k->kernel_valid;
	for (unsigned i = 0; i < CLIENT_CACHE_EMPTY_DIRS; i++)
		k->empty_dirs[i].names = k->names + (size_t)i * NAMES_WORDS;
	return 0;
}

void client_cache_done(struct client_cache *k)
{
	if (k->nodes)
		k->nodes->companions[0] = k->nodes->companions[1] = NULL;
	if (k->no_xattrs)
		munmap(k->no_xattrs, NO_XATTRS_BYTES);
	if (k->kernel_valid)
		munmap(k->kernel_valid, KERNEL_VALID_BYTES);
	if (k->names)
		munmap(k->names, NAMES_BYTES);
	k->no_xattrs = NULL;
	k->kernel_valid = NULL;
	k->names = NULL;
}

void client_cache_clear(struct client_cache *k)
{
	(void)madvise(k->no_xattrs, NO_XATTRS_BYTES, MADV_DONTNEED);
	(void)madvise(k->kernel_valid, KERNEL_VALID_BYTES, MADV_DONTNEED);
	memset(k->dirs, 0, sizeof(k->dirs));
	memset(k->dir_ends, 0, sizeof(k->dir_ends));
	memset(k->created, 0, sizeof(k->created));
	memset(k->leases, 0, sizeof(k->leases));
	client_cache_drop_all_written(k);
	for (unsigned i = 0; i < CLIENT_CACHE_EMPTY_DIRS; i++)
		k->empty_dirs[i].nodeid = 0;
}

static uint64_t *no_xattrs_of(const struct client_cache *k, const struct client_node *n)
{
	return &k->no_xattrs[n - k->nodes->state->nodes];
}

static uint64_t *kernel_valid_of(const struct client_cache *k, const struct client_node *n)
{
	return &k->kernel_valid[n - k->nodes->state->nodes];
}

void client_cache_reset_node(struct client_cache *k, const struct client_node *n)
{
	*no_xattrs_of(k, n) = 0;
	*kernel_valid_of(k, n) = 0;
}

void client_cache_no_xattrs_set(struct client_cache *k, const struct client_node *n, bool no_xattrs,
				uint64_t sent_ns)
{
	uint64_t *p = no_xattrs_of(k, n);

	/* If two answers differ, keep the answer to the request that was sent later. */
	if (sent_ns > *p >> 1)
		*p = sent_ns << 1 | no_xattrs;
}

void client_cache_no_xattrs_drop(struct client_cache *k, const struct client_node *n,
				 uint64_t now_ns)
{
	*no_xattrs_of(k, n) = now_ns << 1;
}

bool client_cache_no_xattrs(const struct client_cache *k, const struct client_node *n,
			    uint64_t now_ns)
{
	uint64_t v = *no_xattrs_of(k, n);

	return v & 1 && now_ns - (v >> 1) < CLIENT_CACHE_NS;
}

bool client_cache_no_xattrs_reported(const struct client_cache *k, const struct client_node *n,
				     uint64_t now_ns)
{
	return now_ns - (*no_xattrs_of(k, n) >> 1) < CLIENT_CACHE_NS;
}

void client_cache_kernel_valid_set(struct client_cache *k, const struct client_node *n,
				   uint64_t until_ns)
{
	*kernel_valid_of(k, n) = until_ns;
}

void client_cache_kernel_valid_drop(struct client_cache *k, const struct client_node *n)
{
	/* Do not write 0 over 0: most pages of the table have no memory yet, and a write would
	 * allocate some. */
	if (*kernel_valid_of(k, n) != 0)
		*kernel_valid_of(k, n) = 0;
}

bool client_cache_kernel_valid(const struct client_cache *k, const struct client_node *n,
			       uint64_t now_ns)
{
	return n->n_lookups > 0 && *kernel_valid_of(k, n) > now_ns + KERNEL_VALID_LEFT_NS;
}

/* ------------------------------------------------------------------ leased files */

static struct client_lease *lease_of(const struct client_cache *k, const struct client_node *n)
{
	size_t i = (size_t)(n - k->nodes->state->nodes) % CLIENT_CACHE_LEASES;

	return (struct client_lease *)&k->leases[i];
}

void client_cache_lease_set(struct client_cache *k, const struct client_node *n, uint64_t sent_ns)
{
	struct client_lease *l = lease_of(k, n);
	uint64_t nodeid = client_node_id(k->nodes, n);

	if (l->nodeid == nodeid && l->sent_ns > sent_ns)
		return;
	*l = (struct client_lease){.nodeid = nodeid, .sent_ns = sent_ns};
}

void client_cache_lease_drop(struct client_cache *k, const struct client_node *n)
{
	lease_of(k, n)->nodeid = 0;
}

void client_cache_lease_drop_newer(struct client_cache *k, const struct client_node *n,
				   uint64_t sent_ns)
{
	if (lease_of(k, n)->sent_ns > sent_ns)
		client_cache_lease_drop(k, n);
}

bool client_cache_is_leased(const struct client_cache *k, const struct client_node *n,
			    uint64_t now_ns)
{
	const struct client_lease *l = lease_of(k, n);

	return l->nodeid == client_node_id(k->nodes, n) && now_ns - l->sent_ns < CLIENT_CACHE_NS;
}

/* ------------------------------------------------------------------ directories */

static struct client_dir_attr *dir_of(struct client_cache *k, const struct client_node *n)
{
	return &k->dirs[(size_t)(n - k->nodes->state->nodes) % CLIENT_CACHE_DIRS];
}

void client_cache_dir_set(struct client_cache *k, const struct client_node *n,
			  const struct fuse_attr *attr, uint64_t sent_ns)
{
	*dir_of(k, n) = (struct client_dir_attr){.nodeid = client_node_id(k->nodes, n),
						 .sent_ns = sent_ns,
						 .n_changes = n->n_changes,
						 .attr = *attr};
}

void client_cache_dir_drop(struct client_cache *k, const struct client_node *n)
{
	dir_of(k, n)->nodeid = 0;
}

bool client_cache_dir(const struct client_cache *k, const struct client_node *n, uint64_t now_ns,
		      struct fuse_attr *ret, uint64_t *ret_for_ns)
{
	const struct client_dir_attr *d = dir_of((struct client_cache *)k, n);

	if (d->nodeid != client_node_id(k->nodes, n) || d->n_changes != n->n_changes ||
	    now_ns - d->sent_ns >= CLIENT_CACHE_NS)
		return false;
	*ret = d->attr;
	*ret_for_ns = CLIENT_CACHE_NS - (now_ns - d->sent_ns);
	return true;
}

static struct client_dir_end *dir_end_of(struct client_cache *k, uint64_t fh)
{
	return &k->dir_ends[(uint32_t)fh %
			    CLIENT_CACHE_DIR_ENDS]; /* the low bits of fh are the file's index */
}

void client_cache_dir_end_set(struct client_cache *k, const struct client_node *n, uint64_t fh,
			      uint64_t off, uint64_t sent_ns)
{
	*dir_end_of(k, fh) = (struct client_dir_end){
		.fh = fh, .off = off, .sent_ns = sent_ns, .n_changes = n->n_changes, .used = true};
}

bool client_cache_dir_end(struct client_cache *k, const struct client_node *n, uint64_t fh,
			  uint64_t off, uint64_t now_ns)
{
	struct client_dir_end *e = dir_end_of(k, fh);

	if (!e->used || e->fh != fh || e->off != off || e->n_changes != n->n_changes ||
	    now_ns - e->sent_ns >= CLIENT_CACHE_NS)
		return false;
	e->used = false;
	return true;
}

/* ------------------------------------------------------------------ absent names */

static struct client_empty_dir *empty_dir_of(struct client_cache *k, const struct client_node *n)
{
	return &k->empty_dirs[(size_t)(n - k->nodes->state->nodes) % CLIENT_CACHE_EMPTY_DIRS];
}

/*
 * Hashes a name by FNV-1a with the last mixing step of MurmurHash3. The two halves of the result
 * determine the bits of the name in the filter. The hash needs no secret key: a program that
 * chooses names with equal hashes only causes needless requests for its own names. Names that the
 * server's file system may treat as equal need equal hashes, so letters are first converted to
 * lower case. Returns false for names that only the server can compare (non-ASCII names, short
 * aliases, names ending in characters that some file systems drop), and for names that it may
 * reject as too long.
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

void client_cache_empty_dir_set(struct client_cache *k, const struct client_node *n,
				uint64_t sent_ns)
{
	struct client_empty_dir *e = empty_dir_of(k, n);

	memset(e->names, 0, NAMES_WORDS * sizeof(*e->names));
	e->nodeid = client_node_id(k->nodes, n);
	e->sent_ns = sent_ns;
}

void client_cache_name_created(struct client_cache *k, const struct client_node *n,
			       const char *name, size_t len)
{
	struct client_empty_dir *e = empty_dir_of(k, n);
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
	const struct client_empty_dir *e = empty_dir_of(k, n);
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

static struct client_created *created_of(struct client_cache *k, const struct client_node *n)
{
	return &k->created[(size_t)(n - k->nodes->state->nodes) % CLIENT_CACHE_CREATED];
}

void client_cache_mark_created(struct client_cache *k, const struct client_node *n,
			       const struct fuse_attr *attr, uint64_t sent_ns)
{
	*created_of(k, n) = (struct client_created){.nodeid = client_node_id(k->nodes, n),
						    .sent_ns = sent_ns,
						    .n_changes = n->n_changes,
						    .attr = *attr};
}

void client_cache_created_changed(struct client_cache *k, const struct client_node *n,
				  const struct fuse_attr *attr)
{
	struct client_created *m = created_of(k, n);

	if (m->nodeid != client_node_id(k->nodes, n))
		return;
	m->n_changes = n->n_changes;
	m->attr = *attr;
}

void client_cache_created_stale(struct client_cache *k, const struct client_node *n)
{
	struct client_created *m = created_of(k, n);

	if (m->nodeid == client_node_id(k->nodes, n))
		m->n_changes = n->n_changes - 1;
}

void client_cache_created_drop(struct client_cache *k, const struct client_node *n)
{
	created_of(k, n)->nodeid = 0;
}

const struct fuse_attr *client_cache_created(struct client_cache *k, const struct client_node *n,
					     uint64_t now_ns)
{
	const struct client_created *m = created_of(k, n);

	return m->nodeid == client_node_id(k->nodes, n) && m->n_changes == n->n_changes &&
			       now_ns - m->sent_ns < CLIENT_CACHE_NS
		       ? &m->attr
		       : NULL;
}

/* ------------------------------------------------------------------ written files */

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

void client_cache_drop_all_written(struct client_cache *k)
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
