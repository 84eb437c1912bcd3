/* SPDX-License-Identifier: BSD-3-Clause */
/* What port_rdma.c (devices, memory) and port_rdma_pair.c (queue pairs, transfers) share. */
#ifndef PLENUM_DATAPLANE_PORT_RDMA_INTERNAL_H
#define PLENUM_DATAPLANE_PORT_RDMA_INTERNAL_H

#include "dataplane/port/rdma/port_rdma.h"
#include <infiniband/verbs.h>

#define RDMA_OPS_MAX 512	/* under way in a worker */
#define RDMA_DEVICE_OPS_MAX 64U /* of a device */
#define RDMA_PAIR_OPS_MAX 8U	/* and on a pair */
#define RDMA_OP_WRS 16U		/* work requests of the largest */
#define RDMA_PAIR_WRS (RDMA_OP_WRS * RDMA_PAIR_OPS_MAX)
/* A failed transfer's requests all say so. */
#define RDMA_CQES (RDMA_OP_WRS * RDMA_DEVICE_OPS_MAX)

struct rdma_device {
	struct ibv_context *context; /* NULL: none, or gone */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	unsigned n_ops; /* under way */
	bool armed, gids_moved;
	enum port_rdma_gpu gpu;
};

struct rdma_leg { /* of the worker: where in devices; the reason where there is none */
	int device;
	enum port_rdma_reason reason;
	uint8_t gid[16];
	uint8_t roce; /* as in launch_port */
	uint8_t port_num;
	uint32_t ifindex;
	/* IPoIB: its port's GID and its partition; where that was found in the port's table. */
	bool is_ipoib, has_pkey;
	uint8_t ib_gid[16];
	uint16_t pkey, pkey_index;
};

struct port_rdma {
	struct rdma_device devices[PORT_RDMA_LEGS_MAX];
	unsigned n_devices;
	struct rdma_leg legs[PORT_RDMA_LEGS_MAX];
	unsigned n_legs;
	struct port_rdma_pool *pools;
	struct port_rdma_pair *dying; /* dropped with ops under way */
	struct port_rdma_op *ops[RDMA_OPS_MAX];
	uint32_t op_uses[RDMA_OPS_MAX]; /* of each slot */
	uint16_t free_ops[RDMA_OPS_MAX];
	unsigned n_free_ops;
	uint32_t next_psn, n_changes;
	bool has_peermem;
	uint64_t look_ns, now_ns; /* of the latest tick */
	uint64_t memory_ns;	  /* what could not be registered is not tried again before */
};

struct port_rdma_pool {
	struct port_rdma *r;
	struct port_rdma_pool *next;
	struct port_rdma_region regions[PORT_RDMA_REGIONS_MAX];
	unsigned n_regions;
	bool remote; /* others may write and read the first region */
	struct port_rdma_peer *peers;
	struct ibv_pd *pds[PORT_RDMA_LEGS_MAX]; /* by device */
	struct ibv_mr *mrs[PORT_RDMA_LEGS_MAX][PORT_RDMA_REGIONS_MAX];
};

struct port_rdma_pair {
	struct port_rdma_pair *next; /* among the dying */
	struct port_rdma *r;
	struct ibv_qp *qp;
	unsigned device, port;
	uint32_t gid_index; /* ours, where joined */
	uint8_t link;	    /* as in struct port_rdma_half */
	uint32_t psn, key;  /* ours; theirs */
	unsigned n_ops;
	uint64_t bytes;	   /* under way */
	uint64_t moved_ns; /* about when an op last ended, or was the first to begin */
	bool joined, failed;
	uint64_t dropped_ns;
};

struct port_rdma_peer {
	struct port_rdma_pool *pool;
	struct port_rdma_peer *next;
	struct port_rdma_pair *pairs[PORT_RDMA_LEGS_MAX];
	unsigned last; /* leg that was chosen last */
};

/* port_rdma_bell.c: tells the kernel that a queue pair of soft-RoCE has work. 0; negative errno. */
int rdma_bell_ring(const struct ibv_qp *qp);
/* The port's GID of an IPoIB interface, whose hardware address as sysfs has it ends in it. */
bool rdma_ipoib_parse(const char *address, uint8_t ret_gid[16]);
/* The leg's GID in its device's table now. 0; -ENOENT. */
int rdma_gid_get(const struct port_rdma *r, unsigned port, struct ibv_gid_entry *ret);
/* Ends the ops of a pair without asking its device, which acts for it no more. */
void rdma_pair_end_ops(struct port_rdma_pair *pair);
/* All pairs by the device, dying ones too, are destroyed; their ops end. */
void rdma_pairs_of_device(struct port_rdma *r, unsigned device);
/* Gives up the pairs by the device whose GID stands elsewhere in its table now, or nowhere. */
void rdma_pairs_judge(struct port_rdma *r, unsigned device);
/* Destroys dropped pairs whose ops have ended. */
void rdma_pairs_reap(struct port_rdma *r, uint64_t now_ns);

#endif
