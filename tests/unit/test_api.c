/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the conversion of HTTP requests to messages: paths, methods, queries, bodies. */
#include "agent/api/rest/api_route.h"
#include "agent/api/rest/openapi.h"
#include "agent/api/rest/resource.h"
#include "netcfg/base/file.h"
#include "netcfg/base/log.h"
#include "netcfg/base/when.h"
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

static void test_get_requests_become_messages(void **state)
{
	static const struct {
		const char *path;
		enum privsep_what what;
	} gets[] = {
		{"/v1/status", PRIVSEP_STATUS},
		{"/v1/processes", PRIVSEP_PROCESSES},
		{"/v1/mounts", PRIVSEP_MOUNTS},
		{"/v1/exports", PRIVSEP_EXPORTS},
		{"/v1/clients", PRIVSEP_CLIENTS},
		{"/v1/peers", PRIVSEP_PEERS},
		{"/v1/paths", PRIVSEP_PATHS},
		{"/v1/sessions", PRIVSEP_SESSIONS},
		{"/v1/locks", PRIVSEP_LOCKS},
		{"/v1/inventory", PRIVSEP_INVENTORY},
		{"/v1/plan", PRIVSEP_PLAN},
		{"/v1/net", PRIVSEP_NET},
		{"/v1/history", PRIVSEP_HISTORY},
		{"/v1/history/7", PRIVSEP_HISTORY_CONFIG},
		{"/v1/faults", PRIVSEP_FAULTS},
		{"/v1/captures", PRIVSEP_CAPTURES},
		{"/v1/metrics", PRIVSEP_METRICS},
		{"/v1/config/running", PRIVSEP_CONFIG_RUNNING},
		{"/v1/config/staged", PRIVSEP_CONFIG_STAGED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(gets); i++) {
		assert_int_equal(route("GET", gets[i].path, NULL), 0);
		assert_true(msg.type == PRIVSEP_GET && msg.get.what == gets[i].what);
	}
}

static void test_unknown_paths_and_methods_are_refused(void **state)
{
	static const char *const unknown[] = {"/v1/", "/v1/status/", "/v1/nothing", "/v2/status",
					      "",     "/v1/netx",    "/v1/config",  "/../etc",
					      "*"};

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		assert_int_equal(refused("GET", unknown[i], NULL), 404);
	assert_int_equal(refused("POST", "/v1/status", NULL), 405);
	assert_string_equal(error.allow, "GET, HEAD, OPTIONS");
	assert_int_equal(refused("GET", "/v1/apply", NULL), 405);
	assert_string_equal(error.allow, "POST, OPTIONS");
	assert_int_equal(refused("PATCH", "/v1/net", NULL), 405);
	assert_string_equal(error.allow, "GET, HEAD, POST, OPTIONS");
	assert_int_equal(refused("PUT", "/v1/net/leg-a", NULL), 405);
	assert_string_equal(error.allow, "GET, HEAD, PATCH, DELETE, OPTIONS");
	assert_int_equal(refused("TRACE", "/v1/config/staged", NULL), 405);
}

/* The read-only socket offers every resource but no change. */
static void test_the_read_only_socket_refuses_changes(void **state)
{
	static const char *const changes[][2] = {{"PUT", "/v1/config/staged"},
						 {"DELETE", "/v1/config/staged"},
						 {"POST", "/v1/net"},
						 {"DELETE", "/v1/net/leg-a"},
						 {"POST", "/v1/apply"}};
	struct api_request rq = {.method = "GET", .path = "/v1/status", .read_only = true};

	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		rq.method = changes[i][0];
		rq.path = changes[i][1];
		assert_int_equal(api_route(&rq, &msg, &wait_s, &error), -EINVAL);
		assert_int_equal(error.http_status, 403);
		assert_non_null(strstr(error.message, "plenumd-admin.sock"));
	}
	rq.path = "/v1/nothing";
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), -EINVAL);
	assert_int_equal(error.http_status, 404);
}

/* Unknown parameters are refused, not ignored. */
static void test_unknown_parameters_are_refused(void **state)
{
	struct api_request rq = {.method = "GET", .path = "/v1/events", .unknown = "sinse"};

	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), -EINVAL);
	assert_int_equal(error.http_status, 400);
	assert_string_equal(error.message,
			    "unknown parameter 'sinse'; known are since, wait, instance, severity, "
			    "from, until, source, limit");
	rq.path = "/v1/status";
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), -EINVAL);
	assert_string_equal(error.message, "unknown parameter 'sinse'; this path takes none");
	rq.unknown = NULL;
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
}

