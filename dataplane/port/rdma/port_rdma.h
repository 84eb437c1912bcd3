/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA for bulk data, in addition to the packet ports: the RDMA devices of a worker's legs, memory
 * registered with them, and one reliable queue pair per leg of a session. It knows nothing of
 * sessions or requests: the caller exchanges the parameters of port_rdma_pair() and
 * port_rdma_join() in its own requests, so neither a connection manager nor a separate port is
 * needed. One thread uses it. Posting and polling make no system call on devices with mapped
 * queues, take no lock and allocate nothing; system calls create and drop pairs.
 *
 * One end of a pair is active: it writes into the other's memory, reads from it, and gets the
 * completions. The passive end does nothing and gets no notification. These rules let it reuse its
 * memory safely:
 * - A write counts as done when a byte that is read back over the same pair after the data has
 *   arrived: the data is then in the other end's memory, whatever route the answer takes.
 * - port_rdma_drop() returns when the device no longer acts for the pair: the device discards
 *   everything that is still in flight. Before the passive end uses memory offered over a pair in
 *   any other way, it drops the pair if the active end reported a failure, and all pairs of a
 *   session that has ended.
 * - The active end may reuse memory from which it sends when port_rdma_poll() says so, also after a
 *   failure: the device flushes a failed pair first.
 *
 * A pair uses the GID of the leg's own address for RoCE v2; v1 is unsupported. A leg on IPoIB
 * uses the GID of its port, the LIDs of both ends and the partition of its interface. iWARP is
 * unsupported: it runs over TCP connections, which need rdma_cm. The GID is looked up for each new
 * pair because its index changes; when a device reports changed GIDs, pairs whose GID moved or
 * disappeared are dropped.
 *
 * Removal of a device waits for its users: port_rdma_tick() notices it and releases the device. A
 * device that is added or returns is opened by port_rdma_find(), after the process with access to
 * the host's files has put its device file where the library looks.
 */
#ifndef PLENUM_DATAPLANE_PORT_RDMA_H
#define PLENUM_DATAPLANE_PORT_RDMA_H

#include "dataplane/launch.h"

#define PORT_RDMA_LEGS_MAX PLENUM_LEGS_MAX
#define PORT_RDMA_REGIONS_MAX 2
#define PORT_RDMA_BYTES_MAX (1U << 20) /* of a transfer */
/* Interval of checks whether a device still exists. */
#define PORT_RDMA_LOOK_NS (500 * NSEC_PER_MSEC)

struct port_rdma;      /* the devices of a worker's legs */
struct port_rdma_pool; /* registered memory; pairs of another pool cannot access it */
struct port_rdma_peer; /* the pairs with one peer, one per leg */

/* Why RDMA is unavailable. */
enum port_rdma_reason {
	PORT_RDMA_OK,
	PORT_RDMA_OFF,	     /* disabled for the leg */
	PORT_RDMA_NO_DEVICE, /* no RDMA device has the leg's address */
	PORT_RDMA_PORT_DOWN,
	PORT_RDMA_NO_GID,    /* the device has no GID of the address, or none for RoCE v2 */
	PORT_RDMA_MEMLOCK,   /* memory cannot be registered; port_rdma_tick() retries it */
	PORT_RDMA_GONE,	     /* the device was removed */
	PORT_RDMA_KIND,	     /* the peer's link type is different: InfiniBand or Ethernet */
	PORT_RDMA_PEER,	     /* the peer has no RDMA, or no RDMA that this end supports */
	PORT_RDMA_ENCRYPTED, /* the session is encrypted, but RDMA would send bulk data in clear */
	PORT_RDMA_IWARP,     /* the leg's device is iWARP */
	PORT_RDMA_FAILED,    /* the pair could not be created, or failed */
	PORT_RDMA_OLD,	     /* the device's driver is older than the supported minimum */
	PORT_RDMA_MTU,	     /* the MTU is too small for RDMA to be worthwhile */
	PORT_RDMA_MIXED,     /* a server or leg uses InfiniBand while another one uses Ethernet */
	PORT_RDMA_REASON_MAX
};
/* The reason's code, as in plenumd(8). */
const char *port_rdma_reason_code(enum port_rdma_reason r);

