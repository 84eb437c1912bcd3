/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The module of the DPDK back end, as a worker finds it: missing, broken, no module at all, of
 * another version while a package is exchanged. Each is refused in a sentence that says what to do,
 * and nothing of it is called.
 */
#include "dataplane/port/port.h"

#include <dlfcn.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What the worker has where the module is `file`; NULL: nothing. In a folder of its own, since the
 * loader knows by its path what it has loaded. */
static int load(const char *file, const struct port_ops **ret, char why[static LAUNCH_REASON_MAX])
{
	char folder[] = "/tmp/plenum-module.XXXXXX", module[64];
	int r;

	assert_non_null(mkdtemp(folder));
	snprintf(module, sizeof(module), "%s/port_dpdk.so", folder);
	if (file)
		assert_int_equal(symlink(file, module), 0);
	setenv("PLENUM_MODULE_DIR", folder, 1);
	*ret = NULL;
	r = port_ops_get(LAUNCH_DPDK, ret, why);
	unlink(module);
	rmdir(folder);
	if (r < 0) { /* the path first */
		assert_int_equal(strncmp(why, module, strlen(module)), 0);
		memmove(why, why + strlen(module), strlen(why + strlen(module)) + 1);
	}
	return r;
}

static void refused(const char *file, int error, const char *sentence)
{
	const struct port_ops *ops;
	char why[LAUNCH_REASON_MAX];

	assert_int_equal(load(file, &ops, why), error);
	assert_string_equal(why, sentence);
	assert_null(ops);
}

static void test_missing(void **state)
{
	refused(NULL, -ENOENT, ": no such module; is it installed?");
}

static void test_broken(void **state)
{
	refused("/proc/self/cmdline", -ELIBACC, " cannot be loaded; is DPDK installed?");
}

static void test_another_library(void **state)
{
	Dl_info info;

	assert_true(dladdr(dlsym(RTLD_DEFAULT, "_fail"), &info)); /* cmocka's */
	refused(info.dli_fname, -ELIBBAD, " is not a port module");
}

static void test_another_version(void **state)
{
	const char *const files[] = {"port_module_older.so", "port_module_newer.so"};
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_non_null(realpath(files[i], path));
		refused(path, -ELIBBAD,
			" and plenum-worker have different versions; restart plenumd");
	}
}

static void test_ours(void **state)
{
	const struct port_ops *ops;
	char why[LAUNCH_REASON_MAX], path[PATH_MAX];

	assert_non_null(realpath("port_module_same.so", path));
	assert_int_equal(load(path, &ops, why), 0);
	assert_string_equal(why, "");
	assert_string_equal(ops->name, "of a test");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_another_library),
		cmocka_unit_test(test_another_version),
		cmocka_unit_test(test_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
