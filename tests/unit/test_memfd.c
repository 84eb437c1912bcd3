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
#include <sys/stat.h>

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

/* Several processes map it: none can shrink it under the others, nor keep later ones from it. */
static void test_a_growing_file_cannot_shrink(void **state)
{
	autoclose int fd = memfd_new_growing("g");
	struct stat st;

	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(memfd_is_fixed(fd));
	assert_int_equal(memfd_grow(fd, 8192), 0);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), -1); /* a later one may need more */
	assert_int_equal(memfd_grow(fd, 16384), 0);
	/* Two that start together, each with the size that it needs. */
	assert_int_equal(memfd_grow(fd, 4096), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 16384);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
}

static void test_a_file_of_an_earlier_agent_grows_too(void **state)
{
	autoclose int bare = memfd_new_empty("e");
	autoclose int open_seals = memfd_create("o", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(bare >= 0 && open_seals >= 0);
	assert_int_equal(memfd_grow(bare, 4096), 0); /* it can never have seals */
	assert_false(memfd_is_fixed(bare));
	assert_int_equal(memfd_grow(open_seals, 4096), 0);
	assert_true(memfd_is_fixed(open_seals));
	assert_int_equal(ftruncate(open_seals, 0), -1);
}

/* What a process passes as such a file may be another one. */
static void test_a_file_that_can_fault_is_not_fixed(void **state)
{
	static const int seals[] = {F_SEAL_SHRINK, F_SEAL_SEAL, F_SEAL_SEAL | F_SEAL_GROW,
				    F_SEAL_SHRINK | F_SEAL_SEAL | F_SEAL_WRITE,
				    F_SEAL_SHRINK | F_SEAL_SEAL | F_SEAL_FUTURE_WRITE};
	autoclose int shared = memfd_new_shared("s", 8192), file = open("/", O_RDONLY | O_CLOEXEC);
	autoclose int huge = memfd_create("h", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);

	for (size_t i = 0; i < ARRAY_SIZE(seals); i++) {
		autoclose int fd = memfd_create("f", MFD_CLOEXEC | MFD_ALLOW_SEALING);

		assert_true(fd >= 0);
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals[i]), 0);
		assert_false(memfd_is_fixed(fd));
	}
	assert_false(memfd_is_fixed(file));
	assert_false(memfd_is_fixed(-1));
	assert_true(memfd_is_fixed(shared));
	assert_true(memfd_is_fixed_at(shared, 8192));
	assert_false(memfd_is_fixed_at(shared, 4096));
	assert_false(memfd_is_fixed_at(shared, 12288));
	if (huge < 0) /* the kernel has no huge pages */
		return;
	assert_int_equal(fcntl(huge, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL), 0);
	assert_false(memfd_is_fixed(huge));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sealed_file_cannot_change),
		cmocka_unit_test(test_a_shared_file_keeps_its_size),
		cmocka_unit_test(test_a_growing_file_cannot_shrink),
		cmocka_unit_test(test_a_file_of_an_earlier_agent_grows_too),
		cmocka_unit_test(test_a_file_that_can_fault_is_not_fixed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