/* Each wrong value names the parameter, the value, and what to write. */
static void test_events_take_filters(void **state)
{
	static const struct {
		struct api_request rq;
		const char *message;
	} bad[] = {
		{{.since = "x"}, "'since' is 'x'; write the number of an event"},
		{{.wait = "61"}, "'wait' is '61'; write seconds from 0 to 60"},
		{{.severity = "bad"}, "'severity' is 'bad'; write error, warning, notice or info"},
		{{.severity = ""}, "'severity' is ''; write error, warning, notice or info"},
		{{.limit = "0"}, "'limit' is '0'; write a number from 1 to 1000"},
		{{.severity = "debug"},
		 "'severity' is 'debug'; write error, warning, notice or info"},
		{{.limit = "1001"}, "'limit' is '1001'; write a number from 1 to 1000"},
		{{.from = "2 h"}, "from is '2 h'; write " WHEN_FORMS},
		{{.until = "2026-02-30"}, "until is '2026-02-30'; write " WHEN_FORMS},
		{{.from = "2026-11-27", .until = "2026-11-26"},
		 "'until' is '2026-11-26'; write a time after the time in 'from'"},
		{{.source = "a\x1b"},
		 "'source' is 'a?'; write a source as in the list of events: agent, api, worker 2, "
		 "or the name of a leg"},
	};
	struct api_request rq = {.method = "GET",
				 .path = "/v1/events",
				 .severity = "warning",
				 .from = "2026-11-27T22:00",
				 .source = "worker 2",
				 .limit = "1000"};

	rq.until = "2026-11-27T23:30+01:00";
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
	assert_int_equal(msg.get_events.severity, LOG_LEVEL_WARNING);
	assert_int_equal(msg.get_events.until_ms - msg.get_events.from_ms, 30 * 60 * 1000);
	assert_string_equal(msg.get_events.source, "worker 2");
	assert_int_equal(msg.get_events.limit, 1000);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		rq = bad[i].rq;
		rq.method = "GET";
		rq.path = "/v1/events";
		assert_int_equal(api_route(&rq, &msg, &wait_s, &error), -EINVAL);
		assert_int_equal(error.http_status, 400);
		assert_string_equal(error.message, bad[i].message);
	}
}

static void test_events_take_since_wait_and_instance(void **state)
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
	rq.instance = "00000000deadbeef";
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
	assert_int_equal(msg.get_events.instance, 0xdeadbeef);
	static const char *const no_instance[] = {"", "xyz", "-1", "10000000000000000"};
	for (size_t i = 0; i < ARRAY_SIZE(no_instance); i++) {
		rq.instance = no_instance[i];
		assert_int_equal(api_route(&rq, &msg, &wait_s, &error), -EINVAL);
	}
	rq.instance = NULL;
	rq.wait = "61";
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), -EINVAL);
}

static void test_net_add_passes_the_body(void **state)
{
	assert_int_equal(route("POST", "/v1/net",
			       "{\"name\":\"leg-a\",\"device\":\"eth1\",\"network\":\"data-a\","
			       "\"label\":\"sw\",\"ips\":[\"10.0.0.1\",\"10.0.0.5-10.0.0.9\"]}"),
			 0);
	assert_int_equal(msg.type, PRIVSEP_NET_ADD);
	assert_true(msg.net.len > 80);
	/* The monitor checks keys against the schema; this side does not know them. */
	assert_int_equal(
		route("POST", "/v1/net", "{\"dcb\":{\"ets\":[{\"tc\":0,\"prios\":[0,1]}]}}"), 0);
	assert_int_equal(route("POST", "/v1/net", "{\"any\":null,\"b\":{\"c\":1}}"), 0);
}

static void test_net_add_refuses_invalid_bodies(void **state)
{
	static const char *const bad[] = {
		NULL,
		"",
		"[]",
		"{}",
		"{",
		"null",
		"{\"name\":\"a\"} {}",
		"{\"vfs\":1.5}",
		"{\"name\":\"a\",\"name\":\"a\",\"device\":\"b\",\"network\":\"c\"}",
		"{\"name\":\"a\\u0000b\",\"device\":\"b\",\"network\":\"c\"}",
		"{\"name\":\"a\\nb\"}",
		"{\"name\":\"\xc3\xa4\"}",
		"{\"a\":[[[[[\"deeper than any key\"]]]]]}",
		"{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":1}}}}}}",
	};
	autofree char *longer = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(refused("POST", "/v1/net", bad[i]), 400);
	assert_true(asprintf(&longer, "{\"name\":\"%0*d\"}", (int)PRIVSEP_JSON_MAX, 1) > 0);
	assert_int_equal(refused("POST", "/v1/net", longer), 413);
}

