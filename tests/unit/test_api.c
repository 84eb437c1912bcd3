/* SPDX-License-Identifier: BSD-3-Clause */
/* From HTTP requests to messages: paths, methods, queries, bodies. */
#include "agent/api_route.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct privsep_msg msg;
static struct api_error error;
static unsigned wait_s;

static int route(const char *method, const char *path, const char *body)
{
	struct api_request rq = {
		.method = method, .path = path, .body = body, .body_len = body ? strlen(body) : 0};

	memset(&error, 0, sizeof(error));
	return api_route(&rq, &msg, &wait_s, &error);
}

static unsigned refused(const char *method, const char *path, const char *body)
{
	assert_int_equal(route(method, path, body), -EINVAL);
	assert_non_null(error.code);
	assert_string_not_equal(error.message, "");
	return error.http_status;
}

static void test_gets(void **state)
{
	static const struct {
		const char *path;
		enum privsep_what what;
	} gets[] = {
		{"/v1/status", PRIVSEP_STATUS},
		{"/v1/processes", PRIVSEP_PROCESSES},
		{"/v1/inventory", PRIVSEP_INVENTORY},
		{"/v1/plan", PRIVSEP_PLAN},
		{"/v1/net", PRIVSEP_NET},
		{"/v1/metrics", PRIVSEP_METRICS},
		{"/v1/config/running", PRIVSEP_CONFIG_RUNNING},
		{"/v1/config/staged", PRIVSEP_CONFIG_STAGED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(gets); i++) {
		assert_int_equal(route("GET", gets[i].path, NULL), 0);
		assert_int_equal(msg.type, PRIVSEP_GET);
		assert_int_equal(msg.get.what, gets[i].what);
	}
}

static void test_unknown_and_wrong_method(void **state)
{
	static const char *const unknown[] = {"/",	     "/v1",	   "/v1/", "/v1/status/",
					      "/v1/nothing", "/v2/status", "",	   "/v1/netx",
					      "/v1/config",  "/../etc",	   "*"};

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		assert_int_equal(refused("GET", unknown[i], NULL), 404);
	assert_int_equal(refused("POST", "/v1/status", NULL), 405);
	assert_string_equal(error.allow, "GET");
	assert_int_equal(refused("GET", "/v1/apply", NULL), 405);
	assert_string_equal(error.allow, "POST");
	assert_int_equal(refused("PATCH", "/v1/net", NULL), 405);
	assert_string_equal(error.allow, "GET, POST");
	assert_int_equal(refused("GET", "/v1/net/leg-a", NULL), 405);
	assert_int_equal(refused("TRACE", "/v1/config/staged", NULL), 405);
}

static void test_events(void **state)
{
	struct api_request rq = {
		.method = "GET", .path = "/v1/events", .since = "42", .wait = "30"};

	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
	assert_int_equal(msg.type, PRIVSEP_GET_EVENTS);
	assert_int_equal(msg.get_events.since, 42);
	assert_int_equal(wait_s, 30);
	static const char *const bad[] = {"", "-1", "x", "1x", " 1", "99999999999999999999"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		rq.since = bad[i];
		assert_int_equal(api_route(&rq, &msg, &wait_s, &error), -EINVAL);
		assert_int_equal(error.http_status, 400);
	}
	rq.since = NULL;
	rq.wait = "61";
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), -EINVAL);
}

static void test_net_add(void **state)
{
	assert_int_equal(route("POST", "/v1/net",
			       "{\"name\":\"leg-a\",\"device\":\"eth1\",\"network\":\"data-a\","
			       "\"label\":\"sw\",\"ips\":[\"10.0.0.1\",\"10.0.0.5-10.0.0.9\"]}"),
			 0);
	assert_int_equal(msg.type, PRIVSEP_NET_ADD);
	assert_string_equal(msg.net_add.name, "leg-a");
	assert_string_equal(msg.net_add.device, "eth1");
	assert_string_equal(msg.net_add.ips[1], "10.0.0.5-10.0.0.9");
	assert_string_equal(msg.net_add.ips[2], "");
	assert_int_equal(
		route("POST", "/v1/net",
		      "{\"name\":\"a\",\"device\":\"b\",\"network\":\"c\",\"label\":null}"),
		0);
	assert_string_equal(msg.net_add.label, "");
}

