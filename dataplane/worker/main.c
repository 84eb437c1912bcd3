/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/worker.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("plenum-worker " PLENUM_VERSION);
		return 0;
	}
	/* Other arguments only name the worker in process lists. */
	return worker_main();
}
