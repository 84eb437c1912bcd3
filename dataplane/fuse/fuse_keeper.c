/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends of the keeper: what the worker calls, and the process. Apart from the server end of the
 * file system protocol because it must stay small enough to be trusted: it parses no packets.
 */
#include "dataplane/fuse/fuse_keeper.h"
#include "netcfg/base/hash.h"
#include "netcfg/base/log.h"
#include "netcfg/base/seccomp.h"
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define WAIT_MS 10000	   /* for a predecessor, and for an answer at the start */
#define SOCKET_BYTES 16384 /* few messages wait: descriptors on their way are limited per user */
#define FD_SOCK 3
#define FD_STATE 4

enum keeper_op { KEEPER_ROOTS = 1, KEEPER_SIGN, KEEPER_OPEN };

struct keeper_msg {
	uint32_t op;
	uint32_t export_index;
	uint32_t n; /* descriptors that come along */
	uint32_t uid, gid;
	uint32_t pad;
	uint64_t offsets[FUSE_KEEPER_BATCH_MAX];
};

struct keeper_answer {
	int32_t result;
	uint32_t handles;
};

union keeper_control {
	char buf[CMSG_SPACE(FUSE_KEEPER_BATCH_MAX * sizeof(int))];
	struct cmsghdr align;
};

/* ------------------------------------------------------------------ messages with descriptors */

static int msg_send(int sock, const void *msg, size_t len, const int *fds, unsigned n)
{
	union keeper_control control = {.buf = {0}};
	struct iovec iov = {.iov_base = (void *)msg, .iov_len = len};
	struct msghdr mh = {.msg_iov = &iov, .msg_iovlen = 1};

	if (n > 0) {
		struct cmsghdr *c;

		mh.msg_control = control.buf;
		mh.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	while (sendmsg(sock, &mh, MSG_NOSIGNAL) < 0) {
		if (errno == ETOOMANYREFS)
			sched_yield(); /* the other end closes what is on its way */
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Length; 0: the end; negative errno. fds has room for FUSE_KEEPER_BATCH_MAX. */
static ssize_t msg_recv(int sock, void *msg, size_t size, int *fds, unsigned *ret_n)
{
	union keeper_control control;
	struct iovec iov = {.iov_base = msg, .iov_len = size};
	struct msghdr mh = {.msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.buf,
			    .msg_controllen = sizeof(control.buf)};
	ssize_t len;

	*ret_n = 0;
	do
		len = recvmsg(sock, &mh, MSG_CMSG_CLOEXEC);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&mh); c; c = CMSG_NXTHDR(&mh, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		*ret_n = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), *ret_n * sizeof(int));
	}
	return len;
}

static void fds_close(const int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
}

/* ------------------------------------------------------------------ the process */

struct keeper_root {
	int fd;
	int mount_id;
	uint64_t dev, ino;
};

struct keeper {
	int sock, state_fd;
	uint64_t key[LAUNCH_KEY_BYTES / sizeof(uint64_t)];
	struct keeper_root roots[LAUNCH_EXPORTS_MAX];
	unsigned n_roots;
};

struct handle_room {
	union {
		struct file_handle h;
		uint8_t space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	};
};

/* Over all that says which file: the export's root too, so that what was reached by one export is
 * not opened by another, which may be writable. Never 0, which means unsigned. */
static uint64_t signature(const struct keeper *k, const struct keeper_root *root, uint8_t type,
			  uint8_t len, const uint8_t *handle)
{
	struct {
		uint64_t dev, ino;
		uint8_t type, len, handle[STATE_HANDLE_BYTES_MAX];
		uint8_t pad[2];
	} what = {.dev = root->dev, .ino = root->ino, .type = type, .len = len};
	uint64_t x;

	memcpy(what.handle, handle, len);
	x = hash_keyed(k->key, &what, sizeof(what));
	return x ? x : 1;
}

static uint64_t sign_fd(const struct keeper *k, const struct keeper_root *root, int fd)
{
	struct handle_room room;
	int mount_id;

	room.h.handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(fd, "", &room.h, &mount_id, AT_EMPTY_PATH) < 0 ||
	    mount_id != root->mount_id || room.h.handle_bytes > STATE_HANDLE_BYTES_MAX ||
	    room.h.handle_type < 0 || room.h.handle_type > UINT8_MAX)
		return 0;
	return signature(k, root, (uint8_t)room.h.handle_type, (uint8_t)room.h.handle_bytes,
			 room.h.f_handle);
}

static void on_sign(const struct keeper *k, const struct keeper_msg *m, const int *fds, unsigned n)
{
	const struct keeper_root *root = &k->roots[m->export_index];

	for (unsigned i = 0; i < n; i++) {
		uint64_t x = sign_fd(k, root, fds[i]);

		/* The worker could write there itself: a wrong place harms nobody but it. */
		if (pwrite(k->state_fd, &x, sizeof(x),
			   (off_t)(m->offsets[i] + offsetof(struct state_node, signature))) < 0)
			log_debug("a signature was not written: %s", strerror(errno));
	}
}