static void test_captures_check_their_options(void **state)
{
	static const char *const bad[] = {"{\"legs\":\"a\"}",
					  "{\"worker\":-1}",
					  "{\"worker\":\"1\"}",
					  "{\"snap\":63}",
					  "{\"snap\":65536}",
					  "{\"buffer\":1000}",
					  "{\"buffer\":99999999999}",
					  "{\"leg\":1}",
					  "{\"keys\":1}",
					  "[]"};
	struct api_request rq = {.method = "POST", .path = "/v1/captures"};

	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
	assert_int_equal(msg.type, PRIVSEP_CAPTURE);
	assert_int_equal(msg.capture.act, PRIVSEP_CAPTURE_BEGIN);
	assert_int_equal(msg.capture.worker, PRIVSEP_CAPTURE_ALL);
	assert_int_equal(msg.capture.snap_bytes, PRIVSEP_CAPTURE_SNAP);
	assert_int_equal(msg.capture.keys,
			 0); /* session keys are sent only on an explicit request */
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(refused("POST", "/v1/captures", bad[i]), 400);
	rq.body =
		"{\"leg\":\"leg-a\",\"worker\":3,\"snap\":65535,\"buffer\":4194304,\"keys\":true}";
	rq.body_len = strlen(rq.body);
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
	assert_string_equal(msg.capture.leg, "leg-a");
	assert_int_equal(msg.capture.worker, 3);
	assert_int_equal(msg.capture.snap_bytes, 65535);
	assert_int_equal(msg.capture.buffer_bytes, 4194304);
	assert_int_equal(msg.capture.keys, 1);
	rq = (struct api_request){.method = "POST", .path = "/v1/captures/00000000deadbeef"};
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
	assert_int_equal(msg.capture.act, PRIVSEP_CAPTURE_TAKE);
	assert_int_equal(msg.capture.id, 0xdeadbeef);
	rq.method = "DELETE";
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
	assert_int_equal(msg.capture.act, PRIVSEP_CAPTURE_END);
	rq.read_only = true; /* captures need the right to make changes */
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), -EINVAL);
	assert_int_equal(error.http_status, 403);
	assert_int_equal(refused("POST", "/v1/captures/0", ""), 404);
	assert_int_equal(refused("POST", "/v1/captures/xyz", ""), 404);
	assert_int_equal(refused("GET", "/v1/captures/00000000deadbeef", ""), 405);
}

static void test_rdma_pings_check_their_options(void **state)
{
	static const char *const bad[] = {
		"{}",
		"[]",
		"{\"peer\":\"host-b\"}",
		"{\"leg\":\"leg-a\"}",
		"{\"peer\":\"host-b\",\"leg\":\"leg-a\",\"bytes\":0}",
		"{\"peer\":\"host-b\",\"leg\":\"leg-a\",\"bytes\":1048577}",
		"{\"peer\":\"host-b\",\"leg\":\"leg-a\",\"count\":4097}",
		"{\"peer\":\"host-b\",\"leg\":\"leg-a\",\"depth\":5}",
		"{\"peer\":\"host-b\",\"leg\":\"leg-a\",\"direction\":\"up\"}",
		"{\"peer\":\"host-b\",\"leg\":\"leg-a\",\"size\":5}",
	};
	struct api_request rq = {.method = "POST", .path = "/v1/rdma-pings"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(refused("POST", "/v1/rdma-pings", bad[i]), 400);
	rq.body = "{\"peer\":\"host-b\",\"leg\":\"leg-a\",\"direction\":\"out\",\"depth\":4}";
	rq.body_len = strlen(rq.body);
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
	assert_int_equal(msg.type, PRIVSEP_RDMA_PING);
	assert_int_equal(msg.ping.id, 0);
	assert_int_equal(msg.ping.what, LAUNCH_PING_OUT);
	assert_int_equal(msg.ping.bytes, 64);
	assert_int_equal(msg.ping.count, 100);
	assert_int_equal(msg.ping.depth, 4);
	assert_string_equal(msg.ping.leg, "leg-a");
	assert_string_equal(msg.ping.peer, "host-b");
	rq = (struct api_request){.method = "POST", .path = "/v1/rdma-pings/00000000deadbeef"};
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
	assert_int_equal(msg.ping.id, 0xdeadbeef);
	rq.read_only = true; /* a ping by RDMA loads the network */
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), -EINVAL);
	assert_int_equal(error.http_status, 403);
	assert_int_equal(refused("POST", "/v1/rdma-pings/0", ""), 404);
	assert_int_equal(refused("GET", "/v1/rdma-pings/00000000deadbeef", ""), 405);
}

