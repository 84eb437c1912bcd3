/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds the events of workers to the agent's events. sup_is_reported() lets callers skip a repeated
 * reason. */
#include "agent/supervise/supervise_internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sup_report(const struct sup_worker *w, enum log_level level, const char *fmt, ...)
{
	char text[EVENTS_TEXT_MAX], name[EVENTS_SOURCE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(name, sizeof(name), "worker %u", w->id);
	events_add(w->sup->setup.events, level, name, "%s", text);
}

bool sup_is_reported(const struct sup_worker *w)
{
	return w->reported[0] && strcmp(w->reported, w->reason) == 0;
}
