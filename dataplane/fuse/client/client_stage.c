/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the lists of a mount's active stages, one list for each hook. */
#include "dataplane/fuse/client/client_stage.h"
#include "dataplane/fuse/client/fuse_client_internal.h"

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
	list_add(on->begin, s, s->begin);
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
	for (size_t i = 0; i < f->n_stages; i++)
		if (!f->stages[i]->is_on || f->stages[i]->is_on(f))
			stage_add(&f->on, f->stages[i]);
	for (size_t i = f->n_stages; i-- > 0;)
		if (!f->stages[i]->is_on || f->stages[i]->is_on(f))
			list_add(f->on.holds, f->stages[i], f->stages[i]->holds);
}

const struct client_stage *client_stage_of_cookie(const struct fuse_client *f, uint64_t cookie)
{
	for (const struct client_stage *const *st = f->on.answer; *st; st++)
		if ((*st)->cookie == cookie)
			return *st;
	return NULL;
}
