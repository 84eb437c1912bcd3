/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker's side of the I/O helpers: starts them, submits calls and delivers results. The
 * helpers do not rely on anything that this code does, because an attacker may control the worker
 * that runs it.
 */
#include "dataplane/fuse/helper/fs_helper_internal.h"
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Time limit for a predecessor's helpers to end, and for new helpers to start. */
#define WAIT_MS 10000
#define END_MS 1000 /* time limit for idle helpers to exit */
/* If no wake-up is expected, wakes_read() reads the descriptor in only one of this many calls. */
#define ARMS_UNREAD 64U

/* ------------------------------------------------------------------ start */

static void wake_all(const struct fs_helper *h)
{
	for (unsigned i = 0; i < h->n_procs; i++)
		helpers_fd_wake(h->procs[i].wake_fd);
}

static void stage_set(struct fs_helper *h, enum helpers_stage stage)
{
	/* Pairs with stage_wanted() of the processes: a process that sees the stage also sees
	 * everything that it needs at this stage. */
	__atomic_store_n(&h->stage, stage, __ATOMIC_RELEASE);
	wake_all(h);
}

static bool proc_has_ended(const struct helpers_proc *p)
{
	struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

	return poll(&fd, 1, 0) > 0;
}

static int stage_look(const struct fs_helper *h, enum helpers_stage stage)
{
	for (unsigned i = 0; i < h->n_procs; i++) {
		const struct helpers_proc *p = &h->procs[i];

		/* A process stores its error before its stage (stage_reached()), so the error below
		 * is valid. */
		if (__atomic_load_n(&p->stage, __ATOMIC_ACQUIRE) >= stage) {
			if (p->error < 0)
				return p->error;
			continue;
		}
		return proc_has_ended(p) ? -ECHILD : -EAGAIN;
	}
	return 0;
}

/* Waits until all processes have reached the stage. Each process reports it once by a write to
 * done_fd. This function reads all these reports, because an unread report would later wake the
 * worker without need. */
static int stage_await(struct fs_helper *h, enum helpers_stage stage)
{
	uint64_t until_ns = clock_now_ns() + WAIT_MS * NSEC_PER_MSEC, n, n_reported = 0;
	struct pollfd p = {.fd = h->done_fd, .events = POLLIN};
	int r;

	while ((r = stage_look(h, stage)) == -EAGAIN || (r == 0 && n_reported < h->n_procs)) {
		if (clock_now_ns() > until_ns)
			return -ETIMEDOUT;
		if (poll(&p, 1, 100) <= 0)
			continue;
		if (read(h->done_fd, &n, sizeof(n)) < 0)
			return -errno;
		n_reported += n;
	}
	return r;
}

/* Waits until a predecessor's helpers have ended. They keep the predecessor's sockets open until
 * their watcher has closed them. They may also still execute writes that clients send again to this
 * worker. */
static int predecessor_await(const struct fs_helper *h)
{
	const struct timespec pause = {.tv_nsec = NSEC_PER_MSEC};
	uint64_t until_ns = clock_now_ns() + WAIT_MS * NSEC_PER_MSEC;

	for (unsigned i = 0; i < h->n_exports; i++) {
		while (journal_worker_is_alive(&h->exports[i].journal, h->worker_id)) {
			if (clock_now_ns() > until_ns)
				return -EBUSY;
			nanosleep(&pause, NULL);
		}
	}
	return 0;
}

static int export_init(struct helpers_export *e, unsigned index, const char *name, int state_fd)
{
	autoclose int own = -1;

	e->root_fd = -1;
	snprintf(e->name, sizeof(e->name), "%s", name);
	for (unsigned i = 0; i < HELPERS_CALLS_MAX; i++) {
		e->free[i] = (uint16_t)(HELPERS_CALLS_MAX - 1 - i);
		e->calls[i].export_index = (uint16_t)index;
		e->calls[i].index = (uint16_t)i;
	}
	e->n_free = HELPERS_CALLS_MAX;
	if (state_fd < 0) {
		own = memfd_create("journal", MFD_CLOEXEC);
		if (own < 0)
			return -errno;
		state_fd = own;
	}
	return journal_open(&e->journal, state_fd);
}

