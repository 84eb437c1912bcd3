/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice between ports that stand by for each other: apart from the worker, so that its rules
 * can be tried by a clock of the test's own. */
#include "dataplane/port/port_backup.h"

void port_backup_init(struct port_backup *b, unsigned n, uint64_t hold_ns)
{
	*b = (struct port_backup){.n = MIN_OF(n, LAUNCH_PORTS_MAX), .hold_ns = hold_ns};
	for (unsigned i = 0; i < b->n; i++)
		b->works[i] = true; /* since ever: at a start nobody has to wait */
}

void port_backup_set(struct port_backup *b, unsigned i, bool works, uint64_t now_ns)
{
	if (i >= b->n || b->works[i] == works)
		return;
	b->works[i] = works;
	b->since_ns[i] = now_ns;
}

static uint64_t hold_now(const struct port_backup *b)
{
	return b->hold_ns << b->doubled;
}

static bool leave(struct port_backup *b, uint64_t now_ns)
{
	bool soon = b->back_ns && now_ns - b->back_ns < PORT_BACKUP_SOON * hold_now(b);

	for (unsigned i = 0; i < b->n; i++) {
		if (!b->works[i])
			continue;
		if (i > b->active) /* whom nobody leaves for a better one has not flapped */
			b->doubled = soon ? MIN_OF(b->doubled + 1, PORT_BACKUP_DOUBLED_MAX) : 0;
		b->active = i;
		return true;
	}
	return false;
}

bool port_backup_choose(struct port_backup *b, uint64_t now_ns, uint64_t *ret_due_ns)
{
	*ret_due_ns = UINT64_MAX;
	if (!b->works[b->active])
		return leave(b, now_ns);
	for (unsigned i = 0; i < b->active; i++) {
		uint64_t due_ns = b->since_ns[i] + hold_now(b);

		if (!b->works[i])
			continue;
		if (now_ns >= due_ns) {
			b->active = i;
			b->back_ns = now_ns;
			*ret_due_ns = UINT64_MAX;
			return true;
		}
		*ret_due_ns = MIN_OF(*ret_due_ns, due_ns);
	}
	return false;
}
