/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as the hello with which a client opens a session: names in one that is accepted have an
 * end, and it is the same after it was written and read again.
 */
#include "dataplane/fuse/proto/fuse_hello.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static bool taken;

bool fuzz_input_taken(void)
{
	return taken;
}

static bool is_name(const char name[PLENUM_NAME_MAX])
{
	return memchr(name, '\0', PLENUM_NAME_MAX) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size + 1); /* so that a read past the end is detected */
	uint8_t again[FUSE_HELLO_BYTES];
	struct fuse_hello h, copy;

	if (!exact)
		return 0;
	exact = realloc(memcpy(exact, data, size), MAX_OF(size, (size_t)1));
	taken = fuse_hello_get(exact, size, &h) == 0;
	free(exact);
	if (!taken)
		return 0;
	if (!is_name(h.export_name) || !is_name(h.client_host) || !is_name(h.server_host) ||
	    h.purpose >= FUSE_HELLO_PURPOSE_MAX)
		abort();
	fuse_hello_put(again, &h);
	if (fuse_hello_get(again, sizeof(again), &copy) < 0 ||
	    memcmp(copy.mount_id, h.mount_id, sizeof(h.mount_id)) != 0 ||
	    copy.read_only != h.read_only || copy.follows_redirects != h.follows_redirects ||
	    copy.purpose != h.purpose || strcmp(copy.export_name, h.export_name) != 0 ||
	    strcmp(copy.client_host, h.client_host) != 0 ||
	    strcmp(copy.server_host, h.server_host) != 0)
		abort();
	return 0;
}
