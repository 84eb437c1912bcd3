/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA devices of a worker's legs, and the memory that is registered with them. What goes over them
 * is in port_rdma_pair.c.
 */
#include "dataplane/port/port_rdma_internal.h"
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define GIDS_MAX 256

const char *port_rdma_reason_code(enum port_rdma_reason r)
{
	static const char *const codes[PORT_RDMA_REASON_MAX] = {
		[PORT_RDMA_OK] = "ok",
		[PORT_RDMA_OFF] = "rdma-off",
		[PORT_RDMA_NO_DEVICE] = "rdma-no-device",
		[PORT_RDMA_PORT_DOWN] = "rdma-port-down",
		[PORT_RDMA_NO_GID] = "rdma-no-gid",
		[PORT_RDMA_MEMLOCK] = "rdma-memlock",
		[PORT_RDMA_GONE] = LAUNCH_RDMA_GONE,
		[PORT_RDMA_KIND] = "rdma-kinds-differ",
		[PORT_RDMA_PEER] = "rdma-peer-without",
		[PORT_RDMA_ENCRYPTED] = "rdma-encrypted",
		[PORT_RDMA_FAILED] = "rdma-failed",
	};

	return (unsigned)r < PORT_RDMA_REASON_MAX ? codes[r] : "rdma-failed";
}

/* ------------------------------------------------------------------ GIDs */

/* As RoCE has it: the address itself, IPv4 mapped into IPv6. */
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

/* The best entry of the table that is this GID: RoCE v2 before v1. -ENOENT. */
static int gid_find(struct ibv_context *context, const uint8_t gid[16], struct ibv_gid_entry *ret)
{
	autofree struct ibv_gid_entry *all = calloc(GIDS_MAX, sizeof(*all));
	ssize_t n = all ? ibv_query_gid_table(context, all, GIDS_MAX, 0) : -ENOMEM;
	bool found = false;

	for (ssize_t i = 0; i < n; i++) {
		if (memcmp(all[i].gid.raw, gid, 16) != 0 || all[i].gid_type == IBV_GID_TYPE_IB)
			continue;
		if (!found || (ret->gid_type != IBV_GID_TYPE_ROCE_V2 &&
			       all[i].gid_type == IBV_GID_TYPE_ROCE_V2))
			*ret = all[i];
		found = true;
	}
	return n < 0 ? (int)n : found ? 0 : -ENOENT;
}

