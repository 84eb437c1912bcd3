/* SPDX-License-Identifier: BSD-3-Clause */
/* The frontend's hello: one place makes and reads it; whom it may mean. */
#include "dataplane/fuse/proto/fuse_hello.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void hello_is_one_code(void **state)
{
	struct fuse_hello h = {.read_only = true, .purpose = FUSE_HELLO_MOUNT_WORKER_FINISHING},
			  got;
	uint8_t bytes[FUSE_HELLO_BYTES];

	memcpy(h.mount_id, "0123456789abcdef", 16);
	strcpy(h.export_name, "scratch");
	strcpy(h.client_host, "a");
	memset(h.server_host, 'b', sizeof(h.server_host) - 1);
	fuse_hello_put(bytes, &h);
	assert_int_equal(fuse_hello_get(bytes, sizeof(bytes), &got), 0);
	assert_true(got.read_only);
	assert_int_equal(got.purpose, FUSE_HELLO_MOUNT_WORKER_FINISHING);
	assert_memory_equal(got.mount_id, h.mount_id, 16);
	assert_string_equal(got.export_name, "scratch");
	assert_string_equal(got.client_host, "a");
	assert_string_equal(got.server_host, h.server_host);
	memset(bytes + 32, 'x', PLENUM_NAME_MAX); /* a name without an end */
	assert_int_equal(fuse_hello_get(bytes, sizeof(bytes), &got), -EPROTO);
	memset(h.server_host, 'b', sizeof(h.server_host)); /* is cut, never read past */
	fuse_hello_put(bytes, &h);
	assert_int_equal(fuse_hello_get(bytes, sizeof(bytes), &got), 0);
	assert_int_equal(strlen(got.server_host), PLENUM_NAME_MAX - 1);
}

/* Who does not know of lanes says that it is none. */
static void lanes_say_so(void **state)
{
	struct fuse_hello h = {.follows_redirects = true}, got;
	uint8_t bytes[FUSE_HELLO_BYTES];

	fuse_hello_put(bytes, &h);
	assert_int_equal(bytes[26], 0);
	for (unsigned i = 0; i < 256; i++) {
		bytes[26] = (uint8_t)i;
		assert_int_equal(fuse_hello_get(bytes, sizeof(bytes), &got), i < 3 ? 0 : -EPROTO);
		assert_true(i >= 3 || got.purpose == (enum fuse_hello_purpose)i);
	}
	bytes[26] = 0;
	memset(bytes + 27, 0xff, 5); /* of a version to come */
	assert_int_equal(fuse_hello_get(bytes, sizeof(bytes), &got), 0);
	assert_int_equal(got.purpose, FUSE_HELLO_MOUNT);
}

static void hosts_have_domains(void **state)
{
	assert_true(fuse_hello_names_host("host-b", "host-b"));
	assert_true(fuse_hello_names_host("host-b", "host-b.lab.example"));
	assert_true(fuse_hello_names_host("host-b.lab.example", "host-b"));
	assert_false(fuse_hello_names_host("host-b.lab", "host-b.example"));
	assert_false(fuse_hello_names_host("host-b", "host-bb"));
	assert_false(fuse_hello_names_host("host", "host-b"));
	assert_false(fuse_hello_names_host("", ""));
	assert_false(fuse_hello_names_host("", "host-b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_is_one_code),
		cmocka_unit_test(lanes_say_so),
		cmocka_unit_test(hosts_have_domains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
