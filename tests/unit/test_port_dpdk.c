/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The DPDK port over a veth pair between two network namespaces, one process a port because DPDK
 * starts once a process: it resolves neighbours, exchanges datagrams with another DPDK port and
 * with kernel sockets, survives the death of its peer, refuses an address that is taken, answers
 * pings. Needs root and hugepages, which it asks the kernel for and gives back.
 */
#include "tests/lib/port_ends.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

#define HUGEPAGES 96
#define NS_A "plenum-pdpdk-a"
#define NS_B "plenum-pdpdk-b"
#define COUNT 2000U

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
		child_sleeper(&end_a_sleeps);
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
		child_two_legs(legs_a, legs_b);
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
		sh("ip netns exec " NS_B " ping -q -c 3 -i 0.2 -W 20 -s 1400 10.99.8.1 >/dev/null"),
		0);
	echo_kill(echo);
	echo = echo_start(&end_a6);
	assert_int_equal(
		sh("ip netns exec " NS_B " ping -q -c 3 -i 0.2 -W 20 fd00:99:8::1 >/dev/null"), 0);
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
