/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the hands share and nobody else sees: the shared memory of a pool, and a hand's
 * own state, which no other process sees.
 *
 *	fuse_hands.c	    the worker's end
 *	fuse_hands_run.c    a process: its start, its privileges, its loop, its end
 *	fuse_hands_calls.c  a call from its claim to its answer; what it was made as; evidence
 *	fuse_hands_names.c  calls that change names
 *	fuse_hands_files.c  calls on files
 *	fuse_hands_sign.c   handles and their signatures
 */
#ifndef PLENUM_DATAPLANE_FUSE_HANDS_INT_H
#define PLENUM_DATAPLANE_FUSE_HANDS_INT_H

#include "dataplane/fuse/helper/fuse_hands.h"
#include "dataplane/fuse/helper/fuse_ids.h"
#include <sys/stat.h>

#define HANDS_PER_LANE 2U
#define HANDS_PER_EXPORT ((HANDS_LANE_MAX + 1) * HANDS_PER_LANE)
#define HANDS_FDS_STATIC 4096U /* descriptors that the worker has when it is confined */
#define HANDS_DIR_BYTES 32768U /* of a directory, read at once */
#define HANDS_FH_MAX 64U       /* bytes of a kernel file handle */
#define HANDS_FD_NAME_MAX 12   /* a descriptor's number */

enum hands_call_state {
	CALL_FREE,
	CALL_ASKED, /* being filled, or back */
	CALL_QUEUED,
	CALL_RUNNING,
	CALL_TAKEN_BACK, /* by the worker; the lane still shows it */
};

/* Of indexes of calls. One producer, the worker; the hands of the lane take from it. */
struct hands_lane_ring {
	_Alignas(64) uint32_t head; /* hands */
	_Alignas(64) uint32_t tail; /* the worker */
	uint16_t calls[HANDS_CALLS_MAX];
};

struct hands_export {
	struct hands_lane_ring lanes[HANDS_LANE_MAX];
	_Alignas(64) uint64_t done[HANDS_CALLS_MAX / 64]; /* hands set bits, the worker takes */
	uint32_t gives_handles;
	uint64_t identity;
	struct hand_call calls[HANDS_CALLS_MAX];
	/* the worker's */
	struct journal journal;
	int root_fd;
	uint16_t free[HANDS_CALLS_MAX], n_free;
	char name[PLENUM_NAME_MAX];
};

/* As the worker sees a process. */
struct hands_proc {
	_Alignas(64) uint32_t asleep;
	uint32_t stage; /* enum hands_stage it has reached */
	int32_t error;	/* why it did not get further */
	pid_t pid;
	int pidfd, wake_fd;
	unsigned export_index, lane; /* of the watcher: none */
};

enum hands_stage { STAGE_NONE, STAGE_STARTED, STAGE_SERVING, STAGE_STOP };

struct fuse_hands {
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
	uint8_t fds_static[HANDS_FDS_STATIC / 8];
	uint16_t taken_back[LAUNCH_EXPORTS_MAX * HANDS_CALLS_MAX]; /* export << 8 | call */
	unsigned n_taken_back;
	bool sleeps;	/* worker_sleeps as the worker has left it */
	uint64_t wakes; /* of hands, that it knows of and has not read */
	unsigned n_arms;
	struct hands_proc procs[1 + LAUNCH_EXPORTS_MAX * HANDS_PER_EXPORT]; /* first: watcher */
	struct hands_export exports[];
};

#define HANDS_GROUPS_MAX 4U

/* A process's own: what it must be able to rely on is copied while the worker can still be trusted,
 * for whoever takes that over writes in all that is shared. */
struct hand {
	struct fuse_hands *pool;
	struct hands_export *export;
	struct hands_proc *proc;
	unsigned export_index, lane;
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
	uint64_t caps;	     /* those it keeps */
	uint64_t caps_now;   /* effective at present */
	struct fuse_ids ids; /* of the thread at present, as are these */
	uint32_t umask;
	uint32_t n_groups, groups[HANDS_GROUPS_MAX];
	struct hand_call call;	   /* a copy of the one at work */
	struct hand_result result; /* of it */
	int fd;			   /* for the worker */
	struct journal_claim claim;
	bool suspect;
	uint32_t *locks[2]; /* held */
	_Alignas(8) uint8_t room[HANDS_DIR_BYTES];
};