static int proc_start(struct fs_helper *h, unsigned index)
{
	/* A copy of the journals for the child. If the child first runs after the pool was freed,
	 * the journals in the pool are closed. */
	struct journal journals[LAUNCH_EXPORTS_MAX] = {};
	struct helpers_proc *p = &h->procs[index];
	long pid;

	for (unsigned i = 0; i < h->n_exports; i++)
		journals[i] = h->exports[i].journal;

	p->export_index = (index - 1) / HELPERS_PER_EXPORT;
	p->queue = MIN_OF((index - 1) % HELPERS_PER_EXPORT / HELPERS_PER_QUEUE, HELPERS_DATA);
	p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake_fd < 0)
		return -errno;
	/* with these flags, clone(2) works like fork(2), but both processes share one descriptor
	 * table */
	pid = syscall(SYS_clone, (unsigned long)(CLONE_FILES | SIGCHLD), NULL, NULL, NULL, 0UL);
	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(index == 0 ? helpers_watch(h, p, journals)
				 : helpers_run(h, p, &journals[p->export_index]));
	p->pid = (pid_t)pid;
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	return p->pidfd < 0 ? -errno : 0;
}

static int pool_fds(struct fs_helper *h)
{
	struct epoll_event ev = {.events = EPOLLIN};

	h->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	h->worker_pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (h->done_fd < 0 || h->worker_pidfd < 0 || h->epoll_fd < 0 ||
	    epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->done_fd, &ev) < 0)
		return -errno;
	return 0;
}

static int pool_start(struct fs_helper *h)
{
	struct epoll_event ev = {.events = EPOLLIN};
	unsigned n = 1 + h->n_exports * HELPERS_PER_EXPORT;
	int r = pool_fds(h);

	while (r == 0 && h->n_procs < n)
		r = proc_start(h, h->n_procs++);
	/* Watch the first process, the watcher. It informs the worker if another process ends. */
	if (r == 0 && epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->procs[0].pidfd, &ev) < 0)
		r = -errno;
	return r < 0 ? r : stage_await(h, STAGE_STARTED);
}

static struct fs_helper *pool_new(const struct fs_helper_config *cfg)
{
	size_t bytes = sizeof(struct fs_helper) + cfg->n_exports * sizeof(struct helpers_export);
	struct fs_helper *h = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (h == MAP_FAILED)
		return NULL;
	h->bytes = bytes;
	h->worker_id = cfg->worker_id;
	h->n_ids = MIN_OF(cfg->n_ids, (uint32_t)LAUNCH_IDS_MAX);
	if (h->n_ids > 0)
		memcpy(h->ids, cfg->ids, h->n_ids * sizeof(h->ids[0]));
	h->key_fd = cfg->key_fd;
	h->done_fd = h->worker_pidfd = h->epoll_fd = -1;
	for (unsigned i = 0; i < ARRAY_SIZE(h->procs); i++)
		h->procs[i].pidfd = h->procs[i].wake_fd = -1;
	h->arena = mmap(NULL, MAX_OF(cfg->arena_bytes, 4096U), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (h->arena == MAP_FAILED) {
		munmap(h, bytes);
		return NULL;
	}
	h->arena_bytes = MAX_OF(cfg->arena_bytes, 4096U);
	return h;
}

int fs_helper_start(const struct fs_helper_config *cfg, struct fs_helper **ret, struct reason *why)
{
	struct fs_helper *h = pool_new(cfg);
	int r = h ? 0 : -ENOMEM;

	for (unsigned i = 0; i < cfg->n_exports && r == 0; i++) {
		r = export_init(&h->exports[i], i, cfg->exports[i].name, cfg->exports[i].state_fd);
		h->n_exports = i + 1;
	}
	if (r == 0)
		r = predecessor_await(h);
	if (r == -EBUSY)
		reason_set_text(why,
				"I/O helpers of the former worker still have its sockets open: the "
				"export's disk may hang");
	else if (r == 0)
		r = pool_start(h);
	if (r < 0 && r != -EBUSY)
		reason_set_text(why, "cannot start I/O helpers: %s", strerror(-r));
	if (r < 0) {
		fs_helper_free(h);
		return r;
	}
	*ret = h;
	return 0;
}

int fs_helper_roots(struct fs_helper *h, const int *fds, uid_t uid, gid_t gid, struct reason *why)
{
	int r;

	h->uid = uid;
	h->gid = gid;
	for (unsigned i = 0; i < h->n_exports; i++)
		h->exports[i].root_fd = fds[i];
	for (int fd = 3; fd < (int)HELPERS_FDS_STATIC; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			h->fds_static[fd / 8] |= (uint8_t)(1 << fd % 8);
	stage_set(h, STAGE_SERVING);
	r = stage_await(h, STAGE_SERVING);
	if (r < 0)
		reason_set_text(why, "cannot sandbox the I/O helpers: %s", strerror(-r));
	return r;
}

static void proc_done(struct helpers_proc *p, uint64_t until_ns)
{
	struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};
	uint64_t now_ns = clock_now_ns();
	int ms = now_ns < until_ns ? (int)((until_ns - now_ns) / NSEC_PER_MSEC) : 0;

	if (p->pid > 0 && poll(&fd, 1, ms) > 0)
		(void)waitpid(p->pid, NULL, WNOHANG);
	cleanup_close(&p->pidfd);
	cleanup_close(&p->wake_fd);
}

struct fs_helper *fs_helper_free(struct fs_helper *h)
{
	/* All helpers share one deadline, because no client is served and the successor cannot
	 * start until they have ended. */
	uint64_t until_ns = clock_now_ns() + END_MS * NSEC_PER_MSEC;

