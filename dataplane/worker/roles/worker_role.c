/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of roles, generated from the list in worker_role.h. */
#include "dataplane/worker/worker_role.h"
#include "dataplane/launch.h"

const struct worker_role *worker_role_get(unsigned role)
{
#define ITEM(member, name) [LAUNCH_##member] = &name,
	static const struct worker_role *const roles[LAUNCH_ROLE_MAX] = {WORKER_ROLES(ITEM)};

	return role < LAUNCH_ROLE_MAX ? roles[role] : NULL;
}
