/* SPDX-License-Identifier: BSD-3-Clause */
/* Listens to devlink's notifications, and keeps a cache that these notifications make stale.
 * kernel_devlink.c sends the queries. */
#include "netcfg/linux/netlink/devlink_watch.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/netlink/genl.h"
#include "netcfg/linux/netlink/kernel_devlink.h"
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <sys/socket.h>

#define MESSAGE_BYTES_MAX 16384
/* Maximum number of messages per call, so that a flood does not block the caller; the descriptor
 * stays readable. */
#define WATCH_READ_MAX 4096

int devlink_watch_open(struct devlink_watch *w)
{
	const struct sockaddr_nl any = {.nl_family = AF_NETLINK};
	autoclose int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC);
	struct netlink *nl;
	uint32_t group;
	int r = netlink_open(NETLINK_GENERIC, &nl);

	if (r < 0)
		return r;
	group = genl_group_find(nl, DEVLINK_GENL_NAME, DEVLINK_GENL_MCGRP_CONFIG_NAME);
	netlink_close(nl);
	if (!group)
		return -EOPNOTSUPP;
	if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 ||
	    setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
		return -errno;
	w->fd = fd_take(fd);
	return 0;
}

void devlink_watch_forget(struct devlink_watch *w)
{
	inv_free(w->known);
	w->known = NULL;
}

void devlink_watch_close(struct devlink_watch *w)
{
	cleanup_close(&w->fd);
	w->fd = -1;
	devlink_watch_forget(w);
}

/* Returns whether the message announces a change of data in the inventory. devlink also announces
 * progress, health reports and packet traps, which the inventory does not contain. */
static bool is_change(const char *message, size_t len)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)message;
	const struct genlmsghdr *g = mnl_nlmsg_get_payload(h);

	if (!mnl_nlmsg_ok(h, (int)len) || mnl_nlmsg_get_payload_len(h) < sizeof(*g))
		return false;
	switch (g->cmd) {
	case DEVLINK_CMD_NEW:
	case DEVLINK_CMD_DEL:
	case DEVLINK_CMD_PORT_NEW:
	case DEVLINK_CMD_PORT_DEL:
	case DEVLINK_CMD_PARAM_NEW:
	case DEVLINK_CMD_PARAM_DEL:
	case DEVLINK_CMD_FLASH_UPDATE_END:
		return true;
	default:
		return false;
	}
}

int devlink_watch_read(struct devlink_watch *w,
		       void (*cb)(void *user, const struct kernel_event *e), void *user)
{
	_Alignas(struct nlmsghdr) char message[MESSAGE_BYTES_MAX];
	const struct kernel_event e = {.type = KERNEL_EVENT_DEVICE};
	bool changed = false;
	ssize_t n = 0;

	for (int i = 0; w->fd >= 0 && i < WATCH_READ_MAX; i++) {
		n = netlink_notification(w->fd, false, message, sizeof(message));
		if (n == 0 || (n < 0 && n != -ENOBUFS))
			break;
		changed = changed || n < 0 || is_change(message, (size_t)n);
	}
	if (changed)
		devlink_watch_forget(w);
	if (changed && cb)
		cb(user, &e);
	return n < 0 && n != -ENOBUFS ? (int)n : 0;
}

int devlink_watch_collect(struct devlink_watch *w, struct inventory *inv)
{
	struct inventory *fresh;
	int r;

	if (w->fd < 0 || devlink_watch_read(w, NULL, NULL) < 0)
		return w->collect(inv);
	if (!w->known) {
		fresh = inv_new();
		if (!fresh)
			return -ENOMEM;
		r = w->collect(fresh);
		if (r < 0) {
			inv_free(fresh);
			return r;
		}
		w->known = fresh;
	}
	return inv_devlink_append(inv, w->known);
}
