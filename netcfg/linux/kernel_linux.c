/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements struct kernel_ops for the running host. It combines rtnetlink, sysfs, procfs, udev and
 * socket diagnostics; this is the only file that depends on all these sources.
 */
#include "netcfg/base/file.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/host/kernel.h"
#include "netcfg/host/link_setting.h"
#include "netcfg/linux/dependents.h"
#include "netcfg/linux/kernel_linux_internal.h"
#include "netcfg/linux/kernel_rdma.h"
#include "netcfg/linux/kernel_roce.h"
#include "netcfg/linux/kernel_xdp.h"
#include "netcfg/linux/netlink/devlink_watch.h"
#include "netcfg/linux/netlink/ethtool.h"
#include "netcfg/linux/netlink/kernel_dcb.h"
#include "netcfg/linux/netlink/kernel_devlink.h"
#include "netcfg/linux/netlink/netlink.h"
#include "netcfg/linux/pci.h"
#include "netcfg/linux/ping.h"
#include "netcfg/linux/probe.h"
#include "netcfg/linux/rtnl/rtnl.h"
#include "netcfg/linux/rtnl/rtnl_qdisc.h"
#include "netcfg/linux/sysfs/proc_bond.h"
#include "netcfg/linux/sysfs/sysfs.h"
#include "netcfg/linux/sysfs/udev.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/utsname.h>

static struct kernel_linux *linux_of(struct kernel *k)
{
	return k->impl;
}

/* Returns whether the key is a relative path without "." and "..", so that it cannot leave
 * /proc/sys. */
static bool key_is_valid(const char *key)
{
	for (const char *s = key; *s;) {
		size_t len = strcspn(s, "/");

		if (len == 0 || (len == 1 && s[0] == '.') || (len == 2 && memcmp(s, "..", 2) == 0))
			return false;
		s += len;
		if (*s == '/' && *++s == '\0')
			return false;
	}
	return key[0] != '\0';
}

static int sysctl_read(const struct kernel_linux *kl, const char *key, char *buf, size_t size)
{
	int r = key_is_valid(key) ? sysfs_read(kl->proc_sys, key, buf, size) : -EINVAL;

	return r < 0 ? r : 0;
}

static int sysctl_write(int proc_sys, const char *key, const char *value)
{
	return key_is_valid(key) ? file_put_value(proc_sys, key, value) : -EINVAL;
}

int kernel_linux_change_sysctl(struct kernel_linux *kl, const struct kernel_change *c,
			       struct reason *why)
{
	int r = sysctl_write(kl->proc_sys, c->sysctl.key, c->sysctl.value);

	if (r < 0)
		reason_set_text(why, "cannot set /proc/sys/%s to \"%s\": %s", c->sysctl.key,
				c->sysctl.value, strerror(-r));
	return r;
}

int kernel_linux_change_link(struct kernel_linux *kl, const struct kernel_change *c,
			     struct reason *why)
{
	return rtnl_link_change(kl->rtnl, c, why);
}

int kernel_linux_change_addr(struct kernel_linux *kl, const struct kernel_change *c,
			     struct reason *why)
{
	return rtnl_addr_change(kl->rtnl, c, why);
}

int kernel_linux_change_route(struct kernel_linux *kl, const struct kernel_change *c,
			      struct reason *why)
{
	return rtnl_route_change(kl->rtnl, c, why);
}

int kernel_linux_change_rule(struct kernel_linux *kl, const struct kernel_change *c,
			     struct reason *why)
{
	return rtnl_rule_change(kl->rtnl, c, why);
}

int kernel_linux_change_pci(struct kernel_linux *kl, const struct kernel_change *c,
			    struct reason *why)
{
	return pci_change(kl->pci, c, why);
}

int kernel_linux_change_vf(struct kernel_linux *kl, const struct kernel_change *c,
			   struct reason *why)
{
	return rtnl_vf_change(kl->rtnl, c, why);
}

int kernel_linux_change_vlan(struct kernel_linux *kl, const struct kernel_change *c,
			     struct reason *why)
{
	return rtnl_vlan_change(kl->rtnl, c, why);
}

int kernel_linux_change_bond(struct kernel_linux *kl, const struct kernel_change *c,
			     struct reason *why)
{
	return rtnl_bond_change(kl->rtnl, c, why);
}

