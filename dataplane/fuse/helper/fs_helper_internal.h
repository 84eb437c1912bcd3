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
	CALL_WITH_WORKER, /* being filled, or returned */
	CALL_QUEUED,
	CALL_RUNNING,
	CALL_TAKEN_BACK, /* cancelled; still in its queue */
};

/* Indexes of calls. The worker produces; the queue's helpers consume. */
struct helpers_ring {
	_Alignas(64) uint32_t head; /* helpers */
	_Alignas(64) uint32_t tail; /* the worker */
	uint16_t calls[HELPERS_CALLS_MAX];
};

struct helpers_export {
	struct helpers_ring queues[HELPERS_QUEUE_MAX];
	_Alignas(64) uint64_t
		done[HELPERS_CALLS_MAX / 64]; /* helpers set bits, the worker clears them */
	uint32_t gives_handles;
	uint64_t identity;
	struct helper_call calls[HELPERS_CALLS_MAX];
	/* used by the worker only */
	struct journal journal;
	int root_fd;
	uint16_t free[HELPERS_CALLS_MAX], n_free;
	char name[PLENUM_NAME_MAX];
};

/* A process as the worker sees it. */
struct helpers_proc {
	_Alignas(64) uint32_t asleep;
	uint32_t stage; /* the enum helpers_stage that it reached */
	int32_t error;	/* why the process failed at that stage */
	pid_t pid;
	int pidfd, wake_fd;
	unsigned export_index, queue; /* unused in the watcher */
};

enum helpers_stage { STAGE_NONE, STAGE_STARTED, STAGE_SERVING, STAGE_STOP };

struct fs_helper {
	/* written by helpers, read by the worker */
	_Alignas(64) uint32_t done_exports; /* bit mask */
	_Alignas(64) uint32_t worker_sleeps;
	_Alignas(64) uint32_t stage; /* the processes advance to this stage */
	uint32_t broken;	     /* a helper ended unexpectedly */
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
	struct launch_ids ids[LAUNCH_IDS_MAX];
	uint32_t n_ids;
	bool sleeps;	/* the worker_sleeps that the worker wrote last */
	uint64_t wakes; /* wake-ups on their way or unread */
	unsigned n_arms;
	struct helpers_proc procs[1 + LAUNCH_EXPORTS_MAX * HELPERS_PER_EXPORT]; /* first: watcher */
	struct helpers_export exports[];
};

#define HELPERS_GROUPS_MAX 4U

/* Private to one helper process. Everything that it must rely on is copied while the worker is
 * still trusted, because a compromised worker can write to all shared memory. */
struct helper {
	struct fs_helper *pool;
	struct helpers_export *export;
	struct helpers_proc *proc;
	unsigned export_index, queue;
	char export_name[PLENUM_NAME_MAX];
	struct journal journal;
	uintptr_t arena;
	size_t arena_bytes;
	unsigned owner;
	uint64_t key[2]; /* of the export */
	int root_fd, root_mount_id;
	bool gives_handles;
	bool fine_times; /* every change after a stat gets another ctime */
	uint64_t root_dev, root_ino;
	uint64_t caps;		 /* all its capabilities */
	uint64_t caps_effective; /* effective now */
	struct fuse_ids ids;	 /* the thread's current identity, with the next three */
	uint32_t umask;
	uint32_t n_groups, groups[HELPERS_GROUPS_MAX];
	struct helper_call call;     /* private copy of the current call */
	struct helper_result result; /* its result */
	int fd;			     /* descriptor to return to the worker */
	struct journal_claim claim;
	bool suspect;
	uint32_t *locks[2]; /* held */
	_Alignas(8) uint8_t room[HELPERS_DIR_BYTES];
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
	/* Pairs with fs_helper_submit() and with other helpers. */
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
/* For calls that take a path: the working directory is /proc/self/fd. */
const char *helper_fd_name(int fd, char name[HELPERS_FD_NAME_MAX]);
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
