/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and sets the defaults of rdma_cm for a RoCE port in configfs.
 */
#include "netcfg/linux/kernel_roce.h"
#include "netcfg/base/file.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/kernel_rdma.h"
#include "netcfg/linux/module.h"
#include "netcfg/linux/netlink/netlink.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define MODULE "rdma_cm"
#define PATH_BYTES 192
#define AGAIN_MAX 16

static const struct {
	const char *text, *value;
} modes[] = {{"IB/RoCE v1", "v1"}, {"RoCE v2", "v2"}};

static int configfs_open(void)
{
	autoclose int context = fsopen("configfs", FSOPEN_CLOEXEC);
	int fd = -1;

	if (context >= 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = fsmount(context, FSMOUNT_CLOEXEC, 0);
	if (fd < 0)
		fd = open("/sys/kernel/config", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int kernel_roce_open(int sysfs_root, bool load)
{
	if (faccessat(sysfs_root, "module/" MODULE, F_OK, 0) < 0) {
		if (!load)
			return -ENOENT;
		module_load(MODULE);
	}
	return configfs_open();
}

/* The folder of a device in configfs, while this process uses the device. */
struct view {
	int configfs;
	char path[PATH_BYTES];
	bool made;
};

static int view_open(struct view *v, int configfs, const char *device)
{
	v->configfs = configfs;
	v->made = false;
	snprintf(v->path, sizeof(v->path), MODULE "/%.64s", device);
	if (mkdirat(configfs, v->path, 0755) < 0)
		return errno == EEXIST ? 0 : -errno;
	v->made = true;
	return 0;
}

static void view_close(const struct view *v)
{
	if (v->made)
		(void)unlinkat(v->configfs, v->path, AT_REMOVEDIR);
}

/* Returns whether the caller must try again: another Plenum process may have created the folder
 * that was found here and removed it meanwhile, so the failed read says nothing about the device. A
 * folder that this process created cannot disappear. */
static bool folder_was_removed(const struct view *v, int r, unsigned *tries)
{
	return !v->made && (r == -ENOENT || r == -ENODEV) && ++*tries < AGAIN_MAX;
}

static const char *file_of(const struct view *v, uint32_t port, enum device_attr a,
			   char buf[static PATH_BYTES])
{
	snprintf(buf, PATH_BYTES, "%.100s/ports/%u/%s", v->path, port,
		 a == DEVICE_ROCE_MODE ? "default_roce_mode" : "default_roce_tos");
	return buf;
}

/* Reads the value of a setting, in the text form of device_setting.h. */
static int value_read(const struct view *v, uint32_t port, enum device_attr a, char *buf,
		      size_t size)
{
	char path[PATH_BYTES], text[32];
	const char *value = text;
	int r = sysfs_read(v->configfs, file_of(v, port, a, path), text, sizeof(text));

	if (r < 0)
		return r;
	for (size_t i = 0; a == DEVICE_ROCE_MODE && i < ARRAY_SIZE(modes); i++)
		if (strcmp(modes[i].text, text) == 0)
			value = modes[i].value;
	inv_text_set(buf, size, value);
	return 0;
}

static int value_write(const struct view *v, uint32_t port, enum device_attr a, const char *value)
{
	char path[PATH_BYTES];

	for (size_t i = 0; a == DEVICE_ROCE_MODE && i < ARRAY_SIZE(modes); i++)
		if (strcmp(modes[i].value, value) == 0)
			value = modes[i].text;
	return file_put_value(v->configfs, file_of(v, port, a, path), value);
}

static void fill_port(int configfs, struct inv_rdma *p)
{
	unsigned tries = 0;
	struct view v;
	int mode, tos;

	do {
		if (view_open(&v, configfs, p->device) < 0)
			return;
		mode = value_read(&v, p->port, DEVICE_ROCE_MODE, p->roce_mode,
				  sizeof(p->roce_mode));
		tos = value_read(&v, p->port, DEVICE_ROCE_TOS, p->roce_tos, sizeof(p->roce_tos));
		view_close(&v);
	} while (folder_was_removed(&v, mode < 0 ? mode : tos, &tries));
}

void kernel_roce_fill(int configfs, struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_rdma; i++)
		if (strcmp(inv->rdma[i].kind, "roce") == 0)
			fill_port(configfs, &inv->rdma[i]);
}

static int view_of_link(struct view *v, int configfs, uint32_t ifindex, uint32_t *ret_port)
{
	char device[INV_TEXT_MAX];
	int r = kernel_rdma_on_link(ifindex, device, ret_port);

	if (r == 0 && configfs < 0)
		r = configfs;
	return r < 0 ? r : view_open(v, configfs, device);
}

int kernel_roce_change(int configfs, const struct kernel_change *c, struct reason *why)
{
	unsigned tries = 0;
	struct view v;
	uint32_t port;
	int r;

	do {
		r = view_of_link(&v, configfs, c->ifindex, &port);
		if (r == -ENODEV)
			return kernel_fail(why, r, "the link has no RDMA port");
		if (r < 0)
			return kernel_fail(why, r,
					   "cannot access the RoCE settings in configfs; is the "
					   "module rdma_cm loaded?");
		r = value_write(&v, port, c->device.attr, c->device.value);
		view_close(&v);
	} while (folder_was_removed(&v, r, &tries));
	return r == -EINVAL
		       ? kernel_fail(why, r, "the RDMA device does not support this RoCE version")
	       : r < 0 ? kernel_fail(why, r, strerror(-r))
		       : 0;
}

int kernel_roce_read(int configfs, struct kernel_change *c)
{
	unsigned tries = 0;
	struct view v;
	uint32_t port;
	int r;

	do {
		r = view_of_link(&v, configfs, c->ifindex, &port);
		if (r < 0)
			return r;
		r = value_read(&v, port, c->device.attr, c->device.was, sizeof(c->device.was));
		view_close(&v);
	} while (folder_was_removed(&v, r, &tries));
	return r;
}
