/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The helper processes: their privileges, sandbox, main loop and end, and the watcher process. This
 * code runs with privileges that the worker does not have. It never allocates memory.
 */
#include "dataplane/fuse/helper/fs_helper_internal.h"
#include "netcfg/base/os/seccomp.h"
#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define CAP(x) (1ULL << (x))
/* The capabilities that a helper needs to serve files of other users and to open them by handle. */
#define CAPS_HELPER                                                                            \
	(CAP(CAP_CHOWN) | CAP(CAP_DAC_OVERRIDE) | CAP(CAP_DAC_READ_SEARCH) | CAP(CAP_FOWNER) | \
	 CAP(CAP_FSETID) | CAP(CAP_SETUID) | CAP(CAP_SETGID) | CAP(CAP_MKNOD) | CAP(CAP_SETFCAP))

#define CALLS_ALL                                                                  \
	SYS_ppoll, SYS_read, SYS_write, SYS_close, SYS_getdents64, SYS_exit_group, \
		SYS_rt_sigreturn, SYS_restart_syscall

#ifdef __SANITIZE_ADDRESS__ /* system calls of the sanitizer for its reports, stacks and memory */
#define CALLS_SANITIZER SYS_mmap, SYS_munmap, SYS_sigaltstack, SYS_madvise, SYS_futex, SYS_gettid
#endif

static const int calls_helper[] = {
	CALLS_ALL,
	SYS_openat,
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_name_to_handle_at,
	SYS_open_by_handle_at,
	SYS_newfstatat,
	SYS_fstat,
	SYS_setfsuid,
	SYS_setfsgid,
	SYS_setgroups,
	SYS_umask,
	SYS_capset,
	SYS_mknodat,
	SYS_mkdirat,
	SYS_symlinkat,
	SYS_linkat,
	SYS_unlinkat,
	SYS_renameat2,
#ifdef SYS_renameat /* the C library makes this call for renameat2() without flags */
	SYS_renameat,
#endif
	SYS_readlinkat,
	SYS_fchmodat,
	SYS_fchownat,
	SYS_utimensat,
	SYS_getxattr,
	SYS_setxattr,
	SYS_listxattr,
	SYS_removexattr,
	SYS_ftruncate,
	SYS_truncate,
	SYS_fallocate,
	SYS_copy_file_range,
	SYS_pwritev2,
	SYS_lseek,
	SYS_fsync,
	SYS_fdatasync,
	SYS_fstatfs,
#ifdef __SANITIZE_ADDRESS__
	CALLS_SANITIZER,
#endif
};

static const int calls_watcher[] = {
	CALLS_ALL,
	SYS_statx,
#ifdef __SANITIZE_ADDRESS__
	CALLS_SANITIZER,
#endif
};

static const struct seccomp_rule rules[] = {
	{SYS_fcntl, 1, UINT32_MAX, F_DUPFD_CLOEXEC},
	{SYS_fcntl, 1, UINT32_MAX, F_GETFL},
};

static int seal(const int *nrs, size_t n)
{
	const struct seccomp_filter f = {
		.nrs = nrs,
		.n_nrs = n,
		.rules = rules,
		.n_rules = ARRAY_SIZE(rules),
		.action = SECCOMP_RET_ERRNO | EPERM,
	};

	return seccomp_filter_install(&f);
}

static int privileges_drop(const struct fs_helper *pool, uint64_t caps)
{
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
				   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
				   SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {};

	for (unsigned i = 0; i < 2; i++) {
		data[i].permitted = (uint32_t)(caps >> (32 * i));
		data[i].effective = data[i].permitted;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECUREBITS, bits) < 0 ||
	    setgroups(0, NULL) < 0 || setresgid(pool->gid, pool->gid, pool->gid) < 0 ||
	    setresuid(pool->uid, pool->uid, pool->uid) < 0 ||
	    syscall(SYS_capset, &head, data) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return 0;
}

/* ------------------------------------------------------------------ start */

static uint32_t stage_wanted(const struct fs_helper *pool)
{
	/* The worker sets the stage in stage_set(), and the watcher in helpers_watch(). A process
	 * that sees a stage also sees all data that it needs at this stage. */
	return __atomic_load_n(&pool->stage, __ATOMIC_ACQUIRE);
}

