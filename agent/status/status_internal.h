/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions shared by the files that print a status snapshot. They are in status_print.c unless a
 * comment names another file. */
#ifndef PLENUM_AGENT_STATUS_INTERNAL_H
#define PLENUM_AGENT_STATUS_INTERNAL_H

#include "agent/status.h"

/* Appends o to the list, which becomes the owner of the reference; o may be NULL. Returns false if
 * memory is short. */
bool status_append(json_t *list, json_t *o);
/* Returns "?" for a text that is not valid UTF-8, which jansson refuses. A worker's texts may be
 * invalid. */
json_t *status_text_to_json(const char *s);
/* Returns the seconds since at_ns, or -1 if at_ns is 0, which means unknown. */
int64_t status_age_s(uint64_t at_ns);
/* Returns the number as JSON, or JSON null for a number below 0, which means unknown. */
json_t *status_number_or_null(int64_t n);
/* Returns whether a round-trip time says something about the network now. rtt_at_ns: when a message
 * measured it. In status_hosts.c. */
bool status_rtt_is_current(uint64_t srtt_ns, uint64_t rtt_at_ns);
json_t *status_path_to_json(const struct status_path *p);
/* Returns an enum launch_path_state as one word; "?" for another number. */
const char *status_path_state(uint64_t state, bool standby);
/* Lists the classes that had recent requests, with median and 99th percentile. */
json_t *status_latency_to_json(const struct latency_window windows[LAUNCH_REQUEST_CLASS_MAX]);

/* Parts of status_collect_hosts(), in status_mounts.c: they set the states of the worker's mounts
 * and of its exports. */
void status_judge_mounts(const struct agent *a, struct status *st, const struct sup_worker *w);
void status_judge_exports(const struct agent *a, struct status *st, const struct sup_worker *w);

#endif
