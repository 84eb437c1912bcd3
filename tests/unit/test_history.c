/* SPDX-License-Identifier: BSD-3-Clause */
/* The history of applies: it survives a restart, is bounded, and a torn file loses only the list.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/apply/history.h"
#include "netcfg/base/file.h"
#include "netcfg/base/log.h"
#include "netcfg/base/os/folder.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char dir[32];

static int setup(void **state)
{
	strcpy(dir, "/tmp/plenum-history-XXXXXX");
	log_set_level(LOG_LEVEL_ERR);
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	return folder_remove(dir);
}

static void reopen(struct history *h)
{
	history_done(h);
	assert_int_equal(history_open(h, dir), 0);
}

static void test_entries_survive_a_restart(void **state)
{
	struct history h = {.n = 0};
	const struct history_entry *e;
	char *path;

	assert_int_equal(history_open(&h, dir), 0);
	assert_int_equal(history_begin(&h, "uid 0, pid 7", "staged"), 1);
	history_end(&h, 1, HISTORY_APPLIED, 12, NULL, "host: a\n");
	assert_int_equal(history_begin(&h, "", "files"), 2);
	history_end(&h, 2, HISTORY_ROLLED_BACK, 3, "peer\tb does\nnot answer", NULL);
	assert_int_equal(history_begin(&h, "uid 0, pid 8", "files"), 3);
	reopen(&h);
	assert_int_equal(h.n, 3);
	assert_int_equal(h.next, 4);
	e = history_find(&h, 1);
	assert_int_equal(e->outcome, HISTORY_APPLIED);
	assert_int_equal(e->steps, 12);
	assert_string_equal(e->by, "uid 0, pid 7");
	e = history_find(&h, 2);
	assert_string_equal(e->by, "plenumd");
	assert_string_equal(e->text, "peer b does not answer");
	assert_int_equal(history_find(&h, 3)->outcome, HISTORY_OPEN);
	path = history_config(&h, 1);
	assert_non_null(path);
	free(path);
	assert_null(history_config(&h, 2));
	assert_int_equal(history_kept_other(&h, "host: b\n"), 1);
	assert_int_equal(history_kept_other(&h, "host: a\n"), 0);
	history_done(&h);
}

/* Entries left open by a previous agent. */
static void test_open_entries_become_unknown(void **state)
{
	struct history h = {.n = 0};

	assert_int_equal(history_open(&h, dir), 0);
	for (uint64_t i = 1; i <= 4; i++)
		assert_int_equal(history_begin(&h, "", "files"), i);
	history_end(&h, 1, HISTORY_APPLIED, 1, NULL, "host: a\n");
	history_end(&h, 2, HISTORY_WAITING, 1, NULL, NULL);
	history_end(&h, 4, HISTORY_WAITING, 1, NULL, NULL);
	history_close_stale(&h, 4);
	reopen(&h);
	assert_int_equal(history_find(&h, 1)->outcome, HISTORY_APPLIED);
	assert_int_equal(history_find(&h, 2)->outcome, HISTORY_UNKNOWN);
	assert_string_equal(history_find(&h, 3)->text, "the outcome was not recorded");
	assert_int_equal(history_find(&h, 4)->outcome, HISTORY_WAITING);
	assert_int_equal(history_kept_other(&h, NULL), 1);
	history_done(&h);
}

/* A start adds an entry with the running configuration; the end or configuration of the running one
 * may be missing. */
