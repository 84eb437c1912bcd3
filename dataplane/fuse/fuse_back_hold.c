/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open files that are about to lose their last name: the agent is asked to hold them, so that their
 * handles stay good over this process's death.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include "netcfg/base/log.h"

/*
 * The state says that a node is held before the agent is asked and until after it was told to let
 * go, so whenever the process dies its successor finds all that the agent may hold. Asking twice,
 * and letting go of what is not held, do no harm.
 */
void back_hold(struct back_mount *m, uint64_t nodeid)
{
	struct back_node *extra;
	struct state_node *rec = back_node_get(m, nodeid, &extra);
	int fd;

	if (!rec || extra->n_open == 0 || rec->flags & (STATE_NODE_HELD | STATE_NODE_KEPT))
		return;
	fd = back_node_fd(m, nodeid);
	if (fd < 0)
		return;
	state_publish(&rec->flags, (uint8_t)(rec->flags | STATE_NODE_HELD));
	if (!m->back->hold(m->back->hold_user, m->slot, nodeid, fd))
		log_debug("an open file without a name would not outlive this process");
}

void back_hold_name(struct back_mount *m, int dirfd, const char *name)
{
	uint64_t nodeid;

	if (m->n_open == 0)
		return;
	nodeid = back_node_last_name(m, dirfd, name);
	if (nodeid)
		back_hold(m, nodeid);
}

/* What the former agent held went with it, unless the service manager has kept it. */
void fuse_back_hold_again(struct fuse_back *b)
{
	for (unsigned i = 0; i < STATE_MOUNTS_MAX; i++) {
		struct back_mount *m = b->mounts[i];

		for (uint64_t id = 0; m && (id = back_node_next_held(m, id));) {
			int fd = back_node_fd(m, id);

			if (fd >= 0 && !b->hold(b->hold_user, m->slot, id, fd))
				return; /* the agent does not read */
		}
	}
}

static bool hold_drop(struct fuse_back *b, uint32_t mount, uint64_t nodeid)
{
	return b->hold(b->hold_user, mount, nodeid, -1);
}

void back_unhold(struct back_mount *m, uint64_t nodeid)
{
	struct state_node *rec = back_node_get(m, nodeid, NULL);
	struct fuse_back *b = m->back;

	if (!rec || !(rec->flags & STATE_NODE_HELD))
		return;
	if (hold_drop(b, m->slot, nodeid)) {
		state_publish(&rec->flags, (uint8_t)(rec->flags & ~STATE_NODE_HELD));
	} else if (b->n_drops < BACK_DROPS_MAX) {
		b->drops[b->n_drops].mount = m->slot;
		b->drops[b->n_drops++].node = nodeid;
	}
}

void back_unhold_mount(struct back_mount *m, bool all)
{
	struct back_node *extra;

	for (uint64_t id = 0; (id = back_node_next_held(m, id));)
		if (all || (back_node_get(m, id, &extra) && extra->n_open == 0))
			back_unhold(m, id);
}

void back_drops_retry(struct fuse_back *b)
{
	for (; b->n_drops > 0; b->n_drops--) {
		uint32_t mount = b->drops[b->n_drops - 1].mount;
		uint64_t node = b->drops[b->n_drops - 1].node;
		struct back_node *extra;
		struct state_node *rec =
			b->mounts[mount] ? back_node_get(b->mounts[mount], node, &extra) : NULL;

		if (rec && extra->n_open > 0)
			continue; /* opened again, so it stays held */
		if (!hold_drop(b, mount, node))
			return;
		if (rec)
			state_publish(&rec->flags, (uint8_t)(rec->flags & ~STATE_NODE_HELD));
	}
}
