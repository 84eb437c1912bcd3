/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker's process: the descriptors that it inherits, its start and its end. supervise_events.c
 * decides when to start and end it. */
#include "agent/base/child/spawn.h"
#include "agent/supervise/handover/fd_store.h"
#include "agent/supervise/supervise_internal.h"
#include "netcfg/base/os/fdpass.h"
#include "netcfg/base/os/memfd.h"
#include "netcfg/base/text.h"
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define OOM_SCORE (-500)

/* Names under which the descriptor store keeps the descriptors that the next agent needs. */
static const char *const stored_names[] = {"pid", "control", "config", "stats"};

static const char *store_name(const struct sup_worker *w, const char *what, char *buf, size_t size)
{
	snprintf(buf, size, "%s-%u", what, w->id);
	return buf;
}

void sup_store(const struct sup_worker *w, const char *what, int fd)
{
	char name[32];

	fd_store_put(fd, store_name(w, what, name, sizeof(name)));
}

void sup_unstore(const struct sup_worker *w, const char *what)
{
	char name[32];

	fd_store_drop(store_name(w, what, name, sizeof(name)));
}

void sup_config_normalise(struct launch_config *c)
{
	c->magic = LAUNCH_MAGIC;
	c->version = LAUNCH_VERSION;
	c->size = sizeof(*c);
	c->epoch = 0;
	c->boot_id = 0;
	c->orphan_s = LAUNCH_ORPHAN_S;
	for (uint32_t i = 0; i < c->n_mounts; i++) {
		memset(c->mounts[i].id, 0, sizeof(c->mounts[i].id));
		c->mounts[i].fuse_fd = c->mounts[i].state_fd = c->mounts[i].bell_fd = -1;
	}
	/* Counts all desired mounts, whether or not they exist. */
	c->n_shared += c->n_shared_missing;
	c->n_shared_missing = 0;
	for (uint32_t i = 0; i < c->n_shared; i++) {
		memset(c->shared[i].id, 0, sizeof(c->shared[i].id));
		c->shared[i].fuse_fd = c->shared[i].state_fd = c->shared[i].bell_fd = -1;
	}
	/* Counts all desired exports, even if their directories are missing. */
	c->n_exports += c->n_missing;
	c->n_missing = 0;
	for (uint32_t i = 0; i < c->n_exports; i++)
		c->exports[i].dir_fd = c->exports[i].state_fd = -1;
	c->share_fd = c->locks_fd = -1;
	for (uint32_t i = 0; i < c->n_ports; i++)
		memset(c->ports[i].label, 0, sizeof(c->ports[i].label));
}

/* ---- descriptors that a worker inherits ---- */

struct start {
	struct sup_worker *worker;
	struct launch_config config;
	int fds[SPAWN_FDS_MAX];
	size_t n_fds;
	int dirs[LAUNCH_EXPORTS_MAX]; /* opened only for this start */
	size_t n_dirs;
};

static struct start *start_free(struct start *st)
{
	for (size_t i = 0; st && i < st->n_dirs; i++)
		close(st->dirs[i]);
	free(st);
	return NULL;
}

static void start_cleanup(struct start **st)
{
	start_free(*st);
}

int sup_check_resources(struct sup_worker *w)
{
	const struct launch_config *c = &w->config;
	bool any = c->n_exports == 0;
	int r = 0;

	if (c->n_ports == 0) { /* the plan has the reason for each leg */
		snprintf(w->reason, sizeof(w->reason),
			 "its core or all of its legs are missing: 'plenum processes' says which");
		return -ENODEV;
	}
	sup_ask_exports(w->sup, c);
	for (uint32_t i = 0; i < c->n_exports; i++) {
		autoclose int fd = sup_open_export(w, &c->exports[i]);

		if (fd < 0)
			r = fd;
		any |= fd >= 0;
	}
	/* if any export is available, the worker runs without the missing ones */
	return any ? 0 : r;
}

_Static_assert(LAUNCH_FD_FIRST - SPAWN_FD_FIRST + 3 * LAUNCH_MOUNTS_MAX +
			       3 * LAUNCH_SHARED_MOUNTS_MAX <=
		       SPAWN_FDS_MAX,
	       "a frontend's descriptors fit");
_Static_assert(LAUNCH_FD_FIRST - SPAWN_FD_FIRST + 1 + 2 * LAUNCH_EXPORTS_MAX <= SPAWN_FDS_MAX,
	       "a compute worker's descriptors fit");

/* Adds fd to the descriptors that the child inherits. Returns its number in the child. */
static int give(struct start *st, int fd)
{
	st->fds[st->n_fds++] = fd;
	return SPAWN_FD_FIRST + (int)st->n_fds - 1;
}

