/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/supervise.h"
#include "agent/spawn.h"
#include "netcfg/base/fdpass.h"
#include "netcfg/base/memfd.h"
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/socket.h>

#define SUP_OOM_SCORE (-500)
#define SUP_MESSAGES_A_TURN 16

struct sup {
	struct sup_setup setup;
	int alive[2]; /* a pipe; workers have its read end, nobody else its write end */
	struct sup_worker *workers; /* ascending id */
	struct loop_source *heartbeat;
};

static void sup_feed(struct sup_worker *w, enum sup_event e);

static const char *sup_name(const struct sup_worker *w, char *buf, size_t size)
{
	snprintf(buf, size, "worker %u", w->id);
	return buf;
}

#define SUP_SAY(w, level, ...)                                                               \
	do {                                                                                 \
		char name_[EVENTS_SOURCE_MAX];                                               \
		events_add((w)->sup->setup.events, level, sup_name(w, name_, sizeof(name_)), \
			   __VA_ARGS__);                                                     \
	} while (0)

void sup_config_normalise(struct launch_config *c)
{
	c->magic = LAUNCH_MAGIC;
	c->version = LAUNCH_VERSION;
	c->size = sizeof(*c);
	c->epoch = 0;
	c->boot_id = 0;
	for (uint32_t i = 0; i < c->n_mounts; i++) {
		memset(c->mounts[i].id, 0, sizeof(c->mounts[i].id));
		c->mounts[i].fuse_fd = -1;
	}
	for (uint32_t i = 0; i < c->n_exports; i++)
		c->exports[i].dir_fd = -1;
}

/* ---- processes ---- */

struct sup_fds { /* of one start; the exports' are opened for it alone */
	int fds[SPAWN_FDS_MAX];
	size_t n, first_export;
};

static void sup_fds_done(struct sup_fds *f)
{
	for (size_t i = f->first_export; i < f->n; i++)
		close(f->fds[i]);
}

/* Mounts and exports of c, numbered as the child will see them. */
static int sup_open_resources(struct sup_worker *w, struct launch_config *c, struct sup_fds *f)
{
	for (uint32_t i = 0; i < c->n_mounts; i++) {
		int r = mounts_get(w->sup->setup.mounts, &c->mounts[i], w->reason);

		if (r < 0)
			return r;
		f->fds[f->n++] = c->mounts[i].fuse_fd;
		c->mounts[i].fuse_fd = SPAWN_FD_FIRST + (int)f->n - 1;
	}
	f->first_export = f->n;
	for (uint32_t i = 0; i < c->n_exports; i++) {
		struct launch_export *e = &c->exports[i];
		int fd = open(e->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0) {
			int r = -errno;

			snprintf(w->reason, sizeof(w->reason),
				 "export %.60s: %.100s: %s; make the directory or change its path",
				 e->name, e->path, strerror(-r));
			return r;
		}
		f->fds[f->n++] = fd;
		e->dir_fd = SPAWN_FD_FIRST + (int)f->n - 1;
	}
	return 0;
}

