/* SPDX-License-Identifier: BSD-3-Clause */
/* Mounts made by command: what the next agent reads, and what ends a mount. */
#include "agent/api/rest/api_route.h"
#include "agent/command_mounts.h"
#include "netcfg/base/files/state_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include <cmocka.h>

static char dir[64], path[96];

static int setup(void **state)
{
	strcpy(dir, "/tmp/plenum-test-mounts-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/command-mounts", dir);
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	return rmdir(dir);
}

static struct command_mount *add(struct command_mounts *cm, const char *at)
{
	struct command_mount *e = command_mounts_add(cm);

	assert_non_null(e);
	strcpy(e->what.path, at);
	strcpy(e->what.peer, "host-b");
	strcpy(e->what.export_name, "data");
	e->what.suid = true;
	e->state = COMMAND_MOUNT_KEPT;
	e->worker = 3;
	return e;
}

static void open_at(struct command_mounts *cm, bool lost)
{
	struct reason why = {.code = ""};

	*cm = (struct command_mounts){.n = 0};
	assert_int_equal(command_mounts_open(cm, dir, &why), 0);
	assert_true(reason_is_set(&why) == lost);
}

static void test_the_next_agent_reads_the_mounts_that_were_served(void **state)
{
	struct command_mounts cm, next;
	struct command_mount *e;

	open_at(&cm, false);
	e = add(&cm, "/mnt/a b\n\"c\"");
	e->what.read_only = e->no_exec = e->no_atime = true;
	e->what.soft_s = 30;
	e->what.limits = (struct launch_limits){9000000, 70};
	e->what.locks = LAUNCH_LOCKS_NONE;
	add(&cm, "/mnt/new")->state = COMMAND_MOUNT_NEW;
	add(&cm, "/mnt/ending")->state = COMMAND_MOUNT_ENDING;
	add(&cm, "/mnt/plain");
	assert_int_equal(command_mounts_save(&cm), 0);
	open_at(&next, false);
	assert_int_equal(next.n, 2);
	e = command_mounts_find(&next, "/mnt/a b\n\"c\"");
	assert_non_null(e);
	assert_true(launch_mount_equal(&e->what, &cm.list[0].what));
	assert_int_equal(e->what.soft_s, 30);
	assert_int_equal(e->what.limits.bytes_per_s, 9000000);
	assert_int_equal(e->what.limits.operations_per_s, 70);
	assert_int_equal(e->what.locks, LAUNCH_LOCKS_NONE);
	assert_int_equal(e->worker, 3);
	assert_int_equal(e->state, COMMAND_MOUNT_KEPT);
	assert_true(e->no_exec && e->no_atime && e->what.suid && !e->what.dev);
	e = command_mounts_find(&next, "/mnt/plain");
	assert_true(e && !e->no_exec && !e->no_atime && !e->what.read_only);
	command_mounts_done(&cm);
	command_mounts_done(&next);
}

static void test_a_mount_that_ends_leaves_the_file_at_once(void **state)
{
	struct command_mounts cm, next;

	open_at(&cm, false);
	add(&cm, "/mnt/a");
	add(&cm, "/mnt/b");
	assert_int_equal(command_mounts_save(&cm), 0);
	command_mounts_end(&cm, command_mounts_find(&cm, "/mnt/a"));
	assert_true(cm.changed);
	open_at(&next, false);
	assert_int_equal(next.n, 1);
	assert_null(command_mounts_find(&next, "/mnt/a"));
	command_mounts_done(&next);
	command_mounts_end(&cm, command_mounts_find(&cm, "/mnt/b"));
	assert_int_equal(access(path, F_OK), -1);
	command_mounts_done(&cm);
}

static void test_a_stop_forgets_all_mounts(void **state)
{
	struct command_mounts cm;

	open_at(&cm, false);
	add(&cm, "/mnt/a");
	assert_int_equal(command_mounts_save(&cm), 0);
	command_mounts_clear(&cm);
	assert_int_equal(cm.n, 0);
	assert_int_equal(access(path, F_OK), -1);
	command_mounts_done(&cm);
}

static void test_the_first_error_of_a_mount_counts(void **state)
{
	struct command_mounts cm;
	struct command_mount *e;
	struct reason why;

	open_at(&cm, false);
	e = add(&cm, "/mnt/a");
	e->state = COMMAND_MOUNT_NEW;
	reason_set_text(&why, "one");
	command_mounts_fail(&cm, e, 409, "refused", &why);
	reason_set_text(&why, "two");
	command_mounts_fail(&cm, e, 500, "failed", &why);
	assert_int_equal(e->status, 409);
	assert_string_equal(e->why.text, "one");
	assert_int_equal(e->state, COMMAND_MOUNT_ENDING);
	command_mounts_done(&cm);
}

static void damage(void)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs("plenum-mounts 1", f);
	assert_int_equal(fclose(f), 0);
}

