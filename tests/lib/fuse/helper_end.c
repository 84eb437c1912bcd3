/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements helper_end.h. */
#include "tests/lib/fuse/helper_end.h"
#include <poll.h>
#include <sys/wait.h>

struct fs_helper *helpers_end(struct fs_helper *h)
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
