/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fake RDMA device in place of libibverbs: posted work waits until the test executes it, fails it
 * or drops it, so that data can be as late as on a network. Requests invalid in the queue pair's
 * state are refused, as by a real device.
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

/* One device for all legs; its first GID is that address. */
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
	bool roce_v1,
		roce_only_v1;  /* the table also has the GID for that version, or only for it */
	bool ib;	       /* InfiniBand device */
	bool iwarp;	       /* iWARP device, with link number 7 */
	bool dmabuf;	       /* supports GPU memory */
	int dmabuf_fd;	       /* the last one registered */
	struct ibv_ah_attr ah; /* the last one used */
	uint16_t pkey_index;   /* the last one used */
	bool limited;	       /* the port is a limited member of its partition */
	bool no_pkeys;	       /* the partition table cannot be read */
	uint8_t gid[16];
	unsigned gid_moved; /* the GID's new index */
	struct verbs_qp {
		struct ibv_qp qp;
		enum ibv_qp_state state;
		bool alive;
	} qps[VERBS_QPS_MAX]; /* numbers begin at 1 and are never reused */
	unsigned n_qps;
	struct verbs_wr { /* in flight */
		struct ibv_send_wr wr;
		struct ibv_sge sge;
		unsigned qp;
	} wrs[VERBS_WRS_MAX];
	unsigned n_wrs;
	struct ibv_wc wcs[VERBS_WCS_MAX];
	unsigned n_wcs;
	bool flushes;		       /* a pair in error flushes its requests by itself */
	enum ibv_event_type events[8]; /* pending device events */
	unsigned n_events;
};

extern struct verbs_fake verbs;

/* Completes the requests in flight of a pair, or of all (0). */
void verbs_end(unsigned qp, enum ibv_wc_status status);

/* Data arriving for a pair: false if the device drops it. It must be in memory registered for
 * remote access, or the device would break the pair. */
bool verbs_arrives(unsigned qp, uint64_t at, const void *data, size_t len);

/* ---- what the device can do ---- */

void verbs_reset(void);

/* Removes the device: its file is unlinked. */
void verbs_remove(void);

/* The device raises an event. */
void verbs_tell(enum ibv_event_type type);

/* Adds the device, for the first time or again. */
void verbs_come(void);
void verbs_done(void);

#endif
