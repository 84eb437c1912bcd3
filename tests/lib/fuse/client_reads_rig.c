/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements client_reads_rig.h. */
#include "tests/lib/fuse/client_reads_rig.h"

void both_map(struct both *b)
{
	int fd = b->e.g->cfg->mounts[0].state_fd;

	b->common = mount_worker_common_map(fd);
	b->reads = mount_worker_reads_map(fd, 1);
	b->more = mount_worker_more_map(fd, 1);
	assert_non_null(b->common);
	assert_non_null(b->reads);
	assert_non_null(b->more);
	read_size = 4096;
}

void both_down(struct both *b)
{
	mount_worker_reads_unmap(b->reads);
	mount_worker_more_unmap(b->more);
	mount_worker_common_unmap(b->common);
	ends_down(&b->e);
	read_size = 64U << 10;
}

uint32_t word_of(const struct both *b, unsigned i)
{
	return b->reads->slots[i].word;
}

void pull(struct both *b)
{
	fuse_client_pull(b->e.g->f, true, b->e.g->now_ns);
}

uint64_t send_read(struct both *b)
{
	struct rig *g = b->e.g;

	kernel_send_to(g, FUSE_READ, g->unique += 2, b->e.node, read_of(b->e.fh, 0),
		       sizeof(struct fuse_read_in));
	return g->unique;
}

void send_write(struct both *b, uint32_t flags)
{
	struct {
		struct fuse_write_in in;
		char data[8];
	} w = {.in = {.fh = b->e.fh, .size = 8, .flags = flags}, .data = "thedata"};

	kernel_send_to(b->e.g, FUSE_WRITE, b->e.g->unique += 2, b->e.node, &w,
		       sizeof(w.in) + sizeof(w.data));
}

uint64_t send_getattr(struct both *b)
{
	struct fuse_getattr_in in = {.getattr_flags = FUSE_GETATTR_FH, .fh = b->e.fh};

	kernel_send_to(b->e.g, FUSE_GETATTR, b->e.g->unique += 2, b->e.node, &in, sizeof(in));
	return b->e.g->unique;
}

void expect_read(struct both *b, uint64_t unique)
{
	struct fuse_out_header out;
	char data[8];

	assert_true(kernel_receive(b->e.g, &out, data, sizeof(data)) > 0);
	assert_true(out.unique == unique);
	assert_int_equal(out.error, 0);
}

uint64_t left_reading(struct both *b, unsigned i, uint32_t populated)
{
	struct {
		struct fuse_in_header h;
		struct fuse_read_in in;
	} req = {.h = {.len = sizeof(req), .opcode = FUSE_READ, .nodeid = b->e.node},
		 .in = {.fh = b->e.fh, .size = 4096}};

	req.h.unique = b->e.g->unique += 2;
	memcpy(mount_worker_reads_buf(b->reads, i), &req, sizeof(req));
	b->reads->populated[i] = populated;
	b->reads->slots[i].word = MOUNT_WORKER_READING;
	return req.h.unique;
}