	if (!h)
		return NULL;
	stage_set(h, STAGE_STOP);
	for (unsigned i = h->n_procs; i-- > 0;) /* the watcher ends last */
		proc_done(&h->procs[i], until_ns);
	cleanup_close(&h->epoll_fd);
	cleanup_close(&h->worker_pidfd);
	cleanup_close(&h->done_fd);
	for (unsigned i = 0; i < h->n_exports; i++)
		journal_close(&h->exports[i].journal);
	munmap(h->arena, h->arena_bytes);
	munmap(h, h->bytes);
	return NULL;
}

/* ------------------------------------------------------------------ the set of helpers */

pid_t fs_helper_pid(const struct fs_helper *h, unsigned n)
{
	return n < h->n_procs ? h->procs[n].pid : 0;
}

unsigned fs_helper_count(enum helpers_queue queue)
{
	return queue == HELPERS_DATA ? 2 * HELPERS_PER_QUEUE : HELPERS_PER_QUEUE;
}

void *fs_helper_arena(struct fs_helper *h, size_t *ret_bytes)
{
	*ret_bytes = h->arena_bytes;
	return h->arena;
}

struct journal *fs_helper_journal(struct fs_helper *h, unsigned export_index)
{
	return &h->exports[export_index].journal;
}

bool fs_helper_gives_handles(const struct fs_helper *h, unsigned export_index)
{
	return h->exports[export_index].gives_handles;
}

uint64_t fs_helper_export_identity(const struct fs_helper *h, unsigned export_index)
{
	return h->exports[export_index].identity;
}

int fs_helper_fd(const struct fs_helper *h)
{
	return h->epoll_fd;
}

/* ------------------------------------------------------------------ calls */

bool fs_helper_has_call(const struct fs_helper *h, unsigned export_index)
{
	return h->exports[export_index].n_free > 0;
}

struct helper_call *fs_helper_call_new(struct fs_helper *h, unsigned export_index)
{
	struct helpers_export *e = &h->exports[export_index];
	struct helper_call *call;

