/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Confines a worker before it reads the first packet, which any host may have sent: takes away
 * root's identity and privileges, the host's files, and most system calls. There are three steps,
 * in this order, because DPDK needs the host's files until its devices are open:
 *
 *	sandbox_begin	one thread, full privilege: a separate mount namespace, the exports as
 *			detached mounts, the I/O helpers (fs_helper.h)
 *			(ports are opened)
 *	sandbox_enter	an empty root that contains only the exports; the workers' uid;
 *			no privileges, or only those for serving files of other users
 *			(everything else is built)
 *	sandbox_seal	only the listed system calls are allowed
 *
 * The worker exits if a step fails, so it never runs unconfined. This module owns the state that is
 * needed between the steps. worker.c calls it, and so does a test that acts as a worker under an
 * attacker's control.
 */
#ifndef PLENUM_DATAPLANE_WORKER_SANDBOX_H
#define PLENUM_DATAPLANE_WORKER_SANDBOX_H

#include "dataplane/fuse/helper/fs_helper.h"
#include "dataplane/launch.h"
#include <sys/types.h>

enum sandbox_kind {
	SANDBOX_DESCRIPTORS, /* a role that has opened everything that it needs: no privileges, and
				no access to files except those of a procfs */
	SANDBOX_FILES,	     /* a role that serves files of other users from the exports */
};

struct sandbox {
	enum sandbox_kind kind;
	uid_t uid;
	gid_t gid;
	int trees[LAUNCH_EXPORTS_MAX]; /* descriptors of the exports' detached mounts; -1: the
					  export is unused, or its mount is attached already */
	struct fs_helper *helper;      /* SANDBOX_FILES only */
	uint64_t boot;		       /* a number that identifies this boot of the host's kernel */
	int device_fd; /* descriptor of the latest RDMA device file from the agent; -1: no leg uses
			  RDMA. The names /dev/infiniband/uverbs* in the empty root are links to
			  this descriptor, so that the RDMA library finds devices that appear later
			*/
	int proc_fd;   /* SANDBOX_DESCRIPTORS: a procfs that shows only processes and is mounted
			  nowhere; -1: not available */
	bool no_selinux; /* whether it is certain that the kernel does not use SELinux */
};

/* Returns the user whose identity workers have: plenum-worker if the host has this user, otherwise
 * "nobody". */
void sandbox_user_get(uid_t *ret_uid, gid_t *ret_gid);
/* Each step returns 0 or a negative errno with a sentence in why. */
/* key_fd: the descriptor that is passed to fs_helper_start(). This process does not read the
 * key. */
int sandbox_begin(struct sandbox *s, enum sandbox_kind kind, const struct launch_config *cfg,
		  int key_fd, struct reason *why);
/* After this step the exports' descriptors in cfg refer to the detached mounts. */
int sandbox_enter(struct sandbox *s, const struct launch_config *cfg, struct reason *why);
/* dpdk: the process has threads and timers of DPDK. rdma: the process may have RDMA devices. */
int sandbox_seal(enum sandbox_kind kind, bool dpdk, bool rdma, struct reason *why);
void sandbox_done(struct sandbox *s);

#endif
