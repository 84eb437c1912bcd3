/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The descriptor holder: a process that does nothing but keep copies of descriptors. It is started
 * by the agent (fd_store.h) and outlives it, so that a mount or a pinned file survives the death of
 * the agent and of a worker in turn, with or without a service manager that stores descriptors. It
 * runs as root without capabilities, so that no worker's user can signal it, and may make only the
 * system calls that it needs.
 *
 * Agents of other versions talk to it: these messages may gain types, but none may change.
 */
#ifndef PLENUM_AGENT_FD_HOLDER_H
#define PLENUM_AGENT_FD_HOLDER_H

#include "netcfg/base/log.h"

#define FD_HOLDER_ROLE "fd-holder"
#define FD_HOLDER_FD 3 /* in the process: its listening SOCK_SEQPACKET socket */
#define FD_HOLDER_MAGIC 0x66644850U
#define FD_HOLDER_VERSION 1
#define FD_HOLDER_NAME_MAX 112
#define FD_HOLDER_FDS_MAX 8192U

enum fd_holder_type {
	FD_HOLDER_PUT = 1, /* keep the descriptor that comes with it; one of that name is closed */
	FD_HOLDER_DROP,	   /* close the descriptor of that name */
	FD_HOLDER_LIST,	   /* answered by an ITEM with a descriptor for each, and by LISTED */
	FD_HOLDER_QUIT,	   /* close all and exit */
	FD_HOLDER_ITEM,
	FD_HOLDER_LISTED, /* with the holder's pid */
};

struct fd_holder_msg {
	uint32_t magic;
	uint16_t version, type;
	int32_t pid;
	uint32_t reserved;
	char name[FD_HOLDER_NAME_MAX]; /* ends with a null character */
};

/* Sends the message, with a descriptor unless fd is negative. 0 or negative errno. */
int fd_holder_send(int sock, const struct fd_holder_msg *m, int fd, int flags);
/* Receives one. Its descriptor in *ret_fd, -1: none,
 * or this process may open no more. 1; 0: the peer has closed; -EPROTO: not such a
 * message; other negative errno. */
int fd_holder_receive(int sock, struct fd_holder_msg *m, int *ret_fd, int flags);

/*
 * Serves until a QUIT, or until no agent has been connected for alone_ns. Clients of other users
 * than ours are refused. Returns the exit status of the process.
 */
int fd_holder_serve(int listen_fd, uint64_t alone_ns);
/* Main function of the process. */
int fd_holder_main(enum log_level level);

#endif
