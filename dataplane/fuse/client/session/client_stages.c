/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the client's stages, in the order in which their hooks are called. The tables of
 * nodes and files are a stage too. It comes after the stage in which a mount worker locks its
 * state, and before all others, because these use the tables. The limits are the first stage, and
 * so the last one that may hold a request back: only a request that is sent then counts.
 */
#include "dataplane/fuse/client/client_stage.h"
#include "dataplane/fuse/client/fuse_client_internal.h"

static int tables_init(struct fuse_client *f)
{
	int r = client_state_init(&f->state, f->mount->state_fd, f->state_at, f->mount->id);

	if (r < 0)
		return r;
	f->adopted = r > 0;
	r = client_nodes_init(&f->nodes, &f->state);
	if (r < 0)
		return r;
	r = client_files_init(&f->files, &f->state, &f->nodes);
	if (r < 0)
		return r;
	return client_cache_init(&f->cache, &f->nodes);
}

static void tables_done(struct fuse_client *f)
{
	client_cache_done(&f->cache);
	client_files_done(&f->files);
	client_nodes_done(&f->nodes);
	client_state_done(&f->state);
}

static const struct client_stage tables_stage = {.init = tables_init, .done = tables_done};

static const struct client_stage *const stages[] = {
	/* clang-format off */
	&client_limits_stage,
	&client_mount_worker_stage,
	&tables_stage,
	&client_init_stage,
	&client_request_stage,
	&client_locks_stage,
	&client_cache_stage,
	&client_prefetch_stage,
	&client_local_dir_stage,
	&client_kept_files_stage,
	&client_closed_files_stage,
	&client_deferred_ctime_stage,
	&client_write_back_stage,
	&client_rdma_stage,
	&client_ping_stage,
	&client_interrupt_stage,
	&client_refusal_stage,
	&client_dispatch_stage,
	&client_forward_stage,
	/* clang-format on */
};

int client_stages_init(struct fuse_client *f)
{
	f->stages = stages;
	f->n_stages = ARRAY_SIZE(stages);
	for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
		int r = stages[i]->init ? stages[i]->init(f) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

void client_stages_done(struct fuse_client *f)
{
	for (size_t i = ARRAY_SIZE(stages); i-- > 0;)
		if (stages[i]->done)
			stages[i]->done(f);
}