/* Opens the export's directory for the worker. Returns 0 if it is open, 1 if the directory is
 * missing or is not the recorded directory, or negative errno. */
static int give_export(struct start *st, struct launch_export *e)
{
	int fd = sup_open_export(st->worker, e);

	if (fd < 0)
		return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? fd : 1;
	st->dirs[st->n_dirs++] = fd;
	e->dir_fd = give(st, fd);
	fd = exports_state(&st->worker->sup->exports, e->name);
	if (fd < 0)
		return fd;
	e->state_fd = give(st, fd);
	return 0;
}

static int give_mount(struct start *st, struct launch_mount *m)
{
	struct sup_worker *w = st->worker;
	struct reason why = {.code = ""};
	int r = mounts_get(w->sup->setup.mounts, m, w->id, &why);

	if (r < 0 && reason_is_set(&why))
		reason_copy_text(w->reason, sizeof(w->reason), why.text);
	if (r < 0)
		return r;
	m->fuse_fd = give(st, m->fuse_fd);
	m->state_fd = give(st, m->state_fd);
	if (m->has_mount_workers)
		m->bell_fd = give(st, m->bell_fd);
	return 0;
}

/* Omits mounts that do not exist yet; when they appear, the worker is restarted. */
static int give_shared_mounts(struct start *st)
{
	struct launch_config *c = &st->config;
	uint32_t n = c->n_shared;

	c->n_shared = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct launch_mount l = c->shared[i];
		int r = mounts_get_shared(st->worker->sup->setup.mounts, &l);

		if (r < 0 && r != -ENOENT)
			return r;
		if (r < 0)
			continue;
		l.fuse_fd = give(st, l.fuse_fd);
		l.state_fd = give(st, l.state_fd);
		l.bell_fd = give(st, l.bell_fd);
		c->shared[i] = c->shared[c->n_shared];
		c->shared[c->n_shared++] = l;
	}
	c->n_shared_missing = n - c->n_shared;
	return 0;
}

bool sup_shared_mounts_differ(const struct sup_worker *w)
{
	const struct launch_config *c = &w->config;
	uint32_t n = 0;

	for (uint32_t i = 0; w->started && i < c->n_shared; i++) {
		uint8_t id[16];
		bool has = false;

		if (!mounts_shared_id(w->sup->setup.mounts, &c->shared[i], id))
			continue;
		for (uint32_t j = 0; j < w->started->n_shared && !has; j++)
			has = memcmp(w->started->shared[j].id, id, sizeof(id)) == 0;
		if (!has)
			return true;
		n++;
	}
	return w->started && n != w->started->n_shared;
}

/* Opens all exports, and moves missing ones to the end of the list. */
static int give_exports(struct start *st)
{
	struct launch_config *c = &st->config;
	struct sup_worker *w = st->worker;
	uint32_t n = c->n_exports;

	sup_ask_exports(w->sup, c);
	c->n_exports = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct launch_export e = c->exports[i];
		int r = give_export(st, &e);

		if (r < 0)
			return r;
		if (r > 0) {
			memcpy(w->lacks, w->reason, sizeof(w->lacks));
			continue;
		}
		c->exports[i] = c->exports[c->n_exports];
		c->exports[c->n_exports++] = e;
	}
	c->n_missing = n - c->n_exports;
	return n > 0 && c->n_exports == 0 ? -ENOENT : 0;
}

static int give_share(struct start *st)
{
	int fd = exports_state(&st->worker->sup->exports, EXPORTS_SHARE);

	if (fd < 0)
		return fd;
	st->config.share_fd = give(st, fd);
	fd = sup_give_locks(st->worker->sup);
	if (fd < 0)
		return fd;
	st->config.locks_fd = give(st, fd);
	return 0;
}

static int open_resources(struct start *st)
{
	struct launch_config *c = &st->config;
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < c->n_mounts; i++)
		r = give_mount(st, &c->mounts[i]);
	if (r >= 0)
		r = give_shared_mounts(st);
	if (r >= 0 && c->role == LAUNCH_COMPUTE)
		r = give_share(st);
	return r < 0 ? r : give_exports(st);
}

const struct launch_stats *sup_stats_map(int fd)
{
	void *page;

	if (!memfd_is_fixed_at(fd, LAUNCH_WATCH_END) &&
	    !memfd_is_fixed_at(fd, sizeof(struct launch_stats)))
		return NULL;
	page = mmap(NULL, sizeof(struct launch_stats), PROT_READ, MAP_SHARED, fd, 0);
	return page == MAP_FAILED ? NULL : page;
}

const struct launch_watch *sup_watch_map(int fd)
{
	void *page;

	if (!memfd_is_fixed_at(fd, LAUNCH_WATCH_END))
		return NULL;
	page = mmap(NULL, sizeof(struct launch_watch), PROT_READ, MAP_SHARED, fd,
		    (off_t)LAUNCH_WATCH_OFFSET);
	return page == MAP_FAILED ? NULL : page;
}

