/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the file with the cluster's keys: read as a file and from memory with the same
 * result. Keys that are accepted are the same after they were written and read again. Also as the
 * file with the tokens of the API, whose entries are the same as lines and disappear one by one.
 */
#include "netcfg/base/files/access.h"
#include "netcfg/base/files/secret.h"
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

/* Whether the bytes are a file of tokens. */
static bool check_tokens(char *text)
{
	struct access_table t, again;
	struct reason why = {.code = ""};
	char line[ACCESS_LINE_MAX];
	bool any;

	if (access_parse(text, &t, &why) < 0) {
		if (!reason_is_set(&why))
			abort();
		return false;
	}
	any = t.n > 0;
	for (size_t i = 0; i < t.n; i++) {
		access_format(&t.entries[i], line);
		if (access_parse(line, &again, &why) < 0 || again.n != 1 ||
		    memcmp(&again.entries[0], &t.entries[i], sizeof(t.entries[i])) != 0)
			abort();
		access_done(&again);
		if (!access_cut(text, t.entries[i].name) || access_parse(text, &again, &why) < 0 ||
		    again.n != t.n - i - 1)
			abort();
		access_done(&again);
	}
	access_done(&t);
	return any;
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
	taken = check_tokens(text) || taken;
	return 0;
}
