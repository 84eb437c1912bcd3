/* SPDX-License-Identifier: BSD-3-Clause */
#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct ip_addr ip(const char *text)
{
	struct ip_addr a;

	assert_int_equal(ip_addr_parse(text, &a), 0);
	return a;
}

static struct ip_range range(const char *text)
{
	struct ip_range r;

	assert_int_equal(ip_range_parse(text, &r), 0);
	return r;
}

static void test_addresses_parse_and_print_alike(void **state)
{
	static const char *const good[] = {"0.0.0.0", "10.1.2.3", "255.255.255.255",
					   "::",      "fe80::1",  "2001:db8::ff"};
	static const char *const bad[] = {"",	       "1.2.3",	    "1.2.3.4.5", "256.1.1.1",
					  "01.2.3.4x", "10.0.0.1 ", ":::",	 "fe80::1%eth0",
					  "g::",       "1.2.3.4/8"};
	struct ip_addr a = {.family = 77};
	char buf[IP_ADDR_STR_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct ip_addr one = ip(good[i]);

		assert_string_equal(ip_addr_format(&one, buf, sizeof(buf)), good[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(ip_addr_parse(bad[i], &a), -EINVAL);
	assert_int_equal(a.family, 77);
}

static void test_prefixes(void **state)
{
	struct ip_prefix p;
	struct ip_addr a;
	char buf[IP_ADDR_STR_MAX];

	assert_int_equal(ip_prefix_parse("10.1.2.3/16", &p), 0);
	assert_string_equal(ip_prefix_format(&p, buf, sizeof(buf)), "10.1.2.3/16");
	a = ip("10.1.255.255");
	assert_true(ip_prefix_contains(&p, &a));
	a = ip("10.2.0.0");
	assert_false(ip_prefix_contains(&p, &a));
	a = ip("::");
	assert_false(ip_prefix_contains(&p, &a));
	assert_int_equal(ip_prefix_parse("10.1.2.3", &p), 0);
	assert_int_equal(p.len, 32);
	assert_int_equal(ip_prefix_parse("::/0", &p), 0);
	a = ip("ffff::1");
	assert_true(ip_prefix_contains(&p, &a));
	assert_int_equal(ip_prefix_parse("10.1.2.3/33", &p), -EINVAL);
	assert_int_equal(ip_prefix_parse("10.1.2.3/08", &p), -EINVAL);
	assert_int_equal(ip_prefix_parse("10.1.2.3/", &p), -EINVAL);
	assert_int_equal(ip_prefix_parse("10.1.2.3/-1", &p), -EINVAL);
	assert_int_equal(ip_prefix_parse("fe80::/129", &p), -EINVAL);
}

static void test_ranges_parse(void **state)
{
	static const struct {
		const char *text;
		int result;
		const char *printed;
	} cases[] = {
		{"10.0.0.1-10.0.0.9/24", 0, "10.0.0.1-10.0.0.9/24"},
		{"10.0.0.1-10.0.0.9", 0, "10.0.0.1-10.0.0.9"},
		{"10.0.0.1", 0, "10.0.0.1"},
		{"10.0.0.1-10.0.0.1/8", 0, "10.0.0.1/8"},
		{"fd00::1-fd00::ff/64", 0, "fd00::1-fd00::ff/64"},
		{"10.0.0.9-10.0.0.1/24", -ERANGE, NULL},
		{"10.0.0.1-10.0.1.1/24", -ERANGE, NULL},
		{"10.0.0.1-fd00::1", -EINVAL, NULL},
		{"10.0.0.1-/24", -EINVAL, NULL},
		{"-10.0.0.1", -EINVAL, NULL},
		{"10.0.0.1-10.0.0.2-10.0.0.3", -EINVAL, NULL},
		{"", -EINVAL, NULL},
	};
	char buf[2 * IP_ADDR_STR_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ip_range r;

		assert_int_equal(ip_range_parse(cases[i].text, &r), cases[i].result);
		if (cases[i].printed)
			assert_string_equal(ip_range_format(&r, buf, sizeof(buf)),
					    cases[i].printed);
	}
}

static void test_ranges_count_and_overlap(void **state)
{
	struct ip_range a = range("10.0.0.250-10.0.1.5"), b = range("10.0.1.5-10.0.1.6"),
			c = range("10.0.1.6"), all4 = range("0.0.0.0-255.255.255.255"),
			all6 = range("::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
			half = range("fd00::-fd00::ffff:ffff:ffff:ffff"),
			borrow = range("fd00::1:0-fd00::2:0");
	struct ip_addr in = ip("10.0.1.0"), out = ip("10.0.1.6");

	assert_int_equal(ip_range_count(&a), 12);
	assert_int_equal(ip_range_count(&c), 1);
	assert_int_equal(ip_range_count(&all4), UINT64_C(1) << 32);
	assert_true(ip_range_count(&all6) == UINT64_MAX);
	assert_true(ip_range_count(&half) == UINT64_MAX);
	assert_int_equal(ip_range_count(&borrow), 65537);
	assert_true(ip_range_overlaps(&a, &b));
	assert_true(ip_range_overlaps(&b, &c));
	assert_false(ip_range_overlaps(&a, &c));
	assert_false(ip_range_overlaps(&all4, &all6));
	assert_true(ip_range_contains(&a, &in));
	assert_false(ip_range_contains(&a, &out));
}

static void test_addition_carries_and_ends(void **state)
{
	struct ip_addr a, sum;
	char buf[IP_ADDR_STR_MAX];

	a = ip("10.0.0.250");
	assert_true(ip_addr_add(&a, 10, &sum));
	assert_string_equal(ip_addr_format(&sum, buf, sizeof(buf)), "10.0.1.4");
	a = ip("255.255.255.255");
	assert_false(ip_addr_add(&a, 1, &sum));
	assert_true(ip_addr_add(&a, 0, &sum));
	a = ip("0.0.0.1");
	assert_false(ip_addr_add(&a, UINT64_C(1) << 32, &sum));
	a = ip("fd00::ffff:ffff:ffff:ffff");
	assert_true(ip_addr_add(&a, 1, &sum));
	assert_string_equal(ip_addr_format(&sum, buf, sizeof(buf)), "fd00:0:0:1::");
	assert_true(ip_addr_add(&a, UINT64_MAX, &sum));
	assert_string_equal(ip_addr_format(&sum, buf, sizeof(buf)), "fd00::1:ffff:ffff:ffff:fffe");
	a = ip("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
	assert_false(ip_addr_add(&a, 1, &sum));
}

static void test_order_puts_ipv4_first(void **state)
{
	struct ip_addr a = ip("255.0.0.0"), b = ip("::1"), c = ip("255.0.0.1");

	assert_true(ip_addr_cmp(&a, &b) < 0);
	assert_true(ip_addr_cmp(&b, &a) > 0);
	assert_true(ip_addr_cmp(&a, &c) < 0);
	assert_true(ip_addr_equal(&c, &c));
}

static void test_network_clears_host_bits(void **state)
{
	struct ip_addr a = ip("10.11.12.13"), net;
	char buf[IP_ADDR_STR_MAX];

	net = ip_addr_network(&a, 20);
	assert_string_equal(ip_addr_format(&net, buf, sizeof(buf)), "10.11.0.0");
	net = ip_addr_network(&a, 0);
	assert_string_equal(ip_addr_format(&net, buf, sizeof(buf)), "0.0.0.0");
	net = ip_addr_network(&a, 32);
	assert_true(ip_addr_equal(&net, &a));
	net = ip_prefix_last(&(struct ip_prefix){a, 20});
	assert_string_equal(ip_addr_format(&net, buf, sizeof(buf)), "10.11.15.255");
	net = ip_prefix_last(&(struct ip_prefix){a, 32});
	assert_true(ip_addr_equal(&net, &a));
	net = ip_prefix_last(&(struct ip_prefix){ip("fd00::1"), 64});
	assert_string_equal(ip_addr_format(&net, buf, sizeof(buf)), "fd00::ffff:ffff:ffff:ffff");
}

static void test_mac_addresses(void **state)
{
	static const char *const bad[] = {"", "00:11:22:33:44", "00:11:22:33:44:5g",
					  "00-11-22-33-44-55", "00:11:22:33:44:555"};
	struct mac_addr m;
	char buf[MAC_ADDR_STR_MAX];

	assert_int_equal(mac_addr_parse("00:1A:2b:33:44:ff", &m), 0);
	assert_string_equal(mac_addr_format(&m, buf, sizeof(buf)), "00:1a:2b:33:44:ff");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(mac_addr_parse(bad[i], &m), -EINVAL);
}

static void test_socket_addresses(void **state)
{
	static const char *const texts[] = {"10.1.2.3", "fd00::7"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct ip_addr a = ip(texts[i]), back;
		struct sockaddr_storage ss;
		uint16_t port = 0;
		int len = ip_addr_to_sockaddr(&a, 7411, &ss);

		assert_true(len > 0);
		assert_int_equal(ip_addr_from_sockaddr((struct sockaddr *)&ss, &back, &port), len);
		assert_true(ip_addr_equal(&a, &back));
		assert_int_equal(port, 7411);
	}
	{
		struct ip_addr none = {0};
		struct sockaddr_storage ss;

		assert_int_equal(ip_addr_to_sockaddr(&none, 1, &ss), -EAFNOSUPPORT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_parse_and_print_alike),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_ranges_parse),
		cmocka_unit_test(test_ranges_count_and_overlap),
		cmocka_unit_test(test_addition_carries_and_ends),
		cmocka_unit_test(test_order_puts_ipv4_first),
		cmocka_unit_test(test_network_clears_host_bits),
		cmocka_unit_test(test_mac_addresses),
		cmocka_unit_test(test_socket_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
