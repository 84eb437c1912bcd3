/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker's end of the hands: starts them, gives them calls, takes the answers. Apart from the
 * processes because the worker that runs this may be taken over, and nothing here may be believed
 * by them.
 */
#include "dataplane/fuse/helper/fuse_hands_internal.h"
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

#define WAIT_MS 10000	/* for a predecessor, and for the processes at the start */
#define END_MS 1000	/* for those that are idle to end */
#define ARMS_UNREAD 64U /* sleeps between looks for wakes of which nothing is known */

/* ------------------------------------------------------------------ start */

static void wake_all(const struct fuse_hands *h)
{
	for (unsigned i = 0; i < h->n_procs; i++)
		hands_fd_wake(h->procs[i].wake_fd);
}

static void stage_set(struct fuse_hands *h, enum hands_stage stage)
{
	/* Pairs with stage_wanted() of the processes: what they need at the stage is there. */
	__atomic_store_n(&h->stage, stage, __ATOMIC_RELEASE);
	wake_all(h);
}

static bool proc_has_ended(const struct hands_proc *p)
{
	struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

	return poll(&fd, 1, 0) > 0;
}

static int stage_look(const struct fuse_hands *h, enum hands_stage stage)
{
	for (unsigned i = 0; i < h->n_procs; i++) {
		const struct hands_proc *p = &h->procs[i];

		/* Pairs with stage_reached(). */
		if (__atomic_load_n(&p->stage, __ATOMIC_ACQUIRE) >= stage) {
			if (p->error < 0)
				return p->error;
			continue;
		}
		return proc_has_ended(p) ? -ECHILD : -EAGAIN;
	}
	return 0;
}

/* Each tells once when it is there. What came of that later would wake the worker, which does not
 * know of it, for as long as it does not sleep. */
static int stage_await(struct fuse_hands *h, enum hands_stage stage)
{
	uint64_t until_ns = clock_now_ns() + WAIT_MS * NSEC_PER_MSEC, n, told = 0;
	struct pollfd p = {.fd = h->done_fd, .events = POLLIN};
	int r;

	while ((r = stage_look(h, stage)) == -EAGAIN || (r == 0 && told < h->n_procs)) {
		if (clock_now_ns() > until_ns)
			return -ETIMEDOUT;
		if (poll(&p, 1, 100) <= 0)
			continue;
		if (read(h->done_fd, &n, sizeof(n)) < 0)
			return -errno;
		told += n;
	}
	return r;
}

/* Those of the worker's predecessor hold its sockets until their watcher has closed them, and may
 * still write what clients send us again. */
static int predecessor_await(const struct fuse_hands *h)
{
	const struct timespec pause = {.tv_nsec = NSEC_PER_MSEC};
	uint64_t until_ns = clock_now_ns() + WAIT_MS * NSEC_PER_MSEC;

	for (unsigned i = 0; i < h->n_exports; i++) {
		while (journal_worker_lives(&h->exports[i].journal, h->worker_id)) {
			if (clock_now_ns() > until_ns)
				return -EBUSY;
			nanosleep(&pause, NULL);
		}
	}
	return 0;
}

static int export_init(struct hands_export *e, unsigned index, const char *name, int state_fd)
{
	autoclose int own = -1;

	e->root_fd = -1;
	snprintf(e->name, sizeof(e->name), "%s", name);
	for (unsigned i = 0; i < HANDS_CALLS_MAX; i++) {
		e->free[i] = (uint16_t)(HANDS_CALLS_MAX - 1 - i);
		e->calls[i].export_index = (uint16_t)index;
		e->calls[i].index = (uint16_t)i;
	}
	e->n_free = HANDS_CALLS_MAX;
	if (state_fd < 0) {
		own = memfd_create("journal", MFD_CLOEXEC);
		if (own < 0)
			return -errno;
		state_fd = own;
	}
	return journal_open(&e->journal, state_fd);
}

static int proc_start(struct fuse_hands *h, unsigned index)
{
	/* One that gets to run only when the pool is gone finds them closed there. */
	struct journal journals[LAUNCH_EXPORTS_MAX] = {};
	struct hands_proc *p = &h->procs[index];
	long pid;

	for (unsigned i = 0; i < h->n_exports; i++)
		journals[i] = h->exports[i].journal;

	p->export_index = (index - 1) / HANDS_PER_EXPORT;
	p->lane = MIN_OF((index - 1) % HANDS_PER_EXPORT / HANDS_PER_LANE, HANDS_DATA);
	p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake_fd < 0)
		return -errno;
	/* As fork(2), but what one of us opens or closes is so for all. */
	pid = syscall(SYS_clone, (unsigned long)(CLONE_FILES | SIGCHLD), NULL, NULL, NULL, 0UL);
	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(index == 0 ? hands_watch(h, p, journals)
				 : hands_run(h, p, &journals[p->export_index]));
	p->pid = (pid_t)pid;
	p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	return p->pidfd < 0 ? -errno : 0;
}

static int pool_fds(struct fuse_hands *h)
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

