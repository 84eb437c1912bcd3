/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures an etcd server under the role `cluster` of many hosts when nothing changes. Each host is
 * a process of the product's role, in its sandbox; this program is the monitor of them all. It
 * gives each host its settings and writes its summary once a minute, as the agent does. A host
 * finds the server of one mount and has ADDRESSES addresses of each of two pools, the same as
 * before.
 *
 *	cluster_hosts URL ETCD_PID HOSTS ADDRESSES SETTLE_S MEASURE_S [join]
 *
 * With `join`, the hosts had no addresses before, and all start at the same time.
 *
 * Prints "hosts start_s etcd_% etcd_MiB bytes host_% host_MiB": the time until all hosts are
 * registered with their addresses; processor time and memory of etcd; bytes a second between a host
 * and etcd, by the counters of lo, which nothing else may use; processor time and memory of one
 * host on average (memory that it shares with no other host).
 */
#include "agent/base/child/child_role.h"
#include "agent/cluster/pools/pool.h"
#include "agent/cluster/rollout/rollout.h"
#include "netcfg/base/os/memfd.h"
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOSTS_MAX 2000
#define CORES 16 /* rows of processes in a summary */
#define START_LIMIT_S 600

struct host {
	int sock;
	pid_t pid;
	bool registered;
	size_t n_addresses;
	uint64_t summary_due_ns;
};

struct cost {
	uint64_t etcd_ticks, host_ticks, bytes;
};

static struct host hosts[HOSTS_MAX];
static size_t n_hosts, n_wanted;
static bool joins; /* the hosts are new */

static void die(const char *what)
{
	fprintf(stderr, "cluster_hosts: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void send_text(struct host *h, enum privsep_type type, uint32_t what, const char *text)
{
	struct privsep_msg m = {.type = type, .cluster_text = {.what = what, .len = strlen(text)}};
	autoclose int fd = memfd_new_sealed("cluster-hosts", text, strlen(text));

	if (fd < 0 || privsep_send(h->sock, PRIVSEP_MONITOR, &m, fd) < 0)
		die("cannot send to a host");
}

/* ---- what a host publishes ---- */

/* A host asks for the addresses that it had before, as when a whole site starts again; a new host
 * has had none. */
static json_t *wanted_pool(const char *name, unsigned net, size_t i)
{
	const size_t n = n_wanted / 2;
	json_t *known = json_array();

	for (size_t k = i * n + 1; !joins && k <= (i + 1) * n; k++)
		json_array_append_new(known, json_sprintf("10.%u.%zu.%zu", net, k / 256, k % 256));
	return json_pack("{s:s, s:I, s:o}", "name", name, "need", (json_int_t)n, "known", known);
}

static void send_settings(struct host *h, size_t i, const char *url)
{
	autofree char *text = NULL;
	json_t *o = json_pack("{s:s, s:o, s:o, s:i, s:o, s:[s], s:[o], s:[o, o]}", "cluster",
			      "perf", "host", json_sprintf("host-%04zu", i), "id",
			      json_sprintf("%032zx", i + 1), "epoch", 1, "nonce",
			      json_sprintf("%016zx", i + 1), "endpoints", url, "servers",
			      json_sprintf("host-%04zu", i / 16 * 16), "pools",
			      wanted_pool("a", 128, i), wanted_pool("b", 129, i));

	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	if (!text)
		die("out of memory");
	send_text(h, PRIVSEP_CLUSTER_SET, 0, text);
}

/* As the agent's summary: two legs, a process for each core. */
static void send_summary(struct host *h, size_t i)
{
	json_t *rows = json_array(), *legs = json_array(), *o;
	autofree char *text = NULL;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	for (int k = 0; k < CORES; k++)
		json_array_append_new(
			rows, json_pack("{s:s, s:[s, s], s:s, s:s, s:i, s:s, s:I, s:I, s:i, s:s}",
					"role", "FRONTEND", "ips", "10.128.17.21", "10.129.17.21",
					"status", "UP", "network", "DPDK", "core", k, "reason", "",
					"memory_bytes", (json_int_t)31457280, "uptime_s",
					(json_int_t)now.tv_sec, "restarts", 0, "version", "0.1.0"));
	for (int k = 0; k < 2; k++)
		json_array_append_new(
			legs, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b, s:i}", "name",
					k ? "leg-b" : "leg-a", "device", "0000:3b:00.0", "ifname",
					"ens1f0np0", "label", "switch-a", "network", "data-a",
					"state", "usable", "carrier", 1, "up", 1, "mtu", 9000));
	o = json_pack("{s:i, s:o, s:s, s:s, s:i, s:i, s:[], s:o, s:o, s:[], s:I}", "v",
		      RECORDS_VERSION, "host", json_sprintf("host-%04zu", i), "state", "running",
		      "version", "0.1.0", "workers_up", CORES, "workers_total", CORES, "reasons",
		      "processes", rows, "net", legs, "exports", "time_ms",
		      (json_int_t)now.tv_sec * 1000);
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	if (!text)
		die("out of memory");
	send_text(h, PRIVSEP_CLUSTER_PUBLISH, PRIVSEP_CLUSTER_STATE, text);
	h->summary_due_ns = clock_now_ns() + RECORDS_REPEAT_S * NSEC_PER_SEC;
}

