/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements verbs_fake.h. */
#include "tests/lib/fuse/verbs_fake.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

struct verbs_fake verbs;

static struct verbs_qp *verbs_qp_of(const struct ibv_qp *qp)
{
	return &verbs.qps[qp->qp_num];
}

static void verbs_wc(const struct verbs_wr *w, enum ibv_wc_status status)
{
	if (status == IBV_WC_SUCCESS && !(w->wr.send_flags & IBV_SEND_SIGNALED))
		return;
	assert_true(verbs.n_wcs < VERBS_WCS_MAX);
	verbs.wcs[verbs.n_wcs++] =
		(struct ibv_wc){.wr_id = w->wr.wr_id, .status = status, .qp_num = w->qp};
}

void verbs_end(unsigned qp, enum ibv_wc_status status)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < verbs.n_wrs; i++) {
		if (qp && verbs.wrs[i].qp != qp)
			verbs.wrs[kept++] = verbs.wrs[i];
		else
			verbs_wc(&verbs.wrs[i], status);
	}
	verbs.n_wrs = kept;
}

bool verbs_arrives(unsigned qp, uint64_t at, const void *data, size_t len)
{
	struct verbs_qp *q = &verbs.qps[qp];

	assert_true(qp < VERBS_QPS_MAX);
	if (!q->alive || (q->state != IBV_QPS_RTR && q->state != IBV_QPS_RTS))
		return false;
	for (unsigned i = 0; i < verbs.n_mrs; i++) {
		uint64_t base = (uintptr_t)verbs.mrs[i].addr;

		if (at >= base && at + len <= base + verbs.mrs[i].length) {
			memcpy((void *)(uintptr_t)at, data, len);
			return true;
		}
	}
	return false;
}

/* ---- the device ---- */

static int verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	assert_true(verbs_qp_of(qp)->alive);
	for (; wr; wr = wr->next) {
		if (verbs_qp_of(qp)->state != IBV_QPS_RTS) {
			*bad = wr;
			return EINVAL;
		}
		assert_true(verbs.n_wrs < VERBS_WRS_MAX);
		verbs.wrs[verbs.n_wrs++] =
			(struct verbs_wr){.wr = *wr, .sge = wr->sg_list[0], .qp = qp->qp_num};
	}
	return 0;
}

static int verbs_poll_cq(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	int n = (int)verbs.n_wcs < max ? (int)verbs.n_wcs : max;

	memcpy(wc, verbs.wcs, (unsigned)n * sizeof(*wc));
	verbs.n_wcs -= (unsigned)n;
	memmove(verbs.wcs, verbs.wcs + n, verbs.n_wcs * sizeof(*wc));
	return n;
}

static int verbs_req_notify_cq(struct ibv_cq *cq, int solicited)
{
	return 0;
}

void verbs_reset(void)
{
	struct verbs_fake *v = &verbs;

	*v = (struct verbs_fake){
		.state = IBV_PORT_ACTIVE, .mtu = IBV_MTU_1024, .has_device = true, .flushes = true};
	strcpy(v->device.name, "fake0");
	v->context = (struct ibv_context){.device = &v->device,
					  .cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC),
					  .ops = {.post_send = verbs_post_send,
						  .poll_cq = verbs_poll_cq,
						  .req_notify_cq = verbs_req_notify_cq},
					  .async_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	v->channel.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	v->channel.context = v->cq.context = v->pd.context = &v->context;
	v->n_qps = 1;
}

void verbs_remove(void)
{
	close(verbs.context.cmd_fd);
	verbs.context.cmd_fd = memfd_create("removed", MFD_CLOEXEC);
	verbs.has_device = false;
}

void verbs_tell(enum ibv_event_type type)
{
	assert_true(verbs.n_events < 8);
	verbs.events[verbs.n_events++] = type;
	assert_int_equal(eventfd_write(verbs.context.async_fd, 1), 0);
}

void verbs_come(void)
{
	close(verbs.context.cmd_fd);
	verbs.context.cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	verbs.has_device = true;
}

void verbs_done(void)
{
	close(verbs.context.cmd_fd);
	close(verbs.context.async_fd);
	close(verbs.channel.fd);
}

/* ---- libibverbs ---- */

struct ibv_device **ibv_get_device_list(int *n)
{
	static struct ibv_device *list[2];

