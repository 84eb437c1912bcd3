/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to this folder: the memory that the worker and its helpers share, and the private state
 * of a helper process.
 *
 * fs_helper.c is the worker's side. fs_helper_run.c runs a process from start to end.
 * fs_helper_calls.c executes one call, from its claim to its result. fs_helper_names.c and
 * fs_helper_files.c have the operations. fs_helper_sign.c has handles and signatures.
 */
#ifndef PLENUM_FS_HELPER_INTERNAL_H
#define PLENUM_FS_HELPER_INTERNAL_H

#include "dataplane/fuse/helper/fs_helper.h"
#include "dataplane/fuse/helper/fuse_ids.h"
#include <sys/stat.h>

#define HELPERS_PER_QUEUE 2U
#define HELPERS_PER_EXPORT ((HELPERS_QUEUE_MAX + 1) * HELPERS_PER_QUEUE)
/* The descriptors that the worker has open when it enters its sandbox have numbers below this. */
#define HELPERS_FDS_STATIC 4096U
/* Maximum number of bytes that one getdents64(2) call may return. */
#define HELPERS_DIR_BYTES 32768U
/* Longest kernel file handle in bytes that Plenum can sign; the kernel's limit is 128. */
#define HELPERS_FH_MAX 64U
#define HELPERS_FD_NAME_MAX 12 /* size of a descriptor number as text */

enum helpers_call_state {
	CALL_FREE,
	CALL_WITH_WORKER, /* the worker writes the call's arguments, or reads its result */
	CALL_QUEUED,	  /* the call is in a ring, and no helper has begun it */
	CALL_RUNNING,	  /* a helper executes the call */
	CALL_TAKEN_BACK,  /* the worker cancelled the call before a helper took it; the call's
			     index is still in the ring */
};

/* A queue of calls. The entries are indexes into helpers_export.calls. The worker adds calls, and
 * the helpers of the queue take them. Both counters only grow; call number n is in entry n %
 * HELPERS_CALLS_MAX. */
struct helpers_ring {
	_Alignas(64) uint32_t head; /* calls taken so far; written by the helpers */
	_Alignas(64) uint32_t tail; /* calls added so far; written by the worker */
	uint16_t calls[HELPERS_CALLS_MAX];
};

struct helpers_export {
	struct helpers_ring queues[HELPERS_QUEUE_MAX]; /* one ring for each enum helpers_queue */
	/* A bit for each call whose result is complete. Helpers set the bits, the worker clears
	 * them. */
	_Alignas(64) uint64_t done[HELPERS_CALLS_MAX / 64];
	/* The helpers write these before they reach STAGE_SERVING. */
	uint32_t gives_handles; /* 1: objects of the export have handles that can be reopened */
	uint64_t identity;	/* hash of the export's file system and root */
	struct helper_call calls[HELPERS_CALLS_MAX];
	/* the worker's view of the journal; each helper process has a separate view */
	struct journal journal;
	int root_fd; /* descriptor of the export's root, which the helpers copy at STAGE_SERVING; -1
			before */
	uint16_t free[HELPERS_CALLS_MAX]; /* indexes of the calls in CALL_FREE */
	uint16_t n_free;		  /* count of entries in use of `free` */
	char name[PLENUM_NAME_MAX];
};

/* A process as the worker sees it. */
struct helpers_proc {
	_Alignas(64) uint32_t asleep; /* 1: the process waits on wake_fd or is about to; set by the
					 process, cleared by the process or the worker */
	uint32_t stage;		      /* the enum helpers_stage that the process has reached */
	int32_t error;		      /* negative errno if the process failed at that stage,
					 else 0 */
	pid_t pid;
	int pidfd;		      /* owned by the worker; -1: not started */
	int wake_fd;		      /* eventfd to which the worker writes to wake the process */
	unsigned export_index, queue; /* export and queue whose calls the process serves; unused
					 in the watcher */
};

enum helpers_stage { STAGE_NONE, STAGE_STARTED, STAGE_SERVING, STAGE_STOP };