int kernel_linux_change_bond_value(struct kernel_linux *kl, const struct kernel_change *c,
				   struct reason *why)
{
	return rtnl_bond_value_change(kl->rtnl, c, why);
}

int kernel_linux_change_master(struct kernel_linux *kl, const struct kernel_change *c,
			       struct reason *why)
{
	return rtnl_master_change(kl->rtnl, c, why);
}

int kernel_linux_change_rxe(struct kernel_linux *kl, const struct kernel_change *c,
			    struct reason *why)
{
	return kernel_rxe_change(c, why);
}

int kernel_linux_change_device(struct kernel_linux *kl, const struct kernel_change *c,
			       struct reason *why)
{
	switch (c->device.attr) {
	case DEVICE_IPOIB_MODE:
		return rtnl_ipoib_change(kl->rtnl, c, why);
	case DEVICE_QDISC:
		return rtnl_qdisc_change(kl->rtnl, c, why);
	case DEVICE_ROCE_MODE:
	case DEVICE_ROCE_TOS:
		return kernel_roce_change(kl->configfs, c, why);
	default:
		return kernel_dcb_change(c, why);
	}
}

int kernel_linux_read_device(struct kernel_linux *kl, struct kernel_change *c)
{
	switch (c->device.attr) {
	case DEVICE_IPOIB_MODE:
		return rtnl_ipoib_read(kl->rtnl, c);
	case DEVICE_QDISC:
		return rtnl_qdisc_read(c);
	case DEVICE_ROCE_MODE:
	case DEVICE_ROCE_TOS:
		return kernel_roce_read(kl->configfs, c);
	default:
		return kernel_dcb_read(c);
	}
}

int kernel_linux_change_devlink(struct kernel_linux *kl, const struct kernel_change *c,
				struct reason *why)
{
	return kernel_devlink_change(c, why);
}

int kernel_linux_read_link(struct kernel_linux *kl, struct kernel_change *c)
{
	return rtnl_link_read(kl->rtnl, c);
}

int kernel_linux_read_sysctl(struct kernel_linux *kl, struct kernel_change *c)
{
	return sysctl_read(kl, c->sysctl.key, c->sysctl.was, sizeof(c->sysctl.was));
}

int kernel_linux_read_pci(struct kernel_linux *kl, struct kernel_change *c)
{
	return pci_read(kl->pci, c);
}

int kernel_linux_read_vf(struct kernel_linux *kl, struct kernel_change *c)
{
	return rtnl_vf_read(kl->rtnl, c);
}

int kernel_linux_read_bond_value(struct kernel_linux *kl, struct kernel_change *c)
{
	return rtnl_bond_value_read(kl->rtnl, c);
}

int kernel_linux_read_master(struct kernel_linux *kl, struct kernel_change *c)
{
	return rtnl_master_read(kl->rtnl, c);
}

int kernel_linux_read_rxe(struct kernel_linux *kl, struct kernel_change *c)
{
	return kernel_rxe_read(c);
}

int kernel_linux_read_devlink(struct kernel_linux *kl, struct kernel_change *c)
{
	return kernel_devlink_read(c);
}

