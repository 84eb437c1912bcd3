/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port: one packet I/O back end inside a worker, one per leg. The seam between rudp and the
 * world. A back end is a const table of operations; the worker knows no more of it than this.
 * port_udp and port_xdp are built in; port_dpdk is a loadable module, so that a UDP worker does not
 * carry DPDK's memory. Owned and used by one thread. The polling path (rx, tx, flush) of polling
 * back ends makes no allocation or lock, and no system call, except for AF_XDP's one a burst that
 * is sent.
 */
#ifndef PLENUM_DATAPLANE_PORT_H
#define PLENUM_DATAPLANE_PORT_H

#include "dataplane/datagram.h"
#include "dataplane/launch.h"
#include "netcfg/base/packet_ring.h"

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
	uint64_t waited_ns; /* in this host until it was read; UINT64_MAX: not known */
};

/* Grows where what is below it, or what it is made of, changes: a worker may find a module of
 * another version, while a package is upgraded. */
#define PORT_VERSION 1
#define PORT_LAYOUT (LAUNCH_VERSION * 1000U + PORT_VERSION)

struct port_ops {
	uint64_t layout; /* of a module: PORT_LAYOUT. The first thing in every version, where older
			  * ones had a pointer */
	const char *name;
	/* What could not be opened at the start can be later, when the worker is confined. */
	bool reopens;
	/* Opens the back end for cfg->ports[index]. 0; negative errno with one sentence in `why`
	 * (LAUNCH_REASON_MAX bytes). On success `why` may hold what is less than asked, else "". */
	int (*open)(struct port *p, const struct launch_config *cfg, unsigned index, char *why);
	/* Asks the network whether our address is ours. What anybody may send is read here for the
	 * first time, so the worker is confined by now. Never waits, since other ports ask at the
	 * same time: -EAGAIN: nobody has said anything yet, look again soon; -EINPROGRESS: the
	 * same, and more waits to be read: at once. Else as open(), or 1: there is no link to ask
	 * by, which `why` says. NULL: nothing to ask. */
	int (*join)(struct port *p, const struct launch_config *cfg, unsigned index, char *why);
	/* Asks later, without waiting: to be called once there is a link, and then after each tick.
	 * -EAGAIN: nobody has said anything yet; 0: the address is ours; other negative errno with
	 * a sentence in `why`. NULL where join() never gives 1. */
	int (*probe)(struct port *p, char *why);
	void (*close)(struct port *p);
	/* Up to max datagrams. Never blocks. Number received; negative errno: the link is in
	 * trouble. */
	int (*rx)(struct port *p, struct port_rx *pkts, unsigned max);
	/* As rudp_ops.tx. */
	int (*tx)(struct port *p, const struct datagram_addr *dst, const struct datagram *pkt);
	void (*flush)(struct port *p);
	/* The host does not take datagrams of this size to this address, which only sending showed
	 * (tx says -EMSGSIZE where it can tell before). True: the latest one since the last call.
	 * NULL: tx always can. */
	bool (*too_big)(struct port *p, struct datagram_addr *ret_dst, uint32_t *ret_bytes);
	/* A descriptor that polls readable when rx would return something; -1: this back end is
	 * polled. For interrupt back ends, arm() is called before blocking and returns false where
	 * packets are waiting already. */
	int (*fd)(struct port *p);
	bool (*arm)(struct port *p);
	/* Housekeeping off the hot path (ARP ageing, DAD), about once a millisecond at most.
	 * Returns the time at which it wants to be called again, UINT64_MAX for never. */
	uint64_t (*tick)(struct port *p, uint64_t now_ns);
	/* Whether the device has a link, as of the latest tick. NULL: only the agent can tell. */
	bool (*link)(struct port *p);
	/* Whether the host wants the device back, as of the latest tick: the kernel takes it away
	 * once the port is closed, and whoever asked waits until then. NULL: nobody asks. */
	bool (*wanted_back)(struct port *p);
	/* Tell the switches where our address is: gratuitous ARP / unsolicited NA. */
	void (*announce)(struct port *p);
	/* Of several ports with one address (launch_config.failover): this one stands by, or
	 * carries from now on. Datagrams are received all the same; what waited to be sent is lost.
	 * NULL: this back end cannot. */
	void (*stand_by)(struct port *p, bool stands_by);
	/* The UDP port of that source (datagram.source). NULL: it has none beside its own. */
	uint16_t (*source)(const struct port *p, unsigned source);
	/* Puts each frame, as the device takes and gives it, into this ring from now on; NULL: no
	 * more. NULL: the back end sees no frames, only datagrams. */
	void (*capture)(struct port *p, struct packet_writer *to);
	/* What it has counted since it was opened. NULL: the kernel counts. */
	void (*counters)(const struct port *p, struct launch_port_counters *ret);
};

/* Looks at join() until that has an answer: for who has no other port meanwhile. */
int port_join(struct port *p, const struct launch_config *cfg, unsigned index, char *why);
/* The rest between two looks, for all ports that ask. */
void port_join_rest(void);

extern const struct port_ops port_udp_ops;
/* A kernel interface by AF_XDP, for transports of DPDK. */
extern const struct port_ops port_xdp_ops;
/* The symbol that a port module exports. */
#define PORT_MODULE_SYMBOL "plenum_port_module"
/* Loads the back end for a transport (built in, or from the module directory; PLENUM_MODULE_DIR in
 * the environment overrides it for tests). 0; -ENOENT etc. with a sentence in why. */
int port_ops_get(enum launch_transport t, const struct port_ops **ret, char *why);

#endif
