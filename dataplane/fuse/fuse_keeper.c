/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends of the keeper: what the worker calls, and the process. Apart from the server end of the
 * file system protocol because it must stay small enough to be trusted: it parses no packets.
 */
#include "dataplane/fuse/fuse_keeper.h"
#include "netcfg/base/hash.h"
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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define WAIT_MS 10000	   /* for an answer at the start */
#define SOCKET_BYTES 16384 /* few messages wait: descriptors on their way are limited per user */
#define FD_SOCK 3
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

enum keeper_op { KEEPER_ROOTS = 1, KEEPER_SIGN, KEEPER_OPEN };

struct keeper_msg {
	uint32_t op;
	uint32_t export_index;
	uint32_t n; /* descriptors that come along */
	uint32_t uid, gid;
	union {
		char names[LAUNCH_EXPORTS_MAX][PLENUM_NAME_MAX];
		struct fuse_handle handle;
	};
};

struct keeper_answer {
	int32_t result;
	uint32_t handles;				 /* ROOTS */
	struct fuse_handle signs[FUSE_KEEPER_BATCH_MAX]; /* SIGN: as many as there were */
};
#define ANSWER_BYTES(n) (offsetof(struct keeper_answer, signs) + (n) * sizeof(struct fuse_handle))

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
	uint64_t id;
};

struct keeper {
	int sock;
	uint64_t key[LAUNCH_KEY_BYTES / sizeof(uint64_t)];
	struct keeper_root roots[LAUNCH_EXPORTS_MAX];
	unsigned n_roots;
};

static int answer(const struct keeper *k, struct keeper_answer *a, unsigned n_signs, int fd)
{
	return msg_send(k->sock, a, ANSWER_BYTES(n_signs), &fd, fd >= 0);
}

static int on_sign(const struct keeper *k, const struct keeper_msg *m, const int *fds, unsigned n)
{
	const struct keeper_root *root = &k->roots[m->export_index];
	struct keeper_answer a = {};
	int mount;

	for (unsigned i = 0; i < n; i++)
		if (fuse_handle_of(fds[i], "", &a.signs[i], &mount) == 0 && mount == root->mount_id)
			fuse_handle_sign(k->key, root->id, &a.signs[i]);
		else
			a.signs[i].len = 0;
	return answer(k, &a, n, -1);
}

static int on_open(const struct keeper *k, const struct keeper_msg *m)
{
	const struct keeper_root *root = &k->roots[m->export_index];
	struct keeper_answer a = {};
	autoclose int fd = -ESTALE;

	if (fuse_handle_is_signed(k->key, root->id, &m->handle))
		fd = fuse_handle_open(root->fd, &m->handle, O_PATH | O_NOFOLLOW);
	a.result = MIN_OF(fd, 0);
	return answer(k, &a, 0, fd);
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
			if (m.op == KEEPER_SIGN)
				r = on_sign(k, &m, fds, n);
			else if (m.op == KEEPER_OPEN)
				r = on_open(k, &m);
		}
		fds_close(fds, n);
		if (r < 0)
			return r;
	}
}

static int root_take(const struct keeper *k, struct keeper_root *root, int fd, char *name,
		     bool *ret_handles)
{
	struct fuse_handle h;
	autoclose int opened = -1;
	int r;

	name[PLENUM_NAME_MAX - 1] = '\0';
	*root = (struct keeper_root){.fd = fd, .mount_id = -1};
	r = fuse_handle_export_id(k->key, name, fd, &root->id);
	if (r < 0)
		return r;
	*ret_handles = false;
	if (fuse_handle_of(fd, "", &h, &root->mount_id) < 0)
		return 0;
	fuse_handle_sign(k->key, root->id, &h);
	opened = fuse_handle_open(fd, &h, O_PATH);
	*ret_handles = opened >= 0;
	return 0;
}

