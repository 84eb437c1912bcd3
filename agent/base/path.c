/* SPDX-License-Identifier: BSD-3-Clause */
/* Joins the names of the agent's folders and files. */
#include "agent/base/path.h"
#include <stdio.h>

char *path_join(const char *dir, const char *name)
{
	char *p;

	return asprintf(&p, "%s/%s", dir, name) < 0 ? NULL : p;
}
