/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading a configuration while memory runs out, at every allocation in turn: an error each time,
 * never a crash, a leak (the sanitizers check) or half a spec. The linker routes our allocations
 * through the functions here.
 */
#include "netcfg/spec/spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static long n_allocations, fail_at = -1;

static bool fails_now(void)
{
	return n_allocations++ == fail_at;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);

void *__wrap_malloc(size_t size)
{
	return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails_now() ? NULL : __real_realloc(p, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails_now() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
	return fails_now() ? NULL : __real_strdup(s);
}

/* One attempt; true if the failing allocation was reached. */
static bool attempt(const char *text, size_t len, long at)
{
	struct diag d = DIAG_INIT;
	struct spec *s = NULL;
	long n;
	int r;

	n_allocations = 0;
	fail_at = at;
	r = spec_parse("test.yaml", text, len, &d, &s);
	n = n_allocations;
	fail_at = -1;
	assert_true((r == 0) == (s != NULL));
	assert_true((r == 0) != diag_has_errors(&d));
	if (n > at)
		assert_true(r < 0); /* every allocation is necessary */
	spec_free(s);
	diag_done(&d);
	return n > at;
}

static void fail_each(const char *name)
{
	static char text[65536];
	autofree char *path = NULL;
	size_t len;
	long at = 0;
	FILE *f;

	assert_true(asprintf(&path, "%s/tests/golden/spec/%s.yaml", TOP_SRCDIR, name) > 0);
	f = fopen(path, "re");
	assert_non_null(f);
	len = fread(text, 1, sizeof(text), f);
	fclose(f);
	while (attempt(text, len, at))
		at++;
	assert_true(at > 10);
}

static void test_good_files_fail_without_memory(void **state)
{
	fail_each("good-all");
	fail_each("bond-good");
}

static void test_files_with_errors_fail_without_memory(void **state)
{
	fail_each("many-errors");
	fail_each("duplicates");
	fail_each("ips");
	fail_each("mounts");
	fail_each("peers");
	fail_each("anchors-and-tags");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_files_fail_without_memory),
		cmocka_unit_test(test_files_with_errors_fail_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
