/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to this folder: the memory that the worker and its helpers share, and the private state
 * of a helper process.
 *
 * fs_helper.c: the worker's side. fs_helper_run.c: a process from start to end. fs_helper_calls.c:
 * one call from its claim to its result. fs_helper_names.c, fs_helper_files.c: the operations.
 * fs_helper_sign.c: handles and signatures.
 */
#ifndef PLENUM_FS_HELPER_INTERNAL_H
#define PLENUM_FS_HELPER_INTERNAL_H

#include "dataplane/fuse/helper/fs_helper.h"
#include "dataplane/fuse/helper/fuse_ids.h"
#include <sys/stat.h>

#define HELPERS_PER_QUEUE 2U
#define HELPERS_PER_EXPORT ((HELPERS_QUEUE_MAX + 1) * HELPERS_PER_QUEUE)
#define HELPERS_FDS_STATIC 4096U /* the worker's descriptors when its sandbox starts */
#define HELPERS_DIR_BYTES 32768U /* one read of a directory */
#define HELPERS_FH_MAX 64U	 /* bytes of a kernel file handle */
#define HELPERS_FD_NAME_MAX 12	 /* a descriptor number as text */

enum helpers_call_state {
	CALL_FREE,
	CALL_WITH_WORKER, /* the worker fills it, or reads its result */
	CALL_QUEUED,	  /* in a ring, and no helper has begun it */
	CALL_RUNNING,	  /* a helper executes it */
	CALL_TAKEN_BACK,  /* the worker cancelled it while it was queued; its index is still in the
			   * ring */
};

/* A queue of calls, as indexes in helpers_export.calls: the worker adds them, the queue's helpers
 * take them. Both counters only grow; the entry of n is calls[n % HELPERS_CALLS_MAX]. */
struct helpers_ring {
	_Alignas(64) uint32_t head; /* calls taken so far; written by the helpers */
	_Alignas(64) uint32_t tail; /* calls added so far; written by the worker */
	uint16_t calls[HELPERS_CALLS_MAX];
};

struct helpers_export {
	struct helpers_ring queues[HELPERS_QUEUE_MAX]; /* by enum helpers_queue */
	/* Bit per call: its result is complete. Helpers set bits, the worker clears them. */
	_Alignas(64) uint64_t done[HELPERS_CALLS_MAX / 64];
	/* Written by the helpers before they reach STAGE_SERVING: */
	uint32_t gives_handles; /* 1: objects of the export have handles that can be reopened */
	uint64_t identity;	/* hash of the export's file system and root */
	struct helper_call calls[HELPERS_CALLS_MAX];
	/* used by the worker only */
	struct journal journal;
	int root_fd; /* the export's root, read by the helpers at STAGE_SERVING; -1 before */
	uint16_t free[HELPERS_CALLS_MAX]; /* indexes of the calls in CALL_FREE, */
	uint16_t n_free;		  /* and their number */
	char name[PLENUM_NAME_MAX];
};

/* A process as the worker sees it. */
struct helpers_proc {
	_Alignas(64) uint32_t asleep; /* 1: it waits on wake_fd, or is about to; set by the process,
				       * cleared by either */
	uint32_t stage;		      /* the enum helpers_stage that it reached */
	int32_t error;		      /* negative errno with which it failed at that stage; 0 */
	pid_t pid;
	int pidfd;		      /* the worker's; -1: not started */
	int wake_fd;		      /* eventfd that the worker writes to wake the process */
	unsigned export_index, queue; /* which calls it serves; unused in the watcher */
};

enum helpers_stage { STAGE_NONE, STAGE_STARTED, STAGE_SERVING, STAGE_STOP };