static const struct {
	int (*change)(struct kernel_linux *kl, const struct kernel_change *c, struct reason *why);
	int (*read)(struct kernel_linux *kl, struct kernel_change *c);
} kinds[KERNEL_KIND_MAX] = {
#define OBJECT(member, name) [KERNEL_##member] = {kernel_linux_change_##name},
#define VALUE(member, name) \
	[KERNEL_##member] = {kernel_linux_change_##name, kernel_linux_read_##name},
	KERNEL_KINDS(OBJECT, VALUE)
#undef OBJECT
#undef VALUE
};

static int linux_change(struct kernel *k, const struct kernel_change *c, struct reason *why)
{
	k->n_writes++;
	return kinds[c->kind].change(linux_of(k), c, why);
}

static int linux_read(struct kernel *k, struct kernel_change *c)
{
	return kinds[c->kind].read ? kinds[c->kind].read(linux_of(k), c) : -EOPNOTSUPP;
}

static void linux_prepare(struct kernel *k, const struct kernel_change *c)
{
	if (c->kind == KERNEL_PCI)
		pci_prepare(linux_of(k)->pci, c);
	if (c->kind == KERNEL_DEVICE && linux_of(k)->configfs < 0 &&
	    (c->device.attr == DEVICE_ROCE_MODE || c->device.attr == DEVICE_ROCE_TOS))
		linux_of(k)->configfs = kernel_roce_open(linux_of(k)->sysfs, true);
	if (c->kind == KERNEL_ADDR)
		(void)probe_open(&linux_of(k)->probe);
	(void)ping_open(&linux_of(k)->ping);
}

static int linux_ping(struct kernel *k, struct kernel_ping *pings, size_t n, uint64_t limit_ns)
{
	return ping_run(&linux_of(k)->ping, pings, n, limit_ns);
}

static int linux_probe(struct kernel *k, struct kernel_probe *probes, size_t n,
		       const struct mac_addr *own, size_t n_own)
{
	return probe_run(&linux_of(k)->probe, probes, n, own, n_own);
}

static int linux_function_find(struct kernel *k, const char *ref, char ret[static 16])
{
	return pci_function_find(linux_of(k)->pci, ref, ret);
}

static int linux_link_find(struct kernel *k, const char *ref, uint32_t *ret_ifindex)
{
	char name[IFNAMSIZ];
	int r = sysfs_link_name(linux_of(k)->sysfs, ref, name);

	return r < 0 ? r : rtnl_link_find(linux_of(k)->rtnl, name, ret_ifindex);
}

static int linux_route_lookup(struct kernel *k, const struct ip_addr *from,
			      const struct ip_addr *to, uint32_t oif, uint16_t udp_port,
			      struct inv_route *ret, struct reason *why)
{
	return rtnl_route_lookup(linux_of(k)->rtnl, from, to, oif, udp_port, ret, why);
}

static int collect_settings(const struct kernel_linux *kl, const char *conf, struct inventory *inv)
{
	for (enum link_setting i = 0; i < LINK_SETTING_MAX; i++) {
		char key[LINK_SETTING_KEY_MAX], value[64];

		link_setting_key(i, conf, key);
		if (sysctl_read(kl, key, value, sizeof(value)) < 0)
			continue; /* a kernel without IPv6 lacks the settings of IPv6 */
		if (inv_sysctl_add(inv, key, value) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int collect_host(struct kernel *k, struct inventory *inv)
{
	struct utsname uts;
	int r;

	if (uname(&uts) < 0)
		return -errno;
	inv_text_set(inv->host, sizeof(inv->host), uts.nodename);
	inv_text_set(inv->kernel_release, sizeof(inv->kernel_release), uts.release);
	/* Collects the settings of "all", which the kernel combines with those of each link, and
	 * the settings that new links get. */
	r = collect_settings(linux_of(k), "all", inv);
	return r < 0 ? r : collect_settings(linux_of(k), LINK_SETTING_NEW, inv);
}

/* Drops addresses and routes of unknown links. A link that was created between the two dumps
 * appears only in the next inventory. */
static void drop_unknown_links(struct inventory *inv)
{
	size_t n = 0;

	for (size_t i = 0; i < inv->n_addrs; i++)
		if (inv_link_by_index(inv, inv->addrs[i].ifindex))
			inv->addrs[n++] = inv->addrs[i];
	inv->n_addrs = n;
	n = 0;
	for (size_t i = 0; i < inv->n_routes; i++)
		if (!inv->routes[i].oif || inv_link_by_index(inv, inv->routes[i].oif))
			inv->routes[n++] = inv->routes[i];
	inv->n_routes = n;
}

static int collect_netlink(struct kernel_linux *kl, struct diag *d, struct inventory *inv)
{
	static const struct {
		int (*collect)(struct rtnl *rt, struct inventory *inv);
		const char *what;
	} dumps[] = {
		{rtnl_collect_links, "links"},
		{rtnl_collect_addrs, "addresses"},
		{rtnl_collect_routes, "routes"},
		{rtnl_collect_rules, "rules"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(dumps); i++) {
		int r = dumps[i].collect(kl->rtnl, inv);

		if (r < 0) {
			diag_add(d, DIAG_ERROR, NULL, "kernel", "the %s could not be read: %s",
				 dumps[i].what,
				 r == -EBUSY ? "they change all the time" : strerror(-r));
			return r;
		}
	}
	return 0;
}

static int collect_sysfs(struct kernel_linux *kl, struct diag *d, struct inventory *inv)
{
	static const struct {
		int (*collect)(int root, struct inventory *inv);
		const char *what;
	} parts[] = {
		{sysfs_add_functions, "PCI functions"}, {sysfs_add_rdma, "RDMA ports"},
		{kernel_rdma_collect, "RDMA devices"},	{sysfs_add_cores, "CPU cores"},
		{sysfs_add_hugepages, "hugepages"},
	};
	/* Open udev's folder in each collection, because udev may start after this process. */
	autoclose int udev = open("/run/udev", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < inv->n_links; i++)
		sysfs_fill_link(kl->sysfs, &inv->links[i]);
	udev_fill_links(udev, kl->proc_net, inv);
	if (ethtool_fill_links(inv) == -ENOMEM)
		return -ENOMEM;
	kernel_xdp_fill(kl->proc_net, inv);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		int r = parts[i].collect(kl->sysfs, inv);

		if (r == -ENOMEM)
			return r;
		if (r < 0)
			diag_add(d, DIAG_WARNING, NULL, "kernel", "the %s could not be read: %s",
				 parts[i].what, strerror(-r));
	}
	return 0;
}

/* Collects the connections and mounts that use the network. If one of the two cannot be read, the
 * function only adds a warning to d, and the plan cannot name that kind of dependents. */
static int collect_dependents(struct kernel_linux *kl, struct diag *d, struct inventory *inv)
{
	int r = kl->diag ? dependents_add_conns(kl->diag, inv) : 0;

	if (r < 0 && r != -ENOMEM)
		diag_add(d, DIAG_WARNING, NULL, "kernel", "the connections could not be read: %s",
			 strerror(-r));
	if (r != -ENOMEM)
		r = dependents_add_mounts(inv);
	if (r < 0 && r != -ENOMEM)
		diag_add(d, DIAG_WARNING, NULL, "kernel", "the mounts could not be read: %s",
			 strerror(-r));
	return r == -ENOMEM ? r : 0;
}

/*
 * Returns whether this kernel stores which program added an address (IFA_PROTO). Linux does since
 * 5.18, and distributions have added this to older kernels. The agent recognizes an older kernel
 * with this change by any address with an owner, because such a kernel also sets the owner of the
 * addresses that the kernel itself adds.
 */
static bool addr_owner_is_stored(const struct inventory *inv)
{
	unsigned major = 0, minor = 0;

	for (size_t i = 0; i < inv->n_addrs; i++)
		if (inv->addrs[i].proto)
			return true;
	return sscanf(inv->kernel_release, "%u.%u", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 18));
}

static int linux_collect(struct kernel *k, struct diag *d, struct inventory *inv)
{
	struct kernel_linux *kl = linux_of(k);
	int r = collect_host(k, inv);

	if (r == 0)
		r = collect_netlink(kl, d, inv);
	if (r < 0)
		return r;
	link_setting_drop_absent(inv);
	inv_sort(inv); /* sort first: the functions below search links by binary search */
	drop_unknown_links(inv);
	inv->addr_owner_known = addr_owner_is_stored(inv);
	/* The agent does not search for the driver of soft-RoCE again once it was found, because
	 * kernel modules are almost never deleted from a system. */
	kl->soft_roce = kl->soft_roce || kernel_rxe_is_there(kl->sysfs, inv->kernel_release);
	inv->soft_roce = kl->soft_roce;
	proc_bond_fill(kl->proc_net, inv);
	r = rtnl_qdisc_fill(inv);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		diag_add(d, DIAG_WARNING, NULL, "kernel",
			 "queueing disciplines could not be read: %s", strerror(-r));
	r = kernel_dcb_collect(inv);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		diag_add(d, DIAG_WARNING, NULL, "kernel", "DCB could not be read: %s",
			 strerror(-r));
	r = devlink_watch_collect(&kl->devlink, inv);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		diag_add(d, DIAG_WARNING, NULL, "kernel", "devlink could not be read: %s",
			 strerror(-r));
	r = collect_sysfs(kl, d, inv);
	if (r == 0 && inv->n_rdma && kl->configfs < 0)
		kl->configfs = kernel_roce_open(kl->sysfs, false);
	if (r == 0 && kl->configfs >= 0)
		kernel_roce_fill(kl->configfs, inv);
	return r < 0 ? r : collect_dependents(kl, d, inv);
}

static int watch_add(const struct kernel_linux *kl, int fd)
{
	struct epoll_event e = {.events = EPOLLIN};

	return epoll_ctl(kl->watch_poll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static int watch_open(struct kernel_linux *kl)
{
	int r = rtnl_watch_open(&kl->watch);

	if (r < 0)
		return r;
	kl->watch_poll = epoll_create1(EPOLL_CLOEXEC);
	if (kl->watch_poll < 0)
		return -errno;
	/* Without this socket, the agent sees that udev has finished with a link only at the next
	 * event of another kind. */
	kl->udev_watch = udev_watch_open();
	r = watch_add(kl, rtnl_watch_fd(kl->watch));
	if (r == 0 && kl->udev_watch >= 0)
		r = watch_add(kl, kl->udev_watch);
	if (r == 0 && devlink_watch_open(&kl->devlink) == 0)
		r = watch_add(kl, kl->devlink.fd);
	return r;
}

static void watch_close(struct kernel_linux *kl)
{
	kl->watch = rtnl_watch_close(kl->watch);
	devlink_watch_close(&kl->devlink);
	cleanup_close(&kl->udev_watch);
	cleanup_close(&kl->watch_poll);
	kl->udev_watch = kl->watch_poll = -1;
}

static int linux_watch_fd(struct kernel *k)
{
	struct kernel_linux *kl = linux_of(k);
	int r = kl->watch ? 0 : watch_open(kl);

	if (r < 0)
		watch_close(kl);
	return r < 0 ? r : kl->watch_poll;
}

static void linux_forget(struct kernel *k)
{
	devlink_watch_forget(&linux_of(k)->devlink);
}

static int linux_watch_read(struct kernel *k, void (*cb)(void *user, const struct kernel_event *e),
			    void *user)
{
	struct kernel_linux *kl = linux_of(k);
	int r = kl->watch ? rtnl_watch_read(kl->watch, cb, user) : 0;

	if (r == 0 && kl->udev_watch >= 0)
		r = udev_watch_read(kl->udev_watch, cb, user);
	return r == 0 ? devlink_watch_read(&kl->devlink, cb, user) : r;
}

static void linux_free(struct kernel *k)
{
	struct kernel_linux *kl = linux_of(k);

	rtnl_close(kl->rtnl);
	netlink_close(kl->diag);
	watch_close(kl);
	probe_close(&kl->probe);
	ping_close(&kl->ping);
	cleanup_close(&kl->sysfs);
	cleanup_close(&kl->pci);
	cleanup_close(&kl->proc_sys);
	cleanup_close(&kl->proc_net);
	cleanup_close(&kl->configfs);
	free(kl);
}

static const struct kernel_ops linux_ops = {
	.collect = linux_collect,
	.link_find = linux_link_find,
	.function_find = linux_function_find,
	.read = linux_read,
	.prepare = linux_prepare,
	.change = linux_change,
	.probe = linux_probe,
	.ping = linux_ping,
	.route_lookup = linux_route_lookup,
	.watch_fd = linux_watch_fd,
	.watch_read = linux_watch_read,
	.forget = linux_forget,
	.free = linux_free,
};

int kernel_linux_new(struct kernel **ret)
{
	struct kernel_linux *kl = calloc(1, sizeof(*kl));
	int r;

	if (!kl)
		return -ENOMEM;
	kl->kernel = (struct kernel){.ops = &linux_ops, .impl = kl};
	kl->udev_watch = kl->watch_poll = kl->configfs = -1;
	kl->devlink = (struct devlink_watch)DEVLINK_WATCH_INIT;
	kl->probe = PROBE_SOCKETS_INIT;
	kl->ping = PING_SOCKETS_INIT;
	kl->proc_net = open("/proc/thread-self/net", O_PATH | O_DIRECTORY | O_CLOEXEC);
	kl->sysfs = sysfs_open();
	kl->pci = open("/sys/bus/pci", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* /proc/sys/net shows the network namespace of the process that accesses it, not of the
	 * process that opened it. */
	kl->proc_sys = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = kl->proc_sys < 0 ? -errno : 0;
	/* Open configfs now, because this process may drop its privileges later. */
	if (kl->sysfs >= 0)
		kl->configfs = kernel_roce_open(kl->sysfs, false);
	if (r == 0 && kl->sysfs < 0)
		r = kl->sysfs;
	if (r == 0)
		r = rtnl_open(&kl->rtnl);
	if (r == 0)
		(void)netlink_open(NETLINK_SOCK_DIAG, &kl->diag);
	if (r < 0) {
		linux_free(&kl->kernel);
		return r;
	}
	*ret = &kl->kernel;
	return 0;
}
