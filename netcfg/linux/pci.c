/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates VFs and binds drivers through sysfs (sysfs-bus-pci and pci-iov-howto in the kernel's
 * documentation). In contrast, sysfs.c only reads.
 */
#include "netcfg/linux/pci.h"
#include "netcfg/base/file.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/module.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 128

static const char *function_path(const char *address, const char *file, char *buf)
{
	snprintf(buf, PATH_BYTES, "devices/%.16s/%s", address, file);
	return buf;
}

int pci_function_find(int pci, const char *ref, char ret[static 16])
{
	const char *vf = strstr(ref, "/vf");
	char path[PATH_BYTES];
	struct stat st;

	if (vf) {
		snprintf(path, sizeof(path), "devices/%.*s/virtfn%.4s", (int)(vf - ref), ref,
			 vf + 3);
		return sysfs_read_link(pci, path, ret, 16) < 0 ? -ENODEV : 0;
	}
	if (strlen(ref) >= 16 || strchr(ref, '/') ||
	    fstatat(pci, function_path(ref, "", path), &st, 0) < 0)
		return -ENODEV;
	inv_text_set(ret, 16, ref);
	return 0;
}

static int driver_read(int pci, const char *address, char *buf, size_t size)
{
	char path[PATH_BYTES];
	int r = sysfs_read_link(pci, function_path(address, "driver", path), buf, size);

	if (r == -ENOENT) {
		buf[0] = '\0';
		r = 0;
	}
	return r;
}

static const char *number_file(enum kernel_pci_attr attr)
{
	return attr == KERNEL_PCI_VFS ? "sriov_numvfs" : "sriov_drivers_autoprobe";
}

int pci_read(int pci, struct kernel_change *c)
{
	struct kernel_pci *v = &c->pci_value;
	char path[PATH_BYTES];
	int r;

	if (v->attr == KERNEL_PCI_DRIVER)
		return driver_read(pci, c->pci, v->was, sizeof(v->was));
	r = sysfs_read(pci, function_path(c->pci, number_file(v->attr), path), v->was,
		       sizeof(v->was));
	return r < 0 ? r : 0;
}

static int put(int pci, const char *path, const char *value, struct reason *why)
{
	int r = file_put_value(pci, path, value);

	if (r < 0)
		reason_set_text(why, "cannot set /sys/bus/pci/%s to \"%.*s\": %s", path,
				(int)strcspn(value, "\n"), value, strerror(-r));
	return r;
}

/* Sets the number of VFs. Removes the existing VFs first, because the kernel refuses another number
 * while VFs exist. */
static int vfs_set(int pci, const char *address, const char *value, struct reason *why)
{
	char path[PATH_BYTES], is[16];
	int r;

	function_path(address, "sriov_numvfs", path);
	r = sysfs_read(pci, path, is, sizeof(is));
	if (r >= 0 && strcmp(is, value) == 0)
		return 0;
	if (r >= 0 && strcmp(is, "0") != 0 && strcmp(value, "0") != 0)
		r = put(pci, path, "0", why);
	return r < 0 && r != -ENOSPC ? r : put(pci, path, value, why);
}

static bool driver_is_there(int pci, const char *driver)
{
	char path[PATH_BYTES];
	struct stat st;

	snprintf(path, sizeof(path), "drivers/%.32s", driver);
	return fstatat(pci, path, &st, 0) == 0;
}

/* Loads the module of the driver that the change needs, such as vfio-pci, if the kernel does not
 * have it yet. */
void pci_prepare(int pci, const struct kernel_change *c)
{
	const char *name = c->pci_value.value;

	if (c->pci_value.attr == KERNEL_PCI_DRIVER && name[0] && !driver_is_there(pci, name))
		module_load(name);
}

/* Unbinds the current driver. A function-level reset then clears the state that the driver leaves
 * in the function: filters, running queues. If the function does not support the reset, sysfs has
 * no file for it and the write fails, which is ignored. */
