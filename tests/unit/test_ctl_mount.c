/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the arguments of `plenum mount` and mount.plenum: source, folder and options. */
#include "agent/ctl/ctl_options.h"
#include "agent/ctl/mount/ctl_mount_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct ctl_mount_options parsed(const char *text)
{
	struct ctl_mount_options o;
	struct reason why = {.code = ""};

	assert_int_equal(ctl_mount_options_parse(text, &o, &why), 0);
	assert_false(reason_is_set(&why));
	return o;
}

static void test_no_options_give_a_hard_writable_mount(void **state)
{
	static const char *const texts[] = {
		NULL,
		"",
		"defaults",
		"rw,hard",
		"_netdev,nofail,x-systemd.mount-timeout=30",
		"ro,nosuid,nodev,noexec,noatime,rw,suid,dev,exec,relatime",
		"soft=30s,hard",
		"user,users,owner,group,user=joe,async,nodiratime,strictatime,lazytime",
		",,"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const struct ctl_mount_options o = parsed(texts[i]);

		assert_false(o.read_only || o.nosuid || o.nodev || o.noexec || o.noatime);
		assert_int_equal(o.soft_s, 0);
		assert_string_equal(o.locks, "local");
	}
}

static void test_each_option_takes_effect(void **state)
{
	assert_true(parsed("ro").read_only);
	assert_true(parsed("nosuid").nosuid);
	assert_true(parsed("nodev").nodev);
	assert_true(parsed("noexec").noexec);
	assert_true(parsed("noatime").noatime);
	assert_string_equal(parsed("locks=none").locks, "none");
	assert_string_equal(parsed("locks=cluster,hard").locks, "cluster");
	assert_int_equal(parsed("soft=30").soft_s, 30);
	assert_int_equal(parsed("soft=30s").soft_s, 30);
	assert_int_equal(parsed("soft=5m").soft_s, 300);
	assert_int_equal(parsed("soft=24h").soft_s, 86400);
	assert_true(parsed("remount,ro").remount && !parsed("ro").remount);
	assert_int_equal(parsed("max-throughput=100kB/s").max_kbs, 100);
	assert_int_equal(parsed("max-throughput=1000GB/s").max_kbs, 1000000000);
	assert_int_equal(parsed("max-throughput=5MB/s,max-throughput=none").max_kbs, 0);
	assert_int_equal(parsed("max-operations=10000000").max_operations, 10000000);
}

static void test_a_wrong_option_is_refused_with_the_valid_ones(void **state)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{"ro,zap", "unknown option 'zap'; valid are ro, rw"},
		{"cache=none", "unknown option 'cache=none'"},
		{"sync", "unknown option 'sync'"},
		{"soft", "unknown option 'soft'"},
		{"soft=", "such as soft=30s"},
		{"soft=0", "such as soft=30s"},
		{"soft=25h", "such as soft=30s"},
		{"soft=-1", "such as soft=30s"},
		{"soft=99999999999999999999s", "such as soft=30s"},
		{"soft=1d", "such as soft=30s"},
		{"max-throughput=10", "such as max-throughput=200MB/s"},
		{"max-throughput=99kB/s", "such as max-throughput=200MB/s"},
		{"max-throughput=1001GB/s", "such as max-throughput=200MB/s"},
		{"max-throughput=-1MB/s", "such as max-throughput=200MB/s"},
		{"max-throughput=99999999999999999999MB/s", "such as max-throughput=200MB/s"},
		{"max-operations=0", "such as max-operations=5000"},
		{"max-operations=10000001", "such as max-operations=5000"},
		{"max-operations=5k", "such as max-operations=5000"},
		{"locks=all", "one of local, none and cluster"},
		{"locks=cluster,soft=30s", "cluster locks need a hard mount"},
	};
	char longest[2000];

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct ctl_mount_options o = {.soft_s = 7};
		struct reason why;

		assert_int_equal(ctl_mount_options_parse(wrong[i].text, &o, &why), -EINVAL);
		assert_non_null(strstr(why.text, wrong[i].why));
		assert_int_equal(o.soft_s, 7);
	}
	memset(longest, 'r', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(ctl_mount_options_parse(longest, &(struct ctl_mount_options){0},
						 &(struct reason){.code = ""}),
			 -EINVAL);
}

static void test_a_source_is_a_host_and_an_export(void **state)
{
	static const char *const wrong[] = {
		"", "host", ":x", "host:", "host:/", "host:/a/b", "host:a:b", "/dev/sda"};
	char host[8], name[8];
	struct reason why;

	assert_int_equal(ctl_mount_source_parse("h-1:/data", host, name, 8, &why), 0);
	assert_string_equal(host, "h-1");
	assert_string_equal(name, "data");
	assert_int_equal(ctl_mount_source_parse("h-1:data", host, name, 8, &why), 0);
	assert_string_equal(name, "data");
	assert_int_equal(ctl_mount_source_parse("1234567:/1234567", host, name, 8, &why), 0);
	assert_int_equal(ctl_mount_source_parse("12345678:/1", host, name, 8, &why), -EINVAL);
	assert_int_equal(ctl_mount_source_parse("1:/12345678", host, name, 8, &why), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(ctl_mount_source_parse(wrong[i], host, name, 8, &why), -EINVAL);
}

static void test_a_second_list_of_options_is_added(void **state)
{
	char buf[16] = "";

	assert_int_equal(ctl_join(buf, sizeof(buf), "ro,soft=1"), CTL_OK);
	assert_int_equal(ctl_join(buf, sizeof(buf), "dev"), CTL_OK);
	assert_string_equal(buf, "ro,soft=1,dev");
}

static void test_a_folder_becomes_an_absolute_path(void **state)
{
	char path[16];
	struct reason why;

	assert_int_equal(ctl_mount_dir_parse("/mnt/x//", "/", path, sizeof(path), &why), 0);
	assert_string_equal(path, "/mnt/x");
	assert_int_equal(ctl_mount_dir_parse("x", "/mnt", path, sizeof(path), &why), 0);
	assert_string_equal(path, "/mnt/x");
	assert_int_equal(ctl_mount_dir_parse("x/", "/", path, sizeof(path), &why), 0);
	assert_string_equal(path, "/x");
	assert_int_equal(ctl_mount_dir_parse("/", "/", path, sizeof(path), &why), 0);
	assert_string_equal(path, "/");
	assert_int_equal(ctl_mount_dir_parse("", "/mnt", path, sizeof(path), &why), -EINVAL);
	assert_int_equal(ctl_mount_dir_parse("/123456789012345", "/", path, sizeof(path), &why),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_options_give_a_hard_writable_mount),
		cmocka_unit_test(test_each_option_takes_effect),
		cmocka_unit_test(test_a_wrong_option_is_refused_with_the_valid_ones),
		cmocka_unit_test(test_a_source_is_a_host_and_an_export),
		cmocka_unit_test(test_a_second_list_of_options_is_added),
		cmocka_unit_test(test_a_folder_becomes_an_absolute_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
