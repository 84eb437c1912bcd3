/* SPDX-License-Identifier: BSD-3-Clause */
/* Nameless files between processes: the guarantees for the receiver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "netcfg/base/os/memfd.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

static void test_a_sealed_file_cannot_change(void **state)
{
	char text[16] = "";
	autoclose int fd = memfd_new_sealed("t", "text", 4);

	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text)), 4);
	assert_string_equal(text, "text");
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 100), -1);
	assert_ptr_equal(mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1); /* and so it stays */
}

static void test_a_shared_file_keeps_its_size(void **state)
{
	autoclose int fd = memfd_new_shared("s", 4096);
	char *page;

	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(page[4095], 0);
	assert_int_equal(pwrite(fd, "x", 1, 4095), 1);
	assert_int_equal(page[4095], 'x');
	assert_int_equal(ftruncate(fd, 1), -1);
	assert_int_equal(ftruncate(fd, 8192), -1);
	munmap(page, 4096);
}

/* Several processes write to it: none can shrink it for the others, nor for later ones. */
static void test_a_growing_file_cannot_shrink(void **state)
{
	autoclose int fd = memfd_new_growing("g"), one = memfd_new_empty("e");

	assert_true(fd >= 0 && one >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_false(memfd_is_fixed(fd));
	memfd_fix(fd);
	memfd_fix(fd);
	assert_true(memfd_is_fixed(fd));
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	assert_int_equal(ftruncate(fd, 16384), 0); /* a later one may need more */
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	memfd_fix(one); /* of an earlier agent: unchanged */
	assert_false(memfd_is_fixed(one));
	assert_int_equal(ftruncate(one, 4096), 0);
	assert_int_equal(ftruncate(one, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sealed_file_cannot_change),
		cmocka_unit_test(test_a_shared_file_keeps_its_size),
		cmocka_unit_test(test_a_growing_file_cannot_shrink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
