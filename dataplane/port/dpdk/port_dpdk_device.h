/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a DPDK device tells of itself while it runs: its link, that its PF was reset, and that
 * packets wait. Inside the DPDK module, used by port_dpdk.c alone. Owns the descriptors that it
 * makes; starts, stops and reads no device. Free of DPDK's headers.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_DEVICE_H
#define PLENUM_DATAPLANE_PORT_DPDK_DEVICE_H

#include "netcfg/base/base.h"

/* ---- link and reset ---- */

struct port_dpdk_state {
	uint16_t id;
	bool watched;	/* a device that knows: one on PCI */
	bool tells;	/* it has said once that its link is up: before, "down" may mean nothing */
	bool up;	/* true where nobody tells */
	uint32_t reset; /* atomic: its PF was reset, and it carries nothing until it is started */
	uint32_t wanted_back; /* atomic: somebody waits in the kernel until it is closed */
	char name[PLENUM_NAME_MAX];
	/* Not every driver hears of that, so a link that is back and brings nothing is doubted. */
	uint64_t doubt_ns, wait_ns; /* when next, and how long then; UINT64_MAX: not */
	uint64_t frames;	    /* as many had come when the link did */
};

/* From now on s is told of resets, and when the host wants the device back, until
 * port_dpdk_state_end(); it does not move meanwhile. */
void port_dpdk_state_begin(struct port_dpdk_state *s, uint16_t id, const char *name, bool on_pci);
void port_dpdk_state_end(struct port_dpdk_state *s);
/* Looks at the link: registers of the device, no system call, never waits. frames: how many have
 * been received in all. */
void port_dpdk_state_look(struct port_dpdk_state *s, uint64_t frames, uint64_t now_ns);
/* True where the device is to be started again: once for each reset, and only when the link is up,
 * since the PF answers again then; and ever more rarely while a link that is back is silent. */
bool port_dpdk_state_wants_start(struct port_dpdk_state *s, uint64_t now_ns);
bool port_dpdk_state_wanted_back(const struct port_dpdk_state *s);

/* ---- waking up ---- */

#define PORT_DPDK_SOCKETS_MAX 4

struct port_dpdk_wake {
	uint16_t id;
	int fd; /* polls readable when packets wait, once armed; -1: there is none */
	bool by_interrupt;
	bool armed;
	bool idle, looked; /* since it was armed last nothing has come; rx was called */
	unsigned n_sockets;
	int sockets[PORT_DPDK_SOCKETS_MAX]; /* the device's own, borrowed */
};

/* The sockets of kinds that devices use which are open now: what a device opens is told apart from
 * them. A worker that starts has far fewer descriptors than this looks at. */
#define PORT_DPDK_FDS_MAX 1024U
struct port_dpdk_fds {
	uint64_t bits[PORT_DPDK_FDS_MAX / 64];
};
void port_dpdk_fds_note(struct port_dpdk_fds *f);

/* Of a started device: by its receive interrupts, else by the sockets that it has opened since
 * `before` was noted. 0; -EOPNOTSUPP: it has neither. */
int port_dpdk_wake_init(struct port_dpdk_wake *w, uint16_t id, const struct port_dpdk_fds *before);
/* After the device was stopped and started again. As port_dpdk_wake_init(). */
int port_dpdk_wake_again(struct port_dpdk_wake *w);
void port_dpdk_wake_done(struct port_dpdk_wake *w);
/* A socket whose packets wake as well; it stays the caller's. */
int port_dpdk_wake_add(struct port_dpdk_wake *w, int socket);
/* Before blocking on fd. False: packets wait already, or it cannot be armed. */
bool port_dpdk_wake_arm(struct port_dpdk_wake *w);
/* After blocking, before the next look. */
void port_dpdk_wake_disarm(struct port_dpdk_wake *w);

#endif
