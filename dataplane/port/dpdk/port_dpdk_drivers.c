/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the DPDK drivers that a worker loads. DPDK itself loads all hundred libraries of its
 * driver folder before it looks for devices, which takes most of the time and memory of its start.
 * A worker knows its devices. So it loads their drivers itself, and then hides the folder's content
 * from DPDK.
 */
#include "dataplane/port/dpdk/port_dpdk_drivers.h"
#include "dataplane/port/dpdk/port_dpdk_ids.h"
#include "netcfg/base/log.h"
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <rte_build_config.h>
#include <rte_eal.h>

#define FOLDER RTE_EAL_PMD_PATH
#define NETWORK "librte_net_"
#define POOL "librte_mempool_ring"

/* ------------------------------------------------------------------ drivers of PCI devices */

static int number_read(const char *address, const char *what, unsigned *ret)
{
	char path[PLENUM_NAME_MAX + 64];
	bool has_domain = strchr(address, ':') != strrchr(address, ':');
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s%s/%s",
		 has_domain ? "" : "0000:", address, what);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	n = fscanf(f, "%x", ret);
	fclose(f);
	return n == 1 ? 0 : -EINVAL;
}

static bool library_drives(const char *path, unsigned vendor, unsigned device)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool drives;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0)
		return false;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	drives = port_dpdk_ids_have(p, (size_t)st.st_size, vendor, device);
	munmap(p, (size_t)st.st_size);
	return drives;
}

/* ------------------------------------------------------------------ loading */

/* Loads a library. It is never unloaded, because DPDK does not unload drivers either. */
static bool library_load(const char *path)
{
	if (dlopen(path, RTLD_NOW | RTLD_NODELETE))
		return true;
	log_debug("DPDK: %s", dlerror());
	return false;
}

/* Finds the suffix of library names in the folder, such as ".so.23.0". Usually the folder's name
 * contains the same version. If DPDK was built with another folder name, takes the suffix from the
 * file name of DPDK's own library. */
static void ending_get(char *buf, size_t size)
{
	const char *version = port_dpdk_ids_version(FOLDER), *so;
	autofree char *path = NULL;
	Dl_info eal;

	if (version) {
		snprintf(buf, size, ".so.%s", version);
		return;
	}
	if (dladdr((const void *)(uintptr_t)rte_eal_init, &eal) != 0)
		path = realpath(eal.dli_fname, NULL);
	so = path ? strstr(strrchr(path, '/'), ".so") : NULL;
	snprintf(buf, size, "%s", so ? so : ".so");
}

static bool named_load(const char *stem)
{
	char ending[32], path[512];

	ending_get(ending, sizeof(ending));
	snprintf(path, sizeof(path), FOLDER "/%s%s", stem, ending);
	return library_load(path);
}

static bool is_network_library(const char *name)
{
	const char *so = strstr(name, ".so");
	char ending[32];

	ending_get(ending, sizeof(ending));
	return so && strncmp(name, NETWORK, strlen(NETWORK)) == 0 && strcmp(so, ending) == 0;
}

/* Loads all drivers that support the device, because there may be an older and a newer one. */
static bool pci_load(const char *address)
{
	DIR *dir = opendir(FOLDER);
	unsigned vendor, device, n = 0;
	struct dirent *e;
	char path[512];

	if (!dir)
		return false;
	if (number_read(address, "vendor", &vendor) == 0 &&
	    number_read(address, "device", &device) == 0)
		while ((e = readdir(dir))) {
			if (!is_network_library(e->d_name))
				continue;
			snprintf(path, sizeof(path), FOLDER "/%s", e->d_name);
			if (library_drives(path, vendor, device))
				n += library_load(path);
		}
	closedir(dir);
	return n > 0;
}

/* Loads the driver of a virtual device. Fails if the device is built on others, because it would
 * need further drivers. */
static bool virtual_load(const char *device)
{
	static const char *const kinds[] = {"net_af_packet", "net_memif", "net_null", "net_tap"};
	char stem[64];

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t len = strlen(kinds[i]);

		if (strncmp(device, kinds[i], len) != 0 ||
		    device[len + strspn(device + len, "0123456789")] != '\0')
			continue;
		snprintf(stem, sizeof(stem), "librte_%s", kinds[i]);
		return named_load(stem);
	}
	return false;
}

bool port_dpdk_drivers_load(const struct launch_config *cfg)
{
	bool all = named_load(POOL); /* Also load the driver of the buffer pool, which every port
					needs. */

	for (unsigned i = 0; all && i < cfg->n_ports; i++) {
		struct port_dpdk_device dev;

		port_dpdk_device_choose(&cfg->ports[i], i, &dev);
		all = dev.is_pci ? pci_load(dev.name) : virtual_load(dev.name);
	}
	return all;
}

/* ------------------------------------------------------------------ the folder */

/* Returns whether only this process and its children see the mounts that it makes: a worker has a
 * private mount namespace, but a test does not. */
static bool mounts_are_ours(void)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)getppid());
	return stat("/proc/self/ns/mnt", &ours) == 0 && stat(path, &theirs) == 0 &&
	       (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino);
}

void port_dpdk_drivers_hide(void)
{
	autoclose int fs = -1, fd = -1;

	if (!mounts_are_ours())
		return;
	fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (fs >= 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = fsmount(fs, FSMOUNT_CLOEXEC,
			     MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				     MOUNT_ATTR_NOEXEC);
	if (fd < 0 || move_mount(fd, "", AT_FDCWD, FOLDER, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		log_debug("DPDK loads all of its drivers: %s", strerror(errno));
}