static int unbind(int pci, const char *address, struct reason *why)
{
	char path[PATH_BYTES], driver[32];
	int r = driver_read(pci, address, driver, sizeof(driver));

	if (r < 0 || !driver[0])
		return r;
	r = put(pci, function_path(address, "driver/unbind", path), address, why);
	if (r == 0)
		(void)put(pci, function_path(address, "reset", path), "1", NULL);
	return r;
}

/* State of the search for another function of the IOMMU group whose driver prevents vfio from using
 * the group. */
struct group_walk {
	int pci;
	const char *address;
	/* the PF of this function; its other VFs are accepted, because the same plan binds them to
	 * vfio too */
	char physfn[16];
	char other[16], driver[32];
};

static int look_at_member(void *user, const char *name)
{
	struct group_walk *w = user;
	char path[PATH_BYTES], driver[32], physfn[16] = "", class[16] = "";

	if (strcmp(name, w->address) == 0 || w->other[0] || strlen(name) >= sizeof(w->other))
		return 0;
	(void)sysfs_read(w->pci, function_path(name, "class", path), class, sizeof(class));
	(void)sysfs_read_link(w->pci, function_path(name, "physfn", path), physfn, sizeof(physfn));
	if (driver_read(w->pci, name, driver, sizeof(driver)) < 0 || !driver[0] ||
	    strncmp(driver, "vfio", 4) == 0 || strcmp(driver, "pci-stub") == 0 ||
	    strncmp(class, "0x06", 4) == 0 || (w->physfn[0] && strcmp(physfn, w->physfn) == 0))
		return 0;
	inv_text_set(w->other, sizeof(w->other), name);
	inv_text_set(w->driver, sizeof(w->driver), driver);
	return 0;
}

/* Fails if vfio could bind the function but not give it to a process, because another driver uses a
 * function of the same IOMMU group. */
static int group_check(int pci, const char *address, struct reason *why)
{
	struct group_walk w = {.pci = pci, .address = address};
	char path[PATH_BYTES];

	(void)sysfs_read_link(pci, function_path(address, "physfn", path), w.physfn,
			      sizeof(w.physfn));
	(void)sysfs_each_entry(pci, function_path(address, "iommu_group/devices", path),
			       look_at_member, &w);
	if (!w.other[0])
		return 0;
	reason_set_text(why,
			"%s shares its IOMMU group with %s, which driver %s uses; turn ACS on in "
			"the firmware, or move the NIC to another slot",
			address, w.other, w.driver);
	return -EBUSY;
}

static int driver_set(int pci, const char *address, const char *driver, struct reason *why)
{
	char path[PATH_BYTES], text[40], is[32];
	int r = 0;

	if (driver[0] && !driver_is_there(pci, driver)) {
		reason_set_text(why,
				"the kernel has no driver %s; load its module, or write "
				"transport: udp",
				driver);
		return -ENOENT;
	}
	if (strcmp(driver, "vfio-pci") == 0)
		r = group_check(pci, address, why);
	/* The override makes the kernel choose this driver when the function is probed below. */
	snprintf(text, sizeof(text), "%.32s\n", driver);
	if (r == 0)
		r = put(pci, function_path(address, "driver_override", path), text, why);
	if (r == 0)
		r = unbind(pci, address, why);
	if (r == 0 && driver[0])
		r = put(pci, "drivers_probe", address, why);
	if (r == 0)
		r = driver_read(pci, address, is, sizeof(is));
	if (r == 0 && strcmp(is, driver) != 0) {
		reason_set_text(why, "%s is bound to %s: driver %s refused it", address,
				is[0] ? is : "no driver", driver);
		r = -EIO;
	}
	return r;
}

int pci_change(int pci, const struct kernel_change *c, struct reason *why)
{
	const struct kernel_pci *v = &c->pci_value;
	char path[PATH_BYTES];

	switch (v->attr) {
	case KERNEL_PCI_VFS:
		return vfs_set(pci, c->pci, v->value, why);
	case KERNEL_PCI_DRIVER:
		return driver_set(pci, c->pci, v->value, why);
	default:
		return put(pci, function_path(c->pci, number_file(v->attr), path), v->value, why);
	}
}
