/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds RDMA devices that appear while a worker runs, and passes their files to the worker, which
 * is confined and cannot open them. No event announces such devices, so the agent searches for one
 * as long as a worker lacks it.
 */
#include "agent/base/stats_page.h"
#include "agent/supervise/supervise_internal.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/os/fdpass.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILES "/dev/infiniband"
#define FILE_HEAD "uverbs"
#define CLASS "class/infiniband_verbs"
/* Shortest and longest time between checks of the same devices. An address appears as a GID shortly
 * after it was added. */
#define AGAIN_NS NSEC_PER_SEC
#define AGAIN_MOST_NS (16 * NSEC_PER_SEC)

struct search {
	int root;
	/* For RoCE: GID of the leg's address; for IPoIB: GID of the interface's port, otherwise
	 * family 0. */
	struct ip_addr gids[2];
	bool v2_only;	    /* accept only GIDs of RoCE v2 */
	char port[16];	    /* the port being examined */
	struct sup_rdma at; /* the device being examined */
	bool found;
};

/* Returns whether the GID is one of RoCE v2. For each address, the device's table lists the GID for
 * v1 before the GID for v2. */
static bool is_v2(const struct search *s, const char *name)
{
	char path[256], text[64];

	snprintf(path, sizeof(path), "class/infiniband/%s/ports/%s/gid_attrs/types/%.16s",
		 s->at.device, s->port, name);
	return sysfs_read(s->root, path, text, sizeof(text)) > 0 && strcmp(text, "RoCE v2") == 0;
}

static int on_gid(void *user, const char *name)
{
	struct search *s = user;
	char path[256], text[64];
	struct ip_addr gid;

	snprintf(path, sizeof(path), "class/infiniband/%s/ports/%s/gids/%.16s", s->at.device,
		 s->port, name);
	s->found = sysfs_read(s->root, path, text, sizeof(text)) > 0 &&
		   ip_addr_parse(text, &gid) == 0 &&
		   (ip_addr_equal(&gid, &s->gids[1]) ||
		    (ip_addr_equal(&gid, &s->gids[0]) && (!s->v2_only || is_v2(s, name))));
	return s->found ? -EEXIST : 0;
}

static int on_port(void *user, const char *name)
{
	struct search *s = user;
	char path[128];

	snprintf(s->port, sizeof(s->port), "%.15s", name);
	snprintf(path, sizeof(path), "class/infiniband/%s/ports/%s/gids", s->at.device, s->port);
	(void)sysfs_each_entry(s->root, path, on_gid, s);
	return s->found ? -EEXIST : 0;
}

static int on_device(void *user, const char *name)
{
	struct search *s = user;
	char path[128];

	if (strncmp(name, FILE_HEAD, strlen(FILE_HEAD)) != 0)
		return 0;
	snprintf(s->at.file, sizeof(s->at.file), "%.31s", name);
	snprintf(path, sizeof(path), CLASS "/%s/ibdev", s->at.file);
	if (sysfs_read(s->root, path, s->at.device, sizeof(s->at.device)) <= 0)
		return 0;
	snprintf(path, sizeof(path), "class/infiniband/%s/ports", s->at.device);
	(void)sysfs_each_entry(s->root, path, on_port, s);
	return s->found ? -EEXIST : 0;
}

/* Returns the GID that RoCE uses for an address. */
static struct ip_addr gid_of(const struct ip_addr *ip)
{
	struct ip_addr gid = {.family = AF_INET6, .bytes = {[10] = 0xff, [11] = 0xff}};

	if (ip->family == AF_INET6)
		return *ip;
	memcpy(gid.bytes + 12, ip->bytes, 4);
	return gid;
}

/* Returns the GID of an IPoIB port, which is the last part of the interface's hardware address. */
static struct ip_addr port_gid_of(int root, const char *ifname)
{
	struct ip_addr gid = {.family = AF_INET6};
	char path[64], text[128];
	uint8_t bytes[20];
	int at = 0, n = 0;

	snprintf(path, sizeof(path), "class/net/%.15s/address", ifname);
	if (sysfs_read(root, path, text, sizeof(text)) <= 0)
		return (struct ip_addr){.family = 0};
	for (unsigned i = 0; i < sizeof(bytes); i++, at += n)
		if (sscanf(text + at, i == 0 ? "%2hhx%n" : ":%2hhx%n", &bytes[i], &n) != 1)
			/* An Ethernet address is shorter and has no GID. */
			return (struct ip_addr){.family = 0};
	memcpy(gid.bytes, bytes + 4, 16);
	return gid;
}

