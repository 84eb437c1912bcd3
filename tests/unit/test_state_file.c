/* SPDX-License-Identifier: BSD-3-Clause */
/* Record files: a reader gets the lines that were written; damaged, foreign and newer files are
 * distinguished; a write that fails leaves the file as it was. */
#include "netcfg/base/file.h"
#include "netcfg/base/files/boot_stamp.h"
#include "netcfg/base/files/state_file.h"
#include "tests/lib/process/kill_steps.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static char dir[64], path[80];

/* Version 1 was "number NUMBER" without a first line. */
static int convert(const char *text, struct state_draft *lines)
{
	unsigned number;

	if (sscanf(text, "number %u\n", &number) != 1)
		return STATE_TORN;
	state_draft_put(lines, "number %u", number);
	state_draft_end(lines);
	return 0;
}

static const struct state_kind host_kind = {
	.name = "test", .version = 3, .old_until = 1, .bytes_max = 4096};
static const struct state_kind later_kind = {
	.name = "test", .version = 4, .old_until = 1, .bytes_max = 4096};
static const struct state_kind boot_kind = {
	.name = "test", .version = 3, .old_until = 1, .scope = STATE_OF_BOOT, .bytes_max = 4096};
static const struct state_kind netns_kind = {
	.name = "test", .version = 3, .old_until = 1, .scope = STATE_OF_NETNS, .bytes_max = 4096};
static const struct state_kind converted_kind = {
	.name = "test", .version = 3, .old_until = 1, .bytes_max = 4096, .convert = convert};

static int setup(void **state)
{
	strcpy(dir, "/tmp/plenum-test-state-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/record", dir);
	return 0;
}

static int teardown(void **state)
{
	char other[96];

	file_abandon(path);
	unlink(path);
	snprintf(other, sizeof(other), "%s.v4", path);
	unlink(other);
	return rmdir(dir);
}

static int save_number(const struct state_kind *kind, unsigned number)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;

	state_draft_init(&d, kind);
	state_draft_put(&d, "number %u", number);
	state_draft_end(&d);
	return state_draft_save(&d, path);
}

/* The number in the file; 0: it cannot be read, with the error in *ret_error. */
static uint64_t load_number(const struct state_kind *kind, const char *from, int *ret_error)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	uint64_t number = 0;

	*ret_error = state_file_read(&f, kind, from);
	if (*ret_error < 0)
		return 0;
	assert_true(state_file_line(&f));
	state_file_expect(&f, "number");
	number = state_file_number(&f, UINT32_MAX);
	assert_true(state_file_line_ends(&f));
	assert_false(state_file_line(&f));
	return number;
}

static void write_text(const char *text)
{
	assert_int_equal(file_write(path, text, strlen(text), 0600), 0);
}

static void assert_number(const struct state_kind *kind, uint64_t want)
{
	int error;

	assert_int_equal(load_number(kind, path, &error), want);
	assert_int_equal(error, 0);
}

static void assert_error(const struct state_kind *kind, int want)
{
	int error;

	assert_int_equal(load_number(kind, path, &error), 0);
	assert_int_equal(error, want);
}

/* Every byte but NUL, as a word and as the rest of a line. */
static void test_any_text_is_read_as_it_was_written(void **state)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	static const char *const words[] = {"",	  " ",	 "a b",	 "\"", "\"a b\"",
					    "\\", "\\n", "a\nb", "-"};
	char all[256];

	for (unsigned i = 1; i < 256; i++)
		all[i - 1] = (char)i;
	all[255] = '\0';
	state_draft_init(&d, &host_kind);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		state_draft_word(&d, words[i]);
		state_draft_put(&d, "%d", 7);
		state_draft_word(&d, words[i]);
		state_draft_text(&d, words[i]);
	}
	state_draft_word(&d, all);
	state_draft_text(&d, all);
	state_draft_block(&d, "block", "one\n\n three\\\n");
	assert_int_equal(state_draft_save(&d, path), 0);

	assert_int_equal(state_file_read(&f, &host_kind, path), 0);
	assert_int_equal(f.version, 3);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		assert_true(state_file_line(&f));
		assert_string_equal(state_file_word(&f), words[i]);
		assert_int_equal(state_file_number(&f, 7), 7);
		assert_string_equal(state_file_word(&f), words[i]);
		assert_string_equal(state_file_text(&f), words[i]);
		assert_true(state_file_line_ends(&f));
	}
	assert_true(state_file_line(&f));
	assert_string_equal(state_file_word(&f), all);
	assert_string_equal(state_file_text(&f), all);
	assert_true(state_file_line_ends(&f));
	for (unsigned i = 0; i < 2; i++) {
		autofree char *block = state_file_block(&f, "block");

		assert_string_equal(block, "one\n\n three\\\n");
	}
	assert_false(state_file_line(&f));
}

