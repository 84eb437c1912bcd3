/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The DPDK port over a veth pair between two network namespaces, one process per port because DPDK
 * starts once per process: it resolves neighbours, exchanges datagrams with another DPDK port and
 * with kernel sockets, survives the death of its peer, refuses a taken address and answers pings.
 * Needs root and hugepages, which it requests from the kernel and returns.
 */
#define PORT_RIG "pdpdk"
#define PORT_RIG_NET "8"
#define PORT_RIG_DEVICE ""
#define PORT_RIG_QUEUES ""
#define PORT_RIG_DOWN ":"
#include "tests/lib/port/port_rig.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

PORT_RIG_DEFINE;

#define HUGEPAGES 96
#define WORKER_HUGEPAGES 32 /* planned minimum for a worker */

static long hugepages_before = -1;

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

/* As hugepages_hold of tests/lib/hosts.sh: serialises changes of their number until this test has
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
	return port_rig_make(state, missing);
}

static int group_teardown(void **state)
{
	port_rig_remove();
	if (hugepages_before >= 0)
		hugepages_set(hugepages_before);
	return 0;
}

/* The client continues through the death and return of its peer. */
static void a_peers_restart_is_survived(void **state)
{
	pid_t client, echo;

	need(state);
	keep_sending = mmap(NULL, sizeof(*keep_sending), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(keep_sending != MAP_FAILED);
	*keep_sending = 1;
	echo = echo_start(&end_b);
	client = client_start(&end_a, &end_b, 100);
	for (int i = 0; i < 2; i++) {
		echo_kill(echo);
		echo = echo_start(&end_b);
	}
	__atomic_store_n(keep_sending, 0, __ATOMIC_RELAXED);
	expect_done(client);
	munmap(keep_sending, sizeof(*keep_sending));
	keep_sending = NULL;
	echo_kill(echo);
}

static void a_late_peer_is_found(void **state)
{
	pid_t client, echo;

	need(state);
	client = client_start(&end_a, &end_b, 10);
	echo = echo_start(&end_b);
	expect_done(client);
	echo_kill(echo);
}

static void pings_are_answered(void **state)
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

/* ------------------------------------------------------------------ several queues */

#define FLOWS 64U
#define ROUNDS_MAX                                                                     \
	8U /* a ring of 512 holds 16 rounds, even if only half of the sockets are read \
	    */

/* Sends datagrams from many UDP ports of the kernel until killed. */
static void child_flows(const struct end *e, const struct end *to)
{
	struct sockaddr_in dst = {.sin_family = AF_INET, .sin_port = htons(4420)};
	struct ip_prefix prefix;
	int fds[FLOWS];

	if (netns_enter(e->netns) < 0 || ip_prefix_parse(to->ip, &prefix) < 0)
		_exit(1);
	memcpy(&dst.sin_addr, prefix.addr.bytes, sizeof(dst.sin_addr));
	for (unsigned i = 0; i < FLOWS; i++)
		fds[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	for (;;) {
		for (unsigned i = 0; i < FLOWS; i++)
			(void)sendto(fds[i], &i, sizeof(i), 0, (struct sockaddr *)&dst,
				     sizeof(dst));
		(void)poll(NULL, 0, 20); /* paces itself */
	}
}

/* Succeeds once a datagram of every flow has arrived, before any flow has arrived more often than
 * the rings hold: the kernel puts packets that a full ring cannot take into the next. */
static void child_flows_seen(const struct end *e, int ready)
{
	uint64_t deadline = clock_now_ns() + DEADLINE_NS;
	unsigned seen[FLOWS] = {0}, n_seen = 0;
	struct port_rx rx[8];
	struct port p = {0};

	end_open(&p, e);
	if (write(ready, "r", 1) != 1)
		_exit(1);
	while (n_seen < FLOWS && clock_now_ns() < deadline) {
		int n = p.ops->rx(&p, rx, ARRAY_SIZE(rx));

		for (int i = 0; i < n; i++) {
			uint32_t flow;

			memcpy(&flow, rx[i].data, sizeof(flow));
			n_seen += seen[flow % FLOWS]++ == 0;
			if (seen[flow % FLOWS] > ROUNDS_MAX)
				_exit(EXIT_DAMAGED);
		}
		if (n <= 0)
			port_wait(&p);
	}
	p.ops->close(&p);
	_exit(n_seen == FLOWS ? 0 : EXIT_TIMEOUT);
}

static void expect_all_flows(const struct end *e)
{
	pid_t flows, pid;
	int ready[2];
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = child_start();
	if (pid == 0)
		child_flows_seen(e, ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	flows = child_start();
	if (flows == 0)
		child_flows(&end_b_udp, &end_a);
	expect_done(pid);
	echo_kill(flows);
}

/* The kernel spreads them over the device's sockets; the port must read each. */
static void all_receive_queues_are_read(void **state)
{
	static const char *const devices[] = {"net_af_packet0,iface=" PORT_RIG "0,qpairs=2",
					      "net_af_packet0,iface=" PORT_RIG "0,qpairs=4"};
	struct end end = end_a;

	need(state);
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(devices); i++) {
		end.device = devices[i / 2];
		end.transport = i % 2 ? LAUNCH_DPDK_INTERRUPT : LAUNCH_DPDK;
		expect_all_flows(&end);
	}
	end.device = "net_af_packet0,iface=" PORT_RIG "0,qpairs=5";
	assert_int_equal(client_run(&end, &end_b, 1), EXIT_OPEN + EINVAL);
}

static int set_mtu(const char *mtu)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "ip -n " NS_A " link set " PORT_RIG "0 mtu %s && ip -n " NS_B " link set " PORT_RIG
		 "1 mtu %s",
		 mtu, mtu);
	return sh(command);
}

