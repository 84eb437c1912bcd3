/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port is the packet I/O of one leg inside a worker: rudp reaches the network only through it.
 * Each kind of port is a back end: a const table of operations (struct port_ops). The worker uses a
 * port only by these operations. port_udp and port_xdp are built in; port_dpdk is a loadable
 * module, so that a UDP worker does not carry DPDK's memory. One thread owns and uses a port. The
 * polling path (rx, tx, flush) of polling back ends allocates nothing, takes no lock and makes no
 * system call, except for one per sent burst with AF_XDP.
 */
#ifndef PLENUM_DATAPLANE_PORT_H
#define PLENUM_DATAPLANE_PORT_H

#include "dataplane/datagram.h"
#include "dataplane/launch.h"
#include "netcfg/base/os/packet_ring.h"
#include "netcfg/base/reason.h"

#define PORT_BURST_MAX 256

struct port {
	const struct port_ops *ops;
	unsigned index;
	void *impl;
};

struct port_rx { /* one received datagram, valid until the next rx call on the port */
	const uint8_t *data;
	uint32_t len;
	struct datagram_addr src;
	uint64_t waited_ns; /* how long the datagram waited in this host before the port read it;
			       UINT64_MAX: unknown */
};

/* Increment this number with each change of this interface or of a structure in it. During a
 * package upgrade a worker may find a module of another version, which it recognises by this
 * number. */
#define PORT_VERSION 3
#define PORT_LAYOUT (LAUNCH_VERSION * 1000U + PORT_VERSION)

struct port_ops {
	uint64_t layout; /* PORT_LAYOUT of the module. It is the first member in all versions; in
			    old versions the first member was a pointer, which never equals the
			    number */
	const char *name;
	/* Whether a port that failed to open at the start may be opened later, when the worker is
	 * in its sandbox. */
	bool reopens;
	/* Opens the back end for cfg->ports[index]. Returns 0, or a negative errno with a sentence
	 * in `why`. After success, `why` contains a limitation of the port, or is unset. */
	int (*open)(struct port *p, const struct launch_config *cfg, unsigned index,
		    struct reason *why);
	/* Verifies that no other host uses the port's address (duplicate address detection). The
	 * worker must be in its sandbox before the first call, because this is the first code that
	 * reads unauthenticated packets. It never waits, because other ports probe at the same
	 * time. Returns 0 if the port may use the address; -EAGAIN if it is too early to tell (call
	 * again soon); -EINPROGRESS if, in addition, packets are waiting (call again at once); 1 if
	 * there is no link on which to probe, with a sentence in `why`; or another negative errno
	 * with a sentence in `why`. The operation is NULL if there is nothing to verify. */
	int (*join)(struct port *p, const struct launch_config *cfg, unsigned index,
		    struct reason *why);
	/* Verifies the address later, if join() returned 1. Call this function when the link is up,
	 * then after each tick; it never waits. Returns 0 if the port may use the address, -EAGAIN
	 * if it is too early to tell, or another negative errno with a sentence in `why`. The
	 * operation is NULL if join() never returns 1. */
	int (*probe)(struct port *p, struct reason *why);
	void (*close)(struct port *p);
	/* Receives up to max datagrams without blocking. Returns their number, or a negative errno
	 * if the link is broken. */
	int (*rx)(struct port *p, struct port_rx *pkts, unsigned max);
	/* Has the contract of rudp_ops.tx. */
	int (*tx)(struct port *p, const struct datagram_addr *dst, const struct datagram *pkt);
	void (*flush)(struct port *p);
	/* Reports a datagram that tx accepted but that the host later refused as too big. (Usually
	 * tx itself detects that and returns -EMSGSIZE.) Returns true if there was such a datagram
	 * since the last call, with its address and size; if there were several, the latest one.
	 * The operation is NULL if tx always detects it. */
	bool (*too_big)(struct port *p, struct datagram_addr *ret_dst, uint32_t *ret_bytes);
	/* fd: returns a descriptor that becomes readable when packets are waiting, or -1 if the
	 * worker must poll the port with rx(). arm: the worker must call it each time before it
	 * waits on the descriptor. If it returns false, packets are waiting already, and the worker
	 * must not wait. */
	int (*fd)(struct port *p);
	bool (*arm)(struct port *p);
	/* Does periodic work outside the polling path (ARP ageing, duplicate address detection).
	 * Call it at most about once a millisecond. Returns when to call it next; UINT64_MAX:
	 * never. */
	uint64_t (*tick)(struct port *p, uint64_t now_ns);
	/* Returns whether the device had a link at the latest tick. NULL: only the agent knows. */
	bool (*link)(struct port *p);
	/* Returns whether, at the latest tick, the host was waiting to remove the device. The
	 * worker must then close the port. NULL: the host never removes the device. */
	bool (*wanted_back)(struct port *p);
	/* Announces the port's address to the switches by gratuitous ARP or unsolicited neighbour
	 * advertisement. */
	void (*announce)(struct port *p);
	/* Puts this port on standby, or makes it the active port, if several ports share one
	 * address (launch_config.failover). A port on standby still receives, but drops the
	 * datagrams that it has queued to send. NULL: unsupported. */
	void (*stand_by)(struct port *p, bool stands_by);
	/* Returns the UDP port number that stands behind `source`, a value of datagram.source.
	 * NULL: the port sends from one UDP port only. */
	uint16_t (*source)(const struct port *p, unsigned source);
	/* Starts to copy each frame that the device sends or receives into the packet ring of `to`;
	 * NULL stops it. The operation itself is NULL if the back end processes only datagrams, not
	 * frames. */
	void (*capture)(struct port *p, struct packet_writer *to);
	/* Returns the counters since the port was opened. NULL: only the kernel counts packets. */
	void (*counters)(const struct port *p, struct launch_port_counters *ret);
	/* Returns which packets the host refused to send. NULL: the back end passes frames to a
	 * device, so the host cannot refuse them. */
	void (*refusals)(const struct port *p, struct launch_refusal ret[LAUNCH_REFUSALS_MAX]);
};

