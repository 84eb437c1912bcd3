/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the check of request heads, and how they are split. */
#include "agent/api/api_head.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct api_error error;

static const char good_head[] = "GET /v1/status?x=1 HTTP/1.1\r\nHost: plenum\r\n\r\n";

static unsigned head(const char *text)
{
	ssize_t r = api_head_check(text, strlen(text), &error);

	if (r >= 0)
		return r > 0 ? 200 : 100; /* 100: more bytes are needed */
	assert_non_null(error.code);
	assert_string_not_equal(error.message, "");
	return error.http_status;
}

static void test_a_valid_head_is_accepted(void **state)
{
	size_t len = strlen(good_head);
	char longer[512];

	for (size_t i = 0; i < len; i++) /* byte by byte, as from a slow client */
		assert_int_equal(api_head_check(good_head, i, &error), 0);
	assert_int_equal(api_head_check(good_head, len, &error), len);
	snprintf(longer, sizeof(longer), "%s\x01\x02 a body may hold anything", good_head);
	assert_int_equal(api_head_check(longer, strlen(longer), &error), len);
	assert_int_equal(head("PUT /v1/config/staged HTTP/1.1\r\nHost: x\r\n"
			      "content-length: \t1048576 \r\nExpect: 100-continue\r\n\r\n"),
			 200);
	assert_int_equal(head("GET / HTTP/1.0\r\n\r\n"), 200);
}

static void test_an_invalid_head_is_refused(void **state)
{
	static const struct {
		unsigned status;
		const char *text;
	} bad[] = {
		{400, "\r\n"},
		{400, "GET / HTTP/1.1\nHost: x\n\n"},
		{400, "GET / HTTP/1.1\r\n\r\n"}, /* no Host */
		{400, "GET /\r\nHost: x\r\n\r\n"},
		{400, "GET  / HTTP/1.1\r\nHost: x\r\n\r\n"},
		{400, "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n"},
		{400, "G(T / HTTP/1.1\r\nHost: x\r\n\r\n"},
		{400, "GET /\x80 HTTP/1.1\r\nHost: x\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost x\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost : x\r\n\r\n"},
		{400, "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"},
		{400, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"},
		{400,
		 "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"},
		{400, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n"},
		{413, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n"},
		{417, "PUT / HTTP/1.1\r\nHost: x\r\nExpect: the-moon\r\n\r\n"},
		{501, "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{505, "GET / HTTP/2.0\r\nHost: x\r\n\r\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(head(bad[i].text), bad[i].status);
	/* NUL is an ordinary byte. */
	assert_int_equal(api_head_check("GET / HTTP/1.1\r\nHost: \0\r\n\r\n", 28, &error), -EINVAL);
}

static void test_a_large_head_is_refused(void **state)
{
	static char text[3 * API_HEAD_BYTES_MAX];
	size_t n;

	n = (size_t)sprintf(text, "GET /%02000d HTTP/1.1\r\nHost: x\r\n\r\n", 0);
	assert_int_equal(api_head_check(text, n, &error), -EINVAL);
	assert_int_equal(error.http_status, 414);
	memset(text, 'x', sizeof(text)); /* a first line that does not end */
	assert_int_equal(api_head_check(text, API_HEAD_BYTES_MAX - 1, &error), 0);
	assert_int_equal(api_head_check(text, sizeof(text), &error), -EINVAL);
	assert_int_equal(error.http_status, 414);
	n = (size_t)sprintf(text, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
	text[n] = 'x'; /* one header larger than the limit for all */
	assert_int_equal(api_head_check(text, sizeof(text), &error), -EINVAL);
	assert_int_equal(error.http_status, 431);
	n = (size_t)sprintf(text, "GET / HTTP/1.1\r\nHost: x\r\n");
	for (unsigned i = 0; i < API_FIELDS_MAX; i++)
		n += (size_t)sprintf(text + n, "a:\r\n");
	n += (size_t)sprintf(text + n, "\r\n");
	assert_int_equal(api_head_check(text, n, &error), -EINVAL);
	assert_int_equal(error.http_status, 431);
}

static void split(const char *text, struct api_head *ret)
{
	static char copy[1024];

	strcpy(copy, text);
	assert_int_equal(api_head_check(copy, strlen(copy), &error), strlen(copy));
	api_head_split(copy, strlen(copy), ret);
}

static void test_a_head_is_split(void **state)
{
	const char *value;
	struct api_head h;

	split("GET /v1/net/leg%2da%00?a=1+2%263&b&=c&limit=%7 HTTP/1.1\r\nHost:\tx \r\n"
	      "accept: a\r\nAccept: b\r\nIf-None-Match:\r\n\r\n",
	      &h);
	assert_string_equal(h.method, "GET");
	assert_string_equal(h.path, "/v1/net/leg-a%00");
	assert_string_equal(h.fields[API_FIELD_HOST], "x");
	assert_string_equal(h.fields[API_FIELD_ACCEPT], "a");
	assert_string_equal(h.fields[API_FIELD_IF_NONE_MATCH], "");
	assert_null(h.fields[API_FIELD_ORIGIN]);
	assert_true(h.keeps && h.body_len == 0);
	assert_string_equal(api_head_next_argument(&h.query, &value), "a");
	assert_string_equal(value, "1 2&3");
	assert_string_equal(api_head_next_argument(&h.query, &value), "b");
	assert_string_equal(value, "");
	assert_string_equal(api_head_next_argument(&h.query, &value), "");
	assert_string_equal(value, "c");
	assert_string_equal(api_head_next_argument(&h.query, &value), "limit");
	assert_string_equal(value, "%7");
	assert_null(api_head_next_argument(&h.query, &value));
}

static void test_the_client_decides_whether_it_sends_more(void **state)
{
	static const struct {
		const char *text;
		bool keeps;
	} heads[] = {
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", true},
		{"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: x\r\nConnection: TE,\tCLOSE\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: x\r\nConnection: closed\r\n\r\n", true},
		{"GET / HTTP/1.1\r\nHost: x\r\nConnection: x\r\nConnection: close\r\n\r\n", false},
		{"GET / HTTP/1.0\r\n\r\n", false},
		{"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false},
		{"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
	};
	struct api_head h;

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		split(heads[i].text, &h);
		assert_int_equal(h.keeps, heads[i].keeps);
	}
	split("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\nExpect: 100-continue\r\n\r\n",
	      &h);
	assert_true(h.expects_continue && h.body_len == 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_valid_head_is_accepted),
		cmocka_unit_test(test_an_invalid_head_is_refused),
		cmocka_unit_test(test_a_head_is_split),
		cmocka_unit_test(test_the_client_decides_whether_it_sends_more),
		cmocka_unit_test(test_a_large_head_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