/* With the arguments that a worker chooses for the interface, which must provide space for long
 * frames. */
static void long_frames_arrive(void **state)
{
	need(state);
	assert_int_equal(set_mtu("9000"), 0);
	ends_mtu = 9000;
	datagrams_are_exchanged(state);
	sleeping_ports_exchange_datagrams(state);
	datagrams_are_exchanged_with_the_kernel(state);
	ends_mtu = 1500;
	assert_int_equal(set_mtu("1500"), 0);
}

static void child_opens(const struct end *legs)
{
	struct port ports[2] = {{0}};

	ends_open(ports, legs, 2);
	for (unsigned i = 0; i < 2; i++)
		ports[i].ops->close(&ports[i]);
	_exit(0);
}

/* Takes the hugepages beyond those planned for a worker. */
static void *hugepages_hog(size_t *ret_bytes)
{
	long more = hugepages_get("free_hugepages") - WORKER_HUGEPAGES;
	void *p;

	*ret_bytes = more > 0 ? (size_t)more << 21 : 0;
	if (*ret_bytes == 0)
		return NULL;
	p = mmap(NULL, *ret_bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
	assert_true(p != MAP_FAILED);
	return p;
}

static void expect_said(const struct end *legs, const char *text)
{
	char said[4096] = "", wanted[128];
	int log[2];
	pid_t pid;

	assert_int_equal(pipe2(log, O_CLOEXEC), 0);
	pid = child_start();
	if (pid == 0) {
		ends_log_level = 6;
		dup2(log[1], STDERR_FILENO);
		child_opens(legs);
	}
	close(log[1]);
	for (ssize_t n = 0, at = 0;
	     (n = read(log[0], said + at, sizeof(said) - 1 - (size_t)at)) > 0; at += n)
		;
	close(log[0]);
	expect_done(pid);
	for (unsigned i = 0; i < 2; i++) {
		snprintf(wanted, sizeof(wanted), "net_null%u: %s", i, text);
		if (!strstr(said, wanted))
			fail_msg("not '%s': %s", wanted, said);
	}
	assert_null(strstr(said, "no hugepages")); /* it uses the remaining ones */
	assert_null(strstr(said, "few-buffers"));
}

/* Devices with RSS, at the interfaces' link speeds, within the memory planned for a worker. */
static void rss_queues_fit_the_planned_memory(void **state)
{
	static const struct end legs[2] = {
		{NS_A, PORT_RIG "4", IP4("21"), LAUNCH_DPDK, "net_null0,no-rx=1"},
		{NS_A, PORT_RIG "5", IP4_SECOND("21"), LAUNCH_DPDK, "net_null1,no-rx=1"}};
	size_t bytes;
	void *hog;

	need(state);
	for (unsigned i = 0; i < 2; i++) {
		char command[256];

		snprintf(command, sizeof(command),
			 "ip -n " NS_A " tuntap add mode tap name %s && ip netns exec " NS_A
			 " ethtool -s %s speed 100000",
			 legs[i].ifname, legs[i].ifname);
		if (sh(command) != 0) {
			print_message("no tap devices with a settable speed\n");
			skip();
		}
	}
	hog = hugepages_hog(&bytes);
	expect_said(legs, "4 receive queues of 2048 descriptors, and send queues of 1024");
	ends_mtu = 9000;
	expect_said(legs, "4 receive queues of 128 descriptors, and send queues of 256");
	ends_mtu = 1500;
	if (hog)
		munmap(hog, bytes);
}

static void open_errors_are_explained(void **state)
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
	bad.device = "net_null0"; /* cannot wake a worker */
	assert_int_equal(client_run(&bad, &end_b, 1), EXIT_OPEN + EOPNOTSUPP);
}