static void test_the_manual_lists_all_routes(void **state)
{
	autofree char *table = resource_man_table(), *manual = NULL;
	size_t len;

	assert_non_null(table);
	assert_int_equal(file_read(TOP_SRCDIR "/man/plenum-api.7", 1 << 20, &manual, &len), 0);
	if (!strstr(manual, table))
		fail_msg("plenum-api(7) has another list of routes: run make -C man update-keys");
}

/* The table of the privilege boundary must agree; what only operators may read is protected too. */
static void test_every_change_needs_the_right_to_make_changes(void **state)
{
	for (size_t i = 0; i < RESOURCE_MAX; i++) {
		const struct resource *row = &resources[i];

		assert_non_null(row->path);
		assert_true(privsep_is_change(row->type) == (resource_role(row) != ACCESS_VIEW));
		assert_true(strcmp(row->path, "/") == 0 ||
			    (row->path[strlen(row->path) - 1] == '/') ==
				    (row->name != RESOURCE_NAME_NONE));
	}
}

static int patch(const char *if_match)
{
	struct api_request rq = {.method = "PATCH",
				 .path = "/v1/net/leg-a",
				 .body = "{\"label\":\"x\"}",
				 .body_len = 13,
				 .if_match = if_match};

	memset(&error, 0, sizeof(error));
	return api_route(&rq, &msg, &wait_s, &error) < 0 ? (int)error.http_status : 0;
}

static void test_the_api_describes_itself_without_the_monitor(void **state)
{
	static const struct {
		const char *path;
		enum resource_local local;
	} documents[] = {{"/", RESOURCE_LOCAL_ROOT},
			 {"/v1", RESOURCE_LOCAL_INDEX},
			 {"/openapi.json", RESOURCE_LOCAL_OPENAPI}};

	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		assert_int_equal(route("GET", documents[i].path, NULL), documents[i].local);
		assert_int_equal(refused("DELETE", documents[i].path, NULL), 405);
	}
}

static unsigned accepted(const char *path, const char *accept)
{
	struct api_request rq = {.method = "GET", .path = path, .accept = accept};

	memset(&error, 0, sizeof(error));
	return api_route(&rq, &msg, &wait_s, &error) < 0 ? error.http_status : 200;
}

static void test_accept_must_allow_the_media_type_of_the_path(void **state)
{
	static const char *const good[] = {"*/*", "application/json",
					   "text/html, application/*;q=0.1",
					   "APPLICATION/JSON ; q=1", "text/html,*/*;q=0.8"};
	static const char *const bad[] = {"text/html",
					  "application/jsonx",
					  "application/json;q=0",
					  "*/*;q=0.000",
					  "application/yaml, text/*",
					  "json",
					  ""};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(accepted("/v1/status", good[i]), 200);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(accepted("/v1/status", bad[i]), 406);
	assert_int_equal(accepted("/v1/config/running", "application/yaml"), 200);
	assert_int_equal(msg.get.as_json, 0);
	assert_int_equal(accepted("/v1/config/running", "text/html, */*;q=0.1"), 200);
	assert_int_equal(msg.get.as_json, 0);
	assert_int_equal(accepted("/v1/config/staged", "application/yaml, application/json"), 200);
	assert_int_equal(msg.get.as_json, 0);
	assert_int_equal(accepted("/v1/history/7", "application/json, */*;q=0.1"), 200);
	assert_int_equal(msg.get.as_json, 1);
	assert_int_equal(msg.get.number, 7);
	assert_int_equal(accepted("/v1/config/running", "text/html"), 406);
	assert_non_null(strstr(error.message, "application/yaml or application/json"));
	assert_int_equal(accepted("/v1/metrics", "text/plain"), 200);
}

static unsigned streamed(struct api_request rq)
{
	rq.method = "GET";
	rq.path = "/v1/events";
	rq.accept = rq.accept ? rq.accept : "text/event-stream";
	memset(&error, 0, sizeof(error));
	return api_route(&rq, &msg, &wait_s, &error) < 0 ? error.http_status : msg.type;
}

