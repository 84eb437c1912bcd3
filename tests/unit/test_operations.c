/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests changes whose clients do not wait: their state, their answers, and how many there may be.
 */
#include "agent/control/operations.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *text_of(const struct operations *ops, uint32_t number, const char *key)
{
	static char buf[64];
	json_t *o = operation_to_json(ops, number);
	const char *text = json_string_value(json_object_get(o, key));

	strcpy(buf, text ? text : "");
	json_decref(o);
	return buf;
}

static void test_an_operation_keeps_the_answer_of_its_client(void **state)
{
	struct operations ops = {.last = 0};
	uint32_t a = operations_begin(&ops, "apply", 7, 0, "uid 0, pid 1");
	uint32_t b = operations_begin(&ops, "rollback", 8, 0, "uid 0, pid 2");
	json_t *o;

	assert_true(a && b == a + 1);
	assert_string_equal(text_of(&ops, a, "state"), "running");
	assert_string_equal(text_of(&ops, b, "request"), "rollback");
	assert_false(operations_end(&ops, 9, 200, "{}")); /* a client that waits */
	assert_true(operations_end(&ops, 7, 409, "{\"code\":\"busy\"}"));
	assert_false(operations_end(&ops, 7, 200, "{}")); /* it has ended */
	o = operation_to_json(&ops, a);
	assert_string_equal(text_of(&ops, a, "state"), "ended");
	assert_int_equal(json_integer_value(json_object_get(o, "status")), 409);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(o, "answer"), "code")), "busy");
	json_decref(o);
	o = operations_to_json(&ops); /* the latest first */
	assert_int_equal(json_integer_value(json_object_get(
				 json_array_get(json_object_get(o, "operations"), 0), "id")),
			 b);
	json_decref(o);
	operations_forget(&ops, b);
	assert_null(operation_to_json(&ops, b));
	assert_null(operation_to_json(&ops, 0));
	operations_done(&ops);
}

static void test_operations_are_limited(void **state)
{
	struct operations ops = {.last = 0};
	uint32_t first = 0, number;

	for (unsigned i = 0; i < OPERATIONS_UID_MAX; i++) {
		number = operations_begin(&ops, "apply", 1 + i, 5, "uid 5, pid 1");
		first = first ? first : number;
		assert_true(number);
	}
	assert_int_equal(operations_begin(&ops, "apply", 100, 5, "uid 5, pid 1"), 0);
	assert_true(operations_begin(&ops, "apply", 101, 6, "uid 6, pid 1"));
	/* One that has ended makes room for its user, and is kept until its place is needed. */
	assert_true(operations_end(&ops, 1, 200, "{}"));
	for (unsigned i = OPERATIONS_UID_MAX + 1; i < OPERATIONS_MAX; i++)
		assert_true(operations_begin(&ops, "apply", 1000 + i, 1000 + i, "uid 7, pid 1"));
	assert_string_equal(text_of(&ops, first, "state"), "ended");
	assert_true(operations_begin(&ops, "apply", 102, 5, "uid 5, pid 1"));
	assert_null(operation_to_json(&ops, first));
	/* All run. */
	assert_int_equal(operations_begin(&ops, "apply", 103, 8, "uid 8, pid 1"), 0);
	operations_done(&ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_operation_keeps_the_answer_of_its_client),
		cmocka_unit_test(test_operations_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
