/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates, copies, sorts and searches inventories. Collectors and readers add entries with the
 * functions of inventory_build.h.
 */
#include "netcfg/base/vec.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/host/kernel.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const link_kind_names[INV_LINK_KIND_MAX] = {
	[INV_LINK_PHYSICAL] = "physical", [INV_LINK_VF] = "vf",
	[INV_LINK_LOOPBACK] = "loopback", [INV_LINK_VETH] = "veth",
	[INV_LINK_BRIDGE] = "bridge",	  [INV_LINK_BOND] = "bond",
	[INV_LINK_VLAN] = "vlan",	  [INV_LINK_TUN] = "tun",
	[INV_LINK_IPOIB] = "ipoib",	  [INV_LINK_VIRTUAL] = "virtual",
};

const char *inv_link_kind_to_string(enum inv_link_kind k)
{
	return (unsigned)k < INV_LINK_KIND_MAX ? link_kind_names[k] : "?";
}

struct inventory *inv_new(void)
{
	struct inventory *inv = calloc(1, sizeof(*inv));

	if (inv)
		inv->addr_owner_known = true;
	return inv;
}

struct inv_link *inv_link_add(struct inventory *inv)
{
	struct inv_link *l = vec_add(&inv->links, &inv->n_links, sizeof(*l));

	if (l) {
		l->numa_node = INV_NUMA_NONE;
		l->initialized = true;
	}
	return l;
}

struct inv_function *inv_function_add(struct inventory *inv)
{
	struct inv_function *f = vec_add(&inv->functions, &inv->n_functions, sizeof(*f));

	if (f) {
		f->numa_node = INV_NUMA_NONE;
		f->iommu_group = INV_IOMMU_NONE;
		f->autoprobe = true;
	}
	return f;
}

struct inv_iommu *inv_iommu_add(struct inventory *inv)
{
	return vec_add(&inv->iommu, &inv->n_iommu, sizeof(*inv->iommu));
}

struct inv_vf *inv_vf_add(struct inventory *inv)
{
	return vec_add(&inv->vfs, &inv->n_vfs, sizeof(*inv->vfs));
}

struct inv_bond *inv_bond_add(struct inventory *inv)
{
	return vec_add(&inv->bonds, &inv->n_bonds, sizeof(*inv->bonds));
}

struct inv_bond_port *inv_bond_port_add(struct inventory *inv)
{
	return vec_add(&inv->bond_ports, &inv->n_bond_ports, sizeof(*inv->bond_ports));
}

struct inv_dcb *inv_dcb_add(struct inventory *inv)
{
	return vec_add(&inv->dcb, &inv->n_dcb, sizeof(*inv->dcb));
}

struct inv_devlink *inv_devlink_add(struct inventory *inv)
{
	return vec_add(&inv->devlinks, &inv->n_devlinks, sizeof(*inv->devlinks));
}

struct inv_devlink_version *inv_devlink_version_add(struct inventory *inv)
{
	return vec_add(&inv->devlink_versions, &inv->n_devlink_versions,
		       sizeof(*inv->devlink_versions));
}

struct inv_devlink_param *inv_devlink_param_add(struct inventory *inv)
{
	return vec_add(&inv->devlink_params, &inv->n_devlink_params, sizeof(*inv->devlink_params));
}

struct inv_devlink_port *inv_devlink_port_add(struct inventory *inv)
{
	return vec_add(&inv->devlink_ports, &inv->n_devlink_ports, sizeof(*inv->devlink_ports));
}

struct inv_addr *inv_addr_add(struct inventory *inv)
{
	return vec_add(&inv->addrs, &inv->n_addrs, sizeof(*inv->addrs));
}

struct inv_route *inv_route_add(struct inventory *inv)
{
	return vec_add(&inv->routes, &inv->n_routes, sizeof(*inv->routes));
}

struct inv_rule *inv_rule_add(struct inventory *inv)
{
	return vec_add(&inv->rules, &inv->n_rules, sizeof(*inv->rules));
}

struct inv_rdma *inv_rdma_add(struct inventory *inv)
{
	return vec_add(&inv->rdma, &inv->n_rdma, sizeof(*inv->rdma));
}

struct inv_gid *inv_gid_add(struct inventory *inv)
{
	return vec_add(&inv->gids, &inv->n_gids, sizeof(*inv->gids));
}