static void stage_reached(struct fs_helper *pool, struct helpers_proc *proc,
			  enum helpers_stage stage, int error)
{
	proc->error = error;
	/* stage_await() of the worker reads the stage, and the error that was stored before it. */
	__atomic_store_n(&proc->stage, stage, __ATOMIC_RELEASE);
	helpers_fd_wake(pool->done_fd);
}

/* Waits for a wake-up. Returns false if the worker has ended. */
static bool wake_wait(const struct fs_helper *pool, const struct helpers_proc *proc)
{
	struct pollfd p[] = {{.fd = proc->wake_fd, .events = POLLIN},
			     {.fd = pool->worker_pidfd, .events = POLLIN}};
	uint64_t n;

	if (ppoll(p, ARRAY_SIZE(p), NULL, NULL) < 0)
		return errno == EINTR;
	if (p[0].revents & POLLIN && read(proc->wake_fd, &n, sizeof(n)) < 0)
		return true;
	/* POLLNVAL: the watcher has closed the descriptor, because the worker has ended */
	return p[1].revents == 0 && !(p[0].revents & POLLNVAL);
}

static bool stage_wait(const struct fs_helper *pool, const struct helpers_proc *proc,
		       enum helpers_stage stage)
{
	while (stage_wanted(pool) < stage)
		if (!wake_wait(pool, proc))
			return false;
	return stage_wanted(pool) != STAGE_STOP;
}

/* Makes the directory of the process's own open descriptors the working directory. Relative names
 * then can refer only to these descriptors. */
static int chdir_to_own_fds(void)
{
	autoclose int fd =
		open_tree(AT_FDCWD, "/proc/self/fd", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	return fd < 0 || fchdir(fd) < 0 ? -errno : 0;
}

static int begin(const char *name)
{
	cpu_set_t all;

	/* Allow all cores, because a process inherits the worker's single core. */
	memset(&all, 0xff, sizeof(all));
	(void)sched_setaffinity(0, sizeof(all), &all);
	(void)prctl(PR_SET_NAME, name);
	/* Ignore these signals: they are meant for the worker, and these processes exit after
	 * it. */
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	umask(0);
	return chdir_to_own_fds();
}

/* ------------------------------------------------------------------ the watcher */

static bool is_root(const struct fs_helper *pool, int fd)
{
	for (unsigned i = 0; i < pool->n_exports; i++)
		if (pool->exports[i].root_fd == fd)
			return true;
	return false;
}

/* Returns whether a helper may still need the descriptor. Makes no system call that could block on
 * a file system that hangs. */
static bool fd_is_files(const struct fs_helper *pool, int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct statx st;

	if (flags < 0 || flags & O_PATH || is_root(pool, fd))
		return true;
	if (fd < (int)HELPERS_FDS_STATIC && pool->fds_static[fd / 8] & 1 << fd % 8)
		return false;
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 &&
	       (S_ISREG(st.stx_mode) || S_ISDIR(st.stx_mode));
}

/* Closes the worker's sockets, devices and memory: the worker's successor needs them, and a helper
 * that hangs would keep them open. */
static void worker_fds_close(const struct fs_helper *pool, int own_fds)
{
	_Alignas(8) char buf[4096];
	long n;

	while ((n = syscall(SYS_getdents64, own_fds, buf, sizeof(buf))) > 0) {
		for (long pos = 0; pos < n;) {
			const struct helper_kernel_dirent *de = (const void *)(buf + pos);
			int fd = atoi(de->name);

			pos += de->reclen;
			if (de->name[0] != '.' && fd != own_fds && !fd_is_files(pool, fd))
				close(fd);
		}
	}
}

/*
 * The descriptors on which the watcher waits. They are duplicates: all processes share one
 * descriptor table, and a worker that ends normally closes the pool's descriptors, perhaps before
 * the watcher has run.
 */
struct watch {
	struct pollfd p[2 + ARRAY_SIZE(((struct fs_helper *)NULL)->procs)];
	unsigned n;
	int done_fd;
};
#define WATCH_WORKER 0U
#define WATCH_WAKE 1U
#define WATCH_HELPERS 2U

static int own_fd(int fd)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return own < 0 ? -errno : own;
}

