/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a function in a child process, so that the monitor never blocks. The kernel, a lock or a
 * file system may block the child for any time. The child is a fork without exec: it sees the
 * monitor's memory as it was at the fork. It keeps none of the monitor's descriptors except the one
 * in the setup. If it kept others, workers would not notice that the monitor has exited, and FUSE
 * mounts would outlive their worker.
 *
 * The child reports by messages on a socket. It is the leader of a session and outlives the
 * monitor: if the monitor exits, the child completes its work, and its messages are lost.
 */
#ifndef PLENUM_AGENT_CHILD_TASK_H
#define PLENUM_AGENT_CHILD_TASK_H

#include "agent/base/loop.h"
#include <sys/types.h>

#define CHILD_TASK_MESSAGE_MAX 2048
#define CHILD_TASK_KEPT_FD 4 /* number that the kept descriptor has in the child */

struct child_task;

struct child_task_setup {
	struct loop *loop; /* NULL: the loop has ended, and the caller uses child_task_await */
	const char *name;  /* shown by ps(1); at most 15 characters */
	int kept; /* borrowed descriptor that the child inherits as CHILD_TASK_KEPT_FD; 0: none */
	/*
	 * The function that runs in the child. It reports with child_task_send and returns the exit
	 * status.
	 */
	int (*work)(void *user, int channel);
	/*
	 * Called for a message from the child, with its descriptor or -1. The descriptor is closed
	 * after the call.
	 */
	void (*on_message)(void *user, const void *msg, size_t len, int fd);
	/* Called when the child has exited and all its messages have been delivered. The task is
	 * freed after the call. `how`: for example "exit status 1" or "killed by SIGKILL". */
	void (*on_end)(void *user, int status, const char *how);
	void *user;
};

/* Starts the child. Returns 0 and *ret, or negative errno if nothing was started. */
int child_task_start(const struct child_task_setup *setup, struct child_task **ret);
/* Frees the task while the child keeps running; no callback is called any more. Accepts NULL,
 * returns NULL. */
struct child_task *child_task_forget(struct child_task *t);
pid_t child_task_pid(const struct child_task *t);
/* Waits at most `ms` milliseconds for the child's exit. Returns true if it has exited, and its
 * callbacks were called. Returns false if it still runs. */
bool child_task_await(struct child_task *t, unsigned ms);
/* Sends a message to the child, which reads it from its channel. Returns 0 or negative errno. */
int child_task_tell(const struct child_task *t, const void *msg, size_t len);
/* Called in the child: sends a message, with fd unless it is negative, and waits until the socket
 * has room. If the monitor has exited, the message is lost. */
void child_task_send(int channel, const void *msg, size_t len, int fd);
/* Called in the child: sends like child_task_send but does not wait. If the socket is full, the
 * message is lost. */
void child_task_mention(int channel, const void *msg, size_t len);

#endif
