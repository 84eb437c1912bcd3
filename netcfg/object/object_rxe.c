/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A soft-RoCE device on a leg's device. Plenum recognizes its own devices by the name prefix
 * "plenum_", which the kernel keeps, so they are not recorded.
 */
#include "netcfg/object/object.h"
#include <stdio.h>
#include <string.h>

static void rxe_describe(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	snprintf(buf, size, "%s soft-RoCE device %s on %s", s->verb == PLAN_DEL ? "remove" : "make",
		 s->change.rxe.name, where);
}

static void rxe_undone(const struct plan_step *s, const char *where, char *buf, size_t size)
{
	if (s->verb == PLAN_DEL)
		snprintf(buf, size, "soft-RoCE device %s was made on %s", s->change.rxe.name,
			 where);
	else
		snprintf(buf, size, "soft-RoCE device %s of %s was removed", s->change.rxe.name,
			 where);
}

static int rxe_format(const struct plan_step *s, char *buf, size_t size)
{
	return snprintf(buf, size, "%s", s->change.rxe.name);
}

static int rxe_parse(const char *text, struct plan_step *s)
{
	s->change.kind = KERNEL_RXE;
	_Static_assert(sizeof(s->change.rxe.name) == 64, "sscanf() below has the same field width");
	return sscanf(text, "%63s", s->change.rxe.name) == 1 ? 0 : -EBADMSG;
}

/* Any RDMA device on the link is sufficient, even one that Plenum did not create. */
static enum object_presence rxe_present(const struct inventory *inv, const struct plan_step *s)
{
	enum object_presence is = OBJECT_ABSENT;

	for (size_t i = 0; i < inv->n_rdma; i++) {
		if (inv->rdma[i].ifindex != s->change.ifindex)
			continue;
		if (kernel_rdma_is_ours(inv->rdma[i].device))
			return OBJECT_OURS;
		is = OBJECT_PRESENT;
	}
	return is;
}

static bool rxe_same(const struct plan_step *a, const struct plan_step *b)
{
	return a->change.ifindex == b->change.ifindex;
}

/* The device has to be polled, because only the newest Linux versions announce that an RDMA device
 * was removed. */
static bool rxe_unannounced(const struct plan_step *s)
{
	return true;
}

static bool rxe_settled(const struct plan_step *s)
{
	return strcmp(s->change.rxe.was, s->change.rxe.name) == 0;
}

static int rxe_ours(const struct object_view *v, size_t i, struct plan_step *ret)
{
	const struct inv_rdma *p;

	if (i >= v->inv->n_rdma)
		return -ENOENT;
	p = &v->inv->rdma[i];
	if (!kernel_rdma_is_ours(p->device) || !p->ifindex ||
	    v->link_waits(v, inv_link_by_index(v->inv, p->ifindex)))
		return 0;
	ret->change = (struct kernel_change){.kind = KERNEL_RXE, .ifindex = p->ifindex};
	memcpy(ret->change.rxe.name, p->device, sizeof(p->device));
	return 1;
}

const struct object_kind object_rxe = {
	.name = "rxe",
	.verb = PLAN_ADD,
	.phase = {[PLAN_ADD] = OBJECT_PHASE_LINK, [PLAN_DEL] = OBJECT_PHASE_SETTING_RESTORE},
	.describe = rxe_describe,
	.undone = rxe_undone,
	.format = rxe_format,
	.parse = rxe_parse,
	.present = rxe_present,
	.same = rxe_same,
	.unannounced = rxe_unannounced,
	.settled = rxe_settled,
	.ours = rxe_ours,
};
