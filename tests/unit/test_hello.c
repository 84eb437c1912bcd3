/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's hello: encoding and decoding, and host names. */
#include "dataplane/fuse/proto/fuse_hello.h"
#include "netcfg/base/host_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void hello_survives_a_round_trip(void **state)
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
	memset(h.server_host, 'b', sizeof(h.server_host)); /* is truncated, never read past */
	fuse_hello_put(bytes, &h);
	assert_int_equal(fuse_hello_get(bytes, sizeof(bytes), &got), 0);
	assert_int_equal(strlen(got.server_host), PLENUM_NAME_MAX - 1);
}

static void names_with_other_than_visible_ascii_are_refused(void **state)
{
	static const char *const names[] = {"\xff", "a\x1b[2J", "a\nb",
					    "a b",  "\xc2\x9b", "\xe2\x80\xae"};
	struct fuse_hello h = {.purpose = FUSE_HELLO_MOUNT}, got;
	uint8_t bytes[FUSE_HELLO_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(h.client_host, sizeof(h.client_host), "%s", names[i]);
		fuse_hello_put(bytes, &h);
		assert_int_equal(fuse_hello_get(bytes, sizeof(bytes), &got), -EPROTO);
	}
	strcpy(h.client_host, "host-a.lab_1");
	strcpy(h.server_host, "fd00::1");
	fuse_hello_put(bytes, &h);
	assert_int_equal(fuse_hello_get(bytes, sizeof(bytes), &got), 0);
}

/* A peer that does not know mount workers sends zeros. */
static void mount_workers_are_marked_in_the_hello(void **state)
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
	memset(bytes + 27, 0xff, 5); /* of a later version */
	assert_int_equal(fuse_hello_get(bytes, sizeof(bytes), &got), 0);
	assert_int_equal(got.purpose, FUSE_HELLO_MOUNT);
}

static void host_names_match_with_or_without_domain(void **state)
{
	assert_true(host_name_matches("host-b", "host-b"));
	assert_true(host_name_matches("host-b", "host-b.lab.example"));
	assert_true(host_name_matches("host-b.lab.example", "host-b"));
	assert_false(host_name_matches("host-b.lab", "host-b.example"));
	assert_false(host_name_matches("host-b", "host-bb"));
	assert_false(host_name_matches("host", "host-b"));
	assert_false(host_name_matches("", ""));
	assert_false(host_name_matches("", "host-b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_survives_a_round_trip),
		cmocka_unit_test(names_with_other_than_visible_ascii_are_refused),
		cmocka_unit_test(mount_workers_are_marked_in_the_hello),
		cmocka_unit_test(host_names_match_with_or_without_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
