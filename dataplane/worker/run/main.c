/* SPDX-License-Identifier: BSD-3-Clause */
/* The main program of a worker. All other code is in a library, so that tests link the same
 * code. */
#include "dataplane/worker/run/worker_run.h"

#include <stdio.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
/* Turns the leak sanitizer off, because it would trace this process from another process, which the
 * sandbox forbids. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("plenum-worker " PLENUM_VERSION);
		return 0;
	}
	/* Ignore the arguments of the command line, by which process lists show which worker this
	 * is. */
	return worker_main();
}
