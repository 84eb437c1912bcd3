/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State of a running DPDK device: its link, resets of its PF, and the descriptor that wakes a
 * worker for waiting packets. Private to the DPDK module; only port_dpdk.c uses it. It owns the
 * descriptors it creates; it does not start, stop or read a device. This header needs none of
 * DPDK's.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_DEVICE_H
#define PLENUM_DATAPLANE_PORT_DPDK_DEVICE_H

#include "netcfg/base/base.h"

/* ---- link and reset ---- */

struct port_dpdk_state {
	uint16_t id;
	bool watched;	      /* a PCI device, which reports resets */
	bool has_reported;    /* has reported that its link is up at least once; before that, "down"
				 may mean that it cannot report */
	bool up;	      /* the link is up; also set if the device cannot report it */
	uint32_t reset;	      /* atomic: the PF was reset; the device carries nothing until it is
				 restarted */
	uint32_t wanted_back; /* atomic: the kernel removes the device and waits until it is closed
			       */
	char name[PLENUM_NAME_MAX];
	/* Not every driver reports resets, so a link that came back without receiving anything is
	 * restarted after a while. */
	uint64_t check_ns, wait_ns; /* time of the next check, UINT64_MAX: none; interval until the
				       one after it */
	uint64_t frames;	    /* number of frames received when the link came back */
};

/* Registers s for resets and requests to remove the device, until port_dpdk_state_end(); s must not
 * move meanwhile. */
void port_dpdk_state_begin(struct port_dpdk_state *s, uint16_t id, const char *name, bool on_pci);
void port_dpdk_state_end(struct port_dpdk_state *s);
/* Reads the link state from device registers, without a system call or waiting. frames: total
 * number of frames received. */
void port_dpdk_state_poll(struct port_dpdk_state *s, uint64_t frames, uint64_t now_ns);
/* Whether to restart the device: once per reset, after the link is up, because only then the PF
 * answers again. Also, at growing intervals, while a recovered link receives nothing. */
bool port_dpdk_state_needs_restart(struct port_dpdk_state *s, uint64_t now_ns);
bool port_dpdk_state_wanted_back(const struct port_dpdk_state *s);

/* ---- waking up ---- */

#define PORT_DPDK_SOCKETS_MAX 4

struct port_dpdk_wake {
	uint16_t id;
	int fd; /* once armed, it polls readable if packets wait; -1: none */
	bool by_interrupt;
	bool armed;
	bool idle, rx_called; /* idle: no packets since it was last armed; rx_called: the port's rx
				 was called since */
	unsigned n_sockets;
	int sockets[PORT_DPDK_SOCKETS_MAX]; /* owned by the device */
};

/* The open sockets of the types that devices use. Sockets that a device opens later are recognised
 * because they are not among them. A starting worker has far fewer descriptors than this has room
 * for. */
#define PORT_DPDK_FDS_MAX 1024U
struct port_dpdk_fds {
	uint64_t bits[PORT_DPDK_FDS_MAX / 64];
};
void port_dpdk_fds_note(struct port_dpdk_fds *f);

/* For a started device: its receive interrupts wake the worker, else the sockets that it opened
 * since `before` was recorded. Returns 0, or -EOPNOTSUPP if it has neither. */
int port_dpdk_wake_init(struct port_dpdk_wake *w, uint16_t id, const struct port_dpdk_fds *before);
/* Call after the device was restarted. Returns what port_dpdk_wake_init() returns. */
int port_dpdk_wake_again(struct port_dpdk_wake *w);
void port_dpdk_wake_done(struct port_dpdk_wake *w);
/* Adds a socket whose packets wake the worker as well; the caller still owns it. */
int port_dpdk_wake_add(struct port_dpdk_wake *w, int socket);
/* Call before blocking on fd. Returns false if packets are waiting already, or arming failed. */
bool port_dpdk_wake_arm(struct port_dpdk_wake *w);
/* Call after blocking, before the next rx. */
void port_dpdk_wake_disarm(struct port_dpdk_wake *w);

#endif