struct hands_dirent { /* as getdents64(2) gives them */
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

struct hands_fh {
	union {
		struct file_handle h;
		uint8_t space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	};
};

static inline bool hands_lane_is_empty(const struct hands_lane_ring *r)
{
	/* Pairs with fuse_hands_submit() and with other hands. */
	return __atomic_load_n(&r->head, __ATOMIC_SEQ_CST) ==
	       __atomic_load_n(&r->tail, __ATOMIC_SEQ_CST);
}

static inline void hands_fd_wake(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return; /* it is awake, or nobody is there any more */
}

/* fuse_hands_run.c */
/* The watcher's life, and a hand's. Return the exit status. */
int hands_watch(struct fuse_hands *pool, struct hands_proc *proc, struct journal *journals);
int hands_run(struct fuse_hands *pool, struct hands_proc *proc, const struct journal *journal);

/* fuse_hands_sign.c */
/* Takes root_fd for the export and makes its key out of the host's. Negative errno. */
int hand_root_take(struct hand *hd, const uint64_t key[2], int root_fd);
/* The signed handle of an open file (name ""), or of what the name in a directory shows: its
 * length; 0: it has none. */
uint8_t hand_sign(const struct hand *hd, int fd, const char *name,
		  uint8_t to[FUSE_PROTO_HANDLE_MAX]);
/* A new O_PATH descriptor. -ESTALE: not ours, or gone. */
int hand_open_signed(const struct hand *hd, const uint8_t *handle, uint8_t len);
/* What a file is for evidence: never 0. */
uint64_t hand_object_id(const struct hand *hd, int fd, const struct stat *st);

/* fuse_hands_calls.c */
void hand_call_run(struct hand *hd, struct hand_call *shared);
/* For calls that take a path: the process stands in its own /proc/self/fd. */
const char *hand_fd_name(int fd, char name[HANDS_FD_NAME_MAX]);
/* The thread's identity and privileges for the call. Negative errno: it has others. */
int hand_creds(struct hand *hd);
/* With all privileges again, for the rest of the call. */
void hand_trust(struct hand *hd);
int hand_answer_attr(struct hand *hd, int fd);
/* The same, where it is to be had, without a look for extended attributes: what was written brings
 * none. */
void hand_answer_bytes(struct hand *hd, int fd);
/* Whether the open file has no extended attributes that clients might ask for. */
bool hand_is_bare(int fd);
/* With the handle, where there is one; of an open file, or of what a name shows. */
int hand_answer_entry(struct hand *hd, int fd);
int hand_answer_name(struct hand *hd, int dirfd, const char *name);
/* Of something of that kind that was made by this call and is there no more. */
void hand_answer_gone(struct hand *hd, uint32_t fmt);
/* Notes what stands at fd; -1: nothing does. */
void hand_object(const struct hand *hd, int fd, struct journal_object *ret);
/*
 * The change is made next: the evidence is written down. 1: go on; 0: a former hand was killed over
 * this, and what can be said about it is the answer. a, b: what shows whether the change was made,
 * for it changes with it.
 */
int hand_perhaps(struct hand *hd, const struct journal_object *a, const struct journal_object *b);
/* What is in a directory does not change by other hands' doing until the call is done. b -1: one
 * only. */
int hand_lock(struct hand *hd, int a, int b);

/* fuse_hands_names.c, fuse_hands_files.c: a call each; 0 or negative errno; the answer is in hd.
 * a, b: what the call is about, open. */
typedef int hand_op_fn(struct hand *hd, int a, int b);
hand_op_fn hand_op_lookup, hand_op_create, hand_op_tmpfile, hand_op_mknod, hand_op_mkdir,
	hand_op_symlink, hand_op_link, hand_op_unlink, hand_op_rmdir, hand_op_rename;
hand_op_fn hand_op_open_path, hand_op_open, hand_op_setattr, hand_op_getattr, hand_op_readlink,
	hand_op_getxattr, hand_op_listxattr, hand_op_setxattr, hand_op_removexattr, hand_op_readdir,
	hand_op_readdirplus, hand_op_statfs, hand_op_append, hand_op_fallocate, hand_op_copy,
	hand_op_lseek, hand_op_fsync, hand_op_close, hand_op_write;
/* A descriptor by which the regular file or directory behind the O_PATH one is used. */
int hand_reopen(int path_fd, int oflags);
int hand_truncate(int fd, uint64_t size);

#endif
