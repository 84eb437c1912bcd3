/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The descriptor holder: a process that keeps copies of descriptors. The agent starts it
 * (fd_store.h), and it outlives the agent. So a mount or a pinned file survives even if the agent
 * dies and then a worker does. The holder does not need a service manager that stores descriptors.
 * It runs as root, so that no worker's user can signal it, but without capabilities, and it may
 * make only the system calls that it needs.
 *
 * Agents of other versions use the same messages: types may be added, but none may change.
 */
#ifndef PLENUM_AGENT_FD_HOLDER_H
#define PLENUM_AGENT_FD_HOLDER_H

#include "netcfg/base/log.h"

#define FD_HOLDER_ROLE "fd-holder"
#define FD_HOLDER_FD 3 /* descriptor of the listening SOCK_SEQPACKET socket in the process */
#define FD_HOLDER_MAGIC 0x66644850U
#define FD_HOLDER_VERSION 1
#define FD_HOLDER_NAME_MAX 112
#define FD_HOLDER_FDS_MAX 8192U

enum fd_holder_type {
	FD_HOLDER_PUT = 1, /* keep the attached descriptor, in place of one with the same name */
	FD_HOLDER_DROP,	   /* close the descriptor of that name */
	FD_HOLDER_LIST,	   /* reply with an ITEM for each descriptor, then LISTED */
	FD_HOLDER_QUIT,	   /* close all descriptors and exit */
	FD_HOLDER_ITEM,
	FD_HOLDER_LISTED, /* ends the list; has the holder's pid */
};

struct fd_holder_msg {
	uint32_t magic;
	uint16_t version, type;
	int32_t pid;
	uint32_t reserved;
	char name[FD_HOLDER_NAME_MAX]; /* NUL-terminated */
};

/* Sends a message, with the descriptor fd unless it is negative. Returns 0 or negative errno. */
int fd_holder_send(int sock, const struct fd_holder_msg *m, int fd, int flags);
/* Receives a message. *ret_fd is the message's descriptor, or -1 if it has none or if this process
 * has reached its limit of descriptors. Returns 1 if a message was received, 0 if the peer has
 * closed the connection, -EPROTO for an invalid message, or another negative errno. */
int fd_holder_receive(int sock, struct fd_holder_msg *m, int *ret_fd, int flags);

/*
 * Serves until a QUIT, or until no agent has been connected for alone_ns. Rejects clients of other
 * users than the holder's user. Returns the exit status of the process.
 */
int fd_holder_serve(int listen_fd, uint64_t alone_ns);
/* Main function of the holder's process. Returns its exit status. */
int fd_holder_main(enum log_level level);

#endif