static void test_a_bad_line_is_reported(void **state)
{
	static const char *const bad[] = {"number",
					  "number x",
					  "number -1",
					  "number 4294967296",
					  "number 7 8",
					  "number +7",
					  "number \"7",
					  "number \"7\"8",
					  "number \\37\\",
					  "number \\3",
					  "number \\00",
					  "numbers 7",
					  "number  7",
					  "",
					  "number 18446744073709551617"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		PLENUM_CLEANUP(state_draft_done) struct state_draft d;
		PLENUM_CLEANUP(state_file_done) struct state_file f;

		state_draft_init(&d, &host_kind);
		fprintf(d.out, "%s\n", bad[i]);
		assert_int_equal(state_draft_save(&d, path), 0);
		assert_int_equal(state_file_read(&f, &host_kind, path), 0);
		assert_true(state_file_line(&f));
		state_file_expect(&f, "number");
		(void)state_file_number(&f, UINT32_MAX);
		if (state_file_line_ends(&f))
			fail_msg("accepted: %s", bad[i]);
	}
}

static void test_a_missing_file_is_missing(void **state)
{
	assert_error(&host_kind, STATE_MISSING);
	assert_error(&converted_kind, STATE_MISSING);
}

/* Cut at every byte, and with every byte changed. */
static void test_a_damaged_file_is_torn(void **state)
{
	static const struct state_kind *const kinds[] = {&host_kind, &boot_kind, &netns_kind,
							 &converted_kind};

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		autofree char *text = NULL;
		size_t len;

		assert_int_equal(save_number(kinds[k], 41), 0);
		assert_int_equal(file_read(path, 4096, &text, &len), 0);
		for (size_t i = 0; i < len; i++) {
			const char was = text[i];

			assert_int_equal(file_write(path, text, i, 0600), 0);
			assert_error(kinds[k], STATE_TORN);
			text[i] ^= 1;
			assert_int_equal(file_write(path, text, len, 0600), 0);
			text[i] = was;
			if (i >= len - strlen("number 41\n"))
				assert_error(kinds[k], STATE_TORN);
		}
		assert_int_equal(file_write(path, text, len, 0600), 0);
		assert_number(kinds[k], 41);
	}
}

/* A file of the old format has no sum: only its last newline shows that it is complete. */
static void test_the_old_format_is_read(void **state)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;

	write_text("plenum-test 1\nnumber 8\n");
	assert_number(&host_kind, 8);
	write_text("plenum-test 1\nnumber 8");
	assert_error(&host_kind, STATE_TORN);
	write_text("number 8\n");
	assert_number(&converted_kind, 8);
	assert_error(&host_kind, STATE_TORN);
	write_text("plenum-test 2\nnumber 8\n"); /* version 2 has a sum */
	assert_error(&host_kind, STATE_TORN);
	write_text("plenum-test 0\nnumber 8\n");
	assert_error(&host_kind, STATE_TORN);
	write_text("plenum-other 1\nnumber 8\n");
	assert_error(&host_kind, STATE_TORN);
	assert_int_equal(save_number(&host_kind, 9), 0); /* the next write replaces it */
	assert_number(&host_kind, 9);
	/* No escapes. */
	write_text("plenum-test 1\nat \"/a b\\5c\n");
	assert_int_equal(state_file_read(&f, &host_kind, path), 0);
	assert_true(state_file_line(&f));
	state_file_expect(&f, "at");
	assert_string_equal(state_file_text(&f), "\"/a b\\5c");
	assert_true(state_file_line_ends(&f));
}

static void test_another_boot_or_namespace_is_told(void **state)
{
	char here[BOOT_STAMP_TEXT_MAX], text[256];

	boot_stamp_text(here, sizeof(here));
	snprintf(text, sizeof(text), "plenum-test 1 %s\nnumber 8\n", here);
	write_text(text);
	assert_number(&boot_kind, 8);
	assert_number(&netns_kind, 8);
	assert_number(&host_kind, 8);
	snprintf(text, sizeof(text), "plenum-test 1 %s1\nnumber 8\n", here);
	write_text(text);
	assert_number(&boot_kind, 8);
	assert_error(&netns_kind, STATE_OTHER_BOOT);
	write_text("plenum-test 1 boot x netns 1\nnumber 8\n");
	assert_error(&boot_kind, STATE_OTHER_BOOT);
	assert_error(&netns_kind, STATE_OTHER_BOOT);
	assert_number(&host_kind, 8);
	write_text("plenum-test 1\nnumber 8\n");
	assert_error(&netns_kind, STATE_TORN);
}

