/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens and closes the RDMA devices of a worker's legs, and registers memory with them.
 * port_rdma_pair.c transfers the data.
 */
#include "dataplane/port/rdma/port_rdma_internal.h"
#include <dirent.h>
#include <dlfcn.h>
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bit of a partition key: set for a full member of the partition, clear for a limited member. The
 * other bits identify the partition. */
#define PKEY_FULL 0x8000U
#define PKEY_DEFAULT 0x7fffU
#define PEERMEM "/sys/module/nvidia_peermem"
/* Interval after which a failed registration of memory is tried again, because the limit for locked
 * memory may have been raised. */
#define MEMORY_AGAIN_NS (16 * NSEC_PER_SEC)

const char *port_rdma_reason_code(enum port_rdma_reason r)
{
	static const char *const codes[PORT_RDMA_REASON_MAX] = {
		[PORT_RDMA_OK] = "ok",
		[PORT_RDMA_OFF] = "rdma-off",
		[PORT_RDMA_NO_DEVICE] = LAUNCH_RDMA_NONE,
		[PORT_RDMA_PORT_DOWN] = "rdma-port-down",
		[PORT_RDMA_NO_GID] = LAUNCH_RDMA_NO_GID,
		[PORT_RDMA_MEMLOCK] = "rdma-memlock",
		[PORT_RDMA_GONE] = LAUNCH_RDMA_GONE,
		[PORT_RDMA_KIND] = "rdma-kinds-differ",
		[PORT_RDMA_PEER] = "rdma-peer-without",
		[PORT_RDMA_ENCRYPTED] = "rdma-encrypted",
		[PORT_RDMA_IWARP] = "rdma-iwarp",
		[PORT_RDMA_FAILED] = "rdma-failed",
		[PORT_RDMA_OLD] = LAUNCH_RDMA_OLD,
		[PORT_RDMA_MTU] = "rdma-mtu-below",
		[PORT_RDMA_MIXED] = "rdma-mixed",
	};

	return (unsigned)r < PORT_RDMA_REASON_MAX ? codes[r] : "rdma-failed";
}

/* ------------------------------------------------------------------ GIDs */

/* Makes the RoCE GID of an address: the IPv6 address itself, or an IPv4 address mapped into
 * IPv6. */
static void gid_of(const struct ip_addr *ip, uint8_t ret[16])
{
	if (ip->family == AF_INET6) {
		memcpy(ret, ip->bytes, 16);
		return;
	}
	memset(ret, 0, 16);
	ret[10] = ret[11] = 0xff;
	memcpy(ret + 12, ip->bytes, 4);
}

bool rdma_ipoib_parse(const char *address, uint8_t ret_gid[16])
{
	uint8_t bytes[20];
	int n = 0;

	for (unsigned i = 0; i < sizeof(bytes); i++, address += n)
		if (sscanf(address, i == 0 ? "%2hhx%n" : ":%2hhx%n", &bytes[i], &n) != 1)
			return false;
	memcpy(ret_gid, bytes + 4, 16);
	return address[0] == '\0' || address[0] == '\n';
}

/* ------------------------------------------------------------------ devices */

static void device_close(struct rdma_device *d)
{
	if (d->cq)
		(void)ibv_destroy_cq(d->cq);
	if (d->channel)
		(void)ibv_destroy_comp_channel(d->channel);
	if (d->context)
		(void)ibv_close_device(d->context);
	*d = (struct rdma_device){.context = NULL};
}

static bool fd_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* Finds out how GPU memory can be registered. Needs no GPU memory for that: it registers a dma-buf
 * with descriptor -1. A driver that supports dma-buf reports that the descriptor is invalid; other
 * drivers report that the call is unsupported. */
static enum port_rdma_gpu gpu_probe(const struct port_rdma *r, struct rdma_device *d)
{
	struct ibv_pd *pd = ibv_alloc_pd(d->context);
	struct ibv_mr *mr = NULL;
	bool takes;

	if (!pd)
		return PORT_RDMA_GPU_UNSUPPORTED;
	errno = 0;
	mr = ibv_reg_dmabuf_mr(pd, 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE);
	takes = mr || errno == EBADF;
	if (mr)
		(void)ibv_dereg_mr(mr);
	(void)ibv_dealloc_pd(pd);
	return takes		? PORT_RDMA_GPU_DMABUF
	       : r->has_peermem ? PORT_RDMA_GPU_PEERMEM
				: PORT_RDMA_GPU_UNSUPPORTED;
}

