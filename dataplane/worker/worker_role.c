/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of roles; a new role touches neither the loop nor the start. */
#include "dataplane/worker/worker_role.h"
#include "dataplane/launch.h"

const struct worker_role *worker_role_get(unsigned role)
{
	static const struct worker_role *const roles[LAUNCH_ROLE_MAX] = {
		[LAUNCH_FRONTEND] = &worker_role_front,
		[LAUNCH_COMPUTE] = &worker_role_compute,
	};

	return role < LAUNCH_ROLE_MAX ? roles[role] : NULL;
}