struct inv_core *inv_core_add(struct inventory *inv)
{
	struct inv_core *c = vec_add(&inv->cores, &inv->n_cores, sizeof(*c));

	if (c)
		c->numa_node = INV_NUMA_NONE;
	return c;
}

struct inv_hugepages *inv_hugepages_add(struct inventory *inv)
{
	struct inv_hugepages *h = vec_add(&inv->hugepages, &inv->n_hugepages, sizeof(*h));

	if (h)
		h->numa_node = INV_NUMA_NONE;
	return h;
}

struct inv_conns *inv_conns_add(struct inventory *inv)
{
	return vec_add(&inv->conns, &inv->n_conns, sizeof(*inv->conns));
}

struct inv_mount *inv_mount_add(struct inventory *inv)
{
	return vec_add(&inv->mounts, &inv->n_mounts, sizeof(*inv->mounts));
}

/* Keys and values are on the heap, unlike the texts of other entries, because their lengths vary
 * most. */
int inv_sysctl_add(struct inventory *inv, const char *key, const char *value)
{
	autofree char *k = strdup(key), *v = strdup(value);
	struct inv_sysctl *s;

	if (!k || !v)
		return -ENOMEM;
	s = vec_add(&inv->sysctls, &inv->n_sysctls, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->key = ptr_take(k);
	s->value = ptr_take(v);
	return 0;
}

/* Fills the rest of the field with zeros, so that whole entries can be compared and written. */
void inv_text_set(char *field, size_t size, const char *text)
{
	size_t len = strnlen(text, size - 1);

	memcpy(field, text, len);
	memset(field + len, 0, size - len);
}

void inv_done(struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_sysctls; i++) {
		free(inv->sysctls[i].key);
		free(inv->sysctls[i].value);
	}
	free(inv->links);
	free(inv->functions);
	free(inv->iommu);
	free(inv->vfs);
	free(inv->bonds);
	free(inv->bond_ports);
	free(inv->dcb);
	free(inv->devlinks);
	free(inv->devlink_versions);
	free(inv->devlink_params);
	free(inv->devlink_ports);
	free(inv->addrs);
	free(inv->routes);
	free(inv->rules);
	free(inv->rdma);
	free(inv->gids);
	free(inv->cores);
	free(inv->hugepages);
	free(inv->conns);
	free(inv->mounts);
	free(inv->sysctls);
	*inv = (struct inventory){0};
}

struct inventory *inv_free(struct inventory *inv)
{
	if (inv) {
		inv_done(inv);
		free(inv);
	}
	return NULL;
}

#define APPEND_ALL(dst, src, member, n_member, add)         \
	for (size_t i_ = 0; i_ < (src)->n_member; i_++) {   \
		__typeof__((dst)->member) slot_ = add(dst); \
                                                            \
		if (!slot_)                                 \
			return -ENOMEM;                     \
		*slot_ = (src)->member[i_];                 \
	}

int inv_devlink_append(struct inventory *dst, const struct inventory *src)
{
	APPEND_ALL(dst, src, devlinks, n_devlinks, inv_devlink_add);
	APPEND_ALL(dst, src, devlink_versions, n_devlink_versions, inv_devlink_version_add);
	APPEND_ALL(dst, src, devlink_params, n_devlink_params, inv_devlink_param_add);
	APPEND_ALL(dst, src, devlink_ports, n_devlink_ports, inv_devlink_port_add);
	return 0;
}

