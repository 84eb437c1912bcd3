/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the file with the cluster's keys: read as a file and from memory with the same
 * result. Keys that are accepted are the same after they were written and read again.
 */
#include "netcfg/base/secret.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];
static bool taken;

bool fuzz_input_taken(void)
{
	return taken;
}

static void at_exit(void)
{
	unlink(path);
}

static void put_file(const uint8_t *data, size_t size)
{
	FILE *f;

	if (!path[0]) {
		snprintf(path, sizeof(path), "/dev/shm/plenum-fuzz-secret-%d", getpid());
		atexit(at_exit);
	}
	f = fopen(path, "we");
	if (!f || fchmod(fileno(f), 0600) < 0 || fwrite(data, 1, size, f) != size || fclose(f) != 0)
		abort();
}

static void check_again(const struct secret *s)
{
	autofree char *text = secret_format(s);
	struct secret copy;

	if (s->n < 1 || s->n > SECRET_KEYS_MAX || !text || secret_parse(text, &copy) < 0 ||
	    copy.n != s->n || memcmp(copy.keys, s->keys, s->n * SECRET_KEY_BYTES) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct secret of_file, of_text;
	autofree char *text = strndup((const char *)data, size);
	struct reason why = {.code = ""};
	int r;

	if (!text)
		return 0;
	put_file(data, size);
	r = secret_read(path, &of_file, &why);
	if (r < 0 && !reason_is_set(&why))
		abort();
	taken = r == 0;
	if (taken)
		check_again(&of_file);
	if (secret_parse(text, &of_text) == 0) {
		check_again(&of_text);
		if (taken && memcmp(of_text.keys, of_file.keys, of_text.n * SECRET_KEY_BYTES) != 0)
			abort();
	}
	return 0;
}
