/* SPDX-License-Identifier: BSD-3-Clause */
/* Begins the requests that a mount worker gets. In each request, it replaces the numbers that the
 * owner uses for nodes and files by the numbers that this mount worker uses. */
#include "dataplane/fuse/client/workers/client_workers.h"

#include <string.h>

#define RESEND FUSE_PROTO_UNIQUE_RESEND

static struct client_file *file_of(const struct fuse_client *f, const struct mount_worker_file *lf)
{
	/* Read the value only once, because a process that shares this memory may change it. */
	const uint32_t number = mount_worker_get(&lf->client_file);
	struct client_file *file;
	const struct client_node *node;

	if (number == 0 || number > f->state.head->n_files)
		return NULL;
	file = client_file_at(&f->files, number - 1);
	if (!(file->flags & CLIENT_FILE_USED) || file->flags & CLIENT_FILE_CLOSING)
		return NULL;
	/* Compare the record, because another file may use it now. */
	node = client_node_get(&f->nodes, file->nodeid);
	return node && node->handle_len == lf->handle_len &&
			       memcmp(node->handle, lf->handle, node->handle_len) == 0
		       ? file
		       : NULL;
}

/* Returns this mount worker's own file for an entry of the shared table, and opens the file at the
 * server if necessary. Returns NULL if it cannot be opened. */
static struct client_file *file_make(struct fuse_client *f, struct mount_worker_file *lf)
{
	const struct client_file as = {
		.open_flags = lf->open_flags, .uid = lf->uid, .gid = lf->gid};
	struct client_node *node;
	struct client_file *file = file_of(f, lf);
	uint8_t len = mount_worker_get(&lf->handle_len);

	if (file || len == 0 || len > FUSE_PROTO_HANDLE_MAX)
		return file;
	node = client_node_of(&f->nodes, lf->handle, len);
	file = node ? client_file_new(&f->files, node, &as) : NULL;
	if (file)
		client_publish(&lf->client_file, client_file_index(&f->files, file) + 1);
	else if (node)
		client_node_settle(&f->nodes, node);
	return file;
}

static void file_close(struct fuse_client *f, struct mount_worker_file *lf, uint64_t now_ns)
{
	struct client_file *file = file_of(f, lf);

	if (file) {
		if (f->files.n_closing == 0)
			f->closing_ns = now_ns;
		client_file_close(&f->files, file);
	}
	lf->client_file = 0;
	mount_worker_set(&lf->state, MOUNT_WORKER_FILE_FREE);
}

void client_mount_worker_files_close(struct fuse_client *f, uint64_t now_ns)
{
	uint64_t bits = mount_worker_get(&f->area->closing);

	if (PLENUM_LIKELY(bits == 0))
		return;
	/* Pairs with client_dispatch_close(): the owner sets the file's state to CLOSING before it
	 * sets the bit. So this process sees the changed states of each bit that it takes here. */
	bits = __atomic_exchange_n(&f->area->closing, 0, __ATOMIC_SEQ_CST);
	for (; bits; bits &= bits - 1)
		for (unsigned k = (unsigned)__builtin_ctzll(bits); k < MOUNT_WORKER_FILES;
		     k += 64) {
			struct mount_worker_file *lf = mount_worker_file_at(f->area, f->more, k);

			if (mount_worker_get(&lf->state) == MOUNT_WORKER_FILE_CLOSING)
				file_close(f, lf, now_ns);
		}
}

void client_mount_worker_files_sweep(struct fuse_client *f)
{
	for (uint32_t i = 0; i < f->state.head->n_files; i++) {
		struct client_file *file = client_file_at(&f->files, i);
		bool named = false;

		if (!(file->flags & CLIENT_FILE_USED) || file->flags & CLIENT_FILE_CLOSING)
			continue;
		for (unsigned k = 0; k < MOUNT_WORKER_FILES && !named; k++) {
			const struct mount_worker_file *lf =
				mount_worker_file_at(f->area, f->more, k);

			named = lf->client_file == i + 1 &&
				mount_worker_get(&lf->state) != MOUNT_WORKER_FILE_FREE;
		}
		if (!named)
			client_file_close(&f->files, file);
	}
}

/* Replaces the owner's numbers in the request by this worker's numbers. If the request may have
 * been sent before, sets the RESEND bit, which informs the server. */