/* A browser asks for the type alone; a tool that takes anything gets JSON, which ends. */
static void test_events_are_a_stream_if_accept_names_its_type(void **state)
{
	static const char *const bad[] = {
		"x",	      "00000000deadbeef",  "00000000deadbeef-", "00000000deadbeef-x",
		"deadbeef-1", "00000000deadbeeg-1"};

	assert_int_equal(streamed((struct api_request){.accept = "*/*"}), PRIVSEP_GET_EVENTS);
	assert_int_equal(streamed((struct api_request){.accept = "text/event-stream;q=0, */*"}),
			 PRIVSEP_GET_EVENTS);
	assert_int_equal(streamed((struct api_request){.accept = "text/*"}), 406);
	assert_int_equal(streamed((struct api_request){.since = "7",
						       .instance = "abc",
						       .severity = "warning",
						       .source = "worker 2"}),
			 PRIVSEP_STREAM);
	assert_int_equal(msg.get_events.since, 7);
	assert_int_equal(msg.get_events.instance, 0xabc);
	assert_int_equal(msg.get_events.severity, LOG_LEVEL_WARNING);
	assert_string_equal(msg.get_events.source, "worker 2");
	/* The browser's number counts before that of the address, which stays the same. */
	assert_int_equal(streamed((struct api_request){.since = "7",
						       .instance = "abc",
						       .last_event_id = "00000000deadbeef-41"}),
			 PRIVSEP_STREAM);
	assert_int_equal(msg.get_events.since, 42);
	assert_int_equal(msg.get_events.instance, 0xdeadbeef);
	assert_int_equal(streamed((struct api_request){.last_event_id = ""}), PRIVSEP_STREAM);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(streamed((struct api_request){.last_event_id = bad[i]}), 400);
	assert_int_equal(streamed((struct api_request){.wait = "1"}), 400);
	assert_int_equal(streamed((struct api_request){.from = "2h"}), 400);
	assert_int_equal(streamed((struct api_request){.until = "2h"}), 400);
	assert_int_equal(streamed((struct api_request){.limit = "1"}), 400);
	assert_int_equal(accepted("/v1/status", "text/event-stream"), 406);
}

static unsigned sent(const char *method, const char *path, const char *type, const char *body)
{
	struct api_request rq = {.method = method,
				 .path = path,
				 .content_type = type,
				 .body = body,
				 .body_len = strlen(body)};

	memset(&error, 0, sizeof(error));
	return api_route(&rq, &msg, &wait_s, &error) < 0 ? error.http_status : 200;
}

static void test_a_body_of_another_media_type_is_refused(void **state)
{
	static const char form[] = "application/x-www-form-urlencoded"; /* curl -d */

	assert_int_equal(sent("POST", "/v1/apply", "application/json; charset=utf-8", "{}"), 200);
	assert_int_equal(sent("POST", "/v1/apply", form, "{}"), 200);
	assert_int_equal(sent("POST", "/v1/apply", NULL, "{}"), 200);
	assert_int_equal(sent("POST", "/v1/apply", "text/xml", "{}"), 415);
	assert_non_null(strstr(error.message, "text/xml"));
	assert_int_equal(sent("POST", "/v1/apply", "application/yaml", "{}"), 415);
	assert_int_equal(sent("PUT", "/v1/config/staged", "application/yaml", "a: 1"), 200);
	assert_int_equal(sent("PUT", "/v1/config/staged", "application/json", "{}"), 200);
	assert_int_equal(sent("PUT", "/v1/config/staged", "multipart/form-data", "x"), 415);
	assert_int_equal(sent("POST", "/v1/apply", "text/xml", ""), 200); /* no body */
}

/* A page of another site can make a browser send a change, also without a body or as text/plain. */
static void test_changes_by_pages_of_other_sites_are_refused(void **state)
{
	static const struct {
		bool good;
		const char *host, *origin, *site;
	} cases[] = {
		{true, "localhost", NULL, NULL}, /* a program */
		{true, "localhost:8080", "http://localhost:8080", "same-origin"},
		{true, "Storage-01:7443", "https://storage-01:7443", NULL},
		{true, "localhost:8080", NULL, "none"},
		{false, "localhost:8080", "http://site.example", "cross-site"},
		{false, "localhost:8080", "http://site.example", NULL},
		{false, "localhost:8080", "http://localhost:8081", "same-site"},
		{false, "localhost:8080", NULL, "same-site"},
		{false, "localhost:8080", NULL, "cross-site"},
		{false, "localhost:8080", "null", NULL},
		{false, "localhost:8080", "http://localhost:8080.site.example", NULL},
		{false, "localhost:8080", "http://localhost", NULL},
		{false, "localhost:8080", "", NULL},
		{false, NULL, "http://localhost:8080", NULL},
	};
	struct api_request rq = {.method = "POST", .path = "/v1/apply"};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		rq.host = cases[i].host;
		rq.origin = cases[i].origin;
		rq.fetch_site = cases[i].site;
		memset(&error, 0, sizeof(error));
		assert_int_equal(api_route(&rq, &msg, &wait_s, &error),
				 cases[i].good ? 0 : -EINVAL);
		if (cases[i].good)
			continue;
		assert_int_equal(error.http_status, 403);
		assert_string_equal(error.code, "origin");
	}
	rq.method = "GET"; /* the browser does not pass the answer to the page */
	rq.path = "/v1/status";
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
}