static void send_serving(struct host *h, size_t i)
{
	struct cluster_server s = {.n_addrs = 2};
	json_t *exports = json_array();
	autofree char *text = NULL, *self = NULL;
	struct rollout_self me = {.ready = true};

	memset(me.has.hash, '0', sizeof(me.has.hash) - 1);

	snprintf(s.host, sizeof(s.host), "host-%04zu", i);
	for (uint32_t k = 0; k < s.n_addrs; k++) {
		s.addrs[k].port = 7411;
		ip_addr_parse(k ? "10.129.17.21" : "10.128.17.21", &s.addrs[k].ip);
	}
	text = record_server_format(&s, exports);
	json_decref(exports);
	memcpy(me.host, s.host, sizeof(me.host));
	snprintf(me.id, sizeof(me.id), "%032zx", i + 1);
	self = rollout_self_format(&me);
	if (!text || !self)
		die("out of memory");
	send_text(h, PRIVSEP_CLUSTER_PUBLISH, PRIVSEP_CLUSTER_SERVING, text);
	send_text(h, PRIVSEP_CLUSTER_PUBLISH, PRIVSEP_CLUSTER_SELF, self);
}

/* ---- processes of hosts ---- */

static void run_role(int sock)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(sock, PRIVSEP_FD_CONTROL);
	close_range(PRIVSEP_FD_CONTROL + 1, ~0U, 0);
	_exit(cluster_main(LOG_LEVEL_ERR));
}

static void host_start(const char *url)
{
	struct host *h = &hosts[n_hosts];
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
		die("cannot make sockets");
	h->pid = fork();
	if (h->pid < 0)
		die("cannot start a host");
	if (h->pid == 0)
		run_role(pair[1]);
	close(pair[1]);
	h->sock = pair[0];
	send_settings(h, n_hosts, url);
	send_serving(h, n_hosts);
	send_summary(h, n_hosts);
	n_hosts++;
}

static void receive(struct host *h)
{
	struct privsep_msg m;
	const char *why = "";
	int fd = -1, r;

	while ((r = privsep_recv(h->sock, PRIVSEP_CLUSTER, &m, &fd, &why)) == 1) {
		if (fd >= 0)
			close(fd);
		fd = -1;
		if (m.type == PRIVSEP_CLUSTER_REPORT)
			h->registered = m.cluster_report.registered;
		else if (m.type == PRIVSEP_CLUSTER_POOL && m.cluster_pool_report.at == 0 &&
			 m.cluster_pool_report.state == CLUSTER_POOL_FINE)
			h->n_addresses += m.cluster_pool_report.n_total;
		else if (m.type == PRIVSEP_CLUSTER_FAILED) {
			errno = 0;
			die(m.cluster_failed.text);
		}
	}
	if (r != -EAGAIN)
		die(r == 0 ? "a host has ended" : why);
}

/* Is the monitor of all hosts for that time. */
static void turn(uint64_t ns)
{
	const uint64_t until = clock_now_ns() + ns;
	static struct pollfd fds[HOSTS_MAX];

	do {
		const uint64_t now = clock_now_ns();

		for (size_t i = 0; i < n_hosts; i++) {
			fds[i] = (struct pollfd){.fd = hosts[i].sock, .events = POLLIN};
			if (now >= hosts[i].summary_due_ns)
				send_summary(&hosts[i], i);
		}
		if (poll(fds, n_hosts, 20) < 0 && errno != EINTR)
			die("poll");
		for (size_t i = 0; i < n_hosts; i++)
			if (fds[i].revents)
				receive(&hosts[i]);
	} while (clock_now_ns() < until);
}

