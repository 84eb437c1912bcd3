/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the hands share and nobody else sees: the shared memory of a pool, and a hand's
 * own state, which no other process sees.
 *
 *	fs_helper.c	    the worker's end
 *	fs_helper_run.c    a process: its start, its privileges, its loop, its end
 *	fs_helper_calls.c  a call from its claim to its answer; what it was made as; evidence
 *	fs_helper_names.c  calls that change names
 *	fs_helper_files.c  calls on files
 *	fs_helper_sign.c   handles and their signatures
 */
#ifndef PLENUM_FS_HELPER_INTERNAL_H
#define PLENUM_FS_HELPER_INTERNAL_H

#include "dataplane/fuse/helper/fs_helper.h"
#include "dataplane/fuse/helper/fuse_ids.h"
#include <sys/stat.h>

#define HELPERS_PER_QUEUE 2U
#define HELPERS_PER_EXPORT ((HELPERS_QUEUE_MAX + 1) * HELPERS_PER_QUEUE)
#define HELPERS_FDS_STATIC 4096U /* descriptors that the worker has when it is confined */
#define HELPERS_DIR_BYTES 32768U /* of a directory, read at once */
#define HELPERS_FH_MAX 64U	 /* bytes of a kernel file handle */
#define HELPERS_FD_NAME_MAX 12	 /* a descriptor's number */

enum helpers_call_state {
	CALL_FREE,
	CALL_WITH_WORKER, /* being filled, or back */
	CALL_QUEUED,
	CALL_RUNNING,
	CALL_TAKEN_BACK, /* by the worker; the lane still shows it */
};

/* Of indexes of calls. One producer, the worker; the hands of the lane take from it. */
struct helpers_ring {
	_Alignas(64) uint32_t head; /* hands */
	_Alignas(64) uint32_t tail; /* the worker */
	uint16_t calls[HELPERS_CALLS_MAX];
};

struct helpers_export {
	struct helpers_ring queues[HELPERS_QUEUE_MAX];
	_Alignas(64) uint64_t done[HELPERS_CALLS_MAX / 64]; /* hands set bits, the worker takes */
	uint32_t gives_handles;
	uint64_t identity;
	struct helper_call calls[HELPERS_CALLS_MAX];
	/* the worker's */
	struct journal journal;
	int root_fd;
	uint16_t free[HELPERS_CALLS_MAX], n_free;
	char name[PLENUM_NAME_MAX];
};

/* As the worker sees a process. */
struct helpers_proc {
	_Alignas(64) uint32_t asleep;
	uint32_t stage; /* enum helpers_stage it has reached */
	int32_t error;	/* why it did not get further */
	pid_t pid;
	int pidfd, wake_fd;
	unsigned export_index, queue; /* of the watcher: none */
};

enum helpers_stage { STAGE_NONE, STAGE_STARTED, STAGE_SERVING, STAGE_STOP };

struct fs_helper {
	/* written by hands, read by the worker */
	_Alignas(64) uint32_t done_exports; /* bits */
	_Alignas(64) uint32_t worker_sleeps;
	_Alignas(64) uint32_t stage; /* that the processes shall reach */
	uint32_t broken;	     /* one of them has ended before its time */
	/* the worker's; the processes read it at a stage */
	uint32_t worker_id;
	int worker_pidfd, done_fd, epoll_fd, key_fd;
	uid_t uid;
	gid_t gid;
	unsigned n_exports, n_procs;
	uint8_t *arena;
	size_t arena_bytes, bytes;
	uint8_t fds_static[HELPERS_FDS_STATIC / 8];
	uint16_t taken_back[LAUNCH_EXPORTS_MAX * HELPERS_CALLS_MAX]; /* export << 8 | call */
	unsigned n_taken_back;
	bool sleeps;	/* worker_sleeps as the worker has left it */
	uint64_t wakes; /* of hands, that it knows of and has not read */
	unsigned n_arms;
	struct helpers_proc procs[1 + LAUNCH_EXPORTS_MAX * HELPERS_PER_EXPORT]; /* first: watcher */
	struct helpers_export exports[];
};

#define HELPERS_GROUPS_MAX 4U

/* A process's own: what it must be able to rely on is copied while the worker can still be trusted,
 * for whoever takes that over writes in all that is shared. */
struct helper {
	struct fs_helper *pool;
	struct helpers_export *export;
	struct helpers_proc *proc;
	unsigned export_index, queue;
	char export_name[PLENUM_NAME_MAX];
	struct journal journal;
	uintptr_t arena;
	size_t arena_bytes;
	unsigned life;
	uint64_t key[2]; /* of the export */
	int root_fd, root_mount_id;
	bool gives_handles;
	bool fine_times; /* no change after a look leaves ctime as it was */
	uint64_t root_dev, root_ino;
	uint64_t caps;		 /* those it keeps */
	uint64_t caps_effective; /* effective at present */
	struct fuse_ids ids;	 /* of the thread at present, as are these */
	uint32_t umask;
	uint32_t n_groups, groups[HELPERS_GROUPS_MAX];
	struct helper_call call;     /* a copy of the one at work */
	struct helper_result result; /* of it */
	int fd;			     /* for the worker */
	struct journal_claim claim;
	bool suspect;
	uint32_t *locks[2]; /* held */
	_Alignas(8) uint8_t room[HELPERS_DIR_BYTES];
};