static int sup_stats_new(const struct launch_stats **ret_page)
{
	autoclose int fd = memfd_new_shared("plenum-stats", sizeof(struct launch_stats));
	void *page;

	if (fd < 0)
		return fd;
	page = mmap(NULL, sizeof(struct launch_stats), PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	*ret_page = page;
	return fd_take(fd);
}

static void sup_stats_unmap(struct sup_worker *w)
{
	if (w->stats)
		munmap((void *)w->stats, sizeof(*w->stats));
	w->stats = NULL;
}

static int sup_on_control(void *user, int fd, uint32_t revents);
static int sup_on_exit(void *user, int fd, uint32_t revents);

static int sup_watch(struct sup_worker *w)
{
	struct loop *l = w->sup->setup.loop;
	int r = loop_add_fd(l, w->control_fd, EPOLLIN, false, sup_on_control, w,
			    &w->control_source);

	if (r >= 0)
		r = loop_add_fd(l, w->pidfd, EPOLLIN, false, sup_on_exit, w, &w->pid_source);
	if (r >= 0)
		r = rundir_add_process(w->sup->setup.rundir, w->pid);
	return r;
}

static int sup_exec(struct sup_worker *w, struct sup_fds *f)
{
	char name[64];
	char *argv[] = {name, NULL};
	struct spawn_request rq = {.path = w->sup->setup.worker_path,
				   .argv = argv,
				   .fds = f->fds,
				   .n_fds = f->n,
				   .core = (int)w->config.core,
				   .oom_score = SUP_OOM_SCORE};

	/* For the eyes of ps(1) only: the configuration is in the memfd. */
	snprintf(name, sizeof(name), "plenum-worker %.20s/%u core %u", w->config.host, w->id,
		 w->config.core);
	return spawn_process(&rq, &w->pid, &w->pidfd);
}

static const char *sup_state_name(const struct sup_worker *w, char *buf, size_t size)
{
	snprintf(buf, size, "state-%u", w->id);
	return buf;
}

/* One for each worker id; the service manager keeps it over the agent's death. */
static int sup_open_state(struct sup_worker *w)
{
	char name[32];

	if (w->state_fd >= 0)
		return 0;
	holds_clear(&w->holds, w->id); /* what a lost state wanted */
	w->state_fd = memfd_create("plenum-state", MFD_CLOEXEC);
	if (w->state_fd < 0)
		return -errno;
	loop_store_fd(w->state_fd, sup_state_name(w, name, sizeof(name)));
	return 0;
}

static int sup_start(struct sup_worker *w)
{
	PLENUM_CLEANUP(sup_fds_done)
	struct sup_fds f = {.n = LAUNCH_FD_FIRST - SPAWN_FD_FIRST, .first_export = SPAWN_FDS_MAX};
	autofree struct launch_config *c = malloc(sizeof(*c));
	autoclose int config_fd = -1, stats_fd = -1, key_fd = -1;
	autoclose int ours = -1, theirs = -1;
	int pair[2], r;

	f.first_export = f.n;
	w->reason[0] = '\0';
	if (!c)
		return -ENOMEM;
	if (w->config.n_ports == 0) { /* the plan says which, and why */
		snprintf(w->reason, sizeof(w->reason), "no-leg: none of its legs can be used");
		return -ENODEV;
	}
	memcpy(c, &w->config, sizeof(*c));
	c->epoch = rundir_next_epoch(w->sup->setup.rundir);
	c->boot_id = w->sup->setup.rundir->boot_id;
	c->orphan_s = LAUNCH_ORPHAN_S;
	r = sup_open_resources(w, c, &f);
	if (r < 0)
		return r;
	r = sup_open_state(w);
	if (r < 0)
		return r;
	config_fd = memfd_new_sealed("plenum-config", c, sizeof(*c));
	sup_stats_unmap(w);
	stats_fd = sup_stats_new(&w->stats);
	key_fd = rundir_open_key(w->sup->setup.rundir);
	if (config_fd < 0 || stats_fd < 0)
		return -ENOMEM;
	if (key_fd < 0)
		return key_fd;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	f.fds[LAUNCH_FD_CONTROL - SPAWN_FD_FIRST] = theirs;
	f.fds[LAUNCH_FD_CONFIG - SPAWN_FD_FIRST] = config_fd;
	f.fds[LAUNCH_FD_STATS - SPAWN_FD_FIRST] = stats_fd;
	f.fds[LAUNCH_FD_STATE - SPAWN_FD_FIRST] = w->state_fd;
	f.fds[LAUNCH_FD_AGENT - SPAWN_FD_FIRST] = ours;
	f.fds[LAUNCH_FD_ALIVE - SPAWN_FD_FIRST] = w->sup->alive[0];
	f.fds[LAUNCH_FD_KEY - SPAWN_FD_FIRST] = key_fd;
	r = sup_exec(w, &f);
	if (r < 0)
		return r;
	w->control_fd = fd_take(ours);
	w->started_ns = clock_now_ns();
	return sup_watch(w);
}

static void sup_kill(struct sup_worker *w)
{
	if (w->pidfd >= 0 && pidfd_send_signal(w->pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		SUP_SAY(w, LOG_LEVEL_ERR, "cannot be killed: %s", strerror(errno));
}

static int sup_send(struct sup_worker *w, enum launch_msg_type type, int32_t code, uint32_t index)
{
	struct launch_msg msg = {.type = type, .code = code, .index = index};

	if (w->control_fd < 0)
		return -ENOTCONN;
	if (send(w->control_fd, &msg, sizeof(msg), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	return 0;
}

/* Lets go of the dead process; the state memfd and the mounts stay for its successor. */
static void sup_forget_process(struct sup_worker *w)
{
	w->control_source = loop_source_free(w->control_source);
	w->pid_source = loop_source_free(w->pid_source);
	cleanup_close(&w->control_fd);
	cleanup_close(&w->pidfd);
	w->control_fd = w->pidfd = -1;
	if (w->pid > 0)
		rundir_del_process(w->sup->setup.rundir, w->pid);
	w->pid = 0;
}

/* ---- what comes from a worker ---- */

static void sup_take_event(struct sup_worker *w, const struct launch_msg *msg)
{
	bool good = msg->code == LAUNCH_EVENT_PATH_UP || msg->code == LAUNCH_EVENT_PEER_UP;
	char name[EVENTS_SOURCE_MAX];

	events_keep(w->sup->setup.events, good ? LOG_LEVEL_NOTICE : LOG_LEVEL_WARNING,
		    sup_name(w, name, sizeof(name)), msg->text);
}

/* Owns fd. */
static void sup_take_hold(struct sup_worker *w, const struct launch_msg *msg, int fd)
{
	int r = holds_add(&w->holds, w->id, msg->index, msg->key, fd);

	if (r < 0)
		log_debug("worker %u: an open file is not held: %s", w->id, strerror(-r));
}

/* Owns fd, which is -1 where none came. */
static void sup_take_message(struct sup_worker *w, const struct launch_msg *msg, int fd)
{
	if (fd >= 0 && msg->type != LAUNCH_MSG_HOLD)
		close(fd);
	switch (msg->type) {
	case LAUNCH_MSG_HOLD:
		if (fd >= 0)
			sup_take_hold(w, msg, fd);
		break;
	case LAUNCH_MSG_DROP:
		holds_drop(&w->holds, w->id, msg->index, msg->key);
		break;
	case LAUNCH_MSG_READY:
		sup_feed(w, SUP_EV_READY);
		break;
	case LAUNCH_MSG_FAILED:
		snprintf(w->reason, sizeof(w->reason), "%s", msg->text);
		sup_feed(w, SUP_EV_FAILED_MSG);
		break;
	case LAUNCH_MSG_EVENT:
		sup_take_event(w, msg);
		break;
	default:
		SUP_SAY(w, LOG_LEVEL_WARNING, "sent a message of unknown type %u", msg->type);
	}
}

static int sup_read_control(struct sup_worker *w, int fd, unsigned n_max)
{
	struct launch_msg msg;
	int passed;

	for (unsigned i = 0; i < n_max; i++) {
		ssize_t n = fdpass_recv(fd, &msg, sizeof(msg), &passed, NULL);

		if (n == -EAGAIN || n == -EINTR)
			return 0;
		if (n <= 0) {
			/* End of file: its exit follows on the pidfd. */
			w->control_source = loop_source_free(w->control_source);
			return 0;
		}
		if ((size_t)n != sizeof(msg)) {
			SUP_SAY(w, LOG_LEVEL_WARNING, "sent a message of %zd bytes, not %zu", n,
				sizeof(msg));
			cleanup_close(&passed);
			continue;
		}
		msg.text[sizeof(msg.text) - 1] = '\0';
		sup_take_message(w, &msg, passed);
		if (!w->control_source)
			return 0;
	}
	return 0;
}

/* The worker's own reason is said once, however often it tries again and ends for it. */
static bool sup_is_told(const struct sup_worker *w)
{
	return w->told[0] && strcmp(w->told, w->reason) == 0;
}

static void sup_report_end(struct sup_worker *w, enum sup_event e, const char *how)
{
	bool explained = w->reason[0];

	/* A configuration that cannot work is reported by giving up. */
	if (!sup_is_told(w) && e != SUP_EV_EXITED_CONFIG)
		SUP_SAY(w, LOG_LEVEL_ERR, "ended: %s%s%s", how, explained ? ": " : "", w->reason);
	snprintf(w->told, sizeof(w->told), "%s", w->reason);
	if (!explained)
		snprintf(w->reason, sizeof(w->reason), "%s", how);
}

/* At most a few messages a turn, so that a babbling worker does not keep the others waiting. */
static int sup_on_control(void *user, int fd, uint32_t revents)
{
	return sup_read_control(user, fd, SUP_MESSAGES_A_TURN);
}

static int sup_on_exit(void *user, int fd, uint32_t revents)
{
	struct sup_worker *w = user;
	enum sup_event e = SUP_EV_CRASHED;
	char how[96];
	int status = -1;

	/* Messages that it sent before it died explain the death, and say what it wants held. */
	if (w->control_source)
		sup_read_control(w, w->control_fd, UINT_MAX);
	if (spawn_reap(fd, &status, how, sizeof(how)) < 0)
		snprintf(how, sizeof(how), "gone");
	sup_forget_process(w);
	if (status == LAUNCH_EXIT_STOPPED)
		e = SUP_EV_EXITED_0;
	else if (status == LAUNCH_EXIT_CONFIG)
		e = SUP_EV_EXITED_CONFIG;
	if (status == LAUNCH_EXIT_TRANSPORT && w->sup->setup.on_no_transport)
		w->sup->setup.on_no_transport(w->sup->setup.user, w->id, w->reason);
	if (w->state != SUP_STOPPING)
		sup_report_end(w, e, how);
	sup_feed(w, e);
	return 0;
}

/* ---- timers ---- */

static int sup_on_timer(void *user)
{
	struct sup_worker *w = user;

	sup_feed(w, w->state == SUP_STARTING ? SUP_EV_START_TIMEOUT : SUP_EV_TIMER);
	return 0;
}

static bool sup_is_stuck(const struct sup_worker *w, uint64_t now)
{
	uint64_t beat = MAX_OF(launch_stat_get(&w->stats->heartbeat_ns), w->up_since_ns);

	return now > beat && now - beat > SUP_HEARTBEAT_LIMIT_NS;
}

/* Runs only while a worker is up, so that an agent without workers sleeps. */
static int sup_on_heartbeat_check(void *user)
{
	struct sup *s = user;
	uint64_t now = clock_now_ns();
	bool any = false;

	for (struct sup_worker *w = s->workers; w; w = w->next) {
		if (w->state != SUP_UP)
			continue;
		any = true;
		if (sup_is_stuck(w, now))
			sup_feed(w, SUP_EV_HEARTBEAT_MISSED);
	}
	return any ? loop_timer_arm(s->heartbeat, SUP_HEARTBEAT_CHECK_NS) : 0;
}

/* Up to a quarter more, so that workers that died together do not come back together. */
static uint64_t sup_jitter(uint64_t ns)
{
	uint32_t x = 0;

	if (getrandom(&x, sizeof(x), GRND_NONBLOCK) != sizeof(x))
		x = (uint32_t)clock_now_ns();
	return ns + ns / 4 * (x % 1024) / 1024;
}

/* ---- actions ---- */

static void sup_do_spawn(struct sup_worker *w)
{
	int r = sup_start(w);

	if (r >= 0) {
		loop_timer_arm(w->timer, SUP_START_LIMIT_NS);
		return;
	}
	if (!w->reason[0])
		snprintf(w->reason, sizeof(w->reason), "cannot be started: %s", strerror(-r));
	if (w->pidfd >= 0) { /* started, but it cannot be watched */
		sup_kill(w);
		return;
	}
	/* A shortage passes; a missing directory or a busy mount point wants somebody's hand. */
	if (r == -ENOMEM || r == -EAGAIN || r == -EMFILE || r == -ENFILE) {
		if (!sup_is_told(w))
			SUP_SAY(w, LOG_LEVEL_ERR, "%s", w->reason);
		snprintf(w->told, sizeof(w->told), "%s", w->reason);
		sup_feed(w, SUP_EV_CRASHED);
	} else {
		sup_feed(w, SUP_EV_SPAWN_FAILED); /* giving up reports it */
	}
}

static void sup_do_backoff(struct sup_worker *w)
{
	uint64_t delay;

	if (w->up_since_ns && clock_now_ns() - w->up_since_ns >= SUP_HEALTHY_NS)
		w->n_deaths = 0;
	w->n_deaths++;
	w->n_restarts++;
	w->up_since_ns = 0;
	delay = sup_jitter(sup_backoff_ns(w->n_deaths));
	if (delay && !sup_is_told(w))
		SUP_SAY(w, LOG_LEVEL_NOTICE, "starts again in %.1f s (death %u in a row)",
			(double)delay / NSEC_PER_SEC, w->n_deaths);
	loop_timer_arm(w->timer, delay);
}

static void sup_do_give_up(struct sup_worker *w)
{
	SUP_SAY(w, LOG_LEVEL_ERR, "failed and stays down until the next reload or apply: %s",
		w->reason);
	loop_timer_disarm(w->timer);
	/* Nobody will serve them: an error is better than waiting for ever. */
	for (uint32_t i = 0; i < w->config.n_mounts; i++)
		mounts_drop(w->sup->setup.mounts, w->config.mounts[i].path);
}

/* A worker assumes that its links are up until it is told otherwise. */
static void sup_tell_dead_links(struct sup_worker *w)
{
	const struct sup *s = w->sup;

	for (uint32_t i = 0; i < w->config.n_ports; i++)
		if (!carriers_usable(s->setup.carriers, w->config.ports[i].ifindex))
			sup_send(w, LAUNCH_MSG_LINK, 0, i);
}

static void sup_do_note_up(struct sup_worker *w)
{
	w->up_since_ns = clock_now_ns();
	w->reason[0] = w->told[0] = '\0';
	loop_timer_disarm(w->timer);
	sup_tell_dead_links(w);
	SUP_SAY(w, LOG_LEVEL_NOTICE, "ready on core %u, pid %d, in %.0f ms", w->config.core, w->pid,
		(double)(w->up_since_ns - w->started_ns) / NSEC_PER_MSEC);
	if (!loop_timer_armed(w->sup->heartbeat))
		loop_timer_arm(w->sup->heartbeat, SUP_HEARTBEAT_CHECK_NS);
}

static void sup_do_reaped(struct sup_worker *w)
{
	loop_timer_disarm(w->timer);
	w->up_since_ns = 0;
	if (w->wanted)
		sup_feed(w, SUP_EV_WANT);
	else
		SUP_SAY(w, LOG_LEVEL_NOTICE, "stopped");
}

static void sup_act(struct sup_worker *w, enum sup_action a, enum sup_event e)
{
	switch (a) {
	case SUP_ACT_SPAWN:
		sup_do_spawn(w);
		break;
	case SUP_ACT_STOP:
		if (sup_send(w, LAUNCH_MSG_STOP, 0, 0) < 0)
			sup_kill(w);
		loop_timer_arm(w->timer, SUP_STOP_LIMIT_NS);
		break;
	case SUP_ACT_KILL:
		SUP_SAY(w, LOG_LEVEL_ERR, "does not answer (%s); killing it",
			sup_event_to_string(e));
		snprintf(w->reason, sizeof(w->reason), "killed: %s", sup_event_to_string(e));
		sup_kill(w);
		break;
	case SUP_ACT_BACKOFF:
		sup_do_backoff(w);
		break;
	case SUP_ACT_GIVE_UP:
		sup_do_give_up(w);
		break;
	case SUP_ACT_NOTE_UP:
		sup_do_note_up(w);
		break;
	case SUP_ACT_REAPED:
		sup_do_reaped(w);
		break;
	case SUP_ACT_DISARM:
		loop_timer_disarm(w->timer);
		break;
	case SUP_ACT_NOTE_REASON: /* it is in w->reason; the exit reports it */
	case SUP_ACT_NONE:
	case SUP_ACT_UNSET:
	case SUP_ACTION_MAX:
		break;
	}
}

static void sup_feed(struct sup_worker *w, enum sup_event e)
{
	const struct sup_rule *rule = sup_rule_get(w->state, e);
	enum sup_state was = w->state;

	log_debug("worker %u: %s in %s -> %s", w->id, sup_event_to_string(e),
		  sup_state_to_string(was), sup_state_to_string(rule->next));
	w->state = rule->next;
	sup_act(w, rule->action, e);
	if (w->state != was && w->sup->setup.on_change)
		w->sup->setup.on_change(w->sup->setup.user);
}

/* ---- the set of workers ---- */

static struct sup_worker *sup_worker_free(struct sup_worker *w)
{
	char name[32];

	if (w->state_fd >= 0)
		loop_unstore_fd(sup_state_name(w, name, sizeof(name)));
	sup_forget_process(w);
	loop_source_free(w->timer);
	sup_stats_unmap(w);
	cleanup_close(&w->state_fd);
	holds_clear(&w->holds, w->id);
	free(w);
	return NULL;
}

static struct sup_worker *sup_worker_add(struct sup *s, uint32_t id)
{
	struct sup_worker **at = &s->workers, *w;

	while (*at && (*at)->id < id)
		at = &(*at)->next;
	if (*at && (*at)->id == id)
		return *at;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->id = id;
	w->sup = s;
	w->pidfd = w->control_fd = w->state_fd = -1;
	if (loop_add_timer(s->setup.loop, NSEC_PER_MSEC, sup_on_timer, w, &w->timer) < 0) {
		free(w);
		return NULL;
	}
	w->next = *at;
	*at = w;
	return w;
}

int sup_adopt(struct sup *s, int fd, const char *name)
{
	struct sup_worker *w;
	uint32_t id, index;
	uint64_t key;
	bool hold = holds_parse_name(name, &id, &index, &key);

	if (!hold && sscanf(name, "state-%" SCNu32, &id) != 1)
		return -ENOENT;
	w = sup_worker_add(s, id);
	if (!w)
		return -ENOMEM;
	if (hold) {
		holds_add(&w->holds, id, index, key, fd);
		return 0;
	}
	cleanup_close(&w->state_fd);
	w->state_fd = fd;
	return 0;
}

/* Those that are neither wanted nor running. */
static void sup_sweep(struct sup *s)
{
	for (struct sup_worker **at = &s->workers; *at;) {
		struct sup_worker *w = *at;

		if (w->wanted || w->state != SUP_STOPPED) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		sup_worker_free(w);
	}
}

int sup_new(const struct sup_setup *setup, struct sup **ret)
{
	struct sup *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->setup = *setup;
	if (pipe2(s->alive, O_CLOEXEC) < 0) {
		free(s);
		return -errno;
	}
	r = loop_add_timer(setup->loop, NSEC_PER_SEC / 2, sup_on_heartbeat_check, s, &s->heartbeat);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

struct sup *sup_free(struct sup *s)
{
	char how[96];
	int status;

	if (!s)
		return NULL;
	while (s->workers) {
		struct sup_worker *w = s->workers;

		s->workers = w->next;
		if (w->pidfd >= 0) {
			sup_kill(w);
			spawn_reap(w->pidfd, &status, how, sizeof(how));
		}
		sup_worker_free(w);
	}
	loop_source_free(s->heartbeat);
	cleanup_close(&s->alive[0]);
	cleanup_close(&s->alive[1]);
	free(s);
	return NULL;
}

static int sup_want(struct sup *s, const struct launch_config *want, bool retry_failed)
{
	autofree struct launch_config *c = malloc(sizeof(*c));
	struct sup_worker *w = c ? sup_worker_add(s, want->worker_id) : NULL;
	bool was_wanted, changed;

	if (!w)
		return -ENOMEM;
	memcpy(c, want, sizeof(*c));
	sup_config_normalise(c);
	was_wanted = w->wanted;
	w->wanted = true;
	changed = memcmp(c, &w->config, sizeof(*c)) != 0;
	if (changed) {
		w->config = *c;
		w->n_deaths = 0;
	}
	if (!was_wanted) {
		w->n_restarts = 0;
		sup_feed(w, SUP_EV_WANT);
	} else if (changed || (retry_failed && w->state == SUP_FAILED)) {
		sup_feed(w, SUP_EV_CONFIG_CHANGED);
	}
	return 0;
}

static bool sup_is_in(uint32_t id, const struct launch_config *wants, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (wants[i].worker_id == id)
			return true;
	return false;
}

int sup_reconcile(struct sup *s, const struct launch_config *wants, size_t n, bool retry_failed)
{
	int r = 0;

	/* Unmount while the workers that serve the mounts still run. */
	mounts_keep(s->setup.mounts, wants, n);
	for (struct sup_worker *w = s->workers; w; w = w->next) {
		if (!w->wanted || sup_is_in(w->id, wants, n))
			continue;
		w->wanted = false;
		sup_feed(w, SUP_EV_UNWANT);
	}
	for (size_t i = 0; i < n && r >= 0; i++)
		r = sup_want(s, &wants[i], retry_failed);
	sup_sweep(s);
	return r;
}

unsigned sup_link_changed(struct sup *s, uint32_t ifindex, bool up)
{
	unsigned n = 0;

	for (struct sup_worker *w = s->workers; w; w = w->next)
		for (uint32_t i = 0; i < w->config.n_ports; i++)
			if (w->config.ports[i].ifindex == ifindex &&
			    sup_send(w, LAUNCH_MSG_LINK, up, i) >= 0)
				n++;
	return n;
}

void sup_stop_all(struct sup *s)
{
	sup_reconcile(s, NULL, 0, false);
}

unsigned sup_count_processes(const struct sup *s)
{
	unsigned n = 0;

	for (const struct sup_worker *w = s->workers; w; w = w->next)
		n += w->pidfd >= 0;
	return n;
}

const struct sup_worker *sup_first(const struct sup *s)
{
	return s->workers;
}