static void test_previous_entry_has_another_configuration(void **state)
{
	struct history h = {.n = 0};
	char path[64];

	assert_int_equal(history_open(&h, dir), 0);
	for (uint64_t i = 1; i <= 5; i++)
		assert_int_equal(history_begin(&h, "", "files"), i);
	history_end(&h, 1, HISTORY_APPLIED, 1, NULL, "host: a\n");
	history_end(&h, 2, HISTORY_APPLIED, 1, NULL, "host: b\n");
	history_end(&h, 3, HISTORY_APPLIED, 0, NULL, "host: b\n");
	history_end(&h, 4, HISTORY_FAILED, 0, "no", NULL);
	history_end(&h, 5, HISTORY_APPLIED, 1, NULL, "host: c\n");
	assert_int_equal(history_kept_other(&h, "host: c\n"), 3);
	assert_true(history_is_last(&h, "host: c\n"));
	assert_false(history_is_last(&h, "host: b\n"));
	snprintf(path, sizeof(path), "%s/history.d/5.yaml", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(history_kept_other(&h, "host: c\n"), 3);
	assert_int_equal(history_kept_other(&h, "host: b\n"), 1);
	assert_false(history_is_last(&h, "host: c\n")); /* the running configuration is unknown */
	history_done(&h);
}

/* A new list reuses numbers; they must not lead to old configurations. */
static void test_reused_number_has_no_old_configuration(void **state)
{
	struct history h = {.n = 0};
	char path[64];

	assert_int_equal(history_open(&h, dir), 0);
	assert_int_equal(history_begin(&h, "", "files"), 1);
	history_end(&h, 1, HISTORY_APPLIED, 1, NULL, "host: a\n");
	snprintf(path, sizeof(path), "%s/history", dir);
	assert_int_equal(unlink(path), 0);
	reopen(&h);
	assert_int_equal(history_begin(&h, "", "files"), 1);
	history_end(&h, 1, HISTORY_FAILED, 0, "no", NULL);
	assert_null(history_config(&h, 1));
	history_done(&h);
}

static json_t *plan_of(size_t n_steps, const char *step)
{
	json_t *steps = json_array();

	for (size_t i = 0; i < n_steps; i++)
		json_array_append_new(steps, json_pack("{s:s}", "step", step));
	return json_pack("{s:o, s:[{s:s}], s:[]}", "steps", steps, "actions", "action",
			 "start worker 1", "legs");
}

static size_t size_of(const json_t *plan, const char *list)
{
	return json_array_size(json_object_get(plan, list));
}

static void assert_result(const struct history *h, const char *list, size_t i, const char *want)
{
	json_t *plan = history_plan_load(h, 1, history_find(h, 1)->outcome);
	const json_t *o = json_array_get(json_object_get(plan, list), i);

	assert_string_equal(json_string_value(json_object_get(o, "result")), want);
	json_decref(plan);
}

static void test_a_plan_is_kept_within_its_bound_until_its_entry_goes(void **state)
{
	struct history h = {.n = 0};
	json_t *plan = plan_of(3, "add an address");
	char text[100] = "";

	assert_int_equal(history_open(&h, dir), 0);
	assert_int_equal(history_begin(&h, "", "files"), 1);
	assert_null(history_plan_load(&h, 1, HISTORY_FAILED));
	history_plan_keep(&h, 1, plan, &(struct history_extent){.failed_step = 2, .changed = true});
	json_decref(plan);
	assert_result(&h, "steps", 1, "unknown");
	history_end(&h, 1, HISTORY_FAILED, 0, "no", NULL);
	reopen(&h);
	plan = history_plan_load(&h, 1, HISTORY_FAILED);
	assert_int_equal(size_of(plan, "steps"), 3);
	assert_int_equal(size_of(plan, "actions"), 1);
	assert_null(json_object_get(plan, "legs"));
	assert_int_equal(json_integer_value(json_object_get(plan, "left_out")), 0);
	assert_int_equal(json_object_size(plan), 3);
	json_decref(plan);
	assert_result(&h, "steps", 0, "rolled back");
	assert_result(&h, "steps", 1, "failed");
	assert_result(&h, "steps", 2, "not done");
	assert_result(&h, "actions", 0, "not done");
	/* The outcome of the entry may change after its plan was saved. */
	history_end(&h, 1, HISTORY_WAITING, 0, "", NULL);
	assert_result(&h, "steps", 2, "done");
	assert_result(&h, "actions", 0, "done");
	history_end(&h, 1, HISTORY_ROLLED_BACK, 0, "", NULL);
	assert_result(&h, "steps", 2, "rolled back");
	/* The rollback has failed, so nothing is known about a step. */
	history_plan_unclear(&h, 1);
	assert_result(&h, "steps", 2, "unknown");
	assert_result(&h, "actions", 0, "rolled back");
	history_end(&h, 1, HISTORY_FAILED, 0, "no", NULL);

	memset(text, 'x', sizeof(text) - 1);
	plan = plan_of(10000, text);
	history_plan_keep(&h, 1, plan, &(struct history_extent){.changed = false});
	json_decref(plan);
	assert_result(&h, "steps", 0, "not done");
	plan = plan_of(3, "add an address");
	history_plan_keep(&h, 1, plan, &(struct history_extent){.changed = true, .unclear = true});
	json_decref(plan);
	assert_result(&h, "steps", 0, "unknown");
	assert_result(&h, "actions", 0, "not done");
	plan = plan_of(10000, text);
	history_plan_keep(&h, 1, plan, &(struct history_extent){.changed = false});
	json_decref(plan);
	plan = history_plan_load(&h, 1, HISTORY_FAILED);
	assert_in_range(size_of(plan, "steps"), 500, 1000);
	assert_int_equal(size_of(plan, "steps") +
				 (size_t)json_integer_value(json_object_get(plan, "left_out")),
			 10001);
	json_decref(plan);
	/* The same failure again takes the place of the first one. */
	assert_int_equal(history_begin(&h, "", "files"), 2);
	history_end(&h, 2, HISTORY_FAILED, 0, "no", NULL);
	assert_null(history_plan_load(&h, 1, HISTORY_FAILED));
	history_done(&h);
}

static void test_oldest_entries_are_dropped_with_their_files(void **state)
{
	struct history h = {.n = 0};
	json_t *o;

	assert_int_equal(history_open(&h, dir), 0);
	for (uint64_t i = 1; i <= HISTORY_KEPT + 5; i++) {
		assert_int_equal(history_begin(&h, "", "files"), i);
		history_end(&h, i, HISTORY_APPLIED, 1, NULL, "host: a\n");
	}
	reopen(&h);
	assert_int_equal(h.n, HISTORY_KEPT);
	assert_null(history_find(&h, 5));
	assert_null(history_config(&h, 5));
	assert_int_equal(history_kept_other(&h, NULL), HISTORY_KEPT + 5);
	assert_int_equal(history_kept_other(&h, "host: a\n"), 0);
	o = history_to_json(&h);
	assert_int_equal(json_array_size(json_object_get(o, "history")), HISTORY_KEPT);
	json_decref(o);
	history_done(&h);
}

/* Adds an entry that ran. */
static void add_applied(struct history *h, const char *yaml)
{
	history_end(h, history_begin(h, "uid 0, pid 7", "files"), HISTORY_APPLIED, 1, NULL, yaml);
}

static void test_failing_attempts_push_out_no_configuration_that_ran(void **state)
{
	struct history h = {.n = 0};
	const struct history_entry *e;
	char by[32], yaml[32];
	uint64_t n = 0;

	assert_int_equal(history_open(&h, dir), 0);
	add_applied(&h, "host: a\n");
	add_applied(&h, "host: b\n");
	for (int i = 0; i < 25; i++) { /* a job that runs every minute */
		snprintf(by, sizeof(by), "uid 0, pid %d", 100 + i);
		n = history_begin(&h, by, "files");
		history_end(&h, n, HISTORY_FAILED, 0, "net[0].device: is missing", NULL);
	}
	reopen(&h);
	assert_int_equal(h.n, 3);
	e = history_find(&h, n);
	assert_int_equal(e->number, 27);
	assert_int_equal(e->first, 3);
	assert_int_equal(e->times, 25);
	assert_ptr_equal(history_find(&h, 3), e);
	assert_null(history_config(&h, 3));
	assert_int_equal(history_kept_other(&h, "host: b\n"), 1);
	assert_int_equal(h.next, 28);
	/* Those that fail in different ways are kept one by one, up to a limit of their own. */
	for (int i = 0; i < HISTORY_ATTEMPTS + 5; i++) {
		snprintf(yaml, sizeof(yaml), "%d is wrong", i);
		n = history_begin(&h, "uid 0, pid 7", "staged");
		history_end(&h, n, i & 1 ? HISTORY_FAILED : HISTORY_ROLLED_BACK, 0, yaml, NULL);
	}
	reopen(&h);
	assert_int_equal(h.n, 2 + HISTORY_ATTEMPTS);
	assert_int_equal(history_find(&h, n)->times, 1);
	assert_null(history_find(&h, 27));
	assert_int_equal(history_kept_other(&h, "host: b\n"), 1);
	history_done(&h);
}

static void test_the_last_configurations_that_ran_stay(void **state)
{
	struct history h = {.n = 0};
	char yaml[32];

	assert_int_equal(history_open(&h, dir), 0);
	add_applied(&h, "host: old\n");
	for (int i = 0; i < 2 * HISTORY_KEPT; i++) /* the same, again and again */
		add_applied(&h, "host: same\n");
	reopen(&h);
	assert_int_equal(history_kept_other(&h, "host: same\n"), 1);
	for (int i = 0; i < HISTORY_KEPT - 2; i++) {
		snprintf(yaml, sizeof(yaml), "host: h%d\n", i);
		add_applied(&h, yaml);
	}
	reopen(&h);
	assert_int_equal(h.n, HISTORY_KEPT);
	assert_non_null(history_find(&h, 1));
	add_applied(&h, "host: new\n");
	assert_int_equal(h.n, HISTORY_KEPT);
	assert_null(history_find(&h, 1));
	history_done(&h);
}

/* An agent that keeps fewer entries reads the first lines of the file. */
static void test_configurations_that_ran_come_first_in_the_file(void **state)
{
	struct history h = {.n = 0};
	autofree char *text = NULL;
	char path[64];
	const char *applied, *failed;
	size_t len;

	assert_int_equal(history_open(&h, dir), 0);
	for (int i = 0; i < HISTORY_ATTEMPTS; i++) {
		char why[32];

		snprintf(why, sizeof(why), "cause %d", i);
		history_end(&h, history_begin(&h, "", "files"), HISTORY_FAILED, 0, why, NULL);
	}
	add_applied(&h, "host: a\n");
	snprintf(path, sizeof(path), "%s/history", dir);
	assert_int_equal(file_read(path, 1 << 20, &text, &len), 0);
	applied = strstr(text, " applied ");
	failed = strstr(text, " failed ");
	assert_non_null(applied);
	assert_non_null(failed);
	assert_true(applied < failed);
	reopen(&h);
	assert_int_equal(h.entries[0].number, 1);
	assert_int_equal(h.entries[h.n - 1].outcome, HISTORY_APPLIED);
	history_done(&h);
}

static void test_invalid_lines_are_skipped(void **state)
{
	static const char *const texts[] = {"", "nonsense\n", "plenum-history 2 9\n",
					    "plenum-history 1 x\n"};
	static const char torn[] = "plenum-history 1 9\n"
				   "7\t1\t2\tapplied\tb\tw\t\n"
				   "8\t1\t2\tnonsense\tb\tw\t\n"
				   "8\t1\t2\tappl";
	struct history h = {.n = 0};
	char path[64];

	snprintf(path, sizeof(path), "%s/history", dir);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(file_write(path, texts[i], strlen(texts[i]), 0600), 0);
		reopen(&h);
		assert_int_equal(h.n, 0);
		assert_int_equal(h.next, 1);
	}
	assert_int_equal(file_write(path, torn, strlen(torn), 0600), 0);
	reopen(&h);
	assert_int_equal(h.n, 1);
	assert_int_equal(h.next, 9);
	history_done(&h);
}