	list[0] = verbs.has_device ? &verbs.device : NULL;
	*n = verbs.has_device;
	return list;
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

void ibv_free_device_list(struct ibv_device **list)
{
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	return &verbs.context;
}

int ibv_close_device(struct ibv_context *context)
{
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	return &verbs.channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *user,
			     struct ibv_comp_channel *channel, int vector)
{
	assert_true(cqe <= 32767); /* the limit of soft-RoCE */
	return &verbs.cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **user)
{
	return -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned n)
{
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	eventfd_t n;

	if (verbs.n_events == 0) {
		(void)eventfd_read(context->async_fd, &n);
		return -1;
	}
	event->event_type = verbs.events[--verbs.n_events];
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *ret)
{
	*(struct ibv_port_attr *)ret = (struct ibv_port_attr){
		.state = verbs.state,
		.active_mtu = verbs.mtu,
		.lid = verbs.ib ? 5 : 0,
		.link_layer = verbs.ib ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET};
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	return verbs.no_pkeys ? -1 : pkey == htons(verbs.limited ? 0x1 : 0x8001) ? 3 : -1;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *ret, size_t max,
			     uint32_t flags, size_t entry_size)
{
	ssize_t n = 0;

	if (verbs.no_gid)
		return 0;
	for (unsigned i = verbs.roce_v1 ? 0 : 1; i < (verbs.roce_only_v1 ? 1 : 2); i++) {
		ret[n] =
			(struct ibv_gid_entry){.gid_index = i + verbs.gid_moved,
					       .port_num = 1,
					       .gid_type = verbs.ib || verbs.iwarp ? IBV_GID_TYPE_IB
							   : i == 0 ? IBV_GID_TYPE_ROCE_V1
								    : IBV_GID_TYPE_ROCE_V2,
					       .ndev_ifindex = verbs.iwarp ? 7 : 0};
		memcpy(ret[n++].gid.raw, verbs.gid, sizeof(verbs.gid));
	}
	return n;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	return &verbs.pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	return 0;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned access)
{
	struct ibv_mr *mr = &verbs.mrs[verbs.n_mrs];

	if (verbs.no_memory) {
		errno = ENOMEM;
		return NULL;
	}
	assert_true(verbs.n_mrs < 8);
	*mr = (struct ibv_mr){.addr = addr, .length = length, .lkey = ++verbs.n_mrs};
	mr->rkey = access & IBV_ACCESS_REMOTE_WRITE ? mr->lkey : 0;
	return mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	if (!verbs.dmabuf || fd < 0) {
		errno = verbs.dmabuf ? EBADF : EOPNOTSUPP;
		return NULL;
	}
	verbs.dmabuf_fd = fd;
	return ibv_reg_mr_iova2(pd, (void *)(uintptr_t)iova, length, offset, (unsigned)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	mr->length = 0;
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct verbs_qp *q = &verbs.qps[verbs.n_qps];

	assert_true(verbs.n_qps < VERBS_QPS_MAX);
	*q = (struct verbs_qp){
		.qp = {.context = &verbs.context, .qp_num = verbs.n_qps++, .qp_type = IBV_QPT_RC},
		.state = IBV_QPS_RESET,
		.alive = true};
	return &q->qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct verbs_qp *q = verbs_qp_of(qp);

	assert_true(q->alive);
	q->state = attr->qp_state;
	if (mask & IBV_QP_AV)
		verbs.ah = attr->ah_attr;
	if (mask & IBV_QP_PKEY_INDEX)
		verbs.pkey_index = attr->pkey_index;
	if (q->state == IBV_QPS_ERR && verbs.flushes)
		verbs_end(qp->qp_num, IBV_WC_WR_FLUSH_ERR);
	return 0;
}

/* Drops the queue pair's requests in flight without completions, as real devices do. */
int ibv_destroy_qp(struct ibv_qp *qp)
{
	unsigned kept = 0;

	assert_true(verbs_qp_of(qp)->alive);
	verbs_qp_of(qp)->alive = false;
	for (unsigned i = 0; i < verbs.n_wrs; i++)
		if (verbs.wrs[i].qp != qp->qp_num)
			verbs.wrs[kept++] = verbs.wrs[i];
	verbs.n_wrs = kept;
	return 0;
}