	if (e->n_free == 0)
		return NULL;
	call = &e->calls[e->free[--e->n_free]];
	*call = (struct helper_call){
		.a.fd = -1,
		.b.fd = -1,
		.fd = -1,
		.state = CALL_WITH_WORKER,
		.export_index = call->export_index,
		.index = call->index,
	};
	return call;
}

static void call_put(struct fs_helper *h, struct helper_call *call)
{
	struct helpers_export *e = &h->exports[call->export_index];

	call->state = CALL_FREE;
	e->free[e->n_free++] = call->index;
}

void fs_helper_call_free(struct fs_helper *h, struct helper_call *call)
{
	if (call->state != CALL_TAKEN_BACK) /* a cancelled call stays in its ring, and done_take()
					       frees it when the ring has reached its index */
		call_put(h, call);
}

void fs_helper_submit(struct fs_helper *h, struct helper_call *call, enum helpers_queue queue)
{
	struct helpers_export *e = &h->exports[call->export_index];
	struct helpers_ring *ring = &e->queues[queue];
	unsigned first = 1 + call->export_index * HELPERS_PER_EXPORT + queue * HELPERS_PER_QUEUE;
	unsigned n = fs_helper_count(queue);

	call->state = CALL_QUEUED;
	ring->calls[ring->tail % HELPERS_CALLS_MAX] = call->index;
	/* A helper that sees the new tail, in call_take() or helpers_ring_is_empty(), also sees the
	 * call. */
	__atomic_store_n(&ring->tail, ring->tail + 1, __ATOMIC_SEQ_CST);
	for (unsigned i = first; i < first + n; i++) {
		/* Pairs with serve(): either the helper sees the call, or the worker sees here that
		 * the helper sleeps. */
		if (__atomic_exchange_n(&h->procs[i].asleep, 0, __ATOMIC_SEQ_CST)) {
			helpers_fd_wake(h->procs[i].wake_fd);
			return;
		}
	}
}

void fs_helper_interrupt(struct fs_helper *h, struct helper_call *call)
{
	uint32_t was = CALL_QUEUED;

	/* Pairs with serve() of a helper: only one of the two exchanges succeeds. */
	if (!__atomic_compare_exchange_n(&call->state, &was, CALL_TAKEN_BACK, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	if (call->record)
		journal_cancel(call->record, call->ticket);
	call->result = (struct helper_result){.error = -EINTR};
	call->fd = -1;
	h->taken_back[h->n_taken_back++] = (uint16_t)(call->export_index << 8 | call->index);
	h->wakes++;
	helpers_fd_wake(h->done_fd);
}

static unsigned taken_back_deliver(struct fs_helper *h,
				   void (*done)(void *user, struct helper_call *call), void *user)
{
	unsigned n = h->n_taken_back;

	h->n_taken_back = 0;
	for (unsigned i = 0; i < n; i++)
		done(user, &h->exports[h->taken_back[i] >> 8].calls[h->taken_back[i] & 0xff]);
	return n;
}
_Static_assert(HELPERS_CALLS_MAX == 256, "a call's index is a byte in taken_back");

static unsigned done_take(struct fs_helper *h, struct helpers_export *e,
			  void (*done)(void *user, struct helper_call *call), void *user)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(e->done); i++) {
		/* A helper sets the bit in call_finish() after it has stored the result. So the
		 * result of each bit that is taken here is complete. */
		uint64_t bits = __atomic_exchange_n(&e->done[i], 0, __ATOMIC_ACQUIRE);

		for (; bits; bits &= bits - 1) {
			struct helper_call *call =
				&e->calls[i * 64 + (unsigned)__builtin_ctzll(bits)];

			if (call->state == CALL_TAKEN_BACK) {
				call_put(h, call);
				continue;
			}
			call->state = CALL_WITH_WORKER;
			n++;
			done(user, call);
		}
	}
	return n;
}

static bool pool_is_whole(const struct fs_helper *h)
{
	/* `broken` pairs with watch() of the watcher. The second check detects that the watcher
	 * itself has ended. */
	return !__atomic_load_n(&h->broken, __ATOMIC_ACQUIRE) &&
	       (h->n_exports == 0 ||
		journal_owner_is_alive(&h->exports[0].journal, h->exports[0].journal.owner));
}

/* Records that the worker does not sleep. If a helper has seen before that it sleeps, that helper
 * has written or will write a wake-up, which is counted as expected. */
static void sleep_end(struct fs_helper *h)
{
	/* call_finish() of a helper also swaps this word to 0, so only one of the two functions
	 * gets the value 1.
	 */
	if (h->sleeps && __atomic_exchange_n(&h->worker_sleeps, 0, __ATOMIC_RELAXED) == 0)
		h->wakes++;
	h->sleeps = false;
}

/* Reads expected wake-ups, because each unread one would wake the worker again and again. A read is
 * a system call, and most sleeps end without a wake-up. So this function reads only if a wake-up is
 * expected, and otherwise in one of ARMS_UNREAD calls, because a process also writes a wake-up when
 * it starts or ends. */
static int wakes_read(struct fs_helper *h)
{
	uint64_t n;

	if (h->wakes == 0 && h->n_arms++ % ARMS_UNREAD != 0)
		return 0;
	if (read(h->done_fd, &n, sizeof(n)) < 0)
		return errno == EAGAIN ? 0 : -EPIPE;
	h->wakes -= MIN_OF(n, h->wakes);
	return 0;
}

/* A poll ends after this many results. done() may submit calls that return during the same poll, so
 * without a limit the worker could never do its other work. */
#define POLL_ENOUGH 64U

int fs_helper_poll(struct fs_helper *h, bool may_sleep,
		   void (*done)(void *user, struct helper_call *call), void *user)
{
	unsigned n = taken_back_deliver(h, done, user);
	uint32_t exports;

	/* Pairs with call_finish(): either the helper sees that the worker sleeps, or the worker
	 * sees the result here. */
	sleep_end(h);
	/* A worker that always polls never sleeps below, but it may wait on the descriptor for a
	 * short time. */
	if (!may_sleep && h->wakes && wakes_read(h) < 0)
		return -EPIPE;
	do {
		exports = __atomic_load_n(&h->done_exports, __ATOMIC_SEQ_CST);
		if (exports)
			exports = __atomic_exchange_n(&h->done_exports, 0, __ATOMIC_SEQ_CST);
		for (unsigned i = 0; i < h->n_exports; i++)
			if (exports & 1U << i)
				n += done_take(h, &h->exports[i], done, user);
		if (exports == 0 && may_sleep) {
			sleep_end(h);
			if (wakes_read(h) < 0)
				return -EPIPE;
			h->sleeps = true;
			__atomic_store_n(&h->worker_sleeps, 1, __ATOMIC_SEQ_CST);
			exports = __atomic_load_n(&h->done_exports, __ATOMIC_SEQ_CST);
		}
	} while (exports != 0 && n < POLL_ENOUGH);
	return pool_is_whole(h) ? (int)n : -EPIPE;
}
