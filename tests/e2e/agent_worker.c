/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker without a data plane: it handles the messages of dataplane/launch.h, keeps its heartbeat
 * and behaves as a test requests by files in the directory that PLENUM_TEST_DIR names:
 *   config-exit   exit with LAUNCH_EXIT_CONFIG and a reason, at start
 *   version-exit  the same with LAUNCH_EXIT_VERSION
 *   mute          never become ready
 *   other-version look like a worker of another version to an agent that examines it
 *   other-locks   have another table of file locks than the agent has created
 *   deaf          do not answer an adoption
 *   frozen        become ready, then let the heartbeat stop
 *   hold          at start, have the agent pin the file ID.held; drop: have it release that file
 *   hold-later    while it runs, have the agent pin ID.held once, and then write ID.holds
 * It writes ID.start (pid, epoch, number of earlier uses of its state, inherited descriptors),
 * ID.link (a line per message, with the time in ns), ID.port (index, leg and interface of each port
 * that it gets by message), where ID is its worker id, and NAME.served (worker and pid, number of
 * earlier uses of its state, and for a mount its id), where NAME is mount- or export- and the last
 * part of its path.
 */
#include "dataplane/launch.h"
#include "netcfg/base/os/fdpass.h"
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>

static const char *dir;
static struct launch_config config;

static FILE *open_log(const char *what)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%u.%s", dir, config.worker_id, what);
	return fopen(path, "ae");
}

/* DIR/NAME applies to all workers, DIR/ID.NAME to one. */
static bool asked(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (access(path, F_OK) == 0)
		return true;
	snprintf(path, sizeof(path), "%s/%u.%s", dir, config.worker_id, name);
	return access(path, F_OK) == 0;
}

static void say(uint32_t type, int32_t code, const char *text)
{
	struct launch_msg m = {.type = type, .code = code};

	snprintf(m.text, sizeof(m.text), "%s", text);
	if (send(LAUNCH_FD_CONTROL, &m, sizeof(m), MSG_NOSIGNAL) < 0)
		_exit(LAUNCH_EXIT_ORPHAN);
}

/* Each start leaves one byte for its successors. */
static int use_state(int fd)
{
	off_t n = lseek(fd, 0, SEEK_END);

	if (n < 0 || write(fd, "x", 1) != 1)
		_exit(1);
	return (int)n;
}

static void log_served(const char *path, int state_fd, const uint8_t id[16])
{
	char file[512];
	FILE *f;

	snprintf(file, sizeof(file), "%s/%s-%s.served", dir, id ? "mount" : "export",
		 strrchr(path, '/') + 1);
	f = fopen(file, "ae");
	if (!f)
		_exit(1);
	/* With its own open file description, kept to the end, so that two workers that serve the
	 * same thing are detected. */
	fprintf(f, "worker %u pid %d state %d %s id ", config.worker_id, getpid(),
		use_state(state_fd), flock(fileno(f), LOCK_EX | LOCK_NB) < 0 ? "shared" : "alone");
	for (unsigned i = 0; id && i < 16; i++)
		fprintf(f, "%02x", id[i]);
	fprintf(f, "\n");
	fflush(f);
}

static void log_start(void)
{
	int state = use_state(LAUNCH_FD_STATE);
	DIR *d = opendir("/proc/self/fd");
	FILE *f = open_log("start");
	struct dirent *e;

	if (!f || !d)
		_exit(1);
	fprintf(f, "pid %d epoch %u boot %" PRIx64 " state %d fds", getpid(), config.epoch,
		config.boot_id, state);
	while ((e = readdir(d))) {
		int fd = atoi(e->d_name);

		if (e->d_name[0] != '.' && fd != dirfd(d) && fd != fileno(f))
			fprintf(f, " %d", fd);
	}
	fprintf(f, "\n");
	closedir(d);
	fclose(f);
	for (uint32_t i = 0; i < config.n_mounts; i++)
		log_served(config.mounts[i].path, config.mounts[i].state_fd, config.mounts[i].id);
	for (uint32_t i = 0; i < config.n_exports; i++)
		log_served(config.exports[i].path, config.exports[i].state_fd, NULL);
}

/* Makes this worker look like one of another version to the next agent. */
static void pretend(void)
{
	struct launch_config other = config;
	int fd = memfd_create("plenum-config", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	other.version++;
	if (fd < 0 || write(fd, &other, sizeof(other)) != sizeof(other) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) < 0 ||
	    dup2(fd, LAUNCH_FD_CONFIG) < 0)
		_exit(1);
	close(fd);
}

/* Replaces the table of file locks by one that the next agent does not know. */
static void replace_locks(void)
{
	int fd = memfd_create("export-/locks-1", MFD_CLOEXEC);

	if (fd < 0 || config.locks_fd < LAUNCH_FD_FIRST || dup2(fd, config.locks_fd) < 0)
		_exit(1);
	close(fd);
}

static void hold(void)
{
	struct launch_msg m = {.type = LAUNCH_MSG_HOLD, .index = 1, .key = 42};
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%u.held", dir, config.worker_id);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fdpass_send(LAUNCH_FD_CONTROL, &m, sizeof(m), fd) < 0)
		_exit(1);
	close(fd);
}

