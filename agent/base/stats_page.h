/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads texts of a worker's statistics page (launch.h) while the worker may be changing them. */
#ifndef PLENUM_AGENT_STATS_PAGE_H
#define PLENUM_AGENT_STATS_PAGE_H

#include "dataplane/launch.h"

/* Copies a text of the page, consistent and terminated, into buf (size bytes). */
void stats_page_text(const struct launch_stats *page, const char *text, char *buf, size_t size);

#endif
