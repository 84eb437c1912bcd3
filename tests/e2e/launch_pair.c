/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plays the agents of two hosts: mounts a file system, starts a frontend worker in one network
 * namespace and a compute worker in another, and restarts them when they exit. It reads commands
 * from standard input and reports events on standard output, one per line:
 *
 *	kill NAME		SIGKILL; "exited NAME STATUS", then "ready NAME" of the successor
 *	stop NAME		asks it to stop, then as above
 *	hold NAME		the next exit is not followed by a start
 *	start NAME		starts it after a hold
 *	forget NAME		between a hold and its start: drops all state kept for it
 *	reboot NAME		the same, and its host reports another boot
 *	link NAME N up|down
 *	abandon NAME		imitates the exit of the agent
 *	adopt NAME		imitates the adoption by the next agent; "ready NAME"
 *	exchange NAME		uses the other binary from the next start on
 *	pid NAME		"pid NAME NUMBER"
 *	stats NAME		"stats NAME key=value ..."
 *	ports NAME		"ports NAME drops=NUMBER LEG key=value ... LEG key=value ..."
 *	quit (or end of input)	unmounts, stops all workers, exits
 *
 * NAME is front, back; with --mount2, front2: another client of the export, besides the first; with
 * --cores 2, back2: another core that serves the export; with --lanes 1, lane: another core of the
 * first client, a mount worker of its mount; with --lanes-read it reads the mount's requests too,
 * without measuring whether that helps. Clients know the addresses of back only.
 *
 * All run --worker; with --worker-back FILE, back and back2 start with that program, whose
 * LAUNCH_VERSION --version-back gives if it differs from ours: a worker of another commit, which
 * gets our layout and refuses structs of another size.
 */
#include "dataplane/launch.h"
#include "netcfg/base/os/fdpass.h"
#include "netcfg/base/os/memfd.h"

#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define UDP_PORT 14000
#define LEGS 2

#define HELD_MAX 1024 /* as the agent's limit per export */

struct held {
	uint64_t key;
	uint32_t index;
	int fd; /* 0: none */
};

struct worker_proc {
	const char *name, *netns;
	struct launch_config cfg;
	int config_fd, stats_fd, state_fd, key_fd, control, pidfd;
	int alive;    /* the write end of its pipe, until `abandon` */
	int extra_fd; /* /dev/fuse or the export */
	int extra_state_fd;
	pid_t pid;
	bool hold;
	bool rebooted; /* its host reports a boot since */
	bool other;    /* the next start uses --worker-back */
	struct launch_stats *stats;
	struct held held[HELD_MAX];
};

enum { FRONT, BACK, FRONT2, BACK2, LANE, WORKERS_MAX };

static const char *worker_path, *other_path, *mount_path, *mount2_path, *export_path, *asan;
static const char *peer_name = "host-2";
static struct worker_proc workers[WORKERS_MAX] = {
	[FRONT] = {.name = "front", .pidfd = -1, .control = -1, .alive = -1},
	[BACK] = {.name = "back", .pidfd = -1, .control = -1, .alive = -1},
	[FRONT2] = {.name = "front2", .pidfd = -1, .control = -1, .alive = -1},
	[BACK2] = {.name = "back2", .pidfd = -1, .control = -1, .alive = -1},
	[LANE] = {.name = "lane", .pidfd = -1, .control = -1, .alive = -1},
};
static int locks_fd = -1; /* the same for the locks of clients */
static const char *locks_name = "local";
static int share_fd = -1; /* shared by the compute workers; at frontends the eventfd has this
			   * place */
static int bell_fd = -1;
static unsigned n_cores = 1, n_lanes;
static unsigned other_version = LAUNCH_VERSION;
static unsigned spin_us, orphan_s = LAUNCH_ORPHAN_S, soft_s = 30, mtu = 1500, log_level = 5;
static bool dpdk, dpdk_interrupt, af_xdp, read_only, crosses, lanes_read, write_back;
static enum launch_squash squash;
static const char *network; /* of the allowed clients; NULL: all */
static uint32_t next_epoch = 1;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void say(const char *fmt, ...) PLENUM_PRINTF(1, 2);
static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

