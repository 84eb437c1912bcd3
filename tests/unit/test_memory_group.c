/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory limit of the agent's control group, on folders with the kernel's files. The lab case
 * systemd_limits has the kernel kill a worker. */
#include "agent/base/memory_group.h"
#include "netcfg/base/os/folder.h"
#include "tests/lib/host/put_file.h"

#include <stdio.h>

#define GROUP "/sys/fs/cgroup/system.slice/plenumd.service"
#define MIB(n) ((unsigned long long)(n) << 20)

static char root[32];

static __attribute__((format(printf, 2, 3))) void put(const char *path, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put_file_v(root, path, fmt, args);
	va_end(args);
}

static void put_kills(unsigned n)
{
	put(GROUP "/memory.events", "low 0\nhigh 3\nmax 9\noom %u\noom_kill %u\noom_group_kill 0\n",
	    n, n);
}

/* The page cache of exports may take all that the limit leaves. */
static void put_used(unsigned mib)
{
	put(GROUP "/memory.stat",
	    "anon %llu\nfile %llu\nkernel_stack %llu\nshmem %llu\nsock 0\n"
	    "slab_reclaimable %llu\nslab_unreclaimable 0\n",
	    MIB(mib / 2), MIB(4000), MIB(0), MIB(mib - mib / 2), MIB(500));
}

static int setup(void **state)
{
	snprintf(root, sizeof(root), "/tmp/plenum-memory.XXXXXX");
	assert_non_null(mkdtemp(root));
	put("/proc/self/cgroup", "1:name=systemd:/x\n0::/system.slice/plenumd.service\n");
	put(GROUP "/memory.max", "max\n");
	put(GROUP "/memory.high", "max\n");
	put_kills(2);
	put_used(100);
	return 0;
}

static int teardown(void **state)
{
	return folder_remove(root);
}

/* What the look says after the files have changed. */
static const struct reason *look_again(struct memory_group *g)
{
	g->read_ns = 0;
	return memory_group_look(g, clock_now_ns());
}

static void test_a_group_without_limits_is_no_reason(void **state)
{
	struct memory_group g;
	struct reason why;

	memory_group_open(&g, root);
	assert_true(g.is_known);
	assert_false(memory_group_has_killed(&g, &why)); /* earlier kills do not count */
	assert_false(reason_is_set(look_again(&g)));
}

static void test_a_kill_names_the_limit(void **state)
{
	struct memory_group g;
	struct reason why;

	put(GROUP "/memory.max", "%llu\n", MIB(512));
	memory_group_open(&g, root);
	put_kills(3);
	assert_true(memory_group_has_killed(&g, &why));
	assert_string_equal(why.code, "memory-limit");
	assert_non_null(strstr(why.text, "the kernel killed a process of Plenum"));
	assert_non_null(strstr(why.text, "/system.slice/plenumd.service may use 512 MiB "
					 "(MemoryMax)"));
	assert_false(memory_group_has_killed(&g, &why));
	/* It stays in the status although the worker is up again, but not for ever. */
	assert_string_equal(look_again(&g)->code, "memory-limit");
	assert_false(reason_is_set(
		memory_group_look(&g, clock_now_ns() + MEMORY_GROUP_KILL_NS + NSEC_PER_SEC)));
}

static void test_a_kill_without_a_limit_names_the_host(void **state)
{
	struct memory_group g;
	struct reason why;

	memory_group_open(&g, root);
	put_kills(3);
	assert_true(memory_group_has_killed(&g, &why));
	assert_non_null(strstr(why.text, "the host's memory ran out"));
}

/* The host's killer chose one of Plenum's processes, whose limit was not reached: to raise the
 * limit would be the wrong remedy. */
static void test_a_kill_for_lack_of_host_memory_blames_no_limit(void **state)
{
	struct memory_group g;
	struct reason why;

	put(GROUP "/memory.max", "%llu\n", MIB(512));
	memory_group_open(&g, root);
	put(GROUP "/memory.events", "max 9\noom 2\noom_kill 3\n");
	assert_true(memory_group_has_killed(&g, &why));
	assert_non_null(strstr(why.text, "the host's memory ran out"));
	assert_null(strstr(why.text, "raise"));
}

static void test_the_limit_of_a_group_above_is_named(void **state)
{
	struct memory_group g;
	struct reason why;

	put("/sys/fs/cgroup/system.slice/memory.max", "%llu\n", MIB(600));
	put("/sys/fs/cgroup/system.slice/memory.events", "oom 7\noom_kill 0\n");
	memory_group_open(&g, root);
	put("/sys/fs/cgroup/system.slice/memory.events", "oom 8\noom_kill 1\n");
	put(GROUP "/memory.events", "oom 2\noom_kill 3\n");
	assert_true(memory_group_has_killed(&g, &why));
	assert_non_null(strstr(why.text, "group /system.slice may use 600 MiB"));
}

static void test_a_limit_that_is_near_is_a_reason(void **state)
{
	struct memory_group g;

	put(GROUP "/memory.max", "%llu\n", MIB(1000));
	memory_group_open(&g, root);
	put_used(880);
	assert_false(reason_is_set(look_again(&g)));
	put_used(920);
	assert_string_equal(look_again(&g)->code, "memory-limit");
	assert_non_null(strstr(g.near.text, "920 of the 1000 MiB that control group "
					    "/system.slice/plenumd.service may use"));
	put_used(300);
	assert_false(reason_is_set(look_again(&g)));
	put(GROUP "/memory.high", "%llu\n", MIB(310));
	assert_non_null(strstr(look_again(&g)->text, "300 of the 310 MiB"));
	assert_non_null(strstr(g.near.text, "MemoryHigh"));
	/* A slice with other services. */
	put(GROUP "/memory.high", "max\n");
	put("/sys/fs/cgroup/system.slice/memory.max", "%llu\n", MIB(2000));
	put("/sys/fs/cgroup/system.slice/memory.stat", "anon %llu\n", MIB(1900));
	assert_non_null(strstr(look_again(&g)->text, "group /system.slice may use"));
}

static void test_a_container_has_its_limit_at_the_top(void **state)
{
	struct memory_group g;

	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/memory.events", "oom_kill 0\n");
	put("/sys/fs/cgroup/memory.max", "%llu\n", MIB(100));
	put("/sys/fs/cgroup/memory.stat", "anon %llu\n", MIB(95));
	memory_group_open(&g, root);
	assert_non_null(strstr(look_again(&g)->text, "95 of the 100 MiB that control group / may"));
}

/* Without control groups of version 2, or without their memory controller. */
static void test_an_unknown_group_is_no_reason(void **state)
{
	struct memory_group g;
	struct reason why;

	put("/proc/self/cgroup", "4:memory:/system.slice/plenumd.service\n1:cpu:/\n");
	memory_group_open(&g, root);
	assert_false(g.is_known);
	put("/proc/self/cgroup", "0::/elsewhere\n");
	memory_group_open(&g, root);
	assert_false(g.is_known);
	assert_false(memory_group_has_killed(&g, &why));
	assert_false(reason_is_set(look_again(&g)));
}

int main(void)
{
#define ON(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		ON(test_a_group_without_limits_is_no_reason),
		ON(test_a_kill_names_the_limit),
		ON(test_a_kill_without_a_limit_names_the_host),
		ON(test_a_kill_for_lack_of_host_memory_blames_no_limit),
		ON(test_the_limit_of_a_group_above_is_named),
		ON(test_a_limit_that_is_near_is_a_reason),
		ON(test_a_container_has_its_limit_at_the_top),
		ON(test_an_unknown_group_is_no_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
