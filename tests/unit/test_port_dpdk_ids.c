/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device tables in DPDK's libraries: as DPDK's build writes them, several drivers per library,
 * libraries truncated and damaged at each position, and the installed libraries.
 */
#include "dataplane/port/dpdk/port_dpdk_ids.h"
#include "netcfg/base/base.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define INTEL 0x8086U
#define MELLANOX 0x15b3U

/* Sections of a library with a driver without devices and two with devices. */
static const char library[] =
	"\177ELF\2\1\1\0pci_ids\0"
	"PMD_INFO_STRING= {\"name\": \"net_none\", \"params\": \"a=[1, 2]\"}\0"
	"text\0"
	"PMD_INFO_STRING= {\"name\": \"net_x\", \"params\": \"a=[7, 7, 7]\", "
	"\"kmod\": \"vfio-pci\", \"pci_ids\": [[32902, 5421, 65535, 65535], "
	"[32902, 4298, 4660, 1]]}\0"
	"PMD_INFO_STRING= {\"name\" : \"net_y\", \"pci_ids\" : [[5555, 65535, "
	"65535, 65535]]}\0 end";

static bool has(unsigned vendor, unsigned device)
{
	return port_dpdk_ids_have(library, sizeof(library), vendor, device);
}

static void named_devices_are_found(void **state)
{
	assert_true(has(INTEL, 5421));
	assert_true(has(INTEL, 4298)); /* for any card */
	assert_true(has(MELLANOX, 0x101e));
	assert_false(has(INTEL, 5422));
	assert_false(has(4298, INTEL));
	assert_false(has(1, 2)); /* a parameter is not a device */
	assert_false(has(7, 7));
	assert_false(has(4660, 1));
	assert_false(port_dpdk_ids_have("", 0, INTEL, 5421));
}

/* In memory that ends with the library: a read past the end crashes. */
static void truncated_libraries_are_read_safely(void **state)
{
	const size_t page = 4096;
	char *area =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool found = false;

	assert_true(area != MAP_FAILED && sizeof(library) < page);
	assert_int_equal(mprotect(area + page, page, PROT_NONE), 0);
	for (size_t n = 0; n <= sizeof(library); n++) {
		char *at = area + page - n;

		memcpy(at, library, n);
		found = port_dpdk_ids_have(at, n, MELLANOX, 1);
		if (n < 300)
			assert_false(found);
	}
	assert_true(found);
	munmap(area, 2 * page);
}

static void damaged_libraries_are_read_safely(void **state)
{
	char copy[sizeof(library)];

	for (size_t i = 0; i < sizeof(copy); i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			memcpy(copy, library, sizeof(copy));
			copy[i] = (char)(copy[i] ^ 1 << bit);
			(void)port_dpdk_ids_have(copy, sizeof(copy), INTEL, 1);
		}
}

/* For a folder with a malformed version no driver would be found. */
static void the_folders_version_is_found(void **state)
{
	assert_string_equal(port_dpdk_ids_version("/usr/lib/x86_64-linux-gnu/dpdk/pmds-23.0"),
			    "23.0");
	assert_string_equal(port_dpdk_ids_version("/opt/my-dpdk/pmds-24"), "24");
	assert_null(port_dpdk_ids_version("/usr/lib/dpdk-pmds"));
	assert_null(port_dpdk_ids_version("/usr/lib/dpdk-23.0/pmds"));
	assert_null(port_dpdk_ids_version("/usr/lib/pmds-"));
	assert_null(port_dpdk_ids_version("/usr/lib/pmds-23.0rc1"));
	assert_null(port_dpdk_ids_version(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_devices_are_found),
		cmocka_unit_test(truncated_libraries_are_read_safely),
		cmocka_unit_test(damaged_libraries_are_read_safely),
		cmocka_unit_test(the_folders_version_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
