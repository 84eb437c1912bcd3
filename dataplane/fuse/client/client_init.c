/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Negotiates with the kernel once per mount (INIT), and composes the INIT request that begins each
 * session with a server.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <string.h>

int client_init_resend(struct fuse_client *f)
{
	struct fuse_out_header out = {
		/* `unique` 0 marks a notification, whose code is in `error` */
		.len = sizeof(out),
		.error = FUSE_PROTO_NOTIFY_RESEND,
	};

	return write(f->fd, &out, sizeof(out)) == (ssize_t)sizeof(out) ? 0 : -errno;
}

static void init_write(struct fuse_client *f, uint64_t unique, const struct fuse_init_out *init)
{
	struct {
		struct fuse_out_header out;
		struct fuse_init_out init;
	} reply = {.out = {.len = sizeof(reply), .unique = unique}, .init = *init};

	(void)client_reply(f, &reply, sizeof(reply));
}

/* Answers the kernel's INIT request of len bytes: stores the negotiated parameters in the mount's
 * state, then replies. */
static void init_answer(struct fuse_client *f, const void *req, size_t len)
{
	struct fuse_in_header h;
	struct fuse_init_in in = {0};
	struct fuse_init_out out = {.major = FUSE_PROTO_MAJOR, .minor = FUSE_PROTO_MINOR_MAX};
	struct client_head *head = f->state.head;
	uint64_t offered, flags;

	memcpy(&h, req, sizeof(h));
	memcpy(&in, (const uint8_t *)req + sizeof(h), MIN_OF(len - sizeof(h), sizeof(in)));
	if (in.major > FUSE_PROTO_MAJOR) { /* reply with this client's major version only: the
					      kernel then sends another INIT with that version */
		init_write(f, h.unique, &out);
		return;
	}
	if (len < sizeof(h) + 16 || in.major != FUSE_PROTO_MAJOR ||
	    in.minor < FUSE_PROTO_MINOR_MIN) {
		client_reply_error(f, h.unique, -EPROTO);
		return;
	}
	offered = in.flags;
	if (in.flags & FUSE_INIT_EXT)
		offered |= (uint64_t)in.flags2 << 32;
	flags = offered & FUSE_PROTO_FLAGS;
	/* Store the parameters before the kernel gets them: a successor must never know less than
	 * the kernel. */
	head->minor = MIN_OF(in.minor, FUSE_PROTO_MINOR_MAX);
	head->flags = flags;
	head->max_readahead = MIN_OF(in.max_readahead, FUSE_PROTO_MAX_READAHEAD);
	head->kernel = CLIENT_KERNEL_FLUSHES;
	head->kernel |= offered & FUSE_PROTO_DIRECT_IO_MMAP ? CLIENT_KERNEL_DIRECT_MMAP : 0;
	client_publish(&head->negotiated, 1);
	/* Make the kernel pass each lock request to this worker, which sends it to the server
	 * (locks: cluster) or refuses it (locks: none). */
	if (f->mount->locks != LAUNCH_LOCKS_LOCAL)
		flags |= offered & (FUSE_POSIX_LOCKS | FUSE_FLOCK_LOCKS);
	/* FUSE_PROTO_DIRECT_IO_MMAP lets programs map files that bypass the page cache. */
	flags |= offered & FUSE_PROTO_DIRECT_IO_MMAP;
	out.minor = head->minor;
	out.max_readahead = head->max_readahead;
	out.flags = (uint32_t)flags;
	out.flags2 = (uint32_t)(flags >> 32);
	out.max_background = FUSE_PROTO_MAX_BACKGROUND;
	out.congestion_threshold = FUSE_PROTO_MAX_BACKGROUND * 3 / 4;
	out.max_write = FUSE_PROTO_MAX_WRITE;
	out.time_gran = 1;
	out.max_pages = FUSE_PROTO_MAX_PAGES;
	init_write(f, h.unique, &out);
	f->flush_wanted = true;
}

static bool init_take(struct fuse_client *f, const struct fuse_in_header *in, size_t n,
		      uint64_t now_ns)
{
	(void)in;
	(void)now_ns;
	init_answer(f, f->request, n);
	return true;
}

const struct client_stage client_init_stage = {
	.opcodes = CLIENT_STAGE_OPCODE(FUSE_INIT),
	.take = init_take,
};

void client_init_compose(const struct fuse_client *f, struct client_init_msg *ret)
{
	const struct client_head *head = f->state.head;
	const bool locks = client_locks_wanted(f) && head->flags & FUSE_PROTO_HAS_RESEND;
	/* A client with mount workers does not use leases on the names in a directory. So it must
	 * not request any, because they would only delay other clients. */
	const uint32_t unused =
		(f->dispatch || f->area ? FUSE_PROTO_FEATURE_NAMES : 0) |
		(locks ? 0 : FUSE_PROTO_FEATURE_LOCKS | FUSE_PROTO_FEATURE_RECLAIM) |
		(f->write_back.held.map ? 0 : FUSE_PROTO_FEATURE_WRITE_BACK);

	*ret = (struct client_init_msg){
		.in = {.len = offsetof(struct client_init_msg, tail), .opcode = FUSE_INIT},
		.init = {.major = FUSE_PROTO_MAJOR,
			 .minor = head->minor,
			 .max_readahead = head->max_readahead,
			 .flags = (uint32_t)head->flags,
			 .flags2 = (uint32_t)(head->flags >> 32),
			 .unused = {FUSE_PROTO_FEATURES & ~unused}},
	};
}

int client_init_served(struct fuse_client *f, void *msg, size_t len)
{
	struct client_head *head = f->state.head;
	struct fuse_init_out init = {0};
	struct client_handle root;
	uint64_t epoch = 0;
	bool reclaims = false;
	struct client_answer a;
	int r = client_answer_read(msg, len, &a);

	if (r < 0 || a.out.error != 0)
		return r < 0 ? r : a.out.error;
	/* Refuse incarnation 0, because this value marks files that are being reopened. */
	if (!a.has_server || a.server.incarnation == 0 || a.n_handles != 1 ||
	    !client_answer_handle(&a, &root))
		return -EPROTO;
	client_node_root(&f->nodes, root.bytes, root.len);
	client_sync(f); /* the lost data may include writes of mount workers, so record these
			   first */
	if (head->served && head->verifier != a.server.verifier)
		client_nodes_lose(&f->nodes);
	client_publish(&head->verifier, a.server.verifier);
	client_publish(&head->served, 1);
	client_cache_clear(&f->cache);
	memcpy(&init, a.body, MIN_OF(a.body_len, sizeof(init)));
	f->features = init.unused[0] & FUSE_PROTO_FEATURES;
	if (f->features & FUSE_PROTO_FEATURE_LOCKS)
		epoch = init.unused[FUSE_PROTO_INIT_EPOCH] |
			(uint64_t)init.unused[FUSE_PROTO_INIT_EPOCH + 1] << 32;
	if (f->features & FUSE_PROTO_FEATURE_RECLAIM)
		reclaims = init.unused[FUSE_PROTO_INIT_RECLAIM] == 1;
	client_locks_served(f, epoch, reclaims);
	f->server = a.server;
	return 0;
}
