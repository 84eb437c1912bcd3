/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs work in a child process, so that the monitor never blocks: the kernel, a lock or a file
 * system may block the child for any time. The child is a fork without exec. It sees the monitor's
 * memory as it was at the fork, and of the monitor's descriptors only the one named in the setup:
 * while a copy of the others is open, workers would not notice the monitor's death, and FUSE mounts
 * would not notice their owner's.
 *
 * The child reports via messages on one socket. It leads a session and outlives the monitor; it
 * then works to the end, and its messages are lost.
 */
#ifndef PLENUM_AGENT_CHILD_TASK_H
#define PLENUM_AGENT_CHILD_TASK_H

#include "agent/base/loop.h"
#include <sys/types.h>

#define CHILD_TASK_MESSAGE_MAX 2048
#define CHILD_TASK_KEPT_FD 4 /* in the child */

struct child_task;

struct child_task_setup {
	struct loop *loop; /* NULL: it has ended; child_task_await gives the result */
	const char *name;  /* for ps(1); at most 15 characters */
	int kept;	   /* a descriptor that the child inherits as CHILD_TASK_KEPT_FD; 0: none.
			    * Borrowed */
	/*
	 * Runs in the child: does the work, reports via child_task_send, returns the exit status.
	 */
	int (*work)(void *user, int channel);
	/*
	 * One message and the descriptor that came with it (-1: none), which is closed afterwards.
	 */
	void (*on_message)(void *user, const void *msg, size_t len, int fd);
	/* The child has exited and all its messages were delivered; the task is freed. `how`: "exit
	 * status 1", "killed by SIGKILL". */
	void (*on_end)(void *user, int status, const char *how);
	void *user;
};

/* 0 and *ret; negative errno if nothing was started. */
int child_task_start(const struct child_task_setup *setup, struct child_task **ret);
/* Stops listening: the child keeps running and no callback is called any more. Accepts NULL,
 * returns NULL. */
struct child_task *child_task_forget(struct child_task *t);
pid_t child_task_pid(const struct child_task *t);
/* Waits at most that many milliseconds for the child to exit; its callbacks have then been called.
 * False: it still runs. */
bool child_task_await(struct child_task *t, unsigned ms);
/* Sends a message to the child, which reads it from its channel. 0; negative errno. */
int child_task_tell(const struct child_task *t, const void *msg, size_t len);
/* In the child: sends a message, with fd unless it is negative, and waits until the monitor has
 * room for it. The message is lost if the monitor has exited. */
void child_task_send(int channel, const void *msg, size_t len, int fd);
/* The same for messages that may be lost, in the middle of work that must not wait. */
void child_task_mention(int channel, const void *msg, size_t len);

#endif