/* The memory that the worker shares with its helpers; mapped before they are started. */
struct fs_helper {
	/* written by helpers, read by the worker */
	_Alignas(64) uint32_t done_exports;  /* a bit for each export whose `done` may have a new
						bit */
	_Alignas(64) uint32_t worker_sleeps; /* 1: a helper must write to done_fd after its next
						result; set by the worker, cleared by the worker or
						a helper */
	_Alignas(64) uint32_t stage; /* the stage that the worker wants the processes to reach */
	uint32_t broken;	     /* 1: a helper has ended unexpectedly; set by the watcher */
	/* The worker writes the following members; the processes read them when they reach a
	 * stage. */
	uint32_t worker_id;
	int worker_pidfd; /* pidfd of the worker, which signals its end */
	int done_fd;	  /* eventfd that wakes the worker */
	int epoll_fd;	  /* owned by the worker; watches done_fd and the watcher's pidfd */
	int key_fd;	  /* LAUNCH_FD_KEY, read by each helper at its start */
	uid_t uid;	  /* identity of the processes from STAGE_SERVING on */
	gid_t gid;
	unsigned n_exports, n_procs; /* count of used entries in `exports` and `procs` */
	uint8_t *arena; /* memory for data of calls, at the same address in all processes */
	size_t arena_bytes;
	size_t bytes; /* size in bytes of the mapping that contains this struct */
	/* A bit for each descriptor that was open when the worker entered its sandbox (sockets,
	 * devices, memory). The watcher closes these after the worker's end. */
	uint8_t fds_static[HELPERS_FDS_STATIC / 8];
	/* Calls that the worker has cancelled before a helper took them, as export << 8 | call. */
	uint16_t taken_back[LAUNCH_EXPORTS_MAX * HELPERS_CALLS_MAX];
	/* Count of entries in taken_back that the worker's callback has not received yet. */
	unsigned n_taken_back;
	struct launch_ids ids[LAUNCH_IDS_MAX]; /* the configuration's ranges of mapped ids */
	uint32_t n_ids;
	bool sleeps;	 /* the value that the worker last wrote to worker_sleeps */
	uint64_t wakes;	 /* expected wake-ups: how many writes to done_fd were made or will be made,
			    and were not read yet */
	unsigned n_arms; /* count of calls of wakes_read() while `wakes` is 0; a few of them read
			    done_fd nevertheless */
	struct helpers_proc procs[1 + LAUNCH_EXPORTS_MAX * HELPERS_PER_EXPORT]; /* the first entry
										   is the watcher */
	struct helpers_export exports[];
};

#define HELPERS_GROUPS_MAX 4U

/* The private state of one helper process. The helper must not rely on shared memory, to which a
 * compromised worker can write. So a helper copies everything on which it relies while the worker
 * is still trusted. */
struct helper {
	struct fs_helper *pool;
	struct helpers_export *export;
	struct helpers_proc *proc; /* this process's entry in pool->procs */
	unsigned export_index, queue;
	char export_name[PLENUM_NAME_MAX];
	struct journal journal; /* the journal of the export that this helper serves */
	uintptr_t arena; /* copies of pool->arena and pool->arena_bytes, by which the helper checks
			    where the data of a call is */
	size_t arena_bytes;
	unsigned owner;	 /* ID of this process as an owner of journal records and of directory locks
			  */
	uint64_t key[2]; /* key for signing the export's handles; derived from the host's key */
	int root_fd;	 /* the export's root */
	int root_mount_id;
	bool gives_handles; /* value of helpers_export.gives_handles */
	bool fine_times;    /* with this file system, each change of a file after a read of its
			       attributes gets a new ctime */
	uint64_t root_dev, root_ino;
	uint64_t caps;		 /* bit mask of the capabilities that the helper may make
				    effective */
	uint64_t caps_effective; /* bit per capability that is effective now */
	struct fuse_ids ids;	 /* the thread's current identity, which the next three members
				    complete */
	uint32_t umask;
	uint32_t n_groups, groups[HELPERS_GROUPS_MAX];
	/* The current call; valid during helper_call_run(). */
	struct helper_call call;     /* private copy, which the worker cannot change any more */
	struct helper_call *shared;  /* the original, only to write helper_call.work_bytes */
	struct helper_result result; /* result of the current call, copied to shared memory at
					the end */
	int fd;			     /* descriptor to return to the worker; -1: none */
	/* The call's claim of its journal record. claim.rec is NULL if the call may be executed
	 * twice. */
	struct journal_claim claim;
	bool suspect; /* a helper was killed while it executed this request, so the request may have
			 been executed */
	uint32_t *locks[2]; /* the locks of directories that the call holds; NULL: none */
	_Alignas(8) uint8_t room[HELPERS_DIR_BYTES]; /* temporary space for directory entries */
};

struct helper_kernel_dirent { /* The layout of the entries that getdents64(2) returns. */
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
	/* fs_helper_submit() adds a call, then reads `asleep`. This helper has set `asleep`, and
	 * now looks for a call. So either this helper sees the call, or fs_helper_submit() wakes
	 * it. The head is read atomically, because other helpers may move it. */
	return __atomic_load_n(&r->head, __ATOMIC_SEQ_CST) ==
	       __atomic_load_n(&r->tail, __ATOMIC_SEQ_CST);
}

static inline void helpers_fd_wake(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return; /* the process is awake already, or has ended */
}

/* fs_helper_run.c */
/* The main functions of the watcher and of a helper. They return the exit status. */
int helpers_watch(struct fs_helper *pool, struct helpers_proc *proc, struct journal *journals);
int helpers_run(struct fs_helper *pool, struct helpers_proc *proc, const struct journal *journal);