enum port_rdma_gpu port_rdma_gpu(const struct port_rdma *r, unsigned port)
{
	return port_rdma_reason(r, port) == PORT_RDMA_OK ? r->devices[r->legs[port].device].gpu
							 : PORT_RDMA_GPU_NO_DEVICE;
}

const char *port_rdma_gpu_code(enum port_rdma_gpu g)
{
	static const char *const codes[PORT_RDMA_GPU_MAX] = {
		[PORT_RDMA_GPU_NO_DEVICE] = "gpu-no-device",
		[PORT_RDMA_GPU_UNSUPPORTED] = "gpu-not-supported",
		[PORT_RDMA_GPU_PEERMEM] = "gpu-nvidia-peermem",
		[PORT_RDMA_GPU_DMABUF] = "gpu-dma-buf",
	};

	return (unsigned)g < PORT_RDMA_GPU_MAX ? codes[g] : codes[PORT_RDMA_GPU_NO_DEVICE];
}

static bool text_read(const char *path, char *buf, size_t size)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	buf[n < 0 ? 0 : n] = '\0';
	return n > 0;
}

/* Returns whether the device's driver is older than the supported minimum. A worker in its sandbox
 * cannot read the files with the driver's version. So for a device that is added later, the process
 * that passes the device makes this check. */
static bool driver_is_old(const struct ibv_device *dev)
{
	char path[IBV_SYSFS_PATH_MAX + 32], module[128], version[128];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/device/driver/module", dev->ibdev_path);
	n = readlink(path, module, sizeof(module) - 1);
	module[n < 0 ? 0 : n] = '\0';
	snprintf(path, sizeof(path), "%s/device/driver/module/version", dev->ibdev_path);
	return text_read(path, version, sizeof(version)) &&
	       launch_rdma_driver_is_old(strrchr(module, '/') ? strrchr(module, '/') + 1 : module,
					 version);
}

/* Creates all objects that a worker needs on a device. */
static bool device_prepare(struct rdma_device *d)
{
	d->channel = ibv_create_comp_channel(d->context);
	if (!d->channel)
		return false;
	d->cq = ibv_create_cq(d->context, RDMA_CQES, NULL, d->channel, 0);
	return d->cq && fd_nonblocking(d->channel->fd) && fd_nonblocking(d->context->async_fd);
}

/*
 * Finds the index of the leg's partition in the partition table of its port, with full or limited
 * membership. Returns false if the table does not contain the partition, because packets would then
 * go to another partition. The library reads the table from files, which a worker in its sandbox
 * cannot open. So for a device that comes back, the worker uses the former index, and for a new
 * device it only knows the index of the default partition.
 */
static bool leg_finds_partition(struct rdma_leg *leg, struct ibv_context *context, uint8_t port)
{
	const uint16_t base = leg->pkey & (uint16_t)~PKEY_FULL;
	int index = ibv_get_pkey_index(context, port, htobe16(base | PKEY_FULL));

	if (index < 0)
		index = ibv_get_pkey_index(context, port, htobe16(base));
	if (index >= 0) {
		leg->pkey_index = (uint16_t)index;
		leg->has_pkey = true;
	}
	return leg->has_pkey || base == 0 || base == PKEY_DEFAULT;
}

/* Assigns the device to the leg if the device has the leg's address. Returns whether it did. A
 * device may serve several legs, by different ports or VLANs. */
static bool leg_takes(struct port_rdma *r, struct rdma_leg *leg, unsigned device)
{
	struct rdma_device *d = &r->devices[device];
	struct ibv_gid_entry entry;
	enum port_rdma_reason why = rdma_gid_find(d->context, leg, &entry);

	if (why == PORT_RDMA_OK && leg->is_ipoib &&
	    !leg_finds_partition(leg, d->context, (uint8_t)entry.port_num))
		why = PORT_RDMA_NO_GID;
	if (why != PORT_RDMA_OK) {
		leg->reason = why == PORT_RDMA_NO_DEVICE ? leg->reason : why;
		return false;
	}
	leg->device = (int)device;
	leg->port_num = (uint8_t)entry.port_num;
	leg->reason = PORT_RDMA_OK;
	return true;
}

static void legs_leave(struct port_rdma *r, unsigned device, enum port_rdma_reason why)
{
	for (unsigned i = 0; i < r->n_legs; i++)
		if (r->legs[i].device == (int)device) {
			r->legs[i].device = -1;
			r->legs[i].reason = why;
		}
}

static bool leg_lacks(const struct rdma_leg *leg)
{
	return leg->device < 0 && leg->reason != PORT_RDMA_OFF;
}

/* Returns the index in `devices` for a new device: that of a removed device, or the next unused
 * one. */
