/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA for bulk data, in addition to the packet ports. It manages the RDMA devices of a worker's
 * legs, the memory registered with them, and one reliable queue pair per leg of a session (below: a
 * pair). It does not depend on sessions or requests: the caller exchanges the parameters of
 * port_rdma_pair() and port_rdma_join() in its own requests, so neither a connection manager nor a
 * separate port is needed. One thread uses it. Posting and polling take no lock, allocate nothing
 * and, on devices with mapped queues, make no system call. Creating and dropping pairs does make
 * system calls.
 *
 * One side of a pair is active: it writes into the memory of the other side, reads from it, and
 * gets the completions. The passive side does nothing and gets no notification. With these rules
 * both sides can reuse their memory safely:
 * - After the data of a write, the active side reads one byte back over the same pair. The write
 *   counts as done when this byte arrives: the data is then in the other side's memory, whatever
 *   route the reply to the request takes.
 * - port_rdma_drop() returns when the device no longer acts for the pair: the device discards
 *   everything that is still in flight. Before the passive side uses offered memory in any other
 *   way, it drops each pair whose failure the active side has reported, and all pairs of a session
 *   that has ended.
 * - The active side may reuse memory from which it sends when port_rdma_poll() says so, also after
 *   a failure: the device flushes a failed pair first.
 *
 * On an Ethernet leg a pair uses RoCE v2 with the GID of the leg's own address; RoCE v1 is
 * unsupported. On an IPoIB leg it uses the GID of the InfiniBand port, the LIDs of both sides and
 * the partition of the leg's interface. iWARP is unsupported: it runs over TCP connections, which
 * need rdma_cm. The GID is looked up for each new pair, because its index in the device's table may
 * change. When a device reports changed GIDs, pairs whose GID moved or disappeared are dropped.
 *
 * The kernel removes a device only after all its users have released it: port_rdma_tick() notices
 * the removal and releases the device. port_rdma_find() opens a device that was added or has
 * returned. Before, the process with access to the host's files must put the device file where the
 * library looks for it.
 */
#ifndef PLENUM_DATAPLANE_PORT_RDMA_H
#define PLENUM_DATAPLANE_PORT_RDMA_H

#include "dataplane/launch.h"

#define PORT_RDMA_LEGS_MAX PLENUM_LEGS_MAX
#define PORT_RDMA_REGIONS_MAX 2
#define PORT_RDMA_BYTES_MAX (1U << 20) /* maximum number of bytes of a transfer */
/* Interval of checks whether a device still exists. */
#define PORT_RDMA_LOOK_NS (500 * NSEC_PER_MSEC)

struct port_rdma;      /* the devices of a worker's legs */
struct port_rdma_pool; /* registered memory; only pairs of this pool can access it */
struct port_rdma_peer; /* the pairs with one peer, one per leg */

/* Reasons why RDMA is unavailable. */
enum port_rdma_reason {
	PORT_RDMA_OK,
	PORT_RDMA_OFF,	     /* RDMA is disabled for the leg */
	PORT_RDMA_NO_DEVICE, /* no RDMA device has the leg's address */
	PORT_RDMA_PORT_DOWN,
	PORT_RDMA_NO_GID,    /* the device has no GID for the leg's address, or only a GID that
				is unusable for RoCE v2 */
	PORT_RDMA_MEMLOCK,   /* memory cannot be registered at present; port_rdma_tick() retries */
	PORT_RDMA_GONE,	     /* the device was removed */
	PORT_RDMA_KIND,	     /* one side uses InfiniBand, the other Ethernet */
	PORT_RDMA_PEER,	     /* the peer has no RDMA for the leg, or only a link type that this
				side does not support */
	PORT_RDMA_ENCRYPTED, /* the session is encrypted, but RDMA would send bulk data in clear */
	PORT_RDMA_IWARP,     /* the leg's device is iWARP */
	PORT_RDMA_FAILED,    /* the pair could not be created, or it has failed */
	PORT_RDMA_OLD,	     /* the device's driver is older than the supported minimum */
	PORT_RDMA_MTU,	     /* the MTU is so small that RDMA does not pay off */
	PORT_RDMA_MIXED,     /* the servers and legs do not all use the same link type,
				InfiniBand or Ethernet */
	PORT_RDMA_REASON_MAX
};
/* Returns the reason's code; plenumd(8) lists the codes. */
const char *port_rdma_reason_code(enum port_rdma_reason r);