void sup_stats_unmap(struct sup_worker *w)
{
	if (w->stats)
		munmap((void *)w->stats, sizeof(*w->stats));
	if (w->watch)
		munmap((void *)w->watch, sizeof(*w->watch));
	w->stats = NULL;
	w->watch = NULL;
}

bool sup_state_identity(int fd, uint64_t *ret)
{
	char path[40], target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	return sscanf(target, "/memfd:plenum-state-%16" SCNx64, ret) == 1;
}

/*
 * Opens the state memfd of a worker id, which outlives the worker and the agent. From a worker's
 * identity, peers see whether it still knows their earlier requests. So the identity is created
 * with the state, is kept in the memfd's name, and is lost with the state.
 */
static int open_state(struct sup_worker *w)
{
	char name[48];

	if (w->state_fd >= 0)
		return 0;
	if (getrandom(&w->boot_id, sizeof(w->boot_id), 0) != sizeof(w->boot_id))
		return -EIO;
	snprintf(name, sizeof(name), "plenum-state-%016" PRIx64, w->boot_id);
	w->state_fd = memfd_new_empty(name);
	if (w->state_fd < 0)
		return w->state_fd;
	sup_store(w, "state", w->state_fd);
	return 0;
}

/* ---- start and end ---- */

int sup_keep_started(struct sup_worker *w, const struct launch_config *c)
{
	if (!w->started)
		w->started = malloc(sizeof(*w->started));
	if (!w->started)
		return -ENOMEM;
	memcpy(w->started, c, sizeof(*c));
	memset(w->released, 0, sizeof(w->released));
	return 0;
}

static struct rundir_fuse fuse_of(const struct launch_mount *m)
{
	struct rundir_fuse f = {.fd = m->fuse_fd, .state_fd = m->state_fd};

	memcpy(f.id, m->id, sizeof(f.id));
	return f;
}

void sup_record(const struct sup_worker *w, pid_t pid, const struct launch_config *c)
{
	struct rundir_process p = {.pid = pid,
				   .worker_id = w->id,
				   .launch_version = LAUNCH_VERSION,
				   .n_restarts = w->n_restarts,
				   .n_fuse = c->n_mounts,
				   .n_shared = c->n_shared,
				   .n_states = c->n_exports};
	int r;

	p.died_ms = w->died_ms;
	snprintf(p.died_of, sizeof(p.died_of), "%s", w->died_of);
	for (uint32_t i = 0; i < p.n_fuse; i++)
		p.fuse[i] = fuse_of(&c->mounts[i]);
	for (uint32_t i = 0; i < p.n_shared; i++)
		p.shared[i] = fuse_of(&c->shared[i]);
	for (uint32_t i = 0; i < p.n_states; i++) {
		p.states[i].fd = c->exports[i].state_fd;
		memcpy(p.states[i].export, c->exports[i].name, sizeof(p.states[i].export));
	}
	r = rundir_add_process(w->sup->setup.rundir, &p);
	if (r < 0)
		sup_report(w, LOG_LEVEL_WARNING,
			   "runs, but cannot be recorded (%s: %s); the next agent may not find it",
			   w->sup->setup.rundir->run, strerror(-r));
}

/* Records the process before it executes the worker, so that an agent that is killed at this moment
 * leaves no worker that the next agent does not know. If the record cannot be written, the worker
 * starts nevertheless, because programs wait for it. */
static void on_pid(void *user, pid_t pid)
{
	const struct start *st = user;

	sup_record(st->worker, pid, &st->config);
}

static int exec_worker(struct start *st)
{
	struct sup_worker *w = st->worker;
	char name[64];
	char *argv[] = {name, NULL};
	struct spawn_request rq = {.path = w->sup->setup.worker_path,
				   .program_fd = w->sup->program_fd,
				   .argv = argv,
				   .fds = st->fds,
				   .n_fds = st->n_fds,
				   .core = (int)w->config.core,
				   .oom_score = OOM_SCORE,
				   .on_pid = on_pid,
				   .user = st};

	/* The name is only for ps(1); the worker reads its configuration from the memfd. */
	snprintf(name, sizeof(name), "plenum-worker %.20s/%u core %u", w->config.host, w->id,
		 w->config.core);
	return spawn_process(&rq, &w->pid, &w->pidfd);
}