int inv_append(struct inventory *dst, const struct inventory *src)
{
	int r;

	dst->number = src->number;
	dst->addr_owner_known = src->addr_owner_known;
	dst->soft_roce = src->soft_roce;
	memcpy(dst->host, src->host, sizeof(dst->host));
	memcpy(dst->kernel_release, src->kernel_release, sizeof(dst->kernel_release));
	APPEND_ALL(dst, src, links, n_links, inv_link_add);
	APPEND_ALL(dst, src, functions, n_functions, inv_function_add);
	APPEND_ALL(dst, src, iommu, n_iommu, inv_iommu_add);
	APPEND_ALL(dst, src, vfs, n_vfs, inv_vf_add);
	APPEND_ALL(dst, src, bonds, n_bonds, inv_bond_add);
	APPEND_ALL(dst, src, bond_ports, n_bond_ports, inv_bond_port_add);
	APPEND_ALL(dst, src, dcb, n_dcb, inv_dcb_add);
	r = inv_devlink_append(dst, src);
	if (r < 0)
		return r;
	APPEND_ALL(dst, src, addrs, n_addrs, inv_addr_add);
	APPEND_ALL(dst, src, routes, n_routes, inv_route_add);
	APPEND_ALL(dst, src, rules, n_rules, inv_rule_add);
	APPEND_ALL(dst, src, rdma, n_rdma, inv_rdma_add);
	APPEND_ALL(dst, src, gids, n_gids, inv_gid_add);
	APPEND_ALL(dst, src, cores, n_cores, inv_core_add);
	APPEND_ALL(dst, src, hugepages, n_hugepages, inv_hugepages_add);
	APPEND_ALL(dst, src, conns, n_conns, inv_conns_add);
	APPEND_ALL(dst, src, mounts, n_mounts, inv_mount_add);
	for (size_t i = 0; i < src->n_sysctls; i++) {
		r = inv_sysctl_add(dst, src->sysctls[i].key, src->sysctls[i].value);
		if (r < 0)
			return r;
	}
	return 0;
}

int inv_copy(const struct inventory *inv, struct inventory **ret)
{
	struct inventory *copy = inv_new();
	int r = copy ? inv_append(copy, inv) : -ENOMEM;

	if (r < 0) {
		inv_free(copy);
		return r;
	}
	*ret = copy;
	return 0;
}

#define CMP(a, b) (((a) > (b)) - ((a) < (b)))
/* Compares one member of two entries, and returns from the comparing function if the member
 * differs. */
#define ORDER_BY(a, b, member)                                \
	do {                                                  \
		if ((a)->member != (b)->member)               \
			return CMP((a)->member, (b)->member); \
	} while (0)

static int prefix_cmp(const struct ip_prefix *a, const struct ip_prefix *b)
{
	int c = ip_addr_cmp(&a->addr, &b->addr);

	return c ? c : CMP(a->len, b->len);
}

static int link_cmp(const void *pa, const void *pb)
{
	const struct inv_link *a = pa, *b = pb;

	return CMP(a->ifindex, b->ifindex);
}

static int function_cmp(const void *pa, const void *pb)
{
	const struct inv_function *a = pa, *b = pb;

	return strcmp(a->pci, b->pci);
}

static int iommu_cmp(const void *pa, const void *pb)
{
	const struct inv_iommu *a = pa, *b = pb;

	ORDER_BY(a, b, group);
	return strcmp(a->pci, b->pci);
}

static int vf_cmp(const void *pa, const void *pb)
{
	const struct inv_vf *a = pa, *b = pb;

	ORDER_BY(a, b, ifindex);
	return CMP(a->vf, b->vf);
}

static int bond_cmp(const void *pa, const void *pb)
{
	const struct inv_bond *a = pa, *b = pb;

	return CMP(a->ifindex, b->ifindex);
}

static int bond_port_cmp(const void *pa, const void *pb)
{
	const struct inv_bond_port *a = pa, *b = pb;

	return CMP(a->ifindex, b->ifindex);
}

static int dcb_cmp(const void *pa, const void *pb)
{
	const struct inv_dcb *a = pa, *b = pb;

	return CMP(a->ifindex, b->ifindex);
}

/* Like ORDER_BY, for a member that is a text. */
#define ORDER_BY_TEXT(a, b, member)                        \
	do {                                               \
		int c_ = strcmp((a)->member, (b)->member); \
                                                           \
		if (c_)                                    \
			return c_;                         \
	} while (0)

static int devlink_cmp(const void *pa, const void *pb)
{
	const struct inv_devlink *a = pa, *b = pb;

	return strcmp(a->device, b->device);
}

static int devlink_version_cmp(const void *pa, const void *pb)
{
	const struct inv_devlink_version *a = pa, *b = pb;

	ORDER_BY_TEXT(a, b, device);
	ORDER_BY_TEXT(a, b, kind);
	return strcmp(a->name, b->name);
}

static int devlink_param_cmp(const void *pa, const void *pb)
{
	const struct inv_devlink_param *a = pa, *b = pb;

	ORDER_BY_TEXT(a, b, device);
	ORDER_BY_TEXT(a, b, name);
	return strcmp(a->mode, b->mode);
}