/* The memory that the worker shares with its helpers; mapped before they are started. */
struct fs_helper {
	/* written by helpers, read by the worker */
	_Alignas(64) uint32_t done_exports;  /* bit per export: `done` there may have a new bit */
	_Alignas(64) uint32_t worker_sleeps; /* 1: write done_fd after the next result; set by the
					      * worker, cleared by either */
	_Alignas(64) uint32_t stage; /* the stage to which the worker wants the processes to go */
	uint32_t broken;	     /* 1: a helper ended unexpectedly; set by the watcher */
	/* the worker's; the processes read it at a stage */
	uint32_t worker_id;
	int worker_pidfd; /* of the worker: hangs up when it ends */
	int done_fd;	  /* eventfd that wakes the worker */
	int epoll_fd;	  /* the worker's: done_fd and the watcher's pidfd */
	int key_fd;	  /* LAUNCH_FD_KEY, read by each helper at its start */
	uid_t uid;	  /* identity of the processes from STAGE_SERVING on */
	gid_t gid;
	unsigned n_exports, n_procs; /* used entries of `exports` and `procs` */
	uint8_t *arena;		     /* memory for data of calls, at the same address in all */
	size_t arena_bytes;
	size_t bytes;				    /* of this mapping */
	uint8_t fds_static[HELPERS_FDS_STATIC / 8]; /* bit per descriptor that was open when the
						     * worker entered its sandbox (sockets,
						     * devices, memory): after the worker's end
						     * the watcher closes these */
	uint16_t taken_back[LAUNCH_EXPORTS_MAX * HELPERS_CALLS_MAX]; /* calls that the worker took
								      * back from a queue:
								      * export << 8 | call */
	unsigned n_taken_back; /* of these, not delivered to the worker's callback yet */
	struct launch_ids ids[LAUNCH_IDS_MAX]; /* the configuration's ranges of mapped ids */
	uint32_t n_ids;
	bool sleeps;	 /* the value of worker_sleeps that the worker wrote last */
	uint64_t wakes;	 /* writes to done_fd that are unread or still to come */
	unsigned n_arms; /* checks of done_fd before a sleep; some read it although wakes is 0 */
	struct helpers_proc procs[1 + LAUNCH_EXPORTS_MAX * HELPERS_PER_EXPORT]; /* first: watcher */
	struct helpers_export exports[];
};

#define HELPERS_GROUPS_MAX 4U

/* Private to one helper process. Everything that it must rely on is copied while the worker is
 * still trusted, because a compromised worker can write to all shared memory. */
struct helper {
	struct fs_helper *pool;
	struct helpers_export *export;
	struct helpers_proc *proc; /* its own entry in pool->procs */
	unsigned export_index, queue;
	char export_name[PLENUM_NAME_MAX];
	struct journal journal; /* of the export */
	uintptr_t arena;	/* copies of pool->arena and its size, to check calls against */
	size_t arena_bytes;
	unsigned owner;	 /* names this process in the journal and in locks of directories */
	uint64_t key[2]; /* signs handles of the export; derived from the host's key */
	int root_fd;	 /* the export's root */
	int root_mount_id;
	bool gives_handles; /* as helpers_export.gives_handles */
	bool fine_times;    /* every change after a stat gets another ctime */
	uint64_t root_dev, root_ino;
	uint64_t caps;		 /* bit per capability: all that it may make effective */
	uint64_t caps_effective; /* those that are effective now */
	struct fuse_ids ids;	 /* the thread's current identity, with the next three */
	uint32_t umask;
	uint32_t n_groups, groups[HELPERS_GROUPS_MAX];
	/* The current call; valid within helper_call_run(). */
	struct helper_call call;     /* private copy, which the worker cannot change any more */
	struct helper_result result; /* its result, copied to shared memory at the end */
	int fd;			     /* descriptor to return to the worker; -1: none */
	struct journal_claim claim;  /* its record in the journal; rec NULL: idempotent */
	bool suspect;	    /* a helper was killed at this request: it may have been executed */
	uint32_t *locks[2]; /* directory locks that this call holds until it ends; NULL: none */
	_Alignas(8) uint8_t room[HELPERS_DIR_BYTES]; /* scratch: directory entries */
};

struct helper_kernel_dirent { /* layout of getdents64(2) */
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
	/* Sees the tail of fs_helper_submit() unless that sees `asleep` of this helper; other
	 * helpers move the head. */
	return __atomic_load_n(&r->head, __ATOMIC_SEQ_CST) ==
	       __atomic_load_n(&r->tail, __ATOMIC_SEQ_CST);
}

static inline void helpers_fd_wake(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return; /* the process is awake, or has ended */
}

