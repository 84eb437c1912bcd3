/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a worker's statistics page under its seqlock. */
#include "agent/base/stats_page.h"
#include <stdio.h>

void stats_page_text(const struct launch_stats *page, const char *text, char *buf, size_t size)
{
	for (int tries = 0; tries < 8; tries++) {
		uint64_t before = __atomic_load_n(&page->seq, __ATOMIC_ACQUIRE);

		snprintf(buf, size, "%.*s", (int)size - 1, text);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		/* Partner: worker_stats_publish. */
		if (!(before & 1) && before == __atomic_load_n(&page->seq, __ATOMIC_RELAXED))
			return;
	}
}
