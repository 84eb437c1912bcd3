/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the pages of lists: parameters, order, and the link to the next page. */
#include "agent/api/rest/api_list.h"
#include "netcfg/base/base.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct api_list page;
static struct api_error error;

static int take(const char *method, const char *path, const char *limit, const char *after)
{
	const struct api_request rq = {
		.method = method, .path = path, .limit = limit, .after = after};

	memset(&error, 0, sizeof(error));
	return api_list_take(&rq, &page, &error);
}

static void refused(const char *path, const char *limit, const char *after, const char *why)
{
	assert_int_equal(take("GET", path, limit, after), -EINVAL);
	assert_int_equal(error.http_status, 400);
	assert_string_equal(error.message, why);
	assert_null(page.row);
}

static void test_invalid_pages_are_refused_with_the_value_to_write(void **state)
{
	char long_key[API_LIST_KEY_MAX + 1];

	refused("/v1/history", "0", NULL, "'limit' is '0'; write a number from 1 to 1000");
	refused("/v1/history", "-1", NULL, "'limit' is '-1'; write a number from 1 to 1000");
	refused("/v1/history", "", NULL, "'limit' is ''; write a number from 1 to 1000");
	refused("/v1/net", "1001", NULL, "'limit' is '1001'; write a number from 1 to 1000");
	refused("/v1/history", NULL, "x",
		"'after' is 'x'; write the number of the previous page's last member");
	refused("/v1/net", NULL, "",
		"'after' is ''; write the name of the previous page's last member");
	refused("/v1/net", NULL, "\x1b[31m",
		"'after' is '?[31m'; write the name of the previous page's last member");
	memset(long_key, 'x', sizeof(long_key) - 1);
	long_key[sizeof(long_key) - 1] = '\0';
	assert_int_equal(take("GET", "/v1/net", NULL, long_key), -EINVAL);
	assert_int_equal(take("POST", "/v1/net", "5", NULL), -EINVAL);
	assert_string_equal(error.message,
			    "only GET takes 'limit' and 'after'; remove these parameters");
}

static void test_other_requests_have_no_page(void **state)
{
	assert_int_equal(take("GET", "/v1/history", NULL, NULL), 0);
	assert_null(page.row);
	assert_int_equal(take("POST", "/v1/net", NULL, NULL), 0);
	assert_int_equal(take("GET", "/v1/events", "5", NULL), 0); /* a limit of its kind */
	assert_null(page.row);
	assert_false(api_list_has_path("/v1/events"));
	assert_false(api_list_has_path("/v1/history/7"));
	assert_true(api_list_has_path("/v1/history"));
}

/* Expects the keys of the page, joined by blanks, and the link. */
static void gives(const char *text, const char *keys, const char *link)
{
	char got[256] = "", ret_link[API_LIST_LINK_MAX];
	autofree char *cut = NULL;
	json_t *o, *member;
	size_t i, n = 0;

	assert_int_equal(api_list_cut(&page, text, strlen(text), &cut, ret_link), 0);
	o = json_loads(cut, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(o, "host")), "h");
	json_array_foreach (json_object_get(o, page.row->list), i, member) {
		const json_t *key = json_object_get(member, page.row->key);

		if (json_is_string(key))
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%s", i ? " " : "",
					      json_string_value(key));
		else
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%d", i ? " " : "",
					      (int)json_integer_value(key));
	}
	assert_string_equal(got, keys);
	assert_string_equal(ret_link, link);
	json_decref(o);
}

#define HISTORY(list) "{\"host\":\"h\",\"history\":[" list "]}"
#define N(number) "{\"number\":" #number "}"

/* The pages follow each other also if members come and go meanwhile. */
static void test_pages_begin_after_a_key(void **state)
{
	assert_int_equal(take("GET", "/v1/history", "2", NULL), 0);
	gives(HISTORY(N(12) "," N(11) "," N(9) "," N(2)), "12 11",
	      "</v1/history?limit=2&after=11>; rel=\"next\"");
	assert_int_equal(take("GET", "/v1/history", "2", "11"), 0);
	gives(HISTORY(N(14) "," N(13) "," N(12) "," N(9) "," N(2)), "9 2", "");
	assert_int_equal(take("GET", "/v1/history", NULL, "9"), 0);
	gives(HISTORY(N(12) "," N(9) "," N(2) "," N(1)), "2 1", "");
	assert_int_equal(take("GET", "/v1/history", "3", "1"), 0);
	gives(HISTORY(N(12)), "", "");
	gives(HISTORY(""), "", "");
}

static void test_names_with_numbers_are_in_their_order(void **state)
{
	static const char text[] = "{\"host\":\"h\",\"processes\":[{\"id\":\"a b/10\"},"
				   "{\"id\":\"a b/0\"},{\"id\":\"a b/2\"},{\"id\":\"a b/1\"}]}";

	assert_int_equal(take("GET", "/v1/processes", "3", NULL), 0);
	gives(text, "a b/0 a b/1 a b/2", "</v1/processes?limit=3&after=a%20b/2>; rel=\"next\"");
	assert_int_equal(take("GET", "/v1/processes", "3", "a b/2"), 0);
	gives(text, "a b/10", "");
}

static void test_an_answer_without_the_list_is_an_error(void **state)
{
	char link[API_LIST_LINK_MAX], *cut;

	assert_int_equal(take("GET", "/v1/history", "3", NULL), 0);
	assert_int_equal(api_list_cut(&page, "{}", 2, &cut, link), -EBADMSG);
	assert_int_equal(api_list_cut(&page, "[", 1, &cut, link), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_invalid_pages_are_refused_with_the_value_to_write),
		cmocka_unit_test(test_other_requests_have_no_page),
		cmocka_unit_test(test_pages_begin_after_a_key),
		cmocka_unit_test(test_names_with_numbers_are_in_their_order),
		cmocka_unit_test(test_an_answer_without_the_list_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