static void test_the_list_of_operations_has_the_role_of_the_client(void **state)
{
	for (enum access_role role = ACCESS_NONE; role < ACCESS_ROLE_MAX; role++) {
		autofree char *text = openapi_document(RESOURCE_LOCAL_INDEX, role);
		json_t *o = text ? json_loads(text, 0, NULL) : NULL;

		assert_non_null(o);
		assert_string_equal(json_string_value(json_object_get(o, "role")),
				    access_role_to_string(role));
		json_decref(o);
	}
}

static void test_each_operation_is_in_the_description(void **state)
{
	autofree char *text = openapi_document(RESOURCE_LOCAL_OPENAPI, ACCESS_VIEW);
	json_t *o = text ? json_loads(text, 0, NULL) : NULL;

	assert_non_null(o);
	for (size_t i = 0; i < RESOURCE_MAX; i++) {
		const struct resource *row = &resources[i];
		char path[80], method[8] = "";
		json_t *operation;

		snprintf(path, sizeof(path), row->name ? "%s{%s}%s" : "%s", row->path,
			 row->name_shown, row->suffix ? row->suffix : "");
		for (size_t j = 0; row->method[j]; j++)
			method[j] = (char)(row->method[j] | 0x20);
		operation =
			json_object_get(json_object_get(json_object_get(o, "paths"), path), method);
		assert_string_equal(json_string_value(json_object_get(operation, "summary")),
				    row->purpose);
		assert_true((row->body > RESOURCE_BODY_NONE) ==
			    (json_object_get(operation, "requestBody") != NULL));
	}
	json_decref(o);
}

static void test_if_match_becomes_the_version(void **state)
{
	static const char *const bad[] = {"",
					  "x",
					  "\"\"",
					  "00000000deadbeef",
					  "W/\"00000000deadbeef\"",
					  "\"00000000deadbeeg\"",
					  "\"00000000deadbeef\", \"00000000deadbeef\"",
					  "**"};
	struct api_request rq = {.method = "POST", .path = "/v1/stop", .if_match = "*"};

	assert_int_equal(patch("\"00000000deadbeef\""), 0);
	assert_int_equal(msg.type, PRIVSEP_NET_SET);
	assert_string_equal(msg.net.name, "leg-a");
	assert_int_equal(msg.if_match, 0xdeadbeef);
	assert_int_equal(patch("*"), 0);
	assert_int_equal(msg.if_match, PRIVSEP_ETAG_ANY);
	assert_int_equal(patch(NULL), 428);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(patch(bad[i]), 400);
	/* A resource without a version accepts no condition on it. */
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), -EINVAL);
	rq.path = "/v1/apply";
	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
	assert_int_equal(msg.if_match, PRIVSEP_ETAG_ANY);
}

static void test_net_remove_passes_the_name(void **state)
{
	char path[200];

	assert_int_equal(route("DELETE", "/v1/net/leg-a", NULL), 0);
	assert_int_equal(msg.type, PRIVSEP_NET_DEL);
	assert_string_equal(msg.net.name, "leg-a");
	assert_int_equal(route("GET", "/v1/net/leg-a", NULL), 0);
	assert_int_equal(msg.type, PRIVSEP_GET_NET);
	assert_int_equal(refused("DELETE", "/v1/net/", NULL), 404);
	assert_int_equal(refused("DELETE", "/v1/net/a/b", NULL), 404);
	snprintf(path, sizeof(path), "/v1/net/%0100d", 1);
	assert_int_equal(refused("DELETE", path, NULL), 404);
}

