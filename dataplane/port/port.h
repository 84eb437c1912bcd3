/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port: the packet I/O back end of one leg inside a worker, and the interface between rudp and
 * the network. A back end is a const table of operations, which is all the worker knows of it.
 * port_udp and port_xdp are built in; port_dpdk is a loadable module, so that a UDP worker does not
 * carry DPDK's memory. One thread owns and uses a port. The polling path (rx, tx, flush) of polling
 * back ends allocates nothing, takes no lock and makes no system call, except for one per sent
 * burst with AF_XDP.
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
	uint64_t waited_ns; /* time in this host before it was read; UINT64_MAX: unknown */
};

/* Incremented when this interface or a structure in it changes, because during a package upgrade a
 * worker may find a module of another version. */
#define PORT_VERSION 3
#define PORT_LAYOUT (LAUNCH_VERSION * 1000U + PORT_VERSION)

struct port_ops {
	uint64_t layout; /* PORT_LAYOUT of the module; the first member in every version, older ones
			    had a pointer here */
	const char *name;
	/* Whether a port that failed to open at the start may be opened later, when the worker is
	 * confined. */
	bool reopens;
	/* Opens the back end for cfg->ports[index]. Returns 0, or a negative errno with a sentence
	 * in `why`. On success `why` holds any limitation of the port, or stays unset. */
	int (*open)(struct port *p, const struct launch_config *cfg, unsigned index,
		    struct reason *why);
	/* Verifies that no other host uses our address (duplicate address detection). The worker
	 * must be confined before, because this is the first code that reads unauthenticated
	 * packets. It never waits, because other ports probe at the same time. Returns 0: the
	 * address is ours; -EAGAIN: no answer yet, call again soon; -EINPROGRESS: the same, but
	 * packets are waiting, so call again at once; 1: there is no link to probe on, explained in
	 * `why`; other negative errno with a sentence in `why`. NULL: there is nothing to verify.
	 */
	int (*join)(struct port *p, const struct launch_config *cfg, unsigned index,
		    struct reason *why);
	/* Verifies the address after join() returned 1, without waiting: call it once there is a
	 * link, then after each tick. Returns -EAGAIN: no answer yet; 0: the address is ours; other
	 * negative errno with a sentence in `why`. NULL if join() never returns 1. */
	int (*probe)(struct port *p, struct reason *why);
	void (*close)(struct port *p);
	/* Receives up to max datagrams without blocking. Returns their number; negative errno: the
	 * link is broken. */
	int (*rx)(struct port *p, struct port_rx *pkts, unsigned max);
	/* Same contract as rudp_ops.tx. */
	int (*tx)(struct port *p, const struct datagram_addr *dst, const struct datagram *pkt);
	void (*flush)(struct port *p);
	/* Reports a datagram that the host refused as too big for an address only after tx had
	 * accepted it (otherwise tx returns -EMSGSIZE). Returns whether there was one since the
	 * last call, and reports the latest one. NULL: tx always detects it. */
	bool (*too_big)(struct port *p, struct datagram_addr *ret_dst, uint32_t *ret_bytes);
	/* Returns a descriptor that polls readable if rx would return something; -1: this back end
	 * must be polled. A worker that blocks on the descriptor calls arm() before; arm() returns
	 * false if packets are waiting already. */
	int (*fd)(struct port *p);
	bool (*arm)(struct port *p);
	/* Housekeeping outside the polling path (ARP ageing, DAD); call it at most about once a
	 * millisecond. Returns the time of the next call, UINT64_MAX for never. */
	uint64_t (*tick)(struct port *p, uint64_t now_ns);
	/* Whether the device has a link, as of the latest tick. NULL: only the agent knows. */
	bool (*link)(struct port *p);
	/* Whether the host removes the device, as of the latest tick: the kernel waits until the
	 * port is closed. NULL: the host never does. */
	bool (*wanted_back)(struct port *p);
	/* Announces our address to the switches by gratuitous ARP or unsolicited NA. */
	void (*announce)(struct port *p);
	/* For several ports with one address (launch_config.failover): puts this port on standby,
	 * or makes it the active one. It still receives; queued datagrams are lost. NULL:
	 * unsupported. */
	void (*stand_by)(struct port *p, bool stands_by);
	/* The UDP port number of that source port (datagram.source). NULL: the port has no
	 * additional source ports. */
	uint16_t (*source)(const struct port *p, unsigned source);
	/* From now on copies each frame, as exchanged with the device, into this ring; NULL stops
	 * it. If the operation is NULL, the back end sees only datagrams. */
	void (*capture)(struct port *p, struct packet_writer *to);
	/* Counters since the port was opened. NULL: only the kernel counts. */
	void (*counters)(const struct port *p, struct launch_port_counters *ret);
	/* Packets that the host refused to send. NULL: the back end passes frames to a device, so
	 * the host cannot refuse them. */
	void (*refusals)(const struct port *p, struct launch_refusal ret[LAUNCH_REFUSALS_MAX]);
};

/* Calls join() until it finishes, for callers that have no other port to serve meanwhile. */
int port_join(struct port *p, const struct launch_config *cfg, unsigned index, struct reason *why);
/* Sleeps between two join() calls; one sleep serves all joining ports. */
void port_join_rest(void);

/* AF_XDP on a kernel interface, for the DPDK transports. */
extern const struct port_ops port_xdp_ops;
/* The back ends of the transports, one line each: its member of enum launch_transport, its name in
 * the process table, and its port in the program or in a module. */
#define PORT_TRANSPORTS(BUILT_IN, MODULE)    \
	BUILT_IN(UDP, "UDP", port_udp_ops)   \
	MODULE(DPDK, "DPDK", "port_dpdk.so") \
	MODULE(DPDK_INTERRUPT, "DPDK-INTERRUPT", "port_dpdk.so")
#define PORT_BUILT_IN(member, name, ops) extern const struct port_ops ops;
#define PORT_MODULE(member, name, file)
PORT_TRANSPORTS(PORT_BUILT_IN, PORT_MODULE)
#undef PORT_BUILT_IN
#undef PORT_MODULE

/* The transport's name in the process table. */
const char *port_transport_name(enum launch_transport t);
/* The symbol that a port module exports. */
#define PORT_MODULE_SYMBOL "plenum_port_module"
/* Finds the back end for a transport: built in, or from the module directory, which
 * PLENUM_MODULE_DIR in the environment overrides for tests. Returns 0, or a negative errno such as
 * -ENOENT with a sentence in why. */
int port_ops_get(enum launch_transport t, const struct port_ops **ret, struct reason *why);

#endif
