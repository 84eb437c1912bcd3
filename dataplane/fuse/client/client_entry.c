/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the directory entries that the kernel gets. An entry is a name with its node, its
 * attributes, and how long the kernel may cache both. */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <string.h>
#include <sys/stat.h>

/* How many seconds the kernel may cache attributes, and names of directories. The kernel looks up
 * all other names each time, unless the server leases them, so that an open never finds a file that
 * had this name earlier (plenum-consistency(7)). */
#define ATTR_VALID_S 1U
#define DIR_VALID_S 1U
#define LEASE_NS NSEC_PER_SEC

/* Lets the kernel cache the name and its attributes for the rest of the lease. */
static void entry_set_lease(struct fuse_entry_out *entry, uint64_t age_ns)
{
	uint64_t left_ns = age_ns < LEASE_NS ? LEASE_NS - age_ns : 0;

	if (left_ns == 0)
		return;
	entry->entry_valid = entry->attr_valid = left_ns / NSEC_PER_SEC;
	entry->entry_valid_nsec = entry->attr_valid_nsec = (uint32_t)(left_ns % NSEC_PER_SEC);
}

static uint64_t valid_ns(const struct fuse_entry_out *entry)
{
	return MIN_OF(entry->entry_valid * NSEC_PER_SEC + entry->entry_valid_nsec,
		      entry->attr_valid * NSEC_PER_SEC + entry->attr_valid_nsec);
}

/*
 * Returns whether the kernel needs no entry for this node. The entries of a READDIRPLUS answer save
 * the kernel lookups of files that it has not cached. If the kernel has already cached everything
 * about a leased file, a new entry has a disadvantage: the kernel drops other data that it has
 * cached, such as ACLs, and requests these again one by one.
 */
static bool entry_is_cached(const struct fuse_client *f, const struct client_slot *s,
			    const struct client_node *node, uint64_t now_ns)
{
	return s->opcode == FUSE_READDIRPLUS && client_cache_kernel_valid(&f->cache, node, now_ns);
}

/* Records the lease on the file. If its attributes are not those of the content that the kernel may
 * have cached, the file has changed since. */
static void lease_note(struct fuse_client *f, struct client_node *node,
		       const struct fuse_attr *attr, uint64_t sent_ns)
{
	struct client_stamp now = client_stamp_of(attr);

	if (client_node_has_stamp(node) && memcmp(&now, &node->stamp, sizeof(now)) != 0)
		client_node_unstamp(node);
	client_cache_lease_set(&f->cache, node, sent_ns);
}

int client_entry_take(struct fuse_client *f, const struct client_slot *s, struct client_answer *a,
		      struct fuse_entry_out *entry, struct client_node **ret)
{
	bool no_xattrs = entry->generation & FUSE_PROTO_NO_XATTRS;
	bool is_leased = entry->generation & FUSE_PROTO_LEASED;
	bool is_empty = entry->generation & FUSE_PROTO_EMPTY;
	uint64_t now_ns = s->arrived_ns + a->age_ns;
	struct client_handle h;
	struct client_node *node;

	entry->generation = 0;
	entry->entry_valid = entry->attr_valid = 0;
	entry->entry_valid_nsec = entry->attr_valid_nsec = 0;
	if (entry->nodeid == 0) {
		*ret = NULL;
		return 0;
	}
	if (!client_answer_handle(a, &h) || !client_attr_is_valid(&entry->attr))
		return -EIO;
	node = client_node_of(&f->nodes, h.bytes, h.len);
	if (!node)
		return -ENOMEM;
	if (node->n_lookups == 0 && node->n_pins == 0)
		client_cache_reset_node(&f->cache, node);
	client_cache_written_drop(&f->cache, node);
	is_leased = is_leased && !S_ISDIR(entry->attr.mode) && !client_slot_is_resent(s);
	client_cache_no_xattrs_set(&f->cache, node, no_xattrs && !client_slot_is_resent(s),
				   s->arrived_ns);
	if (is_leased) {
		lease_note(f, node, &entry->attr, s->arrived_ns);
		client_kept_files_named(f, s, node);
	}
	if (is_leased && entry_is_cached(f, s, node, now_ns)) {
		entry->nodeid = 0;
		*ret = NULL;
		return 0;
	}
	client_node_looked_up(node);
	client_node_seen(node, &entry->attr);
	entry->nodeid = client_node_id(&f->nodes, node);
	if (entry->nodeid != FUSE_ROOT_ID)
		entry->generation = f->state.head->generation;
	entry->attr_valid = ATTR_VALID_S;
	entry->entry_valid = S_ISDIR(entry->attr.mode) ? DIR_VALID_S : 0;
	if (is_leased) {
		entry_set_lease(entry, a->age_ns);
		client_cache_kernel_valid_set(&f->cache, node, now_ns + valid_ns(entry));
	}
	if (is_empty && s->opcode == FUSE_MKDIR && !client_slot_is_resent(s))
		client_cache_empty_dir_set(&f->cache, node, s->arrived_ns);
	*ret = node;
	return 0;
}

void client_entry_prefetched(struct fuse_client *f, struct client_prefetch *l, bool special,
			     struct fuse_entry_out *entry)
{
	const struct client_slot as = {.opcode = FUSE_READDIRPLUS, .arrived_ns = l->sent_ns};
	bool leased = entry->generation & FUSE_PROTO_LEASED, dir = S_ISDIR(entry->attr.mode);
	struct client_handle skipped;
	struct client_node *node;

	if (entry->nodeid == 0)
		return;
	/* Return only the name of a file without a lease: when a program uses such a file, the
	 * kernel looks it up in any case. */
	if (special || !(dir || leased) || !client_attr_is_valid(&entry->attr)) {
		(void)client_answer_handle(&l->a, &skipped);
		entry->nodeid = 0;
		return;
	}
	if (client_entry_take(f, &as, &l->a, entry, &node) < 0 || entry->nodeid == FUSE_ROOT_ID)
		entry->nodeid = 0;
	if (entry->nodeid == 0)
		return;
	/* The kernel may have newer attributes of this node than the prefetched entry contains:
	 * in a later answer, or from a mount worker that has not yet reported this to this
	 * worker. */
	if (client_shown_since(f, node, l->n_shown) || client_dispatch_has_pending(f, node)) {
		client_cache_kernel_valid_drop(&f->cache, node);
		client_node_forget(&f->nodes, node, 1);
		entry->nodeid = 0;
		return;
	}
	entry->entry_valid = entry->attr_valid = 0;
	entry_set_lease(entry, l->a.age_ns);
}

void client_entries_undo(struct fuse_client *f, const struct client_answer *a)
{
	size_t off = 0, at;
	bool special;

	while (client_direntplus_next(a->body, a->body_len, &off, &at, &special) > 0) {
		struct fuse_entry_out entry;
		struct client_node *node;

		memcpy(&entry, a->body + at, sizeof(entry));
		node = entry.nodeid ? client_node_get(&f->nodes, entry.nodeid) : NULL;
		if (node)
			client_node_forget(&f->nodes, node, 1);
	}
}
