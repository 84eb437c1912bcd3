/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists RDMA ports and their GIDs, because netlink does not report all their properties.
 * kernel_rdma.c finds the links of the devices.
 */
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include <stdio.h>
#include <string.h>

#define NODE_TYPE_RNIC 4 /* iWARP, from the kernel's enum rdma_node_type */

struct rdma_walk {
	struct inventory *inv;
	int root;
	const char *device;
	uint32_t port;
	bool iwarp;
};

static bool read_text(const struct rdma_walk *w, const char *what, char *buf, size_t size)
{
	char path[192];

	snprintf(path, sizeof(path), "class/infiniband/%.64s/ports/%u/%.80s", w->device, w->port,
		 what);
	return sysfs_read(w->root, path, buf, size) > 0;
}

static bool read_index(const char *name, uint32_t *ret)
{
	int n = 0;

	return sscanf(name, "%u%n", ret, &n) == 1 && name[n] == '\0';
}

static uint32_t ifindex_of(const struct inventory *inv, const char *name)
{
	const struct inv_link *l = inv_link_by_name(inv, name);

	return l ? l->ifindex : 0;
}

/* Adds the GID unless it is all zeros: most of the hundreds of entries in a GID table are empty. */
static int on_gid(void *user, const char *name)
{
	static const struct ip_addr none = {.family = AF_INET6};
	const struct rdma_walk *w = user;
	char what[80], text[64];
	struct inv_gid *g;
	struct ip_addr gid;
	uint32_t index;

	snprintf(what, sizeof(what), "gids/%.16s", name);
	if (!read_index(name, &index) || !read_text(w, what, text, sizeof(text)) ||
	    ip_addr_parse(text, &gid) < 0 || ip_addr_equal(&gid, &none))
		return 0;
	g = inv_gid_add(w->inv);
	if (!g)
		return -ENOMEM;
	inv_text_set(g->device, sizeof(g->device), w->device);
	g->port = w->port;
	g->index = index;
	g->gid = gid;
	snprintf(what, sizeof(what), "gid_attrs/types/%.16s", name);
	if (read_text(w, what, text, sizeof(text)))
		inv_text_set(g->type, sizeof(g->type), text);
	snprintf(what, sizeof(what), "gid_attrs/ndevs/%.16s", name);
	if (read_text(w, what, text, sizeof(text)))
		g->ifindex = ifindex_of(w->inv, text);
	return 0;
}

/* Parses a state such as "4: ACTIVE". */
static void state_set(struct inv_rdma *p, const char *text)
{
	const char *word = strstr(text, ": ");

	inv_text_set(p->state, sizeof(p->state), word ? word + 2 : text);
}

static int on_port(void *user, const char *name)
{
	struct rdma_walk *w = user;
	char text[64], path[128];
	struct inv_rdma *p;
	int r;

	if (!read_index(name, &w->port))
		return 0;
	p = inv_rdma_add(w->inv);
	if (!p)
		return -ENOMEM;
	inv_text_set(p->device, sizeof(p->device), w->device);
	p->port = w->port;
	if (read_text(w, "link_layer", text, sizeof(text)))
		inv_text_set(p->kind, sizeof(p->kind),
			     w->iwarp			       ? "iwarp"
			     : strcmp(text, "InfiniBand") == 0 ? "ib"
							       : "roce");
	if (read_text(w, "state", text, sizeof(text)))
		state_set(p, text);
	if (read_text(w, "rate", text, sizeof(text)))
		inv_text_set(p->rate, sizeof(p->rate), text);
	snprintf(path, sizeof(path), "class/infiniband/%.64s/ports/%u/gids", w->device, w->port);
	r = sysfs_each_entry(w->root, path, on_gid, w);
	return r == -ENOMEM ? r : 0;
}

static int on_device(void *user, const char *name)
{
	struct rdma_walk *w = user;
	char path[128];
	int64_t type = 0;
	char text[64];
	int r;

	w->device = name;
	snprintf(path, sizeof(path), "class/infiniband/%.64s/node_type", name);
	if (sysfs_read(w->root, path, text, sizeof(text)) > 0)
		type = text[0] - '0';
	w->iwarp = type == NODE_TYPE_RNIC;
	snprintf(path, sizeof(path), "class/infiniband/%.64s/ports", name);
	r = sysfs_each_entry(w->root, path, on_port, w);
	return r == -ENOMEM ? r : 0;
}

int sysfs_add_rdma(int root, struct inventory *inv)
{
	struct rdma_walk w = {.inv = inv, .root = root};
	int r = sysfs_each_entry(root, "class/infiniband", on_device, &w);

	return r == -ENOENT ? 0 : r; /* a missing folder means a host without RDMA */
}
