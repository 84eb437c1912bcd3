/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the client's stages, and for each mount the lists of those that are active. The
 * tables of nodes and files are a stage as well, because a mount worker must lock its state before
 * it is mapped, and all others need them.
 */
#include "dataplane/fuse/client/client_stage.h"
#include "dataplane/fuse/client/fuse_client_internal.h"

static const struct client_stage *const stages[] = {
	/* clang-format off */
	&client_mount_worker_stage,
	&client_tables_stage,
	&client_init_stage,
	&client_request_stage,
	&client_cache_stage,
	&client_prefetch_stage,
	&client_local_dir_stage,
	&client_closed_files_stage,
	&client_deferred_ctime_stage,
	&client_rdma_stage,
	&client_ping_stage,
	&client_interrupt_stage,
	&client_dispatch_stage,
	&client_forward_stage,
	/* clang-format on */
};

int client_stages_init(struct fuse_client *f)
{
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

static void list_add(const struct client_stage **list, const struct client_stage *s, bool has_hook)
{
	unsigned n = 0;

	while (list[n])
		n++;
	if (has_hook && n < CLIENT_STAGES_PER_HOOK - 1)
		list[n] = s;
}

static void stage_add(struct client_stages *on, const struct client_stage *s)
{
	list_add(on->poll, s, s->poll);
	list_add(on->drained, s, s->drained);
	list_add(on->polled, s, s->polled);
	list_add(on->full, s, s->full);
	list_add(on->sync, s, s->sync);
	list_add(on->offer, s, s->offer);
	list_add(on->reply, s, s->reply);
	list_add(on->flush, s, s->flush);
	list_add(on->answer, s, s->answer);
	list_add(on->tick, s, s->tick);
	list_add(on->expire, s, s->expire);
	list_add(on->due, s, s->due);
	list_add(on->down, s, s->down);
	for (unsigned i = 0; i < CLIENT_STAGE_OPCODES; i++)
		if (s->opcodes & CLIENT_STAGE_OPCODE(i))
			on->take[i] = s;
}

void client_stages_select(struct fuse_client *f)
{
	f->on = (struct client_stages){.take = {NULL}};
	for (size_t i = 0; i < ARRAY_SIZE(stages); i++)
		if (!stages[i]->is_on || stages[i]->is_on(f))
			stage_add(&f->on, stages[i]);
	for (size_t i = ARRAY_SIZE(stages); i-- > 0;)
		if (!stages[i]->is_on || stages[i]->is_on(f))
			list_add(f->on.holds, stages[i], stages[i]->holds);
}

const struct client_stage *client_stage_of_cookie(const struct fuse_client *f, uint64_t cookie)
{
	for (const struct client_stage *const *st = f->on.answer; *st; st++)
		if ((*st)->cookie == cookie)
			return *st;
	return NULL;
}
