/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults on purpose: what a worker does to its own packets because an operator wants to see how the
 * file system bears it (`plenum fault`). They act where packets pass between the transport and the
 * ports, so the transport takes them for the network's. Each ends by itself at its time, whatever
 * becomes of the agent. While there is none, `struct worker` has no worker_faults and a packet
 * costs one comparison.
 */
#ifndef PLENUM_DATAPLANE_WORKER_FAULT_H
#define PLENUM_DATAPLANE_WORKER_FAULT_H

#include "dataplane/launch.h"
#include "dataplane/port/port.h"

struct worker;
struct worker_faults;

/* Bytes of packets that wait in all, at most, whatever their number: more are lost, as in a full
 * queue. */
#define WORKER_FAULT_HELD_BYTES (16U << 20)
/* How much later than its neighbours a packet comes that is to be out of order. */
#define WORKER_FAULT_REORDER_NS (2 * NSEC_PER_MSEC)

/* Takes a fault from the agent: a new one, another setting of one that is there, or its end. 0;
 * -EINVAL: not one; -ENOSPC: there are LAUNCH_FAULTS_MAX; -ENOMEM. */
int worker_fault_set(struct worker *w, const struct launch_fault *f);
/* There is one more port, whose packets may be larger. */
void worker_fault_port(struct worker *w);
/* As port_ops.tx of the port that carries `way`, with what the faults make of it. Only with
 * w->faults. */
int worker_fault_tx(struct worker *w, unsigned way, const struct datagram_addr *dst,
		    const struct datagram *pkt);
/* How often the transport is to be given a datagram that came in by `way`: 0 where it is lost, or
 * held back and comes by worker_fault_turn(). Only with w->faults. */
unsigned worker_fault_rx(struct worker *w, unsigned way, const struct port_rx *pkt);
/* Lets go of what has waited long enough and ends what has lasted long enough. When it wants to be
 * called again; UINT64_MAX without faults. */
uint64_t worker_fault_turn(struct worker *w);
/* The page's list of them. Between the two steps of its seqlock. */
void worker_fault_publish(const struct worker *w);
void worker_fault_free(struct worker *w);

#endif
