/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA for bulk data, beside the ports that carry packets: the devices of a worker's legs, memory
 * that is registered with them, and a reliable queue pair for each leg of a session. Knows nothing
 * of sessions or requests: whoever has them tells the other end by a request of its own what
 * port_rdma_pair() and port_rdma_join() need, so there is no connection manager and no port of its
 * own. One thread. Posting and polling make no system call on devices whose queues are mapped,
 * take no lock and allocate nothing; pairs are made and dropped by system calls.
 *
 * One end of a pair is active: it writes into the other's memory and reads from it, and learns
 * whether that succeeded. The passive end does nothing and is told nothing. So that it can give its
 * memory to others:
 *  - a write counts as done when a byte that was read back over the same pair has come, behind the
 *    data: by then they are in the other end's memory, whatever way the answer takes;
 *  - port_rdma_drop() returns when the device has ceased to act for the pair: what of it is still
 *    on its way is thrown away by the device. The passive end drops a pair of which the active one
 *    has said that it failed, and all pairs of a session that has ended, before it uses memory that
 *    was offered over them in any other way. That is the quarantine;
 *  - memory that the active end sends from is its own again when port_rdma_poll() says so, after a
 *    failure, too: a pair that failed is emptied by its device first.
 *
 * The GID of a pair is that of the leg's own address, of the RoCE that is wanted: else v2, or v1
 * where the device has no other. A leg on IPoIB has the GID of its port, the LIDs of both ends and
 * the partition of its interface. iWARP has no addresses of its own: its connections are TCP's,
 * which rdma_cm makes, and which are not had here.
 * It is looked for each time that a pair is made, since its index moves; and when a device says
 * that its GIDs have changed, pairs whose GID is elsewhere, or gone, are dropped.
 *
 * A device that is being removed waits for its users: port_rdma_tick() notices and lets go of it.
 * One that comes later, or comes back, is had by port_rdma_find() once whoever has the host's files
 * has put its file where the library looks for it.
 */
#ifndef PLENUM_DATAPLANE_PORT_RDMA_H
#define PLENUM_DATAPLANE_PORT_RDMA_H

#include "dataplane/launch.h"

#define PORT_RDMA_LEGS_MAX PLENUM_LEGS_MAX
#define PORT_RDMA_REGIONS_MAX 2
#define PORT_RDMA_BYTES_MAX (1U << 20) /* of a transfer */
/* Between two looks whether a device is still there. */
#define PORT_RDMA_LOOK_NS (500 * NSEC_PER_MSEC)

struct port_rdma;      /* the devices of a worker's legs */
struct port_rdma_pool; /* memory; what is in one pool cannot be reached by pairs of another */
struct port_rdma_peer; /* the pairs with one other end, a leg each */

/* Why there is no RDMA. */
enum port_rdma_reason {
	PORT_RDMA_OK,
	PORT_RDMA_OFF,	     /* the leg is not to use it */
	PORT_RDMA_NO_DEVICE, /* no RDMA device has the leg's address */
	PORT_RDMA_PORT_DOWN,
	PORT_RDMA_NO_GID,    /* its address is no GID, or none of the RoCE that is wanted */
	PORT_RDMA_MEMLOCK,   /* memory cannot be registered; it is tried again */
	PORT_RDMA_GONE,	     /* the device was removed */
	PORT_RDMA_KIND,	     /* the other end's is InfiniBand, or another RoCE than this one's */
	PORT_RDMA_PEER,	     /* the other end does not know RDMA, or has none */
	PORT_RDMA_ENCRYPTED, /* bulk data would go in clear */
	PORT_RDMA_IWARP,     /* the leg's device is of that kind */
	PORT_RDMA_FAILED,    /* the pair could not be made, or has failed */
	PORT_RDMA_OLD,	     /* the device's driver is older than this file system takes */
	PORT_RDMA_MTU,	     /* its packets would be smaller than is worth it */
	PORT_RDMA_MIXED,     /* InfiniBand with one server or by one leg, Ethernet with another */
	PORT_RDMA_REASON_MAX
};
/* A word, as in plenumd(8). */
const char *port_rdma_reason_code(enum port_rdma_reason r);

/* What carries a pair, as on the wire: both ends have the same. */
enum port_rdma_link {
	PORT_RDMA_LINK_IB = 1,
	PORT_RDMA_LINK_ROCE_V2 = 2,
	PORT_RDMA_LINK_ROCE_V1 = 3,
};

/* What an end says of its half of a pair. */
struct port_rdma_half {
	uint8_t link; /* enum port_rdma_link */
	uint8_t mtu;  /* 1: 256 bytes, each next one twice the last */
	uint16_t lid;
	uint32_t qpn, psn;
	uint32_t key; /* of the pool's first region */
	uint8_t gid[16];
};

/* One transfer. Its owner keeps it until `done`, which port_rdma_poll() or port_rdma_drop_*() of
 * any pair may call. */
struct port_rdma_op {
	void (*done)(struct port_rdma_op *op, int status); /* 0; negative errno: the pair failed */
	struct port_rdma_pair *pair;
	uint32_t bytes;
	uint16_t slot;
	uint8_t port; /* that it goes by */
};

/* Finds the device of each leg. To be called while the worker still has files: what there is needs
 * no more of them, and for what comes all drivers of the library are loaded. 0 and *ret, NULL where
 * no leg is to use RDMA; -ENOMEM. */
int port_rdma_open(const struct launch_config *cfg, struct port_rdma **ret);
/* Opens the device of that name, in the place of none, for the legs whose address it has, and
 * registers what is in pools with it. The number of legs; -ENOENT: of none. */