static int pool_start(struct fuse_hands *h)
{
	struct epoll_event ev = {.events = EPOLLIN};
	unsigned n = 1 + h->n_exports * HANDS_PER_EXPORT;
	int r = pool_fds(h);

	while (r == 0 && h->n_procs < n)
		r = proc_start(h, h->n_procs++);
	/* Of the others' end the first tells us. */
	if (r == 0 && epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->procs[0].pidfd, &ev) < 0)
		r = -errno;
	return r < 0 ? r : stage_await(h, STAGE_STARTED);
}

static struct fuse_hands *pool_new(const struct fuse_hands_config *cfg)
{
	size_t bytes = sizeof(struct fuse_hands) + cfg->n_exports * sizeof(struct hands_export);
	struct fuse_hands *h = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (h == MAP_FAILED)
		return NULL;
	h->bytes = bytes;
	h->worker_id = cfg->worker_id;
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

int fuse_hands_start(const struct fuse_hands_config *cfg, struct fuse_hands **ret, char *why)
{
	struct fuse_hands *h = pool_new(cfg);
	int r = h ? 0 : -ENOMEM;

	for (unsigned i = 0; i < cfg->n_exports && r == 0; i++) {
		r = export_init(&h->exports[i], i, cfg->exports[i].name, cfg->exports[i].state_fd);
		h->n_exports = i + 1;
	}
	if (r == 0)
		r = predecessor_await(h);
	if (r == -EBUSY)
		snprintf(why, LAUNCH_REASON_MAX,
			 "the processes that made the former worker's system calls do not let go "
			 "of its sockets");
	else if (r == 0)
		r = pool_start(h);
	if (r < 0 && r != -EBUSY)
		snprintf(why, LAUNCH_REASON_MAX,
			 "the processes that make its system calls cannot start: %s", strerror(-r));
	if (r < 0) {
		fuse_hands_free(h);
		return r;
	}
	*ret = h;
	return 0;
}

int fuse_hands_roots(struct fuse_hands *h, const int *fds, uid_t uid, gid_t gid, char *why)
{
	int r;

	h->uid = uid;
	h->gid = gid;
	for (unsigned i = 0; i < h->n_exports; i++)
		h->exports[i].root_fd = fds[i];
	for (int fd = 3; fd < (int)HANDS_FDS_STATIC; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			h->fds_static[fd / 8] |= (uint8_t)(1 << fd % 8);
	stage_set(h, STAGE_SERVING);
	r = stage_await(h, STAGE_SERVING);
	if (r < 0)
		snprintf(why, LAUNCH_REASON_MAX,
			 "the processes that make its system calls cannot be confined: %s",
			 strerror(-r));
	return r;
}

static void proc_done(struct hands_proc *p, uint64_t until_ns)
{
	struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};
	uint64_t now_ns = clock_now_ns();
	int ms = now_ns < until_ns ? (int)((until_ns - now_ns) / NSEC_PER_MSEC) : 0;

	if (p->pid > 0 && poll(&fd, 1, ms) > 0)
		(void)waitpid(p->pid, NULL, WNOHANG);
	cleanup_close(&p->pidfd);
	cleanup_close(&p->wake_fd);
}

struct fuse_hands *fuse_hands_free(struct fuse_hands *h)
{
	/* For all of them together: meanwhile nobody is served, and the successor is not started.
	 */
	uint64_t until_ns = clock_now_ns() + END_MS * NSEC_PER_MSEC;

	if (!h)
		return NULL;
	stage_set(h, STAGE_STOP);
	for (unsigned i = h->n_procs; i-- > 0;) /* the watcher waits for the others */
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

/* ------------------------------------------------------------------ what there is */

pid_t fuse_hands_pid(const struct fuse_hands *h, unsigned n)
{
	return n < h->n_procs ? h->procs[n].pid : 0;
}

void *fuse_hands_arena(struct fuse_hands *h, size_t *ret_bytes)
{
	*ret_bytes = h->arena_bytes;
	return h->arena;
}

struct journal *fuse_hands_journal(struct fuse_hands *h, unsigned export_index)
{
	return &h->exports[export_index].journal;
}

bool fuse_hands_gives_handles(const struct fuse_hands *h, unsigned export_index)
{
	return h->exports[export_index].gives_handles;
}

uint64_t fuse_hands_export_identity(const struct fuse_hands *h, unsigned export_index)
{
	return h->exports[export_index].identity;
}

int fuse_hands_fd(const struct fuse_hands *h)
{
	return h->epoll_fd;
}

/* ------------------------------------------------------------------ calls */

struct hand_call *fuse_hands_call_new(struct fuse_hands *h, unsigned export_index)
{
	struct hands_export *e = &h->exports[export_index];
	struct hand_call *call;

