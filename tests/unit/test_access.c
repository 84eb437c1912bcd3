/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of the network: the file of tokens, roles, and the limits of each address. */
#include "agent/api/rest/resource.h"
#include "agent/clients/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HASH_A "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define HASH_B "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff"

/* ---- the file ---- */

static void test_wrong_lines_are_refused_with_their_number(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"a view", "line 1 does not have three words"},
		{"\na view " HASH_A " more", "line 2 does not have three words"},
		{"a none " HASH_A, "line 1: the role is 'none'"},
		{"a root " HASH_A, "line 1: the role is 'root'"},
		{"a/b view " HASH_A,
		 "line 1: the name is longer than 31 characters or has characters"},
		{"abcdefghijklmnopqrstuvwxyz012345 view " HASH_A, "line 1: the name is longer"},
		{"a view 0011", "line 1: the hash is not 64 hexadecimal digits"},
		{"a view " HASH_A "0", "line 1: the hash is not 64"},
		{"a view FF0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff",
		 "line 1: the hash is not 64"},
		{"a view " HASH_A "\na view " HASH_B, "line 2: an earlier line has this name"},
		{"a view " HASH_A "\nb admin " HASH_A, "line 2: an earlier line has this name"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct access_table t = {NULL, 7};
		struct reason why = {.code = ""};

		assert_int_equal(access_parse(cases[i].text, &t, &why), -EINVAL);
		if (!strstr(why.text, cases[i].why))
			fail_msg("'%s' instead of '%s'", why.text, cases[i].why);
		assert_int_equal(t.n, 7); /* unchanged */
	}
}

