/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake RDMA device instead of libibverbs. A posted request waits until the test executes it,
 * fails it or drops it, so that data can arrive as late as in a network. Like a real device, the
 * fake refuses requests that are invalid in the state of the queue pair.
 */
#ifndef PLENUM_TESTS_VERBS_FAKE_H
#define PLENUM_TESTS_VERBS_FAKE_H

#include <infiniband/verbs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

#define VERBS_QPS_MAX 64
#define VERBS_WRS_MAX 1024
#define VERBS_WCS_MAX 1024

/* One device for all legs. `gid` is its first GID. */
struct verbs_fake {
	struct ibv_device device;
	struct ibv_context context;
	struct ibv_comp_channel channel;
	struct ibv_cq cq;
	struct ibv_pd pd;
	struct ibv_mr mrs[8];
	unsigned n_mrs;
	enum ibv_port_state state;
	enum ibv_mtu mtu;
	bool no_gid, no_memory, has_device;
	bool roce_v1, roce_only_v1; /* the GID table has the GID for RoCE v1 too, or only for v1 */
	bool ib;		    /* the device is an InfiniBand device */
	bool iwarp;		    /* the device is an iWARP device, on the link with ifindex 7 */
	bool dmabuf;		    /* the device supports memory of GPUs */
	int dmabuf_fd;		    /* the last dma-buf descriptor that was registered */
	struct ibv_ah_attr ah;	    /* the address that a queue pair was last connected to */
	uint16_t pkey_index;	    /* the partition key that a queue pair was last given */
	bool limited;		    /* the port is only a limited member of its partition */
	bool no_pkeys;		    /* the partition table cannot be read */
	uint8_t gid[16];
	unsigned gid_moved; /* index of the GID in the table */
	struct verbs_qp {
		struct ibv_qp qp;
		enum ibv_qp_state state;
		bool alive;
	} qps[VERBS_QPS_MAX]; /* numbers begin at 1 and are never reused */
	unsigned n_qps;
	struct verbs_wr { /* a request in flight */
		struct ibv_send_wr wr;
		struct ibv_sge sge;
		unsigned qp;
	} wrs[VERBS_WRS_MAX];
	unsigned n_wrs;
	struct ibv_wc wcs[VERBS_WCS_MAX];
	unsigned n_wcs;
	bool flushes; /* a queue pair in the error state flushes its requests without the test */
	enum ibv_event_type events[8]; /* device events that have not been read */
	unsigned n_events;
};

extern struct verbs_fake verbs;

/* Completes the requests in flight of a queue pair, or of all pairs if qp is 0, with the given
 * status. */
void verbs_end(unsigned qp, enum ibv_wc_status status);

/* Delivers data to a queue pair. Returns false if the device drops them. `at` must be in memory
 * that is registered for remote access: otherwise a real device would put the pair into the error
 * state. */
bool verbs_arrives(unsigned qp, uint64_t at, const void *data, size_t len);

/* ---- changes of the device by the test ---- */

void verbs_reset(void);

/* Removes the device, as if its driver had been unloaded. */
void verbs_remove(void);

/* Makes the device report an event. */
void verbs_tell(enum ibv_event_type type);

/* Adds the device, or adds it again. */
void verbs_come(void);
void verbs_done(void);

#endif
