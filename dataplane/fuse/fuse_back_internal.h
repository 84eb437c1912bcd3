/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the server end share and nobody else sees: its structures, and who does what.
 *
 *	fuse_back.c	  life of the whole and of sessions; buffers for the transport
 *	fuse_back_req.c	  life of a request, from its message to its answer
 *	fuse_back_ring.c  io_uring, and the same without it; the identity of who creates files
 *	fuse_back_check.c what a request must look like
 *	fuse_back_mount.c a mount: its record in the state, open files, kept answers
 *	fuse_back_node.c  nodes: nodeid <-> kernel file handle <-> descriptor; lookup, forget
 *	fuse_back_hold.c  open files that lose their names: held by the agent
 *	fuse_back_meta.c  operations on names and attributes
 *	fuse_back_file.c  open, create, release; data: read, write, sync, allocate, seek, copy
 *	fuse_back_dir.c	  directory streams
 *	fuse_back_xattr.c extended attributes
 *	fuse_back_state.c, fuse_back_buf.c	  layout of the state; buffers
 */
#ifndef PLENUM_DATAPLANE_FUSE_BACK_INT_H
#define PLENUM_DATAPLANE_FUSE_BACK_INT_H

#include "dataplane/fuse/fuse_back.h"
#include "dataplane/fuse/fuse_back_buf.h"
#include "dataplane/fuse/fuse_back_check.h"
#include "dataplane/fuse/fuse_back_state.h"
#include "dataplane/fuse/fuse_keeper.h"
#include <fcntl.h>
#include <liburing.h>
#include <sys/stat.h>

#define BACK_NONE UINT32_MAX
#define BACK_HASH_MIN 1024U

struct back_export {
	const struct launch_export *cfg;
	int root_fd;
	dev_t root_dev;
	ino_t root_ino;
	int mount_id;
	bool handles;	/* the file system gives file handles, and we may open them */
	bool in_memory; /* reads and writes never wait for a disk: done at once */
};

struct back_entry { /* what a name shows */
	uint64_t nodeid;
	struct stat st;
};

/* Beside each struct state_node, in the process only. */
struct back_node {
	uint32_t hash_next; /* of a free record: the next free one */
	uint32_t cache;	    /* slot in the descriptor cache, BACK_NONE */
	int kept_fd;	    /* STATE_NODE_KEPT: the only way to it; else -1 */
	uint32_t n_open;    /* files of it that the client has open */
	uint64_t stamp;	    /* of times and size when the client last opened it; 0 never */
};

/* Beside each struct state_file. */
struct back_file {
	struct back_mount *mount;
	uint32_t index;
	int fd;	       /* -1: not open yet in this process; of a free record: the next free one */
	uint32_t busy; /* requests that use fd */
	bool released; /* to be closed when no longer busy */
	struct back_dir *dir;
};

struct back_mount {
	struct fuse_back *back;
	struct back_export *export;
	unsigned slot; /* in the state */
	unsigned n_clients;
	unsigned n_refs; /* requests being served or being sent */
	bool gone;	 /* unmounted: freed when nothing refers to it */

	struct state_node **node_chunks; /* in the state */
	struct back_node **node_extras;	 /* same size, ours */
	uint32_t n_node_chunks;
	uint32_t free_node; /* list */
	uint32_t n_nodes;
	uint32_t *hash; /* by (dev, ino): index of the first node */
	uint32_t n_hash;

	struct state_file **file_chunks;
	struct back_file **file_extras;
	uint32_t n_file_chunks;
	int free_file;	 /* list; -1: none */
	uint32_t n_open; /* that are no directories */

	struct state_answer *answers[STATE_ANSWERS_MAX / STATE_ANSWERS_PER_CHUNK];
	uint32_t next_answer;
};

struct fuse_back_client {
	struct fuse_back *back;
	struct back_mount *mount;
	struct fuse_back_client *next_dying;
	char host[PLENUM_NAME_MAX];
	unsigned n_reqs;
	bool init_done;
	bool read_only;
	bool gone;
};

/* One request being served. Lives in the headroom of its answer's buffer. */
struct back_req {
	struct back_req *prev, *next;	 /* in fuse_back.active */
	struct fuse_back_client *client; /* NULL once answered */
	struct back_mount *mount;
	struct rudp_call *call; /* NULL: nobody waits any more */
	struct fuse_in_header *in;
	size_t in_len;
	size_t out_max;		     /* bytes of data that fit behind the header */
	struct state_answer *answer; /* of a request that must not run twice, else NULL */
	uint64_t unique;
	bool redo; /* a predecessor died over it: it was executed, or not */

	/* While io_uring has it. */
	void (*done)(struct back_req *q, int res);
	struct back_file *file;
	uint8_t *data;
	uint64_t offset;
	uint64_t length;
	uint32_t want, got;
	int op, op_flags;
};
_Static_assert(sizeof(struct back_req) + sizeof(struct fuse_out_header) <= BUF_HEADROOM_BYTES,
	       "a request and its answer's header fit before the data");