static void test_net_add_refused(void **state)
{
	static const char *const bad[] = {
		NULL,
		"",
		"[]",
		"{",
		"null",
		"{\"name\":\"a\"}",
		"{\"name\":1,\"device\":\"b\",\"network\":\"c\"}",
		"{\"name\":\"a\",\"device\":\"b\",\"network\":\"c\",\"colour\":\"d\"}",
		"{\"name\":\"a\",\"name\":\"a\",\"device\":\"b\",\"network\":\"c\"}",
		"{\"name\":\"a\\u0000b\",\"device\":\"b\",\"network\":\"c\"}",
		"{\"name\":\"a\",\"device\":\"b\",\"network\":\"c\",\"ips\":[1]}",
		"{\"name\":\"a\",\"device\":\"b\",\"network\":\"c\",\"ips\":[\"\"]}",
		"{\"name\":\"a\",\"device\":\"b\",\"network\":\"c\",\"ips\":{}}",
	};
	char longer[400];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(refused("POST", "/v1/net", bad[i]), 400);
	snprintf(longer, sizeof(longer), "{\"name\":\"%0200d\",\"device\":\"b\",\"network\":\"c\"}",
		 1);
	assert_int_equal(refused("POST", "/v1/net", longer), 400);
}

static void test_net_del(void **state)
{
	char path[200];

	assert_int_equal(route("DELETE", "/v1/net/leg-a", NULL), 0);
	assert_int_equal(msg.type, PRIVSEP_NET_DEL);
	assert_string_equal(msg.net_del.name, "leg-a");
	assert_int_equal(refused("DELETE", "/v1/net/", NULL), 404);
	assert_int_equal(refused("DELETE", "/v1/net/a/b", NULL), 404);
	snprintf(path, sizeof(path), "/v1/net/%0100d", 1);
	assert_int_equal(refused("DELETE", path, NULL), 404);
}

static void test_staged(void **state)
{
	assert_int_equal(route("PUT", "/v1/config/staged", "host: a\n"), 0);
	assert_int_equal(msg.type, PRIVSEP_PUT_STAGED);
	assert_int_equal(msg.put_staged.len, 8);
	assert_int_equal(refused("PUT", "/v1/config/staged", NULL), 400);
	assert_int_equal(route("DELETE", "/v1/config/staged", NULL), 0);
	assert_int_equal(msg.type, PRIVSEP_DROP_STAGED);
	assert_int_equal(route("POST", "/v1/apply", NULL), 0);
	assert_int_equal(msg.type, PRIVSEP_APPLY);
	assert_int_equal(refused("POST", "/v1/apply", "{}"), 400);
	assert_int_equal(refused("POST", "/v1/apply", "[1]"), 400);
}

static void test_error_text(void **state)
{
	struct api_error e = {.http_status = 404, .code = "not-found", .message = "no \"x\""};
	char *text = api_error_to_json(&e);

	assert_string_equal(text, "{\"error\":{\"code\":\"not-found\",\"message\":\"no \\\"x\\\"\","
				  "\"details\":[]}}");
	free(text);
	strcpy(e.message, "\xff");
	text = api_error_to_json(&e);
	assert_non_null(text);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gets),
		cmocka_unit_test(test_unknown_and_wrong_method),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_net_add),
		cmocka_unit_test(test_net_add_refused),
		cmocka_unit_test(test_net_del),
		cmocka_unit_test(test_staged),
		cmocka_unit_test(test_error_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
