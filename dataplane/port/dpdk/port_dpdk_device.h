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
	bool has_reported;    /* the device has reported its link as up at least once; before that,
				 "down" may mean that the device cannot report its link */
	bool up;	      /* whether the link is up; always true if the device cannot report
				 its link */
	uint32_t reset;	      /* atomic: the PF was reset, and the device transfers nothing until it
				 is restarted */
	uint32_t wanted_back; /* atomic: the kernel wants to remove the device and waits until the
				 worker closes it */
	char name[PLENUM_NAME_MAX];
	/* Not every driver reports resets. So the device is also restarted if its link came back
	 * and the device then receives nothing for a while. */
	uint64_t check_ns, wait_ns; /* check_ns: when to check next whether the device has received
				       anything; UINT64_MAX: never. wait_ns: interval until the
				       check after that */
	uint64_t frames;	    /* count of frames received when the link came back */
};

/* Registers s for resets and requests to remove the device, until port_dpdk_state_end(); s must not
 * move meanwhile. */
void port_dpdk_state_begin(struct port_dpdk_state *s, uint16_t id, const char *name, bool on_pci);
void port_dpdk_state_end(struct port_dpdk_state *s);
/* Reads the link state from device registers, without a system call or waiting. frames: total
 * number of frames received. */
void port_dpdk_state_poll(struct port_dpdk_state *s, uint64_t frames, uint64_t now_ns);
/* Returns whether to restart the device now. After a reset, returns true once, when the link is up,
 * because the PF does not answer earlier. While a recovered link receives nothing, returns true at
 * growing intervals. */
bool port_dpdk_state_needs_restart(struct port_dpdk_state *s, uint64_t now_ns);
bool port_dpdk_state_wanted_back(const struct port_dpdk_state *s);

/* ---- waking up ---- */

#define PORT_DPDK_SOCKETS_MAX 4

struct port_dpdk_wake {
	uint16_t id;
	int fd; /* after arming, this descriptor becomes readable when packets are waiting; -1: the
		   device has none */
	bool by_interrupt;
	bool armed;
	bool idle, rx_called; /* idle: no packets have arrived since the descriptor was last armed;
				 rx_called: rx was called since then */
	unsigned n_sockets;
	int sockets[PORT_DPDK_SOCKETS_MAX]; /* sockets that the device has opened and owns */
};

/* The open sockets of the types that devices use. The list is recorded before a device is opened,
 * so sockets that are not in it belong to the device. A worker that starts has far fewer
 * descriptors than the list can contain. */
#define PORT_DPDK_FDS_MAX 1024U
struct port_dpdk_fds {
	uint64_t bits[PORT_DPDK_FDS_MAX / 64];
};
void port_dpdk_fds_note(struct port_dpdk_fds *f);

/* Prepares the wake-up by a started device: by the device's receive interrupts. A device without
 * receive interrupts wakes the worker by the sockets that it has opened since `before` was
 * recorded. Returns 0, or -EOPNOTSUPP if it has neither. */
int port_dpdk_wake_init(struct port_dpdk_wake *w, uint16_t id, const struct port_dpdk_fds *before);
/* Call after the device was restarted. Returns the same values as port_dpdk_wake_init(). */
int port_dpdk_wake_again(struct port_dpdk_wake *w);
void port_dpdk_wake_done(struct port_dpdk_wake *w);
/* Adds one more socket whose packets wake the worker. The caller still owns the socket. */
int port_dpdk_wake_add(struct port_dpdk_wake *w, int socket);
/* Call before waiting on fd. Returns false if packets are waiting already, or if arming has
 * failed. */
bool port_dpdk_wake_arm(struct port_dpdk_wake *w);
/* Call after waiting, before the next rx. */
void port_dpdk_wake_disarm(struct port_dpdk_wake *w);

#endif