int port_rdma_find(struct port_rdma *r, const char *name);
/* There is a device for the leg of that port, which has none, and it may not have it. */
void port_rdma_refuse(struct port_rdma *r, unsigned port, enum port_rdma_reason why);
/* A leg that came later: its port is the next one. It has no device yet. */
void port_rdma_leg_add(struct port_rdma *r, const struct launch_port *port);
/* Whether any leg has a device now: else there is nothing to do but to say why. */
bool port_rdma_any(const struct port_rdma *r);
/* Takes all pairs from their devices: every op ends before this returns. */
void port_rdma_stop(struct port_rdma *r);
/* Pools and peers must have gone. */
struct port_rdma *port_rdma_free(struct port_rdma *r);
enum port_rdma_reason port_rdma_reason(const struct port_rdma *r, unsigned port);
/* Another number whenever a device came, or says that its addresses or its link have changed. */
uint32_t port_rdma_changes(const struct port_rdma *r);
/* Whether memory of GPUs can be registered with the leg's device (GPUDirect): as dma-buf, by any
 * driver of a GPU, or as nvidia-peermem has it; or why it cannot. */
enum port_rdma_gpu {
	PORT_RDMA_GPU_NO_DEVICE,
	PORT_RDMA_GPU_UNSUPPORTED, /* the driver, or this kernel, takes no dma-buf */
	PORT_RDMA_GPU_PEERMEM,
	PORT_RDMA_GPU_DMABUF,
	PORT_RDMA_GPU_MAX
};
enum port_rdma_gpu port_rdma_gpu(const struct port_rdma *r, unsigned port);
/* A word, as in plenumd(8). */
const char *port_rdma_gpu_code(enum port_rdma_gpu g);
/* How many pairs work that go by it. */
unsigned port_rdma_pairs(const struct port_rdma *r, unsigned port);
/* Looks whether devices have anything to say, lets go of those that are being removed, whose ops
 * end: every PORT_RDMA_LOOK_NS, or at once after port_rdma_look(). When it wants to be called
 * again. */
uint64_t port_rdma_tick(struct port_rdma *r, uint64_t now_ns);
/* Ends ops that are done. How many. */
unsigned port_rdma_poll(struct port_rdma *r);
/* To be polled for reading by who sleeps, up to max; the number. */
unsigned port_rdma_fds(const struct port_rdma *r, int *ret_fds, unsigned max);
/* The same, for what devices tell of themselves: port_rdma_look() when one is readable, before the
 * next tick, which reads it. */
unsigned port_rdma_event_fds(const struct port_rdma *r, int *ret_fds, unsigned max);
void port_rdma_look(struct port_rdma *r);
/* Before sleeping. False: there is something to poll for already. */
bool port_rdma_arm(struct port_rdma *r);

/* Memory of a GPU is a dma-buf: `base` is what it is called then, and nothing is mapped there. */
struct port_rdma_region {
	void *base;
	size_t bytes;
	bool is_dmabuf;
	int dmabuf_fd;
	uint64_t dmabuf_at; /* where in it the region begins */
};
/* Registers memory, which must stay mapped as it is: 0; negative errno. remote: others may write
 * and read the first region. A device that cannot register it is left out, with its reason; where
 * it is short of memory, port_rdma_tick() tries again, and a pool is had though no device has it
 * yet. */
int port_rdma_pool_new(struct port_rdma *r, const struct port_rdma_region *regions, unsigned n,
		       bool remote, struct port_rdma_pool **ret);
struct port_rdma_pool *port_rdma_pool_free(struct port_rdma_pool *pool);

int port_rdma_peer_new(struct port_rdma_pool *pool, struct port_rdma_peer **ret);
/* Drops all pairs. Ops must have ended. */
struct port_rdma_peer *port_rdma_peer_free(struct port_rdma_peer *peer);
/* Makes our half of a pair of that leg's number, by the device of `port`; one that was there is
 * dropped. PORT_RDMA_OK, or why not. */
enum port_rdma_reason port_rdma_pair(struct port_rdma_peer *peer, unsigned leg, unsigned port,
				     struct port_rdma_half *ret);
/* The other end's half is known: the pair works. */
enum port_rdma_reason port_rdma_join(struct port_rdma_peer *peer, unsigned leg,
				     const struct port_rdma_half *theirs, bool active);
/* Nothing comes by it any more when this returns; ops of it end later, where there are any. */
void port_rdma_drop(struct port_rdma_peer *peer, unsigned leg);
void port_rdma_drop_all(struct port_rdma_peer *peer);
/* The same of those that go by `port`. */
void port_rdma_drop_port(struct port_rdma_peer *peer, unsigned port);
/* Which legs' pairs work, a bit each. */
uint8_t port_rdma_ready(const struct port_rdma_peer *peer);
/* The leg whose pair works and goes by that port; -1: none. */
int port_rdma_leg(const struct port_rdma_peer *peer, unsigned port);
/* Whether the leg's pair works, and its half here has that number. */
bool port_rdma_has(const struct port_rdma_peer *peer, unsigned leg, uint32_t qpn);
/* Of the legs in mask, the working pair with least to do; -1: none, or all have enough. */
int port_rdma_choose(struct port_rdma_peer *peer, uint8_t mask);

/* Of memory of the pool, to or from `at` in the other end's first region. 0: op->done will be
 * called, later; negative errno: it will not. */
int port_rdma_write(struct port_rdma_peer *peer, unsigned leg, const void *from, uint32_t bytes,
		    uint64_t at, struct port_rdma_op *op);
int port_rdma_read(struct port_rdma_peer *peer, unsigned leg, void *to, uint32_t bytes, uint64_t at,
		   struct port_rdma_op *op);

#endif
