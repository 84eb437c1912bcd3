/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a worker gives up before it reads the first packet, which anybody may have sent: its uid,
 *its privileges, the host's files, most system calls. Three steps, in this order, because DPDK
 *needs the host's files until its devices are open:
 *
 *	sandbox_begin	one thread, full privilege: a mount namespace of its own, the exports as
 *			detached mounts, the hands (fs_helper.h)
 *			(ports are opened)
 *	sandbox_enter	an empty root with nothing in it but the exports; own uid; of the
 *			privileges those that serving files of other users needs, or none
 *			(the rest is built)
 *	sandbox_seal	the list of system calls that remain
 *
 * A step that fails is the end of the worker: none runs outside. Owns what lies between the steps;
 * called by worker.c, and by the test that plays a worker which was taken over.
 */
#ifndef PLENUM_DATAPLANE_WORKER_SANDBOX_H
#define PLENUM_DATAPLANE_WORKER_SANDBOX_H

#include "dataplane/fuse/helper/fs_helper.h"
#include "dataplane/launch.h"
#include <sys/types.h>

enum sandbox_kind {
	SANDBOX_DESCRIPTORS, /* all that the role needs it has open: no privilege, no file but those
			      * of procfs that tell anybody of a process */
	SANDBOX_FILES,	     /* serves files of other users, from the exports */
};

struct sandbox {
	enum sandbox_kind kind;
	uid_t uid;
	gid_t gid;
	int trees[LAUNCH_EXPORTS_MAX]; /* detached mounts of the exports; -1: none, or attached */
	struct fs_helper *hands;       /* SANDBOX_FILES only */
	uint64_t boot;		       /* names this run of the host's kernel */
	int device_fd;		       /* the number by which the files of RDMA devices are found
					* that come later: /dev/infiniband/uverbs* of the empty root
					* are links to it; -1: no leg takes any */
	int proc_fd;		       /* SANDBOX_DESCRIPTORS: a procfs of processes and no more,
					* attached nowhere; -1: the kernel gives none */
	bool no_selinux;	       /* the kernel has none, for certain */
};

/* Whom workers run as: user plenum-worker, where the host has it, else nobody. */
void sandbox_user_get(uid_t *ret_uid, gid_t *ret_gid);
/* Each: 0; negative errno with a line in why (LAUNCH_REASON_MAX bytes). */
/* key_fd: as fs_helper_start(); the key is not read here. */
int sandbox_begin(struct sandbox *s, enum sandbox_kind kind, const struct launch_config *cfg,
		  int key_fd, char *why);
/* Afterwards the exports' descriptors in cfg are those of the detached mounts. */
int sandbox_enter(struct sandbox *s, const struct launch_config *cfg, char *why);
/* dpdk: threads and timers of DPDK run in the process; rdma: it
 * may have RDMA devices. */
int sandbox_seal(enum sandbox_kind kind, bool dpdk, bool rdma, char *why);
void sandbox_done(struct sandbox *s);

#endif
