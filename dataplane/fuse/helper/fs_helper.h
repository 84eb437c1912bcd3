/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * I/O helpers: processes beside a compute worker that make its blocking system calls on files. They
 * share the worker's descriptor table (clone(2), CLONE_FILES) and, of its memory, only the parts
 * that were mapped shared before the fork: the calls, the arena of message buffers and the
 * journals. So a disk that hangs blocks neither the packet core nor the helpers of other exports.
 * If the worker dies, its helpers still complete the calls that they have begun, and record the
 * outcome (fuse_journal.h).
 *
 * A process that may open files by handle can open any file of the file system, exported or not.
 * The worker, which parses network input, does not have that privilege. The helpers have it, but
 * they open only handles that carry their own signature. They sign the handle of an object only
 * after they have reached it on the export's mount. The worker never has the key for the
 * signatures.
 *
 * A signed handle: { kind 1, type, length, the kernel's file handle, signature of 8 bytes }. The
 * signature covers these fields and the identity of the export: its name, its file system, and the
 * handle of its root. An object has the same handle under all its names.
 *
 * Call fs_helper_start() before the worker drops privileges, fs_helper_roots() when it is in its
 * sandbox, and then the functions for calls. When the worker exits, each helper exits after its
 * current call. Only the worker uses this module, from one thread.
 */
#ifndef PLENUM_FS_HELPER_H
#define PLENUM_FS_HELPER_H

#include "dataplane/fuse/helper/fuse_journal.h"
#include "dataplane/launch.h"
#include "netcfg/base/reason.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Maximum number of calls of an export that are in use at a time. */
#define HELPERS_CALLS_MAX 256U
#define HELPERS_NAME_MAX 256U /* maximum length of a name with its final NUL */
#define HELPERS_HANDLE_SIGNED 1
/* Kind of the handle of an object that was removed right after its creation. Such a handle is
 * always stale. */
#define HELPERS_HANDLE_GONE 3
#define HELPERS_SIGNATURE_BYTES 8U

enum helpers_queue {
	HELPERS_QUICK, /* calls on names and attributes */
	HELPERS_SLOW,  /* calls that take longer the larger the file is */
	HELPERS_DATA,  /* writes and syncs; this queue has twice as many helpers */
	HELPERS_QUEUE_MAX
};

enum helper_op {
	/* The comment of an operation names the members of helper_call that are its arguments and,
	 * after the arrow, its results. a, b: objects, each by descriptor or handle; "fd of a": a
	 * must have a descriptor. attr is returned only if it is available. */
	HELPER_LOOKUP = 1, /* a (the directory), name -> fd (O_PATH), attr, handle */
	HELPER_OPEN_PATH,  /* a -> fd (O_PATH), attr, handle */
	HELPER_OPEN,	   /* a, oflags -> fd, attr; only regular files and directories. For a
			      directory, if data has space, also its entries as in READDIRPLUS
			      (HELPER_RESULT_END): all entries, or none if not all fit */
	HELPER_CREATE,	   /* a, name, oflags, mode -> fd, attr, handle, HELPER_RESULT_CREATED */
	HELPER_TMPFILE,	   /* a, oflags, mode -> fd, attr, handle */
	HELPER_MKNOD,	   /* a, name, mode, rdev -> attr, handle */
	HELPER_MKDIR,	   /* a, name, mode -> attr, handle */
	HELPER_SYMLINK,	   /* a, name, data (target) -> attr, handle */
	HELPER_LINK,	   /* b (the object), a (the directory), name -> attr, handle */
	HELPER_UNLINK,	/* a, name, expect -> fd (O_PATH, of the removed object; closing it may take
			   long) */
	HELPER_RMDIR,	/* a, name -> nothing */
	HELPER_RENAME,	/* a, name, b, name2, rflags, expect -> fd (of the replaced object) or -1 */
	HELPER_SETATTR, /* a, set -> attr */
	HELPER_GETATTR, /* a -> attr, handle */
	HELPER_READLINK,    /* a -> data, count */
	HELPER_GETXATTR,    /* a, name -> data, count; data_size 0: only the length */
	HELPER_LISTXATTR,   /* a -> data, count; data_size 0: only the length */
	HELPER_SETXATTR,    /* a, name, data, xflags -> nothing */
	HELPER_REMOVEXATTR, /* a, name -> nothing */
	HELPER_READDIR, /* fd of a, offset -> data: struct helper_dirent, count of bytes (0: end) */
	HELPER_READDIRPLUS, /* as HELPER_READDIR, but each entry also has attr and handle */
	HELPER_STATFS,	    /* a -> data: struct statfs */
	HELPER_APPEND,	    /* fd of a, data -> count, attr */
	HELPER_WRITE,	    /* fd of a, data, offset -> count, which may be above 0 even with an
			       error; also attr, if the flag HELPER_ATTR is set */
	HELPER_FALLOCATE,   /* fd of a, mode (FALLOC_FL_*), offset, length -> attr */
	HELPER_COPY,	    /* fd of a, offset, fd of b, offset2, length -> count; at most 4 MiB */
	HELPER_LSEEK,	    /* fd of a, offset, mode (SEEK_DATA, SEEK_HOLE) -> count */
	HELPER_FSYNC,	    /* fd of a, mode (1: data only) -> nothing */
	HELPER_CLOSE,	    /* fd of a -> nothing */
	HELPER_OP_MAX
};

/* An object of a call: fd is a descriptor, which must stay open during the call. If fd is -1, the
 * helper opens the signed handle for the call. */
struct helper_ref {
	int32_t fd;
	uint8_t len;
	uint8_t handle[FUSE_PROTO_HANDLE_MAX];
	uint8_t pad[3];
};

enum {
	HELPER_CHECK_PERMS = 1, /* execute the call without the privileges that bypass permissions,
				   because the check by the client's kernel does not suffice */
	/* Clears the set-id bits of the changed file, as the user's own write would. */
	HELPER_KILL_PRIV = 2,
	/* OPEN: an unlinked file can be opened too; without this flag the call fails with
	 * -ESTALE. */
	HELPER_ALLOW_UNLINKED = 4,
	/* UNLINK, RENAME: change the name only if the object that loses it has the handle `expect`
	 * (length 0: only if a RENAME replaces no object). Otherwise the call fails with -EAGAIN
	 * and changes nothing. The result then has the handle of the actual object, and record and
	 * ticket (fuse_journal.h) stay valid for a retry. */
	HELPER_EXPECT = 8,
	HELPER_OBJECT_GROUPS = 16,  /* with CHECK_PERMS: the user counts as a member of the
				       objects' groups, except root's group */
	HELPER_OWNER_MAY_OPEN = 32, /* with CHECK_PERMS: a file's owner may OPEN the file
				       whatever its mode is */
	HELPER_ATTR = 64,	    /* WRITE: returns attr too */
};

/* The attributes that SETATTR sets. `valid`: FATTR_* of linux/fuse.h. */
struct helper_setattr {
	uint32_t valid, mode, uid, gid;
	uint64_t size, atime, mtime;
	uint32_t atimensec, mtimensec;
};

/*
 * One call. The worker writes the arguments between fs_helper_call_new() and fs_helper_submit(),
 * and reads the result after fs_helper_poll() has returned it.
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
	void *data; /* memory in the arena */
	uint64_t data_size;
	struct journal_record *record; /* the journal record from journal_begin(); NULL: the call
					  may be executed twice */
	uint64_t ticket;
	/* Range in fs_helper_config.ids: the groups of this host to which HELPER_OBJECT_GROUPS may
	 * add the user. If the range is empty, it may add the user to any group. */
	uint32_t first_gids, n_gids;
	void *user;
	/* Number of bytes that the running call frees, allocates or copies; the worker estimates
	 * from it how long the call may take. The helper writes it before it begins. */
	uint64_t work_bytes;
	/* result */
	struct helper_result result;
	int32_t fd; /* descriptor that the call has opened, which the worker must close; -1: none */
	/* private to this module */
	uint32_t state;
	uint16_t export_index, index;
	char name[HELPERS_NAME_MAX], name2[HELPERS_NAME_MAX];
};

