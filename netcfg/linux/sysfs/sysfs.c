/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads properties of the devices behind links, which netlink does not report, from sysfs. The root
 * may also be a recorded tree.
 */
#include "netcfg/linux/sysfs/sysfs.h"
#include "netcfg/host/inventory_build.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#define CORES_MAX 8192
#define NODES_MAX 1024
#define LIST_BYTES_MAX 16384
#define LINK_PATH_MAX 96

int sysfs_open(void)
{
	autoclose int context = fsopen("sysfs", FSOPEN_CLOEXEC);
	int fd = -1;

	if (context >= 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY);
	if (fd < 0)
		fd = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int sysfs_read(int root, const char *path, char *buf, size_t size)
{
	autoclose int fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		n = read(fd, buf + len, size - len);
		if (n < 0 && errno != EINTR)
			return -errno;
		len += n > 0 ? (size_t)n : 0;
		if (len == size)
			return -ENOSPC;
	} while (n != 0);
	while (len > 0 && buf[len - 1] == '\n')
		len--;
	buf[len] = '\0';
	return (int)len;
}

int sysfs_read_number(int root, const char *path, int64_t *ret)
{
	char text[32], *end;
	int64_t v;
	int r = sysfs_read(root, path, text, sizeof(text));

	if (r < 0)
		return r;
	errno = 0;
	v = strtoll(text, &end, 10);
	if (end == text || *end || errno)
		return -EINVAL;
	*ret = v;
	return 0;
}

static int read_target(int root, const char *path, char *buf, size_t size)
{
	ssize_t n = readlinkat(root, path, buf, size - 1);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return 0;
}

int sysfs_read_link(int root, const char *path, char *buf, size_t size)
{
	char target[PATH_MAX];
	const char *base;
	int r = read_target(root, path, target, sizeof(target));

	if (r < 0)
		return r;
	base = strrchr(target, '/');
	inv_text_set(buf, size, base ? base + 1 : target);
	return 0;
}

static bool is_pci_address(const char *s, size_t len)
{
	/* an address looks like "0000:3b:00.0"; the domain numbers of some bridges have more than
	 * four digits */
	if (len < 12 || len > 15)
		return false;
	for (size_t i = 0; i < len; i++) {
		char want = i == len - 8 || i == len - 5 ? ':' : i == len - 2 ? '.' : 'x';

		if (want == 'x' ? !isxdigit((unsigned char)s[i]) : s[i] != want)
			return false;
	}
	return true;
}

/* Finds the nearest PCI function above the link: the device itself, or the parent of a virtio or
 * auxiliary device. `target` is where the symbolic link class/net/NAME points. */
static void fill_pci(struct inv_link *l, const char *target)
{
	for (const char *s = target; *s;) {
		size_t len = strcspn(s, "/");

		if (is_pci_address(s, len))
			inv_text_set(l->pci, MIN_OF(sizeof(l->pci), len + 1), s);
		s += len + (s[len] == '/');
	}
}

/* Writes "class/net/NAME" followed by the suffix into buf. */
static const char *link_path(const struct inv_link *l, const char *suffix, char *buf)
{
	snprintf(buf, LINK_PATH_MAX, "class/net/%.*s%s", IFNAMSIZ, l->name, suffix);
	return buf;
}

