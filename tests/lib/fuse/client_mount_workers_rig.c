/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements client_mount_workers_rig.h. */
#include "tests/lib/fuse/client_mount_workers_rig.h"
#include <sys/eventfd.h>

uint32_t read_size = 64U << 10;

const struct fuse_read_in *read_of(uint64_t fh, uint64_t offset)
{
	static struct fuse_read_in in;

	in = (struct fuse_read_in){.fh = fh, .offset = offset, .size = read_size};
	return &in;
}

uint64_t ask_read(struct ends *e)
{
	e->g->unique += 2;
	kernel_send_to(e->g, FUSE_READ, e->g->unique, e->node, read_of(e->fh, 0),
		       sizeof(struct fuse_read_in));
	fuse_client_pull(e->g->f, true, e->g->now_ns);
	return e->g->unique;
}

uint32_t state_of(const struct ends *e, unsigned slot)
{
	return MOUNT_WORKER_STATE(e->area->slots[slot].word);
}

void mount_worker_says(struct ends *e, unsigned slot, uint32_t word)
{
	e->area->slots[slot].word = word;
	e->area->done |= 1ULL << slot;
}

void mount_worker_lives(struct ends *e)
{
	e->area->ready = 1;
	e->area->seen_ns = e->g->now_ns;
}

void owner_up(struct ends *e, struct rig *g)
{
	struct launch_mount *m = &g->cfg->mounts[0];
	struct fuse_out_header out;

	*e = (struct ends){.g = g};
	fuse_client_free(g->f);
	m->has_mount_workers = true;
	m->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	g->features |= FUSE_PROTO_FEATURE_MOUNT_WORKERS;
	client_start(g);
	assert_int_equal(said.purpose, FUSE_HELLO_MOUNT);
	/* the client asks the kernel to send again what the client's predecessor had received */
	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	bring_up(g);
	e->area = mount_worker_map(m->state_fd, 1);
	assert_non_null(e->area);
	e->node = lookup(g, "a", "handle-a");
	e->fh = open_file(g, e->node, 50);
}

void ends_down(struct ends *e)
{
	mount_worker_unmap(e->area);
	close(e->g->cfg->mounts[0].bell_fd);
}

/* ------------------------------------------------------------------ the mount worker's end */

void mount_worker_begin(struct ends *e)
{
	n_calls = 0;
	calls_limit = CALLS_MAX;
	assert_int_equal(fuse_client_new(e->g->cfg, LAUNCH_MOUNTS_MAX, -1, NULL, &e->g->stats,
					 e->g->now_ns, &e->g->f),
			 0);
	e->g->f->clock_ns = clock_later_ns;
	/* In this tick the mount worker learns the features that the owner has negotiated. */
	fuse_client_tick(e->g->f, e->g->now_ns);
	session_up(e->g);
	respond_init(e->g);
	fuse_client_tick(e->g->f, e->g->now_ns);
}

void mount_worker_up(struct ends *e, struct rig *g, uint32_t features)
{
	owner_up(e, g);
	mount_worker_lives(e);
	ask_read(e);
	ask_read(e);
	assert_int_equal(state_of(e, 0), MOUNT_WORKER_DISPATCHED);
	g->f = fuse_client_free(g->f);
	g->cfg->shared[0] = g->cfg->mounts[0];
	g->cfg->shared[0].mount_worker = 1;
	g->features = features;
	mount_worker_begin(e);
}

void opened(struct ends *e)
{
	const struct fuse_open_out out = {.fh = 99};

	assert_int_equal(call_header(0).opcode, FUSE_OPEN);
	respond(e->g, 0, 0, &out, sizeof(out));
	fuse_client_pull(e->g->f, true, e->g->now_ns);
	assert_int_equal(call_header(0).opcode, FUSE_READ);
}
