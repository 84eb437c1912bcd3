/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run-time state of a DPDK device: its link, resets of its PF, and wake-ups for waiting packets.
 * Private to the DPDK module; only port_dpdk.c uses it. Owns the descriptors it creates; does not
 * start, stop or read a device. Free of DPDK's headers.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_DEVICE_H
#define PLENUM_DATAPLANE_PORT_DPDK_DEVICE_H

#include "netcfg/base/base.h"

/* ---- link and reset ---- */

struct port_dpdk_state {
	uint16_t id;
	bool watched;	      /* a PCI device: reports resets */
	bool has_reported;    /* has reported a link at least once; before that "down" may be
				 meaningless */
	bool up;	      /* true if the device cannot report it */
	uint32_t reset;	      /* atomic: the PF was reset; the device carries nothing until it is
				 restarted */
	uint32_t wanted_back; /* atomic: the remover waits in the kernel until the device is closed
			       */
	char name[PLENUM_NAME_MAX];
	/* Not every driver reports resets, so a link that came back without receiving anything is
	 * suspect. */
	uint64_t check_ns, wait_ns; /* next check, and its interval; UINT64_MAX: none */
	uint64_t frames;	    /* frames received when the link came back */
};

/* Registers s for resets and removal requests until port_dpdk_state_end(); s must not move
 * meanwhile. */
void port_dpdk_state_begin(struct port_dpdk_state *s, uint16_t id, const char *name, bool on_pci);
void port_dpdk_state_end(struct port_dpdk_state *s);
/* Reads the link state from device registers: no system call, never waits. frames: total frames
 * received. */
void port_dpdk_state_poll(struct port_dpdk_state *s, uint64_t frames, uint64_t now_ns);
/* Whether to restart the device: once per reset, and only with a link, because then the PF answers
 * again; and, ever more rarely, while a recovered link stays silent. */
bool port_dpdk_state_needs_restart(struct port_dpdk_state *s, uint64_t now_ns);
bool port_dpdk_state_wanted_back(const struct port_dpdk_state *s);

/* ---- waking up ---- */

#define PORT_DPDK_SOCKETS_MAX 4

struct port_dpdk_wake {
	uint16_t id;
	int fd; /* polls readable when packets wait, once armed; -1: none */
	bool by_interrupt;
	bool armed;
	bool idle, rx_called; /* idle: nothing came since it was last armed; rx_called: rx was
				 called */
	unsigned n_sockets;
	int sockets[PORT_DPDK_SOCKETS_MAX]; /* owned by the device */
};

/* The open sockets of kinds that devices use, to distinguish them from sockets that a device opens.
 * A starting worker has far fewer descriptors than this covers. */
#define PORT_DPDK_FDS_MAX 1024U
struct port_dpdk_fds {
	uint64_t bits[PORT_DPDK_FDS_MAX / 64];
};
void port_dpdk_fds_note(struct port_dpdk_fds *f);

/* For a started device: wakes by its receive interrupts, else by the sockets it opened since
 * `before` was recorded. 0; -EOPNOTSUPP: it has neither. */
int port_dpdk_wake_init(struct port_dpdk_wake *w, uint16_t id, const struct port_dpdk_fds *before);
/* After the device was restarted. As port_dpdk_wake_init(). */
int port_dpdk_wake_again(struct port_dpdk_wake *w);
void port_dpdk_wake_done(struct port_dpdk_wake *w);
/* Adds a socket whose packets wake as well; the caller keeps it. */
int port_dpdk_wake_add(struct port_dpdk_wake *w, int socket);
/* Before blocking on fd. False: packets are waiting, or arming failed. */
bool port_dpdk_wake_arm(struct port_dpdk_wake *w);
/* After blocking, before the next rx. */
void port_dpdk_wake_disarm(struct port_dpdk_wake *w);

#endif
