/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects packets that the kernel's queues (qdiscs) of the legs' NICs drop, so that such a loss on
 * this host is not blamed on the network. Reports drops as problems and events. The queues'
 * counters are read only while packets from this host are lost. A child process reads them, because
 * the kernel may hold the required lock for seconds.
 */
#ifndef PLENUM_AGENT_LEG_QUEUES_H
#define PLENUM_AGENT_LEG_QUEUES_H

struct agent;

int leg_queues_init(struct agent *a);
void leg_queues_done(struct agent *a);
/* Reads the counters if packets are being lost. Call about once a second. */
void leg_queues_look(struct agent *a);

#endif
