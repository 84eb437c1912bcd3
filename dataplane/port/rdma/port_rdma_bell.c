/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Informs the kernel that a soft-RoCE queue pair has new work (its doorbell). Soft-RoCE's library
 * does this by write(2), which the kernel accepts only from a process with the credentials that it
 * had when it opened the device. A worker changes its credentials. The same command by ioctl(2) is
 * open to any holder of the descriptor. Only this file contains the kernel's command numbers.
 * Devices with mapped queues do not need it.
 */
#include "dataplane/port/rdma/port_rdma_internal.h"
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl.h>
#include <string.h>
#include <sys/ioctl.h>

enum { BELL_CMD, BELL_IN, BELL_ATTRS };

int rdma_doorbell_ring(const struct ibv_qp *qp)
{
	const struct ib_uverbs_post_send in = {.qp_handle = qp->handle,
					       .wqe_size = sizeof(struct ibv_send_wr)};
	struct ib_uverbs_post_send_resp out;
	struct {
		struct ib_uverbs_ioctl_hdr head;
		struct ib_uverbs_attr attrs[BELL_ATTRS + 1];
	} c = {
		.head = {.length = sizeof(c),
			 .object_id = UVERBS_OBJECT_DEVICE,
			 .method_id = UVERBS_METHOD_INVOKE_WRITE,
			 .num_attrs = ARRAY_SIZE(c.attrs),
			 .driver_id = RDMA_DRIVER_RXE},
	};

	c.attrs[BELL_CMD] = (struct ib_uverbs_attr){.attr_id = UVERBS_ATTR_WRITE_CMD,
						    .len = sizeof(uint64_t),
						    .flags = UVERBS_ATTR_F_MANDATORY,
						    .data = IB_USER_VERBS_CMD_POST_SEND};
	c.attrs[BELL_IN] = (struct ib_uverbs_attr){.attr_id = UVERBS_ATTR_CORE_IN,
						   .len = sizeof(in),
						   .flags = UVERBS_ATTR_F_MANDATORY,
						   .data = (uintptr_t)&in};
	c.attrs[BELL_ATTRS] = (struct ib_uverbs_attr){.attr_id = UVERBS_ATTR_CORE_OUT,
						      .len = sizeof(out),
						      .flags = UVERBS_ATTR_F_MANDATORY,
						      .data = (uintptr_t)&out};
	return ioctl(qp->context->cmd_fd, RDMA_VERBS_IOCTL, &c) < 0 ? -errno : 0;
}