/* An entry of READDIR. The name follows, then the handle; the next entry begins at the next
 * multiple of 8. */
struct helper_dirent {
	uint64_t ino, off;
	uint32_t type; /* DT_* */
	uint16_t name_len;
	uint8_t handle_len;		     /* length of the handle; 0: the entry has no handle */
	uint8_t has_attr : 1, no_xattrs : 1; /* has_attr: attr is valid; no_xattrs: the object has
						no extended attributes */
	struct fuse_attr attr;
};
#define HELPER_DIRENT_BYTES(name_len, handle_len) \
	((sizeof(struct helper_dirent) + (name_len) + (handle_len) + 7) & ~(size_t)7)

struct fs_helper_config {
	uint32_t worker_id;
	int key_fd; /* descriptor from which LAUNCH_KEY_BYTES can be read; the caller closes it
		       afterwards */
	unsigned n_exports;
	struct {
		const char *name;
		int state_fd; /* memfd with space for the journal; -1: the journal ends with the
				 process */
	} exports[LAUNCH_EXPORTS_MAX];
	size_t arena_bytes; /* size of the address space for message buffers; pages are allocated on
			       first use */
	const struct launch_ids *ids; /* ranges of mapped ids, of which fs_helper_start() makes
					 a copy */
	uint32_t n_ids;
};