static int slot_bind(struct fuse_client *f, struct client_slot *s, bool again)
{
	struct mount_worker_slot *slot = client_mount_worker_slot_of(f, s);
	struct mount_worker_file *lf = mount_worker_file_at(f->area, f->more, slot->file);
	const size_t fh_at = sizeof(struct fuse_in_header) + offsetof(struct fuse_read_in, fh);
	struct client_file *file;
	struct fuse_in_header in;
	uint64_t fh;
	int r;

	_Static_assert(offsetof(struct fuse_read_in, fh) == offsetof(struct fuse_write_in, fh),
		       "READ and WRITE have the file handle at the same offset");
	if (s->req_len < FUSE_PROTO_WRITE_DATA || lf->fh != slot->fh ||
	    mount_worker_get(&lf->state) != MOUNT_WORKER_FILE_OPEN)
		return -ESTALE;
	file = file_make(f, lf);
	if (!file)
		return -ENOMEM;
	memcpy(&in, s->req, sizeof(in));
	in.nodeid = file->nodeid;
	in.unique = slot->unique | (again ? RESEND : 0);
	memcpy(s->req, &in, sizeof(in));
	fh = client_file_fh(&f->files, file);
	memcpy(s->req + fh_at, &fh, sizeof(fh));
	r = client_request_bind(f, s);
	s->unique = slot->unique;
	/* Notifications to the kernel use the owner's node number. */
	s->refs.nodeids[0] = slot->nodeid;
	return r;
}

void client_mount_worker_take(struct fuse_client *f, unsigned i, bool again, uint64_t now_ns)
{
	struct mount_worker_slot *slot = mount_worker_slot_at(f->area, f->reads, i);
	uint32_t len = mount_worker_get(&slot->len);
	struct client_slot *s;
	int r;

	/* The buffer has space for the tail behind the request. */
	s = client_slot_borrow(f, mount_worker_buf_at(f->area, f->reads, i),
			       MIN_OF(len, CLIENT_POOL_BUF_BYTES - FUSE_PROTO_REQ_TAIL_MAX),
			       now_ns);
	s->worker_slot = i + 1;
	r = slot_bind(f, s, again || slot->unique & RESEND);
	client_slot_queue(f, s);
	if (r == 0 || (!again && client_mount_worker_return(s))) {
		if (r < 0)
			client_slot_free(f, s);
		return;
	}
	client_slot_fail(f, s, r);
}

/* Sends a predecessor's reply to the kernel again. The kernel rejects it if the kernel has
 * already accepted that reply. */
static void slot_repeat_reply(struct fuse_client *f, unsigned i, uint64_t now_ns)
{
	struct mount_worker_slot *slot = mount_worker_slot_at(f->area, f->reads, i);
	struct client_slot *s =
		client_slot_borrow(f, mount_worker_buf_at(f->area, f->reads, i), 0, now_ns);
	struct fuse_out_header out;

	s->worker_slot = i + 1;
	s->unique = slot->unique;
	client_mount_worker_renumber(f, s);
	memcpy(&out, slot->reply, sizeof(out));
	out.unique = s->unique;
	memcpy(slot->reply, &out, sizeof(out));
	s->accepted = client_reply(f, slot->reply, MIN_OF(out.len, (uint32_t)sizeof(slot->reply)));
	client_slot_free(f, s);
}

bool client_mount_worker_takes_new(const struct fuse_client *f)
{
	return f->link == CLIENT_READY && f->features & FUSE_PROTO_FEATURE_MOUNT_WORKERS &&
	       !f->finishing && !f->quiescing && !f->unmounted;
}

bool client_mount_worker_look(struct fuse_client *f, unsigned i, uint64_t now_ns)
{
	struct mount_worker_slot *slot = mount_worker_slot_at(f->area, f->reads, i);
	uint32_t word;

	if (!f->free)
		return false;
	do { /* the owner takes back a request in mount_worker_take_back() by a swap of the same
		word, so only one of the two swaps succeeds */
		word = mount_worker_get(&slot->word);
		if (MOUNT_WORKER_STATE(word) != MOUNT_WORKER_DISPATCHED)
			return true;
	} while (!mount_worker_swap(&slot->word, word, (word & ~0xffU) | MOUNT_WORKER_TAKEN));
	if (i >= MOUNT_WORKER_SLOTS)
		client_mount_worker_read_begin(f, i - MOUNT_WORKER_SLOTS);
	if (word & MOUNT_WORKER_REPLIED)
		slot_repeat_reply(f, i, now_ns);
	else
		client_mount_worker_take(f, i, false, now_ns);
	return true;
}

void client_mount_worker_resume(struct fuse_client *f, unsigned i, uint64_t now_ns)
{
	if (mount_worker_get(&mount_worker_slot_at(f->area, f->reads, i)->word) &
	    MOUNT_WORKER_REPLIED)
		slot_repeat_reply(f, i, now_ns);
	else
		client_mount_worker_take(f, i, true, now_ns);
}
