/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that print a status snapshot share; of status_print.c, if nothing else is said. */
#ifndef PLENUM_AGENT_STATUS_INTERNAL_H
#define PLENUM_AGENT_STATUS_INTERNAL_H

#include "agent/status.h"

/* Appends o (taken, may be NULL) to the list; false: out of memory. */
bool status_append(json_t *list, json_t *o);
/* A worker's texts may not be valid UTF-8, which jansson refuses. */
json_t *status_text_to_json(const char *s);
/* Seconds since then; -1: unknown. */
int64_t status_age_s(uint64_t at_ns);
/* Below 0: null. */
json_t *status_number_or_null(int64_t n);
json_t *status_path_to_json(const struct status_path *p);
/* The classes that had recent requests, with median and 99th percentile. */
json_t *status_latency_to_json(const struct latency_window windows[LAUNCH_REQUEST_CLASS_MAX]);

/* status_mounts.c, for status_collect_hosts(): the states of the worker's mounts and exports. */
void status_judge_mounts(const struct agent *a, struct status *st, const struct sup_worker *w);
void status_judge_exports(const struct agent *a, struct status *st, const struct sup_worker *w);

#endif
