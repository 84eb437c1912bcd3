/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads udev's database and messages. udev renames a link shortly after the kernel has created it,
 * and older kernels refuse to rename a link that is up. So the agent waits until udev has processed
 * a link before it brings the link up. The code of libudev defines the file formats
 * (sd_device_get_is_initialized, udev_monitor_netlink_header).
 */
#include "netcfg/linux/sysfs/udev.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/netlink/netlink.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define GROUP_KERNEL 1 /* group of NETLINK_KOBJECT_UEVENT for messages from the kernel to udev */
#define GROUP_UDEV 2   /* group for messages from udev to all other programs */
#define MESSAGE_BYTES_MAX 8192
#define WATCH_READ_MAX 4096
#define ENTRY_BYTES_MAX 65536
#define MONITOR_MAGIC 0xfeedcafeU

/* Returns whether a line of /proc/net/netlink is a socket that listens to the kernel's device
 * messages. The columns are "sk Eth Pid Groups ...". */
static bool line_is_listener(const char *line)
{
	unsigned protocol, groups;

	return sscanf(line, "%*s %u %*u %x", &protocol, &groups) == 2 &&
	       protocol == NETLINK_KOBJECT_UEVENT && (groups & GROUP_KERNEL);
}

/* Returns -EEXIST for a database entry of a link, so that the walk stops at the first one. */
static int on_entry(void *user, const char *name)
{
	return name[0] == 'n' && isdigit((unsigned char)name[1]) ? -EEXIST : 0;
}

bool udev_serves(int run, int proc_net)
{
	bool named_any = faccessat(run, "control", F_OK, 0) == 0 &&
			 sysfs_each_entry(run, "data", on_entry, NULL) == -EEXIST;
	int fd = named_any ? openat(proc_net, "netlink", O_RDONLY | O_CLOEXEC) : -1;
	FILE *f = fd >= 0 ? fdopen(fd, "re") : NULL;
	bool listens = false;
	char line[256];

	if (!f) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!listens && fgets(line, sizeof(line), f))
		listens = line_is_listener(line);
	fclose(f);
	return listens;
}

bool udev_initialized(int run, uint32_t ifindex)
{
	autofree char *entry = malloc(ENTRY_BYTES_MAX);
	char path[32];
	int r;

	snprintf(path, sizeof(path), "data/n%u", ifindex);
	if (!entry)
		return faccessat(run, path, F_OK, 0) == 0;
	r = sysfs_read(run, path, entry, ENTRY_BYTES_MAX);
	if (r < 0) /* an entry that cannot be read still exists */
		return r != -ENOENT;
	return !strstr(entry, "E:ID_RENAMING=1");
}

void udev_fill_links(int run, int proc_net, struct inventory *inv)
{
	if (!udev_serves(run, proc_net))
		return;
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].kind != INV_LINK_LOOPBACK)
			inv->links[i].initialized = udev_initialized(run, inv->links[i].ifindex);
}

/* The header of udev's messages, equal to libudev's struct udev_monitor_netlink_header. */
struct monitor_header {
	char prefix[8]; /* "libudev" */
	uint32_t magic; /* magic and the hashes below are in network byte order */
	uint32_t header_bytes, properties_offset, properties_bytes;
	uint32_t subsystem_hash, devtype_hash, tag_bloom_hi, tag_bloom_lo;
};

/* Finds the value of "KEY=value" among strings that each end with a NUL. Returns NULL if no string
 * has that key. */
static const char *property(const char *bytes, size_t len, const char *key)
{
	size_t key_len = strlen(key);

	while (len > 0) {
		size_t n = strnlen(bytes, len);

		if (n == len)
			return NULL; /* the message is truncated */
		if (n > key_len && memcmp(bytes, key, key_len) == 0 && bytes[key_len] == '=')
			return bytes + key_len + 1;
		bytes += n + 1;
		len -= n + 1;
	}
	return NULL;
}

bool udev_parse_event(const char *bytes, size_t len, struct kernel_event *ret)
{
	const char *subsystem, *index, *name, *action;
	struct monitor_header h;
	unsigned long ifindex;
	char *end;

	if (len < sizeof(h))
		return false;
	memcpy(&h, bytes, sizeof(h));
	if (memcmp(h.prefix, "libudev", sizeof(h.prefix)) != 0 || ntohl(h.magic) != MONITOR_MAGIC ||
	    h.properties_offset > len || h.properties_bytes > len - h.properties_offset)
		return false;
	bytes += h.properties_offset;
	len = h.properties_bytes;
	subsystem = property(bytes, len, "SUBSYSTEM");
	index = property(bytes, len, "IFINDEX");
	name = property(bytes, len, "INTERFACE");
	action = property(bytes, len, "ACTION");
	if (!subsystem || strcmp(subsystem, "net") != 0 || !index ||
	    !isdigit((unsigned char)*index))
		return false;
	ifindex = strtoul(index, &end, 10);
	if (*end || ifindex == 0 || ifindex > INT32_MAX)
		return false;
	*ret = (struct kernel_event){.type = KERNEL_EVENT_UDEV,
				     .removed = action && strcmp(action, "remove") == 0,
				     .ifindex = (uint32_t)ifindex};
	inv_text_set(ret->ifname, sizeof(ret->ifname), name ? name : "");
	return true;
}

int udev_watch_open(void)
{
	const struct sockaddr_nl udev = {.nl_family = AF_NETLINK, .nl_groups = GROUP_UDEV};
	autoclose int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&udev, sizeof(udev)) < 0)
		return -errno;
	return fd_take(fd);
}

int udev_watch_read(int fd, void (*cb)(void *user, const struct kernel_event *e), void *user)
{
	char message[MESSAGE_BYTES_MAX];

	for (int i = 0; i < WATCH_READ_MAX; i++) {
		ssize_t n = netlink_notification(fd, false, message, sizeof(message));
		struct kernel_event e = {.type = KERNEL_EVENT_LOST};

		if (n == 0)
			return 0;
		if (n < 0 && n != -ENOBUFS)
			return (int)n;
		if (n < 0 || udev_parse_event(message, (size_t)n, &e))
			cb(user, &e);
	}
	return 0;
}