/* Returns whether the device's driver is too old. The agent checks this, because the confined
 * worker cannot read these files. */
static bool driver_is_old(int root, const char *device)
{
	char path[128], module[64], version[64];

	snprintf(path, sizeof(path), "class/infiniband/%.63s/device/driver/module", device);
	if (sysfs_read_link(root, path, module, sizeof(module)) < 0)
		return false;
	snprintf(path, sizeof(path), "class/infiniband/%.63s/device/driver/module/version", device);
	return sysfs_read(root, path, version, sizeof(version)) > 0 &&
	       launch_rdma_driver_is_old(module, version);
}

bool sup_rdma_search(int root, const struct launch_port *port, bool v2_only, struct sup_rdma *ret)
{
	struct search s = {.root = root,
			   .gids = {gid_of(&port->ip.addr), port_gid_of(root, port->ifname)},
			   .v2_only = v2_only};

	(void)sysfs_each_entry(root, CLASS, on_device, &s);
	if (!s.found)
		return false;
	s.at.is_old = driver_is_old(root, s.at.device);
	*ret = s.at;
	return true;
}

/*
 * Returns a hash of the device files. It changes when a device appears or disappears, even if the
 * names stay the same.
 */
static uint64_t files_now(void)
{
	static const uint64_t key[2];
	DIR *dir = opendir(FILES);
	uint64_t sum = 0;
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		struct stat st;

		if (strncmp(e->d_name, FILE_HEAD, strlen(FILE_HEAD)) != 0 ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		sum += hash_keyed(key,
				  (const uint64_t[]){st.st_ino, st.st_rdev,
						     (uint64_t)st.st_ctim.tv_sec,
						     (uint64_t)st.st_ctim.tv_nsec},
				  4 * sizeof(uint64_t)) |
		       1;
	}
	if (dir)
		closedir(dir);
	return sum;
}

/* Returns whether the worker lacks RDMA on that port. *ret_gid: the worker has, or had, a device,
 * but the device lacks the GIDs that the leg needs. */
static bool lacks(const struct sup_worker *w, unsigned port, bool *ret_gid)
{
	char reason[sizeof(w->stats->rdma[0].reason)] = "";

	*ret_gid = false;
	if (!w->started->ports[port].rdma)
		return false;
	stats_page_text(w->stats, w->stats->rdma[port].reason, reason, sizeof(reason));
	*ret_gid = strcmp(reason, LAUNCH_RDMA_NO_GID) == 0;
	return *ret_gid || strcmp(reason, LAUNCH_RDMA_NONE) == 0 ||
	       strcmp(reason, LAUNCH_RDMA_GONE) == 0 || strcmp(reason, LAUNCH_RDMA_OLD) == 0;
}

bool sup_rdma_send(const struct sup_worker *w, unsigned port, const struct sup_rdma *s)
{
	struct launch_msg msg = {.type = LAUNCH_MSG_RDMA, .code = s->is_old, .index = port};
	char path[64];
	autoclose int fd = -1;

	snprintf(path, sizeof(path), FILES "/%s", s->file);
	if (!s->is_old)
		fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if ((fd < 0 && !s->is_old) || w->control_fd < 0)
		return false;
	snprintf(msg.text, sizeof(msg.text), "%s", s->device);
	return fdpass_send(w->control_fd, &msg, sizeof(msg), fd) >= 0;
}

void sup_update_rdma(struct sup_worker *w, uint64_t now_ns)
{
	uint64_t files;
	bool any = false, gid;
	autoclose int root = -1;

	for (unsigned i = 0; w->started && w->stats && i < w->started->n_ports; i++)
		any |= lacks(w, i, &gid);
	files = any ? files_now() : 0;
	if (!files || (files == w->rdma_seen && now_ns < w->rdma_due_ns))
		return;
	w->rdma_wait_ns =
		files == w->rdma_seen ? MIN_OF(2 * w->rdma_wait_ns, AGAIN_MOST_NS) : AGAIN_NS;
	w->rdma_due_ns = now_ns + w->rdma_wait_ns;
	w->rdma_seen = files;
	root = sysfs_open();
	for (unsigned i = 0; root >= 0 && i < w->started->n_ports; i++) {
		const struct launch_port *port = &w->started->ports[i];
		struct sup_rdma found;

		if (lacks(w, i, &gid) && sup_rdma_search(root, port, gid, &found))
			(void)sup_rdma_send(w, i, &found);
	}
}