/* Calls join() until it returns a final result. For callers that have no other port to serve
 * meanwhile. */
int port_join(struct port *p, const struct launch_config *cfg, unsigned index, struct reason *why);
/* Sleeps between two calls of join(). One sleep serves all ports that are joining. */
void port_join_rest(void);

/* AF_XDP on a kernel interface, for the DPDK transports. */
extern const struct port_ops port_xdp_ops;
/* All transports, one line each: the transport's constant in enum launch_transport, its name in the
 * process table, and its back end, which is either in the program or in a module. */
#define PORT_TRANSPORTS(BUILT_IN, MODULE)    \
	BUILT_IN(UDP, "UDP", port_udp_ops)   \
	MODULE(DPDK, "DPDK", "port_dpdk.so") \
	MODULE(DPDK_INTERRUPT, "DPDK-INTERRUPT", "port_dpdk.so")
#define PORT_BUILT_IN(member, name, ops) extern const struct port_ops ops;
#define PORT_MODULE(member, name, file)
PORT_TRANSPORTS(PORT_BUILT_IN, PORT_MODULE)
#undef PORT_BUILT_IN
#undef PORT_MODULE

/* Returns the transport's name in the process table. */
const char *port_transport_name(enum launch_transport t);
/* Name of the symbol that a port module exports. */
#define PORT_MODULE_SYMBOL "plenum_port_module"
/* Finds the back end for a transport: built in, or from the module directory, which
 * PLENUM_MODULE_DIR in the environment overrides for tests. Returns 0, or a negative errno such as
 * -ENOENT with a sentence in why. */
int port_ops_get(enum launch_transport t, const struct port_ops **ret, struct reason *why);

#endif