	if (e->n_free == 0)
		return NULL;
	call = &e->calls[e->free[--e->n_free]];
	*call = (struct hand_call){
		.a.fd = -1,
		.b.fd = -1,
		.fd = -1,
		.state = CALL_ASKED,
		.export_index = call->export_index,
		.index = call->index,
	};
	return call;
}

static void call_put(struct fuse_hands *h, struct hand_call *call)
{
	struct hands_export *e = &h->exports[call->export_index];

	call->state = CALL_FREE;
	e->free[e->n_free++] = call->index;
}

void fuse_hands_call_free(struct fuse_hands *h, struct hand_call *call)
{
	if (call->state != CALL_TAKEN_BACK) /* else when its lane has come by */
		call_put(h, call);
}

void fuse_hands_submit(struct fuse_hands *h, struct hand_call *call, enum hands_lane lane)
{
	struct hands_export *e = &h->exports[call->export_index];
	struct hands_lane_ring *ring = &e->lanes[lane];
	unsigned first = 1 + call->export_index * HANDS_PER_EXPORT + lane * HANDS_PER_LANE;
	unsigned n = lane == HANDS_DATA ? 2 * HANDS_PER_LANE : HANDS_PER_LANE;

	call->state = CALL_QUEUED;
	ring->calls[ring->tail % HANDS_CALLS_MAX] = call->index;
	/* Pairs with call_take() and hands_lane_is_empty() of the hands. */
	__atomic_store_n(&ring->tail, ring->tail + 1, __ATOMIC_SEQ_CST);
	for (unsigned i = first; i < first + n; i++) {
		/* Pairs with serve(): either it sees the call, or we see that it sleeps. */
		if (__atomic_exchange_n(&h->procs[i].asleep, 0, __ATOMIC_SEQ_CST)) {
			hands_fd_wake(h->procs[i].wake_fd);
			return;
		}
	}
}

void fuse_hands_interrupt(struct fuse_hands *h, struct hand_call *call)
{
	uint32_t was = CALL_QUEUED;

	/* Pairs with serve(). */
	if (!__atomic_compare_exchange_n(&call->state, &was, CALL_TAKEN_BACK, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	if (call->record)
		journal_cancel(call->record, call->ticket);
	call->result = (struct hand_result){.error = -EINTR};
	call->fd = -1;
	h->taken_back[h->n_taken_back++] = (uint16_t)(call->export_index << 8 | call->index);
	h->wakes++;
	hands_fd_wake(h->done_fd);
}

static unsigned taken_back_deliver(struct fuse_hands *h,
				   void (*done)(void *user, struct hand_call *call), void *user)
{
	unsigned n = h->n_taken_back;

	h->n_taken_back = 0;
	for (unsigned i = 0; i < n; i++)
		done(user, &h->exports[h->taken_back[i] >> 8].calls[h->taken_back[i] & 0xff]);
	return n;
}
_Static_assert(HANDS_CALLS_MAX == 256, "a call's index is a byte in taken_back");

static unsigned done_take(struct fuse_hands *h, struct hands_export *e,
			  void (*done)(void *user, struct hand_call *call), void *user)
{
	unsigned n = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(e->done); i++) {
		/* Pairs with call_finish() of the hands. */
		uint64_t bits = __atomic_exchange_n(&e->done[i], 0, __ATOMIC_ACQUIRE);

		for (; bits; bits &= bits - 1) {
			struct hand_call *call =
				&e->calls[i * 64 + (unsigned)__builtin_ctzll(bits)];

			if (call->state == CALL_TAKEN_BACK) {
				call_put(h, call);
				continue;
			}
			call->state = CALL_ASKED;
			n++;
			done(user, call);
		}
	}
	return n;
}

static bool pool_is_whole(const struct fuse_hands *h)
{
	/* The first pairs with watch(); the second is the kernel's word on the watcher. */
	return !__atomic_load_n(&h->broken, __ATOMIC_ACQUIRE) &&
	       (h->n_exports == 0 ||
		journal_life_lives(&h->exports[0].journal, h->exports[0].journal.life));
}

/* Awake. Where a hand has seen that we were not, it wakes us, now or in a moment. */
static void sleep_end(struct fuse_hands *h)
{
	/* Pairs with call_finish(): it is one of us who takes it. */
	if (h->sleeps && __atomic_exchange_n(&h->worker_sleeps, 0, __ATOMIC_RELAXED) == 0)
		h->wakes++;
	h->sleeps = false;
}

/* What woke us before would wake us for ever. Most of the time nothing did, and a look is a system
 * call; now and then there is one all the same, for what is written when a process begins or ends.
 */
static int wakes_read(struct fuse_hands *h)
{
	uint64_t n;

	if (h->wakes == 0 && h->n_arms++ % ARMS_UNREAD != 0)
		return 0;
	if (read(h->done_fd, &n, sizeof(n)) < 0)
		return errno == EAGAIN ? 0 : -EPIPE;
	h->wakes -= MIN_OF(n, h->wakes);
	return 0;
}

int fuse_hands_poll(struct fuse_hands *h, bool may_sleep,
		    void (*done)(void *user, struct hand_call *call), void *user)
{
	unsigned n = taken_back_deliver(h, done, user);
	uint32_t exports;

	/* These pair with call_finish(): either it sees that we sleep, or we see what is done. */
	sleep_end(h);
	/* Who polls never comes to where it would sleep, and yet naps by the descriptor. */
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
	} while (exports != 0);
	return pool_is_whole(h) ? (int)n : -EPIPE;
}