static void add_pool(const char *name, const char *range)
{
	static uint64_t id;
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_EDIT,
				.cluster_edit = {.id = ++id, .op = POOL_ADD}};
	struct reason why;

	if (pool_make(name, range, "", 0, 0, &m.cluster_edit.pool, &why) < 0 ||
	    privsep_send(hosts[0].sock, PRIVSEP_MONITOR, &m, -1) < 0)
		die("cannot add a pool");
}

static bool all_have_addresses(void)
{
	for (size_t i = 0; i < n_hosts; i++)
		if (!hosts[i].registered || hosts[i].n_addresses < n_wanted)
			return false;
	return true;
}

/* ---- costs ---- */

static uint64_t number_after(const char *path, const char *word)
{
	static char text[8192];
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *at;

	if (n < 0)
		die(path);
	text[n] = '\0';
	at = strstr(text, word);
	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

static uint64_t ticks_of(pid_t pid)
{
	char path[64], text[1024];
	unsigned long user = 0, kernel = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		die(path);
	text[n] = '\0';
	if (sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
		   &user, &kernel) != 2)
		die(path);
	return user + kernel;
}

static struct cost cost_now(pid_t etcd)
{
	struct cost c = {.etcd_ticks = ticks_of(etcd),
			 .bytes = number_after("/proc/net/dev", "lo:")};

	for (size_t i = 0; i < n_hosts; i++)
		c.host_ticks += ticks_of(hosts[i].pid);
	return c;
}

static double memory_mib(pid_t pid, const char *file, const char *word)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return (double)number_after(path, word) / 1024;
}

int main(int argc, char **argv)
{
	const struct rlimit files = {HOSTS_MAX + 64, HOSTS_MAX + 64};
	const double hz = (double)sysconf(_SC_CLK_TCK);
	size_t n = argc >= 7 ? strtoul(argv[3], NULL, 10) : 0;
	uint64_t since;
	struct cost was, is;
	double s;

	if (n == 0 || n > HOSTS_MAX) {
		fprintf(stderr, "cluster_hosts URL ETCD_PID HOSTS ADDRESSES SETTLE_S MEASURE_S "
				"[join]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	setrlimit(RLIMIT_NOFILE, &files);
	n_wanted = 2 * strtoul(argv[4], NULL, 10);
	joins = argc > 7 && strcmp(argv[7], "join") == 0;
	const pid_t etcd = (pid_t)atoi(argv[2]);

	since = clock_now_ns();
	host_start(argv[1]);
	while (!hosts[0].registered)
		turn(NSEC_PER_SEC / 10);
	add_pool("a", "10.128.0.1-10.128.255.254/16");
	add_pool("b", "10.129.0.1-10.129.255.254/16");
	while (n_hosts < n) { /* as hosts of a site start: not all in one moment */
		host_start(argv[1]);
		turn(joins ? 0 : 30 * NSEC_PER_MSEC);
	}
	while (!all_have_addresses()) {
		turn(NSEC_PER_SEC / 2);
		if (clock_now_ns() > since + START_LIMIT_S * NSEC_PER_SEC) {
			errno = ETIMEDOUT;
			die("not all hosts have addresses");
		}
	}
	printf("%zu %.0f", n, (double)(clock_now_ns() - since) / 1e9);
	turn(strtoul(argv[5], NULL, 10) * NSEC_PER_SEC);
	was = cost_now(etcd);
	since = clock_now_ns();
	turn(strtoul(argv[6], NULL, 10) * NSEC_PER_SEC);
	is = cost_now(etcd);
	s = (double)(clock_now_ns() - since) / 1e9;
	printf(" %.2f %.0f %.0f %.3f %.2f\n",
	       (double)(is.etcd_ticks - was.etcd_ticks) / hz / s * 100,
	       memory_mib(etcd, "status", "VmRSS:"), (double)(is.bytes - was.bytes) / s / (double)n,
	       (double)(is.host_ticks - was.host_ticks) / hz / s / (double)n * 100,
	       memory_mib(hosts[n / 2].pid, "smaps_rollup", "Private_Dirty:"));
	for (size_t i = 0; i < n; i++)
		kill(hosts[i].pid, SIGKILL);
	return 0;
}