static unsigned device_place(const struct port_rdma *r)
{
	unsigned i = 0;

	while (i < r->n_devices && r->devices[i].context)
		i++;
	return i;
}

/* Opens the device. Keeps the device open if it has the address of a leg that lacks a device.
 * Returns the number of such legs. */
static unsigned device_try(struct port_rdma *r, struct ibv_device *dev)
{
	unsigned place = device_place(r), taken = 0;
	struct rdma_device *d = &r->devices[place];

	if (place == PORT_RDMA_LEGS_MAX)
		return 0;
	*d = (struct rdma_device){.context = ibv_open_device(dev)};
	if (!d->context)
		return 0;
	for (unsigned i = 0; i < r->n_legs; i++)
		if (leg_lacks(&r->legs[i]))
			taken += leg_takes(r, &r->legs[i], place);
	if (taken && driver_is_old(dev)) {
		legs_leave(r, place, PORT_RDMA_OLD);
		device_close(d);
		return 0;
	}
	if (taken && device_prepare(d)) {
		d->gpu = gpu_probe(r, d);
		r->n_devices = MAX_OF(r->n_devices, place + 1);
		return taken;
	}
	legs_leave(r, place, PORT_RDMA_NO_DEVICE);
	device_close(d);
	return 0;
}

/*
 * Loads all drivers of the RDMA library before the worker enters its sandbox. The library itself
 * loads a driver when it first sees a device. That is too late for a device that is added later,
 * because code cannot be mapped in the sandbox.
 */
