/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads texts and paths of a worker's statistics page (launch.h) while the worker may be changing
 * them. */
#ifndef PLENUM_AGENT_STATS_PAGE_H
#define PLENUM_AGENT_STATS_PAGE_H

#include "dataplane/launch.h"

/* Copies a text of the page, consistent and terminated, into buf (size bytes). */
void stats_page_text(const struct launch_stats *page, const char *text, char *buf, size_t size);
/* Copies the page's paths, texts terminated; returns their number. */
size_t stats_page_paths(const struct launch_stats *page,
			struct launch_path_stats ret[LAUNCH_PATHS_MAX]);
/* Whether the host has refused to send to an address on port `i` in the last `age_ns`: the last
 * such refusal. */
bool stats_page_refusal(const struct launch_stats *page, uint32_t i, const struct ip_addr *to,
			uint64_t age_ns, struct launch_refusal *ret);

#endif