static void config_ports(struct worker_proc *w, unsigned address)
{
	for (unsigned leg = 0; leg < LEGS; leg++) {
		struct launch_port *p = &w->cfg.ports[leg];
		char text[64];

		snprintf(p->leg, sizeof(p->leg), "leg-%c", 'a' + (int)leg);
		snprintf(p->label, sizeof(p->label), "switch-%c", 'a' + (int)leg);
		snprintf(p->ifname, sizeof(p->ifname), "leg%u", leg);
		snprintf(text, sizeof(text), "10.99.%u.%u/24", leg + 1, address);
		if (ip_prefix_parse(text, &p->ip) < 0)
			die("ip_prefix_parse");
		p->mtu = mtu;
		p->udp_port = UDP_PORT;
		p->ifindex = leg + 2;
		if (af_xdp)
			snprintf(p->device, sizeof(p->device), "%s", LAUNCH_DEVICE_AF_XDP);
		else if (dpdk || dpdk_interrupt)
			snprintf(p->device, sizeof(p->device), "%s", LAUNCH_DEVICE_AF_PACKET);
	}
	w->cfg.n_ports = LEGS;
}

/* Creates the empty states that outlive the worker. */
static void states_make(struct worker_proc *w)
{
	w->state_fd = memfd_create("state", MFD_CLOEXEC);
	w->extra_state_fd = memfd_create("extra-state", MFD_CLOEXEC);
	if (w->state_fd < 0 || w->extra_state_fd < 0)
		die("memfd_create");
}

/* Its agent has lost the worker's state, and all pinned files. */
static void worker_forget(struct worker_proc *w)
{
	close(w->state_fd);
	close(w->extra_state_fd);
	states_make(w);
	if (w->cfg.role == LAUNCH_COMPUTE) {
		close(locks_fd);
		locks_fd = memfd_new_shared("locks", LAUNCH_LOCKS_BYTES);
	}
	for (unsigned i = 0; i < HELD_MAX; i++) {
		if (w->held[i].fd > 0)
			close(w->held[i].fd);
		w->held[i] = (struct held){.fd = 0};
	}
}

/* As after a boot of the host with all its file systems: a new boot id, and no memory. */
static void boot_fake(const struct worker_proc *w)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s.boot", export_path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || dprintf(fd, "00000000-0000-4000-8000-%012x\n", w->cfg.epoch) < 0 ||
	    unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(path, "/proc/sys/kernel/random/boot_id", NULL, MS_BIND, NULL) < 0)
		die("a new boot id");
	close(fd);
	/* The export as seen in this namespace. */
	fd = open(export_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || dup2(fd, w->extra_fd) < 0)
		die(export_path);
	close(fd);
}

static void config_common(struct worker_proc *w, unsigned host, unsigned id, unsigned core)
{
	struct launch_config *c = &w->cfg;
	char key[LAUNCH_KEY_BYTES];

	c->magic = LAUNCH_MAGIC;
	c->version = LAUNCH_VERSION;
	c->size = sizeof(*c);
	snprintf(c->host, sizeof(c->host), "host-%u", host);
	c->worker_id = id;
	if (getrandom(&c->boot_id, sizeof(c->boot_id), 0) != (ssize_t)sizeof(c->boot_id))
		die("getrandom");
	c->transport = dpdk ? LAUNCH_DPDK : dpdk_interrupt ? LAUNCH_DPDK_INTERRUPT : LAUNCH_UDP;
	c->core = core;
	c->spin_us = spin_us;
	c->orphan_s = orphan_s;
	c->log_level = log_level;
	config_ports(w, id);
	states_make(w);
	w->stats_fd = memfd_create("stats", MFD_CLOEXEC);
	w->key_fd = memfd_create("key", MFD_CLOEXEC);
	if (w->stats_fd < 0 || getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key) ||
	    write(w->key_fd, key, sizeof(key)) != (ssize_t)sizeof(key) ||
	    ftruncate(w->stats_fd, sizeof(struct launch_stats)) < 0)
		die("memfd_create");
	w->stats = mmap(NULL, sizeof(*w->stats), PROT_READ, MAP_SHARED, w->stats_fd, 0);
	if (w->stats == MAP_FAILED)
		die("mmap");
}

