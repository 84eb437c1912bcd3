/* SPDX-License-Identifier: BSD-3-Clause */
/* Dumps the queueing disciplines with their counters, and replaces the qdisc of a link. */
#include "netcfg/linux/rtnl/rtnl_qdisc.h"
#include "netcfg/base/vec.h"
#include "netcfg/host/inventory_build.h"
#include "netcfg/linux/netlink/netlink.h"
#include "netcfg/linux/rtnl/rtnl.h"
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>

/* The handle by which Plenum recognizes its own root: 7070: in the notation of tc(8). */
#define OWN_HANDLE (PLENUM_RTPROT << 24 | PLENUM_RTPROT << 16)

bool rtnl_qdisc_parse_any(struct nlmsghdr *h, struct rtnl_qdisc *ret)
{
	struct nlattr *tb[TCA_MAX + 1], *stats[TCA_STATS_MAX + 1] = {NULL};
	const struct tcmsg *tcm = nlmsg_data(h);
	struct gnet_stats_queue queue = {0};
	struct gnet_stats_basic basic = {0};

	if (h->nlmsg_type != RTM_NEWQDISC || nlmsg_parse(h, sizeof(*tcm), tb, TCA_MAX, NULL) < 0)
		return false;
	*ret = (struct rtnl_qdisc){.ifindex = (uint32_t)tcm->tcm_ifindex,
				   .handle = tcm->tcm_handle,
				   .parent = tcm->tcm_parent};
	if (tb[TCA_KIND])
		nla_strlcpy(ret->kind, tb[TCA_KIND], sizeof(ret->kind));
	if (tb[TCA_STATS2] && nla_parse_nested(stats, TCA_STATS_MAX, tb[TCA_STATS2], NULL) < 0)
		return false;
	if (stats[TCA_STATS_BASIC])
		nla_memcpy(&basic, stats[TCA_STATS_BASIC], sizeof(basic));
	if (stats[TCA_STATS_QUEUE])
		nla_memcpy(&queue, stats[TCA_STATS_QUEUE], sizeof(queue));
	ret->packets = basic.packets;
	ret->drops = queue.drops;
	return true;
}

bool rtnl_qdisc_parse(struct nlmsghdr *h, struct rtnl_qdisc *ret)
{
	return rtnl_qdisc_parse_any(h, ret) && ret->parent == TC_H_ROOT;
}

static int dump(int (*take)(void *user, struct nlmsghdr *h), void *user)
{
	struct tcmsg tcm = {.tcm_family = AF_UNSPEC};
	struct netlink *nl = NULL;
	struct nl_msg *m;
	int r = netlink_open(NETLINK_ROUTE, &nl);

	if (r < 0)
		return r;
	m = nlmsg_alloc_simple(RTM_GETQDISC, 0);
	r = m && nlmsg_append(m, &tcm, sizeof(tcm), NLMSG_ALIGNTO) == 0
		    ? netlink_talk(nl, nlmsg_hdr(m), NLM_F_DUMP, take, user, NULL)
		    : -ENOMEM;
	nlmsg_free(m);
	netlink_close(nl);
	return r;
}

struct list {
	struct rtnl_qdisc *all;
	size_t n, max;
};

static int take(void *user, struct nlmsghdr *h)
{
	struct list *l = user;

	if (l->n < l->max && rtnl_qdisc_parse(h, &l->all[l->n]))
		l->n++;
	return 0;
}

int rtnl_qdisc_collect(struct rtnl_qdisc *ret, size_t max, size_t *ret_n)
{
	struct list l = {.all = ret, .max = max};
	int r = dump(take, &l);

	if (r == 0)
		*ret_n = l.n;
	return r;
}

/* ---- the qdisc of a link as text ---- */

static int take_any(void *user, struct nlmsghdr *h)
{
	struct list *l = user;
	struct rtnl_qdisc one, *q;

	if (!rtnl_qdisc_parse_any(h, &one))
		return 0;
	q = vec_add(&l->all, &l->n, sizeof(*q));
	if (!q)
		return -ENOMEM;
	*q = one;
	return 0;
}

static const struct rtnl_qdisc *root_of(const struct rtnl_qdisc *all, size_t n, uint32_t ifindex)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].ifindex == ifindex && all[i].parent == TC_H_ROOT)
			return &all[i];
	return NULL;
}

/* Returns whether q is the qdisc of a queue below the root. */
static bool is_below(const struct rtnl_qdisc *q, const struct rtnl_qdisc *root)
{
	return q->ifindex == root->ifindex && q != root &&
	       TC_H_MAJ(q->parent) == TC_H_MAJ(root->handle) && TC_H_MIN(q->parent);
}