/* The link type of a pair, as it is sent: it must be the same at both ends. */
enum port_rdma_link {
	PORT_RDMA_LINK_IB = 1,
	PORT_RDMA_LINK_ROCE_V2 = 2,
	/* 3 was RoCE v1 in earlier versions; a peer that offers it is refused. */
};

/* The parameters of one end of a pair. */
struct port_rdma_half {
	uint8_t link; /* enum port_rdma_link */
	uint8_t mtu;  /* 1: 256 bytes; each next value stands for twice as many */
	uint16_t lid;
	uint32_t qpn, psn;
	uint32_t key; /* key of the pool's first region */
	uint8_t gid[16];
};

/* One transfer. The caller must keep it until `done` is called, from port_rdma_poll() or from
 * port_rdma_drop_*() of any pair. */
struct port_rdma_op {
	void (*done)(struct port_rdma_op *op, int status); /* 0; negative errno: the pair failed */
	struct port_rdma_pair *pair;
	uint32_t bytes;
	uint16_t slot;
	uint8_t port; /* port of the pair that carries it */
};

/* Opens the RDMA device of each leg. Call it while the worker still has file access: devices opened
 * now need no files later, and all drivers of the library are loaded for devices that are added
 * later. Returns 0 with *ret set, to NULL if no leg uses RDMA; or -ENOMEM. */
int port_rdma_open(const struct launch_config *cfg, struct port_rdma **ret);
/* Opens the named device for legs that have no device yet and whose address it has, and registers
 * the pools' memory with it. Returns the number of such legs, or -ENOENT if there are none. */
int port_rdma_find(struct port_rdma *r, const char *name);
/* Records why the leg of that port, which has no device, must not use a device that exists. */
void port_rdma_refuse(struct port_rdma *r, unsigned port, enum port_rdma_reason why);
/* Adds a leg that appeared later; its port is the next one. It has no device yet. */
void port_rdma_leg_add(struct port_rdma *r, const struct launch_port *port);
/* Whether any leg has a device now. If not, only the reasons remain to be reported. */
bool port_rdma_any(const struct port_rdma *r);
/* Drops all pairs from their devices; every op has ended when this returns. */
void port_rdma_stop(struct port_rdma *r);
/* Frees *r; pools and peers must be freed before. */
struct port_rdma *port_rdma_free(struct port_rdma *r);
enum port_rdma_reason port_rdma_reason(const struct port_rdma *r, unsigned port);
/* A counter that changes when a device is added, or its addresses or link change. */
uint32_t port_rdma_changes(const struct port_rdma *r);
/* Whether GPU memory can be registered with the leg's device (GPUDirect), as dma-buf by any GPU
 * driver or via nvidia-peermem; if not, why. */
enum port_rdma_gpu {
	PORT_RDMA_GPU_NO_DEVICE,
	PORT_RDMA_GPU_UNSUPPORTED, /* the driver, or this kernel, does not support dma-buf */
	PORT_RDMA_GPU_PEERMEM,
	PORT_RDMA_GPU_DMABUF,
	PORT_RDMA_GPU_MAX
};
enum port_rdma_gpu port_rdma_gpu(const struct port_rdma *r, unsigned port);
/* The code of the value, as in plenumd(8). */
const char *port_rdma_gpu_code(enum port_rdma_gpu g);
/* The number of working pairs on that port. */
unsigned port_rdma_pairs(const struct port_rdma *r, unsigned port);
/* Processes device events and releases devices that are being removed, whose ops then end. Call it
 * every PORT_RDMA_LOOK_NS, or at once after port_rdma_look(). Returns the time of the next call. */
