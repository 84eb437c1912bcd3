/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State of a running DPDK device: its link, resets of its PF, and the descriptor that wakes a
 * worker for waiting packets. Private to the DPDK module; only port_dpdk.c uses it. It owns the
 * descriptors it creates; it does not start, stop or read a device. This header does not include
 * DPDK's headers.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_DEVICE_H
#define PLENUM_DATAPLANE_PORT_DPDK_DEVICE_H

#include "netcfg/base/base.h"

/* ---- link and reset ---- */

struct port_dpdk_state {
	uint16_t id;
	bool watched;	      /* a PCI device, which reports resets */
	bool has_reported;    /* the device has reported its link up at least once; before that,
				 "down" may mean that it cannot report links */
	bool up;	      /* whether the link is up; always true if the device cannot report
				 its link */
	uint32_t reset;	      /* atomic: the PF was reset; the device carries nothing until it is
				 restarted */
	uint32_t wanted_back; /* atomic: the kernel removes the device and waits until it is closed
			       */
	char name[PLENUM_NAME_MAX];
	/* Not every driver reports resets. Therefore a device is also restarted if its link came
	 * back but the device then receives nothing for a while. */
	uint64_t check_ns, wait_ns; /* check_ns: when to check next whether something was received;
				       UINT64_MAX: never. wait_ns: time from that check to the next
				       check */
	uint64_t frames;	    /* number of frames received when the link came back */
};

/* Registers s for resets and requests to remove the device, until port_dpdk_state_end(); s must not
 * move meanwhile. */
void port_dpdk_state_begin(struct port_dpdk_state *s, uint16_t id, const char *name, bool on_pci);
void port_dpdk_state_end(struct port_dpdk_state *s);
/* Reads the link state from device registers, without a system call or waiting. frames: total
 * number of frames received. */
void port_dpdk_state_poll(struct port_dpdk_state *s, uint64_t frames, uint64_t now_ns);
/* Returns whether to restart the device now. After a reset, returns true once, as soon as the link
 * is up, because the PF answers only then. While a recovered link receives nothing, returns true at
 * growing intervals. */
bool port_dpdk_state_needs_restart(struct port_dpdk_state *s, uint64_t now_ns);
bool port_dpdk_state_wanted_back(const struct port_dpdk_state *s);

/* ---- waking up ---- */

#define PORT_DPDK_SOCKETS_MAX 4

struct port_dpdk_wake {
	uint16_t id;
	int fd; /* descriptor that is readable when packets are waiting, after arming; -1: no
		   descriptor */
	bool by_interrupt;
	bool armed;
	bool idle, rx_called; /* idle: no packets arrived since the descriptor was last armed;
				 rx_called: the port's rx was called since then */
	unsigned n_sockets;
	int sockets[PORT_DPDK_SOCKETS_MAX]; /* sockets that the device has opened and owns */
};

/* A list of the open sockets of the types that devices use. If it was recorded before a device was
 * opened, the sockets that are not in the list were opened by the device. A starting worker has far
 * fewer descriptors than fit here. */
#define PORT_DPDK_FDS_MAX 1024U
struct port_dpdk_fds {
	uint64_t bits[PORT_DPDK_FDS_MAX / 64];
};
void port_dpdk_fds_note(struct port_dpdk_fds *f);

/* Prepares wake-ups by a started device: by its receive interrupts or, if it has none, by the
 * sockets that it opened since `before` was recorded. Returns 0, or -EOPNOTSUPP if it has
 * neither. */
int port_dpdk_wake_init(struct port_dpdk_wake *w, uint16_t id, const struct port_dpdk_fds *before);
/* Call after the device was restarted. Returns what port_dpdk_wake_init() returns. */
int port_dpdk_wake_again(struct port_dpdk_wake *w);
void port_dpdk_wake_done(struct port_dpdk_wake *w);
/* Adds one more socket whose packets wake the worker. The caller still owns the socket. */
int port_dpdk_wake_add(struct port_dpdk_wake *w, int socket);
/* Call before blocking on fd. Returns false if packets are waiting already, or arming failed. */
bool port_dpdk_wake_arm(struct port_dpdk_wake *w);
/* Call after blocking, before the next rx. */
void port_dpdk_wake_disarm(struct port_dpdk_wake *w);

#endif
