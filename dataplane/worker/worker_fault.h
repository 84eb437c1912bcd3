/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Injects faults into a worker's own packets, so that an operator can see how the file system
 * handles them (`plenum fault`). They act between the transport and the ports, so the transport
 * sees them as faults of the network. Each fault ends at its expiry time, even without an agent.
 * Without a fault, worker.faults is NULL, and costs one comparison per packet.
 */
#ifndef PLENUM_DATAPLANE_WORKER_FAULT_H
#define PLENUM_DATAPLANE_WORKER_FAULT_H

#include "dataplane/launch.h"
#include "dataplane/port/port.h"

struct worker;
struct worker_faults;

/* Maximum number of bytes that delayed packets may have together; further packets are lost, as in a
 * full queue. */
#define WORKER_FAULT_HELD_BYTES (16U << 20)
/* Delay of a packet that is to arrive out of order. */
#define WORKER_FAULT_REORDER_NS (2 * NSEC_PER_MSEC)

/* Handles the agent's message: a new fault, new settings of an existing fault, or its end. Returns
 * 0, -EINVAL if the message is invalid, -ENOSPC if there are LAUNCH_FAULTS_MAX faults already, or
 * -ENOMEM. */
int worker_fault_set(struct worker *w, const struct launch_fault *f);
/* Call when a port was added, because the packets of the new port may be larger. */
void worker_fault_port(struct worker *w);
/* Sends a packet like port_ops.tx, with faults. way: the transport's number of the port, see
 * worker_port(). Call it only if w->faults is set. */
int worker_fault_tx(struct worker *w, unsigned way, const struct datagram_addr *dst,
		    const struct datagram *pkt);
/* Returns how often to pass a datagram received on `way` to the transport. Returns 0 if the
 * datagram is lost, or if worker_fault_turn() will pass it to the transport later. Call it only if
 * w->faults is set. */
unsigned worker_fault_rx(struct worker *w, unsigned way, const struct port_rx *pkt);
/* Sends or passes on packets whose delay is over, and ends expired faults. Returns when to call it
 * next; UINT64_MAX if no fault is injected. */
uint64_t worker_fault_turn(struct worker *w);
/* Writes the list of faults on the statistics page; call within its seqlock. */
void worker_fault_publish(const struct worker *w);
void worker_fault_free(struct worker *w);

#endif