static void config_front(struct worker_proc *w, const char *path)
{
	struct launch_mount *m = &w->cfg.mounts[0];
	char options[256];

	w->cfg.role = LAUNCH_FRONTEND;
	w->cfg.n_mounts = 1;
	m->has_mount_workers = n_lanes > 0 && w == &workers[FRONT];
	m->mount_workers_always = lanes_read;
	m->bell_fd = LAUNCH_FD_FIRST + 2;
	snprintf(m->path, sizeof(m->path), "%s", path);
	snprintf(m->export_name, sizeof(m->export_name), "scratch");
	snprintf(m->peer, sizeof(m->peer), "%s", peer_name);
	m->soft_s = soft_s;
	m->locks = strcmp(locks_name, "cluster") == 0 ? LAUNCH_LOCKS_CLUSTER : LAUNCH_LOCKS_LOCAL;
	m->read_only = read_only;
	m->write_back = write_back;
	if (getrandom(m->id, sizeof(m->id), 0) != (ssize_t)sizeof(m->id))
		die("getrandom");
	for (unsigned leg = 0; leg < LEGS; leg++) {
		m->addrs[leg].ip = workers[BACK].cfg.ports[leg].ip.addr;
		m->addrs[leg].port = UDP_PORT;
	}
	m->n_addrs = LEGS;
	m->fuse_fd = LAUNCH_FD_FIRST;
	m->state_fd = LAUNCH_FD_FIRST + 1;
	w->extra_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (w->extra_fd < 0)
		die("/dev/fuse");
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other,"
		 "max_read=1048576",
		 w->extra_fd);
	if (mount("plenum", path, "fuse", read_only ? MS_RDONLY : 0, options) < 0)
		die("mount");
}

/* For the first client's mount; host and state of the mount are the same. */
static void config_lane(struct worker_proc *w, const struct worker_proc *owner)
{
	w->cfg.role = LAUNCH_FRONTEND;
	w->cfg.shared[0] = owner->cfg.mounts[0];
	w->cfg.shared[0].mount_worker = 1;
	w->cfg.n_shared = 1;
	w->extra_fd = owner->extra_fd;
	w->extra_state_fd = owner->extra_state_fd;
}

static void config_back(struct worker_proc *w)
{
	struct launch_export *e = &w->cfg.exports[0];

	w->cfg.role = LAUNCH_COMPUTE;
	w->cfg.n_exports = 1;
	snprintf(e->name, sizeof(e->name), "scratch");
	e->n_clients = w->cfg.n_clients = 1; /* all clients */
	w->cfg.clients[0].squash = squash;
	w->cfg.clients[0].anonuid = w->cfg.clients[0].anongid = 65534;
	if (network && ip_prefix_parse(network, &w->cfg.clients[0].network) < 0)
		die(network);
	snprintf(e->path, sizeof(e->path), "%s", export_path);
	e->crosses = crosses;
	e->dir_fd = LAUNCH_FD_FIRST;
	e->state_fd = LAUNCH_FD_FIRST + 1;
	w->cfg.share_fd = LAUNCH_FD_FIRST + 2;
	w->cfg.locks_fd = LAUNCH_FD_FIRST + 3;
	w->extra_fd = open(export_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->extra_fd < 0)
		die(export_path);
}

static void child_exec(struct worker_proc *w, int control, int agent, int alive)
{
	const char *path = w->other ? other_path : worker_path;
	int last = w->cfg.role == LAUNCH_FRONTEND ? bell_fd : share_fd;
	int from[] = {control,	 w->config_fd, w->stats_fd,	  w->state_fd, agent,	alive,
		      w->key_fd, w->extra_fd,  w->extra_state_fd, last,	       locks_fd};
	int ns = open(w->netns, O_RDONLY | O_CLOEXEC), high[ARRAY_SIZE(from)];
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (ns < 0 || setns(ns, CLONE_NEWNET) < 0)
		die(w->netns);
	if (w->rebooted)
		boot_fake(w);
	for (unsigned i = 0; i < ARRAY_SIZE(from); i++)
		high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 64);
	for (unsigned i = 0; i < ARRAY_SIZE(from); i++)
		if (dup2(high[i], LAUNCH_FD_CONTROL + (int)i) < 0)
			die("dup2");
	syscall(SYS_close_range, LAUNCH_FD_FIRST + 4, ~0U, 0);
	if (asan)
		setenv("ASAN_OPTIONS", asan, 1);
	execl(path, path, (char *)NULL);
	die(path);
}

