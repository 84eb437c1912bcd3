/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the mount negotiates with its kernel, once in its life, and what a successor must know of
 * it.
 */
#include "dataplane/fuse/fuse_front_internal.h"

#include <string.h>

/* What the state descriptor says must fit the mount it was made for, else it is another's. */
int front_state_load(struct fuse_front *f, const struct launch_mount *m)
{
	struct front_state st;
	ssize_t n = pread(f->state_fd, &st, sizeof(st), f->state_off);

	if (n < 0)
		return -errno;
	if (n == (ssize_t)sizeof(st) && st.magic == FRONT_STATE_MAGIC && st.size == sizeof(st) &&
	    memcmp(st.mount_id, m->id, sizeof(st.mount_id)) == 0 &&
	    (st.flags & ~FUSE_PROTO_FLAGS) == 0) {
		f->kept = st;
		return 1;
	}
	f->kept = (struct front_state){.magic = FRONT_STATE_MAGIC, .size = sizeof(f->kept)};
	memcpy(f->kept.mount_id, m->id, sizeof(f->kept.mount_id));
	return front_state_store(f);
}

int front_state_store(const struct fuse_front *f)
{
	struct front_state st = f->kept;
	ssize_t n = pwrite(f->state_fd, &st, sizeof(st), f->state_off);

	if (n < 0)
		return -errno;
	return n == (ssize_t)sizeof(f->kept) ? 0 : -EIO;
}

int front_state_resend(struct fuse_front *f)
{
	struct fuse_out_header out = {
		.len = sizeof(out),
		.error = FUSE_PROTO_NOTIFY_RESEND, /* unique 0: a notification, error its code */
	};

	return write(f->fd, &out, sizeof(out)) == (ssize_t)sizeof(out) ? 0 : -errno;
}

static void init_write(struct fuse_front *f, uint64_t unique, const struct fuse_init_out *init)
{
	struct {
		struct fuse_out_header out;
		struct fuse_init_out init;
	} reply = {.out = {.len = sizeof(reply), .unique = unique}, .init = *init};
	ssize_t n = write(f->fd, &reply, sizeof(reply));

	if (n < 0 && errno == ENODEV)
		f->gone = true;
}

void front_init_answer(struct fuse_front *f, const void *req, size_t len)
{
	struct fuse_in_header h;
	struct fuse_init_in in = {0};
	struct fuse_init_out out = {.major = FUSE_PROTO_MAJOR, .minor = FUSE_PROTO_MINOR_MAX};
	uint64_t offered, flags;

	memcpy(&h, req, sizeof(h));
	memcpy(&in, (const uint8_t *)req + sizeof(h), MIN_OF(len - sizeof(h), sizeof(in)));
	if (in.major > FUSE_PROTO_MAJOR) { /* the kernel asks again with our major */
		init_write(f, h.unique, &out);
		return;
	}
	if (len < sizeof(h) + 16 || in.major != FUSE_PROTO_MAJOR ||
	    in.minor < FUSE_PROTO_MINOR_MIN) {
		front_reply_error(f, h.unique, -EPROTO);
		return;
	}
	offered = in.flags;
	if (in.flags & FUSE_INIT_EXT)
		offered |= (uint64_t)in.flags2 << 32;
	flags = offered & FUSE_PROTO_FLAGS;
	f->kept.minor = MIN_OF(in.minor, FUSE_PROTO_MINOR_MAX);
	f->kept.flags = flags;
	f->kept.max_readahead = MIN_OF(in.max_readahead, FUSE_PROTO_MAX_READAHEAD);
	f->kept.negotiated = 1;
	/* Stored before it is in force: a successor must never know less than the kernel. */
	if (front_state_store(f) < 0) {
		f->kept.negotiated = 0;
		front_reply_error(f, h.unique, -EIO);
		return;
	}
	out.minor = f->kept.minor;
	out.max_readahead = f->kept.max_readahead;
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

void front_init_compose(const struct fuse_front *f, struct front_init_msg *ret)
{
	*ret = (struct front_init_msg){
		.in = {.len = sizeof(*ret), .opcode = FUSE_INIT, .unique = 0},
		.init = {.major = FUSE_PROTO_MAJOR,
			 .minor = f->kept.minor,
			 .max_readahead = f->kept.max_readahead,
			 .flags = (uint32_t)f->kept.flags,
			 .flags2 = (uint32_t)(f->kept.flags >> 32)},
	};
}