const char *rtnl_qdisc_text(const struct rtnl_qdisc *all, size_t n, uint32_t ifindex,
			    char ret[static RTNL_QDISC_TEXT_MAX])
{
	const struct rtnl_qdisc *root = root_of(all, n, ifindex);
	bool foreign = root && root->handle && root->handle != OWN_HANDLE;
	const char *kind = NULL;

	for (size_t i = 0; root && strcmp(root->kind, "mq") == 0 && i < n; i++) {
		if (!is_below(&all[i], root))
			continue;
		if (kind && strcmp(kind, all[i].kind) != 0) {
			kind = "mixed";
			foreign = true;
			break;
		}
		kind = all[i].kind;
	}
	if (root && !kind)
		kind = root->kind;
	snprintf(ret, RTNL_QDISC_TEXT_MAX, "%s%s", foreign ? "tc:" : "", kind ? kind : "default");
	return ret;
}

int rtnl_qdisc_fill(struct inventory *inv)
{
	struct list l = {.all = NULL};
	char text[RTNL_QDISC_TEXT_MAX];
	int r = dump(take_any, &l);

	for (size_t i = 0; r == 0 && i < inv->n_links; i++)
		inv_text_set(inv->links[i].qdisc, sizeof(inv->links[i].qdisc),
			     rtnl_qdisc_text(l.all, l.n, inv->links[i].ifindex, text));
	free(l.all);
	return r;
}

int rtnl_qdisc_read(struct kernel_change *c)
{
	struct list l = {.all = NULL};
	char text[RTNL_QDISC_TEXT_MAX];
	int r = dump(take_any, &l);

	if (r == 0)
		inv_text_set(c->device.was, sizeof(c->device.was),
			     rtnl_qdisc_text(l.all, l.n, c->ifindex, text));
	free(l.all);
	return r;
}

/* ---- changes ---- */

static int put(struct nl_msg *m, const struct tcmsg *tcm, const char *kind)
{
	int r = nlmsg_append(m, (void *)(uintptr_t)tcm, sizeof(*tcm), NLMSG_ALIGNTO);

	return r == 0 && kind ? nla_put_string(m, TCA_KIND, kind) : r;
}

static int send_change(struct rtnl *rt, int type, int flags, const struct tcmsg *tcm,
		       const char *kind, struct reason *why)
{
	struct nl_msg *m = nlmsg_alloc_simple(type, flags);

	return rtnl_change_run(rt, m, m ? put(m, tcm, kind) : 0, why);
}

static int add(struct rtnl *rt, uint32_t ifindex, uint32_t parent, uint32_t handle,
	       const char *kind, struct reason *why)
{
	const struct tcmsg tcm = {.tcm_family = AF_UNSPEC,
				  .tcm_ifindex = (int)ifindex,
				  .tcm_parent = parent,
				  .tcm_handle = handle};

	return send_change(rt, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &tcm, kind, why);
}

/* Removes the root, so that the kernel puts its default there. The kernel refuses if the root is
 * the default already. */
static int remove_root(struct rtnl *rt, uint32_t ifindex, struct reason *why)
{
	const struct tcmsg tcm = {
		.tcm_family = AF_UNSPEC, .tcm_ifindex = (int)ifindex, .tcm_parent = TC_H_ROOT};
	int r = send_change(rt, RTM_DELQDISC, 0, &tcm, NULL, why);

	return r == -ENOENT || r == -EINVAL ? 0 : r;
}

/* Puts the qdisc on each queue of a link that has the kernel's default. */
static int put_on_queues(struct rtnl *rt, uint32_t ifindex, const char *kind,
			 const struct rtnl_qdisc *all, size_t n, struct reason *why)
{
	const struct rtnl_qdisc *root = root_of(all, n, ifindex);
	int r;

	if (!root) {
		reason_set_text(why, "the link is down, so its queues are unknown");
		return -ENETDOWN;
	}
	if (strcmp(root->kind, "mq") != 0)
		return add(rt, ifindex, TC_H_ROOT, OWN_HANDLE, kind, why);
	/* Give the root a handle, because only classes of a root with a handle can be addressed. */
	r = add(rt, ifindex, TC_H_ROOT, OWN_HANDLE, "mq", why);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (is_below(&all[i], root))
			r = add(rt, ifindex, TC_H_MAKE(OWN_HANDLE, TC_H_MIN(all[i].parent)), 0,
				kind, why);
	return r;
}

int rtnl_qdisc_change(struct rtnl *rt, const struct kernel_change *c, struct reason *why)
{
	const char *value = c->device.value;
	char text[RTNL_QDISC_TEXT_MAX];
	struct list l = {.all = NULL};
	int r;

	if (strchr(value, ':')) {
		reason_set_text(why,
				"another program had set %s, and only tc(8) can restore that qdisc",
				value);
		return -EOPNOTSUPP;
	}
	r = remove_root(rt, c->ifindex, why);
	if (r < 0 || strcmp(value, "default") == 0)
		return r;
	r = dump(take_any, &l);
	if (r == 0 && strcmp(rtnl_qdisc_text(l.all, l.n, c->ifindex, text), value) != 0) {
		r = put_on_queues(rt, c->ifindex, value, l.all, l.n, why);
		if (r < 0)
			(void)remove_root(rt, c->ifindex, NULL);
	}
	free(l.all);
	return r;
}
