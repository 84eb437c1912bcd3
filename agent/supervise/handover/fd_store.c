/* SPDX-License-Identifier: BSD-3-Clause */
/* The agent's side of the descriptor holder. Keeps a duplicate of each stored descriptor, so that
 * it can fill a new holder if the present one ends. */
#include "agent/supervise/handover/fd_store.h"
#include "agent/base/child/spawn.h"
#include "agent/base/path.h"
#include "agent/supervise/handover/fd_holder.h"
#include <fcntl.h>
#include <poll.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define SOCKET_NAME "fd-holder.sock"
/* seconds; a holder that does not list its descriptors in this time is replaced */
#define LIST_LIMIT_S 5
#define SEND_LIMIT_MS 1000 /* a holder that does not read within this time is replaced */
#define RESTART_NS NSEC_PER_SEC
#define RESTART_MAX_NS (60 * NSEC_PER_SEC)
/* Lets the kernel kill workers first when memory is short: the holder's descriptors are needed only
 * without the workers. */
#define OOM_SCORE (-900)

struct copy {
	char name[FD_HOLDER_NAME_MAX];
	int fd;
};

struct found { /* a descriptor that the previous agent stored */
	struct found *next;
	int fd;
	char name[FD_HOLDER_NAME_MAX];
};

static struct {
	struct fd_store_setup setup;
	struct sockaddr_un addr;
	struct loop_source *source, *timer;
	int sock;  /* socket of the holder; -1: no holder runs */
	int pidfd; /* pidfd of the holder; -1: no holder runs */
	pid_t pid;
	bool is_open, is_full;
	unsigned n_failures; /* failed starts in a row */
	unsigned n_losses;   /* count of descriptor holder processes that have ended since the store
				was opened */
	void *copies;	     /* tree of struct copy, by name */
	size_t n_copies;
	struct found *found;
} store = {.sock = -1, .pidfd = -1};

/* ---- the connection ---- */

static void say(enum log_level level, const char *what, int r)
{
	events_add(store.setup.events, level, "agent", "descriptor holder: %s%s%s", what,
		   r < 0 ? ": " : "", r < 0 ? strerror(-r) : "");
}

static void holder_lose(void)
{
	char how[96];
	int status;

	store.n_losses++;
	store.source = loop_source_free(store.source);
	cleanup_close(&store.sock);
	store.sock = -1;
	if (store.pidfd >= 0) {
		pidfd_send_signal(store.pidfd, SIGKILL, NULL, 0);
		spawn_reap(store.pidfd, &status, how, sizeof(how));
		close(store.pidfd);
		rundir_del_process(store.setup.rundir, store.pid);
	}
	store.pidfd = -1;
}

/* Schedules the next start; the wait doubles with each failure. */
static void restart_later(void)
{
	uint64_t wait = RESTART_NS << (store.n_failures < 6 ? store.n_failures : 6);

	store.n_failures++;
	loop_timer_arm(store.timer, wait < RESTART_MAX_NS ? wait : RESTART_MAX_NS);
}

/* Sends a message. If the holder's socket is full, waits up to SEND_LIMIT_MS. */
static int tell(enum fd_holder_type type, const char *name, int fd)
{
	struct fd_holder_msg m = {
		.magic = FD_HOLDER_MAGIC, .version = FD_HOLDER_VERSION, .type = (uint16_t)type};
	struct pollfd p = {.fd = store.sock, .events = POLLOUT};
	int r;

	snprintf(m.name, sizeof(m.name), "%s", name);
	r = fd_holder_send(store.sock, &m, fd, MSG_DONTWAIT);
	for (unsigned n = 0; r == -EAGAIN && n < 64 && poll(&p, 1, SEND_LIMIT_MS) > 0; n++)
		r = fd_holder_send(store.sock, &m, fd, MSG_DONTWAIT);
	return r;
}

static void send_or_lose(enum fd_holder_type type, const char *name, int fd)
{
	int r = store.sock < 0 ? 0 : tell(type, name, fd);

	if (r >= 0)
		return;
	say(LOG_LEVEL_ERR, "does not take a descriptor; starting another holder", r);
	holder_lose();
	restart_later();
}

/* The holder sends data only when asked, so any event on its socket here means that it has
 * ended. */
static int on_holder(void *user, int fd, uint32_t revents)
{
	say(LOG_LEVEL_ERR, "ended; starting another holder", 0);
	holder_lose();
	restart_later();
	return 0;
}