static int on_open(const struct keeper *k, const struct keeper_msg *m)
{
	const struct keeper_root *root = &k->roots[m->export_index];
	struct handle_room room;
	struct state_node rec;
	int fd;

	if (pread(k->state_fd, &rec, sizeof(rec), (off_t)m->offsets[0]) != (ssize_t)sizeof(rec) ||
	    rec.handle_len == 0 || rec.handle_len > STATE_HANDLE_BYTES_MAX ||
	    rec.signature != signature(k, root, rec.handle_type, rec.handle_len, rec.handle))
		return -ESTALE;
	room.h.handle_bytes = rec.handle_len;
	room.h.handle_type = rec.handle_type;
	memcpy(room.h.f_handle, rec.handle, rec.handle_len);
	fd = open_by_handle_at(root->fd, &room.h, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int answer(const struct keeper *k, int result, uint32_t handles, int fd)
{
	struct keeper_answer a = {.result = result, .handles = handles};

	return msg_send(k->sock, &a, sizeof(a), &fd, fd >= 0);
}

/* Only the worker sends, but it may have been taken over: what does not fit is passed over. */
static int serve(const struct keeper *k)
{
	struct keeper_msg m;
	int fds[FUSE_KEEPER_BATCH_MAX];

	for (;;) {
		unsigned n;
		ssize_t len = msg_recv(k->sock, &m, sizeof(m), fds, &n);
		int r = 0;

		if (len <= 0)
			return (int)len;
		if (len == (ssize_t)sizeof(m) && m.export_index < k->n_roots) {
			if (m.op == KEEPER_SIGN) {
				on_sign(k, &m, fds, n);
			} else if (m.op == KEEPER_OPEN) {
				autoclose int fd = on_open(k, &m);

				r = answer(k, MIN_OF(fd, 0), 0, fd);
			}
		}
		fds_close(fds, n);
		if (r < 0)
			return r;
	}
}

static int root_take(struct keeper_root *root, int fd, bool *ret_handles)
{
	struct handle_room room;
	struct stat st;
	int opened;

	*root = (struct keeper_root){.fd = fd, .mount_id = -1};
	if (fstat(fd, &st) < 0)
		return -errno;
	root->dev = st.st_dev;
	root->ino = st.st_ino;
	room.h.handle_bytes = MAX_HANDLE_SZ;
	*ret_handles = false;
	if (name_to_handle_at(fd, "", &room.h, &root->mount_id, AT_EMPTY_PATH) < 0)
		return 0;
	opened = open_by_handle_at(fd, &room.h, O_PATH | O_CLOEXEC);
	*ret_handles = opened >= 0;
	if (opened >= 0)
		close(opened);
	return 0;
}

static int privileges_drop(uid_t uid, gid_t gid)
{
	static const int calls[] = {
		SYS_recvmsg,	  SYS_name_to_handle_at,
		SYS_pwrite64,	  SYS_pread64,
		SYS_close,	  SYS_open_by_handle_at,
		SYS_sendmsg,	  SYS_sched_yield,
		SYS_exit_group,	  SYS_write,
		SYS_brk,	  SYS_munmap,
		SYS_rt_sigreturn, SYS_restart_syscall,
		SYS_futex,	  SYS_clock_gettime,
#ifdef __SANITIZE_ADDRESS__ /* its exit handlers and its own memory */
		SYS_mmap,	  SYS_sigaltstack,
		SYS_madvise,
#endif
	};
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {};

	data[0].permitted = data[0].effective = 1U << CAP_DAC_READ_SEARCH;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0 ||
	    syscall(SYS_capset, &head, data) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return seccomp_allow_list(calls, ARRAY_SIZE(calls), SECCOMP_RET_ERRNO | EPERM);
}

static int roots_take(struct keeper *k)
{
	int fds[FUSE_KEEPER_BATCH_MAX], r = 0;
	struct keeper_msg m;
	uint32_t handles = 0;
	unsigned n;
	ssize_t len = msg_recv(k->sock, &m, sizeof(m), fds, &n);

	if (len <= 0)
		return len < 0 ? (int)len : -EPIPE;
	if (len != (ssize_t)sizeof(m) || m.op != KEEPER_ROOTS || n != m.n || n > LAUNCH_EXPORTS_MAX)
		return -EBADMSG;
	for (unsigned i = 0; i < n && r == 0; i++) {
		bool gives = false;

		r = root_take(&k->roots[i], fds[i], &gives);
		handles |= (uint32_t)gives << i;
	}
	k->n_roots = n;
	if (r == 0)
		r = privileges_drop(m.uid, m.gid);
	(void)answer(k, r, handles, -1);
	return r;
}

/* The lock is of a description of our own, which ends with this process and no other. */
static int state_lock(struct keeper *k)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", k->state_fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(k->state_fd);
	k->state_fd = fd;
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Of all that the worker has, the two that the process needs. */
static int fds_keep(int sock, int state_fd)
{
	sock = fcntl(sock, F_DUPFD, FD_STATE + 1);
	state_fd = fcntl(state_fd, F_DUPFD, FD_STATE + 1);
	if (dup3(sock, FD_SOCK, O_CLOEXEC) < 0 || dup3(state_fd, FD_STATE, O_CLOEXEC) < 0 ||
	    close_range(FD_STATE + 1, ~0U, 0) < 0)
		return -errno;
	return 0;
}

static void __attribute__((noreturn)) keeper_run(int sock, int state_fd, int key_fd)
{
	struct keeper k = {.sock = FD_SOCK, .state_fd = FD_STATE};
	cpu_set_t all;
	int r;

	memset(&all, 0xff, sizeof(all)); /* the worker's core is the worker's */
	(void)sched_setaffinity(0, sizeof(all), &all);
	(void)prctl(PR_SET_NAME, "plenum-keeper");
	/* The agent asks the worker to stop; this process ends by itself, after it. */
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	r = pread(key_fd, k.key, sizeof(k.key), 0) == (ssize_t)sizeof(k.key) ? 0 : -EBADMSG;
	if (r == 0)
		r = fds_keep(sock, state_fd);
	if (r == 0)
		r = state_lock(&k);
	if (r == 0)
		r = answer(&k, 0, 0, -1);
	if (r == 0)
		r = roots_take(&k);
	if (r == 0)
		r = serve(&k);
	_exit(r < 0);
}

/* ------------------------------------------------------------------ the worker's end */

static int answer_take(struct fuse_keeper *k, struct keeper_answer *ret, int *ret_fd)
{
	int fds[FUSE_KEEPER_BATCH_MAX];
	unsigned n;
	ssize_t len = msg_recv(k->sock, ret, sizeof(*ret), fds, &n);

	*ret_fd = n == 1 ? fds[0] : -1;
	if (n > 1)
		fds_close(fds, n);
	if (len < 0 && len != -ECONNRESET)
		return (int)len;
	return len == (ssize_t)sizeof(*ret) ? 0 : -EPIPE;
}

/* At the start, when something may be wrong that a person should hear of. */
static int answer_await(struct fuse_keeper *k, struct keeper_answer *ret)
{
	struct pollfd p = {.fd = k->sock, .events = POLLIN};
	int fd, r = poll(&p, 1, WAIT_MS);

	if (r < 0)
		return -errno;
	if (r == 0)
		return -EBUSY;
	r = answer_take(k, ret, &fd);
	return r < 0 ? r : ret->result;
}

int fuse_keeper_start(struct fuse_keeper *k, int state_fd, int key_fd, char *why)
{
	int pair[2], r, bytes = SOCKET_BYTES;
	struct keeper_answer a;
	pid_t pid;

	k->sock = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	pid = fork();
	if (pid == 0)
		keeper_run(pair[1], state_fd, key_fd);
	close(pair[1]);
	k->sock = pair[0];
	r = pid < 0 ? -ENOMEM : answer_await(k, &a);
	if (r == -EBUSY)
		snprintf(why, LAUNCH_REASON_MAX,
			 "the former worker's keeper of file handles has not ended; its disk may "
			 "hang");
	else if (r < 0)
		snprintf(why, LAUNCH_REASON_MAX, "the keeper of file handles cannot start: %s",
			 strerror(-r));
	if (r < 0)
		fuse_keeper_done(k);
	return r;
}

int fuse_keeper_roots(struct fuse_keeper *k, const int *fds, unsigned n, uid_t uid, gid_t gid,
		      uint32_t *ret_handles, char *why)
{
	struct keeper_msg m = {.op = KEEPER_ROOTS, .n = n, .uid = uid, .gid = gid};
	struct keeper_answer a;
	int r = msg_send(k->sock, &m, sizeof(m), fds, n);

	if (r == 0)
		r = answer_await(k, &a);
	if (r < 0) {
		snprintf(why, LAUNCH_REASON_MAX, "the keeper of file handles fails: %s",
			 strerror(-r));
		return r;
	}
	*ret_handles = a.handles;
	return 0;
}

int fuse_keeper_sign(struct fuse_keeper *k, unsigned export_index, const uint64_t *offsets,
		     const int *fds, unsigned n)
{
	struct keeper_msg m = {.op = KEEPER_SIGN, .export_index = export_index, .n = n};

	memcpy(m.offsets, offsets, n * sizeof(offsets[0]));
	return msg_send(k->sock, &m, sizeof(m), fds, n);
}

int fuse_keeper_open(struct fuse_keeper *k, unsigned export_index, uint64_t offset)
{
	struct keeper_msg m = {
		.op = KEEPER_OPEN, .export_index = export_index, .offsets = {offset}};
	int fd, r = msg_send(k->sock, &m, sizeof(m), NULL, 0);
	struct keeper_answer a;

	if (r < 0)
		return r;
	r = answer_take(k, &a, &fd);
	if (r < 0 || a.result < 0) {
		cleanup_close(&fd);
		return r < 0 ? r : a.result;
	}
	/* Without a free number the kernel drops the descriptor on its way. */
	return fd < 0 ? -EMFILE : fd;
}

void fuse_keeper_done(struct fuse_keeper *k)
{
	cleanup_close(&k->sock);
	k->sock = -1;
}
