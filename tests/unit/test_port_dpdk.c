/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The DPDK port over a veth pair between two network namespaces, one process a port because DPDK
 * starts once a process: it resolves neighbours, exchanges datagrams with another DPDK port and
 * with kernel sockets, survives the death of its peer, refuses an address that is taken, answers
 * pings. Needs root and hugepages, which it asks the kernel for and gives back.
 */
#include "dataplane/port/port.h"
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#define DEADLINE_NS (60 * NSEC_PER_SEC)
#define HUGEPAGES 96
#define NS_A "plenum-pdpdk-a"
#define NS_B "plenum-pdpdk-b"
#define EXIT_TIMEOUT 3
#define EXIT_DAMAGED 4
#define EXIT_SLEPT 5  /* answers came, but did not wake */
#define EXIT_OPEN 100 /* and the errno of open added */
#define COUNT 2000U

struct end { /* one process's port */
	const char *netns, *ifname, *ip;
	enum launch_transport transport;
	const char *device; /* "": the default for the transport */
};

static const struct end end_a = {NS_A, "pdpdk0", "10.99.8.1/24", LAUNCH_DPDK, ""};
static const struct end end_b = {NS_B, "pdpdk1", "10.99.8.2/24", LAUNCH_DPDK, ""};
static const struct end end_b_udp = {NS_B, "pdpdk1", "10.99.8.3/24", LAUNCH_UDP, ""};
static const struct end end_a_sleeps = {NS_A, "pdpdk0", "10.99.8.1/24", LAUNCH_DPDK_INTERRUPT, ""};
static const struct end end_b_sleeps = {NS_B, "pdpdk1", "10.99.8.2/24", LAUNCH_DPDK_INTERRUPT, ""};
static const struct end end_a6 = {NS_A, "pdpdk0", "fd00:99:8::1/64", LAUNCH_DPDK, ""};
static const struct end end_b6 = {NS_B, "pdpdk1", "fd00:99:8::2/64", LAUNCH_DPDK, ""};
static const struct end end_b6_udp = {NS_B, "pdpdk1", "fd00:99:8::3/64", LAUNCH_UDP, ""};

/* Two legs of one process: a DPDK port each. */
static const struct end legs_a[2] = {{NS_A, "pdpdk0", "10.99.8.11/24", LAUNCH_DPDK, ""},
				     {NS_A, "pdpdk2", "10.99.18.11/24", LAUNCH_DPDK, ""}};
static const struct end legs_b[2] = {{NS_B, "pdpdk1", "10.99.8.12/24", LAUNCH_DPDK, ""},
				     {NS_B, "pdpdk3", "10.99.18.12/24", LAUNCH_DPDK, ""}};

static long hugepages_before = -1;

static int sh(const char *cmd)
{
	int r = system(cmd);

	return WIFEXITED(r) ? WEXITSTATUS(r) : -1;
}

static int netns_enter(const char *name)
{
	char path[64];
	autoclose int fd = -1;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || setns(fd, CLONE_NEWNET) != 0 ? -errno : 0;
}

/* ------------------------------------------------------------------ in the children */

static void leg_fill(struct launch_port *lp, const struct end *e)
{
	if (ip_prefix_parse(e->ip, &lp->ip) < 0)
		_exit(EXIT_OPEN);
	snprintf(lp->leg, sizeof(lp->leg), "leg-%s", e->ifname);
	snprintf(lp->ifname, sizeof(lp->ifname), "%s", e->ifname);
	snprintf(lp->device, sizeof(lp->device), "%s", e->device);
	lp->ifindex = if_nametoindex(e->ifname);
	lp->udp_port = 4420;
	lp->mtu = 1500;
}

/* Opens one port for each of the n legs of a process. */
static void ends_open(struct port *ports, const struct end *legs, unsigned n)
{
	struct launch_config cfg = {
		.n_ports = n, .transport = legs[0].transport, .log_level = 4, .core = 0};
	char why[LAUNCH_REASON_MAX];

	if (netns_enter(legs[0].netns) < 0)
		_exit(EXIT_OPEN);
	for (unsigned i = 0; i < n; i++)
		leg_fill(&cfg.ports[i], &legs[i]);
	for (unsigned i = 0; i < n; i++) {
		int r = port_ops_get(cfg.transport, &ports[i].ops, why);

		if (r == 0)
			r = ports[i].ops->open(&ports[i], &cfg, i, why);
		if (r == 0 && ports[i].ops->join) {
			r = ports[i].ops->join(&ports[i], &cfg, i, why);
			if (r < 0)
				ports[i].ops->close(&ports[i]);
		}
		if (why[0])
			fprintf(stderr, "# %s: %s\n", legs[i].ip, why);
		if (r < 0)
			_exit(EXIT_OPEN - r);
	}
}