static void drivers_load(void)
{
	char path[PATH_MAX];
	struct dirent *e;
	Dl_info info;
	DIR *dir;
	int len;

	if (!dladdr((void *)(uintptr_t)ibv_get_device_list, &info) || !info.dli_fname ||
	    !strrchr(info.dli_fname, '/'))
		return;
	len = snprintf(path, sizeof(path), "%.*s/libibverbs",
		       (int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname);
	dir = len < (int)sizeof(path) - NAME_MAX ? opendir(path) : NULL;
	while (dir && (e = readdir(dir))) {
		if (!strstr(e->d_name, "-rdmav"))
			continue;
		snprintf(path + len, sizeof(path) - (size_t)len, "/%s", e->d_name);
		/* Never unload the driver, because it registers with the library. */
		(void)dlopen(path, RTLD_NOW);
	}
	if (dir)
		closedir(dir);
}

static bool link_read(const char *ifname, const char *what, char *buf, size_t size)
{
	char path[64 + IFNAMSIZ];

	snprintf(path, sizeof(path), "/sys/class/net/%.15s/%s", ifname, what);
	return text_read(path, buf, size);
}

static void leg_init(struct rdma_leg *leg, const struct launch_port *port)
{
	char text[128];

	*leg = (struct rdma_leg){.device = -1,
				 .reason = port->rdma ? PORT_RDMA_NO_DEVICE : PORT_RDMA_OFF,
				 .ifindex = port->ifindex};
	leg->is_ipoib = link_read(port->ifname, "address", text, sizeof(text)) &&
			rdma_ipoib_parse(text, leg->ib_gid);
	if (leg->is_ipoib && link_read(port->ifname, "pkey", text, sizeof(text)))
		leg->pkey = (uint16_t)strtoul(text, NULL, 16);
	gid_of(&port->ip.addr, leg->gid);
}

int port_rdma_open(const struct launch_config *cfg, struct port_rdma **ret)
{
	struct ibv_device **list;
	struct port_rdma *r;
	int n = 0;

	*ret = NULL;
	if (!launch_takes_rdma(cfg))
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->n_legs = MIN_OF(cfg->n_ports, (uint32_t)PORT_RDMA_LEGS_MAX);
	for (unsigned i = 0; i < r->n_legs; i++)
		leg_init(&r->legs[i], &cfg->ports[i]);
	for (unsigned i = 0; i < RDMA_OPS_MAX; i++)
		r->free_ops[r->n_free_ops++] = (uint16_t)i;
	r->next_psn = (uint32_t)clock_now_ns();
	r->has_peermem = access(PEERMEM, F_OK) == 0;
	list = ibv_get_device_list(&n);
	for (int i = 0; list && i < n; i++)
		(void)device_try(r, list[i]);
	if (list)
		ibv_free_device_list(list);
	if (n == 0)
		drivers_load();
	*ret = r;
	return 0;
}

void port_rdma_leg_add(struct port_rdma *r, const struct launch_port *port)
{
	if (r && r->n_legs < PORT_RDMA_LEGS_MAX)
		leg_init(&r->legs[r->n_legs++], port);
}

bool port_rdma_any(const struct port_rdma *r)
{
	for (unsigned i = 0; r && i < r->n_devices; i++)
		if (r->devices[i].context)
			return true;
	return false;
}

void port_rdma_stop(struct port_rdma *r)
{
	for (unsigned i = 0; r && i < r->n_devices; i++)
		rdma_pairs_of_device(r, i);
}

struct port_rdma *port_rdma_free(struct port_rdma *r)
{
	if (!r)
		return NULL;
	port_rdma_stop(r);
	for (unsigned i = 0; i < r->n_devices; i++)
		device_close(&r->devices[i]);
	free(r);
	return NULL;
}

/* ------------------------------------------------------------------ removal of a device */

static void pool_leave(struct port_rdma_pool *pool, unsigned device)
{
	for (unsigned i = 0; i < PORT_RDMA_REGIONS_MAX; i++) {
		if (pool->mrs[device][i])
			(void)ibv_dereg_mr(pool->mrs[device][i]);
		pool->mrs[device][i] = NULL;
	}
	if (pool->pds[device])
		(void)ibv_dealloc_pd(pool->pds[device]);
	pool->pds[device] = NULL;
}

static void device_leave(struct port_rdma *r, unsigned device)
{
	rdma_pairs_of_device(r, device);
	for (struct port_rdma_pool *p = r->pools; p; p = p->next)
		pool_leave(p, device);
	device_close(&r->devices[device]);
	legs_leave(r, device, PORT_RDMA_GONE);
}

uint32_t port_rdma_changes(const struct port_rdma *r)
{
	return r ? r->n_changes : 0;
}

static bool is_change(enum ibv_event_type type)
{
	return type == IBV_EVENT_GID_CHANGE || type == IBV_EVENT_PORT_ACTIVE ||
	       type == IBV_EVENT_LID_CHANGE || type == IBV_EVENT_PKEY_CHANGE;
}

/* Reads device events. Returns true if the device has become unusable. */
static bool device_listen(struct port_rdma *r, struct rdma_device *d)
{
	struct ibv_async_event event;
	bool fatal = false;

	while (ibv_get_async_event(d->context, &event) == 0) {
		fatal |= event.event_type == IBV_EVENT_DEVICE_FATAL;
		r->n_changes += is_change(event.event_type);
		d->gids_moved |= event.event_type == IBV_EVENT_GID_CHANGE;
		ibv_ack_async_event(&event);
	}
	return fatal;
}

/* Returns whether the device has become unusable, or the kernel is removing it: the kernel then
 * unlinks the device's file in /dev. */
static bool device_is_going(struct port_rdma *r, struct rdma_device *d)
{
	struct stat st;

	return device_listen(r, d) || fstat(d->context->cmd_fd, &st) < 0 || st.st_nlink == 0;
}

static void memory_try_again(struct port_rdma *r, uint64_t now_ns);

uint64_t port_rdma_tick(struct port_rdma *r, uint64_t now_ns)
{
	const uint32_t changes = port_rdma_changes(r);

	if (!port_rdma_any(r))
		return UINT64_MAX;
	if (now_ns < r->look_ns)
		return r->look_ns;
	r->look_ns = now_ns + PORT_RDMA_LOOK_NS;
	r->now_ns = now_ns;
	for (unsigned i = 0; i < r->n_devices; i++) {
		struct rdma_device *d = &r->devices[i];

		if (d->context && device_is_going(r, d))
			device_leave(r, i);
		else if (d->gids_moved)
			rdma_pairs_check_gids(r, i);
		d->gids_moved = false;
	}
	memory_try_again(r, now_ns);
	rdma_pairs_reap(r, now_ns);
	/* After a change, return the current time, so that the caller calls this function again at
	 * once and then checks port_rdma_changes(). */
	return changes == r->n_changes ? r->look_ns : now_ns;
}

unsigned port_rdma_fds(const struct port_rdma *r, int *ret_fds, unsigned max)
{
	unsigned n = 0;

	for (unsigned i = 0; r && i < r->n_devices && n < max; i++)
		if (r->devices[i].channel)
			ret_fds[n++] = r->devices[i].channel->fd;
	return n;
}

unsigned port_rdma_event_fds(const struct port_rdma *r, int *ret_fds, unsigned max)
{
	unsigned n = 0;

	for (unsigned i = 0; r && i < r->n_devices && n < max; i++)
		if (r->devices[i].context)
			ret_fds[n++] = r->devices[i].context->async_fd;
	return n;
}

void port_rdma_look(struct port_rdma *r)
{
	r->look_ns = 0;
}

/* ------------------------------------------------------------------ memory */

static struct ibv_mr *region_register(struct ibv_pd *pd, const struct port_rdma_region *region,
				      int access)
{
	if (region->is_dmabuf)
		return ibv_reg_dmabuf_mr(pd, region->dmabuf_at, region->bytes,
					 (uintptr_t)region->base, region->dmabuf_fd, access);
	return ibv_reg_mr(pd, region->base, region->bytes, access);
}

static int regions_register(struct port_rdma_pool *pool, unsigned device)
{
	int access = IBV_ACCESS_LOCAL_WRITE;

	pool->pds[device] = ibv_alloc_pd(pool->r->devices[device].context);
	if (!pool->pds[device])
		return -errno;
	for (unsigned i = 0; i < pool->n_regions; i++) {
		int more = pool->remote && i == 0 ? IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ
						  : 0;

		pool->mrs[device][i] =
			region_register(pool->pds[device], &pool->regions[i], access | more);
		if (!pool->mrs[device][i])
			return -errno;
	}
	return 0;
}

/* Registers the pool's memory with the device. If that fails, stores the reason for all legs of the
 * device. */
static int pool_join(struct port_rdma_pool *pool, unsigned device)
{
	struct port_rdma *r = pool->r;
	int e = r->devices[device].context ? regions_register(pool, device) : -ENODEV;

	if (e == 0)
		return 0;
	pool_leave(pool, device);
	for (unsigned k = 0; k < r->n_legs; k++)
		if (r->legs[k].device == (int)device)
			r->legs[k].reason = PORT_RDMA_MEMLOCK;
	r->memory_ns = clock_now_ns() + MEMORY_AGAIN_NS;
	return e;
}

static bool lacks_memory(const struct port_rdma *r, unsigned device)
{
	for (unsigned i = 0; i < r->n_legs; i++)
		if (r->legs[i].device == (int)device && r->legs[i].reason == PORT_RDMA_MEMLOCK)
			return true;
	return false;
}

static void memory_try_again(struct port_rdma *r, uint64_t now_ns)
{
	if (now_ns < r->memory_ns)
		return;
	for (unsigned i = 0; i < r->n_devices; i++) {
		bool all = lacks_memory(r, i);

		for (struct port_rdma_pool *p = r->pools; all && p; p = p->next)
			all = p->pds[i] || pool_join(p, i) == 0;
		for (unsigned k = 0; all && k < r->n_legs; k++)
			if (r->legs[k].device == (int)i)
				r->legs[k].reason = PORT_RDMA_OK;
		r->n_changes += all;
	}
}

void port_rdma_refuse(struct port_rdma *r, unsigned port, enum port_rdma_reason why)
{
	if (port < r->n_legs && leg_lacks(&r->legs[port]))
		r->legs[port].reason = why;
}

int port_rdma_find(struct port_rdma *r, const char *name)
{
	unsigned place = device_place(r), taken = 0;
	struct ibv_device **list;
	int n = 0;

	list = ibv_get_device_list(&n);
	for (int i = 0; list && i < n && taken == 0; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			taken = device_try(r, list[i]);
	if (list)
		ibv_free_device_list(list);
	r->n_changes += taken > 0;
	for (struct port_rdma_pool *p = taken ? r->pools : NULL; p; p = p->next)
		(void)pool_join(p, place);
	return taken ? (int)taken : -ENOENT;
}

int port_rdma_pool_new(struct port_rdma *r, const struct port_rdma_region *regions, unsigned n,
		       bool remote, struct port_rdma_pool **ret)
{
	struct port_rdma_pool *pool;
	bool any = false;
	int e = -ENODEV;

	if (n > PORT_RDMA_REGIONS_MAX)
		return -EINVAL;
	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	pool->r = r;
	pool->n_regions = n;
	pool->remote = remote;
	memcpy(pool->regions, regions, n * sizeof(regions[0]));
	for (unsigned i = 0; i < r->n_devices; i++) {
		int was = pool_join(pool, i);

		any |= was == 0;
		e = was < 0 ? was : e;
	}
	if (!any && e != -ENOMEM) { /* keep the pool after -ENOMEM, because memory may be available
				       later */
		free(pool);
		return e;
	}
	pool->next = r->pools;
	r->pools = pool;
	*ret = pool;
	return 0;
}

struct port_rdma_pool *port_rdma_pool_free(struct port_rdma_pool *pool)
{
	struct port_rdma_pool **p;

	if (!pool)
		return NULL;
	for (p = &pool->r->pools; *p != pool; p = &(*p)->next)
		;
	*p = pool->next;
	for (unsigned i = 0; i < pool->r->n_devices; i++)
		pool_leave(pool, i);
	free(pool);
	return NULL;
}