/* After a downgrade, the newer history and the configurations that it names stay. */
static void test_newer_history_is_kept_with_its_configurations(void **state)
{
	static const char newer[] = "plenum-history 9 era 3\nnext 8\n";
	struct history h = {.n = 0};
	autofree char *text = NULL, *config = NULL;
	char path[64];
	size_t len;

	assert_int_equal(history_open(&h, dir), 0);
	for (uint64_t i = 1; i <= 7; i++)
		assert_int_equal(history_begin(&h, "", "files"), i);
	history_end(&h, 7, HISTORY_APPLIED, 1, NULL, "host: a\n");
	config = history_config(&h, 7);
	assert_non_null(config);
	snprintf(path, sizeof(path), "%s/history", dir);
	assert_int_equal(file_write(path, newer, strlen(newer), 0600), 0);
	reopen(&h);
	assert_int_equal(h.n, 0);
	assert_int_equal(history_begin(&h, "", "files"), 8);
	assert_int_equal(access(config, F_OK), 0);
	snprintf(path, sizeof(path), "%s/history.v9", dir);
	assert_int_equal(file_read(path, 4096, &text, &len), 0);
	assert_string_equal(text, newer);
	assert_int_equal(unlink(path), 0);
	reopen(&h);
	assert_int_equal(h.n, 1);
	history_done(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_entries_survive_a_restart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_open_entries_become_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_previous_entry_has_another_configuration,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_reused_number_has_no_old_configuration, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_a_plan_is_kept_within_its_bound_until_its_entry_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_oldest_entries_are_dropped_with_their_files,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_failing_attempts_push_out_no_configuration_that_ran, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_last_configurations_that_ran_stay, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_configurations_that_ran_come_first_in_the_file,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_invalid_lines_are_skipped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newer_history_is_kept_with_its_configurations,
						setup, teardown),
	};

	return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
