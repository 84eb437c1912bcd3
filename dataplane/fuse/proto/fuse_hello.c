/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes and decodes the client's hello for both sides of the file system protocol. */
#include "dataplane/fuse/proto/fuse_hello.h"
#include "dataplane/fuse/proto/fuse_proto.h"
#include <endian.h>
#include <string.h>

#define HELLO_MAGIC 0x46534831U

struct hello_bytes {
	uint32_t magic, version; /* both in little-endian order */
	uint8_t mount_id[16];
	uint8_t read_only, follows_redirects, purpose;
	uint8_t pad[5];
	char names[3][PLENUM_NAME_MAX]; /* names of the export, the client and the server */
};
_Static_assert(sizeof(struct hello_bytes) == FUSE_HELLO_BYTES, "no padding between the fields");

static void name_put(char *to, const char *from)
{
	memcpy(to, from, strnlen(from, PLENUM_NAME_MAX - 1));
}

void fuse_hello_put(uint8_t ret[FUSE_HELLO_BYTES], const struct fuse_hello *h)
{
	struct hello_bytes b = {.magic = htole32(HELLO_MAGIC),
				.version = htole32(FUSE_PROTO_VERSION),
				.read_only = h->read_only,
				.follows_redirects = h->follows_redirects,
				.purpose = (uint8_t)h->purpose};

	memcpy(b.mount_id, h->mount_id, sizeof(b.mount_id));
	name_put(b.names[0], h->export_name);
	name_put(b.names[1], h->client_host);
	name_put(b.names[2], h->server_host);
	memcpy(ret, &b, sizeof(b));
}

/* Returns whether the name has only characters that names in a configuration may have. The server
 * displays the names of clients, so it refuses other characters. */
static bool name_is_plain(const char name[PLENUM_NAME_MAX])
{
	const size_t len = strnlen(name, PLENUM_NAME_MAX);

	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return len < PLENUM_NAME_MAX;
}

int fuse_hello_get(const void *p, size_t len, struct fuse_hello *ret)
{
	struct hello_bytes b;

	if (len < sizeof(b))
		return -EPROTO;
	memcpy(&b, p, sizeof(b));
	if (le32toh(b.magic) != HELLO_MAGIC || le32toh(b.version) != FUSE_PROTO_VERSION ||
	    b.purpose >= FUSE_HELLO_PURPOSE_MAX)
		return -EPROTO;
	for (unsigned i = 0; i < ARRAY_SIZE(b.names); i++)
		if (!name_is_plain(b.names[i]))
			return -EPROTO;
	memcpy(ret->mount_id, b.mount_id, sizeof(ret->mount_id));
	ret->read_only = b.read_only;
	ret->follows_redirects = b.follows_redirects;
	ret->purpose = (enum fuse_hello_purpose)b.purpose;
	memcpy(ret->export_name, b.names[0], PLENUM_NAME_MAX);
	memcpy(ret->client_host, b.names[1], PLENUM_NAME_MAX);
	memcpy(ret->server_host, b.names[2], PLENUM_NAME_MAX);
	return 0;
}
