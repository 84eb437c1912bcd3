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
 * Life: fs_helper_start before the worker drops privileges; fs_helper_roots when it stands in its
 * sandbox; calls are taken from there on. The worker's end ends them, each after the call that it
 * is in. Called by the worker alone, one thread.
 */
#ifndef PLENUM_FS_HELPER_H
#define PLENUM_FS_HELPER_H

#include "dataplane/fuse/helper/fuse_journal.h"
#include "dataplane/launch.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#define HELPERS_CALLS_MAX 256U /* per export, at a time */
#define HELPERS_NAME_MAX 256U  /* with the final NUL */
#define HELPERS_HANDLE_SIGNED 1
#define HELPERS_HANDLE_GONE 3 /* of what was made and removed at once: stale from the beginning */
#define HELPERS_SIGNATURE_BYTES 8U

enum helpers_queue {
	HELPERS_QUICK, /* names and attributes */
	HELPERS_SLOW,  /* what may take as long as the file is big */
	HELPERS_DATA,  /* what is written and synced; has twice the hands */
	HELPERS_QUEUE_MAX
};

enum helper_op {
	/* fd: of what it is about. Answers: attr where there is one. */
	HELPER_LOOKUP = 1,  /* a (directory), name -> fd (O_PATH), attr, handle */
	HELPER_OPEN_PATH,   /* a -> fd (O_PATH), attr, handle */
	HELPER_OPEN,	    /* a, oflags -> fd, attr; only regular files and directories. Of a
			     * directory with room for data: as READDIRPLUS from its beginning to its
			     * end (HELPER_RESULT_END), or nothing where it has many entries */
	HELPER_CREATE,	    /* a, name, oflags, mode -> fd, attr, handle, HELPER_RESULT_CREATED */
	HELPER_TMPFILE,	    /* a, oflags, mode -> fd, attr, handle */
	HELPER_MKNOD,	    /* a, name, mode, rdev -> attr, handle */
	HELPER_MKDIR,	    /* a, name, mode -> attr, handle */
	HELPER_SYMLINK,	    /* a, name, data (target) -> attr, handle */
	HELPER_LINK,	    /* b (object), a, name -> attr, handle */
	HELPER_UNLINK,	    /* a, name, expect -> fd (O_PATH, what was removed; close it slowly) */
	HELPER_RMDIR,	    /* a, name */
	HELPER_RENAME,	    /* a, name, b, name2, rflags, expect -> fd (what was replaced) or -1 */
	HELPER_SETATTR,	    /* a, set -> attr */
	HELPER_GETATTR,	    /* a -> attr, handle */
	HELPER_READLINK,    /* a -> data, count */
	HELPER_GETXATTR,    /* a, name -> data, count; data_size 0: the length only */
	HELPER_LISTXATTR,   /* a -> data, count; the same */
	HELPER_SETXATTR,    /* a, name, data, xflags */
	HELPER_REMOVEXATTR, /* a, name */
	HELPER_READDIR, /* fd of a, offset -> data: struct helper_dirent, count of bytes (0: end) */
	HELPER_READDIRPLUS, /* the same, with attr and handle */
	HELPER_STATFS,	    /* a -> data: struct statfs */
	HELPER_APPEND,	    /* fd of a, data -> count; attr */
	HELPER_WRITE,	    /* fd of a, data, offset -> count, with an error behind it as
			     * well; HELPER_ATTR: attr */
	HELPER_FALLOCATE,   /* fd of a, mode (FALLOC_FL_*), offset, length -> attr */
	HELPER_COPY,	    /* fd of a, offset, fd of b, offset2, length -> count; at most 4 MiB */
	HELPER_LSEEK,	    /* fd of a, offset, mode (SEEK_DATA, SEEK_HOLE) -> count */
	HELPER_FSYNC,	    /* fd of a, mode (1: data only) */
	HELPER_CLOSE,	    /* fd of a */
	HELPER_OP_MAX
};

/* What a call is about: an open descriptor, which stays open until the call is done; or, with fd
 * -1, a signed handle, which is opened for the call. */
struct helper_ref {
	int32_t fd;
	uint8_t len;
	uint8_t handle[FUSE_PROTO_HANDLE_MAX];
	uint8_t pad[3];
};

enum {
	HELPER_CHECK_PERMS = 1, /* without the privileges that pass over permissions: the client's
				 * kernel has not made the check that counts */
	HELPER_KILL_PRIV = 2, /* what is written loses its set-id bits, as the user's write would */
	HELPER_ALLOW_UNLINKED = 4, /* OPEN: a file without a name is opened too (else -ESTALE) */
	HELPER_EXPECT = 8, /* UNLINK, RENAME: -EAGAIN unless the name that goes shows `expect`
			    * (length 0: a RENAME that replaces nothing); the answer's handle is
			    * what it shows, and record and ticket are good for another try */
	HELPER_OBJECT_GROUPS = 16,  /* with CHECKED: the user is in the groups of what it is about,
				     * too,  but for root's */
	HELPER_OWNER_MAY_OPEN = 32, /* with CHECKED: OPEN by its owner is not refused */
	HELPER_ATTR = 64,	    /* WRITE: attr is asked for, too */
};

