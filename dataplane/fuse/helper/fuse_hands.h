/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hands: processes beside a compute worker that make its system calls on files. They share the
 * worker's table of descriptors (clone(2), CLONE_FILES) and, of its memory, only what was mapped
 * shared before they were forked: the calls, the arena of message buffers, the journals. So a disk
 * that hangs holds up a hand and not the packet core; a hand of one export is no other's; and what
 * was begun is finished and written down (fuse_journal.h) whatever becomes of the worker.
 *
 * The kernel lets whoever may open files by handle open any file of the file system, exported or
 * not, so the worker, which reads what strangers send, must not. Hands may, and do it only for
 * handles that bear their signature, which they give to what they themselves have opened on the
 * export's own mount. Their key never comes to the worker.
 *
 * A signed handle: { kind 1, type, length, the kernel's file handle, signature of 8 bytes }. The
 * signature covers these and the export: its name, the file system's identity and its root's own
 * handle. One object has one handle, by whatever name it was reached.
 *
 * Life: fuse_hands_start before the worker drops privileges; fuse_hands_roots when it stands in its
 * sandbox; calls are taken from there on. The worker's end ends them, each after the call that it
 * is in. Called by the worker alone, one thread.
 */
#ifndef PLENUM_DATAPLANE_FUSE_HANDS_H
#define PLENUM_DATAPLANE_FUSE_HANDS_H

#include "dataplane/fuse/helper/fuse_journal.h"
#include "dataplane/launch.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#define HANDS_CALLS_MAX 256U /* per export, at a time */
#define HANDS_NAME_MAX 256U  /* with the final NUL */
#define HANDS_HANDLE_SIGNED 1
#define HANDS_HANDLE_GONE 3 /* of what was made and removed at once: stale from the beginning */
#define HANDS_SIGNATURE_BYTES 8U

enum hands_lane {
	HANDS_QUICK, /* names and attributes */
	HANDS_SLOW,  /* what may take as long as the file is big */
	HANDS_DATA,  /* what is written and synced; has twice the hands */
	HANDS_LANE_MAX
};

enum hand_op {
	/* fd: of what it is about. Answers: attr where there is one. */
	HAND_LOOKUP = 1,  /* a (directory), name -> fd (O_PATH), attr, handle */
	HAND_OPEN_PATH,	  /* a -> fd (O_PATH), attr, handle */
	HAND_OPEN,	  /* a, oflags -> fd, attr; only regular files and directories. Of a
			   * directory with room for data: as READDIRPLUS from its beginning to its
			   * end (HAND_RESULT_END), or nothing where it has many entries */
	HAND_CREATE,	  /* a, name, oflags, mode -> fd, attr, handle, HAND_RESULT_CREATED */
	HAND_TMPFILE,	  /* a, oflags, mode -> fd, attr, handle */
	HAND_MKNOD,	  /* a, name, mode, rdev -> attr, handle */
	HAND_MKDIR,	  /* a, name, mode -> attr, handle */
	HAND_SYMLINK,	  /* a, name, data (target) -> attr, handle */
	HAND_LINK,	  /* b (object), a, name -> attr, handle */
	HAND_UNLINK,	  /* a, name, expect -> fd (O_PATH, what was removed; close it slowly) */
	HAND_RMDIR,	  /* a, name */
	HAND_RENAME,	  /* a, name, b, name2, rflags, expect -> fd (what was replaced) or -1 */
	HAND_SETATTR,	  /* a, set -> attr */
	HAND_GETATTR,	  /* a -> attr, handle */
	HAND_READLINK,	  /* a -> data, count */
	HAND_GETXATTR,	  /* a, name -> data, count; data_size 0: the length only */
	HAND_LISTXATTR,	  /* a -> data, count; the same */
	HAND_SETXATTR,	  /* a, name, data, xflags */
	HAND_REMOVEXATTR, /* a, name */
	HAND_READDIR,	  /* fd of a, offset -> data: struct hand_dirent, count of bytes (0: end) */
	HAND_READDIRPLUS, /* the same, with attr and handle */
	HAND_STATFS,	  /* a -> data: struct statfs */
	HAND_APPEND,	  /* fd of a, data -> count; attr */
	HAND_WRITE,	  /* fd of a, data, offset -> count, with an error behind it as
			   * well; HAND_ATTR: attr */
	HAND_FALLOCATE,	  /* fd of a, mode (FALLOC_FL_*), offset, length -> attr */
	HAND_COPY,	  /* fd of a, offset, fd of b, offset2, length -> count; at most 4 MiB */
	HAND_LSEEK,	  /* fd of a, offset, mode (SEEK_DATA, SEEK_HOLE) -> count */
	HAND_FSYNC,	  /* fd of a, mode (1: data only) */
	HAND_CLOSE,	  /* fd of a */
	HAND_OP_MAX
};

/* What a call is about: an open descriptor, which stays open until the call is done; or, with fd
 * -1, a signed handle, which is opened for the call. */
struct hand_ref {
	int32_t fd;
	uint8_t len;
	uint8_t handle[FUSE_PROTO_HANDLE_MAX];
	uint8_t pad[3];
};

enum {
	HAND_CHECKED = 1,   /* without the privileges that pass over permissions: the client's
			     * kernel has not made the check that counts */
	HAND_KILL_PRIV = 2, /* what is written loses its set-id bits, as the user's write would */
	HAND_NAMELESS = 4,  /* OPEN: a file without a name is opened too (else -ESTALE) */
	HAND_EXPECT = 8,    /* UNLINK, RENAME: -EAGAIN unless the name that goes shows `expect`
			     * (length 0: a RENAME that replaces nothing); the answer's handle is
			     * what it shows, and record and ticket are good for another try */
	HAND_GROUPS = 16,   /* with CHECKED: the user is in the groups of what it is about, too,
			     * but for root's */
	HAND_OWNER = 32,    /* with CHECKED: OPEN by its owner is not refused */
	HAND_ATTR = 64,	    /* WRITE: attr is asked for, too */
};

/* FATTR_* of linux/fuse.h say what is to be set. */
struct hand_setattr {
	uint32_t valid, mode, uid, gid;
	uint64_t size, atime, mtime;
	uint32_t atimensec, mtimensec;
};

/*
 * One call. The worker fills what is asked, from fuse_hands_call_new() to fuse_hands_submit(), and
 * reads the answer after fuse_hands_poll() has handed the call back.
 */
struct hand_call {
	enum hand_op op;
	uint32_t flags;
	struct hand_ref a, b;
	uint32_t uid, gid, umask;
	uint32_t mode, rdev;
	int32_t oflags, xflags;
	uint32_t rflags;
	uint64_t offset, offset2, length;
	struct hand_setattr set;
	uint8_t expect_len;
	uint8_t expect[FUSE_PROTO_HANDLE_MAX];
	uint8_t pad[7];
	void *data; /* in the arena */
	uint64_t data_size;
	struct journal_record *record; /* of journal_begin(); NULL: may run twice */
	uint64_t ticket;
	void *user;
	/* the answer */
	struct hand_result result;
	int32_t fd; /* -1: none; the receiver's */
	/* ours */
	uint32_t state;
	uint16_t export_index, index;
	char name[HANDS_NAME_MAX], name2[HANDS_NAME_MAX];
};

/* An entry of READDIR; the name follows, then the bytes of the handle; the next one stands at the
 * next multiple of 8. */
struct hand_dirent {
	uint64_t ino, off;
	uint32_t type; /* DT_* */
	uint16_t name_len;
	uint8_t handle_len;		   /* 0: none */
	uint8_t has_attr : 1, is_bare : 1; /* attributes; no extended ones */
	struct fuse_attr attr;
};
#define HAND_DIRENT_BYTES(name_len, handle_len) \
	((sizeof(struct hand_dirent) + (name_len) + (handle_len) + 7) & ~(size_t)7)

struct fuse_hands_config {
	uint32_t worker_id;
	int key_fd; /* LAUNCH_KEY_BYTES; close it afterwards */
	unsigned n_exports;
	struct {
		const char *name;
		int state_fd; /* of the journal; -1: one that nothing outlives */
	} exports[LAUNCH_EXPORTS_MAX];
	size_t arena_bytes; /* reserved, not used */
};

struct fuse_hands; /* lies in shared memory */

/* Starts the processes, with one thread and full privilege. Waits for those of the worker's
 * predecessor to have let go of its sockets and devices. 0; negative errno with a line in why
 * (LAUNCH_REASON_MAX bytes). */
int fuse_hands_start(const struct fuse_hands_config *cfg, struct fuse_hands **ret, char *why);
/* The roots, open on the mounts that are served (fds: one per export; they stay the caller's).
 * The processes take this identity, and their list of system calls. All descriptors that are open
 * now, but these, are closed when the worker has ended, even where a hand hangs. */
int fuse_hands_roots(struct fuse_hands *h, const int *fds, uid_t uid, gid_t gid, char *why);
/* NULL. The processes end when they have nothing to do; waits for those that do not hang. */
struct fuse_hands *fuse_hands_free(struct fuse_hands *h);

/* What a client is shown of a file. What is mounted below the export, where that is crossed into,
 * has numbers of its own there; a client sees one file system, so they are mixed with the device's.
 */
uint64_t fuse_hands_ino(uint64_t dev, uint64_t root_dev, uint64_t ino);
void fuse_hands_attr(const struct stat *st, uint64_t root_dev, struct fuse_attr *ret);

/* Of the n-th process, the first of which ends last and makes no calls; 0: there are no more. */
pid_t fuse_hands_pid(const struct fuse_hands *h, unsigned n);
/* For message buffers: what of a call lies elsewhere is refused by the hand. */
void *fuse_hands_arena(struct fuse_hands *h, size_t *ret_bytes);
struct journal *fuse_hands_journal(struct fuse_hands *h, unsigned export_index);
/* Whether the export's file system gives handles. */
bool fuse_hands_gives_handles(const struct fuse_hands *h, unsigned export_index);
/* Of the export: name, file system, root. Another one is another export under the old name. */
uint64_t fuse_hands_export_identity(const struct fuse_hands *h, unsigned export_index);

/* An empty call: descriptors -1, the rest 0. NULL: all are in use. */
struct hand_call *fuse_hands_call_new(struct fuse_hands *h, unsigned export_index);
void fuse_hands_call_free(struct fuse_hands *h, struct hand_call *call);
/* Hands it over. What the call refers to stays as it is until it comes back. */
void fuse_hands_submit(struct fuse_hands *h, struct hand_call *call, enum hands_lane lane);
/* Takes back a call that no hand has begun; it comes back with -EINTR. */
void fuse_hands_interrupt(struct fuse_hands *h, struct hand_call *call);
/* Readable when a call is done, after fuse_hands_poll(may_sleep). */
int fuse_hands_fd(const struct fuse_hands *h);
/* Calls done() for each call that has come back; it frees the call or submits it anew. may_sleep:
 * the caller may wait for fuse_hands_fd() next; without it nothing is written there. Number of
 * calls; -EPIPE: a hand has ended, and the worker should too. */
int fuse_hands_poll(struct fuse_hands *h, bool may_sleep,
		    void (*done)(void *user, struct hand_call *call), void *user);

#endif