/* The link type of a pair, as sent to the peer. It must be the same on both sides. */
enum port_rdma_link {
	PORT_RDMA_LINK_IB = 1,
	PORT_RDMA_LINK_ROCE_V2 = 2,
	/* Value 3 was RoCE v1 in earlier versions. A peer that offers this value is refused. */
};

/* The parameters of one side of a pair, which the caller sends to the other side. */
struct port_rdma_half {
	uint8_t link; /* enum port_rdma_link */
	uint8_t mtu;  /* packet size: 1 is 256 bytes, each further value doubles it */
	uint16_t lid;
	uint32_t qpn, psn;
	uint32_t key; /* the key with which the other side may access the pool's first region */
	uint8_t gid[16];
};

/* One transfer. The caller must keep it until `done` is called. That happens within
 * port_rdma_poll(), or within port_rdma_drop*() of any pair. */
struct port_rdma_op {
	void (*done)(struct port_rdma_op *op, int status); /* status: 0, or a negative errno if the
							      pair failed */
	struct port_rdma_pair *pair;
	uint32_t bytes;
	uint16_t slot;
	uint8_t port; /* index of the port whose pair carries the transfer */
};

/* Opens the RDMA device of each leg. Call it while the worker still has file access: devices opened
 * now need no files later, and all drivers of the library are loaded for devices that are added
 * later. Returns 0 with *ret set (to NULL if no leg uses RDMA), or -ENOMEM. */
int port_rdma_open(const struct launch_config *cfg, struct port_rdma **ret);
/* Opens the named device for legs that have no device yet and whose address the device has, and
 * registers the memory of the pools with it. Returns the number of such legs, or -ENOENT if no leg
 * can use the device. */
int port_rdma_find(struct port_rdma *r, const char *name);
/* Records why the leg of that port must not use the RDMA device that exists for it. The leg then
 * has no device. */
void port_rdma_refuse(struct port_rdma *r, unsigned port, enum port_rdma_reason why);
/* Adds a leg that appeared later. Its port has the next index. It has no device yet. */
void port_rdma_leg_add(struct port_rdma *r, const struct launch_port *port);
/* Returns whether any leg has a device now. If not, only port_rdma_reason() has anything to
 * report. */
bool port_rdma_any(const struct port_rdma *r);
/* Drops all pairs. All ops have ended when this function returns. */
void port_rdma_stop(struct port_rdma *r);
/* Frees *r. Free all pools and peers first. */
struct port_rdma *port_rdma_free(struct port_rdma *r);
enum port_rdma_reason port_rdma_reason(const struct port_rdma *r, unsigned port);
/* Returns a counter that changes when a device is added, or when a device's addresses or link
 * change. */
uint32_t port_rdma_changes(const struct port_rdma *r);
/* Whether and how GPU memory can be registered with the leg's device (GPUDirect): as a dma-buf,
 * which any GPU driver can export, or via nvidia-peermem. */
enum port_rdma_gpu {
	PORT_RDMA_GPU_NO_DEVICE,
	PORT_RDMA_GPU_UNSUPPORTED, /* the driver or this kernel does not support dma-buf */
	PORT_RDMA_GPU_PEERMEM,
	PORT_RDMA_GPU_DMABUF,
	PORT_RDMA_GPU_MAX
};
enum port_rdma_gpu port_rdma_gpu(const struct port_rdma *r, unsigned port);
/* Returns the code of the value; plenumd(8) lists the codes. */
const char *port_rdma_gpu_code(enum port_rdma_gpu g);
/* Returns the number of working pairs on that port. */
unsigned port_rdma_pairs(const struct port_rdma *r, unsigned port);
/* Processes device events, and releases devices that are being removed, which ends their ops. Call
 * it every PORT_RDMA_LOOK_NS, and at once after port_rdma_look(). Returns when to call it next. */