static int watch_begin(struct watch *w, const struct fs_helper *pool,
		       const struct helpers_proc *proc)
{
	w->n = WATCH_HELPERS + pool->n_procs - 1;
	w->done_fd = own_fd(pool->done_fd);
	for (unsigned i = 0; i < w->n; i++) {
		int fd = i == WATCH_WORKER ? pool->worker_pidfd
			 : i == WATCH_WAKE ? proc->wake_fd
					   : pool->procs[1 + i - WATCH_HELPERS].pidfd;

		w->p[i] = (struct pollfd){.fd = own_fd(fd), .events = POLLIN};
		if (w->p[i].fd < 0)
			return w->p[i].fd;
	}
	return MIN_OF(w->done_fd, 0);
}

static void watch_end(const struct watch *w)
{
	for (unsigned i = 0; i < w->n; i++)
		close(w->p[i].fd);
	close(w->done_fd);
}

/* Waits until the worker has ended or, after STAGE_STOP, until all helpers have ended. If a helper
 * ends earlier, informs the worker. Returns true if the worker has ended. */
static bool watch(struct fs_helper *pool, const struct watch *w)
{
	struct pollfd p[ARRAY_SIZE(w->p)];
	unsigned left = w->n - WATCH_HELPERS;
	uint64_t wakes;

	memcpy(p, w->p, sizeof(p));
	while (left > 0 || stage_wanted(pool) != STAGE_STOP) {
		if (ppoll(p, w->n, NULL, NULL) < 0)
			continue;
		/* POLLNVAL counts as the worker's end too: the descriptor is closed, and poll(2)
		 * would return at once for ever. */
		if (p[WATCH_WORKER].revents)
			return true;
		if (p[WATCH_WAKE].revents && read(p[WATCH_WAKE].fd, &wakes, sizeof(wakes)) < 0)
			continue;
		for (unsigned i = WATCH_HELPERS; i < w->n; i++) {
			if (p[i].revents == 0)
				continue;
			p[i].fd = -1;
			left--;
			/* pool_is_whole() of the worker reads this flag. */
			__atomic_store_n(&pool->broken, 1, __ATOMIC_RELEASE);
			helpers_fd_wake(w->done_fd);
		}
	}
	return false;
}

int helpers_watch(struct fs_helper *pool, struct helpers_proc *proc, struct journal *journals)
{
	static struct watch w;
	int own_fds, r = begin("plenum-watcher");

	for (unsigned i = 0; i < pool->n_exports && r >= 0; i++) {
		r = journal_owner_register(&journals[i], pool->worker_id);
		pool->exports[i].journal.owner = r > 0 ? (unsigned)r : 0;
	}
	stage_reached(pool, proc, STAGE_STARTED, MIN_OF(r, 0));
	if (r < 0 || !stage_wait(pool, proc, STAGE_SERVING))
		return r < 0;
	own_fds = openat(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = own_fds < 0 ? -errno : watch_begin(&w, pool, proc);
	if (r == 0)
		r = privileges_drop(pool, 0);
	if (r == 0)
		r = seal(calls_watcher, ARRAY_SIZE(calls_watcher));
	stage_reached(pool, proc, STAGE_SERVING, r);
	if (r < 0)
		return 1;
	if (!watch(pool, &w)) {
		close(own_fds); /* do not close the descriptors, because the worker is alive and
				   uses them */
		watch_end(&w);
		return 0;
	}
	/* The helpers read the stage in stage_wanted(), and exit. */
	__atomic_store_n(&pool->stage, STAGE_STOP, __ATOMIC_RELEASE);
	for (unsigned i = 1; i < pool->n_procs; i++)
		helpers_fd_wake(pool->procs[i].wake_fd);
	worker_fds_close(pool, own_fds);
	return 0;
}

/* ------------------------------------------------------------------ a helper */

/* Takes a call from the queue; returns NULL if the queue is empty. */
static struct helper_call *call_take(struct helper *self)
{
	struct helpers_ring *ring = &self->export->queues[self->queue];
	uint32_t at = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

	/* Pairs with the store in fs_helper_submit(): a helper that sees the new tail also sees the
	 * call. */
	while (at != __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE)) {
		uint16_t i = ring->calls[at % HELPERS_CALLS_MAX];

		/* Pairs with the same exchange in the queue's other helpers: only one of them gets
		 * the call. */
		if (__atomic_compare_exchange_n(&ring->head, &at, at + 1, false, __ATOMIC_SEQ_CST,
						__ATOMIC_ACQUIRE))
			return &self->export->calls[i % HELPERS_CALLS_MAX];
	}
	return NULL;
}