/* Packet sockets of the namespace. */
static int packet_sockets(void)
{
	FILE *f = fopen("/proc/self/net/packet", "re");
	char line[256];
	int n = -1; /* header line */

	while (f && fgets(line, sizeof(line), f))
		n++;
	if (f)
		fclose(f);
	return n;
}

static void child_without_dpdk(void)
{
	struct launch_config cfg = {
		.n_ports = 2, .transport = LAUNCH_DPDK, .log_level = 4, .core = 9999};
	struct reason why = {.code = ""};
	struct port p = {0};
	int were;

	/* DPDK prints usage to stdout, where test results go. */
	if (netns_enter(NS_A) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(EXIT_OPEN);
	for (unsigned i = 0; i < cfg.n_ports; i++)
		leg_fill(&cfg.ports[i], &legs_a[i]);
	were = packet_sockets();
	if (port_ops_get(cfg.transport, &p.ops, &why) < 0 || p.ops->open(&p, &cfg, 0, &why) == 0)
		_exit(EXIT_OPEN);
	_exit(packet_sockets() - were);
}

/* Early probes were sent, and no port reads the replies. */
static void probes_end_if_dpdk_cannot_start(void **state)
{
	pid_t pid;

	need(state);
	pid = child_start();
	if (pid == 0)
		child_without_dpdk();
	expect_done(pid);
}

/* ------------------------------------------------------------------ beside the kernel */

/* The kernel keeps its interface, and rules take the port's datagrams from it; the other end is a
 * kernel socket, or such a port too. */
#define RULES(ns, number, ip, transport)                                         \
	{                                                                        \
		ns, PORT_RIG number, ip, LAUNCH_##transport,                     \
			"net_tap0,iface=pdtap" number ",remote=" PORT_RIG number \
	}
static const struct end rules_a = RULES(NS_A, "0", IP4("5"), DPDK),
			rules_a6 = RULES(NS_A, "0", IP6("5"), DPDK),
			rules_b = RULES(NS_B, "1", IP4("3"), DPDK),
			rules_b6 = RULES(NS_B, "1", IP6("3"), DPDK),
			rules_a_sleeps = RULES(NS_A, "0", IP4("5"), DPDK_INTERRUPT);

static const char *const rules_commands[] = {
	"ip -n " NS_A " addr add " IP4("5") " dev " PORT_RIG "0",
	"ip -n " NS_A " addr add " IP6("5") " dev " PORT_RIG "0 nodad",
	"ip netns exec " NS_A " ethtool -K " PORT_RIG
	"0 tso off gso off tx-udp-segmentation off >/dev/null 2>&1 || :",
};

/* The test device implements rules with the kernel's flower filter. */
static bool kernel_has_rules(void)
{
	return sh("ip netns exec " NS_A " tc qdisc add dev " PORT_RIG
		  "2 ingress 2>/dev/null && ip netns exec " NS_A " tc filter add dev " PORT_RIG
		  "2 ingress protocol ip flower ip_proto udp action drop 2>/dev/null") == 0;
}

static bool ends_addressed; /* for all of these tests */

static void rules_need(void **state)
{
	need(state);
	if (!kernel_has_rules()) {
		print_message(
			"the kernel has no flower filter, which net_tap needs for flow rules\n");
		skip();
	}
	/* Removes what killed ports left behind with net_tap. */
	(void)sh("for i in 0 2; do ip netns exec " NS_A " tc qdisc del dev " PORT_RIG
		 "$i ingress; done 2>/dev/null; ip netns exec " NS_B " tc qdisc del dev " PORT_RIG
		 "1 ingress 2>/dev/null");
	for (unsigned i = 0; i < ARRAY_SIZE(rules_commands) && !ends_addressed; i++)
		assert_int_equal(sh(rules_commands[i]), 0);
	ends_addressed = true;
	ends_shared = true;
}

static void rules_work_with_a_kernel_peer(void **state)
{
	pid_t echo;

	rules_need(state);
	echo = echo_start(&end_b_udp);
	assert_int_equal(client_run(&rules_a, &end_b_udp, 200), 0);
	/* An interrupt worker would miss packets. */
	assert_int_equal(client_run(&rules_a_sleeps, &end_b_udp, 1), EXIT_OPEN + EOPNOTSUPP);
	echo_kill(echo);
	echo = echo_start(&end_b6_udp);
	assert_int_equal(client_run(&rules_a6, &end_b6_udp, 200), 0);
	echo_kill(echo);
}

static void rules_deliver_datagrams_to_the_port(void **state)
{
	pid_t echo;

	rules_need(state);
	echo = echo_start(&rules_b);
	assert_int_equal(client_run(&rules_a, &rules_b, 200), 0);
	echo_kill(echo); /* the next port takes over what it left */
	echo = echo_start(&rules_b);
	assert_int_equal(client_run(&rules_a, &rules_b, 200), 0);
	echo_kill(echo);
	echo = echo_start(&rules_b6);
	assert_int_equal(client_run(&rules_a6, &rules_b6, 200), 0);
	echo_kill(echo);
}

/* While the port is open, the kernel answers all other traffic to its address, once. */
static void rules_leave_other_traffic_to_the_kernel(void **state)
{
	const struct end same_port = {NS_A, PORT_RIG "0", IP4("5"), LAUNCH_UDP, ""};
	pid_t echo, peer;

	rules_need(state);
	echo = echo_start(&rules_a);
	peer = echo_start(&end_b_udp);
	assert_int_equal(sh("ip -n " NS_B " neigh flush dev " PORT_RIG "1"), 0);
	assert_int_equal(sh("ip netns exec " NS_B " ping -c 3 -i 0.2 -W 20 10.99.8.5 >&2"), 0);
	assert_int_equal(
		sh("ip netns exec " NS_B " ping -c 3 -i 0.2 -W 20 10.99.8.5 | grep DUP >&2"), 1);
	assert_int_equal(sh("ip netns exec " NS_B " ping -q -c 3 -i 0.2 -W 20 fd00:99:8::5 >&2"),
			 0);
	/* Replies to another port of the address. */
	assert_int_equal(sh("ip netns exec " NS_A " python3 -c 'import socket\n"
			    "a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
			    "a.bind((\"10.99.8.5\", 4421)); a.settimeout(20)\n"
			    "a.sendto(b\"?\", (\"10.99.8.3\", 4420))\n"
			    "a.recv(1)'"),
			 0);
	/* Another process cannot use the port. */
	assert_int_equal(client_run(&same_port, &end_b_udp, 1), EXIT_OPEN + EADDRINUSE);
	echo_kill(peer);
	echo_kill(echo);
}

/* Devices that leave nothing to the kernel, and ports in use. */
static void unsuitable_devices_are_refused_for_rules(void **state)
{
	struct end bad = {NS_A, PORT_RIG "0", IP4("1"), LAUNCH_DPDK, "net_null0"};
	pid_t echo;

	need(state);
	ends_shared = true;
	assert_int_equal(sh("ip -n " NS_A " addr add " IP4("1") " dev " PORT_RIG "0"), 0);
	assert_int_equal(client_run(&bad, &end_b, 1), EXIT_OPEN + ENOSYS);
	bad.transport = LAUNCH_UDP;
	bad.device = "";
	echo = echo_start(&bad);
	bad = (struct end){NS_A, PORT_RIG "0", IP4("1"), LAUNCH_DPDK, "net_null0"};
	assert_int_equal(client_run(&bad, &end_b, 1), EXIT_OPEN + EADDRINUSE);
	echo_kill(echo);
	assert_int_equal(sh("ip -n " NS_A " addr del " IP4("1") " dev " PORT_RIG "0"), 0);
}

/* Arguments: a pattern of test names to run. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		PORT_RIG_TESTS,
		cmocka_unit_test(a_peers_restart_is_survived),
		cmocka_unit_test(a_late_peer_is_found),
		cmocka_unit_test(pings_are_answered),
		cmocka_unit_test(all_receive_queues_are_read),
		cmocka_unit_test(long_frames_arrive),
		cmocka_unit_test(rss_queues_fit_the_planned_memory),
		cmocka_unit_test(open_errors_are_explained),
		cmocka_unit_test(probes_end_if_dpdk_cannot_start),
		cmocka_unit_test(unsuitable_devices_are_refused_for_rules),
		cmocka_unit_test(rules_work_with_a_kernel_peer),
		cmocka_unit_test(rules_deliver_datagrams_to_the_port),
		cmocka_unit_test(rules_leave_other_traffic_to_the_kernel),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
