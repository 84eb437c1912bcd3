/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends a helper pool in a test and waits for its processes: unlike a worker, the test continues,
 * and late helpers share its descriptor table and would act on reused descriptor numbers.
 */
#ifndef PLENUM_TESTS_HELPER_END_H
#define PLENUM_TESTS_HELPER_END_H

#include "dataplane/fuse/helper/fs_helper.h"
#include <poll.h>
#include <sys/wait.h>

#define HELPERS_END_MAX 64
#define HELPERS_END_NS (20 * NSEC_PER_SEC)

static inline struct fs_helper *helpers_end(struct fs_helper *h)
{
	uint64_t end = clock_now_ns() + HELPERS_END_NS;
	pid_t pids[HELPERS_END_MAX];
	unsigned n = 0;

	while (h && n < HELPERS_END_MAX && (pids[n] = fs_helper_pid(h, n)) > 0)
		n++;
	fs_helper_free(h);
	for (; n > 0; n--)
		while (waitpid(pids[n - 1], NULL, WNOHANG) == 0 && clock_now_ns() < end)
			poll(NULL, 0, 1);
	return NULL;
}

#endif