int rdma_gid_index(const struct port_rdma *r, unsigned port)
{
	const struct rdma_leg *leg = &r->legs[port];
	struct ibv_gid_entry entry;
	int e = gid_find(r->devices[leg->device].context, leg->gid, &entry);

	return e < 0 ? e : (int)entry.gid_index;
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

/* What a worker needs of a device for its whole life. */
static bool device_prepare(struct rdma_device *d)
{
	d->channel = ibv_create_comp_channel(d->context);
	if (!d->channel)
		return false;
	d->cq = ibv_create_cq(d->context, RDMA_CQES, NULL, d->channel, 0);
	return d->cq && fd_nonblocking(d->channel->fd) && fd_nonblocking(d->context->async_fd);
}

/* The leg's device may be one that another leg has, too: by another port or VLAN. */
static bool leg_takes(struct port_rdma *r, struct rdma_leg *leg, unsigned device)
{
	struct rdma_device *d = &r->devices[device];
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;

	if (!d->context || gid_find(d->context, leg->gid, &entry) < 0)
		return false;
	if (ibv_query_port(d->context, (uint8_t)entry.port_num, &port) != 0)
		return false;
	leg->device = (int)device;
	leg->port_num = (uint8_t)entry.port_num;
	leg->reason = PORT_RDMA_OK;
	d->link = port.link_layer;
	return true;
}

/* Opens the device where a leg has its address there. */
static void device_try(struct port_rdma *r, struct ibv_device *dev)
{
	struct rdma_device *d = &r->devices[r->n_devices];
	bool taken = false;

	if (r->n_devices == PORT_RDMA_LEGS_MAX)
		return;
	*d = (struct rdma_device){.context = ibv_open_device(dev)};
	if (!d->context)
		return;
	for (unsigned i = 0; i < r->n_legs; i++)
		if (r->legs[i].reason == PORT_RDMA_NO_DEVICE)
			taken |= leg_takes(r, &r->legs[i], r->n_devices);
	if (taken && device_prepare(d)) {
		r->n_devices++;
		return;
	}
	for (unsigned i = 0; i < r->n_legs; i++)
		if (r->legs[i].device == (int)r->n_devices) {
			r->legs[i].device = -1;
			r->legs[i].reason = PORT_RDMA_NO_DEVICE;
		}
	device_close(d);
}

int port_rdma_open(const struct launch_config *cfg, struct port_rdma **ret)
{
	struct port_rdma *r = NULL;
	struct ibv_device **list;
	bool wanted = false;
	int n = 0;

	for (unsigned i = 0; i < cfg->n_ports; i++)
		wanted |= cfg->ports[i].rdma;
	*ret = NULL;
	if (!wanted)
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->n_legs = MIN_OF(cfg->n_ports, (uint32_t)PORT_RDMA_LEGS_MAX);
	for (unsigned i = 0; i < r->n_legs; i++) {
		r->legs[i].device = -1;
		r->legs[i].reason = cfg->ports[i].rdma ? PORT_RDMA_NO_DEVICE : PORT_RDMA_OFF;
		gid_of(&cfg->ports[i].ip.addr, r->legs[i].gid);
	}
	for (unsigned i = 0; i < RDMA_OPS_MAX; i++)
		r->free_ops[r->n_free_ops++] = (uint16_t)i;
	r->next_psn = (uint32_t)clock_now_ns();
	list = ibv_get_device_list(&n);
	for (int i = 0; list && i < n; i++)
		device_try(r, list[i]);
	if (list)
		ibv_free_device_list(list);
	*ret = r;
	return 0;
}

bool port_rdma_any(const struct port_rdma *r)
{
	return r && r->n_devices > 0;
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

enum port_rdma_reason port_rdma_reason(const struct port_rdma *r, unsigned port)
{
	if (!r)
		return PORT_RDMA_OFF;
	return port < r->n_legs ? r->legs[port].reason : PORT_RDMA_NO_DEVICE; /* it came later */
}

/* ------------------------------------------------------------------ a device that goes */

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
	for (unsigned i = 0; i < r->n_legs; i++)
		if (r->legs[i].device == (int)device) {
			r->legs[i].device = -1;
			r->legs[i].reason = PORT_RDMA_GONE;
		}
}

/* What it says of its own accord. True: it is of no use any more. */
static bool device_listen(struct rdma_device *d)
{
	struct ibv_async_event event;
	bool fatal = false;

	while (ibv_get_async_event(d->context, &event) == 0) {
		fatal |= event.event_type == IBV_EVENT_DEVICE_FATAL;
		ibv_ack_async_event(&event);
	}
	return fatal;
}

/* Its file below /dev has no name any more when it is being removed. */
static bool device_is_going(struct rdma_device *d)
{
	struct stat st;

	return device_listen(d) || fstat(d->context->cmd_fd, &st) < 0 || st.st_nlink == 0;
}

uint64_t port_rdma_tick(struct port_rdma *r, uint64_t now_ns)
{
	if (!port_rdma_any(r))
		return UINT64_MAX;
	if (now_ns < r->look_ns)
		return r->look_ns;
	r->look_ns = now_ns + PORT_RDMA_LOOK_NS;
	r->now_ns = now_ns;
	for (unsigned i = 0; i < r->n_devices; i++)
		if (r->devices[i].context && device_is_going(&r->devices[i]))
			device_leave(r, i);
	rdma_pairs_reap(r, now_ns);
	return r->look_ns;
}

unsigned port_rdma_fds(const struct port_rdma *r, int *ret_fds, unsigned max)
{
	unsigned n = 0;

	for (unsigned i = 0; r && i < r->n_devices && n < max; i++)
		if (r->devices[i].channel)
			ret_fds[n++] = r->devices[i].channel->fd;
	return n;
}

/* ------------------------------------------------------------------ memory */

static int pool_join(struct port_rdma_pool *pool, unsigned device, bool remote)
{
	int access = IBV_ACCESS_LOCAL_WRITE;

	pool->pds[device] = ibv_alloc_pd(pool->r->devices[device].context);
	if (!pool->pds[device])
		return -errno;
	for (unsigned i = 0; i < pool->n_regions; i++) {
		int more = remote && i == 0 ? IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ : 0;

		pool->mrs[device][i] = ibv_reg_mr(pool->pds[device], pool->regions[i].base,
						  pool->regions[i].bytes, access | more);
		if (!pool->mrs[device][i])
			return -errno;
	}
	return 0;
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
	memcpy(pool->regions, regions, n * sizeof(regions[0]));
	for (unsigned i = 0; i < r->n_devices; i++) {
		int was = r->devices[i].context ? pool_join(pool, i, remote) : -ENODEV;

		any |= was == 0;
		if (was == 0)
			continue;
		e = was;
		pool_leave(pool, i);
		for (unsigned k = 0; k < r->n_legs; k++)
			if (r->legs[k].device == (int)i)
				r->legs[k].reason = PORT_RDMA_MEMLOCK;
	}
	if (!any) {
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