static int devlink_port_cmp(const void *pa, const void *pb)
{
	const struct inv_devlink_port *a = pa, *b = pb;

	ORDER_BY_TEXT(a, b, device);
	return CMP(a->index, b->index);
}

static int addr_cmp(const void *pa, const void *pb)
{
	const struct inv_addr *a = pa, *b = pb;

	ORDER_BY(a, b, ifindex);
	return prefix_cmp(&a->ip, &b->ip);
}

static int route_cmp(const void *pa, const void *pb)
{
	const struct inv_route *a = pa, *b = pb;
	int c;

	ORDER_BY(a, b, family);
	ORDER_BY(a, b, table);
	c = prefix_cmp(&a->dst, &b->dst);
	if (c)
		return c;
	ORDER_BY(a, b, metric);
	ORDER_BY(a, b, oif);
	ORDER_BY(a, b, type);
	c = ip_addr_cmp(&a->gateway, &b->gateway);
	return c ? c : CMP(a->proto, b->proto);
}

static int rule_cmp(const void *pa, const void *pb)
{
	const struct inv_rule *a = pa, *b = pb;

	ORDER_BY(a, b, family);
	ORDER_BY(a, b, priority);
	ORDER_BY(a, b, table);
	ORDER_BY(a, b, proto);
	return prefix_cmp(&a->from, &b->from);
}

static int rdma_cmp(const void *pa, const void *pb)
{
	const struct inv_rdma *a = pa, *b = pb;
	int c = strcmp(a->device, b->device);

	return c ? c : CMP(a->port, b->port);
}

static int gid_cmp(const void *pa, const void *pb)
{
	const struct inv_gid *a = pa, *b = pb;
	int c = strcmp(a->device, b->device);

	if (c)
		return c;
	ORDER_BY(a, b, port);
	return CMP(a->index, b->index);
}

static int core_cmp(const void *pa, const void *pb)
{
	const struct inv_core *a = pa, *b = pb;

	return CMP(a->id, b->id);
}

static int hugepages_cmp(const void *pa, const void *pb)
{
	const struct inv_hugepages *a = pa, *b = pb;

	ORDER_BY(a, b, size_kib);
	return CMP(a->numa_node, b->numa_node);
}

static int conns_cmp(const void *pa, const void *pb)
{
	const struct inv_conns *a = pa, *b = pb;

	return ip_addr_cmp(&a->local, &b->local);
}

/* qsort(3) must not get a NULL pointer, not even for an empty list. */
static void sort_array(void *array, size_t n, size_t size, int (*cmp)(const void *, const void *))
{
	if (n > 1)
		qsort(array, n, size, cmp);
}

void inv_sort(struct inventory *inv)
{
	sort_array(inv->links, inv->n_links, sizeof(*inv->links), link_cmp);
	sort_array(inv->functions, inv->n_functions, sizeof(*inv->functions), function_cmp);
	sort_array(inv->iommu, inv->n_iommu, sizeof(*inv->iommu), iommu_cmp);
	sort_array(inv->vfs, inv->n_vfs, sizeof(*inv->vfs), vf_cmp);
	sort_array(inv->bonds, inv->n_bonds, sizeof(*inv->bonds), bond_cmp);
	sort_array(inv->bond_ports, inv->n_bond_ports, sizeof(*inv->bond_ports), bond_port_cmp);
	sort_array(inv->dcb, inv->n_dcb, sizeof(*inv->dcb), dcb_cmp);
	sort_array(inv->devlinks, inv->n_devlinks, sizeof(*inv->devlinks), devlink_cmp);
	sort_array(inv->devlink_versions, inv->n_devlink_versions, sizeof(*inv->devlink_versions),
		   devlink_version_cmp);
	sort_array(inv->devlink_params, inv->n_devlink_params, sizeof(*inv->devlink_params),
		   devlink_param_cmp);
	sort_array(inv->devlink_ports, inv->n_devlink_ports, sizeof(*inv->devlink_ports),
		   devlink_port_cmp);
	sort_array(inv->addrs, inv->n_addrs, sizeof(*inv->addrs), addr_cmp);
	sort_array(inv->routes, inv->n_routes, sizeof(*inv->routes), route_cmp);
	sort_array(inv->rules, inv->n_rules, sizeof(*inv->rules), rule_cmp);
	sort_array(inv->cores, inv->n_cores, sizeof(*inv->cores), core_cmp);
	sort_array(inv->hugepages, inv->n_hugepages, sizeof(*inv->hugepages), hugepages_cmp);
	sort_array(inv->rdma, inv->n_rdma, sizeof(*inv->rdma), rdma_cmp);
	sort_array(inv->gids, inv->n_gids, sizeof(*inv->gids), gid_cmp);
	sort_array(inv->conns, inv->n_conns, sizeof(*inv->conns), conns_cmp);
}