/* FATTR_* of linux/fuse.h say what is to be set. */
struct helper_setattr {
	uint32_t valid, mode, uid, gid;
	uint64_t size, atime, mtime;
	uint32_t atimensec, mtimensec;
};

/*
 * One call. The worker fills what is asked, from fs_helper_call_new() to fs_helper_submit(), and
 * reads the answer after fs_helper_poll() has handed the call back.
 */
struct helper_call {
	enum helper_op op;
	uint32_t flags;
	struct helper_ref a, b;
	uint32_t uid, gid, umask;
	uint32_t mode, rdev;
	int32_t oflags, xflags;
	uint32_t rflags;
	uint64_t offset, offset2, length;
	struct helper_setattr set;
	uint8_t expect_len;
	uint8_t expect[FUSE_PROTO_HANDLE_MAX];
	uint8_t pad[7];
	void *data; /* in the arena */
	uint64_t data_size;
	struct journal_record *record; /* of journal_begin(); NULL: may run twice */
	uint64_t ticket;
	void *user;
	/* the answer */
	struct helper_result result;
	int32_t fd; /* -1: none; the receiver's */
	/* ours */
	uint32_t state;
	uint16_t export_index, index;
	char name[HELPERS_NAME_MAX], name2[HELPERS_NAME_MAX];
};

/* An entry of READDIR; the name follows, then the bytes of the handle; the next one stands at the
 * next multiple of 8. */
struct helper_dirent {
	uint64_t ino, off;
	uint32_t type; /* DT_* */
	uint16_t name_len;
	uint8_t handle_len;		     /* 0: none */
	uint8_t has_attr : 1, no_xattrs : 1; /* attributes; no extended ones */
	struct fuse_attr attr;
};
#define HELPER_DIRENT_BYTES(name_len, handle_len) \
	((sizeof(struct helper_dirent) + (name_len) + (handle_len) + 7) & ~(size_t)7)

struct fs_helper_config {
	uint32_t worker_id;
	int key_fd; /* LAUNCH_KEY_BYTES; close it afterwards */
	unsigned n_exports;
	struct {
		const char *name;
		int state_fd; /* of the journal; -1: one that nothing outlives */
	} exports[LAUNCH_EXPORTS_MAX];
	size_t arena_bytes; /* reserved, not used */
};

struct fs_helper; /* lies in shared memory */

/* Starts the processes, with one thread and full privilege. Waits for those of the worker's
 * predecessor to have let go of its sockets and devices. 0; negative errno with a line in why
 * (LAUNCH_REASON_MAX bytes). */
int fs_helper_start(const struct fs_helper_config *cfg, struct fs_helper **ret, char *why);
/* The roots, open on the mounts that are served (fds: one per export; they stay the caller's).
 * The processes take this identity, and their list of system calls. All descriptors that are open
 * now, but these, are closed when the worker has ended, even where a hand hangs. */
int fs_helper_roots(struct fs_helper *h, const int *fds, uid_t uid, gid_t gid, char *why);
/* NULL. The processes end when they have nothing to do; waits for those that do not hang. */
struct fs_helper *fs_helper_free(struct fs_helper *h);

/* What a client is shown of a file. What is mounted below the export, where that is crossed into,
 * has numbers of its own there; a client sees one file system, so they are mixed with the device's.
 */
uint64_t fs_helper_ino(uint64_t dev, uint64_t root_dev, uint64_t ino);
void fs_helper_attr(const struct stat *st, uint64_t root_dev, struct fuse_attr *ret);

/* Of the n-th process, the first of which ends last and makes no calls; 0: there are no more. */
pid_t fs_helper_pid(const struct fs_helper *h, unsigned n);
/* For message buffers: what of a call lies elsewhere is refused by the hand. */
void *fs_helper_arena(struct fs_helper *h, size_t *ret_bytes);
struct journal *fs_helper_journal(struct fs_helper *h, unsigned export_index);
/* Whether the export's file system gives handles. */
bool fs_helper_gives_handles(const struct fs_helper *h, unsigned export_index);
/* Of the export: name, file system, root. Another one is another export under the old name. */
uint64_t fs_helper_export_identity(const struct fs_helper *h, unsigned export_index);

/* An empty call: descriptors -1, the rest 0. NULL: all are in use. */
struct helper_call *fs_helper_call_new(struct fs_helper *h, unsigned export_index);
void fs_helper_call_free(struct fs_helper *h, struct helper_call *call);
/* Hands it over. What the call refers to stays as it is until it comes back. */
void fs_helper_submit(struct fs_helper *h, struct helper_call *call, enum helpers_queue queue);
/* Takes back a call that no hand has begun; it comes back with -EINTR. */
void fs_helper_interrupt(struct fs_helper *h, struct helper_call *call);
/* Readable when a call is done, after fs_helper_poll(may_sleep). */
int fs_helper_fd(const struct fs_helper *h);
/* Calls done() for each call that has come back; it frees the call or submits it anew. may_sleep:
 * the caller may wait for fs_helper_fd() next; without it nothing is written there. Number of
 * calls; -EPIPE: a hand has ended, and the worker should too. */
int fs_helper_poll(struct fs_helper *h, bool may_sleep,
		   void (*done)(void *user, struct helper_call *call), void *user);

#endif