static void worker_start(struct worker_proc *w)
{
	int sv[2], alive[2];

	w->cfg.epoch = next_epoch++;
	w->cfg.version = w->other ? other_version : LAUNCH_VERSION;
	w->config_fd = memfd_create("config", MFD_CLOEXEC);
	if (w->config_fd < 0 || write(w->config_fd, &w->cfg, sizeof(w->cfg)) != sizeof(w->cfg))
		die("config");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		die("socketpair");
	if (pipe2(alive, O_CLOEXEC) < 0)
		die("pipe2");
	w->pid = fork();
	if (w->pid < 0)
		die("fork");
	if (w->pid == 0)
		child_exec(w, sv[1], sv[0], alive[0]);
	close(sv[1]);
	close(alive[0]);
	w->alive = alive[1];
	close(w->config_fd);
	w->control = sv[0];
	w->pidfd = (int)syscall(SYS_pidfd_open, w->pid, 0);
	if (w->pidfd < 0)
		die("pidfd_open");
}

static void worker_tell(struct worker_proc *w, enum launch_msg_type type, int code, unsigned index)
{
	struct launch_msg m = {.type = type, .code = code, .index = index};

	if (w->control >= 0)
		(void)send(w->control, &m, sizeof(m), MSG_NOSIGNAL);
}

static void worker_abandon(struct worker_proc *w)
{
	if (w->alive >= 0)
		close(w->alive);
	w->alive = -1;
}

static void worker_adopt(struct worker_proc *w)
{
	struct launch_msg m = {.type = LAUNCH_MSG_ADOPT};
	int alive[2];

	worker_abandon(w);
	if (pipe2(alive, O_CLOEXEC) < 0 || fdpass_send(w->control, &m, sizeof(m), alive[0]) < 0)
		die("adopt");
	close(alive[0]);
	w->alive = alive[1];
}

/* As the agent does: this descriptor keeps a file that was deleted while open. */
static void worker_hold(struct worker_proc *w, const struct launch_msg *m, int fd)
{
	w = w == &workers[BACK2] ? &workers[BACK] : w; /* per export, whichever worker asks */
	for (unsigned i = 0; i < HELD_MAX; i++) {
		struct held *h = &w->held[i];

		if (h->fd > 0 && h->key == m->key && h->index == m->index) {
			close(h->fd);
			*h = (struct held){.fd = 0};
		}
	}
	for (unsigned i = 0; fd >= 0 && i < HELD_MAX; i++)
		if (w->held[i].fd == 0) {
			w->held[i] = (struct held){.key = m->key, .index = m->index, .fd = fd};
			return;
		}
	if (fd >= 0)
		die("too many files are pinned");
}

static void worker_hear(struct worker_proc *w)
{
	struct launch_msg m;
	int fd = -1;

	if (fdpass_recv(w->control, &m, sizeof(m), &fd, NULL) != (ssize_t)sizeof(m))
		return;
	if (m.type == LAUNCH_MSG_HOLD || m.type == LAUNCH_MSG_DROP)
		worker_hold(w, &m, fd_take(fd));
	cleanup_close(&fd);
	if (m.type == LAUNCH_MSG_READY)
		say("ready %s", w->name);
	else if (m.type == LAUNCH_MSG_FAILED)
		say("failed %s %d %s", w->name, m.code, m.text);
	else if (m.type == LAUNCH_MSG_EVENT)
		say("event %s %d %s", w->name, m.code, m.text);
}