static void test_staging_passes_the_text(void **state)
{
	assert_int_equal(route("PUT", "/v1/config/staged", "host: a\n"), 0);
	assert_int_equal(msg.type, PRIVSEP_PUT_STAGED);
	assert_int_equal(msg.put_staged.len, 8);
	assert_int_equal(refused("PUT", "/v1/config/staged", NULL), 400);
	assert_int_equal(route("DELETE", "/v1/config/staged", NULL), 0);
	assert_int_equal(msg.type, PRIVSEP_DROP_STAGED);
	assert_int_equal(route("POST", "/v1/apply", NULL), 0);
	assert_int_equal(msg.type, PRIVSEP_APPLY);
	assert_int_equal(refused("POST", "/v1/stop", "{\"force\":1}"), 400);
	assert_int_equal(refused("GET", "/v1/stop", NULL), 405);
}

static void test_faults_are_added_and_removed(void **state)
{
	static const char *const wrong[] = {
		"[]",
		"{}",
		"{\"drop_ppm\":1}",
		"{\"ttl_s\":1}",
		"{\"drop_ppm\":0,\"ttl_s\":1}",
		"{\"drop_ppm\":1000001,\"ttl_s\":1}",
		"{\"drop_ppm\":-1,\"ttl_s\":1}",
		"{\"drop_ppm\":1.5,\"ttl_s\":1}",
		"{\"delay_us\":1000001,\"ttl_s\":1}",
		"{\"delay_us\":1,\"ttl_s\":3601}",
		"{\"delay_us\":1,\"ttl_s\":1,\"direction\":\"\"}",
		"{\"delay_us\":1,\"ttl_s\":1,\"leg\":7}",
		"{\"delay_us\":1,\"ttl_s\":1,\"more\":7}",
	};

	assert_int_equal(route("POST", "/v1/faults",
			       "{\"leg\":\"leg-a\",\"peer\":\"h\",\"drop_ppm\":10000,"
			       "\"delay_us\":2000,\"direction\":\"out\",\"ttl_s\":60}"),
			 0);
	assert_int_equal(msg.type, PRIVSEP_FAULT_ADD);
	assert_string_equal(msg.fault.leg, "leg-a");
	assert_string_equal(msg.fault.peer, "h");
	assert_int_equal(msg.fault.drop_ppm, 10000);
	assert_int_equal(msg.fault.delay_us, 2000);
	assert_int_equal(msg.fault.ways, LAUNCH_FAULT_OUT);
	assert_int_equal(msg.fault.ttl_s, 60);
	assert_int_equal(route("POST", "/v1/faults", "{\"reorder_ppm\":1,\"ttl_s\":3600}"), 0);
	assert_int_equal(msg.fault.ways, LAUNCH_FAULT_IN | LAUNCH_FAULT_OUT);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(refused("POST", "/v1/faults", wrong[i]), 400);
	assert_int_equal(route("DELETE", "/v1/faults/12", NULL), 0);
	assert_int_equal(msg.type, PRIVSEP_FAULT_DEL);
	assert_int_equal(msg.fault.id, 12);
	assert_int_equal(route("DELETE", "/v1/faults", NULL), 0);
	assert_int_equal(msg.fault.id, 0);
	assert_int_equal(refused("DELETE", "/v1/faults/0", NULL), 404);
	assert_int_equal(refused("DELETE", "/v1/faults/x", NULL), 404);
	assert_int_equal(refused("PUT", "/v1/faults", "{}"), 405);
}

static void test_a_lock_is_broken_by_its_id(void **state)
{
	assert_int_equal(route("DELETE", "/v1/locks/2f", NULL), 0);
	assert_int_equal(msg.type, PRIVSEP_LOCK_BREAK);
	assert_true(msg.lock.id == 0x2f);
	assert_int_equal(refused("DELETE", "/v1/locks/0", NULL), 404);
	assert_int_equal(refused("DELETE", "/v1/locks/x", NULL), 404);
	assert_int_equal(refused("DELETE", "/v1/locks/2f", "{}"), 400);
	assert_int_equal(refused("DELETE", "/v1/locks", NULL), 405);
}

static void test_apply_checks_its_options(void **state)
{
	static const char *const wrong[] = {
		"[1]",
		"{\"now\":true}",
		"{\"dry-run\":1}",
		"{\"force\":\"eth0\"}",
		"{\"force\":[\"\"]}",
		"{\"force\":[1]}",
		"{\"force\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\"]}",
	};

	assert_int_equal(route("POST", "/v1/apply", NULL), 0);
	assert_int_equal(msg.apply.dry_run, 0);
	assert_string_equal(msg.apply.forces[0], "");
	assert_int_equal(
		route("POST", "/v1/apply", "{\"dry-run\":true,\"force\":[\"eth0\",\"ssh\"]}"), 0);
	assert_int_equal(msg.type, PRIVSEP_APPLY);
	assert_int_equal(msg.apply.dry_run, 1);
	assert_string_equal(msg.apply.forces[0], "eth0");
	assert_string_equal(msg.apply.forces[1], "ssh");
	assert_string_equal(msg.apply.forces[2], "");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(refused("POST", "/v1/apply", wrong[i]), 400);
}