/* fs_helper_run.c */
/* Main functions of the watcher and of a helper. Return the exit status. */
int helpers_watch(struct fs_helper *pool, struct helpers_proc *proc, struct journal *journals);
int helpers_run(struct fs_helper *pool, struct helpers_proc *proc, const struct journal *journal);

/* fs_helper_sign.c */
/* Uses root_fd as the export and derives its key from the host's. Negative errno. */
int helper_root_take(struct helper *self, const uint64_t key[2], int root_fd);
/* Signs the handle of an open file (name ""), or of a name in a directory: its length; 0: no
 * handle. */
uint8_t helper_sign(const struct helper *self, int fd, const char *name,
		    uint8_t to[FUSE_PROTO_HANDLE_MAX]);
/* A new O_PATH descriptor. -ESTALE: invalid signature, or the object is gone. */
int helper_open_signed(const struct helper *self, const uint8_t *handle, uint8_t len);
/* Identifies a file in evidence: never 0. */
uint64_t helper_object_id(const struct helper *self, int fd, const struct stat *st);

/* fs_helper_calls.c */
void helper_call_run(struct helper *self, struct helper_call *shared);

/* fs_helper_op.c */
/* For calls that take a path: the working directory is /proc/self/fd. */
const char *helper_fd_name(int fd, char name[HELPERS_FD_NAME_MAX]);
/* Sets the groups with which the user may access the objects a and b (-1: none). */
int helper_groups_set(struct helper *self, int a, int b);
/* Sets the thread's identity and privileges for the call. Negative errno: unchanged or partly
 * changed. */
int helper_creds(struct helper *self);
/* Restores all privileges for the rest of the call. */
void helper_creds_restore(struct helper *self);
int helper_answer_attr(struct helper *self, int fd);
/* Best effort, and without a check for extended attributes, which a write does not add. */
void helper_answer_stat(struct helper *self, int fd);
/* Whether the open file has no extended attributes visible to clients. */
bool helper_has_no_xattrs(int fd);
/* Answers with attributes, and with the handle if the object has one; of an open file, or of a
 * name. */
int helper_answer_entry(struct helper *self, int fd);
int helper_answer_name(struct helper *self, int dirfd, const char *name);
/* Result for an object of that kind that this call created and that has vanished since. */
void helper_answer_removed(struct helper *self, uint32_t fmt);
/* Records the state of the object at fd as evidence; -1: no object. */
void helper_evidence(const struct helper *self, int fd, struct journal_object *ret);
/*
 * Call before making a change: writes the evidence to the journal. 1: continue; 0: a helper was
 * killed at this request, and the result says what the evidence shows. a, b: the state that the
 * change alters, and thus proves it.
 */
int helper_log_intent(struct helper *self, const struct journal_object *a,
		      const struct journal_object *b);
/* Prevents changes of the directories by other helpers until the call ends. b -1: only one. */
int helper_lock(struct helper *self, int a, int b);
void helper_locks_drop(struct helper *self);

/* fs_helper_names.c, fs_helper_files.c: one operation each; 0 or negative errno; the result is
 * in self. a, b: the open objects of the call. */
typedef int helper_op_fn(struct helper *self, int a, int b);
helper_op_fn helper_op_lookup, helper_op_create, helper_op_tmpfile, helper_op_mknod,
	helper_op_mkdir, helper_op_symlink, helper_op_link, helper_op_unlink, helper_op_rmdir,
	helper_op_rename;
helper_op_fn helper_op_open_path, helper_op_open, helper_op_setattr, helper_op_getattr,
	helper_op_readlink, helper_op_getxattr, helper_op_listxattr, helper_op_setxattr,
	helper_op_removexattr, helper_op_readdir, helper_op_readdirplus, helper_op_statfs,
	helper_op_append, helper_op_fallocate, helper_op_copy, helper_op_lseek, helper_op_fsync,
	helper_op_close, helper_op_write;
/* Opens the regular file or directory behind an O_PATH descriptor for use. */
int helper_reopen(int path_fd, int oflags);
int helper_truncate(int fd, uint64_t size);
/* Truncates the open file to nothing, as open(2) with O_TRUNC does for this user. */
int helper_truncate_open(struct helper *self, int fd);

#endif
