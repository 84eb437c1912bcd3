/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA for bulk data beside the packet ports: the RDMA devices of a worker's legs, memory
 * registered with them, and one reliable queue pair per leg of a session. Knows nothing of sessions
 * or requests: the caller exchanges the parameters of port_rdma_pair() and port_rdma_join() in its
 * own requests, so neither a connection manager nor a separate port is needed. One thread. Posting
 * and polling make no system call on devices with mapped queues, take no lock and allocate nothing;
 * system calls create and drop pairs.
 *
 * One end of a pair is active: it writes into the other's memory, reads from it, and gets the
 * completions. The passive end does nothing and gets no notification. To let it reuse its memory
 * safely:
 * - A write counts as done when a byte read back over the same pair after the data has arrived: by
 *   then the data is in the other end's memory, whatever route the answer takes.
 * - port_rdma_drop() returns when the device no longer acts for the pair: the device discards what
 *   is still in flight. Before the passive end uses memory offered over a pair in any other way, it
 *   drops the pair if the active end reported a failure, and all pairs of a session that has ended.
 *   That is the quarantine.
 * - Memory that the active end sends from is its own again when port_rdma_poll() says so, also
 *   after a failure: the device flushes a failed pair first.
 *
 * A pair uses the GID of the leg's own address for RoCE v2; v1 is unsupported. A leg on IPoIB uses
 * the GID of its port, the LIDs of both ends and the partition of its interface. iWARP is
 * unsupported: its connections are TCP's, which need rdma_cm. The GID is looked up for each new
 * pair because its index changes; when a device reports changed GIDs, pairs whose GID moved or
 * disappeared are dropped.
 *
 * Removal of a device waits for its users: port_rdma_tick() notices it and releases the device. A
 * device that is added or comes back is opened by port_rdma_find(), once the process with access to
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
struct port_rdma_pool; /* memory; pairs of another pool cannot reach it */
struct port_rdma_peer; /* the pairs with one peer, one per leg */

/* Why RDMA is unavailable. */
enum port_rdma_reason {
	PORT_RDMA_OK,
	PORT_RDMA_OFF,	     /* disabled for the leg */
	PORT_RDMA_NO_DEVICE, /* no RDMA device has the leg's address */
	PORT_RDMA_PORT_DOWN,
	PORT_RDMA_NO_GID,    /* the device has no GID of the address, or none for RoCE v2 */
	PORT_RDMA_MEMLOCK,   /* memory cannot be registered; retried */
	PORT_RDMA_GONE,	     /* the device was removed */
	PORT_RDMA_KIND,	     /* the peer's link type is different: InfiniBand or Ethernet */
	PORT_RDMA_PEER,	     /* the peer has no RDMA, or does not support it */
	PORT_RDMA_ENCRYPTED, /* the session is encrypted, and bulk data would be in clear */
	PORT_RDMA_IWARP,     /* the leg's device is iWARP */
	PORT_RDMA_FAILED,    /* the pair could not be created, or failed */
	PORT_RDMA_OLD,	     /* the device's driver is older than the supported minimum */
	PORT_RDMA_MTU,	     /* the MTU is too small for RDMA to be worthwhile */
	PORT_RDMA_MIXED,     /* one server or leg uses InfiniBand, another Ethernet */
	PORT_RDMA_REASON_MAX
};
/* The reason code, as in plenumd(8). */
const char *port_rdma_reason_code(enum port_rdma_reason r);

/* The link type of a pair, as on the wire: the same on both ends. */
enum port_rdma_link {
	PORT_RDMA_LINK_IB = 1,
	PORT_RDMA_LINK_ROCE_V2 = 2,
	/* 3 was RoCE v1, which earlier versions used: a peer that offers it is refused. */
};

/* One end's parameters of a pair. */
struct port_rdma_half {
	uint8_t link; /* enum port_rdma_link */
	uint8_t mtu;  /* 1: 256 bytes, each next value doubles it */
	uint16_t lid;
	uint32_t qpn, psn;
	uint32_t key; /* of the pool's first region */
	uint8_t gid[16];
};

/* One transfer. The caller keeps it until `done`, which port_rdma_poll() or port_rdma_drop_*() of
 * any pair may call. */
struct port_rdma_op {
	void (*done)(struct port_rdma_op *op, int status); /* 0; negative errno: the pair failed */
	struct port_rdma_pair *pair;
	uint32_t bytes;
	uint16_t slot;
	uint8_t port; /* the port it uses */
};

/* Opens the RDMA device of each leg. Call it while the worker still has file access: devices opened
 * now need no files later, and all drivers of the library are loaded for later ones. 0 and *ret,
 * NULL if no leg uses RDMA; -ENOMEM. */
int port_rdma_open(const struct launch_config *cfg, struct port_rdma **ret);
/* Opens the named device for those legs without a device whose address it has, and registers the
 * pools' memory with it. The number of legs; -ENOENT: none. */