static int start_with(struct start *st, int config_fd, int stats_fd)
{
	struct sup_worker *w = st->worker;
	autoclose int ours = -1, theirs = -1;
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	st->fds[LAUNCH_FD_CONTROL - SPAWN_FD_FIRST] = theirs;
	st->fds[LAUNCH_FD_CONFIG - SPAWN_FD_FIRST] = config_fd;
	st->fds[LAUNCH_FD_STATS - SPAWN_FD_FIRST] = stats_fd;
	st->fds[LAUNCH_FD_STATE - SPAWN_FD_FIRST] = w->state_fd;
	st->fds[LAUNCH_FD_AGENT - SPAWN_FD_FIRST] = ours;
	st->fds[LAUNCH_FD_ALIVE - SPAWN_FD_FIRST] = w->sup->alive[0];
	sup_stats_unmap(w);
	w->stats = sup_stats_map(stats_fd);
	w->watch = sup_watch_map(stats_fd);
	if (!w->stats)
		return -ENOMEM;
	r = sup_keep_started(w, &st->config);
	if (r >= 0)
		r = exec_worker(st);
	if (r < 0)
		return r;
	w->control_fd = fd_take(ours);
	w->started_ns = clock_now_ns();
	w->adopted = w->keys_unsure = w->limits_unsure = w->postponed = false;
	w->revoked_unsure = false;
	sup_store(w, "pid", w->pidfd);
	sup_store(w, "control", w->control_fd);
	sup_store(w, "config", config_fd);
	sup_store(w, "stats", stats_fd);
	return 0;
}

static int open_key(struct sup_worker *w)
{
	const struct rundir *rd = w->sup->setup.rundir;
	int fd = rundir_open_key(rd);

	if (fd < 0)
		snprintf(w->reason, sizeof(w->reason),
			 "%.100s/handle-key: %.40s; restore the file: with another key "
			 "every open file of every client is stale",
			 rd->state, fd == -EUCLEAN ? "has an invalid format" : strerror(-fd));
	return fd;
}

static int start(struct sup_worker *w)
{
	PLENUM_CLEANUP(start_cleanup) struct start *st = calloc(1, sizeof(*st));
	autoclose int config_fd = -1, stats_fd = -1, key_fd = -1;
	int r;

	if (!st)
		return -ENOMEM;
	w->reason[0] = w->lacks[0] = w->off_core[0] = '\0';
	st->worker = w;
	st->config = w->config;
	st->n_fds = LAUNCH_FD_FIRST - SPAWN_FD_FIRST;
	/* Checked before the mounts are made, because programs would block on a mount whose worker
	 * cannot start. */
	r = sup_check_resources(w);
	if (r >= 0)
		r = open_resources(st);
	if (r >= 0)
		r = open_state(w);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < st->config.n_ports; i++)
		sup_fill_label(w, &st->config.ports[i]);
	st->config.epoch = rundir_next_epoch(w->sup->setup.rundir);
	st->config.boot_id = w->boot_id;
	config_fd = memfd_new_sealed("plenum-config", &st->config, sizeof(st->config));
	stats_fd = memfd_new_shared("plenum-stats", LAUNCH_WATCH_END);
	key_fd = open_key(w);
	if (config_fd < 0 || stats_fd < 0 || key_fd < 0)
		return MIN_OF(MIN_OF(config_fd, stats_fd), key_fd);
	st->fds[LAUNCH_FD_KEY - SPAWN_FD_FIRST] = key_fd;
	return start_with(st, config_fd, stats_fd);
}

int sup_start(struct sup_worker *w)
{
	int r = start(w);

	if (r == -EFBIG && !w->reason[0])
		snprintf(w->reason, sizeof(w->reason),
			 "file-limit: the agent may not make files as large as a worker's memory; "
			 "remove LimitFSIZE= from plenumd.service, or raise 'ulimit -f'");
	return r;
}

void sup_kill(struct sup_worker *w)
{
	if (w->pidfd >= 0 && pidfd_send_signal(w->pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		sup_report(w, LOG_LEVEL_ERR, "cannot be killed: %s", strerror(errno));
}

void sup_forget_process(struct sup_worker *w)
{
	for (size_t i = 0; w->pidfd >= 0 && !w->leave && i < ARRAY_SIZE(stored_names); i++)
		sup_unstore(w, stored_names[i]);
	w->control_source = loop_source_free(w->control_source);
	w->pid_source = loop_source_free(w->pid_source);
	cleanup_close(&w->control_fd);
	cleanup_close(&w->pins_fd);
	cleanup_close(&w->pidfd);
	w->control_fd = w->pins_fd = w->pidfd = -1;
	free(ptr_take(w->started));
	w->ping_asked = 0;
	w->other_locks = false;
	if (w->pid > 0 && !w->leave)
		rundir_del_process(w->sup->setup.rundir, w->pid);
	w->pid = 0;
}

void sup_note_death(struct sup_worker *w, const char *why)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	w->died_ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / NSEC_PER_MSEC;
	snprintf(w->died_of, sizeof(w->died_of), "%s", why);
	text_clean(w->died_of);
}