int inv_collect(struct kernel *k, struct diag *d, struct inventory **ret)
{
	static _Atomic uint64_t last_number; /* number of this process's latest inventory */
	struct inventory *inv = inv_new();
	int r = inv ? k->ops->collect(k, d, inv) : -ENOMEM;

	if (r < 0) {
		inv_free(inv);
		return r;
	}
	inv_sort(inv);
	inv->number = atomic_fetch_add(&last_number, 1) + 1;
	*ret = inv;
	return 0;
}

const struct inv_link *inv_link_by_name(const struct inventory *inv, const char *name)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (strcmp(inv->links[i].name, name) == 0)
			return &inv->links[i];
	return NULL;
}

const struct inv_link *inv_link_by_index(const struct inventory *inv, uint32_t ifindex)
{
	const struct inv_link key = {.ifindex = ifindex};

	/* Uses a binary search, because a plan calls this function for each address and route, on
	 * hosts with thousands of links. */
	if (inv->n_links == 0)
		return NULL;
	return bsearch(&key, inv->links, inv->n_links, sizeof(key), link_cmp);
}

const struct inv_function *inv_function_find(const struct inventory *inv, const char *pci)
{
	for (size_t i = 0; i < inv->n_functions; i++)
		if (strcasecmp(inv->functions[i].pci, pci) == 0)
			return &inv->functions[i];
	return NULL;
}

const struct inv_function *inv_function_vf(const struct inventory *inv, const char *pf, uint32_t n)
{
	for (size_t i = 0; i < inv->n_functions; i++)
		if (inv->functions[i].vf == n && strcasecmp(inv->functions[i].physfn, pf) == 0)
			return &inv->functions[i];
	return NULL;
}

const struct inv_function *inv_function_by_ref(const struct inventory *inv, const char *ref)
{
	const char *vf = strstr(ref, "/vf");
	char pf[16];

	if (!vf)
		return inv_function_find(inv, ref);
	snprintf(pf, sizeof(pf), "%.*s", (int)(vf - ref), ref);
	return inv_function_vf(inv, pf, (uint32_t)strtoul(vf + 3, NULL, 10));
}

const struct inv_iommu *inv_iommu_other(const struct inventory *inv, const struct inv_function *fn,
					size_t i)
{
	for (size_t j = 0; fn->iommu_group != INV_IOMMU_NONE && j < inv->n_iommu; j++) {
		const struct inv_iommu *m = &inv->iommu[j];

		if (m->group == fn->iommu_group && strcmp(m->pci, fn->pci) != 0 && i-- == 0)
			return m;
	}
	return NULL;
}

const char *inv_iommu_format(const struct inventory *inv, const struct inv_function *fn, char *buf,
			     size_t size)
{
	const struct inv_iommu *m;
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; len < size && (m = inv_iommu_other(inv, fn, i)); i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s%s%s%s", len ? ", " : "",
					m->pci, m->driver[0] ? " (" : "", m->driver,
					m->driver[0] ? ")" : "");
	return buf;
}

const struct inv_vf *inv_vf_find(const struct inventory *inv, uint32_t ifindex, uint32_t vf)
{
	for (size_t i = 0; i < inv->n_vfs; i++)
		if (inv->vfs[i].ifindex == ifindex && inv->vfs[i].vf == vf)
			return &inv->vfs[i];
	return NULL;
}

const struct inv_bond *inv_bond_find(const struct inventory *inv, uint32_t ifindex)
{
	for (size_t i = 0; i < inv->n_bonds; i++)
		if (inv->bonds[i].ifindex == ifindex)
			return &inv->bonds[i];
	return NULL;
}