static void hold_later(void)
{
	static bool holds;
	FILE *f;

	if (holds || !asked("hold-later"))
		return;
	holds = true;
	hold();
	f = open_log("holds");
	if (!f)
		_exit(1);
	fclose(f);
}

static void drop(void)
{
	struct launch_msg m = {.type = LAUNCH_MSG_DROP, .index = 1, .key = 42};

	if (send(LAUNCH_FD_CONTROL, &m, sizeof(m), MSG_NOSIGNAL) < 0)
		_exit(LAUNCH_EXIT_ORPHAN);
}

static void log_link(const struct launch_msg *m)
{
	FILE *f = open_log("link");

	if (!f)
		_exit(1);
	fprintf(f, "%u %d %" PRIu64 "\n", m->index, m->code, clock_now_ns());
	fclose(f);
}

static bool came[LAUNCH_PORTS_MAX];

static void say_port(uint32_t i)
{
	const struct launch_msg m = {
		.type = LAUNCH_MSG_HAS_PORT, .index = i, .port = config.ports[i]};

	if (send(LAUNCH_FD_CONTROL, &m, sizeof(m), MSG_NOSIGNAL) < 0)
		_exit(LAUNCH_EXIT_ORPHAN);
}

static void take_port(const struct launch_msg *m)
{
	FILE *f = open_log("port");

	if (!f || m->index > config.n_ports || m->index >= LAUNCH_PORTS_MAX)
		_exit(1);
	fprintf(f, "%u %s %s\n", m->index, m->port.leg, m->port.ifname);
	fclose(f);
	config.ports[m->index] = m->port;
	config.n_ports = MAX_OF(config.n_ports, m->index + 1);
	came[m->index] = true;
	say_port(m->index);
}

static void adopted(void)
{
	for (uint32_t i = 0; i < config.n_ports; i++)
		if (came[i])
			say_port(i);
	say(LAUNCH_MSG_READY, 0, "");
}

static void serve(struct launch_stats *stats)
{
	struct pollfd pfd[] = {{.fd = LAUNCH_FD_CONTROL, .events = POLLIN},
			       {.fd = LAUNCH_FD_ALIVE}};
	uint64_t orphan_ns = 0;
	struct launch_msg m;

	for (;;) {
		int passed;

		if (!asked("frozen"))
			launch_stat_set(&stats->heartbeat_ns, clock_now_ns());
		if (asked("drop"))
			drop();
		hold_later();
		if (orphan_ns && clock_now_ns() - orphan_ns > config.orphan_s * NSEC_PER_SEC)
			_exit(LAUNCH_EXIT_ORPHAN);
		if (poll(pfd, 2, 500) <= 0)
			continue;
		if (pfd[1].revents) {
			orphan_ns = clock_now_ns();
			pfd[1].fd = -1;
		}
		if (fdpass_recv(LAUNCH_FD_CONTROL, &m, sizeof(m), &passed, NULL) != sizeof(m))
			continue;
		if (m.type == LAUNCH_MSG_STOP)
			_exit(LAUNCH_EXIT_STOPPED);
		if (m.type == LAUNCH_MSG_LINK)
			log_link(&m);
		if (m.type == LAUNCH_MSG_PORT)
			take_port(&m);
		if (m.type == LAUNCH_MSG_ADOPT && !asked("deaf")) {
			orphan_ns = 0;
			pfd[1].fd = dup3(passed, LAUNCH_FD_ALIVE, O_CLOEXEC);
			adopted();
		}
		cleanup_close(&passed);
	}
}

int main(void)
{
	struct launch_stats *stats;

	dir = getenv("PLENUM_TEST_DIR");
	if (!dir || pread(LAUNCH_FD_CONFIG, &config, sizeof(config), 0) != sizeof(config) ||
	    config.magic != LAUNCH_MAGIC || config.size != sizeof(config))
		return LAUNCH_EXIT_CONFIG;
	log_start();
	if (asked("config-exit")) {
		say(LAUNCH_MSG_FAILED, -EINVAL, "requested by the test");
		return LAUNCH_EXIT_CONFIG;
	}
	if (asked("version-exit")) {
		say(LAUNCH_MSG_FAILED, -EPROTO, "restart plenumd");
		return LAUNCH_EXIT_VERSION;
	}
	stats = mmap(NULL, sizeof(*stats), PROT_READ | PROT_WRITE, MAP_SHARED, LAUNCH_FD_STATS, 0);
	if (stats == MAP_FAILED)
		return LAUNCH_EXIT_CONFIG;
	stats->magic = LAUNCH_MAGIC;
	stats->version = LAUNCH_VERSION;
	snprintf(stats->network, sizeof(stats->network), "UDP");
	for (uint32_t i = 0; i < config.n_mounts; i++)
		launch_stat_set(&stats->mounts[i].served, 1);
	if (asked("hold"))
		hold();
	if (asked("other-version"))
		pretend();
	if (asked("other-locks"))
		replace_locks();
	if (!asked("mute"))
		say(LAUNCH_MSG_READY, 0, "");
	serve(stats);
}