uint64_t port_rdma_tick(struct port_rdma *r, uint64_t now_ns);
/* Completes ops that the device has finished, and returns their number. */
unsigned port_rdma_poll(struct port_rdma *r);
/* Writes up to max descriptors for poll(2). They become readable when ops may have finished.
 * Returns their number. */
unsigned port_rdma_fds(const struct port_rdma *r, int *ret_fds, unsigned max);
/* Like port_rdma_fds(), but for device events. If a descriptor is readable, call port_rdma_look()
 * and then port_rdma_tick(), which reads the event. */
unsigned port_rdma_event_fds(const struct port_rdma *r, int *ret_fds, unsigned max);
void port_rdma_look(struct port_rdma *r);
/* Call before sleeping. Returns false if completions are waiting. */
bool port_rdma_arm(struct port_rdma *r);

/* A region of memory to register. For GPU memory, which is given as a dma-buf, `base` is only an
 * identifier, and nothing is mapped there. */
struct port_rdma_region {
	void *base;
	size_t bytes;
	bool is_dmabuf;
	int dmabuf_fd;
	uint64_t dmabuf_at; /* offset of the region in the dma-buf */
};
/* Registers memory with all devices; its mapping must not change afterwards. remote: peers may
 * write and read the first region. A device that cannot register the memory is skipped, and
 * port_rdma_reason() returns the reason. If memory is short, port_rdma_tick() retries; the pool
 * exists even if no device has registered it yet. Returns 0 or a negative errno. */
int port_rdma_pool_new(struct port_rdma *r, const struct port_rdma_region *regions, unsigned n,
		       bool remote, struct port_rdma_pool **ret);
struct port_rdma_pool *port_rdma_pool_free(struct port_rdma_pool *pool);

int port_rdma_peer_new(struct port_rdma_pool *pool, struct port_rdma_peer **ret);
/* Drops all pairs of the peer and frees it. All ops of the peer must have ended. */
struct port_rdma_peer *port_rdma_peer_free(struct port_rdma_peer *peer);
/* Creates this side of the pair number `leg` on the device of `port`. An existing pair with this
 * number is dropped first. Returns PORT_RDMA_OK, or the reason why there can be no pair. */
enum port_rdma_reason port_rdma_pair(struct port_rdma_peer *peer, unsigned leg, unsigned port,
				     struct port_rdma_half *ret);
/* Completes the pair with the parameters of the peer's side. */
enum port_rdma_reason port_rdma_join(struct port_rdma_peer *peer, unsigned leg,
				     const struct port_rdma_half *theirs, bool active);
/* Drops the pair. When this function returns, no more data arrives over the pair. Its ops in flight
 * end later. */
void port_rdma_drop(struct port_rdma_peer *peer, unsigned leg);
void port_rdma_drop_all(struct port_rdma_peer *peer);
/* Drops the pairs on `port`, like port_rdma_drop(). */
void port_rdma_drop_port(struct port_rdma_peer *peer, unsigned port);
/* Returns a bit for each leg whose pair works. */
uint8_t port_rdma_ready(const struct port_rdma_peer *peer);
/* Returns the leg whose working pair uses that port; -1 if no working pair uses it. */
int port_rdma_leg(const struct port_rdma_peer *peer, unsigned port);
/* Returns whether the leg's pair works, and this side of it has that queue pair number. */
bool port_rdma_has(const struct port_rdma_peer *peer, unsigned leg, uint32_t qpn);
/* Returns the leg in `mask` whose working pair has the least load; -1 if no pair works or all are
 * full. */
int port_rdma_choose(struct port_rdma_peer *peer, uint8_t mask);

/* Write to, or read from, offset `at` of the peer's first region. The local memory must belong to
 * the pool. Return 0, after which op->done is called later, or a negative errno, after which it is
 * not called. */
int port_rdma_write(struct port_rdma_peer *peer, unsigned leg, const void *from, uint32_t bytes,
		    uint64_t at, struct port_rdma_op *op);
int port_rdma_read(struct port_rdma_peer *peer, unsigned leg, void *to, uint32_t bytes, uint64_t at,
		   struct port_rdma_op *op);

#endif