/* A downgrade: the older program does not use the file, and keeps it under another name. */
static void test_a_newer_file_is_kept(void **state)
{
	char kept[96];
	int error;

	snprintf(kept, sizeof(kept), "%s.v4", path);
	for (unsigned n = 1; n < 4; n++) {
		assert_int_equal(save_number(&later_kind, n), 0);
		assert_error(&host_kind, STATE_NEWER);
		assert_error(&converted_kind, STATE_NEWER);
		assert_number(&later_kind, n); /* reading changes nothing */
		if (n < 3)
			assert_int_equal(save_number(&host_kind, 70), 0);
		else
			assert_int_equal(state_file_remove(&host_kind, path), 0);
		assert_int_equal(load_number(&later_kind, kept, &error), n);
		if (n < 3)
			assert_number(&host_kind, 70);
		else
			assert_error(&host_kind, STATE_MISSING);
	}
	assert_int_equal(save_number(&host_kind, 71), 0);
	assert_int_equal(state_file_remove(&host_kind, path), 0);
	assert_int_equal(state_file_remove(&host_kind, path), 0);
	assert_int_equal(load_number(&later_kind, kept, &error), 3);
	/* Where it cannot be kept, it stays. */
	assert_int_equal(save_number(&later_kind, 5), 0);
	assert_int_equal(unlink(kept), 0);
	assert_int_equal(mkdir(kept, 0700), 0);
	assert_true(save_number(&host_kind, 72) < 0);
	assert_true(state_file_remove(&host_kind, path) < 0);
	assert_number(&later_kind, 5);
	assert_int_equal(rmdir(kept), 0);
}

static void test_a_large_file_is_neither_written_nor_read(void **state)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;
	char text[5000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(save_number(&host_kind, 1), 0);
	state_draft_init(&d, &host_kind);
	state_draft_text(&d, text);
	assert_int_equal(state_draft_save(&d, path), STATE_TOO_LARGE);
	assert_number(&host_kind, 1);
	write_text(text);
	assert_error(&host_kind, STATE_TOO_LARGE);
}

/* In a child with its own mounts: 0: done; 77: such mounts are not allowed here. */
static int fill_disk(void)
{
	char filler[96];
	autofree char *block = calloc(1, 4096);
	int error, fd;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", dir, "tmpfs", 0, "size=16k") < 0)
		return 77;
	snprintf(filler, sizeof(filler), "%s/filler", dir);
	if (save_number(&host_kind, 5) < 0 || !block)
		return 1;
	fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (fd >= 0 && write(fd, block, 4096) > 0)
		;
	if (save_number(&host_kind, 6) != -ENOSPC)
		return 2;
	if (load_number(&host_kind, path, &error) != 5)
		return 3;
	if (ftruncate(fd, 0) < 0 || save_number(&host_kind, 6) < 0)
		return 4;
	return load_number(&host_kind, path, &error) == 6 ? 0 : 5;
}

static void test_a_full_disk_leaves_the_old_file(void **state)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fill_disk());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message(
			"a file system of its own is needed, and this user may not mount one\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void replace(void *arg)
{
	if (save_number(&host_kind, 2) < 0)
		_exit(1);
}

/* Also where a file of a newer version is to be kept. */
static void test_a_kill_loses_nothing(void **state)
{
	unsigned n_old = 0, n_new = 0;
	char kept[96];
	int error, r = 0;

	snprintf(kept, sizeof(kept), "%s.v4", path);
	for (unsigned n = 1; r == 0; n++) {
		assert_int_equal(save_number(&later_kind, 1), 0);
		r = kill_steps_run(replace, NULL, n);
		if (r == -EPERM)
			skip();
		assert_true(r >= 0);
		if (load_number(&later_kind, path, &error) == 1) {
			n_old++;
			continue;
		}
		n_new++;
		assert_number(&host_kind, 2);
		assert_int_equal(load_number(&later_kind, kept, &error), 1);
		assert_int_equal(unlink(kept), 0);
	}
	assert_true(n_old > 5 && n_new > 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_any_text_is_read_as_it_was_written),
		CASE(test_a_bad_line_is_reported),
		CASE(test_a_missing_file_is_missing),
		CASE(test_a_damaged_file_is_torn),
		CASE(test_the_old_format_is_read),
		CASE(test_another_boot_or_namespace_is_told),
		CASE(test_a_newer_file_is_kept),
		CASE(test_a_large_file_is_neither_written_nor_read),
		CASE(test_a_full_disk_leaves_the_old_file),
		CASE(test_a_kill_loses_nothing),
	};

	return cmocka_run_group_tests_name("state_file", tests, NULL, NULL);
}