/* fs_helper_sign.c */
/* Makes root_fd the root of the export, and derives the export's key from the host's key. Returns 0
 * or a negative errno. */
int helper_root_take(struct helper *self, const uint64_t key[2], int root_fd);
/* Signs the handle of an open file (name ""), or of the object with this name in a directory.
 * Returns its length, or 0 if no handle can be made. */
uint8_t helper_sign(const struct helper *self, int fd, const char *name,
		    uint8_t to[FUSE_PROTO_HANDLE_MAX]);
/* Opens an O_PATH descriptor for a signed handle. Returns -ESTALE if the signature is invalid or
 * the object does not exist any more. */
int helper_open_signed(const struct helper *self, const uint8_t *handle, uint8_t len);
/* Returns a hash that identifies a file in the journal's evidence; never 0. */
uint64_t helper_object_id(const struct helper *self, int fd, const struct stat *st);

/* fs_helper_calls.c */
void helper_call_run(struct helper *self, struct helper_call *shared);

/* fs_helper_op.c */
/* Returns the descriptor's number as text, which is a path for system calls: the working directory
 * is /proc/self/fd. */
const char *helper_fd_name(int fd, char name[HELPERS_FD_NAME_MAX]);
/* Sets the process's groups to those that give the user access to the objects a and b; -1: no
 * object. */
int helper_groups_set(struct helper *self, int a, int b);
/* Sets the thread's identity and privileges for the call. Returns 0 or a negative errno. After an
 * error, the identity may be changed in part. */
int helper_creds(struct helper *self);
/* Restores all privileges for the rest of the call. */
void helper_creds_restore(struct helper *self);
int helper_answer_attr(struct helper *self, int fd);
/* Adds the attributes of the open file to the result if possible. Does not check for extended
 * attributes, because no write adds any. */
void helper_answer_stat(struct helper *self, int fd);
/* Returns whether the open file has no extended attributes visible to clients. */
bool helper_has_no_xattrs(int fd);
/* Add to the result the object's attributes and, if the object has a handle, the handle. _entry:
 * for an open file; _name: for a name in a directory. */
int helper_answer_entry(struct helper *self, int fd);
int helper_answer_name(struct helper *self, int dirfd, const char *name);
/* Makes the result for an object of type fmt that this call has created and a local user has
 * removed since. */
void helper_answer_removed(struct helper *self, uint32_t fmt);
/* Writes the state of the object at fd to *ret, as evidence for the journal; fd -1: the object does
 * not exist. */
void helper_evidence(const struct helper *self, int fd, struct journal_object *ret);
/*
 * Writes the evidence to the journal. Call it before making a change. a, b: the state, before the
 * change, of the objects that the change alters. A later helper can tell by their new state that
 * the change was made. Returns 1 if the caller must make the change. Returns 0 if another helper
 * was killed during this request and, by the evidence, may have made the change: the caller must
 * not make it. The result then says that the outcome is unknown.
 */
int helper_log_intent(struct helper *self, const struct journal_object *a,
		      const struct journal_object *b);
/* Informs the worker how many bytes the call is about to free, allocate or copy. */
void helper_work_set(struct helper *self, uint64_t bytes);
/* Locks one or two directories (b -1: only one) until this call ends, so that no other helper
 * changes them. */
int helper_lock(struct helper *self, int a, int b);
void helper_locks_drop(struct helper *self);

/* fs_helper_names.c, fs_helper_files.c: one function per operation. They return 0 or a negative
 * errno, and leave the result in self->result. a, b: descriptors of the call's objects. */
typedef int helper_op_fn(struct helper *self, int a, int b);
helper_op_fn helper_op_lookup, helper_op_create, helper_op_tmpfile, helper_op_mknod,
	helper_op_mkdir, helper_op_symlink, helper_op_link, helper_op_unlink, helper_op_rmdir,
	helper_op_rename;
helper_op_fn helper_op_open_path, helper_op_open, helper_op_setattr, helper_op_getattr,
	helper_op_readlink, helper_op_getxattr, helper_op_listxattr, helper_op_setxattr,
	helper_op_removexattr, helper_op_readdir, helper_op_readdirplus, helper_op_statfs,
	helper_op_append, helper_op_fallocate, helper_op_copy, helper_op_lseek, helper_op_fsync,
	helper_op_close, helper_op_write;
/* Opens the regular file or directory of an O_PATH descriptor with other flags. */
int helper_reopen(int path_fd, int oflags);
int helper_truncate(int fd, uint64_t size);
/* Truncates the open file to zero length, as open(2) with O_TRUNC does for this user. */
int helper_truncate_open(struct helper *self, int fd);

#endif