/* A request for whose answer there is no buffer yet; in the headroom of its own buffer. */
struct back_wait {
	struct back_wait *next;
	struct fuse_back_client *client;
	struct rudp_call *call;
	size_t len;
};

struct back_fd_slot { /* descriptor cache: least recently used first out */
	int fd;
	struct back_mount *mount;
	uint32_t node;
	uint32_t prev, next;
};

/* The agent is asked to let go as soon as it listens. More than it would ever hold. */
#define BACK_DROPS_MAX 512U

struct fuse_back {
	struct launch_stats *stats;
	const char *host; /* ours */
	fuse_back_hold_cb hold;
	void *hold_user;
	struct {
		uint32_t mount;
		uint64_t node;
	} drops[BACK_DROPS_MAX];
	unsigned n_drops;
	struct back_export exports[LAUNCH_EXPORTS_MAX];
	unsigned n_exports;
	struct state state;
	struct back_mount *mounts[STATE_MOUNTS_MAX];
	struct buf_pool requests, answers;
	struct back_wait *wait_head, **wait_tail;
	unsigned n_wait;
	struct back_req *active;
	unsigned n_active;
	struct fuse_back_client *dying; /* without session and requests: to be freed */

	struct io_uring ring;
	bool ring_ok;
	unsigned n_ring;   /* handed to io_uring, not reaped */
	unsigned n_queued; /* of these, not submitted */

	struct fuse_keeper *keeper; /* NULL: handles are ours to open */
	bool keeper_gone;	    /* found when one was to be opened */
	struct {
		struct back_export *export;
		uint64_t offsets[FUSE_KEEPER_BATCH_MAX];
		int fds[FUSE_KEEPER_BATCH_MAX]; /* the cache's */
		unsigned n;
	} signs; /* nodes that the keeper shall sign */

	struct back_fd_slot *fds;
	uint32_t n_fds, fd_first, fd_last, fd_free;

	uint64_t trimmed_ns;
	uint32_t caps[2];	      /* effective ones that the thread keeps */
	uint32_t fsuid, fsgid, umask; /* of the thread at present */
};

/* fuse_back_req.c */
static inline uint8_t *back_req_data(struct back_req *q)
{
	return (uint8_t *)q + BUF_HEADROOM_BYTES;
}
static inline const void *back_req_arg(const struct back_req *q)
{
	return q->in + 1;
}
/* The name, or first of two, that follows arg_bytes of arguments; the check has seen its end. */
static inline const char *back_req_name(const struct back_req *q, size_t arg_bytes)
{
	return (const char *)(q->in + 1) + arg_bytes;
}
/* Success, with the len bytes that stand at back_req_data. */
void back_reply_data(struct back_req *q, size_t len);
/* err as errno has it: positive; 0: success without data. */
void back_reply_err(struct back_req *q, int err);
void back_reply_entry(struct back_req *q, const struct back_entry *e);
void back_reply_attr(struct back_req *q, const struct stat *st);
/* e: of the file that was made; NULL: none was. flags: FOPEN_*. */
void back_reply_open(struct back_req *q, const struct back_entry *e, uint64_t fh, uint32_t flags);
void back_reply_write(struct back_req *q, uint32_t size);
void back_entry_fill(const struct back_entry *e, struct fuse_entry_out *ret);
void back_wait_run(struct fuse_back *b);
void back_wait_drop(struct fuse_back *b, const struct fuse_back_client *c,
		    const struct rudp_call *call);

/* fuse_back_ring.c */
int back_ring_init(struct fuse_back *b);
void back_ring_done(struct fuse_back *b);
/* Has io_uring do q->op at the next fuse_back_poll; q->done is called with the result. Without
 * io_uring, or where the file system is in memory, done is called before this returns. */
void back_ring_start(struct back_req *q);
/* Submits, reaps, calls done. Number reaped. */
int back_ring_poll(struct fuse_back *b);
/* For good: the thread gives up the right to exceed quotas, and its umask. */
void back_creds_init(struct fuse_back *b);
/* The thread creates files as this user (and passes every check, as the client's kernel has made
 * them), with this umask. */
void back_creds_set(struct fuse_back *b, uint32_t uid, uint32_t gid, uint32_t mask);

/* fuse_back_mount.c */
int back_mount_get(struct fuse_back *b, struct back_export *e, const uint8_t id[16],
		   struct back_mount **ret);
int back_mount_restore(struct fuse_back *b, unsigned slot);
void back_mount_free(struct back_mount *m, bool forget_state);
void back_mount_put(struct back_mount *m); /* frees it if it is gone and unused */
/* Frees the mounts whose clients have been away for a day. */
void back_mounts_expire(struct fuse_back *b);
/* A new open file. Owns fd on success. fh for the client in *ret. */
int back_file_new(struct back_mount *m, uint64_t nodeid, int fd, uint32_t open_flags, bool dir,
		  uint64_t *ret);
/* The open file fh, with its descriptor open. -EBADF; -ESTALE; what opening again says. */
int back_file_get(struct back_mount *m, uint64_t fh, uint64_t nodeid, bool dir,
		  struct back_file **ret, struct state_file **ret_rec);
