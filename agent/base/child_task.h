/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work in a child of its own, so that the monitor never blocks: the kernel, a lock or a file system
 * may keep the child waiting for as long as they like. The child is a fork without exec: it sees
 * what the monitor had in memory at that moment, and of the monitor's descriptors at most the one
 * that is named (workers would not notice the monitor's death, nor FUSE mounts that of their owner,
 * while a copy is open).
 * It says what it has to say by messages on one socket. It leads a session of its own and outlives
 * the monitor; what it says then goes nowhere, and it ends when its work is done.
 */
#ifndef PLENUM_AGENT_JOB_H
#define PLENUM_AGENT_JOB_H

#include "agent/base/loop.h"
#include <sys/types.h>

#define CHILD_TASK_MESSAGE_MAX 2048
#define CHILD_TASK_KEPT_FD 4 /* in the child */

struct child_task;

struct child_task_setup {
	struct loop *loop;
	const char *name; /* for ps(1); at most 15 characters */
	int kept; /* a descriptor that the child has, too, as CHILD_TASK_KEPT_FD; 0: none. Borrowed
		   */
	/* In the child: does the work, says what is to be said by child_task_send, returns the exit
	 * status. */
	int (*work)(void *user, int channel);
	/* One message, and the descriptor that came with it (-1: none), which is closed
	 * afterwards. */
	void (*on_message)(void *user, const void *msg, size_t len, int fd);
	/* It is gone and all its messages have been handed over; the job is freed. `how`:
	 * "exit status 1", "killed by SIGKILL". */
	void (*on_end)(void *user, int status, const char *how);
	void *user;
};

/* 0 and *ret; negative errno where nothing was started. */
int child_task_start(const struct child_task_setup *setup, struct child_task **ret);
/* Lets it go on alone: its callbacks are not called any more. Accepts NULL, returns NULL. */
struct child_task *child_task_forget(struct child_task *j);
pid_t child_task_pid(const struct child_task *j);
/* Waits until it has ended, so many milliseconds at most; its callbacks have been called then.
 * False: it goes on. */
bool child_task_await(struct child_task *j, unsigned ms);
/* Says something to the child, which reads it from its channel when it likes. 0; negative errno. */
int child_task_tell(const struct child_task *j, const void *msg, size_t len);
/* In the child: sends a message, with fd where it is not negative, and waits until the monitor has
 * room for it. Where the monitor is gone it is lost. */
void child_task_send(int channel, const void *msg, size_t len, int fd);
/* The same for news that may be lost, in the middle of work that must not wait. */
void child_task_mention(int channel, const void *msg, size_t len);

#endif
