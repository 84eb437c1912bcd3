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

#endif