static uint32_t read_count(int root, const char *path)
{
	int64_t v;

	return sysfs_read_number(root, path, &v) == 0 && v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

static void fill_device(int root, struct inv_link *l)
{
	char path[LINK_PATH_MAX];
	int64_t node;

	/* Use the NUMA node of the parent device for a virtio device, which has no NUMA node
	 * itself. */
	if (sysfs_read_number(root, link_path(l, "/device/numa_node", path), &node) == 0 ||
	    sysfs_read_number(root, link_path(l, "/device/../numa_node", path), &node) == 0)
		l->numa_node = node >= 0 && node < INT_MAX ? (int)node : INV_NUMA_NONE;
	sysfs_read_link(root, link_path(l, "/device/driver", path), l->driver, sizeof(l->driver));
	l->max_vfs = read_count(root, link_path(l, "/device/sriov_totalvfs", path));
	if (l->max_vfs)
		l->n_vfs = read_count(root, link_path(l, "/device/sriov_numvfs", path));
	sysfs_read_link(root, link_path(l, "/device/physfn", path), l->physfn, sizeof(l->physfn));
	if (l->kind == INV_LINK_VIRTUAL)
		l->kind = l->physfn[0] ? INV_LINK_VF : INV_LINK_PHYSICAL;
}

void sysfs_fill_link(int root, struct inv_link *l)
{
	char path[LINK_PATH_MAX], target[PATH_MAX];
	int64_t speed, port;

	/* Skip software links, which have no device, because a host may have thousands of them. */
	if ((l->kind == INV_LINK_VIRTUAL && !l->kind_text[0]) || l->kind == INV_LINK_IPOIB) {
		if (read_target(root, link_path(l, "", path), target, sizeof(target)) == 0 &&
		    !strstr(target, "/virtual/")) {
			fill_pci(l, target);
			fill_device(root, l);
			if (sysfs_read_number(root, link_path(l, "/dev_port", path), &port) == 0 &&
			    port > 0 && port < UINT16_MAX)
				l->dev_port = (uint32_t)port;
		}
	}
	if (!l->up || (l->kind != INV_LINK_PHYSICAL && l->kind != INV_LINK_VF &&
		       l->kind != INV_LINK_BOND && l->kind != INV_LINK_IPOIB))
		return;
	if (sysfs_read_number(root, link_path(l, "/speed", path), &speed) == 0 && speed > 0 &&
	    speed < UINT32_MAX)
		l->speed_mbps = (uint32_t)speed;
}

int sysfs_parse_list(const char *text, bool *set, size_t n)
{
	while (*text && !isspace((unsigned char)*text)) {
		unsigned long first, last;
		char *end;

		if (!isdigit((unsigned char)*text))
			return -EINVAL;
		first = last = strtoul(text, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			last = strtoul(end + 1, &end, 10);
		if (last < first || (*end && *end != ',' && !isspace((unsigned char)*end)))
			return -EINVAL;
		for (unsigned long i = first; i <= last && i < n; i++)
			set[i] = true;
		text = end + (*end == ',');
	}
	return 0;
}

static int read_list(int root, const char *path, bool *set, size_t n)
{
	char text[LIST_BYTES_MAX];
	int r = sysfs_read(root, path, text, sizeof(text));

	return r < 0 ? r : sysfs_parse_list(text, set, n);
}

static void fill_core_nodes(int root, struct inventory *inv)
{
	bool nodes[NODES_MAX] = {false};

	if (read_list(root, "devices/system/node/online", nodes, NODES_MAX) < 0)
		return;
	for (int node = 0; node < NODES_MAX; node++) {
		bool cores[CORES_MAX] = {false};
		char path[64];

		snprintf(path, sizeof(path), "devices/system/node/node%d/cpulist", node);
		if (!nodes[node] || read_list(root, path, cores, CORES_MAX) < 0)
			continue;
		for (size_t i = 0; i < inv->n_cores; i++)
			if (cores[inv->cores[i].id])
				inv->cores[i].numa_node = node;
	}
}

int sysfs_add_cores(int root, struct inventory *inv)
{
	bool present[CORES_MAX] = {false}, online[CORES_MAX] = {false};
	bool isolated[CORES_MAX] = {false};
	cpu_set_t allowed;
	/* The kernel already limits the affinity mask to the cgroup's cpuset. */
	bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
	int r = read_list(root, "devices/system/cpu/present", present, CORES_MAX);

	if (r >= 0)
		r = read_list(root, "devices/system/cpu/online", online, CORES_MAX);
	if (r < 0)
		return r;
	/* A missing file means that no core is isolated: some kernels then lack the file. */
	read_list(root, "devices/system/cpu/isolated", isolated, CORES_MAX);
	for (unsigned i = 0; i < CORES_MAX; i++) {
		struct inv_core *c;

		if (!present[i])
			continue;
		c = inv_core_add(inv);
		if (!c)
			return -ENOMEM;
		c->id = i;
		c->online = online[i];
		c->isolated = isolated[i];
		c->barred = known && !CPU_ISSET(i, &allowed);
	}
	fill_core_nodes(root, inv);
	return 0;
}

int sysfs_each_entry(int root, const char *path, int (*cb)(void *user, const char *name),
		     void *user)
{
	int fd = openat(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	struct dirent *e;
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		r = -errno;
		close(fd);
		return r;
	}
	while (r >= 0 && (e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = cb(user, e->d_name);
	closedir(dir);
	return r;
}

struct hugepages_walk {
	struct inventory *inv;
	int root, node;
	const char *folder;
};

static int add_hugepages_size(void *user, const char *name)
{
	struct hugepages_walk *w = user;
	struct inv_hugepages *h;
	uint32_t size_kib;
	char path[512];
	int64_t total, n_free;

	if (sscanf(name, "hugepages-%" SCNu32 "kB", &size_kib) != 1)
		return 0;
	snprintf(path, sizeof(path), "%s/%.64s/nr_hugepages", w->folder, name);
	if (sysfs_read_number(w->root, path, &total) < 0)
		return 0;
	snprintf(path, sizeof(path), "%s/%.64s/free_hugepages", w->folder, name);
	if (sysfs_read_number(w->root, path, &n_free) < 0)
		return 0;
	h = inv_hugepages_add(w->inv);
	if (!h)
		return -ENOMEM;
	*h = (struct inv_hugepages){.size_kib = size_kib,
				    .numa_node = w->node,
				    .total = (uint64_t)total,
				    .free = (uint64_t)n_free};
	return 0;
}

int sysfs_add_hugepages(int root, struct inventory *inv)
{
	struct hugepages_walk w = {inv, root, INV_NUMA_NONE, "kernel/mm/hugepages"};
	bool nodes[NODES_MAX] = {false};
	int r = sysfs_each_entry(root, w.folder, add_hugepages_size, &w);

	if (r == -ENOENT) /* a missing folder means that the kernel has no hugepages */
		return 0;
	if (r < 0 || read_list(root, "devices/system/node/online", nodes, NODES_MAX) < 0)
		return r;
	for (w.node = 0; w.node < NODES_MAX; w.node++) {
		char folder[64];

		if (!nodes[w.node])
			continue;
		snprintf(folder, sizeof(folder), "devices/system/node/node%d/hugepages", w.node);
		w.folder = folder;
		r = sysfs_each_entry(root, folder, add_hugepages_size, &w);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

/* The number of entries in a folder of links, and the name of the last entry. */
struct only_name {
	char name[IFNAMSIZ];
	unsigned n;
};

static int only_name_add(void *user, const char *name)
{
	struct only_name *only = user;

	inv_text_set(only->name, sizeof(only->name), name);
	only->n++;
	return 0;
}

int sysfs_link_name(int root, const char *ref, char ret[static IFNAMSIZ])
{
	struct only_name only = {.n = 0};
	unsigned domain, bus, device, function, vf;
	char path[LINK_PATH_MAX];
	int end = 0, r;

	if (!strchr(ref, ':')) { /* the reference is a link's name, because only a PCI address
				    contains a colon */
		if (strlen(ref) >= IFNAMSIZ)
			return -ENODEV;
		memcpy(ret, ref, strlen(ref) + 1);
		return 0;
	}
	r = sscanf(ref, "%4x:%2x:%2x.%1x%n/vf%u%n", &domain, &bus, &device, &function, &end, &vf,
		   &end);
	if (r < 4 || ref[end])
		return -EINVAL;
	if (r == 4)
		snprintf(path, sizeof(path), "bus/pci/devices/%04x:%02x:%02x.%x/net", domain, bus,
			 device, function);
	else
		snprintf(path, sizeof(path), "bus/pci/devices/%04x:%02x:%02x.%x/virtfn%u/net",
			 domain, bus, device, function, vf);
	r = sysfs_each_entry(root, path, only_name_add, &only);
	if (r < 0 || only.n == 0)
		return r == 0 || r == -ENOENT ? -ENODEV : r;
	if (only.n > 1)
		return -ENOTUNIQ;
	memcpy(ret, only.name, sizeof(only.name));
	return 0;
}