static void test_a_damaged_file_is_reported_and_gives_no_mount(void **state)
{
	static const char *const lines[] = {
		"mount 1 0 local rw host-b data relative",
		"mount 1 0 local rw host-b data /",
		"mount 1 0 local rw host-b data /mnt/../etc",
		"mount 1 0 some rw host-b data /mnt/a",
		"mount 1 90000 local rw host-b data /mnt/a",
		"mount 1 0 local rw \"host b\" data /mnt/a",
		"mount 1 0 local rw host-b data /mnt/a\nmount 1 0 local rw host-b data /mnt/a",
		"other 1 0 local rw host-b data /mnt/a",
		"mount 1 0 local rw host-b",
	};
	static const struct state_kind kind = {
		.name = "mounts", .version = 1, .scope = STATE_OF_BOOT, .bytes_max = 1U << 20};
	struct command_mounts cm;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		PLENUM_CLEANUP(state_draft_done) struct state_draft d;

		state_draft_init(&d, &kind);
		fprintf(d.out, "%s\n", lines[i]);
		assert_int_equal(state_draft_save(&d, path), 0);
		open_at(&cm, true);
		assert_int_equal(cm.n, 0);
		command_mounts_done(&cm);
	}
	damage();
	open_at(&cm, true);
	command_mounts_done(&cm);
}

static void test_a_mount_has_its_rule(void **state)
{
	struct command_mounts cm;
	struct mounts_rule rule;
	struct command_mount *e;

	open_at(&cm, false);
	e = add(&cm, "/mnt/a");
	e->no_exec = true;
	rule = command_mounts_rule(&cm, "/mnt/a");
	assert_true(rule.by_command && !rule.needs_server);
	assert_int_equal(rule.attributes, MOUNT_ATTR_NOEXEC);
	e->state = COMMAND_MOUNT_NEW;
	rule = command_mounts_rule(&cm, "/mnt/a");
	assert_true(rule.needs_server);
	rule = command_mounts_rule(&cm, "/mnt/b");
	assert_false(rule.by_command || rule.needs_server);
	command_mounts_done(&cm);
}

static void test_a_mount_point_has_an_absolute_path_in_its_shortest_form(void **state)
{
	static const char *const wrong[] = {"",	       "/",	   "mnt",    "/mnt/", "//mnt",
					    "/mnt//x", "/mnt/./x", "/mnt/.", "/../x", "/mnt/.."};
	static const char *const right[] = {"/m",	"/mnt/x",   "/mnt/.x",
					    "/mnt/..x", "/mnt/...", "/a b"};
	char long_path[300];

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(command_mounts_path_is_valid(wrong[i]));
	for (size_t i = 0; i < ARRAY_SIZE(right); i++)
		assert_true(command_mounts_path_is_valid(right[i]));
	memset(long_path, 'x', sizeof(long_path));
	long_path[0] = '/';
	long_path[256] = '\0';
	assert_false(command_mounts_path_is_valid(long_path));
	long_path[255] = '\0';
	assert_true(command_mounts_path_is_valid(long_path));
}

/* ---- requests ---- */

static struct privsep_msg msg;

static unsigned route(const char *method, const char *body)
{
	const struct api_request rq = {
		.method = method, .path = "/v1/mounts", .body = body, .body_len = strlen(body)};
	struct api_error error = {.http_status = 0};
	unsigned wait_s;

	return api_route(&rq, &msg, &wait_s, &error) == 0 ? 0 : error.http_status;
}

#define HEAD "{\"path\":\"/mnt/a\",\"peer\":\"h\",\"export\":\"x\""
static void test_a_mount_is_requested_and_ended_by_its_path(void **state)
{
	static const char *const wrong[] = {"{}",
					    "{\"path\":\"/mnt/a\"}",
					    "{\"path\":\"/mnt/a\",\"peer\":\"h\",\"export\":\"\"}",
					    HEAD ",\"locks\":\"all\"}",
					    HEAD ",\"soft_s\":86401}",
					    HEAD ",\"max_kbytes_per_s\":99}",
					    HEAD ",\"max_operations_per_s\":0}",
					    HEAD ",\"worker\":0}",
					    HEAD ",\"nosuid\":1}",
					    HEAD ",\"force\":true}"};

	assert_int_equal(route("POST", HEAD ",\"noexec\":true,\"soft_s\":30,\"worker\":2}"), 0);
	assert_int_equal(msg.type, PRIVSEP_MOUNT);
	assert_string_equal(msg.mount.path, "/mnt/a");
	assert_string_equal(msg.mount.export_name, "x");
	assert_true(msg.mount.noexec == 1 && msg.mount.nosuid == 0);
	assert_int_equal(msg.mount.soft_s, 30);
	assert_int_equal(msg.mount.worker, 2);
	assert_int_equal(msg.mount.locks, LAUNCH_LOCKS_LOCAL + 1);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(route("POST", wrong[i]), 400);
	assert_int_equal(route("DELETE", "{\"path\":\"/mnt/a\",\"force\":true}"), 0);
	assert_int_equal(msg.type, PRIVSEP_UNMOUNT);
	assert_int_equal(msg.mount.force, 1);
	assert_int_equal(route("DELETE", ""), 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_the_next_agent_reads_the_mounts_that_were_served),
		TEST(test_a_mount_that_ends_leaves_the_file_at_once),
		TEST(test_a_stop_forgets_all_mounts),
		TEST(test_the_first_error_of_a_mount_counts),
		TEST(test_a_damaged_file_is_reported_and_gives_no_mount),
		TEST(test_a_mount_has_its_rule),
		TEST(test_a_mount_point_has_an_absolute_path_in_its_shortest_form),
		cmocka_unit_test(test_a_mount_is_requested_and_ended_by_its_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
