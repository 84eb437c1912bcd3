/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the changes that only the operator can make. Any part of planning may add such a
 * change. */
#include "netcfg/base/vec.h"
#include "netcfg/plan/plan.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct plan_need *plan_need_add(struct plan *p, const char *code, const char *fmt, ...)
{
	struct plan_need need = {0}, *added;
	va_list ap;

	snprintf(need.code, sizeof(need.code), "%s", code);
	va_start(ap, fmt);
	vsnprintf(need.why, sizeof(need.why), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < p->n_needs; i++)
		if (strcmp(p->needs[i].code, need.code) == 0 &&
		    strcmp(p->needs[i].why, need.why) == 0)
			return &p->needs[i];
	added = vec_add(&p->needs, &p->n_needs, sizeof(*added));
	if (added)
		*added = need;
	return added;
}