struct helper_reply_dirent { /* as getdents64(2) gives them */
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

struct helpers_fh {
	union {
		struct file_handle h;
		uint8_t space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	};
};

static inline bool helpers_ring_is_empty(const struct helpers_ring *r)
{
	/* Pairs with fs_helper_submit() and with other hands. */
	return __atomic_load_n(&r->head, __ATOMIC_SEQ_CST) ==
	       __atomic_load_n(&r->tail, __ATOMIC_SEQ_CST);
}

static inline void helpers_fd_wake(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return; /* it is awake, or nobody is there any more */
}

/* fs_helper_run.c */
/* The watcher's life, and a hand's. Return the exit status. */
int helpers_watch(struct fs_helper *pool, struct helpers_proc *proc, struct journal *journals);
int helpers_run(struct fs_helper *pool, struct helpers_proc *proc, const struct journal *journal);

/* fs_helper_sign.c */
/* Takes root_fd for the export and makes its key out of the host's. Negative errno. */
int helper_root_take(struct helper *self, const uint64_t key[2], int root_fd);
/* The signed handle of an open file (name ""), or of what the name in a directory shows: its
 * length; 0: it has none. */
uint8_t helper_sign(const struct helper *self, int fd, const char *name,
		    uint8_t to[FUSE_PROTO_HANDLE_MAX]);
/* A new O_PATH descriptor. -ESTALE: not ours, or gone. */
int helper_open_signed(const struct helper *self, const uint8_t *handle, uint8_t len);
/* What a file is for evidence: never 0. */
uint64_t helper_object_id(const struct helper *self, int fd, const struct stat *st);

/* fs_helper_calls.c */
void helper_call_run(struct helper *self, struct helper_call *shared);
/* For calls that take a path: the process stands in its own /proc/self/fd. */
const char *helper_fd_name(int fd, char name[HELPERS_FD_NAME_MAX]);
/* The thread's identity and privileges for the call. Negative errno: it has others. */
int helper_creds(struct helper *self);
/* With all privileges again, for the rest of the call. */
void helper_creds_restore(struct helper *self);
int helper_answer_attr(struct helper *self, int fd);
/* The same, where it is to be had, without a look for extended attributes: what was written brings
 * none. */
void helper_answer_stat(struct helper *self, int fd);
/* Whether the open file has no extended attributes that clients might ask for. */
bool helper_has_no_xattrs(int fd);
/* With the handle, where there is one; of an open file, or of what a name shows. */
int helper_answer_entry(struct helper *self, int fd);
int helper_answer_name(struct helper *self, int dirfd, const char *name);
/* Of something of that kind that was made by this call and is there no more. */
void helper_answer_removed(struct helper *self, uint32_t fmt);
/* Notes what stands at fd; -1: nothing does. */
void helper_evidence(const struct helper *self, int fd, struct journal_object *ret);
/*
 * The change is made next: the evidence is written down. 1: go on; 0: a former hand was killed over
 * this, and what can be said about it is the answer. a, b: what shows whether the change was made,
 * for it changes with it.
 */
int helper_log_intent(struct helper *self, const struct journal_object *a,
		      const struct journal_object *b);
/* What is in a directory does not change by other hands' doing until the call is done. b -1: one
 * only. */
int helper_lock(struct helper *self, int a, int b);

/* fs_helper_names.c, fs_helper_files.c: a call each; 0 or negative errno; the answer is in hd.
 * a, b: what the call is about, open. */
typedef int helper_op_fn(struct helper *self, int a, int b);
helper_op_fn helper_op_lookup, helper_op_create, helper_op_tmpfile, helper_op_mknod,
	helper_op_mkdir, helper_op_symlink, helper_op_link, helper_op_unlink, helper_op_rmdir,
	helper_op_rename;
helper_op_fn helper_op_open_path, helper_op_open, helper_op_setattr, helper_op_getattr,
	helper_op_readlink, helper_op_getxattr, helper_op_listxattr, helper_op_setxattr,
	helper_op_removexattr, helper_op_readdir, helper_op_readdirplus, helper_op_statfs,
	helper_op_append, helper_op_fallocate, helper_op_copy, helper_op_lseek, helper_op_fsync,
	helper_op_close, helper_op_write;
/* A descriptor by which the regular file or directory behind the O_PATH one is used. */
int helper_reopen(int path_fd, int oflags);
int helper_truncate(int fd, uint64_t size);

#endif