uint64_t port_rdma_tick(struct port_rdma *r, uint64_t now_ns);
/* Completes finished ops and returns their number. */
unsigned port_rdma_poll(struct port_rdma *r);
/* Writes up to max descriptors that are readable when ops may have finished, to poll while
 * sleeping. Returns their number. */
unsigned port_rdma_fds(const struct port_rdma *r, int *ret_fds, unsigned max);
/* Like port_rdma_fds, for device events. If one is readable, call port_rdma_look() before the next
 * tick, which reads the event. */
unsigned port_rdma_event_fds(const struct port_rdma *r, int *ret_fds, unsigned max);
void port_rdma_look(struct port_rdma *r);
/* Call before sleeping. Returns false if completions are waiting. */
bool port_rdma_arm(struct port_rdma *r);

/* A region of memory. GPU memory is given as a dma-buf; `base` is then only an identifier, and
 * nothing is mapped there. */
struct port_rdma_region {
	void *base;
	size_t bytes;
	bool is_dmabuf;
	int dmabuf_fd;
	uint64_t dmabuf_at; /* offset of the region in the dma-buf */
};
/* Registers memory, which must stay mapped unchanged. Returns 0 or a negative errno. remote: peers
 * may write and read the first region. A device that cannot register the memory is skipped, with a
 * reason. If memory is short, port_rdma_tick() retries, and the pool exists although no device has
 * registered it yet. */
int port_rdma_pool_new(struct port_rdma *r, const struct port_rdma_region *regions, unsigned n,
		       bool remote, struct port_rdma_pool **ret);
struct port_rdma_pool *port_rdma_pool_free(struct port_rdma_pool *pool);

int port_rdma_peer_new(struct port_rdma_pool *pool, struct port_rdma_peer **ret);
/* Drops all pairs and frees the peer. Its ops must have ended. */
struct port_rdma_peer *port_rdma_peer_free(struct port_rdma_peer *peer);
/* Creates our half of a pair for that leg number on the device of `port`; an existing pair is
 * dropped before. Returns PORT_RDMA_OK, or why it is not possible. */
enum port_rdma_reason port_rdma_pair(struct port_rdma_peer *peer, unsigned leg, unsigned port,
				     struct port_rdma_half *ret);
/* Completes the pair with the peer's half. */
enum port_rdma_reason port_rdma_join(struct port_rdma_peer *peer, unsigned leg,
				     const struct port_rdma_half *theirs, bool active);
/* Drops the pair: nothing arrives over it after this returns; its remaining ops end later. */
void port_rdma_drop(struct port_rdma_peer *peer, unsigned leg);
void port_rdma_drop_all(struct port_rdma_peer *peer);
/* Like port_rdma_drop, for the pairs on `port`. */
void port_rdma_drop_port(struct port_rdma_peer *peer, unsigned port);
/* A bit per leg, set if the leg's pair works. */
uint8_t port_rdma_ready(const struct port_rdma_peer *peer);
/* The leg whose working pair uses that port; -1 if there is none. */
int port_rdma_leg(const struct port_rdma_peer *peer, unsigned port);
/* Whether the leg's pair works and our half has that queue pair number. */
bool port_rdma_has(const struct port_rdma_peer *peer, unsigned leg, uint32_t qpn);
/* The least loaded working pair among the legs in mask; -1 if there is none or all are full. */
int port_rdma_choose(struct port_rdma_peer *peer, uint8_t mask);

/* Transfers memory of the pool to or from `at` in the peer's first region. Returns 0, and op->done
 * is called later; or a negative errno, and op->done is not called. */
int port_rdma_write(struct port_rdma_peer *peer, unsigned leg, const void *from, uint32_t bytes,
		    uint64_t at, struct port_rdma_op *op);
int port_rdma_read(struct port_rdma_peer *peer, unsigned leg, void *to, uint32_t bytes, uint64_t at,
		   struct port_rdma_op *op);

#endif
