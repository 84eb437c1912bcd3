/* SPDX-License-Identifier: BSD-3-Clause */
/* What needs no server: apart from the nodes because it is no part of the mount's state. */
#include "dataplane/fuse/fuse_front_known.h"

#include <string.h>
#include <sys/mman.h>

#define BARE_BYTES ((size_t)FRONT_NODES_MAX * sizeof(uint64_t))

int front_known_init(struct front_known *k, struct front_nodes *nodes)
{
	void *bare = mmap(NULL, BARE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (bare == MAP_FAILED)
		return -ENOMEM;
	*k = (struct front_known){.nodes = nodes, .bare = bare};
	return 0;
}

void front_known_done(struct front_known *k)
{
	if (k->bare)
		munmap(k->bare, BARE_BYTES);
	k->bare = NULL;
}

void front_known_forget(struct front_known *k)
{
	(void)madvise(k->bare, BARE_BYTES, MADV_DONTNEED);
	memset(k->folders, 0, sizeof(k->folders));
	memset(k->ends, 0, sizeof(k->ends));
}

static uint64_t *bare_of(const struct front_known *k, const struct front_node *n)
{
	return &k->bare[n - k->nodes->state->nodes];
}

void front_known_fresh(struct front_known *k, const struct front_node *n)
{
	*bare_of(k, n) = 0;
}

void front_known_bare_set(struct front_known *k, const struct front_node *n, bool is_bare,
			  uint64_t sent_ns)
{
	uint64_t *p = bare_of(k, n);

	/* Of two answers the one to the later question counts. */
	if (sent_ns > *p >> 1)
		*p = sent_ns << 1 | is_bare;
}

void front_known_bare_drop(struct front_known *k, const struct front_node *n, uint64_t now_ns)
{
	*bare_of(k, n) = now_ns << 1;
}

bool front_known_bare(const struct front_known *k, const struct front_node *n, uint64_t now_ns)
{
	uint64_t v = *bare_of(k, n);

	return v & 1 && now_ns - (v >> 1) < FRONT_KNOWN_NS;
}

static struct front_folder *folder_of(struct front_known *k, const struct front_node *n)
{
	return &k->folders[(size_t)(n - k->nodes->state->nodes) % FRONT_KNOWN_FOLDERS];
}

void front_known_folder_set(struct front_known *k, const struct front_node *n,
			    const struct fuse_attr *attr, uint64_t sent_ns)
{
	*folder_of(k, n) = (struct front_folder){.nodeid = front_node_id(k->nodes, n),
						 .sent_ns = sent_ns,
						 .n_changes = n->n_changes,
						 .attr = *attr};
}

void front_known_folder_drop(struct front_known *k, const struct front_node *n)
{
	folder_of(k, n)->nodeid = 0;
}

bool front_known_folder(const struct front_known *k, const struct front_node *n, uint64_t now_ns,
			struct fuse_attr *ret, uint64_t *ret_for_ns)
{
	const struct front_folder *d = folder_of((struct front_known *)k, n);

	if (d->nodeid != front_node_id(k->nodes, n) || d->n_changes != n->n_changes ||
	    now_ns - d->sent_ns >= FRONT_KNOWN_NS)
		return false;
	*ret = d->attr;
	*ret_for_ns = FRONT_KNOWN_NS - (now_ns - d->sent_ns);
	return true;
}

static struct front_end *end_of(struct front_known *k, uint64_t fh)
{
	return &k->ends[(uint32_t)fh % FRONT_KNOWN_ENDS]; /* low in it is the file's index */
}

void front_known_end_set(struct front_known *k, const struct front_node *n, uint64_t fh,
			 uint64_t off, uint64_t sent_ns)
{
	*end_of(k, fh) = (struct front_end){
		.fh = fh, .off = off, .sent_ns = sent_ns, .n_changes = n->n_changes, .used = true};
}

bool front_known_end(struct front_known *k, const struct front_node *n, uint64_t fh, uint64_t off,
		     uint64_t now_ns)
{
	struct front_end *e = end_of(k, fh);

	if (!e->used || e->fh != fh || e->off != off || e->n_changes != n->n_changes ||
	    now_ns - e->sent_ns >= FRONT_KNOWN_NS)
		return false;
	e->used = false;
	return true;
}