static void end_open(struct port *p, const struct end *e)
{
	ends_open(p, e, 1);
}

static unsigned n_woken; /* how often a port's descriptor has ended a sleep */

static void port_wait(struct port *p)
{
	struct pollfd pfd = {.fd = p->ops->fd(p), .events = POLLIN};

	if (pfd.fd < 0)
		sched_yield();
	else if (p->ops->arm(p))
		n_woken += poll(&pfd, 1, 10) == 1;
	(void)p->ops->tick(p, clock_now_ns());
}

static unsigned echo_turn(struct port *p)
{
	struct port_rx pkts[64];
	int n = p->ops->rx(p, pkts, ARRAY_SIZE(pkts));

	for (int i = 0; i < n; i++) {
		struct datagram pkt = {.payload = pkts[i].data,
				       .payload_len = (uint16_t)pkts[i].len};

		(void)p->ops->tx(p, &pkts[i].src, &pkt);
	}
	if (n > 0)
		p->ops->flush(p);
	return n > 0 ? (unsigned)n : 0;
}

/* Sends back whatever comes, until killed. One byte on `ready` says that the ports are open. */
static void child_echo(const struct end *legs, unsigned n_legs, int ready)
{
	struct port ports[2] = {{0}};

	ends_open(ports, legs, n_legs);
	if (write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		for (unsigned i = 0; i < n_legs; i++)
			if (echo_turn(&ports[i]) == 0)
				port_wait(&ports[i]);
}

static bool reply_is_good(const struct port_rx *d, uint32_t number, uint32_t bytes)
{
	uint32_t got;

	if (d->len != bytes)
		return false;
	memcpy(&got, d->data, sizeof(got));
	for (uint32_t i = 4; i < bytes; i++)
		if (d->data[i] != (uint8_t)(number + i))
			return false;
	return got == number;
}

/* One datagram out and back, sent again each 20 ms until it comes. Earlier ones are skipped. */
static bool ping_pong(struct port *p, const struct datagram_addr *dst, uint32_t number,
		      uint64_t deadline)
{
	uint32_t bytes = 8 + number * 37 % (dst->ip.family == AF_INET ? 1465 : 1445);
	struct datagram pkt = {.hdr_len = 4};
	struct port_rx rx[8];
	uint8_t payload[1500];
	uint64_t again = 0;

	for (uint32_t i = 4; i < bytes; i++)
		payload[i - 4] = (uint8_t)(number + i);
	memcpy(pkt.hdr, &number, 4);
	pkt.payload = payload;
	pkt.payload_len = (uint16_t)(bytes - 4);
	for (uint64_t now = clock_now_ns(); now < deadline; now = clock_now_ns()) {
		int n;

		if (now >= again) {
			again = now + 20 * NSEC_PER_MSEC;
			(void)p->ops->tx(p, dst, &pkt);
			p->ops->flush(p);
		}
		n = p->ops->rx(p, rx, ARRAY_SIZE(rx));
		for (int i = 0; i < n; i++) {
			uint32_t got;

			memcpy(&got, rx[i].data, sizeof(got));
			if (got < number)
				continue;
			if (!reply_is_good(&rx[i], number, bytes))
				_exit(EXIT_DAMAGED);
			return true;
		}
		if (n == 0)
			port_wait(p);
	}
	return false;
}

/* Shared with a client: as long as it is set, `count` more datagrams are to come. NULL: never set.
 */
static uint32_t *go_on;

static void child_client(const struct end *e, const struct end *peer, uint32_t count)
{
	uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	struct datagram_addr dst = {.port = 4420};
	struct ip_prefix prefix;
	struct port p = {0};

	end_open(&p, e);
	if (ip_prefix_parse(peer->ip, &prefix) < 0)
		_exit(1);
	dst.ip = prefix.addr;
	for (uint32_t i = 1, last = count; i <= last; i++) {
		if (go_on && __atomic_load_n(go_on, __ATOMIC_RELAXED))
			last = i + count;
		if (!ping_pong(&p, &dst, i, deadline))
			_exit(EXIT_TIMEOUT);
	}
	/* Most answers are not there yet when the port is looked at. */
	if (e->transport == LAUNCH_DPDK_INTERRUPT && n_woken < count / 4)
		_exit(EXIT_SLEPT);
	p.ops->close(&p);
	_exit(0);
}

/* Without packets the descriptor is quiet in the end, also after its interface has gone down. */
static void child_sleeper(void)
{
	uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	struct pollfd pfd = {.events = POLLIN};
	struct port_rx rx[8];
	struct port p = {0};

	end_open(&p, &end_a_sleeps);
	pfd.fd = p.ops->fd(&p);
	for (unsigned i = 0; i < 2; i++) {
		if (i == 1 && sh("ip link set pdpdk0 down") != 0)
			_exit(1);
		do {
			if (clock_now_ns() > deadline)
				_exit(EXIT_TIMEOUT);
			while (p.ops->rx(&p, rx, ARRAY_SIZE(rx)) > 0)
				;
		} while (!p.ops->arm(&p) || poll(&pfd, 1, 100) != 0);
	}
	p.ops->close(&p);
	_exit(sh("ip link set pdpdk0 up"));
}

/* Takes turns on both legs. */
static void child_two_legs(void)
{
	uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	struct datagram_addr dst = {.port = 4420};
	struct port ports[2] = {{0}};
	struct ip_prefix prefix;

	ends_open(ports, legs_a, 2);
	for (uint32_t i = 1; i <= 400; i++) {
		if (ip_prefix_parse(legs_b[i % 2].ip, &prefix) < 0)
			_exit(1);
		dst.ip = prefix.addr;
		if (!ping_pong(&ports[i % 2], &dst, i, deadline))
			_exit(EXIT_TIMEOUT);
	}
	ports[0].ops->close(&ports[0]);
	ports[1].ops->close(&ports[1]);
	_exit(0);
}

/* ------------------------------------------------------------------ in the parent */

/* Ports that echo; returns once they are open. */
static pid_t echoes_start(const struct end *e, unsigned n_legs)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_echo(e, n_legs, ready[1]);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1) {
		int status = 0;

		waitpid(pid, &status, 0);
		fail_msg("the port at %s did not open (%d)", e->ip, WEXITSTATUS(status));
	}
	close(ready[0]);
	return pid;
}