static int holder_watch(void)
{
	int r = store.source ? 0
			     : loop_add_fd(store.setup.loop, store.sock, EPOLLIN, false, on_holder,
					   NULL, &store.source);

	if (r < 0)
		holder_lose();
	return r;
}

static int holder_connect(void)
{
	const struct timeval limit = {.tv_sec = LIST_LIMIT_S};
	autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&store.addr, sizeof(store.addr)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0)
		return -errno;
	return fd_take(fd);
}

/* ---- start ---- */

static int holder_listen(void)
{
	autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	mode_t mask;
	int r;

	if (fd < 0 || (unlink(store.addr.sun_path) < 0 && errno != ENOENT))
		return -errno;
	mask = umask(0177);
	r = bind(fd, (const struct sockaddr *)&store.addr, sizeof(store.addr)) < 0 ? -errno : 0;
	umask(mask);
	if (r < 0)
		return r;
	return listen(fd, 4) < 0 ? -errno : fd_take(fd);
}

static void fill_one(const void *node, VISIT which, int depth)
{
	const struct copy *c = *(const struct copy *const *)node;

	if ((which == postorder || which == leaf) && store.sock >= 0)
		send_or_lose(FD_HOLDER_PUT, c->name, c->fd);
}

static int holder_start(void)
{
	char level[8];
	char *argv[] = {(char *)"plenumd",
			(char *)"--role",
			(char *)FD_HOLDER_ROLE,
			(char *)"--log-level",
			level,
			NULL};
	autoclose int fd = holder_listen();
	struct spawn_request rq = {.path = "/proc/self/exe",
				   .program_fd = -1,
				   .argv = argv,
				   .fds = &fd,
				   .n_fds = 1,
				   .core = -1,
				   .oom_score = OOM_SCORE};
	int r;

	if (fd < 0)
		return fd;
	snprintf(level, sizeof(level), "%d", (int)store.setup.log_level);
	r = spawn_process(&rq, &store.pid, &store.pidfd);
	if (r < 0)
		return r;
	/* If writing the record fails, the agent retries later with rundir_save_again(). */
	rundir_add_process(store.setup.rundir, &(struct rundir_process){.pid = store.pid});
	store.sock = holder_connect();
	if (store.sock < 0) {
		r = store.sock;
		holder_lose();
		return r;
	}
	r = holder_watch();
	if (r >= 0)
		twalk(store.copies, fill_one);
	return r;
}

static int on_restart(void *user)
{
	int r = holder_start();

	if (r < 0) {
		say(LOG_LEVEL_ERR, "cannot start", r);
		restart_later();
	} else if (store.sock >= 0) {
		if (store.n_losses)
			say(LOG_LEVEL_NOTICE, "restarted, with all descriptors", 0);
		store.n_failures = 0;
	}
	return 0;
}

/* ---- the holder of the previous agent ---- */

static int found_add(const char *name, int fd)
{
	struct found *f = calloc(1, sizeof(*f));

	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	*f = (struct found){.next = store.found, .fd = fd};
	snprintf(f->name, sizeof(f->name), "%s", name);
	store.found = f;
	return 0;
}

static void found_clear(void)
{
	while (store.found) {
		struct found *f = store.found;

		store.found = f->next;
		close(f->fd);
		free(f);
	}
}

/* Receives the holder's list. Returns 0, and *last has the holder's version and pid, or negative
 * errno. */
static int found_receive(struct fd_holder_msg *last)
{
	int r = tell(FD_HOLDER_LIST, "", -1), fd;

	while (r >= 0) {
		r = fd_holder_receive(store.sock, last, &fd, 0);
		if (r == 0)
			r = -ECONNRESET;
		if (r < 0)
			break;
		if (last->type == FD_HOLDER_ITEM && fd >= 0) {
			r = found_add(last->name, fd);
			continue;
		}
		cleanup_close(&fd);
		if (last->type == FD_HOLDER_LISTED)
			return 0;
	}
	return r;
}

/* Receives the descriptors of the previous agent's holder. Returns whether this agent can use that
 * holder from now on. */
static bool holder_adopt(void)
{
	struct fd_holder_msg m = {0};
	int r;

	store.sock = holder_connect();
	if (store.sock < 0)
		return false;
	r = found_receive(&m);
	if (r >= 0 && m.version == FD_HOLDER_VERSION)
		store.pidfd = pidfd_open(m.pid, 0);
	if (store.pidfd >= 0) {
		store.pid = m.pid;
		rundir_add_process(store.setup.rundir, &(struct rundir_process){.pid = m.pid});
		return holder_watch() >= 0;
	}
	if (r < 0)
		say(LOG_LEVEL_WARNING, "does not list its descriptors; starting another holder", r);
	else
		tell(FD_HOLDER_QUIT, "", -1);
	holder_lose();
	return false;
}

