/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loading the DPDK module: missing, broken, not a port module, or of another version during a
 * package upgrade. Each is refused with a sentence that says what to do, and none of its code runs.
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

/* Loads `file` as the worker's module; NULL: missing. Each in its own folder, because the loader
 * identifies libraries by path. */
static int load(const char *file, const struct port_ops **ret, struct reason *why)
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
		assert_int_equal(strncmp(why->text, module, strlen(module)), 0);
		reason_set_text(why, "%s", why->text + strlen(module));
	}
	return r;
}

static void refused(const char *file, int error, const char *sentence)
{
	const struct port_ops *ops;
	struct reason why;

	assert_int_equal(load(file, &ops, &why), error);
	assert_string_equal(why.text, sentence);
	assert_null(ops);
}

static void a_missing_module_is_refused(void **state)
{
	refused(NULL, -ENOENT, ": no such module; is the module installed?");
}

static void a_broken_module_is_refused(void **state)
{
	refused("/proc/self/cmdline", -ELIBACC, " cannot be loaded; is DPDK installed?");
}

static void a_library_that_is_not_a_port_is_refused(void **state)
{
	Dl_info info;

	assert_true(dladdr(dlsym(RTLD_DEFAULT, "_fail"), &info)); /* cmocka's */
	refused(info.dli_fname, -ELIBBAD, " is not a port module");
}

static void a_module_of_another_version_is_refused(void **state)
{
	const char *const files[] = {"port_module_older.so", "port_module_newer.so"};
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_non_null(realpath(files[i], path));
		refused(path, -ELIBBAD,
			" and plenum-worker have different versions; restart plenumd");
	}
}

static void the_installed_module_is_loaded(void **state)
{
	const struct port_ops *ops;
	struct reason why;
	char path[PATH_MAX];

	assert_non_null(realpath("port_module_same.so", path));
	assert_int_equal(load(path, &ops, &why), 0);
	assert_string_equal(why.text, "");
	assert_string_equal(ops->name, "of a test");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_module_is_refused),
		cmocka_unit_test(a_broken_module_is_refused),
		cmocka_unit_test(a_library_that_is_not_a_port_is_refused),
		cmocka_unit_test(a_module_of_another_version_is_refused),
		cmocka_unit_test(the_installed_module_is_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