static unsigned preferred(const char *path, const char *prefer)
{
	struct api_request rq = {.method = "POST", .path = path, .prefer = prefer};

	assert_int_equal(api_route(&rq, &msg, &wait_s, &error), 0);
	return msg.apply.async;
}

static void test_a_client_may_prefer_not_to_wait(void **state)
{
	assert_int_equal(preferred("/v1/apply", NULL), 0);
	assert_int_equal(preferred("/v1/apply", "respond-async"), 1);
	assert_int_equal(preferred("/v1/rollback", "wait=10, Respond-Async"), 1);
	assert_int_equal(preferred("/v1/apply", "respond-asynchronously, wait=10"), 0);
	assert_int_equal(preferred("/v1/confirm", "respond-async"), 0); /* it may be ignored */
}

static void test_confirm_and_rollback_check_their_options(void **state)
{
	static const char *const wrong[] = {
		"[1]",
		"{\"number\":0}",
		"{\"number\":\"7\"}",
		"{\"to\":7}",
		"{\"confirm\":7}",
		"{\"force\":[\"eth0\"]}",
		"{\"force\":[1]}",
		"{\"force\":\"files\"}",
	};

	assert_int_equal(route("POST", "/v1/confirm", NULL), 0);
	assert_int_equal(msg.type, PRIVSEP_CONFIRM);
	assert_int_equal(msg.apply.back_to, 0);
	assert_int_equal(route("POST", "/v1/confirm", "{\"number\":7,\"force\":[\"files\"]}"), 0);
	assert_int_equal(msg.apply.back_to, 7);
	assert_string_equal(msg.apply.forces[0], "files");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(refused("POST", "/v1/confirm", wrong[i]), 400);
	assert_int_equal(refused("POST", "/v1/rollback", "{\"number\":7}"), 400);
}

static void test_an_error_is_valid_json(void **state)
{
	struct api_error e = {.http_status = 404, .code = "not-found", .message = "no \"x\""};
	char *text = api_error_to_json(&e);

	assert_string_equal(text, "{\"title\":\"Not Found\",\"status\":404,\"detail\":\"no "
				  "\\\"x\\\"\",\"code\":\"not-found\",\"details\":[]}");
	free(text);
	strcpy(e.message, "\xff");
	text = api_error_to_json(&e);
	assert_non_null(text);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get_requests_become_messages),
		cmocka_unit_test(test_unknown_paths_and_methods_are_refused),
		cmocka_unit_test(test_the_read_only_socket_refuses_changes),
		cmocka_unit_test(test_events_take_since_wait_and_instance),
		cmocka_unit_test(test_events_take_filters),
		cmocka_unit_test(test_unknown_parameters_are_refused),
		cmocka_unit_test(test_net_add_passes_the_body),
		cmocka_unit_test(test_net_add_refuses_invalid_bodies),
		cmocka_unit_test(test_captures_check_their_options),
		cmocka_unit_test(test_rdma_pings_check_their_options),
		cmocka_unit_test(test_the_api_describes_itself_without_the_monitor),
		cmocka_unit_test(test_accept_must_allow_the_media_type_of_the_path),
		cmocka_unit_test(test_events_are_a_stream_if_accept_names_its_type),
		cmocka_unit_test(test_a_body_of_another_media_type_is_refused),
		cmocka_unit_test(test_changes_by_pages_of_other_sites_are_refused),
		cmocka_unit_test(test_the_list_of_operations_has_the_role_of_the_client),
		cmocka_unit_test(test_each_operation_is_in_the_description),
		cmocka_unit_test(test_if_match_becomes_the_version),
		cmocka_unit_test(test_net_remove_passes_the_name),
		cmocka_unit_test(test_staging_passes_the_text),
		cmocka_unit_test(test_faults_are_added_and_removed),
		cmocka_unit_test(test_a_lock_is_broken_by_its_id),
		cmocka_unit_test(test_apply_checks_its_options),
		cmocka_unit_test(test_a_client_may_prefer_not_to_wait),
		cmocka_unit_test(test_confirm_and_rollback_check_their_options),
		cmocka_unit_test(test_an_error_is_valid_json),
		cmocka_unit_test(test_the_manual_lists_all_routes),
		cmocka_unit_test(test_every_change_needs_the_right_to_make_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
