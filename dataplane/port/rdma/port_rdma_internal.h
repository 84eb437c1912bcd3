/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations for port_rdma.c (devices, memory), port_rdma_gid.c and port_rdma_pair.c (queue
 * pairs, transfers). */
#ifndef PLENUM_DATAPLANE_PORT_RDMA_INTERNAL_H
#define PLENUM_DATAPLANE_PORT_RDMA_INTERNAL_H

#include "dataplane/port/rdma/port_rdma.h"
#include <infiniband/verbs.h>

#define RDMA_OPS_MAX 512	/* maximum number of ops in flight in a worker */
#define RDMA_DEVICE_OPS_MAX 64U /* maximum number of ops in flight per device */
#define RDMA_PAIR_OPS_MAX 8U	/* maximum number of ops in flight per pair */
#define RDMA_OP_WRS 16U		/* maximum number of work requests of an op */
#define RDMA_PAIR_WRS (RDMA_OP_WRS * RDMA_PAIR_OPS_MAX)
/* Size of the completion queue. If a transfer fails, each of its work requests completes
 * separately, so the queue has space for all of them. */
#define RDMA_CQES (RDMA_OP_WRS * RDMA_DEVICE_OPS_MAX)

struct rdma_device {
	struct ibv_context *context; /* the open device; NULL: the entry is unused, or the device
					was removed */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	unsigned n_ops; /* count of ops in flight */
	bool armed, gids_moved;
	enum port_rdma_gpu gpu;
};

struct rdma_leg { /* a leg of the worker: the index of the leg's RDMA device in `devices`, or the
		     reason why the leg has no device */
	int device;
	enum port_rdma_reason reason;
	uint8_t gid[16];
	uint8_t port_num;
	uint32_t ifindex;
	/* Only for a leg on IPoIB: the GID of the InfiniBand port, the partition key, and the key's
	 * index in the port's partition table. */
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
	struct port_rdma_pair *dying; /* pairs that were dropped with ops in flight */
	struct port_rdma_op *ops[RDMA_OPS_MAX];
	uint32_t op_uses[RDMA_OPS_MAX]; /* how often each entry of `ops` was used */
	uint16_t free_ops[RDMA_OPS_MAX];
	unsigned n_free_ops;
	uint32_t next_psn, n_changes;
	bool has_peermem;
	uint64_t look_ns, now_ns; /* look_ns: when to call port_rdma_tick() next; now_ns: when it
				     was last called */
	uint64_t memory_ns;	  /* when to try again to register memory after a failure */
};

struct port_rdma_pool {
	struct port_rdma *r;
	struct port_rdma_pool *next;
	struct port_rdma_region regions[PORT_RDMA_REGIONS_MAX];
	unsigned n_regions;
	bool remote; /* peers may write and read the first region */
	struct port_rdma_peer *peers;
	struct ibv_pd *pds[PORT_RDMA_LEGS_MAX]; /* one per device */
	struct ibv_mr *mrs[PORT_RDMA_LEGS_MAX][PORT_RDMA_REGIONS_MAX];
};

struct port_rdma_pair {
	struct port_rdma_pair *next; /* next pair in the list port_rdma.dying */
	struct port_rdma *r;
	struct ibv_qp *qp;
	unsigned device, port;
	uint32_t gid_index; /* index of this side's GID, after port_rdma_join() */
	uint8_t link;	    /* link type, as in struct port_rdma_half */
	uint32_t psn, key; /* psn: first packet sequence number of this side; key: key of the peer's
			      memory */
	unsigned n_ops;
	uint64_t bytes;	   /* bytes in flight */
	uint64_t moved_ns; /* approximate time when an op last ended or, if none has ended since,
			      when the first op in flight began */
	bool joined, failed;
	uint64_t dropped_ns;
};

struct port_rdma_peer {
	struct port_rdma_pool *pool;
	struct port_rdma_peer *next;
	struct port_rdma_pair *pairs[PORT_RDMA_LEGS_MAX];
	unsigned last; /* the leg that port_rdma_choose() returned last */
};

/* port_rdma_bell.c: tells the kernel that a soft-RoCE queue pair has work. Returns 0 or a negative
 * errno. */
int rdma_doorbell_ring(const struct ibv_qp *qp);
/* Parses the GID of the InfiniBand port below an IPoIB interface. `address` is the interface's
 * hardware address as sysfs shows it; its last 16 bytes are the GID. */
bool rdma_ipoib_parse(const char *address, uint8_t ret_gid[16]);
/* Looks up the leg's GID in its device's table. Returns 0 or -ENOENT. */
int rdma_gid_get(const struct port_rdma *r, unsigned port, struct ibv_gid_entry *ret);
/* Finds the leg's GID in the device's table; for RoCE, the GID of RoCE v2. Returns PORT_RDMA_OK
 * with *ret set, or the reason why the leg cannot use the device. */
enum port_rdma_reason rdma_gid_find(struct ibv_context *context, const struct rdma_leg *leg,
				    struct ibv_gid_entry *ret);
/* Ends the ops of a pair. Call it when the device no longer works on them. */
void rdma_pair_end_ops(struct port_rdma_pair *pair);
/* Destroys all pairs on the device, including dropped ones; their ops end. */
void rdma_pairs_of_device(struct port_rdma *r, unsigned device);
/* Drops the device's pairs whose GID moved in its table or disappeared. */
void rdma_pairs_check_gids(struct port_rdma *r, unsigned device);
/* Destroys dropped pairs whose ops have ended. */
void rdma_pairs_reap(struct port_rdma *r, uint64_t now_ns);

#endif
