/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the requests about one worker: the messages into which they are converted. */
#include "agent/api/rest/api_route.h"
#include "netcfg/base/base.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct privsep_msg msg;

/* Returns 0 with the message in msg, or the status of the error. */
static int ask(const char *method, const char *path, const char *body, const char *if_match)
{
	const struct api_request rq = {.method = method,
				       .path = path,
				       .body = body,
				       .body_len = body ? strlen(body) : 0,
				       .if_match = if_match};
	struct api_error error = {0};
	unsigned wait_s;

	return api_route(&rq, &msg, &wait_s, &error) < 0 ? (int)error.http_status : 0;
}

static void test_a_worker_is_moved_to_a_core(void **state)
{
	assert_int_equal(ask("GET", "/v1/workers/7", NULL, NULL), 0);
	assert_int_equal(msg.type, PRIVSEP_GET_WORKER);
	assert_int_equal(msg.move.worker, 7);
	assert_int_equal(ask("GET", "/v1/workers/0", NULL, NULL), 404);
	assert_int_equal(ask("GET", "/v1/workers/x", NULL, NULL), 404);
	assert_int_equal(ask("PATCH", "/v1/workers/7", "{\"core\":0}", NULL), 428);
	assert_int_equal(ask("PATCH", "/v1/workers/7", "{\"core\":0}", "*"), 0);
	assert_int_equal(msg.type, PRIVSEP_WORKER_MOVE);
	assert_int_equal(msg.move.worker, 7);
	assert_int_equal(msg.move.core, 0);
	assert_true(msg.if_match == PRIVSEP_ETAG_ANY);
	assert_int_equal(ask("PATCH", "/v1/workers/7", "{\"core\":1023}", "*"), 0);
	assert_int_equal(ask("PATCH", "/v1/workers/7", "{\"core\":1024}", "*"), 400);
	assert_int_equal(ask("PATCH", "/v1/workers/7", "{\"core\":\"1\"}", "*"), 400);
	assert_int_equal(ask("PATCH", "/v1/workers/7", "{}", "*"), 400);
	assert_int_equal(ask("PATCH", "/v1/workers/7", "{\"cores\":[1]}", "*"), 400);
	assert_int_equal(ask("DELETE", "/v1/workers/7", NULL, NULL), 405);
}

static void test_logs_are_of_a_worker_or_the_agent(void **state)
{
	assert_int_equal(ask("GET", "/v1/workers/7/logs", NULL, NULL), 0);
	assert_int_equal(msg.type, PRIVSEP_GET_LOGS);
	assert_int_equal(msg.logs.worker, 7);
	assert_int_equal(ask("GET", "/v1/agent/logs", NULL, NULL), 0);
	assert_int_equal(msg.type, PRIVSEP_GET_LOGS);
	assert_int_equal(msg.logs.worker, 0);
	assert_int_equal(ask("GET", "/v1/workers/0/logs", NULL, NULL), 404);
	assert_int_equal(ask("GET", "/v1/workers//logs", NULL, NULL), 404);
	assert_int_equal(ask("GET", "/v1/workers/7/log", NULL, NULL), 404);
	assert_int_equal(ask("GET", "/v1/workers/7/8/logs", NULL, NULL), 404);
	assert_int_equal(ask("PATCH", "/v1/workers/7/logs", "{}", "*"), 405);
	assert_int_equal(ask("GET", "/v1/workers/stop", NULL, NULL), 405);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_worker_is_moved_to_a_core),
		cmocka_unit_test(test_logs_are_of_a_worker_or_the_agent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
