/* SPDX-License-Identifier: BSD-3-Clause */
/* fsopens FILE COUNT: opens the file so often, or until that fails, prints how often and why it
 * failed, and keeps the files open until its input ends. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = 0, max = argc == 3 ? atoi(argv[2]) : 0;

	if (max <= 0) {
		fprintf(stderr, "fsopens FILE COUNT\n");
		return 2;
	}
	while (n < max && open(argv[1], O_RDONLY | O_CLOEXEC) >= 0)
		n++;
	printf("%d %s\n", n, n < max ? strerror(errno) : "none");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