static void call_finish(struct helper *self, struct helper_call *call)
{
	struct fs_helper *pool = self->pool;
	size_t i = (size_t)(call - self->export->calls);

	/* Pairs with done_take() of the worker: the result is complete before its bit is set. */
	__atomic_fetch_or(&self->export->done[i / 64], 1ULL << i % 64, __ATOMIC_RELEASE);
	__atomic_fetch_or(&pool->done_exports, 1U << self->export_index, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&pool->worker_sleeps, 0, __ATOMIC_SEQ_CST))
		helpers_fd_wake(pool->done_fd);
}

static void serve(struct helper *self)
{
	while (stage_wanted(self->pool) != STAGE_STOP) {
		struct helper_call *call = call_take(self);
		uint32_t was = CALL_QUEUED;

		if (call) {
			/* Pairs with fs_helper_interrupt() of the worker: only one of the two
			 * exchanges succeeds. */
			if (__atomic_compare_exchange_n(&call->state, &was, CALL_RUNNING, false,
							__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
				helper_call_run(self, call);
			call_finish(self, call);
			continue;
		}
		/* Pairs with fs_helper_submit(): either the worker sees that this helper sleeps, or
		 * this helper sees the worker's call. */
		__atomic_store_n(&self->proc->asleep, 1, __ATOMIC_SEQ_CST);
		if (helpers_ring_is_empty(&self->export->queues[self->queue]) &&
		    !wake_wait(self->pool, self->proc))
			return;
		__atomic_store_n(&self->proc->asleep, 0, __ATOMIC_RELAXED);
	}
}

/*
 * Returns whether each change of a file after a read of its attributes gets a new timestamp. Most
 * file systems do so since Linux 6.13, but no interface reports it. So this function tries it: a
 * coarse clock does not change three times during this loop.
 */
static bool times_are_fine(int root_fd)
{
	autoclose int fd = openat(root_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct stat was = {}, is;

	for (unsigned i = 0; i < 4; i++, was = is) {
		if (fd < 0 || fchmod(fd, i & 1 ? 0600 : 0400) < 0 || fstat(fd, &is) < 0)
			return false;
		if (was.st_ctim.tv_sec == is.st_ctim.tv_sec &&
		    was.st_ctim.tv_nsec == is.st_ctim.tv_nsec)
			return false;
	}
	return true;
}

static int confine(struct helper *self)
{
	const struct fs_helper *pool = self->pool;
	int r;

	self->caps = self->caps_effective = CAPS_HELPER;
	r = privileges_drop(pool, CAPS_HELPER);
	fuse_ids_get(&self->ids);
	return r < 0 ? r : seal(calls_helper, ARRAY_SIZE(calls_helper));
}

int helpers_run(struct fs_helper *pool, struct helpers_proc *proc, const struct journal *journal)
{
	static struct helper self; /* static, because it is too large for a stack; there is one per
				      process */
	uint64_t key[2] = {};
	int r = begin("plenum-helper");

	self.pool = pool;
	self.proc = proc;
	self.export_index = proc->export_index;
	self.queue = proc->queue;
	self.export = &pool->exports[self.export_index];
	self.journal = *journal;
	self.arena = (uintptr_t)pool->arena;
	self.arena_bytes = pool->arena_bytes;
	memcpy(self.export_name, self.export->name, sizeof(self.export_name));
	if (r == 0 && pread(pool->key_fd, key, sizeof(key), 0) != (ssize_t)sizeof(key))
		r = -EBADMSG;
	if (r == 0)
		/* Plain writes are not journalled, because they may be repeated. But the helper of
		 * an earlier worker must not execute an old write after a newer write by the
		 * successor. So the helpers that write register for their worker, and its successor
		 * waits for their end. */
		r = journal_owner_register(&self.journal, self.queue == HELPERS_DATA
								  ? pool->worker_id
								  : JOURNAL_NO_WORKER);
	self.owner = (unsigned)MAX_OF(r, 0);
	stage_reached(pool, proc, STAGE_STARTED, MIN_OF(r, 0));
	if (r < 0 || !stage_wait(pool, proc, STAGE_SERVING))
		return r < 0;
	r = helper_root_take(&self, key, self.export->root_fd);
	explicit_bzero(key, sizeof(key));
	self.fine_times = times_are_fine(self.root_fd);
	if (r == 0)
		r = confine(&self);
	stage_reached(pool, proc, STAGE_SERVING, r);
	if (r == 0)
		serve(&self);
	return r < 0;
}
