/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("plenum-worker " PLENUM_VERSION);
		return 0;
	}
	if (argc > 1) {
		fputs("plenum-worker: takes no arguments; plenumd starts it (plenum-worker(8))\n",
		      stderr);
		return LAUNCH_EXIT_CONFIG;
	}
	return worker_main();
}