struct fs_helper; /* The state of the helpers, in memory that they share with the worker. */

/* Starts the processes; the caller must have only one thread, and full privilege. Waits until the
 * helpers of the worker's predecessor have closed the predecessor's sockets and devices. Returns 0,
 * or a negative errno with a sentence in why. */
int fs_helper_start(const struct fs_helper_config *cfg, struct fs_helper **ret, struct reason *why);
/* Passes the exports' roots, opened on the served mounts, to the helpers (fds: one per export; the
 * caller still owns them). The processes then switch to the identity uid, gid and install their
 * system call filter. When the worker has ended, the watcher closes all descriptors that are open
 * at the time of this call, except the roots, even if a helper hangs. */
int fs_helper_roots(struct fs_helper *h, const int *fds, uid_t uid, gid_t gid, struct reason *why);
/* Ends the helpers and frees h, which may be NULL. Waits for the processes to exit, but not for a
 * process that hangs. */
struct fs_helper *fs_helper_free(struct fs_helper *h);

/* Returns the inode number that clients see. A client sees an export as one file system, but file
 * systems mounted inside the export may use the same inode numbers as the export's own. So their
 * numbers are mixed with the device number. */
uint64_t fs_helper_ino(uint64_t dev, uint64_t root_dev, uint64_t ino);
void fs_helper_attr(const struct stat *st, uint64_t root_dev, struct fuse_attr *ret);

/* Returns the process id of the n-th process; 0 if the helpers have fewer processes. The first
 * process is the watcher, which ends last and makes no calls. */
pid_t fs_helper_pid(const struct fs_helper *h, unsigned n);
/* Returns how many helpers serve this queue of an export. */
unsigned fs_helper_count(enum helpers_queue queue);
/* Returns the arena: shared memory for message buffers. A helper rejects a call whose data is
 * outside of it. */
void *fs_helper_arena(struct fs_helper *h, size_t *ret_bytes);
struct journal *fs_helper_journal(struct fs_helper *h, unsigned export_index);
/* Returns whether the export's file system supports file handles. */
bool fs_helper_gives_handles(const struct fs_helper *h, unsigned export_index);
/* Returns a hash of the export's name, file system and root. If the hash differs, another directory
 * is exported under the same name. */
uint64_t fs_helper_export_identity(const struct fs_helper *h, unsigned export_index);

bool fs_helper_has_call(const struct fs_helper *h, unsigned export_index);
/* Returns an empty call, in which all descriptors are -1 and everything else is 0; NULL if all
 * calls are in use. */
struct helper_call *fs_helper_call_new(struct fs_helper *h, unsigned export_index);
void fs_helper_call_free(struct fs_helper *h, struct helper_call *call);
/* Queues the call. Its data, descriptors and journal record must stay valid and unchanged until it
 * returns. */
void fs_helper_submit(struct fs_helper *h, struct helper_call *call, enum helpers_queue queue);
/* Cancels a call unless a helper has started it. A cancelled call returns with -EINTR. */
void fs_helper_interrupt(struct fs_helper *h, struct helper_call *call);
/* Returns a descriptor that becomes readable when a call is done, if fs_helper_poll() was called
 * with may_sleep before. */
int fs_helper_fd(const struct fs_helper *h);
/* Calls done() for each call that has returned; done() must free the call or submit it again.
 * may_sleep: the caller may next wait for fs_helper_fd(), so the helpers must signal it. Returns
 * the number of calls, or -EPIPE if a helper has ended; the worker must then exit. */
int fs_helper_poll(struct fs_helper *h, bool may_sleep,
		   void (*done)(void *user, struct helper_call *call), void *user);

#endif
