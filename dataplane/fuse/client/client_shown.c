/* SPDX-License-Identifier: BSD-3-Clause */
/* Records when the kernel last got attributes of each node, so that the client does not send older
 * attributes from a prefetch. */
#include "dataplane/fuse/client/fuse_client_internal.h"

void client_shown_note_all(struct fuse_client *f)
{
	f->prefetch.n_shown_all = ++f->prefetch.n_shown;
}

void client_shown_note(struct fuse_client *f, uint64_t nodeid)
{
	const struct client_node *node = client_node_get(&f->nodes, nodeid);

	if (!node)
		client_shown_note_all(f);
	else
		f->prefetch.shown[node - f->state.nodes] = ++f->prefetch.n_shown;
}

static uint64_t *forgotten_of(const struct fuse_client *f, const struct client_node *node)
{
	uint64_t hash = client_node_hash(&f->nodes, node->handle, node->handle_len);

	return (uint64_t *)&f->prefetch.forgotten[hash % CLIENT_FORGOTTEN];
}

/* Call when the kernel forgets a node. The record will be used for another node. If the kernel got
 * attributes of the node during the last CLIENT_SHOWN_MAX events, stores the current count of
 * events under the hash of the node's handle. An older count is unnecessary, because the client
 * does not use a prefetch that is older than CLIENT_SHOWN_MAX events. */
void client_shown_forgotten(struct fuse_client *f, const struct client_node *node)
{
	uint64_t shown = f->prefetch.shown[node - f->state.nodes];

	if (shown != 0 && f->prefetch.n_shown - shown < CLIENT_SHOWN_MAX)
		*forgotten_of(f, node) = ++f->prefetch.n_shown;
}

bool client_shown_since(const struct fuse_client *f, const struct client_node *node,
			uint64_t n_shown)
{
	return f->prefetch.n_shown_all > n_shown ||
	       f->prefetch.shown[node - f->state.nodes] > n_shown ||
	       *forgotten_of(f, node) > n_shown;
}
