/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake RDMA device in place of libibverbs. Posted work waits until the test executes it, fails it
 * or drops it, so that data can arrive as late as in a network. A request that is invalid in the
 * state of the queue pair is refused, as by a real device.
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

/* One device for all legs. Its first GID is that address. */
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
	bool roce_v1, roce_only_v1; /* the table has the GID for that version too, or only for it */
	bool ib;		    /* it is an InfiniBand device */
	bool iwarp;		    /* it is an iWARP device, on the link with number 7 */
	bool dmabuf;		    /* it supports memory of GPUs */
	int dmabuf_fd;		    /* the last descriptor that was registered */
	struct ibv_ah_attr ah;	    /* the last one that was used */
	uint16_t pkey_index;	    /* the last one that was used */
	bool limited;		    /* the port is a limited member of its partition */
	bool no_pkeys;		    /* the partition table cannot be read */
	uint8_t gid[16];
	unsigned gid_moved; /* the GID has this index now */
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
	bool flushes;		       /* a queue pair in error flushes its requests by itself */
	enum ibv_event_type events[8]; /* device events that have not been read */
	unsigned n_events;
};

extern struct verbs_fake verbs;

/* Completes the requests in flight of a queue pair, or of all if qp is 0. */
void verbs_end(unsigned qp, enum ibv_wc_status status);

/* Delivers data to a queue pair. False: the device drops them. They must go to memory that is
 * registered for remote access; a real device would put the pair into error otherwise. */
bool verbs_arrives(unsigned qp, uint64_t at, const void *data, size_t len);

/* ---- what the test makes the device do ---- */

void verbs_reset(void);

/* Removes the device: its file is unlinked. */
void verbs_remove(void);

/* The device reports an event. */
void verbs_tell(enum ibv_event_type type);

/* Adds the device, for the first time or again. */
void verbs_come(void);
void verbs_done(void);

#endif