static void worker_reap(struct worker_proc *w, bool again)
{
	int status;

	if (waitpid(w->pid, &status, 0) != w->pid)
		die("waitpid");
	while (w->control >= 0) { /* messages sent before the exit */
		struct pollfd p = {.fd = w->control, .events = POLLIN};

		if (poll(&p, 1, 0) != 1 || !(p.revents & POLLIN))
			break;
		worker_hear(w);
		if (p.revents & POLLHUP)
			break;
	}
	close(w->control);
	close(w->pidfd);
	worker_abandon(w);
	w->control = w->pidfd = -1;
	w->pid = 0;
	say("exited %s %d", w->name,
	    WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	if (again && !w->hold)
		worker_start(w);
	w->hold = false;
}

static void worker_stats(const struct worker_proc *w)
{
	const struct launch_stats *s = w->stats;

	printf("stats %s requests=%llu responses=%llu errors=%llu read=%llu write=%llu loops=%llu "
	       "sleeps=%llu sessions=%llu",
	       w->name, (unsigned long long)launch_stat_get(&s->requests),
	       (unsigned long long)launch_stat_get(&s->responses),
	       (unsigned long long)launch_stat_get(&s->request_errors),
	       (unsigned long long)launch_stat_get(&s->read_bytes),
	       (unsigned long long)launch_stat_get(&s->write_bytes),
	       (unsigned long long)launch_stat_get(&s->loops),
	       (unsigned long long)launch_stat_get(&s->sleeps),
	       (unsigned long long)launch_stat_get(&s->sessions));
	for (unsigned i = 0; i < LAUNCH_OPCODES_MAX; i++)
		if (launch_stat_get(&s->asked[i]) > 0)
			printf(" asked:%u=%llu", i,
			       (unsigned long long)launch_stat_get(&s->asked[i]));
	for (unsigned i = 0; i < s->n_paths && i < LAUNCH_PATHS_MAX; i++)
		printf(" %s:up=%llu,tx=%llu,rx=%llu,lost=%llu,retx=%llu,srtt=%llu,cwnd=%llu",
		       s->paths[i].leg, (unsigned long long)s->paths[i].up,
		       (unsigned long long)s->paths[i].tx_packets,
		       (unsigned long long)s->paths[i].rx_packets,
		       (unsigned long long)s->paths[i].lost_packets,
		       (unsigned long long)s->paths[i].retransmits,
		       (unsigned long long)s->paths[i].srtt_ns,
		       (unsigned long long)s->paths[i].cwnd_bytes);
	say(" network=%s", s->network);
}

static void worker_ports(const struct worker_proc *w)
{
	printf("ports %s drops=%llu", w->name,
	       (unsigned long long)launch_stat_get(&w->stats->rx_drops));
	for (unsigned i = 0; i < LEGS; i++) {
		const struct launch_port_stats *s = &w->stats->ports[i];
		const struct launch_port_counters *c = &s->counters;

		printf(" %s by=%s tx=%llu rx=%llu missed=%llu short=%llu malformed=%llu "
		       "checksum=%llu conflicts=%llu",
		       w->cfg.ports[i].leg, s->by,
		       (unsigned long long)launch_stat_get(&c->tx_packets),
		       (unsigned long long)launch_stat_get(&c->rx_packets),
		       (unsigned long long)launch_stat_get(&c->rx_missed),
		       (unsigned long long)launch_stat_get(&c->rx_short),
		       (unsigned long long)launch_stat_get(&c->rx_malformed),
		       (unsigned long long)launch_stat_get(&c->rx_checksum),
		       (unsigned long long)launch_stat_get(&c->conflicts));
	}
	say("%s", "");
}

/* False: quit. */
static bool command(char *line)
{
	char verb[16] = "", who[16] = "", word[16] = "";
	unsigned index = 0;
	struct worker_proc *w;
	int n = sscanf(line, "%15s %15s %u %15s", verb, who, &index, word);

	if (n < 1)
		return true;
	if (strcmp(verb, "quit") == 0)
		return false;
	w = &workers[BACK];
	for (unsigned i = 0; i < WORKERS_MAX; i++)
		if (workers[i].cfg.magic && strcmp(who, workers[i].name) == 0)
			w = &workers[i];
	if (strcmp(verb, "kill") == 0 && w->pid)
		kill(w->pid, SIGKILL);
	else if (strcmp(verb, "stop") == 0)
		worker_tell(w, LAUNCH_MSG_STOP, 0, 0);
	else if (strcmp(verb, "hold") == 0)
		w->hold = true;
	else if (strcmp(verb, "forget") == 0 && !w->pid)
		worker_forget(w);
	else if (strcmp(verb, "reboot") == 0 && !w->pid) {
		worker_forget(w);
		w->rebooted = true;
	} else if (strcmp(verb, "start") == 0 && !w->pid)
		worker_start(w);
	else if (strcmp(verb, "abandon") == 0)
		worker_abandon(w);
	else if (strcmp(verb, "adopt") == 0)
		worker_adopt(w);
	else if (strcmp(verb, "link") == 0)
		worker_tell(w, LAUNCH_MSG_LINK, strcmp(word, "up") == 0, index);
	else if (strcmp(verb, "exchange") == 0)
		w->other = !w->other && other_path;
	else if (strcmp(verb, "pid") == 0)
		say("pid %s %d", w->name, (int)w->pid);
	else if (strcmp(verb, "ports") == 0)
		worker_ports(w);
	else if (strcmp(verb, "stats") == 0)
		worker_stats(w);
	else
		say("unknown %s", verb);
	return true;
}

static bool input_read(void)
{
	static char buf[1024];
	static size_t have;
	ssize_t n = read(STDIN_FILENO, buf + have, sizeof(buf) - have - 1);
	char *end;

	if (n <= 0)
		return false;
	have += (size_t)n;
	buf[have] = '\0';
	while ((end = strchr(buf, '\n'))) {
		*end = '\0';
		if (!command(buf))
			return false;
		have -= (size_t)(end + 1 - buf);
		memmove(buf, end + 1, have + 1);
	}
	if (have == sizeof(buf) - 1)
		have = 0;
	return true;
}

static void loop(void)
{
	for (;;) {
		struct pollfd p[1 + 2 * WORKERS_MAX] = {{.fd = STDIN_FILENO, .events = POLLIN}};
		bool over = false;

		for (unsigned i = 0; i < WORKERS_MAX; i++) {
			p[1 + i] = (struct pollfd){.fd = workers[i].pidfd, .events = POLLIN};
			p[1 + WORKERS_MAX + i] =
				(struct pollfd){.fd = workers[i].control, .events = POLLIN};
		}
		if (poll(p, 1 + 2 * WORKERS_MAX, -1) < 0 && errno != EINTR)
			die("poll");
		for (unsigned i = 0; i < WORKERS_MAX; i++) {
			over |= p[1 + WORKERS_MAX + i].revents == POLLHUP;
			if (p[1 + WORKERS_MAX + i].revents & POLLIN)
				worker_hear(&workers[i]);
		}
		for (unsigned i = 0; i < WORKERS_MAX; i++)
			if (p[1 + i].revents)
				worker_reap(&workers[i], true);
		if (p[0].revents && !input_read())
			return;
		/* An exited worker's control socket stays readable until it is reaped. */
		if (over)
			poll(p + 1, WORKERS_MAX, 100);
	}
}

static void finish(void)
{
	if (umount2(mount_path, MNT_DETACH) < 0 ||
	    (mount2_path && umount2(mount2_path, MNT_DETACH) < 0))
		perror("umount");
	for (unsigned i = 0; i < WORKERS_MAX; i++) {
		struct worker_proc *w = &workers[i];
		struct pollfd p = {.fd = w->pidfd, .events = POLLIN};

		if (!w->pid)
			continue;
		worker_tell(w, LAUNCH_MSG_STOP, 0, 0);
		if (poll(&p, 1, 20000) != 1) {
			fprintf(stderr, "%s does not exit\n", w->name);
			kill(w->pid, SIGKILL);
		}
		worker_reap(w, false);
	}
}

static const char *squash_name = "none";

/* Each option sets one variable: a text, a number, or a switch. */
static const struct {
	const char *name;
	const char **text;
	unsigned *number;
	bool *on;
} options[] = {
	{"worker", &worker_path, NULL, NULL},
	{"worker-back", &other_path, NULL, NULL},
	{"version-back", NULL, &other_version, NULL},
	{"mount", &mount_path, NULL, NULL},
	{"mount2", &mount2_path, NULL, NULL},
	{"export", &export_path, NULL, NULL},
	{"ns-front", &workers[FRONT].netns, NULL, NULL},
	{"ns-back", &workers[BACK].netns, NULL, NULL},
	{"asan", &asan, NULL, NULL},
	{"peer", &peer_name, NULL, NULL},
	{"squash", &squash_name, NULL, NULL},
	{"network", &network, NULL, NULL},
	{"locks", &locks_name, NULL, NULL},
	{"spin-us", NULL, &spin_us, NULL},
	{"soft-s", NULL, &soft_s, NULL},
	{"orphan-s", NULL, &orphan_s, NULL},
	{"mtu", NULL, &mtu, NULL},
	{"cores", NULL, &n_cores, NULL},
	{"lanes", NULL, &n_lanes, NULL},
	{"log-level", NULL, &log_level, NULL},
	{"af-xdp", NULL, NULL, &af_xdp}, /* together with one of the next */
	{"dpdk", NULL, NULL, &dpdk},
	{"dpdk-interrupt", NULL, NULL, &dpdk_interrupt},
	{"lanes-read", NULL, NULL, &lanes_read},
	{"read-only", NULL, NULL, &read_only},
	{"write-back", NULL, NULL, &write_back},
	{"crosses", NULL, NULL, &crosses},
};

static void options_parse(int argc, char **argv)
{
	struct option long_options[ARRAY_SIZE(options) + 1] = {};

	for (unsigned i = 0; i < ARRAY_SIZE(options); i++)
		long_options[i] = (struct option){
			options[i].name, options[i].on ? no_argument : required_argument, NULL, 0};
	for (int i; getopt_long(argc, argv, "", long_options, &i) == 0;) {
		if (options[i].text)
			*options[i].text = optarg;
		else if (options[i].number)
			*options[i].number = (unsigned)atoi(optarg);
		else
			*options[i].on = true;
	}
	workers[FRONT2].netns = workers[FRONT].netns;
	workers[BACK2].netns = workers[BACK].netns;
	workers[BACK].other = workers[BACK2].other = other_path;
	workers[LANE].netns = workers[FRONT].netns;
	squash = strcmp(squash_name, "all") == 0    ? LAUNCH_SQUASH_ALL
		 : strcmp(squash_name, "root") == 0 ? LAUNCH_SQUASH_ROOT
						    : LAUNCH_SQUASH_NONE;
	if (optind < argc || !worker_path || !mount_path || !export_path || !workers[FRONT].netns ||
	    !workers[BACK].netns) {
		fputs("launch_pair: --worker, --mount, --export, --ns-front, --ns-back\n", stderr);
		exit(64);
	}
}

int main(int argc, char **argv)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	options_parse(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* the script decides */
	share_fd = memfd_new_shared("share", LAUNCH_SHARE_BYTES);
	bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	locks_fd = memfd_new_shared("locks", LAUNCH_LOCKS_BYTES);
	if (share_fd < 0 || bell_fd < 0 || locks_fd < 0)
		die("share");
	config_common(&workers[FRONT], 1, 1, 0);
	config_common(&workers[BACK], 2, 2, cores > 1 ? 1 : 0);
	config_back(&workers[BACK]);
	config_front(&workers[FRONT], mount_path);
	if (mount2_path) {
		config_common(&workers[FRONT2], 3, 3, 0);
		config_front(&workers[FRONT2], mount2_path);
	}
	if (n_lanes > 0) {
		config_common(&workers[LANE], 1, 5, cores > 1 ? 1 : 0);
		config_lane(&workers[LANE], &workers[FRONT]);
	}
	if (n_cores > 1) {
		config_common(&workers[BACK2], 2, 4, 0);
		config_back(&workers[BACK2]);
		/* One export has one state, and one host one key. */
		workers[BACK2].extra_state_fd = workers[BACK].extra_state_fd;
		workers[BACK2].key_fd = workers[BACK].key_fd;
	}
	worker_start(&workers[BACK]);
	for (unsigned i = 0; i < WORKERS_MAX; i++)
		if (i != BACK && workers[i].cfg.magic)
			worker_start(&workers[i]);
	loop();
	finish();
	return 0;
}
