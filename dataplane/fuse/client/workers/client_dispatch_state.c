/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions by which other folders of the client read and change the owner's data about its mount
 * workers. */
#include "dataplane/fuse/client/workers/client_workers.h"

static void post(const struct client_dispatch *d, struct client_worker *w, uint64_t *bits,
		 unsigned i)
{
	/* Pairs with client_mount_worker_pull(): the mount worker sets `asleep`, then checks the
	 * bits. This function sets a bit, then checks `asleep`. So either the mount worker sees the
	 * bit, or the owner sees `asleep` and rings the bell, once. */
	__atomic_fetch_or(bits, 1ULL << i, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (mount_worker_get(&w->area->asleep) &&
	    __atomic_exchange_n(&w->area->asleep, 0U, __ATOMIC_SEQ_CST))
		mount_worker_ring(d->bell_fd);
}

void client_dispatch_notify(struct fuse_client *f, struct client_worker *w, unsigned i)
{
	if (i < MOUNT_WORKER_SLOTS)
		post(f->dispatch, w, &w->area->posted, i);
	else
		post(f->dispatch, w, &w->reads->posted, i - MOUNT_WORKER_SLOTS);
}

bool client_dispatch_by_rdma(const struct fuse_client *f)
{
	return f->rdma.only || (f->rdma.peer && port_rdma_ready(f->rdma.peer));
}

static bool place_has(const struct client_worker *w, unsigned k)
{
	return mount_worker_get(&mount_worker_note_at(w->reads, w->more, k)->out) > 0 ||
	       mount_worker_get(mount_worker_noted_at(w->reads, w->more, k)) >> k % 64 & 1;
}

static bool has_noted(const struct client_worker *w, uint64_t nodeid)
{
	if (PLENUM_LIKELY(mount_worker_get(&w->reads->n_read) ==
			  0)) /* a quick check, because this function runs at each stat(2) for each
				 mount worker */
		return false;
	for (unsigned k = 0; k < MOUNT_WORKER_FILES; k++)
		if (w->nodeids[k] == nodeid && place_has(w, k))
			return true;
	return false;
}

static bool mount_worker_has(const struct fuse_client *f, const struct client_worker *w,
			     const struct client_node *node)
{
	for (unsigned i = 0; i < MOUNT_WORKER_SLOTS_ALL && w->n_out > 0; i++) {
		const struct client_slot *s = w->slots[i];

		/* A request without a slot here comes from a predecessor, and its node is
		 * unknown. */
		if (s ? s->nodes[0] == node : i < MOUNT_WORKER_SLOTS && !(w->free & 1ULL << i))
			return true;
	}
	return f->dispatch->n_nodeids[client_dispatch_nodeids_at(client_node_id(&f->nodes, node))] >
		       0 &&
	       has_noted(w, client_node_id(&f->nodes, node));
}

bool client_dispatch_has_pending(const struct fuse_client *f, const struct client_node *node)
{
	for (unsigned i = 0; f->dispatch && i < LAUNCH_MOUNT_WORKERS_MAX; i++)
		if (mount_worker_has(f, &f->dispatch->workers[i], node))
			return true;
	return false;
}

void client_dispatch_cancel(struct fuse_client *f, const struct client_slot *s)
{
	const struct client_worker *w;
	struct mount_worker_slot *slot;

	if (s->state != CLIENT_SLOT_DISPATCHED)
		return;
	w = &f->dispatch->workers[(s->worker_slot - 1) / MOUNT_WORKER_SLOTS_ALL];
	slot = mount_worker_slot_at(w->area, w->reads,
				    (s->worker_slot - 1) % MOUNT_WORKER_SLOTS_ALL);
	__atomic_fetch_or(&slot->word, MOUNT_WORKER_CANCELLED, __ATOMIC_ACQ_REL);
}

static void place_close(struct fuse_client *f, struct client_worker *w, unsigned i, uint64_t fh)
{
	if (w->fhs[i] != fh)
		return;
	w->fhs[i] = 0;
	mount_worker_set(&mount_worker_file_at(w->area, w->more, i)->state,
			 MOUNT_WORKER_FILE_CLOSING);
	post(f->dispatch, w, &w->area->closing, i % 64);
}

void client_dispatch_close(struct fuse_client *f, uint64_t fh)
{
	for (unsigned k = 0; f->dispatch && k < LAUNCH_MOUNT_WORKERS_MAX; k++) {
		struct client_worker *w = &f->dispatch->workers[k];

		for (unsigned way = 0; way < MOUNT_WORKER_FILE_WAYS; way++)
			place_close(f, w, mount_worker_file_place(fh, way), fh);
	}
}

void client_dispatch_report_served(struct fuse_client *f)
{
	uint32_t served = f->link == CLIENT_READY && f->features & FUSE_PROTO_FEATURE_MOUNT_WORKERS;

	if (!f->dispatch ||
	    mount_worker_get(&f->dispatch->workers[LAUNCH_MOUNT_WORKERS_MAX - 1].area->served) ==
		    served)
		return;
	for (unsigned i = 0; i < LAUNCH_MOUNT_WORKERS_MAX; i++)
		mount_worker_set(&f->dispatch->workers[i].area->served, served);
	mount_worker_ring(f->dispatch->bell_fd);
}

void client_dispatch_report_unmounted(struct fuse_client *f)
{
	/* Ring the bell only after a change, because the bell wakes this worker too. */
	if (!f->dispatch ||
	    mount_worker_get(&f->dispatch->workers[LAUNCH_MOUNT_WORKERS_MAX - 1].area->unmounted))
		return;
	for (unsigned i = 0; i < LAUNCH_MOUNT_WORKERS_MAX; i++)
		mount_worker_set(&f->dispatch->workers[i].area->unmounted, 1U);
	mount_worker_ring(f->dispatch->bell_fd);
}