static pid_t echo_start(const struct end *e)
{
	return echoes_start(e, 1);
}

static void echo_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static pid_t client_start(const struct end *e, const struct end *peer, uint32_t count)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_client(e, peer, count);
	}
	return pid;
}

static int client_run(const struct end *e, const struct end *peer, uint32_t count)
{
	int status = -1;

	waitpid(client_start(e, peer, count), &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static const char *const setup_commands[] = {
	"ip netns add " NS_A " && ip netns add " NS_B,
	"ip -n " NS_A " link add pdpdk0 type veth peer name pdpdk1 netns " NS_B,
	/* The kernel's own address for the socket test; not one of the DPDK ports'. */
	"ip -n " NS_B " addr add 10.99.8.3/24 dev pdpdk1",
	"ip -n " NS_B " addr add fd00:99:8::3/64 dev pdpdk1 nodad",
	/* What leaves the kernel's stack must be as on a wire. */
	"ip netns exec " NS_B " ethtool -K pdpdk1 tso off gso off >/dev/null 2>&1 || :",
	"ip -n " NS_A " link set pdpdk0 up && ip -n " NS_B " link set pdpdk1 up",
	"ip -n " NS_A " link add pdpdk2 type veth peer name pdpdk3 netns " NS_B,
	"ip -n " NS_A " link set pdpdk2 up && ip -n " NS_B " link set pdpdk3 up",
};

static void netns_remove(void)
{
	(void)sh("ip netns del " NS_A " 2>/dev/null; ip netns del " NS_B " 2>/dev/null");
}

static long hugepages_get(const char *name)
{
	char path[80];
	long n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-2048kB/%s", name);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fscanf(f, "%ld", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

static void hugepages_set(long n)
{
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "we");

	if (!f)
		return;
	fprintf(f, "%ld", n);
	fclose(f);
}

/* As hugepages_hold of tests/lib/hosts.sh: nobody else changes their number until this one has
 * ended. */
static void hugepages_hold(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/plenum-hugepages.lock", dir ? dir : "/tmp");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		print_message("%s: %s\n", path, strerror(errno));
}

static int group_setup(void **state)
{
	const char *missing = NULL;

	*state = NULL;
	if (geteuid() != 0)
		missing = "needs root";
	else
		hugepages_hold();
	if (!missing && hugepages_get("free_hugepages") < HUGEPAGES) {
		hugepages_before = hugepages_get("nr_hugepages");
		if (hugepages_before >= 0)
			hugepages_set(hugepages_before + HUGEPAGES);
		if (hugepages_get("free_hugepages") < HUGEPAGES)
			missing = "the kernel has no memory for hugepages";
	}
	netns_remove();
	for (unsigned i = 0; !missing && i < ARRAY_SIZE(setup_commands); i++)
		if (sh(setup_commands[i]) != 0)
			missing = "network namespaces cannot be made";
	if (missing)
		print_message("DPDK port: %s\n", missing);
	else
		*state = (void *)&end_a;
	return 0;
}

static int group_teardown(void **state)
{
	netns_remove();
	if (hugepages_before >= 0)
		hugepages_set(hugepages_before);
	return 0;
}

static void need(void **state)
{
	if (!*state)
		skip();
}

static void test_exchange(void **state)
{
	pid_t echo;

	need(state);
	echo = echo_start(&end_b);
	assert_int_equal(client_run(&end_a, &end_b, COUNT), 0);
	echo_kill(echo);
}

static void test_exchange_v6(void **state)
{
	pid_t echo;

	need(state);
	echo = echo_start(&end_b6);
	assert_int_equal(client_run(&end_a6, &end_b6, 200), 0);
	echo_kill(echo);
}

static void test_exchange_asleep(void **state)
{
	int status = -1;
	pid_t pid;

	need(state);
	pid = echo_start(&end_b_sleeps);
	assert_int_equal(client_run(&end_a_sleeps, &end_b_sleeps, 200), 0);
	assert_int_equal(client_run(&end_a, &end_b_sleeps, 200), 0);
	echo_kill(pid);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_sleeper();
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_kernel_peer(void **state)
{
	pid_t echo;

	need(state);
	echo = echo_start(&end_b_udp);
	assert_int_equal(client_run(&end_a, &end_b_udp, 200), 0);
	echo_kill(echo);
	echo = echo_start(&end_b6_udp);
	assert_int_equal(client_run(&end_a6, &end_b6_udp, 200), 0);
	echo_kill(echo);
}

static void test_two_legs(void **state)
{
	pid_t echo, pid;
	int status = -1;

	need(state);
	echo = echoes_start(legs_b, 2);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child_two_legs();
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	echo_kill(echo);
}

/* The client goes on through the death and return of its peer. */
static void test_peer_restarts(void **state)
{
	pid_t client, echo;
	int status = -1;

	need(state);
	go_on = mmap(NULL, sizeof(*go_on), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	assert_true(go_on != MAP_FAILED);
	*go_on = 1;
	echo = echo_start(&end_b);
	client = client_start(&end_a, &end_b, 100);
	for (int i = 0; i < 2; i++) {
		echo_kill(echo);
		echo = echo_start(&end_b);
	}
	__atomic_store_n(go_on, 0, __ATOMIC_RELAXED);
	waitpid(client, &status, 0);
	munmap(go_on, sizeof(*go_on));
	go_on = NULL;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	echo_kill(echo);
}

static void test_peer_comes_late(void **state)
{
	pid_t client, echo;
	int status = -1;

	need(state);
	client = client_start(&end_a, &end_b, 10);
	echo = echo_start(&end_b);
	waitpid(client, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	echo_kill(echo);
}

static void test_taken_address(void **state)
{
	struct end taken = end_a;
	pid_t echo;

	need(state);
	taken.ip = "10.99.8.3/24"; /* the kernel of the other namespace has it */
	assert_int_equal(client_run(&taken, &end_b, 1), EXIT_OPEN + EADDRINUSE);
	taken.ip = "fd00:99:8::3/64";
	assert_int_equal(client_run(&taken, &end_b6, 1), EXIT_OPEN + EADDRINUSE);
	echo = echo_start(&end_b);
	taken.ip = end_b.ip; /* another DPDK port has it */
	assert_int_equal(client_run(&taken, &end_b, 1), EXIT_OPEN + EADDRINUSE);
	echo_kill(echo);
}

static void test_ping(void **state)
{
	pid_t echo;

	need(state);
	if (sh("command -v ping >/dev/null") != 0) {
		print_message("ping is not installed\n");
		skip();
	}
	echo = echo_start(&end_a);
	assert_int_equal(
		sh("ip netns exec " NS_B " ping -q -c 3 -i 0.2 -W 2 -s 1400 10.99.8.1 >/dev/null"),
		0);
	echo_kill(echo);
	echo = echo_start(&end_a6);
	assert_int_equal(
		sh("ip netns exec " NS_B " ping -q -c 3 -i 0.2 -W 2 fd00:99:8::1 >/dev/null"), 0);
	echo_kill(echo);
}

static void test_open_errors(void **state)
{
	struct end bad = end_a;

	need(state);
	bad.ifname = "nosuch0";
	assert_true(client_run(&bad, &end_b, 1) >= EXIT_OPEN);
	bad = end_a;
	bad.device = "0000:ff:1f.7";
	assert_true(client_run(&bad, &end_b, 1) >= EXIT_OPEN);
	bad = end_a;
	bad.transport = LAUNCH_DPDK_INTERRUPT;
	bad.device = "net_null0"; /* has nothing that could wake anybody */
	assert_int_equal(client_run(&bad, &end_b, 1), EXIT_OPEN + EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exchange),
		cmocka_unit_test(test_exchange_v6),
		cmocka_unit_test(test_exchange_asleep),
		cmocka_unit_test(test_kernel_peer),
		cmocka_unit_test(test_two_legs),
		cmocka_unit_test(test_peer_restarts),
		cmocka_unit_test(test_peer_comes_late),
		cmocka_unit_test(test_taken_address),
		cmocka_unit_test(test_ping),
		cmocka_unit_test(test_open_errors),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