int fd_store_open(const struct fd_store_setup *setup)
{
	autofree char *path = path_join(setup->rundir->run, SOCKET_NAME);
	int r;

	store.setup = *setup;
	store.addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (!path)
		return -ENOMEM;
	r = loop_add_timer(setup->loop, NSEC_PER_MSEC, on_restart, NULL, &store.timer);
	if (r < 0)
		return r;
	store.is_open = true;
	store.n_losses = 0;
	if ((size_t)snprintf(store.addr.sun_path, sizeof(store.addr.sun_path), "%s", path) >=
	    sizeof(store.addr.sun_path)) {
		say(LOG_LEVEL_ERR, "the path of its socket is too long", -ENAMETOOLONG);
		return 0;
	}
	if (!holder_adopt())
		on_restart(NULL);
	return 0;
}

/* ---- the store ---- */

static int copy_compare(const void *a, const void *b)
{
	return strcmp(((const struct copy *)a)->name, ((const struct copy *)b)->name);
}

static struct copy *copy_find(const char *name)
{
	struct copy key;
	void *node;

	snprintf(key.name, sizeof(key.name), "%s", name);
	node = tfind(&key, &store.copies, copy_compare);
	return node ? *(struct copy **)node : NULL;
}

static void copy_free(void *copy)
{
	close(((struct copy *)copy)->fd);
	free(copy);
}

static int copy_add(int fd, const char *name)
{
	struct copy *c = copy_find(name);
	autoclose int dup = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (dup < 0)
		return -errno;
	if (c) {
		close(c->fd);
		c->fd = fd_take(dup);
		return 0;
	}
	if (strlen(name) >= sizeof(c->name))
		return -ENAMETOOLONG;
	if (store.n_copies >= FD_HOLDER_FDS_MAX)
		return -ENOSPC;
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	snprintf(c->name, sizeof(c->name), "%s", name);
	if (!tsearch(c, &store.copies, copy_compare)) {
		free(c);
		return -ENOMEM;
	}
	c->fd = fd_take(dup);
	store.n_copies++;
	return 0;
}

void fd_store_put(int fd, const char *name)
{
	int r;

	loop_store_fd(fd, name);
	if (!store.is_open)
		return;
	r = copy_add(fd, name);
	if (r >= 0)
		send_or_lose(FD_HOLDER_PUT, name, fd);
	else if (!store.is_full)
		say(LOG_LEVEL_ERR, "cannot keep a further descriptor", r);
	store.is_full = r < 0;
}

void fd_store_drop(const char *name)
{
	struct copy *c = copy_find(name);

	loop_unstore_fd(name);
	if (c) {
		tdelete(c, &store.copies, copy_compare);
		copy_free(c);
		store.n_copies--;
	}
	if (store.is_open)
		send_or_lose(FD_HOLDER_DROP, name, -1);
}

struct taking {
	void (*cb)(void *user, int fd, const char *name);
	void *user;
};

/* Passes on a descriptor from the service manager. If the holder already has a copy of the
 * descriptor, this copy is closed, because the descriptor must not be passed on twice. */
static void take_managed(void *user, int fd, const char *name)
{
	struct taking *t = user;

	for (struct found **at = &store.found; *at; at = &(*at)->next) {
		struct found *f = *at;

		if (strcmp(f->name, name) != 0)
			continue;
		*at = f->next;
		close(f->fd);
		free(f);
		break;
	}
	t->cb(t->user, fd, name);
}

void fd_store_take(void (*cb)(void *user, int fd, const char *name), void *user)
{
	struct taking t = {.cb = cb, .user = user};

	loop_take_stored(take_managed, &t);
	while (store.found) {
		struct found *f = store.found;

		store.found = f->next;
		cb(user, f->fd, f->name);
		free(f);
	}
}

void fd_store_close(bool for_good)
{
	if (!store.is_open)
		return;
	if (for_good)
		holder_lose();
	store.source = loop_source_free(store.source);
	store.timer = loop_source_free(store.timer);
	cleanup_close(&store.sock);
	cleanup_close(&store.pidfd);
	found_clear();
	tdestroy(store.copies, copy_free);
	store.copies = NULL;
	store.n_copies = 0;
	store.sock = store.pidfd = -1;
	store.is_open = false;
}