int port_rdma_find(struct port_rdma *r, const char *name);
/* Records why the leg of that port, which has no device, must not use an existing one. */
void port_rdma_refuse(struct port_rdma *r, unsigned port, enum port_rdma_reason why);
/* Adds a leg that came later: its port is the next one. It has no device yet. */
void port_rdma_leg_add(struct port_rdma *r, const struct launch_port *port);
/* Whether any leg has a device now; if not, only reasons remain to report. */
bool port_rdma_any(const struct port_rdma *r);
/* Drops all pairs from their devices: every op ends before this returns. */
void port_rdma_stop(struct port_rdma *r);
/* Pools and peers must be freed before. */
struct port_rdma *port_rdma_free(struct port_rdma *r);
enum port_rdma_reason port_rdma_reason(const struct port_rdma *r, unsigned port);
/* A counter that changes whenever a device was added, or its addresses or link changed. */
uint32_t port_rdma_changes(const struct port_rdma *r);
/* Whether GPU memory can be registered with the leg's device (GPUDirect): as dma-buf by any GPU
 * driver, or via nvidia-peermem; or why not. */
enum port_rdma_gpu {
	PORT_RDMA_GPU_NO_DEVICE,
	PORT_RDMA_GPU_UNSUPPORTED, /* the driver, or this kernel, does not support dma-buf */
	PORT_RDMA_GPU_PEERMEM,
	PORT_RDMA_GPU_DMABUF,
	PORT_RDMA_GPU_MAX
};
enum port_rdma_gpu port_rdma_gpu(const struct port_rdma *r, unsigned port);
/* The code, as in plenumd(8). */
const char *port_rdma_gpu_code(enum port_rdma_gpu g);
/* The number of working pairs on that port. */
unsigned port_rdma_pairs(const struct port_rdma *r, unsigned port);
/* Processes device events and releases devices that are being removed, whose ops end: call every
 * PORT_RDMA_LOOK_NS, or at once after port_rdma_look(). Returns the time of the next call. */
uint64_t port_rdma_tick(struct port_rdma *r, uint64_t now_ns);
/* Completes finished ops. Returns how many. */
unsigned port_rdma_poll(struct port_rdma *r);
/* Descriptors to poll for reading while sleeping, up to max; returns the number. */
unsigned port_rdma_fds(const struct port_rdma *r, int *ret_fds, unsigned max);
/* As port_rdma_fds, for device events: when one is readable, call port_rdma_look() before the next
 * tick, which reads it. */
unsigned port_rdma_event_fds(const struct port_rdma *r, int *ret_fds, unsigned max);
void port_rdma_look(struct port_rdma *r);
/* Call before sleeping. False: completions are waiting. */
bool port_rdma_arm(struct port_rdma *r);

/* A region of memory. GPU memory is a dma-buf: `base` is then only its name, and nothing is mapped
 * there. */
struct port_rdma_region {
	void *base;
	size_t bytes;
	bool is_dmabuf;
	int dmabuf_fd;
	uint64_t dmabuf_at; /* offset of the region in it */
};
/* Registers memory, which must stay mapped unchanged: 0; negative errno. remote: peers may write
 * and read the first region. A device that cannot register it is skipped, with a reason; if memory
 * is short, port_rdma_tick() retries, and the pool exists although no device has it yet. */
int port_rdma_pool_new(struct port_rdma *r, const struct port_rdma_region *regions, unsigned n,
		       bool remote, struct port_rdma_pool **ret);
struct port_rdma_pool *port_rdma_pool_free(struct port_rdma_pool *pool);

int port_rdma_peer_new(struct port_rdma_pool *pool, struct port_rdma_peer **ret);
/* Drops all pairs. Ops must have ended. */
struct port_rdma_peer *port_rdma_peer_free(struct port_rdma_peer *peer);
/* Creates our half of a pair for that leg number on the device of `port`, dropping an existing one.
 * PORT_RDMA_OK, or the reason against it. */
enum port_rdma_reason port_rdma_pair(struct port_rdma_peer *peer, unsigned leg, unsigned port,
				     struct port_rdma_half *ret);
/* Completes the pair with the peer's half. */
enum port_rdma_reason port_rdma_join(struct port_rdma_peer *peer, unsigned leg,
				     const struct port_rdma_half *theirs, bool active);
/* Nothing arrives over the pair after this returns; its remaining ops end later. */
void port_rdma_drop(struct port_rdma_peer *peer, unsigned leg);
void port_rdma_drop_all(struct port_rdma_peer *peer);
/* As port_rdma_drop, for the pairs on `port`. */
void port_rdma_drop_port(struct port_rdma_peer *peer, unsigned port);
/* One bit per leg: set if the leg's pair works. */
uint8_t port_rdma_ready(const struct port_rdma_peer *peer);
/* The leg whose working pair uses that port; -1: none. */
int port_rdma_leg(const struct port_rdma_peer *peer, unsigned port);
/* Whether the leg's pair works and our half has that number. */
bool port_rdma_has(const struct port_rdma_peer *peer, unsigned leg, uint32_t qpn);
/* The least loaded working pair among the legs in mask; -1: none, or all are full. */
int port_rdma_choose(struct port_rdma_peer *peer, uint8_t mask);

/* Transfers pool memory to or from `at` in the peer's first region. 0: op->done will be called
 * later; negative errno: it will not. */
int port_rdma_write(struct port_rdma_peer *peer, unsigned leg, const void *from, uint32_t bytes,
		    uint64_t at, struct port_rdma_op *op);
int port_rdma_read(struct port_rdma_peer *peer, unsigned leg, void *to, uint32_t bytes, uint64_t at,
		   struct port_rdma_op *op);

#endif
