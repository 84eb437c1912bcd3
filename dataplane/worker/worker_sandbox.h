/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Confines a worker before it reads the first packet, which anybody may have sent: takes away its
 * uid, its privileges, the host's files and most system calls. Three steps, in this order, because
 * DPDK needs the host's files until its devices are open:
 *
 *	sandbox_begin	one thread, full privilege: a separate mount namespace, the exports as
 *			detached mounts, the I/O helpers (fs_helper.h)
 *			(ports are opened)
 *	sandbox_enter	an empty root that contains only the exports; own uid; of the
 *			privileges those that serving files of other users needs, or none
 *			(the rest is built)
 *	sandbox_seal	the list of system calls that remain
 *
 * The worker exits if a step fails: none runs unconfined. Owns the state between the steps; called
 * by worker.c, and by the test that plays a worker under an attacker's control.
 */
#ifndef PLENUM_DATAPLANE_WORKER_SANDBOX_H
#define PLENUM_DATAPLANE_WORKER_SANDBOX_H

#include "dataplane/fuse/helper/fs_helper.h"
#include "dataplane/launch.h"
#include <sys/types.h>

enum sandbox_kind {
	SANDBOX_DESCRIPTORS, /* the role has opened all it needs: no privilege, no file except
			      * processes in procfs */
	SANDBOX_FILES,	     /* serves files of other users, from the exports */
};

struct sandbox {
	enum sandbox_kind kind;
	uid_t uid;
	gid_t gid;
	int trees[LAUNCH_EXPORTS_MAX]; /* detached mounts of the exports; -1: none, or attached */
	struct fs_helper *helper;      /* SANDBOX_FILES only */
	uint64_t boot;		       /* identifies this boot of the host's kernel */
	int device_fd;		       /* the descriptor by which files of RDMA devices that appear
					* later are found: /dev/infiniband/uverbs* in the empty root
					* are links to it; -1: no leg uses RDMA */
	int proc_fd;		       /* SANDBOX_DESCRIPTORS: a procfs of processes only, attached
					* nowhere; -1: not available */
	bool no_selinux;	       /* the kernel certainly has no SELinux */
};

/* The user that workers run as: plenum-worker if the host has it, else "nobody". */
void sandbox_user_get(uid_t *ret_uid, gid_t *ret_gid);
/* Each returns 0; negative errno with a line in why. */
/* key_fd: as fs_helper_start(); the key is not read here. */
int sandbox_begin(struct sandbox *s, enum sandbox_kind kind, const struct launch_config *cfg,
		  int key_fd, struct reason *why);
/* Afterwards the exports' descriptors in cfg are those of the detached mounts. */
int sandbox_enter(struct sandbox *s, const struct launch_config *cfg, struct reason *why);
/* dpdk: threads and timers of DPDK run in the process; rdma: it
 * may have RDMA devices. */
int sandbox_seal(enum sandbox_kind kind, bool dpdk, bool rdma, struct reason *why);
void sandbox_done(struct sandbox *s);

#endif