static void test_a_token_is_found_by_its_hash_alone(void **state)
{
	struct access_table t;
	struct reason why;
	const struct access_entry *e;
	uint8_t hash[ACCESS_HASH_BYTES];

	assert_int_equal(
		access_parse("# people\n\n  ann\tadmin  " HASH_A "\r\nci view " HASH_B, &t, &why),
		0);
	assert_int_equal(t.n, 2);
	for (uint8_t i = 0; i < sizeof(hash); i++)
		hash[i] = i;
	e = access_find(&t, hash);
	assert_string_equal(e->name, "ann");
	assert_int_equal(e->role, ACCESS_ADMIN);
	for (size_t i = 0; i < 8 * sizeof(hash); i++) {
		hash[i / 8] ^= (uint8_t)(1 << i % 8);
		assert_null(access_find(&t, hash));
		hash[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	assert_int_equal(access_find_name(&t, "ci")->role, ACCESS_VIEW);
	assert_null(access_find_name(&t, "c"));
	access_done(&t);
	assert_null(access_find(&t, hash));
}

static void test_a_line_is_written_and_cut_without_others(void **state)
{
	char line[ACCESS_LINE_MAX], text[512];
	struct access_table t;
	struct reason why;

	assert_int_equal(access_parse("abcdefghijklmnopqrstuvwxyz01234 operate " HASH_A, &t, &why),
			 0);
	access_format(&t.entries[0], line);
	assert_string_equal(line, "abcdefghijklmnopqrstuvwxyz01234 operate " HASH_A "\n");
	access_done(&t);
	snprintf(text, sizeof(text), "# ci is a comment\ncis view x\n ci view y\nb admin z");
	assert_true(access_cut(text, "ci"));
	assert_string_equal(text, "# ci is a comment\ncis view x\nb admin z");
	assert_false(access_cut(text, "ci"));
	assert_true(access_cut(text, "b"));
	assert_string_equal(text, "# ci is a comment\ncis view x\n");
}

/* ---- roles ---- */

static bool is_for(enum privsep_type type, enum access_role role)
{
	struct privsep_msg m = {.type = type};

	return resource_role_of(&m) == role;
}

static void test_each_message_of_a_client_needs_a_role(void **state)
{
	struct privsep_msg keys = {.type = PRIVSEP_CAPTURE, .capture = {.keys = 1}};

	for (size_t i = 0; i < RESOURCE_MAX; i++) {
		const struct resource *row = &resources[i];
		struct privsep_msg m = {.type = row->type};

		assert_true(resource_role(row) > ACCESS_NONE);
		/* Rows with one message have one role, since the monitor sees only the message. */
		if (!row->local)
			assert_int_equal(resource_role_of(&m), resource_role(row));
		if (resource_role(row) == ACCESS_VIEW)
			assert_string_equal(row->method, "GET");
	}
	assert_true(is_for(PRIVSEP_GET, ACCESS_VIEW) && is_for(PRIVSEP_STREAM, ACCESS_VIEW));
	assert_true(is_for(PRIVSEP_RESTART, ACCESS_OPERATE) &&
		    is_for(PRIVSEP_ROLLBACK, ACCESS_OPERATE) &&
		    is_for(PRIVSEP_DOCTOR, ACCESS_OPERATE));
	assert_true(is_for(PRIVSEP_APPLY, ACCESS_ADMIN) && is_for(PRIVSEP_STOP, ACCESS_ADMIN) &&
		    is_for(PRIVSEP_FAULT_ADD, ACCESS_ADMIN));
	assert_int_equal(resource_role_of(&keys), ACCESS_ADMIN);
}

/* ---- limits ---- */

static struct limits limits;

static struct ip_addr address(const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(text, &a), 0);
	return limits_key(&a);
}

static void test_an_address_connects_so_often_and_no_other_suffers(void **state)
{
	const struct ip_addr a = address("192.0.2.1"), b = address("192.0.2.2");
	uint64_t now = NSEC_PER_SEC;

	memset(&limits, 0, sizeof(limits));
	for (unsigned i = 0; i < LIMITS_CONNECTS_BURST; i++)
		assert_true(limits_connect(&limits, &a, now));
	assert_false(limits_connect(&limits, &a, now));
	assert_true(limits_connect(&limits, &b, now));
	now += LIMITS_CONNECT_NS;
	assert_true(limits_connect(&limits, &a, now));
	assert_false(limits_connect(&limits, &a, now));
	now += LIMITS_CONNECTS_BURST * LIMITS_CONNECT_NS;
	for (unsigned i = 0; i < LIMITS_CONNECTS_BURST; i++)
		assert_true(limits_connect(&limits, &a, now));
}

static void test_addresses_of_one_ipv6_network_are_one(void **state)
{
	const struct ip_addr a = address("2001:db8::1"), b = address("2001:db8::ffff:2"),
			     c = address("2001:db8:0:1::1");

	assert_true(ip_addr_equal(&a, &b));
	assert_false(ip_addr_equal(&a, &c));
}

static void test_the_table_keeps_the_addresses_used_last(void **state)
{
	const struct ip_addr a = address("192.0.2.1");
	uint64_t now = NSEC_PER_SEC;

	memset(&limits, 0, sizeof(limits));
	for (unsigned i = 0; i < LIMITS_CONNECTS_BURST; i++)
		limits_connect(&limits, &a, now);
	for (unsigned i = 0; i < 3 * LIMITS_ADDRESSES_MAX; i++) {
		struct ip_addr other = address("10.0.0.0");

		assert_true(ip_addr_add(&other, i, &other));
		assert_true(limits_connect(&limits, &other, now + i));
		/* The one that comes all the time is not forgotten. */
		assert_false(limits_connect(&limits, &a, now + i));
	}
}

static void test_wrong_tokens_are_answered_later_and_later(void **state)
{
	const struct ip_addr a = address("192.0.2.1"), b = address("192.0.2.2");
	uint64_t now = NSEC_PER_SEC, before = 0;

	memset(&limits, 0, sizeof(limits));
	assert_int_equal(limits_fail(&limits, &a, now), 0);
	for (unsigned i = 0; i < 20; i++) {
		const uint64_t delay = limits_fail(&limits, &a, now);

		assert_true(delay > before || delay == LIMITS_DELAY_NS_MAX);
		before = delay;
	}
	assert_int_equal(before, LIMITS_DELAY_NS_MAX);
	assert_int_equal(limits_fail(&limits, &b, now), 0);
	assert_int_equal(limits_fail(&limits, &a, now + 2 * LIMITS_DELAY_NS_MAX), 0);
}

static void test_refusals_beyond_some_become_one_event(void **state)
{
	const struct ip_addr a = address("192.0.2.1");
	struct ip_addr key;
	uint64_t now = NSEC_PER_SEC;
	unsigned others = 99;

	memset(&limits, 0, sizeof(limits));
	for (unsigned i = 0; i < LIMITS_REPORTS_BURST; i++) {
		assert_true(limits_report(&limits, &a, now, &others));
		assert_int_equal(others, 0);
	}
	for (unsigned i = 0; i < 30; i++)
		assert_false(limits_report(&limits, &a, now, &others));
	assert_false(limits_next_unreported(&limits, now, &key, &others));
	now += LIMITS_REPORT_NS;
	assert_true(limits_next_unreported(&limits, now, &key, &others));
	assert_int_equal(others, 30);
	assert_true(ip_addr_equal(&key, &a));
	assert_false(limits_next_unreported(&limits, now + 60 * NSEC_PER_SEC, &key, &others));
	/* Or the next one that becomes an event has their number. */
	now += 2 * LIMITS_REPORT_NS;
	while (limits_report(&limits, &a, now, &others))
		;
	now += LIMITS_REPORT_NS;
	assert_true(limits_report(&limits, &a, now, &others));
	assert_int_equal(others, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_lines_are_refused_with_their_number),
		cmocka_unit_test(test_a_token_is_found_by_its_hash_alone),
		cmocka_unit_test(test_a_line_is_written_and_cut_without_others),
		cmocka_unit_test(test_each_message_of_a_client_needs_a_role),
		cmocka_unit_test(test_an_address_connects_so_often_and_no_other_suffers),
		cmocka_unit_test(test_addresses_of_one_ipv6_network_are_one),
		cmocka_unit_test(test_the_table_keeps_the_addresses_used_last),
		cmocka_unit_test(test_wrong_tokens_are_answered_later_and_later),
		cmocka_unit_test(test_refusals_beyond_some_become_one_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
