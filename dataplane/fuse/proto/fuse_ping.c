/* SPDX-License-Identifier: BSD-3-Clause */
/* Begins and completes RDMA tests (struct launch_ping), for both sides of a mount. */
#include "dataplane/fuse/proto/fuse_ping.h"

#include <stdio.h>
#include <stdlib.h>

void fuse_ping_begin(struct launch_ping *ret, const struct launch_ping *ask)
{
	*ret = *ask;
	ret->status = 0;
	ret->done = 0;
	ret->took_ns = 0;
	ret->min_ns = ret->median_ns = ret->p99_ns = ret->max_ns = 0;
	ret->reason[0] = '\0';
}

static int compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void fuse_ping_end(struct launch_ping *run, uint32_t *each_ns, int status, const char *reason)
{
	const uint32_t n = run->done;

	run->status = status;
	snprintf(run->reason, sizeof(run->reason), "%s", reason);
	if (n == 0)
		return;
	qsort(each_ns, n, sizeof(each_ns[0]), compare);
	run->min_ns = each_ns[0];
	run->median_ns = each_ns[(n - 1) / 2];
	run->p99_ns = each_ns[(n * 99 + 99) / 100 - 1];
	run->max_ns = each_ns[n - 1];
}