void back_file_release(struct back_mount *m, uint64_t fh);
void back_file_put(struct back_file *f); /* one request less uses it */
/* The kept answer to a request; NULL: none. */
struct state_answer *back_answer_find(struct back_mount *m, uint64_t unique);
/* A record for a request that starts now. NULL: no memory. */
struct state_answer *back_answer_new(struct back_mount *m, uint64_t unique, uint32_t opcode);

/* fuse_back_hold.c */
/* The node may be about to lose its last name, or has none: if it is open it is held. */
void back_hold(struct back_mount *m, uint64_t nodeid);
/* The same for what the name in the directory shows, before it is removed or replaced. */
void back_hold_name(struct back_mount *m, int dirfd, const char *name);
void back_unhold(struct back_mount *m, uint64_t nodeid);
/* Lets go of what nobody has open; all: of everything. */
void back_unhold_mount(struct back_mount *m, bool all);
void back_drops_retry(struct fuse_back *b);

/* fuse_back_node.c */
int back_fds_init(struct fuse_back *b);
void back_fds_done(struct fuse_back *b);
void back_fds_drop_mount(struct back_mount *m);
/* Closes half of the cached descriptors: the process has run out of them. */
void back_fds_shrink(struct fuse_back *b);
/* Shows the keeper what it has not seen yet. 0; negative errno: it is gone. */
int back_signs_flush(struct fuse_back *b);
int back_export_init(struct back_export *e, const struct launch_export *cfg, bool try_handles);
int back_nodes_init(struct back_mount *m);    /* a new mount: makes the root */
int back_nodes_restore(struct back_mount *m); /* after the chunks were found */
int back_nodes_chunk(struct back_mount *m, uint32_t pos, struct state_node *chunk);
void back_nodes_done(struct back_mount *m);
/* The record behind a nodeid. NULL: the client has no such node. */
struct state_node *back_node_get(struct back_mount *m, uint64_t nodeid, struct back_node **ret);
/* O_PATH descriptor of a node, borrowed: stays open while fewer than 16 others are asked for.
 * Negative errno. */
int back_node_fd(struct back_mount *m, uint64_t nodeid);
/* A new descriptor; only for regular files (else -EINVAL resp. -EISDIR, -ELOOP) and directories. */
int back_node_open(struct back_mount *m, uint64_t nodeid, int flags);
/* The nodeid of what the name shows if the client knows it and it has no other name; else 0. */
uint64_t back_node_last_name(struct back_mount *m, int dirfd, const char *name);
/* The next node that is held, after nodeid (0: the first); 0: none. */
uint64_t back_node_next_held(const struct back_mount *m, uint64_t nodeid);
/* Resolves one name; on success the client holds one more reference. */
int back_node_lookup(struct back_mount *m, uint64_t parent, const char *name,
		     struct back_entry *ret);
/* The same for an open descriptor (borrowed). */
int back_node_of_fd(struct back_mount *m, int fd, struct back_entry *ret);
void back_node_forget(struct back_mount *m, uint64_t nodeid, uint64_t n);

/* Operations, in the table of fuse_back_req.c: each ends in one answer, now or later. */
void back_op_lookup(struct back_req *q);
void back_op_getattr(struct back_req *q);
void back_op_setattr(struct back_req *q);
void back_op_readlink(struct back_req *q);
void back_op_mknod(struct back_req *q);
void back_op_mkdir(struct back_req *q);
void back_op_symlink(struct back_req *q);
void back_op_link(struct back_req *q);
void back_op_unlink(struct back_req *q);
void back_op_rmdir(struct back_req *q);
void back_op_rename(struct back_req *q);
void back_op_rename2(struct back_req *q);
void back_op_statfs(struct back_req *q);
void back_op_open(struct back_req *q);
void back_op_create(struct back_req *q);
void back_op_release(struct back_req *q);
void back_op_read(struct back_req *q);
void back_op_write(struct back_req *q);
void back_op_fsync(struct back_req *q);
void back_op_fallocate(struct back_req *q);
void back_op_lseek(struct back_req *q);
void back_op_copy(struct back_req *q);
void back_op_opendir(struct back_req *q);
void back_op_readdir(struct back_req *q);
void back_op_readdirplus(struct back_req *q);
void back_op_fsyncdir(struct back_req *q);
void back_op_getxattr(struct back_req *q);
void back_op_listxattr(struct back_req *q);
void back_op_removexattr(struct back_req *q);
void back_op_setxattr(struct back_req *q);
void back_dir_free(struct back_dir *d);
/* The path of a descriptor for calls that take no descriptor; it may be an O_PATH one, and is not
 * followed further where it shows a symbolic link. */
#define BACK_FD_PATH_MAX 32
const char *back_fd_path(int fd, char path[BACK_FD_PATH_MAX]);
/* Takes the set-user-id and set-group-id bits away, as a write or truncation by the user would. */
int back_kill_suidgid(int fd);
int back_truncate(int fd, off_t size);

#endif