const struct inv_bond_port *inv_bond_port_find(const struct inventory *inv, uint32_t ifindex)
{
	for (size_t i = 0; i < inv->n_bond_ports; i++)
		if (inv->bond_ports[i].ifindex == ifindex)
			return &inv->bond_ports[i];
	return NULL;
}

const struct inv_dcb *inv_dcb_find(const struct inventory *inv, uint32_t ifindex)
{
	for (size_t i = 0; i < inv->n_dcb; i++)
		if (inv->dcb[i].ifindex == ifindex)
			return &inv->dcb[i];
	return NULL;
}

const struct inv_rdma *inv_rdma_find(const struct inventory *inv, uint32_t ifindex)
{
	const struct inv_rdma *found = NULL;

	for (size_t i = 0; i < inv->n_rdma; i++) {
		if (inv->rdma[i].ifindex != ifindex || !ifindex)
			continue;
		found = &inv->rdma[i];
		if (kernel_rdma_is_ours(found->device))
			break;
	}
	return found;
}

#define DEVLINK_PCI "pci/"

static bool devlink_is_of(const char *device, const char *pci)
{
	return strncmp(device, DEVLINK_PCI, strlen(DEVLINK_PCI)) == 0 &&
	       strcasecmp(device + strlen(DEVLINK_PCI), pci) == 0;
}

const struct inv_devlink *inv_devlink_find(const struct inventory *inv, const char *pci)
{
	for (size_t i = 0; i < inv->n_devlinks; i++)
		if (devlink_is_of(inv->devlinks[i].device, pci))
			return &inv->devlinks[i];
	return NULL;
}

const struct inv_devlink_param *inv_devlink_param_find(const struct inventory *inv, const char *pci,
						       const char *name, const char *mode)
{
	for (size_t i = 0; i < inv->n_devlink_params; i++) {
		const struct inv_devlink_param *p = &inv->devlink_params[i];

		if (strcmp(p->name, name) == 0 && strcmp(p->mode, mode) == 0 &&
		    devlink_is_of(p->device, pci))
			return p;
	}
	return NULL;
}

/* Several links may share a MAC address (bond ports, VLANs). The caller means the device itself, so
 * a permanent address is preferred to a current one, and a physical link to a virtual one. */
static const struct inv_link *find_by_mac(const struct inventory *inv, const struct mac_addr *mac)
{
	const struct inv_link *best = NULL;

	for (size_t i = 0; i < inv->n_links; i++) {
		const struct inv_link *l = &inv->links[i];

		if (memcmp(&l->permanent_mac, mac, sizeof(*mac)) == 0)
			return l;
		if (memcmp(&l->mac, mac, sizeof(*mac)) == 0 && (!best || l->kind < best->kind))
			best = l;
	}
	return best;
}

static bool has_altname(const struct inv_link *l, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = l->altnames; *at; at += strcspn(at, " ") + 1)
		if (strcspn(at, " ") == len && strncmp(at, name, len) == 0)
			return true;
	return false;
}

const struct inv_link *inv_link_find(const struct inventory *inv, const char *device)
{
	const struct inv_link *l = inv_link_by_name(inv, device);
	struct mac_addr mac;

	if (l)
		return l;
	if (mac_addr_parse(device, &mac) == 0)
		return find_by_mac(inv, &mac);
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].pci[0] && strcasecmp(inv->links[i].pci, device) == 0)
			return &inv->links[i];
	for (size_t i = 0; i < inv->n_links; i++)
		if (has_altname(&inv->links[i], device))
			return &inv->links[i];
	return NULL;
}

const char *inv_sysctl_value(const struct inventory *inv, const char *key)
{
	for (size_t i = 0; i < inv->n_sysctls; i++)
		if (strcmp(inv->sysctls[i].key, key) == 0)
			return inv->sysctls[i].value;
	return NULL;
}

void inv_format_online(const struct inventory *inv, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < inv->n_cores && len < size; i++) {
		size_t last = i;

		if (!inv->cores[i].online)
			continue;
		while (last + 1 < inv->n_cores && inv->cores[last + 1].online &&
		       inv->cores[last + 1].id == inv->cores[last].id + 1)
			last++;
		len += (size_t)snprintf(buf + len, size - len, last > i ? "%s%u-%u" : "%s%u",
					len ? "," : "", inv->cores[i].id, inv->cores[last].id);
		i = last;
	}
}
