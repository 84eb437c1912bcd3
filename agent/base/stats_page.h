/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads texts, paths and sessions of a worker's statistics page (launch.h) and of the list behind
 * it (launch_watch.h), which the worker may be changing at the same time. */
#ifndef PLENUM_AGENT_STATS_PAGE_H
#define PLENUM_AGENT_STATS_PAGE_H

#include "dataplane/launch_watch.h"

/* Copies a text of the page to buf (size bytes), and terminates it. The copy is consistent, unless
 * the worker changes the page during each of several tries. */
void stats_page_text(const struct launch_stats *page, const char *text, char *buf, size_t size);
/* Copies the paths of the page; their texts are terminated. Returns the number of paths. */
size_t stats_page_paths(const struct launch_stats *page,
			struct launch_path_stats ret[LAUNCH_PATHS_MAX]);
/* Copies the mounts of clients, with their hosts' names terminated, and returns their number.
 * *ret_omitted: count of further mounts, for which the page has no room. */
size_t stats_page_clients(const struct launch_stats *page,
			  struct launch_client_stats ret[LAUNCH_CLIENT_STATS_MAX],
			  uint64_t *ret_omitted);
/* Returns whether the worker writes the list, in the version that this agent knows. page may be
 * NULL. */
bool stats_page_has_sessions(const struct launch_watch *page);
/* Copies entry i, which must be below LAUNCH_SESSION_ENTRIES; its texts are terminated and its
 * numbers are within their ranges. Returns false if it has no session, or if the worker changes the
 * entry during each of several tries. */
bool stats_page_session(const struct launch_watch *page, size_t i, struct launch_session *ret);
/* Copies the clients that the worker refuses, with their texts terminated, and returns their
 * number. */
size_t stats_page_refused(const struct launch_stats *page,
			  struct launch_refused_client ret[LAUNCH_REFUSED_MAX]);
/* Returns whether this host's kernel has refused to send to the address through the worker's port
 * `i` in the last `age_ns`. If so, *ret is the last refusal. */
bool stats_page_refusal(const struct launch_stats *page, uint32_t i, const struct ip_addr *to,
			uint64_t age_ns, struct launch_refusal *ret);

#endif