static int privileges_drop(uid_t uid, gid_t gid)
{
	static const int calls[] = {
		SYS_recvmsg,	  SYS_name_to_handle_at,
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
	struct keeper_answer a = {};
	struct keeper_msg m;
	unsigned n;
	ssize_t len = msg_recv(k->sock, &m, sizeof(m), fds, &n);

	if (len <= 0)
		return len < 0 ? (int)len : -EPIPE;
	if (len != (ssize_t)sizeof(m) || m.op != KEEPER_ROOTS || n != m.n || n > LAUNCH_EXPORTS_MAX)
		return -EBADMSG;
	for (unsigned i = 0; i < n && r == 0; i++) {
		bool gives = false;

		r = root_take(k, &k->roots[i], fds[i], m.names[i], &gives);
		a.handles |= (uint32_t)gives << i;
	}
	k->n_roots = n;
	if (r == 0)
		r = privileges_drop(m.uid, m.gid);
	a.result = r;
	(void)answer(k, &a, 0, -1);
	return r;
}

/* Of all that the worker has, the one that the process needs. */
static int fds_keep(int sock)
{
	if ((sock != FD_SOCK && dup3(sock, FD_SOCK, O_CLOEXEC) < 0) ||
	    close_range(FD_SOCK + 1, ~0U, 0) < 0)
		return -errno;
	return 0;
}

static void __attribute__((noreturn)) keeper_run(int sock, int key_fd)
{
	struct keeper k = {.sock = FD_SOCK};
	struct keeper_answer hello = {};
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
		r = fds_keep(sock);
	if (r == 0)
		r = answer(&k, &hello, 0, -1);
	if (r == 0)
		r = roots_take(&k);
	if (r == 0)
		r = serve(&k);
	_exit(r < 0);
}

/* ------------------------------------------------------------------ the worker's end */

/* An answer with n_signs. */
static int answer_take(struct fuse_keeper *k, struct keeper_answer *ret, unsigned n_signs,
		       int *ret_fd)
{
	int fds[FUSE_KEEPER_BATCH_MAX];
	unsigned n;
	ssize_t len = msg_recv(k->sock, ret, sizeof(*ret), fds, &n);

	*ret_fd = n == 1 ? fds[0] : -1;
	if (n > 1)
		fds_close(fds, n);
	if (len < 0 && len != -ECONNRESET)
		return (int)len;
	return len == (ssize_t)ANSWER_BYTES(n_signs) ? 0 : -EPIPE;
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
	r = answer_take(k, ret, 0, &fd);
	return r < 0 ? r : ret->result;
}

/* What is written in memory only is lost when this number changes. */
static int boot_read(uint64_t *ret)
{
	static const uint64_t key[2];
	char text[64] = "";
	autoclose int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return -errno;
	*ret = hash_keyed(key, text, sizeof(text));
	return 0;
}

int fuse_keeper_start(struct fuse_keeper *k, int key_fd, char *why)
{
	int pair[2], r, bytes = SOCKET_BYTES;
	struct keeper_answer a;
	pid_t pid;

	k->sock = -1;
	r = boot_read(&k->boot);
	if (r < 0) {
		snprintf(why, LAUNCH_REASON_MAX, BOOT_ID ": %s", strerror(-r));
		return r;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	pid = fork();
	if (pid == 0)
		keeper_run(pair[1], key_fd);
	close(pair[1]);
	k->sock = pair[0];
	r = pid < 0 ? -ENOMEM : answer_await(k, &a);
	if (r < 0) {
		snprintf(why, LAUNCH_REASON_MAX, "the keeper of file handles cannot start: %s",
			 strerror(-r));
		fuse_keeper_done(k);
	}
	return r;
}

int fuse_keeper_roots(struct fuse_keeper *k, const struct launch_export *exports, unsigned n,
		      uid_t uid, gid_t gid, uint32_t *ret_handles, char *why)
{
	struct keeper_msg m = {.op = KEEPER_ROOTS, .n = n, .uid = uid, .gid = gid};
	int fds[LAUNCH_EXPORTS_MAX], r;
	struct keeper_answer a;

	for (unsigned i = 0; i < n; i++) {
		fds[i] = exports[i].dir_fd;
		snprintf(m.names[i], sizeof(m.names[i]), "%s", exports[i].name);
	}
	r = msg_send(k->sock, &m, sizeof(m), fds, n);
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

int fuse_keeper_sign(struct fuse_keeper *k, unsigned export_index, const int *fds, unsigned n,
		     struct fuse_handle *ret)
{
	struct keeper_msg m = {.op = KEEPER_SIGN, .export_index = export_index, .n = n};
	struct keeper_answer a;
	int fd, r = msg_send(k->sock, &m, sizeof(m), fds, n);

	if (r == 0)
		r = answer_take(k, &a, n, &fd);
	if (r < 0)
		return r;
	cleanup_close(&fd);
	memcpy(ret, a.signs, n * sizeof(*ret));
	return 0;
}

int fuse_keeper_open(struct fuse_keeper *k, unsigned export_index, const struct fuse_handle *h)
{
	struct keeper_msg m = {.op = KEEPER_OPEN, .export_index = export_index, .handle = *h};
	int fd, r = msg_send(k->sock, &m, sizeof(m), NULL, 0);
	struct keeper_answer a;

	if (r < 0)
		return r;
	r = answer_take(k, &a, 0, &fd);
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
